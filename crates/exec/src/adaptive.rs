//! Cursors whose plans depend on values of binds: bind peeking and adaptive cursor sharing.
//!
//! A statement is parsed before its binds have values. A plan whose estimates depend on one of them is made again when
//! the first execution brings the values, in place of the first one. The cursor is *bind sensitive* then: the rows that
//! its scans find are counted, and told to the shared cursor by buckets. When executions differ too much, the next one
//! makes a child that is *bind aware*: such a child is executed with values whose selectivities lie in its ranges, and
//! other values look for another child, or make one (`library_cache::adaptive`).
//!
//! Cursors without such predicates have none of this.
//!
//! # Statistics feedback
//!
//! The first execution of a query that has been parsed hard is compared with what was expected of it, where estimates
//! are weak: joins without binds, whose scans have several conditions, or one of an expression. When a scan that was
//! read once and to its end found many more or fewer rows, the shared cursor goes out of use with the factors, and the
//! next one who parses the statement plans with them. Such a plan is not compared again.

use crate::ctx::ExecCtx;
use crate::machine::Count;
use crate::statistics::Place;
use library_cache::{CORRECTIONS_MAX, PREDICATES_MAX, Sharing, bucket_of};
use plan::{BindPredicate, Correction, Plan, PlanBody, Source};
use std::hash::{Hash, Hasher};
use types::Value;
use wait::Stat;

/// Executions that are told one by one; later on one in so many of those told before.
const TOLD_SINGLY: u64 = 8;
/// Most executions that are not told.
const UNTOLD_MOST: u64 = 1024;

/// The state of a cursor whose plan depends on values of binds.
pub(crate) struct Adaptive {
    predicates: Vec<BindPredicate>,
    /// The plan was made with values.
    pub is_peeked: bool,
    pub sharing: Sharing,
    /// Executions by bucket that the shared cursor has not been told of, and those that it has.
    untold: [u64; 3],
    told: u64,
    /// Logical reads of the session when the execution began; none outside of one.
    base: Option<u64>,
}

impl Adaptive {
    /// The part of a plan that is kept; none where binds do not matter to it.
    pub fn of(plan: &Plan, sharing: Sharing) -> Option<Box<Adaptive>> {
        let depends = !plan.peeks.is_empty() && (!plan.is_peeked || sharing != Sharing::Plain);
        depends.then(|| {
            let predicates = plan.peeks.clone();
            Box::new(Adaptive { predicates, is_peeked: plan.is_peeked, sharing, untold: [0; 3], told: 0, base: None })
        })
    }

    /// The selectivities with these values. An execution asks for them: nothing is allocated.
    pub fn selectivities(&self, values: &[Value]) -> Selectivities {
        let mut all = Selectivities { values: [0.0; PREDICATES_MAX], count: self.predicates.len().min(PREDICATES_MAX) };
        all.values.iter_mut().zip(&self.predicates).for_each(|(to, p)| *to = selectivity(p, values));
        all
    }

    /// An execution begins.
    pub fn begin(&mut self, cx: &ExecCtx<'_>) {
        self.base = Some(cx.p.stats().get(Stat::SessionLogicalReads));
    }

    /// An execution has ended that processed so many rows. Only the first end counts.
    pub fn end(&mut self, rows: u64, values: &[Value], place: &Place, cx: &ExecCtx<'_>) {
        let Some(base) = self.base.take().filter(|_| self.sharing != Sharing::Plain) else { return };
        let bucket = bucket_of(rows);
        // Of a cursor that is shared by all values the next session has to know that executions differ. An aware one
        // has been judged: its figures are for views.
        let is_sensitive = self.sharing == Sharing::Sensitive;
        let is_other = is_sensitive && self.untold.iter().enumerate().any(|(at, n)| at != bucket && *n > 0);
        self.untold[bucket] += 1;
        let untold: u64 = self.untold.iter().sum();
        if is_other || untold >= (self.told / TOLD_SINGLY).clamp(1, UNTOLD_MOST) {
            let gets = cx.p.stats().get(Stat::SessionLogicalReads).saturating_sub(base);
            place.note_executions(std::mem::take(&mut self.untold), (number_of(values), rows, gets), cx);
            self.told += untold;
        }
    }
}

/// The selectivities of the predicates of a cursor: a plan that has more of them is shared by all values.
pub(crate) struct Selectivities {
    values: [f64; PREDICATES_MAX],
    count: usize,
}

impl AsRef<[f64]> for Selectivities {
    fn as_ref(&self) -> &[f64] {
        &self.values[..self.count]
    }
}

fn selectivity(predicate: &BindPredicate, values: &[Value]) -> f64 {
    // A NaN lies in no range, not even in that of the child that is made for it.
    values.get(predicate.bind).map_or(0.0, |value| predicate.share(value).max(0.0))
}

