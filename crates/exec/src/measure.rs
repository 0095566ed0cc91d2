//! Figures of the operations of a plan (E30), counted on request: the hint GATHER_PLAN_STATISTICS, or `statistics_level
//! = ALL`.
//!
//! In a counting cursor each row source is wrapped in a counting one ([`Counted`], [`CountedNode`]); other cursors are
//! built without wrappers and pay nothing. A wrapper reads the process's own statistics and the clock before and after
//! each call, so the figures of an operation include those of the operations below it, as in Oracle. They are added up
//! in the cursor's [`Machine`] and go to the library cache when the execution ends, with or without an error.
//!
//! Work areas note their figures as they are counted (`work_area`): after a call, the notes present belong to the
//! operation called, since the operations below have already taken theirs. An index scan notes in the same way which
//! part of its work was reading the table.

use crate::batch::{Batch, Node};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::source::Op;
use crate::work_area::Way;
use library_cache::{AreaCounts, LineCounts};
use plan::Reg;
use plan::Source;
use plan::rows::Lines;
use process::Process;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use types::Result;
use types::image::Image;
use wait::Stat;

/// The figures of an execution, by operation.
#[derive(Debug, Default)]
pub struct Run {
    pub lines: Vec<(LineCounts, AreaCounts)>,
    /// Number of operations above the topmost row source: the statement itself and its use of the rows.
    above: usize,
    pub plan_hash: u32,
    /// Whether figures are not yet in the library cache.
    pub is_new: bool,
}

/// The operations of a plan while its row sources are built.
pub struct Counting {
    operations: Operations,
    pub run: Run,
}

enum Operations {
    OfPlan(Lines),
    /// By the address of the row source, as in [`Lines`].
    OfPart(HashMap<*const Source, Place>),
}

/// The operations of a part of a plan that other processes run, in the order of a walk over its row sources.
#[derive(Clone, Debug, Image)]
pub struct Part {
    places: Vec<Option<Place>>,
    /// Number of operations of the whole plan.
    lines: usize,
}

impl Counting {
    pub fn of(plan: &plan::Plan) -> Counting {
        let lines = plan.lines();
        let run = Run {
            lines: vec![Default::default(); lines.count()],
            above: lines.above(),
            plan_hash: plan::rows::hash(&plan.rows()),
            is_new: false,
        };
        Counting { operations: Operations::OfPlan(lines), run }
    }

    /// The part of a plan made of these row sources.
    pub fn part<'s>(&self, sources: impl Iterator<Item = &'s Source>) -> Part {
        let mut places = Vec::new();
        sources.for_each(|source| source.walk(&mut |source| places.push(self.of_source(source))));
        Part { places, lines: self.run.lines.len() }
    }

    /// The counterpart of [`Counting::part`] in another process: the same row sources in the same order.
    pub fn of_part<'s>(part: &Part, sources: impl Iterator<Item = &'s Source>) -> Counting {
        let (mut all, mut at) = (HashMap::new(), part.places.iter());
        let mut note = |source: &Source| {
            if let Some(Some(place)) = at.next()
                && place.is_below(part.lines)
            {
                all.insert(std::ptr::from_ref(source), *place);
            }
        };
        sources.for_each(|source| source.walk(&mut |source| note(source)));
        let run = Run { lines: vec![Default::default(); part.lines], ..Run::default() };
        Counting { operations: Operations::OfPart(all), run }
    }

    /// The operation of a row source, and the operation of its index if it reads a table by one.
    pub fn of_source(&self, source: &plan::Source) -> Option<Place> {
        let lines = match &self.operations {
            Operations::OfPlan(lines) => lines,
            Operations::OfPart(places) => return places.get(&std::ptr::from_ref(source)).copied(),
        };
        let line = lines.of(source)? as usize;
        let entries = matches!(source, plan::Source::Scan(scan) if scan.has_entries_below()).then_some(line + 1);
        let (over, loads) = lines.over(line as u32);
        Some(Place { line, over: over as usize, loads, entries })
    }
}

/// The operations that one row source stands for.
#[derive(Clone, Copy, Debug, Image)]
pub struct Place {
    line: usize,
    /// Number of operations directly above that do no work of their own and share the figures. With `loads` the topmost
    /// one returns no rows.
    over: usize,
    loads: bool,
    /// The operation of the index, if the scan reads a table by one.
    entries: Option<usize>,
}

impl Place {
    fn is_below(&self, lines: usize) -> bool {
        self.line < lines && self.over <= self.line && self.entries.is_none_or(|entries| entries < lines)
    }
}

/// The work of a process up to now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    consistent_gets: u64,
    current_gets: u64,
    reads: u64,
    writes: u64,
    ns: u64,
}

impl Reading {
    fn of(p: &Process) -> Reading {
        let line = p.stats();
        Reading {
            consistent_gets: line.get(Stat::ConsistentGets),
            current_gets: line.get(Stat::DbBlockGets),
            reads: line.get(Stat::PhysicalReads),
            writes: line.get(Stat::PhysicalWrites),
            ns: os::clock::now_ns(),
        }
    }

