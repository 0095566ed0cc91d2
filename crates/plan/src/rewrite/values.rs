//! The replacement of registers by values, and the expressions that may move.

use crate::ir::{Expr, Node, Reg};
use std::collections::HashMap;

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
pub(crate) fn stays_small(e: &Expr, values: &Values) -> bool {
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
pub(crate) fn is_movable(e: &Expr) -> bool {
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
