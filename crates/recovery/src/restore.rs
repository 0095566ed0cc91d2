//! Restoring a backup: copying the files back and rolling them forward.
//!
//! The restored database has an incarnation of its own, so that its redo is never taken for redo of the former database
//! at the same position (`RESETLOGS`, R13).

use crate::backup::{copy_part, copy_plain, make_folder};
use crate::forward::{Forward, Outcome, Progress, Until, Workers, roll_forward};
use crate::manifest::{Manifest, Sum};
use datafile::{
    CONTROL_FILE, CheckpointEntry, Contents, ControlFile, DataFiles, FileEntry, GoneEntry, IncarnationEntry,
    LogGroupEntry,
};
use os::file::{File, OpenMode};
use redo::{ApplyTable, LogReader, Rba};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use types::{Facility, Ora, Result, Scn};

/// The input of a restore.
pub struct Restore<'a> {
    /// The folder of the backup.
    pub from: &'a Path,
    /// The new database directory: empty, or not existing yet.
    pub to: &'a Path,
    /// Folders with further redo: archived logs, online logs, and perhaps the control file of the database that was
    /// backed up.
    pub redo: &'a [PathBuf],
    pub until: Until,
    pub apply: &'a ApplyTable,
    pub frames_max: usize,
    /// Now: seconds since 1970, UTC.
    pub now_s: u32,
}

/// The result of a restore.
#[derive(Clone, Debug)]
pub struct Restored {
    pub manifest: Manifest,
    pub outcome: Outcome,
    pub control: ControlFile,
    /// The last control file of the database that was backed up was found among the redo.
    pub knows_last: bool,
}

/// Progress of a restore.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A file is being copied: its name, bytes copied, bytes in all.
    Copy(&'a str, u64, u64),
    Forward(&'a Progress),
}

/// Restores a backup and rolls it forward. The control file is written last of all: until then there is no database in
/// the directory (R12).
///
/// # Errors
/// ORA-19870 for a damaged backup; ORA-19504 when the directory is not empty; ORA-00308 when redo is missing; ORA-01194
/// when the redo, or the requested limit, ends before the copies are consistent; ORA-01110 with ORA-01157 for a file
/// that was added after the backup and that no control file describes.
pub fn restore(it: &Restore<'_>, tell: &mut dyn FnMut(Step<'_>)) -> Result<Restored> {
    let manifest = Manifest::read(it.from)?;
    let mut control = ControlFile::read(it.from)?;
    if (control.database, control.incarnation.number) != (manifest.database, manifest.incarnation) {
        return Err(Ora::with(19870, &[&it.from.join(CONTROL_FILE).display()]));
    }
    require_copies(&control, &manifest, it.from)?;
    let last = last_control(it.redo, &control);
    let copies: Vec<FileEntry> =
        control.files.iter().filter(|f| manifest.files.iter().any(|piece| piece.file == f.file)).cloned().collect();
    let gone = settle_files(&mut control, last.as_ref(), it.until, &manifest)?;
    settle_names(&mut control);
    let is_copied = |f: &FileEntry| copies.iter().any(|c| (c.file, c.created_rba) == (f.file, f.created_rba));
    let apart = set_apart(&mut control, &is_copied);
    make_empty(it.to)?;
    copy_back(it, &manifest, &control, &is_copied, tell)?;
    // Opening the data files needs a control file; it gets its final name at the very end.
    let starts = starts(&control, &manifest);
    let files = DataFiles::over_control(it.to, &all_online(&control));
    make_missing(&files, &control, &is_copied)?;
    let outcome = forward(it, &manifest, &control, &files, starts, last.is_some(), tell)?;
    drop_others(&files, &mut control, &gone, outcome.end)?;
    put_together(&files, &mut control, &apart)?;
    let at = CheckpointEntry { rba: outcome.end.0, scn: outcome.scn, time_s: outcome.time_s };
    new_life(&mut control, at, it.now_s);
    for (n, log) in control.logs.iter_mut().enumerate() {
        log.name = format!("redo{:02}.log", n + 1);
    }
    for l in &mut control.logged {
        // The archived copies are not in this directory.
        l.name.clear();
        l.completed_s = 0;
    }
    let whole = all_online(&control);
    stamp_all(&DataFiles::over_control(it.to, &whole), &whole)?;
    make_logs(it.to, &control)?;
    control.write(it.to)?;
    Ok(Restored { manifest, outcome, control, knows_last: last.is_some() })
}

