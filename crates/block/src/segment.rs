//! Segment headers, space maps and file bitmaps: the owner and the state of every block.
//!
//! ```text
//! segment header                          space map (first block of an extent)     file bitmap
//! 32 | tablespace u32  kind u8  going u8  32 | segment header u32                  32 | first unit u32
//! 40 | extents u32  blocks u32            36 | extent number u32                   36 | units u32
//! 48 | first extent of the room list u32  40 | blocks u32                          40 | file size in blocks u32
//! 52 | next extent map u32                44 | blocks with room u32                44 | units in use u32
//! 56 | aux32 aux32 aux64                  48 | list of the extent u32              64 | one bit a unit
//! 72 | room list u32                      52 | free blocks u32
//! 80 | extents: rdba u32, entry u32       64 | two bits of state a block
//!
//! extent map (second block of the extent whose number is the first that it lists)
//! 32 | segment header u32   36 | next extent map u32   40 | number of its first extent u32   44 | extents in it u32
//! 48 | extents: rdba u32, entry u32
//!
//! entry: blocks, 30 bits; bit 30: the extent has free blocks; bit 31: it has blocks that are free or have room
//! ```
//!
//! The file is allocated in units of [`UNIT_BLOCKS`] blocks; an extent is a run of units. The first block of every
//! extent is its space map, except that the very first extent of a segment has the segment header first and the space
//! map second. The extents that have no room in the segment header are listed in a chain of extent maps.
//!
//! Free space is mapped on two levels (R8). A space map has the state of each block of its extent. The block that lists
//! the extent, its *list*, repeats a summary of the space map for searches (a [`RoomClass`]). Both change in one change
//! group and always agree. The header names the first list that may have an extent with room.

use crate::data::Refused;
use crate::header::{self, BlockKind, get32, put32, put64};
use crate::view::BlockView;
use types::{ObjectId, Rdba};

/// Blocks in an allocation unit.
pub const UNIT_BLOCKS: u32 = 8;
const AT_GOING: usize = 37;
const EXTENTS_BEGIN: usize = 80;
const AT_ROOM_FROM: usize = 48;
const AT_NEXT_MAP: usize = 52;
const AT_ROOM_LIST: usize = 72;
const AT_MAP_LIST: usize = 48;
const AT_MAP_FREE: usize = 52;
/// The bits of a list entry with the number of blocks; the bits above hold the class.
const ENTRY_BLOCKS: u32 = (1 << ENTRY_CLASS_SHIFT) - 1;
const ENTRY_CLASS_SHIFT: u32 = 30;
const MAP_EXTENTS_BEGIN: usize = 48;
/// A limit above the extents of any segment: a larger count is garbage.
const EXTENTS_MAX: u32 = 1 << 22;
const STATES_BEGIN: usize = 64;
const BITS_BEGIN: usize = 64;

types::numbered! {
    /// The kind of a segment.
    #[derive(Debug, PartialEq, Eq, Hash)]
    pub enum SegmentKind: u8 {
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
}

/// A run of neighbouring blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// First block.
    pub start: Rdba,
    /// Number of blocks.
    pub blocks: u32,
}

/// The free space of an extent as a search sees it: the upper level of the map of free space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomClass(u8);

impl RoomClass {
    /// No free space.
    pub const NONE: RoomClass = RoomClass(0);
    /// Free blocks.
    pub const FREE: RoomClass = RoomClass(1);
    /// Blocks for rows: free ones, or formatted ones with room. The class does not tell whether there are formatted
    /// ones, because that would change twice with each block that a single inserter fills.
    pub const ROOM: RoomClass = RoomClass(2);

    /// The class with this number on disk.
    pub fn from_code(code: u8) -> RoomClass {
        RoomClass(code & 3)
    }
    /// Its number on disk.
    pub fn code(self) -> u8 {
        self.0
    }
    /// True when the extent has any of the wanted space.
    pub fn has(self, wanted: RoomClass) -> bool {
        self.0 & wanted.0 != 0
    }
}

types::numbered! {
    /// State of one block in a space map.
    #[derive(Debug, PartialEq, Eq)]
    pub enum BlockState: u8 {
        /// Free: never used or given back. Scans skip it.
        Free = 0,
        /// Formatted, with room for more rows.
        Room = 1,
        /// Formatted, without room.
        Full = 2,
        /// Formatted and given to one owner for good: index, cluster and undo blocks, header and map.
        Used = 3,
    }
}

