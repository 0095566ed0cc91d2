//! Rows of a fetch, from the query into the answer: no packet of the session holds them on the way.

use super::calls::{Calls, Tried, Trouble};
use super::cursors::{convert, travels_as};
use net::oracle::reply;
use net::oracle::value::Column;
use std::mem::take;
use types::{Nls, Ora, Value};

impl Calls {
    /// Fetches rows of an open query and appends the answer.
    pub(super) fn fetch_direct(
        &mut self,
        number: u32,
        open: u32,
        wanted: u32,
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Tried<()> {
        let statement = self.cursors.get(number)?;
        let columns = take(&mut statement.columns);
        let (from, is_first) = (out.len(), statement.rows == 0);
        reply::write_row_header(out, columns.len(), wanted, is_first);
        let (behind_header, mut rows) = (out.len(), 0);
        let mut sink = |row: &[Value], nls: &Nls| {
            rows += 1;
            write_row(out, &columns, row, nls)?;
            Ok(out.len() - from)
        };
        let mut bytes = Vec::new();
        let flow = self.session.fetch_to(open, wanted, &mut sink, &mut bytes);
        let said = self.hear(flow, &bytes);
        let statement = self.cursors.get(number)?;
        statement.columns = columns;
        // The session has closed it when it failed, and at its end unless PL/SQL may hold it.
        let has_failed = said.as_ref().map_or(true, |said| said.failure.is_some());
        let goes_on = !has_failed && said.as_ref().is_ok_and(|said| said.done.more);
        statement.has_ended = !has_failed && !goes_on;
        statement.open = (goes_on || !has_failed && statement.stays_open).then_some(open);
        statement.rows += rows;
        if let Some(failure) = said?.failure {
            return Err(Trouble::Session(failure));
        }
        // Behind the end there is no header either.
        if rows == 0 && !goes_on && out.len() == behind_header {
            out.truncate(from);
        }
        self.rows_end(number as u16, goes_on, sequence).write(out);
        Ok(())
    }
}

/// Appends a row, whose values become those of the types that the client was told.
fn write_row(out: &mut Vec<u8>, columns: &[Column], row: &[Value], nls: &Nls) -> types::Result<()> {
    let bad = |_| Ora::new(3115);
    let mut row_writer = reply::RowWriter::begin(out);
    for (column, value) in columns.iter().zip(row) {
        if travels_as(value, &column.shape) {
            row_writer.value(value, column).map_err(bad)?;
        } else {
            row_writer.value(&convert(value.clone(), &column.shape, nls)?, column).map_err(bad)?;
        }
    }
    Ok(())
}
