//! Undo records, and the change vectors of undo blocks, undo headers and interested-transaction entries.
//!
//! ```text
//! undo record                                              undo segment header, transaction layer's fields
//!  0 | previous undo record of the transaction: rdba u32,   aux16  sequence number of the newest undo block
//!    |   seq u16, rec u16                                   aux32  partial: block a committed transaction left room in
//!  8 | xid                                                  aux64  head u32, tail u32 of the queue of retired blocks
//! 16 | object u32, data block u32
//! 24 | entry number u8, layer u8, op u8, -  u32            undo block
//! 32 | the entry as it was before the change (32 bytes)     aux32  number of the newest record not undone, plus one
//! 64 | the layer's bytes                                    prev   the transaction's block before this one; in the queue
//!                                                                  of retired blocks, the block behind this one
//! ```
//!
//! Undone records stay where they are: a reader with an older copy of the data block may still need them, and record numbers
//! rise for as long as a block is in use, which is what orders the undo records of a transaction by (seq, rec).

use block::undo::{TxSlot, UndoHeaderView, UndoView};
use block::{BlockView, DataMut, Itl, undo};
use redo::Layer;
use types::{ObjectId, Ora, Rdba, Result, Scn, Uba, Xid};

/// Bytes of an undo record before the layer's own.
pub const RECORD_HEAD: usize = 64;
/// Bytes of a record's entry in the directory of its undo block.
pub const RECORD_ENTRY: usize = 2;
/// Most records in an undo block: [`Uba`] has a byte for the number.
pub const RECORDS_MAX: u16 = 255;

pub mod op {
    pub const FORMAT: u8 = 1;
    pub const REOPEN: u8 = 2;
    pub const APPEND: u8 = 3;
    pub const RETIRE_RECORD: u8 = 4;
    pub const LINK: u8 = 5;
    pub const HEADER: u8 = 6;
    pub const FORMAT_HEADER: u8 = 7;

    pub const ITL_TAKE: u8 = 1;
    pub const ITL_POINT: u8 = 2;
    pub const ITL_RESTORE: u8 = 3;
    pub const ITL_CLEANOUT: u8 = 4;
    pub const ITL_ADD: u8 = 5;
}

/// An undo record as handed to the layer that wrote it.
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
    /// That entry before the change.
    pub itl_before: Itl,
    /// The layer's own bytes.
    pub data: &'a [u8],
}

fn damaged(what: &str) -> Ora {
    Ora::internal(format_args!("undo: {what}"))
}

fn put_uba(out: &mut Vec<u8>, uba: Uba) {
    out.extend_from_slice(&uba.rdba.0.to_le_bytes());
    out.extend_from_slice(&uba.seq.to_le_bytes());
    out.extend_from_slice(&u16::from(uba.rec).to_le_bytes());
}

fn put_xid(out: &mut Vec<u8>, xid: Xid) {
    out.extend_from_slice(&xid.to_bits().to_le_bytes());
}

/// Appends an entry's 32 bytes.
pub fn put_itl(out: &mut Vec<u8>, itl: &Itl) {
    put_xid(out, itl.xid);
    put_uba(out, itl.uba);
    out.extend_from_slice(&[itl.flags, 0]);
    out.extend_from_slice(&itl.locks.to_le_bytes());
    out.extend_from_slice(&itl.credit.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&itl.scn.0.to_le_bytes());
}

/// Reads fields off the front of a change vector.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.0.split_at_checked(N).ok_or_else(|| damaged("short change vector"))?;
        self.0 = rest;
        Ok(head.try_into().expect("split at N"))
    }
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.bytes::<1>()?[0])
    }
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.bytes()?))
    }
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }
    pub fn uba(&mut self) -> Result<Uba> {
        Ok(Uba { rdba: Rdba(self.u32()?), seq: self.u16()?, rec: self.u16()? as u8 })
    }
    pub fn xid(&mut self) -> Result<Xid> {
        Ok(Xid::from_bits(self.u64()?))
    }
    pub fn itl(&mut self) -> Result<Itl> {
        let (xid, uba) = (self.xid()?, self.uba()?);
        let (flags, locks) = (self.u16()? as u8, self.u16()?);
        let (credit, _) = (self.u16()?, self.u16()?);
        Ok(Itl { xid, uba, flags, locks, credit, scn: Scn(self.u64()?) })
    }
}

/// Writes an undo record into `out` (cleared first).
pub fn encode_record(out: &mut Vec<u8>, rec: &UndoRecord<'_>) {
    out.clear();
    put_uba(out, rec.prev);
    put_xid(out, rec.xid);
    out.extend_from_slice(&rec.object.0.to_le_bytes());
    out.extend_from_slice(&rec.rdba.0.to_le_bytes());
    out.extend_from_slice(&[rec.itl, rec.layer as u8, rec.op, 0, 0, 0, 0, 0]);
    put_itl(out, &rec.itl_before);
    debug_assert_eq!(out.len(), RECORD_HEAD);
    out.extend_from_slice(rec.data);
}

/// Reads an undo record.
pub fn decode_record(uba: Uba, bytes: &[u8]) -> Result<UndoRecord<'_>> {
    let mut f = Fields(bytes);
    let (prev, xid) = (f.uba()?, f.xid()?);
    let (object, rdba) = (ObjectId(f.u32()?), Rdba(f.u32()?));
    let [itl, layer, op, ..] = f.bytes::<8>()?;
    let layer = Layer::from_code(layer).ok_or_else(|| damaged("unknown layer"))?;
    let itl_before = f.itl()?;
    Ok(UndoRecord { xid, uba, prev, object, rdba, layer, op, itl, itl_before, data: f.0 })
}

