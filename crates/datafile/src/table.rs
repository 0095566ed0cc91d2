//! The states of all files, visible to every process of the instance at once.
//!
//! Shared memory has one word for each file number. Its low half holds the state of the file (present, temporary,
//! offline, read only, fenced by a statement). Its high half counts how often the number was given to another file or
//! the file came back, perhaps restored from a copy: a process whose descriptor has an older count opens the file
//! again. The control file is authoritative; the words save reading it for each block. A second word for each number
//! has its place in a bigfile.

use crate::control::{Contents, ControlFile, FileEntry, TablespaceEntry};
use os::file::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use types::Rdba;

const PRESENT: u64 = 1;
const READ_ONLY: u64 = 2;
const OFFLINE: u64 = 4;
const TEMPORARY: u64 = 8;
/// The file was missing or foreign when the database was opened; this lasts until the next start.
const MISSING: u64 = 16;
/// A statement prevents changes of its blocks for the time being; the control file does not have this state.
const FENCED: u64 = 32;
/// The statement also prevents reads.
const FENCED_OFF: u64 = 64;
/// The file is in backup mode: redo contains whole blocks of it.
const COPIED: u64 = 128;
/// The number of the tablespace, as far as it fits.
const TABLESPACE_SHIFT: u32 = 8;
const TABLESPACE_MASK: u64 = 0xFFFF;
const FLAGS: u64 = 0xFFFF_FFFF;
const INCARNATION: u64 = FLAGS + 1;
/// No file has number 0: its word counts how often files have come back.
const RETURNS: usize = 0;
/// The word behind those of the files: the file that lost a write, and the system's error. Never reset.
const FAILED: usize = Rdba::MAX_FILE as usize + 1;
/// The first of the words with the places of the numbers in bigfiles.
const PLACES: usize = FAILED + 1;

/// The place of a file number in its file: the number of the file's first part, and the number of the part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Place {
    const NUMBER: u64 = 0xFFFF;
    const PART_SHIFT: u32 = 16;
    const BIGFILE: u64 = 1 << 32;

    fn of(entry: &FileEntry, is_bigfile: bool) -> Place {
        let bigfile = if is_bigfile { Place::BIGFILE } else { 0 };
        Place(u64::from(entry.head()) | u64::from(entry.part) << Place::PART_SHIFT | bigfile)
    }

    /// The number of the part; 0 for a smallfile.
    pub fn part(self) -> u32 {
        (self.0 >> Place::PART_SHIFT & Place::NUMBER) as u32
    }

    /// The number of the file's first part, for the file number `own`.
    pub fn head(self, own: u32) -> u32 {
        if self.part() == 0 { own } else { (self.0 & Place::NUMBER) as u32 }
    }

    pub fn is_bigfile(self) -> bool {
        self.0 & Place::BIGFILE != 0
    }
}

/// The state of a file number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState(u64);

impl FileState {
    pub fn is_present(self) -> bool {
        self.0 & PRESENT != 0
    }
    /// Its blocks cannot be used.
    pub fn is_offline(self) -> bool {
        self.0 & (OFFLINE | MISSING | FENCED_OFF) != 0
    }
    pub fn is_missing(self) -> bool {
        self.0 & MISSING != 0
    }
    pub fn is_read_only(self) -> bool {
        self.0 & (READ_ONLY | FENCED) != 0
    }
    pub fn is_temporary(self) -> bool {
        self.0 & TEMPORARY != 0
    }
    pub fn is_copied(self) -> bool {
        self.0 & COPIED != 0
    }
    pub fn tablespace(self) -> u32 {
        (self.0 >> TABLESPACE_SHIFT & TABLESPACE_MASK) as u32
    }
    /// Counts how often the number was given to another file, or the file came back.
    pub fn incarnation(self) -> u64 {
        self.0 & !FLAGS
    }
}

/// A descriptor of this process, and the incarnation of the file number for which it was opened.
type Slot = RwLock<Option<(u64, Arc<File>)>>;

/// The files of a database.
pub(crate) struct FileTable {
    words: &'static [AtomicU64],
    open: Vec<Slot>,
}

impl FileTable {
    /// A table without files.
    ///
    /// # Panics
    /// No memory is available.
    pub fn new() -> FileTable {
        let count = Rdba::MAX_FILE as usize + 1;
        let words = os::memory::shared_slice(PLACES + count).expect("memory for the table of files");
        FileTable { words, open: (0..count).map(|_| RwLock::new(None)).collect() }
    }

    pub fn state(&self, number: u32) -> FileState {
        FileState(self.words.get(number as usize).map_or(0, |w| w.load(Ordering::Acquire)))
    }

    /// The place of a number in its file. Set before the number is present.
    pub fn place(&self, number: u32) -> Place {
        let word = self.words.get(PLACES + number as usize).filter(|_| number <= Rdba::MAX_FILE);
        Place(word.map_or(0, |w| w.load(Ordering::Relaxed)))
    }

