//! The redo of change groups: the recorded stream always makes the blocks again.
//!
//! Threads or killed children change random blocks in groups, others write and make checkpoints. At random moments the
//! files are read as after a crash, and the stream from the last checkpoint on is applied to them; the stream from its
//! very beginning is the model. At the end the model must equal the frames byte for byte.

mod common;
#[path = "common/sink.rs"]
mod sink;

use block::{BlockKind, DataMut, Image, undo};
use buffer_cache::{BufferCache, CacheConfig, CacheLayout, ChainDesign, ChangeGroup, GetKind, Share, is_retry, op};
use common::*;
use datafile::{CONTROL_FILE, DOUBLE_WRITE_FILE, DataFiles};
use process::Process;
use redo::{ApplyTable, Layer, Rba, RedoSink};
use sink::*;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, RwLock, RwLockReadGuard};
use std::time::Duration;
use testing::Random;
use types::{ObjectId, Ora, Rdba, Result, Scn};

struct Logged {
    db: Db,
    redo: Recorder,
    table: ApplyTable,
    /// With a double-write area: `crash` takes it exclusively, other work shared.
    still: Option<RwLock<()>>,
}

impl Logged {
    /// Delays a simulated crash, which copies all files, until it is dropped.
    fn at_work(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.still.as_ref().map(|still| still.read().unwrap())
    }
}

/// Rows come and go in heap blocks, records in undo blocks, bytes anywhere, so that all kinds of holes occur.
fn apply_test(image: &mut [u8], code: u8, data: &[u8]) -> Result<()> {
    let refused = |e| Ora::internal(format_args!("{e:?}"));
    match code {
        1 => DataMut::new(image).insert(u16::from(data[0]), 0, 0, 0, &data[1..]).map_err(refused),
        2 => DataMut::new(image).remove(u16::from(data[0])).map_err(refused),
        3 => undo::append(image, data).map(drop).map_err(refused),
        4 => undo::truncate(image, data[0]).map_err(refused),
        5 => {
            let at = Rdba(u32::from_le_bytes(data[..4].try_into().expect("four bytes")));
            undo::format(image, at, ObjectId(3), Rdba(0), types::Xid::default(), 1, Rdba(0));
            Ok(())
        }
        _ => Err(Ora::internal("test operation")),
    }
}

fn logged(buffers: usize, redo_bytes: usize) -> Logged {
    logged_in(buffers, redo_bytes, false)
}

/// The number of the area's life.
const LIFE: u64 = 5;
/// Large enough that nothing in the area is overwritten during the test.
const AREA_BYTES: u64 = 64 << 20;

fn logged_in(buffers: usize, redo_bytes: usize, has_area: bool) -> Logged {
    let directory = Folder::new("cache");
    let files = DataFiles::create(&directory, &small_database()).unwrap();
    if has_area {
        let control = files.control().unwrap();
        files.set_disk_sync(false);
        files.open_double_write(DOUBLE_WRITE_FILE, AREA_BYTES, 24, &control, LIFE).unwrap();
    }
    let mut config = CacheConfig::new(buffers, BLOCK, 24);
    config.design = ChainDesign::Versioned;
    config.working_sets = 1 + buffers % 3;
    let (all, (layout, recorder)) =
        testing::instance(24, |b| (CacheLayout::reserve(b, &config), RecorderLayout::reserve(b, redo_bytes)));
    let redo = Recorder::create(all.sga(), &recorder, all);
    let mut table = ApplyTable::new();
    buffer_cache::register(&mut table);
    table.register(Layer::Test, apply_test);
    let cache = BufferCache::create(all.sga(), &layout, &config, Arc::new(files), table.clone(), Box::new(redo));
    let cache = Arc::new(cache);
    cache.register_with(all);
    Logged { db: Db { all, cache, directory }, redo, table, still: has_area.then(RwLock::default) }
}

/// Less than `most` bytes that count up from a random one.
fn some_bytes(random: &mut Random, most: usize) -> Vec<u8> {
    let (n, byte) = (random.below(most), random.next() as u8);
    (0..n).map(|i| byte.wrapping_add(i as u8)).collect()
}

