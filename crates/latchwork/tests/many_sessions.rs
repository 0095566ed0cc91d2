//! One instance with 500 sessions, 10,000 tables and 64 working sets of the buffer cache, while server processes are
//! killed.
//!
//! All sessions work at once. They move amounts between shared accounts, read cached results of many blocks, look into
//! tables that they have not used before, lock a table in share mode, and some create and drop tables of their own. The
//! buffer cache and the result cache are too small for their blocks. A killer ends one server process in twenty. The
//! sum of the accounts must balance, every acknowledged transaction must be there, and nothing may stay locked.
//!
//! `LATCHWORK_SEED` chooses another run. `LATCHWORK_SESSIONS=n` and `LATCHWORK_TABLES=n` change its size,
//! `LATCHWORK_TURNS=n` the length of each session's work.

mod support;

use client::{Client, ClientError, Ephemeral};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use support::{connect, one, run, start, until, words};
use testing::Random;

const ACCOUNTS: u64 = 1000;
const BALANCE: u64 = 1000;
const SETS: usize = 64;

fn of_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[derive(Clone, Copy)]
struct Size {
    sessions: u64,
    tables: u64,
    turns: u64,
}

fn set_up(dba: &mut Client, size: Size) {
    run(dba, "create table account (id number primary key, balance number, filler varchar2(400)) pctfree 20");
    run(
        dba,
        &format!(
            "insert into account select level, {BALANCE}, rpad('x', 400, 'x') from dual connect by level <= {ACCOUNTS}"
        ),
    );
    run(dba, "create table done (session_number number primary key, transactions number)");
    run(dba, &format!("insert into done select level - 1, 0 from dual connect by level <= {}", size.sessions));
    // Results of these are read from the result cache: 40 and more of its blocks each.
    run(dba, "create table wide (grp number, n number, filler varchar2(400))");
    run(dba, "insert into wide select mod(level, 40), level, rpad(level, 400, 'x') from dual connect by level <= 4000");
    run(dba, "create table shared_lock (n number)");
    run(dba, "commit");
    run(
        dba,
        &format!(
            "begin for i in 1 .. {} loop \
             execute immediate 'create table t' || i || ' (id number, name varchar2(20) not null)'; end loop; end;",
            size.tables
        ),
    );
}

