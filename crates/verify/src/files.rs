//! The files as they are on disk: headers, every block, bitmaps, and the segment of each unit.

use crate::report::Progress;
use crate::report::Report;
use block::segment::{
    BitmapView, ExtentList, ExtentMapView, MapView, RoomClass, SegmentView, UNIT_BLOCKS, begins_map, extents_in_header,
    head_blocks, list_begin, units_max,
};
use block::{BlockKind, BlockState, Extent, Image, SegmentKind};
use datafile::{Contents, ControlFile, DataFiles, FileEntry};
use std::collections::HashMap;
use types::{ObjectId, Rdba, Result};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// A segment, as its header block describes it.
#[derive(Clone, Debug)]
pub struct Segment {
    pub header: Rdba,
    pub object: ObjectId,
    pub kind: SegmentKind,
    pub tablespace: u32,
    pub extents: Vec<Extent>,
    /// By extent, the room in it by its list, and that list.
    listed: Vec<(RoomClass, Rdba)>,
    /// The first extent of the list that a search for room begins with.
    room_from: u32,
    /// The number of extents by the header, and the first extent map.
    count: u32,
    next_map: Rdba,
}

/// The contents of the files.
#[derive(Default)]
pub struct Space {
    pub segments: Vec<Segment>,
    /// Segment headers in space that the bitmap says is free: left from an earlier use, unless the dictionary has them.
    pub free_headers: Vec<Rdba>,
    /// Kind, data object and map of every formatted segment block, to be compared with the space maps.
    blocks: HashMap<Rdba, (BlockKind, ObjectId, Rdba)>,
    maps: HashMap<Rdba, Image>,
    /// Damaged blocks, reported once and left out of further checks.
    damaged: std::collections::HashSet<Rdba>,
}

/// One file while it is checked.
struct Bitmap {
    used: Vec<bool>,
    /// Index + 1 of the segment that a unit belongs to.
    owner: Vec<u32>,
    blocks: u32,
}

/// Checks every file of the database.
///
/// # Errors
/// None in practice: a file or block that cannot be read is a finding.
pub fn check(
    files: &DataFiles,
    control: &ControlFile,
    report: &mut Report,
    progress: &mut dyn FnMut(&Progress),
) -> Space {
    let mut space = Space::default();
    let mut bitmaps = HashMap::new();
    let sizes: Vec<u32> = control.files.iter().map(|f| files.blocks(f.file).unwrap_or(0)).collect();
    let all: u64 = sizes.iter().map(|n| u64::from(*n)).sum();
    let mut done = 0u64;
    for (entry, size) in control.files.iter().zip(sizes) {
        let of = control.tablespace(entry.tablespace);
        if of.is_some_and(|t| t.contents == Contents::Temporary) {
            // The contents of temporary files ended with the instance.
            continue;
        }
        if entry.is_offline || of.is_some_and(|t| t.is_offline) {
            report.note(format!("{} is offline and was not checked", entry.name));
            continue;
        }
        report.counts.files += u64::from(entry.is_head());
        if control.parts_of(entry.head()).last().is_some_and(|last| last.part > entry.part)
            && size < control.blocks_most(entry)
        {
            report.fault(None, &entry.name, format!("part {} is not full, and others follow it", entry.part));
        }
        let mut tick = |blocks: u64| {
            done += blocks;
            progress(&Progress { stage: "blocks", what: &entry.name, done, all });
        };
        match check_file(files, control, entry, size, &mut space, report, &mut tick) {
            Ok(bitmap) => {
                bitmaps.insert(entry.file, bitmap);
            }
            Err(e) => report.fault(None, &entry.name, e.to_string()),
        }
    }
    check_segments(files, control, &mut space, &mut bitmaps, report);
    for entry in &control.files {
        if let Some(bitmap) = bitmaps.get(&entry.file) {
            check_owners(files.block_size(), entry, bitmap, report);
        }
    }
    space.blocks = HashMap::new();
    space.maps = HashMap::new();
    space
}

