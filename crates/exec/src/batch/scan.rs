//! Full scans and long ranges, a batch at a time.
//!
//! The bytes of the rows of some blocks go to the arena of the batch. Lengths are walked once for each row: first up to
//! the last column that the filter reads, then, for the rows that pass, up to the last column that is wanted. Texts
//! stay where they are.

use super::column::{Column, NULL, Span, decode};
use super::eval::{self, Input};
use super::{Batch, Condition, Failing, Node, ROWS_MAX};
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
    /// Which columns the filter reads, and how many columns there are up to the last of these.
    tested: Vec<bool>,
    first: usize,
    size: usize,
    failing: Failing,
    places: Places,
    selected: Vec<u32>,
    /// Where its rows are counted, of a cursor that is watched.
    watch: Option<usize>,
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
        for n in 0..count {
            let row = rows.map_or(n, |rows| rows[n] as usize);
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
    pub fn build(s: &plan::Scan, b: &mut Builder<'_>) -> Result<Option<Scan>> {
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
        let first = match filter.is_empty() {
            true => columns.len(),
            false => tested.iter().rposition(|t| *t).map_or(0, |last| last + 1),
        };
        let places = Places { spans: vec![Vec::new(); columns.len()], ..Places::default() };
        let (failing, selected) = (Failing::default(), Vec::new());
        let watch = b.watches.then(|| b.watch(s));
        Ok(Some(Scan { rows, columns, regs, filter, tested, first, size: 1, failing, places, selected, watch }))
    }

    /// Reads the rows of the next blocks. False at the end.
    fn read(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Scan { rows, places, .. } = self;
        places.next.clear();
        places.left.clear();
        let arena = &mut out.arena;
        while places.next.len() < self.size {
            let more = rows.some_rows(m, cx, &mut |row, _| {
                let at = arena.len();
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
            if self.filter.is_empty() {
                out.columns = self.decode(0..all, &out.arena)?;
                self.count(out, m);
                return Ok(true);
            }
            out.columns.resize_with(all, Column::default);
            for n in (0..self.first).filter(|n| self.tested[*n]) {
                out.columns[n] = decode(&self.columns[n].1, &self.places.spans[n], &out.arena)?;
            }
            let mut selected = std::mem::take(&mut self.selected);
            let mut input = Input { len: out.len, columns: &out.columns, arena: &mut out.arena };
            let done = eval::select_all(&self.filter, &mut input, &mut selected, m, cx);
            let found = match done {
                Some(()) => self.finish(out, &selected),
                None => {
                    // The rows one by one; a row's error comes after the rows before it.
                    self.finish(out, &(0..out.len as u32).collect::<Vec<_>>()).and_then(|()| {
                        let failing = &mut self.failing;
                        eval::filter(&self.filter, out, &self.regs, &mut selected, failing, m, cx)?;
                        out.keep(&selected);
                        Ok(())
                    })
                }
            };
            self.selected = selected;
            found?;
            if out.len > 0 {
                self.count(out, m);
                return Ok(true);
            }
        }
    }
}

impl Scan {
    fn count(&self, out: &Batch, m: &mut Machine) {
        if let Some(at) = self.watch {
            m.watched[at].rows += out.len as u64;
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
