//! Queries whose rows are fetched in any order.

use super::calls::{Calls, Tried};
use net::oracle::call::{Execute, orientation};
use net::oracle::reply::{self, NO_DATA_FOUND, Outcome};
use session::ScrollTo;
use types::Ora;

impl Calls {
    /// Fetches rows from where an execution without an execution says.
    pub(super) fn scroll(&mut self, number: u16, e: &Execute, sequence: u8, out: &mut Vec<u8>) -> Tried<()> {
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
        out: &mut Vec<u8>,
    ) -> Tried<Outcome> {
        let open = self.cursors.get(number.into())?.open.ok_or_else(|| Ora::new(1002))?;
        let mut bytes = Vec::new();
        let flow = self.session.scroll(open, to, wanted, &mut bytes);
        let said = self.hear(flow, &bytes)?;
        if let Some(failure) = said.failure {
            self.cursors.get(number.into())?.open = None;
            return Err(super::calls::Trouble::Session(failure));
        }
        let came = said.rows.len() as u32;
        if came > 0 {
            self.rows(number, said.rows.into(), wanted, true, out)?;
        } else {
            let columns = self.cursors.get(number.into())?.columns.len();
            reply::write_row_header(out, columns, wanted, true);
        }
        let statement = self.cursors.get(number.into())?;
        statement.rows = said.done.rows;
        let mut outcome = self.rows_end(number, true, sequence);
        if came < wanted && !said.done.more {
            outcome.error = NO_DATA_FOUND;
            outcome.message = Ora::new(NO_DATA_FOUND).to_string();
        }
        Ok(outcome)
    }
}
