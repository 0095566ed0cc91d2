//! Processor time of beginning and committing transactions while many processes are attached, and gets of the latches
//! that all of them share: `cargo bench -p heap --bench commits [processes…]`.
//!
//! Every process has a row of its own in a block of its own, so what grows with their number is what the instance does
//! for all of them. The processes are threads: where there are fewer processors, the time of the processor counts, not
//! that of the clock.

use buffer_cache::{BufferCache, CacheConfig, CacheLayout};
use datafile::{CreateDatabase, DataFiles, LogsOf, tablespace};
use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use heap::{Heap, HeapTable};
use process::{Process, Processes};
use redo::{ApplyTable, FIRST_RBA, LogConfig, LogFiles, LogLayout, RedoLog, RedoSink, create_logs};
use space::{Space, SpaceLayout};
use std::sync::{Arc, Barrier};
use std::time::Instant;
use txn::{LockWait, NoHook, Transactions, Txn, TxnConfig, TxnLayout};
use types::row::RowWriter;
use types::{ObjectId, Rowid, Scn};

const BLOCK: usize = 8192;
const PROCESSES: u32 = 520;

struct Db {
    all: &'static Processes,
    log: &'static RedoLog,
    txns: Transactions,
    heap: Heap,
    table: HeapTable,
    directory: std::path::PathBuf,
}

fn database() -> Db {
    let directory = std::env::temp_dir().join(format!("latchwork-commits-{}", os::process::own_id()));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    let files = DataFiles::create(&directory, &CreateDatabase::usual("BENCH", 7, BLOCK)).expect("data files");
    files.set_disk_sync(false);
    let how = LogFiles { directory: &directory, sparse: true, sync: false };
    let mut control = files.control().expect("a control file");
    control.set_logs(create_logs(&how, 3, 256 << 20, Scn(1)).expect("logs"));
    control.write(&directory).expect("a control file");
    let files = Arc::new(files);
    let config = CacheConfig::new(8000, BLOCK, PROCESSES as usize);
    let txn = TxnConfig { undo_segments: 16, ..TxnConfig::new(PROCESSES) };
    let log = LogConfig { buffer_bytes: 8 << 20, processes: PROCESSES as usize, leader: true };
    let (all, at) = testing::instance(PROCESSES, |b| {
        let enqueues = EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(PROCESSES));
        let space = SpaceLayout::reserve(b, PROCESSES as usize);
        (CacheLayout::reserve(b, &config), TxnLayout::reserve(b, &txn), LogLayout::reserve(b, &log), enqueues, space)
    });
    let enqueues = Enqueues::create(all, &at.3);
    let log: &'static RedoLog =
        Box::leak(Box::new(RedoLog::create(all, &at.2, &log, LogsOf::new(&files, &enqueues)).expect("a log")));
    let mut table = ApplyTable::new();
    buffer_cache::register(&mut table);
    Space::register_apply(&mut table);
    Transactions::register_apply(&mut table);
    Heap::register_apply(&mut table);
    let cache = Arc::new(BufferCache::create(all.sga(), &at.0, &config, files, table, Box::new(log)));
    cache.register_with(all);
    log.set_end(FIRST_RBA, Scn(1));
    let p = testing::attach(all, "creator");
    log.open(&p).expect("an open log");
    {
        let cache = Arc::clone(&cache);
        log.set_checkpointer(Box::new(move |p| {
            let done = cache.checkpoint(p)?;
            log.note_checkpoint(p, done.rba)
        }));
    }
    let space = Space::create(all.sga(), &at.4, &cache);
    space.register_with(all);
    let txns = Transactions::create(all.sga(), &at.1, &txn, &space, &enqueues);
    txns.create_undo_segments(&p).expect("undo");
    let heap = Heap::new(&txns);
    let scn = || txns.current_scn();
    let header = txns.space().create_segment(&p, tablespace::USERS, block::SegmentKind::Table, ObjectId(90), &scn);
    let table = HeapTable {
        object: ObjectId(90),
        data_object: ObjectId(90),
        header: header.expect("a segment"),
        pctfree: 10,
        initrans: 1,
    };
    Db { all, log, txns, heap, table, directory }
}

fn row(id: u32, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = RowWriter::new(&mut out, 3);
    w.bytes(&id.to_be_bytes());
    w.bytes(&value.to_be_bytes());
    w.bytes(&[7; 6000]);
    out
}

/// One transaction of a process, or what it begins with.
fn begin(db: &Db, p: &Process, t: &mut Txn) {
    db.txns.begin(p, t).expect("a slot");
    db.txns.rollback(p, t).expect("nothing to undo");
}

fn update(db: &Db, p: &Process, t: &mut Txn, at: Rowid, n: u64, sync: bool) {
    let s = db.txns.snapshot(p, t);
    db.heap.update(p, t, &db.table, at, &row(p.number(), n), &s, LockWait::Forever).expect("the own row");
    db.txns.release(p, &s);
    db.txns.commit(p, t, &NoHook).expect("a commit");
    if sync {
        db.log.sync_commits(p).expect("a log that can be written");
    }
}

fn measure(
    db: &Db,
    attached: usize,
    running: usize,
    what: &str,
    each: u64,
    body: &(dyn Fn(&Process, Rowid, u64) + Sync),
) {
    let (ready, go, done) = (Barrier::new(attached + 1), Barrier::new(attached + 1), Barrier::new(attached + 1));
    let redo = db.all.latch(latch::LatchName::RedoAllocation);
    std::thread::scope(|scope| {
        for n in 0..attached {
            let (ready, go, done) = (&ready, &go, &done);
            scope.spawn(move || {
                let p = testing::attach(db.all, "bench");
                let mut t = Txn::new();
                let at = db.heap.insert(&p, &mut t, &db.table, &row(p.number(), 0)).expect("room");
                db.txns.commit(&p, &mut t, &NoHook).expect("a commit");
                ready.wait();
                go.wait();
                if n < running {
                    (1..=each).for_each(|n| body(&p, at, n));
                }
                done.wait();
            });
        }
        ready.wait();
        let gets = redo.counts().gets;
        let (clock, cpu) = (Instant::now(), os::clock::own_cpu_ns());
        go.wait();
        done.wait();
        let total = (each * running as u64) as f64;
        let (cpu, clock) = ((os::clock::own_cpu_ns() - cpu) as f64, clock.elapsed().as_nanos() as f64);
        println!(
            "{what:<8} {attached:>4} attached {running:>4} running {:>9.2} us of processor {:>9.2} us of clock {:>6.2} gets of redo allocation",
            cpu / total / 1000.0,
            clock / total / 1000.0,
            (redo.counts().gets - gets) as f64 / total,
        );
    });
}

fn main() {
    let db = database();
    let given: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let sizes = if given.is_empty() { vec![1, 8, 64, 500] } else { given };
    for attached in sizes {
        for running in [1, attached] {
            let each = 200_000 / running as u64;
            measure(&db, attached, running, "begin", each, &|p, _, _| begin(&db, p, &mut Txn::new()));
            let each = 20_000 / running as u64;
            measure(&db, attached, running, "update", each, &|p, at, n| update(&db, p, &mut Txn::new(), at, n, false));
            measure(&db, attached, running, "commit", each, &|p, at, n| update(&db, p, &mut Txn::new(), at, n, true));
            if attached == 1 {
                break;
            }
        }
    }
    let _ = std::fs::remove_dir_all(&db.directory);
}
