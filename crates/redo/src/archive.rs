//! Archiving: a complete log is copied before its file may be reused.
//!
//! A copy is written under a temporary name, synced, and renamed at the end, so a file with the final name is complete.
//! One process archives at a time, the one whose number is in the word `archiver`; PMON empties the word when that
//! process is dead. Two processes at the same log are not safe: when the first is done, the log may be reused while the
//! second still reads it.

use crate::archive_place::{ArchivePlace, FindArchivePlace};
use crate::file::{LOG_HEADER_BYTES, LogHeader, io_error, now_s};
use crate::{Rba, RedoLog};
use os::file::{File, OpenMode, sync_directory};
use process::Process;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use types::{Facility, Ora, Result};
use wait::Event;

/// Bytes copied at a time.
const CHUNK: u64 = 1 << 20;

impl RedoLog {
    /// Sets the place of archived copies. Called once, before the log is opened; without it they go to `archive/`.
    pub fn set_archive_place(&self, find: FindArchivePlace) {
        let _ = self.archive_place.set(find);
    }

    /// The present place of archived copies.
    pub fn archive_place(&self) -> ArchivePlace {
        self.archive_place.get().map_or_else(ArchivePlace::default, |find| find())
    }

    /// Changes between ARCHIVELOG and NOARCHIVELOG mode.
    ///
    /// # Errors
    /// Those of the control file.
    pub fn set_archivelog(&self, p: &Process, on: bool) -> Result<()> {
        self.control.change(p, &mut |control| {
            control.archivelog = on;
            Ok(())
        })?;
        self.tail.archivelog.store(on.into(), Ordering::SeqCst);
        self.post_background(&self.tail.arch);
        self.post_log_waiters();
        Ok(())
    }

    /// The oldest log that is complete and not archived.
    fn unarchived(&self) -> Option<usize> {
        let open = self.is_open();
        let busy = [&self.head.giving, &self.tail.writing].map(|w| w.load(Ordering::Acquire) as usize);
        let complete = self.groups.all().filter(|(n, g)| {
            let used = g.sequence.load(Ordering::Relaxed) != 0;
            used && g.archived.load(Ordering::Relaxed) == 0 && !(open && busy.contains(n))
        });
        complete.min_by_key(|(_, g)| g.sequence.load(Ordering::Relaxed)).map(|(n, _)| n)
    }

    /// Archives every complete log, oldest first, in ARCHIVELOG mode. Returns the sequences; none while another process
    /// archives.
    ///
    /// Waits: `Log archive I/O`, those of the control file. Latches: none on entry or return.
    ///
    /// # Errors
    /// ORA-00257 with the reason below it; [`RedoLog::archive_failure`] returns it until archiving succeeds again.
    pub fn archive_all(&self, p: &Process) -> Result<Vec<u32>> {
        let archiver = &self.tail.archiver;
        if archiver.compare_exchange(0, p.number().into(), Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return Ok(Vec::new());
        }
        let done = self.archive_held(p);
        archiver.store(0, Ordering::SeqCst);
        done
    }

    fn archive_held(&self, p: &Process) -> Result<Vec<u32>> {
        let mut done = Vec::new();
        while self.is_archivelog()
            && let Some(n) = self.unarchived()
        {
            match self.archive(p, n) {
                Ok(sequence) => done.push(sequence),
                Err(e) => {
                    self.tail.archive_failure.set(&e.to_string());
                    return Err(Ora::new(257).because(e));
                }
            }
        }
        if !done.is_empty() {
            self.tail.archive_failure.set("");
        }
        Ok(done)
    }

    /// Archives because a log is needed: by ARC0 (true: requested), or by this process while there is no ARC0 (false:
    /// done).
    pub(crate) fn ask_for_archiving(&self, p: &Process) -> Result<bool> {
        let arch = self.tail.arch.load(Ordering::Acquire);
        if arch != 0 && arch != u64::from(p.number()) {
            self.all.post(arch as u32);
            return Ok(true);
        }
        // Nothing archived: another process is archiving.
        self.archive_all(p).map(|done| done.is_empty())
    }

    /// The reason why archiving fails; empty while it does not.
    pub fn archive_failure(&self) -> String {
        self.tail.archive_failure.get()
    }

