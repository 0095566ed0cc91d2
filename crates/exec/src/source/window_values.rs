//! The values of analytic functions over one partition.

use super::sort_keys::Keys;
use crate::aggregate::{Acc, AggCode};
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::machine::{Machine, Saved};
use plan::{AggKind, Bound, Frame, Reg};
use std::ops::Range;
use types::{Number, Ora, Result, Value};

pub struct Func {
    pub agg: AggCode,
    pub partition: Vec<Code>,
    pub order: Keys,
    /// The keys of the order: code, descending, NULLs first.
    pub order_codes: Vec<(Code, bool, bool)>,
    pub frame: Option<FrameCode>,
}

pub struct FrameCode {
    pub rows: bool,
    pub start: BoundCode,
    pub end: BoundCode,
}

pub enum BoundCode {
    UnboundedPreceding,
    Preceding(Code),
    CurrentRow,
    Following(Code),
    UnboundedFollowing,
}

pub fn frame(f: &Frame, b: &mut Builder<'_>) -> FrameCode {
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
pub struct Partition<'p> {
    pub rows: &'p [Saved],
    pub regs: &'p [Reg],
    pub order: &'p [usize],
    pub keys: &'p [(Vec<u8>, Vec<u8>)],
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

    pub fn compute(&self, f: &Func, results: &mut [Value], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
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
