//! Opening files: with their database, and at their first use.

use super::data_files::DataFiles;
use super::definition::TablespaceSpec;
use crate::control::{Contents, ControlFile, FileEntry};
use crate::error::io_error;
use crate::tablespace;
use block::Image;
use os::file::{File, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{Ora, Rdba, Result};

impl DataFiles {
    /// Opens the database in `directory`; also returns the contents of its control file. A user's file that is missing
    /// or foreign does not prevent the open: its use is an error until the next start. A file put back while the
    /// instance runs would not match the redo.
    ///
    /// # Errors
    /// ORA-00205 for the control file; for files of the dictionary, of undo and of temporary data ORA-01157 when one is
    /// missing, ORA-01122 or ORA-01200 when one does not belong to the database or is too short. For any file those of
    /// [`DataFiles::wait_for_dead_writes`].
    pub fn open(directory: &Path) -> Result<(DataFiles, ControlFile)> {
        let control = ControlFile::read(directory)?;
        let files = DataFiles::over(directory, &control);
        let mut entries: Vec<&FileEntry> = control.files.iter().collect();
        // The first part of a bigfile first: a temporary file that is missing is created with it.
        entries.sort_by_key(|f| f.part);
        for entry in entries {
            // Those of an instance that was killed (R10), also of a file that is offline or damaged: they must not
            // overwrite what is written from here on.
            if File::open(&files.path(&entry.name), OpenMode::Read).is_ok() {
                files.wait_for_dead_writes(0..usize::MAX, [entry.file])?;
            }
            if files.table.state(entry.file).is_offline() {
                continue;
            }
            let of = control.tablespace(entry.tablespace);
            let is_users =
                entry.tablespace != tablespace::SYSTEM && of.is_some_and(|t| t.contents == Contents::Permanent);
            let is_rolled = !control.is_kept(entry);
            let opened = files.open_or_remake(&control, entry);
            let opened = match opened.and_then(|()| files.require_own_life(&control, entry, is_rolled)) {
                Err(e) if is_rolled && files.lays_again(&control, entry, &e) => {
                    files.lay_part(entry).and_then(|()| files.open_or_remake(&control, entry))
                }
                opened => opened,
            };
            match opened {
                // A bigfile is missing as a whole.
                Err(_) if is_users => control.parts_of(entry.head()).iter().for_each(|f| files.table.miss(f.file)),
                done => done?,
            }
        }
        Ok((files, control))
    }

    /// The files that could not be opened with the database.
    pub fn missing(&self) -> Vec<u32> {
        self.table.present().filter(|(_, state)| state.is_missing()).map(|(n, _)| n).collect()
    }

    /// The error of a file that could not be opened; `None` when it can be opened now.
    pub fn why_missing(&self, entry: &FileEntry) -> Option<Ora> {
        self.open_file(entry).err()
    }

    /// Opens the database in `directory` read-only: nothing is ever written. Files are opened at their first use, so a
    /// missing or foreign file is an error only for its users.
    ///
    /// # Errors
    /// ORA-00205 for the control file.
    pub fn open_read_only(directory: &Path) -> Result<(DataFiles, ControlFile)> {
        let control = ControlFile::read(directory)?;
        let files = DataFiles { read_only: true, ..DataFiles::over(directory, &control) };
        Ok((files, control))
    }

    /// The data files of a database that is being assembled: `control` lists them, and is not in the directory yet.
    /// Files are opened at their first use.
    pub fn over_control(directory: &Path, control: &ControlFile) -> DataFiles {
        DataFiles { listed: Some(control.clone()), ..DataFiles::over(directory, control) }
    }

    /// True when a part that cannot be opened is to be laid down again: the file is a copy from before the part was
    /// made.
    fn lays_again(&self, control: &ControlFile, entry: &FileEntry, why: &Ora) -> bool {
        (why.is(1122) || why.is(1200)) && self.copied_before(control, entry).is_some()
    }

    /// The checkpoint of the first part, if the recovery of the file begins before this later part was made: redo from
    /// its creation on makes everything in the part. `None` for a first part, and for a file of another incarnation,
    /// which is not recovered.
    fn copied_before(&self, control: &ControlFile, entry: &FileEntry) -> Option<u64> {
        let has = self.closed_checkpoint(control.file(entry.first)?).ok()?;
        let is_own = has.rba == 0 || has.incarnation == control.incarnation.number;
        (is_own && has.rba <= entry.created_rba).then_some(has.rba)
    }

    /// Checks that the place of a later part does not have an earlier part with the same number: that was removed, and
    /// the file is a copy from before. The header of a part has no checkpoint, or one behind its creation.
    ///
    /// The header of an earlier part may have no checkpoint either. A copy with such a header, from before the last
    /// checkpoint, counts as one with an earlier part if the file is going to be rolled forward (`is_rolled`). Where it
    /// has the present part after all, laying the part down again does no harm: its recovery begins at its creation in
    /// any case.
    fn require_own_life(&self, control: &ControlFile, entry: &FileEntry, is_rolled: bool) -> Result<()> {
        if entry.is_head() {
            return Ok(());
        }
        let is_older = |first: u64| is_rolled && first < control.checkpoint.rba;
        let is_earlier = match self.closed_checkpoint(entry)?.rba {
            0 => self.copied_before(control, entry).is_some_and(is_older),
            has => has < entry.created_rba,
        };
        if is_earlier { Err(Ora::with(1122, &[&entry.head()]).because(self.named(entry))) } else { Ok(()) }
    }

    /// Lays down the later parts of a file that is offline and was restored from a copy made before they were. Called
    /// before any part is rolled forward.
    ///
    /// # Errors
    /// ORA-01157, ORA-01237.
    pub fn lay_lost_parts(&self, control: &ControlFile, head: u32) -> Result<()> {
        for part in control.parts_of(head).into_iter().filter(|f| !f.is_head()) {
            if let Err(e) = self.open_file(part).and_then(|_| self.require_own_life(control, part, true))
                && self.lays_again(control, part, &e)
            {
                self.lay_part(part)?;
            }
        }
        Ok(())
    }

    pub(crate) fn open_file(&self, entry: &FileEntry) -> Result<File> {
        let path = self.path(&entry.name);
        let shown = entry.head();
        let name = || Ora::with(1110, &[&shown, &path.display()]);
        let mode = if self.read_only { OpenMode::Read } else { OpenMode::ReadWrite };
        let file = File::open(&path, mode).map_err(|_| Ora::with(1157, &[&shown]).because(name()))?;
        let (mut image, begin) = (Image::new(self.block_size), self.begin_of(entry.part));
        let sound = file.read_at(image.bytes_mut(), begin).is_ok()
            && block::check(image.bytes(), Rdba::new(entry.file, 0)).is_ok();
        let header = block::file::read(&image.view()).filter(|_| sound);
        let belongs = header.is_some_and(|h| {
            (h.database, h.file, h.tablespace) == (self.database, entry.file, entry.tablespace)
                && h.block_size as usize == self.block_size
        });
        if !belongs {
            return Err(Ora::with(1122, &[&shown]).because(name()));
        }
        let size = self.block_size as u64;
        let (len, least) = (file.len_bytes().unwrap_or(0) / size, begin / size + u64::from(entry.blocks));
        if len < least {
            return Err(Ora::with(1200, &[&len, &least]).because(name()));
        }
        if self.bypasses_cache.load(Ordering::Relaxed) {
            // Where the file system does not support it all processes use the page cache. After any other error this
            // process alone would use it.
            file.bypass_cache(self.block_size).map_err(|e| {
                Ora::with(1157, &[&shown]).because(name()).because(io_error(27041, "unable to open file", &e))
            })?;
        }
        Ok(file)
    }

    /// Opens a file; a missing file of a temporary tablespace is created again.
    pub(crate) fn open_or_remake(&self, control: &ControlFile, entry: &FileEntry) -> Result<()> {
        let is_temporary = self.table.state(entry.file).is_temporary() && !self.read_only;
        if is_temporary && !entry.is_head() && self.open_file(entry).is_err() {
            // The file was created again with its first part.
            self.lay_part(entry)?;
        }
        if is_temporary && entry.is_head() && !os::file::exists(&self.path(&entry.name)) {
            let size = self.block_size as u64;
            let name = control.tablespace(entry.tablespace).map_or("", |t| t.name.as_str());
            let spec = TablespaceSpec {
                name: name.to_owned(),
                number: entry.tablespace,
                contents: Contents::Temporary,
                file_name: entry.name.clone(),
                bytes: u64::from(entry.blocks) * size,
                bytes_max: u64::from(entry.blocks_max) * size,
                step_bytes: u64::from(entry.step) * size,
            };
            self.make_file(entry.file, &spec, false)?;
        }
        self.table.keep(entry.file, self.open_file(entry)?);
        Ok(())
    }

    pub(crate) fn file(&self, number: u32) -> Result<Arc<File>> {
        let unknown = || Ora::with(1157, &[&self.shown_file(number)]);
        if number > Rdba::MAX_FILE {
            return Err(unknown());
        }
        let state = self.table.state(number);
        if state.is_offline() {
            return Err(self.offline(number));
        }
        if let Some(file) = self.table.opened(number).filter(|_| state.is_present()) {
            return Ok(file);
        }
        let control = self.control()?;
        let entry = control.file(number).ok_or_else(unknown)?;
        if !state.is_present()
            && let Some(tablespace) = control.tablespace(entry.tablespace)
        {
            // Another process that has opened the database added the file.
            self.table.set(entry, tablespace, control.is_copied(number));
        }
        Ok(self.table.keep(number, self.open_file(entry)?))
    }

    /// Reads and writes all files past the page cache of the operating system from now on. Returns the names of files
    /// for which the file system does not support it. Must be called before the first fork.
    ///
    /// # Errors
    /// ORA-00205; ORA-01157 when a file that is open cannot be opened in this way: processes that open it later would
    /// bypass the page cache and others would not.
    pub fn bypass_cache(&self) -> Result<Vec<PathBuf>> {
        self.bypasses_cache.store(true, Ordering::Relaxed);
        let mut refused = Vec::new();
        for entry in self.control()?.files {
            // A file that is missing or offline is opened later.
            let Ok(file) = self.file(entry.file) else { continue };
            let bypasses = file.bypass_cache(self.block_size).map_err(|e| {
                let why = io_error(27041, "unable to open file", &e);
                Ora::with(1157, &[&entry.head()]).because(self.named(&entry)).because(why)
            })?;
            if !bypasses {
                refused.push(file.path().to_owned());
            }
        }
        Ok(refused)
    }
}
