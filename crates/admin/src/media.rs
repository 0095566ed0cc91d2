//! ALTER DATABASE RECOVER: media recovery of offline files, while the database is open.
//!
//! The session's own process recovers the files, each under its MR enqueue (invariant 4). The control file lists the
//! archived copies and the online logs. If an online log is reused while recovery reads it, an archived copy exists by
//! then, so a failed recovery is repeated with the logs of the present control file.

use crate::administrator::Administrator;
use datafile::{ControlFile, FileEntry};
use dictionary::SystemPrivilege;
use enqueue::{EnqueueError, EnqueueType, LockMode, Timeout};
use recovery::{FileRecovery, Outcome, recover_file};
use sql::ast::{FileRef, RecoverTarget};
use types::{Facility, Ora, Result};

/// Memory for the blocks of a recovery, in bytes.
const MEMORY_BYTES: usize = 64 << 20;

/// The largest number of attempts of a recovery while logs are archived and reused.
const TRIES: u32 = 5;

/// Recovers files.
///
/// Waits: never for an MR enqueue; `enq: DD - contention` for a file that has not gone offline completely; those of the
/// control file.
///
/// # Errors
/// ORA-01031; ORA-00959; ORA-00283, followed by the reason: ORA-01124 for a file in use, ORA-00264 for a file that
/// needs no recovery, ORA-01179 for a missing file, or an error of recovery.
pub fn recover(a: &dyn Administrator, target: &RecoverTarget) -> Result<()> {
    a.require(SystemPrivilege::AlterDatabase)?;
    let files = a.instance().storage().cache.files();
    let control = files.control()?;
    let canceled = |e: Ora| Ora::new(283).because(e);
    match target {
        RecoverTarget::Database => {
            let first = control.heads().next().ok_or_else(|| Ora::internal("a database without files"))?;
            Err(canceled(in_use(a, first)))
        }
        RecoverTarget::Files(list) => {
            let chosen: Vec<FileEntry> =
                list.iter().map(|file| named(a, &control, file).map_err(canceled)).collect::<Result<_>>()?;
            chosen.iter().try_for_each(|f| recover_one(a, f).map_err(canceled))
        }
        RecoverTarget::Tablespaces(names) => {
            let mut chosen = Vec::new();
            for name in names {
                let of = control.tablespace_named(&name.name);
                let of = of.ok_or_else(|| Ora::with(959, &[&name.name]).at(name.pos.0))?;
                let mine = || control.heads().filter(|f| f.tablespace == of.number);
                if let Some(f) = mine().find(|f| !files.is_away(f.file)) {
                    return Err(canceled(in_use(a, f)));
                }
                chosen.extend(mine().cloned());
            }
            let done: Vec<Result<()>> = chosen.iter().map(|f| recover_one(a, f)).collect();
            let is_idle = |done: &Result<()>| done.as_ref().is_err_and(|e| e.is(264));
            let idle = done.iter().all(is_idle);
            done.into_iter()
                .filter(|one| idle || !is_idle(one))
                .collect::<Result<Vec<()>>>()
                .map(drop)
                .map_err(canceled)
        }
    }
}

/// ORA-01124, with the name of the file.
fn in_use(a: &dyn Administrator, file: &FileEntry) -> Ora {
    Ora::with(1124, &[&file.head()]).because(a.instance().storage().cache.files().named(file))
}

/// Finds a file by its number or name; otherwise ORA-01179.
fn named(a: &dyn Administrator, control: &ControlFile, file: &FileRef) -> Result<FileEntry> {
    let directory = a.instance().storage().cache.files().directory();
    let found = ddl::file_meant(control, directory, file).cloned();
    found.ok_or_else(|| Ora::with(1179, &[&ddl::shown_file(file)]))
}

fn recover_one(a: &dyn Administrator, file: &FileEntry) -> Result<()> {
    let (p, enqueues) = (a.process(), a.enqueues());
    let lock = match enqueues.get(p, EnqueueType::Mr, file.file.into(), 0, LockMode::Exclusive, Timeout::NoWait) {
        Ok(lock) => lock,
        Err(EnqueueError::Busy) => return Err(in_use(a, file)),
        Err(e) => return Err(e.into()),
    };
    let done = settled(a, file.file).and_then(|control| roll(a, control, file.file));
    enqueues.release(p, lock);
    done
}