/// One turn of a session. `acknowledged` counts the session's commits.
fn turn(
    c: &mut Client,
    random: &mut Random,
    number: u64,
    size: Size,
    acknowledged: &AtomicU64,
) -> Result<(), ClientError> {
    let rows = |c: &mut Client, sql: &str| c.query(sql, &[])?.all();
    match random.below(20) {
        0..8 => {
            let (a, b) = (1 + random.below(ACCOUNTS), 1 + random.below(ACCOUNTS));
            // Accounts are locked in the order of their numbers, so that sessions do not meet in deadlocks.
            let (a, b, amount) = (a.min(b), a.max(b), random.below(10u64));
            c.execute(&format!("update account set balance = balance - {amount} where id = {a}"), &[])?;
            c.execute(&format!("update account set balance = balance + {amount} where id = {b}"), &[])?;
            let count = format!("update done set transactions = transactions + 1 where session_number = {number}");
            c.execute(&count, &[])?;
            c.commit()?;
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
        8..13 => {
            let table = 1 + random.below(size.tables);
            assert!(rows(c, &format!("select id from t{table} where name = 'x'"))?.is_empty());
        }
        13..17 => {
            let group = random.below(40u32);
            let sql = format!("select /*+ result_cache */ n, filler from wide where grp = {group}");
            assert_eq!(rows(c, &sql)?.len(), 100, "rows of group {group}");
        }
        17..19 => {
            c.execute("lock table shared_lock in share mode", &[])?;
            c.rollback()?;
        }
        _ if number.is_multiple_of(10) => {
            c.execute(&format!("create table own{number} (n number)"), &[])?;
            c.execute(&format!("drop table own{number}"), &[])?;
        }
        _ => drop(rows(c, "select sum(balance) from account")?),
    }
    Ok(())
}

/// Server processes that the killer has ended, by number of the session.
fn kill_some(random: &mut Random, servers: &[i32], progress: &AtomicUsize, turns: usize) -> Vec<u64> {
    let mut order: Vec<u64> = (0..servers.len() as u64).collect();
    random.shuffle(&mut order);
    order.truncate(servers.len() / 20);
    for (n, victim) in order.iter().enumerate() {
        // Spread over the first three quarters of the work.
        let at = turns * 3 / 4 * n / order.len().max(1);
        until("the sessions work", || progress.load(Ordering::Relaxed) >= at);
        let _ = os::process::kill(servers[*victim as usize], os::signal::SIGKILL);
    }
    order
}

fn figure(dba: &mut Client, sql: &str) -> u64 {
    one(dba, sql).parse().unwrap_or_else(|_| panic!("{sql}: a number"))
}

fn assert_nothing_stays(instance: &Ephemeral, dba: &mut Client) {
    let mine = "sid <> sys_context('userenv', 'sid')";
    until("every session has ended", || {
        figure(dba, &format!("select count(*) from v$session where type = 'USER' and {mine}")) == 0
    });
    until("no lock is held", || {
        figure(dba, &format!("select count(*) from v$lock where {mine} and type in ('TX', 'TM')")) == 0
    });
    assert_eq!(figure(dba, "select count(*) from v$transaction"), 0);
    // A session that comes afterwards can lock everything.
    let mut c = connect(instance);
    for table in ["account", "done", "wide", "shared_lock"] {
        run(&mut c, &format!("lock table {table} in exclusive mode nowait"));
        run(&mut c, "rollback");
    }
}

#[test]
fn five_hundred_sessions_ten_thousand_tables_and_sixty_four_working_sets() {
    let size = Size {
        sessions: of_environment("LATCHWORK_SESSIONS", 500),
        tables: of_environment("LATCHWORK_TABLES", 10_000),
        turns: of_environment("LATCHWORK_TURNS", 12),
    };
    let seed = of_environment("LATCHWORK_SEED", 15);
    eprintln!("LATCHWORK_SEED={seed}");
    let (processes, sets) = ((size.sessions + 60).to_string(), SETS.to_string());
    let instance = start(&[
        ("processes", &processes),
        ("_db_block_lru_latches", &sets),
        ("db_cache_size", "48M"),
        ("shared_pool_size", "192M"),
        ("result_cache_max_size", "1M"),
        ("job_queue_processes", "0"),
    ]);
    let mut dba = connect(&instance);
    set_up(&mut dba, size);

    let mut sessions: Vec<Client> = (0..size.sessions).map(|_| connect(&instance)).collect();
    let servers: Vec<i32> = sessions.iter().map(|c| c.welcome().server_process as i32).collect();
    let acknowledged: Vec<AtomicU64> = (0..size.sessions).map(|_| AtomicU64::new(0)).collect();
    let (progress, begin) = (AtomicUsize::new(0), Barrier::new(sessions.len()));
    let mut killed = Vec::new();
    std::thread::scope(|scope| {
        let mut random = Random::new(seed);
        let workers: Vec<_> = sessions
            .drain(..)
            .zip(&acknowledged)
            .enumerate()
            .map(|(number, (mut c, acknowledged))| {
                let (mut random, progress, begin) = (Random::new(random.next()), &progress, &begin);
                scope.spawn(move || {
                    begin.wait();
                    let mut ended = Ok(());
                    for _ in 0..size.turns {
                        if ended.is_ok() {
                            ended = turn(&mut c, &mut random, number as u64, size, acknowledged);
                        }
                        progress.fetch_add(1, Ordering::Relaxed);
                    }
                    ended.map(|()| c)
                })
            })
            .collect();
        killed = kill_some(&mut random, &servers, &progress, (size.sessions * size.turns) as usize);
        sessions = workers
            .into_iter()
            .enumerate()
            .filter_map(|(number, worker)| match worker.join().expect("no worker panics") {
                Ok(c) => Some(c),
                Err(e) => {
                    assert!(killed.contains(&(number as u64)), "session {number}: {e}");
                    None
                }
            })
            .collect();
    });

    // The memory of a session does not grow with the number of tables or sessions.
    let memory = "select max(p.pga_alloc_mem) from v$process p, v$session s where s.paddr = p.addr and s.type = 'USER' \
                  and s.sid <> sys_context('userenv', 'sid')";
    let most = figure(&mut dba, memory);
    assert!(most < 3 << 20, "a session keeps {most} bytes of private memory");
    // Buffers were replaced in all of the sets, and results in the result cache.
    let latches = "from v$latch_children where name = 'cache buffers lru chain'";
    assert_eq!(figure(&mut dba, &format!("select count(*) {latches}")), SETS as u64);
    assert_eq!(
        figure(&mut dba, &format!("select count(*) {latches} and gets > 0")),
        SETS as u64,
        "sets that were used"
    );
    let deleted = "select value from v$result_cache_statistics where name = 'Delete Count Valid'";
    assert!(figure(&mut dba, deleted) > 0, "results made room for others");

    drop(sessions);
    assert_nothing_stays(&instance, &mut dba);
    assert_eq!(figure(&mut dba, "select sum(balance) from account"), ACCOUNTS * BALANCE);
    let done = words(&mut dba, "select session_number, transactions from done order by 1");
    for (row, acknowledged) in done.iter().zip(&acknowledged) {
        let number: u64 = row[0].parse().expect("a number");
        let (found, acknowledged): (u64, u64) =
            (row[1].parse().expect("a number"), acknowledged.load(Ordering::Relaxed));
        // The last commit of a killed session may be there without its answer.
        let more = u64::from(killed.contains(&number));
        assert!((acknowledged..=acknowledged + more).contains(&found), "session {number}: {found} of {acknowledged}");
    }
    assert!(figure(&mut dba, "select sum(transactions) from done") > size.sessions, "sessions worked");
}
