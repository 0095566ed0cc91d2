//! Row sources that work on batches of rows (E21 to E25).
//!
//! A batch has typed columns: whole numbers and decimals as words, dates as their bytes in a word, texts as views into
//! the bytes that the rows were read as. A loop over a column neither branches on types nor copies texts, so scans,
//! filters, joins and groupings over many rows take nanoseconds a value where registers take tens of nanoseconds. Row
//! sources that find single rows, or depend on an outer row for each of their rows, stay with registers.
//!
//! The result equals that of registers, to the digit and to the error. Arithmetic on words is used only while it is
//! exact. If the evaluation over a batch meets an error, or a value without a batch form, it stops without side effects
//! (`None`); the rows of the batch are then evaluated in order by the code for registers, and the rows before a failing
//! one are returned first ([`Failing`]). So an error is raised only if registers would have raised it.

pub mod column;
mod eval;
mod group;
mod join;
mod kernels;
mod keys;
mod reads;
mod scan;
mod sort;

use crate::code::{Builder, Code, Cond};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::measure::CountedNode;
use crate::source::Op;
use column::Column;
pub use eval::{Condition, Expression};
use plan::{Reg, Source};
use types::{Ora, Result, Rowid, Value};

/// Most rows of a batch.
pub const ROWS_MAX: usize = 1024;
/// A batch with this many bytes of texts takes no more rows.
pub const BYTES_MAX: usize = 4 << 20;
/// Largest arena whose offsets fit, with room for one more value.
pub const ARENA_MAX: usize = u32::MAX as usize / 2;

/// Rows as columns, one for each register of their row source, in the order of [`Node::regs`]. All rows are valid:
/// filtered rows have been removed.
#[derive(Debug, Default)]
pub struct Batch {
    pub len: usize,
    pub columns: Vec<Column>,
    /// Bytes of the texts.
    pub arena: Vec<u8>,
    /// The places of the rows, if they come from a scan that keeps them ([`build_changing`]).
    pub places: Kept,
}

/// The places of the rows of a batch: in the table, and in its arena.
#[derive(Debug, Default)]
pub struct Kept {
    pub rows: Vec<KeptRow>,
    /// For each column that the scan locates, the place of its value in each row; one of length [`column::NULL`] has
    /// no place.
    pub spans: Vec<Vec<column::Span>>,
}

/// A row in the arena.
#[derive(Clone, Copy, Debug)]
pub struct KeptRow {
    pub rowid: Rowid,
    pub at: u32,
    pub len: u32,
}

impl Kept {
    fn keep(&mut self, rows: &[u32]) {
        fn pick<T: Copy>(v: &mut Vec<T>, rows: &[u32]) {
            for (to, &from) in rows.iter().enumerate() {
                v[to] = v[from as usize];
            }
            v.truncate(rows.len());
        }
        if !self.rows.is_empty() {
            pick(&mut self.rows, rows);
            self.spans.iter_mut().for_each(|spans| pick(spans, rows));
        }
    }
}

impl Batch {
    pub fn clear(&mut self) {
        self.len = 0;
        self.columns.clear();
        self.arena.clear();
        self.places.rows.clear();
    }

    /// Puts a row into the registers of its columns.
    ///
    /// # Errors
    /// ORA-00600 for bytes that cannot be of their type.
    pub fn restore(&self, row: usize, regs: &[Reg], m: &mut Machine) -> Result<()> {
        for (column, &reg) in self.columns.iter().zip(regs) {
            column.put(row, &self.arena, &mut m.regs[reg as usize])?;
        }
        Ok(())
    }

    /// Bytes of memory that the batch has.
    pub fn used(&self) -> usize {
        let spans = self.places.spans.iter().map(Vec::capacity).sum::<usize>() * size_of::<column::Span>();
        let words = self.columns.len() * self.len * size_of::<u64>();
        self.arena.capacity() + self.places.rows.capacity() * size_of::<KeptRow>() + spans + words
    }

