//! Analytic functions.
//!
//! All rows of the input are buffered. For each function they are sorted by partition and order, and its value is
//! computed for every row. The rows are returned in the order of the last function's sort, as by Oracle's WINDOW SORT.
//! Rows that do not fit into memory are sorted in temporary space, function by function, with one partition in memory
//! at a time.

use super::RowSource;
use super::sort_keys::{Keys, encode_part};
use super::window_values::{Func, Partition, frame};
use crate::aggregate::AggCode;
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::machine::{Held, Machine, Saved};
use crate::spill::rows::{self, put_part, take_part};
use crate::spill::sorter::Sorter;
use crate::work_area::{Way, bytes_written};
use plan::{Reg, WindowFunc};
use types::sorting::sort_checked;
use types::{Result, Value};

/// Estimated bytes of the keys of a row, before they are made.
const KEY_BYTES: usize = 24;

pub struct Window<S> {
    input: S,
    funcs: Vec<Func>,
    regs: Vec<Reg>,
    rows: Vec<Saved>,
    /// Results by function and row.
    results: Vec<Vec<Value>>,
    order: Vec<usize>,
    at: usize,
    done: bool,
    /// Memory of the rows.
    held: Held,
    on_disk: Option<Staged>,
}

impl<S: RowSource> Window<S> {
    pub fn build(input: S, funcs: &[WindowFunc], regs: &[Reg], b: &mut Builder<'_>) -> Window<S> {
        let funcs = funcs
            .iter()
            .map(|f| Func {
                agg: AggCode::build(&f.agg, b),
                partition: b.codes(&f.partition),
                order: Keys::build(&f.order, b),
                order_codes: f.order.iter().map(|k| (b.code(&k.expr), k.desc, k.nulls_first)).collect(),
                frame: f.frame.as_ref().map(|f| frame(f, b)),
            })
            .collect();
        Window {
            input,
            funcs,
            regs: regs.to_vec(),
            rows: Vec::new(),
            results: Vec::new(),
            order: Vec::new(),
            at: 0,
            done: false,
            held: Held::default(),
            on_disk: None,
        }
    }

    #[inline(never)]
    pub fn open(&mut self, m: &mut Machine) {
        self.held.release(m);
        self.rows.clear();
        self.results.clear();
        self.at = 0;
        self.done = false;
        self.on_disk = None;
    }

    fn run(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.input.open(m, cx)?;
        let mut used = 0;
        while self.input.next(m, cx)? {
            let before = m.used();
            let row = m.save(&self.regs, cx)?;
            used += m.used() - before;
            self.rows.push(row);
            if used > cx.session.options.spill_bytes {
                m.release(used);
                self.done = true;
                return self.run_on_disk(used as u64, m, cx);
            }
        }
        self.held.hold(used, m);
        let rows = &self.rows;
        cx.shared.areas.note(cx, used as u64, 0, || {
            let written = bytes_written(rows, |_| KEY_BYTES, |row| row);
            Way::merge(rows.len() as u64, written)
        });
        self.order = (0..self.rows.len()).collect();
        for f in &self.funcs {
            let mut keys = Vec::with_capacity(self.rows.len());
            for row in &self.rows {
                cx.check_cancel()?;
                m.restore(&self.regs, row);
                let mut partition = Vec::new();
                for code in &f.partition {
                    let r = code.eval(m, cx)?;
                    encode_part(m, r, false, false, &mut partition);
                }
                let mut order = Vec::new();
                f.order.encode(m, cx, &mut order)?;
                keys.push((partition, order));
            }
            let mut order: Vec<usize> = (0..self.rows.len()).collect();
            sort_checked(&mut order, |&a, &b| keys[a].cmp(&keys[b]), &mut || cx.check_cancel())?;
            let mut results = vec![Value::Null; self.rows.len()];
            let mut start = 0;
            while start < order.len() {
                let same = |&&i: &&usize| keys[i].0 == keys[order[start]].0;
                let end = start + order[start..].iter().take_while(same).count();
                let part = Partition { rows: &self.rows, regs: &self.regs, order: &order[start..end], keys: &keys };
                part.compute(f, &mut results, m, cx)?;
                start = end;
            }
            self.results.push(results);
            self.order = order;
        }
        self.done = true;
        Ok(())
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.done {
            self.run(m, cx)?;
        }
        if self.on_disk.is_some() {
            return self.next_staged(m, cx);
        }
        let Some(&i) = self.order.get(self.at) else { return Ok(false) };
        self.at += 1;
        m.restore(&self.regs, &self.rows[i]);
        for (f, results) in self.funcs.iter().zip(&mut self.results) {
            m.put(f.agg.out, std::mem::take(&mut results[i]));
        }
        Ok(true)
    }
}

/// Rows in temporary space, sorted for one function, with the values of the functions before it.
struct Staged {
    sorter: Sorter,
    /// The first row of the next partition.
    ahead: Option<StagedRow>,
    begun: bool,
    /// The current partition, returned from the end of the list.
    given: Vec<(Saved, Vec<Value>)>,
    /// Bytes of that partition.
    used: usize,
}

struct StagedRow {
    partition: Vec<u8>,
    order: Vec<u8>,
    row: Saved,
    earlier: Vec<Value>,
}

