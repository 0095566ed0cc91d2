//! PostgreSQL: a cluster of its own, `psql` and `pgbench` as clients, PL/pgSQL inside.

use crate::common::cpu_seconds;
use crate::peer::Postgres;
use crate::{Change, Crash, Query, Recovered, Sample, Size, Target, Way};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

/// Defaults, except the size of the buffers and of the log between checkpoints, and no periodic background work.
const SETTINGS: &str = "-c shared_buffers=256MB -c jit=off -c max_wal_size=16GB -c checkpoint_timeout=1h -c autovacuum=off \
                        -c max_parallel_workers_per_gather=0";

pub struct PostgresEngine {
    server: Postgres,
    session: RefCell<Option<Psql>>,
}

/// An open `psql` session.
struct Psql {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    backend: String,
}

impl Psql {
    fn start(server: &Postgres) -> Psql {
        let mut child = server.psql_command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("psql runs");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut psql = Psql { child, to, from, backend: String::new() };
        psql.backend = psql.run("select pg_backend_pid()");
        psql
    }

    /// Runs statements and waits until all of them have finished; returns the lines they print.
    fn run(&mut self, sql: &str) -> String {
        writeln!(self.to, "{sql};\n\\echo done").and_then(|()| self.to.flush()).expect("psql listens");
        let mut text = String::new();
        loop {
            let mut line = String::new();
            let n = self.from.read_line(&mut line).expect("psql answers");
            assert!(n > 0, "psql has ended: {sql}");
            if line.trim_end() == "done" {
                return text.trim().to_string();
            }
            text.push_str(&line);
        }
    }
}

impl Drop for Psql {
    fn drop(&mut self) {
        let _ = writeln!(self.to, "\\q");
        let _ = self.child.wait();
    }
}

impl PostgresEngine {
    pub fn start(folder: PathBuf, size: Size) -> Option<PostgresEngine> {
        let server = Postgres::start(folder, SETTINGS)?;
        let engine = PostgresEngine { server, session: RefCell::new(None) };
        engine.make_tables(size);
        engine.make_loops();
        let files = [
            ("insert.sql", "insert into journal values (1, 7, 'row of a journal');\n".to_string()),
            ("inside.sql", "call commits(50);\n".to_string()),
            ("rows", (1..=size.rows).map(|i| format!("{i}\t{}\t{}\trow number {i}\n", i % 100, i * 7)).collect()),
        ];
        for (name, text) in files {
            std::fs::write(engine.server.folder().join(name), text).expect("a file");
        }
        Some(engine)
    }

    fn make_tables(&self, size: Size) {
        let columns = "grp int, amount bigint, text varchar(40)";
        self.run(&format!(
            "create table item (id int primary key, {columns});
             create index item_grp on item (grp);
             create table journal (id int, amount bigint, text varchar(40));
             create table bulk_plain (id int, {columns});
             create table bulk_keyed (id int primary key, {columns});
             create table bulk_indexed (id int primary key, {columns});
             create index bulk_indexed_grp on bulk_indexed (grp);
             insert into item select g, mod(g, 1000), mod(g::bigint * 7919, 100003), 'row number ' || g
               from generate_series(1, {}) g",
            size.rows
        ));
        self.run("vacuum analyze item");
    }

    fn make_loops(&self) {
        self.run(
            "create procedure commits(n bigint) language plpgsql as $$
             begin
               for i in 1 .. n loop
                 insert into journal values (i, i * 7, 'row of a journal');
                 commit;
               end loop;
             end $$",
        );
        for query in [Query::Key, Query::Sum(1), Query::Count(1), Query::Group, Query::Full] {
            let sql = query.sql().replace("{a}", "k").replace("{b}", "(k + wide - 1)");
            let sql = sql.replacen(" from ", " into found from ", 1);
            self.run(&format!(
                "create procedure {}(times bigint, wide int, n int) language plpgsql as $$
                 declare k int := 0; found bigint;
                 begin
                   for i in 1 .. times loop
                     k := mod(k + 7919, greatest(n - wide, 1)) + 1;
                     {sql};
                   end loop;
                 end $$",
                query.procedure()
            ));
        }
    }

    fn run(&self, sql: &str) -> String {
        let mut session = self.session.borrow_mut();
        session.get_or_insert_with(|| Psql::start(&self.server)).run(sql)
    }