impl BlockState {
    /// The state with this number on disk; garbage reads as `Full`, so the block is left alone.
    pub fn read(code: u8) -> BlockState {
        BlockState::from_code(code).unwrap_or(BlockState::Full)
    }
    fn has_room(self) -> bool {
        matches!(self, BlockState::Free | BlockState::Room)
    }
}

/// Reads a segment header.
#[derive(Clone, Copy)]
pub struct SegmentView<'a> {
    /// The words of the block.
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
    /// The kind of the segment.
    pub fn segment_kind(&self) -> Option<SegmentKind> {
        SegmentKind::from_code(self.view.u8(36))
    }
    /// True once the segment is being dropped: its list of extents is no longer whole.
    pub fn is_going(&self) -> bool {
        self.view.u8(AT_GOING) != 0
    }
    /// Number of extents, those in the extent maps too.
    pub fn extents(&self) -> u32 {
        self.view.u32(40).min(EXTENTS_MAX)
    }
    /// Number of extents that the header itself lists.
    pub fn listed(&self) -> u32 {
        self.extents().min(extents_in_header(self.view.len()))
    }
    /// The first extent map; none while the header lists all extents.
    pub fn next_map(&self) -> Rdba {
        Rdba(self.view.u32(AT_NEXT_MAP))
    }
    /// Blocks in all extents together.
    pub fn blocks(&self) -> u32 {
        self.view.u32(44)
    }
    /// The list at which a search for room begins, and the number of its first extent: no earlier list has an extent
    /// with room. `header` is the address of the segment header, the first of the lists.
    pub fn room_list(&self, header: Rdba) -> (Rdba, u32) {
        match (Rdba(self.view.u32(AT_ROOM_LIST)), self.view.u32(AT_ROOM_FROM)) {
            (list, from) if list.is_none() || from == 0 => (header, 0),
            known => known,
        }
    }
    /// Eight bytes for the access layer (the root of an index, the geometry of a cluster).
    pub fn aux64(&self) -> u64 {
        self.view.u64(64)
    }
    /// Four bytes for the access layer, twice.
    pub fn aux32(&self) -> (u32, u32) {
        (self.view.u32(56), self.view.u32(60))
    }
    /// Extent number `n`, if the header lists it.
    pub fn extent(&self, n: u32) -> Option<Extent> {
        self.list().extent(n)
    }
    /// The extents that the header itself lists.
    pub fn list(&self) -> ExtentList<'a> {
        let (listed, next) = (self.listed(), self.next_map());
        ExtentList { view: self.view, begin: EXTENTS_BEGIN, first: 0, listed, next }
    }
}

/// The extents that a segment header or an extent map lists, with their classes.
#[derive(Clone, Copy)]
pub struct ExtentList<'a> {
    view: BlockView<'a>,
    begin: usize,
    first: u32,
    listed: u32,
    next: Rdba,
}

