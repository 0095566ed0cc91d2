//! The log buffer and the log files with random records of several threads, abandonment at every step, switches and
//! archiving, and children killed at any instruction. The reader must return exactly the records that count.

mod kept;

use kept::Kept;
use process::{CleanupOrder, Process, Processes};
use redo::{
    ChangeVector, FIRST_RBA, LOG_FILE_MIN, Layer, LogConfig, LogControl, LogFiles, LogHeader, LogLayout, LogReader,
    Rba, RecordWriter, RedoLog, RedoSink, create_logs,
};
use sga::{SgaSlice, sga_struct};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use testing::{Folder, Random};
use types::{Rdba, Scn};

const PROCESSES: usize = 12;
const CHILDREN_MAX: usize = 4096;

sga_struct! {
    /// The notes of the change groups, and the expected contents.
    struct Notes {
        /// As in the cache: the position of the record of the process's group.
        group_rba: [AtomicU64; 16],
        /// 1 while the process's record counts and is not settled.
        counts: [AtomicU64; 16],
        children: AtomicU64,
        /// By child: the last record that was forced.
        forced: [AtomicU64; 4096],
    }
}

struct Stage {
    all: &'static Processes,
    log: &'static RedoLog,
    notes: &'static Notes,
    dir: Folder,
}

fn stage(name: &str, leader: bool, archivelog: bool) -> Stage {
    stage_with(name, leader, archivelog, false)
}

fn stage_with(name: &str, leader: bool, archivelog: bool, sync: bool) -> Stage {
    let dir = Folder::new(&format!("redo-{name}"));
    let kept = new_logs(&dir, archivelog, sync);
    start(dir, kept, leader, FIRST_RBA)
}

fn new_logs(dir: &Path, archivelog: bool, sync: bool) -> Kept {
    let made = create_logs(&LogFiles { directory: dir, sparse: !sync, sync }, 3, LOG_FILE_MIN, Scn(1)).unwrap();
    Kept::create(dir, &LogControl { archivelog, ..made }, sync)
}

fn start(dir: Folder, kept: Kept, leader: bool, end: Rba) -> Stage {
    start_for(PROCESSES, dir, kept, leader, end)
}

fn start_for(processes: usize, dir: Folder, kept: Kept, leader: bool, end: Rba) -> Stage {
    let config = LogConfig { buffer_bytes: 64 << 10, processes, leader };
    let (all, (log, notes)) = testing::instance(processes as u32, |b| {
        let notes: SgaSlice<Notes> = b.reserve("notes", 1);
        (LogLayout::reserve(b, &config), notes)
    });
    let log: &'static RedoLog = Box::leak(Box::new(RedoLog::create(all, &log, &config, Arc::new(kept)).unwrap()));
    let notes = &all.sga().slice(notes)[0];
    all.on_death(CleanupOrder::Pins, "groups", move |by, dead| {
        log.settle_dead(by, dead, notes.counts[dead as usize].load(Ordering::Acquire) == 1);
        notes.counts[dead as usize].store(0, Ordering::Release);
        notes.group_rba[dead as usize].store(0, Ordering::Release);
    });
    RedoLog::register_with(log, all);
    log.set_checkpointer(Box::new(move |p| {
        // There are no blocks: every settled record counts as stored in the data files.
        let at = log.announce(p);
        log.force(p, at)?;
        log.checkpointed(p, at)
    }));
    log.set_end(end, Scn(1));
    let p = testing::attach(all, "supervisor");
    log.open(&p).unwrap();
    drop(p);
    Stage { all, log, notes, dir }
}

/// The last step of a group before its process "dies".
#[derive(Clone, Copy, PartialEq)]
enum Life {
    Reserved,
    Copied,
    Counted,
    Whole,
}

