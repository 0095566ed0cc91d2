//! SQL in the machine: static statements, cursors, dynamic SQL.
//!
//! The cursor of a static statement belongs to its unit (invariant 6): it is taken while the statement runs (so that a
//! recursive call opens another) and put back afterwards. An open cursor in a variable keeps it until it is closed.
//! EXECUTE IMMEDIATE keeps the cursor of its last text in the same way, and running that text again is no parse call.
//! OPEN FOR parses each time; the session may have the closed cursor of its text.
//!
//! A cursor that is open when its last variable is dropped is kept in [`Left`] and closed before the next one is
//! opened, or when PL/SQL ends: it has a snapshot and a pin, which only the session can release.

use super::{Machine, Run, Waiting, owned, scalar, text, val};
use crate::compile::{Compiled, Rights};
use crate::datum::{CursorRef, Datum};
use crate::op::*;
use crate::session::Plsql;
use crate::world::{DynamicKind, World};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use types::{DataType, Number, Ora, Result, Rowid, Value};

/// An open cursor in variables.
pub(crate) struct OpenCursor<C> {
    cursor: Option<Box<C>>,
    home: Home,
    pub open: bool,
    found: Option<bool>,
    rows: u64,
    /// The last row fetched by a SELECT FOR UPDATE.
    row: Option<Rowid>,
    /// The next row, if the client fetched it ahead before it passed the cursor to PL/SQL.
    ahead: Option<Vec<Value>>,
    /// The list it is added to when it is dropped while open.
    left: Left<C>,
    /// The number of open cursors of the session.
    count: Rc<Cell<usize>>,
}

impl<C> Drop for OpenCursor<C> {
    fn drop(&mut self) {
        if let Some(cursor) = self.cursor.take() {
            self.count.set(self.count.get() - 1);
            self.left.0.borrow_mut().push((cursor, self.home.take()));
        }
    }
}

/// Open cursors without a variable, with the units and statements that they return to.
pub(crate) struct Left<C>(Rc<RefCell<Vec<LeftCursor<C>>>>);

type LeftCursor<C> = (Box<C>, Home);

/// The unit and statement that a cursor returns to; otherwise it returns to the session.
type Home = Option<(Rc<Compiled>, u32)>;

impl<C> Default for Left<C> {
    fn default() -> Self {
        Left(Rc::default())
    }
}

impl<C: 'static> Left<C> {
    /// Closes them.
    #[inline]
    pub(crate) fn close<W: World<Cursor = C>>(&self, w: &mut W) {
        if !self.0.borrow().is_empty() {
            self.close_all(w);
        }
    }

    #[cold]
    fn close_all<W: World<Cursor = C>>(&self, w: &mut W) {
        for (cursor, home) in std::mem::take(&mut *self.0.borrow_mut()) {
            end(w, cursor, home);
        }
    }
}

/// Closes a cursor and returns it to its owner.
fn end<W: World>(w: &mut W, mut cursor: Box<W::Cursor>, home: Home) {
    match home {
        Some((unit, sql)) => {
            w.end_fetch(&mut cursor);
            unit.give_statement(sql, cursor);
        }
        None => w.close_cursor(*cursor),
    }
}

fn fresh<C: 'static>(s: &Plsql<C>) -> CursorRef {
    let (left, count) = (Left(Rc::clone(&s.left.0)), Rc::clone(&s.cursors_open));
    Rc::new(RefCell::new(OpenCursor::<C> {
        cursor: None,
        home: None,
        open: false,
        found: None,
        rows: 0,
        row: None,
        ahead: None,
        left,
        count,
    }))
}

/// A cursor that was opened and fetched from outside PL/SQL, for variables.
pub(crate) fn adopted<C: 'static, W: World<Cursor = C>>(
    s: &Plsql<C>,
    w: &mut W,
    cursor: C,
    rows: u64,
    ahead: Option<Vec<Value>>,
) -> CursorRef {
    let made = fresh(s);
    if let Some(open) = made.borrow_mut().downcast_mut::<OpenCursor<C>>() {
        open.opened(w, Box::new(cursor), None);
        (open.rows, open.ahead) = (rows, ahead);
        open.found = (rows > 0).then_some(true);
    }
    made
}

