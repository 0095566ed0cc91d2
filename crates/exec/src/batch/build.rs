//! Builds the batch nodes of the row sources of a plan.

use super::basic::{Filter, Project};
use super::counted::CountedNode;
use super::eval::{Condition, Expression};
use super::node::{Failing, Node};
use super::pays::pays;
use super::rows::FromRows;
use super::use_filter::{Filtered, UseFilter};
use super::wanted::Wanted;
use super::{group, join, scan, sort};
use crate::builder::Builder;
use crate::code::Code;
use crate::source::Op;
use plan::{Reg, Source};
use types::Result;

/// The row source as a source of batches, with at least the registers of `wanted`. `None` if it returns few rows, or
/// evaluates an expression without a batch form (E23).
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
            match join::Join::build(&sides, *kind, keys, residual, filters, wanted, build_any, b)? {
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
            match UseFilter::build(*id, keys, input.regs(), b) {
                Some(filter) => Box::new(Filtered::new(input, filter)),
                None => return Ok(None),
            }
        }
        Source::Group { input, keys, sets, aggs, scalar, .. } => {
            match group::Group::build(input, keys, sets, aggs, *scalar, build_any, b)? {
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
            let input = build_any(input, &Wanted::of_regs(regs), b)?;
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
