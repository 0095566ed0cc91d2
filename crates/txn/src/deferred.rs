//! Rolling back what can be rolled back: blocks of files that are away wait for their file.
//!
//! A rollback reverses a transaction's records newest first. One whose block is in a file that is offline, or missing,
//! is passed over, and the transaction belongs to nobody until the file is there again: PMON then begins anew with the
//! record that was passed over. What was undone behind it is marked in its record, in the group that undid it, so that
//! it is not undone twice.
//!
//! Records of one block, and of one index, must be undone in their order. So a pass knows from its beginning which
//! files are away, whatever comes back meanwhile, and an index of which one leaf was away is passed over as a whole
//! from there on.
//!
//! Locks of tables do not last that long: when the file comes back, a table may have been dropped and its blocks may be
//! another's. A block of which the record's entry is not the transaction's is left alone, and so is an index whose root
//! is not its own.

use crate::Transactions;
use crate::undo::UndoRecord;
use block::{BlockView, Data};
use buffer_cache::{BlockRef, ChangeGroup, GetKind};
use datafile::{ControlFile, DataFiles};
use process::Process;
use redo::Layer;
use types::{ObjectId, Ora, Result, Xid};

/// Whether an error says that a file is away.
pub(crate) fn is_away(e: &Ora) -> bool {
    e.is(376) || e.is(1157)
}

/// One walk over a transaction's records.
pub(crate) struct Pass {
    /// The process that made the records has died, or waits for them no longer.
    is_orphans: bool,
    /// Files that were away when it began.
    away: Vec<u32>,
    /// Indexes with a leaf that was.
    objects: Vec<ObjectId>,
    control: Option<ControlFile>,
    /// A record was passed over.
    pub passed: bool,
}

impl Pass {
    pub fn new(files: &DataFiles, is_orphans: bool) -> Pass {
        let control = if is_orphans { files.control().ok() } else { None };
        Pass { is_orphans, away: files.away(), objects: Vec::new(), control, passed: false }
    }

    /// Passes a record over that waits for a file.
    pub fn passes_over(&mut self, rec: &UndoRecord<'_>) -> bool {
        let waits = self.away.contains(&rec.rdba.file()) || self.objects.contains(&rec.object);
        self.passed |= waits;
        waits
    }

    /// Passes a record over because some block that it needs was away.
    pub fn pass_over(&mut self, rec: &UndoRecord<'_>) {
        self.objects.push(rec.object);
        self.passed = true;
    }

    /// Whether the database still has the file that the record speaks of; one that was made later may have its number.
    pub fn is_listed(&self, files: &DataFiles, rec: &UndoRecord<'_>) -> bool {
        let is_later = |c: &ControlFile| c.file(rec.rdba.file()).is_some_and(|f| f.created_scn > rec.scn);
        let is_known = rec.scn.0 > 0;
        !self.is_orphans
            || files.is_present(rec.rdba.file()) && !(is_known && self.control.as_ref().is_some_and(is_later))
    }

    /// Whether what the record changed is gone: with its file, or with its index.
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

    /// Whether the block is another's by now: an entry stays its transaction's until all its changes there are undone.
    pub fn is_anothers(&self, g: &ChangeGroup<'_>, b: BlockRef, rec: &UndoRecord<'_>) -> bool {
        let is_own = |xid: Xid| xid == rec.xid;
        self.is_orphans && !Data::new(g.block(b)).itl(rec.itl).is_some_and(|itl| is_own(itl.xid))
    }
}

impl Transactions {
    /// Notes that a transaction waits for files that were away when `files_returned` had come back.
    pub(crate) fn wait_for_files(&self, xid: Xid, files_returned: u64) {
        if let Ok(mut waiting) = self.waiting().lock() {
            waiting.retain(|(of, _)| *of != xid);
            waiting.push((xid, files_returned));
        }
    }

    /// Whether a transaction waits for files, and none has come back since it was tried.
    pub(crate) fn waits_for_files(&self, xid: Xid) -> bool {
        let now = self.cache().files().returns();
        self.waiting().lock().is_ok_and(|mut waiting| {
            waiting.retain(|(_, returned)| *returned == now);
            waiting.iter().any(|(of, _)| *of == xid)
        })
    }
}
