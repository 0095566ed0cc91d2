//! The instance from outside: processes, connections, and broken connections.

use client::{Client, ClientError, Credentials, Ephemeral, EphemeralOptions};
use net::local::{Request, write_frame};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use types::Value;

fn executable() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))
}

fn start(params: &[(&str, &str)]) -> Ephemeral {
    let params = params.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = EphemeralOptions { params, executable: Some(executable()) };
    Ephemeral::start_with(&options).unwrap_or_else(|e| panic!("the instance starts: {e}"))
}

fn sysdba(instance: &Ephemeral) -> Client {
    instance.connect(&Credentials::Sysdba).unwrap_or_else(|e| panic!("a session opens: {e}"))
}

fn number(client: &mut Client, sql: &str) -> i64 {
    let rows = client.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    match &rows[0][0] {
        Value::Number(n) => n.as_i64().expect("a whole number"),
        other => panic!("{sql}: {other:?}"),
    }
}

/// Waits until `probe` returns true; fails after a generous time.
fn eventually(what: &str, mut probe: impl FnMut() -> bool) {
    let start = Instant::now();
    while !probe() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn raw(instance: &Ephemeral) -> UnixStream {
    UnixStream::connect(instance.dir().join(client::SOCKET_NAME)).expect("the socket is there")
}

/// The child of `parent` with this name in `ps`.
fn child_named(parent: u32, name: &str) -> i32 {
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // `pid (name) state ppid …`
        let (head, tail) = stat.rsplit_once(')').unwrap_or_default();
        let ppid = tail.split_whitespace().nth(1).and_then(|p| p.parse::<u32>().ok());
        head.split_once('(').is_some_and(|(_, n)| n == name) && ppid == Some(parent)
    };
    pids.into_iter().find(is_it).unwrap_or_else(|| panic!("{name} runs"))
}

fn latchwork(args: &[&str], dir: &Path) -> (bool, String) {
    let out = Command::new(executable()).args(args).arg("--dir").arg(dir).output().expect("the program runs");
    let text = [out.stdout, out.stderr].concat();
    (out.status.success(), String::from_utf8_lossy(&text).into_owned())
}

struct TempDir(PathBuf);

impl TempDir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("latchwork-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Self(dir)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = latchwork(&["stop", "--mode", "abort"], &self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_throw_away_instance_answers_and_goes_away() {
    let instance = start(&[]);
    let dir = instance.dir().to_path_buf();
    let mut session = sysdba(&instance);
    assert_eq!(number(&mut session, "select 1 + 1 from dual"), 2);
    drop(session);
    drop(instance);
    assert!(!dir.exists(), "the directory is removed");
}

#[test]
fn several_instances_live_side_by_side() {
    let instances = [start(&[]), start(&[])];
    let mut sessions: Vec<Client> = instances.iter().map(sysdba).collect();
    for (n, s) in sessions.iter_mut().enumerate() {
        s.execute("create table t (n number)", &[]).unwrap();
        s.execute(&format!("insert into t values ({n})"), &[]).unwrap();
        s.commit().unwrap();
    }
    for (n, s) in sessions.iter_mut().enumerate() {
        assert_eq!(number(s, "select n from t"), n as i64);
    }
}

#[test]
fn a_bad_parameter_is_refused_with_its_name() {
    let params = vec![("no_such_parameter".to_string(), "1".to_string())];
    let options = EphemeralOptions { params, executable: Some(executable()) };
    let Err(ClientError::Start(text)) = Ephemeral::start_with(&options) else { panic!("it must not start") };
    assert!(text.contains("LRM-00101: unknown parameter name 'no_such_parameter'"), "{text}");
}

#[test]
fn too_many_sessions_are_refused_and_room_comes_back() {
    let instance = start(&[("processes", "12")]);
    let mut open = Vec::new();
    let refusal = loop {
        match instance.connect(&Credentials::Sysdba) {
            Ok(c) => open.push(c),
            Err(e) => break e,
        }
        assert!(open.len() <= 12, "processes bounds the sessions");
    };
    assert!([18, 20].contains(&refusal.code()), "{refusal}");
    assert!(!open.is_empty());
    assert_eq!(number(&mut open[0], "select 5 from dual"), 5);
    open.pop();
    let mut again = None;
    eventually("a slot comes back", || {
        again = instance.connect(&Credentials::Sysdba).ok();
        again.is_some()
    });
    assert_eq!(number(again.as_mut().unwrap(), "select 6 from dual"), 6);
}

