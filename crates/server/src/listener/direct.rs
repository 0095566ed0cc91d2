//! Rows written from the query directly into the answer, without a packet of the session between.

use super::answering::Answering;
use super::calls::{CallError, CallResult, Calls};
use super::cursors::{columns, convert, travels_as};
use super::locators::Locators;
use super::references::nested;
use net::local;
use net::oracle::handshake::Client;
use net::oracle::reply;
use net::oracle::value::{self, Column};
use session::{RowSink, ScrollTo};
use std::mem::take;
use types::row::RowReader;
use types::{DataType, Nls, Ora, Result, Value};

/// A client's columns, and the answer that takes its rows.
pub(super) struct Rows<'s, 'l, 'a> {
    pub(super) out: &'s mut Answering<'a>,
    pub(super) lobs: &'l mut Locators,
    /// The columns as they are sent.
    pub(super) columns: Vec<Column>,
    /// The number of rows that the client wants.
    pub(super) wanted: u32,
    /// The number of rows written.
    pub(super) written: u64,
    /// For an execution: the description for the client.
    pub(super) news: Option<News>,
}

/// The description of an execution's columns.
pub(super) struct News {
    pub(super) client: Client,
    /// The client does not know the columns of the statement.
    pub(super) is_new: bool,
    /// The rows of this call are not written, whatever the client wants.
    pub(super) waits: bool,
    /// The columns as described to the client.
    pub(super) described: Vec<Column>,
    /// The description was sent again.
    pub(super) has_told: bool,
    /// The session's number of the query.
    pub(super) open: Option<u32>,
    /// The columns of each column's cursors; empty without cursor columns.
    pub(super) nested: Vec<Vec<local::Column>>,
}

impl RowSink for Rows<'_, '_, '_> {
    fn columns(&mut self, number: u32, found: Vec<local::Column>) -> Result<bool> {
        let news = self.news.as_mut().ok_or_else(|| Ora::internal("columns of a fetch"))?;
        let columns = columns(&found)?;
        if news.is_new || news.described != columns {
            reply::write_describe(self.out, &columns, news.client);
            news.described.clone_from(&columns);
            self.columns = columns;
            news.has_told = true;
        }
        news.nested = nested(found);
        news.open = Some(number);
        // Long columns are fetched separately, after the client has given their types.
        news.waits |=
            self.wanted == 0 || news.is_new && self.columns.iter().any(|c| c.shape.is_long() || c.shape.is_lob());
        let takes_rows = !news.waits && news.nested.is_empty();
        if takes_rows {
            reply::write_row_header(self.out, self.columns.len(), self.wanted, true);
        }
        Ok(takes_rows)
    }

    fn row(&mut self, row: &[Value], nls: &Nls) -> Result<usize> {
        let at = self.out.len();
        if let Err(e) = write_row(self.out, &self.columns, row, nls, self.lobs) {
            // Earlier rows may have been sent.
            self.out.truncate(at);
            return Err(e);
        }
        Ok(self.end_row())
    }

    fn seen(&mut self, scn: types::Scn) {
        self.lobs.seen = scn.0;
    }

    fn takes_stored(&self, columns: &[(u16, DataType)]) -> bool {
        let is_sent =
            |(column, (_, data_type)): (&Column, &(u16, DataType))| value::is_sent_as_stored(data_type, &column.shape);
        columns.len() == self.columns.len() && self.columns.iter().zip(columns).all(is_sent)
    }

    fn stored(&mut self, row: &[u8], columns: &[(u16, DataType)]) -> Result<usize> {
        let at = self.out.len();
        if write_stored(self.out, row, columns).is_none() {
            self.out.truncate(at);
            return Err(Ora::internal("row bytes are damaged"));
        }
        Ok(self.end_row())
    }
}

impl Rows<'_, '_, '_> {
    fn end_row(&mut self) -> usize {
        self.written += 1;
        self.out.send_ahead();
        self.out.written()
    }
}

impl Calls {
    /// Executes a query and appends its columns, if the client does not know them, and the requested rows. Returns
    /// whether the rows wait for another call, and whether there may be more.
    pub(super) fn query_direct(
        &mut self,
        number: u16,
        e: &local::Execute,
        (wanted, is_new): (u32, bool),
        out: &mut Answering<'_>,
    ) -> CallResult<(bool, bool)> {
        let client = self.client;
        let statement = self.cursors.get(number.into())?;
        let (described, columns) = (take(&mut statement.described), take(&mut statement.columns));
        let (waits, open, nested) = (statement.scrolls, None, Vec::new());
        let news = News { client, is_new, waits, described, has_told: false, open, nested };
        let lobs = &mut self.lobs;
        let mut rows = Rows { out, lobs, columns, wanted, written: 0, news: Some(news) };
        let mut bytes = Vec::new();
        let flow = self.session.execute_to(e, &mut rows, &mut bytes);
        let Rows { columns, written, news, .. } = rows;
        let mut said = self.hear(flow, &bytes);
        let statement = self.cursors.get(number.into())?;
        let Some(news) = news else { return Err(Ora::internal("no columns").into()) };
        let failure = said.as_mut().map_or(None, |said| said.failure.take());
        statement.columns = columns;
        // The description is sent again if the answer with it failed.
        let has_failed = said.is_err() || failure.is_some();
        statement.described = if has_failed && news.has_told { Vec::new() } else { news.described };
        let said = said?;
        if let Some(failure) = failure {
            return Err(CallError::Session(failure));
        }
        let Some(open) = news.open else { return Err(Ora::internal("a query without columns").into()) };
        statement.nested = news.nested;
        statement.rows = written;
        statement.open = said.done.more.then_some(open);
        statement.ahead = said.rows.into();
        Ok((news.waits, said.done.more))
    }

