//! A device that loses what was written to a file, for tests: the writes go nowhere, and the next sync says so, once.
//!
//! That is how Linux reports a failed write-back: whoever syncs first is told, the pages are clean from then on, and
//! later syncs succeed. While armed, the file in the database directory that [`MARK`] names there loses what is written
//! to it, until a sync of it has failed. Nothing but one relaxed load happens while nothing is armed.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{OsError, OsResult};

/// The file that names the one that loses its writes.
pub const MARK: &str = "device_fails";

static ARMED: AtomicBool = AtomicBool::new(false);
static PLACE: OnceLock<PathBuf> = OnceLock::new();

/// Arms the layer for this process and those it forks later. The first call counts.
pub fn arm(dir: &Path) {
    let _ = PLACE.set(dir.join(MARK));
    ARMED.store(true, Ordering::Relaxed);
}

/// Whether what is written to `path` now is lost.
#[inline(always)]
pub(crate) fn loses(path: &Path) -> bool {
    ARMED.load(Ordering::Relaxed) && is_marked(path)
}

/// The error of a sync that is told of lost writes: the only one that is.
///
/// # Errors
/// `EIO`.
#[inline(always)]
pub(crate) fn sync(path: &Path) -> OsResult<()> {
    if ARMED.load(Ordering::Relaxed)
        && is_marked(path)
        && PLACE.get().is_some_and(|mark| std::fs::remove_file(mark).is_ok())
    {
        return Err(OsError::from_errno("fdatasync", path.display().to_string(), libc::EIO));
    }
    Ok(())
}

#[cold]
fn is_marked(path: &Path) -> bool {
    let Some(mark) = PLACE.get() else { return false };
    std::fs::read_to_string(mark)
        .is_ok_and(|name| path.file_name().is_some_and(|own| own.to_str() == Some(name.trim())))
}
