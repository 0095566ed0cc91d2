//! The tree of a parsed expression.

use crate::functions::Function;

/// A parsed expression.
#[derive(Debug)]
pub struct Query {
    pub(crate) root: Expr,
    /// The number of variables: external ones come first, then those of clauses.
    pub(crate) slots: usize,
}

#[derive(Debug)]
pub(crate) enum Expr {
    Sequence(Vec<Expr>),
    Text(String),
    Number(f64),
    Variable(usize),
    /// `.`
    Context,
    /// The root of the context node's document.
    Root,
    Or(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    /// `value`: `eq` and the like, which compare single values.
    Compare {
        op: Compare,
        value: bool,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    Range(Box<Expr>, Box<Expr>),
    Union(Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
    /// The steps are taken from the nodes of the first expression.
    Path(Box<Expr>, Vec<Step>),
    Filter(Box<Expr>, Vec<Expr>),
    Call(Function, Vec<Expr>),
    If(Box<[Expr; 3]>),
    Flwor {
        clauses: Vec<Clause>,
        result: Box<Expr>,
    },
    /// `some $x in … satisfies …`, or `every`.
    Quantified {
        every: bool,
        bindings: Vec<(usize, Expr)>,
        test: Box<Expr>,
    },
    Element {
        name: String,
        attributes: Vec<(String, Vec<Part>)>,
        content: Vec<Part>,
    },
}

/// A part of the content of a constructed element or attribute.
#[derive(Debug)]
pub(crate) enum Part {
    /// Text as it stands in the expression.
    Text(String),
    Expr(Expr),
}

#[derive(Debug)]
pub(crate) enum Clause {
    For {
        slot: usize,
        at: Option<usize>,
        source: Expr,
    },
    Let {
        slot: usize,
        value: Expr,
    },
    Where(Expr),
    /// The keys, with DESCENDING.
    OrderBy(Vec<(Expr, bool)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    WholeDiv,
    Mod,
}

#[derive(Debug)]
pub(crate) enum Step {
    Axis {
        axis: Axis,
        test: Test,
        predicates: Vec<Expr>,
    },
    /// An expression evaluated for each node, as `/a/string(.)`.
    Each(Expr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    Child,
    Attribute,
    This,
    Parent,
    Descendant,
    DescendantOrThis,
    Ancestor,
    AncestorOrThis,
    FollowingSibling,
    PrecedingSibling,
    Following,
    Preceding,
}

/// A test of nodes on an axis.
#[derive(Debug)]
pub(crate) enum Test {
    /// A name; `None` for `*`.
    Name {
        namespace: Option<String>,
        local: Option<String>,
    },
    Node,
    Text,
    Comment,
    Instruction(Option<String>),
    Element,
    Attribute,
    Document,
}
