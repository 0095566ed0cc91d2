//! The services that PL/SQL needs from the instance.
//!
//! The compiler and the machine use SQL, the dictionary, the clock and the transaction only through [`World`]. The
//! instance's implementation is [`crate::ExecWorld`]; tests have a small one. It is a type parameter instead of a trait
//! object, so that a cursor loop pays no indirect call per row.

use crate::code::{Block, Owner};
use crate::datum::Datum;
use crate::errors::CompileError;
use crate::event::EventFacts;
use crate::op::SqlColumns;
use crate::requests::{
    AlertRequest, AuditRequest, ConnectionPoolRequest, ContextChange, FlashbackRequest, JobChange, JobRequest,
    RepositoryRequest, ResultCacheRequest, SchedulerRequest, SessionlessRequest, SharedPoolRequest, XaRequest,
};
use dictionary::Access;
use plan::Variables;
use plan::names::Lookup;
use std::cell::RefCell;
use std::rc::Rc;
use types::{DataType, Nls, ObjectId, Ora, Result, Timestamp, Value};

/// A column of a table or of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnInfo {
    pub name: String,
    pub ty: DataType,
    pub nullable: bool,
}

/// A stored unit in the dictionary. A package's specification and body are two units.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredUnit {
    pub owner: String,
    pub name: String,
    pub kind: sql::plsql::ast::UnitKind,
    /// From the word PROCEDURE, FUNCTION, PACKAGE or TYPE on.
    pub source: String,
    /// Its settings by name in upper case: PLSQL_CCFLAGS and others.
    pub settings: Rc<[(String, String)]>,
}

/// A column of the table of a trigger.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerColumn {
    pub name: String,
    pub ty: DataType,
    /// Its position in the table.
    pub position: u16,
    pub is_virtual: bool,
}

/// The table of a trigger: the columns that the trigger may name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriggerTable {
    pub columns: Vec<TriggerColumn>,
}

/// The description of a statement that was compiled but not run.
#[derive(Clone, Debug, Default)]
pub struct Described {
    pub query: bool,
    /// The columns of a query, or of RETURNING.
    pub columns: Vec<ColumnInfo>,
    /// The objects that it reads: a cached result of a function that runs it depends on these.
    pub dependencies: Vec<ObjectId>,
    /// Owner and name of the stored units whose functions it calls: their reads count too.
    pub units: Vec<(String, String)>,
    /// The look-ups of its description.
    pub lookups: Vec<Lookup>,
}

/// The image of a unit in the library cache.
#[derive(Clone, Copy, Debug)]
pub struct UnitImage {
    pub edition: library_cache::Edition,
    /// It was found valid in the present dictionary.
    pub is_known: bool,
}

/// The kind of a statement of EXECUTE IMMEDIATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicKind {
    Query,
    Dml,
    /// An anonymous block or CALL.
    Block,
    /// DDL, ALTER SESSION, SET ROLE and the like: run by [`World::execute_other`].
    Other,
}

/// The services of the instance. Names are passed in upper case unless they were quoted.
pub trait World {
    /// An open SQL cursor: compiled once, executed and fetched many times.
    type Cursor: 'static;

