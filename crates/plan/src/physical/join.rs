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
//! `ORDERED` and `LEADING` allow only sets that begin with the parts they name; `USE_NL`, `USE_HASH` and `USE_MERGE`
//! allow only these methods for a part, as long as one of them is possible.

use super::access::{Choice, covers};
use super::{Planned, cost, filter, produced};
use crate::ir::*;
use crate::logical::*;
use crate::scope::*;
use crate::typing::{Class, class};
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

    /// Takes a join apart: parts, conditions, and what connects them. Conditions that no part decides go to `startup`.
    fn graph<'h>(&mut self, set: &'h JoinSet, more: &[Expr], startup: &mut Vec<Expr>) -> Result<Graph<'h>> {
        let mut owner = HashMap::new();
        for (i, part) in set.parts.iter().enumerate() {
            self.part_regs(&part.kind, &mut |r| {
                owner.insert(r, i);
            });
        }
        let mut nodes: Vec<Member<'h>> = Vec::new();
        for (i, part) in set.parts.iter().enumerate() {
            let own = bit(i);
            let inside = self.reads_of(&part.kind, &owner) & !own;
            let mut needs = inside;
            part.link.for_each(&mut |c| needs |= self.mask_of(c, &owner));
            needs &= !own;
            let (mut local, mut across) = (Vec::new(), Vec::new());
            if let Link::Left(on) | Link::Semi(on) | Link::Anti(on) | Link::AntiNulls { on, .. } = &part.link {
                for c in on {
                    let mask = self.mask_of(c, &owner);
                    if mask == own { local.push(c.clone()) } else { across.push(self.cond(c.clone(), mask, &owner)) }
                }
            }
            let alias = match part.kind {
                PartKind::Leaf(id) => self.items[id].alias.clone(),
                _ => String::new(),
            };
            nodes.push(Member {
                alias,
                needs,
                lateral: inside != 0 || self.is_collection(&part.kind),
                unstable: self.reads_again(&part.kind),
                is_fixed: self.is_fixed(&part.kind),
                local,
                across,
                alone: None,
                rerun: None,
                raw_rows: 0.0,
                kind: &part.kind,
                link: &part.link,
            });
        }
        let mut conds = Vec::new();
        for c in set.conds.iter().chain(more) {
            let mask = self.mask_of(c, &owner);
            match mask.count_ones() {
                0 if !c.has_subquery() => startup.push(c.clone()),
                0 if nodes.iter().any(Member::is_inner) => {
                    let first = nodes.iter_mut().find(|node| node.is_inner());
                    first.expect("just found").local.push(c.clone());
                }
                1 if nodes[mask.trailing_zeros() as usize].is_inner() => {
                    nodes[mask.trailing_zeros() as usize].local.push(c.clone());
                }
                _ => conds.push((c.clone(), mask)),
            }
        }
        for node in &mut nodes {
            let planned = self.plan_part(node.kind, node.local.clone(), &set.hints)?;
            node.raw_rows = self.raw_rows(node.kind).unwrap_or(planned.rows);
            node.alone = Some(planned);
            let is_join = matches!(node.kind, PartKind::Set(set) if nesting(set) < RERUNS_MAX);
            if is_join && !node.across.is_empty() && !node.lateral {
                let known = node.local.iter().chain(node.across.iter().map(|c| &c.expr)).cloned().collect();
                let planned = self.plan_part(node.kind, known, &set.hints)?;
                node.rerun = Some((planned.rows, planned.cost));
            }
        }
        let classes = equal_columns(&mut conds, &nodes, &owner);
        let conds =
            conds.into_iter().map(|(c, mask)| Cond { class: class_of(&classes, &c), ..self.cond(c, mask, &owner) });
        let conds = conds.collect();
        let fixed = nodes.iter().flat_map(|node| &node.local).filter_map(fixed_column).collect();
        let mut graph = Graph {
            fixed,
            neighbours: vec![0; nodes.len()],
            leading: leading(&set.hints, &nodes),
            hints: &set.hints,
            components: Vec::new(),
            probes: RefCell::default(),
            nodes,
            conds,
            owner,
        };
        graph.connect();
        Ok(graph)
    }

    /// The parts whose columns a part reads by itself: lateral references, the collections of TABLE(), conditions
    /// inside it.
    fn reads_of(&self, kind: &PartKind, owner: &HashMap<Reg, usize>) -> Mask {
        match kind {
            PartKind::Leaf(id) => match &self.items[*id].kind {
                ItemKind::Derived { lateral, .. } => {
                    lateral.iter().filter_map(|r| owner.get(r)).fold(0, |mask, &p| mask | bit(p))
                }
                ItemKind::Elements { value, .. } => self.mask_of(value, owner),
                _ => 0,
            },
            PartKind::Set(_) | PartKind::Full(_) => {
                let mut mask = 0;
                self.for_each_part_expr(kind, &mut |e| mask |= self.mask_of(e, owner));
                mask
            }
        }
    }

    fn mask_of(&self, e: &Expr, owner: &HashMap<Reg, usize>) -> Mask {
        let mut mask = 0;
        self.expr_regs(e, &mut |r| {
            if let Some(&part) = owner.get(&r) {
                mask |= bit(part);
            }
        });
        mask
    }

    /// A condition of no class.
    fn cond(&self, expr: Expr, mask: Mask, owner: &HashMap<Reg, usize>) -> Cond {
        let sides = match &expr.node {
            Node::Cmp(CmpOp::Eq, how @ (Compare::Plain | Compare::Padded), a, b)
                if !a.has_subquery() && !b.has_subquery() =>
            {
                Some((self.mask_of(a, owner), self.mask_of(b, owner), *how == Compare::Padded))
            }
            _ => None,
        };
        let bounds = match &expr.node {
            Node::Cmp(CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge, Compare::Plain, a, b)
                if !a.has_subquery() && !b.has_subquery() =>
            {
                Some((self.mask_of(a, owner), self.mask_of(b, owner)))
            }
            _ => None,
        };
        Cond { expr, mask, class: None, sides, bounds }
    }

    fn is_collection(&self, kind: &PartKind) -> bool {
        matches!(kind, PartKind::Leaf(id) if matches!(self.items[*id].kind, ItemKind::Elements { .. }))
    }

    fn is_fixed(&self, kind: &PartKind) -> bool {
        matches!(kind, PartKind::Leaf(id) if matches!(self.items[*id].kind, ItemKind::Fixed { .. } | ItemKind::Dual))
    }

    /// Whether a part reads fixed tables, which are never kept, or other things that are read again for each row.
    fn reads_again(&self, kind: &PartKind) -> bool {
        match kind {
            PartKind::Leaf(id) => match &self.items[*id].kind {
                ItemKind::Fixed { .. } | ItemKind::Elements { .. } => true,
                ItemKind::Derived { rel: Some(rel), lateral, .. } => !lateral.is_empty() || self.rel_reads_again(rel),
                _ => false,
            },
            PartKind::Set(set) => self.set_reads_again(set),
            PartKind::Full(full) => self.set_reads_again(&full.0) || self.set_reads_again(&full.1),
        }
    }

    fn set_reads_again(&self, set: &JoinSet) -> bool {
        set.parts.iter().any(|p| self.reads_again(&p.kind))
    }

    fn rel_reads_again(&self, rel: &Rel) -> bool {
        match rel {
            Rel::Join(set) => self.set_reads_again(set),
            Rel::Set { inputs, .. } => inputs.iter().any(|(input, _)| self.rel_reads_again(input)),
            Rel::Connect(c) => self.set_reads_again(&c.start) || self.set_reads_again(&c.child),
            other => other.input().is_some_and(|input| self.rel_reads_again(input)),
        }
    }

    fn raw_rows(&self, kind: &PartKind) -> Option<f64> {
        match kind {
            PartKind::Leaf(id) => match &self.items[*id].kind {
                ItemKind::Table(table) => Some(super::access::size_of(table).0),
                _ => None,
            },
            _ => None,
        }
    }

    /// Finds the best plan of every set of parts that can be joined by itself.
    fn all_sets(&self, graph: &Graph<'_>, whole: Mask, best: &mut HashMap<Mask, Best>) -> Result<()> {
        let most = 1usize << graph.nodes.len();
        let mut dense: Vec<Option<Best>> = vec![None; most];
        for (mask, found) in best.iter() {
            dense[*mask as usize] = Some(*found);
        }
        for mask in 1..most as Mask {
            if mask.count_ones() < 2 || !graph.is_allowed(mask) {
                continue;
            }
            if mask.is_multiple_of(CHECKED_EACH) {
                self.functions.check_cancel()?;
            }
            let mut rows = None;
            let mut left = (mask - 1) & mask;
            while left != 0 {
                let right = mask & !left;
                if let Some(left_best) = dense[left as usize] {
                    let right_best = dense[right as usize];
                    if let (Some(rows), Some(found)) = (rows, &dense[mask as usize])
                        && least_cost(&left_best, right_best.as_ref(), right.count_ones(), rows) >= found.cost
                    {
                        left = (left - 1) & mask;
                        continue;
                    }
                    self.consider(graph, (left, left_best), (right, right_best), &mut rows, &mut dense[mask as usize]);
                }
                left = (left - 1) & mask;
            }
        }
        let found = dense.into_iter().enumerate().filter_map(|(mask, found)| Some((mask as Mask, found?)));
        best.extend(found.filter(|(mask, _)| whole & mask == *mask));
        Ok(())
    }

    /// Joins the pair that leaves the fewest rows until all parts are joined.
    fn pairs_by_size(&self, graph: &Graph<'_>, whole: Mask, best: &mut HashMap<Mask, Best>) -> Result<()> {
        let mut sets: Vec<Mask> = best.keys().copied().filter(|m| m.count_ones() < 2).collect();
        sets.sort_unstable();
        let mut waiting: Vec<usize> = (0..graph.nodes.len()).filter(|part| !graph.nodes[*part].is_free()).collect();
        let mut products = false;
        // A pair that was weighed in a step before is as good now.
        let mut known: HashMap<(Mask, Mask, bool), Option<Best>> = HashMap::new();
        while sets.len() > 1 || !waiting.is_empty() {
            let mut found: Option<(Mask, Mask, Best)> = None;
            let pairs = sets.iter().flat_map(|l| sets.iter().map(move |r| (*l, *r)).filter(|(l, r)| l != r));
            let pairs = pairs.chain(sets.iter().flat_map(|l| waiting.iter().map(move |p| (*l, bit(*p)))));
            for (left, right) in pairs {
                if !products && !graph.is_allowed(left | right) {
                    continue;
                }
                let weighed = known.len() as Mask;
                let joined = match known.entry((left, right, products)) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(place) => {
                        if weighed.is_multiple_of(CHECKED_EACH) {
                            self.functions.check_cancel()?;
                        }
                        let mut joined = None;
                        let (left_best, right_best) = (best[&left], best.get(&right).copied());
                        if products {
                            self.weigh(graph, (left, left_best), (right, right_best), &mut None, &mut joined);
                        } else {
                            self.consider(graph, (left, left_best), (right, right_best), &mut None, &mut joined);
                        }
                        *place.insert(joined)
                    }
                };
                if let Some(joined) = joined
                    && found.as_ref().is_none_or(|(_, _, b)| (joined.rows, joined.cost) < (b.rows, b.cost))
                {
                    found = Some((left, right, joined));
                }
            }
            match found {
                Some((left, right, joined)) => {
                    sets.retain(|m| *m != left && *m != right);
                    waiting.retain(|p| bit(*p) != right);
                    sets.push(left | right);
                    best.insert(left | right, joined);
                    products = false;
                }
                // What is left cannot be connected, or stands where no hint put it.
                None if !products => products = true,
                None => return Err(Ora::internal("a join whose parts wait for one another")),
            }
        }
        debug_assert!(sets == [whole]);
        Ok(())
    }

    /// Weighs the ways of joining two sets, when they may be joined.
    fn consider(
        &self,
        graph: &Graph<'_>,
        left: (Mask, Best),
        right: (Mask, Option<Best>),
        rows: &mut Option<f64>,
        best: &mut Option<Best>,
    ) {
        if graph.may_join(left.0, right.0) {
            self.weigh(graph, left, right, rows, best);
        }
    }

    fn weigh(
        &self,
        graph: &Graph<'_>,
        (left, left_best): (Mask, Best),
        (right, right_best): (Mask, Option<Best>),
        rows: &mut Option<f64>,
        best: &mut Option<Best>,
    ) {
        let single = (right.count_ones() == 1).then(|| right.trailing_zeros() as usize);
        let node = single.map(|part| &graph.nodes[part]);
        if let Some(node) = node {
            if node.needs & !left != 0 {
                return;
            }
        } else if right_best.is_none() {
            return;
        }
        let alone = node.and_then(|node| node.alone.as_ref());
        let Some((right_rows, right_cost)) =
            right_best.map(|b| (b.rows, b.cost)).or_else(|| alone.map(|alone| (alone.rows, alone.cost)))
        else {
            return;
        };
        let join = graph.conditions(left, right, node);
        let out = *rows.get_or_insert_with(|| self.joined_rows(graph, left_best.rows, right_rows, node, &join));
        let allowed = graph.methods(right, node);
        // A hint for a method is heeded where its table is joined to others.
        let evaded = left.count_ones() == 1 && allowed.is_none() && graph.methods_of(left.trailing_zeros()).is_some();
        let mut offer = |method: Method, cost: f64| {
            let is_allowed = allowed.is_none_or(|methods| methods.contains(&method.kind()));
            // What no hint asks for is taken where nothing else can be done.
            let cost = if is_allowed { cost } else { cost + UNWANTED };
            let cost = if evaded { cost + UNHEEDED } else { cost };
            if best.as_ref().is_none_or(|b| cost < b.cost) {
                *best = Some(Best { rows: out, cost, how: How::Join { left, right, method } });
            }
        };
        let lateral = node.is_some_and(|node| node.lateral);
        let link = node.map(|node| node.link);
        let nulls = matches!(link, Some(Link::AntiNulls { .. }));
        let hashes = (nulls || join.on.iter().any(|c| c.is_key(right))) && !lateral;
        if hashes {
            let hinted = |name: &str| {
                node.is_some_and(|node| graph.hints.iter().any(|h| h.name == name && h.args.contains(&node.alias)))
            };
            let is_right = right_rows <= left_best.rows && !hinted("NO_SWAP_JOIN_INPUTS");
            let build = if is_right || hinted("SWAP_JOIN_INPUTS") { Side::Right } else { Side::Left };
            let (built, probing) = match build {
                Side::Right => (right_rows, left_best.rows),
                Side::Left => (left_best.rows, right_rows),
            };
            offer(Method::Hash(build), left_best.cost + right_cost + cost::hash_join(built, probing, out));
            let plain = !join.on.iter().any(|c| c.is_key(right) && c.is_padded());
            if !nulls && plain {
                let sorts = cost::sort(left_best.rows, 1) + cost::sort(right_rows, 1);
                offer(Method::Merge, left_best.cost + right_cost + sorts + out * cost::PER_ROW);
            }
        }
        // Rows that lie together in the order of an inequality are found by their place.
        if !hashes && !nulls && !lateral && !node.is_some_and(|node| node.unstable) {
            let ranges = ranges_of(&join.on, right);
            if !ranges.is_empty() {
                let share: f64 = ranges.iter().map(|(at, _)| self.share_of_join(graph, &join.on[*at].expr)).product();
                let sorts = cost::sort(left_best.rows, 1) + cost::sort(right_rows, 1);
                let met = left_best.rows * right_rows * share * cost::PER_PAIR;
                offer(Method::Merge, left_best.cost + right_cost + sorts + met + out * cost::PER_ROW);
            }
        }
        if let Some(part) = single
            && let Some(cost) = self.probe(graph, part, &join)
        {
            let weight = Cost::new(cost, 0.0);
            offer(Method::Probe, left_best.cost + cost::probe(left_best.rows, weight).total);
        }
        if let Some((rows, cost)) = node.and_then(|node| node.rerun) {
            let weight = Cost::new(cost, 0.0);
            offer(Method::Rerun, left_best.cost + cost::again(left_best.rows, weight, rows).total);
        }
        let again = cost::again(left_best.rows, Cost::new(right_cost, 0.0), right_rows).total + left_best.cost;
        if lateral || node.is_some_and(|node| node.unstable) {
            offer(Method::Again, again);
        } else {
            // Few rows may be many: where a hash join can be had, it costs little more and bears that.
            let compared = if hashes { right_rows.max(cost::DOUBTED_ROWS) } else { right_rows };
            let pairs =
                cost::buffered(left_best.rows, right_rows) + left_best.rows * (compared - right_rows) * cost::PER_PAIR;
            offer(Method::Buffered, left_best.cost + right_cost + pairs);
        }
    }

    /// The cost of reaching one table through the conditions of a join, when an index, a rowid or a hash leads to it.
    fn probe(&self, graph: &Graph<'_>, part: usize, join: &Conditions<'_>) -> Option<f64> {
        let PartKind::Leaf(id) = *graph.nodes[part].kind else { return None };
        let ItemKind::Table(table) = &self.items[id].kind else { return None };
        let key = (part, join.on.iter().map(|c| std::ptr::from_ref::<Cond>(c) as usize).collect());
        if let Some(known) = graph.probes.borrow().get(&key) {
            return *known;
        }
        let cost = self.probe_table(graph, (&graph.nodes[part], id, table), join).map(|choice| choice.cost);
        graph.probes.borrow_mut().insert(key, cost);
        cost
    }

    fn probe_table(
        &self,
        graph: &Graph<'_>,
        (node, id, table): (&Member<'_>, ItemId, &std::rc::Rc<dictionary::TableDef>),
        join: &Conditions<'_>,
    ) -> Option<Choice> {
        let conds: Vec<Expr> = node.local.iter().chain(join.on.iter().map(|c| &c.expr)).cloned().collect();
        let columns = self.read_columns(id);
        let choice = self.choose_access(id, table, &conds, Some(&columns), graph.hints);
        // An index that the table's own conditions lead through is no better than the table by itself.
        let uses_join = choice.used.iter().any(|at| *at >= node.local.len());
        (uses_join || !matches!(choice.access, Access::Full) && node.local.is_empty()).then_some(choice)
    }

    /// The rows that a join gives.
    fn joined_rows(
        &self,
        graph: &Graph<'_>,
        left: f64,
        right: f64,
        node: Option<&Member>,
        join: &Conditions<'_>,
    ) -> f64 {
        let link = node.map(|node| node.link);
        let mut share = 1.0;
        let mut by_table: HashMap<Mask, f64> = HashMap::new();
        for c in &join.on {
            let one = self.share_of_join(graph, &c.expr);
            if matches!(&c.expr.node, Node::Cmp(CmpOp::Eq, ..)) {
                *by_table.entry(c.mask).or_insert(1.0) *= one;
            } else {
                share *= one;
            }
        }
        // Several equalities between two tables are mostly a key of one of them.
        for (mask, product) in by_table {
            let largest = parts_of(mask).map(|p| graph.nodes[p].raw_rows).fold(1.0, f64::max);
            share *= product.max(1.0 / largest.max(1.0));
        }
        let matches = left * right * share;
        let rows = match link {
            None | Some(Link::Inner) => matches,
            Some(Link::Left(_)) => matches.max(left),
            Some(Link::Semi(_)) => {
                left * self.share_met(graph, node, right, &join.on).unwrap_or(right * share).min(1.0)
            }
            Some(Link::Anti(_) | Link::AntiNulls { .. }) => {
                let met = self.share_met(graph, node, right, &join.on).unwrap_or(right * share);
                left * (1.0 - met).max(0.05)
            }
        };
        (rows * self.share_of_all(join.above.iter().map(|c| &c.expr))).max(1.0)
    }

    /// The share of rows that have a match on a part of so many rows: that of the values of the only key.
    fn share_met(&self, graph: &Graph<'_>, node: Option<&Member<'_>>, right: f64, on: &[&Cond]) -> Option<f64> {
        let node = node?;
        let mut equalities = on.iter().filter_map(|c| match &c.expr.node {
            Node::Cmp(CmpOp::Eq, _, a, b) => Some((&**a, &**b)),
            _ => None,
        });
        let ((a, b), None) = (equalities.next()?, equalities.next()) else { return None };
        let own = graph.nodes.iter().position(|other| std::ptr::eq(other, node))?;
        let (inside, outside) = if self.mask_of(a, &graph.owner) == bit(own) { (a, b) } else { (b, a) };
        let (inside, outside) = (self.distinct_values(inside)?, self.distinct_values(outside)?);
        let there = crate::estimate::distinct_after(inside, node.raw_rows.max(right), right);
        Some((there / outside.max(1.0)).min(1.0))
    }

    /// The share of pairs of rows that a condition keeps, when what it implies of each side has been checked there.
    fn share_of_join(&self, graph: &Graph<'_>, c: &Expr) -> f64 {
        match &c.node {
            Node::Cmp(CmpOp::Eq, _, a, b) => match (&a.node, &b.node) {
                (Node::Reg(a), Node::Reg(b)) if graph.fixed.contains(a) && graph.fixed.contains(b) => 1.0,
                _ => self.share(c),
            },
            Node::Or(branches) => {
                let mut share = self.share(c);
                for part in parts_of(self.mask_of(c, &graph.owner)) {
                    let mut own = HashSet::new();
                    self.part_regs(graph.nodes[part].kind, &mut |r| {
                        own.insert(r);
                    });
                    if let Some(limit) = self.limit_of(branches, &own) {
                        share /= self.share(&limit).max(1e-6);
                    }
                }
                share.min(1.0)
            }
            _ => self.share(c),
        }
    }

    /// Makes the row source of a set by what was found to be best.
    fn build_join(&mut self, graph: &mut Graph<'_>, mask: Mask, best: &HashMap<Mask, Best>) -> Result<Source> {
        let (left, right, method) = match best[&mask].how {
            How::Alone(usize::MAX) => return Ok(Source::Dual),
            How::Alone(part) => {
                let node = &mut graph.nodes[part];
                return Ok(node.alone.take().expect("each part is joined once").source);
            }
            How::Join { left, right, method } => (left, right, method),
        };
        let left_source = self.build_join(graph, left, best)?;
        let single = (right.count_ones() == 1).then(|| right.trailing_zeros() as usize);
        let node = single.map(|part| &graph.nodes[part]);
        let join = graph.conditions(left, right, node);
        let keyed = join.on.iter().enumerate().filter_map(|(at, c)| Some((at, key_of(c, right)?)));
        let keys: Vec<(usize, JoinKey)> = keyed.collect();
        let ranges = if keys.is_empty() { ranges_of(&join.on, right) } else { Vec::new() };
        let on: Vec<Expr> = join.on.iter().map(|c| c.expr.clone()).collect();
        let above: Vec<Expr> = join.above.iter().map(|c| c.expr.clone()).collect();
        let done = join.done;
        let (kind, nulls) = match node.map(|node| node.link) {
            None | Some(Link::Inner) => (JoinKind::Inner, Vec::new()),
            Some(Link::Left(_)) => (JoinKind::Left, Vec::new()),
            Some(Link::Semi(_)) => (JoinKind::Semi, Vec::new()),
            Some(Link::Anti(_)) => (JoinKind::Anti, Vec::new()),
            Some(Link::AntiNulls { pairs, .. }) => (JoinKind::AntiNullAware, pairs.clone()),
        };
        let unstable = node.is_some_and(|node| node.unstable);
        let lateral = node.is_some_and(|node| node.lateral || node.unstable && !node.is_fixed);
        let local = node.map_or(Vec::new(), |node| node.local.clone());
        let mut at = 0;
        graph.conds.retain(|_| {
            at += 1;
            !done.contains(&(at - 1))
        });
        let rows = (best.get(&left).map_or(1.0, |b| b.rows), best[&mask].rows);
        if let Method::Hash(build) = method {
            let right_rows = match best.get(&right) {
                Some(right) => right.rows,
                None => node.and_then(|node| node.alone.as_ref()).map_or(0.0, |alone| alone.rows),
            };
            let right_source = self.build_join_side(graph, right, best)?;
            let keys =
                keys.into_iter().chain(nulls.into_iter().map(|(left, right)| {
                    (usize::MAX, JoinKey { left, right, padded: false, nulls: KeyNulls::Unknown })
                }));
            let mut source = hash_join(left_source, right_source, kind, build, on, keys.collect());
            source.set_rows(rows.1);
            let probing = if build == Side::Right { rows.0 } else { right_rows };
            if probing > FILTERED_ROWS && rows.1 < probing * FILTERED_SHARE {
                self.filter_probing_side(&mut source);
            }
            return Ok(filter(source, above));
        }
        let kind = if kind == JoinKind::AntiNullAware { JoinKind::Anti } else { kind };
        let on: Vec<Expr> = on.into_iter().chain(nulls.into_iter().map(|(a, b)| unknown_or_equal(a, b))).collect();
        let mut source = match method {
            Method::Hash(_) => unreachable!("made above"),
            Method::Merge => {
                let right_source = self.build_join_side(graph, right, best)?;
                merge_join(left_source, right_source, kind, on, (keys, ranges))
            }
            Method::Probe => {
                let part = single.expect("one table is probed");
                let conds = local.into_iter().chain(on).collect();
                let kind_of_part = graph.nodes[part].kind;
                let right_source = self.plan_part(kind_of_part, conds, graph.hints)?.source;
                loops(left_source, right_source, kind, false)
            }
            Method::Rerun => {
                let part = single.expect("one part is planned with known values");
                let kind_of_part = graph.nodes[part].kind;
                let conds = local.into_iter().chain(on).collect();
                let right_source = self.plan_part(kind_of_part, conds, graph.hints)?.source;
                loops(left_source, right_source, kind, true)
            }
            Method::Again => {
                let right_source = self.build_join_side(graph, right, best)?;
                loops(left_source, matching(right_source, on, rows), kind, lateral)
            }
            Method::Buffered => {
                let right_source = self.build_join_side(graph, right, best)?;
                let right_source = if unstable || cheap(&right_source) {
                    right_source
                } else {
                    let regs = produced(&right_source);
                    let rows = right_source.rows().unwrap_or(UNKNOWN_ROWS);
                    Source::Buffer { input: Box::new(right_source), regs, rows }
                };
                loops(left_source, matching(right_source, on, rows), kind, false)
            }
        };
        source.set_rows(rows.1);
        Ok(filter(source, above))
    }

    fn build_join_side(&mut self, graph: &mut Graph<'_>, side: Mask, best: &HashMap<Mask, Best>) -> Result<Source> {
        if side.count_ones() == 1 {
            let node = &mut graph.nodes[side.trailing_zeros() as usize];
            return Ok(node.alone.take().expect("each part is joined once").source);
        }
        self.build_join(graph, side, best)
    }

    fn plan_part(&mut self, kind: &PartKind, conds: Vec<Expr>, hints: &[ast::Hint]) -> Result<Planned> {
        match kind {
            PartKind::Leaf(id) => self.plan_leaf(*id, conds, hints),
            PartKind::Set(set) => self.plan_set_with(set, &conds),
            PartKind::Full(full) => {
                let Planned { source, rows, cost } = self.plan_full(&full.0, &full.1, &full.2)?;
                let rows = self.kept(&conds, rows);
                Ok(Planned::new(filter(source, conds), rows, cost))
            }
        }
    }

    fn plan_full(&mut self, left: &JoinSet, right: &JoinSet, on: &[Expr]) -> Result<Planned> {
        let mut owner = HashMap::new();
        for (side, set) in [(0, left), (1, right)] {
            self.set_regs(set, &mut |r| {
                owner.insert(r, side);
            });
        }
        let is_key = |(at, c): (usize, &Expr)| Some((at, self.hash_key(c, 2, &owner)?));
        let keys: Vec<_> = on.iter().enumerate().filter_map(is_key).collect();
        let (l, r) = (self.plan_set(left)?, self.plan_set(right)?);
        let rows = l.rows + r.rows;
        let cost = l.cost + r.cost + cost::hash_join(r.rows, l.rows, rows);
        let build = if r.rows <= l.rows { Side::Right } else { Side::Left };
        let source = hash_join(l.source, r.source, JoinKind::Full, build, on.to_vec(), keys);
        Ok(Planned::new(source, rows, cost))
    }

    /// `left = right` with each side from one of two sets.
    fn hash_key(&self, c: &Expr, right: Mask, owner: &HashMap<Reg, usize>) -> Option<JoinKey> {
        key_of(&self.cond(c.clone(), self.mask_of(c, owner), owner), right)
    }

    /// Gives the side of a hash join that looks into the table a filter of its keys, as near to where its rows are read
    /// as rows may be left out.
    fn filter_probing_side(&mut self, join: &mut Source) {
        let Source::HashJoin { left, right, kind, build, keys, filters, .. } = join else { return };
        let (probing, side) = match build {
            Side::Right => (&mut **left, Side::Left),
            Side::Left => (&mut **right, Side::Right),
        };
        let drops = match side {
            Side::Left => matches!(kind, JoinKind::Inner | JoinKind::Semi),
            Side::Right => matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti),
        };
        if !drops || keys.is_empty() || keys.iter().any(|key| key.nulls != KeyNulls::Never) {
            return;
        }
        let of_side = |key: &JoinKey| Key {
            value: if side == Side::Left { key.left.clone() } else { key.right.clone() },
            padded: key.padded,
        };
        let id = self.filters;
        if add_filter(probing, id, keys.iter().map(of_side).collect()) {
            self.filters += 1;
            filters.push(BuiltFilter { id, keys: (0..keys.len()).collect() });
        }
    }

    pub(super) fn is_virtual(&self, id: ItemId, column: usize) -> bool {
        matches!(&self.items[id].kind, ItemKind::Table(t) if t.columns[column].virtual_text.is_some())
    }

    /// The columns of an item that have registers.
    fn read_columns(&self, id: ItemId) -> ColumnMap {
        let columns = self.items[id].columns.iter().enumerate().filter(|(i, _)| !self.is_virtual(id, *i));
        let read = columns.filter_map(|(i, c)| match &c.value {
            Some(Expr { node: Node::Reg(r), .. }) => Some((i as u16, *r)),
            _ => None,
        });
        read.collect()
    }

    /// The row source of one item with the conditions that can be checked on it.
    fn plan_leaf(&mut self, id: ItemId, conds: Vec<Expr>, hints: &[ast::Hint]) -> Result<Planned> {
        let alias = self.items[id].alias.clone();
        let columns = self.read_columns(id);
        let rowid = self.items[id].rowid;
        let of = |planned: Planned, conds: Vec<Expr>, c: &Self| {
            let rows = c.kept(&conds, planned.rows);
            let cost = planned.cost + cost::filter(planned.rows, conds.len());
            Planned::new(filter(planned.source, conds), rows, cost)
        };
        Ok(match &mut self.items[id].kind {
            ItemKind::Table(t) => {
                let table = t.clone();
                let choice = self.choose_access(id, &table, &conds, Some(&columns), hints);
                if let Some(expanded) = self.expand_or(id, &table, &conds, &choice, hints)? {
                    return Ok(expanded);
                }
                if let Some(joined) = self.index_join(id, &table, &conds, &columns, &choice, hints) {
                    return Ok(joined);
                }
                let used = &choice.used;
                let filter = conds.into_iter().enumerate().filter(|(i, _)| !used.contains(i)).map(|(_, c)| c).collect();
                let rows = choice.rows;
                let mut access = choice.access;
                if let Access::IndexRange(range) = &mut access {
                    range.index_only = covers(&range.index, &columns);
                }
                let (degree, because) = self.degree_of(&table, &alias, hints);
                let scan = Scan {
                    table,
                    alias,
                    access,
                    columns,
                    rowid,
                    filter,
                    rows,
                    cost: choice.real,
                    entries: choice.entries,
                    as_of: self.as_of_items.get(&id).copied(),
                    versions: self.version_items.get(&id).copied(),
                    pseudos: self.pseudos.get(&id).cloned().unwrap_or_default(),
                    hinted: choice.hinted,
                    block: self.query_blocks.planned,
                    origin: self.query_blocks.of_item(id),
                    degree,
                    degree_because: because as u8,
                    granules: false,
                };
                Planned::new(Source::Scan(Box::new(scan)), rows, choice.cost)
            }
            ItemKind::Fixed { name, handle } => {
                let (name, handle) = (name.clone(), *handle);
                let rows = self.kept(&conds, cost::FIXED_ROWS);
                let source = Source::Fixed { name, alias, handle, columns, filter: conds, rows };
                Planned::new(source, rows, cost::FIXED_ROWS * cost::PER_ROW)
            }
            ItemKind::Dual => of(Planned::new(Source::Dual, 1.0, 0.0), conds, self),
            ItemKind::Merged(_) => Planned::new(Source::Dual, 1.0, 0.0),
            ItemKind::Cte { id: cte } => {
                let cte = *cte;
                let rows = self.cte_rows.get(cte).copied().unwrap_or(200.0);
                let source = Source::Cte { id: cte, name: alias, columns, rows };
                of(Planned::new(source, rows, rows * cost::PER_ROW), conds, self)
            }
            ItemKind::Elements { value, objects } => {
                let rows = 10.0;
                let source = Source::Elements { value: value.clone(), objects: *objects, columns, rows };
                of(Planned::new(source, rows, cost::ELEMENTS), conds, self)
            }
            ItemKind::Derived { rel, out, .. } => {
                // Large trees are not copied: it is given back when it has been planned.
                let tree = rel.take().ok_or_else(|| Ora::internal("a view without a tree"))?;
                let exprs: Vec<(Expr, Reg)> = columns.iter().map(|&(i, r)| (out[i as usize].clone(), r)).collect();
                let planned = self.plan_rel(&tree);
                if let ItemKind::Derived { rel, .. } = &mut self.items[id].kind {
                    *rel = Some(tree);
                }
                let planned = planned?;
                for (e, reg) in &exprs {
                    if let Some(distinct) = self.distinct_values(e) {
                        self.set_distinct(*reg, e.ty, distinct);
                    }
                }
                let view = (!alias.is_empty()).then_some(alias);
                let Planned { source, rows, cost } = planned;
                let source = Source::Project { input: Box::new(source), exprs, view, rows };
                of(Planned::new(source, rows, cost + rows * cost::PER_ROW), conds, self)
            }
        })
    }

    /// A table whose OR is answered by an index for each of its branches: one scan after the other, of which each leaves
    /// out what those before it have found. `None` where that costs more than `single`, the best way by one scan.
    fn expand_or(
        &mut self,
        id: ItemId,
        table: &std::rc::Rc<dictionary::TableDef>,
        conds: &[Expr],
        single: &Choice,
        hints: &[ast::Hint],
    ) -> Result<Option<Planned>> {
        let is_or = |c: &&Expr| matches!(&c.node, Node::Or(all) if all.len() <= BRANCHES_MAX) && !c.has_subquery();
        if single.hinted || !matches!(single.access, Access::Full) || !conds.iter().any(|c| is_or(&c)) {
            return Ok(None);
        }
        if table.indexes.is_empty() || self.version_items.contains_key(&id) || self.expanding {
            return Ok(None);
        }
        let Some(at) = conds.iter().position(|c| is_or(&c)) else { return Ok(None) };
        let Node::Or(branches) = &conds[at].node else { return Ok(None) };
        let rest: Vec<Expr> = conds.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, c)| c.clone()).collect();
        let columns = self.read_columns(id);
        let mut cost = 0.0;
        let mut all = Vec::new();
        for (n, branch) in branches.iter().enumerate() {
            let mut own = rest.clone();
            crate::expr::flatten_and(branch.clone(), &mut own);
            own.extend(branches[..n].iter().map(not_true));
            let choice = self.choose_access(id, table, &own, Some(&columns), hints);
            cost += choice.cost + cost::set(SetKind::UnionAll, choice.rows);
            if matches!(choice.access, Access::Full | Access::IndexFast { .. }) || cost >= single.cost {
                return Ok(None);
            }
            all.push(own);
        }
        self.expanding = true;
        let planned = all.into_iter().map(|own| self.plan_leaf(id, own, hints)).collect::<Result<Vec<_>>>();
        self.expanding = false;
        // Every branch leaves its row in the same registers.
        let regs = planned.as_ref().map_or(Vec::new(), |all| produced(&all[0].source));
        let value = |r: &Reg| Expr::new(Node::Reg(*r), types::DataType::NUMBER);
        let inputs = planned?.into_iter().map(|p| (p.source, regs.iter().map(value).collect())).collect();
        let source = Source::Set { kind: SetKind::UnionAll, inputs, out: regs, rows: single.rows };
        Ok(Some(Planned::new(source, single.rows, cost)))
    }

    /// Whether a condition names more than one part of a set.
    pub fn spans_parts(&self, set: &JoinSet, cond: &Expr) -> bool {
        let mut owner = HashMap::new();
        for (i, part) in set.parts.iter().enumerate() {
            self.part_regs(&part.kind, &mut |r| {
                owner.insert(r, i);
            });
        }
        self.mask_of(cond, &owner).count_ones() > 1
    }
}

