//! The knowledge of the search for an order: the parts of a join, their conditions, and plans of sets of parts.

use crate::ir::*;
use crate::logical::*;
use crate::physical::planned::Planned;
use sql::ast;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// A set of parts, one bit each.
pub(super) type Mask = u128;

/// A part during the search for an order.
pub(super) struct Member<'h> {
    pub(super) kind: &'h PartKind,
    pub(super) link: &'h Link,
    pub(super) alias: String,
    /// Parts whose columns it reads, by its outer join's condition or by lateral references.
    pub(super) needs: Mask,
    /// Whether it must be recomputed for each row of the parts joined before.
    pub(super) lateral: bool,
    /// Whether it must be read again each time, because it reads fixed tables (P7).
    pub(super) unstable: bool,
    pub(super) is_fixed: bool,
    /// Conditions on this part only: of WHERE for an inner part, of its own join otherwise.
    pub(super) local: Vec<Expr>,
    /// Conditions of its own join that name other parts.
    pub(super) across: Vec<Cond>,
    /// Its own plan with `local`.
    pub(super) alone: Option<Planned>,
    /// For a nested join planned with the columns of other parts as known values: rows and cost.
    pub(super) rerun: Option<(f64, f64)>,
    /// Rows of its table before any condition.
    pub(super) raw_rows: f64,
}

impl Member<'_> {
    pub(super) fn is_inner(&self) -> bool {
        matches!(self.link, Link::Inner)
    }

    /// Whether it may be on the left side.
    pub(super) fn is_free(&self) -> bool {
        self.is_inner() && self.needs == 0
    }
}

/// A condition over several parts, with properties that do not depend on the sets being joined.
pub(super) struct Cond {
    pub(super) expr: Expr,
    /// The parts that it reads.
    pub(super) mask: Mask,
    /// The class of equal columns that it belongs to.
    pub(super) class: Option<usize>,
    /// For an equality usable as a join key: the parts that its two sides read, and whether trailing blanks are
    /// ignored.
    pub(super) sides: Option<(Mask, Mask, bool)>,
    /// For `<`, `<=`, `>` or `>=` usable as a range of a merge join: the parts that its two sides read.
    pub(super) bounds: Option<(Mask, Mask)>,
}

impl Cond {
    /// Whether it is an equality with one side in each of two sets of parts.
    pub(super) fn is_key(&self, right: Mask) -> bool {
        self.sides.is_some_and(|(a, b, _)| is_one_a_side(a, b, right))
    }

    /// Whether it is an order comparison with one side in each of two sets of parts.
    pub(super) fn is_range(&self, right: Mask) -> bool {
        self.bounds.is_some_and(|(a, b)| is_one_a_side(a, b, right) && a & !right | b & !right != 0)
    }

    pub(super) fn is_padded(&self) -> bool {
        matches!(self.sides, Some((_, _, true)))
    }
}

/// Whether one of two expressions reads only `right`, and the other nothing of it.
fn is_one_a_side(a: Mask, b: Mask, right: Mask) -> bool {
    let is_of_right = |mask: Mask| mask & right != 0 && mask & !right == 0;
    is_of_right(b) && a & right == 0 || is_of_right(a) && b & right == 0
}

/// A part, and the addresses of the conditions that it is probed by.
pub(super) type Probe = (usize, Vec<usize>);

/// The best plan of a set of parts.
#[derive(Clone, Copy)]
pub(super) struct Best {
    pub(super) rows: f64,
    pub(super) cost: f64,
    pub(super) how: How,
}

#[derive(Clone, Copy)]
pub(super) enum How {
    Alone(usize),
    Join { left: Mask, right: Mask, method: Method },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Method {
    /// A hash table is built from one side, and the other side probes it.
    Hash(Side),
    /// Both sides are sorted by the keys and merged.
    Merge,
    /// The right side, one table, is probed by an index, a rowid or a hash through the join's conditions.
    Probe,
    /// The right side is started again for each row of the left.
    Again,
    /// The right side, a join, is planned with the left row's columns as known values, and started again for each left
    /// row.
    Rerun,
    /// The right side is read once and gone over for each left row.
    Buffered,
}

/// Join methods as named by hints.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    Hash,
    Merge,
    Loops,
}

impl Method {
    pub(super) fn kind(self) -> Kind {
        match self {
            Method::Hash(_) => Kind::Hash,
            Method::Merge => Kind::Merge,
            Method::Probe | Method::Again | Method::Rerun | Method::Buffered => Kind::Loops,
        }
    }
}

/// A join during the search for an order.
pub(super) struct Graph<'h> {
    pub(super) nodes: Vec<Member<'h>>,
    /// Conditions of WHERE over several parts, and those to be checked above outer joins.
    pub(super) conds: Vec<Cond>,
    /// For each part the parts connected with it by a condition.
    pub(super) neighbours: Vec<Mask>,
    pub(super) owner: HashMap<Reg, usize>,
    /// Columns equal to a constant.
    pub(super) fixed: HashSet<Reg>,
    pub(super) hints: &'h [ast::Hint],
    /// Parts in the order of the hints.
    pub(super) leading: Vec<usize>,
    /// Connected components.
    pub(super) components: Vec<Mask>,
    /// Costs of probing a part through conditions of a join, by part and addresses of the conditions: many pairs of
    /// sets share them.
    pub(super) probes: RefCell<HashMap<Probe, Option<f64>>>,
}

pub(super) fn bit(part: usize) -> Mask {
    1 << part
}

pub(super) fn parts_of(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let part = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            part
        })
    })
}
