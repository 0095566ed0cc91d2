//! NEXTVAL and CURRVAL.

use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::SequenceRef;
use types::{Number, Ora, Result};

/// The sequence's next number, once a row however often the statement names it.
pub fn nextval(s: &SequenceRef, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Number> {
    if let Some(n) = m.sequence_values[s.ordinal] {
        return Ok(n);
    }
    let n = cx.host.next_value(cx, &s.def)?;
    cx.session.currval.insert(s.def.object, n);
    m.sequence_values[s.ordinal] = Some(n);
    Ok(n)
}

/// # Errors
/// ORA-08002 before the session's first NEXTVAL.
pub fn currval(s: &SequenceRef, _m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Number> {
    let known = cx.session.currval.get(&s.def.object).copied();
    known.ok_or_else(|| Ora::with(8002, &[&s.def.name]))
}
