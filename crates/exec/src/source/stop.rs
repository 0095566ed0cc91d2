//! The limit of a row numbering: ROWNUM, and the first rows of an order.

use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::{CmpOp, StopKey};
use types::{Number, Result, Value};

/// The limit of a row numbering.
pub struct Stop {
    op: CmpOp,
    limit: Code,
}

impl Stop {
    pub fn build(k: &StopKey, b: &mut Builder<'_>) -> Stop {
        Stop { op: k.0, limit: b.code(&k.1) }
    }

    /// The greatest number that a row may get; 0 if no row may get one.
    pub fn most(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
        let r = self.limit.eval(m, cx)?;
        let n = match m.value(r) {
            Value::Null => return Ok(0),
            v => match v.to_number(&cx.session.nls)? {
                Some(n) => n,
                None => return Ok(0),
            },
        };
        let whole = match self.op {
            CmpOp::Le => n.floor(),
            CmpOp::Lt => n.ceil().sub(&Number::from(1i64))?,
            // ROWNUM = n can hold for the first row only.
            _ if n == Number::from(1i64) => n,
            _ => return Ok(0),
        };
        if whole.signum() <= 0 {
            return Ok(0);
        }
        Ok(whole.to_i64().map_or(u64::MAX, |n| n as u64))
    }
}
