//! Unauthenticated connections: they take no process and no slot, little memory, and block no other client.

use crate::{PATIENCE, logon, number, start, sysdba};
use client::{ClientError, Credentials, Ephemeral, NetAddress, NetSession, Stage, Stranger};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Connections of the short form; `LATCHWORK_STRANGERS=10000` is the long one.
pub fn strangers() -> usize {
    std::env::var("LATCHWORK_STRANGERS").ok().and_then(|n| n.parse().ok()).unwrap_or(2000)
}

pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processes of an instance, by their names in `ps`.
pub fn processes(instance: &Ephemeral) -> Vec<(i32, String)> {
    let supervisor = std::fs::read_to_string(instance.dir().join("latchwork.pid")).unwrap();
    let children = |pid: &str| {
        let path = format!("/proc/{pid}/task/{pid}/children");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace().map(str::to_string).collect::<Vec<_>>()
    };
    let name = |pid: &String| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let all = children(supervisor.trim());
    all.iter().map(|pid| (pid.parse().unwrap(), name(pid).trim().to_string())).collect()
}

pub fn listener(instance: &Ephemeral) -> i32 {
    let mut found = None;
    // A process has its own name some time after it was forked.
    until("a listener process", || {
        found = processes(instance).into_iter().find(|(_, name)| name == "lw_lsnr");
        found.is_some()
    });
    found.expect("it was found").0
}

/// Kilobytes of a process's memory that belong neither to a file nor to the SGA. Its private memory is larger: it
/// includes pages of the SGA that only it has touched, and those that its parent has written to since.
pub fn own_kb(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("its memory");
    let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Kilobytes of kernel memory for TCP connections, of the whole machine.
fn kernel_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
    let tcp = text.lines().find(|line| line.starts_with("TCP:")).unwrap_or_default();
    tcp.rsplit(' ').next().and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4
}

#[test]
fn strangers_take_no_process_no_slot_and_little_memory() {
    let n = strangers();
    // Both ends of every connection are on this machine, and this end in this process.
    let descriptors = os::process::raise_descriptor_limit();
    assert!(descriptors > n as u64 + 100, "raise the limit of open files above {n}: ulimit -n");
    let most = (n + 100).to_string();
    let (instance, at) =
        start(&[("processes", "20"), ("_listener_pending_max", &most), ("_listener_pending_per_address", &most)]);
    let mut owner = sysdba(&instance);
    let slots = "select count(*) from v$process";
    logon(&at).logoff().unwrap();
    let servers = || processes(&instance).iter().filter(|(_, name)| name == "lw_server").count();
    until("the first session ends", || servers() == 1);
    let gate = listener(&instance);
    let slots_before = number(&owner.query(slots, &[]).unwrap().all().unwrap());
    let (memory_before, kernel_before) = (own_kb(gate), kernel_kb());
    let stages = [Stage::Silent, Stage::Accepted, Stage::Agreed, Stage::Named];
    let open = |i: usize| {
        let user = if i.is_multiple_of(3) { "u" } else { "nobody" };
        Stranger::open(&at, user, stages[i % stages.len()]).unwrap_or_else(|e| panic!("stranger {i}: {e}"))
    };
    let all: Vec<Stranger> = (0..n).map(open).collect();
    assert_eq!(number(&owner.query(slots, &[]).unwrap().all().unwrap()), slots_before, "no slot is taken");
    assert_eq!(servers(), 1, "no process is made");
    let grown = own_kb(gate).saturating_sub(memory_before);
    let kernel = kernel_kb().saturating_sub(kernel_before);
    println!("{n} connections: {grown} KB of the listener process, {kernel} KB of the kernel for both ends");
    assert!(grown < 10 * n as u64, "{grown} KB for {n} connections");
    // Neither the owner nor a user with a password waits for any of them.
    logon(&at).logoff().unwrap();
    drop(instance.connect(&Credentials::Sysdba).expect("the owner gets in"));
    assert!(all.iter().all(|s| !s.is_gone()), "they had room");
    assert_eq!(listener(&instance), gate, "it is the same process still");
}

#[test]
fn the_oldest_stranger_goes_where_there_is_no_room() {
    let (instance, at) = start(&[("_listener_pending_max", "24"), ("_listener_pending_per_address", "16")]);
    let open = || Stranger::open(&at, "u", Stage::Named).unwrap();
    let mut all: Vec<Stranger> = (0..40).map(|_| open()).collect();
    let young = all.split_off(40 - 16);
    until("the oldest are gone", || all.iter().all(Stranger::is_gone));
    assert!(young.iter().all(|s| !s.is_gone()), "the others stay");
    logon(&at).logoff().unwrap();
    let log = std::fs::read_to_string(instance.dir().join("alert.log")).unwrap();
    assert_eq!(log.matches("have proved no password").count(), 1, "the log is told once: {log}");
}

