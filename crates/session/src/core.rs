//! What lasts as long as a session, and SQL's view of it.
//!
//! Everything here is behind `&self` with cells inside, because calls nest: SQL calls a PL/SQL function, which runs
//! SQL. What statements change all the time (transaction, NLS settings) is `exec::SessionState` instead and is passed
//! down by `&mut`. No cell is borrowed across a call into SQL or PL/SQL.

use crate::commit_write::CommitWrite;
use crate::identity::{Identity, Origin, Stack};
use crate::run::FunctionCache;
use crate::world::{SqlCursor, World};
use dictionary::{
    Catalog, Dictionary, ErrorLine, FixedCatalog, FixedId, NoFixedTables, ObjectKind, ObjectPrivilege, SequenceDef,
    SessionCatalog, SystemPrivilege, TableDef, UserId, Verdict, Who,
};
use enqueue::{EnqueueType, LockId, LockMode, Timeout};
use exec::{ExecCtx, Eyes, FixedTable, HostFunction, SessionState, Shared};
use instance::{FixedTables, Instance, SessionFace};
use params::SessionParams;
use plsql::Plsql;
use process::Process;
use redo::RedoSink;
use result_cache::{Build, Description, Key, Namespace, Opened, ResultBuffer};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use txn::{Savepoint, Txn};
use types::{DataType, Number, ObjectId, Ora, Result, Timestamp, Value};

/// Savepoints by name, oldest first.
pub type Savepoints = Vec<(String, Savepoint)>;

/// What lasts as long as a session.
pub struct Core {
    pub instance: &'static Instance,
    /// Shared with the dictionary, whose look-ups go through the row cache.
    pub p: Rc<Process>,
    pub shared: Shared,
    pub dict: RefCell<Dictionary>,
    names: RefCell<Option<(Identity, SessionCatalog)>>,
    /// A table that a DDL statement is defining, as its own queries see it; not what they call.
    ahead: RefCell<Option<Rc<TableDef>>>,
    /// A DDL statement runs.
    pub(crate) defining: Cell<bool>,
    /// Whose names and privileges are in force.
    pub(crate) who: Stack,
    /// The last pair of unit owner and invoker that INHERIT PRIVILEGES was found for, and the dictionary's epoch then.
    inherits: Cell<Option<(UserId, UserId, u64)>>,
    pub plsql: Plsql<SqlCursor>,
    /// Cursors of CURSOR(subquery) that nobody has taken yet, with their numbers.
    pub(crate) nested: RefCell<Vec<(u32, SqlCursor)>>,
    pub(crate) nested_numbers: Cell<u32>,
    /// Open cursors of the client's that binds of statements have had, by their numbers.
    pub(crate) bound_cursors: RefCell<Vec<(u32, plsql::Datum)>>,
    pub params: Rc<RefCell<SessionParams>>,
    fixed: Option<Rc<dyn FixedTables>>,
    pub savepoints: RefCell<Savepoints>,
    /// Transactions that autonomous ones have suspended.
    pub suspended: RefCell<Vec<(Txn, Savepoints, exec::constraints::Transaction)>>,
    /// DBMS_LOCK's locks by number, and whether they end with the transaction.
    pub user_locks: RefCell<HashMap<u32, (LockId, bool)>>,
    /// Results of functions that this session builds for the result cache.
    builds: RefCell<Vec<(String, Vec<u8>, Build)>>,
    /// What functions of SQL keep between calls from PL/SQL.
    pub functions: FunctionCache,
    /// The shared cursor of the last statement, for DBMS_XPLAN.DISPLAY_CURSOR.
    pub last_cursor: Cell<Option<(library_cache::Digest, u64)>>,
    /// Job that runs in this session; 0 for none.
    pub job: Cell<u64>,
    guid: Cell<u64>,
    guid_seed: u64,
    /// Deadlocks that this session found and wrote down.
    pub deadlocks: Cell<u64>,
    /// Calls of [`Core::is_check_due`].
    checks: Cell<u32>,
    /// Cursors of blocks.
    pub blocks: RefCell<crate::blocks::Blocks>,
    /// Cursors that the client has open.
    pub(crate) client_cursors: Cell<usize>,
    /// Closed cursors of statements.
    pub kept: RefCell<crate::kept::KeptCursors>,
    /// Counts what is kept, so that what was used longest ago can be told.
    pub kept_clock: Cell<u64>,
    /// What the parameters say of commits.
    pub commit_write: Cell<CommitWrite>,
    /// The audit rules of the session; `None` where nothing is audited.
    pub(crate) audit: RefCell<Option<Rc<crate::audit::Plan>>>,
    /// Whether queries and DML are to be looked at for it.
    pub audit_rows: Cell<bool>,
    /// Rows that the session has written to the audit trail.
    pub audit_entries: Cell<u64>,
    /// Values of application contexts.
    pub(crate) contexts: crate::app_context::AppContexts,
    /// The edition that the session has been set to.
    pub(crate) edition: RefCell<Option<Rc<str>>>,
    /// Who has opened the session for its user.
    pub(crate) proxied: RefCell<Option<crate::proxy::Proxied>>,
    /// The schema or the edition of statements has been set, and the client has not been told.
    pub(crate) is_untold: Cell<bool>,
    /// The transaction has a name, in the session's slot.
    pub is_named: Cell<bool>,
    /// The branch of a global transaction that the session works in.
    pub(crate) branch: crate::global::OwnBranch,
    /// Transactions that had ended when the session came into it.
    pub(crate) branch_began: Cell<u64>,
    /// DBMS_XA: seconds for which branches may wait for a session, and the number of the last error.
    /// The transaction without a session that this one is in was begun or resumed by a statement.
    pub(crate) by_statement: Cell<bool>,
    pub(crate) xa_timeout: Cell<u32>,
    pub(crate) xa_error: Cell<u32>,
    /// Tables that flashback queries have found unchanged since an SCN, and the dictionary's epoch then. A nested loop
    /// asks for each of its rows.
    unchanged: Cell<[Option<(types::ObjectId, types::Scn, u64)>; UNCHANGED_MAX]>,
}

