//! Space: no block belongs to two segments, full files are reported, and dropped space is reused.

mod common;
use block::{BlockKind, BlockState, SegmentKind};
use buffer_cache::ChainDesign;
use common::*;
use datafile::tablespace;
use process::Process;
use redo::{NoRedo, Place, Rba, RedoSink};
use space::InsertHint;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use types::{ObjectId, Rdba};

fn create(db: &Db, p: &Process, obj: u32) -> types::Result<Rdba> {
    db.space.create_segment(p, tablespace::USERS, SegmentKind::Table, ObjectId(obj), &scn)
}

fn allocate(db: &Db, p: &Process, segment: Rdba) -> types::Result<Rdba> {
    db.cache.in_group(p, &scn, &mut |g| {
        let (at, map) = db.space.allocate(g, segment)?;
        g.format(at, BlockKind::Temporary, ObjectId(1), map, 0)?;
        Ok(at)
    })
}

fn blocks_of(db: &Db, p: &Process, segment: Rdba) -> BTreeSet<Rdba> {
    let extents = db.space.extents(p, segment).unwrap();
    extents.iter().flat_map(|e| (0..e.blocks).map(|i| Rdba(e.start.0 + i))).collect()
}

fn free_bytes(db: &Db, p: &Process) -> u64 {
    db.space.file_space(p, 3).unwrap().0
}

#[test]
fn segments_grow_and_no_block_is_given_twice() {
    let db = database(ChainDesign::Versioned, 64);
    let p = testing::attach(db.all, "t");
    let segments: Vec<Rdba> = (0..3).map(|i| create(&db, &p, 10 + i).unwrap()).collect();
    let mut given = BTreeSet::new();
    for i in 0..300 {
        let segment = segments[i % 3];
        let at = allocate(&db, &p, segment).unwrap();
        assert!(given.insert(at), "{at} was given twice");
        assert!(blocks_of(&db, &p, segment).contains(&at));
    }
    let all: Vec<_> = segments.iter().map(|s| blocks_of(&db, &p, *s)).collect();
    assert!(all[0].is_disjoint(&all[1]) && all[1].is_disjoint(&all[2]) && all[0].is_disjoint(&all[2]));
    assert_eq!(db.space.object(&p, segments[1]).unwrap(), ObjectId(11));
    let extents = db.space.extents(&p, segments[0]).unwrap();
    let mut scanned = Vec::new();
    for (n, e) in extents.iter().enumerate() {
        db.space.formatted_blocks(&p, ObjectId(10), *e, n as u32, &mut scanned).unwrap();
    }
    assert_eq!(scanned.len(), 100);
    assert!((0..100).all(|n| db.space.nth_block(&extents, n) == Some(scanned[n as usize])));
    db.cache.assert_invariants().unwrap();
}

#[test]
fn a_full_file_is_an_error_and_dropped_space_comes_back() {
    let mut spec = small_database();
    tablespace(&mut spec, tablespace::USERS).bytes_max = 0;
    let db = database_of(&spec, ChainDesign::Versioned, 64);
    let p = testing::attach(db.all, "t");
    let free = free_bytes(&db, &p);
    let (keep, gone) = (create(&db, &p, 1).unwrap(), create(&db, &p, 2).unwrap());
    let kept = allocate(&db, &p, keep).unwrap();
    let error = loop {
        if let Err(e) = allocate(&db, &p, gone) {
            break e;
        }
    };
    assert!(error.is(1653), "{error}");
    assert!(error.to_string().contains("USERS"), "{error}");
    assert!(create(&db, &p, 3).unwrap_err().is(1658));
    let index = db.space.create_segment(&p, tablespace::USERS, SegmentKind::Index, ObjectId(4), &scn);
    assert!(index.unwrap_err().is(1658));
    db.space.drop_segment(&p, gone, &scn).unwrap();
    assert!(db.space.drop_segment(&p, gone, &scn).unwrap_err().is(8103));
    let again = create(&db, &p, 5).unwrap();
    let new = allocate(&db, &p, again).unwrap();
    assert_ne!(new, kept);
    for s in [again, keep] {
        db.space.drop_segment(&p, s, &scn).unwrap();
    }
    assert_eq!(free_bytes(&db, &p), free, "all space is free again");
    db.cache.assert_invariants().unwrap();
}

