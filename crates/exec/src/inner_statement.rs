//! Statements of the executor's own: the actions of foreign keys, and the look for child rows.

use crate::ctx::ExecCtx;
use types::{Ora, Result, Value};

/// A compiled statement of the executor's own.
pub trait InnerStatement {
    /// Runs the statement with these binds.
    ///
    /// # Errors
    /// Those of the statement.
    fn run(&mut self, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<()>;

    /// Whether the query finds a row with these binds.
    ///
    /// # Errors
    /// Those of the query.
    fn finds(&mut self, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<bool>;
}

/// Compiles a statement of the executor's own. Cursors stand above the changes that need it, so they provide it.
pub type CompileInner = fn(&mut ExecCtx<'_>, &str) -> Result<Box<dyn InnerStatement>>;

/// For code that changes no rows.
pub fn compiles_nothing(_: &mut ExecCtx<'_>, _: &str) -> Result<Box<dyn InnerStatement>> {
    Err(Ora::internal("a statement of the executor's own in code that changes no rows"))
}

/// A statement of the executor's own, compiled when it is first needed.
pub struct Inner {
    sql: String,
    compile: CompileInner,
    statement: Option<Box<dyn InnerStatement>>,
}

impl Inner {
    pub fn new(sql: String, compile: CompileInner) -> Inner {
        Inner { sql, compile, statement: None }
    }

    /// The statement; compiled if it has not been needed before.
    pub fn statement(&mut self, cx: &mut ExecCtx<'_>) -> Result<&mut dyn InnerStatement> {
        let statement = match self.statement.take() {
            Some(statement) => statement,
            None => (self.compile)(cx, &self.sql)?,
        };
        Ok(&mut **self.statement.insert(statement))
    }
}
