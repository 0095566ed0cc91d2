//! The printed costs of a finished plan, row source by row source (P25).
//!
//! A plan keeps the planner's estimate of the rows of each row source, and the cost of each scan. Everything else
//! follows from these by the formulas of [`super::cost`], which the planner chose the plan by. The artificial weights
//! of hints are contained in neither.

use super::cost;
use crate::ir::*;

/// Computes the cost of a row source with everything below it. Calls `note` for each row source below and for this one.
pub fn costs<'p>(source: &'p Source, note: &mut dyn FnMut(&'p Source, Cost)) -> Cost {
    let cost = match source {
        Source::Dual | Source::Empty => Cost::default(),
        Source::Scan(scan) => scan.cost,
        Source::Fixed { scanned, .. } => Cost::of_cpu(scanned * cost::PER_ROW),
        Source::Cte { .. } => Cost::of_cpu(rows(source) * cost::PER_ROW),
        Source::Elements { .. } => Cost::of_cpu(cost::ELEMENTS),
        Source::Filter { input, conds, .. } => {
            let below = costs(input, note);
            below + Cost::of_cpu(cost::filter(rows(input), conds.len()))
        }
        Source::Startup { input, .. }
        | Source::JoinFilter { input, .. }
        | Source::Count { input, .. }
        | Source::Limit { input, .. } => costs(input, note),
        Source::Parallel { input, degree, .. } => {
            // Like Oracle, assumes nine tenths of the ideal speedup.
            let share = 1.0 / (f64::from(*degree) * 0.9).max(1.0);
            costs(input, &mut |below, cost| note(below, cost.times(share))).times(share)
        }
        Source::Project { input, .. } => costs(input, note) + Cost::of_cpu(rows(input) * cost::PER_ROW),
        Source::Buffer { input, .. } => costs(input, note) + Cost::of_cpu(cost::buffered(0.0, rows(input))),
        Source::Sort { input, keys, regs, .. } => {
            costs(input, note) + Cost::of_cpu(cost::sort(rows(input), regs.len() + keys.len()))
        }
        Source::Distinct { input, .. } => costs(input, note) + Cost::of_cpu(rows(input) * cost::PER_HASHED),
        Source::Group { input, sets, aggs, .. } => {
            costs(input, note) + Cost::of_cpu(cost::group(rows(input), sets.len(), aggs.len()))
        }
        Source::Window { input, funcs, regs, .. } => {
            costs(input, note) + Cost::of_cpu(cost::sort(rows(input), regs.len()) * funcs.len() as f64)
        }
        Source::ForUpdate { input, .. } => costs(input, note) + Cost::new(rows(input), rows(input)),
        Source::Set { kind, inputs, .. } => {
            let (mut below, mut all) = (Cost::default(), 0.0);
            for (input, _) in inputs {
                below = below + costs(input, note);
                all += rows(input);
            }
            below + Cost::of_cpu(cost::set(*kind, all))
        }
        Source::ConnectBy(c) => {
            let (start, child) = (costs(&c.start, note), costs(&c.child, note));
            match c.memory.as_ref().map(|memory| &memory.children) {
                Some(ConnectChildren::Probe(below) | ConnectChildren::Rows { base: below, .. }) => {
                    costs(below, note);
                }
                None => {}
            }
            start + child.times(2.0) + Cost::of_cpu(rows(source) * cost::PER_HASHED)
        }
        Source::HashJoin { left, right, build, .. } => {
            let below = costs(left, note) + costs(right, note);
            let (built, probing) = match build {
                Side::Left => (rows(left), rows(right)),
                Side::Right => (rows(right), rows(left)),
            };
            below + Cost::of_cpu(cost::hash_join(built, probing, rows(source)))
        }
        Source::MergeJoin { left, right, .. } => {
            sorted(left, note) + sorted(right, note) + Cost::of_cpu(rows(source) * cost::PER_ROW)
        }
        Source::NestedLoops { left, right, .. } => {
            let outer = costs(left, note);
            let inner = costs(right, note);
            outer + repeated(rows(left), right, inner)
        }
    };
    note(source, cost);
    cost
}

/// A side of a merge join. A sort for the join is costed as a sort of keys alone.
fn sorted<'p>(side: &'p Source, note: &mut dyn FnMut(&'p Source, Cost)) -> Cost {
    let Source::Sort { input, .. } = side else { return costs(side, note) };
    let cost = costs(input, note) + Cost::of_cpu(cost::sort(rows(input), 1));
    note(side, cost);
    cost
}

/// The right side of nested loops over `left` rows. `inner`: the cost of one start.
fn repeated(left: f64, right: &Source, inner: Cost) -> Cost {
    let buffer = match right {
        Source::Filter { input, .. } => input,
        other => other,
    };
    match (right, buffer) {
        // The rows are read once and then replayed.
        (_, Source::Buffer { rows, .. }) => {
            inner + Cost::of_cpu(cost::buffered(left, *rows) - cost::buffered(0.0, *rows))
        }
        (Source::Scan(_), _) => cost::probe(left, inner),
        _ => cost::again(left, inner, rows(right)),
    }
}

fn rows(source: &Source) -> f64 {
    source.rows().unwrap_or(1.0)
}
