//! The online logs: their entries, the current one, and the conditions for reuse.
//!
//! A group's entry in the SGA mirrors its line in the control file. The group in which positions are given out
//! (`giving`) is ahead of the one whose file is written (`writing`) by at most one: the section that finds a log full
//! chooses the next, and the writer opens it when all of the old one is written. A log may be reused when the
//! checkpoint has passed its end and, in ARCHIVELOG mode, it has been archived (R10).
//!
//! | killed | afterwards |
//! |---|---|
//! | before the new header is synced | the log has its old header: the redo ends with the log before |
//! | before the control file is replaced | recovery finds the new log, without a record; the writer opens it again |
//! | before `writing` moves | the same once more; nothing had been written to the new log |

use crate::control::{
    CheckpointEntry, FIRST_RBA, IncarnationEntry, LOGGED_MAX, LOGS_MAX, LogControl, LogGroupEntry, LoggedEntry,
};
use crate::file::{LOG_BLOCK_BYTES, LOG_HEADER_BYTES, LogHeader, io_error, name, now_s, room_of};
use crate::group::{Group, LogFile};
use crate::log::{FOR_A_LOG, LOOK_AGAIN, Line};
use crate::{Rba, RedoLog};
use os::file::{File, OpenMode};
use process::{Process, Section};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Ora, Result, Scn};
use wait::{Event, Stat};

/// The smallest log file, in bytes.
pub const LOG_FILE_MIN: u64 = 1 << 20;

/// The options for creating log files.
#[derive(Clone, Copy, Debug)]
pub struct LogFiles<'a> {
    /// The database directory.
    pub directory: &'a Path,
    /// Space is allocated only when written.
    pub sparse: bool,
    /// Wait until the files are on the device.
    pub sync: bool,
}

/// Creates the log files of a new database and returns their part of the control file. `scn` is the first SCN of the
/// database.
///
/// # Errors
/// ORA-00301 when a file cannot be made.
pub fn create_logs(how: &LogFiles<'_>, count: u32, bytes: u64, scn: Scn) -> Result<LogControl> {
    let entry = |group| LogGroupEntry {
        group,
        bytes: bytes.max(LOG_FILE_MIN),
        name: format!("redo{group:02}.log"),
        ..LogGroupEntry::default()
    };
    let logs: Vec<LogGroupEntry> = (1..=count.clamp(2, LOGS_MAX)).map(entry).collect();
    logs.iter().try_for_each(|entry| make_file(how, entry))?;
    Ok(LogControl {
        scn,
        checkpoint: CheckpointEntry { rba: FIRST_RBA.0, scn, time_s: now_s() },
        incarnation: IncarnationEntry { number: 1, resetlogs_scn: Scn(1), resetlogs_time_s: now_s() },
        archivelog: false,
        logs,
        logged: Vec::new(),
    })
}

/// Creates the file of a group, empty: its space is allocated but not written. Without a header it holds no redo.
fn make_file(how: &LogFiles<'_>, entry: &LogGroupEntry) -> Result<()> {
    let path = how.directory.join(&entry.name);
    let failed = |e: os::OsError| Ora::with(301, &[&path.display()]).because(io_error(&e));
    let file = File::open(&path, OpenMode::CreateNew).map_err(failed)?;
    if how.sparse { file.set_len(entry.bytes) } else { file.allocate(entry.bytes) }.map_err(failed)?;
    if how.sync {
        file.sync().map_err(failed)?;
        os::file::sync_directory(how.directory).map_err(failed)?;
    }
    Ok(())
}

/// Writes `from..to` of a file that has not been written before. The first sync of newly written space in an allocated
/// file makes the file system record and write its metadata; a commit should not wait for that.
fn write_zeros(file: &File, from: u64, to: u64) -> os::OsResult<()> {
    let zeros = vec![0; (to.saturating_sub(from)).min(1 << 20) as usize];
    let mut at = from;
    while at < to {
        let n = (to - at).min(zeros.len() as u64);
        file.write_at(&zeros[..n as usize], at)?;
        at += n;
    }
    Ok(())
}

