//! Cursors that clients know by numbers and PL/SQL by variables.
//!
//! A query that a client has opened is the client's own until a block is given it for a bind; a cursor that a block
//! leaves in a bind, or returns as a result, gets a number. From then on both may hold it: it stays open at its end, is
//! closed for both by the first close, and counts with the cursors of PL/SQL.

use crate::by_name::ByName;
use crate::composite_text::has_objects;
use crate::core::{Core, NESTED_FIRST};
use crate::cursors::SqlCursor;
use crate::open::{Calls, Open, wire_column};
use crate::source::Source;
use crate::world::World;
use exec::ExecCtx;
use net::local::{Bind, Column, Direction, TableBind};
use plsql::datum::Key;
use plsql::{Datum, Plsql};
use std::rc::Rc;
use types::{DataType, Number, Ora, Result, Value};

fn number_of(value: &Value) -> Option<u32> {
    let Value::Number(n) = value else { return None };
    n.as_i64().and_then(|n| u32::try_from(n).ok())
}

impl Calls {
    /// Makes the cursors in the rows of a query the client's, under the numbers that the rows have.
    pub(crate) fn take_nested(&mut self, core: &Core, cx: &mut ExecCtx<'_>, parent: u32) {
        for (number, cursor) in core.nested.take() {
            let has_objects = has_objects(cursor.columns());
            let made = core.plsql.adopt_cursor(&mut World { cx: cx.reborrow(), core }, cursor, 0, None);
            let (source, identity) = (Source::Shared(made), core.identity());
            self.open.insert(number, Open { of_row: true, has_objects, ..Open::new(source, identity) });
            self.shared += 1;
            self.nested.push((parent, number));
        }
    }

    /// Closes the cursors in the rows of a query that is closed before its end.
    pub(crate) fn close_nested(&mut self, core: &Core, cx: &mut ExecCtx<'_>, parent: u32) {
        let mut at = 0;
        while let Some((of, number)) = self.nested.get(at).copied() {
            if of != parent {
                at += 1;
                continue;
            }
            self.nested.swap_remove(at);
            self.close(core, cx, number);
        }
    }

    /// Gives back the query of a cursor in a row that has come to its end: clients close it only with the query that it
    /// was a row of. The cursors in its own rows go on, as rows of that query.
    pub(crate) fn end_nested(&mut self, core: &Core, cx: &mut ExecCtx<'_>, number: u32) {
        let parent = self.nested.iter().find(|(_, other)| *other == number).map_or(0, |(parent, _)| *parent);
        self.nested.retain(|(_, other)| *other != number);
        self.nested.iter_mut().filter(|(of, _)| *of == number).for_each(|(of, _)| *of = parent);
        if let Some(open) = self.open.remove(&number) {
            self.close_source(core, cx, open.source);
        }
    }

    /// A number that no open cursor has.
    pub(crate) fn next_number(&mut self) -> u32 {
        loop {
            self.next = (self.next + 1) % NESTED_FIRST;
            if self.next != 0 && !self.open.contains_key(&self.next) {
                return self.next;
            }
        }
    }

    pub(crate) fn close_source(&mut self, core: &Core, cx: &mut ExecCtx<'_>, source: Source) {
        match source {
            Source::Own(mut cursor) => cursor.close(cx),
            Source::Shared(cursor) => {
                self.shared -= 1;
                core.plsql.close_cursor(&mut World { cx: cx.reborrow(), core }, &cursor);
            }
        }
    }

    /// The number of a cursor that PL/SQL has left, which from now on is the client's as well, with its columns; NULL
    /// of one that is not open.
    pub(crate) fn number_cursor(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        cursor: &Datum,
        told: &mut Vec<(u32, Vec<Column>)>,
    ) -> Value {
        let nls = &cx.session.nls;
        let describe = |c: &mut SqlCursor| {
            let columns = c.columns();
            (columns.iter().map(|c| wire_column(c, core, nls)).collect::<Vec<_>>(), has_objects(columns))
        };
        let Ok((columns, has_objects)) = core.plsql.with_cursor(cursor, describe) else { return Value::Null };
        let is_it =
            |open: &Open| matches!(&open.source, Source::Shared(c) if Plsql::<SqlCursor>::is_same_cursor(c, cursor));
        let known = self.open.iter().find(|(_, open)| is_it(open)).map(|(number, _)| *number);
        let number = known.unwrap_or_else(|| {
            let number = self.next_number();
            let source = Source::Shared(cursor.clone());
            self.open.insert(number, Open { has_objects, ..Open::new(source, core.identity()) });
            self.shared += 1;
            number
        });
        if !told.iter().any(|(other, _)| *other == number) {
            told.push((number, columns));
        }
        Value::Number(Number::from_u64(number.into()))
    }

