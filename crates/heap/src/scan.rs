//! Full scans: each block is copied once, as of the snapshot, and its rows are then decoded in private memory (H8).
//!
//! A query holds no lock, so its segment may be dropped while it is being scanned (H12). Until its extents are reused,
//! they are as they were when the segment was dropped, and right for any earlier snapshot. Each header, map and block
//! names its data object, and a segment that reuses the extents has another data object number: on a mismatch the scan
//! ends with ORA-08103.

use crate::fetch::{ADDRESS_BYTES, PieceAddress};
use crate::ops::flags;
use crate::{Heap, HeapTable};
use block::data::{ROW_HEADER_BYTES, SLOT_BYTES};
use block::{BlockKind, BlockView, Data, Extent, Image, LINE_BYTES};
use buffer_cache::{Ahead, GetKind};
use process::{Process, SegmentStat};
use std::ops::Range;
use std::rc::Rc;
use txn::Snapshot;
use types::{ObjectId, Ora, Rdba, Result, Rowid, Scn};
use wait::Stat;

/// Byte offsets in the data layer's header that say which bytes of a block are used.
const DIRECTORY_BEGIN: usize = block::data::ITL_BEGIN;

/// Distributes the blocks of a segment, as ranges of their places in it, among several scans that each read other
/// blocks (H13).
pub trait Granules {
    /// The next range; `None` when all are given out.
    ///
    /// # Errors
    /// Any error ends the scan.
    fn next_granule(&self) -> Result<Option<Range<u64>>>;
}

/// The granules of a scan that shares its segment with others.
struct Shared {
    granules: Rc<dyn Granules>,
    /// The granule being read.
    now: Range<u64>,
    /// The place of the first block of each extent, and the place behind the last block.
    places: Vec<u64>,
}

/// A full scan. Holds nothing in the SGA between calls; its buffers are kept when it is started again.
pub struct Scan {
    snapshot: Snapshot,
    kind: BlockKind,
    object: ObjectId,
    extents: Vec<Extent>,
    next_extent: usize,
    blocks: Vec<Rdba>,
    next_block: usize,
    image: Image,
    /// Address of the block in `image`, and its next directory entry.
    at: Rdba,
    slot: usize,
    slots: usize,
    /// The offset of the row directory in the image.
    directory: usize,
    /// The buffer in which a row of several pieces is put together.
    row: Vec<u8>,
    /// The share of blocks that a sample scan reads, as a fraction of 2^32.
    share: Option<u64>,
    /// The buffer of the next block, and how many of its bytes have been prefetched.
    ahead: Option<Ahead>,
    prefetched: usize,
    shared: Option<Box<Shared>>,
}

impl Default for Scan {
    fn default() -> Scan {
        Scan {
            snapshot: Snapshot { scn: Scn::ZERO, xid: None, own: None, serializable: false },
            kind: BlockKind::Heap,
            object: ObjectId(0),
            extents: Vec::new(),
            next_extent: 0,
            blocks: Vec::new(),
            next_block: 0,
            image: Image::new(0),
            at: Rdba::NONE,
            slot: 0,
            slots: 0,
            directory: 0,
            row: Vec::new(),
            share: None,
            ahead: None,
            prefetched: 0,
            shared: None,
        }
    }
}

/// Position of a row's bytes in the image; for a row of several pieces also the address of the next piece.
struct Seen {
    at: usize,
    len: usize,
    next: Option<PieceAddress>,
}

/// The arena that rows of a block are appended to, instead of the image.
struct Arena<'a> {
    bytes: &'a mut Vec<u8>,
    /// Offset in the block of the first byte copied, and its position in the arena.
    rows_begin: usize,
    begin: usize,
}

impl Scan {
    /// A scan that was not started yet: it has no rows.
    pub fn new() -> Scan {
        Scan::default()
    }

    /// Starts (again) from the first block.
    ///
    /// # Errors
    /// ORA-08103 when the segment is gone or was truncated.
    pub fn start(&mut self, heap: &Heap, p: &Process, s: &Snapshot, table: &HeapTable) -> Result<()> {
        self.start_kind(heap, p, s, table, BlockKind::Heap)
    }

    /// Restricts the scan to a share of the blocks, between 0 and 1; the same blocks each time.
    pub fn sample_blocks(&mut self, share: f64) {
        self.share = Some((share.clamp(0.0, 1.0) * 2f64.powi(32)) as u64);
    }

