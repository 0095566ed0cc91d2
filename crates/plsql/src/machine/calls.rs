//! Entering and leaving frames: calls, returns, and faults on their way to a handler.

use super::fault::{Fault, Run};
use super::frames::{Counter, Frame, Machine};
use crate::code::{Compiled, Rights};
use crate::datum::Datum;
use crate::op::*;
use crate::world::World;
use std::rc::Rc;
use types::Ora;

/// Largest number of frames of a machine: beyond it ORA-06500.
const FRAMES_MAX: usize = 30_000;
/// Depth of recursion between two checks for cancellation and memory.
const FRAMES_BETWEEN_CHECKS: usize = 256;
/// Largest number of slots of a machine.
const SLOTS_MAX: usize = 4_000_000;

impl Machine {
    /// Enters a subprogram.
    pub(super) fn push<W: World>(
        &mut self,
        w: &mut W,
        unit: Rc<Compiled>,
        proc: u32,
        base: usize,
        link: usize,
    ) -> Run<()> {
        let told_as = unit.told_as[proc as usize];
        let proc = unit.procs[proc as usize].clone();
        if self.frames.len() >= FRAMES_MAX || self.stack.len() >= SLOTS_MAX {
            return Err(Ora::new(6500).into());
        }
        if self.frames.len() % FRAMES_BETWEEN_CHECKS == FRAMES_BETWEEN_CHECKS - 1 {
            w.check_cancel()?;
        }
        let needed = base + proc.slots as usize;
        if self.stack.len() < needed {
            self.stack.resize(needed, Datum::default());
        }
        let counters = self.frames.last().map_or(0, |f| f.counters + f.proc.counters as usize);
        let needed = counters + proc.counters as usize;
        if self.counters.len() < needed {
            self.counters.resize(needed, Counter::default());
        }
        // A recursive call was checked at the first entry.
        let is_within = self.frames.last().is_some_and(|f| Rc::ptr_eq(&f.unit, &unit));
        let entered = match &unit.rights {
            Rights::Definers(owner) => w.enter(owner),
            Rights::Invokers(owner) if !is_within => {
                w.check_inheritance(owner)?;
                false
            }
            Rights::Invokers(_) | Rights::Callers => false,
        };
        let handling = self.handling.len();
        let before = (told_as != 0).then(|| w.subprogram_entered(told_as));
        self.frames.push(Frame {
            unit,
            proc,
            pc: 0,
            base,
            counters,
            link,
            handling,
            entered,
            result_key: None,
            before,
            told_as,
            autonomous: false,
        });
        Ok(())
    }

    /// Leaves the top frame.
    pub(super) fn pop<W: World>(&mut self, w: &mut W) -> Frame {
        let f = self.frames.pop().expect("a frame to leave");
        if f.proc.cursors {
            self.release_cursors(w, &f);
        }
        self.handling.truncate(f.handling);
        if f.entered {
            w.leave();
        }
        if let Some(before) = f.before {
            w.subprogram_left(before);
        }
        f
    }

    /// Ends the autonomous transaction of the top frame, if one has begun. An error ends it, too.
    pub(super) fn end_autonomous<W: World>(&mut self, w: &mut W) -> Run<()> {
        let is_in_one = self.frames.last_mut().is_some_and(|f| std::mem::take(&mut f.autonomous));
        if is_in_one { Ok(w.autonomous_end()?) } else { Ok(()) }
    }

