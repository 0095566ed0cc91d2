//! Hash clusters: the rows that lookups return, and their cost.

#[path = "../../heap/tests/common/mod.rs"]
mod common;

use buffer_cache::ChainDesign;
use cluster::{ClusterScan, Clusters, Geometry, HashCluster, RowSet};
use common::{BLOCK, Db, Shape, database};
use datafile::tablespace;
use heap::RowOutcome;
use process::Process;
use std::collections::BTreeMap;
use std::sync::Mutex;
use testing::Random;
use txn::{LockWait, NoHook, Snapshot, Txn};
use types::row::{RowReader, RowWriter};
use types::{ObjectId, Rowid, Scn};
use wait::Stat;

fn shape() -> Shape {
    Shape { more_layers: Clusters::register_apply, ..Shape::default() }
}

fn make(db: &Db, p: &Process, hashkeys: u64, size: u32, key_columns: &[u16]) -> (Clusters, HashCluster) {
    let clusters = Clusters::new(&db.heap);
    let g = Geometry::new(hashkeys, size, BLOCK, 2).unwrap();
    let header = clusters.create_segment(p, tablespace::USERS, ObjectId(90), &g, 2).unwrap();
    let cluster = clusters.describe(p, ObjectId(91), ObjectId(90), header, key_columns).unwrap();
    assert_eq!(cluster.geometry, g);
    (clusters, cluster)
}

fn row(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = RowWriter::new(&mut out, 2);
    w.bytes(key);
    w.bytes(value);
    out
}

fn key_row(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    RowWriter::new(&mut out, 1).bytes(key);
    out
}

fn value_of(row: &[u8]) -> Vec<u8> {
    RowReader::new(row).unwrap().column(1).unwrap().bytes().unwrap_or_default().to_vec()
}

/// The values of a key, sorted, with their rowids.
fn lookup(
    db: &Db,
    c: &(Clusters, HashCluster),
    p: &Process,
    s: &Snapshot,
    key: &[u8],
) -> types::Result<Vec<(Rowid, Vec<u8>)>> {
    let _ = db;
    let mut rows = RowSet::new();
    c.0.lookup(p, s, &c.1, &key_row(key), &mut rows)?;
    let mut values: Vec<_> = (0..rows.len()).map(|i| (rows.get(i).0, value_of(rows.get(i).1))).collect();
    values.sort();
    Ok(values)
}

#[test]
fn a_lookup_is_one_get_and_finds_every_row_of_its_key() {
    for design in [ChainDesign::Versioned, ChainDesign::FastPath, ChainDesign::Shared, ChainDesign::Exclusive] {
        let db = database(&Shape { design, ..shape() });
        let p = db.attach();
        let c = make(&db, &p, 500, 60, &[0]);
        let mut t = Txn::new();
        for n in 0..500u32 {
            c.0.insert(&p, &mut t, &c.1, &row(&n.to_be_bytes(), &[n as u8; 20])).unwrap();
        }
        db.txns.commit(&p, &mut t, &NoHook).unwrap();
        let s = db.now(&p, &t);
        let mut one_get = 0;
        for n in 0..520u32 {
            let before = p.stats().get(Stat::ConsistentGetsExamination);
            let rows = lookup(&db, &c, &p, &s, &n.to_be_bytes()).unwrap();
            one_get += u32::from(p.stats().get(Stat::ConsistentGetsExamination) == before + 1);
            let want: Vec<Vec<u8>> = if n < 500 { vec![vec![n as u8; 20]] } else { Vec::new() };
            assert_eq!(rows.into_iter().map(|r| r.1).collect::<Vec<_>>(), want, "key {n}");
        }
        assert!(one_get > 400, "{one_get} of 520 lookups took one get");
    }
}

