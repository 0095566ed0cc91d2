//! Functions of STANDARD.

use super::compiler::{CResult, Compiler, Val};
use super::operators::digits_of;
use super::standard_names;
use super::symbols::Operands;
use crate::op::*;
use crate::ty::*;
use crate::world::World;
use sql::plsql::ast::{Expr, Name, Part, Pos};
use types::{DataType, Ora, Value};

impl<W: World> Compiler<'_, W> {
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
            let v = self.operand(e, Some(d))?;
            if v.o != d {
                self.emit(Op::Move { d, s: v.o });
            }
            tys.push(v.ty);
            self.f.next = saved;
        }
        self.finish_function(name, base, tys, pos, want)
    }

    /// TO_CHAR, with the digits of its argument's type if that has any.
    pub(super) fn to_char(&mut self, args: &[&Expr], pos: Pos, want: Option<Opd>) -> CResult<Val> {
        // Room for the digits, in case the first argument has some.
        let base = self.slots(args.len() as u32 + 3);
        let into = |c: &mut Self, e: &Expr, at: u32| -> CResult<Ty> {
            let (d, saved) = (Opd::local(base + at), c.f.next);
            let v = c.operand(e, Some(d))?;
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

    pub(super) fn function_over(
        &mut self,
        name: &str,
        first: Val,
        second: &Expr,
        pos: Pos,
        want: Option<Opd>,
    ) -> CResult<Val> {
        let base = self.slots(3);
        self.emit(Op::Move { d: Opd::local(base + 1), s: first.o });
        let d = Opd::local(base + 2);
        let v = self.operand(second, Some(d))?;
        if v.o != d {
            self.emit(Op::Move { d, s: v.o });
        }
        self.finish_function(name, base, vec![first.ty, v.ty], pos, want)
    }

    pub(super) fn finish_function(
        &mut self,
        name: &str,
        base: u32,
        tys: Vec<Ty>,
        pos: Pos,
        _want: Option<Opd>,
    ) -> CResult<Val> {
        let mut kinds = Vec::new();
        for ty in &tys {
            match ty {
                // Only the operations of XMLTYPE take one.
                Ty::Scalar(s) if s.ty == DataType::Xml && !name.starts_with(' ') => {
                    return Err(self.pls(306, &[&name], pos));
                }
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

    pub(super) fn std_error(&self, e: Ora, name: &str, pos: Pos) -> Ora {
        match e.code() {
            907 | 909 | 932 | 938 | 939 => self.pls(306, &[&name], pos),
            _ => e.at(pos),
        }
    }

    /// A name of package STANDARD; `None` when it is not one.
    pub(super) fn standard(&mut self, n: &Name, want: Option<Opd>) -> CResult<Option<Val>> {
        let name = n.first.name.as_str();
        let pos = n.first.pos;
        let placed: Vec<Expr>;
        let args: Option<Vec<&Expr>> = match n.parts.as_slice() {
            [] => None,
            [Part::Call(args)] if args.iter().any(|a| a.name.is_some()) => {
                let Some(found) = standard_names::by_place(name, args, pos) else { return Ok(None) };
                placed = found;
                Some(placed.iter().collect())
            }
            [Part::Call(args)] => Some(args.iter().map(|a| &a.value).collect()),
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
                let v = self.operand(code, None)?;
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
    pub(super) fn first_not_null(&mut self, list: &[&Expr]) -> CResult<Val> {
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
