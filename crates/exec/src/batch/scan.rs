//! Full scans and long ranges, a batch at a time.
//!
//! The bytes of the rows of some blocks go to the arena of the batch. Lengths are walked once for each row: first up to
//! the last column that the filter reads, then, for the rows that pass, up to the last column that is wanted. Texts
//! stay where they are.

use super::column::{Column, NULL, Span, decode};
use super::eval::{self, Input};
use super::join::UseFilter;
use super::{ARENA_MAX, BYTES_MAX, Batch, Condition, Failing, Node, ROWS_MAX};
use crate::code::Builder;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::scan;
use plan::{Access, Reg};
use types::{DataType, Ora, Result};

/// Rows of a table from which on it is read in batches: fewer are read before the columns are made.
const TABLE_ROWS_MIN: u64 = 64;
/// Rows of a range from which on it is read in batches.
const RANGE_ROWS_MIN: f64 = 1000.0;

pub struct Scan {
    rows: scan::Scan,
    /// Places in the row, ascending, and types; the registers are in the same order.
    columns: Vec<(u16, DataType)>,
    regs: Vec<Reg>,
    filter: Vec<Condition>,
    /// The filter of a join above.
    join_filter: Option<UseFilter>,
    /// The columns that the filters read, and the number of columns up to the last of them.
    tested: Vec<bool>,
    first: usize,
    size: usize,
    failing: Failing,
    places: Places,
    selected: Vec<u32>,
    /// Where its rows are counted, of a cursor that is watched.
    watch: Option<usize>,
    left_out: u64,
}

/// Where the rows of a batch and their columns are in the arena.
#[derive(Default)]
struct Places {
    /// The byte after what was walked of each row, and how many columns it has left.
    next: Vec<u32>,
    left: Vec<u16>,
    /// The spans of each wanted column.
    spans: Vec<Vec<Span>>,
}

fn damaged() -> Ora {
    Ora::internal("row bytes are damaged")
}

impl Places {
    /// Adds the row whose bytes begin at `at`.
    fn push(&mut self, row: &[u8], at: usize) -> Result<()> {
        let (first, rest) = row.split_first().ok_or_else(damaged)?;
        let (columns, begin) = match (*first, rest) {
            (255, [low, high, ..]) => (u16::from_le_bytes([*low, *high]), 3),
            (255, _) => return Err(damaged()),
            (columns, _) => (columns.into(), 1),
        };
        self.next.push((at + begin) as u32);
        self.left.push(columns);
        Ok(())
    }

    /// Notes where the columns `from..to` of the rows are, all columns before having been walked.
    fn walk(
        &mut self,
        columns: &[(u16, DataType)],
        (from, to): (usize, usize),
        rows: Option<&[u32]>,
        arena: &[u8],
    ) -> Result<()> {
        let begin = if from == 0 { 0 } else { columns[from - 1].0 + 1 };
        let count = rows.map_or(self.next.len(), <[u32]>::len);
        self.spans[from..to].iter_mut().for_each(|spans| {
            spans.clear();
            spans.reserve(count);
        });
        let Some(last) = columns[from..to].last() else { return Ok(()) };
        let steps = last.0 + 1 - begin;
        for chunk in (0..count).step_by(WALKED) {
            let end = (chunk + WALKED).min(count);
            let row = |n: usize| rows.map_or(n, |rows| rows[n] as usize);
            if (chunk..end).any(|n| self.left[row(n)] < steps) {
                self.walk_short(columns, (from, to), begin, (chunk..end).map(row), arena)?;
                continue;
            }
            let mut next = [0u32; WALKED];
            let next = &mut next[..end - chunk];
            next.iter_mut().enumerate().for_each(|(n, at)| *at = self.next[row(chunk + n)]);
            let mut at = begin;
            for (spans, (place, _)) in self.spans[from..to].iter_mut().zip(&columns[from..to]) {
                while at < *place {
                    pass(arena, next).ok_or_else(damaged)?;
                    at += 1;
                }
                find(arena, next, spans).ok_or_else(damaged)?;
                at += 1;
            }
            for (n, next) in next.iter().enumerate() {
                let row = row(chunk + n);
                self.next[row] = *next;
                self.left[row] -= steps;
            }
        }
        Ok(())
    }

