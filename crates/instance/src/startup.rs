//! Recovery at a start of a database that was not closed cleanly: its files are rolled forward.
//!
//! Recovery runs before there is shared memory or another process. At its end every block has been written to its file,
//! at least into the operating system's cache. After a crash recovery does not wait for the device: the control file
//! keeps its checkpoint, and a first checkpoint is requested from the new instance. A crash before this checkpoint is
//! recovered from the same position, through the redo of both instances. In the following cases recovery does wait for
//! the device, and notes a checkpoint:
//!
//! | | because |
//! |---|---|
//! | no log is free of redo behind the checkpoint | the instance needs one to begin |
//! | a file is of an earlier checkpoint, or was being copied | its header must agree with the other files again |
//! | a file was being taken offline | the end of its redo must be noted |
//!
//! The transaction system rolls open transactions back later. It finds them in the undo headers, like transactions of
//! any dead process.

use datafile::{CheckpointEntry, ControlFile, DataFiles, FileEntry, LogGroupEntry, OfflineEntry};
use os::file::{File, OpenMode};
use params::{InitParams, Param};
use recovery::{Outcome, Progress, Recovery};
use redo::Rba;
use std::path::Path;
use std::time::{Duration, Instant};
use types::{Facility, Ora, Rdba, Result, Scn};

