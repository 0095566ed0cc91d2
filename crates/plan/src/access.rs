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
    /// A hint has decided.
    pub hinted: bool,
}

/// What the hints of a block say about one table.
struct Wishes<'a> {
    hints: Vec<&'a ast::Hint>,
}

impl<'a> Wishes<'a> {
    fn of(hints: &'a [ast::Hint], alias: &str) -> Wishes<'a> {
        Wishes { hints: hints.iter().filter(|h| h.args.first().is_some_and(|a| a == alias)).collect() }
    }

    fn has(&self, name: &str) -> bool {
        self.hints.iter().any(|h| h.name == name)
    }

    /// Whether one of these hints names the index, or no index, and so all of them.
    fn names(&self, hints: &[&str], index: &IndexDef) -> bool {
        let mut named = self.hints.iter().filter(|h| hints.contains(&h.name.as_str())).map(|h| &h.args[1..]);
        named.any(|names| names.is_empty() || names.contains(&index.name))
    }
}

/// Cost of a row fetched by its rowid, of one read in a full scan, and of an index entry.
const BY_ROWID: f64 = 0.6;
const IN_SCAN: f64 = 0.02;
const ENTRY: f64 = 0.02;

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
    /// The cheapest way to the rows of `table` that meet `conds`. Registers that are not the table's own count as
    /// known. `columns` are those that are read of it, once all are known.
    pub fn choose_access(
        &self,
        id: ItemId,
        table: &Rc<TableDef>,
        conds: &[Expr],
        columns: Option<&ColumnMap>,
        hints: &[ast::Hint],
    ) -> Access {
        let (table_rows, blocks) = size_of(table);
        let mut rows = table_rows;
        for c in conds {
            rows *= selectivity(c, table_rows);
        }
        let mut best = Access {
            access: crate::ir::Access::Full,
            used: Vec::new(),
            rows: rows.max(0.01),
            cost: blocks + table_rows * IN_SCAN,
            hinted: false,
        };
        if self.version_items.contains_key(&id) {
            return Access { hinted: true, ..best };
        }
        if let Some(by_rowid) = self.rowid_access(id, conds) {
            return by_rowid;
        }
        if let Organization::HashCluster { key_positions, .. } = &table.organization
            && let Some(hashed) = self.hash_access(id, table, key_positions, conds, table_rows)
        {
            return hashed;
        }
        let wishes = Wishes::of(hints, &self.items[id].alias);
        if wishes.has("FULL") && !table.options.index_organized {
            return Access { hinted: true, ..best };
        }
        best.hinted = wishes.has("NO_INDEX");
        // Indexes keep no entries for versions of rows that only a flashback query sees; an index-organised table keeps
        // the rows.
        let past = self.as_of_items.contains_key(&id);
        for index in &table.indexes {
            if past && index.kind != IndexKind::IotTop {
                continue;
            }
            if index.unusable || index.invisible || wishes.names(&["NO_INDEX"], index) {
                continue;
            }
            let ranged = self.index_access(id, table, index, conds, columns, rows);
            let whole = columns.and_then(|columns| self.whole_index(id, table, index, conds, columns, rows));
            let by_range = wishes.names(&["INDEX", "INDEX_ASC", "INDEX_DESC", "INDEX_RS_ASC"], index);
            for (found, named) in [(ranged, by_range), (whole, by_range || wishes.names(&["INDEX_FFS"], index))] {
                let Some(mut found) = found else { continue };
                if named || table.options.index_organized {
                    found.cost /= 1e6;
                    found.hinted |= named;
                }
                if found.cost < best.cost {
                    best = found;
                }
            }
        }
        best
    }

    /// The whole of an index that has every column that is read: less to read than the table. Without statistics nobody
    /// knows, so that only a hint makes it so.
    fn whole_index(
        &self,
        id: ItemId,
        table: &Rc<TableDef>,
        index: &Rc<IndexDef>,
        conds: &[Expr],
        columns: &ColumnMap,
        filtered_rows: f64,
    ) -> Option<Access> {
        if !covers(index, columns) || self.items[id].rowid.is_some() || !has_every_row(table, index) {
            return None;
        }
        let (rows, _) = size_of(table);
        let known = table.statistics.is_some();
        let cost = if known { leaves(table, index, rows) + rows * ENTRY } else { f64::from(f32::MAX) };
        let _ = conds;
        let access = crate::ir::Access::IndexRange(Box::new(whole(index, false)));
        Some(Access { access, used: Vec::new(), rows: filtered_rows.max(0.01), cost, hinted: false })
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
            // A key has an instant, or what a clock shows: the one is not looked for by the other.
            let is_instant =
                |ty: &DataType| matches!(ty, DataType::Timestamp { zone, .. } if *zone != types::Zone::None);
            if is_instant(ty) != is_instant(&value.ty) {
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
                return Some(Access { access, used: vec![at], rows: 1.0, cost: 1.0, hinted: false });
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
            keys.push(bound.value.clone().into());
            used.push(bound.at);
        }
        let rows = (table_rows / 100.0).clamp(1.0, 10.0);
        Some(Access { access: crate::ir::Access::ClusterHash { keys }, used, rows, cost: 1.0, hinted: false })
    }