impl Stage {
    /// Makes a record `(who, n)` with `fill` bytes more, up to the step of `life`. Returns its end.
    fn write(&self, p: &Process, who: u64, n: u64, fill: usize, life: Life) -> Rba {
        let mut data = vec![n as u8; 16 + fill];
        data[..8].copy_from_slice(&who.to_le_bytes());
        data[8..16].copy_from_slice(&n.to_le_bytes());
        let mut record = RecordWriter::new();
        record.push(&ChangeVector { rdba: Rdba(who as u32), layer: Layer::Test, op: 1, data: &data });
        let slot = p.number() as usize;
        let place = loop {
            let decided = self.log.image_before();
            if let Some(place) = self.log.reserve(p, record.len(), decided, &self.notes.group_rba[slot]).unwrap() {
                break place;
            }
        };
        let at = place.at;
        let len = record.len() as u64;
        if life != Life::Reserved {
            self.log.put(p, at, record.finish(&place, Scn(n), 1));
        }
        if matches!(life, Life::Counted | Life::Whole) {
            self.notes.counts[slot].store(1, Ordering::Release);
        }
        match life {
            Life::Whole => self.log.settle(p),
            // As the hook does for a dead process.
            _ => self.log.settle_dead(p, p.number(), life == Life::Counted),
        }
        self.notes.counts[slot].store(0, Ordering::Release);
        self.notes.group_rba[slot].store(0, Ordering::Release);
        Rba(at.0 + len)
    }

    fn control(&self) -> LogControl {
        kept::read(&self.dir)
    }

    /// Every file that holds redo: archived copies and online logs.
    fn all_files(&self) -> Vec<PathBuf> {
        let control = self.control();
        let archived = control.logged.iter().filter(|l| !l.name.is_empty()).map(|l| self.dir.join(&l.name));
        archived.chain(control.logs.iter().map(|l| self.dir.join(&l.name))).collect()
    }

    /// All records that count in the redo from `from`: by writer, the numbers in order; and the end.
    fn read(&self, from: Rba) -> (HashMap<u64, Vec<u64>>, Rba) {
        read(&self.all_files(), from)
    }
}

fn read(files: &[PathBuf], from: Rba) -> (HashMap<u64, Vec<u64>>, Rba) {
    let mut reader = LogReader::open(files, 77, 1, from).unwrap();
    let mut seen: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut last = from;
    while let Some((at, record)) = reader.next_record().unwrap() {
        assert!(at >= last, "records come in order");
        last = Rba(at.0 + record.len as u64);
        for cv in record.vectors() {
            let word = |i: usize| u64::from_le_bytes(cv.data[i..i + 8].try_into().unwrap());
            let (who, n) = (word(0), word(8));
            assert!(cv.data[16..].iter().all(|b| *b == n as u8), "the bytes are the record's own");
            assert_eq!(record.scn, Scn(n));
            seen.entry(who).or_default().push(n);
        }
    }
    (seen, reader.position())
}

/// Threads with records of random sizes, abandoned at random steps and forced now and then, through many switches.
fn threads_and_switches(name: &str, leader: bool) {
    let s = stage(name, leader, true);
    let written = testing::run_threads(s.all, 4, |p, thread| {
        let mut random = Random::new(thread as u64);
        let mut counted = Vec::new();
        for n in 1..=700u64 {
            let r = random.next();
            let life = match r % 16 {
                0 => Life::Reserved,
                1 => Life::Copied,
                2 => Life::Counted,
                _ => Life::Whole,
            };
            let fill = if r & 0x700 == 0 { 20_000 + (r >> 12) as usize % 10_000 } else { (r >> 12) as usize % 900 };
            let end = s.write(p, thread as u64, n, fill, life);
            if matches!(life, Life::Counted | Life::Whole) {
                counted.push(n);
            }
            if r & 0xF000_0000 == 0 {
                s.log.force(p, end).unwrap();
                assert!(s.log.on_disk() >= end);
            }
            if r & 0x1FF_0000_0000 == 0 {
                s.log.switch(p).unwrap();
            }
        }
        counted
    });
    let p = testing::attach(s.all, "end");
    s.log.force(&p, s.log.head()).unwrap();
    s.log.assert_invariants().unwrap();
    let (seen, end) = s.read(FIRST_RBA);
    assert_eq!(end, s.log.head());
    for (thread, counted) in written.iter().enumerate() {
        assert_eq!(&seen[&(thread as u64)], counted, "thread {thread}");
    }
    assert!(s.log.current_sequence() > 5, "the logs were used again: sequence {}", s.log.current_sequence());
}

#[test]
fn the_reader_gives_back_what_counted_leaders_writing() {
    threads_and_switches("leader", true);
}