    /// Copies the log of entry `n` and records that.
    fn archive(&self, p: &Process, n: usize) -> Result<u32> {
        let g = self.groups.at(n);
        let (sequence, start) = (g.sequence.load(Ordering::Relaxed) as u32, g.start.load(Ordering::Relaxed));
        let (end, number) = (g.end.load(Ordering::Relaxed), g.number.load(Ordering::Relaxed) as u32);
        let log = self.log_file(n)?;
        let mut header = LogHeader::of(&log.file)?;
        if (header.sequence, header.start) != (sequence, Rba(start)) {
            return Err(Ora::internal(format_args!(
                "log group {number} holds sequence {}, not {sequence}",
                header.sequence
            )));
        }
        (header.group, header.end) = (0, Rba(end));
        let name = self.archive_place().file(sequence, header.incarnation, header.database);
        self.copy(p, &log.file, &header, &self.control.directory().join(&name))?;
        faults::point("log_archived");
        let name = name.display().to_string();
        self.control.change(p, &mut |control| {
            if let Some(log) = control.logs.iter_mut().find(|l| (l.group, l.sequence) == (number, sequence)) {
                log.archived = true;
            }
            // A start archives the last log of the instance before it, which is listed only when the next log begins.
            let own = self.logged_entry(n);
            if !control.logged.iter().any(|l| l.is_of(&own)) {
                control.logged.push(own.clone());
            }
            let listed = control.logged.iter_mut().filter(|l| l.is_of(&own));
            listed.for_each(|l| (l.name, l.completed_s) = (name.clone(), now_s()));
            Ok(())
        })?;
        g.archived.store(1, Ordering::SeqCst);
        self.post_log_waiters();
        Ok(sequence)
    }

    fn copy(&self, p: &Process, log: &File, header: &LogHeader, path: &Path) -> Result<()> {
        let failed = |e: os::OsError| {
            let text = format!("error archiving log to '{}'", path.display());
            Ora::from_text(Facility::Ora, 19_504, text).because(io_error(&e))
        };
        let directory = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory)
            .map_err(|e| failed(os::OsError::from_io("mkdir", directory.display().to_string(), e)))?;
        let mut new = path.as_os_str().to_owned();
        new.push(format!(".{}", p.number()));
        let new = PathBuf::from(new);
        let file = File::open(&new, OpenMode::Truncate).map_err(failed)?;
        file.write_at(&header.to_bytes(), 0).map_err(failed)?;
        let mut bytes = Vec::new();
        let (mut at, end) = (header.start.0, header.end.0);
        while at < end {
            let _w = p.wait(Event::LogArchiveIo, 1, 0, 0);
            bytes.resize(CHUNK.min(end - at) as usize, 0);
            let place = LOG_HEADER_BYTES + (at - header.start.0);
            log.read_at(&mut bytes, place).and_then(|()| file.write_at(&bytes, place)).map_err(failed)?;
            p.count_read(1, bytes.len() as u64);
            p.count_write(1, bytes.len() as u64);
            at += bytes.len() as u64;
        }
        if self.control.disk_sync() {
            file.sync().map_err(failed)?;
        }
        os::file::rename(&new, path).map_err(failed)?;
        if self.control.disk_sync() { sync_directory(directory).map_err(failed) } else { Ok(()) }
    }

    /// Archives everything up to a sequence, waiting for another process that is archiving.
    pub(crate) fn archive_up_to(&self, p: &Process, sequence: u32) -> Result<()> {
        loop {
            self.archive_all(p)?;
            let left = self.unarchived().map(|n| self.groups.at(n).sequence.load(Ordering::Relaxed));
            if left.is_none_or(|oldest| oldest > u64::from(sequence)) {
                return Ok(());
            }
            p.check_cancel()?;
            let _w = p.wait(Event::LogArchiveIo, 1, 0, 0);
            os::clock::sleep(std::time::Duration::from_millis(2));
            p.help_the_dead();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive_place::ArchivePlace;

    #[test]
    fn a_copys_name_follows_the_format() {
        let place = |format: &str| ArchivePlace { directory: "a".into(), format: format.into() }.file(42, 2, 255);
        assert_eq!(place("arch_%t_%s_%r.arc"), Path::new("a/arch_1_42_2.arc"));
        assert_eq!(place("%d%T%S%%"), Path::new("a/ff00010000000042%"));
    }
}