/// Applies `f` to an open cursor; ORA-01001 when it is not one.
fn with<C: 'static, R>(c: &CursorRef, f: impl FnOnce(&mut OpenCursor<C>) -> Run<R>) -> Run<R> {
    let mut guard = c.try_borrow_mut().map_err(|_| Ora::new(1001))?;
    match guard.downcast_mut::<OpenCursor<C>>() {
        Some(open) => f(open),
        None => Err(Ora::new(1001).into()),
    }
}

pub(super) fn attribute<C: 'static>(d: &Datum, what: Attribute) -> Run<Value> {
    let closed = |what| match what {
        Attribute::IsOpen => Ok(Value::Boolean(false)),
        _ => Err(Ora::new(1001).into()),
    };
    let Datum::Cur(Some(c)) = d else { return closed(what) };
    with::<C, _>(c, |c| {
        if !c.open {
            return closed(what);
        }
        Ok(match what {
            Attribute::IsOpen => Value::Boolean(true),
            Attribute::Found => scalar::logical(c.found),
            Attribute::NotFound => scalar::logical(c.found.map(|b| !b)),
            Attribute::RowCount => Value::Number(Number::from_u64(c.rows)),
            Attribute::CurrentRow => match c.row {
                Some(row) => Value::Rowid(row),
                None => return Err(Ora::new(1410).into()),
            },
        })
    })
}

impl<C: 'static> OpenCursor<C> {
    fn column_count<W: World<Cursor = C>>(&self, w: &W) -> usize {
        self.cursor.as_ref().map_or(0, |c| w.column_count(c))
    }

    /// Fetches a row.
    pub(crate) fn fetch<W: World<Cursor = C>>(&mut self, w: &mut W, row: &mut Vec<Value>) -> Result<bool> {
        if !self.open {
            return Err(Ora::new(1001));
        }
        let Some(c) = &mut self.cursor else { return Err(Ora::new(1001)) };
        let found = match self.ahead.take() {
            Some(ahead) => {
                *row = ahead;
                true
            }
            None => w.fetch(c, row)?,
        };
        self.row = if found { w.current_row(c) } else { None };
        self.found = Some(found);
        self.rows += u64::from(found);
        Ok(found)
    }

    /// The cursor itself, while it is open.
    pub(crate) fn cursor(&mut self) -> Option<&mut C> {
        self.cursor.as_deref_mut().filter(|_| self.open)
    }

    /// Tells the session that PL/SQL pauses the cursor, or fetches from it again.
    #[inline]
    pub(crate) fn pause<W: World<Cursor = C>>(&mut self, w: &mut W, paused: bool) {
        if let Some(c) = &mut self.cursor {
            w.pause(c, paused);
        }
    }

    /// A FETCH begins.
    pub(crate) fn begin_fetch<W: World<Cursor = C>>(&mut self, w: &mut W) {
        self.pause(w, false);
        if let Some(c) = &mut self.cursor {
            w.begin_fetch(c);
        }
    }

    /// Sets the cursor of an opened variable; the previous one was closed.
    fn opened<W: World<Cursor = C>>(&mut self, w: &mut W, cursor: Box<C>, home: Home) {
        self.count.set(self.count.get() + 1);
        w.cursors_open(self.count.get());
        (self.cursor, self.home) = (Some(cursor), home);
        (self.open, self.found, self.rows, self.row) = (true, None, 0, None);
        self.ahead = None;
    }

    pub(crate) fn close<W: World<Cursor = C>>(&mut self, w: &mut W) {
        self.open = false;
        self.ahead = None;
        if let Some(c) = self.cursor.take() {
            self.count.set(self.count.get() - 1);
            w.cursors_open(self.count.get());
            end(w, c, self.home.take());
        }
    }
}

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

/// The last statement of an EXECUTE IMMEDIATE.
struct Ran<C> {
    text: String,
    kind: DynamicKind,
    placeholders: usize,
    /// Its closed cursor. The cursor of a block belongs to the session.
    cursor: Option<C>,
}

