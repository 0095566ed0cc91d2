//! Measures the roll forward of a gigabyte of redo: `cargo run --release -p recovery --example speed -- [MB] [FOLDER]`.
//!
//! Records are like those of small transactions: a change of a table block, its undo record and a change of an undo
//! header, with a whole image at each block's first change. All files are made in the folder (a temporary one by
//! default) and removed again.

use buffer_cache::op;
use datafile::{CreateDatabase, DataFiles};
use recovery::{Forward, Until, Workers, roll_forward};
use redo::{ApplyTable, ChangeVector, Layer, LogHeader, LogId, LogReader, Place, Rba, RecordWriter};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use testing::Random;
use types::{Rdba, Scn};

const SIZE: usize = 8192;
const FIRST: u64 = 4096;
/// Table blocks that are changed, spread over the file.
const BLOCKS: u32 = 16 << 10;

fn main() {
    let mut args = std::env::args().skip(1);
    let mb: u64 = args.next().and_then(|a| a.parse().ok()).unwrap_or(1024);
    let base = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = base.join(format!("latchwork-forward-speed-{}", os::process::own_id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    run(&dir, mb << 20);
    std::fs::remove_dir_all(&dir).expect("the folder goes");
}

fn run(dir: &Path, bytes: u64) {
    let files = DataFiles::create(dir, &CreateDatabase::usual("T", 7, SIZE)).expect("a database");
    files.set_disk_sync(false);
    let (end, records) = write_log(dir, bytes);
    let mut apply = ApplyTable::new();
    buffer_cache::register(&mut apply);
    for memory_mb in [512, 64] {
        let (began, cpu) = (Instant::now(), cpu_s());
        let mut reader = LogReader::open(&[dir.join("redo01.log")], 7, 1, Rba(FIRST)).expect("the log");
        let starts = (1..=4).map(|n| (n, Rba(0))).collect();
        let frames_max = (memory_mb << 20) / SIZE;
        let forward = Forward {
            files: &files,
            apply: &apply,
            starts,
            until: Until::End,
            announced: Rba(0),
            frames_max,
            workers: Workers::default(),
            on_device: true,
        };
        let out = roll_forward(&forward, &mut reader, &mut |_| {}).expect("it rolls forward");
        assert_eq!((out.end.0, out.records), (end, records));
        let (s, cpu) = (began.elapsed().as_secs_f64(), cpu_s() - cpu);
        println!(
            "{memory_mb} MB of memory: {} MB of redo, {records} records, {} blocks read, {} written: {s:.2} s, {cpu:.2} s of CPU, {:.2} s of CPU a GB",
            bytes >> 20,
            out.blocks_read,
            out.blocks_written,
            cpu * (1u64 << 30) as f64 / bytes as f64
        );
    }
}

/// CPU time of all threads so far, ended threads included.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = text.rsplit(')').next().into_iter().flat_map(|rest| rest.split(' ').skip(12).take(2));
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Writes `bytes` bytes of redo; returns the end of the last record, and the number of records.
fn write_log(dir: &Path, bytes: u64) -> (u64, u64) {
    let header =
        LogHeader { database: 7, incarnation: 1, sequence: 1, group: 1, start: Rba(FIRST), ..LogHeader::default() };
    let file = std::fs::File::create(dir.join("redo01.log")).expect("a log");
    let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
    out.write_all(&header.to_bytes()).expect("written");
    let (mut at, mut n, mut made) = (FIRST, 0u64, vec![false; 2 * BLOCKS as usize]);
    let mut numbers = Random::new(88);
    while at < FIRST + bytes {
        let random = numbers.next();
        let mut w = RecordWriter::new();
        let (table, undo) = (random as u32 % BLOCKS, BLOCKS + (n / 40) as u32 % (BLOCKS - 64));
        let header = 2 * BLOCKS - 1 - (random >> 40) as u32 % 16;
        for (block, len) in [(table, 160), (undo, 180), (header, 60)] {
            let rdba = Rdba::new(3, 300 + block);
            if !std::mem::replace(&mut made[block as usize], true) {
                let mut image = block::Image::new(SIZE);
                block::format(image.bytes_mut(), block::BlockKind::Temporary, rdba, types::ObjectId(1), Rdba(0));
                let mut data = vec![0; 4];
                data.extend_from_slice(image.bytes());
                w.push(&ChangeVector { rdba, layer: Layer::Block, op: op::IMAGE, data: &data });
            }
            let mut data = vec![n as u8; 2 + len];
            data[..2].copy_from_slice(&(100 + (random >> 20) as u16 % 7000).to_le_bytes());
            w.push(&ChangeVector { rdba, layer: Layer::Block, op: op::PATCH, data: &data });
        }
        let record = w.finish(&Place::new(Rba(at), LogId { incarnation: 1, sequence: 1 }), Scn(n), 1);
        out.write_all(record).expect("written");
        at += record.len() as u64;
        n += 1;
    }
    out.write_all(&[0; 4096]).expect("written");
    out.flush().expect("written");
    (at, n)
}
