//! The use of Bloom filters of hash joins.

use super::column::Column;
use super::join_keys::{KeyColumns, KeyScratch};
use super::node::{Batch, Node};
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::join::row_key::Match;
use crate::machine::Machine;
use plan::Reg;
use types::Result;

/// Use of a Bloom filter of a join above: drops rows without a match there.
pub struct UseFilter {
    pub id: usize,
    pub keys: KeyColumns,
    scratch: KeyScratch,
}

impl UseFilter {
    /// The filter over rows of these registers; `None` if a key is not a column.
    pub fn build(id: usize, keys: &[plan::Key], regs: &[Reg], b: &mut Builder<'_>) -> Option<UseFilter> {
        let keys: Vec<(Code, bool)> = keys.iter().map(|key| (b.code(&key.value), key.padded)).collect();
        Some(UseFilter { id, keys: KeyColumns::new(&keys, regs)?, scratch: KeyScratch::default() })
    }

    /// Drops the rows from `selected` whose keys are not in the filter.
    ///
    /// # Errors
    /// ORA-00600 for bytes that cannot be of their type.
    pub fn select(&mut self, columns: &[Column], arena: &[u8], selected: &mut Vec<u32>, m: &Machine) -> Result<()> {
        let Some(bloom) = m.filter(self.id) else { return Ok(()) };
        let mut kept = 0;
        for n in 0..selected.len() {
            let row = selected[n];
            let whole = self.keys.key(columns, row as usize, arena, &mut self.scratch)?;
            let passes = whole && bloom.may_have(&self.scratch.key, Match::Whole);
            selected[kept] = row;
            kept += usize::from(passes);
        }
        selected.truncate(kept);
        Ok(())
    }
}

/// Applies the filter of a join above to the rows of a source other than a scan.
pub struct Filtered {
    input: Box<dyn Node>,
    filter: UseFilter,
    selected: Vec<u32>,
}

impl Filtered {
    pub fn new(input: Box<dyn Node>, filter: UseFilter) -> Filtered {
        Filtered { input, filter, selected: Vec::new() }
    }
}

impl Node for Filtered {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.input.open(m, cx)
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.input.rewind(m, cx)
    }

    fn regs(&self) -> &[Reg] {
        self.input.regs()
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        while self.input.next_batch(out, m, cx)? {
            self.selected.clear();
            self.selected.extend(0..out.len as u32);
            self.filter.select(&out.columns, &out.arena, &mut self.selected, m)?;
            out.keep(&self.selected);
            if out.len > 0 {
                return Ok(true);
            }
            cx.check_cancel()?;
        }
        Ok(false)
    }
}
