//! `latchwork sql`: a shell in the manner of SQL*Plus, also under the program name `sqlplus`.
//!
//! It uses the instance only through [`client`]. Scripts written for SQL*Plus run unmodified: statements end with `;`
//! or `/`, `&1` are arguments, errors are printed with their position, and the script decides the exit code.
#![forbid(unsafe_code)]

mod arguments;
mod ask;
mod autotrace;
mod binds;
mod breaks;
mod classify;
mod column;
mod command;
mod connection;
mod copy;
mod describe;
mod edit;
mod ending;
mod errorlog;
mod execute;
mod files;
mod grouping;
mod headings;
mod help;
mod history;
mod html;
mod input;
mod instance;
mod layout;
mod logon;
mod logons;
mod output;
mod report;
mod results;
mod run;
mod scan;
mod set;
mod settings;
mod shell;
mod show;
mod shown;
mod substitute;
mod terminal;
mod text;
mod timers;
mod titles;
mod traced;

pub use arguments::{Arguments, USAGE, parse};
pub use classify::{Begins, begins};
pub use input::LineReader;
pub use logon::{Connector, Logon, parse_logon};
pub use output::Output;
pub use scan::{bind_names, split_script};
pub use shell::{Ended, Shell};
pub use substitute::{Marks, Variables};

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{Client, ClientError, ConnectOptions, Credentials, Ephemeral, Names};

/// Connects to the instance of a directory, or to the throw-away instance that this shell has started.
struct Place {
    home: PathBuf,
    /// Held so that the instance ends with the shell.
    ephemeral: Option<Ephemeral>,
    options: ConnectOptions,
}

impl Connector for Place {
    fn connect(&mut self, credentials: &Credentials, place: Option<&str>) -> Result<Client, ClientError> {
        if let Some(instance) = &self.ephemeral {
            return instance.connect_with(credentials, &self.options);
        }
        let asked = place.map(str::to_string).or_else(|| default_place(credentials));
        match asked.as_deref() {
            None => Client::connect_with(&self.home, credentials, &self.options),
            Some(dir) if Path::new(dir).is_dir() => Client::connect_with(Path::new(dir), credentials, &self.options),
            Some(place) => {
                let names = Names::read();
                // Without configured names, any name is the default instance.
                if !names.are_kept() && !place.contains(['/', ':', '(', ',', ';', '?']) {
                    return Client::connect_with(&self.home, credentials, &self.options);
                }
                Client::connect_net(&names.resolve(place)?, credentials, &self.options)
            }
        }
    }

    fn home(&self) -> Option<PathBuf> {
        self.ephemeral.is_none().then(|| self.home.clone())
    }
}

/// The default place: `$TWO_TASK`, or `$LOCAL`. With operating-system authentication the place is an instance of this
/// machine.
fn default_place(credentials: &Credentials) -> Option<String> {
    if matches!(credentials, Credentials::Sysdba | Credentials::OsUser) {
        return None;
    }
    ["TWO_TASK", "LOCAL"].iter().find_map(|name| std::env::var(name).ok().filter(|place| !place.trim().is_empty()))
}

/// Runs the shell with the program's arguments (those after `sql`, or all of `sqlplus`). `home` is the default database
/// directory. Returns the exit code.
pub fn main(arguments: &[String], home: &Path) -> u8 {
    if let Some(secret) = arguments::secret_of(arguments) {
        os::process::hide_argument(secret);
    }
    let arguments = match parse(arguments) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return 1;
        }
    };
    if arguments.help {
        println!("{USAGE}");
        return 0;
    }
    if arguments.version {
        println!("Latchwork SQL: Release {}", env!("CARGO_PKG_VERSION"));
        return 0;
    }
    let ephemeral = match arguments.ephemeral.then(|| start_ephemeral(&arguments)).transpose() {
        Ok(ephemeral) => ephemeral,
        Err(e) => {
            eprintln!("{e}");
            return 1;
        }
    };
    let mut place = Place {
        home: arguments.dir.clone().unwrap_or_else(|| home.to_path_buf()),
        ephemeral,
        options: ConnectOptions { program: "sqlplus".into(), ..ConnectOptions::default() },
    };
    let interactive = io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut reader: Box<dyn LineReader> =
        if interactive { Box::new(terminal::Terminal::new()) } else { Box::new(terminal::Pipe::default()) };
    run(&arguments, &mut place, reader.as_mut(), interactive)
}

fn start_ephemeral(arguments: &Arguments) -> Result<Ephemeral, ClientError> {
    let params: Vec<(&str, &str)> = arguments.params.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    Ephemeral::start(&params)
}

fn run(arguments: &Arguments, place: &mut Place, reader: &mut dyn LineReader, interactive: bool) -> u8 {
    let out = Output::to(Box::new(io::BufWriter::new(io::stdout())));
    let mut shell = Shell::new(reader, out, place, arguments.silent);
    shell.restrict = arguments.restrict;
    shell.set_markup(&arguments.markup);
    break_on_interrupt(&shell);
    if !arguments.silent {
        shell.banner();
    }
    if let Some(logon) = &arguments.logon {
        if !shell.log_on(logon.clone()) {
            return 1;
        }
    } else if !arguments.nolog {
        let logon = if arguments.ephemeral { Some("/ as sysdba".to_string()) } else { shell.ask_logon(interactive) };
        let Some(logon) = logon else {
            eprintln!("SP2-0306: no user name; for example: latchwork sql / as sysdba");
            return 1;
        };
        match parse_logon(&logon) {
            Ok(logon) if shell.log_on(logon.clone()) => {}
            Ok(_) => return 1,
            Err(message) => {
                eprintln!("{message}");
                return 1;
            }
        }
    }
    if let Some((script, rest)) = arguments.script.split_first() {
        if arguments.restrict >= 3 {
            eprintln!("SP2-0738: Restricted command \"start\" not available");
            return 1;
        }
        shell.start_script(script, rest, false);
    }
    shell.run().code
}

/// Makes Ctrl-C break the call in flight instead of ending the shell. A second one within a second ends it.
fn break_on_interrupt(shell: &Shell<'_>) {
    let breaker = shell.breaker();
    os::signal::flag_on(os::signal::SIGINT);
    std::thread::spawn(move || {
        // Counts checks since the last interrupt; there was none yet.
        let mut idle = u32::MAX;
        loop {
            std::thread::sleep(Duration::from_millis(20));
            idle = idle.saturating_add(1);
            if os::signal::take_flag(os::signal::SIGINT) == 0 {
                continue;
            }
            let handle = breaker.lock().unwrap_or_else(|e| e.into_inner()).clone();
            match handle {
                Some(handle) if idle > 50 => {
                    idle = 0;
                    if handle.send().is_err() {
                        std::process::exit(130);
                    }
                }
                _ => std::process::exit(130),
            }
        }
    });
}
