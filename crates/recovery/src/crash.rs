//! Recovery at the start of an instance that was not closed cleanly.

use crate::forward::{Forward, Outcome, Progress, Until, roll_forward};
use datafile::{ControlFile, DataFiles};
use redo::{ApplyTable, LogReader, Rba};
use std::collections::HashSet;
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
    let present: HashSet<u32> = it.control.files.iter().map(|f| f.file).collect();
    let without = (1..=types::Rdba::MAX_FILE).filter(|n| !present.contains(n)).collect();
    let forward = Forward { files: it.files, apply: it.apply, without, until: Until::End, frames_max: it.frames_max };
    let mut out = roll_forward(&forward, &mut reader, tell)?;
    out.scn = out.scn.max(it.control.checkpoint.scn).max(it.control.scn);
    Ok(out)
}
