//! Bigfiles: files of several parts, each with a header and bitmaps of its own.

mod common;

use block::{Extent, SegmentKind};
use buffer_cache::{ChainDesign, GetKind};
use common::{BLOCK, Db, change_control, database_of, scn, small_database};
use datafile::{Contents, DataFiles, PartBlocks, tablespace};
use os::process::{Ended, Fork};
use process::Process;
use std::collections::HashSet;
use std::time::Duration;
use types::{ObjectId, Rdba, Result};

/// Blocks of a part.
const PART: u32 = 256;
const USERS_FILE: u32 = 3;
const TEMP_FILE: u32 = 4;

/// A database whose tablespaces USERS and TEMP are bigfiles with small parts.
fn bigfile_database(blocks_max: u32) -> Db {
    let mut spec = small_database();
    spec.part_blocks = PartBlocks(PART);
    for t in &mut spec.tablespaces {
        if t.number == tablespace::USERS || t.number == tablespace::TEMP {
            t.bytes_max = u64::from(blocks_max) * BLOCK as u64;
        }
    }
    let db = database_of(&spec, ChainDesign::Versioned, 200);
    change_control(&db, |c| {
        for t in c.tablespaces.iter_mut().filter(|t| [tablespace::USERS, tablespace::TEMP].contains(&t.number)) {
            t.is_bigfile = true;
        }
    });
    db.cache.files().refresh().unwrap();
    db
}

fn segment(db: &Db, p: &Process, obj: u32) -> Rdba {
    db.space.create_segment(p, tablespace::USERS, SegmentKind::Table, ObjectId(obj), &scn).unwrap()
}

fn extend(db: &Db, p: &Process, segment: Rdba) -> Result<Extent> {
    db.cache.in_group(p, &scn, &mut |g| db.space.extend(g, segment))
}

fn parts(db: &Db, head: u32) -> Vec<u32> {
    db.cache.files().control().unwrap().parts_of(head).iter().map(|f| f.file).collect()
}

fn file_len(db: &Db, name: &str) -> u64 {
    std::fs::metadata(db.directory.join(name)).unwrap().len() / BLOCK as u64
}

/// No block belongs to two extents, and none lies outside the blocks for segments of its part.
fn check_extents(extents: &[Extent]) {
    let mut seen = HashSet::new();
    for e in extents {
        let first = e.start.block();
        assert!(first >= DataFiles::first_data_block_of(BLOCK) && first + e.blocks <= PART, "{e:?}");
        assert!((0..e.blocks).all(|i| seen.insert(e.start.0 + i)), "{e:?}");
    }
}

