//! PL/SQL's view of the session: the value that is passed down with a call. Its services are in [`crate::services`].

use crate::core::Core;
use exec::ExecCtx;
use types::{Number, Value};

/// A call in progress as PL/SQL sees it.
pub struct World<'a> {
    pub cx: ExecCtx<'a>,
    pub core: &'a Core,
}

/// A number as PL/SQL and SQL have it.
pub fn number(n: i64) -> Value {
    Value::Number(Number::from_i64(n))
}
