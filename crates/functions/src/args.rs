//! The signatures of functions, and small helpers that read arguments and give results.

use crate::context::FnCtx;
use types::{DataType, Number, Ora, Result, Value};

/// The body of a function: reads `args`, whose number [`FnDef`] has checked, and writes the result.
pub type Eval = fn(&mut FnCtx<'_>, &[Value], &mut Value) -> Result<()>;

/// The type of a function's result, given the types of its arguments.
pub type Returns = fn(&[DataType]) -> Result<DataType>;

/// Sets the result to NULL.
pub fn null(out: &mut Value) -> Result<()> {
    *out = Value::Null;
    Ok(())
}

/// Sets the result to a number.
pub fn give(out: &mut Value, n: Number) -> Result<()> {
    *out = Value::Number(n);
    Ok(())
}

/// Reads an argument as a number; `None` for NULL.
pub fn number(ctx: &FnCtx<'_>, arg: &Value) -> Result<Option<Number>> {
    arg.to_number(ctx.nls)
}

/// Reads an argument that is a count, truncated to a whole number and clamped to the range of a word.
pub fn count(ctx: &FnCtx<'_>, arg: &Value) -> Result<Option<i64>> {
    let Some(n) = arg.to_number(ctx.nls)? else { return Ok(None) };
    let cut = n.trunc(0);
    Ok(Some(cut.as_i64().unwrap_or(if n.is_negative() { i64::MIN / 4 } else { i64::MAX / 4 })))
}

/// Makes ORA-01428 for an argument.
pub fn out_of_range(n: &dyn std::fmt::Display) -> Ora {
    Ora::with(1428, &[n])
}
