//! Latchwork and PostgreSQL on SLOB's mixes of readers and updates in the same run: rows that lie one a block, each
//! commit durable on the same disk.
//!
//!     cargo build --release && cargo bench -p lab --features peers --bench updates
//!         [-- --percent 0,10,25 --change one|all|length --sessions 4 --rows 10000 --seconds 10 --rounds 3 --dir DIR]
//!
//! Each session has a table of its own: a number and 19 texts of 128 characters a row, one row a block, in random
//! order, with an index of the number. An execution chooses 63 neighbouring numbers. It either counts their rows or
//! changes two texts of each, and a change is committed and waits for its sync. `--change` tells how: `one` character
//! of each text, `all` (the default), or all and the `length`, too. The loop runs in the engine's own language: PL/SQL
//! with `COMMIT WRITE WAIT`, PL/pgSQL with `synchronous_commit` on. Both keep 1 GB of buffers, so all blocks are
//! cached; PostgreSQL has `max_wal_size` 4 GB, Latchwork the logs of a lasting database as they come.
//!
//! Rounds are interleaved: every engine runs one mix before any engine runs the next. Printed are medians of executions
//! a second by the clock, bytes of redo (or WAL) a changed row and a second, and the ratio of the executions. A run
//! whose rounds are short has its first checkpoint in it, after which PostgreSQL logs whole pages; `--seconds 60` shows
//! the steady state.

mod common;
#[path = "peer.rs"]
mod peer;

use client::{Bind, Client, Credentials};
use common::{argument, latchwork_program, median, text_argument, together};
use peer::Postgres;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use types::{DataType, Number, Value};

/// The work of one round, of all sessions together.
#[derive(Clone, Copy, Default)]
struct Sample {
    executions: f64,
    changed: f64,
    seconds: f64,
    log_bytes: f64,
}

/// The size of a run.
#[derive(Clone, Copy)]
struct Size {
    sessions: u64,
    rows: u64,
    seconds: f64,
    change: TextChange,
}

/// The changes of a text.
#[derive(Clone, Copy)]
enum TextChange {
    One,
    All,
    Length,
}

impl TextChange {
    /// The new text of execution number `n`, as an expression of PL/SQL and of PL/pgSQL.
    fn text(self, n: &str) -> String {
        let first = format!("chr(65 + mod({n}, 26))");
        match self {
            TextChange::One => format!("rpad({first}, 128, 'AAAAAAAABBBBBBBB')"),
            TextChange::All => format!("rpad({first}, 128, {first})"),
            TextChange::Length => format!("rpad({first}, 100 + mod({n}, 29), {first})"),
        }
    }
}

/// The columns behind the number, as a list made by `f`.
fn columns(f: impl Fn(u32) -> String) -> String {
    (2..=20).map(f).collect::<Vec<_>>().join(", ")
}

const READER: &str = "declare
  l_low pls_integer; l_count number; l_end number := dbms_utility.get_time + :seconds * 100;
  l_executions number := 0; l_changed number := 0; l_text varchar2(128);
begin
  while dbms_utility.get_time < l_end loop
    l_low := trunc(dbms_random.value(0, :row_count - 64));
    if dbms_random.value(0, 100) < :percent then
      l_text := TEXT;
      update TABLE set c2 = l_text, c20 = l_text where custid > l_low and custid < l_low + 64;
      l_changed := l_changed + sql%rowcount;
      commit write wait;
    else
      select count(c2) into l_count from TABLE where custid > l_low and custid < l_low + 64;
    end if;
    l_executions := l_executions + 1;
  end loop;
  :executions := l_executions;
  :changed := l_changed;
end;";

struct Latchwork {
    dir: PathBuf,
}

