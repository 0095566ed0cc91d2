//! The context of a statement: the process, the shared structures, the session, and the host above.
//!
//! `exec` cannot see the crates above it. What SQL needs from them (a PL/SQL function, a fixed table, SYS_CONTEXT)
//! comes through [`Host`] and [`FixedTable`], which `session` and `views` implement.

use crate::constraints::Constraints;
use crate::measure::Noted;
use crate::parallel::ParallelFigures;
use crate::statistics::{Figures, Timing};
use crate::temporary::Temporaries;
use crate::work_area::WorkAreas;
use ::parallel::{Assignment, Servers};
use btree::Btree;
use cluster::Clusters;
use dictionary::{Catalog, FixedId, SequenceDef, States, TableDef};
use enqueue::Enqueues;
use heap::Heap;
use library_cache::LibraryCache;
use plan::{Functions, HostFunction, TextOwner};
use process::Process;
use result_cache::ResultCache;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use txn::{Transactions, Txn};
use types::image::Image;
use types::{DataType, Nls, Number, ObjectId, Ora, Result, Scn, Timestamp, Value};

/// Handles to the shared structures, the same in every process.
#[derive(Clone, Copy)]
pub struct Shared {
    pub txns: &'static Transactions,
    pub heap: &'static Heap,
    pub clusters: &'static Clusters,
    pub btree: &'static Btree,
    pub enqueues: &'static Enqueues,
    pub library: &'static LibraryCache,
    pub results: &'static ResultCache,
    pub areas: &'static WorkAreas,
    pub servers: &'static Servers,
}

/// Session parameters that the executor uses.
#[derive(Clone, Debug)]
pub struct Options {
    /// `result_cache_mode = FORCE`.
    pub result_cache_force: bool,
    /// Whether the session may use the result cache.
    pub result_cache: bool,
    /// `_old_connect_by_enabled`: CONNECT BY probes for the children of every row and keeps nothing.
    pub old_connect_by: bool,
    /// Most bytes the work areas (sorts, hash tables, buffers) of one execution may hold before ORA-04030.
    pub work_area_limit_bytes: usize,
    /// Bytes that a work area holds before it continues in temporary space.
    pub spill_bytes: usize,
    /// `workarea_size_policy = AUTO`.
    pub work_area_auto: bool,
    /// The tablespace of the user's temporary data.
    pub temporary_tablespace: u32,
    /// Fingerprint of the session's optimizer settings.
    pub optimizer: u64,
    /// The optimizer settings that the planner uses.
    pub planner: plan::Optimizer,
    /// `optimizer_mode`.
    pub optimizer_mode: &'static str,
    /// `statistics_level` and `timed_statistics`: which executions are timed.
    pub timing: Timing,
    /// `_optimizer_adaptive_cursor_sharing`.
    pub adaptive_sharing: bool,
    /// `_optimizer_use_feedback`.
    pub feedback: bool,
    /// `statistics_level = ALL`: operations of plans are counted.
    pub counts_operations: bool,
    /// `_batch_execution`: row sources over many rows work on batches.
    pub batches: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            result_cache_force: false,
            result_cache: true,
            old_connect_by: false,
            work_area_limit_bytes: 1 << 30,
            spill_bytes: 64 << 20,
            work_area_auto: true,
            temporary_tablespace: 3,
            optimizer: 0,
            planner: plan::Optimizer::default(),
            optimizer_mode: "ALL_ROWS",
            timing: Timing::Sampled,
            adaptive_sharing: true,
            feedback: true,
            counts_operations: false,
            batches: true,
        }
    }
}

