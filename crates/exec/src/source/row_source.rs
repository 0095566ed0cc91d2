//! The interface of all row sources.

use super::scan::Scan;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use types::Result;

/// A source of rows: [`Op`](super::Op), or one of its row sources. Row sources are generic over their inputs, so that
/// their files do not import the type of all row sources.
pub trait RowSource {
    /// Starts from the beginning; buffers are discarded.
    ///
    /// # Errors
    /// Those of reading.
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()>;

    /// Restarts within one opening of the enclosing nested loops.
    ///
    /// # Errors
    /// Those of reading.
    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()>;

    /// Finds the next row. False at the end; the registers are undefined then.
    ///
    /// # Errors
    /// Those of reading and of evaluating expressions.
    fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool>;

    /// Skips rows that are only counted; returns their number, or 0 at the end. The registers are undefined.
    ///
    /// # Errors
    /// As [`RowSource::next`].
    fn pass(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
        self.next(m, cx).map(u64::from)
    }

    /// The bytes of the row found last, for a scan that keeps them.
    fn kept_bytes(&self) -> &[u8] {
        &[]
    }

    /// Number of rows that a scan has read and its filter has dropped.
    fn left_out(&self) -> u64 {
        0
    }

    /// The scan, and its counter if the cursor is watched; `None` for another row source.
    fn as_scan(&mut self) -> Option<(&mut Scan, Option<usize>)> {
        None
    }
}
