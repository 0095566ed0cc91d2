//! Single data files that go offline and come back online.
//!
//! | control file | words in shared memory | what may be trusted |
//! |---|---|---|
//! | online | usable | its header gets the checkpoints of the database |
//! | offline, no stop | offline | no block is read or changed; buffers may be left; redo may extend to the end |
//! | offline, a stop | offline | the cache holds no buffer of it, and no redo behind the stop belongs to it |
//! | online again | offline, for a moment | the file has all its redo, and its header says so |
//!
//! The control file changes first (R8): from then on the header of the file gets no checkpoint, so buffers of it need
//! not be written. A file may come back when its own header shows that it has everything up to the stop; this also
//! detects an older copy of the file.

use crate::CheckpointEntry;
use crate::control::{Contents, ControlFile, FileEntry, OfflineEntry};
use crate::files::DataFiles;
use enqueue::Enqueues;
use process::Process;
use types::{Ora, Result};

impl DataFiles {
    /// True when blocks of the file cannot be used: it is offline, or was missing when the database was opened.
    #[inline]
    pub fn is_away(&self, number: u32) -> bool {
        self.table.state(number).is_offline()
    }

    /// True when there is a file with this number.
    pub fn is_present(&self, number: u32) -> bool {
        self.table.state(number).is_present()
    }

    /// The files whose blocks cannot be used.
    pub fn away(&self) -> Vec<u32> {
        self.table.present().filter(|(_, state)| state.is_offline()).map(|(n, _)| n).collect()
    }

    /// Number of times that an unusable file has come back.
    pub fn returns(&self) -> u64 {
        self.table.returns()
    }

    /// ORA-01110 with the file's name, to be added below another error.
    pub fn named(&self, f: &FileEntry) -> Ora {
        Ora::with(1110, &[&f.file, &self.path(&f.name).display()])
    }

    /// Takes a file offline: no block of it is read or changed from now on. Changes already begun are completed, and
    /// the cache keeps its buffers until the caller has discarded them and calls [`DataFiles::note_stop`].
    ///
    /// Waits: as [`DataFiles::change_control`]. Latches: none on entry or return.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`]; ORA-01157 for an unknown file.
    pub fn take_offline(&self, p: &Process, enqueues: &Enqueues, number: u32) -> Result<()> {
        self.change_control(p, enqueues, &mut |c| {
            let entry = c.files.iter_mut().find(|f| f.file == number);
            entry.ok_or_else(|| Ora::with(1157, &[&number]))?.is_offline = true;
            c.offline.retain(|o| o.file != number);
            Ok(())
        })?;
        faults::point("file-marked-offline");
        self.table.find(number);
        self.repeat_control()
    }

    /// Notes that no redo behind `stop` belongs to a file that is offline.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`].
    pub fn note_stop(&self, p: &Process, enqueues: &Enqueues, number: u32, stop: CheckpointEntry) -> Result<()> {
        self.change_control(p, enqueues, &mut |c| {
            let is_due = c.file(number).is_some_and(|f| f.is_offline) && c.stop_of(number).is_none();
            if is_due {
                c.offline.push(OfflineEntry { file: number, stop });
            }
            Ok(())
        })
    }

    /// True when an unusable file has every change made to it before it went offline. A temporary file has nothing to
    /// lose.
    ///
    /// # Errors
    /// ORA-01157, ORA-01122, ORA-01200 for a file that is missing or foreign; ORA-01190 for a file of another
    /// incarnation, ORA-01122 with ORA-01207 for a file that is newer than the control file.
    pub fn is_complete(&self, control: &ControlFile, f: &FileEntry) -> Result<bool> {
        if control.tablespace(f.tablespace).is_some_and(|t| t.contents == Contents::Temporary) {
            return Ok(true);
        }
        let has = self.closed_checkpoint(f)?;
        if has.rba != 0 && has.incarnation != control.incarnation.number {
            return Err(Ora::with(1190, &[&f.file]).because(self.named(f)));
        }
        let Some(stop) = control.stop_of(f.file) else { return Ok(false) };
        if has.rba > stop.rba.max(control.checkpoint.rba) {
            return Err(Ora::with(1122, &[&f.file]).because(self.named(f)).because(Ora::new(1207)));
        }
        Ok(has.rba >= stop.rba)
    }

    /// Writes the checkpoint `at` into the header of a file that is offline: the file has every change before it, on
    /// the device.
    ///
    /// # Errors
    /// Those of opening the file; ORA-01114.
    pub fn stamp_offline(&self, control: &ControlFile, f: &FileEntry, at: &CheckpointEntry) -> Result<()> {
        self.stamp_closed(control, f, at)
    }

    /// Brings an offline or missing file back online. Its blocks are older than the last announced checkpoint.
    ///
    /// Waits: as [`DataFiles::change_control`]. Latches: none on entry or return.
    ///
    /// # Errors
    /// ORA-01113 when it lacks redo; those of [`DataFiles::is_complete`] and of [`DataFiles::change_control`].
    pub fn bring_online(&self, p: &Process, enqueues: &Enqueues, number: u32) -> Result<()> {
        self.change_control(p, enqueues, &mut |c| {
            let entry = c.file(number).cloned().ok_or_else(|| Ora::with(1157, &[&number]))?;
            if c.tablespace(entry.tablespace).is_some_and(|t| t.contents == Contents::Temporary) {
                self.open_or_remake(c, &entry)?;
            } else {
                if !self.is_complete(c, &entry)? {
                    return Err(Ora::with(1113, &[&number]).because(self.named(&entry)));
                }
                // The file follows the checkpoints of the database from here on: no redo between its stop and the last
                // checkpoint belongs to it.
                let stop = c.stop_of(number).copied().unwrap_or_default();
                let at = if stop.rba > c.checkpoint.rba { stop } else { c.checkpoint };
                self.stamp_closed(c, &entry, &at)?;
                faults::point("file-stamped-online");
            }
            c.offline.retain(|o| o.file != number);
            c.files.iter_mut().filter(|f| f.file == number).for_each(|f| f.is_offline = false);
            Ok(())
        })?;
        faults::point("file-marked-online");
        self.table.find(number);
        self.repeat_control()
    }
}
