//! Latchwork and PostgreSQL with the same readers in the same run: random ranges of a table in random order, through an
//! index, all from the cache, in each engine's own procedural language.
//!
//! The figures are buffers read per second of CPU time of the reading process (logical reads here, buffer hits there,
//! by each engine's own count), and the same by the clock. PostgreSQL reads by the plan that it chooses (a bitmap,
//! which visits each block of a range once) and by the plain index scan, which visits a block for each row as Latchwork
//! does. Rounds are interleaved; medians are printed.
//!
//!     cargo bench -p lab --features peers --bench slob [-- --rounds 7 --seconds 1 --small 10000 --big 200000]

mod common;
#[path = "peer.rs"]
mod peer;

use client::{Bind, Client, Credentials, Ephemeral, EphemeralOptions};
use common::{argument, cpu_seconds, latchwork_program, median};
use peer::Postgres;
use std::time::Instant;
use types::{DataType, Number, Value};

/// The figures of one call of a reader.
#[derive(Clone, Copy, Default)]
struct Sample {
    buffers: f64,
    rows: f64,
    seconds: f64,
    cpu: f64,
}

const READER: &str = "declare
  l_low pls_integer;
  l_count number;
begin
  for i in 1 .. :executions loop
    l_low := trunc(dbms_random.value(0, :row_count - 255));
    select count(c2) into l_count from TABLE where custid > l_low and custid < l_low + 256;
  end loop;
end;";

struct Latchwork {
    session: Client,
    pid: String,
    _instance: Ephemeral,
}

impl Latchwork {
    fn start(tables: &[(&str, u64)]) -> Latchwork {
        let pair = |n: &str, v: &str| (n.to_string(), v.to_string());
        let params = vec![pair("db_cache_size", "512M")];
        let options = EphemeralOptions { params, executable: Some(latchwork_program()) };
        let instance = Ephemeral::start_with(&options).expect("starts");
        let mut session = instance.connect(&Credentials::Sysdba).expect("connects");
        for (name, rows) in tables {
            for sql in [
                format!(
                    "create table seed pctfree 0 as select level custid, rpad('X', 128, 'X') c2, rpad('X', 128, 'X') c20 from dual connect by level <= {rows}"
                ),
                format!("create table {name} pctfree 0 as select * from seed order by dbms_random.value"),
                format!("create index i_{name} on {name} (custid)"),
                "drop table seed".to_string(),
            ] {
                session.execute(&sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
            }
        }
        let pid = session.welcome().server_process.to_string();
        Latchwork { session, pid, _instance: instance }
    }

    fn logical_reads(&mut self) -> f64 {
        let sql = "select m.value from v$mystat m, v$statname n where n.statistic# = m.statistic# and n.name = 'session logical reads'";
        match &self.session.query(sql, &[]).and_then(|q| q.all()).expect("answers")[0][0] {
            Value::Number(n) => n.to_f64(),
            other => panic!("{other:?}"),
        }
    }

    fn read(&mut self, table: &str, rows: u64, executions: u64) -> Sample {
        let bind = |name: &str, n| Bind::named(name, DataType::NUMBER, Value::Number(Number::from_u64(n)));
        let sql = READER.replace("TABLE", table);
        let before = self.logical_reads();
        let (began, cpu) = (Instant::now(), cpu_seconds(&self.pid));
        self.session.execute(&sql, &[bind("executions", executions), bind("row_count", rows)]).expect("reads");
        let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds(&self.pid) - cpu);
        Sample { buffers: self.logical_reads() - before, rows: 255.0 * executions as f64, seconds, cpu }
    }
}

/// A PostgreSQL server with the same tables and readers.
fn postgres(tables: &[(&str, u64)]) -> Option<Postgres> {
    let folder = std::env::temp_dir().join(format!("latchwork-slob-{}", std::process::id()));
    let settings =
        "-c fsync=off -c shared_buffers=512MB -c jit=off -c autovacuum=off -c max_parallel_workers_per_gather=0";
    let server = Postgres::start(folder, settings)?;
    for (name, rows) in tables {
        server.psql(&format!(
            "create table {name} with (fillfactor = 100) as select g custid, repeat('X', 128)::varchar(128) c2, repeat('X', 128)::varchar(128) c20
             from (select g from generate_series(1, {rows}) g order by random()) t;
             create index i_{name} on {name} (custid);
             create function read_{name}(n bigint, bitmap text) returns text language plpgsql as $$
             declare k int; found bigint; t timestamptz; c text;
             begin
               perform set_config('enable_bitmapscan', bitmap, false), set_config('enable_seqscan', 'off', false);
               t := clock_timestamp(); c := pg_read_file('/proc/self/schedstat');
               for i in 1 .. n loop
                 k := trunc(random() * ({rows} - 255));
                 select count(c2) into found from {name} where custid > k and custid < k + 256;
               end loop;
               return extract(epoch from clock_timestamp() - t) || ' ' ||
                 (split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric - split_part(c, ' ', 1)::numeric) / 1e9;
             end $$;"
        ));
        server.psql(&format!("vacuum analyze {name}"));
    }
    Some(server)
}