#[test]
fn a_bigfile_grows_from_part_to_part_and_shrinks_again() {
    let db = bigfile_database(4 * PART);
    let p = testing::attach(db.all, "t");
    let files = db.cache.files();
    let one = segment(&db, &p, 10);
    let full = loop {
        if let Err(e) = extend(&db, &p, one) {
            break e;
        }
    };
    assert!(full.is(1653), "{full}");
    assert_eq!(parts(&db, USERS_FILE), [3, 1023, 1022, 1021]);
    assert_eq!(file_len(&db, "users01.dbf"), u64::from(4 * PART));
    let extents = db.space.extents(&p, one).unwrap();
    check_extents(&extents);
    let numbers: HashSet<u32> = extents.iter().map(|e| e.start.file()).collect();
    assert_eq!(numbers, HashSet::from([3, 1023, 1022, 1021]));
    // Numbers and blocks as users see them, and back.
    assert_eq!(files.shown(Rdba::new(1022, 44)), (3, 2 * PART + 44));
    assert_eq!(files.address(3, 2 * PART + 44), Some(Rdba::new(1022, 44)));
    assert_eq!(files.address(3, 4 * PART), None);
    assert_eq!(files.address(1, 4 * PART), Some(Rdba::new(1, 4 * PART)), "a smallfile has no parts");
    // Every block is where its part is, also for a process that has just opened the files.
    db.cache.flush(&p).unwrap();
    let (fresh, _) = DataFiles::open(&db.directory).unwrap();
    let mut block = vec![0; BLOCK];
    for e in extents.iter().skip(1) {
        fresh.read_block(e.start, &mut block).unwrap();
        let (_, shown) = files.shown(e.start);
        let all = std::fs::read(db.directory.join("users01.dbf")).unwrap();
        assert_eq!(&all[shown as usize * BLOCK..][..BLOCK], block, "{e:?}");
    }
    // Space in use is not cut off.
    let shrink = |blocks| db.space.resize_file(&p, USERS_FILE, blocks, &scn);
    assert!(shrink(u64::from(3 * PART)).unwrap_err().is(3297));
    assert_eq!(parts(&db, USERS_FILE).len(), 4);
    db.space.drop_segment(&p, one, &scn).unwrap();
    shrink(u64::from(PART + 100)).unwrap();
    assert_eq!(parts(&db, USERS_FILE), [3, 1023]);
    assert_eq!(file_len(&db, "users01.dbf"), u64::from(PART + 100));
    assert!(!files.is_present(1022));
    shrink(100).unwrap();
    assert_eq!((parts(&db, USERS_FILE), file_len(&db, "users01.dbf")), (vec![3], 100));
    // RESIZE adds parts; a remainder that is too small for a part is rounded up.
    shrink(u64::from(2 * PART + 1)).unwrap();
    assert_eq!(parts(&db, USERS_FILE), [3, 1023, 1022]);
    let least = u64::from(datafile::part_blocks_min(BLOCK));
    assert_eq!(file_len(&db, "users01.dbf"), u64::from(2 * PART) + least);
    // Nothing of the parts' earlier lives is left.
    let again = segment(&db, &p, 11);
    while extend(&db, &p, again).is_ok() {}
    check_extents(&db.space.extents(&p, again).unwrap());
    assert_eq!(parts(&db, USERS_FILE), [3, 1023, 1022, 1021]);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn a_maximum_inside_a_part_holds_and_a_part_too_small_is_not_begun() {
    for (most, end) in [(PART + 100, PART + 100), (PART + 20, PART)] {
        let db = bigfile_database(most);
        let p = testing::attach(db.all, "t");
        let one = segment(&db, &p, 10);
        while extend(&db, &p, one).is_ok() {}
        assert_eq!(file_len(&db, "users01.dbf"), u64::from(end));
        assert_eq!(parts(&db, USERS_FILE).len(), (end / PART + u32::from(end % PART > 0)) as usize);
    }
}

#[test]
fn processes_that_grow_a_bigfile_at_once_share_its_parts() {
    let db = bigfile_database(40 * PART);
    let made: Vec<Vec<Extent>> = std::thread::scope(|s| {
        let work = |n: u32| {
            let db = &db;
            s.spawn(move || {
                let p = testing::attach(db.all, "t");
                let one = segment(db, &p, 10 + n);
                let mut extents = db.space.extents(&p, one).unwrap();
                for _ in 0..30 {
                    extents.push(extend(db, &p, one).unwrap());
                }
                extents
            })
        };
        let all: Vec<_> = (0..4).map(work).collect();
        all.into_iter().map(|t| t.join().unwrap()).collect()
    });
    check_extents(&made.concat());
    let control = db.cache.files().control().unwrap();
    let parts = control.parts_of(USERS_FILE);
    assert!(parts.len() > 2, "{}", parts.len());
    assert!(parts.iter().enumerate().all(|(n, f)| f.part == n as u32), "each part is there once");
    db.cache.assert_invariants().unwrap();
}

#[test]
fn a_file_that_grows_while_it_shrinks_loses_nothing() {
    let db = bigfile_database(40 * PART);
    let p = testing::attach(db.all, "t");
    let kept = segment(&db, &p, 10);
    std::thread::scope(|s| {
        let grower = s.spawn(|| {
            let p = testing::attach(db.all, "g");
            for n in 0..20 {
                let one = segment(&db, &p, 20 + n);
                for _ in 0..20 {
                    extend(&db, &p, one).unwrap();
                }
                for e in db.space.extents(&p, one).unwrap().iter().skip(1) {
                    let its = db.cache.read(&p, e.start, GetKind::Current, &mut |v| v.obj()).unwrap();
                    assert_eq!(its, ObjectId(20 + n));
                }
                db.space.drop_segment(&p, one, &scn).unwrap();
            }
        });
        while !grower.is_finished() {
            match db.space.resize_file(&p, USERS_FILE, 120, &scn) {
                Err(e) if e.is(3297) => {}
                done => done.unwrap(),
            }
        }
        grower.join().unwrap();
    });
    db.space.resize_file(&p, USERS_FILE, 120, &scn).unwrap();
    assert_eq!((parts(&db, USERS_FILE), file_len(&db, "users01.dbf")), (vec![3], 120));
    assert_eq!(db.space.extents(&p, kept).unwrap().len(), 1);
    db.cache.assert_invariants().unwrap();
}

/// A process stops between the removal of a part from the control file and that of its blocks. Another process must not
/// put a new part there meanwhile.
#[test]
fn a_part_is_not_made_again_before_the_old_one_is_cut_off() {
    let db = bigfile_database(40 * PART);
    let p = testing::attach(db.all, "t");
    // The last part is empty, and those before have no room. In ARCHIVELOG mode a new part does not get the number of
    // the old one, which is fenced off.
    let last = (10..).map(|n| segment(&db, &p, n)).find(|s| s.file() == 1021).unwrap();
    db.space.drop_segment(&p, last, &scn).unwrap();
    change_control(&db, |c| c.archivelog = true);
    assert_eq!(parts(&db, USERS_FILE), [3, 1023, 1022, 1021]);
    let child = Stopped::at(&db, "part-unlisted", |p| {
        db.space.resize_file(p, USERS_FILE, u64::from(3 * PART), &scn).unwrap();
    });
    let last = std::thread::scope(|s| {
        let grower = s.spawn(|| {
            let p = testing::attach(db.all, "g");
            segment(&db, &p, 9)
        });
        let _ = is_done_meanwhile(&grower);
        child.go_on();
        grower.join().unwrap()
    });
    let numbers = parts(&db, USERS_FILE);
    assert!(numbers.len() == 4 && last.file() == numbers[3], "{numbers:?}, {last:?}");
    let blocks = db.space.file_blocks(&p, last.file()).unwrap();
    assert!(file_len(&db, "users01.dbf") >= u64::from(3 * PART + blocks), "the file has the blocks of its last part");
    db.cache.assert_invariants().unwrap();
}

/// A process that has stopped at a named point.
struct Stopped<'a> {
    pid: i32,
    db: &'a Db,
}

