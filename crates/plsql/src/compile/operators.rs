//! Operators: arithmetic, comparison, concatenation.

use super::compiler::{CResult, Compiler, Val};
use super::symbols::{Operands, object_id};
use crate::datum::CollKind;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{BinaryOp, Expr, ExprKind, Pos, UnaryOp};
use types::{DataType, Number, Value};

impl<W: World> Compiler<'_, W> {
    /// A number as written.
    pub(super) fn number(&mut self, text: &str, pos: Pos) -> CResult<Val> {
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

    pub(super) fn unary(&mut self, op: UnaryOp, operand: &Expr, pos: Pos, want: Option<Opd>) -> CResult<Val> {
        if op == UnaryOp::Minus
            && let ExprKind::Number(text) = &operand.kind
        {
            let v = self.number(&format!("-{text}"), pos)?;
            // -2147483648 is a PLS_INTEGER too.
            let ty = if text.bytes().all(|b| b.is_ascii_digit()) && text.len() < 10 { Ty::INTEGER } else { v.ty };
            return Ok(Val { o: v.o, ty });
        }
        let v = self.operand(operand, None)?;
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

    /// `||`: a CLOB if one side is one, or may be.
    pub(super) fn concat<const N: usize>(&mut self, (d, a, b): (Opd, Opd, Opd), types: [&Ty; N]) -> Ty {
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

    pub(super) fn text_operand(&mut self, e: &Expr) -> CResult<Val> {
        let v = self.operand(e, None)?;
        match v.ty.class() {
            Class::Boolean | Class::File | Class::Composite => Err(self.pls(306, &[&"||"], e.pos)),
            _ => Ok(self.shown(v)),
        }
    }

    /// The text of a timestamp or interval, with the digits of its type; other values unchanged.
    pub(super) fn shown(&mut self, v: Val) -> Val {
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

    pub(super) fn compare(&mut self, op: Cmp, a: Val, right: &Expr, pos: Pos) -> CResult<Val> {
        let b = self.operand(right, None)?;
        self.compare_values(op, a, b, pos, None)
    }

    pub(super) fn compare_values(&mut self, op: Cmp, a: Val, b: Val, pos: Pos, want: Option<Opd>) -> CResult<Val> {
        if self.are_objects(&a, &b) {
            return self.compared(op, (a, b), pos);
        }
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

    pub(super) fn are_objects(&self, a: &Val, b: &Val) -> bool {
        object_id(&a.ty).is_some() && object_id(&b.ty).is_some()
    }

    /// Whether two values are comparable, and whether blank-padded.
    pub(super) fn comparable(&self, op: Cmp, a: &Val, b: &Val, pos: Pos) -> CResult<bool> {
        if let (Ty::Coll(x), Ty::Coll(y)) = (&a.ty, &b.ty)
            && std::rc::Rc::ptr_eq(&x.info, &y.info)
            && matches!(op, Cmp::Eq | Cmp::Ne)
            && x.info.kind == CollKind::Nested
            && x.element.scalar().is_some()
        {
            return Ok(false);
        }
        let (x, y) = (a.ty.class(), b.ty.class());
        let has_order = |c| !matches!(c, Class::Composite | Class::File);
        let fits = has_order(x) && has_order(y) && (assignable(x, y) || assignable(y, x));
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
}

pub(super) fn is_comparison(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
}

/// Whether an operator takes scalars and its result is not a truth value.
pub(super) fn is_operator(op: BinaryOp) -> bool {
    use BinaryOp::{Add, Concat, Div, Mod, Mul, Power, Sub};
    matches!(op, Add | Sub | Mul | Div | Power | Mod | Concat)
}

pub(super) fn comparison(op: BinaryOp) -> Cmp {
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

/// Whether the type is SIMPLE_INTEGER.
pub(super) fn is_simple(ty: &Ty) -> bool {
    let Ty::Scalar(simple) = Ty::SIMPLE_INTEGER else { return false };
    ty.scalar() == Some(&simple)
}

/// Whether an expression is a literal 32-bit integer.
pub(super) fn is_whole_literal(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Number(digits) if digits.parse::<i32>().is_ok())
}

/// The type of `a op b`; `None` when there is no such operator.
fn arithmetic_type(op: Arith, a: &Ty, b: &Ty) -> Option<Ty> {
    use Class::*;
    let integer = |t: &Ty| t.data_type() == Some(DataType::PlsInteger);
    let dynamic = Ty::of(DataType::Null);
    let ds = Ty::of(DataType::IntervalDs { days: 9, digits: 9 });
    let ym = Ty::of(DataType::IntervalYm { years: 9 });
    let numeric = |c| matches!(c, Number | Text | Null | Float);
    let (x, y) = (a.class(), b.class());
    Some(match (op, x, y) {
        (_, Boolean | File | Composite, _) | (_, _, Boolean | File | Composite) => return None,
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
pub(super) fn digits_of(ty: &DataType) -> Option<(u8, u8)> {
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
