//! Deferred rollback: records of blocks whose files are away wait for the file (T9).
//!
//! A rollback reverses a transaction's records newest first. A record whose block is in an offline or missing file is
//! skipped, and the transaction has no owner until the file is back: PMON then starts again at the skipped record.
//! Records that were undone after a skipped one are marked, in the group that undoes them, so that they are not undone
//! twice.
//!
//! Records of one block, and of one index, must be undone in their order. So a pass determines at its beginning which
//! files are away and ignores files that come back during it. When a leaf of an index is away, the pass skips the whole
//! index from there on.
//!
//! Table locks do not last as long: when the file comes back, a table may have been dropped and its blocks reused. A
//! block whose entry does not belong to the record's transaction is left alone, and so is an index whose root belongs
//! to another one.

use crate::Transactions;
use crate::undo::UndoRecord;
use block::{BlockView, Data};
use buffer_cache::{BlockRef, ChangeGroup, GetKind};
use datafile::{ControlFile, DataFiles};
use process::Process;
use redo::Layer;
use types::{ObjectId, Ora, Result, Xid};

/// Whether an error means that a file is away.
pub(crate) fn is_away(e: &Ora) -> bool {
    e.is(376) || e.is(1157)
}

/// One walk over a transaction's records.
pub(crate) struct Pass {
    /// The process that made the records has died, or has given the transaction up.
    is_orphans: bool,
    /// Files that were away when it began.
    away: Vec<u32>,
    /// Indexes with a leaf in such a file.
    objects: Vec<ObjectId>,
    control: Option<ControlFile>,
    /// A record was skipped.
    pub passed: bool,
}

impl Pass {
    pub fn new(files: &DataFiles, is_orphans: bool) -> Pass {
        let control = if is_orphans { files.control().ok() } else { None };
        Pass { is_orphans, away: files.away(), objects: Vec::new(), control, passed: false }
    }

    /// Skips a record that waits for a file; true when it did.
    pub fn passes_over(&mut self, rec: &UndoRecord<'_>) -> bool {
        let waits = self.away.contains(&rec.rdba.file()) || self.objects.contains(&rec.object);
        self.passed |= waits;
        waits
    }

    /// Skips a record because a block that it needs was away.
    pub fn pass_over(&mut self, rec: &UndoRecord<'_>) {
        self.objects.push(rec.object);
        self.passed = true;
    }

    /// Whether the database still has the file of the record. A newer file may have the same number.
    pub fn is_listed(&self, files: &DataFiles, rec: &UndoRecord<'_>) -> bool {
        let is_later = |c: &ControlFile| c.file(rec.rdba.file()).is_some_and(|f| f.created_scn > rec.scn);
        let is_known = rec.scn.0 > 0;
        !self.is_orphans
            || files.is_present(rec.rdba.file()) && !(is_known && self.control.as_ref().is_some_and(is_later))
    }

    /// Whether the changed object is gone: with its file, or with its index.
    pub fn is_gone(&self, txns: &Transactions, p: &Process, rec: &UndoRecord<'_>) -> Result<bool> {
        if !self.is_listed(txns.cache().files(), rec) {
            return Ok(true);
        }
        if !self.is_orphans || rec.layer != Layer::Index {
            return Ok(false);
        }
        let object = txns.cache().read(p, rec.rdba, GetKind::Examination, &mut |v: &BlockView<'_>| v.obj())?;
        Ok(object != rec.object)
    }

    /// Whether the block has been reused: an entry stays with its transaction until all its changes in the block are
    /// undone.
    pub fn is_anothers(&self, g: &ChangeGroup<'_>, b: BlockRef, rec: &UndoRecord<'_>) -> bool {
        let is_own = |xid: Xid| xid == rec.xid;
        self.is_orphans && !Data::new(g.block(b)).itl(rec.itl).is_some_and(|itl| is_own(itl.xid))
    }
}

impl Transactions {
    /// Notes that a transaction waits for files, with the count of returned files at that time.
    pub(crate) fn wait_for_files(&self, xid: Xid, files_returned: u64) {
        if let Ok(mut waiting) = self.waiting().lock() {
            waiting.retain(|(of, _)| *of != xid);
            waiting.push((xid, files_returned));
        }
    }

    /// Whether a transaction waits for files, and no file has come back since it was tried.
    pub(crate) fn waits_for_files(&self, xid: Xid) -> bool {
        let now = self.cache().files().returns();
        self.waiting().lock().is_ok_and(|mut waiting| {
            waiting.retain(|(_, returned)| *returned == now);
            waiting.iter().any(|(of, _)| *of == xid)
        })
    }
}
