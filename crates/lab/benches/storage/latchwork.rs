//! The instance of this workspace: a database in a folder, sessions through its socket.

use crate::common::{cpu_seconds, latchwork_program, together};
use crate::{Change, Crash, Query, Recovered, Sample, Size, Target, Way};
use client::{ArrayOptions, Bind, Client, Credentials};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use types::{DataType, Number, Value};

const SETUP: &str = include_str!("latchwork.sql");
/// Defaults, except the size of the buffers and logs, which hold the redo of the longest recovery, as PostgreSQL's do.
const PARAMS: [&str; 4] = ["db_cache_size=256M", "processes=60", "_log_file_size=768M", "_log_files=2"];

pub struct Latchwork {
    dir: PathBuf,
    session: RefCell<Option<Client>>,
}

impl Latchwork {
    /// Makes the database, its tables and procedures.
    pub fn start(dir: PathBuf, size: Size) -> Latchwork {
        let engine = Latchwork { dir, session: RefCell::new(None) };
        engine.start_instance();
        for statement in shell::split_script(SETUP) {
            engine.run(&statement);
        }
        engine.run(&format!("begin fill_item({}); end;", size.rows));
        engine
    }

    fn start_instance(&self) {
        let mut start = Command::new(latchwork_program());
        start.arg("start").arg("--dir").arg(&self.dir);
        PARAMS.iter().for_each(|p| {
            start.args(["--param", p]);
        });
        let output = start.stdin(Stdio::null()).output().expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn connect(&self) -> Client {
        connect(&self.dir)
    }

    fn run(&self, statement: &str) {
        let mut session = self.session.borrow_mut();
        run(session.get_or_insert_with(|| self.connect()), statement, &[]);
    }

    /// Runs a statement and its commit in the open session, measured by the clock and by the server's CPU time.
    fn timed(&self, units: f64, statements: &[&str]) -> Option<Sample> {
        let mut session = self.session.borrow_mut();
        let session = session.get_or_insert_with(|| connect(&self.dir));
        let pid = session.welcome().server_process.to_string();
        let (began, cpu) = (Instant::now(), cpu_seconds(&pid));
        statements.iter().for_each(|s| run(session, s, &[]));
        Some(Sample { units, seconds: began.elapsed().as_secs_f64(), cpu: Some(cpu_seconds(&pid) - cpu) })
    }

    pub fn commits(&self, sessions: u32, way: Way, size: Size) -> Option<Sample> {
        let all: Vec<Client> = (0..sessions).map(|_| self.connect()).collect();
        let done = std::sync::atomic::AtomicU64::new(0);
        let limit = Duration::from_secs_f64(size.seconds);
        let seconds = together(all, |mut session| {
            let began = Instant::now();
            let mut n = 0;
            while began.elapsed() < limit {
                n += commit(&mut session, way, n);
            }
            done.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
        });
        let units = done.into_inner() as f64;
        Some(Sample { units, seconds, cpu: None })
    }

    pub fn bulk(&self, target: Target, way: Way, size: Size) -> Option<Sample> {
        let (table, n) = (target.table(), size.rows);
        self.run(&format!("truncate table {table}"));
        let statement = match way {
            Way::Client => return self.arrays(table, n),
            Way::Array => format!("begin load_{table}({n}); end;"),
            _ => format!(
                "insert into {table} select level, mod(level, 100), level * 7, 'row number ' || level
                 from dual connect by level <= {n}"
            ),
        };
        self.timed(n as f64, &[&statement, "commit"])
    }

    /// Sends the rows from the client, a thousand a call, and commits.
    fn arrays(&self, table: &str, n: u64) -> Option<Sample> {
        let number = |n: u64| Value::Number(Number::from_u64(n));
        let row = |i: u64| [number(i), number(i % 100), number(i * 7), Value::text(format!("row number {i}"))];
        let types = [DataType::NUMBER, DataType::NUMBER, DataType::NUMBER, DataType::TEXT];
        let binds = types.map(|t| Bind::input(t, Value::Null));
        let insert = format!("insert into {table} values (:1, :2, :3, :4)");
        let mut session = self.session.borrow_mut();
        let session = session.get_or_insert_with(|| connect(&self.dir));
        let pid = session.welcome().server_process.to_string();
        let (began, cpu) = (Instant::now(), cpu_seconds(&pid));
        for first in (1..=n).step_by(1000) {
            let rows = (first..=n.min(first + 999)).map(row);
            session.execute_many(&insert, &binds, rows, ArrayOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        }
        session.commit().expect("commits");
        Some(Sample { units: n as f64, seconds: began.elapsed().as_secs_f64(), cpu: Some(cpu_seconds(&pid) - cpu) })
    }

    pub fn scan(&self, query: Query, size: Size) -> Option<Sample> {
        let rows = query.rows(size);
        let call = |times: u64| format!("begin {}({times}, {rows}, {}); end;", query.procedure(), size.rows);
        // A short run to calibrate; it also reads all blocks into the cache.
        let few = self.timed(1.0, &[&call(1 + 20_000 / (rows + 20))])?;
        let times = (size.seconds / 2.0 / few.seconds.max(1e-6) * (1 + 20_000 / (rows + 20)) as f64) as u64 + 1;
        self.timed((times * rows) as f64, &[&call(times)])
    }

    pub fn change(&self, change: Change, size: Size) -> Option<Sample> {
        self.bulk(change.target(), Way::Select, size);
        self.timed(size.rows as f64, &[change.sql(), "commit"])
    }

    /// Fills the log after a checkpoint, kills every process of the instance, and times the start. The figure is the
    /// amount of redo that the start reports as read.
    pub fn recovery(&self, crash: Crash, size: Size) -> Option<Recovered> {
        let written = || self.number("select value from v$sysstat where name = 'redo size'");
        let goal = size.megabytes * 1_000_000;
        self.run("alter system checkpoint");
        let (before, mut rows) = (written(), 0);
        while written() - before < goal {
            self.change(Change::Update, size);
            rows += 2 * size.rows;
        }
        self.session.borrow_mut().take();
        kill_instance(&self.dir);
        crash.happens(&self.dir);
        let began = Instant::now();
        self.start_instance();
        let found = self.number("select count(*) from bulk_indexed");
        let seconds = began.elapsed().as_secs_f64();
        assert_eq!(found, size.rows, "every committed row is there");
        let alert = std::fs::read_to_string(self.dir.join("alert.log")).expect("an alert log");
        let mut kilobytes =
            alert.lines().filter_map(|l| l.strip_prefix(" read ")?.split(" KB redo").next()?.parse().ok());
        Some(Recovered { megabytes: kilobytes.next_back().map_or(0.0, |kb: f64| kb * 1024.0 / 1e6), rows, seconds })
    }

    fn number(&self, query: &str) -> u64 {
        let mut session = self.session.borrow_mut();
        let session = session.get_or_insert_with(|| connect(&self.dir));
        let rows = session.query(query, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{e}\n{query}"));
        match rows.first().map(|row| &row[0]) {
            Some(Value::Number(n)) => n.as_i64().and_then(|n| u64::try_from(n).ok()).expect("a count"),
            other => panic!("a number, not {other:?}"),
        }
    }
}

impl Drop for Latchwork {
    fn drop(&mut self) {
        self.session.borrow_mut().take();
        let mut stop = Command::new(latchwork_program());
        let _ = stop.arg("stop").arg("--dir").arg(&self.dir).stdout(Stdio::null()).status();
    }
}

fn connect(dir: &Path) -> Client {
    Client::connect(dir, &Credentials::Sysdba).expect("connects")
}

fn run(session: &mut Client, statement: &str, binds: &[Bind]) {
    session.execute(statement, binds).map(drop).unwrap_or_else(|e| panic!("{e}\n{statement}"));
}

/// Inserts a row and commits, or several times that; returns the number of commits.
fn commit(session: &mut Client, way: Way, n: u64) -> u64 {
    let binds = [
        Bind::input(DataType::NUMBER, Value::Number(Number::from_u64(n))),
        Bind::input(DataType::NUMBER, Value::Number(Number::from_u64(n * 7))),
    ];
    let insert = "insert into journal values (:1, :2, 'row of a journal')";
    match way {
        Way::Inside => {
            run(session, "begin commits(50); end;", &[]);
            return 50;
        }
        Way::OneCall => run(session, &format!("begin {insert}; commit; end;"), &binds),
        _ => {
            run(session, insert, &binds);
            session.commit().expect("commits");
        }
    }
    1
}

/// Kills the supervisor and all of its children at once.
fn kill_instance(dir: &Path) {
    let mut session = connect(dir);
    let rows = session.query("select spid from v$process", &[]).and_then(|q| q.all()).expect("answers");
    drop(session);
    let mut pids: Vec<String> = rows
        .iter()
        .filter_map(|row| match &row[0] {
            Value::Text(t) => Some(t.clone()),
            Value::Number(n) => Some(n.to_string()),
            _ => None,
        })
        .filter(|pid| Path::new(&format!("/proc/{pid}")).exists())
        .collect();
    let parents: Vec<String> = pids.iter().filter_map(|pid| parent(pid)).collect();
    pids.extend(parents.into_iter().filter(|parent| parent != "1" && *parent != std::process::id().to_string()));
    pids.sort();
    pids.dedup();
    let _ = Command::new("kill").arg("-9").args(&pids).stderr(Stdio::null()).status();
    while pids.iter().any(|pid| state(pid).is_some_and(|s| s != 'Z')) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The fields of a process's status that follow its name.
fn status(pid: &str) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    Some(rest.split(' ').map(str::to_string).collect())
}

fn state(pid: &str) -> Option<char> {
    status(pid)?.first()?.chars().next()
}

fn parent(pid: &str) -> Option<String> {
    status(pid)?.get(1).cloned()
}
