//! ORDER BY and DISTINCT.

use super::{Op, Stop};
use crate::code::{Builder, Code};
use crate::ctx::ExecCtx;
use crate::hash::{KeySet, push_part};
use crate::machine::{Machine, Saved};
use plan::{Reg, SortKey};
use types::Result;
use wait::Stat;

/// Sort keys that encode to bytes ordered by `memcmp`.
pub struct Keys(Vec<(Code, bool, bool)>);

impl Keys {
    pub fn build(keys: &[SortKey], b: &mut Builder<'_>) -> Keys {
        Keys(keys.iter().map(|k| (b.code(&k.expr), k.desc, k.nulls_first)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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

/// Appends one sort key part: a byte that places NULL, then the value.
pub fn encode_part(m: &mut Machine, r: Reg, desc: bool, nulls_first: bool, out: &mut Vec<u8>) {
    if m.value(r).is_null() {
        out.push(if nulls_first { 0 } else { 2 });
        return;
    }
    out.push(1);
    let mut stored = std::mem::take(&mut m.scratch);
    stored.clear();
    types::codec::encode(m.value(r), &mut stored);
    types::codec::push_key_part(Some(&stored), desc, out);
    m.scratch = stored;
}

/// Sorts all rows of its input; with a stop key it keeps only the first ones.
pub struct Sort {
    input: Op,
    keys: Keys,
    regs: Vec<Reg>,
    top: Option<Stop>,
    rows: Option<Vec<(Box<[u8]>, Saved)>>,
    at: usize,
}

impl Sort {
    pub fn new(input: Op, keys: Keys, regs: Vec<Reg>, top: Option<Stop>) -> Sort {
        Sort { input, keys, regs, top, rows: None, at: 0 }
    }

    pub fn open(&mut self) {
        self.rows = None;
        self.at = 0;
    }

    pub fn rewind(&mut self) {
        self.at = 0;
    }

    fn run(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let most = match &self.top {
            Some(s) => usize::try_from(s.most(m, cx)?).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        let mut rows: Vec<(Box<[u8]>, Saved)> = Vec::new();
        let mut key = Vec::new();
        let mut sorted = 0u64;
        self.input.open(m, cx)?;
        while self.input.next(m, cx)? {
            key.clear();
            self.keys.encode(m, cx, &mut key)?;
            sorted += 1;
            m.charge(if most == usize::MAX { key.len() + 32 } else { 0 }, cx)?;
            rows.push((key.clone().into_boxed_slice(), m.save(&self.regs, cx)?));
            // Cut back now and then, so that a top-N keeps twice N at most.
            if rows.len() >= most.saturating_mul(2).max(1024) {
                rows.sort_by(|a, b| a.0.cmp(&b.0));
                rows.truncate(most);
            }
        }
        // Stable: rows with equal keys stay in the order they came.
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows.truncate(most);
        cx.p.count(Stat::SortsMemory, 1);
        cx.p.count(Stat::SortsRows, sorted);
        self.rows = Some(rows);
        Ok(())
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.run(m, cx)?;
        }
        let rows = self.rows.as_ref().expect("just sorted");
        let Some((_, row)) = rows.get(self.at) else { return Ok(false) };
        self.at += 1;
        m.restore(&self.regs, row);
        Ok(true)
    }
}

/// Lets each row through once.
pub struct Distinct {
    input: Op,
    regs: Vec<Reg>,
    seen: KeySet,
}

impl Distinct {
    pub fn new(input: Op, regs: Vec<Reg>) -> Distinct {
        Distinct { input, regs, seen: KeySet::default() }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.seen.clear();
        self.input.open(m, cx)
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let mut key = std::mem::take(&mut m.key);
        let result = loop {
            match self.input.next(m, cx) {
                Ok(true) => {}
                other => break other,
            }
            key.clear();
            for &r in &self.regs {
                push_part(m.value(r), &mut key);
            }
            if !self.seen.contains(&key) {
                if let Err(e) = m.charge(key.len() + 48, cx) {
                    break Err(e);
                }
                self.seen.insert(key.clone());
                break Ok(true);
            }
        };
        m.key = key;
        result
    }
}
