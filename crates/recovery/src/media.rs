//! Media recovery of a single data file while the database is open and the file is offline.
//!
//! The roll forward begins at the checkpoint in the file's own header and ends at the stop in the control file. No redo
//! of the file lies beyond that stop, and all redo before it is on disk, so the current log can be read while it is
//! being written. No other process opens the file: recovery reads and writes it through descriptors of its own, not
//! through the cache (R15).

use crate::forward::{Forward, Outcome, Progress, Until, Workers, roll_forward};
use crate::start::{begin_of, logs};
use datafile::{CheckpointEntry, ControlFile, DataFiles, FileEntry};
use redo::{ApplyTable, LogReader, Rba};
use std::collections::HashMap;
use std::path::PathBuf;
use types::{Facility, Ora, Result};

/// The input of the recovery.
pub struct FileRecovery<'a> {
    /// The files of the open database.
    pub files: &'a DataFiles,
    pub control: &'a ControlFile,
    pub apply: &'a ApplyTable,
    /// The file, which is offline.
    pub file: &'a FileEntry,
    /// The end of the roll forward.
    pub stop: CheckpointEntry,
    /// Most blocks in memory.
    pub frames_max: usize,
}

/// Rolls one file forward from its header's checkpoint to its stop, and stamps the header with the stop. Interrupted
/// anywhere, it can be repeated.
///
/// # Errors
/// ORA-01157, ORA-01122 when the file is missing or is another file; ORA-00308 when redo is missing; ORA-00353 when it
/// is damaged; those of [`roll_forward`].
pub fn recover_file(it: &FileRecovery<'_>, tell: &mut dyn FnMut(&Progress)) -> Result<Outcome> {
    let begin = begin_of(it.file, it.files.closed_checkpoint(it.file)?.rba);
    let stop = Rba(it.stop.rba);
    let mut alone = it.control.clone();
    alone.tablespaces.iter_mut().for_each(|t| t.is_offline = false);
    alone.files.retain(|f| f.file == it.file.file);
    alone.files.iter_mut().for_each(|f| f.is_offline = false);
    let files = DataFiles::over_control(it.files.directory(), &alone);
    files.set_disk_sync(it.files.disk_sync());
    let area = open_area(&files, &mut alone, begin)?;
    let logs = logs(it.files, it.control, begin);
    let mut reader = LogReader::open(&logs, it.control.database, it.control.incarnation.number, begin)?;
    reader.end_at(stop);
    let starts = HashMap::from([(it.file.file, begin)]);
    let (until, workers) = (Until::End, Workers::default());
    let forward = Forward {
        files: &files,
        apply: it.apply,
        starts,
        until,
        announced: begin,
        frames_max: it.frames_max,
        workers,
        on_device: true,
    };
    let out = roll_forward(&forward, &mut reader, tell)?;
    if out.end < stop {
        let text = format!("the redo after log sequence {} is missing", out.sequence);
        return Err(Ora::from_text(Facility::Ora, 308, text));
    }
    faults::point("file-rolled-forward");
    it.files.stamp_offline(it.control, it.file, &it.stop)?;
    faults::point("file-recovered");
    // An area that could not be removed is harmless: it belongs to the file's former checkpoint.
    let _ = os::file::remove(&area);
    Ok(out)
}

/// Opens a double-write area for this recovery alone: checkpoints of the database do not cover a file that is offline.
/// Restores blocks that an earlier recovery from the same position left torn.
fn open_area(files: &DataFiles, alone: &mut ControlFile, begin: Rba) -> Result<PathBuf> {
    let number = alone.files.first().map_or(0, |f| f.file);
    let name = format!("{}.{number}", datafile::DOUBLE_WRITE_FILE);
    (alone.clean, alone.double_write, alone.checkpoint.rba) = (false, begin.0, begin.0);
    files.open_double_write(&name, 0, Workers::SLOTS, alone, begin.0)?;
    files.restore_torn(alone, false)?;
    Ok(files.directory().join(name))
}
