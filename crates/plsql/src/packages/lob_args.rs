//! Arguments of DBMS_LOB, and changes of the LOB in the first one.

use super::args::Args;
use crate::machine::scalar;
use crate::world::World;
use std::sync::Arc;
use types::{Lob, LobHome, Number, Ora, Result, Value};

pub(super) fn count(n: usize) -> Value {
    Value::Number(Number::from_u64(n as u64))
}

/// The error for a NULL LOB.
pub(super) fn no_locator() -> Ora {
    scalar::value_error("invalid LOB locator specified: ORA-22275")
}

pub(super) fn wrong(argument: u32) -> Ora {
    Ora::with(21560, &[&argument])
}

/// The LOB to read; `None` for NULL.
pub(super) fn content<'a>(a: &'a Args<'_>, at: usize) -> Result<Option<&'a Value>> {
    match a.value(at) {
        Value::Null => Ok(None),
        Value::Lob(lob) if lob.home == LobHome::Freed => Err(Ora::new(22275)),
        value => Ok(Some(value.content())),
    }
}

pub(super) fn source<'a>(a: &'a Args<'_>, at: usize) -> Result<&'a Value> {
    content(a, at)?.ok_or_else(no_locator)
}

/// An amount, at least 1; an amount beyond the LOB stands for the rest.
pub(super) fn amount(a: &Args<'_>, at: usize) -> Result<usize> {
    let n = a.number(at).ok_or_else(|| wrong(at as u32 + 1))?;
    if n < Number::from_i64(1) {
        return Err(wrong(at as u32 + 1));
    }
    Ok(n.trunc(0).as_i64().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX))
}

/// An offset from 1 as an index from 0.
pub(super) fn place(a: &Args<'_>, at: usize) -> Result<usize> {
    amount(a, at).map(|n| n - 1)
}

/// Like [`place`], for an offset that SQL may omit: the default is the first position.
pub(super) fn start(a: &Args<'_>, at: usize) -> Result<usize> {
    if a.is_given(at) { place(a, at) } else { Ok(0) }
}

/// Changes the LOB in the first argument.
pub(super) fn change<W: World>(
    w: &mut W,
    a: &mut Args<'_>,
    binary: bool,
    edit: &mut dyn FnMut(&mut Value) -> Result<()>,
) -> Result<()> {
    let mut lob = a.take(0);
    let result = change_value(w, &mut lob, binary, edit);
    a.set(0, lob);
    result
}

fn change_value<W: World>(
    w: &mut W,
    value: &mut Value,
    binary: bool,
    edit: &mut dyn FnMut(&mut Value) -> Result<()>,
) -> Result<()> {
    match value {
        Value::Null => return Err(no_locator()),
        Value::EmptyLob => return Err(Ora::new(22275)),
        Value::Lob(lob) => {
            if lob.open == Some(false) {
                return Err(Ora::new(22294));
            }
            match lob.home {
                LobHome::Freed => return Err(Ora::new(22275)),
                LobHome::Temporary => edit(&mut Arc::make_mut(lob).content)?,
                LobHome::Row(row) => {
                    let content = w.write_lob(&row, edit)?;
                    *value = Value::Lob(Arc::new(Lob { content, binary: lob.binary, home: lob.home, open: lob.open }));
                }
            }
        }
        _ => {
            let mut lob = Lob::temporary(std::mem::take(value), binary);
            let result = edit(&mut lob.content);
            *value = Value::Lob(Arc::new(lob));
            result?;
        }
    }
    Ok(())
}
