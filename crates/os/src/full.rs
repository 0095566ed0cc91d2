//! A full disk, for tests: while armed, files cannot grow as long as their database directory has a file named
//! [`MARK`].
//! A real full disk needs its own file system, and so rights that a test may not have. The mark is a file, so that a
//! test can fill and empty the disk of a running instance. Overwriting in place succeeds, as on a device: that space is
//! already allocated. While not armed the cost is one relaxed load.
//! armed.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{OsError, OsResult};

/// While this file exists, the disk counts as full.
pub const MARK: &str = "disk_full";

static ARMED: AtomicBool = AtomicBool::new(false);
static PLACE: OnceLock<PathBuf> = OnceLock::new();

/// Arms the layer for this process and those it forks later. The first call counts.
pub fn arm(dir: &Path) {
    let _ = PLACE.set(dir.join(MARK));
    ARMED.store(true, Ordering::Relaxed);
}

/// Fails when a file is about to grow from `from` to `to` bytes and the disk is full.
///
/// # Errors
/// `ENOSPC`.
#[inline(always)]
pub(crate) fn grow(call: &'static str, path: &Path, from: impl FnOnce() -> u64, to: u64) -> OsResult<()> {
    if ARMED.load(Ordering::Relaxed) { grow_armed(call, path, from(), to) } else { Ok(()) }
}

#[cold]
fn grow_armed(call: &'static str, path: &Path, from: u64, to: u64) -> OsResult<()> {
    if to > from && PLACE.get().is_some_and(|mark| mark.exists()) {
        return Err(OsError::from_errno(call, format!("{} to {to} bytes", path.display()), libc::ENOSPC));
    }
    Ok(())
}
