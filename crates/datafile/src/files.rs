//! Data files: create, open, read, write, extend.

use crate::control::{Contents, ControlFile, FileEntry, PartBlocks, TablespaceEntry};
use crate::double_write::DoubleWrite;
use crate::error::io_error;
use crate::geometry;
use crate::table::{FileState, FileTable};
use crate::tablespace;
use block::file::FileHeader;
use block::{BlockView, Image, segment};
use enqueue::{EnqueueType, Enqueues, LockMode, Timeout};
use os::file::{File, OpenMode, sync_directory};
use process::{CleanupOrder, Process, Processes};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use types::{Facility, Ora, Rdba, Result, Scn};
use wait::Event;

/// The definition of a new tablespace with one file.
#[derive(Clone, Debug)]
pub struct TablespaceSpec {
    /// Name of the tablespace, in upper case.
    pub name: String,
    /// Number of the tablespace.
    pub number: u32,
    /// The contents of the tablespace.
    pub contents: Contents,
    /// Name of the file.
    pub file_name: String,
    /// Size in bytes at creation.
    pub bytes: u64,
    /// Size in bytes up to which the file may grow automatically; 0 when it may not.
    pub bytes_max: u64,
    /// Bytes of one growth step.
    pub step_bytes: u64,
}

/// The definition of a new database.
#[derive(Clone, Debug)]
pub struct CreateDatabase {
    /// Its name.
    pub name: String,
    /// A number that no other database has.
    pub id: u64,
    /// Block size in bytes: a power of two from 2 KB to 32 KB.
    pub block_size: usize,
    /// The tablespaces.
    pub tablespaces: Vec<TablespaceSpec>,
    /// A hash of the base tables of the dictionary.
    pub dictionary: u64,
    /// Blocks of a part of a bigfile: the default, except in tests.
    pub part_blocks: PartBlocks,
}

impl CreateDatabase {
    /// SYSTEM, UNDO, USERS and TEMP with small files that grow automatically.
    pub fn usual(name: &str, id: u64, block_size: usize) -> CreateDatabase {
        let spec = |number, name: &str, file: &str| TablespaceSpec {
            name: name.into(),
            number,
            contents: match number {
                tablespace::TEMP => Contents::Temporary,
                tablespace::UNDO => Contents::Undo,
                _ => Contents::Permanent,
            },
            file_name: file.into(),
            bytes: 512 * block_size as u64,
            bytes_max: (u64::from(Rdba::MAX_BLOCK) + 1) * block_size as u64,
            step_bytes: 1024 * block_size as u64,
        };
        CreateDatabase {
            name: name.into(),
            id,
            block_size,
            dictionary: 0,
            part_blocks: PartBlocks::default(),
            tablespaces: vec![
                spec(tablespace::SYSTEM, "SYSTEM", "system01.dbf"),
                spec(tablespace::UNDO, "UNDO", "undo01.dbf"),
                spec(tablespace::USERS, "USERS", "users01.dbf"),
                spec(tablespace::TEMP, "TEMP", "temp01.dbf"),
            ],
        }
    }
}

/// The data files of a database, open in this process. Descriptors are inherited by `fork`; a file that was added later
/// is opened at its first use.
pub struct DataFiles {
    directory: PathBuf,
    database: u64,
    block_size: usize,
    /// Blocks of a part of a bigfile.
    part_blocks: u32,
    pub(crate) table: FileTable,
    /// The most data files, and the most temporary files. Set before the first fork.
    files_max: AtomicU32,
    /// Files are read and written past the page cache. Set before the first fork.
    bypasses_cache: AtomicBool,
    /// Writes are synced to the device. Set before the first fork.
    disk_sync: AtomicBool,
    /// The first change of a block behind a checkpoint is logged as the whole block. Set before the first fork.
    whole_blocks: AtomicBool,
    pub(crate) area: OnceLock<DoubleWrite>,
    /// Opened read-only: files are opened for reading, and the control file is not changed.
    read_only: bool,
    /// The control file of a database that has no control file on disk yet.
    listed: Option<ControlFile>,
    /// Set before the first fork; none in a database without an instance.
    enqueues: OnceLock<Enqueues>,
    /// The control file as this process read it last: its bytes and their contents.
    last: Mutex<Option<(Vec<u8>, ControlFile)>>,
}

/// ENOENT: stands for a file that is no longer at its place.
const GONE: i32 = 2;

/// ORA-00059.
pub(crate) fn too_many_files() -> Ora {
    Ora::from_text(Facility::Ora, 59, "maximum number of DB_FILES exceeded")
}