impl Stopped<'_> {
    /// Starts a process that does `work`, and waits until it stops at the point.
    fn at<'a>(db: &'a Db, point: &str, work: impl FnOnce(&Process)) -> Stopped<'a> {
        std::fs::write(db.directory.join(faults::STOP_FILE), "").unwrap();
        let parent = os::process::own_id();
        let pid = match os::process::fork().unwrap() {
            Fork::Parent(pid) => pid,
            Fork::Child => {
                assert!(os::process::die_with_parent(parent, os::signal::SIGKILL));
                let run = std::panic::AssertUnwindSafe(|| {
                    let p = testing::attach(db.all, "stopped");
                    faults::arm_points(&format!("{point}:1:stop"), &db.directory).unwrap();
                    work(&p);
                });
                os::process::exit_now(i32::from(std::panic::catch_unwind(run).is_err()))
            }
        };
        let stopped = Stopped { pid, db };
        assert!(eventually(&|| stopped.has_stopped()), "the process comes to {point}");
        stopped
    }

    fn has_stopped(&self) -> bool {
        self.db.directory.join(faults::DEATHS_FILE).exists()
    }

    /// Lets the process go on to its end.
    fn go_on(self) {
        std::thread::scope(|s| {
            let waiter = s.spawn(|| os::process::wait(self.pid));
            let has_ended = eventually(&|| {
                // It may still be about to stop.
                let _ = os::process::kill(self.pid, os::signal::SIGCONT);
                waiter.is_finished()
            });
            if !has_ended {
                os::process::kill(self.pid, os::signal::SIGKILL).unwrap();
            }
            assert_eq!(waiter.join().unwrap(), Some(Ended::Exited(0)));
        });
    }

    /// Kills the process and cleans up after it.
    fn die(self, by: &Process) {
        let owner = self.db.all.owner_by_os_pid(self.pid).unwrap();
        os::process::kill(self.pid, os::signal::SIGKILL).unwrap();
        assert_eq!(os::process::wait(self.pid), Some(Ended::Killed(os::signal::SIGKILL)));
        assert!(self.db.all.cleanup(by, owner).is_some());
    }
}