    /// As [`Places::walk`], row by row: some of the rows end before the last of the columns.
    fn walk_short(
        &mut self,
        columns: &[(u16, DataType)],
        (from, to): (usize, usize),
        begin: u16,
        rows: impl Iterator<Item = usize>,
        arena: &[u8],
    ) -> Result<()> {
        for row in rows {
            let (mut next, mut left, mut at) = (self.next[row] as usize, self.left[row], begin);
            for (spans, (place, _)) in self.spans[from..to].iter_mut().zip(&columns[from..to]) {
                while at < *place {
                    step(arena, &mut next, &mut left).ok_or_else(damaged)?;
                    at += 1;
                }
                spans.push(step(arena, &mut next, &mut left).ok_or_else(damaged)?);
                at += 1;
            }
            (self.next[row], self.left[row]) = (next as u32, left);
        }
        Ok(())
    }
}

/// Rows that are walked together: their bytes stay in the processor's nearest cache, and the steps of one do not wait
/// for those of another.
const WALKED: usize = 256;

/// Passes by the next column of some rows.
#[inline]
fn pass(arena: &[u8], next: &mut [u32]) -> Option<()> {
    for at in next {
        match *arena.get(*at as usize)? {
            len @ 0..=250 => *at += u32::from(len) + 1,
            _ => *at = far(arena, *at)?.0,
        }
    }
    Some(())
}

/// As [`pass`], and notes where the columns are.
#[inline]
fn find(arena: &[u8], next: &mut [u32], spans: &mut Vec<Span>) -> Option<()> {
    let mut greatest = 0;
    for at in next {
        let span;
        match *arena.get(*at as usize)? {
            len @ 0..=250 => {
                span = Span { at: *at + 1, len: len.into() };
                *at = span.at + span.len;
            }
            _ => (*at, span) = far(arena, *at)?,
        }
        greatest = greatest.max(*at);
        spans.push(span);
    }
    (greatest as usize <= arena.len()).then_some(())
}

/// A column that is NULL or long: where the next one begins, and where it is.
#[cold]
fn far(arena: &[u8], at: u32) -> Option<(u32, Span)> {
    let (mut next, mut left) = (at as usize, 1);
    let span = step(arena, &mut next, &mut left)?;
    Some((next as u32, span))
}

/// Passes by the next column of a row and says where it is.
#[inline]
fn step(arena: &[u8], next: &mut usize, left: &mut u16) -> Option<Span> {
    const NONE: Span = Span { at: 0, len: NULL };
    if *left == 0 {
        return Some(NONE);
    }
    *left -= 1;
    let (len, head) = match *arena.get(*next)? {
        len @ 0..=250 => (usize::from(len), 1),
        0xFF => {
            *next += 1;
            return Some(NONE);
        }
        0xFE => (usize::from(u16::from_le_bytes(*arena.get(*next + 1..)?.first_chunk()?)), 3),
        0xFD => (u32::from_le_bytes(*arena.get(*next + 1..)?.first_chunk()?) as usize, 5),
        _ => return None,
    };
    let at = *next + head;
    *next = at + len;
    (*next <= arena.len()).then_some(Span { at: at as u32, len: len as u32 })
}

