//! Indexes as the executor uses them: key bytes in, rowids out.

use crate::ctx::ExecCtx;
use crate::machine::Machine;
use dictionary::{IndexDef, IndexKey};
use plan::Reg;
use std::rc::Rc;
use txn::Snapshot;
use types::{Ora, Result, Rowid, Value, codec};

/// An index with its key columns worked out.
pub struct Index {
    pub def: Rc<IndexDef>,
    /// Position of the table's column and whether it is descending.
    pub columns: Vec<(usize, bool)>,
}

impl Index {
    /// # Errors
    /// ORA-03001 for a key that is an expression.
    pub fn of(def: &Rc<IndexDef>) -> Result<Index> {
        let columns = def
            .columns
            .iter()
            .map(|c| match c.key {
                IndexKey::Column(at) => Ok((at, c.descending)),
                IndexKey::Expression { .. } => Err(Ora::unsupported()),
            })
            .collect::<Result<_>>()?;
        Ok(Index { def: def.clone(), columns })
    }

    /// The key of a row whose columns are in `row`. False when all parts are NULL: such a row has no entry.
    pub fn key(&self, row: &[Reg], m: &mut Machine, out: &mut Vec<u8>) -> bool {
        let mut any = false;
        for &(column, descending) in &self.columns {
            any |= push_value(m, row[column], descending, out);
        }
        any
    }

    pub fn touches(&self, columns: &[u16]) -> bool {
        self.columns.iter().any(|(c, _)| columns.contains(&(*c as u16)))
    }
}

/// Appends a register's value as a key part. False when it is NULL.
pub fn push_value(m: &mut Machine, r: Reg, descending: bool, out: &mut Vec<u8>) -> bool {
    if m.value(r).is_null() {
        codec::push_key_part(None, descending, out);
        return false;
    }
    let mut stored = std::mem::take(&mut m.scratch);
    stored.clear();
    codec::encode(m.value(r), &mut stored);
    codec::push_key_part(Some(&stored), descending, out);
    m.scratch = stored;
    true
}

/// The smallest byte string after all that begin with `prefix`. Empty: there is none.
pub fn successor(prefix: &mut Vec<u8>) {
    while let Some(last) = prefix.last_mut() {
        if *last < 0xFF {
            *last += 1;
            return;
        }
        prefix.pop();
    }
}

/// A range scan: rowids of the entries in `[low, high)`.
#[derive(Default)]
pub struct Range {
    rows: Vec<Rowid>,
    at: usize,
}

impl Range {
    pub fn start(
        &mut self,
        _index: &Index,
        _low: &[u8],
        _high: &[u8],
        _descending: bool,
        _s: &Snapshot,
        _cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        self.rows.clear();
        self.at = 0;
        Err(Ora::unsupported())
    }

    pub fn next(&mut self, _cx: &mut ExecCtx<'_>) -> Result<Option<Rowid>> {
        let row = self.rows.get(self.at).copied();
        self.at += 1;
        Ok(row)
    }
}

/// The row of a whole key of a unique index.
pub fn probe(_index: &Index, _key: &[u8], _s: &Snapshot, _cx: &mut ExecCtx<'_>) -> Result<Option<Rowid>> {
    Err(Ora::unsupported())
}

/// Adds an entry.
///
/// # Errors
/// ORA-00001 when the index is unique and has the key already.
pub fn insert(_index: &Index, _key: &[u8], _rowid: Rowid, _cx: &mut ExecCtx<'_>) -> Result<()> {
    Err(Ora::unsupported())
}

/// Takes an entry away.
pub fn delete(_index: &Index, _key: &[u8], _rowid: Rowid, _cx: &mut ExecCtx<'_>) -> Result<()> {
    Err(Ora::unsupported())
}

/// ORA-00001 for an index: the name is the constraint's, which the index shares.
pub fn violated(index: &IndexDef) -> Ora {
    Ora::with(1, &[&index.owner, &index.name])
}

/// A rowid in a register.
pub fn rowid_of(v: &Value) -> Option<Rowid> {
    match v {
        Value::Rowid(r) => Some(*r),
        _ => None,
    }
}
