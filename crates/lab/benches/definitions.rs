//! The cost of a dictionary of many tables to sessions that use few of them.
//!
//!     cargo build --release && cargo bench -p lab --bench definitions [-- --tables 10000]
//!
//! One session creates tables with a primary key and a NOT NULL column, a tenth of them at a time; after the first and
//! after the last tenth the same things are measured: a logon to the first row, the private memory of a fresh session's
//! server process and of one that has used 300 tables (without the SGA), a statement alone and a statement behind
//! another session's DDL. `LATCHWORK_EXE` names another program than the release build.

use std::path::PathBuf;
use std::time::Instant;

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use types::Value;

fn argument(name: &str) -> Option<u32> {
    let all: Vec<String> = std::env::args().collect();
    let at = all.iter().position(|a| a == name)?;
    all.get(at + 1)?.parse().ok()
}

fn start() -> Ephemeral {
    let executable = std::env::var_os("LATCHWORK_EXE").map(PathBuf::from).unwrap_or_else(|| {
        let built = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/release/latchwork");
        assert!(built.is_file(), "build it first: cargo build --release");
        built
    });
    let params = [("db_cache_size", "256M"), ("shared_pool_size", "128M"), ("job_queue_processes", "0")];
    let params = params.map(|(n, v)| (n.to_string(), v.to_string())).to_vec();
    Ephemeral::start_with(&EphemeralOptions { params, executable: Some(executable) }).expect("starts")
}

fn run(session: &mut Client, statement: &str) {
    session.execute(statement, &[]).map(drop).unwrap_or_else(|e| panic!("{e}\n{statement}"));
}

fn connect(instance: &Ephemeral) -> Client {
    instance.connect(&Credentials::Sysdba).expect("a session")
}

fn server_pid(session: &mut Client) -> u32 {
    let sql =
        "select p.spid from v$process p, v$session s where s.paddr = p.addr and s.sid = sys_context('userenv', 'sid')";
    match &session.query(sql, &[]).and_then(|q| q.all()).expect("answers")[0][0] {
        Value::Text(s) => s.parse().expect("a process number"),
        other => panic!("{other:?}"),
    }
}

fn create(session: &mut Client, from: u32, to: u32) -> f64 {
    let began = Instant::now();
    run(
        session,
        &format!(
            "begin for i in {from} .. {to} loop execute immediate 'create table t' || i || \
             '(id number primary key, name varchar2(20) not null, d date, x number)'; end loop; end;"
        ),
    );
    began.elapsed().as_secs_f64() * 1e3 / f64::from(to - from + 1)
}

/// Private kilobytes of a process, without the pages of the SGA.
fn private_kb(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps")).expect("smaps");
    let (mut is_sga, mut sum) = (false, 0);
    for line in text.lines() {
        if line.split(' ').next().is_some_and(|range| range.contains('-')) {
            is_sga = line.contains("memfd:");
        } else if !is_sga && (line.starts_with("Private_Clean:") || line.starts_with("Private_Dirty:")) {
            sum += line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    sum
}

/// The median of `times` runs of `f`, in milliseconds.
fn median(times: usize, mut f: impl FnMut(usize)) -> f64 {
    let mut all: Vec<f64> = (0..times)
        .map(|n| {
            let began = Instant::now();
            f(n);
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all[times / 2]
}

fn measure(instance: &Ephemeral, dba: &mut Client, tables: u32) {
    let logon = median(61, |_| run(&mut connect(instance), "select 1 from dual"));
    let mut session = connect(instance);
    run(&mut session, "select count(*) from t1");
    let pid = server_pid(&mut session);
    let fresh = private_kb(pid);
    let read = |session: &mut Client| run(session, "select count(*) from t1 where id = 1");
    read(&mut session);
    let alone = median(61, |_| read(&mut session));
    let mut behind: Vec<f64> = (0..61)
        .map(|n| {
            run(dba, &format!("create table z{n} (n number)"));
            let time = median(1, |_| read(&mut session));
            run(dba, &format!("drop table z{n}"));
            time
        })
        .collect();
    behind.sort_by(f64::total_cmp);
    (1..=tables.min(300)).for_each(|n| run(&mut session, &format!("select count(*) from t{n} where id = 1")));
    let used = private_kb(pid);
    println!(
        "{tables:>7} tables: logon to first row {logon:.2} ms, private memory {fresh} kB, of one that has used 300 \
         tables {used} kB, a statement {alone:.3} ms, behind another session's DDL {:.3} ms",
        behind[30]
    );
}

fn main() {
    // `cargo test --benches` runs a short form.
    let is_test = std::env::args().any(|a| a == "--test");
    let tables = argument("--tables").unwrap_or(if is_test { 20 } else { 10_000 }).max(10);
    let instance = start();
    let mut dba = connect(&instance);
    let tenth = tables / 10;
    for part in 0..10 {
        let ms = create(&mut dba, part * tenth + 1, (part + 1) * tenth);
        println!("{:>7} tables: {ms:.2} ms per CREATE TABLE", (part + 1) * tenth);
        if part == 0 || part == 9 {
            measure(&instance, &mut dba, (part + 1) * tenth);
        }
    }
}
