//! Subqueries of expressions.
//!
//! A subquery without outer references runs once an execution, and its answer is kept. A correlated one runs once for
//! each new combination of outer values and of the values compared with its rows; the answers are kept by these values.
//! As in Oracle this holds whatever the subquery reads: a fixed table or a non-deterministic function is not asked
//! again for known values, and `(SELECT f FROM dual)` calls `f` once.
//!
//! The rows that IN and ANY search are kept like those of any work area: keys that do not fit into memory are looked up
//! in a sorted file, and rows that are read in sequence are read from temporary space.

use crate::code::Code;
use crate::compare::{Truth, compare_values};
use crate::ctx::ExecCtx;
use crate::hash::{KeyMap, KeySet, push_part};
use crate::machine::{Held, Machine, Subquery, heap_bytes};
use crate::source::RowSource;
use crate::spill::lookup::{Found, Lookup};
use crate::spill::rows as records;
use crate::spill::sorter::Sorter;
use crate::spill::store::Store;
use crate::work_area::Way;
use plan::{CmpOp, Compare, Multiset, Reg, SubPlan};
use std::cmp::Ordering;
use std::sync::Arc;
use types::{Composite, DataType, Ora, Result, Value};

/// Answers kept for one correlated subquery.
const CACHE_MOST: usize = 4096;
/// Largest answer of a correlated subquery that is kept, in bytes: texts and small collections.
const CACHED_BYTES_MOST: usize = 4096;
/// Rows between two checks for cancellation.
const CANCEL_ROWS: u32 = 1024;

pub struct SubState<S> {
    op: S,
    out: Vec<Code>,
    outer: Vec<Reg>,
    multiset: Option<Multiset>,
    /// The execution that the other fields belong to.
    execution: u64,
    /// Answers by their input values. For a condition, NULL is UNKNOWN.
    cache: KeyMap<Value>,
    /// Answers that are rows, likewise.
    row_cache: KeyMap<Vec<Value>>,
    rows: Option<Box<Rows>>,
}

/// The rows that IN and ANY search.
#[derive(Default)]
pub struct Rows {
    /// All rows; empty for IN over one column, which needs the keys only.
    store: Store,
    /// Keys of the rows without NULL.
    members: Keys,
    any: bool,
    /// Whether some row has a NULL.
    nulls: bool,
    /// The least and the greatest value of the only column, once computed; NULL if there is none.
    ends: Option<(Value, Value)>,
}

impl Rows {
    /// `value op ANY | ALL`, decided by the least and the greatest value. Not for `= ANY` and `<> ALL`.
    fn quantify(
        &mut self,
        value: &Value,
        (op, how, all): (CmpOp, Compare, bool),
        cx: &mut ExecCtx<'_>,
    ) -> Result<Truth> {
        if !self.any {
            return Ok(Some(all));
        }
        if self.ends.is_none() {
            self.ends = Some(self.find_ends(how, cx)?);
        }
        let Some((least, most)) = &self.ends else { return Ok(None) };
        let nls = &cx.session.nls;
        let (by_least, by_most) = (compare_values(value, least, how, nls)?, compare_values(value, most, how, nls)?);
        // The value is NULL, or the set has no other values.
        let (Some(by_least), Some(by_most)) = (by_least, by_most) else { return Ok(None) };
        let holds = match op {
            CmpOp::Eq | CmpOp::Ne => (by_least.is_eq() && by_most.is_eq()) == (op == CmpOp::Eq),
            CmpOp::Gt | CmpOp::Ge if all => op.holds(by_most),
            CmpOp::Gt | CmpOp::Ge => op.holds(by_least),
            CmpOp::Lt | CmpOp::Le if all => op.holds(by_least),
            CmpOp::Lt | CmpOp::Le => op.holds(by_most),
        };
        Ok(if holds != all || !self.nulls { Some(holds) } else { None })
    }

    fn find_ends(&mut self, how: Compare, cx: &mut ExecCtx<'_>) -> Result<(Value, Value)> {
        let (mut least, mut most) = (Value::Null, Value::Null);
        let (mut row, mut seen) = (Vec::new(), 0u32);
        self.store.rewind();
        while self.store.next_values(&mut row, cx)? {
            seen += 1;
            if seen.is_multiple_of(CANCEL_ROWS) {
                cx.check_cancel()?;
            }
            let nls = &cx.session.nls;
            for (end, wanted) in [(&mut least, Ordering::Less), (&mut most, Ordering::Greater)] {
                let is_new = end.is_null() || compare_values(&row[0], end, how, nls)? == Some(wanted);
                if is_new && !row[0].is_null() {
                    end.set(&row[0]);
                }
            }
        }
        Ok((least, most))
    }
}

