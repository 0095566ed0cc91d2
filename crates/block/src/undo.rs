//! Undo blocks and the transaction tables in undo segment headers.
//!
//! ```text
//! undo block                                          undo header
//! 32 | xid (8)                                        32 | slots u16  -  aux32
//! 40 | seq u32  data_end u16  records u16             40 | aux64
//! 48 | prev block u32  aux32                          48 | seq u32  -
//! 56 | record bytes, growing up                       56 | transaction slots, 32 bytes each
//!    |   free gap
//!    | record directory, u16 each, growing down: the end of each record
//! ```
//!
//! Records are bytes to this layer and are only ever appended, 255 in a block at most: record `n` lies between the ends
//! of records `n - 1` and `n`.

use crate::data::Refused;
use crate::header::{self, BlockKind, get16, put16, put32, put64};
use crate::view::BlockView;
use types::{ObjectId, Rdba, Scn, Uba, Xid};

const AT_XID: usize = 32;
const AT_SEQ: usize = 40;
const AT_END: usize = 44;
const AT_RECORDS: usize = 46;
const AT_PREV: usize = 48;
const AT_AUX: usize = 52;
const RECORDS_BEGIN: usize = 56;

/// Bytes of a transaction slot.
pub const TX_SLOT_BYTES: usize = 32;
const TX_BEGIN: usize = 56;
const AT_HEADER_SEQ: usize = 48;

/// Reads an undo block.
#[derive(Clone, Copy)]
pub struct UndoView<'a> {
    /// The words of the block.
    pub view: BlockView<'a>,
}

impl<'a> UndoView<'a> {
    /// Reads `view` as an undo block.
    pub fn new(view: BlockView<'a>) -> Self {
        UndoView { view }
    }
    /// The transaction that writes, or last wrote, this block.
    pub fn xid(&self) -> Xid {
        Xid { usn: self.view.u16(AT_XID), slot: self.view.u16(AT_XID + 2), sqn: self.view.u32(AT_XID + 4) }
    }
    /// Counts the uses of the block; a [`Uba`] with another number points to undo that was overwritten.
    pub fn seq(&self) -> u32 {
        self.view.u32(AT_SEQ)
    }
    /// The transaction's undo block before this one.
    pub fn prev(&self) -> Rdba {
        Rdba(self.view.u32(AT_PREV))
    }
    /// Four bytes for the transaction layer.
    pub fn aux32(&self) -> u32 {
        self.view.u32(AT_AUX)
    }
    /// Number of records, clamped to the block.
    pub fn records(&self) -> u8 {
        self.view.u16(AT_RECORDS).min(u8::MAX.into()) as u8
    }
    /// Offset and length of record `rec`, counted from 0.
    pub fn record(&self, rec: u8) -> Option<(usize, usize)> {
        if rec >= self.records() {
            return None;
        }
        let end_at = self.view.len() - 2 * (usize::from(rec) + 1);
        let end = usize::from(self.view.u16(end_at));
        let begin = if rec == 0 { RECORDS_BEGIN } else { usize::from(self.view.u16(end_at + 2)) };
        (begin >= RECORDS_BEGIN && begin <= end && end <= self.view.len()).then(|| (begin, end - begin))
    }
    /// Bytes left for one more record.
    pub fn free_bytes(&self) -> usize {
        let directory = self.view.len() - 2 * (usize::from(self.records()) + 1);
        directory.saturating_sub(usize::from(self.view.u16(AT_END)))
    }
}

/// The free bytes between records and their directory; may be nonsense for a damaged block.
pub(crate) fn gap(view: &BlockView) -> std::ops::Range<usize> {
    usize::from(view.u16(AT_END))..view.len() - 2 * usize::from(UndoView::new(*view).records())
}

