//! Comparisons of values as a plan wants them.

use plan::Compare;
use std::cmp::Ordering;
use types::{Result, Value};

/// TRUE, FALSE or UNKNOWN.
pub type Truth = Option<bool>;

/// Encodes a value so that equal values have equal bytes. Trailing blanks are ignored where the comparison pads.
pub fn encode_comparable(v: &Value, padded: bool, out: &mut Vec<u8>) {
    match v {
        Value::Text(s) if padded => out.extend_from_slice(s.trim_end_matches(' ').as_bytes()),
        v => types::codec::encode_instant(v, out),
    }
}

/// Compares two values in the way that the plan chose. `None` when one is NULL.
#[inline]
pub fn compare_values(a: &Value, b: &Value, how: Compare, nls: &types::Nls) -> Result<Option<Ordering>> {
    if let (Value::Number(x), Value::Number(y)) = (a, b)
        && let (Some(x), Some(y)) = (x.as_i64(), y.as_i64())
    {
        return Ok(Some(x.cmp(&y)));
    }
    compare_others(a, b, how, nls)
}

#[inline(never)]
fn compare_others(a: &Value, b: &Value, how: Compare, nls: &types::Nls) -> Result<Option<Ordering>> {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => Ok(Some(x.cmp(y))),
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (Value::Text(x), Value::Text(y)) => Ok(Some(match how {
            Compare::Padded => types::compare_padded(x, y),
            _ => x.as_bytes().cmp(y.as_bytes()),
        })),
        _ => a.compare(b, nls),
    }
}
