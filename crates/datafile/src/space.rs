//! Adds, drops and changes tablespaces and files while the database is open.
//!
//! The caller holds the DD enqueue, so only one process at a time is here. A file is complete and on the device before
//! the control file lists it, and is deleted only after the control file no longer lists it: an interruption leaves at
//! most a file without references.

use crate::control::{ControlFile, FileEntry, GoneEntry, TablespaceEntry};
use crate::files::io_error;
use crate::{DataFiles, TablespaceSpec};
use enqueue::Enqueues;
use os::file::sync_directory;
use process::Process;
use types::{Facility, Ora, Rdba, Result, Scn};

/// A file to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its name: relative to the database directory, or an absolute path.
    pub name: String,
    /// Size in bytes; `None` reuses an existing file with its present size.
    pub bytes: Option<u64>,
    /// REUSE: an existing file of that name is overwritten.
    pub reuse: bool,
    /// Size in bytes up to which it may grow automatically; 0 when it may not.
    pub bytes_max: u64,
    /// Bytes of one growth step.
    pub step_bytes: u64,
}

/// Notes dropped files and tablespaces, and removes the oldest notes when there are too many.
fn remember(c: &mut ControlFile, gone: &[FileEntry], tablespaces: Vec<TablespaceEntry>, dropped_rba: u64) {
    c.gone_tablespaces.extend(tablespaces);
    c.gone.extend(gone.iter().map(|f| GoneEntry { dropped_rba, file: f.clone() }));
    let many = c.gone.len().saturating_sub(ControlFile::GONE_MAX);
    if let Some(last) = c.gone.drain(..many).map(|g| g.dropped_rba).max() {
        c.forgotten_rba = c.forgotten_rba.max(last);
    }
    let ControlFile { gone, gone_tablespaces, .. } = c;
    gone_tablespaces.retain(|t| gone.iter().any(|g| g.file.tablespace == t.number));
}

impl DataFiles {
    /// Creates files for a tablespace and lists them in the control file, together with the tablespace if it is new.
    /// Redo before `created` does not belong to them. Returns their numbers.
    ///
    /// Waits: as [`DataFiles::change_control`]. Latches: none on entry or return.
    ///
    /// # Errors
    /// ORA-01119 when a file cannot be created (ORA-27038 below it when it exists), ORA-01537 for a file that the
    /// database already has, ORA-03214 for one that is too small, ORA-00059 when all file numbers are taken; then none
    /// of the new files is left.
    pub fn add_files(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        tablespace: &TablespaceEntry,
        files: &[NewFile],
        created: (u64, Scn),
    ) -> Result<Vec<u32>> {
        let control = self.control()?;
        let mut made: Vec<FileEntry> = Vec::new();
        for new in files {
            match self.add_one(&control, &made, tablespace, new) {
                Ok(mut entry) => {
                    (entry.created_rba, entry.created_scn) = created;
                    made.push(entry);
                }
                Err(e) => {
                    self.remove(&made);
                    return Err(e);
                }
            }
        }
        faults::point("file-made");
        let listed = sync_directory(self.directory())
            .map_err(|e| Ora::new(1119).because(io_error(27040, "file create error, unable to create file", &e)))
            .and_then(|()| {
                self.change_control(p, enqueues, &mut |c| {
                    if c.tablespace(tablespace.number).is_none() {
                        c.tablespaces.push(tablespace.clone());
                    }
                    // All their redo is behind the last checkpoint: recovery skips earlier redo for their numbers.
                    for entry in &mut made {
                        entry.created_rba = entry.created_rba.max(c.checkpoint.rba);
                    }
                    c.files.extend(made.iter().cloned());
                    Ok(())
                })
            });
        if let Err(e) = listed {
            self.remove(&made);
            return Err(e);
        }
        made.iter().for_each(|entry| self.table.set(entry, tablespace, false));
        Ok(made.iter().map(|f| f.file).collect())
    }

    fn add_one(
        &self,
        control: &ControlFile,
        made: &[FileEntry],
        tablespace: &TablespaceEntry,
        new: &NewFile,
    ) -> Result<FileEntry> {
        let path = self.directory().join(&new.name);
        let mut all = control.files.iter().chain(made);
        if all.any(|f| self.directory().join(&f.name) == path) {
            return Err(Ora::with(1537, &[&path.display()]));
        }
        let taken = |n: &u32| control.files.iter().chain(made).any(|f| f.file == *n);
        // Prefers a number that no dropped file has: a restore can then assign redo to files by number.
        let fresh = |n: &u32| !taken(n) && control.gone.iter().all(|g| g.file.file != *n);
        let number = (1..=Rdba::MAX_FILE).find(fresh).or_else(|| (1..=Rdba::MAX_FILE).find(|n| !taken(n)));
        let number = number.ok_or_else(|| Ora::from_text(Facility::Ora, 59, "maximum number of DB_FILES exceeded"))?;
        let size = self.block_size() as u64;
        let old_bytes = os::file::File::open(&path, os::file::OpenMode::Read).ok().and_then(|f| f.len_bytes().ok());
        let bytes = match (new.bytes, old_bytes) {
            (Some(bytes), _) => bytes,
            (None, Some(bytes)) if new.reuse => bytes,
            _ => return Err(Ora::with(1119, &[&path.display()]).because(no_size())),
        };
        let least = u64::from(crate::files::blocks_min(self.block_size())) * size;
        if bytes < least {
            return Err(Ora::from_text(Facility::Ora, 3214, "File Size specified is smaller than minimum required"));
        }
        let spec = TablespaceSpec {
            name: tablespace.name.clone(),
            number: tablespace.number,
            contents: tablespace.contents,
            file_name: new.name.clone(),
            bytes,
            bytes_max: if new.bytes_max > 0 { new.bytes_max.max(bytes) } else { 0 },
            step_bytes: new.step_bytes,
        };
        self.make_file(number, &spec, new.reuse)
    }