    /// Compacts the arena if most of its bytes belong to no text of the batch.
    pub fn shrink(&mut self) {
        let texts: usize = self.columns.iter().map(column::text_bytes).sum();
        if texts < self.arena.len() / 2 {
            let rows: Vec<u32> = (0..self.len as u32).collect();
            let mut arena = Vec::with_capacity(texts);
            for column in &mut self.columns {
                *column = column.pick(&rows, &self.arena, &mut arena);
            }
            self.arena = arena;
        }
    }

    /// Keeps the rows `rows`, in ascending order.
    pub fn keep(&mut self, rows: &[u32]) {
        if rows.len() < self.len {
            self.columns.iter_mut().for_each(|c| c.keep(rows));
            self.places.keep(rows);
            self.len = rows.len();
        }
    }
}

/// A row source that returns batches.
pub trait Node {
    /// Starts again from the beginning.
    ///
    /// # Errors
    /// Those of reading.
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()>;

    /// Restarts for another row of an enclosing nested loop; may keep everything that does not depend on that row.
    ///
    /// # Errors
    /// Those of reading.
    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.open(m, cx)
    }

    /// The registers of a row's values, in the order of a batch's columns.
    fn regs(&self) -> &[Reg];

    /// Number of rows that a scan has read and its filter has dropped.
    fn left_out(&self) -> u64 {
        0
    }

    /// Fills `out` with the next rows, at least one. False at the end; `out` is undefined then.
    ///
    /// # Errors
    /// Those of the row after the last one returned.
    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool>;
}

/// An error that is raised after the rows before it have been returned.
#[derive(Default)]
pub struct Failing(Option<Ora>);

impl Failing {
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Raises the deferred error.
    ///
    /// # Errors
    /// The deferred error.
    pub fn raise(&mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), Err)
    }

    /// Defers an error until the `rows` rows before it have been returned.
    ///
    /// # Errors
    /// The error, if there are no such rows.
    pub fn after(&mut self, rows: usize, e: Ora) -> Result<()> {
        if rows == 0 {
            return Err(e);
        }
        self.0 = Some(e);
        Ok(())
    }
}

/// Presents a source of batches as a source of rows.
pub struct Rows {
    pub node: Box<dyn Node>,
    batch: Batch,
    at: usize,
}

impl Rows {
    pub fn new(node: Box<dyn Node>) -> Rows {
        Rows { node, batch: Batch::default(), at: 0 }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.batch.clear();
        self.at = 0;
        self.node.open(m, cx)
    }

    pub fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.batch.clear();
        self.at = 0;
        self.node.rewind(m, cx)
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.at >= self.batch.len {
            self.at = 0;
            self.batch.len = 0;
            if !self.node.next_batch(&mut self.batch, m, cx)? {
                self.batch.len = 0;
                return Ok(false);
            }
        }
        self.at += 1;
        self.batch.restore(self.at - 1, self.node.regs(), m)?;
        Ok(true)
    }
}

/// Presents a source of rows as a source of batches. Batches grow, so that a reader of few rows computes few.
///
/// A loop keeps its current row in registers, and evaluations over the batches above overwrite them. The last row is
/// therefore put back before the source continues.
pub struct FromRows {
    op: Op,
    regs: Vec<Reg>,
    last: Vec<Value>,
    makers: Vec<column::Maker>,
    size: usize,
    ended: bool,
    failing: Failing,
}

impl FromRows {
    pub fn new(op: Op, regs: Vec<Reg>) -> FromRows {
        let makers = regs.iter().map(|_| column::Maker::default()).collect();
        FromRows { op, regs, last: Vec::new(), makers, size: 1, ended: false, failing: Failing::default() }
    }

    fn start(&mut self) {
        (self.size, self.ended) = (1, false);
        self.last.clear();
        self.failing.clear();
    }
}

