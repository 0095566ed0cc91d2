//! Queries on the parser's tree before resolution: whether a name is used, whether there is a `(+)`.

use sql::ast::*;

/// A part of a query found by the walk over it, which enters subqueries.
#[derive(Clone, Copy)]
enum Part<'a> {
    Select(&'a Select),
    /// The name of a table in a FROM clause.
    Table(&'a Name),
}

/// How often `name` occurs as a table in a query.
pub fn mentions(q: &Query, name: &str) -> usize {
    count(name, |f| query(q, f))
}

/// As [`mentions`], without the query's own WITH clause.
pub fn mentions_body(q: &Query, name: &str) -> usize {
    count(name, |f| without_with(q, f))
}

/// The number of times that the FROM clause of a query's own SELECT names `name`, alone or in joins.
pub fn mentions_directly(q: &Query, name: &str) -> usize {
    fn of(t: &TableRef, name: &str) -> usize {
        match &t.kind {
            TableRefKind::Table(t) => usize::from(t.name.as_simple() == Some(name)),
            TableRefKind::Join { kind: _, left, right, constraint: _ } => of(left, name) + of(right, name),
            TableRefKind::Subquery { query: _, restriction: _, lateral: _, as_of: _, alias: _, pivot: _ }
            | TableRefKind::Collection { expr: _, outer: _, alias: _ } => 0,
        }
    }
    match &q.body {
        QueryBody::Select(s) => s.from.iter().map(|t| of(t, name)).sum(),
        QueryBody::Nested(inner) => mentions_directly(inner, name),
        QueryBody::SetOperation { op: _, all: _, left: _, right: _, pos: _ } => 0,
    }
}

fn count<'a>(name: &str, walk: impl FnOnce(&mut dyn FnMut(Part<'a>))) -> usize {
    let mut n = 0;
    walk(&mut |part| {
        if let Part::Table(table) = part {
            n += usize::from(table.as_simple() == Some(name));
        }
    });
    n
}

/// Calls `f` with each SELECT of a query, including those of subqueries.
pub fn each_select<'a>(q: &'a Query, f: &mut dyn FnMut(&'a Select)) {
    query(q, &mut |part| {
        if let Part::Select(select) = part {
            f(select);
        }
    });
}

fn query<'a>(q: &'a Query, f: &mut dyn FnMut(Part<'a>)) {
    q.with.iter().for_each(|c| query(&c.query, f));
    without_with(q, f);
}

fn without_with<'a>(q: &'a Query, f: &mut dyn FnMut(Part<'a>)) {
    let Query { with: _, body: rows, order_by, limit, for_update: _, pos: _ } = q;
    body(rows, f);
    for item in order_by.iter().flat_map(|o| &o.items) {
        in_expr(&item.expr, f);
    }
    if let Some(RowLimit { offset, fetch, pos: _ }) = limit {
        let count = fetch.as_ref().and_then(|fetch| fetch.count.as_ref());
        offset.iter().chain(count).for_each(|e| in_expr(e, f));
    }
}

fn body<'a>(b: &'a QueryBody, f: &mut dyn FnMut(Part<'a>)) {
    match b {
        QueryBody::Select(s) => select(s, f),
        QueryBody::SetOperation { op: _, all: _, left, right, pos: _ } => {
            body(left, f);
            body(right, f);
        }
        QueryBody::Nested(q) => query(q, f),
    }
}

fn select<'a>(s: &'a Select, f: &mut dyn FnMut(Part<'a>)) {
    f(Part::Select(s));
    let Select {
        hints: _,
        distinct: _,
        items,
        into: _,
        from,
        filter,
        connect_by,
        group_by,
        having,
        pos: _,
        from_pos: _,
    } = s;
    for item in items {
        if let SelectItemKind::Expr { expr, alias: _, text: _ } = &item.kind {
            in_expr(expr, f);
        }
    }
    from.iter().for_each(|t| table(t, f));
    filter.iter().chain(having).for_each(|e| in_expr(e, f));
    if let Some(ConnectBy { start_with, nocycle: _, condition, pos: _ }) = connect_by {
        in_expr(condition, f);
        start_with.iter().for_each(|e| in_expr(e, f));
    }
    if let Some(GroupBy { elements, pos: _ }) = group_by {
        elements.iter().for_each(|element| group(element, f));
    }
}

