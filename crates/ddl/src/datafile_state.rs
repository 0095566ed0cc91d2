//! ALTER DATABASE DATAFILE and TEMPFILE, OFFLINE and ONLINE; CREATE DATAFILE and RENAME FILE.
//!
//! A file goes offline at once (L11), without waiting for transactions: their changes are in the redo, and media
//! recovery applies them before the file comes online again. A rollback skips blocks of an offline file; PMON completes
//! it when the file is online.

use crate::files::files;
use crate::host::Parts;
use crate::work::Work;
use datafile::{CheckpointEntry, Contents, ControlFile, FileEntry, TablespaceEntry, tablespace};
use enqueue::{EnqueueType, Enqueues, LockMode};
use process::Process;
use sql::ast::FileSpec;
use txn::Transactions;
use types::{Ora, Rdba, Result};

fn tablespace_of(control: &ControlFile, file: &FileEntry) -> Result<TablespaceEntry> {
    control.tablespace(file.tablespace).cloned().ok_or_else(|| Ora::internal("a file without a tablespace"))
}

/// Keeps the file from being recovered or dropped for the rest of the statement. ORA-01124.
fn hold(work: &mut Work<'_>, file: &FileEntry) -> Result<()> {
    if work.hold(EnqueueType::Mr, file.file.into(), LockMode::Exclusive)? {
        return Ok(());
    }
    let named = files(&work.host.parts()).named(file);
    Err(Ora::with(1124, &[&file.file]).because(named))
}

/// OFFLINE, and OFFLINE FOR DROP. No effect on an offline file.
///
/// # Errors
/// ORA-01541 and ORA-30042 for files of the dictionary and of undo, ORA-01145 without FOR DROP in NOARCHIVELOG mode.
pub fn take_offline(work: &mut Work<'_>, file: &FileEntry, for_drop: bool) -> Result<()> {
    let control = work.control()?;
    let of = tablespace_of(&control, file)?;
    if of.number == tablespace::SYSTEM {
        return Err(Ora::new(1541));
    }
    if of.contents == Contents::Undo {
        return Err(Ora::new(30042));
    }
    let is_temporary = of.contents == Contents::Temporary;
    if file.is_offline || of.is_offline {
        return Ok(());
    }
    if !control.archivelog && !for_drop && !is_temporary {
        return Err(Ora::new(1145));
    }
    hold(work, file)?;
    let parts = work.host.parts();
    let enqueues = parts.dict.shared().enqueues();
    // A file of a read-only tablespace has had no redo since its header was written.
    let own: Vec<_> =
        control.parts_of(file.file).iter().filter_map(|f| files(&parts).closed_checkpoint(f).ok()).collect();
    let is_same = own.len() == control.parts_of(file.file).len() && own.iter().all(|at| at.rba == own[0].rba);
    let unchanged = if of.is_read_only && is_same { own.first().copied() } else { None };
    files(&parts).take_offline(parts.p, enqueues, file.file)?;
    if let Some(at) = unchanged {
        let stop = CheckpointEntry { rba: at.rba, scn: types::Scn(at.scn), time_s: at.time_s };
        files(&parts).note_stop(parts.p, enqueues, file.file, stop)?;
    }
    // The recovery of the file discards buffers that are still in use.
    let _ = settle_offline(parts.storage.heap.transactions(), parts.p, enqueues, file.file);
    Ok(())
}

/// Completes the changes in progress of a file that has just gone offline, discards its buffers, and notes the end of
/// its redo. No effect if that is noted already.
///
/// Waits for pins and writes in progress, and for redo to be written.
///
/// # Errors
/// ORA-00379 when a buffer stays in use; errors of writes and of the control file.
pub fn settle_offline(txns: &Transactions, p: &Process, enqueues: &Enqueues, file: u32) -> Result<()> {
    let cache = txns.cache();
    let control = cache.files().control()?;
    let parts: Vec<u32> = control.parts_of(file).iter().map(|f| f.file).collect();
    cache.discard(p, &|at: Rdba| parts.contains(&at.file()))?;
    faults::point("file-discarded");
    if cache.files().is_temporary(file) || parts.iter().all(|n| control.stop_of(*n).is_some()) {
        return Ok(());
    }
    // No process has a block of the file now, and none can get one: all redo of the file is before this checkpoint, and
    // on disk after it.
    let rba = cache.checkpoint(p)?.rba.0;
    let time_s = (os::clock::wall_ns() / 1_000_000_000) as u32;
    cache.files().note_stop(p, enqueues, file, CheckpointEntry { rba, scn: txns.current_scn(), time_s })
}

