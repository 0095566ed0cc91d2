//! Making files and parts.

use super::data_files::DataFiles;
use super::definition::{CreateDatabase, TablespaceSpec};
use crate::control::{Contents, ControlFile, FileEntry, TablespaceEntry};
use crate::error::io_error;
use crate::{CONTROL_FILE, geometry};
use block::file::FileHeader;
use block::{Image, segment};
use os::file::{File, OpenMode, sync_directory};
use std::path::Path;
use types::{Facility, Ora, Rdba, Result, Scn};

/// ORA-00059.
pub(crate) fn too_many_files() -> Ora {
    Ora::from_text(Facility::Ora, 59, "maximum number of DB_FILES exceeded")
}

fn bad_block_size(size: usize) -> String {
    let (least, most) = (block::BLOCK_SIZE_MIN, block::BLOCK_SIZE_MAX);
    format!("parameter db_block_size = {size} invalid ; must be a power of two in the range [{least}..{most}]")
}

/// ORA-01119 with the system's words.
fn not_created(path: &Path, e: &os::OsError) -> Ora {
    let why = if e.is_exists() { (27038, "created file already exists") } else { (27040, "file create error") };
    Ora::with(1119, &[&path.display()]).because(io_error(why.0, why.1, e))
}

/// ORA-01119 for a file that cannot be filled.
fn not_filled(path: &Path, e: &os::OsError) -> Ora {
    Ora::with(1119, &[&path.display()]).because(io_error(27044, "unable to write the header block of file", e))
}

impl DataFiles {
    /// Creates the files of a new database in `directory`, which must exist and not hold a control file.
    ///
    /// # Errors
    /// ORA-00200 when the control file exists or cannot be written, ORA-00374 for a bad block size, ORA-01119 when a
    /// data file cannot be made (the system's words in ORA-27040 below it).
    pub fn create(directory: &Path, spec: &CreateDatabase) -> Result<DataFiles> {
        if !block::is_block_size(spec.block_size) {
            return Err(Ora::from_text(Facility::Ora, 374, bad_block_size(spec.block_size)));
        }
        if os::file::exists(&directory.join(CONTROL_FILE)) {
            return Err(Ora::new(200));
        }
        let mut control = ControlFile {
            database: spec.id,
            name: spec.name.clone(),
            block_size: spec.block_size,
            part_blocks: spec.part_blocks,
            scn: Scn(1),
            clean: true,
            dictionary: spec.dictionary,
            ..ControlFile::default()
        };
        let files = DataFiles::over(directory, &control);
        files.set_transient(spec.is_transient);
        for t in &spec.tablespaces {
            control.tablespaces.push(TablespaceEntry {
                number: t.number,
                name: t.name.clone(),
                contents: t.contents,
                ..TablespaceEntry::default()
            });
            let entry = files.make_file(control.files.len() as u32 + 1, t, false)?;
            control.files.push(entry);
        }
        sync_directory(directory).map_err(|e| Ora::new(200).because(io_error(27040, "file create error", &e)))?;
        control.write(directory)?;
        Ok(files)
    }

    /// Creates an empty file, as its entry describes it: a file of a database that is being assembled, or a lost one. A
    /// later part of a bigfile is laid down in the file, which must exist.
    ///
    /// # Errors
    /// As [`DataFiles::create`]; ORA-01157 when the file of a later part does not exist.
    pub fn make_listed(&self, entry: &FileEntry) -> Result<()> {
        if !entry.is_head() {
            return self.lay_part(entry);
        }
        let size = self.block_size as u64;
        let spec = TablespaceSpec {
            name: String::new(),
            number: entry.tablespace,
            contents: Contents::Permanent,
            file_name: entry.name.clone(),
            bytes: u64::from(entry.blocks) * size,
            bytes_max: u64::from(entry.blocks_max) * size,
            step_bytes: u64::from(entry.step) * size,
        };
        self.make_file(entry.file, &spec, false).map(drop)
    }

