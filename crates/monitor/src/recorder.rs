//! The interface of the workload repository to the session that writes it.

use instance::{Instance, Text};
use types::{Result, Value};

/// A session that runs the repository's own statements, with the names and privileges of SYS. The crate `session`
/// implements it.
///
/// Placeholders of a text that are numbers take that one of the binds, from 1.
pub trait Recorder {
    /// The instance that is observed.
    fn instance(&self) -> &'static Instance;

    /// Runs a query or DML statement and gives its rows.
    ///
    /// # Errors
    /// Those of the statement.
    fn rows(&mut self, text: impl Into<Text>, binds: &[Value]) -> Result<Vec<Vec<Value>>>;

    /// Runs a DML statement and gives the number of rows that it changed.
    ///
    /// # Errors
    /// Those of the statement.
    fn changed(&mut self, text: impl Into<Text>, binds: &[Value]) -> Result<u64>;

    /// Compiles all statements, and then executes them with nothing in between. Gives the wall-clock nanoseconds before
    /// the first execution and after the last.
    ///
    /// # Errors
    /// Those of the statements.
    fn at_one_moment(&mut self, texts: &[Text], binds: &[Value]) -> Result<(u64, u64)>;

    /// Runs a statement that is neither a query nor DML.
    ///
    /// # Errors
    /// Those of the statement.
    fn control(&mut self, text: &'static str) -> Result<()>;

    /// Runs a query of a report, which the crate `awr` makes of its own literals.
    ///
    /// # Errors
    /// Those of the query; ORA-00900 for any other statement.
    fn report(&mut self, text: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>>;

    /// Runs `f` in a transaction of its own, which is committed, or rolled back when `f` fails.
    ///
    /// # Errors
    /// Those of `f` and of the commit.
    fn autonomously<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T>;
}

/// The number in the first column of the first row.
pub(crate) fn integer(rows: &[Vec<Value>]) -> Option<i64> {
    match rows.first()?.first()? {
        Value::Number(n) => n.to_i64().ok(),
        _ => None,
    }
}

/// One transaction at a time writes snapshots, their settings and the saved history.
pub(crate) fn lock(r: &mut impl Recorder) -> Result<()> {
    r.control("lock table sys.wrm$_snapshot in exclusive mode")
}