impl Node for FromRows {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.start();
        self.op.open(m, cx)
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.start();
        self.op.rewind(m, cx)
    }

    fn regs(&self) -> &[Reg] {
        &self.regs
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.failing.raise()?;
        out.clear();
        if !self.last.is_empty() {
            m.restore(&self.regs, &self.last);
        }
        while !self.ended && out.len < self.size && out.arena.len() < BYTES_MAX {
            match self.op.next(m, cx) {
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    break;
                }
                Err(e) => {
                    self.ended = true;
                    self.failing.after(out.len, e)?;
                    break;
                }
            }
            for (column, &reg) in self.makers.iter_mut().zip(&self.regs) {
                column.push(m.value(reg), &mut out.arena);
            }
            out.len += 1;
        }
        if !self.ended {
            self.last.resize(self.regs.len(), Value::Null);
            self.last.iter_mut().zip(&self.regs).for_each(|(value, reg)| value.set(m.value(*reg)));
        }
        self.size = (self.size * 64).min(ROWS_MAX);
        out.columns.extend(self.makers.iter_mut().map(|column| column.finish(&mut out.arena)));
        Ok(out.len > 0)
    }
}

/// Conditions over the rows of another source.
pub struct Filter {
    input: Box<dyn Node>,
    conds: Vec<Condition>,
    failing: Failing,
    selected: Vec<u32>,
}

impl Node for Filter {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.failing.clear();
        self.input.open(m, cx)
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.failing.clear();
        self.input.rewind(m, cx)
    }

    fn regs(&self) -> &[Reg] {
        self.input.regs()
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.failing.raise()?;
        while self.input.next_batch(out, m, cx)? {
            let regs = self.input.regs();
            eval::filter(&self.conds, out, regs, &mut self.selected, &mut self.failing, m, cx)?;
            out.keep(&self.selected);
            if out.len > 0 {
                return Ok(true);
            }
            self.failing.raise()?;
            cx.check_cancel()?;
        }
        Ok(false)
    }
}

/// Values computed into registers.
pub struct Project {
    input: Box<dyn Node>,
    exprs: Vec<(Expression, Reg)>,
    regs: Vec<Reg>,
    failing: Failing,
}

impl Project {
    /// Computes the values of a batch row by row, up to the first row that fails.
    fn row_by_row(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let mut values: Vec<Vec<Value>> = self.exprs.iter().map(|_| Vec::new()).collect();
        for row in 0..out.len {
            let mut made = || -> Result<()> {
                out.restore(row, self.input.regs(), m)?;
                for ((expr, reg), values) in self.exprs.iter().zip(&mut values) {
                    crate::source::assign(expr.code(), *reg, m, cx)?;
                    values.push(m.value(*reg).clone());
                }
                Ok(())
            };
            if let Err(e) = made() {
                self.failing.after(row, e)?;
                let rows: Vec<u32> = (0..row as u32).collect();
                out.keep(&rows);
                values.iter_mut().for_each(|v| v.truncate(row));
                break;
            }
        }
        let Batch { columns, arena, .. } = out;
        columns.extend(values.into_iter().map(|values| Column::of_values(values, arena)));
        Ok(())
    }
}

impl Node for Project {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.failing.clear();
        self.input.open(m, cx)
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.failing.clear();
        self.input.rewind(m, cx)
    }

    fn regs(&self) -> &[Reg] {
        &self.regs
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.failing.raise()?;
        if !self.input.next_batch(out, m, cx)? {
            return Ok(false);
        }
        let before = out.columns.len();
        for (expr, _) in &self.exprs {
            match expr.column(out, m, cx) {
                Some(column) => out.columns.push(column),
                None => {
                    out.columns.truncate(before);
                    self.row_by_row(out, m, cx)?;
                    break;
                }
            }
        }
        Ok(true)
    }
}

/// The registers of a row source that are read; all if unknown.
#[derive(Clone, Debug)]
pub struct Wanted(Option<Vec<Reg>>);

impl Wanted {
    pub const ALL: Wanted = Wanted(None);

