//! The past of a block: the transactions that changed it between two moments, newest first, and the block before each.
//! each.
//!
//! The block is first rolled back to the later moment, as for any reader. From there on the changes of one transaction
//! at a time are reversed: the one with the highest commit SCN among the block's entries, until the highest is below
//! the earlier moment. A restored entry may name an earlier owner, and so on. Changes of the same row have a commit
//! between them, so reversing in the order of commits is correct.

use crate::table::Fate;
use crate::{Snapshot, Transactions, UndoRecord};
use block::{BlockView, Data, Image, Itl};
use buffer_cache::GetKind;
use process::Process;
use types::{Rdba, Result, Scn, Xid};

/// A transaction's part in a block's past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// The commit SCN, or an upper bound where the exact one is lost.
    pub scn: Scn,
    /// That SCN is exact.
    pub exact: bool,
    pub xid: Xid,
}

/// Receives the past of a block.
pub trait HistoryVisitor {
    /// The block as of the later moment.
    ///
    /// # Errors
    /// The visitor's own; they end the visit, as in the other functions.
    fn present(&mut self, view: &BlockView<'_>) -> Result<()>;
    /// A change made by the transaction that is being reversed.
    fn change(&mut self, record: &UndoRecord<'_>);
    /// The block before all changes of a transaction; `change` was called for each of them.
    ///
    /// # Errors
    /// As [`HistoryVisitor::present`].
    fn before(&mut self, commit: &Commit, view: &BlockView<'_>) -> Result<()>;
}

impl Transactions {
    /// Shows the past of a block from `later` back to the first commit below `earliest`.
    ///
    /// Latches: none on entry or return. Statistics: those of a consistent get that builds an image.
    /// # Errors
    /// ORA-01555 when undo is gone, or when it is unknown whether a commit came before `earliest`; those of the
    /// visitor.
    pub fn history(
        &self,
        p: &Process,
        at: Rdba,
        later: &Snapshot,
        earliest: Scn,
        visitor: &mut dyn HistoryVisitor,
    ) -> Result<()> {
        let mut scratch = self.take_scratch(self.block_size());
        let copied = self.cache().read(p, at, GetKind::Consistent, &mut |view: &BlockView<'_>| {
            if scratch.image.bytes().len() != view.len() {
                scratch.image = Image::new(view.len());
            }
            view.copy_block(scratch.image.bytes_mut());
        });
        let shown = copied.and_then(|()| self.rebuild(p, at, later, &mut scratch, &mut |_, _| {})).and_then(|()| {
            visitor.present(&scratch.image.view())?;
            loop {
                self.settle_since(p, &mut scratch.image, earliest)?;
                let newest = self.newest_commit(&Data::new(scratch.image.view()), earliest);
                let Some((n, commit)) = newest else { break };
                let mut oldest_change = None;
                loop {
                    let itl = Data::new(scratch.image.view()).itl(n).filter(|itl| itl.xid == commit.xid);
                    let Some(itl) = itl else { break };
                    self.step_back(p, at, n, &itl, &mut scratch, &mut |rec| {
                        oldest_change = Some(rec.scn);
                        visitor.change(rec);
                    })?;
                }
                // A transaction commits above the SCN of each of its changes. An upper bound alone does not prove a
                // commit after `earliest`.
                if !commit.exact && oldest_change.is_none_or(|scn| scn < earliest) {
                    return Err(self.snapshot_too_old(commit.xid));
                }
                visitor.before(&commit, &scratch.image.view())?;
            }
            Ok(())
        });
        self.give_scratch(scratch);
        shown
    }

    /// Writes commit SCNs found in undo into entries with only an upper bound, at or above `earliest`.
    fn settle_since(&self, p: &Process, image: &mut Image, earliest: Scn) -> Result<()> {
        for n in 1..=Data::new(image.view()).itls() as u8 {
            let Some(itl) = Data::new(image.view()).itl(n) else { break };
            if self.commit_of(&itl).is_some_and(|commit| !commit.exact && commit.scn >= earliest) {
                self.settle_entry(p, image, n, &itl, Scn(earliest.0.saturating_sub(1)))?;
            }
        }
        Ok(())
    }

    /// The entry of the transaction that committed last, at or above `earliest`. Of owners of one slot with the same
    /// bound, the later one.
    fn newest_commit(&self, d: &Data<'_>, earliest: Scn) -> Option<(u8, Commit)> {
        let entries = (1..=d.itls() as u8).filter_map(|n| Some((n, self.commit_of(&d.itl(n)?)?)));
        let late = entries.filter(|(_, commit)| commit.scn >= earliest);
        late.max_by_key(|(_, commit)| (commit.scn, commit.exact, commit.xid.sqn))
    }

    /// The commit of an entry's owner; `None` for an unused entry or an active owner.
    fn commit_of(&self, itl: &Itl) -> Option<Commit> {
        if itl.is_unused() {
            return None;
        }
        let (scn, exact) = match self.fate_of(itl) {
            Fate::Committed(scn) => (scn, true),
            Fate::Before(scn) => (scn, false),
            Fate::Active | Fate::Unsettled => return None,
        };
        Some(Commit { scn, exact, xid: itl.xid })
    }

    /// An SCN at or above that of the last commit of a change to the row whose lock byte is `lock`, as `s` sees the
    /// block, and never above `s`: ORA_ROWSCN. It is the block's, unless the row names its last change. `None` for a
    /// row changed by the snapshot's own transaction. Any change of the row after `s` gets a higher one.
    pub fn row_scn(&self, view: &BlockView<'_>, s: &Snapshot, lock: u8) -> Option<Scn> {
        let d = Data::new(*view);
        let locked = (lock > 0).then(|| d.itl(lock)).flatten().filter(|itl| !itl.is_unused());
        if locked.is_some_and(|itl| s.xid == Some(itl.xid)) {
            return None;
        }
        // An image has the highest commit SCN of the version from which it was built.
        let highest = d.max_commit_scn().min(s.scn);
        let commits = (1..=d.itls() as u8).filter_map(|n| self.commit_of(&d.itl(n)?));
        Some(commits.map(|commit| commit.scn).filter(|scn| *scn <= s.scn).fold(highest, Scn::max))
    }
}
