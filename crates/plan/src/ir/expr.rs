//! Expressions over registers.

use crate::function::Func;
use std::rc::Rc;
use types::image::Image;
use types::{DataType, Value};

/// A register of the cursor's register file.
pub type Reg = u32;

/// A subquery of the plan, an index into [`super::Plan::subs`].
pub type SubId = usize;

/// An output column of a query.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Column {
    pub name: String,
    pub ty: DataType,
    pub nullable: bool,
    /// The columns of a cursor.
    pub nested: Vec<Column>,
}

/// The rule of a comparison. Chosen at compile time; conversions are already inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Compare {
    /// Both sides have one type and compare in the order of its values. Text is compared without padding.
    Plain,
    /// Both sides are CHAR or literals: trailing blanks do not count.
    Padded,
    /// The type of a side is known only at run time (a bind of unknown type).
    Dynamic,
}

pub use functions::ops::{Arithmetic as ArithOp, Comparison as CmpOp};

/// Values that come from the session or the clock, fixed for one execution of the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Special {
    Sysdate,
    Systimestamp,
    CurrentDate,
    CurrentTimestamp,
    LocalTimestamp,
    User,
    Uid,
    /// UID of the user whose privileges are in force.
    CurrentUid,
    SysGuid,
}

/// A resolved and typed expression. Conditions are expressions of type BOOLEAN with three values.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Expr {
    pub node: Node,
    pub ty: DataType,
}

#[derive(Clone, Debug, PartialEq, Image)]
pub enum Node {
    Const(Value),
    Reg(Reg),
    Bind(usize),
    Special(Special),
    Neg(Box<Expr>),
    Arith(ArithOp, Box<Expr>, Box<Expr>),
    Concat(Box<Expr>, Box<Expr>),
    /// A scalar function of the `functions` crate.
    Func(Func, Vec<Expr>),
    /// An implicit conversion to the expression's type.
    Convert(Box<Expr>),
    /// CAST: as `Convert`, and lengths and precision are enforced.
    Cast(Box<Expr>),
    /// The first expression, or the second if the first fails to convert.
    OnError(Box<Expr>, Box<Expr>),
    Case(Vec<(Expr, Expr)>, Option<Box<Expr>>),
    /// Evaluates the first expression once, then the second, in which [`Node::Operand`] is the value of the first. For
    /// values that may differ between evaluations.
    Once(Box<Expr>, Box<Expr>),
    /// The value of the innermost [`Node::Once`] around it.
    Operand,
    /// The first operand that is not NULL.
    Coalesce(Vec<Expr>),
    /// SYS_CONTEXT(namespace, parameter).
    SysContext(Box<Expr>, Box<Expr>),
    Cmp(CmpOp, Compare, Box<Expr>, Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>, bool),
    Like {
        value: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    InList {
        value: Box<Expr>,
        list: Vec<Expr>,
        compare: Compare,
        negated: bool,
    },
    /// A one-row, one-column subquery: more rows are ORA-01427.
    Scalar(SubId),
    Exists(SubId),
    /// `(values) [NOT] IN (subquery)`; the subquery's outputs have the values' types. `single`: the text has `=` or
    /// `<>`; more than one row is ORA-01427, and no row makes the result UNKNOWN.
    InSub {
        values: Vec<Expr>,
        sub: SubId,
        compare: Vec<Compare>,
        negated: bool,
        single: bool,
    },
    /// `value op ANY | ALL (subquery)`.
    Quantified {
        op: CmpOp,
        compare: Compare,
        all: bool,
        value: Box<Expr>,
        sub: SubId,
    },
    Nextval(Rc<SequenceRef>),
    Currval(Rc<SequenceRef>),
    /// A stored or packaged function, called through the host.
    Call(Rc<HostFunction>, Vec<Expr>),
}

/// A reference to a sequence.
#[derive(Clone, Debug, Image)]
pub struct SequenceRef {
    pub def: Rc<dictionary::SequenceDef>,
    /// Number of the sequence in the statement: NEXTVAL advances once a row however often it is written.
    pub ordinal: usize,
}

impl PartialEq for SequenceRef {
    fn eq(&self, other: &SequenceRef) -> bool {
        self.ordinal == other.ordinal
    }
}

/// A function that is not one of SQL's, as resolved by the host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFunction {
    pub owner: String,
    pub package: Option<String>,
    pub name: String,
    /// The host's handle of the function.
    pub handle: u64,
    pub arg_types: Vec<DataType>,
    /// Parameter names, for calls by name; in the order of `arg_types`.
    pub arg_names: Vec<String>,
    /// Whether an argument has a default, in the order of `arg_types`.
    pub has_default: Vec<bool>,
    /// Positions of arguments that a call with named arguments omits before a given one. The call has NULL there, and
    /// the function uses its default.
    pub omitted: Vec<usize>,
    pub ty: DataType,
    pub deterministic: bool,
    /// Its rows are fetched one by one.
    pub is_pipelined: bool,
    /// Objects a cached result depends on.
    pub dependencies: Vec<types::ObjectId>,
    /// Whether it runs with invoker's rights.
    pub invokers: bool,
    /// The calling user and its name, if that is not the user who runs the statement.
    pub caller: Option<(dictionary::UserId, std::rc::Rc<str>)>,
    /// The columns of [`NESTED_CURSOR`].
    pub nested: Vec<Column>,
}

