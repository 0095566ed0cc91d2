//! Very many connections, and the server processes that wait for them.

use crate::unproved::{listener, own_kb, processes, until};
use crate::{code, number, start, sysdba};
use client::{Client, Credentials, Ephemeral, NetAddress, NetSession, Stage, Stranger, Stretched};
use os::signal::SIGKILL;
use testing::Random;

/// Connections of the short form; `LATCHWORK_CONNECTIONS=100000` is the long one. `LATCHWORK_EXE` names another program
/// than the one under test, such as a release build.
fn connections() -> usize {
    std::env::var("LATCHWORK_CONNECTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500)
}

fn spares(instance: &Ephemeral) -> Vec<i32> {
    let all = processes(instance);
    all.into_iter().filter(|(_, name)| name == "lw_spare").map(|(pid, _)| pid).collect()
}

fn count(c: &mut Client, sql: &str) -> i64 {
    number(&c.query(sql, &[]).and_then(client::Query::all).unwrap_or_else(|e| panic!("{sql}: {e}")))
}

fn text(s: &mut NetSession, sql: &str) -> String {
    match s.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"))[0][0].clone() {
        types::Value::Text(text) => text.to_string(),
        types::Value::Null => String::new(),
        types::Value::Number(n) => n.to_string(),
        other => panic!("{other:?}"),
    }
}

fn server_of(s: &NetSession, owner: &mut Client) -> i32 {
    let process = s.server_process().expect("its number");
    assert_eq!(count(owner, &format!("select count(*) from v$process where spid = '{process}'")), 1);
    process
}

fn connect(at: &NetAddress, known: &mut Option<Stretched>) -> NetSession {
    NetSession::connect_again(at, "u", "Tiger1", known).unwrap_or_else(|e| panic!("a session opens: {e}"))
}

/// Traces that would distinguish a later session of a process from a fresh one.
const TRACES: [&str; 8] = [
    "select to_char(date '2026-01-02') from dual",
    "select sys_context('userenv', 'current_schema') || sys_context('userenv', 'module') from dual",
    "select sys_context('clientcontext', 'a') || sys_context('userenv', 'client_identifier') from dual",
    "select sessiontimezone from dual",
    "select u.kept.get from dual",
    "select count(*) from v$open_cursor where sid = sys_context('userenv', 'sid') and sql_text like '%from u.w%'",
    "select count(*) from v$lock where sid = sys_context('userenv', 'sid')",
    "select value from v$mystat m, v$statname n where n.statistic# = m.statistic# and n.name = 'user rollbacks'",
];