    fn index_access(
        &self,
        id: ItemId,
        table: &TableDef,
        index: &Rc<IndexDef>,
        conds: &[Expr],
        columns: Option<&ColumnMap>,
        filtered_rows: f64,
    ) -> Option<Access> {
        let (table_rows, _) = size_of(table);
        let mut prefix = Vec::new();
        let mut used = Vec::new();
        let mut rows = table_rows;
        let mut low: Option<(Key, bool)> = None;
        let mut high: Option<(Key, bool)> = None;
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
                        low = Some((b.value.clone().into(), b.op == CmpOp::Ge));
                        used.push(b.at);
                    }
                    CmpOp::Lt | CmpOp::Le if high.is_none() => {
                        high = Some((b.value.clone().into(), b.op == CmpOp::Le));
                        used.push(b.at);
                    }
                    _ => {}
                }
            }
            rows *= range_share(table, column, low.as_ref().map(|l| &l.0.value), high.as_ref().map(|h| &h.0.value));
            break;
        }
        if prefix.is_empty() && low.is_none() && high.is_none() {
            return None;
        }
        // Reversed keys are not in the order of their values: only whole keys are found.
        if index.kind == IndexKind::Reverse && prefix.len() < index.columns.len() {
            return None;
        }
        let recheck = self.recheck(id, table, index);
        if index.unique && prefix.len() == index.columns.len() {
            let keys = prefix.into_iter().map(Key::from).collect();
            let access = crate::ir::Access::IndexUnique { index: index.clone(), keys, index_only: false, recheck };
            return Some(Access { access, used, rows: filtered_rows.min(1.0), cost: 1.5, hinted: false });
        }
        let rows = rows.max(1.0);
        let prefix = prefix.into_iter().map(KeyPart::from).collect();
        let range = IndexRange { prefix, low, high, recheck, ..IndexRange::whole(index.clone()) };
        let access = crate::ir::Access::IndexRange(Box::new(range));
        // What an index says by itself costs no visit to the table.
        let only = columns.is_some_and(|columns| covers(index, columns));
        let row_cost = if only { ENTRY + leaves(table, index, table_rows) / table_rows.max(1.0) } else { BY_ROWID };
        Some(Access { access, used, rows: filtered_rows.min(rows), cost: 2.0 + rows * row_cost, hinted: false })
    }
}

/// The whole of an index, from one end to the other.
pub fn whole(index: &Rc<IndexDef>, descending: bool) -> IndexRange {
    IndexRange { descending, index_only: true, ..IndexRange::whole(index.clone()) }
}

/// Whether every row has an entry: not all columns of the key can be NULL.
pub fn has_every_row(table: &TableDef, index: &IndexDef) -> bool {
    index.columns.iter().any(|part| matches!(part.key, IndexKey::Column(at) if !table.columns[at].nullable))
}

/// Blocks of an index's leaves, as far as anybody knows.
fn leaves(table: &TableDef, index: &IndexDef, rows: f64) -> f64 {
    let bytes = |part: &dictionary::IndexColumnDef| match part.key {
        IndexKey::Column(at) => match table.columns[at].data_type {
            DataType::Varchar2 { len, .. } | DataType::Nvarchar2 { len, .. } => 2.0 + f64::from(len.min(60)) / 2.0,
            DataType::Char { len, .. } | DataType::Nchar { len, .. } => 2.0 + f64::from(len),
            _ => 8.0,
        },
        IndexKey::Expression { .. } => 20.0,
    };
    let entry = 24.0 + index.columns.iter().map(bytes).sum::<f64>();
    match &index.statistics {
        Some(s) if s.leaf_blocks > 0 => s.leaf_blocks as f64,
        _ => (rows * entry / 6000.0).ceil().max(1.0),
    }
}

/// The share of rows between two bounds of a column: by the lowest and the highest value where they are known and the
/// bounds are constants, a twentieth for each bound otherwise.
fn range_share(table: &TableDef, column: usize, low: Option<&Expr>, high: Option<&Expr>) -> f64 {
    const GUESS: f64 = 0.05;
    let guess = [low, high].iter().flatten().map(|_| GUESS).product();
    let Some(statistics) = &table.columns[column].statistics else { return guess };
    let Some((lowest, highest)) = statistics.range.filter(|(low, high)| high > low) else { return guess };
    let place = |e: Option<&Expr>, missing: f64| match e.map(|e| &e.node) {
        None => Some(missing),
        Some(Node::Const(value)) => dictionary::place_of(value),
        Some(_) => None,
    };
    let (Some(from), Some(to)) = (place(low, lowest), place(high, highest)) else { return guess };
    let share = (to.min(highest) - from.max(lowest)) / (highest - lowest);
    share.clamp(1.0 / statistics.distinct.max(1) as f64, 1.0)
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
