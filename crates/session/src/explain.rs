//! EXPLAIN PLAN, and DBMS_XPLAN.DISPLAY, which prints its plans.
//!
//! The statement is compiled with the names and privileges of its user and not executed; its plan becomes rows of a
//! plan table, in the user's transaction. The usual table, PLAN_TABLE, is a temporary table of SYS, so that each
//! session sees its own plans. Columns that the planner does not estimate are null.

use exec::plan_rows::PlanRow;
use exec::{Cursor, ExecCtx};
use sql::ast::{ExplainPlan, Name, Statement};
use types::{Number, Ora, Result, Value};

use crate::recursive::rows_of;
use crate::shared_pool::lines;
use crate::xplan::{self, Around, Format};

/// The columns that EXPLAIN PLAN fills, in the order of the placeholders.
const COLUMNS: &str = "statement_id, plan_id, timestamp, operation, options, object_owner, object_name, object_alias, object_type, \
                       optimizer, id, parent_id, depth, position, cardinality, access_predicates, filter_predicates, \
                       bytes, cost, io_cost, cpu_cost, time, projection, other_xml, qblock_name, \
                       object_node, other_tag, distribution, partition_start, partition_stop";

/// Runs EXPLAIN PLAN.
///
/// # Errors
/// Errors from compiling the statement; ORA-02402, ORA-02403, ORA-02404 for the table; ORA-03001 for other statements
/// than queries and DML.
pub fn run(cx: &mut ExecCtx<'_>, e: &ExplainPlan) -> Result<()> {
    let ExplainPlan { statement_id: _, into, statement, pos } = e;
    let compiled = matches!(
        *statement,
        Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_)
    );
    if !compiled {
        return Err(Ora::unsupported().at(pos.0));
    }
    let rows = Cursor::plan_rows(cx, statement)?;
    let table = into.as_ref().map_or_else(|| "PLAN_TABLE".to_string(), quoted);
    let missing = || into.as_ref().map_or_else(|| Ora::new(2402), |name| Ora::new(2404).at(name.pos.0));
    let places: Vec<String> = (1..=30).map(|n| if n == 3 { "sysdate".into() } else { format!(":{n}") }).collect();
    let insert = format!("insert into {table} ({COLUMNS}) values ({})", places.join(", "));
    let mut cursor = Cursor::compile(cx, &insert, &[]).map_err(|error| match error {
        error if error.is(942) => missing(),
        error if error.is(904) => Ora::new(2403),
        error => error.at(0),
    })?;
    // Later plans have greater numbers, also in a table that sessions share.
    let plan_id = number(os::clock::wall_ns() / 1000);
    let statement_id = text(e.statement_id.as_deref().unwrap_or(""));
    let mode = cx.session.options.optimizer_mode;
    for row in &rows {
        let values = bound(row, &statement_id, &plan_id, mode);
        let given = |name: &String| name.parse::<usize>().ok().and_then(|n| values.get(n - 1).cloned());
        let bound: Option<Vec<Value>> = cursor.binds().iter().map(given).collect();
        let done =
            cursor.bind(&bound.ok_or_else(|| Ora::internal("a column of a plan"))?).and_then(|()| cursor.execute(cx));
        if let Err(error) = done {
            cursor.close(cx);
            return Err(error);
        }
    }
    cursor.close(cx);
    Ok(())
}

/// The values bound for a row, by number of the placeholder.
fn bound(row: &PlanRow, statement_id: &Value, plan_id: &Value, mode: &str) -> Vec<Value> {
    vec![
        statement_id.clone(),
        plan_id.clone(),
        Value::Null,
        text(&row.operation),
        text(&row.options),
        text(&row.owner),
        text(&row.object),
        text(&row.alias),
        text(&row.object_type),
        text(if row.id == 0 { mode } else { "" }),
        number(row.id.into()),
        row.parent.map_or(Value::Null, |parent| number(parent.into())),
        number(row.depth.into()),
        // The position of the first row is the cost of the plan.
        if row.id == 0 { known(row.cost) } else { number(row.position.into()) },
        known(row.cardinality),
        text(&short(&row.access)),
        text(&short(&row.filter)),
        known(row.bytes),
        known(row.cost),
        known(row.io_cost),
        known(row.cpu_cost),
        known(row.time),
        text(&short(&row.projection)),
        text(&row.other),
        text(&row.query_block),
        text(&row.node),
        text(&row.tag),
        text(&row.distribution),
        text(&row.partitions[0]),
        text(&row.partitions[1]),
    ]
}

/// A text cut to the width of its column.
fn short(text: &str) -> String {
    let mut end = text.len().min(4000);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_string()
}

fn text(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::text(text.to_string()) }
}

fn known(n: Option<u64>) -> Value {
    n.map_or(Value::Null, number)
}

