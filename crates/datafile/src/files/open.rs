//! Opening files: read-only, in a new database, and at their first use.

use super::data_files::DataFiles;
use crate::control::{ControlFile, FileEntry};
use crate::error::io_error;
use block::Image;
use os::file::{File, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{Ora, Rdba, Result};

impl DataFiles {
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
            // process alone would use it (R11).
            file.bypass_cache(self.block_size).map_err(|e| {
                Ora::with(1157, &[&shown]).because(name()).because(io_error(27041, "unable to open file", &e))
            })?;
        }
        Ok(file)
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
