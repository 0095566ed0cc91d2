//! Distinct rows, for DISTINCT and UNION.
//!
//! The keys seen are kept in memory. When they do not fit, rows with other keys are partitioned; after the end of the
//! input each partition is an input of its own.

use super::limits::LEVELS_MAX;
use super::partition::{Division, level_of};
use super::{Reader, TempFile, rows};
use crate::ctx::ExecCtx;
use crate::hash::{KeySet, push_part};
use crate::machine::{Held, Machine};
use crate::work_area::Way;
use plan::Reg;
use types::Result;

#[derive(Default)]
pub struct Unique {
    seen: KeySet,
    held: Held,
    level: u32,
    division: Option<Division>,
    waiting: Vec<(TempFile, u32)>,
    part: Option<(TempFile, Reader)>,
    key: Vec<u8>,
    record: Vec<u8>,
    /// Bytes of all keys so far except those in memory, bytes of deferred rows, and the deepest level.
    work: (u64, u64, u32),
}

impl Unique {
    pub fn clear(&mut self, m: &mut Machine) {
        self.held.release(m);
        *self = Unique { key: std::mem::take(&mut self.key), held: self.held, ..Unique::default() };
    }

    /// Whether the row in `regs` is the first of its kind. A row that cannot be decided yet is deferred.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn offer(&mut self, regs: &[Reg], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.key.clear();
        for &r in regs {
            push_part(m.value(r), &mut self.key);
        }
        if self.seen.contains(&self.key) {
            return Ok(false);
        }
        let more = self.key.len() + 48;
        if self.held.bytes() + more > cx.session.options.spill_bytes && self.level < LEVELS_MAX {
            if self.division.is_none() {
                self.division = Some(Division::new(self.level, &m.temporary, cx));
            }
            self.record.clear();
            rows::encode(regs.iter().map(|&r| m.value(r)), &mut self.record);
            if let Some(division) = &mut self.division {
                division.push(&self.key, &self.record, cx)?;
                if self.level == 0 {
                    self.work.1 += self.record.len() as u64 + 4;
                }
            }
            return Ok(false);
        }
        self.held.charge(more, m, cx)?;
        self.seen.insert(self.key.clone());
        Ok(true)
    }

    /// Notes the work area at its end. `kept`: bytes of the last keys in memory.
    fn note(&mut self, kept: u64, cx: &ExecCtx<'_>) {
        let (need, put_off, passes) = std::mem::take(&mut self.work);
        if need == 0 {
            return;
        }
        // The keys that did not fit beside the first ones were deferred. If none was, rows are assumed to be as long as
        // keys.
        let first = need.min(cx.session.options.spill_bytes as u64);
        let written = match passes {
            0 => kept,
            _ => (put_off as u128 * need as u128 / u128::from(need.saturating_sub(first).max(1))) as u64,
        };
        cx.shared.areas.note(cx, need, passes, || (Way::Overflow { records: 0, sorted: 0 }, written));
    }

    /// The next distinct deferred row, in `regs`; to be called after the end of the input. False at the end.
    ///
    /// # Errors
    /// Those of temporary space.
    pub fn next(&mut self, regs: &[Reg], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        loop {
            if let Some((file, mut reader)) = self.part.take() {
                let mut record = std::mem::take(&mut self.record);
                while file.next(&mut reader, &mut record, cx)? {
                    m.decode(regs, &mut &record[..])?;
                    if self.offer(regs, m, cx)? {
                        self.record = record;
                        self.part = Some((file, reader));
                        return Ok(true);
                    }
                }
                self.record = record;
            }
            if let Some(division) = self.division.take() {
                let level = division.level;
                self.work.2 = self.work.2.max(level + 1);
                let parts = division.finish(cx)?.into_iter().filter(|part| part.records() > 0);
                self.waiting.extend(parts.map(|part| {
                    let level = level_of(&part, level);
                    (part, level)
                }));
            }
            self.seen.clear();
            let last = self.held.bytes();
            self.work.0 += last as u64;
            self.held.release(m);
            let Some((part, level)) = self.waiting.pop() else {
                self.note(last as u64, cx);
                return Ok(false);
            };
            self.level = level;
            self.part = Some((part, Reader::default()));
        }
    }
}
