//! The services that DDL needs from the crates above it, and the result of a statement.

use btree::Btree;
use cluster::Clusters;
use dictionary::{Dictionary, Principal, TableDef, UserId, Verdict};
use heap::Heap;
use process::Process;
use sql::ast::{Query, StoredKind};
use std::rc::Rc;
use txn::{CommitHook, Txn};
use types::{Date, ObjectId, Ora, Result, Value};

/// Access methods.
#[derive(Clone, Copy)]
pub struct Storage<'a> {
    pub heap: &'a Heap,
    pub clusters: &'a Clusters,
    pub trees: &'a Btree,
}

/// The services of a statement at one moment.
pub struct Parts<'a> {
    pub p: &'a Process,
    pub dict: &'a mut Dictionary,
    pub txn: &'a mut Txn,
    pub storage: Storage<'a>,
    /// Called at commits: the result cache's hook.
    pub hook: &'a dyn CommitHook,
    pub nls: &'a types::Nls,
}

/// The user that runs the statement.
pub type SessionNames = Principal;

/// Settings of a unit by name in upper case; those that have the usual value are left out.
pub type UnitSettings = Rc<[(String, String)]>;

/// A column of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The alias, or the name of a plain column; `None` for any other expression (ORA-00998).
    pub name: Option<String>,
    pub data_type: types::DataType,
    pub nullable: bool,
}

/// The result of compiling a trigger: its errors, and the columns of its rows that it uses.
#[derive(Clone, Debug, Default)]
pub struct CompiledTrigger {
    pub errors: Vec<dictionary::ErrorLine>,
    pub new_read: Vec<String>,
    /// All columns of the new row that it may assign.
    pub new_assigned: Vec<String>,
    pub old_read: Vec<String>,
    /// The sections of a compound trigger ([`dictionary::TriggerDef::points`]).
    pub points: u8,
}