    fn timed(&self, units: f64, sql: &str) -> Option<Sample> {
        let mut session = self.session.borrow_mut();
        let session = session.get_or_insert_with(|| Psql::start(&self.server));
        let (began, cpu) = (Instant::now(), cpu_seconds(&session.backend));
        session.run(sql);
        let cpu = Some(cpu_seconds(&session.backend) - cpu);
        Some(Sample { units, seconds: began.elapsed().as_secs_f64(), cpu })
    }

    /// `pgbench` with a statement that is prepared once a session; the rate is its own, without the time of connecting.
    pub fn commits(&self, sessions: u32, way: Way, size: Size) -> Option<Sample> {
        let (file, each) = if way == Way::Inside { ("inside.sql", 50.0) } else { ("insert.sql", 1.0) };
        let mut bench = self.server.command("pgbench");
        bench.arg("-h").arg(self.server.folder()).args([
            "-n",
            "-M",
            if way == Way::Inside { "simple" } else { "prepared" },
        ]);
        let threads = sessions.min(2).to_string();
        bench.args(["-c", &sessions.to_string(), "-j", &threads, "-T", &size.seconds.ceil().to_string()]);
        let output =
            bench.arg("-f").arg(self.server.folder().join(file)).arg("postgres").output().expect("pgbench runs");
        let text = String::from_utf8_lossy(&output.stdout).to_string();
        let rate = text.lines().find_map(|l| l.strip_prefix("tps = ")?.split(' ').next()?.parse::<f64>().ok());
        let rate = rate.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
        Some(Sample { units: rate * each, seconds: 1.0, cpu: None })
    }

    pub fn bulk(&self, target: Target, way: Way, size: Size) -> Option<Sample> {
        let table = target.table();
        self.run(&format!("truncate table {table}"));
        let statement = match way {
            Way::Array => format!("copy {table} from '{}'", self.server.folder().join("rows").display()),
            _ => format!(
                "insert into {table} select g, mod(g, 100), g::bigint * 7, 'row number ' || g from generate_series(1, {}) g",
                size.rows
            ),
        };
        self.timed(size.rows as f64, &statement)
    }

    pub fn scan(&self, query: Query, size: Size) -> Option<Sample> {
        let rows = query.rows(size);
        let call = |times: u64| format!("call {}({times}, {rows}, {})", query.procedure(), size.rows);
        let few = 1 + 20_000 / (rows + 20);
        let once = self.timed(1.0, &call(few))?;
        let times = (size.seconds / 2.0 / once.seconds.max(1e-6) * few as f64) as u64 + 1;
        self.timed((times * rows) as f64, &call(times))
    }

    pub fn change(&self, change: Change, size: Size) -> Option<Sample> {
        self.bulk(change.target(), Way::Select, size);
        let delete = self.timed(size.rows as f64, change.sql())?;
        if change != Change::DeleteVacuum {
            return Some(delete);
        }
        let vacuum = self.timed(0.0, "vacuum bulk_indexed")?;
        let cpu = delete.cpu.zip(vacuum.cpu).map(|(delete, vacuum)| delete + vacuum);
        Some(Sample { seconds: delete.seconds + vacuum.seconds, cpu, ..delete })
    }

    /// Fills the log after a checkpoint, kills the server, and times its start.
    pub fn recovery(&self, crash: Crash, size: Size) -> Option<Recovered> {
        self.run("checkpoint");
        let at = self.run("select pg_current_wal_lsn()");
        let written = || self.run(&format!("select pg_wal_lsn_diff(pg_current_wal_lsn(), '{at}')::bigint"));
        let goal = size.megabytes * 1_000_000;
        let (mut bytes, mut rows) = (0u64, 0);
        while bytes < goal {
            self.change(Change::Update, size);
            rows += 2 * size.rows;
            bytes = written().parse().expect("a number");
        }
        self.session.borrow_mut().take();
        self.server.kill();
        crash.happens(self.server.folder());
        let began = Instant::now();
        assert!(self.server.run_server(), "the server starts again");
        let found = self.run("select count(*) from bulk_indexed");
        let seconds = began.elapsed().as_secs_f64();
        assert_eq!(found, size.rows.to_string(), "every committed row is there");
        Some(Recovered { megabytes: bytes as f64 / 1e6, rows, seconds })
    }
}

/// Closed first, so that no statement runs in a server that is shutting down.
impl Drop for PostgresEngine {
    fn drop(&mut self) {
        self.session.borrow_mut().take();
    }
}
