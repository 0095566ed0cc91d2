//! A database directory and its instance, which is started, killed and started again.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use client::{Client, Credentials};
use os::file::{File, OpenMode};

use crate::error::LabError;

/// Time limit of a start, and of the end of all processes; longer means a hang.
const LIMIT: Duration = Duration::from_secs(60);

/// The file whose lock every process of an instance holds.
const LOCK_NAME: &str = "latchwork.pid";

/// A database directory of a test, removed when dropped unless it is to be kept.
pub struct Place {
    dir: PathBuf,
    executable: PathBuf,
    child: Option<Child>,
    keep: bool,
}

/// The outcome of a start.
#[derive(Debug)]
pub enum Started {
    /// The instance is open, after this time.
    Open(Duration),
    /// It died on purpose before it was open; the text is its output, empty for a kill.
    Died(String),
}

impl Place {
    /// A new directory below the system's memory file system, or its temporary directory.
    ///
    /// # Errors
    /// The program is not found, or the directory cannot be made.
    pub fn new(executable: Option<PathBuf>) -> Result<Place, LabError> {
        Place::named("torture", executable)
    }

    /// As [`Place::new`], with `word` in the directory's name.
    ///
    /// # Errors
    /// As [`Place::new`].
    pub fn named(word: &str, executable: Option<PathBuf>) -> Result<Place, LabError> {
        let executable = match executable {
            Some(e) => e,
            None => client::find_executable()?,
        };
        let given = std::env::var_os("TMPDIR").map(PathBuf::from);
        let shm = Some(PathBuf::from("/dev/shm")).filter(|d| d.is_dir());
        let base = given.or(shm).unwrap_or_else(std::env::temp_dir);
        let unique = format!("latchwork-{word}-{}-{}", os::process::own_id(), os::clock::now_ns());
        let dir = base.join(unique);
        std::fs::create_dir_all(&dir).map_err(|e| LabError::new(format!("{}: {e}", dir.display())))?;
        Ok(Place { dir, executable, child: None, keep: false })
    }

    /// A path for another directory beside this one, which is not created yet.
    ///
    /// # Errors
    /// This directory has no name.
    pub fn sibling(&self) -> Result<Place, LabError> {
        let no_name = || LabError::new(format!("{} has no name", self.dir.display()));
        let name = self.dir.file_name().ok_or_else(no_name)?.to_string_lossy().into_owned();
        let base = name.split("-of-").next().unwrap_or(&name);
        let dir = self.dir.with_file_name(format!("{base}-of-{}", os::clock::now_ns()));
        Ok(Place { dir, executable: self.executable.clone(), child: None, keep: false })
    }

    /// The program.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// The database directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Keeps the directory for an investigation.
    pub fn keep(&mut self) {
        self.keep = true;
    }

    /// Starts the instance; with `kill_after` it is killed after that time unless it is open before.
    ///
    /// # Errors
    /// The program cannot be run, or the start hangs.
    pub fn start(&mut self, params: &[(String, String)], kill_after: Option<Duration>) -> Result<Started, LabError> {
        assert!(self.child.is_none(), "one instance at a time");
        let mut command = Command::new(&self.executable);
        command.arg("start").arg("--owned").arg("--dir").arg(&self.dir);
        for (name, value) in params {
            command.arg("--param").arg(format!("{name}={value}"));
        }
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let begun = Instant::now();
        let spawned = command.spawn();
        let mut child = spawned.map_err(|e| LabError::new(format!("cannot run {}: {e}", self.executable.display())))?;
        let words = child.stdout.take().map(first_words);
        self.child = Some(child);
        let said = words.map(|w| w.recv_timeout(kill_after.unwrap_or(LIMIT)));
        match said {
            Some(Ok(text)) if text.starts_with("ready ") => Ok(Started::Open(begun.elapsed())),
            Some(Ok(text)) => {
                self.wait_for_end()?;
                Ok(Started::Died(text.trim().to_string()))
            }
            _ if kill_after.is_some() => {
                self.kill()?;
                Ok(Started::Died(String::new()))
            }
            _ => {
                let where_ = self.stacks();
                self.keep();
                self.kill()?;
                Err(LabError::new(format!("the start of the instance hangs\n{where_}")))
            }
        }
    }

