//! What every test needs: an instance, sessions, and waiting for something to become true.

use client::{Client, ClientResult, Credentials, Ephemeral, EphemeralOptions};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use types::{Nls, Value};

/// How long anything may take that should happen at once; long enough for a loaded machine.
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

/// The number a query gives in its first row and column.
pub fn number(client: &mut Client, sql: &str) -> i64 {
    let all = rows(client, sql);
    all.first().and_then(|r| r.parse().ok()).unwrap_or_else(|| panic!("{sql}: {all:?}"))
}

/// The code a statement fails with.
pub fn code(client: &mut Client, sql: &str) -> u32 {
    match client.query(sql, &[]).and_then(|q| q.all()) {
        Ok(r) => panic!("{sql} must fail: {r:?}"),
        Err(e) => e.code(),
    }
}

/// Waits until `probe` says so; fails after [`PATIENCE`].
pub fn eventually(what: &str, mut probe: impl FnMut() -> bool) {
    let start = Instant::now();
    while !probe() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A query of who holds something finds nobody. A background process at its work may hold it for as long as it has no
/// processor; what was left behind stays.
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

/// Nobody is left that is not there: what holds after any storm, once PMON is done.
pub fn assert_quiet(observer: &mut Client) {
    eventually("the dead are cleaned up", || {
        number(observer, "select count(*) from v$process where background is null") == 1
    });
    assert_nothing_held(observer, "select * from v$latchholder");
    assert_nothing_held(observer, "select sid, type, id1, id2, lmode, request from v$lock");
    assert_eq!(number(observer, "select count(*) from v$process where background is not null and pname = 'PMON'"), 1);
}
