//! Undo records, and the change vectors of undo blocks, undo headers and interested-transaction entries.
//!
//! ```text
//! undo record                                              undo segment header, transaction layer's fields  0 |
//! previous undo record of the transaction: rdba u32,   seq    sequence number of the newest undo block    |   seq u32,
//! rec u8                                    aux32  partial: block a committed transaction left room in  9 | xid
//! aux64  head u32, tail u32 of the queue of retired blocks 17 | object u32, data block u32 25 | entry number u8, layer
//! u8 (with a bit: undone),     undo block    |   op u8, SCN (5 bytes) 33 | the entry as it was before the change (32
//! bytes)     aux32  number of the newest record not undone, plus one 65 | the layer's bytes
//! prev   the transaction's block before this one; in the queue
//! of retired blocks, the block behind this one
//!
//! the slot's previous owner: the first record of every transaction; no change, so never undone
//!  0 | xid of the transaction, sqn u32 of the one before it in the slot, SCN u64 at which that one ended,
//!    |   uba of that transaction's first record
//! ```
//!
//! Undone records stay at their places: a reader with an older copy of the data block may still need them. Record
//! numbers rise as long as a block is in use, so (seq, rec) orders the undo records of a transaction (T7).

use block::undo::{TxSlot, UndoHeaderView, UndoView};
use block::{BlockView, DataMut, Itl, undo};
use buffer_cache::{BlockRef, ChangeGroup};
use redo::{Fields, Layer};
use types::{ObjectId, Ora, Rdba, Result, Scn, Uba, Xid};

/// Bytes of an undo record before the layer's own.
pub const RECORD_HEAD: usize = 65;
/// Bytes of a record's entry in the directory of its undo block.
pub const RECORD_ENTRY: usize = 2;
/// States of a slot in an undo header.
pub const SLOT_ACTIVE: u8 = 10;
pub const SLOT_ENDED: u8 = 9;
/// Open, and only rolled back on request: the last record of its newest undo block names the branch of the global
/// transaction.
pub const SLOT_PREPARED: u8 = 11;
/// Most records in an undo block: [`Uba`] has a byte for the number.
pub const RECORDS_MAX: u16 = 255;

pub mod op {
    /// For a transaction's first block, as REOPEN, with the record of the slot's previous owner after its fields.
    pub const FORMAT: u8 = 1;
    pub const REOPEN: u8 = 2;
    pub const APPEND: u8 = 3;
    pub const RETIRE_RECORD: u8 = 4;
    pub const LINK: u8 = 5;
    pub const HEADER: u8 = 6;
    pub const FORMAT_HEADER: u8 = 7;
    /// The record was undone out of turn: number u8.
    pub const UNDONE: u8 = 8;
    /// The slots of a new header: transactions below sqn u32 belonged to another segment of that number, and committed
    /// at or below SCN u64.
    pub const FIRST_USE: u8 = 9;

    pub const ITL_TAKE: u8 = 1;
    pub const ITL_POINT: u8 = 2;
    pub const ITL_RESTORE: u8 = 3;
    pub const ITL_CLEANOUT: u8 = 4;
    pub const ITL_ADD: u8 = 5;
}

/// An undo record as passed to the layer that wrote it.
#[derive(Debug, Clone, Copy)]
pub struct UndoRecord<'a> {
    pub xid: Xid,
    pub uba: Uba,
    /// The transaction's undo record before this one.
    pub prev: Uba,
    pub object: ObjectId,
    /// The data block the change was made to.
    pub rdba: Rdba,
    pub layer: Layer,
    pub op: u8,
    /// Number of the interested-transaction entry the change used in the block.
    pub itl: u8,
    /// An SCN at or above all commits before the change; the transaction itself commits above it. Zero when not known.
    pub scn: Scn,
    /// The content of that entry before the change.
    pub itl_before: Itl,
    /// The layer's own bytes.
    pub data: &'a [u8],
}

fn damaged(what: &str) -> Ora {
    Ora::internal(format_args!("undo: {what}"))
}

fn put_uba(out: &mut Vec<u8>, uba: Uba) {
    out.extend_from_slice(&uba.to_bytes());
}