/// Whether rows are read often enough for batches to be worth it.
pub fn pays(s: &plan::Scan) -> bool {
    // A batch would copy values that may be long, wanted or not.
    let long = |ty: &DataType| {
        let lob = matches!(ty, DataType::Clob | DataType::Nclob | DataType::Blob | DataType::Named(_));
        lob || matches!(ty, DataType::Long | DataType::LongRaw)
    };
    if s.table.columns.iter().any(|column| long(&column.data_type)) {
        return false;
    }
    let plain = s.as_of.is_none() && s.versions.is_none() && s.pseudos.is_empty() && s.rowid.is_none();
    plain
        && match &s.access {
            Access::Full => s.table.statistics.as_ref().is_none_or(|t| t.rows >= TABLE_ROWS_MIN),
            Access::IndexRange(range) => {
                !range.index_only && !range.first_only && range.recheck.is_empty() && s.rows >= RANGE_ROWS_MIN
            }
            _ => false,
        }
}

impl Scan {
    /// The scan in batches, where that pays.
    ///
    /// # Errors
    /// Those of building row sources.
    pub fn build(s: &plan::Scan, b: &mut Builder<'_>) -> Result<Option<Scan>> {
        Scan::build_with(s, None, b)
    }

    /// The scan, and below the columns that only others read the filter `id` of a join above.
    ///
    /// # Errors
    /// Those of building row sources.
    pub fn build_filtered(s: &plan::Scan, id: usize, keys: &[plan::Key], b: &mut Builder<'_>) -> Result<Option<Scan>> {
        Scan::build_with(s, Some((id, keys)), b)
    }

    fn build_with(
        s: &plan::Scan,
        join_filter: Option<(usize, &[plan::Key])>,
        b: &mut Builder<'_>,
    ) -> Result<Option<Scan>> {
        if !pays(s) {
            return Ok(None);
        }
        let rows = scan::Scan::build(s, b)?;
        if !rows.gives_bytes() {
            return Ok(None);
        }
        let mut wanted: Vec<(u16, Reg, DataType)> =
            s.columns.iter().map(|&(c, r)| (c, r, s.table.columns[usize::from(c)].data_type)).collect();
        wanted.sort_by_key(|c| c.0);
        let columns: Vec<(u16, DataType)> = wanted.iter().map(|c| (c.0, c.2)).collect();
        if columns.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Ok(None);
        }
        let regs: Vec<Reg> = wanted.iter().map(|c| c.1).collect();
        let Some(filter) = Condition::all(b.conds(&s.filter), &regs) else { return Ok(None) };
        let mut tested = vec![false; columns.len()];
        filter.iter().flat_map(Condition::slots).for_each(|slot| tested[slot] = true);
        let join_filter = match join_filter {
            Some((id, keys)) => match UseFilter::build(id, keys, &regs, b) {
                Some(filter) => Some(filter),
                None => return Ok(None),
            },
            None => None,
        };
        let joined = join_filter.iter().flat_map(|filter| filter.keys.slots());
        joined.for_each(|slot| tested[*slot] = true);
        let first = match filter.is_empty() && join_filter.is_none() {
            true => columns.len(),
            false => tested.iter().rposition(|t| *t).map_or(0, |last| last + 1),
        };
        let places = Places { spans: vec![Vec::new(); columns.len()], ..Places::default() };
        let (failing, selected) = (Failing::default(), Vec::new());
        let watch = b.watches.then(|| b.watch(s));
        Ok(Some(Scan {
            rows,
            columns,
            regs,
            filter,
            join_filter,
            tested,
            first,
            size: 1,
            failing,
            places,
            selected,
            watch,
            left_out: 0,
        }))
    }

    /// Reads the rows of the next blocks. False at the end.
    fn read(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Scan { rows, places, .. } = self;
        places.next.clear();
        places.left.clear();
        let arena = &mut out.arena;
        while places.next.len() < self.size && arena.len() < BYTES_MAX {
            let more = rows.some_rows(m, cx, &mut |row, _| {
                let at = arena.len();
                if at + row.len() > ARENA_MAX {
                    return Err(Ora::with(4030, &[&row.len(), &"QERTB batch", &"rows of a block"]));
                }
                arena.extend_from_slice(row);
                places.push(row, at)
            })?;
            if !more {
                break;
            }
        }
        self.size = (self.size * 64).min(ROWS_MAX);
        out.len = places.next.len();
        Ok(out.len > 0)
    }

    /// Makes columns `from..to` of the spans that were noted.
    fn decode(&self, columns: std::ops::Range<usize>, arena: &[u8]) -> Result<Vec<Column>> {
        columns.map(|n| decode(&self.columns[n].1, &self.places.spans[n], arena)).collect()
    }
}

