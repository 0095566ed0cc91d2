//! The world of PL/SQL: the session's value that is passed down with a call. [`crate::services`] implements its
//! services.

use crate::core::Core;
use exec::ExecCtx;
use types::{Number, Value};

/// A call in progress, for PL/SQL.
pub struct World<'a> {
    pub cx: ExecCtx<'a>,
    pub core: &'a Core,
}

/// A NUMBER value.
pub fn number(n: i64) -> Value {
    Value::Number(Number::from_i64(n))
}
