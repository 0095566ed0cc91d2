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

/// Address of a piece of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PieceAddress {
    pub rdba: Rdba,
    pub slot: u16,
}

/// Bytes of the next piece's address at the start of a body.
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

/// A buffer for the bytes of rows, reused between calls.
pub type RowBuffer = Vec<u8>;

/// The result of reading one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// The last piece of the row, or the only one.
    Last,
    Next(PieceAddress),
    None,
    /// The block does not belong to the segment.
    Foreign,
}

/// Appends the bytes of the piece at `slot` to `row`. Checks every offset and length: the view may be torn.
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

/// A stretch of a block is copied as a whole only if it holds at least one wanted row per this many bytes.
const SPARSE_BYTES: usize = 320;

/// Copies the rows of one object and block that lie in one piece, appends them to `rows` and notes in `found` where
/// each begins and ends there (an empty range for a row that is not there). The first result is true when the block
/// does not belong to the segment, the second when one of the rows has several pieces.
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
    // Rounded down to a word, so that the copy moves whole aligned words. The last row ends the stretch.
    let least = least & !7;
    let end = (most + ROW_HEADER_BYTES + usize::from(view.u16(most + 2))).min(view.len());
    if least >= end || end - least > rowids.len() * SPARSE_BYTES {
        found.truncate(first);
        return (false, take_singly(view, &directory, rowids, rows, found));
    }
    view.append_to(least, end - least, rows);
    let (copied, mut chained) = (&rows[begin..], false);
    for place in &mut found[first..] {
        // Offset in the copy, whose first byte is at `least`. A place below `least` wraps around and finds no row.
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

/// Copies rows that lie far apart, one by one; true when one of them has several pieces.
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
    // Rounded down to a word, so that the copy moves whole aligned words.
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

    /// The error for a rowid whose block does not belong to the table: ORA-01410, or ORA-08103 when the whole segment
    /// is gone and its blocks may belong to another.
    #[cold]
    pub fn foreign(&self, p: &Process, table: &HeapTable) -> Ora {
        match self.space().is_there(p, table.header, table.data_object) {
            Ok(true) => Ora::new(1410),
            Ok(false) => Ora::new(8103),
            Err(e) => e,
        }
    }

    /// Announces the rows to be read next, in runs of one block each, at most [`PREFETCH_BLOCKS`] runs: see
    /// [`buffer_cache::BufferCache::prefetch_blocks`]. Only the first row of each run is prefetched; the rows behind it
    /// are read sequentially.
    pub fn prefetch_rows(&self, runs: &[&[Rowid]]) {
        let (mut blocks, mut places) = ([Rdba::NONE; PREFETCH_BLOCKS], [0; PREFETCH_BLOCKS]);
        let firsts = runs.iter().filter_map(|run| run.first());
        let mut count = 0;
        for (n, rowid) in firsts.take(PREFETCH_BLOCKS).enumerate() {
            (blocks[n], places[n], count) = (rowid.rdba, usize::from(rowid.slot) * SLOT_BYTES, n + 1);
        }
        // The three steps: the row's directory entry, the row's first bytes, then the rest of its length.
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

    /// Copies rows of one block with one get, appending to `rows`. `found` receives the begin and end of each row
    /// there; the two are equal for a row that does not exist as of `s`.
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
            // Rows of several pieces are read singly, and so are rows that were not found.
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

    /// Completes a row whose head is in `row` already; `next` is the address of its second piece.
    ///
    /// # Errors
    /// ORA-08103 when a piece lay in a block that now belongs to another segment; ORA-01555.
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
                // The segment was dropped while the query ran, and the block was given to another.
                Piece::Foreign => return Err(Ora::new(8103)),
                Piece::None => break,
            }
        }
        Err(Ora::internal(format_args!("a row of object {obj} has no piece at {}.{}", next.rdba, next.slot)))
    }
}
