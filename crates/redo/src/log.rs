//! The log buffer: a ring in the SGA that receives records from all processes at once.
//!
//! A process gets a position under the latch `redo allocation`, in a section that also notes the position in the
//! process's own line. It copies its record there without a latch, and clears the note when the record counts. The
//! writer of the log stops before the oldest note, so the redo on disk has no holes (R8). The note of a dead process
//! stays until PMON has either let the record count or put a void one of the same length into its place; the change
//! group decides which.
//!
//! **The notes that the writer reads.** A process that gets a position sets a bit of its number under the latch, unless
//! it is set (`given`). The writer takes the bits over once for each write (`carried`, changed by the writer only), and
//! then reads the lines of these bits without the latch; it clears a bit when none of its lines has a note. So the note
//! of every record before the writer's end is under one of its bits, and lines of processes that change nothing are not
//! read.
//!
//! **Room in the log.** A position is given out only inside a log file that may be written (R7): everything given out
//! can be written without waiting for anything but the disk. So a checkpoint, which forces redo before it writes
//! blocks, is never waited for by the write that it waits for. When a log has no room for the next record, the section
//! that finds so chooses the log that takes over; the writer opens the file later ([`crate::RedoLog::write_out`]).
//!
//! | words | change | changed by |
//! |---|---|---|
//! | `head`, `announced`, `giving`, groups | under `redo allocation`, in a section | reserve, announce, end of a log |
//! | `given` | the same | a process that reserves sets a bit; the writer takes the bits over |
//! | `pending` of a line | set in that section; cleared with one store | its process, or PMON |
//! | `written`, `writing`, `carried` | while `writer` is held | the writer; see the module `write` |

use crate::archive_place::FindArchivePlace;
use crate::control::{Control, LOGS_MAX, RBA_LIMIT};
use crate::file::now_s;
use crate::group::{Group, Groups};
use crate::record::{RECORD_HEAD, void_record};
use crate::{LogId, Place, Rba, RedoSink};
use latch::{LatchName, Where};
use os::blocks::{BLOCK_MAX, Blocks};
use process::{CleanupOrder, Process, Processes, Section};
use sga::{SgaBuilder, SgaSlice, SgaText, sga_struct};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use types::{Ora, Result, Scn};
use wait::{Event, Stat};

/// Time after which a sleeper looks again without a post: the process that should post it may have died.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Records up to this length fit into any log buffer and log.
const SHORT: usize = 16 << 10;

/// The part of `pending_len` that is the length.
const LEN_MASK: u64 = u32::MAX as u64;

/// The value of `waiting_for` in a line while its process waits for a free log file.
pub(crate) const FOR_A_LOG: u64 = u64::MAX;

