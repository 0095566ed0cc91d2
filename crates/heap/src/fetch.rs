//! Reading rows by rowid, and putting the pieces of a row together.

use crate::ops::flags;
use crate::{Heap, HeapTable};
use block::data::{Directory, ITL_BEGIN, ROW_HEADER_BYTES, RowAt, SLOT_BYTES};
use block::{BlockKind, BlockView, Data, LINE_BYTES};
use buffer_cache::{GetKind, PREFETCH_BLOCKS};
use process::Process;
use txn::Snapshot;
use types::{ObjectId, Ora, Rdba, Result, Rowid};
use wait::Stat;

/// Where a piece of a row lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PieceAddress {
    pub rdba: Rdba,
    pub slot: u16,
}

/// Bytes of an address in front of a piece's own.
pub(crate) const ADDRESS_BYTES: usize = 6;

impl PieceAddress {
    pub fn to_bytes(self) -> [u8; ADDRESS_BYTES] {
        let mut bytes = [0; ADDRESS_BYTES];
        bytes[..4].copy_from_slice(&self.rdba.0.to_le_bytes());
        bytes[4..].copy_from_slice(&self.slot.to_le_bytes());
        bytes
    }

    pub fn of_bytes(bytes: &[u8; ADDRESS_BYTES]) -> PieceAddress {
        let [a, b, c, d, low, high] = *bytes;
        PieceAddress { rdba: Rdba(u32::from_le_bytes([a, b, c, d])), slot: u16::from_le_bytes([low, high]) }
    }

    pub fn read(view: &BlockView<'_>, at: usize) -> PieceAddress {
        PieceAddress { rdba: Rdba(view.u32(at)), slot: view.u16(at + 4) }
    }
}

/// A row's bytes, in a buffer that is used again.
pub type RowBuffer = Vec<u8>;

/// What a look at one piece found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// The last piece of the row, or the only one.
    Last,
    Next(PieceAddress),
    None,
    /// The block is not one of the segment's.
    Foreign,
}

/// Appends the bytes of the piece at `slot` to `row`. Everything is checked: what it sees may be garbage.
pub fn take_piece(
    view: &BlockView<'_>,
    kind: BlockKind,
    obj: ObjectId,
    slot: u16,
    head: bool,
    row: &mut RowBuffer,
) -> Piece {
    if view.kind_code() != kind as u8 || view.obj() != obj {
        return Piece::Foreign;
    }
    let Some(r) = Data::new(*view).row(slot.into()) else { return Piece::None };
    if r.flags & flags::DELETED != 0 || (r.flags & flags::HEAD != 0) != head {
        return Piece::None;
    }
    if r.flags & flags::LAST != 0 {
        view.append_to(r.at, r.len, row);
        return Piece::Last;
    }
    let Some(len) = r.len.checked_sub(ADDRESS_BYTES) else { return Piece::None };
    view.append_to(r.at + ADDRESS_BYTES, len, row);
    Piece::Next(PieceAddress::read(view, r.at))
}

/// A stretch of a block with less than one wanted row in so many bytes is not copied as a whole.
const SPARSE_BYTES: usize = 320;

/// Copies those of these rows, all of one object and block, that are in one piece behind what is in `rows`, and notes
/// where each begins and ends there: nowhere, if it is not there. True for a block that is not one of the segment's,
/// and for a row of several pieces.
fn take_rows(
    view: &BlockView<'_>,
    rowids: &[Rowid],
    rows: &mut RowBuffer,
    found: &mut Vec<(u32, u32)>,
) -> (bool, bool) {
    if view.kind_code() != BlockKind::Heap as u8 || rowids.first().is_none_or(|r| view.obj() != r.obj) {
        return (true, false);
    }
    let directory = Data::new(*view).directory_reader();
    if let [rowid] = rowids {
        return (false, take_one(view, directory.row(rowid.slot.into()), rows, found));
    }
    let (mut least, mut most, begin, first) = (usize::MAX, 0, rows.len(), found.len());
    for rowid in rowids {
        let at = directory.place(rowid.slot.into());
        found.push((at as u32, 0));
        if at >= ITL_BEGIN {
            (least, most) = (least.min(at), most.max(at));
        }
    }
    // From a word's beginning on: so words are copied as they are. The row that lies last ends the stretch.
    let least = least & !7;
    let end = (most + ROW_HEADER_BYTES + usize::from(view.u16(most + 2))).min(view.len());
    if least >= end || end - least > rowids.len() * SPARSE_BYTES {
        found.truncate(first);
        return (false, take_singly(view, &directory, rowids, rows, found));
    }
    view.append_to(least, end - least, rows);
    let (copied, mut chained) = (&rows[begin..], false);
    for place in &mut found[first..] {
        // In the copy, whose first byte is at `least`; what lies before it is no row.
        let at = (place.0 as usize).wrapping_sub(least);
        let head = copied.get(at..).and_then(|rest| rest.first_chunk::<ROW_HEADER_BYTES>());
        let [row_flags, _lock, l0, l1, ..] = head.copied().unwrap_or_default();
        let whole = row_flags & (flags::DELETED | flags::HEAD | flags::LAST) == flags::HEAD | flags::LAST;
        chained |= row_flags & (flags::DELETED | flags::HEAD | flags::LAST) == flags::HEAD;
        let from = at.wrapping_add(ROW_HEADER_BYTES);
        let to = from.wrapping_add(u16::from_le_bytes([l0, l1]).into()).min(copied.len());
        *place = if whole { ((begin + from) as u32, (begin + to) as u32) } else { (0, 0) };
    }
    (false, chained)
}

