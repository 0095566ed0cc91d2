//! Triggers.
//!
//! A simple trigger is compiled to one subprogram. Its parameters are the event and the used columns of the rows; the
//! machine gives the columns of the new row back. The sections of a compound trigger are subprograms nested in one that
//! has these parameters.

use super::compiler::{Compiler, FnState};
use super::conditional::{Inquiries, selected};
use super::rows::{EVENT_PARAMETERS, UPDATED};
use super::scope::{Access, Loc, Rows, Scope, Symbol, Var};
use super::units::Units;
use crate::code::{Compiled, RowUse};
use crate::errors::{CompileError, parse_error};
use crate::op::{Op, Proc};
use crate::ty::Ty;
use crate::world::{StoredUnit, TriggerTable, World};
use exec::RowOf;
use sql::plsql::ast::{self, Pos, TimingPoint, TriggerEvent, TriggerHeader, TriggerTiming, Unit};
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
    pub points: u8,
}

impl CompiledTrigger {
    fn failed(errors: Vec<CompileError>) -> CompiledTrigger {
        let (new_read, new_assigned, old_read) = Default::default();
        CompiledTrigger { unit: None, errors, refused: None, new_read, new_assigned, old_read, points: 0 }
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
    let inquiries = Inquiries::of_unit(unit);
    let trigger = match selected(w, units, &inquiries, text).and_then(|text| sql::plsql::parse_unit(&text)) {
        Ok(Unit::Trigger(trigger)) => trigger,
        // not a clause: the text of another unit
        Ok(_) => return CompiledTrigger::failed(Vec::new()),
        Err(e) => return unparsed(text, table, &e),
    };
    let ast::Trigger { header, block, sections } = &*trigger;
    let w = RefCell::new(w);
    let mut c = Compiler::new(&w, units, &unit.owner, &unit.name, text);
    c.inquiries = inquiries;
    c.lines = lines_from(header, text);
    c.rows = Some(rows_of(header, text, table));
    let exports = match header.timing {
        TriggerTiming::Compound => c.compound(header, block, sections),
        TriggerTiming::Before | TriggerTiming::After | TriggerTiming::InsteadOf => {
            c.trigger(header, block);
            HashMap::new()
        }
    };
    let points = sections.iter().fold(0, |all, section| all | 1 << section.point as u8);
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
        let mut compiled = c.into_compiled(text, 0, exports);
        compiled.rows = rows.uses;
        compiled.asks_columns = rows.asks_columns;
        compiled
    });
    CompiledTrigger { unit: compiled, errors, refused: rows.refused, new_read, new_assigned, old_read, points }
}