sga_struct! {
    /// The words that change under `redo allocation`.
    pub struct Head {
        /// The next position to be given out; 0 while the end of the redo is not known.
        pub(crate) head: AtomicU64,
        /// The newest announced checkpoint.
        pub(crate) announced: AtomicU64,
        /// Index of the group in which positions are given out.
        pub(crate) giving: AtomicU64,
        /// 1 while positions are given out.
        pub(crate) open: AtomicU64,
        /// The lines that may be pending and are not in the writer's bits: see [`Head::GIVEN`].
        pub(crate) given: [AtomicU64; 4],
    }

    /// The writer's words, and requests to background processes.
    pub struct Tail {
        /// Everything before it is on disk.
        pub(crate) written: AtomicU64,
        /// Number of the process that is writing; 0: none.
        pub(crate) writer: AtomicU64,
        /// Index of the group whose file is written to.
        pub(crate) writing: AtomicU64,
        /// 1 when the log can no longer be written.
        pub(crate) failed: AtomicU64,
        /// Numbers of LGWR, CKPT and ARC0; 0 while there is none.
        pub(crate) lgwr: AtomicU64,
        pub(crate) ckpt: AtomicU64,
        pub(crate) arch: AtomicU64,
        /// Number of PMON, which does not wait for archiving.
        pub(crate) pmon: AtomicU64,
        /// Number of the process that is archiving; 0: none.
        pub(crate) archiver: AtomicU64,
        /// 1 from a post of LGWR to its next look.
        pub(crate) lgwr_posted: AtomicU64,
        /// The last completed checkpoint: position, SCN and time.
        pub(crate) checkpoint: AtomicU64,
        pub(crate) checkpoint_scn: AtomicU64,
        pub(crate) checkpoint_time: AtomicU64,
        /// A checkpoint at or after this position is requested.
        pub(crate) checkpoint_wanted: AtomicU64,
        /// 1 in ARCHIVELOG mode.
        pub(crate) archivelog: AtomicU64,
        /// SCN at which the log was opened.
        pub(crate) base_scn: AtomicU64,
        /// The highest number of a process that ever had a line.
        pub(crate) lines_used: AtomicU64,
        pub(crate) incarnation: AtomicU64,
        /// A witness record for everything before this position exists.
        pub(crate) witnessed: AtomicU64,
        /// The position of the witness record that is being made; 0: none.
        pub(crate) witness: AtomicU64,
        /// The number of processes that waited for redo at the end of the last write.
        pub(crate) company: AtomicU64,
        /// Until this time (nanoseconds of the clock) a writer does not yield its processor before a write.
        pub(crate) in_haste_until: AtomicU64,
        /// The lines that may be pending, taken over from `given` by the writer.
        pub(crate) carried: [AtomicU64; 4],
        /// The error of the failed log, and of archiving.
        pub(crate) failure: SgaText<64>,
        pub(crate) archive_failure: SgaText<64>,
    }

    /// The lines whose processes may sleep: bits as [`Asleep::BITS`] describes.
    pub struct Asleep {
        pub(crate) bits: [AtomicU64; 8],
    }

    /// The log's data of one process.
    pub struct Line {
        /// The position of the record that was given a place and is not settled; 0: none.
        pub(crate) pending: AtomicU64,
        /// Its length, and in the upper half the sequence of the log that the place is in.
        pub(crate) pending_len: AtomicU64,
        /// The position that the process sleeps for until it is on disk; 0: none.
        pub(crate) waiting_for: AtomicU64,
        /// The highest SCN that the process put into the redo.
        pub(crate) scn: AtomicU64,
        /// The last checkpoint that the process announced: position, SCN and time.
        pub(crate) announced: AtomicU64,
        pub(crate) announced_scn: AtomicU64,
        pub(crate) announced_time: AtomicU64,
        /// The end of the newest commit that the session's client was not told of; 0: none.
        pub(crate) commit: AtomicU64,
    }
}

impl Head {
    /// Bits of `given` and `carried`. Each stands for all lines whose number has that remainder, so the bits lie beside
    /// the other words that change under the latch, for any number of processes.
    pub(crate) const GIVEN: usize = 256;
}

impl Asleep {
    /// Bits; each stands for all lines whose number has that remainder.
    pub(crate) const BITS: usize = 512;
}

/// The numbers of the bits that are set, in words of bits.
pub(crate) fn bits_of(words: &[AtomicU64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(n, word)| {
        // SeqCst: see `post_waiters`.
        let mut left = word.load(Ordering::SeqCst);
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(n * 64 + bit)
        })
    })
}

/// The options of the log buffer.
#[derive(Clone, Copy, Debug)]
pub struct LogConfig {
    /// Bytes of the ring; rounded up to a power of two.
    pub buffer_bytes: usize,
    /// Process slots.
    pub processes: usize,
    /// A process that waits for a commit writes the log itself when no other process does; otherwise LGWR writes, once
    /// there is one.
    pub leader: bool,
}

impl LogConfig {
    /// The smallest log buffer for blocks of this size: two records of the longest kind fit.
    pub fn buffer_min(block_size: usize) -> usize {
        (96 * block_size).next_power_of_two()
    }

    fn words(&self) -> usize {
        self.buffer_bytes.max(64 << 10).next_power_of_two() / 8
    }
}