/// Formats a block of a random kind.
fn make(g: &mut ChangeGroup, at: Rdba, random: &mut Random) -> Result<()> {
    match random.below(3) {
        0 => g.format(at, BlockKind::Temporary, ObjectId(1), Rdba(0), 0)?,
        1 => g.format(at, BlockKind::Heap, ObjectId(2), Rdba(0), 2)?,
        _ => {
            let cv = redo::ChangeVector { rdba: at, layer: Layer::Test, op: 5, data: &at.0.to_le_bytes() };
            g.format_with(cv)?
        }
    };
    Ok(())
}

/// One random change that fits the kind of the block.
fn change(g: &mut ChangeGroup, at: Rdba, random: &mut Random) -> Result<()> {
    let b = g.current(at)?;
    let view = g.block(b);
    match view.kind() {
        Some(BlockKind::Heap) => {
            let slot = random.below(12) as u8;
            let d = block::Data::new(view);
            if d.row(slot.into()).is_some() {
                return g.change(b, Layer::Test, 2, &[slot]);
            }
            let (slots, free) = (d.slots() as u8, d.free_bytes());
            let body = some_bytes(random, 300);
            if usize::from(slot) > usize::from(slots) || body.len() + 40 > free {
                return Ok(());
            }
            g.change(b, Layer::Test, 1, &[&[slot], &body[..]].concat())
        }
        Some(BlockKind::Undo) => {
            let v = undo::UndoView::new(view);
            let record = some_bytes(random, 200);
            if v.records() > 20 || v.free_bytes() < 300 || record.is_empty() {
                let keep = random.below(u64::from(v.records()) + 1) as u8;
                return g.change(b, Layer::Test, 4, &[keep]);
            }
            g.change(b, Layer::Test, 3, &record)
        }
        Some(BlockKind::Temporary) => {
            let place = 64 + random.below(BLOCK as u64 - 72);
            let mut data = (place as u16).to_le_bytes().to_vec();
            data.extend_from_slice(&random.next().to_le_bytes());
            g.change(b, Layer::Block, op::PATCH, &data)
        }
        _ => make(g, at, random),
    }
}

/// A random group: some formatted blocks, more changed ones, sometimes dropped.
fn random_group(cache: &BufferCache, p: &Process, blocks: &[Rdba], random: &mut Random) -> Result<()> {
    let count = 1 + random.below(5);
    let seed = random.next();
    for attempt in 0.. {
        let mut random = Random::new(seed);
        let mut g = cache.group(p);
        let mut done = Ok(());
        for _ in 0..count {
            let at = blocks[random.below(blocks.len() as u64) as usize];
            done = match random.below(12) {
                0 => make(&mut g, at, &mut random),
                _ => change(&mut g, at, &mut random),
            };
            if done.is_err() {
                break;
            }
        }
        match done {
            Ok(()) if random.below(10) == 0 => return Ok(()),
            Ok(()) => return g.commit(Scn(p.number().into())).map(drop),
            Err(e) if is_retry(&e) => drop(g),
            Err(e) => return Err(e),
        }
        os::clock::sleep(Duration::from_micros((u64::from(p.number()) * 37 + attempt * 101) % 1000));
    }
    unreachable!("the loop ends by returning")
}

/// The blocks as in the files; torn ones are noted as torn.
fn on_disk(directory: &Path, blocks: &[Rdba], from: u64) -> Blocks {
    let file = std::fs::File::open(directory.join("users01.dbf")).unwrap();
    let mut found = Blocks::new(from);
    for at in blocks {
        let mut image = Image::new(BLOCK);
        file.read_exact_at(image.bytes_mut(), u64::from(at.block()) * BLOCK as u64).unwrap();
        match block::check(image.bytes(), *at) {
            Ok(()) => drop(found.images.insert(*at, image)),
            Err(_) => found.torn.push(*at),
        }
    }
    found
}

/// The blocks after a start has replaced torn ones by copies of the double-write area. A torn block without a copy is
/// made by the redo.
fn restored(l: &Logged, blocks: &[Rdba], start: u64, torn: &[Rdba]) -> Blocks {
    let copy = Folder::new("cache");
    for name in [CONTROL_FILE, "control02", "system01.dbf", "undo01.dbf", "users01.dbf", DOUBLE_WRITE_FILE] {
        let from = l.db.directory.join(name);
        if from.exists() {
            std::fs::copy(from, copy.join(name)).unwrap();
        }
    }
    let file = std::fs::OpenOptions::new().write(true).open(copy.join("users01.dbf")).unwrap();
    for at in torn {
        file.write_all_at(&[0xEE; 512], u64::from(at.block()) * BLOCK as u64 + BLOCK as u64 / 2).unwrap();
    }
    let mut control = l.db.cache.files().control().unwrap();
    (control.clean, control.double_write, control.checkpoint.rba) = (false, LIFE, start);
    let files = DataFiles::over_control(&copy, &control);
    assert!(files.open_double_write(DOUBLE_WRITE_FILE, AREA_BYTES, 24, &control, LIFE + 1).unwrap().1);
    assert!(files.double_write_used() < AREA_BYTES / 2, "copies that were synced may be gone");
    let done = files.restore_torn(&control, true).unwrap();
    assert!(done.torn <= torn.len() as u64 && done.newest <= l.redo.on_disk().0, "{done:?}");
    on_disk(&copy, blocks, start)
}

