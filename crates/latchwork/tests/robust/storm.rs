//! `kill -9` of server processes under load, over all structures at once.
//!
//! Workers move money, insert and delete in indexed tables and hash clusters, read cached results, use sequences,
//! submit jobs, create and drop tables. A killer picks one every few milliseconds. The number of kills is bounded;
//! `LATCHWORK_KILLS` makes the run longer, `LATCHWORK_SEED` selects another one, `LATCHWORK_GENERATION` selects other
//! designs.

use crate::common::{assert_quiet, eventually, number, rows, run, start, sysdba};
use client::{Client, ClientResult};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testing::Random;

const WORKERS: u64 = 6;
const ACCOUNTS: u64 = 100;

fn env(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

fn set_up(c: &mut Client) {
    run(
        c,
        &[
            "create table account (id number primary key, n number)",
            "create table ledger (id number, a number, b number, amount number, v varchar2(300))",
            "create unique index ledger_id on ledger (id)",
            "create index ledger_a on ledger (a, b)",
            "create cluster hc (k number) single table hashkeys 64 size 300",
            "create table ht (k number, n number, v varchar2(100)) cluster hc (k)",
            "create sequence ids cache 5",
            "create table job_log (n number)",
            "create or replace function total(k number) return number result_cache is n number; \
             begin select sum(n) into n from account where id <= k; return n; end;",
        ],
    );
    let sql = format!("insert into account select level - 1, 100 from dual connect by level <= {ACCOUNTS}");
    run(c, &[&sql, "insert into ht select level, 0, rpad('h', 90, 'h') from dual connect by level <= 64", "commit"]);
}

/// One transaction, as one block or several calls.
fn work(c: &mut Client, r: &mut Random) -> ClientResult<()> {
    let (x, y) = (r.below(ACCOUNTS), r.below(ACCOUNTS));
    let (a, b) = (x.min(y), x.max(y));
    let amount = r.below(10);
    match r.below(10) {
        0..=2 => {
            c.execute(&format!("update account set n = n - {amount} where id = {a}"), &[])?;
            c.execute(&format!("update account set n = n + {amount} where id = {b}"), &[])?;
            let sql = format!("insert into ledger values (ids.nextval, {a}, {b}, {amount}, rpad('l', {}, 'l'))", 1 + r.below(300));
            c.execute(&sql, &[])?;
            c.commit()
        }
        3 => c
            .execute(
                &format!(
                    "begin update account set n = n - 1 where id = {a}; update account set n = n + 1 where id = {b}; \
                     insert into ledger select ids.nextval, {a}, {b}, 1, rpad('b', 200, 'b') from dual connect by level <= 5; commit; end;"
                ),
                &[],
            )
            .map(drop),
        4 => {
            c.execute(&format!("delete from ledger where a = {a}"), &[])?;
            if r.below(2) == 0 { c.commit() } else { c.rollback() }
        }
        5 => {
            let k = 1 + r.below(64);
            c.execute(&format!("update ht set n = n + 1 where k = {k}"), &[])?;
            c.execute(&format!("insert into ht values ({k}, 0, rpad('i', 80, 'i'))"), &[])?;
            c.execute(&format!("delete from ht where k = {k} and v like 'i%'"), &[])?;
            c.commit()
        }
        6 => {
            c.query("select /*+ result_cache */ sum(n) from account", &[])?.all()?;
            c.query(&format!("select total({b}) from dual", ), &[])?.all().map(drop)
        }
        7 => {
            c.query(&format!("select count(*) from ledger where a = {a}"), &[])?.all()?;
            c.query("select /*+ full(ledger) */ count(*), sum(amount) from ledger", &[])?.all().map(drop)
        }
        8 => {
            c.execute("declare j number; begin dbms_job.submit(j, 'insert into job_log values (1);'); end;", &[])?;
            c.commit()
        }
        _ => {
            let name = format!("tmp_{}", c.sid());
            let _ = c.execute(&format!("create table {name} as select * from account"), &[]);
            if c.is_closed() {
                return Ok(());
            }
            let _ = c.execute(&format!("create index {name}_i on {name} (n)"), &[]);
            if c.is_closed() {
                return Ok(());
            }
            let _ = c.execute(&format!("drop table {name}"), &[]);
            Ok(())
        }
    }
}

/// Works until it is stopped; a killed session is followed by a new one.
fn worker(
    instance: &client::Ephemeral,
    number: u64,
    server: &AtomicU64,
    stop: &AtomicBool,
    done: &AtomicU64,
    seed: u64,
) {
    let mut r = Random::new(0x9E37_79B9_7F4A_7C15 ^ (seed << 8) ^ (number + 1));
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut c) = instance.connect(&client::Credentials::Sysdba) else { continue };
        server.store(c.welcome().server_process.into(), Ordering::Release);
        while !stop.load(Ordering::Relaxed) && !c.is_closed() {
            match work(&mut c, &mut r) {
                Ok(()) => {
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Err(e) if e.is_fatal() => break,
                // Deadlocks, and names that another session dropped: the transaction is rolled back.
                Err(e) => {
                    assert!([60, 54, 942, 8103, 955, 1].contains(&e.code()), "{e}");
                    let _ = c.rollback();
                }
            }
        }
        server.store(0, Ordering::Release);
    }
}

