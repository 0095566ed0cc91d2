//! A cursor as a statement of the executor's own.

use super::state::Cursor;
use crate::ctx::ExecCtx;
use crate::inner_statement::InnerStatement;
use types::{Result, Value};

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
