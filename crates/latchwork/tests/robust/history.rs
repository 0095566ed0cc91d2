//! Random histories of several sessions, checked against a model.
//!
//! Every row has a version that each update increments. A writer notes the versions that it reads and writes; only
//! acknowledged commits count. Afterwards the committed transactions must satisfy:
//! - every version of a row was written once, and none is missing: no update is lost;
//! - the reads of one statement (or one serializable or read-only transaction) are one state of the table: transactions
//!   that wrote several rows are visible with all of them or none;
//! - a serializable transaction that wrote a row had read the version just before it;
//! - a row read under a lock, with SKIP LOCKED or after a wait, is the version that the lock's holder then overwrites;
//! - queries AS OF one SCN, at any time and in any session, see one state, and a later SCN no earlier versions;
//! - a deferred unique column is a permutation at every commit, and a commit that would violate it is rolled back.
//!
//! Half of the histories use an index-organised table.

use crate::common::{start, sysdba};
use client::{Client, Ephemeral};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use testing::Random;

const KEYS: usize = 6;
const SESSIONS: usize = 4;
const ROUNDS: usize = 120;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Committed,
    Serializable,
    ReadOnly,
}

/// A version of each key: the result of one read of the table. The row also has the writer of its version.
type State = Vec<(u64, u64)>;

#[derive(Debug)]
struct Done {
    id: u64,
    level: Level,
    /// The results of its queries, in order.
    reads: Vec<State>,
    /// Key and version written.
    writes: Vec<(usize, u64)>,
}

/// State shared by the sessions: SCNs that were current once, and the results of queries AS OF them.
#[derive(Default)]
struct Past {
    scns: Mutex<Vec<u64>>,
    seen: Mutex<Vec<(u64, State)>>,
}

fn number(v: &types::Value) -> u64 {
    match v {
        types::Value::Number(n) => n.to_i64().unwrap_or(0) as u64,
        other => panic!("a number: {other:?}"),
    }
}

fn pairs(c: &mut Client, sql: &str) -> Result<State, u32> {
    let rows = c.query(sql, &[]).and_then(|q| q.all()).map_err(|e| e.code())?;
    Ok(rows.iter().map(|r| (number(&r[0]), number(&r[1]))).collect())
}

fn read(c: &mut Client) -> Result<State, u32> {
    pairs(c, "select ver, writer from h order by id")
}

/// A query of the past: as of now, or as of an SCN noted by a session.
fn look_back(c: &mut Client, r: &mut Random, past: &Past) -> Result<(), u32> {
    let known = past.scns.lock().expect("no session panicked").clone();
    let scn = match known.len() {
        0 => None,
        n => Some(known[r.below(n)]).filter(|_| r.below(3) > 0),
    };
    let scn = match scn {
        Some(scn) => scn,
        None => {
            let rows =
                c.query("select current_scn from v$database", &[]).and_then(|q| q.all()).map_err(|e| e.code())?;
            let scn = number(&rows[0][0]);
            past.scns.lock().expect("no session panicked").push(scn);
            scn
        }
    };
    let state = pairs(c, &format!("select ver, writer from h as of scn {scn} order by id"))?;
    past.seen.lock().expect("no session panicked").push((scn, state));
    Ok(())
}

/// Locks rows, either all unlocked ones or a certain one, and writes the version that it read of the first.
fn write_locked(c: &mut Client, r: &mut Random, id: u64) -> Result<Option<(usize, u64)>, u32> {
    let (key, order) = (r.below(KEYS), if r.below(2) == 0 { "" } else { "desc" });
    let sql = match r.below(3) {
        0 => format!("select id, ver from h where id = {key} for update"),
        1 => format!("select id, ver from h where id >= {key} order by id {order} for update skip locked"),
        _ => format!("select id, ver from h where mod(id, 2) = {} for update skip locked", key % 2),
    };
    let Some(&(key, version)) = pairs(c, &sql)?.first() else { return Ok(None) };
    let sql = format!("update h set ver = {}, writer = {id} where id = {key}", version + 1);
    c.execute(&sql, &[]).map_err(|e| e.code())?;
    Ok(Some((key as usize, version + 1)))
}

