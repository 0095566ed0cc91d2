//! The log's interface to the control file.
//!
//! The log knows its own part of the control file, not its place or format. A crate above implements [`Control`]: for a
//! database with files and an enqueue, for a test in memory.

use crate::Rba;
use process::Process;
use std::path::Path;
use types::{Result, Scn};

/// The most online log groups.
pub const LOGS_MAX: u32 = 32;
/// The most complete sequences that are kept.
pub const LOGGED_MAX: usize = 2000;
/// The position of a database's first record.
pub const FIRST_RBA: Rba = Rba(4096);

/// Upper bound of redo addresses.
pub const RBA_LIMIT: u64 = 1 << 60;

/// The last checkpoint: every change before it is in the data files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointEntry {
    /// Position in the redo stream; recovery begins there.
    pub rba: u64,
    /// The highest SCN of the redo before it.
    pub scn: Scn,
    /// When the checkpoint began: seconds since 1970, UTC.
    pub time_s: u32,
}

/// An incarnation of the database; OPEN RESETLOGS begins a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncarnationEntry {
    /// Its number, from 1.
    pub number: u32,
    /// The SCN and time (seconds since 1970, UTC) at which it began.
    pub resetlogs_scn: Scn,
    pub resetlogs_time_s: u32,
}

/// An online log group; it has one member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogGroupEntry {
    /// Its number, from 1.
    pub group: u32,
    /// The sequence number of its redo; 0 when it was never used.
    pub sequence: u32,
    /// The position in the redo stream at which its redo begins.
    pub start: u64,
    /// The newest SCN given out when the group became current, and the time (seconds since 1970, UTC).
    pub first_scn: Scn,
    pub first_time_s: u32,
    /// Size of the file in bytes, its header included.
    pub bytes: u64,
    /// Its redo has been archived.
    pub archived: bool,
    /// Its name: relative to the database directory, or an absolute path.
    pub name: String,
}

/// A complete log sequence: a row of `v$log_history`, and of `v$archived_log` when it was archived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedEntry {
    /// Its sequence number, and the incarnation that wrote it.
    pub sequence: u32,
    pub incarnation: u32,
    /// The redo addresses at which it begins and ends.
    pub start: u64,
    pub end: u64,
    /// SCN and time (seconds since 1970, UTC) when it became current, and when the next sequence did.
    pub first_scn: Scn,
    pub first_time_s: u32,
    pub next_scn: Scn,
    pub next_time_s: u32,
    /// The time when its archived copy was complete; 0 without a copy.
    pub completed_s: u32,
    /// The archived copy: relative to the database directory, or an absolute path; empty without one.
    pub name: String,
}

impl LoggedEntry {
    /// True when both are of the same sequence.
    pub(crate) fn is_of(&self, other: &LoggedEntry) -> bool {
        (self.incarnation, self.sequence) == (other.incarnation, other.sequence)
    }
}

/// The log's part of the control file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogControl {
    /// SCN at the last clean shutdown.
    pub scn: Scn,
    /// The last checkpoint.
    pub checkpoint: CheckpointEntry,
    /// The present incarnation.
    pub incarnation: IncarnationEntry,
    /// ARCHIVELOG mode: a log is reused only after it has been archived.
    pub archivelog: bool,
    /// The online logs. The one with the highest sequence number is the current one.
    pub logs: Vec<LogGroupEntry>,
    /// Sequences that are complete, oldest first; the newest [`LOGGED_MAX`] of them.
    pub logged: Vec<LoggedEntry>,
}

impl LogControl {
    /// The current online log: the one with the highest sequence number. `None` before the first was opened.
    #[must_use]
    pub fn current_log(&self) -> Option<&LogGroupEntry> {
        self.logs.iter().filter(|l| l.sequence > 0).max_by_key(|l| l.sequence)
    }
}

/// The keeper of the control file.
pub trait Control: Send + Sync {
    /// The log's part, as it is now.
    ///
    /// # Errors
    /// ORA-00205.
    fn read(&self) -> Result<LogControl>;

    /// Changes the log's part, one process at a time. When `f` fails or changes nothing, the part stays as it is. When
    /// this returns, a start finds the change. `f` neither waits nor makes redo.
    ///
    /// Waits: those of the control file. Latches: none on entry or return.
    /// # Errors
    /// ORA-00205, ORA-00200; ORA-00028 and ORA-01013 while waiting; errors of `f`.
    fn change(&self, p: &Process, f: &mut dyn FnMut(&mut LogControl) -> Result<()>) -> Result<()>;

    /// Records a checkpoint, unless a later one is recorded: first in the data files, so that they are never behind the
    /// control file, then in the log's part.
    ///
    /// # Errors
    /// As [`Control::change`]; those of writing the data files.
    fn checkpointed(&self, p: &Process, done: &CheckpointEntry) -> Result<()>;

    /// The database directory: names of log files are relative to it.
    fn directory(&self) -> &Path;

    /// Identifies the database.
    fn database(&self) -> u64;

    /// Whether writes wait for the device.
    fn disk_sync(&self) -> bool;
}
