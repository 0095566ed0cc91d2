//! Builds the row sources of a plan.

use super::basic::{Buffer, Count, Cte, Fixed, ForUpdate, Limit};
use super::connect::Connect;
use super::counted::Counted;
use super::elements::{Elements, JsonTable, XmlTable};
use super::group::Group;
use super::loops::Loops;
use super::op::Op;
use super::recursive::Recursive;
use super::scan::Scan;
use super::set::Set;
use super::sort::{Distinct, Sort};
use super::stop::Stop;
use super::use_filter::UseFilter;
use super::watched::Watched;
use super::window::Window;
use super::{hash_join, merge_join, sort_keys};
use crate::batch::{self, Rows, Wanted};
use crate::builder::Builder;
use crate::join::keys::Keys;
use crate::parallel::coordinator::{Coordinator, Part};
use plan::{ConnectChildren, ElementShape, JoinKind, Source};
use types::Result;

impl Op {
    /// Builds the row sources of a plan.
    pub fn build(s: &Source, b: &mut Builder<'_>) -> Result<Op> {
        let op = Op::build_uncounted(s, b)?;
        Ok(match b.counting.as_ref().and_then(|counting| counting.of_source(s)) {
            // Batch nodes are counted individually.
            Some(place) if !matches!(op, Op::Batch(_)) => Op::Counted(Box::new(Counted::new(op, place))),
            _ => op,
        })
    }

    fn build_uncounted(s: &Source, b: &mut Builder<'_>) -> Result<Op> {
        if (takes_all(s) || joins(s))
            && let Some(node) = batch::build(s, &Wanted::ALL, b)?
        {
            return Ok(Op::Batch(Box::new(Rows::new(node))));
        }
        Ok(match s {
            Source::Dual => Op::Dual { done: true },
            Source::Empty => Op::Empty,
            Source::Scan(scan) if b.watches => Op::Watched(Box::new(Watched::build(scan, b)?)),
            Source::Scan(scan) => Op::Scan(Box::new(Scan::build(scan, b)?)),
            Source::Fixed { handle, columns, filter, .. } => {
                Op::Fixed(Box::new(Fixed::new(*handle, columns.clone(), b.conds(filter))))
            }
            Source::Filter { input, conds, .. } => Op::Filter { input: Op::boxed(input, b)?, conds: b.conds(conds) },
            Source::Startup { input, conds, .. } => {
                Op::Startup { input: Op::boxed(input, b)?, conds: b.conds(conds), passed: false }
            }
            Source::Project { input, exprs, .. } => {
                let input = Op::boxed(input, b)?;
                if exprs.is_empty() {
                    return Ok(*input);
                }
                Op::Project { input, exprs: exprs.iter().map(|(e, r)| (b.code(e), *r)).collect() }
            }
            Source::NestedLoops { kind: JoinKind::Full, .. } => {
                return Err(types::Ora::internal("a full join by nested loops"));
            }
            Source::NestedLoops { left, right, kind, right_regs, lateral, .. } => Op::Loops(Box::new(Loops::new(
                Op::build_many(left, b)?,
                Op::build(right, b)?,
                *kind,
                right_regs.clone(),
                *lateral,
            ))),
            Source::HashJoin { left, right, kind, build, keys, residual, left_regs, right_regs, filters, .. } => {
                let filters = hash_join::Filter::build(filters, keys, *build, b);
                let (left_keys, right_keys) = Keys::build(keys, b);
                let left = hash_join::Input { op: Op::build_many(left, b)?, keys: left_keys, regs: left_regs.clone() };
                let right =
                    hash_join::Input { op: Op::build_many(right, b)?, keys: right_keys, regs: right_regs.clone() };
                Op::Hash(Box::new(hash_join::HashJoin::new(left, right, *kind, *build, b.conds(residual), filters)))
            }
            Source::MergeJoin { left, right, kind, keys, ranges, residual, left_regs: _, right_regs, .. } => {
                let (left, right) = (Op::build(left, b)?, Op::build(right, b)?);
                let residual = b.conds(residual);
                let ranges = ranges.iter().map(|r| merge_join::Range::new(r.op, b.code(&r.left), b.code(&r.right)));
                let ranges = ranges.collect();
                let join = merge_join::MergeJoin::new(left, right, *kind, keys, ranges, residual, right_regs, b)?;
                Op::Merge(Box::new(join))
            }
            Source::JoinFilter { input, id, keys, .. } => {
                let input = Op::build_many(input, b)?;
                let keys = Keys::plain(keys.iter().map(|key| (b.code(&key.value), key.padded)).collect());
                Op::UseFilter(Box::new(UseFilter::new(input, *id, keys)))
            }
            Source::Parallel { input, id, degree, regs, .. } => {
                let part = Part::of(input, regs, b)?;
                let serial = Op::build(input, b)?;
                match part {
                    Some(part) => Op::Parallel(Box::new(Coordinator::new(part, (*id, *degree, regs), serial, b))),
                    None => serial,
                }
            }
            Source::Buffer { input, regs, .. } => Op::Buffer(Box::new(Buffer::new(Op::build(input, b)?, regs.clone()))),
            Source::Cte { id, columns, .. } => Op::Cte(Box::new(Cte::new(*id, columns.clone()))),
            Source::Count { input, reg, stop, conds, .. } => {
                let input = Op::build(input, b)?;
                let stop = stop.as_ref().map(|k| Stop::build(k, b));
                Op::Count(Box::new(Count::new(input, *reg, stop, b.conds(conds))))
            }
            Source::Sort { input, keys, regs, top, .. } => {
                let input = Op::build(input, b)?;
                let top = top.as_ref().map(|k| Stop::build(k, b));
                Op::Sort(Box::new(Sort::new(input, sort_keys::Keys::build(keys, b), regs.clone(), top)))
            }
            Source::Distinct { input, regs, .. } => {
                Op::Distinct(Box::new(Distinct::new(Op::build(input, b)?, regs.clone())))
            }
            Source::Group { input, keys, sets, aggs, scalar, .. } => Op::Group(Box::new(Group::build(
                Op::build(input, b)?,
                plan::produced(input),
                keys,
                sets,
                aggs,
                *scalar,
                b,
            ))),
            Source::Window { input, funcs, regs, .. } => {
                Op::Window(Box::new(Window::build(Op::build(input, b)?, funcs, regs, b)))
            }
            Source::Set { kind, inputs, out, recursion, .. } => {
                let inputs: Vec<_> =
                    inputs.iter().map(|(s, e)| Ok((Op::build(s, b)?, b.codes(e)))).collect::<Result<_>>()?;
                if let Some(recursion) = recursion {
                    return Ok(Op::Recursive(Box::new(Recursive::build(recursion, inputs, out)?)));
                }
                Op::Set(Box::new(Set::new(*kind, inputs, out)))
            }
            Source::ConnectBy(c) => {
                let children = match c.memory.as_ref().map(|memory| &memory.children) {
                    Some(ConnectChildren::Probe(source) | ConnectChildren::Rows { base: source, .. }) => {
                        Some(Op::build(source, b)?)
                    }
                    None => None,
                };
                let (start, child) = (Op::build(&c.start, b)?, Op::build(&c.child, b)?);
                Op::Connect(Box::new(Connect::build(c, start, child, children, b)))
            }
            Source::Limit { input, offset, count, percent, ties, .. } => Op::Limit(Box::new(Limit::build(
                Op::build(input, b)?,
                plan::produced(input),
                offset.as_ref(),
                count.as_ref(),
                *percent,
                ties,
                b,
            ))),
            Source::ForUpdate { input, tables, wait, .. } => Op::ForUpdate(Box::new(ForUpdate::build(
                Op::build(input, b)?,
                plan::produced(input),
                tables,
                *wait,
                b,
            )?)),
            Source::Elements { value, shape: ElementShape::Xml(rows), columns, .. } => {
                Op::XmlTable(Box::new(XmlTable::new(b.code(value), rows, columns.clone())?))
            }
            Source::Elements { value, shape: ElementShape::Json(table), columns, .. } => {
                Op::JsonTable(Box::new(JsonTable::new(b.code(value), table, columns.clone())?))
            }
            Source::Elements { value, shape, columns, .. } => {
                let objects = *shape == ElementShape::Objects;
                Op::Elements(Box::new(Elements::new(b.code(value), objects, columns.clone())))
            }
        })
    }