/// Copies rows that lie far apart; true when one of them has several pieces.
fn take_singly(
    view: &BlockView<'_>,
    directory: &Directory<'_>,
    rowids: &[Rowid],
    rows: &mut RowBuffer,
    found: &mut Vec<(u32, u32)>,
) -> bool {
    rowids.iter().fold(false, |chained, rowid| chained | take_one(view, directory.row(rowid.slot.into()), rows, found))
}

/// Copies a row if it is in one piece; true when it has several.
#[inline]
fn take_one(view: &BlockView<'_>, row: Option<RowAt>, rows: &mut RowBuffer, found: &mut Vec<(u32, u32)>) -> bool {
    let Some(r) = row.filter(|r| r.flags & (flags::DELETED | flags::HEAD) == flags::HEAD) else {
        found.push((rows.len() as u32, rows.len() as u32));
        return false;
    };
    if r.flags & flags::LAST == 0 {
        found.push((rows.len() as u32, rows.len() as u32));
        return true;
    }
    // From a word's beginning on: so words are copied as they are.
    let lead = r.at % 8;
    let begin = rows.len() + lead;
    view.append_to(r.at - lead, r.len + lead, rows);
    found.push((begin as u32, rows.len() as u32));
    false
}

/// Most pieces a row may have: a row of 4 GB in blocks of 2 KB.
const PIECES_MAX: usize = 1 << 21;

impl Heap {
    /// Copies the row into `row` (cleared first). False when there is no such row as of `s`.
    ///
    /// Latches: none on entry or return. Statistics: `consistent gets`, `table fetch by rowid`, `table fetch continued
    /// row`.
    /// # Errors
    /// ORA-01410 when the rowid's block is not one of the table's, ORA-08103 when the table's segment is gone;
    /// ORA-01555.
    pub fn fetch_by_rowid(
        &self,
        p: &Process,
        s: &Snapshot,
        table: &HeapTable,
        rowid: Rowid,
        row: &mut RowBuffer,
    ) -> Result<bool> {
        if rowid.obj != table.data_object {
            return Err(Ora::new(1410));
        }
        p.count(Stat::TableFetchByRowid, 1);
        let found = self.read_row(p, s, BlockKind::Heap, rowid, row)?;
        if found == Piece::Foreign { Err(self.foreign(p, table)) } else { Ok(found == Piece::Last) }
    }

    /// What it means that a block is not one of the table's: that the rowid is none, unless the whole segment is gone
    /// and the block another's by now.
    #[cold]
    pub fn foreign(&self, p: &Process, table: &HeapTable) -> Ora {
        match self.cache().segments().is_there(p, table.header, table.data_object) {
            Ok(true) => Ora::new(1410),
            Ok(false) => Ora::new(8103),
            Err(e) => e,
        }
    }

