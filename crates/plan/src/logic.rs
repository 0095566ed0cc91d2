//! AND, OR and NOT of conditions.

use crate::ir::*;
use types::DataType;

/// The conjunction of conditions, without ANDs inside it.
pub fn and(mut conds: Vec<Expr>) -> Expr {
    if conds.len() == 1 {
        return conds.pop().expect("one condition");
    }
    let mut flat = Vec::with_capacity(conds.len());
    for c in conds {
        match c.node {
            Node::And(inner) => flat.extend(inner),
            _ => flat.push(c),
        }
    }
    Expr::new(Node::And(flat), DataType::Boolean)
}

/// The disjunction of conditions, without ORs inside it.
pub fn or(mut conds: Vec<Expr>) -> Expr {
    if conds.len() == 1 {
        return conds.pop().expect("one condition");
    }
    let mut flat = Vec::with_capacity(conds.len());
    for c in conds {
        match c.node {
            Node::Or(inner) => flat.extend(inner),
            _ => flat.push(c),
        }
    }
    Expr::new(Node::Or(flat), DataType::Boolean)
}

/// NOT, pushed down where three-valued logic allows.
pub fn negate(e: Expr) -> Expr {
    let ty = DataType::Boolean;
    match e.node {
        Node::Cmp(op, how, a, b) => Expr::new(Node::Cmp(op.negate(), how, a, b), ty),
        Node::IsNull(a, negated) => Expr::new(Node::IsNull(a, !negated), ty),
        Node::Not(inner) => *inner,
        Node::Like { value, pattern, escape, negated } => {
            Expr::new(Node::Like { value, pattern, escape, negated: !negated }, ty)
        }
        Node::InList { value, list, compare, negated } => {
            Expr::new(Node::InList { value, list, compare, negated: !negated }, ty)
        }
        Node::InSub { values, sub, compare, negated, single } => {
            Expr::new(Node::InSub { values, sub, compare, negated: !negated, single }, ty)
        }
        Node::Quantified { op, compare, all, value, sub } => {
            Expr::new(Node::Quantified { op: op.negate(), compare, all: !all, value, sub }, ty)
        }
        Node::And(conds) => or(conds.into_iter().map(negate).collect()),
        Node::Or(conds) => and(conds.into_iter().map(negate).collect()),
        node => Expr::new(Node::Not(Box::new(Expr::new(node, e.ty))), ty),
    }
}

/// Takes a condition apart at its ANDs.
pub fn flatten_and(e: Expr, into: &mut Vec<Expr>) {
    match e.node {
        Node::And(conds) => conds.into_iter().for_each(|c| flatten_and(c, into)),
        _ => into.push(e),
    }
}