/// Session state that statements read and change.
pub struct SessionState {
    /// The user logged on; USER and UID.
    pub user: String,
    pub user_id: u32,
    /// User whose privileges statements are parsed with: the session's user, or the owner of a unit with definer's
    /// rights.
    pub parsing_user: u32,
    /// The schema unqualified names belong to (ALTER SESSION SET CURRENT_SCHEMA).
    pub schema: Rc<str>,
    /// Changed through [`SessionState::change_nls`] only: cached results depend on it.
    pub nls: Nls,
    pub txn: Txn,
    /// DBMS_FLASHBACK: queries read as of this SCN, and changes are refused.
    pub flashback: Option<Scn>,
    pub options: Options,
    /// CURRVAL by sequence.
    pub currval: HashMap<ObjectId, Number>,
    /// Statement figures on their way to the library cache; [`Figures::flush`] runs at the end of each call.
    pub figures: Figures,
    /// Deferred constraints and their notes.
    pub constraints: Constraints,
    /// The session's segments of temporary tables.
    pub temporaries: Temporaries,
    /// Number of transactions suspended by autonomous ones.
    pub suspended: usize,
    /// The SQL statement that calls the running function, and the number of suspended transactions at that time. Its
    /// restrictions do not hold for an autonomous transaction.
    pub(crate) caller: Option<(Rc<Caller>, usize)>,
    /// The SCN that the open transaction reads as of, and the dictionary's epoch before the SCN was chosen.
    pub(crate) held: Option<(Scn, u64)>,
    /// States of the definitions that statements were compiled over.
    pub(crate) states: Rc<RefCell<States>>,
    /// Buffer for the image of a shared cursor.
    pub(crate) image: Vec<u8>,
    /// The figures of counted operations.
    pub(crate) noted: Noted,
    /// The figures of the session's parallel queries.
    pub parallel: ParallelFigures,
    /// The part of another session's query that this session runs as a parallel server.
    pub serves: Option<Assignment>,
    nls_fingerprint: u64,
}

/// The names and privileges behind [`Host::catalog`]. In one dictionary, equal rights resolve every name alike and have
/// the same privileges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Image)]
pub struct Rights {
    /// User and schema in force. They differ from the session's while it compiles for another user.
    pub user: u32,
    pub schema: u32,
    /// SYSDBA or SYS: privileges are not checked, and roles do not count.
    pub all_powerful: bool,
    /// The enabled roles, with the roles granted to them.
    pub roles: Vec<u32>,
}

/// The calling statement, for the functions that it calls (E20).
#[derive(Debug, Default)]
pub struct Caller {
    pub is_query: bool,
    /// The tables whose rows the statement changes; none if it inserts a single row.
    pub changes: Vec<ObjectId>,
}

impl SessionState {
    /// The statement that calls the running function in the same transaction.
    #[inline]
    pub(crate) fn caller(&self) -> Option<&Caller> {
        self.caller.as_ref().filter(|(_, suspended)| *suspended == self.suspended).map(|(caller, _)| &**caller)
    }

    /// Checks that the session may run DDL, or begin, end or divide a transaction.
    ///
    /// # Errors
    /// ORA-14552 in a function that a query or DML calls.
    pub fn may_control_transaction(&self) -> Result<()> {
        if self.caller().is_some() { Err(Ora::new(14552)) } else { Ok(()) }
    }

    /// Checks that the session may run LOCK TABLE.
    ///
    /// # Errors
    /// ORA-14551 in a function that a query calls.
    pub fn may_lock(&self) -> Result<()> {
        match self.caller() {
            Some(caller) if caller.is_query => Err(Ora::new(14551)),
            _ => Ok(()),
        }
    }

    pub fn new(user: &str, user_id: u32, nls: Nls) -> SessionState {
        let mut s = SessionState {
            user: user.to_owned(),
            user_id,
            parsing_user: user_id,
            schema: user.into(),
            nls,
            txn: Txn::new(),
            flashback: None,
            options: Options::default(),
            currval: HashMap::new(),
            figures: Figures::default(),
            constraints: Constraints::default(),
            temporaries: Temporaries::default(),
            suspended: 0,
            caller: None,
            held: None,
            states: Rc::default(),
            image: Vec::new(),
            noted: Noted::default(),
            parallel: ParallelFigures::default(),
            serves: None,
            nls_fingerprint: 0,
        };
        s.change_nls(|_| {});
        s
    }

