//! Space management: the blocks of segments, and the room in them.
//!
//! A segment is identified by the address of its header block. Extents of 8, then 128, 1024 and 8192 blocks, or all of
//! the tablespace's uniform size, come from the bitmaps of the tablespace's files, in turn; files grow automatically up
//! to their maximum. The first block of each extent is its space map; extents for which the header has no room are
//! listed in extent maps, each the second block of the first extent that it lists (S3). All changes are made by change
//! vectors in change groups, so an extent never belongs to two segments or to none (S1).
//!
//! A search for room reads a list of extents, which has the class of each, and then one space map with room. Inserters
//! do not collide, because each process starts its search in a map at a different place, and stays with the block it
//! found ([`InsertHint`]) until that block is full. Before a segment gets another extent, the caller of
//! [`Space::insert_block`] may look for room in blocks that the maps call full ([`Space::next_full`]).

use crate::vectors as space;
use crate::{Space, TEMP_EXTENT_BLOCKS};
use block::segment::{
    BitmapView, ExtentList, ExtentMapView, MapView, RoomClass, SegmentView, UNIT_BLOCKS, begins_map, extent_blocks_max,
    extents_in_header, head_blocks, list_begin, units_max,
};
use block::{BlockKind, BlockState, BlockView, Extent, SegmentKind};
use buffer_cache::{BlockRef, ChangeGroup, GetKind, op};
use datafile::{Contents, ControlFile, DataFiles, FileEntry, part_blocks_min, part_sizes};
use process::Process;
use redo::{ChangeVector, Layer};
use types::{Facility, ObjectId, Ora, Rdba, Result, Scn};

/// The block that a process last inserted into, for one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InsertHint {
    /// The block; none at first, and after it was full.
    pub block: Rdba,
    /// The places behind the full blocks that the process has looked at: round the segment, and back from its end.
    looked: [Place; 2],
    /// The one of `looked` that the next look uses.
    turn: usize,
}

/// A block of a segment: its index in extent number `extent`, which `list` lists. No list: no place yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    list: Rdba,
    extent: u32,
    index: u32,
}

impl InsertHint {
    /// Makes the next search look for another block.
    pub fn forget(&mut self) {
        self.block = Rdba::NONE;
    }

    /// Makes the next look at full blocks continue the round after one at the end of the segment, and else begin at the
    /// end and go back from there: changes that were rolled back lately have left their room in the last extents.
    pub fn look_elsewhere(&mut self) {
        self.turn ^= 1;
        self.looked[1] = Place::default();
    }
}

/// The error for a segment that cannot grow: ORA-01653, 01654, 01655, 01652, 01691 or 30036 by the kind of segment. A
/// crate that knows the dictionary inserts the segment's name.
fn unable_to_extend(kind: SegmentKind, obj: ObjectId, blocks: u32, tablespace: &str) -> Ora {
    match kind {
        SegmentKind::Table => Ora::full_segment(1653, obj.0, blocks, tablespace),
        SegmentKind::Index => Ora::full_segment(1654, obj.0, blocks, tablespace),
        SegmentKind::Cluster => Ora::full_segment(1655, obj.0, blocks, tablespace),
        SegmentKind::Temporary => Ora::with(1652, &[&blocks, &tablespace]),
        SegmentKind::Undo => Ora::with(30036, &[&blocks, &tablespace]),
        SegmentKind::Lob => {
            let text = format!("unable to extend lob segment {obj} by {blocks} in tablespace {tablespace}");
            Ora::from_text(Facility::Ora, 1691, text)
        }
    }
}

/// The error for a segment that cannot be created: ORA-01658, or as [`unable_to_extend`] for kinds without an error for
/// the first extent.
fn unable_to_create(kind: SegmentKind, obj: ObjectId, blocks: u32, tablespace: &str) -> Ora {
    match kind {
        SegmentKind::Table | SegmentKind::Index | SegmentKind::Cluster => Ora::with(1658, &[&tablespace]),
        _ => unable_to_extend(kind, obj, blocks, tablespace),
    }
}

/// Sizes of extents in blocks, and the segment size from which each is used.
const SIZES: [(u32, u32); 4] = [
    (UNIT_BLOCKS, 16 * UNIT_BLOCKS),
    (16 * UNIT_BLOCKS, 1024 * UNIT_BLOCKS),
    (128 * UNIT_BLOCKS, 16_384 * UNIT_BLOCKS),
    (1024 * UNIT_BLOCKS, u32::MAX),
];

/// Blocks in the next extent of a segment of `blocks` blocks.
fn next_extent_blocks(blocks: u32) -> u32 {
    SIZES.iter().find(|(_, below)| blocks < *below).map_or(UNIT_BLOCKS, |(size, _)| *size)
}

/// A segment that gets an extent: its address, owner and size, and the number of the new extent.
struct Growing {
    header: Rdba,
    obj: ObjectId,
    tablespace: u32,
    number: u32,
    blocks: u32,
}

