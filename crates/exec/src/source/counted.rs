//! A row source whose work and rows are counted (`measure`).

use super::RowSource;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::measure::{Place, counted};
use types::Result;

/// A counted row source.
pub struct Counted<S> {
    op: S,
    place: Place,
}

impl<S: RowSource> Counted<S> {
    pub fn new(op: S, place: Place) -> Counted<S> {
        Counted { op, place }
    }

    #[inline(never)]
    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.start(m);
        counted(self.place, &mut self.op, m, cx, |op, m, cx| op.open(m, cx))
    }

    #[inline(never)]
    pub fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.start(m);
        counted(self.place, &mut self.op, m, cx, |op, m, cx| op.rewind(m, cx))
    }

    fn start(&self, m: &mut Machine) {
        if let Some(run) = &mut m.run {
            run.start(self.place);
        }
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.call(m, cx, |op, m, cx| op.next(m, cx).map(u64::from)).map(|rows| rows > 0)
    }

    #[inline(never)]
    pub fn pass(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
        self.call(m, cx, |op, m, cx| op.pass(m, cx))
    }

    fn call(
        &mut self,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        f: impl FnOnce(&mut S, &mut Machine, &mut ExecCtx<'_>) -> Result<u64>,
    ) -> Result<u64> {
        let before = self.op.left_out();
        let rows = counted(self.place, &mut self.op, m, cx, f);
        if let Some(run) = &mut m.run {
            let given = rows.as_ref().map_or(0, |rows| *rows);
            run.give(self.place, given, self.op.left_out() - before);
        }
        rows
    }

    pub fn kept_bytes(&self) -> &[u8] {
        self.op.kept_bytes()
    }
}
