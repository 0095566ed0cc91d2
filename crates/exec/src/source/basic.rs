//! The smaller row sources: fixed tables, buffers, ROWNUM, row limits, FOR UPDATE.

use super::RowSource;
use super::sort_keys::Keys;
use super::stop::Stop;
use crate::builder::Builder;
use crate::code::{Code, Cond};
use crate::ctx::{ExecCtx, FixedScan, Row};
use crate::eval::all_true;
use crate::machine::{CteRows, Machine};
use crate::restart::restart;
use crate::spill::store::Store;
use crate::spill::{Reader, rows};
use crate::subqueries::cte_rows;
use crate::table::{Address, Storage};
use plan::{ColumnMap, Expr, LockTarget, LockWait, Reg, SortKey};
use std::rc::Rc;
use std::sync::Arc;
use txn::Snapshot;
use types::{Composite, Number, ObjectId, Ora, Result, Value};

/// A fixed table: computed by its own code each time it is opened.
pub struct Fixed {
    handle: dictionary::FixedId,
    columns: ColumnMap,
    filter: Vec<Cond>,
    scan: Option<Box<dyn FixedScan>>,
    row: Row,
}

impl Fixed {
    pub fn new(handle: dictionary::FixedId, columns: ColumnMap, filter: Vec<Cond>) -> Fixed {
        Fixed { handle, columns, filter, scan: None, row: Row::new() }
    }

    #[inline(never)]
    pub fn open(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let table = cx.host.fixed_table(self.handle);
        self.scan = Some(table.open(cx)?);
        Ok(())
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Some(scan) = &mut self.scan else { return Ok(false) };
        while scan.next(cx, &mut self.row)? {
            for &(column, reg) in &self.columns {
                let v = self.row.get_mut(column as usize).ok_or_else(|| Ora::internal("fixed table row too short"))?;
                std::mem::swap(v, &mut m.regs[reg as usize]);
            }
            if all_true(&self.filter, m, cx)? {
                return Ok(true);
            }
            cx.check_cancel()?;
        }
        self.scan = None;
        Ok(false)
    }
}

/// Rows that are read once and then replayed.
pub struct Buffer<S> {
    input: S,
    regs: Vec<Reg>,
    rows: Store,
    is_filled: bool,
}

impl<S: RowSource> Buffer<S> {
    pub fn new(input: S, regs: Vec<Reg>) -> Buffer<S> {
        Buffer { input, regs, rows: Store::default(), is_filled: false }
    }

    pub fn open(&mut self, m: &mut Machine) {
        self.rows.clear(m);
        self.is_filled = false;
    }

    pub fn rewind(&mut self) {
        self.rows.rewind();
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if !self.is_filled {
            self.input.open(m, cx)?;
            while self.input.next(m, cx)? {
                self.rows.push(&self.regs, m, cx)?;
            }
            self.rows.finish(cx)?;
            self.is_filled = true;
        }
        self.rows.next(&self.regs, m, cx)
    }
}

/// A reader of a WITH query.
pub struct Cte {
    id: usize,
    columns: ColumnMap,
    rows: Option<Rc<CteRows>>,
    at: usize,
    /// The position among rows in temporary space.
    reader: Reader,
    record: Vec<u8>,
}

impl Cte {
    pub fn new(id: usize, columns: ColumnMap) -> Cte {
        Cte { id, columns, rows: None, at: 0, reader: Reader::default(), record: Vec::new() }
    }

    pub fn open(&mut self) {
        self.rows = None;
        self.at = 0;
        self.reader = Reader::default();
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.rows.is_none() {
            self.rows = Some(cte_rows(self.id, m, cx)?);
        }
        let rows = self.rows.as_ref().expect("just read");
        match &**rows {
            CteRows::Memory(rows) => {
                let Some(row) = rows.get(self.at) else { return Ok(false) };
                self.at += 1;
                for &(column, reg) in &self.columns {
                    m.regs[reg as usize].set(&row[column as usize]);
                }
            }
            CteRows::Disk(file) => {
                if !file.next(&mut self.reader, &mut self.record, cx)? {
                    return Ok(false);
                }
                let (mut record, mut column, mut value) = (&self.record[..], 0, Value::Null);
                while !record.is_empty() {
                    rows::decode(&mut record, &mut value)?;
                    for &(_, reg) in self.columns.iter().filter(|(c, _)| *c == column) {
                        m.regs[reg as usize].set(&value);
                    }
                    column += 1;
                }
            }
        }
        Ok(true)
    }
}

