//! `latchwork start`, `stop` and `status`.

use clap::{Args, ValueEnum};
use params::InitParams;
use server::{StartOptions, StopMode};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Exit code: the instance runs already, or does not run.
pub const EXIT_STATE: u8 = 3;

const START_EXAMPLES: &str = "\
Examples:
  latchwork start                                  the database in ./latchwork-db
  latchwork start --dir /data/db --param db_cache_size=64M
  latchwork start --param latch_generation=11.1    the latches of another period
  latchwork start --foreground                     stay on the terminal, Ctrl-C stops";

const STOP_EXAMPLES: &str = "\
Examples:
  latchwork stop                  roll open transactions back, flush, stop
  latchwork stop --mode normal    wait until every session has ended
  latchwork stop --mode abort     end at once";

const HANG_EXAMPLES: &str = "\
A session that reads V$ views may hang on what it wants to know; this looks from outside, at each latch and who holds it, where and
why, at lock queues, and at what each session waits for.

Examples:
  latchwork hang                          the instance of $LATCHWORK_HOME
  latchwork hang --dir /data/db | less    another one";

/// The database directory.
#[derive(Args)]
pub struct Place {
    /// The database directory [default: $LATCHWORK_HOME, or ./latchwork-db]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Place {
    pub fn dir(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(default_dir)
    }
}