    fn nls(&self) -> &Nls;
    /// USER.
    fn user(&self) -> String;
    /// UID.
    fn user_id(&self) -> i64;
    /// The schema of unqualified names.
    fn schema(&self) -> String;
    /// A number for the names and privileges in force: with equal numbers every name has the same meaning, and the same
    /// actions are allowed.
    fn identity(&self) -> u128;
    /// The number of a user.
    fn owner_number(&mut self, _owner: &str) -> u32 {
        0
    }
    /// Switches to the names and privileges of an owner, without roles, for a definer's rights unit and for
    /// compilation. False when they are in force already; otherwise [`World::leave`] switches back.
    fn enter(&mut self, owner: &Owner) -> bool;
    /// Switches back to the names and privileges before the last [`World::enter`] that returned true.
    fn leave(&mut self);
    /// ORA-06598 unless a unit of `owner` may run with the privileges of its caller. Called when such a unit is
    /// entered.
    fn check_inheritance(&mut self, _owner: &Owner) -> Result<()> {
        Ok(())
    }
    /// Whether the query of an executed cursor returns rows of these columns ([`SqlColumns::fit`]).
    fn has_columns(&mut self, _cursor: &mut Self::Cursor, _columns: &SqlColumns, _of_any: bool) -> bool {
        true
    }
    /// Whether a cursor kept by a unit still has the meaning of its text: false when it was compiled for another user.
    fn is_own(&self, _cursor: &Self::Cursor) -> bool {
        true
    }
    /// Calls a function of SQL over evaluated arguments.
    fn call_function(&mut self, function: &'static functions::FnDef, args: &[Value], out: &mut Value) -> Result<()>;
    fn sys_context(&mut self, namespace: &str, parameter: &str) -> Result<Value>;
    /// ORA-00028, ORA-01013; ORA-04030 and ORA-04036 when memory exceeds its limits. Cheap.
    fn check_cancel(&mut self) -> Result<()>;
    /// The session's time.
    fn now(&self) -> Timestamp;
    /// Hundredths of a second since a fixed moment.
    fn hsecs(&self) -> i64;
    /// CPU time of the process, in hundredths of a second.
    fn cpu_hsecs(&self) -> i64;
    /// A value that differs between sessions and runs, as a seed of DBMS_RANDOM.
    fn entropy(&self) -> u64;
    /// Waits, on `PL/SQL lock timer`.
    fn sleep(&mut self, seconds: f64) -> Result<()>;

    /// The dictionary epoch, which changes with every change of the dictionary.
    fn epoch(&mut self) -> u64;
    /// The columns of a table or view; `None` when it does not exist. `owner` is a schema; synonyms are resolved.
    fn table_columns(&mut self, owner: Option<&str>, name: &str) -> Result<Option<Vec<ColumnInfo>>>;
    fn sequence_exists(&mut self, owner: Option<&str>, name: &str) -> Result<bool>;
    /// The stored unit with that name (both parts of a package); empty when it does not exist. Synonyms are resolved.
    fn stored_unit(&mut self, owner: Option<&str>, name: &str) -> Result<Vec<StoredUnit>>;
    /// The trigger with that number, and its table; `None` if it does not exist.
    fn stored_trigger(&mut self, _trigger: u32) -> Result<Option<(StoredUnit, TriggerTable)>> {
        Ok(None)
    }
    /// The event for which a trigger on a schema or the database runs.
    fn event(&self) -> Option<Rc<EventFacts>> {
        None
    }
    /// The table with that number, for a trigger on it.
    fn trigger_table(&mut self, _table: u32) -> Result<Option<TriggerTable>> {
        Ok(None)
    }
    /// Whether the identity in force may execute a unit that was found; `owner` is empty for built-in units.
    fn may_execute(&mut self, _owner: &str, _name: &str) -> Result<Access> {
        Ok(Access::Yes)
    }
    /// Reports that the session links a unit to compile a call of it, or to run a built-in one, for which `owner` is
    /// empty.
    fn unit_linked(&mut self, _owner: &str, _name: &str) {}
    /// Reports that the present call runs a stored unit until it ends: DDL that replaces the unit waits for the call,
    /// and this waits for DDL in progress. False when nobody waits: in a function that DDL calls.
    ///
    /// # Errors
    /// ORA-04020, ORA-04021, and those of a session that must stop.
    fn unit_runs(&mut self, _owner: &str, _name: &str) -> Result<bool> {
        Ok(true)
    }

    /// The user whose names and privileges are in force without roles, for a definer's rights unit or a compilation.
    /// `None`: those of the session are in force.
    fn definer(&self) -> Option<String> {
        None
    }
    /// The settings that code depends on: NLS, length semantics, and the others.
    fn settings(&self) -> [u64; 3] {
        [0; 3]
    }
    /// The session's settings for new units, by name in upper case: PLSQL_CCFLAGS and others.
    fn unit_settings(&self) -> Rc<[(String, String)]> {
        Rc::default()
    }
    /// Reports that the session links a stored unit to run it, and copies the image of its code from the library cache,
    /// if the session may use one and it exists for its settings. `body`: the unit has a body, which has the code.
    fn unit_image(&mut self, _unit: &StoredUnit, _body: bool, _image: &mut Vec<u8>) -> Option<UnitImage> {
        None
    }
    /// Puts the image of a unit's code into the library cache. `stale` is the one that was unusable.
    fn keep_unit(&mut self, _unit: &StoredUnit, _body: bool, _image: &[u8], _stale: Option<library_cache::Edition>) {}
    /// Reports that an image is valid in a dictionary epoch.
    fn unit_is_known(&mut self, _image: UnitImage, _epoch: u64) {}
    /// Whether the look-ups of a static statement still have the same answers, for the names and privileges in force.
    fn means_the_same(_world: &RefCell<&mut Self>, _lookups: &[Lookup]) -> Result<bool>
    where
        Self: Sized,
    {
        Ok(false)
    }

    /// The objects of a stored unit: itself, or the specification and the body of a package.
    fn unit_objects(&mut self, owner: &str, name: &str) -> Vec<ObjectId> {
        let _ = (owner, name);
        Vec::new()
    }

    /// Called before another cursor is opened for a variable or a loop, in addition to `open` cursors.
    ///
    /// # Errors
    /// ORA-01000.
    fn may_open_cursor(&mut self, open: usize) -> Result<()> {
        let _ = open;
        Ok(())
    }

    /// Reports the number of cursors that variables and loops hold open.
    fn cursors_open(&mut self, open: usize) {
        let _ = open;
    }

    /// Reports the result of compiling a stored unit; for a package, separately for specification and body.
    fn unit_compiled(&mut self, unit: &StoredUnit, errors: &[CompileError]) {
        let _ = (unit, errors);
    }

    /// The times at which DDL last defined or compiled the specification and the body of a stored package: another pair
    /// means another package.
    fn unit_defined(&mut self, owner: &str, name: &str) -> [u64; 2] {
        let _ = (owner, name);
        [0; 2]
    }

    /// Whether an error is temporary: the unit may compile without it the next time.
    fn passes(&self, error: &CompileError) -> bool {
        let _ = error;
        false
    }

    /// Whether the dictionary has the unit, or a package's specification, as valid.
    fn is_valid_unit(&mut self, owner: &str, name: &str) -> bool {
        let _ = (owner, name);
        true
    }

    /// The number of a stored unit, or of a package's specification; 0 without a number.
    fn unit_number(&mut self, _owner: &str, _name: &str) -> u32 {
        0
    }
    /// Owner and name of the stored unit with that number.
    fn unit_called(&mut self, _number: u32) -> Option<(String, String)> {
        None
    }

    /// Reports the entry of a subprogram of a stored unit: the unit's number in the high half, its own in the low one.
    /// Returns the previous values for [`World::subprogram_left`].
    fn subprogram_entered(&mut self, _what: u64) -> [u64; 2] {
        [0; 2]
    }
    /// Reports the exit.
    fn subprogram_left(&mut self, _before: [u64; 2]) {}

    /// Compiles a statement without registering it. Placeholders are named `:B1`, `:B2` …; `binds[0]` is the type of
    /// `:B1`. Names that are no columns are looked up in `variables`, which may borrow the world meanwhile.
    ///
    /// # Errors
    /// The SQL compiler's errors, with the position in `text`; those of `variables`.
    fn describe(
        world: &RefCell<&mut Self>,
        text: &str,
        binds: &[DataType],
        variables: &dyn Variables,
    ) -> Result<Described>
    where
        Self: Sized;
    /// Opens a cursor on a statement: one parse call. `by_name`: bind 0 is `:B1` at every occurrence; otherwise binds
    /// belong to placeholders in text order.
    fn open_cursor(&mut self, text: &str, binds: &[DataType], by_name: bool) -> Result<Self::Cursor>;
    /// Like [`World::open_cursor`], for a statement that is parsed each time it is opened: the session may have its
    /// closed cursor.
    fn parse_cursor(&mut self, text: &str, binds: &[DataType], by_name: bool) -> Result<Self::Cursor> {
        self.open_cursor(text, binds, by_name)
    }
    /// Closes a cursor, which the session may keep for the next [`World::parse_cursor`].
    fn close_cursor(&mut self, mut cursor: Self::Cursor) {
        self.end_fetch(&mut cursor);
    }
    /// Whether EXECUTE IMMEDIATE keeps the cursor of its last statement.
    fn keeps_cursors(&self) -> bool {
        true
    }
    fn bind(&mut self, cursor: &mut Self::Cursor, at: usize, value: &Value) -> Result<()>;
    /// Executes; returns the number of rows changed by DML. Rows of RETURNING are fetched like a query's.
    fn execute(&mut self, cursor: &mut Self::Cursor) -> Result<u64>;
    /// Sets whether the next execution and the previous one count as one, as in a FORALL.
    fn continues(&mut self, _cursor: &mut Self::Cursor, _continues: bool) {}
    /// Adds an execution to a batch that [`World::execute_waiting`] executes. False, without any effect, when this
    /// statement cannot wait; the waiting executions must then be carried out before it.
    fn execute_later(&mut self, _cursor: &mut Self::Cursor) -> Result<bool> {
        Ok(false)
    }
    /// The index of a bind in the cursor, from 0; `None` when the cursor does not have it.
    fn bind_place(&self, _cursor: &Self::Cursor, _at: usize) -> Option<usize> {
        None
    }
    /// Adds another execution to a batch, with values in the order of the cursor's binds. False, without any effect,
    /// when it must be bound and executed in the ordinary way.
    fn execute_more(&mut self, _cursor: &mut Self::Cursor, _values: &[&Value]) -> Result<bool> {
        Ok(false)
    }
    /// Whether enough executions wait to carry them out before more are added.
    fn waits_enough(&self, _cursor: &Self::Cursor) -> bool {
        false
    }
    /// Carries out the waiting executions. `refused` gets the number of each failed execution, from 0; it may swallow
    /// the error to let the others continue, or return it to end the batch.
    fn execute_waiting(
        &mut self,
        _cursor: &mut Self::Cursor,
        _refused: &mut dyn FnMut(usize, Ora) -> Result<()>,
    ) -> Result<()> {
        Ok(())
    }
    /// Fetches the next row into `row`, whose buffers are used again.
    fn fetch(&mut self, cursor: &mut Self::Cursor, row: &mut Vec<Value>) -> Result<bool>;
    /// The rowid of the last row fetched by a SELECT FOR UPDATE.
    fn current_row(&self, _cursor: &Self::Cursor) -> Option<types::Rowid> {
        None
    }
    /// Ends the execution; the cursor can be executed again.
    fn end_fetch(&mut self, cursor: &mut Self::Cursor);
    /// The cursor of CURSOR(subquery) with that number, if it has not been taken before.
    fn take_nested(&mut self, _number: &Value) -> Option<Self::Cursor> {
        None
    }
    /// The client's open cursor that a bind of SQL has as that number.
    fn bound_cursor(&self, _number: &Value) -> Option<Datum> {
        None
    }
    /// The number of columns of an open query.
    fn column_count(&self, cursor: &Self::Cursor) -> usize;
    /// Opens a cursor on a statement whose binds keep their names; a value gives each its type.
    fn open_named(&mut self, text: &str) -> Result<Self::Cursor> {
        self.open_cursor(text, &[], false)
    }
    /// The names of the binds of such a cursor.
    fn bind_names(&self, _cursor: &Self::Cursor) -> Vec<String> {
        Vec::new()
    }
    /// The columns of a query, or of RETURNING.
    fn columns(&self, _cursor: &Self::Cursor) -> Vec<ColumnInfo> {
        Vec::new()
    }
    /// The rowid of the last row that a statement inserted, changed or locked.
    fn last_row(&self, _cursor: &Self::Cursor) -> Option<types::Rowid> {
        None
    }
    /// The kind of a dynamic statement, and the number of its placeholders by position. A query or DML is not parsed
    /// for that: see [`World::check_text`].
    fn dynamic_kind(&mut self, text: &str) -> Result<(DynamicKind, usize)>;
    /// Parses the text of a dynamic statement: its own errors come before those of its binds.
    fn check_text(&mut self, _text: &str) -> Result<()> {
        Ok(())
    }
    /// Compiles a block, or CALL, for EXECUTE IMMEDIATE: it has a cursor like a statement's. `None`: the caller
    /// compiles it without one.
    fn open_block(&mut self, _text: &str) -> Result<Option<Rc<Block>>> {
        Ok(None)
    }
    /// Reports that the block last returned by `open_block` begins to run.
    fn block_begins(&mut self) {}
    /// Reports that the block has ended, or did not begin.
    fn close_block(&mut self, _done: bool) {}
    /// Reports that PL/SQL pauses an open query until its next fetch, or continues it: the session's current statement
    /// is then PL/SQL, or the query.
    fn pause(&mut self, _cursor: &mut Self::Cursor, _paused: bool) {}

    /// Reports that a FETCH of an explicit cursor begins.
    fn begin_fetch(&mut self, _cursor: &mut Self::Cursor) {}
    /// Runs a statement that is neither a query, nor DML, nor a block.
    fn execute_other(&mut self, text: &str) -> Result<()>;
    /// Changes the LOB of a row that the transaction has locked, and returns the new content.
    ///
    /// # Errors
    /// ORA-22920 when the row is not locked, ORA-22922 when it is gone; those of `edit` and of the update.
    fn write_lob(&mut self, _row: &types::LobRow, _edit: &mut dyn FnMut(&mut Value) -> Result<()>) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_SESSION.SET_ROLE: the text after SET ROLE.
    fn set_role(&mut self, _roles: &str) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_SESSION.SET_NLS: an NLS parameter of the session, and no other one.
    fn set_nls(&mut self, _parameter: &str, _value: &str) -> Result<()> {
        Err(Ora::unsupported())
    }

    fn commit(&mut self) -> Result<()>;
    fn rollback(&mut self) -> Result<()>;
    fn savepoint(&mut self, name: &str) -> Result<()>;
    fn rollback_to(&mut self, name: &str) -> Result<()>;
    fn set_transaction(&mut self, text: &str) -> Result<()>;
    /// Suspends the transaction and begins an independent one.
    fn autonomous_begin(&mut self) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// Returns to the suspended transaction; ORA-06519 when the independent one is still active.
    fn autonomous_end(&mut self) -> Result<()> {
        Err(Ora::unsupported())
    }

    /// A cached result of a function: key and value are bytes.
    fn function_result_get(&mut self, _function: &str, _depends: &[ObjectId], _key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
    /// Keeps the result that `function_result_get` did not find.
    fn function_result_put(&mut self, _function: &str, _key: &[u8], _value: &[u8]) -> Result<()> {
        Ok(())
    }
    /// The function failed: gives up the build begun by `function_result_get`.
    fn function_result_abandon(&mut self, _function: &str, _key: &[u8]) {}

    /// Reports an error of [`Ora::begin_report`], once, before a handler can hide it.
    fn incident(&mut self, _error: &Ora) {}

    fn job_submit(&mut self, _job: &JobRequest) -> Result<i64> {
        Err(Ora::unsupported())
    }
    fn job_change(&mut self, _job: i64, _change: &JobChange) -> Result<()> {
        Err(Ora::unsupported())
    }
    fn job_remove(&mut self, _job: i64) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// Runs the job in this session now.
    fn job_run(&mut self, _job: i64) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_ALERT: the name and the message of the alert that a wait has found, and its status.
    fn alert(&mut self, _request: &AlertRequest) -> Result<[Value; 3]> {
        Err(Ora::unsupported())
    }
    /// DBMS_SCHEDULER.
    fn scheduler(&mut self, _request: &SchedulerRequest) -> Result<Value> {
        Err(Ora::unsupported())
    }
    fn result_cache(&mut self, _request: &ResultCacheRequest) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_AUDIT_MGMT.
    fn audit_trail(&mut self, _request: &AuditRequest) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_MVIEW.REFRESH of the materialized view `[owner.]name`.
    fn refresh_view(&mut self, _name: &str, _fast: bool) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_SHARED_POOL.
    fn shared_pool(&mut self, _request: &SharedPoolRequest) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_XPLAN.DISPLAY: like [`crate::Services::display_cursor`], for a plan in a plan table.
    fn display_plan(&mut self, _table: &str, _statement_id: Option<&str>, _format: &str) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_XPLAN.DISPLAY_CURSOR: a value whose elements, for TABLE(…), are the lines.
    fn display_cursor(&mut self, _sql_id: Option<&str>, _child: Option<i64>, _format: &str) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_XA: the XA return code.
    fn xa(&mut self, _xid: &[u8], _request: &XaRequest) -> Result<i64> {
        Err(Ora::unsupported())
    }
    /// DBMS_TRANSACTION: begins, resumes, leaves or queries a sessionless transaction.
    fn sessionless(&mut self, _request: &SessionlessRequest<'_>) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_XA.XA_RECOVER: the prepared branches.
    fn xa_recover(&mut self) -> Result<Vec<Vec<u8>>> {
        Err(Ora::unsupported())
    }
    /// DBMS_LOCK.REQUEST on a user lock: 0 success, 1 timeout, 2 deadlock, 4 already owned.
    fn user_lock_request(&mut self, _id: u32, _mode: u8, _timeout_s: Option<u32>, _until_commit: bool) -> Result<i64> {
        Err(Ora::unsupported())
    }
    /// DBMS_LOCK.RELEASE: 0 success, 4 not owned.
    fn user_lock_release(&mut self, _id: u32) -> Result<i64> {
        Err(Ora::unsupported())
    }
    /// DBMS_LOCK.CONVERT: 0 success, 1 timeout, 2 deadlock, 4 not owned.
    fn user_lock_convert(&mut self, _id: u32, _mode: u8, _timeout_s: Option<u32>) -> Result<i64> {
        Err(Ora::unsupported())
    }
    /// DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT: returns the snapshot's number.
    fn create_snapshot(&mut self, _level: &str) -> Result<i64> {
        Err(Ora::unsupported())
    }
    /// The rest of DBMS_WORKLOAD_REPOSITORY.
    fn repository(&mut self, _request: &RepositoryRequest) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_CONNECTION_POOL, for the pool with that name.
    fn connection_pool(&mut self, _pool: &str, _request: ConnectionPoolRequest<'_>) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_FLASHBACK.
    fn flashback(&mut self, _request: &FlashbackRequest) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_STATS.
    fn statistics(&mut self, _request: &dictionary::statistics_request::StatisticsRequest) -> Result<Value> {
        Err(Ora::unsupported())
    }
    /// DBMS_APPLICATION_INFO: module, action and client_info; `None` leaves a value unchanged.
    fn set_application_info(&mut self, _module: Option<&str>, _action: Option<&str>, _client_info: Option<&str>) {}
    /// DBMS_SESSION.SET_IDENTIFIER.
    fn set_identifier(&mut self, _client: &str) {}
    /// DBMS_SESSION.SET_CONTEXT, or without a value CLEAR_CONTEXT; without a name for the whole namespace.
    fn change_context(&mut self, _change: &ContextChange<'_>) -> Result<()> {
        Err(Ora::unsupported())
    }
    /// DBMS_DEBUG_JDWP.CURRENT_SESSION_SERIAL: the session's serial number as reported to clients.
    fn session_serial(&self) -> i64 {
        0
    }
    /// `version`, or the value of an initialization parameter; NULL for an unknown name.
    fn database_says(&mut self, _what: &str) -> Result<Value> {
        Ok(Value::Null)
    }
    /// The name of the session's transaction in DBMS_TRANSACTION's form; NULL without one, unless `begin` begins one.
    fn transaction_id(&mut self, _begin: bool) -> Result<Value> {
        Ok(Value::Null)
    }
}

/// Runs `f` with the names and privileges of a unit's owner, with which every unit is compiled.
pub fn as_owner<W: World, R>(w: &mut W, owner: &str, f: impl FnOnce(&mut W) -> R) -> R {
    if owner.is_empty() {
        return f(w);
    }
    let owner = Owner { name: owner.into(), number: w.owner_number(owner) };
    let entered = w.enter(&owner);
    let r = f(w);
    if entered {
        w.leave();
    }
    r
}