#[test]
fn a_file_grows_to_its_maximum() {
    let mut spec = small_database();
    tablespace(&mut spec, tablespace::USERS).bytes_max = 500 * BLOCK as u64;
    let db = database_of(&spec, ChainDesign::Versioned, 64);
    let p = testing::attach(db.all, "t");
    let segment = create(&db, &p, 1).unwrap();
    let mut given = 0;
    while allocate(&db, &p, segment).is_ok() {
        given += 1;
    }
    assert!((300..500).contains(&given), "{given}");
    assert_eq!(db.cache.files().blocks(3).unwrap(), 500);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn truncate_keeps_the_segment_and_frees_its_blocks() {
    let db = database(ChainDesign::Versioned, 64);
    let p = testing::attach(db.all, "t");
    let free = free_bytes(&db, &p);
    let segment = create(&db, &p, 1).unwrap();
    let after_create = free_bytes(&db, &p);
    for _ in 0..40 {
        allocate(&db, &p, segment).unwrap();
    }
    db.space.truncate(&p, segment, ObjectId(77), &scn).unwrap();
    assert_eq!(free_bytes(&db, &p), after_create);
    assert_eq!(db.space.object(&p, segment).unwrap(), ObjectId(77));
    let mut scanned = Vec::new();
    let extent = db.space.extents(&p, segment).unwrap()[0];
    db.space.formatted_blocks(&p, ObjectId(77), extent, 0, &mut scanned).unwrap();
    assert!(scanned.is_empty());
    allocate(&db, &p, segment).unwrap();
    db.space.drop_segment(&p, segment, &scn).unwrap();
    assert_eq!(free_bytes(&db, &p), free);
}

#[test]
fn inserters_find_room_and_full_blocks_are_left_alone() {
    let db = database(ChainDesign::Versioned, 96);
    let p = testing::attach(db.all, "t");
    let segment = create(&db, &p, 1).unwrap();
    let full: Vec<Rdba> = testing::run_threads(db.all, 3, |p, _| {
        let (mut hint, mut full) = (InsertHint::default(), Vec::new());
        let s = &db.space;
        for _ in 0..30 {
            let at = s.insert_block(p, segment, &mut hint, BlockKind::Heap, 2, &scn, &mut |_| Ok(false)).unwrap();
            let again = s.insert_block(p, segment, &mut hint, BlockKind::Heap, 2, &scn, &mut |_| Ok(false)).unwrap();
            assert_eq!(again, at, "the hint holds");
            let map = db.cache.read(p, at, buffer_cache::GetKind::Current, &mut |v| {
                assert_eq!(v.kind(), Some(BlockKind::Heap));
                v.map()
            });
            db.cache.in_group(p, &scn, &mut |g| s.mark(g, map.clone().unwrap(), at, BlockState::Full)).unwrap();
            hint.forget();
            full.push(at);
        }
        full
    })
    .concat();
    let mut hint = InsertHint::default();
    let s = &db.space;
    let at = s.insert_block(&p, segment, &mut hint, BlockKind::Heap, 2, &scn, &mut |_| Ok(false)).unwrap();
    assert!(!full.contains(&at), "a full block was offered");
    // A block that has room again is found, also in an extent behind the search.
    let map = db.cache.read(&p, full[0], buffer_cache::GetKind::Current, &mut |v| v.map()).unwrap();
    db.cache.in_group(&p, &scn, &mut |g| s.mark(g, map, full[0], BlockState::Room)).unwrap();
    hint.forget();
    let offered = s.insert_block(&p, segment, &mut hint, BlockKind::Heap, 2, &scn, &mut |_| Ok(false)).unwrap();
    assert_eq!(offered, full[0]);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn preallocated_blocks_are_addressed_by_number() {
    let db = database(ChainDesign::Versioned, 64);
    let p = testing::attach(db.all, "t");
    let s = &db.space;
    let segment = s.create_segment(&p, tablespace::USERS, SegmentKind::Cluster, ObjectId(9), &scn).unwrap();
    s.preallocate(&p, segment, 150, BlockKind::Cluster, 2, &scn).unwrap();
    let extents = s.extents(&p, segment).unwrap();
    let mut seen = BTreeSet::new();
    for n in 0..150 {
        let at = db.space.nth_block(&extents, n).unwrap();
        assert!(seen.insert(at));
        let kind = db.cache.read(&p, at, buffer_cache::GetKind::Examination, &mut |v| (v.kind(), v.obj())).unwrap();
        assert_eq!(kind, (Some(BlockKind::Cluster), ObjectId(9)));
    }
    let more = db.cache.in_group(&p, &scn, &mut |g| s.allocate(g, segment)).unwrap();
    assert!(!seen.contains(&more.0));
    db.cache.in_group(&p, &scn, &mut |g| s.set_aux(g, segment, 1, 2, 3)).unwrap();
    assert_eq!(s.aux(&p, segment, buffer_cache::GetKind::Examination).unwrap(), (1, 2, 3));
}

#[test]
fn sessions_killed_while_creating_and_dropping_lose_no_space() {
    let db = database(ChainDesign::Versioned, 80);
    let pmon = testing::attach(db.all, "pmon");
    let anchor = create(&db, &pmon, 1).unwrap();
    testing::kill_children(&pmon, 3, Duration::from_millis(1200), 7, |p, seed| {
        let mut n = seed as u32;
        loop {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = allocate(&db, p, anchor).expect("a block");
            if n >> 30 != 0 {
                let map = db.cache.read(p, at, buffer_cache::GetKind::Current, &mut |v| v.map()).expect("a block");
                let free = |g: &mut buffer_cache::ChangeGroup| db.space.mark(g, map, at, BlockState::Free);
                db.cache.in_group(p, &scn, &mut |g| free(g)).expect("a change");
            }
        }
    });
    // The segment and the bitmap agree: dropping the segment frees its blocks and no others.
    let blocks = blocks_of(&db, &pmon, anchor).len() as u64;
    let before = free_bytes(&db, &pmon);
    db.space.drop_segment(&pmon, anchor, &scn).unwrap();
    assert_eq!(free_bytes(&db, &pmon) - before, blocks * BLOCK as u64);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn extents_beyond_the_header_are_listed_in_extent_maps() {
    let db = database(ChainDesign::Versioned, 200);
    let p = testing::attach(db.all, "t");
    let s = &db.space;
    change_control(&db, |c| c.tablespaces[tablespace::USERS as usize].extent_blocks = 8);
    let other = s.create_segment(&p, tablespace::USERS, SegmentKind::Table, ObjectId(5), &scn).unwrap();
    let free = || s.file_space(&p, 3).unwrap().0;
    let segment = s.create_segment(&p, tablespace::USERS, SegmentKind::Table, ObjectId(6), &scn).unwrap();
    // Two extent maps are started, for each way of growing.
    let wanted = block::segment::extents_in_header(BLOCK) + block::segment::extents_in_map(BLOCK) + 3;
    let mut blocks = Vec::new();
    for _ in 0..40 {
        blocks.push(db.cache.in_group(&p, &scn, &mut |g| s.allocate(g, segment)).unwrap().0);
    }
    let mut hint = InsertHint::default();
    while (s.extents(&p, segment).unwrap().len() as u32) < wanted {
        let at = s.insert_block(&p, segment, &mut hint, BlockKind::Heap, 2, &scn, &mut |_| Ok(false)).unwrap();
        let map = db.cache.read(&p, at, buffer_cache::GetKind::Current, &mut |v| v.map()).unwrap();
        db.cache.in_group(&p, &scn, &mut |g| s.mark(g, map, at, BlockState::Full)).unwrap();
        hint.forget();
        blocks.push(at);
    }
    let distinct: BTreeSet<_> = blocks.iter().collect();
    assert_eq!(distinct.len(), blocks.len());
    let extents = s.extents(&p, segment).unwrap();
    assert!(extents.iter().all(|e| e.blocks == 8));
    // Looks at the full blocks go round all lists: each block comes once in a round, from whichever place it begins.
    let full: BTreeSet<_> = blocks[40..].iter().copied().collect();
    let (mut hint, mut looked) = (InsertHint::default(), Vec::new());
    while looked.len() < 2 * full.len() {
        let more = s.next_full(&p, segment, &mut hint, 5).unwrap();
        assert!(!more.is_empty(), "{} blocks of {} and no more", looked.len(), full.len());
        looked.extend(more);
    }
    for round in [&looked[..full.len()], &looked[full.len()..2 * full.len()]] {
        assert_eq!(round.iter().copied().collect::<BTreeSet<_>>(), full);
    }
    let mut scanned = Vec::new();
    for (n, e) in extents.iter().enumerate() {
        s.formatted_blocks(&p, ObjectId(6), *e, n as u32, &mut scanned).unwrap();
    }
    assert_eq!(scanned.iter().collect::<BTreeSet<_>>(), distinct, "no map or header is read as data");
    let numbered: BTreeSet<_> = (0..).map_while(|n| s.nth_block(&extents, n)).collect();
    assert!(blocks.iter().all(|b| numbered.contains(b)));
    // A space map in each extent, the segment header, two extent maps.
    assert_eq!(numbered.len(), extents.len() * 7 - 3);
    db.cache.assert_invariants().unwrap();
    assert_eq!(s.extents_of(&p, segment, ObjectId(6)).unwrap(), extents);
    assert!(s.extents_of(&p, segment, ObjectId(5)).unwrap_err().is(8103));
    let before = free();
    s.truncate(&p, segment, ObjectId(7), &scn).unwrap();
    assert_eq!(s.extents(&p, segment).unwrap().len(), 1);
    assert!(free() > before);
    db.cache.in_group(&p, &scn, &mut |g| s.extend(g, segment)).unwrap();
    s.drop_segment(&p, segment, &scn).unwrap();
    s.drop_segment(&p, other, &scn).unwrap();
    let (left, total) = s.file_space(&p, 3).unwrap();
    let first = u64::from(datafile::DataFiles::first_data_block_of(BLOCK)) * BLOCK as u64;
    assert!(total - first - left < 8 * BLOCK as u64, "all space is free again");
    db.cache.assert_invariants().unwrap();
}

#[test]
fn extents_grow_with_the_segment_and_go_round_the_files() {
    let db = database(ChainDesign::Versioned, 200);
    let p = testing::attach(db.all, "t");
    let second = datafile::TablespaceSpec {
        name: "USERS".into(),
        number: tablespace::USERS,
        contents: datafile::Contents::Permanent,
        file_name: "users02.dbf".into(),
        bytes: 200 * BLOCK as u64,
        bytes_max: 60_000 * BLOCK as u64,
        step_bytes: 64 * BLOCK as u64,
    };
    let file = db.cache.files().add_file(&second).unwrap();
    let s = &db.space;
    let segment = s.create_segment(&p, tablespace::USERS, SegmentKind::Table, ObjectId(6), &scn).unwrap();
    for _ in 0..16 + 63 + 4 {
        db.cache.in_group(&p, &scn, &mut |g| s.extend(g, segment)).unwrap();
    }
    let extents = s.extents(&p, segment).unwrap();
    let count = |size| extents.iter().filter(|e| e.blocks == size).count();
    assert_eq!((count(8), count(128), count(1024)), (16, 63, 5));
    let there = extents.iter().filter(|e| e.start.file() == file).count();
    assert!((extents.len() / 3..=extents.len() * 2 / 3).contains(&there), "{there} of {}", extents.len());
    db.cache.assert_invariants().unwrap();
}

#[test]
fn a_tablespace_without_a_long_run_gives_shorter_ones() {
    let mut spec = small_database();
    let users = common::tablespace(&mut spec, tablespace::USERS);
    (users.bytes, users.bytes_max) = (400 * BLOCK as u64, 0);
    let db = database_of(&spec, ChainDesign::Versioned, 64);
    let p = testing::attach(db.all, "t");
    let s = &db.space;
    let segment = s.create_segment(&p, tablespace::USERS, SegmentKind::Table, ObjectId(6), &scn).unwrap();
    let full = loop {
        if let Err(e) = db.cache.in_group(&p, &scn, &mut |g| s.extend(g, segment)) {
            break e;
        }
    };
    assert!(full.is(1653) && full.to_string().contains("by 128 in tablespace USERS"), "{full}");
    assert_eq!(s.file_space(&p, 3).unwrap().0, 0, "everything was given out");
    // With room again it continues.
    s.truncate(&p, segment, ObjectId(6), &scn).unwrap();
    db.cache.in_group(&p, &scn, &mut |g| s.extend(g, segment)).unwrap();
}

#[test]
fn a_scan_knows_when_its_segment_is_going_and_its_extents_are_anothers() {
    let db = database(ChainDesign::Versioned, 64);
    let p = testing::attach(db.all, "t");
    let s = &db.space;
    let segment = create(&db, &p, 10).unwrap();
    for _ in 0..40 {
        allocate(&db, &p, segment).unwrap();
    }
    let extents = s.extents_of(&p, segment, ObjectId(10)).unwrap();
    let formatted = |n: usize| {
        let mut to = Vec::new();
        s.formatted_blocks(&p, ObjectId(10), extents[n], n as u32, &mut to).map(|()| to.len())
    };
    let (first, last) = (formatted(0).unwrap(), formatted(extents.len() - 1).unwrap());
    // Half dropped: the rest of the list is not complete, and a scan with the complete list still finds the blocks.
    s.cut_back(&p, segment, &scn).unwrap();
    assert_eq!(s.extents(&p, segment).unwrap().len(), 1);
    assert!(s.extents_of(&p, segment, ObjectId(10)).unwrap_err().is(8103));
    assert!(!s.is_there(&p, segment, ObjectId(10)).unwrap());
    assert_eq!((formatted(0).unwrap(), formatted(extents.len() - 1).unwrap()), (first, last));
    s.drop_segment(&p, segment, &scn).unwrap();
    // All of its extents go to segments of one extent each: the scan takes none of their maps for its own.
    for n in 0..extents.len() as u32 {
        create(&db, &p, 20 + n).unwrap();
    }
    assert!((0..extents.len()).all(|n| formatted(n).unwrap_err().is(8103)));
    db.cache.assert_invariants().unwrap();
}

/// Called when a checkpoint is noted.
type AtCheckpoint = Box<dyn Fn() + Send + Sync>;

/// No redo; runs a function when a checkpoint is noted.
#[derive(Clone, Default)]
struct Noting(Arc<OnceLock<AtCheckpoint>>);

impl RedoSink for Noting {
    fn wanted(&self) -> bool {
        NoRedo.wanted()
    }
    fn image_before(&self) -> Rba {
        NoRedo.image_before()
    }
    fn announce(&self, p: &Process) -> Rba {
        NoRedo.announce(p)
    }
    fn note_checkpoint(&self, _: &Process, _: Rba) -> types::Result<()> {
        if let Some(f) = self.0.get() {
            f();
        }
        Ok(())
    }
    fn reserve(&self, p: &Process, len: usize, decided: Rba, note: &AtomicU64) -> types::Result<Option<Place>> {
        NoRedo.reserve(p, len, decided, note)
    }
    fn put(&self, p: &Process, at: Rba, record: &[u8]) {
        NoRedo.put(p, at, record);
    }
    fn settle(&self, p: &Process) {
        NoRedo.settle(p);
    }
    fn settle_dead(&self, p: &Process, dead: u32, counts: bool) {
        NoRedo.settle_dead(p, dead, counts);
    }
    fn on_disk(&self) -> Rba {
        NoRedo.on_disk()
    }
    fn force(&self, p: &Process, upto: Rba) -> types::Result<()> {
        NoRedo.force(p, upto)
    }
}

#[test]
fn a_file_becomes_smaller_and_its_blocks_are_free_after_it_has_grown_again() {
    let db = database(ChainDesign::Versioned, 64);
    let p = testing::attach(db.all, "t");
    let segment = create(&db, &p, 10).unwrap();
    for _ in 0..300 {
        allocate(&db, &p, segment).unwrap();
    }
    let large = db.space.file_blocks(&p, 3).unwrap();
    let small = datafile::DataFiles::first_data_block_of(BLOCK) + 64;
    assert!(large > small + 128, "{large} blocks");
    let resize = |blocks: u32| db.space.resize_file(&p, 3, u64::from(blocks), &scn);
    assert!(resize(small).unwrap_err().is(3297), "the segment has blocks there");
    db.space.drop_segment(&p, segment, &scn).unwrap();
    let lengths = || (db.space.file_blocks(&p, 3).unwrap(), db.cache.files().blocks(3).unwrap());
    resize(small).unwrap();
    assert_eq!(lengths(), (small, small));
    assert!(
        (0..db.cache.buffers()).filter_map(|n| db.cache.info(n)?.block).all(|at| at.block() < small || at.file() != 3)
    );
    resize(large).unwrap();
    assert_eq!(lengths(), (large, large));
    let segment = create(&db, &p, 11).unwrap();
    for _ in 0..300 {
        allocate(&db, &p, segment).unwrap();
    }
    db.cache.assert_invariants().unwrap();
}

#[test]
fn a_file_that_grows_while_it_becomes_smaller_keeps_the_new_blocks() {
    let redo = Noting::default();
    let db = database_with_redo(&small_database(), ChainDesign::Versioned, 64, 8, Box::new(redo.clone()));
    let p = testing::attach(db.all, "t");
    let small = datafile::DataFiles::first_data_block_of(BLOCK) + 64;
    assert!(db.space.file_blocks(&p, 3).unwrap() > small);
    // Another process fills the file to its new end and beyond, before the file is cut off there.
    let given = Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let (all, cache, space, to) = (db.all, Arc::clone(&db.cache), db.space.clone(), Arc::clone(&given));
    let fill = move || {
        let q = testing::attach(all, "q");
        let segment = space.create_segment(&q, tablespace::USERS, SegmentKind::Table, ObjectId(10), &scn).unwrap();
        for _ in 0..200 {
            let at = cache.in_group(&q, &scn, &mut |g| {
                let (at, map) = space.allocate(g, segment)?;
                g.format(at, BlockKind::Temporary, ObjectId(10), map, 0)?;
                Ok(at)
            });
            to.lock().unwrap().insert(at.unwrap());
        }
    };
    assert!(redo.0.set(Box::new(fill)).is_ok());
    db.space.resize_file(&p, 3, small.into(), &scn).unwrap();
    let given = given.lock().unwrap();
    assert!(given.len() == 200 && given.iter().any(|at| at.block() >= small));
    assert!(db.cache.files().blocks(3).unwrap() >= db.space.file_blocks(&p, 3).unwrap());
    db.cache.empty(&p).unwrap();
    for at in given.iter() {
        let kind = db.cache.read(&p, *at, buffer_cache::GetKind::Current, &mut |v| v.kind()).unwrap();
        assert_eq!(kind, Some(BlockKind::Temporary), "{at}");
    }
    db.cache.assert_invariants().unwrap();
}
