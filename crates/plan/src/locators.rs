//! Locators: a LOB column returned to the caller identifies its row (P27).
//!
//! Only values that leave the statement become locators: items of the outermost select list, and of RETURNING, that are
//! columns of a table's row. Inside a statement all values are texts and bytes. A LOB from another query block, a set
//! operation or an expression is a value without a row.

use crate::block_names::ItemId;
use crate::function::Func;
use crate::ir::*;
use crate::logical::Rel;
use crate::scope::*;
use dictionary::{Organization, TableDef};
use types::{DataType, Value};

impl Compiler<'_> {
    /// Turns the outputs of a query that are LOB columns of tables into locators.
    pub fn locate_outputs(&mut self, rel: &Rel, out: &mut [Expr]) {
        if !out.iter().any(|e| is_lob(&e.ty)) || self.result_cache || !keeps_rows(rel) {
            return;
        }
        for e in out {
            let Node::Reg(reg) = e.node else { continue };
            if !is_lob(&e.ty) {
                continue;
            }
            let Some((item, column, table)) = self.column_of(reg) else { continue };
            // Rows read as of another time, and versions of rows, cannot be changed.
            if self.as_of_items.contains_key(&item) || self.version_items.contains_key(&item) {
                continue;
            }
            if let Some(rowid) = self.rowid_value(item) {
                locate(e, rowid, &table, column);
            }
        }
    }

    /// The item, the column and the table of a register's value.
    fn column_of(&self, reg: Reg) -> Option<(ItemId, usize, std::rc::Rc<TableDef>)> {
        self.items.iter().enumerate().find_map(|(id, item)| {
            let ItemKind::Table(table) = &item.kind else { return None };
            let is_it = |c: &ItemColumn| matches!(&c.value, Some(Expr { node: Node::Reg(r), .. }) if *r == reg);
            let column = item.columns.iter().position(is_it)?;
            Some((id, column, table.clone()))
        })
    }
}

/// Turns an expression, which is a column of the row at `rowid`, into a locator.
pub fn locate(e: &mut Expr, rowid: Expr, table: &TableDef, column: usize) {
    let has_rowids = matches!(
        table.organization,
        Organization::Heap(_) | Organization::HashCluster { .. } | Organization::Partitioned(_)
    );
    let is_own = table.columns.get(column).is_some_and(|c| c.data_type == e.ty && c.virtual_text.is_none());
    if !has_rowids || !is_own {
        return;
    }
    let ty = e.ty;
    let whole = |n: u32| Expr::new(Node::Const(Value::Number(n.into())), DataType::NUMBER);
    let value = std::mem::replace(e, whole(0));
    let binary = u32::from(ty == DataType::Blob);
    let args = vec![value, rowid, whole(table.object.0), whole(column as u32), whole(binary)];
    *e = Expr::new(Node::Func(Func::locator(), args), ty);
}

pub fn is_lob(ty: &DataType) -> bool {
    matches!(ty, DataType::Clob | DataType::Nclob | DataType::Blob)
}

/// Whether each output row is a row of the FROM clause, with its registers.
fn keeps_rows(rel: &Rel) -> bool {
    match rel {
        Rel::Join(_) => true,
        Rel::Filter { input, conds: _ }
        | Rel::Count { input, reg: _, conds: _ }
        | Rel::Sort { input, keys: _ }
        | Rel::Window { input, funcs: _ }
        | Rel::Limit { input, offset: _, count: _, percent: _, ties: _ }
        | Rel::ForUpdate { input, tables: _, wait: _ } => keeps_rows(input),
        Rel::Empty
        | Rel::Project { input: _, exprs: _, view: _ }
        | Rel::Distinct { input: _, regs: _ }
        | Rel::Group { input: _, keys: _, sets: _, aggs: _, scalar: _ }
        | Rel::Set { kind: _, inputs: _, out: _, recursion: _ }
        | Rel::Connect(_) => false,
    }
}