/// Exchanges the places of two rows, which are equal in between; their versions increase.
fn exchange(c: &mut Client, r: &mut Random, id: u64) -> Result<Vec<(usize, u64)>, u32> {
    let a = r.below(KEYS);
    let b = (a + 1 + r.below(KEYS - 1)) % KEYS;
    let sql = format!("select id, place from h where id in ({a}, {b}) for update");
    let places = pairs(c, &sql)?;
    let mut written = Vec::new();
    for ((key, _), (_, place)) in places.iter().zip(places.iter().rev()) {
        let sql = format!("update h set place = {place}, ver = ver + 1, writer = {id} where id = {key}");
        c.execute(&sql, &[]).map_err(|e| e.code())?;
        let version = pairs(c, &format!("select ver, writer from h where id = {key}"))?[0].0;
        written.push((*key as usize, version));
    }
    Ok(written)
}

/// A commit that must fail: two rows have the same place.
fn doomed(c: &mut Client, id: u64) -> Result<(), u32> {
    let sql = format!("update h set place = 1, ver = ver + 1, writer = {id} where id < 3");
    c.execute(&sql, &[]).map_err(|e| e.code())?;
    assert_eq!(c.execute("commit", &[]).err().map(|e| e.code()), Some(2091), "a commit of a broken key");
    Err(2091)
}

/// Increments a row's version; returns the new version.
fn write(c: &mut Client, id: u64, key: usize) -> Result<u64, u32> {
    let sql = format!("update h set ver = ver + 1, writer = {id} where id = {key}");
    c.execute(&sql, &[]).map_err(|e| e.code())?;
    let own = format!("select ver from h where id = {key}");
    let rows = c.query(&own, &[]).and_then(|q| q.all()).map_err(|e| e.code())?;
    Ok(number(&rows[0][0]))
}

/// One transaction; `None` when it was rolled back for a permitted reason.
fn transaction(c: &mut Client, r: &mut Random, id: u64, past: &Past) -> Option<Done> {
    let level = [Level::Committed, Level::Serializable, Level::ReadOnly][r.below(3)];
    match level {
        Level::Committed => {}
        Level::Serializable => drop(c.execute("set transaction isolation level serializable", &[]).expect("it begins")),
        Level::ReadOnly => drop(c.execute("set transaction read only", &[]).expect("it begins")),
    }
    let mut done = Done { id, level, reads: Vec::new(), writes: Vec::new() };
    for _ in 0..1 + r.below(4) {
        let mut note = |key: usize, version: u64| {
            done.writes.retain(|(k, _)| *k != key);
            done.writes.push((key, version));
        };
        let result = match r.below(12) {
            _ if level == Level::ReadOnly => read(c).map(|state| done.reads.push(state)),
            0..5 => {
                let key = r.below(KEYS);
                write(c, id, key).map(|version| note(key, version))
            }
            5 | 6 => write_locked(c, r, id).map(|one| one.into_iter().for_each(|(key, version)| note(key, version))),
            7 => exchange(c, r, id).map(|all| all.into_iter().for_each(|(key, version)| note(key, version))),
            8 => look_back(c, r, past),
            9 if r.below(4) == 0 => doomed(c, id),
            _ => read(c).map(|state| done.reads.push(state)),
        };
        if let Err(code) = result {
            assert!([60, 8177, 2091].contains(&code), "ORA-{code:05} in a {level:?} transaction");
            c.execute("rollback", &[]).expect("a rollback works");
            return None;
        }
        if r.below(4) == 0 {
            std::thread::sleep(std::time::Duration::from_millis(r.below(4) as u64));
        }
    }
    if r.below(8) == 0 {
        c.execute("rollback", &[]).expect("a rollback works");
        return None;
    }
    c.execute("commit", &[]).expect("a commit works");
    Some(done)
}