/// The progress of a start.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    /// A line for the alert log.
    Alert(&'a str),
    /// The progress of a long operation.
    Progress(&'a str),
}

/// The time before recovery first reports its progress, and the time between two reports.
const QUIET: Duration = Duration::from_secs(2);
/// The least and the most memory recovery uses for blocks, in bytes.
const MEMORY_BYTES: std::ops::RangeInclusive<u64> = 128 << 20..=2 << 30;
const MEMORY_BYTES_USUAL: u64 = 256 << 20;

/// The list of the files of a database that is being made. It exists from before the first of these files until the
/// control file shows that the database is complete.
const MAKING: &str = "making";

/// Files that exist only in the directory of a database, complete or being made.
pub const DATABASE_NAMES: [&str; 3] = [datafile::CONTROL_FILE, datafile::CONTROL_COPY, MAKING];

/// Notes that a database with these files is about to be made in `dir`.
///
/// # Errors
/// ORA-00200 when the list cannot be written.
pub fn begin_making(dir: &Path, names: &[String]) -> Result<()> {
    let text = names.iter().fold(String::new(), |text, name| text + name + "\n");
    let file = File::open(&dir.join(MAKING), OpenMode::Truncate).map_err(|e| not_made(&e))?;
    file.write_at(text.as_bytes(), 0).map_err(|e| not_made(&e))?;
    file.sync().map_err(|e| not_made(&e))?;
    os::file::sync_directory(dir).map_err(|e| not_made(&e))
}

/// Notes that the database is complete, after its control file has got the first SCN.
pub fn end_making(dir: &Path) {
    // A list that is left behind has no effect.
    let _ = os::file::remove(&dir.join(MAKING));
}

/// Whether the last instance closed the database in `dir` cleanly; `None` when that is unknown.
pub fn was_closed(dir: &Path) -> Option<bool> {
    ControlFile::read(dir).ok().map(|control| control.clean)
}

/// Refuses to make a database in a directory with files of a database that has lost its control file.
///
/// # Errors
/// ORA-00205, with the remedy in its text.
pub fn refuse_without_control(dir: &Path, names: &[String]) -> Result<()> {
    if recovery::is_unfinished(dir) {
        let text = format!(
            "{}: a fork into this directory was not finished. Repeat latchwork fork, or remove the directory",
            dir.display()
        );
        return Err(Ora::new(205).because(Ora::from_text(Facility::Lwk, 1, text)));
    }
    // A double-write area has nothing that a closed database needs.
    let is_ones =
        |name: &str| name != datafile::DOUBLE_WRITE_FILE && (name.ends_with(".dbf") || names.iter().any(|n| n == name));
    let entries = std::fs::read_dir(dir).map(|all| all.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let mut found: Vec<String> = entries.iter().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    found.retain(|name| is_ones(name));
    let Some(first) = found.iter().min() else { return Ok(()) };
    let text = format!(
        "{}: there is no control file, but '{first}' and {} more files of a database: no new one is made over them. Put the control file back, \
         or restore a backup into another directory",
        dir.display(),
        found.len() - 1
    );
    Err(Ora::new(205).because(Ora::from_text(Facility::Lwk, 1, text)))
}

fn not_made(e: &os::OsError) -> Ora {
    let why = Ora::from_text(Facility::Ora, 27040, format!("file create error\nLinux Error: {}: {e}", e.errno()));
    Ora::new(200).because(why)
}

/// Removes the files of a database whose creation was interrupted, so that it can be created again. The control file
/// gets the first SCN when the dictionary is on disk; a database without that SCN was never opened.
///
/// # Errors
/// ORA-00200 when a file cannot be removed.
pub fn remove_unfinished(dir: &Path) -> Result<()> {
    let (making, control) = (dir.join(MAKING), dir.join(datafile::CONTROL_FILE));
    let Ok(names) = std::fs::read_to_string(&making) else { return Ok(()) };
    if os::file::exists(&control) {
        // An unreadable control file is reported when the database is opened.
        let is_complete = ControlFile::read(dir).map_or(true, |c| !c.clean || c.scn != Scn(1));
        if is_complete {
            end_making(dir);
            return Ok(());
        }
    }
    // The control file is removed after its copy, and the list last, so an interrupted removal is repeated.
    let copy = dir.join(datafile::CONTROL_COPY);
    let paths = names.lines().map(|n| dir.join(n)).chain([copy, control, making]);
    for path in paths.filter(|p| os::file::exists(p)) {
        os::file::remove(&path).map_err(|e| not_made(&e))?;
    }
    Ok(())
}

/// The end of a database's redo after its files have been rolled forward to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub end: Rba,
    pub scn: Scn,
    /// Changes behind the control file's checkpoint are in the files, but perhaps not on the device: a checkpoint must
    /// be made soon.
    pub wants_checkpoint: bool,
}

impl Standing {
    /// The standing of a database that was closed cleanly, or whose recovery has been noted: its redo ends at its
    /// checkpoint.
    pub fn of(control: &ControlFile) -> Standing {
        Standing { end: Rba(control.checkpoint.rba), scn: control.scn, wants_checkpoint: false }
    }
}

/// Rolls the files forward, if that is necessary. Returns the end of the redo.
///
/// # Errors
/// ORA-01113 when redo that is needed is not there; errors of [`recovery::standing`] and [`recovery::recover`].
pub fn recover(
    files: &DataFiles,
    mut control: ControlFile,
    init: &InitParams,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Standing> {
    let is_head = |n: &u32| control.file(*n).is_none_or(FileEntry::is_head);
    for n in files.missing().into_iter().filter(is_head) {
        let why = control.file(n).and_then(|f| files.why_missing(f)).map_or(String::new(), |e| e.to_string());
        tell(Told::Alert(&format!("{why}\nData file {n} cannot be used before the next start")));
    }
    let Some(standing) = recovery::standing(files, &control)? else { return Ok(Standing::of(&control)) };
    if control.current_log().is_none() {
        return Err(Ora::with(1113, &[&1]));
    }
    let kind = if control.clean { "media" } else { "crash" };
    for n in standing.behind.iter().filter(|n| !control.backups.iter().any(|b| b.file == **n)) {
        let (name, (n, _)) = (control.file(*n).map_or("", |f| &f.name), control.shown(Rdba::new(*n, 0)));
        tell(Told::Alert(&format!("Data file {n} '{name}' is of an earlier checkpoint and needs media recovery")));
    }
    tell(Told::Alert(&format!("Beginning {kind} recovery of 1 threads")));
    tell(Told::Alert("Started redo scan"));
    let began = Instant::now();
    let mut last = began;
    let apply = crate::apply::apply_table();
    let frames_max = (memory_bytes(init) / files.block_size() as u64) as usize;
    // A session died while it took a file offline: the redo of the file ends at the end of the recovery at the latest.
    let unsettled: Vec<u32> =
        control.files.iter().filter(|f| f.is_offline && control.stop_of(f.file).is_none()).map(|f| f.file).collect();
    let is_noted = !standing.behind.is_empty() || !control.backups.is_empty() || !unsettled.is_empty();
    let on_device = control.clean || is_noted || !has_free_log(&control);
    let it = Recovery { files, control: &control, apply: &apply, frames_max, stops_at_damage: false, on_device };
    let out = recovery::recover(&it, &standing, &mut |at| {
        if began.elapsed() >= QUIET && (last == began || last.elapsed() >= QUIET) {
            last = Instant::now();
            tell(Told::Progress(&progress_text(at, began.elapsed())));
        }
    });
    let out = out.map_err(|e| with_way_on(e, files.directory(), tell))?;
    tell_outcome(&out, &control, kind, began.elapsed(), tell);
    if !on_device {
        faults::point("recovery-rolled-forward");
        return Ok(Standing { end: out.end, scn: out.scn, wants_checkpoint: true });
    }
    control.scn = out.scn;
    control.checkpoint = CheckpointEntry { rba: out.end.0, scn: out.scn, time_s: out.time_s };
    control.offline.extend(unsettled.into_iter().map(|file| OfflineEntry { file, stop: control.checkpoint }));
    if !control.backups.is_empty() {
        tell(Told::Alert("Online backup ended by recovery"));
        control.backups.clear();
        files.end_copies();
    }
    faults::point("recovery-rolled-forward");
    files.stamp(&control, &control.checkpoint)?;
    control.write_as(files.directory(), files.disk_sync())?;
    Ok(Standing::of(&control))
}

/// Whether there is a log without redo behind the checkpoint: every log ends where the next sequence begins.
fn has_free_log(control: &ControlFile) -> bool {
    let end = |of: &LogGroupEntry| {
        control.logs.iter().filter(|l| l.sequence > of.sequence).min_by_key(|l| l.sequence).map(|next| next.start)
    };
    control.logs.iter().any(|l| l.sequence == 0 || end(l).is_some_and(|end| end <= control.checkpoint.rba))
}

/// Sets `control_files` to the two copies of the control file in the database directory. Other places are refused.
///
/// # Errors
/// ORA-00205, caused by ORA-00202, when `control_files` names other files.
pub fn name_control_files(dir: &Path, init: &mut InitParams) -> Result<()> {
    let own = [datafile::CONTROL_FILE, datafile::CONTROL_COPY].map(|name| dir.join(name));
    if init.is_default(Param::ControlFiles) {
        init.derive(Param::ControlFiles, own.each_ref().map(|path| path.display().to_string()).join(", "));
        return Ok(());
    }
    let given = init.get(Param::ControlFiles).trim_matches(['(', ')', ' ']);
    let given: Vec<_> = given.split(',').map(|name| dir.join(name.trim().trim_matches(['\'', '"']))).collect();
    match given.iter().find(|path| !own.contains(path)) {
        None if own.iter().all(|path| given.contains(path)) => Ok(()),
        other => {
            let wrong = other.or(own.iter().find(|path| !given.contains(path)));
            let name = wrong.map_or(String::new(), |path| path.display().to_string());
            Err(Ora::new(205).because(Ora::with(202, &[&name])))
        }
    }
}

/// Writes the remedy for damaged redo into the alert log; returns the error.
fn with_way_on(e: Ora, dir: &Path, tell: &mut dyn FnMut(Told<'_>)) -> Ora {
    if e.is(353) || e.is(367) {
        tell(Told::Alert(&format!(
            "{e}\nThe redo goes on behind this place. Restore a backup to a moment before it (latchwork restore --until-scn), or,\n\
             giving up what was committed behind it: latchwork recover --resetlogs --dir {}",
            dir.display()
        )));
    }
    e
}

/// The memory of recovery for blocks: the size of the future buffer cache, within limits, because blocks that do not
/// fit are written and read repeatedly. It is freed before the buffer cache is used.
fn memory_bytes(init: &InitParams) -> u64 {
    cache_bytes(init).clamp(*MEMORY_BYTES.start(), *MEMORY_BYTES.end())
}

/// The approximate size of the future buffer cache.
pub fn cache_bytes(init: &InitParams) -> u64 {
    match init.number(Param::DbCacheSize) as u64 {
        0 => MEMORY_BYTES_USUAL.max(init.number(Param::SgaTarget) as u64 * 6 / 10),
        n => n,
    }
}

fn progress_text(at: &Progress, elapsed: Duration) -> String {
    let mb = at.redo_bytes >> 20;
    format!("Recovering: {mb} MB of redo applied, log sequence {}, {} s", at.sequence, elapsed.as_secs())
}

fn tell_outcome(out: &Outcome, control: &ControlFile, kind: &str, elapsed: Duration, tell: &mut dyn FnMut(Told<'_>)) {
    let kb = out.redo_bytes >> 10;
    tell(Told::Alert(&format!(
        "Completed redo scan\n read {kb} KB redo, {} data blocks need recovery",
        out.blocks_written
    )));
    if out.blocks_torn > 0 {
        let text = format!("{} torn data blocks were made whole from the double-write area", out.blocks_torn);
        tell(Told::Alert(&text));
    }
    for at in &out.damaged {
        let (file, block) = control.shown(*at);
        let text = format!(
            "ORA-10562: Error occurred while applying redo to data block (file# {file}, block# {block})\nThe block is marked corrupt."
        );
        tell(Told::Alert(&text));
    }
    tell(Told::Alert(&format!(
        "Completed {kind} recovery at\n Thread 1: logseq {}, rba {}, scn {}\n {} data blocks read, {} data blocks written, {kb} redo k-bytes read, {}.{:03} s",
        out.sequence,
        out.end.0,
        out.scn,
        out.blocks_read,
        out.blocks_written,
        elapsed.as_secs(),
        elapsed.subsec_millis()
    )));
}
