//! Index join: a table whose columns are read from two of its indexes, joined by rowid, without the table itself.
//!
//! An index has no entry for a row whose key is entirely NULL. Each of the two indexes must therefore have an entry for
//! every row, or conditions checked on it must exclude such rows (P19). Both indexes are read as of one snapshot, so
//! they agree on the rows. More than two indexes are not joined: each further index costs as much as another scan of
//! the table.

use super::access::{Choice, Wishes, covers_column, has_every_row};
use super::cost;
use super::planned::{Planned, produced};
use crate::block_names::ItemId;
use crate::ir::*;
use crate::rewrite::rejects;
use crate::scope::Compiler;
use dictionary::{IndexDef, IndexKind, Organization, TableDef};
use sql::ast;
use std::rc::Rc;
use types::DataType;

/// Most indexes of a table that are considered.
const INDEXES_MAX: usize = 16;

/// One of the two scans.
struct Half {
    columns: ColumnMap,
    conds: Vec<Expr>,
    choice: Choice,
}

/// Two index scans and the conditions to be checked on their rows.
struct Pair {
    left: Half,
    right: Half,
    above: Vec<Expr>,
    rows: f64,
    cost: f64,
}

impl Compiler<'_> {
    /// The index join for an item, if it is cheaper than `single`, the best single access path, or if a hint asks for
    /// it.
    pub(super) fn index_join(
        &mut self,
        id: ItemId,
        table: &Rc<TableDef>,
        conds: &[Expr],
        columns: &ColumnMap,
        single: &Choice,
        hints: &[ast::Hint],
    ) -> Option<Planned> {
        let wishes = Wishes::of(hints, &self.items[id].alias);
        let asked = wishes.has("INDEX_JOIN");
        if !asked && (single.hinted || table.statistics.is_none()) || columns.is_empty() {
            return None;
        }
        let is_plain = matches!(table.organization, Organization::Heap(_)) && !table.options.index_organized;
        let of_the_past = self.as_of_items.contains_key(&id) || self.version_items.contains_key(&id);
        if !is_plain || of_the_past || self.items[id].rowid.is_some() || self.pseudos.contains_key(&id) {
            return None;
        }
        // The built side is kept when an enclosing loop restarts the join, so it must not depend on a row of the loop.
        let own = |r: Reg| columns.iter().any(|(_, column)| *column == r);
        let mut is_own = true;
        conds.iter().for_each(|c| self.expr_regs(c, &mut |r| is_own &= own(r)));
        let is_computed = |at: usize| self.items[id].columns[at].value.is_some() && self.is_virtual(id, at);
        if !is_own || (0..self.items[id].columns.len()).any(is_computed) {
            return None;
        }
        let usable: Vec<&Rc<IndexDef>> = table
            .indexes
            .iter()
            .filter(|index| index.kind == IndexKind::Normal && index.is_usable() && !index.invisible && !index.building)
            .filter(|index| !wishes.names(&["NO_INDEX"], index) && (!asked || wishes.names(&["INDEX_JOIN"], index)))
            .take(INDEXES_MAX)
            .collect();
        let mut best: Option<Pair> = None;
        for (at, first) in usable.iter().enumerate() {
            for second in &usable[at + 1..] {
                for (first, second) in [(first, second), (second, first)] {
                    let pair = self.index_pair(id, table, [first, second], conds, columns, single.rows);
                    if let Some(pair) = pair
                        && best.as_ref().is_none_or(|best| pair.cost < best.cost)
                    {
                        best = Some(pair);
                    }
                }
            }
        }
        let pair = best.filter(|pair| asked || pair.cost < single.cost)?;
        Some(self.planned_pair(id, table, pair, asked))
    }

    /// The join of two indexes, if together they contain all columns to be read. Columns in both are taken from the
    /// first.
    fn index_pair(
        &self,
        id: ItemId,
        table: &Rc<TableDef>,
        [first, second]: [&Rc<IndexDef>; 2],
        conds: &[Expr],
        columns: &ColumnMap,
        rows: f64,
    ) -> Option<Pair> {
        let (of_first, rest): (ColumnMap, ColumnMap) =
            columns.iter().partition(|(column, _)| covers_column(first, *column));
        if of_first.is_empty() || rest.is_empty() || !rest.iter().all(|(column, _)| covers_column(second, *column)) {
            return None;
        }
        let (mut halves, mut above) = ([Vec::new(), Vec::new()], Vec::new());
        for c in conds {
            let reads = |columns: &ColumnMap| columns.iter().any(|(_, r)| self.reads_reg(c, *r));
            match (reads(&of_first), reads(&rest)) {
                (true, false) => halves[0].push(c.clone()),
                (false, true) => halves[1].push(c.clone()),
                _ => above.push(c.clone()),
            }
        }
        let [conds_first, conds_second] = halves;
        let left = self.index_half(id, table, first, conds_first, of_first)?;
        let right = self.index_half(id, table, second, conds_second, rest)?;
        let (a, b) = (left.choice.rows, right.choice.rows);
        let joined = (a * b / super::access::size_of(table).0.max(1.0)).max(rows);
        let cost = left.choice.real.total
            + right.choice.real.total
            + cost::hash_join(a.min(b), a.max(b), joined)
            + cost::filter(joined, above.len())
            + joined * cost::PER_ROW;
        Some(Pair { left, right, above, rows, cost })
    }

    fn index_half(
        &self,
        id: ItemId,
        table: &Rc<TableDef>,
        index: &Rc<IndexDef>,
        conds: Vec<Expr>,
        columns: ColumnMap,
    ) -> Option<Half> {
        let regs = columns.iter().map(|(_, r)| *r).collect();
        if !has_every_row(table, index) && !conds.iter().any(|c| rejects(c, &regs)) {
            return None;
        }
        let choice = self.index_alone(id, table, index, &conds, &columns)?;
        Some(Half { columns, conds, choice })
    }

    fn planned_pair(&mut self, id: ItemId, table: &Rc<TableDef>, pair: Pair, asked: bool) -> Planned {
        let Pair { left, right, above, rows, cost } = pair;
        let alias = self.items[id].alias.clone();
        let build = if left.choice.rows <= right.choice.rows { Side::Left } else { Side::Right };
        let (block, origin) = (self.query_blocks.planned, self.query_blocks.of_item(id));
        let mut scan = |half: Half| {
            let rowid = self.new_reg();
            let Half { columns, conds, choice } = half;
            let used = &choice.used;
            let filter = conds.into_iter().enumerate().filter(|(n, _)| !used.contains(n)).map(|(_, c)| c).collect();
            let scan = Scan {
                table: Rc::clone(table),
                alias: alias.clone(),
                access: choice.access,
                columns,
                rowid: Some(rowid),
                filter,
                rows: choice.rows,
                cost: choice.real,
                entries: choice.entries,
                as_of: None,
                versions: None,
                pseudos: Vec::new(),
                hinted: asked,
                block,
                origin,
                degree: 1,
                degree_because: 0,
                prune: None,
                granules: false,
            };
            (Source::Scan(Box::new(scan)), Expr::new(Node::Reg(rowid), DataType::Rowid))
        };
        let ((left, left_rowid), (right, right_rowid)) = (scan(left), scan(right));
        let (left_regs, right_regs) = (produced(&left), produced(&right));
        let join = Source::HashJoin {
            left: Box::new(left),
            right: Box::new(right),
            kind: JoinKind::Inner,
            build,
            keys: vec![JoinKey::equal(left_rowid, right_rowid)],
            residual: above,
            left_regs,
            right_regs,
            filters: Vec::new(),
            rows,
        };
        self.made_index_joins += 1;
        let view = Some(format!("index$_join$_{:03}", self.made_index_joins));
        Planned::new(Source::Project { input: Box::new(join), exprs: Vec::new(), view, rows }, rows, cost)
    }
}