/// Rows that look into a hash table from which on a filter of its keys is worth it, and the share of them that has a match
/// at most.
const FILTERED_ROWS: f64 = 5000.0;
const FILTERED_SHARE: f64 = 0.7;
/// Branches of an OR that are looked for by an index each.
const BRANCHES_MAX: usize = 8;
/// Joins inside a join up to which it is planned a second time, with known values: each doubles the work.
const RERUNS_MAX: usize = 3;
/// Added to the cost of what a hint has ruled out.
const UNWANTED: f64 = 1e12;
/// Added to the cost of an order that makes nothing of a hint.
const UNHEEDED: f64 = 1e9;

/// No way of joining two sets costs less than this, with so many parts on the right and so many rows of the join. It is
/// found without looking at a condition.
fn least_cost(left: &Best, right: Option<&Best>, right_parts: u32, rows: f64) -> f64 {
    // A single part may be reached by an index.
    let Some(right) = right.filter(|_| right_parts > 1) else { return left.cost };
    // As `Compiler::weigh` has it, of what a join of two inputs may be.
    let is_right = right.rows <= left.rows;
    let (built, probing) = if is_right { (right.rows, left.rows) } else { (left.rows, right.rows) };
    let hashed = left.cost + right.cost + cost::hash_join(built, probing, rows);
    let sorts = cost::sort(left.rows, 1) + cost::sort(right.rows, 1);
    let merged = left.cost + right.cost + sorts + rows * cost::PER_ROW;
    let buffered = left.cost + right.cost + cost::buffered(left.rows, right.rows);
    hashed.min(merged).min(buffered)
}

