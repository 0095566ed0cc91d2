//! Statistics feedback.
//!
//! Estimates are weak for joins without binds whose scans have several conditions, or a condition on an expression. The
//! first execution of such a query after a hard parse is compared with the estimates. When a scan that was read once
//! and to its end found many more or fewer rows, the shared cursor is retired together with the correction factors, and
//! the next parse of the statement plans with them. That plan is not compared again (E19).

use crate::ctx::ExecCtx;
use crate::machine::Count;
use library_cache::CORRECTIONS_MAX;
use plan::{Correction, Plan, PlanBody, Source};

/// The expected rows of a scan whose rows are counted.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// [`plan::Scan::number`].
    number: u64,
    rows: f64,
    /// Whether the estimate is weak.
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

/// Factor by which the rows of a scan may differ from the estimate.
const FACTOR: f64 = 5.0;
/// Below this number of rows a difference does not matter.
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
    fn only_complete_scans_far_from_their_estimate_are_corrected() {
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