impl<'a> ExtentList<'a> {
    /// Reads `view`; `None` for a block that lists no extents.
    pub fn of(view: BlockView<'a>) -> Option<ExtentList<'a>> {
        match view.kind() {
            Some(BlockKind::SegmentHeader) => Some(SegmentView::new(view).list()),
            Some(BlockKind::ExtentMap) => Some(ExtentMapView::new(view).list()),
            _ => None,
        }
    }
    /// Number of the first extent in the list.
    pub fn first(&self) -> u32 {
        self.first
    }
    /// The next list of extents; none for the last list.
    pub fn next(&self) -> Rdba {
        self.next
    }
    fn entry(&self, n: u32) -> Option<(Rdba, u32)> {
        let i = n.checked_sub(self.first).filter(|i| *i < self.listed)?;
        let at = self.begin + i as usize * 8;
        Some((Rdba(self.view.u32(at)), self.view.u32(at + 4)))
    }
    /// Extent number `n` of the segment; `None` when it is not in this list.
    pub fn extent(&self, n: u32) -> Option<Extent> {
        self.entry(n).map(|(start, entry)| Extent { start, blocks: entry & ENTRY_BLOCKS })
    }
    /// The class of extent number `n`; `None` when it is not in this list.
    pub fn class(&self, n: u32) -> Option<RoomClass> {
        self.entry(n).map(|(_, entry)| RoomClass((entry >> ENTRY_CLASS_SHIFT) as u8))
    }
    /// The first extent with any of the wanted space, from index `from` on, wrapping around.
    pub fn find(&self, from: u32, wanted: RoomClass) -> Option<(u32, Extent)> {
        let from = from % self.listed.max(1);
        let number = |i: u32| self.first.wrapping_add(i);
        let mut all = (from..self.listed).chain(0..from).map(number);
        let found = all.find(|n| self.class(*n).is_some_and(|class| class.has(wanted)))?;
        Some((found, self.extent(found)?))
    }
}

/// Most extents a segment header lists with this block size.
pub fn extents_in_header(block_size: usize) -> u32 {
    ((block_size - EXTENTS_BEGIN) / 8) as u32
}

/// Most extents an extent map lists with this block size.
pub fn extents_in_map(block_size: usize) -> u32 {
    ((block_size - MAP_EXTENTS_BEGIN) / 8) as u32
}

/// True when extent number `n` has an extent map as its second block, which lists `n` first.
pub fn begins_map(block_size: usize, n: u32) -> bool {
    n.checked_sub(extents_in_header(block_size)).is_some_and(|beyond| beyond % extents_in_map(block_size) == 0)
}

/// Number of the first extent in the list that contains extent number `n`.
pub fn list_begin(block_size: usize, n: u32) -> u32 {
    let in_header = extents_in_header(block_size);
    n.checked_sub(in_header).map_or(0, |beyond| n - beyond % extents_in_map(block_size))
}

/// Blocks at the start of extent number `n` that hold no data: the segment header or an extent map, and the space map.
pub fn head_blocks(block_size: usize, n: u32) -> u32 {
    if n == 0 || begins_map(block_size, n) { 2 } else { 1 }
}

/// Reads an extent map.
#[derive(Clone, Copy)]
pub struct ExtentMapView<'a> {
    /// The words of the block.
    pub view: BlockView<'a>,
}

impl<'a> ExtentMapView<'a> {
    /// Reads `view` as an extent map.
    pub fn new(view: BlockView<'a>) -> Self {
        ExtentMapView { view }
    }
    /// The segment's header block.
    pub fn segment(&self) -> Rdba {
        Rdba(self.view.u32(32))
    }
    /// The next extent map; none in the last one.
    pub fn next_map(&self) -> Rdba {
        Rdba(self.view.u32(36))
    }
    /// Number of the first extent in the list.
    pub fn first(&self) -> u32 {
        self.view.u32(40)
    }
    /// Number of extents in the list, clamped to the block.
    pub fn listed(&self) -> u32 {
        self.view.u32(44).min(extents_in_map(self.view.len()))
    }
    /// Extent number `n` of the segment, if this map lists it.
    pub fn extent(&self, n: u32) -> Option<Extent> {
        self.list().extent(n)
    }
    /// The extents in the map.
    pub fn list(&self) -> ExtentList<'a> {
        let (first, listed, next) = (self.first(), self.listed(), self.next_map());
        ExtentList { view: self.view, begin: MAP_EXTENTS_BEGIN, first, listed, next }
    }
}

/// Makes `block` an empty extent map whose first extent has number `first`.
pub fn format_extent_map(block: &mut [u8], at: Rdba, obj: ObjectId, map: Rdba, segment: Rdba, first: u32) {
    header::format(block, BlockKind::ExtentMap, at, obj, map);
    put32(block, 32, segment.0);
    put32(block, 40, first);
}

/// The entry of a new extent, which has free blocks.
fn new_entry(extent: Extent) -> Result<u32, Refused> {
    if extent.blocks > ENTRY_BLOCKS {
        return Err(Refused::Full);
    }
    Ok(extent.blocks | u32::from(RoomClass::FREE.0 | RoomClass::ROOM.0) << ENTRY_CLASS_SHIFT)
}

