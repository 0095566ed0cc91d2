//! A short, seeded form of `latchwork lab run torture`: sessions are killed while they work, and nothing is lost.
//!
//! `LATCHWORK_TORTURE=instance_kills,session_kills,seconds` makes the run longer.

use lab::torture::{Plan, run};
use std::path::PathBuf;

/// The run's length: what the environment says, or so many kills.
fn length(instance_kills: u64, session_kills: u64) -> (u64, u64, f64) {
    let given = std::env::var("LATCHWORK_TORTURE").unwrap_or_default();
    let mut numbers = given.split(',').map(|n| n.trim().parse::<u64>().ok());
    let mut next = |or: u64| numbers.next().flatten().unwrap_or(or);
    (next(instance_kills), next(session_kills), next(60) as f64)
}

fn plan(seed: u64, length: (u64, u64, f64)) -> Plan {
    Plan {
        seed,
        sessions: 5,
        instance_kills: length.0,
        session_kills: length.1,
        seconds: length.2,
        generations: Vec::new(),
        params: Vec::new(),
        progress: false,
        executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))),
    }
}

#[test]
fn killed_sessions_leave_whole_transactions() {
    let (_, session_kills, seconds) = length(0, 120);
    let result = run(&plan(11, (0, session_kills, seconds))).expect("it runs");
    assert_eq!(result.failure, None, "{}", result.table());
    assert!(result.commits() > 0 && result.session_kills() > 0, "{}", result.table());
}
