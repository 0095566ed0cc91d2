//! The cost of a new block for rows: gets of a single inserter in a segment of 1,600 extents after one block in the
//! first of them got room again, and new blocks a second by 1, 8 and 64 processes.
//!
//! `cargo run --release -p space --example room`

use block::{BlockKind, BlockState, SegmentKind};
use buffer_cache::{BufferCache, CacheConfig, CacheLayout, GetKind};
use datafile::{CreateDatabase, DataFiles, tablespace};
use process::Process;
use redo::{ApplyTable, NoRedo};
use space::{InsertHint, Space, SpaceLayout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use types::{ObjectId, Rdba, Scn};
use wait::Stat;

const BLOCK: usize = 8192;
const PROCESSES: u32 = 70;
const EXTENTS: usize = 1600;

fn scn() -> Scn {
    static NEXT: AtomicU64 = AtomicU64::new(10);
    Scn(NEXT.fetch_add(1, Ordering::Relaxed))
}

struct Bench {
    cache: Arc<BufferCache>,
    space: Space,
    segment: Rdba,
}

impl Bench {
    fn mark(&self, p: &Process, at: Rdba, state: BlockState) {
        let map = self.cache.read(p, at, GetKind::Current, &mut |v| v.map()).unwrap();
        self.cache.in_group(p, &scn, &mut |g| self.space.mark(g, map, at, state)).unwrap();
    }

    fn fill_one(&self, p: &Process) -> Rdba {
        let mut hint = InsertHint::default();
        let at =
            self.space.insert_block(p, self.segment, &mut hint, BlockKind::Heap, 2, &scn, &mut |_| Ok(false)).unwrap();
        self.mark(p, at, BlockState::Full);
        at
    }

    fn extents_of(&self, blocks: u32) {
        let mut control = self.cache.files().control().unwrap();
        control.tablespaces[tablespace::USERS as usize].extent_blocks = blocks;
        control.write(self.cache.files().directory()).unwrap();
    }
}

fn main() {
    let directory = testing::Folder::new("room");
    let files = DataFiles::create(&directory, &CreateDatabase::usual("ROOM", 7, BLOCK)).unwrap();
    files.set_disk_sync(false);
    let config = CacheConfig::new(60_000, BLOCK, PROCESSES as usize);
    let (all, (cache, space)) = testing::instance(PROCESSES, |b| {
        (CacheLayout::reserve(b, &config), SpaceLayout::reserve(b, PROCESSES as usize))
    });
    let mut table = ApplyTable::new();
    buffer_cache::register(&mut table);
    Space::register_apply(&mut table);
    let cache = BufferCache::create(all.sga(), &cache, &config, Arc::new(files), table, Box::new(NoRedo));
    let cache = Arc::new(cache);
    let space = Space::create(all.sga(), &space, &cache);
    let p = testing::attach(all, "setup");
    let make = |obj| space.create_segment(&p, tablespace::USERS, SegmentKind::Table, ObjectId(obj), &scn).unwrap();
    let mut bench = Bench { cache: Arc::clone(&cache), space: space.clone(), segment: Rdba::NONE };
    bench.extents_of(8);
    bench.segment = make(1);
    let first = bench.fill_one(&p);
    while space.extents(&p, bench.segment).unwrap().len() < EXTENTS {
        bench.fill_one(&p);
    }
    bench.extents_of(8192);
    // Up to the first block of a large extent.
    let before = space.extents(&p, bench.segment).unwrap().len();
    while space.extents(&p, bench.segment).unwrap().len() == before {
        bench.fill_one(&p);
    }
    for what in ["before the delete", "after it"] {
        let (gets, began) = (p.stats().get(Stat::DbBlockGets), Instant::now());
        for _ in 0..500 {
            bench.fill_one(&p);
        }
        let (gets, us) = (p.stats().get(Stat::DbBlockGets) - gets, began.elapsed().as_micros());
        println!("{what}: {:.1} gets and {:.1} us a new block", gets as f64 / 500.0, us as f64 / 500.0);
        bench.mark(&p, first, BlockState::Room);
        bench.fill_one(&p);
    }
    for sessions in [1, 8, 64] {
        bench.segment = make(10 + sessions as u32);
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let began = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_secs(2));
                stop.store(true, Ordering::Relaxed);
            });
            testing::run_threads(all, sessions, |p, _| {
                while !stop.load(Ordering::Relaxed) {
                    bench.fill_one(p);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        });
        println!(
            "{sessions} sessions: {:.0} new blocks/s",
            done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
        );
        space.drop_segment(&p, bench.segment, &scn).unwrap();
    }
}
