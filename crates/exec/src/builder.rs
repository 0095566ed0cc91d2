//! Compiles the expressions of a plan.

use crate::code::{Code, Cond};
use crate::compare::encode_comparable;
use crate::inner_statement::{CompileInner, compiles_nothing};
use crate::measure::Counting;
use crate::session_state::Caller;
use functions::TextMax;
use plan::{Class, Compare, Expr, Node, Reg, class};
use std::collections::HashSet;
use std::rc::Rc;
use types::{DataType, Value};

/// Gives out registers and loads constants while expressions are compiled.
pub struct Builder<'b> {
    pub regs: &'b mut Vec<Value>,
    /// Register of the first bind.
    pub binds: Reg,
    pub nls: &'b types::Nls,
    pub p: &'b process::Process,
    pub shared: &'b crate::shared::Shared,
    /// The session's segments of temporary tables; creates missing ones.
    pub temporaries: &'b crate::temporary::Temporaries,
    pub temporary_tablespace: u32,
    /// The statement, as seen by the functions that it calls.
    pub caller: Rc<Caller>,
    /// Registers of operands that are evaluated once, the innermost last.
    pub operands: Vec<Reg>,
    /// Whether row sources may work on batches.
    pub batches: bool,
    /// Row sources without a batch form, by their addresses in the plan.
    pub without_batches: std::collections::HashSet<*const plan::Source>,
    /// Whether rows of scans are counted, and the scans so far.
    pub watches: bool,
    pub watched: Vec<crate::feedback::Expected>,
    /// The operations of the row sources, if they are counted.
    pub counting: Option<Counting>,
    /// How many binds there are.
    pub bind_count: u32,
    /// The plan's subqueries.
    pub subs: &'b [plan::SubPlan],
    /// The blocks that the driving scan of a parallel part reads; `None`: all.
    pub granules: Option<Rc<dyn heap::Granules>>,
    /// Compiles the statements of foreign keys.
    pub compile_inner: CompileInner,
}

impl<'b> Builder<'b> {
    /// A builder for a statement of the session.
    pub fn new(regs: &'b mut Vec<Value>, binds: Reg, caller: Caller, cx: &'b crate::ctx::ExecCtx<'_>) -> Builder<'b> {
        Builder {
            regs,
            binds,
            nls: &cx.session.nls,
            p: cx.p,
            shared: cx.shared,
            temporaries: &cx.session.temporaries,
            temporary_tablespace: cx.session.options.temporary_tablespace,
            caller: Rc::new(caller),
            operands: Vec::new(),
            batches: cx.session.options.batches,
            without_batches: std::collections::HashSet::new(),
            watches: false,
            watched: Vec::new(),
            counting: None,
            bind_count: 0,
            subs: &[],
            granules: None,
            compile_inner: compiles_nothing,
        }
    }
}

impl Builder<'_> {
    /// Gives out the counter of the next scan.
    pub fn watch(&mut self, scan: &plan::Scan) -> usize {
        self.watched.push(crate::feedback::Expected::of(scan));
        self.watched.len() - 1
    }

    pub fn reg(&mut self) -> Reg {
        self.regs.push(Value::Null);
        (self.regs.len() - 1) as Reg
    }

    fn constant(&mut self, v: Value) -> Code {
        self.regs.push(v);
        Code::Reg((self.regs.len() - 1) as Reg)
    }

    fn boxed(&mut self, e: &Expr) -> Box<Code> {
        Box::new(self.code(e))
    }

    pub fn codes(&mut self, list: &[Expr]) -> Vec<Code> {
        list.iter().map(|e| self.code(e)).collect()
    }

    pub fn conds(&mut self, list: &[Expr]) -> Vec<Cond> {
        list.iter().map(|e| self.cond(e)).collect()
    }

