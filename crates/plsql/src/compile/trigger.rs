//! Triggers.
//!
//! A trigger is compiled to one subprogram. Its parameters are the event and the used columns of the rows; the machine
//! gives the columns of the new row back.

use super::compiler::{Compiler, FnState};
use super::rows::{EVENT_PARAMETERS, UPDATED};
use super::scope::{Access, Loc, Rows, Scope, Symbol, Var};
use super::units::Units;
use crate::code::{Compiled, RowUse};
use crate::errors::{CompileError, parse_error};
use crate::op::Op;
use crate::ty::Ty;
use crate::world::{StoredUnit, TriggerTable, World};
use exec::RowOf;
use sql::plsql::ast::{self, TriggerEvent, TriggerHeader, TriggerTiming, Unit};
use sql::plsql::line_column;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use types::Ora;

/// The result of compiling a trigger.
pub(crate) struct CompiledTrigger {
    pub unit: Option<Compiled>,
    pub errors: Vec<CompileError>,
    /// An error with which CREATE TRIGGER fails.
    pub refused: Option<Ora>,
    /// The names of the columns of the new row that it reads and may assign, and of the old row that it reads.
    pub new_read: Vec<String>,
    pub new_assigned: Vec<String>,
    pub old_read: Vec<String>,
}

impl CompiledTrigger {
    fn failed(errors: Vec<CompileError>) -> CompiledTrigger {
        let (new_read, new_assigned, old_read) = Default::default();
        CompiledTrigger { unit: None, errors, refused: None, new_read, new_assigned, old_read }
    }
}

/// Compiles a trigger on a table.
pub(crate) fn compile_trigger<W: World>(
    w: &mut W,
    units: &Units,
    unit: &StoredUnit,
    table: &TriggerTable,
) -> CompiledTrigger {
    let text = unit.source.as_str();
    let trigger = match sql::plsql::parse_unit(text) {
        Ok(Unit::Trigger(trigger)) => trigger,
        // not a clause: the text of another unit
        Ok(_) => return CompiledTrigger::failed(Vec::new()),
        Err(e) => return unparsed(text, table, &e),
    };
    let ast::Trigger { header, block } = &*trigger;
    let w = RefCell::new(w);
    let mut c = Compiler::new(&w, units, &unit.owner, &unit.name, text);
    c.lines = lines_from(header, text);
    c.rows = Some(rows_of(header, text, table));
    c.trigger(header, block);
    let mut errors = c.errors();
    count_from_body(&mut errors, header, text);
    let rows = c.rows.take().expect("set above");
    let name = |column: u16| table.columns.iter().find(|c| c.position == column).map(|c| c.name.clone());
    let named = |of: RowOf, read: bool| -> Vec<String> {
        let is_used = |used: &RowUse| if read { used.is_read } else { used.is_written || used.is_passed };
        let used = rows.uses.iter().filter(|used| used.of == of && is_used(used));
        used.filter_map(|used| name(used.column)).collect()
    };
    // A trigger with errors may compile later, when the columns that it assigns are not noted again.
    let new_assigned = match errors.is_empty() {
        true => named(RowOf::New, false),
        false if !rows.may_assign => Vec::new(),
        false => rows.uses.iter().filter(|used| used.of == RowOf::New).filter_map(|used| name(used.column)).collect(),
    };
    let (new_read, old_read) = (named(RowOf::New, true), named(RowOf::Old, true));
    let compiled = errors.is_empty().then(|| {
        let mut compiled = c.into_compiled(text, 0, HashMap::new());
        compiled.rows = rows.uses;
        compiled.asks_columns = rows.asks_columns;
        compiled
    });
    CompiledTrigger { unit: compiled, errors, refused: rows.refused, new_read, new_assigned, old_read }
}

/// A trigger whose body cannot be parsed: it may assign every column that its text names.
fn unparsed(text: &str, table: &TriggerTable, error: &Ora) -> CompiledTrigger {
    let mut failed = CompiledTrigger::failed(vec![parse_error(text, error)]);
    if let Ok(header) = sql::plsql::parse_trigger_header(text) {
        count_from_body(&mut failed.errors, &header, text);
        let rows = rows_of(&header, text, table);
        let used = rows.uses.iter().filter(|used| used.of == RowOf::New && rows.may_assign);
        let columns = used.filter_map(|used| table.columns.iter().find(|c| c.position == used.column));
        failed.new_assigned = columns.map(|column| column.name.clone()).collect();
    }
    failed
}