fn eventually(done: &dyn Fn() -> bool) -> bool {
    for _ in 0..1000 {
        if done() {
            return true;
        }
        os::clock::sleep(Duration::from_millis(10));
    }
    false
}

/// Gives a thread some time; whether it has ended by then.
fn is_done_meanwhile<T>(thread: &std::thread::ScopedJoinHandle<'_, T>) -> bool {
    for _ in 0..30 {
        if thread.is_finished() {
            return true;
        }
        os::clock::sleep(Duration::from_millis(10));
    }
    false
}

fn take_until_a_part_is_added(db: &Db, p: &Process) -> Vec<Extent> {
    let before = parts(db, TEMP_FILE).len();
    let mut taken = Vec::new();
    while parts(db, TEMP_FILE).len() == before {
        taken.push(db.space.temp().take(p, tablespace::TEMP).unwrap());
    }
    taken
}

/// A process stops when it has laid down a part, before the part is listed. Meanwhile the control file can be changed,
/// and another bigfile gets a part with the same number.
#[test]
fn the_control_file_is_free_while_a_part_is_laid_down() {
    let db = bigfile_database(4 * PART);
    let p = testing::attach(db.all, "t");
    let child = Stopped::at(&db, "part-made", |p| {
        let one = segment(&db, p, 10);
        while parts(&db, USERS_FILE).len() == 1 {
            extend(&db, p, one).unwrap();
        }
    });
    std::thread::scope(|s| {
        let other = s.spawn(|| {
            let p = testing::attach(db.all, "other");
            let change = |c: &mut datafile::ControlFile| {
                c.clean = false;
                Ok(())
            };
            db.cache.files().change_control(&p, &db.enqueues, &mut { change }).unwrap();
            take_until_a_part_is_added(&db, &p);
        });
        let is_free = eventually(&|| other.is_finished());
        child.go_on();
        assert!(is_free, "other processes wait for the control file");
    });
    assert_eq!((parts(&db, TEMP_FILE), parts(&db, USERS_FILE)), (vec![4, 1023], vec![3, 1022]));
    let one = segment(&db, &p, 11);
    while extend(&db, &p, one).is_ok() {}
    check_extents(&db.space.extents(&p, one).unwrap());
    db.cache.flush(&p).unwrap();
    let (fresh, _) = DataFiles::open(&db.directory).unwrap();
    assert_eq!(fresh.missing(), []);
    db.cache.assert_invariants().unwrap();
}

/// Two processes add a part to the same file: the second one must not lay it down while the first one may use it.
#[test]
fn one_process_at_a_time_lays_down_the_parts_of_a_file() {
    let db = bigfile_database(4 * PART);
    let child = Stopped::at(&db, "part-begun", |p| {
        take_until_a_part_is_added(&db, p);
    });
    std::thread::scope(|s| {
        let other = s.spawn(|| {
            let p = testing::attach(db.all, "other");
            take_until_a_part_is_added(&db, &p)
        });
        let is_alone = !is_done_meanwhile(&other);
        child.go_on();
        assert!(is_alone, "the other process waits");
        check_extents(&other.join().unwrap());
    });
    assert!(parts(&db, TEMP_FILE).len() >= 2);
}

