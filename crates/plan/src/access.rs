//! Access paths: how the rows of one table are reached.

use crate::ir::*;
use crate::scope::*;
use crate::typing::*;
use dictionary::{IndexDef, IndexKey, IndexKind, Organization, TableDef};
use sql::ast;
use std::rc::Rc;
use types::DataType;

/// A way into a table and what it is expected to cost.
pub struct Access {
    pub access: crate::ir::Access,
    /// Conditions it answers exactly, as positions in the list given.
    pub used: Vec<usize>,
    pub rows: f64,
    /// Blocks read and rows looked at, in one unit.
    pub cost: f64,
}

/// A condition on a column, in the form `column op value`.
struct Bound<'a> {
    at: usize,
    op: CmpOp,
    value: &'a Expr,
}

/// Rows and blocks of a table nobody has analysed.
const UNKNOWN_ROWS: f64 = 1000.0;
const UNKNOWN_BLOCKS: f64 = 20.0;

impl Compiler<'_> {
    /// The cheapest way to the rows of `table` that meet `conds`. Registers that are not the table's own count as known.
    pub fn choose_access(&self, id: ItemId, table: &Rc<TableDef>, conds: &[Expr], hints: &[ast::Hint]) -> Access {
        let (table_rows, blocks) = size_of(table);
        let mut rows = table_rows;
        for c in conds {
            rows *= selectivity(c, table_rows);
        }
        let mut best = Access {
            access: crate::ir::Access::Full,
            used: Vec::new(),
            rows: rows.max(0.01),
            cost: blocks + table_rows * 0.02,
        };
        if let Some(by_rowid) = self.rowid_access(id, conds) {
            return by_rowid;
        }
        if let Organization::HashCluster { key_positions, .. } = &table.organization
            && let Some(hashed) = self.hash_access(id, table, key_positions, conds, table_rows)
        {
            return hashed;
        }
        let alias = &self.items[id].alias;
        let for_table =
            |name: &str| hints.iter().find(|h| h.name == name && h.args.first().is_some_and(|a| a == alias));
        if for_table("FULL").is_some() && !table.options.index_organized {
            return best;
        }
        let wanted = for_table("INDEX").map(|h| &h.args[1..]);
        let refused = for_table("NO_INDEX").is_some();
        // Indexes keep no entries for versions of rows that only a flashback query sees; an index-organised table keeps the rows.
        let past = self.as_of_items.contains_key(&id);
        for index in &table.indexes {
            if past && index.kind != IndexKind::IotTop {
                continue;
            }
            if index.unusable || index.invisible || refused {
                continue;
            }
            let Some(mut found) = self.index_access(id, table, index, conds, table_rows, rows) else { continue };
            let named = wanted.is_some_and(|names| names.is_empty() || names.contains(&index.name));
            if named || table.options.index_organized {
                found.cost /= 1e6;
            }
            if found.cost < best.cost {
                best = found;
            }
        }
        best
    }

    /// The conditions on column `column` of an item whose other side does not read the item.
    fn bounds<'a>(&self, id: ItemId, column: usize, conds: &'a [Expr]) -> Vec<Bound<'a>> {
        let Some(Expr { node: wanted, ty }) = &self.items[id].columns[column].value else { return Vec::new() };
        let mut found = Vec::new();
        for (at, c) in conds.iter().enumerate() {
            let Node::Cmp(op, Compare::Plain, a, b) = &c.node else { continue };
            let is_column = |e: &Expr| e.node == *wanted;
            let (op, value) = if is_column(a) {
                (*op, &**b)
            } else if is_column(b) {
                (op.swap(), &**a)
            } else {
                continue;
            };
            if op == CmpOp::Ne || is_null(value) || class(&value.ty) != class(ty) || self.reads_item(id, value) {
                continue;
            }
            // A zone makes equal instants of different bytes.
            if matches!(ty, DataType::Timestamp { zone, .. } if *zone != types::Zone::None) {
                continue;
            }
            if matches!(value.ty, DataType::Timestamp { zone, .. } if zone != types::Zone::None) {
                continue;
            }
            found.push(Bound { at, op, value });
        }
        found
    }

    fn recheck(&self, id: ItemId, table: &TableDef, index: &IndexDef) -> Vec<Expr> {
        if !crate::virtuals::has_virtual_key(table, index) {
            return Vec::new();
        }
        let part = |part: &dictionary::IndexColumnDef| match part.key {
            IndexKey::Column(at) => self.items[id].columns[at].value.clone(),
            IndexKey::Expression { .. } => None,
        };
        index.columns.iter().filter_map(part).collect()
    }

    fn reads_item(&self, id: ItemId, e: &Expr) -> bool {
        let mut found = false;
        self.expr_regs(e, &mut |r| found |= self.item_owns(id, r));
        found
    }

    fn equality<'a>(&self, id: ItemId, column: usize, conds: &'a [Expr]) -> Option<Bound<'a>> {
        // Stored CHAR values are padded; the padded comparison is left to the filter.
        if padded_type(&self.items[id].columns[column].ty) {
            return None;
        }
        self.bounds(id, column, conds).into_iter().find(|b| b.op == CmpOp::Eq)
    }

    fn rowid_access(&self, id: ItemId, conds: &[Expr]) -> Option<Access> {
        let rowid = self.items[id].rowid?;
        for (at, c) in conds.iter().enumerate() {
            let Node::Cmp(CmpOp::Eq, _, a, b) = &c.node else { continue };
            let is_rowid = |e: &Expr| matches!(e.node, Node::Reg(r) if r == rowid);
            let value = if is_rowid(a) {
                b
            } else if is_rowid(b) {
                a
            } else {
                continue;
            };
            if class(&value.ty) == Class::Rowid && !self.reads_item(id, value) {
                let access = crate::ir::Access::Rowid((**value).clone());
                return Some(Access { access, used: vec![at], rows: 1.0, cost: 1.0 });
            }
        }
        None
    }

    fn hash_access(
        &self,
        id: ItemId,
        table: &TableDef,
        key: &[usize],
        conds: &[Expr],
        table_rows: f64,
    ) -> Option<Access> {
        let _ = table;
        let mut keys = Vec::new();
        let mut used = Vec::new();
        for &column in key {
            let bound = self.equality(id, column, conds)?;
            keys.push(bound.value.clone());
            used.push(bound.at);
        }
        let rows = (table_rows / 100.0).clamp(1.0, 10.0);
        Some(Access { access: crate::ir::Access::ClusterHash { keys }, used, rows, cost: 1.0 })
    }

    fn index_access(
        &self,
        id: ItemId,
        table: &TableDef,
        index: &Rc<IndexDef>,
        conds: &[Expr],
        table_rows: f64,
        filtered_rows: f64,
    ) -> Option<Access> {
        let mut prefix = Vec::new();
        let mut used = Vec::new();
        let mut rows = table_rows;
        let mut low = None;
        let mut high = None;
        for part in &index.columns {
            let IndexKey::Column(column) = part.key else { break };
            if let Some(bound) = self.equality(id, column, conds) {
                prefix.push(bound.value.clone());
                used.push(bound.at);
                rows *= distinct_share(table, column, table_rows);
                continue;
            }
            if part.descending || padded_type(&self.items[id].columns[column].ty) {
                break;
            }
            for b in self.bounds(id, column, conds) {
                match b.op {
                    CmpOp::Gt | CmpOp::Ge if low.is_none() => {
                        low = Some((b.value.clone(), b.op == CmpOp::Ge));
                        used.push(b.at);
                        rows *= 0.05;
                    }
                    CmpOp::Lt | CmpOp::Le if high.is_none() => {
                        high = Some((b.value.clone(), b.op == CmpOp::Le));
                        used.push(b.at);
                        rows *= 0.05;
                    }
                    _ => {}
                }
            }
            break;
        }
        if prefix.is_empty() && low.is_none() && high.is_none() {
            return None;
        }
        // Reversed keys are not in the order of their values: only whole keys are found.
        if index.kind == IndexKind::Reverse && prefix.len() < index.columns.len() {
            return None;
        }
        let index_only = false;
        let recheck = self.recheck(id, table, index);
        if index.unique && prefix.len() == index.columns.len() {
            let access = crate::ir::Access::IndexUnique { index: index.clone(), keys: prefix, index_only, recheck };
            return Some(Access { access, used, rows: filtered_rows.min(1.0), cost: 1.5 });
        }
        let rows = rows.max(1.0);
        let access = crate::ir::Access::IndexRange {
            index: index.clone(),
            prefix,
            low,
            high,
            descending: false,
            index_only,
            recheck,
        };
        Some(Access { access, used, rows: filtered_rows.min(rows), cost: 2.0 + rows * 0.6 })
    }
}