    /// The states of definitions known to the process.
    pub fn states(&self) -> Rc<RefCell<dictionary::States>> {
        Rc::clone(&self.states)
    }

    /// Changes language settings.
    pub fn change_nls(&mut self, f: impl FnOnce(&mut Nls)) {
        f(&mut self.nls);
        let n = &self.nls;
        let mut hasher = std::hash::DefaultHasher::new();
        (&n.language, &n.territory, &n.currency, &n.iso_currency, &n.date_format, &n.timestamp_format)
            .hash(&mut hasher);
        (&n.timestamp_tz_format, &n.date_language, n.decimal, n.group, &n.sort, &n.comp).hash(&mut hasher);
        (n.zone, n.error_on_overlap).hash(&mut hasher);
        self.nls_fingerprint = hasher.finish();
    }

    /// A fingerprint of the settings that can change results.
    pub fn nls_fingerprint(&self) -> u64 {
        self.nls_fingerprint
    }
}

/// Context that is passed down through every call.
pub struct ExecCtx<'a> {
    pub p: &'a Process,
    pub shared: &'a Shared,
    pub session: &'a mut SessionState,
    pub host: &'a dyn Host,
}

impl ExecCtx<'_> {
    /// Fails if the session must stop; reports the figures of running statements if asked to.
    ///
    /// # Errors
    /// ORA-00028, ORA-01013.
    #[inline]
    pub fn check_cancel(&mut self) -> Result<()> {
        if self.p.check_asked()? {
            self.asked()?;
        }
        Ok(())
    }

    #[cold]
    fn asked(&mut self) -> Result<()> {
        // A server is asked to report when its coordinator needs no more rows.
        if self.session.serves.as_ref().is_some_and(|assignment| !assignment.is_wanted()) {
            return Err(Ora::new(1013));
        }
        self.session.figures.tell_so_far(self.p, self.shared.library);
        Ok(())
    }

    /// The same context for a nested call.
    pub fn reborrow(&mut self) -> ExecCtx<'_> {
        ExecCtx { p: self.p, shared: self.shared, session: self.session, host: self.host }
    }
}

/// The services that `exec` needs from the crates above. Names come in upper case unless they were quoted.
pub trait Host {
    /// The dictionary epoch: one relaxed load. It changes whenever anything in the dictionary does.
    fn epoch(&self) -> u64;

    /// Whether a statement compiled when [`Catalog::epoch`] was `epoch` may still be run.
    fn is_current(&self, epoch: u64) -> bool {
        self.epoch() == epoch
    }

    /// Records the rows of a table that a statement has changed. Called when the statement ends, before it is
    /// committed.
    fn note_changes(&self, _table: types::ObjectId, _changes: dictionary::monitoring::Changes) {}

    /// Records that a predicate of a hard-parsed statement uses a column, numbered from 1.
    fn note_column_use(&self, _table: types::ObjectId, _column: u32, _how: dictionary::ColumnUse) {}

    /// Names as the session sees them now.
    fn catalog(&self) -> Result<Rc<dyn Catalog>>;

    /// The rights that [`Host::catalog`] resolves names with.
    fn rights(&self) -> Rights {
        Rights::default()
    }

    /// Whether other sessions may use what is compiled now, because names resolve by the dictionary alone.
    fn may_share(&self) -> bool {
        true
    }

    /// The fixed table with a number that the catalog gave.
    fn fixed_table(&self, id: FixedId) -> &dyn FixedTable;