/// Adds an extent, which has free blocks, to the end of an extent map.
///
/// # Errors
/// [`Refused::Full`] when it is full.
pub fn add_to_map(block: &mut [u8], extent: Extent) -> Result<(), Refused> {
    let n = get32(block, 44);
    if n >= extents_in_map(block.len()) {
        return Err(Refused::Full);
    }
    let (at, entry) = (MAP_EXTENTS_BEGIN + n as usize * 8, new_entry(extent)?);
    put32(block, at, extent.start.0);
    put32(block, at + 4, entry);
    put32(block, 44, n + 1);
    Ok(())
}

/// Sets the class of extent number `n` in its list, a segment header or an extent map.
///
/// # Errors
/// [`Refused::NoSuch`] when the extent is not listed in the block.
pub fn set_class(block: &mut [u8], n: u32, class: RoomClass) -> Result<(), Refused> {
    let list = ExtentList::of(BlockView::of_bytes(block)).ok_or(Refused::NoSuch)?;
    let (begin, first, extent) = (list.begin, list.first, list.extent(n).ok_or(Refused::NoSuch)?);
    let at = begin + (n - first) as usize * 8;
    put32(block, at + 4, extent.blocks | u32::from(class.0) << ENTRY_CLASS_SHIFT);
    Ok(())
}

/// Sets the list at which a search for room begins, in a segment header; `from` is its first extent.
pub fn set_room_list(block: &mut [u8], list: Rdba, from: u32) {
    put32(block, AT_ROOM_LIST, list.0);
    put32(block, AT_ROOM_FROM, from);
}

/// Drops the last extent from an extent map.
///
/// # Errors
/// [`Refused::NoSuch`] when it is empty.
pub fn drop_from_map(block: &mut [u8]) -> Result<(), Refused> {
    let n = get32(block, 44);
    if n == 0 || n > extents_in_map(block.len()) {
        return Err(Refused::NoSuch);
    }
    put32(block, 44, n - 1);
    Ok(())
}

/// Links the next extent map to a segment header or an extent map.
///
/// # Errors
/// [`Refused::NoSuch`] for a block of another kind.
pub fn set_next_map(block: &mut [u8], next: Rdba) -> Result<(), Refused> {
    let at = match BlockView::of_bytes(block).kind() {
        Some(BlockKind::SegmentHeader) => AT_NEXT_MAP,
        Some(BlockKind::ExtentMap) => 36,
        _ => return Err(Refused::NoSuch),
    };
    put32(block, at, next.0);
    Ok(())
}

/// Makes `block` the header of a segment without extents.
pub fn format_segment(block: &mut [u8], at: Rdba, obj: ObjectId, map: Rdba, tablespace: u32, kind: SegmentKind) {
    header::format(block, BlockKind::SegmentHeader, at, obj, map);
    put32(block, 32, tablespace);
    block[36] = kind as u8;
}

/// Notes that the segment is being dropped.
pub fn set_going(block: &mut [u8]) {
    block[AT_GOING] = 1;
}

/// Counts an extent, which has free blocks, in the segment header, and lists it there when there is room; otherwise the
/// caller lists it in an extent map.
///
/// # Errors
/// [`Refused::Full`] when the segment would have too many extents or blocks.
pub fn add_extent(block: &mut [u8], extent: Extent) -> Result<(), Refused> {
    let n = get32(block, 40);
    let blocks = get32(block, 44).checked_add(extent.blocks).filter(|_| n < EXTENTS_MAX).ok_or(Refused::Full)?;
    if n < extents_in_header(block.len()) {
        let (at, entry) = (EXTENTS_BEGIN + n as usize * 8, new_entry(extent)?);
        put32(block, at, extent.start.0);
        put32(block, at + 4, entry);
    }
    put32(block, 40, n + 1);
    put32(block, 44, blocks);
    Ok(())
}