/// The transaction layer's fields of an undo segment header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SegmentState {
    pub seq: u16,
    /// Undo block with room, left by a transaction that ended; the next one to begin goes on in it.
    pub partial: Rdba,
    /// Retired undo blocks, oldest first.
    pub head: Rdba,
    pub tail: Rdba,
}

impl SegmentState {
    pub fn read(v: &UndoHeaderView<'_>) -> SegmentState {
        let queue = v.aux64();
        SegmentState {
            seq: v.aux16(),
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
    out.extend_from_slice(&[tx.state, tx.flags]);
    out.extend_from_slice(&tx.sqn.to_le_bytes());
    out.extend_from_slice(&tx.scn.0.to_le_bytes());
    put_uba(&mut out, tx.uba);
    out.extend_from_slice(&tx.blocks.to_le_bytes());
    out.extend_from_slice(&state.seq.to_le_bytes());
    for at in [state.partial, state.head, state.tail] {
        out.extend_from_slice(&at.0.to_le_bytes());
    }
    out
}

/// Encodes what every FORMAT begins with.
pub fn encode_address(at: Rdba, object: ObjectId, map: Rdba) -> Vec<u8> {
    [at.0, object.0, map.0].iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Encodes a FORMAT change.
pub fn encode_format(at: Rdba, object: ObjectId, map: Rdba, xid: Xid, seq: u16, prev: Rdba) -> Vec<u8> {
    let mut out = encode_address(at, object, map);
    put_xid(&mut out, xid);
    out.extend_from_slice(&seq.to_le_bytes());
    out.extend_from_slice(&prev.0.to_le_bytes());
    out
}

/// The apply function of undo blocks and undo headers.
pub fn apply_undo(block: &mut [u8], op: u8, data: &[u8]) -> Result<()> {
    let mut f = Fields(data);
    match op {
        op::FORMAT => {
            let (at, object, map) = (Rdba(f.u32()?), ObjectId(f.u32()?), Rdba(f.u32()?));
            undo::format(block, at, object, map, f.xid()?, f.u16()?, Rdba(f.u32()?));
        }
        op::REOPEN => {
            undo::set_xid(block, f.xid()?);
            undo::set_prev(block, Rdba::NONE);
            undo::set_aux32(block, 0);
        }
        op::APPEND => {
            let rec = undo::append(block, data).map_err(|_| damaged("record does not fit"))?;
            undo::set_aux32(block, u32::from(rec) + 1);
        }
        op::RETIRE_RECORD => undo::set_aux32(block, f.u32()?),
        op::LINK => undo::set_prev(block, Rdba(f.u32()?)),
        op::HEADER => apply_header(block, &mut f)?,
        op::FORMAT_HEADER => {
            let (at, object, map) = (Rdba(f.u32()?), ObjectId(f.u32()?), Rdba(f.u32()?));
            undo::format_header(block, at, object, map, f.u16()?);
        }
        _ => return Err(damaged("unknown operation")),
    }
    Ok(())
}

fn apply_header(block: &mut [u8], f: &mut Fields<'_>) -> Result<()> {
    let slot = f.u16()?;
    let [state, flags] = f.bytes()?;
    let tx = TxSlot { state, flags, sqn: f.u32()?, scn: Scn(f.u64()?), uba: f.uba()?, blocks: f.u32()? };
    let s = SegmentState { seq: f.u16()?, partial: Rdba(f.u32()?), head: Rdba(f.u32()?), tail: Rdba(f.u32()?) };
    undo::set_tx(block, slot, &tx).map_err(|_| damaged("no such transaction slot"))?;
    undo::set_header_aux(block, s.seq, s.partial.0, u64::from(s.tail.0) << 32 | u64::from(s.head.0));
    Ok(())
}

/// The apply function of interested-transaction entries. Every operation begins with the entry's number.
pub fn apply_itl(block: &mut [u8], op: u8, data: &[u8]) -> Result<()> {
    let mut f = Fields(data);
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
                clear_locks(&mut d, n)?;
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

/// Takes the lock byte `n` off every row: its transaction has ended and the entry gets another owner.
fn clear_locks(d: &mut DataMut<'_>, n: u8) -> Result<()> {
    for slot in 0..d.read().slots() {
        if let Some(row) = d.read().row(slot).filter(|r| r.lock == n) {
            d.set_row(slot as u16, row.flags, 0).map_err(|_| damaged("no such row"))?;
        }
    }
    Ok(())
}

/// Whether undo record `a` of a transaction is newer than record `b` of the same transaction. Sequence numbers wrap.
pub fn is_newer(a: Uba, b: Uba) -> bool {
    match a.seq.wrapping_sub(b.seq) as i16 {
        0 => a.rec > b.rec,
        d => d > 0,
    }
}

/// Copies record `uba` out of an undo block. `None` when the block holds something else by now.
pub fn copy_record(view: &BlockView<'_>, uba: Uba, out: &mut Vec<u8>) -> Option<()> {
    let v = UndoView::new(*view);
    if view.kind() != Some(block::BlockKind::Undo) || v.seq() != uba.seq {
        return None;
    }
    let (at, len) = v.record(uba.rec.into())?;
    out.clear();
    view.append_to(at, len, out);
    Some(())
}
