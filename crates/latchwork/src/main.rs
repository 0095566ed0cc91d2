#![forbid(unsafe_code)]
//! The `latchwork` program: starts and stops instances, and contains the shell and the laboratory.

mod awr;
mod backup;
mod checkpoint;
mod fork;
mod instance;
mod lsnrctl;
mod progress;
mod recover;
mod tnsping;
mod top;
mod verify;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// An Oracle-compatible database instance whose shared memory you can see into.
#[derive(Parser)]
#[command(name = "latchwork", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the instance of a database directory; creates the database if there is none
    Start(instance::Start),
    /// Stop a running instance
    Stop(instance::Stop),
    /// Show whether an instance runs, with its processes and memory
    Status(instance::Status),
    /// Check every file, block, table and index of a stopped database
    Verify(verify::Verify),
    /// Copy a database, open or stopped, into a folder
    Backup(backup::Backup),
    /// Make a database from a backup, as of its end or an earlier moment
    Restore(backup::Restore),
    /// Make a private copy of a database, open or stopped, in a moment: for tests and trials
    Fork(fork::ForkArgs),
    /// Show how far a database that does not start can be recovered, and open it without lost redo
    Recover(recover::Recover),
    /// Show blockers and waiters of an instance that may be stuck: reads its memory, takes no latch, changes nothing
    Hang(instance::Hang),
    /// SQL*Plus-compatible shell; also when the program is called sqlplus
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Sql {
        /// Arguments of SQL*Plus; --help lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Snapshots of the workload, and reports of the activity between two of them
    #[command(subcommand)]
    Awr(awr::Command),
    /// Watch an instance live: active sessions, waits, latches, statements
    Top(top::Top),
    /// Test whether a listener answers; also when the program is called tnsping
    #[command(name = "tnsping")]
    TnsPing(tnsping::TnsPing),
    /// Show the listener's addresses and services, or stop and start it; also when the program is called lsnrctl
    Lsnrctl(lsnrctl::Lsnrctl),
    /// Run, compare and report contention experiments
    #[command(subcommand)]
    Lab(lab::Command),
}

fn main() -> ExitCode {
    // A program whose output goes to a closed pipe (`latchwork status | head -1`) is ended silently by this signal. An
    // instance ignores it.
    os::signal::restore_default(os::signal::SIGPIPE);
    if called_as("sqlplus") {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        return ExitCode::from(shell::main(&arguments, &instance::default_dir()));
    }
    for word in ["tnsping", "lsnrctl"] {
        if called_as(word) {
            let arguments = ["latchwork", word].map(std::ffi::OsString::from).into_iter();
            let arguments = arguments.chain(std::env::args_os().skip(1));
            return run(Cli::parse_from(arguments).command);
        }
    }
    run(Cli::parse().command)
}

fn run(command: Command) -> ExitCode {
    match command {
        Command::Start(a) => instance::start(&a),
        Command::Stop(a) => instance::stop(&a),
        Command::Status(a) => instance::status(&a),
        Command::Hang(a) => instance::hang(&a),
        Command::Verify(a) => verify::run(&a),
        Command::Backup(a) => backup::backup(&a),
        Command::Restore(a) => backup::restore(&a),
        Command::Fork(a) => fork::run(&a),
        Command::Recover(a) => recover::run(&a),
        Command::Sql { arguments } => ExitCode::from(shell::main(&arguments, &instance::default_dir())),
        Command::Awr(command) => awr::run(&command),
        Command::Top(a) => top::run(&a),
        Command::TnsPing(a) => tnsping::run(&a),
        Command::Lsnrctl(a) => lsnrctl::run(&a),
        Command::Lab(command) => ExitCode::from(lab::main(&command)),
    }
}

/// Whether the program was started under this name.
fn called_as(wanted: &str) -> bool {
    let name = std::env::args_os().next().map(std::path::PathBuf::from);
    name.as_deref().and_then(std::path::Path::file_stem).is_some_and(|stem| stem == wanted)
}