/// A number for values of binds.
pub(crate) fn number_of(values: &[Value]) -> u64 {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| crate::hash::push_part(value, &mut bytes));
    let mut hasher = std::hash::DefaultHasher::new();
    bytes.hash(&mut hasher);
    // 32 bits, as the columns of views have them.
    hasher.finish() & 0xffff_ffff
}

/// How a plan's cursor is shared, with the selectivities and the texts of its predicates.
pub(crate) struct Shape {
    pub sharing: Sharing,
    pub selectivities: Vec<f64>,
    pub labels: String,
}

impl Shape {
    /// `aware`: the values have asked for a child of their own.
    pub fn of(plan: &Plan, values: Option<&[Value]>, aware: bool, cx: &ExecCtx<'_>) -> Shape {
        let none = Shape { sharing: Sharing::Plain, selectivities: Vec::new(), labels: String::new() };
        let Some(values) = values.filter(|_| plan.is_peeked && !plan.peeks.is_empty()) else { return none };
        let is_off = !cx.session.options.adaptive_sharing || plan.bind_aware == Some(false);
        if is_off || plan.peeks.len() > PREDICATES_MAX {
            return none;
        }
        let sharing = if aware || plan.bind_aware == Some(true) { Sharing::Aware } else { Sharing::Sensitive };
        let labels: Vec<String> = plan.peeks.iter().map(|p| p.label(&plan.binds)).collect();
        let selectivities = plan.peeks.iter().map(|p| selectivity(p, values)).collect();
        Shape { sharing, selectivities, labels: labels.join("\n") }
    }
}

/// The expected rows of a scan whose rows are counted.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// [`plan::Scan::number`].
    number: u64,
    rows: f64,
    /// The estimate is weak.
    is_guess: bool,
}

impl Expected {
    pub fn of(scan: &plan::Scan) -> Expected {
        Expected {
            number: plan::scan_number(&scan.alias, scan.table.object),
            rows: scan.rows,
            is_guess: scan.is_guess(),
        }
    }
}

/// Rows that a scan may find more or fewer, as a factor.
const FACTOR: f64 = 5.0;
/// Rows too few to matter.
const ROWS_MIN: f64 = 50.0;

/// Whether the first execution of a plan is compared with what was expected.
pub(crate) fn is_monitored(plan: &Plan, cx: &ExecCtx<'_>) -> bool {
    let PlanBody::Query(query) = &plan.body else { return false };
    let is_open = plan.binds.is_empty() && !plan.notes.contains(&plan::Note::StatisticsFeedback);
    if !cx.session.options.feedback || !is_open || plan.locks_rows {
        return false;
    }
    let (mut scans, mut guesses) = (0, 0);
    query.source.walk(&mut |source| {
        if let Source::Scan(scan) = source {
            scans += 1;
            guesses += usize::from(scan.is_guess());
        }
    });
    scans > 1 && guesses > 0
}

/// The factors of scans that found other numbers of rows than expected.
pub(crate) fn corrections(expected: &[Expected], counts: &[Count]) -> Vec<Correction> {
    let is_alone = |e: &Expected| expected.iter().filter(|other| other.number == e.number).count() == 1;
    let of = |(e, count): (&Expected, &Count)| {
        let (found, rows) = (count.rows as f64, e.rows.max(1.0));
        let differs =
            found.max(rows) >= ROWS_MIN && (found.max(1.0) / rows >= FACTOR || rows / found.max(1.0) >= FACTOR);
        let is_known = e.is_guess && count.starts == 1 && count.ends > 0 && is_alone(e);
        (is_known && differs).then(|| Correction { scan: e.number, factor: found.max(1.0) / rows })
    };
    expected.iter().zip(counts).filter_map(of).take(CORRECTIONS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scans_that_were_read_to_their_end_and_found_much_else_are_corrected() {
        let expected = |number, rows, is_guess| Expected { number, rows, is_guess };
        let count = |rows, starts, ends| Count { rows, starts, ends };
        let all = [
            (expected(1, 10.0, true), count(1000, 1, 1)),
            (expected(2, 10.0, false), count(1000, 1, 1)),
            (expected(3, 10.0, true), count(1000, 1, 0)),
            (expected(4, 10.0, true), count(1000, 7, 7)),
            (expected(5, 1000.0, true), count(0, 1, 1)),
            (expected(6, 10.0, true), count(49, 1, 1)),
            (expected(7, 30.0, true), count(100, 1, 1)),
            (expected(8, 10.0, true), count(1000, 1, 1)),
            (expected(8, 10.0, true), count(1000, 1, 1)),
        ];
        let (expected, counts): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let found = corrections(&expected, &counts);
        let found: Vec<(u64, f64)> = found.iter().map(|c| (c.scan, c.factor)).collect();
        assert_eq!(found, [(1, 100.0), (5, 0.001)]);
    }
}
