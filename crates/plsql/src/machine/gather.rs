//! FORALL iterations that only take values out of collections.
//!
//! An INSERT whose binds are elements at the loop's subscript, or invariant, needs no instructions for its iterations:
//! once one of them has been executed in the ordinary way and waits, the rows of the following ones are read directly
//! from the collections. Any irregularity (a missing element, a value that does not fit) stops this before anything is
//! done, and the ordinary execution of the iteration reports it.

use super::fault::Run;
use super::frames::{Counter, Machine, Waiting, val};
use crate::code::Compiled;
use crate::datum::{Coll, Datum};
use crate::op::{Gather, GatherFrom};
use crate::world::World;
use std::rc::Rc;
use types::{Number, Value};

/// Rows between two checks for an interrupt.
const ROWS: i64 = 64;

/// Failed attempts after which a FORALL is only executed in the ordinary way.
const TRIES: u32 = 4;

/// The source of a bind's values.
enum Source<'a> {
    Element(&'a Coll),
    Field(&'a Coll, usize),
    Value(&'a Value),
    /// The subscript itself.
    Index,
}

impl Machine {
    /// Adds the following iterations to the waiting batch as far as they are regular.
    pub(super) fn gather<W: World>(
        &mut self,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        counters: usize,
        gather: u32,
    ) -> Run<()> {
        let gather = &unit.pool.gathers[gather as usize];
        let at = counters + gather.counter as usize;
        let waits = |x: &Waiting| x.sql == gather.sql && !x.enough && Rc::ptr_eq(&x.unit, unit);
        if self.forall.in_vain == TRIES || !self.forall.waiting.as_ref().is_some_and(waits) {
            return Ok(());
        }
        let Some(cursor) = unit.take_statement(gather.sql) else { return Ok(()) };
        let mut cursor = match cursor.downcast::<W::Cursor>() {
            Ok(cursor) => cursor,
            Err(other) => {
                unit.give_statement(gather.sql, other);
                return Ok(());
            }
        };
        let mut rows = 0;
        let result = self.take_rows(w, unit, base, gather, self.counters[at], &mut cursor, &mut rows);
        let enough = w.waits_enough(&cursor);
        unit.give_statement(gather.sql, cursor);
        self.counters[at].at += rows as i64;
        self.forall.in_vain += u32::from(rows == 0);
        self.forall.counts.extend(std::iter::repeat_n(1, rows));
        if let Some(x) = &mut self.forall.waiting {
            x.enough = enough;
        }
        result?;
        if enough { self.carry_out(w) } else { Ok(()) }
    }

    /// Counts the taken rows in `rows`.
    #[allow(clippy::too_many_arguments)]
    fn take_rows<W: World>(
        &self,
        w: &mut W,
        unit: &Compiled,
        base: usize,
        gather: &Gather,
        counter: Counter,
        cursor: &mut W::Cursor,
        rows: &mut usize,
    ) -> Run<()> {
        let Some(sources) = self.sources(w, unit, base, gather, cursor) else { return Ok(()) };
        let (first, mut i) = (counter.at, counter.at);
        loop {
            let last = counter.end.min(i + ROWS);
            let subscripts: Vec<Value> = (i + 1..=last).map(|i| Value::Number(Number::from_i64(i))).collect();
            let mut row: Vec<&Value> = Vec::with_capacity(sources.len());
            for subscript in &subscripts {
                row.clear();
                for source in &sources {
                    row.push(match source {
                        Source::Value(v) => v,
                        Source::Index => subscript,
                        Source::Element(c) => match c.at(i + 1) {
                            Some(Datum::Val(v)) => v,
                            _ => return Ok(()),
                        },
                        Source::Field(c, n) => match c.at(i + 1) {
                            Some(Datum::Rec(r)) => &r.scalars[*n],
                            _ => return Ok(()),
                        },
                    });
                }
                if !w.execute_more(cursor, &row)? {
                    return Ok(());
                }
                i += 1;
                *rows = (i - first) as usize;
            }
            if i == counter.end {
                return Ok(());
            }
            w.check_cancel()?;
        }
    }

    /// The sources of the cursor's binds, in its order; `None` when one of them is of another kind.
    fn sources<'a, W: World>(
        &'a self,
        w: &W,
        unit: &'a Compiled,
        base: usize,
        gather: &Gather,
        cursor: &W::Cursor,
    ) -> Option<Vec<Source<'a>>> {
        let mut sources: Vec<Option<Source<'a>>> = gather.binds.iter().map(|_| None).collect();
        for (n, from) in gather.binds.iter().enumerate() {
            let place = sources.get_mut(w.bind_place(cursor, n)?)?;
            let source = match *from {
                GatherFrom::Index => Source::Index,
                GatherFrom::Value(o) => Source::Value(val(&self.stack, &self.frames, unit, base, o)),
                GatherFrom::Element { path, field } => {
                    let at = self.root_slot(base, &unit.pool.paths[path as usize])?;
                    let Datum::Coll(Some(c)) = &self.stack[at] else { return None };
                    field.map_or(Source::Element(c), |n| Source::Field(c, n as usize))
                }
            };
            *place = Some(source);
        }
        sources.into_iter().collect()
    }
}
