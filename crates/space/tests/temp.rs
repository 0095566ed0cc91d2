//! Temporary extents: each belongs to one process, any number of files is used, and the dead keep nothing.

mod common;
use buffer_cache::ChainDesign;
use common::*;
use datafile::{Contents, tablespace};
use process::Process;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use types::{ObjectId, Rdba};

/// Bytes of a file with so many extents.
fn bytes_of(extents: u32) -> u64 {
    let blocks = datafile::DataFiles::first_data_block_of(BLOCK) + extents * space::TEMP_EXTENT_BLOCKS;
    u64::from(blocks) * BLOCK as u64
}

/// A database whose temporary tablespace has `files` files of `extents` extents each, and does not grow.
fn database_with(files: u32, extents: u32) -> Db {
    database_with_pool(files, extents, 0, 1024)
}

/// A database whose temporary tablespace has `files` files of `extents` extents each, which grow to `most` extents, and
/// words for so many stretches.
fn database_with_pool(files: u32, extents: u32, most: u32, stretches: usize) -> Db {
    let mut spec = small_database();
    let temp = common::tablespace(&mut spec, tablespace::TEMP);
    (temp.bytes, temp.bytes_max) = (bytes_of(extents), if most > 0 { bytes_of(most) } else { 0 });
    let more = temp.clone();
    let db = database_with_stretches(&spec, ChainDesign::Versioned, 64, stretches);
    for n in 2..=files {
        let file_name = format!("temp{n:02}.dbf");
        let number = db.cache.files().add_file(&datafile::TablespaceSpec { file_name, ..more.clone() }).unwrap();
        assert!(db.cache.files().is_temporary(number) || db.cache.files().blocks(number).is_ok());
    }
    db.cache.files().refresh().unwrap();
    db
}

fn take(db: &Db, p: &Process) -> types::Result<block::Extent> {
    db.space.temp().take(p, tablespace::TEMP)
}

#[test]
fn every_extent_of_twenty_files_is_given_to_one_process() {
    let db = database_with(20, 3);
    let p = testing::attach(db.all, "t");
    let mut taken = BTreeSet::new();
    let full = loop {
        match take(&db, &p) {
            Ok(extent) => assert!(taken.insert(extent.start), "{} was given twice", extent.start),
            Err(e) => break e,
        }
    };
    assert!(full.is(1652), "{full}");
    let mut by_file: BTreeMap<u32, u32> = BTreeMap::new();
    taken.iter().for_each(|at| *by_file.entry(at.file()).or_default() += 1);
    assert_eq!((by_file.len(), taken.len()), (20, 60));
    let mut usage = db.space.temp().usage();
    usage.sort_by_key(|u| u.file);
    let said: Vec<(u32, u32, u32)> = usage.iter().map(|u| (u.process, u.file, u.extents)).collect();
    let all: Vec<(u32, u32, u32)> = by_file.keys().map(|file| (p.number(), *file, 3)).collect();
    assert_eq!(said, all);
    // One that is given back is the next that is taken.
    let back = *taken.iter().nth(31).unwrap();
    db.space.temp().give_back(p.number(), block::Extent { start: back, blocks: space::TEMP_EXTENT_BLOCKS });
    assert_eq!(take(&db, &p).unwrap().start, back);
}

#[test]
fn the_words_of_a_dropped_file_serve_another_one() {
    let db = database_with(1, 40);
    let p = testing::attach(db.all, "t");
    let of = |file: u32| db.space.temp().usage().iter().filter(|u| u.file == file).map(|u| u.extents).sum::<u32>();
    // More turns than there are stretches.
    for _ in 0..1100 {
        let extent = take(&db, &p).unwrap();
        assert_eq!(of(extent.start.file()), 1);
        db.space.temp().forget(&p, extent.start.file());
        assert_eq!(db.space.temp().usage(), []);
    }
}