    /// Restricts the scan to the blocks of its granules, from the next start on.
    pub fn share_blocks(&mut self, granules: Rc<dyn Granules>) {
        self.shared = Some(Box::new(Shared { granules, now: 0..0, places: Vec::new() }));
    }

    /// Starts a scan over the blocks of one kind in a segment.
    pub fn start_kind(
        &mut self,
        heap: &Heap,
        p: &Process,
        s: &Snapshot,
        table: &HeapTable,
        kind: BlockKind,
    ) -> Result<()> {
        self.snapshot = *s;
        (self.kind, self.object) = (kind, table.data_object);
        self.extents = heap.space().extents_of(p, table.header, table.data_object)?;
        heap.cache().segment_statistics().note(p, table.data_object, SegmentStat::SegmentScans, 1);
        (self.next_extent, self.next_block, self.slot, self.slots) = (0, 0, 0, 0);
        self.blocks.clear();
        self.ahead = None;
        if let Some(shared) = &mut self.shared {
            shared.now = 0..0;
            shared.places.clear();
            let mut place = 0;
            shared.places.push(place);
            shared.places.extend(self.extents.iter().map(|extent| {
                place += u64::from(extent.blocks);
                place
            }));
            // The first granule sets the position.
            self.next_extent = self.extents.len();
        }
        Ok(())
    }

    /// The next row: its rowid and its bytes (`types::row`), valid until the next call.
    ///
    /// Statistics: `table scan rows gotten`, `table scan blocks gotten`, `consistent gets`.
    /// # Errors
    /// ORA-01555, and those of reading.
    pub fn next(&mut self, heap: &Heap, p: &Process) -> Result<Option<(Rowid, &[u8])>> {
        loop {
            while self.slot < self.slots {
                let slot = self.slot;
                self.slot += 1;
                let Some(seen) = self.look(slot) else { continue };
                let rowid = Rowid { obj: self.object, rdba: self.at, slot: slot as u16 };
                p.count(Stat::TableScanRowsGotten, 1);
                let bytes = &self.image.bytes()[seen.at..seen.at + seen.len];
                let Some(next) = seen.next else { return Ok(Some((rowid, bytes))) };
                self.row.clear();
                self.row.extend_from_slice(bytes);
                heap.read_rest(p, &self.snapshot, self.object, next, &mut self.row)?;
                return Ok(Some((rowid, &self.row)));
            }
            if !self.next_block(heap, p, None)? {
                return Ok(None);
            }
        }
    }

    /// Calls `f` with the bytes of each remaining row of the block, or of the next block when none remains; false at
    /// the end. Statistics and errors as [`Scan::next`]; an error of `f` ends the scan.
    pub fn each_in_block(&mut self, heap: &Heap, p: &Process, f: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        if self.slot >= self.slots && !self.next_block(heap, p, None)? {
            return Ok(false);
        }
        let mut rows = 0;
        for slot in std::mem::replace(&mut self.slot, self.slots)..self.slots {
            let Some(seen) = self.look(slot) else { continue };
            rows += 1;
            let bytes = &self.image.bytes()[seen.at..seen.at + seen.len];
            let Some(next) = seen.next else {
                f(bytes)?;
                continue;
            };
            self.row.clear();
            self.row.extend_from_slice(bytes);
            heap.read_rest(p, &self.snapshot, self.object, next, &mut self.row)?;
            f(&self.row)?;
        }
        p.count(Stat::TableScanRowsGotten, rows);
        Ok(true)
    }