fn bad_block_size(size: usize) -> String {
    let (least, most) = (block::BLOCK_SIZE_MIN, block::BLOCK_SIZE_MAX);
    format!("parameter db_block_size = {size} invalid ; must be a power of two in the range [{least}..{most}]")
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
        if os::file::exists(&directory.join(crate::CONTROL_FILE)) {
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

    /// True when the database was opened read-only.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn over(directory: &Path, control: &ControlFile) -> DataFiles {
        let table = FileTable::new();
        table.set_all(control);
        DataFiles {
            directory: directory.to_owned(),
            database: control.database,
            block_size: control.block_size,
            part_blocks: control.part_blocks.0,
            table,
            files_max: AtomicU32::new(Rdba::MAX_FILE),
            bypasses_cache: AtomicBool::new(false),
            disk_sync: AtomicBool::new(true),
            whole_blocks: AtomicBool::new(true),
            area: OnceLock::new(),
            read_only: false,
            listed: None,
            enqueues: OnceLock::new(),
            last: Mutex::new(None),
        }
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
        let failed = |e: os::OsError| {
            let why = if reuse || !os::file::exists(&path) {
                (27040, "file create error")
            } else {
                (27038, "created file already exists")
            };
            Ora::with(1119, &[&path.display()]).because(io_error(why.0, why.1, &e))
        };
        let mode = if reuse { OpenMode::Truncate } else { OpenMode::CreateNew };
        let file = File::open(&path, mode).map_err(failed)?;
        if let Err(e) = self.fill_file(&file, &entry).and_then(|()| file.sync()) {
            // Removes a file that could not be created completely: the disk may be full.
            let _ = os::file::remove(&path);
            let why = io_error(27044, "unable to write the header block of file", &e);
            return Err(Ora::with(1119, &[&path.display()]).because(why));
        }
        Ok(entry)
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

    /// ORA-01237 with the system's words.
    fn cannot_extend(&self, number: u32, e: &os::OsError) -> Ora {
        Ora::with(1237, &[&self.shown_file(number)]).because(io_error(27072, "File I/O error", e))
    }

    /// The byte of the operating system's file at which a part begins.
    pub(crate) fn begin_of(&self, part: u32) -> u64 {
        u64::from(part) * u64::from(self.part_blocks) * self.block_size as u64
    }

    /// The byte of the operating system's file at which a block begins.
    pub(crate) fn position(&self, at: Rdba) -> u64 {
        self.begin_of(self.table.place(at.file()).part()) + u64::from(at.block()) * self.block_size as u64
    }

    /// Allocates the size of a new file or part, writes and syncs its bitmaps, and then writes its header, which the
    /// caller syncs. A file that has the header has the bitmaps, also after a loss of power.
    fn fill_file(&self, file: &File, entry: &FileEntry) -> std::result::Result<(), os::OsError> {
        let (size, begin) = (self.block_size as u64, self.begin_of(entry.part));
        file.allocate(begin + u64::from(entry.blocks) * size)?;
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

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
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

    /// ORA-00376 with the file's name, or ORA-01157 for a file that was missing when the database was opened.
    fn offline(&self, number: u32) -> Ora {
        let code = if self.table.state(number).is_missing() { 1157 } else { 376 };
        let name = self.control().ok().and_then(|c| c.file(number).map(|f| self.path(&f.name).display().to_string()));
        let shown = self.shown_file(number);
        Ora::with(code, &[&shown]).because(Ora::with(1110, &[&shown, &name.unwrap_or_default()]))
    }

    /// Checks that blocks of the file may be changed.
    ///
    /// # Errors
    /// ORA-00372 for a file of a read-only tablespace, ORA-00376 for one that is offline.
    #[inline]
    pub fn check_writable(&self, number: u32) -> Result<()> {
        let state = self.table.state(number);
        if state.is_read_only() || state.is_offline() { Err(self.not_writable(number, state)) } else { Ok(()) }
    }

    #[cold]
    fn not_writable(&self, number: u32, state: FileState) -> Ora {
        if state.is_offline() {
            return self.offline(number);
        }
        let name = self.control().ok().and_then(|c| c.file(number).map(|f| self.path(&f.name).display().to_string()));
        let shown = self.shown_file(number);
        Ora::with(372, &[&shown]).because(Ora::with(1110, &[&shown, &name.unwrap_or_default()]))
    }

    /// The temporary files and the numbers of their tablespaces.
    pub fn temporary_files(&self) -> Vec<(u32, u32)> {
        let temporary = self.table.present().filter(|(_, state)| state.is_temporary() && !state.is_offline());
        temporary.map(|(number, state)| (number, state.tablespace())).collect()
    }

    /// The incarnation of a temporary file whose blocks can be used; another file with the same number has another one.
    pub fn usable_temporary(&self, number: u32) -> Option<u64> {
        let state = Some(self.table.state(number));
        let usable = state.filter(|s| s.is_present() && s.is_temporary() && !s.is_offline());
        usable.map(|state| state.incarnation())
    }

    /// True for a file of a temporary tablespace: its contents need no redo.
    #[inline]
    pub fn is_temporary(&self, number: u32) -> bool {
        self.table.state(number).is_temporary()
    }

    /// The number of the tablespace of a file; `None` when there is no such file.
    pub fn tablespace_of(&self, number: u32) -> Option<u32> {
        Some(self.table.state(number)).filter(|state| state.is_present()).map(|state| state.tablespace())
    }

    /// The number and the block of the file as users see them (R13): for a later part of a bigfile, the number of the
    /// file and the block's number in it.
    pub fn shown(&self, at: Rdba) -> (u32, u32) {
        let place = self.table.place(at.file());
        (place.head(at.file()), place.part().wrapping_mul(self.part_blocks).wrapping_add(at.block()))
    }

    /// The number of the file as users see it, for the number of a file or a part.
    pub fn shown_file(&self, number: u32) -> u32 {
        self.table.place(number).head(number)
    }

    /// The address of a block that users see as block `block` of file `file`; `None` when there is no such block.
    pub fn address(&self, file: u32, block: u32) -> Option<Rdba> {
        if !self.table.place(file).is_bigfile() {
            return (file <= Rdba::MAX_FILE && block <= Rdba::MAX_BLOCK).then(|| Rdba::new(file, block));
        }
        let (part, block) = (block / self.part_blocks, block % self.part_blocks);
        if part == 0 {
            return Some(Rdba::new(file, block));
        }
        let is_it = |n: &u32| {
            let place = self.table.place(*n);
            place.part() == part && place.head(*n) == file
        };
        self.table.present().map(|(n, _)| n).find(is_it).map(|n| Rdba::new(n, block))
    }

    /// Blocks of a part of a bigfile.
    pub fn part_blocks(&self) -> u32 {
        self.part_blocks
    }

    /// Sets the most data files, and the most temporary files: `db_files`. Files that exist beyond it stay. Must be
    /// called before the first fork.
    pub fn set_files_max(&self, most: u32) {
        self.files_max.store(most, Ordering::Relaxed);
    }

    /// The most data files, and the most temporary files.
    pub fn files_max(&self) -> u32 {
        self.files_max.load(Ordering::Relaxed)
    }

    /// Identifies the database.
    pub fn database(&self) -> u64 {
        self.database
    }

    /// Block size of the database in bytes.
    pub fn block_size(&self) -> usize {
        self.block_size
    }

    /// The database directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads the control file again (R7).
    ///
    /// # Errors
    /// ORA-00205.
    pub fn control(&self) -> Result<ControlFile> {
        if let Some(listed) = &self.listed {
            return Ok(listed.clone());
        }
        ControlFile::read_with(&self.directory, &mut |bytes| {
            // Space is allocated far more often than the control file changes: the same bytes are not checked and
            // parsed again.
            let Ok(mut last) = self.last.try_lock() else { return ControlFile::of_bytes(bytes) };
            if let Some((_, control)) = last.as_ref().filter(|(same, _)| same == bytes) {
                return Ok(control.clone());
            }
            let control = ControlFile::of_bytes(bytes)?;
            *last = Some((bytes.to_vec(), control.clone()));
            Ok(control)
        })
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

    /// Sets whether writes are synced to the device. Without syncs a database survives the death of its processes, but
    /// not a crash of the machine. Must be called before the first fork.
    pub fn set_disk_sync(&self, sync: bool) {
        self.disk_sync.store(sync, Ordering::Relaxed);
    }

    /// True when writes are synced to the device.
    pub fn disk_sync(&self) -> bool {
        self.disk_sync.load(Ordering::Relaxed)
    }

    /// Sets whether the first change of a block after a checkpoint logs the whole block, for every file. This is needed
    /// when no double-write area protects against torn blocks. A throw-away database needs neither. Must be called
    /// before the first fork.
    pub fn set_whole_blocks(&self, whole: bool) {
        self.whole_blocks.store(whole, Ordering::Relaxed);
    }

    /// True when the first change of a block of this file after a checkpoint logs the whole block: always when set by
    /// [`DataFiles::set_whole_blocks`], otherwise while the file is in backup mode, because its copy may contain torn
    /// blocks.
    #[inline]
    pub fn logs_whole_blocks(&self, number: u32) -> bool {
        self.whole_blocks.load(Ordering::Relaxed) || self.table.state(number).is_copied()
    }

    /// Ends backup mode for all files, for a start that has ended the backups in the control file.
    pub fn end_copies(&self) {
        self.table.end_copies();
    }

    /// Changes the control file; the only way to do so while several processes run. When `f` fails or changes nothing,
    /// the file stays as it is. `f` must neither wait nor generate redo, because LGWR waits for the control file too.
    ///
    /// Waits: `enq: CF - contention`, `control file sequential read`, `control file parallel write`. Latches: none on
    /// entry or return.
    ///
    /// # Errors
    /// ORA-00205, ORA-00200; ORA-00028 and ORA-01013 while waiting; the error of `f`.
    pub fn change_control<R>(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        f: &mut dyn FnMut(&mut ControlFile) -> Result<R>,
    ) -> Result<R> {
        self.change_control_then(p, Some(enqueues), f, &mut |_| Ok(()))
    }

    /// As [`DataFiles::change_control`], with the enqueues of the instance. A database without an instance has one
    /// process, which needs no lock.
    pub(crate) fn change_own_control<R>(
        &self,
        p: &Process,
        f: &mut dyn FnMut(&mut ControlFile) -> Result<R>,
    ) -> Result<R> {
        self.change_control_then(p, self.enqueues(), f, &mut |_| Ok(()))
    }

    /// The enqueues of the instance.
    pub(crate) fn enqueues(&self) -> Option<&Enqueues> {
        self.enqueues.get()
    }

    /// As [`DataFiles::change_control`]; calls `then` after the change, before another process can change the control
    /// file. `then` must neither wait nor generate redo.
    pub(crate) fn change_control_then<R>(
        &self,
        p: &Process,
        enqueues: Option<&Enqueues>,
        f: &mut dyn FnMut(&mut ControlFile) -> Result<R>,
        then: &mut dyn FnMut(&R) -> Result<()>,
    ) -> Result<R> {
        let lock = match enqueues {
            Some(all) => Some((all, all.get(p, EnqueueType::Cf, 0, 0, LockMode::Exclusive, Timeout::Never)?)),
            None => None,
        };
        let done = self.change_control_held(p, f).and_then(|r| then(&r).map(|()| r));
        if let Some((all, lock)) = lock {
            all.release(p, lock);
        }
        done
    }

    fn change_control_held<R>(&self, p: &Process, f: &mut dyn FnMut(&mut ControlFile) -> Result<R>) -> Result<R> {
        let w = p.wait(Event::ControlFileSequentialRead, 0, 1, 1);
        let old = self.control();
        drop(w);
        let old = old?;
        let mut new = old.clone();
        let r = f(&mut new)?;
        if new != old {
            let _w = p.wait(Event::ControlFileParallelWrite, 1, 1, 1);
            new.write_as(&self.directory, self.disk_sync())?;
        }
        Ok(r)
    }

    /// Registers a clean-up hook that releases the control file of a dead process before its transaction is rolled
    /// back: the rollback generates redo, and LGWR may be waiting for the control file. The hook also lifts the fences
    /// of an interrupted statement that changed files. Called once, by the supervisor, before it forks.
    pub fn register_with(files: &Arc<DataFiles>, all: &Processes, enqueues: &Enqueues) {
        let _ = files.enqueues.set(*enqueues);
        let (files, enqueues) = (Arc::clone(files), *enqueues);
        all.on_death(CleanupOrder::Pins, "control file", move |by, dead| {
            enqueues.release_kind(by, dead, EnqueueType::Cf);
            // A process that waits to add a part has a bitmap pinned that the rollback may need.
            enqueues.release_kind(by, dead, EnqueueType::Ts);
            // The dead process still owns the DD enqueue, so no other process has begun to change files.
            if enqueues.owns_any(dead, EnqueueType::Dd, LockMode::Exclusive) {
                // Other code ends the instance when the control file cannot be read.
                let _ = files.refresh();
            }
        });
    }

    /// Notes in the control file that the database is open (`clean` false) or was shut down at `scn`.
    ///
    /// # Errors
    /// ORA-00205, ORA-00200.
    pub fn set_clean(&self, clean: bool, scn: Scn) -> Result<()> {
        let mut control = self.control()?;
        (control.clean, control.scn) = (clean, scn);
        control.write_as(&self.directory, self.disk_sync())
    }

    /// Number of bitmap blocks in every file of this block size, from block 1 on.
    pub fn bitmap_blocks_of(block_size: usize) -> u32 {
        geometry::bitmap_blocks(block_size)
    }

    /// The first block of every file that can belong to a segment.
    pub fn first_data_block_of(block_size: usize) -> u32 {
        geometry::first_data_block(block_size)
    }

    /// Reads one block and checks it.
    ///
    /// # Errors
    /// ORA-01578 for a damaged block, ORA-01115 when the device fails or the file ends before, ORA-01157 for an unknown
    /// file.
    pub fn read_block(&self, at: Rdba, block: &mut [u8]) -> Result<()> {
        self.read_blocks(at, block)?;
        self.check_block(at, block)
    }

    /// Reads neighbouring blocks at once, unchecked; each must then pass [`DataFiles::check_block`].
    ///
    /// # Errors
    /// ORA-01115 when the device fails or the file ends before, ORA-01157 for an unknown file.
    pub fn read_blocks(&self, at: Rdba, blocks: &mut [u8]) -> Result<()> {
        assert!(blocks.len().is_multiple_of(self.block_size), "whole blocks are read");
        let file = self.file(at.file())?;
        let (shown_file, shown_block) = self.shown(at);
        let failed = |e: os::OsError| {
            Ora::with(1115, &[&shown_file, &shown_block]).because(io_error(27072, "File I/O error", &e))
        };
        file.read_at(blocks, self.position(at)).map_err(failed)
    }

    /// Checks a block that was read.
    ///
    /// # Errors
    /// ORA-01578, with the file's name in ORA-01110 below it.
    pub fn check_block(&self, at: Rdba, block: &[u8]) -> Result<()> {
        let Err(_) = block::check(block, at) else { return Ok(()) };
        let name = self.file(at.file()).map(|f| f.path().display().to_string()).unwrap_or_default();
        let (file, block) = self.shown(at);
        Err(Ora::with(1578, &[&file, &block]).because(Ora::with(1110, &[&file, &name])))
    }

    /// Writes one sealed block. It is on disk only after [`DataFiles::sync`].
    ///
    /// # Errors
    /// As [`DataFiles::write_blocks`].
    pub fn write_block(&self, at: Rdba, block: &[u8]) -> Result<()> {
        assert_eq!(block.len(), self.block_size, "one block is written");
        self.write_blocks(at, block)
    }

    /// Writes neighbouring sealed blocks at once, from `at` on. They are on disk only after [`DataFiles::sync`].
    ///
    /// # Errors
    /// ORA-01114 when the device fails (the system's words in ORA-27072 below it), ORA-01157 for an unknown file.
    pub fn write_blocks(&self, at: Rdba, blocks: &[u8]) -> Result<()> {
        assert!(blocks.len().is_multiple_of(self.block_size), "whole blocks are written");
        for (n, block) in blocks.chunks(self.block_size).enumerate() {
            assert_eq!(BlockView::of_bytes(block).rdba().0, at.0 + n as u32, "a block is written to its own place");
        }
        let file = self.file(at.file())?;
        file.write_at(blocks, self.position(at)).map_err(|e| self.cannot_write(at, &e))
    }

    /// ORA-01114 with the system's words.
    pub(crate) fn cannot_write(&self, at: Rdba, e: &os::OsError) -> Ora {
        let (file, block) = self.shown(at);
        Ora::with(1114, &[&file, &block]).because(io_error(27072, "File I/O error", e))
    }

    /// As [`DataFiles::write_blocks`], of blocks that lie apart in memory.
    ///
    /// # Errors
    /// As [`DataFiles::write_blocks`].
    pub fn write_block_list(&self, at: Rdba, blocks: &[&[u8]]) -> Result<()> {
        for (n, block) in blocks.iter().enumerate() {
            assert_eq!(block.len(), self.block_size, "whole blocks are written");
            assert_eq!(BlockView::of_bytes(block).rdba().0, at.0 + n as u32, "a block is written to its own place");
        }
        let file = self.file(at.file())?;
        file.write_list_at(blocks, self.position(at)).map_err(|e| self.cannot_write(at, &e))
    }

    /// As [`DataFiles::write_block_list`], and starts the transfer to the device at once, because a sync follows soon.
    ///
    /// # Errors
    /// As [`DataFiles::write_blocks`].
    pub fn write_blocks_soon(&self, at: Rdba, blocks: &[&[u8]]) -> Result<()> {
        self.write_block_list(at, blocks)?;
        if self.disk_sync() {
            let position = self.position(at);
            self.file(at.file())?.begin_sync(position, (blocks.len() * self.block_size) as u64);
        }
        Ok(())
    }

    /// Writes bytes to a temporary file that are not blocks of the cache.
    ///
    /// # Errors
    /// As [`DataFiles::write_blocks`].
    pub fn write_raw(&self, at: Rdba, bytes: &[u8]) -> Result<()> {
        assert!(self.is_temporary(at.file()), "only temporary files hold anything but blocks");
        let file = self.file(at.file())?;
        let (mut whole, mut bytes) = (Vec::new(), bytes);
        if file.bypasses_cache() && !bytes.len().is_multiple_of(self.block_size) {
            // The rest of the last block means nothing.
            whole.extend_from_slice(bytes);
            whole.resize(bytes.len().next_multiple_of(self.block_size), 0);
            bytes = &whole;
        }
        file.write_at(bytes, self.position(at)).map_err(|e| self.cannot_write(at, &e))
    }

    /// Writes the first sector of the header block of a file, which the device writes whole, and waits until it is on
    /// the device.
    pub(crate) fn write_start(&self, number: u32, header: &[u8]) -> Result<()> {
        let (file, at) = (self.file(number)?, Rdba::new(number, 0));
        file.write_at(&header[..file.unit_bytes()], self.position(at)).map_err(|e| self.cannot_write(at, &e))?;
        if self.disk_sync() { self.sync_file(number, &file) } else { Ok(()) }
    }

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
    fn sync_live(&self, number: u32, file: &File) -> os::OsResult<()> {
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

    /// Extends a file or part to at least `blocks` blocks of allocated space (R5). On return the new length is on disk,
    /// so redo that mentions it never precedes it.
    ///
    /// # Errors
    /// ORA-01237 when the file cannot grow (the system's words in ORA-27072 below it), ORA-01157 for an unknown file.
    pub fn extend(&self, number: u32, blocks: u32) -> Result<()> {
        let file = self.file(number)?;
        let end = self.begin_of(self.table.place(number).part()) + u64::from(blocks) * self.block_size as u64;
        file.allocate(end).map_err(|e| self.cannot_extend(number, &e))?;
        if self.disk_sync() { self.sync_file(number, &file) } else { Ok(()) }
    }

    /// The size of a file or part in blocks according to the operating system. All parts but the last are full.
    ///
    /// # Errors
    /// ORA-01157 for an unknown file.
    pub fn blocks(&self, number: u32) -> Result<u32> {
        let len = self.file(number)?.len_bytes().map_err(|_| Ora::with(1157, &[&self.shown_file(number)]))?;
        let beyond = len.saturating_sub(self.begin_of(self.table.place(number).part()));
        Ok((beyond / self.block_size as u64).min(self.blocks_most(number).into()) as u32)
    }

    /// The most blocks of a file or part.
    pub fn blocks_most(&self, number: u32) -> u32 {
        if self.table.place(number).is_bigfile() { self.part_blocks } else { Rdba::MAX_BLOCK + 1 }
    }

    /// The ranges of a file that were written: first block and number of blocks. Ranges that are only allocated are
    /// left out when the file system can tell them apart.
    ///
    /// # Errors
    /// ORA-01115 when the device fails, ORA-01157 for an unknown file.
    pub fn written(&self, number: u32) -> Result<Vec<(u32, u32)>> {
        let (file, size) = (self.file(number)?, self.block_size as u64);
        let shown = self.shown_file(number);
        let failed = |e: os::OsError| Ora::with(1115, &[&shown, &0]).because(io_error(27072, "File I/O error", &e));
        let part_begin = self.begin_of(self.table.place(number).part());
        let (mut stretches, mut from) = (Vec::new(), part_begin);
        let most = u64::from(self.blocks(number)?);
        while let Some((begin, end)) = file.next_written(from).map_err(failed)? {
            let first = begin.saturating_sub(part_begin).div_ceil(size);
            let last = (end.saturating_sub(part_begin) / size).min(most);
            if first < last {
                stretches.push((first as u32, (last - first) as u32));
            }
            if last >= most {
                break;
            }
            from = end;
        }
        Ok(stretches)
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
