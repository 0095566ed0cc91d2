//! Syncing files to the device, and finding lost writes.

use super::data_files::DataFiles;
use crate::double_write::DoubleWrite;
use crate::tablespace;
use os::file::File;
use types::{Facility, Ora, Result};

/// ENOENT: stands for a file that is no longer at its place.
const GONE: i32 = 2;

impl DataFiles {
    /// Waits until everything written to the file is on the device; the only way to do so while the database is open.
    ///
    /// The operating system reports a lost write once, to the first process that syncs the file, perhaps a session that
    /// only extends it; the next sync succeeds. So the failure is recorded in shared memory: from then on no sync and
    /// no checkpoint succeeds, and CKPT ends the instance (R9). The next start still has the redo that restores the
    /// lost blocks.
    ///
    /// # Errors
    /// ORA-01242, or ORA-01243 for a file of the dictionary, with ORA-01114 and the system's words below.
    pub(crate) fn sync_file(&self, number: u32, file: &File) -> Result<()> {
        self.check_sound()?;
        let Err(_) = self.sync_live(number, file) else { return Ok(()) };
        self.check_sound()
    }

    /// Syncs a file that may be in use, and records a failure as [`DataFiles::sync_file`] does.
    pub(super) fn sync_live(&self, number: u32, file: &File) -> os::OsResult<()> {
        file.sync().inspect_err(|e| self.table.fail(number, e.errno()))
    }

    /// Checks that no write to a file was lost.
    ///
    /// # Errors
    /// As [`DataFiles::sync_file`]; ORA-01116 for a file that is no longer where it was.
    pub fn check_sound(&self) -> Result<()> {
        let Some((number, errno)) = self.table.failed() else { return Ok(()) };
        let shown = self.shown_file(number);
        let entry = self.control().ok().and_then(|c| c.file(number).cloned());
        let path = entry.as_ref().map(|f| self.path(&f.name).display().to_string()).unwrap_or_default();
        let is_system = entry.is_some_and(|f| f.tablespace == tablespace::SYSTEM);
        let why = std::io::Error::from_raw_os_error(errno);
        let (first, code, text) = match errno {
            GONE => (Ora::with(1116, &[&shown]), 27041, "the file was removed, or another put in its place"),
            _ => (Ora::with(1114, &[&shown, &0]), 27072, "File I/O error"),
        };
        let below = Ora::from_text(Facility::Ora, code, format!("{text}\nLinux Error: {errno}: {why}"));
        let error = Ora::new(if is_system { 1243 } else { 1242 });
        Err(error.because(first).because(Ora::with(1110, &[&shown, &path])).because(below))
    }

    /// Checks that the files are still at the paths where they were opened. A file that was removed or replaced
    /// disappears with the last process that has it open, and then only redo has its changes: that redo must not be
    /// reused. Two system calls a file.
    ///
    /// # Errors
    /// As [`DataFiles::check_sound`].
    pub fn check_places(&self) -> Result<()> {
        self.check_sound()?;
        for (number, state) in self.table.present() {
            let is_watched = !state.is_temporary() && !state.is_offline();
            let Some(file) = self.table.opened(number).filter(|_| is_watched) else { continue };
            // A file that went offline or was dropped meanwhile need not be there.
            if !file.is_in_place().unwrap_or(true) && self.table.state(number) == state {
                self.table.fail(number, GONE);
            }
        }
        self.check_sound()
    }

    /// Waits until everything written is on the device.
    ///
    /// # Errors
    /// As [`DataFiles::check_places`].
    pub fn sync(&self) -> Result<()> {
        self.check_places()?;
        let limit = self.area.get().map(DoubleWrite::limit);
        self.sync_all()?;
        if let (Some(area), Some(limit)) = (self.area.get(), limit) {
            area.release(limit);
        }
        Ok(())
    }

    fn sync_all(&self) -> Result<()> {
        if !self.disk_sync() {
            return Ok(());
        }
        // All files, not only those that this process has open: other processes write too.
        for (number, mut state) in self.table.present() {
            // Blocks written to a file before it went offline are synced as well, so that their copies in the
            // double-write area can be given up. An error is ignored: a failing device may be the reason for going
            // offline.
            if let Some(file) = self.table.opened(number).filter(|_| state.is_offline() && !state.is_missing()) {
                let _ = file.sync();
            }
            while state.is_present() && !state.is_temporary() && !state.is_offline() {
                match self.file(number).and_then(|file| self.sync_file(number, &file)) {
                    Ok(()) => break,
                    // The file was taken offline meanwhile, and may be online again: its present state decides.
                    Err(e) if e.is(376) || self.table.failed().is_none() && self.table.state(number) != state => {
                        state = self.table.state(number);
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(())
    }
}
