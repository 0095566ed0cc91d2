//! Subqueries of expressions.
//!
//! A subquery without outer references is run once an execution and its answer kept. A correlated one is run for each
//! combination of outer values that is new; answers are kept by those values, unless the subquery reads something that
//! changes by itself.

use crate::code::{Code, Truth, compare_values};
use crate::ctx::ExecCtx;
use crate::hash::{KeyMap, KeySet, push_part};
use crate::machine::{CteRows, Machine, Saved, heap_bytes};
use crate::source::Op;
use crate::spill::TempFile;
use crate::work_area::{Way, bytes_written};
use plan::{CmpOp, Compare, Multiset, Reg, SubId, SubPlan};
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;
use types::{Composite, DataType, Ora, Result, Value};

/// Answers kept for one correlated subquery.
const CACHE_MOST: usize = 4096;
/// Bytes of an answer of a correlated subquery that is kept: texts, and small collections.
const CACHED_BYTES_MOST: usize = 4096;

pub struct SubState {
    pub op: Op,
    pub out: Vec<Code>,
    pub outer: Vec<Reg>,
    pub cacheable: bool,
    multiset: Option<Multiset>,
    /// The execution that `cache` and `rows` belong to.
    pub execution: u64,
    pub cache: KeyMap<Value>,
    pub rows: Option<Rc<Rows>>,
}

/// The rows of an uncorrelated subquery that IN and ANY go over.
pub struct Rows {
    rows: Vec<Saved>,
    /// Encodings of the rows without NULL.
    keys: KeySet,
    /// Some row has a NULL.
    nulls: bool,
}

impl SubState {
    pub fn new(op: Op, out: Vec<Code>, plan: &SubPlan) -> SubState {
        let (outer, cacheable, multiset) = (plan.outer.clone(), plan.cacheable, plan.multiset);
        SubState { op, out, outer, cacheable, multiset, execution: 0, cache: KeyMap::default(), rows: None }
    }

    /// Forgets what earlier executions left.
    fn refresh(&mut self, m: &Machine) {
        if self.execution != m.execution {
            self.execution = m.execution;
            self.cache.clear();
            self.rows = None;
        }
    }

    /// Runs the subquery and makes a collection of its rows, each of which is an element.
    fn run_multiset(&mut self, multiset: Multiset, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Value> {
        let DataType::Named(ty) = multiset.ty else { return Err(Ora::internal("multiset of no type")) };
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
        // From here on it is a value like any other: whoever keeps it charges for it.
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
            return Err(Ora::new(1427)); // single-row subquery returns more than one row
        }
        Ok(v)
    }