/// Writes bypass the page cache here. The ring is filled to its end repeatedly while a write begins inside a block; the
/// earlier part of that block must still be in the ring.
#[test]
fn blocks_written_over_keep_what_they_have() {
    let s = stage_with("synced", true, true, true);
    let p = testing::attach(s.all, "one");
    let (mut random, mut n) = (Random::new(1), 0);
    while s.log.current_sequence() < 6 {
        n += 1;
        let r = random.next();
        let fill = if r & 0xF == 0 { (r >> 12) as usize % 20_000 } else { (r >> 12) as usize % 3000 };
        let end = s.write(&p, 0, n, fill, Life::Whole);
        if r & 0xF0 == 0 {
            s.log.force(&p, end).unwrap();
            assert!(s.log.on_disk() >= end);
        }
    }
    s.log.force(&p, s.log.head()).unwrap();
    s.log.assert_invariants().unwrap();
    let (seen, end) = s.read(FIRST_RBA);
    assert_eq!((&seen[&0], end), (&(1..=n).collect::<Vec<_>>(), s.log.head()));
}

#[test]
fn the_reader_gives_back_what_counted_the_log_writer_writing() {
    let s = stage("lgwr", false, true);
    let stop = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (s, stop) = (&s, &stop);
        scope.spawn(move || {
            let p = testing::attach(s.all, "LGWR");
            s.log.become_lgwr(&p);
            while stop.load(Ordering::Acquire) == 0 {
                let posts = p.posts();
                s.log.write_out(&p).unwrap();
                p.sleep(posts, Some(Duration::from_millis(20)));
            }
            s.log.resign(&p);
        });
        testing::run_threads(s.all, 4, |p, thread| {
            for n in 1..=300u64 {
                let end = s.write(p, thread as u64, n, 1500, Life::Whole);
                if n % 8 == 0 {
                    s.log.force(p, end).unwrap();
                    assert!(s.log.on_disk() >= end);
                }
            }
        });
        stop.store(1, Ordering::Release);
    });
    let p = testing::attach(s.all, "end");
    s.log.force(&p, s.log.head()).unwrap();
    s.log.assert_invariants().unwrap();
    let (seen, _) = s.read(FIRST_RBA);
    for thread in 0..4 {
        assert_eq!(seen[&thread], (1..=300).collect::<Vec<_>>());
    }
}

/// Of 600 processes 7, 263 and 519 have the same bit of those that may have a place.
#[test]
fn nothing_behind_an_open_place_is_written_whatever_the_number_of_its_process() {
    let dir = Folder::new("redo-many");
    let kept = new_logs(&dir, false, false);
    let s = start_for(600, dir, kept, true, FIRST_RBA);
    let all: Vec<Process> = (1..600).map(|_| testing::attach(s.all, "one of many")).collect();
    let mut record = RecordWriter::new();
    record.push(&ChangeVector { rdba: Rdba(1), layer: Layer::Test, op: 1, data: &[1; 16] });
    let reserve = |p: &Process| s.log.reserve(p, record.len(), s.log.image_before(), &s.notes.children).unwrap();
    let end = |p: &Process, at: Rba| {
        s.log.put(p, at, &redo::void_record(record.len(), &redo::Place::new(at, redo::LogId::default()), Scn(1), 1));
        s.log.settle(p);
    };
    for [open, done] in [[7, 263], [263, 7], [519, 263], [7, 519], [12, 300]] {
        let (open, done) = (&all[open - 1], &all[done - 1]);
        for _ in 0..3 {
            let first = reserve(open).unwrap().at;
            let second = reserve(done).unwrap().at;
            end(done, second);
            let upto = s.log.head();
            std::thread::scope(|scope| {
                let (log, all) = (s.log, s.all);
                let forced = scope.spawn(move || log.force(&testing::attach(all, "forces"), upto));
                // In most cases the write has met the open place by then.
                std::thread::sleep(Duration::from_millis(2));
                assert!(s.log.on_disk() <= first, "a place at {first} is open");
                end(open, first);
                forced.join().unwrap().unwrap();
            });
            assert!(s.log.on_disk() >= upto);
        }
    }
    s.log.assert_invariants().unwrap();
}

