//! Full scans and long ranges, a batch at a time.
//!
//! The blocks are copied into the arena of the batch, and texts stay there. The filter is split into stages by the
//! columns they read first: the columns of a stage are located and decoded for the remaining rows, and rows that fail
//! are dropped before the next stage. Columns that no stage reads are decoded for the rows that pass all stages.

use super::column::{Column, NULL, Span, decode};
use super::eval::{self, Condition, Input};
use super::node::{ARENA_MAX, BYTES_MAX, Batch, Failing, KeptRow, Node, ROWS_MAX};
use super::use_filter::UseFilter;
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::scan;
use plan::{Access, Reg};
use types::{DataType, ObjectId, Ora, Rdba, Result, Rowid};

/// Tables with fewer rows are not read in batches, because setting up columns costs more than reading them.
const TABLE_ROWS_MIN: u64 = 64;
/// Ranges with fewer expected rows are not read in batches.
const RANGE_ROWS_MIN: f64 = 1000.0;

pub struct Scan {
    rows: scan::Scan,
    /// Positions in the row, ascending, and types; `regs` has the same order.
    columns: Vec<(u16, DataType)>,
    regs: Vec<Reg>,
    filter: Vec<Condition>,
    /// The Bloom filter of a join above.
    join_filter: Option<UseFilter>,
    stages: Vec<Stage>,
    size: usize,
    failing: Failing,
    places: Places,
    selected: Vec<u32>,
    /// The counter of its rows, if the cursor is watched.
    watch: Option<usize>,
    left_out: u64,
    keeping: Option<Keeping>,
}

/// A scan that gives the places of its rows.
struct Keeping {
    /// The columns whose places it gives.
    placed: Vec<usize>,
    /// For each column whether its values are read.
    read: Vec<bool>,
}

/// Conditions that are tested together.
struct Stage {
    /// End of its conditions in the filter; they begin at the end of the stage before.
    conditions: usize,
    /// Whether the Bloom filter of the join above follows them.
    joins: bool,
    /// Columns first read by this stage, ascending; and the number of columns up to the last one read.
    decoded: Vec<usize>,
    columns: usize,
}

/// Positions in the arena of the rows of a batch and of their columns.
#[derive(Default)]
struct Places {
    /// For each row the offset after the columns passed, and the number of columns left.
    next: Vec<u32>,
    left: Vec<u16>,
    /// The spans of each wanted column, for the columns passed.
    spans: Vec<Vec<Span>>,
    walked: usize,
    /// The rows themselves, if they are kept.
    kept: Vec<KeptRow>,
}

fn damaged() -> Ora {
    Ora::internal("row bytes are damaged")
}

impl Places {
    fn clear(&mut self) {
        self.next.clear();
        self.left.clear();
        self.spans.iter_mut().for_each(Vec::clear);
        self.walked = 0;
        self.kept.clear();
    }

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

    /// Keeps the rows `rows`, in ascending order.
    fn keep(&mut self, rows: &[u32]) {
        fn pick<T: Copy>(v: &mut Vec<T>, rows: &[u32]) {
            for (to, &from) in rows.iter().enumerate() {
                v[to] = v[from as usize];
            }
            v.truncate(rows.len());
        }
        pick(&mut self.next, rows);
        pick(&mut self.left, rows);
        self.spans[..self.walked].iter_mut().for_each(|spans| pick(spans, rows));
        if !self.kept.is_empty() {
            pick(&mut self.kept, rows);
        }
    }

    /// Locates the columns up to `to` of all rows.
    fn walk_to(&mut self, columns: &[(u16, DataType)], to: usize, arena: &[u8]) -> Result<()> {
        if to > self.walked {
            self.walk(columns, (self.walked, to), 0, arena, &mut || ())?;
            self.walked = to;
        }
        Ok(())
    }

