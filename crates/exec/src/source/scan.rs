//! Table access: full scans, rowids, indexes, hash clusters.

use crate::code::{Builder, Code, Cond, all_true};
use crate::ctx::ExecCtx;
use crate::index::{self, Index, probe, push_value};
use crate::machine::Machine;
use crate::table::Storage;
use btree::RangeScan;
use cluster::{ClusterScan, RowSet};
use plan::{Access, Reg};
use std::ops::Bound;
use types::row::{RowReader, RowWriter};
use types::{DataType, Ora, Result, Rowid, Value, codec};

/// A column to decode: its place in the row, its register and its type. In the order of the row.
type Wanted = (u16, Reg, DataType);

pub struct Scan {
    storage: Storage,
    path: Path,
    columns: Vec<Wanted>,
    rowid: Option<Reg>,
    filter: Vec<Cond>,
    row: Vec<u8>,
    rows_left: bool,
}

enum Path {
    Heap(heap::Scan),
    Cluster(ClusterScan),
    Rowid(Code),
    Unique { index: Index, keys: Vec<Code>, key: Vec<u8>, found: Vec<Rowid> },
    Range(Box<RangePath>),
    Hash { keys: Vec<Code>, key: Vec<u8>, rows: RowSet, at: usize },
}

struct RangePath {
    index: Index,
    prefix: Vec<Code>,
    low: Option<(Code, bool)>,
    high: Option<(Code, bool)>,
    descending: bool,
    range: RangeScan,
    /// The key of the entry looked at.
    key: Vec<u8>,
    low_key: Vec<u8>,
    high_key: Vec<u8>,
}

impl Scan {
    pub fn build(s: &plan::Scan, b: &mut Builder<'_>) -> Result<Scan> {
        let storage = Storage::of(&s.table, b)?;
        let mut columns: Vec<Wanted> =
            s.columns.iter().map(|&(c, r)| (c, r, s.table.columns[c as usize].data_type)).collect();
        columns.sort_by_key(|c| c.0);
        let path = match &s.access {
            Access::Full => match &storage {
                Storage::Heap(_) => Path::Heap(heap::Scan::new()),
                Storage::Cluster(..) => Path::Cluster(ClusterScan::new()),
            },
            Access::Rowid(e) => Path::Rowid(b.code(e)),
            Access::IndexUnique { index, keys, .. } => Path::Unique {
                index: Index::of(index, &s.table, b)?,
                keys: b.codes(keys),
                key: Vec::new(),
                found: Vec::new(),
            },
            Access::IndexRange { index, prefix, low, high, descending, .. } => {
                let mut side =
                    |x: &Option<(plan::Expr, bool)>| x.as_ref().map(|(e, inclusive)| (b.code(e), *inclusive));
                let (low, high) = (side(low), side(high));
                Path::Range(Box::new(RangePath {
                    index: Index::of(index, &s.table, b)?,
                    prefix: b.codes(prefix),
                    low,
                    high,
                    descending: *descending,
                    range: RangeScan::new(),
                    key: Vec::new(),
                    low_key: Vec::new(),
                    high_key: Vec::new(),
                }))
            }
            Access::ClusterHash { keys } => {
                Path::Hash { keys: b.codes(keys), key: Vec::new(), rows: RowSet::new(), at: 0 }
            }
        };
        let filter = b.conds(&s.filter);
        Ok(Scan { storage, path, columns, rowid: s.rowid, filter, row: Vec::new(), rows_left: false })
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let snapshot = *m.snapshot();
        self.rows_left = true;
        match (&mut self.path, &self.storage) {
            (Path::Heap(scan), Storage::Heap(table)) => scan.start(cx.shared.heap, cx.p, &snapshot, table)?,
            (Path::Cluster(scan), Storage::Cluster(c, _)) => scan.start(cx.shared.clusters, cx.p, &snapshot, c)?,
            (Path::Rowid(_), _) => {}
            (Path::Unique { index, keys, key, found }, _) => {
                key.clear();
                self.rows_left = encode(index, keys, key, m, cx)?;
                found.clear();
                if self.rows_left {
                    probe(index, key, found, cx)?;
                }
            }
            (Path::Range(r), _) => self.rows_left = r.start(m, cx)?,
            (Path::Hash { keys, key, rows, at }, Storage::Cluster(c, _)) => {
                *at = 0;
                key.clear();
                self.rows_left = hash_key(keys, key, m, cx)?;
                if self.rows_left {
                    cx.shared.clusters.lookup(cx.p, &snapshot, c, key, rows)?;
                }
            }
            _ => return Err(Ora::internal("access path does not fit the table")),
        }
        Ok(())
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        while self.rows_left {
            if !self.advance(m, cx)? {
                self.rows_left = false;
                return Ok(false);
            }
            if all_true(&self.filter, m, cx)? {
                return Ok(true);
            }
            cx.p.check_cancel()?;
        }
        Ok(false)
    }

