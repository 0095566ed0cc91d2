//! A device that loses writes to a file, for tests: the writes are dropped, and the next sync reports it, once.
//!
//! Linux reports a failed write-back in this way: the first sync returns the error, the pages are clean from then on,
//! and later syncs succeed. While armed, the file named in the file [`MARK`] of the database directory
//! loses its writes until a sync of it has failed. While not armed the cost is one relaxed load.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{OsError, OsResult};

/// The file that contains the name of the file whose writes are lost.
pub const MARK: &str = "device_fails";

static ARMED: AtomicBool = AtomicBool::new(false);
static PLACE: OnceLock<PathBuf> = OnceLock::new();

/// Arms the layer for this process and those it forks later. The first call counts.
pub fn arm(dir: &Path) {
    let _ = PLACE.set(dir.join(MARK));
    ARMED.store(true, Ordering::Relaxed);
}

/// Whether a write to `path` now is lost.
#[inline(always)]
pub(crate) fn loses(path: &Path) -> bool {
    ARMED.load(Ordering::Relaxed) && is_marked(path)
}

/// Fails once, when writes of the file were lost.
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
