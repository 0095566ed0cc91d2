//! Expressions.

use super::name::{PathB, Res, TargetRef};
use super::{CResult, Compiler, Val};
use crate::datum::CollKind;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{self, BinaryOp, CursorAttribute, Expr, ExprKind, Name, Part, Pos, UnaryOp};
use types::{DataType, FloatTest, Number, Value};

impl<W: World> Compiler<'_, W> {
    /// Compiles an expression. A computed result goes to `want` if that is given; for a variable or constant the
    /// operand names its place.
    pub(super) fn expr(&mut self, e: &Expr, want: Option<Opd>) -> CResult<Val> {
        self.check_nesting(e.pos)?;
        match &e.kind {
            ExprKind::Null => Ok(Val { o: self.null(), ty: Ty::Null }),
            ExprKind::Boolean(b) => Ok(Val { o: self.constant(Value::Boolean(*b)), ty: Ty::BOOLEAN }),
            ExprKind::Number(text) => self.number(text, e.pos),
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
            ExprKind::Bind { name, field: None } => {
                let bind = self.host_bind(name, e.pos)?;
                let d = want.filter(|w| w.is_local()).unwrap_or_else(|| self.temp());
                self.emit(Op::BindGet { d, bind });
                Ok(Val { o: d, ty: self.bind_ty(bind) })
            }
            ExprKind::Bind { name, field: _ } => Err(self.pls(49, &[&name], e.pos)),
            ExprKind::Name(n) | ExprKind::New(n) => self.name_value(n, e.pos, want),
            ExprKind::CursorAttribute { cursor, attribute } => self.cursor_attribute(cursor, *attribute, want),
            ExprKind::BulkRowCount(index) => {
                let i = self.expr(index, None)?;
                let d = self.result(want);
                self.emit(Op::BulkRowCount { d, index: i.o });
                Ok(Val { o: d, ty: Ty::INTEGER })
            }
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

    pub(super) fn result(&mut self, want: Option<Opd>) -> Opd {
        want.unwrap_or_else(|| self.temp())
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

    fn number(&mut self, text: &str, pos: Pos) -> CResult<Val> {
        let lower = text.to_ascii_lowercase();
        if let Some(double) = lower.strip_suffix('d') {
            let x: f64 = double.parse().map_err(|_| self.pls(491, &[], pos))?;
            return Ok(Val { o: self.constant(Value::Double(x)), ty: Ty::of(DataType::BinaryDouble) });
        }
        if let Some(float) = lower.strip_suffix('f') {
            let x: f32 = float.parse().map_err(|_| self.pls(491, &[], pos))?;
            return Ok(Val { o: self.constant(Value::Float(x)), ty: Ty::of(DataType::BinaryFloat) });
        }
        let n = Number::parse(text).map_err(|e| e.at(pos))?;
        let whole = text.bytes().all(|b| b.is_ascii_digit()) && n.as_i64().is_some_and(|i| i <= i64::from(i32::MAX));
        let ty = if whole { Ty::INTEGER } else { Ty::NUMBER };
        Ok(Val { o: self.constant(Value::Number(n)), ty })
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
            Res::Done => Err(self.pls(222, &[&super::name::shown_name(n)], pos)),
            Res::Cursor(_) => Err(self.pls(382, &[], pos)),
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr, pos: Pos, want: Option<Opd>) -> CResult<Val> {
        if op == UnaryOp::Minus
            && let ExprKind::Number(text) = &operand.kind
        {
            let v = self.number(&format!("-{text}"), pos)?;
            // -2147483648 is a PLS_INTEGER too.
            let ty = if text.bytes().all(|b| b.is_ascii_digit()) && text.len() < 10 { Ty::INTEGER } else { v.ty };
            return Ok(Val { o: v.o, ty });
        }
        let v = self.expr(operand, None)?;
        match op {
            UnaryOp::Plus => Ok(v),
            UnaryOp::Not => {
                if !matches!(v.ty.class(), Class::Boolean | Class::Null) {
                    return Err(self.pls(306, &[&"NOT"], pos));
                }
                let d = self.result(want);
                self.emit(Op::Not { d, s: v.o });
                Ok(Val { o: d, ty: Ty::BOOLEAN })
            }
            UnaryOp::Minus if is_simple(&v.ty) => {
                let mut zero = self.number("0", pos)?;
                zero.ty = Ty::SIMPLE_INTEGER;
                self.arithmetic(BinaryOp::Sub, zero, v, pos, want)
            }
            UnaryOp::Minus => {
                let ty = match v.ty.class() {
                    Class::Number if v.ty.data_type() == Some(DataType::PlsInteger) => Ty::INTEGER,
                    Class::Number | Class::Text | Class::Null => Ty::NUMBER,
                    Class::Float | Class::IntervalDs | Class::IntervalYm => v.ty.clone(),
                    _ => return Err(self.pls(306, &[&"-"], pos)),
                };
                let d = self.result(want);
                self.emit(Op::Neg { d, s: v.o });
                Ok(Val { o: d, ty })
            }
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
                if !matches!((&a.ty, &b.ty), (Ty::Coll(_), Ty::Coll(_))) {
                    return Err(self.pls(306, &[&"MULTISET_UNION_ALL"], e.pos));
                }
                let d = self.temp();
                self.emit(Op::MultisetUnion { d, a: a.o, b: b.o });
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

    /// `||`: a CLOB if one side is one, or may be.
    fn concat<const N: usize>(&mut self, (d, a, b): (Opd, Opd, Opd), types: [&Ty; N]) -> Ty {
        let is_lob = |ty: &Ty| {
            let ty = ty.scalar().map(|s| s.ty);
            matches!(ty, Some(DataType::Clob | DataType::Nclob | DataType::Long | DataType::Null))
        };
        if types.into_iter().any(is_lob) {
            self.emit(Op::ConcatLob { d, a, b });
            return Ty::of(DataType::Clob);
        }
        self.emit(Op::Concat { d, a, b });
        Ty::TEXT
    }

    fn text_operand(&mut self, e: &Expr) -> CResult<Val> {
        let v = self.expr(e, None)?;
        match v.ty.class() {
            Class::Boolean | Class::Composite => Err(self.pls(306, &[&"||"], e.pos)),
            _ => Ok(self.shown(v)),
        }
    }

    /// The text of a timestamp or interval, with the digits of its type; other values unchanged.
    fn shown(&mut self, v: Val) -> Val {
        let Some((leading, fraction)) = v.ty.scalar().and_then(|s| digits_of(&s.ty)) else { return v };
        let (base, saved) = (self.slots(4), self.f.next);
        self.emit(Op::Move { d: Opd::local(base + 1), s: v.o });
        for (at, n) in [(2, leading), (3, fraction)] {
            let s = self.constant(Value::Number(u32::from(n).into()));
            self.emit(Op::Move { d: Opd::local(base + at), s });
        }
        self.f.next = saved;
        let function = self.function_number(functions::lookup(functions::TO_CHAR_OF_DIGITS).expect("it is listed"));
        self.emit(Op::CallFunction { function, base, n: 3 });
        self.f.next = base + 1;
        Val { o: Opd::local(base), ty: Ty::TEXT }
    }

    fn compare(&mut self, op: Cmp, a: Val, right: &Expr, pos: Pos) -> CResult<Val> {
        let b = self.expr(right, None)?;
        self.compare_values(op, a, b, pos, None)
    }

    fn compare_values(&mut self, op: Cmp, a: Val, b: Val, pos: Pos, want: Option<Opd>) -> CResult<Val> {
        let padded = self.comparable(op, &a, &b, pos)?;
        let d = self.result(want);
        if matches!(a.ty, Ty::Coll(_)) {
            self.emit(Op::CmpColl { d, a: a.o, b: b.o, equal: op == Cmp::Eq });
        } else if padded {
            self.emit(Op::CmpPadded { op, d, a: a.o, b: b.o });
        } else {
            self.emit(Op::Cmp { op, d, a: a.o, b: b.o });
        }
        Ok(Val { o: d, ty: Ty::BOOLEAN })
    }

    /// Whether two values are comparable, and whether blank-padded.
    fn comparable(&self, op: Cmp, a: &Val, b: &Val, pos: Pos) -> CResult<bool> {
        if let (Ty::Coll(x), Ty::Coll(y)) = (&a.ty, &b.ty)
            && std::rc::Rc::ptr_eq(&x.info, &y.info)
            && matches!(op, Cmp::Eq | Cmp::Ne)
            && x.info.kind == CollKind::Nested
            && x.element.scalar().is_some()
        {
            return Ok(false);
        }
        let (x, y) = (a.ty.class(), b.ty.class());
        let fits = x != Class::Composite && y != Class::Composite && (assignable(x, y) || assignable(y, x));
        if !fits {
            let name = match op {
                Cmp::Eq => "=",
                Cmp::Ne => "<>",
                Cmp::Lt => "<",
                Cmp::Le => "<=",
                Cmp::Gt => ">",
                Cmp::Ge => ">=",
            };
            return Err(self.pls(306, &[&name], pos));
        }
        let char_type = |v: &Val| matches!(v.ty.data_type(), Some(DataType::Char { .. }));
        Ok(char_type(a) && char_type(b))
    }

    pub(super) fn arithmetic(&mut self, op: BinaryOp, a: Val, b: Val, pos: Pos, want: Option<Opd>) -> CResult<Val> {
        let arith = match op {
            BinaryOp::Add => Arith::Add,
            BinaryOp::Sub => Arith::Sub,
            BinaryOp::Mul => Arith::Mul,
            BinaryOp::Div => Arith::Div,
            BinaryOp::Power => Arith::Power,
            _ => Arith::Mod, // not a clause: the caller has an arithmetic operator
        };
        let ty = arithmetic_type(arith, &a.ty, &b.ty).ok_or_else(|| self.pls(306, &[&arith_name(arith)], pos))?;
        let d = self.result(want);
        let both = |class| a.ty.class() == class && b.ty.class() == class;
        let integer = |v: &Val| v.ty.data_type() == Some(DataType::PlsInteger);
        let (a_o, b_o) = (a.o, b.o);
        if is_simple(&a.ty) && is_simple(&b.ty) && matches!(arith, Arith::Add | Arith::Sub | Arith::Mul) {
            self.emit(Op::ArithSimple { op: arith, d, a: a_o, b: b_o });
            return Ok(Val { o: d, ty: Ty::SIMPLE_INTEGER });
        }
        if integer(&a) && integer(&b) && matches!(arith, Arith::Add | Arith::Sub | Arith::Mul) {
            self.emit(Op::ArithInt { op: arith, d, a: a_o, b: b_o });
        } else if both(Class::Number) {
            self.emit(Op::Arith { op: arith, d, a: a_o, b: b_o });
        } else {
            self.emit(Op::ArithAny { op: arith, d, a: a_o, b: b_o });
        }
        Ok(Val { o: d, ty })
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

    fn case_result(&mut self, e: &Expr, d: Opd, ty: &mut Option<Ty>) -> CResult<()> {
        let saved = self.f.next;
        let v = self.expr(e, Some(d))?;
        match ty {
            Some(t) if !t.is_null() => {
                if !v.ty.is_null() && t.class() != v.ty.class() {
                    if !assignable(v.ty.class(), t.class()) {
                        return Err(self.pls(382, &[], e.pos));
                    }
                    // Branches of different types are converted to the type of the first.
                    let s = t.scalar().expect("not composite").clone();
                    let target = self.target(&s);
                    self.emit(Op::Coerce { d, s: v.o, ty: target });
                    self.f.next = saved;
                    return Ok(());
                }
                if let (Some(a), Some(b)) = (t.data_type(), v.ty.data_type())
                    && a != b
                    && !v.ty.is_null()
                {
                    *t = Ty::of(unconstrained(if a == DataType::PlsInteger { b } else { a }));
                }
            }
            _ => *ty = Some(v.ty.clone()),
        }
        if v.o != d {
            self.emit(Op::Move { d, s: v.o });
        }
        self.f.next = saved;
        Ok(())
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
                _ => Err(self.pls(code, &[&super::name::shown_name(n)], e.pos)),
            },
            ExprKind::Bind { name: _, field: _ } => Ok(self.expr(e, None)?.o),
            _ => Err(self.pls(code, &[&"expression"], e.pos)),
        }
    }

    pub(super) fn loc_operand(&mut self, loc: &super::scope::Loc) -> Opd {
        match loc {
            super::scope::Loc::Frame { level, slot } => self.frame_opd(*level, *slot),
            super::scope::Loc::Package { home, slot } => {
                let d = self.temp();
                let external = self.package_external(home);
                self.emit(Op::PackageGet { d, external, slot: *slot });
                d
            }
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
        if self.comparable(op, &a, &b, pos)? || matches!(a.ty, Ty::Coll(_)) {
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

    // ---- assignment

    /// Computes an expression into a slot of type `ty` that is not visible if the computation fails.
    pub(super) fn assign_expr(&mut self, d: Opd, ty: &Ty, e: &Expr) -> CResult<()> {
        let saved = self.f.next;
        let v = self.expr(e, takes_all(ty).then_some(d))?;
        self.convert_into(d, ty, v, e.pos)?;
        self.f.next = saved;
        Ok(())
    }

    /// Like [`Self::assign_expr`], into a variable, which keeps its value if the conversion fails: a value that needs a
    /// conversion is computed in another slot.
    pub(super) fn assign_variable(&mut self, d: Opd, ty: &Ty, e: &Expr) -> CResult<()> {
        let (ops, saved) = (self.f.ops.len(), self.f.next);
        let mut v = self.expr(e, takes_all(ty).then_some(d))?;
        let fits = match (ty, &v.ty) {
            (Ty::Scalar(to), Ty::Scalar(from)) => fits_without_check(&from.ty, to),
            _ => true,
        };
        if v.o == d && !fits && self.f.ops.len() > ops {
            self.f.ops.truncate(ops);
            self.f.lines.truncate(ops);
            self.f.next = saved;
            v = self.expr(e, None)?;
        }
        self.convert_into(d, ty, v, e.pos)?;
        self.f.next = saved;
        Ok(())
    }

    /// Puts a value into a slot of type `ty`, with conversion and checks.
    pub(super) fn convert_into(&mut self, d: Opd, ty: &Ty, v: Val, pos: Pos) -> CResult<()> {
        let v = if ty.class() == Class::Text { self.shown(v) } else { v };
        match (ty, &v.ty) {
            (Ty::Scalar(to), Ty::Scalar(from)) => {
                let is_same_object = matches!(to.ty, DataType::Named(_)) && from.ty == to.ty;
                if !is_same_object && !assignable(class(&from.ty), class(&to.ty)) {
                    return Err(self.pls(382, &[], pos));
                }
                if fits_without_check(&from.ty, to) || (to.ty == DataType::Null) {
                    self.copy(d, v.o);
                } else {
                    let target = self.target(to);
                    self.emit(Op::Coerce { d, s: v.o, ty: target });
                }
            }
            (Ty::Scalar(to), Ty::Null) => {
                if to.not_null {
                    let target = self.target(to);
                    self.emit(Op::Coerce { d, s: v.o, ty: target });
                } else {
                    self.copy(d, v.o);
                }
            }
            (Ty::Null, _) => self.copy(d, v.o),
            (Ty::Record(to), Ty::Record(from)) => {
                if std::rc::Rc::ptr_eq(to, from) {
                    self.copy(d, v.o);
                } else if (to.row || from.row) && to.fields.len() == from.fields.len() {
                    self.copy_fields(d, to, v.o, from, pos)?;
                } else {
                    return Err(self.pls(382, &[], pos));
                }
            }
            (Ty::Coll(to), Ty::Coll(from)) if to.is_host || from.is_host => {
                let Some(element) = to.element.scalar().filter(|_| host_fits(to, from)) else {
                    return Err(self.pls(418, &[], pos));
                };
                let (ty, coll) = (self.target(element), self.coll_info(to));
                self.emit(Op::Recollect { d, s: v.o, coll, ty });
            }
            (Ty::Coll(to), Ty::Coll(from)) => {
                if !std::rc::Rc::ptr_eq(&to.info, &from.info) {
                    return Err(self.pls(382, &[], pos));
                }
                self.copy(d, v.o);
            }
            (Ty::Record(_) | Ty::Coll(_) | Ty::Cursor, Ty::Null) => {
                let template = match ty {
                    Ty::Coll(_) | Ty::Record(_) | Ty::Cursor => ty.initial(),
                    _ => unreachable!("matched above"),
                };
                let template = self.template(template);
                self.emit(Op::Init { d, template });
            }
            // A value of a collection type, returned by SQL.
            (Ty::Coll(to), Ty::Scalar(ScalarTy { ty: DataType::Named(id), .. })) if to.id == Some(*id) => {
                let coll = self.coll_info(to);
                self.emit(Op::CollOf { d, s: v.o, coll });
            }
            (Ty::Cursor, Ty::Cursor) => self.copy(d, v.o),
            (Ty::Cursor, Ty::Scalar(s)) if matches!(s.ty, DataType::Null | DataType::Cursor) => {
                self.emit(Op::CursorOf { d, s: v.o });
            }
            (Ty::Scalar(s), Ty::Cursor) if s.ty == DataType::Null => self.copy(d, v.o),
            _ => return Err(self.pls(382, &[], pos)),
        }
        Ok(())
    }

    fn copy(&mut self, d: Opd, s: Opd) {
        if d != s {
            self.emit(Op::Move { d, s });
        }
    }

    fn copy_fields(&mut self, d: Opd, to: &RecordTy, s: Opd, from: &RecordTy, pos: Pos) -> CResult<()> {
        // Uses a temporary record, so that a failing field leaves the target unchanged.
        let whole = self.temp();
        let template = self.template(Ty::Null.initial());
        let _ = template;
        let initial = self.template(crate::Datum::Rec(std::rc::Rc::new(to.initial())));
        self.emit(Op::Init { d: whole, template: initial });
        for (t, f) in to.fields.iter().zip(&from.fields) {
            let saved = self.f.next;
            let source = PathB {
                root: Root::Slot(s),
                steps: vec![step(f)],
                ty: f.ty.clone(),
                access: super::scope::Access::Free,
                name: f.name.clone(),
            };
            let v = self.path_value(&source, None);
            let place = PathB { root: Root::Slot(whole), steps: vec![step(t)], ty: t.ty.clone(), ..source };
            self.store(&TargetRef::Path(place), v, pos)?;
            self.f.next = saved;
        }
        self.copy(d, whole);
        Ok(())
    }

    /// Assigns a value to a variable, field, element or bind.
    pub(super) fn store(&mut self, target: &TargetRef, v: Val, pos: Pos) -> CResult<()> {
        match target {
            TargetRef::Bind(bind, ty) => {
                let s = if ty.data_type() == Some(DataType::Null) {
                    v.o
                } else {
                    let t = self.temp();
                    self.convert_into(t, ty, v, pos)?;
                    t
                };
                self.emit(Op::BindSet { bind: *bind, s });
                Ok(())
            }
            TargetRef::Path(p) => {
                if let Some(d) = direct(p) {
                    return self.convert_into(d, &p.ty, v, pos);
                }
                let exact = match (&p.ty, &v.ty) {
                    (Ty::Scalar(to), Ty::Scalar(from)) => fits_without_check(&from.ty, to),
                    (Ty::Scalar(to), Ty::Null) => !to.not_null,
                    _ => false,
                };
                let s = if exact {
                    v.o
                } else {
                    let t = self.temp();
                    self.convert_into(t, &p.ty, v, pos)?;
                    t
                };
                if let (Root::Package { external, slot }, []) = (p.root, p.steps.as_slice()) {
                    self.emit(Op::PackageSet { external, slot, s });
                } else {
                    let path = self.path(p.root, p.steps.clone());
                    self.emit(Op::SetPath { path, s });
                }
                Ok(())
            }
        }
    }

    /// The present value of a target.
    pub(super) fn target_value(&mut self, target: &TargetRef) -> Val {
        match target {
            TargetRef::Path(p) => self.path_value(p, None),
            TargetRef::Bind(bind, ty) => {
                let d = self.temp();
                self.emit(Op::BindGet { d, bind: *bind });
                Val { o: d, ty: ty.clone() }
            }
        }
    }

    // ---- functions

    /// Calls a function of STANDARD over expressions.
    pub(super) fn function(&mut self, name: &str, args: &[&Expr], pos: Pos, want: Option<Opd>) -> CResult<Val> {
        if name == "TO_CHAR" && !args.is_empty() {
            return self.to_char(args, pos, want);
        }
        let base = self.slots(args.len() as u32 + 1);
        let mut tys = Vec::new();
        for (i, e) in args.iter().enumerate() {
            let d = Opd::local(base + 1 + i as u32);
            let saved = self.f.next;
            let v = self.expr(e, Some(d))?;
            if v.o != d {
                self.emit(Op::Move { d, s: v.o });
            }
            tys.push(v.ty);
            self.f.next = saved;
        }
        self.finish_function(name, base, tys, pos, want)
    }

    /// TO_CHAR, with the digits of its argument's type if that has any.
    fn to_char(&mut self, args: &[&Expr], pos: Pos, want: Option<Opd>) -> CResult<Val> {
        // Room for the digits, in case the first argument has some.
        let base = self.slots(args.len() as u32 + 3);
        let into = |c: &mut Self, e: &Expr, at: u32| -> CResult<Ty> {
            let (d, saved) = (Opd::local(base + at), c.f.next);
            let v = c.expr(e, Some(d))?;
            if v.o != d {
                c.emit(Op::Move { d, s: v.o });
            }
            c.f.next = saved;
            Ok(v.ty)
        };
        let mut tys = vec![into(self, args[0], 1)?];
        let digits = tys[0].scalar().and_then(|s| digits_of(&s.ty));
        if let Some((leading, fraction)) = digits {
            for (at, n) in [(2, leading), (3, fraction)] {
                let s = self.constant(Value::Number(u32::from(n).into()));
                self.emit(Op::Move { d: Opd::local(base + at), s });
                tys.push(Ty::INTEGER);
            }
        }
        for e in &args[1..] {
            let at = tys.len() as u32 + 1;
            tys.push(into(self, e, at)?);
        }
        let name = if digits.is_some() && args.len() <= 3 { functions::TO_CHAR_OF_DIGITS } else { "TO_CHAR" };
        self.finish_function(name, base, tys, pos, want)
    }

    fn function_over(&mut self, name: &str, first: Val, second: &Expr, pos: Pos, want: Option<Opd>) -> CResult<Val> {
        let base = self.slots(3);
        self.emit(Op::Move { d: Opd::local(base + 1), s: first.o });
        let d = Opd::local(base + 2);
        let v = self.expr(second, Some(d))?;
        if v.o != d {
            self.emit(Op::Move { d, s: v.o });
        }
        self.finish_function(name, base, vec![first.ty, v.ty], pos, want)
    }

    fn finish_function(&mut self, name: &str, base: u32, tys: Vec<Ty>, pos: Pos, _want: Option<Opd>) -> CResult<Val> {
        let mut kinds = Vec::new();
        for ty in &tys {
            match ty {
                Ty::Scalar(s) if s.ty != DataType::Boolean => kinds.push(s.ty),
                Ty::Null => kinds.push(DataType::Null),
                _ => return Err(self.pls(306, &[&name], pos)),
            }
        }
        let Some((function, ty)) = crate::standard::resolve(name, &kinds).map_err(|e| self.std_error(e, name, pos))?
        else {
            return Err(self.pls(201, &[&name], pos));
        };
        let n = tys.len() as u32;
        let function = self.function_number(function);
        self.emit(match Quick::of(self.pool.functions[function as usize].name, tys.len()) {
            Some(quick) => Op::CallQuick { quick, function, base },
            None => Op::CallFunction { function, base, n },
        });
        self.f.next = base + 1;
        Ok(Val { o: Opd::local(base), ty: Ty::of(ty) })
    }

    /// The index of a function in the pool.
    fn function_number(&mut self, function: &'static functions::FnDef) -> u32 {
        let known = self.pool.functions.iter().position(|f| std::ptr::eq(*f, function));
        known.unwrap_or_else(|| {
            self.pool.functions.push(function);
            self.pool.functions.len() - 1
        }) as u32
    }

    fn std_error(&self, e: types::Ora, name: &str, pos: Pos) -> types::Ora {
        match e.code() {
            907 | 909 | 932 | 938 | 939 => self.pls(306, &[&name], pos),
            _ => e.at(pos),
        }
    }

    /// A name of package STANDARD; `None` when it is not one.
    pub(super) fn standard(&mut self, n: &Name, want: Option<Opd>) -> CResult<Option<Val>> {
        let name = n.first.name.as_str();
        let pos = n.first.pos;
        let args: Option<Vec<&Expr>> = match n.parts.as_slice() {
            [] => None,
            [Part::Call(args)] => {
                if args.iter().any(|a| a.name.is_some()) {
                    return Ok(None);
                }
                Some(args.iter().map(|a| &a.value).collect())
            }
            _ => return Ok(None),
        };
        let count = args.as_ref().map_or(0, Vec::len);
        let special = match (name, count) {
            ("SYSDATE", 0) => Some((Special::Sysdate, Ty::of(DataType::Date))),
            ("SYSTIMESTAMP", 0) => Some((Special::Systimestamp, Ty::of(DataType::TIMESTAMP_TZ))),
            ("CURRENT_DATE", 0) => Some((Special::CurrentDate, Ty::of(DataType::Date))),
            ("CURRENT_TIMESTAMP", 0) => Some((Special::CurrentTimestamp, Ty::of(DataType::TIMESTAMP_TZ))),
            ("LOCALTIMESTAMP", 0) => Some((Special::LocalTimestamp, Ty::of(DataType::TIMESTAMP))),
            ("USER", 0) => Some((Special::User, Ty::TEXT)),
            ("UID", 0) => Some((Special::Uid, Ty::INTEGER)),
            ("SYS_GUID", 0) => Some((Special::SysGuid, Ty::of(DataType::Raw { len: 16 }))),
            ("SQLCODE", 0) => Some((Special::SqlCode, Ty::INTEGER)),
            ("SQLERRM", 0) => Some((Special::SqlErrm, Ty::TEXT)),
            _ => None,
        };
        if let Some((what, ty)) = special {
            let d = self.result(want);
            let a = self.null();
            self.emit(Op::Special { what, d, a });
            return Ok(Some(Val { o: d, ty }));
        }
        if args.is_none()
            && let Some((value, ty)) = plan::float_constant(name)
        {
            return Ok(Some(Val { o: self.constant(value), ty: Ty::of(ty) }));
        }
        match (name, args.as_deref()) {
            ("SQLERRM", Some([code])) => {
                let v = self.expr(code, None)?;
                let d = self.result(want);
                self.emit(Op::Special { what: Special::SqlErrmOf, d, a: v.o });
                return Ok(Some(Val { o: d, ty: Ty::TEXT }));
            }
            ("SYS_CONTEXT", Some([_, _] | [_, _, _])) | ("USERENV", Some([_])) => {
                let args = args.expect("matched");
                let base = self.slots(2);
                for (i, e) in args.iter().take(2).enumerate() {
                    self.assign_expr(Opd::local(base + i as u32), &Ty::TEXT, e)?;
                }
                let what = if name == "USERENV" { Special::Userenv } else { Special::SysContext };
                let d = self.result(want);
                self.emit(Op::Special { what, d, a: Opd::local(base) });
                return Ok(Some(Val { o: d, ty: Ty::TEXT }));
            }
            ("NVL", Some([a, b])) => return self.first_not_null(&[a, b]).map(Some),
            ("COALESCE", Some(list @ [_, _, ..])) => return self.first_not_null(list).map(Some),
            ("DECODE" | "NVL2" | "LNNVL" | "DUMP" | "VSIZE", Some(_)) => return Err(self.pls(204, &[&name], pos)),
            ("ROWNUM" | "LEVEL" | "ROWID" | "PRIOR", None) => return Err(self.pls(204, &[&name], pos)),
            ("COUNT" | "SUM" | "AVG" | "MIN" | "MAX" | "STDDEV" | "VARIANCE" | "LISTAGG", Some(_)) => {
                return Err(self.pls(204, &[&name], pos));
            }
            _ => {}
        }
        if !crate::standard::exists(name) {
            return Ok(None);
        }
        self.function(name, args.as_deref().unwrap_or(&[]), pos, want).map(Some)
    }

    /// NVL and COALESCE: later arguments are evaluated only when the earlier ones are NULL.
    fn first_not_null(&mut self, list: &[&Expr]) -> CResult<Val> {
        let d = self.temp();
        let mut ty: Option<Ty> = None;
        let mut ends = Vec::new();
        for (i, e) in list.iter().enumerate() {
            self.case_result(e, d, &mut ty)?;
            if i + 1 < list.len() {
                let next = self.emit(Op::JumpIfNull { c: d, to: 0 });
                ends.push(self.emit(Op::Jump { to: 0 }));
                self.patch(next);
            }
        }
        ends.into_iter().for_each(|j| self.patch(j));
        Ok(Val { o: d, ty: ty.unwrap_or(Ty::Null) })
    }
}

/// Whether a client's table and a PL/SQL table have elements of one family.
pub(super) fn host_fits(a: &CollTy, b: &CollTy) -> bool {
    let is_table = |c: &CollTy| c.info.kind == CollKind::ByInteger;
    is_table(a) && is_table(b) && a.element.class() == b.element.class() && a.element.scalar().is_some()
}

fn step(f: &FieldTy) -> Step {
    match f.at {
        FieldAt::Scalar(n) => Step::Scalar(n),
        FieldAt::Nested(n) => Step::Nested(n),
    }
}

/// The operand of a path that is a variable or a scalar field of a local record.
pub(super) fn direct(p: &PathB) -> Option<Opd> {
    match (p.root, p.steps.as_slice()) {
        (Root::Slot(o), []) => Some(o),
        (Root::Slot(o), [Step::Scalar(field)]) => match o.place() {
            Place::Local(slot) => Opd::field(slot, *field),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a slot of that type accepts every value of its type, so that a value can be computed in place.
fn takes_all(ty: &Ty) -> bool {
    matches!(ty, Ty::Scalar(s) if *s == ScalarTy { ty: unconstrained(s.ty), not_null: false, range: None })
}

/// Whether an operator takes scalars and its result is not a truth value.
fn is_operator(op: BinaryOp) -> bool {
    use BinaryOp::{Add, Concat, Div, Mod, Mul, Power, Sub};
    matches!(op, Add | Sub | Mul | Div | Power | Mod | Concat)
}

pub(super) fn is_comparison(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
}

fn comparison(op: BinaryOp) -> Cmp {
    match op {
        BinaryOp::Eq => Cmp::Eq,
        BinaryOp::Ne => Cmp::Ne,
        BinaryOp::Lt => Cmp::Lt,
        BinaryOp::Le => Cmp::Le,
        BinaryOp::Gt => Cmp::Gt,
        _ => Cmp::Ge, // not a clause: the caller has a comparison
    }
}

fn arith_name(op: Arith) -> &'static str {
    match op {
        Arith::Add => "+",
        Arith::Sub => "-",
        Arith::Mul => "*",
        Arith::Div => "/",
        Arith::Power => "**",
        Arith::Mod => "MOD",
    }
}

/// The type of `a op b`; `None` when there is no such operator.
fn is_simple(ty: &Ty) -> bool {
    let Ty::Scalar(simple) = Ty::SIMPLE_INTEGER else { return false };
    ty.scalar() == Some(&simple)
}

/// Whether an expression is a literal 32-bit integer.
fn is_whole_literal(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Number(digits) if digits.parse::<i32>().is_ok())
}

fn arithmetic_type(op: Arith, a: &Ty, b: &Ty) -> Option<Ty> {
    use Class::*;
    let integer = |t: &Ty| t.data_type() == Some(DataType::PlsInteger);
    let dynamic = Ty::of(DataType::Null);
    let ds = Ty::of(DataType::IntervalDs { days: 9, digits: 9 });
    let ym = Ty::of(DataType::IntervalYm { years: 9 });
    let numeric = |c| matches!(c, Number | Text | Null | Float);
    let (x, y) = (a.class(), b.class());
    Some(match (op, x, y) {
        (_, Boolean | Composite, _) | (_, _, Boolean | Composite) => return None,
        (Arith::Add | Arith::Sub | Arith::Mul, Number, Number) if integer(a) && integer(b) => Ty::INTEGER,
        (_, Float, c) | (_, c, Float) if numeric(c) => Ty::of(DataType::BinaryDouble),
        (Arith::Add | Arith::Sub, Date, Number | Text) | (Arith::Add, Number | Text, Date) => Ty::of(DataType::Date),
        (Arith::Sub, Date, Date) => Ty::NUMBER,
        (Arith::Sub, Timestamp, Timestamp | Date) | (Arith::Sub, Date, Timestamp) => ds,
        (Arith::Add | Arith::Sub, Date, IntervalDs | IntervalYm) | (Arith::Add, IntervalDs | IntervalYm, Date) => {
            Ty::of(DataType::Date)
        }
        (Arith::Add | Arith::Sub, Timestamp, IntervalDs | IntervalYm) => Ty::of(of_any_digits(a.data_type()?)),
        (Arith::Add, IntervalDs | IntervalYm, Timestamp) => Ty::of(of_any_digits(b.data_type()?)),
        (Arith::Add | Arith::Sub, Timestamp, Number | Text) => Ty::of(DataType::Date),
        (Arith::Add | Arith::Sub, IntervalDs, IntervalDs) => ds,
        (Arith::Add | Arith::Sub, IntervalYm, IntervalYm) => ym,
        (Arith::Mul | Arith::Div, IntervalDs, Number) | (Arith::Mul, Number, IntervalDs) => ds,
        (Arith::Mul | Arith::Div, IntervalYm, Number) | (Arith::Mul, Number, IntervalYm) => ym,
        (_, Null, c) | (_, c, Null) => match c {
            Number | Text | Null if matches!((a, b), (Ty::Null, _) | (_, Ty::Null)) => Ty::NUMBER,
            // A host variable: its type is known when it has a value.
            _ => dynamic,
        },
        (_, x, y) if numeric(x) && numeric(y) => Ty::NUMBER,
        _ => return None,
    })
}

/// Digits of the leading field and of the fraction in the texts of a timestamp or interval type.
fn digits_of(ty: &DataType) -> Option<(u8, u8)> {
    match *ty {
        DataType::Timestamp { digits, .. } => Some((0, digits)),
        DataType::IntervalDs { days, digits } => Some((days, digits)),
        DataType::IntervalYm { years } => Some((years, 0)),
        _ => None,
    }
}

/// A timestamp type with the most digits.
fn of_any_digits(ty: DataType) -> DataType {
    match ty {
        DataType::Timestamp { zone, .. } => DataType::Timestamp { digits: 9, zone },
        other => other,
    }
}
