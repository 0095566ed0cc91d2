//! Random histories of several sessions, checked against a model.
//!
//! Every row has a version that each update raises by one. A writer notes the versions it reads and writes; a commit that is
//! acknowledged counts. Afterwards it must hold, for the committed transactions:
//! - every version of a row was written once, and none is missing: no update is lost;
//! - what one statement (or one serializable or read-only transaction) read is one state of the table: transactions that wrote
//!   several rows are seen with all of them or none;
//! - a serializable transaction that wrote a row had read the version just before it.

use crate::common::{start, sysdba};
use client::{Client, Ephemeral};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

const KEYS: usize = 6;
const SESSIONS: usize = 4;
const ROUNDS: usize = 120;

/// xorshift64*: the same seed gives each session the same choices.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Committed,
    Serializable,
    ReadOnly,
}

/// A version of each key: what one read of the table saw. The writer of each version stands beside it in the row.
type State = Vec<(u64, u64)>;

#[derive(Debug)]
struct Done {
    id: u64,
    level: Level,
    /// What its queries saw, in order.
    reads: Vec<State>,
    /// Key and version written.
    writes: Vec<(usize, u64)>,
}

fn read(c: &mut Client) -> Result<State, u32> {
    let rows = c.query("select ver, writer from h order by id", &[]).and_then(|q| q.all()).map_err(|e| e.code())?;
    let number = |v: &types::Value| match v {
        types::Value::Number(n) => n.to_i64().unwrap_or(0) as u64,
        other => panic!("a number: {other:?}"),
    };
    Ok(rows.iter().map(|r| (number(&r[0]), number(&r[1]))).collect())
}

/// Adds one to a row's version; the version it has now.
fn write(c: &mut Client, id: u64, key: usize) -> Result<u64, u32> {
    let sql = format!("update h set ver = ver + 1, writer = {id} where id = {key}");
    c.execute(&sql, &[]).map_err(|e| e.code())?;
    let own = format!("select ver from h where id = {key}");
    let rows = c.query(&own, &[]).and_then(|q| q.all()).map_err(|e| e.code())?;
    match &rows[0][0] {
        types::Value::Number(n) => Ok(n.to_i64().unwrap_or(0) as u64),
        other => panic!("a number: {other:?}"),
    }
}

/// One transaction; `None` when it was rolled back, for a reason that may be.
fn transaction(c: &mut Client, r: &mut Random, id: u64) -> Option<Done> {
    let level = [Level::Committed, Level::Serializable, Level::ReadOnly][r.below(3)];
    match level {
        Level::Committed => {}
        Level::Serializable => drop(c.execute("set transaction isolation level serializable", &[]).expect("it begins")),
        Level::ReadOnly => drop(c.execute("set transaction read only", &[]).expect("it begins")),
    }
    let mut done = Done { id, level, reads: Vec::new(), writes: Vec::new() };
    for _ in 0..1 + r.below(4) {
        let writes = level != Level::ReadOnly && r.below(3) > 0;
        let result = if writes {
            let key = r.below(KEYS);
            write(c, id, key).map(|version| {
                done.writes.retain(|(k, _)| *k != key);
                done.writes.push((key, version));
            })
        } else {
            read(c).map(|state| done.reads.push(state))
        };
        if let Err(code) = result {
            assert!([60, 8177].contains(&code), "ORA-{code:05} in a {level:?} transaction");
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

fn run(instance: &Ephemeral, seed: u64) -> Vec<Done> {
    let ids = AtomicU64::new(1);
    let mut all = Vec::new();
    std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|n| {
                let (instance, ids) = (&instance, &ids);
                scope.spawn(move || {
                    let mut c = sysdba(instance);
                    let mut r = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (n as u64 + 1));
                    let one = |_| transaction(&mut c, &mut r, ids.fetch_add(1, Ordering::Relaxed));
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
            // A transaction that wrote a row several times made several versions of it; the last one stands here.
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

/// What one query saw, own writes aside, must be one state: no transaction's write without its others.
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
        // A held snapshot does not move, but for the transaction's own writes.
        if t.level != Level::Committed {
            for key in 0..KEYS {
                let mut foreign = t.reads.iter().map(|s| s[key]).filter(|(_, id)| *id != t.id);
                let first = foreign.next();
                assert!(foreign.all(|v| Some(v) == first), "{} saw {key} change: {:?}", t.id, t.reads);
            }
        }
    }
}

/// First committer wins: between what a serializable transaction read of a row and what it wrote lies no other's version.
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

#[test]
fn random_histories_are_those_of_snapshots() {
    // More of them: LATCHWORK_HISTORIES=n.
    let seeds = std::env::var("LATCHWORK_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    for seed in 1..=seeds {
        let instance = start(&[]);
        let mut c = sysdba(&instance);
        let create = "create table h (id number primary key, ver number, writer number) initrans 1";
        for sql in [create, "insert into h select level - 1, 0, 0 from dual connect by level <= 6", "commit"] {
            c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        let all = run(&instance, seed);
        let last = read(&mut c).expect("the table is read");
        assert!(all.iter().filter(|t| !t.writes.is_empty()).count() > 20, "enough was committed");
        let writer = check_versions(&all, &last);
        check_reads(&all, &writer);
        check_serializable(&all, &writer);
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
