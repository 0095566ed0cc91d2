//! Special rules for creating, altering and dropping undo tablespaces.
//!
//! The segment numbers of a dropped one are used again, and blocks may refer to its transactions for ever. So the
//! sequence numbers of transactions never fall: a database property keeps the highest one, which the transaction of the
//! drop raises.

use crate::files::change;
use crate::work::Work;
use datafile::{Contents, TablespaceEntry};
use dictionary::base::{Base, props};
use dictionary::rows::{as_text, blank, text};
use sql::ast::{CreateTablespace, TablespaceContents};
use txn::Transactions;
use types::{Ora, Result};

/// The property.
const SEQUENCE: &str = "UNDO_SEQUENCE";
const SEQUENCE_COMMENT: &str = "Transactions of dropped undo tablespaces have lower sequence numbers";

fn transactions<R>(work: &mut Work<'_>, f: impl FnOnce(&Transactions) -> R) -> R {
    f(work.host.parts().storage.heap.transactions())
}

/// ORA-30024 for a clause that an undo tablespace cannot have, ORA-30044 for RETENTION of another tablespace.
pub fn check_clauses(create: &CreateTablespace) -> Result<()> {
    let is_undo = create.contents == TablespaceContents::Undo;
    match (create.not_for_undo, create.retention) {
        (Some(pos), _) if is_undo => Err(Ora::new(30024).at(pos.0)),
        (_, Some((_, pos))) if !is_undo => Err(Ora::new(30044).at(pos.0)),
        _ => Ok(()),
    }
}

/// Makes the undo segments of a tablespace whose files exist.
///
/// # Errors
/// ORA-30036 when the files are too small; ORA-03001 at the largest number of undo tablespaces.
pub fn make_segments(work: &mut Work<'_>, entry: &TablespaceEntry) -> Result<()> {
    let first: u32 = work.property(SEQUENCE)?.parse().unwrap_or(0);
    let parts = work.host.parts();
    parts.storage.heap.transactions().create_undo_tablespace(parts.p, entry.number, first)
}

/// ORA-30013 for an undo tablespace with current or unfinished transactions.
pub fn refuse_in_use(work: &mut Work<'_>, entry: &TablespaceEntry) -> Result<()> {
    let is_undo = entry.contents == Contents::Undo;
    match is_undo && transactions(work, |txns| txns.is_undo_in_use(entry.number)) {
        true => Err(Ora::with(30013, &[&entry.name])),
        false => Ok(()),
    }
}

/// Whether transactions begin in the tablespace.
pub fn is_current(work: &mut Work<'_>, entry: &TablespaceEntry) -> bool {
    transactions(work, |txns| txns.current_undo_tablespace() == entry.number)
}

/// ORA-30012 when the current undo tablespace is one that the dictionary does not have: the parameter file names one
/// that was dropped, or half created by a session that died.
pub fn refuse_current(work: &mut Work<'_>, entry: &TablespaceEntry) -> Result<()> {
    let is_undo = entry.contents == Contents::Undo;
    if is_undo && is_current(work, entry) { Err(Ora::with(30012, &[&entry.name])) } else { Ok(()) }
}

/// Raises the property, in the transaction of the drop, to the highest sequence number of the tablespace's
/// transactions.
pub fn note_sequence(work: &mut Work<'_>, entry: &TablespaceEntry) -> Result<()> {
    let above = transactions(work, |txns| txns.sqn_above(entry.number));
    let known = work.property(SEQUENCE)?;
    if known.parse().is_ok_and(|known: u32| known >= above) {
        return Ok(());
    }
    if known.is_empty() {
        let mut row = blank(Base::Props);
        row[props::NAME] = text(SEQUENCE);
        row[props::VALUE] = text(above.to_string());
        row[props::COMMENT] = text(SEQUENCE_COMMENT);
        return work.change().insert(Base::Props, &row);
    }
    let is_it = |row: &[types::Value]| as_text(&row[props::NAME]) == SEQUENCE;
    work.change().update(Base::Props, &is_it, &mut |row| row[props::VALUE] = text(above.to_string()))?;
    Ok(())
}

/// RETENTION GUARANTEE and NOGUARANTEE. ORA-30044 for another kind of tablespace.
pub fn set_retention(work: &mut Work<'_>, entry: &TablespaceEntry, on: bool) -> Result<()> {
    if entry.contents != Contents::Undo {
        return Err(Ora::new(30044));
    }
    change(work.host, entry, &mut |t| t.guarantees_retention = on)?;
    transactions(work, |txns| txns.guarantee_retention(entry.number, on));
    Ok(())
}
