//! The names that tests and faults have in common.

/// Whether this program has the faults.
pub const ARE_COMPILED_IN: bool = cfg!(feature = "inject");

/// Name of the file that records deaths at crash points: one line `name pass process` for each death.
pub const DEATHS_FILE: &str = "crash_points";

/// While the directory has this file, a plan `name:n:stop` stops the next process that passes.
pub const STOP_FILE: &str = "crash_stop";

/// While the directory has this file, a plan kills no process.
pub const CALM_FILE: &str = "crash_calm";

/// While the directory has this file, its disk counts as full.
pub const DISK_FULL_FILE: &str = "disk_full";

/// The file that contains the name of the file whose writes are lost.
pub const DEVICE_FAILS_FILE: &str = "device_fails";

/// The folder beside the files with the journal of writes and the files that renames and removals replaced.
pub const POWER_FOLDER: &str = ".power";

/// The result of [`crate::restore_power`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Syncs of files and directories before the end, the last one included.
    pub syncs: u64,
    /// Changes since the last sync that reached the device whole.
    pub kept: u64,
    /// Changes that were lost whole.
    pub lost: u64,
    /// Writes of which some sectors were lost.
    pub torn: u64,
}