    /// Locates the columns `from..to` of the rows from `first` on; earlier columns must have been passed. Calls
    /// `between` after each column.
    fn walk(
        &mut self,
        columns: &[(u16, DataType)],
        (from, to): (usize, usize),
        first: usize,
        arena: &[u8],
        between: &mut impl FnMut(),
    ) -> Result<()> {
        let begin = if from == 0 { 0 } else { columns[from - 1].0 + 1 };
        let Some(last) = columns[from..to].last() else { return Ok(()) };
        let (steps, count) = (last.0 + 1 - begin, self.next.len());
        for chunk in (first..count).step_by(WALKED) {
            let end = (chunk + WALKED).min(count);
            if self.left[chunk..end].iter().any(|left| *left < steps) {
                self.walk_short(columns, (from, to), begin, chunk..end, arena)?;
                continue;
            }
            let next = &mut self.next[chunk..end];
            let mut at = begin;
            for (spans, (place, _)) in self.spans[from..to].iter_mut().zip(&columns[from..to]) {
                while at < *place {
                    pass(arena, next).ok_or_else(damaged)?;
                    between();
                    at += 1;
                }
                find(arena, next, spans).ok_or_else(damaged)?;
                between();
                at += 1;
            }
            self.left[chunk..end].iter_mut().for_each(|left| *left -= steps);
        }
        Ok(())
    }

    /// As [`Places::walk`], row by row, because some rows end before the last of the columns.
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

/// Rows that are walked together: their bytes stay in the first-level cache, and their steps are independent, so the
/// processor overlaps them.
const WALKED: usize = 256;

/// Skips the next column of some rows.
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

/// As [`pass`], and records the spans of the column.
#[inline]
fn find(arena: &[u8], next: &mut [u32], spans: &mut Vec<Span>) -> Option<()> {
    let mut greatest = 0;
    let begin = spans.len();
    spans.resize(begin + next.len(), Span::default());
    for (at, place) in next.iter_mut().zip(&mut spans[begin..]) {
        let span;
        match *arena.get(*at as usize)? {
            len @ 0..=250 => {
                span = Span { at: *at + 1, len: len.into() };
                *at = span.at + span.len;
            }
            _ => (*at, span) = far(arena, *at)?,
        }
        greatest = greatest.max(*at);
        *place = span;
    }
    (greatest as usize <= arena.len()).then_some(())
}

/// The span of a NULL or long column, and the offset after it.
#[cold]
fn far(arena: &[u8], at: u32) -> Option<(u32, Span)> {
    let (mut next, mut left) = (at as usize, 1);
    let span = step(arena, &mut next, &mut left)?;
    Some((next as u32, span))
}

/// Skips the next column of a row and returns its span.
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

/// Whether enough rows are read for batches to pay off.
pub fn pays(s: &plan::Scan) -> bool {
    s.rowid.is_none() && pays_with_rowid(s)
}

fn pays_with_rowid(s: &plan::Scan) -> bool {
    // A batch would copy long values even if they are not wanted.
    let long = |ty: &DataType| {
        let lob = matches!(ty, DataType::Clob | DataType::Nclob | DataType::Blob | DataType::Named(_) | DataType::Xml);
        lob || matches!(ty, DataType::Long | DataType::LongRaw)
    };
    if s.table.columns.iter().any(|column| long(&column.data_type)) {
        return false;
    }
    let plain = s.as_of.is_none() && s.versions.is_none() && s.pseudos.is_empty();
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
    /// The scan in batches, if that pays off.
    ///
    /// # Errors
    /// Those of building row sources.
    pub fn build(s: &plan::Scan, b: &mut Builder<'_>) -> Result<Option<Scan>> {
        Scan::build_with(s, None, None, b)
    }

    /// The scan of a statement that changes its rows; see [`super::build_changing`].
    ///
    /// # Errors
    /// Those of building row sources.
    pub fn build_changing(s: &plan::Scan, placed: &[u16], read: &[Reg], b: &mut Builder<'_>) -> Result<Option<Scan>> {
        match s.access {
            Access::Full if !s.granules => Scan::build_with(s, None, Some((placed, read)), b),
            _ => Ok(None),
        }
    }

    /// As [`build`], with the Bloom filter `id` of a join above, applied before columns that no condition reads are
    /// decoded.
    ///
    /// # Errors
    /// Those of building row sources.
    pub fn build_filtered(s: &plan::Scan, id: usize, keys: &[plan::Key], b: &mut Builder<'_>) -> Result<Option<Scan>> {
        Scan::build_with(s, Some((id, keys)), None, b)
    }

    fn build_with(
        s: &plan::Scan,
        join_filter: Option<(usize, &[plan::Key])>,
        changing: Option<(&[u16], &[Reg])>,
        b: &mut Builder<'_>,
    ) -> Result<Option<Scan>> {
        if !(if changing.is_some() { pays_with_rowid(s) } else { pays(s) }) {
            return Ok(None);
        }
        let rows = scan::Scan::build(s, b)?;
        if !rows.gives_bytes() || (changing.is_some() && rows.block().is_none()) {
            return Ok(None);
        }
        let mut wanted: Vec<(u16, Reg, DataType)> =
            s.columns.iter().map(|&(c, r)| (c, r, s.table.columns[usize::from(c)].data_type)).collect();
        wanted.sort_by_key(|c| c.0);
        let mut keeping = None;
        if let Some((placed, read)) = changing {
            wanted.retain(|(column, reg, _)| placed.contains(column) || read.contains(reg));
            let place = |column: &u16| wanted.iter().position(|(c, ..)| c == column);
            let Some(placed) = placed.iter().map(place).collect() else { return Ok(None) };
            keeping = Some(Keeping { placed, read: wanted.iter().map(|(_, reg, _)| read.contains(reg)).collect() });
        }
        let columns: Vec<(u16, DataType)> = wanted.iter().map(|c| (c.0, c.2)).collect();
        if columns.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Ok(None);
        }
        let regs: Vec<Reg> = wanted.iter().map(|c| c.1).collect();
        let Some(filter) = Condition::all(b.conds(&s.filter), &regs) else { return Ok(None) };
        let join_filter = match join_filter {
            Some((id, keys)) => match UseFilter::build(id, keys, &regs, b) {
                Some(filter) => Some(filter),
                None => return Ok(None),
            },
            None => None,
        };
        let stages = stages(&filter, join_filter.as_ref(), columns.len());
        let places = Places { spans: vec![Vec::new(); columns.len()], ..Places::default() };
        let (failing, selected) = (Failing::default(), Vec::new());
        let watch = b.watches.then(|| b.watch(s));
        Ok(Some(Scan {
            rows,
            columns,
            regs,
            filter,
            join_filter,
            stages,
            size: 1,
            failing,
            places,
            selected,
            watch,
            left_out: 0,
            keeping,
        }))
    }