    /// Unwinds to the handler of a fault.
    #[cold]
    pub(super) fn unwind<W: World>(&mut self, w: &mut W, mut fault: Fault, floor: usize) -> Run<()> {
        let mut first = true;
        // A handler may hide the error, so it is reported here.
        if fault.ora.begin_report() {
            w.incident(&fault.ora);
        }
        // No handler stops the fault of a killed or interrupted session (invariant 9).
        let deadly = fault.ora.ends_call();
        while self.frames.len() > floor {
            let f = self.frames.last().expect("above the floor");
            let at = f.pc.saturating_sub(1);
            if self.is_in_forall()
                && !deadly
                && let Some(next) = saved_iteration(f, at)
            {
                let code = fault.ora.code();
                let iteration = self.forall.counts.len() as i64 + 1;
                self.forall.errors.push((iteration, code));
                self.forall.counts.push(0);
                self.frames.last_mut().expect("seen").pc = next;
                return Ok(());
            }
            // A handler here or further out is outside the FORALL.
            self.forall.active &= self.frames.len() > self.forall.frames;
            let f = self.frames.last().expect("above the floor");
            let name = f.unit.qualified();
            let line = f.proc.lines.get(at).copied().unwrap_or(1);
            let internal = f.unit.owner.is_empty() && !f.unit.name.is_empty();
            if !internal {
                fault.ora = fault.ora.at_line(&name, line);
            }
            if first {
                self.backtrace.clear();
                first = false;
            }
            let _ = std::fmt::Write::write_fmt(&mut self.backtrace, format_args!("{}\n", frame_line(&name, line)));
            let found = if deadly { None } else { find_handler(f, at as Label, &fault) };
            if let Some((label, depth)) = found {
                let keep = f.handling + depth as usize;
                self.handling.truncate(keep);
                self.handling.push(fault);
                self.frames.last_mut().expect("seen").pc = label as usize;
                return Ok(());
            }
            let f = self.pop(w);
            if f.autonomous {
                // An exception that leaves an autonomous transaction rolls it back.
                let _ = w.rollback();
                let _ = w.autonomous_end();
            }
            if let (Some(key), Some(def)) = (&f.result_key, &f.proc.result_cache) {
                w.function_result_abandon(&def.name, key);
            }
        }
        Err(fault)
    }

    /// Closes the cursors that only the slots of a frame still hold. The result and the parameters belong to the
    /// caller.
    fn release_cursors<W: World>(&mut self, w: &mut W, f: &Frame) {
        for slot in f.base + 1 + f.proc.parameters as usize..f.base + f.proc.slots as usize {
            self.release(w, slot);
        }
    }

    /// Closes the cursor that only a slot still holds.
    pub(super) fn release<W: World>(&mut self, w: &mut W, slot: usize) {
        if let Some(place @ Datum::Cur(Some(_))) = self.stack.get_mut(slot) {
            let held = std::mem::replace(place, Datum::Cur(None));
            if let Datum::Cur(Some(c)) = &held
                && Rc::strong_count(c) == 1
            {
                // Closing cannot fail here: the cursor is not in use.
                let _ = self.close(w, &held, false);
            }
        }
    }
}

fn frame_line(name: &str, line: u32) -> String {
    if name.is_empty() {
        format!("ORA-06512: at line {line}")
    } else {
        format!("ORA-06512: at \"{name}\", line {line}")
    }
}

/// The instruction after a failed statement at `at` in FORALL … SAVE EXCEPTIONS.
fn saved_iteration(f: &Frame, at: usize) -> Option<usize> {
    let n = f.proc.ops[at..].iter().position(|op| matches!(op, Op::ForAllStep { .. } | Op::ForAllEnd))?;
    match f.proc.ops[at + n] {
        Op::ForAllStep { save: true, from } if at >= from as usize => Some(at + n + 1),
        _ => None,
    }
}

/// The innermost guard around `at` that names the exception.
fn find_handler(f: &Frame, at: Label, fault: &Fault) -> Option<(Label, u32)> {
    for g in &f.proc.guards {
        if at < g.from || at >= g.to {
            continue;
        }
        for (wanted, label) in &g.handlers {
            let named = wanted.iter().any(|i| {
                let def = &f.unit.pool.exceptions[*i as usize];
                match def.code {
                    Some(code) => fault.identity == 0 && fault.ora.is(code),
                    None => fault.identity != 0 && fault.identity == def.identity,
                }
            });
            if named || wanted.is_empty() {
                return Some((*label, g.depth));
            }
        }
    }
    None
}
