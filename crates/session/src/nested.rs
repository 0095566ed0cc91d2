//! Nested cursors: the cursors of CURSOR(subquery) in rows, until the client or PL/SQL takes them.

use crate::core::{Core, NESTED_FIRST};
use crate::cursors::SqlCursor;
use crate::world::World;
use exec::ExecCtx;
use plsql::{Datum, World as _};
use types::{Number, Ora, Result, Value};

fn number_of(value: &Value) -> Option<u32> {
    let Value::Number(n) = value else { return None };
    n.as_i64().and_then(|n| u32::try_from(n).ok())
}

impl Core {
    /// Opens the cursor of CURSOR(subquery) for a row, and returns its number as the row's value.
    ///
    /// # Errors
    /// ORA-01000; those of the subquery.
    #[cold]
    pub(crate) fn open_nested(
        &self,
        cx: &mut ExecCtx<'_>,
        function: &exec::HostFunction,
        args: &[Value],
    ) -> Result<Value> {
        if self.client_cursors.get() + self.plsql.cursors_open() + self.nested.borrow().len() >= self.cursors_most() {
            return Err(Ora::new(1000));
        }
        let mut w = World { cx: cx.reborrow(), core: self };
        let mut cursor = w.parse_cursor(&function.name, &function.arg_types, true)?;
        let bound = args.iter().enumerate().try_for_each(|(at, value)| w.bind(&mut cursor, at, value));
        if let Err(e) = bound.and_then(|()| w.execute(&mut cursor).map(drop)) {
            w.close_cursor(cursor);
            return Err(e);
        }
        w.pause(&mut cursor, true);
        let number = self.nested_numbers.get();
        self.nested_numbers.set(number.wrapping_add(1).max(NESTED_FIRST));
        self.nested.borrow_mut().push((number, cursor));
        Ok(Value::Number(Number::from_u64(number.into())))
    }

    /// Takes a nested cursor by its number.
    pub(crate) fn take_nested(&self, number: &Value) -> Option<SqlCursor> {
        let number = number_of(number)?;
        let mut nested = self.nested.borrow_mut();
        let at = nested.iter().position(|(other, _)| *other == number)?;
        Some(nested.swap_remove(at).1)
    }

    /// The client's open cursor that the bind of a statement names by its number.
    pub(crate) fn bound_cursor(&self, number: &Value) -> Option<Datum> {
        let number = number_of(number)?;
        let bound = self.bound_cursors.borrow();
        bound.iter().find(|(other, _)| *other == number).map(|(_, cursor)| cursor.clone())
    }

    /// Closes the nested cursors that have not been taken.
    #[inline]
    pub(crate) fn close_nested(&self, cx: &mut ExecCtx<'_>) {
        if !self.nested.borrow().is_empty() {
            for (_, cursor) in self.nested.take() {
                World { cx: cx.reborrow(), core: self }.close_cursor(cursor);
            }
        }
    }
}
