//! The physical planner: row sources for a logical tree, by cost.
//!
//! Operators above joins become row sources directly; `join` orders joins, `access` chooses access paths, and `order`
//! uses the order of indexes in the finished tree. Planning only reads a tree, so parts used several times (CONNECT BY)
//! can be planned for each use.

mod access;
pub mod cost;
pub mod degree;
pub mod figures;
mod index_join;
mod join;
mod order;
pub mod parallel;
mod planned;
pub mod prune;
mod rows;
mod sampling;
pub mod state;

use planned::PlanTree;
pub use planned::{Planned, filter, produced};

use crate::ir::*;
use crate::logical::*;
use crate::scope::Compiler;
use types::{Ora, Result};

/// Levels of a recursive WITH query, for want of statistics.
const LEVELS: f64 = 3.0;

/// A statement's trees as row sources.
#[derive(Default)]
pub struct Physical {
    pub rows: Option<Source>,
    pub subs: Vec<SubPlan>,
    pub ctes: Vec<QueryPlan>,
}

impl Compiler<'_> {
    /// Plans all trees of the statement; WITH queries first, so that their sizes are known.
    ///
    /// # Errors
    /// ORA-03001 for a join of more than 128 row sources.
    pub fn physical(&mut self) -> Result<Physical> {
        self.sample_tables()?;
        self.learn_columns();
        let mut ctes = Vec::new();
        for at in 0..self.ctes.len() {
            let cte = &mut self.ctes[at];
            let rel = std::mem::replace(&mut cte.rel, Rel::Empty);
            let (out, columns) = (std::mem::take(&mut cte.out), std::mem::take(&mut cte.columns));
            let planned = self.finished(&rel)?;
            self.cte_rows.push(planned.rows);
            ctes.push(QueryPlan { source: planned.source, out, columns });
        }
        let mut subs = Vec::new();
        for at in 0..self.subs.len() {
            let rel = std::mem::replace(&mut self.subs[at].rel, Rel::Empty);
            let source = self.finished(&rel)?.source;
            let LogicalSub { rel: _, out, outer, steady, multiset } = &self.subs[at];
            let (out, outer, steady, multiset) = (out.clone(), outer.clone(), *steady, *multiset);
            subs.push(SubPlan { source, out, outer, steady, multiset });
        }
        let rows = match self.rows.take() {
            Some(rel) => Some(self.finished(&rel)?.source),
            None => None,
        };
        Ok(Physical { rows, subs, ctes })
    }

    fn finished(&mut self, rel: &Rel) -> Result<Planned> {
        let mut planned = self.plan_rel(rel)?;
        order::follow_indexes(&mut planned.source);
        calls_last(&mut planned.source);
        Ok(planned)
    }

    /// Plans an operator and everything below it.
    pub fn plan_rel(&mut self, rel: &Rel) -> Result<Planned> {
        if os::stack::is_short() {
            return Err(Ora::with(4030, &[&"64", &"kxs-heap-c", &"query nesting"]));
        }
        Ok(match rel {
            Rel::Empty => Planned::new(Source::Empty, 0.0, 0.0),
            Rel::Join(set) => self.plan_set(set)?,
            Rel::Filter { input, conds } => {
                let Planned { source, rows, cost } = self.plan_rel(input)?;
                let kept = self.kept(conds, rows);
                let cost = cost + cost::filter(rows, conds.len());
                Planned::new(filter(source, conds.clone()), kept, cost)
            }
            Rel::Project { input, exprs, view } => {
                let Planned { source, rows, cost } = self.plan_rel(input)?;
                let source =
                    Source::Project { input: Box::new(source), exprs: exprs.clone(), view: view.clone(), rows };
                Planned::new(source, rows, cost + rows * cost::PER_ROW)
            }
            Rel::Count { input, reg, conds } => {
                let Planned { source, rows, cost } = self.plan_rel(input)?;
                number_rows(source, *reg, conds.clone(), rows, cost)
            }
            Rel::Sort { input, keys } => {
                let Planned { source, rows, cost } = self.plan_rel(input)?;
                let regs = produced(&source);
                let cost = cost + cost::sort(rows, regs.len() + keys.len());
                let source = Source::Sort { input: Box::new(source), keys: keys.clone(), regs, top: None, rows };
                Planned::new(source, rows, cost)
            }
            Rel::Distinct { input, regs } => {
                let Planned { source, rows, cost } = self.plan_rel(input)?;
                let distinct = self.distinct_of(regs, rows);
                let source = Source::Distinct { input: Box::new(source), regs: regs.clone(), rows };
                Planned::new(source, distinct, cost + rows * cost::PER_HASHED)
            }
            Rel::Group { input, keys, sets, aggs, scalar } => {
                let Planned { source, rows, cost } = self.plan_rel(input)?;
                let groups = if *scalar { 1.0 } else { self.groups_of(keys, rows) * sets.len().max(1) as f64 };
                let cost = cost + cost::group(rows, sets.len(), aggs.len());
                let source = Source::Group {
                    input: Box::new(source),
                    keys: keys.clone(),
                    sets: sets.clone(),
                    aggs: aggs.clone(),
                    scalar: *scalar,
                    rows: groups,
                };
                if let [(e, key)] = &keys[..] {
                    self.set_distinct(*key, e.ty, groups);
                }
                Planned::new(source, groups, cost)
            }
            Rel::Window { input, funcs } => {
                let Planned { source, rows, cost } = self.plan_rel(input)?;
                let regs = produced(&source);
                let cost = cost + cost::sort(rows, regs.len()) * funcs.len() as f64;
                Planned::new(Source::Window { input: Box::new(source), funcs: funcs.clone(), regs, rows }, rows, cost)
            }
            Rel::Set { kind, inputs, out, recursion } => {
                self.plan_set_operation(*kind, inputs, out, recursion.clone())?
            }
            Rel::Connect(c) => self.plan_connect(c)?,
            Rel::Limit { input, offset, count, percent, ties } => {
                let Planned { source, rows, cost } = self.plan_rel(input)?;
                let limit = count.as_ref().filter(|_| !percent).map(constant);
                let rows = limit.map_or(rows, |n| n.unwrap_or(cost::UNKNOWN_LIMIT).min(rows));
                let source = match (source, count) {
                    // The sort keeps only this many rows.
                    (Source::Sort { input, keys, regs, top: None, rows: _ }, Some(count))
                        if offset.is_none() && !percent && ties.is_empty() =>
                    {
                        Source::Sort { input, keys, regs, top: Some((CmpOp::Le, count.clone())), rows }
                    }
                    (source, _) => source,
                };
                let source = Source::Limit {
                    input: Box::new(source),
                    offset: offset.clone(),
                    count: count.clone(),
                    percent: *percent,
                    ties: ties.clone(),
                    rows,
                };
                Planned::new(source, rows, cost)
            }
            Rel::ForUpdate { input, tables, wait } => {
                let Planned { source, rows, cost } = self.plan_rel(input)?;
                let source = Source::ForUpdate { input: Box::new(source), tables: tables.clone(), wait: *wait, rows };
                Planned::new(source, rows, cost + rows)
            }
        })
    }

    fn plan_set_operation(
        &mut self,
        kind: SetKind,
        inputs: &[(Rel, Vec<Expr>)],
        out: &[Reg],
        recursion: Option<Box<Recursion>>,
    ) -> Result<Planned> {
        let (mut sources, mut sizes, mut cost) = (Vec::new(), Vec::new(), 0.0);
        for (input, exprs) in inputs {
            let planned = self.plan_rel(input)?;
            cost += planned.cost;
            sizes.push(planned.rows);
            if let (Some(recursion), []) = (&recursion, &sources[..])
                && let Some(level) = self.cte_rows.get_mut(recursion.pump)
            {
                *level = planned.rows;
            }
            sources.push((planned.source, exprs.clone()));
        }
        let total: f64 = sizes.iter().sum();
        let rows = match kind {
            SetKind::UnionAll => total,
            SetKind::Recursive => total * LEVELS,
            SetKind::Union => total * 0.9,
            SetKind::Intersect => sizes.iter().copied().fold(f64::INFINITY, f64::min),
            SetKind::Minus => sizes.first().copied().unwrap_or(0.0),
        };
        cost += cost::set(kind, total);
        Ok(Planned::new(Source::Set { kind, inputs: sources, out: out.to_vec(), recursion, rows }, rows, cost))
    }

    fn plan_connect(&mut self, c: &ConnectRel) -> Result<Planned> {
        let start = self.plan_set(&c.start)?;
        let child = self.plan_set(&c.child)?;
        let memory = match is_dual(&start.source) && is_dual(&child.source) {
            true => None,
            false => Some(self.plan_connect_memory(&c.memory)?),
        };
        let rows = (start.rows * 10.0).max(child.rows);
        let cost = start.cost + child.cost * 2.0 + rows * cost::PER_HASHED;
        let source = Source::ConnectBy(Box::new(ConnectBy {
            start: start.source,
            child: child.source,
            row: c.row.clone(),
            prior: c.prior.clone(),
            level: c.level,
            rownum: c.rownum,
            is_leaf: c.is_leaf,
            is_cycle: c.is_cycle,
            nocycle: c.nocycle,
            roots: c.roots.clone(),
            paths: c.paths.clone(),
            siblings: c.siblings.clone(),
            generator: c.generator,
            cycle: c.cycle.clone(),
            prior_wanted: c.prior_wanted,
            level_decides: c.level_decides,
            memory,
            rows,
        }));
        Ok(Planned::new(source, rows, cost))
    }

    fn plan_connect_memory(&mut self, plan: &ConnectPlan) -> Result<ConnectMemory> {
        let (gate, keep, class) = (plan.gate.clone(), plan.keep, plan.class.clone());
        if let Some(probe) = &plan.probe {
            let probe = self.plan_set(probe)?.source;
            if probes(&probe) {
                return Ok(ConnectMemory { gate, children: ConnectChildren::Probe(probe), keep, class });
            }
        }
        let children = ConnectChildren::Rows {
            base: self.plan_set(&plan.base)?.source,
            row_keys: plan.row_keys.clone(),
            prior_keys: plan.prior_keys.clone(),
            conds: plan.conds.clone(),
            all_roots: plan.all_roots,
        };
        Ok(ConnectMemory { gate, children, keep, class })
    }
}

