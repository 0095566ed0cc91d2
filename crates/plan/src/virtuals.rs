//! Virtual columns. They are not stored; each use is replaced by the column's expression.
//!
//! A function-based index is an index on a hidden virtual column, so a condition with the same expression can use it.

use crate::block_names::ItemId;
use crate::ir::*;
use crate::scope::*;
use dictionary::{IndexDef, IndexKey, TableDef};
use sql::ast::ExprKind;
use std::rc::Rc;
use types::Result;

/// Whether a key part of an index is a virtual column, which the row's bytes do not contain.
pub fn has_virtual_key(table: &TableDef, index: &IndexDef) -> bool {
    index.columns.iter().any(|part| match part.key {
        IndexKey::Column(at) => table.columns.get(at).is_some_and(|c| c.virtual_text.is_some()),
        IndexKey::Expression { .. } => true,
    })
}

/// The virtual columns, without hidden keys of disabled indexes, whose functions may no longer exist.
fn virtual_columns(table: &TableDef) -> Vec<(usize, String)> {
    let text = |(i, c): (usize, &dictionary::ColumnDef)| Some((i, c.virtual_text.clone()?));
    table.columns.iter().enumerate().filter_map(text).filter(|(at, _)| !is_disabled_key(table, *at)).collect()
}

/// Whether a column is a hidden key of disabled indexes only.
fn is_disabled_key(table: &TableDef, column: usize) -> bool {
    let is_of = |index: &&Rc<IndexDef>| index.columns.iter().any(|part| part.key == IndexKey::Column(column));
    let mut indexes = table.indexes.iter().filter(is_of).peekable();
    table.columns[column].hidden && indexes.peek().is_some() && indexes.all(|index| index.disabled)
}

impl Compiler<'_> {
    /// Gives every virtual column of a table in FROM its expression over the table's columns.
    pub fn bind_virtuals(&mut self, id: ItemId, table: &Rc<TableDef>, optional: bool) -> Result<()> {
        for (column, text) in virtual_columns(table) {
            let parsed = sql::parse_expression(&text)?;
            let mut used = Vec::new();
            sql::visit_expr(&parsed, &mut |e| {
                if let ExprKind::Name(name) = &e.kind
                    && let Some((at, _)) = table.column(name.last())
                {
                    used.push(at);
                }
            });
            let mut regs = vec![0; table.columns.len()];
            for at in used {
                if let Node::Reg(r) = self.column_value(id, at).node {
                    regs[at] = r;
                }
            }
            let mut made = self.virtual_column(table, &text, &regs)?;
            let is_index_key = table.columns[column].hidden;
            if optional
                && !is_index_key
                && !is_null_of_nulls(&made)
                && let Some(rowid) = self.rowid_value(id)
            {
                // The expression is evaluated above the outer join, where NVL(c, 0) would have a value without a row.
                let ty = made.ty;
                let is_row = Expr::new(Node::IsNull(Box::new(rowid), true), types::DataType::Boolean);
                made = Expr::new(Node::Case(vec![(is_row, made)], None), ty);
            }
            self.items[id].columns[column].value = Some(made);
        }
        // A key is recomputed from the row to check whether the row still has it.
        for index in table.indexes.iter().filter(|index| !index.disabled && has_virtual_key(table, index)) {
            for part in &index.columns {
                if let IndexKey::Column(at) = part.key {
                    self.column_value(id, at);
                }
            }
        }
        Ok(())
    }

    /// The expression of a virtual column over a row in registers.
    fn virtual_column(&mut self, table: &Rc<TableDef>, text: &str, regs: &[Reg]) -> Result<Expr> {
        let parsed = sql::parse_expression(text)?;
        self.push_row_block(table, &table.name.clone(), regs, None, Clause::Dml);
        let made = self.as_owner_of(table, |c| c.expr(&parsed));
        self.blocks.pop();
        made
    }

    /// The virtual columns of a row in registers, each with its expression.
    pub fn virtuals_over(&mut self, table: &Rc<TableDef>, regs: &[Reg]) -> Result<Vec<(u16, Expr)>> {
        virtual_columns(table)
            .into_iter()
            .map(|(column, text)| Ok((column as u16, self.virtual_column(table, &text, regs)?)))
            .collect()
    }
}

/// Whether an expression is NULL whenever all columns it reads are.
fn is_null_of_nulls(e: &Expr) -> bool {
    match &e.node {
        Node::Reg(_) => true,
        Node::Neg(a) | Node::Convert(a) | Node::Cast(a) => is_null_of_nulls(a),
        Node::Arith(_, a, b) => is_null_of_nulls(a) || is_null_of_nulls(b),
        _ => false,
    }
}
