//! Analytic functions.
//!
//! All rows of the input are buffered. For each function they are sorted by partition and order, and its value is
//! computed for every row. The rows are returned in the order of the last function's sort, as by Oracle's WINDOW SORT.
//! Rows that do not fit into memory are sorted in temporary space, function by function, with one partition in memory
//! at a time.

use super::Op;
use super::sort::Keys;
use crate::aggregate::{Acc, AggCode};
use crate::code::{Builder, Code};
use crate::ctx::ExecCtx;
use crate::machine::{Held, Machine, Saved};
use crate::spill::rows::{self, put_part, take_part};
use crate::spill::sorter::Sorter;
use crate::work_area::{Way, bytes_written};
use plan::{AggKind, Bound, Frame, Reg, Source, WindowFunc};
use std::ops::Range;
use types::sorting::sort_checked;
use types::{Number, Ora, Result, Value};

/// Estimated bytes of the keys of a row, before they are made.
const KEY_BYTES: usize = 24;

struct Func {
    agg: AggCode,
    partition: Vec<Code>,
    order: Keys,
    /// The keys of the order: code, descending, NULLs first.
    order_codes: Vec<(Code, bool, bool)>,
    frame: Option<FrameCode>,
}

struct FrameCode {
    rows: bool,
    start: BoundCode,
    end: BoundCode,
}

enum BoundCode {
    UnboundedPreceding,
    Preceding(Code),
    CurrentRow,
    Following(Code),
    UnboundedFollowing,
}

pub struct Window {
    input: Op,
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

impl Window {
    pub fn build(input: &Source, funcs: &[WindowFunc], regs: &[Reg], b: &mut Builder<'_>) -> Result<Window> {
        let input = Op::build(input, b)?;
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
        Ok(Window {
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
        })
    }

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
                    super::sort::encode_part(m, r, false, false, &mut partition);
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

impl Window {
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
            super::sort::encode_part(m, r, false, false, &mut partition);
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

fn frame(f: &Frame, b: &mut Builder<'_>) -> FrameCode {
    let mut bound = |x: &Bound| match x {
        Bound::UnboundedPreceding => BoundCode::UnboundedPreceding,
        Bound::Preceding(e) => BoundCode::Preceding(b.code(e)),
        Bound::CurrentRow => BoundCode::CurrentRow,
        Bound::Following(e) => BoundCode::Following(b.code(e)),
        Bound::UnboundedFollowing => BoundCode::UnboundedFollowing,
    };
    FrameCode { rows: f.rows, start: bound(&f.start), end: bound(&f.end) }
}

/// The rows of one partition in order.
struct Partition<'p> {
    rows: &'p [Saved],
    regs: &'p [Reg],
    order: &'p [usize],
    keys: &'p [(Vec<u8>, Vec<u8>)],
}

/// Data for the frames of a partition's rows.
struct Edges {
    /// For each row the range of rows with an equal order key.
    peers: Vec<Range<usize>>,
    /// The order key of each row, for RANGE frames with values.
    keys: Vec<Value>,
    /// IGNORE NULLS: the rows that have a value.
    with_value: Vec<usize>,
}

/// An aggregate over a moving frame, as a queue of two stacks. A value is never subtracted, because rounding would make
/// that inexact. `front` holds for each older row the aggregate from that row to the youngest older row, the oldest row
/// on top; `back` is the aggregate of the newer rows. When the older rows are used up, all remaining rows become older
/// rows: each row is added at most twice. Source: the two-stack algorithm in Tangwongsan, Hirzel, Schneider,
/// "Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time".
struct Sliding {
    rows: Range<usize>,
    front: Vec<Acc>,
    back: Acc,
}

impl Sliding {
    /// An empty frame that starts at `row`.
    fn at(agg: &AggCode, row: usize) -> Sliding {
        Sliding { rows: row..row, front: Vec::new(), back: agg.start() }
    }
}

impl Partition<'_> {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn load(&self, i: usize, m: &mut Machine) {
        m.restore(self.regs, &self.rows[self.order[i]]);
    }

