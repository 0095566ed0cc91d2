//! Triggers: their check for DDL, and their runs.

use crate::compile::{CompiledTrigger, EVENT_PARAMETERS, compile_trigger};
use crate::datum::Datum;
use crate::errors::CompileError;
use crate::state::Plsql;
use crate::world::{StoredUnit, TriggerTable, World, as_owner};
use exec::TriggerRow;
use plan::{Firing, Trigger, TriggerEvent};
use sql::plsql::ast::UnitKind;
use std::rc::Rc;
use types::{ObjectId, Ora, Result, Value};

/// The result of compiling a trigger for DDL.
#[derive(Debug)]
pub struct CheckedTrigger {
    pub errors: Vec<CompileError>,
    /// The names of the columns of the new row that it reads and may assign, and of the old row that it reads.
    pub new_read: Vec<String>,
    pub new_assigned: Vec<String>,
    pub old_read: Vec<String>,
    /// The sections of a compound trigger, one bit each in the order of their execution.
    pub points: u8,
}

impl<C: 'static> Plsql<C> {
    /// Compiles a trigger without storing it; `table` is 0 for one on a schema or the database. `source` begins at the
    /// word TRIGGER.
    ///
    /// # Errors
    /// Those with which CREATE TRIGGER fails, and those of the dictionary.
    pub fn check_trigger<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        owner: &str,
        source: &str,
        settings: Rc<[(String, String)]>,
        table: u32,
    ) -> Result<CheckedTrigger> {
        self.validate(w);
        let table = match ObjectId(table) {
            dictionary::NO_BASE => TriggerTable::default(),
            ObjectId(table) => w.trigger_table(table)?.ok_or_else(|| Ora::new(942))?,
        };
        let name = sql::plsql::parse_trigger_header(source)?.name.name;
        let (owner, source, kind) = (owner.to_string(), source.to_string(), UnitKind::Trigger);
        let unit = StoredUnit { owner, name, kind, source, settings };
        let owner = &unit.owner;
        let made = as_owner(w, owner, |w| compile_trigger(w, &self.units, &unit, &table));
        let CompiledTrigger { unit: _, errors, refused, new_read, new_assigned, old_read, points } = made;
        match refused {
            Some(refused) => Err(refused),
            None => Ok(CheckedTrigger { errors, new_read, new_assigned, old_read, points }),
        }
    }

    /// Whether the stored trigger with that number has no errors; `None` when that is unknown.
    pub fn trigger_compiles<W: World<Cursor = C>>(&self, w: &mut W, number: u32) -> Option<bool> {
        self.validate(w);
        self.units.trigger(w, number).ok().map(|unit| unit.is_some())
    }

    /// Runs a trigger. `row` is the row of a trigger for each row.
    ///
    /// # Errors
    /// The exception that was not handled, with ORA-06512 lines and ORA-04088; ORA-04098 for a trigger with errors.
    pub fn fire<W: World<Cursor = C>>(
        &self,
        w: &mut W,
        trigger: &Trigger,
        firing: &Firing,
        row: Option<&mut TriggerRow<'_>>,
    ) -> Result<()> {
        self.validate(w);
        if let Some(section) = trigger.section {
            return self.fire_section(w, (trigger, section), firing, row);
        }
        let invalid = || Ora::with(4098, &[&trigger.owner, &trigger.name]);
        let unit = self.units.trigger(w, trigger.object.0)?.ok_or_else(invalid)?;
        let mut args = self.take_args();
        args.clear();
        let is = |event: TriggerEvent| Datum::Val(Value::Boolean(firing.event == event));
        args.extend([is(TriggerEvent::Insert), is(TriggerEvent::Update), is(TriggerEvent::Delete)]);
        args.push(Datum::Val(if unit.asks_columns { Value::text(firing.updated.as_str()) } else { Value::Null }));
        let result = match row {
            None => self.on_machine(|m| m.call_with(self, w, unit, 0, &mut args)),
            Some(row) => {
                // A unit that the trigger calls may assign its argument since it was replaced.
                let is_expected = unit.rows.iter().all(|used| !used.is_written || row.may_assign(used.column));
                if !is_expected {
                    return Err(invalid());
                }
                args.extend(unit.rows.iter().map(|used| Datum::Val(row.take(used.of, used.column))));
                let result = self.on_machine(|m| m.call_with(self, w, unit.clone(), 0, &mut args));
                if let Ok(Ok(())) = result {
                    let columns = args.drain(EVENT_PARAMETERS as usize..);
                    for (used, value) in unit.rows.iter().zip(columns) {
                        if let Datum::Val(mut value) = value {
                            value.make_content();
                            row.put(used.of, used.column, value);
                        }
                    }
                }
                result
            }
        };
        args.clear();
        self.give_args(args);
        self.close_left(w);
        let failed = |e: Ora| e.without_position().because(Ora::with(4088, &[&trigger.owner, &trigger.name]));
        result.and_then(|ran| ran.map_err(|fault| fault.ora)).map_err(failed)
    }

    /// Runs a trigger on a schema or the database.
    ///
    /// # Errors
    /// ORA-04088 above ORA-00604 and the exception that was not handled; ORA-04098 for a trigger with errors.
    pub fn fire_event<W: World<Cursor = C>>(&self, w: &mut W, trigger: &Trigger) -> Result<()> {
        self.validate(w);
        let invalid = || Ora::with(4098, &[&trigger.owner, &trigger.name]);
        let unit = self.units.trigger(w, trigger.object.0)?.ok_or_else(invalid)?;
        let mut args = self.take_args();
        args.clear();
        args.extend((0..3).map(|_| Datum::Val(Value::Boolean(false))));
        args.push(Datum::Val(Value::Null));
        let result = self.on_machine(|m| m.call_with(self, w, unit, 0, &mut args));
        args.clear();
        self.give_args(args);
        self.close_left(w);
        let unit = format!("{}.{}", trigger.owner, trigger.name);
        let failed = |e: Ora| {
            let inner = Ora::with(604, &[&1]).because(e.without_position().without_unit(&unit));
            Ora::with(4088, &[&trigger.owner, &trigger.name]).because(inner)
        };
        result.and_then(|ran| ran.map_err(|fault| fault.ora)).map_err(|e| if e.ends_call() { e } else { failed(e) })
    }
}