/// A complete checkpoint, from which recovery starts.
struct Stored(AtomicU64);

/// Simulates a crash now: the files as they are, the redo up to a random place that may have been written.
fn crash(l: &Logged, blocks: &[Rdba], stored: &Stored, model: &mut Blocks, random: &mut Random) {
    let _still = l.still.as_ref().map(|still| still.write().unwrap());
    let start = stored.0.load(Ordering::SeqCst);
    let mut disk = on_disk(&l.db.directory, blocks, start);
    let safe = l.redo.on_disk().0;
    for (at, image) in &disk.images {
        assert!(image.view().rba() <= safe, "block {at} was written before its redo");
    }
    let stream = l.redo.stream(l.redo.limit());
    model.apply(&l.table, &stream, model.at.max(safe), BLOCK);
    // The crash may have torn blocks changed after the checkpoint.
    let newer = disk.images.iter().filter(|(_, i)| i.view().rba() > start).map(|(at, _)| *at);
    let torn: Vec<Rdba> = newer.filter(|_| random.below(3) == 0).collect();
    if l.still.is_some() {
        disk = restored(l, blocks, start, &torn);
        disk.passes_torn = true;
    } else {
        torn.iter().for_each(|at| drop(disk.images.remove(at)));
        disk.torn.extend(torn);
    }
    disk.apply(&l.table, &stream, model.at, BLOCK);
    assert!(disk.torn.is_empty(), "torn blocks that no redo makes again: {:?}", disk.torn);
    for at in blocks {
        let (want, have) = (model.images.get(at), disk.images.get(at));
        let bytes = |i: Option<&Image>| i.map_or(vec![0; BLOCK], |i| sum_free(&i.view()));
        assert_eq!(bytes(want), bytes(have), "block {at} after recovery from {start:#x} to {:#x}", model.at);
    }
}

/// With no process at work the frames equal the stream.
fn compare_frames(l: &Logged, p: &Process, blocks: &[Rdba], model: &mut Blocks) {
    l.db.cache.assert_invariants().unwrap();
    assert_eq!(l.redo.limit(), l.redo.head(), "nobody has a place that is not settled");
    let stream = l.redo.stream(l.redo.head());
    model.apply(&l.table, &stream, l.redo.head(), BLOCK);
    for at in blocks {
        let have = l.db.cache.read(p, *at, GetKind::Current, &mut |v| sum_free(v)).unwrap();
        let want = model.images.get(at).map_or(vec![0; BLOCK], |i| sum_free(&i.view()));
        assert_eq!(have, want, "block {at}");
    }
}

fn checkpoint(l: &Logged, p: &Process, stored: &Stored) {
    // One checkpoint is stored at a time, and never an older one, as under the control file enqueue.
    let made = l.db.cache.checkpoint(p).unwrap();
    stored.0.fetch_max(made.rba.0, Ordering::SeqCst);
}

#[test]
fn the_stream_makes_the_blocks_again_at_any_moment() {
    (1..4).for_each(|seed| at_any_moment(seed, false));
}

#[test]
fn with_copies_in_the_area_the_stream_makes_them_again_too() {
    (4..6).for_each(|seed| at_any_moment(seed, true));
}

#[test]
fn asynchronous_writes_past_the_page_cache_make_them_again_too() {
    (6..8).for_each(|seed| at_any_moment_with(seed, true, true));
}

