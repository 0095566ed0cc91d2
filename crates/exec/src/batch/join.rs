//! Hash joins over batches.
//!
//! The rows of the build side become columns in memory, their keys a [`KeyTable`]; rows with equal keys are chained in
//! order. All keys of a probe batch are looked up, which gives pairs of rows; conditions other than equalities drop
//! some of the pairs; the columns of the remaining pairs are copied from both sides. Kinds and sides are those of the
//! join with registers ([`How`]). NOT IN with NULLs, and joins with at most one match, always use registers.
//!
//! A build side that does not fit into memory goes to the join with registers, which partitions and spills: it reads
//! first the rows already read, then the rest of the input (E24).

use super::basic::Project;
use super::column::{Column, NO_ROW, bytes_of_rows, longest, unexplained};
use super::eval::Expression;
use super::eval::{Condition, Input, select_all};
use super::join_keys::{KeyColumns, KeyScratch};
use super::kernels;
use super::keys::{COLUMNS_MAX, KeyTable};
use super::node::{ARENA_MAX, BYTES_MAX, Batch, Failing, Node, ROWS_MAX};
use super::resumed::Resumed;
use super::rows::{FromRows, Rows};
use super::wanted::BuildInput;
use super::wanted::Wanted;
use crate::builder::Builder;
use crate::code::{Code, Cond};
use crate::ctx::ExecCtx;
use crate::join::bloom::Maker;
use crate::join::how::{How, OnMatch};
use crate::join::keys::Keys;
use crate::machine::{Held, Machine};
use crate::source::hash_join::{self, HashJoin};
use crate::work_area::Way;
use plan::{BuiltFilter, Expr, JoinKey, JoinKind, KeyNulls, Reg, Side, Source};
use std::rc::Rc;
use types::{Ora, Result};

/// Pairs of a probe row that are checked first, where one match decides.
const FIRST_PAIRS: usize = 16;
/// End of the chain of a key.
const END: u32 = u32::MAX;

/// One side of a join.
struct JoinSide {
    node: Box<dyn Node>,
    keys: KeyColumns,
    /// Columns that the join returns or that its conditions read.
    wanted: Vec<usize>,
    regs: Vec<Reg>,
    /// Columns kept for the build side: the wanted ones, then the keys.
    stored: Vec<usize>,
}

/// A Bloom filter to be built.
struct Made {
    id: usize,
    keys: KeyColumns,
    /// Whether its keys are the join keys.
    is_key: bool,
}

/// The rows of the build side.
#[derive(Default)]
struct Built {
    rows: usize,
    /// The wanted columns, or those of the keys if no column is wanted.
    columns: Vec<Column>,
    arena: Vec<u8>,
    /// For each key: its first and its last row.
    first: Vec<u32>,
    last: Vec<u32>,
    /// For each row: the next one of its key.
    next: Vec<u32>,
    marked: Vec<bool>,
    /// Whether marked rows have been removed from the chains.
    is_unlinked: bool,
    /// Bytes of the columns without their texts, and of the longest value.
    column_bytes: usize,
    longest: usize,
}

impl Built {
    /// Bytes of the rows without keys and chains.
    fn row_bytes(&self) -> usize {
        self.column_bytes + self.arena.len()
    }

    fn bytes(&self) -> usize {
        self.row_bytes() + self.first.len() * 8 + self.next.len() * 4 + self.marked.len()
    }
}

/// A probe batch, and how far it is joined.
#[derive(Default)]
struct Probed {
    batch: Batch,
    /// For each row the first matching row of the build side.
    first: Vec<u32>,
    found: Vec<bool>,
    /// The current row, and the rest of its chain once it is started.
    row: usize,
    chain: Option<u32>,
    /// Bytes of the longest value.
    longest: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Nothing has been read.
    Start,
    /// The table is complete; the probe must be opened or rewound.
    Built,
    Probe,
    /// Returning unmatched rows of the build side, from this one on.
    Unmatched(usize),
    Done,
}

/// Conditions other than equalities: the columns they read, and their form over registers.
struct Residual {
    conds: Vec<Condition>,
    regs: Vec<Reg>,
    /// Columns of the probe and of the build side that the conditions read.
    probe: Vec<usize>,
    build: Vec<usize>,
}