/// A kind of answer that can be kept.
trait Answer: Clone {
    /// The kept answers of a subquery.
    fn kept<S>(of: &mut SubState<S>) -> &mut KeyMap<Self>;

    /// Heap bytes of the answer.
    fn bytes(&self) -> usize;
}

impl Answer for Value {
    fn kept<S>(of: &mut SubState<S>) -> &mut KeyMap<Value> {
        &mut of.cache
    }

    fn bytes(&self) -> usize {
        heap_bytes(self)
    }
}

impl Answer for Vec<Value> {
    fn kept<S>(of: &mut SubState<S>) -> &mut KeyMap<Vec<Value>> {
        &mut of.row_cache
    }

    fn bytes(&self) -> usize {
        self.iter().map(heap_bytes).sum()
    }
}

impl<S: RowSource> SubState<S> {
    pub fn new(op: S, out: Vec<Code>, plan: &SubPlan) -> SubState<S> {
        let (outer, multiset) = (plan.outer.clone(), plan.multiset);
        let (cache, row_cache) = (KeyMap::default(), KeyMap::default());
        SubState { op, out, outer, multiset, execution: 0, cache, row_cache, rows: None }
    }

    /// Discards answers of earlier executions.
    fn refresh(&mut self, m: &Machine) {
        if self.execution != m.execution {
            self.execution = m.execution;
            self.cache.clear();
            self.row_cache.clear();
            self.rows = None;
        }
    }

