//! Full scans: each block is copied once, as of the snapshot, and then taken apart row by row in private memory.
//!
//! A query holds no lock, so its segment may be dropped while it is being scanned. As long as nobody has taken the
//! extents, they are what they were when the segment went, and right for any snapshot before. Each header, map and
//! block that a scan reads says to which data object it belongs, and a segment that takes the place of another has a
//! data object of its own: when one of them says another, the scan ends with ORA-08103.

use crate::fetch::{ADDRESS_BYTES, PieceAddress};
use crate::ops::flags;
use crate::{Heap, HeapTable};
use block::data::{ROW_HEADER_BYTES, SLOT_BYTES};
use block::{BlockKind, BlockView, Data, Extent, Image};
use buffer_cache::{GetKind, SegmentStat};
use process::Process;
use txn::Snapshot;
use types::{ObjectId, Ora, Rdba, Result, Rowid, Scn};
use wait::Stat;

/// Byte offsets in the data layer's header that say which bytes of a block are used.
const DIRECTORY_BEGIN: usize = block::data::ITL_BEGIN;

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
    /// Address of the block in `image`, and the next directory entry of it.
    at: Rdba,
    slot: usize,
    slots: usize,
    /// Where the row directory begins in the image.
    directory: usize,
    /// A row of several pieces, put together.
    row: Vec<u8>,
    /// Of 2^32: the share of blocks that a scan of a sample reads.
    share: Option<u64>,
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
        }
    }
}

/// What a row in the image is.
enum Seen {
    Whole(usize, usize),
    Chained(PieceAddress, usize, usize),
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

    /// Reads a share of the blocks only, between 0 and 1: always the same ones.
    pub fn sample_blocks(&mut self, share: f64) {
        self.share = Some((share.clamp(0.0, 1.0) * 2f64.powi(32)) as u64);
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
        self.extents = heap.cache().segments().extents_of(p, table.header, table.data_object)?;
        heap.cache().note_segment(p, table.data_object, SegmentStat::SegmentScans, 1);
        (self.next_extent, self.next_block, self.slot, self.slots) = (0, 0, 0, 0);
        self.blocks.clear();
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
                return match seen {
                    Seen::Whole(at, len) => Ok(Some((rowid, &self.image.bytes()[at..at + len]))),
                    Seen::Chained(next, at, len) => {
                        self.row.clear();
                        self.row.extend_from_slice(&self.image.bytes()[at..at + len]);
                        heap.read_rest(p, &self.snapshot, self.object, next, &mut self.row)?;
                        Ok(Some((rowid, &self.row)))
                    }
                };
            }
            if !self.next_block(heap, p)? {
                return Ok(None);
            }
        }
    }

    /// Calls `f` with the bytes of all rows that are left in the block, and of those of the next block when there are
    /// none; false at the end. Statistics and errors as [`Scan::next`], and those of `f`, which end it.
    pub fn each_in_block(&mut self, heap: &Heap, p: &Process, f: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        if self.slot >= self.slots && !self.next_block(heap, p)? {
            return Ok(false);
        }
        let mut rows = 0;
        for slot in std::mem::replace(&mut self.slot, self.slots)..self.slots {
            let Some(seen) = self.look(slot) else { continue };
            rows += 1;
            match seen {
                Seen::Whole(at, len) => f(&self.image.bytes()[at..at + len])?,
                Seen::Chained(next, at, len) => {
                    self.row.clear();
                    self.row.extend_from_slice(&self.image.bytes()[at..at + len]);
                    heap.read_rest(p, &self.snapshot, self.object, next, &mut self.row)?;
                    f(&self.row)?;
                }
            }
        }
        p.count(Stat::TableScanRowsGotten, rows);
        Ok(true)
    }

    #[inline]
    fn look(&self, slot: usize) -> Option<Seen> {
        let bytes = self.image.bytes();
        let entry = bytes.get(self.directory + slot * SLOT_BYTES..)?.first_chunk()?;
        let at = usize::from(u16::from_le_bytes(*entry));
        if at < DIRECTORY_BEGIN {
            return None;
        }
        let [row_flags, _lock, l0, l1, ..] = *bytes.get(at..)?.first_chunk::<ROW_HEADER_BYTES>()?;
        if row_flags & (flags::HEAD | flags::DELETED) != flags::HEAD {
            return None;
        }
        let at = at + ROW_HEADER_BYTES;
        let len = usize::from(u16::from_le_bytes([l0, l1])).min(bytes.len() - at);
        if row_flags & flags::LAST != 0 {
            return Some(Seen::Whole(at, len));
        }
        let rest = len.checked_sub(ADDRESS_BYTES)?;
        Some(Seen::Chained(PieceAddress::read(&self.image.view(), at), at + ADDRESS_BYTES, rest))
    }

    /// Copies the next block of the segment that has rows. False at the end.
    fn next_block(&mut self, heap: &Heap, p: &Process) -> Result<bool> {
        loop {
            while self.next_block < self.blocks.len() {
                let at = self.blocks[self.next_block];
                if !heap.cache().is_cached(at) {
                    heap.cache().read_ahead(p, &self.blocks[self.next_block..])?;
                }
                self.next_block += 1;
                if self.copy_block(heap, p, at)? {
                    return Ok(true);
                }
            }
            let Some(extent) = self.extents.get(self.next_extent) else { return Ok(false) };
            self.blocks.clear();
            self.next_block = 0;
            let n = self.next_extent as u32;
            self.next_extent += 1;
            heap.cache().segments().formatted_blocks(p, self.object, *extent, n, &mut self.blocks)?;
            if let Some(share) = self.share {
                // Multiplied by 2^64 over the golden ratio, addresses in a row are spread evenly.
                self.blocks.retain(|at| u64::from(at.0).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 < share);
            }
        }
    }

    /// Copies the used bytes of a block as of the snapshot. False when it is of another kind, ORA-08103 of another
    /// object.
    fn copy_block(&mut self, heap: &Heap, p: &Process, at: Rdba) -> Result<bool> {
        let (image, kind, object) = (&mut self.image, self.kind, self.object);
        let read = heap.transactions().consistent_read(p, at, GetKind::Consistent, &self.snapshot, &mut |v| {
            if v.obj() != object {
                return Err(());
            }
            if v.kind() != Some(kind) {
                return Ok(None);
            }
            Ok(Some(copy_used(v, image)))
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

/// Copies header, directory and rows, not the gap between; returns the number of directory entries.
fn copy_used(v: &BlockView<'_>, image: &mut Image) -> usize {
    if image.bytes().len() != v.len() {
        *image = Image::new(v.len());
    }
    let d = Data::new(*v);
    let slots = d.slots();
    let directory_end = DIRECTORY_BEGIN + d.itls() * block::data::ITL_BYTES + slots * block::data::SLOT_BYTES;
    let rows_begin = d.rows_begin().clamp(directory_end.min(v.len()), v.len()) & !7;
    let bytes = image.bytes_mut();
    v.copy_into(0, &mut bytes[..directory_end.min(v.len())]);
    v.copy_into(rows_begin, &mut bytes[rows_begin..]);
    slots
}
