//! The state of accounts that logons change: consecutive failures, the resulting lock, the grace period of an old
//! password, the last logon.
//!
//! Logons change the rows of USER_LOGON$ without the DD enqueue and without moving the epoch, each in a separate
//! transaction that waits for the row lock (D11). Concurrent failures are all counted, and many of them make no process
//! read the dictionary again. DDL never changes such a row. ALTER USER ... ACCOUNT UNLOCK raises the user's LSEQ#,
//! which voids the count, and a new password has a new PTIME, which voids the grace period.

use crate::base::{Base, user_logon};
use crate::change::Change;
use crate::profile::{Profile, Resource};
use crate::rows::{Row, as_date, as_i64, as_u32, blank, int};
use crate::shared::DictionaryShared;
use crate::{UserDef, UserId};
use process::Process;
use txn::{LockWait, NoHook, Txn};
use types::{Date, Ora, Result, Rowid, Timestamp, Value};

/// The USER# of the row for all names without a user.
pub const NOBODY: UserId = UserId(u32::MAX);

/// Bits of an account's status, as in ASTATUS.
pub mod status {
    pub const EXPIRED: i64 = 1;
    pub const GRACE: i64 = 2;
    pub const TIMED: i64 = 4;
    pub const LOCKED: i64 = 8;
}

/// The state of an account as stored by logons.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogonState {
    /// Wrong passwords since the last correct one.
    pub failures: i64,
    /// The time at which the account was locked for too many failures.
    pub locked_at: Option<Date>,
    /// The end of the grace period of an expiring password.
    pub grace_end: Option<Date>,
    pub last: Option<Timestamp>,
}

fn after(date: Date, seconds: i64) -> i64 {
    date.to_unix().saturating_add(seconds)
}

/// An account at a given time.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    pub user: &'a UserDef,
    pub profile: &'a Profile,
    pub state: &'a LogonState,
    pub now: Date,
}

impl Account<'_> {
    fn is_past(&self, date: Date, seconds: i64) -> bool {
        self.now.to_unix() >= after(date, seconds)
    }

    /// True when the account is locked for its failures. Without PASSWORD_LOCK_TIME the lock lasts until the account is
    /// unlocked.
    pub fn is_locked_for_failures(&self) -> bool {
        let time = self.profile.limit(Resource::PasswordLockTime);
        self.state.locked_at.is_some_and(|at| time.is_none_or(|time| !self.is_past(at, time)))
    }

    /// True when INACTIVE_ACCOUNT_TIME has passed since the last logon, or since the password was set if there was no
    /// logon.
    fn is_inactive(&self) -> bool {
        let since = self.state.last.map(|last| last.own_date()).max(self.user.password_time);
        let limit = self.profile.limit(Resource::InactiveAccountTime);
        limit.zip(since).is_some_and(|(limit, since)| self.is_past(since, limit))
    }

    /// True when no password allows a logon.
    pub fn is_locked(&self) -> bool {
        self.user.locked || self.is_locked_for_failures() || self.is_inactive()
    }

    /// True when a user with the correct password may be told that the account is locked (ORA-28000). After more
    /// failures than the limit, an attacker may have found the password by trying behind the lock, so the error does
    /// not reveal it.
    pub fn tells_of_lock(&self) -> bool {
        self.profile.limit(Resource::FailedLoginAttempts).is_none_or(|limit| self.state.failures <= limit)
    }

    /// True when the password has expired: by ALTER USER, or because the grace period has ended.
    pub fn has_expired(&self) -> bool {
        self.user.expired || self.state.grace_end.is_some_and(|end| self.is_past(end, 0))
    }

    /// The status as bits of [`status`].
    pub fn status(&self) -> i64 {
        let expiry = if self.has_expired() {
            status::EXPIRED
        } else if self.state.grace_end.is_some() {
            status::GRACE
        } else {
            0
        };
        let lock = if self.user.locked || self.is_inactive() {
            status::LOCKED
        } else if self.is_locked_for_failures() {
            status::TIMED
        } else {
            0
        };
        expiry | lock
    }

    /// ACCOUNT_STATUS.
    pub fn status_text(&self) -> &'static str {
        status_text(self.status())
    }

    /// LOCK_DATE.
    pub fn lock_date(&self) -> Option<Date> {
        if self.user.locked {
            self.user.locked_at
        } else {
            self.state.locked_at.filter(|_| self.is_locked_for_failures())
        }
    }

    /// EXPIRY_DATE: when the password expires or has expired.
    pub fn expiry_date(&self) -> Option<Date> {
        let life = self.profile.limit(Resource::PasswordLifeTime);
        let set = self.user.password_time;
        if self.user.expired {
            return set;
        }
        self.state.grace_end.or_else(|| Date::from_unix(after(set?, life?)).ok())
    }

    /// The result of a correct password for an account that is not locked: the end of the grace period, if one is in
    /// force or begins now.
    ///
    /// # Errors
    /// ORA-28001 when the password has expired.
    pub fn password_age(&self) -> Result<Option<Date>> {
        // The password of SYS does not expire by age, because SYS must be able to log on to repair the database.
        if self.user.id == UserId::SYS && !self.user.expired {
            return Ok(None);
        }
        if self.has_expired() {
            return Err(Ora::new(28001));
        }
        if self.state.grace_end.is_some() {
            return Ok(self.state.grace_end);
        }
        let life = self.profile.limit(Resource::PasswordLifeTime);
        let is_old = life.zip(self.user.password_time).is_some_and(|(life, set)| self.is_past(set, life));
        match self.profile.limit(Resource::PasswordGraceTime) {
            _ if !is_old => Ok(None),
            // Without an end of the grace period the password stays valid, with a warning.
            None => Ok(None),
            Some(0) => Err(Ora::new(28001)),
            Some(grace) => Ok(Date::from_unix(after(self.now, grace)).ok()),
        }
    }
}