/// How long a call waits at its end for another session that defines something.
const VERDICTS_WAIT: Duration = Duration::from_secs(10);

/// Tables of one flashback query that are looked at once.
const UNCHANGED_MAX: usize = 8;

/// One of so many times [`Core::is_check_due`].
const CHECK_EVERY: u32 = 4096;

impl Core {
    /// The session of process `p`, not yet anybody's.
    pub fn new(instance: &'static Instance, p: Process, seed: u64) -> Core {
        let (storage, caches) = (instance.storage(), instance.caches());
        let shared = Shared {
            txns: storage.txns,
            heap: storage.heap,
            clusters: storage.clusters,
            btree: storage.btree,
            enqueues: storage.enqueues,
            library: caches.library,
            results: caches.results,
            areas: caches.areas,
            servers: caches.servers,
        };
        let params = Rc::new(RefCell::new(SessionParams::new(*instance.params())));
        let p = Rc::new(p);
        let face = SessionFace { instance, p: Rc::clone(&p), params: Rc::clone(&params) };
        let fixed = instance.make_fixed_tables().map(|make| make(face));
        let catalog: Rc<dyn FixedCatalog> = match &fixed {
            Some(f) => f.catalog(),
            None => Rc::new(NoFixedTables),
        };
        let dict = Dictionary::new(storage.dictionary.clone(), catalog, &p);
        Core {
            instance,
            p,
            shared,
            dict: RefCell::new(dict),
            names: RefCell::new(None),
            ahead: RefCell::new(None),
            defining: Cell::new(false),
            who: Stack::default(),
            inherits: Cell::new(None),
            plsql: Plsql::new(seed),
            nested: RefCell::default(),
            bound_cursors: RefCell::default(),
            nested_numbers: Cell::new(crate::references::NESTED_FIRST),
            params,
            fixed,
            commit_write: Cell::default(),
            contexts: Default::default(),
            edition: RefCell::default(),
            proxied: RefCell::default(),
            is_untold: Cell::default(),
            is_named: Cell::default(),
            branch: RefCell::default(),
            branch_began: Cell::default(),
            by_statement: Cell::default(),
            xa_timeout: Cell::new(crate::global::TIMEOUT_S),
            xa_error: Cell::default(),
            audit: RefCell::default(),
            audit_rows: Cell::default(),
            unchanged: Cell::default(),
            audit_entries: Cell::default(),
            savepoints: RefCell::default(),
            suspended: RefCell::default(),
            user_locks: RefCell::default(),
            builds: RefCell::default(),
            functions: FunctionCache::default(),
            last_cursor: Cell::new(None),
            job: Cell::new(0),
            guid: Cell::new(0),
            guid_seed: seed,
            deadlocks: Cell::new(0),
            checks: Cell::new(0),
            blocks: RefCell::default(),
            client_cursors: Cell::default(),
            kept: RefCell::default(),
            kept_clock: Cell::new(0),
        }
    }