/// The newest control file of the same database and incarnation in the folders of the redo.
fn last_control(folders: &[PathBuf], of: &ControlFile) -> Option<ControlFile> {
    let read = |folder: &PathBuf| ControlFile::read(folder).ok();
    let same = |c: &ControlFile| (c.database, c.incarnation.number) == (of.database, of.incarnation.number);
    folders.iter().filter_map(read).filter(same).max_by_key(|c| c.checkpoint.rba)
}

/// Every file of the database must have been copied, except temporary files and those made during the backup, which the
/// redo makes whole.
fn require_copies(control: &ControlFile, manifest: &Manifest, from: &Path) -> Result<()> {
    let is_temporary =
        |f: &FileEntry| control.tablespace(f.tablespace).is_some_and(|t| t.contents == Contents::Temporary);
    let is_due = |f: &&FileEntry| !is_temporary(f) && !f.is_offline && f.created_rba < manifest.begin.rba.max(1);
    let has_copy = |f: &FileEntry| manifest.files.iter().any(|piece| piece.file == f.file);
    match control.files.iter().filter(is_due).all(has_copy) {
        true => Ok(()),
        false => Err(Ora::with(19870, &[&from.join(crate::MANIFEST).display()])),
    }
}

/// Determines the files of the restored database. To the end of the redo they are those of the last control file; to an
/// earlier moment, those of the backup and those made since, of which some were dropped: the dropped ones are returned.
/// Without a last control file they are those of the backup, less those that were dropped while it was made.
///
/// # Errors
/// ORA-01157 when a file number was used twice since the backup, or dropped files were forgotten, so that the redo of
/// two files cannot be told apart (R17).
fn settle_files(
    control: &mut ControlFile,
    last: Option<&ControlFile>,
    until: Until,
    manifest: &Manifest,
) -> Result<Vec<GoneEntry>> {
    let known = |control: &ControlFile, f: &FileEntry| {
        control.files.iter().any(|k| (k.file, k.created_rba) == (f.file, f.created_rba))
    };
    let Some(last) = last else {
        return Ok(control.gone.iter().filter(|g| known(control, &g.file)).cloned().collect());
    };
    let begin = manifest.begin.rba;
    if until == Until::End {
        control.files.retain(|f| last.file(f.file).is_some_and(|l| l.created_rba == f.created_rba));
        let later = last.files.iter().filter(|f| f.created_rba >= begin);
        let later: Vec<FileEntry> = later.filter(|f| control.file(f.file).is_none()).cloned().collect();
        control.files.extend(later);
        control.tablespaces.clone_from(&last.tablespaces);
        return Ok(Vec::new());
    }
    if last.forgotten_rba > begin {
        return Err(unknown_file(0, "files that were dropped since the backup are not remembered any more"));
    }
    let dropped = last.gone.iter().filter(|g| g.dropped_rba > begin).map(|g| &g.file);
    for f in last.files.iter().chain(dropped).filter(|f| f.created_rba >= begin) {
        if known(control, f) {
            continue;
        }
        if control.file(f.file).is_some() {
            return Err(unknown_file(f.file, "its number was used again since the backup"));
        }
        control.files.push(f.clone());
    }
    for t in last.tablespaces.iter().chain(&last.gone_tablespaces) {
        let is_used = control.files.iter().any(|f| f.tablespace == t.number);
        if is_used && control.tablespace(t.number).is_none() {
            control.tablespaces.push(t.clone());
        }
    }
    Ok(last.gone.iter().filter(|g| known(control, &g.file)).cloned().collect())
}

fn unknown_file(number: u32, why: &str) -> Ora {
    let text = format!("{why}: the backup can be restored to the end of the redo only");
    Ora::with(1157, &[&number]).because(Ora::from_text(Facility::Ora, 1111, text))
}