/// Makes `block` an empty undo block for `xid`.
pub fn format(block: &mut [u8], at: Rdba, obj: ObjectId, map: Rdba, xid: Xid, seq: u32, prev: Rdba) {
    header::format(block, BlockKind::Undo, at, obj, map);
    put16(block, AT_XID, xid.usn);
    put16(block, AT_XID + 2, xid.slot);
    put32(block, AT_XID + 4, xid.sqn);
    put32(block, AT_SEQ, seq);
    put16(block, AT_END, RECORDS_BEGIN as u16);
    put32(block, AT_PREV, prev.0);
}

/// Appends a record and returns its number.
///
/// # Errors
/// [`Refused::Full`] when the record does not fit.
pub fn append(block: &mut [u8], record: &[u8]) -> Result<u8, Refused> {
    let v = UndoView::new(BlockView::of_bytes(block));
    // An empty record needs its directory entry too, so it is checked like a record of one byte.
    if v.free_bytes() < record.len().max(1) || v.records() == u8::MAX {
        return Err(Refused::Full);
    }
    let (n, begin) = (v.records(), usize::from(get16(block, AT_END)));
    let end = begin + record.len();
    block[begin..end].copy_from_slice(record);
    let directory = block.len() - 2 * (usize::from(n) + 1);
    put16(block, directory, end as u16);
    put16(block, AT_END, end as u16);
    put16(block, AT_RECORDS, u16::from(n) + 1);
    Ok(n)
}

/// Removes the records from `keep` on, after a rollback to a savepoint has applied them.
///
/// # Errors
/// [`Refused::NoSuch`] when the block has fewer than `keep` records.
pub fn truncate(block: &mut [u8], keep: u8) -> Result<(), Refused> {
    let v = UndoView::new(BlockView::of_bytes(block));
    if keep > v.records() {
        return Err(Refused::NoSuch);
    }
    let end = match keep {
        0 => RECORDS_BEGIN,
        k => v.record(k - 1).map(|(at, len)| at + len).ok_or(Refused::NoSuch)?,
    };
    put16(block, AT_RECORDS, keep.into());
    put16(block, AT_END, end as u16);
    Ok(())
}

/// Sets the four bytes of the transaction layer.
pub fn set_aux32(block: &mut [u8], v: u32) {
    put32(block, AT_AUX, v);
}

/// Sets the transaction that continues in the block.
pub fn set_xid(block: &mut [u8], xid: Xid) {
    put16(block, AT_XID, xid.usn);
    put16(block, AT_XID + 2, xid.slot);
    put32(block, AT_XID + 4, xid.sqn);
}

/// Sets the block before this one; see [`UndoView::prev`].
pub fn set_prev(block: &mut [u8], prev: Rdba) {
    put32(block, AT_PREV, prev.0);
}

/// Largest record that fits into an empty undo block.
pub fn record_bytes_max(block_size: usize) -> usize {
    block_size - RECORDS_BEGIN - 2
}

/// One entry of a transaction table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxSlot {
    /// State of the transaction layer; 0 = never used.
    pub state: u8,
    /// Number of the use of the slot: the `sqn` of the [`Xid`].
    pub sqn: u32,
    /// Commit SCN, or the SCN at the start.
    pub scn: Scn,
    /// Newest undo block of the transaction, while it is active.
    pub last: Rdba,
    /// Undo blocks in use by the transaction.
    pub blocks: u32,
    /// The undo record with the previous contents of the slot.
    pub before: Uba,
}

/// Reads an undo segment header.
#[derive(Clone, Copy)]
pub struct UndoHeaderView<'a> {
    /// The words of the block.
    pub view: BlockView<'a>,
}

