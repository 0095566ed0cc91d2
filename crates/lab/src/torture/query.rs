//! The queries of the checks, and the meaning of their errors.

use client::{Bind, Client, ClientError};
use types::{DataType, Number, Value};

/// The undo that a statement needed was dropped with its tablespace: the statement has no effect, and may be repeated.
pub const TOO_OLD: u32 = 1555;

/// Errors of an instance or session that is ending.
const ENDING: &[u32] = &[28, 449, 470, 471, 472, 474, 603, 1012, 1033, 1089, 1090, 1092];

/// Whether the session, or its instance, has ended or is ending.
pub fn is_gone(e: &ClientError) -> bool {
    e.is_fatal() || ENDING.contains(&e.code())
}

/// The reason why a check failed.
pub enum Trouble {
    /// The session ended during the check.
    Gone,
    Wrong(String),
}

pub type Check<R> = Result<R, Trouble>;

/// The rows of a query.
pub fn rows(c: &mut Client, sql: &str, binds: &[Bind]) -> Check<Vec<Vec<Value>>> {
    for _ in 0..TRIES {
        match c.query(sql, binds).and_then(|q| q.all()) {
            Err(e) if e.code() == TOO_OLD => {}
            done => return done.map_err(|e| trouble(&e, sql)),
        }
    }
    c.query(sql, binds).and_then(|q| q.all()).map_err(|e| trouble(&e, sql))
}

/// Most repeats of a query whose undo was dropped with its tablespace.
const TRIES: usize = 10;

/// The meaning of an error of a check.
pub fn trouble(e: &ClientError, sql: &str) -> Trouble {
    if is_gone(e) { Trouble::Gone } else { Trouble::Wrong(format!("{e}\nin {sql}")) }
}

/// The rows as whole numbers, NULL as 0.
pub fn numbers(rows: &[Vec<Value>]) -> Vec<Vec<i64>> {
    let number = |v: &Value| match v {
        Value::Number(n) => n.as_i64().unwrap_or(i64::MIN),
        _ => 0,
    };
    rows.iter().map(|row| row.iter().map(number).collect()).collect()
}

/// The rows of a query, as whole numbers.
pub fn numbers_of(c: &mut Client, sql: &str, binds: &[Bind]) -> Check<Vec<Vec<i64>>> {
    rows(c, sql, binds).map(|r| numbers(&r))
}

/// Compares, and reports the difference.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, seen: &T, want: &T) -> Check<()> {
    if seen == want {
        return Ok(());
    }
    Err(Trouble::Wrong(format!("{what}: the database has {seen:?}, it must be {want:?}")))
}

/// A number as a bind value.
pub fn n(value: i64) -> Bind {
    Bind::input(DataType::NUMBER, Value::Number(Number::from_i64(value)))
}