    /// Decodes the next row of the path. False at the end.
    fn advance(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let (rowid, bytes) = match &mut self.path {
            Path::Heap(scan) => match scan.next(cx.shared.heap, cx.p)? {
                Some(found) => found,
                None => return Ok(false),
            },
            Path::Cluster(scan) => match scan.next(cx.shared.clusters, cx.p)? {
                Some(found) => found,
                None => return Ok(false),
            },
            Path::Hash { rows, at, .. } => {
                if *at >= rows.len() {
                    return Ok(false);
                }
                *at += 1;
                rows.get(*at - 1)
            }
            Path::Rowid(code) => {
                self.rows_left = false;
                let r = code.eval(m, cx)?;
                let Value::Rowid(rowid) = *m.value(r) else { return Ok(false) };
                if !fetch(&self.storage, rowid, &mut self.row, m, cx)? {
                    return Ok(false);
                }
                decode(&self.row, rowid, &self.columns, self.rowid, m)?;
                return Ok(true);
            }
            Path::Unique { index, key, found, .. } => loop {
                let Some(rowid) = found.pop() else { return Ok(false) };
                let there = fetch(&self.storage, rowid, &mut self.row, m, cx)?;
                if there && index.matches(&self.row, key, &mut m.scratch)? {
                    break (rowid, &self.row[..]);
                }
            },
            Path::Range(r) => loop {
                let Some((key, rowid)) = r.range.next(cx.shared.btree, cx.p)? else { return Ok(false) };
                r.key.clear();
                r.key.extend_from_slice(key);
                let there = fetch(&self.storage, rowid, &mut self.row, m, cx)?;
                if there && r.index.matches(&self.row, &r.key, &mut m.scratch)? {
                    break (rowid, &self.row[..]);
                }
            },
        };
        decode(bytes, rowid, &self.columns, self.rowid, m)?;
        Ok(true)
    }
}

fn fetch(storage: &Storage, rowid: Rowid, row: &mut Vec<u8>, m: &Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    cx.p.count(wait::Stat::TableFetchByRowid, 1);
    let snapshot = *m.snapshot();
    storage.fetch(cx, rowid, &snapshot, row)
}

/// Decodes the wanted columns of a row into their registers.
#[inline]
fn decode(bytes: &[u8], rowid: Rowid, columns: &[Wanted], rowid_reg: Option<Reg>, m: &mut Machine) -> Result<()> {
    if let Some(r) = rowid_reg {
        m.put(r, Value::Rowid(rowid));
    }
    let mut reader = RowReader::new(bytes).ok_or_else(damaged)?;
    let mut at = 0;
    for (column, reg, ty) in columns {
        while at < *column {
            reader.next_column().ok_or_else(damaged)?;
            at += 1;
        }
        let stored = reader.next_column().ok_or_else(damaged)?;
        at += 1;
        let value = &mut m.regs[*reg as usize];
        match stored.bytes() {
            Some(bytes) => codec::decode_into(bytes, ty, value)?,
            None => *value = Value::Null,
        }
    }
    Ok(())
}

fn damaged() -> Ora {
    Ora::internal("row bytes are damaged")
}

/// Encodes an equality key. False when a part is NULL, which equals nothing.
fn encode(index: &Index, keys: &[Code], out: &mut Vec<u8>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    for (code, (_, descending)) in keys.iter().zip(&index.columns) {
        let r = code.eval(m, cx)?;
        if !push_value(m, r, *descending, out) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The cluster key: a row of the cluster columns. False when a part is NULL.
fn hash_key(keys: &[Code], out: &mut Vec<u8>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    let mut w = RowWriter::new(out, keys.len());
    for code in keys {
        let r = code.eval(m, cx)?;
        let v = m.value(r);
        if v.is_null() {
            return Ok(false);
        }
        w.value(v);
    }
    Ok(true)
}

impl RangePath {
    /// Works out the range and starts it. False: no key can be in it.
    fn start(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.low_key.clear();
        if !encode(&self.index, &self.prefix, &mut self.low_key, m, cx)? {
            return Ok(false);
        }
        self.high_key.clear();
        self.high_key.extend_from_slice(&self.low_key);
        let mut low_inclusive = true;
        let mut high_inclusive = true;
        if let Some((code, inclusive)) = &self.low {
            let r = code.eval(m, cx)?;
            if !push_value(m, r, false, &mut self.low_key) {
                return Ok(false);
            }
            low_inclusive = *inclusive;
        }
        match &self.high {
            Some((code, inclusive)) => {
                let r = code.eval(m, cx)?;
                if !push_value(m, r, false, &mut self.high_key) {
                    return Ok(false);
                }
                high_inclusive = *inclusive;
            }
            // NULLs come after all values, and are in no range.
            None if self.low.is_some() => {
                codec::push_key_part(None, false, &mut self.high_key);
                high_inclusive = false;
            }
            None => {}
        }
        let low = if low_inclusive { Bound::Included(&self.low_key[..]) } else { Bound::Excluded(&self.low_key[..]) };
        let high =
            if high_inclusive { Bound::Included(&self.high_key[..]) } else { Bound::Excluded(&self.high_key[..]) };
        index::start(&mut self.range, &self.index, low, high, self.descending);
        Ok(true)
    }
}
