//! The values of application contexts that are accessed globally.
//!
//! They are rows of GLOBALCTX$, which every session reads as of now and changes in transactions of its own. A row of an
//! earlier start of the instance counts as deleted.

use crate::base::{Base, globalctx};
use crate::rows::{as_i64, as_optional_text, as_text, as_u32, blank, int, text};
use crate::{Change, DictionaryShared};
use enqueue::{EnqueueType, LockMode, Timeout};
use process::Process;
use std::cell::Cell;
use txn::{NoHook, Txn};
use types::{ObjectId, Ora, Result, Value};

/// The most values of all contexts: a session that sets more gets an error instead of filling the tablespace.
const VALUES_MAX: usize = 4096;

/// The sessions that see a value: those of a user, those with a client identifier, or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seers<'a> {
    pub user: Option<&'a str>,
    pub client: Option<&'a str>,
}

/// The context, and the start of the instance.
#[derive(Clone, Copy, Debug)]
pub struct GlobalContext {
    pub context: ObjectId,
    pub startup: i64,
}

impl GlobalContext {
    fn has(self, row: &[Value]) -> bool {
        as_u32(&row[globalctx::CONTEXT]) == self.context.0 && !self.is_old(row)
    }

    fn is_old(self, row: &[Value]) -> bool {
        as_i64(&row[globalctx::STARTUP]) != Some(self.startup)
    }
}

fn is_for(row: &[Value], seers: Seers<'_>) -> bool {
    as_optional_text(&row[globalctx::USERNAME]).as_deref() == seers.user
        && as_optional_text(&row[globalctx::CLIENT]).as_deref() == seers.client
}

impl DictionaryShared {
    /// The value that a session sees: the one for its user and its client identifier before more general ones.
    ///
    /// # Errors
    /// Those of reading.
    pub fn global_value(
        &self,
        p: &Process,
        of: GlobalContext,
        attribute: &str,
        session: Seers<'_>,
    ) -> Result<Option<String>> {
        let mut found: Option<(u8, String)> = None;
        self.scan_once(p, Base::Globalctx, &mut |_, row| {
            if !of.has(row) || as_text(&row[globalctx::ATTRIBUTE]) != attribute {
                return Ok(());
            }
            let rank = |column: usize, own: Option<&str>| match as_optional_text(&row[column]) {
                None => Some(0),
                given if given.as_deref() == own => Some(1),
                _ => None, // not a clause: the value is for others
            };
            let ranks = (rank(globalctx::CLIENT, session.client), rank(globalctx::USERNAME, session.user));
            if let (Some(client), Some(user)) = ranks {
                let rank = client * 2 + user;
                if found.as_ref().is_none_or(|(best, _)| *best <= rank) {
                    found = Some((rank, as_text(&row[globalctx::VALUE]).to_owned()));
                }
            }
            Ok(())
        })?;
        Ok(found.map(|(_, value)| value))
    }

    /// Sets a value, or deletes it without one, in a separate transaction.
    ///
    /// # Errors
    /// ORA-28106 for one value too many; those of changing a row.
    pub fn set_global_value(
        &self,
        (p, outer): (&Process, &Txn),
        of: GlobalContext,
        (attribute, value): (&str, Option<&str>),
        seers: Seers<'_>,
    ) -> Result<()> {
        let is_it = |row: &[Value]| {
            of.is_old(row) || of.has(row) && as_text(&row[globalctx::ATTRIBUTE]) == attribute && is_for(row, seers)
        };
        let row = value.map(|value| {
            let mut row = blank(Base::Globalctx);
            row[globalctx::CONTEXT] = int(of.context.0);
            row[globalctx::STARTUP] = int(of.startup);
            row[globalctx::ATTRIBUTE] = text(attribute);
            row[globalctx::VALUE] = text(value);
            row[globalctx::USERNAME] = seers.user.map_or(Value::Null, text);
            row[globalctx::CLIENT] = seers.client.map_or(Value::Null, text);
            row
        });
        self.change_globals(p, outer, &is_it, row)
    }

    /// Deletes the values of a context, in a separate transaction: all, or those for a client identifier.
    ///
    /// # Errors
    /// Those of changing a row.
    pub fn clear_global_values(
        &self,
        (p, outer): (&Process, &Txn),
        of: GlobalContext,
        client: Option<&str>,
    ) -> Result<()> {
        let is_it = |row: &[Value]| {
            let is_his = client.is_none() || as_optional_text(&row[globalctx::CLIENT]).as_deref() == client;
            of.is_old(row) || of.has(row) && is_his
        };
        self.change_globals(p, outer, &is_it, None)
    }

    /// Deletes the rows for which `deleted` is true and inserts one. One session at a time changes GLOBALCTX$: two that
    /// set the same attribute at once would leave two rows.
    fn change_globals(
        &self,
        p: &Process,
        outer: &Txn,
        deleted: &dyn Fn(&[Value]) -> bool,
        row: Option<crate::rows::Row>,
    ) -> Result<()> {
        let table = u64::from(Base::Globalctx.table().object.0);
        let lock = self.enqueues.get(p, EnqueueType::Sq, table, 0, LockMode::Exclusive, Timeout::Never)?;
        let done = self.change_globals_locked(p, outer, deleted, row);
        self.enqueues.release(p, lock);
        done
    }

    fn change_globals_locked(
        &self,
        p: &Process,
        outer: &Txn,
        deleted: &dyn Fn(&[Value]) -> bool,
        row: Option<crate::rows::Row>,
    ) -> Result<()> {
        let mut txn = Txn::inside(outer);
        let kept = Cell::new(0);
        let deleted = |row: &[Value]| {
            let is_deleted = deleted(row);
            kept.set(kept.get() + usize::from(!is_deleted));
            is_deleted
        };
        let mut change = Change::new(self, p, &mut txn);
        let done = change.delete(Base::Globalctx, &deleted).and_then(|_| match &row {
            Some(_) if kept.get() >= VALUES_MAX => Err(Ora::with(28106, &[&2])),
            Some(row) => change.insert(Base::Globalctx, row),
            None => Ok(()),
        });
        match done {
            Ok(()) => self.txns().commit(p, &mut txn, &NoHook).map(drop),
            Err(e) => {
                self.txns().rollback(p, &mut txn)?;
                Err(e)
            }
        }
    }
}
