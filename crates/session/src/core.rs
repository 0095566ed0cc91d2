//! The state that lasts as long as a session.
//!
//! Everything here is behind `&self` with cells inside, because calls nest: SQL calls a PL/SQL function, which runs
//! SQL. The state that statements change all the time (transaction, NLS settings) is in `exec::SessionState`, which is
//! passed down by `&mut`. No cell is borrowed across a call into SQL or PL/SQL.

use crate::app_context::AppContexts;
use crate::audit_plan::Plan;
use crate::commit_write::CommitWrite;
use crate::cursors::{Blocks, KeptCursors, SqlCursor};
use crate::identity::{Identity, Origin, Stack};
use dictionary::{
    Dictionary, FixedCatalog, NoFixedTables, Principal, ProxyDef, SessionCatalog, SystemPrivilege, TableDef, UserId,
};
use enqueue::LockId;
use exec::{SessionState, Shared};
use functions::FnCache;
use instance::{FixedTables, Instance, SessionFace};
use params::SessionParams;
use plsql::{EventFacts, Plsql};
use process::Process;
use result_cache::Build;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use txn::{Branch, Savepoint, Txn};
use types::{Ora, Result, Timestamp};

/// Seconds for which a branch waits for a session, by default.
pub(crate) const TIMEOUT_S: u32 = 60;

/// The first number of cursors in rows; all other cursors have smaller numbers.
pub(crate) const NESTED_FIRST: u32 = 1 << 31;

/// The proxy of a session that one user has opened for another (invariant 9).
pub(crate) struct Proxied {
    /// The proxy user, who has proved a password.
    pub by: UserId,
    pub name: String,
    pub allowed: ProxyDef,
}

/// The state that SQL functions keep between calls.
pub type FunctionCache = std::cell::RefCell<FnCache>;

/// Savepoints by name, oldest first.
pub type Savepoints = Vec<(String, Savepoint)>;

/// The state that lasts as long as a session.
pub struct Core {
    pub instance: &'static Instance,
    /// Shared with the dictionary, whose look-ups go through the row cache.
    pub p: Rc<Process>,
    pub shared: Shared,
    pub dict: RefCell<Dictionary>,
    names: RefCell<Option<(Identity, SessionCatalog)>>,
    /// A table that a DDL statement is defining. Queries of the statement see it; functions that they call do not.
    pub(crate) ahead: RefCell<Option<Rc<TableDef>>>,
    /// A DDL statement runs.
    pub(crate) defining: Cell<bool>,
    /// The event for which a trigger on a schema or the database runs.
    pub(crate) event: RefCell<Option<Rc<EventFacts>>>,
    /// The identity in force.
    pub(crate) who: Stack,
    /// The last pair of unit owner and invoker with INHERIT PRIVILEGES, and the dictionary's epoch at that check.
    inherits: Cell<Option<(UserId, UserId, u64)>>,
    pub plsql: Plsql<SqlCursor>,
    /// Cursors of CURSOR(subquery) that have not been taken yet, with their numbers.
    pub(crate) nested: RefCell<Vec<(u32, SqlCursor)>>,
    pub(crate) nested_numbers: Cell<u32>,
    /// Open cursors of the client that statements had as binds, by their numbers.
    pub(crate) bound_cursors: RefCell<Vec<(u32, plsql::Datum)>>,
    pub params: Rc<RefCell<SessionParams>>,
    pub(crate) fixed: Option<Rc<dyn FixedTables>>,
    pub savepoints: RefCell<Savepoints>,
    /// Transactions that autonomous ones have suspended.
    pub suspended: RefCell<Vec<(Txn, Savepoints, exec::constraints::Transaction)>>,
    /// DBMS_LOCK's locks by number, and whether they end with the transaction.
    pub user_locks: RefCell<HashMap<u32, (LockId, bool)>>,
    /// Results of functions that this session builds for the result cache.
    pub(crate) builds: RefCell<Vec<(String, Vec<u8>, Build)>>,
    /// The compiled regular expressions of SQL functions, kept between calls from PL/SQL.
    pub functions: FunctionCache,
    /// The shared cursor of the last statement, for DBMS_XPLAN.DISPLAY_CURSOR.
    pub last_cursor: Cell<Option<(library_cache::Digest, u64)>>,
    /// The job that runs in this session; 0 for none.
    pub job: Cell<u64>,
    /// The jobs whose enqueues the session holds: one that runs, and those that it runs by DBMS_JOB.RUN.
    pub(crate) jobs: RefCell<Vec<i64>>,
    guid: Cell<u64>,
    guid_seed: u64,
    /// The number of deadlocks that this session has found and traced.
    pub deadlocks: Cell<u64>,
    /// When the current hour of reported internal errors began, in monotonic nanoseconds, and how many it has had.
    incidents: Cell<(u64, u32)>,
    /// Calls of [`Core::is_check_due`].
    checks: Cell<u32>,
    /// Cursors of blocks.
    pub blocks: RefCell<Blocks>,
    /// Cursors that the client has open.
    pub(crate) client_cursors: Cell<usize>,
    /// Closed cursors of statements.
    pub kept: RefCell<KeptCursors>,
    /// A clock that ticks when a cursor or a block is kept, to find the one used longest ago.
    pub kept_clock: Cell<u64>,
    /// The parameters of commits.
    pub commit_write: Cell<CommitWrite>,
    /// The audit rules of the session; `None` where nothing is audited.
    pub(crate) audit: RefCell<Option<Rc<Plan>>>,
    /// Whether an audit rule can cover queries and DML.
    pub audit_rows: Cell<bool>,
    /// Rows that the session has written to the audit trail.
    pub audit_entries: Cell<u64>,
    /// Values of application contexts.
    pub(crate) contexts: AppContexts,
    /// The edition that the session has been set to.
    pub(crate) edition: RefCell<Option<Rc<str>>>,
    /// The proxy that has opened the session for its user.
    pub(crate) proxied: RefCell<Option<Proxied>>,
    /// The current schema or the edition has been set, and the client has not been told yet.
    pub(crate) is_untold: Cell<bool>,
    /// The transaction has a name, in the session's slot.
    pub is_named: Cell<bool>,
    /// The branch of a global transaction that the session works in.
    pub(crate) branch: RefCell<Option<Branch>>,
    /// The number of transactions that had ended in the session when it entered the branch.
    pub(crate) branch_began: Cell<u64>,
    /// A statement began or resumed the sessionless transaction that the session is in.
    pub(crate) by_statement: Cell<bool>,
    /// DBMS_XA: seconds for which branches may wait for a session.
    pub(crate) xa_timeout: Cell<u32>,
    /// DBMS_XA: the number of the last error; 0 for none.
    pub(crate) xa_error: Cell<u32>,
    /// Tables that flashback queries have found unchanged since an SCN, and the dictionary's epoch at that check. A
    /// nested loop would repeat the check for each of its rows.
    pub(crate) unchanged: Cell<[Option<(types::ObjectId, types::Scn, u64)>; UNCHANGED_MAX]>,
}

