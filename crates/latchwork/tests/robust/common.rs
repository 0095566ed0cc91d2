//! Shared by all tests: an instance, sessions, and waiting for a condition.

use client::{Client, ClientResult, Credentials, Ephemeral, EphemeralOptions};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use types::{Nls, Value};

/// Time limit for events that should happen at once; long enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn executable() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))
}

pub fn start(params: &[(&str, &str)]) -> Ephemeral {
    let params = params.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = EphemeralOptions { params, executable: Some(executable()) };
    Ephemeral::start_with(&options).unwrap_or_else(|e| panic!("the instance starts: {e}"))
}

pub fn sysdba(instance: &Ephemeral) -> Client {
    instance.connect(&Credentials::Sysdba).unwrap_or_else(|e| panic!("a session opens: {e}"))
}

/// Runs statements that must succeed.
pub fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

/// All rows of a query, columns joined by `|`.
pub fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    try_rows(client, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

pub fn try_rows(client: &mut Client, sql: &str) -> ClientResult<Vec<String>> {
    Ok(client.query(sql, &[])?.all()?.iter().map(|r| line(r)).collect())
}

pub fn line(row: &[Value]) -> String {
    let nls = Nls::default();
    let text = |v: &Value| v.to_text(&nls).ok().flatten().map(|t| t.into_owned()).unwrap_or_default();
    row.iter().map(text).collect::<Vec<_>>().join("|")
}

/// The number in the first row and column of a query.
pub fn number(client: &mut Client, sql: &str) -> i64 {
    let all = rows(client, sql);
    all.first().and_then(|r| r.parse().ok()).unwrap_or_else(|| panic!("{sql}: {all:?}"))
}

/// The error number of a failing statement.
pub fn code(client: &mut Client, sql: &str) -> u32 {
    match client.query(sql, &[]).and_then(|q| q.all()) {
        Ok(r) => panic!("{sql} must fail: {r:?}"),
        Err(e) => e.code(),
    }
}

/// Waits until `probe` returns true; fails after [`PATIENCE`].
pub fn eventually(what: &str, mut probe: impl FnMut() -> bool) {
    let start = Instant::now();
    while !probe() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A query for holders returns no row. A background process may hold something while it waits for a processor; things
/// left behind stay held.
pub fn assert_nothing_held(observer: &mut Client, sql: &str) {
    let start = Instant::now();
    loop {
        let held = rows(observer, sql);
        if held.is_empty() {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{sql}: {held:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Nothing of dead sessions is left, once PMON has finished.
pub fn assert_quiet(observer: &mut Client) {
    eventually("the dead are cleaned up", || {
        number(observer, "select count(*) from v$process where background is null") == 1
    });
    assert_nothing_held(observer, "select * from v$latchholder");
    assert_nothing_held(observer, "select sid, type, id1, id2, lmode, request from v$lock");
    assert_eq!(number(observer, "select count(*) from v$process where background is not null and pname = 'PMON'"), 1);
}
