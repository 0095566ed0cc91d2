//! The uses of columns in the predicates of a statement, for COL_USAGE$.

use crate::block_names::ItemId;
use crate::ir::{CmpOp, Expr, Node, Reg};
use crate::scope::{Compiler, ItemKind};
use crate::services::ColumnUses;
use dictionary::ColumnUse;
use std::collections::HashMap;
use types::ObjectId;

/// A column of a table in one row source of the statement.
type Place = (ItemId, ObjectId, u32);

struct Uses {
    columns: HashMap<Reg, Place>,
    found: Vec<(ObjectId, u32, ColumnUse)>,
}

impl Compiler<'_> {
    /// Reports each kind of use of each column once. The trees must have been rewritten.
    pub fn tell_column_uses(&self, told: &dyn ColumnUses) {
        let mut uses = Uses { columns: HashMap::new(), found: Vec::new() };
        for (id, item) in self.items.iter().enumerate() {
            let ItemKind::Table(table) = &item.kind else { continue };
            for (at, column) in item.columns.iter().enumerate() {
                if let Some(Expr { node: Node::Reg(reg), .. }) = &column.value {
                    uses.columns.insert(*reg, (id, table.object, at as u32 + 1));
                }
            }
        }
        if uses.columns.is_empty() {
            return;
        }
        let trees =
            self.rows.iter().chain(self.subs.iter().map(|sub| &sub.rel)).chain(self.ctes.iter().map(|c| &c.rel));
        trees.for_each(|tree| self.for_each_expr(tree, &mut |e| uses.predicate(e)));
        uses.found.iter().for_each(|(table, column, how)| told.used(*table, *column, *how));
    }
}

impl Uses {
    fn column(&self, e: &Expr) -> Option<Place> {
        match &e.node {
            Node::Reg(reg) => self.columns.get(reg).copied(),
            // not a clause: the value of an expression is not a column
            _ => None,
        }
    }

    fn note(&mut self, of: Option<Place>, how: ColumnUse) {
        let Some((_, table, column)) = of else { return };
        if !self.found.contains(&(table, column, how)) {
            self.found.push((table, column, how));
        }
    }

    /// Notes the uses in a predicate; other expressions have none.
    fn predicate(&mut self, e: &Expr) {
        match &e.node {
            Node::And(list) | Node::Or(list) => list.iter().for_each(|e| self.predicate(e)),
            Node::Not(e) => self.predicate(e),
            Node::Cmp(op, _, left, right) => self.comparison(*op, left, right),
            Node::IsNull(e, _) => self.note(self.column(e), ColumnUse::Null),
            Node::Like { value, pattern: _, escape: _, negated: _ } => self.note(self.column(value), ColumnUse::Like),
            Node::InList { value, list: _, compare: _, negated: _ } => {
                self.note(self.column(value), ColumnUse::Equality);
            }
            Node::InSub { values, sub: _, compare: _, negated: _, single: _ } => {
                values.iter().for_each(|value| self.note(self.column(value), ColumnUse::Equality));
            }
            // not a clause: other expressions are not predicates on columns
            _ => {}
        }
    }

    fn comparison(&mut self, op: CmpOp, left: &Expr, right: &Expr) {
        let (a, b) = (self.column(left), self.column(right));
        let is_join = matches!((a, b), (Some((one, ..)), Some((other, ..))) if one != other);
        let how = match (op, is_join) {
            (CmpOp::Eq, true) => ColumnUse::Equijoin,
            (_, true) => ColumnUse::NonEquijoin,
            (CmpOp::Eq, false) => ColumnUse::Equality,
            (CmpOp::Ne, false) => return,
            (CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge, false) => ColumnUse::Range,
        };
        self.note(a, how);
        self.note(b, how);
    }
}
