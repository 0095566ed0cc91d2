//! Traversal of expressions.

use crate::ast::*;

/// Calls `f` with the expression and all its operands, without entering subqueries.
pub fn visit_expr(expr: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(expr);
    let mut visit = |expr: &Expr| visit_expr(expr, f);
    match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Name(_)
        | ExprKind::Bind(_)
        | ExprKind::Exists(_)
        | ExprKind::Subquery(_)
        | ExprKind::Cursor(..)
        | ExprKind::CastMultiset { .. }
        | ExprKind::Star
        | ExprKind::Default => {}
        ExprKind::OuterJoined(expr)
        | ExprKind::Unary { expr, .. }
        | ExprKind::Is { expr, .. }
        | ExprKind::Extract { expr, .. }
        | ExprKind::AsInterval { expr, .. }
        | ExprKind::Field { base: expr, .. } => visit(expr),
        ExprKind::Binary { left, right, .. } | ExprKind::Multiset { left, right, .. } => {
            visit(left);
            visit(right);
        }
        ExprKind::Quantified { left, right, .. } => {
            visit(left);
            visit_source(right, f);
        }
        ExprKind::In { expr, source, .. } => {
            visit(expr);
            visit_source(source, f);
        }
        ExprKind::Between { expr, low, high, .. } => [expr, low, high].into_iter().for_each(|e| visit(e)),
        ExprKind::Like { expr, pattern, escape, .. } => {
            visit(expr);
            visit(pattern);
            escape.iter().for_each(|e| visit(e));
        }
        ExprKind::Member { expr, of, .. } => {
            visit(expr);
            visit(of);
        }
        ExprKind::Row(list) => list.iter().for_each(visit),
        ExprKind::Case(case) => {
            case.operand.iter().for_each(&mut visit);
            for branch in &case.branches {
                visit(&branch.when);
                visit(&branch.then);
            }
            case.otherwise.iter().for_each(visit);
        }
        ExprKind::Call(call) => visit_call(call, f),
        ExprKind::Treat { expr, ty: _ } => visit(expr),
        ExprKind::Cast { expr, default_on_error, format, .. } => {
            visit(expr);
            default_on_error.iter().for_each(|e| visit(e));
            format.iter().for_each(visit);
        }
        ExprKind::Trim { chars, expr, .. } => {
            chars.iter().for_each(|e| visit(e));
            visit(expr);
        }
        ExprKind::AtTimeZone { expr, zone } => {
            visit(expr);
            zone.iter().for_each(|e| visit(e));
        }
        ExprKind::Apply { base, args } => {
            visit(base);
            args.iter().for_each(|arg| visit(&arg.value));
        }
    }
}

fn visit_source(source: &InSource, f: &mut dyn FnMut(&Expr)) {
    match source {
        InSource::List(list) => list.iter().for_each(|expr| visit_expr(expr, f)),
        InSource::Expr(expr) => visit_expr(expr, f),
        InSource::Query(_) => {}
    }
}

fn visit_call(call: &Call, f: &mut dyn FnMut(&Expr)) {
    call.args.iter().for_each(|arg| visit_expr(&arg.value, f));
    let keep = call.keep.iter().flat_map(|keep| &keep.order_by);
    let over = call.over.iter().flat_map(|window| &window.order_by);
    for item in call.within_group.iter().chain(keep).chain(over) {
        visit_expr(&item.expr, f);
    }
    for expr in call.over.iter().flat_map(|window| &window.partition_by) {
        visit_expr(expr, f);
    }
    call.default_on_error.iter().for_each(|e| visit_expr(e, f));
    if let Some(Overflow::Truncate { indicator, .. }) = &call.on_overflow {
        indicator.iter().for_each(|e| visit_expr(e, f));
    }
}