#[test]
fn a_server_process_serves_the_next_client_and_keeps_nothing_of_the_last() {
    let (instance, at) = start(&[("_process_pool_min_count", "1")]);
    let mut owner = sysdba(&instance);
    for sql in [
        "grant select any dictionary to u",
        "create or replace package u.kept is procedure put(x number); function get return number; end;",
        "create or replace package body u.kept is v number := 1;
         procedure put(x number) is begin v := x; end; function get return number is begin return v; end; end;",
    ] {
        owner.execute(sql, &[]).unwrap();
    }
    let mut known = None;
    // The first logon of a day is recorded for the user.
    connect(&at, &mut known).logoff().unwrap();
    until("one waits", || !spares(&instance).is_empty());
    let mut first = connect(&at, &mut known);
    let fresh: Vec<String> = TRACES.iter().map(|sql| text(&mut first, sql)).collect();
    let process = server_of(&first, &mut owner);
    let session = text(&mut first, "select sys_context('userenv', 'sessionid') from dual");
    for sql in [
        "alter session set nls_date_format = 'YYYY'",
        "alter session set time_zone = '+07:00'",
        "alter session set current_schema = sys",
        "begin dbms_application_info.set_module('m', 'a'); dbms_session.set_identifier('i'); end;",
        "begin u.kept.put(42); end;",
        "insert into u.w values (1, 'not committed')",
    ] {
        first.execute(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    assert_eq!(text(&mut first, "select count(*) from u.w"), "1");
    // The connection is dropped without a logoff, in the middle of a transaction.
    drop(first);
    until("its process waits", || spares(&instance).contains(&process));
    assert_eq!(count(&mut owner, &format!("select count(*) from v$process where spid = '{process}'")), 0);
    let mut second = connect(&at, &mut known);
    assert_eq!(server_of(&second, &mut owner), process, "it was the last that came back");
    assert_ne!(text(&mut second, "select sys_context('userenv', 'sessionid') from dual"), session);
    for (sql, before) in TRACES.iter().zip(&fresh) {
        assert_eq!(&text(&mut second, sql), before, "{sql}");
    }
    assert_eq!(text(&mut second, "select count(*) from u.w"), "0", "what was not committed is rolled back");
    // A session of another user, over the local socket, in the same process.
    second.logoff().unwrap();
    until("its process waits", || spares(&instance).contains(&process));
    let system = Credentials::Password { user: "u".into(), password: "Tiger1".into() };
    let mut local = instance.connect(&system).unwrap();
    assert_eq!(count(&mut local, "select count(*) from u.w"), 0);
    let user = "select count(*) from v$session s, v$process p where s.paddr = p.addr and s.username = 'U'";
    assert_eq!(count(&mut owner, &format!("{user} and p.spid = '{process}'")), 1);
    // A killed session's process is reused.
    let killed = "select sid || ',' || serial# from v$session where username = 'U'";
    let types::Value::Text(who) = &owner.query(killed, &[]).unwrap().all().unwrap()[0][0] else { panic!("a text") };
    owner.execute(&format!("alter system kill session '{who}'"), &[]).unwrap();
    assert!(local.query("select 1 from dual", &[]).and_then(client::Query::all).is_err());
    drop(local);
    let is_busy = || processes(&instance).contains(&(process, "lw_server".to_string()));
    until("it ends, or waits for another client", || !is_busy());
    assert_eq!(count(&mut owner, "select count(*) from v$session where username = 'U'"), 0);
}

#[test]
fn a_spare_process_that_dies_is_replaced_and_one_that_takes_its_client_along_leaves_nothing() {
    let (instance, at) = start(&[("_process_pool_min_count", "3"), ("_crash_point", "server-handed-over:5:process")]);
    let mut owner = loop {
        // Every client passes the point.
        if let Ok(c) = instance.connect(&Credentials::Sysdba) {
            break c;
        }
    };
    until("three wait", || spares(&instance).len() == 3);
    let before = count(&mut owner, "select count(*) from v$process");
    let (mut known, mut lost) = (None, 0);
    for _ in 0..20 {
        match NetSession::connect_again(&at, "u", "Tiger1", &mut known) {
            Ok(mut s) => {
                assert_eq!(number(&s.query("select 1 from dual").unwrap()), 1);
                s.logoff().unwrap();
            }
            Err(e) => {
                assert_eq!(code(&e), 3113, "{e}");
                lost += 1;
            }
        }
    }
    assert_eq!(lost, 4, "every fifth client went with its process");
    for round in 0..3 {
        let all = spares(&instance);
        all.iter().for_each(|pid| drop(os::process::kill(*pid, SIGKILL)));
        until("others wait", || {
            let now = spares(&instance);
            now.len() >= 3 && now.iter().all(|pid| !all.contains(pid))
        });
        assert_eq!(count(&mut owner, "select count(*) from v$process"), before, "round {round}");
    }
    let log = std::fs::read_to_string(instance.dir().join("alert.log")).unwrap();
    assert!(log.contains("was killed by signal 9"), "{log}");
    let pool = "select min_count * 100 + cur_count from v$process_pool where enabled = 'TRUE'";
    until("the view says so", || count(&mut owner, pool) == 303);
}

#[test]
fn without_a_pool_every_session_has_a_process_of_its_own() {
    let (instance, at) = start(&[("_process_pool_max_count", "0")]);
    let mut owner = sysdba(&instance);
    let mut known = None;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..5 {
        let s = connect(&at, &mut known);
        let process = server_of(&s, &mut owner);
        assert!(seen.insert(process));
        s.logoff().unwrap();
        until("it ends with its session", || processes(&instance).iter().all(|(pid, _)| *pid != process));
    }
    assert_eq!(spares(&instance), []);
    assert_eq!(count(&mut owner, "select cur_count from v$process_pool where enabled = 'FALSE'"), 0);
}

/// The figures that must be the same after any number of connections.
#[derive(Debug, PartialEq, Eq)]
struct Level {
    processes: Vec<String>,
    slots: i64,
    sessions: i64,
    locks: i64,
    transactions: i64,
    latches: i64,
    cursors: i64,
    descriptors: [usize; 2],
}

fn level(instance: &Ephemeral, owner: &mut Client) -> Level {
    let mut names: Vec<String> = processes(instance).into_iter().map(|(_, name)| name).collect();
    names.sort();
    let descriptors = |pid: i32| std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    Level {
        processes: names,
        slots: count(owner, "select count(*) from v$process"),
        sessions: count(owner, "select count(*) from v$session"),
        locks: count(owner, "select count(*) from v$lock"),
        transactions: count(owner, "select count(*) from v$transaction"),
        latches: count(owner, "select count(*) from v$latchholder"),
        cursors: count(owner, "select count(*) from v$open_cursor where sid <> sys_context('userenv', 'sid')"),
        descriptors: [descriptors(instance.supervisor() as i32), descriptors(listener(instance))],
    }
}

#[test]
fn a_process_that_has_served_its_last_session_is_given_no_client() {
    let (_instance, at) = start(&[("_process_pool_max_sessions", "2"), ("_process_pool_max_count", "8")]);
    let pids: std::collections::BTreeSet<i32> = std::thread::scope(|scope| {
        let one_behind_the_other = || {
            let mut known = None;
            let one = |_| {
                let mut s = connect(&at, &mut known);
                assert_eq!(text(&mut s, "select 7 from dual"), "7");
                let pid = s.server_process().expect("its number");
                s.logoff().expect("a logoff");
                pid
            };
            (0..150).map(one).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..4).map(|_| scope.spawn(one_behind_the_other)).collect();
        all.into_iter().flat_map(|t| t.join().expect("each session opens")).collect()
    });
    // The number of an ended process may be reused.
    assert!(pids.len() > 200, "{} processes served 600 sessions", pids.len());
}

/// One client after the other, each with a random behaviour.
fn clients(instance: &Ephemeral, at: &NetAddress, seed: u64, n: usize) {
    let mut random = Random::new(seed);
    let mut known = None;
    let user = Credentials::Password { user: "u".into(), password: "Tiger1".into() };
    // Another client may kill the process that serves this one.
    let net = |known: &mut Option<Stretched>| NetSession::connect_again(at, "u", "Tiger1", known).ok();
    for _ in 0..n {
        match random.below(100) {
            0..50 => {
                if let Some(mut s) = net(&mut known) {
                    let _ = s.query("select * from dual").and_then(|_| s.logoff());
                }
            }
            50..65 => drop(net(&mut known)),
            65..72 => {
                if let Some(mut s) = net(&mut known) {
                    let _ = s.execute(&format!("insert into u.w values ({}, 'open')", random.next() as u32));
                }
            }
            72..80 => {
                let stages = [Stage::Silent, Stage::Accepted, Stage::Agreed, Stage::Named];
                drop(Stranger::open(at, "u", stages[random.below(stages.len())]));
            }
            80..82 => {
                if let Ok(mut s) = Stranger::open(at, "nobody", Stage::Named) {
                    let _ = s.guess("nobody").and_then(|()| s.refusal());
                }
            }
            82..88 => drop(instance.connect(&Credentials::Sysdba)),
            88..94 => {
                if let Ok(s) = instance.connect(&user) {
                    let _ = s.logoff(random.one_in(2));
                }
            }
            94..97 => {
                if let Some(s) = net(&mut known)
                    && let Some(pid) = s.server_process()
                {
                    let _ = os::process::kill(pid, SIGKILL);
                }
            }
            _ => {
                let waiting = spares(instance);
                if !waiting.is_empty() {
                    let _ = os::process::kill(waiting[random.below(waiting.len())], SIGKILL);
                }
            }
        }
    }
}

#[test]
fn all_is_level_behind_very_many_connections() {
    let (instance, at) = start(&[("processes", "60"), ("_process_pool_min_count", "2")]);
    let mut owner = sysdba(&instance);
    let clients_of = |seed: u64, n: usize| {
        std::thread::scope(|scope| {
            for client in 0..4 {
                let (instance, at) = (&instance, &at);
                scope.spawn(move || clients(instance, at, seed + client, n / 4));
            }
        });
    };
    let settled = |owner: &mut Client, wanted: Option<&Level>| {
        let mut last = None;
        until("the instance is at rest", || {
            let now = level(&instance, owner);
            let is_at_rest = last.as_ref() == Some(&now)
                && now.processes.iter().filter(|name| *name == "lw_spare").count() == 2
                && now.transactions == 0
                && wanted.is_none_or(|wanted| *wanted == now);
            last = Some(now);
            is_at_rest
        });
        last.unwrap()
    };
    clients_of(1, 200);
    let before = settled(&mut owner, None);
    let gate = listener(&instance);
    let memory_before = [own_kb(instance.supervisor() as i32), own_kb(gate)];
    let n = connections();
    clients_of(100, n);
    settled(&mut owner, Some(&before));
    assert_eq!(listener(&instance), gate, "the listener process is the same");
    let memory = [own_kb(instance.supervisor() as i32), own_kb(gate)];
    println!("{n} connections: supervisor and listener process {memory_before:?} KB before, {memory:?} KB after");
    for (now, before) in memory.iter().zip(memory_before) {
        assert!(*now < before + 2048, "{memory:?} KB, and {memory_before:?} KB before");
    }
    assert_eq!(count(&mut owner, "select count(*) from u.w"), 0, "nothing was committed");
    let hanging = "select count(*) from v$session where status = 'KILLED'";
    assert_eq!(count(&mut owner, hanging), 0);
}
