//! Opening and fetching the rows of a query, from its row sources or from the result cache.

use super::{
    Body, Cursor, Fetches, RESTARTS_MOST, ROWS_A_FETCH, State, TakeStored, may_change, may_restart, snapshot_for,
    still_planned,
};
use crate::adaptive;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::measure;
use crate::source::Op;
use plan::Column;
use result_cache::{Description, Key, Namespace, Opened};
use types::row::{RowReader, RowWriter};
use types::{DataType, Ora, Result, Value, codec};

impl Cursor {
    /// Says that a FETCH of PL/SQL begins, and counts it.
    pub fn begin_fetch(&mut self, cx: &mut ExecCtx<'_>) {
        self.fetches = Fetches::Explicit;
        self.key.fetched(0, cx);
    }

    /// Says that a client fetches: rows count when it has been sent them.
    pub fn begin_clients_fetch(&mut self) {
        self.fetches = Fetches::Clients;
    }

    /// Counts a client's fetch, with the rows that it was sent.
    pub fn end_clients_fetch(&mut self, rows: u64, cx: &mut ExecCtx<'_>) {
        self.key.fetched(rows, cx);
        self.key.pause(true, cx);
    }

    /// Compares the first execution of a query with what was expected of it. When that was far off, the statement is
    /// compiled again before the next one.
    #[cold]
    pub(super) fn compare(&mut self, expected: &[adaptive::Expected], complete: bool, cx: &ExecCtx<'_>) {
        let found = if complete { adaptive::corrections(expected, &self.m.watched) } else { Vec::new() };
        if !found.is_empty() {
            self.retype |= self.key.correct(&found, cx);
        }
    }

    /// Notes what an execution has processed, of a cursor whose plan depends on values of binds.
    #[cold]
    pub(super) fn note_processed(&mut self, cx: &ExecCtx<'_>) {
        // The rows that servers have read are not counted here: such an execution says nothing of the values.
        if let Some(adaptive) = &mut self.adaptive
            && !self.m.had_servers()
        {
            let found: u64 = self.m.watched.iter().map(|count| count.rows).sum();
            adaptive.end(found.max(self.rows), &self.values, &self.key, cx);
        }
    }

    pub(super) fn open_rows(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Body::Query { op, .. } = &mut self.body else { return Err(Ora::internal("not a query")) };
        if self.locks_rows {
            may_change(cx)?;
        }
        for _ in 0..RESTARTS_MOST {
            let start = self.locks_rows.then(|| cx.shared.txns.savepoint(&cx.session.txn));
            let snapshot = match self.m.take_early_snapshot() {
                Some(s) => s,
                None => snapshot_for(self.internal, cx),
            };
            self.m.begin(snapshot);
            self.m.epoch = self.epoch;
            self.state = State::Rows;
            // A row source above the one that locks may open it with its first row only; all rows are locked
            // before any is fetched.
            let opened = still_planned(self.epoch, cx).and_then(|()| {
                let before = self.m.run.is_some().then(|| measure::begin(cx));
                let opened = op.open(&mut self.m, cx);
                before.into_iter().for_each(|before| measure::end(before, &mut self.m, cx));
                opened
            });
            let opened = opened.and_then(|()| match self.locks_rows {
                true => op.next(&mut self.m, cx).map(Some),
                false => Ok(None),
            });
            let e = match opened {
                Ok(first) => {
                    self.first = first;
                    self.locked_at = cx.session.txn.point();
                    return Ok(());
                }
                Err(e) => e,
            };
            // Rows locked by a statement that failed are unlocked.
            if let Some(start) = &start {
                cx.shared.txns.rollback_to(cx.p, &mut cx.session.txn, start)?;
            }
            if !e.is(crate::RESTART) {
                return Err(e);
            }
            cx.shared.txns.release(cx.p, &snapshot);
            self.state = State::Closed;
            may_restart(self.internal, cx)?;
        }
        Err(Ora::new(8177))
    }

