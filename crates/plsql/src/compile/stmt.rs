//! Statements.

use super::assign::direct;
use super::compiler::{CResult, Compiler, GotoJump, GotoLabel, LoopCtx, Val};
use super::scope::*;
use super::symbols::{Res, TargetRef, dotted, shown_name};
use crate::datum::Datum;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{self, Body, CursorSource, Expr, ExprKind, Handler, Ident, Part, Pos, Statement, StatementKind};
use std::rc::Rc;
use types::Value;

impl<W: World> Compiler<'_, W> {
    /// Compiles `BEGIN … END` of a block, with its handlers.
    pub(super) fn body(&mut self, body: &Body) {
        let Body { statements, handlers, pos: _, end_pos: _ } = body;
        self.f.block_count += 1;
        self.f.blocks.push(self.f.block_count);
        let from = self.here();
        self.statements(statements);
        let to = self.here();
        if !handlers.is_empty() {
            self.handlers(body, from, to);
        }
        self.f.blocks.pop();
    }

    fn handlers(&mut self, body: &Body, from: Label, to: Label) {
        let depth = self.f.handlers;
        let over = self.emit(Op::Jump { to: 0 });
        let mut ends = vec![over];
        // The guard is placed after those inside the body, and before those of the handlers' own blocks.
        let guard_at = self.f.guards.len();
        let mut list = Vec::new();
        self.f.handlers += 1;
        let mut others = false;
        for Handler { exceptions, statements, pos } in &body.handlers {
            if others {
                let e = self.pls(370, &[], *pos);
                self.note(e, *pos, "Statement");
            }
            others |= exceptions.is_empty();
            let mut wanted = Vec::new();
            for path in exceptions {
                match self.exception(path) {
                    Ok(i) => wanted.push(i),
                    Err(e) => self.note(e, *pos, "Statement"),
                }
            }
            list.push((wanted, self.here()));
            self.statements(statements);
            self.emit(Op::EndHandlers { n: 1 });
            ends.push(self.emit(Op::Jump { to: 0 }));
        }
        self.f.handlers -= 1;
        self.f.guards.insert(guard_at, Guard { from, to, handlers: list, depth });
        ends.into_iter().for_each(|j| self.patch(j));
    }

    /// The unit's index of an exception by name.
    fn exception(&mut self, path: &[Ident]) -> CResult<u32> {
        let def = match self.path_symbol(path)? {
            Some(Symbol::Exception(def)) => def,
            Some(_) => return Err(self.pls(368, &[&dotted(path)], path[0].pos)),
            None => {
                let name = match path {
                    [name] => Some(name),
                    [standard, name] if standard.name == "STANDARD" => Some(name),
                    _ => None,
                };
                match name.and_then(|n| crate::exceptions::predefined(&n.name).map(|code| (n, code))) {
                    Some((_, code)) => ExceptionDef { code: Some(code), identity: 0 },
                    None => return Err(self.pls(201, &[&dotted(path)], path[0].pos)),
                }
            }
        };
        self.pool.exceptions.push(def);
        Ok(self.pool.exceptions.len() as u32 - 1)
    }

    pub(super) fn statements(&mut self, list: &[Statement]) {
        // GOTO may jump to a label only from within the same sequence of statements.
        self.f.block_count += 1;
        self.f.blocks.push(self.f.block_count);
        for s in list {
            let saved = self.f.next;
            let counters = self.f.counters;
            self.set_pos(s.pos);
            for label in &s.labels {
                let at = self.here();
                let block = self.f.blocks.last().copied().unwrap_or(0);
                self.f.labels.push(GotoLabel { name: label.name.clone(), at, block, handlers: self.f.handlers });
            }
            if let Err(e) = self.statement(s) {
                let what = match s.kind {
                    StatementKind::Sql(_)
                    | StatementKind::OpenFor { cursor: _, query: _ }
                    | StatementKind::Fetch { cursor: _, into: _, limit: _ }
                    | StatementKind::ForCursor { variable: _, source: CursorSource::Query(_), body: _ } => {
                        "SQL Statement"
                    }
                    _ => "Statement", // not a clause: a word for the message
                };
                self.note(e, s.pos, what);
            }
            self.f.next = saved;
            self.f.counters = counters;
        }
        self.f.blocks.pop();
    }

    fn statement(&mut self, s: &Statement) -> CResult<()> {
        self.check_nesting(s.pos)?;
        let Statement { labels, kind, pos: _ } = s;
        let label = labels.last().map(|l| l.name.clone());
        match kind {
            StatementKind::Null => Ok(()),
            StatementKind::Assign { target, value } => self.assign(target, value),
            StatementKind::Call(e) => self.call_statement(e),
            StatementKind::If { branches, otherwise } => self.if_statement(branches, otherwise.as_deref()),
            StatementKind::Case { operand, branches, otherwise } => {
                self.case_statement(operand.as_ref(), branches, otherwise.as_deref())
            }
            StatementKind::Loop { body } => {
                let start = self.here();
                self.enter_loop(label, None);
                self.statements(body);
                let continues = std::mem::take(&mut self.innermost_loop().continues);
                continues.into_iter().for_each(|j| self.patch_to(j, start));
                self.emit(Op::Loop { to: start });
                self.leave_loop();
                Ok(())
            }
            StatementKind::While { condition, body } => {
                let start = self.here();
                let outs = self.jump_unless(condition)?;
                self.enter_loop(label, None);
                self.statements(body);
                let continues = std::mem::take(&mut self.innermost_loop().continues);
                continues.into_iter().for_each(|j| self.patch_to(j, start));
                self.emit(Op::Loop { to: start });
                self.leave_loop();
                outs.into_iter().for_each(|j| self.patch(j));
                Ok(())
            }
            StatementKind::ForRange { variable, reverse, low, high, body } => {
                self.for_range(label, variable, *reverse, low, high, body)
            }
            StatementKind::ForCursor { variable, source, body } => self.for_cursor(label, variable, source, body),
            StatementKind::ForAll { variable, bounds, save_exceptions, sql } => {
                self.forall(variable, bounds, *save_exceptions, sql)
            }
            StatementKind::Exit { label, when } => self.exit(label.as_ref(), when.as_ref(), s.pos, false),
            StatementKind::Continue { label, when } => self.exit(label.as_ref(), when.as_ref(), s.pos, true),
            StatementKind::Goto(name) => {
                let op = self.emit(Op::EndHandlers { n: 0 });
                self.emit(Op::Jump { to: 0 });
                let blocks = self.f.blocks.clone();
                let jump = GotoJump { name: name.name.clone(), op, blocks, handlers: self.f.handlers, pos: name.pos };
                self.f.gotos.push(jump);
                Ok(())
            }
            StatementKind::Return(value) => self.return_statement(value.as_ref(), s.pos),
            StatementKind::Raise(None) => {
                if self.f.handlers == 0 {
                    return Err(self.pls(367, &[], s.pos));
                }
                self.emit(Op::Reraise);
                Ok(())
            }
            StatementKind::Raise(Some(path)) => {
                let exception = self.exception(path)?;
                self.emit(Op::Raise { exception });
                Ok(())
            }
            StatementKind::Block(b) => {
                let labels = b.labels.iter().map(|l| l.name.clone()).collect();
                self.scopes.push(Scope { labels, ..Scope::default() });
                // The declarations of an inner block are guarded by the enclosing block, not by its own handlers.
                self.declarations(&b.declarations);
                self.body(&b.body);
                self.check_forward(&b.body);
                self.scopes.pop();
                Ok(())
            }
            StatementKind::Sql(q) => self.sql_statement(q),
            StatementKind::Commit => {
                self.emit(Op::Commit);
                Ok(())
            }
            StatementKind::Rollback { to: None } => {
                self.emit(Op::Rollback);
                Ok(())
            }
            StatementKind::Rollback { to: Some(name) } => {
                let name = self.constant(Value::text(name.name.as_str()));
                self.emit(Op::RollbackTo { name });
                Ok(())
            }
            StatementKind::Savepoint(name) => {
                let name = self.constant(Value::text(name.name.as_str()));
                self.emit(Op::Savepoint { name });
                Ok(())
            }
            StatementKind::SetTransaction(q) => {
                let text = self.constant(Value::text(q.text.as_str()));
                self.emit(Op::SetTransaction { text });
                Ok(())
            }
            StatementKind::Open { cursor, arguments } => self.open(cursor, arguments),
            StatementKind::OpenFor { cursor, query } => {
                let statement = self.static_sql(query)?;
                self.open_variable(cursor, |_, c| Op::Open { sql: statement.index, cursor: c, variable: true })
            }
            StatementKind::OpenForDynamic { cursor, text, using } => {
                let dynamic = self.dynamic(text, using, 0, None, 0)?.0;
                self.open_variable(cursor, |_, c| Op::OpenDynamic { dynamic, cursor: c })
            }
            StatementKind::Fetch { cursor, into, limit } => self.fetch(cursor, into, limit.as_ref()),
            StatementKind::Close(cursor) => {
                let c = self.cursor_operand(cursor, 456)?;
                self.emit(Op::Close { cursor: c });
                Ok(())
            }
            StatementKind::ExecuteImmediate { text, into, using, returning } => {
                self.execute_immediate(text, into.as_ref(), using, returning.as_ref())
            }
            StatementKind::PipeRow(row) => {
                let Some(ty) = self.f.pipes.clone() else { return Err(self.pls(629, &[], s.pos)) };
                let d = self.temp();
                if !matches!(ty, Ty::Scalar(_)) {
                    self.init_slot(d, &ty)?;
                }
                self.assign_expr(d, &ty, row)?;
                self.emit(Op::PipeRow { s: d });
                Ok(())
            }
        }
    }

    fn assign(&mut self, target: &Expr, value: &Expr) -> CResult<()> {
        let t = self.target_path(target)?;
        if let TargetRef::Path(p) = &t
            && let Some(d) = direct(p)
        {
            let ty = p.ty.clone();
            return self.assign_variable(d, &ty, value);
        }
        let v = self.expr(value, None)?;
        self.store(&t, v, value.pos)
    }

    fn call_statement(&mut self, e: &Expr) -> CResult<()> {
        if let ExprKind::Treat { operand, ty, parts } = &e.kind {
            return match self.treated(operand, ty, parts, None, true)? {
                Res::Done => Ok(()),
                Res::Val(_) | Res::Path(_) | Res::Cursor(_) => Err(self.pls(221, &[&"TREAT"], e.pos)),
            };
        }
        let ExprKind::Name(n) = &e.kind else { return Err(self.pls(221, &[&"expression"], e.pos)) };
        if let [Part::Call(args)] = n.parts.as_slice()
            && n.first.name == "RAISE_APPLICATION_ERROR"
            && self.lookup("RAISE_APPLICATION_ERROR").is_none()
        {
            return self.raise_application_error(args, e.pos);
        }
        match self.resolve(n, None, true)? {
            Res::Done => Ok(()),
            Res::Val(_) | Res::Path(_) | Res::Cursor(_) => Err(self.pls(221, &[&shown_name(n)], e.pos)),
        }
    }

    fn raise_application_error(&mut self, args: &[ast::Argument], pos: Pos) -> CResult<()> {
        if args.len() < 2 || args.len() > 3 {
            return Err(self.pls(306, &[&"RAISE_APPLICATION_ERROR"], pos));
        }
        let base = self.slots(4);
        for (i, a) in args.iter().enumerate() {
            let (i, ty) = match a.name.as_ref().map_or(i, |n| match n.name.as_str() {
                "NUM" => 0,
                "MSG" => 1,
                _ => 2,
            }) {
                0 => (0, Ty::NUMBER),
                1 => (1, Ty::TEXT),
                _ => (2, Ty::BOOLEAN),
            };
            self.assign_expr(Opd::local(base + 1 + i), &ty, &a.value)?;
        }
        if args.len() == 2 {
            let s = self.constant(Value::Boolean(false));
            self.emit(Op::Move { d: Opd::local(base + 3), s });
        }
        let native = crate::packages::native("STANDARD", "RAISE_APPLICATION_ERROR", 1).expect("always there");
        self.emit(Op::CallNative { native, base, n: 3 });
        Ok(())
    }

    fn if_statement(&mut self, branches: &[(Expr, Vec<Statement>)], otherwise: Option<&[Statement]>) -> CResult<()> {
        let mut ends = Vec::new();
        for (i, (condition, statements)) in branches.iter().enumerate() {
            self.set_pos(condition.pos);
            let outs = self.jump_unless(condition)?;
            self.statements(statements);
            if i + 1 < branches.len() || otherwise.is_some() {
                ends.push(self.emit(Op::Jump { to: 0 }));
            }
            outs.into_iter().for_each(|j| self.patch(j));
        }
        if let Some(statements) = otherwise {
            self.statements(statements);
        }
        ends.into_iter().for_each(|j| self.patch(j));
        Ok(())
    }

    fn case_statement(
        &mut self,
        operand: Option<&Expr>,
        branches: &[(Expr, Vec<Statement>)],
        otherwise: Option<&[Statement]>,
    ) -> CResult<()> {
        let subject = match operand {
            Some(e) => {
                let d = self.temp();
                let v = self.expr(e, Some(d))?;
                self.emit(Op::Move { d, s: v.o });
                Some((d, v.ty))
            }
            None => None,
        };
        let mut ends = Vec::new();
        for (when, statements) in branches {
            self.set_pos(when.pos);
            let outs = match &subject {
                Some((d, ty)) => {
                    let saved = self.f.next;
                    let b = self.expr(when, None)?;
                    if !assignable(b.ty.class(), ty.class()) && !assignable(ty.class(), b.ty.class()) {
                        return Err(self.pls(615, &[], when.pos));
                    }
                    let outs = self.compare_jump_values(Cmp::Eq, Val { o: *d, ty: ty.clone() }, b, when.pos)?;
                    self.f.next = saved;
                    outs
                }
                None => self.jump_unless(when)?,
            };
            self.statements(statements);
            ends.push(self.emit(Op::Jump { to: 0 }));
            outs.into_iter().for_each(|j| self.patch(j));
        }
        match otherwise {
            Some(statements) => self.statements(statements),
            None => {
                self.emit(Op::RaiseCode { code: 6592 });
            }
        }
        ends.into_iter().for_each(|j| self.patch(j));
        Ok(())
    }

    // ---- loops

    fn enter_loop(&mut self, label: Option<String>, cursor: Option<Opd>) {
        let handlers = self.f.handlers;
        self.f.loops.push(LoopCtx { label, exits: Vec::new(), continues: Vec::new(), handlers, cursor });
    }

    fn innermost_loop(&mut self) -> &mut LoopCtx {
        self.f.loops.last_mut().expect("inside a loop")
    }

    fn leave_loop(&mut self) {
        let ctx = self.f.loops.pop().expect("inside a loop");
        ctx.exits.into_iter().for_each(|j| self.patch(j));
    }

    fn exit(&mut self, label: Option<&Ident>, when: Option<&Expr>, pos: Pos, again: bool) -> CResult<()> {
        let at = match label {
            None if self.f.loops.is_empty() => return Err(self.pls(376, &[], pos)),
            None => self.f.loops.len() - 1,
            Some(l) => match self.f.loops.iter().rposition(|x| x.label.as_deref() == Some(&l.name)) {
                Some(at) => at,
                None => return Err(self.pls(201, &[&l.name], l.pos)),
            },
        };
        let skip = match when {
            Some(e) => self.jump_unless(e)?,
            None => Vec::new(),
        };
        let leave = if again { at + 1 } else { at };
        let cursors: Vec<Opd> = self.f.loops[leave..].iter().rev().filter_map(|l| l.cursor).collect();
        for cursor in cursors {
            self.emit(Op::CloseLoop { cursor });
        }
        let n = self.f.handlers - self.f.loops[at].handlers;
        if n > 0 {
            self.emit(Op::EndHandlers { n });
        }
        let jump = self.emit(Op::Loop { to: 0 });
        if again {
            self.f.loops[at].continues.push(jump);
        } else {
            self.f.loops[at].exits.push(jump);
        }
        skip.into_iter().for_each(|j| self.patch(j));
        Ok(())
    }

    pub(super) fn resolve_gotos(&mut self) {
        for g in std::mem::take(&mut self.f.gotos) {
            // The label of the innermost sequence.
            let seen = self.f.labels.iter().filter(|l| l.name == g.name && g.blocks.contains(&l.block));
            let found = seen.clone().max_by_key(|l| l.block);
            if let Some(l) = found
                && seen.filter(|other| other.block == l.block).count() > 1
            {
                let e = self.pls(371, &[&g.name], g.pos);
                self.note(e, g.pos, "Statement");
                continue;
            }
            let Some(l) = found else {
                let known = self.f.labels.iter().any(|l| l.name == g.name);
                let code = if known { 375 } else { 201 };
                let e = self.pls(code, &[&g.name], g.pos);
                self.note(e, g.pos, "Statement");
                continue;
            };
            let (at, handlers) = (l.at, l.handlers);
            if handlers > g.handlers {
                let e = self.pls(375, &[&g.name], g.pos);
                self.note(e, g.pos, "Statement");
                continue;
            }
            self.f.ops[g.op] = Op::EndHandlers { n: g.handlers - handlers };
            self.f.ops[g.op + 1] = Op::Loop { to: at };
        }
    }

    fn for_range(
        &mut self,
        label: Option<String>,
        variable: &Ident,
        reverse: bool,
        low: &Expr,
        high: &Expr,
        body: &[Statement],
    ) -> CResult<()> {
        let bound = |me: &mut Self, e: &Expr| -> CResult<Opd> {
            let v = me.expr(e, None)?;
            if !assignable(v.ty.class(), Class::Number) {
                return Err(me.pls(382, &[], e.pos));
            }
            Ok(v.o)
        };
        let lo = bound(self, low)?;
        let hi = bound(self, high)?;
        let counter = self.f.counters;
        self.f.counters += 1;
        self.f.counters_high = self.f.counters_high.max(self.f.counters);
        self.emit(Op::ForInit { counter, lo, hi, reverse });
        let i = self.temp();
        let entry = self.emit(Op::ForNext { counter, i, out: 0 });
        let top = self.here();
        self.enter_loop(label, None);
        let Place::Local(slot) = i.place() else { unreachable!("temporaries are local") };
        let symbol = Symbol::Var(Var { loc: self.loc_of(slot), ty: Ty::INTEGER, access: Access::LoopIndex });
        self.scopes.push(Scope::default());
        self.declare(variable, symbol)?;
        self.statements(body);
        self.scopes.pop();
        let continues = std::mem::take(&mut self.innermost_loop().continues);
        continues.into_iter().for_each(|j| self.patch(j));
        self.emit(Op::ForLoop { counter, i, body: top });
        self.leave_loop();
        self.patch(entry);
        Ok(())
    }

    fn for_cursor(
        &mut self,
        label: Option<String>,
        variable: &Ident,
        source: &CursorSource,
        body: &[Statement],
    ) -> CResult<()> {
        let (row, cursor) = match source {
            CursorSource::Query(q) => {
                let statement = self.static_sql(q)?;
                let cursor = self.lasting_temp();
                self.f.cursors = true;
                self.emit(Op::OpenLoop { sql: statement.index, cursor });
                (Rc::new(row_type(&statement.columns)), cursor)
            }
            CursorSource::Cursor(e) => {
                let ExprKind::Name(n) = &e.kind else { return Err(self.pls(456, &[&"expression"], e.pos)) };
                let mut n = n.clone();
                let arguments = match n.parts.last() {
                    Some(Part::Call(_)) => match n.parts.pop() {
                        Some(Part::Call(args)) => args,
                        _ => unreachable!("seen"),
                    },
                    _ => Vec::new(),
                };
                let Res::Cursor(c) = self.resolve(&n, None, false)? else {
                    return Err(self.pls(456, &[&shown_name(&n)], e.pos));
                };
                self.open_cursor(&c, &arguments, &n.first)?;
                let at = self.loc_operand(&c.loc);
                let cursor = self.temp();
                self.emit(Op::Move { d: cursor, s: at });
                (c.row.clone(), cursor)
            }
        };
        let record = self.lasting_temp();
        let template = self.template(Datum::Rec(Rc::new(row.initial())));
        self.emit(Op::InitRow { d: record, template });
        let top = self.here();
        let fetch = self.emit(Op::FetchLoop { cursor, row: record, out: 0 });
        self.enter_loop(label, Some(cursor));
        let Place::Local(slot) = record.place() else { unreachable!("temporaries are local") };
        let ty = Ty::Record(row);
        let symbol = Symbol::Var(Var { loc: self.loc_of(slot), ty, access: Access::Free });
        self.scopes.push(Scope::default());
        self.declare(variable, symbol)?;
        self.statements(body);
        self.scopes.pop();
        let continues = std::mem::take(&mut self.innermost_loop().continues);
        continues.into_iter().for_each(|j| self.patch_to(j, top));
        self.emit(Op::Loop { to: top });
        self.leave_loop();
        self.patch(fetch);
        Ok(())
    }

    fn return_statement(&mut self, value: Option<&Expr>, pos: Pos) -> CResult<()> {
        match (self.f.function, value) {
            (true, Some(e)) if self.f.pipes.is_some() => return Err(self.pls(633, &[], e.pos)),
            (true, None) if self.f.pipes.is_some() => {}
            // A constructor returns nothing but SELF.
            (true, Some(e)) if self.f.is_constructor => return Err(self.pls(372, &[], e.pos)),
            (true, Some(e)) => {
                let ty = self.f.returns.clone().expect("a function has a result");
                let d = Opd::local(0);
                self.assign_expr(d, &ty, e)?;
            }
            (true, None) if self.f.is_constructor => {
                self.emit(Op::Move { d: Opd::local(0), s: Opd::local(1) });
            }
            (true, None) => return Err(self.pls(503, &[], pos)),
            (false, Some(e)) => return Err(self.pls(372, &[], e.pos)),
            (false, None) => {}
        }
        let cursors: Vec<Opd> = self.f.loops.iter().rev().filter_map(|l| l.cursor).collect();
        for cursor in cursors {
            self.emit(Op::CloseLoop { cursor });
        }
        self.emit(Op::Return);
        Ok(())
    }

    // ---- SQL

    // ---- cursors

    // ---- dynamic SQL
}
