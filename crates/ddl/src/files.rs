//! The files of tablespaces: fences against other sessions, removal, and changes of the control file.

use crate::host::{Host, Parts};
use datafile::{Contents, DataFiles, TablespaceEntry};
use types::{Ora, Rdba, Result};

pub fn files<'p>(parts: &'p Parts<'_>) -> &'p DataFiles {
    parts.storage.heap.transactions().cache().files()
}

/// Keeps other sessions from temporary files, and makes sure that none of their extents has an owner. The fences are
/// lifted if the statement fails.
///
/// # Errors
/// ORA-25152.
pub fn require_unused(host: &mut dyn Host, numbers: &[u32]) -> Result<()> {
    let parts = host.parts();
    let temp = parts.storage.heap.transactions().space().temp();
    let is_used = || numbers.iter().any(|n| temp.is_used(*n));
    // The first look spares the sessions that use the files: the fence would make their reads and writes fail.
    if is_used() {
        return Err(Ora::new(25152));
    }
    numbers.iter().for_each(|n| files(&parts).fence_off(*n));
    if is_used() { Err(Ora::new(25152)) } else { Ok(()) }
}

/// Removes the files that a failed statement has made. A temporary file that another session has begun to use stays.
pub fn take_back_files(host: &mut dyn Host, made: &[u32]) -> Result<()> {
    let mut numbers = made.to_vec();
    numbers.retain(|n| !files(&host.parts()).is_temporary(*n) || require_unused(host, &[*n]).is_ok());
    if numbers.is_empty() { Ok(()) } else { drop_files(host, &numbers, true) }
}

/// Removes files from the database and their blocks from the cache. No process has an extent of a temporary one. The
/// commit of the removal is on disk first. Waits: `log file sync`.
pub fn drop_files(host: &mut dyn Host, numbers: &[u32], delete: bool) -> Result<()> {
    let parts = host.parts();
    let txns = parts.storage.heap.transactions();
    txns.sync_commits(parts.p)?;
    faults::point("files-going");
    forget_undo(host, numbers)?;
    let parts = host.parts();
    let txns = parts.storage.heap.transactions();
    let cache = txns.cache();
    numbers.iter().for_each(|n| cache.files().fence_off(*n));
    cache.discard(parts.p, &|at: Rdba| numbers.contains(&at.file()))?;
    let dropped = cache.redo_on_disk();
    cache.files().drop_files(parts.p, parts.dict.shared().enqueues(), numbers, delete, dropped)?;
    numbers.iter().for_each(|n| txns.space().temp().forget(parts.p, *n));
    Ok(())
}

pub fn change(host: &mut dyn Host, entry: &TablespaceEntry, f: &mut dyn FnMut(&mut TablespaceEntry)) -> Result<()> {
    let parts = host.parts();
    files(&parts).change_tablespace(parts.p, parts.dict.shared().enqueues(), entry.number, f)
}

/// Closes an undo tablespace if all of its files are among those that are removed.
///
/// # Errors
/// ORA-30013 when it is in use.
fn forget_undo(host: &mut dyn Host, numbers: &[u32]) -> Result<()> {
    let parts = host.parts();
    let control = files(&parts).control()?;
    let goes = |t: &&TablespaceEntry| {
        let mut files = control.files.iter().filter(|f| f.tablespace == t.number);
        t.contents == Contents::Undo && files.all(|f| numbers.contains(&f.file))
    };
    for entry in control.tablespaces.iter().filter(goes) {
        parts.storage.heap.transactions().forget_undo_tablespace(entry.number, &entry.name)?;
        faults::point("undo-forgotten");
    }
    Ok(())
}
