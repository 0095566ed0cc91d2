use super::text::BYTES_MAX;
use super::{BackupEntry, Contents, ControlFile, FileEntry, GoneEntry, OfflineEntry, PartBlocks, TablespaceEntry};
use redo::{CheckpointEntry, IncarnationEntry, LogGroupEntry, LoggedEntry};
use types::{Ora, Scn};

fn part_of_2(file: u32, part: u32) -> FileEntry {
    let name = "big 1.dbf".into();
    FileEntry { file, part, first: 2, tablespace: 3, blocks: 64, name, ..FileEntry::default() }
}

fn sample() -> ControlFile {
    ControlFile {
        database: 42,
        name: "ORCL".into(),
        block_size: 8192,
        part_blocks: PartBlocks(1024),
        writes: 812,
        double_write: 77,
        scn: Scn(4711),
        clean: true,
        checkpoint: CheckpointEntry { rba: 73_728, scn: Scn(4711), time_s: 1_795_312_800 },
        incarnation: IncarnationEntry { number: 2, resetlogs_scn: Scn(1), resetlogs_time_s: 1_795_312_000 },
        archivelog: true,
        logs: vec![LogGroupEntry {
            group: 1,
            sequence: 3,
            start: 69_632,
            first_scn: Scn(4650),
            first_time_s: 1_795_312_700,
            bytes: 1 << 25,
            archived: false,
            name: "redo 01.log".into(),
        }],
        logged: vec![
            LoggedEntry { sequence: 1, incarnation: 1, end: 40_960, ..LoggedEntry::default() },
            LoggedEntry {
                sequence: 2,
                incarnation: 2,
                start: 40_960,
                end: 69_632,
                first_scn: Scn(4600),
                first_time_s: 1_795_312_500,
                next_scn: Scn(4650),
                next_time_s: 1_795_312_700,
                completed_s: 1_795_312_701,
                name: "archive/arch 2.arc".into(),
            },
        ],
        tablespaces: vec![
            TablespaceEntry {
                number: 0,
                name: "SYSTEM".into(),
                extent_blocks: 128,
                contents: Contents::Undo,
                is_read_only: true,
                is_nologging: true,
                guarantees_retention: true,
                ..TablespaceEntry::default()
            },
            TablespaceEntry { number: 3, name: "BIG".into(), is_bigfile: true, ..TablespaceEntry::default() },
        ],
        files: vec![
            FileEntry {
                file: 1,
                tablespace: 0,
                blocks: 64,
                blocks_max: 0,
                step: 0,
                part: 0,
                first: 0,
                created_rba: 1 << 40,
                created_scn: Scn(77),
                is_offline: true,
                name: "my system.dbf".into(),
            },
            FileEntry {
                file: 2,
                tablespace: 3,
                blocks: 64,
                blocks_max: 1 << 31,
                name: "big 1.dbf".into(),
                ..FileEntry::default()
            },
            part_of_2(1023, 1),
            part_of_2(1022, 2),
        ],
        backups: vec![BackupEntry {
            file: 1,
            checkpoint: CheckpointEntry { rba: 73_728, scn: Scn(4711), time_s: 1_795_312_800 },
        }],
        offline: vec![OfflineEntry {
            file: 1,
            stop: CheckpointEntry { rba: 81_920, scn: Scn(4720), time_s: 1_795_312_900 },
        }],
        dictionary: u64::MAX,
        gone: vec![
            GoneEntry {
                dropped_rba: 81_920,
                file: FileEntry {
                    file: 7,
                    tablespace: 5,
                    blocks: 64,
                    name: "old 1.dbf".into(),
                    ..FileEntry::default()
                },
            },
            GoneEntry { dropped_rba: 81_930, file: part_of_2(1021, 3) },
        ],
        gone_tablespaces: vec![TablespaceEntry { number: 5, name: "OLD".into(), ..TablespaceEntry::default() }],
        forgotten_rba: 4096,
    }
}

