//! The compiler of one unit: its state, and the writing of code.

use super::conditional::Inquiries;
use super::scope::{Accessor, Loc, Rows, Scope, SubSym};
use super::units::Units;
use crate::datum::Datum;
use crate::errors::CompileError;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{AuthId, Pos, UnitKind};
use sql::plsql::{StaticValue, line_column};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use types::{DataType, Facility, ObjectId, Ora, TypeId, Value};

pub(super) type CResult<T> = Result<T, Ora>;

/// An operand with its type.
#[derive(Clone, Debug)]
pub(super) struct Val {
    pub o: Opd,
    pub ty: Ty,
}

/// An error of the unit, and the line about the statement skipped because of it.
pub(super) struct Problem {
    pub(super) pos: Pos,
    pub(super) text: String,
}

/// A loop being compiled.
pub(super) struct LoopCtx {
    pub(super) label: Option<String>,
    /// Jumps to patch to the loop's end and to its next iteration.
    pub(super) exits: Vec<usize>,
    pub(super) continues: Vec<usize>,
    pub(super) handlers: u32,
    /// The cursor to close when the loop is left early.
    pub(super) cursor: Option<Opd>,
}

pub(super) struct GotoLabel {
    pub(super) name: String,
    pub(super) at: Label,
    pub(super) block: usize,
    pub(super) handlers: u32,
}

pub(super) struct GotoJump {
    pub(super) name: String,
    pub(super) op: usize,
    pub(super) blocks: Vec<usize>,
    pub(super) handlers: u32,
    pub(super) pos: Pos,
}

/// The subprogram being compiled.
pub(super) struct FnState {
    pub(super) name: String,
    pub(super) level: u32,
    pub(super) ops: Vec<Op>,
    pub(super) lines: Vec<u32>,
    pub(super) guards: Vec<Guard>,
    pub(super) next: u32,
    pub(super) high: u32,
    pub(super) counters: u32,
    pub(super) counters_high: u32,
    pub(super) loops: Vec<LoopCtx>,
    pub(super) handlers: u32,
    /// `None` in a procedure or block.
    pub(super) returns: Option<Ty>,
    pub(super) function: bool,
    /// RETURN without a value returns SELF.
    pub(super) is_constructor: bool,
    /// The type of the rows of a pipelined function.
    pub(super) pipes: Option<Ty>,
    pub(super) labels: Vec<GotoLabel>,
    pub(super) gotos: Vec<GotoJump>,
    pub(super) blocks: Vec<usize>,
    pub(super) block_count: usize,
    pub(super) autonomous: bool,
    /// Cursors may be left open in its slots.
    pub(super) cursors: bool,
    /// Whether declared variables belong to the package's state.
    pub(super) package: bool,
    pub(super) result_cache: Option<Box<ResultCacheDef>>,
}

impl FnState {
    pub(super) fn new(name: &str, level: u32) -> FnState {
        FnState {
            name: name.to_string(),
            level,
            ops: Vec::new(),
            lines: Vec::new(),
            guards: Vec::new(),
            next: 1,
            high: 1,
            counters: 0,
            counters_high: 0,
            loops: Vec::new(),
            handlers: 0,
            returns: None,
            function: false,
            is_constructor: false,
            pipes: None,
            labels: Vec::new(),
            gotos: Vec::new(),
            blocks: Vec::new(),
            block_count: 0,
            autonomous: false,
            cursors: false,
            package: false,
            result_cache: None,
        }
    }
}

/// The compiler of one unit.
pub(super) struct Compiler<'a, W: World> {
    /// Shared: while the SQL compiler works on a static statement, it calls the world for functions and this compiler
    /// for variables.
    pub(super) w: &'a RefCell<&'a mut W>,
    pub(super) units: &'a Units,
    pub(super) text: &'a str,
    pub(super) owner: String,
    /// The unit's name; empty for an anonymous block.
    pub(super) unit: String,
    pub(super) authid: AuthId,
    /// The values of `$$name`.
    pub(super) inquiries: Inquiries,
    pub(super) pool: Pool,
    pub(super) consts: HashMap<String, u32>,
    pub(super) procs: Vec<Option<Rc<Proc>>>,
    pub(super) scopes: Vec<Scope>,
    pub(super) f: FnState,
    pub(super) line: u32,
    pub(super) lines: Vec<u32>,
    pub(super) problems: Vec<Problem>,
    /// Host binds of an anonymous block.
    pub(super) binds: sql::Names,
    /// The block calls a pipelined function for its rows.
    pub(super) calls_pipelined: bool,
    /// Their types, if known.
    pub(super) bind_types: HashMap<String, Ty>,
    pub(super) package_slots: u32,
    /// [`crate::code::Compiled::layout`] and [`crate::code::Compiled::shown`].
    pub(super) layout: u64,
    pub(super) shown: u64,
    /// The package has other state than constants with values known at compile time.
    pub(super) has_state: bool,
    pub(super) exception_count: u64,
    /// The objects that the unit's static statements read.
    pub(super) depends: Vec<ObjectId>,
    /// Units whose functions they call.
    pub(super) calls: Vec<(String, String)>,
    /// The number of compiled statements and expressions.
    pub(super) compiled: u32,
    /// The object type whose methods are compiled.
    pub(super) object: Option<TypeId>,
    /// The next subprogram is a constructor.
    pub(super) is_constructor: bool,
    /// The rows of a trigger.
    pub(super) rows: Option<Rows>,
    /// The chosen overloads of calls, by the address of the arguments and the position of the name in the text.
    pub(super) chosen: HashMap<(usize, Pos), Rc<SubSym>>,
}

