//! Static statements and cursors.
//!
//! The cursor of a static statement belongs to its unit (invariant 6): it is taken while the statement runs (so that a
//! recursive call opens another) and put back afterwards. An open cursor in a variable keeps it until it is closed.

use super::cursor::{OpenCursor, with};
use super::fault::Run;
use super::frames::{Machine, owned, up_base, val};
use super::scalar;
use super::values::bound;
use crate::code::{Compiled, Rights};
use crate::datum::{CursorRef, Datum};
use crate::op::*;
use crate::state::Plsql;
use crate::world::World;
use std::rc::Rc;
use types::{Ora, Result, Value};

/// Whether names in the unit's queries are resolved for its caller.
fn is_callers(unit: &Compiled) -> bool {
    matches!(unit.rights, Rights::Invokers(_))
}

/// ORA-04068: a query has other columns now than at the compilation of the code around it. The next call compiles that
/// code again.
#[cold]
fn columns_differ(unit: &Compiled) -> Ora {
    let what = match unit.name.as_str() {
        "" => "a query of the block".to_string(),
        name => format!("a query of \"{}.{name}\"", unit.owner),
    };
    Ora::with(4068, &[&"", &"", &""]).because(Ora::with(4065, &[&what]))
}

/// Runs `f` with the names and privileges of the unit. Names in static SQL belong to the unit, whatever CURRENT_SCHEMA
/// it has set; in an invoker's rights unit they belong to the caller.
#[inline]
fn for_unit<W: World, R>(w: &mut W, unit: &Compiled, f: impl FnOnce(&mut W) -> R) -> R {
    let entered = matches!(&unit.rights, Rights::Definers(owner) if w.enter(owner));
    let result = f(w);
    if entered {
        w.leave();
    }
    result
}

impl Machine {
    /// Gives a cursor the present values of its binds.
    #[inline]
    fn bind<W: World>(&self, w: &mut W, unit: &Compiled, base: usize, sql: u32, cursor: &mut W::Cursor) -> Result<()> {
        let mut binds = unit.pool.sql[sql as usize].binds.iter().enumerate();
        binds.try_for_each(|(i, o)| w.bind(cursor, i, val(&self.stack, &self.frames, unit, base, *o)))
    }

    /// Runs `f` with the values of a record's fields, or with none if the slot holds no record.
    #[inline]
    pub(super) fn with_fields<R>(
        &mut self,
        base: usize,
        row: Opd,
        f: impl FnOnce(&mut Machine, &mut Vec<Value>) -> R,
    ) -> R {
        let mut values = self.record(base, row).map(|r| std::mem::take(&mut r.scalars)).unwrap_or_default();
        let result = f(self, &mut values);
        if let Some(rec) = self.record(base, row) {
            rec.scalars = values;
        }
        result
    }

    /// The cursor of a statement for which a variable is opened, executed with the present values of its binds.
    fn start_variable<W: World>(&self, w: &mut W, unit: &Rc<Compiled>, base: usize, sql: u32) -> Run<Box<W::Cursor>> {
        let def = &unit.pool.sql[sql as usize];
        let mut cursor = for_unit(w, unit, |w| w.parse_cursor(&def.text, &def.bind_types, true))?;
        let bound = self.bind(w, unit, base, sql, &mut cursor);
        if let Err(e) = bound.and_then(|()| w.execute(&mut cursor)) {
            w.close_cursor(cursor);
            return Err(e.into());
        }
        if def.query && !w.has_columns(&mut cursor, &def.columns, is_callers(unit)) {
            w.close_cursor(cursor);
            return Err(columns_differ(unit).into());
        }
        Ok(Box::new(cursor))
    }

    /// The cursor of the statement with the present values of its binds.
    pub(super) fn bound<W: World>(&self, w: &mut W, unit: &Rc<Compiled>, base: usize, sql: u32) -> Run<Box<W::Cursor>> {
        let def = &unit.pool.sql[sql as usize];
        let mut cursor = for_unit(w, unit, |w| {
            let kept = unit.take_statement(sql).and_then(|c| c.downcast::<W::Cursor>().ok()).filter(|c| w.is_own(c));
            kept.map_or_else(|| w.open_cursor(&def.text, &def.bind_types, true).map(Box::new), Ok)
        })?;
        if self.is_in_forall() {
            w.continues(&mut cursor, !self.forall.counts.is_empty());
        }
        match self.bind(w, unit, base, sql, &mut cursor) {
            Ok(()) => Ok(cursor),
            Err(e) => {
                unit.give_statement(sql, cursor);
                Err(e.into())
            }
        }
    }