fn put_xid(out: &mut Vec<u8>, xid: Xid) {
    out.extend_from_slice(&xid.to_bits().to_le_bytes());
}

/// Appends an entry's 32 bytes.
pub fn put_itl(out: &mut Vec<u8>, itl: &Itl) {
    put_xid(out, itl.xid);
    out.extend_from_slice(&itl.uba.rdba.0.to_le_bytes());
    out.extend_from_slice(&itl.uba.seq.to_le_bytes());
    out.extend_from_slice(&[itl.flags, itl.uba.rec]);
    out.extend_from_slice(&itl.locks.to_le_bytes());
    out.extend_from_slice(&itl.credit.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&itl.scn.0.to_le_bytes());
}

/// The fields of undo in a change vector or an undo record. ORA-00600 when the bytes end before.
trait UndoFields {
    fn uba(&mut self) -> Result<Uba>;
    fn xid(&mut self) -> Result<Xid>;
    fn itl(&mut self) -> Result<Itl>;
}

impl UndoFields for Fields<'_> {
    fn uba(&mut self) -> Result<Uba> {
        Ok(Uba::from_bytes(self.bytes()?))
    }
    fn xid(&mut self) -> Result<Xid> {
        Ok(Xid::from_bits(self.u64()?))
    }
    fn itl(&mut self) -> Result<Itl> {
        let (xid, rdba, seq) = (self.xid()?, Rdba(self.u32()?), self.u32()?);
        let ([flags, rec], locks) = (self.bytes()?, self.u16()?);
        let uba = Uba { rdba, seq, rec };
        let (credit, _) = (self.u16()?, self.u16()?);
        Ok(Itl { xid, uba, flags, locks, credit, scn: Scn(self.u64()?) })
    }
}

/// SCNs below this fit into an undo record.
const SCN_LIMIT: u64 = 1 << 40;

/// Writes an undo record into `out` (cleared first).
pub fn encode_record(out: &mut Vec<u8>, rec: &UndoRecord<'_>) {
    out.clear();
    put_uba(out, rec.prev);
    put_xid(out, rec.xid);
    out.extend_from_slice(&rec.object.0.to_le_bytes());
    out.extend_from_slice(&rec.rdba.0.to_le_bytes());
    // Forty bits: a higher SCN is stored as not known.
    let scn = if rec.scn.0 < SCN_LIMIT { rec.scn.0 } else { 0 };
    let [a, b, c, d, e, ..] = scn.to_le_bytes();
    out.extend_from_slice(&[rec.itl, rec.layer as u8, rec.op, a, b, c, d, e]);
    put_itl(out, &rec.itl_before);
    debug_assert_eq!(out.len(), RECORD_HEAD);
    out.extend_from_slice(rec.data);
}

/// The offset of the layer in a record. A bit there marks a record that was undone while an older or newer one waits
/// for its file.
const LAYER_AT: usize = 26;
const UNDONE: u8 = 0x80;

/// Whether a record is marked as undone.
pub fn is_undone(record: &[u8]) -> bool {
    record.get(LAYER_AT).is_some_and(|layer| layer & UNDONE != 0)
}

fn note_undone(block: &mut [u8], rec: u8) -> Result<()> {
    let place = UndoView::new(BlockView::of_bytes(block)).record(rec).filter(|(_, len)| *len >= RECORD_HEAD);
    let (at, _) = place.ok_or_else(|| damaged("no such record"))?;
    block[at + LAYER_AT] |= UNDONE;
    Ok(())
}

/// Reads an undo record.
pub fn decode_record(uba: Uba, bytes: &[u8]) -> Result<UndoRecord<'_>> {
    let mut f = Fields::new(bytes);
    let (prev, xid) = (f.uba()?, f.xid()?);
    let (object, rdba) = (ObjectId(f.u32()?), Rdba(f.u32()?));
    let [itl, layer, op, a, b, c, d, e] = f.bytes::<8>()?;
    let scn = Scn(u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]));
    let layer = Layer::from_code(layer & !UNDONE).ok_or_else(|| damaged("unknown layer"))?;
    let itl_before = f.itl()?;
    Ok(UndoRecord { xid, uba, prev, object, rdba, layer, op, itl, scn, itl_before, data: f.rest() })
}