    fn since(self, before: Reading) -> Reading {
        Reading {
            consistent_gets: self.consistent_gets.saturating_sub(before.consistent_gets),
            current_gets: self.current_gets.saturating_sub(before.current_gets),
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
            ns: self.ns.saturating_sub(before.ns),
        }
    }

    fn plus(self, other: Reading) -> Reading {
        Reading {
            consistent_gets: self.consistent_gets + other.consistent_gets,
            current_gets: self.current_gets + other.current_gets,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            ns: self.ns + other.ns,
        }
    }

    /// Adds the work to the counts; time stays in nanoseconds until the execution ends.
    fn add_to(self, counts: &mut LineCounts) {
        counts.consistent_gets += self.consistent_gets;
        counts.current_gets += self.current_gets;
        counts.reads += self.reads;
        counts.writes += self.writes;
        counts.elapsed_us += self.ns;
    }
}

/// Figures of the work areas and scans of the running operation.
#[derive(Debug, Default)]
pub struct Noted {
    is_on: Cell<bool>,
    areas: RefCell<Vec<AreaCounts>>,
    /// Work of reading table rows by rowid.
    by_rowid: Cell<Reading>,
    /// IN-list values searched in an index after the first one.
    more_values: Cell<u64>,
}

impl Noted {
    /// Whether a counted operation is running.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// Switches counting on or off and returns the earlier state.
    pub fn switch(&self, on: bool) -> bool {
        self.is_on.replace(on)
    }

    /// Notes that a scan continues with the next value of an IN list: INLIST ITERATOR restarts the operation below it.
    pub fn next_value(&self) {
        if self.is_on() {
            self.more_values.set(self.more_values.get() + 1);
        }
    }

    /// Notes a work area: the memory it needed, and how many passes through temporary space its rows made with this
    /// limit in bytes.
    #[cold]
    pub fn area(&self, need: u64, passes: u32, way: Way, written: u64, limit: u64) {
        let temporary = if passes > 0 { written } else { 0 };
        self.areas.borrow_mut().push(AreaCounts {
            optimal_bytes: need,
            onepass_bytes: way.onepass(need),
            last_bytes: if passes > 0 { need.min(limit) } else { need },
            last_passes: passes.into(),
            last_temporary_bytes: temporary,
            most_temporary_bytes: temporary,
            optimal: u64::from(passes == 0),
            onepass: u64::from(passes == 1),
            multipass: u64::from(passes > 1),
        });
    }
}

/// Calls `read` and counts its work as reading a table by rowid.
#[inline]
pub fn by_rowid<'x, R>(cx: &mut ExecCtx<'x>, read: impl FnOnce(&mut ExecCtx<'x>) -> R) -> R {
    if !cx.session.noted.is_on() {
        return read(cx);
    }
    noted_by_rowid(cx, read)
}

#[cold]
fn noted_by_rowid<'x, R>(cx: &mut ExecCtx<'x>, read: impl FnOnce(&mut ExecCtx<'x>) -> R) -> R {
    let before = Reading::of(cx.p);
    let result = read(cx);
    let noted = &cx.session.noted.by_rowid;
    noted.set(noted.get().plus(Reading::of(cx.p).since(before)));
    result
}

