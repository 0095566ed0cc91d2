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
use crate::control::{Control, LOGS_MAX, LogControl, LoggedEntry, RBA_LIMIT};
use crate::file::{io_error, name};
use crate::group::{Group, Groups, LogFile};
use crate::{LogId, Rba};
use latch::{LatchName, Where};
use os::blocks::{BlockFile, Blocks};
use os::file::{File, OpenMode};
use process::{Process, Processes, Section};
use sga::{SgaBuilder, SgaSlice, SgaText, sga_struct};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use types::{Ora, Result, Scn};

/// Time after which a sleeper looks again without a post: the process that should post it may have died.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(100);

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

    /// Sets the function that makes a checkpoint while there is no CKPT; the process that needs the checkpoint runs it.
    /// Called once, before the log is opened.
    pub fn set_checkpointer(&self, run: Checkpointer) {
        let _ = self.checkpointer.set(run);
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

    /// Loads the entries from the control file. The log is closed.
    pub(crate) fn load(&self, control: &LogControl) {
        for (n, g) in self.groups.shared.iter().enumerate() {
            let entry = control.logs.get(n).cloned().unwrap_or_default();
            let next = control.logs.iter().filter(|l| l.sequence > entry.sequence).min_by_key(|l| l.sequence);
            // The end of the newest log is not known yet.
            let end = next.map_or(RBA_LIMIT, |l| l.start);
            let words = [
                (&g.sequence, u64::from(entry.sequence)),
                (&g.start, entry.start),
                (&g.end, end),
                (&g.bytes, entry.bytes),
                (&g.archived, entry.archived.into()),
                (&g.first_scn, entry.first_scn.0),
                (&g.first_time, entry.first_time_s.into()),
                (&g.number, entry.group.into()),
            ];
            words.iter().for_each(|(word, value)| word.store(*value, Ordering::Release));
        }
        let t = self.tail;
        t.archivelog.store(control.archivelog.into(), Ordering::Relaxed);
        t.incarnation.store(control.incarnation.number.into(), Ordering::Relaxed);
        t.checkpoint_scn.store(control.checkpoint.scn.0, Ordering::Relaxed);
        t.checkpoint_time.store(control.checkpoint.time_s.into(), Ordering::Relaxed);
        t.checkpoint.store(control.checkpoint.rba, Ordering::Release);
        t.base_scn.store(control.checkpoint.scn.0.max(control.scn.0), Ordering::Relaxed);
    }

    /// True while records are accepted.
    pub fn is_open(&self) -> bool {
        self.head.open.load(Ordering::Acquire) != 0
    }

    /// True in ARCHIVELOG mode.
    pub fn is_archivelog(&self) -> bool {
        self.tail.archivelog.load(Ordering::Acquire) != 0
    }

    pub(crate) fn log_path(&self, number: u64) -> Result<PathBuf> {
        let control = self.control.read()?;
        let entry = control.logs.iter().find(|l| u64::from(l.group) == number);
        let name = entry.map(|l| l.name.clone()).ok_or_else(|| Ora::with(313, &[&number, &1]))?;
        Ok(self.control.directory().join(name))
    }

    /// The open file of a group.
    pub(crate) fn log_file(&self, n: usize) -> Result<Arc<LogFile>> {
        let g = self.groups.at(n);
        let generation = g.generation.load(Ordering::Acquire);
        let mut open = self.groups.open.lock().expect("no panic under this lock");
        if let Some((of, file)) = &open[n]
            && *of == generation
        {
            return Ok(Arc::clone(file));
        }
        let number = g.number.load(Ordering::Relaxed);
        let path = self.log_path(number)?;
        let failed = |e: os::OsError| Ora::with(313, &[&number, &1]).because(name(&path)).because(io_error(&e));
        let file = File::open(&path, OpenMode::ReadWrite).map_err(failed)?;
        // Without waiting for the disk, writes through the page cache are faster.
        let blocks = BlockFile::open(&path, self.control.disk_sync()).map_err(failed)?;
        let log = Arc::new(LogFile { file, blocks });
        open[n] = Some((generation, Arc::clone(&log)));
        Ok(log)
    }

    /// The entry of the complete sequence in a group; its end is known.
    pub(crate) fn logged_entry(&self, n: usize) -> LoggedEntry {
        let g = self.groups.at(n);
        let word = |w: &AtomicU64| w.load(Ordering::Relaxed);
        LoggedEntry {
            sequence: word(&g.sequence) as u32,
            incarnation: word(&self.tail.incarnation) as u32,
            start: word(&g.start),
            end: word(&g.end),
            first_scn: Scn(word(&g.first_scn)),
            first_time_s: word(&g.first_time) as u32,
            ..LoggedEntry::default()
        }
    }

    pub(crate) fn post_background(&self, number: &AtomicU64) {
        let number = number.load(Ordering::Acquire);
        if number != 0 {
            self.all.post(number as u32);
        }
    }

    /// Wakes the processes that wait for a log file.
    pub(crate) fn post_log_waiters(&self) {
        for (number, line) in bits_of(&self.asleep.bits).flat_map(|bit| self.lines_of(bit, Asleep::BITS)) {
            if line.waiting_for.load(Ordering::SeqCst) == FOR_A_LOG {
                self.all.post(number);
            }
        }
    }

    pub(crate) fn log_id(&self, sequence: u64) -> LogId {
        LogId { incarnation: self.tail.incarnation.load(Ordering::Relaxed) as u32, sequence: sequence as u32 }
    }

    /// Copies a record into the ring, around its end if necessary.
    pub(crate) fn copy_in(&self, at: u64, record: &[u8]) {
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
}
