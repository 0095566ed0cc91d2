//! Row sources with their estimates.

use super::cost;
use crate::ir::*;
use crate::logical::{JoinSet, Rel};
use types::Result;

/// A row source with its estimates.
pub struct Planned {
    pub source: Source,
    pub rows: f64,
    /// In single-block reads; see [`cost`].
    pub cost: f64,
}

impl Planned {
    /// Stores the estimated rows in the row source.
    pub fn new(mut source: Source, rows: f64, cost: f64) -> Planned {
        source.set_rows(rows);
        Planned { source, rows, cost }
    }
}

/// Plans a tree inside a part of a join: a view, or a nested join. Trees have joins in them and joins have trees; this
/// is the only way from a part back to the planner of trees, which implements it.
pub trait PlanTree {
    /// Plans an operator and everything below it.
    fn plan_tree(&mut self, rel: &Rel) -> Result<Planned>;
    /// Plans a nested join, with additional conditions.
    fn plan_nested(&mut self, set: &JoinSet, more: &[Expr]) -> Result<Planned>;
}

/// Adds conditions to a row source; a scan takes them into its filter.
pub fn filter(source: Source, mut conds: Vec<Expr>) -> Source {
    if conds.is_empty() {
        return source;
    }
    match source {
        Source::Scan(mut s) => {
            s.cost = s.cost + Cost::of_cpu(cost::filter(s.rows, conds.len()));
            s.filter.append(&mut conds);
            Source::Scan(s)
        }
        Source::Fixed { name, alias, handle, columns, filter: mut f, scanned, rows } => {
            f.append(&mut conds);
            Source::Fixed { name, alias, handle, columns, filter: f, scanned, rows }
        }
        Source::Filter { input, conds: mut inner, rows } => {
            inner.append(&mut conds);
            Source::Filter { input, conds: inner, rows }
        }
        other => Source::Filter { rows: other.rows().unwrap_or(UNKNOWN_ROWS), input: Box::new(other), conds },
    }
}

/// The registers of a row source's row that its readers may use.
pub fn produced(source: &Source) -> Vec<Reg> {
    let mut regs = Vec::new();
    collect(source, &mut regs);
    regs.sort_unstable();
    regs.dedup();
    regs
}

fn collect(source: &Source, into: &mut Vec<Reg>) {
    match source {
        Source::Dual | Source::Empty => {}
        Source::Scan(s) => {
            into.extend(s.columns.iter().map(|(_, r)| *r));
            into.extend(s.rowid);
            into.extend(s.pseudos.iter().map(|(_, r)| *r));
        }
        Source::Fixed { columns, .. } => into.extend(columns.iter().map(|(_, r)| *r)),
        Source::Filter { input, .. } | Source::Startup { input, .. } | Source::JoinFilter { input, .. } => {
            collect(input, into)
        }
        Source::Sort { regs, .. } | Source::Buffer { regs, .. } | Source::Parallel { regs, .. } => into.extend(regs),
        Source::Cte { columns, .. } => into.extend(columns.iter().map(|(_, r)| *r)),
        Source::Window { funcs, regs, .. } => {
            into.extend(regs);
            into.extend(funcs.iter().map(|f| f.agg.out));
        }
        Source::Project { input, exprs, .. } => {
            collect(input, into);
            into.extend(exprs.iter().map(|(_, r)| *r));
        }
        Source::NestedLoops { left, right, kind, .. }
        | Source::HashJoin { left, right, kind, .. }
        | Source::MergeJoin { left, right, kind, .. } => {
            collect(left, into);
            if kind.keeps_right() {
                collect(right, into);
            }
        }
        Source::Count { input, reg, .. } => {
            collect(input, into);
            into.extend(*reg);
        }
        Source::Distinct { regs, .. } => into.extend(regs),
        Source::Group { keys, aggs, .. } => {
            into.extend(keys.iter().map(|(_, r)| *r));
            into.extend(aggs.iter().map(|a| a.out));
        }
        Source::Set { out, .. } => into.extend(out),
        Source::ConnectBy(c) => {
            into.extend(&c.row);
            into.extend(c.prior.iter().map(|(_, p)| *p));
            into.push(c.level);
            into.extend(c.is_leaf);
            into.extend(c.is_cycle);
            into.extend(c.roots.iter().map(|(_, r)| *r));
            into.extend(c.paths.iter().map(|(_, _, r)| *r));
        }
        Source::Limit { input, .. } | Source::ForUpdate { input, .. } => collect(input, into),
        Source::Elements { columns, .. } => into.extend(columns.iter().map(|(_, r)| *r)),
    }
}
