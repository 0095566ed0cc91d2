//! Keys of sorts, as bytes that order by `memcmp`.

use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::{Reg, SortKey};
use types::Result;

/// Sort keys that encode to bytes ordered by `memcmp`.
pub struct Keys(Vec<(Code, bool, bool)>);

impl Keys {
    pub fn build(keys: &[SortKey], b: &mut Builder<'_>) -> Keys {
        Keys(keys.iter().map(|k| (b.code(&k.expr), k.desc, k.nulls_first)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The expressions of the keys.
    pub fn codes(&self) -> impl Iterator<Item = &Code> {
        self.0.iter().map(|(code, ..)| code)
    }

    /// Appends the key of the current row.
    pub fn encode(&self, m: &mut Machine, cx: &mut ExecCtx<'_>, out: &mut Vec<u8>) -> Result<()> {
        for (code, desc, nulls_first) in &self.0 {
            let r = code.eval(m, cx)?;
            encode_part(m, r, *desc, *nulls_first, out);
        }
        Ok(())
    }
}

/// Appends one part of a sort key: a byte that orders NULL, then the value.
pub fn encode_part(m: &mut Machine, r: Reg, desc: bool, nulls_first: bool, out: &mut Vec<u8>) {
    if m.value(r).is_null() {
        out.push(if nulls_first { 0 } else { 2 });
        return;
    }
    out.push(1);
    let mut stored = std::mem::take(&mut m.scratch);
    stored.clear();
    types::codec::encode_instant(m.value(r), &mut stored);
    types::codec::push_key_part(Some(&stored), desc, out);
    m.scratch = stored;
}
