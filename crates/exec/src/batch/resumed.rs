//! The build side of a join that continues with registers.

use super::kernels;
use super::node::{Batch, Node, ROWS_MAX};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::Reg;
use types::Result;

/// The build rows already read, followed by the rest of the source. Opened again, it is the source alone.
pub struct Resumed {
    pub node: Box<dyn Node>,
    pub stored: Option<(Batch, Vec<Reg>)>,
    /// Charged bytes of the stored rows.
    pub held: usize,
    pub at: usize,
    /// The next `open` continues at the present position.
    pub resumes: bool,
    pub regs: Vec<Reg>,
}

impl Resumed {
    fn forget_stored(&mut self, m: &mut Machine) {
        self.stored = None;
        m.release(std::mem::take(&mut self.held));
    }
}

impl Node for Resumed {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if std::mem::take(&mut self.resumes) {
            return Ok(());
        }
        self.forget_stored(m);
        self.node.open(m, cx)
    }

    fn regs(&self) -> &[Reg] {
        &self.regs
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if let Some((stored, regs)) = &self.stored {
            let end = (self.at + ROWS_MAX).min(stored.len);
            if self.at < end {
                let rows: Vec<u32> = (self.at as u32..end as u32).collect();
                out.clear();
                out.len = rows.len();
                for reg in &self.regs {
                    // A column that was not kept is never read.
                    out.columns.push(match regs.iter().position(|r| r == reg) {
                        Some(n) => stored.columns[n].pick(&rows, &stored.arena, &mut out.arena),
                        None => kernels::all_null(rows.len()),
                    });
                }
                self.at = end;
                return Ok(true);
            }
            self.forget_stored(m);
        }
        self.node.next_batch(out, m, cx)
    }
}