/// The places of the log's areas in the SGA.
#[derive(Clone, Copy, Debug)]
pub struct LogLayout {
    ring: SgaSlice<AtomicU64>,
    head: SgaSlice<Head>,
    tail: SgaSlice<Tail>,
    asleep: SgaSlice<Asleep>,
    lines: SgaSlice<Line>,
    groups: SgaSlice<Group>,
}

impl LogLayout {
    /// Reserves the areas.
    pub fn reserve(sga: &mut SgaBuilder, config: &LogConfig) -> LogLayout {
        LogLayout {
            ring: sga.reserve("log_buffer", config.words()),
            head: sga.reserve("redo allocation", 1),
            tail: sga.reserve("redo allocation", 1),
            asleep: sga.reserve("redo allocation", 1),
            lines: sga.reserve("redo lines", config.processes),
            groups: sga.reserve("log groups", LOGS_MAX as usize),
        }
    }
}

/// Has a checkpoint made; true when it was only requested and another process makes it.
pub type Checkpointer = Box<dyn Fn(&Process) -> Result<()> + Send + Sync>;

/// The redo log of an instance. Created by the supervisor and inherited by `fork`.
pub struct RedoLog {
    pub(crate) all: &'static Processes,
    pub(crate) ring: &'static [AtomicU64],
    pub(crate) head: &'static Head,
    pub(crate) tail: &'static Tail,
    pub(crate) asleep: &'static Asleep,
    pub(crate) lines: &'static [Line],
    pub(crate) groups: Groups,
    pub(crate) leader: bool,
    pub(crate) control: Arc<dyn Control>,
    /// Buffer for writes; each process has its own copy.
    pub(crate) scratch: Mutex<Blocks>,
    pub(crate) checkpointer: OnceLock<Checkpointer>,
    pub(crate) archive_place: OnceLock<FindArchivePlace>,
}

impl RedoLog {
    /// Formats the areas; run once, by the supervisor. The log is closed until [`RedoLog::open`].
    ///
    /// # Errors
    /// ORA-00205.
    pub fn create(
        all: &'static Processes,
        layout: &LogLayout,
        config: &LogConfig,
        control: Arc<dyn Control>,
    ) -> Result<RedoLog> {
        let sga = all.sga();
        let known = control.read()?;
        let log = RedoLog {
            all,
            ring: sga.slice(layout.ring),
            head: &sga.slice(layout.head)[0],
            tail: &sga.slice(layout.tail)[0],
            asleep: &sga.slice(layout.asleep)[0],
            lines: sga.slice(layout.lines),
            groups: Groups::new(sga.slice(layout.groups)),
            leader: config.leader,
            control,
            scratch: Mutex::default(),
            checkpointer: OnceLock::new(),
            archive_place: OnceLock::new(),
        };
        // Until the end of the redo is known, no position can be behind the redo on disk.
        log.tail.written.store(RBA_LIMIT, Ordering::Relaxed);
        log.load(&known);
        Ok(log)
    }

    /// Registers the hook for the death of a process. Run once, by the supervisor, before it forks.
    pub fn register_with(log: &'static RedoLog, all: &Processes) {
        all.on_death(CleanupOrder::Pins, "redo log", move |_, dead| log.clean_up(dead));
    }

    /// Sets the function that makes a checkpoint while there is no CKPT; the process that needs the checkpoint runs it.
    /// Called once, before the log is opened.
    pub fn set_checkpointer(&self, run: Checkpointer) {
        let _ = self.checkpointer.set(run);
    }

    /// Releases the roles and words of a dead process. A record that is not settled is its change group's
    /// responsibility.
    fn clean_up(&self, dead: u32) {
        let dead_word = u64::from(dead);
        let t = self.tail;
        for word in [&t.lgwr, &t.ckpt, &t.arch, &t.pmon, &t.archiver] {
            let _ = word.compare_exchange(dead_word, 0, Ordering::SeqCst, Ordering::Relaxed);
        }
        if let Some(line) = self.lines.get(dead as usize - 1) {
            line.waiting_for.store(0, Ordering::SeqCst);
            line.commit.store(0, Ordering::Relaxed);
        }
        if t.writer.compare_exchange(dead_word, 0, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            // The next writer writes the same bytes again: they are still in the ring.
            self.post_waiters();
        }
    }