    /// The cursor of the statement, executed with the present values of its binds.
    fn start<W: World>(&mut self, w: &mut W, unit: &Rc<Compiled>, base: usize, sql: u32) -> Run<(Box<W::Cursor>, u64)> {
        let mut cursor = self.bound(w, unit, base, sql)?;
        let def = &unit.pool.sql[sql as usize];
        match w.execute(&mut cursor) {
            Ok(_) if def.query && !w.has_columns(&mut cursor, &def.columns, is_callers(unit)) => {
                w.close_cursor(*cursor);
                Err(columns_differ(unit).into())
            }
            Ok(n) => Ok((cursor, n)),
            Err(e) => {
                unit.give_statement(sql, cursor);
                self.implicit(0);
                Err(e.into())
            }
        }
    }

    pub(super) fn finish<W: World>(&mut self, w: &mut W, unit: &Compiled, sql: u32, mut cursor: Box<W::Cursor>) {
        w.end_fetch(&mut cursor);
        unit.give_statement(sql, cursor);
    }

    /// Sets SQL% after a statement.
    pub(super) fn implicit(&mut self, rows: u64) {
        self.sql_found = Some(rows > 0);
        self.sql_rows = rows;
    }

    pub(super) fn execute<W: World>(
        &mut self,
        _s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        sql: u32,
        row: Opd,
    ) -> Run<()> {
        let def = &unit.pool.sql[sql as usize];
        if def.other {
            let result = for_unit(w, unit, |w| w.execute_other(&def.text));
            self.implicit(0);
            return Ok(result?);
        }
        let (mut cursor, n) = self.start(w, unit, base, sql)?;
        let mut result = Ok(());
        if unit.pool.sql[sql as usize].returning > 0 {
            if n > 1 {
                result = Err(Ora::new(1422));
            } else if n == 1 && self.record(base, row).is_some() {
                result = self.with_fields(base, row, |_, values| w.fetch(&mut cursor, values).map(|_| ()));
            }
        }
        self.finish(w, unit, sql, cursor);
        self.implicit(n);
        Ok(result?)
    }

    pub(super) fn select_into<W: World>(
        &mut self,
        _s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        sql: u32,
        row: Opd,
    ) -> Run<()> {
        let (mut cursor, _) = self.start(w, unit, base, sql)?;
        let result = self.with_fields(base, row, |m, values| one_row(w, &mut cursor, values, &mut m.row));
        self.finish(w, unit, sql, cursor);
        self.implicit(match &result {
            Ok(()) => 1,
            Err(e) if e.is(1422) => 1,
            Err(_) => 0,
        });
        Ok(result?)
    }

