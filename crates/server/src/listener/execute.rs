//! Executions and fetches of a client's statements.

use super::answering::Answering;
use super::array::Array;
use super::calls::{CallResult, Calls};
use super::cursors::Statement;
use net::local::{self, Request as Ask};
use net::oracle::call::{Execute, Reexecute, execute_flag, option};
use net::oracle::reply;
use net::oracle::rows::BindRows;
use net::oracle::value::{self, Shape, Tables};
use std::collections::VecDeque;
use std::mem::take;
use types::{Ora, Value};

/// The bind values of a call.
pub enum Values {
    /// The values of one execution, with the PL/SQL tables among them.
    One(Vec<Value>, Tables),
    /// The values of several executions, or of one that is treated like several.
    Many(BindRows),
}

impl Calls {
    pub(super) fn execute(
        &mut self,
        e: Execute,
        values: Values,
        sequence: u8,
        cursor: &mut u16,
        out: &mut Answering<'_>,
    ) -> CallResult<()> {
        let scrolls = e.flags & execute_flag::SCROLLABLE != 0;
        let number = self.statement_of(&e)?;
        *cursor = number;
        let is_new = e.sql.is_some();
        if is_new {
            self.session.forget_statement(number);
        }
        let known = self.cursors.get(number.into())?;
        let is_fetched = known.outline.is_query || known.is_reference;
        if e.asks(option::DESCRIBE_ONLY) || !e.asks(option::EXECUTE) && (is_new || !is_fetched) {
            return self.describe(number, sequence, out);
        }
        if !e.defines.is_empty() {
            self.fetch_as(number, &e.defines)?;
        }
        let statement = self.cursors.get(number.into())?;
        if is_new {
            statement.takes_results = e.flags & execute_flag::IMPLICIT_RESULTS != 0;
        }
        let is_reference = statement.is_reference;
        // An execution that continues after fetched rows executes nothing.
        let goes_on = !is_new && e.position > 1 && statement.open.is_some();
        if scrolls && !is_reference && (goes_on || !e.asks(option::EXECUTE)) {
            return self.scroll(number, &e, sequence, out);
        }
        if !e.asks(option::EXECUTE) || is_reference {
            let wanted = e.rows_wanted();
            return self.fetch(number.into(), wanted, sequence, out);
        }
        let statement = self.cursors.get(number.into())?;
        if !e.binds.is_empty() || is_new {
            statement.binds = e.binds.clone();
        }
        statement.scrolls = scrolls;
        statement.row_counts = e.wants_row_counts;
        let is_query = statement.outline.is_query;
        let commits = e.asks(option::COMMIT);
        match values {
            Values::One(values, _) if is_query => self.query(number, values, e.rows_wanted(), is_new, sequence, out),
            Values::One(values, tables) => {
                self.change(number, (values, tables), e.wants_row_counts, sequence, commits, out)
            }
            Values::Many(rows) => {
                let how = Array { batch_errors: e.asks(option::BATCH_ERRORS), row_counts: e.wants_row_counts, commits };
                self.array(number, rows, &how, sequence, out)
            }
        }
    }

    /// The number of the statement: a new statement, or one that gets a new text.
    fn statement_of(&mut self, e: &Execute) -> CallResult<u16> {
        let Some(sql) = &e.sql else {
            self.cursors.get(e.cursor)?;
            return Ok(e.cursor as u16);
        };
        let new = Statement::new(sql.clone());
        if e.cursor == 0 {
            return Ok(self.cursors.open(new)?);
        }
        self.close_nested(e.cursor as u16);
        let old = self.cursors.replace(e.cursor, new)?;
        self.close_query(old.open);
        Ok(e.cursor as u16)
    }

    pub(super) fn reexecute(
        &mut self,
        e: Reexecute,
        values: Values,
        sequence: u8,
        cursor: &mut u16,
        out: &mut Answering<'_>,
    ) -> CallResult<()> {
        let statement = self.cursors.get(e.cursor)?;
        let (is_query, row_counts) = (statement.outline.is_query, statement.row_counts);
        *cursor = e.cursor as u16;
        match values {
            Values::One(values, _) if is_query => {
                let wanted = if e.fetches { e.count } else { 0 };
                self.query(e.cursor as u16, values, wanted, false, sequence, out)
            }
            Values::One(values, tables) => {
                self.change(e.cursor as u16, (values, tables), row_counts, sequence, e.commits, out)
            }
            Values::Many(rows) => {
                let how = Array { row_counts, commits: e.commits, ..Array::default() };
                self.array(e.cursor as u16, rows, &how, sequence, out)
            }
        }
    }

    /// Sets the types in which columns are sent from here on.
    fn fetch_as(&mut self, number: u16, defines: &[Shape]) -> CallResult<()> {
        let statement = self.cursors.get(number.into())?;
        if defines.len() != statement.columns.len() {
            return Err(Ora::new(1007).into());
        }
        if !defines.iter().all(|d| value::is_bindable(d) || d.number == value::number::ROWID) {
            return Err(Ora::new(3115).into());
        }
        for (column, define) in statement.columns.iter_mut().zip(defines) {
            column.shape = *define;
        }
        Ok(())
    }

