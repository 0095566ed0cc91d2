//! Transitive conditions: constants and ranges are copied to columns that are equal to the restricted column.
//!
//! `a.x = 1 and a.x = b.y` implies `b.y = 1`, so that an index on `b.y` can be used before `a` is read. Equalities
//! between columns are left to the physical planner, which derives additional join orders from them.

use crate::ir::*;
use crate::logical::*;
use crate::scope::Compiler;

impl Compiler<'_> {
    /// Adds to a join the conditions with constants that its equalities imply.
    pub(super) fn transitive(&mut self, set: &mut JoinSet) {
        let mut pairs: Vec<(Reg, Reg)> = Vec::new();
        set.conds.iter().for_each(|c| pairs.extend(equal_columns(c)));
        for _ in 0..set.parts.len() {
            let known = set.conds.len();
            for at in 0..known {
                for (a, b) in &pairs {
                    for (from, to) in [(*a, *b), (*b, *a)] {
                        if let Some(c) = carried(&set.conds[at], from, to)
                            && !set.conds.contains(&c)
                        {
                            set.conds.push(c);
                        }
                    }
                }
            }
            if set.conds.len() == known {
                break;
            }
        }
        // Conditions are copied into outer joins and semijoins, never out of them.
        for part in &mut set.parts {
            let (Link::Left(on) | Link::Semi(on) | Link::Anti(on)) = &mut part.link else { continue };
            let mut own = std::collections::HashSet::new();
            let mut regs = Vec::new();
            self.part_regs(&part.kind, &mut |r| regs.push(r));
            own.extend(regs);
            let pairs: Vec<(Reg, Reg)> = on.iter().filter_map(equal_columns).collect();
            for (a, b) in pairs {
                let (outside, inside) = if own.contains(&a) { (b, a) } else { (a, b) };
                if own.contains(&outside) || !own.contains(&inside) {
                    continue;
                }
                let more: Vec<Expr> = set.conds.iter().filter_map(|c| carried(c, outside, inside)).collect();
                more.into_iter().for_each(|c| {
                    if !on.contains(&c) {
                        on.push(c);
                    }
                });
            }
        }
    }
}

/// The two columns of one type that a condition equates.
pub fn equal_columns(c: &Expr) -> Option<(Reg, Reg)> {
    let Node::Cmp(CmpOp::Eq, Compare::Plain, a, b) = &c.node else { return None };
    match (&a.node, &b.node) {
        (Node::Reg(x), Node::Reg(y)) if is_carried(&a.ty, &b.ty) => Some((*x, *y)),
        _ => None,
    }
}

/// Whether equal values of the two types compare alike with any third value.
fn is_carried(a: &types::DataType, b: &types::DataType) -> bool {
    use types::DataType::*;
    match (a, b) {
        (Number { .. } | Float { .. }, Number { .. } | Float { .. }) => true,
        (Varchar2 { .. }, Varchar2 { .. }) | (Date, Date) | (Raw { .. }, Raw { .. }) => true,
        (a, b) => a == b && matches!(a, Timestamp { zone: types::Zone::None, .. } | Nvarchar2 { .. }),
    }
}

/// A condition of a column with constants, rewritten for another column.
fn carried(c: &Expr, from: Reg, to: Reg) -> Option<Expr> {
    let is_fixed = |e: &Expr| match &e.node {
        Node::Const(value) => !value.is_null(),
        Node::Bind(_) => true,
        Node::Convert(e) | Node::Cast(e) => matches!(e.node, Node::Bind(_)),
        _ => false,
    };
    let is_it = |e: &Expr| e.node == Node::Reg(from);
    let swapped = |e: &Expr| Box::new(Expr::new(if is_it(e) { Node::Reg(to) } else { e.node.clone() }, e.ty));
    let node = match &c.node {
        Node::Cmp(op, Compare::Plain, a, b)
            if *op != CmpOp::Ne && (is_it(a) && is_fixed(b) || is_it(b) && is_fixed(a)) =>
        {
            Node::Cmp(*op, Compare::Plain, swapped(a), swapped(b))
        }
        Node::InList { value, list, compare: Compare::Plain, negated: false }
            if is_it(value) && list.iter().all(is_fixed) =>
        {
            Node::InList { value: swapped(value), list: list.clone(), compare: Compare::Plain, negated: false }
        }
        _ => return None,
    };
    Some(Expr::new(node, c.ty))
}