    /// Reads the rows of the next blocks, and locates the columns of the first stage. False at the end.
    fn read(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let Scan { rows, places, columns, stages, keeping, .. } = self;
        let to = stages.first().map_or(columns.len(), |stage| stage.columns);
        places.clear();
        places.walked = to;
        while places.next.len() < self.size && out.arena.len() < BYTES_MAX {
            let (before, begin) = (places.next.len(), out.arena.len());
            let more = rows.append_rows(m, cx, &mut out.arena, &mut |arena, at, len, slot| {
                if at + len > ARENA_MAX {
                    return Err(Ora::with(4030, &[&len, &"QERTB batch", &"rows of a block"]));
                }
                if keeping.is_some() {
                    let rowid = Rowid { obj: ObjectId(0), rdba: Rdba::NONE, slot };
                    places.kept.push(KeptRow { rowid, at: at as u32, len: len as u32 });
                }
                places.push(&arena[at..at + len], at)
            })?;
            if keeping.is_some()
                && let Some((obj, rdba)) = rows.block()
            {
                for row in &mut places.kept[before..] {
                    (row.rowid.obj, row.rowid.rdba) = (obj, rdba);
                }
            }
            if places.next.len() == before {
                // A block without a visible row is not kept: many of them would fill the arena without giving a row.
                out.arena.truncate(begin);
            }
            // The bytes are still in the first-level cache; the next block is prefetched meanwhile.
            places.walk(columns, (0, to), before, &out.arena, &mut || rows.prefetch(cx))?;
            if !more {
                break;
            }
        }
        self.size = (self.size * 64).min(ROWS_MAX);
        out.len = places.next.len();
        Ok(out.len > 0)
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
        loop {
            self.failing.raise()?;
            out.clear();
            if !self.read(out, m, cx)? {
                if let Some(at) = self.watch {
                    m.watched[at].ends += 1;
                }
                return Ok(false);
            }
            let read = out.len;
            out.columns.resize_with(self.columns.len(), Column::default);
            let tested = self.test(out, m, cx)?;
            if out.len > 0 {
                match tested {
                    Tested::Failed(stages) => self.finish(out, stages, true)?,
                    Tested::All => self.finish(out, self.stages.len(), false)?,
                }
            }
            if let Tested::Failed(_) = tested {
                // Evaluates the remaining rows one by one; the error of a row is raised after the rows before it.
                let (failing, selected) = (&mut self.failing, &mut self.selected);
                eval::filter(&self.filter, out, &self.regs, selected, failing, m, cx)?;
                count(self.watch, selected.len(), m);
                if let Some(filter) = &mut self.join_filter {
                    filter.select(&out.columns, &out.arena, selected, m)?;
                }
                out.keep(selected);
            }
            self.left_out += (read - out.len) as u64;
            if out.len > 0 {
                return Ok(true);
            }
        }
    }
}

