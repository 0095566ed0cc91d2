//! Declarations.

use super::compiler::{CResult, Compiler, FnState};
use super::piped::is_piped;
use super::scope::*;
use super::sqlgen::locks_rows;
use crate::datum::Datum;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{
    self, CursorDeclaration, Declaration, Mode, Pos, Pragma, ResultCache, Subprogram, SubprogramAttributes,
    SubprogramBody, TypeKind, Variable,
};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Largest depth of nested subprograms: the operand's field for the level has this size.
const SUBPROGRAM_LEVELS_MAX: u32 = 63;

impl<W: World> Compiler<'_, W> {
    pub(super) fn declarations(&mut self, list: &[Declaration]) {
        for d in list {
            let pos = declaration_pos(d);
            self.set_pos(pos);
            if let Err(e) = self.declaration(d) {
                self.note(e, pos, "Item");
            }
        }
    }

    fn declaration(&mut self, d: &Declaration) -> CResult<()> {
        match d {
            Declaration::Variable(v) => self.variable(v),
            Declaration::Type { name, definition } => {
                let ty = self.type_definition(definition)?;
                if let ast::TypeDefinition::RefCursor { returns: Some(returns) } = definition
                    && let row @ Ty::Record(_) = self.type_ref(returns)?
                {
                    self.note_row(&name.name, row);
                }
                self.declare(name, Symbol::Type(ty))
            }
            Declaration::Subtype { name, base, not_null, range } => {
                let mut ty = self.type_ref(base)?;
                if let Ty::Scalar(s) = &mut ty {
                    s.not_null |= not_null;
                    if let Some((low, high)) = range {
                        s.range = Some((self.static_integer(low)?, self.static_integer(high)?));
                    }
                }
                self.declare(name, Symbol::Type(ty))
            }
            Declaration::Cursor(c) => self.cursor(c),
            Declaration::Exception(name) => {
                let def = self.new_exception(&name.name, None, name.pos);
                self.declare(name, Symbol::Exception(def))
            }
            Declaration::Pragma(p) => self.pragma(p),
            Declaration::Subprogram(s) => self.subprogram(s),
        }
    }

    fn new_exception(&mut self, name: &str, code: Option<u32>, pos: Pos) -> ExceptionDef {
        self.exception_count += 1;
        let mut h = std::collections::hash_map::DefaultHasher::new();
        // The identity of a package's exceptions must be the same for all units compiled against it.
        (&self.owner, &self.unit, name, pos).hash(&mut h);
        if self.unit.is_empty() {
            (self.text, self.exception_count).hash(&mut h);
        }
        ExceptionDef { code, identity: h.finish() }
    }

    fn pragma(&mut self, p: &Pragma) -> CResult<()> {
        match p {
            Pragma::AutonomousTransaction(_) => {
                self.f.autonomous = true;
                Ok(())
            }
            Pragma::ExceptionInit { exception, code } => {
                let code = if *code == 100 { 1403 } else { code.unsigned_abs() };
                let scope = self.scopes.last_mut().expect("there is a scope");
                match scope.names.get_mut(&exception.name) {
                    Some(Symbol::Exception(def)) => {
                        def.code = Some(code);
                        Ok(())
                    }
                    _ => Err(self.pls(109, &[&exception.name], exception.pos)),
                }
            }
            Pragma::SeriallyReusable | Pragma::Other(_) => Ok(()),
        }
    }

    fn variable(&mut self, v: &Variable) -> CResult<()> {
        let Variable { name, ty: _, constant, not_null: _, default } = v;
        let mut ty = self.type_ref(&v.ty)?;
        if v.not_null
            && let Ty::Scalar(s) = &mut ty
        {
            s.not_null = true;
        }
        let not_null = ty.scalar().is_some_and(|s| s.not_null);
        if not_null && default.is_none() {
            return Err(self.pls(218, &[], name.pos));
        }
        if *constant && default.is_none() {
            return Err(self.pls(322, &[&name.name], name.pos));
        }
        self.has_state |= self.f.package && !(*constant && default.as_ref().is_some_and(|e| self.is_static(e)));
        let loc = self.new_loc();
        let result = self.initialise(&loc, &ty, default.as_ref());
        // The name is declared even if its value is invalid, so that one mistake gives one error.
        let access = if *constant { Access::Constant } else { Access::Free };
        if let (Ty::Cursor, TypeKind::Named { path, sizes: _, unit: _ }) = (&ty, &v.ty.kind)
            && let Some(row) = self.row_of(path)?
        {
            self.note_row(&name.name, row);
        }
        self.declare(name, Symbol::Var(Var { loc, ty, access }))?;
        result
    }

    /// Whether an expression has the same value in all sessions: it consists of literals.
    fn is_static(&self, e: &ast::Expr) -> bool {
        match &e.kind {
            ast::ExprKind::Null
            | ast::ExprKind::Boolean(_)
            | ast::ExprKind::Number(_)
            | ast::ExprKind::String(_)
            | ast::ExprKind::Date(_)
            | ast::ExprKind::Timestamp(_)
            | ast::ExprKind::Interval { text: _, qualifier: _ } => true,
            ast::ExprKind::Unary { op: _, operand } => self.is_static(operand),
            ast::ExprKind::Binary { op: _, left, right } => self.is_static(left) && self.is_static(right),
            // not a clause: other expressions may differ between sessions
            _ => false,
        }
    }

    /// Assigns the first value of a new variable.
    pub(super) fn initialise(&mut self, loc: &Loc, ty: &Ty, default: Option<&ast::Expr>) -> CResult<()> {
        let saved = self.f.next;
        let d = match loc {
            Loc::Frame { level, slot } => self.frame_opd(*level, *slot),
            Loc::Package { .. } => self.temp(),
        };
        let composite = !matches!(ty, Ty::Scalar(_));
        if composite || default.is_none() {
            self.init_slot(d, ty)?;
        }
        if let Some(e) = default {
            self.assign_expr(d, ty, e)?;
        }
        if let Loc::Package { home, slot } = loc {
            let external = self.package_external(home);
            self.emit(Op::PackageSet { external, slot: *slot, s: d });
        }
        self.f.next = saved;
        Ok(())
    }

    fn static_integer(&mut self, e: &ast::Expr) -> CResult<i64> {
        use ast::ExprKind::{Number, Unary};
        match &e.kind {
            Number(text) => text.parse().map_err(|_| self.pls(491, &[], e.pos)),
            Unary { op: ast::UnaryOp::Minus, operand } => Ok(-self.static_integer(operand)?),
            _ => Err(self.pls(491, &[], e.pos)),
        }
    }

    // ---- cursors

    fn cursor(&mut self, c: &CursorDeclaration) -> CResult<()> {
        let CursorDeclaration { name: _, parameters: _, returns, query: _ } = c;
        let previous = self.scopes.last().and_then(|s| s.names.get(&c.name.name)).cloned();
        if let (Some(Symbol::Cursor(sym)), Some(query)) = (&previous, &c.query) {
            // The body of a cursor declared in the package's specification.
            let sym = sym.clone();
            return self
                .cursor_open_proc(c, query, &sym.parameters.clone(), &sym.loc.clone(), sym.open.clone())
                .map(|_| ());
        }
        let parameters = self.parameters(&c.parameters)?;
        self.has_state |= self.f.package;
        let loc = self.new_loc();
        let null = Datum::Cur(None);
        let template = self.template(null);
        match &loc {
            Loc::Frame { level, slot } => {
                let d = self.frame_opd(*level, *slot);
                self.f.cursors = true;
                self.emit(Op::Release { cursor: d });
                self.emit(Op::Init { d, template });
            }
            Loc::Package { home, slot } => {
                let saved = self.f.next;
                let d = self.temp();
                self.emit(Op::Init { d, template });
                let external = self.package_external(home);
                self.emit(Op::PackageSet { external, slot: *slot, s: d });
                self.f.next = saved;
            }
        }
        let open = self.new_proc();
        let row = match (&c.query, returns) {
            (Some(query), _) => self.cursor_open_proc(c, query, &parameters, &loc, open.clone())?,
            (None, Some(t)) => match self.type_ref(t)? {
                Ty::Record(r) => r,
                _ => return Err(self.pls(320, &[], t.pos)),
            },
            (None, None) => return Err(self.pls(341, &[&c.name.name], c.name.pos)),
        };
        let locks = c.query.as_ref().is_none_or(|q| locks_rows(&q.text));
        let symbol = CursorSym { name: c.name.name.clone(), parameters, row, locks, loc, open };
        self.declare(&c.name, Symbol::Cursor(Rc::new(symbol)))
    }

    pub(super) fn new_proc(&mut self) -> SubTarget {
        self.procs.push(None);
        SubTarget::Local { proc: self.procs.len() as u32 - 1, level: self.f.level + 1 }
    }

    /// Compiles the hidden procedure that opens a cursor; returns the row's type.
    fn cursor_open_proc(
        &mut self,
        c: &CursorDeclaration,
        query: &ast::SqlText,
        parameters: &[Param],
        loc: &Loc,
        target: SubTarget,
    ) -> CResult<Rc<RecordTy>> {
        let SubTarget::Local { proc, level } = target else { unreachable!("a cursor is opened by its own unit") };
        let outer = std::mem::replace(&mut self.f, FnState::new(&c.name.name, level));
        self.scopes.push(Scope { labels: vec![c.name.name.clone()], ..Scope::default() });
        let slots = self.slots(parameters.len() as u32);
        for (i, p) in parameters.iter().enumerate() {
            let loc = self.loc_of(slots + i as u32);
            let symbol = Symbol::Var(Var { loc, ty: p.ty.clone(), access: Access::In });
            self.scopes.last_mut().expect("just pushed").names.insert(p.name.clone(), symbol);
        }
        self.set_pos(query.span.start);
        let result = self.open_query(query, loc);
        self.scopes.pop();
        self.emit(Op::Return);
        let compiled = self.finish(outer, parameters.len() as u32);
        self.procs[proc as usize] = Some(Rc::new(compiled));
        result
    }

    fn open_query(&mut self, query: &ast::SqlText, loc: &Loc) -> CResult<Rc<RecordTy>> {
        let statement = self.static_sql(query)?;
        let row = Rc::new(row_type(&statement.columns));
        match loc {
            Loc::Frame { level, slot } => {
                let cursor = self.frame_opd(*level, *slot);
                self.emit(Op::Open { sql: statement.index, cursor, variable: false });
            }
            Loc::Package { home, slot } => {
                let cursor = self.temp();
                let external = self.package_external(home);
                self.emit(Op::PackageGet { d: cursor, external, slot: *slot });
                self.emit(Op::Open { sql: statement.index, cursor, variable: false });
                self.emit(Op::PackageSet { external, slot: *slot, s: cursor });
            }
        }
        Ok(row)
    }

    // ---- subprograms

    pub(super) fn parameters(&mut self, list: &[ast::Parameter]) -> CResult<Vec<Param>> {
        let mut parameters: Vec<Param> = Vec::new();
        for p in list {
            // NOCOPY is done anyway, or has no effect.
            let ast::Parameter { name: _, mode: _, nocopy: _, ty: _, default: _ } = p;
            if parameters.iter().any(|q| q.name == p.name.name) {
                return Err(self.pls(410, &[], p.name.pos));
            }
            let mut ty = self.type_ref(&p.ty)?;
            if let Ty::Scalar(s) = &mut ty {
                // The length and precision are those of the actual parameter, not declared ones.
                let sized = matches!(p.ty.kind, TypeKind::Named { path: _, ref sizes, unit: _ } if !sizes.is_empty());
                if sized {
                    return Err(self.pls(
                        103,
                        &[
                            &"\"(\"",
                            &":= . ) , @ % default character\nThe symbol \":=\" was substituted for \"(\" to continue.",
                        ],
                        p.ty.pos,
                    ));
                }
                if s.range.is_none() {
                    s.ty = unconstrained(s.ty);
                }
            }
            parameters.push(Param {
                name: p.name.name.clone(),
                mode: p.mode,
                ty,
                default: p.default.clone().map(Rc::new),
            });
        }
        Ok(parameters)
    }

    /// The type of a function's result, without length and precision.
    pub(super) fn result_type(&mut self, ty: &ast::TypeRef) -> CResult<Ty> {
        Ok(match self.type_ref(ty)? {
            Ty::Scalar(mut sc) => {
                if sc.range.is_none() {
                    sc.ty = unconstrained(sc.ty);
                }
                Ty::Scalar(sc)
            }
            other => other,
        })
    }

    fn subprogram(&mut self, s: &Subprogram) -> CResult<()> {
        let parameters = self.parameters(&s.parameters)?;
        let returns = s.returns.as_ref().map(|ty| self.result_type(ty)).transpose()?;
        // AUTHID belongs to the unit; PARALLEL_ENABLE has no effect, since nothing runs in parallel.
        let SubprogramAttributes {
            deterministic,
            authid: _,
            pipelined,
            accessible_by,
            parallel_enable: _,
            result_cache: _,
        } = &s.attributes;
        if let Some(pos) = pipelined
            && !returns.as_ref().is_some_and(is_piped)
        {
            return Err(self.pls(630, &[], *pos));
        }
        let known = match self.scopes.last().and_then(|sc| sc.names.get(&s.name.name)) {
            Some(Symbol::Subs(list)) => list.clone(),
            Some(_) => return Err(self.pls(371, &[&s.name.name], s.name.pos)),
            None => Vec::new(),
        };
        let same = known.iter().find(|k| same_signature(k, &parameters, returns.is_some())).cloned();
        let symbol = match (same, &s.body) {
            (Some(found), Some(_)) => {
                let SubTarget::Local { proc, .. } = &found.target else { unreachable!("declared in this unit") };
                if self.procs[*proc as usize].is_some() {
                    return Err(self.pls(305, &[&s.name.name, &self.line], s.name.pos));
                }
                found
            }
            (Some(_), None) => return Err(self.pls(305, &[&s.name.name, &self.line], s.name.pos)),
            (None, _) => {
                let symbol = Rc::new(SubSym {
                    invokers: false,
                    name: s.name.name.clone(),
                    parameters: parameters.clone(),
                    returns: returns.clone(),
                    target: self.new_proc(),
                    deterministic: *deterministic,
                    is_pipelined: pipelined.is_some(),
                    accessible_by: accessors(accessible_by),
                    overload: known.len() as u32 + 1,
                    method: None,
                });
                let mut list = known;
                list.push(symbol.clone());
                self.scopes.last_mut().expect("there is a scope").names.insert(s.name.name.clone(), Symbol::Subs(list));
                symbol
            }
        };
        if s.body.is_some() {
            let SubTarget::Local { proc, level } = symbol.target else { unreachable!("declared in this unit") };
            if level >= SUBPROGRAM_LEVELS_MAX {
                return Err(self.pls(123, &[&"subprograms nested too deep"], s.name.pos));
            }
            self.check_nesting(s.name.pos)?;
            let compiled = self.subprogram_body(s, &parameters, returns, level);
            self.procs[proc as usize] = Some(Rc::new(compiled));
        }
        Ok(())
    }

    /// Compiles a subprogram's body and notes its errors.
    pub(super) fn subprogram_body(
        &mut self,
        s: &Subprogram,
        parameters: &[Param],
        returns: Option<Ty>,
        level: u32,
    ) -> Proc {
        let SubprogramBody { declarations, body } = s.body.as_deref().expect("the caller saw a body");
        let outer = std::mem::replace(&mut self.f, FnState::new(&s.name.name, level));
        let line = self.line;
        self.f.function = returns.is_some();
        self.f.is_constructor = std::mem::take(&mut self.is_constructor);
        self.f.returns = returns.clone();
        self.f.pipes = match &returns {
            Some(Ty::Coll(c)) if s.attributes.pipelined.is_some() => Some(c.element.clone()),
            _ => None,
        };
        self.scopes.push(Scope { labels: vec![s.name.name.clone()], ..Scope::default() });
        let first = self.slots(parameters.len() as u32);
        for (i, p) in parameters.iter().enumerate() {
            let loc = self.loc_of(first + i as u32);
            let access = if p.mode == Mode::In { Access::In } else { Access::Free };
            let symbol = Symbol::Var(Var { loc, ty: p.ty.clone(), access });
            self.scopes.last_mut().expect("just pushed").names.insert(p.name.clone(), symbol);
        }
        self.set_pos(body.pos);
        // RELIES_ON has no effect since 11.2: the dependencies are the tables that the function reads.
        let cached = matches!(s.attributes.result_cache, Some(ResultCache { relies_on: _ }))
            && parameters.iter().all(|p| p.mode == Mode::In);
        let hit = match returns.as_ref().and_then(Ty::data_type) {
            Some(result) if cached && parameters.iter().all(|p| p.ty.scalar().is_some()) => {
                let name = format!("\"{}\".\"{}\"::8.\"{}\"", self.owner, self.unit, s.name.name);
                let reads = std::cell::RefCell::default();
                self.f.result_cache = Some(Box::new(ResultCacheDef { name, at: body.pos, result, reads }));
                Some(self.emit(Op::ResultCacheGet { d: Opd::local(0), n: parameters.len() as u32, hit: 0 }))
            }
            _ => None,
        };
        self.declarations(declarations);
        if self.f.autonomous {
            self.emit(Op::Autonomous { begin: true });
        }
        self.body(body);
        self.check_forward(body);
        self.set_pos(body.end_pos);
        if returns.is_some() && self.f.pipes.is_none() {
            self.emit(Op::NoReturn);
        } else {
            self.emit(Op::Return);
        }
        if let Some(at) = hit {
            self.patch(at);
            self.emit(Op::Return);
        }
        self.scopes.pop();
        self.resolve_gotos();
        self.line = line;
        self.finish(outer, parameters.len() as u32)
    }
}

