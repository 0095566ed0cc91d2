//! A batch node whose work and rows are counted (`measure`).

use super::node::{Batch, Node};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::measure::{Place, counted};
use plan::Reg;
use types::Result;

/// A counted batch node.
pub struct CountedNode {
    node: Box<dyn Node>,
    place: Place,
}

impl CountedNode {
    pub fn new(node: Box<dyn Node>, place: Place) -> CountedNode {
        CountedNode { node, place }
    }
}

impl Node for CountedNode {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(run) = &mut m.run {
            run.start(self.place);
        }
        counted(self.place, &mut self.node, m, cx, |node, m, cx| node.open(m, cx))
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(run) = &mut m.run {
            run.start(self.place);
        }
        counted(self.place, &mut self.node, m, cx, |node, m, cx| node.rewind(m, cx))
    }

    fn regs(&self) -> &[Reg] {
        self.node.regs()
    }

    fn left_out(&self) -> u64 {
        self.node.left_out()
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let before = self.node.left_out();
        let found = counted(self.place, &mut self.node, m, cx, |node, m, cx| node.next_batch(out, m, cx));
        if let Some(run) = &mut m.run {
            let rows = if matches!(found, Ok(true)) { out.len as u64 } else { 0 };
            run.give(self.place, rows, self.node.left_out() - before);
        }
        found
    }
}
