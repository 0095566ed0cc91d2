//! Copies of databases, whether their instances run or not.

use crate::directory::{self, Reading};
use crate::options::Checkpoint;
use recovery::{Fork, Forked};
use std::path::Path;

/// The choices of a copy.
#[derive(Clone, Copy, Debug)]
pub struct ForkOptions {
    /// See [`Fork::shares_space`].
    pub shares_space: bool,
    /// See [`Fork::sync`].
    pub sync: bool,
    /// See [`Fork::is_transient`].
    pub is_transient: bool,
}

/// Copies the database in `from` into the directory `to`, which the caller has locked and which is empty apart from its
/// lock. `checkpoint` makes a checkpoint of a running instance. The copy ends when `stopped` returns true.
///
/// # Errors
/// The text of those of [`recovery::fork`]; there is no database in `from`.
pub fn fork(
    from: &Path,
    to: &Path,
    options: &ForkOptions,
    checkpoint: &mut Checkpoint,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Forked, String> {
    if !from.join(datafile::CONTROL_FILE).is_file() {
        return Err(format!("There is no database in {}.", from.display()));
    }
    let from = from.canonicalize().map_err(|e| format!("{}: {e}", from.display()))?;
    let reading = directory::read_only(&from).map_err(|e| e.to_string())?;
    // A throw-away instance has its parameters already.
    let init_file = if options.is_transient { None } else { init_file_of(&from)? };
    let it = Fork {
        from: &from,
        to,
        database: os::clock::wall_ns(),
        shares_space: options.shares_space,
        sync: options.sync,
        is_transient: options.is_transient,
        init_file: init_file.as_deref(),
    };
    let is_open = matches!(reading, Reading::Open);
    recovery::fork(&it, is_open, checkpoint, stopped).map_err(|e| e.to_string())
}

/// Checks that the database in `from` can be copied: its control file is whole, and its instance runs and makes a
/// checkpoint, or it was closed cleanly.
///
/// # Errors
/// The text of the reason.
pub fn require_forkable(from: &Path, checkpoint: &mut Checkpoint) -> Result<(), String> {
    let reading = directory::read_only(from).map_err(|e| e.to_string())?;
    recovery::require_forkable(from, matches!(reading, Reading::Open), checkpoint).map_err(|e| e.to_string())
}

/// The init file of a copy of the database in `from`, if that has one.
///
/// # Errors
/// ORA-01078: it cannot be read.
pub fn init_file_of(from: &Path) -> Result<Option<String>, String> {
    let path = from.join("init.ora");
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(fork_init_file(&text))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!(
            "ORA-01078: failure in processing system parameters\nLRM-00109: could not open parameter file '{}' ({e})",
            path.display()
        )),
    }
}

/// The init file of a copy: that of the parent, without parameters that name its folders or its listener's addresses.
fn fork_init_file(text: &str) -> String {
    let keep = |line: &str| {
        let name = line.split('=').next().unwrap_or("").trim();
        // `*.name` and `sid.name` are names, too.
        let name = name.split_once('.').map_or(name, |(_, name)| name);
        !params::Param::find(name).is_some_and(|p| params::PLACES.contains(&p))
    };
    text.lines()
        .map(|line| if keep(line) { format!("{line}\n") } else { format!("# of the parent: {line}\n") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_init_file_loses_the_places_of_the_parent() {
        let text =
            "processes = 40\nLocal_Listener=1521\n# a comment\nlog_archive_dest_1 = 'LOCATION=/a'\nwallet_root = /w\n";
        let is = fork_init_file(text);
        assert_eq!(
            is,
            "processes = 40\n# of the parent: Local_Listener=1521\n# a comment\n\
             # of the parent: log_archive_dest_1 = 'LOCATION=/a'\n# of the parent: wallet_root = /w\n"
        );
    }
}
