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
mod transitive;
mod unnest;

pub use outer::rejects;
pub use transitive::equal_columns;

use crate::ir::*;
use crate::logical::*;
use crate::scope::{Compiler, ItemKind};
use std::collections::HashMap;

/// A rewrite that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// Evaluates constant parts of conditions.
    Fold,
    /// Extracts the common factors of OR branches.
    Factor,
    /// Turns subqueries into semijoins, antijoins and joins with groups.
    Unnest,
    /// Turns an outer join whose optional side cannot be NULL into an inner join.
    OuterToInner,
    /// Checks conditions on a view inside it.
    Push,
    /// Copies conditions with constants to equal columns.
    Transitive,
    /// Derives conditions on single row sources from an OR over several.
    Derive,
    /// Removes joined tables that do not contribute to the result.
    Eliminate,
}

impl Rewrite {
    pub const ALL: [(Rewrite, &'static str); 8] = [
        (Rewrite::Fold, "FOLD"),
        (Rewrite::Factor, "FACTOR"),
        (Rewrite::Unnest, "UNNEST"),
        (Rewrite::OuterToInner, "OUTER_TO_INNER"),
        (Rewrite::Push, "PUSH"),
        (Rewrite::Transitive, "TRANSITIVE"),
        (Rewrite::Derive, "DERIVE"),
        (Rewrite::Eliminate, "ELIMINATE"),
    ];
}

/// The rewrites that are switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewritesOff(u32);

impl RewritesOff {
    /// The rewrites in a list of names separated by commas or blanks; `ALL` means all of them. `None` for an unknown
    /// name.
    pub fn of(names: &str) -> Option<RewritesOff> {
        let mut off = RewritesOff::default();
        for name in names.split([',', ' ']).filter(|name| !name.is_empty()) {
            let name = name.to_uppercase();
            if name == "ALL" {
                off.0 = u32::MAX;
                continue;
            }
            let (rewrite, _) = Rewrite::ALL.iter().find(|(_, known)| *known == name)?;
            off.0 |= 1 << *rewrite as u32;
        }
        Some(off)
    }

    pub fn has(self, rewrite: Rewrite) -> bool {
        self.0 & 1 << rewrite as u32 != 0
    }

    /// A number that identifies the set.
    pub fn word(self) -> u32 {
        self.0
    }
}

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

/// The values of registers.
pub type Values = HashMap<Reg, Expr>;

/// Replaces registers by values. Not for expressions with subqueries, which read registers themselves (P16).
pub fn substitute(e: &mut Expr, values: &Values) {
    if let Node::Reg(r) = &e.node {
        if let Some(value) = values.get(r) {
            *e = value.clone();
        }
        return;
    }
    e.for_each_child_mut(&mut |child| substitute(child, values));
}

/// Most nodes of an expression after substitution.
const NODES_MAX: usize = 1000;

/// Whether an expression stays small after substitution: expressions of nested views double at each level that names a
/// column twice.
fn stays_small(e: &Expr, values: &Values) -> bool {
    let mut nodes = 0;
    e.walk(&mut |e| match &e.node {
        _ if nodes > NODES_MAX => {}
        Node::Reg(r) => match values.get(r) {
            Some(value) => value.walk(&mut |_| nodes += 1),
            None => nodes += 1,
        },
        _ => nodes += 1,
    });
    nodes <= NODES_MAX
}

/// Whether an expression may be evaluated at another place and more often: it has no subquery, no PL/SQL function and
/// no sequence, and each evaluation gives the same value.
fn is_movable(e: &Expr) -> bool {
    let mut movable = !e.varies();
    e.walk(&mut |e| {
        movable &= !matches!(
            e.node,
            Node::Scalar(_)
                | Node::Exists(_)
                | Node::InSub { .. }
                | Node::Quantified { .. }
                | Node::Call(..)
                | Node::Nextval(_)
                | Node::Currval(_)
        );
    });
    movable
}
