//! Calls of the `functions` crate.

use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::copy;
use plan::{Func, Reg};
use types::{Ora, Result};

/// Evaluates the arguments into neighbouring registers from `base` on and calls the function.
pub fn call(f: &Func, args: &[Code], base: Reg, dst: Reg, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    for (i, code) in args.iter().enumerate() {
        let r = code.eval(m, cx)?;
        copy(r, base + i as Reg, m);
    }
    let _ = (f, dst);
    Err(Ora::unsupported())
}