#[test]
fn without_archiving_the_redo_since_the_checkpoint_is_there() {
    let s = stage("noarchive", true, false);
    let p = testing::attach(s.all, "one");
    for n in 1..=400 {
        s.write(&p, 5, n, 9000, Life::Whole);
    }
    s.log.force(&p, s.log.head()).unwrap();
    assert!(s.log.current_sequence() >= 4);
    let from = Rba(s.control().checkpoint.rba);
    assert!(from > FIRST_RBA);
    let (seen, end) = s.read(from);
    assert_eq!((end, seen[&5].last()), (s.log.head(), Some(&400)));
    let numbers = &seen[&5];
    assert!(numbers.windows(2).all(|w| w[1] == w[0] + 1), "no record is missing");
    // Redo before the remaining logs is an error.
    assert!(LogReader::open(&s.all_files(), 77, 1, FIRST_RBA).is_err_and(|e| e.is(308)));
    assert!(LogReader::open(&s.all_files(), 78, 1, from).is_err_and(|e| e.is(308)), "another database");
}

#[test]
fn a_record_that_is_too_long_is_refused_and_a_closed_log_takes_none() {
    let s = stage("refuse", true, false);
    let p = testing::attach(s.all, "one");
    let note = &s.notes.group_rba[p.number() as usize];
    let decided = s.log.image_before();
    assert!(s.log.reserve(&p, (s.log.record_max() + 8) as usize, decided, note).unwrap_err().is(600));
    assert_eq!(s.log.reserve(&p, 800, Rba(decided.0 + 8), note).unwrap(), None, "decided for another checkpoint");
    assert_eq!(s.log.head(), FIRST_RBA);
    assert!(s.log.force(&p, Rba(FIRST_RBA.0 + 8)).unwrap_err().is(600), "nobody has written that far");
}

#[test]
fn a_crash_leaves_a_prefix_and_the_next_sequence_begins_behind_it() {
    let s = stage("crash", true, false);
    let p = testing::attach(s.all, "one");
    let mut ends = Vec::new();
    for n in 1..=20 {
        ends.push(s.write(&p, 9, n, 100 * n as usize, Life::Whole));
    }
    s.log.force(&p, ends[19]).unwrap();
    let current = s.control().current_log().unwrap().clone();
    let path = s.dir.join(&current.name);
    let whole = std::fs::read(&path).unwrap();
    // Any byte of record 11 lost: the redo ends with record 10.
    for at in (ends[9].0..ends[10].0).step_by(37) {
        let mut torn = whole.clone();
        torn[(redo::LOG_HEADER_BYTES + at - current.start) as usize] ^= 0x55;
        std::fs::write(&path, &torn).unwrap();
        let (seen, end) = s.read(FIRST_RBA);
        assert_eq!((seen[&9].len(), end), (10, ends[9]));
    }
    drop(p);
    // The next instance continues after record 10; the redo behind it is never read again.
    let again = start(s.dir.clone(), Kept::open(&s.dir, false), true, ends[9]);
    let p = testing::attach(again.all, "two");
    let end = again.write(&p, 9, 500, 8, Life::Whole);
    again.log.force(&p, end).unwrap();
    let (seen, last) = again.read(FIRST_RBA);
    assert_eq!((seen[&9].len(), seen[&9].last(), last), (11, Some(&500), end));
}

/// Each instance dies before anything is archived, until a start needs a log again.
#[test]
fn a_start_that_archives_lists_the_last_log_of_the_instance_before_it() {
    let mut s = stage("last-log", true, true);
    for _ in 0..3 {
        s = start(s.dir.clone(), Kept::open(&s.dir, false), true, FIRST_RBA);
    }
    let control = s.control();
    let listed: Vec<_> = control.logged.iter().map(|l| (l.sequence, s.dir.join(&l.name).is_file())).collect();
    assert_eq!(listed, [(1, true), (2, true), (3, true)]);
    let followed = control.logged.windows(2).all(|two| two[0].next_scn == two[1].first_scn);
    let current = control.current_log().expect("a log is current");
    assert!(followed && control.logged[2].next_scn == current.first_scn && current.sequence == 4, "{control:?}");
}