    fn key(&self, i: usize) -> &[u8] {
        &self.keys[self.order[i]].1
    }

    /// Rows with the same order key as row `i`.
    fn peers(&self, i: usize) -> Range<usize> {
        let mut start = i;
        while start > 0 && self.key(start - 1) == self.key(i) {
            start -= 1;
        }
        let mut end = i + 1;
        while end < self.len() && self.key(end) == self.key(i) {
            end += 1;
        }
        start..end
    }

    fn compute(&self, f: &Func, results: &mut [Value], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        use AggKind::*;
        let number = |n: u64| Value::Number(Number::from_u64(n));
        match f.agg.kind {
            RowNumber => {
                for i in 0..self.len() {
                    results[self.order[i]] = number(i as u64 + 1);
                }
            }
            Rank | DenseRank | PercentRank | CumeDist => self.ranks(f.agg.kind, results)?,
            Ntile => {
                self.load(0, m);
                let r = f.agg.args[0].eval(m, cx)?;
                let buckets = m.value(r).to_number(&cx.session.nls)?.unwrap_or_default().to_i64().unwrap_or(0);
                if buckets < 1 {
                    return Err(Ora::with(1428, &[&buckets]));
                }
                let (n, buckets) = (self.len() as u64, buckets as u64);
                let (size, larger) = (n / buckets, n % buckets);
                for i in 0..n {
                    let head = larger * (size + 1);
                    let bucket = if i < head { i / (size + 1) } else { larger + (i - head) / size.max(1) };
                    results[self.order[i as usize]] = number(bucket + 1);
                }
            }
            Lag | Lead => self.shifted(f, results, m, cx)?,
            RatioToReport => {
                let mut sum = Number::default();
                let mut values = Vec::with_capacity(self.len());
                for i in 0..self.len() {
                    cx.check_cancel()?;
                    self.load(i, m);
                    let r = f.agg.args[0].eval(m, cx)?;
                    let v = m.value(r).to_number(&cx.session.nls)?;
                    if let Some(v) = &v {
                        sum = sum.add(v)?;
                    }
                    values.push(v);
                }
                for (i, v) in values.into_iter().enumerate() {
                    results[self.order[i]] = match v {
                        Some(v) if sum.signum() != 0 => Value::Number(v.div(&sum)?),
                        _ => Value::Null,
                    };
                }
            }
            _ => self.framed(f, results, m, cx)?,
        }
        Ok(())
    }

    fn ranks(&self, kind: AggKind, results: &mut [Value]) -> Result<()> {
        let n = self.len() as u64;
        let (mut start, mut dense) = (0, 0);
        while start < self.len() {
            let end = self.peers(start).end;
            dense += 1;
            let value = match kind {
                AggKind::Rank => Number::from_u64(start as u64 + 1),
                AggKind::DenseRank => Number::from_u64(dense),
                AggKind::PercentRank if n == 1 => Number::default(),
                AggKind::PercentRank => Number::from_u64(start as u64).div(&Number::from_u64(n - 1))?,
                _ => Number::from_u64(end as u64).div(&Number::from_u64(n))?,
            };
            for i in start..end {
                results[self.order[i]] = Value::Number(value);
            }
            start = end;
        }
        Ok(())
    }