/// Takes the last extent, of `size` blocks, out of the segment header.
///
/// # Errors
/// [`Refused::NoSuch`] when there is none, or it has another size.
pub fn drop_extent(block: &mut [u8], size: u32) -> Result<(), Refused> {
    let n = get32(block, 40);
    if n == 0 || n > EXTENTS_MAX {
        return Err(Refused::NoSuch);
    }
    let listed = SegmentView::new(BlockView::of_bytes(block)).extent(n - 1);
    if listed.is_some_and(|last| last.blocks != size) {
        return Err(Refused::NoSuch);
    }
    put32(block, 40, n - 1);
    let blocks = get32(block, 44).saturating_sub(size);
    put32(block, 44, blocks);
    if get32(block, AT_ROOM_FROM) >= n - 1 {
        // The room list may belong to the dropped extent: searches begin at the header again.
        set_room_list(block, Rdba::NONE, 0);
    }
    Ok(())
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
    /// The words of the block.
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
    /// Number of the extent in the segment.
    pub fn extent(&self) -> u32 {
        self.view.u32(36)
    }
    /// Blocks in the extent, clamped to the map.
    pub fn blocks(&self) -> u32 {
        self.view.u32(40).min(extent_blocks_max(self.view.len()))
    }
    /// Blocks that are free or have room.
    pub fn with_room(&self) -> u32 {
        self.view.u32(44)
    }
    /// Blocks that are free.
    pub fn free(&self) -> u32 {
        self.view.u32(AT_MAP_FREE)
    }
    /// The list that contains the extent: the segment header or an extent map.
    pub fn list(&self) -> Rdba {
        Rdba(self.view.u32(AT_MAP_LIST))
    }
    /// The class of the extent.
    pub fn class(&self) -> RoomClass {
        let (free, with_room) = (self.free(), self.with_room());
        let class = |has: bool, class: RoomClass| if has { class.0 } else { 0 };
        RoomClass(class(free > 0, RoomClass::FREE) | class(with_room > 0, RoomClass::ROOM))
    }
    /// State of the block with index `i` in the extent.
    pub fn state(&self, i: u32) -> BlockState {
        if i >= self.blocks() {
            return BlockState::Full;
        }
        BlockState::read(self.view.u8(STATES_BEGIN + i as usize / 4) >> (i % 4 * 2) & 3)
    }
    /// The first block from index `from` on, wrapping around, whose state satisfies `wanted`.
    pub fn find(&self, from: u32, wanted: impl Fn(BlockState) -> bool) -> Option<u32> {
        let n = self.blocks();
        let from = from % n.max(1);
        (from..n).chain(0..from).find(|i| wanted(self.state(*i)))
    }
    /// The first block from index `from` on, wrapping around, that is free or has room. Skips full blocks 32 at a time.
    pub fn find_room(&self, from: u32) -> Option<u32> {
        if self.with_room() == 0 {
            return None;
        }
        let n = self.blocks();
        let from = from % n.max(1);
        self.room_between(from, n).or_else(|| self.room_between(0, from))
    }
    fn room_between(&self, from: u32, end: u32) -> Option<u32> {
        const HIGH_BITS: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        let mut i = from;
        while i < end {
            // Thirty-two states a word; the high bit of each is set in the two states without room.
            if i.is_multiple_of(32) && self.view.word(STATES_BEGIN / 8 + i as usize / 32) & HIGH_BITS == HIGH_BITS {
                i += 32;
                continue;
            }
            if self.state(i).has_room() {
                return Some(i);
            }
            i += 1;
        }
        None
    }
}

/// Most blocks an extent can have with this block size: the number of states in a space map, in whole units.
pub fn extent_blocks_max(block_size: usize) -> u32 {
    ((block_size - STATES_BEGIN) * 4) as u32 / UNIT_BLOCKS * UNIT_BLOCKS
}

fn put_state(block: &mut [u8], i: u32, state: BlockState) {
    let (at, shift) = (STATES_BEGIN + i as usize / 4, i % 4 * 2);
    block[at] = block[at] & !(3 << shift) | (state as u8) << shift;
}

/// The place of the extent of a new space map.
#[derive(Clone, Copy, Debug)]
pub struct NewMap {
    /// The segment's header block.
    pub segment: Rdba,
    /// The list that contains the extent.
    pub list: Rdba,
    /// Number of the extent.
    pub extent: u32,
    /// Blocks of the extent.
    pub blocks: u32,
    /// Number of blocks in use, counted from the first.
    pub used: u32,
}

/// Makes `block` the space map of an extent whose blocks are free except the first `used`.
pub fn format_map(block: &mut [u8], at: Rdba, obj: ObjectId, new: NewMap) {
    let NewMap { segment, list, extent, blocks, used } = new;
    assert!(blocks <= extent_blocks_max(block.len()) && used <= blocks, "extent too large for its map");
    header::format(block, BlockKind::SpaceMap, at, obj, at);
    put32(block, 32, segment.0);
    put32(block, 36, extent);
    put32(block, 40, blocks);
    put32(block, 44, blocks - used);
    put32(block, AT_MAP_LIST, list.0);
    put32(block, AT_MAP_FREE, blocks - used);
    (0..used).for_each(|i| put_state(block, i, BlockState::Used));
}