fn number(n: u64) -> Value {
    Value::Number(Number::from_u64(n))
}

/// A name in quotes, so that SQL accepts any characters in it.
fn quoted(name: &Name) -> String {
    let parts = name.parts.iter().map(|part| format!("\"{}\"", part.name));
    parts.collect::<Vec<_>>().join(".")
}

/// Whether a text is a table's name, with its schema or without, and nothing more.
fn is_name(text: &str) -> bool {
    let plain = |part: &str| {
        let is_word = |c: char| c.is_alphanumeric() || "_$#".contains(c);
        part.starts_with(char::is_alphabetic) && part.chars().all(is_word)
    };
    let quoted = |part: &str| {
        part.strip_prefix('"').and_then(|p| p.strip_suffix('"')).is_some_and(|p| !p.is_empty() && !p.contains('"'))
    };
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() <= 2 && parts.iter().all(|part| plain(part) || quoted(part))
}

/// DBMS_XPLAN.DISPLAY: the lines of a plan.
///
/// # Errors
/// ORA-00903 for an invalid name; errors from reading the table. An invalid format is reported as a line, as in
/// Oracle's package.
pub fn display(cx: &mut ExecCtx<'_>, table: &str, statement_id: Option<&str>, format: &str) -> Result<Value> {
    let Some(format) = Format::of(format) else {
        return Ok(lines(types::TypeId::PLAN_LINES, vec![xplan::invalid(format, "DISPLAY")]));
    };
    let table = if table.is_empty() { "PLAN_TABLE" } else { table.trim() };
    if !is_name(table) {
        return Err(Ora::new(903));
    }
    // The newest plan, or the newest plan with the statement's id.
    let of =
        |alias: &str| if statement_id.is_some() { format!(" where {alias}.statement_id = :1") } else { String::new() };
    let and = if statement_id.is_some() { " and p.statement_id = :1" } else { "" };
    let query = format!(
        "select id, parent_id, depth, position, operation, options, object_owner, object_name, object_type, object_alias, \
         cardinality, access_predicates, filter_predicates, bytes, cost, io_cost, cpu_cost, time, projection, \
         other_xml, qblock_name, object_node, other_tag, distribution, partition_start, partition_stop \
         from {table} p \
         where p.plan_id = (select max(q.plan_id) from {table} q{}){and} order by id",
        of("q")
    );
    let mut cursor = Cursor::compile(cx, &query, &[])?;
    let values = vec![text(statement_id.unwrap_or("")); cursor.binds().len()];
    let found = cursor.bind(&values).and_then(|()| rows_of(&mut cursor, cx));
    cursor.close(cx);
    let rows: Vec<PlanRow> = found?.iter().map(|row| plan_row(row)).collect();
    let text = if rows.is_empty() {
        let what =
            statement_id.map_or_else(|| "last explain plan".to_string(), |id| format!("plan for statement_id '{id}'"));
        vec![format!("Error: cannot fetch {what} from {}", table.to_uppercase())]
    } else {
        xplan::display(&rows, format, Around::default())
    };
    Ok(lines(types::TypeId::PLAN_LINES, text))
}

/// A row of a plan table.
fn plan_row(row: &[Value]) -> PlanRow {
    let number = |at: usize| match &row[at] {
        Value::Number(n) => n.as_i64().and_then(|n| u64::try_from(n).ok()),
        _ => None,
    };
    let small = |at: usize| number(at).and_then(|n| u32::try_from(n).ok());
    let text = |at: usize| match &row[at] {
        Value::Text(text) => text.clone(),
        _ => String::new(),
    };
    PlanRow {
        id: small(0).unwrap_or(0),
        parent: small(1),
        // A table of the user may have any value here.
        depth: small(2).unwrap_or(0).min(255),
        position: small(3).unwrap_or(0),
        operation: text(4),
        options: text(5),
        owner: text(6),
        object: text(7),
        object_type: text(8),
        alias: text(9),
        cardinality: number(10),
        access: text(11),
        filter: text(12),
        bytes: number(13),
        cost: number(14),
        io_cost: number(15),
        cpu_cost: number(16),
        time: number(17),
        projection: text(18),
        other: text(19),
        query_block: text(20),
        node: text(21),
        tag: text(22),
        distribution: text(23),
        partitions: [text(24), text(25)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_and_nothing_else() {
        for good in ["PLAN_TABLE", "scott.my_plans", "\"My plans\"", "sys.plan_table$"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "a b", "a.b.c", "(select 1 from dual)", "a--", "\"a\"\"", "1a"] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_long_predicate_is_cut_between_characters() {
        assert_eq!(short(&"ä".repeat(3000)).len(), 4000);
        assert_eq!(short(&format!("a{}", "ä".repeat(3000))).len(), 3999);
    }
}
