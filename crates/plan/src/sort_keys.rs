//! Sort keys of ORDER BY, windows, KEEP and WITHIN GROUP.

use crate::ir::{Expr, SortKey};
use crate::resolve::Operands;
use crate::scope::Compiler;
use crate::typing::check_comparable;
use sql::ast;
use types::{Ora, Result};

pub(crate) fn sort_key(expr: Expr, item: &ast::OrderItem) -> SortKey {
    let ast::OrderItem { expr: _, descending, nulls_first } = item;
    SortKey { expr, desc: *descending, nulls_first: nulls_first.unwrap_or(*descending) }
}

/// Resolves the ORDER BY of a window, KEEP or WITHIN GROUP.
pub fn sort_item(c: &mut Compiler<'_>, item: &ast::OrderItem) -> Result<SortKey> {
    let expr = c.operand(&item.expr)?;
    let expr = c.sort_operand(expr, item.expr.pos.0)?;
    Ok(sort_key(expr, item))
}

/// Refuses a sort key of a type without an order.
///
/// # Errors
/// ORA-22950 for objects and collections; those of [`check_comparable`].
pub(crate) fn ordered(key: &Expr, pos: u32) -> Result<()> {
    match key.ty {
        types::DataType::Named(_) => Err(Ora::new(22950).at(pos)),
        ref ty => check_comparable(ty, pos),
    }
}
