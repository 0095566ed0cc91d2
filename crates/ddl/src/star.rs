//! Expansion of `*` in the query of a view: the stored text has the present columns instead, so that columns added to
//! the tables later, or made visible later, do not become columns of the view.
//!
//! Only the select lists that define the view's columns are expanded; `*` in a subquery stays, as in Oracle.

use crate::host::Described;
use crate::host::Host;
use crate::work::Target;
use sql::ast::{CreateView, Expr, ExprKind, ItemText, JoinConstraint, TableRef, TableRefKind};
use sql::ast::{Cte, Ident, Name, Pos, Query, QueryBody, Select, SelectItem, SelectItemKind};

/// The text of a view's query with named columns; `None` if the query has no `*`, or one that cannot be expanded.
/// `described`: the described columns of the query.
pub fn written_out(
    host: &mut dyn Host,
    create: &CreateView,
    target: &Target,
    described: &[Described],
) -> Option<String> {
    let mut found = Vec::new();
    let mut stars = Stars { host, target, with: Vec::new() };
    stars.of_query(&create.query, &mut found)?;
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|(pos, _)| pos.offset());
    let mut text = String::new();
    let mut done = 0;
    for (pos, list) in found {
        let at = pos.offset().checked_sub(create.query.pos.offset())?;
        text.push_str(create.text.get(done..at)?);
        text.push_str(&list);
        done = end_of_star(&create.text, at)?;
    }
    text.push_str(create.text.get(done..)?);
    let again = sql::parse_query(&text).and_then(|query| host.describe(&query, Some(target.owner))).ok()?;
    (again == described).then_some(text)
}

/// The end of the `*` in `t.*`.
fn end_of_star(text: &str, from: usize) -> Option<usize> {
    let mut rest = text.get(from..)?;
    loop {
        let skipped = match rest {
            r if r.starts_with('*') => return Some(text.len() - rest.len() + 1),
            r if r.starts_with('"') => r[1..].find('"')? + 2,
            r if r.starts_with("/*") => r.find("*/")? + 2,
            r if r.starts_with("--") => r.find('\n')? + 1,
            r => r.chars().next()?.len_utf8(),
        };
        rest = &rest[skipped..];
    }
}

struct Stars<'a> {
    host: &'a mut dyn Host,
    target: &'a Target,
    /// The WITH clauses around the present query.
    with: Vec<Cte>,
}