pub struct Join {
    /// `None` once the join continues with registers.
    sides: Option<Box<(JoinSide, JoinSide)>>,
    rows: Option<Box<FromRows<HashJoin<Rows>>>>,
    how: How,
    kind: JoinKind,
    side: Side,
    regs: Vec<Reg>,
    /// Keys whose NULL on a side matches nothing: two bits for each column, the lower one set.
    never: u64,
    residual: Option<Residual>,
    row_residual: Vec<Cond>,
    filters: Vec<Made>,
    nulls: Vec<KeyNulls>,
    table: KeyTable,
    built: Built,
    /// Memory of the table and the rows of the build side.
    held: Held,
    state: State,
    probe_open: bool,
    probed: Probed,
    pairs: Vec<(u32, u32)>,
    failing: Failing,
}

/// Parts of a hash join's plan.
pub struct Parts<'p> {
    pub left: &'p Source,
    pub right: &'p Source,
    pub left_regs: &'p [Reg],
    pub right_regs: &'p [Reg],
    /// The side to build.
    pub side: Side,
}

impl Join {
    /// The join over batches; `None` if its kind, keys or conditions have no batch form.
    ///
    /// # Errors
    /// Those of building row sources.
    #[expect(clippy::too_many_arguments, reason = "the parts of the plan's row source")]
    pub fn build(
        p: &Parts<'_>,
        kind: JoinKind,
        keys: &[JoinKey],
        residual: &[Expr],
        filters: &[BuiltFilter],
        wanted: &Wanted,
        input: BuildInput,
        b: &mut Builder<'_>,
    ) -> Result<Option<Join>> {
        let is_known = !matches!(kind, JoinKind::Single | JoinKind::AntiNullAware);
        if !is_known || keys.is_empty() || keys.len() > COLUMNS_MAX {
            return Ok(None);
        }
        let how = How::of(kind, p.side);
        let row_residual = b.conds(residual);
        let wanted = wanted.and_conds(&row_residual);
        let codes = |exprs: Vec<(&Expr, bool)>, b: &mut Builder<'_>| {
            exprs.into_iter().map(|(e, padded)| (b.code(e), padded)).collect::<Vec<_>>()
        };
        let left_codes = codes(keys.iter().map(|key| (&key.left, key.padded)).collect(), b);
        let right_codes = codes(keys.iter().map(|key| (&key.right, key.padded)).collect(), b);
        let Some(left) = JoinSide::build(p.left, left_codes, p.left_regs, &wanted, input, b)? else { return Ok(None) };
        let Some(right) = JoinSide::build(p.right, right_codes, p.right_regs, &wanted, input, b)? else {
            return Ok(None);
        };
        let (build, probe) = match p.side {
            Side::Left => (left, right),
            Side::Right => (right, left),
        };
        let regs: Vec<Reg> = match how.on_match {
            OnMatch::Pair => probe.regs.iter().chain(&build.regs).copied().collect(),
            OnMatch::TakeProbe | OnMatch::DropProbe => probe.regs.clone(),
            OnMatch::TakeBuild | OnMatch::DropBuild => build.regs.clone(),
        };
        let residual = if residual.is_empty() {
            None
        } else {
            match Residual::build(b.conds(residual), &probe, &build) {
                Some(residual) => Some(residual),
                None => return Ok(None),
            }
        };
        let filter = |f: &BuiltFilter| {
            let is_key = f.keys.iter().copied().eq(0..keys.len());
            Made { id: f.id, keys: build.keys.only(&f.keys), is_key }
        };
        let filters = filters.iter().map(filter).collect();
        let never = keys.iter().enumerate().filter(|(_, key)| key.nulls == KeyNulls::Never);
        let never = never.fold(0, |mask, (n, _)| mask | 1 << (2 * n));
        Ok(Some(Join {
            sides: Some(Box::new((build, probe))),
            rows: None,
            how,
            kind,
            side: p.side,
            regs,
            never,
            residual,
            row_residual,
            filters,
            nulls: keys.iter().map(|key| key.nulls).collect(),
            table: KeyTable::new(keys.len()),
            built: Built::default(),
            held: Held::default(),
            state: State::Done,
            probe_open: false,
            probed: Probed::default(),
            pairs: Vec::new(),
            failing: Failing::default(),
        }))
    }

    /// Whether only key values of the build side are read.
    fn is_bare(&self) -> bool {
        matches!(self.how.on_match, OnMatch::TakeProbe | OnMatch::DropProbe) && self.residual.is_none()
    }

    fn forget_table(&mut self, m: &mut Machine) {
        self.table.clear();
        self.built = Built::default();
        self.held.release(m);
    }

    /// Builds the table. False if it does not fit into memory.
    fn build_table(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let limit = cx.session.options.spill_bytes;
        let mut makers: Vec<Maker> = self.filters.iter().map(|_| Maker::new(limit / 4)).collect();
        let mut sides = self.sides.take().ok_or_else(unexplained)?;
        let fits = self.read_build(&mut sides.0, &mut makers, m, cx);
        self.sides = Some(sides);
        if !fits? {
            return Ok(false);
        }
        for (filter, maker) in self.filters.iter().zip(makers) {
            m.set_filter(filter.id, Some(Rc::new(maker.finish())));
        }
        let (used, rows) = (self.held.bytes() as u64, self.built.rows as u64);
        cx.shared.areas.note(cx, used, 0, || (Way::Divide, used.saturating_sub(rows * 8)));
        Ok(true)
    }

    /// Reads the rest of the build side. False if it does not fit into memory.
    fn read_build(
        &mut self,
        build: &mut JoinSide,
        makers: &mut [Maker],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        let bare = self.is_bare();
        let stored = if bare { &build.keys.slots } else { &build.stored };
        self.built.columns = stored.iter().map(|_| Column::default()).collect();
        let (mut batch, mut rows, mut scratch) = (Batch::default(), Vec::new(), KeyScratch::default());
        build.node.open(m, cx)?;
        while build.node.next_batch(&mut batch, m, cx)? {
            let keys = build.keys.trimmed(&batch);
            let columns: Vec<&Column> = keys.iter().map(|key| key.column(&batch)).collect();
            self.table.load(&columns, batch.len, &batch.arena)?;
            self.link(batch.len, bare, &mut rows);
            for (filter, maker) in self.filters.iter().zip(&mut *makers) {
                for row in (0..batch.len).filter(|row| !self.table.has_null(*row, self.never)) {
                    if filter.keys.key(&batch.columns, row, &batch.arena, &mut scratch)? {
                        maker.add(&scratch.key);
                    }
                }
            }
            let built = &mut self.built;
            for (column, slot) in built.columns.iter_mut().zip(stored) {
                let from = &batch.columns[*slot];
                built.column_bytes += bytes_of_rows(from, &rows);
                built.longest = built.longest.max(longest(from));
                column.append((built.rows, &mut built.arena), from, &rows, &batch.arena)?;
            }
            built.rows += rows.len();
            if self.how.marks {
                built.marked.resize(built.rows, false);
            }
            let used = self.built.bytes() + self.table.used();
            self.held.charge(used.saturating_sub(self.held.bytes()), m, cx)?;
            if self.held.bytes() > cx.session.options.spill_bytes
                || self.built.arena.len() >= ARENA_MAX
                || self.built.rows >= END as usize / 2
            {
                return Ok(false);
            }
            cx.check_cancel()?;
        }
        Ok(true)
    }

    /// Adds the rows of a batch, whose keys are in the table, to the chains of their keys. `rows`: the rows to keep.
    fn link(&mut self, len: usize, bare: bool, rows: &mut Vec<u32>) {
        rows.clear();
        let built = &mut self.built;
        for row in 0..len {
            let number = (built.rows + rows.len()) as u32;
            if self.table.has_null(row, self.never) {
                // It matches nothing, but is kept if the join returns unmatched rows.
                if !self.how.keep_build {
                    continue;
                }
            } else {
                match self.table.find(row) {
                    Ok(_) if bare => continue,
                    Ok(n) => {
                        let last = std::mem::replace(&mut built.last[n], number);
                        built.next[last as usize] = number;
                    }
                    Err(place) => {
                        self.table.add(row, place);
                        built.first.push(number);
                        built.last.push(number);
                    }
                }
            }
            rows.push(row as u32);
            built.next.push(END);
        }
    }

    /// Continues with registers, starting with the rows of the build side in memory.
    fn go_on_with_rows(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let (build, probe) = *self.sides.take().ok_or_else(unexplained)?;
        let bare = self.is_bare();
        // Chains and keys are freed now, the rows once they have been read.
        let held = self.built.row_bytes();
        let Built { rows, columns, arena, .. } = std::mem::take(&mut self.built);
        self.forget_table(m);
        m.charge(held, cx)?;
        let slots = if bare { &build.keys.slots } else { &build.stored };
        let regs: Vec<Reg> = slots.iter().map(|slot| build.node.regs()[*slot]).collect();
        let stored = Batch { len: rows, columns, arena, ..Batch::default() };
        let first =
            Resumed { node: build.node, stored: Some((stored, regs)), held, at: 0, resumes: true, regs: Vec::new() };
        let first = Resumed { regs: first.node.regs().to_vec(), ..first };
        // Computed keys are columns of the node.
        let filters = self.filters.iter().map(|filter| {
            let keys = || filter.keys.codes(first.regs()).collect();
            hash_join::Filter { id: filter.id, keys: (!filter.is_key).then(|| Keys::plain(keys())) }
        });
        let filters = filters.collect();
        let nulls = &self.nulls;
        let input = |node: Box<dyn Node>, keys: KeyColumns, regs: Vec<Reg>| {
            let parts = keys.codes(node.regs()).zip(nulls).map(|((code, padded), nulls)| (code, padded, *nulls));
            let keys = Keys::of_parts(parts.collect());
            hash_join::Input { op: Rows::new(node), keys, regs }
        };
        let build = input(Box::new(first), build.keys, build.regs);
        let probe = input(probe.node, probe.keys, probe.regs);
        let (left, right) = match self.side {
            Side::Left => (build, probe),
            Side::Right => (probe, build),
        };
        let residual = std::mem::take(&mut self.row_residual);
        let join = HashJoin::new(left, right, self.kind, self.side, residual, filters);
        let mut rows = FromRows::new(join, self.regs.clone());
        rows.open(m, cx)?;
        self.rows = Some(Box::new(rows));
        Ok(())
    }

    /// Looks up the keys of the next probe batch. False at the end.
    fn next_probe(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let (_, probe) = &mut **self.sides.as_mut().ok_or_else(unexplained)?;
        let Probed { batch, first, found, row, chain, longest: most } = &mut self.probed;
        if !probe.node.next_batch(batch, m, cx)? {
            batch.clear();
            return Ok(false);
        }
        let keys = probe.keys.trimmed(batch);
        let columns: Vec<&Column> = keys.iter().map(|key| key.column(batch)).collect();
        self.table.load_probe(&columns, batch.len, &batch.arena)?;
        drop(columns);
        first.clear();
        for row in 0..batch.len {
            let found = if self.table.has_null(row, self.never) { None } else { self.table.find(row).ok() };
            first.push(found.map_or(END, |n| self.built.first[n]));
        }
        found.clear();
        found.resize(batch.len, false);
        (*row, *chain) = (0, None);
        *most = probe.wanted.iter().map(|slot| longest(&batch.columns[*slot])).max().unwrap_or_default();
        Ok(true)
    }

    /// Collects pairs of rows with equal keys, up to one batch; the next call continues after them.
    fn next_pairs(&mut self) {
        self.pairs.clear();
        let on_match = self.how.on_match;
        let once = matches!(on_match, OnMatch::TakeProbe | OnMatch::DropProbe);
        let unmarked = matches!(on_match, OnMatch::TakeBuild | OnMatch::DropBuild);
        let columns = self.regs.len().max(1);
        let Built { next, marked, is_unlinked, longest, .. } = &mut self.built;
        let Probed { batch, first, found, row, chain, longest: longest_probe } = &mut self.probed;
        // In the worst case each pair copies the longest values of both sides.
        let room = (BYTES_MAX / ((*longest + *longest_probe) * columns).max(1)).clamp(1, ROWS_MAX);
        while *row < batch.len {
            let (most, mut at) = match chain.take() {
                Some(_) if once && found[*row] => (room, END),
                Some(at) => (room, at),
                None => (if once { self.pairs.len() + FIRST_PAIRS } else { room }, first[*row]),
            };
            // A marked row of the build side is not checked again: it is removed from its chain unless it is the first.
            let mut before = END;
            while at != END && self.pairs.len() < most.min(room) {
                let following = next[at as usize];
                if unmarked && marked[at as usize] && before != END {
                    (next[before as usize], *is_unlinked) = (following, true);
                } else {
                    if !(unmarked && marked[at as usize]) {
                        self.pairs.push((*row as u32, at));
                    }
                    before = at;
                }
                at = following;
            }
            if at != END {
                *chain = Some(at);
                return;
            }
            *row += 1;
            if self.pairs.len() >= room {
                return;
            }
        }
    }

    /// Drops pairs for which the conditions do not hold. An error is deferred until the rows before it have been
    /// returned; the result is the probe row with the error.
    fn check_pairs(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Option<(u32, Ora)>> {
        let Some(residual) = &self.residual else { return Ok(None) };
        if self.pairs.is_empty() {
            return Ok(None);
        }
        let probe_rows: Vec<u32> = self.pairs.iter().map(|p| p.0).collect();
        let build_rows: Vec<u32> = self.pairs.iter().map(|p| p.1).collect();
        let mut batch = Batch { len: self.pairs.len(), ..Batch::default() };
        let from = &self.probed.batch;
        for slot in &residual.probe {
            batch.columns.push(from.columns[*slot].pick(&probe_rows, &from.arena, &mut batch.arena));
        }
        for n in &residual.build {
            batch.columns.push(self.built.columns[*n].pick(&build_rows, &self.built.arena, &mut batch.arena));
        }
        let mut selected = Vec::new();
        let mut input = Input { len: batch.len, columns: &batch.columns, arena: &mut batch.arena };
        if select_all(&residual.conds, &mut input, &mut selected, m, cx).is_some() {
            let mut n = 0;
            selected.iter().for_each(|row| {
                self.pairs[n] = self.pairs[*row as usize];
                n += 1;
            });
            self.pairs.truncate(n);
            return Ok(None);
        }
        // Row by row. A probe row that one match decides checks no further pair.
        let once = matches!(self.how.on_match, OnMatch::TakeProbe | OnMatch::DropProbe);
        let mut kept: Vec<(u32, u32)> = Vec::new();
        for (n, pair) in self.pairs.iter().enumerate() {
            let decided = self.probed.found[pair.0 as usize] || kept.last().is_some_and(|last| last.0 == pair.0);
            let taken = self.how.on_match == OnMatch::TakeBuild
                && (self.built.marked[pair.1 as usize] || kept.iter().any(|k| k.1 == pair.1));
            if once && decided || taken {
                continue;
            }
            let mut holds = || -> Result<bool> {
                batch.restore(n, &residual.regs, m)?;
                for cond in &self.row_residual {
                    if cond.test(m, cx)? != Some(true) {
                        return Ok(false);
                    }
                }
                Ok(true)
            };
            match holds() {
                Ok(true) => kept.push(*pair),
                Ok(false) => {}
                Err(e) => {
                    let row = pair.0;
                    self.pairs = kept;
                    return Ok(Some((row, e)));
                }
            }
        }
        self.pairs = kept;
        Ok(None)
    }

    /// Returns the rows for the pairs of the probe rows from `from` on.
    fn give(&mut self, from: usize, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let failed = self.check_pairs(m, cx)?;
        // Rows whose pairs are now all known.
        let end = failed.as_ref().map_or(self.probed.row, |(row, _)| *row as usize);
        match self.how.on_match {
            OnMatch::Pair => {
                if self.how.marks {
                    self.pairs.iter().for_each(|pair| self.built.marked[pair.1 as usize] = true);
                }
                let found = &mut self.probed.found;
                self.pairs.iter().for_each(|pair| found[pair.0 as usize] = true);
                if self.how.keep_probe {
                    let mut pairs = self.pairs.iter().copied().peekable();
                    let mut all = Vec::with_capacity(self.pairs.len());
                    for (row, found) in found.iter().enumerate().take(end).skip(from) {
                        while let Some(pair) = pairs.next_if(|pair| pair.0 as usize == row) {
                            all.push(pair);
                        }
                        if !found {
                            all.push((row as u32, NO_ROW));
                        }
                    }
                    all.extend(pairs);
                    self.pairs = all;
                }
                self.pick_pairs(out);
            }
            OnMatch::TakeProbe | OnMatch::DropProbe => {
                let (found, mut rows) = (&mut self.probed.found, Vec::new());
                for pair in &self.pairs {
                    if !std::mem::replace(&mut found[pair.0 as usize], true) {
                        rows.push(pair.0);
                    }
                }
                if self.how.on_match == OnMatch::DropProbe {
                    rows = (from as u32..end as u32).filter(|row| !found[*row as usize]).collect();
                }
                self.pick_probe(&rows, out);
            }
            OnMatch::TakeBuild | OnMatch::DropBuild => {
                let mut rows = Vec::new();
                for pair in &self.pairs {
                    if !std::mem::replace(&mut self.built.marked[pair.1 as usize], true) {
                        rows.push(pair.1);
                    }
                }
                if self.how.on_match == OnMatch::TakeBuild {
                    self.pick_build(&rows, out);
                }
            }
        }
        if let Some((_, e)) = failed {
            self.failing.after(out.len, e)?;
        }
        Ok(())
    }

    /// Whether all rows of the probe batch are decided, so that its arena can be moved to the result.
    fn take_arena(&mut self, out: &mut Batch) -> bool {
        let last = self.probed.row >= self.probed.batch.len && self.probed.chain.is_none();
        if last {
            std::mem::swap(&mut out.arena, &mut self.probed.batch.arena);
        }
        last
    }

    fn pick_pairs(&mut self, out: &mut Batch) {
        let probe_rows: Vec<u32> = self.pairs.iter().map(|pair| pair.0).collect();
        let Some(sides) = &self.sides else { return };
        let wanted = sides.1.wanted.clone();
        out.len = probe_rows.len();
        self.pick_wanted(&wanted, &probe_rows, out);
        let build_rows: Vec<u32> = self.pairs.iter().map(|pair| pair.1).collect();
        self.add_build(&build_rows, out);
    }

    fn pick_probe(&mut self, rows: &[u32], out: &mut Batch) {
        let Some(sides) = &self.sides else { return };
        let wanted = sides.1.wanted.clone();
        out.len = rows.len();
        self.pick_wanted(&wanted, rows, out);
    }

    fn pick_wanted(&mut self, wanted: &[usize], rows: &[u32], out: &mut Batch) {
        if self.take_arena(out) {
            let whole = rows.len() == self.probed.batch.len && rows.iter().enumerate().all(|(n, r)| n == *r as usize);
            for slot in wanted {
                let column = &mut self.probed.batch.columns[*slot];
                out.columns.push(if whole { std::mem::take(column) } else { column.take(rows) });
            }
        } else {
            let batch = &self.probed.batch;
            let columns = wanted.iter().map(|slot| batch.columns[*slot].pick(rows, &batch.arena, &mut out.arena));
            out.columns.extend(columns);
        }
    }

    fn pick_build(&mut self, rows: &[u32], out: &mut Batch) {
        out.len = rows.len();
        self.add_build(rows, out);
    }

    fn add_build(&self, rows: &[u32], out: &mut Batch) {
        let Built { columns, arena, .. } = &self.built;
        let wanted = self.sides.as_ref().map_or(0, |sides| sides.0.wanted.len());
        out.columns.extend(columns[..wanted].iter().map(|column| column.pick(rows, arena, &mut out.arena)));
    }
}