/// Checks the files against the cache: every change before the oldest missing one is there.
fn watch_oldest_change(l: &Logged, blocks: &[Rdba], begin: &Barrier, over: &AtomicBool) {
    let (p, mut model, mut looks) = (testing::attach(l.db.all, "watch"), Blocks::new(BEGIN), 0);
    begin.wait();
    while !over.load(Ordering::SeqCst) {
        let head = l.redo.head();
        let oldest = l.db.cache.oldest_change(&p).map_or(head, |oldest| oldest.0.min(head));
        assert!(oldest >= model.at, "{oldest:#x} behind {:#x}: what is in the files stays there", model.at);
        model.apply(&l.table, &l.redo.stream(oldest), oldest, BLOCK);
        // A torn block is being written.
        for (at, image) in on_disk(&l.db.directory, blocks, 0).images {
            let want = model.images.get(&at).map_or(0, |i| i.view().rba());
            assert!(image.view().rba() >= want, "block {at} is of {:#x}, not of {want:#x}", image.view().rba());
        }
        looks += 1;
        os::clock::sleep(Duration::from_micros(300));
    }
    assert!(looks > 0, "no look");
}

fn at_any_moment(seed: u64, has_area: bool) {
    at_any_moment_with(seed, has_area, false);
}

/// With `has_ring` the processes that share the cache write as with `filesystemio_options=setall`, if the system can.
fn at_any_moment_with(seed: u64, has_area: bool, has_ring: bool) {
    {
        let l = logged_in(33 + seed as usize, 24 << 20, has_area);
        let ring = testing::attach(l.db.all, "ring");
        if has_ring {
            l.db.cache.files().bypass_cache().unwrap();
            let _ = l.db.cache.write_asynchronously(&ring);
        }
        let blocks = loose_blocks(70);
        let (stored, over) = (Stored(AtomicU64::new(BEGIN)), AtomicBool::new(false));
        let (main, failed) = (testing::attach(l.db.all, "crash"), AtomicU64::new(0));
        let mut model = Blocks::new(BEGIN);
        // Three sessions, the writer and the watcher begin together.
        let begin = Barrier::new(5);
        std::thread::scope(|scope| {
            for n in 0..3 {
                let (l, blocks, begin, over, failed) = (&l, &blocks, &begin, &over, &failed);
                scope.spawn(move || {
                    let (p, mut random) = (testing::attach(l.db.all, "session"), Random::new(seed * 100 + n));
                    begin.wait();
                    let (mut groups, least) = (0, if has_area { 400 } else { 1500 });
                    // On a busy machine the writer may come late to the write that fails.
                    while groups < least || failed.load(Ordering::SeqCst) == 0 {
                        groups += 1;
                        let _at_work = l.at_work();
                        random_group(&l.db.cache, &p, blocks, &mut random).unwrap();
                    }
                    over.store(true, Ordering::SeqCst);
                });
            }
            let (l, stored, begin, over, failed) = (&l, &stored, &begin, &over, &failed);
            scope.spawn(|| watch_oldest_change(l, &blocks, begin, over));
            scope.spawn(move || {
                let (p, mut random) = (testing::attach(l.db.all, "writer"), Random::new(seed * 100 + 50));
                begin.wait();
                while !over.load(Ordering::SeqCst) {
                    let at_work = l.at_work();
                    // Some write fails in each run, however short it is.
                    let choice = random.below(12);
                    match if failed.load(Ordering::SeqCst) == 0 && choice > 8 { 4 } else { choice } {
                        0 => checkpoint(l, &p, stored),
                        1..4 => l.redo.write_some(),
                        4 => {
                            l.redo.refuse_once(&p);
                            let refused = l.db.cache.write_batch(&p, 1 + random.below(20) as usize).is_err();
                            failed.fetch_add(refused.into(), Ordering::SeqCst);
                            l.redo.accept_all();
                        }
                        _ => drop(l.db.cache.write_batch(&p, 1 + random.below(20) as usize).unwrap()),
                    }
                    drop(at_work);
                    os::clock::sleep(Duration::from_micros(random.below(300)));
                }
            });
            let mut random = Random::new(seed);
            while !over.load(Ordering::SeqCst) {
                crash(l, &blocks, stored, &mut model, &mut random);
                os::clock::sleep(Duration::from_micros(random.below(3000)));
            }
        });
        assert!(failed.load(Ordering::SeqCst) > 0, "no write has failed");
        compare_frames(&l, &main, &blocks, &mut model);
        crash(&l, &blocks, &stored, &mut model, &mut Random::new(seed));
        let least = if has_area { 700 } else { 2500 };
        assert!(model.records > least && model.whole > 70, "{} records, {} images", model.records, model.whole);
        // After a checkpoint at rest there is nothing left to write.
        checkpoint(&l, &main, &stored);
        assert_eq!(stored.0.load(Ordering::SeqCst), l.redo.head());
        assert_eq!((l.db.cache.queue_length(), l.db.cache.oldest_change(&main)), (0, None));
        crash(&l, &blocks, &stored, &mut model, &mut Random::new(seed));
    }
}