impl Machine {
    /// The cursor of a statement for which a variable is opened, executed with the present values of its binds.
    fn start_variable<W: World>(&self, w: &mut W, unit: &Rc<Compiled>, base: usize, sql: u32) -> Run<Box<W::Cursor>> {
        let def = &unit.pool.sql[sql as usize];
        let entered = matches!(&unit.rights, Rights::Definers(owner) if w.enter(owner));
        let cursor = w.parse_cursor(&def.text, &def.bind_types, true);
        if entered {
            w.leave();
        }
        let mut cursor = cursor?;
        let mut binds = def.binds.iter().enumerate();
        let bound = binds.try_for_each(|(i, o)| w.bind(&mut cursor, i, val(&self.stack, &self.frames, unit, base, *o)));
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
    fn bound<W: World>(&self, w: &mut W, unit: &Rc<Compiled>, base: usize, sql: u32) -> Run<Box<W::Cursor>> {
        let def = &unit.pool.sql[sql as usize];
        // Names in static SQL belong to the unit, whatever CURRENT_SCHEMA it has set; in an invoker's rights unit they
        // belong to the caller.
        let entered = matches!(&unit.rights, Rights::Definers(owner) if w.enter(owner));
        let kept = unit.take_statement(sql).and_then(|c| c.downcast::<W::Cursor>().ok()).filter(|c| w.is_own(c));
        let cursor = match kept {
            Some(c) => Ok(c),
            None => w.open_cursor(&def.text, &def.bind_types, true).map(Box::new),
        };
        if entered {
            w.leave();
        }
        let mut cursor = cursor?;
        if self.is_in_forall() {
            w.continues(&mut cursor, !self.forall.counts.is_empty());
        }
        let mut binds = def.binds.iter().enumerate();
        match binds.try_for_each(|(i, o)| w.bind(&mut cursor, i, val(&self.stack, &self.frames, unit, base, *o))) {
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
                self.sql_found = Some(false);
                self.sql_rows = 0;
                Err(e.into())
            }
        }
    }

    fn finish<W: World>(&mut self, w: &mut W, unit: &Compiled, sql: u32, mut cursor: Box<W::Cursor>) {
        w.end_fetch(&mut cursor);
        unit.give_statement(sql, cursor);
    }

