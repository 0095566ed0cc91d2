//! A device that loses writes to a file: the writes are dropped, and the next sync reports it, once.
//!
//! Linux reports a failed write-back in this way: the first sync returns the error, the pages are clean from then on,
//! and later syncs succeed. While armed, the file named in the file [`DEVICE_FAILS_FILE`] of the database directory
//! loses its writes until a sync of it has failed.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use os::{OsError, OsResult};

use crate::common::DEVICE_FAILS_FILE;

static MARK: OnceLock<PathBuf> = OnceLock::new();

/// Arms the failing device for this process and those it forks later. The first call counts.
pub(crate) fn arm(dir: &Path) {
    let _ = MARK.set(dir.join(DEVICE_FAILS_FILE));
}

/// Whether a write to `path` now is lost.
pub(crate) fn loses(path: &Path) -> bool {
    let Some(mark) = MARK.get() else { return false };
    std::fs::read_to_string(mark)
        .is_ok_and(|name| path.file_name().is_some_and(|own| own.to_str() == Some(name.trim())))
}

/// Fails once, when writes of the file were lost.
///
/// # Errors
/// `EIO`.
pub(crate) fn before_sync(path: &Path) -> OsResult<()> {
    if loses(path) && MARK.get().is_some_and(|mark| std::fs::remove_file(mark).is_ok()) {
        return Err(OsError::from_errno("fdatasync", path.display().to_string(), libc::EIO));
    }
    Ok(())
}