    /// The stored or packaged function `[owner.][package.]name` whose parameters fit these argument types best, as
    /// visible to `text_owner`. `None` if there is no such function.
    fn function(
        &self,
        cx: &mut ExecCtx<'_>,
        text_owner: Option<TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>>;

    /// Runs a function found by [`Host::function`]. The arguments have the types of its parameters.
    fn call(&self, cx: &mut ExecCtx<'_>, function: &HostFunction, args: &[Value]) -> Result<Value>;

    /// SYS_CONTEXT(namespace, parameter), both in upper case.
    ///
    /// # Errors
    /// ORA-02003 for a USERENV parameter that does not exist.
    fn sys_context(&self, cx: &mut ExecCtx<'_>, namespace: &str, parameter: &str) -> Result<Value>;

    /// The next number of a sequence.
    ///
    /// # Errors
    /// ORA-08004 at the end of a sequence without CYCLE.
    fn next_value(&self, cx: &mut ExecCtx<'_>, sequence: &SequenceDef) -> Result<Number>;

    /// The definition of a type that a host function returns.
    fn type_def(&self, _id: types::TypeId) -> Option<std::rc::Rc<types::TypeDef>> {
        None
    }

    /// The time on the database's clock, with that clock's offset from UTC.
    fn now(&self) -> Timestamp;

    /// Sixteen bytes, unique for each call.
    fn sys_guid(&self) -> [u8; 16];

    /// The SCN that was current at a time.
    ///
    /// # Errors
    /// ORA-08180 if no SCN is recorded for the time.
    fn scn_of_time(&self, _time: &Timestamp) -> Result<Scn> {
        Err(Ora::new(8180))
    }

    /// The time at which an SCN was current.
    ///
    /// # Errors
    /// ORA-08181 if no time is recorded for the SCN.
    fn time_of_scn(&self, _scn: Scn) -> Result<Timestamp> {
        Err(Ora::new(8181))
    }

    /// Adds the name of the segment to an error; the storage layer knows only its number.
    fn name_segment(&self, e: Ora) -> Ora {
        e
    }

    /// Checks that the table's definition is the one of `scn`.
    ///
    /// # Errors
    /// ORA-01466 if it has changed; ORA-01555 if the older definition is not known.
    fn check_definition(&self, _table: &TableDef, _scn: Scn) -> Result<()> {
        Ok(())
    }
}

/// A table whose rows are computed while it is read. It is neither materialised nor read-consistent: nested loops open
/// it anew for each outer row.
pub trait FixedTable {
    /// Starts a scan. The columns are those that the catalog has for the table, in order.
    fn open(&self, cx: &mut ExecCtx<'_>) -> Result<Box<dyn FixedScan>>;
}

/// One scan of a fixed table.
pub trait FixedScan {
    /// Puts all columns of the next row into `row`, in the table's order. The values in `row` may hold anything before
    /// the call. False at the end.
    fn next(&mut self, cx: &mut ExecCtx<'_>, row: &mut Row) -> Result<bool>;
}

/// A row of values. The caller keeps it and passes it again, so that texts keep their buffers.
pub type Row = Vec<Value>;

/// The host's functions in the form that the planner needs.
pub(crate) struct HostFunctions<'a, 'b>(RefCell<&'a mut ExecCtx<'b>>);

impl<'a, 'b> HostFunctions<'a, 'b> {
    pub fn new(cx: &'a mut ExecCtx<'b>) -> Self {
        HostFunctions(RefCell::new(cx))
    }
}

impl plan::Sampler for HostFunctions<'_, '_> {
    fn sample(
        &self,
        table: &dictionary::TableDef,
        columns: &[usize],
        blocks_most: u64,
    ) -> Result<Option<plan::Sampled>> {
        crate::sampling::sample(&mut self.0.borrow_mut(), table, columns, blocks_most)
    }
}

impl plan::ColumnUses for HostFunctions<'_, '_> {
    fn used(&self, table: types::ObjectId, column: u32, how: dictionary::ColumnUse) {
        self.0.borrow().host.note_column_use(table, column, how);
    }
}

impl Functions for HostFunctions<'_, '_> {
    fn function(
        &self,
        text_owner: Option<TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>> {
        let mut cx = self.0.borrow_mut();
        let host = cx.host;
        host.function(&mut cx, text_owner, path, args)
    }

    fn type_def(&self, id: types::TypeId) -> Option<std::rc::Rc<types::TypeDef>> {
        self.0.borrow().host.type_def(id)
    }

    fn check_cancel(&self) -> Result<()> {
        self.0.borrow_mut().check_cancel()
    }
}