    /// The numbers and states of the files that are present.
    pub fn present(&self) -> impl Iterator<Item = (u32, FileState)> {
        (1..=Rdba::MAX_FILE).map(|n| (n, self.state(n))).filter(|(_, s)| s.is_present())
    }

    /// Sets the state of a file from the control file; a fence stays.
    pub fn set(&self, entry: &FileEntry, tablespace: &TablespaceEntry, is_copied: bool) {
        // Ordered before the state by the release of its word.
        let place = Place::of(entry, tablespace.is_bigfile);
        self.words[PLACES + entry.file as usize].store(place.0, Ordering::Relaxed);
        let mut says = PRESENT | (u64::from(tablespace.number) & TABLESPACE_MASK) << TABLESPACE_SHIFT;
        if tablespace.is_read_only {
            says |= READ_ONLY;
        }
        if tablespace.is_offline || entry.is_offline {
            says |= OFFLINE;
        }
        if tablespace.contents == Contents::Temporary {
            says |= TEMPORARY;
        }
        if is_copied {
            says |= COPIED;
        }
        let comes_back = |old: u64| old & (OFFLINE | MISSING) != 0 && (old & MISSING | says & OFFLINE) == 0;
        let changed = self.words[entry.file as usize].fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| {
            let word = old & !FLAGS | old & (MISSING | FENCED | FENCED_OFF) | says;
            Some(if old & PRESENT == 0 || comes_back(old) { word.wrapping_add(INCARNATION) } else { word })
        });
        if changed.is_ok_and(comes_back) {
            self.words[RETURNS].fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Records for all processes that a write to the file may be lost. Only the first file is recorded.
    pub fn fail(&self, number: u32, errno: i32) {
        let word = (errno as u64) << 32 | u64::from(number);
        let _ = self.words[FAILED].compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The file that has lost a write, and the system's error.
    pub fn failed(&self) -> Option<(u32, i32)> {
        let word = self.words[FAILED].load(Ordering::Acquire);
        (word != 0).then_some((word as u32, (word >> 32) as i32))
    }

    /// Number of times that an unusable file has come back.
    pub fn returns(&self) -> u64 {
        self.words[RETURNS].load(Ordering::Acquire)
    }

    /// Ends the state MISSING of a file; it is offline until the control file sets its state.
    pub fn find(&self, number: u32) {
        if self.state(number).is_missing() {
            self.words[number as usize].fetch_or(OFFLINE, Ordering::AcqRel);
            self.words[number as usize].fetch_and(!MISSING, Ordering::AcqRel);
        }
    }

    /// Sets the states of all files from the control file; files that it does not list are gone.
    pub fn set_all(&self, control: &ControlFile) {
        for (number, _) in self.present() {
            if control.file(number).is_none() {
                self.forget(number);
            }
        }
        for entry in &control.files {
            if let Some(tablespace) = control.tablespace(entry.tablespace) {
                self.set(entry, tablespace, control.is_copied(entry.file));
            }
        }
    }

    /// Prevents changes of blocks of the file, and with `reads` also reads.
    pub fn fence(&self, number: u32, reads: bool) {
        self.words[number as usize].fetch_or(FENCED | if reads { FENCED_OFF } else { 0 }, Ordering::AcqRel);
    }

    /// Ends backup mode for all files.
    pub fn end_copies(&self) {
        for (number, _) in self.present() {
            self.words[number as usize].fetch_and(!COPIED, Ordering::AcqRel);
        }
    }

    /// Lifts all fences.
    pub fn lift_fences(&self) {
        for (number, state) in self.present() {
            if state.0 & (FENCED | FENCED_OFF) != 0 {
                self.words[number as usize].fetch_and(!(FENCED | FENCED_OFF), Ordering::AcqRel);
            }
        }
    }

    /// Marks the file as unusable until the next start.
    pub fn miss(&self, number: u32) {
        self.words[number as usize].fetch_or(MISSING, Ordering::AcqRel);
    }

    /// Removes the file.
    pub fn forget(&self, number: u32) {
        let old = self.state(number);
        self.words[number as usize].store(old.incarnation(), Ordering::Release);
        self.close(number);
    }

    /// Closes this process's descriptor.
    fn close(&self, number: u32) {
        if let Ok(mut slot) = self.open[number as usize].write() {
            *slot = None;
        }
    }

    /// This process's descriptor, if it belongs to the file that has the number now.
    pub fn opened(&self, number: u32) -> Option<Arc<File>> {
        let state = self.state(number);
        let slot = self.open.get(number as usize)?.read().ok()?;
        slot.as_ref().filter(|(of, _)| *of == state.incarnation()).map(|(_, file)| Arc::clone(file))
    }

    /// Keeps a descriptor of the file that has the number now.
    pub fn keep(&self, number: u32, file: File) -> Arc<File> {
        let file = Arc::new(file);
        if let Ok(mut slot) = self.open[number as usize].write() {
            *slot = Some((self.state(number).incarnation(), Arc::clone(&file)));
        }
        file
    }
}
