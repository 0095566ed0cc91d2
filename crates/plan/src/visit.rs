//! Visitors for the children of a row source and for its own expressions (P9).
//!
//! A new row source is added here, in `produced`, in `rows` (its line of a plan) and in `exec::source`. Code that only
//! walks the tree uses these visitors.

use crate::ir::*;

/// Calls `$f` on each row source directly below `$source`. `$each` is `iter` or `iter_mut`, depending on how the source
/// is borrowed.
macro_rules! children {
    ($source:expr, $f:ident, $each:ident $(, $m:tt)?) => {
        match $source {
            Source::Dual
            | Source::Empty
            | Source::Scan(_)
            | Source::Fixed { .. }
            | Source::Cte { .. }
            | Source::Elements { .. } => {}
            Source::Filter { input, .. }
            | Source::Startup { input, .. }
            | Source::Project { input, .. }
            | Source::JoinFilter { input, .. }
            | Source::Buffer { input, .. }
            | Source::Parallel { input, .. }
            | Source::Count { input, .. }
            | Source::Sort { input, .. }
            | Source::Distinct { input, .. }
            | Source::Group { input, .. }
            | Source::Window { input, .. }
            | Source::Limit { input, .. }
            | Source::ForUpdate { input, .. } => $f(input),
            Source::NestedLoops { left, right, .. }
            | Source::HashJoin { left, right, .. }
            | Source::MergeJoin { left, right, .. } => {
                $f(left);
                $f(right);
            }
            Source::Set { inputs, .. } => inputs.$each().for_each(|(input, _)| $f(input)),
            Source::ConnectBy(c) => {
                $f(& $($m)? c.start);
                $f(& $($m)? c.child);
                match & $($m)? c.memory {
                    Some(ConnectMemory { children: ConnectChildren::Probe(source), .. }) => $f(source),
                    Some(ConnectMemory { children: ConnectChildren::Rows { base, .. }, .. }) => $f(base),
                    None => {}
                }
            }
        }
    };
}

macro_rules! access {
    ($access:expr, $f:ident, $each:ident, $keys:ident) => {
        match $access {
            Access::Full | Access::IndexFast { .. } => {}
            Access::Rowid(e) => $f(e),
            Access::IndexUnique { keys, recheck, .. } => {
                keys.$each().for_each(|Key { value, .. }| $f(value));
                recheck.$each().for_each(&mut *$f);
            }
            Access::IndexRange(range) => {
                for part in range.prefix.$each() {
                    part.$keys().$each().for_each(|Key { value, .. }| $f(value));
                }
                for (Key { value, .. }, _) in range.low.$each().chain(range.high.$each()) {
                    $f(value);
                }
                for LikeRange { pattern, escape } in range.like.$each() {
                    $f(pattern);
                    escape.$each().for_each(&mut *$f);
                }
                range.recheck.$each().for_each(&mut *$f);
            }
            Access::ClusterHash { keys } => keys.$each().for_each(|Key { value, .. }| $f(value)),
        }
    };
}

macro_rules! sort_keys {
    ($keys:expr, $f:ident, $each:ident) => {
        $keys.$each().for_each(|SortKey { expr, .. }| $f(expr))
    };
}

macro_rules! aggregate {
    ($agg:expr, $f:ident, $each:ident) => {{
        $agg.args.$each().for_each(&mut *$f);
        sort_keys!($agg.order, $f, $each);
    }};
}