impl Stars<'_> {
    /// Appends the expansion of each `*`, with its position.
    fn of_query(&mut self, query: &Query, found: &mut Vec<(Pos, String)>) -> Option<()> {
        let outside = self.with.len();
        self.with.extend(query.with.iter().cloned());
        let result = self.of_body(&query.body, found);
        self.with.truncate(outside);
        result
    }

    fn of_body(&mut self, body: &QueryBody, found: &mut Vec<(Pos, String)>) -> Option<()> {
        match body {
            QueryBody::Select(select) => {
                for item in &select.items {
                    let list = match &item.kind {
                        SelectItemKind::Expr { expr: _, alias: _, text: _ } => continue,
                        SelectItemKind::Star => self.all(select)?,
                        SelectItemKind::TableStar(name) => {
                            let qualifier: Vec<String> = name.parts.iter().map(|part| quoted(&part.name)).collect();
                            let names = self.names(select, item.kind.clone())?;
                            list_of(names.iter().map(|n| (Some(qualifier.join(".")), n.as_str())))
                        }
                    };
                    found.push((item.pos, list));
                }
                Some(())
            }
            QueryBody::SetOperation { op: _, all: _, left, right, pos: _ } => {
                self.of_body(left, found)?;
                self.of_body(right, found)
            }
            QueryBody::Nested(query) => self.of_query(query, found),
        }
    }

    /// The columns of `*`. Those of a join by USING or NATURAL come first, without a qualifier.
    fn all(&mut self, select: &Select) -> Option<String> {
        let names = self.names(select, SelectItemKind::Star)?;
        let mut tables = Some(Vec::new());
        select.from.iter().for_each(|table| aliases(table, &mut tables));
        let tables = tables.unwrap_or_default();
        if tables.len() < 2 {
            return Some(list_of(names.iter().map(|n| (None, n.as_str()))));
        }
        let mut columns = Vec::new();
        for alias in &tables {
            let star = SelectItemKind::TableStar(Name::simple(Ident::new(alias.clone())));
            columns.extend(self.names(select, star)?.into_iter().map(|name| (alias, name)));
        }
        // Only a joined column cannot be qualified by its table.
        let mut joined = 0;
        while let Some(name) = names.get(joined)
            && let Some((alias, _)) = columns.iter().find(|(_, other)| other == name)
        {
            let parts = vec![Ident::new(alias.as_str()), Ident::new(name.as_str())];
            let kind = ExprKind::Name(Name { parts, link: None, pos: select.pos, written: Default::default() });
            let expr = Expr { kind, pos: select.pos };
            let item = SelectItemKind::Expr { expr, alias: None, text: ItemText::default() };
            if !is_joined(&select.from) || self.names(select, item).is_some() {
                break;
            }
            joined += 1;
        }
        let (shared, own) = names.split_at(joined);
        let rest: Vec<_> = columns.iter().filter(|(_, name)| !shared.contains(name)).collect();
        if !rest.iter().map(|(_, name)| name).eq(own) {
            return None;
        }
        let shared = shared.iter().map(|name| (None, name.as_str()));
        let own = rest.iter().map(|(alias, name)| (Some(quoted(alias)), name.as_str()));
        Some(list_of(shared.chain(own)))
    }

    /// The names of the columns of a select list's item.
    fn names(&mut self, select: &Select, kind: SelectItemKind) -> Option<Vec<String>> {
        let items = vec![SelectItem { kind, pos: select.pos }];
        let pos = select.pos;
        let select = Select::new(items, select.from.clone(), pos, select.from_pos);
        let body = QueryBody::Select(Box::new(select));
        let query = Query { with: self.with.clone(), body, order_by: None, limit: None, for_update: None, pos };
        let described = self.host.describe(&query, Some(self.target.owner)).ok()?;
        described.into_iter().map(|column| column.name).collect()
    }
}

/// Whether there is a join by USING or NATURAL.
fn is_joined(from: &[TableRef]) -> bool {
    from.iter().any(|table| match &table.kind {
        TableRefKind::Join { kind: _, left, right, constraint } => {
            matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural)
                || is_joined(std::slice::from_ref(left))
                || is_joined(std::slice::from_ref(right))
        }
        _ => false, // not a clause: a table alone is not joined
    })
}

/// Appends the names of the tables in FROM; `None` if one of them has no name.
fn aliases(table: &TableRef, into: &mut Option<Vec<String>>) {
    let name = match &table.kind {
        TableRefKind::Join { kind: _, left, right, constraint: _ } => {
            aliases(left, into);
            return aliases(right, into);
        }
        TableRefKind::Table(t) if t.pivot.is_some() => None,
        TableRefKind::Table(t) => Some(t.alias.as_ref().map_or(t.name.last(), |alias| &alias.name)),
        TableRefKind::Subquery { query: _, restriction: _, lateral: _, as_of: _, alias: _, pivot: Some(_) } => None,
        TableRefKind::Subquery { query: _, restriction: _, lateral: _, as_of: _, alias, pivot: None }
        | TableRefKind::Collection { expr: _, outer: _, alias } => alias.as_ref().map(|alias| alias.name.as_str()),
    };
    match (name, into.as_mut()) {
        (Some(name), Some(list)) => list.push(name.to_owned()),
        _ => *into = None,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

fn list_of<'a>(columns: impl Iterator<Item = (Option<String>, &'a str)>) -> String {
    let one = |(table, name): (Option<String>, &str)| table.map_or(String::new(), |t| t + ".") + &quoted(name);
    columns.map(one).collect::<Vec<_>>().join(",")
}