    /// Appends the rows of the next block to `arena` and calls `f` with the position, length and directory entry of
    /// each; false at the end. [`Scan::block`] is the block. The row area of the block is copied once, as it is, so row
    /// headers and deleted rows lie between the rows. A scan uses either this function or [`Scan::next`]: rows of a
    /// block that `next` has not returned yet are skipped.
    ///
    /// Statistics and errors as [`Scan::next`]; an error of `f` ends the scan.
    pub fn append_block(
        &mut self,
        heap: &Heap,
        p: &Process,
        arena: &mut Vec<u8>,
        f: &mut impl FnMut(&[u8], usize, usize, u16) -> Result<()>,
    ) -> Result<bool> {
        let mut to = Arena { bytes: arena, rows_begin: 0, begin: 0 };
        if !self.next_block(heap, p, Some(&mut to))? {
            return Ok(false);
        }
        let Arena { bytes: arena, rows_begin, begin } = to;
        let (mut rows, end) = (0, arena.len());
        for slot in std::mem::replace(&mut self.slot, self.slots)..self.slots {
            self.prefetch(heap, 1);
            let Some(at) = self.entry(slot).and_then(|at| at.checked_sub(rows_begin)) else { continue };
            let Some(seen) = piece_at(&arena[begin..end], at) else { continue };
            rows += 1;
            let at = begin + seen.at;
            let Some(next) = seen.next else {
                f(arena, at, seen.len, slot as u16)?;
                continue;
            };
            self.row.clear();
            self.row.extend_from_slice(&arena[at..at + seen.len]);
            heap.read_rest(p, &self.snapshot, self.object, next, &mut self.row)?;
            let at = arena.len();
            arena.extend_from_slice(&self.row);
            f(arena, at, self.row.len(), slot as u16)?;
        }
        p.count(Stat::TableScanRowsGotten, rows);
        Ok(true)
    }

    /// The block of the rows returned last, and the data object that it belongs to.
    pub fn block(&self) -> (ObjectId, Rdba) {
        (self.object, self.at)
    }

    /// Prefetches `lines` more cache lines of the next block. Called repeatedly while the rows of the current block are
    /// decoded: the processor has few line fill buffers and stalls on a longer burst.
    #[inline]
    pub fn prefetch(&mut self, heap: &Heap, lines: usize) {
        if let Some(ahead) = self.ahead {
            heap.cache().prefetch_lines(ahead, self.prefetched, lines);
            self.prefetched += lines * LINE_BYTES;
        }
    }

    /// The offset of a row, by its directory entry.
    #[inline]
    fn entry(&self, slot: usize) -> Option<usize> {
        let entry = self.image.bytes().get(self.directory + slot * SLOT_BYTES..)?.first_chunk()?;
        Some(usize::from(u16::from_le_bytes(*entry))).filter(|at| *at >= DIRECTORY_BEGIN)
    }

    #[inline]
    fn look(&self, slot: usize) -> Option<Seen> {
        piece_at(self.image.bytes(), self.entry(slot)?)
    }