/// A trigger whose body cannot be parsed: it may assign every column that its text names.
fn unparsed(text: &str, table: &TriggerTable, error: &Ora) -> CompiledTrigger {
    let mut failed = CompiledTrigger::failed(vec![parse_error(text, error)]);
    if let Ok(header) = sql::plsql::parse_trigger_header(text) {
        count_from_body(&mut failed.errors, &header, text);
        // Its sections are unknown, so it is fired at all times.
        failed.points = if header.timing == TriggerTiming::Compound { 15 } else { 0 };
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
        exist: header.for_each_row || matches!(header.timing, TriggerTiming::InsteadOf | TriggerTiming::Compound),
        may_assign: matches!(header.timing, TriggerTiming::Before | TriggerTiming::Compound) && has_new,
        columns: table.columns.clone(),
        uses: Vec::new(),
        outside: false,
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
    /// Begins the code of a trigger: its parameters, which are those of its events and of the used columns. Returns
    /// their number.
    fn begin_trigger(&mut self, header: &TriggerHeader) -> u32 {
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
                TriggerEvent::Insert | TriggerEvent::Delete | TriggerEvent::System(_) => &[],
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
        parameters
    }

    /// The condition of WHEN, with the jumps that are taken unless it is true.
    fn when(&mut self, header: &TriggerHeader) -> Vec<usize> {
        let Some(ast::When { condition, span: _, pos }) = &header.when else { return Vec::new() };
        self.set_pos(*pos);
        self.set_in_when(true);
        let jumps = self.jump_unless(condition);
        self.set_in_when(false);
        jumps.unwrap_or_else(|e| {
            self.note(e, *pos, "SQL Statement");
            Vec::new()
        })
    }

    fn trigger(&mut self, header: &TriggerHeader, block: &ast::Block) {
        let parameters = self.begin_trigger(header);
        let unless = self.when(header);
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

    /// Compiles a compound trigger. Its frame, which has the declarations, stops before its end and waits for the
    /// sections, which are subprograms nested in it; the parameters are in the frame, too. Returns the subprograms by
    /// the names of the sections.
    fn compound(
        &mut self,
        header: &TriggerHeader,
        block: &ast::Block,
        sections: &[ast::TriggerSection],
    ) -> HashMap<(String, u32), u32> {
        let parameters = self.begin_trigger(header);
        let ast::Block { labels: _, declarations, body: end, pos } = block;
        self.set_pos(*pos);
        self.scopes.push(Scope { labels: vec![self.unit.clone()], ..Scope::default() });
        self.set_outside(true);
        self.declarations(declarations);
        self.check_forward(end);
        if self.f.autonomous {
            self.refuse_autonomous(*pos);
        }
        let s = self.null();
        self.emit(Op::PipeRow { s });
        self.emit(Op::Return);
        let mut exports = HashMap::new();
        for section in sections {
            let number = self.procs.len() as u32;
            self.procs.push(None);
            let code = self.section(header, section);
            self.procs[number as usize] = Some(Rc::new(code));
            exports.insert((section.point.name().to_string(), 1), number);
        }
        self.scopes.pop();
        self.set_outside(false);
        let has_new = header.events.iter().any(|event| *event != TriggerEvent::Delete);
        let assigns = sections.iter().any(|section| section.point == TimingPoint::BeforeRow) && has_new;
        self.set_may_assign(assigns);
        let main = self.finish(FnState::new("", 0), parameters);
        self.procs[0] = Some(Rc::new(main));
        exports
    }

    fn section(&mut self, header: &TriggerHeader, section: &ast::TriggerSection) -> Proc {
        let ast::TriggerSection { point, declarations, body, pos } = section;
        let outer = std::mem::replace(&mut self.f, FnState::new(&self.unit.clone(), 1));
        let has_new = header.events.iter().any(|event| *event != TriggerEvent::Delete);
        self.set_outside(!point.is_of_row());
        self.set_may_assign(*point == TimingPoint::BeforeRow && has_new);
        let unless = if point.is_of_row() { self.when(header) } else { Vec::new() };
        self.set_pos(*pos);
        self.scopes.push(Scope::default());
        self.declarations(declarations);
        if self.f.autonomous {
            self.refuse_autonomous(*pos);
        }
        self.body(body);
        self.check_forward(body);
        self.set_pos(body.end_pos);
        unless.into_iter().for_each(|jump| self.patch(jump));
        self.emit(Op::Return);
        self.scopes.pop();
        self.resolve_gotos();
        self.set_outside(true);
        self.finish(outer, 0)
    }

    fn refuse_autonomous(&mut self, pos: Pos) {
        let error = self.pls(710, &[&"AUTONOMOUS_TRANSACTION"], pos);
        self.note(error, pos, "Item");
    }

    fn set_outside(&mut self, outside: bool) {
        if let Some(rows) = &mut self.rows {
            rows.outside = outside;
        }
    }

    fn set_may_assign(&mut self, may_assign: bool) {
        if let Some(rows) = &mut self.rows {
            rows.may_assign = may_assign;
        }
    }

    fn set_in_when(&mut self, in_when: bool) {
        if let Some(rows) = &mut self.rows {
            rows.in_when = in_when;
        }
    }
}