#[test]
fn what_a_stranger_may_say_is_bounded() {
    use std::io::{ErrorKind, Read, Write};
    let (instance, at) = start(&[]);
    let gate = listener(&instance);
    let before = own_kb(gate);
    let mut hello = Vec::new();
    let data = format!("(CONNECT_DATA=(SERVICE_NAME={}))", at.service);
    net::oracle::tns::Connect::encode(data.as_bytes(), 8192, &mut hello);
    let mut accept = [0; 64];
    for n in 0..200 {
        let mut s = std::net::TcpStream::connect((at.host.as_str(), at.port)).unwrap();
        s.set_read_timeout(Some(PATIENCE)).unwrap();
        s.write_all(&hello).unwrap();
        assert!(s.read(&mut accept).unwrap() > 8);
        // An endless message: as whole packets, or as single bytes.
        let mut packet = Vec::new();
        let mut part = vec![1; if n % 2 == 0 { 8000 } else { 1 }];
        part[0] = net::oracle::message::PROTOCOL;
        net::oracle::tns::write_data(&mut packet, &part, 8192);
        // The socket's buffers may take everything that is sent; the end of the connection is detected by a read.
        for _ in 0..500 {
            if s.write_all(&packet).is_err() {
                break;
            }
        }
        let end = s.read(&mut accept).map_err(|e| e.kind());
        let is_cut = matches!(end, Ok(0) | Err(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe));
        assert!(is_cut, "it is cut off: {end:?}");
    }
    assert!(own_kb(gate).saturating_sub(before) < 4 << 10);
    logon(&at).logoff().unwrap();
}

#[test]
fn a_listener_process_that_dies_is_started_again() {
    let (instance, at) = start(&[]);
    let mut s = logon(&at);
    for _ in 0..2 {
        let gate = listener(&instance);
        os::process::kill(gate, os::signal::SIGKILL).unwrap();
        until("another listens", || processes(&instance).iter().any(|(pid, name)| name == "lw_lsnr" && *pid != gate));
        assert_eq!(number(&s.query("select 1 from dual").unwrap()), 1, "sessions do not notice");
        // A client that connects meanwhile waits, and is not refused for want of a listener.
        logon(&at).logoff().unwrap();
    }
    let mut owner = sysdba(&instance);
    let left = "select count(*) from v$bgprocess where name = 'LSNR'";
    until("the dead are cleaned up behind", || number(&owner.query(left, &[]).unwrap().all().unwrap()) == 1);
}

#[test]
fn the_owner_gets_in_when_every_process_is_taken() {
    let (instance, at) = start(&[("processes", "16")]);
    let user = Credentials::Password { user: "u".into(), password: "Tiger1".into() };
    let mut local = Vec::new();
    let refused = loop {
        match instance.connect(&user) {
            Ok(c) => local.push(c),
            Err(e) => break e.code(),
        }
        assert!(local.len() <= 16);
    };
    assert_eq!(refused, 20);
    let mut owner = sysdba(&instance);
    assert_eq!(number(&owner.query("select 1 from dual", &[]).unwrap().all().unwrap()), 1);
    // The reserved slots are for the owner only.
    assert_eq!(instance.connect(&user).map(drop).map_err(|e| e.code()), Err(20));
    let over_net = NetSession::connect(&at, "u", "Tiger1").map(drop).map_err(|e| e.code());
    assert!(matches!(over_net, Err(20 | 12516)), "{over_net:?}");
    drop(local.pop());
    until("there is room again", || instance.connect(&user).is_ok());
}

/// An instance whose database is kept.
pub struct Kept(Child);

impl Kept {
    pub fn start(dir: &Path, listener: &str) -> (Kept, NetAddress) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        command.arg("start").arg("--dir").arg(dir).args(["--foreground", "--param"]);
        command.arg(format!("local_listener={listener}"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut at = None;
        until("it listens", || {
            at = NetAddress::of_instance(dir, "latchwrk");
            at.as_ref().is_some_and(|at| client::ping(at).is_ok())
        });
        (Kept(child), at.unwrap())
    }

    pub fn stop(mut self, dir: &Path) {
        let status = Command::new(env!("CARGO_BIN_EXE_latchwork")).arg("stop").arg("--dir").arg(dir).status().unwrap();
        assert!(status.success());
        self.0.wait().unwrap();
    }
}

#[test]
fn a_name_that_nobody_has_keeps_its_salt() {
    let dir = std::env::temp_dir().join(format!("lw-salt-{}", std::process::id()));
    let names = ["system", "ghost", "\"GHOST\"", "Ghost", "\"ghost\"", "dba", "\"DBA\""];
    let salts = |at: &NetAddress| -> Vec<String> {
        let salt = |name: &&str| Stranger::open(at, name, Stage::Named).map(|s| s.salt().to_string());
        names.iter().map(salt).collect::<Result<_, ClientError>>().unwrap()
    };
    let (first, at) = Kept::start(&dir, "0");
    let before = salts(&at);
    first.stop(&dir);
    let (second, at) = Kept::start(&dir, "0");
    let after = salts(&at);
    second.stop(&dir);
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(before, after, "a restart changes nothing");
    assert_eq!((&before[1], &before[1]), (&before[2], &before[3]), "however the name is written");
    assert_eq!(before[5], before[6], "a role is no user");
    assert!(before[1] != before[4] && before[1] != before[0] && before.iter().all(|salt| salt.len() == 32));
}