/// Largest number of statements and expressions in one unit.
const COMPILED_MAX: u32 = 2_000_000;

impl<'a, W: World> Compiler<'a, W> {
    pub(super) fn new(
        w: &'a RefCell<&'a mut W>,
        units: &'a Units,
        owner: &str,
        unit: &str,
        text: &'a str,
    ) -> Compiler<'a, W> {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i as u32 + 1)).collect();
        Compiler {
            w,
            units,
            text,
            owner: owner.to_string(),
            unit: unit.to_string(),
            authid: AuthId::default(),
            inquiries: Inquiries::default(),
            pool: Pool::default(),
            consts: HashMap::new(),
            rows: None,
            object: None,
            is_constructor: false,
            chosen: HashMap::new(),
            procs: Vec::new(),
            scopes: vec![Scope::default()],
            f: FnState::new(unit, 0),
            line: 1,
            lines,
            problems: Vec::new(),
            binds: sql::Names::default(),
            calls_pipelined: false,
            bind_types: HashMap::new(),
            package_slots: 0,
            layout: 0,
            shown: 0,
            has_state: false,
            exception_count: 0,
            depends: Vec::new(),
            calls: Vec::new(),
            compiled: 0,
        }
    }

    /// Asks the world a question that the unit depends on.
    pub(super) fn ask<R>(&self, f: impl FnOnce(&Units, &mut W) -> R) -> R {
        f(self.units, &mut **self.w.borrow_mut())
    }

    // ---- errors

    pub(super) fn note(&mut self, error: Ora, statement: Pos, what: &str) {
        let pos = error.position().unwrap_or(statement);
        let text = match error.facility() {
            Facility::Ora => format!("PL/SQL: {}", error.headline()),
            _ => error.headline(),
        };
        self.problems.push(Problem { pos, text });
        // A declaration is skipped from the error on; a statement from its start.
        let statement = if what == "Item" { pos } else { statement };
        self.problems.push(Problem { pos: statement, text: format!("PL/SQL: {what} ignored") });
    }

    pub(super) fn errors(&self) -> Vec<CompileError> {
        self.problems
            .iter()
            .map(|p| {
                let (line, column) = line_column(self.text, p.pos);
                CompileError { line, column, text: p.text.clone() }
            })
            .collect()
    }

    // ---- code

    pub(super) fn set_pos(&mut self, pos: Pos) {
        self.line = self.lines.partition_point(|start| *start <= pos) as u32;
    }

    pub(super) fn emit(&mut self, op: Op) -> usize {
        self.f.ops.push(op);
        self.f.lines.push(self.line);
        self.f.ops.len() - 1
    }

    pub(super) fn here(&self) -> Label {
        self.f.ops.len() as Label
    }

    /// Patches the jump at `at` to the next instruction.
    pub(super) fn patch(&mut self, at: usize) {
        let here = self.here();
        self.patch_to(at, here);
    }

    pub(super) fn patch_to(&mut self, at: usize, label: Label) {
        match &mut self.f.ops[at] {
            Op::Jump { to }
            | Op::Loop { to }
            | Op::JumpIfTrue { to, .. }
            | Op::JumpUnlessTrue { to, .. }
            | Op::JumpIfFalse { to, .. }
            | Op::JumpIfNull { to, .. }
            | Op::CmpJump { to, .. } => *to = label,
            Op::ForNext { out, .. } | Op::FetchLoop { out, .. } => *out = label,
            Op::Fetch { none, .. } => *none = label,
            Op::ResultCacheGet { hit, .. } => *hit = label,
            other => unreachable!("no jump: {other:?}"),
        }
    }

    pub(super) fn slots(&mut self, n: u32) -> u32 {
        let first = self.f.next;
        self.f.next += n;
        self.f.high = self.f.high.max(self.f.next);
        first
    }

    pub(super) fn temp(&mut self) -> Opd {
        Opd::local(self.slots(1))
    }

    /// Allocates a slot that no statement compiled so far uses, so that it keeps its content until the statement runs
    /// again.
    pub(super) fn lasting_temp(&mut self) -> Opd {
        self.f.next = self.f.high;
        self.temp()
    }

    pub(super) fn constant(&mut self, value: Value) -> Opd {
        let key = format!("{value:?}");
        if let Some(i) = self.consts.get(&key) {
            return Opd::constant(*i);
        }
        let i = self.pool.consts.len() as u32;
        self.pool.consts.push(value);
        self.consts.insert(key, i);
        Opd::constant(i)
    }

    /// The slot of a result: the wanted one, or a temporary.
    pub(super) fn result(&mut self, want: Option<Opd>) -> Opd {
        want.unwrap_or_else(|| self.temp())
    }

    /// The index of a function in the pool.
    pub(super) fn function_number(&mut self, function: &'static functions::FnDef) -> u32 {
        let known = self.pool.functions.iter().position(|f| std::ptr::eq(*f, function));
        known.unwrap_or_else(|| {
            self.pool.functions.push(function);
            self.pool.functions.len() - 1
        }) as u32
    }

    /// The value of `$$name`.
    pub(super) fn inquiry(&mut self, name: &str, pos: Pos) -> Val {
        let (line, _) = line_column(self.text, pos);
        match self.inquiries.value(name, line) {
            StaticValue::Null => Val { o: self.null(), ty: Ty::Null },
            StaticValue::Boolean(is_true) => Val { o: self.constant(Value::Boolean(is_true)), ty: Ty::BOOLEAN },
            StaticValue::Integer(n) => Val { o: self.constant(Value::Number(n.into())), ty: Ty::INTEGER },
            StaticValue::Text(text) => Val { o: self.constant(Value::text(text.as_str())), ty: Ty::TEXT },
        }
    }

    pub(super) fn null(&mut self) -> Opd {
        self.constant(Value::Null)
    }

    pub(super) fn template(&mut self, datum: Datum) -> u32 {
        self.pool.templates.push(datum);
        self.pool.templates.len() as u32 - 1
    }

    pub(super) fn target(&mut self, s: &ScalarTy) -> u32 {
        let target = Target::from(s);
        if let Some(i) = self.pool.targets.iter().position(|t| *t == target) {
            return i as u32;
        }
        self.pool.targets.push(target);
        self.pool.targets.len() as u32 - 1
    }

    pub(super) fn external(&mut self, external: External) -> u32 {
        if let Some(i) = self.pool.externals.iter().position(|e| *e == external) {
            return i as u32;
        }
        self.pool.externals.push(external);
        self.pool.externals.len() as u32 - 1
    }

    pub(super) fn bind_index(&mut self, name: &str) -> u32 {
        self.binds.number(name) as u32
    }

    /// The type of a host bind.
    pub(super) fn bind_ty(&self, bind: u32) -> Ty {
        self.bind_types.get(&self.binds.all()[bind as usize]).cloned().unwrap_or(Ty::of(DataType::Null))
    }

    /// The operand of a slot of the current or an enclosing subprogram.
    pub(super) fn frame_opd(&self, level: u32, slot: u32) -> Opd {
        if level == self.f.level { Opd::local(slot) } else { Opd::up(self.f.level - level, slot) }
    }

    /// Finishes the subprogram being compiled and returns to `outer`.
    pub(super) fn finish(&mut self, outer: FnState, parameters: u32) -> Proc {
        let f = std::mem::replace(&mut self.f, outer);
        Proc {
            name: f.name,
            ops: f.ops,
            lines: f.lines,
            guards: f.guards,
            slots: f.high,
            counters: f.counters_high,
            parameters,
            cursors: f.cursors,
            autonomous: f.autonomous,
            result_cache: f.result_cache,
        }
    }

    pub(super) fn pls(&self, code: u32, args: &[&dyn std::fmt::Display], pos: Pos) -> Ora {
        Ora::pls(code, args).at(pos)
    }

    /// PLS-00123 when the nesting of statements and expressions has used half of the stack, or when there are too many
    /// of them. A call of an overloaded name compiles its arguments a second time, to learn their types.
    pub(super) fn check_nesting(&mut self, pos: Pos) -> CResult<()> {
        self.compiled += 1;
        if self.compiled > COMPILED_MAX || os::stack::is_short() {
            return Err(self.pls(123, &[&"nesting too deep"], pos));
        }
        Ok(())
    }

    pub(super) fn loc_of(&self, slot: u32) -> Loc {
        Loc::Frame { level: self.f.level, slot }
    }

    /// Whether the unit that is compiled is one of those of ACCESSIBLE BY of a unit, or that unit; all are if there are
    /// none.
    pub(super) fn has_access(&self, owner: &str, name: &str, list: &[Accessor]) -> bool {
        let is_own = owner == self.owner && name == self.unit && !self.inquiries.is_of_kind(UnitKind::Trigger);
        let is_it = |accessor: &Accessor| {
            let of = if accessor.owner.is_empty() { owner } else { &accessor.owner };
            accessor.name == self.unit
                && of == self.owner
                && accessor.kind.is_none_or(|kind| self.inquiries.is_of_kind(kind))
        };
        list.is_empty() || is_own || list.iter().any(is_it)
    }
}
