//! External merge sort: sorted runs of the size of the memory are written and then merged.
//!
//! Records with equal keys keep their order: runs are written in the order of the input, each is sorted stably, and the
//! merge prefers the earlier run.

use super::limits::FAN_IN;
use super::pool::Pool;
use super::rows::{put_part, take_part};
use super::{Reader, TempFile};
use crate::ctx::ExecCtx;
use crate::work_area::Way;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use types::Result;
use types::sorting::sort_checked;
use wait::Stat;

/// A key and its record.
type Keyed = (Box<[u8]>, Box<[u8]>);

fn by_key(a: &Keyed, b: &Keyed) -> Ordering {
    a.0.cmp(&b.0)
}

/// Sorts records by key.
pub struct Sorter {
    pool: Pool,
    /// The run being collected.
    rows: Vec<Keyed>,
    bytes: usize,
    runs: Vec<TempFile>,
    merge: Option<Merge>,
    at: usize,
    pushed: u64,
    /// Bytes of all records as they are written.
    written: u64,
    passes: u32,
}

impl Sorter {
    pub fn new(pool: &Pool) -> Sorter {
        let pool = pool.clone();
        let (rows, runs) = (Vec::new(), Vec::new());
        Sorter { pool, rows, bytes: 0, runs, merge: None, at: 0, pushed: 0, written: 0, passes: 0 }
    }

    /// Adds a record. The records in memory are written when they exceed `limit` bytes.
    ///
    /// # Errors
    /// Those of [`TempFile::push`].
    pub fn push(&mut self, key: &[u8], record: &[u8], limit: usize, cx: &ExecCtx<'_>) -> Result<()> {
        self.bytes += key.len() + record.len() + 64;
        self.written += (key.len() + record.len() + 8) as u64;
        self.rows.push((key.into(), record.into()));
        self.pushed += 1;
        if self.bytes > limit { self.write_run(cx) } else { Ok(()) }
    }

    fn write_run(&mut self, cx: &ExecCtx<'_>) -> Result<()> {
        sort_checked(&mut self.rows, by_key, &mut || cx.p.check_cancel())?;
        let mut run = TempFile::new(&self.pool, cx);
        let mut record = Vec::new();
        for (key, row) in self.rows.drain(..) {
            record.clear();
            put_part(&key, &mut record);
            record.extend_from_slice(&row);
            run.push(&record, cx)?;
        }
        run.finish(cx)?;
        self.runs.push(run);
        self.bytes = 0;
        Ok(())
    }

    /// Ends the input.
    ///
    /// # Errors
    /// Those of writing and reading runs.
    pub fn finish(&mut self, cx: &ExecCtx<'_>) -> Result<()> {
        cx.p.count(Stat::SortsRows, self.pushed);
        if self.runs.is_empty() {
            cx.p.count(Stat::SortsMemory, 1);
            return sort_checked(&mut self.rows, by_key, &mut || cx.p.check_cancel());
        }
        cx.p.count(Stat::SortsDisk, 1);
        if !self.rows.is_empty() {
            self.write_run(cx)?;
        }
        self.passes = 1;
        // Adjacent runs are merged, so that equal keys keep their order.
        while self.runs.len() > FAN_IN {
            let mut merged = Vec::new();
            while !self.runs.is_empty() {
                let group: Vec<TempFile> = self.runs.drain(..FAN_IN.min(self.runs.len())).collect();
                merged.push(merge_runs(group, &self.pool, cx)?);
            }
            self.runs = merged;
            self.passes += 1;
        }
        self.rewind(cx)
    }

    /// Number of records added.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// The way of the work area, and the bytes of the records when written.
    pub fn way(&self) -> (Way, u64) {
        Way::merge(self.pushed, self.written)
    }

    /// Number of passes of the records through temporary space.
    pub fn passes(&self) -> u32 {
        self.passes
    }

    /// Starts returning the records from the first one.
    ///
    /// # Errors
    /// Those of reading runs.
    pub fn rewind(&mut self, cx: &ExecCtx<'_>) -> Result<()> {
        self.at = 0;
        if !self.runs.is_empty() {
            self.merge = Some(Merge::start(&mut self.runs, cx)?);
        }
        Ok(())
    }

    /// The next record in key order. `None` at the end.
    ///
    /// # Errors
    /// Those of reading runs.
    pub fn next(&mut self, cx: &ExecCtx<'_>) -> Result<Option<&[u8]>> {
        Ok(self.next_keyed(cx)?.map(|(_, record)| record))
    }

    /// As [`Sorter::next`], with the key before the record.
    ///
    /// # Errors
    /// Those of reading runs.
    pub fn next_keyed(&mut self, cx: &ExecCtx<'_>) -> Result<Option<(&[u8], &[u8])>> {
        match &mut self.merge {
            Some(merge) => merge.next(&mut self.runs, cx),
            None => {
                self.at += 1;
                Ok(self.rows.get(self.at - 1).map(|(key, row)| (&key[..], &row[..])))
            }
        }
    }
}

fn merge_runs(mut runs: Vec<TempFile>, pool: &Pool, cx: &ExecCtx<'_>) -> Result<TempFile> {
    let mut merge = Merge::start(&mut runs, cx)?;
    let mut out = TempFile::new(pool, cx);
    while merge.advance(&mut runs, cx)? {
        out.push(&merge.current, cx)?;
    }
    out.finish(cx)?;
    Ok(out)
}

/// The head of a run: its key, the run's number, the whole record.
type Head = Reverse<(Vec<u8>, usize, Vec<u8>)>;

struct Merge {
    readers: Vec<Reader>,
    heads: BinaryHeap<Head>,
    /// The key and the record returned last.
    current: Vec<u8>,
}

impl Merge {
    fn start(runs: &mut [TempFile], cx: &ExecCtx<'_>) -> Result<Merge> {
        let readers = runs.iter().map(|_| Reader::default()).collect();
        let mut merge = Merge { readers, heads: BinaryHeap::new(), current: Vec::new() };
        for (n, run) in runs.iter_mut().enumerate() {
            merge.pull(run, n, (Vec::new(), Vec::new()), cx)?;
        }
        Ok(merge)
    }

    /// Reads the next record of run `n` into reused buffers.
    fn pull(&mut self, run: &mut TempFile, n: usize, old: (Vec<u8>, Vec<u8>), cx: &ExecCtx<'_>) -> Result<()> {
        let (mut key, mut record) = old;
        if run.next(&mut self.readers[n], &mut record, cx)? {
            key.clear();
            key.extend_from_slice(take_part(&mut &record[..])?);
            self.heads.push(Reverse((key, n, record)));
        }
        Ok(())
    }

    /// Moves to the next record; false at the end.
    fn advance(&mut self, runs: &mut [TempFile], cx: &ExecCtx<'_>) -> Result<bool> {
        let Some(Reverse((key, n, record))) = self.heads.pop() else { return Ok(false) };
        let old = std::mem::replace(&mut self.current, record);
        self.pull(&mut runs[n], n, (key, old), cx)?;
        Ok(true)
    }

    fn next(&mut self, runs: &mut [TempFile], cx: &ExecCtx<'_>) -> Result<Option<(&[u8], &[u8])>> {
        if !self.advance(runs, cx)? {
            return Ok(None);
        }
        let mut rest = &self.current[..];
        let key = take_part(&mut rest)?;
        Ok(Some((key, rest)))
    }
}
