//! Conditions pushed into views, below grouping, sorting and set operations.

use crate::block_names::ItemId;
use crate::ir::*;
use crate::logical::*;
use crate::rewrite::values::{Values, is_movable, stays_small, substitute};
use crate::scope::{Compiler, ItemKind};
use std::collections::HashSet;

impl Compiler<'_> {
    /// Pushes the conditions on a view into it, as far down as possible.
    pub(super) fn push_into_views(&mut self, set: &mut JoinSet) {
        for at in 0..set.parts.len() {
            let PartKind::Leaf(id) = set.parts[at].kind else { continue };
            if !matches!(self.items[id].kind, ItemKind::Derived { .. }) {
                continue;
            }
            match &mut set.parts[at].link {
                Link::Inner => self.push_conditions(id, &mut set.conds),
                // For the optional side, only conditions of its own join (P6).
                Link::Left(on) | Link::Semi(on) | Link::Anti(on) => self.push_conditions(id, on),
                Link::AntiNulls { .. } => {}
            }
        }
    }

    fn push_conditions(&mut self, id: ItemId, conds: &mut Vec<Expr>) {
        let mut values = Values::new();
        let ItemKind::Derived { rel, out, lateral } = &mut self.items[id].kind else { return };
        if !lateral.is_empty() {
            return;
        }
        let out = out.clone();
        let Some(mut tree) = rel.take() else { return };
        for (column, value) in self.items[id].columns.iter().zip(out) {
            if let Some(Expr { node: Node::Reg(r), .. }) = column.value {
                values.insert(r, value);
            }
        }
        conds.retain(|c| {
            let mut is_own = true;
            self.expr_regs(c, &mut |r| is_own &= values.contains_key(&r));
            if !is_own || !is_movable(c) || !stays_small(c, &values) {
                return true;
            }
            let mut any = false;
            self.expr_regs(c, &mut |_| any = true);
            let mut inside = c.clone();
            substitute(&mut inside, &values);
            !(any && is_movable(&inside) && self.push(&mut tree, inside))
        });
        if let ItemKind::Derived { rel, .. } = &mut self.items[id].kind {
            *rel = Some(tree);
        }
    }

    /// Pushes a condition on an operator's output below it. False if that is not allowed; nothing was changed then.
    fn push(&self, rel: &mut Rel, cond: Expr) -> bool {
        match rel {
            Rel::Join(set) => {
                set.conds.push(cond);
                true
            }
            Rel::Filter { input, conds } => {
                if !self.push(input, cond.clone()) {
                    conds.push(cond);
                }
                true
            }
            Rel::Project { input, exprs, .. } => {
                let values: Values = exprs.iter().map(|(e, r)| (*r, e.clone())).collect();
                stays_small(&cond, &values) && {
                    let mut inside = cond;
                    substitute(&mut inside, &values);
                    is_movable(&inside) && self.push(input, inside)
                }
            }
            Rel::Sort { input, .. } | Rel::Distinct { input, .. } => self.push(input, cond),
            Rel::Group { input, keys, sets, scalar: false, .. } if sets.len() == 1 => {
                let values: Values = keys.iter().map(|(e, r)| (*r, e.clone())).collect();
                let is_of_keys = self.reads_only(&cond, &values.keys().copied().collect());
                is_of_keys && stays_small(&cond, &values) && {
                    let mut inside = cond;
                    substitute(&mut inside, &values);
                    is_movable(&inside) && self.push(input, inside)
                }
            }
            Rel::Window { input, funcs } => {
                // The condition keeps or drops whole partitions.
                let is_key = |r: Reg| funcs.iter().all(|f| f.partition.iter().any(|e| e.node == Node::Reg(r)));
                let mut keys = true;
                self.expr_regs(&cond, &mut |r| keys &= is_key(r));
                keys && self.push(input, cond)
            }
            Rel::Set { inputs, out, recursion: None, .. } => {
                if !self.reads_only(&cond, &out.iter().copied().collect()) {
                    return false;
                }
                let inside = |exprs: &[Expr]| {
                    let values: Values = out.iter().copied().zip(exprs.iter().cloned()).collect();
                    let mut inside = cond.clone();
                    stays_small(&inside, &values).then(|| {
                        substitute(&mut inside, &values);
                        inside
                    })
                };
                let all: Option<Vec<Expr>> = inputs.iter().map(|(_, exprs)| inside(exprs)).collect();
                let Some(all) = all.filter(|all| all.iter().all(is_movable)) else { return false };
                for ((input, _), cond) in inputs.iter_mut().zip(all) {
                    if !self.push(input, cond.clone()) {
                        let below = std::mem::replace(input, Rel::Empty);
                        *input = Rel::Filter { input: Box::new(below), conds: vec![cond] };
                    }
                }
                true
            }
            Rel::Empty
            | Rel::Count { .. }
            | Rel::Group { .. }
            | Rel::Connect(_)
            | Rel::Set { .. }
            | Rel::Limit { .. }
            | Rel::ForUpdate { .. } => false,
        }
    }

    fn reads_only(&self, cond: &Expr, regs: &HashSet<Reg>) -> bool {
        let mut only = true;
        self.expr_regs(cond, &mut |r| only &= regs.contains(&r));
        only
    }

    /// Pushes conditions of HAVING that read only keys below the grouping.
    pub(super) fn push_having(&self, rel: &mut Rel) {
        let Rel::Filter { input, conds } = rel else { return };
        if !matches!(**input, Rel::Group { scalar: false, .. }) {
            return;
        }
        conds.retain(|c| {
            let mut any = false;
            self.expr_regs(c, &mut |_| any = true);
            !(any && is_movable(c) && self.push(input, c.clone()))
        });
        if conds.is_empty() {
            let below = std::mem::replace(&mut **input, Rel::Empty);
            *rel = below;
        }
    }
}
