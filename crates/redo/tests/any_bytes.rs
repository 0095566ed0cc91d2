//! Arbitrary bytes in log files: reading ends without a panic and returns only the first records as written; where redo
//! is known to go on, it ends with an error.
//!
//! `LATCHWORK_FUZZ=n` runs n times as many cases.

use redo::{ChangeVector, LOG_HEADER_BYTES, Layer, LogHeader, LogReader, Place, Rba, RecordWriter};
use std::path::{Path, PathBuf};
use testing::{Folder, Random};
use types::{Rdba, Scn};

const CASES: u64 = 300;
const FILES: u32 = 3;

fn header(sequence: u32, start: Rba) -> LogHeader {
    let first_scn = Scn(u64::from(sequence));
    LogHeader { database: 7, incarnation: 1, sequence, group: sequence, start, first_scn, ..LogHeader::default() }
}

struct Record {
    at: Rba,
    len: usize,
    /// The position on disk when it was made.
    on_disk: Rba,
}

/// Three log files that follow one another, and every record.
fn sound(r: &mut Random) -> (Vec<Vec<u8>>, Vec<Record>) {
    let (mut at, mut files, mut records) = (Rba(4096), Vec::new(), Vec::new());
    for sequence in 1..=FILES {
        let mut bytes = header(sequence, at).to_bytes();
        let log = header(sequence, at).id();
        let mut on_disk = at;
        for n in 0..1 + r.below(12) {
            let mut writer = RecordWriter::new();
            for _ in 0..1 + r.below(4) {
                let data: Vec<u8> = (0..r.below(300)).map(|_| r.next() as u8).collect();
                writer.push(&ChangeVector { rdba: Rdba(n as u32), layer: Layer::Heap, op: 3, data: &data });
            }
            let whole = writer.finish(&Place { at, log, on_disk }, Scn(n), 5);
            records.push(Record { at, len: whole.len(), on_disk });
            at = Rba(at.0 + whole.len() as u64);
            if r.below(3) == 0 {
                // A write ends here, and is synced.
                on_disk = at;
            }
            bytes.extend(whole);
        }
        if sequence == FILES {
            // Bytes of an earlier use of the file.
            bytes.extend((0..r.below(3000)).map(|_| r.next() as u8));
        }
        files.push(bytes);
    }
    (files, records)
}

/// Changes some bytes of a file, or gives it another header whose checksum is right.
fn damage(files: &mut [Vec<u8>], r: &mut Random) {
    let n = r.below(files.len() as u64) as usize;
    let len = files[n].len() as u64;
    let begin = (LOG_HEADER_BYTES + r.below(len - LOG_HEADER_BYTES)) as usize;
    match r.below(6) {
        0 => files[n][begin] ^= 1 << r.below(8),
        1 => files[n].truncate(begin),
        2 => files[n][begin..].fill(r.next() as u8),
        3 => files[n].truncate(r.below(LOG_HEADER_BYTES) as usize),
        4 => {
            let word = [r.next(), r.next() % 100_000, 0, u64::MAX][r.below(4) as usize];
            files[n][begin..].iter_mut().zip(word.to_le_bytes()).for_each(|(to, b)| *to = b);
        }
        _ => {
            let numbers = [0, 1, u64::from(u32::MAX), 4096, r.next() % 20_000, u64::MAX, (1 << 48) - 1];
            let mut any = || numbers[r.below(numbers.len() as u64) as usize];
            let (sequence, start, end) = (any() as u32, Rba(any()), Rba(any()));
            let made = LogHeader { sequence, start, end, ..header(1 + n as u32, Rba(4096)) };
            files[n][..LOG_HEADER_BYTES as usize].copy_from_slice(&made.to_bytes());
        }
    }
}

fn write(dir: &Path, files: &[Vec<u8>]) -> Vec<PathBuf> {
    let write = |(n, bytes): (usize, &Vec<u8>)| {
        let path = dir.join(format!("redo{n}.log"));
        std::fs::write(&path, bytes).unwrap();
        path
    };
    files.iter().enumerate().map(write).collect()
}

