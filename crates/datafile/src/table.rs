//! Which files there are, as every process of the instance sees it at once.
//!
//! A word a file number lies in memory that all processes share. Its low half says what the file is (there, temporary,
//! offline, read only, fenced off by a statement), its high half counts how often the number was given to another file,
//! or the file was away and came back, put back from a copy perhaps: a process that still has a descriptor of an
//! earlier one opens the file anew. The control file stays the truth; the words repeat what reading it for each block
//! would cost.

use crate::control::{Contents, ControlFile, FileEntry, TablespaceEntry};
use os::file::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use types::Rdba;

const PRESENT: u64 = 1;
const READ_ONLY: u64 = 2;
const OFFLINE: u64 = 4;
const TEMPORARY: u64 = 8;
/// It was not there, or not itself, when the database was opened; that does not change before the next start.
const MISSING: u64 = 16;
/// A statement keeps others from changing its blocks for the time being; the control file does not say so.
const FENCED: u64 = 32;
/// And from reading them.
const FENCED_OFF: u64 = 64;
/// It is in backup mode: redo has whole blocks of it.
const COPIED: u64 = 128;
/// The tablespace's number, as far as it fits.
const TABLESPACE_SHIFT: u32 = 8;
const TABLESPACE_MASK: u64 = 0xFFFF;
const FLAGS: u64 = 0xFFFF_FFFF;
const INCARNATION: u64 = FLAGS + 1;
/// No file has this number: its word counts how often a file has come back.
const RETURNS: usize = 0;
/// Behind the words of the files: which file has lost what was written to it, and the system's error. Never taken back.
const FAILED: usize = Rdba::MAX_FILE as usize + 1;

/// What is known of a file number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState(u64);

impl FileState {
    pub fn is_present(self) -> bool {
        self.0 & PRESENT != 0
    }
    /// Its blocks are not to be had.
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
    fn incarnation(self) -> u64 {
        self.0 & !FLAGS
    }
}

/// A descriptor of this process, and of which incarnation of the number it is.
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
    /// There is no memory for it.
    pub fn new() -> FileTable {
        let count = Rdba::MAX_FILE as usize + 1;
        let words = os::memory::shared_slice(count + 1).expect("memory for the table of files");
        FileTable { words, open: (0..count).map(|_| RwLock::new(None)).collect() }
    }

    pub fn state(&self, number: u32) -> FileState {
        FileState(self.words.get(number as usize).map_or(0, |w| w.load(Ordering::Acquire)))
    }

    /// The numbers of the files that are there.
    pub fn present(&self) -> impl Iterator<Item = (u32, FileState)> {
        (1..=Rdba::MAX_FILE).map(|n| (n, self.state(n))).filter(|(_, s)| s.is_present())
    }

    /// Repeats what the control file says of a file; a fence stays.
    pub fn set(&self, entry: &FileEntry, tablespace: &TablespaceEntry, is_copied: bool) {
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

    /// Notes, for all processes, that what was written to the file may be lost. The first file counts.
    pub fn fail(&self, number: u32, errno: i32) {
        let word = (errno as u64) << 32 | u64::from(number);
        let _ = self.words[FAILED].compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The file that has lost what was written to it, and the system's error.
    pub fn failed(&self) -> Option<(u32, i32)> {
        let word = self.words[FAILED].load(Ordering::Acquire);
        (word != 0).then_some((word as u32, (word >> 32) as i32))
    }

    /// How often a file that was away has come back.
    pub fn returns(&self) -> u64 {
        self.words[RETURNS].load(Ordering::Acquire)
    }

    /// A file that was missing is what the control file says, from its next change on.
    pub fn find(&self, number: u32) {
        if self.state(number).is_missing() {
            self.words[number as usize].fetch_or(OFFLINE, Ordering::AcqRel);
            self.words[number as usize].fetch_and(!MISSING, Ordering::AcqRel);
        }
    }

    /// Repeats all of the control file: files it does not list are gone.
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

    /// From now on blocks of the file are not changed, and with `reads` not read in either.
    pub fn fence(&self, number: u32, reads: bool) {
        self.words[number as usize].fetch_or(FENCED | if reads { FENCED_OFF } else { 0 }, Ordering::AcqRel);
    }

    /// No file is in backup mode any more.
    pub fn end_copies(&self) {
        for (number, _) in self.present() {
            self.words[number as usize].fetch_and(!COPIED, Ordering::AcqRel);
        }
    }

    /// What the control file says of the files holds again, and nothing else.
    pub fn lift_fences(&self) {
        for (number, state) in self.present() {
            if state.0 & (FENCED | FENCED_OFF) != 0 {
                self.words[number as usize].fetch_and(!(FENCED | FENCED_OFF), Ordering::AcqRel);
            }
        }
    }

    /// The file cannot be used until the next start.
    pub fn miss(&self, number: u32) {
        self.words[number as usize].fetch_or(MISSING, Ordering::AcqRel);
    }

    /// The file is gone.
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

    /// This process's descriptor of the file that has the number now.
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