    pub(super) fn bulk_into<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        sql: u32,
        bulk: u32,
    ) -> Run<()> {
        let (mut cursor, n) = self.start(w, unit, base, sql)?;
        let query = unit.pool.sql[sql as usize].query;
        // In a FORALL the rows of all iterations are collected.
        let append = self.is_in_forall() && !self.forall.counts.is_empty();
        let result = self.collect(s, w, unit, base, bulk, append, u64::MAX, &mut |w, row| w.fetch(&mut cursor, row));
        self.finish(w, unit, sql, cursor);
        let rows = result?;
        self.implicit(if query { rows } else { n });
        Ok(())
    }

    pub(super) fn open_loop<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        sql: u32,
        cursor: Opd,
    ) -> Run<()> {
        w.may_open_cursor(s.cursors.count())?;
        let (c, _) = self.start(w, unit, base, sql)?;
        let Place::Local(slot) = cursor.place() else { return Err(Ora::internal("a loop's cursor is local").into()) };
        let at = base + slot as usize;
        // A second run of the same loop uses the same cursor variable.
        let reusable = match &self.stack[at] {
            Datum::Cur(Some(r)) => Rc::strong_count(r) == 1 && r.borrow().is::<OpenCursor<W::Cursor>>(),
            _ => false,
        };
        if !reusable {
            self.stack[at] = Datum::Cur(Some(s.cursors.closed()));
        }
        let Datum::Cur(Some(r)) = &self.stack[at] else { unreachable!("just set") };
        with::<W::Cursor, _>(r, |o| {
            o.close(w);
            // The first row is fetched next: the cursor is not paused before that.
            o.opened(w, c, Some((unit.clone(), sql)));
            Ok(())
        })
    }

    /// Fetches the next row of a loop; closes the cursor at the end.
    pub(super) fn fetch_loop<W: World>(&mut self, w: &mut W, base: usize, cursor: Opd, row: Opd) -> Run<bool> {
        let (Place::Local(c), Place::Local(r)) = (cursor.place(), row.place()) else {
            return Err(Ora::internal("a loop's cursor and record are local").into());
        };
        w.check_cancel()?;
        let mut values = match &mut self.stack[base + r as usize] {
            Datum::Rec(rec) => std::mem::take(&mut owned(rec).scalars),
            _ => Vec::new(),
        };
        let Datum::Cur(Some(handle)) = &self.stack[base + c as usize] else { return Err(Ora::new(1001).into()) };
        let result = with::<W::Cursor, _>(handle, |o| {
            o.pause(w, false);
            let found = o.fetch(w, &mut values);
            match found {
                Ok(true) => o.pause(w, true),
                _ => o.close(w),
            }
            Ok(found?)
        });
        if let Datum::Rec(rec) = &mut self.stack[base + r as usize] {
            owned(rec).scalars = values;
        }
        result
    }

    /// The cursor in a slot; made if the variable has none.
    pub(super) fn cursor_slot<C: 'static>(&mut self, s: &Plsql<C>, base: usize, cursor: Opd) -> Run<CursorRef> {
        let at = match cursor.place() {
            Place::Local(slot) => base + slot as usize,
            Place::Up(levels, slot) => up_base(&self.frames, levels) + slot as usize,
            _ => return Err(Ora::new(1001).into()),
        };
        if let Datum::Cur(Some(c)) = &self.stack[at] {
            return Ok(c.clone());
        }
        let c = s.cursors.closed();
        self.stack[at] = Datum::Cur(Some(c.clone()));
        Ok(c)
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn open<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        sql: u32,
        cursor: Opd,
        variable: bool,
    ) -> Run<()> {
        let slot = self.cursor_slot(s, base, cursor)?;
        s.cursors.close_left(w);
        with::<W::Cursor, _>(&slot, |o| {
            if o.open && !variable {
                return Err(Ora::new(6511).into());
            }
            o.close(w);
            Ok(())
        })?;
        w.may_open_cursor(s.cursors.count())?;
        let (mut c, home) = match variable {
            true => (self.start_variable(w, unit, base, sql)?, None),
            false => (self.start(w, unit, base, sql)?.0, Some((unit.clone(), sql))),
        };
        with::<W::Cursor, _>(&slot, |o| {
            w.pause(&mut c, true);
            o.opened(w, c, home);
            Ok(())
        })
    }

    pub(super) fn fetch<W: World>(
        &mut self,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        cursor: Opd,
        row: Opd,
        width: u32,
    ) -> Run<bool> {
        let Datum::Cur(Some(c)) = self.datum(unit, base, cursor) else { return Err(Ora::new(1001).into()) };
        self.with_fields(base, row, |_, values| {
            let result = with::<W::Cursor, _>(&c, |o| {
                if o.open && o.column_count(w) != width as usize {
                    return Err(Ora::new(6504).into());
                }
                o.begin_fetch(w);
                let found = o.fetch(w, values);
                o.pause(w, true);
                Ok(found?)
            });
            values.resize(width as usize, Value::Null);
            result
        })
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn fetch_bulk<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        cursor: Opd,
        bulk: u32,
        limit: Opd,
    ) -> Run<()> {
        let Datum::Cur(Some(c)) = self.datum(unit, base, cursor) else { return Err(Ora::new(1001).into()) };
        let limit = match val(&self.stack, &self.frames, unit, base, limit) {
            Value::Null => u64::MAX,
            v => match u64::try_from(bound(v, w)?) {
                Ok(n) if n > 0 => n,
                _ => return Err(scalar::value_error("").into()),
            },
        };
        let width = unit.pool.bulks[bulk as usize].width as usize;
        with::<W::Cursor, _>(&c, |o| match o.open {
            true if o.column_count(w) != width => Err(Ora::new(6504).into()),
            true => {
                o.begin_fetch(w);
                Ok(())
            }
            false => Err(Ora::new(1001).into()),
        })?;
        let mut next = |w: &mut W, row: &mut Vec<Value>| -> Result<bool> {
            with::<W::Cursor, _>(&c, |o| Ok(o.fetch(w, row)?)).map_err(|f| f.ora)
        };
        let collected = self.collect(s, w, unit, base, bulk, false, limit, &mut next);
        with::<W::Cursor, _>(&c, |o| {
            o.pause(w, true);
            let rows = collected?;
            o.found = Some(rows > 0 && (limit == u64::MAX || rows == limit));
            Ok(())
        })
    }

    pub(super) fn close<W: World>(&mut self, w: &mut W, d: &Datum, must: bool) -> Run<()> {
        let Datum::Cur(Some(c)) = d else {
            return if must { Err(Ora::new(1001).into()) } else { Ok(()) };
        };
        with::<W::Cursor, _>(c, |o| {
            if !o.open && must {
                return Err(Ora::new(1001).into());
            }
            o.close(w);
            Ok(())
        })
    }
}

/// Fetches the single row that the query must return.
pub(super) fn one_row<W: World>(
    w: &mut W,
    c: &mut W::Cursor,
    row: &mut Vec<Value>,
    second: &mut Vec<Value>,
) -> Result<()> {
    if !w.fetch(c, row)? {
        return Err(Ora::new(1403));
    }
    if w.fetch(c, second)? {
        return Err(Ora::new(1422));
    }
    Ok(())
}