#[test]
fn archived_logs_hold_the_redo_before_the_oldest_other_log() {
    let mut control = sample();
    let log = |group, sequence, start, archived| LogGroupEntry {
        archived,
        ..LogGroupEntry { group, sequence, start, ..control.logs[0].clone() }
    };
    // Group 3 was never used; group 1 is complete, but not archived yet; group 4 is current.
    let logs = vec![log(1, 4, 90_000, false), log(2, 3, 69_632, true), log(3, 0, 0, false), log(4, 5, 95_000, false)];
    control.logs = logs;
    assert_eq!(control.oldest_unarchived_log().map(|l| l.start), Some(90_000));
    control.logs[0].archived = true;
    assert_eq!(control.oldest_unarchived_log().map(|l| l.start), Some(95_000));
}

#[test]
fn what_is_printed_is_read_back() {
    assert_eq!(ControlFile::parse(&sample().print()), Some(sample()));
}

fn folder(name: &str) -> std::path::PathBuf {
    let directory = std::env::temp_dir().join(format!("latchwork-control-{name}-{}", os::process::own_id()));
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn contents_that_could_not_be_read_back_are_not_written() {
    let directory = folder("refused");
    sample().write(&directory).unwrap();
    let before = ControlFile::read_both(&directory).unwrap();
    let changes: [fn(&mut ControlFile); 8] = [
        |c| c.files[0].name = "a\nb.dbf".into(),
        |c| c.files[0].name = "a.dbf\r".into(),
        |c| c.files[0].name = "a.dbf\nclean 0".into(),
        |c| c.tablespaces[0].name = "A\nB".into(),
        |c| c.logs[0].name = "a\n.log".into(),
        |c| c.gone[0].file.name = "a\n.dbf".into(),
        |c| c.files[3].part = 1,
        |c| c.files[1].name = "x".repeat(BYTES_MAX as usize),
    ];
    for change in changes {
        let mut c = sample();
        change(&mut c);
        assert!(c.write(&directory).unwrap_err().is(200));
        assert!(c.write_alone(&directory).unwrap_err().is(200));
        assert_eq!(ControlFile::read_both(&directory).unwrap(), before);
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn the_largest_control_file_is_read() {
    let directory = folder("largest");
    let name = |n: u32| format!("{n:04096}");
    let (first, rest) = (sample(), sample().files[0].clone());
    let files = (3..=1000).map(|n| FileEntry { file: n, name: name(n), ..rest.clone() });
    let logged = (0..ControlFile::LOGGED_MAX as u32 + 1)
        .map(|n| LoggedEntry { sequence: n, name: name(n), ..first.logged[1].clone() })
        .collect();
    let gone = (0..ControlFile::GONE_MAX as u32)
        .map(|n| GoneEntry { dropped_rba: 9, file: FileEntry { name: name(n), ..rest.clone() } })
        .collect();
    let mut all = ControlFile { logged, gone, ..first };
    all.files.extend(files);
    all.write(&directory).unwrap();
    let read = ControlFile::read(&directory).unwrap();
    assert_eq!((read.files.len(), read.gone.len(), read.logged.len()), (1002, 500, ControlFile::LOGGED_MAX));
    assert_eq!((&read.files, &read.logged[..]), (&all.files, &all.logged[1..]));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_control_file_of_version_9_is_read() {
    let text = concat!(
        "latchwork control file 9\ndatabase 42 ORCL\nblock_size 8192\nscn 4711\nclean 1\n",
        "log 1 1 0 1 1795312000 1048576 0 redo01.log\ntablespace 0 0 0 0 SYSTEM\nchecksum 85f48e5cc414476d\n"
    );
    let read = ControlFile::of_bytes(text.as_bytes()).unwrap();
    assert_eq!((read.database, read.name.as_str(), read.scn, read.clean), (42, "ORCL", Scn(4711), true));
    assert!(read.print().starts_with("latchwork control file 11\n"), "it is written in the new version");
    assert!(ControlFile::of_bytes(text.replace("4711", "4712").as_bytes()).is_err_and(|e| e.is(205)));
    let later = ControlFile::with_checksum("latchwork control file 99\n");
    assert!(ControlFile::of_bytes(later.as_bytes()).is_err_and(|e| e.is(201)));
}

#[test]
fn damage_of_any_byte_is_found() {
    let text = sample().print();
    for i in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[i] ^= 1;
        let parsed = String::from_utf8(bytes).ok().and_then(|t| ControlFile::parse(&t));
        assert_eq!(parsed, None, "byte {i}");
    }
    assert_eq!(ControlFile::parse(&text[..text.len() / 2]), None);
}

#[test]
fn a_file_without_tablespace_or_number_is_refused() {
    let changes: [fn(&mut ControlFile); 16] = [
        |c| c.part_blocks = PartBlocks(1 << 23),
        |c| c.part_blocks = PartBlocks(8),
        |c| c.files[1].blocks = 1025,
        |c| c.files[3].part = 4,
        |c| c.files[3].part = 1,
        |c| c.files[3].first = 1,
        |c| c.files[2].tablespace = 0,
        |c| c.tablespaces[1].is_bigfile = false,
        |c| c.gone[0].file.file = 2000,
        |c| c.forgotten_rba = u64::MAX,
        |c| c.files[0].tablespace = 9,
        |c| c.files[0].file = 0,
        |c| c.block_size = 3000,
        |c| c.logs[0].group = 0,
        |c| c.logs[0].start = u64::MAX,
        |c| c.logged[0].start = 50_000,
    ];
    for change in changes {
        let mut c = sample();
        change(&mut c);
        assert_eq!(ControlFile::parse(&c.print()), None);
    }
}

#[test]
fn version_10_is_read() {
    let mut old = sample();
    old.files.truncate(2);
    old.gone.truncate(1);
    old.part_blocks = PartBlocks::default();
    let text = old.print();
    let text = text.replace("control file 11", "control file 10").replace("part_blocks 4194304\n", "");
    let (body, _) = text.split_at(text.rfind("checksum ").unwrap());
    let text = ControlFile::with_checksum(body);
    assert_eq!(ControlFile::of_bytes(text.as_bytes()), Ok(old));
    let text = ControlFile::with_checksum(&body.replace("control file 10", "control file 8"));
    assert!(ControlFile::of_bytes(text.as_bytes()).unwrap_err().is(201));
}

#[test]
fn files_have_the_lowest_numbers_and_parts_the_highest() {
    let mut c = sample();
    assert_eq!((c.free_number(&[], false), c.free_number(&[], true)), (Some(3), Some(1020)));
    assert_eq!(c.parts_of(2).iter().map(|f| f.file).collect::<Vec<_>>(), [2, 1023, 1022]);
    assert_eq!(c.heads().map(|f| f.file).collect::<Vec<_>>(), [1, 2]);
    c.files.extend((3..=1021).filter(|n| *n != 7).map(|file| FileEntry { file, ..FileEntry::default() }));
    // The number of a dropped file is the last choice.
    assert_eq!((c.free_number(&[], false), c.free_number(&[], true)), (Some(7), Some(7)));
    assert_eq!(c.free_number(&[FileEntry { file: 7, ..FileEntry::default() }], true), None);
}

#[test]
fn bytes_that_are_not_sound_are_read_again_as_long_as_they_change() {
    let directory = std::env::temp_dir().join(format!("latchwork-control-{}", os::process::own_id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(crate::CONTROL_FILE);
    // The reads of a reader that two writers overtake: torn, torn in another way, whole.
    let mut next = ["torn", "whole"].into_iter();
    std::fs::write(&path, "damaged").unwrap();
    let mut look = |bytes: &[u8]| {
        if let Some(text) = next.next() {
            std::fs::write(&path, text).unwrap();
        }
        if bytes == b"whole" { Ok(()) } else { Err(Ora::new(205)) }
    };
    assert_eq!(ControlFile::read_with(&directory, &mut look), Ok(()));
    std::fs::write(&path, "damaged").unwrap();
    let mut looks = 0;
    let mut look = |_: &[u8]| {
        looks += 1;
        types::Result::<()>::Err(Ora::new(205))
    };
    assert_eq!(ControlFile::read_with(&directory, &mut look), Err(Ora::new(205)));
    assert_eq!(looks, 2, "the same bytes twice are damaged");
    std::fs::remove_dir_all(&directory).unwrap();
}
