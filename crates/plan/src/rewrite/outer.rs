//! Outer joins that are equivalent to inner joins, because a condition of WHERE rejects the added rows of NULLs. A full
//! outer join with one rejected side becomes an outer join.

use crate::ir::*;
use crate::logical::*;
use crate::scope::Compiler;
use std::collections::HashSet;

impl Compiler<'_> {
    /// Turns full outer joins into outer joins if one side cannot be NULL in the result; that side is preserved.
    pub(super) fn full_to_outer(&self, set: &mut JoinSet) {
        let kept = |part: &Part, conds: &[Expr]| {
            let (PartKind::Full(full), Link::Inner) = (&part.kind, &part.link) else { return None };
            let is_ruled_out = |side: &JoinSet| {
                let mut own = HashSet::new();
                self.set_regs(side, &mut |r| {
                    own.insert(r);
                });
                conds.iter().any(|c| rejects(c, &own))
            };
            // A row with NULLs for the left side comes from the right side, which then need not be preserved.
            is_ruled_out(&full.0).then_some(true).or_else(|| is_ruled_out(&full.1).then_some(false))
        };
        while let Some((at, is_left)) =
            set.parts.iter().enumerate().find_map(|(at, part)| Some((at, kept(part, &set.conds)?)))
        {
            let whole = PartKind::Set(JoinSet::default());
            let PartKind::Full(full) = std::mem::replace(&mut set.parts[at].kind, whole) else { return };
            let (left, right, on) = *full;
            let (kept, optional) = if is_left { (left, right) } else { (right, left) };
            let JoinSet { mut parts, conds, hints, block: _ } = kept;
            parts.push(Part::optional(optional, on));
            set.parts.splice(at..=at, parts);
            set.conds.extend(conds);
            set.hints.extend(hints);
        }
    }

    /// Turns outer joins into inner joins if their optional side cannot be NULL in the result. The condition of a new
    /// inner join may reject NULLs of another part, so this is repeated until nothing changes.
    pub(super) fn outer_to_inner(&mut self, set: &mut JoinSet) {
        while let Some(at) = set.parts.iter().position(|part| self.is_inner_in_fact(part, &set.conds)) {
            let Link::Left(on) = std::mem::replace(&mut set.parts[at].link, Link::Inner) else { return };
            set.conds.extend(on);
            if let PartKind::Set(inner) = &mut set.parts[at].kind {
                let JoinSet { parts, conds, hints, block: _ } = std::mem::take(inner);
                set.parts.splice(at..=at, parts);
                set.conds.extend(conds);
                set.hints.extend(hints);
            }
        }
    }

    fn is_inner_in_fact(&self, part: &Part, conds: &[Expr]) -> bool {
        if part.outer_on().is_none() {
            return false;
        }
        let mut own = HashSet::new();
        self.part_regs(&part.kind, &mut |r| {
            own.insert(r);
        });
        conds.iter().any(|c| rejects(c, &own))
    }
}

/// Whether a condition is not true for a row in which all these registers are NULL.
pub fn rejects(c: &Expr, nulls: &HashSet<Reg>) -> bool {
    match &c.node {
        Node::And(conds) => conds.iter().any(|c| rejects(c, nulls)),
        Node::Or(conds) => conds.iter().all(|c| rejects(c, nulls)),
        Node::IsNull(value, negated) => *negated && is_null(value, nulls),
        // NULL IN (…) is false for an empty list, and UNKNOWN otherwise.
        Node::InSub { values, negated: false, .. } => values.iter().any(|value| is_null(value, nulls)),
        _ => is_null(c, nulls),
    }
}

/// Whether an expression is NULL, or a condition UNKNOWN, if all these registers are NULL.
fn is_null(e: &Expr, nulls: &HashSet<Reg>) -> bool {
    match &e.node {
        Node::Reg(r) => nulls.contains(r),
        Node::Const(types::Value::Null) => true,
        Node::Neg(a) | Node::Convert(a) | Node::Cast(a) | Node::Not(a) => is_null(a, nulls),
        Node::Arith(_, a, b) | Node::Cmp(_, _, a, b) => is_null(a, nulls) || is_null(b, nulls),
        Node::Like { value, pattern, .. } => is_null(value, nulls) || is_null(pattern, nulls),
        Node::InList { value, .. } => is_null(value, nulls),
        Node::And(conds) | Node::Or(conds) => conds.iter().all(|c| is_null(c, nulls)),
        _ => false,
    }
}
