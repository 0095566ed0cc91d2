//! Conditions and computed values.

use super::column::Column;
use super::eval::{Condition, Expression, filter};
use super::node::{Batch, Failing, Node};
use crate::ctx::ExecCtx;
use crate::eval::assign;
use crate::machine::Machine;
use plan::Reg;
use types::{Result, Value};

/// Conditions over the rows of another source.
pub struct Filter {
    pub(super) input: Box<dyn Node>,
    pub(super) conds: Vec<Condition>,
    pub(super) failing: Failing,
    pub(super) selected: Vec<u32>,
}

impl Node for Filter {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.failing.clear();
        self.input.open(m, cx)
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.failing.clear();
        self.input.rewind(m, cx)
    }

    fn regs(&self) -> &[Reg] {
        self.input.regs()
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.failing.raise()?;
        while self.input.next_batch(out, m, cx)? {
            let regs = self.input.regs();
            filter(&self.conds, out, regs, &mut self.selected, &mut self.failing, m, cx)?;
            out.keep(&self.selected);
            if out.len > 0 {
                return Ok(true);
            }
            self.failing.raise()?;
            cx.check_cancel()?;
        }
        Ok(false)
    }
}

/// Values computed into registers.
pub struct Project {
    pub(super) input: Box<dyn Node>,
    pub(super) exprs: Vec<(Expression, Reg)>,
    pub(super) regs: Vec<Reg>,
    pub(super) failing: Failing,
}

impl Project {
    /// Computes the values of a batch row by row, up to the first row that fails.
    fn row_by_row(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut values: Vec<Vec<Value>> = self.exprs.iter().map(|_| Vec::new()).collect();
        for row in 0..out.len {
            let mut made = || -> Result<()> {
                out.restore(row, self.input.regs(), m)?;
                for ((expr, reg), values) in self.exprs.iter().zip(&mut values) {
                    assign(expr.code(), *reg, m, cx)?;
                    values.push(m.value(*reg).clone());
                }
                Ok(())
            };
            if let Err(e) = made() {
                self.failing.after(row, e)?;
                let rows: Vec<u32> = (0..row as u32).collect();
                out.keep(&rows);
                values.iter_mut().for_each(|v| v.truncate(row));
                break;
            }
        }
        let Batch { columns, arena, .. } = out;
        columns.extend(values.into_iter().map(|values| Column::of_values(values, arena)));
        Ok(())
    }
}

impl Node for Project {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.failing.clear();
        self.input.open(m, cx)
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.failing.clear();
        self.input.rewind(m, cx)
    }

    fn regs(&self) -> &[Reg] {
        &self.regs
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.failing.raise()?;
        if !self.input.next_batch(out, m, cx)? {
            return Ok(false);
        }
        let before = out.columns.len();
        for (expr, _) in &self.exprs {
            match expr.column(out, m, cx) {
                Some(column) => out.columns.push(column),
                None => {
                    out.columns.truncate(before);
                    self.row_by_row(out, m, cx)?;
                    break;
                }
            }
        }
        Ok(true)
    }
}
