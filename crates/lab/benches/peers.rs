//! Latchwork, PostgreSQL and SQLite on the same loop in the same run: single-row lookups from inside the engine.
//!
//! Ten thousand rows of 200 characters, read one at a time by a random key. Latchwork runs PL/SQL cursor loops over a
//! hash cluster and over the result cache; PostgreSQL a PL/pgSQL cursor loop over a hash index; SQLite a prepared
//! statement in a compiled loop. Rounds are interleaved; medians and ratios are printed, by the clock and, for a busy
//! machine, by the CPU time of one lookup. An engine that is not installed is skipped with a message.
//!
//!     cargo bench -p lab --features peers --bench peers [-- --rounds 7 --seconds 1]
//!
//! PostgreSQL is started in a temporary folder (as user `postgres` when run by root) with fsync off and 256 MB of
//! buffers.

mod common;
#[path = "peer.rs"]
mod peer;

use client::{Bind, Client, Credentials, Ephemeral};
use common::{argument, cpu_seconds, median, server_pid, start, together};
use peer::Postgres;
use testing::Random;
use types::{DataType, Number, Value};

const ROWS: i64 = 10_000;
const SETUP: &str = include_str!("../../../experiments/result-cache/setup.sql");

/// One engine: runs this many lookups in each of this many sessions and returns the time and the CPU time.
struct Runner<'a> {
    name: String,
    run: Box<dyn FnMut(u32, u64) -> (f64, f64) + 'a>,
    rate: f64,
    rates: Vec<Vec<f64>>,
    costs: Vec<f64>,
}

