//! The list of the files that a statement is making.
//!
//! The control file lists a file only when the file is complete, so a process that dies before leaves a file without
//! references. Such a file would prevent the next try (ORA-01119). Its name is therefore on the device before the file
//! is made, and is removed when the control file has the file. The list is not part of the control file: an older
//! program could not read that.
//!
//! A listed name may lead to a file of somebody else, who has removed the unfinished one. A file is deleted only if it
//! has no header yet, or the header of this database (R18).

use crate::error::io_error;
use crate::files::DataFiles;
use block::Image;
use os::file::{File, OpenMode, sync_directory};
use std::path::{Path, PathBuf};
use types::{Ora, Result};

/// The list's file in the database directory.
const LIST: &str = "files_in_making";

/// What became of a file that a dead process left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It is deleted.
    Removed(PathBuf),
    /// It is not a file of this database, or cannot be deleted.
    Left(PathBuf),
}

impl DataFiles {
    /// Notes that files with these names are going to be made. The caller holds the DD enqueue.
    ///
    /// # Errors
    /// ORA-01119 when the list cannot be written.
    pub(crate) fn note_making<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<()> {
        let text: String = names.flat_map(|name| [name, "\n"]).collect();
        let list = self.directory().join(LIST);
        let written = File::open(&list, OpenMode::Truncate)
            .and_then(|file| file.write_at(text.as_bytes(), 0).and_then(|()| file.sync()))
            .and_then(|()| sync_directory(self.directory()));
        let failed =
            |e: os::OsError| Ora::with(1119, &[&list.display()]).because(io_error(27040, "file create error", &e));
        written.map_err(failed)?;
        faults::point("file-noted");
        Ok(())
    }

    /// Notes that no file is being made any more.
    pub(crate) fn end_making(&self) {
        // A list that is left behind leads to files that the control file has, or to none.
        if os::file::remove(&self.directory().join(LIST)).is_ok() {
            let _ = sync_directory(self.directory());
        }
    }

    /// Deletes the files that a dead process has left unfinished. The caller holds the DD enqueue, or is alone.
    ///
    /// # Errors
    /// ORA-00205.
    pub fn remove_unfinished(&self) -> Result<Vec<Unfinished>> {
        let Ok(names) = std::fs::read_to_string(self.directory().join(LIST)) else { return Ok(Vec::new()) };
        let control = self.control()?;
        let mut found = Vec::new();
        for path in names.lines().map(|name| self.path(name)).filter(|path| os::file::exists(path)) {
            let is_known = control.files.iter().any(|f| self.path(&f.name) == path);
            let head = self.head_of(&path);
            // A lost file that is made again under its own name is listed from the beginning.
            let goes = match head {
                Head::None => true,
                Head::Own => !is_known,
                Head::Foreign => false,
            };
            match goes && os::file::remove(&path).is_ok() {
                true => found.push(Unfinished::Removed(path)),
                false if is_known => {}
                false => found.push(Unfinished::Left(path)),
            }
        }
        faults::point("file-unfinished-removed");
        self.end_making();
        Ok(found)
    }

    fn head_of(&self, path: &Path) -> Head {
        let mut block = Image::new(self.block_size());
        let read = File::open(path, OpenMode::Read).and_then(|file| file.read_some_at(block.bytes_mut(), 0));
        match read {
            Err(_) => Head::Foreign,
            Ok(_) if block.bytes().iter().all(|byte| *byte == 0) => Head::None,
            Ok(_) => match block::file::read(&block.view()) {
                Some(head) if head.database == self.database() => Head::Own,
                _ => Head::Foreign,
            },
        }
    }
}

/// The header block of a file.
enum Head {
    None,
    Own,
    Foreign,
}