impl PlanTree for Compiler<'_> {
    fn plan_tree(&mut self, rel: &Rel) -> Result<Planned> {
        self.plan_rel(rel)
    }

    fn plan_nested(&mut self, set: &JoinSet, more: &[Expr]) -> Result<Planned> {
        self.plan_set_with(set, more)
    }
}

/// The value of a constant number.
fn constant(e: &Expr) -> Option<f64> {
    match &e.node {
        Node::Const(types::Value::Number(n)) => Some(n.to_f64()),
        _ => None,
    }
}

/// Numbers rows. `rownum <= n` ends the numbering; other conditions are checked on the numbered row.
fn number_rows(input: Source, reg: Reg, conds: Vec<Expr>, rows: f64, cost: f64) -> Planned {
    let mut stop = None;
    let mut rest = Vec::new();
    for c in conds {
        match stop_key(&c, reg) {
            Some(limit) if stop.is_none() => stop = Some(limit),
            _ => rest.push(c),
        }
    }
    let most = stop.as_ref().map_or(f64::INFINITY, |(_, e)| constant(e).unwrap_or(cost::UNKNOWN_LIMIT));
    let rows = rows.min(most);
    let input = match (input, &stop) {
        // SELECT … FROM (… ORDER BY …) WHERE ROWNUM <= n becomes a top-N sort.
        (Source::Sort { input, keys, regs, top: None, rows: _ }, Some(limit)) if rest.is_empty() => {
            Source::Sort { input, keys, regs, top: Some(limit.clone()), rows }
        }
        (Source::Project { input, exprs, view, rows: all }, Some(limit)) if rest.is_empty() => {
            let input = match *input {
                Source::Sort { input, keys, regs, top: None, rows: _ } => {
                    Box::new(Source::Sort { input, keys, regs, top: Some(limit.clone()), rows })
                }
                other => Box::new(other),
            };
            let rows = input.rows().unwrap_or(all).min(all);
            Source::Project { input, exprs, view, rows }
        }
        (input, _) => input,
    };
    let source = Source::Count { input: Box::new(input), reg: Some(reg), stop, conds: rest, rows };
    Planned::new(source, rows, cost)
}