macro_rules! expressions {
    ($source:expr, $f:ident, $each:ident, $keys:ident $(, $m:tt)?) => {
        match $source {
            Source::Dual | Source::Empty | Source::Buffer { .. } | Source::Cte { .. } | Source::Parallel { .. } => {}
            Source::Distinct { .. } | Source::ForUpdate { .. } | Source::NestedLoops { .. } => {}
            Source::Scan(scan) => {
                access!(& $($m)? scan.access, $f, $each, $keys);
                scan.prune.$each().for_each(|prune| prune.$keys().for_each(|Key { value, .. }| $f(value)));
                scan.filter.$each().for_each(&mut *$f);
            }
            Source::Fixed { filter, .. } => filter.$each().for_each(&mut *$f),
            Source::Filter { conds, .. } | Source::Startup { conds, .. } => conds.$each().for_each(&mut *$f),
            Source::Project { exprs, .. } => exprs.$each().for_each(|(e, _)| $f(e)),
            Source::JoinFilter { keys, .. } => keys.$each().for_each(|Key { value, .. }| $f(value)),
            Source::HashJoin { keys, residual, .. } => {
                for JoinKey { left, right, .. } in keys.$each() {
                    $f(left);
                    $f(right);
                }
                residual.$each().for_each(&mut *$f);
            }
            Source::MergeJoin { keys, ranges, residual, .. } => {
                for JoinKey { left, right, .. } in keys.$each() {
                    $f(left);
                    $f(right);
                }
                for MergeRange { left, right, .. } in ranges.$each() {
                    $f(left);
                    $f(right);
                }
                residual.$each().for_each(&mut *$f);
            }
            Source::Count { stop, conds, .. } => {
                stop.$each().for_each(|(_, e)| $f(e));
                conds.$each().for_each(&mut *$f);
            }
            Source::Sort { keys, top, .. } => {
                sort_keys!(keys, $f, $each);
                top.$each().for_each(|(_, e)| $f(e));
            }
            Source::Group { keys, aggs, .. } => {
                keys.$each().for_each(|(e, _)| $f(e));
                aggs.$each().for_each(|agg| aggregate!(agg, $f, $each));
            }
            Source::Window { funcs, .. } => {
                for WindowFunc { agg, partition, order, frame } in funcs.$each() {
                    aggregate!(agg, $f, $each);
                    partition.$each().for_each(&mut *$f);
                    sort_keys!(order, $f, $each);
                    for Frame { start, end, .. } in frame.$each() {
                        for bound in [start, end] {
                            match bound {
                                Bound::Preceding(e) | Bound::Following(e) => $f(e),
                                Bound::UnboundedPreceding | Bound::CurrentRow | Bound::UnboundedFollowing => {}
                            }
                        }
                    }
                }
            }
            Source::Set { inputs, .. } => {
                inputs.$each().for_each(|(_, out)| out.$each().for_each(&mut *$f));
            }
            Source::ConnectBy(c) => {
                c.roots.$each().for_each(|(e, _)| $f(e));
                for (e, separator, _) in c.paths.$each() {
                    $f(e);
                    $f(separator);
                }
                sort_keys!(c.siblings, $f, $each);
                for ConnectMemory { gate, children, .. } in c.memory.$each() {
                    gate.$each().for_each(&mut *$f);
                    if let ConnectChildren::Rows { row_keys, prior_keys, conds, .. } = children {
                        for list in [row_keys, prior_keys, conds] {
                            list.$each().for_each(&mut *$f);
                        }
                    }
                }
            }
            Source::Limit { offset, count, ties, .. } => {
                offset.$each().chain(count.$each()).for_each(&mut *$f);
                sort_keys!(ties, $f, $each);
            }
            Source::Elements { value, .. } => $f(value),
        }
    };
}

/// The field with the estimated rows of `$source`. `$($m)?` is `mut` for writing.
macro_rules! rows {
    ($source:expr $(, $m:tt)?) => {
        match $source {
            Source::Dual | Source::Empty => None,
            Source::Scan(scan) => Some(& $($m)? scan.rows),
            Source::ConnectBy(c) => Some(& $($m)? c.rows),
            Source::Fixed { rows, .. }
            | Source::Filter { rows, .. }
            | Source::Startup { rows, .. }
            | Source::Project { rows, .. }
            | Source::NestedLoops { rows, .. }
            | Source::HashJoin { rows, .. }
            | Source::MergeJoin { rows, .. }
            | Source::JoinFilter { rows, .. }
            | Source::Buffer { rows, .. }
            | Source::Parallel { rows, .. }
            | Source::Cte { rows, .. }
            | Source::Count { rows, .. }
            | Source::Sort { rows, .. }
            | Source::Distinct { rows, .. }
            | Source::Group { rows, .. }
            | Source::Window { rows, .. }
            | Source::Set { rows, .. }
            | Source::Limit { rows, .. }
            | Source::ForUpdate { rows, .. }
            | Source::Elements { rows, .. } => Some(rows),
        }
    };
}

impl Access {
    /// Calls `f` on each expression of the access path.
    pub fn for_each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        access!(self, f, iter, keys)
    }

    /// As [`Access::for_each_expr`], with mutable expressions.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        access!(self, f, iter_mut, keys_mut)
    }
}

impl Source {
    /// The planner's estimate of the rows for each start. `None`: not estimated.
    pub fn rows(&self) -> Option<f64> {
        let rows = match self {
            Source::Dual => 1.0,
            Source::Empty => 0.0,
            other => *rows!(other)?,
        };
        (rows.is_finite() && rows >= 0.0).then_some(rows)
    }

    /// Stores the estimated rows.
    pub fn set_rows(&mut self, expected: f64) {
        if let Some(rows) = rows!(self, mut) {
            *rows = expected;
        }
    }

    /// Calls `f` on each row source directly below, in the order in which a plan lists them.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Source)) {
        children!(self, f, iter)
    }

    /// As [`Source::for_each_child`], with mutable row sources.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Source)) {
        children!(self, f, iter_mut, mut)
    }

    /// Calls `f` on each expression of this row source, without those of row sources below and of subqueries.
    pub fn for_each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        expressions!(self, f, iter, keys)
    }

    /// As [`Source::for_each_expr`], with mutable expressions.
    pub fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        expressions!(self, f, iter_mut, keys_mut, mut)
    }

    /// Calls `f` on this row source and all below it, top down.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Source)) {
        f(self);
        self.for_each_child(&mut |child| child.walk(f));
    }

    /// Whether `f` is true for this row source or one below it.
    pub fn any(&self, f: &mut dyn FnMut(&Source) -> bool) -> bool {
        if f(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(f));
        found
    }
}