/// The control file with all tablespaces online: later redo, from when they were online, is applied to their files,
/// too.
fn all_online(control: &ControlFile) -> ControlFile {
    let mut control = control.clone();
    control.tablespaces.iter_mut().for_each(|t| t.is_offline = false);
    control
}

/// Sets the names of the files: all inside the new directory.
pub(crate) fn settle_names(control: &mut ControlFile) {
    let mut taken = HashSet::new();
    for f in control.files.iter_mut().filter(|f| f.is_head()) {
        let path = Path::new(&f.name);
        let inside = path.is_relative() && !path.components().any(|c| c == std::path::Component::ParentDir);
        let base = path.file_name().map_or_else(|| "data".into(), |n| n.to_string_lossy().into_owned());
        let mut name = if inside { f.name.clone() } else { base.clone() };
        if !taken.insert(name.clone()) {
            name = format!("{:04}_{base}", f.file);
            taken.insert(name.clone());
        }
        f.name = name;
    }
    let names: HashMap<u32, String> = control.heads().map(|f| (f.file, f.name.clone())).collect();
    for f in control.files.iter_mut().filter(|f| !f.is_head()) {
        if let Some(name) = names.get(&f.first) {
            f.name.clone_from(name);
        }
    }
}

/// Gives later parts of a bigfile files of their own while redo is applied, if two parts had the same place in it one
/// after the other: those that the backup has no copy of. Returns their entries as they were.
fn set_apart(control: &mut ControlFile, is_copied: &dyn Fn(&FileEntry) -> bool) -> Vec<FileEntry> {
    let place = |f: &FileEntry| (f.head(), f.part);
    let mut seen = HashSet::new();
    let shared = control.files.iter().filter(|f| !f.is_head() && !seen.insert(place(f)));
    let heads: HashSet<u32> = shared.map(FileEntry::head).collect();
    let mut apart = Vec::new();
    for f in control.files.iter_mut().filter(|f| !f.is_head() && heads.contains(&f.first) && !is_copied(f)) {
        apart.push(f.clone());
        (f.name, f.part, f.first) = (format!("{}.{}", f.name, f.file), 0, 0);
    }
    apart.sort_by_key(|f| f.part);
    apart
}

/// Moves the parts of [`set_apart`] that exist at the end of the roll forward to their places.
fn put_together(files: &DataFiles, control: &mut ControlFile, apart: &[FileEntry]) -> Result<()> {
    for part in apart {
        let begin = begin_of_part(control, part);
        let is_it = |f: &&mut FileEntry| (f.file, f.created_rba) == (part.file, part.created_rba);
        let Some(entry) = control.files.iter_mut().find(is_it) else { continue };
        let own = files.directory().join(&entry.name);
        copy_part(&own, &files.directory().join(&part.name), begin, Sum::default())?;
        os::file::remove(&own).map_err(|e| crate::manifest::cannot_write(&own, &e))?;
        (entry.name, entry.part, entry.first) = (part.name.clone(), part.part, part.first);
    }
    Ok(())
}

fn make_empty(folder: &Path) -> Result<()> {
    make_folder(folder)?;
    let is_empty =
        std::fs::read_dir(folder).is_ok_and(|mut d| d.all(|e| e.is_ok_and(|e| e.file_name() == "latchwork.pid")));
    if is_empty {
        return Ok(());
    }
    let why = Ora::from_text(Facility::Ora, 27038, "created file already exists\nThe directory is not empty.");
    Err(Ora::with(19504, &[&folder.display()]).because(why))
}

