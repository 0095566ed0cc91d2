//! Rewrites: from a logical tree to an equivalent one that runs faster.
//!
//! Each rewrite is a module with a name, in the order of [`Rewrite::ALL`], and can be switched off by that name
//! (`_rewrite_off`), to compare answers with and without it. Rewrites do not consider costs, except for the unnesting
//! of scalar subqueries: a rewrite is made if its result can be run in every way in which the original could, and the
//! physical planner chooses the cheapest.
//!
//! Conditions added by a rewrite follow from existing ones; the estimates take that into account (`physical::rows`,
//! P18).

mod eliminate;
mod factor;
mod fold;
mod outer;
mod push;
pub mod switches;
mod transitive;
mod unnest;
pub(crate) mod values;

use crate::rewrite::switches::Rewrite;
pub use outer::rejects;
pub use transitive::equal_columns;

use crate::ir::*;
use crate::logical::*;
use crate::scope::{Compiler, ItemKind};

impl Compiler<'_> {
    fn wants(&self, rewrite: Rewrite) -> bool {
        !self.rewrites_off.has(rewrite)
    }

    /// Rewrites all trees of the statement. Subqueries come in the order of binding, innermost first. `out`: the output
    /// of a query; `None` for other statements, whose other parts read registers too.
    pub fn rewrite(&mut self, mut out: Option<&mut [Expr]>) {
        for at in 0..self.subs.len() {
            let mut rel = std::mem::replace(&mut self.subs[at].rel, Rel::Empty);
            self.rewrite_rel(&mut rel);
            self.subs[at].rel = rel;
        }
        for at in 0..self.ctes.len() {
            let mut rel = std::mem::replace(&mut self.ctes[at].rel, Rel::Empty);
            self.rewrite_rel(&mut rel);
            self.ctes[at].rel = rel;
        }
        if let Some(mut rel) = self.rows.take() {
            if let Some(out) = &mut out {
                self.rewrite_list(&mut rel, out);
            }
            self.rewrite_rel(&mut rel);
            self.rows = Some(rel);
        }
        if let Some(out) = out
            && self.wants(Rewrite::Eliminate)
        {
            self.eliminate_joins(out);
        }
    }

    /// Rewrites the expressions over a tree's rows.
    fn rewrite_list(&mut self, rel: &mut Rel, out: &mut [Expr]) {
        if self.wants(Rewrite::Unnest) && out.iter().any(Expr::has_subquery) {
            self.unnest_in_list(rel, out);
        }
    }

    fn rewrite_rel(&mut self, rel: &mut Rel) {
        if os::stack::is_short() {
            return; // Deeply nested trees are planned without rewriting.
        }
        match rel {
            Rel::Join(set) => self.rewrite_set(set),
            Rel::Set { inputs, .. } => {
                for (input, out) in inputs {
                    self.rewrite_list(input, out);
                    self.rewrite_rel(input);
                }
            }
            // Its joins are planned for roots, children and probes alike, so they are not changed.
            Rel::Connect(_) => {}
            _ => {
                if self.wants(Rewrite::Unnest) {
                    self.unnest_in_groups(rel);
                }
                if let Some(input) = rel.input_mut() {
                    self.rewrite_rel(input);
                }
            }
        }
        if self.wants(Rewrite::Push) {
            self.push_having(rel);
        }
    }

    fn rewrite_set(&mut self, set: &mut JoinSet) {
        if self.wants(Rewrite::Fold) {
            set.conds.iter_mut().for_each(fold::fold);
        }
        if self.wants(Rewrite::Factor) {
            factor::factor_all(&mut set.conds);
        }
        if self.wants(Rewrite::OuterToInner) {
            self.full_to_outer(set);
            self.outer_to_inner(set);
        }
        if self.wants(Rewrite::Unnest) {
            self.unnest(set);
        }
        if self.wants(Rewrite::OuterToInner) {
            self.outer_to_inner(set);
        }
        if self.wants(Rewrite::Push) {
            self.push_into_views(set);
        }
        if self.wants(Rewrite::Transitive) {
            self.transitive(set);
        }
        if self.wants(Rewrite::Derive) {
            self.derive(set);
        }
        for part in set.parts.iter_mut().filter(|part| !part.rewritten) {
            self.rewrite_part(&mut part.kind);
        }
    }

    fn rewrite_part(&mut self, kind: &mut PartKind) {
        match kind {
            PartKind::Leaf(id) => {
                if let ItemKind::Derived { rel, out, .. } = &mut self.items[*id].kind
                    && let Some(mut tree) = rel.take()
                {
                    let mut list = std::mem::take(out);
                    self.rewrite_list(&mut tree, &mut list);
                    self.rewrite_rel(&mut tree);
                    if let ItemKind::Derived { rel, out, .. } = &mut self.items[*id].kind {
                        (*rel, *out) = (Some(tree), list);
                    }
                }
            }
            PartKind::Set(set) => self.rewrite_set(set),
            PartKind::Full(full) => {
                self.rewrite_set(&mut full.0);
                self.rewrite_set(&mut full.1);
            }
        }
    }
}
