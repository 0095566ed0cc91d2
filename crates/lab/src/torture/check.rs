//! The tables of the run, and the comparison of their contents after a death.

use super::mind::{ACCOUNTS, Item, Mind, OPENING, Scratch, Vault, ordered_bytes};
use super::query::{Check, Trouble, n, numbers, numbers_of, rows, same, trouble};
use super::{relations, vault};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use client::Client;
use types::Value;

/// Time limit for the cleanup of a dead session.
const CLEAN_UP_LIMIT: Duration = Duration::from_secs(30);

/// The tables, with different kinds of keys: ascending, random, wide rows, a hash cluster.
const SETUP: &[&str] = &[
    "create table accounts (id number not null, balance number not null, constraint accounts_pk primary key (id))",
    "create table progress (worker number not null, seq number not null, constraint progress_pk primary key (worker))",
    "create table ledger (worker number not null, seq number not null, amount number,
       constraint ledger_pk primary key (worker, seq))",
    "create index ledger_seq on ledger (seq, worker)",
    "create table items (worker number not null, id number not null, v number not null, r number not null,
       p1 varchar2(4000), p2 varchar2(4000), p3 varchar2(4000), constraint items_pk primary key (worker, id))",
    "create index items_r on items (r, worker, id)",
    "create index items_v on items (v)",
    "create cluster hashed_cluster (id number) size 100 hashkeys 200 single table",
    "create table hashed (id number, worker number, v number) cluster hashed_cluster (id)",
    "create table ordered (worker number, id number, v number, t varchar2(400),
       constraint ordered_pk primary key (worker, id)) organization index",
    "create sequence numbers_seq cache 20",
    "create table numbers (n number not null, worker number not null, constraint numbers_pk primary key (n))",
];

/// For each table its indexes, each with one of its columns that is never null and a condition that all rows satisfy.
const INDEXES: &[(&str, &[(&str, &str)])] = &[
    ("accounts", &[("accounts_pk", "id >= 0")]),
    ("progress", &[("progress_pk", "worker >= 0")]),
    ("ledger", &[("ledger_pk", "worker >= 0"), ("ledger_seq", "seq >= 0")]),
    ("items", &[("items_pk", "worker >= 0"), ("items_r", "r >= 0"), ("items_v", "v >= 0")]),
    ("numbers", &[("numbers_pk", "n >= 0")]),
];

/// Creates the tables for this many workers.
pub fn set_up(c: &mut Client, workers: usize) -> client::ClientResult<()> {
    for sql in SETUP.iter().chain(relations::SETUP) {
        c.execute(sql, &[])?;
    }
    c.execute(
        &format!("insert into accounts select level - 1, {OPENING} from dual connect by level <= {ACCOUNTS}"),
        &[],
    )?;
    c.execute(&format!("insert into progress select level - 1, 0 from dual connect by level <= {workers}"), &[])?;
    c.commit()
}

