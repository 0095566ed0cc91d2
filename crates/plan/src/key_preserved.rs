//! Key-preserved tables of a join; see [`crate::updatable`].

use crate::block_names::ItemId;
use crate::ir::*;
use crate::logical::{JoinSet, Link, PartKind};
use crate::scope::*;
use dictionary::{ConstraintKindDef, IndexKey, TableDef};
use std::rc::Rc;

impl Compiler<'_> {
    /// The table of a part of a join, unless an outer join may fill its columns with NULLs.
    pub fn table_of_part(&self, set: &JoinSet, part: usize) -> Option<(ItemId, Rc<TableDef>)> {
        let part = set.parts.get(part).filter(|part| matches!(part.link, Link::Inner))?;
        let PartKind::Leaf(id) = part.kind else { return None };
        match &self.items[id].kind {
            ItemKind::Table(table) => Some((id, Rc::clone(table))),
            _ => None,
        }
    }

    /// The table whose rows occur at most once: the only table, or the first key-preserved one.
    pub fn kept_table(&self, set: &JoinSet) -> Option<ItemId> {
        let is_table = |part: usize| match set.parts[part].kind {
            PartKind::Leaf(id) if matches!(self.items[id].kind, ItemKind::Table(_)) => Some(id),
            _ => None,
        };
        match set.parts.len() {
            1 => is_table(0),
            n => (0..n).filter(|part| self.is_key_preserved(set, *part)).find_map(is_table),
        }
    }

    /// Whether a table is key-preserved: from its row all other tables are reached by unique keys.
    pub fn is_key_preserved(&self, set: &JoinSet, part: usize) -> bool {
        if self.table_of_part(set, part).is_none() {
            return false;
        }
        let mut reached = vec![part];
        while let Some(next) = (0..set.parts.len()).find(|n| !reached.contains(n) && self.is_reached(set, &reached, *n))
        {
            reached.push(next);
        }
        reached.len() == set.parts.len()
    }

    /// Whether a table has at most one row for a row of the tables already reached.
    fn is_reached(&self, set: &JoinSet, reached: &[usize], part: usize) -> bool {
        let PartKind::Leaf(id) = set.parts[part].kind else { return false };
        let ItemKind::Table(table) = &self.items[id].kind else { return false };
        let mut equal = Vec::new();
        for cond in set.parts[part].outer_on().unwrap_or(&set.conds) {
            equalities(cond, &mut equal);
        }
        let column = |reg: Reg| {
            let is = |c: &ItemColumn| matches!(&c.value, Some(Expr { node: Node::Reg(r), .. }) if *r == reg);
            self.items[id].columns.iter().position(is)
        };
        let is_known = |reg: Reg| {
            reached.iter().any(|n| matches!(set.parts[*n].kind, PartKind::Leaf(other) if self.item_owns(other, reg)))
        };
        let both = equal.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        let bound: Vec<usize> = both.filter(|(_, other)| is_known(*other)).filter_map(|(own, _)| column(own)).collect();
        unique_keys(table).iter().any(|key| key.iter().all(|column| bound.contains(column)))
    }
}

/// The pairs of registers that a condition equates.
fn equalities(cond: &Expr, out: &mut Vec<(Reg, Reg)>) {
    match &cond.node {
        Node::And(all) => all.iter().for_each(|cond| equalities(cond, out)),
        Node::Cmp(CmpOp::Eq, _, a, b) => {
            if let (Node::Reg(a), Node::Reg(b)) = (&a.node, &b.node) {
                out.push((*a, *b));
            }
        }
        _ => {}
    }
}

/// The columns of each unique key of a table.
fn unique_keys(table: &TableDef) -> Vec<Vec<usize>> {
    let constraints = table.constraints.iter().filter(|c| c.enabled && c.validated && !c.deferrable);
    let keys = constraints.filter_map(|c| match &c.kind {
        ConstraintKindDef::PrimaryKey { columns, .. } | ConstraintKindDef::Unique { columns, .. } => {
            Some(columns.clone())
        }
        _ => None,
    });
    let indexes = table.indexes.iter().filter(|index| index.unique && index.is_usable() && !index.building);
    let indexed = indexes.filter_map(|index| {
        let column = |c: &dictionary::IndexColumnDef| match &c.key {
            IndexKey::Column(at) => Some(*at),
            IndexKey::Expression { .. } => None,
        };
        index.columns.iter().map(column).collect::<Option<Vec<usize>>>()
    });
    keys.chain(indexed).filter(|columns| !columns.is_empty()).collect()
}