/// ONLINE. No effect on an online file.
///
/// # Errors
/// ORA-01113 when the file needs media recovery; errors of a file that is missing or not the expected one.
pub fn bring_online(work: &mut Work<'_>, file: &FileEntry) -> Result<()> {
    let parts = work.host.parts();
    let is_missing = files(&parts).missing().contains(&file.file);
    if !file.is_offline && !is_missing {
        return Ok(());
    }
    hold(work, file)?;
    let Parts { p, storage, dict, .. } = work.host.parts();
    let txns = storage.heap.transactions();
    let cache = txns.cache();
    // Blocks written by recovery are logged whole at their next change, as after any checkpoint.
    let control = cache.files().control()?;
    let parts: Vec<u32> = control.parts_of(file.file).iter().map(|f| f.file).collect();
    cache.discard(p, &|at: Rdba| parts.contains(&at.file()))?;
    cache.flush(p)?;
    cache.files().bring_online(p, dict.shared().enqueues(), file.file)
}

/// A file can be renamed or recreated only while it is not in use.
fn require_away(work: &mut Work<'_>, file: &FileEntry, code: u32) -> Result<()> {
    hold(work, file)?;
    let parts = work.host.parts();
    if files(&parts).is_away(file.file) {
        return Ok(());
    }
    Err(Ora::with(code, &[&file.file]).because(files(&parts).named(file)))
}

/// CREATE DATAFILE: creates an empty file for a lost one without a copy; recovery from its creation on fills it.
///
/// # Errors
/// ORA-01182 for a file in use; ORA-01119 when the file cannot be created.
pub fn recreate(work: &mut Work<'_>, file: &FileEntry, new: Option<&FileSpec>) -> Result<()> {
    require_away(work, file, 1182)?;
    let name = new.and_then(|spec| spec.name.clone());
    let entry = FileEntry { name: name.unwrap_or_else(|| file.name.clone()), ..file.clone() };
    require_unused(work, &entry)?;
    let parts = work.host.parts();
    files(&parts).replace_lost(parts.p, parts.dict.shared().enqueues(), entry.file, &entry.name)
}

/// RENAME FILE: the file was moved, or its copy is elsewhere.
///
/// # Errors
/// ORA-01121 for a file in use, ORA-01141 when the new name does not exist; errors of a file that is not the expected
/// one.
pub fn rename(work: &mut Work<'_>, file: &FileEntry, to: &str) -> Result<()> {
    let renamed = |e: Ora| Ora::new(1511).because(e);
    require_away(work, file, 1121).map_err(renamed)?;
    let entry = FileEntry { name: to.to_owned(), ..file.clone() };
    require_unused(work, &entry).map_err(renamed)?;
    let parts = work.host.parts();
    if !os::file::exists(&files(&parts).directory().join(to)) {
        let named = files(&parts).named(file);
        return Err(renamed(Ora::with(1141, &[&file.file, &to]).because(named)));
    }
    let control = files(&parts).control()?;
    for part in control.parts_of(entry.file) {
        let moved = FileEntry { name: entry.name.clone(), ..part.clone() };
        files(&parts).closed_checkpoint(&moved).map_err(renamed)?;
    }
    files(&parts).rename_file(parts.p, parts.dict.shared().enqueues(), entry.file, &entry.name)
}

/// ORA-01537 when another file of the database has that name, ORA-02236 for a name that the control file cannot have.
fn require_unused(work: &mut Work<'_>, entry: &FileEntry) -> Result<()> {
    datafile::require_name(&entry.name)?;
    let control = work.control()?;
    let parts = work.host.parts();
    let path = |f: &FileEntry| files(&parts).directory().join(&f.name);
    let other = control.heads().any(|f| f.file != entry.file && path(f) == path(entry));
    if other { Err(Ora::with(1537, &[&path(entry).display()])) } else { Ok(()) }
}