    /// These registers.
    pub fn of_regs(regs: &[Reg]) -> Wanted {
        Wanted(Some(regs.to_vec()))
    }

    /// The registers that codes read; all, if one of them is unknown.
    pub fn of_codes<'c>(codes: impl IntoIterator<Item = &'c Code>) -> Wanted {
        Wanted(Some(Vec::new())).and(codes)
    }

    /// These registers, and those that codes read.
    pub fn and<'c>(&self, codes: impl IntoIterator<Item = &'c Code>) -> Wanted {
        self.and_reads(codes.into_iter().map(reads::of_code))
    }

    /// These registers, and those that conditions read.
    pub fn and_conds<'c>(&self, conds: impl IntoIterator<Item = &'c Cond>) -> Wanted {
        self.and_reads(conds.into_iter().map(reads::of_cond))
    }

    fn and_reads(&self, all: impl IntoIterator<Item = Option<reads::Reads>>) -> Wanted {
        let Some(mut regs) = self.0.clone() else { return Wanted::ALL };
        for reads in all {
            match reads {
                Some(reads) => regs.extend(reads.regs),
                None => return Wanted::ALL,
            }
        }
        Wanted(Some(regs))
    }

    /// The registers of `regs` that are read.
    pub fn of(&self, regs: &[Reg]) -> Vec<Reg> {
        let reads = |reg: &&Reg| self.0.as_ref().is_none_or(|wanted| wanted.contains(reg));
        regs.iter().filter(reads).copied().collect()
    }
}

/// The row source as a source of batches, with at least the registers of `wanted`. `None` if it returns few rows, or
/// evaluates an expression without a batch form.
///
/// # Errors
/// Those of building row sources.
pub fn build(s: &Source, wanted: &Wanted, b: &mut Builder<'_>) -> Result<Option<Box<dyn Node>>> {
    // A source without a batch form is not tried again, because each attempt builds everything below it.
    if !b.batches || b.without_batches.contains(&std::ptr::from_ref(s)) || !pays(s) {
        return Ok(None);
    }
    let watched = b.watched.len();
    let node = build_uncounted(s, wanted, b)?;
    if node.is_none() {
        b.watched.truncate(watched);
        b.without_batches.insert(std::ptr::from_ref(s));
    }
    Ok(match b.counting.as_ref().and_then(|counting| counting.of_source(s)) {
        Some(place) => node.map(|node| Box::new(CountedNode::new(node, place)) as Box<dyn Node>),
        None => node,
    })
}

/// The scan of a statement that changes its rows: batches with the places of the rows and of their columns `placed`,
/// which ascend; only columns in the registers `read` are decoded. `None` if the rows are not those of a full scan of a
/// heap, or are too few.
///
/// # Errors
/// Those of building row sources.
pub fn build_changing(s: &Source, placed: &[u16], read: &[Reg], b: &mut Builder<'_>) -> Result<Option<Box<dyn Node>>> {
    let Source::Scan(scan) = s else { return Ok(None) };
    if !b.batches {
        return Ok(None);
    }
    let watched = b.watched.len();
    let Some(node) = scan::Scan::build_changing(scan, placed, read, b)? else {
        b.watched.truncate(watched);
        return Ok(None);
    };
    let node: Box<dyn Node> = Box::new(node);
    Ok(Some(match b.counting.as_ref().and_then(|counting| counting.of_source(s)) {
        Some(place) => Box::new(CountedNode::new(node, place)),
        None => node,
    }))
}

