//! A log that is read ahead yields the same records as in ordinary reading, from any position.

use os::blocks::Blocks;
use redo::{ChangeVector, LOG_HEADER_BYTES, Layer, LogHeader, LogId, LogReader, Place, Rba, RecordWriter};
use std::path::Path;
use testing::{Folder, Random};
use types::{Rdba, Scn};

const FIRST: u64 = 4096;
const LOG: LogId = LogId { incarnation: 1, sequence: 1 };

/// Some 11 MB of records: most of some hundred bytes, some longer than a chunk, and some runs of equal length.
fn write_log(path: &Path) -> Vec<Rba> {
    let header =
        LogHeader { database: 7, incarnation: 1, sequence: 1, group: 1, start: Rba(FIRST), ..LogHeader::default() };
    let mut bytes = header.to_bytes();
    assert_eq!(bytes.len() as u64, LOG_HEADER_BYTES);
    let (mut at, mut numbers, mut starts) = (FIRST, Random::new(88), Vec::new());
    while at < FIRST + (11 << 20) {
        let random = numbers.next();
        let len = match random % 1000 {
            0 => 1_500_000,
            1..=20 => (random >> 20) as usize % 300_000,
            n => n as usize,
        };
        let mut writer = RecordWriter::new();
        for part in vec![random as u8; len].chunks(40_000) {
            writer.push(&ChangeVector { rdba: Rdba(random as u32), layer: Layer::Test, op: 1, data: part });
        }
        let record = writer.finish(&Place::new(Rba(at), LOG), Scn(at), 1);
        starts.push(Rba(at));
        at += record.len() as u64;
        bytes.extend_from_slice(record);
    }
    // Bytes of an earlier use of the file, and whole blocks.
    bytes.resize(bytes.len() + (5 << 20), 0xA5);
    bytes.resize(bytes.len().next_multiple_of(4096), 0);
    std::fs::write(path, bytes).unwrap();
    starts
}

/// Position, length and sum of every record, and the end; buffers are taken out as a roll forward does.
fn read(path: &Path, from: Rba, ahead: bool) -> (Vec<(Rba, usize, u64)>, Rba) {
    let mut reader = LogReader::open(&[path.to_owned()], 7, 1, from).unwrap();
    if ahead {
        reader.look_ahead();
    }
    let (mut all, mut spares) = (Vec::new(), vec![Blocks::default(), Blocks::default()]);
    let sum = |bytes: &[u8]| bytes.iter().fold(0u64, |sum, b| sum.wrapping_mul(31).wrapping_add(u64::from(*b)));
    while let Some((start, record)) = reader.next_record().unwrap() {
        all.push((start, record.len, sum(record.bytes())));
        let mut places = vec![(reader.buffer_place(), all.len() - 1)];
        while let Some((start, record)) = reader.next_buffered() {
            all.push((start, record.len, sum(record.bytes())));
            places.push((reader.buffer_place(), all.len() - 1));
        }
        let buffer = reader.take_buffer(spares.remove(0));
        for (end, n) in places {
            let (start, len, was) = all[n];
            assert_eq!(sum(&buffer.bytes()[end - len..end]), was, "the record at {start} stays where it was");
        }
        spares.push(buffer);
    }
    (all, reader.position())
}

#[test]
fn a_log_that_is_read_ahead_has_the_same_records() {
    let folder = Folder::new("redo-ahead");
    let path = folder.join("redo01.log");
    let starts = write_log(&path);
    let last = starts.len() - 1;
    for n in [0, 1, 17, last / 3, last / 2, last] {
        let plain = read(&path, starts[n], false);
        assert_eq!(plain.0.iter().map(|r| r.0).collect::<Vec<_>>(), starts[n..], "all records are found");
        assert_eq!(read(&path, starts[n], true), plain, "from record {n}");
    }
    // The file ends in the middle of a record.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..6 << 20]).unwrap();
    let plain = read(&path, starts[0], false);
    assert_eq!(read(&path, starts[0], true), plain);
    assert!(plain.0.len() < starts.len());
}
