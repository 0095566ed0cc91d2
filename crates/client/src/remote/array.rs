//! Rows of binds over the network: one execution message with all rows.

use super::{Remote, Sent, Text, sent};
use crate::error::{ClientError, ClientResult};
use crate::net_session::failed;
use crate::outcome::{Outcome, Part};
use net::local::{Array, BindRows, Direction, Executed, Failure};
use net::oracle::call::{Execute, option};
use net::oracle::field::{Reader, Writer};
use net::oracle::handshake::Client as Dialect;
use net::oracle::reply::{self, Answer, ERRORS_IN_ARRAY};
use net::oracle::value;
use types::Value;

impl Remote {
    /// Runs a statement once for each row, and puts the results into `part`. Values returned by executions are lost
    /// when an error ends the array.
    pub(crate) fn call_many(
        &mut self,
        array: &Array,
        rows: &BindRows,
        output: &mut Vec<Option<String>>,
        part: &mut Part,
    ) -> ClientResult<Outcome> {
        let ran = self.execute_many(array, rows, part);
        if array.want_output && ran.as_ref().map_or_else(|e| !e.is_fatal(), |_| true) {
            output.extend(self.take_lines()?);
        }
        ran
    }

    fn execute_many(&mut self, array: &Array, rows: &BindRows, part: &mut Part) -> ClientResult<Outcome> {
        let text = Text::of(&array.sql);
        let sent = sent(&text, &array.binds)?;
        let message = self.array_message(array, rows, &text, &sent)?;
        let answer = self.one(|session| {
            session.wire.send_message(&message)?;
            let returns = sent.rules.returning.contains(&true);
            let read = |r: &mut Reader<'_>| reply::read_array_answer(r, &sent.shapes, returns, Dialect::USUAL);
            session.wire.message(read)
        })?;
        self.close(answer.outcome.cursor.into());
        let has_failed = answer.outcome.error != 0 && answer.outcome.error != ERRORS_IN_ARRAY;
        let (rows_changed, counts) = (answer.outcome.rows, answer.counts);
        part.executed = match (has_failed, text.is_block) {
            // The outcome of a failed block counts the executions before it.
            (true, true) => Executed { executions: rows_changed as u32, ..Executed::default() },
            (true, false) => Executed { executions: counts.len() as u32, rows: rows_changed, counts: Vec::new() },
            (false, _) => Executed { executions: rows.len() as u32, rows: rows_changed, counts: Vec::new() },
        };
        if array.row_counts {
            part.executed.counts = counts;
        }
        for refused in &answer.outcome.refused {
            let failure = Failure {
                facility: "ORA".into(),
                code: refused.error,
                text: refused.message.clone(),
                ..Failure::default()
            };
            part.errors.push((refused.execution, failure));
        }
        for (execution, at, value) in answer.got {
            let place = sent.of[at] as u16;
            match part.returned.last_mut().filter(|(n, _)| *n == execution) {
                Some((_, values)) => values.push((place, value)),
                None => part.returned.push((execution, vec![(place, value)])),
            }
        }
        match failed(&answer.outcome).filter(|_| has_failed) {
            Some(e) => Err(e),
            None => Ok(self.told(&mut Answer { outcome: answer.outcome, ..Answer::default() })),
        }
    }

    fn array_message(&mut self, array: &Array, rows: &BindRows, text: &Text, sent: &Sent) -> ClientResult<Vec<u8>> {
        let kind = if text.is_block { option::BLOCK_BIND } else { option::NOT_A_BLOCK };
        let errors = if array.batch_errors { option::BATCH_ERRORS } else { 0 };
        let execute = Execute {
            options: option::PARSE | option::EXECUTE | option::BIND | kind | errors,
            sql: Some(array.sql.clone()),
            binds: sent.shapes.clone(),
            count: rows.len() as u32,
            is_query: text.is_query,
            // The counts also show how far a failed array came.
            wants_row_counts: true,
            ..Execute::default()
        };
        let gives = |at: &usize| array.binds[sent.of[*at]].direction != Direction::Out && !sent.rules.returning[*at];
        let has_rows = (0..sent.shapes.len()).any(|at| sent.rules.is_sent(at));
        let mut message = std::mem::take(&mut self.session.before);
        let sequence = self.session.next();
        let (mut all, mut row, mut is_first) = (rows.rows(), Vec::new(), true);
        while all.next_row(&mut row).map_err(ClientError::Protocol)? {
            let of = |at: usize| if gives(&at) { row[sent.of[at]].clone() } else { Value::Null };
            let values: Vec<Value> = (0..sent.shapes.len()).map(of).collect();
            let written = match std::mem::take(&mut is_first) {
                true => execute.write_by(&sent.rules, sequence, &values, &mut message),
                false if has_rows => {
                    value::write_row(&mut Writer::new(&mut message), &sent.shapes, &sent.rules, &values)
                }
                false => Ok(()),
            };
            written.map_err(ClientError::Protocol)?;
        }
        Ok(message)
    }
}