    fn remove(&self, files: &[FileEntry]) {
        for f in files {
            let _ = os::file::remove(&self.directory().join(&f.name));
        }
    }

    /// Removes files from the control file, and their tablespace with its last file. With `delete` the operating
    /// system's files are deleted too; a file that cannot be deleted is left. The cache holds no buffer of them. In
    /// ARCHIVELOG mode they are noted as dropped at `dropped_rba`, a redo address behind all their redo.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`].
    pub fn drop_files(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        numbers: &[u32],
        delete: bool,
        dropped_rba: u64,
    ) -> Result<()> {
        let gone = self.change_control(p, enqueues, &mut |c| {
            let gone: Vec<FileEntry> = c.files.iter().filter(|f| numbers.contains(&f.file)).cloned().collect();
            c.files.retain(|f| !numbers.contains(&f.file));
            c.offline.retain(|o| !numbers.contains(&o.file));
            let left = |number: u32| c.files.iter().any(|f| f.tablespace == number);
            let empty: Vec<u32> = gone.iter().map(|f| f.tablespace).filter(|t| !left(*t)).collect();
            let went: Vec<TablespaceEntry> =
                c.tablespaces.iter().filter(|t| empty.contains(&t.number)).cloned().collect();
            c.tablespaces.retain(|t| !empty.contains(&t.number));
            if c.archivelog {
                remember(c, &gone, went, dropped_rba);
            }
            Ok(gone)
        })?;
        faults::point("file-unlisted");
        gone.iter().for_each(|f| self.table.forget(f.file));
        if delete {
            self.remove(&gone);
            let _ = sync_directory(self.directory());
        }
        Ok(())
    }

    /// Changes the entry of a tablespace: its name or its state.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`]; ORA-00959 for an unknown tablespace.
    pub fn change_tablespace(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        number: u32,
        f: &mut dyn FnMut(&mut TablespaceEntry),
    ) -> Result<()> {
        self.change_control(p, enqueues, &mut |c| {
            let entry = c.tablespaces.iter_mut().find(|t| t.number == number);
            let entry = entry.ok_or_else(|| Ora::with(959, &[&number]))?;
            let stayed = entry.is_offline || entry.is_read_only;
            f(entry);
            if stayed && !(entry.is_offline || entry.is_read_only) {
                self.stamp_returning(c, number)?;
            }
            Ok(())
        })?;
        faults::point("tablespace-changed");
        self.repeat_control()
    }

    /// Changes the entry of a file: its growth or its state.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`]; ORA-01157 for an unknown file.
    pub fn change_file(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        number: u32,
        f: &mut dyn FnMut(&mut FileEntry),
    ) -> Result<()> {
        self.change_control(p, enqueues, &mut |c| {
            let entry = c.files.iter_mut().find(|entry| entry.file == number);
            f(entry.ok_or_else(|| Ora::with(1157, &[&number]))?);
            Ok(())
        })?;
        self.repeat_control()
    }

    /// Prevents changes of blocks of a file until [`DataFiles::refresh`].
    pub fn fence_writes(&self, number: u32) {
        self.table.fence(number, false);
        faults::point("file-fenced");
    }

    /// As [`DataFiles::fence_writes`]; also prevents reads of its blocks into the cache.
    pub fn fence_off(&self, number: u32) {
        self.table.fence(number, true);
        faults::point("file-fenced");
    }

    /// Resets the states of all files to those in the control file and lifts fences, at the end of a statement that
    /// changes files or after the death of its process.
    ///
    /// # Errors
    /// ORA-00205.
    pub fn refresh(&self) -> Result<()> {
        self.repeat_control()?;
        self.table.lift_fences();
        Ok(())
    }

    /// Copies the states of all files, backup mode included, from the control file to shared memory.
    ///
    /// # Errors
    /// ORA-00205.
    pub fn refresh_copies(&self) -> Result<()> {
        self.repeat_control()
    }

    /// Copies the control file on disk to the words in shared memory until both agree. Every process changes the
    /// control file first and calls this afterwards. A change made before the second read is copied here; one made
    /// later is copied by its own process.
    pub(crate) fn repeat_control(&self) -> Result<()> {
        let mut control = self.control()?;
        loop {
            self.table.set_all(&control);
            let now = self.control()?;
            if now == control {
                return Ok(());
            }
            control = now;
        }
    }

    /// Checks that the files of a tablespace can be opened, before it comes online.
    ///
    /// # Errors
    /// ORA-01157, ORA-01122.
    pub fn check_files(&self, tablespace: u32) -> Result<()> {
        let control = self.control()?;
        control.files.iter().filter(|f| f.tablespace == tablespace).try_for_each(|f| self.open_file(f).map(drop))
    }

    /// Shortens a file. The blocks beyond the new end are free and the cache holds no buffer of them.
    ///
    /// # Errors
    /// ORA-01157; ORA-01237 when the system refuses.
    pub fn shrink(&self, number: u32, blocks: u32) -> Result<()> {
        let file = self.file(number)?;
        file.set_len(u64::from(blocks) * self.block_size() as u64)
            .map_err(|e| Ora::with(1237, &[&number]).because(io_error(27059, "could not reduce file size", &e)))
    }
}

fn no_size() -> Ora {
    Ora::from_text(Facility::Ora, 17610, "file does not exist and no size specified")
}
