//! Segment headers, space maps and file bitmaps: who owns which block.
//!
//! ```text
//! segment header                          space map (first block of an extent)     file bitmap
//! 32 | tablespace u32  segment kind u8    32 | segment header u32                  32 | first unit u32
//! 40 | extents u32  blocks u32            36 | extent number u32                   36 | units u32
//! 48 | first extent with room u32  -      40 | blocks u32                          40 | file size in blocks u32
//! 56 | aux32 aux32 aux64                  44 | blocks with room u32                44 | units in use u32
//! 72 | extents: rdba u32, blocks u32      64 | one state byte a block              64 | one bit a unit
//! ```
//!
//! The file is given out in units of [`UNIT_BLOCKS`] blocks; an extent is a run of units. The first block of every extent is its
//! space map, except that the very first extent of a segment has the segment header first and the space map second.

use crate::data::Refused;
use crate::header::{self, BlockKind, get32, put32, put64};
use crate::view::BlockView;
use types::{ObjectId, Rdba};

/// Blocks in an allocation unit.
pub const UNIT_BLOCKS: u32 = 8;
const EXTENTS_BEGIN: usize = 72;
const STATES_BEGIN: usize = 64;
const BITS_BEGIN: usize = 64;

/// What a segment is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SegmentKind {
    /// A heap table.
    Table = 1,
    /// A cluster.
    Cluster = 2,
    /// An index.
    Index = 3,
    /// Undo.
    Undo = 4,
    /// Temporary data.
    Temporary = 5,
    /// A large object.
    Lob = 6,
}

impl SegmentKind {
    /// The kind with this number on disk.
    pub fn from_code(code: u8) -> Option<SegmentKind> {
        use SegmentKind::*;
        [Table, Cluster, Index, Undo, Temporary, Lob].into_iter().find(|k| *k as u8 == code)
    }
}

/// A run of neighbouring blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// First block.
    pub start: Rdba,
    /// Number of blocks.
    pub blocks: u32,
}

/// State of one block in a space map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockState {
    /// Free: never used or given back. Scans skip it.
    Free = 0,
    /// Formatted, with room for more rows.
    Room = 1,
    /// Formatted, without room.
    Full = 2,
    /// Formatted and given to one owner for good: index, cluster and undo blocks, header and map.
    Used = 3,
}

impl BlockState {
    /// The state with this number on disk; garbage reads as `Full`, which nobody touches.
    pub fn from_code(code: u8) -> BlockState {
        match code {
            0 => BlockState::Free,
            1 => BlockState::Room,
            3 => BlockState::Used,
            _ => BlockState::Full,
        }
    }
    fn has_room(self) -> bool {
        matches!(self, BlockState::Free | BlockState::Room)
    }
}

/// Reads a segment header.
#[derive(Clone, Copy)]
pub struct SegmentView<'a> {
    /// The words below.
    pub view: BlockView<'a>,
}

impl<'a> SegmentView<'a> {
    /// Reads `view` as a segment header.
    pub fn new(view: BlockView<'a>) -> Self {
        SegmentView { view }
    }
    /// Number of the tablespace.
    pub fn tablespace(&self) -> u32 {
        self.view.u32(32)
    }
    /// What the segment is for.
    pub fn segment_kind(&self) -> Option<SegmentKind> {
        SegmentKind::from_code(self.view.u8(36))
    }
    /// Number of extents, clamped to the block.
    pub fn extents(&self) -> u32 {
        self.view.u32(40).min(extents_max(self.view.len()))
    }
    /// Blocks in all extents together.
    pub fn blocks(&self) -> u32 {
        self.view.u32(44)
    }
    /// No extent before this one has a block with room.
    pub fn first_with_room(&self) -> u32 {
        self.view.u32(48)
    }
    /// Eight bytes for the access layer (the root of an index, the geometry of a cluster).
    pub fn aux64(&self) -> u64 {
        self.view.u64(64)
    }
    /// Four bytes for the access layer, twice.
    pub fn aux32(&self) -> (u32, u32) {
        (self.view.u32(56), self.view.u32(60))
    }
    /// Extent number `n`.
    pub fn extent(&self, n: u32) -> Option<Extent> {
        if n >= self.extents() {
            return None;
        }
        let at = EXTENTS_BEGIN + n as usize * 8;
        Some(Extent { start: Rdba(self.view.u32(at)), blocks: self.view.u32(at + 4) })
    }
}

/// Most extents a segment can have with this block size.
pub fn extents_max(block_size: usize) -> u32 {
    ((block_size - EXTENTS_BEGIN) / 8) as u32
}

/// Makes `block` the header of a segment without extents.
pub fn format_segment(block: &mut [u8], at: Rdba, obj: ObjectId, map: Rdba, tablespace: u32, kind: SegmentKind) {
    header::format(block, BlockKind::SegmentHeader, at, obj, map);
    put32(block, 32, tablespace);
    block[36] = kind as u8;
}

