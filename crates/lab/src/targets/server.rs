//! A server that the laboratory starts in a folder of its own, for the time of a run.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::targets::processes::{End, Guard, OwnFolder, Tree};

/// The time that a server has for its start.
const START_LIMIT: Duration = Duration::from_secs(120);

/// A running server. Dropping it stops it and removes its folder.
pub struct Server {
    child: Child,
    signal: i32,
    folder: PathBuf,
    _guard: Guard,
}

/// A signal by number and by the name that shells give it.
pub type Signal = (i32, &'static str);

impl Server {
    /// Starts a server, with its output in `folder/log`.
    ///
    /// # Errors
    /// When the program cannot be run.
    pub fn start(mut command: Command, folder: OwnFolder, signal: Signal) -> Result<Server, LabError> {
        let log = folder.place.join("log");
        let file = std::fs::File::create(&log).map_err(|e| LabError::new(format!("{}: {e}", log.display())))?;
        let copy = file.try_clone().map_err(|e| LabError::new(format!("{}: {e}", log.display())))?;
        // A process group of its own: Ctrl-C at the terminal must not reach the server.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdin(Stdio::null()).stdout(file).stderr(copy);
        let child = command.spawn().map_err(|e| LabError::new(format!("{command:?}: {e}")))?;
        let guard = Guard::of(Tree { root: child.id() }, &End::Signal(signal.1, &folder.place))?;
        Ok(Server { child, signal: signal.0, folder: folder.hand_over(), _guard: guard })
    }

    pub fn tree(&self) -> Tree {
        Tree { root: self.child.id() }
    }

    /// Tries to connect until the server accepts it.
    ///
    /// # Errors
    /// The end of the server's log, when it has ended or takes too long.
    pub fn wait_for<T>(&mut self, connect: &mut dyn FnMut() -> Result<T, String>) -> Result<T, LabError> {
        let began = Instant::now();
        loop {
            let why = match connect() {
                Ok(connected) => return Ok(connected),
                Err(why) => why,
            };
            let has_ended = !matches!(self.child.try_wait(), Ok(None));
            if has_ended || began.elapsed() > START_LIMIT {
                return Err(LabError::new(format!("the server does not start: {why}\n{}", self.log())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn log(&self) -> String {
        let text = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tree().thaw();
        if let Ok(process) = i32::try_from(self.child.id()) {
            let _ = os::process::kill(process, self.signal);
        }
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if began.elapsed() > Duration::from_secs(10) {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // The guard removes the folder.
    }
}

/// A program of an engine: the first of these folders that has it, or the one of the search path.
pub fn program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = folders.iter().cloned().chain(std::env::split_paths(&path));
    all.map(|folder| folder.join(name)).find(|file| file.is_file())
}

pub fn is_root() -> bool {
    os::process::user_id() == 0
}

/// Runs a program to its end.
///
/// # Errors
/// Its text on standard error.
pub fn run_to_end(command: &mut Command) -> Result<(), LabError> {
    let program = PathBuf::from(command.get_program());
    let failed = |why: &str| LabError::new(format!("{}: {why}", program.display()));
    match command.stdin(Stdio::null()).stdout(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(failed(String::from_utf8_lossy(&output.stderr).trim())),
        Err(e) => Err(failed(&e.to_string())),
    }
}
