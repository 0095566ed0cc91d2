//! Expressions as the executor runs them.
//!
//! An expression is a tree of nodes. Each node owns a result register, and evaluating it returns the register that
//! holds the value. Columns, binds and constants are registers already, so comparing two of them copies nothing.
//! Conditions are evaluated to a three-valued truth, without a register. A stack bytecode was rejected: it copies
//! values that can stay in their registers.

use crate::session_state::Caller;
use functions::TextMax;
use plan::{ArithOp, CmpOp, Compare, Func, HostFunction, Reg, SequenceRef, Special, SubId};
use std::collections::HashSet;
use std::rc::Rc;
use types::DataType;

#[derive(Clone, Debug)]
pub enum Code {
    Reg(Reg),
    Special(Special, Reg),
    Neg(Box<Code>, Reg),
    Arith(ArithOp, Box<Code>, Box<Code>, Reg),
    /// MOD of two numbers, apart from other functions: a function call costs more than the division.
    Mod(Box<Code>, Box<Code>, Reg),
    Concat(Box<Code>, Box<Code>, Reg),
    /// `||` with a LOB operand.
    ConcatLob(Box<Code>, Box<Code>, Reg),
    /// Arguments are evaluated into consecutive registers; the first one is named.
    Func(Func, Vec<Code>, Reg, Reg, TextMax),
    Convert(Box<Code>, DataType, Reg),
    Cast(Box<Code>, DataType, Reg),
    /// The first expression, or the second if the first fails to convert.
    OnError(Box<Code>, Box<Code>),
    /// Puts the value of the first expression into the register, then evaluates the second.
    Once(Box<Code>, Reg, Box<Code>),
    Case(Vec<(Code, Code)>, Option<Box<Code>>, Reg),
    Coalesce(Vec<Code>, Reg),
    SysContext(Box<Code>, Box<Code>, Reg),
    Scalar(SubId, Reg),
    Nextval(Rc<SequenceRef>, Reg),
    Currval(Rc<SequenceRef>, Reg),
    Call(Rc<HostFunction>, Vec<Code>, Reg, Rc<Caller>),
    /// The truth of a condition as a value.
    Truth(Box<Cond>, Reg),
}

#[derive(Clone, Debug)]
pub enum Cond {
    /// A value of type BOOLEAN.
    Value(Code),
    Cmp(CmpOp, Compare, Code, Code),
    And(Vec<Cond>),
    Or(Vec<Cond>),
    Not(Box<Cond>),
    IsNull(Code, bool),
    Like {
        value: Code,
        pattern: Code,
        escape: Option<Code>,
        negated: bool,
    },
    InList {
        value: Code,
        list: Vec<Code>,
        compare: Compare,
        negated: bool,
    },
    /// IN with constants: their encodings. `null`: whether NULL is among them.
    InSet {
        value: Code,
        set: HashSet<Vec<u8>>,
        null: bool,
        padded: bool,
        negated: bool,
    },
    Exists(SubId),
    InSub {
        values: Vec<Code>,
        sub: SubId,
        compare: Vec<Compare>,
        negated: bool,
        single: bool,
    },
    Quantified {
        op: CmpOp,
        compare: Compare,
        all: bool,
        value: Code,
        sub: SubId,
    },
}

impl Code {
    /// Whether the value depends on registers only: no query, no sequence, no PL/SQL, no clock.
    pub fn is_plain(&self) -> bool {
        match self {
            Code::Reg(_) => true,
            Code::Neg(a, _) | Code::Convert(a, ..) | Code::Cast(a, ..) => a.is_plain(),
            Code::Arith(_, a, b, _) | Code::Mod(a, b, _) | Code::Concat(a, b, _) => a.is_plain() && b.is_plain(),
            Code::Func(_, args, ..) | Code::Coalesce(args, _) => args.iter().all(Code::is_plain),
            _ => false,
        }
    }

    /// The register into which the node computes its value each time; no other node uses it.
    pub fn made(&self) -> Option<Reg> {
        match self {
            Code::Neg(_, r)
            | Code::Arith(.., r)
            | Code::Mod(.., r)
            | Code::Concat(.., r)
            | Code::ConcatLob(.., r)
            | Code::Func(.., r, _)
            | Code::Convert(.., r)
            | Code::Cast(.., r) => Some(*r),
            _ => None,
        }
    }
}