    /// Creates a lost file with all its parts, empty, under the name `name`, which no file has. On return the file and
    /// its name are on the device; after an error there is no file.
    ///
    /// # Errors
    /// As [`DataFiles::make_listed`].
    pub fn make_again(&self, parts: &[&FileEntry], name: &str) -> Result<()> {
        let renamed = |part: &FileEntry| FileEntry { name: name.to_owned(), ..part.clone() };
        let Some((head, later)) = parts.split_first() else { return Ok(()) };
        self.make_listed(&renamed(head))?;
        let path = self.path(name);
        let folder = path.parent().unwrap_or(&self.directory);
        let failed = |e| Ora::with(1119, &[&path.display()]).because(io_error(27040, "file create error", &e));
        let made = later.iter().try_for_each(|part| self.make_listed(&renamed(part)));
        made.and_then(|()| sync_directory(folder).map_err(failed)).inspect_err(|_| {
            let _ = os::file::remove(&path);
        })
    }

    /// Adds a file to a tablespace. One process at a time may change the control file; the caller sees to that.
    ///
    /// # Errors
    /// ORA-00959 for an unknown tablespace, ORA-00059 when all file numbers are taken, else as [`DataFiles::create`].
    pub fn add_file(&self, spec: &TablespaceSpec) -> Result<u32> {
        let mut control = self.control()?;
        if control.tablespace(spec.number).is_none() {
            return Err(Ora::with(959, &[&spec.name]));
        }
        let number = control.free_number(&[], false).ok_or_else(too_many_files)?;
        control.files.push(self.make_file(number, spec, false)?);
        control.write(&self.directory)?;
        Ok(number)
    }

    /// Creates a file, or the first part of a bigfile. A new one gets its name when it is complete and on the device
    /// (R19). With `reuse` a file that is there is overwritten in its place. The caller syncs the folder.
    ///
    /// # Errors
    /// As [`DataFiles::create`]. Nothing is left of a new file then; one that was to be overwritten has its header and
    /// its length, and no contents.
    pub(crate) fn make_file(&self, number: u32, spec: &TablespaceSpec, reuse: bool) -> Result<FileEntry> {
        let size = self.block_size as u64;
        let most = u64::from(Rdba::MAX_BLOCK) + 1;
        let in_blocks = |bytes: u64| bytes.div_ceil(size).min(most) as u32;
        let entry = FileEntry {
            file: number,
            tablespace: spec.number,
            blocks: in_blocks(spec.bytes).max(geometry::blocks_min(self.block_size)),
            // That of a bigfile may be more than one number addresses.
            blocks_max: u32::try_from(spec.bytes_max.div_ceil(size)).unwrap_or(u32::MAX),
            step: in_blocks(spec.step_bytes).max(segment::UNIT_BLOCKS),
            name: spec.file_name.clone(),
            ..FileEntry::default()
        };
        let path = self.path(&entry.name);
        if reuse && os::file::exists(&path) {
            self.overwrite(&path, &entry)?;
        } else {
            self.make_new(&path, &entry)?;
        }
        Ok(entry)
    }

    /// Makes a file that has no name until it is complete and on the device. Where the file system has no such files,
    /// it has the name of a draft, which a death leaves behind.
    fn make_new(&self, path: &Path, entry: &FileEntry) -> Result<()> {
        os::file::require_new(path).map_err(|e| not_created(path, &e))?;
        let draft =
            path.with_file_name(format!("latchwork-{}-{:x}.making", os::process::own_id(), os::clock::now_ns()));
        let (file, has_name) = match File::create_unnamed(path).map_err(|e| not_created(path, &e))? {
            Some(file) => (file, false),
            None => (File::open(&draft, OpenMode::CreateNew).map_err(|e| not_created(path, &e))?, true),
        };
        let named = self.fill_file(&file, entry).and_then(|()| file.sync()).map_err(|e| not_filled(path, &e));
        let named = named.and_then(|()| {
            faults::point("file-drafted");
            let named = if has_name { os::file::rename_new(&draft, path) } else { file.give_name(path) };
            named.map_err(|e| not_created(path, &e))
        });
        named.inspect_err(|_| {
            // The disk may be full.
            if has_name {
                let _ = os::file::remove(&draft);
            }
        })
    }

