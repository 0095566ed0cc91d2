#![forbid(unsafe_code)]
//! The `latchwork` program: starts and stops instances.

mod instance;

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
    /// Start the instance of a database directory, creating the database when there is none
    Start(instance::Start),
    /// Stop a running instance
    Stop(instance::Stop),
    /// Say whether an instance runs, with its processes and memory
    Status(instance::Status),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Start(a) => instance::start(&a),
        Command::Stop(a) => instance::stop(&a),
        Command::Status(a) => instance::status(&a),
    }
}
