//! Dynamic sampling of tables without statistics, by level.
//!
//! | level | blocks sampled of each table without statistics |
//! |---|---|
//! | 0 | none |
//! | 1 | 32 |
//! | 2 to 4, 11 | 64 |
//! | 5 to 9 | 128, 256, 512, 1024, 4086 |
//! | 10 | all |
//!
//! Oracle's levels 3 and 4 also consider conditions on tables with statistics; here they equal level 2. A statement
//! over one table without an index, or over one row by its key, has no choice of plans and samples nothing. Tables of
//! SYS are not sampled.

use crate::block_names::ItemId;
use crate::ir::{CmpOp, Expr, Node, Note, Reg};
use crate::scope::{Compiler, ItemKind};
use crate::services::Sampled;
use dictionary::{IndexKey, TableDef, UserId};
use sql::ast;
use std::rc::Rc;
use types::Result;

fn blocks_of(level: u8) -> u64 {
    match level {
        0 => 0,
        1 => 32,
        2..=4 | 11 => 64,
        5..=8 => 128 << (level - 5),
        9 => 4086,
        _ => u64::MAX,
    }
}

impl Compiler<'_> {
    /// Reads the hints `DYNAMIC_SAMPLING(level)` and `DYNAMIC_SAMPLING(table level)`.
    pub fn note_sampling(&mut self, hints: &ast::Hints) {
        for hint in hints.list.iter().filter(|hint| hint.name == "DYNAMIC_SAMPLING") {
            let level = |text: &String| text.parse::<u8>().ok().filter(|level| *level <= 11);
            match &hint.args[..] {
                [one] => self.sampling.level = level(one).unwrap_or(self.sampling.level),
                [table, one] => self.sampling.tables.extend(level(one).map(|level| (table.clone(), level))),
                _ => {}
            }
        }
    }

    /// Samples the tables without statistics. The results become part of their definitions for this plan only (P15).
    pub(super) fn sample_tables(&mut self) -> Result<()> {
        let Some(sampler) = self.sampling.sampler else { return Ok(()) };
        let tables: Vec<ItemId> = (0..self.items.len()).filter(|id| self.is_sampled(*id)).collect();
        let of_table = |item: &crate::scope::Item| matches!(item.kind, ItemKind::Table(_));
        let alone = self.items.iter().filter(|item| of_table(item)).count() < 2;
        for id in tables {
            let item = &self.items[id];
            let ItemKind::Table(table) = &item.kind else { continue };
            let by_hint = self.sampling.tables.iter().find(|(alias, _)| *alias == item.alias);
            let level = by_hint.map_or(self.sampling.level, |(_, level)| *level);
            let is_usable = |index: &Rc<dictionary::IndexDef>| index.is_usable() && !index.invisible;
            let has_choice = || table.indexes.iter().any(is_usable) && !self.is_one_row(id, table);
            if level == 0 || (alone && !has_choice()) {
                continue;
            }
            let named =
                |column: &crate::scope::ItemColumn| matches!(column.value, Some(Expr { node: Node::Reg(_), .. }));
            let wanted = |at: &usize| named(&item.columns[*at]) && is_counted(&table.columns[*at]);
            let columns: Vec<usize> = (0..item.columns.len()).filter(wanted).collect();
            let Some(sampled) = sampler.sample(table, &columns, blocks_of(level))? else { continue };
            let table = with_sample(table, sampled);
            self.items[id].kind = ItemKind::Table(Rc::new(table));
            self.sampling.sampled.push(id);
            if !self.notes.contains(&Note::DynamicSampling(level)) {
                self.notes.push(Note::DynamicSampling(level));
            }
        }
        Ok(())
    }

    /// Whether at most one row of the table is selected, because the whole key of a unique index is compared with
    /// values. That index is then used whatever the statistics.
    fn is_one_row(&self, id: ItemId, table: &TableDef) -> bool {
        let Some(rel) = &self.rows else { return false };
        let mut equal = Vec::new();
        self.for_each_expr(rel, &mut |e| equalities(e, &mut equal));
        let is_equal = |part: &dictionary::IndexColumnDef| match part.key {
            IndexKey::Column(at) => match &self.items[id].columns[at].value {
                Some(Expr { node: Node::Reg(reg), .. }) => equal.contains(reg),
                _ => false,
            },
            IndexKey::Expression { .. } => false,
        };
        let is_found = |index: &Rc<dictionary::IndexDef>| {
            index.unique && index.is_usable() && !index.invisible && index.columns.iter().all(is_equal)
        };
        table.indexes.iter().any(is_found)
    }

    fn is_sampled(&self, id: ItemId) -> bool {
        let ItemKind::Table(table) = &self.items[id].kind else { return false };
        table.statistics.is_none()
            && table.owner_id != UserId::SYS
            && table.heap().is_some()
            && !self.as_of_items.contains_key(&id)
            && !self.version_items.contains_key(&id)
    }
}

/// The columns that a condition equates with values.
fn equalities(e: &Expr, found: &mut Vec<Reg>) {
    let is_value = |e: &Expr| matches!(e.node, Node::Const(_) | Node::Bind(_));
    match &e.node {
        Node::And(list) => list.iter().for_each(|e| equalities(e, found)),
        Node::Cmp(CmpOp::Eq, _, a, b) => match (&a.node, &b.node) {
            (Node::Reg(reg), _) if is_value(b) => found.push(*reg),
            (_, Node::Reg(reg)) if is_value(a) => found.push(*reg),
            _ => {}
        },
        _ => {}
    }
}

/// Whether the column has stored bytes that are equal exactly for equal values.
fn is_counted(column: &dictionary::ColumnDef) -> bool {
    use types::{DataType as T, Zone};
    let other = matches!(
        column.data_type,
        T::Clob | T::Nclob | T::Blob | T::Bfile | T::Long | T::LongRaw | T::Cursor | T::Null | T::Named(_) | T::Xml
    );
    let zoned = matches!(column.data_type, T::Timestamp { zone: Zone::WithTimeZone, .. });
    column.virtual_text.is_none() && !other && !zoned
}

fn with_sample(table: &TableDef, sampled: Sampled) -> TableDef {
    let mut table = table.clone();
    table.statistics = Some(sampled.table);
    for (at, statistics) in sampled.columns {
        table.columns[at].statistics = Some(statistics);
    }
    table
}