impl Latchwork {
    fn start(dir: PathBuf, size: Size) -> Latchwork {
        let mut start = Command::new(latchwork_program());
        start.arg("start").arg("--dir").arg(&dir);
        ["db_cache_size=1G", "processes=100"].iter().for_each(|p| {
            start.args(["--param", p]);
        });
        let output = start.stdin(Stdio::null()).output().expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut session = connect(&dir);
        for n in 0..size.sessions {
            for sql in [
                format!(
                    "create table cf{n} (custid number, {}) pctfree 99",
                    columns(|c| format!("c{c} varchar2(128)"))
                ),
                format!(
                    "insert into cf{n} select * from (select level custid, {} from dual connect by level <= {}) \
                     order by dbms_random.value",
                    columns(|c| format!("rpad('X', 128, 'X') c{c}")),
                    size.rows
                ),
                "commit".to_string(),
                format!("create index i_cf{n} on cf{n} (custid)"),
            ] {
                session.execute(&sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
            }
        }
        session.execute("alter system checkpoint", &[]).expect("a checkpoint");
        Latchwork { dir }
    }

    fn redo_bytes(&self) -> f64 {
        let sql = "select value from v$sysstat where name = 'redo size'";
        number(&connect(&self.dir).query(sql, &[]).and_then(|q| q.all()).expect("answers")[0][0])
    }

    fn round(&self, percent: f64, size: Size) -> Sample {
        let sessions: Vec<(u64, Client)> = (0..size.sessions).map(|n| (n, connect(&self.dir))).collect();
        let sum = Mutex::new(Sample::default());
        let before = self.redo_bytes();
        let seconds = together(sessions, |(n, mut session)| {
            let bind = |name: &str, v: f64| {
                Bind::named(name, DataType::NUMBER, Value::Number(Number::from_f64(v).expect("a number")))
            };
            let binds = [
                bind("seconds", size.seconds),
                bind("row_count", size.rows as f64),
                bind("percent", percent),
                bind("executions", 0.0),
                bind("changed", 0.0),
            ];
            let text = size.change.text("l_executions");
            let reader = READER.replace("TABLE", &format!("cf{n}")).replace("TEXT", &text);
            let ended = session.execute(&reader, &binds).expect("works");
            let out = |at: u16| ended.done.out.iter().find(|(n, _)| *n == at).map_or(0.0, |(_, v)| number(v));
            let mut sum = sum.lock().unwrap();
            sum.executions += out(3);
            sum.changed += out(4);
        });
        let sum = sum.into_inner().unwrap();
        Sample { seconds, log_bytes: self.redo_bytes() - before, ..sum }
    }
}

impl Drop for Latchwork {
    fn drop(&mut self) {
        let mut stop = Command::new(latchwork_program());
        let _ = stop.arg("stop").arg("--dir").arg(&self.dir).stdout(Stdio::null()).status();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn connect(dir: &Path) -> Client {
    Client::connect(dir, &Credentials::Sysdba).expect("connects")
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Number(n) => n.to_f64(),
        other => panic!("a number, not {other:?}"),
    }
}

/// A PostgreSQL server with the same tables and loops.
fn postgres(folder: PathBuf, size: Size) -> Option<Postgres> {
    let settings = "-c shared_buffers=1GB -c jit=off -c max_wal_size=4GB -c max_connections=200 \
                    -c max_parallel_workers_per_gather=0 -c synchronous_commit=on -c fsync=on";
    let server = Postgres::start(folder, settings)?;
    for n in 0..size.sessions {
        server.psql(&format!(
            "create table cf{n} (custid int, {}) with (fillfactor = 10)",
            columns(|c| format!("c{c} varchar(128)"))
        ));
        server.psql(&format!("alter table cf{n} {}", columns(|c| format!("alter column c{c} set storage plain"))));
        server.psql(&format!(
            "insert into cf{n} select * from (select g custid, {} from generate_series(1, {}) g) t order by random()",
            columns(|c| format!("repeat('X', 128) c{c}")),
            size.rows
        ));
        server.psql(&format!("create index i_cf{n} on cf{n} (custid)"));
        server.psql(&format!("vacuum analyze cf{n}"));
        server.psql(&format!(
            "create procedure run_cf{n}(seconds float, percent float, inout executions bigint, inout changed bigint)
             language plpgsql as $$
             declare k int; found bigint; n bigint; t varchar(128); e timestamptz := clock_timestamp() + make_interval(secs => seconds);
             begin
               executions := 0; changed := 0;
               while clock_timestamp() < e loop
                 k := trunc(random() * ({rows} - 64));
                 if random() * 100 < percent then
                   t := {text};
                   update cf{n} set c2 = t, c20 = t where custid > k and custid < k + 64;
                   get diagnostics n = row_count;
                   changed := changed + n;
                   commit;
                 else
                   select count(c2) into found from cf{n} where custid > k and custid < k + 64;
                 end if;
                 executions := executions + 1;
               end loop;
             end $$",
            rows = size.rows,
            text = size.change.text("executions::int")
        ));
    }
    server.psql("checkpoint");
    Some(server)
}

fn postgres_round(server: &Postgres, percent: f64, size: Size) -> Sample {
    let position = || server.psql("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')").parse::<f64>().expect("bytes");
    let sum = Mutex::new(Sample::default());
    let before = position();
    let seconds = together((0..size.sessions).collect(), |n: u64| {
        let text = server.psql(&format!("call run_cf{n}({}, {percent}, null, null)", size.seconds));
        let (executions, changed) = text.split_once('|').expect("two figures");
        let mut sum = sum.lock().unwrap();
        sum.executions += executions.parse::<f64>().expect("a number");
        sum.changed += changed.parse::<f64>().expect("a number");
    });
    let sum = sum.into_inner().unwrap();
    Sample { seconds, log_bytes: position() - before, ..sum }
}

/// Executions a second, bytes of log a changed row, megabytes of log a second.
fn figures(samples: &[Sample]) -> [f64; 3] {
    let of = |figure: fn(&Sample) -> f64| median(&mut samples.iter().map(figure).collect::<Vec<f64>>());
    [of(|s| s.executions / s.seconds), of(|s| s.log_bytes / s.changed.max(1.0)), of(|s| s.log_bytes / s.seconds / 1e6)]
}

fn main() {
    let size = Size {
        sessions: argument("--sessions", 4.0) as u64,
        rows: argument("--rows", 10_000.0) as u64,
        seconds: argument("--seconds", 10.0),
        change: match text_argument("--change").as_deref() {
            Some("one") => TextChange::One,
            Some("length") => TextChange::Length,
            None | Some("all") => TextChange::All,
            Some(other) => panic!("--change {other}: one, all or length"),
        },
    };
    let rounds = argument("--rounds", 3.0) as usize;
    let percents = text_argument("--percent").unwrap_or_else(|| "0,10,25".to_string());
    let percents: Vec<f64> = percents.split(',').map(|p| p.parse().expect("a percentage")).collect();
    let at = text_argument("--dir")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/bench-updates"), PathBuf::from);
    let _ = std::fs::remove_dir_all(&at);
    std::fs::create_dir_all(&at).expect("a folder");
    let at = at.canonicalize().expect("a folder");
    let latchwork = Latchwork::start(at.join("latchwork"), size);
    // The server's user must be able to reach its folder.
    let server = postgres(std::env::temp_dir().join(format!("latchwork-updates-{}", std::process::id())), size);
    if server.is_none() {
        println!("PostgreSQL is not installed (Debian: postgresql) or could not be started: left out");
    }
    println!("{:<28} {:>16} {:>20} {:>14}", "", "executions a s", "log bytes a row", "log MB a s");
    for percent in percents {
        let (mut own, mut its) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            own.push(latchwork.round(percent, size));
            its.extend(server.as_ref().map(|server| postgres_round(server, percent, size)));
        }
        let line = |name: &str, [executions, row, second]: [f64; 3]| {
            println!("{:<28} {executions:>16.0} {row:>20.0} {second:>14.1}", format!("{percent} % updates: {name}"));
        };
        let own = figures(&own);
        line("Latchwork", own);
        if !its.is_empty() {
            let its = figures(&its);
            line("PostgreSQL", its);
            println!("  {:.2} times PostgreSQL by executions", own[0] / its[0]);
        }
    }
    drop(latchwork);
    let _ = std::fs::remove_dir_all(&at);
}
