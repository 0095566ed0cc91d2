//! The listener: a real driver connects and works; connections that are no clients do not delay others.

#[path = "../support/absent.rs"]
mod absent;
mod control;
mod encrypted;
mod guesses;
mod identity;
mod logons;
mod many;
mod native;
mod pipeline;
mod pooled;
mod rude;
mod shell;
mod unproved;
mod verifiers;

use client::{Client, ClientError, Credentials, Ephemeral, EphemeralOptions, NetAddress, NetSession, ping};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testing::Random;
use types::Value;

/// Time limit for events that should happen at once; long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(params: &[(&str, &str)]) -> (Ephemeral, NetAddress) {
    let mut all = vec![("local_listener".to_string(), "0".to_string())];
    all.extend(params.iter().map(|(n, v)| (n.to_string(), v.to_string())));
    let given = std::env::var_os("LATCHWORK_EXE").map(PathBuf::from);
    let executable = Some(given.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))));
    let instance = Ephemeral::start_with(&EphemeralOptions { params: all, executable }).expect("the instance starts");
    let at = NetAddress::of_instance(instance.dir(), "latchwrk").expect("it says where it listens");
    let mut c = sysdba(&instance);
    for sql in [
        "create user u identified by Tiger1",
        "grant create session, create procedure, unlimited tablespace to u",
        "create table u.w (n number primary key, t varchar2(20))",
    ] {
        c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    (instance, at)
}

fn sysdba(instance: &Ephemeral) -> Client {
    instance.connect(&Credentials::Sysdba).expect("a local session")
}

fn code(e: &ClientError) -> u32 {
    e.code()
}

fn number(rows: &[Vec<Value>]) -> i64 {
    match &rows[0][0] {
        Value::Number(n) => n.to_i64().unwrap(),
        other => panic!("{other:?} is no number"),
    }
}

fn logon(at: &NetAddress) -> NetSession {
    NetSession::connect(at, "u", "Tiger1").unwrap_or_else(|e| panic!("a session opens: {e}"))
}