/// Changes the state of the block with index `i`.
///
/// # Errors
/// [`Refused::NoSuch`] when the extent has no such block.
pub fn set_state(block: &mut [u8], i: u32, state: BlockState) -> Result<(), Refused> {
    let map = MapView::new(BlockView::of_bytes(block));
    if i >= map.blocks() {
        return Err(Refused::NoSuch);
    }
    let (before, room, free) = (map.state(i), map.with_room(), map.free());
    put_state(block, i, state);
    let count = |n: u32, is: bool, was: bool| (n + u32::from(is)).saturating_sub(u32::from(was));
    put32(block, 44, count(room, state.has_room(), before.has_room()));
    put32(block, AT_MAP_FREE, count(free, state == BlockState::Free, before == BlockState::Free));
    Ok(())
}

/// Reads a file's allocation bitmap.
#[derive(Clone, Copy)]
pub struct BitmapView<'a> {
    /// The words of the block.
    pub view: BlockView<'a>,
}

impl<'a> BitmapView<'a> {
    /// Reads `view` as a file bitmap.
    pub fn new(view: BlockView<'a>) -> Self {
        BitmapView { view }
    }
    /// Number of the first unit in this block.
    pub fn first_unit(&self) -> u32 {
        self.view.u32(32)
    }
    /// Number of units in this block, clamped to the block.
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

/// Most units a bitmap block can hold.
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

/// True when the lists of a segment header, extent map, space map or file bitmap lie in the block.
pub(crate) fn is_sound(kind: BlockKind, block: &[u8]) -> bool {
    let view = BlockView::of_bytes(block);
    match kind {
        BlockKind::SegmentHeader => check_segment(SegmentView::new(view)).is_ok(),
        BlockKind::ExtentMap => check_extent_map(ExtentMapView::new(view)).is_ok(),
        BlockKind::SpaceMap => {
            let m = MapView::new(view);
            view.u32(40) == m.blocks() && m.free() <= m.with_room() && m.with_room() <= m.blocks()
        }
        _ => {
            let b = BitmapView::new(view);
            view.u32(36) == b.units() && b.used() <= b.units()
        }
    }
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
        Some(BlockKind::ExtentMap) => check_extent_map(ExtentMapView::new(view)),
        Some(BlockKind::FileBitmap) => check_bitmap(BitmapView::new(view)),
        other => Err(format!("{other:?} is no space block")),
    }
}

fn check_segment(s: SegmentView) -> Result<(), String> {
    let sum: u64 = (0..s.listed()).filter_map(|n| s.extent(n)).map(|e| u64::from(e.blocks)).sum();
    let (all_listed, blocks) = (s.listed() == s.extents(), u64::from(s.blocks()));
    let sums = if all_listed { sum == blocks } else { sum < blocks };
    if s.view.u32(40) != s.extents() || !sums || s.next_map().is_none() != all_listed || s.segment_kind().is_none() {
        return Err(format!("{} extents with {sum} blocks, header says {}", s.extents(), s.blocks()));
    }
    Ok(())
}

fn check_extent_map(m: ExtentMapView) -> Result<(), String> {
    if m.view.u32(44) != m.listed() || m.listed() == 0 || !begins_map(m.view.len(), m.first()) {
        return Err(format!("extent map with {} extents from {}", m.view.u32(44), m.first()));
    }
    Ok(())
}

fn check_map(m: MapView) -> Result<(), String> {
    let count = |is: fn(BlockState) -> bool| (0..m.blocks()).filter(|i| is(m.state(*i))).count();
    let (room, free) = (count(BlockState::has_room), count(|state| state == BlockState::Free));
    if m.view.u32(40) != m.blocks() || room != m.with_room() as usize || free != m.free() as usize {
        let says = (m.with_room(), m.free());
        return Err(format!("of {} blocks {room} have room and {free} are free, map says {says:?}", m.blocks()));
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