/// The limit of `rownum < n`, `rownum <= n` and `rownum = 1`, if it does not depend on the row.
fn stop_key(c: &Expr, reg: Reg) -> Option<StopKey> {
    let Node::Cmp(op, _, a, b) = &c.node else { return None };
    let is_rownum = |e: &Expr| matches!(e.node, Node::Reg(r) if r == reg);
    let (op, limit) = if is_rownum(a) {
        (*op, b)
    } else if is_rownum(b) {
        (op.swap(), a)
    } else {
        return None;
    };
    if !matches!(limit.node, Node::Const(_) | Node::Bind(_))
        && !matches!(&limit.node, Node::Convert(e) if matches!(e.node, Node::Bind(_)))
    {
        return None;
    }
    matches!(op, CmpOp::Lt | CmpOp::Le | CmpOp::Eq).then(|| (op, (**limit).clone()))
}

/// Moves conditions that call stored functions behind the others: a call is expensive, and is not made for rows that
/// other conditions drop.
fn calls_last(source: &mut Source) {
    let conds = match source {
        Source::Scan(scan) => Some(&mut scan.filter),
        Source::Fixed { filter, .. } => Some(filter),
        Source::Filter { conds, .. } => Some(conds),
        Source::HashJoin { residual, .. } | Source::MergeJoin { residual, .. } => Some(residual),
        _ => None,
    };
    if let Some(conds) = conds {
        conds.sort_by_key(|cond| {
            let mut calls = false;
            cond.walk(&mut |e| calls |= matches!(e.node, Node::Call(..)));
            calls
        });
    }
    source.for_each_child_mut(&mut calls_last);
}

/// DUAL with conditions and nothing else.
pub fn is_dual(s: &Source) -> bool {
    match s {
        Source::Dual => true,
        Source::Filter { input, .. } | Source::Startup { input, .. } => is_dual(input),
        _ => false,
    }
}

/// Whether a row source finds its rows by an index, a hash or a rowid, so that a restart is cheap.
fn probes(s: &Source) -> bool {
    match s {
        Source::Scan(scan) => !matches!(scan.access, Access::Full),
        Source::Filter { input, .. } | Source::Startup { input, .. } | Source::Project { input, .. } => probes(input),
        Source::NestedLoops { left, right, .. } => probes(left) && probes(right),
        _ => false,
    }
}