/// After so many steps of a search it is asked whether the statement is to end.
const CHECKED_EACH: Mask = 64;

/// The conditions of one join.
struct Conditions<'g> {
    /// Those that decide a match.
    on: Vec<&'g Cond>,
    /// Those of WHERE that are checked above an outer join.
    above: Vec<&'g Cond>,
    /// The conditions of WHERE among them, by their place in the graph.
    done: Vec<usize>,
}

/// The key that an equality is where one of two sets of parts is this.
fn key_of(c: &Cond, right: Mask) -> Option<JoinKey> {
    let (Node::Cmp(_, _, a, b), Some((_, of_b, padded))) = (&c.expr.node, c.sides.filter(|_| c.is_key(right))) else {
        return None;
    };
    let (left, right) = if of_b & right != 0 { (a, b) } else { (b, a) };
    Some(JoinKey { padded, ..JoinKey::equal((**left).clone(), (**right).clone()) })
}

impl Graph<'_> {
    fn connect(&mut self) {
        let masks = self.conds.iter().map(|c| c.mask);
        let links = self.nodes.iter().enumerate().map(|(part, node)| node.needs | bit(part));
        for mask in masks.chain(links) {
            for part in parts_of(mask) {
                self.neighbours[part] |= mask & !bit(part);
            }
        }
        let mut left = (0..self.nodes.len()).fold(0, |mask, part| mask | bit(part));
        while left != 0 {
            let mut component = left & left.wrapping_neg();
            loop {
                let grown = parts_of(component).fold(component, |all, part| all | self.neighbours[part]);
                if grown == component {
                    break;
                }
                component = grown;
            }
            self.components.push(component);
            left &= !component;
        }
    }

    /// Whether hints allow a set of parts to be joined by itself.
    fn is_allowed(&self, mask: Mask) -> bool {
        // A set has a first part of those named, or is joined behind them.
        let mut named: Mask = 0;
        for &part in &self.leading {
            if mask & bit(part) == 0 {
                break;
            }
            named |= bit(part);
        }
        let all = self.leading.iter().fold(0, |all, part| all | bit(*part));
        named & all == mask & all && (named == all || mask & !all == 0)
    }

    /// Whether two sets may be joined with one another: a condition connects them, or nothing connects them to others.
    fn may_join(&self, left: Mask, right: Mask) -> bool {
        if !self.leading.is_empty() {
            // Hints fix the order of rows too: what comes next is joined to all that was.
            if right.count_ones() > 1 {
                return false;
            }
            let next = self.leading.iter().position(|part| right == bit(*part));
            // The first part named is on the left of all others.
            if let Some(at) = next
                && (at == 0 || self.leading[..at].iter().any(|part| left & bit(*part) == 0))
            {
                return false;
            }
            if next.is_some() {
                return true;
            }
        }
        let near = parts_of(left).fold(0, |all, part| all | self.neighbours[part]);
        if near & right != 0 {
            return true;
        }
        let part = right.trailing_zeros() as usize;
        if right.count_ones() == 1 && !self.nodes[part].is_inner() && self.nodes[part].needs == 0 {
            return true;
        }
        let is_whole = |mask: Mask| self.components.iter().all(|c| c & mask == 0 || c & mask == *c);
        is_whole(left) && is_whole(right)
    }

    /// The conditions that are checked when two sets are joined.
    fn conditions<'g>(&'g self, left: Mask, right: Mask, node: Option<&'g Member>) -> Conditions<'g> {
        let both = left | right;
        let mut join = Conditions { on: Vec::new(), above: Vec::new(), done: Vec::new() };
        let own = node.filter(|node| !node.is_inner());
        if let Some(node) = own {
            join.on.extend(&node.across);
        }
        let mut seen: Vec<usize> = Vec::new();
        for (at, c) in self.conds.iter().enumerate() {
            // A condition without parts has a subquery: it is checked where the last part is joined.
            let now = match c.mask {
                0 => both.count_ones() as usize == self.nodes.len(),
                mask => mask & !both == 0 && mask & right != 0 && (mask & left != 0 || own.is_some()),
            };
            if !now {
                continue;
            }
            join.done.push(at);
            // One equality of a class decides all of them: within each side they hold.
            if own.is_none()
                && let Some(class) = c.class
            {
                if seen.contains(&class) {
                    continue;
                }
                seen.push(class);
            }
            if own.is_some() { join.above.push(c) } else { join.on.push(c) }
        }
        join
    }

    /// The methods that hints ask for, when a part is joined.
    fn methods(&self, right: Mask, node: Option<&Member>) -> Option<&'static [Kind]> {
        let node = node?;
        if let Some(methods) = self.methods_of(right.trailing_zeros()) {
            return Some(methods);
        }
        // A query that asks for an order of fixed tables samples them: they are read again for each row.
        let is_first = self.leading.first().is_some_and(|part| right == bit(*part));
        if node.unstable && !is_first && self.hints.iter().any(|h| h.name == "ORDERED") {
            return Some(&[Kind::Loops]);
        }
        None
    }

    fn methods_of(&self, part: u32) -> Option<&'static [Kind]> {
        let node = self.nodes.get(part as usize)?;
        let hinted = |name: &str| self.hints.iter().any(|h| h.name == name && h.args.contains(&node.alias));
        if hinted("USE_NL") || hinted("USE_NL_WITH_INDEX") {
            return Some(&[Kind::Loops]);
        }
        if hinted("USE_HASH") {
            return Some(&[Kind::Hash]);
        }
        if hinted("USE_MERGE") {
            return Some(&[Kind::Merge]);
        }
        if hinted("NO_USE_HASH") {
            return Some(&[Kind::Loops, Kind::Merge]);
        }
        if hinted("NO_USE_NL") {
            return Some(&[Kind::Hash, Kind::Merge]);
        }
        None
    }
}

