//! ORDER BY and DISTINCT.

use super::RowSource;
use super::sort_keys::Keys;
use super::stop::Stop;
use crate::ctx::ExecCtx;
use crate::machine::{Held, Machine, Saved};
use crate::spill::rows;
use crate::spill::sorter::Sorter;
use crate::spill::unique::Unique;
use crate::work_area::{Way, bytes_written};
use plan::Reg;
use std::cmp::Ordering;
use types::Result;
use types::sorting::sort_checked;
use wait::Stat;

/// Sorts all rows of its input; with a stop key it keeps the first ones only. Rows that do not fit into memory are
/// sorted in temporary space.
pub struct Sort<S> {
    input: S,
    keys: Keys,
    regs: Vec<Reg>,
    top: Option<Stop>,
    rows: Option<Vec<(Box<[u8]>, Saved)>>,
    on_disk: Option<Sorter>,
    most: usize,
    at: usize,
    again: bool,
    /// Memory of the rows.
    held: Held,
}

fn by_key(a: &(Box<[u8]>, Saved), b: &(Box<[u8]>, Saved)) -> Ordering {
    a.0.cmp(&b.0)
}

impl<S: RowSource> Sort<S> {
    pub fn new(input: S, keys: Keys, regs: Vec<Reg>, top: Option<Stop>) -> Sort<S> {
        Sort {
            input,
            keys,
            regs,
            top,
            rows: None,
            on_disk: None,
            most: usize::MAX,
            at: 0,
            again: false,
            held: Held::default(),
        }
    }

    pub fn open(&mut self, m: &mut Machine) {
        self.held.release(m);
        self.rows = None;
        self.on_disk = None;
        self.at = 0;
    }

    pub fn rewind(&mut self) {
        self.again = self.at > 0;
        self.at = 0;
    }

    fn run(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.most = match &self.top {
            Some(s) => usize::try_from(s.most(m, cx)?).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        self.again = false;
        let limit = cx.session.options.spill_bytes;
        let mut rows: Vec<(Box<[u8]>, Saved)> = Vec::new();
        let (mut key, mut used, mut sorted) = (Vec::new(), 0, 0u64);
        self.input.open(m, cx)?;
        while self.input.next(m, cx)? {
            key.clear();
            self.keys.encode(m, cx, &mut key)?;
            sorted += 1;
            let before = m.used();
            m.charge(key.len() + 32, cx)?;
            rows.push((key.clone().into_boxed_slice(), m.save(&self.regs, cx)?));
            used += m.used() - before;
            // Cut from time to time, so that a top-N sort holds at most 2 N rows.
            if rows.len() >= self.most.saturating_mul(2).max(1024) {
                sort_checked(&mut rows, by_key, &mut || cx.check_cancel())?;
                let cut = used / rows.len() * (rows.len() - self.most);
                rows.truncate(self.most);
                m.release(cut);
                used -= cut;
            }
            if used > limit {
                self.run_on_disk(rows, used, m, cx)?;
                self.rows = Some(Vec::new());
                return Ok(());
            }
        }
        cx.shared.areas.note(cx, used as u64, 0, || {
            let written = bytes_written(&rows, |(key, _)| key.len() + 4, |(_, row)| row);
            Way::merge(rows.len() as u64, written)
        });
        // Stable: rows with equal keys keep their order.
        sort_checked(&mut rows, by_key, &mut || cx.check_cancel())?;
        rows.truncate(self.most);
        cx.p.count(Stat::SortsMemory, 1);
        cx.p.count(Stat::SortsRows, sorted);
        self.rows = Some(rows);
        self.held.hold(used, m);
        Ok(())
    }

    /// Continues in temporary space, starting with `rows`, which hold `used` bytes.
    fn run_on_disk(
        &mut self,
        rows: Vec<(Box<[u8]>, Saved)>,
        used: usize,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let (limit, kept) = (cx.session.options.spill_bytes, rows.len() as u64);
        let (mut sorter, mut key, mut record) = (Sorter::new(&m.temporary), Vec::new(), Vec::new());
        for (key, row) in rows {
            record.clear();
            rows::encode(row.iter(), &mut record);
            sorter.push(&key, &record, limit, cx)?;
        }
        m.release(used);
        while self.input.next(m, cx)? {
            key.clear();
            self.keys.encode(m, cx, &mut key)?;
            record.clear();
            rows::encode(self.regs.iter().map(|&r| m.value(r)), &mut record);
            sorter.push(&key, &record, limit, cx)?;
        }
        sorter.finish(cx)?;
        let need = used as u64 * sorter.pushed() / kept.max(1);
        cx.shared.areas.note(cx, need, sorter.passes(), || sorter.way());
        self.on_disk = Some(sorter);
        Ok(())
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.run(m, cx)?;
        }
        if let Some(sorter) = &mut self.on_disk {
            if std::mem::take(&mut self.again) {
                sorter.rewind(cx)?;
            }
            if self.at >= self.most {
                return Ok(false);
            }
            let Some(mut record) = sorter.next(cx)? else { return Ok(false) };
            self.at += 1;
            m.decode(&self.regs, &mut record)?;
            return Ok(true);
        }
        let rows = self.rows.as_ref().expect("just sorted");
        let Some((_, row)) = rows.get(self.at) else { return Ok(false) };
        self.at += 1;
        m.restore(&self.regs, row);
        Ok(true)
    }
}

/// Returns each distinct row once.
pub struct Distinct<S> {
    input: S,
    regs: Vec<Reg>,
    unique: Unique,
    ended: bool,
}

impl<S: RowSource> Distinct<S> {
    pub fn new(input: S, regs: Vec<Reg>) -> Distinct<S> {
        Distinct { input, regs, unique: Unique::default(), ended: false }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.unique.clear(m);
        self.ended = false;
        self.input.open(m, cx)
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        while !self.ended {
            if !self.input.next(m, cx)? {
                self.ended = true;
                break;
            }
            if self.unique.offer(&self.regs, m, cx)? {
                return Ok(true);
            }
        }
        self.unique.next(&self.regs, m, cx)
    }
}