/// The text of a status.
pub fn status_text(bits: i64) -> &'static str {
    match bits {
        0 => "OPEN",
        1 => "EXPIRED",
        2 => "EXPIRED(GRACE)",
        4 => "LOCKED(TIMED)",
        5 => "EXPIRED & LOCKED(TIMED)",
        6 => "EXPIRED(GRACE) & LOCKED(TIMED)",
        9 => "EXPIRED & LOCKED",
        10 => "EXPIRED(GRACE) & LOCKED",
        _ => "LOCKED",
    }
}

/// The state in a row for a user: void when the row was written for another LSEQ#, or for another password.
pub fn state_of(row: &[Value], user: Option<&UserDef>) -> LogonState {
    let seq = user.map_or(0, |user| user.logon_seq);
    let counts = as_i64(&row[user_logon::LSEQ]).unwrap_or(0) == seq;
    let set = user.and_then(|user| user.password_time);
    let grace = as_date(&row[user_logon::GRACE_OF]).is_some_and(|of| Some(of) == set);
    LogonState {
        failures: if counts { as_i64(&row[user_logon::LCOUNT]).unwrap_or(0) } else { 0 },
        locked_at: as_date(&row[user_logon::LTIME]).filter(|_| counts),
        grace_end: as_date(&row[user_logon::GRACE_END]).filter(|_| grace),
        last: match &row[user_logon::LAST] {
            Value::Timestamp(at) => Some(*at),
            _ => None,
        },
    }
}

fn row_of(id: UserId, user: Option<&UserDef>, state: &LogonState) -> Row {
    let date = |date: Option<Date>| date.map_or(Value::Null, Value::Date);
    let mut row = new_row(id);
    row[user_logon::LSEQ] = int(user.map_or(0, |user| user.logon_seq));
    row[user_logon::LCOUNT] = int(state.failures);
    row[user_logon::LTIME] = date(state.locked_at);
    row[user_logon::GRACE_END] = date(state.grace_end);
    row[user_logon::GRACE_OF] = date(user.and_then(|user| user.password_time).filter(|_| state.grace_end.is_some()));
    row[user_logon::LAST] = state.last.map_or(Value::Null, Value::Timestamp);
    row
}

/// The row of a user without logons.
pub fn new_row(id: UserId) -> Row {
    let mut row = blank(Base::UserLogon);
    row[user_logon::USER] = int(id.0);
    row[user_logon::LSEQ] = int(0);
    row[user_logon::LCOUNT] = int(0);
    row
}

/// The result of an attempt to change the row.
enum Tried {
    Done(LogonState),
    /// Another session changed the row meanwhile.
    Again,
    /// Another session holds the row lock, and the caller does not wait.
    Skipped,
}

