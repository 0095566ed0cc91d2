//! Access paths of a single table.

use super::cost;
use crate::block_names::ItemId;
use crate::ir::*;
use crate::scope::*;
use crate::typing::*;
use dictionary::{IndexDef, IndexKey, IndexKind, Organization, TableDef};
use sql::ast;
use std::rc::Rc;
use types::DataType;

/// An access path with its estimated cost.
pub struct Choice {
    pub access: Access,
    /// Positions of the conditions that the path answers exactly (P5).
    pub used: Vec<usize>,
    pub rows: f64,
    /// The weight for comparison with other paths: blocks read and rows processed in one unit. Low if a hint asks for
    /// the path.
    pub cost: f64,
    /// The cost, independent of hints.
    pub real: Cost,
    /// Index entries that are read, and the part of the cost for them.
    pub entries: (f64, Cost),
    /// Whether a hint has decided.
    pub hinted: bool,
}

/// The hints of a block about one table.
pub(super) struct Wishes<'a> {
    hints: Vec<&'a ast::Hint>,
}

impl<'a> Wishes<'a> {
    pub(super) fn of(hints: &'a [ast::Hint], alias: &str) -> Wishes<'a> {
        Wishes { hints: hints.iter().filter(|h| h.args.first().is_some_and(|a| a == alias)).collect() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.hints.iter().any(|h| h.name == name)
    }

    /// Whether one of these hints names the index, or names no index and so means all.
    pub(super) fn names(&self, hints: &[&str], index: &IndexDef) -> bool {
        let mut named = self.hints.iter().filter(|h| hints.contains(&h.name.as_str())).map(|h| &h.args[1..]);
        named.any(|names| names.is_empty() || names.contains(&index.name))
    }
}

/// A condition on a column in the form `column op value`.
struct Bound<'a> {
    at: usize,
    op: CmpOp,
    value: &'a Expr,
    /// Whether trailing blanks are ignored.
    padded: bool,
}

impl Bound<'_> {
    fn key(&self) -> Key {
        Key { value: self.value.clone(), padded: self.padded }
    }
}

/// The limits that conditions set to a column.
pub(super) enum Wanted {
    Any,
    Null,
    /// One of these values.
    In(Vec<Key>),
    /// Between two bounds, each with whether it is included.
    Between(Option<(Key, bool)>, Option<(Key, bool)>),
}

/// Most distinct values of the skipped columns for which a skip scan pays off.
const SKIPS_MAX: f64 = 100.0;

/// Cost of entries for a path without an index.
const NO_ENTRIES: (f64, Cost) = (0.0, Cost { total: 0.0, io: 0.0 });

/// Rows and blocks of a table without statistics.
const UNKNOWN_ROWS: f64 = 1000.0;
const UNKNOWN_BLOCKS: f64 = 20.0;