    fn run_exists(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Value> {
        self.op.open(m, cx)?;
        Ok(Value::Boolean(self.op.next(m, cx)?))
    }

    /// The answer of `run` for the current outer values, from the cache when it is there.
    fn cached(
        &mut self,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        run: fn(&mut SubState, &mut Machine, &mut ExecCtx<'_>) -> Result<Value>,
    ) -> Result<Value> {
        self.refresh(m);
        if !self.cacheable {
            return run(self, m, cx);
        }
        let mut key = Vec::new();
        for &r in &self.outer {
            push_part(m.value(r), &mut key);
        }
        if let Some(v) = self.cache.get(&key) {
            return Ok(v.clone());
        }
        let v = run(self, m, cx)?;
        let is_kept = self.outer.is_empty() || heap_bytes(&v) <= CACHED_BYTES_MOST;
        if is_kept && self.cache.len() < CACHE_MOST {
            self.cache.insert(key, v.clone());
        }
        Ok(v)
    }

    /// All rows, read once an execution when nothing outside matters.
    fn all_rows(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Rc<Rows>> {
        self.refresh(m);
        let once = self.outer.is_empty() && self.cacheable;
        if once && let Some(rows) = &self.rows {
            return Ok(rows.clone());
        }
        let mut rows = Rows { rows: Vec::new(), keys: KeySet::default(), nulls: false };
        self.op.open(m, cx)?;
        while self.op.next(m, cx)? {
            let mut row = Vec::with_capacity(self.out.len());
            for code in &self.out {
                let r = code.eval(m, cx)?;
                row.push(m.value(r).clone());
            }
            m.charge(row.len() * 48, cx)?;
            rows.nulls |= row.iter().any(Value::is_null);
            rows.rows.push(row.into_boxed_slice());
        }
        let rows = Rc::new(rows);
        if once {
            self.rows = Some(rows.clone());
        }
        Ok(rows)
    }
}

/// Runs `f` with a subquery taken out of the machine.
fn with_sub<R>(
    s: SubId,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
    f: impl FnOnce(&mut SubState, &mut Machine, &mut ExecCtx<'_>) -> Result<R>,
) -> Result<R> {
    let mut sub = m.subs[s].take().ok_or_else(|| Ora::internal("subquery runs inside itself"))?;
    let result = f(&mut sub, m, cx);
    m.subs[s] = Some(sub);
    result
}

/// A scalar subquery's value into register `dst`.
pub fn scalar(s: SubId, dst: Reg, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    let v = with_sub(s, m, cx, |sub, m, cx| sub.cached(m, cx, SubState::run_scalar))?;
    m.put(dst, v);
    Ok(())
}

pub fn exists(s: SubId, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    let v = with_sub(s, m, cx, |sub, m, cx| sub.cached(m, cx, SubState::run_exists))?;
    Ok(v == Value::Boolean(true))
}

/// A subquery's only row, all columns: for `UPDATE … SET (a, b) = (subquery)`. NULLs when there is no row.
pub fn row(s: SubId, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Vec<Value>> {
    with_sub(s, m, cx, |sub, m, cx| {
        sub.refresh(m);
        sub.op.open(m, cx)?;
        let mut values = vec![Value::Null; sub.out.len()];
        if !sub.op.next(m, cx)? {
            return Ok(values);
        }
        for (v, code) in values.iter_mut().zip(&sub.out) {
            let r = code.eval(m, cx)?;
            v.set(m.value(r));
        }
        if sub.op.next(m, cx)? {
            return Err(Ora::new(1427));
        }
        Ok(values)
    })
}

/// `(values) = (subquery)`: the subquery's only row; unknown when there is none.
pub fn equals(s: SubId, values: &[Reg], compare: &[Compare], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Truth> {
    let rows = with_sub(s, m, cx, |sub, m, cx| sub.all_rows(m, cx))?;
    let row = match &rows.rows[..] {
        [] => return Ok(None),
        [row] => row,
        _ => return Err(Ora::new(1427)),
    };
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

/// `(values) IN (subquery)`.
pub fn contains(s: SubId, values: &[Reg], compare: &[Compare], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Truth> {
    with_sub(s, m, cx, |sub, m, cx| {
        sub.refresh(m);
        if sub.outer.is_empty() && sub.cacheable {
            let rows = keyed_rows(sub, compare, m, cx)?;
            return in_rows(&rows, values, compare, m, cx);
        }
        // Correlated: compare row by row and stop at the first match.
        let mut truth = Some(false);
        sub.op.open(m, cx)?;
        while sub.op.next(m, cx)? {
            let mut same = Some(true);
            for ((code, &v), &how) in sub.out.iter().zip(values).zip(compare) {
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
    })
}

/// The subquery's rows with their hash keys.
fn keyed_rows(sub: &mut SubState, compare: &[Compare], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Rc<Rows>> {
    let known = sub.rows.is_some();
    let rows = sub.all_rows(m, cx)?;
    if known {
        return Ok(rows);
    }
    sub.rows = None;
    let mut rows = Rc::into_inner(rows).ok_or_else(|| Ora::internal("rows of a subquery are shared"))?;
    for row in rows.rows.iter().filter(|row| !row.iter().any(Value::is_null)) {
        let mut key = Vec::new();
        for (v, &how) in row.iter().zip(compare) {
            key_part(v, how, &mut key);
        }
        rows.keys.insert(key);
    }
    let rows = Rc::new(rows);
    sub.rows = Some(rows.clone());
    Ok(rows)
}

fn key_part(v: &Value, how: Compare, out: &mut Vec<u8>) {
    match v {
        Value::Text(s) if how == Compare::Padded => push_part(&Value::Text(s.trim_end_matches(' ').to_owned()), out),
        v => push_part(v, out),
    }
}

fn in_rows(rows: &Rows, values: &[Reg], compare: &[Compare], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Truth> {
    if rows.rows.is_empty() {
        return Ok(Some(false));
    }
    let any_null = values.iter().any(|&v| m.value(v).is_null());
    if !any_null {
        let mut key = std::mem::take(&mut m.key);
        key.clear();
        for (&v, &how) in values.iter().zip(compare) {
            key_part(m.value(v), how, &mut key);
        }
        let found = rows.keys.contains(&key);
        m.key = key;
        if found {
            return Ok(Some(true));
        }
        if !rows.nulls {
            return Ok(Some(false));
        }
    }
    if values.len() == 1 {
        return Ok(None);
    }
    // Some part is NULL: unknown as soon as one row could be equal.
    for row in &rows.rows {
        let mut possible = true;
        for ((&v, x), &how) in values.iter().zip(row).zip(compare) {
            let order = compare_values(m.value(v), x, how, &cx.session.nls)?;
            if order.is_some_and(|o| o != Ordering::Equal) {
                possible = false;
                break;
            }
        }
        if possible {
            return Ok(None);
        }
    }
    Ok(Some(false))
}

/// `value op ANY | ALL (subquery)`.
pub fn quantified(
    s: SubId,
    op: CmpOp,
    how: Compare,
    all: bool,
    value: Reg,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<Truth> {
    let rows = with_sub(s, m, cx, |sub, m, cx| sub.all_rows(m, cx))?;
    let mut truth = Some(all);
    for row in &rows.rows {
        match compare_values(m.value(value), &row[0], how, &cx.session.nls)?.map(|o| op.holds(o)) {
            Some(b) if b != all => return Ok(Some(b)),
            Some(_) => {}
            None => truth = None,
        }
    }
    Ok(truth)
}

/// The rows of a WITH query.
pub fn cte_rows(id: usize, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Rc<CteRows>> {
    if let Some(cte) = &m.ctes[id]
        && let Some(rows) = &cte.rows
    {
        return Ok(rows.clone());
    }
    let mut cte = m.ctes[id].take().ok_or_else(|| Ora::new(32039))?;
    let result = (|| {
        let mut rows: Vec<Saved> = Vec::new();
        let (mut used, mut file, mut record) = (0, None::<TempFile>, Vec::new());
        let (mut all, mut written) = (0, 0);
        cte.op.open(m, cx)?;
        while cte.op.next(m, cx)? {
            let mut row = Vec::with_capacity(cte.out.len());
            for code in &cte.out {
                let r = code.eval(m, cx)?;
                row.push(m.value(r).clone());
            }
            let bytes = row.iter().map(heap_bytes).sum::<usize>() + row.len() * 48;
            all += bytes;
            if file.is_none() && used + bytes > cx.session.options.spill_bytes {
                let mut new = TempFile::new(&m.temporary, cx);
                for row in rows.drain(..) {
                    record.clear();
                    crate::spill::rows::encode(row.iter(), &mut record);
                    new.push(&record, cx)?;
                    written += record.len() as u64 + 4;
                }
                m.release(used);
                file = Some(new);
            }
            if let Some(file) = &mut file {
                record.clear();
                crate::spill::rows::encode(row.iter(), &mut record);
                file.push(&record, cx)?;
                written += record.len() as u64 + 4;
                continue;
            }
            m.charge(bytes, cx)?;
            used += bytes;
            rows.push(row.into_boxed_slice());
        }
        let passes = u32::from(file.is_some());
        cx.shared.areas.note(cx, all as u64, passes, || {
            (Way::Write, if passes == 0 { bytes_written(&rows, |_| 0, |row| row) } else { written })
        });
        Ok(Rc::new(match file {
            Some(mut file) => {
                file.finish(cx)?;
                CteRows::Disk(file)
            }
            None => CteRows::Memory(rows),
        }))
    })();
    if let Ok(rows) = &result {
        cte.rows = Some(Rc::clone(rows));
    }
    m.ctes[id] = Some(cte);
    result
}
