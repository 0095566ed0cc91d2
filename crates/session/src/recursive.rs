//! Statements of the instance's own, which run with the names and privileges of SYS.
//!
//! No text of a user is ever part of one: they are [`Text`]s.

use crate::core::Core;
use crate::world::World;
use exec::{Cursor, ExecCtx};
use instance::{Instance, Text};
use monitor::Recorder;
use plsql::World as _;
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

/// Compiles all statements, and then executes them with nothing in between, however long the compilation took. Gives the
/// wall-clock nanoseconds before the first execution and after the last.
fn at_one_moment(core: &Core, cx: &mut ExecCtx<'_>, texts: &[Text], binds: &[Value]) -> Result<(u64, u64)> {
    let types: Vec<_> = binds.iter().map(|v| Some(v.data_type())).collect();
    core.who.internally(|| {
        let mut cursors = Vec::with_capacity(texts.len());
        for text in texts {
            core.p.count(wait::Stat::RecursiveCalls, 1);
            let mut cursor = Cursor::compile(cx, text.as_str(), &types)?;
            cursor.bind(binds)?;
            cursors.push(cursor);
        }
        let before = os::clock::wall_ns();
        let done = cursors.iter_mut().try_for_each(|cursor| cursor.execute(cx));
        let after = os::clock::wall_ns();
        cursors.iter_mut().for_each(|cursor| cursor.close(cx));
        done.map(|()| (before, after))
    })
}

/// A query of a report: the crate `awr` makes it of its own literals, and the caller was asked for the privilege to run
/// the report.
///
/// # Errors
/// Those of the query; ORA-00900 for anything else.
pub fn report(core: &Core, cx: &mut ExecCtx<'_>, text: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
    sql::parse_query(text)?;
    run(core, cx, text, binds, rows_of)
}

/// Runs a statement that is neither query nor DML.
///
/// # Errors
/// Those of the statement.
pub fn control(core: &Core, cx: &mut ExecCtx<'_>, text: &'static str) -> Result<()> {
    core.who.internally(|| crate::run::run_other(core, cx, text))
}

fn run<R>(
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

impl World<'_> {
    /// Runs `f` in a transaction of its own, which is committed, or rolled back when `f` fails.
    ///
    /// # Errors
    /// Those of `f` and of the commit.
    pub(crate) fn in_own_transaction<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.autonomous_begin()?;
        let done = f(self);
        let ended = match &done {
            Ok(_) => self.commit(),
            Err(_) => self.rollback(),
        };
        let back = self.autonomous_end();
        let value = done?;
        ended?;
        back?;
        Ok(value)
    }
}

impl Recorder for World<'_> {
    fn instance(&self) -> &'static Instance {
        self.core.instance
    }

    fn rows(&mut self, text: impl Into<Text>, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
        recursive(self.core, &mut self.cx, text, binds)
    }

    fn changed(&mut self, text: impl Into<Text>, binds: &[Value]) -> Result<u64> {
        changed(self.core, &mut self.cx, text, binds)
    }

    fn at_one_moment(&mut self, texts: &[Text], binds: &[Value]) -> Result<(u64, u64)> {
        at_one_moment(self.core, &mut self.cx, texts, binds)
    }

    fn control(&mut self, text: &'static str) -> Result<()> {
        control(self.core, &mut self.cx, text)
    }

    fn report(&mut self, text: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
        report(self.core, &mut self.cx, text, binds)
    }

    fn autonomously<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.in_own_transaction(f)
    }
}
