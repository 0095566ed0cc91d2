//! Rewrites: from a logical tree to an equivalent one that can be run faster.
//!
//! Each rewrite is a module with a name, in the order of [`Rewrite::ALL`], and can be switched off by that name
//! (`_rewrite_off`), so that answers with and without it can be compared. None of them looks at costs but the
//! unnesting of scalar subqueries: what is cheaper is for the physical planner to say, and a rewrite is made where its
//! result can be run in every way in which the original could.
//!
//! Conditions that a rewrite adds follow from those that are there. The estimates know of them (`physical::rows`).

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
    /// Constant parts of conditions are evaluated.
    Fold,
    /// What all branches of an OR demand is demanded once.
    Factor,
    /// Subqueries become semijoins, antijoins and joins with groups.
    Unnest,
    /// An outer join whose optional side cannot be NULL is an inner join.
    OuterToInner,
    /// Conditions on a view are checked inside it.
    Push,
    /// What equals a constant makes its equals equal it.
    Transitive,
    /// An OR over several row sources limits each of them.
    Derive,
    /// Joined tables that contribute nothing go away.
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
    /// The rewrites that a list of names separated by commas or blanks switches off; `ALL` is all of them. `None` for
    /// a name that is none.
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

    /// A number that differs between different sets.
    pub fn word(self) -> u32 {
        self.0
    }
}

impl Compiler<'_> {
    fn wants(&self, rewrite: Rewrite) -> bool {
        !self.rewrites_off.has(rewrite)
    }

    /// Rewrites all trees of the statement. Subqueries come in the order in which they were bound, innermost first.
    /// `out`: the values that a query gives of its rows; `None` for other statements, of which more is read.
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

    /// Rewrites the values that are made of a tree's rows.
    fn rewrite_list(&mut self, rel: &mut Rel, out: &mut [Expr]) {
        if self.wants(Rewrite::Unnest) && out.iter().any(Expr::has_subquery) {
            self.unnest_in_list(rel, out);
        }
    }

    fn rewrite_rel(&mut self, rel: &mut Rel) {
        if os::stack::is_short() {
            return; // What nests that deep is planned as it stands.
        }
        match rel {
            Rel::Join(set) => self.rewrite_set(set),
            Rel::Set { inputs, .. } => {
                for (input, out) in inputs {
                    self.rewrite_list(input, out);
                    self.rewrite_rel(input);
                }
            }
            // Its joins are planned for roots, children and probes alike: they stay what they are.
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

/// What registers stand for.
pub type Values = HashMap<Reg, Expr>;

/// Puts values in the place of registers. Not for expressions with subqueries: these read registers themselves.
pub fn substitute(e: &mut Expr, values: &Values) {
    if let Node::Reg(r) = &e.node {
        if let Some(value) = values.get(r) {
            *e = value.clone();
        }
        return;
    }
    e.for_each_child_mut(&mut |child| substitute(child, values));
}

/// Nodes that an expression may have when values stand in it.
const NODES_MAX: usize = 1000;

/// Whether an expression stays small when values are put in the place of registers: what views compute of one another
/// doubles with each that names a column twice.
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

/// Whether an expression may be evaluated at another place, and oftener: it has no subquery, no function of PL/SQL, no
/// sequence, and is the same each time.
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
