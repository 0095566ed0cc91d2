//! Rows of pipelined functions for SQL.

use crate::code::HostTypes;
use crate::compile::{PIPE_BIND, SubSym, SubTarget};
use crate::datum::Datum;
use crate::machine::Machine;
use crate::state::{Pipe, Plsql};
use crate::ty::{FieldAt, HostType, Ty};
use crate::world::World;
use std::sync::Arc;
use types::{Composite, DataType, Ora, Result, TypeId, Value};

impl<C: 'static> Plsql<C> {
    /// Begins a call of a pipelined function that [`Plsql::function`] returned. Returns the number of the call for
    /// [`Plsql::fetch_row`]. The function runs when the first row is fetched.
    ///
    /// # Errors
    /// ORA-06508, and those of the arguments.
    pub fn open_rows<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        handle: u64,
        args: &[Value],
        omitted: &[usize],
    ) -> Result<u64> {
        let sub = self.functions.borrow().get(handle as usize).cloned();
        let Some(sub) = sub.filter(|sub| sub.is_pipelined) else { return Err(Ora::new(6508)) };
        let SubTarget::External(e) = &sub.target else { return Err(Ora::new(6508)) };
        let given = self.given(w, &sub, args);
        let row = self.units.type_of_row(&sub).unwrap_or(TypeId(0));
        let mut machine = Machine::default();
        let start = if given.len() < sub.parameters.len() || !omitted.is_empty() {
            // PL/SQL evaluates defaults, so a block calls the function.
            let (call, mut types) = self.call_text(&sub, given.len(), omitted)?;
            types.push((PIPE_BIND.to_string(), HostType { data_type: DataType::Null, is_table: false }));
            let types: HostTypes = types.into();
            let block = self.compile_call(w, &sub, &call, &types)?;
            machine.binds = self.binds_of(&block, given);
            (block.unit.clone(), block.unit.main)
        } else {
            let unit = self.unit_to_run(w, &e.owner, &e.name)?;
            let proc = unit.exports.get(&(e.subprogram.clone(), e.overload)).copied();
            let proc = proc.ok_or_else(|| Ora::new(6508))?;
            if unit.package_slots > 0 {
                self.package_state(w, &unit)?;
            }
            machine.set_arguments(given);
            (unit, proc)
        };
        let pipe = Pipe { machine, start: Some(start), sub, row };
        let number = self.next_pipe.get();
        self.next_pipe.set(number + 1);
        self.pipes.borrow_mut().insert(number, pipe);
        Ok(number)
    }

    /// Fetches the next row of a call; false at its end.
    ///
    /// # Errors
    /// The error that the function raised, with ORA-06512 lines. The call has then ended.
    pub fn fetch_row<W: World<Cursor = C>>(&self, w: &mut W, pipe: u64, out: &mut Value) -> Result<bool> {
        self.validate(w);
        // The function may fetch rows of other calls, so no borrow lasts while it runs.
        let Some(mut running) = self.pipes.borrow_mut().remove(&pipe) else { return Err(Ora::new(1002)) };
        let start = running.start.take();
        let next = self.at_level(|| running.machine.next_row(self, w, start));
        self.close_left(w);
        let row = next?.map_err(|fault| fault.ora.without_position())?;
        let Some(row) = row else { return Ok(false) };
        *out = value_of(&running, row)?;
        self.pipes.borrow_mut().insert(pipe, running);
        Ok(true)
    }

    /// Ends a call before its last row.
    ///
    /// # Errors
    /// Those of the handler of NO_DATA_NEEDED.
    pub fn close_rows<W: World<Cursor = C>>(&self, w: &mut W, pipe: u64) -> Result<()> {
        let Some(mut running) = self.pipes.borrow_mut().remove(&pipe) else { return Ok(()) };
        let ended = self.at_level(|| running.machine.end_rows(self, w));
        drop(running);
        self.close_left(w);
        ended?.map_err(|fault| fault.ora.without_position())
    }

    /// All rows of a pipelined function as a collection.
    pub(super) fn all_rows<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        (handle, sub): (u64, &SubSym),
        args: &[Value],
        omitted: &[usize],
    ) -> Result<Value> {
        let ty = self.units.type_of_rows(sub).ok_or_else(|| Ora::new(902))?;
        let pipe = self.open_rows(w, handle, args, omitted)?;
        let mut parts = Vec::new();
        let mut row = Value::Null;
        while self.fetch_row(w, pipe, &mut row)? {
            if let Err(e) = w.check_cancel() {
                self.pipes.borrow_mut().remove(&pipe);
                return Err(e);
            }
            parts.push(std::mem::take(&mut row));
        }
        Ok(Value::Composite(Arc::new(Composite { ty, parts })))
    }
}

/// A row as a value of SQL.
fn value_of(pipe: &Pipe, row: Datum) -> Result<Value> {
    let element = match &pipe.sub.returns {
        Some(Ty::Coll(c)) => &c.element,
        _ => return Err(Ora::new(902)),
    };
    match (row, element) {
        (Datum::Val(mut value), _) => {
            value.make_content();
            Ok(value)
        }
        (Datum::Rec(record), Ty::Record(r)) => {
            let field = |at: &FieldAt| match at {
                FieldAt::Scalar(n) => record.scalars[*n as usize].content().clone(),
                FieldAt::Nested(_) => Value::Null,
            };
            let parts = r.fields.iter().map(|f| field(&f.at)).collect();
            Ok(Value::Composite(Arc::new(Composite { ty: pipe.row, parts })))
        }
        _ => Err(Ora::new(902)),
    }
}
