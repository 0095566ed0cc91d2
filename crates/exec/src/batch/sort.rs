//! ORDER BY over batches.
//!
//! Batches stay as they came. Sorted are entries with the first word of a row's key and the positions of the full key
//! and of the row: the word alone decides most comparisons. A top-N sort drops a row once N rows before it are known.

use super::column::{Column, bytes_of, gather};
use super::eval::Expression;
use super::node::{Batch, Node, ROWS_MAX};
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::stop::Stop;
use crate::spill::rows;
use crate::spill::sorter::Sorter;
use crate::work_area::Way;
use plan::{Reg, SortKey, StopKey};
use std::cmp::Ordering;
use types::sorting::sort_checked;
use types::{Result, Value};
use wait::Stat;

/// One batch of so many is sampled for the length of its rows.
const LOOKED_AT: u32 = 8;

/// A row to be sorted.
#[derive(Clone, Copy)]
struct Entry {
    /// The first bytes of the key.
    word: u64,
    key: u32,
    len: u32,
    batch: u32,
    row: u32,
}

pub struct Sort {
    input: Box<dyn Node>,
    keys: Vec<(Expression, bool, bool)>,
    top: Option<Stop>,
    most: usize,
    batches: Vec<Batch>,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    charged: usize,
    /// Rows with this key or a later one are not among the first N.
    boundary: Option<Vec<u8>>,
    on_disk: Option<Sorter>,
    /// Sampled rows: their number, and their bytes when written.
    seen: (u64, u64),
    done: bool,
    at: usize,
    again: bool,
}

fn word(key: &[u8]) -> u64 {
    let mut word = [0u8; 8];
    let n = key.len().min(8);
    word[..n].copy_from_slice(&key[..n]);
    u64::from_be_bytes(word)
}

impl Sort {
    /// A sort over batches; `None` if a key must be evaluated row by row in its place.
    pub fn build(input: Box<dyn Node>, keys: &[SortKey], top: Option<&StopKey>, b: &mut Builder<'_>) -> Option<Sort> {
        let mut made = Vec::with_capacity(keys.len());
        for k in keys {
            made.push((Expression::new(b.code(&k.expr), input.regs())?, k.desc, k.nulls_first));
        }
        Some(Sort {
            input,
            keys: made,
            top: top.map(|k| Stop::build(k, b)),
            most: usize::MAX,
            batches: Vec::new(),
            bytes: Vec::new(),
            entries: Vec::new(),
            charged: 0,
            boundary: None,
            on_disk: None,
            seen: (0, 0),
            done: false,
            at: 0,
            again: false,
        })
    }

    fn clear(&mut self, m: &mut Machine) {
        self.batches.clear();
        self.bytes.clear();
        self.entries.clear();
        self.boundary = None;
        m.release(self.charged);
        self.charged = 0;
    }

