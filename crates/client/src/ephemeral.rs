//! A throw-away instance: a supervisor in a temporary directory, which ends with its owner.
//!
//! The supervisor is a child process. It reads a pipe whose other end the owner holds: when the owner drops the guard
//! or dies in any way, the pipe ends, and the supervisor stops the instance and removes the directory. On standard
//! output it writes `ready DIRECTORY`, or an error message.

use crate::error::{ClientError, ClientResult};
use crate::options::{ConnectOptions, Credentials};
use crate::session::Client;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit for a stopping instance before it is killed.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// The options of an ephemeral instance.
#[derive(Clone, Debug, Default)]
pub struct EphemeralOptions {
    /// Init parameters, in order.
    pub params: Vec<(String, String)>,
    /// The `latchwork` program; `None` searches for it: this program if it is `latchwork`, else `$LATCHWORK_EXE`, else
    /// the one in this program's folder.
    pub executable: Option<PathBuf>,
}

/// A running throw-away instance. Dropping it stops the instance and removes its directory.
pub struct Ephemeral {
    child: Child,
    dir: PathBuf,
    options: EphemeralOptions,
}

impl Ephemeral {
    /// Starts an instance with the given init parameters.
    ///
    /// # Errors
    /// [`ClientError::Start`] with the supervisor's message.
    pub fn start(params: &[(&str, &str)]) -> ClientResult<Ephemeral> {
        let params = params.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Self::start_with(&EphemeralOptions { params, executable: None })
    }

    /// Starts an instance.
    ///
    /// # Errors
    /// [`ClientError::Start`] with the supervisor's message.
    pub fn start_with(options: &EphemeralOptions) -> ClientResult<Ephemeral> {
        Self::spawn(options, None, "--param")
    }

    /// Starts a throw-away instance over a private copy of this one, with the same parameters, except those that name
    /// its folders; its listener gets a free port. The copy has every
    /// commit acknowledged before the call, and nothing of open transactions. Neither instance sees later changes of
    /// the other; their ends are independent, too.
    ///
    /// ```no_run
    /// # use client::{Credentials, Ephemeral};
    /// # let instance = Ephemeral::start(&[])?;
    /// let copy = instance.fork()?;
    /// copy.connect(&Credentials::Sysdba)?.execute("drop table accounts", &[])?;
    /// // `instance` still has the table.
    /// # Ok::<(), client::ClientError>(())
    /// ```
    ///
    /// # Errors
    /// [`ClientError::Start`] with the message of the fork or of its supervisor.
    pub fn fork(&self) -> ClientResult<Ephemeral> {
        Self::spawn(&self.options, Some(&self.dir), "--inherited")
    }

    /// Starts a throw-away instance over a private copy of the database in `dir`: one whose instance runs, or one that
    /// was closed cleanly. The caller owns that directory.
    ///
    /// # Errors
    /// As [`Ephemeral::fork`].
    pub fn fork_of(dir: &Path, options: &EphemeralOptions) -> ClientResult<Ephemeral> {
        Self::spawn(options, Some(dir), "--param")
    }

    /// Starts the program, which gets each parameter behind the option `option`.
    fn spawn(options: &EphemeralOptions, fork_of: Option<&Path>, option: &str) -> ClientResult<Ephemeral> {
        let executable = match &options.executable {
            Some(e) => e.clone(),
            None => find_executable()?,
        };
        let mut command = Command::new(&executable);
        command.arg("start").arg("--ephemeral");
        if let Some(dir) = fork_of {
            command.arg("--fork-of").arg(dir);
        }
        for (name, value) in &options.params {
            command.arg(option).arg(format!("{name}={value}"));
        }
        // A process group of its own: Ctrl-C at the owner's terminal must not reach the instance.
        command.process_group(0);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        let mut child = spawned.map_err(|e| start_error(&format!("cannot run {}: {e}", executable.display())))?;
        match wait_ready(&mut child) {
            Ok(dir) => Ok(Ephemeral { child, dir, options: options.clone() }),
            Err(why) => {
                end(&mut child);
                Err(start_error(&why))
            }
        }
    }