/// ROWNUM.
pub struct Count<S> {
    input: S,
    reg: Option<Reg>,
    stop: Option<Stop>,
    conds: Vec<Cond>,
    given: u64,
    most: u64,
}

impl<S: RowSource> Count<S> {
    pub fn new(input: S, reg: Option<Reg>, stop: Option<Stop>, conds: Vec<Cond>) -> Count<S> {
        Count { input, reg, stop, conds, given: 0, most: u64::MAX }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.given = 0;
        self.most = match &self.stop {
            Some(s) => s.most(m, cx)?,
            None => u64::MAX,
        };
        if self.most > 0 { self.input.open(m, cx) } else { Ok(()) }
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.given >= self.most {
            return Ok(false);
        }
        while self.input.next(m, cx)? {
            if let Some(r) = self.reg {
                m.put(r, Value::Number(Number::from_u64(self.given + 1)));
            }
            if all_true(&self.conds, m, cx)? {
                self.given += 1;
                return Ok(true);
            }
        }
        self.most = 0;
        Ok(false)
    }
}

/// OFFSET and FETCH FIRST.
pub struct Limit<S> {
    input: S,
    offset: Option<Code>,
    count: Option<Code>,
    percent: bool,
    ties: Keys,
    /// The rows for PERCENT, which needs their number first.
    regs: Vec<Reg>,
    rows: Store,
    left: u64,
    last_key: Vec<u8>,
    in_ties: bool,
}

impl<S: RowSource> Limit<S> {
    pub fn build(
        input: S,
        regs: Vec<Reg>,
        offset: Option<&Expr>,
        count: Option<&Expr>,
        percent: bool,
        ties: &[SortKey],
        b: &mut Builder<'_>,
    ) -> Limit<S> {
        Limit {
            input,
            offset: offset.map(|e| b.code(e)),
            count: count.map(|e| b.code(e)),
            percent,
            ties: Keys::build(ties, b),
            regs,
            rows: Store::default(),
            left: 0,
            last_key: Vec::new(),
            in_ties: false,
        }
    }

    #[inline(never)]
    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.input.open(m, cx)?;
        self.rows.clear(m);
        self.in_ties = false;
        let skip = whole(&self.offset, 0, m, cx)?;
        let count = whole(&self.count, u64::MAX, m, cx)?;
        if self.percent {
            while self.input.next(m, cx)? {
                self.rows.push(&self.regs, m, cx)?;
            }
            self.rows.finish(cx)?;
            let percent = number(&self.count, m, cx)?.unwrap_or_default();
            let all = Number::from_u64(self.rows.len());
            let wanted = all.mul(&percent)?.div(&Number::from(100i64))?.ceil();
            self.left = wanted.to_i64().map_or(u64::MAX, |n| n.max(0) as u64);
            for _ in 0..skip {
                if !self.rows.next(&self.regs, m, cx)? {
                    break;
                }
            }
            return Ok(());
        }
        self.left = count;
        for _ in 0..skip {
            if !self.input.next(m, cx)? {
                self.left = 0;
                break;
            }
        }
        Ok(())
    }

    fn pull(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.percent { self.rows.next(&self.regs, m, cx) } else { self.input.next(m, cx) }
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.left == 0 && !self.in_ties {
            return Ok(false);
        }
        if !self.pull(m, cx)? {
            self.left = 0;
            self.in_ties = false;
            return Ok(false);
        }
        if self.in_ties {
            let mut key = Vec::new();
            self.ties.encode(m, cx, &mut key)?;
            self.in_ties = key == self.last_key;
            return Ok(self.in_ties);
        }
        self.left -= 1;
        if self.left == 0 && !self.ties.is_empty() {
            self.last_key.clear();
            let mut key = std::mem::take(&mut self.last_key);
            self.ties.encode(m, cx, &mut key)?;
            self.last_key = key;
            self.in_ties = true;
        }
        Ok(true)
    }
}