const POINTS: [&str; 9] = [
    "group-reserved",
    "group-copied",
    "group-publishing",
    "group-publishing-one",
    "group-settled",
    "group-published",
    "group-released-one",
    "cache-*",
    "double-write-*",
];

#[test]
fn a_death_at_any_step_of_a_commit_is_all_or_nothing() {
    a_death_at_any_step(false, false);
}

#[test]
fn a_death_at_any_step_of_a_commit_or_a_write_with_copies_is_all_or_nothing() {
    a_death_at_any_step(true, false);
}

#[test]
fn a_death_with_writes_in_flight_is_all_or_nothing() {
    a_death_at_any_step(true, true);
}

fn a_death_at_any_step(has_area: bool, has_ring: bool) {
    let l = logged_in(40, 64 << 20, has_area);
    if has_ring {
        l.db.cache.files().bypass_cache().unwrap();
    }
    let blocks = loose_blocks(60);
    let stored = Stored(AtomicU64::new(BEGIN));
    let pmon = testing::attach(l.db.all, "pmon");
    let kills = testing::kill_children(&pmon, 2, Duration::from_millis(2500), 11, |p, seed| {
        let mut random = Random::new(seed);
        if random.below(4) > 0 {
            let points = &POINTS[..POINTS.len() - usize::from(!has_area)];
            let point = match points[random.below(points.len() as u64) as usize] {
                "cache-*" if has_ring => "cache-writes-submitted",
                point => point,
            };
            let plan = format!("{point}:{}", 1 + random.below(6));
            faults::arm_points(&plan, &l.db.directory).expect("a plan");
        }
        if has_ring {
            let _ = l.db.cache.write_asynchronously(p);
        }
        loop {
            // The area must not wrap, because the replay needs every copy of this life. A change also writes, when it
            // needs a buffer.
            if l.db.cache.files().double_write_used() > AREA_BYTES / 3 {
                os::clock::sleep(Duration::from_millis(1));
                continue;
            }
            random_group(&l.db.cache, p, &blocks, &mut random).expect("a change");
            match random.below(40) {
                0 => drop(l.db.cache.checkpoint(p).expect("a checkpoint")),
                1..10 => drop(l.db.cache.write_batch(p, 6).expect("a write")),
                _ => {}
            }
        }
    });
    assert!(kills.killed > 20, "{kills:?}");
    let mut model = Blocks::new(BEGIN);
    compare_frames(&l, &pmon, &blocks, &mut model);
    assert!(model.void > 0, "some died with a place in the redo");
    crash(&l, &blocks, &stored, &mut model, &mut Random::new(3));
    let deaths = std::fs::read_to_string(l.db.directory.join(faults::DEATHS_FILE)).unwrap_or_default();
    for point in &POINTS[..7] {
        assert!(deaths.contains(point), "nobody died at {point}: {deaths}");
    }
    assert!(!has_area || deaths.contains("double-write"), "nobody died in a write: {deaths}");
    let can_ring = has_ring && os::ring::Ring::new().is_ok();
    assert!(!can_ring || deaths.contains("cache-writes-submitted"), "nobody died with writes in flight: {deaths}");
    checkpoint(&l, &pmon, &stored);
    crash(&l, &blocks, &stored, &mut model, &mut Random::new(4));
}