impl JoinSide {
    /// A join side whose keys are columns: computed keys are added as columns.
    fn build(
        s: &Source,
        codes: Vec<(Code, bool)>,
        regs: &[Reg],
        wanted: &Wanted,
        input: BuildInput,
        b: &mut Builder<'_>,
    ) -> Result<Option<JoinSide>> {
        let regs = wanted.of(regs);
        let mut node = input(s, &wanted.and(codes.iter().map(|(code, _)| code)), b)?;
        let mut all = node.regs().to_vec();
        let several = codes.len() > 1;
        let (mut exprs, mut keys) = (Vec::new(), Vec::with_capacity(codes.len()));
        for (code, padded) in codes {
            match &code {
                Code::Reg(r) if all.contains(r) => keys.push((code, padded)),
                // After a NULL part, later parts must not be evaluated.
                _ if several => return Ok(None),
                _ => {
                    let Some(e) = Expression::new(code, &all) else { return Ok(None) };
                    let reg = b.reg();
                    exprs.push((e, reg));
                    keys.push((Code::Reg(reg), padded));
                }
            }
        }
        if !exprs.is_empty() {
            all.extend(exprs.iter().map(|(_, reg)| *reg));
            node = Box::new(Project { input: node, exprs, regs: all.clone(), failing: Failing::default() });
        }
        let Some(keys) = KeyColumns::new(&keys, &all) else { return Ok(None) };
        let place = |reg: &Reg| all.iter().position(|r| r == reg);
        let Some(wanted) = regs.iter().map(place).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let mut stored = wanted.clone();
        stored.extend(keys.slots.iter().filter(|slot| !wanted.contains(slot)));
        Ok(Some(JoinSide { node, keys, wanted, regs, stored }))
    }
}