fn build_uncounted(s: &Source, wanted: &Wanted, b: &mut Builder<'_>) -> Result<Option<Box<dyn Node>>> {
    Ok(Some(match s {
        Source::Scan(scan) => match scan::Scan::build(scan, b)? {
            Some(scan) => Box::new(scan),
            None => return Ok(None),
        },
        Source::Filter { input, conds, .. } => {
            let conds = b.conds(conds);
            let Some(input) = build(input, &wanted.and_conds(&conds), b)? else { return Ok(None) };
            let Some(conds) = Condition::all(conds, input.regs()) else { return Ok(None) };
            Box::new(Filter { input, conds, failing: Failing::default(), selected: Vec::new() })
        }
        Source::Project { input, exprs, .. } => {
            let codes: Vec<(Code, Reg)> = exprs.iter().map(|(e, reg)| (b.code(e), *reg)).collect();
            let Some(input) = build(input, &wanted.and(codes.iter().map(|(code, _)| code)), b)? else {
                return Ok(None);
            };
            if codes.is_empty() {
                return Ok(Some(input));
            }
            let mut regs = input.regs().to_vec();
            let mut made = Vec::with_capacity(codes.len());
            for (code, reg) in codes {
                // A later expression may read the value of an earlier one.
                let Some(expr) = Expression::new(code, &regs) else { return Ok(None) };
                made.push((expr, reg));
                regs.push(reg);
            }
            Box::new(Project { input, exprs: made, regs, failing: Failing::default() })
        }
        Source::HashJoin { left, right, kind, build, keys, residual, left_regs, right_regs, filters, .. } => {
            let sides = join::Parts { left, right, left_regs, right_regs, side: *build };
            match join::Join::build(&sides, *kind, keys, residual, filters, wanted, b)? {
                Some(join) => Box::new(join),
                None => return Ok(None),
            }
        }
        Source::JoinFilter { input, id, keys, .. } => {
            // A counted scan has its own wrapper.
            if b.counting.is_none()
                && let Source::Scan(scan) = &**input
            {
                return Ok(match scan::Scan::build_filtered(scan, *id, keys, b)? {
                    Some(scan) => Some(Box::new(scan)),
                    None => None,
                });
            }
            let codes: Vec<Code> = keys.iter().map(|key| b.code(&key.value)).collect();
            let Some(input) = build(input, &wanted.and(&codes), b)? else { return Ok(None) };
            match join::UseFilter::build(*id, keys, input.regs(), b) {
                Some(filter) => Box::new(join::Filtered::new(input, filter)),
                None => return Ok(None),
            }
        }
        Source::Group { input, keys, sets, aggs, scalar, .. } => {
            match group::Group::build(input, keys, sets, aggs, *scalar, b)? {
                Some(group) => Box::new(group),
                None => return Ok(None),
            }
        }
        Source::Sort { input, keys, regs: _, top, .. } => {
            let input = build_any(input, &Wanted::ALL, b)?;
            match sort::Sort::build(input, keys, top.as_ref(), b) {
                Some(sort) => Box::new(sort),
                None => return Ok(None),
            }
        }
        Source::Distinct { input, regs, .. } => {
            let input = build_any(input, &Wanted(Some(regs.clone())), b)?;
            match group::Group::distinct(input, regs) {
                Some(distinct) => Box::new(distinct),
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    }))
}

/// As [`build`]; a source without a batch form is wrapped in [`FromRows`].
///
/// # Errors
/// Those of building row sources.
pub fn build_any(s: &Source, wanted: &Wanted, b: &mut Builder<'_>) -> Result<Box<dyn Node>> {
    match build(s, wanted, b)? {
        Some(node) => Ok(node),
        None => Ok(Box::new(FromRows::new(Op::build(s, b)?, wanted.of(&plan::produced(s))))),
    }
}

/// Whether the source has enough rows for batches to pay off.
pub fn pays(s: &Source) -> bool {
    match s {
        Source::Scan(scan) => scan::pays(scan),
        Source::Filter { input, .. } | Source::Project { input, .. } | Source::JoinFilter { input, .. } => pays(input),
        Source::Parallel { input, .. } => pays(input),
        Source::HashJoin { left, right, .. } => pays(left) || pays(right),
        Source::Group { input, .. } | Source::Sort { input, .. } | Source::Distinct { input, .. } => pays(input),
        _ => false,
    }
}