#[test]
fn a_block_is_logged_whole_once_behind_each_checkpoint() {
    let l = logged(48, 1 << 20);
    let p = testing::attach(l.db.all, "p");
    let at = loose_blocks(2);
    let commit = |at: &[Rdba], value| {
        let before = l.redo.head();
        l.db.cache.in_group(&p, &scn, &mut |g| at.iter().try_for_each(|a| set_value(g, *a, value))).unwrap();
        l.redo.head() - before
    };
    l.db.cache.in_group(&p, &scn, &mut |g| at.iter().try_for_each(|a| make_block(g, *a, 1))).unwrap();
    let small = commit(&at[..1], 2);
    assert!(small < 100, "a new block needs no image: {small} bytes");
    l.db.cache.checkpoint(&p).unwrap();
    let (first, second) = (commit(&at[..1], 3), commit(&at[..1], 4));
    assert!(first > 1800 && second == small, "{first} and {second} bytes");
    // The checkpoint comes between the change and the commit: the record is made again.
    let mut g = l.db.cache.group(&p);
    set_value(&mut g, at[0], 5).unwrap();
    let q = testing::attach(l.db.all, "q");
    l.db.cache.checkpoint(&q).unwrap();
    let before = l.redo.head();
    let end = g.commit(scn()).unwrap();
    assert_eq!(end, Rba(l.redo.head()));
    assert!(l.redo.head() - before > 1800);
    assert_eq!(l.db.cache.read(&p, at[0], GetKind::Current, &mut |v| v.rba()).unwrap(), end.0);
    assert!(commit(&at, 6) > 1800, "the other block's turn");
    compare_frames(&l, &p, &at, &mut Blocks::new(BEGIN));
}

#[test]
fn a_group_whose_redo_is_refused_changes_nothing() {
    let l = logged(48, 4096);
    let p = testing::attach(l.db.all, "p");
    let at = loose_blocks(1);
    l.db.cache.in_group(&p, &scn, &mut |g| make_block(g, at[0], 1)).unwrap();
    let refused = loop {
        if let Err(e) = l.db.cache.in_group(&p, &scn, &mut |g| set_value(g, at[0], 7)) {
            break e;
        }
    };
    assert!(refused.is(4031));
    assert!(l.db.cache.pins_of(p.number()).is_empty());
    compare_frames(&l, &p, &at, &mut Blocks::new(BEGIN));
    l.db.cache.checkpoint(&p).unwrap();
}

/// Runs `body` in a child that dies at `point`; the child is not cleaned up.
fn die_at(l: &Logged, point: &str, body: impl Fn(&Process)) -> process::Owner {
    use os::process::{Ended, Fork};
    match os::process::fork().unwrap() {
        Fork::Parent(child) => {
            assert_eq!(os::process::wait(child), Some(Ended::Killed(os::signal::SIGKILL)), "{point}");
            l.db.all.owner_by_os_pid(child).expect("nobody has cleaned up")
        }
        Fork::Child => {
            let run = std::panic::AssertUnwindSafe(|| {
                faults::arm_points(&format!("{point}:1"), &l.db.directory).expect("a plan");
                body(&testing::attach(l.db.all, "child"));
            });
            let _ = std::panic::catch_unwind(run);
            os::process::exit_now(1);
        }
    }
}

#[test]
fn a_block_that_cannot_be_written_stays_dirty_and_the_others_of_its_list_are_clean() {
    for has_ring in [false, true] {
        let l = logged_in(48, 1 << 20, true);
        let p = testing::attach(l.db.all, "p");
        if has_ring && l.db.cache.write_asynchronously(&p).is_err() {
            continue;
        }
        let loose = loose_blocks(5);
        // No file has number 9.
        let at = [loose[0], loose[2], loose[4], Rdba::new(9, 50)];
        for a in at {
            l.db.cache.in_group(&p, &scn, &mut |g| make_block(g, a, 1)).unwrap();
        }
        let failed = l.db.cache.write_batch(&p, 8).expect_err("one block has no file");
        assert!(failed.is(1157), "{failed}");
        assert_eq!(l.db.cache.queue_length(), 1);
        assert_eq!(on_disk(&l.db.directory, &at[..3], 0).images.len(), 3);
        l.db.cache.assert_invariants().unwrap();
        assert!(l.db.cache.write_batch(&p, 8).is_err_and(|e| e.is(1157)), "it is tried again");
    }
}

