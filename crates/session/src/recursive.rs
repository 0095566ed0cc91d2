//! Statements of the instance's own, which run with the names and privileges of SYS.
//!
//! No text of a user is ever part of one: they are [`Text`]s.

use crate::core::Core;
use exec::{Cursor, ExecCtx};
use instance::Text;
use types::{Result, Value};

/// Runs a statement with SYS's names and gives its rows. Placeholders that are numbers take that one of `binds`, from
/// 1.
///
/// # Errors
/// Those of the statement.
pub fn recursive(core: &Core, cx: &mut ExecCtx<'_>, text: impl Into<Text>, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
    run(core, cx, text.into().as_str(), binds, rows_of)
}

/// As [`recursive`], and gives how many rows it changed.
///
/// # Errors
/// Those of the statement.
pub fn changed(core: &Core, cx: &mut ExecCtx<'_>, text: impl Into<Text>, binds: &[Value]) -> Result<u64> {
    run(core, cx, text.into().as_str(), binds, |cursor, cx| cursor.execute(cx).map(|()| cursor.rows_processed()))
}

pub(crate) fn run<R>(
    core: &Core,
    cx: &mut ExecCtx<'_>,
    text: &str,
    binds: &[Value],
    f: impl FnOnce(&mut Cursor, &mut ExecCtx<'_>) -> Result<R>,
) -> Result<R> {
    core.who.internally(|| {
        core.p.count(wait::Stat::RecursiveCalls, 1);
        // The cursor numbers its binds as they stand in the text: `:n` is the n-th given here.
        let given = |name: &String| name.parse::<usize>().ok().and_then(|n| binds.get(n.checked_sub(1)?).cloned());
        let values: Option<Vec<Value>> = sql::bind_names(text).iter().map(given).collect();
        let values = values.as_deref().unwrap_or(binds);
        let types: Vec<_> = values.iter().map(|v| Some(v.data_type())).collect();
        let mut cursor = Cursor::compile(cx, text, &types)?;
        cursor.bind(values)?;
        let done = f(&mut cursor, cx);
        cursor.close(cx);
        done
    })
}

/// Executes a cursor and gives all its rows.
pub(crate) fn rows_of(cursor: &mut Cursor, cx: &mut ExecCtx<'_>) -> Result<Vec<Vec<Value>>> {
    cursor.execute(cx)?;
    let mut rows = Vec::new();
    if cursor.kind() == exec::StatementKind::Select {
        let mut row = Vec::new();
        while cursor.fetch(cx, &mut row)? {
            rows.push(row.clone());
        }
    }
    Ok(rows)
}

/// The value of an expression that a user wrote, with the names and privileges in force.
///
/// # Errors
/// A text that is not an expression; the errors of evaluating it.
pub(crate) fn value_of(cx: &mut ExecCtx<'_>, text: &str) -> Result<Value> {
    let expr = sql::parse_expression(text)?;
    let mut query = sql::parse_query("select null from sys.dual")?;
    if let sql::ast::QueryBody::Select(select) = &mut query.body
        && let [sql::ast::SelectItem { kind: sql::ast::SelectItemKind::Expr { expr: item, alias: _, text: _ }, pos: _ }] =
            &mut *select.items
    {
        *item = expr;
    }
    let statement = std::rc::Rc::new(sql::ast::Statement::Query(Box::new(query)));
    let mut cursor = Cursor::compile_parsed(cx, &format!("select {text} from sys.dual"), statement, &[])?;
    let rows = rows_of(&mut cursor, cx);
    cursor.close(cx);
    Ok(rows?.into_iter().next().and_then(|row| row.into_iter().next()).unwrap_or(Value::Null))
}
