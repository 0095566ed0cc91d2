//! Prints the cost of a start, of a checkpoint of few dirty blocks and of misses in caches of several sizes: `cargo run
//! --release -p buffer_cache --example sets -- MEGABYTES THREADS SETS`.
//!
//! Runs without redo and without waiting for the device, so that only the cache itself is measured.

#[path = "../tests/common/mod.rs"]
mod common;
use buffer_cache::{CacheConfig, CacheLayout, GetKind};
use common::*;
use datafile::DataFiles;
use latch::LatchName;
use testing::Random;

/// Blocks of the file that the misses read: four times the size of that cache.
const FILE_BLOCKS: u32 = 8000;
const CHECKPOINTS: usize = 15;

fn cache_of(config: &CacheConfig) -> (Db, f64) {
    let mut spec = small_database();
    tablespace(&mut spec, datafile::tablespace::USERS).bytes = u64::from(FILE_BLOCKS + 100) * BLOCK as u64;
    let directory = Folder::new("cache");
    let files = DataFiles::create(&directory, &spec).expect("files");
    files.set_disk_sync(false);
    let (all, layout) = testing::instance(24, |b| CacheLayout::reserve(b, config));
    let began = os::clock::now_ns();
    let db = over_layout(directory, files, config, all, &layout);
    (db, (os::clock::now_ns() - began) as f64 / 1e6)
}

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let [megabytes, threads, sets] = given[..] else { panic!("MEGABYTES THREADS SETS") };
    let mut config = CacheConfig::new((megabytes << 20) / BLOCK, BLOCK, 24);
    config.working_sets = sets;
    let (db, start_ms) = cache_of(&config);
    println!("create a cache of {megabytes} MB: {start_ms:.2} ms");

    let p = testing::attach(db.all, "bench");
    let at = loose_blocks(100);
    let mut times: Vec<f64> = (0..CHECKPOINTS as u64)
        .map(|n| {
            for a in &at {
                db.cache.in_group(&p, &scn, &mut |g| make_block(g, *a, n)).expect("a block");
            }
            let began = os::clock::now_ns();
            db.cache.checkpoint(&p).expect("a checkpoint");
            (os::clock::now_ns() - began) as f64 / 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("checkpoint of {} dirty blocks: median {:.2} ms", at.len(), times[CHECKPOINTS / 2]);
    drop((p, db));

    let mut config = CacheConfig::new(FILE_BLOCKS as usize / 4, BLOCK, 24);
    config.working_sets = sets;
    let (db, _) = cache_of(&config);
    let file = 3;
    let first = DataFiles::first_data_block_of(BLOCK);
    let p = testing::attach(db.all, "bench");
    for n in 0..FILE_BLOCKS {
        let block = types::Rdba::new(file, first + n);
        db.cache.in_group(&p, &scn, &mut |g| make_block(g, block, 1)).expect("a block");
    }
    db.cache.checkpoint(&p).expect("a checkpoint");
    let (before, reads) = (db.all.latch_counts(LatchName::CacheBuffersLruChain), 100_000u64);
    let began = os::clock::now_ns();
    testing::run_threads(db.all, threads, |p, n| {
        let mut numbers = Random::new(n as u64);
        for _ in 0..reads {
            let random = numbers.next();
            let block = types::Rdba::new(file, first + (random >> 33) as u32 % FILE_BLOCKS);
            db.cache.read(p, block, GetKind::Consistent, &mut |v| v.u64(VALUE_AT)).expect("a block");
        }
    });
    let each = (os::clock::now_ns() - began) as f64 / reads as f64 / threads as f64;
    let after = db.all.latch_counts(LatchName::CacheBuffersLruChain);
    let (gets, misses, sleeps) = (after.gets - before.gets, after.misses - before.misses, after.sleeps - before.sleeps);
    println!("{threads} threads, {sets} sets, a miss in 3 of 4 reads: {each:.0} ns a read");
    println!("cache buffers lru chain: {gets} gets, {misses} misses, {sleeps} sleeps");
}