    /// Compiles a value.
    pub fn code(&mut self, e: &Expr) -> Code {
        match &e.node {
            Node::Const(v) => self.constant(v.clone()),
            Node::Reg(r) => Code::Reg(*r),
            Node::Bind(i) => Code::Reg(self.binds + *i as Reg),
            Node::Special(s) => Code::Special(*s, self.reg()),
            Node::Neg(a) => Code::Neg(self.boxed(a), self.reg()),
            Node::Arith(..) | Node::Concat(..) => self.operators(e),
            Node::Func(f, args) if f.0.name == "MOD" && args.len() == 2 && args.iter().all(|a| is_number(&a.ty)) => {
                Code::Mod(self.boxed(&args[0]), self.boxed(&args[1]), self.reg())
            }
            Node::Func(f, args) => {
                let codes = self.codes(args);
                let base = self.regs.len() as Reg;
                args.iter().for_each(|_| {
                    self.reg();
                });
                Code::Func(
                    *f,
                    codes,
                    base,
                    self.reg(),
                    if class(&e.ty) == Class::Lob || e.ty == DataType::Xml { TextMax::Lob } else { TextMax::Text },
                )
            }
            Node::Convert(a) => {
                if let (Node::Const(v), DataType::Number { .. }) = (&a.node, &e.ty)
                    && let Ok(Some(n)) = v.to_number(self.nls)
                {
                    return self.constant(Value::Number(n));
                }
                Code::Convert(self.boxed(a), e.ty, self.reg())
            }
            Node::Cast(a) => Code::Cast(self.boxed(a), e.ty, self.reg()),
            Node::OnError(a, b) => Code::OnError(self.boxed(a), self.boxed(b)),
            Node::Once(value, body) => {
                let (value, reg) = (self.boxed(value), self.reg());
                self.operands.push(reg);
                let body = self.boxed(body);
                self.operands.pop();
                Code::Once(value, reg, body)
            }
            Node::Operand => Code::Reg(*self.operands.last().expect("an operand stands below its Once")),
            Node::Case(arms, otherwise) => {
                let arms = arms.iter().map(|(w, t)| (self.cond_code(w), self.code(t))).collect();
                let otherwise = otherwise.as_ref().map(|e| self.boxed(e));
                Code::Case(arms, otherwise, self.reg())
            }
            Node::Coalesce(args) => Code::Coalesce(self.codes(args), self.reg()),
            Node::SysContext(a, b) => Code::SysContext(self.boxed(a), self.boxed(b), self.reg()),
            Node::Scalar(s) => Code::Scalar(*s, self.reg()),
            Node::Nextval(s) => Code::Nextval(s.clone(), self.reg()),
            Node::Currval(s) => Code::Currval(s.clone(), self.reg()),
            Node::Call(f, args) => Code::Call(f.clone(), self.codes(args), self.reg(), self.caller.clone()),
            _ => Code::Truth(Box::new(self.cond(e)), self.reg()),
        }
    }

    /// A chain of left-associative operators, without recursion.
    fn operators(&mut self, e: &Expr) -> Code {
        let (mut links, mut first) = (Vec::new(), e);
        let mut value = loop {
            let (op, a, b) = match &first.node {
                Node::Arith(op, a, b) => (Some(*op), a, b),
                Node::Concat(a, b) => (None, a, b),
                _ => break self.code(first),
            };
            if let Some(op) = op
                && let (Node::Const(Value::Number(x)), Node::Const(Value::Number(y))) = (&a.node, &b.node)
                && let Ok(n) = op.numbers(x, y)
            {
                break self.constant(Value::Number(n));
            }
            links.push((op, first, &**b));
            first = a;
        };
        for (op, whole, right) in links.into_iter().rev() {
            let (a, b, d) = (Box::new(value), self.boxed(right), self.reg());
            value = match op {
                Some(op) => Code::Arith(op, a, b, d),
                None if class(&whole.ty) == Class::Lob => Code::ConcatLob(a, b, d),
                None => Code::Concat(a, b, d),
            };
        }
        value
    }

    /// A condition as code, so that all arms of CASE have one form.
    fn cond_code(&mut self, e: &Expr) -> Code {
        Code::Truth(Box::new(self.cond(e)), self.reg())
    }

    /// Compiles a condition.
    pub fn cond(&mut self, e: &Expr) -> Cond {
        match &e.node {
            Node::Cmp(op, how, a, b) => Cond::Cmp(*op, *how, self.code(a), self.code(b)),
            Node::And(list) => Cond::And(self.conds(list)),
            Node::Or(list) => Cond::Or(self.conds(list)),
            Node::Not(a) => Cond::Not(Box::new(self.cond(a))),
            Node::IsNull(a, negated) => Cond::IsNull(self.code(a), *negated),
            Node::Like { value, pattern, escape, negated } => Cond::Like {
                value: self.code(value),
                pattern: self.code(pattern),
                escape: escape.as_ref().map(|e| self.code(e)),
                negated: *negated,
            },
            Node::InList { value, list, compare, negated } => self.in_list(value, list, *compare, *negated),
            Node::Exists(s) => Cond::Exists(*s),
            Node::InSub { values, sub, compare, negated, single } => {
                let (values, compare) = (self.codes(values), compare.clone());
                Cond::InSub { values, sub: *sub, compare, negated: *negated, single: *single }
            }
            Node::Quantified { op, compare, all, value, sub } => {
                Cond::Quantified { op: *op, compare: *compare, all: *all, value: self.code(value), sub: *sub }
            }
            _ => Cond::Value(self.code(e)),
        }
    }

    fn in_list(&mut self, value: &Expr, list: &[Expr], compare: Compare, negated: bool) -> Cond {
        let padded = compare == Compare::Padded;
        let constant = list.len() > 8 && list.iter().all(Expr::is_const);
        let encodable =
            !matches!(value.ty, DataType::Timestamp { .. } | DataType::BinaryDouble | DataType::BinaryFloat);
        if !(constant && encodable) {
            return Cond::InList { value: self.code(value), list: self.codes(list), compare, negated };
        }
        let mut set = HashSet::with_capacity(list.len());
        let mut null = false;
        for e in list {
            match &e.node {
                Node::Const(Value::Null) => null = true,
                Node::Const(v) => {
                    let mut key = Vec::new();
                    encode_comparable(v, padded, &mut key);
                    set.insert(key);
                }
                _ => unreachable!("all constants, as just checked"),
            }
        }
        Cond::InSet { value: self.code(value), set, null, padded, negated }
    }
}

fn is_number(ty: &DataType) -> bool {
    matches!(ty, DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger)
}
