//! Recovery at the start of an instance: after a crash, and of files that were restored from an older copy.
//!
//! | checkpoint in the file's header | the database | action |
//! |---|---|---|
//! | the control file's checkpoint | closed cleanly | nothing |
//! | that, or one that was not completed | crashed | rolled forward from the control file's checkpoint |
//! | an earlier checkpoint | either | media recovery from there, as far as online and archived logs reach |
//! | a later one | closed cleanly | refused: the control file is older than the file |
//! | another incarnation | either | refused |
//!
//! **Redo that is missing at its end** would lose commits silently. The reader distinguishes damage from the end of the
//! redo where it can. Besides, the current log must be the one that the control file names, and no block and no file
//! header may be of a later moment than the end of the redo, since the redo of their changes was on disk before them
//! (R14).

use crate::forward::{Forward, Outcome, Progress, Until, Workers, roll_forward};
use datafile::{Contents, ControlFile, DataFiles, FileEntry};
use redo::{ApplyTable, FIRST_RBA, LogHeader, LogReader, Rba};
use std::collections::HashMap;
use std::path::PathBuf;
use types::{Facility, Ora, Result};

/// The input of a recovery.
pub struct Recovery<'a> {
    pub files: &'a DataFiles,
    pub control: &'a ControlFile,
    pub apply: &'a ApplyTable,
    /// Most blocks in memory.
    pub frames_max: usize,
    /// Stop at damaged redo and report it in [`Outcome::damage`]; otherwise damage is an error.
    pub stops_at_damage: bool,
    /// Wait until the written blocks are on the device; see [`Forward::on_device`].
    pub on_device: bool,
}

/// The files' need for recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The position where the roll forward begins.
    pub from: Rba,
    /// Files with a checkpoint older than the control file's.
    pub behind: Vec<u32>,
    /// The newest checkpoint in a file's header.
    pub newest: Rba,
}

fn named(files: &DataFiles, f: &FileEntry) -> Ora {
    Ora::with(1110, &[&f.head(), &files.directory().join(&f.name).display()])
}

/// Reads the headers of all files and determines the recovery needed; `None` when there is none.
///
/// # Errors
/// ORA-01157, ORA-01578 for a header that cannot be read; ORA-01190 for a file of another incarnation; ORA-01122 with
/// ORA-01207 for one that is newer than the control file.
pub fn standing(files: &DataFiles, control: &ControlFile) -> Result<Option<Standing>> {
    let from = Rba(control.checkpoint.rba);
    let mut standing = Standing { from, behind: Vec::new(), newest: from };
    for f in control.files.iter().filter(|f| takes_part(control, f)) {
        if files.missing().contains(&f.file) {
            // A missing file is reported once it is there again.
            continue;
        }
        let header = files.file_checkpoint(f.file)?;
        if header.rba != 0 && header.incarnation != control.incarnation.number {
            return Err(Ora::with(1190, &[&f.head()]).because(named(files, f)));
        }
        if control.clean && header.rba > control.checkpoint.rba {
            return Err(Ora::with(1122, &[&f.head()]).because(named(files, f)).because(Ora::new(1207)));
        }
        let is_read_only = control.tablespace(f.tablespace).is_some_and(|t| t.is_read_only);
        standing.newest = standing.newest.max(Rba(header.rba));
        let rba = begin_of(f, header.rba);
        if rba.0 < control.checkpoint.rba && !is_read_only {
            standing.from = standing.from.min(rba);
            standing.behind.push(f.file);
        }
    }
    let idle = control.clean && standing.behind.is_empty();
    Ok((!idle).then_some(standing))
}

/// The start of the redo that a file needs, by its header's checkpoint (R10): one without a checkpoint needs all redo
/// since it was made. The header of a copy made in backup mode has the checkpoint of the backup's begin (R11).
pub(crate) fn begin_of(f: &FileEntry, header_rba: u64) -> Rba {
    match header_rba {
        0 => Rba(f.created_rba).max(FIRST_RBA),
        rba => Rba(rba),
    }
}

/// Whether redo of the file is applied at a start (R5).
fn takes_part(control: &ControlFile, f: &FileEntry) -> bool {
    let stays = |t: &datafile::TablespaceEntry| t.is_offline || t.contents == Contents::Temporary;
    !f.is_offline && !control.tablespace(f.tablespace).is_some_and(stays)
}

