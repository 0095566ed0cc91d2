//! Operators of nested tables as multisets.
//!
//! Elements are compared by their encoded values, so an operation takes time in proportion to the elements. NULL equals
//! NULL here, as in Oracle.

use crate::datum::{Coll, Datum};
use crate::op::MultisetOp;
use crate::resultkey::write_value;
use std::collections::{HashMap, HashSet};
use types::{Ora, Result, Value};

/// An element's value as a key.
fn key(element: &Datum) -> Result<Vec<u8>> {
    match element {
        Datum::Val(Value::Composite(_)) => Err(Ora::unsupported()),
        Datum::Val(value) => {
            let mut key = Vec::new();
            write_value(value.content(), &mut key);
            Ok(key)
        }
        // The compiler refuses collections of other types.
        _ => Err(Ora::unsupported()),
    }
}

fn counts(c: &Coll) -> Result<HashMap<Vec<u8>, usize>> {
    let mut counts = HashMap::new();
    for element in c.elements() {
        *counts.entry(key(element)?).or_default() += 1;
    }
    Ok(counts)
}

/// `a MULTISET op [DISTINCT] b`. The result has the type of `a`, and its elements come first.
///
/// # Errors
/// ORA-06532 when the result exceeds the limit of a varray.
pub(super) fn multiset(a: &Coll, b: &Coll, op: MultisetOp, distinct: bool) -> Result<Coll> {
    let mut made = Coll::empty(&a.info);
    let mut others = if op == MultisetOp::Union { HashMap::new() } else { counts(b)? };
    let mut seen = HashSet::new();
    let rest = b.elements().filter(|_| op == MultisetOp::Union);
    for element in a.elements().chain(rest) {
        let is_new = !distinct || seen.insert(key(element)?);
        let is_kept = match op {
            MultisetOp::Union => true,
            MultisetOp::Intersect | MultisetOp::Except => {
                let is_shared = match others.get_mut(&key(element)?) {
                    Some(left) if distinct => *left > 0,
                    Some(left) if *left > 0 => {
                        *left -= 1;
                        true
                    }
                    _ => false,
                };
                is_shared == (op == MultisetOp::Intersect)
            }
        };
        if is_new && is_kept {
            made.push(element.clone()).map_err(Ora::new)?;
        }
    }
    Ok(made)
}

/// Whether each element of `a` is in `b`, as often as in `a`.
pub(super) fn is_submultiset(a: &Coll, b: &Coll) -> Result<bool> {
    let others = counts(b)?;
    Ok(counts(a)?.into_iter().all(|(key, n)| others.get(&key).is_some_and(|found| *found >= n)))
}

/// Whether no element is there twice.
pub(super) fn is_a_set(c: &Coll) -> Result<bool> {
    Ok(counts(c)?.values().all(|n| *n == 1))
}
