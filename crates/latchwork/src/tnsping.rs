//! `latchwork tnsping`: tests whether a listener answers.

use clap::Args;
use client::Names;
use std::process::ExitCode;

/// The listener, and the number of tries.
#[derive(Args)]
pub struct TnsPing {
    /// A name of tnsnames.ora, host, host:port, [tcps://]host:port/service[?wallet_location=DIR] or a connect
    /// descriptor; the default port is 1521
    address: String,
    /// Number of tries
    #[arg(default_value_t = 1)]
    count: u32,
}

/// Contacts the listener, and prints the time of each answer.
pub fn run(asked: &TnsPing) -> ExitCode {
    let names = Names::read();
    println!("Used parameter files:");
    names.files.iter().for_each(|file| println!("{}", file.display()));
    println!();
    // Without tnsnames.ora a single word is a host name.
    let route = names.resolve(&asked.address).or_else(|e| match e.code() {
        12154 if !names.are_kept() && !asked.address.contains('(') => {
            names.resolve(&format!("//{}", asked.address)).map_err(|_| e)
        }
        _ => Err(e),
    });
    let route = match route {
        Ok(route) => route,
        Err(e) if e.code() == 12154 => {
            eprintln!("{}", types::Ora::make(types::Facility::Tns, 3505, &[]));
            return ExitCode::FAILURE;
        }
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::FAILURE;
        }
    };
    for _ in 0..asked.count {
        match client::ping_route(&route, &mut |at| println!("Attempting to contact {at}")) {
            Ok(time) => println!("OK ({} msec)", time.as_micros().div_ceil(1000)),
            Err(e) => {
                eprintln!("{e}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
