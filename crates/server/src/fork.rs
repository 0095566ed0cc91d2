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
/// lock. `checkpoint` makes a checkpoint of a running instance.
///
/// # Errors
/// The text of those of [`recovery::fork`]; there is no database in `from`.
pub fn fork(from: &Path, to: &Path, options: &ForkOptions, checkpoint: &mut Checkpoint) -> Result<Forked, String> {
    if !from.join(datafile::CONTROL_FILE).is_file() {
        return Err(format!("There is no database in {}.", from.display()));
    }
    let from = from.canonicalize().map_err(|e| format!("{}: {e}", from.display()))?;
    let reading = directory::read_only(&from).map_err(|e| e.to_string())?;
    // A throw-away instance reads no init file.
    let init_file = std::fs::read_to_string(from.join("init.ora")).ok().filter(|_| !options.is_transient);
    let init_file = init_file.map(|text| fork_init_file(&text));
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
    recovery::fork(&it, is_open, checkpoint).map_err(|e| match e.is(1113) {
        true => format!("{e}\nThe database was not closed cleanly: start it once to recover it."),
        false => e.to_string(),
    })
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
