//! Related rows: parents with children that are deleted with them, links whose keys are checked at the commit, rows
//! from MERGE and FORALL, and temporary rows.

use super::mind::{Family, Mind};
use super::query::{Check, n, numbers_of, same};
use std::collections::BTreeMap;

use client::{Bind, Client};

/// Tables of this part.
pub const SETUP: &[&str] = &[
    "create table parents (worker number not null, id number not null, code number not null, v number,
       constraint parents_pk primary key (worker, id), constraint parents_code unique (code))",
    "create table children (worker number not null, parent number not null, n number not null, v number,
       constraint children_pk primary key (worker, parent, n),
       constraint children_fk foreign key (worker, parent) references parents on delete cascade)",
    // Its foreign key has no index, so the deletion of a parent locks the whole table for a moment.
    "create table notes (worker number not null, n number not null, code number,
       constraint notes_pk primary key (worker, n),
       constraint notes_fk foreign key (code) references parents (code) on delete set null)",
    "create table links (worker number not null, id number not null, next number, place number not null,
       constraint links_pk primary key (worker, id),
       constraint links_place unique (worker, place) deferrable initially deferred,
       constraint links_next foreign key (worker, next) references links deferrable initially deferred)",
    "create table merged (worker number not null, id number not null, v number not null,
       constraint merged_pk primary key (worker, id))",
    "create index merged_v on merged (v, worker)",
    "create global temporary table passing (id number primary key, v number) on commit delete rows",
    "create global temporary table staying (id number, v number) on commit preserve rows",
];

/// Indexes of these tables, in the form of `check`.
pub const INDEXES: &[(&str, &[(&str, &str)])] = &[
    ("parents", &[("parents_pk", "worker >= 0"), ("parents_code", "code >= 0")]),
    ("children", &[("children_pk", "worker >= 0")]),
    ("notes", &[("notes_pk", "worker >= 0")]),
    ("links", &[("links_pk", "worker >= 0"), ("links_place", "worker >= 0")]),
    ("merged", &[("merged_pk", "worker >= 0"), ("merged_v", "v >= 0")]),
];

/// Compares these tables with the worker's mind, row by row.
pub fn own_rows(c: &mut Client, mind: &Mind) -> Check<()> {
    let (kin, worker) = (&mind.state.relations, mind.worker);
    let me: [Bind; 1] = [n(worker as i64)];
    let mut families: BTreeMap<i64, Family> = BTreeMap::new();
    for row in numbers_of(c, "select id, v from parents where worker = :1", &me)? {
        families.insert(row[0], Family { v: row[1], ..Family::default() });
    }
    for row in numbers_of(c, "select parent, n, v from children where worker = :1", &me)? {
        families.entry(row[0]).or_default().children.insert(row[1], row[2]);
    }
    same(&format!("worker {worker}: families"), &families, &kin.families)?;
    let notes = numbers_of(c, "select n, code from notes where worker = :1", &me)?;
    same(&format!("worker {worker}: notes"), &notes.iter().map(|r| (r[0], r[1])).collect(), &kin.notes)?;
    let links = numbers_of(c, "select id, next, place from links where worker = :1", &me)?;
    same(&format!("worker {worker}: links"), &links.iter().map(|r| (r[0], (r[1], r[2]))).collect(), &kin.links)?;
    let merged = numbers_of(c, "select id, v from merged where worker = :1", &me)?;
    same(&format!("worker {worker}: merged rows"), &merged.iter().map(|r| (r[0], r[1])).collect(), &kin.merged)
}

/// Compares sums.
pub fn own_sums(c: &mut Client, mind: &Mind) -> Check<()> {
    let (kin, worker) = (&mind.state.relations, mind.worker);
    let me: [Bind; 1] = [n(worker as i64)];
    let children = |f: &Family| f.children.values().sum::<i64>();
    let sql =
        "select count(*), sum(v), sum((select sum(v) from children c where c.worker = p.worker and c.parent = p.id))
         from parents p where worker = :1";
    let seen = numbers_of(c, sql, &me)?.remove(0);
    let want = vec![
        kin.families.len() as i64,
        kin.families.values().map(|f| f.v).sum(),
        kin.families.values().map(children).sum(),
    ];
    same(&format!("worker {worker}: sums of families"), &seen, &want)?;
    let seen = numbers_of(c, "select count(*), sum(v) from merged where worker = :1", &me)?.remove(0);
    let want = vec![kin.merged.len() as i64, kin.merged.values().sum()];
    same(&format!("worker {worker}: sums of merged rows"), &seen, &want)?;
    let seen = numbers_of(c, "select count(*), sum(next), sum(place) from links where worker = :1", &me)?.remove(0);
    let sum = |f: fn(&(i64, i64)) -> i64| kin.links.values().map(f).sum();
    same(&format!("worker {worker}: sums of links"), &seen, &vec![kin.links.len() as i64, sum(|l| l.0), sum(|l| l.1)])
}
