//! The order of joins and the methods of joining.
//!
//! Parts of a join are numbered, and a set of them is a word of bits. Up to [`DENSE_MAX`] parts, the cheapest plan of
//! every set is found by dynamic programming over all pairs of sets that make it up (bushy trees too); with more, the
//! pair that leaves the fewest rows is joined, again and again. A pair is taken when a condition connects it, or when
//! nothing connects its sides to anything: products come last.
//!
//! Columns that WHERE makes equal to one another are a class: of its equalities, one is checked where two sets are
//! joined that both have a column of it, so that `a.x = b.x and b.x = c.x` lets `a` and `c` be joined first.
//!
//! A part that is not joined by plain conditions (the optional side of an outer join, a semijoin, what reads other
//! parts' columns) is joined alone, as the right side, once all parts that its condition names are there. Conditions of
//! WHERE that name the optional side of an outer join are checked above that join.
//!
//! | module | |
//! |---|---|
//! | `graph` | the parts with the conditions that connect them |
//! | `search` | orders and methods with their costs |
//! | `sources` | row sources of the order that was found |
//! | `leaf` | one table or view: its plan alone, expansion of OR |
//!
//! `ORDERED` and `LEADING` allow only sets that begin with the parts they name; `USE_NL`, `USE_HASH` and `USE_MERGE`
//! allow only these methods for a part, as long as one of them is possible.

mod graph;
mod leaf;
mod search;
mod sources;

use super::access::{Choice, covers};
use super::{Planned, cost, filter, produced};
use crate::ir::*;
use crate::logical::*;
use crate::scope::*;
use crate::typing::{Class, class};
use graph::*;
use sources::*;
use sql::ast;
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use types::{Ora, Result};

/// A set of parts of a join, one bit each.
type Mask = u128;

/// Parts up to which all sets are looked at.
const DENSE_MAX: usize = 12;

/// A part while the order is looked for.
struct Member<'h> {
    kind: &'h PartKind,
    link: &'h Link,
    alias: String,
    /// Parts whose columns it reads: what its outer join's condition or its lateral references name.
    needs: Mask,
    /// Its rows are made anew for each row of what is joined before.
    lateral: bool,
    /// It reads what must be read again each time: fixed tables.
    unstable: bool,
    is_fixed: bool,
    /// Conditions on it alone: of WHERE for an inner part, of its own join otherwise.
    local: Vec<Expr>,
    /// The conditions of its own join that name other parts.
    across: Vec<Cond>,
    /// Planned by itself with `local`.
    alone: Option<Planned>,
    /// A join that is joined as one, with the columns of other parts as known values: its rows and its cost.
    rerun: Option<(f64, f64)>,
    /// Rows of the table below, before any condition.
    raw_rows: f64,
}

impl Member<'_> {
    fn is_inner(&self) -> bool {
        matches!(self.link, Link::Inner)
    }

    /// It can stand on the left.
    fn is_free(&self) -> bool {
        self.is_inner() && self.needs == 0
    }
}

/// A condition that names several parts, and its properties that do not depend on the sets that are joined.
struct Cond {
    expr: Expr,
    /// The parts that it names.
    mask: Mask,
    /// The class of columns that it is an equality of.
    class: Option<usize>,
    /// The parts that the two sides of an equality name, where a join may use it as a key, and whether trailing blanks
    /// do not count.
    sides: Option<(Mask, Mask, bool)>,
    /// The parts that the two sides of `<`, `<=`, `>` or `>=` name, where a merge join may have it as a range.
    bounds: Option<(Mask, Mask)>,
}

impl Cond {
    /// Whether it is `left = right` with a side from each of two sets of parts.
    fn is_key(&self, right: Mask) -> bool {
        self.sides.is_some_and(|(a, b, _)| is_one_a_side(a, b, right))
    }

    /// Whether it compares the order of a side from each of two sets of parts.
    fn is_range(&self, right: Mask) -> bool {
        self.bounds.is_some_and(|(a, b)| is_one_a_side(a, b, right) && a & !right | b & !right != 0)
    }

    fn is_padded(&self) -> bool {
        matches!(self.sides, Some((_, _, true)))
    }
}

/// Whether of two expressions one reads nothing but `right` and the other one nothing of it.
fn is_one_a_side(a: Mask, b: Mask, right: Mask) -> bool {
    let is_of_right = |mask: Mask| mask & right != 0 && mask & !right == 0;
    is_of_right(b) && a & right == 0 || is_of_right(a) && b & right == 0
}

/// A part, and the addresses of the conditions that it is reached through.
type Probe = (usize, Vec<usize>);

