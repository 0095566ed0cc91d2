//! `latchwork top`.

use crate::instance::Place;
use clap::Args;
use std::process::ExitCode;

#[derive(Args)]
pub struct Top {
    #[command(flatten)]
    options: top::Options,
    #[command(flatten)]
    place: Place,
}

/// Runs `latchwork top`.
pub fn run(args: &Top) -> ExitCode {
    ExitCode::from(top::main(&args.options, &args.place.dir()))
}
