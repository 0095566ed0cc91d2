//! Statements.

use super::decl::row_type;
use super::name::{Res, TargetRef};
use super::scope::*;
use super::sqlgen::Statement as SqlStatement;
use super::{CResult, Compiler, GotoJump, GotoLabel, LoopCtx, Val};
use crate::datum::Datum;
use crate::op::*;
use crate::ty::*;
use crate::world::{ColumnInfo, World};
use sql::plsql::ast::{
    self, Body, CursorSource, Expr, ExprKind, ForAllBounds, Handler, Ident, Into, Mode, Part, Pos, SqlKind, Statement,
    StatementKind, UsingArgument,
};
use std::rc::Rc;
use types::{DataType, Value};

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
            Some(_) => return Err(self.pls(368, &[&super::decl::dotted(path)], path[0].pos)),
            None => {
                let name = match path {
                    [name] => Some(name),
                    [standard, name] if standard.name == "STANDARD" => Some(name),
                    _ => None,
                };
                match name.and_then(|n| crate::exceptions::predefined(&n.name).map(|code| (n, code))) {
                    Some((_, code)) => ExceptionDef { code: Some(code), identity: 0 },
                    None => return Err(self.pls(201, &[&super::decl::dotted(path)], path[0].pos)),
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
            StatementKind::PipeRow(_) => Err(self.pls(629, &[], s.pos)),
        }
    }

    fn assign(&mut self, target: &Expr, value: &Expr) -> CResult<()> {
        let t = self.target_path(target)?;
        if let TargetRef::Path(p) = &t
            && let Some(d) = super::expr::direct(p)
        {
            let ty = p.ty.clone();
            return self.assign_variable(d, &ty, value);
        }
        let v = self.expr(value, None)?;
        self.store(&t, v, value.pos)
    }

    fn call_statement(&mut self, e: &Expr) -> CResult<()> {
        let ExprKind::Name(n) = &e.kind else { return Err(self.pls(221, &[&"expression"], e.pos)) };
        if let [Part::Call(args)] = n.parts.as_slice()
            && n.first.name == "RAISE_APPLICATION_ERROR"
            && self.lookup("RAISE_APPLICATION_ERROR").is_none()
        {
            return self.raise_application_error(args, e.pos);
        }
        match self.resolve(n, None, true)? {
            Res::Done => Ok(()),
            Res::Val(_) | Res::Path(_) | Res::Cursor(_) => Err(self.pls(221, &[&super::name::shown_name(n)], e.pos)),
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
                    return Err(self.pls(456, &[&super::name::shown_name(&n)], e.pos));
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
            (true, Some(e)) => {
                let ty = self.f.returns.clone().expect("a function has a result");
                let d = Opd::local(0);
                self.assign_expr(d, &ty, e)?;
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

    fn sql_statement(&mut self, q: &ast::SqlText) -> CResult<()> {
        let ast::SqlText { kind, span, text: _, into: _, returning, current_of: _ } = q;
        if *kind == SqlKind::Select && q.into.is_none() {
            return Err(self.pls(428, &[], span.start));
        }
        let statement = self.static_sql(q)?;
        let into = match *kind {
            SqlKind::Select => q.into.as_ref(),
            _ => returning.as_ref(), // not a clause: DML
        };
        let Some((into, _)) = into else {
            let row = self.null();
            self.emit(Op::Execute { sql: statement.index, row });
            return Ok(());
        };
        self.sql_into(&statement, into, *kind == SqlKind::Select)
    }

    fn sql_into(&mut self, statement: &SqlStatement, into: &Into, query: bool) -> CResult<()> {
        let Into { bulk, targets: _, pos: _ } = into;
        if *bulk {
            let bulk = self.bulk_targets(into, Some(&statement.columns))?;
            self.emit(Op::BulkInto { sql: statement.index, bulk });
            return Ok(());
        }
        let (row, row_ty) = self.row_slot(&statement.columns);
        if query {
            self.emit(Op::SelectInto { sql: statement.index, row });
            return self.spread(row, &row_ty, into, true);
        }
        self.emit(Op::Execute { sql: statement.index, row });
        // No row was changed: the targets keep their values.
        let d = self.temp();
        self.emit(Op::SqlAttribute { what: Attribute::Found, d });
        let skip = self.emit(Op::JumpUnlessTrue { c: d, to: 0 });
        self.spread(row, &row_ty, into, true)?;
        self.patch(skip);
        Ok(())
    }

    /// A slot for a row of these columns.
    fn row_slot(&mut self, columns: &[ColumnInfo]) -> (Opd, Rc<RecordTy>) {
        let ty = Rc::new(row_type(columns));
        let row = self.lasting_temp();
        let template = self.template(Datum::Rec(Rc::new(ty.initial())));
        self.emit(Op::InitRow { d: row, template });
        (row, ty)
    }

    /// Assigns a fetched row to its targets.
    fn spread(&mut self, row: Opd, row_ty: &Rc<RecordTy>, into: &Into, sql: bool) -> CResult<()> {
        let mut targets = Vec::new();
        for e in &into.targets {
            targets.push((self.target_path(e).map_err(|x| self.into_error(x, e))?, e.pos));
        }
        if let [(TargetRef::Path(p), pos)] = targets.as_slice()
            && let Ty::Record(r) = &p.ty
        {
            if r.fields.len() != row_ty.fields.len() {
                return Err(if sql { types::Ora::new(913).at(into.pos) } else { self.pls(394, &[], into.pos) });
            }
            let v = Val { o: row, ty: Ty::Record(row_ty.clone()) };
            let (target, pos) = (TargetRef::Path(p.clone()), *pos);
            return self.store(&target, v, pos);
        }
        if targets.len() != row_ty.fields.len() {
            if !sql {
                return Err(self.pls(394, &[], into.pos));
            }
            let code = if targets.len() < row_ty.fields.len() { 913 } else { 947 };
            return Err(types::Ora::new(code).at(into.pos));
        }
        let Place::Local(slot) = row.place() else { unreachable!("a row is in a temporary") };
        for (i, (target, pos)) in targets.iter().enumerate() {
            let o = Opd::field(slot, i as u32).ok_or_else(|| self.pls(123, &[&"too many columns"], *pos))?;
            let saved = self.f.next;
            let v = Val { o, ty: row_ty.fields[i].ty.clone() };
            self.store(target, v, *pos)
                .map_err(|e| if e.code() == 382 { self.pls(597, &[&"expression"], *pos) } else { e })?;
            self.f.next = saved;
        }
        Ok(())
    }

    fn into_error(&self, error: types::Ora, e: &Expr) -> types::Ora {
        match (&e.kind, error.code()) {
            (ExprKind::Name(n), 363) => self.pls(403, &[&super::name::shown_name(n)], e.pos),
            _ => error,
        }
    }

    /// The targets of BULK COLLECT. Without known columns (a cursor variable) each target takes one.
    fn bulk_targets(&mut self, into: &Into, columns: Option<&[ColumnInfo]>) -> CResult<u32> {
        let mut targets = Vec::new();
        let mut first = 0;
        for e in &into.targets {
            let TargetRef::Path(p) = self.target_path(e)? else { return Err(self.pls(497, &[], e.pos)) };
            let Ty::Coll(c) = p.ty.clone() else { return Err(self.pls(497, &[], e.pos)) };
            let mut types = Vec::new();
            let (n, record) = match &c.element {
                Ty::Record(r) if into.targets.len() == 1 && r.flat() => {
                    for f in &r.fields {
                        let s = f.ty.scalar().expect("a flat record").clone();
                        types.push(self.target(&s));
                    }
                    (r.fields.len() as u32, true)
                }
                Ty::Scalar(s) => {
                    let s = s.clone();
                    types.push(self.target(&s));
                    (1, false)
                }
                _ => return Err(self.pls(597, &[&p.name], e.pos)),
            };
            let path = self.path(p.root, p.steps.clone());
            targets.push(BulkTarget { path, coll: c.info.clone(), first, n, record, types });
            first += n;
        }
        if let Some(columns) = columns
            && columns.len() as u32 != first
        {
            return Err(types::Ora::new(if columns.len() as u32 > first { 913 } else { 947 }).at(into.pos));
        }
        self.pool.bulks.push(Bulk { targets, width: first });
        Ok(self.pool.bulks.len() as u32 - 1)
    }

    fn forall(&mut self, variable: &Ident, bounds: &ForAllBounds, save: bool, sql: &StatementKind) -> CResult<()> {
        let counter = self.f.counters;
        self.f.counters += 1;
        self.f.counters_high = self.f.counters_high.max(self.f.counters);
        let i = self.temp();
        // INDICES OF and VALUES OF walk a collection; a range counts.
        let mut walk = None;
        let head;
        let mut collected = Vec::new();
        if let StatementKind::Sql(q) = sql
            && let Some((into, _)) = &q.returning
        {
            self.forall_targets(into, &mut collected)?;
        }
        self.emit(Op::ForAllBegin);
        match bounds {
            ForAllBounds::Range { low, high } => {
                let lo = self.expr(low, None)?.o;
                let hi = self.expr(high, None)?.o;
                self.emit(Op::ForAllFrom { lo });
                self.emit(Op::ForInit { counter, lo, hi, reverse: false });
                head = self.emit(Op::ForNext { counter, i, out: 0 });
            }
            ForAllBounds::IndicesOf { collection, between: _ } | ForAllBounds::ValuesOf(collection) => {
                let TargetRef::Path(p) = self.target_path(collection)? else {
                    return Err(self.pls(382, &[], collection.pos));
                };
                let Ty::Coll(c) = p.ty.clone() else { return Err(self.pls(382, &[], collection.pos)) };
                let at = self.temp();
                let null = self.null();
                let path = self.path(p.root, p.steps.clone());
                self.emit(Op::Collection { method: Method::First, d: at, path, a: null, b: null });
                let top = self.here();
                head = self.emit(Op::JumpIfNull { c: at, to: 0 });
                let mut skips = Vec::new();
                match bounds {
                    ForAllBounds::ValuesOf(_) => {
                        let mut steps = p.steps.clone();
                        steps.push(Step::Index { key: at, text: false });
                        let element = self.path(p.root, steps);
                        self.emit(Op::GetPath { d: i, path: element });
                        if c.element.class() != Class::Number {
                            return Err(self.pls(382, &[], collection.pos));
                        }
                    }
                    ForAllBounds::IndicesOf { collection: _, between: Some((low, high)) } => {
                        self.emit(Op::Move { d: i, s: at });
                        let lo = self.expr(low, None)?.o;
                        skips.push(self.emit(Op::CmpJump { op: Cmp::Ge, a: at, b: lo, to: 0 }));
                        let hi = self.expr(high, None)?.o;
                        skips.push(self.emit(Op::CmpJump { op: Cmp::Le, a: at, b: hi, to: 0 }));
                    }
                    ForAllBounds::IndicesOf { collection: _, between: None }
                    | ForAllBounds::Range { low: _, high: _ } => {
                        self.emit(Op::Move { d: i, s: at });
                    }
                }
                self.emit(Op::ForAllAt { i });
                walk = Some((path, at, top, skips));
            }
        }
        let top = self.here();
        let Place::Local(slot) = i.place() else { unreachable!("temporaries are local") };
        self.scopes.push(Scope::default());
        let symbol = Symbol::Var(Var { loc: self.loc_of(slot), ty: Ty::INTEGER, access: Access::LoopIndex });
        self.declare(variable, symbol)?;
        let from = self.here();
        let result = match sql {
            StatementKind::Sql(q) => self.forall_sql(q, &collected, save),
            // Targets of its RETURNING take positions among those of USING.
            StatementKind::ExecuteImmediate { text, using, into: _, returning: _ } => {
                self.execute_immediate(text, None, using, None)
            }
            _ => unreachable!("the parser takes only these"),
        };
        self.scopes.pop();
        result?;
        self.emit(Op::ForAllStep { save, from });
        if walk.is_none() {
            self.gather(counter, i, from);
        }
        if let Some((path, at, top, skips)) = walk {
            skips.into_iter().for_each(|j| self.patch(j));
            let null = self.null();
            self.emit(Op::Collection { method: Method::Next, d: at, path, a: at, b: null });
            self.emit(Op::Loop { to: top });
        } else {
            self.emit(Op::ForLoop { counter, i, body: top });
        }
        self.patch(head);
        self.emit(Op::ForAllEnd);
        for (target, v, pos) in collected {
            self.store(&target, v, pos)?;
        }
        Ok(())
    }

    /// Lets the iterations of the range from op `from` on be executed together, if every bind of their INSERT is an
    /// element at the subscript `i`, the subscript, or invariant.
    fn gather(&mut self, counter: u32, i: Opd, from: Label) {
        let ops = &self.f.ops[from as usize..];
        let sql = ops.iter().find_map(|op| if let Op::ExecuteLater { sql, .. } = op { Some(*sql) } else { None });
        let Some(sql) = sql else { return };
        let made =
            |o: Opd| ops.iter().find(|op| matches!(op, Op::GetPath { d, .. } | Op::Move { d, .. } if *d == o)).cloned();
        let source = |o: Opd| match made(o) {
            None => Some(if o == i { GatherFrom::Index } else { GatherFrom::Value(o) }),
            Some(Op::Move { s, .. }) if s == i => Some(GatherFrom::Index),
            Some(Op::Move { s, .. }) if made(s).is_none() => Some(GatherFrom::Value(s)),
            Some(Op::GetPath { path, .. }) => {
                let Path { root: Root::Slot(root), steps } = &self.pool.paths[path as usize] else { return None };
                let field = match steps.as_slice() {
                    [Step::Index { key, text: false }] if *key == i => None,
                    [Step::Index { key, text: false }, Step::Scalar(field)] if *key == i => Some(*field),
                    _ => return None,
                };
                made(*root).is_none().then_some(GatherFrom::Element { path, field })
            }
            Some(_) => None,
        };
        let binds: Option<Vec<GatherFrom>> = self.pool.sql[sql as usize].binds.iter().map(|o| source(*o)).collect();
        if let Some(binds) = binds {
            self.pool.gathers.push(Gather { sql, counter, binds });
            let gather = self.pool.gathers.len() as u32 - 1;
            self.emit(Op::ForAllGather { gather });
        }
    }

    /// Collections that RETURNING fills over all iterations. The loop may read the targets, so they are assigned after
    /// its end.
    fn forall_targets(&mut self, into: &Into, collected: &mut Vec<(TargetRef, Val, Pos)>) -> CResult<()> {
        if !into.bulk {
            return Err(self.pls(437, &[], into.pos));
        }
        for e in &into.targets {
            let target = self.target_path(e)?;
            let ty = target.ty();
            let Ty::Coll(c) = &ty else { return Err(self.pls(497, &[], e.pos)) };
            let o = self.temp();
            let template = self.template(Datum::Coll(Some(Rc::new(crate::datum::Coll::empty(&c.info)))));
            self.emit(Op::Init { d: o, template });
            collected.push((target, Val { o, ty }, e.pos));
        }
        Ok(())
    }

    fn forall_sql(&mut self, q: &ast::SqlText, collected: &[(TargetRef, Val, Pos)], save: bool) -> CResult<()> {
        let from = self.here();
        let statement = self.static_sql(q)?;
        let Some((into, _)) = &q.returning else {
            let row = self.null();
            let plain = self.f.ops[from as usize..].iter().all(|op| matches!(op, Op::GetPath { .. } | Op::Move { .. }));
            self.emit(match q.kind == SqlKind::Insert && plain {
                true => Op::ExecuteLater { sql: statement.index, row, save },
                false => Op::Execute { sql: statement.index, row },
            });
            return Ok(());
        };
        let bulk = self.bulk_targets(into, Some(&statement.columns))?;
        for (i, (_, v, _)) in collected.iter().enumerate() {
            let path = self.path(Root::Slot(v.o), Vec::new());
            self.pool.bulks[bulk as usize].targets[i].path = path;
        }
        self.emit(Op::BulkInto { sql: statement.index, bulk });
        Ok(())
    }

    // ---- cursors

    fn open(&mut self, cursor: &Expr, arguments: &[ast::Argument]) -> CResult<()> {
        let ExprKind::Name(n) = &cursor.kind else { return Err(self.pls(456, &[&"expression"], cursor.pos)) };
        match self.resolve(n, None, false)? {
            Res::Cursor(c) => self.open_cursor(&c, arguments, &n.first),
            _ => Err(self.pls(456, &[&super::name::shown_name(n)], cursor.pos)),
        }
    }

    fn open_cursor(&mut self, c: &Rc<CursorSym>, arguments: &[ast::Argument], ident: &Ident) -> CResult<()> {
        let sub = Rc::new(SubSym {
            invokers: false,
            name: c.name.clone(),
            parameters: c.parameters.clone(),
            returns: None,
            target: c.open.clone(),
            deterministic: false,
            overload: 0,
        });
        self.call(&[sub], arguments, ident, false).map(|_| ())
    }

    fn open_variable(&mut self, cursor: &Expr, op: impl Fn(&Self, Opd) -> Op) -> CResult<()> {
        let target = self.target_path(cursor).map_err(|e| {
            let name = match &cursor.kind {
                ExprKind::Name(n) => super::name::shown_name(n),
                _ => "expression".to_string(), // not a clause: a word for the message
            };
            if e.code() == 363 { self.pls(455, &[&name], cursor.pos) } else { e }
        })?;
        let ty = target.ty();
        if !matches!(ty, Ty::Cursor) && ty.data_type() != Some(DataType::Null) {
            return Err(self.pls(382, &[], cursor.pos));
        }
        let d = self.temp();
        let template = self.template(Datum::Cur(None));
        match &target {
            TargetRef::Path(_) => {
                let v = self.target_value(&target);
                self.emit(Op::Move { d, s: v.o });
            }
            TargetRef::Bind(..) => {
                self.emit(Op::Init { d, template });
            }
        }
        let op = op(self, d);
        self.emit(op);
        self.store(&target, Val { o: d, ty: Ty::Cursor }, cursor.pos)
    }

    fn fetch(&mut self, cursor: &Expr, into: &Into, limit: Option<&Expr>) -> CResult<()> {
        let row_ty = match &cursor.kind {
            ExprKind::Name(n) => match self.resolve(n, None, false)? {
                Res::Cursor(c) => Some(c.row.clone()),
                _ => None,
            },
            _ => None, // not a clause: no other expression has a known row
        };
        let c = self.cursor_operand(cursor, 456)?;
        if into.bulk {
            let columns: Option<Vec<ColumnInfo>> = row_ty.as_ref().map(|r| {
                let column = |f: &FieldTy| ColumnInfo {
                    name: f.name.clone(),
                    ty: f.ty.data_type().unwrap_or(DataType::Null),
                    nullable: true,
                };
                r.fields.iter().map(column).collect()
            });
            let bulk = self
                .bulk_targets(into, columns.as_deref())
                .map_err(|e| if matches!(e.code(), 913 | 947) { self.pls(394, &[], into.pos) } else { e })?;
            let limit = match limit {
                Some(e) => self.expr(e, None)?.o,
                None => self.null(),
            };
            self.emit(Op::FetchBulk { cursor: c, bulk, limit });
            return Ok(());
        }
        let row_ty = match row_ty {
            Some(r) => r,
            None => Rc::new(self.row_of_targets(into)?),
        };
        let row = self.temp();
        let template = self.template(Datum::Rec(Rc::new(row_ty.initial())));
        self.emit(Op::Init { d: row, template });
        let width = row_ty.fields.len() as u32;
        let at = self.emit(Op::Fetch { cursor: c, row, width, none: 0 });
        self.spread(row, &row_ty, into, false)?;
        self.patch(at);
        Ok(())
    }

    /// The row that targets expect from a cursor with unknown columns: any convertible values.
    fn row_of_targets(&mut self, into: &Into) -> CResult<RecordTy> {
        let saved = (self.f.ops.len(), self.f.next);
        let mut n = 0;
        for e in &into.targets {
            n += match self.target_path(e)?.ty() {
                Ty::Record(r) if into.targets.len() == 1 => r.fields.len(),
                _ => 1,
            };
        }
        self.f.ops.truncate(saved.0);
        self.f.lines.truncate(saved.0);
        self.f.next = saved.1;
        let any = |i: usize| ColumnInfo { name: format!("C{i}"), ty: DataType::Null, nullable: true };
        Ok(row_type(&(0..n).map(any).collect::<Vec<_>>()))
    }

    // ---- dynamic SQL

    fn dynamic(
        &mut self,
        text: &Expr,
        using: &[UsingArgument],
        into: u32,
        bulk: Option<u32>,
        returning: u32,
    ) -> CResult<(u32, Vec<(usize, TargetRef)>)> {
        let t = self.expr(text, None)?;
        if !assignable(t.ty.class(), Class::Text) {
            return Err(self.pls(382, &[], text.pos));
        }
        let d = self.temp();
        self.emit(Op::Move { d, s: t.o });
        let mut list = Vec::new();
        let mut outs = Vec::new();
        for (i, UsingArgument { mode, value }) in using.iter().enumerate() {
            let slot = self.temp();
            let ty = if *mode == Mode::In {
                let v = self.expr(value, None)?;
                self.emit(Op::Move { d: slot, s: v.o });
                v.ty
            } else {
                let target = self.target_path(value)?;
                let ty = target.ty();
                if *mode == Mode::InOut {
                    let v = self.target_value(&target);
                    self.emit(Op::Move { d: slot, s: v.o });
                } else {
                    self.init_slot(slot, &ty)?;
                }
                outs.push((i, target));
                ty
            };
            let dt = match ty.data_type() {
                Some(DataType::Boolean) | None if !matches!(ty, Ty::Cursor) => {
                    return Err(self.pls(457, &[], value.pos));
                }
                Some(dt) => unconstrained(dt),
                None => DataType::Cursor,
            };
            list.push((slot, dt, *mode != Mode::In));
        }
        self.pool.dynamics.push(Dynamic { text: d, using: list, into, bulk, returning });
        Ok((self.pool.dynamics.len() as u32 - 1, outs))
    }

    fn execute_immediate(
        &mut self,
        text: &Expr,
        into: Option<&Into>,
        using: &[UsingArgument],
        returning: Option<&Into>,
    ) -> CResult<()> {
        let targets = into.or(returning);
        let mut row_ty = None;
        let mut bulk = None;
        if let Some(t) = targets {
            if t.bulk {
                bulk = Some(self.bulk_targets(t, None)?);
            } else {
                row_ty = Some(Rc::new(self.row_of_targets(t)?));
            }
        }
        let width = row_ty.as_ref().map_or(0, |r| r.fields.len() as u32);
        let width = bulk.map_or(width, |b| self.pool.bulks[b as usize].width);
        let (into_n, returning_n) = if into.is_some() { (width, 0) } else { (0, width) };
        let (dynamic, outs) = self.dynamic(text, using, into_n, bulk, returning_n)?;
        let row = match &row_ty {
            Some(ty) => {
                let row = self.temp();
                let template = self.template(Datum::Rec(Rc::new(ty.initial())));
                self.emit(Op::Init { d: row, template });
                row
            }
            None => self.null(),
        };
        self.emit(Op::ExecuteImmediate { dynamic, row });
        if let (Some(t), Some(ty)) = (targets, &row_ty) {
            let skip = if into.is_none() {
                let d = self.temp();
                self.emit(Op::SqlAttribute { what: Attribute::Found, d });
                Some(self.emit(Op::JumpUnlessTrue { c: d, to: 0 }))
            } else {
                None
            };
            self.spread(row, ty, t, true)?;
            if let Some(j) = skip {
                self.patch(j);
            }
        }
        for (i, target) in outs {
            let (o, _, _) = self.pool.dynamics[dynamic as usize].using[i];
            let ty = match target.ty() {
                Ty::Cursor => Ty::Cursor,
                _ => Ty::of(DataType::Null),
            };
            self.store(&target, Val { o, ty }, using[i].value.pos)?;
        }
        Ok(())
    }
}