    /// Looks for the result in the cache. True: it is in the buffer. False: execute, perhaps building a result.
    pub(super) fn open_cached(&mut self, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let c = self.cached.as_mut().expect("only called for a statement that may be cached");
        let options = &cx.session.options;
        let wanted = options.result_cache && (c.hinted || (options.result_cache_force && !c.refused));
        // A session that has changed what the result depends on must see its own changes; one that reads as of its
        // transaction's beginning may need what no result holds any more.
        if !wanted
            || cx.session.txn.holds_snapshot()
            || (cx.session.txn.is_active() && c.depends.iter().any(|d| cx.session.txn.has_touched(*d)))
        {
            return Ok(false);
        }
        c.key.clear();
        c.key.extend_from_slice(&c.prefix);
        c.key.extend_from_slice(&cx.session.nls_fingerprint().to_le_bytes());
        for v in &self.values {
            crate::hash::push_part(v, &mut c.key);
        }
        cx.shared.results.track(cx.p, &c.depends, || cx.shared.txns.current_scn());
        let snapshot = cx.shared.txns.snapshot(cx.p, &cx.session.txn);
        let about = Description {
            name: &self.text,
            namespace: Namespace::Sql,
            creator: cx.session.user_id,
            column_count: self.columns.len() as u32,
        };
        let opened = cx.shared.results.open(
            cx.p,
            cx.shared.enqueues,
            Key::new(&c.key),
            about,
            &c.depends,
            snapshot.scn,
            &mut c.buffer,
        );
        match opened {
            Ok(Opened::Hit) => {
                cx.shared.txns.release(cx.p, &snapshot);
                Ok(true)
            }
            Ok(Opened::Build(build)) => {
                c.build = Some(build);
                self.m.set_early_snapshot(snapshot);
                Ok(false)
            }
            Ok(Opened::Bypass) => {
                self.m.set_early_snapshot(snapshot);
                Ok(false)
            }
            Err(e) => {
                cx.shared.txns.release(cx.p, &snapshot);
                Err(e)
            }
        }
    }

    /// Fetches the next row into `row`, whose values keep their buffers. False at the end.
    ///
    /// # Errors
    /// ORA-01002 when the cursor is not open; whatever finding the row raises.
    pub fn fetch(&mut self, cx: &mut ExecCtx<'_>, row: &mut Vec<Value>) -> Result<bool> {
        if self.state != State::Rows {
            return self.fetch_made(cx, row);
        }
        let result = if self.lost_rows(cx) {
            Err(Ora::new(8103)) // object no longer exists
        } else if self.locks_rows && !cx.session.txn.stands_since(&self.locked_at) {
            // Its locks have gone with the transaction, or with what was rolled back to a savepoint.
            Err(Ora::new(1002))
        } else {
            self.fetch_row(cx, row)
        };
        if !matches!(result, Ok(true)) {
            self.finish_rows(result.is_ok(), cx);
        }
        result
    }

    /// Fetches the next row of a result of the cache, or of those that DML returns.
    fn fetch_made(&mut self, cx: &mut ExecCtx<'_>, row: &mut Vec<Value>) -> Result<bool> {
        match self.state {
            State::Cached => {
                let c = self.cached.as_mut().expect("the rows came from the cache");
                let Some(bytes) = c.buffer.next_row() else {
                    self.finish_rows(true, cx);
                    return Ok(false);
                };
                decode(bytes, &self.columns, row)?;
                self.rows += 1;
                Ok(true)
            }
            State::Done => match self.returned.next() {
                Some(values) => {
                    *row = values;
                    Ok(true)
                }
                None => Ok(false),
            },
            State::Rows | State::Closed => Err(Ora::new(1002)),
        }
    }

    /// The columns of stored rows, and their types, that the next values are, if [`Cursor::fetch_stored`] can give
    /// them.
    pub fn stored_columns(&self) -> Option<&[(u16, DataType)]> {
        // Rows that go into the result cache are made of values.
        let is_kept = self.cached.as_ref().is_some_and(|c| c.build.is_some());
        let is_plain = self.state == State::Rows && !is_kept && self.first.is_none() && !self.has_sequences;
        match &self.body {
            Body::Query { stored, .. } if is_plain && !stored.is_empty() => Some(stored),
            _ => None,
        }
    }

    /// Fetches like [`Cursor::fetch`], and gives `take` the bytes of each row until it wants no more of them. False at
    /// the end.
    ///
    /// # Errors
    /// As [`Cursor::fetch`], and those of `take`.
    pub fn fetch_stored(&mut self, cx: &mut ExecCtx<'_>, take: &mut TakeStored<'_>) -> Result<bool> {
        if self.stored_columns().is_none() {
            return Err(Ora::internal("rows whose bytes are not to be had"));
        }
        let lost = self.lost_rows(cx);
        let Body::Query { op: Op::Scan(scan), stored, .. } = &mut self.body else {
            return Err(Ora::internal("not a query of stored rows"));
        };
        let rows = &mut self.rows;
        let result = match lost {
            true => Err(Ora::new(8103)), // object no longer exists
            false => scan.each_found(&mut self.m, cx, &mut |bytes| {
                *rows += 1;
                take(bytes, stored)
            }),
        };
        if !matches!(result, Ok(true)) {
            self.finish_rows(matches!(result, Ok(false)), cx);
        }
        result
    }