/// Adds an extent to the end of the extent map.
///
/// # Errors
/// [`Refused::Full`] when the map is full.
pub fn add_extent(block: &mut [u8], extent: Extent) -> Result<(), Refused> {
    let (n, blocks) = (get32(block, 40), get32(block, 44));
    if n >= extents_max(block.len()) {
        return Err(Refused::Full);
    }
    let at = EXTENTS_BEGIN + n as usize * 8;
    put32(block, at, extent.start.0);
    put32(block, at + 4, extent.blocks);
    put32(block, 40, n + 1);
    put32(block, 44, blocks + extent.blocks);
    Ok(())
}

/// Drops the last extent from the extent map.
///
/// # Errors
/// [`Refused::NoSuch`] when there is none.
pub fn drop_extent(block: &mut [u8]) -> Result<(), Refused> {
    let n = get32(block, 40);
    let last = SegmentView::new(BlockView::of_bytes(block)).extent(n.wrapping_sub(1)).ok_or(Refused::NoSuch)?;
    put32(block, 40, n - 1);
    let blocks = get32(block, 44).saturating_sub(last.blocks);
    put32(block, 44, blocks);
    if get32(block, 48) >= n {
        put32(block, 48, n.saturating_sub(2));
    }
    Ok(())
}

/// Notes the first extent that may have a block with room.
pub fn set_first_with_room(block: &mut [u8], extent: u32) {
    put32(block, 48, extent);
}

/// Sets the fields of the access layer.
pub fn set_segment_aux(block: &mut [u8], a: u32, b: u32, c: u64) {
    put32(block, 56, a);
    put32(block, 60, b);
    put64(block, 64, c);
}

/// Sets the data object number in the header of any block (TRUNCATE gives the segment a new one).
pub fn set_obj(block: &mut [u8], obj: ObjectId) {
    put32(block, header::AT_OBJ, obj.0);
}

/// Reads a space map.
#[derive(Clone, Copy)]
pub struct MapView<'a> {
    /// The words below.
    pub view: BlockView<'a>,
}

impl<'a> MapView<'a> {
    /// Reads `view` as a space map.
    pub fn new(view: BlockView<'a>) -> Self {
        MapView { view }
    }
    /// The segment's header block.
    pub fn segment(&self) -> Rdba {
        Rdba(self.view.u32(32))
    }
    /// Which extent of the segment this is.
    pub fn extent(&self) -> u32 {
        self.view.u32(36)
    }
    /// Blocks in the extent, clamped to the map.
    pub fn blocks(&self) -> u32 {
        self.view.u32(40).min((self.view.len() - STATES_BEGIN) as u32)
    }
    /// Blocks that are free or have room.
    pub fn with_room(&self) -> u32 {
        self.view.u32(44)
    }
    /// State of the block with index `i` in the extent.
    pub fn state(&self, i: u32) -> BlockState {
        if i >= self.blocks() {
            return BlockState::Full;
        }
        BlockState::from_code(self.view.u8(STATES_BEGIN + i as usize))
    }
    /// The first block from index `from` on, wrapping around, whose state satisfies `wanted`.
    pub fn find(&self, from: u32, wanted: impl Fn(BlockState) -> bool) -> Option<u32> {
        let n = self.blocks();
        (0..n).map(|i| (from % n.max(1) + i) % n).find(|i| wanted(self.state(*i)))
    }
}

/// Most blocks an extent can have with this block size.
pub fn extent_blocks_max(block_size: usize) -> u32 {
    (block_size - STATES_BEGIN) as u32
}

/// Makes `block` the space map of an extent of `blocks` blocks, all free but the first `used`.
pub fn format_map(block: &mut [u8], at: Rdba, obj: ObjectId, segment: Rdba, extent: u32, blocks: u32, used: u32) {
    assert!(blocks <= extent_blocks_max(block.len()) && used <= blocks, "extent too large for its map");
    header::format(block, BlockKind::SpaceMap, at, obj, at);
    put32(block, 32, segment.0);
    put32(block, 36, extent);
    put32(block, 40, blocks);
    put32(block, 44, blocks - used);
    block[STATES_BEGIN..STATES_BEGIN + used as usize].fill(BlockState::Used as u8);
}

/// Changes the state of the block with index `i`.
///
/// # Errors
/// [`Refused::NoSuch`] when the extent has no such block.
pub fn set_state(block: &mut [u8], i: u32, state: BlockState) -> Result<(), Refused> {
    if i >= MapView::new(BlockView::of_bytes(block)).blocks() {
        return Err(Refused::NoSuch);
    }
    let at = STATES_BEGIN + i as usize;
    let (before, room) = (BlockState::from_code(block[at]).has_room(), get32(block, 44));
    block[at] = state as u8;
    put32(block, 44, room + u32::from(state.has_room()) - u32::from(before));
    Ok(())
}