/// Waits until a dead server process has left the views: then its transaction is decided and its locks are free.
pub fn wait_cleaned_up(c: &mut Client, process: u32) -> Check<()> {
    let begun = Instant::now();
    let sql = format!("select count(*) from v$process where spid = '{process}'");
    while numbers_of(c, &sql, &[])?[0][0] > 0 {
        if begun.elapsed() > CLEAN_UP_LIMIT {
            return Err(Trouble::Wrong(format!("the dead process {process} is not cleaned up")));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Determines the outcome of the transaction and the DDL in flight.
pub fn settle(c: &mut Client, mind: &mut Mind) -> Check<()> {
    let sql = "select seq from progress where worker = :1 for update";
    let seen = numbers_of(c, sql, &[n(mind.worker as i64)])?;
    c.rollback().map_err(|e| trouble(&e, "rollback"))?;
    let Some(seq) = seen.first().map(|row| row[0]) else {
        return Err(Trouble::Wrong(format!("worker {} has no row in progress", mind.worker)));
    };
    let seen = scratch(c, &mind.scratch_name())?;
    let known: Vec<Vault> = [mind.vault_pending, Some(mind.vault)].into_iter().flatten().collect();
    let vault = vault::seen(c, mind.worker, &known)?;
    let died = mind.instance_died;
    mind.settle(seq).map_err(Trouble::Wrong)?;
    mind.settle_scratch(seen, died).map_err(Trouble::Wrong)?;
    mind.settle_vault(vault, died).map_err(Trouble::Wrong)
}

/// Adopts the state of a worker's own table and tablespace in a restored database; the tablespace is brought online.
pub fn adopt(c: &mut Client, mind: &mut Mind) -> Check<()> {
    let worker = mind.worker;
    mind.scratch = scratch(c, &mind.scratch_name())?;
    mind.vault = vault::seen(c, worker, &[])?;
    if mind.vault.exists && !mind.vault.online {
        let sql = format!("alter tablespace ts_{worker} online");
        c.execute(&sql, &[]).map_err(|e| trouble(&e, &sql))?;
        mind.vault = vault::seen(c, worker, &[])?;
    }
    Ok(())
}

/// The state of a worker's own table; its index must have the same rows.
fn scratch(c: &mut Client, name: &str) -> Check<Scratch> {
    if numbers_of(c, &format!("select count(*) from user_tables where table_name = '{name}'"), &[])?[0][0] == 0 {
        return Ok(Scratch::default());
    }
    let all = numbers_of(c, &format!("select count(*), sum(length(t)), sum(id) from {name}"), &[])?.remove(0);
    same(&format!("{name}: the rows' texts"), &all[1], &(all[0] * 50))?;
    let sql = format!("select count(*) from user_indexes where index_name = '{name}_I'");
    let indexed = numbers_of(c, &sql, &[])?[0][0] > 0;
    if indexed {
        let sql = format!("select /*+ index(s {name}_i) */ count(*), sum(id) from {name} s where id >= 0");
        same(&format!("{name}: rows by its index"), &numbers_of(c, &sql, &[])?[0], &vec![all[0], all[2]])?;
    }
    Ok(Scratch { exists: true, rows: all[0], indexed })
}

/// Compares sums over the worker's rows, as a quick check during the run.
pub fn own_sums(c: &mut Client, mind: &Mind) -> Check<()> {
    let (state, worker) = (&mind.state, mind.worker);
    let sums = |sql: &str, c: &mut Client| numbers_of(c, sql, &[n(worker as i64)]).map(|mut r| r.remove(0));
    let lengths = |which: usize| state.items.values().map(|i| i.texts[which] as i64).sum::<i64>();
    let seen = sums(
        "select count(*), sum(v), sum(r), sum(length(p1)), sum(length(p2)), sum(length(p3)) from items where worker = :1",
        c,
    )?;
    let want = vec![
        state.items.len() as i64,
        state.items.values().map(|i| i.v).sum(),
        state.items.iter().map(|(id, i)| i.spread(*id)).sum(),
        lengths(0),
        lengths(1),
        lengths(2),
    ];
    same(&format!("worker {worker}: sums of items"), &seen, &want)?;
    let seen = sums("select count(*), sum(amount) from ledger where worker = :1", c)?;
    same(
        &format!("worker {worker}: sums of the ledger"),
        &seen,
        &vec![state.ledger.len() as i64, state.ledger.values().sum()],
    )?;
    let seen = sums("select count(*), sum(v) from hashed where worker = :1", c)?;
    same(
        &format!("worker {worker}: sums of the cluster"),
        &seen,
        &vec![state.hashed.len() as i64, state.hashed.values().sum()],
    )?;
    let seen = sums("select count(*), sum(v), sum(length(t)) from ordered where worker = :1", c)?;
    let bytes = state.ordered.values().map(|v| ordered_bytes(*v)).sum();
    same(
        &format!("worker {worker}: sums of the index-organised table"),
        &seen,
        &vec![state.ordered.len() as i64, state.ordered.values().sum(), bytes],
    )?;
    relations::own_sums(c, mind)
}

/// Compares all tables with the workers' minds, row by row and column by column.
pub fn everything(c: &mut Client, minds: &mut [Mind]) -> Check<()> {
    for mind in minds.iter_mut() {
        settle(c, mind)?;
        own_sums(c, mind)?;
        own_rows(c, mind)?;
    }
    accounts(c, minds)?;
    indexes(c)
}

fn own_rows(c: &mut Client, mind: &Mind) -> Check<()> {
    let (state, worker) = (&mind.state, mind.worker);
    let by_worker = [n(worker as i64)];
    let found = rows(c, "select id, v, r, p1, p2, p3 from items where worker = :1 order by id", &by_worker)?;
    let mut seen = BTreeMap::new();
    for (row, key) in found.iter().zip(numbers(&found)) {
        let text = |at: usize| match &row[at] {
            Value::Text(s) => s.as_str(),
            _ => "",
        };
        let item = Item { v: key[1], texts: [text(3).len(), text(4).len(), text(5).len()] };
        same(&format!("worker {worker}: column r of item {}", key[0]), &key[2], &item.spread(key[0]))?;
        for which in 0..3 {
            if text(3 + which) != item.text(key[0], which) {
                return Err(Trouble::Wrong(format!("worker {worker}: item {} has a wrong text {which}", key[0])));
            }
        }
        seen.insert(key[0], item);
    }
    same(&format!("worker {worker}: items"), &seen, &state.items)?;
    let pairs = |sql: &str, c: &mut Client| -> Check<BTreeMap<i64, i64>> {
        Ok(numbers_of(c, sql, &by_worker)?.iter().map(|r| (r[0], r[1])).collect())
    };
    let ledger = pairs("select seq, amount from ledger where worker = :1", c)?;
    same(&format!("worker {worker}: ledger"), &ledger, &state.ledger)?;
    let hashed = pairs("select id, v from hashed where worker = :1", c)?;
    same(&format!("worker {worker}: cluster"), &hashed, &state.hashed)?;
    let ordered = pairs("select id, v from ordered where worker = :1", c)?;
    same(&format!("worker {worker}: index-organised table"), &ordered, &state.ordered)?;
    let stored = numbers_of(c, "select n from numbers where worker = :1", &by_worker)?;
    let stored = stored.iter().map(|r| r[0]).collect();
    same(&format!("worker {worker}: sequence values"), &stored, &state.numbers)?;
    relations::own_rows(c, mind)
}

fn accounts(c: &mut Client, minds: &[Mind]) -> Check<()> {
    let mut want = vec![OPENING; ACCOUNTS];
    for mind in minds {
        want.iter_mut().zip(&mind.state.moved).for_each(|(w, m)| *w += m);
    }
    let seen = numbers_of(c, "select balance from accounts order by id", &[])?;
    same("balances", &seen.into_iter().map(|r| r[0]).collect::<Vec<_>>(), &want)
}

/// Compares every index with its table, indexes that workers built online included.
fn indexes(c: &mut Client) -> Check<()> {
    let sql = "select index_name from user_indexes where index_name like 'ITEMS_X%' and status = 'VALID'";
    let online = rows(c, sql, &[])?;
    let online: Vec<(&str, &str)> = online
        .iter()
        .filter_map(|row| if let Value::Text(name) = &row[0] { Some((name.as_str(), "v >= 0")) } else { None })
        .collect();
    for (table, all) in INDEXES.iter().chain(relations::INDEXES).copied().chain([("items", online.as_slice())]) {
        for (index, condition) in all {
            let column = condition.split(' ').next().unwrap_or("1");
            let sum =
                |hint: &str| format!("select /*+ {hint} */ count(*), sum({column}) from {table} t where {condition}");
            let full = numbers_of(c, &sum("full(t)"), &[])?;
            let by_index = numbers_of(c, &sum(&format!("index(t {index})")), &[])?;
            same(&format!("{table} by {index} and by itself"), &by_index, &full)?;
        }
    }
    Ok(())
}