    /// Whether the rows of temporary tables that it reads have gone with their transaction.
    pub(super) fn lost_rows(&self, cx: &ExecCtx<'_>) -> bool {
        let state = &cx.session.temporaries;
        !self.temporary.is_empty() && (self.lost_segments(cx) || self.temporary_purges != state.purges(&self.temporary))
    }

    #[inline]
    pub(super) fn fetch_row(&mut self, cx: &mut ExecCtx<'_>, row: &mut Vec<Value>) -> Result<bool> {
        if self.m.run.is_some() {
            return self.fetch_measured(cx, row);
        }
        self.fetch_uncounted(cx, row)
    }

    /// As [`Cursor::fetch_uncounted`], where what the operations do is measured.
    #[cold]
    fn fetch_measured(&mut self, cx: &mut ExecCtx<'_>, row: &mut Vec<Value>) -> Result<bool> {
        let before = measure::begin(cx);
        let result = self.fetch_uncounted(cx, row);
        measure::end(before, &mut self.m, cx);
        result
    }

    #[inline(always)]
    pub(super) fn fetch_uncounted(&mut self, cx: &mut ExecCtx<'_>, row: &mut Vec<Value>) -> Result<bool> {
        let Body::Query { op, out, moves, .. } = &mut self.body else { return Err(Ora::internal("not a query")) };
        let m = &mut self.m;
        let found = match self.first.take() {
            Some(found) => found,
            None => op.next(m, cx)?,
        };
        if !found {
            return Ok(false);
        }
        if self.has_sequences {
            m.sequence_values.fill(None);
        }
        row.resize(out.len(), Value::Null);
        if *moves {
            // The register keeps the buffer of the row before.
            for (v, code) in row.iter_mut().zip(out.iter()) {
                let Code::Reg(r) = code else { return Err(Ora::internal("a value without a register")) };
                std::mem::swap(v, &mut m.regs[*r as usize]);
            }
        } else {
            for (v, code) in row.iter_mut().zip(out.iter()) {
                let r = code.eval(m, cx)?;
                v.set(m.value(r));
            }
        }
        self.rows += 1;
        if let Some(c) = &mut self.cached
            && let Some(build) = &mut c.build
        {
            c.row.clear();
            let mut w = RowWriter::new(&mut c.row, row.len());
            row.iter().for_each(|v| w.value(v));
            cx.shared.results.push(build, &c.row);
        }
        Ok(true)
    }

    /// The row sources have ended, by themselves or by an error.
    pub(super) fn finish_rows(&mut self, complete: bool, cx: &mut ExecCtx<'_>) {
        if let Some(c) = &mut self.cached
            && let Some(build) = c.build.take()
        {
            if complete {
                cx.shared.results.publish(cx.p, cx.shared.enqueues, build);
            } else {
                cx.shared.results.abandon(cx.p, cx.shared.enqueues, build);
            }
        }
        let (rows, fetches) = match self.fetches {
            Fetches::Ours => (self.rows, self.rows / ROWS_A_FETCH + 1),
            Fetches::Explicit => (self.rows, 0),
            Fetches::Clients => (0, 0),
        };
        self.key.processed(rows, fetches, cx);
        if self.adaptive.is_some() {
            self.note_processed(cx);
        }
        if let Some(expected) = self.monitor.take() {
            self.compare(&expected, complete, cx);
        }
        self.end(cx);
        self.state = State::Done;
    }

    /// Adds the figures of the operations of an execution that ends to the shared cursor's. `rows`: of the statement.
    pub(super) fn tell_run(&mut self, rows: u64, cx: &mut ExecCtx<'_>) {
        if let Some(run) = &mut self.m.run
            && run.is_new
        {
            self.key.add_run(run.plan_hash, run.finish(rows), cx);
            run.clear();
        }
    }
}

/// Reads a cached row.
pub(super) fn decode(bytes: &[u8], columns: &[Column], row: &mut Vec<Value>) -> Result<()> {
    row.resize(columns.len(), Value::Null);
    let damaged = || Ora::internal("cached row is damaged");
    let mut reader = RowReader::new(bytes).ok_or_else(damaged)?;
    for (v, c) in row.iter_mut().zip(columns) {
        match reader.next_column().ok_or_else(damaged)?.bytes() {
            Some(stored) => codec::decode_into(stored, stored_type(&c.ty), v)?,
            None => *v = Value::Null,
        }
    }
    Ok(())
}

/// The type a value of the column is stored as: NULL of no type is stored as text.
pub(super) fn stored_type(ty: &DataType) -> &DataType {
    match ty {
        DataType::Null => &DataType::TEXT,
        ty => ty,
    }
}
