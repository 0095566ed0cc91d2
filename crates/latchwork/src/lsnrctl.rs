//! `latchwork lsnrctl`: the commands of lsnrctl, for the listener of an instance of this machine.

use crate::instance::Place;
use clap::Args;
use client::{Client, ClientError, ListenerWord};
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
The following operations are available

start           stop            status          services
reload          version         help            exit
quit";

const EXAMPLES: &str = "\
Examples:
  latchwork lsnrctl status               where it listens, and for which services
  latchwork lsnrctl services             how many connections were handed on and refused
  latchwork lsnrctl stop                 nobody connects any more; sessions go on
  echo services | latchwork lsnrctl      without a word they are read";

/// The command.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Lsnrctl {
    #[command(flatten)]
    place: Place,
    /// start, stop, status, services, reload, version or help; by default commands are read from standard input
    word: Option<String>,
    /// The listener's name; there is only one
    name: Option<String>,
}

/// Runs `latchwork lsnrctl`.
pub fn run(args: &Lsnrctl) -> ExitCode {
    let dir = args.place.dir();
    println!("LSNRCTL: {}\n", session_banner());
    match &args.word {
        Some(word) => match obey(&dir, word, args.name.as_deref()) {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        },
        None => talk(&dir),
    }
}

fn session_banner() -> String {
    format!("Latchwork Release {}", env!("CARGO_PKG_VERSION"))
}

/// Reads commands until `exit`.
fn talk(dir: &Path) -> ExitCode {
    println!("Welcome to LSNRCTL, type \"help\" for information.\n");
    let stdin = std::io::stdin();
    let is_person = stdin.is_terminal();
    let mut good = true;
    let mut lines = stdin.lock().lines();
    loop {
        if is_person {
            print!("LSNRCTL> ");
            let _ = std::io::stdout().flush();
        }
        let Some(Ok(line)) = lines.next() else { break };
        let mut words = line.split_whitespace();
        match words.next() {
            None => {}
            Some(word) if ["exit", "quit"].iter().any(|end| word.eq_ignore_ascii_case(end)) => break,
            Some(word) => good = obey(dir, word, words.next()),
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Executes one command; returns whether it succeeded.
fn obey(dir: &Path, word: &str, name: Option<&str>) -> bool {
    let word = match word.to_ascii_lowercase().as_str() {
        "status" => ListenerWord::Status,
        "services" => ListenerWord::Services,
        "start" => ListenerWord::Start,
        "stop" => ListenerWord::Stop,
        "reload" => ListenerWord::Reload,
        "version" => {
            println!("{}", session_banner());
            return true;
        }
        "help" => {
            println!("{HELP}");
            return true;
        }
        _ => {
            println!("NL-00853: undefined command \"{word}\".  Try \"help\"");
            return false;
        }
    };
    if let Some(name) = name.filter(|name| !name.eq_ignore_ascii_case("listener")) {
        println!("TNS-01101: Could not find service name {name}");
        return false;
    }
    println!("Connecting to the instance of {}", dir.display());
    match Client::ask_listener(dir, word) {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            println!("The command completed successfully");
            true
        }
        Err(ClientError::NotRunning(at)) => {
            println!("TNS-12541: TNS:no listener\nno instance answers at {at}");
            false
        }
        Err(e) => {
            println!("{e}");
            false
        }
    }
}