#[test]
fn a_dead_process_is_cleaned_up_when_none_of_its_writes_is_in_flight() {
    if os::ring::Ring::new().is_err() {
        return;
    }
    let l = logged_in(48, 1 << 20, true);
    let (p, at) = (testing::attach(l.db.all, "p"), loose_blocks(4));
    l.db.cache.in_group(&p, &scn, &mut |g| at.iter().try_for_each(|a| make_block(g, *a, 1))).unwrap();
    let dead = die_at(&l, "cache-writes-submitted", |p| {
        l.db.cache.write_asynchronously(p).unwrap();
        drop(l.db.cache.write_batch(p, 4));
    });
    let users = os::file::File::open(&l.db.directory.join("users01.dbf"), os::file::OpenMode::ReadWrite).unwrap();
    while users.is_being_written(0..u64::MAX).unwrap() {
        os::clock::sleep(Duration::from_millis(1));
    }
    // As the kernel holds it for a write that lasts longer.
    let held = users.for_ring((u64::from(dead.number()) - 1) * 1024 + 3).unwrap();
    std::thread::scope(|scope| {
        let cleaned =
            scope.spawn(|| l.db.all.cleanup(&testing::attach(l.db.all, "pmon"), dead).expect("a dead process"));
        os::clock::sleep(Duration::from_millis(30));
        assert!(!cleaned.is_finished(), "a late write could overwrite a later version of the block");
        drop(held);
        cleaned.join().unwrap();
    });
    l.db.cache.assert_invariants().unwrap();
    compare_frames(&l, &p, &at, &mut Blocks::new(BEGIN));
    assert_eq!(l.db.cache.write_batch(&p, 4).unwrap(), 4, "they are dirty again");
}

#[test]
fn a_checkpoint_waits_for_groups_that_have_their_place_in_the_redo() {
    for (n, point) in POINTS[..7].iter().enumerate() {
        let l = logged(48, 1 << 20);
        let p = testing::attach(l.db.all, "p");
        let at = loose_blocks(2);
        l.db.cache.in_group(&p, &scn, &mut |g| at.iter().try_for_each(|a| make_block(g, *a, 1))).unwrap();
        l.db.cache.checkpoint(&p).unwrap();
        let dead = die_at(&l, point, |p| {
            l.db.cache.in_group(p, &scn, &mut |g| at.iter().try_for_each(|a| set_value(g, *a, 2))).unwrap();
        });
        std::thread::scope(|scope| {
            let made = scope.spawn(|| l.db.cache.checkpoint(&testing::attach(l.db.all, "q")).unwrap());
            os::clock::sleep(Duration::from_millis(20));
            assert!(!made.is_finished(), "{point}: the group is not over");
            l.db.all.cleanup(&p, dead).expect("a dead process");
            let rba = made.join().expect("a checkpoint").rba.0;
            let disk = on_disk(&l.db.directory, &at, rba);
            let want = if n < 2 { 1 } else { 2 };
            assert!(at.iter().all(|a| disk.images[a].view().u64(TAIL_AT) == want), "{point}");
        });
        compare_frames(&l, &p, &at, &mut Blocks::new(BEGIN));
    }
}

#[test]
fn a_write_that_fails_puts_the_buffer_back_in_its_place() {
    let l = logged(48, 1 << 20);
    assert_eq!(l.db.cache.working_sets(), 1);
    let (p, at) = (testing::attach(l.db.all, "p"), loose_blocks(4));
    let begins: Vec<u64> = at
        .iter()
        .map(|a| {
            let begin = l.redo.head();
            l.db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, 1)).unwrap();
            begin
        })
        .collect();
    let oldest = || l.db.cache.oldest_change(&p).map(|rba| rba.0);
    l.redo.refuse_once(&p);
    assert!(l.db.cache.write_batch(&p, 1).unwrap_err().is(1013));
    l.db.cache.assert_sets().unwrap();
    for begin in &begins {
        assert_eq!(oldest(), Some(*begin), "what was not written is the oldest still");
        assert_eq!(l.db.cache.write_batch(&p, 1).unwrap(), 1);
    }
    assert_eq!((oldest(), l.db.cache.queue_length()), (None, 0));
    // A block that is changed again after it was written is queued by the new change.
    let change = |n: usize| {
        let begin = l.redo.head();
        l.db.cache.in_group(&p, &scn, &mut |g| set_value(g, at[n], 2)).unwrap();
        begin
    };
    let first = change(0);
    let second = change(1);
    assert_eq!(oldest(), Some(first));
    assert_eq!(l.db.cache.write_batch(&p, 1).unwrap(), 1);
    let third = change(0);
    assert_eq!(oldest(), Some(second));
    assert_eq!(l.db.cache.write_batch(&p, 1).unwrap(), 1);
    assert_eq!(oldest(), Some(third));
}