    fn query(
        &mut self,
        number: u16,
        mut values: Vec<Value>,
        wanted: u32,
        is_new: bool,
        sequence: u8,
        out: &mut Answering<'_>,
    ) -> CallResult<()> {
        self.close_nested(number);
        let statement = self.cursors.get(number.into())?;
        if statement.binds.iter().any(Shape::is_table) {
            return Err(Ora::new(1484).into());
        }
        let shapes = statement.binds.clone();
        let open = statement.open.take();
        (statement.stays_open, statement.has_ended) = (false, false);
        self.close_query(open);
        // A cursor bound to its own statement must be closed first.
        self.bound_cursors(number, &mut values)?;
        self.bound_lobs(&shapes, &mut values)?;
        let statement = self.cursors.get(number.into())?;
        let binds = statement.session_binds(values)?;
        let (scrolls, sql) = (statement.scrolls, statement.sql.clone());
        self.session.set_statement(number, !is_new);
        let prefetch = if scrolls { 0 } else { wanted };
        let e = local::Execute { sql, binds, prefetch, want_output: false, tables: Vec::new() };
        let (waits, more) = self.query_direct(number, &e, (wanted, is_new), out)?;
        self.leave_behind(out)?;
        if scrolls {
            let outcome = match wanted {
                0 => self.rows_end(number, true, sequence),
                _ => self.scroll_to(number, session::ScrollTo::Row(1), wanted, sequence, out)?,
            };
            reply::write_parameters(out, self.scn(), number, None);
            outcome.write(out);
            return Ok(());
        }
        let statement = self.cursors.get(number.into())?;
        if !waits && !statement.nested.is_empty() {
            let rows = take(&mut statement.ahead);
            self.rows(number, rows, wanted, true, out)?;
        }
        reply::write_parameters(out, self.scn(), number, None);
        // A fetch of no rows gets none; after exactly as many rows as requested the end is not known yet.
        let is_full = self.cursors.get(number.into())?.rows == u64::from(wanted);
        self.rows_end(number, waits || more || is_full, sequence).write(out);
        Ok(())
    }

    pub(super) fn fetch(&mut self, number: u32, wanted: u32, sequence: u8, out: &mut Answering<'_>) -> CallResult<()> {
        let statement = self.cursors.get(number)?;
        if !statement.outline.is_query {
            return Err(Ora::new(1002).into());
        }
        let is_first = statement.rows == 0;
        let most = statement.ahead.len().min(wanted as usize);
        let mut rows: VecDeque<_> = statement.ahead.drain(..most).collect();
        if let Some(local) = statement.open.filter(|_| !statement.has_ended)
            && rows.is_empty()
            && wanted > 0
        {
            if statement.nested.is_empty() {
                return self.fetch_direct(number, local, wanted, sequence, out);
            }
            self.cursors.forget_ended(number as u16);
            let said = self.ask(&Ask::Fetch { cursor: local, rows: wanted });
            // The session has closed it on an error, and at its end unless PL/SQL may hold it.
            let goes_on = said.as_ref().is_ok_and(|said| said.done.more);
            let statement = self.cursors.get(number)?;
            statement.has_ended = said.is_ok() && !goes_on;
            statement.open = (goes_on || said.is_ok() && statement.stays_open).then_some(local);
            rows = said?.rows.into();
        }
        let statement = self.cursors.get(number)?;
        let more = statement.open.is_some() && !statement.has_ended || !statement.ahead.is_empty();
        let more = more || rows.len() == wanted as usize;
        // Drivers may fetch once more after the end.
        if more || !rows.is_empty() {
            self.rows(number as u16, rows, wanted, is_first, out)?;
        }
        self.rows_end(number as u16, more, sequence).write(out);
        Ok(())
    }

    /// Runs a statement that is not a query.
    fn change(
        &mut self,
        number: u16,
        (mut values, tables): (Vec<Value>, Tables),
        wants_row_counts: bool,
        sequence: u8,
        commits: bool,
        out: &mut Vec<u8>,
    ) -> CallResult<()> {
        let given = self.bound_cursors(number, &mut values)?;
        let shapes = self.cursors.get(number.into())?.binds.clone();
        self.bound_lobs(&shapes, &mut values)?;
        let statement = self.cursors.get(number.into())?;
        let (sql, binds) = (statement.sql.clone(), statement.session_binds(values)?);
        let tables = statement.session_tables(tables);
        self.session.set_takes_results(statement.takes_results);
        self.session.set_statement(number, true);
        let (said, binds) = self.ask_to_execute_with(&sql, binds, tables, 0)?;
        self.write_directions(number, &binds, out)?;
        if let Some((local, _)) = said.described {
            self.close_query(said.done.more.then_some(local));
            return Err(Ora::unsupported().into());
        }
        self.write_got(number, &binds, &said.done, &given, out)?;
        self.write_results(&said.done, out)?;
        if commits {
            self.commit_on_success()?;
        }
        self.leave_behind(out)?;
        let counts = wants_row_counts.then_some([said.done.rows]);
        let news = self.session.take_news();
        reply::write_parameters_with(out, self.scn(), number, &news, counts.as_ref().map(|n| &n[..]));
        self.succeeded(&said.done, number, sequence).write(out);
        Ok(())
    }
}
