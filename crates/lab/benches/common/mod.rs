//! Shared by the benches: arguments, medians, an instance of the program with its sessions, sessions that start
//! together.

// Each bench uses only a part of this module.
#![allow(dead_code)]

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, Barrier};
use std::time::Instant;

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use types::Value;

/// The number behind an argument of the command line.
pub fn argument(name: &str, default: f64) -> f64 {
    text_argument(name).and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// The word behind an argument of the command line.
pub fn text_argument(name: &str) -> Option<String> {
    let all: Vec<String> = std::env::args().collect();
    all.iter().position(|a| a == name).and_then(|at| all.get(at + 1)).cloned()
}

/// The figure in the middle; sorts them.
pub fn median(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// The median of differences in per cent, and its 95 % interval.
pub fn interval(all: &mut [f64]) -> (f64, f64, f64) {
    all.sort_by(f64::total_cmp);
    let n = all.len();
    let reach = (0.98 * (n as f64).sqrt()).ceil() as usize;
    let at = |place: usize| all[place.min(n - 1)];
    (at(n / 2), at((n / 2).saturating_sub(reach)), at(n / 2 + reach))
}

/// CPU nanoseconds of a process (or thread, `thread-self`) so far.
pub fn cpu_ns(of: impl Display) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{of}/schedstat")).expect("schedstat");
    text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds")
}

/// CPU seconds of a process (or thread, `thread-self`) so far.
pub fn cpu_seconds(of: impl Display) -> f64 {
    cpu_ns(of) / 1e9
}

/// The release build of the program, or the program named by `LATCHWORK_EXE`.
pub fn latchwork_program() -> PathBuf {
    std::env::var_os("LATCHWORK_EXE").map(PathBuf::from).unwrap_or_else(|| {
        let built = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/release/latchwork");
        assert!(built.is_file(), "build it first: cargo build --release");
        built
    })
}

/// Starts one thread for each item at the same moment; returns the seconds until the last one has ended.
pub fn together<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) -> f64 {
    let barrier = Arc::new(Barrier::new(items.len() + 1));
    std::thread::scope(|scope| {
        let threads: Vec<_> = items
            .into_iter()
            .map(|item| {
                let (barrier, work) = (Arc::clone(&barrier), &work);
                scope.spawn(move || {
                    barrier.wait();
                    work(item);
                })
            })
            .collect();
        barrier.wait();
        let started = Instant::now();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        started.elapsed().as_secs_f64()
    })
}

/// Starts a throw-away instance of [`latchwork_program`].
pub fn start(params: &[(&str, &str)]) -> Ephemeral {
    let params = params.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Ephemeral::start_with(&EphemeralOptions { params, executable: Some(latchwork_program()) }).expect("starts")
}

/// A session of the owner.
pub fn connect(instance: &Ephemeral) -> Client {
    instance.connect(&Credentials::Sysdba).unwrap_or_else(|e| panic!("a session opens: {e}"))
}

/// Runs a statement that is no query, or does not fetch the rows of one.
pub fn run(session: &mut Client, statement: &str) {
    session.execute(statement, &[]).map(drop).unwrap_or_else(|e| panic!("{e}\n{statement}"));
}

/// The server process of a session.
pub fn server_pid(session: &mut Client) -> u32 {
    let sql =
        "select p.spid from v$process p, v$session s where s.paddr = p.addr and s.sid = sys_context('userenv', 'sid')";
    match &session.query(sql, &[]).and_then(|q| q.all()).expect("answers")[0][0] {
        Value::Text(s) => s.parse().expect("a process number"),
        other => panic!("{other:?}"),
    }
}

/// Private kilobytes of a process, without the pages of the SGA.
pub fn private_kb(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps")).expect("smaps");
    let (mut is_sga, mut sum) = (false, 0.0);
    for line in text.lines() {
        if line.split(' ').next().is_some_and(|range| range.contains('-')) {
            is_sga = line.contains("memfd:");
        } else if !is_sga && (line.starts_with("Private_Clean:") || line.starts_with("Private_Dirty:")) {
            sum += line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0);
        }
    }
    sum
}