/// Whether an index has all columns that a scan reads, so that the table need not be visited.
pub fn covers(index: &IndexDef, columns: &[(u16, Reg)]) -> bool {
    let has = |column: u16| index.columns.iter().any(|part| part.key == IndexKey::Column(column.into()));
    matches!(index.kind, IndexKind::Normal) && columns.iter().all(|(column, _)| has(*column))
}

fn padded_type(ty: &DataType) -> bool {
    matches!(ty, DataType::Char { .. } | DataType::Nchar { .. })
}

fn size_of(table: &TableDef) -> (f64, f64) {
    match &table.statistics {
        Some(s) => (s.rows as f64, (s.blocks as f64).max(1.0)),
        None => (UNKNOWN_ROWS, UNKNOWN_BLOCKS),
    }
}

/// The share of rows that has one value of a column.
fn distinct_share(table: &TableDef, column: usize, rows: f64) -> f64 {
    match &table.columns[column].statistics {
        Some(s) if s.distinct > 0 => 1.0 / s.distinct as f64,
        _ => (10.0 / rows.max(10.0)).clamp(0.001, 0.1),
    }
}

/// The share of rows a condition is expected to keep.
fn selectivity(c: &Expr, rows: f64) -> f64 {
    match &c.node {
        Node::Cmp(CmpOp::Eq, ..) => (10.0 / rows.max(10.0)).clamp(0.001, 0.1),
        Node::Cmp(CmpOp::Ne, ..) | Node::Not(_) => 0.9,
        Node::Cmp(..) => 0.25,
        Node::And(conds) => conds.iter().map(|c| selectivity(c, rows)).product(),
        Node::Or(conds) => conds.iter().map(|c| selectivity(c, rows)).sum::<f64>().min(1.0),
        Node::InList { list, negated: false, .. } => (0.02 * list.len() as f64).min(1.0),
        Node::IsNull(_, negated) => {
            if *negated {
                0.95
            } else {
                0.05
            }
        }
        Node::Like { negated: false, .. } => 0.1,
        _ => 0.5,
    }
}
