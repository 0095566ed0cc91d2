//! Cursors as values: in binds of blocks, in rows, and as implicit results.
//!
//! Each has a number like a statement's, and no text. The client fetches from it as from a query.

use super::calls::{CallResult, Calls};
use super::cursors::{Statement, columns};
use net::local::{self, Done};
use net::oracle::reply::{self, Cell, CursorCell, direction};
use net::oracle::value::Column;
use sql::Outline;
use std::collections::VecDeque;
use types::{Number, Value};

/// [`Statement::nested`] for described columns.
pub(super) fn nested(described: Vec<local::Column>) -> Vec<Vec<local::Column>> {
    let is_cursor = |c: &local::Column| c.data_type == types::DataType::Cursor;
    if !described.iter().any(is_cursor) {
        return Vec::new();
    }
    described.into_iter().map(|c| c.nested).collect()
}

/// A cursor that is sent as a value: its number and columns.
struct Sent(u16, Vec<Column>);

impl Sent {
    /// A cursor that is not open.
    const NONE: Sent = Sent(0, Vec::new());

    fn cell(&self) -> CursorCell<'_> {
        CursorCell { columns: &self.1, number: self.0 }
    }
}

fn number_of(value: &Value) -> Option<u32> {
    match value {
        Value::Number(n) => n.as_i64().and_then(|n| u32::try_from(n).ok()),
        _ => None,
    }
}

impl Calls {
    /// Closes a statement and the cursors in its rows.
    pub(super) fn close_statement(&mut self, number: u32) {
        let short = u16::try_from(number);
        if let Ok(number) = short {
            self.close_nested(number);
        }
        if let Some(closed) = self.cursors.close(number) {
            self.close_query(closed.open);
            if let Ok(number) = short {
                self.session.forget_statement(number);
            }
        }
    }

    /// Closes the cursors in the rows of a statement, and those in their rows.
    pub(super) fn close_nested(&mut self, number: u16) {
        let has_some = self.cursors.get(number.into()).is_ok_and(|s| !s.nested.is_empty());
        if has_some {
            for child in self.cursors.children(number) {
                self.close_statement(child.into());
            }
        }
    }

    /// Assigns a number to a cursor of the session: `known`, if that is the number of a cursor without a text.
    fn number(
        &mut self,
        local: u32,
        described: &[local::Column],
        parent: Option<u16>,
        known: Option<u16>,
    ) -> CallResult<Sent> {
        let columns = match columns(described) {
            Ok(columns) => columns,
            Err(e) => {
                self.close_query(Some(local));
                return Err(e.into());
            }
        };
        let statement = Statement {
            outline: Outline { is_query: true, ..Outline::default() },
            described: columns.clone(),
            columns: columns.clone(),
            nested: nested(described.to_vec()),
            open: Some(local),
            is_reference: true,
            stays_open: parent.is_none(),
            parent,
            ..Statement::default()
        };
        let known = known.filter(|number| self.cursors.get((*number).into()).is_ok_and(|s| s.is_reference));
        if let Some(number) = known {
            self.close_nested(number);
            let before = self.cursors.replace(number.into(), statement)?;
            self.close_query(before.open.filter(|open| *open != local));
            return Ok(Sent(number, columns));
        }
        match self.cursors.open(statement) {
            Ok(number) => Ok(Sent(number, columns)),
            Err(e) => {
                self.close_query(Some(local));
                Err(e.into())
            }
        }
    }

    /// Replaces the client's cursor numbers in bind values by the session's; returns the client's numbers by bind
    /// index.
    pub(super) fn bound_cursors(&mut self, number: u16, values: &mut [Value]) -> CallResult<Vec<Option<u16>>> {
        let shapes = &self.cursors.get(number.into())?.binds;
        let are_cursors: Vec<bool> = shapes.iter().map(|shape| shape.is_cursor()).collect();
        let mut said = vec![None; values.len()];
        for (at, value) in values.iter_mut().enumerate().filter(|(at, _)| are_cursors.get(*at) == Some(&true)) {
            let bound = number_of(value).and_then(|n| u16::try_from(n).ok());
            said[at] = bound;
            *value = Value::Null;
            if let Some(statement) = bound.and_then(|bound| self.cursors.get(bound.into()).ok())
                && let Some(local) = statement.open
            {
                // A block that gets the cursor may keep it.
                statement.stays_open = true;
                *value = Value::Number(Number::from_u64(local.into()));
            }
        }
        Ok(said)
    }