    /// Opens a session.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect(&self, credentials: &Credentials) -> ClientResult<Client> {
        Client::connect(&self.dir, credentials)
    }

    /// Opens a session, with the client's description for `v$session`.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_with(&self, credentials: &Credentials, options: &ConnectOptions) -> ClientResult<Client> {
        Client::connect_with(&self.dir, credentials, options)
    }

    /// The instance's directory: socket, data files, alert log.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The supervisor's process id.
    pub fn supervisor(&self) -> u32 {
        self.child.id()
    }

    /// Whether the supervisor still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

/// A throw-away database that is prepared once, and from which each test gets an instance of its own.
///
/// ```no_run
/// use client::{Client, ClientResult, Credentials, Ephemeral, EphemeralOptions, Template};
/// use std::sync::LazyLock;
///
/// static TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
///     let prepare = |session: &mut Client| -> ClientResult<()> {
///         session.execute("create table accounts (id number primary key, balance number)", &[])?;
///         session.execute("insert into accounts select level, 100 from dual connect by level <= 1000", &[])?;
///         session.commit()
///     };
///     Template::prepare(&EphemeralOptions::default(), prepare).expect("the template")
/// });
///
/// fn a_test() -> ClientResult<()> {
///     let instance: Ephemeral = TEMPLATE.instance()?;
///     let mut session = instance.connect(&Credentials::Sysdba)?;
///     session.execute("update accounts set balance = 0", &[])?;
///     session.commit()
/// }
/// ```
/// A template may be in a static variable: its instance ends with the process, like every [`Ephemeral`].
pub struct Template {
    parent: Ephemeral,
}

impl Template {
    /// Starts an instance and lets `prepare` fill it, in a session of SYSDBA.
    ///
    /// # Errors
    /// Those of [`Ephemeral::start_with`] and of `prepare`.
    pub fn prepare(
        options: &EphemeralOptions,
        prepare: impl FnOnce(&mut Client) -> ClientResult<()>,
    ) -> ClientResult<Template> {
        let parent = Ephemeral::start_with(options)?;
        let mut session = parent.connect(&Credentials::Sysdba)?;
        prepare(&mut session)?;
        session.logoff(true)?;
        Ok(Template { parent })
    }

    /// Starts an instance over a copy of the template.
    ///
    /// # Errors
    /// As [`Ephemeral::fork`].
    pub fn instance(&self) -> ClientResult<Ephemeral> {
        self.parent.fork()
    }
}

impl Drop for Ephemeral {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn start_error(why: &str) -> ClientError {
    ClientError::Start(why.to_string())
}

/// Reads the supervisor's first line.
fn wait_ready(child: &mut Child) -> Result<PathBuf, String> {
    let out = child.stdout.take().ok_or("no pipe from the instance")?;
    let mut out = BufReader::new(out);
    let mut line = String::new();
    out.read_line(&mut line).map_err(|e| e.to_string())?;
    match line.trim_end().strip_prefix("ready ") {
        Some(dir) => Ok(PathBuf::from(dir)),
        None => {
            // A few KB hold any message; the pipe ends with the supervisor.
            let _ = out.take(8192).read_to_string(&mut line);
            let text = line.trim();
            Err(if text.is_empty() { "the instance ended before it was ready".into() } else { text.into() })
        }
    }
}

/// Ends the supervisor: first by the end of the owner's pipe, then by a kill.
fn end(child: &mut Child) {
    drop(child.stdin.take());
    let start = Instant::now();
    while start.elapsed() < STOP_LIMIT {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            _ => return,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Finds the `latchwork` program as described at [`EphemeralOptions::executable`].
///
/// # Errors
/// [`ClientError::Start`] when there is none.
pub fn find_executable() -> ClientResult<PathBuf> {
    if let Some(path) = std::env::var_os("LATCHWORK_EXE") {
        return Ok(path.into());
    }
    let own = std::env::current_exe().map_err(|e| start_error(&e.to_string()))?;
    let own = own.canonicalize().unwrap_or(own);
    if own.file_name().is_some_and(|n| n == "latchwork") {
        return Ok(own);
    }
    // Tests and benches of the workspace are in target/PROFILE/deps, the program is one folder up.
    let beside = own.parent().map(|d| d.join("latchwork"));
    let above = own.parent().and_then(Path::parent).map(|d| d.join("latchwork"));
    [beside, above]
        .into_iter()
        .flatten()
        .find(|p| p.is_file())
        .ok_or_else(|| start_error("the latchwork program was not found; set LATCHWORK_EXE"))
}