    fn run(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.clear(m);
        self.on_disk = None;
        (self.seen, self.at, self.again) = ((0, 0), 0, false);
        self.most = match &self.top {
            Some(stop) => usize::try_from(stop.most(m, cx)?).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        let mut sorted = 0u64;
        let mut batch = Batch::default();
        self.input.open(m, cx)?;
        while self.input.next_batch(&mut batch, m, cx)? {
            sorted += batch.len as u64;
            self.take(&mut batch, m, cx)?;
            cx.check_cancel()?;
        }
        self.done = true;
        if let Some(sorter) = &mut self.on_disk {
            sorter.finish(cx)?;
            let need = self.charged as u64 * sorter.pushed() / (self.entries.len() as u64).max(1);
            cx.shared.areas.note(cx, need, sorter.passes(), || sorter.way());
            self.clear(m);
            return Ok(());
        }
        let (rows, bytes) = self.seen;
        let count = self.entries.len() as u64;
        cx.shared.areas.note(cx, self.charged as u64, 0, || Way::merge(count, bytes * count / rows.max(1)));
        self.sort(cx)?;
        self.entries.truncate(self.most);
        cx.p.count(Stat::SortsMemory, 1);
        cx.p.count(Stat::SortsRows, sorted);
        Ok(())
    }

    /// Sorts the entries. Stable: rows with equal keys keep their order.
    fn sort(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let bytes = &self.bytes;
        let key = |e: &Entry| &bytes[e.key as usize..][..e.len as usize];
        let order = |a: &Entry, b: &Entry| -> Ordering {
            a.word
                .cmp(&b.word)
                .then_with(|| if a.len > 8 || b.len > 8 { key(a).cmp(key(b)) } else { a.len.cmp(&b.len) })
        };
        sort_checked(&mut self.entries, order, &mut || cx.check_cancel())
    }

    /// Adds a batch with the keys of its rows.
    fn take(&mut self, batch: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let begin = self.bytes.len();
        let mut ends = Vec::with_capacity(batch.len);
        self.encode(batch, &mut ends, m, cx)?;
        if let Some(sorter) = &mut self.on_disk {
            let mut at = begin;
            for (row, end) in ends.into_iter().enumerate() {
                push(sorter, &self.bytes[at..end], batch, row, self.input.regs(), m, cx)?;
                at = end;
            }
            self.bytes.truncate(begin);
            return Ok(());
        }
        if let Some(most) = &self.boundary {
            let starts = std::iter::once(begin).chain(ends.iter().copied());
            let keys = starts.zip(&ends).map(|(at, end)| &self.bytes[at..*end]);
            let kept: Vec<u32> = (0..).zip(keys).filter(|(_, key)| *key < &most[..]).map(|(row, _)| row).collect();
            if kept.len() < batch.len {
                let mut bytes = Vec::new();
                let mut left = Vec::with_capacity(kept.len());
                for row in &kept {
                    let at = if *row == 0 { begin } else { ends[*row as usize - 1] };
                    bytes.extend_from_slice(&self.bytes[at..ends[*row as usize]]);
                    left.push(begin + bytes.len());
                }
                self.bytes.truncate(begin);
                self.bytes.extend_from_slice(&bytes);
                ends = left;
                batch.keep(&kept);
            }
            if kept.is_empty() {
                return Ok(());
            }
        }
        let n = self.batches.len() as u32;
        let mut at = begin;
        for (row, end) in ends.into_iter().enumerate() {
            let key = &self.bytes[at..end];
            let (key, len) = (word(key), key.len() as u32);
            self.entries.push(Entry { word: key, key: at as u32, len, batch: n, row: row as u32 });
            at = end;
        }
        if n.is_multiple_of(LOOKED_AT) {
            let mut record = Vec::new();
            batch.restore(0, self.input.regs(), m)?;
            rows::encode(self.input.regs().iter().map(|&r| m.value(r)), &mut record);
            self.seen = (self.seen.0 + 1, self.seen.1 + (record.len() + at - begin) as u64);
        }
        batch.shrink();
        let used = batch.columns.iter().map(bytes_of).sum::<usize>() + batch.arena.len() + self.bytes.len() - begin
            + batch.len * size_of::<Entry>();
        m.charge(used, cx)?;
        self.charged += used;
        self.batches.push(std::mem::take(batch));
        if self.entries.len() >= self.most.saturating_mul(2).max(2 * ROWS_MAX) && self.most < usize::MAX {
            self.cut(m, cx)?;
        }
        if self.charged > cx.session.options.spill_bytes || self.bytes.len() > u32::MAX as usize / 2 {
            self.to_disk(m, cx)?;
        }
        Ok(())
    }

    /// Appends the keys of the rows of a batch, and records where each ends.
    fn encode(
        &mut self,
        batch: &mut Batch,
        ends: &mut Vec<usize>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let mut columns = Vec::with_capacity(self.keys.len());
        for (e, ..) in &self.keys {
            match (e.slot(), e.column(batch, m, cx)) {
                (Some(_), _) => columns.push(None),
                (None, Some(column)) => columns.push(Some(column)),
                (None, None) => return self.encode_rows(batch, ends, m, cx),
            }
        }
        let (mut value, mut stored) = (Value::Null, Vec::new());
        for row in 0..batch.len {
            for ((e, desc, nulls_first), made) in self.keys.iter().zip(&columns) {
                let column = match (made, e.slot()) {
                    (Some(column), _) => column,
                    (None, slot) => &batch.columns[slot.unwrap_or_default()],
                };
                let how = (*desc, *nulls_first);
                column.push_key(row, &batch.arena, how, &mut value, &mut stored, &mut self.bytes)?;
            }
            ends.push(self.bytes.len());
        }
        Ok(())
    }

    /// As [`Sort::encode`], row by row.
    fn encode_rows(
        &mut self,
        batch: &Batch,
        ends: &mut Vec<usize>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let mut stored = Vec::new();
        for row in 0..batch.len {
            batch.restore(row, self.input.regs(), m)?;
            for (e, desc, nulls_first) in &self.keys {
                let r = e.code().eval(m, cx)?;
                push_part(m.value(r), *desc, *nulls_first, &mut stored, &mut self.bytes);
            }
            ends.push(self.bytes.len());
        }
        Ok(())
    }

    /// Drops all rows after the first N.
    fn cut(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.sort(cx)?;
        self.entries.truncate(self.most);
        self.boundary = self.entries.last().map(|e| self.bytes[e.key as usize..][..e.len as usize].to_vec());
        let kept = self.gather(0, self.entries.len())?;
        let mut bytes = Vec::new();
        for (row, e) in self.entries.iter_mut().enumerate() {
            let at = bytes.len() as u32;
            bytes.extend_from_slice(&self.bytes[e.key as usize..][..e.len as usize]);
            (e.key, e.batch, e.row) = (at, 0, row as u32);
        }
        let used = kept.columns.iter().map(bytes_of).sum::<usize>()
            + kept.arena.len()
            + bytes.len()
            + kept.len * size_of::<Entry>();
        (self.bytes, self.batches) = (bytes, vec![kept]);
        m.release(self.charged.saturating_sub(used));
        self.charged = used.min(self.charged);
        Ok(())
    }

    /// Copies the rows of some entries into a batch.
    fn gather(&self, from: usize, to: usize) -> Result<Batch> {
        let rows: Vec<(u32, u32)> = self.entries[from..to].iter().map(|e| (e.batch, e.row)).collect();
        let arenas: Vec<&[u8]> = self.batches.iter().map(|b| &b.arena[..]).collect();
        let mut out = Batch { len: rows.len(), ..Batch::default() };
        for n in 0..self.input.regs().len() {
            let parts: Vec<_> = self.batches.iter().map(|b| &b.columns[n]).collect();
            let column = gather(&parts, &arenas, &rows, &mut out.arena)?;
            out.columns.push(column);
        }
        Ok(out)
    }

    /// Continues in temporary space.
    fn to_disk(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut sorter = Sorter::new(&m.temporary);
        self.entries.sort_unstable_by_key(|e| (e.batch, e.row));
        for e in &self.entries {
            let key = &self.bytes[e.key as usize..][..e.len as usize];
            push(&mut sorter, key, &self.batches[e.batch as usize], e.row as usize, self.input.regs(), m, cx)?;
        }
        self.batches.clear();
        self.bytes.clear();
        self.on_disk = Some(sorter);
        Ok(())
    }
}

impl Node for Sort {
    fn open(&mut self, m: &mut Machine, _: &mut ExecCtx<'_>) -> Result<()> {
        self.clear(m);
        (self.done, self.on_disk) = (false, None);
        Ok(())
    }