#[test]
fn damaged_logs_give_the_first_records_or_an_error() {
    let times = std::env::var("LATCHWORK_FUZZ").ok().and_then(|v| v.parse::<u64>().ok()).unwrap_or(1);
    let dir = Folder::new("redo-any");
    let (mut whole, mut short) = (0, 0);
    for seed in 0..CASES * times {
        let mut r = Random::new(seed);
        let (mut files, records) = sound(&mut r);
        let from = records[r.below(records.len() as u64) as usize].at;
        for _ in 0..seed % 4 {
            if files.iter().all(|f| f.len() > LOG_HEADER_BYTES as usize) {
                damage(&mut files, &mut r);
            }
        }
        let paths = write(&dir, &files);
        let Ok(mut reader) = LogReader::open(&paths, 7, 1, from) else {
            assert!(seed % 4 > 0, "seed {seed}: undamaged logs are opened");
            short += 1;
            continue;
        };
        let mut want = records.iter().skip_while(|r| r.at < from);
        while let Ok(Some((at, record))) = reader.next_record() {
            let next = want.next().map(|r| (r.at, r.len));
            assert_eq!(next, Some((at, record.len)), "seed {seed}: a record that was not written");
        }
        match want.next() {
            None => whole += 1,
            Some(_) => short += 1,
        }
        assert!(seed % 4 > 0 || want.next().is_none(), "seed {seed}: undamaged logs are read to their end");
    }
    assert!(whole > 0 && short > 0, "{whole} {short}");
}

/// Any byte of any record may be lost. Where a later record or log shows that the place was on disk, the loss is an
/// error that names the place; a record of the last write may be torn, and is the end.
#[test]
fn a_lost_byte_is_the_end_in_the_last_write_only() {
    let dir = Folder::new("redo-lost");
    let (mut torn, mut damaged) = (0, 0);
    for seed in 0..CASES {
        let mut r = Random::new(seed);
        let (mut files, records) = sound(&mut r);
        let lost = r.below(records.len() as u64) as usize;
        let starts: Vec<u64> = files.iter().map(|f| LogHeader::parse(f).unwrap().start.0).collect();
        let n = starts.iter().rposition(|s| *s <= records[lost].at.0).unwrap();
        let begin = (LOG_HEADER_BYTES + records[lost].at.0 - starts[n]) as usize;
        let zeros = r.below(2) == 0;
        let place = begin + r.below(records[lost].len as u64) as usize;
        match zeros {
            true => files[n][begin..begin + records[lost].len].fill(0),
            false => files[n][place] ^= 1 << r.below(8),
        }
        let is_witnessed = n + 1 < files.len() || records.iter().any(|w| w.on_disk > records[lost].at);
        let paths = write(&dir, &files);
        let mut reader = LogReader::open(&paths, 7, 1, records[0].at).unwrap();
        for want in &records[..lost] {
            assert_eq!(reader.next_record().unwrap().unwrap().0, want.at, "seed {seed}");
        }
        match reader.next_record() {
            Ok(None) => assert!(!is_witnessed, "seed {seed}: an end in the middle"),
            Err(e) => assert!(e.is(353) && is_witnessed, "seed {seed}: {e}"),
            Ok(Some(_)) => panic!("seed {seed}: the record was damaged"),
        }
        assert_eq!(reader.position(), records[lost].at, "seed {seed}");
        let mut reader = LogReader::open(&paths, 7, 1, records[0].at).unwrap();
        reader.stop_at_damage();
        assert_eq!((0..).take_while(|_| reader.next_record().unwrap().is_some()).count(), lost);
        assert_eq!(reader.damage().is_some(), is_witnessed, "seed {seed}");
        *(if is_witnessed { &mut damaged } else { &mut torn }) += 1;
    }
    assert!(torn > 10 && damaged > 100, "{torn} {damaged}");
}

/// A missing log in between is reported, and a damaged copy is replaced by another one.
#[test]
fn missing_logs_are_named_and_copies_help_one_another() {
    let dir = Folder::new("redo-gap");
    let mut r = Random::new(5);
    let (mut files, records) = sound(&mut r);
    let paths = write(&dir, &files);
    let mut reader = LogReader::open(&[paths[0].clone(), paths[2].clone()], 7, 1, records[0].at).unwrap();
    let end = loop {
        match reader.next_record() {
            Ok(found) => assert!(found.is_some(), "the gap was not seen"),
            Err(e) => break e,
        }
    };
    assert!(end.is(308) && end.to_string().contains("sequence 2"), "{end}");
    // Another copy of each, and different halves of the two are damaged.
    let copy = dir.join("copy.arc");
    std::fs::write(&copy, &files[1]).unwrap();
    let middle = LOG_HEADER_BYTES as usize + 8;
    files[1][middle] ^= 1;
    std::fs::write(&paths[1], &files[1]).unwrap();
    for order in [[0, 1, 2, 3], [3, 2, 1, 0]] {
        let all = [&paths[0], &paths[1], &copy, &paths[2]];
        let all: Vec<PathBuf> = order.map(|n| all[n].clone()).to_vec();
        let mut reader = LogReader::open(&all, 7, 1, records[0].at).unwrap();
        assert_eq!((0..).take_while(|_| reader.next_record().unwrap().is_some()).count(), records.len());
    }
}