fn le(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

impl Space {
    /// Creates a segment with one extent and returns the address of its header block.
    ///
    /// # Errors
    /// ORA-01658 when no file of the tablespace has room, ORA-00959 for an unknown tablespace, and those of reading.
    pub fn create_segment(
        &self,
        p: &Process,
        tablespace: u32,
        kind: SegmentKind,
        obj: ObjectId,
        scn: &dyn Fn() -> Scn,
    ) -> Result<Rdba> {
        self.cache.in_group(p, scn, &mut |g| self.create_segment_in(g, tablespace, kind, obj))
    }

    /// Creates a segment in the caller's group; else as [`Space::create_segment`].
    ///
    /// # Errors
    /// As [`Space::create_segment`].
    pub fn create_segment_in(
        &self,
        g: &mut ChangeGroup,
        tablespace: u32,
        kind: SegmentKind,
        obj: ObjectId,
    ) -> Result<Rdba> {
        let new = Growing { header: Rdba::NONE, obj, tablespace, number: 0, blocks: 0 };
        let extent = self
            .take_extent(g, &new)
            .map_err(|(e, blocks)| self.no_room(e, tablespace, |name| unable_to_create(kind, obj, blocks, name)))?;
        let (header, map) = (extent.start, Rdba(extent.start.0 + 1));
        let mut data = le(&[header.0, obj.0, map.0, tablespace]);
        data.push(kind as u8);
        let cv = |rdba, op, data| ChangeVector { rdba, layer: Layer::Space, op, data };
        let h = g.format_with(cv(header, space::FORMAT_SEGMENT, &data))?;
        g.change(h, Layer::Space, space::ADD_EXTENT, &le(&[header.0, extent.blocks]))?;
        g.format_with(cv(map, space::FORMAT_MAP, &le(&[map.0, obj.0, header.0, header.0, 0, extent.blocks, 2])))?;
        Ok(header)
    }

    /// Adds an extent to a segment, in the caller's group.
    ///
    /// # Errors
    /// ORA-01653 and the like; ORA-01631 when the extent map is full; ORA-08103 when there is no segment at `segment`.
    pub fn extend(&self, g: &mut ChangeGroup, segment: Rdba) -> Result<Extent> {
        let h = g.current(segment)?;
        let view = self.segment_view(g.block(h))?;
        let (header, number, obj) = (segment, view.extents(), view.view.obj());
        let (tablespace, blocks) = (view.tablespace(), view.blocks());
        let kind = view.segment_kind().unwrap_or(SegmentKind::Table);
        let growing = Growing { header, obj, tablespace, number, blocks };
        let extent = self
            .take_extent(g, &growing)
            .map_err(|(e, blocks)| self.no_room(e, tablespace, |name| unable_to_extend(kind, obj, blocks, name)))?;
        faults::point("space-extent-taken");
        g.change(h, Layer::Space, space::ADD_EXTENT, &le(&[extent.start.0, extent.blocks]))?;
        let size = self.cache.block_size();
        let list = if number < extents_in_header(size) { segment } else { self.list_in_map(g, &growing, extent)? };
        let map = extent.start;
        let data = le(&[map.0, obj.0, segment.0, list.0, number, extent.blocks, head_blocks(size, number)]);
        g.format_with(ChangeVector { rdba: map, layer: Layer::Space, op: space::FORMAT_MAP, data: &data })?;
        if g.blocks_left() > BLOCKS_SPARED {
            self.advance_room_list(g, segment)?;
        }
        Ok(extent)
    }

    /// Lists an extent for which the header has no room, in the last extent map or a new one; returns that map.
    fn list_in_map(&self, g: &mut ChangeGroup, of: &Growing, extent: Extent) -> Result<Rdba> {
        let last = self.last_map(g, of.header)?;
        let map = if begins_map(self.cache.block_size(), of.number) {
            let at = Rdba(extent.start.0 + 1);
            let before = g.current(last)?;
            g.change(before, Layer::Space, space::NEXT_MAP, &le(&[at.0]))?;
            let data = le(&[at.0, of.obj.0, extent.start.0, of.header.0, of.number]);
            g.format_with(ChangeVector { rdba: at, layer: Layer::Space, op: space::FORMAT_EXTENT_MAP, data: &data })?
        } else {
            g.current(last)?
        };
        g.change(map, Layer::Space, space::ADD_TO_MAP, &le(&[extent.start.0, extent.blocks]))?;
        Ok(map.rdba())
    }

    /// The last block of the chain of segment header and extent maps.
    fn last_map(&self, g: &ChangeGroup, segment: Rdba) -> Result<Rdba> {
        let (mut last, mut first) = (segment, 0);
        let mut next = self.peek(g, segment, |v| SegmentView::new(v).next_map())?;
        while !next.is_none() {
            let read = self.peek(g, next, |v| extent_map(v, segment, |m| (m.first(), m.next_map())))?;
            last = next;
            (first, next) = behind(first, read)?;
        }
        Ok(last)
    }

    /// Extent number `n` of a segment, as it is in the group.
    fn extent_at(&self, g: &ChangeGroup, segment: Rdba, n: u32) -> Result<Option<Extent>> {
        let (mut found, mut next) = self.peek(g, segment, |v| {
            let s = SegmentView::new(v);
            (s.extent(n), s.next_map())
        })?;
        let mut first = 0;
        while found.is_none() && !next.is_none() {
            let read = |m: ExtentMapView| (m.extent(n), (m.first(), m.next_map()));
            let read = self.peek(g, next, |v| extent_map(v, segment, read))?.ok_or_else(|| Ora::new(8103))?;
            found = read.0;
            (first, next) = behind(first, Some(read.1))?;
        }
        Ok(found)
    }

    fn segment_view<'v>(&self, view: BlockView<'v>) -> Result<SegmentView<'v>> {
        if view.kind() != Some(BlockKind::SegmentHeader) {
            return Err(Ora::new(8103));
        }
        Ok(SegmentView::new(view))
    }

    /// The error `full` with the tablespace's name, when `e` means that there is no room; otherwise `e`.
    fn no_room(&self, e: Ora, tablespace: u32, full: impl FnOnce(&str) -> Ora) -> Ora {
        if !is_full(&e) {
            return e;
        }
        let control = self.cache.files().control().ok();
        let name = control.as_ref().and_then(|c| c.tablespace(tablespace)).map_or("?", |t| t.name.as_str());
        // The reason why a file could not grow, such as a full disk, stays below it.
        e.context().iter().fold(full(name), |error, why| error.because(why.clone()))
    }

    /// Takes a run of free blocks from a file of the tablespace. A file grows when none has room; a smaller run is
    /// taken when none can grow. The error comes with the size that was wanted.
    fn take_extent(&self, g: &mut ChangeGroup, of: &Growing) -> std::result::Result<Extent, (Ora, u32)> {
        let at_once = |e| (e, UNIT_BLOCKS);
        let control = self.cache.files().control().map_err(at_once)?;
        let Some(tablespace) = control.tablespace(of.tablespace) else {
            return Err(at_once(Ora::with(959, &[&of.tablespace])));
        };
        if tablespace.contents == Contents::Temporary {
            return self.temp.take_in(g, of.tablespace).map_err(|e| (e, TEMP_EXTENT_BLOCKS));
        }
        let most = extent_blocks_max(self.cache.block_size());
        if tablespace.extent_blocks > 0 {
            let blocks = tablespace.extent_blocks.min(most);
            return self.take_blocks(g, &control, of, blocks).map_err(|e| (e, blocks));
        }
        let wanted = next_extent_blocks(of.blocks).min(most);
        let mut failed = None;
        for blocks in SIZES.iter().rev().map(|(size, _)| (*size).min(most)).filter(|size| *size <= wanted) {
            match self.take_blocks(g, &control, of, blocks) {
                Err(e) if is_full(&e) => failed = failed.or(Some(e)),
                other => return other.map_err(|e| (e, blocks)),
            }
        }
        Err((failed.unwrap_or_else(full), wanted))
    }

    fn take_blocks(&self, g: &mut ChangeGroup, control: &ControlFile, of: &Growing, blocks: u32) -> Result<Extent> {
        let mut files: Vec<_> = control.heads().filter(|f| f.tablespace == of.tablespace).collect();
        // The extents of a segment rotate over the files, so that they fill evenly.
        let first = files.first().map(|f| f.file);
        files.retain(|f| !self.cache.files().is_away(f.file));
        if let Some(away) = first.filter(|_| files.is_empty()) {
            // All files are away: the error names the first of them.
            self.cache.files().check_writable(away)?;
        }
        let turn = of.number as usize % files.len().max(1);
        files.rotate_left(turn);
        for part in files.iter().flat_map(|f| control.parts_of(f.file)) {
            if let Some(extent) = self.take_from_part(g, part, blocks)? {
                return Ok(extent);
            }
        }
        let mut why = full();
        for f in files.iter().filter(|f| f.blocks_max > 0) {
            // A bigfile grows again when its last part, now full, still has no room.
            let mut again = 0;
            loop {
                match self.grow(g, f.file, blocks) {
                    Ok(Some(grown)) => {
                        if let Some(extent) = self.take_from_file(g, grown, blocks)? {
                            return Ok(extent);
                        }
                    }
                    Ok(None) => break,
                    Err(e) if e.is(1237) => {
                        why = why.because(e);
                        break;
                    }
                    // A part that is being removed can be neither read nor pinned: waits until it is gone.
                    Err(e) if (e.is(376) || e.is(1157)) && !self.cache.files().is_away(f.file) => {
                        g.current(Rdba::new(f.file, 1))?;
                        if again == GROWTH_TRIES {
                            return Err(e);
                        }
                        again += 1;
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        Err(why)
    }

    /// As [`Space::take_from_file`]; a later part of a bigfile that is being removed has no room.
    fn take_from_part(&self, g: &mut ChangeGroup, part: &FileEntry, blocks: u32) -> Result<Option<Extent>> {
        let files = self.cache.files();
        let goes = || !part.is_head() && (files.is_away(part.file) || !files.is_present(part.file));
        match self.take_from_file(g, part.file, blocks) {
            Err(e) if (e.is(376) || e.is(1157)) && goes() => Ok(None),
            taken => taken,
        }
    }

    fn take_from_file(&self, g: &mut ChangeGroup, file: u32, blocks: u32) -> Result<Option<Extent>> {
        let size = self.cache.block_size();
        let units = blocks.div_ceil(UNIT_BLOCKS);
        let first_block = DataFiles::first_data_block_of(size);
        let file_blocks = self.peek(g, Rdba::new(file, 1), |v| BitmapView::new(v).file_blocks())?;
        let all_units = file_blocks.saturating_sub(first_block) / UNIT_BLOCKS;
        for n in 0..DataFiles::bitmap_blocks_of(size) {
            let at = Rdba::new(file, n + 1);
            let find = |v: BlockView| {
                let b = BitmapView::new(v);
                (b.first_unit(), b.find(units, all_units.saturating_sub(b.first_unit())))
            };
            let (first_unit, found) = self.peek(g, at, find)?;
            if first_unit >= all_units {
                break;
            }
            if found.is_none() {
                continue;
            }
            let b = g.current(at)?;
            // Another process may have grown or shrunk the file since: only the pinned block is certain.
            let file_blocks = self.peek(g, Rdba::new(file, 1), |v| BitmapView::new(v).file_blocks())?;
            let limit = (file_blocks.saturating_sub(first_block) / UNIT_BLOCKS).saturating_sub(first_unit);
            if let Some(unit) = BitmapView::new(g.block(b)).find(units, limit) {
                g.change(b, Layer::Space, space::USE_UNITS, &le(&[unit, units]))?;
                let start = Rdba::new(file, first_block + (first_unit + unit) * UNIT_BLOCKS);
                return Ok(Some(Extent { start, blocks: units * UNIT_BLOCKS }));
            }
        }
        Ok(None)
    }

    /// Grows a file by its step, up to its maximum; `None` at the maximum, and when no part can hold so many blocks.
    /// Returns the number of the file or of the part that has grown. A part behind full ones is added when the maximum
    /// allows one.
    fn grow(&self, g: &mut ChangeGroup, head: u32, blocks: u32) -> Result<Option<u32>> {
        let (files, size) = (self.cache.files(), self.cache.block_size());
        let part_most = files.blocks_most(head);
        if blocks > part_most.saturating_sub(DataFiles::first_data_block_of(size)) {
            return Ok(None);
        }
        // Other processes may fill a part before its bitmap is pinned here. A group must not collect such bitmaps.
        for _ in 0..GROWTHS_IN_VAIN {
            let control = files.control()?;
            let Some(entry) = control.file(head) else { return Ok(None) };
            let (mut last, mut not_full) = (entry, None);
            for part in control.parts_of(head) {
                let most = entry.most_in_part(part.part, part_most);
                last = part;
                if self.peek(g, Rdba::new(part.file, 1), |v| BitmapView::new(v).file_blocks())? < most {
                    not_full = Some((part.file, most));
                    break;
                }
            }
            if let Some((file, most)) = not_full {
                match self.grow_part(g, entry, file, blocks, most)? {
                    None => continue,
                    grown => return Ok(grown),
                }
            }
            let most = entry.most_in_part(last.part + 1, part_most);
            if !control.is_bigfile(entry) || most < part_blocks_min(size) {
                return Ok(None);
            }
            // The last part is full and stays so while its bitmap is held (S14).
            let b = g.current(Rdba::new(last.file, 1))?;
            let is_full = BitmapView::new(g.block(b)).file_blocks() >= part_most;
            let is_last = |f: &&FileEntry| f.file == last.file;
            if !is_full || !files.control()?.parts_of(head).last().is_some_and(is_last) {
                continue;
            }
            self.add_part(g.process(), head, last.part)?;
            let control = files.control()?;
            if let Some(added) = control.parts_of(head).iter().find(|f| f.part == last.part + 1).map(|f| f.file) {
                return Ok(self.grow_part(g, entry, added, blocks, most)?.or(Some(added)));
            }
        }
        Err(buffer_cache::give_way())
    }

    /// Adds an empty part behind part `last` of a bigfile.
    fn add_part(&self, p: &Process, head: u32, last: u32) -> Result<()> {
        // Redo of an earlier part with the same number is before the present end of the redo on disk.
        let created = || (self.cache.redo_on_disk(), self.cache.redo().newest_scn());
        self.cache.files().add_part(p, head, last, &created)
    }

    fn grow_part(
        &self,
        g: &mut ChangeGroup,
        head: &FileEntry,
        file: u32,
        blocks: u32,
        most: u32,
    ) -> Result<Option<u32>> {
        let b = g.current(Rdba::new(file, 1))?;
        let old = BitmapView::new(g.block(b)).file_blocks();
        if old <= DataFiles::first_data_block_of(self.cache.block_size()) {
            // The part is being removed, or its removal was interrupted (S15).
            g.current(Rdba::new(head.file, 1))?;
        }
        let new = old.saturating_add(head.step.max(blocks + UNIT_BLOCKS)).min(most);
        if new <= old {
            return Ok(None);
        }
        self.cache.files().extend(file, new)?;
        faults::point("space-file-grown");
        g.change(b, Layer::Space, space::FILE_BLOCKS, &le(&[new]))?;
        Ok(Some(file))
    }

    /// Reads a block as it is in the group, or as published.
    fn peek<R>(&self, g: &ChangeGroup, at: Rdba, f: impl Fn(BlockView) -> R) -> Result<R> {
        g.peek(at, &mut |v| f(*v))
    }

    /// Gives a free block of the segment to the caller, in the caller's group (S4); returns it with its space map.
    /// The caller formats it in the same group. The segment grows when it has no free block.
    ///
    /// # Errors
    /// As [`Space::extend`].
    pub fn allocate(&self, g: &mut ChangeGroup, segment: Rdba) -> Result<(Rdba, Rdba)> {
        let mut begin = self
            .peek(g, segment, |v| {
                (v.kind() == Some(BlockKind::SegmentHeader)).then(|| SegmentView::new(v).room_list(segment).0)
            })?
            .ok_or_else(|| Ora::new(8103))?;
        let (mut list, mut before) = (begin, None);
        while !list.is_none() {
            let read =
                |l: ExtentList| (l.find(0, RoomClass::FREE), l.find(0, RoomClass::ROOM).is_some(), l.first(), l.next());
            let (found, has_room, first, next) = self.peek(g, list, |v| list_of(v, list, segment, read))??;
            if let Some((n, extent)) = found {
                if let Some(block) = self.allocate_from(g, extent, n)? {
                    return Ok(block);
                }
                continue;
            }
            before = Some(in_order(before, first)?);
            let is_over = list == begin && !has_room && !next.is_none();
            if is_over && g.blocks_left() > BLOCKS_FOR_ADVANCE && self.advance_room_list(g, segment)? {
                begin = next;
            }
            list = next;
        }
        let extent = self.extend(g, segment)?;
        let map = g.current(extent.start)?;
        self.take_free(g, map, extent.start)?.ok_or_else(|| Ora::internal("a new extent has no free block"))
    }

    /// Takes a free block of an extent whose class has one; `None` when it has none any more.
    fn allocate_from(&self, g: &mut ChangeGroup, extent: Extent, n: u32) -> Result<Option<(Rdba, Rdba)>> {
        let map = g.current(map_of(extent, n))?;
        if let Some(taken) = self.take_free(g, map, extent.start)? {
            return Ok(Some(taken));
        }
        self.note_without(g, map, RoomClass::FREE)?;
        Ok(None)
    }

    fn take_free(&self, g: &mut ChangeGroup, map: BlockRef, start: Rdba) -> Result<Option<(Rdba, Rdba)>> {
        let Some(i) = MapView::new(g.block(map)).find(0, |s| s == BlockState::Free) else { return Ok(None) };
        self.set_state(g, map, i, BlockState::Used)?;
        Ok(Some((Rdba(start.0 + i), map.rdba())))
    }

    /// Changes the state of a block in its space map, and the class of the map in the extent's list (S5).
    fn set_state(&self, g: &mut ChangeGroup, map: BlockRef, i: u32, state: BlockState) -> Result<()> {
        let before = MapView::new(g.block(map)).class();
        let mut data = le(&[i]);
        data.push(state as u8);
        g.change(map, Layer::Space, space::SET_STATE, &data)?;
        if MapView::new(g.block(map)).class() == before { Ok(()) } else { self.repeat_class(g, map).map(drop) }
    }

    /// Corrects the class of an extent in its list after no block with the `wanted` space was found in its map.
    ///
    /// # Errors
    /// ORA-01578 when the map counts blocks that it does not have: a search would return to it without end.
    fn note_without(&self, g: &mut ChangeGroup, map: BlockRef, wanted: RoomClass) -> Result<()> {
        let view = MapView::new(g.block(map));
        let found =
            if wanted == RoomClass::FREE { view.find(0, |state| state == BlockState::Free) } else { view.find_room(0) };
        let counts_too_much = found.is_none() && view.class().has(wanted);
        if !self.repeat_class(g, map)? && counts_too_much {
            let (file, block) = self.cache.files().shown(map.rdba());
            return Err(Ora::with(1578, &[&file, &block]));
        }
        Ok(())
    }

    /// Copies the class of a space map to the list of its extent, and makes searches begin with that list at the
    /// latest. True when the class in the list was different.
    ///
    /// The list is pinned when the header is read, and the header advances past a list only in a group that has pinned
    /// both, so no list with room is skipped (S6).
    fn repeat_class(&self, g: &mut ChangeGroup, map: BlockRef) -> Result<bool> {
        let view = MapView::new(g.block(map));
        let (class, n, list, segment) = (view.class(), view.extent(), view.list(), view.segment());
        let l = g.current(list)?;
        let said = list_of(g.block(l), list, segment, |l| l.class(n))?.ok_or_else(|| Ora::new(8103))?;
        if said == class {
            return Ok(false);
        }
        faults::point("space-class-changing");
        let mut data = le(&[n]);
        data.push(class.code());
        g.change(l, Layer::Space, space::EXTENT_CLASS, &data)?;
        let begin = list_begin(self.cache.block_size(), n);
        let from = |v: BlockView| SegmentView::new(v).room_list(segment).1;
        if class.has(RoomClass::ROOM) && begin < self.peek(g, segment, from)? {
            let h = g.current(segment)?;
            if begin < from(g.block(h)) {
                g.change(h, Layer::Space, space::ROOM_LIST, &le(&[list.0, begin]))?;
            }
        }
        Ok(true)
    }

    /// Makes searches begin one list later when their first list has no extent with room, and is not the last. True
    /// when it did so.
    fn advance_room_list(&self, g: &mut ChangeGroup, segment: Rdba) -> Result<bool> {
        let h = g.current(segment)?;
        let (list, _) = self.segment_view(g.block(h))?.room_list(segment);
        let l = g.current(list)?;
        let (found, first, next) =
            list_of(g.block(l), list, segment, |l| (l.find(0, RoomClass::ROOM), l.first(), l.next()))?;
        if found.is_some() || next.is_none() {
            return Ok(false);
        }
        let begin = in_order(Some(first), self.peek(g, next, |v| list_of(v, next, segment, |l| l.first()))??)?;
        g.change(h, Layer::Space, space::ROOM_LIST, &le(&[next.0, begin]))?;
        Ok(true)
    }

    /// The present state of a block in its space map; `None` when `map` is no map of the block.
    ///
    /// # Errors
    /// Those of reading.
    pub fn state(&self, p: &Process, map: Rdba, at: Rdba) -> Result<Option<BlockState>> {
        self.cache.read(p, map, GetKind::Current, &mut |v| {
            let view = MapView::new(*v);
            let i = at.0.wrapping_sub(map_start(map, view.extent()).0);
            (v.kind() == Some(BlockKind::SpaceMap) && i < view.blocks()).then(|| view.state(i))
        })
    }

    /// Sets the state of a block in its space map (`map`, from the block's header), in the caller's group: full, with
    /// room again, or free.
    ///
    /// # Errors
    /// ORA-08103 when `map` is no map of the block, and those of [`ChangeGroup::current`].
    pub fn mark(&self, g: &mut ChangeGroup, map: Rdba, at: Rdba, state: BlockState) -> Result<()> {
        let m = g.current(map)?;
        let view = MapView::new(g.block(m));
        let start = map_start(map, view.extent());
        let i = at.0.wrapping_sub(start.0);
        if view.view.kind() != Some(BlockKind::SpaceMap) || i >= view.blocks() {
            return Err(Ora::new(8103));
        }
        if view.state(i) == state {
            return Ok(());
        }
        self.set_state(g, m, i, state)
    }

    /// Finds a block with room for a row: the block of the hint, or another one that has room or is free; a free one is
    /// formatted as `kind` with `itls` ITL slots. The caller inserts in a separate group. If the block turns out to be
    /// full, the caller marks it ([`Space::mark`]), forgets the hint and asks again.
    ///
    /// `make_room` is called before the segment gets an extent, without pins. True: it has marked blocks as having
    /// room, and the search is repeated.
    ///
    /// # Errors
    /// As [`Space::extend`], and those of `make_room`.
    #[allow(clippy::too_many_arguments)]
    pub fn insert_block(
        &self,
        p: &Process,
        segment: Rdba,
        hint: &mut InsertHint,
        kind: BlockKind,
        itls: u8,
        scn: &dyn Fn() -> Scn,
        make_room: &mut dyn FnMut(&mut InsertHint) -> Result<bool>,
    ) -> Result<Rdba> {
        if !hint.block.is_none() {
            return Ok(hint.block);
        }
        let place = place_of(p);
        loop {
            let (mut begin, extents, obj) = self.cache.read(p, segment, GetKind::Current, &mut |v| {
                let s = self.segment_view(*v)?;
                Result::Ok((s.room_list(segment).0, s.extents(), v.obj()))
            })??;
            let (mut list, mut before) = (begin, None);
            while !list.is_none() {
                let read = |l: ExtentList| (l.find(place, RoomClass::ROOM), l.first(), l.next());
                let (found, first, next) =
                    self.cache.read(p, list, GetKind::Current, &mut |v| list_of(*v, list, segment, read))??;
                if let Some((n, extent)) = found {
                    if let Some(at) = self.room_in(p, extent, n, obj, kind, itls, scn)? {
                        hint.block = at;
                        return Ok(at);
                    }
                    continue;
                }
                before = Some(in_order(before, first)?);
                if list == begin
                    && !next.is_none()
                    && self.cache.in_group(p, scn, &mut |g| self.advance_room_list(g, segment))?
                {
                    begin = next;
                }
                list = next;
            }
            if !make_room(hint)? {
                self.extend_if(p, segment, extents, scn)?;
            }
        }
    }

    /// The next blocks that the space maps call full, `wanted` at most; fewer when the segment, or [`MAPS_PER_LOOK`] of
    /// its maps, have no more. Successive calls with one hint go round the segment, or back from its end after
    /// [`InsertHint::look_elsewhere`]. A process begins its round at a place of its own, so that many short sessions do
    /// not all look at the same blocks.
    ///
    /// # Errors
    /// ORA-08103 when there is no segment at `segment`, ORA-01578, and those of reading.
    pub fn next_full(&self, p: &Process, segment: Rdba, hint: &mut InsertHint, wanted: usize) -> Result<Vec<Rdba>> {
        let mut found = Vec::with_capacity(wanted);
        let (obj, listed, extents, (last, first)) = self.cache.read(p, segment, GetKind::Current, &mut |v| {
            let s = self.segment_view(*v)?;
            Result::Ok((v.obj(), s.listed(), s.extents(), s.room_list(segment)))
        })??;
        let at = &mut hint.looked[hint.turn];
        if at.list.is_none() {
            let any = place_of(p).wrapping_add(extents);
            *at = if hint.turn == 0 {
                Place { list: segment, extent: any % listed.max(1), index: any.wrapping_mul(17) % UNIT_BLOCKS }
            } else {
                Place {
                    list: last,
                    extent: extents.saturating_sub(1).max(first),
                    index: any.wrapping_mul(17) % UNIT_BLOCKS,
                }
            };
        }
        let (begin, mut is_second_round) = ((at.extent, at.index), false);
        for _ in 0..MAPS_PER_LOOK {
            let n = at.extent;
            let list = at.list;
            let read = |v: BlockView| list_of(v, list, segment, |l| (l.extent(n), l.next(), l.first()));
            let Ok((extent, next, first)) = self.cache.read(p, list, GetKind::Current, &mut |v| read(*v))? else {
                // The segment has become shorter.
                *at = Place::default();
                break;
            };
            let Some(extent) = extent else {
                if !next.is_none() {
                    at.list = next;
                } else if is_second_round {
                    break;
                } else {
                    (*at, is_second_round) = (Place { list: segment, extent: 0, index: 0 }, true);
                }
                continue;
            };
            let (before, from) = (found.len(), at.index);
            let end = if is_second_round && n == begin.0 { begin.1 } else { extent.blocks };
            // Set before the map is read, so that a damaged map stops one look and not all later ones.
            let goes_back = hint.turn == 1;
            (at.extent, at.index) = (if goes_back { n.wrapping_sub(1) } else { n + 1 }, 0);
            self.cache.read(p, map_of(extent, n), GetKind::Current, &mut |v| {
                found.truncate(before);
                let m = MapView::new(*v);
                if v.kind() == Some(BlockKind::SpaceMap) && v.obj() == obj && m.extent() == n {
                    let full = (from..end.min(m.blocks())).filter(|i| m.state(*i) == BlockState::Full);
                    found.extend(full.take(wanted - before).map(|i| Rdba(extent.start.0 + i)));
                }
            })?;
            if found.len() == wanted {
                (at.extent, at.index) = (n, found.last().map_or(0, |last| last.0 - extent.start.0 + 1));
                break;
            }
            if goes_back && n <= first {
                *at = Place::default();
                break;
            }
            if is_second_round && n >= begin.0 {
                break;
            }
        }
        Ok(found)
    }

    /// Adds an extent unless another process did.
    fn extend_if(&self, p: &Process, segment: Rdba, seen: u32, scn: &dyn Fn() -> Scn) -> Result<()> {
        self.cache.in_group(p, scn, &mut |g| {
            let h = g.current(segment)?;
            if self.segment_view(g.block(h))?.extents() > seen {
                return Ok(());
            }
            self.extend(g, segment).map(drop)
        })
    }

    /// A block with room of an extent whose class has one; `None` when it has none any more.
    #[allow(clippy::too_many_arguments)]
    fn room_in(
        &self,
        p: &Process,
        extent: Extent,
        n: u32,
        obj: ObjectId,
        kind: BlockKind,
        itls: u8,
        scn: &dyn Fn() -> Scn,
    ) -> Result<Option<Rdba>> {
        let map = map_of(extent, n);
        let from = place_of(p);
        loop {
            let found = self.cache.read(p, map, GetKind::Current, &mut |v| {
                let m = MapView::new(*v);
                m.find_room(from).map(|i| (i, m.state(i)))
            })?;
            let Some((i, state)) = found else {
                self.cache.in_group(p, scn, &mut |g| {
                    let m = g.current(map)?;
                    self.note_without(g, m, RoomClass::ROOM)
                })?;
                return Ok(None);
            };
            let at = Rdba(extent.start.0 + i);
            if state == BlockState::Room {
                return Ok(Some(at));
            }
            let made = self.cache.in_group(p, scn, &mut |g| {
                let m = g.current(map)?;
                if MapView::new(g.block(m)).state(i) != BlockState::Free {
                    return Ok(false);
                }
                self.set_state(g, m, i, BlockState::Room)?;
                g.format(at, kind, obj, map, itls)?;
                Ok(true)
            })?;
            if made {
                return Ok(Some(at));
            }
        }
    }

    fn header(&self, p: &Process, segment: Rdba) -> Result<(Vec<Extent>, ObjectId)> {
        let read = self.cache.read(p, segment, GetKind::Current, &mut |v| {
            let s = SegmentView::new(*v);
            let extents: Vec<Extent> = (0..s.listed()).filter_map(|n| s.extent(n)).collect();
            (v.kind(), extents, s.next_map(), v.obj())
        })?;
        let (Some(BlockKind::SegmentHeader), mut extents, mut next, obj) = read else {
            return Err(Ora::new(8103));
        };
        while !next.is_none() {
            let before = extents.len();
            let read = self.cache.read(p, next, GetKind::Current, &mut |v| {
                extents.truncate(before);
                extent_map(*v, segment, |m| {
                    extents.extend((0..m.listed()).filter_map(|i| m.extent(m.first() + i)));
                    (m.first() as usize == before && m.listed() > 0).then(|| m.next_map())
                })
            })?;
            // A segment that shrinks meanwhile no longer has the later extents.
            let Some(Some(further)) = read else {
                extents.truncate(before);
                break;
            };
            next = further;
        }
        Ok((extents, obj))
    }

    /// The segment's extents, in order.
    ///
    /// # Errors
    /// ORA-08103 when there is no segment at `segment`, and those of reading.
    pub fn extents(&self, p: &Process, segment: Rdba) -> Result<Vec<Extent>> {
        Ok(self.header(p, segment)?.0)
    }

    /// The extents of the segment with the data object `object`, in order and complete, for a scan.
    ///
    /// # Errors
    /// ORA-08103 when the segment is gone or going: another segment may have its extents, and its list may be
    /// incomplete. Those of reading.
    pub fn extents_of(&self, p: &Process, segment: Rdba, object: ObjectId) -> Result<Vec<Extent>> {
        let gone = || Ora::new(8103);
        let mut extents = Vec::new();
        let (mut next, all) = self
            .cache
            .read(p, segment, GetKind::Current, &mut |v| {
                let s = SegmentView::new(*v);
                extents.clear();
                if v.kind() != Some(BlockKind::SegmentHeader) || v.obj() != object || s.is_going() {
                    return None;
                }
                extents.extend((0..s.listed()).filter_map(|n| s.extent(n)));
                Some((s.next_map(), s.extents() as usize))
            })?
            .ok_or_else(gone)?;
        while extents.len() < all {
            if next.is_none() {
                return Err(gone());
            }
            let before = extents.len();
            let read = self.cache.read(p, next, GetKind::Current, &mut |v| {
                extents.truncate(before);
                extent_map(*v, segment, |m| {
                    extents.extend((0..m.listed()).filter_map(|i| m.extent(m.first() + i)));
                    (v.obj() == object && m.first() as usize == before && m.listed() > 0).then(|| m.next_map())
                })
            })?;
            next = read.flatten().ok_or_else(gone)?;
        }
        Ok(extents)
    }

    /// Whether the segment at this address is the one with the data object `object`, and is not being dropped.
    ///
    /// # Errors
    /// Those of reading.
    pub fn is_there(&self, p: &Process, segment: Rdba, object: ObjectId) -> Result<bool> {
        self.cache.read(p, segment, GetKind::Current, &mut |v| {
            v.kind() == Some(BlockKind::SegmentHeader) && v.obj() == object && !SegmentView::new(*v).is_going()
        })
    }

    /// The data object number of the segment; a TRUNCATE changes it.
    ///
    /// # Errors
    /// As [`Space::extents`].
    pub fn object(&self, p: &Process, segment: Rdba) -> Result<ObjectId> {
        let read = self.cache.read(p, segment, GetKind::Current, &mut |v| (v.kind(), v.obj()))?;
        match read {
            (Some(BlockKind::SegmentHeader), object) => Ok(object),
            _ => Err(Ora::new(8103)),
        }
    }

    /// Appends the formatted blocks of extent number `n`, without header and map, for a full scan. `object` is the
    /// segment's.
    ///
    /// # Errors
    /// ORA-08103 when the extent no longer belongs to the segment: the block of its map has other content. Those of
    /// reading.
    pub fn formatted_blocks(
        &self,
        p: &Process,
        object: ObjectId,
        extent: Extent,
        n: u32,
        to: &mut Vec<Rdba>,
    ) -> Result<()> {
        let first = self.data_begin(n);
        let before = to.len();
        let is_its = self.cache.read(p, map_of(extent, n), GetKind::Consistent, &mut |v| {
            to.truncate(before);
            let m = MapView::new(*v);
            if v.kind() != Some(BlockKind::SpaceMap) || v.obj() != object || m.extent() != n {
                return false;
            }
            let blocks = (first..m.blocks().min(extent.blocks)).filter(|i| m.state(*i) != BlockState::Free);
            to.extend(blocks.map(|i| Rdba(extent.start.0 + i)));
            true
        })?;
        if is_its { Ok(()) } else { Err(Ora::new(8103)) }
    }

    /// Ensures that the segment has at least `blocks` blocks beside headers and maps, all formatted as `kind` with
    /// `itls` ITL slots and in the state Used: the blocks of a hash cluster. [`Space::nth_block`] addresses them.
    ///
    /// # Errors
    /// As [`Space::extend`].
    pub fn preallocate(
        &self,
        p: &Process,
        segment: Rdba,
        blocks: u32,
        kind: BlockKind,
        itls: u8,
        scn: &dyn Fn() -> Scn,
    ) -> Result<()> {
        let (mut done, mut n) = (0, 0);
        while done < blocks {
            let (extents, obj) = self.header(p, segment)?;
            let Some(extent) = extents.get(n as usize) else {
                self.extend_if(p, segment, n, scn)?;
                continue;
            };
            let end = extent.blocks.min(self.data_begin(n) + (blocks - done));
            let mut i = self.data_begin(n);
            while i < end {
                let upto = end.min(i + 8);
                self.cache.in_group(p, scn, &mut |g| self.format_run(g, *extent, n, i..upto, kind, obj, itls))?;
                i = upto;
            }
            done += end - self.data_begin(n);
            n += 1;
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn format_run(
        &self,
        g: &mut ChangeGroup,
        extent: Extent,
        n: u32,
        run: std::ops::Range<u32>,
        kind: BlockKind,
        obj: ObjectId,
        itls: u8,
    ) -> Result<()> {
        let map = g.current(map_of(extent, n))?;
        for i in run {
            if MapView::new(g.block(map)).state(i) == BlockState::Free {
                self.set_state(g, map, i, BlockState::Used)?;
                g.format(Rdba(extent.start.0 + i), kind, obj, map.rdba(), itls)?;
            }
        }
        Ok(())
    }

    /// Address of block number `n` (from 0) of the segment, headers and maps not counted. Pure arithmetic over the
    /// extents.
    pub fn nth_block(&self, extents: &[Extent], n: u32) -> Option<Rdba> {
        let mut left = n;
        for (i, extent) in extents.iter().enumerate() {
            let begin = self.data_begin(i as u32);
            let here = extent.blocks.saturating_sub(begin);
            if left < here {
                return Some(Rdba(extent.start.0 + begin + left));
            }
            left -= here;
        }
        None
    }

    /// The index of the first data block of extent number `n`, after header and maps.
    fn data_begin(&self, n: u32) -> u32 {
        head_blocks(self.cache.block_size(), n)
    }

    /// Drops a segment: all its blocks may be used again. Every step leaves a sound, shorter segment (S7), so an
    /// interrupted drop is repeated.
    ///
    /// # Errors
    /// ORA-08103 when there is no segment at `segment`, and those of reading.
    pub fn drop_segment(&self, p: &Process, segment: Rdba, scn: &dyn Fn() -> Scn) -> Result<()> {
        self.cut_back(p, segment, scn)?;
        self.cache.in_group(p, scn, &mut |g| self.drop_in(g, segment))
    }

    /// Drops all extents but the first, each in a separate group.
    ///
    /// # Errors
    /// As [`Space::drop_segment`].
    pub fn cut_back(&self, p: &Process, segment: Rdba, scn: &dyn Fn() -> Scn) -> Result<()> {
        self.header(p, segment)?;
        // Marked first: a scan that begins afterwards must not treat the remaining extents as all of them.
        self.cache.in_group(p, scn, &mut |g| {
            let h = g.current(segment)?;
            let view = self.segment_view(g.block(h))?;
            if view.is_going() || view.extents() <= 1 {
                return Ok(());
            }
            g.change(h, Layer::Space, space::GOING, &[])
        })?;
        while self.drop_last_extent(p, segment, 1, scn)? {}
        Ok(())
    }

    /// Drops a segment that was cut back, in the caller's group.
    ///
    /// # Errors
    /// As [`Space::drop_segment`]; ORA-00600 for one of several extents.
    pub fn drop_in(&self, g: &mut ChangeGroup, segment: Rdba) -> Result<()> {
        let h = g.current(segment)?;
        let view = self.segment_view(g.block(h))?;
        let (extent, obj) = (view.extent(0), view.view.obj());
        if view.extents() > 1 {
            return Err(Ora::internal(format_args!("segment {segment} was not cut back")));
        }
        if let Some(extent) = extent {
            g.change(h, Layer::Space, space::DROP_EXTENT, &le(&[extent.blocks]))?;
            self.give_back(g, extent)?;
        }
        let data = buffer_cache::format_vector(BlockKind::Temporary, segment, obj, Rdba::NONE, 0);
        g.change(h, Layer::Block, op::FORMAT, &data)
    }

    /// Empties a segment: one extent is left, all its blocks are free, and it has the data object number `obj` from now
    /// on.
    ///
    /// # Errors
    /// As [`Space::drop_segment`].
    pub fn truncate(&self, p: &Process, segment: Rdba, obj: ObjectId, scn: &dyn Fn() -> Scn) -> Result<()> {
        self.header(p, segment)?;
        while self.drop_last_extent(p, segment, 1, scn)? {}
        self.cache.in_group(p, scn, &mut |g| {
            let h = g.current(segment)?;
            let Some(extent) = self.segment_view(g.block(h))?.extent(0) else { return Ok(()) };
            g.change(h, Layer::Space, space::SET_OBJ, &le(&[obj.0]))?;
            g.change(h, Layer::Space, space::ROOM_LIST, &le(&[0, 0]))?;
            g.change(h, Layer::Space, space::SEGMENT_AUX, &[0; 16])?;
            let map = g.current(map_of(extent, 0))?;
            let data = le(&[map.rdba().0, obj.0, segment.0, segment.0, 0, extent.blocks, 2]);
            g.change(map, Layer::Space, space::FORMAT_MAP, &data)?;
            self.repeat_class(g, map).map(drop)
        })
    }

    /// Sets the fields of the access layer in a segment header, in the caller's group.
    ///
    /// # Errors
    /// ORA-08103 when there is no segment at `segment`.
    pub fn set_aux(&self, g: &mut ChangeGroup, segment: Rdba, a: u32, b: u32, c: u64) -> Result<()> {
        let h = g.current(segment)?;
        self.segment_view(g.block(h))?;
        let mut data = le(&[a, b]);
        data.extend_from_slice(&c.to_le_bytes());
        g.change(h, Layer::Space, space::SEGMENT_AUX, &data)
    }

    /// The fields of the access layer in a segment header.
    ///
    /// # Errors
    /// As [`Space::extents`].
    pub fn aux(&self, p: &Process, segment: Rdba, kind: GetKind) -> Result<(u32, u32, u64)> {
        let read = self.cache.read(p, segment, kind, &mut |v| {
            let s = SegmentView::new(*v);
            (v.kind(), s.aux32(), s.aux64())
        })?;
        match read {
            (Some(BlockKind::SegmentHeader), (a, b), c) => Ok((a, b, c)),
            _ => Err(Ora::new(8103)),
        }
    }

    fn drop_last_extent(&self, p: &Process, segment: Rdba, keep: u32, scn: &dyn Fn() -> Scn) -> Result<bool> {
        faults::point("space-dropping-extents");
        self.cache.in_group(p, scn, &mut |g| {
            let h = g.current(segment)?;
            let view = self.segment_view(g.block(h))?;
            let n = view.extents();
            if n <= keep {
                return Ok(false);
            }
            let extent = self.extent_at(g, segment, n - 1)?.ok_or_else(|| Ora::internal("extent map"))?;
            g.change(h, Layer::Space, space::DROP_EXTENT, &le(&[extent.blocks]))?;
            if n > extents_in_header(self.cache.block_size()) {
                self.unlist(g, segment, n - 1)?;
            }
            self.give_back(g, extent)?;
            Ok(true)
        })
    }

    /// Removes extent number `n`, the last one, from the last extent map. When it is the map's first extent, the map
    /// goes with it.
    fn unlist(&self, g: &mut ChangeGroup, segment: Rdba, n: u32) -> Result<()> {
        let last = self.last_map(g, segment)?;
        if !begins_map(self.cache.block_size(), n) {
            let map = g.current(last)?;
            return g.change(map, Layer::Space, space::DROP_FROM_MAP, &[]);
        }
        let mut before = segment;
        let mut next = self.peek(g, segment, |v| SegmentView::new(v).next_map())?;
        while next != last && !next.is_none() {
            before = next;
            next = self.peek(g, next, |v| ExtentMapView::new(v).next_map())?;
        }
        let before = g.current(before)?;
        g.change(before, Layer::Space, space::NEXT_MAP, &le(&[0]))
    }

    fn give_back(&self, g: &mut ChangeGroup, extent: Extent) -> Result<()> {
        if self.cache.files().is_temporary(extent.start.file()) {
            self.temp.give_back_in(g, extent);
            return Ok(());
        }
        let size = self.cache.block_size();
        let unit = (extent.start.block() - DataFiles::first_data_block_of(size)) / UNIT_BLOCKS;
        let per_block = block::segment::units_max(size);
        let b = g.current(Rdba::new(extent.start.file(), 1 + unit / per_block))?;
        g.change(b, Layer::Space, space::FREE_UNITS, &le(&[unit % per_block, extent.blocks.div_ceil(UNIT_BLOCKS)]))
    }

    /// The runs of free blocks in a file, for `dba_free_space`.
    ///
    /// # Errors
    /// Those of reading.
    pub fn free_runs(&self, p: &Process, file: u32) -> Result<Vec<Extent>> {
        let size = self.cache.block_size();
        let first_block = DataFiles::first_data_block_of(size);
        let (mut runs, mut all_units) = (Vec::<Extent>::new(), 0);
        for n in 0..DataFiles::bitmap_blocks_of(size) {
            let (first, blocks, free) = self.cache.read(p, Rdba::new(file, n + 1), GetKind::Current, &mut |v| {
                let b = BitmapView::new(*v);
                let free: Vec<u32> = (0..b.units()).filter(|i| !b.is_used(*i)).collect();
                (b.first_unit(), b.file_blocks(), free)
            })?;
            if n == 0 {
                all_units = blocks.saturating_sub(first_block) / UNIT_BLOCKS;
            }
            for unit in free.into_iter().map(|i| first + i).take_while(|unit| *unit < all_units) {
                let start = Rdba::new(file, first_block + unit * UNIT_BLOCKS);
                match runs.last_mut() {
                    Some(last) if last.start.0 + last.blocks == start.0 => last.blocks += UNIT_BLOCKS,
                    _ => runs.push(Extent { start, blocks: UNIT_BLOCKS }),
                }
            }
            if first >= all_units {
                break;
            }
        }
        Ok(runs)
    }

    /// Size of a file in blocks, by its first bitmap.
    ///
    /// # Errors
    /// Those of reading.
    pub fn file_blocks(&self, p: &Process, file: u32) -> Result<u32> {
        self.cache.read(p, Rdba::new(file, 1), GetKind::Current, &mut |v| BitmapView::new(*v).file_blocks())
    }

    /// Makes a file larger or smaller. The caller holds the enqueue DD: one process at a time makes files smaller.
    ///
    /// A bigfile gets parts, or loses its last ones. Its last part may get more blocks than were asked for: no part is
    /// smaller than the smallest file.
    ///
    /// # Errors
    /// ORA-03297 when blocks beyond the new end are in use, ORA-03214 for one that is too small, ORA-01237 when the
    /// file cannot grow.
    pub fn resize_file(&self, p: &Process, head: u32, blocks: u64, scn: &dyn Fn() -> Scn) -> Result<()> {
        let least = part_blocks_min(self.cache.block_size());
        if blocks < u64::from(least) {
            return Err(Ora::new(3214));
        }
        let files = self.cache.files();
        let sizes = part_sizes(blocks, files.blocks_most(head), least);
        let listed = || -> Result<Vec<u32>> { Ok(files.control()?.parts_of(head).iter().map(|f| f.file).collect()) };
        for beyond in listed()?.iter().skip(sizes.len()).rev() {
            self.remove_part(p, head, *beyond, scn)?;
        }
        for (n, blocks) in sizes.into_iter().enumerate() {
            while n >= listed()?.len() {
                // The part before is full.
                let last = listed()?[n - 1];
                self.cache.in_group(p, scn, &mut |g| {
                    g.current(Rdba::new(last, 1))?;
                    self.add_part(p, head, n as u32 - 1)
                })?;
            }
            self.resize_part(p, head, listed()?[n], blocks, scn)?;
        }
        Ok(())
    }

    /// Removes the last part of a bigfile (S15): first its bitmap says that it has no blocks, then its buffers, its
    /// entry and its blocks go.
    fn remove_part(&self, p: &Process, head: u32, file: u32, scn: &dyn Fn() -> Scn) -> Result<()> {
        let size = self.cache.block_size();
        let first_block = DataFiles::first_data_block_of(size);
        self.resize_part(p, head, file, part_blocks_min(size), scn)?;
        self.cache.in_group(p, scn, &mut |g| {
            let b = g.current(Rdba::new(file, 1))?;
            let view = BitmapView::new(g.block(b));
            if (0..view.units()).any(|i| view.is_used(i)) {
                return Err(Ora::new(3297));
            }
            g.change(b, Layer::Space, space::FILE_BLOCKS, &le(&[first_block]))
        })?;
        // After the removal no redo of the part can be applied.
        let rba = self.cache.checkpoint(p)?.rba;
        self.cache.redo().note_checkpoint(p, rba)?;
        faults::point("part-closed");
        self.cache.in_group(p, scn, &mut |g| {
            g.current(Rdba::new(head, 1))?;
            let files = self.cache.files();
            let before = {
                let control = files.control()?;
                let parts = control.parts_of(head);
                parts.iter().rev().nth(1).map_or(head, |f| f.file)
            };
            // A process that adds a part holds the bitmap of the last one, which the part before is once this part is
            // unlisted (S14).
            g.current(Rdba::new(before, 1))?;
            let control = files.control()?;
            let parts = control.parts_of(head);
            let is_last = parts.last().is_some_and(|f| f.file == file)
                && parts.iter().rev().nth(1).is_some_and(|f| f.file == before);
            let blocks = self.peek(g, Rdba::new(file, 1), |v| BitmapView::new(v).file_blocks())?;
            if blocks > first_block || !is_last {
                // Another process has grown the file again, and the space may be in use.
                return Err(Ora::new(3297));
            }
            files.fence_off(file);
            let removed = self
                .cache
                .discard(p, &|at| at.file() == file)
                .and_then(|()| files.drop_part(p, file, self.cache.redo_on_disk()));
            if removed.is_err() {
                files.refresh()?;
            }
            removed
        })
    }

    /// Makes a file or a part larger or smaller.
    fn resize_part(&self, p: &Process, head: u32, file: u32, blocks: u32, scn: &dyn Fn() -> Scn) -> Result<()> {
        let size = self.cache.block_size();
        let first_block = DataFiles::first_data_block_of(size);
        let bitmap_of = |blocks: u32| blocks.saturating_sub(first_block) / UNIT_BLOCKS / units_max(size);
        let now = self.file_blocks(p, file)?;
        if bitmap_of(now) > bitmap_of(blocks) + BITMAPS_AT_ONCE {
            // A group has no room for more bitmaps, so the file becomes smaller in steps.
            let step = (bitmap_of(now) - BITMAPS_AT_ONCE) * units_max(size) * UNIT_BLOCKS + first_block;
            self.resize_part(p, head, file, step, scn)?;
        }
        let old = self.cache.in_group(p, scn, &mut |g| {
            let first = g.current(Rdba::new(file, 1))?;
            let old = BitmapView::new(g.block(first)).file_blocks();
            if blocks == old {
                return Ok(old);
            }
            if blocks > old {
                self.cache.files().extend(file, blocks)?;
            }
            let end_unit = (blocks - first_block) / UNIT_BLOCKS;
            // The bitmaps are pinned, so that no process takes space beyond the new end.
            for n in bitmap_of(blocks)..=bitmap_of(old.max(blocks)).min(bitmap_of(blocks) + BITMAPS_AT_ONCE) {
                let b = g.current(Rdba::new(file, n + 1))?;
                let view = BitmapView::new(g.block(b));
                let beyond = end_unit.saturating_sub(view.first_unit()).min(view.units());
                if blocks < old && (beyond..view.units()).any(|i| view.is_used(i)) {
                    return Err(Ora::new(3297));
                }
            }
            g.change(first, Layer::Space, space::FILE_BLOCKS, &le(&[blocks]))?;
            Ok(old)
        })?;
        if blocks < old {
            // Recovery reads the blocks that redo changes, so no redo for blocks beyond the end may be needed (S8).
            let rba = self.cache.checkpoint(p)?.rba;
            self.cache.redo().note_checkpoint(p, rba)?;
            faults::point("space-file-shrinking");
            self.cache.in_group(p, scn, &mut |g| {
                // No process grows the file while its first bitmap is pinned. One that has grown it since the bitmap
                // changed has extents beyond `blocks`, so the file keeps its length.
                let first = g.current(Rdba::new(file, 1))?;
                let files = self.cache.files();
                let is_last = files.control()?.parts_of(head).last().is_none_or(|f| f.file == file);
                if BitmapView::new(g.block(first)).file_blocks() != blocks || !is_last {
                    return Ok(());
                }
                self.cache.discard(p, &|at| at.file() == file && at.block() >= blocks)?;
                files.shrink(file, blocks)
            })?;
        }
        Ok(())
    }

    /// Free and total bytes of a file's space for segments, as `dba_free_space` and `dba_data_files` count them.
    ///
    /// # Errors
    /// Those of reading.
    pub fn file_space(&self, p: &Process, file: u32) -> Result<(u64, u64)> {
        let size = self.cache.block_size();
        let first_block = DataFiles::first_data_block_of(size);
        let (mut used, mut blocks) = (0u64, 0);
        for n in 0..DataFiles::bitmap_blocks_of(size) {
            let (u, b) = self.cache.read(p, Rdba::new(file, n + 1), GetKind::Current, &mut |v| {
                let b = BitmapView::new(*v);
                (b.used(), b.file_blocks())
            })?;
            used += u64::from(u);
            if n == 0 {
                blocks = b;
            }
        }
        let total = u64::from(blocks.saturating_sub(first_block) / UNIT_BLOCKS);
        let unit = u64::from(UNIT_BLOCKS) * size as u64;
        Ok((total.saturating_sub(used) * unit, u64::from(blocks) * size as u64))
    }
}

/// Reads an extent map of `segment`; `None` when the block has other content now.
fn extent_map<R>(v: BlockView, segment: Rdba, f: impl FnOnce(ExtentMapView) -> R) -> Option<R> {
    let map = ExtentMapView::new(v);
    (v.kind() == Some(BlockKind::ExtentMap) && map.segment() == segment).then(|| f(map))
}

/// Reads the block `at`, which lists extents of `segment`.
///
/// # Errors
/// ORA-08103 when the block has other content now.
fn list_of<R>(v: BlockView, at: Rdba, segment: Rdba, f: impl FnOnce(ExtentList) -> R) -> Result<R> {
    let is_its = match v.kind() {
        Some(BlockKind::SegmentHeader) => at == segment,
        _ => ExtentMapView::new(v).segment() == segment,
    };
    ExtentList::of(v).filter(|_| is_its).map(f).ok_or_else(|| Ora::new(8103))
}

/// The number of the first extent of a list, which is greater than that of the previous list, so no search runs in a
/// circle (S13).
///
/// # Errors
/// ORA-08103 when it is not greater.
fn in_order(before: Option<u32>, first: u32) -> Result<u32> {
    if before.is_none_or(|before| before < first) { Ok(first) } else { Err(Ora::new(8103)) }
}

/// The data read from an extent map, its first extent and the next map. The map follows a list that begins with extent
/// `before`.
///
/// # Errors
/// ORA-08103 when the block is no extent map of the segment, or does not follow that list.
fn behind(before: u32, read: Option<(u32, Rdba)>) -> Result<(u32, Rdba)> {
    let (first, next) = read.ok_or_else(|| Ora::new(8103))?;
    Ok((in_order(Some(before), first)?, next))
}

/// The place where a process begins to search, in lists and in space maps. Neighbouring process numbers give distant
/// places.
fn place_of(p: &Process) -> u32 {
    p.number().wrapping_sub(1).wrapping_mul(0x9E37_79B9) >> 16
}

/// The space map of extent number `n`.
fn map_of(extent: Extent, n: u32) -> Rdba {
    if n == 0 { Rdba(extent.start.0 + 1) } else { extent.start }
}

/// Start of the extent number `n` that has its space map at `map`.
fn map_start(map: Rdba, n: u32) -> Rdba {
    if n == 0 { Rdba(map.0 - 1) } else { map }
}

/// Blocks of a group that are left to its caller where space management does not need them.
const BLOCKS_SPARED: usize = 4;

/// Blocks that a group must have left when [`Space::allocate`] advances the room list: two for that, four for a new
/// extent, and [`BLOCKS_SPARED`].
const BLOCKS_FOR_ADVANCE: usize = 2 + 4 + BLOCKS_SPARED;

/// Number of parts that a growth finds full after it has pinned their bitmaps, before its group begins again.
const GROWTHS_IN_VAIN: usize = 3;

/// Number of tries of a growth that meets a part which is being removed.
const GROWTH_TRIES: u32 = 10;

/// Bitmaps that are held at once while a file becomes smaller.
const BITMAPS_AT_ONCE: u32 = 12;

/// Number of lists and space maps, in pairs, that [`Space::next_full`] reads at most.
const MAPS_PER_LOOK: usize = 16;

const FULL: u32 = 61;

fn full() -> Ora {
    Ora::from_text(Facility::Lwk, FULL, "no file of the tablespace has room")
}

fn is_full(e: &Ora) -> bool {
    e.facility() == Facility::Lwk && e.code() == FULL
}
