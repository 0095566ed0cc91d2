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
//! | `parts` | what the search knows: parts, conditions, plans of sets |
//! | `conds` | the parts that conditions read, keys |
//! | `sources` | row sources of two joined inputs |
//! | `leaf` | one table, view or nested join: its own plan, OR expansion |
//! | `graph` | the parts, with the conditions that connect them |
//! | `search` | orders and methods, with their costs |
//! | `build` | the row sources of the chosen order |
//!
//! `ORDERED` and `LEADING` allow only sets that begin with the named parts. `USE_NL`, `USE_HASH` and `USE_MERGE`
//! restrict the methods for a part, if one of them is possible.

mod build;
mod conds;
mod graph;
mod leaf;
mod parts;
mod search;
mod sources;

use super::access::{Choice, covers};
use super::cost;
use super::planned::{Planned, filter, produced};
use crate::ir::*;
use crate::logical::*;
use crate::scope::*;
use crate::typing::{Class, class};
use conds::*;
use graph::*;
use parts::*;
use sources::*;
use sql::ast;
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use types::{Ora, Result};

/// Most parts for which all sets are examined.
const DENSE_MAX: usize = 12;

impl Compiler<'_> {
    /// Plans a join.
    ///
    /// # Errors
    /// ORA-03001 for more than 128 parts.
    pub fn plan_set(&mut self, set: &JoinSet) -> Result<Planned> {
        self.plan_set_with(set, &[])
    }

    /// As [`Compiler::plan_set`], with additional conditions.
    pub(super) fn plan_set_with(&mut self, set: &JoinSet, more: &[Expr]) -> Result<Planned> {
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
