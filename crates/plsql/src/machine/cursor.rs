//! Open cursors in variables.
//!
//! A cursor that is open when its last variable is dropped is kept in [`Cursors`] and closed before the next one is
//! opened, or when PL/SQL ends: it has a snapshot and a pin, which only the session can release.

use super::fault::Run;
use super::scalar;
use crate::code::Compiled;
use crate::datum::{CursorRef, Datum};
use crate::op::Attribute;
use crate::world::World;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use types::{Number, Ora, Result, Rowid, Value};

/// An open cursor in variables.
pub(crate) struct OpenCursor<C> {
    cursor: Option<Box<C>>,
    home: Home,
    pub(super) open: bool,
    pub(super) found: Option<bool>,
    rows: u64,
    /// The last row fetched by a SELECT FOR UPDATE.
    row: Option<Rowid>,
    /// The next row, if the client fetched it ahead before it passed the cursor to PL/SQL.
    ahead: Option<Vec<Value>>,
    /// Those of the session, to which it belongs.
    session: Cursors<C>,
}

impl<C> Drop for OpenCursor<C> {
    fn drop(&mut self) {
        if let Some(cursor) = self.cursor.take() {
            self.session.count.set(self.session.count.get() - 1);
            self.session.left.borrow_mut().push((cursor, self.home.take()));
        }
    }
}

/// The open cursors of a session.
pub(crate) struct Cursors<C> {
    /// Those without a variable, with the units and statements that they return to.
    left: Rc<RefCell<Vec<LeftCursor<C>>>>,
    /// The number of cursors that variables and loops hold open.
    count: Rc<Cell<usize>>,
}

type LeftCursor<C> = (Box<C>, Home);

/// The unit and statement that a cursor returns to; otherwise it returns to the session.
type Home = Option<(Rc<Compiled>, u32)>;

impl<C> Default for Cursors<C> {
    fn default() -> Self {
        Cursors { left: Rc::default(), count: Rc::default() }
    }
}

impl<C: 'static> Cursors<C> {
    /// The number of cursors that variables and loops hold open.
    pub(crate) fn count(&self) -> usize {
        self.count.get()
    }

    /// Closes those without a variable.
    #[inline]
    pub(crate) fn close_left<W: World<Cursor = C>>(&self, w: &mut W) {
        if !self.left.borrow().is_empty() {
            self.close_all_left(w);
        }
    }

    #[cold]
    fn close_all_left<W: World<Cursor = C>>(&self, w: &mut W) {
        for (cursor, home) in std::mem::take(&mut *self.left.borrow_mut()) {
            end(w, cursor, home);
        }
    }

    /// A closed cursor for a variable.
    pub(super) fn closed(&self) -> CursorRef {
        let session = Cursors { left: Rc::clone(&self.left), count: Rc::clone(&self.count) };
        Rc::new(RefCell::new(OpenCursor::<C> {
            cursor: None,
            home: None,
            open: false,
            found: None,
            rows: 0,
            row: None,
            ahead: None,
            session,
        }))
    }

    /// A cursor that was opened and fetched from outside PL/SQL, for variables.
    pub(crate) fn adopted<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        cursor: C,
        rows: u64,
        ahead: Option<Vec<Value>>,
    ) -> CursorRef {
        let made = self.closed();
        if let Some(open) = made.borrow_mut().downcast_mut::<OpenCursor<C>>() {
            open.opened(w, Box::new(cursor), None);
            (open.rows, open.ahead) = (rows, ahead);
            open.found = (rows > 0).then_some(true);
        }
        made
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

/// Applies `f` to an open cursor; ORA-01001 when it is not one.
pub(super) fn with<C: 'static, R>(c: &CursorRef, f: impl FnOnce(&mut OpenCursor<C>) -> Run<R>) -> Run<R> {
    let mut guard = c.try_borrow_mut().map_err(|_| Ora::new(1001))?;
    match guard.downcast_mut::<OpenCursor<C>>() {
        Some(open) => f(open),
        None => Err(Ora::new(1001).into()),
    }
}

/// An attribute of a cursor variable.
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
    pub(super) fn column_count<W: World<Cursor = C>>(&self, w: &W) -> usize {
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
    pub(super) fn opened<W: World<Cursor = C>>(&mut self, w: &mut W, cursor: Box<C>, home: Home) {
        self.session.count.set(self.session.count.get() + 1);
        w.cursors_open(self.session.count.get());
        (self.cursor, self.home) = (Some(cursor), home);
        (self.open, self.found, self.rows, self.row) = (true, None, 0, None);
        self.ahead = None;
    }

    pub(crate) fn close<W: World<Cursor = C>>(&mut self, w: &mut W) {
        self.open = false;
        self.ahead = None;
        if let Some(c) = self.cursor.take() {
            self.session.count.set(self.session.count.get() - 1);
            w.cursors_open(self.session.count.get());
            end(w, c, self.home.take());
        }
    }
}