impl Node for Scan {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.failing.clear();
        self.size = 1;
        if let Some(at) = self.watch {
            m.watched[at].starts += 1;
        }
        self.rows.open(m, cx)
    }

    fn regs(&self) -> &[Reg] {
        &self.regs
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let all = self.columns.len();
        loop {
            self.failing.raise()?;
            out.clear();
            if !self.read(out, m, cx)? {
                if let Some(at) = self.watch {
                    m.watched[at].ends += 1;
                }
                return Ok(false);
            }
            self.places.walk(&self.columns, (0, self.first), None, &out.arena)?;
            if self.filter.is_empty() && self.join_filter.is_none() {
                out.columns = self.decode(0..all, &out.arena)?;
                self.count(out.len, m);
                return Ok(true);
            }
            out.columns.resize_with(all, Column::default);
            for n in (0..self.first).filter(|n| self.tested[*n]) {
                out.columns[n] = decode(&self.columns[n].1, &self.places.spans[n], &out.arena)?;
            }
            let read = out.len;
            let mut selected = std::mem::take(&mut self.selected);
            let mut input = Input { len: out.len, columns: &out.columns, arena: &mut out.arena };
            let done = eval::select_all(&self.filter, &mut input, &mut selected, m, cx);
            if done.is_some() {
                self.count(selected.len(), m);
            }
            let filtered = match (&mut self.join_filter, done) {
                (Some(filter), Some(())) => filter.select(&out.columns, &out.arena, &mut selected, m),
                _ => Ok(()),
            };
            let found = match done {
                Some(()) => filtered.and_then(|()| self.finish(out, &selected)),
                None => {
                    // The rows one by one; a row's error comes after the rows before it.
                    self.finish(out, &(0..out.len as u32).collect::<Vec<_>>()).and_then(|()| {
                        let failing = &mut self.failing;
                        eval::filter(&self.filter, out, &self.regs, &mut selected, failing, m, cx)?;
                        self.count(selected.len(), m);
                        if let Some(filter) = &mut self.join_filter {
                            filter.select(&out.columns, &out.arena, &mut selected, m)?;
                        }
                        out.keep(&selected);
                        Ok(())
                    })
                }
            };
            self.selected = selected;
            found?;
            self.left_out += (read - out.len) as u64;
            if out.len > 0 {
                return Ok(true);
            }
        }
    }
}

impl Scan {
    fn count(&self, rows: usize, m: &mut Machine) {
        if let Some(at) = self.watch {
            m.watched[at].rows += rows as u64;
        }
    }

    /// Makes a batch of the rows that passed: columns that the filter has not read are decoded only now.
    fn finish(&mut self, out: &mut Batch, selected: &[u32]) -> Result<()> {
        let whole = selected.len() == out.len;
        if !selected.is_empty() {
            let rows = if whole { None } else { Some(selected) };
            self.places.walk(&self.columns, (self.first, self.columns.len()), rows, &out.arena)?;
            for n in 0..self.columns.len() {
                if n < self.first && self.tested[n] {
                    if !whole {
                        out.columns[n].keep(selected);
                    }
                    continue;
                }
                if n < self.first && !whole {
                    let spans = &mut self.places.spans[n];
                    for (to, &from) in selected.iter().enumerate() {
                        spans[to] = spans[from as usize];
                    }
                    spans.truncate(selected.len());
                }
                out.columns[n] = decode(&self.columns[n].1, &self.places.spans[n], &out.arena)?;
            }
        }
        out.len = selected.len();
        Ok(())
    }
}
