//! Registers and expressions of a logical tree. Those of derived tables are in the compiler's items.

use crate::ir::*;
use crate::logical::*;
use crate::scope::{Compiler, ItemKind};

impl Compiler<'_> {
    /// The registers of an operator's row, in order.
    pub fn produced(&self, rel: &Rel) -> Vec<Reg> {
        let mut regs = Vec::new();
        self.collect_produced(rel, &mut regs);
        regs.sort_unstable();
        regs.dedup();
        regs
    }

    fn collect_produced(&self, rel: &Rel, into: &mut Vec<Reg>) {
        match rel {
            Rel::Empty => {}
            Rel::Join(set) => self.set_regs(set, &mut |r| into.push(r)),
            Rel::Filter { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Limit { input, .. }
            | Rel::ForUpdate { input, .. } => self.collect_produced(input, into),
            Rel::Project { input, exprs, .. } => {
                self.collect_produced(input, into);
                into.extend(exprs.iter().map(|(_, r)| *r));
            }
            Rel::Count { input, reg, .. } => {
                self.collect_produced(input, into);
                into.push(*reg);
            }
            Rel::Distinct { regs, .. } => into.extend(regs),
            Rel::Group { keys, aggs, .. } => {
                into.extend(keys.iter().map(|(_, r)| *r));
                into.extend(aggs.iter().map(|a| a.out));
            }
            Rel::Window { input, funcs } => {
                self.collect_produced(input, into);
                into.extend(funcs.iter().map(|f| f.agg.out));
            }
            Rel::Set { out, .. } => into.extend(out),
            Rel::Connect(c) => {
                into.extend(&c.row);
                into.extend(c.prior.iter().map(|(_, p)| *p));
                into.push(c.level);
                into.extend(c.is_leaf);
                into.extend(c.is_cycle);
                into.extend(c.roots.iter().map(|(_, r)| *r));
                into.extend(c.paths.iter().map(|(_, _, r)| *r));
            }
        }
    }

    /// Calls `f` with each register that a join produces.
    pub fn set_regs(&self, set: &JoinSet, f: &mut dyn FnMut(Reg)) {
        set.parts.iter().filter(|p| !p.link.hides()).for_each(|p| self.part_regs(&p.kind, f));
    }

    /// Calls `f` with each register that a part produces.
    pub fn part_regs(&self, kind: &PartKind, f: &mut dyn FnMut(Reg)) {
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
            PartKind::Set(set) => self.set_regs(set, f),
            PartKind::Full(full) => {
                self.set_regs(&full.0, f);
                self.set_regs(&full.1, f);
            }
        }
    }

    /// Calls `f` with each expression of an operator and of all operators below it, including the trees of views,
    /// without entering subqueries.
    pub fn for_each_expr(&self, rel: &Rel, f: &mut dyn FnMut(&Expr)) {
        match rel {
            Rel::Empty => {}
            Rel::Join(set) => self.for_each_set_expr(set, f),
            Rel::Filter { input, conds } | Rel::Count { input, conds, .. } => {
                conds.iter().for_each(&mut *f);
                self.for_each_expr(input, f);
            }
            Rel::Project { input, exprs, .. } => {
                exprs.iter().for_each(|(e, _)| f(e));
                self.for_each_expr(input, f);
            }
            Rel::Sort { input, keys } => {
                keys.iter().for_each(|k| f(&k.expr));
                self.for_each_expr(input, f);
            }
            Rel::Distinct { input, .. } | Rel::ForUpdate { input, .. } => self.for_each_expr(input, f),
            Rel::Group { input, keys, aggs, .. } => {
                keys.iter().for_each(|(e, _)| f(e));
                aggs.iter().for_each(|agg| agg.for_each_expr(f));
                self.for_each_expr(input, f);
            }
            Rel::Window { input, funcs } => {
                for w in funcs {
                    w.agg.for_each_expr(f);
                    w.partition.iter().for_each(&mut *f);
                    w.order.iter().for_each(|k| f(&k.expr));
                    for b in w.frame.iter().flat_map(|frame| [&frame.start, &frame.end]) {
                        if let Bound::Preceding(e) | Bound::Following(e) = b {
                            f(e);
                        }
                    }
                }
                self.for_each_expr(input, f);
            }
            Rel::Set { inputs, .. } => {
                for (input, out) in inputs {
                    out.iter().for_each(&mut *f);
                    self.for_each_expr(input, f);
                }
            }
            Rel::Connect(c) => {
                self.for_each_set_expr(&c.start, f);
                self.for_each_set_expr(&c.child, f);
                self.for_each_set_expr(&c.memory.base, f);
                c.memory.probe.iter().for_each(|set| self.for_each_set_expr(set, f));
                let memory = &c.memory;
                let lists = [&memory.gate, &memory.row_keys, &memory.prior_keys, &memory.conds];
                lists.into_iter().flatten().for_each(&mut *f);
                c.roots.iter().for_each(|(e, _)| f(e));
                for (value, separator, _) in &c.paths {
                    f(value);
                    f(separator);
                }
                c.siblings.iter().for_each(|k| f(&k.expr));
            }
            Rel::Limit { input, offset, count, ties, .. } => {
                offset.iter().chain(count).for_each(&mut *f);
                ties.iter().for_each(|k| f(&k.expr));
                self.for_each_expr(input, f);
            }
        }
    }

    /// As [`Compiler::for_each_expr`], for a join.
    pub fn for_each_set_expr(&self, set: &JoinSet, f: &mut dyn FnMut(&Expr)) {
        set.conds.iter().for_each(&mut *f);
        for part in &set.parts {
            part.link.for_each(&mut |e| f(e));
            self.for_each_part_expr(&part.kind, f);
        }
    }

    /// As [`Compiler::for_each_expr`], for a part of a join.
    pub fn for_each_part_expr(&self, kind: &PartKind, f: &mut dyn FnMut(&Expr)) {
        match kind {
            PartKind::Leaf(id) => match &self.items[*id].kind {
                ItemKind::Derived { rel: Some(rel), out, .. } => {
                    out.iter().for_each(&mut *f);
                    self.for_each_expr(rel, f);
                }
                ItemKind::Elements { value, .. } => f(value),
                _ => {}
            },
            PartKind::Set(set) => self.for_each_set_expr(set, f),
            PartKind::Full(full) => {
                self.for_each_set_expr(&full.0, f);
                self.for_each_set_expr(&full.1, f);
                full.2.iter().for_each(f);
            }
        }
    }
}
