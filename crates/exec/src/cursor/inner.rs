//! Statements of the executor's own: the actions of foreign keys, and the look for child rows.

use super::state::Cursor;
use crate::ctx::ExecCtx;
use crate::dml::keys::{Inner, InnerStatement};
use types::{Result, Value};

impl Inner {
    /// The statement; compiled if it has not been needed before.
    pub fn statement(&mut self, cx: &mut ExecCtx<'_>) -> Result<&mut dyn InnerStatement> {
        let statement: Box<dyn InnerStatement> = match self.statement.take() {
            Some(statement) => statement,
            None => Box::new(Cursor::internal(cx, &self.sql)?),
        };
        Ok(&mut **self.statement.insert(statement))
    }
}

impl InnerStatement for Cursor {
    fn run(&mut self, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<()> {
        self.bind(values)?;
        self.execute(cx)
    }

    fn finds(&mut self, values: &[Value], cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.bind(values)?;
        self.execute(cx)?;
        let mut row = Vec::new();
        let found = self.fetch(cx, &mut row);
        self.close(cx);
        found
    }
}
