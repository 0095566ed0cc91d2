//! Questions to the parser's tree that come before resolution: is a name used, is there a `(+)`.

use sql::ast::*;

/// How often `name` occurs as a table in a query.
pub fn mentions(q: &Query, name: &str) -> usize {
    q.with.iter().map(|c| mentions(&c.query, name)).sum::<usize>() + mentions_body(q, name)
}

/// As [`mentions`], the query's own WITH clause left out.
pub fn mentions_body(q: &Query, name: &str) -> usize {
    let order = q.order_by.iter().flat_map(|o| &o.items).map(|i| in_expr(&i.expr, name)).sum::<usize>();
    body(&q.body, name) + order
}

fn body(b: &QueryBody, name: &str) -> usize {
    match b {
        QueryBody::Select(s) => select(s, name),
        QueryBody::SetOperation { left, right, .. } => body(left, name) + body(right, name),
        QueryBody::Nested(q) => mentions(q, name),
    }
}

fn select(s: &Select, name: &str) -> usize {
    let mut n = s.from.iter().map(|t| table(t, name)).sum::<usize>();
    for item in &s.items {
        if let SelectItemKind::Expr { expr, .. } = &item.kind {
            n += in_expr(expr, name);
        }
    }
    n += s.filter.iter().chain(&s.having).map(|e| in_expr(e, name)).sum::<usize>();
    if let Some(c) = &s.connect_by {
        n += in_expr(&c.condition, name) + c.start_with.iter().map(|e| in_expr(e, name)).sum::<usize>();
    }
    n
}

fn table(t: &TableRef, name: &str) -> usize {
    match &t.kind {
        TableRefKind::Table(t) => usize::from(t.name.as_simple() == Some(name)),
        TableRefKind::Subquery { query, .. } => mentions(query, name),
        TableRefKind::Collection { expr, .. } => in_expr(expr, name),
        TableRefKind::Join { left, right, constraint, .. } => {
            let on = match constraint {
                JoinConstraint::On(e) => in_expr(e, name),
                _ => 0,
            };
            table(left, name) + table(right, name) + on
        }
    }
}

fn in_expr(e: &Expr, name: &str) -> usize {
    let mut n = 0;
    each_query(e, &mut |q| n += mentions(q, name));
    n
}

/// Calls `f` with each subquery of an expression.
fn each_query<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Query)) {
    match &e.kind {
        ExprKind::Exists(q) | ExprKind::Subquery(q) | ExprKind::Cursor(q, _) => f(q),
        ExprKind::CastMultiset { query, .. } => f(query),
        ExprKind::In { expr, source, .. } => {
            each_query(expr, f);
            in_source(source, f);
        }
        ExprKind::Quantified { left, right, .. } => {
            each_query(left, f);
            in_source(right, f);
        }
        _ => each_child(e, &mut |c| each_query(c, f)),
    }
}

fn in_source<'a>(s: &'a InSource, f: &mut dyn FnMut(&'a Query)) {
    match s {
        InSource::Query(q) => f(q),
        InSource::List(items) => items.iter().for_each(|e| each_query(e, f)),
        InSource::Expr(e) => each_query(e, f),
    }
}

/// Calls `f` with each direct operand.
pub fn each_child<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    match &e.kind {
        ExprKind::OuterJoined(a) => f(a),
        ExprKind::Unary { expr, .. } | ExprKind::Is { expr, .. } => f(expr),
        ExprKind::Cast { expr, ty: _, default_on_error, format } => {
            f(expr);
            default_on_error.iter().for_each(|e| f(e));
            format.iter().for_each(f);
        }
        ExprKind::Extract { expr, .. } | ExprKind::AsInterval { expr, .. } => f(expr),
        ExprKind::Trim { chars, expr, .. } => {
            chars.iter().for_each(|c| f(c));
            f(expr);
        }
        ExprKind::Binary { left, right, .. } => {
            f(left);
            f(right);
        }
        ExprKind::Quantified { left, right, .. } => {
            f(left);
            if let InSource::List(items) = right {
                items.iter().for_each(f);
            }
        }
        ExprKind::Between { expr, low, high, .. } => {
            f(expr);
            f(low);
            f(high);
        }
        ExprKind::In { expr, source, .. } => {
            f(expr);
            if let InSource::List(items) = source {
                items.iter().for_each(f);
            }
        }
        ExprKind::Like { expr, pattern, escape, .. } => {
            f(expr);
            f(pattern);
            escape.iter().for_each(|e| f(e));
        }
        ExprKind::Row(items) => items.iter().for_each(f),
        ExprKind::Case(case) => {
            case.operand.iter().for_each(&mut *f);
            for b in &case.branches {
                f(&b.when);
                f(&b.then);
            }
            case.otherwise.iter().for_each(f);
        }
        ExprKind::Call(call) => {
            call.args.iter().for_each(|a| f(&a.value));
            call.within_group.iter().for_each(|o| f(&o.expr));
            if let Some(w) = &call.over {
                w.partition_by.iter().for_each(&mut *f);
                w.order_by.iter().for_each(|o| f(&o.expr));
            }
        }
        _ => {}
    }
}

/// The qualifiers of the columns that a condition marks with `(+)`: what is optional. `None` when one of them has none.
pub fn marked_aliases(e: &Expr) -> Option<Vec<String>> {
    let mut all = Vec::new();
    add_marked(e, &mut all).then_some(all)
}

fn add_marked(e: &Expr, to: &mut Vec<String>) -> bool {
    if let ExprKind::OuterJoined(column) = &e.kind {
        let ExprKind::Name(name) = &column.kind else { return false };
        let qualifier = name.parts.len().checked_sub(2).map(|at| name.parts[at].name.clone());
        to.extend(qualifier.clone());
        return qualifier.is_some();
    }
    let mut all_have_one = true;
    each_child(e, &mut |c| all_have_one &= add_marked(c, to));
    all_have_one
}

/// Whether no outer join fills the columns of an item of FROM with NULLs, going by [`marked_aliases`].
pub fn is_kept(t: &TableRef, marked: Option<&[String]>) -> bool {
    let Some(marked) = marked else { return false };
    let alias = match &t.kind {
        TableRefKind::Table(table) => table.alias.as_ref().map_or(table.name.last(), |alias| &alias.name),
        TableRefKind::Subquery { alias: Some(alias), .. } => &alias.name,
        _ => return false,
    };
    marked.iter().all(|name| name != alias)
}

/// Whether a condition marks a column with `(+)`.
pub fn has_plus(e: &Expr) -> bool {
    if matches!(e.kind, ExprKind::OuterJoined(_)) {
        return true;
    }
    let mut found = false;
    each_child(e, &mut |c| found |= has_plus(c));
    found
}