pub(super) fn same_signature(known: &SubSym, parameters: &[Param], function: bool) -> bool {
    known.returns.is_some() == function
        && known.parameters.len() == parameters.len()
        && known
            .parameters
            .iter()
            .zip(parameters)
            .all(|(a, b)| a.name == b.name && a.mode == b.mode && is_same_type(&a.ty, &b.ty))
}

/// Whether two parameters with one name have the same type: scalars by family, composites by type.
fn is_same_type(a: &Ty, b: &Ty) -> bool {
    match (a, b) {
        (Ty::Coll(a), Ty::Coll(b)) => Rc::ptr_eq(&a.info, &b.info),
        (Ty::Record(a), Ty::Record(b)) => {
            let names = |record: &RecordTy| record.fields.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
            Rc::ptr_eq(a, b) || a.row && b.row && names(a) == names(b)
        }
        (Ty::Coll(_) | Ty::Record(_) | Ty::Cursor, Ty::Coll(_) | Ty::Record(_) | Ty::Cursor) => {
            matches!((a, b), (Ty::Cursor, Ty::Cursor))
        }
        (Ty::Scalar(x), Ty::Scalar(y)) if matches!(x.ty, types::DataType::Named(_)) => x.ty == y.ty,
        (Ty::Scalar(x), Ty::Scalar(y)) => a.class() == b.class() && variant(&x.ty) == variant(&y.ty),
        _ => a.class() == b.class(),
    }
}

fn declaration_pos(d: &Declaration) -> Pos {
    match d {
        Declaration::Variable(v) => v.name.pos,
        Declaration::Type { name, definition: _ }
        | Declaration::Subtype { name, base: _, not_null: _, range: _ }
        | Declaration::Exception(name) => name.pos,
        Declaration::Cursor(c) => c.name.pos,
        Declaration::Pragma(Pragma::AutonomousTransaction(pos)) => *pos,
        Declaration::Pragma(Pragma::ExceptionInit { exception, code: _ }) => exception.pos,
        Declaration::Pragma(Pragma::Other(name)) => name.pos,
        Declaration::Pragma(Pragma::SeriallyReusable) => 0,
        Declaration::Subprogram(s) => s.pos,
    }
}
