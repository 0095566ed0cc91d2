//! Backup mode, and ARCHIVELOG mode.
//!
//! While a file is in backup mode, its header keeps the checkpoint of the beginning, whatever checkpoints follow. Any
//! program may copy the file meanwhile: the header of the copy tells from which point the copy must be rolled forward.
//! The copy may contain half-written blocks, so the first change of a block after a checkpoint logs the whole block.
//! The file is marked before its header's checkpoint is announced, so every change after that checkpoint sees the mark
//! (invariant 3).

use crate::administrator::Administrator;
use datafile::{BackupEntry, Contents, ControlFile, DataFiles, FileEntry};
use dictionary::SystemPrivilege;
use sql::ast::Ident;
use types::{Ora, Result};

/// ALTER DATABASE or ALTER TABLESPACE, BEGIN or END BACKUP.
///
/// # Errors
/// ORA-01031; ORA-01123 for BEGIN in NOARCHIVELOG mode; ORA-00959; ORA-01146 for BEGIN when a file is in backup mode
/// already, ORA-01142 for END when no file is; for BEGIN of a tablespace ORA-03217 when it is temporary, ORA-01642 when
/// it is read-only, ORA-01128 when one of its files is offline; those of the control file and of the checkpoint.
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
            true => {
                tablespace.map_or(Ok(()), |name| require_copyable(files, control, name))?;
                enter(control, &numbers)?;
            }
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
    faults::point("backup-marked");
    // This checkpoint skips the headers of files in backup mode; `stand` then writes it into them.
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

/// Writes the last checkpoint, which was announced after the files were marked, into the headers and the backup entries
/// of the files. The entries of files that were dropped meanwhile are removed.
fn stand(files: &DataFiles, control: &mut ControlFile, numbers: &[u32]) -> Result<()> {
    let (at, incarnation) = (control.checkpoint, control.incarnation.number);
    let listed: Vec<u32> = control.files.iter().map(|f| f.file).collect();
    control.backups.retain(|b| listed.contains(&b.file));
    for b in control.backups.iter_mut().filter(|b| numbers.contains(&b.file)) {
        match files.stamp_file(b.file, incarnation, &at) {
            // The file is being dropped, or went offline: its header keeps its checkpoint.
            Err(e) if e.is(1157) || e.is(376) => {}
            done => {
                done?;
                b.checkpoint = at;
            }
        }
    }
    Ok(())
}

/// The numbers of the files of a tablespace, or of all files.
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

/// Checks that every file of a tablespace can enter backup mode. BEGIN BACKUP of the database passes over the others.
fn require_copyable(files: &DataFiles, control: &ControlFile, name: &Ident) -> Result<()> {
    let Some(of) = control.tablespaces.iter().find(|t| t.name == name.name) else { return Ok(()) };
    let away = control.files.iter().find(|f| f.tablespace == of.number && (f.is_offline || of.is_offline));
    let refused = match away {
        _ if of.contents == Contents::Temporary => Ora::new(3217),
        Some(f) => Ora::with(1128, &[&f.head()]).because(files.named(f)),
        None if of.is_read_only => Ora::with(1642, &[&of.name]),
        None => return Ok(()),
    };
    Err(refused.at(name.pos.0))
}

fn enter(control: &mut ControlFile, numbers: &[u32]) -> Result<()> {
    if let Some(b) = control.backups.iter().find(|b| numbers.contains(&b.file)) {
        let name = control.file(b.file).map_or("", |f| &f.name);
        let shown = control.file(b.file).map_or(b.file, FileEntry::head);
        return Err(Ora::with(1146, &[&shown]).because(Ora::with(1110, &[&shown, &name])));
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

/// ALTER DATABASE ARCHIVELOG or NOARCHIVELOG, while the database is open.
///
/// # Errors
/// ORA-01031; ORA-01146 for NOARCHIVELOG while files are in backup mode; those of the control file.
pub fn set_archivelog(a: &dyn Administrator, on: bool) -> Result<()> {
    a.require(SystemPrivilege::AlterDatabase)?;
    let storage = a.instance().storage();
    let files = storage.cache.files();
    if let Some(b) = files.control()?.backups.first().filter(|_| !on) {
        return Err(Ora::with(1146, &[&files.shown_file(b.file)]));
    }
    storage.redo.set_archivelog(a.process(), on)
}
