//! The use of filters of hash joins.

use super::RowSource;
use crate::ctx::ExecCtx;
use crate::join::keys::Keys;
use crate::join::row_key::RowKey;
use crate::machine::Machine;
use types::Result;

/// Drops rows without a match in a hash join above, by its Bloom filter.
pub struct UseFilter<S> {
    input: S,
    id: usize,
    keys: Keys,
    key: RowKey,
}

impl<S: RowSource> UseFilter<S> {
    pub fn new(input: S, id: usize, keys: Keys) -> UseFilter<S> {
        UseFilter { input, id, keys, key: RowKey::default() }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.input.open(m, cx)
    }

    pub fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.input.rewind(m, cx)
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        while self.input.next(m, cx)? {
            if m.filter(self.id).is_none() {
                return Ok(true);
            }
            let matches = self.keys.eval(&mut self.key, m, cx)?;
            if m.filter(self.id).is_none_or(|filter| filter.may_have(&self.key, matches)) {
                return Ok(true);
            }
            cx.check_cancel()?;
        }
        Ok(false)
    }
}