    fn shifted(&self, f: &Func, results: &mut [Value], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        // With IGNORE NULLS the offset counts rows with a value.
        let mut with_value = Vec::new();
        if f.agg.ignore_nulls {
            for i in 0..self.len() {
                self.load(i, m);
                let r = f.agg.args[0].eval(m, cx)?;
                if !m.value(r).is_null() {
                    with_value.push(i);
                }
            }
        }
        for i in 0..self.len() {
            self.load(i, m);
            let offset = match f.agg.args.get(1) {
                None => 1,
                Some(code) => {
                    let r = code.eval(m, cx)?;
                    m.value(r).to_number(&cx.session.nls)?.map_or(0, |n| n.to_i64().unwrap_or(i64::MAX))
                }
            };
            if offset < 0 {
                return Err(Ora::with(1428, &[&offset]));
            }
            let back = f.agg.kind == AggKind::Lag;
            let at = if f.agg.ignore_nulls && offset > 0 {
                let from = with_value.partition_point(|&at| at < i + usize::from(!back));
                usize::try_from(offset).ok().and_then(|offset| match back {
                    true => from.checked_sub(offset).map(|n| with_value[n]),
                    false => with_value.get(from.checked_add(offset - 1)?).copied(),
                })
            } else {
                let at = if back { (i as i64).checked_sub(offset) } else { (i as i64).checked_add(offset) };
                at.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < self.len())
            };
            let code = match at {
                Some(at) => {
                    self.load(at, m);
                    Some(&f.agg.args[0])
                }
                None => f.agg.args.get(2),
            };
            results[self.order[i]] = match code {
                Some(code) => {
                    let r = code.eval(m, cx)?;
                    m.value(r).clone()
                }
                None => Value::Null,
            };
        }
        Ok(())
    }

    /// Aggregates over a frame.
    fn framed(&self, f: &Func, results: &mut [Value], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let ordered = !f.order.is_empty();
        if f.frame.is_none() && !ordered {
            // One value for the whole partition.
            let v = self.over(f, 0..self.len(), m, cx)?;
            for &i in self.order {
                results[i] = v.clone();
            }
            return Ok(());
        }
        let running = match &f.frame {
            None => true,
            Some(x) => matches!((&x.start, &x.end), (BoundCode::UnboundedPreceding, BoundCode::CurrentRow)),
        };
        let by_rows = f.frame.as_ref().is_some_and(|x| x.rows);
        let is_plain = !matches!(f.agg.kind, AggKind::FirstValue | AggKind::LastValue | AggKind::NthValue);
        if running && is_plain {
            let mut acc = f.agg.start();
            let mut i = 0;
            while i < self.len() {
                let end = if by_rows { i + 1 } else { self.peers(i).end };
                for j in i..end {
                    cx.check_cancel()?;
                    self.load(j, m);
                    f.agg.add(&mut acc, m, cx)?;
                }
                let v = acc.finish(&f.agg, cx)?;
                for j in i..end {
                    results[self.order[j]] = v.clone();
                }
                i = end;
            }
            return Ok(());
        }
        let edges = self.edges(f, m, cx)?;
        if f.agg.merges() {
            let mut window = Sliding::at(&f.agg, 0);
            for i in 0..self.len() {
                let range = self.frame(f, &edges, i, m, cx)?;
                results[self.order[i]] = self.slid(&f.agg, &mut window, range, m, cx)?;
            }
            return Ok(());
        }
        for i in 0..self.len() {
            cx.check_cancel()?;
            let range = self.frame(f, &edges, i, m, cx)?;
            results[self.order[i]] = match is_plain {
                true => self.over(f, range, m, cx)?,
                false => self.picked(f, &edges, range, m, cx)?,
            };
        }
        Ok(())
    }

    /// Computes the data for the frames of the partition's rows.
    fn edges(&self, f: &Func, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Edges> {
        let mut peers = Vec::with_capacity(self.len());
        while peers.len() < self.len() {
            let group = self.peers(peers.len());
            peers.resize(group.end, group);
        }
        let mut edges = Edges { peers, keys: Vec::new(), with_value: Vec::new() };
        let by_value = |b: &BoundCode| matches!(b, BoundCode::Preceding(_) | BoundCode::Following(_));
        let needs_keys = f.frame.as_ref().is_some_and(|x| !x.rows && (by_value(&x.start) || by_value(&x.end)));
        if needs_keys {
            let [(key, ..)] = &f.order_codes[..] else { return Err(Ora::new(30486)) };
            for i in 0..self.len() {
                cx.check_cancel()?;
                self.load(i, m);
                let r = key.eval(m, cx)?;
                edges.keys.push(m.value(r).clone());
            }
        }
        if f.agg.ignore_nulls {
            for i in 0..self.len() {
                cx.check_cancel()?;
                self.load(i, m);
                let r = f.agg.args[0].eval(m, cx)?;
                if !m.value(r).is_null() {
                    edges.with_value.push(i);
                }
            }
        }
        Ok(edges)
    }

    /// The frame of row `i`.
    fn frame(&self, f: &Func, edges: &Edges, i: usize, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Range<usize>> {
        match &f.frame {
            None => Ok(0..edges.peers[i].end),
            Some(x) if x.rows => self.rows_frame(x, i, m, cx),
            Some(x) => self.range_frame(f, x, edges, i, m, cx),
        }
    }

    /// The aggregate over the next frame. A frame that does not move forward is aggregated from scratch.
    fn slid(
        &self,
        agg: &AggCode,
        window: &mut Sliding,
        range: Range<usize>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Value> {
        let rows = &window.rows;
        if range.start < rows.start || range.end < rows.end || range.start > rows.end {
            *window = Sliding::at(agg, range.start);
        }
        for i in window.rows.end..range.end {
            cx.check_cancel()?;
            self.load(i, m);
            agg.add(&mut window.back, m, cx)?;
        }
        window.rows.end = range.end;
        let leaving = range.start - window.rows.start;
        if leaving > 0 && leaving < window.front.len() {
            window.front.truncate(window.front.len() - leaving);
        } else if leaving > 0 {
            window.front.clear();
            window.back = agg.start();
            for i in range.clone().rev() {
                cx.check_cancel()?;
                self.load(i, m);
                let mut from_here = agg.start();
                agg.add(&mut from_here, m, cx)?;
                if let Some(behind) = window.front.last() {
                    from_here.merge(behind, cx)?;
                }
                window.front.push(from_here);
            }
        }
        window.rows.start = range.start;
        match window.front.last() {
            Some(front) => {
                let mut all = front.copy();
                all.merge(&window.back, cx)?;
                all.finish(agg, cx)
            }
            None => window.back.finish(agg, cx),
        }
    }

    /// The aggregate over rows `range` of the partition.
    fn over(&self, f: &Func, range: Range<usize>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Value> {
        let mut acc = f.agg.start();
        for i in range {
            cx.check_cancel()?;
            self.load(i, m);
            f.agg.add(&mut acc, m, cx)?;
        }
        acc.finish(&f.agg, cx)
    }

    /// FIRST_VALUE, LAST_VALUE and NTH_VALUE over rows `range` of the partition.
    fn picked(
        &self,
        f: &Func,
        edges: &Edges,
        range: Range<usize>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Value> {
        if range.is_empty() {
            return Ok(Value::Null);
        }
        let (n, from_last) = match f.agg.kind {
            AggKind::FirstValue => (1, false),
            AggKind::LastValue => (1, true),
            _ => {
                self.load(range.start, m);
                let r = f.agg.args[1].eval(m, cx)?;
                let n = m.value(r).to_number(&cx.session.nls)?.unwrap_or_default().to_i64().unwrap_or(0);
                (usize::try_from(n).ok().filter(|n| *n > 0).ok_or_else(|| Ora::with(1428, &[&n]))?, f.agg.from_last)
            }
        };
        // IGNORE NULLS counts the rows with a value.
        let place = |range: &Range<usize>| match from_last {
            true => range.end.checked_sub(n).filter(|at| range.contains(at)),
            false => range.start.checked_add(n - 1).filter(|at| range.contains(at)),
        };
        let at = if f.agg.ignore_nulls {
            let position = |row: usize| edges.with_value.partition_point(|&at| at < row);
            place(&(position(range.start)..position(range.end))).map(|at| edges.with_value[at])
        } else {
            place(&range)
        };
        let Some(at) = at else { return Ok(Value::Null) };
        self.load(at, m);
        let r = f.agg.args[0].eval(m, cx)?;
        Ok(m.value(r).clone())
    }

    fn rows_frame(&self, x: &FrameCode, i: usize, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Range<usize>> {
        self.load(i, m);
        let offset = |code: &Code, m: &mut Machine, cx: &mut ExecCtx<'_>| -> Result<i64> {
            let r = code.eval(m, cx)?;
            let n = m.value(r).to_number(&cx.session.nls)?.unwrap_or_default().to_i64().unwrap_or(i64::MAX / 2);
            if n < 0 { Err(Ora::with(1428, &[&n])) } else { Ok(n.min(i64::MAX / 2)) }
        };
        let at = i as i64;
        let start = match &x.start {
            BoundCode::UnboundedPreceding => 0,
            BoundCode::Preceding(c) => at - offset(c, m, cx)?,
            BoundCode::CurrentRow => at,
            BoundCode::Following(c) => at + offset(c, m, cx)?,
            BoundCode::UnboundedFollowing => self.len() as i64,
        };
        let end = match &x.end {
            BoundCode::UnboundedPreceding => 0,
            BoundCode::Preceding(c) => at - offset(c, m, cx)? + 1,
            BoundCode::CurrentRow => at + 1,
            BoundCode::Following(c) => at + offset(c, m, cx)? + 1,
            BoundCode::UnboundedFollowing => self.len() as i64,
        };
        let clamp = |n: i64| n.clamp(0, self.len() as i64) as usize;
        let (start, end) = (clamp(start), clamp(end));
        Ok(start..end.max(start))
    }

    /// RANGE: the bounds of the frame are values of the single order key.
    fn range_frame(
        &self,
        f: &Func,
        x: &FrameCode,
        edges: &Edges,
        i: usize,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Range<usize>> {
        let peers = &edges.peers[i];
        let edge = |b: &BoundCode, is_start: bool, m: &mut Machine, cx: &mut ExecCtx<'_>| -> Result<usize> {
            let (code, back) = match b {
                BoundCode::UnboundedPreceding => return Ok(0),
                BoundCode::UnboundedFollowing => return Ok(self.len()),
                BoundCode::CurrentRow => return Ok(if is_start { peers.start } else { peers.end }),
                BoundCode::Preceding(c) => (c, true),
                BoundCode::Following(c) => (c, false),
            };
            let [(_, desc, nulls_first)] = &f.order_codes[..] else { return Err(Ora::new(30486)) };
            let here = &edges.keys[i];
            if here.is_null() {
                return Ok(if is_start { peers.start } else { peers.end });
            }
            self.load(i, m);
            let r = code.eval(m, cx)?;
            let by = m.value(r).clone();
            let op = if back != *desc { plan::ArithOp::Sub } else { plan::ArithOp::Add };
            if by.is_null() {
                return Err(Ora::with(932, &[&here.data_type().name(), &by.data_type().name()]));
            }
            let limit = op.typed(here, &by)?;
            // The keys are sorted, so the rows before the frame precede those in it.
            let mut failed = None;
            let at = edges.keys.partition_point(|key| {
                let order = key.compare(&limit, &cx.session.nls).unwrap_or_else(|e| {
                    failed = Some(e);
                    None
                });
                let order = if *desc { order.map(std::cmp::Ordering::reverse) } else { order };
                match order {
                    None => *nulls_first,
                    Some(o) => !(if is_start { o.is_ge() } else { o.is_gt() }),
                }
            });
            failed.map_or(Ok(at), Err)
        };
        let start = edge(&x.start, true, m, cx)?;
        let end = edge(&x.end, false, m, cx)?;
        Ok(start..end.max(start))
    }
}