/// The previous owner of a slot of an undo header: how its transaction ended. Such records link all owners of the slot
/// with their commit SCNs, as far back as their undo is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotBefore {
    /// The new owner.
    pub xid: Xid,
    pub sqn: u32,
    pub scn: Scn,
    /// The record of the owner before that.
    pub before: Uba,
}

/// Bytes of such a record.
pub const SLOT_BEFORE: usize = 29;

impl SlotBefore {
    pub fn of(xid: Xid, slot: &TxSlot) -> SlotBefore {
        SlotBefore { xid, sqn: slot.sqn, scn: slot.scn, before: slot.before }
    }

    pub fn append_to(&self, out: &mut Vec<u8>) {
        put_xid(out, self.xid);
        out.extend_from_slice(&self.sqn.to_le_bytes());
        out.extend_from_slice(&self.scn.0.to_le_bytes());
        put_uba(out, self.before);
    }

    pub fn read(bytes: &[u8]) -> Result<SlotBefore> {
        let mut f = Fields::new(bytes);
        let read = SlotBefore { xid: f.xid()?, sqn: f.u32()?, scn: Scn(f.u64()?), before: f.uba()? };
        if f.rest().is_empty() { Ok(read) } else { Err(damaged("a record that does not say what a slot was before")) }
    }
}

/// The transaction layer's fields of an undo segment header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SegmentState {
    pub seq: u32,
    /// Undo block with room, left by an ended transaction; the next transaction to begin continues in it.
    pub partial: Rdba,
    /// Retired undo blocks, oldest first.
    pub head: Rdba,
    pub tail: Rdba,
}

impl SegmentState {
    pub fn read(v: &UndoHeaderView<'_>) -> SegmentState {
        let queue = v.aux64();
        SegmentState {
            seq: v.seq(),
            partial: Rdba(v.aux32()),
            head: Rdba(queue as u32),
            tail: Rdba((queue >> 32) as u32),
        }
    }
}

/// Encodes a HEADER change: a transaction slot and the segment's fields together.
pub fn encode_header(slot: u16, tx: &TxSlot, state: &SegmentState) -> Vec<u8> {
    let mut out = Vec::with_capacity(48);
    out.extend_from_slice(&slot.to_le_bytes());
    out.push(tx.state);
    out.extend_from_slice(&tx.sqn.to_le_bytes());
    out.extend_from_slice(&tx.scn.0.to_le_bytes());
    out.extend_from_slice(&tx.last.0.to_le_bytes());
    out.extend_from_slice(&tx.blocks.to_le_bytes());
    put_uba(&mut out, tx.before);
    out.extend_from_slice(&state.seq.to_le_bytes());
    for at in [state.partial, state.head, state.tail] {
        out.extend_from_slice(&at.0.to_le_bytes());
    }
    out
}

