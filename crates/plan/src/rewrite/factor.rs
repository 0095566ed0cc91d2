//! Conditions under OR: factors common to all branches, and conditions implied for single row sources.
//!
//! `(a = b and x) or (a = b and y)` becomes `a = b and (x or y)`, which allows a hash join. `(n1 = 'F' and n2 = 'G') or
//! (n1 = 'G' and n2 = 'F')` implies `n1 in ('F', 'G')`, which is checked where `n1` is read.

use crate::ir::*;
use crate::logic::{and, flatten_and, or};
use crate::logical::*;
use crate::rewrite::values::is_movable;
use crate::scope::Compiler;
use std::collections::HashSet;

/// Extracts the common factors of each OR in a list of conditions.
pub fn factor_all(conds: &mut Vec<Expr>) {
    if !conds.iter().any(|c| matches!(c.node, Node::Or(_))) {
        return;
    }
    for c in std::mem::take(conds) {
        flatten_and(factor(c), conds);
    }
}

fn branches(e: Expr) -> Vec<Vec<Expr>> {
    let Node::Or(branches) = e.node else { return vec![vec![e]] };
    let conjuncts = |branch: Expr| {
        let mut all = Vec::new();
        flatten_and(branch, &mut all);
        all
    };
    branches.into_iter().map(conjuncts).collect()
}

/// Turns `a = 1 or a = 2 or b = 3` into `a in (1, 2) or b = 3`.
fn listed(e: Expr) -> Expr {
    let Node::Or(branches) = e.node else { return e };
    let mut lists: Vec<(Expr, Vec<Expr>)> = Vec::new();
    let mut others = Vec::new();
    for branch in branches {
        match branch.node {
            Node::Cmp(CmpOp::Eq, Compare::Plain, value, item)
                if matches!(value.node, Node::Reg(_)) && matches!(item.node, Node::Const(_) | Node::Bind(_)) =>
            {
                match lists.iter_mut().find(|(known, _)| *known == *value) {
                    Some((_, list)) => list.push(*item),
                    None => lists.push((*value, vec![*item])),
                }
            }
            node => others.push(Expr::new(node, branch.ty)),
        }
    }
    let list = |(value, mut list): (Expr, Vec<Expr>)| {
        let (value, compare) = (Box::new(value), Compare::Plain);
        let node = match list.len() {
            1 => Node::Cmp(CmpOp::Eq, compare, value, Box::new(list.remove(0))),
            _ => Node::InList { value, list, compare, negated: false },
        };
        Expr::new(node, e.ty)
    };
    or(lists.into_iter().map(list).chain(others).collect())
}

fn factor(e: Expr) -> Expr {
    if !matches!(e.node, Node::Or(_)) {
        return e;
    }
    let e = listed(e);
    if !matches!(e.node, Node::Or(_)) {
        return e;
    }
    let mut branches = branches(e);
    let (first, others) = branches.split_first().expect("an OR has branches");
    let in_all = |c: &&Expr| is_movable(c) && others.iter().all(|branch| branch.contains(c));
    let common: Vec<Expr> = first.iter().filter(in_all).cloned().collect();
    branches.iter_mut().for_each(|branch| branch.retain(|c| !common.contains(c)));
    // An empty branch is true wherever the common conditions are.
    if common.is_empty() || branches.iter().any(Vec::is_empty) {
        let whole = |branch: Vec<Expr>| and(branch);
        return match common.is_empty() {
            true => or(branches.into_iter().map(whole).collect()),
            false => and(common),
        };
    }
    let rest = or(branches.into_iter().map(and).collect());
    and(common.into_iter().chain([rest]).collect())
}

impl Compiler<'_> {
    /// Adds to a join the conditions that each OR over several row sources implies for single ones.
    pub(super) fn derive(&mut self, set: &mut JoinSet) {
        let mut derived = Vec::new();
        for c in &set.conds {
            let Node::Or(branches) = &c.node else { continue };
            for part in set.parts.iter().filter(|part| matches!(part.link, Link::Inner)) {
                let mut own = HashSet::new();
                self.part_regs(&part.kind, &mut |r| {
                    own.insert(r);
                });
                if let Some(limit) = self.limit_of(branches, &own)
                    && limit != *c
                    && !set.conds.contains(&limit)
                {
                    derived.push(limit);
                }
            }
        }
        set.conds.extend(derived);
    }

    /// The condition that the branches of an OR imply for one row source, if every branch implies one.
    pub fn limit_of(&self, branches: &[Expr], own: &HashSet<Reg>) -> Option<Expr> {
        let mut limits = Vec::with_capacity(branches.len());
        for branch in branches {
            let conjuncts = match &branch.node {
                Node::And(conds) => &conds[..],
                _ => std::slice::from_ref(branch),
            };
            let of_it = |c: &&Expr| {
                let (mut all, mut any) = (true, false);
                self.expr_regs(c, &mut |r| {
                    all &= own.contains(&r);
                    any = true;
                });
                all && any && is_movable(c)
            };
            let limit: Vec<Expr> = conjuncts.iter().filter(of_it).cloned().collect();
            if limit.is_empty() {
                return None;
            }
            limits.push(and(limit));
        }
        Some(or(limits))
    }
}
