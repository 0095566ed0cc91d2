//! A statement executed with many rows of bind values: one call of the client, and one call of the session (invariant
//! 11).

use super::calls::{CallError, CallResult, Calls};
use net::local::{self, Done};
use net::oracle::reply::{self, ERRORS_IN_ARRAY, Outcome, Refused, direction};
use net::oracle::rows::BindRows;
use net::oracle::value::Shape;
use std::collections::VecDeque;
use types::{Ora, Value};

/// The options of an array execution.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Array {
    pub(super) batch_errors: bool,
    pub(super) row_counts: bool,
    /// Commits after it, unless executions failed.
    pub(super) commits: bool,
}

impl Calls {
    /// Executes a statement for each of its rows and appends the answer.
    pub(super) fn array(
        &mut self,
        number: u16,
        mut rows: BindRows,
        how: &Array,
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> CallResult<()> {
        let statement = self.cursors.get(number.into())?;
        if statement.outline.is_query {
            return Err(Ora::unsupported().into());
        }
        let executions = rows.len() as u32;
        let has_cursors = statement.binds.iter().any(Shape::is_cursor);
        // A single cursor or table value does not make an array.
        let is_one = executions == 1 && !statement.outline.is_block;
        if statement.binds.iter().any(Shape::is_table) || has_cursors && !is_one {
            return Err(Ora::unsupported().into());
        }
        // Cursors and LOBs in binds are looked up before the session is called.
        let shapes = statement.binds.clone();
        let mut found = VecDeque::new();
        let mut row = Vec::new();
        if has_cursors && rows.next_row(&mut row).map_err(|_| Ora::new(3106))? {
            self.bound_cursors(number, &mut row)?;
            self.bound_lobs(&shapes, &mut row)?;
            found.push_back(row);
        } else if shapes.iter().any(Shape::is_lob) {
            while rows.next_row(&mut row).map_err(|_| Ora::new(3106))? {
                self.bound_lobs(&shapes, &mut row)?;
                found.push_back(std::mem::take(&mut row));
            }
        }
        let statement = self.cursors.get(number.into())?;
        let (binds, places) = statement.array_binds()?;
        let array = local::Array {
            sql: statement.sql.clone(),
            binds,
            batch_errors: how.batch_errors,
            row_counts: how.row_counts,
            want_output: false,
        };
        let mut sent = Vec::new();
        let mut next = |row: &mut Vec<Value>| -> types::Result<bool> {
            if let Some(row) = found.pop_front() {
                sent = row;
            } else if !rows.next_row(&mut sent).map_err(|_| Ora::new(3106))? {
                return Ok(false);
            }
            row.resize(array.binds.len(), Value::Null);
            places.take(&mut sent, row);
            Ok(true)
        };
        let mut bytes = Vec::new();
        self.session.set_statement(number, true);
        let flow = self.session.call_array(&array, &mut next, &mut bytes);
        let said = self.hear(flow, &bytes)?;
        if let Some(failure) = said.failure {
            // For a block the successful executions are counted.
            let is_block = self.cursors.get(number.into())?.outline.is_block;
            let rows = if is_block { said.executed.executions.into() } else { said.executed.rows };
            return Err(CallError::Array(failure, local::Executed { rows, ..said.executed }));
        }
        self.write_directions(number, &array.binds, out)?;
        let statement = self.cursors.get(number.into())?;
        let is_written = |way: &u8| *way != direction::IN;
        let gives = statement.returns() || statement.outline.is_block && statement.ways.iter().any(is_written);
        let mut returned = said.returned.into_iter().peekable();
        for execution in 0..if gives { executions } else { 0 } {
            let out_values = returned.next_if(|(of, _)| *of == execution).map_or(Vec::new(), |(_, values)| values);
            let done = Done { out: out_values, ..Done::default() };
            self.write_got(number, &array.binds, &done, &[], out)?;
        }
        if how.commits && said.errors.is_empty() {
            self.commit_on_success()?;
        }
        if said.errors.is_empty() {
            self.leave_behind(out)?;
        } else {
            self.tell_sessionless(out);
        }
        let counts = how.row_counts.then_some(&said.executed.counts[..]);
        reply::write_parameters(out, self.scn(), number, counts);
        let mut outcome = Outcome { rows: said.executed.rows, ..self.succeeded(&said.done, number, sequence) };
        if !said.errors.is_empty() {
            outcome.error = ERRORS_IN_ARRAY;
            outcome.message = Ora::new(ERRORS_IN_ARRAY).to_string();
            let refused = |(execution, e): (u32, local::Failure)| Refused { execution, error: e.code, message: e.text };
            outcome.refused = said.errors.into_iter().map(refused).collect();
        }
        outcome.write(out);
        Ok(())
    }
}