impl Scan {
    /// Runs the stages; only rows that pass remain in the columns read.
    fn test(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Tested> {
        let (mut from, mut is_counted) = (0, false);
        for n in 0..self.stages.len() {
            let Stage { conditions: to, joins, ref decoded, columns } = self.stages[n];
            self.places.walk_to(&self.columns, columns, &out.arena)?;
            for slot in decoded {
                out.columns[*slot] = decode(&self.columns[*slot].1, &self.places.spans[*slot], &out.arena)?;
            }
            let mut input = Input { len: out.len, columns: &out.columns, arena: &mut out.arena };
            if eval::select_all(&self.filter[from..to], &mut input, &mut self.selected, m, cx).is_none() {
                return Ok(Tested::Failed(n + 1));
            }
            from = to;
            if to == self.filter.len() && !is_counted {
                count(self.watch, self.selected.len(), m);
                is_counted = true;
            }
            if joins && let Some(filter) = &mut self.join_filter {
                filter.select(&out.columns, &out.arena, &mut self.selected, m)?;
            }
            if self.selected.len() < out.len {
                self.keep(out, n);
            }
            if out.len == 0 {
                return Ok(Tested::All);
            }
        }
        if !is_counted {
            count(self.watch, out.len, m);
        }
        Ok(Tested::All)
    }

    /// Drops unselected rows from the columns of the stages up to `n`.
    fn keep(&mut self, out: &mut Batch, n: usize) {
        for slot in self.stages[..=n].iter().flat_map(|stage| &stage.decoded) {
            out.columns[*slot].keep(&self.selected);
        }
        self.places.keep(&self.selected);
        out.len = self.selected.len();
    }

    /// Decodes the columns that the first `stages` stages have not read; with `all`, also those that nobody reads.
    /// Gives the places of the rows.
    fn finish(&mut self, out: &mut Batch, stages: usize, all: bool) -> Result<()> {
        self.places.walk_to(&self.columns, self.columns.len(), &out.arena)?;
        for (n, (_, ty)) in self.columns.iter().enumerate() {
            let is_read = all || self.keeping.as_ref().is_none_or(|keeping| keeping.read[n]);
            if is_read && !self.stages[..stages].iter().any(|stage| stage.decoded.contains(&n)) {
                out.columns[n] = decode(ty, &self.places.spans[n], &out.arena)?;
            }
        }
        if let Some(keeping) = &self.keeping {
            std::mem::swap(&mut out.places.rows, &mut self.places.kept);
            out.places.spans.resize_with(keeping.placed.len(), Vec::new);
            for (spans, n) in out.places.spans.iter_mut().zip(&keeping.placed) {
                std::mem::swap(spans, &mut self.places.spans[*n]);
            }
        }
        Ok(())
    }
}

/// The result of testing the rows of a batch.
enum Tested {
    All,
    /// The evaluation of some row failed in the last of these stages; the rows that passed the earlier stages remain.
    Failed(usize),
}

/// Counts rows for a watched cursor.
fn count(watch: Option<usize>, rows: usize, m: &mut Machine) {
    if let Some(at) = watch {
        m.watched[at].rows += rows as u64;
    }
}

/// Splits a filter into stages.
fn stages(filter: &[Condition], join_filter: Option<&UseFilter>, columns: usize) -> Vec<Stage> {
    let mut read = vec![false; columns];
    let mut stages: Vec<Stage> = Vec::new();
    let mut add = |slots: Vec<usize>, conditions: usize, joins: bool| {
        let mut decoded: Vec<usize> =
            slots.into_iter().filter(|slot| !std::mem::replace(&mut read[*slot], true)).collect();
        decoded.sort_unstable();
        match stages.last_mut() {
            Some(last) if decoded.is_empty() => (last.conditions, last.joins) = (conditions, joins),
            last => {
                let before = last.map_or(0, |last| last.columns);
                let columns = decoded.last().map_or(0, |slot| slot + 1).max(before);
                stages.push(Stage { conditions, joins, decoded, columns });
            }
        }
    };
    for (n, condition) in filter.iter().enumerate() {
        add(condition.slots().collect(), n + 1, false);
    }
    if let Some(join_filter) = join_filter {
        add(join_filter.keys.slots().to_vec(), filter.len(), true);
    }
    stages
}
