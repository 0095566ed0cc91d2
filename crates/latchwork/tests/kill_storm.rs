//! `kill -9` of server processes under load, thousands of times: nothing is lost, no lock is left, no session hangs.
//!
//! Workers move amounts between accounts, two updates in one transaction, so the sum never changes; some also read
//! cached results and some keep inserting. A killer picks a worker's server process every few milliseconds. The number
//! of kills is bounded; `LATCHWORK_KILLS` and `LATCHWORK_PANICS` make the run longer, `LATCHWORK_GENERATIONS=all` runs
//! every generation. `LATCHWORK_SWITCHES` is the number of switches of designs in the storm that has them.

mod rotation;

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testing::Random;
use types::Value;

const WORKERS: usize = 6;
const ACCOUNTS: i64 = 200;
const KILLS: u64 = 300;
const PANICS: usize = 25;
const SWITCHES: u64 = 400;

/// The parameters that switch designs, with their structures and designs.
const DESIGNS: [(&str, &str, &[&str]); 6] = [
    ("_switch_cache_buffers_chains", "cache buffers chains", &["exclusive", "shared", "fastpath", "versioned"]),
    ("_switch_result_cache", "result cache", &["exclusive-long", "exclusive-short", "shared", "versioned"]),
    ("_switch_row_cache", "row cache", &["latch", "mutex", "hot-copies", "versioned"]),
    ("_switch_library_cache", "library cache", &["latch", "pins", "mutex", "versioned"]),
    ("_switch_latch_sleep", "latch sleep", &["backoff", "post"]),
    ("_spin_count", "spin count", &["0", "100", "2000"]),
];

fn number(client: &mut Client, sql: &str) -> i64 {
    let rows = client.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    match &rows[0][0] {
        Value::Number(n) => n.as_i64().expect("a whole number"),
        other => panic!("{sql}: {other:?}"),
    }
}

fn transfer(c: &mut Client, r: &mut Random) -> Result<(), client::ClientError> {
    let (a, b) = (r.below(ACCOUNTS as u64), r.below(ACCOUNTS as u64));
    // Accounts are locked in order, so workers do not deadlock; a transfer between equal accounts does not change the
    // sum either.
    let (a, b) = (a.min(b), a.max(b));
    let amount = r.below(10);
    c.execute(&format!("update account set n = n - {amount} where id = {a}"), &[])?;
    c.execute(&format!("update account set n = n + {amount} where id = {b}"), &[])?;
    c.commit()
}

fn work(c: &mut Client, r: &mut Random) -> Result<(), client::ClientError> {
    match r.below(4) {
        0 => {
            c.query("select /*+ result_cache */ count(*) from account", &[])?.all()?;
            c.query("select value from nls_database_parameters where parameter = 'NLS_SORT'", &[])?.all().map(drop)
        }
        1 => {
            c.execute("insert into noise values (1, rpad('x', 500, 'x'))", &[])?;
            c.commit()
        }
        _ => transfer(c, r),
    }
}

#[test]
fn the_accounts_balance_after_a_storm_of_kills() {
    let kills = std::env::var("LATCHWORK_KILLS").ok().and_then(|v| v.parse().ok()).unwrap_or(KILLS);
    storm(&[], kills);
}

#[test]
fn the_accounts_balance_in_every_design_of_every_cache() {
    for generation in rotation::generations(4) {
        eprintln!("generation {generation}");
        storm(&[("latch_generation", &generation)], KILLS / 5);
    }
}