#[allow(clippy::too_many_arguments)]
fn check_file(
    files: &DataFiles,
    control: &ControlFile,
    entry: &FileEntry,
    size: u32,
    space: &mut Space,
    report: &mut Report,
    tick: &mut dyn FnMut(u64),
) -> Result<Bitmap> {
    let block_size = control.block_size;
    let first_data = DataFiles::first_data_block_of(block_size);
    let mut bitmap = Bitmap { used: Vec::new(), owner: Vec::new(), blocks: size };
    // Reading checks the header block.
    files.read_block(Rdba::new(entry.file, 0), Image::new(block_size).bytes_mut())?;
    let mut image = Image::new(block_size);
    let mut chunk = vec![0; CHUNK_BYTES / block_size * block_size];
    let mut at = 0;
    while at < size {
        let n = ((size - at) as usize).min(chunk.len() / block_size);
        let read = files.read_blocks(Rdba::new(entry.file, at), &mut chunk[..n * block_size]);
        for i in 0..n {
            let rdba = Rdba::new(entry.file, at + i as u32);
            let bytes = image.bytes_mut();
            bytes.copy_from_slice(&chunk[i * block_size..(i + 1) * block_size]);
            // A chunk that failed as a whole is read again block by block, to find the failing one.
            let one = if read.is_ok() { Ok(()) } else { files.read_blocks(rdba, bytes) };
            report.counts.blocks += 1;
            if let Err(e) = one {
                report.fault(Some(rdba), &entry.name, e.to_string());
                space.damaged.insert(rdba);
                continue;
            }
            match block::check(image.bytes(), rdba) {
                Ok(()) => note_block(rdba, &image, first_data, &mut bitmap, space, entry, report),
                Err(damage) => {
                    report.fault(Some(rdba), &entry.name, damage_text(damage));
                    space.damaged.insert(rdba);
                }
            }
        }
        at += n as u32;
        tick(n as u64);
    }
    bitmap.owner = vec![0; bitmap.used.len()];
    Ok(bitmap)
}

fn damage_text(damage: block::Damage) -> &'static str {
    match damage {
        block::Damage::Checksum => "the checksum does not match: torn, or changed outside the database",
        block::Damage::Version => "written by another format version",
        block::Damage::Address => "the block says that it is another block",
        block::Damage::Kind => "its kind is unknown",
        block::Damage::Structure => "its counts and offsets do not fit a block",
    }
}

/// Keeps the parts of a sound block that later checks need.
fn note_block(
    at: Rdba,
    image: &Image,
    first_data: u32,
    bitmap: &mut Bitmap,
    space: &mut Space,
    entry: &FileEntry,
    report: &mut Report,
) {
    let view = image.view();
    let Some(kind) = view.kind() else { return };
    let bitmaps = first_data_bitmaps(image.bytes().len());
    if at.block() == 0 {
        if kind != BlockKind::FileHeader {
            report.fault(Some(at), &entry.name, "the first block is no file header");
        }
        return;
    }
    if at.block() <= bitmaps {
        if kind != BlockKind::FileBitmap {
            report.fault(Some(at), &entry.name, format!("a block of kind {kind:?} where a bitmap must be"));
            return;
        }
        if let Err(what) = block::assert_invariants(image.bytes()) {
            report.fault(Some(at), &entry.name, what);
        }
        let b = BitmapView::new(view);
        bitmap.used.extend((0..b.units()).map(|i| b.is_used(i)));
        if at.block() == 1 && b.file_blocks() > bitmap.blocks {
            let what = format!("the bitmap speaks of {} blocks, the file has {}", b.file_blocks(), bitmap.blocks);
            report.fault(Some(at), &entry.name, what);
        }
        return;
    }
    if at.block() < first_data {
        if kind != BlockKind::Unformatted {
            report.fault(Some(at), &entry.name, format!("a block of kind {kind:?} before the first extent"));
        }
        return;
    }
    match kind {
        BlockKind::Unformatted => return,
        BlockKind::SegmentHeader => {
            let s = SegmentView::new(view);
            let extents: Vec<Extent> = (0..s.listed()).filter_map(|n| s.extent(n)).collect();
            // A header that does not lie at the start of its first extent is left from an earlier use of the block.
            if let (Some(kind), true) = (s.segment_kind(), extents.first().is_some_and(|e| e.start == at)) {
                if let Err(what) = block::assert_invariants(image.bytes()) {
                    report.fault(Some(at), &entry.name, what);
                }
                let (object, tablespace) = (view.obj(), s.tablespace());
                let (count, next_map) = (s.extents(), s.next_map());
                let (_, room_from) = s.room_list(at);
                let mut segment = Segment {
                    header: at,
                    object,
                    kind,
                    tablespace,
                    extents,
                    listed: vec![],
                    room_from,
                    count,
                    next_map,
                };
                note_classes(&mut segment, s.list(), at);
                space.segments.push(segment);
            }
        }
        BlockKind::SpaceMap | BlockKind::ExtentMap => {
            space.maps.insert(at, image.clone());
        }
        _ => {}
    }
    space.blocks.insert(at, (kind, view.obj(), view.map()));
}

fn first_data_bitmaps(block_size: usize) -> u32 {
    DataFiles::bitmap_blocks_of(block_size)
}