/// The class that an equality of columns is of.
fn class_of(classes: &[Vec<Reg>], c: &Expr) -> Option<usize> {
    let (a, b) = crate::rewrite::equal_columns(c)?;
    classes.iter().position(|class| class.contains(&a) && class.contains(&b))
}

/// Classes of columns of inner parts that conditions make equal. The equalities that follow are added to them, so that
/// each pair of parts that have a column of a class is connected.
fn equal_columns(conds: &mut Vec<(Expr, Mask)>, nodes: &[Member], owner: &HashMap<Reg, usize>) -> Vec<Vec<Reg>> {
    let mut classes: Vec<Vec<(Reg, types::DataType)>> = Vec::new();
    for (c, _) in conds.iter() {
        let Some((a, b)) = crate::rewrite::equal_columns(c) else { continue };
        let is_inner = |r: &Reg| owner.get(r).is_some_and(|part| nodes[*part].is_inner());
        let Node::Cmp(_, _, left, right) = &c.node else { continue };
        if !is_inner(&a) || !is_inner(&b) {
            continue;
        }
        let mut class = vec![(a, left.ty), (b, right.ty)];
        let (touched, others): (Vec<_>, Vec<_>) =
            classes.into_iter().partition(|known| known.iter().any(|(r, _)| *r == a || *r == b));
        class.extend(touched.into_iter().flatten());
        class.sort_by_key(|(r, _)| *r);
        class.dedup_by_key(|(r, _)| *r);
        classes = others;
        classes.push(class);
    }
    for class in classes.iter().filter(|class| class.len() > 2) {
        for (at, (a, a_ty)) in class.iter().enumerate() {
            for (b, b_ty) in &class[at + 1..] {
                let mask = bit(owner[a]) | bit(owner[b]);
                let is_it = |c: &Expr| crate::rewrite::equal_columns(c).is_some_and(|p| p == (*a, *b) || p == (*b, *a));
                if mask.count_ones() == 2 && !conds.iter().any(|(c, _)| is_it(c)) {
                    let side = |r: &Reg, ty: &types::DataType| Box::new(Expr::new(Node::Reg(*r), *ty));
                    let eq = Node::Cmp(CmpOp::Eq, Compare::Plain, side(a, a_ty), side(b, b_ty));
                    conds.push((Expr::new(eq, types::DataType::Boolean), mask));
                }
            }
        }
    }
    // A part with two columns of a class does not hold their equality by itself: of such a class each one is checked.
    let holds = |class: &Vec<(Reg, types::DataType)>| {
        let mut parts: Vec<usize> = class.iter().map(|(r, _)| owner[r]).collect();
        parts.sort_unstable();
        parts.windows(2).all(|pair| pair[0] != pair[1])
    };
    classes.into_iter().filter(holds).map(|class| class.into_iter().map(|(r, _)| r).collect()).collect()
}