    /// Resets SQL% from the previous block.
    pub(crate) fn forget_implicit(&mut self) {
        (self.sql_found, self.sql_rows) = (None, 0);
    }

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
            let entered = matches!(&unit.rights, Rights::Definers(owner) if w.enter(owner));
            let result = w.execute_other(&def.text);
            if entered {
                w.leave();
            }
            self.implicit(0);
            return Ok(result?);
        }
        let (mut cursor, n) = self.start(w, unit, base, sql)?;
        let mut result = Ok(());
        if unit.pool.sql[sql as usize].returning > 0 {
            if n > 1 {
                result = Err(Ora::new(1422));
            } else if n == 1
                && let Some(rec) = self.record(base, row)
            {
                let mut values = std::mem::take(&mut rec.scalars);
                result = w.fetch(&mut cursor, &mut values).map(|_| ());
                if let Some(rec) = self.record(base, row) {
                    rec.scalars = values;
                }
            }
        }
        self.finish(w, unit, sql, cursor);
        self.implicit(n);
        Ok(result?)
    }

    /// Executes the statement of a FORALL: later, together with those of other iterations, if possible.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn execute_later<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        sql: u32,
        row: Opd,
        save: bool,
    ) -> Run<()> {
        let mut cursor = self.bound(w, unit, base, sql)?;
        let later = w.execute_later(&mut cursor);
        let enough = w.waits_enough(&cursor);
        unit.give_statement(sql, cursor);
        if !later? {
            self.carry_out(w)?;
            return self.execute(s, w, unit, base, sql, row);
        }
        let first = self.forall.counts.len();
        let waiting = || Waiting { unit: unit.clone(), sql, save, first, enough };
        self.forall.waiting.get_or_insert_with(waiting).enough = enough;
        self.implicit(1);
        Ok(())
    }

    /// Executes the waiting iterations of a FORALL. With SAVE EXCEPTIONS a failed one is noted; otherwise it ends the
    /// FORALL.
    pub(super) fn carry_out<W: World>(&mut self, w: &mut W) -> Run<()> {
        let Some(x) = self.forall.waiting.take() else { return Ok(()) };
        let kept = x.unit.take_statement(x.sql).and_then(|c| c.downcast::<W::Cursor>().ok());
        let Some(mut cursor) = kept else { return Err(Ora::internal("a statement that waits is gone").into()) };
        let forall = &mut self.forall;
        let mut end = None;
        let result = w.execute_waiting(&mut cursor, &mut |n, e| {
            let iteration = x.first + n;
            if !x.save || e.ends_call() {
                end = Some(iteration);
                return Err(e);
            }
            forall.errors.push((iteration as i64 + 1, e.code()));
            if let Some(count) = forall.counts.get_mut(iteration) {
                *count = 0;
            }
            Ok(())
        });
        self.finish(w, &x.unit, x.sql, cursor);
        if result.is_err() {
            self.forall.counts.truncate(end.unwrap_or(x.first));
            self.sql_found = Some(false);
            self.sql_rows = 0;
        }
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
        let mut values = self.record(base, row).map(|r| std::mem::take(&mut r.scalars)).unwrap_or_default();
        let result = one_row(w, &mut cursor, &mut values, &mut self.row);
        if let Some(rec) = self.record(base, row) {
            rec.scalars = values;
        }
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
        w.may_open_cursor(s.cursors_open.get())?;
        let (c, _) = self.start(w, unit, base, sql)?;
        let Place::Local(slot) = cursor.place() else { return Err(Ora::internal("a loop's cursor is local").into()) };
        let at = base + slot as usize;
        // A second run of the same loop uses the same cursor variable.
        let reusable = match &self.stack[at] {
            Datum::Cur(Some(r)) => Rc::strong_count(r) == 1 && r.borrow().is::<OpenCursor<W::Cursor>>(),
            _ => false,
        };
        if !reusable {
            self.stack[at] = Datum::Cur(Some(fresh(s)));
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
    fn cursor_slot<C: 'static>(&mut self, s: &Plsql<C>, base: usize, cursor: Opd) -> Run<CursorRef> {
        let at = match cursor.place() {
            Place::Local(slot) => base + slot as usize,
            Place::Up(levels, slot) => super::up_base(&self.frames, levels) + slot as usize,
            _ => return Err(Ora::new(1001).into()),
        };
        if let Datum::Cur(Some(c)) = &self.stack[at] {
            return Ok(c.clone());
        }
        let c = fresh(s);
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
        s.left.close(w);
        with::<W::Cursor, _>(&slot, |o| {
            if o.open && !variable {
                return Err(Ora::new(6511).into());
            }
            o.close(w);
            Ok(())
        })?;
        w.may_open_cursor(s.cursors_open.get())?;
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
        let mut values = self.record(base, row).map(|r| std::mem::take(&mut r.scalars)).unwrap_or_default();
        let result = with::<W::Cursor, _>(&c, |o| {
            if o.open && o.column_count(w) != width as usize {
                return Err(Ora::new(6504).into());
            }
            o.begin_fetch(w);
            let found = o.fetch(w, &mut values);
            o.pause(w, true);
            Ok(found?)
        });
        values.resize(width as usize, Value::Null);
        if let Some(rec) = self.record(base, row) {
            rec.scalars = values;
        }
        result
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
            v => match u64::try_from(super::bound(v, w)?) {
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

    // ---- dynamic SQL

    fn using(&self, unit: &Rc<Compiled>, base: usize, d: &Dynamic) -> Vec<Datum> {
        d.using.iter().map(|(o, _, _)| self.datum(unit, base, *o)).collect()
    }

    /// Sets the IN arguments, and executes.
    fn run_dynamic<W: World>(&self, w: &mut W, cursor: &mut W::Cursor, base: usize, d: &Dynamic) -> Run<u64> {
        for (i, (o, _, _)) in d.using.iter().filter(|using| !using.2).enumerate() {
            let Place::Local(slot) = o.place() else { return Err(Ora::internal("an argument is local").into()) };
            let Datum::Val(v) = &self.stack[base + slot as usize] else { return Err(Ora::new(6553).into()) };
            w.bind(cursor, i, v)?;
        }
        Ok(w.execute(cursor)?)
    }

    /// Parses a dynamic statement for its IN arguments.
    fn parse_dynamic<W: World>(w: &mut W, text: &str, d: &Dynamic) -> Run<W::Cursor> {
        let types: Vec<DataType> = d.using.iter().filter(|using| !using.2).map(|using| using.1).collect();
        Ok(w.parse_cursor(text, &types, false)?)
    }

    pub(super) fn open_dynamic<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        dynamic: u32,
        cursor: Opd,
    ) -> Run<()> {
        let d = &unit.pool.dynamics[dynamic as usize];
        let statement = text(val(&self.stack, &self.frames, unit, base, d.text));
        let (kind, placeholders) = w.dynamic_kind(&statement)?;
        if kind != DynamicKind::Query {
            return Err(Ora::new(6539).into());
        }
        if let Err(e) = check_placeholders(placeholders, d.using.len()) {
            w.check_text(&statement)?;
            return Err(e.into());
        }
        let slot = self.cursor_slot(s, base, cursor)?;
        s.left.close(w);
        with::<W::Cursor, _>(&slot, |o| {
            o.close(w);
            Ok(())
        })?;
        w.may_open_cursor(s.cursors_open.get())?;
        let mut c = Self::parse_dynamic(w, &statement, d)?;
        if let Err(e) = self.run_dynamic(w, &mut c, base, d) {
            w.close_cursor(c);
            return Err(e);
        }
        w.pause(&mut c, true);
        with::<W::Cursor, _>(&slot, |o| {
            o.opened(w, Box::new(c), None);
            Ok(())
        })
    }

    pub(super) fn execute_immediate<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        dynamic: u32,
        row: Opd,
    ) -> Run<()> {
        let d = &unit.pool.dynamics[dynamic as usize];
        let mut ran = self.last_ran(w, unit, base, dynamic)?;
        match ran.kind {
            DynamicKind::Other => {
                if !d.using.is_empty() {
                    return Err(Ora::new(1027).into());
                }
                w.execute_other(&ran.text)?;
                self.implicit(0);
            }
            DynamicKind::Block => self.dynamic_block(s, w, unit, base, d, &ran.text)?,
            DynamicKind::Query | DynamicKind::Dml => {
                let outs = d.using.iter().filter(|u| u.2).count();
                // In the old syntax OUT arguments stand for the targets of RETURNING.
                if let Err(e) = check_placeholders(ran.placeholders, d.using.len() + d.returning as usize) {
                    w.check_text(&ran.text)?;
                    return Err(e.into());
                }
                if outs > 0 && ran.kind == DynamicKind::Query {
                    return Err(Ora::new(6536).into());
                }
                let mut cursor = match ran.cursor.take() {
                    Some(cursor) => cursor,
                    None => Self::parse_dynamic(w, &ran.text, d)?,
                };
                let result = self
                    .run_dynamic(w, &mut cursor, base, d)
                    .and_then(|n| self.dynamic_rows(s, w, unit, base, d, ran.kind, &mut cursor, n, row));
                if w.keeps_cursors() {
                    w.end_fetch(&mut cursor);
                    ran.cursor = Some(cursor);
                } else {
                    w.close_cursor(cursor);
                }
                Self::note_ran(w, unit, dynamic, ran);
                return result;
            }
        }
        Self::note_ran(w, unit, dynamic, ran);
        Ok(())
    }

    /// The statement of an EXECUTE IMMEDIATE, with its cursor if it is the one that ran last.
    fn last_ran<W: World>(
        &self,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        dynamic: u32,
    ) -> Run<Box<Ran<W::Cursor>>> {
        let value = val(&self.stack, &self.frames, unit, base, unit.pool.dynamics[dynamic as usize].text);
        let last = unit.take_dynamic(dynamic).and_then(|ran| ran.downcast::<Ran<W::Cursor>>().ok());
        if let Some(mut ran) = last {
            let is_it = matches!(value, Value::Text(text) if **text == *ran.text);
            if ran.cursor.as_ref().is_some_and(|cursor| !is_it || !w.is_own(cursor))
                && let Some(cursor) = ran.cursor.take()
            {
                w.close_cursor(cursor);
            }
            if is_it {
                return Ok(ran);
            }
        }
        let statement = text(value);
        let (kind, placeholders) = w.dynamic_kind(&statement)?;
        Ok(Box::new(Ran { text: statement, kind, placeholders, cursor: None }))
    }

    fn note_ran<W: World>(w: &mut W, unit: &Rc<Compiled>, dynamic: u32, ran: Box<Ran<W::Cursor>>) {
        let before = unit.give_dynamic(dynamic, ran);
        if let Some(cursor) = before.and_then(|ran| ran.downcast::<Ran<W::Cursor>>().ok()).and_then(|ran| ran.cursor) {
            w.close_cursor(cursor);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn dynamic_rows<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        d: &Dynamic,
        kind: DynamicKind,
        cursor: &mut W::Cursor,
        n: u64,
        row: Opd,
    ) -> Run<()> {
        let query = kind == DynamicKind::Query;
        if query && (d.into > 0 || d.bulk.is_some()) && w.column_count(cursor) != d.into as usize {
            return Err(Ora::new(1007).into());
        }
        if let Some(bulk) = d.bulk {
            let rows = self.collect(s, w, unit, base, bulk, false, u64::MAX, &mut |w, r| w.fetch(cursor, r))?;
            self.implicit(if query { rows } else { n });
            return Ok(());
        }
        if query {
            if d.into == 0 {
                // A query without INTO is parsed but not executed.
                self.implicit(0);
                return Ok(());
            }
            let mut values = self.record(base, row).map(|r| std::mem::take(&mut r.scalars)).unwrap_or_default();
            let mut second = std::mem::take(&mut self.row);
            let result = one_row(w, cursor, &mut values, &mut second);
            self.row = second;
            if let Some(rec) = self.record(base, row) {
                rec.scalars = values;
            }
            self.implicit(u64::from(result.is_ok()));
            return Ok(result?);
        }
        self.implicit(n);
        if d.into > 0 {
            return Err(Ora::new(1007).into());
        }
        if d.returning > 0 && n == 1 {
            let mut values = self.record(base, row).map(|r| std::mem::take(&mut r.scalars)).unwrap_or_default();
            w.fetch(cursor, &mut values)?;
            if let Some(rec) = self.record(base, row) {
                rec.scalars = values;
            }
        }
        let outs: Vec<Opd> = d.using.iter().filter(|u| u.2).map(|u| u.0).collect();
        if !outs.is_empty() && n == 1 {
            let mut values = Vec::new();
            w.fetch(cursor, &mut values)?;
            for (o, v) in outs.into_iter().zip(values) {
                self.put_value(base, o, v);
            }
        }
        if n > 1 && (d.returning > 0 || d.using.iter().any(|u| u.2)) {
            return Err(Ora::new(1422).into());
        }
        Ok(())
    }

    /// EXECUTE IMMEDIATE of a block: arguments are assigned to its binds in the order of their first use.
    fn dynamic_block<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        unit: &Rc<Compiled>,
        base: usize,
        d: &Dynamic,
        statement: &str,
    ) -> Run<()> {
        let opened = w.open_block(statement)?;
        let has_cursor = opened.is_some();
        let block = opened.map_or_else(|| s.compile_block(w, statement), Ok)?;
        let mut args = self.using(unit, base, d);
        let result = check_placeholders(block.binds().len(), args.len()).and_then(|()| {
            if has_cursor {
                w.block_begins();
            }
            s.run_block(w, &block, &mut args)
        });
        if has_cursor {
            w.close_block(result.is_ok());
        }
        result?;
        for ((o, _, out), a) in d.using.iter().zip(args) {
            if *out {
                self.put(base, *o, a);
            }
        }
        self.implicit(1);
        Ok(())
    }
}

fn check_placeholders(wanted: usize, given: usize) -> Result<()> {
    match given.cmp(&wanted) {
        std::cmp::Ordering::Less => Err(Ora::new(1008)),
        std::cmp::Ordering::Greater => Err(Ora::new(1006)),
        std::cmp::Ordering::Equal => Ok(()),
    }
}

/// Fetches the single row that the query must return.
fn one_row<W: World>(w: &mut W, c: &mut W::Cursor, row: &mut Vec<Value>, second: &mut Vec<Value>) -> Result<()> {
    if !w.fetch(c, row)? {
        return Err(Ora::new(1403));
    }
    if w.fetch(c, second)? {
        return Err(Ora::new(1422));
    }
    Ok(())
}