fn run(instance: &Ephemeral, seed: u64, past: &Past) -> Vec<Done> {
    let ids = AtomicU64::new(1);
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|n| {
                let (instance, ids) = (&instance, &ids);
                scope.spawn(move || {
                    let mut c = sysdba(instance);
                    let mut r = Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (n as u64 + 1));
                    let one = |_| transaction(&mut c, &mut r, ids.fetch_add(1, Ordering::Relaxed), past);
                    (0..ROUNDS).filter_map(one).collect::<Vec<Done>>()
                })
            })
            .collect();
        for s in sessions {
            all.extend(s.join().expect("a session ends well"));
        }
    });
    all
}

/// The versions of each key with their writers.
fn check_versions(all: &[Done], last: &State) -> HashMap<(usize, u64), u64> {
    let mut writer = HashMap::new();
    for t in all {
        for &(key, version) in &t.writes {
            // A transaction that wrote a row several times made several versions of it; this is the last one.
            assert!(writer.insert((key, version), t.id).is_none(), "version {version} of {key} was written twice");
        }
    }
    for (key, &(version, id)) in last.iter().enumerate() {
        if version > 0 {
            assert_eq!(
                writer.get(&(key, version)),
                Some(&id),
                "the last version of {key} is that of a committed writer"
            );
        }
    }
    writer
}

/// The result of one query, apart from own writes, must be one state: all writes of a transaction or none.
fn check_reads(all: &[Done], writer: &HashMap<(usize, u64), u64>) {
    let by_id: HashMap<u64, &Done> = all.iter().map(|t| (t.id, t)).collect();
    for t in all {
        for state in &t.reads {
            for (key, &(version, id)) in state.iter().enumerate() {
                if version == 0 || id == t.id {
                    continue;
                }
                assert_eq!(writer.get(&(key, version)), Some(&id), "{} read a version nobody committed", t.id);
                for &(other, written) in &by_id[&id].writes {
                    let (seen, seen_id) = state[other];
                    let ok = seen >= written || seen_id == t.id;
                    assert!(ok, "{} saw {id}'s version {version} of {key} and not its {written} of {other}", t.id);
                }
            }
        }
        // A transaction's snapshot does not change, apart from its own writes.
        if t.level != Level::Committed {
            for key in 0..KEYS {
                let mut foreign = t.reads.iter().map(|s| s[key]).filter(|(_, id)| *id != t.id);
                let first = foreign.next();
                assert!(foreign.all(|v| Some(v) == first), "{} saw {key} change: {:?}", t.id, t.reads);
            }
        }
    }
}

/// First committer wins: no other version lies between the one that a serializable transaction read and the one that it
/// wrote.
fn check_serializable(all: &[Done], writer: &HashMap<(usize, u64), u64>) {
    for t in all.iter().filter(|t| t.level == Level::Serializable) {
        let Some(first) = t.reads.first() else { continue };
        for &(key, written) in &t.writes {
            let (seen, by) = first[key];
            if by == t.id {
                continue;
            }
            let between = (seen + 1..written).filter_map(|v| writer.get(&(key, v))).find(|id| **id != t.id);
            assert_eq!(between, None, "{} overwrote a version of {key} that it had not seen", t.id);
        }
    }
}

/// Queries of the past: one state for each SCN, of whole committed transactions, and later SCNs never see earlier
/// versions.
fn check_past(all: &[Done], writer: &HashMap<(usize, u64), u64>, past: Past) {
    let by_id: HashMap<u64, &Done> = all.iter().map(|t| (t.id, t)).collect();
    let mut seen = past.seen.into_inner().expect("no session panicked");
    assert!(seen.len() > 10, "enough was looked at");
    seen.sort();
    for two in seen.windows(2) {
        let ((scn, before), (later, after)) = (&two[0], &two[1]);
        assert!(scn < later || before == after, "as of SCN {scn}: {before:?} and {after:?}");
        let back = before.iter().zip(after).any(|(b, a)| a.0 < b.0);
        assert!(!back, "as of SCN {scn} {before:?}, as of {later} {after:?}");
    }
    for (scn, state) in &seen {
        for (key, &(version, id)) in state.iter().enumerate().filter(|(_, v)| v.0 > 0) {
            assert_eq!(writer.get(&(key, version)), Some(&id), "as of SCN {scn}: a version nobody committed");
            let whole = by_id[&id].writes.iter().all(|&(other, written)| state[other].0 >= written);
            assert!(whole, "as of SCN {scn}: a part of {id}: {state:?}");
        }
    }
}