/// The column that a condition sets equal to a constant.
fn fixed_column(c: &Expr) -> Option<Reg> {
    let Node::Cmp(CmpOp::Eq, _, a, b) = &c.node else { return None };
    match (&a.node, &b.node) {
        (Node::Reg(r), Node::Const(_) | Node::Bind(_)) | (Node::Const(_) | Node::Bind(_), Node::Reg(r)) => Some(*r),
        _ => None,
    }
}

/// That a condition is false or unknown.
fn not_true(c: &Expr) -> Expr {
    let number = |n: i64| Expr::new(Node::Const(types::Value::Number(n.into())), types::DataType::NUMBER);
    let is_true =
        Expr::new(Node::Case(vec![(c.clone(), number(1))], Some(Box::new(number(0)))), types::DataType::NUMBER);
    let node = Node::Cmp(CmpOp::Eq, Compare::Plain, Box::new(is_true), Box::new(number(0)));
    Expr::new(node, types::DataType::Boolean)
}

/// Whether two values are equal, or it cannot be said: the match that NOT IN looks for.
fn unknown_or_equal(a: Expr, b: Expr) -> Expr {
    let boolean = types::DataType::Boolean;
    let is_null = |e: &Expr| Expr::new(Node::IsNull(Box::new(e.clone()), false), boolean);
    let nulls = [is_null(&a), is_null(&b)];
    let equal = Expr::new(Node::Cmp(CmpOp::Eq, Compare::Plain, Box::new(a), Box::new(b)), boolean);
    Expr::new(Node::Or(std::iter::once(equal).chain(nulls).collect()), boolean)
}