/// Encodes the common beginning of every FORMAT.
pub fn encode_address(at: Rdba, object: ObjectId, map: Rdba) -> Vec<u8> {
    [at.0, object.0, map.0].iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Encodes a FORMAT change, for a block that is not the transaction's first.
pub fn encode_format(at: Rdba, object: ObjectId, map: Rdba, xid: Xid, seq: u32, prev: Rdba) -> Vec<u8> {
    let mut out = encode_address(at, object, map);
    put_xid(&mut out, xid);
    out.extend_from_slice(&seq.to_le_bytes());
    out.extend_from_slice(&prev.0.to_le_bytes());
    out
}

/// The apply function of undo blocks and undo headers.
pub fn apply_undo(block: &mut [u8], op: u8, data: &[u8]) -> Result<()> {
    let mut f = Fields::new(data);
    match op {
        op::FORMAT => {
            let (at, object, map) = (Rdba(f.u32()?), ObjectId(f.u32()?), Rdba(f.u32()?));
            undo::format(block, at, object, map, f.xid()?, f.u32()?, Rdba(f.u32()?));
            append_slot_before(block, f.rest())?;
        }
        op::REOPEN => {
            undo::set_xid(block, f.xid()?);
            undo::set_prev(block, Rdba::NONE);
            undo::set_aux32(block, 0);
            append_slot_before(block, f.rest())?;
        }
        op::APPEND => {
            let rec = undo::append(block, data).map_err(|_| damaged("record does not fit"))?;
            undo::set_aux32(block, u32::from(rec) + 1);
        }
        op::RETIRE_RECORD => undo::set_aux32(block, f.u32()?),
        op::UNDONE => note_undone(block, f.u8()?)?,
        op::LINK => undo::set_prev(block, Rdba(f.u32()?)),
        op::HEADER => apply_header(block, &mut f)?,
        op::FORMAT_HEADER => {
            let (at, object, map) = (Rdba(f.u32()?), ObjectId(f.u32()?), Rdba(f.u32()?));
            let slots = f.u16()?;
            if usize::from(slots) > undo::slots_max(block.len()) {
                return Err(damaged("transaction table does not fit"));
            }
            undo::format_header(block, at, object, map, slots);
        }
        op::FIRST_USE => {
            let tx = TxSlot { state: SLOT_ENDED, sqn: f.u32()?, scn: Scn(f.u64()?), ..TxSlot::default() };
            for slot in 0..UndoHeaderView::new(BlockView::of_bytes(block)).slots() {
                undo::set_tx(block, slot, &tx).map_err(|_| damaged("no such transaction slot"))?;
            }
        }
        _ => return Err(damaged("unknown operation")),
    }
    Ok(())
}

/// Appends a record that is never undone: `aux32` does not count it.
fn append_slot_before(block: &mut [u8], record: &[u8]) -> Result<()> {
    if record.is_empty() {
        return Ok(());
    }
    undo::append(block, record).map(|_| ()).map_err(|_| damaged("record does not fit"))
}

fn apply_header(block: &mut [u8], f: &mut Fields<'_>) -> Result<()> {
    let (slot, state, sqn, scn) = (f.u16()?, f.u8()?, f.u32()?, Scn(f.u64()?));
    let tx = TxSlot { state, sqn, scn, last: Rdba(f.u32()?), blocks: f.u32()?, before: f.uba()? };
    let s = SegmentState { seq: f.u32()?, partial: Rdba(f.u32()?), head: Rdba(f.u32()?), tail: Rdba(f.u32()?) };
    undo::set_tx(block, slot, &tx).map_err(|_| damaged("no such transaction slot"))?;
    undo::set_header_aux(block, s.seq, s.partial.0, u64::from(s.tail.0) << 32 | u64::from(s.head.0));
    Ok(())
}

/// The apply function of interested-transaction entries. Every operation begins with the entry's number.
pub fn apply_itl(block: &mut [u8], op: u8, data: &[u8]) -> Result<()> {
    let mut f = Fields::new(data);
    let n = f.u8()?;
    let mut d = DataMut::new(block);
    let old = d.read().itl(n);
    let need = || old.ok_or_else(|| damaged("no such interested-transaction entry"));
    let new = match op {
        op::ITL_ADD => {
            return match d.add_itl() {
                Ok(got) if got == n => Ok(()),
                other => Err(damaged(&format!("entry {n} to add: {other:?}"))),
            };
        }
        op::ITL_TAKE => {
            if need()?.locks > 0 {
                // The transaction that locked these rows has ended, and the entry gets another owner (T3).
                d.clear_locks(n);
            }
            Itl { xid: f.xid()?, ..Itl::default() }
        }
        op::ITL_POINT => Itl { uba: f.uba()?, ..need()? },
        op::ITL_RESTORE => f.itl()?,
        op::ITL_CLEANOUT => {
            let flags = f.u8()?;
            Itl { flags, scn: Scn(f.u64()?), ..need()? }
        }
        _ => return Err(damaged("unknown operation")),
    };
    d.set_itl(n, &new).map_err(|_| damaged("no such interested-transaction entry"))
}

/// Whether undo record `a` of a transaction is newer than record `b` of the same transaction.
///
/// Sequence numbers wrap, but the distance of two records of one transaction is always smaller than half their range:
/// the segment would have to write 2,147,483,648 blocks in between, 4 TB in the smallest ones.
pub fn is_newer(a: Uba, b: Uba) -> bool {
    match a.seq.wrapping_sub(b.seq) as i32 {
        0 => a.rec > b.rec,
        d => d > 0,
    }
}

/// Copies record `uba` out of an undo block. `None` when the block has other content now.
pub fn copy_record(view: &BlockView<'_>, uba: Uba, out: &mut Vec<u8>) -> Option<()> {
    let v = UndoView::new(*view);
    if view.kind() != Some(block::BlockKind::Undo) || v.seq() != uba.seq {
        return None;
    }
    let (at, len) = v.record(uba.rec)?;
    out.clear();
    view.append_to(at, len, out);
    Some(())
}

/// The change group that rolls back one undo record: the layer adds its compensating changes, and the record is retired
/// in the same group.
pub struct Rollback<'a> {
    pub(crate) group: ChangeGroup<'a>,
}

