//! Scalar SQL functions and operators of Latchwork.
//!
//! All functions work on evaluated [`Value`]s: the engine looks a function up by name once ([`lookup`]), asks for its
//! return type, and calls it for every row with a result value whose buffer is reused (F1, F2). Session state comes in
//! as [`FnCtx`]. DECODE, NVL2 and COALESCE are also here, for callers without lazy evaluation; the engine itself
//! evaluates them lazily.

#![forbid(unsafe_code)]

mod charset;
pub mod clock;
mod context;
mod convert;
mod date;
mod general;
mod hash;
mod numeric;
pub mod ops;
mod raw;
mod regexp;
mod session;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub use context::{Clock, FnCache, FnCtx, LOB_MAX, SQL_TEXT_MAX, SessionInfo, TextMax};
pub use general::{common_type, decode_equal};
pub use table::{
    AT_TIME_ZONE, ATTRIBUTE, FnDef, LOCATOR, MEMBER, MULTISET, RETYPE, SAME, SUBMULTISET, TO_CHAR_OF_DIGITS, is_named,
    lookup, names,
};

use types::{DataType, Number, Ora, Result, Value};

/// The body of a function: reads `args`, whose number [`FnDef`] has checked, and writes the result.
pub type Eval = fn(&mut FnCtx<'_>, &[Value], &mut Value) -> Result<()>;

/// The type of a function's result, given the types of its arguments.
pub type Returns = fn(&[DataType]) -> Result<DataType>;

/// Sets the result to NULL.
fn null(out: &mut Value) -> Result<()> {
    *out = Value::Null;
    Ok(())
}

/// Sets the result to a number.
fn give(out: &mut Value, n: Number) -> Result<()> {
    *out = Value::Number(n);
    Ok(())
}

/// Reads an argument as a number; `None` for NULL.
fn number(ctx: &FnCtx<'_>, arg: &Value) -> Result<Option<Number>> {
    arg.to_number(ctx.nls)
}

/// Reads an argument that is a count, truncated to a whole number and clamped to the range of a word.
fn count(ctx: &FnCtx<'_>, arg: &Value) -> Result<Option<i64>> {
    let Some(n) = arg.to_number(ctx.nls)? else { return Ok(None) };
    let cut = n.trunc(0);
    Ok(Some(cut.as_i64().unwrap_or(if n.is_negative() { i64::MIN / 4 } else { i64::MAX / 4 })))
}

/// Makes ORA-01428 for an argument.
fn out_of_range(n: &dyn std::fmt::Display) -> Ora {
    Ora::with(1428, &[n])
}
