//! Compilation of expressions over one row of a table.

use crate::work::Work;
use dictionary::{ColumnDef, UserId};
use sql::ast::{Expr, ExprKind};
use types::{DataType, Ora, Result};

/// The row source of a query over one row of the columns that the expression uses.
fn one_row(columns: &[ColumnDef], expr: &Expr) -> String {
    let mut row: Vec<String> = Vec::new();
    sql::visit_expr(expr, &mut |e| {
        if let ExprKind::Name(name) = &e.kind
            && let Some(c) = columns.iter().find(|c| c.name == name.last() && !c.hidden)
        {
            let column = format!("cast(null as {}) \"{}\"", c.data_type, c.name);
            if !row.contains(&column) {
                row.push(column);
            }
        }
    });
    if row.is_empty() { "dual".to_owned() } else { format!("(select {} from dual)", row.join(", ")) }
}

/// Whether an expression over a row of these columns, of a table of `owner`, depends on the session's time zone or date
/// formats; with `language`, also on its date language and territory.
///
/// # Errors
/// Those of its compilation.
pub fn depends_on_settings(
    work: &mut Work<'_>,
    owner: UserId,
    columns: &[ColumnDef],
    (before, expr, after): (&str, &Expr, &str),
    language: bool,
) -> Result<bool> {
    let row = one_row(columns, expr);
    // With two rows only the types of the columns are known, not their values.
    let row = match row.strip_suffix(')') {
        Some(row) => format!("{row} union all {})", row.trim_start_matches('(')),
        None => row,
    };
    let query = sql::parse_query(&format!("select {before}{expr}{after} x from {row}"))?;
    work.host.depends_on_settings(&query, owner, language).map_err(|e| e.at(expr.pos.0))
}

/// Compiles a condition over a row of these columns, of a table of `owner`.
///
/// # Errors
/// Those of its compilation.
pub fn check_condition(work: &mut Work<'_>, owner: UserId, columns: &[ColumnDef], condition: &Expr) -> Result<()> {
    let query = sql::parse_query(&format!("select 1 x from {} where {condition}", one_row(columns, condition)))?;
    work.host.describe(&query, Some(owner)).map(|_| ()).map_err(|e| e.at(condition.pos.0))
}

/// The type of an expression over a row of these columns, of a table of `owner`: functions are resolved as the owner's.
pub fn type_of(work: &mut Work<'_>, owner: UserId, columns: &[ColumnDef], expr: &Expr) -> Result<DataType> {
    let query = sql::parse_query(&format!("select {expr} x from {}", one_row(columns, expr)))?;
    let described = work.host.describe(&query, Some(owner)).map_err(|e| e.at(expr.pos.0))?;
    let ty = described.first().map_or(DataType::Null, |d| d.data_type);
    match ty {
        DataType::Null => Ok(DataType::Varchar2 { len: 1, unit: types::LenUnit::Byte }),
        DataType::Varchar2 { len, unit } => Ok(DataType::Varchar2 { len: len.clamp(1, 4000), unit }),
        DataType::Boolean | DataType::PlsInteger | DataType::Cursor => Err(Ora::new(54016).at(expr.pos.0)),
        other => Ok(other),
    }
}