/// Every extent of every segment: inside its file, its units in use and of no other segment, its space map right.
fn check_segments(
    files: &DataFiles,
    control: &ControlFile,
    space: &mut Space,
    bitmaps: &mut HashMap<u32, Bitmap>,
    report: &mut Report,
) {
    let first_data = DataFiles::first_data_block_of(files.block_size());
    // A stale header in free space is not a segment.
    let is_live = |s: &Segment| {
        let unit = (s.header.block() - first_data) / UNIT_BLOCKS;
        bitmaps.get(&s.header.file()).is_none_or(|b| b.used.get(unit as usize).copied().unwrap_or(true))
    };
    space.free_headers = space.segments.iter().filter(|s| !is_live(s)).map(|s| s.header).collect();
    space.segments.retain(is_live);
    report.counts.segments = space.segments.len() as u64;
    for segment in &mut space.segments {
        list_extents(&space.maps, segment, report);
    }
    for (index, segment) in space.segments.iter().enumerate() {
        let name = format!("segment {} of object {}", segment.header, segment.object);
        let in_tablespace =
            |file: u32| control.files.iter().any(|f| f.file == file && f.tablespace == segment.tablespace);
        for (n, extent) in segment.extents.iter().enumerate() {
            let at = Some(segment.header);
            if !in_tablespace(extent.start.file()) {
                report.fault(at, &name, format!("extent {n} at {} is not in its tablespace", extent.start));
                continue;
            }
            let Some(bitmap) = bitmaps.get_mut(&extent.start.file()) else { continue };
            let end = u64::from(extent.start.block()) + u64::from(extent.blocks);
            let from = extent.start.block().wrapping_sub(first_data);
            if extent.start.block() < first_data || from % UNIT_BLOCKS != 0 || end > u64::from(bitmap.blocks) {
                report.fault(at, &name, format!("extent {n} at {} with {} blocks", extent.start, extent.blocks));
                continue;
            }
            let units = from / UNIT_BLOCKS..(from / UNIT_BLOCKS + extent.blocks.div_ceil(UNIT_BLOCKS));
            for unit in units {
                claim(bitmap, unit as usize, index as u32 + 1, n, &name, segment, report);
            }
            check_map(space, segment, n as u32, *extent, &name, report);
        }
    }
}

/// Notes the room in extents as their list has it.
fn note_classes(segment: &mut Segment, list: ExtentList, at: Rdba) {
    let from = segment.listed.len() as u32;
    segment.listed.extend((from..).map_while(|n| list.class(n)).map(|class| (class, at)));
}

/// Checks the upper level of the map of free space: the list of an extent against its space map.
fn check_class(segment: &Segment, n: u32, m: &MapView, at: Rdba, name: &str, report: &mut Report) {
    let Some((said, list)) = segment.listed.get(n as usize).copied() else { return };
    if m.list() != list {
        report.fault(Some(at), name, format!("the map of extent {n} names the list {}, {list} lists it", m.list()));
    }
    if said != m.class() {
        let what = format!("room in extent {n} is {said:?} in its list, {:?} in its map", m.class());
        report.fault(Some(list), name, what);
    }
    let is_passed_over = list_begin(m.view.len(), n) < segment.room_from;
    if is_passed_over && m.class() != RoomClass::NONE {
        report.fault(Some(segment.header), name, format!("extent {n} has room, and a search begins behind its list"));
    }
}

/// Adds the extents that are listed in extent maps.
fn list_extents(maps: &HashMap<Rdba, Image>, segment: &mut Segment, report: &mut Report) {
    let name = format!("segment {} of object {}", segment.header, segment.object);
    let mut next = segment.next_map;
    while (segment.extents.len() as u32) < segment.count {
        let Some(map) = maps.get(&next).filter(|m| m.view().kind() == Some(BlockKind::ExtentMap)) else {
            report.fault(Some(segment.header), &name, format!("there is no extent map at {next}"));
            return;
        };
        let m = ExtentMapView::new(map.view());
        let from = segment.extents.len() as u32;
        if m.segment() != segment.header || m.first() != from || m.listed() == 0 {
            report.fault(
                Some(next),
                &name,
                format!("the extent map is of segment {} from {} on", m.segment(), m.first()),
            );
            return;
        }
        segment.extents.extend((0..m.listed()).filter_map(|i| m.extent(from + i)));
        note_classes(segment, m.list(), next);
        next = m.next_map();
    }
    if segment.extents.len() as u32 != segment.count || !next.is_none() {
        let what = format!("{} extents are listed, the header speaks of {}", segment.extents.len(), segment.count);
        report.fault(Some(segment.header), &name, what);
    }
}