/// Redo that nothing follows gets a witness: a byte of it that is lost later is damage, not a torn write.
#[test]
fn the_last_write_of_all_is_borne_witness_to() {
    let s = stage("witness", true, false);
    let p = testing::attach(s.all, "one");
    let ends: Vec<Rba> = (1..=5).map(|n| s.write(&p, 9, n, 100, Life::Whole)).collect();
    s.log.bear_witness(&p).unwrap();
    assert_eq!(s.log.head(), ends[4], "nothing is on disk yet");
    s.log.force(&p, ends[4]).unwrap();
    for _ in 0..2 {
        s.log.bear_witness(&p).unwrap();
    }
    assert_eq!(s.log.head().0, ends[4].0 + redo::RECORD_HEAD as u64, "once is enough");
    let current = s.control().current_log().unwrap().clone();
    let path = s.dir.join(&current.name);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[(redo::LOG_HEADER_BYTES + ends[3].0 - current.start) as usize + 50] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let mut reader = LogReader::open(&[path], 77, 1, FIRST_RBA).unwrap();
    for _ in 0..4 {
        assert!(reader.next_record().unwrap().is_some());
    }
    assert!(reader.next_record().is_err_and(|e| e.is(353)));
}

#[test]
fn a_log_is_written_no_further_than_its_header_says() {
    let s = stage("reach", true, false);
    let p = testing::attach(s.all, "writer");
    let mut reaches = std::collections::BTreeSet::new();
    for n in 1..=300 {
        let end = s.write(&p, 1, n, 9000, Life::Whole);
        s.log.force(&p, end).unwrap();
        let headers = s.control().logs.into_iter().filter_map(|l| LogHeader::read(&s.dir.join(&l.name)).ok());
        let current = headers.filter(|h| h.sequence == s.log.current_sequence()).last().unwrap();
        assert!(current.reach_bytes > 0 && current.start.0 + current.reach_bytes >= s.log.on_disk().0);
        reaches.insert((current.sequence, current.reach_bytes));
    }
    assert!(reaches.len() >= 9, "each of the logs is written in several steps: {reaches:?}");
}

#[test]
fn any_bytes_in_a_log_file_are_borne() {
    let s = stage("fuzz", true, false);
    let p = testing::attach(s.all, "one");
    for n in 1..=30 {
        s.write(&p, 3, n, 50, Life::Whole);
    }
    s.log.force(&p, s.log.head()).unwrap();
    let path: &Path = &s.dir.join(&s.control().current_log().unwrap().name);
    let whole = std::fs::read(path).unwrap();
    let used = (redo::LOG_HEADER_BYTES + s.log.head().0 - FIRST_RBA.0) as usize;
    let mut random = Random::new(4711);
    for _ in 0..200 {
        let mut bytes = whole[..used + 100].to_vec();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        bytes.truncate(1 + random.below(bytes.len()));
        std::fs::write(path, &bytes).unwrap();
        if let Ok(mut reader) = LogReader::open(&[path.to_owned()], 77, 1, FIRST_RBA) {
            while let Some((_, record)) = reader.next_record().unwrap() {
                assert_eq!(record.vectors().count(), 1);
            }
        }
    }
}

#[test]
fn children_killed_anywhere_leave_no_hole_and_lose_nothing_that_was_forced() {
    let s = stage("kill", true, true);
    let by = testing::attach(s.all, "PMON");
    let kills = testing::kill_children(&by, 4, Duration::from_millis(1500), 42, |p, seed| {
        let child = s.notes.children.fetch_add(1, Ordering::SeqCst) as usize % CHILDREN_MAX;
        let mut random = Random::new(seed);
        for n in 1.. {
            let r = random.next();
            let end = s.write(p, child as u64, n, r as usize % 3000, Life::Whole);
            if r.is_multiple_of(3) {
                s.log.force(p, end).unwrap();
                s.notes.forced[child].store(n, Ordering::Release);
            }
        }
    });
    assert!(kills.killed > 20, "{kills:?}");
    s.log.force(&by, s.log.head()).unwrap();
    drop(by);
    s.log.assert_invariants().unwrap();
    let (seen, end) = s.read(FIRST_RBA);
    assert_eq!(end, s.log.head(), "no hole");
    let children = s.notes.children.load(Ordering::SeqCst) as usize;
    for child in 0..children {
        let forced = s.notes.forced[child].load(Ordering::Acquire);
        let numbers = seen.get(&(child as u64)).cloned().unwrap_or_default();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "child {child}: each once, in order");
        assert!(numbers.len() as u64 >= forced, "child {child}: {} of {forced} forced records", numbers.len());
    }
}