/// Workers and the session that switches are killed at any moment.
#[test]
fn the_accounts_balance_while_designs_are_switched() {
    let switches = std::env::var("LATCHWORK_SWITCHES").ok().and_then(|v| v.parse().ok()).unwrap_or(SWITCHES);
    let mut instance = start(&[]);
    let pids: Vec<AtomicU64> = (0..WORKERS).map(|_| AtomicU64::new(0)).collect();
    let (mut switched, mut killed) = (0, 0);
    let done = under_load_with(&instance, &pids, || {
        let mut r = Random::new(7);
        while switched < switches {
            let Ok(mut c) = instance.connect(&Credentials::Sysdba) else { continue };
            let own = u64::from(c.welcome().server_process);
            loop {
                let (param, _, designs) = DESIGNS[r.below(DESIGNS.len())];
                let design = designs[r.below(designs.len())];
                let at = r.below(WORKERS);
                let victim = match r.below(40) {
                    0 => own,
                    1..4 => pids[at].swap(0, Ordering::AcqRel),
                    _ => 0,
                };
                let is_own = victim == own;
                if victim != 0 && os::process::kill(victim as i32, os::signal::SIGKILL).is_ok() {
                    killed += 1;
                }
                match c.execute(&format!("alter system set \"{param}\" = '{design}'"), &[]) {
                    Ok(_) => switched += 1,
                    // A process inside had no processor for seconds.
                    Err(e) if e.code() == 51 => {}
                    Err(e) => {
                        assert!(is_own && e.is_fatal(), "{param} to {design}: {e}");
                        break;
                    }
                }
                if switched >= switches {
                    break;
                }
            }
        }
    });
    assert!(killed > 0 && done > 0, "{killed} kills, {done} pieces of work");
    // Every structure has the design that was asked for last.
    let mut keeper = instance.connect(&Credentials::Sysdba).unwrap();
    for (param, structure, designs) in DESIGNS {
        for design in designs {
            while let Err(e) = keeper.execute(&format!("alter system set \"{param}\" = '{design}'"), &[]) {
                assert_eq!(e.code(), 51, "{param} to {design}: {e}");
            }
            let sql =
                format!("select count(*) from x$ksldesign where structure = '{structure}' and design = '{design}'");
            assert_eq!(number(&mut keeper, &sql), 1, "{param}: {design}");
        }
    }
    drop(keeper);
    assert_whole(&mut instance);
}

/// A session that is stopped by a signal between closing and opening a structure: other sessions go on by the former
/// design after some seconds, and the late switch has no effect.
#[test]
fn a_switch_whose_session_is_stopped_is_given_up() {
    let instance = start(&[("_crash_point", "switch-closed:1:stop"), ("_library_cache_design", "mutex")]);
    let switch = |c: &mut Client| c.execute("alter system set \"_switch_library_cache\" = 'latch'", &[]).map(drop);
    let mut switcher = instance.connect(&Credentials::Sysdba).unwrap();
    let pid = switcher.welcome().server_process as i32;
    let mut other = instance.connect(&Credentials::Sysdba).unwrap();
    std::fs::write(instance.dir().join(faults::STOP_FILE), "").unwrap();
    let (late, counted) = std::thread::scope(|scope| {
        let late = scope.spawn(|| switch(&mut switcher).map_err(|e| e.code()));
        while os::process::run_state(pid) != Some('T') && !late.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let counting = scope.spawn(|| number(&mut other, "select count(*) + 0 from account"));
        // The limit is for a program that never opens the structure.
        let start = Instant::now();
        while !counting.is_finished() && start.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let counted = counting.is_finished();
        while !late.is_finished() {
            let _ = os::process::kill(pid, os::signal::SIGCONT);
            std::thread::sleep(Duration::from_millis(10));
        }
        counting.join().unwrap();
        (late.join().unwrap(), counted)
    });
    assert!(counted, "the other session waited for the stopped one");
    assert_eq!(late, Err(51));
    let in_force = |c: &mut Client, design: &str| {
        let sql = "select count(*) from x$ksldesign where structure = 'library cache' and design = ";
        number(c, &format!("{sql}'{design}'")) == 1
    };
    assert!(in_force(&mut other, "mutex"));
    switch(&mut other).unwrap();
    assert!(in_force(&mut other, "latch"));
}

