//! A database directory, its program and sessions that write to it.

use client::{Client, ClientResult, Credentials};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};
use types::{Nls, Value};

/// Time limit for events that should happen at once; long enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A database directory of a test; dropping it removes its instance and files.
pub struct Database(pub PathBuf);

impl Database {
    pub fn new(name: &str) -> Database {
        let dir = std::env::temp_dir().join(format!("latchwork-recovery-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Database(dir)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn program(&self, args: &[&str]) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        let out = command.args(args).arg("--dir").arg(&self.0).output().expect("the program runs");
        let text = [out.stdout, out.stderr].concat();
        (out.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
    }

    /// Starts the instance with small caches and logs, so that blocks are replaced and logs switch.
    pub fn start(&self) {
        let (code, text) = self.try_start();
        assert_eq!(code, 0, "{text}");
    }

    pub fn try_start(&self) -> (i32, String) {
        let params = ["db_cache_size=4M", "_log_file_size=1M", "_disk_sync=false", "processes=40"];
        let args: Vec<&str> = params.iter().flat_map(|p| ["--param", p]).collect();
        self.program(&[&["start"], args.as_slice()].concat())
    }

    pub fn stop(&self) {
        let (code, text) = self.program(&["stop"]);
        assert_eq!(code, 0, "{text}");
    }

    pub fn connect(&self) -> Client {
        Client::connect(&self.0, &Credentials::Sysdba).unwrap_or_else(|e| panic!("a session opens: {e}"))
    }

    pub fn supervisor(&self) -> i32 {
        std::fs::read_to_string(self.0.join("latchwork.pid")).unwrap().trim().parse().unwrap()
    }

    /// Kills the supervisor, and with it every process.
    pub fn kill(&self) {
        let pid = self.supervisor();
        os::process::kill(pid, os::signal::SIGKILL).unwrap();
        eventually("the instance is gone", || self.program(&["status"]).0 == 3);
    }

    pub fn alert(&self) -> String {
        std::fs::read_to_string(self.0.join("alert.log")).unwrap_or_default()
    }

    /// Stops the instance and checks every file, table and index. Returns the output.
    pub fn verify(&self) -> String {
        self.stop();
        let (code, text) = self.program(&["verify"]);
        assert_eq!(code, 0, "{text}");
        text
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.0.exists() {
            let _ = self.program(&["stop", "--mode", "abort"]);
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

pub fn try_rows(client: &mut Client, sql: &str) -> ClientResult<Vec<String>> {
    let nls = Nls::default();
    let text = |v: &Value| v.to_text(&nls).ok().flatten().map(|t| t.into_owned()).unwrap_or_default();
    let line = |row: &Vec<Value>| row.iter().map(text).collect::<Vec<_>>().join("|");
    Ok(client.query(sql, &[])?.all()?.iter().map(line).collect())
}

pub fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    try_rows(client, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

pub fn number(client: &mut Client, sql: &str) -> i64 {
    let all = rows(client, sql);
    all.first().and_then(|r| r.parse().ok()).unwrap_or_else(|| panic!("{sql}: {all:?}"))
}

/// The whole text of the error that a statement fails with.
pub fn error(client: &mut Client, sql: &str) -> String {
    match try_rows(client, sql) {
        Ok(r) => panic!("{sql} must fail: {r:?}"),
        Err(e) => e.to_string(),
    }
}

pub fn eventually(what: &str, mut probe: impl FnMut() -> bool) {
    let start = Instant::now();
    while !probe() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sessions that insert, one transaction a row, each counting up; and the acknowledged number of each.
pub struct Load {
    pub acknowledged: Vec<AtomicI64>,
    pub stop: AtomicBool,
}

pub const LOAD_TABLE: &[&str] = &[
    "create table load (w number, n number, v varchar2(500), constraint load_pk primary key (w, n))",
    "create index load_v on load (v)",
];

impl Load {
    pub fn new(workers: usize) -> Load {
        Load { acknowledged: (0..workers).map(|_| AtomicI64::new(0)).collect(), stop: AtomicBool::new(false) }
    }

    /// One session of the load: ends on request, or with its instance.
    pub fn work(&self, db: &Database, worker: usize) {
        let Ok(mut c) = Client::connect(db.path(), &Credentials::Sysdba) else { return };
        while !self.stop.load(Ordering::Relaxed) {
            let n = self.acknowledged[worker].load(Ordering::SeqCst) + 1;
            let insert = format!("insert into load values ({worker}, {n}, rpad('{n}', 300 + mod({n}, 190), 'x'))");
            // In half of the transactions a row is also changed and deleted.
            let delete = format!("delete from load where w = {worker} and n = {n} - 7 and mod(n, 10) = 3");
            let update = format!("update load set v = v || '!' where w = {worker} and n = {n} - 3");
            let done =
                [insert.as_str(), &delete, &update].iter().all(|sql| c.execute(sql, &[]).is_ok()) && c.commit().is_ok();
            if !done {
                return;
            }
            self.acknowledged[worker].store(n, Ordering::SeqCst);
        }
    }

    pub fn total(&self) -> i64 {
        self.acknowledged.iter().map(|a| a.load(Ordering::SeqCst)).sum()
    }

    pub fn counts(&self) -> Vec<i64> {
        self.acknowledged.iter().map(|a| a.load(Ordering::SeqCst)).collect()
    }
}

/// The acknowledged transactions are present, as a whole, and at most one more for each worker.
pub fn assert_kept(c: &mut Client, acknowledged: &[i64]) {
    for (w, n) in acknowledged.iter().enumerate() {
        let last = number(c, &format!("select nvl(max(n), 0) from load where w = {w}"));
        assert!(last == *n || last == n + 1, "worker {w}: {last} is the last row, {n} was acknowledged");
        assert_whole(c, w, last);
    }
}

/// All changes of the transactions 1 to `last` of a worker are present, and no others.
pub fn assert_whole(c: &mut Client, w: usize, last: i64) {
    let deleted = (1..=last - 7).filter(|n| n % 10 == 3).count() as i64;
    assert_eq!(number(c, &format!("select count(*) from load where w = {w}")), last - deleted, "rows of worker {w}");
    let marked = number(c, &format!("select count(*) from load where w = {w} and v like '%!'"));
    let must = (1..=last - 3).filter(|n| !(n % 10 == 3 && *n <= last - 7)).count() as i64;
    assert_eq!(marked, must, "changed rows of worker {w}");
    let by_index = format!("select /*+ index(load load_v) */ count(*) from load where v > ' ' and w = {w}");
    assert_eq!(number(c, &by_index), last - deleted, "entries of worker {w}");
}
