//! Temporary extents: each belongs to one process, any number of files is used, and the dead keep nothing.

mod common;
use buffer_cache::ChainDesign;
use common::*;
use datafile::{Contents, tablespace};
use process::{Process, testing};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use types::{ObjectId, Rdba};

/// A database whose temporary tablespace has `files` files of `extents` extents each, and does not grow.
fn database_with(files: u32, extents: u32) -> Db {
    let blocks = datafile::DataFiles::first_data_block_of(BLOCK) + extents * space::TEMP_EXTENT_BLOCKS;
    let mut spec = small_database();
    let temp = common::tablespace(&mut spec, tablespace::TEMP);
    (temp.bytes, temp.bytes_max) = (u64::from(blocks) * BLOCK as u64, 0);
    let more = temp.clone();
    let db = database_of(&spec, ChainDesign::Versioned, 64);
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
    db.space.temp().give_back(block::Extent { start: back, blocks: space::TEMP_EXTENT_BLOCKS });
    assert_eq!(take(&db, &p).unwrap().start, back);
}

#[test]
fn the_words_of_a_dropped_file_serve_another_one() {
    let db = database_with(1, 40);
    let p = testing::attach(db.all, "t");
    let of = |file: u32| db.space.temp().usage().iter().filter(|u| u.file == file).map(|u| u.extents).sum::<u32>();
    // More often than there are stretches.
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
            db.space.temp().give_back(other);
            assert_eq!(take(&db, p).unwrap(), other, "the extent that it had last");
        }
    }
    let distinct: BTreeSet<Rdba> = firsts.iter().copied().collect();
    assert_eq!(distinct.len(), 12);
    // Spread over the file: a search does not pass over what the others have.
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
fn killed_processes_keep_nothing() {
    let db = database_with(3, 60);
    let pmon = testing::attach(db.all, "pmon");
    let temporary = db.cache.files().control().unwrap().tablespace(tablespace::TEMP).unwrap().contents;
    assert_eq!(temporary, Contents::Temporary);
    testing::kill_children(&pmon, 3, Duration::from_millis(1200), 11, |p, seed| {
        let mut n = seed as u32;
        let mut mine = Vec::new();
        loop {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if n >> 31 == 0 && mine.len() < 20 {
                mine.push(take(&db, p).expect("an extent"));
            } else if let Some(extent) = mine.pop() {
                db.space.temp().give_back(extent);
            }
            if n.is_multiple_of(64) {
                // A segment of a temporary table: its blocks are in the cache.
                let segment =
                    db.space.create_segment(p, tablespace::TEMP, block::SegmentKind::Table, ObjectId(9), &scn);
                let segment = segment.expect("a segment");
                if n >> 30 == 0 {
                    db.space.drop_segment(p, segment, &scn).expect("it is there");
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
            db.space.temp().forget(p, extent.start.file());
        },
        || {
            // What the directory leads to is given back by the next process that drops the file.
            db.space.temp().forget(&pmon, 4);
            assert_eq!((db.space.temp().usage(), db.space.temp().stretches()), (vec![], 0));
        },
    );
    assert_eq!(killed, 2);
}