#[test]
fn garbage_and_half_messages_hurt_nobody() {
    let instance = start(&[]);
    let mut good = sysdba(&instance);
    // Garbage: a length out of bounds.
    let mut s = raw(&instance);
    s.write_all(&[0xFF; 64]).unwrap();
    let mut rest = Vec::new();
    let _ = s.read_to_end(&mut rest);
    // A well-framed packet without meaning.
    let mut s = raw(&instance);
    let mut bytes = Vec::new();
    write_frame(&mut bytes, |o| o.extend_from_slice(&[200, 1, 2, 3]));
    s.write_all(&bytes).unwrap();
    let _ = s.read_to_end(&mut rest);
    // Half a logon, then nothing.
    let mut whole = Vec::new();
    write_frame(&mut whole, |o| Request::Logon(Box::default()).encode(o));
    let mut s = raw(&instance);
    s.write_all(&whole[..whole.len() / 2]).unwrap();
    drop(s);
    // A call before a logon.
    let mut s = raw(&instance);
    let mut bytes = Vec::new();
    write_frame(&mut bytes, |o| Request::Fetch { cursor: 1, rows: 1 }.encode(o));
    s.write_all(&bytes).unwrap();
    let mut answer = Vec::new();
    s.read_to_end(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("ORA-01012"));
    assert_eq!(number(&mut good, "select 7 from dual"), 7);
}

#[test]
fn a_vanished_client_loses_its_transaction_and_its_locks() {
    let instance = start(&[]);
    let mut keeper = sysdba(&instance);
    keeper.execute("create table t (n number)", &[]).unwrap();
    keeper.execute("insert into t values (1)", &[]).unwrap();
    keeper.commit().unwrap();
    let mut goner = sysdba(&instance);
    goner.execute("update t set n = 2", &[]).unwrap();
    drop(goner);
    // Waits for the row lock, which is released with the vanished session.
    keeper.execute("update t set n = n + 10", &[]).unwrap();
    keeper.commit().unwrap();
    assert_eq!(number(&mut keeper, "select n from t"), 11);
}

#[test]
fn a_killed_server_process_loses_its_transaction_and_its_locks() {
    let instance = start(&[]);
    let mut keeper = sysdba(&instance);
    keeper.execute("create table t (n number)", &[]).unwrap();
    keeper.execute("insert into t values (1)", &[]).unwrap();
    keeper.commit().unwrap();
    let mut goner = sysdba(&instance);
    goner.execute("update t set n = 2", &[]).unwrap();
    os::process::kill(goner.welcome().server_process as i32, os::signal::SIGKILL).unwrap();
    let e = goner.execute("select 1 from dual", &[]).unwrap_err();
    assert_eq!(e.code(), 3113, "{e}");
    assert_eq!(goner.execute("select 1 from dual", &[]).unwrap_err().code(), 3114);
    keeper.execute("update t set n = n + 10", &[]).unwrap();
    keeper.commit().unwrap();
    assert_eq!(number(&mut keeper, "select n from t"), 11);
}

#[test]
fn a_break_ends_the_call_and_the_session_lives_on() {
    let instance = start(&[]);
    let mut session = sysdba(&instance);
    let handle = session.break_handle();
    let mut other = sysdba(&instance);
    let active = format!("select count(*) from v$session where sid = {} and status = 'ACTIVE'", session.sid());
    let breaker = std::thread::spawn(move || {
        eventually("the call runs", || number(&mut other, &active) == 1);
        handle.send()
    });
    let e = session.execute("begin loop null; end loop; end;", &[]).unwrap_err();
    assert_eq!(e.code(), 1013, "{e}");
    breaker.join().unwrap().unwrap();
    assert_eq!(number(&mut session, "select 8 from dual"), 8);
}