impl Residual {
    fn build(conds: Vec<Cond>, probe: &JoinSide, build: &JoinSide) -> Option<Residual> {
        let pairs: Vec<Reg> = probe.regs.iter().chain(&build.regs).copied().collect();
        let all = Condition::all(conds.clone(), &pairs)?;
        let mut read: Vec<usize> = all.iter().flat_map(Condition::slots).collect();
        read.sort_unstable();
        read.dedup();
        let regs: Vec<Reg> = read.iter().map(|n| pairs[*n]).collect();
        let from_probe = probe.regs.len();
        let of_probe = read.iter().filter(|n| **n < from_probe).map(|n| probe.wanted[*n]).collect();
        let of_build = read.iter().filter(|n| **n >= from_probe).map(|n| n - from_probe).collect();
        Some(Residual { conds: Condition::all(conds, &regs)?, regs, probe: of_probe, build: of_build })
    }
}

impl Node for Join {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(rows) = &mut self.rows {
            return rows.open(m, cx);
        }
        self.failing.clear();
        (self.state, self.probe_open) = (State::Start, false);
        self.probed = Probed::default();
        self.forget_table(m);
        self.filters.iter().for_each(|filter| m.set_filter(filter.id, None));
        Ok(())
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(rows) = &mut self.rows {
            return rows.rewind(m, cx);
        }
        self.failing.clear();
        if self.built.is_unlinked {
            self.state = State::Start;
            self.forget_table(m);
        } else if self.state != State::Start {
            self.state = State::Built;
            self.built.marked.fill(false);
        }
        Ok(())
    }

    fn regs(&self) -> &[Reg] {
        &self.regs
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if let Some(rows) = &mut self.rows {
            return rows.next_batch(out, m, cx);
        }
        self.failing.raise()?;
        loop {
            out.clear();
            match self.state {
                State::Start => {
                    if !self.build_table(m, cx)? {
                        self.go_on_with_rows(m, cx)?;
                        return self.next_batch(out, m, cx);
                    }
                    self.state = State::Built;
                }
                State::Built => {
                    let needs_build = !self.how.keep_probe && self.how.on_match != OnMatch::DropProbe;
                    if self.built.rows == 0 && needs_build {
                        self.state = State::Done;
                        continue;
                    }
                    let (_, probe) = &mut **self.sides.as_mut().ok_or_else(unexplained)?;
                    if self.probe_open {
                        probe.node.rewind(m, cx)?;
                    } else {
                        probe.node.open(m, cx)?;
                        self.probe_open = true;
                    }
                    self.probed = Probed::default();
                    self.state = State::Probe;
                }
                State::Probe => {
                    if self.probed.row >= self.probed.batch.len && !self.next_probe(m, cx)? {
                        self.state = if self.how.keep_build { State::Unmatched(0) } else { State::Done };
                        continue;
                    }
                    let from = self.probed.row;
                    self.next_pairs();
                    self.give(from, out, m, cx)?;
                    if out.len > 0 {
                        return Ok(true);
                    }
                    self.failing.raise()?;
                    cx.check_cancel()?;
                }
                State::Unmatched(at) => {
                    let marked = &self.built.marked;
                    let rows = (at..self.built.rows).filter(|n| !marked[*n]).take(ROWS_MAX);
                    let rows: Vec<u32> = rows.map(|n| n as u32).collect();
                    let Some(last) = rows.last() else {
                        self.state = State::Done;
                        continue;
                    };
                    self.state = State::Unmatched(*last as usize + 1);
                    out.len = rows.len();
                    if self.how.on_match == OnMatch::Pair {
                        let (_, probe) = &**self.sides.as_ref().ok_or_else(unexplained)?;
                        out.columns.extend(probe.wanted.iter().map(|_| kernels::all_null(rows.len())));
                    }
                    self.add_build(&rows, out);
                    return Ok(true);
                }
                State::Done => return Ok(false),
            }
        }
    }
}