impl<'a> Runner<'a> {
    fn new(name: &str, run: Box<dyn FnMut(u32, u64) -> (f64, f64) + 'a>) -> Runner<'a> {
        Runner { name: name.to_string(), run, rate: 0.0, rates: vec![Vec::new(), Vec::new()], costs: Vec::new() }
    }
}

fn latchwork() -> Ephemeral {
    let instance = start(&[("db_cache_size", "64M"), ("result_cache_max_size", "32M")]);
    let mut session = instance.connect(&Credentials::Sysdba).expect("connects");
    for statement in shell::split_script(SETUP) {
        session.execute(&statement, &[]).unwrap_or_else(|e| panic!("{e}\n{statement}"));
    }
    session.execute("begin warm_up; end;", &[]).expect("warms up");
    session.logoff(true).expect("ends");
    instance
}

fn run_latchwork(instance: &Ephemeral, worker: &str, sessions: u32, lookups: u64) -> (f64, f64) {
    let call = |session: &mut Client, n: u64| {
        let bind = Bind::named("n", DataType::NUMBER, Value::Number(Number::from_u64(n)));
        session.execute(worker, &[bind]).map(drop).unwrap_or_else(|e| panic!("{e}"));
    };
    let mut all = Vec::new();
    for _ in 0..sessions {
        let mut session = instance.connect(&Credentials::Sysdba).expect("connects");
        call(&mut session, 1000);
        let pid = server_pid(&mut session);
        all.push((session, pid));
    }
    let cpu = std::sync::Mutex::new(0.0);
    let elapsed = together(all, |(mut session, pid)| {
        let before = cpu_seconds(pid);
        call(&mut session, lookups);
        *cpu.lock().expect("no panic") += cpu_seconds(pid) - before;
    });
    (elapsed, cpu.into_inner().expect("no panic"))
}

/// A PostgreSQL server with the rows and the loop.
fn start_postgres() -> Option<Postgres> {
    let folder = std::env::temp_dir().join(format!("latchwork-peers-{}", std::process::id()));
    let server = Postgres::start(folder, "-c fsync=off -c shared_buffers=256MB -c jit=off")?;
    server.psql(
        "create table lookup (id int, payload varchar(200));
         insert into lookup select g, rpad(md5(g::text), 200, md5((g * 7)::text)) from generate_series(1, 10000) g;
         create index lookup_hash on lookup using hash (id);
         create function look_up(n bigint) returns text language plpgsql as $$
         declare k int; r record; t timestamptz := clock_timestamp();
           c text := pg_read_file('/proc/self/schedstat');
         begin
           for i in 1 .. n loop
             k := trunc(1 + random() * 9999);
             for r in select * from lookup where id = k loop null; end loop;
           end loop;
           return extract(epoch from clock_timestamp() - t) || ' ' ||
             (split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric - split_part(c, ' ', 1)::numeric) / 1e9;
         end $$;",
    );
    // In a call of its own: VACUUM cannot run in the transaction that several statements in one call form.
    server.psql("vacuum analyze lookup");
    Some(server)
}

/// The longest of the sessions' own times, and their total CPU time; connecting is not included.
fn run_postgres(server: &Postgres, sessions: u32, lookups: u64) -> (f64, f64) {
    let times = std::sync::Mutex::new(Vec::new());
    together((0..sessions).collect(), |_| {
        // One call first, so that the plan is made and the function compiled before the clock runs.
        let text = server.psql(&format!("select look_up(1000); select look_up({lookups})"));
        let (time, cpu) = text.lines().last().and_then(|line| line.split_once(' ')).expect("two times");
        let seconds = |text: &str| text.trim().parse::<f64>().expect("seconds");
        times.lock().expect("no panic").push((seconds(time), seconds(cpu)));
    });
    let times = times.into_inner().expect("no panic");
    times.into_iter().fold((0.0, 0.0), |(most, sum), (time, cpu)| (most.max(time), sum + cpu))
}

/// SQLite: one database in memory for each session, a prepared statement, a compiled loop.
fn run_sqlite(sessions: u32, lookups: u64) -> (f64, f64) {
    let cpu = std::sync::Mutex::new(0.0);
    let databases: Vec<rusqlite::Connection> = (0..sessions).map(|_| sqlite_database()).collect();
    let elapsed = together(databases, |database| {
        let before = cpu_seconds("thread-self");
        let mut statement = database.prepare("select id, payload from lookup where id = ?1").expect("prepares");
        let mut random = Random::new(0x2545);
        let mut bytes = 0usize;
        for _ in 0..lookups {
            let key = 1 + random.below(ROWS - 1);
            let mut rows = statement.query([key]).expect("runs");
            while let Some(row) = rows.next().expect("fetches") {
                bytes += row.get_ref(1).expect("a column").as_str().expect("text").len();
            }
        }
        assert!(lookups == 0 || bytes > 0);
        *cpu.lock().expect("no panic") += cpu_seconds("thread-self") - before;
    });
    (elapsed, cpu.into_inner().expect("no panic"))
}

fn sqlite_database() -> rusqlite::Connection {
    let database = rusqlite::Connection::open_in_memory().expect("opens");
    database.execute_batch("create table lookup (id integer primary key, payload text)").expect("creates");
    let payload = "x".repeat(200);
    database.execute_batch("begin").expect("begins");
    {
        let mut insert = database.prepare("insert into lookup values (?1, ?2)").expect("prepares");
        for id in 1..=ROWS {
            insert.execute(rusqlite::params![id, payload]).expect("inserts");
        }
    }
    database.execute_batch("commit").expect("commits");
    database
}

fn main() {
    let rounds = argument("--rounds", 7.0) as usize;
    let seconds = argument("--seconds", 1.0);
    let instance = latchwork();
    let postgres = start_postgres();
    if postgres.is_none() {
        println!("PostgreSQL is not installed (Debian: postgresql) or could not be started: left out");
    }
    let mut runners: Vec<Runner<'_>> = Vec::new();
    let cluster = "begin look_up_in_cluster(:n); end;";
    let cache = "begin look_up_in_result_cache(:n); end;";
    runners.push(Runner::new("Latchwork, hash cluster", Box::new(|s, n| run_latchwork(&instance, cluster, s, n))));
    runners.push(Runner::new("Latchwork, result cache", Box::new(|s, n| run_latchwork(&instance, cache, s, n))));
    runners.push(Runner::new("SQLite, prepared, in process", Box::new(run_sqlite)));
    if let Some(server) = &postgres {
        runners.push(Runner::new("PostgreSQL, PL/pgSQL, hash index", Box::new(|s, n| run_postgres(server, s, n))));
    }
    for runner in &mut runners {
        let (elapsed, _) = (runner.run)(1, 20_000);
        runner.rate = 20_000.0 / elapsed.max(1e-9);
    }
    for _ in 0..rounds {
        for sessions in [1u32, 2] {
            for runner in &mut runners {
                let lookups = (runner.rate * seconds) as u64;
                let (elapsed, cpu) = (runner.run)(sessions, lookups);
                if sessions == 1 {
                    runner.costs.push(cpu / lookups.max(1) as f64 * 1e9);
                }
                runner.rates[sessions as usize - 1].push(lookups as f64 * f64::from(sessions) / elapsed);
            }
        }
    }
    let medians: Vec<(String, f64, f64, f64)> = runners
        .iter_mut()
        .map(|r| (r.name.clone(), median(&mut r.rates[0]), median(&mut r.rates[1]), median(&mut r.costs)))
        .collect();
    println!(
        "\n{:<34} {:>14} {:>14} {:>9} {:>16}",
        "lookups a second", "1 session", "2 sessions", "% linear", "CPU ns a lookup"
    );
    for (name, one, two, cost) in &medians {
        println!("{name:<34} {one:>14.0} {two:>14.0} {:>9.1} {cost:>16.0}", 100.0 * two / (2.0 * one));
    }
    println!();
    for (name, one, _, cost) in medians.iter().filter(|m| m.0.starts_with("Latchwork")) {
        for (peer, rate, _, its) in medians.iter().filter(|m| !m.0.starts_with("Latchwork")) {
            println!("{name}: {:.2} times {peer} by the clock, {:.2} times by CPU time", one / rate, its / cost);
        }
    }
}