#[test]
fn processes_take_different_extents_and_come_back_to_their_own() {
    let db = database_with(1, 300);
    let processes: Vec<Process> = (0..12).map(|_| testing::attach(db.all, "t")).collect();
    let firsts: Vec<Rdba> = processes.iter().map(|p| take(&db, p).unwrap().start).collect();
    for p in &processes {
        let other = take(&db, p).unwrap();
        for _ in 0..3 {
            db.space.temp().give_back(p.number(), other);
            assert_eq!(take(&db, p).unwrap(), other, "the extent that it had last");
        }
    }
    let distinct: BTreeSet<Rdba> = firsts.iter().copied().collect();
    assert_eq!(distinct.len(), 12);
    // Spread over the file: a search does not walk past the extents of the other processes.
    let blocks: Vec<u32> = distinct.iter().map(|at| at.block()).collect();
    let gaps: Vec<u32> = blocks.windows(2).map(|w| (w[1] - w[0]) / space::TEMP_EXTENT_BLOCKS).collect();
    assert!(gaps.iter().filter(|gap| **gap > 1).count() >= 8, "{gaps:?}");
}

#[test]
fn a_file_grows_until_all_have_their_extents() {
    let mut spec = small_database();
    let temp = common::tablespace(&mut spec, tablespace::TEMP);
    temp.bytes_max = 1 << 30;
    let db = database_of(&spec, ChainDesign::Versioned, 64);
    let taken =
        testing::run_threads(db.all, 8, |p, _| (0..40).map(|_| take(&db, p).unwrap().start).collect::<Vec<_>>());
    let distinct: BTreeSet<Rdba> = taken.concat().into_iter().collect();
    assert_eq!(distinct.len(), 320);
}

#[test]
fn an_extent_is_given_back_by_its_owner_only() {
    let db = database_with(1, 10);
    let (p, q) = (testing::attach(db.all, "p"), testing::attach(db.all, "q"));
    let extent = take(&db, &p).unwrap();
    db.space.temp().give_back(q.number(), extent);
    let owners = || db.space.temp().usage().iter().map(|u| (u.process, u.extents)).collect::<Vec<_>>();
    assert_eq!(owners(), [(p.number(), 1)]);
    db.space.temp().give_back(p.number(), extent);
    assert_eq!(owners(), []);
    // The extent of a segment is marked, and its process gives it back all the same.
    let segment = db.space.create_segment(&p, tablespace::TEMP, block::SegmentKind::Table, ObjectId(9), &scn).unwrap();
    assert!(db.space.temp().is_used(segment.file()));
    db.space.drop_segment(&p, segment, &scn).unwrap();
    assert!(!db.space.temp().is_used(segment.file()));
}

#[test]
fn no_extent_of_a_file_is_taken_once_it_is_fenced_off_and_unused() {
    const PROCESSES: usize = 4;
    let db = database_with(2, 6);
    let files: Vec<u32> = db.cache.files().temporary_files().iter().map(|(file, _)| *file).collect();
    assert_eq!(files.len(), 2);
    let held: Vec<AtomicU32> = (0..PROCESSES).map(|_| AtomicU32::new(0)).collect();
    let (over, rounds) = (AtomicBool::new(false), AtomicU32::new(0));
    let drop_and_add = |p: &Process| {
        let temp = db.space.temp();
        for n in 0..200 {
            let file = files[n % files.len()];
            db.cache.files().fence_off(file);
            if !temp.is_used(file) {
                temp.forget(p, file);
                for _ in 0..20 {
                    let holders = held.iter().filter(|h| h.load(Ordering::SeqCst) == file).count();
                    assert_eq!(holders, 0, "file {file} is used although it is dropped");
                    std::thread::yield_now();
                }
                rounds.fetch_add(1, Ordering::Relaxed);
            }
            db.cache.files().refresh().unwrap();
        }
        over.store(true, Ordering::SeqCst);
    };
    let use_extents = |p: &Process, me: &AtomicU32| {
        while !over.load(Ordering::SeqCst) {
            match take(&db, p) {
                Ok(extent) => {
                    me.store(extent.start.file(), Ordering::SeqCst);
                    std::hint::spin_loop();
                    me.store(0, Ordering::SeqCst);
                    db.space.temp().give_back(p.number(), extent);
                }
                Err(e) => assert!(e.is(1652), "{e}"),
            }
        }
    };
    testing::run_threads(db.all, PROCESSES + 1, |p, n| match n.checked_sub(1) {
        None => drop_and_add(p),
        Some(n) => use_extents(p, &held[n]),
    });
    assert!(rounds.load(Ordering::Relaxed) > 0);
    assert_eq!(db.space.temp().usage(), []);
}

