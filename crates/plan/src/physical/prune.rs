//! The partitions that a scan of a partitioned table reads.

use super::access::Wanted;
use crate::block_names::ItemId;
use crate::ir::*;
use crate::scope::*;
use dictionary::{ColumnSet, Partitioning, TableDef};
use std::rc::Rc;
use types::{Value, codec};

impl Compiler<'_> {
    /// The limits that the conditions set to the partitioning key of a table.
    pub(super) fn prune(&self, id: ItemId, table: &TableDef, conds: &[Expr]) -> Option<Box<Prune>> {
        let of = table.partitioning()?;
        let mut prune = self.partition_items.get(&id).cloned().unwrap_or_default();
        for &column in &of.columns {
            prune.columns.push(self.wanted(id, column, conds));
        }
        while prune.columns.last() == Some(&PruneColumn::Any) {
            prune.columns.pop();
        }
        Some(Box::new(prune))
    }

    fn wanted(&self, id: ItemId, column: usize, conds: &[Expr]) -> PruneColumn {
        match self.wanted_values(id, column, conds) {
            Wanted::Any => PruneColumn::Any,
            Wanted::Null => PruneColumn::Null,
            Wanted::In(keys) => PruneColumn::In(keys),
            Wanted::Between(low, high) => PruneColumn::Between(low, high),
        }
    }

    /// The share of a table's partitions that a scan reads, estimated.
    pub(super) fn share_of_partitions(&self, id: ItemId, table: &TableDef, conds: &[Expr]) -> f64 {
        let (Some(of), Some(prune)) = (table.partitioning(), self.prune(id, table, conds)) else { return 1.0 };
        let all = of.partitions.len() as f64;
        let read = match places(of, table, &prune) {
            Some(places) => places.len() as f64,
            None if prune.is_named() => 1.0,
            None => match prune.columns.first() {
                Some(PruneColumn::In(keys)) => keys.len() as f64,
                Some(PruneColumn::Null) => 1.0,
                Some(PruneColumn::Between(Some(_), Some(_))) => all / 20.0,
                Some(PruneColumn::Between(..)) => all / 4.0,
                _ => all,
            },
        };
        (read.max(1.0) / all).min(1.0)
    }
}

/// The positions of the partitions that are read, if they are known when the statement is compiled.
pub fn places(of: &Rc<Partitioning>, table: &TableDef, prune: &Prune) -> Option<Vec<u32>> {
    let sets = prune.columns.iter().enumerate().map(|(n, column)| {
        let part = |key: &Key| constant_part(key, table, of.columns[n]);
        Some(match column {
            PruneColumn::Any => ColumnSet::Any,
            PruneColumn::In(keys) => ColumnSet::Parts(keys.iter().map(part).collect::<Option<_>>()?),
            PruneColumn::Null => ColumnSet::Parts(vec![null_part()]),
            PruneColumn::Between(low, high) => {
                let side = |bound: &Option<(Key, bool)>| match bound {
                    Some((key, with)) => part(key).map(|part| Some((part, *with))),
                    None => Some(None),
                };
                // NULL is above all values, and in no range.
                ColumnSet::Between(side(low)?, side(high)?.or_else(|| Some((null_part(), false))))
            }
        })
    });
    let mut places = of.select(&sets.collect::<Option<Vec<_>>>()?);
    if let Some(only) = prune.place {
        places.retain(|place| *place == only);
    }
    if !prune.of.is_empty() {
        let parts = prune.of.iter().zip(&of.columns).map(|(key, column)| constant_part(key, table, *column));
        let only = of.place_of_key(&parts.collect::<Option<Vec<_>>>()?.concat());
        places.retain(|place| Some(*place as usize) == only);
    }
    Some(places)
}

/// The part of NULL in a key.
pub fn null_part() -> Vec<u8> {
    let mut part = Vec::new();
    codec::push_key_part(None, false, &mut part);
    part
}

/// The part of a key for a constant, unless it has to be converted to the form of the column.
fn constant_part(key: &Key, table: &TableDef, column: usize) -> Option<Vec<u8>> {
    let Node::Const(value) = &key.value.node else { return None };
    if key.padded || *value == Value::Null || !table.columns[column].data_type.takes(value) {
        return None;
    }
    let (mut stored, mut part) = (Vec::new(), Vec::new());
    codec::encode_instant(value, &mut stored);
    codec::push_key_part(Some(&stored), false, &mut part);
    Some(part)
}