fn read_postgres(server: &Postgres, table: &str, bitmap: bool, executions: u64) -> Sample {
    let hits = format!(
        "select coalesce(heap_blks_hit, 0) + coalesce(idx_blks_hit, 0) from pg_statio_user_tables where relname = '{table}'"
    );
    let on = if bitmap { "on" } else { "off" };
    // Statements of one call form one transaction, so these are separate calls in one session.
    let mut psql = server.psql_command();
    for sql in [
        &format!("select read_{table}(200, '{on}')"),
        "select pg_stat_force_next_flush()",
        &hits,
        &format!("select read_{table}({executions}, '{on}')"),
        "select pg_stat_force_next_flush()",
        &hits,
    ] {
        psql.args(["-c", sql]);
    }
    let output = psql.output().expect("psql runs");
    let text = String::from_utf8_lossy(&output.stdout).to_string();
    let lines: Vec<&str> = text.lines().filter(|l| !l.is_empty()).collect();
    let [_, before, times, after] = lines[..] else { panic!("{text}{}", String::from_utf8_lossy(&output.stderr)) };
    let number = |text: &str| text.trim().parse::<f64>().expect("a number");
    let (seconds, cpu) = times.split_once(' ').expect("two times");
    Sample {
        buffers: number(after) - number(before),
        rows: 255.0 * executions as f64,
        seconds: number(seconds),
        cpu: number(cpu),
    }
}

/// Medians of buffers per second of CPU time, buffers per second by the clock, and CPU nanoseconds per row.
fn figures(samples: &[Sample]) -> [f64; 3] {
    let of = |figure: fn(&Sample) -> f64| median(&mut samples.iter().map(figure).collect::<Vec<f64>>());
    [of(|s| s.buffers / s.cpu), of(|s| s.buffers / s.seconds), of(|s| s.cpu / s.rows * 1e9)]
}

fn main() {
    let rounds = argument("--rounds", 7.0) as usize;
    let seconds = argument("--seconds", 1.0);
    let tables = [("small", argument("--small", 10_000.0) as u64), ("big", argument("--big", 200_000.0) as u64)];
    let mut latchwork = Latchwork::start(&tables);
    let server = postgres(&tables);
    if server.is_none() {
        println!("PostgreSQL is not installed (Debian: postgresql) or could not be started: left out");
    }
    println!("{:<44} {:>16} {:>16} {:>10}", "buffers a second", "of CPU time", "by the clock", "ns a row");
    for (table, rows) in tables {
        let mut all: Vec<(&str, Vec<Sample>)> =
            ["Latchwork", "PostgreSQL, its own plan", "PostgreSQL, index scan"].map(|name| (name, Vec::new())).to_vec();
        let first = latchwork.read(table, rows, 500);
        let executions = ((500.0 * seconds / first.cpu.max(1e-6)) as u64).max(100);
        for _ in 0..rounds {
            all[0].1.push(latchwork.read(table, rows, executions));
            if let Some(server) = &server {
                all[1].1.push(read_postgres(server, table, true, executions));
                all[2].1.push(read_postgres(server, table, false, executions));
            }
        }
        let measured: Vec<(&str, [f64; 3])> =
            all.iter().filter(|(_, s)| !s.is_empty()).map(|(name, s)| (*name, figures(s))).collect();
        for (name, [cpu, clock, row]) in &measured {
            println!("{:<44} {cpu:>16.0} {clock:>16.0} {row:>10.0}", format!("{table}, {rows} rows: {name}"));
        }
        let own = measured[0].1;
        for (name, its) in &measured[1..] {
            println!(
                "  {:.2} times {name} by buffers of CPU time, {:.2} times by rows",
                own[0] / its[0],
                its[2] / own[2]
            );
        }
    }
}
