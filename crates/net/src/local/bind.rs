//! Bind variables of a call.

use types::{DataType, Value};

types::numbered! {
    /// The direction of a bind variable's value.
    #[derive(Debug, PartialEq, Eq, Default)]
    pub enum Direction: u8 {
        #[default]
        In = 0,
        Out = 1,
        InOut = 2,
    }
}

/// One bind variable of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Bind {
    /// Without the colon; `None` binds by position.
    pub name: Option<String>,
    pub direction: Direction,
    pub data_type: DataType,
    pub value: Value,
}

impl Bind {
    /// An input bound by position.
    pub fn input(data_type: DataType, value: Value) -> Self {
        Self { name: None, direction: Direction::In, data_type, value }
    }

    /// An input and output bound by name.
    pub fn named(name: impl Into<String>, data_type: DataType, value: Value) -> Self {
        Self { name: Some(name.into()), direction: Direction::InOut, data_type, value }
    }
}
