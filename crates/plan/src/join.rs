//! The join order and the join methods.
//!
//! The order is greedy: start from the row source with the fewest expected rows, then always add the one that keeps the
//! intermediate result smallest, row sources without a join condition last. `ORDERED` and `LEADING` fix the order. Each
//! step chooses between nested loops, which can use an index through the join condition, and a hash join. An exhaustive
//! search was not worth its compile time: statements are compiled anew by every session.

use crate::access::Access as Choice;
use crate::from::{JoinSet, Part, PartKind};
use crate::ir::*;
use crate::query::produced;
use crate::scope::*;
use sql::ast;
use std::collections::HashMap;
use types::{Ora, Result};

/// A set of parts of a join, one bit each.
type Mask = u128;

/// A part while the order is looked for.
struct Candidate {
    kind: PartKind,
    outer_on: Option<Vec<Expr>>,
    alias: String,
    /// Parts that must be joined before: what its outer join's condition or its lateral references name.
    needs: Mask,
    placed: bool,
}

/// What is known while a join is built.
struct State {
    source: Option<Source>,
    rows: f64,
    placed: Mask,
    conds: Vec<(Expr, Mask)>,
}

impl Compiler<'_> {
    /// Builds the row source of a join set. Gives the expected rows too.
    pub fn build_set(&mut self, set: JoinSet) -> Result<(Source, f64)> {
        if set.parts.len() > 128 {
            return Err(Ora::new(1792));
        }
        let owner = self.register_owners(&set.parts);
        let hints = set.hints;
        let mut startup = Vec::new();
        let mut conds = Vec::new();
        for c in set.conds {
            let mask = self.mask_of(&c, &owner);
            let row_independent = mask == 0 && !has_subquery(&c);
            if row_independent { startup.push(c) } else { conds.push((c, mask)) }
        }
        let mut parts: Vec<Candidate> = Vec::new();
        for (i, part) in set.parts.into_iter().enumerate() {
            let mut needs = self.reads_of(&part.kind, &owner);
            for c in part.outer_on.iter().flatten() {
                needs |= self.mask_of(c, &owner);
            }
            let alias = match part.kind {
                PartKind::Leaf(id) => self.items[id].alias.clone(),
                _ => String::new(),
            };
            needs &= !(1 << i);
            parts.push(Candidate { kind: part.kind, outer_on: part.outer_on, alias, needs, placed: false });
        }
        let order = leading(&hints, &parts);
        let mut state = State { source: None, rows: 1.0, placed: 0, conds };
        for _ in 0..parts.len() {
            // A part that a hint names before what it needs waits for it: a hint never changes an answer.
            let ready = |i: &&usize| !parts[**i].placed && parts[**i].needs & !state.placed == 0;
            let next = match order.iter().find(ready) {
                Some(&i) => i,
                None => self.pick(&parts, &state, &owner),
            };
            self.place(&mut parts, next, &mut state, &owner, &hints)?;
        }
        let mut source = state.source.unwrap_or(Source::Dual);
        let rest: Vec<Expr> = state.conds.into_iter().map(|(c, _)| c).collect();
        if !rest.is_empty() {
            source = filter(source, rest);
        }
        if !startup.is_empty() {
            source = Source::Startup { input: Box::new(source), conds: startup };
        }
        Ok((source, state.rows))
    }

    /// Which part produces each register.
    fn register_owners(&self, parts: &[Part]) -> HashMap<Reg, usize> {
        let mut owner = HashMap::new();
        for (i, part) in parts.iter().enumerate() {
            self.part_regs(&part.kind, &mut |r| {
                owner.insert(r, i);
            });
        }
        owner
    }

    fn part_regs(&self, kind: &PartKind, f: &mut dyn FnMut(Reg)) {
        match kind {
            PartKind::Leaf(id) => {
                let item = &self.items[*id];
                if let Some(r) = item.rowid {
                    f(r);
                }
                self.pseudos.get(id).into_iter().flatten().for_each(|(_, r)| f(*r));
                for c in &item.columns {
                    if let Some(Expr { node: Node::Reg(r), .. }) = &c.value {
                        f(*r);
                    }
                }
            }
            PartKind::Set(set) => set.parts.iter().for_each(|p| self.part_regs(&p.kind, f)),
            PartKind::Full(full) => {
                full.0.parts.iter().chain(&full.1.parts).for_each(|p| self.part_regs(&p.kind, f));
            }
        }
    }

    /// The parts whose columns a part reads by itself: lateral references, the collections of TABLE(), conditions
    /// inside it.
    fn reads_of(&self, kind: &PartKind, owner: &HashMap<Reg, usize>) -> Mask {
        let of_set = |set: &JoinSet| {
            let conds = set.conds.iter().chain(set.parts.iter().flat_map(|p| p.outer_on.iter().flatten()));
            let mask = conds.fold(0, |mask, c| mask | self.mask_of(c, owner));
            set.parts.iter().fold(mask, |mask, p| mask | self.reads_of(&p.kind, owner))
        };
        match kind {
            PartKind::Leaf(id) => match &self.items[*id].kind {
                ItemKind::Derived { lateral, .. } => {
                    lateral.iter().filter_map(|r| owner.get(r)).fold(0, |mask, &p| mask | 1 << p)
                }
                ItemKind::Elements { value } => self.mask_of(value, owner),
                _ => 0,
            },
            PartKind::Set(set) => of_set(set),
            PartKind::Full(full) => {
                let (left, right, on) = &**full;
                on.iter().fold(of_set(left) | of_set(right), |mask, c| mask | self.mask_of(c, owner))
            }
        }
    }

    fn mask_of(&self, e: &Expr, owner: &HashMap<Reg, usize>) -> Mask {
        let mut mask = 0;
        self.expr_regs(e, &mut |r| {
            if let Some(&part) = owner.get(&r) {
                mask |= 1 << part;
            }
        });
        mask
    }

    /// The next part to join.
    fn pick(&mut self, parts: &[Candidate], state: &State, owner: &HashMap<Reg, usize>) -> usize {
        let ready = |p: &Candidate| !p.placed && p.needs & !state.placed == 0;
        let mut best: Option<(usize, (bool, f64))> = None;
        for (i, p) in parts.iter().enumerate() {
            if !ready(p) {
                continue;
            }
            let score = self.score(i, p, state, owner);
            if best.as_ref().is_none_or(|(_, b)| score < *b) {
                best = Some((i, score));
            }
        }
        // A circle of outer joins cannot be resolved: ORA-01416 was raised before; any order will do.
        best.map_or_else(|| parts.iter().position(|p| !p.placed).expect("a part is left"), |(i, _)| i)
    }

    /// Unconnected parts after connected ones, fewer rows first. Fixed tables and outer-joined parts keep their place.
    fn score(&mut self, i: usize, p: &Candidate, state: &State, owner: &HashMap<Reg, usize>) -> (bool, f64) {
        let bit: Mask = 1 << i;
        let connected = state.placed == 0
            || p.outer_on.is_some()
            || state.conds.iter().any(|(_, m)| m & bit != 0 && m & state.placed != 0 && m & !(state.placed | bit) == 0);
        let outer = if p.outer_on.is_some() && state.placed == 0 { 1e12 } else { 0.0 };
        let rows = match p.kind {
            PartKind::Leaf(id) => {
                let usable: Vec<Expr> = state
                    .conds
                    .iter()
                    .filter(|(_, m)| m & bit != 0 && m & !(state.placed | bit) == 0)
                    .map(|(c, _)| c.clone())
                    .chain(p.outer_on.iter().flatten().cloned())
                    .collect();
                self.estimate(id, &usable, owner)
            }
            _ => 1000.0,
        };
        (!connected, rows + outer)
    }

    fn estimate(&mut self, id: ItemId, conds: &[Expr], _owner: &HashMap<Reg, usize>) -> f64 {
        match &self.items[id].kind {
            ItemKind::Table(t) => {
                let table = t.clone();
                self.choose_access(id, &table, conds, None, &[]).rows
            }
            ItemKind::Fixed { .. } => 100.0,
            ItemKind::Dual => 0.5,
            ItemKind::Derived { rows, .. } => *rows,
            ItemKind::Cte { .. } => 200.0,
            ItemKind::Merged(_) | ItemKind::Elements { .. } => 10.0,
        }
    }

    /// Joins part `i` to what is there.
    fn place(
        &mut self,
        parts: &mut [Candidate],
        i: usize,
        state: &mut State,
        owner: &HashMap<Reg, usize>,
        hints: &[ast::Hint],
    ) -> Result<()> {
        let bit: Mask = 1 << i;
        let with = state.placed | bit;
        let outer_on = parts[i].outer_on.take();
        let kind = std::mem::replace(&mut parts[i].kind, PartKind::Set(JoinSet::default()));
        let alias = parts[i].alias.clone();
        parts[i].placed = true;
        let is_outer = outer_on.is_some();
        // Conditions of WHERE wait until after an outer join; its own conditions take part in it.
        let on: Vec<(Expr, Mask)> = match outer_on {
            Some(on) => on.into_iter().map(|c| (self.mask_of(&c, owner), c)).map(|(m, c)| (c, m)).collect(),
            None => {
                let (ready, later) = std::mem::take(&mut state.conds).into_iter().partition(|(_, m)| m & !with == 0);
                state.conds = later;
                ready
            }
        };
        let Some(left) = state.source.take() else {
            let conds: Vec<Expr> = on.into_iter().map(|(c, _)| c).collect();
            let (source, rows) = if is_outer {
                // Nothing stands to its left: a condition of its own filters nothing but the row itself.
                let (right, rows) = self.leaf_or_set(kind, conds, hints)?;
                (loops(Source::Dual, right, JoinKind::Left, false), rows.max(1.0))
            } else {
                self.leaf_or_set(kind, conds, hints)?
            };
            state.source = Some(source);
            state.rows = rows;
            state.placed = with;
            return Ok(());
        };
        let join_kind = if is_outer { JoinKind::Left } else { JoinKind::Inner };
        let (source, rows) = self.join_step(left, state, kind, &alias, on, bit, join_kind, hints, owner)?;
        state.source = Some(source);
        state.rows = rows;
        state.placed = with;
        if is_outer {
            // What of WHERE is now complete filters the joined rows.
            let (ready, later): (Vec<_>, Vec<_>) =
                std::mem::take(&mut state.conds).into_iter().partition(|(_, m)| m & !with == 0);
            state.conds = later;
            if !ready.is_empty() {
                let source = state.source.take().expect("just set");
                state.source = Some(filter(source, ready.into_iter().map(|(c, _)| c).collect()));
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn join_step(
        &mut self,
        left: Source,
        state: &State,
        kind: PartKind,
        alias: &str,
        on: Vec<(Expr, Mask)>,
        bit: Mask,
        join: JoinKind,
        hints: &[ast::Hint],
        owner: &HashMap<Reg, usize>,
    ) -> Result<(Source, f64)> {
        // Conditions on the right side alone are pushed into it; an equality across the join may be hashed.
        let mut local = Vec::new();
        let mut across = Vec::new();
        for (c, m) in on {
            if m & !bit == 0 && m != 0 { local.push(c) } else { across.push(c) }
        }
        let mut keys = Vec::new();
        for (at, c) in across.iter().enumerate() {
            if let Some(pair) = self.hash_key(c, bit, owner) {
                keys.push((at, pair));
            }
        }
        let hinted = |name: &str| hints.iter().any(|h| h.name == name && h.args.iter().any(|a| a == alias));
        let lateral = match kind {
            PartKind::Leaf(id) => match &self.items[id].kind {
                ItemKind::Derived { lateral, .. } => !lateral.is_empty(),
                ItemKind::Elements { .. } => true,
                _ => false,
            },
            _ => self.reads_of(&kind, owner) & !bit != 0,
        };
        // What an index could do with the join's conditions.
        let mut indexed: Option<Choice> = None;
        if let PartKind::Leaf(id) = kind
            && let ItemKind::Table(t) = &self.items[id].kind
        {
            let table = t.clone();
            let all: Vec<Expr> = local.iter().chain(&across).cloned().collect();
            let choice = self.choose_access(id, &table, &all, None, hints);
            if !matches!(choice.access, Access::Full) {
                indexed = Some(choice);
            }
        }
        let inner_rows = match kind {
            PartKind::Leaf(id) => self.estimate(id, &local, owner),
            _ => 1000.0,
        };
        let fixed_now = matches!(kind, PartKind::Leaf(id) if matches!(self.items[id].kind, ItemKind::Fixed { .. } | ItemKind::Dual));
        let loop_cost = indexed.as_ref().map_or(f64::INFINITY, |c| state.rows * (c.cost + 1.0));
        let hash_cost = inner_rows * 1.5 + state.rows * 0.5 + 5.0;
        // Who asks for an order of fixed tables samples them: they are read again for each row.
        let is_unstable = self.unstable_parts(&kind);
        let is_sampled = is_unstable && !hinted("USE_HASH") && hints.iter().any(|h| h.name == "ORDERED");
        let use_hash = !keys.is_empty()
            && !lateral
            && !is_sampled
            && !hinted("USE_NL")
            && (hinted("USE_HASH") || (hash_cost < loop_cost && !(fixed_now && state.rows <= 1.5)));
        if use_hash {
            let (right, right_rows) = self.leaf_or_set(kind, local, hints)?;
            let rows = (state.rows * right_rows / right_rows.max(state.rows).max(1.0)).max(1.0);
            let rows = if join == JoinKind::Left { rows.max(state.rows) } else { rows };
            return Ok((hash_join(left, right, join, across, keys), rows));
        }
        if indexed.is_some() || lateral {
            let rows = state.rows * indexed.as_ref().map_or(10.0, |c| c.rows);
            local.extend(across);
            let (right, _) = self.leaf_or_set(kind, local, hints)?;
            return Ok((loops(left, right, join, lateral), rows.max(1.0)));
        }
        // No way in by a key: read the right side once and go over it again for each row, unless it must be read anew.
        let (right, right_rows) = self.leaf_or_set(kind, local, hints)?;
        let selectivity = 0.1f64.powi(across.len() as i32);
        let rows = (state.rows * right_rows * selectivity).max(1.0);
        let right = if is_unstable || cheap(&right) {
            right
        } else {
            let regs = produced(&right);
            Source::Buffer { input: Box::new(right), regs }
        };
        let right = if across.is_empty() { right } else { filter(right, across) };
        // A derived table keeps what it has made while it is started again within its loop; one over fixed tables is
        // opened anew.
        Ok((loops(left, right, join, is_unstable && !fixed_now), rows))
    }

    /// Whether a part reads fixed tables (never materialised) or other things that must be read again for each row.
    fn unstable_parts(&self, kind: &PartKind) -> bool {
        match kind {
            PartKind::Leaf(id) => match &self.items[*id].kind {
                ItemKind::Fixed { .. } => true,
                ItemKind::Derived { source: Some(source), lateral, .. } => !lateral.is_empty() || reads_fixed(source),
                _ => false,
            },
            PartKind::Set(set) => set.parts.iter().any(|p| self.unstable_parts(&p.kind)),
            PartKind::Full(full) => full.0.parts.iter().chain(&full.1.parts).any(|p| self.unstable_parts(&p.kind)),
        }
    }

    /// `left = right` with one side from the part and the other from what is joined already: (left key, right key).
    fn hash_key(&self, c: &Expr, bit: Mask, owner: &HashMap<Reg, usize>) -> Option<(Expr, Expr)> {
        let Node::Cmp(CmpOp::Eq, Compare::Plain, a, b) = &c.node else { return None };
        let (ma, mb) = (self.mask_of(a, owner), self.mask_of(b, owner));
        if has_subquery(a) || has_subquery(b) {
            return None;
        }
        if ma == bit && mb & bit == 0 {
            Some(((**b).clone(), (**a).clone()))
        } else if mb == bit && ma & bit == 0 {
            Some(((**a).clone(), (**b).clone()))
        } else {
            None
        }
    }

    fn leaf_or_set(&mut self, kind: PartKind, conds: Vec<Expr>, hints: &[ast::Hint]) -> Result<(Source, f64)> {
        match kind {
            PartKind::Leaf(id) => self.leaf(id, conds, hints),
            PartKind::Set(mut set) => {
                set.conds.extend(conds);
                self.build_set(set)
            }
            PartKind::Full(full) => {
                let (left, right, on) = *full;
                let (source, rows) = self.full_join(left, right, on)?;
                Ok((if conds.is_empty() { source } else { filter(source, conds) }, rows))
            }
        }
    }

    fn full_join(&mut self, left: JoinSet, right: JoinSet, on: Vec<Expr>) -> Result<(Source, f64)> {
        let mut owner = HashMap::new();
        for (side, set) in [(0, &left), (1, &right)] {
            for p in &set.parts {
                self.part_regs(&p.kind, &mut |r| {
                    owner.insert(r, side);
                });
            }
        }
        let mut keys = Vec::new();
        for (at, c) in on.iter().enumerate() {
            if let Some(pair) = self.hash_key(c, 2, &owner) {
                keys.push((at, pair));
            }
        }
        let (l, lr) = self.build_set(left)?;
        let (r, rr) = self.build_set(right)?;
        Ok((hash_join(l, r, JoinKind::Full, on, keys), lr + rr))
    }

    fn is_virtual(&self, id: ItemId, column: usize) -> bool {
        matches!(&self.items[id].kind, ItemKind::Table(t) if t.columns[column].virtual_text.is_some())
    }

    /// The row source of one item with the conditions that can be checked on it.
    fn leaf(&mut self, id: ItemId, conds: Vec<Expr>, hints: &[ast::Hint]) -> Result<(Source, f64)> {
        let alias = self.items[id].alias.clone();
        let columns: ColumnMap = self.items[id]
            .columns
            .iter()
            .enumerate()
            .filter(|(i, _)| !self.is_virtual(id, *i))
            .filter_map(|(i, c)| match &c.value {
                Some(Expr { node: Node::Reg(r), .. }) => Some((i as u16, *r)),
                _ => None,
            })
            .collect();
        let rowid = self.items[id].rowid;
        Ok(match &mut self.items[id].kind {
            ItemKind::Table(t) => {
                let table = t.clone();
                let choice = self.choose_access(id, &table, &conds, Some(&columns), hints);
                let used = &choice.used;
                let filter = conds.into_iter().enumerate().filter(|(i, _)| !used.contains(i)).map(|(_, c)| c).collect();
                let rows = choice.rows;
                let mut access = choice.access;
                if let Access::IndexRange(range) = &mut access {
                    range.index_only = crate::access::covers(&range.index, &columns);
                }
                let as_of = self.as_of_items.get(&id).copied();
                let versions = self.version_items.get(&id).copied();
                let pseudos = self.pseudos.get(&id).cloned().unwrap_or_default();
                let scan = Scan {
                    table,
                    alias,
                    access,
                    columns,
                    rowid,
                    filter,
                    rows,
                    as_of,
                    versions,
                    pseudos,
                    hinted: choice.hinted,
                };
                (Source::Scan(Box::new(scan)), rows)
            }
            ItemKind::Fixed { name, handle } => {
                let (name, handle) = (name.clone(), *handle);
                (Source::Fixed { name, alias, handle, columns, filter: conds }, 100.0)
            }
            ItemKind::Dual => (if conds.is_empty() { Source::Dual } else { filter(Source::Dual, conds) }, 1.0),
            ItemKind::Merged(_) => (Source::Dual, 1.0),
            ItemKind::Cte { id: cte } => {
                let cte = *cte;
                let regs: Vec<(u16, Reg)> = columns;
                let source = Source::Cte { id: cte, name: alias, columns: regs };
                (if conds.is_empty() { source } else { filter(source, conds) }, 200.0)
            }
            ItemKind::Elements { value } => {
                let value = value.clone();
                let column = columns.first().map(|(_, r)| *r);
                let column = match column {
                    Some(r) => r,
                    None => self.new_reg(),
                };
                let source = Source::Elements { value, column };
                (if conds.is_empty() { source } else { filter(source, conds) }, 10.0)
            }
            ItemKind::Derived { source, out, rows, .. } => {
                let input = if self.copy_derived { source.clone() } else { source.take() };
                let input = input.expect("a derived row source is built once");
                let rows = *rows;
                let out = out.clone();
                let exprs: Vec<(Expr, Reg)> = columns.iter().map(|&(i, r)| (out[i as usize].clone(), r)).collect();
                let view = (!alias.is_empty()).then_some(alias);
                let source = Source::Project { input, exprs, view };
                (if conds.is_empty() { source } else { filter(source, conds) }, rows)
            }
        })
    }

    /// As [`Compiler::build_set`], leaving the items' own plans in place: a hierarchical block builds its rows twice.
    pub fn build_set_copy(&mut self, set: JoinSet) -> Result<(Source, f64)> {
        let saved = std::mem::replace(&mut self.copy_derived, true);
        let result = self.build_set(set);
        self.copy_derived = saved;
        result
    }

    /// Whether a condition names more than one part of a set.
    pub fn spans_parts(&self, set: &JoinSet, cond: &Expr) -> bool {
        let owner = self.register_owners(&set.parts);
        self.mask_of(cond, &owner).count_ones() > 1
    }
}

/// The order that hints ask for, as positions of parts.
fn leading(hints: &[ast::Hint], parts: &[Candidate]) -> Vec<usize> {
    if hints.iter().any(|h| h.name == "ORDERED") {
        return (0..parts.len()).collect();
    }
    match hints.iter().find(|h| h.name == "LEADING") {
        Some(h) => h.args.iter().filter_map(|a| parts.iter().position(|p| p.alias == *a)).collect(),
        None => Vec::new(),
    }
}

pub fn filter(source: Source, mut conds: Vec<Expr>) -> Source {
    match source {
        Source::Scan(mut s) => {
            s.filter.append(&mut conds);
            Source::Scan(s)
        }
        Source::Fixed { name, alias, handle, columns, filter: mut f } => {
            f.append(&mut conds);
            Source::Fixed { name, alias, handle, columns, filter: f }
        }
        Source::Filter { input, conds: mut inner } => {
            inner.append(&mut conds);
            Source::Filter { input, conds: inner }
        }
        other => Source::Filter { input: Box::new(other), conds },
    }
}

fn loops(left: Source, right: Source, kind: JoinKind, lateral: bool) -> Source {
    let right_regs = produced(&right);
    Source::NestedLoops { left: Box::new(left), right: Box::new(right), kind, right_regs, lateral }
}

fn hash_join(
    left: Source,
    right: Source,
    kind: JoinKind,
    conds: Vec<Expr>,
    keys: Vec<(usize, (Expr, Expr))>,
) -> Source {
    let used: Vec<usize> = keys.iter().map(|(at, _)| *at).collect();
    let residual = conds.into_iter().enumerate().filter(|(i, _)| !used.contains(i)).map(|(_, c)| c).collect();
    let keys = keys.into_iter().map(|(_, (left, right))| JoinKey::equal(left, right)).collect();
    let (left_regs, right_regs) = (produced(&left), produced(&right));
    Source::HashJoin {
        left: Box::new(left),
        right: Box::new(right),
        kind,
        build: Side::Right,
        keys,
        residual,
        left_regs,
        right_regs,
        filters: Vec::new(),
    }
}

/// Row sources that cost nothing to read again.
fn cheap(source: &Source) -> bool {
    match source {
        Source::Dual | Source::Empty | Source::Cte { .. } | Source::Buffer { .. } => true,
        Source::Filter { input, .. } | Source::Startup { input, .. } => cheap(input),
        _ => false,
    }
}

pub fn reads_fixed(source: &Source) -> bool {
    source.any(&mut |s| matches!(s, Source::Fixed { .. } | Source::Elements { .. }))
}

pub fn has_subquery(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |x| {
        found |= matches!(x.node, Node::Scalar(_) | Node::Exists(_) | Node::InSub { .. } | Node::Quantified { .. })
    });
    found
}
