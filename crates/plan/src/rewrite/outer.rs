//! Outer joins that are inner joins: a condition of WHERE that no row of NULLs meets rules out what the join would add.

use crate::ir::*;
use crate::logical::*;
use crate::scope::Compiler;
use std::collections::HashSet;

impl Compiler<'_> {
    /// Makes inner joins of outer joins whose optional side cannot be NULL in the result. An inner join's condition may
    /// rule out NULLs of another part, so it goes on until nothing changes.
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
        _ => is_null(c, nulls),
    }
}

/// Whether an expression is NULL, or a condition unknown, when all these registers are.
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
