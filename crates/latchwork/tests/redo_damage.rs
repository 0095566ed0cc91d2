//! Damage in the online log of a killed instance: commits after it are never lost silently. A start refuses, `latchwork
//! recover` says how far the redo can be read, and with `--resetlogs` the database continues from there, if it can.
//!
//! Every case depends only on its seed; `LATCHWORK_DAMAGE=n` runs n cases.

use datafile::ControlFile;
use lab::torture::{Place, Started};
use redo::{LOG_HEADER_BYTES, LogReader, Rba};
use std::path::{Path, PathBuf};
use std::process::Command;
use testing::Random;
use types::Value;

/// Number of cases of the short form.
const CASES: u64 = 4;
/// Commits before the kill.
const COMMITS: i64 = 60;

fn place() -> Place {
    Place::new(Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")))).expect("a directory")
}

fn params(cache: &str) -> Vec<(String, String)> {
    [("db_cache_size", cache), ("processes", "40"), ("_log_file_size", "8M")]
        .map(|(n, v)| (n.to_string(), v.to_string()))
        .to_vec()
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn start(place: &mut Place, cache: &str) -> Result<client::Client, String> {
    match place.start(&params(cache), None).unwrap() {
        Started::Open(_) => Ok(place.connect().unwrap()),
        Started::Died(why) => Err(why),
    }
}

/// A database that was killed after this many commits of one row each, all of them acknowledged.
fn killed(cache: &str, rows: i64, wide: i64) -> Place {
    let mut place = place();
    let mut c = start(&mut place, cache).unwrap();
    c.execute("create table t (id number primary key, x varchar2(4000))", &[]).unwrap();
    c.execute("alter system checkpoint", &[]).unwrap();
    for n in 1..=rows {
        c.execute(&format!("insert into t values ({n}, rpad('x', {wide}, 'x'))"), &[]).unwrap();
        c.commit().unwrap();
    }
    drop(c);
    place.kill().unwrap();
    place
}

fn recover(dir: &Path, args: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
    let out = command.arg("recover").args(args).arg("--dir").arg(dir).output().expect("the program runs");
    (out.status.success(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
}

/// The log with the redo after the checkpoint, and its records: where each begins in the file, and its length.
fn records(dir: &Path) -> (PathBuf, Vec<(u64, usize)>) {
    let control = ControlFile::read(dir).unwrap();
    let log = control.current_log().unwrap();
    let path = dir.join(&log.name);
    let from = Rba(control.checkpoint.rba);
    let mut reader =
        LogReader::open(std::slice::from_ref(&path), control.database, control.incarnation.number, from).unwrap();
    let mut all = Vec::new();
    while let Some((at, record)) = reader.next_record().unwrap() {
        all.push((LOG_HEADER_BYTES + at.0 - log.start, record.len));
    }
    (path, all)
}

/// The number of commits; they are the first ones.
fn commits(c: &mut client::Client) -> i64 {
    let rows = c.query("select count(*), nvl(max(id), 0), count(x) from t", &[]).and_then(|q| q.all()).unwrap();
    let number = |v: &Value| match v {
        Value::Number(n) => n.as_i64().unwrap(),
        other => panic!("{other:?}"),
    };
    let n: Vec<i64> = rows[0].iter().map(number).collect();
    assert_eq!((n[0], n[0]), (n[1], n[2]), "the first commits, and whole");
    n[0]
}

#[test]
fn no_commit_is_lost_without_a_word_wherever_the_log_is_damaged() {
    let base = killed("16M", COMMITS, 20);
    let (path, all) = records(base.dir());
    let name = path.file_name().unwrap();
    let cases = std::env::var("LATCHWORK_DAMAGE").ok().and_then(|v| v.parse().ok()).unwrap_or(CASES);
    let (mut refused, mut opened) = (0, 0);
    for seed in 0..=cases {
        let mut r = Random::new(seed);
        let mut place = place();
        copy(base.dir(), place.dir());
        let path = place.dir().join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        // The last case: the last record, which cannot be distinguished from a torn one.
        let n = if seed == cases { all.len() - 1 } else { r.below(all.len() as u64 * 8 / 10) as usize };
        let (at, len) = (all[n].0 as usize, all[n].1);
        match r.below(3) {
            0 => bytes[at + r.below(len as u64) as usize] ^= 1 << r.below(8),
            1 => bytes[at..at + len].fill(0),
            _ => bytes[at / 512 * 512..][..512.min(len)].fill(0xFF),
        }
        std::fs::write(&path, &bytes).unwrap();
        match start(&mut place, "16M") {
            Ok(mut c) => {
                let there = commits(&mut c);
                if seed == cases {
                    opened += 1;
                    assert!(there >= COMMITS - 1, "{there}");
                } else {
                    // The damaged part of the sector may be redo from before the checkpoint, which is not needed.
                    assert_eq!(there, COMMITS, "seed {seed}: damage in the middle is taken for the end");
                }
                continue;
            }
            Err(why) => assert!(why.contains("ORA-00353") && why.contains("ORA-00312"), "seed {seed}: {why}"),
        }
        refused += 1;
        let (ok, text) = recover(place.dir(), &[]);
        assert!(ok && text.contains("ORA-00353") && text.contains("up to SCN"), "{text}");
        assert!(start(&mut place, "16M").is_err(), "looking changes nothing");
        let (ok, text) = recover(place.dir(), &["--resetlogs"]);
        if !ok {
            // DBW0 had written a block that was changed after the damage.
            assert!(text.contains("ORA-01194"), "seed {seed}: {text}");
            continue;
        }
        let mut c = start(&mut place, "16M").unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let before = commits(&mut c);
        assert!(before < COMMITS, "seed {seed}");
        c.execute("insert into t values (1000, 'works')", &[]).and_then(|_| c.commit()).unwrap();
        drop(c);
        // Killed again: no redo of the former life reappears.
        place.kill().unwrap();
        let mut c = start(&mut place, "16M").unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        c.execute("delete from t where id = 1000", &[]).and_then(|_| c.commit()).unwrap();
        assert_eq!(commits(&mut c), before, "seed {seed}");
        drop(c);
        place.stop().unwrap();
        place.verify().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    assert!(refused > 0 && opened == 1, "{refused} {opened}");
}

#[test]
fn a_database_with_blocks_from_behind_the_damage_is_not_opened() {
    // Few buffers, so that most blocks are written.
    let mut place = killed("1M", 400, 3900);
    let (path, all) = records(place.dir());
    let mut bytes = std::fs::read(&path).unwrap();
    let (at, _) = all[all.len() / 8];
    bytes[at as usize + 40] ^= 0x10;
    std::fs::write(&path, &bytes).unwrap();
    let why = start(&mut place, "1M").err().expect("it does not start");
    assert!(why.contains("ORA-00353"), "{why}");
    let (ok, text) = recover(place.dir(), &["--resetlogs"]);
    assert!(!ok && text.contains("ORA-01194") && text.contains("ORA-01152"), "{text}");
    // With the damage repaired it recovers: the attempt did no harm.
    bytes[at as usize + 40] ^= 0x10;
    std::fs::write(&path, &bytes).unwrap();
    let mut c = start(&mut place, "1M").unwrap();
    assert_eq!(commits(&mut c), 400);
}

#[test]
fn a_damaged_header_of_the_current_log_is_no_empty_log() {
    let mut place = killed("16M", COMMITS, 20);
    let (path, _) = records(place.dir());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let why = start(&mut place, "16M").err().expect("it does not start");
    assert!(why.contains("ORA-00367") || why.contains("ORA-00308"), "{why}");
    bytes[20] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let mut c = start(&mut place, "16M").unwrap();
    assert_eq!(commits(&mut c), COMMITS);
}