    pub(crate) fn line(&self, p: &Process) -> &'static Line {
        &self.lines[p.number() as usize - 1]
    }

    /// The lines that may have been used.
    pub(crate) fn used_lines(&self) -> &'static [Line] {
        let used = self.tail.lines_used.load(Ordering::SeqCst) as usize;
        &self.lines[..used.min(self.lines.len())]
    }

    /// Adds a process's line to those that are read.
    pub(crate) fn use_line(&self, p: &Process) -> &'static Line {
        let n = u64::from(p.number());
        if self.tail.lines_used.load(Ordering::Relaxed) < n {
            self.tail.lines_used.fetch_max(n, Ordering::SeqCst);
        }
        self.line(p)
    }

    /// The lines that a bit of `bits` stands for, with the numbers of their processes.
    pub(crate) fn lines_of(&self, bit: usize, bits: usize) -> impl Iterator<Item = (u32, &'static Line)> {
        self.used_lines().iter().enumerate().skip(bit).step_by(bits).map(|(n, line)| (n as u32 + 1, line))
    }

    /// Notes in the process's line the position that it is going to sleep for. The caller checks afterwards whether it
    /// has been reached.
    pub(crate) fn wait_in_line(&self, p: &Process, line: &Line, upto: u64) {
        line.waiting_for.store(upto, Ordering::SeqCst);
        let bit = (p.number() as usize - 1) % Asleep::BITS;
        let (word, bit) = (&self.asleep.bits[bit / 64], 1 << (bit % 64));
        // SeqCst: see `post_waiters`.
        if word.load(Ordering::SeqCst) & bit == 0 {
            word.fetch_or(bit, Ordering::SeqCst);
        }
    }

    pub(crate) fn lock<'a>(&self, p: &'a Process) -> Section<'a> {
        p.lock(self.all.latch(LatchName::RedoAllocation), Where::KcrfRedoAllocation, 0)
    }

    /// Bytes of the log buffer.
    pub fn buffer_bytes(&self) -> u64 {
        self.ring.len() as u64 * 8
    }

    /// The length of the longest record: half the log buffer, and at most the room of a log.
    pub fn record_max(&self) -> u64 {
        (self.buffer_bytes() / 2).min(self.groups.smallest_room())
    }

    /// The end of the positions given out so far.
    pub fn head(&self) -> Rba {
        Rba(self.head.head.load(Ordering::Acquire))
    }

    /// The highest SCN in the redo given out so far.
    pub fn newest_scn(&self) -> Scn {
        let base = self.tail.base_scn.load(Ordering::Relaxed);
        Scn(self.used_lines().iter().map(|l| l.scn.load(Ordering::Relaxed)).fold(base, u64::max))
    }

    /// Gives out a place if there is room, in one section.
    fn try_reserve(&self, p: &Process, len: u64, decided: Rba, note: &AtomicU64) -> Result<Given> {
        let line = self.use_line(p);
        debug_assert_eq!(line.pending.load(Ordering::Relaxed), 0, "a process has one place at a time");
        let s = self.lock(p);
        let head = self.head.head.load(Ordering::Relaxed);
        if self.head.open.load(Ordering::Relaxed) == 0 {
            return Err(Ora::internal("the redo log is closed"));
        }
        if self.head.announced.load(Ordering::Relaxed) != decided.0 {
            return Ok(Given::Announced);
        }
        if let Some(why) = self.no_log_room(&s, head, len) {
            return Ok(Given::NoLog(why));
        }
        // A write begins with the block in which the last one ended: that much of the written redo stays in the ring
        // (R14).
        let needed = (head + len + BLOCK_MAX as u64).saturating_sub(self.buffer_bytes());
        let written = self.tail.written.load(Ordering::Acquire);
        if written < needed {
            return Ok(Given::NoBuffer(needed));
        }
        let giving = self.head.giving.load(Ordering::Relaxed) as usize;
        let sequence = self.groups.at(giving).sequence.load(Ordering::Relaxed);
        let bit = (p.number() as usize - 1) % Head::GIVEN;
        let (given, bit) = (&self.head.given[bit / 64], 1 << (bit % 64));
        if given.load(Ordering::Relaxed) & bit == 0 {
            s.set(given, given.load(Ordering::Relaxed) | bit);
        }
        s.set(&line.pending_len, len | sequence << 32);
        s.set(&line.pending, head);
        s.set(note, head);
        s.set(&self.head.head, head + len);
        Ok(Given::Place(Place { at: Rba(head), log: self.log_id(sequence), on_disk: Rba(written) }))
    }

    /// Ensures that the next `len` bytes lie inside a log; otherwise returns the event to wait for. The latch is held
    /// by `s`.
    fn no_log_room(&self, s: &Section, head: u64, len: u64) -> Option<Event> {
        let giving = self.head.giving.load(Ordering::Relaxed) as usize;
        if head + len <= self.groups.limit(giving) {
            return None;
        }
        self.take_next_group(s, giving, head).err()
    }

    /// Lets another group take over at `head`, or returns the event to wait for. The latch is held by `s`.
    pub(crate) fn take_next_group(&self, s: &Section, giving: usize, head: u64) -> std::result::Result<(), Event> {
        if giving as u64 != self.tail.writing.load(Ordering::Acquire) {
            return Err(Event::LogFileSwitchCompletion);
        }
        let next = self.next_group(giving)?;
        let (old, new) = (self.groups.at(giving), self.groups.at(next));
        s.set(&old.end, head);
        s.set(&new.fresh, (new.sequence.load(Ordering::Relaxed) == 0).into());
        s.set(&new.sequence, old.sequence.load(Ordering::Relaxed) + 1);
        s.set(&new.start, head);
        s.set(&new.end, 0);
        s.set(&new.archived, 0);
        s.set(&self.head.giving, next as u64);
        Ok(())
    }

    /// Waits for a log file. When no background process exists for it, this process archives or makes the checkpoint
    /// itself. Archiving may take long: PMON, which rolls back for dead processes, does not wait for it but tries again
    /// later.
    ///
    /// # Errors
    /// The log has failed; ORA-00028 or ORA-01013 after a wait in which nothing happened; ORA-00257 for PMON.
    pub(crate) fn wait_for_log(&self, p: &Process, why: Event) -> Result<()> {
        p.count(Stat::RedoLogSpaceRequests, 1);
        let started = os::clock::now_ns();
        let (line, seen) = (self.use_line(p), p.posts());
        self.wait_in_line(p, line, FOR_A_LOG);
        let done = match why {
            Event::LogFileSwitchCompletion => self.force_quietly(p, self.head()),
            Event::LogFileSwitchCheckpointIncomplete => self.ask_for_checkpoint(p),
            _ => self.ask_for_archiving(p),
        };
        let (mut posted, mut never) = (true, Ok(()));
        // A failure here is not final: the step is tried again, by any process that can.
        if !matches!(done, Ok(false)) {
            if why == Event::LogFileSwitchArchivingNeeded && self.is_pmon(p) {
                never = Err(Ora::new(257));
            } else {
                let _w = p.wait(why, 0, 0, 0);
                posted = p.sleep(seen, Some(LOOK_AGAIN));
            }
        }
        line.waiting_for.store(0, Ordering::SeqCst);
        p.count(Stat::RedoLogSpaceWaitTime, (os::clock::now_ns() - started) / 1000);
        p.help_the_dead();
        never?;
        if !posted {
            p.check_cancel()?;
        }
        self.check_failed()
    }

    fn is_pmon(&self, p: &Process) -> bool {
        self.tail.pmon.load(Ordering::Relaxed) == u64::from(p.number())
    }

    /// Waits until `needed` is on disk, so that there is room in the ring.
    fn wait_for_buffer(&self, p: &Process, needed: u64) -> Result<()> {
        p.count(Stat::RedoBufferAllocationRetries, 1);
        self.sync_as(p, Rba(needed), Event::LogBufferSpace)
    }
}

