//! Scrollable queries.

use super::answering::Answering;
use super::calls::{CallResult, Calls};
use net::oracle::call::{Execute, orientation};
use net::oracle::reply::{NO_DATA_FOUND, Outcome};
use session::ScrollTo;
use types::Ora;

impl Calls {
    /// Fetches rows from the position in the call, without executing the query.
    pub(super) fn scroll(&mut self, number: u16, e: &Execute, sequence: u8, out: &mut Answering<'_>) -> CallResult<()> {
        let statement = self.cursors.get(number.into())?;
        let to = match e.orientation {
            orientation::NEXT => ScrollTo::Row(statement.rows + 1),
            orientation::PRIOR => ScrollTo::Row(statement.rows.saturating_sub(1)),
            orientation::FIRST => ScrollTo::Row(1),
            orientation::LAST => ScrollTo::Last,
            _ => ScrollTo::Row(e.position.into()),
        };
        let outcome = self.scroll_to(number, to, e.rows_wanted(), sequence, out)?;
        outcome.write(out);
        Ok(())
    }

    /// Appends rows from a position on; returns the outcome, which has the number of the last row.
    pub(super) fn scroll_to(
        &mut self,
        number: u16,
        to: ScrollTo,
        wanted: u32,
        sequence: u8,
        out: &mut Answering<'_>,
    ) -> CallResult<Outcome> {
        let open = self.cursors.get(number.into())?.open.ok_or_else(|| Ora::new(1002))?;
        let (came, done) = self.scroll_direct(number.into(), (open, to), wanted, out)?;
        let statement = self.cursors.get(number.into())?;
        statement.rows = done.rows;
        let mut outcome = self.rows_end(number, true, sequence);
        if came < u64::from(wanted) && !done.more {
            outcome.error = NO_DATA_FOUND;
            outcome.message = Ora::new(NO_DATA_FOUND).to_string();
        }
        Ok(outcome)
    }
}
