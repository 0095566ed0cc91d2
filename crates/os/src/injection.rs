//! The place where the crate `faults` stands between the file functions of this crate and the operating system.
//!
//! Without the feature `faults` both functions below are constant and the calls behind them are not compiled. With it a
//! write or a sync of a process that armed no fault costs one load; a read asks nothing.

use std::fs::File as StdFile;
use std::io;
use std::path::Path;

use crate::OsResult;

/// The faults of files that a test injects.
pub trait FileFaults: Send + Sync {
    /// Called before a file grows to `to` bytes; `from` returns its present length.
    ///
    /// # Errors
    /// The disk counts as full (`ENOSPC`).
    fn before_growth(&self, call: &'static str, path: &Path, from: &dyn Fn() -> u64, to: u64) -> OsResult<()>;

    /// Whether a write to this file is lost.
    fn loses(&self, path: &Path) -> bool;

    /// Called before a sync of a file.
    ///
    /// # Errors
    /// The device reports the loss of earlier writes (`EIO`).
    fn before_sync(&self, path: &Path) -> OsResult<()>;

    /// The journal that makes every change of a file, if there is one.
    fn journal(&self) -> Option<&dyn FileJournal>;
}

/// Makes the changes of files in place of this crate and notes what each of them overwrites.
#[allow(clippy::missing_errors_doc)] // Each is the call's own error.
pub trait FileJournal {
    /// Opens a file for writing by `open`; `empties`: the call truncates a file that exists.
    fn open(&self, path: &Path, empties: bool, open: &dyn Fn() -> io::Result<StdFile>) -> OsResult<StdFile>;
    /// Writes all of `buffer` at `position`.
    fn write(&self, file: &StdFile, path: &Path, buffer: &[u8], position: u64) -> OsResult<()>;
    /// Changes the length to `to` by `change`.
    fn change_length(&self, file: &StdFile, path: &Path, to: u64, change: &dyn Fn() -> io::Result<()>) -> OsResult<()>;
    /// Syncs a file.
    fn sync(&self, file: &StdFile, path: &Path) -> OsResult<()>;
    /// Syncs the entries of a directory.
    fn sync_directory(&self, path: &Path) -> OsResult<()>;
    /// Renames a file.
    fn rename(&self, from: &Path, to: &Path) -> OsResult<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> OsResult<()>;
}

#[cfg(feature = "faults")]
mod set {
    use std::sync::OnceLock;

    use super::FileFaults;

    static FAULTS: OnceLock<&'static dyn FileFaults> = OnceLock::new();

    /// Sets the faults of this process and of those it forks later. The first call counts.
    pub fn inject(faults: &'static dyn FileFaults) {
        let _ = FAULTS.set(faults);
    }

    #[inline(always)]
    pub(crate) fn faults() -> Option<&'static dyn FileFaults> {
        FAULTS.get().copied()
    }
}

#[cfg(feature = "faults")]
pub(crate) use set::faults;
#[cfg(feature = "faults")]
pub use set::inject;

#[cfg(not(feature = "faults"))]
#[inline(always)]
pub(crate) fn faults() -> Option<&'static dyn FileFaults> {
    None
}

/// The journal through which this process writes, if one is armed.
#[inline(always)]
pub(crate) fn journal() -> Option<&'static dyn FileJournal> {
    faults()?.journal()
}

/// Asks whether a file may grow to `to` bytes.
#[inline(always)]
pub(crate) fn before_growth(call: &'static str, path: &Path, from: &dyn Fn() -> u64, to: u64) -> OsResult<()> {
    faults().map_or(Ok(()), |f| f.before_growth(call, path, from, to))
}

/// Whether a write to this file is lost.
#[inline(always)]
pub(crate) fn loses(path: &Path) -> bool {
    faults().is_some_and(|f| f.loses(path))
}

/// Asks whether a sync of this file fails.
#[inline(always)]
pub(crate) fn before_sync(path: &Path) -> OsResult<()> {
    faults().map_or(Ok(()), |f| f.before_sync(path))
}