/// The result of a try to give out a place.
enum Given {
    Place(Place),
    /// A newer checkpoint was announced.
    Announced,
    /// The ring has no room before this position is on disk.
    NoBuffer(u64),
    /// No log has room.
    NoLog(Event),
}

impl RedoSink for RedoLog {
    fn wanted(&self) -> bool {
        true
    }

    fn newest_scn(&self) -> Scn {
        RedoLog::newest_scn(self)
    }

    #[inline]
    fn image_before(&self) -> Rba {
        Rba(self.head.announced.load(Ordering::Acquire))
    }

    fn announce(&self, p: &Process) -> Rba {
        let line = self.use_line(p);
        let s = self.lock(p);
        let head = self.head.head.load(Ordering::Relaxed);
        s.set(&self.head.announced, head);
        s.set(&line.announced, head);
        s.set(&line.announced_scn, self.newest_scn().0);
        s.set(&line.announced_time, u64::from(now_s()));
        Rba(head)
    }

    fn note_checkpoint(&self, p: &Process, rba: Rba) -> Result<()> {
        if self.is_open() { self.checkpointed(p, rba) } else { Ok(()) }
    }

    fn reserve(&self, p: &Process, len: usize, decided: Rba, note: &AtomicU64) -> Result<Option<Place>> {
        let too_long = len > SHORT && len as u64 > self.record_max();
        if too_long || len < RECORD_HEAD || !len.is_multiple_of(8) {
            return Err(Ora::internal(format_args!("redo record of {len} bytes")));
        }
        loop {
            self.check_failed()?;
            match self.try_reserve(p, len as u64, decided, note)? {
                Given::Place(place) => {
                    faults::point("redo_reserved");
                    return Ok(Some(place));
                }
                Given::Announced => return Ok(None),
                Given::NoBuffer(needed) => self.wait_for_buffer(p, needed)?,
                Given::NoLog(why) => self.wait_for_log(p, why)?,
            }
        }
    }

