//! The row sources of a plan as one type.
//!
//! [`Op`] is an enum instead of a trait object, so that the hot paths branch and do not call indirectly. Row sources
//! are generic over the type of their inputs, which is [`Op`] here.
//!
//! [`Op::next`](RowSource::next) calls itself for each row of each input, so it must stay a small function: the
//! functions of row sources that it calls are `#[inline(never)]`. The same holds for its other functions.

use super::RowSource;
use super::basic::{Buffer, Count, Cte, Fixed, ForUpdate, Limit};
use super::connect::Connect;
use super::counted::Counted;
use super::elements::{Elements, JsonTable, XmlTable};
use super::group::Group;
use super::hash_join::HashJoin;
use super::loops::Loops;
use super::merge_join::MergeJoin;
use super::recursive::Recursive;
use super::scan::Scan;
use super::set::Set;
use super::sort::{Distinct, Sort};
use super::use_filter::UseFilter;
use super::watched::Watched;
use super::window::Window;
use crate::batch::Rows;
use crate::code::{Code, Cond};
use crate::ctx::ExecCtx;
use crate::eval::all_true;
use crate::eval::assign;
use crate::machine::Machine;
use crate::parallel::coordinator::Coordinator;
use types::Result;

/// A row source of a plan.
pub enum Op {
    Dual {
        done: bool,
    },
    Empty,
    Scan(Box<Scan>),
    Watched(Box<Watched>),
    Fixed(Box<Fixed>),
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
    Loops(Box<Loops<Op>>),
    Hash(Box<HashJoin<Op>>),
    Merge(Box<MergeJoin<Op>>),
    UseFilter(Box<UseFilter<Op>>),
    Buffer(Box<Buffer<Op>>),
    Cte(Box<Cte>),
    Count(Box<Count<Op>>),
    Sort(Box<Sort<Op>>),
    Distinct(Box<Distinct<Op>>),
    Group(Box<Group<Op>>),
    Window(Box<Window<Op>>),
    Set(Box<Set<Op>>),
    Recursive(Box<Recursive<Op>>),
    Connect(Box<Connect<Op>>),
    Limit(Box<Limit<Op>>),
    ForUpdate(Box<ForUpdate<Op>>),
    Elements(Box<Elements>),
    JsonTable(Box<JsonTable>),
    XmlTable(Box<XmlTable>),
    /// Row sources over batches.
    Batch(Box<Rows>),
    /// A row source with counting.
    Counted(Box<Counted<Op>>),
    /// Rows from parallel servers.
    Parallel(Box<Coordinator<Op>>),
}

impl RowSource for Op {
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
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
            Op::Recursive(r) => r.open(m),
            Op::Connect(c) => c.open(),
            Op::Limit(l) => l.open(m, cx)?,
            Op::ForUpdate(f) => f.open(m, cx)?,
            Op::Elements(e) => e.open(m, cx)?,
            Op::JsonTable(t) => t.open(m, cx)?,
            Op::XmlTable(t) => t.open(m, cx)?,
            Op::Batch(rows) => rows.open(m, cx)?,
            Op::Counted(counted) => counted.open(m, cx)?,
            Op::Parallel(coordinator) => coordinator.open(m, cx)?,
        }
        Ok(())
    }

    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
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

    fn pass(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<u64> {
        match self {
            Op::Scan(s) => s.pass(m, cx),
            Op::Watched(s) => s.pass(m, cx),
            Op::Counted(counted) => counted.pass(m, cx),
            Op::Connect(c) => c.pass(m, cx),
            other => other.next(m, cx).map(u64::from),
        }
    }

    fn kept_bytes(&self) -> &[u8] {
        match self {
            Op::Scan(s) => s.kept_bytes(),
            Op::Watched(s) => s.scan.kept_bytes(),
            Op::Counted(counted) => counted.kept_bytes(),
            _ => &[],
        }
    }

    fn left_out(&self) -> u64 {
        match self {
            Op::Scan(s) => s.left_out(),
            Op::Watched(s) => s.scan.left_out(),
            _ => 0,
        }
    }

    fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
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
            Op::Recursive(r) => r.next(m, cx),
            Op::Connect(c) => c.next(m, cx),
            Op::Limit(l) => l.next(m, cx),
            Op::ForUpdate(f) => f.next(m, cx),
            Op::JsonTable(t) => t.next(m, cx),
            Op::XmlTable(t) => t.next(m, cx),
            Op::Elements(e) => e.next(m, cx),
            Op::Batch(rows) => rows.next(m, cx),
            Op::Counted(counted) => counted.next(m, cx),
            Op::Parallel(coordinator) => coordinator.next(m, cx),
        }
    }

    fn as_scan(&mut self) -> Option<(&mut Scan, Option<usize>)> {
        match self {
            Op::Scan(scan) => Some((scan, None)),
            Op::Watched(watched) => Some((&mut watched.scan, Some(watched.at))),
            _ => None,
        }
    }
}
