//! The path language of SQL/JSON: `$.a[0 to 2]..b?(@.c > 5).size()`.
//!
//! A path is a list of steps and, at its end, at most one item method. Paths are lax: a step that wants an object takes
//! each element of an array, and a step that wants an array takes any other value as an array of one element.

mod evaluate;
mod filter;
mod method;
mod parse;

pub use evaluate::Scratch;
pub use method::{Item, Method};
pub use parse::parse;

/// Most parentheses of a filter inside one another.
pub const FILTER_NESTING_MAX: u32 = 64;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    pub steps: Vec<Step>,
    pub method: Option<Method>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `.name`
    Member(String),
    /// `.*`
    Members,
    /// `..name`
    Descendants(String),
    /// `[0, 3 to last]`
    Elements(Vec<(Index, Index)>),
    /// `[*]`
    AllElements,
    /// `?(condition)`
    Filter(Condition),
}

/// A position in an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Index {
    FromFirst(u32),
    /// `last - n`
    FromLast(u32),
}

impl Index {
    /// The position in an array of `count` elements; may lie outside.
    pub fn at(self, count: u32) -> i64 {
        match self {
            Index::FromFirst(n) => i64::from(n),
            Index::FromLast(n) => i64::from(count) - 1 - i64::from(n),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    /// `exists(@.a)` and a bare `@.a`
    Exists(Path),
    Compare(Comparison, Operand, Operand),
    /// `@.a in (1, 2)`
    In(Operand, Vec<Operand>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    HasSubstring,
    StartsWith,
    /// With `%` and `_`.
    Like,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Path(Path),
    Text(String),
    Number(types::Number),
    Boolean(bool),
    Null,
    /// `$name` of the PASSING clause.
    Variable(usize),
}