    fn rewind(&mut self, _: &mut Machine, _: &mut ExecCtx<'_>) -> Result<()> {
        self.again = self.at > 0;
        self.at = 0;
        Ok(())
    }

    fn regs(&self) -> &[Reg] {
        self.input.regs()
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.done {
            self.run(m, cx)?;
        }
        let Some(sorter) = &mut self.on_disk else {
            let end = (self.at + ROWS_MAX).min(self.entries.len());
            *out = self.gather(self.at, end)?;
            self.at = end;
            return Ok(out.len > 0);
        };
        if std::mem::take(&mut self.again) {
            sorter.rewind(cx)?;
        }
        out.clear();
        let mut values: Vec<Vec<Value>> = self.input.regs().iter().map(|_| Vec::new()).collect();
        while out.len < ROWS_MAX && self.at < self.most {
            let Some(mut record) = sorter.next(cx)? else { break };
            for column in &mut values {
                let mut value = Value::Null;
                rows::decode(&mut record, &mut value)?;
                column.push(value);
            }
            self.at += 1;
            out.len += 1;
        }
        let Batch { columns, arena, .. } = out;
        columns.extend(values.into_iter().map(|values| Column::of_values(values, arena)));
        Ok(out.len > 0)
    }
}

/// Appends one part of a sort key.
fn push_part(v: &Value, desc: bool, nulls_first: bool, stored: &mut Vec<u8>, out: &mut Vec<u8>) {
    if v.is_null() {
        out.push(if nulls_first { 0 } else { 2 });
        return;
    }
    out.push(1);
    stored.clear();
    types::codec::encode_instant(v, stored);
    types::codec::push_key_part(Some(stored), desc, out);
}

/// Adds a row to the sort in temporary space.
fn push(
    sorter: &mut Sorter,
    key: &[u8],
    batch: &Batch,
    row: usize,
    regs: &[Reg],
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<()> {
    let mut record = Vec::new();
    batch.restore(row, regs, m)?;
    rows::encode(regs.iter().map(|&r| m.value(r)), &mut record);
    sorter.push(key, &record, cx.session.options.spill_bytes, cx)
}