impl DictionaryShared {
    /// The state stored for a user, or for the names without a user.
    ///
    /// # Errors
    /// Those of reading.
    pub fn logon_state(&self, p: &Process, user: Option<&UserDef>) -> Result<LogonState> {
        let id = user.map_or(NOBODY, |user| user.id);
        let mut found = LogonState::default();
        self.scan_once(p, Base::UserLogon, &mut |_, row| {
            if as_u32(&row[user_logon::USER]) == id.0 {
                found = state_of(row, user);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Changes the state stored for a user in a separate transaction, and returns the new state. Without `waits`,
    /// returns `None` when another session holds the row lock. `set` may be called several times; the last call counts.
    ///
    /// Waits: for the row lock. The caller decides whether to wait for the commit.
    /// # Errors
    /// Those of changing a row.
    pub fn note_logon(
        &self,
        p: &Process,
        user: Option<&UserDef>,
        waits: bool,
        set: &mut dyn FnMut(&mut LogonState),
    ) -> Result<Option<LogonState>> {
        loop {
            let mut txn = Txn::new();
            match self.try_note(p, &mut txn, user, waits, set) {
                Ok(Tried::Done(state)) => {
                    self.txns().commit(p, &mut txn, &NoHook)?;
                    return Ok(Some(state));
                }
                Ok(Tried::Again) => self.txns().rollback(p, &mut txn)?,
                Ok(Tried::Skipped) => {
                    self.txns().rollback(p, &mut txn)?;
                    return Ok(None);
                }
                Err(e) => {
                    self.txns().rollback(p, &mut txn)?;
                    return Err(e);
                }
            }
        }
    }

    fn try_note(
        &self,
        p: &Process,
        txn: &mut Txn,
        user: Option<&UserDef>,
        waits: bool,
        set: &mut dyn FnMut(&mut LogonState),
    ) -> Result<Tried> {
        let id = user.map_or(NOBODY, |user| user.id);
        let snapshot = self.txns().statement_snapshot(p, txn);
        let mut found: Option<(Rowid, LogonState)> = None;
        let read = self.scan(p, &snapshot, Base::UserLogon, &mut |rowid, row| {
            if found.is_none() && as_u32(&row[user_logon::USER]) == id.0 {
                found = Some((rowid, state_of(row, user)));
            }
            Ok(())
        });
        self.txns().release(p, &snapshot);
        read?;
        let Some((rowid, mut state)) = found else {
            let mut state = LogonState::default();
            set(&mut state);
            Change::new(self, p, txn).insert(Base::UserLogon, &row_of(id, user, &state))?;
            return Ok(Tried::Done(state));
        };
        set(&mut state);
        let mut bytes = Vec::new();
        crate::rows::encode(Base::UserLogon, &row_of(id, user, &state), &mut bytes);
        let wait = if waits { LockWait::Forever } else { LockWait::SkipLocked };
        let table = self.base_heap(Base::UserLogon);
        Ok(match self.heap().update(p, txn, &table, rowid, &bytes, &snapshot, wait)? {
            heap::RowOutcome::Done => Tried::Done(state),
            heap::RowOutcome::Changed => Tried::Again,
            heap::RowOutcome::Skipped => Tried::Skipped,
        })
    }

    /// Deletes the state of a user that is being dropped.
    ///
    /// # Errors
    /// Those of changing a row.
    pub fn forget_logons(&self, p: &Process, id: UserId) -> Result<()> {
        loop {
            let mut txn = Txn::new();
            let snapshot = self.txns().statement_snapshot(p, &txn);
            let mut found = Vec::new();
            let read = self.scan(p, &snapshot, Base::UserLogon, &mut |rowid, row| {
                if as_u32(&row[user_logon::USER]) == id.0 {
                    found.push(rowid);
                }
                Ok(())
            });
            self.txns().release(p, &snapshot);
            read?;
            let table = self.base_heap(Base::UserLogon);
            let mut is_whole = true;
            for rowid in found {
                let done = self.heap().delete(p, &mut txn, &table, rowid, &snapshot, LockWait::Forever);
                match done {
                    Ok(outcome) => is_whole &= outcome == heap::RowOutcome::Done,
                    Err(e) => {
                        self.txns().rollback(p, &mut txn)?;
                        return Err(e);
                    }
                }
            }
            if is_whole {
                return self.txns().commit(p, &mut txn, &NoHook).map(drop);
            }
            self.txns().rollback(p, &mut txn)?;
        }
    }
}