fn group<'a>(element: &'a GroupElement, f: &mut dyn FnMut(Part<'a>)) {
    match element {
        GroupElement::Expr(e) => in_expr(e, f),
        GroupElement::Rollup(list) | GroupElement::Cube(list) => list.iter().for_each(|e| in_expr(e, f)),
        GroupElement::GroupingSets(list) => list.iter().for_each(|element| group(element, f)),
    }
}

fn table<'a>(t: &'a TableRef, f: &mut dyn FnMut(Part<'a>)) {
    match &t.kind {
        TableRefKind::Table(t) => f(Part::Table(&t.name)),
        // Neither AS OF nor PIVOT has a subquery.
        TableRefKind::Subquery { query: q, restriction: _, lateral: _, as_of: _, alias: _, pivot: _ } => query(q, f),
        TableRefKind::Collection { expr, outer: _, alias: _ } => in_expr(expr, f),
        TableRefKind::Join { kind: _, left, right, constraint } => {
            table(left, f);
            table(right, f);
            match constraint {
                JoinConstraint::On(e) => in_expr(e, f),
                JoinConstraint::None | JoinConstraint::Using(_) | JoinConstraint::Natural => {}
            }
        }
    }
}

fn in_expr<'a>(e: &'a Expr, f: &mut dyn FnMut(Part<'a>)) {
    each_query(e, &mut |q| query(q, f));
}

/// Calls `f` with each subquery of an expression.
pub fn each_query<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Query)) {
    match &e.kind {
        ExprKind::Exists(q) | ExprKind::Subquery(q) | ExprKind::Cursor(q, _) => f(q),
        ExprKind::CastMultiset { query, ty: _ } => f(query),
        ExprKind::In { expr, source, negated: _ } => {
            each_query(expr, f);
            in_source(source, f);
        }
        ExprKind::Quantified { op: _, quantifier: _, left, right } => {
            each_query(left, f);
            in_source(right, f);
        }
        // not a clause: `each_child` handles every kind
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
        ExprKind::Literal(_)
        | ExprKind::Name(_)
        | ExprKind::Bind(_)
        | ExprKind::Exists(_)
        | ExprKind::Subquery(_)
        | ExprKind::Cursor(..)
        | ExprKind::CastMultiset { query: _, ty: _ }
        | ExprKind::Star
        | ExprKind::Default => {}
        ExprKind::OuterJoined(a) => f(a),
        ExprKind::Unary { op: _, expr } | ExprKind::Is { expr, test: _, negated: _ } => f(expr),
        ExprKind::Treat { expr, ty: _ } => f(expr),
        ExprKind::Cast { expr, ty: _, default_on_error, format } => {
            f(expr);
            default_on_error.iter().for_each(|e| f(e));
            format.iter().for_each(f);
        }
        ExprKind::Extract { field: _, expr } | ExprKind::AsInterval { expr, qualifier: _ } => f(expr),
        ExprKind::Field { base, field: _ } => f(base),
        ExprKind::Trim { side: _, chars, expr } => {
            chars.iter().for_each(|c| f(c));
            f(expr);
        }
        ExprKind::AtTimeZone { expr, zone } => {
            f(expr);
            zone.iter().for_each(|zone| f(zone));
        }
        ExprKind::Binary { op: _, left, right } | ExprKind::Multiset { op: _, distinct: _, left, right } => {
            f(left);
            f(right);
        }
        ExprKind::Quantified { op: _, quantifier: _, left, right } => {
            f(left);
            each_item(right, f);
        }
        ExprKind::Between { expr, low, high, negated: _ } => {
            f(expr);
            f(low);
            f(high);
        }
        ExprKind::In { expr, source, negated: _ } => {
            f(expr);
            each_item(source, f);
        }
        ExprKind::Like { kind: _, expr, pattern, escape, negated: _ } => {
            f(expr);
            f(pattern);
            escape.iter().for_each(|e| f(e));
        }
        ExprKind::Member { expr, of, submultiset: _, negated: _ } => {
            f(expr);
            f(of);
        }
        ExprKind::Row(items) => items.iter().for_each(f),
        ExprKind::Case(case) => {
            let Case { operand, branches, otherwise } = &**case;
            operand.iter().for_each(&mut *f);
            for CaseBranch { when, then } in branches {
                f(when);
                f(then);
            }
            otherwise.iter().for_each(f);
        }
        ExprKind::Apply { base, args } => {
            f(base);
            args.iter().for_each(|a| f(&a.value));
        }
        ExprKind::Call(call) => each_of_call(call, f),
    }
}

