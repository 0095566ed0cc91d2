#![forbid(unsafe_code)]
//! The supervisor and the server processes.

mod alert;
mod children;
mod directory;
mod fork;
mod listener;
mod options;
mod sending;
mod serve;
mod spare;
mod supervisor;

pub use alert::ALERT_LOG_NAME;
pub use fork::{ForkOptions, fork, init_file_of, require_forkable};
pub use listener::Conversation;
pub use options::{Checkpoint, StartOptions, StopMode};
pub use recovery::Forked;
pub use supervisor::SOCKET_NAME;

use std::path::Path;

/// Runs an instance: the calling process is its supervisor until the instance ends. Prints `ready DIRECTORY`, or an
/// error message, on standard output.
///
/// # Errors
/// The text that was printed.
pub fn run(options: StartOptions) -> Result<(), String> {
    supervisor::run(options)
}

/// Stops the instance of `dir` and waits until it has ended. Returns false when none runs there.
///
/// # Errors
/// The reason why the instance could not be signalled.
pub fn stop(dir: &Path, mode: StopMode) -> Result<bool, String> {
    let Some(pid) = directory::running(dir).map_err(|e| e.to_string())? else { return Ok(false) };
    let signal = match mode {
        StopMode::Normal => os::signal::SIGUSR1,
        StopMode::Immediate => os::signal::SIGTERM,
        StopMode::Abort => os::signal::SIGQUIT,
    };
    os::process::kill(pid, signal).map_err(|e| e.to_string())?;
    while directory::running(dir).map_err(|e| e.to_string())?.is_some() {
        os::clock::sleep(std::time::Duration::from_millis(2));
    }
    // An instance that could not write all blocks has ended as well.
    if mode != StopMode::Abort && instance::was_closed(dir) == Some(false) {
        let log = dir.join(ALERT_LOG_NAME);
        return Err(format!(
            "ORA-01092: ORACLE instance terminated. Disconnection forced\nThe database was not closed: {} says why. The next start recovers it.",
            log.display()
        ));
    }
    Ok(true)
}

/// A held database directory: no other process starts an instance in it while this value lives.
pub struct Hold(directory::Directory);

impl Hold {
    /// Whether [`hold`] has made the directory, and it was empty when its lock was taken.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.0.is_new()
    }

    /// Removes the directory if it was made by [`hold`] and is empty, and ends the hold.
    pub fn give_up(self) {
        self.0.give_up();
    }
}

/// The reason why a directory is not held.
#[derive(Debug)]
pub enum HoldError {
    /// An instance or another program uses it, or it has files of something else.
    Taken(String),
    /// It cannot be made or locked.
    Failed(String),
}

impl From<HoldError> for String {
    fn from(e: HoldError) -> String {
        let (HoldError::Taken(text) | HoldError::Failed(text)) = e;
        text
    }
}

/// Keeps instances out of `dir`, for programs that change the files themselves.
///
/// # Errors
/// An instance runs there, or another program holds the directory, as the text says.
pub fn hold(dir: &Path) -> Result<Hold, HoldError> {
    match directory::Directory::take(dir) {
        Ok(place) => Ok(Hold(place)),
        Err(directory::DirectoryError::InUse(pid)) => {
            let text =
                format!("The database in {} is in use by process {pid}: stop the instance first.", dir.display());
            Err(HoldError::Taken(text))
        }
        Err(directory::DirectoryError::Read(dir)) => {
            let text = "is being copied: repeat the command when the copy is complete.";
            Err(HoldError::Taken(format!("The database in {} {text}", dir.display())))
        }
        Err(e @ directory::DirectoryError::Foreign(_)) => Err(HoldError::Taken(e.to_string())),
        Err(e) => Err(HoldError::Failed(e.to_string())),
    }
}

/// The output of `latchwork status` for the instance of `dir`; `None` when none runs there.
///
/// # Errors
/// The reason why the directory could not be read.
pub fn status(dir: &Path) -> Result<Option<String>, String> {
    let Some(pid) = directory::running(dir).map_err(|e| e.to_string())? else { return Ok(None) };
    Ok(Some(format!("Instance runs: supervisor process {pid}, directory {}\n", dir.display())))
}