    /// Runs the subquery and makes a collection with an element for each row.
    fn run_multiset(&mut self, multiset: Multiset, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Value> {
        let DataType::Named(ty) = multiset.ty else { return Err(Ora::internal("MULTISET without a collection type")) };
        let (mut parts, mut charged) = (Vec::new(), 0);
        self.op.open(m, cx)?;
        while self.op.next(m, cx)? {
            if multiset.limit.is_some_and(|limit| parts.len() >= limit as usize) {
                return Err(Ora::new(22909));
            }
            let r = self.out[0].eval(m, cx)?;
            let mut part = m.value(r).clone();
            if !part.is_null() {
                let assigned = multiset.element.assign(&mut part, &cx.session.nls, &"");
                assigned.map_err(|e| if e.is(12899) { Ora::new(22814) } else { e })?;
            }
            let bytes = size_of::<Value>() + heap_bytes(&part);
            m.charge(bytes, cx)?;
            charged += bytes;
            parts.push(part);
        }
        // The collection is an ordinary value from here on; its next owner charges for it.
        m.release(charged);
        Ok(Value::Composite(Arc::new(Composite { ty, parts })))
    }

    /// Runs the subquery and takes the value of its only row.
    fn run_scalar(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Value> {
        if let Some(multiset) = self.multiset {
            return self.run_multiset(multiset, m, cx);
        }
        self.op.open(m, cx)?;
        if !self.op.next(m, cx)? {
            return Ok(Value::Null);
        }
        let r = self.out[0].eval(m, cx)?;
        let v = m.value(r).clone();
        if self.op.next(m, cx)? {
            return Err(Ora::new(1427)); // More than one row.
        }
        Ok(v)
    }

    fn run_exists(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Value> {
        self.op.open(m, cx)?;
        Ok(Value::Boolean(self.op.next(m, cx)?))
    }

    /// The key of an answer: the outer values, and the values compared with the rows. Values that are equal but printed
    /// differently, as an instant in two time zones, have different keys.
    fn key_of(&self, compared: &[Reg], m: &mut Machine) -> Vec<u8> {
        let mut key = std::mem::take(&mut m.key);
        key.clear();
        records::encode(self.outer.iter().chain(compared).map(|&r| m.value(r)), &mut key);
        key
    }

    /// The answer of `run` for the current outer values and those that are compared, from the cache if present.
    fn cached<T: Answer>(
        &mut self,
        compared: &[Reg],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        run: impl FnOnce(&mut Self, &mut Machine, &mut ExecCtx<'_>) -> Result<T>,
    ) -> Result<T> {
        self.refresh(m);
        let key = self.key_of(compared, m);
        if let Some(v) = T::kept(self).get(&key) {
            let v = v.clone();
            m.key = key;
            return Ok(v);
        }
        let v = run(self, m, cx)?;
        let is_kept = key.is_empty() || key.len() + v.bytes() <= CACHED_BYTES_MOST;
        let kept = T::kept(self);
        if is_kept && kept.len() < CACHE_MOST {
            kept.insert(key, v.clone());
        } else {
            m.key = key;
        }
        Ok(v)
    }

    /// As [`SubState::cached`], for a condition.
    fn cached_truth(
        &mut self,
        compared: &[Reg],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        run: impl FnOnce(&mut Self, &mut Machine, &mut ExecCtx<'_>) -> Result<Truth>,
    ) -> Result<Truth> {
        let value =
            self.cached(compared, m, cx, |sub, m, cx| Ok(run(sub, m, cx)?.map_or(Value::Null, Value::Boolean)))?;
        Ok(match value {
            Value::Boolean(truth) => Some(truth),
            _ => None,
        })
    }

    /// Whether one reading of the rows serves the whole execution.
    fn is_read_once(&self) -> bool {
        self.outer.is_empty()
    }

    /// The columns of the only row; NULLs if there is no row.
    fn run_row(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Vec<Value>> {
        self.op.open(m, cx)?;
        let mut values = vec![Value::Null; self.out.len()];
        if !self.op.next(m, cx)? {
            return Ok(values);
        }
        for (v, code) in values.iter_mut().zip(&self.out) {
            let r = code.eval(m, cx)?;
            v.set(m.value(r));
        }
        if self.op.next(m, cx)? {
            return Err(Ora::new(1427));
        }
        Ok(values)
    }

    /// `(values) = (subquery)` with the subquery's only row; UNKNOWN if there is none.
    fn run_equals(
        &mut self,
        values: &[Reg],
        compare: &[Compare],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Truth> {
        self.with_rows(None, m, cx, |rows, m, cx| {
            let mut row = Vec::new();
            rows.store.rewind();
            if rows.store.len() > 1 {
                return Err(Ora::new(1427));
            }
            if !rows.store.next_values(&mut row, cx)? {
                return Ok(None);
            }
            equality(values, &row, compare, m, cx)
        })
    }

    /// `(values) IN (subquery)` by comparing row by row, up to the first match.
    fn search(&mut self, values: &[Reg], compare: &[Compare], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Truth> {
        let mut truth = Some(false);
        self.op.open(m, cx)?;
        while self.op.next(m, cx)? {
            let mut same = Some(true);
            for ((code, &v), &how) in self.out.iter().zip(values).zip(compare) {
                let r = code.eval(m, cx)?;
                match compare_values(m.value(v), m.value(r), how, &cx.session.nls)? {
                    Some(Ordering::Equal) => {}
                    Some(_) => {
                        same = Some(false);
                        break;
                    }
                    None => same = None,
                }
            }
            match same {
                Some(true) => return Ok(Some(true)),
                None => truth = None,
                Some(false) => {}
            }
        }
        Ok(truth)
    }

    /// Calls `f` with the rows. They are kept for the execution if the subquery has no outer references. With `keys`,
    /// rows can be looked up by the encodings of the compared values.
    fn with_rows<R>(
        &mut self,
        keys: Option<&[Compare]>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        f: impl FnOnce(&mut Rows, &mut Machine, &mut ExecCtx<'_>) -> Result<R>,
    ) -> Result<R> {
        self.refresh(m);
        let mut rows = match self.rows.take() {
            Some(rows) => rows,
            None => Box::new(self.read_rows(keys, m, cx)?),
        };
        let result = f(&mut rows, m, cx);
        if self.is_read_once() {
            self.rows = Some(rows);
        } else {
            rows.store.clear(m);
            rows.members.release(m);
        }
        result
    }

    fn read_rows(&mut self, keys: Option<&[Compare]>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Rows> {
        let mut rows = Rows::default();
        let mut set = Members::default();
        // A single compared value equals a row exactly when the keys are equal.
        let by_key_only = keys.is_some_and(|keys| keys.len() == 1);
        let mut key = Vec::new();
        self.op.open(m, cx)?;
        while self.op.next(m, cx)? {
            rows.any = true;
            key.clear();
            let (mut row, mut any_null) = (Vec::new(), false);
            for (n, code) in self.out.iter().enumerate() {
                let r = code.eval(m, cx)?;
                any_null |= m.value(r).is_null();
                if let Some(keys) = keys {
                    key_part(m.value(r), keys[n], &mut key);
                }
                if !by_key_only {
                    row.push(m.value(r).clone());
                }
            }
            rows.nulls |= any_null;
            if keys.is_some() && !any_null {
                set.add(&key, m, cx)?;
            }
            if !by_key_only {
                rows.store.push_values(row.into_boxed_slice(), m, cx)?;
            }
        }
        if !by_key_only {
            rows.store.finish(cx)?;
        }
        if keys.is_some() {
            rows.members = set.finish(m, cx)?;
        }
        Ok(rows)
    }
}

impl<S: RowSource> Subquery for SubState<S> {
    fn scalar(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Value> {
        self.cached(&[], m, cx, Self::run_scalar)
    }

    fn exists(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        Ok(self.cached(&[], m, cx, Self::run_exists)? == Value::Boolean(true))
    }

    fn row(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Vec<Value>> {
        self.cached(&[], m, cx, Self::run_row)
    }

    fn equals(&mut self, values: &[Reg], compare: &[Compare], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Truth> {
        match self.is_read_once() {
            true => self.run_equals(values, compare, m, cx),
            false => self.cached_truth(values, m, cx, |sub, m, cx| sub.run_equals(values, compare, m, cx)),
        }
    }

    fn contains(
        &mut self,
        values: &[Reg],
        compare: &[Compare],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Truth> {
        match self.is_read_once() {
            true => self.with_rows(Some(compare), m, cx, |rows, m, cx| in_rows(rows, values, compare, m, cx)),
            false => self.cached_truth(values, m, cx, |sub, m, cx| sub.search(values, compare, m, cx)),
        }
    }

    fn quantified(
        &mut self,
        (op, how, all): (CmpOp, Compare, bool),
        value: Reg,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Truth> {
        if !self.is_read_once() {
            return self.cached_truth(&[value], m, cx, |sub, m, cx| {
                sub.with_rows(None, m, cx, |rows, m, cx| compare_rows(rows, value, (op, how, all), m, cx))
            });
        }
        self.with_rows(None, m, cx, |rows, m, cx| {
            if how != Compare::Dynamic && (all || op != CmpOp::Eq) && (!all || op != CmpOp::Ne) {
                return rows.quantify(m.value(value), (op, how, all), cx);
            }
            compare_rows(rows, value, (op, how, all), m, cx)
        })
    }
}

/// Memory of a key in addition to its bytes.
const KEY_MORE: usize = 48;

/// The distinct keys of a subquery's rows, while the rows are read.
#[derive(Default)]
struct Members {
    set: KeySet,
    held: Held,
    /// All keys, once they do not fit into memory.
    sorter: Option<Sorter>,
}

/// A complete set of keys.
enum Keys {
    Memory(KeySet, Held),
    Disk(Box<(Lookup, Found)>),
}

impl Default for Keys {
    fn default() -> Keys {
        Keys::Memory(KeySet::default(), Held::default())
    }
}

impl Members {
    fn add(&mut self, key: &[u8], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let limit = cx.session.options.spill_bytes;
        if let Some(sorter) = &mut self.sorter {
            return sorter.push(key, &[], limit, cx);
        }
        if self.set.contains(key) {
            return Ok(());
        }
        let bytes = key.len() + KEY_MORE;
        if self.held.bytes() + bytes <= limit {
            self.held.charge(bytes, m, cx)?;
            self.set.insert(key.to_vec());
            return Ok(());
        }
        let mut sorter = Sorter::new(&m.temporary);
        for key in self.set.drain() {
            sorter.push(&key, &[], limit, cx)?;
        }
        self.set = KeySet::default();
        self.held.release(m);
        sorter.push(key, &[], limit, cx)?;
        self.sorter = Some(sorter);
        Ok(())
    }

    fn finish(self, m: &mut Machine, cx: &ExecCtx<'_>) -> Result<Keys> {
        let Some(mut sorter) = self.sorter else {
            let used = self.held.bytes();
            let (keys, bytes) = (self.set.len() as u64, (used + 8 * self.set.len()) as u64);
            cx.shared.areas.note(cx, used as u64, 0, || Way::merge(keys, bytes));
            return Ok(Keys::Memory(self.set, self.held));
        };
        sorter.finish(cx)?;
        let (way, written) = sorter.way();
        let need = written + sorter.pushed() * KEY_MORE as u64;
        // Sorted once, then written again as a look-up file.
        cx.shared.areas.note(cx, need, sorter.passes().max(1), || (way, written));
        Ok(Keys::Disk(Box::new((Lookup::build(sorter, true, m, cx)?, Found::default()))))
    }
}

impl Keys {
    /// Gives the charged memory back; look-ups are not allowed after this.
    fn release(&mut self, m: &mut Machine) {
        match self {
            Keys::Memory(_, held) => held.release(m),
            Keys::Disk(disk) => disk.0.release(m),
        }
    }

    fn has(&mut self, key: &[u8], m: &mut Machine, cx: &ExecCtx<'_>) -> Result<bool> {
        match self {
            Keys::Memory(set, _) => Ok(set.contains(key)),
            Keys::Disk(disk) => {
                let (lookup, at) = &mut **disk;
                lookup.seek(key, at, m, cx)?;
                Ok(lookup.next(key, at, cx)?.is_some())
            }
        }
    }
}

/// Whether the values equal a row; UNKNOWN if NULLs leave it open.
fn equality(values: &[Reg], row: &[Value], compare: &[Compare], m: &Machine, cx: &ExecCtx<'_>) -> Result<Truth> {
    let mut truth = Some(true);
    for ((&v, x), &how) in values.iter().zip(row).zip(compare) {
        match compare_values(m.value(v), x, how, &cx.session.nls)? {
            Some(Ordering::Equal) => {}
            Some(_) => return Ok(Some(false)),
            None => truth = None,
        }
    }
    Ok(truth)
}

fn key_part(v: &Value, how: Compare, out: &mut Vec<u8>) {
    match v {
        Value::Text(s) if how == Compare::Padded => push_part(&Value::Text(s.trim_end_matches(' ').to_owned()), out),
        v => push_part(v, out),
    }
}

fn in_rows(
    rows: &mut Rows,
    values: &[Reg],
    compare: &[Compare],
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<Truth> {
    if !rows.any {
        return Ok(Some(false));
    }
    let any_null = values.iter().any(|&v| m.value(v).is_null());
    if !any_null {
        let mut key = std::mem::take(&mut m.key);
        key.clear();
        for (&v, &how) in values.iter().zip(compare) {
            key_part(m.value(v), how, &mut key);
        }
        let found = rows.members.has(&key, m, cx);
        m.key = key;
        if found? {
            return Ok(Some(true));
        }
        if !rows.nulls {
            return Ok(Some(false));
        }
    }
    if values.len() == 1 {
        return Ok(None);
    }
    // A part is NULL: the result is UNKNOWN as soon as some row could be equal.
    let (mut row, mut seen) = (Vec::new(), 0u32);
    rows.store.rewind();
    while rows.store.next_values(&mut row, cx)? {
        seen += 1;
        if seen.is_multiple_of(CANCEL_ROWS) {
            cx.check_cancel()?;
        }
        if equality(values, &row, compare, m, cx)? != Some(false) {
            return Ok(None);
        }
    }
    Ok(Some(false))
}

/// `value op ANY | ALL`, row by row up to the first row that decides.
fn compare_rows(
    rows: &mut Rows,
    value: Reg,
    (op, how, all): (CmpOp, Compare, bool),
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<Truth> {
    let (mut truth, mut row, mut seen) = (Some(all), Vec::new(), 0u32);
    rows.store.rewind();
    while rows.store.next_values(&mut row, cx)? {
        seen += 1;
        if seen.is_multiple_of(CANCEL_ROWS) {
            cx.check_cancel()?;
        }
        match compare_values(m.value(value), &row[0], how, &cx.session.nls)?.map(|o| op.holds(o)) {
            Some(b) if b != all => return Ok(Some(b)),
            Some(_) => {}
            None => truth = None,
        }
    }
    Ok(truth)
}
