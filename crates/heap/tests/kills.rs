//! Sessions killed at any instruction: the accounts balance, nothing stays locked, blocks are sound.

mod common;

use buffer_cache::ChainDesign;
use common::{Db, Shape, database, row};
use heap::{HeapTable, RowOutcome, Scan};
use process::Process;
use std::time::Duration;
use testing::Random;
use txn::{LockWait, NoHook, Snapshot, Txn};
use types::{Result, Rowid};

const ACCOUNTS: u32 = 40;
const START: i64 = 1000;

fn account(id: u32, balance: i64, filler: usize) -> Vec<u8> {
    let mut value = balance.to_le_bytes().to_vec();
    value.resize(8 + filler, 0xAB);
    row(id, &value)
}

fn balance(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(common::split(bytes).1[..8].try_into().unwrap())
}

/// Moves money from one account to another in one transaction; gives up after meeting changed or locked rows for too
/// long.
fn transfer(db: &Db, p: &Process, table: &HeapTable, rowids: &[Rowid], random: &mut Random, t: &mut Txn) -> Result<()> {
    let (from, to) = (random.below(rowids.len()), random.below(rowids.len()));
    let amount = random.below(50) as i64;
    for (n, change) in [(from, -amount), (to, amount)] {
        loop {
            let s = db.txns.snapshot(p, t);
            let done = add(db, p, table, n as u32, rowids[n], change, random, t, &s);
            db.txns.release(p, &s);
            if done? == RowOutcome::Done {
                break;
            }
        }
    }
    if random.below(5) == 0 {
        // Rows that are inserted and deleted beside the accounts.
        db.heap.insert(p, t, table, &row(1_000_000 + random.next() as u32 % 1_000_000, &random.bytes(200)))?;
    }
    if random.below(4) == 0 { db.txns.rollback(p, t) } else { db.txns.commit(p, t, &NoHook).map(drop) }
}

#[allow(clippy::too_many_arguments)]
fn add(
    db: &Db,
    p: &Process,
    table: &HeapTable,
    id: u32,
    rowid: Rowid,
    change: i64,
    random: &mut Random,
    t: &mut Txn,
    s: &Snapshot,
) -> Result<RowOutcome> {
    let mut bytes = Vec::new();
    assert!(db.heap.fetch_by_rowid(p, s, table, rowid, &mut bytes)?, "account {id} is gone");
    let filler = [0, 10, 100, 900][random.below(4)];
    let new = account(id, balance(&bytes) + change, filler);
    db.heap.update(p, t, table, rowid, &new, s, LockWait::Seconds(2))
}

fn storm(design: ChainDesign, seed: u64) {
    let db = database(&Shape { design, ..Shape::default() });
    let p = db.attach();
    let table = db.table(&p, 60);
    let mut t = Txn::new();
    let insert = |id| db.heap.insert(&p, &mut t, &table, &account(id, START, 30)).unwrap();
    let rowids: Vec<Rowid> = (0..ACCOUNTS).map(insert).collect();
    db.txns.commit(&p, &mut t, &NoHook).unwrap();
    let storm = |p: &process::Process, seed: u64| {
        let (mut random, mut t) = (Random::new(seed), Txn::new());
        loop {
            if let Err(e) = transfer(&db, p, &table, &rowids, &mut random, &mut t) {
                assert!(e.is(60) || e.is(30006) || e.is(1555), "{e}");
                db.txns.rollback(p, &mut t).unwrap();
            }
        }
    };
    // The rate of kills depends on the machine; the test goes on until there were enough.
    let mut killed = 0;
    for round in 0.. {
        killed += testing::kill_children(&p, 4, Duration::from_millis(1500), seed + round, storm).killed;
        if killed > 100 {
            break;
        }
    }
    assert!(db.txns.transactions().is_empty(), "{:?}", db.txns.transactions());
    db.txns.assert_invariants();
    let (mut scan, mut total, mut accounts) = (Scan::new(), 0, 0);
    scan.start(&db.heap, &p, &db.now(&p, &t), &table).unwrap();
    while let Some((_, bytes)) = scan.next(&db.heap, &p).unwrap() {
        if common::split(bytes).0 < ACCOUNTS {
            (total, accounts) = (total + balance(bytes), accounts + 1);
        }
    }
    assert_eq!(accounts, ACCOUNTS);
    assert_eq!(total, i64::from(ACCOUNTS) * START);
    // Nothing is left locked.
    for id in 0..ACCOUNTS {
        let s = db.now(&p, &t);
        let done = db.heap.lock_row(&p, &mut t, &table, rowids[id as usize], &s, LockWait::NoWait).unwrap();
        assert_eq!(done, RowOutcome::Done);
    }
    db.txns.rollback(&p, &mut t).unwrap();
    db.cache.end_call(&p);
    drop(p);
    db.cache.assert_invariants().unwrap();
}

#[test]
fn accounts_balance_after_a_storm_of_kills() {
    storm(ChainDesign::Versioned, 0x5EED);
}

#[test]
fn accounts_balance_after_a_storm_of_kills_in_the_oldest_design() {
    storm(ChainDesign::Exclusive, 0xFEED);
}

#[test]
fn accounts_balance_after_a_storm_of_kills_with_held_pins() {
    storm(ChainDesign::FastPath, 0xFA57);
}

#[test]
fn accounts_balance_after_a_storm_of_kills_with_shared_gets() {
    storm(ChainDesign::Shared, 0x5A4ED);
}