    /// Fetches rows of an open query and appends the answer.
    pub(super) fn fetch_direct(
        &mut self,
        number: u32,
        open: u32,
        wanted: u32,
        sequence: u8,
        out: &mut Answering<'_>,
    ) -> CallResult<()> {
        let statement = self.cursors.get(number)?;
        let columns = take(&mut statement.columns);
        let (from, is_first) = (out.len(), statement.rows == 0);
        reply::write_row_header(out, columns.len(), wanted, is_first);
        let behind_header = out.written();
        let lobs = &mut self.lobs;
        let mut rows = Rows { out, lobs, columns, wanted, written: 0, news: None };
        let mut bytes = Vec::new();
        let flow = self.session.fetch_to(open, wanted, &mut rows, &mut bytes);
        let Rows { out, columns, written, .. } = rows;
        let said = self.hear(flow, &bytes);
        let statement = self.cursors.get(number)?;
        statement.columns = columns;
        // The session has closed it on an error, and at its end unless PL/SQL may hold it.
        let has_failed = said.as_ref().map_or(true, |said| said.failure.is_some());
        let goes_on = !has_failed && said.as_ref().is_ok_and(|said| said.done.more);
        statement.has_ended = !has_failed && !goes_on;
        statement.open = (goes_on || !has_failed && statement.stays_open).then_some(open);
        statement.rows += written;
        if let Some(failure) = said?.failure {
            return Err(CallError::Session(failure));
        }
        // After the end there is no header either.
        if written == 0 && !goes_on && out.written() == behind_header {
            out.truncate(from);
        }
        // After exactly as many rows as requested the end is not known yet.
        let more = goes_on || written == u64::from(wanted);
        self.rows_end(number as u16, more, sequence).write(out);
        Ok(())
    }

    /// Appends rows of an open query from a given row on; returns the outcome.
    pub(super) fn scroll_direct(
        &mut self,
        number: u32,
        (open, to): (u32, ScrollTo),
        wanted: u32,
        out: &mut Answering<'_>,
    ) -> CallResult<(u64, local::Done)> {
        let columns = take(&mut self.cursors.get(number)?.columns);
        reply::write_row_header(out, columns.len(), wanted, true);
        let lobs = &mut self.lobs;
        let mut rows = Rows { out, lobs, columns, wanted, written: 0, news: None };
        let mut bytes = Vec::new();
        let flow = self.session.scroll(open, to, wanted, Some(&mut rows), &mut bytes);
        let Rows { columns, written, .. } = rows;
        let said = self.hear(flow, &bytes);
        let statement = self.cursors.get(number)?;
        statement.columns = columns;
        let said = said?;
        if let Some(failure) = said.failure {
            statement.open = None;
            return Err(CallError::Session(failure));
        }
        Ok((written, said.done))
    }
}

/// Appends a stored row. `None` when it is damaged.
fn write_stored(out: &mut Vec<u8>, row: &[u8], columns: &[(u16, DataType)]) -> Option<()> {
    out.reserve(row.len() + columns.len());
    let begin = RowReader::new(row)?;
    let (mut reader, mut next) = (begin, 0);
    let mut row_writer = reply::RowWriter::begin(out);
    for (column, data_type) in columns {
        if *column < next {
            (reader, next) = (begin, 0);
        }
        while next < *column {
            reader.next_column()?;
            next += 1;
        }
        let stored = reader.next_column()?.bytes();
        next += 1;
        if !stored.is_none_or(|bytes| value::is_sound(bytes, data_type)) {
            return None;
        }
        row_writer.stored(stored);
    }
    Some(())
}

/// Appends a row; its values are converted to the described types.
fn write_row(out: &mut Vec<u8>, columns: &[Column], row: &[Value], nls: &Nls, lobs: &mut Locators) -> Result<()> {
    let mut row_writer = reply::RowWriter::begin(out);
    for (column, value) in columns.iter().zip(row) {
        if column.shape.is_lob() {
            let cell = lobs.cell(value, &column.shape, nls)?;
            row_writer.value(&cell, column).map_err(|_| Ora::new(3115))?;
            continue;
        }
        // Most values have their column's type, which the writer checks; it does not check time zones.
        let is_plain = !matches!(value, Value::Timestamp(_)) || travels_as(value, &column.shape);
        if !is_plain || row_writer.value(value, column).is_err() {
            let value = convert(value.clone(), &column.shape, nls)?;
            row_writer.value(&value, column).map_err(|_| Ora::new(3115))?;
        }
    }
    Ok(())
}
