//! The conditions of a join: the parts that they read, and the keys that they give.

use super::*;

impl Compiler<'_> {
    /// The parts that an expression reads.
    pub(super) fn mask_of(&self, e: &Expr, owner: &HashMap<Reg, usize>) -> Mask {
        let mut mask = 0;
        self.expr_regs(e, &mut |r| {
            if let Some(&part) = owner.get(&r) {
                mask |= bit(part);
            }
        });
        mask
    }

    /// A condition outside of all classes of equal columns.
    pub(super) fn cond(&self, expr: Expr, mask: Mask, owner: &HashMap<Reg, usize>) -> Cond {
        let sides = match &expr.node {
            Node::Cmp(CmpOp::Eq, how @ (Compare::Plain | Compare::Padded), a, b)
                if !a.has_subquery() && !b.has_subquery() =>
            {
                Some((self.mask_of(a, owner), self.mask_of(b, owner), *how == Compare::Padded))
            }
            _ => None,
        };
        let bounds = match &expr.node {
            Node::Cmp(CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge, Compare::Plain, a, b)
                if !a.has_subquery() && !b.has_subquery() =>
            {
                Some((self.mask_of(a, owner), self.mask_of(b, owner)))
            }
            _ => None,
        };
        Cond { expr, mask, class: None, sides, bounds }
    }

    /// The hash key of an equality with one side in each of two sets.
    pub(super) fn hash_key(&self, c: &Expr, right: Mask, owner: &HashMap<Reg, usize>) -> Option<JoinKey> {
        key_of(&self.cond(c.clone(), self.mask_of(c, owner), owner), right)
    }
}

/// The join key of an equality with exactly one side in `right`.
pub(super) fn key_of(c: &Cond, right: Mask) -> Option<JoinKey> {
    let (Node::Cmp(_, _, a, b), Some((_, of_b, padded))) = (&c.expr.node, c.sides.filter(|_| c.is_key(right))) else {
        return None;
    };
    let (left, right) = if of_b & right != 0 { (a, b) } else { (b, a) };
    Some(JoinKey { padded, ..JoinKey::equal((**left).clone(), (**right).clone()) })
}
