//! Commit SCNs of transactions whose slot was reused (T12).
//!
//! The transaction table in the SGA then has only an upper bound. But the first undo record of every transaction stores
//! the previous transaction of its slot: the number, the commit SCN, and the place of that one's own such record. A
//! reader follows these records back to the transaction that it looks for, or to one that ended at or below its
//! snapshot, as did all before that. The undo of transactions that committed above the snapshot is kept for it anyway,
//! so the records reach back as far as the undo.

use crate::Transactions;
use crate::table::Fate;
use crate::undo::{SLOT_ENDED, SlotBefore};
use block::BlockKind;
use block::undo::{TxSlot, UndoHeaderView};
use process::Process;
use types::{Result, Scn, Uba, Xid};

impl Transactions {
    /// The end of a transaction for which the table has only a bound: the exact SCN, or a bound that is not above
    /// `enough`. `None` when the undo that has it is gone.
    ///
    /// Latches: none on entry or return. Statistics: `consistent gets - examination`.
    /// # Errors
    /// Those of reading undo, and ORA-01013.
    pub(crate) fn ended(&self, p: &Process, xid: Xid, enough: Scn) -> Result<Option<Fate>> {
        if let Some(scn) = self.known().lock().ok().and_then(|known| known.0.get(&xid).copied()) {
            return Ok(Some(Fate::Committed(scn)));
        }
        let Some(slot) = self.slot_on_disk(p, xid)? else { return Ok(None) };
        // The state of an active owner is not used; all owners before it have ended.
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
                // The transaction has written nothing, so no block refers to it.
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

    /// The slot of a transaction's segment as in its header; `None` when the segment is gone or replaced.
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

    /// The record of the owner before `xid` of its slot; `None` when that undo is gone.
    fn slot_before(&self, p: &Process, xid: Xid, at: Uba, bytes: &mut Vec<u8>) -> Result<Option<SlotBefore>> {
        if at.is_none() || self.copy_undo(p, at, bytes)?.is_none() {
            return Ok(None);
        }
        Ok(Some(SlotBefore::read(bytes)?).filter(|before| before.xid == xid && before.sqn < xid.sqn))
    }
}
