//! The range in which a reader looks for signs that the redo goes on after an unreadable place.

use redo::{ChangeVector, LOG_HEADER_BYTES, Layer, LogHeader, LogId, LogReader, Place, Rba, RecordWriter};
use types::{Rdba, Scn};

const FIRST: u64 = 4096;
const LOG: LogId = LogId { incarnation: 1, sequence: 1 };

#[test]
fn witnesses_are_looked_for_as_far_as_the_log_was_written() {
    let folder = testing::Folder::new("redo-reach");
    let path = folder.join("log");
    // Six records of some 8,000 bytes, each made when all earlier ones were on disk; the third is damaged.
    let (mut redo, mut starts) = (Vec::new(), Vec::new());
    for n in 0..6u8 {
        let at = Rba(FIRST + redo.len() as u64);
        let mut writer = RecordWriter::new();
        writer.push(&ChangeVector { rdba: Rdba(1), layer: Layer::Test, op: 1, data: &[n; 8000] });
        redo.extend_from_slice(writer.finish(&Place { at, log: LOG, on_disk: at }, Scn(n.into()), 1));
        starts.push(at.0 - FIRST);
    }
    redo[starts[2] as usize + 500] ^= 1;
    redo.resize(redo.len() + 9000, 0);
    for (reach_bytes, is_damage, why) in [
        (0, true, "nobody knows how far the log was written"),
        (64 << 10, true, "the records behind are in reach"),
        (starts[3] / 4096 * 4096, false, "what lies out of reach is not of this sequence"),
        (starts[1] / 4096 * 4096, true, "the header is older than the redo: all is looked through"),
    ] {
        let header = LogHeader {
            database: 7,
            incarnation: 1,
            sequence: 1,
            group: 1,
            start: Rba(FIRST),
            reach_bytes,
            ..LogHeader::default()
        };
        let mut bytes = header.to_bytes();
        assert_eq!(bytes.len() as u64, LOG_HEADER_BYTES);
        bytes.extend_from_slice(&redo);
        std::fs::write(&path, bytes).unwrap();
        let mut reader = LogReader::open(std::slice::from_ref(&path), 7, 1, Rba(FIRST)).unwrap();
        for start in &starts[..2] {
            assert_eq!(reader.next_record().unwrap().unwrap().0, Rba(FIRST + start), "{why}");
        }
        match reader.next_record() {
            Ok(None) => assert!(!is_damage, "{why}"),
            Err(e) => assert!(is_damage && e.is(353), "{why}: {e}"),
            Ok(Some(_)) => panic!("a damaged record was read"),
        }
    }
}