impl Compiler<'_> {
    /// The cheapest path to the rows of `table` that meet `conds`. Registers of other row sources count as known.
    /// `columns`: the columns to be read, if already known.
    pub fn choose_access(
        &self,
        id: ItemId,
        table: &Rc<TableDef>,
        conds: &[Expr],
        columns: Option<&ColumnMap>,
        hints: &[ast::Hint],
    ) -> Choice {
        let (table_rows, blocks) = size_of(table);
        let rows = self.corrected(id, table, self.kept(conds, table_rows), table_rows);
        let share = self.share_of_partitions(id, table, conds);
        let read = 1.0 + blocks * share * self.in_scan;
        let per_row = cost::PER_ROW + cost::PER_CONDITION * conds.len() as f64;
        let full = Cost::new(read + table_rows * share * per_row, read);
        let mut best = Choice {
            access: Access::Full,
            used: Vec::new(),
            rows: rows.max(0.01),
            cost: full.total,
            real: full,
            entries: NO_ENTRIES,
            hinted: false,
        };
        if self.version_items.contains_key(&id) {
            return Choice { hinted: true, ..best };
        }
        // Only a scan of partitions knows the partition that the statement names.
        let in_partition = self.partition_items.contains_key(&id);
        if !in_partition && let Some(by_rowid) = self.rowid_access(id, conds) {
            return by_rowid;
        }
        if let Organization::HashCluster { key_positions, .. } = &table.organization
            && let Some(hashed) = self.hash_access(id, table, key_positions, conds, table_rows)
        {
            return hashed;
        }
        let wishes = Wishes::of(hints, &self.items[id].alias);
        if wishes.has("FULL") && !table.options.index_organized {
            return Choice { hinted: true, ..best };
        }
        best.hinted = wishes.has("NO_INDEX");
        // Indexes have no entries for old row versions that only a flashback query sees; an index-organised table keeps
        // the rows themselves.
        let past = self.as_of_items.contains_key(&id);
        for index in &table.indexes {
            if past && index.kind != IndexKind::IotTop || in_partition && index.local.is_none() {
                continue;
            }
            if !index.is_usable() || index.invisible || wishes.names(&["NO_INDEX"], index) {
                continue;
            }
            let ranged = self.index_access(id, table, index, conds, columns, (rows, 0));
            let by_skip = wishes.names(&["INDEX_SS", "INDEX_SS_ASC", "INDEX_SS_DESC"], index);
            let skip = match ranged.is_none() || by_skip {
                true => self.skips(id, table, index, conds, by_skip),
                false => 0,
            };
            let skipped =
                (skip > 0).then(|| self.index_access(id, table, index, conds, columns, (rows, skip))).flatten();
            let by_range = wishes.names(&["INDEX", "INDEX_ASC", "INDEX_DESC", "INDEX_RS_ASC"], index);
            let by_fast = wishes.names(&["INDEX_FFS"], index);
            let whole =
                |fast| columns.and_then(|columns| self.whole_index(id, table, index, conds, columns, rows, fast));
            let ways =
                [(ranged, by_range), (skipped, by_skip || by_range), (whole(false), by_range), (whole(true), by_fast)];
            for (found, named) in ways {
                let Some(mut found) = found else { continue };
                if wishes.names(&["INDEX_DESC"], index)
                    && let Access::IndexRange(range) = &mut found.access
                    && range.skip == 0
                    && !range.is_iterated()
                {
                    range.descending = true;
                }
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

    /// The cheapest path that reads only an index with all of `columns`: the entries selected by conditions, or all
    /// entries. The caller guarantees that all wanted rows have an entry.
    pub(super) fn index_alone(
        &self,
        id: ItemId,
        table: &Rc<TableDef>,
        index: &Rc<IndexDef>,
        conds: &[Expr],
        columns: &ColumnMap,
    ) -> Option<Choice> {
        let (table_rows, _) = size_of(table);
        let rows = self.kept(conds, table_rows).max(0.01);
        let ranged = self.index_access(id, table, index, conds, Some(columns), (rows, 0)).and_then(|mut choice| {
            let Access::IndexRange(range) = &mut choice.access else { return None };
            range.index_only = true;
            Some(choice)
        });
        let fast = covers(index, columns).then(|| self.all_entries(table, index, conds.len(), rows, true));
        ranged.into_iter().chain(fast).min_by(|a, b| a.real.total.total_cmp(&b.real.total))
    }

    /// All entries of an index that contains all columns to be read.
    fn all_entries(
        &self,
        table: &TableDef,
        index: &Rc<IndexDef>,
        conditions: usize,
        filtered_rows: f64,
        fast: bool,
    ) -> Choice {
        let (rows, _) = size_of(table);
        let looked_at = rows * (cost::PER_ENTRY + cost::PER_CONDITION * conditions as f64);
        let leaves = leaves(table, index, rows);
        // An index full scan reads single blocks in key order, a fast full scan many blocks in the order on disk.
        let read = leaves * self.in_scan + if fast { 0.0 } else { leaves * (cost::DESCENT - 0.1) };
        let real = Cost::new(read + looked_at, read);
        let access = match fast {
            true => Access::IndexFast { index: index.clone() },
            false => Access::IndexRange(Box::new(whole(index, false))),
        };
        let (used, entries) = (Vec::new(), (rows, real));
        Choice { access, used, rows: filtered_rows.max(0.01), cost: real.total, real, entries, hinted: false }
    }

    /// A scan of a whole index that contains every column to be read, because it is smaller than the table. Without
    /// statistics only a hint chooses it.
    #[allow(clippy::too_many_arguments)]
    fn whole_index(
        &self,
        id: ItemId,
        table: &Rc<TableDef>,
        index: &Rc<IndexDef>,
        conds: &[Expr],
        columns: &ColumnMap,
        filtered_rows: f64,
        fast: bool,
    ) -> Option<Choice> {
        if !covers(index, columns) || self.items[id].rowid.is_some() || !has_every_row(table, index) {
            return None;
        }
        let mut choice = self.all_entries(table, index, conds.len(), filtered_rows, fast);
        if table.statistics.is_none() {
            choice.cost = f64::from(f32::MAX);
        }
        Some(choice)
    }

    /// The conditions on column `column` of an item whose other side does not read the item.
    fn bounds<'a>(&self, id: ItemId, column: usize, conds: &'a [Expr]) -> Vec<Bound<'a>> {
        let Some(Expr { node: wanted, ty }) = &self.items[id].columns[column].value else { return Vec::new() };
        let mut found = Vec::new();
        for (at, c) in conds.iter().enumerate() {
            let Node::Cmp(op, how, a, b) = &c.node else { continue };
            let is_column = |e: &Expr| e.node == *wanted;
            let (op, value) = if is_column(a) {
                (*op, &**b)
            } else if is_column(b) {
                (op.swap(), &**a)
            } else {
                continue;
            };
            if op != CmpOp::Ne && self.is_key(id, ty, *how, value) {
                found.push(Bound { at, op, value, padded: *how == Compare::Padded });
            }
        }
        found
    }

    /// The values of a column for which all conditions may be true.
    pub(super) fn wanted_values(&self, id: ItemId, column: usize, conds: &[Expr]) -> Wanted {
        if let Some(bound) = self.equality(id, column, conds) {
            return Wanted::In(vec![bound.key()]);
        }
        if let Some((_, keys)) = self.listed(id, column, conds) {
            return Wanted::In(keys);
        }
        let value = self.items[id].columns[column].value.as_ref();
        let is_null = |c: &Expr| matches!(&c.node, Node::IsNull(of, false) if value.is_some_and(|v| v.node == of.node));
        if conds.iter().any(is_null) {
            return Wanted::Null;
        }
        let bounds = self.bounds(id, column, conds);
        let side = |ops: [CmpOp; 2]| {
            bounds.iter().find(|b| ops.contains(&b.op)).map(|b| (b.key(), matches!(b.op, CmpOp::Ge | CmpOp::Le)))
        };
        match (side([CmpOp::Gt, CmpOp::Ge]), side([CmpOp::Lt, CmpOp::Le])) {
            (None, None) => Wanted::Any,
            (low, high) => Wanted::Between(low, high),
        }
    }

    /// Whether index entries of a column of type `ty` can be looked up by a value.
    fn is_key(&self, id: ItemId, ty: &DataType, how: Compare, value: &Expr) -> bool {
        let comparable = match how {
            Compare::Plain => true,
            Compare::Padded => padded_type(ty),
            Compare::Dynamic => false,
        };
        // A key stores an instant or a local time; one cannot be looked up by the other.
        let is_instant = |ty: &DataType| matches!(ty, DataType::Timestamp { zone, .. } if *zone != types::Zone::None);
        comparable
            && !is_null(value)
            && class(&value.ty) == class(ty)
            && is_instant(ty) == is_instant(&value.ty)
            && !self.reads_item(id, value)
    }

    /// `column IN (list)`: position of the condition, and the keys.
    fn listed(&self, id: ItemId, column: usize, conds: &[Expr]) -> Option<(usize, Vec<Key>)> {
        let Some(Expr { node: wanted, ty }) = &self.items[id].columns[column].value else { return None };
        conds.iter().enumerate().find_map(|(at, c)| {
            let Node::InList { value, list, compare, negated: false } = &c.node else { return None };
            let fits = value.node == *wanted && list.iter().all(|v| is_null(v) || self.is_key(id, ty, *compare, v));
            let padded = *compare == Compare::Padded;
            let keys = list.iter().filter(|v| !is_null(v)).map(|v| Key { value: v.clone(), padded });
            fits.then(|| (at, keys.collect::<Vec<_>>())).filter(|(_, keys)| !keys.is_empty())
        })
    }

    /// `column LIKE pattern`, if the pattern has a literal prefix.
    fn liked(&self, id: ItemId, column: usize, conds: &[Expr]) -> Option<(usize, LikeRange)> {
        let Some(Expr { node: wanted, ty: DataType::Varchar2 { .. } }) = &self.items[id].columns[column].value else {
            return None;
        };
        conds.iter().enumerate().find_map(|(at, c)| {
            let Node::Like { value, pattern, escape, negated: false } = &c.node else { return None };
            let begins = match &pattern.node {
                Node::Const(types::Value::Text(text)) => !text.starts_with(['%', '_']),
                Node::Bind(_) => true,
                _ => false,
            };
            let fits = value.node == *wanted && begins && escape.as_ref().is_none_or(|e| e.is_const());
            let like = || LikeRange { pattern: (**pattern).clone(), escape: escape.as_deref().cloned() };
            fits.then(|| (at, like()))
        })
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
        self.bounds(id, column, conds).into_iter().find(|b| b.op == CmpOp::Eq)
    }

    fn rowid_access(&self, id: ItemId, conds: &[Expr]) -> Option<Choice> {
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
                let access = Access::Rowid((**value).clone());
                let real = Cost::new(cost::BY_ROWID, cost::PER_VISIT);
                let (used, cost, entries) = (vec![at], real.total, NO_ENTRIES);
                return Some(Choice { access, used, rows: 1.0, cost, real, entries, hinted: false });
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
    ) -> Option<Choice> {
        let _ = table;
        let mut keys = Vec::new();
        let mut used = Vec::new();
        for &column in key {
            let bound = self.equality(id, column, conds)?;
            keys.push(bound.key());
            used.push(bound.at);
        }
        let rows = (table_rows / 100.0).clamp(1.0, 10.0);
        let real = Cost::new(cost::BY_HASH, cost::BY_HASH);
        let (access, cost, entries) = (Access::ClusterHash { keys }, real.total, NO_ENTRIES);
        Some(Choice { access, used, rows, cost, real, entries, hinted: false })
    }

    /// The index entries selected by conditions: equalities on leading key columns, including IN lists, and bounds on
    /// the next column. `skip`: number of skipped leading columns.
    fn index_access(
        &self,
        id: ItemId,
        table: &TableDef,
        index: &Rc<IndexDef>,
        conds: &[Expr],
        columns: Option<&ColumnMap>,
        (filtered_rows, skip): (f64, usize),
    ) -> Option<Choice> {
        let (table_rows, _) = size_of(table);
        let mut range = IndexRange { skip, ..IndexRange::whole(index.clone()) };
        let (mut used, mut ranges) = (Vec::new(), 1.0);
        // Conditions that the range narrows but does not answer exactly.
        let mut rechecked = Vec::new();
        for part in &index.columns[..skip] {
            let IndexKey::Column(column) = part.key else { return None };
            ranges *= table.columns[column].statistics.as_ref().map_or(SKIPS_MAX, |s| s.distinct as f64).max(1.0);
        }
        for part in &index.columns[skip..] {
            let IndexKey::Column(column) = part.key else { break };
            if let Some(bound) = self.equality(id, column, conds) {
                range.prefix.push(KeyPart::Is(bound.key()));
                used.push(bound.at);
                continue;
            }
            if let Some((at, keys)) = self.listed(id, column, conds) {
                ranges *= keys.len() as f64;
                range.prefix.push(KeyPart::In(keys));
                used.push(at);
                continue;
            }
            if part.descending {
                break;
            }
            for b in self.bounds(id, column, conds) {
                match b.op {
                    CmpOp::Gt | CmpOp::Ge if range.low.is_none() => {
                        range.low = Some((b.key(), b.op == CmpOp::Ge));
                        used.push(b.at);
                    }
                    CmpOp::Lt | CmpOp::Le if range.high.is_none() => {
                        range.high = Some((b.key(), b.op == CmpOp::Le));
                        used.push(b.at);
                    }
                    _ => {}
                }
            }
            if range.low.is_none()
                && range.high.is_none()
                && let Some((at, like)) = self.liked(id, column, conds)
            {
                range.like = Some(like);
                rechecked.push(at);
            }
            break;
        }
        if range.is_whole() {
            return None;
        }
        // A reverse-key index is not in value order: only complete keys can be found.
        if index.kind == IndexKind::Reverse && (skip > 0 || range.prefix.len() < index.columns.len()) {
            return None;
        }
        let recheck = self.recheck(id, table, index);
        let is_one = index.unique && range.prefix.len() == index.columns.len() && skip == 0;
        if is_one && !range.is_iterated() {
            let keys = range.prefix.iter().flat_map(|part| part.keys().iter().cloned()).collect();
            let access = Access::IndexUnique { index: index.clone(), keys, index_only: false, recheck };
            let real = Cost::new(cost::DESCENT + cost::BY_ROWID, cost::DESCENT + cost::PER_VISIT);
            let (rows, cost) = (filtered_rows.min(1.0), real.total);
            let entries = (1.0, Cost::new(cost::DESCENT, cost::DESCENT));
            return Some(Choice { access, used, rows, cost, real, entries, hinted: false });
        }
        let share = self.share_of_all(used.iter().chain(&rechecked).map(|at| &conds[*at]));
        let rows = table_rows * share;
        let rows = if is_one { rows.min(ranges) } else { rows }.max(1.0);
        range.recheck = recheck;
        // A column in the index needs no visit to the table.
        let only = columns.is_some_and(|columns| covers(index, columns));
        let visits = match &index.statistics {
            _ if only => 0.0,
            Some(s) if s.clustering_factor > 0 => (s.clustering_factor as f64 * share).clamp(1.0, rows.max(1.0)),
            _ => rows,
        };
        let fetches = if only { 0.0 } else { rows * cost::PER_FETCH };
        let read = ranges * cost::DESCENT + visits * cost::PER_VISIT;
        let real = Cost::new(read + rows * cost::PER_ENTRY + fetches, read);
        let descents = ranges * cost::DESCENT;
        let entries = (rows, Cost::new(descents + rows * cost::PER_ENTRY, descents));
        let access = Access::IndexRange(Box::new(range));
        let (rows, cost) = (filtered_rows.min(rows), real.total);
        Some(Choice { access, used, rows, cost, real, entries, hinted: false })
    }

    /// The number of leading columns of an index to be skipped: they have no conditions and few values, and the next
    /// column is compared.
    fn skips(&self, id: ItemId, table: &TableDef, index: &IndexDef, conds: &[Expr], asked: bool) -> usize {
        let is_known = |part: &dictionary::IndexColumnDef| match part.key {
            IndexKey::Column(at) => !self.bounds(id, at, conds).is_empty() || self.listed(id, at, conds).is_some(),
            IndexKey::Expression { .. } => false,
        };
        let mut values = 1.0;
        for (at, part) in index.columns.iter().enumerate() {
            if is_known(part) {
                return at;
            }
            let IndexKey::Column(column) = part.key else { return 0 };
            match &table.columns[column].statistics {
                Some(s) => values *= s.distinct.max(1) as f64,
                None if asked => {}
                None => return 0,
            }
            if values > SKIPS_MAX && !asked {
                return 0;
            }
        }
        0
    }
}

