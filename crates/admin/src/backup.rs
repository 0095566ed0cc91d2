//! Backup mode, and ARCHIVELOG mode.
//!
//! While a file is in backup mode its header stays at the checkpoint where that began, whatever checkpoints follow: a
//! copy of it that is made meanwhile, by any program, says by its header from where it has to be rolled forward.
//! Such a copy may have caught a block half-written, so the first change of a block of the file behind a checkpoint is
//! logged as the whole block. The file is marked before the checkpoint that its header stays at is announced: every
//! change behind that checkpoint sees the mark.

use crate::administrator::Administrator;
use datafile::{BackupEntry, ControlFile, DataFiles, FileEntry};
use dictionary::SystemPrivilege;
use sql::ast::Ident;
use types::{Ora, Result};

/// ALTER DATABASE or ALTER TABLESPACE, BEGIN or END BACKUP.
///
/// # Errors
/// ORA-01031; ORA-01123 in NOARCHIVELOG mode; ORA-00959; ORA-01146 when a file is in backup mode already, ORA-01142
/// when none is.
pub fn run(a: &dyn Administrator, begin: bool, tablespace: Option<&Ident>) -> Result<()> {
    a.require(SystemPrivilege::AlterDatabase)?;
    let storage = a.instance().storage();
    if begin && !storage.redo.is_archivelog() {
        return Err(Ora::new(1123));
    }
    let files = storage.cache.files();
    let numbers = files.change_control(a.process(), a.enqueues(), &mut |control| {
        let numbers = chosen(control, tablespace)?;
        match begin {
            true => enter(control, &numbers)?,
            false => {
                leave(control, &numbers)?;
                files.stamp(control, &control.checkpoint)?;
            }
        }
        Ok(numbers)
    })?;
    files.refresh_copies()?;
    if !begin {
        return Ok(());
    }
    os::crash::point("backup-marked");
    // The header of a file in backup mode stays behind this checkpoint, so it is noted there by itself.
    let made = a
        .instance()
        .checkpoint(a.process())
        .and_then(|()| files.change_control(a.process(), a.enqueues(), &mut |control| stand(files, control, &numbers)));
    if made.is_err() {
        files.change_control(a.process(), a.enqueues(), &mut |control| {
            control.backups.retain(|b| !numbers.contains(&b.file));
            Ok(())
        })?;
        files.refresh_copies()?;
    }
    made
}

/// Files that have entered backup mode stand at the last checkpoint, which was announced behind that. One that has been
/// dropped meanwhile is not copied.
fn stand(files: &DataFiles, control: &mut ControlFile, numbers: &[u32]) -> Result<()> {
    let (at, incarnation) = (control.checkpoint, control.incarnation.number);
    let listed: Vec<u32> = control.files.iter().map(|f| f.file).collect();
    control.backups.retain(|b| listed.contains(&b.file));
    for b in control.backups.iter_mut().filter(|b| numbers.contains(&b.file)) {
        match files.stamp_file(b.file, incarnation, &at) {
            // On its way out, or taken offline: its header stays where it is.
            Err(e) if e.is(1157) || e.is(376) => {}
            done => {
                done?;
                b.checkpoint = at;
            }
        }
    }
    Ok(())
}

/// The files of a tablespace, or of all that keep anything.
fn chosen(control: &ControlFile, tablespace: Option<&Ident>) -> Result<Vec<u32>> {
    let number = match tablespace {
        None => None,
        Some(name) => {
            let found = control.tablespaces.iter().find(|t| t.name == name.name);
            Some(found.ok_or_else(|| Ora::with(959, &[&name.name]).at(name.pos.0))?.number)
        }
    };
    let is_chosen = |f: &&FileEntry| number.is_none_or(|n| f.tablespace == n);
    Ok(control.files.iter().filter(is_chosen).map(|f| f.file).collect())
}

fn enter(control: &mut ControlFile, numbers: &[u32]) -> Result<()> {
    if let Some(b) = control.backups.iter().find(|b| numbers.contains(&b.file)) {
        let name = control.file(b.file).map_or("", |f| &f.name);
        return Err(Ora::with(1146, &[&b.file]).because(Ora::with(1110, &[&b.file, &name])));
    }
    let goes = |n: &&u32| control.file(**n).is_some_and(|f| control.is_stamped(f));
    let checkpoint = control.checkpoint;
    let entries: Vec<_> = numbers.iter().filter(goes).map(|n| BackupEntry { file: *n, checkpoint }).collect();
    control.backups.extend(entries);
    Ok(())
}

fn leave(control: &mut ControlFile, numbers: &[u32]) -> Result<()> {
    let before = control.backups.len();
    control.backups.retain(|b| !numbers.contains(&b.file));
    if control.backups.len() == before { Err(Ora::new(1142)) } else { Ok(()) }
}

/// ALTER DATABASE ARCHIVELOG or NOARCHIVELOG, which the database need not be closed for.
///
/// # Errors
/// ORA-01031; ORA-01146 for NOARCHIVELOG while files are in backup mode; those of the control file.
pub fn set_archivelog(a: &dyn Administrator, on: bool) -> Result<()> {
    a.require(SystemPrivilege::AlterDatabase)?;
    let storage = a.instance().storage();
    if let Some(b) = storage.cache.files().control()?.backups.first().filter(|_| !on) {
        return Err(Ora::with(1146, &[&b.file]));
    }
    storage.redo.set_archivelog(a.process(), on)
}
