//! Queries whose rows are fetched in any order.

use super::answering::Answering;
use super::calls::{Calls, Tried, Trouble};
use net::local::Done;
use net::oracle::call::{Execute, orientation};
use net::oracle::reply::{NO_DATA_FOUND, Outcome};
use session::ScrollTo;
use types::Ora;

impl Calls {
    /// Fetches rows from where an execution without an execution says.
    pub(super) fn scroll(&mut self, number: u16, e: &Execute, sequence: u8, out: &mut Answering<'_>) -> Tried<()> {
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

    /// Appends rows from there on; the end of the call, which is told which row was the last one.
    pub(super) fn scroll_to(
        &mut self,
        number: u16,
        to: ScrollTo,
        wanted: u32,
        sequence: u8,
        out: &mut Answering<'_>,
    ) -> Tried<Outcome> {
        let open = self.cursors.get(number.into())?.open.ok_or_else(|| Ora::new(1002))?;
        let (came, done) = match self.cursors.get(number.into())?.nested.is_empty() {
            true => self.scroll_direct(number.into(), (open, to), wanted, out)?,
            false => self.scroll_with_cursors(number, (open, to), wanted, out)?,
        };
        let statement = self.cursors.get(number.into())?;
        statement.rows = done.rows;
        let mut outcome = self.rows_end(number, true, sequence);
        if came < u64::from(wanted) && !done.more {
            outcome.error = NO_DATA_FOUND;
            outcome.message = Ora::new(NO_DATA_FOUND).to_string();
        }
        Ok(outcome)
    }
    /// Appends rows with cursors in them; how many, and how that ended.
    fn scroll_with_cursors(
        &mut self,
        number: u16,
        (open, to): (u32, ScrollTo),
        wanted: u32,
        out: &mut Answering<'_>,
    ) -> Tried<(u64, Done)> {
        let mut bytes = Vec::new();
        let flow = self.session.scroll(open, to, wanted, None, &mut bytes);
        let said = self.hear(flow, &bytes)?;
        if let Some(failure) = said.failure {
            self.cursors.get(number.into())?.open = None;
            return Err(Trouble::Session(failure));
        }
        let came = said.rows.len() as u64;
        self.rows(number, said.rows.into(), wanted, true, out)?;
        Ok((came, said.done))
    }
}
