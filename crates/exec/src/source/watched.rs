//! Scans whose rows are counted, in cursors whose executions are watched. Other cursors have no such row source.

use super::scan::Scan;
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use types::Result;

pub struct Watched {
    pub scan: Scan,
    /// Position of its counter.
    pub at: usize,
}

impl Watched {
    pub fn build(s: &plan::Scan, b: &mut Builder<'_>) -> Result<Watched> {
        let scan = Scan::build(s, b)?;
        Ok(Watched { scan, at: b.watch(s) })
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        m.watched[self.at].starts += 1;
        self.scan.open(m, cx)
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let found = self.scan.next(m, cx)?;
        let count = &mut m.watched[self.at];
        count.rows += u64::from(found);
        count.ends += u64::from(!found);
        Ok(found)
    }

    pub fn pass(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
        let passed = self.scan.pass(m, cx)?;
        let count = &mut m.watched[self.at];
        count.rows += passed;
        count.ends += u64::from(passed == 0);
        Ok(passed)
    }
}