/// How deep joins lie inside a join.
fn nesting(set: &JoinSet) -> usize {
    let inside = set.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Set(set) => Some(nesting(set) + 1),
        PartKind::Full(_) => Some(RERUNS_MAX),
        PartKind::Leaf(_) => None,
    });
    inside.max().unwrap_or(0)
}

fn started(planned: Planned, startup: Vec<Expr>) -> Planned {
    if startup.is_empty() {
        return planned;
    }
    let Planned { source, rows, cost } = planned;
    Planned::new(Source::Startup { input: Box::new(source), conds: startup, rows }, rows, cost)
}

/// The order that hints ask for, as parts. A part that is named before what it needs waits for it: a hint never changes
/// an answer.
fn leading(hints: &[ast::Hint], nodes: &[Member<'_>]) -> Vec<usize> {
    let mut wanted: Vec<usize> = if hints.iter().any(|h| h.name == "ORDERED") {
        (0..nodes.len()).collect()
    } else {
        match hints.iter().find(|h| h.name == "LEADING") {
            Some(h) => h.args.iter().filter_map(|a| nodes.iter().position(|n| n.alias == *a)).collect(),
            None => Vec::new(),
        }
    };
    let (mut order, mut there): (Vec<usize>, Mask) = (Vec::new(), 0);
    while let Some(at) = wanted
        .iter()
        .position(|part| nodes[*part].needs & !there == 0 && (nodes[*part].is_inner() || !order.is_empty()))
    {
        let part = wanted.remove(at);
        if there & bit(part) == 0 {
            there |= bit(part);
            order.push(part);
        }
    }
    order
}

fn loops(left: Source, right: Source, kind: JoinKind, lateral: bool) -> Source {
    let right_regs = produced(&right);
    let (left, right, rows) = (Box::new(left), Box::new(right), UNKNOWN_ROWS);
    Source::NestedLoops { left, right, kind, right_regs, lateral, rows }
}

/// The right side of nested loops with the condition that it meets; `rows`: of the left side, and of the join.
fn matching(right: Source, on: Vec<Expr>, rows: (f64, f64)) -> Source {
    let is_filtered = !on.is_empty();
    let mut source = filter(right, on);
    if is_filtered {
        source.set_rows(rows.1 / rows.0.max(1.0));
    }
    source
}

fn hash_join(
    left: Source,
    right: Source,
    kind: JoinKind,
    build: Side,
    conds: Vec<Expr>,
    keys: Vec<(usize, JoinKey)>,
) -> Source {
    let (keys, residual) = keys_and_rest(conds, keys);
    let (left_regs, right_regs) = (produced(&left), produced(&right));
    let (left, right, filters) = (Box::new(left), Box::new(right), Vec::new());
    Source::HashJoin { left, right, kind, build, keys, residual, left_regs, right_regs, filters, rows: UNKNOWN_ROWS }
}

/// Parts of a join with the places of their conditions.
type Placed<T> = Vec<(usize, T)>;

fn merge_join(
    left: Source,
    right: Source,
    kind: JoinKind,
    conds: Vec<Expr>,
    (keys, ranges): (Placed<JoinKey>, Placed<MergeRange>),
) -> Source {
    let used: Vec<usize> = keys.iter().map(|(at, _)| *at).chain(ranges.iter().map(|(at, _)| *at)).collect();
    let residual = conds.into_iter().enumerate().filter(|(at, _)| !used.contains(at)).map(|(_, c)| c).collect();
    let keys: Vec<JoinKey> = keys.into_iter().map(|(_, key)| key).collect();
    let ranges: Vec<MergeRange> = ranges.into_iter().map(|(_, range)| range).collect();
    let sorted = |source: Source, by: Vec<&Expr>| {
        let regs = produced(&source);
        let key = |expr: &Expr| SortKey { expr: expr.clone(), desc: false, nulls_first: false };
        let keys = by.into_iter().map(key).collect();
        let rows = source.rows().unwrap_or(UNKNOWN_ROWS);
        Source::Sort { input: Box::new(source), keys, regs, top: None, rows }
    };
    // Where right rows start to meet it, they do so later for each left row.
    let lower = ranges.iter().find(|r| matches!(r.op, CmpOp::Lt | CmpOp::Le)).or(ranges.first());
    let left = sorted(left, keys.iter().map(|key| &key.left).chain(lower.map(|r| &r.left)).collect());
    let base = ranges.first().map(|r| without_shift(&r.right));
    let right = sorted(right, keys.iter().map(|key| &key.right).chain(base).collect());
    let (left_regs, right_regs) = (produced(&left), produced(&right));
    let (left, right) = (Box::new(left), Box::new(right));
    Source::MergeJoin { left, right, kind, keys, ranges, residual, left_regs, right_regs, rows: UNKNOWN_ROWS }
}

/// The inequalities that a merge join may find rows of its right side by, with their places: one, or one for each end
/// of a band, as `a.x between b.y and b.y + 3` is.
fn ranges_of(on: &[&Cond], right: Mask) -> Vec<(usize, MergeRange)> {
    let mut all = on.iter().enumerate().filter_map(|(at, c)| Some((at, range_of(c, right)?)));
    let Some(first) = all.next() else { return Vec::new() };
    let takes_first = |range: &MergeRange| matches!(range.op, CmpOp::Gt | CmpOp::Ge);
    let second = all.find(|(_, range)| {
        takes_first(range) != takes_first(&first.1) && without_shift(&range.right) == without_shift(&first.1.right)
    });
    std::iter::once(first).chain(second).collect()
}

/// The range that an inequality is where one of two sets of parts is this.
fn range_of(c: &Cond, right: Mask) -> Option<MergeRange> {
    let (Node::Cmp(op, _, a, b), Some((_, of_b))) = (&c.expr.node, c.bounds.filter(|_| c.is_range(right))) else {
        return None;
    };
    let mirrored = match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        other => *other,
    };
    let (op, left, right) = if of_b & right != 0 { (*op, a, b) } else { (mirrored, b, a) };
    Some(MergeRange { op, left: (**left).clone(), right: (**right).clone() })
}

