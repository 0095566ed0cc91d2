//! Pipelined functions: a machine that stops at each PIPE ROW until the next row is wanted.
//!
//! The machine belongs to one call of one function, so its frames stay as they are while it is stopped. Only the
//! identities of the frames are left, because the query that wants the rows has another one.

use super::fault::{Fault, Run};
use super::frames::Machine;
use super::run::{End, not_piped};
use crate::code::{Compiled, Rights};
use crate::datum::Datum;
use crate::state::Plsql;
use crate::world::World;
use std::rc::Rc;
use types::Ora;

impl Machine {
    /// Puts the arguments of the call into the empty machine.
    pub(crate) fn set_arguments(&mut self, args: Vec<Datum>) {
        self.stack.clear();
        self.stack.push(Datum::default());
        self.stack.extend(args);
    }

    /// Runs to the next PIPE ROW; `None` at the end of the function. `start` is the call, if it has not begun.
    pub(crate) fn next_row<W: World>(
        &mut self,
        s: &Plsql<W::Cursor>,
        w: &mut W,
        start: Option<(Rc<Compiled>, u32)>,
    ) -> Run<Option<Datum>> {
        match start {
            Some((unit, proc)) => self.push(w, unit, proc, 0, 0)?,
            None if self.frames.is_empty() => return Ok(None),
            None => self.resume(w)?,
        }
        match self.run(s, w, 0)? {
            End::Returned => Ok(None),
            End::Piped(row) => {
                self.suspend(w);
                Ok(Some(row))
            }
        }
    }

    /// Ends a call whose further rows are not wanted: the stopped PIPE ROW raises NO_DATA_NEEDED. A handler runs to its
    /// end, or to the next PIPE ROW.
    pub(crate) fn end_rows<W: World>(&mut self, s: &Plsql<W::Cursor>, w: &mut W) -> Run<()> {
        if self.frames.is_empty() {
            return Ok(());
        }
        self.resume(w)?;
        let ended = match self.unwind(w, Fault::from(Ora::new(6548)), 0) {
            Ok(()) => self.run(s, w, 0).map(|_| ()),
            Err(fault) if fault.ora.is(6548) => Ok(()),
            Err(fault) => Err(fault),
        };
        // Frames are left after a PIPE ROW in the handler, which has ended an autonomous transaction.
        while !self.frames.is_empty() {
            self.pop(w);
        }
        ended
    }

    /// Runs a subprogram nested in the only frame, which waits, in the frame's slots.
    pub(crate) fn run_nested<W: World>(&mut self, s: &Plsql<W::Cursor>, w: &mut W, proc: u32) -> Run<()> {
        let Some(frame) = self.frames.first() else { return Err(Ora::new(6508).into()) };
        let (unit, base) = (frame.unit.clone(), frame.proc.slots as usize);
        self.resume(w)?;
        self.forget_implicit();
        let ran = match self.push(w, unit, proc, base, 0) {
            Ok(()) => self.run(s, w, 1).and_then(not_piped),
            Err(fault) => Err(fault),
        };
        self.suspend(w);
        ran
    }

    /// The content of a slot of the waiting frame.
    pub(crate) fn waiting_slot(&mut self, slot: u32) -> Option<&mut Datum> {
        self.stack.get_mut(slot as usize)
    }

    /// Leaves the waiting frames.
    pub(crate) fn abandon<W: World>(&mut self, w: &mut W) {
        if !self.frames.is_empty() && self.resume(w).is_ok() {
            while !self.frames.is_empty() {
                self.pop(w);
            }
        }
    }

    /// Leaves the identities of the frames, innermost first.
    fn suspend<W: World>(&mut self, w: &mut W) {
        for f in self.frames.iter_mut().rev() {
            if std::mem::take(&mut f.entered) {
                w.leave();
            }
            if let Some(before) = f.before.take() {
                w.subprogram_left(before);
            }
        }
    }

    /// Enters the identities of the frames again.
    fn resume<W: World>(&mut self, w: &mut W) -> Run<()> {
        for f in &mut self.frames {
            if let Rights::Definers(owner) = &f.unit.rights {
                f.entered = w.enter(owner);
            }
            f.before = (f.told_as != 0).then(|| w.subprogram_entered(f.told_as));
        }
        // An autonomous function has ended its transaction before the row.
        if let Some(f) = self.frames.last_mut().filter(|f| f.proc.autonomous) {
            w.autonomous_begin()?;
            f.autonomous = true;
        }
        Ok(())
    }
}