#[test]
fn a_file_without_words_does_not_grow_in_vain() {
    let db = database_with_pool(3, 3, 5, 2);
    let p = testing::attach(db.all, "t");
    let mut taken = Vec::new();
    let full = loop {
        match take(&db, &p) {
            Ok(extent) => taken.push(extent.start),
            Err(e) => break e,
        }
    };
    assert!(full.is(1652), "{full}");
    assert_eq!((taken.len(), taken.iter().collect::<BTreeSet<_>>().len()), (10, 10), "two files with words");
    let sizes: BTreeSet<u32> =
        db.cache.files().temporary_files().iter().map(|(file, _)| db.cache.files().blocks(*file).unwrap()).collect();
    let of = |extents: u32| (bytes_of(extents) / BLOCK as u64) as u32;
    assert_eq!(sizes, BTreeSet::from([of(3), of(5)]));
}

#[test]
fn a_stretch_without_words_is_passed_over() {
    // The file has two stretches, and there are words for one.
    let db = database_with_pool(1, 1050, 0, 1);
    let processes: Vec<Process> = (0..23).map(|_| testing::attach(db.all, "t")).collect();
    let number = |at: Rdba| (at.block() - datafile::DataFiles::first_data_block_of(BLOCK)) / space::TEMP_EXTENT_BLOCKS;
    // The place of one of the processes is in the second stretch.
    let first = processes.iter().find_map(|p| {
        let extent = take(&db, p).unwrap();
        if number(extent.start) >= 1024 {
            return Some(extent.start);
        }
        db.space.temp().forget(p, extent.start.file());
        None
    });
    let mut taken = BTreeSet::from([first.expect("a process with its place in the second stretch")]);
    let full = loop {
        match take(&db, &processes[0]) {
            Ok(extent) => assert!(taken.insert(extent.start)),
            Err(e) => break e,
        }
    };
    assert!(full.is(1652), "{full}");
    assert_eq!(taken.into_iter().map(number).collect::<Vec<_>>(), (1024..1050).collect::<Vec<_>>());
}

#[test]
fn killed_processes_keep_nothing() {
    let db = database_with(3, 60);
    let pmon = testing::attach(db.all, "pmon");
    let temporary = db.cache.files().control().unwrap().tablespace(tablespace::TEMP).unwrap().contents;
    assert_eq!(temporary, Contents::Temporary);
    testing::kill_children(&pmon, 3, Duration::from_millis(1200), 11, |p, seed| {
        let mut n = seed as u32;
        let (mut mine, mut segments) = (Vec::new(), Vec::new());
        loop {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if n >> 31 == 0 && mine.len() < 20 {
                mine.push(take(&db, p).expect("an extent"));
            } else if let Some(extent) = mine.pop() {
                db.space.temp().give_back(p.number(), extent);
            }
            if n.is_multiple_of(64) {
                // A segment of a temporary table: its blocks are in the cache.
                let segment =
                    db.space.create_segment(p, tablespace::TEMP, block::SegmentKind::Table, ObjectId(9), &scn);
                segments.push(segment.expect("a segment"));
                // A process that lives long must not fill the files with segments.
                if n >> 30 == 0 || segments.len() > 15 {
                    let last = segments.pop().expect("one was created");
                    db.space.drop_segment(p, last, &scn).expect("it is there");
                }
            }
        }
    });
    assert_eq!(db.space.temp().usage(), []);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn a_process_that_dies_at_any_step_leaves_no_words_behind() {
    let db = database_with(1, 10);
    let pmon = testing::attach(db.all, "pmon");
    let killed = testing::kill_at_every_step(
        &pmon,
        "space-*",
        || {},
        |p, arm| {
            arm();
            let extent = take(&db, p).expect("an extent");
            take(&db, p).expect("another extent");
            db.space.temp().forget(p, extent.start.file());
        },
        || {
            // All words that the next process gets are free.
            assert_eq!(db.space.temp().usage(), []);
            let mine: Vec<block::Extent> = (0..10).map(|_| take(&db, &pmon).unwrap()).collect();
            mine.into_iter().for_each(|extent| db.space.temp().give_back(pmon.number(), extent));
            assert_eq!(db.space.temp().usage(), []);
            // The next process that drops the file frees the places that the directory leads to.
            db.space.temp().forget(&pmon, 4);
            assert_eq!((db.space.temp().usage(), db.space.temp().stretches()), (vec![], 0));
        },
    );
    assert_eq!(killed, 4);
}
