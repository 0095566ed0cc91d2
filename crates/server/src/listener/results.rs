//! Rows and returned values in the form of the wire.

use super::calls::{CallResult, Calls};
use super::locators::NOW;
use net::local::{Bind, Direction, Done};
use net::oracle::reply::{self, direction};
use net::oracle::value;
use std::collections::VecDeque;
use types::Value;

impl Calls {
    /// Appends rows.
    pub(super) fn rows(
        &mut self,
        number: u16,
        rows: VecDeque<Vec<Value>>,
        wanted: u32,
        is_first: bool,
        out: &mut Vec<u8>,
    ) -> CallResult<()> {
        self.lobs.seen = if self.session.is_in_transaction() { NOW } else { self.instance.current_scn().0 };
        let nls = self.session.nls();
        let statement = self.cursors.get(number.into())?;
        reply::write_row_header(out, statement.columns.len(), wanted, is_first);
        if !statement.nested.is_empty() {
            return self.rows_with_cursors(number, rows, out);
        }
        for row in rows {
            let values = row.into_iter().zip(&statement.columns);
            let sent = |(v, c): (Value, &value::Column)| self.lobs.sent(v, &c.shape, nls);
            let values = values.map(sent).collect::<types::Result<Vec<_>>>()?;
            reply::write_row(out, &statement.columns, &values)?;
            statement.rows += 1;
        }
        Ok(())
    }

    /// Appends the directions of a statement's binds, if any value is returned. For a block that has just run, they
    /// follow from its code.
    pub(super) fn write_directions(&mut self, number: u16, session: &[Bind], out: &mut Vec<u8>) -> CallResult<()> {
        let statement = self.cursors.get(number.into())?;
        let binds = statement.binds.len();
        if statement.outline.is_block && binds > 0 {
            statement.ways = vec![direction::IN; binds];
            for (at, way) in self.session.bind_directions().iter().enumerate() {
                if let Some(place) = statement.place_of(session, at) {
                    statement.ways[place] = match way {
                        Direction::In => direction::IN,
                        Direction::Out => direction::OUT,
                        Direction::InOut => direction::IN_OUT,
                    };
                }
            }
            reply::write_directions(out, &statement.ways);
        } else if statement.returns() {
            let way = |at| if statement.is_returning(at) { direction::OUT } else { direction::IN };
            reply::write_directions(out, &(0..binds).map(way).collect::<Vec<_>>());
        }
        Ok(())
    }

    /// Appends the values that an execution returned to the client's binds. `given`: the cursors that were bound.
    pub(super) fn write_got(
        &mut self,
        number: u16,
        binds: &[Bind],
        done: &Done,
        given: &[Option<u16>],
        out: &mut Vec<u8>,
    ) -> CallResult<()> {
        let got = self.got(number, binds, &done.out)?;
        let statement = self.cursors.get(number.into())?;
        let shapes = &statement.binds;
        if statement.outline.is_block && !shapes.is_empty() {
            if statement.ways.iter().any(|way| *way != direction::IN) {
                self.write_got_of_block(number, &got, done, given, out)?;
            }
        } else if statement.returns() {
            let targets = (0..shapes.len()).filter(|at| statement.is_returning(*at));
            reply::write_returned(out, targets.map(|at| (&got[at][..], &shapes[at])))?;
        }
        Ok(())
    }

    /// The values returned to each of the client's binds.
    fn got(&mut self, number: u16, binds: &[Bind], values: &[(u16, Value)]) -> CallResult<Vec<Vec<Value>>> {
        self.lobs.seen = NOW;
        let nls = self.session.nls();
        let statement = self.cursors.get(number.into())?;
        let mut got = vec![Vec::new(); statement.binds.len()];
        for (at, value) in values {
            if let Some(place) = statement.place_of(binds, usize::from(*at)) {
                got[place].push(self.lobs.sent(value.clone(), &statement.binds[place], nls)?);
            }
        }
        Ok(got)
    }
}