    /// Overwrites a data file in its place. Its header, the first block, stays until the new one replaces it, so that
    /// REUSE takes the file also after a death (R19).
    fn overwrite(&self, path: &Path, entry: &FileEntry) -> Result<()> {
        let file = File::open(path, OpenMode::ReadWrite).map_err(|e| not_created(path, &e))?;
        let old_bytes = file.len_bytes().map_err(|e| not_created(path, &e))?;
        let emptied = file.set_len(old_bytes.min(self.block_size as u64));
        emptied.map_err(|e| not_created(path, &e))?;
        faults::point("file-emptied");
        self.fill_file(&file, entry).and_then(|()| file.sync()).map_err(|e| {
            // A later REUSE without SIZE takes the length.
            let _ = file.set_len(old_bytes);
            not_filled(path, &e)
        })
    }

    /// Lays down a later part of a bigfile, empty: its place is allocated, and bitmaps and header are written and
    /// synced (R15). The earlier contents of the place are lost.
    ///
    /// # Errors
    /// ORA-01157 when the file does not exist, ORA-01237 when it cannot grow (the system's words in ORA-27072 below
    /// it); as [`DataFiles::sync_file`]: the other parts of the file are in use.
    pub(crate) fn lay_part(&self, entry: &FileEntry) -> Result<()> {
        self.lay_part_in(&self.open_for_part(entry)?, entry)
    }

    /// Opens the file in which a part is going to be laid down.
    ///
    /// # Errors
    /// ORA-01157 when the file does not exist.
    pub(crate) fn open_for_part(&self, entry: &FileEntry) -> Result<File> {
        let path = self.path(&entry.name);
        let unknown = |_| Ora::with(1157, &[&entry.head()]).because(self.named(entry));
        File::open(&path, OpenMode::ReadWrite).map_err(unknown)
    }

    /// As [`DataFiles::lay_part`], in the open file.
    pub(crate) fn lay_part_in(&self, file: &File, entry: &FileEntry) -> Result<()> {
        self.fill_file(file, entry).map_err(|e| self.cannot_extend(entry.head(), &e))?;
        self.sync_file(entry.head(), file)
    }

    /// Allocates the size of a new file or part, writes and syncs its bitmaps, and then writes its header, which the
    /// caller syncs. A file that has the header has the bitmaps, also after a loss of power.
    fn fill_file(&self, file: &File, entry: &FileEntry) -> std::result::Result<(), os::OsError> {
        let (size, begin) = (self.block_size as u64, self.begin_of(entry.part));
        self.lengthen(file, begin + u64::from(entry.blocks) * size)?;
        let mut image = Image::new(self.block_size);
        for n in 0..Self::bitmap_blocks_of(self.block_size) {
            self.make_bitmap(&mut image, entry.file, n, entry.blocks);
            file.write_at(image.bytes(), begin + u64::from(n + 1) * size)?;
        }
        if entry.is_head() {
            file.sync()?;
        } else {
            self.sync_live(entry.head(), file)?;
        }
        image = Image::new(self.block_size);
        let header = FileHeader {
            database: self.database,
            block_size: self.block_size as u32,
            file: entry.file,
            tablespace: entry.tablespace,
            blocks: entry.blocks,
            blocks_max: entry.blocks_max,
            step: entry.step,
        };
        block::file::format(image.bytes_mut(), &header);
        block::seal(image.bytes_mut());
        file.write_at(image.bytes(), begin)
    }

    fn make_bitmap(&self, image: &mut Image, file: u32, n: u32, file_blocks: u32) {
        let per_block = segment::units_max(self.block_size);
        let all = (Rdba::MAX_BLOCK + 1 - Self::first_data_block_of(self.block_size)) / segment::UNIT_BLOCKS;
        let first = n * per_block;
        let units = all.saturating_sub(first).min(per_block);
        segment::format_bitmap(image.bytes_mut(), Rdba::new(file, n + 1), first, units, file_blocks);
        block::seal(image.bytes_mut());
    }
}
