//! Join order and join methods.
//!
//! The parts of a join are numbered, and a set of parts is a bit mask. For up to [`DENSE_MAX`] parts, dynamic
//! programming finds the cheapest plan of every set over all pairs of sets that form it (including bushy trees). With
//! more parts, the pair with the fewest result rows is joined repeatedly. A pair is considered if a condition connects
//! it, or if neither side is connected to anything: Cartesian products come last.
//!
//! Columns that WHERE makes equal form a class. Where two sets with a column of the class are joined, one of its
//! equalities is checked, so `a.x = b.x and b.x = c.x` allows `a` and `c` to be joined first.
//!
//! A part that is not joined by plain conditions (the optional side of an outer join, a semijoin, a part that reads
//! columns of other parts) is joined alone, as the right side, after all parts that its condition names. Conditions of
//! WHERE that name the optional side of an outer join are checked above that join (P17).
//!
//! | module | content |
//! |---|---|
//! | `graph` | the parts, with the conditions that connect them |
//! | `search` | orders and methods, with their costs |
//! | `sources` | the row sources of the chosen order |
//! | `leaf` | one table or view: its own plan, OR expansion |
//!
//! `ORDERED` and `LEADING` allow only sets that begin with the named parts. `USE_NL`, `USE_HASH` and `USE_MERGE`
//! restrict the methods for a part, if one of them is possible.

mod graph;
mod leaf;
mod search;
mod sources;

use super::access::{Choice, covers};
use super::cost;
use super::planned::{Planned, filter, produced};
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

/// A set of parts, one bit each.
type Mask = u128;

/// Most parts for which all sets are examined.
const DENSE_MAX: usize = 12;

/// A part during the search for an order.
struct Member<'h> {
    kind: &'h PartKind,
    link: &'h Link,
    alias: String,
    /// Parts whose columns it reads, by its outer join's condition or by lateral references.
    needs: Mask,
    /// Whether it must be recomputed for each row of the parts joined before.
    lateral: bool,
    /// Whether it must be read again each time, because it reads fixed tables (P7).
    unstable: bool,
    is_fixed: bool,
    /// Conditions on this part only: of WHERE for an inner part, of its own join otherwise.
    local: Vec<Expr>,
    /// Conditions of its own join that name other parts.
    across: Vec<Cond>,
    /// Its own plan with `local`.
    alone: Option<Planned>,
    /// For a nested join planned with the columns of other parts as known values: rows and cost.
    rerun: Option<(f64, f64)>,
    /// Rows of its table before any condition.
    raw_rows: f64,
}

impl Member<'_> {
    fn is_inner(&self) -> bool {
        matches!(self.link, Link::Inner)
    }

    /// Whether it may be on the left side.
    fn is_free(&self) -> bool {
        self.is_inner() && self.needs == 0
    }
}

/// A condition over several parts, with properties that do not depend on the sets being joined.
struct Cond {
    expr: Expr,
    /// The parts that it reads.
    mask: Mask,
    /// The class of equal columns that it belongs to.
    class: Option<usize>,
    /// For an equality usable as a join key: the parts that its two sides read, and whether trailing blanks are
    /// ignored.
    sides: Option<(Mask, Mask, bool)>,
    /// For `<`, `<=`, `>` or `>=` usable as a range of a merge join: the parts that its two sides read.
    bounds: Option<(Mask, Mask)>,
}

impl Cond {
    /// Whether it is an equality with one side in each of two sets of parts.
    fn is_key(&self, right: Mask) -> bool {
        self.sides.is_some_and(|(a, b, _)| is_one_a_side(a, b, right))
    }

    /// Whether it is an order comparison with one side in each of two sets of parts.
    fn is_range(&self, right: Mask) -> bool {
        self.bounds.is_some_and(|(a, b)| is_one_a_side(a, b, right) && a & !right | b & !right != 0)
    }

    fn is_padded(&self) -> bool {
        matches!(self.sides, Some((_, _, true)))
    }
}

/// Whether one of two expressions reads only `right`, and the other nothing of it.
fn is_one_a_side(a: Mask, b: Mask, right: Mask) -> bool {
    let is_of_right = |mask: Mask| mask & right != 0 && mask & !right == 0;
    is_of_right(b) && a & right == 0 || is_of_right(a) && b & right == 0
}

/// A part, and the addresses of the conditions that it is probed by.
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

/// A join during the search for an order.
struct Graph<'h> {
    nodes: Vec<Member<'h>>,
    /// Conditions of WHERE over several parts, and those to be checked above outer joins.
    conds: Vec<Cond>,
    /// For each part the parts connected with it by a condition.
    neighbours: Vec<Mask>,
    owner: HashMap<Reg, usize>,
    /// Columns equal to a constant.
    fixed: HashSet<Reg>,
    hints: &'h [ast::Hint],
    /// Parts in the order of the hints.
    leading: Vec<usize>,
    /// Connected components.
    components: Vec<Mask>,
    /// Costs of probing a part through conditions of a join, by part and addresses of the conditions: many pairs of
    /// sets share them.
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

/// Deepest nesting for which a join is planned a second time with known values; each level doubles the work.
const RERUNS_MAX: usize = 3;

impl Compiler<'_> {
    /// Plans a join.
    ///
    /// # Errors
    /// ORA-03001 for more than 128 parts.
    pub fn plan_set(&mut self, set: &JoinSet) -> Result<Planned> {
        self.plan_set_with(set, &[])
    }

    /// As [`Compiler::plan_set`], with additional conditions.
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
            return Err(crate::refusals::unsupported("joins of more than 128 tables and views", 0));
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
            // Only optional parts: they are joined to a single row without columns.
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
        // Conditions on parts that were not joined; in practice none are left.
        let rest: Vec<Expr> = graph.conds.drain(..).map(|c| c.expr).collect();
        source = filter(source, rest);
        Ok(started(Planned::new(source, found.rows, found.cost), startup))
    }
}
