//! Whether a cursor may be executed as it is.

use super::state::{Body, Cursor, settings_of};
use crate::compile::may_share;
use crate::ctx::ExecCtx;
use crate::session_state::Caller;
use types::{Ora, Result, Scn};

/// Most restarts of a statement whose rows have changed since its snapshot.
pub(super) const RESTARTS_MOST: u32 = 5000;

/// Checks that the transaction is not read only (ORA-01456).
pub(super) fn may_change(cx: &ExecCtx<'_>) -> Result<()> {
    if cx.session.flashback.is_some() {
        return Err(Ora::new(8182)); // Queries read as of an earlier SCN.
    }
    if cx.session.txn.isolation() == txn::Isolation::ReadOnly { Err(Ora::new(1456)) } else { Ok(()) }
}

/// Checks, with the snapshot taken, that the segments of the plan are still those of its tables. Otherwise a statement
/// that read the old segment of a moved table as of a later SCN would miss changes in the new segment.
///
/// # Errors
/// ORA-08103: the statement must be compiled again.
pub(super) fn still_planned(epoch: u64, cx: &ExecCtx<'_>) -> Result<()> {
    if cx.host.is_current(epoch) { Ok(()) } else { Err(Ora::new(8103)) }
}

/// The snapshot of a statement (E3). Internal statements check foreign keys and read the current versions of rows.
pub(super) fn snapshot_for(internal: bool, cx: &ExecCtx<'_>) -> txn::Snapshot {
    let (txns, t) = (cx.shared.txns, &cx.session.txn);
    if internal { txns.statement_snapshot(cx.p, t) } else { txns.snapshot(cx.p, t) }
}

/// Checks that a restart may help the statement whose snapshot was of SCN `seen`.
///
/// # Errors
/// ORA-08177 in a serializable transaction, which has no later snapshot. ORA-00600 when nothing was committed since the
/// snapshot: a row of it that cannot be found again is damaged, or the way to it is.
pub(super) fn may_restart(internal: bool, seen: Scn, cx: &ExecCtx<'_>) -> Result<()> {
    if !internal && cx.session.txn.holds_snapshot() {
        return Err(Ora::new(8177));
    }
    match cx.shared.txns.current_scn() > seen {
        true => Ok(()),
        false => Err(Ora::internal("a row that the statement has read cannot be found to be changed")),
    }
}

impl Cursor {
    /// Whether the types of the binds, the dictionary and the session's settings are those of the compilation.
    #[inline]
    pub(super) fn is_as_compiled(&self, cx: &ExecCtx<'_>) -> bool {
        !self.retype && cx.host.is_current(self.epoch) && self.settings == settings_of(cx)
    }

    /// As [`Cursor::is_as_compiled`]; a changed dictionary is accepted if all names keep their meaning.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub(super) fn is_as_compiled_or_same(&mut self, cx: &ExecCtx<'_>) -> Result<bool> {
        if self.is_as_compiled(cx) {
            return Ok(true);
        }
        Ok(!self.retype && self.settings == settings_of(cx) && self.names_are_same(cx)?)
    }

    /// Whether the dictionary is that of the compilation, or gives all names the same meaning; the cursor then adopts
    /// its epoch. New statistics do not change a meaning; they invalidate the shared cursor if they need to.
    #[cold]
    pub(super) fn names_are_same(&mut self, cx: &ExecCtx<'_>) -> Result<bool> {
        if cx.host.is_current(self.epoch) {
            return Ok(true);
        }
        if self.internal || !may_share(cx) || !self.key.has_valid_plan(cx) {
            return Ok(false);
        }
        let catalog = cx.host.catalog()?;
        let is_same = self.names.are_same(&*catalog, &cx.session.states)?;
        if is_same {
            self.epoch = catalog.epoch();
        }
        Ok(is_same)
    }

    /// Whether the next execution with values of the same types can run the present plan, and the shared cursor still
    /// exists.
    pub fn is_current(&mut self, cx: &ExecCtx<'_>) -> bool {
        let as_now = self.flashback == cx.session.flashback && !self.lost_segments(cx) && self.key.is_valid(cx);
        // The error is raised by the parse that follows.
        as_now && self.is_as_compiled_or_same(cx).unwrap_or(false)
    }

    /// Checks a statement inside a function that SQL calls: a query's function may not change rows, and no function may
    /// read a table that the calling DML changes.
    ///
    /// # Errors
    /// ORA-14551, ORA-04091.
    #[inline]
    pub(super) fn check_caller(&self, cx: &ExecCtx<'_>) -> Result<()> {
        match cx.session.caller() {
            Some(caller) if !self.internal => self.check_called_by(caller, cx),
            _ => Ok(()),
        }
    }

    #[cold]
    fn check_called_by(&self, caller: &Caller, cx: &ExecCtx<'_>) -> Result<()> {
        let changes = self.locks_rows || matches!(self.body, Body::Dml(_));
        if changes {
            cx.session.may_lock()?;
        }
        let Some(object) = self.dependencies.iter().find(|d| caller.changes.contains(d)) else { return Ok(()) };
        Err(match cx.host.catalog()?.table_by_id(*object)? {
            Some(table) => Ora::with(4091, &[&table.owner, &table.name]),
            None => Ora::with(4091, &[&"", &""]),
        })
    }

    /// Whether segments of temporary tables were dropped since the compilation.
    pub(super) fn lost_segments(&self, cx: &ExecCtx<'_>) -> bool {
        !self.temporary.is_empty() && self.temporary_version != cx.session.temporaries.version()
    }

    /// In a transaction that reads as of one SCN: checks that its tables had the same definitions then. Rows that were
    /// moved to another segment cannot be read as of that SCN.
    ///
    /// # Errors
    /// ORA-01466.
    #[inline]
    pub(super) fn check_definitions(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        if self.internal || !cx.session.txn.holds_snapshot() {
            return Ok(());
        }
        self.compare_definitions(cx)
    }

    #[cold]
    fn compare_definitions(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let epoch = cx.host.epoch();
        let known = cx.session.txn.held_snapshot();
        let scn = cx.shared.txns.hold_snapshot(cx.p, &cx.session.txn);
        if known.is_none() {
            cx.session.held = Some((scn, epoch));
        }
        if cx.session.held == Some((scn, epoch)) || self.checked == Some((scn, epoch)) {
            return Ok(());
        }
        let catalog = cx.host.catalog()?;
        for object in &self.dependencies {
            if let Some(table) = catalog.table_by_id(*object)?.filter(|table| table.temporary.is_none()) {
                cx.host.check_definition(&table, scn)?;
            }
        }
        self.checked = Some((scn, epoch));
        Ok(())
    }
}