/// Copies the data files and checks their length and checksum.
fn copy_back(
    it: &Restore<'_>,
    manifest: &Manifest,
    control: &ControlFile,
    is_copied: &dyn Fn(&FileEntry) -> bool,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<()> {
    let all: u64 = manifest.files.iter().map(|f| f.bytes).sum();
    let mut done = 0;
    for piece in &manifest.files {
        let Some(f) = control.file(piece.file).filter(|f| is_copied(f)) else { continue };
        tell(Step::Copy(&f.name, done, all));
        let to = it.to.join(&f.name);
        if let Some(folder) = to.parent() {
            make_folder(folder)?;
        }
        let from = it.from.join(&piece.name);
        let copied = match control.is_bigfile(f) {
            true => copy_part(&from, &to, begin_of_part(control, f), manifest.sum)?,
            false => copy_plain(&from, &to, manifest.sum)?,
        };
        if copied != (piece.bytes, piece.sum) {
            return Err(Ora::with(19870, &[&it.from.join(&piece.name).display()]));
        }
        done += piece.bytes;
    }
    Ok(())
}

/// The byte of the operating system's file at which a part begins.
fn begin_of_part(control: &ControlFile, f: &FileEntry) -> u64 {
    u64::from(f.part) * u64::from(control.part_blocks.0) * control.block_size as u64
}

/// The start of the redo of every file. A tablespace that was offline when it was copied has all changes up to then,
/// and later redo if it was brought online again; a file that was taken offline by itself stays as it was copied.
fn starts(control: &ControlFile, manifest: &Manifest) -> HashMap<u32, Rba> {
    let is_kept = |f: &&FileEntry| {
        let stays = |t: &datafile::TablespaceEntry| t.contents == Contents::Temporary;
        !f.is_offline && !control.tablespace(f.tablespace).is_some_and(stays)
    };
    let begin = |f: &FileEntry| (f.file, Rba(f.created_rba.max(manifest.begin.rba)));
    control.files.iter().filter(is_kept).map(begin).collect()
}

/// Makes the files that the backup has no copy of: they are rolled forward from empty files. Temporary ones stay empty.
fn make_missing(files: &DataFiles, control: &ControlFile, is_copied: &dyn Fn(&FileEntry) -> bool) -> Result<()> {
    let mut missing: Vec<&FileEntry> = control.files.iter().filter(|f| !is_copied(f)).collect();
    // A later part is laid down in the file of the first one.
    missing.sort_by_key(|f| f.part);
    for f in missing {
        if let Some(folder) = files.directory().join(&f.name).parent() {
            make_folder(folder)?;
        }
        files.make_listed(f)?;
    }
    Ok(())
}

/// Removes the files that were made after the end of the roll forward, those that had been dropped by then, and
/// tablespaces without files.
fn drop_others(files: &DataFiles, control: &mut ControlFile, gone: &[GoneEntry], end: Rba) -> Result<()> {
    let path = |f: &FileEntry| files.directory().join(&f.name);
    let was_dropped = |f: &FileEntry| {
        gone.iter().any(|g| (g.file.file, g.file.created_rba) == (f.file, f.created_rba) && g.dropped_rba <= end.0)
    };
    let is_there = |f: &FileEntry| f.created_rba <= end.0 && !was_dropped(f);
    for f in control.files.iter().filter(|f| !is_there(f)) {
        let failed = |e: os::OsError| crate::manifest::cannot_write(&path(f), &e);
        match control.file(f.head()).filter(|head| !f.is_head() && is_there(head)) {
            // The file goes with its first part.
            None if !f.is_head() => {}
            None => os::file::remove(&path(f)).map_err(failed)?,
            // The parts behind this one go, too.
            Some(_) => {
                let file = File::open(&path(f), OpenMode::ReadWrite).map_err(failed)?;
                let begin = begin_of_part(control, f);
                if file.len_bytes().map_err(failed)? > begin {
                    file.set_len(begin).map_err(failed)?;
                }
            }
        }
    }
    control.files.retain(is_there);
    let used: HashSet<u32> = control.files.iter().map(|f| f.tablespace).collect();
    control.tablespaces.retain(|t| used.contains(&t.number));
    Ok(())
}

fn forward(
    it: &Restore<'_>,
    manifest: &Manifest,
    control: &ControlFile,
    files: &DataFiles,
    starts: HashMap<u32, Rba>,
    knows_last: bool,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<Outcome> {
    let begin = Rba(manifest.begin.rba);
    let logs = logs(it, manifest)?;
    let is_closed = manifest.begin == manifest.end;
    let reader = LogReader::open(&logs, control.database, manifest.incarnation, begin);
    let mut reader = match reader {
        // A backup of a closed database needs no redo.
        Err(_) if is_closed => {
            let m = &manifest.begin;
            return Ok(Outcome { end: begin, scn: m.scn, time_s: m.time_s, ..Outcome::default() });
        }
        reader => reader?,
    };
    let workers = Workers::default();
    let work = Forward {
        files,
        apply: it.apply,
        starts,
        until: it.until,
        announced: Rba(0),
        frames_max: it.frames_max,
        workers,
        on_device: true,
    };
    let mut out = roll_forward(&work, &mut reader, &mut |at| tell(Step::Forward(at)))?;
    if out.end.0 < manifest.end.rba {
        let first = control.files.first().map_or(1, |f| f.file);
        let text = format!(
            "the copies are of one moment from SCN {} on, the redo that was applied ends at SCN {}",
            manifest.end.scn.0, out.scn.0
        );
        return Err(Ora::with(1194, &[&first]).because(Ora::from_text(Facility::Ora, 1152, text)));
    }
    // To the end of the redo, a file missing from the last control file was dropped; to an earlier moment it is unknown
    // whether the file existed (R16).
    let was_dropped = knows_last && it.until == Until::End;
    let unknown = out.unknown_files.iter().find(|n| is_unknown(control, **n, begin));
    if let (Some(unknown), false) = (unknown, was_dropped) {
        let what = Ora::from_text(
            Facility::Ora,
            1111,
            format!("data file {unknown} was added after the backup; a control file that lists it is needed"),
        );
        return Err(Ora::with(1157, &[&unknown]).because(what));
    }
    out.scn = out.scn.max(manifest.begin.scn);
    if out.time_s == 0 {
        out.time_s = manifest.begin.time_s;
    }
    Ok(out)
}

/// True for a file number that the restored database does not have, although redo behind `begin` may belong to it: the
/// backup does not note that the file was dropped while the backup was made.
fn is_unknown(control: &ControlFile, number: u32, begin: Rba) -> bool {
    control.file(number).is_none() && !control.gone.iter().any(|g| g.file.file == number && g.dropped_rba >= begin.0)
}

/// Every log that may be needed: those of the backup, checked, and all logs in the folders of redo. Other files there
/// are skipped.
fn logs(it: &Restore<'_>, manifest: &Manifest) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for piece in &manifest.logs {
        let path = it.from.join(&piece.name);
        if !os::file::exists(&path) {
            return Err(Ora::with(19870, &[&path.display()]));
        }
        all.push(path);
    }
    for folder in it.redo {
        for place in [folder.clone(), folder.join("archive")] {
            let entries = std::fs::read_dir(&place).into_iter().flatten().flatten();
            let is_log = |p: &PathBuf| p.is_file() && p.extension().is_some_and(|e| e == "log" || e == "arc");
            all.extend(entries.map(|e| e.path()).filter(is_log));
        }
        // Logs in other folders, by their names in the control file.
        if let Ok(control) = ControlFile::read(folder) {
            let names = control.logs.iter().map(|l| &l.name).chain(control.logged.iter().map(|l| &l.name));
            all.extend(names.filter(|n| !n.is_empty()).map(|n| folder.join(n)).filter(|p| os::file::exists(p)));
        }
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// Makes the online logs, empty, with their former sizes.
fn make_logs(folder: &Path, control: &ControlFile) -> Result<()> {
    for log in &control.logs {
        let path = folder.join(&log.name);
        let failed = |e: os::OsError| crate::manifest::cannot_write(&path, &e);
        let file = File::open(&path, OpenMode::CreateNew).map_err(failed)?;
        file.allocate(log.bytes).map_err(failed)?;
        file.sync().map_err(failed)?;
    }
    os::file::sync_directory(folder).map_err(|e| crate::manifest::cannot_write(folder, &e))
}

/// Starts a new incarnation at this checkpoint: its logs are empty, nothing is archived, and it is closed cleanly.
pub(crate) fn new_life(control: &mut ControlFile, at: CheckpointEntry, now_s: u32) {
    control.incarnation = IncarnationEntry {
        number: control.incarnation.number + 1,
        resetlogs_scn: Scn(at.scn.0 + 1),
        resetlogs_time_s: now_s,
    };
    (control.checkpoint, control.scn, control.clean) = (at, at.scn, true);
    for log in &mut control.logs {
        let name = std::mem::take(&mut log.name);
        *log = LogGroupEntry { group: log.group, bytes: log.bytes, name, ..LogGroupEntry::default() };
    }
    control.backups.clear();
    // The stop of a file that is offline with its tablespace is a checkpoint of the former incarnation.
    let ControlFile { offline, files, .. } = control;
    offline.retain(|o| files.iter().any(|f| f.file == o.file && f.is_offline));
    control.gone.clear();
    control.gone_tablespaces.clear();
    control.forgotten_rba = 0;
}

/// Stamps the files' headers with the new incarnation; those of read-only tablespaces, too.
pub(crate) fn stamp_all(files: &DataFiles, control: &ControlFile) -> Result<()> {
    files.stamp(control, &control.checkpoint)?;
    let is_read_only = |f: &&FileEntry| control.tablespace(f.tablespace).is_some_and(|t| t.is_read_only);
    for f in control.files.iter().filter(|f| !f.is_offline).filter(is_read_only) {
        match files.stamp_file(f.file, control.incarnation.number, &control.checkpoint) {
            Err(e) if e.is(1157) => {}
            done => done?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: u32, created_rba: u64) -> FileEntry {
        FileEntry { file: number, created_rba, name: format!("{number}.dbf"), ..FileEntry::default() }
    }

    #[test]
    fn what_was_dropped_while_a_backup_was_made_is_known_without_a_last_control_file() {
        let gone = |file| GoneEntry { dropped_rba: 900, file };
        let mut control = ControlFile {
            files: vec![file(1, 0), file(2, 100), file(3, 700)],
            // File 3 of that time was another one.
            gone: vec![gone(file(2, 100)), gone(file(3, 200))],
            ..ControlFile::default()
        };
        let dropped = settle_files(&mut control, None, Until::End, &Manifest::default()).expect("they are settled");
        assert_eq!(dropped, [gone(file(2, 100))]);
    }

    #[test]
    fn parts_with_one_place_are_files_of_their_own_for_a_time() {
        let part = |number, created_rba, part| FileEntry { part, first: 1, ..file(number, created_rba) };
        let mut control = ControlFile {
            files: vec![file(1, 0), part(2, 100, 1), part(3, 800, 1), part(4, 900, 2), file(5, 0)],
            ..ControlFile::default()
        };
        let before = control.files.clone();
        let apart = set_apart(&mut control, &|f| f.created_rba <= 100);
        assert_eq!(apart, [before[2].clone(), before[3].clone()]);
        let places: Vec<(u32, u32, &str)> = control.files.iter().map(|f| (f.file, f.part, f.name.as_str())).collect();
        assert_eq!(places, [(1, 0, "1.dbf"), (2, 1, "2.dbf"), (3, 0, "3.dbf.3"), (4, 0, "4.dbf.4"), (5, 0, "5.dbf")]);
        let mut single = ControlFile { files: vec![file(1, 0), part(2, 100, 1)], ..ControlFile::default() };
        assert!(set_apart(&mut single, &|_| false).is_empty());
    }

    #[test]
    fn a_file_that_was_dropped_during_the_backup_is_known() {
        let entry = |file| FileEntry { file, ..FileEntry::default() };
        let gone = |file, dropped_rba| GoneEntry { dropped_rba, file: entry(file) };
        let control =
            ControlFile { files: vec![entry(1)], gone: vec![gone(7, 5000), gone(8, 100)], ..ControlFile::default() };
        let unknown: Vec<u32> = (1..10).filter(|n| is_unknown(&control, *n, Rba(4096))).collect();
        assert_eq!(unknown, [2, 3, 4, 5, 6, 8, 9]);
    }
}