#[test]
fn the_death_of_a_background_process_ends_the_instance() {
    let mut instance = start(&[]);
    let mut session = sysdba(&instance);
    os::process::kill(child_named(instance.supervisor(), "lw_smon"), os::signal::SIGKILL).unwrap();
    eventually("the instance ends", || !instance.is_running());
    assert!(session.execute("select 1 from dual", &[]).is_err());
}

#[test]
fn the_death_of_the_supervisor_ends_every_process() {
    let dir = TempDir::new("supervisor");
    let (ok, text) = latchwork(&["start"], &dir.0);
    assert!(ok, "{text}");
    let session = Client::connect(&dir.0, &Credentials::Sysdba).unwrap();
    let server = session.welcome().server_process as i32;
    let pid: i32 = std::fs::read_to_string(dir.0.join("latchwork.pid")).unwrap().trim().parse().unwrap();
    os::process::kill(pid, os::signal::SIGKILL).unwrap();
    eventually("the server process ends", || !os::process::exists(server));
    eventually("the directory is free", || latchwork(&["status"], &dir.0).1.contains("No Latchwork instance"));
}

/// The processes of an instance form a separate process group: Ctrl-C for the script that started it does not reach
/// them.
#[test]
fn what_ends_the_starter_does_not_end_the_instance() {
    let dir = TempDir::new("group");
    let (ok, text) = latchwork(&["start"], &dir.0);
    assert!(ok, "{text}");
    let pid = std::fs::read_to_string(dir.0.join("latchwork.pid")).unwrap().trim().to_owned();
    let group_and_session = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let tail = stat.rsplit_once(')').expect("a name").1;
        tail.split_whitespace().skip(2).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(group_and_session(&pid), [pid.clone(), pid.clone()]);
    let session = Client::connect(&dir.0, &Credentials::Sysdba).unwrap();
    assert_eq!(group_and_session(&session.welcome().server_process.to_string()), [pid.clone(), pid]);
}

#[test]
fn committed_rows_survive_a_clean_stop() {
    let dir = TempDir::new("stop");
    let (ok, text) = latchwork(&["start"], &dir.0);
    assert!(ok, "{text}");
    let (ok, text) = latchwork(&["start"], &dir.0);
    assert!(!ok && text.contains("ORA-01081"), "{text}");
    let mut session = Client::connect(&dir.0, &Credentials::Sysdba).unwrap();
    session.execute("create table t (n number)", &[]).unwrap();
    session.execute("insert into t select level from dual connect by level <= 1000", &[]).unwrap();
    session.commit().unwrap();
    session.execute("insert into t values (5000)", &[]).unwrap();
    let (ok, text) = latchwork(&["stop"], &dir.0);
    assert!(ok, "{text}");
    assert!(session.execute("select 1 from dual", &[]).unwrap_err().is_fatal());
    let (ok, text) = latchwork(&["status"], &dir.0);
    assert!(!ok, "{text}");
    let (ok, text) = latchwork(&["start"], &dir.0);
    assert!(ok, "{text}");
    let mut session = Client::connect(&dir.0, &Credentials::Sysdba).unwrap();
    assert_eq!(number(&mut session, "select sum(n) from t"), 500_500);
}

#[test]
fn a_user_who_may_not_use_the_instance_is_told_so() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let instance = start(&[]);
    // Not in TMPDIR, which may be private to its owner: the other user must reach the program.
    let place = Path::new("/tmp").join(format!("latchwork-stranger-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = place.join("latchwork");
    std::fs::hard_link(executable(), &program).or_else(|_| std::fs::copy(executable(), &program).map(drop)).unwrap();
    let mut command = Command::new(&program);
    command.arg("hang").arg("--dir").arg(instance.dir()).current_dir("/");
    let is_root = std::fs::metadata(instance.dir()).is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
    if is_root {
        command.uid(65534).gid(65534);
    } else {
        std::fs::set_permissions(instance.dir(), std::fs::Permissions::from_mode(0o000)).unwrap();
    }
    let out = command.output().unwrap();
    std::fs::set_permissions(instance.dir(), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.starts_with("ORA-12546: TNS:permission denied"), "{said}");
    assert_eq!(out.status.code(), Some(1));
}
