//! `latchwork tnsping`: asks a listener whether it is there.

use clap::Args;
use client::NetAddress;
use std::process::ExitCode;

/// Which listener, and how often.
#[derive(Args)]
pub struct TnsPing {
    /// host, host:port, [tcps://]host:port/service[?wallet_location=DIR] or a connect descriptor; the port is 1521
    /// unless it is named
    address: String,
    /// How many times to ask
    #[arg(default_value_t = 1)]
    count: u32,
}

/// Asks, and prints how long each answer took.
pub fn run(asked: &TnsPing) -> ExitCode {
    let Some(at) = NetAddress::parse(&asked.address) else {
        eprintln!("TNS-12154: TNS:could not resolve the connect identifier specified");
        return ExitCode::FAILURE;
    };
    println!("Attempting to contact (ADDRESS=(PROTOCOL={})(HOST={})(PORT={}))", at.protocol(), at.host, at.port);
    for _ in 0..asked.count {
        match client::ping(&at) {
            Ok(time) => println!("OK ({} msec)", time.as_micros().div_ceil(1000)),
            Err(e) => {
                eprintln!("{e}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