/// The handle of CURSOR(subquery) for the host. The function's name is the text of the subquery with `:B1`, `:B2` … for
/// outer values, its arguments are these values, and its result is the number of an open cursor.
pub const NESTED_CURSOR: u64 = u64::MAX;

/// The handle of a constructor of a collection type: the arguments are the elements. The executor makes the value.
pub const CONSTRUCTOR: u64 = u64::MAX - 1;

/// Calls `$f` on each direct operand of a node. `$each` is `iter` or `iter_mut`, depending on how the node is borrowed.
macro_rules! operands {
    ($node:expr, $f:ident, $each:ident) => {
        match $node {
            Node::Const(_) | Node::Reg(_) | Node::Bind(_) | Node::Special(_) | Node::Operand => {}
            Node::Scalar(_) | Node::Exists(_) | Node::Nextval(_) | Node::Currval(_) => {}
            Node::Neg(a) | Node::Convert(a) | Node::Cast(a) | Node::Not(a) | Node::IsNull(a, _) => $f(a),
            Node::Arith(_, a, b)
            | Node::Concat(a, b)
            | Node::Cmp(_, _, a, b)
            | Node::SysContext(a, b)
            | Node::OnError(a, b)
            | Node::Once(a, b) => {
                $f(a);
                $f(b);
            }
            Node::Func(_, args) | Node::Call(_, args) | Node::And(args) | Node::Or(args) | Node::Coalesce(args) => {
                args.$each().for_each($f)
            }
            Node::Case(arms, otherwise) => {
                for (when, then) in arms {
                    $f(when);
                    $f(then);
                }
                if let Some(e) = otherwise {
                    $f(e);
                }
            }
            Node::Like { value, pattern, escape, .. } => {
                $f(value);
                $f(pattern);
                if let Some(e) = escape {
                    $f(e);
                }
            }
            Node::InList { value, list, .. } => {
                $f(value);
                list.$each().for_each($f);
            }
            Node::InSub { values, .. } => values.$each().for_each($f),
            Node::Quantified { value, .. } => $f(value),
        }
    };
}

impl Expr {
    pub fn new(node: Node, ty: DataType) -> Expr {
        Expr { node, ty }
    }

    /// Calls `f` on each direct operand.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        operands!(&self.node, f, iter)
    }

    /// As [`Expr::for_each_child`], with mutable operands.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        operands!(&mut self.node, f, iter_mut)
    }

    /// Calls `f` on this expression and all operands below it, without entering subqueries.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.for_each_child(&mut |e| e.walk(f));
    }

    /// Calls `f` with each subquery of the expression, without entering these.
    pub fn each_subquery(&self, f: &mut dyn FnMut(SubId)) {
        self.walk(&mut |e| match &e.node {
            Node::Scalar(sub) | Node::Exists(sub) => f(*sub),
            Node::InSub { sub, .. } | Node::Quantified { sub, .. } => f(*sub),
            _ => {}
        });
    }

    /// Whether the expression contains a subquery.
    pub fn has_subquery(&self) -> bool {
        let mut found = false;
        self.each_subquery(&mut |_| found = true);
        found
    }

    /// Whether two evaluations may give different values.
    pub fn varies(&self) -> bool {
        let mut varies = false;
        self.walk(&mut |e| match &e.node {
            Node::Func(f, _) => varies |= !f.0.deterministic,
            Node::Call(f, _) => varies |= !f.deterministic,
            Node::Special(Special::SysGuid) => varies = true,
            _ => {}
        });
        varies
    }

    /// Builds an expression that reads a value several times. A value that varies is evaluated only once.
    pub fn once(value: Expr, of: impl FnOnce(&Expr) -> types::Result<Expr>) -> types::Result<Expr> {
        if value.varies() { Expr::held(value, of) } else { of(&value) }
    }

    /// Builds an expression whose value is evaluated before its other parts. A value that cannot fail stays in its
    /// place.
    pub fn held(value: Expr, of: impl FnOnce(&Expr) -> types::Result<Expr>) -> types::Result<Expr> {
        if matches!(value.node, Node::Const(_) | Node::Reg(_) | Node::Bind(_)) {
            return of(&value);
        }
        let body = of(&Expr::new(Node::Operand, value.ty))?;
        let ty = body.ty;
        Ok(Expr::new(Node::Once(Box::new(value), Box::new(body)), ty))
    }

    pub fn is_const(&self) -> bool {
        matches!(self.node, Node::Const(_))
    }
}

/// The kind of comparison of a column with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Compared {
    By(CmpOp),
    Like,
}

impl Compared {
    /// A sort key.
    pub(crate) fn rank(self) -> u8 {
        match self {
            Compared::By(op) => op as u8,
            Compared::Like => u8::MAX,
        }
    }
}
