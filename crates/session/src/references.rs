//! Cursors shared by the client and PL/SQL. The client names a cursor by a number, PL/SQL holds it in a variable.
//!
//! A query opened by the client becomes shared when the client passes its number in a bind. A cursor that a block
//! leaves in a bind, or returns as an implicit result, becomes shared and gets a number. A shared cursor stays open
//! after its last row, the first close by either side closes it, and PL/SQL counts it as one of its open cursors.

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
    /// Gives the nested cursors in the rows of the query `parent` to the client, under the numbers in the rows.
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

    /// An unused cursor number.
    pub(crate) fn next_number(&mut self) -> u32 {
        loop {
            self.next = (self.next + 1) % NESTED_FIRST;
            if self.next != 0 && !self.open.contains_key(&self.next) {
                return self.next;
            }
        }
    }

    /// Shares a cursor of PL/SQL with the client, and returns its number; NULL for a cursor that is not open. Adds the
    /// cursor's columns to `told`.
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

    /// Shares an open cursor of the client with PL/SQL.
    ///
    /// # Errors
    /// ORA-01001 for a number without a cursor, ORA-03001 for a scrollable query.
    fn share_cursor(&mut self, core: &Core, cx: &mut ExecCtx<'_>, number: &Value) -> Result<Datum> {
        let Value::Number(n) = number else { return Ok(Datum::Cur(None)) };
        let open = n.as_i64().and_then(|n| self.open.get_mut(&u32::try_from(n).ok()?));
        let open = open.ok_or_else(|| Ora::new(1001))?;
        if let Source::Shared(cursor) = &open.source {
            open.of_row = false;
            return Ok(cursor.clone());
        }
        // The position of a scrolling client is not after the last row read.
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

    /// Shares the client's cursors in the binds of a statement with the functions that it calls, until the cursors are
    /// closed.
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

    /// The PL/SQL tables that a block has left in its binds, from subscript 1 on. Missing elements are NULL.
    ///
    /// # Errors
    /// ORA-06513 for a subscript below 1, or above the size of the bind.
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

    /// The values of a block's binds before it runs, in the order of the block.
    ///
    /// # Errors
    /// ORA-01008 for a bind that is missing in the call; those of [`Calls::share_cursor`].
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
