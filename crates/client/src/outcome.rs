//! The results of calls.

use net::local::{Column, Done, Executed, Failure};
use types::Value;

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub done: Done,
    /// Lines of `dbms_output`, if requested; `None` is an empty line.
    pub output: Vec<Option<String>>,
    /// The columns and first rows, if the statement is a query.
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Value>>,
    /// The open cursor, when `done.more`.
    pub cursor: u32,
}

/// The result of one request of an array.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) executed: Executed,
    pub(crate) errors: Vec<(u32, Failure)>,
    pub(crate) returned: Vec<(u32, Vec<(u16, Value)>)>,
}