#[test]
fn everything_agrees_after_a_storm_of_kills() {
    let (kills, seed) = (env("LATCHWORK_KILLS", 200), env("LATCHWORK_SEED", 1));
    let generation = std::env::var("LATCHWORK_GENERATION").unwrap_or_else(|_| "latchwork".into());
    let mut instance = start(&[
        ("processes", "60"),
        ("db_cache_size", "4M"),
        ("result_cache_max_size", "512K"),
        ("latch_generation", &generation),
    ]);
    let mut keeper = sysdba(&instance);
    set_up(&mut keeper);
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let servers: Vec<AtomicU64> = (0..WORKERS).map(|_| AtomicU64::new(0)).collect();
    let limit = Duration::from_secs(60 + kills / 5);
    std::thread::scope(|scope| {
        for (n, server) in servers.iter().enumerate() {
            let (instance, stop, done) = (&instance, &stop, &done);
            scope.spawn(move || worker(instance, n as u64, server, stop, done, seed));
        }
        let mut r = Random::new(0xD1B5_4A32_D192_ED03 ^ seed);
        let (mut killed, begun) = (0, Instant::now());
        while killed < kills && begun.elapsed() < limit {
            std::thread::sleep(Duration::from_micros(1000 + r.below(30_000)));
            let pid = servers[r.below(WORKERS) as usize].swap(0, Ordering::AcqRel);
            if pid != 0 && os::process::kill(pid as i32, os::signal::SIGKILL).is_ok() {
                killed += 1;
            }
            // No session waits for ever: the observer's own query is answered during the storm.
            if killed % 20 == 0 {
                assert_eq!(number(&mut keeper, "select sum(n) from account"), 100 * ACCOUNTS as i64, "seed {seed}");
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(killed, kills, "the killer found somebody to kill");
    });
    assert!(instance.is_running(), "the instance outlives its sessions");
    assert!(done.load(Ordering::Relaxed) > 0, "work was done between the kills");
    check(&mut keeper);
    let alert = std::fs::read_to_string(instance.dir().join("alert.log")).unwrap_or_default();
    assert!(!alert.contains("ORA-00600"), "seed {seed}: {alert}");
}

fn check(c: &mut Client) {
    eventually("the jobs are done", || {
        number(c, "select count(*) from user_jobs where failures = 0 or failures is null") == 0
    });
    run(c, &["alter system set job_queue_processes = 0"]);
    eventually("the slaves leave", || number(c, "select count(*) from v$process where pname like 'J0%'") == 0);
    assert_quiet(c);
    assert_eq!(number(c, "select sum(n) from account"), 100 * ACCOUNTS as i64);
    assert_eq!(number(c, "select count(*) from account"), ACCOUNTS as i64);
    // A cached result equals the result of the query.
    for _ in 0..2 {
        assert_eq!(number(c, "select /*+ result_cache */ sum(n) from account"), 100 * ACCOUNTS as i64);
        assert_eq!(number(c, &format!("select total({ACCOUNTS}) from dual")), 100 * ACCOUNTS as i64);
    }
    // Indexes agree with their tables, in both directions.
    let all = number(c, "select /*+ full(ledger) */ count(*) from ledger");
    for sql in [
        "select /*+ index(ledger ledger_id) */ count(*) from ledger where id > 0",
        "select /*+ index(ledger ledger_a) */ count(*) from ledger where a >= 0",
        "select count(distinct id) from ledger",
    ] {
        assert_eq!(number(c, sql), all, "{sql}");
    }
    let full = rows(c, "select /*+ full(ledger) */ id, a, b, amount, length(v) from ledger order by id");
    assert_eq!(
        rows(
            c,
            "select /*+ index(ledger ledger_id) */ id, a, b, amount, length(v) from ledger where id > 0 order by id"
        ),
        full
    );
    for id in 0..ACCOUNTS {
        assert_eq!(rows(c, &format!("select id from account where id = {id}")), [id.to_string()]);
    }
    // Each key of the cluster still has its single initial row.
    for k in 1..=64 {
        assert_eq!(number(c, &format!("select count(*) from ht where k = {k} and v like 'h%'")), 1);
    }
    assert_eq!(number(c, "select count(*) from ht"), 64);
    // No result is left unfinished; the memory of the result cache adds up.
    assert_eq!(number(c, "select count(*) from v$result_cache_objects where status = 'New'"), 0);
    let blocks = number(c, "select count(*) from v$result_cache_memory where free = 'NO'");
    let used = number(c, "select nvl(sum(block_count), 0) from v$result_cache_objects");
    assert_eq!(blocks, used, "blocks in use belong to objects");
    // Everything can still be changed.
    run(
        c,
        &[
            "update account set n = n + 1",
            "delete from ledger",
            "insert into ledger values (0, 0, 0, 0, 'x')",
            "commit",
        ],
    );
    assert_eq!(number(c, "select sum(n) from account"), 101 * ACCOUNTS as i64);
    assert_eq!(number(c, "select count(*) from ledger where a = 0"), 1);
    for name in rows(c, "select table_name from user_tables where table_name like 'TMP%'") {
        run(c, &[&format!("drop table {name}")]);
    }
}