/// The number of tables that are remembered as unchanged.
const UNCHANGED_MAX: usize = 8;

/// Internal errors that a session writes in an hour; Oracle's flood control keeps as many incidents.
const INCIDENTS_MAX: u32 = 5;

const HOUR_NS: u64 = 3_600_000_000_000;

/// One in so many calls of [`Core::is_check_due`] returns true.
const CHECK_EVERY: u32 = 4096;

impl Core {
    /// The session of process `p`, before a user has logged on.
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
            event: RefCell::default(),
            who: Stack::default(),
            inherits: Cell::new(None),
            plsql: Plsql::new(seed),
            nested: RefCell::default(),
            bound_cursors: RefCell::default(),
            nested_numbers: Cell::new(NESTED_FIRST),
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
            xa_timeout: Cell::new(TIMEOUT_S),
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
            jobs: RefCell::default(),
            guid: Cell::new(0),
            guid_seed: seed,
            deadlocks: Cell::new(0),
            incidents: Cell::new((0, 0)),
            checks: Cell::new(0),
            blocks: RefCell::default(),
            client_cursors: Cell::default(),
            kept: RefCell::default(),
            kept_clock: Cell::new(0),
        }
    }

    /// Whether a check that costs system calls is due: true for one in `CHECK_EVERY` calls.
    #[inline]
    pub fn is_check_due(&self) -> bool {
        let n = self.checks.get().wrapping_add(1);
        self.checks.set(n);
        n.is_multiple_of(CHECK_EVERY)
    }

    /// Reports an error that is going to a client, if it is one of [`Ora::begin_report`]. `text` is the call's
    /// statement; without it the report names the cursor that still runs.
    pub fn report(&self, error: &mut Ora, text: Option<&str>) {
        if error.begin_report() {
            self.note_error(error, text);
        }
    }

    /// Counts ORA-01555, and writes any other error of [`Ora::begin_report`] down.
    pub fn note_error(&self, error: &Ora, text: Option<&str>) {
        match error.is(1555) {
            true => self.shared.txns.count_too_old(),
            false => self.report_incident(error, text),
        }
    }

    /// Writes an internal error to the session's trace file and the alert log. Of many in an hour, which a loop over a
    /// damaged block makes, only the first few are written. The instance has a limit too: each session of a pool may be
    /// new.
    fn report_incident(&self, error: &Ora, text: Option<&str>) {
        let now = os::clock::now_ns();
        let (mut began, mut count) = self.incidents.get();
        if count == 0 || now - began > HOUR_NS {
            (began, count) = (now, 0);
        }
        self.incidents.set((began, count.saturating_add(1)));
        if count >= INCIDENTS_MAX {
            return;
        }
        let Some(is_last) = self.instance.state().may_write_incident(os::clock::wall_ns() / 1_000_000_000) else {
            return;
        };
        let more = if is_last {
            "Further internal errors of any session are not written before the next full hour.\n"
        } else if count + 1 == INCIDENTS_MAX {
            "Further internal errors of this session are not written for an hour.\n"
        } else {
            ""
        };
        admin::trace::incident(self, error, text, more);
    }

    /// Advances the clock of kept cursors and blocks.
    pub fn tick_kept(&self) -> u64 {
        self.kept_clock.set(self.kept_clock.get() + 1);
        self.kept_clock.get()
    }

    /// The identity in force.
    #[inline]
    pub fn identity(&self) -> Identity {
        self.who.now()
    }

    /// ORA-01031 unless the identity in force has the system privilege.
    ///
    /// # Errors
    /// ORA-01031; errors from reading the dictionary.
    pub fn require(&self, privilege: SystemPrivilege) -> Result<()> {
        if self.names()?.has(privilege) { Ok(()) } else { Err(privilege.missing()) }
    }

    /// ALTER SESSION SET CURRENT_SCHEMA: changes the schema in which names resolve, and no privileges.
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

    /// Puts an identity into force until [`Core::leave`]; `schema` is the name of its schema (invariant 8).
    pub fn enter(&self, session: &mut SessionState, identity: Identity, schema: &Rc<str>) {
        self.who.enter(identity, std::mem::replace(&mut session.schema, Rc::clone(schema)));
        session.parsing_user = identity.user.0;
    }

    /// Restores the identity before the last [`Core::enter`].
    pub fn leave(&self, session: &mut SessionState) {
        session.schema = self.who.leave();
        session.parsing_user = self.identity().user.0;
    }

    /// The number of a user; `None` for roles and unknown names.
    ///
    /// # Errors
    /// Errors from reading the dictionary.
    pub fn user_id(&self, name: &str) -> Result<Option<UserId>> {
        if name == "SYS" {
            return Ok(Some(UserId::SYS));
        }
        Ok(self.dict.borrow_mut().user(name)?.map(|u| u.id))
    }

    /// The name of a user; empty for a dropped user.
    ///
    /// # Errors
    /// Errors from reading the dictionary.
    pub fn user_name(&self, user: UserId) -> Result<String> {
        Ok(self.names()?.image().user_name(user))
    }

    /// ORA-06598 unless code of `owner` may run with the privileges of the identity in force.
    ///
    /// # Errors
    /// ORA-06598; errors from reading the dictionary.
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

    /// SET ROLE: enables these roles and the roles granted to them, and no others.
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

    /// Runs `f` with the definition that a table will have after the commit of its DDL statement. Every object that can
    /// be named may be read.
    pub fn ahead<R>(&self, table: Rc<TableDef>, f: impl FnOnce() -> R) -> R {
        let before = self.ahead.replace(Some(table));
        let result = f();
        self.ahead.replace(before);
        result
    }

    /// Runs `f` without the table and the read access that queries of a DDL statement have: they do not extend to the
    /// functions that the queries call (invariant 8).
    pub(crate) fn outside_ddl<R>(&self, f: impl FnOnce() -> R) -> R {
        let ahead = self.ahead.take();
        let result = f();
        self.ahead.replace(ahead);
        result
    }

    /// The names as they resolve for the identity in force.
    ///
    /// # Errors
    /// Errors from reading the dictionary.
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

    /// The longest wait for stored units that other sessions run or define.
    pub(crate) fn patience(&self) -> Duration {
        let minutes = self.params.borrow().number(params::Param::KglTimeToWaitForLocks);
        Duration::from_secs(60 * u64::try_from(minutes).unwrap_or(0))
    }

    /// Ends the call's use of stored units: sessions that wait for one of the units go on.
    pub(crate) fn end_running(&self) {
        self.shared.library.end_running(&self.p);
        self.plsql.end_call();
    }

    /// An identity in the form that the dictionary takes.
    pub fn who_is(&self, identity: Identity) -> Principal {
        let Identity { user, schema, sysdba, .. } = identity;
        Principal { user, schema, sysdba, roles: self.who.roles(identity) }
    }

    /// The local time with its offset from UTC.
    pub fn local_time(&self) -> Timestamp {
        instance::local_time_at(os::clock::wall_ns())
    }

    /// Sixteen bytes that no other call returns, made from the instance's start, the process, a count and a random
    /// seed.
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
