//! The instance's own statements, which run with the names and privileges of SYS.
//!
//! Their type is [`Text`], which is made only of literals: no text of a user becomes part of one (invariant 11).

use crate::core::Core;
use exec::{Cursor, ExecCtx};
use instance::Text;
use types::{Result, Value};

/// Runs a statement as SYS and returns its rows. The placeholder `:n` takes the n-th of `binds`, from 1.
///
/// # Errors
/// Those of the statement.
pub fn recursive(core: &Core, cx: &mut ExecCtx<'_>, text: impl Into<Text>, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
    run(core, cx, text.into().as_str(), binds, rows_of)
}

/// Runs a statement as SYS, like [`recursive`], and returns the number of changed rows.
///
/// # Errors
/// Those of the statement.
pub fn changed(core: &Core, cx: &mut ExecCtx<'_>, text: impl Into<Text>, binds: &[Value]) -> Result<u64> {
    run(core, cx, text.into().as_str(), binds, |cursor, cx| cursor.execute(cx).map(|()| cursor.rows_processed()))
}

/// Runs a statement with the names and privileges in force; `:n` stands for the n-th of `binds`.
///
/// # Errors
/// Those of the statement.
pub(crate) fn run_as_caller(cx: &mut ExecCtx<'_>, text: &str, binds: &[Value]) -> Result<()> {
    let given = |name: &String| name.parse::<usize>().ok().and_then(|n| binds.get(n.checked_sub(1)?).cloned());
    let values: Option<Vec<Value>> = sql::bind_names(text).iter().map(given).collect();
    let values = values.as_deref().unwrap_or(binds);
    let types: Vec<_> = values.iter().map(|v| Some(v.data_type())).collect();
    let mut cursor = Cursor::compile(cx, text, &types)?;
    let done = cursor.bind(values).and_then(|()| cursor.execute(cx));
    cursor.close(cx);
    done
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
        // The cursor orders its binds by their occurrence in the text; `:n` stands for the n-th of `binds`.
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

/// Executes a cursor and returns all its rows.
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

/// Evaluates the text of a user's expression, with the names and privileges in force.
///
/// # Errors
/// Syntax errors of the expression; errors of its evaluation.
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