#[test]
fn sessions_that_panic_anywhere_leave_nothing_behind() {
    // A session panics at regular changes of words under latches, around the ends of sections, and at the steps of
    // change groups, commits and rollbacks.
    let panics = std::env::var("LATCHWORK_PANICS").ok().and_then(|v| v.parse().ok()).unwrap_or(PANICS);
    for plan in ["undo-note:1511", "undo-end*:797", "group-*:331", "txn-*:61"] {
        let plan = &format!("{plan}:session-panic");
        let mut instance = start(&[("_crash_point", plan)]);
        let done = under_load(&instance, || {
            let deaths = || std::fs::read_to_string(instance.dir().join(faults::DEATHS_FILE)).unwrap_or_default();
            let start = Instant::now();
            while deaths().lines().count() < panics {
                let limit = Duration::from_secs(120 + panics as u64);
                assert!(start.elapsed() < limit, "{plan}: {} panics", deaths().lines().count());
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        assert!(done > 0, "{plan}: work was done between the panics");
        assert_whole(&mut instance);
        let log = std::fs::read_to_string(instance.dir().join("alert.log")).unwrap();
        assert!(log.matches("ORA-00600: internal error code, arguments: [crash point").count() >= panics, "{plan}");
        assert!(log.matches("ended with status 101").count() >= panics, "{plan}: the supervisor saw them die");
    }
}

fn storm(params: &[(&str, &str)], kills: u64) {
    let mut instance = start(params);
    let pids: Vec<AtomicU64> = (0..WORKERS).map(|_| AtomicU64::new(0)).collect();
    let mut killed = 0;
    let done = under_load_with(&instance, &pids, || {
        let (mut r, start) = (Random::new(42), Instant::now());
        while killed < kills && start.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_micros(500 + r.below(4000)));
            let pid = pids[r.below(WORKERS as u64) as usize].swap(0, Ordering::AcqRel);
            if pid != 0 && os::process::kill(pid as i32, os::signal::SIGKILL).is_ok() {
                killed += 1;
            }
        }
    });
    assert_eq!(killed, kills, "the killer found somebody to kill");
    assert!(done > 0, "work was done between the kills");
    assert_whole(&mut instance);
}

/// An instance with the tables, in which no process dies before the load begins.
fn start(params: &[(&str, &str)]) -> Ephemeral {
    let more = params.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let options = EphemeralOptions {
        params: [("processes".into(), "60".into()), ("db_cache_size".into(), "4M".into())]
            .into_iter()
            .chain(more)
            .collect(),
        executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))),
    };
    let instance = Ephemeral::start_with(&options).unwrap();
    std::fs::write(instance.dir().join(faults::CALM_FILE), "").unwrap();
    let mut keeper = instance.connect(&Credentials::Sysdba).unwrap();
    keeper.execute("create table account (id number, n number)", &[]).unwrap();
    keeper.execute("create table noise (n number, v varchar2(500))", &[]).unwrap();
    keeper
        .execute(&format!("insert into account select level - 1, 100 from dual connect by level <= {ACCOUNTS}"), &[])
        .unwrap();
    keeper.commit().unwrap();
    instance
}

fn under_load(instance: &Ephemeral, meanwhile: impl FnOnce()) -> u64 {
    let pids: Vec<AtomicU64> = (0..WORKERS).map(|_| AtomicU64::new(0)).collect();
    under_load_with(instance, &pids, meanwhile)
}

/// Runs the workers, whose server processes are in `pids`, until `meanwhile` is over; returns the amount of work done.
fn under_load_with(instance: &Ephemeral, pids: &[AtomicU64], meanwhile: impl FnOnce()) -> u64 {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let calm = instance.dir().join(faults::CALM_FILE);
    std::thread::scope(|scope| {
        for (n, pid) in pids.iter().enumerate() {
            let (stop, done) = (&stop, &done);
            scope.spawn(move || {
                let mut r = Random::new(0x9E37_79B9_7F4A_7C15 ^ (n as u64 + 1));
                while !stop.load(Ordering::Relaxed) {
                    let Ok(mut c) = instance.connect(&Credentials::Sysdba) else { continue };
                    pid.store(c.welcome().server_process.into(), Ordering::Release);
                    while !stop.load(Ordering::Relaxed) && work(&mut c, &mut r).is_ok() {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    pid.store(0, Ordering::Release);
                }
            });
        }
        std::fs::remove_file(&calm).unwrap();
        // A failure of `meanwhile` must not leave the workers running.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(meanwhile));
        std::fs::write(&calm, "").unwrap();
        stop.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    done.into_inner()
}

/// Nothing is lost, and dead sessions hold nothing.
fn assert_whole(instance: &mut Ephemeral) {
    assert!(instance.is_running());
    let mut keeper = instance.connect(&Credentials::Sysdba).unwrap();
    assert_eq!(number(&mut keeper, "select sum(n) from account"), 100 * ACCOUNTS);
    assert_eq!(number(&mut keeper, "select count(*) from account"), ACCOUNTS);
    // The index and the table have the same rows.
    for id in [0, 1, ACCOUNTS - 1] {
        assert_eq!(number(&mut keeper, &format!("select count(*) from account where id = {id}")), 1);
    }
    let start = Instant::now();
    // A background process may hold a latch while it waits for a processor; a latch of a dead process would stay held.
    for (nobody, what) in [
        ("select count(*) - 1 from v$process where background is null", "dead processes are cleaned up"),
        ("select count(*) from v$latchholder", "no latch is held"),
        ("select count(*) from v$transaction", "no transaction is left"),
        ("select count(*) from v$lock where type in ('TX', 'TM', 'RC')", "no lock is left"),
    ] {
        while number(&mut keeper, nobody) > 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    keeper.execute("update account set n = n + 1", &[]).unwrap();
    keeper.commit().unwrap();
    assert_eq!(number(&mut keeper, "select sum(n) from account"), 101 * ACCOUNTS);
}