/// The best plan of a set of parts.
#[derive(Clone, Copy)]
struct Best {
    rows: f64,
    cost: f64,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    Alone(usize),
    Join { left: Mask, right: Mask, method: Method },
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Method {
    /// One side is built into a table by a hash of the join's keys, and the other one looks into it.
    Hash(Side),
    /// Both sides are sorted by the join's keys and read side by side.
    Merge,
    /// The right side, one table, is reached by an index, a rowid or a hash through the join's conditions.
    Probe,
    /// The right side is started again for each row of the left.
    Again,
    /// The right side, a join, is planned with the columns of the left row as known values, and started again for each.
    Rerun,
    /// The right side is read once and gone over for each row of the left.
    Buffered,
}

/// What hints call a method.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Hash,
    Merge,
    Loops,
}

impl Method {
    fn kind(self) -> Kind {
        match self {
            Method::Hash(_) => Kind::Hash,
            Method::Merge => Kind::Merge,
            Method::Probe | Method::Again | Method::Rerun | Method::Buffered => Kind::Loops,
        }
    }
}

/// A join while its order is looked for.
struct Graph<'h> {
    nodes: Vec<Member<'h>>,
    /// Conditions of WHERE that name several parts, and those to be checked above outer joins.
    conds: Vec<Cond>,
    /// For each part the parts that a condition connects it with.
    neighbours: Vec<Mask>,
    owner: HashMap<Reg, usize>,
    /// Columns that equal a constant.
    fixed: HashSet<Reg>,
    hints: &'h [ast::Hint],
    /// Parts in the order that hints ask for.
    leading: Vec<usize>,
    /// Sets of parts that conditions connect with one another.
    components: Vec<Mask>,
    /// The cost of reaching a part through conditions of a join, by the part and the addresses of the conditions: many
    /// pairs of sets have the same.
    probes: RefCell<HashMap<Probe, Option<f64>>>,
}

fn bit(part: usize) -> Mask {
    1 << part
}

fn parts_of(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let part = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            part
        })
    })
}

/// Joins inside a join up to which it is planned a second time, with known values: each doubles the work.
const RERUNS_MAX: usize = 3;

impl Compiler<'_> {
    /// Plans a join.
    ///
    /// # Errors
    /// ORA-03001 for more than 128 parts.
    pub fn plan_set(&mut self, set: &JoinSet) -> Result<Planned> {
        self.plan_set_with(set, &[])
    }

    /// As [`Compiler::plan_set`], with conditions beside the join's own.
    fn plan_set_with(&mut self, set: &JoinSet, more: &[Expr]) -> Result<Planned> {
        let around = self.query_blocks.planned;
        if set.block != 0 {
            self.query_blocks.planned = set.block;
        }
        let planned = self.plan_joins(set, more);
        self.query_blocks.planned = around;
        planned
    }

    fn plan_joins(&mut self, set: &JoinSet, more: &[Expr]) -> Result<Planned> {
        if set.parts.len() > 128 {
            return Err(crate::expr::unsupported("joins of more than 128 tables and views", 0));
        }
        let mut startup = Vec::new();
        let mut graph = self.graph(set, more, &mut startup)?;
        if let [node] = &mut graph.nodes[..]
            && node.is_free()
            && graph.conds.is_empty()
        {
            let planned = node.alone.take().expect("a free part is planned alone");
            return Ok(started(planned, startup));
        }
        let whole = (0..graph.nodes.len()).fold(0, |mask, part| mask | bit(part));
        let mut best = HashMap::new();
        for (part, node) in graph.nodes.iter().enumerate() {
            if let Some(alone) = node.alone.as_ref().filter(|_| node.is_free()) {
                best.insert(bit(part), Best { rows: alone.rows, cost: alone.cost, how: How::Alone(part) });
            }
        }
        if best.is_empty() {
            // Only optional parts: they are joined to one row without columns.
            best.insert(0, Best { rows: 1.0, cost: 0.0, how: How::Alone(usize::MAX) });
        }
        if graph.nodes.len() <= DENSE_MAX && !best.contains_key(&0) {
            self.all_sets(&graph, whole, &mut best)?;
        }
        if !best.contains_key(&whole) {
            self.pairs_by_size(&graph, whole, &mut best)?;
        }
        let found = best[&whole];
        let mut source = self.build_join(&mut graph, whole, &best)?;
        // What names no part that was joined: nothing is left in fact.
        let rest: Vec<Expr> = graph.conds.drain(..).map(|c| c.expr).collect();
        source = filter(source, rest);
        Ok(started(Planned::new(source, found.rows, found.cost), startup))
    }
}