/// Calls `f` for an operation and adds the work to its figures.
fn counted<T, R>(
    place: Place,
    inner: &mut T,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
    f: impl FnOnce(&mut T, &mut Machine, &mut ExecCtx<'_>) -> R,
) -> R {
    let was_on = cx.session.noted.switch(true);
    let outside = cx.session.noted.by_rowid.take();
    let values_outside = cx.session.noted.more_values.take();
    // These belong to the calling operation: a hash join has built its table before it asks for the other side.
    let areas_outside = cx.session.noted.areas.take();
    let before = Reading::of(cx.p);
    let result = f(inner, m, cx);
    let done = Reading::of(cx.p).since(before);
    let noted = &cx.session.noted;
    noted.switch(was_on);
    let of_table = noted.by_rowid.replace(outside);
    let more_values = noted.more_values.replace(values_outside);
    let areas = noted.areas.replace(areas_outside);
    if let Some(run) = &mut m.run {
        run.is_new = true;
        run.lines[place.line - place.over..place.line].iter_mut().for_each(|(counts, _)| done.add_to(counts));
        let (counts, area) = &mut run.lines[place.line];
        done.add_to(counts);
        counts.starts += more_values;
        areas.iter().for_each(|noted| area.add(noted));
        if let Some(entries) = place.entries {
            let counts = &mut run.lines[entries].0;
            done.since(of_table).add_to(counts);
            counts.starts += more_values;
        }
    }
    result
}

impl Run {
    /// Counts a start of an operation, and of the index it uses.
    fn start(&mut self, place: Place) {
        self.lines[place.line - place.over..=place.line].iter_mut().for_each(|(counts, _)| counts.starts += 1);
        if let Some(entries) = place.entries {
            self.lines[entries].0.starts += 1;
        }
    }

    /// Counts rows of an operation, and the rows that its index led to.
    fn give(&mut self, place: Place, rows: u64, left_out: u64) {
        let from = place.line - place.over + usize::from(place.loads);
        self.lines[from..=place.line].iter_mut().for_each(|(counts, _)| counts.rows += rows);
        if let Some(entries) = place.entries {
            self.lines[entries].0.rows += rows + left_out;
        }
    }

    /// The figures of the operations that did any work, for another process: see [`Run::add`].
    pub fn counted(&self) -> Vec<(usize, LineCounts, AreaCounts)> {
        let all = self.lines.iter().enumerate().map(|(n, (counts, area))| (n, *counts, *area));
        all.filter(|(_, counts, area)| (*counts, *area) != Default::default()).collect()
    }

    /// Adds figures that another process has counted.
    pub fn add(&mut self, counted: &[(usize, LineCounts, AreaCounts)]) {
        for (n, counts, area) in counted {
            if let Some((own, own_area)) = self.lines.get_mut(*n) {
                own.add(counts);
                own_area.add(area);
                self.is_new = true;
            }
        }
    }

    /// Returns the figures of an execution that ends, with its total of rows, and resets them.
    pub fn finish(&mut self, rows: u64) -> &[(LineCounts, AreaCounts)] {
        for (n, (counts, _)) in self.lines.iter_mut().enumerate() {
            counts.elapsed_us /= 1000;
            if n < self.above {
                (counts.starts, counts.rows) = (1, rows);
            }
        }
        &self.lines
    }

    pub fn clear(&mut self) {
        self.lines.fill(Default::default());
        self.is_new = false;
    }
}

/// Begins measuring a call of a counted statement.
pub fn begin(cx: &ExecCtx<'_>) -> Reading {
    Reading::of(cx.p)
}

/// Ends the measurement and adds the work to the statement's figures.
pub fn end(before: Reading, m: &mut Machine, cx: &ExecCtx<'_>) {
    if let Some(run) = &mut m.run {
        let done = Reading::of(cx.p).since(before);
        run.is_new = true;
        let above = run.above;
        run.lines[..above].iter_mut().for_each(|(counts, _)| done.add_to(counts));
    }
}

/// A counted row source.
pub struct Counted {
    op: Op,
    place: Place,
}

impl Counted {
    pub fn new(op: Op, place: Place) -> Counted {
        Counted { op, place }
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.start(m);
        counted(self.place, &mut self.op, m, cx, |op, m, cx| op.open(m, cx))
    }

    pub fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.start(m);
        counted(self.place, &mut self.op, m, cx, |op, m, cx| op.rewind(m, cx))
    }

    fn start(&self, m: &mut Machine) {
        if let Some(run) = &mut m.run {
            run.start(self.place);
        }
    }

    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.call(m, cx, |op, m, cx| op.next(m, cx).map(u64::from)).map(|rows| rows > 0)
    }

    pub fn pass(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
        self.call(m, cx, |op, m, cx| op.pass(m, cx))
    }

    fn call(
        &mut self,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
        f: impl FnOnce(&mut Op, &mut Machine, &mut ExecCtx<'_>) -> Result<u64>,
    ) -> Result<u64> {
        let before = self.op.left_out();
        let rows = counted(self.place, &mut self.op, m, cx, f);
        if let Some(run) = &mut m.run {
            let given = rows.as_ref().map_or(0, |rows| *rows);
            run.give(self.place, given, self.op.left_out() - before);
        }
        rows
    }

    pub fn kept_bytes(&self) -> &[u8] {
        self.op.kept_bytes()
    }
}

/// A counted batch node.
pub struct CountedNode {
    node: Box<dyn Node>,
    place: Place,
}

impl CountedNode {
    pub fn new(node: Box<dyn Node>, place: Place) -> CountedNode {
        CountedNode { node, place }
    }
}

impl Node for CountedNode {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(run) = &mut m.run {
            run.start(self.place);
        }
        counted(self.place, &mut self.node, m, cx, |node, m, cx| node.open(m, cx))
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(run) = &mut m.run {
            run.start(self.place);
        }
        counted(self.place, &mut self.node, m, cx, |node, m, cx| node.rewind(m, cx))
    }

    fn regs(&self) -> &[Reg] {
        self.node.regs()
    }

    fn left_out(&self) -> u64 {
        self.node.left_out()
    }

    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let before = self.node.left_out();
        let found = counted(self.place, &mut self.node, m, cx, |node, m, cx| node.next_batch(out, m, cx));
        if let Some(run) = &mut m.run {
            let rows = if matches!(found, Ok(true)) { out.len as u64 } else { 0 };
            run.give(self.place, rows, self.node.left_out() - before);
        }
        found
    }
}