/// Completes taking the file offline: no buffer of the file is left in the cache, and the control file has the end of
/// its redo. Returns the control file after that.
fn settled(a: &dyn Administrator, number: u32) -> Result<ControlFile> {
    let (p, enqueues, storage) = (a.process(), a.enqueues(), a.instance().storage());
    let files = storage.cache.files();
    let control = files.control()?;
    let file = control.file(number).ok_or_else(|| Ora::with(1179, &[&number]))?;
    if !files.is_away(number) {
        return Err(in_use(a, file));
    }
    let went_with_tablespace = control.tablespace(file.tablespace).is_some_and(|t| t.is_offline) && !file.is_offline;
    let has_stops = control.parts_of(number).iter().all(|f| control.stop_of(f.file).is_some());
    if (went_with_tablespace || file.is_offline) && has_stops {
        return Ok(control);
    }
    if went_with_tablespace && !files.lacks_redo(&control, file)? {
        return Err(Ora::new(264));
    }
    // The same steps as in ALTER DATABASE DATAFILE OFFLINE. A file that an earlier version of the program took offline
    // with its tablespace gets a stop here.
    let lock = enqueues.get(p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, Timeout::Never)?;
    let is_offline = file.is_offline || went_with_tablespace;
    let went = if is_offline { Ok(()) } else { files.take_offline(p, enqueues, number) };
    let done = went.and_then(|()| ddl::settle_offline(storage.txns, p, enqueues, number));
    enqueues.release(p, lock);
    done.and_then(|()| files.control())
}

/// Rolls the file forward, each part that needs it.
fn roll(a: &dyn Administrator, control: ControlFile, number: u32) -> Result<()> {
    let files = a.instance().storage().cache.files();
    let file = control.file(number).ok_or_else(|| Ora::with(1179, &[&number]))?;
    files.lay_lost_parts(&control, number)?;
    if files.is_complete(&control, file)? {
        return Err(Ora::new(264));
    }
    let parts: Vec<u32> = control.parts_of(number).iter().map(|f| f.file).collect();
    let mut done = Ok(());
    for part in parts {
        // Blocks that are marked corrupt in one part do not keep the others from their redo.
        match roll_part(a, control.clone(), part) {
            Err(e) if e.is(10562) => done = done.and(Err(e)),
            rolled => rolled?,
        }
    }
    done
}

/// Rolls a part forward unless it has all its redo.
fn roll_part(a: &dyn Administrator, mut control: ControlFile, number: u32) -> Result<()> {
    let files = a.instance().storage().cache.files();
    let apply = instance::apply_table();
    for attempt in 1.. {
        let missing = || Ora::with(1179, &[&number]);
        let file = control.file(number).ok_or_else(missing)?;
        let stop = *control.stop_of(number).ok_or_else(missing)?;
        if files.is_part_complete(&control, file)? {
            return Ok(());
        }
        let frames_max = MEMORY_BYTES / control.block_size;
        let it = FileRecovery { files, control: &control, apply: &apply, file, stop, frames_max };
        let failed = match recover_file(&it, &mut |_| {}) {
            Ok(out) => return told(a, file, &out),
            Err(e) => e,
        };
        a.process().check_cancel()?;
        let now = files.control()?;
        let is_same = now.logged == control.logged && now.logs == control.logs;
        // Recovery may have read the header of a log while it was overwritten, so each failed recovery is repeated at
        // least once.
        if attempt == TRIES || is_same && attempt > 1 {
            return Err(failed.because(files.named(file)));
        }
        control = now;
    }
    unreachable!("the loop ends by returning")
}

/// ORA-10562 when blocks could not be rolled forward. These are marked corrupt, and a read of one gets ORA-01578. The
/// file is recovered nevertheless, and can go online.
fn told(a: &dyn Administrator, file: &FileEntry, out: &Outcome) -> Result<()> {
    let Some(first) = out.damaged.first() else { return Ok(()) };
    let count = out.damaged.len();
    let (_, block) = a.instance().storage().cache.files().shown(*first);
    let text = format!("{count} blocks cannot be rolled forward and are marked corrupt, the first is block {block}");
    let named = a.instance().storage().cache.files().named(file);
    Err(Ora::from_text(Facility::Ora, 10562, text).because(named))
}