    /// Whether what costs a system call or two is to be done: now and then, by how often it is asked.
    #[inline]
    pub fn is_check_due(&self) -> bool {
        let n = self.checks.get().wrapping_add(1);
        self.checks.set(n);
        n.is_multiple_of(CHECK_EVERY)
    }

    /// The next moment of the clock of what is kept.
    pub fn tick_kept(&self) -> u64 {
        self.kept_clock.set(self.kept_clock.get() + 1);
        self.kept_clock.get()
    }

    /// Whose names and privileges are in force.
    #[inline]
    pub fn identity(&self) -> Identity {
        self.who.now()
    }

    /// ORA-01031 unless who is in force has the system privilege.
    ///
    /// # Errors
    /// That; those of reading the dictionary.
    pub fn require(&self, privilege: SystemPrivilege) -> Result<()> {
        if self.names()?.has(privilege) { Ok(()) } else { Err(privilege.missing()) }
    }

    /// ALTER SESSION SET CURRENT_SCHEMA: where names belong, and nothing else.
    ///
    /// # Errors
    /// ORA-01435 when there is no such user.
    pub fn set_current_schema(&self, session: &mut SessionState, name: &str) -> Result<()> {
        let schema = self.user_id(name)?.ok_or_else(|| Ora::new(1435))?;
        self.who.set_schema(schema);
        session.schema = name.into();
        if self.identity().origin == Origin::Login {
            self.p.session().schema_name.set(name);
            self.is_untold.set(true);
        }
        Ok(())
    }

    /// Takes an identity, whose schema has that name, until [`Core::leave`].
    pub fn enter(&self, session: &mut SessionState, identity: Identity, schema: &Rc<str>) {
        self.who.enter(identity, std::mem::replace(&mut session.schema, Rc::clone(schema)));
        session.parsing_user = identity.user.0;
    }

    /// Goes back to the identity before.
    pub fn leave(&self, session: &mut SessionState) {
        session.schema = self.who.leave();
        session.parsing_user = self.identity().user.0;
    }