/// Rolls the data files forward from their checkpoints to the end of the logs.
///
/// The control file and the headers are not changed: until a new checkpoint is written there, the same recovery can be
/// repeated, and a crash in the middle does no harm (R3).
///
/// # Errors
/// ORA-01113 when a file needs redo older than the logs that exist, or a log in between is missing; ORA-00313 when an
/// online log is missing, ORA-00367 when the current one is damaged, ORA-00353 when its redo is; those of
/// [`roll_forward`].
pub fn recover(it: &Recovery<'_>, standing: &Standing, tell: &mut dyn FnMut(&Progress)) -> Result<Outcome> {
    let control = it.control;
    // When redo is given up at a damage, a copy may be of a later moment than that: only torn blocks are restored then.
    let restored = it.files.restore_torn(control, it.files.disk_sync() && !it.stops_at_damage)?;
    let (mut reader, current) = open_logs(it, standing)?;
    if it.files.disk_sync() {
        // Before the first block is written (R9).
        reader.sync()?;
        // Without syncs the redo is still in the page cache, and direct reads would first have to write it.
        reader.look_ahead();
    }
    let starts = starts_of(it.files, control)?;
    let (until, workers) = (Until::End, Workers::default());
    let forward = Forward {
        files: it.files,
        apply: it.apply,
        starts,
        until,
        announced: Rba(control.checkpoint.rba),
        frames_max: it.frames_max,
        workers,
        on_device: it.on_device,
    };
    let mut out = roll_forward(&forward, &mut reader, tell)?;
    (out.blocks_torn, out.blocks_again) = (restored.torn, restored.again);
    let newest = standing.newest.max(out.newest_block).max(Rba(restored.newest));
    out.damage = current.err().or_else(|| reader.damage().cloned());
    if newest > out.end && out.damage.is_none() {
        out.damage = Some(reader.damaged());
    }
    if let Some(damage) = out.damage.clone().filter(|_| !it.stops_at_damage) {
        return Err(damage);
    }
    if out.end.0 < control.checkpoint.rba {
        let text = format!("the redo after log sequence {} is missing", out.sequence);
        return Err(missing(it, standing, Ora::from_text(Facility::Ora, 308, text)));
    }
    out.scn = out.scn.max(control.checkpoint.scn).max(control.scn);
    Ok(out)
}

/// Reads the redo that [`recover`] would apply, and changes nothing.
///
/// # Errors
/// As [`recover`].
pub fn scan(it: &Recovery<'_>, standing: &Standing) -> Result<Outcome> {
    let (mut reader, current) = open_logs(it, standing)?;
    let mut out = Outcome { scn: it.control.checkpoint.scn, ..Outcome::default() };
    while let Some((_, record)) = reader.next_record()? {
        out.records += 1;
        out.redo_bytes += record.len as u64;
        (out.scn, out.time_s) = (out.scn.max(record.scn), record.time_s);
    }
    (out.end, out.sequence) = (reader.position(), reader.sequence());
    out.damage = current.err().or_else(|| reader.damage().cloned());
    if standing.newest > out.end && out.damage.is_none() {
        out.damage = Some(reader.damaged());
    }
    Ok(out)
}

/// Opens the redo, and checks that the current log is the expected one.
fn open_logs(it: &Recovery<'_>, standing: &Standing) -> Result<(LogReader, Result<()>)> {
    let control = it.control;
    let logs = logs(it.files, control, standing.from);
    let reader = LogReader::open(&logs, control.database, control.incarnation.number, standing.from);
    let mut reader = reader.map_err(|e| missing(it, standing, e))?;
    let current = check_current(it.files, control);
    if it.stops_at_damage {
        reader.stop_at_damage();
    } else {
        current.clone()?;
    }
    Ok((reader, current))
}

/// The error for missing redo of a file.
fn missing(it: &Recovery<'_>, standing: &Standing, e: Ora) -> Ora {
    match standing.behind.first().and_then(|n| it.control.file(*n)) {
        Some(f) => Ora::with(1113, &[&f.head()]).because(named(it.files, f)).because(e),
        None => e,
    }
}

/// Checks that the current log has the header that the control file describes, or a newer one.
fn check_current(files: &DataFiles, control: &ControlFile) -> Result<()> {
    let Some(log) = control.current_log() else { return Ok(()) };
    let path = files.directory().join(&log.name);
    let header = LogHeader::read(&path)?;
    let is_it = (header.database, header.incarnation) == (control.database, control.incarnation.number)
        // An interrupted start may have begun the next sequence in the same file.
        && header.sequence >= log.sequence
        && header.start >= Rba(log.start);
    if is_it {
        return Ok(());
    }
    let text = format!(
        "online log {} thread 1: '{}' holds sequence {}, not {}",
        log.group,
        path.display(),
        header.sequence,
        log.sequence
    );
    Err(Ora::new(367).because(Ora::from_text(Facility::Ora, 312, text)))
}

/// The logs that may hold redo behind `from`: existing archived copies, and the online logs.
pub(crate) fn logs(files: &DataFiles, control: &ControlFile, from: Rba) -> Vec<PathBuf> {
    let path = |name: &str| files.directory().join(name);
    let wanted = |l: &&datafile::LoggedEntry| {
        !l.name.is_empty() && l.incarnation == control.incarnation.number && l.end >= from.0
    };
    let archived = control.logged.iter().filter(wanted).map(|l| path(&l.name)).filter(|p| os::file::exists(p));
    archived.chain(control.logs.iter().filter(|l| l.sequence > 0).map(|l| path(&l.name))).collect()
}

/// The start of the redo of every file to roll forward. A file has all changes before its header's checkpoint.
fn starts_of(files: &DataFiles, control: &ControlFile) -> Result<HashMap<u32, Rba>> {
    let of = |f: &FileEntry| Ok((f.file, begin_of(f, files.file_checkpoint(f.file)?.rba)));
    let missing = files.missing();
    control.files.iter().filter(|f| takes_part(control, f) && !missing.contains(&f.file)).map(of).collect()
}
