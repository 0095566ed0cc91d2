//! The registers that an expression reads.

use crate::code::{Code, Cond};
use plan::Reg;
use plan::Special;

/// The values that an evaluation depends on.
#[derive(Debug, Default)]
pub struct Reads {
    /// Registers; some of them are not columns.
    pub regs: Vec<Reg>,
    /// Whether each evaluation may give another value.
    pub volatile: bool,
}

/// The reads of a code. `None` if it must be run row by row in its place: subqueries, which read registers that the
/// code does not name, sequences, and functions with side effects.
pub fn of_code(code: &Code) -> Option<Reads> {
    let mut reads = Reads::default();
    reads.code(code)?;
    Some(reads)
}

/// As [`of_code`], for a condition.
pub fn of_cond(cond: &Cond) -> Option<Reads> {
    let mut reads = Reads::default();
    reads.cond(cond)?;
    Some(reads)
}

impl Reads {
    fn codes<'c>(&mut self, codes: impl IntoIterator<Item = &'c Code>) -> Option<()> {
        codes.into_iter().try_for_each(|code| self.code(code))
    }

    fn code(&mut self, code: &Code) -> Option<()> {
        match code {
            Code::Reg(r) => self.regs.push(*r),
            Code::Special(s, _) => self.volatile |= *s == Special::SysGuid,
            Code::Neg(a, _) | Code::Convert(a, ..) | Code::Cast(a, ..) => self.code(a)?,
            Code::Arith(_, a, b, _)
            | Code::Mod(a, b, _)
            | Code::Concat(a, b, _)
            | Code::ConcatLob(a, b, _)
            | Code::OnError(a, b)
            | Code::Once(a, _, b)
            | Code::SysContext(a, b, _) => self.codes([&**a, &**b])?,
            Code::Func(f, args, ..) => {
                self.volatile |= !f.0.deterministic;
                self.codes(args)?;
            }
            Code::Coalesce(args, _) => self.codes(args)?,
            Code::Case(arms, otherwise, _) => {
                for (when, then) in arms {
                    self.codes([when, then])?;
                }
                self.codes(otherwise.as_deref())?;
            }
            Code::Truth(cond, _) => self.cond(cond)?,
            Code::Scalar(..) | Code::Nextval(..) | Code::Currval(..) | Code::Call(..) => return None,
        }
        Some(())
    }

    fn cond(&mut self, cond: &Cond) -> Option<()> {
        match cond {
            Cond::Value(code) | Cond::IsNull(code, _) => self.code(code),
            Cond::Cmp(_, _, a, b) => self.codes([a, b]),
            Cond::And(list) | Cond::Or(list) => list.iter().try_for_each(|cond| self.cond(cond)),
            Cond::Not(cond) => self.cond(cond),
            Cond::Like { value, pattern, escape, negated: _ } => self.codes([value, pattern].into_iter().chain(escape)),
            Cond::InList { value, list, compare: _, negated: _ } => self.codes([value].into_iter().chain(list)),
            Cond::InSet { value, set: _, null: _, padded: _, negated: _ } => self.code(value),
            Cond::Exists(_) | Cond::InSub { .. } | Cond::Quantified { .. } => None,
        }
    }
}