/// The services that DDL needs from the crates above it.
pub trait Host {
    fn parts(&mut self) -> Parts<'_>;
    fn session(&self) -> SessionNames;
    /// The session's time, for CREATED.
    fn now(&self) -> Date;
    /// Whether a session of that user is open.
    fn is_connected(&self, user: UserId) -> bool;
    /// Whether a session has been set to that edition.
    fn is_edition_used(&self, _edition: ObjectId) -> bool {
        false
    }
    /// Claims a stored unit until [`Host::end_claims`]: no call begins to run it. The specification of a package or
    /// type stands for both parts. False while another session runs it.
    fn claim_unit(&mut self, unit: ObjectId) -> bool {
        let _ = unit;
        true
    }
    /// Waits until no other session runs a claimed unit.
    ///
    /// # Errors
    /// ORA-04020, ORA-04021, and those of a session that must stop.
    fn await_unit(&mut self, unit: ObjectId) -> Result<()> {
        let _ = unit;
        Ok(())
    }
    /// Ends the claims of [`Host::claim_unit`].
    fn end_claims(&mut self) {}
    /// `ddl_lock_timeout`: the time that a statement waits for a table with open changes.
    fn lock_timeout_s(&self) -> u32 {
        0
    }
    /// Random bytes for a password's verifier.
    fn salt(&mut self) -> [u8; dictionary::SALT_BYTES];
    /// Whether new passwords get 11G verifiers in addition to the 12C ones.
    fn makes_11g(&self) -> bool {
        false
    }
    /// The columns of a query; with `owner`, resolved with that user's names and privileges, without roles, as for a
    /// view.
    fn describe(&mut self, query: &Query, owner: Option<UserId>) -> Result<Vec<Described>>;
    /// Whether the function with that name and number of arguments is DETERMINISTIC, resolved with the names and
    /// privileges of `owner`; `None` when there is no such function.
    fn function(&mut self, owner: UserId, path: &[String], args: usize) -> Result<Option<bool>> {
        let _ = (owner, path, args);
        Ok(None)
    }
    /// Whether the result of a query depends on the session's time zone or date formats, or with `language` on its date
    /// language or territory; with the names and privileges of `owner`.
    fn depends_on_settings(&mut self, query: &Query, owner: UserId, language: bool) -> Result<bool> {
        let _ = (query, owner, language);
        Ok(false)
    }
    /// The objects of other users that a view's query uses, with the names and privileges of the view's owner.
    fn used_objects(&mut self, query: &Query, owner: UserId) -> Result<Vec<ObjectId>>;
    /// Runs a query in the session's transaction and passes on its rows; `each` gets the services of that moment.
    /// ORA-01466 when its columns are not the expected ones, because an object was redefined since the description.
    fn rows(
        &mut self,
        query: &Query,
        expected: Option<&[Described]>,
        each: &mut dyn FnMut(&mut Parts<'_>, &[Value]) -> Result<()>,
    ) -> Result<()>;
    /// Runs a query on a table as the statement defines it, with the rows that the statement has inserted. The query's
    /// names are the statement's own, and are readable regardless of the session's privileges.
    fn rows_ahead(
        &mut self,
        query: &Query,
        table: &Rc<TableDef>,
        each: &mut dyn FnMut(&mut Parts<'_>, &[Value]) -> Result<()>,
    ) -> Result<()> {
        let _ = table;
        self.rows(query, None, each)
    }
    /// Runs a query with the names and privileges of `owner`, for an expression of a table of the owner's.
    fn rows_as(
        &mut self,
        owner: UserId,
        query: &Query,
        each: &mut dyn FnMut(&mut Parts<'_>, &[Value]) -> Result<()>,
    ) -> Result<()> {
        let _ = owner;
        self.rows(query, None, each)
    }
    /// Runs a DML statement, and commits it.
    fn run(&mut self, text: &str) -> Result<()> {
        let _ = text;
        Err(Ora::unsupported())
    }
    /// Whether this session has rows in a temporary table.
    fn has_temporary_rows(&self, table: ObjectId) -> bool {
        let _ = table;
        false
    }
    /// Deletes this session's rows of a temporary table.
    fn empty_temporary(&mut self, table: ObjectId) {
        let _ = table;
    }
    /// Compiles a unit of that owner without storing it. A unit whose text cannot be parsed has errors, too.
    fn compile(
        &mut self,
        owner: &str,
        name: &str,
        kind: StoredKind,
        source: &str,
        settings: &UnitSettings,
    ) -> Result<Vec<dictionary::ErrorLine>>;
    /// The session's settings for new units.
    fn unit_settings(&self) -> UnitSettings {
        UnitSettings::default()
    }
    /// A setting of ALTER … COMPILE, by its name in upper case.
    ///
    /// # Errors
    /// ORA-00922 for an unknown name; those of a bad value.
    fn unit_setting(&self, name: &str, value: &str) -> Result<(String, String)> {
        let _ = (name, value);
        Err(Ora::new(922))
    }
    /// The text that the directives of a unit of that owner select.
    fn selected(&mut self, owner: &str, source: &str, settings: &UnitSettings) -> String {
        let _ = (owner, settings);
        source.to_owned()
    }
    /// Compiles a trigger of that owner on a table without storing it.
    ///
    /// # Errors
    /// Those that keep CREATE TRIGGER from storing a trigger: ORA-04082, ORA-04084, ORA-04085.
    fn compile_trigger(
        &mut self,
        owner: &str,
        source: &str,
        settings: &UnitSettings,
        table: ObjectId,
    ) -> Result<CompiledTrigger> {
        let _ = (owner, source, settings, table);
        Err(Ora::unsupported())
    }
    /// The results of compiling other units and views for this statement, to be stored with it.
    fn take_verdicts(&mut self) -> Vec<Verdict> {
        Vec::new()
    }
    /// Compiles a unit or view as it is in the dictionary now. Whether it has no errors; `None` when that is unknown.
    fn compiles(&mut self, object: ObjectId) -> Option<bool> {
        let _ = object;
        None
    }
    /// The statistics of objects have changed: the cursors that depend on them end within the window of
    /// `_optimizer_invalidation_period`.
    fn roll_out(&mut self, objects: &[ObjectId]) {
        self.changed(objects);
    }
    /// Announces that the statement is about to commit changes of these objects, and of the statistics of `rolled`. It
    /// calls [`Host::changed`] and [`Host::roll_out`] afterwards; if the process dies, PMON does the same. Empty lists
    /// end the announcement.
    fn announce(&mut self, objects: &[ObjectId], rolled: &[ObjectId]) {
        let _ = (objects, rolled);
    }
    /// Objects were changed or dropped, and the change is committed: their results in the result cache become invalid.
    fn changed(&mut self, objects: &[ObjectId]);
}

/// The result of a successful statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// "Warning: ... created with compilation errors."
    pub compiled_with_errors: bool,
}
