//! The clauses of the functions of SQL/JSON.
//!
//! The values of a function are arguments of its call, so that whatever walks over expressions reaches them: first the
//! input, then those of PASSING; for JSON_OBJECT keys and values in turn. A call with a path and without arguments is
//! `table.column.name[0]`: the name of the call is that of the column.

use super::{DataTypeName, Ident, Literal, Pos};

/// All clauses of a call; most functions have few of them.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct JsonClauses {
    /// FORMAT JSON after the input.
    pub format: bool,
    pub path: Option<JsonPath>,
    /// The names of PASSING; their values are the last arguments.
    pub passing: Vec<Ident>,
    pub returning: Option<DataTypeName>,
    pub wrapper: Option<JsonWrapper>,
    pub pretty: bool,
    pub ascii: bool,
    pub truncate: bool,
    /// ALLOW SCALARS is true.
    pub scalars: Option<bool>,
    pub on_error: Option<JsonOtherwise>,
    pub on_empty: Option<JsonOtherwise>,
    /// `NULL ON NULL` is true, `ABSENT ON NULL` is false.
    pub null_on_null: Option<bool>,
    pub strict: bool,
    pub unique_keys: bool,
    /// For each value that a function makes JSON of, FORMAT JSON.
    pub formats: Vec<bool>,
    /// The columns of JSON_TABLE.
    pub columns: Vec<JsonColumn>,
}

/// A path with the position of its literal. A path without quotes becomes the literal that it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    pub text: String,
    pub pos: Pos,
}

/// A wrapper clause of JSON_QUERY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonWrapper {
    Without,
    Conditional,
    Unconditional,
}

/// The behaviour in ON ERROR and ON EMPTY.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonOtherwise {
    Null,
    Error,
    EmptyArray,
    EmptyObject,
    True,
    False,
    /// `DEFAULT literal`; whether a minus stands before it.
    Default(bool, Literal),
}

/// A column of JSON_TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonColumn {
    Ordinality(Ident),
    Value {
        name: Ident,
        exists: bool,
        /// The path, `returning` and the other clauses.
        clauses: Box<JsonClauses>,
    },
    Nested {
        path: JsonPath,
        columns: Vec<JsonColumn>,
    },
}

/// `IS JSON [STRICT] [WITH UNIQUE KEYS]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct JsonTest {
    pub strict: bool,
    pub unique_keys: bool,
}