impl RedoLog {
    /// Adds a log group. Without a number it gets the next one, without a size that of the first group.
    ///
    /// # Errors
    /// ORA-00336 for a small file, ORA-01185, ORA-01184, ORA-01577, ORA-00301; those of the control file.
    pub fn add_group(&self, p: &Process, group: Option<u32>, file: Option<&str>, bytes: Option<u64>) -> Result<()> {
        let control = self.control.read()?;
        let first = control.logs.first().map_or(LOG_FILE_MIN, |l| l.bytes);
        let bytes = bytes.unwrap_or(first);
        if bytes < LOG_FILE_MIN {
            return Err(Ora::with(336, &[&(bytes / LOG_BLOCK_BYTES), &(LOG_FILE_MIN / LOG_BLOCK_BYTES)]));
        }
        let free = (1..=LOGS_MAX).find(|n| control.logs.iter().all(|l| l.group != *n));
        let number = group.or(free).unwrap_or(0);
        if !(1..=LOGS_MAX).contains(&number) {
            return Err(Ora::with(1185, &[&number]));
        }
        let name = file.map_or_else(|| format!("redo{number:02}.log"), str::to_owned);
        let entry = LogGroupEntry { group: number, bytes, name, ..LogGroupEntry::default() };
        let check = |control: &LogControl| {
            if control.logs.iter().any(|l| l.group == number) {
                return Err(Ora::with(1184, &[&number]));
            }
            match control.logs.iter().any(|l| l.name == entry.name) {
                true => Err(Ora::with(1577, &[&entry.name])),
                false => Ok(()),
            }
        };
        check(&control)?;
        // A file left by a dropped group, or by an attempt that died, is not needed.
        let path = self.control.directory().join(&entry.name);
        if LogHeader::read(&path).is_ok_and(|h| h.database == self.control.database()) {
            let _ = std::fs::remove_file(&path);
        }
        let (directory, sync) = (self.control.directory(), self.control.disk_sync());
        make_file(&LogFiles { directory, sparse: false, sync }, &entry)?;
        self.control.change(p, &mut |control| {
            check(control)?;
            control.logs.push(entry.clone());
            Ok(())
        })?;
        let s = self.lock(p);
        let g = self.groups.shared.iter().find(|g| g.number.load(Ordering::Relaxed) == 0);
        let g = g.ok_or_else(|| Ora::with(1185, &[&number]))?;
        s.set(&g.generation, g.generation.load(Ordering::Relaxed) + 1);
        for (word, value) in [(&g.sequence, 0), (&g.start, 0), (&g.end, 0), (&g.archived, 0), (&g.bytes, bytes)] {
            s.set(word, value);
        }
        s.set(&g.number, number.into());
        drop(s);
        self.post_log_waiters();
        Ok(())
    }

    /// Drops a log group; its file stays.
    ///
    /// # Errors
    /// ORA-01514, ORA-01567, ORA-01623, ORA-01624, ORA-00350; those of the control file.
    pub fn drop_group(&self, p: &Process, group: u32) -> Result<()> {
        self.forget_group(p, group)?;
        self.control.change(p, &mut |control| {
            control.logs.retain(|l| l.group != group);
            Ok(())
        })
    }

    /// Takes a group out of use. If the process dies after this, the group is back at the next start.
    fn forget_group(&self, p: &Process, group: u32) -> Result<()> {
        let s = self.lock(p);
        let word = |w: &AtomicU64| w.load(Ordering::Acquire);
        let found = self.groups.all().find(|(_, g)| word(&g.number) == u64::from(group));
        let (n, g) = found.ok_or_else(|| Ora::new(1514).because(Ora::with(1517, &[&group])))?;
        if self.groups.all().count() <= 2 {
            return Err(Ora::with(1567, &[&group, &"latchwork", &1]));
        }
        if [&self.head.giving, &self.tail.writing].iter().any(|w| word(w) == n as u64) {
            return Err(Ora::with(1623, &[&group, &"latchwork", &1]));
        }
        if word(&g.sequence) > 0 && word(&g.end) > word(&self.tail.checkpoint) {
            return Err(Ora::with(1624, &[&group, &"latchwork", &1]));
        }
        if word(&g.sequence) > 0 && self.is_archivelog() && word(&g.archived) == 0 {
            return Err(Ora::with(350, &[&group, &"latchwork", &1]));
        }
        s.set(&g.generation, word(&g.generation) + 1);
        s.set(&g.number, 0);
        Ok(())
    }

