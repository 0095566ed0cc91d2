//! GROUP BY.
//!
//! A grouped block is first resolved as if it were not grouped, with aggregates as registers. Then every expression
//! above the grouping is rewritten: an expression equal to a grouping key becomes the key's register, and any other
//! column is ORA-00979 (ORA-00937 without GROUP BY). A key that is a plain column keeps its register, so that
//! subqueries in the select list need no rewriting.

use crate::ir::*;
use crate::logical::Rel;
use crate::scope::*;
use crate::typing::*;
use sql::ast::{self, ExprKind, GroupElement};
use types::{Ora, Result};

/// The keys of GROUP BY and its grouping sets.
#[derive(Default)]
pub struct GroupShape {
    pub keys: Vec<Expr>,
    /// Positions in `keys`.
    pub sets: Vec<Vec<usize>>,
}

impl Compiler<'_> {
    pub fn group_by(&mut self, g: &ast::GroupBy, shape: &mut GroupShape) -> Result<()> {
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for element in &g.elements {
            let more = self.group_element(element, shape)?;
            // Several grouping elements form the product of their sets.
            sets = sets
                .iter()
                .flat_map(|a| {
                    more.iter().map(move |b| {
                        let mut set = a.clone();
                        set.extend(b.iter().filter(|k| !a.contains(k)));
                        set
                    })
                })
                .collect();
            if sets.len() > 4096 {
                return Err(Ora::new(30485).at(g.pos.0));
            }
        }
        shape.sets = sets;
        Ok(())
    }

    fn group_element(&mut self, e: &GroupElement, shape: &mut GroupShape) -> Result<Vec<Vec<usize>>> {
        Ok(match e {
            GroupElement::Expr(e) => vec![self.group_columns(e, shape)?],
            GroupElement::Rollup(items) => {
                let items = self.group_items(items, shape)?;
                (0..=items.len()).rev().map(|n| items[..n].concat()).collect()
            }
            GroupElement::Cube(items) => {
                let items = self.group_items(items, shape)?;
                if items.len() > 12 {
                    return Err(Ora::new(30485));
                }
                let all = 1usize << items.len();
                let pick = |mask: usize| {
                    let chosen = items.iter().enumerate().filter(move |(i, _)| mask >> i & 1 == 1);
                    chosen.flat_map(|(_, keys)| keys.iter().copied()).collect::<Vec<_>>()
                };
                (0..all).rev().map(pick).collect()
            }
            GroupElement::GroupingSets(elements) => {
                let mut sets = Vec::new();
                for e in elements {
                    sets.extend(self.group_element(e, shape)?);
                }
                sets
            }
        })
    }

    fn group_items(&mut self, items: &[ast::Expr], shape: &mut GroupShape) -> Result<Vec<Vec<usize>>> {
        items.iter().map(|e| self.group_columns(e, shape)).collect()
    }

    /// The keys of one element; a composite element `(a, b)` has several.
    fn group_columns(&mut self, e: &ast::Expr, shape: &mut GroupShape) -> Result<Vec<usize>> {
        if let ExprKind::Row(items) = &e.kind {
            let mut keys = Vec::new();
            for item in items {
                keys.extend(self.group_columns(item, shape)?);
            }
            return Ok(keys);
        }
        let expr = self.expr(e)?;
        let mut subquery = false;
        expr.walk(&mut |x| subquery |= matches!(x.node, Node::Scalar(_)));
        if subquery {
            return Err(Ora::new(22818).at(e.pos.0)); // Subquery expressions not allowed here
        }
        self.check_grouping(&expr.ty, e.pos.0)?;
        let at = shape.keys.iter().position(|k| self.is_same(k, &expr)).unwrap_or_else(|| {
            shape.keys.push(expr);
            shape.keys.len() - 1
        });
        Ok(vec![at])
    }

    /// Puts the grouping above `input` and rewrites the expressions above it.
    #[allow(clippy::too_many_arguments)]
    pub fn build_group(
        &mut self,
        input: Rel,
        shape: GroupShape,
        out: &mut [Expr],
        having: &mut Vec<Expr>,
        order: &mut [SortKey],
        places: &[u32],
        has_group_by: bool,
    ) -> Result<Rel> {
        let mut keys: Vec<(Expr, Reg)> = Vec::new();
        let available = self.produced(&input);
        for key in shape.keys {
            let reg = match key.node {
                Node::Reg(r) if available.binary_search(&r).is_ok() && !keys.iter().any(|(_, k)| *k == r) => r,
                _ => self.new_reg(),
            };
            keys.push((key, reg));
        }
        let sets = if has_group_by { shape.sets } else { vec![Vec::new()] };
        let nested = std::mem::take(&mut self.block().nested);
        for (value, at) in std::mem::take(&mut self.block().fixed) {
            let mut is_key = false;
            keys.iter().for_each(|(key, _)| key.walk(&mut |part| is_key |= self.is_same(part, &value)));
            if !is_key {
                return Err(Ora::new(if has_group_by { 979 } else { 937 }).at(at));
            }
        }
        let rewriter = Regroup { keys: &keys, available: &available, code: if has_group_by { 979 } else { 937 } };
        if nested.is_empty() {
            for (i, e) in out.iter_mut().enumerate() {
                let e2 = std::mem::replace(e, null());
                *e = rewriter.rewrite(self, e2, places.get(i).copied().unwrap_or(0))?;
            }
        }
        for e in having.iter_mut() {
            let e2 = std::mem::replace(e, null());
            *e = Regroup { code: 979, ..rewriter }.rewrite(self, e2, 0)?;
        }
        for key in order.iter_mut().filter(|_| nested.is_empty()) {
            let e2 = std::mem::replace(&mut key.expr, null());
            key.expr = Regroup { code: 979, ..rewriter }.rewrite(self, e2, 0)?;
        }
        let nested = nested
            .into_iter()
            .map(|mut agg| {
                for e in agg.args.iter_mut().chain(agg.order.iter_mut().map(|key| &mut key.expr)) {
                    let e2 = std::mem::replace(e, null());
                    *e = Regroup { code: 979, ..rewriter }.rewrite(self, e2, 0)?;
                }
                Ok(agg)
            })
            .collect::<Result<Vec<_>>>()?;
        let mut windows = std::mem::take(&mut self.block().windows);
        for w in &mut windows {
            w.each_expr_mut(&mut |e| {
                let e2 = std::mem::replace(e, null());
                *e = rewriter.rewrite(self, e2, 0)?;
                Ok(())
            })?;
        }
        self.block().windows = windows;
        let mut aggs = std::mem::take(&mut self.block().aggs);
        for agg in &mut aggs {
            // The hypothetical row is one for the whole group.
            for arg in agg.args.iter().filter(|_| crate::aggregate::is_of_hypothetical_row(agg.kind)) {
                rewriter.rewrite(self, arg.clone(), 0).map_err(|_| Ora::new(30497))?;
            }
            if matches!(agg.kind, AggKind::Grouping | AggKind::GroupingId) {
                let args = std::mem::take(&mut agg.args);
                for a in args {
                    let at = keys.iter().position(|(k, _)| *k == a);
                    agg.keys.push(at.ok_or_else(|| Ora::new(979))?);
                }
            }
        }
        let groups = Rel::Group { input: Box::new(input), keys, sets, aggs, scalar: !has_group_by };
        if nested.is_empty() {
            return Ok(groups);
        }
        self.group_again(groups, nested, available, out, having, order, places)
    }

    /// Adds aggregates over the groups. Expressions above may name nothing but these aggregates.
    #[allow(clippy::too_many_arguments)]
    fn group_again(
        &mut self,
        groups: Rel,
        aggs: Vec<Agg>,
        mut below: Vec<Reg>,
        out: &mut [Expr],
        having: &mut Vec<Expr>,
        order: &mut [SortKey],
        places: &[u32],
    ) -> Result<Rel> {
        below.extend(self.produced(&groups));
        below.sort_unstable();
        let rewriter = Regroup { keys: &[], available: &below, code: 937 };
        for (i, e) in out.iter_mut().enumerate() {
            let e2 = std::mem::replace(e, null());
            *e = rewriter.rewrite(self, e2, places.get(i).copied().unwrap_or(0))?;
        }
        for key in order.iter_mut() {
            let e2 = std::mem::replace(&mut key.expr, null());
            key.expr = rewriter.rewrite(self, e2, 0)?;
        }
        let having = std::mem::take(having);
        let input = if having.is_empty() { groups } else { Rel::Filter { input: Box::new(groups), conds: having } };
        Ok(Rel::Group { input: Box::new(input), keys: Vec::new(), sets: vec![Vec::new()], aggs, scalar: true })
    }
}

