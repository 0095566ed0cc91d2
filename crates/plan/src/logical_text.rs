//! The logical tree as text, for tests and developers, before and after the rewrites.

use crate::ir::*;
use crate::logical::*;
use crate::predicate::Names;
use crate::registers::ByWord;
use crate::scope::{Compiler, ItemKind};
use std::fmt::Write;

impl Compiler<'_> {
    /// All trees of the statement; subqueries and WITH queries follow the tree of the rows.
    pub fn logical_text(&self) -> String {
        let printer = Printer { c: self, names: Names::with(self.column_names(), self.binds.all().to_vec()) };
        let mut text = String::new();
        if let Some(rel) = &self.rows {
            printer.rel(rel, 0, &mut text);
        }
        for (n, sub) in self.subs.iter().enumerate() {
            if !matches!(sub.rel, Rel::Empty) {
                let _ = writeln!(text, "SUBQUERY {n}");
                printer.rel(&sub.rel, 1, &mut text);
            }
        }
        for (n, cte) in self.ctes.iter().enumerate() {
            let _ = writeln!(text, "WITH {n}");
            printer.rel(&cte.rel, 1, &mut text);
        }
        text
    }

    fn column_names(&self) -> ByWord<Reg, String> {
        let mut names = ByWord::default();
        for item in &self.items {
            for column in &item.columns {
                if let Some(Expr { node: Node::Reg(r), .. }) = &column.value {
                    names.entry(*r).or_insert_with(|| format!("{}.{}", item.alias, column.name));
                }
            }
        }
        names
    }
}

struct Printer<'c, 'a> {
    c: &'c Compiler<'a>,
    names: Names,
}

impl Printer<'_, '_> {
    fn line(&self, depth: usize, what: &str, conds: &[Expr], into: &mut String) {
        let _ = write!(into, "{}{what}", " ".repeat(depth));
        if !conds.is_empty() {
            let text = |c: &Expr| self.names.text(c).unwrap_or_else(|| "…".into());
            let _ = write!(into, " [{}]", conds.iter().map(text).collect::<Vec<_>>().join(" AND "));
        }
        into.push('\n');
    }

    fn rel(&self, rel: &Rel, depth: usize, into: &mut String) {
        match rel {
            Rel::Empty => self.line(depth, "EMPTY", &[], into),
            Rel::Join(set) => self.set(set, "JOIN", &[], depth, into),
            Rel::Filter { conds, .. } => self.line(depth, "FILTER", conds, into),
            Rel::Project { exprs, .. } => {
                let exprs: Vec<Expr> = exprs.iter().map(|(e, _)| e.clone()).collect();
                self.line(depth, "PROJECT", &exprs, into);
            }
            Rel::Count { conds, .. } => self.line(depth, "COUNT", conds, into),
            Rel::Sort { keys, .. } => {
                let keys: Vec<Expr> = keys.iter().map(|k| k.expr.clone()).collect();
                self.line(depth, "SORT", &keys, into);
            }
            Rel::Distinct { .. } => self.line(depth, "DISTINCT", &[], into),
            Rel::Group { keys, .. } => {
                let keys: Vec<Expr> = keys.iter().map(|(e, _)| e.clone()).collect();
                self.line(depth, "GROUP", &keys, into);
            }
            Rel::Window { .. } => self.line(depth, "WINDOW", &[], into),
            Rel::Set { kind, inputs, .. } => {
                self.line(depth, &format!("{kind:?}").to_uppercase(), &[], into);
                inputs.iter().for_each(|(input, _)| self.rel(input, depth + 1, into));
            }
            Rel::Connect(c) => {
                self.line(depth, "CONNECT BY", &[], into);
                self.set(&c.start, "START", &[], depth + 1, into);
                self.set(&c.child, "CHILD", &[], depth + 1, into);
            }
            Rel::Limit { .. } => self.line(depth, "LIMIT", &[], into),
            Rel::ForUpdate { .. } => self.line(depth, "FOR UPDATE", &[], into),
        }
        if let Some(input) = rel.input() {
            self.rel(input, depth + 1, into);
        }
    }

    fn set(&self, set: &JoinSet, what: &str, on: &[Expr], depth: usize, into: &mut String) {
        self.line(depth, what, on, into);
        if !set.conds.is_empty() {
            self.line(depth + 1, "WHERE", &set.conds, into);
        }
        for part in &set.parts {
            let mut on = Vec::new();
            part.link.for_each(&mut |e| on.push(e.clone()));
            let link = match &part.link {
                Link::Inner => "",
                Link::Left(_) => "LEFT ",
                Link::Semi(_) => "SEMI ",
                Link::Anti(_) => "ANTI ",
                Link::AntiNulls { .. } => "ANTI NA ",
            };
            self.part(&part.kind, link, &on, depth + 1, into);
        }
    }

    fn part(&self, kind: &PartKind, link: &str, on: &[Expr], depth: usize, into: &mut String) {
        match kind {
            PartKind::Leaf(id) => {
                let item = &self.c.items[*id];
                self.line(depth, &format!("{link}{}", item.alias), on, into);
                if let ItemKind::Derived { rel: Some(rel), .. } = &item.kind {
                    self.rel(rel, depth + 1, into);
                }
            }
            PartKind::Set(set) => self.set(set, &format!("{link}JOIN"), on, depth, into),
            PartKind::Full(full) => {
                let (left, right, on) = &**full;
                self.line(depth, "FULL", on, into);
                self.set(left, "JOIN", &[], depth + 1, into);
                self.set(right, "JOIN", &[], depth + 1, into);
            }
        }
    }
}
