//! Recovery at the start of an instance that was not closed cleanly.

use crate::forward::{Forward, Outcome, Progress, Until, roll_forward};
use datafile::{Contents, ControlFile, DataFiles};
use redo::{ApplyTable, LogReader, Rba};
use std::collections::HashMap;
use std::path::PathBuf;
use types::Result;

/// What crash recovery works on.
pub struct CrashRecovery<'a> {
    pub files: &'a DataFiles,
    pub control: &'a ControlFile,
    pub apply: &'a ApplyTable,
    /// Most blocks kept in memory.
    pub frames_max: usize,
}

/// Rolls the data files forward from the last checkpoint to the end of the online logs.
///
/// The control file is not changed: until somebody notes a new checkpoint there, the same recovery can be done again, and a crash in
/// the middle of it does no harm.
///
/// # Errors
/// ORA-00313 when a log is missing, ORA-00308 when none holds the checkpoint's position; those of [`roll_forward`].
pub fn recover_crashed(it: &CrashRecovery<'_>, tell: &mut dyn FnMut(&Progress)) -> Result<Outcome> {
    let used = it.control.logs.iter().filter(|l| l.sequence > 0);
    let logs: Vec<PathBuf> = used.map(|l| it.files.directory().join(&l.name)).collect();
    let from = Rba(it.control.checkpoint.rba);
    let mut reader = LogReader::open(&logs, it.control.database, it.control.incarnation.number, from)?;
    let starts = starts_of(it.control);
    let forward = Forward { files: it.files, apply: it.apply, starts, until: Until::End, frames_max: it.frames_max };
    let mut out = roll_forward(&forward, &mut reader, tell)?;
    out.scn = out.scn.max(it.control.checkpoint.scn).max(it.control.scn);
    Ok(out)
}

/// Where the redo of every file begins that is to be rolled forward: those that are online and keep anything.
pub(crate) fn starts_of(control: &ControlFile) -> HashMap<u32, Rba> {
    let is_kept = |tablespace: u32| {
        control.tablespace(tablespace).is_none_or(|t| t.contents != Contents::Temporary && !t.is_offline)
    };
    let files = control.files.iter().filter(|f| !f.is_offline && is_kept(f.tablespace));
    files.map(|f| (f.file, Rba(f.created_rba))).collect()
}
