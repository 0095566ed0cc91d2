//! The data files of a database: their states, their settings, and the numbers that users see.

use crate::control::{ControlFile, FileEntry};
use crate::double_write::DoubleWrite;
use crate::error::io_error;
use crate::geometry;
use crate::table::{FileState, FileTable};
use enqueue::Enqueues;
use os::file::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use types::{Ora, Rdba, Result};

/// The data files of a database, open in this process. Descriptors are inherited by `fork`; a file that was added later
/// is opened at its first use.
pub struct DataFiles {
    pub(super) directory: PathBuf,
    pub(super) database: u64,
    pub(super) block_size: usize,
    /// Blocks of a part of a bigfile.
    pub(super) part_blocks: u32,
    pub(crate) table: FileTable,
    /// The most data files, and the most temporary files. Set before the first fork.
    pub(super) files_max: AtomicU32,
    /// Files are read and written past the page cache. Set before the first fork.
    pub(super) bypasses_cache: AtomicBool,
    /// Writes are synced to the device. Set before the first fork.
    pub(super) disk_sync: AtomicBool,
    /// Files grow without allocated space. Set before the first fork.
    pub(super) is_transient: AtomicBool,
    /// The first change of a block behind a checkpoint is logged as the whole block. Set before the first fork.
    pub(super) whole_blocks: AtomicBool,
    pub(crate) area: OnceLock<DoubleWrite>,
    /// Opened read-only: files are opened for reading, and the control file is not changed.
    pub(super) read_only: bool,
    /// The control file of a database that has no control file on disk yet.
    pub(super) listed: Option<ControlFile>,
    /// Set before the first fork; none in a database without an instance.
    pub(super) enqueues: OnceLock<Enqueues>,
    /// The control file as this process read it last: its bytes and their contents.
    pub(super) last: Mutex<Option<(Vec<u8>, ControlFile)>>,
}

impl DataFiles {
    pub(crate) fn over(directory: &Path, control: &ControlFile) -> DataFiles {
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
            is_transient: AtomicBool::new(false),
            whole_blocks: AtomicBool::new(true),
            area: OnceLock::new(),
            read_only: false,
            listed: None,
            enqueues: OnceLock::new(),
            last: Mutex::new(None),
        }
    }

    /// True when the database was opened read-only.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// ORA-01237 with the system's words.
    pub(super) fn cannot_extend(&self, number: u32, e: &os::OsError) -> Ora {
        Ora::with(1237, &[&self.shown_file(number)]).because(io_error(27072, "File I/O error", e))
    }

    /// The byte of the operating system's file at which a part begins (R12).
    pub(crate) fn begin_of(&self, part: u32) -> u64 {
        u64::from(part) * u64::from(self.part_blocks) * self.block_size as u64
    }

    /// The byte of the operating system's file at which a block begins.
    pub(crate) fn position(&self, at: Rdba) -> u64 {
        self.begin_of(self.table.place(at.file()).part()) + u64::from(at.block()) * self.block_size as u64
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
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

    /// ORA-01110 with the file's name, to be added below another error.
    pub fn named(&self, f: &FileEntry) -> Ora {
        Ora::with(1110, &[&f.head(), &self.path(&f.name).display()])
    }

    /// ORA-00376 with the file's name, or ORA-01157 for a file that was missing when the database was opened.
    pub(super) fn offline(&self, number: u32) -> Ora {
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

    /// Sets whether writes are synced to the device. Without syncs a database survives the death of its processes, but
    /// not a crash of the machine. Must be called before the first fork.
    pub fn set_disk_sync(&self, sync: bool) {
        self.disk_sync.store(sync, Ordering::Relaxed);
    }

    /// True when writes are synced to the device.
    pub fn disk_sync(&self) -> bool {
        self.disk_sync.load(Ordering::Relaxed)
    }

    /// Sets whether the database ends with its instance. Its files grow without allocated space, so that they take only
    /// the memory of what is written. Must be called before the first fork.
    pub fn set_transient(&self, is_transient: bool) {
        self.is_transient.store(is_transient, Ordering::Relaxed);
    }

    /// Makes a file at least `len` bytes long (R5). Several processes may lengthen it at the same time.
    ///
    /// # Errors
    /// The device is full, or the file would pass a limit.
    pub(crate) fn lengthen(&self, file: &File, len: u64) -> os::OsResult<()> {
        if self.is_transient.load(Ordering::Relaxed) { file.lengthen_with_hole(len) } else { file.allocate(len) }
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

    /// The enqueues of the instance.
    pub(crate) fn enqueues(&self) -> Option<&Enqueues> {
        self.enqueues.get()
    }

    /// Number of bitmap blocks in every file of this block size, from block 1 on.
    pub fn bitmap_blocks_of(block_size: usize) -> u32 {
        geometry::bitmap_blocks(block_size)
    }

    /// The first block of every file that can belong to a segment.
    pub fn first_data_block_of(block_size: usize) -> u32 {
        geometry::first_data_block(block_size)
    }

    /// The most blocks of a file or part.
    pub fn blocks_most(&self, number: u32) -> u32 {
        if self.table.place(number).is_bigfile() { self.part_blocks } else { Rdba::MAX_BLOCK + 1 }
    }
}
