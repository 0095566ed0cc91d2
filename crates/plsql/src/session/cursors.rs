//! Cursors of PL/SQL in the hands of the session and its clients.

use crate::datum::Datum;
use crate::machine::OpenCursor;
use crate::state::Plsql;
use crate::world::World;
use std::rc::Rc;
use types::{Ora, Result, Value};

impl<C: 'static> Plsql<C> {
    /// The number of cursors that variables and loops hold open.
    pub fn cursors_open(&self) -> usize {
        self.cursors.count()
    }

    /// Closes the cursors that were open when their last variables were dropped. Blocks and functions do so at their
    /// end; the caller of [`Plsql::run_block`] does after it has dropped the binds.
    #[inline]
    pub fn close_left<W: World<Cursor = C>>(&self, w: &mut W) {
        self.cursors.close_left(w);
    }

    /// Whether two binds hold the same cursor.
    pub fn is_same_cursor(a: &Datum, b: &Datum) -> bool {
        matches!((a, b), (Datum::Cur(Some(a)), Datum::Cur(Some(b))) if Rc::ptr_eq(a, b))
    }

    /// Applies `f` to the cursor that a block left in a bind.
    ///
    /// # Errors
    /// ORA-01001 when it is not open.
    pub fn with_cursor<R>(&self, cursor: &Datum, f: impl FnOnce(&mut C) -> R) -> Result<R> {
        self.with_open(cursor, |open| open.cursor().map(f).ok_or_else(|| Ora::new(1001)))
    }

    fn with_open<R>(&self, cursor: &Datum, f: impl FnOnce(&mut OpenCursor<C>) -> Result<R>) -> Result<R> {
        let Datum::Cur(Some(c)) = cursor else { return Err(Ora::new(1001)) };
        let mut c = c.try_borrow_mut().map_err(|_| Ora::new(1001))?;
        f(c.downcast_mut::<OpenCursor<C>>().ok_or_else(|| Ora::new(1001))?)
    }

    /// Makes a cursor opened elsewhere into one for binds. `rows` were fetched from it, and `ahead` is the next row if
    /// it was fetched.
    pub fn adopt_cursor<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        cursor: C,
        rows: u64,
        ahead: Option<Vec<Value>>,
    ) -> Datum {
        Datum::Cur(Some(self.cursors.adopted(w, cursor, rows, ahead)))
    }

    /// Notes the beginning or end of a fetch from outside PL/SQL.
    pub fn fetches_cursor<W: World<Cursor = C>>(&self, w: &mut W, cursor: &Datum, begins: bool) -> Result<()> {
        self.with_open(cursor, |open| {
            if begins {
                open.begin_fetch(w)
            } else {
                open.pause(w, true)
            }
            Ok(())
        })
    }

    /// Fetches the next row from a cursor that a block left in a bind.
    ///
    /// # Errors
    /// ORA-01001 when it is not open; those of the fetch.
    pub fn fetch_cursor<W: World<Cursor = C>>(&self, w: &mut W, cursor: &Datum, row: &mut Vec<Value>) -> Result<bool> {
        self.with_open(cursor, |open| open.fetch(w, row))
    }

    /// Closes a cursor for all variables that hold it; a closed one is no error.
    pub fn close_cursor<W: World<Cursor = C>>(&self, w: &mut W, cursor: &Datum) {
        let _ = self.with_open(cursor, |open| {
            open.close(w);
            Ok(())
        });
    }

    /// The results of DBMS_SQL.RETURN_RESULT since the last call.
    pub fn take_results(&self) -> Vec<Datum> {
        self.results.take()
    }

    /// Sets whether the client accepts such results; otherwise returning one is ORA-29481.
    pub fn set_takes_results(&self, takes: bool) {
        self.takes_results.set(takes);
    }

    /// DBMS_SQL.RETURN_RESULT.
    pub(crate) fn return_result(&self, cursor: Datum) -> Result<()> {
        if !self.takes_results.get() {
            return Err(Ora::new(29481));
        }
        self.with_cursor(&cursor, |_| ())?;
        self.results.borrow_mut().push(cursor);
        Ok(())
    }
}
