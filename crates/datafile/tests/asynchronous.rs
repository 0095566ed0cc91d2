//! Direct and asynchronous I/O of data files: contents, failures of single runs, writes in flight of dead processes.

use block::{BlockKind, Image};
use datafile::{AsyncWriter, CheckpointEntry, CreateDatabase, DataFiles, tablespace};
use os::file::{File, OpenMode};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use types::{ObjectId, Rdba, Scn};

struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("latchwork-asynchronous-{}-{n}", os::process::own_id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn create(size: usize) -> (Directory, DataFiles) {
    let d = Directory::new();
    let files = DataFiles::create(&d.0, &CreateDatabase::usual("ORCL", 7, size)).unwrap();
    (d, files)
}

/// Sealed neighbouring blocks from `at` on, each full of `byte`.
fn run(size: usize, at: Rdba, count: u32, byte: u8) -> os::blocks::Blocks {
    let mut run = os::blocks::Blocks::default();
    run.grow(size * count as usize);
    for (n, block) in run.bytes_mut()[..size * count as usize].chunks_mut(size).enumerate() {
        block::format(block, BlockKind::Temporary, Rdba(at.0 + n as u32), ObjectId(1), Rdba(0));
        block[100..].fill(byte);
        block::seal(block);
    }
    run
}

#[test]
fn files_past_the_page_cache_hold_what_is_written_with_every_block_size() {
    for size in [2048, 4096, 8192, 32768] {
        let (d, files) = create(size);
        let refused = files.bypass_cache().unwrap();
        assert!(refused.is_empty() || refused.len() == 4, "one file system: {refused:?}");
        let at = Rdba::new(3, DataFiles::first_data_block_of(size) + 2);
        let blocks = run(size, at, 3, 8);
        files.write_blocks(at, &blocks.bytes()[..3 * size]).unwrap();
        // A list of blocks that lie apart, and temporary data that ends inside a block.
        let next = Rdba(at.0 + 3);
        let pieces = [run(size, next, 1, 9), run(size, Rdba(next.0 + 1), 1, 10)];
        files.write_block_list(next, &pieces.each_ref().map(|p| &p.bytes()[..size])).unwrap();
        let temporary = Rdba::new(4, at.block());
        files.write_raw(temporary, &vec![7; size + 100]).unwrap();
        let checkpoint = CheckpointEntry { rba: 4096, scn: Scn(5), time_s: 6 };
        files.stamp(&files.control().unwrap(), &checkpoint).unwrap();
        files.sync().unwrap();

        let (again, _) = DataFiles::open(&d.0).unwrap();
        for files in [&files, &again] {
            for (n, byte) in [8, 8, 8, 9, 10].into_iter().enumerate() {
                let mut image = Image::new(size);
                files.read_block(Rdba(at.0 + n as u32), image.bytes_mut()).unwrap();
                assert!(image.bytes()[100..].iter().all(|b| *b == byte), "block {n} of {size}");
            }
            let mut raw = vec![0; 2 * size];
            files.read_blocks(temporary, &mut raw).unwrap();
            assert!(raw[..size + 100].iter().all(|b| *b == 7));
            for file in 1..=3 {
                assert_eq!(files.file_checkpoint(file).unwrap().rba, 4096, "file {file}");
            }
            assert!(files.file_checkpoint(4).unwrap().rba == 0, "a temporary file");
        }
        assert_eq!(again.blocks(3).unwrap(), 512, "the length is the same");
    }
}

#[test]
fn runs_are_written_together_and_one_that_fails_fails_alone() {
    let Ok(mut writer) = AsyncWriter::new(2) else { return };
    for direct in [false, true] {
        let (_d, files) = create(8192);
        if direct {
            files.bypass_cache().unwrap();
        }
        let at = |file, n| Rdba::new(file, DataFiles::first_data_block_of(8192) + n);
        let places = [at(3, 5), at(77, 0), at(2, 9), at(3, 40)];
        for round in 1..3 {
            let blocks = places.map(|at| run(8192, at, 2, round));
            let runs: Vec<(Rdba, &[u8])> =
                places.iter().zip(&blocks).map(|(at, b)| (*at, &b.bytes()[..16384])).collect();
            let mut calls = 0;
            let results = files.write_runs(&mut writer, &runs, &mut || calls += 1);
            assert_eq!(calls, 1);
            let errors: Vec<Option<bool>> = results.iter().map(|r| r.as_ref().err().map(|e| e.is(1157))).collect();
            assert_eq!(errors, [None, Some(true), None, None], "no file has number 77");
            for at in [places[0], places[2], places[3], Rdba(places[3].0 + 1)] {
                let mut image = Image::new(8192);
                files.read_block(at, image.bytes_mut()).unwrap();
                assert!(image.bytes()[100..].iter().all(|b| *b == round), "{at} in round {round}");
            }
        }
    }
}

#[test]
fn a_start_waits_for_writes_that_a_dead_process_has_in_flight() {
    for state in ["usable", "offline", "damaged"] {
        let (d, files) = create(2048);
        let mut control = files.control().unwrap();
        control.files.iter_mut().for_each(|f| f.is_offline = f.file == 3 && state == "offline");
        control.write(&d.0).unwrap();
        files.set_clean(true, Scn(5)).unwrap();
        drop(files);
        let users = File::open(&d.0.join("users01.dbf"), OpenMode::ReadWrite).unwrap();
        if state == "damaged" {
            users.write_at(&[7; 100], 0).unwrap();
        }
        // As the kernel holds it for a write.
        let held = users.for_ring(11).unwrap();
        std::thread::scope(|scope| {
            let opened = scope.spawn(|| DataFiles::open(&d.0).unwrap());
            os::clock::sleep(Duration::from_millis(30));
            assert!(!opened.is_finished(), "{state}: a late write could overwrite what the start writes");
            drop(held);
            let (files, control) = opened.join().unwrap();
            assert!(control.tablespace(tablespace::USERS).is_some());
            assert_eq!(files.is_away(3), state != "usable", "{state}");
        });
    }
}

#[test]
fn a_process_does_not_write_before_the_writes_of_the_dead_owner_of_its_slot_have_ended() {
    let Ok(mut writer) = AsyncWriter::new(2) else { return };
    let (d, files) = create(2048);
    let users = File::open(&d.0.join("users01.dbf"), OpenMode::ReadWrite).unwrap();
    // The lock of slot 2 on file 3.
    let held = users.for_ring(2 * 1024 + 3).unwrap();
    let at = Rdba::new(3, DataFiles::first_data_block_of(2048));
    let block = run(2048, at, 1, 5);
    std::thread::scope(|scope| {
        let written = scope.spawn(|| files.write_runs(&mut writer, &[(at, &block.bytes()[..2048])], &mut || ()));
        os::clock::sleep(Duration::from_millis(30));
        assert!(!written.is_finished(), "an older write could overwrite this one");
        drop(held);
        assert_eq!(written.join().unwrap(), [Ok(())]);
    });
    let mut image = Image::new(2048);
    files.read_block(at, image.bytes_mut()).unwrap();
}

#[test]
fn a_file_with_unknown_writes_counts_as_one_that_lost_a_write() {
    let (d, _) = create(2048);
    let (files, _) = DataFiles::open_read_only(&d.0).unwrap();
    assert_eq!(files.wait_for_dead_writes(0..9, [3, 77]), Ok(()), "no file has number 77");
    assert_eq!(files.check_sound(), Ok(()));
    // Without a control file the name of the file is unknown.
    std::fs::remove_file(d.0.join("control")).unwrap();
    assert!(files.wait_for_dead_writes(0..9, [3]).unwrap_err().is(1242));
    assert!(files.check_sound().unwrap_err().is(1242));
}
