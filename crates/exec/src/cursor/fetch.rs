//! Opening and fetching the rows of a query, from its row sources or from the result cache.

use super::checks::{RESTARTS_MOST, may_change, may_restart, snapshot_for, still_planned};
use super::state::{Body, Cursor, Fetches, State, TakeStored};
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::feedback::{Expected, corrections};
use crate::measure;
use crate::source::{Op, RowSource};
use plan::Column;
use result_cache::{Description, Key, Namespace, Opened};
use types::row::{RowReader, RowWriter};
use types::{DataType, Ora, Result, Value, codec};

/// Rows of a fetch by the server itself.
const ROWS_A_FETCH: u64 = 100;

impl Cursor {
    /// Begins and counts a FETCH of PL/SQL.
    pub fn begin_fetch(&mut self, cx: &mut ExecCtx<'_>) {
        self.fetches = Fetches::Explicit;
        self.key.fetched(0, cx);
    }

    /// Begins a client's fetch. Its rows count when they are sent.
    pub fn begin_clients_fetch(&mut self) {
        self.fetches = Fetches::Clients;
    }

    /// Counts a client's fetch and the rows sent.
    pub fn end_clients_fetch(&mut self, rows: u64, cx: &mut ExecCtx<'_>) {
        self.key.fetched(rows, cx);
        self.key.pause(true, cx);
    }

    /// Compares the first execution of a query with the estimates. If they were far off, the statement is compiled
    /// again before the next execution.
    #[cold]
    pub(super) fn compare(&mut self, expected: &[Expected], complete: bool, cx: &ExecCtx<'_>) {
        let found = if complete { corrections(expected, &self.m.watched) } else { Vec::new() };
        if !found.is_empty() {
            self.retype |= self.key.correct(&found, cx);
        }
    }

    /// Notes the rows that an execution processed, if the plan depends on bind values.
    #[cold]
    pub(super) fn note_processed(&mut self, cx: &ExecCtx<'_>) {
        // Rows read by servers are not counted here, so such an execution tells nothing about the values.
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
            // A row source above `ForUpdate` may open it only at its own first row. The first row is therefore read
            // here: all rows are locked before any row is fetched.
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
            // Unlocks the rows that a failed statement has locked.
            if let Some(start) = &start {
                cx.undo_failed(start, &e)?;
            }
            if !e.is(crate::restart::RESTART) {
                return Err(e);
            }
            cx.shared.txns.release(cx.p, &snapshot);
            self.state = State::Closed;
            may_restart(self.internal, snapshot.scn, cx)?;
        }
        Err(Ora::new(8177))
    }

    /// Looks for the result in the result cache. True: it is in the buffer. False: execute, and possibly build a
    /// result.
    pub(super) fn open_cached(&mut self, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let c = self.cached.as_mut().expect("only called for a statement that may be cached");
        let options = &cx.session.options;
        let wanted = options.result_cache && (c.hinted || (options.result_cache_force && !c.refused));
        // A session with uncommitted changes to a dependency must see them; a transaction that reads as of its start
        // may need an older result than the cache has.
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

    /// Fetches the next row into `row` and reuses its buffers. False at the end.
    ///
    /// # Errors
    /// ORA-01002 when the cursor is not open; errors of finding the row.
    pub fn fetch(&mut self, cx: &mut ExecCtx<'_>, row: &mut Vec<Value>) -> Result<bool> {
        if self.state != State::Rows {
            return self.fetch_made(cx, row);
        }
        let result = if self.lost_rows(cx) {
            Err(Ora::new(8103)) // The rows were removed with their transaction.
        } else if self.locks_rows && !cx.session.txn.stands_since(&self.locked_at) {
            // Its row locks are gone with the transaction, or were rolled back to a savepoint.
            Err(Ora::new(1002))
        } else {
            self.fetch_row(cx, row)
        };
        if !matches!(result, Ok(true)) {
            self.finish_rows(result.is_ok(), cx);
        }
        result
    }

    /// Fetches the next row of a cached result, or of RETURNING.
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

    /// The positions and types of the stored columns that [`Cursor::fetch_stored`] would return, if it can be used.
    pub fn stored_columns(&self) -> Option<&[(u16, DataType)]> {
        // A result for the result cache is built from values.
        let is_kept = self.cached.as_ref().is_some_and(|c| c.build.is_some());
        let is_plain = self.state == State::Rows && !is_kept && self.first.is_none() && !self.has_sequences;
        match &self.body {
            Body::Query { stored, .. } if is_plain && !stored.is_empty() => Some(stored),
            _ => None,
        }
    }

    /// Passes the stored bytes of each row to `take` until `take` returns false. False at the end of the rows.
    ///
    /// # Errors
    /// As [`Cursor::fetch`], and those of `take`.
    pub fn fetch_stored(&mut self, cx: &mut ExecCtx<'_>, take: &mut TakeStored<'_>) -> Result<bool> {
        if self.stored_columns().is_none() {
            return Err(Ora::internal("fetch of stored bytes without stored columns"));
        }
        let lost = self.lost_rows(cx);
        let Body::Query { op: Op::Scan(scan), stored, .. } = &mut self.body else {
            return Err(Ora::internal("fetch of stored bytes without a scan"));
        };
        let rows = &mut self.rows;
        let result = match lost {
            true => Err(Ora::new(8103)), // The rows were removed with their transaction.
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

    /// Whether rows of temporary tables that the cursor reads were removed with their transaction.
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

    /// As [`Cursor::fetch_uncounted`], with measured operations.
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
            // The values are swapped, so that the register keeps the buffer of the previous row.
            for (v, code) in row.iter_mut().zip(out.iter()) {
                let Code::Reg(r) = code else { return Err(Ora::internal("result value without a register")) };
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

    /// The row sources have ended: at the last row, by `close` or by an error.
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

    /// Ends an execution: releases the snapshot.
    pub(super) fn end(&mut self, cx: &mut ExecCtx<'_>) {
        self.tell_run(self.rows, cx);
        if let Some(c) = &mut self.cached
            && let Some(build) = c.build.take()
        {
            cx.shared.results.abandon(cx.p, cx.shared.enqueues, build);
        }
        self.m.end_rows(None, cx);
        self.m.end_teams(cx.p);
        self.m.temporary.clear(cx.shared.txns.space().temp());
        if let Some(snapshot) = self.m.take_early_snapshot() {
            cx.shared.txns.release(cx.p, &snapshot);
        }
        if self.state == State::Rows {
            cx.shared.txns.release(cx.p, self.m.snapshot());
        }
        self.key.finished(cx);
        self.state = State::Closed;
    }

    /// Adds the figures of an execution's operations to the shared cursor. `rows`: rows of the statement.
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

/// The type that a column's value is stored as: NULL without a type is stored as text.
pub(super) fn stored_type(ty: &DataType) -> &DataType {
    match ty {
        DataType::Null => &DataType::TEXT,
        ty => ty,
    }
}