#[test]
fn random_histories_are_those_of_snapshots() {
    // LATCHWORK_HISTORIES=n runs n histories.
    let seeds = std::env::var("LATCHWORK_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    for seed in 1..=seeds {
        let instance = start(&[]);
        let mut c = sysdba(&instance);
        let organization = if seed % 2 == 0 { "organization index" } else { "initrans 1" };
        let create = format!(
            "create table h (id number primary key, ver number, writer number, place number,
               constraint h_place unique (place) deferrable initially deferred) {organization}"
        );
        let fill = "insert into h select level - 1, 0, 0, level - 1 from dual connect by level <= 6";
        for sql in [create.as_str(), fill, "commit"] {
            c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        let past = Past::default();
        let all = run(&instance, seed, &past);
        let last = read(&mut c).expect("the table is read");
        assert!(all.iter().filter(|t| !t.writes.is_empty()).count() > 20, "enough was committed");
        let writer = check_versions(&all, &last);
        check_reads(&all, &writer);
        check_serializable(&all, &writer);
        check_past(&all, &writer, past);
        let mut places = pairs(&mut c, "select place, id from h").expect("the table is read");
        places.sort_unstable();
        assert!(places.iter().enumerate().all(|(n, p)| p.0 == n as u64), "{places:?}");
        for (key, (version, _)) in last.iter().enumerate() {
            let written = writer.keys().filter(|(k, _)| *k == key).map(|(_, v)| *v).max().unwrap_or(0);
            assert_eq!(*version, written, "key {key}");
        }
    }
}

#[test]
fn a_deadlock_is_written_to_a_trace_file_and_the_alert_log() {
    let instance = start(&[]);
    let (mut a, mut b) = (sysdba(&instance), sysdba(&instance));
    crate::common::run(&mut a, &["create table h (id number primary key, n number)"]);
    crate::common::run(&mut a, &["insert into h select level, 0 from dual connect by level <= 2", "commit"]);
    crate::common::run(&mut a, &["update h set n = 1 where id = 1"]);
    crate::common::run(&mut b, &["update h set n = 1 where id = 2"]);
    let cross = |c: &mut Client, id| {
        let done = c.execute(&format!("update h set n = 2 where id = {id}"), &[]).map_or_else(|e| e.code(), |_| 0);
        c.execute("rollback", &[]).expect("a rollback works");
        done
    };
    let codes: Vec<u32> = std::thread::scope(|scope| {
        let other = scope.spawn(|| cross(&mut b, 1));
        vec![cross(&mut a, 2), other.join().expect("the session answers")]
    });
    assert!(codes.contains(&60) && codes.contains(&0), "{codes:?}");
    let dir = instance.dir();
    let alert = std::fs::read_to_string(dir.join("alert.log")).expect("the alert log");
    assert!(alert.contains("ORA-00060: Deadlock detected. More info in file"), "{alert}");
    let traces = std::fs::read_dir(dir).expect("the directory").filter_map(|e| e.ok()).map(|e| e.path());
    let traces: Vec<_> = traces.filter(|p| p.extension().is_some_and(|e| e == "trc")).collect();
    let [trace] = traces.as_slice() else { panic!("one trace file: {traces:?}") };
    let text = std::fs::read_to_string(trace).expect("the trace file");
    let waits = text.lines().filter(|l| l.starts_with("TX-") && l.trim_end().ends_with('X')).count();
    assert!(text.contains("DEADLOCK DETECTED ( ORA-00060 )") && waits == 2, "{text}");
}