/// The default database directory.
pub fn default_dir() -> PathBuf {
    let home = std::env::var_os("LATCHWORK_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    home.unwrap_or_else(|| PathBuf::from("latchwork-db"))
}

#[derive(Args)]
#[command(after_help = START_EXAMPLES)]
pub struct Start {
    #[command(flatten)]
    place: Place,
    /// Set an init parameter; may be given several times and overrides the init file
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Read init parameters from this file [default: init.ora in the database directory, if it exists]
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// Start a database that exists; create none
    #[arg(long)]
    existing: bool,
    /// Stay in the foreground
    #[arg(long)]
    foreground: bool,
    /// Create a throw-away database that ends with standard input
    #[arg(long, hide = true)]
    ephemeral: bool,
    /// The throw-away database is a copy of the one in this directory
    #[arg(long, hide = true, requires = "ephemeral", value_name = "DIR")]
    fork_of: Option<PathBuf>,
    /// A parameter of the instance of that database: one that names a place of it is dropped
    #[arg(long = "inherited", hide = true, value_name = "NAME=VALUE")]
    inherited: Vec<String>,
    /// End with standard input like a throw-away database, but keep the database
    #[arg(long, hide = true)]
    owned: bool,
}

impl Start {
    /// A throw-away copy of the database in `from`, with these parameters.
    pub fn ephemeral_fork(from: PathBuf, params: Vec<String>) -> Start {
        let place = Place { dir: None };
        Start {
            place,
            params,
            init: None,
            existing: false,
            foreground: false,
            ephemeral: true,
            fork_of: Some(from),
            inherited: Vec::new(),
            owned: false,
        }
    }
}

#[derive(Args)]
#[command(after_help = STOP_EXAMPLES)]
pub struct Stop {
    #[command(flatten)]
    place: Place,
    /// How to treat open sessions
    #[arg(long, value_enum, default_value_t = Mode::Immediate)]
    mode: Mode,
}

#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
#[command(after_help = HANG_EXAMPLES)]
pub struct Hang {
    #[command(flatten)]
    place: Place,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// Wait until every session has ended
    Normal,
    /// End sessions, rolling their transactions back
    Immediate,
    /// End at once
    Abort,
}

/// Runs `latchwork start`.
pub fn start(args: &Start) -> ExitCode {
    if args.ephemeral || args.owned || args.foreground {
        return foreground(args);
    }
    match background(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn foreground(args: &Start) -> ExitCode {
    os::signal::ignore(os::signal::SIGPIPE);
    let options = match options(args) {
        Ok(o) => o,
        Err(text) => {
            // The owner reads the first line and so gets the reason.
            if args.ephemeral || args.owned {
                println!("{text}");
            } else {
                eprintln!("{text}");
            }
            return ExitCode::FAILURE;
        }
    };
    match server::run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn options(args: &Start) -> Result<StartOptions, String> {
    let dir = args.place.dir();
    // With one of the control files lost the start says how to go on.
    if args.existing && ![datafile::CONTROL_FILE, datafile::CONTROL_COPY].iter().any(|name| dir.join(name).exists()) {
        let why = types::Ora::new(205);
        return Err(format!("{why}\nThere is no database in {}.", dir.display()));
    }
    let mut params = InitParams::default();
    let file = match &args.init {
        Some(f) => Some(f.clone()),
        None if args.ephemeral => None,
        None => Some(dir.join("init.ora")).filter(|f| f.is_file()),
    };
    if let Some(file) = file {
        let text = std::fs::read_to_string(&file).map_err(|e| {
            format!("ORA-01078: failure in processing system parameters\nLRM-00109: could not open parameter file '{}' ({e})", file.display())
        })?;
        params.read_file(&text).map_err(|e| e.to_string())?;
    }
    if let Some(from) = &args.fork_of
        && let Some(text) = server::init_file_of(from)?
    {
        params.read_file(&text).map_err(|e| e.to_string())?;
    }
    for pair in args.inherited.iter().filter_map(|pair| inherited(pair)).chain(args.params.clone()) {
        params.set_pair(&pair).map_err(|e| e.to_string())?;
    }
    Ok(StartOptions {
        dir: if args.ephemeral { None } else { Some(dir) },
        params,
        fork_of: args.fork_of.as_ref().map(|from| (from.clone(), crate::checkpoint::checkpoint_of(from))),
        owner_on_stdin: args.ephemeral || args.owned,
    })
}

/// A parameter of an instance for a copy of its database: not one that names its places. A listener gets a free port.
fn inherited(pair: &str) -> Option<String> {
    let param = params::Param::find(pair.split('=').next().unwrap_or("").trim());
    match param.filter(|param| params::PLACES.contains(param)) {
        None => Some(pair.to_owned()),
        Some(params::Param::LocalListener) => Some("local_listener=0".into()),
        Some(_) => None,
    }
}

/// Starts the supervisor as a separate program and waits for its first line.
fn background(args: &Start) -> Result<(), String> {
    options(args)?;
    let dir = args.place.dir();
    let exe = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(exe);
    command.arg("start").arg("--foreground").arg("--dir").arg(&dir);
    for p in &args.params {
        command.arg("--param").arg(p);
    }
    if let Some(init) = &args.init {
        command.arg("--init").arg(init);
    }
    // The database must survive the end of the script or job that started it.
    os::process::in_own_session(&mut command);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|e| format!("cannot start the supervisor: {e}"))?;
    let mut out = BufReader::new(child.stdout.take().ok_or("no pipe from the supervisor")?);
    let mut text = String::new();
    while out.read_line(&mut text).map_err(|e| e.to_string())? > 0 {
        if let Some(dir) = text.lines().last().and_then(|l| l.strip_prefix("ready ")) {
            println!("Latchwork instance started.");
            println!("Database directory: {dir}");
            println!("Alert log:          {}", Path::new(dir).join(server::ALERT_LOG_NAME).display());
            let _ = std::io::stdout().flush();
            return Ok(());
        }
        if let Some(line) = text.lines().last().filter(|l| l.starts_with("Recovering: ")) {
            eprintln!("{line}");
            text.clear();
        }
    }
    let _ = child.wait();
    Err(if text.trim().is_empty() { "The instance ended before it was ready.".into() } else { text.trim().to_string() })
}

/// Runs `latchwork stop`.
pub fn stop(args: &Stop) -> ExitCode {
    let mode = match args.mode {
        Mode::Normal => StopMode::Normal,
        Mode::Immediate => StopMode::Immediate,
        Mode::Abort => StopMode::Abort,
    };
    match server::stop(&args.place.dir(), mode) {
        Ok(true) => {
            println!("Latchwork instance shut down.");
            ExitCode::SUCCESS
        }
        Ok(false) => not_running(&args.place.dir()),
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `latchwork status`.
pub fn status(args: &Status) -> ExitCode {
    match server::status(&args.place.dir()) {
        Ok(Some(s)) => {
            print!("{s}");
            match inside(&args.place.dir()) {
                Ok(text) => print!("{text}"),
                // The instance runs but does not answer: it is full, closing, or owned by another user.
                Err(e) => println!("It gave no further information: {e}"),
            }
            ExitCode::SUCCESS
        }
        Ok(None) => not_running(&args.place.dir()),
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// The instance's own description: generation, memory, processes.
fn inside(dir: &Path) -> client::ClientResult<String> {
    let mut session = client::Client::connect(dir, &client::Credentials::Sysdba)?;
    let mut rows = |sql: &str| -> client::ClientResult<Vec<Vec<String>>> {
        let nls = types::Nls::default();
        let text = |value: &types::Value| {
            let mut out = String::new();
            value.write_text(&nls, &mut out).map(|()| out).unwrap_or_default()
        };
        let all = session.query(sql, &[])?.all()?;
        Ok(all.iter().map(|row| row.iter().map(text).collect()).collect())
    };
    let mut out = String::new();
    for row in rows(
        "select to_char(i.startup_time, 'YYYY-MM-DD HH24:MI:SS'), p.value from v$instance i, v$parameter p
          where p.name = 'latch_generation'",
    )? {
        out.push_str(&format!("Started:    {}\nGeneration: {}\n", row[0], row[1]));
    }
    for row in rows("select round(sum(value) / 1048576) from v$sga")? {
        out.push_str(&format!("SGA:        {} MB\n", row[0]));
    }
    out.push_str("Processes:\n");
    for row in rows(
        "select p.spid, nvl(p.pname, 'server'), s.username, s.status, s.program
           from v$process p, v$session s where s.paddr = p.addr order by p.pid",
    )? {
        out.push_str(&format!("  {:>8}  {:<8} {:<12} {:<9} {}\n", row[0], row[1], row[2], row[3], row[4]));
    }
    session.logoff(true)?;
    // Without a listener this part is omitted.
    if let Ok(lines) = client::Client::ask_listener(dir, client::ListenerWord::Status) {
        let from = lines.iter().position(|line| line.starts_with("Listening Endpoints")).unwrap_or(lines.len());
        let handlers = client::Client::ask_listener(dir, client::ListenerWord::Services)?;
        let ends = lines[from..].iter().skip(1).take_while(|line| line.starts_with(' '));
        out.push_str("Listener:\n");
        ends.chain(handlers.iter().skip(1)).for_each(|line| out.push_str(&format!("  {}\n", line.trim_end())));
    }
    Ok(out)
}

/// Runs `latchwork hang`.
pub fn hang(args: &Hang) -> ExitCode {
    match client::Client::diagnose(&args.place.dir()) {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(client::ClientError::NotRunning(_)) => not_running(&args.place.dir()),
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn not_running(dir: &Path) -> ExitCode {
    eprintln!("No Latchwork instance runs in {}.", dir.display());
    ExitCode::from(EXIT_STATE)
}