impl Staged {
    fn new(sorter: Sorter) -> Staged {
        Staged { sorter, ahead: None, begun: false, given: Vec::new(), used: 0 }
    }

    fn read(&mut self, regs: &[Reg], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Option<StagedRow>> {
        let Some(mut record) = self.sorter.next(cx)? else { return Ok(None) };
        let partition = take_part(&mut record)?.to_vec();
        let order = take_part(&mut record)?.to_vec();
        m.decode(regs, &mut record)?;
        let mut earlier = Vec::new();
        while !record.is_empty() {
            let mut value = Value::Null;
            rows::decode(&mut record, &mut value)?;
            earlier.push(value);
        }
        let before = m.used();
        m.charge(partition.len() + order.len() + earlier.len() * size_of::<Value>() + 64, cx)?;
        let row = m.save(regs, cx)?;
        self.used += m.used() - before;
        Ok(Some(StagedRow { partition, order, row, earlier }))
    }

    /// The rows of the next partition in order, all in memory; `None` at the end.
    fn partition(&mut self, regs: &[Reg], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Vec<StagedRow>> {
        if !std::mem::replace(&mut self.begun, true) {
            self.ahead = self.read(regs, m, cx)?;
        }
        let mut rows: Vec<StagedRow> = self.ahead.take().into_iter().collect();
        while !rows.is_empty() {
            match self.read(regs, m, cx)? {
                Some(row) if row.partition == rows[0].partition => rows.push(row),
                other => {
                    self.ahead = other;
                    break;
                }
            }
        }
        Ok(rows)
    }
}

impl<S: RowSource> Window<S> {
    /// Continues in temporary space: for each function in turn the rows are sorted, and its value is computed partition
    /// by partition.
    fn run_on_disk(&mut self, held: u64, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut sorter = Sorter::new(&m.temporary);
        let kept = self.rows.len() as u64;
        for row in std::mem::take(&mut self.rows) {
            m.restore(&self.regs, &row);
            self.stage(0, &[], &mut sorter, m, cx)?;
        }
        while self.input.next(m, cx)? {
            self.stage(0, &[], &mut sorter, m, cx)?;
        }
        sorter.finish(cx)?;
        // One work area, whatever the number of functions.
        let need = held * sorter.pushed() / kept.max(1);
        cx.shared.areas.note(cx, need, sorter.passes(), || sorter.way());
        let mut staged = Staged::new(sorter);
        for next in 1..self.funcs.len() {
            let mut sorter = Sorter::new(&m.temporary);
            while self.fill(next - 1, &mut staged, m, cx)? {
                while let Some((row, values)) = staged.given.pop() {
                    m.restore(&self.regs, &row);
                    self.stage(next, &values, &mut sorter, m, cx)?;
                }
                m.release(std::mem::take(&mut staged.used));
            }
            sorter.finish(cx)?;
            staged = Staged::new(sorter);
        }
        self.on_disk = Some(staged);
        Ok(())
    }

    /// Adds the row in the registers, with the values of the functions before number `f`, to the sort for that
    /// function.
    fn stage(
        &self,
        f: usize,
        earlier: &[Value],
        sorter: &mut Sorter,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let func = &self.funcs[f];
        let (mut partition, mut order) = (Vec::new(), Vec::new());
        for code in &func.partition {
            let r = code.eval(m, cx)?;
            encode_part(m, r, false, false, &mut partition);
        }
        func.order.encode(m, cx, &mut order)?;
        let mut record = Vec::new();
        put_part(&partition, &mut record);
        put_part(&order, &mut record);
        rows::encode(self.regs.iter().map(|&r| m.value(r)).chain(earlier), &mut record);
        // Parts of keys are self-delimiting, so concatenated keys order as pairs do.
        partition.extend_from_slice(&order);
        sorter.push(&partition, &record, cx.session.options.spill_bytes, cx)
    }

    /// Computes function `f` for the next partition. False at the end.
    fn fill(&self, f: usize, staged: &mut Staged, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let read = staged.partition(&self.regs, m, cx)?;
        let (mut rows, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for row in read {
            rows.push(row.row);
            keys.push((row.partition, row.order));
            values.push(row.earlier);
        }
        let order: Vec<usize> = (0..rows.len()).collect();
        let mut results = vec![Value::Null; rows.len()];
        if !rows.is_empty() {
            let part = Partition { rows: &rows, regs: &self.regs, order: &order, keys: &keys };
            part.compute(&self.funcs[f], &mut results, m, cx)?;
        }
        for (values, result) in values.iter_mut().zip(results) {
            values.push(result);
        }
        staged.given = rows.into_iter().zip(values).rev().collect();
        Ok(!staged.given.is_empty())
    }

    fn next_staged(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Some(mut staged) = self.on_disk.take() else { return Ok(false) };
        let filled = match staged.given.is_empty() {
            true => {
                m.release(std::mem::take(&mut staged.used));
                self.fill(self.funcs.len() - 1, &mut staged, m, cx)
            }
            false => Ok(true),
        };
        let next = staged.given.pop();
        self.on_disk = Some(staged);
        if !filled? {
            return Ok(false);
        }
        let Some((row, values)) = next else { return Ok(false) };
        m.restore(&self.regs, &row);
        for (f, value) in self.funcs.iter().zip(values) {
            m.put(f.agg.out, value);
        }
        Ok(true)
    }
}