    /// Appends the values returned to the binds of a block, except input binds.
    pub(super) fn write_got_of_block(
        &mut self,
        number: u16,
        got: &[Vec<Value>],
        done: &Done,
        given: &[Option<u16>],
        out: &mut Vec<u8>,
    ) -> CallResult<()> {
        let statement = self.cursors.get(number.into())?;
        let (shapes, ways) = (statement.binds.clone(), statement.ways.clone());
        let nls = self.session.nls();
        let mut tables = Vec::new();
        for (at, elements) in &done.tables {
            let shape = &shapes[usize::from(*at)];
            let converted =
                elements.iter().map(|v| self.lobs.sent(v.clone(), shape, nls)).collect::<types::Result<Vec<_>>>()?;
            tables.push((usize::from(*at), converted));
        }
        let mut cursors = Vec::new();
        let is_out = |at: &usize| shapes[*at].is_cursor() && ways[*at] != direction::IN;
        for at in (0..shapes.len()).filter(is_out) {
            let local = got[at].first().and_then(number_of);
            let known = done.cursors.iter().find(|(number, _)| Some(*number) == local);
            let sent = match known {
                Some((local, described)) => {
                    let described = described.clone();
                    self.number(*local, &described, None, given.get(at).copied().flatten())?
                }
                None => Sent::NONE,
            };
            cursors.push((at, sent));
        }
        let cells = (0..shapes.len()).filter(|at| ways[*at] != direction::IN).map(|at| {
            let cursor = cursors.iter().find(|(of, _)| *of == at);
            let cell = match cursor {
                Some((_, sent)) => Cell::Cursor(sent.cell()),
                None if shapes[at].is_table() => {
                    Cell::Table(tables.iter().find(|(of, _)| *of == at).map_or(&[], |(_, elements)| &elements[..]))
                }
                None => Cell::Value(got[at].first().unwrap_or(&Value::Null)),
            };
            (cell, &shapes[at])
        });
        Ok(reply::write_out_values(out, cells, self.client)?)
    }

    /// Appends the implicit results of a block.
    pub(super) fn write_results(&mut self, done: &Done, out: &mut Vec<u8>) -> CallResult<()> {
        if done.results.is_empty() {
            return Ok(());
        }
        let mut sent = Vec::new();
        for result in &done.results {
            if let Some((local, described)) = done.cursors.iter().find(|(number, _)| number == result) {
                sent.push(self.number(*local, described, None, None)?);
            }
        }
        let cells: Vec<_> = sent.iter().map(Sent::cell).collect();
        reply::write_results(out, &cells, self.client);
        Ok(())
    }

    /// Appends rows that contain cursors.
    pub(super) fn rows_with_cursors(
        &mut self,
        number: u16,
        rows: VecDeque<Vec<Value>>,
        out: &mut Vec<u8>,
    ) -> CallResult<()> {
        let statement = self.cursors.get(number.into())?;
        let (shapes, nested) = (statement.columns.clone(), statement.nested.clone());
        for row in rows {
            let mut cursors = Vec::new();
            for (at, value) in row.iter().enumerate().filter(|(at, _)| shapes[*at].shape.is_cursor()) {
                cursors.push(match number_of(value) {
                    Some(local) => self.number(local, &nested[at], Some(number), None)?,
                    None => Sent::NONE,
                });
            }
            let nls = self.session.nls();
            let values = row.into_iter().zip(&shapes).filter(|(_, c)| !c.shape.is_cursor());
            let sent = |(v, c): (Value, &Column)| self.lobs.sent(v, &c.shape, nls);
            let values = values.map(sent).collect::<types::Result<Vec<_>>>()?;
            let (mut cursors, mut values) = (cursors.iter(), values.iter());
            let cells = shapes.iter().map(|column| match column.shape.is_cursor() {
                true => Cell::Cursor(cursors.next().map_or(CursorCell::CLOSED, Sent::cell)),
                false => Cell::Value(values.next().unwrap_or(&Value::Null)),
            });
            reply::write_row_of_cells(out, &shapes, cells, self.client)?;
            self.cursors.get(number.into())?.rows += 1;
        }
        Ok(())
    }
}
