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
//!
//! The files of a tablespace that goes offline have all their redo. Its checkpoint is noted as their stop, and their
//! headers get it: a file that is made again, or restored from a copy, is recognized by its older checkpoint.
//!
//! A bigfile goes and comes back with all its parts, in one change of the control file. Each part has a header and a
//! stop of its own. The functions that change the state of a file take the number of its first part.

use crate::CheckpointEntry;
use crate::control::{Contents, ControlFile, FileEntry, OfflineEntry, TablespaceEntry};
use crate::files::DataFiles;
use enqueue::Enqueues;
use process::Process;
use types::{Ora, Result, Scn};

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

    /// Takes a file offline, with all its parts (R14): no block of it is read or changed from now on. Changes already
    /// begun are completed, and the cache keeps its buffers until the caller has discarded them and calls
    /// [`DataFiles::note_stop`].
    ///
    /// Waits: as [`DataFiles::change_control`]. Latches: none on entry or return.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`]; ORA-01157 for an unknown file.
    pub fn take_offline(&self, p: &Process, enqueues: &Enqueues, number: u32) -> Result<()> {
        let parts = self.change_control(p, enqueues, &mut |c| {
            let parts = numbers_of(c, number)?;
            c.files.iter_mut().filter(|f| parts.contains(&f.file)).for_each(|f| f.is_offline = true);
            c.offline.retain(|o| !parts.contains(&o.file));
            Ok(parts)
        })?;
        faults::point("file-marked-offline");
        parts.iter().for_each(|n| self.table.find(*n));
        self.repeat_control()
    }

    /// Notes that no redo behind `stop` belongs to a file that is offline, alone or with its tablespace.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`].
    pub fn note_stop(&self, p: &Process, enqueues: &Enqueues, number: u32, stop: CheckpointEntry) -> Result<()> {
        self.change_control(p, enqueues, &mut |c| {
            let is_offline = |f: &FileEntry| f.is_offline || c.tablespace(f.tablespace).is_some_and(|t| t.is_offline);
            let is_due = |f: &&FileEntry| f.head() == number && is_offline(f) && c.stop_of(f.file).is_none();
            let due: Vec<u32> = c.files.iter().filter(is_due).map(|f| f.file).collect();
            c.offline.extend(due.into_iter().map(|file| OfflineEntry { file, stop }));
            Ok(())
        })
    }

    /// True when an unusable file has every change made to it before it went offline, in all its parts. A temporary
    /// file has nothing to lose.
    ///
    /// # Errors
    /// ORA-01157, ORA-01122, ORA-01200 for a file that is missing or foreign; ORA-01190 for a file of another
    /// incarnation, ORA-01122 with ORA-01207 for a file that is newer than the control file.
    pub fn is_complete(&self, control: &ControlFile, f: &FileEntry) -> Result<bool> {
        for part in control.parts_of(f.head()) {
            if !self.is_part_complete(control, part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// As [`DataFiles::is_complete`], of the part of one entry alone.
    ///
    /// # Errors
    /// As [`DataFiles::is_complete`].
    pub fn is_part_complete(&self, control: &ControlFile, f: &FileEntry) -> Result<bool> {
        if control.tablespace(f.tablespace).is_some_and(|t| t.contents == Contents::Temporary) {
            return Ok(true);
        }
        let has = self.closed_checkpoint(f)?;
        if has.rba != 0 && has.incarnation != control.incarnation.number {
            return Err(Ora::with(1190, &[&f.head()]).because(self.named(f)));
        }
        let Some(stop) = control.stop_of(f.file) else { return Ok(false) };
        if has.rba > stop.rba.max(control.checkpoint.rba) {
            return Err(Ora::with(1122, &[&f.head()]).because(self.named(f)).because(Ora::new(1207)));
        }
        Ok(has.rba >= stop.rba)
    }

    /// True when a file of an offline tablespace lacks redo, in one of its parts: it was made again or restored from a
    /// copy. A part whose stop is not noted counts as lacking the redo that is listed from its own checkpoint on.
    ///
    /// # Errors
    /// As [`DataFiles::is_complete`].
    pub fn lacks_redo(&self, control: &ControlFile, f: &FileEntry) -> Result<bool> {
        for part in control.parts_of(f.head()) {
            let lacks = match control.stop_of(part.file) {
                Some(_) => !self.is_part_complete(control, part)?,
                None => self.may_lack_redo(control, part)?,
            };
            if lacks {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether media recovery could find redo for a part without a stop, which an earlier version of the program took
    /// offline with its tablespace. Nothing tells whether it is still the same file, so its header decides. A file of a
    /// read-only tablespace may be on a medium that cannot be written, and no redo leads over a RESETLOGS.
    fn may_lack_redo(&self, control: &ControlFile, f: &FileEntry) -> Result<bool> {
        if !control.archivelog || control.tablespace(f.tablespace).is_some_and(|t| t.is_read_only) {
            return Ok(false);
        }
        let has = self.closed_checkpoint(f)?;
        let (begin, now) = (has.rba.max(f.created_rba), control.incarnation.number);
        let is_archived = control.logged.iter().any(|l| l.incarnation == now && (l.start..l.end).contains(&begin));
        let is_online = control.logs.iter().any(|l| l.sequence > 0 && l.start <= begin);
        let is_ours = has.rba == 0 || has.incarnation == now;
        Ok(is_ours && begin < control.checkpoint.rba && (is_archived || is_online))
    }

    /// Makes a tablespace read-only or takes it offline, as `f` does in its entry. Every change of its files is before
    /// the checkpoint `at` and on the device, and there are no further ones. The headers get this checkpoint. A
    /// tablespace that is read-only already keeps its headers, for its files may be on a medium that cannot be written.
    ///
    /// Missing files get a stop only, so that they are recovered before they come back.
    ///
    /// Waits: as [`DataFiles::change_control`]. Latches: none on entry or return.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`]; ORA-00959 for an unknown tablespace; ORA-01114 when a header cannot be
    /// written; as [`DataFiles::require_no_backup`].
    pub fn close_tablespace(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        number: u32,
        at: CheckpointEntry,
        f: &mut dyn FnMut(&mut TablespaceEntry),
    ) -> Result<()> {
        self.change_control(p, enqueues, &mut |c| {
            // A backup may have begun after the caller's check.
            self.require_no_backup(c, number)?;
            let entry = c.tablespaces.iter_mut().find(|t| t.number == number);
            let entry = entry.ok_or_else(|| Ora::with(959, &[&number]))?;
            let was_read_only = entry.is_read_only;
            f(entry);
            let is_offline = entry.is_offline;
            // A checkpoint of the database may have been written since: no header goes back to an earlier one.
            let at = if at.rba > c.checkpoint.rba { at } else { c.checkpoint };
            let parts: Vec<FileEntry> = c.files.iter().filter(|f| f.tablespace == number).cloned().collect();
            for part in parts {
                let is_missing = self.table.state(part.file).is_missing();
                let stop = match was_read_only && !is_missing {
                    true => self.closed_checkpoint(&part).ok().map(|own| CheckpointEntry {
                        rba: own.rba,
                        scn: Scn(own.scn),
                        time_s: own.time_s,
                    }),
                    false => Some(at),
                };
                if !was_read_only && !is_missing {
                    self.stamp_closed(c, &part, &at)?;
                }
                if is_offline {
                    c.offline.retain(|o| o.file != part.file);
                    c.offline.extend(stop.map(|stop| OfflineEntry { file: part.file, stop }));
                }
            }
            Ok(())
        })?;
        faults::point("tablespace-changed");
        self.repeat_control()
    }

    /// ORA-01150 when a file of the tablespace is in backup mode: a copy of it may be in progress, so that its header
    /// cannot get the checkpoint of its end.
    pub fn require_no_backup(&self, control: &ControlFile, tablespace: u32) -> Result<()> {
        match control.files.iter().find(|f| f.tablespace == tablespace && control.is_copied(f.file)) {
            Some(f) => Err(Ora::with(1150, &[&f.head()]).because(self.named(f))),
            None => Ok(()),
        }
    }

    /// ORA-01113 when a file of an offline tablespace lacks redo.
    pub(crate) fn require_redo(&self, control: &ControlFile, tablespace: u32) -> Result<()> {
        for f in control.heads().filter(|f| f.tablespace == tablespace && !f.is_offline) {
            if self.lacks_redo(control, f)? {
                return Err(Ora::with(1113, &[&f.file]).because(self.named(f)));
            }
        }
        Ok(())
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
        let parts = self.change_control(p, enqueues, &mut |c| {
            let parts = numbers_of(c, number)?;
            let entries: Vec<FileEntry> = c.parts_of(number).into_iter().cloned().collect();
            let is_temporary =
                |f: &FileEntry| c.tablespace(f.tablespace).is_some_and(|t| t.contents == Contents::Temporary);
            if entries.iter().any(is_temporary) {
                entries.iter().try_for_each(|part| self.open_or_remake(c, part))?;
            } else if !self.is_complete(c, &entries[0])? {
                return Err(Ora::with(1113, &[&number]).because(self.named(&entries[0])));
            } else {
                for part in &entries {
                    // The file follows the checkpoints of the database from here on: no redo between its stop and the
                    // last checkpoint belongs to it.
                    let stop = c.stop_of(part.file).copied().unwrap_or_default();
                    let at = if stop.rba > c.checkpoint.rba { stop } else { c.checkpoint };
                    self.stamp_closed(c, part, &at)?;
                    faults::point("file-stamped-online");
                }
            }
            c.offline.retain(|o| !parts.contains(&o.file));
            c.files.iter_mut().filter(|f| parts.contains(&f.file)).for_each(|f| f.is_offline = false);
            Ok(parts)
        })?;
        faults::point("file-marked-online");
        parts.iter().for_each(|n| self.table.find(*n));
        self.repeat_control()
    }
}

/// The numbers of the parts of a file. ORA-01157 when there is no such file.
fn numbers_of(control: &ControlFile, head: u32) -> Result<Vec<u32>> {
    let parts: Vec<u32> = control.parts_of(head).iter().map(|f| f.file).collect();
    if parts.is_empty() { Err(Ora::with(1157, &[&head])) } else { Ok(parts) }
}
