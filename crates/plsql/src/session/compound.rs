//! Compound triggers.
//!
//! The variables of a compound trigger live as long as the statement that fires it. They are the slots of a frame that
//! waits between the sections (`compile::trigger`). A statement is known by the trigger, the event, and the depth of
//! SQL and PL/SQL at which it runs. Statements of one depth follow one another, except those of ON DELETE CASCADE,
//! which run within the DELETE: each begins with BEFORE STATEMENT, and the last one that has begun is the one that goes
//! on.
//! The variables of a statement that fails are dropped when its caller gets the error.

use crate::code::Compiled;
use crate::compile::EVENT_PARAMETERS;
use crate::datum::Datum;
use crate::machine::Machine;
use crate::state::{Compound, Plsql};
use crate::world::World;
use exec::TriggerRow;
use plan::{Firing, Section, Trigger, TriggerEvent};
use std::rc::Rc;
use types::{Ora, Result, Value};

impl<C: 'static> Plsql<C> {
    /// Runs a section of a compound trigger, if the trigger has it.
    ///
    /// # Errors
    /// As [`Plsql::fire`].
    pub(super) fn fire_section<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        (trigger, section): (&Trigger, Section),
        firing: &Firing,
        row: Option<&mut TriggerRow<'_>>,
    ) -> Result<()> {
        let key = (trigger.object.0, self.depth(), firing.event as u8);
        let known = match section {
            Section::BeforeStatement => None,
            _ => self.compounds.borrow_mut().get_mut(&key).and_then(Vec::pop),
        };
        let mut state = match known {
            Some(state) => state,
            None => self.begin_compound(w, trigger, firing)?,
        };
        let ran = self.run_section(w, (trigger, section), &mut state, row);
        if ran.is_ok() && section != Section::AfterStatement {
            self.compounds.borrow_mut().entry(key).or_default().push(state);
        } else {
            state.machine.abandon(w);
        }
        self.close_left(w);
        ran
    }

    /// Drops the variables of failed statements: those of the running unit, and of units that it has called.
    pub(crate) fn drop_compounds(&self) {
        let mut compounds = self.compounds.borrow_mut();
        if !compounds.is_empty() {
            compounds.retain(|(_, depth, _), _| *depth < self.depth());
        }
    }

    fn run_section<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        (trigger, section): (&Trigger, Section),
        state: &mut Compound,
        row: Option<&mut TriggerRow<'_>>,
    ) -> Result<()> {
        let unit = Rc::clone(&state.unit);
        let Some(proc) = unit.exports.get(&(section.name().to_string(), 1)).copied() else { return Ok(()) };
        let slots = EVENT_PARAMETERS + 1..;
        if let Some(row) = &row {
            let is_expected = unit.rows.iter().all(|used| !used.is_written || row.may_assign(used.column));
            if section == Section::BeforeRow && !is_expected {
                return Err(Ora::with(4098, &[&trigger.owner, &trigger.name]));
            }
        }
        let mut row = row;
        if let Some(row) = &mut row {
            for (slot, used) in slots.clone().zip(&unit.rows) {
                let value = row.take(used.of, used.column);
                if let Some(place) = state.machine.waiting_slot(slot) {
                    *place = Datum::Val(value);
                }
            }
        }
        let ran = self.at_level(|| state.machine.run_nested(self, w, proc))?;
        if let Some(row) = row.filter(|_| ran.is_ok()) {
            for (slot, used) in slots.zip(&unit.rows) {
                if let Some(Datum::Val(value)) = state.machine.waiting_slot(slot) {
                    let mut value = std::mem::take(value);
                    value.make_content();
                    row.put(used.of, used.column, value);
                }
            }
        }
        ran.map_err(|fault| failed(trigger, fault.ora))
    }

    /// Makes the variables of a compound trigger for a statement.
    fn begin_compound<W: World<Cursor = C>>(&self, w: &mut W, trigger: &Trigger, firing: &Firing) -> Result<Compound> {
        let invalid = || Ora::with(4098, &[&trigger.owner, &trigger.name]);
        let unit: Rc<Compiled> = self.units.trigger(w, trigger.object.0)?.ok_or_else(invalid)?;
        let is = |event: TriggerEvent| Datum::Val(Value::Boolean(firing.event == event));
        let updated = if unit.asks_columns { Value::text(firing.updated.as_str()) } else { Value::Null };
        let mut args = vec![is(TriggerEvent::Insert), is(TriggerEvent::Update), is(TriggerEvent::Delete)];
        args.push(Datum::Val(updated));
        args.extend(unit.rows.iter().map(|_| Datum::default()));
        let mut machine = Machine::default();
        machine.set_arguments(args);
        let start = Some((Rc::clone(&unit), unit.main));
        let begun = self.at_level(|| machine.next_row(self, w, start))?;
        begun.map_err(|fault| failed(trigger, fault.ora))?;
        Ok(Compound { machine, unit })
    }
}

fn failed(trigger: &Trigger, error: Ora) -> Ora {
    error.without_position().because(Ora::with(4088, &[&trigger.owner, &trigger.name]))
}