/// The starts of the lines for the numbers in errors at run time. As in Oracle, the body begins in line 1, with the
/// header before it.
fn lines_from(header: &TriggerHeader, text: &str) -> Vec<u32> {
    let starts = text.match_indices('\n').map(|(at, _)| at as u32 + 1);
    std::iter::once(0).chain(starts.filter(|start| *start > header.action)).collect()
}

/// Changes the line numbers of errors to those in [`lines_from`].
fn count_from_body(errors: &mut [CompileError], header: &TriggerHeader, text: &str) {
    let (first, _) = line_column(text, header.action);
    errors.iter_mut().for_each(|error| error.line = (error.line + 1).saturating_sub(first).max(1));
}

fn rows_of(header: &TriggerHeader, text: &str, table: &TriggerTable) -> Rows {
    let has_new = header.events.iter().any(|event| *event != TriggerEvent::Delete);
    let mut rows = Rows {
        old_alias: header.old_alias.clone(),
        new_alias: header.new_alias.clone(),
        exist: header.for_each_row || header.timing == TriggerTiming::InsteadOf,
        may_assign: header.timing == TriggerTiming::Before && has_new,
        columns: table.columns.clone(),
        uses: Vec::new(),
        in_when: false,
        asks_columns: false,
        refused: None,
    };
    if rows.exist {
        rows.note_uses(text);
    }
    rows
}

impl<W: World> Compiler<'_, W> {
    fn trigger(&mut self, header: &TriggerHeader, block: &ast::Block) {
        self.procs.push(None);
        self.f = FnState::new(&self.unit.clone(), 0);
        let columns = self.rows.as_ref().map_or(0, |rows| rows.uses.len()) as u32;
        let parameters = EVENT_PARAMETERS + columns;
        let first = self.slots(parameters);
        let events = [("INSERTING", Ty::BOOLEAN), ("UPDATING", Ty::BOOLEAN), ("DELETING", Ty::BOOLEAN)];
        for (slot, (name, ty)) in (first..).zip(events.into_iter().chain([(UPDATED, Ty::TEXT)])) {
            let var = Var { loc: Loc::Frame { level: 0, slot }, ty, access: Access::In };
            self.scopes[0].names.insert(name.to_string(), Symbol::Var(var));
        }
        for event in &header.events {
            let columns = match event {
                TriggerEvent::Update(columns) => columns.as_slice(),
                TriggerEvent::Insert | TriggerEvent::Delete => &[],
            };
            for column in columns {
                let is_there =
                    self.rows.as_ref().is_some_and(|rows| rows.columns.iter().any(|c| c.name == column.name));
                if !is_there {
                    // The column was renamed or dropped.
                    let error = Ora::with(904, &[&format_args!("\"{}\"", column.name)]).at(column.pos);
                    self.note(error, column.pos, "SQL Statement");
                }
            }
        }
        let mut unless = Vec::new();
        if let Some(ast::When { condition, span: _, pos }) = &header.when {
            self.set_pos(*pos);
            self.set_in_when(true);
            match self.jump_unless(condition) {
                Ok(jumps) => unless = jumps,
                Err(e) => self.note(e, *pos, "SQL Statement"),
            }
            self.set_in_when(false);
        }
        let ast::Block { labels, declarations, body, pos } = block;
        self.set_pos(*pos);
        let labels = labels.iter().map(|label| label.name.clone()).collect();
        self.scopes.push(Scope { labels, ..Scope::default() });
        self.declarations(declarations);
        if self.f.autonomous {
            self.emit(Op::Autonomous { begin: true });
        }
        self.body(body);
        self.check_forward(body);
        self.set_pos(body.end_pos);
        self.emit(Op::Return);
        if !unless.is_empty() {
            unless.into_iter().for_each(|jump| self.patch(jump));
            if self.f.autonomous {
                // The return ends an autonomous transaction.
                self.emit(Op::Autonomous { begin: true });
            }
            self.emit(Op::Return);
        }
        self.scopes.pop();
        self.resolve_gotos();
        let main = self.finish(FnState::new("", 0), parameters);
        self.procs[0] = Some(Rc::new(main));
    }

    fn set_in_when(&mut self, in_when: bool) {
        if let Some(rows) = &mut self.rows {
            rows.in_when = in_when;
        }
    }
}
