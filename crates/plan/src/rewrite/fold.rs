//! Constant parts of conditions.
//!
//! Only expressions that cannot fail and do not depend on the session are evaluated: arithmetic on numbers, and
//! comparisons of constants of one type. Conditions that are always true are removed from AND, those that are always
//! false from OR.

use crate::ir::*;
use types::Value;

/// Evaluates the constant parts of an expression in place.
pub fn fold(e: &mut Expr) {
    e.for_each_child_mut(&mut fold);
    let folded = match &e.node {
        Node::Arith(op, a, b) => match (&a.node, &b.node) {
            (Node::Const(Value::Number(x)), Node::Const(Value::Number(y))) if !matches!(op, ArithOp::Div) => {
                let value = match op {
                    ArithOp::Add => x.add(y),
                    ArithOp::Sub => x.sub(y),
                    _ => x.mul(y),
                };
                value.ok().map(|n| Node::Const(Value::Number(n)))
            }
            _ => None,
        },
        Node::Neg(a) => match &a.node {
            Node::Const(Value::Number(x)) => Some(Node::Const(Value::Number(x.neg()))),
            _ => None,
        },
        _ => None,
    };
    if let Some(node) = folded {
        e.node = node;
        return;
    }
    let absorbing = match e.node {
        Node::And(_) => false,
        Node::Or(_) => true,
        _ => return,
    };
    if let Node::And(conds) | Node::Or(conds) = &mut e.node {
        if let Some(at) = conds.iter().position(|c| truth(c) == Some(absorbing)) {
            *e = conds.swap_remove(at);
            return;
        }
        // The last operand stays, even if it is constant: an empty list cannot represent a constant.
        let mut left = conds.len();
        conds.retain(|c| {
            let goes = left > 1 && truth(c) == Some(!absorbing);
            left -= usize::from(goes);
            !goes
        });
        if left == 1 {
            *e = conds.swap_remove(0);
        }
    }
}

/// The result of comparing two constant numbers.
fn truth(c: &Expr) -> Option<bool> {
    let Node::Cmp(op, Compare::Plain, a, b) = &c.node else { return None };
    let (Node::Const(Value::Number(a)), Node::Const(Value::Number(b))) = (&a.node, &b.node) else { return None };
    Some(match op {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::Lt => a < b,
        CmpOp::Le => a <= b,
        CmpOp::Gt => a > b,
        CmpOp::Ge => a >= b,
    })
}