impl WindowFunc {
    /// Calls `f` with each expression of the function.
    pub fn each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr) -> Result<()>) -> Result<()> {
        for e in self.agg.args.iter_mut().chain(&mut self.partition) {
            f(e)?;
        }
        for key in self.agg.order.iter_mut().chain(&mut self.order) {
            f(&mut key.expr)?;
        }
        if let Some(frame) = &mut self.frame {
            for b in [&mut frame.start, &mut frame.end] {
                if let Bound::Preceding(e) | Bound::Following(e) = b {
                    f(e)?;
                }
            }
        }
        Ok(())
    }
}

/// Rewrites expressions above a grouping.
#[derive(Clone, Copy)]
struct Regroup<'k> {
    keys: &'k [(Expr, Reg)],
    /// Registers below the grouping, in order.
    available: &'k [Reg],
    code: u32,
}

impl Regroup<'_> {
    fn rewrite(&self, c: &mut Compiler<'_>, mut e: Expr, place: u32) -> Result<Expr> {
        if let Some((_, reg)) = self.keys.iter().find(|(k, _)| c.is_same(k, &e)) {
            return Ok(Expr::new(Node::Reg(*reg), e.ty));
        }
        match &e.node {
            Node::Reg(r) => self.check(c, *r, place)?,
            Node::Scalar(s) | Node::Exists(s) | Node::InSub { sub: s, .. } | Node::Quantified { sub: s, .. } => {
                for r in c.subs[*s].outer.clone() {
                    self.check(c, r, place)?;
                }
            }
            _ => {}
        }
        let mut failed = None;
        e.for_each_child_mut(&mut |child| {
            if failed.is_none() {
                let taken = std::mem::replace(child, null());
                match self.rewrite(c, taken, place) {
                    Ok(done) => *child = done,
                    Err(error) => failed = Some(error),
                }
            }
        });
        failed.map_or(Ok(e), Err)
    }

    /// A column from below the grouping must be a key.
    fn check(&self, c: &mut Compiler<'_>, reg: Reg, place: u32) -> Result<()> {
        let is_key = self.keys.iter().any(|(_, k)| *k == reg);
        if is_key || self.available.binary_search(&reg).is_err() {
            return Ok(());
        }
        let at = c.place_of(reg).unwrap_or(place);
        Err(Ora::new(self.code).at(at))
    }
}
