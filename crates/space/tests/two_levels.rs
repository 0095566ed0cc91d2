//! The map of free space on two levels: the classes in the lists equal those of the space maps, and a search reads no
//! maps in vain.

mod common;
use block::segment::{ExtentList, MapView, RoomClass, SegmentView, extents_in_header, extents_in_map, list_begin};
use block::{BlockKind, BlockState, SegmentKind};
use buffer_cache::{ChainDesign, GetKind};
use common::*;
use datafile::tablespace;
use process::Process;
use space::InsertHint;
use std::collections::BTreeSet;
use std::time::Duration;
use types::{ObjectId, Rdba};
use wait::Stat;

/// A segment whose extents have 8 blocks each.
fn segment(db: &Db, p: &Process, obj: u32) -> Rdba {
    change_control(db, |c| c.tablespaces[tablespace::USERS as usize].extent_blocks = 8);
    db.space.create_segment(p, tablespace::USERS, SegmentKind::Table, ObjectId(obj), &scn).unwrap()
}

fn map_of(db: &Db, p: &Process, at: Rdba) -> Rdba {
    db.cache.read(p, at, GetKind::Current, &mut |v| v.map()).unwrap()
}

fn mark(db: &Db, p: &Process, at: Rdba, state: BlockState) {
    let map = map_of(db, p, at);
    db.cache.in_group(p, &scn, &mut |g| db.space.mark(g, map, at, state)).unwrap();
}

/// A block with room that no earlier call returned, marked as full.
fn fill_one(db: &Db, p: &Process, segment: Rdba) -> Rdba {
    let at = db
        .space
        .insert_block(p, segment, &mut InsertHint::default(), BlockKind::Heap, 2, &scn, &mut |_| Ok(false))
        .unwrap();
    mark(db, p, at, BlockState::Full);
    at
}

/// Compares every list of the segment with the space maps of its extents; returns the first extent of the room list.
fn check_lists(db: &Db, p: &Process, segment: Rdba) -> u32 {
    let extents = db.space.extents(p, segment).unwrap();
    let (room_list, room_from) =
        db.cache.read(p, segment, GetKind::Current, &mut |v| SegmentView::new(*v).room_list(segment)).unwrap();
    let mut list = segment;
    for (n, extent) in extents.iter().enumerate() {
        let n = n as u32;
        if list_begin(BLOCK, n) == n && n > 0 {
            list = Rdba(extent.start.0 + 1);
        }
        let map = if n == 0 { Rdba(extent.start.0 + 1) } else { extent.start };
        let (said, first) = db
            .cache
            .read(p, list, GetKind::Current, &mut |v| ExtentList::of(*v).map(|l| (l.class(n), l.first())))
            .unwrap()
            .expect("a list");
        let (class, of) = db
            .cache
            .read(p, map, GetKind::Current, &mut |v| (MapView::new(*v).class(), MapView::new(*v).list()))
            .unwrap();
        assert_eq!((said, of), (Some(class), list), "extent {n}");
        assert!(first >= room_from || class == RoomClass::NONE, "extent {n} has room and is passed over");
        assert_eq!(first == room_from, list == room_list, "extent {n}");
    }
    room_from
}

