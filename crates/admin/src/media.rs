//! ALTER DATABASE RECOVER: media recovery of files that are offline, while the database is open.
//!
//! The session does it itself, under the MR enqueue of the file. Logs are found by the control file: archived copies,
//! and the online logs. A log that was reused while it was read has been archived by then, so a recovery that failed is
//! repeated with the logs that exist now.

use crate::administrator::Administrator;
use datafile::{ControlFile, FileEntry};
use dictionary::SystemPrivilege;
use enqueue::{EnqueueError, EnqueueType, LockMode, Timeout};
use recovery::{FileRecovery, Outcome, recover_file};
use sql::ast::{FileRef, RecoverTarget};
use types::{Facility, Ora, Result};

/// Memory for blocks while they are rolled forward, in bytes.
const MEMORY_BYTES: usize = 64 << 20;

/// The number of attempts of a recovery while logs are archived and reused.
const TRIES: u32 = 5;

/// Recovers files.
///
/// Waits: `enq: MR - contention` never, `enq: DD - contention` for what had not gone offline completely; those of the
/// control file.
///
/// # Errors
/// ORA-01031; ORA-00283, and below it why: ORA-01124 for a file that is in use, ORA-00264 when nothing is to be done,
/// ORA-01179 for one that is not there, and those of recovery.
pub fn recover(a: &dyn Administrator, target: &RecoverTarget) -> Result<()> {
    a.require(SystemPrivilege::AlterDatabase)?;
    let files = a.instance().storage().cache.files();
    let control = files.control()?;
    let canceled = |e: Ora| Ora::new(283).because(e);
    match target {
        RecoverTarget::Database => {
            let first = control.files.first().ok_or_else(|| Ora::internal("a database without files"))?;
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
                let mine = || control.files.iter().filter(|f| f.tablespace == of.number);
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

/// ORA-01124.
fn in_use(a: &dyn Administrator, file: &FileEntry) -> Ora {
    Ora::with(1124, &[&file.file]).because(a.instance().storage().cache.files().named(file))
}

/// The file that is meant. ORA-01179.
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

/// Sees to it that the file is offline, with nothing of it in the cache and the end of its redo known; the control file
/// as it is then.
fn settled(a: &dyn Administrator, number: u32) -> Result<ControlFile> {
    let (p, enqueues, storage) = (a.process(), a.enqueues(), a.instance().storage());
    let files = storage.cache.files();
    let control = files.control()?;
    let file = control.file(number).ok_or_else(|| Ora::with(1179, &[&number]))?;
    if !files.is_away(number) {
        return Err(in_use(a, file));
    }
    if control.tablespace(file.tablespace).is_some_and(|t| t.is_offline) && !file.is_offline {
        // It went with its tablespace, which left nothing behind.
        return Err(Ora::new(264));
    }
    if file.is_offline && control.stop_of(number).is_some() {
        return Ok(control);
    }
    // As the statement does that takes files offline.
    let lock = enqueues.get(p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, Timeout::Never)?;
    let went = if file.is_offline { Ok(()) } else { files.take_offline(p, enqueues, number) };
    let done = went.and_then(|()| ddl::settle_offline(storage.txns, p, enqueues, number));
    enqueues.release(p, lock);
    done.and_then(|()| files.control())
}

fn roll(a: &dyn Administrator, mut control: ControlFile, number: u32) -> Result<()> {
    let files = a.instance().storage().cache.files();
    let apply = instance::apply_table();
    for attempt in 1.. {
        let missing = || Ora::with(1179, &[&number]);
        let file = control.file(number).ok_or_else(missing)?;
        let stop = *control.stop_of(number).ok_or_else(missing)?;
        if files.is_complete(&control, file)? {
            return Err(Ora::new(264));
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
        // A read of a log's header may meet its overwriting, so every recovery that fails is repeated at least once.
        if attempt == TRIES || is_same && attempt > 1 {
            return Err(failed.because(files.named(file)));
        }
        control = now;
    }
    unreachable!("the loop ends by returning")
}

/// ORA-10562 when blocks could not be rolled forward: they are marked corrupt, and a read of one gets ORA-01578. The
/// file is complete all the same, and can come back.
fn told(a: &dyn Administrator, file: &FileEntry, out: &Outcome) -> Result<()> {
    let Some(first) = out.damaged.first() else { return Ok(()) };
    let count = out.damaged.len();
    let text =
        format!("{count} blocks cannot be rolled forward and are marked corrupt, the first is block {}", first.block());
    let named = a.instance().storage().cache.files().named(file);
    Err(Ora::from_text(Facility::Ora, 10562, text).because(named))
}