    /// Builds a row source that is read to its end. With batches, filtered rows never reach registers.
    fn build_many(s: &Source, b: &mut Builder<'_>) -> Result<Op> {
        if filters(s)
            && let Some(node) = batch::build(s, &Wanted::ALL, b)?
        {
            return Ok(Op::Batch(Box::new(Rows::new(node))));
        }
        Op::build(s, b)
    }

    fn boxed(s: &Source, b: &mut Builder<'_>) -> Result<Box<Op>> {
        Ok(Box::new(Op::build(s, b)?))
    }
}

/// Whether a row source always reads its whole input.
fn takes_all(s: &Source) -> bool {
    match s {
        Source::Group { .. } | Source::Sort { .. } | Source::Distinct { .. } => true,
        Source::Project { input, .. } | Source::Filter { input, .. } => takes_all(input),
        _ => false,
    }
}

/// Whether a row source is a hash join, which reads one input whole.
fn joins(s: &Source) -> bool {
    match s {
        Source::HashJoin { .. } => true,
        Source::Project { input, .. } | Source::Filter { input, .. } => joins(input),
        _ => false,
    }
}

/// Whether a scan has a filter.
fn filters(s: &Source) -> bool {
    match s {
        Source::Scan(scan) => !scan.filter.is_empty(),
        Source::Filter { .. } | Source::JoinFilter { .. } => true,
        Source::Project { input, .. } => filters(input),
        _ => false,
    }
}