fn each_item<'a>(source: &'a InSource, f: &mut dyn FnMut(&'a Expr)) {
    match source {
        InSource::List(items) => items.iter().for_each(f),
        InSource::Expr(e) => f(e),
        InSource::Query(_) => {}
    }
}

fn each_of_call<'a>(call: &'a Call, f: &mut dyn FnMut(&'a Expr)) {
    let Call {
        name: _,
        distinct: _,
        args,
        within_group,
        keep,
        ignore_nulls: _,
        from_last: _,
        over,
        on_overflow,
        default_on_error,
        json: _, // its values are arguments
        xml: _,  // its values are arguments
    } = call;
    args.iter().for_each(|a| f(&a.value));
    default_on_error.iter().for_each(|e| f(e));
    if let Some(Overflow::Truncate { indicator, count: _ }) = on_overflow {
        indicator.iter().for_each(|e| f(e));
    }
    within_group.iter().for_each(|o| f(&o.expr));
    keep.iter().flat_map(|keep| &keep.order_by).for_each(|o| f(&o.expr));
    if let Some(Window { name: _, partition_by, order_by, frame }) = over {
        partition_by.iter().for_each(&mut *f);
        order_by.iter().for_each(|o| f(&o.expr));
        if let Some(Frame { unit: _, start, end }) = frame {
            for bound in std::iter::once(start).chain(end) {
                match bound {
                    FrameBound::Preceding(e) | FrameBound::Following(e) => f(e),
                    FrameBound::UnboundedPreceding | FrameBound::CurrentRow | FrameBound::UnboundedFollowing => {}
                }
            }
        }
    }
}

/// The qualifiers of the columns marked with `(+)` in a condition, whose items are optional. `None` if a marked column
/// has no qualifier.
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

/// Whether no outer join fills the columns of a FROM item with NULLs, judging by [`marked_aliases`].
pub fn is_kept(t: &TableRef, marked: Option<&[String]>) -> bool {
    let Some(marked) = marked else { return false };
    let alias = match &t.kind {
        TableRefKind::Table(table) => table.alias.as_ref().map_or(table.name.last(), |alias| &alias.name),
        TableRefKind::Subquery { query: _, restriction: _, lateral: _, as_of: _, alias: Some(alias), pivot: _ } => {
            &alias.name
        }
        // not a clause: other items have no alias to qualify columns with
        _ => return false,
    };
    marked.iter().all(|name| name != alias)
}

/// The position of the first column marked with `(+)`.
pub fn plus(e: &Expr) -> Option<u32> {
    if matches!(e.kind, ExprKind::OuterJoined(_)) {
        return Some(e.pos.0);
    }
    let mut found = None;
    each_child(e, &mut |c| found = found.or_else(|| plus(c)));
    found
}
