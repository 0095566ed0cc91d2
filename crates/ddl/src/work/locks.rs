//! The enqueues of a statement: DD, tables, stored units.

use super::state::{Wanted, Work};
use crate::host::Host;
use dictionary::ObjectKind;
use enqueue::{EnqueueError, EnqueueType, LockId, LockMode, Timeout};
use std::time::{Duration, Instant};
use txn::LockWait;
use types::{ObjectId, Ora, Result};

/// The time that a request for a table stays in the queue when it must not block other sessions for long.
const SHORT_WAIT_MS: u32 = 200;

/// The pause before such a request is repeated.
const REST: Duration = Duration::from_millis(500);

impl Work<'_> {
    /// Runs the long part of a statement (L2), which changes nothing in the dictionary, without the DD enqueue, so that
    /// other sessions may run DDL meanwhile; afterwards the dictionary is read again. The statement must have locked
    /// the objects it relies on by a table lock or [`Work::hold`], or look them up again. If the statement has already
    /// changed the dictionary the enqueue is kept.
    ///
    /// # Errors
    /// Those of `f`, and of waiting for the enqueue, which is not held then.
    pub fn without_dd<R>(&mut self, f: &mut dyn FnMut(&mut Work<'_>) -> Result<R>) -> Result<R> {
        if self.changed {
            return f(self);
        }
        self.release_dd();
        faults::point("ddl-apart");
        let done = f(self)?;
        self.get_dd()?;
        self.refresh()?;
        Ok(done)
    }

    /// Releases the DD enqueue in the middle of a statement that has not changed the dictionary since its last commit.
    pub fn release_dd(&mut self) {
        assert!(!self.changed, "the dictionary is changed under the DD enqueue only");
        if let Some(lock) = self.dd.take() {
            let parts = self.host.parts();
            parts.dict.shared().enqueues().release(parts.p, lock);
        }
    }

    /// Takes the DD enqueue again.
    pub fn get_dd(&mut self) -> Result<()> {
        if self.dd.is_none() {
            self.dd = Some(take_dd(self.host)?);
        }
        Ok(())
    }

    /// Takes an enqueue without waiting, and keeps it to the end of the statement. False when another session holds it.
    pub fn hold(&mut self, kind: EnqueueType, id: u64, mode: LockMode) -> Result<bool> {
        let parts = self.host.parts();
        match parts.dict.shared().enqueues().get(parts.p, kind, id, 0, mode, Timeout::NoWait) {
            Ok(lock) => self.held.push(lock),
            Err(EnqueueError::Busy) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
        Ok(true)
    }

    /// Keeps a tablespace from being dropped while a segment that the dictionary does not have yet is filled in it.
    /// ORA-00054.
    pub fn hold_tablespace(&mut self, number: u32, mode: LockMode) -> Result<()> {
        if self.hold(EnqueueType::Tt, number.into(), mode)? { Ok(()) } else { Err(Ora::new(54)) }
    }

    /// Locks the object exclusively for this statement. ORA-00054 when a transaction of another session has changed it;
    /// [`Work::run`] then waits if the session is willing to.
    pub fn lock(&mut self, object: ObjectId) -> Result<()> {
        self.lock_in(object, LockMode::Exclusive)
    }

    /// Locks the table against changes until this transaction ends. ORA-00054 while an open transaction has changed it;
    /// [`Work::run`] waits for that.
    pub fn lock_shared(&mut self, object: ObjectId) -> Result<()> {
        self.lock_in(object, LockMode::Share)
    }

    /// Notes that the statement continues without a table that could not be locked.
    pub fn forget_busy(&mut self) {
        self.busy = None;
    }

    /// Claims a stored unit for this statement: no call runs it until the statement has ended. A body is claimed by the
    /// number of its specification. ORA-04021 as long as another session runs the unit: [`Work::run`] waits for the end
    /// of that call.
    pub fn claim_unit(&mut self, object: ObjectId) -> Result<()> {
        let Some(def) = self.image.object(object) else { return Ok(()) };
        let specification = match def.kind {
            ObjectKind::PackageBody => self.image.find(def.owner_id, ObjectKind::Package, &def.name),
            ObjectKind::TypeBody => self.image.find(def.owner_id, ObjectKind::Type, &def.name),
            ObjectKind::Procedure | ObjectKind::Function | ObjectKind::Package | ObjectKind::Type => None,
            _ => return Ok(()),
        };
        let unit = specification.map_or(object, |specification| specification.object);
        if self.host.claim_unit(unit) {
            return Ok(());
        }
        self.busy = Some(Wanted::Unit(unit));
        Err(Ora::with(4021, &[&self.image.user_name(def.owner_id), &".", &def.name, &"", &""]))
    }

    fn lock_in(&mut self, object: ObjectId, mode: LockMode) -> Result<()> {
        let done = self.try_table(object, mode, LockWait::NoWait);
        if done.as_ref().is_err_and(|e| e.is(54)) {
            self.busy = Some(Wanted::Table { object, mode });
        }
        done
    }

    fn try_table(&mut self, object: ObjectId, mode: LockMode, wait: LockWait) -> Result<()> {
        let parts = self.host.parts();
        parts.storage.heap.transactions().lock_table(parts.p, parts.txn, object, mode, wait)
    }

    /// Keeps others from redefining the table, but not from changing its rows, until this transaction ends. ORA-00054.
    pub fn keep_table(&mut self, object: ObjectId) -> Result<()> {
        self.try_table(object, LockMode::SubShare, LockWait::NoWait)
    }

    /// Waits for a moment at which no open transaction has changed the table; sessions that want to change it are
    /// blocked only for short times. From then on no session changes it until [`Work::end_share`]. Not allowed under
    /// the DD enqueue; `tries` bounds the attempts.
    ///
    /// # Errors
    /// ORA-00054 when the attempts are used up; ORA-01013 and the like.
    pub fn share_table(&mut self, object: ObjectId, tries: Option<u32>) -> Result<()> {
        assert!(self.dd.is_none(), "a table is waited for without the DD enqueue");
        for n in 1u32.. {
            let parts = self.host.parts();
            let txns = parts.storage.heap.transactions();
            let wait = LockWait::Millis(SHORT_WAIT_MS);
            match txns.share_for_statement(parts.p, parts.txn, object, wait) {
                Err(e) if e.is(30006) || e.is(54) || e.is(60) => {
                    if tries.is_some_and(|most| n >= most) {
                        return Err(Ora::new(54));
                    }
                    parts.p.check_cancel()?;
                    os::clock::sleep(REST);
                }
                done => return done.map(drop),
            }
        }
        Ok(())
    }

    /// Allows changes of the table again.
    pub fn end_share(&mut self, object: ObjectId) {
        let parts = self.host.parts();
        parts.storage.heap.transactions().end_share(parts.p, parts.txn, object);
    }

    /// Like [`Work::share_table`], and then also takes the DD enqueue.
    ///
    /// # Errors
    /// Those of [`Work::share_table`]; neither is held then.
    pub fn share_table_and_dd(&mut self, object: ObjectId, tries: Option<u32>) -> Result<()> {
        loop {
            self.share_table(object, tries)?;
            // Another DDL statement may take long, and the table would be blocked meanwhile.
            let parts = self.host.parts();
            let timeout = Timeout::After(Duration::from_millis(SHORT_WAIT_MS.into()));
            let enqueues = parts.dict.shared().enqueues();
            match enqueues.get(parts.p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, timeout) {
                Ok(lock) => {
                    self.dd = Some(lock);
                    return self.refresh();
                }
                Err(e) => {
                    self.end_share(object);
                    match e {
                        EnqueueError::Cancelled(_) | EnqueueError::OutOfLocks => return Err(e.into()),
                        _ => os::clock::sleep(REST),
                    }
                }
            }
        }
    }
}

/// Takes the DD enqueue.
pub(super) fn take_dd(host: &mut dyn Host) -> Result<LockId> {
    let parts = host.parts();
    let enqueues = parts.dict.shared().enqueues();
    Ok(enqueues.get(parts.p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, Timeout::Never)?)
}

/// Waits for claimed units; then for tables that were locked by others, and locks them.
pub(super) fn wait_for(host: &mut dyn Host, wanted: &[Wanted], until: Instant) -> Result<()> {
    for wanted in wanted {
        let (object, mode) = match *wanted {
            Wanted::Table { object, mode } => (object, mode),
            Wanted::Unit(unit) => {
                host.await_unit(unit)?;
                continue;
            }
        };
        let left = until.saturating_duration_since(Instant::now()).as_millis();
        let wait = match mode {
            LockMode::Share => LockWait::Forever,
            _ if left == 0 => LockWait::NoWait,
            _ => LockWait::Millis(u32::try_from(left).unwrap_or(u32::MAX)),
        };
        let parts = host.parts();
        parts.storage.heap.transactions().lock_table(parts.p, parts.txn, object, mode, wait)?;
    }
    Ok(())
}
