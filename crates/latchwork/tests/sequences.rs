//! Sequences under kills: a returned number is never returned again, whichever process dies, and numbers stay in order.
//!
//! Sessions take numbers all the time and note them; sessions and the instance are killed, the instance also at named
//! points of a refill. A kill may only lose numbers that were not returned yet.

use client::Client;
use lab::torture::{Place, Started};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use types::Value;

const WORKERS: usize = 3;
/// The lives of the instance, and the end of each.
const ENDS: &[&str] = &[
    "",
    "txn-commit-logged:25:instance",
    "redo_written:30:instance",
    "group-publishing:60:instance",
    "redo_synced:20:instance",
    "txn-committed:25:child",
    "",
];
const SEQUENCES: &[(&str, &str)] = &[
    ("sq_nocache", "nocache"),
    ("sq_cache", "cache 5"),
    ("sq_order", "cache 20 order"),
    ("sq_down", "increment by -3 maxvalue 0 minvalue -1000000000 start with 0 cache 4"),
    ("sq_wide", "increment by 7 cache 2 maxvalue 1000000000 cycle"),
];
/// Numbers of the cycling sequence, and how many of them a death may lose.
const ROUND: i64 = 50;
const ROUND_CACHE: i64 = 7;

/// The numbers returned to each worker, by sequence, in order.
type Told = Vec<Vec<i64>>;

fn next(c: &mut Client, name: &str) -> client::ClientResult<i64> {
    let rows = c.query(&format!("select {name}.nextval from dual"), &[])?.all()?;
    match &rows[0][0] {
        Value::Number(n) => Ok(n.as_i64().expect("a small number")),
        other => panic!("{other:?}"),
    }
}

/// Takes numbers until the connection is lost, repeatedly, until it is stopped.
fn worker(
    place: &Mutex<Place>,
    told: &Mutex<Told>,
    number: usize,
    pids: &Mutex<Vec<i32>>,
    taken: &AtomicU64,
    stop: &AtomicBool,
) {
    let mut own: Told = vec![Vec::new(); SEQUENCES.len()];
    while !stop.load(Ordering::Relaxed) {
        let connected = place.lock().unwrap().connect();
        let Ok(mut c) = connected else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let spid = "select to_number(p.spid) from v$process p, v$session s where s.paddr = p.addr and s.sid = sys_context('USERENV', 'SID')";
        if let Ok(Value::Number(n)) = c.query(spid, &[]).and_then(|q| q.all()).map(|rows| rows[0][0].clone()) {
            pids.lock().unwrap()[number] = n.as_i64().unwrap_or(0) as i32;
        }
        'session: while !stop.load(Ordering::Relaxed) {
            for (n, (name, _)) in SEQUENCES.iter().enumerate() {
                match next(&mut c, name) {
                    Ok(value) => {
                        own[n].push(value);
                        taken.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(e) if e.is_fatal() || matches!(e.code(), 1092 | 3113 | 28) => break 'session,
                    Err(e) => panic!("{name}: {e}"),
                }
            }
        }
        pids.lock().unwrap()[number] = 0;
    }
    told.lock().unwrap().extend(own);
}

fn start(place: &Mutex<Place>, plan: &str) {
    let mut params: Vec<(String, String)> = [("db_cache_size", "4M"), ("processes", "40"), ("_log_file_size", "2M")]
        .map(|(n, v)| (n.into(), v.into()))
        .to_vec();
    if !plan.is_empty() {
        params.push(("_crash_point".into(), plan.into()));
    }
    let mut place = place.lock().unwrap();
    let started = place.start(&params, None).unwrap();
    // A plan may end the instance before it is open.
    if let Started::Died(why) = started {
        assert!(!plan.is_empty(), "{why}");
        params.pop();
        assert!(matches!(place.start(&params, None).unwrap(), Started::Open(_)));
    }
}

/// Takes a number of the cycling sequence; it follows the last one, by no more than the deaths may have lost.
fn come_round(place: &Mutex<Place>, last: &mut i64, deaths: i64) {
    let connected = place.lock().unwrap().connect();
    let Ok(mut c) = connected else { return };
    for n in 0..12 {
        let Ok(value) = next(&mut c, "sq_round") else { return };
        let most = if n == 0 { 1 + deaths * ROUND_CACHE } else { 1 };
        let distance = (value - *last).rem_euclid(ROUND);
        assert!(
            (1..=ROUND).contains(&value) && (1..=most).contains(&distance),
            "{value} behind {last}, {deaths} deaths"
        );
        *last = value;
    }
}

#[test]
fn a_number_is_told_once_whoever_dies() {
    let place = Mutex::new(Place::new(Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")))).unwrap());
    start(&place, "");
    let mut c = place.lock().unwrap().connect().unwrap();
    for (name, how) in SEQUENCES {
        c.execute(&format!("create sequence {name} {how}"), &[]).unwrap();
    }
    c.execute(&format!("create sequence sq_round maxvalue {ROUND} cycle cache {ROUND_CACHE}"), &[]).unwrap();
    drop(c);
    place.lock().unwrap().stop().unwrap();
    let (told, pids) = (Arc::new(Mutex::new(Told::new())), Arc::new(Mutex::new(vec![0; WORKERS])));
    let (stop, place, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(place), Arc::new(AtomicU64::new(0)));
    let workers: Vec<_> = (0..WORKERS)
        .map(|n| {
            let (place, told, pids) = (place.clone(), told.clone(), pids.clone());
            let (taken, stop) = (taken.clone(), stop.clone());
            std::thread::spawn(move || worker(&place, &told, n, &pids, &taken, &stop))
        })
        .collect();
    // 0: no number was returned yet, and the next is 1.
    let (mut last, mut kills) = (0, 0);
    let failed = |workers: &[std::thread::JoinHandle<()>]| workers.iter().any(|w| w.is_finished());
    for plan in ENDS {
        start(&place, plan);
        come_round(&place, &mut last, 2);
        let before = taken.load(Ordering::Relaxed);
        for n in 0..6 {
            std::thread::sleep(Duration::from_millis(60));
            // An instance without a plan survives: its sessions connect and take numbers, however busy the machine is.
            let enough = before + 60 * (n as u64 + 1);
            let is_there = || pids.lock().unwrap()[n % WORKERS] > 0 && taken.load(Ordering::Relaxed) >= enough;
            let until = Instant::now() + Duration::from_secs(30);
            while plan.is_empty() && !is_there() && !failed(&workers) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            let pid = pids.lock().unwrap()[n % WORKERS];
            if pid > 0 && os::process::kill(pid, os::signal::SIGKILL).is_ok() {
                kills += 1;
            }
            if failed(&workers) {
                break;
            }
        }
        place.lock().unwrap().kill().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let failed = workers.into_iter().map(|w| w.join()).filter(|w| w.is_err()).count();
    assert_eq!(failed, 0, "a worker failed");
    let told = told.lock().unwrap();
    for (n, (name, _)) in SEQUENCES.iter().enumerate() {
        let mut seen: HashSet<i64> = HashSet::new();
        let mut all = 0;
        for own in told.iter().skip(n).step_by(SEQUENCES.len()) {
            for pair in own.windows(2) {
                let goes_on = if *name == "sq_down" { pair[1] < pair[0] } else { pair[1] > pair[0] };
                assert!(goes_on, "{name} was told as {} and then as {}", pair[0], pair[1]);
            }
            all += own.len();
            seen.extend(own);
        }
        assert_eq!(seen.len(), all, "{name}: a number was told twice");
        assert!(all > 50, "{name}: {all} numbers were told");
    }
    assert!(kills > 5, "{kills} sessions were killed");
}
