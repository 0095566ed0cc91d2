//! Rows in registers made of batches, and batches made of rows in registers.

use super::column;
use super::node::{BYTES_MAX, Batch, Failing, Node, ROWS_MAX};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::RowSource;
use plan::Reg;
use types::{Result, Value};

/// Presents a source of batches as a source of rows.
pub struct Rows {
    pub node: Box<dyn Node>,
    batch: Batch,
    at: usize,
}

impl Rows {
    pub fn new(node: Box<dyn Node>) -> Rows {
        Rows { node, batch: Batch::default(), at: 0 }
    }
}

impl RowSource for Rows {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.batch.clear();
        self.at = 0;
        self.node.open(m, cx)
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.batch.clear();
        self.at = 0;
        self.node.rewind(m, cx)
    }

    fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.at >= self.batch.len {
            self.at = 0;
            self.batch.len = 0;
            if !self.node.next_batch(&mut self.batch, m, cx)? {
                self.batch.len = 0;
                return Ok(false);
            }
        }
        self.at += 1;
        self.batch.restore(self.at - 1, self.node.regs(), m)?;
        Ok(true)
    }
}

/// Presents a source of rows as a source of batches. Batches grow, so that a reader of few rows computes few.
///
/// A loop keeps its current row in registers, and evaluations over the batches above overwrite them. The last row is
/// therefore put back before the source continues.
pub struct FromRows<S> {
    op: S,
    regs: Vec<Reg>,
    last: Vec<Value>,
    makers: Vec<column::Maker>,
    size: usize,
    ended: bool,
    failing: Failing,
}

impl<S: RowSource> FromRows<S> {
    pub fn new(op: S, regs: Vec<Reg>) -> FromRows<S> {
        let makers = regs.iter().map(|_| column::Maker::default()).collect();
        FromRows { op, regs, last: Vec::new(), makers, size: 1, ended: false, failing: Failing::default() }
    }

    fn start(&mut self) {
        (self.size, self.ended) = (1, false);
        self.last.clear();
        self.failing.clear();
    }
}

impl<S: RowSource> Node for FromRows<S> {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.start();
        self.op.open(m, cx)
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.start();
        self.op.rewind(m, cx)
    }

    fn regs(&self) -> &[Reg] {
        &self.regs
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.failing.raise()?;
        out.clear();
        if !self.last.is_empty() {
            m.restore(&self.regs, &self.last);
        }
        while !self.ended && out.len < self.size && out.arena.len() < BYTES_MAX {
            match self.op.next(m, cx) {
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    break;
                }
                Err(e) => {
                    self.ended = true;
                    self.failing.after(out.len, e)?;
                    break;
                }
            }
            for (column, &reg) in self.makers.iter_mut().zip(&self.regs) {
                column.push(m.value(reg), &mut out.arena);
            }
            out.len += 1;
        }
        if !self.ended {
            self.last.resize(self.regs.len(), Value::Null);
            self.last.iter_mut().zip(&self.regs).for_each(|(value, reg)| value.set(m.value(*reg)));
        }
        self.size = (self.size * 64).min(ROWS_MAX);
        out.columns.extend(self.makers.iter_mut().map(|column| column.finish(&mut out.arena)));
        Ok(out.len > 0)
    }
}