    /// The number of a user; `None` for roles and for what is not there.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub fn user_id(&self, name: &str) -> Result<Option<UserId>> {
        if name == "SYS" {
            return Ok(Some(UserId::SYS));
        }
        Ok(self.dict.borrow_mut().user(name)?.map(|u| u.id))
    }

    /// The name of a user; empty for one that is gone.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub fn user_name(&self, user: UserId) -> Result<String> {
        Ok(self.names()?.image().user_name(user))
    }

    /// ORA-06598 unless code of `owner` may run with the privileges of who is in force.
    ///
    /// # Errors
    /// That; those of reading the dictionary.
    pub fn require_inheritance(&self, owner: UserId) -> Result<()> {
        let user = self.identity().user;
        if owner == user || owner == UserId::SYS {
            return Ok(());
        }
        let found = Some((owner, user, self.instance.storage().dictionary.epoch()));
        if self.inherits.get() == found {
            return Ok(());
        }
        let names = self.names()?;
        if !names.image().may_inherit(owner, user) {
            names.image().checked()?;
            return Err(Ora::new(6598));
        }
        self.inherits.set(found);
        Ok(())
    }

    /// ORA-01031 unless the owner of a view may let others call the function through it: EXECUTE with the grant option,
    /// as for tables of others, or granted to everybody.
    fn require_given(&self, owner: UserId, f: &HostFunction) -> Result<()> {
        let names = self.names()?;
        let image = names.image();
        let Some(of) = image.user_named(&f.owner).map(|user| user.id) else { return image.checked() };
        if of == owner || owner == UserId::SYS {
            return Ok(());
        }
        let unit = f.package.as_ref().unwrap_or(&f.name);
        let found = image.object_named(of, ObjectKind::Procedure.namespace(), unit);
        let given = found.is_some_and(|unit| names.may_give(owner, unit.object, of, ObjectPrivilege::Execute));
        if given { Ok(()) } else { Err(Ora::new(1031)) }
    }

    /// SET ROLE: these roles and no others, with those granted to them.
    ///
    /// # Errors
    /// ORA-06565 inside a unit of definer's rights.
    pub fn enable_roles(&self, roles: Vec<u32>) -> Result<()> {
        if self.identity().origin != Origin::Login {
            return Err(Ora::with(6565, &[&"SET ROLE"]));
        }
        self.who.enable(roles);
        Ok(())
    }

    /// Runs `f` with a table as it will be once the statement that defines it has committed; what can be named may be
    /// read.
    pub fn ahead<R>(&self, table: Rc<TableDef>, f: impl FnOnce() -> R) -> R {
        let before = self.ahead.replace(Some(table));
        let result = f();
        self.ahead.replace(before);
        result
    }

    /// Runs `f` outside of the query that a DDL statement runs: what may be read in that is nothing to the functions
    /// that it calls.
    pub(crate) fn outside_ddl<R>(&self, f: impl FnOnce() -> R) -> R {
        let ahead = self.ahead.take();
        let result = f();
        self.ahead.replace(ahead);
        result
    }

    /// Names as they resolve now.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub fn names(&self) -> Result<Rc<SessionCatalog>> {
        let identity = self.identity();
        if let Some((of, names)) = &*self.names.borrow()
            && *of == identity
            && let Some(names) = self.dict.borrow().names_again(names)
        {
            return Ok(Rc::new(names));
        }
        let names = self.dict.borrow_mut().names(&self.who_is(identity))?;
        *self.names.borrow_mut() = Some((identity, names.kept()));
        Ok(Rc::new(names))
    }

    /// `open_cursors`.
    pub(crate) fn cursors_most(&self) -> usize {
        self.params.borrow().number(params::Param::OpenCursors).max(1) as usize
    }

    /// Notes how compiling a unit went, for [`Self::store_verdicts`].
    pub(crate) fn note_verdict(&self, object: ObjectId, epoch: u64, errors: &[plsql::CompileError]) {
        let mut errors = errors.to_vec();
        crate::ddl_call::sort_errors(&mut errors);
        let line = |e: plsql::CompileError| ErrorLine { line: e.line, column: e.column, text: e.text };
        let errors = errors.into_iter().map(line).collect();
        self.dict.borrow().verdicts().borrow_mut().push(Verdict { object, epoch, errors });
    }

    /// How long the session waits for stored units that others run or define.
    pub(crate) fn patience(&self) -> Duration {
        let minutes = self.params.borrow().number(params::Param::KglTimeToWaitForLocks);
        Duration::from_secs(60 * u64::try_from(minutes).unwrap_or(0))
    }

    /// The code of the call has ended: who waits for a unit that it ran goes on.
    pub(crate) fn end_running(&self) {
        self.shared.library.end_running(&self.p);
        self.plsql.end_call();
    }

    /// Enters the result of compiling invalid units and views into the dictionary, in a transaction of its own: STATUS
    /// and USER_ERRORS. Units that were compiled before another session's DDL are compiled again.
    pub(crate) fn store_verdicts(&self, cx: &mut ExecCtx<'_>) {
        self.plsql.forget_failures();
        self.enter_verdicts(cx);
        // A unit that was compiled again here is no failure of the next call.
        self.plsql.forget_failures();
    }

    fn enter_verdicts(&self, cx: &mut ExecCtx<'_>) {
        let verdicts = self.dict.borrow().verdicts().take();
        if verdicts.is_empty() {
            return;
        }
        let dictionary = self.dict.borrow().shared().clone();
        let Ok(news) = dictionary.news(&self.p, verdicts) else { return };
        if news.is_empty() {
            return;
        }
        let timeout = Timeout::After(VERDICTS_WAIT);
        let taken = dictionary.enqueues().get(&self.p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, timeout);
        let Ok(lock) = taken else { return };
        // Nobody else moves the epoch now.
        let epoch = dictionary.epoch();
        let (mut good, old): (Vec<Verdict>, Vec<Verdict>) =
            news.into_iter().partition(|verdict| verdict.epoch == epoch);
        for verdict in old {
            crate::ddl_call::compile(self, cx, verdict.object);
        }
        good.extend(self.dict.borrow().verdicts().take());
        let mut txn = Txn::inside(&cx.session.txn);
        let hook = self.instance.on_commit();
        let news = dictionary.news(&self.p, good);
        let done = news.and_then(|news| dictionary.store_verdicts(&self.p, &mut txn, &hook, &news));
        if done.is_err() {
            let _ = self.shared.txns.rollback(&self.p, &mut txn);
        }
        self.shared.txns.show_transaction(&self.p, &cx.session.txn);
        dictionary.enqueues().release(&self.p, lock);
    }

    /// An identity as the dictionary takes it.
    pub fn who_is(&self, identity: Identity) -> Who {
        let Identity { user, schema, sysdba, .. } = identity;
        Who { user, schema, sysdba, roles: self.who.roles(identity) }
    }

    /// The local time with its offset from UTC.
    pub fn local_time(&self) -> Timestamp {
        instance::local_time_at(os::clock::wall_ns())
    }

    /// Ends the transaction by COMMIT. It is waited for at the end of the call: see [`Core::sync_commits`].
    ///
    /// # Errors
    /// ORA-02091 when a deferred constraint is violated: everything is rolled back. Else a commit that failed; the
    /// transaction is still open.
    pub fn commit(&self, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.commit_as(cx, None, None)
    }

    /// As [`Core::commit`], with what the statement says of IMMEDIATE and WAIT; else the parameters say it.
    ///
    /// # Errors
    /// As [`Core::commit`].
    pub fn commit_as(&self, cx: &mut ExecCtx<'_>, immediate: Option<bool>, wait: Option<bool>) -> Result<()> {
        crate::global::refuse_commit(self, cx.session)?;
        crate::constraints::check_before_commit(self, cx)?;
        let txn = &mut cx.session.txn;
        // What changed something is counted by the transaction system.
        self.p.count(wait::Stat::UserCommits, u64::from(txn.xid().is_none()));
        if txn.is_active() {
            let redo = self.instance.storage().redo;
            let earlier = redo.noted_commit(&self.p);
            self.shared.txns.commit(&self.p, txn, &self.instance.on_commit())?;
            let how = self.commit_write.get();
            if !how.waits(wait) {
                redo.forget_commit(&self.p, earlier, immediate.unwrap_or(how.immediate));
            }
        }
        if crate::global::is_in_branch(self, cx.session) {
            crate::global::drop_branch(self);
        }
        self.transaction_ended(cx.session);
        Ok(())
    }

    /// Waits until the commits of this call are on disk, before its answer goes out.
    ///
    /// # Errors
    /// The redo cannot be written.
    pub fn sync_commits(&self) -> Result<()> {
        self.shared.txns.sync_commits(&self.p)
    }

    /// Ends the transaction by ROLLBACK.
    ///
    /// # Errors
    /// Undo that cannot be read; the transaction is still open.
    pub fn rollback(&self, session: &mut SessionState) -> Result<()> {
        let txn = &mut session.txn;
        self.p.count(wait::Stat::UserRollbacks, u64::from(txn.xid().is_none()));
        if txn.is_active() {
            self.shared.txns.rollback(&self.p, txn)?;
        }
        if crate::global::is_in_branch(self, session) {
            // It has no transaction any more, and must not be taken for one that has changed nothing.
            crate::global::drop_branch(self);
        }
        self.transaction_ended(session);
        Ok(())
    }

    pub(crate) fn transaction_ended(&self, session: &mut SessionState) {
        session.constraints.end_transaction(self.shared.txns.space().temp());
        if self.is_named.replace(false) {
            self.p.session().transaction_name.set("");
        }
        session.temporaries.end_transaction(&self.p, &self.shared, session.suspended);
        self.savepoints.borrow_mut().clear();
        self.user_locks.borrow_mut().retain(|_, (lock, until_commit)| {
            if *until_commit {
                self.shared.enqueues.release(&self.p, *lock);
            }
            !*until_commit
        });
    }

    /// SAVEPOINT name: one of that name that exists moves here.
    pub fn savepoint(&self, txn: &Txn, name: &str) {
        let at = self.shared.txns.savepoint(txn);
        let mut list = self.savepoints.borrow_mut();
        list.retain(|(n, _)| n != name);
        list.push((name.to_string(), at));
    }

    /// ROLLBACK TO name; later savepoints are forgotten.
    ///
    /// # Errors
    /// ORA-01086 when there is no such savepoint.
    pub fn rollback_to(&self, txn: &mut Txn, name: &str) -> Result<()> {
        let at = {
            let mut list = self.savepoints.borrow_mut();
            let n = list.iter().position(|(s, _)| s == name).ok_or_else(|| Ora::with(1086, &[&name]))?;
            list.truncate(n + 1);
            list[n].1
        };
        self.shared.txns.rollback_to(&self.p, txn, &at)?;
        self.shared.txns.unlock_tables_since(&self.p, txn, &at);
        txn.note_undone(&at);
        Ok(())
    }

    /// The cached result of a PL/SQL function; `None` begins one that is being built, if it may be.
    ///
    /// # Errors
    /// Those of waiting for another session that builds the same result.
    pub fn function_result_get(
        &self,
        session: &SessionState,
        function: &str,
        depends: &[ObjectId],
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let changed = session.txn.is_active() && depends.iter().any(|d| session.txn.has_touched(*d));
        let elsewhen = session.txn.holds_snapshot() || session.flashback.is_some();
        if !session.options.result_cache || changed || elsewhen {
            return Ok(None);
        }
        let (results, txns) = (self.shared.results, self.shared.txns);
        results.track(&self.p, depends, || txns.current_scn());
        let mut whole = function.as_bytes().to_vec();
        whole.push(0);
        whole.extend_from_slice(&session.nls_fingerprint().to_le_bytes());
        // What a function of invoker's rights reads is its caller's.
        let identity = self.identity();
        whole.extend_from_slice(&identity.user.0.to_le_bytes());
        whole.extend_from_slice(&identity.schema.0.to_le_bytes());
        for role in &*self.who.roles(identity) {
            whole.extend_from_slice(&role.to_le_bytes());
        }
        whole.extend_from_slice(&u32::MAX.to_le_bytes());
        whole.extend_from_slice(key);
        let about =
            Description { name: function, namespace: Namespace::PlSql, creator: session.user_id, column_count: 1 };
        let mut buffer = ResultBuffer::new();
        let scn = txns.current_scn();
        let opened = results.open(&self.p, self.shared.enqueues, Key::new(&whole), about, depends, scn, &mut buffer)?;
        match opened {
            Opened::Hit => Ok(buffer.next_row().map(<[u8]>::to_vec)),
            // A session's own rows are nobody else's result.
            Opened::Build(build) if self.any_temporary(depends).unwrap_or(true) => {
                self.shared.results.abandon(&self.p, self.shared.enqueues, build);
                Ok(None)
            }
            Opened::Build(build) => {
                self.builds.borrow_mut().push((function.to_string(), key.to_vec(), build));
                Ok(None)
            }
            Opened::Bypass => Ok(None),
        }
    }

    fn function_named(&self, cx: &mut ExecCtx<'_>, path: &[String], args: &[DataType]) -> Result<Option<HostFunction>> {
        let mut world = World { cx: cx.reborrow(), core: self };
        let Some(f) = self.plsql.function(&mut world, path, args)? else { return Ok(None) };
        // A result with a function whose tables are not known cannot be cached: such a function is not taken for
        // deterministic. Which tables an invoker's function reads is not known before it is called.
        let reads = if f.deterministic && !f.invokers { self.plsql.reads(&mut world, &f) } else { None };
        let (deterministic, dependencies) = (reads.is_some(), reads.unwrap_or_default());
        Ok(Some(HostFunction { deterministic, dependencies, ..HostFunction::from(f) }))
    }

    fn any_temporary(&self, objects: &[ObjectId]) -> Result<bool> {
        let names = self.names()?;
        for object in objects {
            if names.table_by_id(*object)?.is_some_and(|table| table.temporary.is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Publishes the result of a function that was begun by [`Core::function_result_get`].
    pub fn function_result_put(&self, function: &str, key: &[u8], value: &[u8]) {
        if let Some(mut build) = self.take_build(function, key) {
            self.shared.results.push(&mut build, value);
            self.shared.results.publish(&self.p, self.shared.enqueues, build);
        }
    }

    /// Gives up the result of a function that failed.
    pub fn function_result_abandon(&self, function: &str, key: &[u8]) {
        if let Some(build) = self.take_build(function, key) {
            self.shared.results.abandon(&self.p, self.shared.enqueues, build);
        }
    }

    fn take_build(&self, function: &str, key: &[u8]) -> Option<Build> {
        let mut builds = self.builds.borrow_mut();
        let at = builds.iter().rposition(|(f, k, _)| f == function && k == key)?;
        Some(builds.remove(at).2)
    }

    /// Sixteen bytes no other call returns: the instance's start, the process, a count and a random seed.
    pub fn new_guid(&self) -> [u8; 16] {
        let n = self.guid.get();
        self.guid.set(n + 1);
        let high = self.instance.state().started_wall_ns() ^ self.guid_seed.rotate_left(17);
        let low = (u64::from(self.p.number()) << 48) ^ (self.p.serial() << 32) ^ n;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&low.to_be_bytes());
        bytes
    }
}

impl exec::Host for Core {
    fn epoch(&self) -> u64 {
        self.instance.storage().dictionary.epoch()
    }

    fn note_changes(&self, table: ObjectId, changes: dictionary::monitoring::Changes) {
        self.instance.storage().dictionary.note_changes(table, changes);
    }

    fn note_column_use(&self, table: ObjectId, column: u32, how: dictionary::ColumnUse) {
        self.instance.storage().dictionary.note_column_use(table, column, how);
    }

    fn catalog(&self) -> Result<Rc<dyn Catalog>> {
        let names = self.names()?;
        match &*self.ahead.borrow() {
            Some(table) => Ok(Rc::new(names.ahead(Rc::clone(table)))),
            None => Ok(names),
        }
    }

    fn rights(&self) -> exec::Rights {
        let who = self.who_is(self.identity());
        let all_powerful = who.sysdba || who.user == UserId::SYS;
        let roles = if all_powerful { Vec::new() } else { who.roles.to_vec() };
        exec::Rights { user: who.user.0, schema: who.schema.0, all_powerful, roles }
    }

    fn may_share(&self) -> bool {
        self.ahead.borrow().is_none()
    }

    fn fixed_table(&self, id: FixedId) -> &dyn FixedTable {
        let fixed = self.fixed.as_ref().expect("the catalog names fixed tables only where there are some");
        fixed.table(id)
    }

    fn function(
        &self,
        cx: &mut ExecCtx<'_>,
        eyes: Option<Eyes>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>> {
        let of_table = || {
            let owner = self.ahead.borrow().as_ref()?.owner_id;
            let eyes = Eyes { owner, bequeaths: false, view: false, catalog: false };
            (self.identity() == Identity::definer(owner)).then_some(eyes)
        };
        // What DDL runs over a table that it defines is made of the table's expressions.
        let Some(eyes) = eyes.or_else(of_table) else {
            return self.outside_ddl(|| self.function_named(cx, path, args));
        };
        let name: Rc<str> = self.names()?.image().user_name(eyes.owner).into();
        self.enter(cx.session, Identity::definer(eyes.owner), &name);
        let found = self.outside_ddl(|| self.function_named(cx, path, args));
        self.leave(cx.session);
        let Some(f) = found? else { return Ok(None) };
        if eyes.view && eyes.owner != self.identity().user {
            self.require_given(eyes.owner, &f)?;
        }
        if f.invokers && eyes.bequeaths {
            self.require_inheritance(eyes.owner)?;
        }
        if !f.invokers || eyes.bequeaths {
            return Ok(Some(f));
        }
        // Who calls an invoker's function is the owner of the view that it stands in. Into the expressions of a table
        // others may have put it, who may alter or index the table: there it has the rights of its own owner.
        let is_foreign = !eyes.view && f.owner != *name && f.owner != "SYS";
        let names = self.names()?;
        let caller = match names.image().user_named(&f.owner) {
            Some(of) if is_foreign => (of.id, of.name.as_str().into()),
            _ => (eyes.owner, name),
        };
        names.image().checked()?;
        Ok(Some(HostFunction { caller: Some(caller), ..f }))
    }

    fn call(&self, cx: &mut ExecCtx<'_>, function: &HostFunction, args: &[Value]) -> Result<Value> {
        if function.handle == exec::NESTED_CURSOR {
            return self.open_nested(cx, function, args);
        }
        let Some((owner, name)) = &function.caller else {
            let mut world = World { cx: cx.reborrow(), core: self };
            return self.outside_ddl(|| self.plsql.call(&mut world, function.handle, args, &function.omitted));
        };
        self.enter(cx.session, Identity::definer(*owner), name);
        let mut world = World { cx: cx.reborrow(), core: self };
        let result = self.outside_ddl(|| self.plsql.call(&mut world, function.handle, args, &function.omitted));
        self.leave(cx.session);
        result
    }

    fn name_segment(&self, e: Ora) -> Ora {
        e.name_segment(|data| self.names().ok()?.image().segment_name(ObjectId(data)))
    }

    fn sys_context(&self, cx: &mut ExecCtx<'_>, namespace: &str, parameter: &str) -> Result<Value> {
        crate::context::sys_context(self, cx.session, namespace, parameter)
    }

    fn next_value(&self, cx: &mut ExecCtx<'_>, sequence: &SequenceDef) -> Result<Number> {
        self.dict.borrow().next_value(cx.p, sequence)
    }

    fn type_def(&self, id: types::TypeId) -> Option<Rc<types::TypeDef>> {
        self.plsql.type_def(id)
    }

    fn now(&self) -> Timestamp {
        self.local_time()
    }

    fn sys_guid(&self) -> [u8; 16] {
        self.new_guid()
    }

    fn scn_of_time(&self, time: &Timestamp) -> Result<types::Scn> {
        Core::scn_of_time(self, time)
    }

    fn time_of_scn(&self, scn: types::Scn) -> Result<Timestamp> {
        Core::time_of_scn(self, scn)
    }

    fn check_definition(&self, table: &dictionary::TableDef, scn: types::Scn) -> Result<()> {
        let dictionary = self.instance.storage().dictionary;
        // Every change of a definition moves the epoch.
        let asked = Some((table.object, scn, dictionary.epoch()));
        let mut known = self.unchanged.get();
        if known.contains(&asked) {
            return Ok(());
        }
        if !dictionary.is_unchanged_since(&self.p, table.object, scn)? {
            return Err(Ora::new(1466));
        }
        known.rotate_right(1);
        known[0] = asked;
        self.unchanged.set(known);
        Ok(())
    }
}

impl admin::Administrator for Core {
    fn instance(&self) -> &'static Instance {
        self.instance
    }

    fn process(&self) -> &Process {
        &self.p
    }

    fn require(&self, privilege: SystemPrivilege) -> Result<()> {
        Core::require(self, privilege)
    }

    fn is_sysdba(&self) -> bool {
        self.identity().sysdba
    }

    fn tablespace_named(&self, name: &str) -> Result<Option<u32>> {
        Ok(self.names()?.image().tablespace_named(name))
    }
}