    fn put(&self, p: &Process, at: Rba, record: &[u8]) {
        let line = self.line(p);
        assert_eq!(line.pending.load(Ordering::Relaxed), at.0, "a record goes to the place it was given");
        assert_eq!(
            line.pending_len.load(Ordering::Relaxed) & LEN_MASK,
            record.len() as u64,
            "a record has the length it asked for"
        );
        self.copy_in(at.0, record);
        let scn = u64::from_le_bytes(record[8..16].try_into().expect("eight bytes"));
        if line.scn.load(Ordering::Relaxed) < scn {
            line.scn.store(scn, Ordering::Relaxed);
        }
        faults::point("redo_copied");
    }

    #[inline]
    fn settle(&self, p: &Process) {
        // Release: a process that sees that nothing is pending sees the record.
        self.line(p).pending.store(0, Ordering::Release);
        self.ask_for_writing_ahead();
    }

    fn settle_dead(&self, p: &Process, dead: u32, counts: bool) {
        let Some(line) = self.lines.get((dead as usize).wrapping_sub(1)) else { return };
        let (at, pending_len) = (line.pending.load(Ordering::Acquire), line.pending_len.load(Ordering::Relaxed));
        if at == 0 {
            return;
        }
        if !counts {
            let len = pending_len & LEN_MASK;
            let place = Place { at: Rba(at), log: self.log_id(pending_len >> 32), on_disk: self.on_disk() };
            self.copy_in(at, &void_record(len as usize, &place, self.newest_scn(), now_s()));
            p.count(Stat::RedoWastage, len);
        }
        faults::point("redo_settling_the_dead");
        line.pending.store(0, Ordering::Release);
    }

    #[inline]
    fn on_disk(&self) -> Rba {
        Rba(self.tail.written.load(Ordering::Acquire))
    }

    fn force(&self, p: &Process, upto: Rba) -> Result<()> {
        // A process that writes blocks waits for LGWR, not for a commit.
        self.sync_as(p, upto, Event::RdbmsIpcReply)
    }

    #[inline]
    fn note_commit(&self, p: &Process, upto: Rba) {
        self.line(p).commit.store(upto.0, Ordering::Relaxed);
    }

