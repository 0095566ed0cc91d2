//! Prints the time of a checkpoint of scattered dirty blocks for each way to write files:
//! `TMPDIR=DIR cargo run --release -p buffer_cache --example checkpoint -- BLOCKS ROUNDS`.
//!
//! Blocks of 8 KB, few of them neighbours, in a file of eight times as many blocks; a double-write area of 64 MB; syncs
//! as in a lasting database. One process writes. The ways take turns; the medians of the rounds are printed.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/sink.rs"]
#[allow(dead_code)]
mod sink;

use block::BlockKind;
use buffer_cache::{BufferCache, CacheConfig, CacheLayout, op};
use common::{Db, scn, tablespace};
use datafile::{CreateDatabase, DOUBLE_WRITE_FILE, DataFiles};
use process::Process;
use redo::{ApplyTable, Layer};
use sink::{Recorder, RecorderLayout};
use std::sync::Arc;
use testing::Folder;
use types::{ObjectId, Rdba};

const BLOCK: usize = 8192;
const AREA_BYTES: u64 = 64 << 20;
/// The redo of a change, and some room.
const REDO_BYTES: usize = 256;

/// The ways: name, past the page cache, together.
const WAYS: [(&str, bool, bool); 4] =
    [("none", false, false), ("asynch", false, true), ("directIO", true, false), ("setall", true, true)];

fn open(blocks: usize, rounds: usize, direct: bool) -> Db {
    let directory = Folder::new("checkpoint");
    let mut spec = CreateDatabase::usual("BENCH", 7, BLOCK);
    tablespace(&mut spec, datafile::tablespace::USERS).bytes = (blocks as u64 * 8 + 4096) * BLOCK as u64;
    let files = DataFiles::create(&directory, &spec).expect("files");
    let control = files.control().expect("a control file");
    files.open_double_write(DOUBLE_WRITE_FILE, AREA_BYTES, 24, &control, 5).expect("an area");
    if direct {
        let refused = files.bypass_cache().unwrap();
        assert!(refused.is_empty(), "no direct I/O here: {refused:?}");
    }
    let config = CacheConfig::new(blocks * 5 / 4, BLOCK, 24);
    let redo_bytes = (rounds + 2) * blocks * REDO_BYTES;
    let (all, (layout, recorder)) =
        testing::instance(24, |b| (CacheLayout::reserve(b, &config), RecorderLayout::reserve(b, redo_bytes)));
    let redo = Recorder::create(all.sga(), &recorder, all);
    let mut table = ApplyTable::new();
    buffer_cache::register(&mut table);
    let cache = BufferCache::create(all.sga(), &layout, &config, Arc::new(files), table, Box::new(redo));
    let cache = Arc::new(cache);
    cache.register_with(all);
    Db { all, cache, directory }
}

fn change(db: &Db, p: &Process, blocks: &[Rdba], value: u64, is_new: bool) {
    let data = [&64u16.to_le_bytes()[..], &value.to_le_bytes()].concat();
    for at in blocks {
        let change = db.cache.in_group(p, &scn, &mut |g| {
            if is_new {
                g.format(*at, BlockKind::Temporary, ObjectId(1), Rdba(0), 0)?;
            }
            let b = g.current(*at)?;
            g.change(b, Layer::Block, op::PATCH, &data)
        });
        change.expect("a change");
    }
}

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let [count, rounds] = given[..] else { panic!("BLOCKS ROUNDS") };
    let first = DataFiles::first_data_block_of(BLOCK);
    // Every eighth block, in the order of a multiplication.
    let place = |n: usize| (n as u64 * 2_654_435_761 % count as u64) as u32 * 8;
    let blocks: Vec<Rdba> = (0..count).map(|n| Rdba::new(3, first + place(n))).collect();
    let dbs: Vec<(Db, Process)> = WAYS
        .iter()
        .map(|(_, direct, together)| {
            let db = open(count, rounds, *direct);
            let p = testing::attach(db.all, "bench");
            if *together {
                db.cache.write_asynchronously(&p).expect("a ring");
            }
            change(&db, &p, &blocks, 0, true);
            db.cache.checkpoint(&p).expect("a checkpoint");
            (db, p)
        })
        .collect();
    let mut times = WAYS.map(|_| Vec::new());
    for round in 1..=rounds {
        for ((db, p), times) in dbs.iter().zip(&mut times) {
            change(db, p, &blocks, round as u64, false);
            let (began, cpu) = (os::clock::now_ns(), os::clock::own_cpu_ns());
            let done = db.cache.checkpoint(p).expect("a checkpoint");
            assert_eq!(done.buffers, count as u64);
            times.push((os::clock::now_ns() - began, os::clock::own_cpu_ns() - cpu));
        }
    }
    for ((name, ..), mut times) in WAYS.iter().zip(times) {
        let mut median = |key: fn(&(u64, u64)) -> u64| {
            times.sort_unstable_by_key(key);
            key(&times[rounds / 2]) as f64 / 1e6
        };
        println!("{name:9} {:8.1} ms by the clock, {:7.1} ms of processor time", median(|t| t.0), median(|t| t.1));
    }
}