/// A Python with the driver; without one the test is skipped.
fn python() -> Option<PathBuf> {
    let given = std::env::var_os("LATCHWORK_ORACLEDB_PYTHON").filter(|p| !p.is_empty()).map(PathBuf::from);
    let candidates = given.into_iter().chain([PathBuf::from("python3")]);
    let has_driver = |python: &PathBuf| {
        let mut command = Command::new(python);
        command.args(["-c", "import oracledb"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let found = candidates.into_iter().find(has_driver);
    if found.is_none() {
        absent::left_out("a test with python-oracledb", "LATCHWORK_ORACLEDB_PYTHON and python3 do not have it");
    }
    found
}

/// Runs a script of this directory; its arguments are port, service, program and directory of the instance. It prints
/// "all done" at its end. The time limit is for a script that hangs.
fn run_script(python: &Path, script: &str, instance: &Ephemeral, at: &NetAddress) {
    let mut command = Command::new("timeout");
    command.arg("600").arg(python).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle_net").join(script));
    command.arg(at.port.to_string()).arg(&at.service).arg(env!("CARGO_BIN_EXE_latchwork")).arg(instance.dir());
    let out = command.output().expect("the script runs");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && text.contains("all done"), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_driver_reads_and_writes_lobs_by_their_locators() {
    let Some(python) = python() else {
        return;
    };
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    for sql in [
        "create table u.docs (id number primary key, c clob, b blob)",
        "create function u.docs_of (n number) return sys_refcursor is c sys_refcursor; \
         begin open c for select id, c from u.docs where id = n; return c; end;",
    ] {
        c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    run_script(&python, "lobs.py", &instance, &at);
}

#[test]
fn a_real_driver_connects_and_works() {
    let Some(python) = python() else {
        return;
    };
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    for sql in [
        "alter user sys identified by Secret1",
        "create user locked identified by x account lock",
        "create user keyless no authentication",
        "create user other identified by \"Tiger1\"",
        "grant create session to other",
        "create table u.sessionless (n number)",
        "create table u.v as select level id from dual connect by level <= 1000",
        "create table u.wide (n number, t varchar2(4000))",
        "create table u.io (a number, b varchar2(300), primary key (a, b)) organization index",
        "create table u.rids (n number, r rowid, u urowid)",
        "create procedure u.p (a in number, b in out varchar2) is begin b := b || a; end;",
        "create procedure u.p2 (a in number, b out number) is begin b := a * 2; end;",
        "create function u.f (a number) return number is begin return a * 3; end;",
        "create function u.cursor_of (n number) return sys_refcursor is c sys_refcursor; \
         begin open c for select id from u.v where id <= n order by id; return c; end;",
        "create function u.next_of (c sys_refcursor) return varchar2 is n number; t varchar2(20); \
         begin fetch c into n, t; return n || ' ' || t; end;",
    ] {
        c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    run_script(&python, "driver.py", &instance, &at);
}

#[test]
fn the_service_that_is_shown_is_the_one_to_ask_for() {
    let (instance, at) = start(&[("db_unique_name", "east"), ("db_domain", "example.com")]);
    let mut c = sysdba(&instance);
    let names = "select name || '=' || value || ' ' || isdefault from v$parameter \
        where name in ('db_name', 'db_unique_name', 'service_names') order by name";
    let all = c.query(names, &[]).and_then(|q| q.all()).unwrap();
    let all: Vec<String> = all.into_iter().map(|row| format!("{:?}", row[0])).collect();
    let shown = ["db_name=LATCHWRK TRUE", "db_unique_name=east FALSE", "service_names=east.example.com TRUE"];
    assert!(all.iter().zip(shown).all(|(is, shown)| is.contains(shown)) && all.len() == shown.len(), "{all:?}");
    logon(&NetAddress { service: "east.example.com".into(), ..at }).logoff().unwrap();
}

#[test]
fn the_listener_answers_refuses_and_admits() {
    let (instance, at) = start(&[("service_names", "sales, other"), ("db_domain", "example.com")]);
    ping(&at).expect("a listener answers");
    assert_eq!(NetAddress::of_instance(instance.dir(), "latchwrk"), Some(at.clone()));
    let tnsping = |place: &str| {
        let out = Command::new(env!("CARGO_BIN_EXE_latchwork")).args(["tnsping", place, "2"]).output().unwrap();
        (out.status.success(), String::from_utf8_lossy(&out.stdout).matches("OK (").count())
    };
    assert_eq!(tnsping(&format!("127.0.0.1:{}/latchwrk", at.port)), (true, 2));
    assert_eq!(tnsping("127.0.0.1:1"), (false, 0));
    for service in ["latchwrk", "SALES", "sales.example.com", "other"] {
        let at = NetAddress { service: service.into(), ..at.clone() };
        logon(&at).logoff().unwrap();
    }
    let unknown = NetAddress { service: "nope".into(), ..at.clone() };
    assert_eq!(NetSession::connect(&unknown, "u", "Tiger1").map(drop).map_err(|e| code(&e)), Err(12514));
    for (user, password) in [("u", "tiger1"), ("nobody", "Tiger1"), ("", ""), ("u", "")] {
        assert_eq!(NetSession::connect(&at, user, password).map(drop).map_err(|e| code(&e)), Err(1017), "{user}");
    }
    let mut s = NetSession::connect(&at, "\"U\"", "Tiger1").expect("a quoted name");
    assert_eq!(s.execute("insert into w select level, 'x' from dual connect by level <= 1234").unwrap(), 1234);
    assert_eq!(s.query("select n, t from w order by n").unwrap().len(), 1234);
    assert_eq!(s.query("select * from nosuch").map_err(|e| (e.code(), e.position())), Err((942, Some(14))));
    s.ping().unwrap();
    s.logoff().unwrap();
    let mut c = sysdba(&instance);
    assert_eq!(number(&c.query("select count(*) from u.w", &[]).unwrap().all().unwrap()), 1234, "logging off commits");
    let closed = NetAddress { port: 1, ..at };
    assert_eq!(ping(&closed).map(drop).map_err(|e| code(&e)), Err(12541));
}

#[test]
fn a_statement_is_not_run_again_without_end_by_one_small_message() {
    use net::oracle::function::{REEXECUTE, REEXECUTE_AND_FETCH};
    let (instance, at) = start(&[]);
    let mut s = logon(&at);
    s.execute("insert into w select nvl(max(n), 0) + 1, 'x' from w").unwrap();
    assert_eq!(s.call_again(REEXECUTE, &[3, 0, 1]).unwrap(), 3);
    assert_eq!(s.call_again(REEXECUTE_AND_FETCH, &[2, 0, 1]).unwrap(), 2);
    for which in [REEXECUTE, REEXECUTE_AND_FETCH] {
        let mut s = logon(&at);
        s.execute("insert into w select nvl(max(n), 0) + 1, 'x' from w").unwrap();
        assert_eq!(s.call_again(which, &[u32::MAX, 0, 1]).map_err(|e| code(&e)), Err(3106), "{which}");
    }
    let mut c = sysdba(&instance);
    assert_eq!(number(&c.query("select count(*) from u.w", &[]).unwrap().all().unwrap()), 6);
}

#[test]
fn a_call_is_broken_and_the_session_goes_on() {
    let (_instance, at) = start(&[]);
    let mut s = logon(&at);
    for n in 1..=3 {
        let mut breaks = s.breaker().unwrap();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(150));
            breaks();
        });
        let outcome = s.execute("begin loop null; end loop; end;").map_err(|e| code(&e));
        thread.join().unwrap();
        assert_eq!(outcome, Err(1013));
        assert_eq!(number(&s.query(&format!("select {n} from dual")).unwrap()), n);
    }
    // A call that has ended, followed by a break.
    s.breaker().unwrap()();
    assert_eq!(s.query("select 1 from dual").map_err(|e| code(&e)), Err(1013));
    assert_eq!(number(&s.query("select 4 from dual").unwrap()), 4);
}

#[test]
fn what_is_no_client_ends_and_keeps_nobody_waiting() {
    let (instance, at) = start(&[("inbound_connect_timeout", "6")]);
    let place = (at.host.as_str(), at.port);
    let silent: Vec<TcpStream> = (0..5).map(|_| TcpStream::connect(place).unwrap()).collect();
    logon(&at).logoff().unwrap();
    let mut random = Random::new(231);
    let mut hello = Vec::new();
    net::oracle::tns::Connect::encode(b"(CONNECT_DATA=(SERVICE_NAME=latchwrk))", 8192, &mut hello);
    for n in 0..60usize {
        let mut stream = TcpStream::connect(place).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut bytes: Vec<u8> = if n % 3 == 0 { Vec::new() } else { hello.clone() };
        for _ in 0..n * 7 % 200 + 8 {
            let (at, byte) = (random.below(bytes.len() + 1), random.next() as u8);
            match n % 3 {
                1 if at < bytes.len() => bytes[at] = byte,
                _ => bytes.push(byte),
            }
        }
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.take(1 << 20).read_to_end(&mut answer);
    }
    let began = Instant::now();
    for mut stream in silent {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0, "the silent are let go");
    }
    assert!(began.elapsed() < PATIENCE);
    let mut s = logon(&at);
    assert_eq!(number(&s.query("select 3 from dual").unwrap()), 3);
    let mut c = sysdba(&instance);
    let left = "select count(*) from v$session where type = 'USER' and username is null";
    let until = Instant::now() + PATIENCE;
    while number(&c.query(left, &[]).unwrap().all().unwrap()) > 0 {
        assert!(Instant::now() < until, "nobody is left who has not logged on");
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = std::fs::read_to_string(instance.dir().join("alert.log")).unwrap();
    assert!(!log.contains("ORA-00600") && !log.contains("Process server"), "{log}");
}

#[test]
fn clients_beyond_the_limit_are_refused_and_local_ones_come_in_again() {
    let (instance, at) = start(&[("processes", "30")]);
    let mut open = Vec::new();
    let refused = loop {
        match NetSession::connect(&at, "u", "Tiger1") {
            Ok(s) => open.push(s),
            Err(e) => break e,
        }
        assert!(open.len() <= 30);
    };
    assert!(matches!(refused.code(), 12516 | 20), "{refused}");
    open.truncate(3);
    let until = Instant::now() + PATIENCE;
    while instance.connect(&Credentials::Sysdba).is_err() || NetSession::connect(&at, "u", "Tiger1").is_err() {
        assert!(Instant::now() < until, "there is room again");
        std::thread::sleep(Duration::from_millis(20));
    }
    for s in &mut open {
        assert_eq!(number(&s.query("select 1 from dual").unwrap()), 1);
    }
}

#[test]
fn a_client_that_vanishes_is_rolled_back_even_in_a_call() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    let mut idle = logon(&at);
    idle.execute("insert into w values (1, 'x')").unwrap();
    drop(idle);
    let mut busy = logon(&at);
    let sid = busy.session_id();
    let thread = std::thread::spawn(move || {
        let _ = busy.execute("begin insert into w values (2, 'x'); dbms_session.sleep(3600); end;");
    });
    // The call runs; then its process is killed.
    let until = Instant::now() + PATIENCE;
    let running = format!("select count(*) from v$session where sid = {sid} and status = 'ACTIVE'");
    while number(&c.query(&running, &[]).unwrap().all().unwrap()) == 0 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(10));
    }
    let serial =
        number(&c.query(&format!("select serial# from v$session where sid = {sid}"), &[]).unwrap().all().unwrap());
    c.execute(&format!("alter system kill session '{sid},{serial}'"), &[]).unwrap();
    thread.join().unwrap();
    while number(&c.query("select count(*) from v$session where username = 'U'", &[]).unwrap().all().unwrap()) > 0 {
        assert!(Instant::now() < until, "their sessions end");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(number(&c.query("select count(*) from u.w", &[]).unwrap().all().unwrap()), 0);
}

/// A connection pool tests its sessions like this.
#[test]
fn a_killed_session_is_not_there_for_a_ping() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    let mut idle = logon(&at);
    idle.ping().expect("it lives");
    let sid = idle.session_id();
    let serial =
        number(&c.query(&format!("select serial# from v$session where sid = {sid}"), &[]).unwrap().all().unwrap());
    c.execute(&format!("alter system kill session '{sid},{serial}'"), &[]).unwrap();
    assert_eq!(idle.ping().expect_err("it was killed").code(), 28);
    let until = Instant::now() + PATIENCE;
    while number(&c.query("select count(*) from v$session where username = 'U'", &[]).unwrap().all().unwrap()) > 0 {
        assert!(Instant::now() < until, "it ends");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_address_that_is_none_is_refused_at_the_start() {
    let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")));
    let params = vec![("local_listener".to_string(), "(ADDRESS=(PROTOCOL=ipc)(KEY=x))".to_string())];
    let started = Ephemeral::start_with(&EphemeralOptions { params, executable });
    let text = started.err().expect("no instance").to_string();
    assert!(text.contains("ORA-00119") && text.contains("ORA-00132"), "{text}");
}
