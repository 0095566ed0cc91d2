//! Expressions.

use super::compiler::{CResult, Compiler, Val};
use super::operators::{comparison, is_comparison, is_operator, is_simple, is_whole_literal};
use super::symbols::{Operands, Res, TargetRef, shown_name};
use crate::datum::CollKind;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{self, BinaryOp, CursorAttribute, Expr, ExprKind, Name, Pos, UnaryOp};
use types::{DataType, FloatTest, Value};

impl<W: World> Operands for Compiler<'_, W> {
    fn operand(&mut self, e: &Expr, want: Option<Opd>) -> CResult<Val> {
        self.expr(e, want)
    }

    fn out_operand(&mut self, e: &Expr) -> CResult<TargetRef> {
        self.target_path(e)
    }

    fn compared(&mut self, op: Cmp, objects: (Val, Val), pos: Pos) -> CResult<Val> {
        self.compare_objects(op, objects, pos)
    }
}

impl<W: World> Compiler<'_, W> {
    /// Compiles an expression. A computed result goes to `want` if that is given; for a variable or constant the
    /// operand names its place.
    pub(super) fn expr(&mut self, e: &Expr, want: Option<Opd>) -> CResult<Val> {
        self.check_nesting(e.pos)?;
        match &e.kind {
            ExprKind::Null => Ok(Val { o: self.null(), ty: Ty::Null }),
            ExprKind::Boolean(b) => Ok(Val { o: self.constant(Value::Boolean(*b)), ty: Ty::BOOLEAN }),
            ExprKind::Number(text) => self.number(text, e.pos),
            // Only qualified expressions have choices.
            ExprKind::Association { choices: _, value: _ } => Err(self.pls(382, &[], e.pos)),
            ExprKind::Inquiry(name) => Ok(self.inquiry(name, e.pos)),
            ExprKind::String(s) => {
                let len = s.len() as u32;
                let o = self.constant(Value::text(s.as_str()));
                let ty =
                    if s.is_empty() { Ty::TEXT } else { Ty::of(DataType::Char { len, unit: types::LenUnit::Byte }) };
                Ok(Val { o, ty })
            }
            ExprKind::Date(s) => {
                let date =
                    types::format::date_from_text(s, "YYYY-MM-DD", self.w.borrow().nls()).map_err(|x| x.at(e.pos))?;
                Ok(Val { o: self.constant(Value::Date(date)), ty: Ty::of(DataType::Date) })
            }
            ExprKind::Timestamp(s) => {
                let t = types::format::timestamp_literal(s, self.w.borrow().nls()).map_err(|x| x.at(e.pos))?;
                let zone = if t.zone().is_some() { types::Zone::WithTimeZone } else { types::Zone::None };
                let ty = Ty::of(DataType::Timestamp { digits: 9, zone });
                Ok(Val { o: self.constant(Value::Timestamp(t)), ty })
            }
            ExprKind::Interval { text, qualifier } => self.interval(text, qualifier, e.pos),
            ExprKind::Bind { name, field } if self.rows.is_some() => {
                let path = self.row_column(name, field.as_ref(), false, e.pos)?;
                let path = path.ok_or_else(|| self.pls(49, &[name], e.pos))?;
                Ok(self.path_value(&path, want))
            }
            ExprKind::Bind { name, field: None } => {
                let bind = self.host_bind(name, e.pos)?;
                let d = want.filter(|w| w.is_local()).unwrap_or_else(|| self.temp());
                self.emit(Op::BindGet { d, bind });
                Ok(Val { o: d, ty: self.bind_ty(bind) })
            }
            ExprKind::Bind { name, field: _ } => Err(self.pls(49, &[&name], e.pos)),
            ExprKind::Name(n) | ExprKind::New(n) => self.name_value(n, e.pos, want),
            ExprKind::Treat { operand, ty, parts } => match self.treated(operand, ty, parts, want, false)? {
                Res::Path(p) => Ok(self.path_value(&p, want)),
                Res::Val(v) => Ok(v),
                Res::Done | Res::Cursor(_) => Err(self.pls(382, &[], e.pos)),
            },
            ExprKind::IsOf { operand, types, negated } => {
                let is = self.is_of(operand, types)?;
                Ok(self.negate_if(is, *negated))
            }
            ExprKind::CursorAttribute { cursor, attribute } => self.cursor_attribute(cursor, *attribute, want),
            ExprKind::BulkRowCount(index) => {
                let i = self.expr(index, None)?;
                let d = self.result(want);
                self.emit(Op::BulkRowCount { d, index: i.o });
                Ok(Val { o: d, ty: Ty::INTEGER })
            }
            ExprKind::Sql(query) => self.sql_value(query),
            ExprKind::BulkErrors => {
                let d = self.result(want);
                self.emit(Op::BulkErrors { d });
                Ok(Val { o: d, ty: Ty::INTEGER })
            }
            ExprKind::BulkError { index, code } => {
                let i = self.expr(index, None)?;
                let d = self.result(want);
                self.emit(Op::BulkError { d, index: i.o, code: *code });
                Ok(Val { o: d, ty: Ty::INTEGER })
            }
            ExprKind::Unary { op, operand } => self.unary(*op, operand, e.pos, want),
            ExprKind::Binary { op, left: _, right: _ } if is_operator(*op) => self.operators(e, want),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right, e, want),
            ExprKind::IsNull { operand, negated } => {
                let v = self.expr(operand, None)?;
                let d = self.result(want);
                self.emit(Op::IsNull { d, s: v.o, negated: *negated });
                Ok(Val { o: d, ty: Ty::BOOLEAN })
            }
            ExprKind::IsFloat { operand, test, negated } => {
                let is = self.is_float(operand, *test, e.pos, want)?;
                Ok(self.negate_if(is, *negated))
            }
            ExprKind::IsEmpty { operand, negated } => {
                let v = self.expr(operand, None)?;
                if !matches!(v.ty, Ty::Coll(_)) {
                    return Err(self.pls(306, &[&"IS EMPTY"], e.pos));
                }
                let d = self.result(want);
                self.emit(Op::IsEmpty { d, s: v.o });
                Ok(self.negate_if(Val { o: d, ty: Ty::BOOLEAN }, *negated))
            }
            ExprKind::IsASet { operand, negated } => {
                let v = self.expr(operand, None)?;
                if !is_multiset(&v.ty, false) {
                    return Err(self.pls(306, &[&"IS A SET"], e.pos));
                }
                let d = self.result(want);
                self.emit(Op::IsASet { d, s: v.o });
                Ok(self.negate_if(Val { o: d, ty: Ty::BOOLEAN }, *negated))
            }
            ExprKind::Submultiset { operand, collection, negated } => {
                let a = self.held(operand)?;
                let b = self.expr(collection, None)?;
                if !is_multiset(&a.ty, false) || !is_multiset(&b.ty, false) {
                    return Err(self.pls(306, &[&"SUBMULTISET"], e.pos));
                }
                let d = self.result(want);
                self.emit(Op::IsSubmultiset { d, a: a.o, b: b.o });
                Ok(self.negate_if(Val { o: d, ty: Ty::BOOLEAN }, *negated))
            }
            ExprKind::Between { operand, low, high, negated } => {
                let v = self.held(operand)?;
                let a = self.compare(Cmp::Ge, v.clone(), low, e.pos)?;
                let b = self.compare(Cmp::Le, v, high, e.pos)?;
                let d = self.result(want);
                self.emit(Op::And { d, a: a.o, b: b.o });
                Ok(self.negate_if(Val { o: d, ty: Ty::BOOLEAN }, *negated))
            }
            ExprKind::In { operand, list, negated } => {
                let v = self.held(operand)?;
                let d = self.temp();
                let mut jumps = Vec::new();
                for (i, item) in list.iter().enumerate() {
                    let saved = self.f.next;
                    let c = self.compare(Cmp::Eq, v.clone(), item, item.pos)?;
                    if i == 0 {
                        self.emit(Op::Move { d, s: c.o });
                    } else {
                        self.emit(Op::Or { d, a: d, b: c.o });
                    }
                    self.f.next = saved;
                    jumps.push(self.emit(Op::JumpIfTrue { c: d, to: 0 }));
                }
                jumps.into_iter().for_each(|j| self.patch(j));
                Ok(self.negate_if(Val { o: d, ty: Ty::BOOLEAN }, *negated))
            }
            ExprKind::Like { operand, pattern, escape, negated } => {
                let a = self.text_operand(operand)?;
                let p = self.text_operand(pattern)?;
                let escape = match escape {
                    Some(x) => self.text_operand(x)?.o,
                    None => self.null(),
                };
                let d = self.result(want);
                self.emit(Op::Like { d, a: a.o, pattern: p.o, escape });
                Ok(self.negate_if(Val { o: d, ty: Ty::BOOLEAN }, *negated))
            }
            ExprKind::MemberOf { operand, collection, negated } => {
                let a = self.held(operand)?;
                let c = self.expr(collection, None)?;
                if !matches!(c.ty, Ty::Coll(_)) {
                    return Err(self.pls(306, &[&"MEMBER OF"], e.pos));
                }
                let d = self.result(want);
                self.emit(Op::MemberOf { d, a: a.o, coll: c.o });
                Ok(self.negate_if(Val { o: d, ty: Ty::BOOLEAN }, *negated))
            }
            ExprKind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref(), e.pos)
            }
            ExprKind::Cast { operand, ty } => {
                let v = self.expr(operand, None)?;
                let ty = self.type_ref(ty)?;
                let Ty::Scalar(s) = &ty else { return Err(self.pls(382, &[], e.pos)) };
                let d = self.result(want);
                if matches!(s.ty, DataType::Named(_)) {
                    self.convert_into(d, &ty, v, e.pos)?;
                    return Ok(Val { o: d, ty });
                }
                let target = self.target(s);
                self.emit(Op::Coerce { d, s: v.o, ty: target });
                Ok(Val { o: d, ty })
            }
            ExprKind::AtTimeZone { operand, zone } => {
                let args: Vec<&Expr> = std::iter::once(&**operand).chain(zone.as_deref()).collect();
                self.function(functions::AT_TIME_ZONE, &args, e.pos, want)
            }
            ExprKind::Extract { field, operand } => {
                let name = Expr { kind: ExprKind::String(field.clone()), pos: e.pos };
                let v = self.function("EXTRACT", &[&name, operand], e.pos, want)?;
                Ok(match field.as_str() {
                    "TIMEZONE_REGION" | "TIMEZONE_ABBR" => Val { ty: Ty::TEXT, ..v },
                    _ => v,
                })
            }
            ExprKind::Trim { mode, set, operand } => {
                let function = match mode {
                    ast::TrimMode::Both => "TRIM",
                    ast::TrimMode::Leading => "LTRIM",
                    ast::TrimMode::Trailing => "RTRIM",
                };
                let blank = Expr { kind: ExprKind::String(" ".into()), pos: e.pos };
                let set = set.as_deref().unwrap_or(&blank);
                if function == "TRIM" {
                    let left = self.function("LTRIM", &[operand, set], e.pos, None)?;
                    return self.function_over("RTRIM", left, set, e.pos, want);
                }
                self.function(function, &[operand, set], e.pos, want)
            }
        }
    }

    /// Compiles an operand that is read more than once.
    fn held(&mut self, e: &Expr) -> CResult<Val> {
        self.expr(e, None)
    }

    /// `IS NAN` or `IS INFINITE`: whether the operand, as a BINARY_DOUBLE, equals one of the test's values.
    fn is_float(&mut self, operand: &Expr, test: FloatTest, pos: Pos, want: Option<Opd>) -> CResult<Val> {
        let v = self.expr(operand, None)?;
        if !matches!(v.ty.class(), Class::Number | Class::Float | Class::Text | Class::Null) {
            return Err(self.pls(306, &[&format_args!("IS {test}")], pos));
        }
        let double = Ty::of(DataType::BinaryDouble);
        let value = self.temp();
        self.convert_into(value, &double, v, pos)?;
        let d = self.result(want);
        for (i, x) in test.values().iter().enumerate() {
            let x = self.constant(Value::Double(*x));
            if i == 0 {
                self.emit(Op::Cmp { op: Cmp::Eq, d, a: value, b: x });
            } else {
                let is = self.temp();
                self.emit(Op::Cmp { op: Cmp::Eq, d: is, a: value, b: x });
                self.emit(Op::Or { d, a: d, b: is });
            }
        }
        Ok(Val { o: d, ty: Ty::BOOLEAN })
    }

    fn negate_if(&mut self, v: Val, negated: bool) -> Val {
        if negated {
            self.emit(Op::Not { d: v.o, s: v.o });
        }
        v
    }

    fn interval(&mut self, text: &str, qualifier: &str, pos: Pos) -> CResult<Val> {
        // The qualifier has SQL's syntax and meaning.
        let parsed = sql::parse_expression(&format!("INTERVAL '0' {qualifier}")).map_err(|e| e.at(pos))?;
        let sql::ast::ExprKind::Literal(sql::ast::Literal::Interval { text: _, qualifier }) = parsed.kind else {
            return Err(types::Ora::new(1867).at(pos));
        };
        let (value, _) = plan::interval_value(text, &qualifier, pos)?;
        let ty = value.data_type();
        Ok(Val { o: self.constant(value), ty: Ty::of(ty) })
    }

    pub(super) fn name_value(&mut self, n: &Name, pos: Pos, want: Option<Opd>) -> CResult<Val> {
        match self.resolve(n, want, false)? {
            Res::Path(p) => Ok(self.path_value(&p, want)),
            Res::Val(v) => Ok(v),
            Res::Done => Err(self.pls(222, &[&shown_name(n)], pos)),
            Res::Cursor(_) => Err(self.pls(382, &[], pos)),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr, e: &Expr, want: Option<Opd>) -> CResult<Val> {
        match op {
            BinaryOp::And | BinaryOp::Or => self.logical(op, left, right, e.pos),
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let a = self.expr(left, None)?;
                let b = self.expr(right, None)?;
                self.compare_values(comparison(op), a, b, e.pos, want)
            }
            _ => {
                let a = self.expr(left, None)?;
                let b = self.expr(right, None)?;
                let BinaryOp::Multiset { op, distinct } = op else { return Err(self.pls(382, &[], e.pos)) };
                let (name, op) = match op {
                    ast::MultisetOp::Union => ("UNION", MultisetOp::Union),
                    ast::MultisetOp::Intersect => ("INTERSECT", MultisetOp::Intersect),
                    ast::MultisetOp::Except => ("EXCEPT", MultisetOp::Except),
                };
                let is_plain = op == MultisetOp::Union && !distinct;
                if !is_multiset(&a.ty, is_plain) || !is_multiset(&b.ty, is_plain) {
                    let kind = if distinct { "DISTINCT" } else { "ALL" };
                    return Err(self.pls(306, &[&format_args!("MULTISET_{name}_{kind}")], e.pos));
                }
                let d = self.temp();
                self.emit(Op::Multiset { op, distinct, d, a: a.o, b: b.o });
                Ok(Val { o: d, ty: a.ty })
            }
        }
    }

    /// A chain of arithmetic operators and `||`. It groups to the left and may be long, so it is compiled in a loop
    /// instead of recursively, and all results but the last share a slot.
    fn operators(&mut self, e: &Expr, want: Option<Opd>) -> CResult<Val> {
        let (mut links, mut first) = (Vec::new(), e);
        while let ExprKind::Binary { op, left, right } = &first.kind
            && is_operator(*op)
        {
            links.push((*op, &**left, &**right, first.pos));
            first = left;
        }
        let operand = |c: &mut Self, op, e: &Expr| match op {
            BinaryOp::Concat => c.text_operand(e),
            _ => c.expr(e, None), // not a clause: other operators take any value
        };
        let mut a = operand(self, links.last().map_or(BinaryOp::Add, |(op, ..)| *op), first)?;
        let (mut slot, mut next) = (None, self.f.next);
        // `c := c || x || y` appends `x || y` to `c`, which is not copied: the grouping of `||` does not matter.
        if let Some(d) = want.filter(|d| *d == a.o && links.len() > 1)
            && links.iter().all(|(op, ..)| *op == BinaryOp::Concat)
        {
            let (mut tail, mut tail_ty): (Option<Opd>, Ty) = (None, Ty::TEXT);
            while let Some((_, _, right, _)) = links.pop() {
                let b = self.text_operand(right)?;
                let Some(so_far) = tail else {
                    (tail, tail_ty) = (Some(b.o), b.ty);
                    continue;
                };
                let t = self.result(slot);
                // With any grouping, the result is a CLOB when `c` is.
                tail_ty = self.concat((t, so_far, b.o), [&a.ty, &tail_ty, &b.ty]);
                tail = Some(t);
                match slot {
                    None => (slot, next) = (Some(t), self.f.next),
                    Some(_) => self.f.next = next,
                }
            }
            let ty = self.concat((d, d, tail.unwrap_or(d)), [&a.ty, &tail_ty]);
            return Ok(Val { o: d, ty });
        }
        while let Some((op, left, right, pos)) = links.pop() {
            let mut b = operand(self, op, right)?;
            // A literal beside a SIMPLE_INTEGER is one, too.
            if matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) {
                if is_simple(&a.ty) && is_whole_literal(right) {
                    b.ty = Ty::SIMPLE_INTEGER;
                } else if is_simple(&b.ty) && is_whole_literal(left) {
                    a.ty = Ty::SIMPLE_INTEGER;
                }
            }
            let want = if links.is_empty() { want.or(slot) } else { slot };
            a = if op == BinaryOp::Concat {
                let d = self.result(want);
                let ty = self.concat((d, a.o, b.o), [&a.ty, &b.ty]);
                Val { o: d, ty }
            } else {
                self.arithmetic(op, a, b, pos, want)?
            };
            match slot {
                None => (slot, next) = (Some(a.o), self.f.next),
                Some(_) => self.f.next = next,
            }
        }
        Ok(a)
    }

    /// Short circuit: the right side is not evaluated when the left one decides.
    fn logical(&mut self, op: BinaryOp, left: &Expr, right: &Expr, pos: Pos) -> CResult<Val> {
        let d = self.temp();
        let a = self.expr(left, Some(d))?;
        self.boolean(&a, op, pos)?;
        if a.o != d {
            self.emit(Op::Move { d, s: a.o });
        }
        let jump = match op {
            BinaryOp::And => self.emit(Op::JumpIfFalse { c: d, to: 0 }),
            _ => self.emit(Op::JumpIfTrue { c: d, to: 0 }), // not a clause: OR
        };
        let saved = self.f.next;
        let b = self.expr(right, None)?;
        self.boolean(&b, op, pos)?;
        match op {
            BinaryOp::And => self.emit(Op::And { d, a: d, b: b.o }),
            _ => self.emit(Op::Or { d, a: d, b: b.o }), // not a clause: OR
        };
        self.f.next = saved;
        self.patch(jump);
        Ok(Val { o: d, ty: Ty::BOOLEAN })
    }

    fn boolean(&self, v: &Val, op: BinaryOp, pos: Pos) -> CResult<()> {
        match v.ty.class() {
            Class::Boolean | Class::Null => Ok(()),
            _ => Err(self.pls(306, &[&if op == BinaryOp::And { "AND" } else { "OR" }], pos)),
        }
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        branches: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        pos: Pos,
    ) -> CResult<Val> {
        let d = self.temp();
        let subject = match operand {
            Some(e) => Some(self.held(e)?),
            None => None,
        };
        let mut ends = Vec::new();
        let mut ty: Option<Ty> = None;
        for (when, then) in branches {
            let saved = self.f.next;
            let skip = match &subject {
                Some(s) => {
                    let b = self.expr(when, None)?;
                    let c = self.compare_values(Cmp::Eq, s.clone(), b, when.pos, None)?;
                    vec![self.emit(Op::JumpUnlessTrue { c: c.o, to: 0 })]
                }
                None => self.jump_unless(when)?,
            };
            self.case_result(then, d, &mut ty)?;
            ends.push(self.emit(Op::Jump { to: 0 }));
            skip.into_iter().for_each(|j| self.patch(j));
            self.f.next = saved;
        }
        match otherwise {
            Some(e) => self.case_result(e, d, &mut ty)?,
            None => {
                let null = self.null();
                self.emit(Op::Move { d, s: null });
            }
        }
        ends.into_iter().for_each(|j| self.patch(j));
        let _ = pos;
        Ok(Val { o: d, ty: ty.unwrap_or(Ty::Null) })
    }

    fn cursor_attribute(&mut self, cursor: &Expr, attribute: CursorAttribute, want: Option<Opd>) -> CResult<Val> {
        let (what, ty) = match attribute {
            CursorAttribute::Found => (Attribute::Found, Ty::BOOLEAN),
            CursorAttribute::NotFound => (Attribute::NotFound, Ty::BOOLEAN),
            CursorAttribute::IsOpen => (Attribute::IsOpen, Ty::BOOLEAN),
            CursorAttribute::RowCount => (Attribute::RowCount, Ty::INTEGER),
        };
        let implicit =
            matches!(&cursor.kind, ExprKind::Name(Name { first, parts }) if parts.is_empty() && first.name == "SQL");
        if implicit {
            let d = self.result(want);
            self.emit(Op::SqlAttribute { what, d });
            return Ok(Val { o: d, ty });
        }
        let c = self.cursor_operand(cursor, 324)?;
        let d = self.result(want);
        self.emit(Op::CursorAttribute { what, d, cursor: c });
        Ok(Val { o: d, ty })
    }

    /// The slot of a cursor or cursor variable.
    pub(super) fn cursor_operand(&mut self, e: &Expr, code: u32) -> CResult<Opd> {
        match &e.kind {
            ExprKind::Name(n) => match self.resolve(n, None, false)? {
                Res::Cursor(c) => Ok(self.loc_operand(&c.loc.clone())),
                Res::Path(p) if matches!(p.ty, Ty::Cursor) => Ok(self.path_value(&p, None).o),
                _ => Err(self.pls(code, &[&shown_name(n)], e.pos)),
            },
            ExprKind::Bind { name: _, field: _ } => Ok(self.expr(e, None)?.o),
            _ => Err(self.pls(code, &[&"expression"], e.pos)),
        }
    }

    // ---- conditions

    /// Emits jumps that are taken unless the condition is true; the caller patches them.
    pub(super) fn jump_unless(&mut self, e: &Expr) -> CResult<Vec<usize>> {
        let saved = self.f.next;
        let jumps = match &e.kind {
            ExprKind::Binary { op: BinaryOp::And, left, right } => {
                let mut jumps = self.jump_unless(left)?;
                jumps.extend(self.jump_unless(right)?);
                jumps
            }
            ExprKind::Binary { op, left, right } if is_comparison(*op) => {
                self.compare_jump(comparison(*op), left, right, e.pos)?
            }
            ExprKind::Unary { op: UnaryOp::Not, operand } => match &operand.kind {
                ExprKind::Binary { op, left, right } if is_comparison(*op) => {
                    self.compare_jump(comparison(*op).negate(), left, right, e.pos)?
                }
                _ => self.value_jump(e)?, // not a clause: the value is computed and tested
            },
            _ => self.value_jump(e)?, // not a clause: the value is computed and tested
        };
        self.f.next = saved;
        Ok(jumps)
    }

    fn compare_jump(&mut self, op: Cmp, left: &Expr, right: &Expr, pos: Pos) -> CResult<Vec<usize>> {
        let a = self.expr(left, None)?;
        let b = self.expr(right, None)?;
        self.compare_jump_values(op, a, b, pos)
    }

    /// Emits jumps, to be patched, that are taken unless the comparison holds.
    pub(super) fn compare_jump_values(&mut self, op: Cmp, a: Val, b: Val, pos: Pos) -> CResult<Vec<usize>> {
        if self.are_objects(&a, &b) || self.comparable(op, &a, &b, pos)? || matches!(a.ty, Ty::Coll(_)) {
            let same = self.compare_values(op, a, b, pos, None)?;
            return Ok(vec![self.emit(Op::JumpUnlessTrue { c: same.o, to: 0 })]);
        }
        Ok(vec![self.emit(Op::CmpJump { op, a: a.o, b: b.o, to: 0 })])
    }

    fn value_jump(&mut self, e: &Expr) -> CResult<Vec<usize>> {
        let v = self.expr(e, None)?;
        if !matches!(v.ty.class(), Class::Boolean | Class::Null) {
            return Err(self.pls(382, &[], e.pos));
        }
        Ok(vec![self.emit(Op::JumpUnlessTrue { c: v.o, to: 0 })])
    }
}

/// Whether a type is one of nested tables of scalars; `of_any`: of any elements.
pub(super) fn is_multiset(ty: &Ty, of_any: bool) -> bool {
    let Ty::Coll(c) = ty else { return false };
    c.info.kind == CollKind::Nested && (of_any || c.element.scalar().is_some())
}