    /// Says that these rows, each run of one block and no more than [`PREFETCH_BLOCKS`] of them, are read next: see
    /// [`buffer_cache::BufferCache::prefetch_blocks`]. Of a run the first row counts: those that follow are read in a
    /// stretch.
    pub fn prefetch_rows(&self, runs: &[&[Rowid]]) {
        let (mut blocks, mut places) = ([Rdba::NONE; PREFETCH_BLOCKS], [0; PREFETCH_BLOCKS]);
        let firsts = runs.iter().filter_map(|run| run.first());
        let mut count = 0;
        for (n, rowid) in firsts.take(PREFETCH_BLOCKS).enumerate() {
            (blocks[n], places[n], count) = (rowid.rdba, usize::from(rowid.slot) * SLOT_BYTES, n + 1);
        }
        // Where the row's directory entry lies, where it says that the row does, and how long that is.
        self.cache().prefetch_blocks(&blocks[..count], 3, |step, n, view| {
            let place = &mut places[n];
            match step {
                0 => {
                    *place += Data::new(*view).directory();
                    view.prefetch(*place);
                }
                1 => {
                    *place = view.u16(*place).into();
                    view.prefetch(*place);
                }
                _ => {
                    let end = (*place + ROW_HEADER_BYTES + usize::from(view.u16(*place + 2))).min(view.len());
                    (*place + LINE_BYTES..end + LINE_BYTES)
                        .step_by(LINE_BYTES)
                        .for_each(|at| view.prefetch(at.min(end)));
                }
            }
        });
    }

    /// Copies rows of one block with one look at it, behind what is in `rows`; `found` gets where each begins and ends
    /// there, which is the same place when there is no such row as of `s`.
    ///
    /// Latches, statistics and errors as [`Heap::fetch_by_rowid`], with one consistent get.
    pub fn fetch_in_block(
        &self,
        p: &Process,
        s: &Snapshot,
        table: &HeapTable,
        rowids: &[Rowid],
        rows: &mut RowBuffer,
        found: &mut Vec<(u32, u32)>,
    ) -> Result<()> {
        let Some(at) = rowids.first().map(|r| r.rdba) else { return Ok(()) };
        if rowids.iter().any(|r| r.obj != table.data_object || r.rdba != at) {
            return Err(Ora::new(1410));
        }
        p.count(Stat::TableFetchByRowid, rowids.len() as u64);
        let (begin, first) = (rows.len(), found.len());
        let look = self.txns.consistent_read(p, at, GetKind::Consistent, s, &mut |view: &BlockView<'_>| {
            rows.truncate(begin);
            found.truncate(first);
            take_rows(view, rowids, rows, found)
        })?;
        match look {
            (true, _) => Err(self.foreign(p, table)),
            // A row of several pieces is read by itself, as are those that are not there.
            (_, true) => {
                let mut row = RowBuffer::new();
                for (rowid, place) in rowids.iter().zip(&mut found[first..]).filter(|(_, place)| place.0 == place.1) {
                    if self.read_row(p, s, BlockKind::Heap, *rowid, &mut row)? == Piece::Last {
                        *place = (rows.len() as u32, (rows.len() + row.len()) as u32);
                        rows.extend_from_slice(&row);
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Copies the row at `rowid`, all its pieces, as of `s`. `Last` when there is one.
    pub fn read_row(
        &self,
        p: &Process,
        s: &Snapshot,
        kind: BlockKind,
        rowid: Rowid,
        row: &mut RowBuffer,
    ) -> Result<Piece> {
        let found = self.txns.consistent_read(p, rowid.rdba, GetKind::Consistent, s, &mut |view: &BlockView<'_>| {
            row.clear();
            take_piece(view, kind, rowid.obj, rowid.slot, true, row)
        })?;
        if let Piece::Next(at) = found {
            self.read_rest(p, s, rowid.obj, at, row)?;
            return Ok(Piece::Last);
        }
        Ok(found)
    }

    /// Completes a row of which the head is in `row` already and the rest begins at `next`.
    ///
    /// # Errors
    /// ORA-08103 when a piece lay in a block that is another segment's by now; ORA-01555.
    pub fn read_rest(
        &self,
        p: &Process,
        s: &Snapshot,
        obj: ObjectId,
        mut next: PieceAddress,
        row: &mut RowBuffer,
    ) -> Result<()> {
        for _ in 0..PIECES_MAX {
            p.count(Stat::TableFetchContinuedRow, 1);
            let start = row.len();
            let found =
                self.txns.consistent_read(p, next.rdba, GetKind::Consistent, s, &mut |view: &BlockView<'_>| {
                    row.truncate(start);
                    take_piece(view, BlockKind::Heap, obj, next.slot, false, row)
                })?;
            match found {
                Piece::Last => return Ok(()),
                Piece::Next(at) => next = at,
                // The segment was dropped behind the query, and the block is another's.
                Piece::Foreign => return Err(Ora::new(8103)),
                Piece::None => break,
            }
        }
        Err(Ora::internal(format_args!("a row of object {obj} has no piece at {}.{}", next.rdba, next.slot)))
    }
}
