//! Locators: a LOB column that a statement gives to its caller says which row it is in.
//!
//! Only what leaves the statement is a locator: items of the outermost select list, and of RETURNING, that are columns
//! of a table's row. Everything in a statement works with the text or the bytes. A LOB of another query block, of a set
//! operation or of an expression is a value without a row.

use crate::function::Func;
use crate::ir::*;
use crate::logical::Rel;
use crate::scope::*;
use dictionary::{Organization, TableDef};
use types::{DataType, Value};

impl Compiler<'_> {
    /// Makes locators of a query's outputs that are LOB columns of tables.
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
            // Rows as of another moment, and versions of rows, are not there to be changed.
            if self.as_of_items.contains_key(&item) || self.version_items.contains_key(&item) {
                continue;
            }
            if let Some(rowid) = self.rowid_value(item) {
                locate(e, rowid, &table, column);
            }
        }
    }

    /// The item, and its column, that a register has the value of.
    fn column_of(&self, reg: Reg) -> Option<(ItemId, usize, std::rc::Rc<TableDef>)> {
        self.items.iter().enumerate().find_map(|(id, item)| {
            let ItemKind::Table(table) = &item.kind else { return None };
            let is_it = |c: &ItemColumn| matches!(&c.value, Some(Expr { node: Node::Reg(r), .. }) if *r == reg);
            let column = item.columns.iter().position(is_it)?;
            Some((id, column, table.clone()))
        })
    }
}

/// Makes a locator of an expression that is the column of the row at `rowid`.
pub fn locate(e: &mut Expr, rowid: Expr, table: &TableDef, column: usize) {
    let has_rowids = matches!(table.organization, Organization::Heap(_) | Organization::HashCluster { .. });
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

/// Whether each row that comes out is one of the FROM clause, with its registers.
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
        | Rel::Set { kind: _, inputs: _, out: _ }
        | Rel::Connect(_) => false,
    }
}