#[test]
fn a_block_that_has_room_again_is_found_without_reading_the_maps_of_others() {
    let db = database(ChainDesign::Versioned, 400);
    let p = testing::attach(db.all, "t");
    let segment = segment(&db, &p, 6);
    let wanted = extents_in_header(BLOCK) + extents_in_map(BLOCK) + 40;
    let mut full = Vec::new();
    while (db.space.extents(&p, segment).unwrap().len() as u32) < wanted {
        full.push(fill_one(&db, &p, segment));
    }
    let last = list_begin(BLOCK, wanted - 1);
    assert_eq!(check_lists(&db, &p, segment), last, "a search begins with the last list");
    let gets = || p.stats().get(Stat::DbBlockGets);
    for at in [full[0], full[700], full[full.len() - 1]] {
        mark(&db, &p, at, BlockState::Room);
        check_lists(&db, &p, segment);
        assert_eq!(fill_one(&db, &p, segment), at);
        check_lists(&db, &p, segment);
    }
    // After the block that has room again, a search continues with the last list and never reads the full maps.
    for _ in 0..30 {
        let before = gets();
        fill_one(&db, &p, segment);
        let n = gets() - before;
        assert!(n < 24, "{n} gets for a new block");
    }
    assert_eq!(check_lists(&db, &p, segment), last);
    db.space.truncate(&p, segment, ObjectId(7), &scn).unwrap();
    check_lists(&db, &p, segment);
    fill_one(&db, &p, segment);
    check_lists(&db, &p, segment);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn inserters_begin_at_places_of_their_own() {
    let db = database(ChainDesign::Versioned, 400);
    let p = testing::attach(db.all, "t");
    let segment = segment(&db, &p, 6);
    let full: Vec<Rdba> = (0..600).map(|_| fill_one(&db, &p, segment)).collect();
    full.iter().for_each(|at| mark(&db, &p, *at, BlockState::Room));
    check_lists(&db, &p, segment);
    let processes: Vec<Process> = (0..12).map(|_| testing::attach(db.all, "t")).collect();
    let block = |p| {
        db.space
            .insert_block(p, segment, &mut InsertHint::default(), BlockKind::Heap, 2, &scn, &mut |_| Ok(false))
            .unwrap()
    };
    let found: Vec<Rdba> = processes.iter().map(block).collect();
    let maps: BTreeSet<Rdba> = found.iter().map(|at| map_of(&db, &p, *at)).collect();
    assert!(maps.len() >= 8, "{} extents for 12 inserters", maps.len());
}

#[test]
fn blocks_that_are_allocated_come_from_extents_with_free_ones() {
    let db = database(ChainDesign::Versioned, 400);
    let p = testing::attach(db.all, "t");
    let segment = segment(&db, &p, 6);
    let allocate = || {
        db.cache
            .in_group(&p, &scn, &mut |g| {
                let (at, map) = db.space.allocate(g, segment)?;
                g.format(at, BlockKind::IndexLeaf, ObjectId(6), map, 2)?;
                Ok(at)
            })
            .unwrap()
    };
    let all: Vec<Rdba> = (0..2400).map(|_| allocate()).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    check_lists(&db, &p, segment);
    for at in [all[3], all[1700]] {
        mark(&db, &p, at, BlockState::Free);
        check_lists(&db, &p, segment);
        let before = p.stats().get(Stat::DbBlockGets);
        assert_eq!(allocate(), at);
        let n = p.stats().get(Stat::DbBlockGets) - before;
        assert!(n < 20, "{n} gets for a free block");
        check_lists(&db, &p, segment);
    }
}

#[test]
fn both_levels_agree_whenever_a_process_dies() {
    let db = database(ChainDesign::Versioned, 300);
    let pmon = testing::attach(db.all, "pmon");
    let segment = segment(&db, &pmon, 6);
    let work = |p: &Process, n: &mut u32| {
        *n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = fill_one(&db, p, segment);
        if *n >> 30 == 0 {
            mark(&db, p, at, BlockState::Room);
        }
    };
    let killed = testing::kill_at_every_step(
        &pmon,
        "space-*",
        || {},
        |p, arm| {
            arm();
            let mut n = 7;
            (0..20).for_each(|_| work(p, &mut n));
        },
        || {
            check_lists(&db, &pmon, segment);
        },
    );
    assert!(killed > 1, "{killed}");
    testing::kill_children(&pmon, 3, Duration::from_millis(1200), 5, |p, seed| {
        let mut n = seed as u32;
        loop {
            work(p, &mut n);
        }
    });
    check_lists(&db, &pmon, segment);
    db.cache.assert_invariants().unwrap();
}

/// Runs `f` in a group and returns the block that it allocates.
fn allocate(db: &Db, p: &Process, segment: Rdba) -> types::Result<Rdba> {
    db.cache.in_group(p, &scn, &mut |g| {
        let (at, map) = db.space.allocate(g, segment)?;
        g.format(at, BlockKind::IndexLeaf, ObjectId(6), map, 2)?;
        Ok(at)
    })
}

/// A segment with ten lists of full extents, where a search begins with the first one; returns its blocks, too.
fn ten_full_lists(db: &Db, p: &Process) -> (Rdba, Vec<Rdba>) {
    let segment = segment(db, p, 6);
    let wanted = extents_in_header(BLOCK) + 9 * extents_in_map(BLOCK);
    let mut full = Vec::new();
    while (db.space.extents(p, segment).unwrap().len() as u32) < wanted {
        for _ in 0..7 {
            full.push(fill_one(db, p, segment));
        }
    }
    // Room in the first list moves searches to it; then it is full again.
    mark(db, p, full[0], BlockState::Room);
    mark(db, p, full[0], BlockState::Full);
    assert_eq!(check_lists(db, p, segment), 0);
    (segment, full)
}

#[test]
fn the_second_new_block_passes_over_no_list() {
    let db = database(ChainDesign::Versioned, 400);
    let p = testing::attach(db.all, "t");
    let gets = |f: &dyn Fn()| {
        let before = p.stats().get(Stat::DbBlockGets) + p.stats().get(Stat::ConsistentGets);
        f();
        p.stats().get(Stat::DbBlockGets) + p.stats().get(Stat::ConsistentGets) - before
    };
    let (segment, full) = ten_full_lists(&db, &p);
    let insert = || assert!(!fill_one(&db, &p, segment).is_none());
    let (first, second) = (gets(&insert), gets(&insert));
    assert!(first > 30 && second < 24, "{first} and {second} gets for a new block");
    assert!(check_lists(&db, &p, segment) > extents_in_header(BLOCK));
    // The blocks of an index, an undo segment or a cluster.
    mark(&db, &p, full[0], BlockState::Free);
    assert_eq!(allocate(&db, &p, segment).unwrap(), full[0]);
    assert_eq!(check_lists(&db, &p, segment), 0);
    let new = || assert!(!allocate(&db, &p, segment).unwrap().is_none());
    (0..6).for_each(|_| new());
    let n = gets(&new);
    assert!(n < 24, "{n} gets for a new block");
    assert!(check_lists(&db, &p, segment) > extents_in_header(BLOCK));
    db.cache.assert_invariants().unwrap();
}

/// Overwrites four bytes of a block.
fn damage(db: &Db, p: &Process, at: Rdba, offset: u16, value: u32) {
    let data = [&offset.to_le_bytes()[..], &value.to_le_bytes()].concat();
    db.cache
        .in_group(p, &scn, &mut |g| {
            let b = g.current(at)?;
            g.change(b, redo::Layer::Block, buffer_cache::op::PATCH, &data)
        })
        .unwrap();
}

#[test]
fn a_damaged_list_or_map_ends_a_search_with_an_error() {
    const NEXT_OF_MAP: u16 = 36;
    const STATES_OF_MAP: u16 = 64;
    let db = database(ChainDesign::Versioned, 400);
    let p = testing::attach(db.all, "t");
    let (segment, _) = ten_full_lists(&db, &p);
    let next_of = |at| db.cache.read(&p, at, GetKind::Current, &mut |v| ExtentList::of(*v).unwrap().next()).unwrap();
    let second = next_of(segment);
    let third = next_of(second);
    let next = next_of(third).0;
    let insert =
        || db.space.insert_block(&p, segment, &mut InsertHint::default(), BlockKind::Heap, 2, &scn, &mut |_| Ok(false));
    // The third list leads back to the second.
    damage(&db, &p, third, NEXT_OF_MAP, second.0);
    let codes = || (insert().unwrap_err().code(), allocate(&db, &p, segment).unwrap_err().code());
    assert_eq!(codes(), (8103, 8103));
    let extend = db.cache.in_group(&p, &scn, &mut |g| db.space.extend(g, segment)).unwrap_err();
    assert_eq!(extend.code(), 8103);
    damage(&db, &p, third, NEXT_OF_MAP, next);
    // The map of the last extent counts blocks with room, and has none.
    let last = || *db.space.extents(&p, segment).unwrap().last().unwrap();
    let free = |at: Rdba| db.cache.read(&p, at, GetKind::Current, &mut |v| MapView::new(*v).free()).unwrap();
    while free(last().start) == 0 {
        fill_one(&db, &p, segment);
    }
    damage(&db, &p, last().start, STATES_OF_MAP, u32::MAX);
    assert_eq!(codes(), (1578, 1578));
}
