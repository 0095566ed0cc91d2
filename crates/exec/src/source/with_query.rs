//! WITH queries whose rows are kept.

use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::{CteRows, Machine, Saved, WithQuery};
use crate::source::RowSource;
use crate::source::kept_rows::KeptRows;
use types::Result;

/// A WITH query and its row source.
pub struct With<S> {
    op: S,
    out: Vec<Code>,
}

impl<S> With<S> {
    pub fn new(op: S, out: Vec<Code>) -> With<S> {
        With { op, out }
    }
}

impl<S: RowSource> WithQuery for With<S> {
    fn read(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<CteRows> {
        let mut rows = KeptRows::default();
        self.op.open(m, cx)?;
        while self.op.next(m, cx)? {
            let mut row = Vec::with_capacity(self.out.len());
            for code in &self.out {
                let r = code.eval(m, cx)?;
                row.push(m.value(r).clone());
            }
            let row: Saved = row.into_boxed_slice();
            rows.push(row, m, cx)?;
        }
        rows.finish(cx)
    }
}