/// A process dies when it has laid down a part. The next process that needs one lays it down again.
#[test]
fn a_part_that_a_dead_process_has_laid_down_is_laid_down_again() {
    for point in ["part-begun", "part-made"] {
        let db = bigfile_database(4 * PART);
        let p = testing::attach(db.all, "t");
        let child = Stopped::at(&db, point, |p| {
            let one = segment(&db, p, 10);
            while extend(&db, p, one).is_ok() {}
        });
        child.die(&p);
        assert_eq!(parts(&db, USERS_FILE), [3]);
        let one = segment(&db, &p, 11);
        while extend(&db, &p, one).is_ok() {}
        assert_eq!(parts(&db, USERS_FILE), [3, 1023, 1022, 1021]);
        check_extents(&db.space.extents(&p, one).unwrap());
        db.cache.assert_invariants().unwrap();
    }
}

/// A lost file is made again under another name, which the control file does not get.
#[test]
fn a_lost_file_that_cannot_be_listed_is_not_left_in_the_way_of_the_next_try() {
    let db = bigfile_database(4 * PART);
    let p = testing::attach(db.all, "t");
    let one = segment(&db, &p, 10);
    while extend(&db, &p, one).is_ok() {}
    let files = db.cache.files();
    files.take_offline(&p, &db.enqueues, USERS_FILE).unwrap();
    let make = || files.replace_lost(&p, &db.enqueues, USERS_FILE, "again.dbf");
    // The new control file cannot be written.
    let (spare, away) = (db.directory.join("control.new"), db.directory.join("away"));
    std::fs::rename(&spare, &away).unwrap();
    std::fs::create_dir(&spare).unwrap();
    assert!(make().unwrap_err().is(200));
    std::fs::remove_dir(&spare).unwrap();
    std::fs::rename(&away, &spare).unwrap();
    let names = || -> HashSet<String> {
        let control = files.control().unwrap();
        control.parts_of(USERS_FILE).iter().map(|f| f.name.clone()).collect()
    };
    assert_eq!(names(), HashSet::from(["users01.dbf".to_owned()]));
    make().unwrap();
    assert_eq!(names(), HashSet::from(["again.dbf".to_owned()]), "one name for all parts");
}

#[test]
fn a_temporary_bigfile_grows_and_its_extents_are_of_one_part() {
    let db = bigfile_database(3 * PART);
    let p = testing::attach(db.all, "t");
    let mut extents = Vec::new();
    let full = loop {
        match db.space.temp().take(&p, tablespace::TEMP) {
            Ok(e) => extents.push(e),
            Err(e) => break e,
        }
    };
    assert!(full.is(1652), "{full}");
    check_extents(&extents);
    assert_eq!(extents.len(), 3, "one extent of 128 blocks fits into each part");
    let mut block = vec![7; BLOCK];
    for (n, e) in extents.iter().enumerate() {
        block.fill(n as u8);
        db.space.temp().write(&p, e.start, &block).unwrap();
    }
    for (n, e) in extents.iter().enumerate() {
        db.space.temp().read(&p, e.start, &mut block).unwrap();
        assert!(block.iter().all(|b| *b == n as u8), "{e:?}");
    }
    assert_eq!(parts(&db, TEMP_FILE).len(), 3);
    let control = db.cache.files().control().unwrap();
    assert_eq!(control.tablespace(tablespace::TEMP).unwrap().contents, Contents::Temporary);
    // A lost file is made again with all its parts.
    std::fs::remove_file(db.directory.join("temp01.dbf")).unwrap();
    let (fresh, _) = DataFiles::open(&db.directory).unwrap();
    assert_eq!(fresh.blocks(parts(&db, TEMP_FILE)[2]).unwrap(), datafile::part_blocks_min(BLOCK));
    assert!(db.space.temp().resize(&p, TEMP_FILE, 200).unwrap_err().is(3297));
}