#[test]
fn the_cluster_has_the_blocks_its_hashkeys_and_size_ask_for() {
    let db = database(&shape());
    let p = db.attach();
    let (clusters, c) = make(&db, &p, 1000, 100, &[0]);
    assert_eq!(c.geometry.hash_buckets, 1009);
    let usable = block::data::capacity(BLOCK, 2) as u32;
    assert_eq!(c.geometry.home_blocks, 1009u32.div_ceil(usable / 100));
    // An empty cluster can be read.
    let t = Txn::new();
    let mut scan = ClusterScan::new();
    scan.start(&clusters, &p, &db.now(&p, &t), &c).unwrap();
    assert!(scan.next(&clusters, &p).unwrap().is_none());
    assert!(clusters.describe(&p, ObjectId(91), ObjectId(90), c.header, &[0]).is_ok());
}

#[test]
fn a_key_with_more_rows_than_a_block_overflows_and_long_rows_are_whole() {
    let db = database(&shape());
    let p = db.attach();
    let c = make(&db, &p, 11, 100, &[0]);
    let (mut t, mut random) = (Txn::new(), Random::new(3));
    let mut model: BTreeMap<u8, Vec<(Rowid, Vec<u8>)>> = BTreeMap::new();
    for n in 0..400 {
        let (key, len) = (random.below(6) as u8, [10, 10, 80, 1200, 4000][n % 5]);
        let value = random.bytes(len);
        let rowid = c.0.insert(&p, &mut t, &c.1, &row(&[key], &value)).unwrap();
        model.entry(key).or_default().push((rowid, value));
    }
    let check = |t: &Txn, model: &BTreeMap<u8, Vec<(Rowid, Vec<u8>)>>| {
        let s = db.now(&p, t);
        let mut found = 0;
        for (key, want) in model {
            let mut want = want.clone();
            want.sort();
            found += want.len();
            assert_eq!(lookup(&db, &c, &p, &s, &[*key]).unwrap(), want);
        }
        let (mut scan, mut seen) = (ClusterScan::new(), 0);
        scan.start(&c.0, &p, &s, &c.1).unwrap();
        while let Some((rowid, bytes)) = scan.next(&c.0, &p).unwrap() {
            let key = RowReader::new(bytes).unwrap().column(0).unwrap().bytes().unwrap()[0];
            assert!(model[&key].contains(&(rowid, value_of(bytes))));
            seen += 1;
        }
        assert_eq!(seen, found);
    };
    check(&t, &model);
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let kept = model.clone();
    for n in 0..300 {
        let key = random.below(6) as u8;
        let rows = model.get_mut(&key).unwrap();
        if rows.is_empty() {
            continue;
        }
        let i = random.below(rows.len());
        let s = db.now(&p, &t);
        if n % 3 == 0 {
            let (rowid, _) = rows.swap_remove(i);
            assert_eq!(c.0.delete(&p, &mut t, &c.1, rowid, &s, LockWait::NoWait).unwrap(), RowOutcome::Done);
        } else {
            let len = [5, 300, 1500, 30][n % 4];
            rows[i].1 = random.bytes(len);
            let new = row(&[key], &rows[i].1);
            assert_eq!(c.0.update(&p, &mut t, &c.1, rows[i].0, &new, &s, LockWait::NoWait).unwrap(), RowOutcome::Done);
        }
    }
    check(&t, &model);
    db.txns.rollback(&p, &mut t).unwrap();
    check(&t, &kept);
    let mut bytes = Vec::new();
    let (rowid, value) = &kept[&0][0];
    assert!(c.0.fetch_by_rowid(&p, &db.now(&p, &t), &c.1, *rowid, &mut bytes).unwrap());
    assert_eq!(&value_of(&bytes), value);
    drop(p);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn keys_of_several_columns_anywhere_in_the_row_are_told_apart() {
    let db = database(&shape());
    let p = db.attach();
    let (clusters, c) = make(&db, &p, 50, 60, &[2, 0]);
    let mut t = Txn::new();
    let parts: [(&[u8], &[u8]); 5] = [(b"a", b"bc"), (b"ab", b"c"), (b"", b"abc"), (b"abc", b""), (b"c", b"ab")];
    let mut rowids = Vec::new();
    for (a, b) in parts {
        let mut bytes = Vec::new();
        let mut w = RowWriter::new(&mut bytes, 3);
        w.bytes(a);
        w.bytes(b"filler");
        w.bytes(b);
        rowids.push(clusters.insert(&p, &mut t, &c, &bytes).unwrap());
    }
    let (s, mut rows) = (db.now(&p, &t), RowSet::new());
    for ((a, b), rowid) in parts.into_iter().zip(rowids) {
        let mut key = Vec::new();
        let mut w = RowWriter::new(&mut key, 2);
        w.bytes(b);
        w.bytes(a);
        clusters.lookup(&p, &s, &c, &key, &mut rows).unwrap();
        assert_eq!((0..rows.len()).map(|i| rows.get(i).0).collect::<Vec<_>>(), [rowid]);
    }
}

/// A commit: its SCN, and for each key its values from then on.
type Commit = (Scn, BTreeMap<u8, Vec<Vec<u8>>>);

/// A lookup: the snapshot, the key, the values it found.
type Reading = (Snapshot, u8, Vec<Vec<u8>>);

#[test]
fn lookups_agree_with_a_model_while_others_commit() {
    let db = database(&shape());
    let p = db.attach();
    let c = make(&db, &p, 23, 90, &[0]);
    let commits: Mutex<Vec<Commit>> = Mutex::new(Vec::new());
    let readings: Mutex<Vec<Reading>> = Mutex::new(Vec::new());
    testing::run_threads(db.all, 3, |p, n| {
        let mut random = Random::new(77 + n as u64);
        if n > 0 {
            // A reader: keeps a snapshot for a while and looks keys up through it.
            let t = Txn::new();
            for _ in 0..60 {
                let s = db.txns.snapshot(p, &t);
                for _ in 0..12 {
                    let key = random.below(20) as u8;
                    if let Ok(rows) = lookup(&db, &c, p, &s, &[key]) {
                        let mut values: Vec<Vec<u8>> = rows.into_iter().map(|r| r.1).collect();
                        values.sort();
                        readings.lock().unwrap().push((s, key, values));
                    }
                }
                db.txns.release(p, &s);
            }
            return;
        }
        // The only writer.
        let (mut t, mut state) = (Txn::new(), BTreeMap::<u8, Vec<(Rowid, Vec<u8>)>>::new());
        for _ in 0..150 {
            let (before, mut touched) = (state.clone(), Vec::new());
            for _ in 0..random.below(5) + 1 {
                let (key, len) = (random.below(20) as u8, [4, 40, 400, 2500][random.below(4)]);
                let value = random.bytes(len);
                let rows = state.entry(key).or_default();
                touched.push(key);
                let s = db.txns.snapshot(p, &t);
                if rows.is_empty() || random.below(3) == 0 {
                    rows.push((c.0.insert(p, &mut t, &c.1, &row(&[key], &value)).unwrap(), value));
                } else if random.below(2) == 0 {
                    let i = random.below(rows.len());
                    let (rowid, _) = rows.swap_remove(i);
                    c.0.delete(p, &mut t, &c.1, rowid, &s, LockWait::NoWait).unwrap();
                } else {
                    let i = random.below(rows.len());
                    c.0.update(p, &mut t, &c.1, rows[i].0, &row(&[key], &value), &s, LockWait::NoWait).unwrap();
                    rows[i].1 = value;
                }
                db.txns.release(p, &s);
            }
            if random.below(4) == 0 {
                db.txns.rollback(p, &mut t).unwrap();
                state = before;
                continue;
            }
            let scn = db.txns.commit(p, &mut t, &NoHook).unwrap();
            let sorted = |key: &u8| {
                let mut values: Vec<Vec<u8>> = state[key].iter().map(|r| r.1.clone()).collect();
                values.sort();
                (*key, values)
            };
            commits.lock().unwrap().push((scn, touched.iter().map(sorted).collect()));
        }
    });
    let (commits, readings) = (commits.into_inner().unwrap(), readings.into_inner().unwrap());
    assert!(readings.len() > 1000, "{} readings", readings.len());
    for (s, key, values) in &readings {
        let last = commits.iter().rev().filter(|(scn, _)| *scn <= s.scn).find_map(|(_, keys)| keys.get(key));
        assert_eq!(values, last.unwrap_or(&Vec::new()), "key {key} as of {:?}", s.scn);
    }
    drop(p);
    db.cache.assert_invariants().unwrap();
}