    /// Copies the next block of the segment that has rows: either all of it into the image, or its directory into the
    /// image and its rows into the arena. False at the end.
    fn next_block(&mut self, heap: &Heap, p: &Process, mut arena: Option<&mut Arena<'_>>) -> Result<bool> {
        loop {
            while self.next_block < self.blocks.len() {
                let at = self.blocks[self.next_block];
                if self.ahead.is_none() && !heap.cache().is_cached(at) {
                    heap.cache().read_ahead(p, &self.blocks[self.next_block..])?;
                }
                self.next_block += 1;
                self.ahead = self.blocks.get(self.next_block).and_then(|next| heap.cache().find_ahead(*next));
                self.prefetched = 0;
                if self.copy_block(heap, p, at, arena.as_deref_mut())? {
                    return Ok(true);
                }
            }
            if !self.find_granule()? {
                return Ok(false);
            }
            let Some(extent) = self.extents.get(self.next_extent) else { return Ok(false) };
            self.blocks.clear();
            (self.next_block, self.ahead) = (0, None);
            let n = self.next_extent as u32;
            self.next_extent += 1;
            heap.space().formatted_blocks(p, self.object, *extent, n, &mut self.blocks)?;
            if let Some(share) = self.share {
                // Multiplicative hashing (2^64 over the golden ratio) spreads consecutive addresses evenly.
                self.blocks.retain(|at| u64::from(at.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 < share);
            }
            if let Some(shared) = &self.shared {
                let first = shared.places[n as usize];
                let place = |at: &Rdba| first + u64::from(at.0 - extent.start.0);
                self.blocks.retain(|at| shared.now.contains(&place(at)));
            }
        }
    }

    /// For a scan with granules: moves to the next extent of the granule, or to the next granule. False at the end.
    fn find_granule(&mut self) -> Result<bool> {
        let Some(shared) = &mut self.shared else { return Ok(true) };
        let all = shared.places.last().copied().unwrap_or(0);
        loop {
            let place = shared.places.get(self.next_extent).copied().unwrap_or(all);
            if self.next_extent < self.extents.len() && place < shared.now.end {
                return Ok(true);
            }
            let Some(now) = shared.granules.next_granule()? else { return Ok(false) };
            shared.now = now;
            // The last extent that begins at or before the granule. Blocks added to the segment since are too new for
            // the snapshot.
            self.next_extent = match shared.now.start < all {
                true => shared.places.partition_point(|place| *place <= shared.now.start) - 1,
                false => self.extents.len(),
            };
        }
    }

    /// Copies the used bytes of a block as of the snapshot. False for a block of another kind; ORA-08103 for one of
    /// another data object (H12).
    fn copy_block(&mut self, heap: &Heap, p: &Process, at: Rdba, mut arena: Option<&mut Arena<'_>>) -> Result<bool> {
        let (image, kind, object) = (&mut self.image, self.kind, self.object);
        if let Some(arena) = &mut arena {
            // Alignment to eight bytes keeps whole words of the block at whole words of the arena.
            arena.begin = arena.bytes.len().next_multiple_of(8);
        }
        let read = heap.transactions().consistent_read(p, at, GetKind::Consistent, &self.snapshot, &mut |v| {
            if v.obj() != object {
                return Err(());
            }
            if v.kind() != Some(kind) {
                return Ok(None);
            }
            Ok(Some(match arena.as_deref_mut() {
                Some(arena) => copy_rows(v, image, arena),
                None => copy_used(v, image),
            }))
        })?;
        match read {
            Ok(None) => Ok(false),
            Ok(Some(slots)) => {
                (self.at, self.slot, self.slots) = (at, 0, slots);
                self.directory = DIRECTORY_BEGIN + Data::new(self.image.view()).itls() * block::data::ITL_BYTES;
                p.count(Stat::TableScanBlocksGotten, 1);
                Ok(slots > 0)
            }
            Err(()) => Err(Ora::new(8103)),
        }
    }
}

/// Copies header, directory and rows but not the gap between them; returns the number of directory entries.
fn copy_used(v: &BlockView<'_>, image: &mut Image) -> usize {
    let (slots, rows_begin) = copy_directory(v, image);
    v.copy_into(rows_begin, &mut image.bytes_mut()[rows_begin..]);
    slots
}

/// Copies header and directory into the image and the rows into the arena; returns the number of directory entries. May
/// run again after a torn read.
fn copy_rows(v: &BlockView<'_>, image: &mut Image, arena: &mut Arena<'_>) -> usize {
    let (slots, rows_begin) = copy_directory(v, image);
    arena.rows_begin = rows_begin;
    arena.bytes.resize(arena.begin, 0);
    v.append_to(rows_begin, v.len() - rows_begin, arena.bytes);
    slots
}

/// Copies header and directory; returns the number of entries and the offset of the rows, rounded down to a word.
fn copy_directory(v: &BlockView<'_>, image: &mut Image) -> (usize, usize) {
    if image.bytes().len() != v.len() {
        *image = Image::new(v.len());
    }
    let d = Data::new(*v);
    let slots = d.slots();
    let directory_end = DIRECTORY_BEGIN + d.itls() * block::data::ITL_BYTES + slots * block::data::SLOT_BYTES;
    let directory_end = directory_end.min(v.len());
    v.copy_into(0, &mut image.bytes_mut()[..directory_end]);
    (slots, d.rows_begin().clamp(directory_end, v.len()) & !7)
}

/// The head piece at offset `at` of a block's bytes, unless it is deleted.
#[inline]
fn piece_at(bytes: &[u8], at: usize) -> Option<Seen> {
    let [row_flags, _lock, l0, l1, ..] = *bytes.get(at..)?.first_chunk::<ROW_HEADER_BYTES>()?;
    if row_flags & (flags::HEAD | flags::DELETED) != flags::HEAD {
        return None;
    }
    let at = at + ROW_HEADER_BYTES;
    let len = usize::from(u16::from_le_bytes([l0, l1])).min(bytes.len() - at);
    if row_flags & flags::LAST != 0 {
        return Some(Seen { at, len, next: None });
    }
    let next = PieceAddress::of_bytes(bytes[at..at + len].first_chunk()?);
    Some(Seen { at: at + ADDRESS_BYTES, len: len - ADDRESS_BYTES, next: Some(next) })
}