    /// Lets PL/SQL hold an open cursor of the client's.
    ///
    /// # Errors
    /// ORA-01001 for a number that no cursor has, ORA-03001 for a query whose rows are fetched in any order.
    fn share_cursor(&mut self, core: &Core, cx: &mut ExecCtx<'_>, number: &Value) -> Result<Datum> {
        let Value::Number(n) = number else { return Ok(Datum::Cur(None)) };
        let open = n.as_i64().and_then(|n| self.open.get_mut(&u32::try_from(n).ok()?));
        let open = open.ok_or_else(|| Ora::new(1001))?;
        if let Source::Shared(cursor) = &open.source {
            open.of_row = false;
            return Ok(cursor.clone());
        }
        // The position of a client that scrolls differs from the end of the rows read.
        if open.scroll.is_some() {
            return Err(Ora::unsupported());
        }
        let Source::Own(cursor) = std::mem::replace(&mut open.source, Source::Shared(Datum::default())) else {
            return Err(Ora::new(1001));
        };
        let schema = Rc::clone(&cx.session.schema);
        let cursor = SqlCursor::of_client(*cursor, open.identity, schema);
        let ahead = std::mem::take(&mut open.ahead).then(|| std::mem::take(&mut open.row));
        let made = core.plsql.adopt_cursor(&mut World { cx: cx.reborrow(), core }, cursor, open.rows, ahead);
        open.source = Source::Shared(made.clone());
        self.shared += 1;
        Ok(made)
    }

    /// Lets functions that a statement calls have the client's cursors in its binds, for as long as those are open.
    ///
    /// # Errors
    /// Those of [`Calls::share_cursor`].
    pub(crate) fn share_bound<'a>(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        binds: &[Bind],
        values: impl Iterator<Item = &'a Value>,
    ) -> Result<()> {
        for (_, value) in binds.iter().zip(values).filter(|(bind, _)| bind.data_type == DataType::Cursor) {
            let cursor = self.share_cursor(core, cx, value)?;
            if let Some(number) = number_of(value) {
                let mut bound = core.bound_cursors.borrow_mut();
                bound.retain(|(other, _)| *other != number);
                bound.push((number, cursor));
            }
        }
        Ok(())
    }

    /// The tables that a block has left in its binds, from subscript 1 on; what is not there is NULL.
    ///
    /// # Errors
    /// ORA-06513 for a subscript below 1, or above what the bind takes.
    pub(crate) fn tables_of(
        &self,
        names: &[String],
        (binds, tables): (&[Bind], &[TableBind]),
        data: &[Datum],
    ) -> Result<Vec<(u16, Vec<Value>)>> {
        let mut all = Vec::new();
        if tables.is_empty() {
            return Ok(all);
        }
        let by_name = ByName::new(binds);
        for (place, name) in names.iter().enumerate() {
            let Some(at) = by_name.of(place, name) else { continue };
            let Some(table) = tables.iter().find(|table| usize::from(table.bind) == at) else { continue };
            let Datum::Coll(Some(elements)) = &data[place] else { continue };
            if binds[at].direction == Direction::In || self.directions()[at] == Direction::In {
                continue;
            }
            let (first, last) = match (elements.first(), elements.last()) {
                (Some(Key::Int(first)), Some(Key::Int(last))) => (first, last),
                _ => (1, 0),
            };
            if first < 1 || last > i64::from(table.most) {
                return Err(Ora::new(6513).at_line("", 1));
            }
            let element = |n: i64| match elements.at(n) {
                Some(Datum::Val(v)) => v.clone(),
                _ => Value::Null,
            };
            all.push((at as u16, (1..=last).map(element).collect()));
        }
        Ok(all)
    }

    /// The values of a block's binds at its begin, in the order of the block.
    ///
    /// # Errors
    /// ORA-01008 for a bind that the call has not; ORA-01001 for a cursor that is not open.
    pub(crate) fn block_binds(
        &mut self,
        core: &Core,
        cx: &mut ExecCtx<'_>,
        names: &[String],
        (binds, tables): (&[Bind], &[TableBind]),
    ) -> Result<Vec<Datum>> {
        let mut data = Vec::with_capacity(names.len());
        let by_name = ByName::new(binds);
        for (place, name) in names.iter().enumerate() {
            let at = by_name.of(place, name).ok_or_else(|| Ora::new(1008))?;
            let bind = &binds[at];
            if let Some(table) = tables.iter().find(|table| usize::from(table.bind) == at) {
                let given = if bind.direction == Direction::Out { &[][..] } else { &table.elements };
                data.push(Datum::table(given.iter().cloned()));
                continue;
            }
            data.push(match (bind.data_type, bind.direction) {
                (DataType::Cursor, Direction::Out) => Datum::Cur(None),
                (DataType::Cursor, _) if self.directions()[at] == Direction::Out => Datum::Cur(None),
                (DataType::Cursor, _) => self.share_cursor(core, cx, &bind.value)?,
                (_, Direction::Out) => Datum::Val(Value::Null),
                _ => Datum::Val(bind.value.clone()),
            });
        }
        Ok(data)
    }
}