impl<'a> UndoHeaderView<'a> {
    /// Reads `view` as an undo segment header.
    pub fn new(view: BlockView<'a>) -> Self {
        UndoHeaderView { view }
    }
    /// Number of transaction slots, clamped to the block.
    pub fn slots(&self) -> u16 {
        self.view.u16(32).min(((self.view.len() - TX_BEGIN) / TX_SLOT_BYTES) as u16)
    }
    /// The sequence number of the segment's newest undo block.
    pub fn seq(&self) -> u32 {
        self.view.u32(AT_HEADER_SEQ)
    }
    /// Four bytes for the transaction layer.
    pub fn aux32(&self) -> u32 {
        self.view.u32(36)
    }
    /// Eight bytes for the transaction layer.
    pub fn aux64(&self) -> u64 {
        self.view.u64(40)
    }
    /// Transaction slot `slot`.
    pub fn tx(&self, slot: u16) -> Option<TxSlot> {
        if slot >= self.slots() {
            return None;
        }
        let (v, at) = (&self.view, TX_BEGIN + usize::from(slot) * TX_SLOT_BYTES);
        Some(TxSlot {
            state: v.u8(at),
            sqn: v.u32(at + 4),
            scn: Scn(v.u64(at + 8)),
            last: Rdba(v.u32(at + 16)),
            blocks: v.u32(at + 20),
            before: Uba { rdba: Rdba(v.u32(at + 24)), seq: v.u32(at + 28), rec: v.u8(at + 1) },
        })
    }
}

/// Number of transaction slots that fit into the header of an undo segment.
pub fn slots_max(block_size: usize) -> usize {
    block_size.saturating_sub(TX_BEGIN) / TX_SLOT_BYTES
}

/// Makes `block` an undo segment header with `slots` unused transaction slots.
pub fn format_header(block: &mut [u8], at: Rdba, obj: ObjectId, map: Rdba, slots: u16) {
    header::format(block, BlockKind::UndoHeader, at, obj, map);
    assert!(TX_BEGIN + usize::from(slots) * TX_SLOT_BYTES <= block.len(), "transaction table does not fit");
    put16(block, 32, slots);
}

/// Writes transaction slot `slot`.
///
/// # Errors
/// [`Refused::NoSuch`] when the table has no such slot.
pub fn set_tx(block: &mut [u8], slot: u16, tx: &TxSlot) -> Result<(), Refused> {
    if slot >= UndoHeaderView::new(BlockView::of_bytes(block)).slots() {
        return Err(Refused::NoSuch);
    }
    let b = &mut block[TX_BEGIN + usize::from(slot) * TX_SLOT_BYTES..][..TX_SLOT_BYTES];
    b[0] = tx.state;
    b[1] = tx.before.rec;
    put32(b, 4, tx.sqn);
    put64(b, 8, tx.scn.0);
    put32(b, 16, tx.last.0);
    put32(b, 20, tx.blocks);
    put32(b, 24, tx.before.rdba.0);
    put32(b, 28, tx.before.seq);
    Ok(())
}

/// Sets the fields of the transaction layer in an undo segment header.
pub fn set_header_aux(block: &mut [u8], seq: u32, aux32: u32, aux64: u64) {
    put32(block, AT_HEADER_SEQ, seq);
    put32(block, 36, aux32);
    put64(block, 40, aux64);
}

/// Whether the transaction table of an undo segment header lies in the block.
pub(crate) fn is_sound_header(block: &[u8]) -> bool {
    TX_BEGIN + usize::from(get16(block, 32)) * TX_SLOT_BYTES <= block.len()
}

/// Checks an undo block: record ends rise and do not meet the directory.
///
/// # Errors
/// A sentence for the trace file.
pub fn assert_invariants(block: &[u8]) -> Result<(), String> {
    let v = UndoView::new(BlockView::of_bytes(block));
    let n = v.view.u16(AT_RECORDS);
    if u16::from(v.records()) != n {
        return Err(format!("{n} records cannot fit"));
    }
    let mut end = RECORDS_BEGIN;
    for rec in 0..v.records() {
        match v.record(rec) {
            Some((at, len)) if at == end => end += len,
            other => return Err(format!("record {rec} is {other:?}, expected at {end}")),
        }
    }
    if end != usize::from(v.view.u16(AT_END)) || end > block.len() - 2 * usize::from(n) {
        return Err(format!("records end at {end}, header says {}", v.view.u16(AT_END)));
    }
    Ok(())
}
