//! Estimated numbers of rows after conditions and of groups: `estimate` applied to the registers of a statement.

use crate::block_names::ItemId;
use crate::estimate::{Column, Estimator, groups};
use crate::ir::*;
use crate::physical::state::Sizes;
use crate::scope::{Compiler, ItemKind};
use dictionary::ColumnStatistics;
use types::{DataType, Value};

impl Compiler<'_> {
    /// Determines which registers are columns of tables.
    pub fn learn_columns(&mut self) {
        self.sizes = Sizes::default();
        for (id, item) in self.items.iter().enumerate() {
            // A fixed table without statistics is left out.
            let is_known = match &item.kind {
                ItemKind::Table(_) => true,
                ItemKind::Fixed { table, .. } => table.statistics.is_some(),
                _ => false,
            };
            if !is_known {
                continue;
            }
            for (at, column) in item.columns.iter().enumerate() {
                if let Some(Expr { node: Node::Reg(r), .. }) = &column.value {
                    self.sizes.columns.insert(*r, (id, at));
                }
            }
        }
    }

    /// Records the number of distinct values of a register that is not a column of a table.
    pub(super) fn set_distinct(&mut self, reg: Reg, ty: DataType, distinct: f64) {
        if !self.sizes.columns.contains_key(&reg) {
            let statistics = ColumnStatistics { distinct: distinct.max(1.0) as u64, ..ColumnStatistics::default() };
            self.sizes.made.insert(reg, (ty, statistics));
        }
    }

    /// The statistics of a register.
    fn known(&self, reg: Reg) -> Option<Column<'_>> {
        if let Some((data_type, statistics)) = self.sizes.made.get(&reg) {
            // Each register counts as a row source of its own: two of them need not belong to one row.
            let (source, position) = (usize::MAX - reg as usize, 0);
            return Some(Column {
                source,
                position,
                data_type,
                nullable: true,
                table: None,
                statistics: Some(statistics),
            });
        }
        let (source, position) = *self.sizes.columns.get(&reg)?;
        let (ItemKind::Table(table) | ItemKind::Fixed { table, .. }) = &self.items[source].kind else { return None };
        let column = &table.columns[position];
        Some(Column {
            source,
            position,
            data_type: &column.data_type,
            nullable: column.nullable,
            table: table.statistics.as_ref(),
            statistics: column.statistics.as_ref(),
        })
    }

    /// Distinct values of an expression, if known.
    pub(super) fn distinct_values(&self, e: &Expr) -> Option<f64> {
        match &e.node {
            Node::Reg(reg) => Some(self.known(*reg)?.statistics?.distinct.max(1) as f64),
            Node::Convert(e) | Node::Cast(e) | Node::Neg(e) => self.distinct_values(e),
            // A function of a column has at most as many values as the column.
            Node::Func(_, args) => self.distinct_values(args.iter().find(|a| !a.is_const())?),
            Node::Const(_) | Node::Bind(_) => Some(1.0),
            _ => None,
        }
    }

    /// The number of rows that conditions keep.
    pub(super) fn kept(&self, conds: &[Expr], rows: f64) -> f64 {
        rows * self.share_of_all(conds)
    }

    /// The rows that conditions keep of a table, after corrections by an execution.
    pub(super) fn corrected(&self, id: ItemId, table: &dictionary::TableDef, rows: f64, table_rows: f64) -> f64 {
        if self.corrections.is_empty() {
            return rows;
        }
        let number = crate::services::scan_number(&self.items[id].alias, table.object);
        let found = self.corrections.iter().find(|c| c.scan == number);
        found.map_or(rows, |c| (rows.max(1.0) * c.factor).min(table_rows.max(rows)))
    }

    /// The share of rows that all conditions together keep.
    pub(super) fn share_of_all<'e>(&self, conds: impl IntoIterator<Item = &'e Expr>) -> f64 {
        Estimator::new(&|reg| self.known(reg)).peeking(&|n, of, how| self.peek(n, of, how)).conjunction(conds)
    }

    /// The share of rows that a condition keeps.
    pub(super) fn share(&self, c: &Expr) -> f64 {
        Estimator::new(&|reg| self.known(reg)).peeking(&|n, of, how| self.peek(n, of, how)).selectivity(c)
    }

    /// The value of a bind that a column is compared with; records that the plan depends on it. Without a histogram,
    /// the selectivity of an equality is the same for all values, so the plan does not depend on it.
    fn peek(&self, bind: usize, of: &Column<'_>, how: Compared) -> Option<Value> {
        let statistics = of.statistics.filter(|_| self.peeks.is_on)?;
        if matches!(how, Compared::By(CmpOp::Eq | CmpOp::Ne)) && statistics.histogram.is_none() {
            return None;
        }
        // Other sessions do not have the sample to estimate other values.
        if self.sampling.sampled.contains(&of.source) {
            return None;
        }
        let ItemKind::Table(table) = &self.items.get(of.source)?.kind else { return None };
        let found = |p: &BindPredicate| {
            p.bind == bind && p.how == how && p.column == of.position && p.table.object == table.object
        };
        let mut all = self.peeks.found.borrow_mut();
        if !all.iter().any(found) {
            all.push(BindPredicate { table: table.clone(), column: of.position, how, bind });
        }
        self.peeks.values?.get(bind).cloned()
    }

    /// The number of groups of rows by these keys.
    pub(super) fn groups_of(&self, keys: &[(Expr, Reg)], rows: f64) -> f64 {
        let key = |(key, _): &(Expr, Reg)| match key.node {
            Node::Reg(reg) => self.known(reg),
            _ => None,
        };
        groups(&keys.iter().map(key).collect::<Vec<_>>(), rows).max(1.0)
    }

    pub(crate) fn distinct_of(&self, regs: &[Reg], rows: f64) -> f64 {
        groups(&regs.iter().map(|reg| self.known(*reg)).collect::<Vec<_>>(), rows).max(1.0)
    }
}