    /// A session.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect(&self) -> client::ClientResult<Client> {
        Client::connect(&self.dir, &Credentials::Sysdba)
    }

    /// The supervisor's process id.
    pub fn supervisor(&self) -> Option<i32> {
        self.child.as_ref().map(|c| c.id() as i32)
    }

    /// Whether the supervisor has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|c| !matches!(c.try_wait(), Ok(None)))
    }

    /// Kills the supervisor, and so every process of the instance, and waits until all are gone.
    ///
    /// # Errors
    /// A process outlives the supervisor.
    pub fn kill(&mut self) -> Result<(), LabError> {
        if let Some(child) = &mut self.child {
            // The process may have ended by itself.
            let _ = child.kill();
        }
        self.wait_for_end()
    }

    /// Waits until the instance has ended by itself; false when it has not within `limit`.
    pub fn wait_for_own_end(&mut self, limit: Duration) -> bool {
        let begun = Instant::now();
        while !self.has_ended() {
            if begun.elapsed() > limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Shuts the instance down.
    ///
    /// # Errors
    /// It does not end.
    pub fn stop(&mut self) -> Result<(), LabError> {
        if let Some(pid) = self.supervisor() {
            let _ = os::process::kill(pid, os::signal::SIGTERM);
        }
        self.wait_for_end()
    }

    /// Waits until every process of the instance has ended: they share the lock of one file.
    fn wait_for_end(&mut self) -> Result<(), LabError> {
        let begun = Instant::now();
        let path = self.dir.join(LOCK_NAME);
        loop {
            let ended = self.has_ended();
            let free = File::open(&path, OpenMode::Read).map_or(true, |f| f.try_lock().unwrap_or(false));
            if ended && free {
                self.child = None;
                return Ok(());
            }
            if begun.elapsed() > LIMIT {
                let where_ = self.stacks();
                self.keep();
                return Err(LabError::new(format!("processes of the instance do not end\n{where_}")));
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    /// Runs `latchwork verify` on the stopped database.
    ///
    /// # Errors
    /// The findings, or the reason why it could not be run.
    pub fn verify(&self) -> Result<(), LabError> {
        let mut command = Command::new(&self.executable);
        command.arg("verify").arg("--dir").arg(&self.dir);
        let out = command.output().map_err(|e| LabError::new(format!("cannot verify: {e}")))?;
        if out.status.success() {
            return Ok(());
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Err(LabError::new(format!("latchwork verify: {}{}", text(&out.stdout), text(&out.stderr))))
    }

    /// The processes of the instance and their kernel stacks.
    pub fn stacks(&self) -> String {
        let Some(supervisor) = self.supervisor() else { return String::new() };
        let mut out = String::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else { continue };
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
            if pid == supervisor || parent == Some(supervisor) {
                let text = |name| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
                out.push_str(&format!("{pid} {} {}\n", text("comm").trim(), text("wchan").trim()));
            }
        }
        out
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.kill();
        if self.keep {
            eprintln!("The database is kept in {}", self.dir.display());
        } else {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// Most bytes of a start's output that are read.
const WORDS_MOST: u64 = 64 << 10;

/// Reads, in a thread of its own, up to the line that says `ready`, or to the end: the pipe is closed when the
/// supervisor ends.
fn first_words(out: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut text, mut line) = (String::new(), String::new());
        // A long start reports its progress before it is ready; a failed one gives the reason before it ends.
        let mut out = BufReader::new(out.take(WORDS_MOST));
        while out.read_line(&mut line).is_ok_and(|n| n > 0) {
            if line.starts_with("ready ") {
                text = line;
                break;
            }
            text.push_str(&std::mem::take(&mut line));
        }
        // The receiver is gone when the start was killed.
        let _ = sender.send(text);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_says_how_far_it_is_is_waited_for() {
        let said = |text: &'static str| first_words(text.as_bytes()).recv_timeout(LIMIT).expect("something");
        assert_eq!(said("ready /x\nmore\n"), "ready /x\n");
        assert_eq!(said("Recovering: 3 %\nRecovering: 70 %\nready /x\n"), "ready /x\n");
        assert_eq!(
            said("Recovering: 3 %\nORA-01578: damaged\nORA-01110: file\n"),
            "Recovering: 3 %\nORA-01578: damaged\nORA-01110: file\n"
        );
    }
}