/// All entries of an index in key order.
pub fn whole(index: &Rc<IndexDef>, descending: bool) -> IndexRange {
    IndexRange { descending, index_only: true, ..IndexRange::whole(index.clone()) }
}

/// Whether every row has an entry: some key column is NOT NULL.
pub fn has_every_row(table: &TableDef, index: &IndexDef) -> bool {
    index.columns.iter().any(|part| matches!(part.key, IndexKey::Column(at) if !table.columns[at].nullable))
}

/// Estimated leaf blocks of an index.
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

/// Whether an index contains all columns that a scan reads.
pub fn covers(index: &IndexDef, columns: &[(u16, Reg)]) -> bool {
    matches!(index.kind, IndexKind::Normal) && columns.iter().all(|(column, _)| covers_column(index, *column))
}

/// Whether a column is part of an index's key.
pub fn covers_column(index: &IndexDef, column: u16) -> bool {
    index.columns.iter().any(|part| part.key == IndexKey::Column(column.into()))
}

fn padded_type(ty: &DataType) -> bool {
    matches!(ty, DataType::Char { .. } | DataType::Nchar { .. })
}

pub fn size_of(table: &TableDef) -> (f64, f64) {
    match &table.statistics {
        Some(s) => (s.rows as f64, (s.blocks as f64).max(1.0)),
        None => (UNKNOWN_ROWS, UNKNOWN_BLOCKS),
    }
}
