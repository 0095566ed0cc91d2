//! When a transaction committed whose slot others have had since.
//!
//! The transaction table in the SGA then has an upper bound only. But the first undo record of every transaction keeps
//! what its slot was before: the number and the commit SCN of the transaction before it, and where that one's own
//! record of the kind is. Going back along them, a reader comes to the transaction that it asks for, or to one that
//! ended at or below its snapshot, and so did all before that. The undo of whoever committed above the snapshot is kept
//! for it anyway, so the way back is as long as the undo.

use crate::Transactions;
use crate::table::Fate;
use crate::undo::{SLOT_ENDED, SlotBefore};
use block::BlockKind;
use block::undo::{TxSlot, UndoHeaderView};
use process::Process;
use std::collections::HashMap;
use types::{Result, Scn, Uba, Xid};

/// Commit SCNs that a process remembers.
const KNOWN_MAX: usize = 8192;

/// Commit SCNs found in undo. Never forgotten because they have changed: no transaction has two.
#[derive(Default)]
pub(crate) struct Known(HashMap<Xid, Scn>);

impl Known {
    fn note(&mut self, xid: Xid, scn: Scn) {
        if self.0.len() >= KNOWN_MAX {
            self.0.clear();
        }
        self.0.insert(xid, scn);
    }
}

impl Transactions {
    /// When a transaction ended of which the table has no more than a bound: exactly, or that it was at or below a
    /// bound that is not above `enough`. `None` when the undo that would tell is gone.
    ///
    /// Latches: none on entry or return. Statistics: `consistent gets - examination`.
    /// # Errors
    /// Those of reading undo, and ORA-01013.
    pub(crate) fn ended(&self, p: &Process, xid: Xid, enough: Scn) -> Result<Option<Fate>> {
        if let Some(scn) = self.known().lock().ok().and_then(|known| known.0.get(&xid).copied()) {
            return Ok(Some(Fate::Committed(scn)));
        }
        let Some(slot) = self.slot_on_disk(p, xid)? else { return Ok(None) };
        // What an active transaction is to become says nothing; all before it have ended.
        let mut at = SlotBefore { xid, sqn: slot.sqn, scn: slot.scn, before: slot.before };
        let mut is_ended = slot.state == SLOT_ENDED;
        let mut bytes = Vec::new();
        loop {
            if is_ended {
                let of = Xid { sqn: at.sqn, ..xid };
                if let Ok(mut known) = self.known().lock() {
                    known.note(of, at.scn);
                }
                if of == xid {
                    return Ok(Some(Fate::Committed(at.scn)));
                }
            }
            if at.sqn <= xid.sqn {
                // It has written nothing, so nobody asks.
                return Ok(None);
            }
            if is_ended && at.scn <= enough {
                return Ok(Some(Fate::Before(at.scn)));
            }
            p.check_cancel()?;
            match self.slot_before(p, Xid { sqn: at.sqn, ..xid }, at.before, &mut bytes)? {
                Some(before) => (at, is_ended) = (before, true),
                None => return Ok(None),
            }
        }
    }

    /// The slot of a transaction's segment as its header has it; `None` when the segment is no more, or is another one.
    fn slot_on_disk(&self, p: &Process, xid: Xid) -> Result<Option<TxSlot>> {
        let group = self.table().group_of(xid.usn);
        let known = self.table().group(group).filter(|g| xid.sqn >= g.first_sqn);
        if known.is_none() || !self.table().usns(group).contains(&xid.usn) {
            return Ok(None);
        }
        let slot = self.read_undo(p, self.table().header(xid.usn), &mut |view| {
            let is_header = view.kind() == Some(BlockKind::UndoHeader);
            if is_header { UndoHeaderView::new(*view).tx(xid.slot) } else { None }
        })?;
        Ok(slot.flatten())
    }

    /// What the slot of `xid` was before it; `None` when that undo is gone.
    fn slot_before(&self, p: &Process, xid: Xid, at: Uba, bytes: &mut Vec<u8>) -> Result<Option<SlotBefore>> {
        if at.is_none() || self.copy_undo(p, at, bytes)?.is_none() {
            return Ok(None);
        }
        Ok(Some(SlotBefore::read(bytes)?).filter(|before| before.xid == xid && before.sqn < xid.sqn))
    }
}