/// The value that an expression adds the same to for every row, or takes the same from: it rises when the value rises.
/// Sums of binary floating-point numbers do not, beside infinities.
fn without_shift(e: &Expr) -> &Expr {
    let is_same = |e: &Expr| matches!(e.node, Node::Const(_) | Node::Bind(_));
    let is_exact = !matches!(class(&e.ty), Class::Float | Class::Double);
    match &e.node {
        Node::Arith(ArithOp::Add, a, b) if is_exact && is_same(b) => without_shift(a),
        Node::Arith(ArithOp::Add, a, b) if is_exact && is_same(a) => without_shift(b),
        Node::Arith(ArithOp::Sub, a, b) if is_exact && is_same(b) => without_shift(a),
        _ => e,
    }
}

/// The keys of a join, and the conditions that are none of them.
fn keys_and_rest(conds: Vec<Expr>, keys: Vec<(usize, JoinKey)>) -> (Vec<JoinKey>, Vec<Expr>) {
    let used: Vec<usize> = keys.iter().map(|(at, _)| *at).collect();
    let rest = conds.into_iter().enumerate().filter(|(i, _)| !used.contains(i)).map(|(_, c)| c).collect();
    (keys.into_iter().map(|(_, key)| key).collect(), rest)
}

/// Puts a join filter above the row source from which on all that its keys read is there. False: there is none below
/// which rows may be left out.
fn add_filter(source: &mut Source, id: usize, keys: Vec<Key>) -> bool {
    let reads_all_of = |source: &Source| {
        let regs = produced(source);
        let mut all = true;
        keys.iter().for_each(|key| {
            key.value.walk(&mut |e| match e.node {
                Node::Reg(r) => all &= regs.binary_search(&r).is_ok(),
                Node::Scalar(_) | Node::Exists(_) | Node::InSub { .. } | Node::Quantified { .. } => all = false,
                _ => {}
            });
        });
        all
    };
    match source {
        Source::Scan(_) => {
            // A value that is computed here might fail for a row that nobody asks for.
            if !reads_all_of(source) || !keys.iter().all(|key| matches!(key.value.node, Node::Reg(_))) {
                return false;
            }
            let rows = source.rows().unwrap_or(UNKNOWN_ROWS);
            let input = Box::new(std::mem::replace(source, Source::Empty));
            *source = Source::JoinFilter { input, id, keys, rows };
            true
        }
        Source::Filter { input, .. } | Source::JoinFilter { input, .. } => add_filter(input, id, keys),
        Source::Project { input, exprs, .. } => add_filter(input, id, within(keys, exprs)),
        Source::Group { input, keys: groups, sets, scalar: false, .. } if sets.len() == 1 => {
            let is_key = |key: &Key| matches!(key.value.node, Node::Reg(r) if groups.iter().any(|(_, g)| *g == r));
            keys.iter().all(is_key) && add_filter(input, id, within(keys, groups))
        }
        Source::HashJoin { left, right, kind, .. } => match kind {
            _ if reads_all_of(left) && *kind != JoinKind::Full => add_filter(left, id, keys),
            JoinKind::Inner if reads_all_of(right) => add_filter(right, id, keys),
            _ => false,
        },
        Source::NestedLoops { left, kind, .. } if *kind != JoinKind::Full && reads_all_of(left) => {
            add_filter(left, id, keys)
        }
        _ => false,
    }
}

/// Keys over the input of a row source that computes registers.
fn within(mut keys: Vec<Key>, exprs: &[(Expr, Reg)]) -> Vec<Key> {
    let values = exprs.iter().map(|(e, r)| (*r, e.clone())).collect();
    keys.iter_mut().for_each(|key| crate::rewrite::substitute(&mut key.value, &values));
    keys
}

/// Row sources that cost nothing to read again.
fn cheap(source: &Source) -> bool {
    match source {
        Source::Dual | Source::Empty | Source::Cte { .. } | Source::Buffer { .. } => true,
        Source::Filter { input, .. } | Source::Startup { input, .. } => cheap(input),
        _ => false,
    }
}