fn claim(
    bitmap: &mut Bitmap,
    unit: usize,
    owner: u32,
    extent: usize,
    name: &str,
    segment: &Segment,
    report: &mut Report,
) {
    let at = Some(segment.header);
    match (bitmap.used.get(unit), bitmap.owner.get_mut(unit)) {
        (Some(true), Some(of)) if *of == 0 => *of = owner,
        (Some(true), Some(_)) => {
            report.fault(at, name, format!("unit {unit} of extent {extent} belongs to two segments"))
        }
        (Some(false), _) => report.fault(at, name, format!("unit {unit} of extent {extent} is free in the bitmap")),
        _ => report.fault(at, name, format!("unit {unit} of extent {extent} is outside the bitmap")),
    }
}

/// Checks the space map of an extent against the segment and against the blocks.
fn check_map(space: &Space, segment: &Segment, n: u32, extent: Extent, name: &str, report: &mut Report) {
    let at = if n == 0 { Rdba(extent.start.0 + 1) } else { extent.start };
    if space.damaged.contains(&at) {
        return;
    }
    let Some(map) = space.maps.get(&at) else {
        report.fault(Some(at), name, format!("extent {n} has no space map"));
        return;
    };
    if let Err(what) = block::assert_invariants(map.bytes()) {
        report.fault(Some(at), name, what);
    }
    let m = MapView::new(map.view());
    if (m.segment(), m.extent(), m.blocks()) != (segment.header, n, extent.blocks) {
        let what = format!(
            "the map speaks of extent {} of segment {} with {} blocks, the header of extent {n} with {}",
            m.extent(),
            m.segment(),
            m.blocks(),
            extent.blocks
        );
        report.fault(Some(at), name, what);
        return;
    }
    check_class(segment, n, &m, at, name, report);
    let own = head_blocks(map.bytes().len(), n);
    if begins_map(map.bytes().len(), n) && n >= extents_in_header(map.bytes().len()) {
        let second = Rdba(extent.start.0 + 1);
        if space.blocks.get(&second).is_none_or(|(kind, ..)| *kind != BlockKind::ExtentMap) {
            report.fault(Some(second), name, format!("extent {n} has no extent map"));
        }
    }
    for i in own..extent.blocks {
        let block = Rdba(extent.start.0 + i);
        if m.state(i) == BlockState::Free || space.damaged.contains(&block) {
            continue;
        }
        let Some((kind, object, of)) = space.blocks.get(&block) else {
            report.fault(Some(block), name, format!("state {:?} in the map, but it was never formatted", m.state(i)));
            continue;
        };
        if *of != at {
            report.fault(Some(block), name, format!("the block names the map {of}, {at} keeps it"));
        }
        let belongs = *object == segment.object || segment.kind == SegmentKind::Undo;
        if !belongs || !goes_with(segment.kind, *kind) {
            report.fault(Some(block), name, format!("a block of kind {kind:?} of object {object} in its extent {n}"));
        }
    }
}

fn goes_with(segment: SegmentKind, kind: BlockKind) -> bool {
    use BlockKind::*;
    match segment {
        SegmentKind::Table => kind == Heap,
        SegmentKind::Cluster => matches!(kind, Cluster | Heap),
        SegmentKind::Index => matches!(kind, IndexBranch | IndexLeaf),
        SegmentKind::Undo => matches!(kind, UndoHeader | Undo),
        SegmentKind::Temporary => true,
        SegmentKind::Lob => matches!(kind, Heap | Temporary),
    }
}

/// Units that are in use must belong to a segment.
fn check_owners(block_size: usize, entry: &FileEntry, bitmap: &Bitmap, report: &mut Report) {
    let first_data = DataFiles::first_data_block_of(block_size);
    let mut unit = 0;
    while unit < bitmap.used.len() {
        if !bitmap.used[unit] || bitmap.owner[unit] != 0 {
            unit += 1;
            continue;
        }
        let from = unit;
        while unit < bitmap.used.len() && bitmap.used[unit] && bitmap.owner[unit] == 0 {
            unit += 1;
        }
        let at = Rdba::new(entry.file, first_data + from as u32 * UNIT_BLOCKS);
        let what =
            format!("{} blocks are in use in the bitmap but belong to no segment", (unit - from) as u32 * UNIT_BLOCKS);
        let map = Rdba::new(entry.file, 1 + from as u32 / units_max(block_size));
        let (_, from) = report.control.shown(at);
        report.fault(Some(map), &entry.name, format!("{what}, from block {from} on"));
    }
}
