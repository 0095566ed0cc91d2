//! Writing the log: the writer, the waiters, and failures.
//!
//! One process writes at a time: the one whose number is in the word `writer`. The word is no latch, because it is held
//! across writes and syncs. PMON empties it when its holder is dead, and the next writer writes the same bytes once
//! more, because `written` moves only after the sync (R9). A process that waits for a position notes it in its line and
//! sleeps until posted.
//!
//! In the `latchwork` design a process that waits for its commit writes when no other process does. The next write
//! covers all commits that arrive during this one, and one of their processes makes it: a group commit without
//! switching to another process and back. In the older designs LGWR writes and the others post it.
//!
//! When the last write served several waiters, a leader yields its processor once before it writes (R13): processes
//! that can run there reach their own commits, and one write serves all of them instead of several. The leader waits
//! for no process; on an idle processor the call returns at once. When it returns late, a process that does not commit
//! has used the processor, and leaders do not yield for a while.
//!
//! Only LGWR, or any process while there is none, opens the next log file (R12), since that changes the control file,
//! and a session that waits for the control file can be cancelled.
//!
//! A failed write or sync is not repeated (R11): after a failed sync the contents of the device are unknown. The log is
//! marked failed, every waiter gets the error, LGWR ends with it and the instance with LGWR. No commit is lost whose
//! client was told.

use crate::file::{LOG_BLOCK_BYTES, LOG_HEADER_BYTES, io_error, name};
use crate::log::{Asleep, FOR_A_LOG, Head, LOOK_AGAIN, Line, bits_of};
use crate::{Rba, RedoLog};
use os::blocks::BlockFile;
use process::Process;
use std::sync::atomic::Ordering;
use std::time::Duration;
use types::{Facility, Ora, Result};
use wait::{Event, Stat};

/// Bytes written by one call.
const CHUNK: u64 = 1 << 20;

/// The writer's checks for the end of a copy before it sleeps.
const COPY_SPINS: u32 = 200;

/// Waiters of the last write from which on the next writer yields its processor.
const COMPANY: u64 = 2;

/// When the processor came back later than this, it was not used for commits.
const AWAY_NS: u64 = 1_000_000;

/// The time in which leaders do not yield after that.
const HASTE_NS: u64 = 100_000_000;

/// The result of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrote {
    /// Everything requested is on disk.
    All,
    /// The log is full to its end, and another process has to open the next one.
    UpToTheSwitch,
}

/// The positions given out, at one moment.
struct Given {
    /// The end of it.
    head: u64,
    /// The end of the log that is being written, when another one has taken over; 0 otherwise.
    log_end: u64,
}

impl RedoLog {
    pub(crate) fn check_failed(&self) -> Result<()> {
        if self.tail.failed.load(Ordering::Acquire) == 0 { Ok(()) } else { Err(self.failure()) }
    }

    /// The reason why the log can no longer be written.
    fn failure(&self) -> Ora {
        let text = self.tail.failure.get();
        let bare = text.strip_prefix("ORA-00345: ").unwrap_or(&text);
        Ora::from_text(Facility::Ora, 345, bare)
    }

    /// Marks the log as failed and wakes all waiters.
    fn fail(&self, e: Ora) -> Ora {
        if e.is_stop() || e.is(200) {
            // Errors of a session that waited for the control file, or of a full device, are not final: the step is
            // tried again, and no acknowledged commit is lost.
            return e;
        }
        if self.tail.failed.load(Ordering::Relaxed) == 0 {
            self.tail.failure.set(&e.to_string());
            self.tail.failed.store(1, Ordering::SeqCst);
        }
        self.post_lgwr();
        e
    }

    fn lgwr(&self) -> u64 {
        self.tail.lgwr.load(Ordering::Acquire)
    }

    fn may_write(&self, p: &Process) -> bool {
        self.leader || self.may_switch(p)
    }

    pub(crate) fn may_switch(&self, p: &Process) -> bool {
        let lgwr = self.lgwr();
        lgwr == 0 || lgwr == u64::from(p.number())
    }

