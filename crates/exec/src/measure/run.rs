//! The operations of a plan, and their figures in an execution.

use library_cache::{AreaCounts, LineCounts};
use plan::Source;
use plan::rows::Lines;
use std::collections::HashMap;
use types::image::Image;

/// The figures of an execution, by operation.
#[derive(Debug, Default)]
pub struct Run {
    pub lines: Vec<(LineCounts, AreaCounts)>,
    /// Number of operations above the topmost row source: the statement itself and its use of the rows.
    pub(super) above: usize,
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
    pub(super) line: usize,
    /// Number of operations directly above that do no work of their own and share the figures. With `loads` the topmost
    /// one returns no rows.
    pub(super) over: usize,
    pub(super) loads: bool,
    /// The operation of the index, if the scan reads a table by one.
    pub(super) entries: Option<usize>,
}

impl Place {
    fn is_below(&self, lines: usize) -> bool {
        self.line < lines && self.over <= self.line && self.entries.is_none_or(|entries| entries < lines)
    }
}

impl Run {
    /// Counts a start of an operation, and of the index it uses.
    pub fn start(&mut self, place: Place) {
        self.lines[place.line - place.over..=place.line].iter_mut().for_each(|(counts, _)| counts.starts += 1);
        if let Some(entries) = place.entries {
            self.lines[entries].0.starts += 1;
        }
    }

    /// Counts rows of an operation, and the rows that its index led to.
    pub fn give(&mut self, place: Place, rows: u64, left_out: u64) {
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