/// The operations of a process in the cache. Blocks 0 to 3 exist and are dirty; the cache has room for few of the
/// others.
type Operation = (&'static str, fn(&Logged, &Process, &[Rdba]));

const OPERATIONS: &[Operation] = &[
    ("a group of two blocks", |l, p, at| {
        l.db.cache.in_group(p, &scn, &mut |g| at[..2].iter().try_for_each(|a| set_value(g, *a, 2))).unwrap();
    }),
    ("a group that is given up", |l, p, at| {
        let mut g = l.db.cache.group(p);
        set_value(&mut g, at[0], 3).unwrap();
        drop(g);
    }),
    ("new blocks that others have to go for", |l, p, at| {
        for block in &at[8..20] {
            l.db.cache.in_group(p, &scn, &mut |g| make_block(g, *block, 2)).unwrap();
        }
    }),
    ("reads", |l, p, at| {
        for block in at[4..16].iter().rev() {
            let _ = value(&l.db, p, *block, GetKind::Current);
        }
        l.db.cache.end_call(p);
    }),
    ("a write of dirty blocks", |l, p, _| {
        l.db.cache.write_batch(p, 20).unwrap();
    }),
    ("a write that fails", |l, p, at| {
        l.db.cache.in_group(p, &scn, &mut |g| at[..2].iter().try_for_each(|a| set_value(g, *a, 2))).unwrap();
        l.redo.refuse_once(p);
        assert!(l.db.cache.write_batch(p, 20).is_err());
    }),
    ("a checkpoint", |l, p, _| {
        l.db.cache.checkpoint(p).unwrap();
    }),
];

#[test]
fn a_process_killed_at_any_step_leaves_a_whole_cache_and_its_changes_in_the_redo() {
    for (what, operation) in OPERATIONS {
        let l = logged(32, 4 << 20);
        let p = testing::attach(l.db.all, "p");
        let at = loose_blocks(20);
        for block in &at {
            l.db.cache.in_group(&p, &scn, &mut |g| make_block(g, *block, 1)).unwrap();
            l.db.cache.write_batch(&p, 4).unwrap();
        }
        let fill = || {
            l.db.cache.in_group(&p, &scn, &mut |g| at[..4].iter().try_for_each(|a| set_value(g, *a, 1))).unwrap();
            l.db.cache.end_call(&p);
        };
        let body = |child: &Process, arm: &dyn Fn()| {
            arm();
            operation(&l, child, &at);
        };
        let check = || {
            l.db.cache.assert_invariants().unwrap_or_else(|e| panic!("{what}: {e}"));
            // All of the group or nothing.
            let values: Vec<u64> = at.iter().map(|a| value(&l.db, &p, *a, GetKind::Current)).collect();
            l.db.cache.end_call(&p);
            assert_eq!(values[0], values[1], "{what}");
            assert!(values.iter().all(|value| matches!(value, 1 | 2)), "{what}: {values:?}");
            compare_frames(&l, &p, &at, &mut Blocks::new(BEGIN));
        };
        let killed = testing::kill_at_every_step(&p, testing::EVERY_STEP, fill, body, check);
        assert!(killed > 0 || *what == "a group that is given up" || *what == "reads", "{what}");
    }
}

#[test]
fn the_write_list_is_written_although_its_first_buffers_are_being_written() {
    let l = logged(48, 1 << 20);
    let (p, at) = (testing::attach(l.db.all, "p"), loose_blocks(100));
    let make = |at: &[Rdba]| {
        for a in at {
            l.db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, 1)).unwrap();
        }
    };
    make(&at[..12]);
    // Searches move all dirty buffers to the write list.
    for a in &at[12..60] {
        l.db.cache.read(&p, *a, GetKind::Consistent, &mut |v| v.u64(64)).unwrap();
    }
    assert_eq!(l.db.cache.write_list_length(), 12);
    // A process dies with its copies of the first four, and they are changed again before anybody cleans up.
    let dead = die_at(&l, "cache-copies-taken", |p| drop(l.db.cache.write_replaced(p, Share::ALL, 4)));
    make(&at[..4]);
    assert_eq!(l.db.cache.write_replaced(&p, Share::ALL, 4).unwrap(), 4);
    assert_eq!(l.db.cache.write_replaced(&p, Share::ALL, 4).unwrap(), 4);
    assert_eq!(l.db.cache.write_list_length(), 4);
    l.db.all.cleanup(&p, dead).expect("a dead process");
    assert_eq!(l.db.cache.write_replaced(&p, Share::ALL, 4).unwrap(), 4);
    l.db.cache.assert_invariants().unwrap();
}