/// Reads a file's allocation bitmap.
#[derive(Clone, Copy)]
pub struct BitmapView<'a> {
    /// The words below.
    pub view: BlockView<'a>,
}

impl<'a> BitmapView<'a> {
    /// Reads `view` as a file bitmap.
    pub fn new(view: BlockView<'a>) -> Self {
        BitmapView { view }
    }
    /// Number of the first unit this block speaks of.
    pub fn first_unit(&self) -> u32 {
        self.view.u32(32)
    }
    /// Units this block speaks of, clamped to the block.
    pub fn units(&self) -> u32 {
        self.view.u32(36).min(units_max(self.view.len()))
    }
    /// Size of the file in blocks, kept in the first bitmap of the file.
    pub fn file_blocks(&self) -> u32 {
        self.view.u32(40)
    }
    /// Units in use.
    pub fn used(&self) -> u32 {
        self.view.u32(44)
    }
    /// True when unit `i` of this block is in use.
    pub fn is_used(&self, i: u32) -> bool {
        i >= self.units() || self.view.u8(BITS_BEGIN + i as usize / 8) & 1 << (i % 8) != 0
    }
    /// The first run of `n` free units among the first `limit`.
    pub fn find(&self, n: u32, limit: u32) -> Option<u32> {
        let limit = limit.min(self.units());
        let (mut i, mut run) = (0, 0);
        while i < limit {
            if i % 64 == 0 && self.view.word((BITS_BEGIN + i as usize / 8) / 8) == u64::MAX {
                (run, i) = (0, i + 64);
                continue;
            }
            run = if self.is_used(i) { 0 } else { run + 1 };
            i += 1;
            if run == n {
                return Some(i - n);
            }
        }
        None
    }
}

/// Most units a bitmap block can speak of.
pub fn units_max(block_size: usize) -> u32 {
    ((block_size - BITS_BEGIN) * 8) as u32
}

/// Makes `block` a bitmap of `units` free units from `first` on.
pub fn format_bitmap(block: &mut [u8], at: Rdba, first: u32, units: u32, file_blocks: u32) {
    assert!(units <= units_max(block.len()), "more units than bits");
    header::format(block, BlockKind::FileBitmap, at, ObjectId(0), Rdba(0));
    put32(block, 32, first);
    put32(block, 36, units);
    put32(block, 40, file_blocks);
}

/// Marks `n` units from `i` on as used or free.
///
/// # Errors
/// [`Refused::NoSuch`] when one of them is outside, or already in the wanted state.
pub fn set_units(block: &mut [u8], i: u32, n: u32, used: bool) -> Result<(), Refused> {
    let v = BitmapView::new(BlockView::of_bytes(block));
    let end = i.checked_add(n).filter(|end| *end <= v.units()).ok_or(Refused::NoSuch)?;
    if (i..end).any(|u| v.is_used(u) == used) {
        return Err(Refused::NoSuch);
    }
    for u in i as usize..end as usize {
        block[BITS_BEGIN + u / 8] ^= 1 << (u % 8);
    }
    let before = get32(block, 44);
    put32(block, 44, if used { before + n } else { before - n });
    Ok(())
}

/// Notes the file's size in blocks.
pub fn set_file_blocks(block: &mut [u8], blocks: u32) {
    put32(block, 40, blocks);
}

/// Checks a segment header, space map or file bitmap.
///
/// # Errors
/// A sentence for the trace file.
pub fn assert_invariants(block: &[u8]) -> Result<(), String> {
    let view = BlockView::of_bytes(block);
    match view.kind() {
        Some(BlockKind::SegmentHeader) => check_segment(SegmentView::new(view)),
        Some(BlockKind::SpaceMap) => check_map(MapView::new(view)),
        Some(BlockKind::FileBitmap) => check_bitmap(BitmapView::new(view)),
        other => Err(format!("{other:?} is no space block")),
    }
}

fn check_segment(s: SegmentView) -> Result<(), String> {
    let sum: u64 = (0..s.extents()).filter_map(|n| s.extent(n)).map(|e| u64::from(e.blocks)).sum();
    if s.view.u32(40) != s.extents() || sum != u64::from(s.blocks()) || s.segment_kind().is_none() {
        return Err(format!("{} extents with {sum} blocks, header says {}", s.extents(), s.blocks()));
    }
    Ok(())
}

fn check_map(m: MapView) -> Result<(), String> {
    let room = (0..m.blocks()).filter(|i| m.state(*i).has_room()).count();
    if m.view.u32(40) != m.blocks() || room != m.with_room() as usize {
        return Err(format!("{room} of {} blocks have room, map says {}", m.blocks(), m.with_room()));
    }
    Ok(())
}

fn check_bitmap(b: BitmapView) -> Result<(), String> {
    let used = (0..b.units()).filter(|i| b.is_used(*i)).count();
    if b.view.u32(36) != b.units() || used != b.used() as usize {
        return Err(format!("{used} of {} units in use, bitmap says {}", b.units(), b.used()));
    }
    Ok(())
}
