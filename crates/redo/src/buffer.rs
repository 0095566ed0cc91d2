//! Records into the log buffer: their places, their copies, and the waits for room. See [`crate::log`].

use crate::file::now_s;
use crate::log::{Head, RedoLog};
use crate::record::{RECORD_HEAD, void_record};
use crate::{Place, Rba, RedoSink};
use os::blocks::BLOCK_MAX;
use process::{CleanupOrder, Process, Processes, Section};
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Ora, Result, Scn};
use wait::{Event, Stat};

/// Records up to this length fit into any log buffer and log.
const SHORT: usize = 16 << 10;

/// The part of `pending_len` that is the length.
const LEN_MASK: u64 = u32::MAX as u64;

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

impl RedoLog {
    /// Registers the hook for the death of a process. Run once, by the supervisor, before it forks.
    pub fn register_with(log: &'static RedoLog, all: &Processes) {
        all.on_death(CleanupOrder::Pins, "redo log", move |_, dead| log.clean_up(dead));
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

    /// Waits until `needed` is on disk, so that there is room in the ring.
    fn wait_for_buffer(&self, p: &Process, needed: u64) -> Result<()> {
        p.count(Stat::RedoBufferAllocationRetries, 1);
        self.sync_as(p, Rba(needed), Event::LogBufferSpace)
    }

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
