//! The partitions that a scan reads, found each time it is opened (E35).

use super::key_ranges::KeyCode;
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::index::push_value;
use crate::machine::Machine;
use dictionary::{ColumnSet, Partitioning};
use plan::PruneColumn;
use std::cmp::Ordering;
use std::rc::Rc;
use types::{Ora, Result};

/// A scan of partitions, one after the other.
pub(super) struct Partitions {
    pub(super) of: Rc<Partitioning>,
    pub(super) table: types::ObjectId,
    columns: Vec<Column>,
    place: Option<u32>,
    named: Vec<KeyCode>,
    /// The partitions of the present execution, and the number of them that were begun.
    list: Vec<u32>,
    begun: usize,
}

/// A bound on a column, and whether it is included.
type Side = Option<(KeyCode, bool)>;

enum Column {
    Any,
    In(Vec<KeyCode>),
    Null,
    Between(Side, Side),
}

impl Partitions {
    pub(super) fn build(s: &plan::Scan, of: &Rc<Partitioning>, b: &mut Builder<'_>) -> Partitions {
        let prune = s.prune.as_deref().cloned().unwrap_or_default();
        let ty = |n: usize| s.table.columns[of.columns[n]].data_type;
        let mut columns = Vec::new();
        for (n, column) in prune.columns.iter().enumerate() {
            let mut side = |bound: &Option<(plan::Key, bool)>| {
                bound.as_ref().map(|(key, with)| (KeyCode::build(key, ty(n), b), *with))
            };
            columns.push(match column {
                PruneColumn::Any => Column::Any,
                PruneColumn::Null => Column::Null,
                PruneColumn::Between(low, high) => Column::Between(side(low), side(high)),
                PruneColumn::In(keys) => Column::In(keys.iter().map(|key| KeyCode::build(key, ty(n), b)).collect()),
            });
        }
        let named = prune.of.iter().enumerate().map(|(n, key)| KeyCode::build(key, ty(n), b)).collect();
        let (of, table) = (of.clone(), s.table.object);
        Partitions { of, table, columns, place: prune.place, named, list: Vec::new(), begun: 0 }
    }

    /// Finds the partitions to be read.
    ///
    /// # Errors
    /// ORA-02149 when the statement names a partition that does not exist.
    pub(super) fn start(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.begun = 0;
        let mut sets = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            sets.push(match column {
                Column::Any => ColumnSet::Any,
                Column::Null => ColumnSet::Parts(vec![null()]),
                Column::In(keys) => {
                    let mut parts = Vec::with_capacity(keys.len());
                    for key in keys {
                        parts.extend(exact(key, m, cx)?);
                    }
                    ColumnSet::Parts(parts)
                }
                Column::Between(low, high) => match (bound(low, false, m, cx)?, bound(high, true, m, cx)?) {
                    // No value is above or below NULL.
                    (None, _) | (_, None) => ColumnSet::Parts(Vec::new()),
                    // NULL is above all values, and in no range.
                    (Some(low), Some(None)) => ColumnSet::Between(low, Some((null(), false))),
                    (Some(low), Some(high)) => ColumnSet::Between(low, high),
                },
            });
        }
        self.list = self.of.select(&sets);
        if let Some(place) = self.place {
            self.list.retain(|at| *at == place);
        }
        if !self.named.is_empty() {
            let mut key = Vec::new();
            for value in &self.named {
                let (r, _) = value.eval(m, cx)?;
                push_value(m, r, false, &mut key);
            }
            let place = self.of.place_of_key(&key).ok_or_else(|| Ora::new(2149))? as u32;
            self.list.retain(|at| *at == place);
        }
        Ok(())
    }

    /// The position of the next partition.
    pub(super) fn next(&mut self) -> Option<usize> {
        let place = self.list.get(self.begun)?;
        self.begun += 1;
        Some(*place as usize)
    }
}

fn null() -> Vec<u8> {
    let mut part = Vec::new();
    types::codec::push_key_part(None, false, &mut part);
    part
}

/// The part of a key for a value that a column equals; none when nothing can equal it.
fn exact(key: &KeyCode, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Option<Vec<u8>>> {
    let Some(r) = key.exact(m, cx)? else { return Ok(None) };
    let mut part = Vec::new();
    Ok(push_value(m, r, false, &mut part).then_some(part))
}

/// A bound as a part of a key; the outer `None` when it is NULL, the inner one when there is no bound.
#[allow(clippy::type_complexity)]
fn bound(side: &Side, upper: bool, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Option<Option<(Vec<u8>, bool)>>> {
    let Some((key, with)) = side else { return Ok(Some(None)) };
    let (r, cut) = key.eval(m, cx)?;
    let mut part = Vec::new();
    if !push_value(m, r, false, &mut part) {
        return Ok(None);
    }
    // The bound was cut to the length of the column (E29).
    let with = match (cut, upper) {
        (Ordering::Equal, _) => *with,
        (cut, false) => cut.is_lt(),
        (cut, true) => cut.is_gt(),
    };
    Ok(Some(Some((part, with))))
}
