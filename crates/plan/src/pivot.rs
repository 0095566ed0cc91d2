//! PIVOT and UNPIVOT, rewritten as equivalent queries.
//!
//! A pivot groups by every column that it does not name, and aggregates for each value over the rows with that value:
//! `PIVOT (SUM(x) FOR c IN (1, 2))` is `SELECT g, SUM(CASE WHEN c = 1 THEN x END) "1", … GROUP BY g`. An unpivot joins
//! each row with a LATERAL query that has a branch for each of its columns. A branch is one row and reads only its own
//! column, so the work grows with the number of result rows; a CASE over all columns would evaluate every column for
//! each of them. The columns of the row source must be known first, so the row source is resolved twice.

use crate::logical::JoinSet;
use crate::scope::*;
use sql::ast::{self, ExprKind, Pivot};
use types::{Ora, Result};

impl Compiler<'_> {
    /// Adds `source PIVOT (…)`; `source` is a table or a query without its alias.
    pub fn pivoted(
        &mut self,
        source: &ast::TableRef,
        pivot: &Pivot,
        set: &mut JoinSet,
        merge: bool,
        pos: u32,
    ) -> Result<()> {
        let columns = self.source_columns(source)?;
        let (text, alias) = match pivot {
            Pivot::Pivot { aggregates, columns: keys, values, alias } => {
                (pivot_text(source, &columns, aggregates, keys, values, pos)?, alias)
            }
            Pivot::Unpivot { include_nulls, values, names, columns: listed, alias } => {
                (unpivot_text(source, &columns, *include_nulls, values, names, listed, pos)?, alias)
            }
        };
        let query = sql::parse_query(&text).map_err(|e| e.at(pos))?;
        let alias = alias.as_ref().map_or(String::new(), |a| a.name.clone());
        self.inline_view(&query, false, alias, &[], set, merge).map_err(|e| e.at(pos))
    }

    /// The column names of a row source.
    fn source_columns(&mut self, source: &ast::TableRef) -> Result<Vec<String>> {
        self.blocks.push(Block::new(false));
        let result = self.from_item(source, &mut JoinSet::default(), false);
        let block = self.blocks.pop().expect("pushed above");
        result?;
        let items = block.items.iter().map(|&id| &self.items[id]);
        Ok(items.flat_map(|item| item.starred().into_iter().map(|at| item.columns[at].name.clone())).collect())
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// The columns that a pivot does not name, which it groups by.
fn others(columns: &[String], is_named: impl Fn(&str) -> bool) -> Vec<&String> {
    columns.iter().filter(|c| !is_named(c)).collect()
}

fn list<T>(items: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) -> String {
    items.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

/// The name of a value without an alias: its text.
fn written(value: &ast::Expr) -> String {
    match &value.kind {
        ExprKind::Row(parts) => parts.iter().map(written).collect::<Vec<_>>().join("_"),
        _ => value.to_string(), // not a clause: any other expression is named by its text
    }
}

fn pivot_text(
    source: &ast::TableRef,
    columns: &[String],
    aggregates: &[(ast::Expr, Option<ast::Ident>)],
    keys: &[ast::Ident],
    values: &[(ast::Expr, Option<ast::Ident>)],
    pos: u32,
) -> Result<String> {
    for key in keys {
        if !columns.contains(&key.name) {
            return Err(Ora::with(904, &[&quoted(&key.name)]).at(key.pos.0));
        }
    }
    let mut named: Vec<String> = keys.iter().map(|k| k.name.clone()).collect();
    for (aggregate, _) in aggregates {
        sql::visit_expr(aggregate, &mut |e| {
            if let ExprKind::Name(n) = &e.kind {
                named.push(n.last().to_owned());
            }
        });
    }
    let groups = others(columns, |c| named.iter().any(|n| n == c));
    let mut items: Vec<String> = groups.iter().map(|c| quoted(c)).collect();
    for (value, value_alias) in values {
        let parts: Vec<&ast::Expr> = match &value.kind {
            ExprKind::Row(parts) => parts.iter().collect(),
            _ => vec![value], // not a clause: one value
        };
        if parts.len() != keys.len() {
            return Err(Ora::new(if parts.len() < keys.len() { 947 } else { 913 }).at(value.pos.0));
        }
        let conds: Vec<String> = keys.iter().zip(parts).map(|(k, v)| format!("{} = {v}", quoted(&k.name))).collect();
        let cond = conds.join(" AND ");
        let value_name = value_alias.as_ref().map_or_else(|| written(value), |a| a.name.clone());
        for (aggregate, alias) in aggregates {
            // ORA-56902: expect aggregate function inside pivot operation
            let ExprKind::Call(call) = &aggregate.kind else { return Err(Ora::new(56902).at(aggregate.pos.0)) };
            let name = match alias {
                Some(alias) => format!("{value_name}_{}", alias.name),
                None => value_name.clone(),
            };
            items.push(format!("{} {}", one_value(call, &cond, pos)?, quoted(&name)));
        }
    }
    let group_by = if groups.is_empty() { String::new() } else { format!(" GROUP BY {}", list(groups, |c| quoted(c))) };
    Ok(format!("SELECT {} FROM {source}{group_by}", items.join(", ")))
}

/// The aggregate over the rows of one value: for the other rows its first argument is NULL.
fn one_value(call: &ast::Call, cond: &str, pos: u32) -> Result<String> {
    let mut call = call.clone();
    let Some(first) = call.args.first_mut() else { return Err(Ora::new(56902).at(pos)) };
    let value = if matches!(first.value.kind, ExprKind::Star) { "1".to_owned() } else { first.value.to_string() };
    first.value = sql::parse_expression(&format!("CASE WHEN {cond} THEN {value} END"))?;
    Ok(call.to_string())
}

fn unpivot_text(
    source: &ast::TableRef,
    columns: &[String],
    include_nulls: bool,
    values: &[ast::Ident],
    names: &[ast::Ident],
    listed: &[(Vec<ast::Ident>, Option<ast::Expr>)],
    pos: u32,
) -> Result<String> {
    for name in listed.iter().flat_map(|(group, _)| group) {
        if !columns.contains(&name.name) {
            return Err(Ora::with(904, &[&quoted(&name.name)]).at(name.pos.0));
        }
    }
    let label = |group: &[ast::Ident], given: &Option<ast::Expr>, at: usize| -> Result<String> {
        match given {
            Some(ast::Expr { kind: ExprKind::Row(parts), pos: _ }) => {
                parts.get(at).map(ToString::to_string).ok_or_else(|| Ora::new(947).at(pos))
            }
            Some(value) => Ok(value.to_string()),
            None => Ok(format!("'{}'", group.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join("_"))),
        }
    };
    let mut items: Vec<String> = others(columns, |c| listed.iter().any(|(group, _)| group.iter().any(|g| g.name == c)))
        .into_iter()
        .map(|c| quoted(c))
        .collect();
    for (at, name) in names.iter().enumerate() {
        items.push(format!("\"#N{at}\" {}", quoted(&name.name)));
    }
    let mut some = Vec::new();
    for (at, name) in values.iter().enumerate() {
        some.push(format!("\"#V{at}\" IS NOT NULL"));
        items.push(format!("\"#V{at}\" {}", quoted(&name.name)));
    }
    let mut branches = Vec::new();
    for (group, given) in listed {
        let mut branch = Vec::new();
        for at in 0..names.len() {
            branch.push(format!("{} \"#N{at}\"", label(group, given, at)?));
        }
        for at in 0..values.len() {
            let column = group.get(at).ok_or_else(|| Ora::new(947).at(pos))?;
            branch.push(format!("{} \"#V{at}\"", quoted(&column.name)));
        }
        // With a FROM item of its own, the branch's column names would hide those of the row source.
        branches.push(format!("SELECT {} FROM (SELECT NULL \"#\" FROM SYS.DUAL)", branch.join(", ")));
    }
    let turns = branches.join(" UNION ALL ");
    let filter = if include_nulls { String::new() } else { format!(" WHERE {}", some.join(" OR ")) };
    Ok(format!("SELECT {} FROM {source}, LATERAL ({turns}){filter}", items.join(", ")))
}