impl<'a> Rollback<'a> {
    /// The group for the compensating changes.
    pub fn group(&mut self) -> &mut ChangeGroup<'a> {
        &mut self.group
    }

    /// Restores the interested-transaction entry that `rec` had changed, in block `b`.
    pub fn restore_itl(&mut self, b: BlockRef, rec: &UndoRecord<'_>) -> Result<()> {
        let mut cv = vec![rec.itl];
        put_itl(&mut cv, &rec.itl_before);
        self.apply(b, Layer::Transaction, op::ITL_RESTORE, &cv)
    }

    /// Applies one change vector to a pinned block.
    pub fn apply(&mut self, b: BlockRef, layer: Layer, op: u8, data: &[u8]) -> Result<()> {
        self.group.change(b, layer, op, data)
    }
}

/// The name of an undo segment: `v$rollname`.
pub fn segment_name(usn: u16) -> String {
    format!("_SYSSMU{usn}$")
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{BlockKind, Image, data};

    fn record(data: &[u8]) -> UndoRecord<'_> {
        let itl_before = Itl {
            xid: Xid { usn: 3, slot: 4, sqn: 5 },
            uba: Uba { rdba: Rdba(6), seq: 7, rec: 8 },
            flags: block::itl_flags::COMMITTED,
            locks: 9,
            credit: 10,
            scn: Scn(u64::MAX - 11),
        };
        UndoRecord {
            xid: Xid { usn: 1, slot: 2, sqn: 99 },
            uba: Uba { rdba: Rdba(70), seq: 71, rec: 72 },
            prev: Uba { rdba: Rdba(80), seq: 81, rec: 255 },
            object: ObjectId(12),
            rdba: Rdba(13),
            layer: Layer::Heap,
            op: 14,
            itl: 200,
            scn: Scn(SCN_LIMIT - 3),
            itl_before,
            data,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_a_cut_one_is_refused() {
        let rec = record(b"layer's own");
        let mut bytes = Vec::new();
        encode_record(&mut bytes, &rec);
        assert_eq!(bytes.len(), RECORD_HEAD + 11);
        assert_eq!(format!("{:?}", decode_record(rec.uba, &bytes).unwrap()), format!("{rec:?}"));
        for n in 0..RECORD_HEAD {
            assert!(decode_record(rec.uba, &bytes[..n]).is_err(), "{n} bytes");
        }
    }

    #[test]
    fn a_block_keeps_the_records_of_its_owners_and_which_one_is_to_be_undone_next() {
        let mut image = Image::new(2048);
        let (xid, other) = (Xid { usn: 1, slot: 0, sqn: 1 }, Xid { usn: 1, slot: 1, sqn: 1 });
        let format = encode_format(Rdba(70), ObjectId(0), Rdba(69), xid, 5, Rdba(60));
        apply_undo(image.bytes_mut(), op::FORMAT, &format).unwrap();
        for n in 1..=3u32 {
            let mut bytes = Vec::new();
            encode_record(&mut bytes, &record(&n.to_le_bytes()));
            apply_undo(image.bytes_mut(), op::APPEND, &bytes).unwrap();
            let v = UndoView::new(image.view());
            assert_eq!((v.xid(), v.prev(), v.aux32()), (xid, Rdba(60), n));
        }
        apply_undo(image.bytes_mut(), op::RETIRE_RECORD, &1u32.to_le_bytes()).unwrap();
        apply_undo(image.bytes_mut(), op::REOPEN, &other.to_bits().to_le_bytes()).unwrap();
        let v = UndoView::new(image.view());
        assert_eq!((v.xid(), v.prev(), v.aux32(), v.seq(), u32::from(v.records())), (other, Rdba::NONE, 0, 5, 3));
        let mut out = Vec::new();
        let uba = |seq, rec| Uba { rdba: Rdba(70), seq, rec };
        assert!(copy_record(&image.view(), uba(5, 2), &mut out).is_some());
        assert_eq!(decode_record(uba(5, 2), &out).unwrap().data, 3u32.to_le_bytes());
        assert!(copy_record(&image.view(), uba(4, 2), &mut out).is_none(), "another use of the block");
        assert!(copy_record(&image.view(), uba(5, 3), &mut out).is_none(), "no such record");
        // A record undone out of order is marked and otherwise unchanged.
        assert!(!is_undone(&out));
        apply_undo(image.bytes_mut(), op::UNDONE, &[2]).unwrap();
        assert!(copy_record(&image.view(), uba(5, 2), &mut out).is_some() && is_undone(&out));
        assert_eq!(decode_record(uba(5, 2), &out).unwrap().layer, Layer::Heap);
        assert!(apply_undo(image.bytes_mut(), op::UNDONE, &[3]).is_err());
        block::assert_invariants(image.bytes()).unwrap();
    }

    #[test]
    fn taking_an_entry_frees_the_rows_its_last_owner_had_locked() {
        let mut image = Image::new(2048);
        data::format(image.bytes_mut(), BlockKind::Heap, Rdba(9), ObjectId(1), Rdba(8), 2);
        let mut d = DataMut::new(image.bytes_mut());
        for slot in 0..4 {
            d.insert(slot, 0x2C, 1 + (slot % 2) as u8, 0, b"row").unwrap();
        }
        let old = Itl { xid: Xid { usn: 1, slot: 1, sqn: 1 }, locks: 2, ..Itl::default() };
        d.set_itl(1, &old).unwrap();
        let mut cleanout = vec![1, block::itl_flags::COMMITTED];
        cleanout.extend_from_slice(&77u64.to_le_bytes());
        apply_itl(image.bytes_mut(), op::ITL_CLEANOUT, &cleanout).unwrap();
        let new = Xid { usn: 2, slot: 2, sqn: 2 };
        let mut take = vec![1];
        put_xid(&mut take, new);
        apply_itl(image.bytes_mut(), op::ITL_TAKE, &take).unwrap();
        let d = block::Data::new(image.view());
        assert_eq!(d.rows().map(|(_, r)| r.lock).collect::<Vec<_>>(), [0, 2, 0, 2]);
        assert_eq!(d.itl(1).unwrap(), Itl { xid: new, ..Itl::default() });
        assert_eq!(d.max_commit_scn(), Scn(77));
        let mut restore = vec![1];
        put_itl(&mut restore, &old);
        apply_itl(image.bytes_mut(), op::ITL_RESTORE, &restore).unwrap();
        assert_eq!(block::Data::new(image.view()).itl(1).unwrap(), old);
        assert!(apply_itl(image.bytes_mut(), op::ITL_TAKE, &[9, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
        assert!(apply_itl(image.bytes_mut(), op::ITL_POINT, &[1, 2]).is_err());
    }

    #[test]
    fn newer_is_newer_also_when_the_sequence_wraps() {
        let uba = |seq, rec| Uba { rdba: Rdba(1), seq, rec };
        assert!(is_newer(uba(3, 1), uba(2, 200)));
        assert!(is_newer(uba(0, 0), uba(u32::MAX, 9)));
        assert!(is_newer(uba(40_000, 0), uba(1, 9)) && !is_newer(uba(1, 9), uba(40_000, 0)), "far apart");
        assert!(is_newer(uba(1 << 30, 0), uba(u32::MAX - (1 << 29), 9)));
        assert!(is_newer(uba(5, 2), uba(5, 1)));
        assert!(!is_newer(uba(5, 1), uba(5, 1)) && !is_newer(uba(u32::MAX, 9), uba(0, 0)));
    }
}
