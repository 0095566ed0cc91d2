//! A full disk: while armed, files cannot grow as long as their database directory has a file named
//! [`DISK_FULL_FILE`].
//!
//! A real full disk needs its own file system, and so rights that a test may not have. The mark is a file, so that a
//! test can fill and empty the disk of a running instance. Overwriting in place succeeds, as on a device: that space is
//! already allocated.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use os::{OsError, OsResult};

use crate::common::DISK_FULL_FILE;

static MARK: OnceLock<PathBuf> = OnceLock::new();

/// Arms the full disk for this process and those it forks later. The first call counts.
pub(crate) fn arm(dir: &Path) {
    let _ = MARK.set(dir.join(DISK_FULL_FILE));
}

/// Fails when a file is about to grow from `from()` to `to` bytes and the disk is full.
///
/// # Errors
/// `ENOSPC`.
pub(crate) fn before_growth(call: &'static str, path: &Path, from: &dyn Fn() -> u64, to: u64) -> OsResult<()> {
    let Some(mark) = MARK.get() else { return Ok(()) };
    if to > from() && mark.exists() {
        return Err(OsError::from_errno(call, format!("{} to {to} bytes", path.display()), libc::ENOSPC));
    }
    Ok(())
}
