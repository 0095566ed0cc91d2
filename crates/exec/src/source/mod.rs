//! Row sources.
//!
//! A row source is a node of [`Op`]. `open` starts it from the beginning and discards its buffers; `rewind` restarts it
//! for another row of an enclosing nested loop and keeps what does not depend on that row (E5); `next` leaves a row in
//! the plan's registers. [`Op`] is an enum instead of a trait object, so that the hot paths branch and do not call
//! indirectly.

pub mod basic;
pub mod connect;
mod connect_rows;
mod fold;
pub mod group;
pub mod hash_join;
pub mod join;
mod key_ranges;
pub mod merge_join;
pub mod scan;
pub mod set;
pub mod sort;
pub mod watched;
pub mod window;

use crate::code::{Builder, Code, Cond, all_true};
use crate::ctx::ExecCtx;
use crate::join::keys::Keys;
use crate::machine::Machine;
use crate::measure::Counted;
use crate::parallel::Coordinator;
use plan::{CmpOp, JoinKind, Source, StopKey};
use types::{Number, Result, Value};

pub enum Op {
    Dual {
        done: bool,
    },
    Empty,
    Scan(Box<scan::Scan>),
    Watched(Box<watched::Watched>),
    Fixed(Box<basic::Fixed>),
    Filter {
        input: Box<Op>,
        conds: Vec<Cond>,
    },
    Startup {
        input: Box<Op>,
        conds: Vec<Cond>,
        passed: bool,
    },
    Project {
        input: Box<Op>,
        exprs: Vec<(Code, plan::Reg)>,
    },
    Loops(Box<join::Loops>),
    Hash(Box<hash_join::HashJoin>),
    Merge(Box<merge_join::MergeJoin>),
    UseFilter(Box<join::UseFilter>),
    Buffer(Box<basic::Buffer>),
    Cte(Box<basic::Cte>),
    Count(Box<basic::Count>),
    Sort(Box<sort::Sort>),
    Distinct(Box<sort::Distinct>),
    Group(Box<group::Group>),
    Window(Box<window::Window>),
    Set(Box<set::Set>),
    Connect(Box<connect::Connect>),
    Limit(Box<basic::Limit>),
    ForUpdate(Box<basic::ForUpdate>),
    Elements(Box<basic::Elements>),
    /// Row sources over batches.
    Batch(Box<crate::batch::Rows>),
    /// A row source with counting.
    Counted(Box<Counted>),
    /// Rows from parallel servers.
    Parallel(Box<Coordinator>),
}

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
            && let Some(node) = crate::batch::build(s, &crate::batch::Wanted::ALL, b)?
        {
            return Ok(Op::Batch(Box::new(crate::batch::Rows::new(node))));
        }
        Ok(match s {
            Source::Dual => Op::Dual { done: true },
            Source::Empty => Op::Empty,
            Source::Scan(scan) if b.watches => Op::Watched(Box::new(watched::Watched::build(scan, b)?)),
            Source::Scan(scan) => Op::Scan(Box::new(scan::Scan::build(scan, b)?)),
            Source::Fixed { handle, columns, filter, .. } => {
                Op::Fixed(Box::new(basic::Fixed::new(*handle, columns.clone(), b.conds(filter))))
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
            Source::NestedLoops { left, right, kind, right_regs, lateral, .. } => Op::Loops(Box::new(
                join::Loops::new(Op::build_many(left, b)?, Op::build(right, b)?, *kind, right_regs.clone(), *lateral),
            )),
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
                Op::UseFilter(Box::new(join::UseFilter::new(input, *id, keys)))
            }
            Source::Parallel { input, id, degree, regs, .. } => {
                match Coordinator::build(input, (*id, *degree, regs), b)? {
                    Some(coordinator) => Op::Parallel(Box::new(coordinator)),
                    None => Op::build(input, b)?,
                }
            }
            Source::Buffer { input, regs, .. } => {
                Op::Buffer(Box::new(basic::Buffer::new(Op::build(input, b)?, regs.clone())))
            }
            Source::Cte { id, columns, .. } => Op::Cte(Box::new(basic::Cte::new(*id, columns.clone()))),
            Source::Count { input, reg, stop, conds, .. } => {
                let input = Op::build(input, b)?;
                let stop = stop.as_ref().map(|k| Stop::build(k, b));
                Op::Count(Box::new(basic::Count::new(input, *reg, stop, b.conds(conds))))
            }
            Source::Sort { input, keys, regs, top, .. } => {
                let input = Op::build(input, b)?;
                let top = top.as_ref().map(|k| Stop::build(k, b));
                Op::Sort(Box::new(sort::Sort::new(input, sort::Keys::build(keys, b), regs.clone(), top)))
            }
            Source::Distinct { input, regs, .. } => {
                Op::Distinct(Box::new(sort::Distinct::new(Op::build(input, b)?, regs.clone())))
            }
            Source::Group { input, keys, sets, aggs, scalar, .. } => {
                Op::Group(Box::new(group::Group::build(input, keys, sets, aggs, *scalar, b)?))
            }
            Source::Window { input, funcs, regs, .. } => {
                Op::Window(Box::new(window::Window::build(input, funcs, regs, b)?))
            }
            Source::Set { kind, inputs, out, .. } => Op::Set(Box::new(set::Set::build(*kind, inputs, out, b)?)),
            Source::ConnectBy(c) => Op::Connect(Box::new(connect::Connect::build(c, b)?)),
            Source::Limit { input, offset, count, percent, ties, .. } => {
                Op::Limit(Box::new(basic::Limit::build(input, offset.as_ref(), count.as_ref(), *percent, ties, b)?))
            }
            Source::ForUpdate { input, tables, wait, .. } => {
                Op::ForUpdate(Box::new(basic::ForUpdate::build(input, tables, *wait, b)?))
            }
            Source::Elements { value, objects, columns, .. } => {
                Op::Elements(Box::new(basic::Elements::new(b.code(value), *objects, columns.clone())))
            }
        })
    }

    /// Builds a row source that is read to its end. With batches, filtered rows never reach registers.
    fn build_many(s: &Source, b: &mut Builder<'_>) -> Result<Op> {
        if filters(s)
            && let Some(node) = crate::batch::build(s, &crate::batch::Wanted::ALL, b)?
        {
            return Ok(Op::Batch(Box::new(crate::batch::Rows::new(node))));
        }
        Op::build(s, b)
    }

    fn boxed(s: &Source, b: &mut Builder<'_>) -> Result<Box<Op>> {
        Ok(Box::new(Op::build(s, b)?))
    }

    /// Starts from the beginning; buffers are discarded.
    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        match self {
            Op::Dual { done } => *done = false,
            Op::Empty => {}
            Op::Scan(s) => s.open(m, cx)?,
            Op::Watched(s) => s.open(m, cx)?,
            Op::Fixed(f) => f.open(cx)?,
            Op::Filter { input, .. } | Op::Project { input, .. } => input.open(m, cx)?,
            Op::Startup { input, conds, passed } => {
                *passed = all_true(conds, m, cx)?;
                if *passed {
                    input.open(m, cx)?;
                }
            }
            Op::Loops(j) => j.open(m, cx)?,
            Op::Hash(j) => j.open(m),
            Op::Merge(j) => j.open(m, cx)?,
            Op::UseFilter(f) => f.open(m, cx)?,
            Op::Buffer(b) => b.open(m),
            Op::Cte(c) => c.open(),
            Op::Count(c) => c.open(m, cx)?,
            Op::Sort(s) => s.open(m),
            Op::Distinct(d) => d.open(m, cx)?,
            Op::Group(g) => g.open(m),
            Op::Window(w) => w.open(m),
            Op::Set(s) => s.open(m, cx)?,
            Op::Connect(c) => c.open(),
            Op::Limit(l) => l.open(m, cx)?,
            Op::ForUpdate(f) => f.open(m, cx)?,
            Op::Elements(e) => e.open(m, cx)?,
            Op::Batch(rows) => rows.open(m, cx)?,
            Op::Counted(counted) => counted.open(m, cx)?,
            Op::Parallel(coordinator) => coordinator.open(m, cx)?,
        }
        Ok(())
    }

    /// Restarts within one opening of the enclosing nested loops.
    pub fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        match self {
            Op::Filter { input, .. } | Op::Project { input, .. } => input.rewind(m, cx),
            Op::Startup { input, conds, passed } => {
                let before = *passed;
                *passed = all_true(conds, m, cx)?;
                match (before, *passed) {
                    (true, true) => input.rewind(m, cx),
                    (false, true) => input.open(m, cx),
                    _ => Ok(()),
                }
            }
            Op::Buffer(b) => {
                b.rewind();
                Ok(())
            }
            Op::Cte(c) => {
                c.open();
                Ok(())
            }
            Op::Sort(s) => {
                s.rewind();
                Ok(())
            }
            Op::Loops(j) => j.rewind(m, cx),
            Op::Hash(j) => {
                j.rewind();
                Ok(())
            }
            Op::Merge(j) => j.rewind(m, cx),
            Op::UseFilter(f) => f.rewind(m, cx),
            Op::Batch(rows) => rows.rewind(m, cx),
            Op::Counted(counted) => counted.rewind(m, cx),
            other => other.open(m, cx),
        }
    }

    /// Skips rows that are only counted; returns their number, or 0 at the end. The registers are undefined.
    pub fn pass(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
        match self {
            Op::Scan(s) => s.pass(m, cx),
            Op::Watched(s) => s.pass(m, cx),
            Op::Counted(counted) => counted.pass(m, cx),
            Op::Connect(c) => c.pass(m, cx),
            other => other.next(m, cx).map(u64::from),
        }
    }

    /// The bytes of the row found last, for a scan that keeps them.
    pub fn kept_bytes(&self) -> &[u8] {
        match self {
            Op::Scan(s) => s.kept_bytes(),
            Op::Watched(s) => s.scan.kept_bytes(),
            Op::Counted(counted) => counted.kept_bytes(),
            _ => &[],
        }
    }

    /// Number of rows that a scan has read and its filter has dropped.
    pub fn left_out(&self) -> u64 {
        match self {
            Op::Scan(s) => s.left_out(),
            Op::Watched(s) => s.scan.left_out(),
            _ => 0,
        }
    }

    /// Finds the next row. False at the end; the registers are undefined then.
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        match self {
            Op::Dual { done } => Ok(!std::mem::replace(done, true)),
            Op::Empty => Ok(false),
            Op::Scan(s) => s.next(m, cx),
            Op::Watched(s) => s.next(m, cx),
            Op::Fixed(f) => f.next(m, cx),
            Op::Filter { input, conds } => {
                while input.next(m, cx)? {
                    if all_true(conds, m, cx)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Op::Startup { input, passed, .. } => {
                if *passed {
                    input.next(m, cx)
                } else {
                    Ok(false)
                }
            }
            Op::Project { input, exprs } => {
                if !input.next(m, cx)? {
                    return Ok(false);
                }
                for (code, dst) in exprs {
                    assign(code, *dst, m, cx)?;
                }
                Ok(true)
            }
            Op::Loops(j) => j.next(m, cx),
            Op::Hash(j) => j.next(m, cx),
            Op::Merge(j) => j.next(m, cx),
            Op::UseFilter(f) => f.next(m, cx),
            Op::Buffer(b) => b.next(m, cx),
            Op::Cte(c) => c.next(m, cx),
            Op::Count(c) => c.next(m, cx),
            Op::Sort(s) => s.next(m, cx),
            Op::Distinct(d) => d.next(m, cx),
            Op::Group(g) => g.next(m, cx),
            Op::Window(w) => w.next(m, cx),
            Op::Set(s) => s.next(m, cx),
            Op::Connect(c) => c.next(m, cx),
            Op::Limit(l) => l.next(m, cx),
            Op::ForUpdate(f) => f.next(m, cx),
            Op::Elements(e) => e.next(m),
            Op::Batch(rows) => rows.next(m, cx),
            Op::Counted(counted) => counted.next(m, cx),
            Op::Parallel(coordinator) => coordinator.next(m, cx),
        }
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

/// Evaluates `code` into register `dst`.
pub fn assign(code: &Code, dst: plan::Reg, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    let r = code.eval(m, cx)?;
    if r == dst {
        return Ok(());
    }
    if code.made() == Some(r) {
        // The computed value is not read from its old register again, so it can be moved.
        m.regs.swap(r as usize, dst as usize);
    } else {
        copy(r, dst, m);
    }
    Ok(())
}

/// Copies one register to another, reusing the target's buffer.
pub fn copy(from: plan::Reg, to: plan::Reg, m: &mut Machine) {
    if let Ok([from, to]) = m.regs.get_disjoint_mut([from as usize, to as usize]) {
        to.set(from);
    }
}

/// The limit of a row numbering.
pub struct Stop {
    op: CmpOp,
    limit: Code,
}

impl Stop {
    pub fn build(k: &StopKey, b: &mut Builder<'_>) -> Stop {
        Stop { op: k.0, limit: b.code(&k.1) }
    }

    /// The greatest number that a row may get; 0 if no row may get one.
    pub fn most(&self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
        let r = self.limit.eval(m, cx)?;
        let n = match m.value(r) {
            Value::Null => return Ok(0),
            v => match v.to_number(&cx.session.nls)? {
                Some(n) => n,
                None => return Ok(0),
            },
        };
        let whole = match self.op {
            CmpOp::Le => n.floor(),
            CmpOp::Lt => n.ceil().sub(&Number::from(1i64))?,
            // ROWNUM = n can hold for the first row only.
            _ if n == Number::from(1i64) => n,
            _ => return Ok(0),
        };
        if whole.signum() <= 0 {
            return Ok(0);
        }
        Ok(whole.to_i64().map_or(u64::MAX, |n| n as u64))
    }
}
