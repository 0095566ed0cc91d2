//! The cost of a logon: to the first row, logons a second, and many sessions at once.
//!
//!     cargo build --release
//!     cargo bench -p lab --bench logons [-- --only first --times 500 --seconds 5 --sessions 2000]
//!
//! The client caches the PBKDF2 result of its password, so the figures are those of the server, the wire and the rest
//! of the client's part of the protocol. `LATCHWORK_EXE` names another program than the release build.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use client::{Client, Credentials, Ephemeral, EphemeralOptions, NetAddress, NetSession, Stretched};

const USER: (&str, &str) = ("u", "Tiger1");

fn argument(name: &str) -> Option<String> {
    let all: Vec<String> = std::env::args().collect();
    all.iter().position(|a| a == name).and_then(|at| all.get(at + 1)).cloned()
}

fn number(name: &str, default: usize) -> usize {
    argument(name).and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn wanted(part: &str) -> bool {
    argument("--only").is_none_or(|only| only == part)
}

fn main() {
    let _ = os::process::raise_descriptor_limit();
    let sessions = number("--sessions", 2000);
    let mut params =
        vec![("local_listener".to_string(), "0".to_string()), ("processes".to_string(), (sessions + 50).to_string())];
    let given = argument("--params").unwrap_or_default();
    params.extend(given.split(',').filter_map(|p| p.split_once('=')).map(|(n, v)| (n.to_string(), v.to_string())));
    let executable = std::env::var_os("LATCHWORK_EXE").map(Into::into);
    let instance = Ephemeral::start_with(&EphemeralOptions { params, executable }).expect("the instance starts");
    let at = NetAddress::of_instance(instance.dir(), "latchwrk").expect("it listens");
    let mut owner = instance.connect(&Credentials::Sysdba).expect("a session");
    for sql in ["create user u identified by Tiger1", "grant create session to u"] {
        owner.execute(sql, &[]).expect(sql);
    }
    if wanted("first") {
        first_row(&instance, &at, &mut owner);
    }
    if wanted("rate") {
        for clients in [1, 8, 16] {
            rate(&at, clients);
        }
    }
    if wanted("many") {
        for n in [sessions / 4, sessions / 2, sessions] {
            many(&instance, &at, n);
        }
    }
}

/// Connect to first row, one connection at a time.
fn first_row(instance: &Ephemeral, at: &NetAddress, owner: &mut Client) {
    let times = number("--times", 300);
    let mut known = None;
    let (mut net, mut local) = (Vec::new(), Vec::new());
    let mut parts: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for turn in 0..times {
        let began = Instant::now();
        let mut s = connect(at, &mut known);
        let connected = began.elapsed();
        assert_eq!(s.query("select * from dual").expect("a row").len(), 1);
        if turn >= times / 10 {
            net.push(began.elapsed().as_secs_f64() * 1e3);
            note_parts(owner, s.session_id(), &mut parts);
            parts.entry("(client) connected").or_default().push(connected.as_secs_f64() * 1e6);
        }
        s.logoff().expect("a logoff");
    }
    say("through the listener, ms", &mut net);
    for (name, all) in &mut parts {
        say(&format!("  {name}, us"), all);
    }
    parts.clear();
    for turn in 0..times {
        let began = Instant::now();
        let mut s = instance.connect(&Credentials::Sysdba).expect("a session");
        let connected = began.elapsed();
        assert_eq!(s.query("select * from dual", &[]).and_then(client::Query::all).expect("a row").len(), 1);
        if turn >= times / 10 {
            local.push(began.elapsed().as_secs_f64() * 1e3);
            note_parts(owner, s.welcome().sid, &mut parts);
            parts.entry("(client) connected").or_default().push(connected.as_secs_f64() * 1e6);
        }
        s.logoff(true).expect("a logoff");
    }
    say("locally as SYSDBA, ms", &mut local);
    for (name, all) in &mut parts {
        say(&format!("  {name}, us"), all);
    }
}

const PARTS: [&str; 6] = ["fork_us", "set_up_us", "attach_us", "pre_page_us", "authenticate_us", "first_call_us"];

fn note_parts(owner: &mut Client, sid: u32, parts: &mut BTreeMap<&str, Vec<f64>>) {
    let sql = format!("select {} from x$ksuct where indx = {sid}", PARTS.join(", "));
    let rows = owner.query(&sql, &[]).and_then(client::Query::all).expect("its times");
    for (name, value) in PARTS.iter().zip(rows.first().into_iter().flatten()) {
        if let types::Value::Number(n) = value {
            parts.entry(name).or_default().push(n.to_f64());
        }
    }
}

fn say(what: &str, all: &mut [f64]) {
    all.sort_by(f64::total_cmp);
    let at = |q: f64| all.get(((all.len() as f64 - 1.0) * q) as usize).copied().unwrap_or(f64::NAN);
    println!("{what:32} median {:9.3}   tenth {:9.3}   ninety-fifth {:9.3}", at(0.5), at(0.1), at(0.95));
}

fn connect(at: &NetAddress, known: &mut Option<Stretched>) -> NetSession {
    NetSession::connect_again(at, USER.0, USER.1, known).expect("a session")
}

/// Clients that connect, select a row and close, as fast as they can.
fn rate(at: &NetAddress, clients: usize) {
    let seconds = Duration::from_secs(number("--seconds", 5) as u64);
    let began = Instant::now();
    let done: usize = std::thread::scope(|scope| {
        let work = |_| {
            scope.spawn(|| {
                let (mut known, mut done) = (None, 0);
                while began.elapsed() < seconds {
                    let mut s = connect(at, &mut known);
                    assert_eq!(s.query("select * from dual").expect("a row").len(), 1);
                    s.logoff().expect("a logoff");
                    done += 1;
                }
                done
            })
        };
        let all: Vec<_> = (0..clients).map(work).collect();
        all.into_iter().map(|t| t.join().expect("it does not panic")).sum()
    });
    println!("{clients:3} clients: {:.0} logons a second", done as f64 / began.elapsed().as_secs_f64());
}

/// Many concurrent sessions, each of which answers.
fn many(instance: &Ephemeral, at: &NetAddress, n: usize) {
    let before = Memory::of(instance);
    let mut known = None;
    let began = Instant::now();
    let mut all: Vec<NetSession> = (0..n).map(|_| connect(at, &mut known)).collect();
    let connected = began.elapsed();
    let began = Instant::now();
    for s in &mut all {
        assert_eq!(s.query("select * from dual").expect("a row").len(), 1);
    }
    let answered = began.elapsed();
    let now = Memory::of(instance);
    let each = |now: u64, before: u64| now.saturating_sub(before) as f64 / n as f64;
    println!(
        "{n} sessions: connected in {:.2} s, a query of each in {:.2} s; of each: {:.0} KB (PSS), {:.0} KB private, {:.0} KB page tables; {:.1} descriptors of the supervisor; {} processes",
        connected.as_secs_f64(),
        answered.as_secs_f64(),
        each(now.proportional_kb, before.proportional_kb),
        each(now.private_kb, before.private_kb),
        each(now.page_tables_kb, before.page_tables_kb),
        each(now.descriptors, before.descriptors),
        now.processes,
    );
    let began = Instant::now();
    for s in all {
        s.logoff().expect("a logoff");
    }
    while Memory::of(instance).processes > before.processes + 64 {
        os::clock::sleep(Duration::from_millis(20));
    }
    println!("    all gone in {:.2} s", began.elapsed().as_secs_f64());
}

#[derive(Default)]
struct Memory {
    proportional_kb: u64,
    private_kb: u64,
    page_tables_kb: u64,
    /// Open descriptors of the supervisor.
    descriptors: u64,
    processes: usize,
}

impl Memory {
    fn of(instance: &Ephemeral) -> Memory {
        let supervisor = instance.supervisor();
        let path = format!("/proc/{supervisor}/task/{supervisor}/children");
        let children = std::fs::read_to_string(path).unwrap_or_default();
        let mut all = Memory::default();
        for pid in children.split_whitespace().filter_map(|pid| pid.parse().ok()).chain([supervisor as i32]) {
            let walk = os::proc::walk_pages_of(pid).unwrap_or_default();
            all.proportional_kb += walk.proportional_kb;
            all.private_kb += walk.private_dirty_kb;
            all.page_tables_kb += os::proc::memory_of(pid).unwrap_or_default().page_tables_kb;
            all.processes += 1;
        }
        let fds = std::fs::read_dir(format!("/proc/{supervisor}/fd"));
        all.descriptors = fds.map_or(0, |all| all.count() as u64);
        all
    }
}
