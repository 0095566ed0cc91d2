//! Statements of SQL: static and dynamic ones, cursors, INTO.

use super::compiler::{CResult, Compiler, Val};
use super::scope::*;
use super::sqlgen::Statement as SqlStatement;
use super::symbols::{PathB, Res, TargetRef, shown_name};
use crate::datum::Datum;
use crate::op::*;
use crate::ty::*;
use crate::world::{ColumnInfo, World};
use sql::plsql::ast::{self, Expr, ExprKind, Ident, Into, Mode, Pos, SqlKind, SqlText, UsingArgument};
use std::rc::Rc;
use types::{DataType, Ora};

impl<W: World> Compiler<'_, W> {
    pub(super) fn sql_statement(&mut self, q: &ast::SqlText) -> CResult<()> {
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

    pub(super) fn sql_into(&mut self, statement: &SqlStatement, into: &Into, query: bool) -> CResult<()> {
        let Into { bulk, targets: _, pos: _ } = into;
        if *bulk {
            let (bulk, copies) = self.bulk_targets(into, Some(&statement.columns))?;
            self.emit(Op::BulkInto { sql: statement.index, bulk });
            return copies.iter().try_for_each(|copy| self.write_back(copy, into.pos));
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

    /// The value of a query of one row and one column.
    pub(super) fn sql_value(&mut self, query: &SqlText) -> CResult<Val> {
        let statement = self.static_sql(query)?;
        let [column] = &statement.columns[..] else { return Err(Ora::new(936)) };
        let ty = Ty::of(column.ty);
        let (row, _) = self.row_slot(&statement.columns);
        self.emit(Op::SelectInto { sql: statement.index, row });
        let Place::Local(slot) = row.place() else { unreachable!("temporaries are local") };
        let o = Opd::field(slot, 0).ok_or_else(|| Ora::pls(123, &[&"too many variables"]))?;
        Ok(Val { o, ty })
    }

    /// A slot for a row of these columns.
    pub(super) fn row_slot(&mut self, columns: &[ColumnInfo]) -> (Opd, Rc<RecordTy>) {
        let ty = Rc::new(row_type(columns));
        let row = self.lasting_temp();
        let template = self.template(Datum::Rec(Rc::new(ty.initial())));
        self.emit(Op::InitRow { d: row, template });
        (row, ty)
    }

    /// Assigns a fetched row to its targets.
    pub(super) fn spread(&mut self, row: Opd, row_ty: &Rc<RecordTy>, into: &Into, sql: bool) -> CResult<()> {
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

    pub(super) fn into_error(&self, error: types::Ora, e: &Expr) -> types::Ora {
        match (&e.kind, error.code()) {
            (ExprKind::Name(n), 363) => self.pls(403, &[&shown_name(n)], e.pos),
            _ => error,
        }
    }

    /// The conversion of a fetched value: none of an object whose type is that of the query's column.
    fn fetched(&mut self, s: &ScalarTy, column: Option<&ColumnInfo>, (name, pos): (&str, Pos)) -> CResult<u32> {
        let (DataType::Named(to), Some(DataType::Named(from))) = (s.ty, column.map(|column| column.ty)) else {
            return Ok(self.target(s));
        };
        if !self.is_under(from, to)? {
            return Err(self.pls(597, &[&name], pos));
        }
        Ok(self.target(&ScalarTy { ty: DataType::Null, not_null: s.not_null, range: None }))
    }

    /// The targets of BULK COLLECT. Without known columns (a cursor variable) each target takes one.
    ///
    /// The caller writes the returned copies of attributes back when the rows are there.
    pub(super) fn bulk_targets(&mut self, into: &Into, columns: Option<&[ColumnInfo]>) -> CResult<(u32, Vec<PathB>)> {
        let (mut targets, mut copies) = (Vec::new(), Vec::new());
        let mut first = 0;
        for e in &into.targets {
            let TargetRef::Path(p) = self.target_path(e)? else { return Err(self.pls(497, &[], e.pos)) };
            let p = self.entered(p);
            if p.back.is_some() {
                copies.push(p.clone());
            }
            let Ty::Coll(c) = p.ty.clone() else { return Err(self.pls(497, &[], e.pos)) };
            let mut types = Vec::new();
            let (n, record) = match &c.element {
                Ty::Record(r) if into.targets.len() == 1 && r.flat() => {
                    for (at, f) in r.fields.iter().enumerate() {
                        let s = f.ty.scalar().expect("a flat record").clone();
                        types.push(self.fetched(&s, columns.and_then(|all| all.get(at)), (&p.name, e.pos))?);
                    }
                    (r.fields.len() as u32, true)
                }
                Ty::Scalar(s) => {
                    let column = columns.and_then(|all| all.get(first as usize));
                    types.push(self.fetched(s, column, (&p.name, e.pos))?);
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
        Ok((self.pool.bulks.len() as u32 - 1, copies))
    }

    pub(super) fn open(&mut self, cursor: &Expr, arguments: &[ast::Argument]) -> CResult<()> {
        let ExprKind::Name(n) = &cursor.kind else { return Err(self.pls(456, &[&"expression"], cursor.pos)) };
        match self.resolve(n, None, false)? {
            Res::Cursor(c) => self.open_cursor(&c, arguments, &n.first),
            _ => Err(self.pls(456, &[&shown_name(n)], cursor.pos)),
        }
    }

    pub(super) fn open_cursor(&mut self, c: &Rc<CursorSym>, arguments: &[ast::Argument], ident: &Ident) -> CResult<()> {
        let sub = Rc::new(SubSym {
            is_pipelined: false,
            accessible_by: Rc::from([]),
            invokers: false,
            name: c.name.clone(),
            parameters: c.parameters.clone(),
            returns: None,
            target: c.open.clone(),
            deterministic: false,
            overload: 0,
            method: None,
        });
        self.call(&[sub], arguments, ident, false).map(|_| ())
    }

    pub(super) fn open_variable(&mut self, cursor: &Expr, op: impl Fn(&Self, Opd) -> Op) -> CResult<()> {
        let target = self.target_path(cursor).map_err(|e| {
            let name = match &cursor.kind {
                ExprKind::Name(n) => shown_name(n),
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

    pub(super) fn fetch(&mut self, cursor: &Expr, into: &Into, limit: Option<&Expr>) -> CResult<()> {
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
            let (bulk, copies) = self
                .bulk_targets(into, columns.as_deref())
                .map_err(|e| if matches!(e.code(), 913 | 947) { self.pls(394, &[], into.pos) } else { e })?;
            let limit = match limit {
                Some(e) => self.expr(e, None)?.o,
                None => self.null(),
            };
            self.emit(Op::FetchBulk { cursor: c, bulk, limit });
            return copies.iter().try_for_each(|copy| self.write_back(copy, into.pos));
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
    pub(super) fn row_of_targets(&mut self, into: &Into) -> CResult<RecordTy> {
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

    pub(super) fn dynamic(
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

    pub(super) fn execute_immediate(
        &mut self,
        text: &Expr,
        into: Option<&Into>,
        using: &[UsingArgument],
        returning: Option<&Into>,
    ) -> CResult<()> {
        let targets = into.or(returning);
        let mut row_ty = None;
        let (mut bulk, mut copies) = (None, Vec::new());
        if let Some(t) = targets {
            if t.bulk {
                let (targets, found) = self.bulk_targets(t, None)?;
                (bulk, copies) = (Some(targets), found);
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
        for copy in &copies {
            self.write_back(copy, text.pos)?;
        }
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