fn number(code: &Option<Code>, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Option<Number>> {
    match code {
        None => Ok(None),
        Some(c) => {
            let r = c.eval(m, cx)?;
            m.value(r).to_number(&cx.session.nls)
        }
    }
}

/// Evaluates a number of rows: negative numbers and NULL are 0, fractions are truncated.
fn whole(code: &Option<Code>, absent: u64, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
    if code.is_none() {
        return Ok(absent);
    }
    let n = number(code, m, cx)?.unwrap_or_default().trunc(0);
    if n.signum() <= 0 {
        return Ok(0);
    }
    Ok(n.to_i64().map_or(u64::MAX, |n| n as u64))
}

/// SELECT … FOR UPDATE: all rows are found and locked before the first one is returned (E6).
pub struct ForUpdate<S> {
    input: S,
    regs: Vec<Reg>,
    tables: Vec<(Storage, Reg)>,
    objects: Vec<ObjectId>,
    wait: LockWait,
    rows: Store,
}

impl<S: RowSource> ForUpdate<S> {
    pub fn build(
        input: S,
        regs: Vec<Reg>,
        tables: &[LockTarget],
        wait: LockWait,
        b: &mut Builder<'_>,
    ) -> Result<ForUpdate<S>> {
        let objects = tables.iter().map(|t| t.table.object).collect();
        let tables = tables.iter().map(|t| Ok((Storage::of(&t.table, b)?, t.rowid))).collect::<Result<_>>()?;
        Ok(ForUpdate { input, regs, tables, objects, wait, rows: Store::default() })
    }

    #[inline(never)]
    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let wait = match self.wait {
            LockWait::Forever => txn::LockWait::Forever,
            LockWait::NoWait => txn::LockWait::NoWait,
            LockWait::Seconds(s) => txn::LockWait::Seconds(s),
            LockWait::SkipLocked => txn::LockWait::SkipLocked,
        };
        // The table lock comes first. During a wait for it the rows may move to another segment, and row locks in the
        // old segment would be worthless.
        for object in &self.objects {
            let new = cx.shared.txns.lock_for_update(cx.p, &mut cx.session.txn, *object, wait)?;
            if new && !cx.host.is_current(m.epoch) {
                return Err(Ora::new(8103));
            }
        }
        self.rows.clear(m);
        self.input.open(m, cx)?;
        let snapshot: Snapshot = *m.snapshot();
        'rows: while self.input.next(m, cx)? {
            for (storage, rowid) in &self.tables {
                let Some(at) = Address::of(m.value(*rowid)) else { continue };
                match storage.lock_row(cx, at.at(), &snapshot, wait)? {
                    heap::RowOutcome::Done => {}
                    heap::RowOutcome::Skipped => continue 'rows,
                    heap::RowOutcome::Changed => return Err(restart()),
                }
            }
            self.rows.push(&self.regs, m, cx)?;
        }
        self.rows.finish(cx)
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.rows.next(&self.regs, m, cx)
    }
}

/// TABLE(collection).
pub struct Elements {
    value: Code,
    objects: bool,
    columns: Vec<(u16, Reg)>,
    collection: Option<Arc<Composite>>,
    at: usize,
}

impl Elements {
    pub fn new(value: Code, objects: bool, columns: Vec<(u16, Reg)>) -> Elements {
        Elements { value, objects, columns, collection: None, at: 0 }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let r = self.value.eval(m, cx)?;
        self.at = 0;
        self.collection = match m.value(r) {
            Value::Composite(collection) => Some(collection.clone()),
            // An atomically null collection has no rows.
            _ => None,
        };
        Ok(())
    }

    #[inline(never)]
    pub fn next(&mut self, m: &mut Machine) -> Result<bool> {
        let Some(element) = self.collection.as_ref().and_then(|c| c.parts.get(self.at)) else { return Ok(false) };
        self.at += 1;
        for &(column, reg) in &self.columns {
            let value = match (self.objects, element) {
                (false, value) => value.clone(),
                // The column after the attributes is the object.
                (true, Value::Composite(object)) => object.parts.get(usize::from(column)).unwrap_or(element).clone(),
                (true, _) => Value::Null,
            };
            m.put(reg, value);
        }
        Ok(true)
    }
}