    fn noted_commit(&self, p: &Process) -> Rba {
        Rba(self.line(p).commit.load(Ordering::Relaxed))
    }

    fn forget_commit(&self, p: &Process, keep: Rba, soon: bool) {
        self.line(p).commit.store(keep.0, Ordering::Relaxed);
        if soon {
            self.post_lgwr();
        }
    }

    fn sync_commits(&self, p: &Process) -> Result<()> {
        let line = self.line(p);
        let upto = line.commit.load(Ordering::Relaxed);
        if upto == 0 {
            return Ok(());
        }
        let began = os::clock::now_ns();
        self.sync_as(p, Rba(upto), Event::LogFileSync)?;
        line.commit.store(0, Ordering::Relaxed);
        p.count(Stat::RedoSynchWrites, 1);
        p.count(Stat::RedoSynchTimeUsec, (os::clock::now_ns() - began) / 1000);
        Ok(())
    }
}

impl RedoLog {
    /// Writes an empty record after redo that nothing has followed for a while. From it a recovery knows that
    /// everything before it was on disk, and that unreadable redo there is damage (R6). No effect when there is such a
    /// record, or a checkpoint has made it needless, or the log has no room. LGWR calls it when it has no other work.
    ///
    /// Waits: those of [`RedoLog::write_out`]. Latches: none on entry or return.
    ///
    /// # Errors
    /// The log cannot be written any more.
    pub fn bear_witness(&self, p: &Process) -> Result<()> {
        let t = self.tail;
        let written = t.written.load(Ordering::Acquire);
        let known = t.witnessed.load(Ordering::Relaxed).max(t.checkpoint.load(Ordering::Acquire));
        if !self.is_open() || written <= known || self.head().0 != written {
            return Ok(());
        }
        let given = self.try_reserve(p, RECORD_HEAD as u64, self.image_before(), &t.witness)?;
        let Given::Place(place) = given else { return Ok(()) };
        self.put(p, place.at, &void_record(RECORD_HEAD, &place, self.newest_scn(), now_s()));
        self.settle(p);
        t.witness.store(0, Ordering::Relaxed);
        if place.on_disk == place.at {
            t.witnessed.store(place.at.0 + RECORD_HEAD as u64, Ordering::Relaxed);
        }
        p.count(Stat::RedoWastage, RECORD_HEAD as u64);
        self.write_out(p)
    }

    fn log_id(&self, sequence: u64) -> LogId {
        LogId { incarnation: self.tail.incarnation.load(Ordering::Relaxed) as u32, sequence: sequence as u32 }
    }

    /// Copies a record into the ring, around its end if necessary.
    fn copy_in(&self, at: u64, record: &[u8]) {
        let mask = self.ring.len() - 1;
        let first = (at / 8) as usize & mask;
        let (head, tail) = record.split_at(record.len().min((self.ring.len() - first) * 8));
        for (from, part) in [(first, head), (0, tail)] {
            for (word, bytes) in self.ring[from..].iter().zip(part.chunks_exact(8)) {
                word.store(u64::from_le_bytes(bytes.try_into().expect("eight bytes")), Ordering::Relaxed);
            }
        }
    }

    /// Copies the ring from the position `from`, a multiple of eight, into `out`.
    pub(crate) fn copy_out(&self, from: u64, out: &mut [u64]) {
        let first = (from / 8) as usize & (self.ring.len() - 1);
        let until_end = out.len().min(self.ring.len() - first);
        let (head, tail) = out.split_at_mut(until_end);
        for (from, part) in [(first, head), (0, tail)] {
            for (word, out) in self.ring[from..].iter().zip(part) {
                *out = word.load(Ordering::Relaxed).to_le();
            }
        }
    }

    /// Asks LGWR to write while there is still room, so that processes need not wait for it.
    #[inline]
    fn ask_for_writing_ahead(&self) {
        let unwritten =
            self.head.head.load(Ordering::Relaxed).saturating_sub(self.tail.written.load(Ordering::Relaxed));
        if unwritten > (self.buffer_bytes() / 3).min(1 << 20) {
            self.post_lgwr();
        }
    }
}
