//! Shared by the tests of a running instance: a separate instance for each test, sessions, and statements that succeed
//! or are refused. Waits are long enough for a busy machine.

#![allow(dead_code, reason = "each test uses some of it")]

pub mod absent;

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use types::Value;

/// An instance with these parameters, which ends when it is dropped.
pub fn start(params: &[(&str, &str)]) -> Ephemeral {
    let params = params.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = EphemeralOptions { params, executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))) };
    Ephemeral::start_with(&options).unwrap_or_else(|e| panic!("the instance starts: {e}"))
}

/// A session of the owner.
pub fn connect(instance: &Ephemeral) -> Client {
    instance.connect(&Credentials::Sysdba).unwrap_or_else(|e| panic!("a session opens: {e}"))
}

/// A user whose password is `p`, with tables and units of its own.
pub fn make_user(dba: &mut Client, name: &str) {
    run(dba, &format!("create user {name} identified by p default tablespace users quota unlimited on users"));
    run(dba, &format!("grant create session, create table, create synonym, create procedure to {name}"));
    for view in ["v_$mystat", "v_$statname"] {
        run(dba, &format!("grant select on {view} to {name}"));
    }
}

/// A session of a user whose password is `p`.
pub fn log_on(instance: &Ephemeral, name: &str) -> Client {
    let password = Credentials::Password { user: name.into(), password: "p".into() };
    instance.connect(&password).unwrap_or_else(|e| panic!("{name} connects: {e}"))
}

/// A figure of `v$mystat`.
pub fn figure(c: &mut Client, name: &str) -> u64 {
    let sql = "select s.value from v$mystat s, v$statname n where n.statistic# = s.statistic# and n.name = ";
    one(c, &format!("{sql}'{name}'")).parse().expect("a number")
}

/// Runs a statement that succeeds.
pub fn run(c: &mut Client, sql: &str) {
    c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// The error of a statement that must be refused.
pub fn refused(c: &mut Client, sql: &str) -> String {
    c.execute(sql, &[]).expect_err(sql).to_string()
}

/// The rows of a query.
pub fn rows(c: &mut Client, sql: &str) -> Vec<Vec<Value>> {
    c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// The rows of a query as text.
pub fn words(c: &mut Client, sql: &str) -> Vec<Vec<String>> {
    let rows = c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |v: &Value| match v {
        Value::Null => String::new(),
        Value::Number(n) => n.to_string(),
        Value::Text(t) => t.clone(),
        other => format!("{other:?}"),
    };
    rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

/// The first value of a query as text.
pub fn one(c: &mut Client, sql: &str) -> String {
    words(c, sql)[0][0].clone()
}

/// The first column of a query, as lines.
pub fn text(c: &mut Client, sql: &str) -> String {
    let line = |row: &Vec<Value>| if let Value::Text(t) = &row[0] { t.clone() } else { String::new() };
    rows(c, sql).iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Waits until the condition holds.
pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The report of `latchwork hang`.
pub fn hang(instance: &Ephemeral) -> String {
    let program = Command::new(env!("CARGO_BIN_EXE_latchwork")).arg("hang").arg("--dir").arg(instance.dir()).output();
    let program = program.expect("the program runs");
    assert!(program.status.success(), "{program:?}");
    String::from_utf8(program.stdout).unwrap()
}

/// The file that arms the crash point of an instance, and the file that lists the processes that passed it.
pub fn stops_and_deaths(instance: &Ephemeral) -> (PathBuf, PathBuf) {
    (instance.dir().join(faults::STOP_FILE), instance.dir().join(faults::DEATHS_FILE))
}

/// Runs `sql` in a session of its own until a process stops at the crash point of the instance. `meanwhile` gets the
/// number of that process and the session's number. The process is continued afterwards.
pub fn stopped(
    instance: &Ephemeral,
    sql: &str,
    meanwhile: impl FnOnce(i32, i32, client::BreakHandle),
) -> Result<String, String> {
    let (stop, deaths) = stops_and_deaths(instance);
    let _ = std::fs::remove_file(&deaths);
    let mut c = connect(instance);
    let (coordinator, breaks) = (c.welcome().server_process as i32, c.break_handle());
    std::fs::write(&stop, "").unwrap();
    std::thread::scope(|scope| {
        let running = scope.spawn(move || match c.query(sql, &[]).and_then(|q| q.all()) {
            Ok(rows) => Ok(format!("{:?}", rows[0][0])),
            Err(e) => Err(e.to_string()),
        });
        let mut server = None;
        until("a process stops", || {
            let text = std::fs::read_to_string(&deaths).unwrap_or_default();
            server = text.lines().next().and_then(|line| line.split_whitespace().nth(2)?.parse().ok());
            server.is_some()
        });
        let server = server.unwrap();
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| meanwhile(server, coordinator, breaks)));
        until("the query ends", || {
            let _ = os::process::kill(server, os::signal::SIGCONT);
            running.is_finished()
        });
        // The process may stop only now.
        let _ = os::process::kill(server, os::signal::SIGCONT);
        done.unwrap_or_else(|e| std::panic::resume_unwind(e));
        running.join().unwrap()
    })
}