    pub(crate) fn take_writer(&self, p: &Process) -> bool {
        let own = p.number().into();
        self.tail.writer.compare_exchange(0, own, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn release_writer(&self) {
        // SeqCst, as the waiters' stores and loads: a waiter sees that there is no writer, or is seen here.
        self.tail.writer.store(0, Ordering::SeqCst);
        self.post_waiters();
    }

    /// Wakes the processes whose redo is on disk, and one of the others to write the redo that has arrived since.
    ///
    /// A waiter writes its line, then its bit unless that is set, and then checks whether its redo is on disk or there
    /// is no writer. The writer stores `written` and `writer` first and reads the bits afterwards. All accesses are
    /// SeqCst, so either the writer sees the waiter, or the waiter sees the new state. A bit whose lines are all empty
    /// is cleared: see [`Self::clear_asleep`].
    pub(crate) fn post_waiters(&self) {
        let written = self.tail.written.load(Ordering::SeqCst);
        let failed = self.tail.failed.load(Ordering::SeqCst) != 0;
        let mut lead = self.leader;
        let mut company = 0;
        for bit in bits_of(&self.asleep.bits) {
            let mut waits = false;
            for (number, line) in self.lines_of(bit, Asleep::BITS) {
                let upto = line.waiting_for.load(Ordering::SeqCst);
                waits |= upto != 0;
                if upto == 0 || (upto == FOR_A_LOG && !failed) {
                    continue;
                }
                company += 1;
                if upto <= written || failed || std::mem::take(&mut lead) {
                    self.all.post(number);
                }
            }
            if !waits {
                self.clear_asleep(bit);
            }
        }
        self.tail.company.store(company, Ordering::Relaxed);
    }

    /// Clears a bit whose lines were all empty, and posts each process of these lines that waits by now.
    ///
    /// A process that began to wait in between may have found the bit still set. The next writer may already have
    /// written and posted, and found the bit clear, because a writer lets the next one begin before it posts. If the
    /// poster is killed before it has set the bit again, the process looks again after [`LOOK_AGAIN`] and sets it.
    fn clear_asleep(&self, bit: usize) {
        let (word, mask) = (&self.asleep.bits[bit / 64], 1 << (bit % 64));
        word.fetch_and(!mask, Ordering::SeqCst);
        for (number, line) in self.lines_of(bit, Asleep::BITS) {
            if line.waiting_for.load(Ordering::SeqCst) != 0 {
                word.fetch_or(mask, Ordering::SeqCst);
                self.all.post(number);
            }
        }
    }

    /// Yields the processor to processes near their commits, so that one write serves all (R13). Called by the writer.
    fn let_others_come(&self) {
        let t = self.tail;
        if t.company.load(Ordering::Relaxed) < COMPANY {
            return;
        }
        let before = os::clock::now_ns();
        if before < t.in_haste_until.load(Ordering::Relaxed) {
            return;
        }
        os::cpu::yield_now();
        let now = os::clock::now_ns();
        if now - before > AWAY_NS {
            t.in_haste_until.store(now + HASTE_NS, Ordering::Relaxed);
        }
    }

    /// Wakes LGWR unless it was posted already.
    pub(crate) fn post_lgwr(&self) {
        let lgwr = self.lgwr();
        if lgwr != 0 && self.tail.lgwr_posted.swap(1, Ordering::SeqCst) == 0 {
            self.all.post(lgwr as u32);
        }
    }

    /// Waits, in `event`, until everything before `upto` is on disk; writes itself when it may and no other process
    /// does. A wait for a commit ignores cancellation, because the outcome would be unknown. All other waits end with
    /// ORA-00028 or ORA-01013.
    pub(crate) fn sync_as(&self, p: &Process, upto: Rba, event: Event) -> Result<()> {
        if self.tail.written.load(Ordering::Acquire) >= upto.0 {
            return Ok(());
        }
        if upto > self.head() {
            return Err(Ora::internal(format_args!("redo up to {upto} is awaited, {} was given out", self.head())));
        }
        let line = self.use_line(p);
        let (p1, p2) = match event {
            Event::RdbmsIpcReply => (self.lgwr(), LOOK_AGAIN.as_millis() as u64 / 10),
            _ => (upto.0 / LOG_BLOCK_BYTES, line.scn.load(Ordering::Relaxed)),
        };
        let w = p.wait(event, p1, p2, 0);
        let done = self.sync_in(p, line, upto, event != Event::LogFileSync);
        line.waiting_for.store(0, Ordering::SeqCst);
        drop(w);
        done
    }

    fn sync_in(&self, p: &Process, line: &Line, upto: Rba, may_be_cancelled: bool) -> Result<()> {
        loop {
            let seen = p.posts();
            self.wait_in_line(p, line, upto.0);
            if self.tail.written.load(Ordering::SeqCst) >= upto.0 {
                return Ok(());
            }
            self.check_failed()?;
            if self.may_write(p) && self.take_writer(p) {
                line.waiting_for.store(0, Ordering::SeqCst);
                self.let_others_come();
                let wrote = self.write_held(p, upto);
                self.release_writer();
                if wrote? == Wrote::All {
                    continue;
                }
                self.wait_in_line(p, line, upto.0);
            }
            if !self.leader || self.tail.writer.load(Ordering::SeqCst) == 0 {
                self.post_lgwr();
            }
            let posted = p.sleep(seen, Some(LOOK_AGAIN));
            p.help_the_dead();
            // Checked only after a long wait: a request to a session that is rolling back need not stop it at every
            // turn.
            if may_be_cancelled && !posted {
                p.check_cancel()?;
            }
        }
    }

    /// As [`Self::sync_as`], inside another wait and only as far as this process can go by itself; true when another
    /// process was asked for the rest.
    pub(crate) fn force_quietly(&self, p: &Process, upto: Rba) -> Result<bool> {
        if self.may_write(p) && self.take_writer(p) {
            let wrote = self.write_held(p, upto);
            self.release_writer();
            if wrote? == Wrote::All
                && self.tail.writing.load(Ordering::Acquire) == self.head.giving.load(Ordering::Acquire)
            {
                return Ok(false);
            }
        }
        self.post_lgwr();
        Ok(true)
    }

    /// Writes everything that has been given out, and opens the next log where one has taken over: a round of LGWR, or
    /// of another process while there is no LGWR. No effect while another process writes; that process writes
    /// everything given out before this call, or asks LGWR.
    ///
    /// Waits: `log file parallel write`, `LGWR wait for redo copy`, those of the control file. Latches: none on entry
    /// or return.
    ///
    /// # Errors
    /// The log can no longer be written.
    pub fn write_out(&self, p: &Process) -> Result<()> {
        self.tail.lgwr_posted.store(0, Ordering::SeqCst);
        self.check_failed()?;
        while self.may_switch(p) && self.has_work() && self.take_writer(p) {
            let wrote = self.write_held(p, self.head());
            self.release_writer();
            wrote?;
        }
        self.check_failed()
    }

    fn has_work(&self) -> bool {
        self.tail.written.load(Ordering::SeqCst) < self.head.head.load(Ordering::SeqCst)
            || self.tail.writing.load(Ordering::Relaxed) != self.head.giving.load(Ordering::Acquire)
    }

    /// The end of the positions given out, with the bits of all lines that may have a note before it.
    fn given(&self, p: &Process) -> Given {
        // Under the latch, because a section that is rolled back may have changed them for a moment.
        let s = self.lock(p);
        for (given, carried) in self.head.given.iter().zip(&self.tail.carried) {
            let bits = given.load(Ordering::Relaxed);
            if bits != 0 {
                s.set(carried, carried.load(Ordering::Relaxed) | bits);
                s.set(given, 0);
            }
        }
        let writing = self.tail.writing.load(Ordering::Relaxed) as usize;
        Given {
            head: self.head.head.load(Ordering::Relaxed),
            log_end: self.groups.at(writing).end.load(Ordering::Relaxed),
        }
    }

    /// The position before which all records may be written, at most `head`. For the writer, which has taken the bits
    /// over with `head` or later.
    fn settled(&self, head: u64) -> u64 {
        let mut settled = head;
        for bit in bits_of(&self.tail.carried) {
            let mut has_note = false;
            for (_, line) in self.lines_of(bit, Head::GIVEN) {
                // Acquire pairs with the Release of `settle`: a line that is no longer pending has its record copied.
                let at = line.pending.load(Ordering::Acquire);
                has_note |= at != 0;
                settled = if at == 0 { settled } else { settled.min(at) };
            }
            if !has_note {
                let word = &self.tail.carried[bit / 64];
                // Release pairs with the load in `bits_of`: a later writer, which does not read these lines, sees their
                // records.
                word.store(word.load(Ordering::Relaxed) & !(1 << (bit % 64)), Ordering::Release);
            }
        }
        settled
    }

    /// Spins for copies in progress, because an additional write for them would cost far more. Returns the position up
    /// to which redo may be written.
    fn settled_soon(&self, given: &Given, wanted: u64) -> u64 {
        for _ in 0..COPY_SPINS {
            let settled = self.settled(given.head);
            if settled >= wanted {
                return settled;
            }
            os::cpu::relax();
        }
        self.settled(given.head)
    }

    /// Writes until everything before `upto` is on disk. The process is the writer.
    pub(crate) fn write_held(&self, p: &Process, upto: Rba) -> Result<Wrote> {
        loop {
            self.check_failed()?;
            let now = self.given(p);
            let written = self.tail.written.load(Ordering::Relaxed);
            let log_end = if now.log_end == 0 { u64::MAX } else { now.log_end };
            let wanted = upto.0.min(now.head);
            let target = self.settled_soon(&now, wanted.min(log_end)).min(log_end);
            if target > written {
                self.write_log(p, written, target).map_err(|e| self.fail(e))?;
            } else if target < wanted.min(log_end) {
                self.wait_for_copy(p);
            }
            if target == log_end {
                if !self.may_switch(p) {
                    return Ok(if wanted <= target { Wrote::All } else { Wrote::UpToTheSwitch });
                }
                self.open_next(p).map_err(|e| self.fail(e))?;
            }
            if self.tail.written.load(Ordering::Relaxed) >= wanted {
                return Ok(Wrote::All);
            }
        }
    }

    /// Waits for a process that has a place and has not settled it: it lost its processor, or is dead.
    fn wait_for_copy(&self, p: &Process) {
        let is_lgwr = self.lgwr() == u64::from(p.number());
        let w = is_lgwr.then(|| p.wait(Event::LgwrWaitForRedoCopy, 0, 0, 0));
        os::clock::sleep(Duration::from_micros(50));
        drop(w);
        p.help_the_dead();
    }

    /// Writes and syncs `from..to` of the stream, all of it inside the log that is being written, and moves `written`.
    fn write_log(&self, p: &Process, from: u64, to: u64) -> Result<()> {
        let group = self.tail.writing.load(Ordering::Relaxed) as usize;
        let log = self.log_file(group)?;
        let start = self.groups.at(group).start.load(Ordering::Relaxed);
        let blocks = (to - from).div_ceil(LOG_BLOCK_BYTES);
        let began = os::clock::now_ns();
        // Any other writer is inside its own wait already.
        let is_lgwr = self.lgwr() == u64::from(p.number());
        let w = is_lgwr.then(|| p.wait(Event::LogFileParallelWrite, 1, blocks, 1));
        let failed = |e: os::OsError| {
            Ora::with(345, &[&(from / LOG_BLOCK_BYTES), &blocks]).because(name(log.file.path())).because(io_error(&e))
        };
        self.reach(group, &log, to).map_err(failed)?;
        let (requests, bytes) = self.write_blocks(&log.blocks, start, from, to).map_err(failed)?;
        faults::point("redo_written");
        if self.control.disk_sync() {
            log.blocks.sync().map_err(failed)?;
        }
        faults::point("redo_synced");
        // After the sync, in one store (R9): a writer that dies before has written nothing.
        self.tail.written.store(to, Ordering::SeqCst);
        drop(w);
        let ns = os::clock::now_ns() - began;
        if !is_lgwr {
            self.all.note_log_write(ns);
        }
        p.count(Stat::RedoWrites, 1);
        p.count(Stat::RedoBlocksWritten, bytes / LOG_BLOCK_BYTES);
        p.count(Stat::RedoWriteTimeUsec, ns / 1000);
        p.count_write(requests, bytes);
        Ok(())
    }

    /// Writes `from..to` of the stream to the file of the log that begins at `start`, in whole blocks (R14). The first
    /// block begins with redo before `from`, which is already on disk and still in the ring; the last one ends with
    /// zeros. Returns the number of writes and of bytes.
    fn write_blocks(&self, file: &BlockFile, start: u64, from: u64, to: u64) -> os::OsResult<(u64, u64)> {
        let mut written = (0, 0);
        let block = file.block_bytes() as u64;
        let mut at = from - (from - start) % block;
        let mut scratch = self.scratch.lock().expect("no panic under this lock");
        while at < to {
            let redo = (to - at).min(CHUNK);
            let len = redo.next_multiple_of(block);
            let words = &mut scratch.words_mut(len as usize)[..len as usize / 8];
            let (copied, zeros) = words.split_at_mut(redo as usize / 8);
            self.copy_out(at, copied);
            zeros.fill(0);
            file.write_at(&scratch, len as usize, LOG_HEADER_BYTES + (at - start))?;
            at += len;
            written = (written.0 + 1, written.1 + len);
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckpointEntry, Control, LogConfig, LogControl, LogLayout};
    use std::path::Path;
    use std::sync::Arc;

    struct NoFiles;

    impl Control for NoFiles {
        fn read(&self) -> Result<LogControl> {
            Ok(LogControl::default())
        }
        fn change(&self, _: &Process, _: &mut dyn FnMut(&mut LogControl) -> Result<()>) -> Result<()> {
            Ok(())
        }
        fn checkpointed(&self, _: &Process, _: &CheckpointEntry) -> Result<()> {
            Ok(())
        }
        fn directory(&self) -> &Path {
            Path::new("/")
        }
        fn database(&self) -> u64 {
            1
        }
        fn disk_sync(&self) -> bool {
            false
        }
    }

    /// A log of 600 processes, and of them 7 and 519, which have the same bit of those that sleep.
    fn two_of_one_bit() -> (RedoLog, [Process; 2]) {
        let config = LogConfig { buffer_bytes: 64 << 10, processes: 600, leader: false };
        let (all, layout) = testing::instance(600, |b| LogLayout::reserve(b, &config));
        let log = RedoLog::create(all, &layout, &config, Arc::new(NoFiles)).unwrap();
        let mut attached: Vec<Process> = (1..=519).map(|_| testing::attach(all, "one of many")).collect();
        let (last, seventh) = (attached.swap_remove(518), attached.swap_remove(6));
        assert_eq!((seventh.number(), last.number()), (7, 519));
        (log, [seventh, last])
    }

    fn set_bits(log: &RedoLog) -> Vec<usize> {
        bits_of(&log.asleep.bits).collect()
    }

    #[test]
    fn two_that_sleep_on_one_bit_are_both_posted_and_the_bit_goes_when_neither_sleeps() {
        let (log, both) = two_of_one_bit();
        log.tail.written.store(100, Ordering::SeqCst);
        both.iter().for_each(|p| log.wait_in_line(p, log.use_line(p), 100));
        let seen = both.each_ref().map(Process::posts);
        log.post_waiters();
        assert!(both.iter().zip(seen).all(|(p, seen)| p.posts() != seen));
        // The first has gone on, and the second waits for more.
        log.line(&both[0]).waiting_for.store(0, Ordering::SeqCst);
        log.wait_in_line(&both[1], log.line(&both[1]), 200);
        let seen = both.each_ref().map(Process::posts);
        log.post_waiters();
        assert_eq!((both.each_ref().map(Process::posts), set_bits(&log)), (seen, vec![6]));
        log.line(&both[1]).waiting_for.store(0, Ordering::SeqCst);
        log.post_waiters();
        assert_eq!(set_bits(&log), []);
    }

    #[test]
    fn a_process_that_began_to_wait_before_its_bit_was_cleared_is_posted_by_the_one_that_clears() {
        let (log, both) = two_of_one_bit();
        // The poster has seen both lines empty; each process finds the bit set and leaves it.
        log.asleep.bits[0].store(1 << 6, Ordering::SeqCst);
        both.iter().for_each(|p| log.wait_in_line(p, log.use_line(p), 100));
        let seen = both.each_ref().map(Process::posts);
        log.clear_asleep(6);
        assert!(both.iter().zip(seen).all(|(p, seen)| p.posts() != seen), "the next writer may have skipped them");
        assert_eq!(set_bits(&log), [6]);
    }
}