    /// Sets the end of the redo, as the last shutdown or a recovery found it, and the highest SCN in it. From now on
    /// blocks may be written and checkpoints made; [`RedoLog::open`] admits records. Called by one process, before any
    /// other works.
    pub fn set_end(&self, end: Rba, scn: Scn) {
        self.head.head.store(end.0, Ordering::Relaxed);
        self.head.announced.store(end.0, Ordering::Relaxed);
        self.tail.base_scn.fetch_max(scn.0, Ordering::Relaxed);
        if let Some((_, newest)) = self.groups.all().max_by_key(|(_, g)| g.sequence.load(Ordering::Relaxed)) {
            newest.end.store(end.0, Ordering::Relaxed);
        }
        self.tail.written.store(end.0, Ordering::Release);
    }

    /// Opens a new sequence after the end of the redo. A checkpoint has passed the end of at least one log, or one was
    /// never used; logs that have to be archived first are archived.
    ///
    /// # Errors
    /// ORA-00600 when no log may be reused; those of archiving, of the control file and of writing the log's header.
    pub fn open(&self, p: &Process) -> Result<()> {
        let newest = self.groups.all().max_by_key(|(_, g)| g.sequence.load(Ordering::Relaxed)).map(|(n, _)| n);
        let newest = newest.ok_or_else(|| Ora::internal("there are no redo logs"))?;
        // The newest log itself may be reused, too: nothing in it is needed.
        let next = loop {
            match self.reusable(|_| true) {
                Ok(next) => break next,
                Err(Event::LogFileSwitchArchivingNeeded) => self.archive_all(p).map(drop)?,
                Err(_) => return Err(Ora::internal("no redo log can be used again")),
            }
        };
        let (old, new) = (self.groups.at(newest), self.groups.at(next));
        let logged = self.logged_entry(newest);
        new.fresh.store((new.sequence.load(Ordering::Relaxed) == 0).into(), Ordering::Relaxed);
        new.sequence.store(old.sequence.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        new.start.store(self.head.head.load(Ordering::Relaxed), Ordering::Relaxed);
        new.end.store(0, Ordering::Relaxed);
        new.archived.store(0, Ordering::Relaxed);
        self.begin_file(p, next, logged)?;
        self.head.giving.store(next as u64, Ordering::Relaxed);
        self.tail.writing.store(next as u64, Ordering::Relaxed);
        self.head.open.store(1, Ordering::Release);
        Ok(())
    }

    /// Of the logs that `of` allows and that may be reused, the one unused for longest; otherwise the event to wait
    /// for.
    fn reusable(&self, of: impl Fn(usize) -> bool) -> std::result::Result<usize, Event> {
        let checkpoint = self.tail.checkpoint.load(Ordering::Acquire);
        let archivelog = self.tail.archivelog.load(Ordering::Acquire) != 0;
        let mut candidates: Vec<_> = self.groups.all().filter(|(n, _)| of(*n)).collect();
        candidates.sort_by_key(|(_, g)| g.sequence.load(Ordering::Relaxed));
        let mut why = Event::LogFileSwitchCheckpointIncomplete;
        for (i, (n, g)) in candidates.into_iter().enumerate() {
            let unused = g.sequence.load(Ordering::Relaxed) == 0;
            let passed = g.end.load(Ordering::Relaxed) <= checkpoint;
            let kept = archivelog && g.archived.load(Ordering::Acquire) == 0;
            if unused || (passed && !kept) {
                return Ok(n);
            }
            if i == 0 && passed {
                why = Event::LogFileSwitchArchivingNeeded;
            }
        }
        Err(why)
    }

    /// The next group after `giving`.
    pub(crate) fn next_group(&self, giving: usize) -> std::result::Result<usize, Event> {
        self.reusable(|n| n != giving)
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

    /// Opens the log that has taken over, when all of the previous one is on disk. The process is the writer and may
    /// switch.
    pub(crate) fn open_next(&self, p: &Process) -> Result<()> {
        let writing = self.tail.writing.load(Ordering::Relaxed) as usize;
        let giving = self.head.giving.load(Ordering::Acquire) as usize;
        if writing == giving {
            return Ok(());
        }
        let old = self.groups.at(writing);
        let used = old.end.load(Ordering::Relaxed) - old.start.load(Ordering::Relaxed);
        // The unused rest of the last block counts as waste. Blocks that were never written do not.
        let block = self.log_file(writing)?.blocks.block_bytes() as u64;
        p.count(Stat::RedoWastage, used.next_multiple_of(block) - used);
        self.begin_file(p, giving, self.logged_entry(writing))?;
        self.tail.writing.store(giving as u64, Ordering::SeqCst);
        faults::point("redo_switched");
        self.tail.checkpoint_wanted.fetch_max(self.groups.at(giving).start.load(Ordering::Relaxed), Ordering::SeqCst);
        self.post_background(&self.tail.ckpt);
        self.post_background(&self.tail.arch);
        self.post_log_waiters();
        Ok(())
    }

    /// The header of a group's file with the given reach.
    fn header_of(&self, g: &Group, reach_bytes: u64) -> LogHeader {
        let word = |w: &AtomicU64| w.load(Ordering::Relaxed);
        LogHeader {
            database: self.control.database(),
            incarnation: word(&self.tail.incarnation) as u32,
            sequence: word(&g.sequence) as u32,
            group: word(&g.number) as u32,
            start: Rba(word(&g.start)),
            end: Rba(0),
            reach_bytes,
            first_scn: Scn(word(&g.first_scn)),
            first_time_s: word(&g.first_time) as u32,
        }
    }

    /// Moves the reach in the header of the current log to at least `to` (R15). The process is the writer.
    pub(crate) fn reach(&self, n: usize, log: &LogFile, to: u64) -> os::OsResult<()> {
        let g = self.groups.at(n);
        let used = to - g.start.load(Ordering::Relaxed);
        if used <= g.reach.load(Ordering::Relaxed) {
            return Ok(());
        }
        let header = self.header_of(g, LogHeader::reach_for(used, room_of(g.bytes.load(Ordering::Relaxed))));
        self.prepare(g, &log.file, g.reach.load(Ordering::Relaxed), header.reach_bytes)?;
        header.write_over(&log.file)?;
        if self.control.disk_sync() {
            log.file.sync()?;
        }
        faults::point("redo_reach_written");
        // After the sync: a writer that dies before has written nothing behind the old reach.
        g.reach.store(header.reach_bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Fills `from..to` of a log that is written for the first time with zeros, before any redo is written there: a
    /// large log is created quickly, and its writes cost the same as later ones. The caller syncs the file.
    fn prepare(&self, g: &Group, file: &File, from: u64, to: u64) -> os::OsResult<()> {
        if g.fresh.load(Ordering::Relaxed) == 0 || !self.control.disk_sync() {
            return Ok(());
        }
        let to = (LOG_HEADER_BYTES + to).min(g.bytes.load(Ordering::Relaxed));
        write_zeros(file, LOG_HEADER_BYTES + from, to)
    }

    /// Writes the header of a group's file and makes it the current one in the control file.
    fn begin_file(&self, p: &Process, n: usize, mut before: LoggedEntry) -> Result<()> {
        let g = self.groups.at(n);
        let word = |w: &AtomicU64| w.load(Ordering::Relaxed);
        g.first_scn.store(self.newest_scn().0, Ordering::Relaxed);
        g.first_time.store(now_s().into(), Ordering::Relaxed);
        let header = self.header_of(g, LogHeader::reach_for(1, room_of(word(&g.bytes))));
        let log = self.log_file(n)?;
        let file = &log.file;
        let failed = |e: os::OsError| Ora::with(345, &[&0, &1]).because(name(file.path())).because(io_error(&e));
        self.prepare(g, file, 0, header.reach_bytes).map_err(failed)?;
        file.write_at(&header.to_bytes(), 0).map_err(failed)?;
        if self.control.disk_sync() {
            file.sync().map_err(failed)?;
        }
        faults::point("redo_header_written");
        g.reach.store(header.reach_bytes, Ordering::Relaxed);
        (before.next_scn, before.next_time_s) = (header.first_scn, header.first_time_s);
        self.control.change(p, &mut |control| {
            let Some(entry) = control.logs.iter_mut().find(|l| l.group == header.group) else {
                return Err(Ora::with(313, &[&header.group, &1]));
            };
            entry.sequence = header.sequence;
            entry.start = header.start.0;
            entry.first_scn = header.first_scn;
            entry.first_time_s = header.first_time_s;
            entry.archived = false;
            if let Some(known) = control.logged.iter_mut().find(|l| l.is_of(&before)) {
                (known.next_scn, known.next_time_s) = (before.next_scn, before.next_time_s);
            } else if before.sequence > 0 {
                control.logged.push(before.clone());
                let surplus = control.logged.len().saturating_sub(LOGGED_MAX);
                control.logged.drain(..surplus);
            }
            Ok(())
        })
    }

    /// Ends the current log and begins the next. Returns the sequence that was ended.
    ///
    /// Waits: `log file switch …`. Latches: none on entry or return.
    ///
    /// # Errors
    /// ORA-00028, ORA-01013 while waiting for a log; the log cannot be written.
    pub fn switch(&self, p: &Process) -> Result<u32> {
        let sequence = loop {
            p.check_cancel()?;
            let done = {
                let s = self.lock(p);
                let giving = self.head.giving.load(Ordering::Relaxed) as usize;
                let sequence = self.groups.at(giving).sequence.load(Ordering::Relaxed);
                self.take_next_group(&s, giving, self.head.head.load(Ordering::Relaxed)).map(|()| sequence)
            };
            match done {
                Ok(sequence) => break sequence,
                Err(why) => self.wait_for_log(p, why)?,
            }
        };
        while self.current_sequence() <= sequence as u32 {
            self.wait_for_log(p, Event::LogFileSwitchCompletion)?;
        }
        Ok(sequence as u32)
    }

    /// Ends the current log and archives it and all earlier ones. Returns its sequence.
    ///
    /// # Errors
    /// ORA-00258 in NOARCHIVELOG mode, ORA-00257; as [`RedoLog::switch`].
    pub fn archive_current(&self, p: &Process) -> Result<u32> {
        if !self.is_archivelog() {
            return Err(Ora::new(258));
        }
        let sequence = self.switch(p)?;
        self.archive_up_to(p, sequence)?;
        Ok(sequence)
    }

    /// The sequence whose file is written.
    pub fn current_sequence(&self) -> u32 {
        let writing = self.tail.writing.load(Ordering::Acquire) as usize;
        self.groups.at(writing).sequence.load(Ordering::Relaxed) as u32
    }

    /// Records, in the headers of the data files and then in the control file, that everything before `rba`, a
    /// checkpoint announced by this process, is in the data files and synced. Logs before it may be reused.
    ///
    /// # Errors
    /// Those of the control file and of writing the headers of data files.
    pub fn checkpointed(&self, p: &Process, rba: Rba) -> Result<()> {
        let done = self.announcement(self.line(p), rba);
        self.control.checkpointed(p, &done)?;
        faults::point("checkpoint_noted");
        let t = self.tail;
        if t.checkpoint.fetch_max(done.rba, Ordering::SeqCst) <= done.rba {
            t.checkpoint_scn.store(done.scn.0, Ordering::Relaxed);
            t.checkpoint_time.store(done.time_s.into(), Ordering::Relaxed);
        }
        self.post_log_waiters();
        Ok(())
    }

    fn announcement(&self, line: &Line, rba: Rba) -> CheckpointEntry {
        let word = |w: &AtomicU64| w.load(Ordering::Relaxed);
        if word(&line.announced) == rba.0 {
            let (scn, time_s) = (Scn(word(&line.announced_scn)), word(&line.announced_time) as u32);
            return CheckpointEntry { rba: rba.0, scn, time_s };
        }
        CheckpointEntry { rba: rba.0, scn: Scn(word(&self.tail.checkpoint_scn)), time_s: now_s() }
    }

    /// The last completed checkpoint.
    pub fn checkpoint(&self) -> CheckpointEntry {
        let word = |w: &AtomicU64| w.load(Ordering::Acquire);
        let (rba, scn, time) = (&self.tail.checkpoint, &self.tail.checkpoint_scn, &self.tail.checkpoint_time);
        CheckpointEntry { rba: word(rba), scn: Scn(word(scn)), time_s: word(time) as u32 }
    }

    /// Bytes of redo that a recovery would read now.
    pub fn redo_since_checkpoint(&self) -> u64 {
        self.head().0.saturating_sub(self.tail.checkpoint.load(Ordering::Acquire))
    }

    /// Bytes of redo that fit into all logs.
    pub fn room_of_all(&self) -> u64 {
        self.groups.all().map(|(_, g)| room_of(g.bytes.load(Ordering::Relaxed))).sum()
    }

    /// True when a checkpoint was requested and has not been completed.
    pub fn wants_checkpoint(&self) -> bool {
        let wanted = self.tail.checkpoint_wanted.load(Ordering::SeqCst);
        wanted > self.tail.checkpoint.load(Ordering::SeqCst) && self.is_open()
    }

    /// Requests a checkpoint up to the present position; CKPT makes it, when it has started.
    pub fn want_checkpoint(&self) {
        self.tail.checkpoint_wanted.fetch_max(self.head().0, Ordering::SeqCst);
        self.post_background(&self.tail.ckpt);
    }

    /// Has a checkpoint made because a log is needed: by CKPT (true: requested), or by this process while there is no
    /// CKPT (false: done).
    pub(crate) fn ask_for_checkpoint(&self, p: &Process) -> Result<bool> {
        let ckpt = self.tail.ckpt.load(Ordering::Acquire);
        if ckpt != 0 && ckpt != u64::from(p.number()) {
            self.tail.checkpoint_wanted.fetch_max(self.head().0, Ordering::SeqCst);
            self.all.post(ckpt as u32);
            return Ok(true);
        }
        match self.checkpointer.get() {
            Some(run) => run(p).map(|()| false),
            None => Err(Ora::internal("nobody makes checkpoints")),
        }
    }

    /// Registers this process as LGWR.
    pub fn become_lgwr(&self, p: &Process) {
        self.tail.lgwr.store(p.number().into(), Ordering::SeqCst);
    }

    /// Registers this process as CKPT.
    pub fn become_ckpt(&self, p: &Process) {
        self.tail.ckpt.store(p.number().into(), Ordering::SeqCst);
    }

    /// Registers this process as ARC0.
    pub fn become_arch(&self, p: &Process) {
        self.tail.arch.store(p.number().into(), Ordering::SeqCst);
    }

    /// Registers this process as PMON.
    pub fn become_pmon(&self, p: &Process) {
        self.tail.pmon.store(p.number().into(), Ordering::SeqCst);
    }

    /// Ends the role of the background process `p`: other processes do its work.
    pub fn resign(&self, p: &Process) {
        for word in [&self.tail.lgwr, &self.tail.ckpt, &self.tail.arch] {
            let _ = word.compare_exchange(p.number().into(), 0, Ordering::SeqCst, Ordering::Relaxed);
        }
        self.post_waiters();
        self.post_log_waiters();
    }
}
