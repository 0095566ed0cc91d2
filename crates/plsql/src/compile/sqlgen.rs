//! Static SQL: PL/SQL variables become binds.
//!
//! A name in static SQL is a column if possible, and a variable only otherwise (invariant 5). The SQL compiler resolves
//! the statement once and asks this module for each name that is no column. Each answered name becomes a bind, and the
//! executed text is written with binds in these places. The rule of name capture is the SQL compiler's own.

use super::compiler::{CResult, Compiler, Val};
use super::scope::Symbol;
use crate::op::*;
use crate::ty::*;
use crate::world::{ColumnInfo, Described, World};
use plan::{Asked, Variables};
use sql::lexer::{Token, TokenKind, lex};
use sql::plsql::ast::{Expr, ExprKind, Ident, Name, Part, SqlKind, SqlText};
use std::cell::RefCell;
use std::collections::HashMap;
use types::{DataType, Ora};

/// A compiled static statement.
pub(super) struct Statement {
    pub index: u32,
    pub columns: Vec<ColumnInfo>,
}

/// A part of the source that became a bind.
struct Variable {
    start: u32,
    end: u32,
    val: Val,
}

/// The text to compile, with the original offsets of its parts in the source.
struct Draft {
    text: String,
    map: Vec<(u32, u32)>,
    types: Vec<DataType>,
}

/// The compiler during the SQL compiler's questions, and the resolved names.
struct Host<'c, 'a, W: World> {
    compiler: &'c mut Compiler<'a, W>,
    variables: Vec<Variable>,
    /// The index of the variable that begins at a byte of the statement.
    found: HashMap<u32, usize>,
    /// Their names in upper case as written: equal names are one bind.
    numbers: HashMap<String, usize>,
    /// The last refused name, with its position in the source.
    refused: Option<Ora>,
}

/// PL/SQL's names for the SQL compiler.
struct HostNames<'c, 'a, W: World> {
    /// The statement in the source, and its offset there.
    text: &'c str,
    base: u32,
    draft: &'c Draft,
    state: RefCell<Host<'c, 'a, W>>,
}

impl<W: World> Variables for HostNames<'_, '_, W> {
    fn variable(&self, path: &[sql::ast::Ident], pos: u32, asked: Asked) -> types::Result<Option<plan::Variable>> {
        let start = self.draft.source_offset(pos);
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let at = match state.found.get(&start) {
            Some(at) => *at,
            None => match state.compiler.host_name((self.text, self.base), path, start, asked) {
                Ok(None) => return Ok(None),
                Ok(Some(found)) => {
                    state.found.insert(start, state.variables.len());
                    state.variables.push(found);
                    state.variables.len() - 1
                }
                Err(e) => {
                    state.refused = Some(e.clone());
                    return Err(e);
                }
            },
        };
        let v = &state.variables[at];
        let written = self.text[v.start as usize..v.end as usize].to_uppercase();
        let number = state.numbers.len();
        let number = *state.numbers.entry(written).or_insert(number);
        // No bind in a text can have such a name.
        Ok(Some(plan::Variable { name: format!(".{number}"), ty: bind_type(&v.val.ty) }))
    }
}

impl<W: World> Compiler<'_, W> {
    pub(super) fn static_sql(&mut self, q: &SqlText) -> CResult<Statement> {
        let base = q.span.start;
        self.static_sql_at(q, base).map_err(|e| match e.facility() {
            types::Facility::Ora if e.position().is_none() => e.at(base),
            _ => e,
        })
    }

    fn static_sql_at(&mut self, q: &SqlText, base: u32) -> CResult<Statement> {
        let relative = |s: sql::plsql::ast::Span| (s.start - base, s.end - base);
        let mut removed = Vec::new();
        if let Some((_, span)) = &q.into {
            removed.push(relative(*span));
        }
        let outs = q.returning.as_ref().map(|(into, span)| (into.targets.len(), (into.pos - base, span.end - base)));
        let (source, q_text);
        let mut variables = Vec::new();
        let positioned = self.positioned(q, base, &mut variables)?;
        let q = positioned.as_ref().unwrap_or(q);
        match self.expand_records(q)? {
            Some(text) => {
                source = text;
                q_text = source.as_str();
            }
            None => q_text = q.text.as_str(),
        }
        // The targets of INTO are removed from the statement.
        let targets: Vec<(u32, u32)> = removed.iter().copied().chain(outs.map(|(_, span)| span)).collect();
        self.host_binds_in(q_text, base, &targets, &mut variables)?;
        // The row of WHERE CURRENT OF is noted first and stands behind the binds of SET.
        variables.sort_by_key(|v| v.start);
        if q.kind == SqlKind::LockTable {
            let statement = self.keep(q_text, &removed, outs, &[], Described::default())?;
            self.pool.sql[statement.index as usize].other = true;
            return Ok(statement);
        }
        let draft = draft(q_text, &removed, outs, &variables);
        let (units, world) = (self.units, self.w);
        let (found, numbers) = (HashMap::new(), HashMap::new());
        let state = RefCell::new(Host { compiler: self, variables, found, numbers, refused: None });
        let host = HostNames { text: q_text, base, draft: &draft, state };
        let described = units.ask_statement(world, &draft.text, &draft.types, &host);
        let Host { mut variables, refused, .. } = host.state.into_inner();
        let described = described.map_err(|e| match refused {
            Some(refused) if refused.headline() == e.headline() => refused,
            _ => {
                let position = e.position().map_or(base, |p| base + draft.source_offset(p));
                Ora::from_text(e.facility(), e.code(), e.message()).at(position)
            }
        })?;
        // A variable inside the subscript of an element is part of the element.
        variables.sort_by_key(|v| (v.start, std::cmp::Reverse(v.end)));
        let mut end = 0;
        variables.retain(|v| {
            v.start >= end && {
                end = v.end;
                true
            }
        });
        self.keep(q_text, &removed, outs, &variables, described)
    }

    /// Rewrites `WHERE CURRENT OF cursor` as `WHERE ROWID = cursor` at the same offsets; the cursor's name stands for
    /// its row.
    fn positioned(&mut self, q: &SqlText, base: u32, variables: &mut Vec<Variable>) -> CResult<Option<SqlText>> {
        let Some((cursor, span)) = &q.current_of else { return Ok(None) };
        match self.lookup(&cursor.name) {
            Some(Symbol::Cursor(c)) if c.locks => {}
            Some(Symbol::Cursor(_)) => return Err(self.pls(404, &[&cursor.name], cursor.pos)),
            _ => return Err(self.pls(413, &[], cursor.pos)),
        }
        let kind = ExprKind::Name(Name { first: cursor.clone(), parts: Vec::new() });
        let operand = self.cursor_operand(&Expr { kind, pos: cursor.pos }, 413)?;
        let d = self.temp();
        self.emit(Op::CursorAttribute { what: Attribute::CurrentRow, d, cursor: operand });
        let val = Val { o: d, ty: Ty::of(DataType::Rowid) };
        let (from, name, to) = (span.start - base, cursor.pos - base, span.end - base);
        variables.push(Variable { start: name, end: to, val });
        let width = (name - from) as usize;
        let text = format!("{}{:width$}{}", &q.text[..from as usize], "ROWID =", &q.text[name as usize..]);
        Ok(Some(SqlText { text, current_of: None, ..q.clone() }))
    }

    /// Adds the finished statement to the unit's list.
    fn keep(
        &mut self,
        text: &str,
        removed: &[(u32, u32)],
        outs: Option<(usize, (u32, u32))>,
        variables: &[Variable],
        described: Described,
    ) -> CResult<Statement> {
        let (body, tail) = match outs {
            Some((n, span)) => {
                let names: Vec<String> = (0..n).map(|i| format!(":O{i}")).collect();
                (&text[..span.0 as usize], format!(" INTO {} ", names.join(" ,")))
            }
            None => (text, String::new()),
        };
        let ranges: Vec<(u32, u32)> = variables.iter().map(|v| (v.start, v.end)).collect();
        let normal = sql::normalise_static(body, &ranges, removed);
        let written = |v: &Variable| text[v.start as usize..v.end as usize].to_uppercase();
        let numbers = sql::numbers_of(variables.iter().map(written));
        let mut last: Vec<Option<&Val>> = vec![None; numbers.iter().copied().max().unwrap_or(0)];
        for (v, number) in variables.iter().zip(numbers) {
            last[number - 1] = Some(&v.val);
        }
        let binds = last.iter().flatten().map(|v| v.o).collect();
        let bind_types = last.iter().flatten().map(|v| bind_type(&v.ty)).collect();
        for d in &described.dependencies {
            if !self.depends.contains(d) {
                self.depends.push(*d);
            }
        }
        for unit in &described.units {
            if !self.calls.contains(unit) {
                self.calls.push(unit.clone());
            }
        }
        let columns = match described.query {
            true => SqlColumns::new(described.columns.iter().map(|c| (c.name.as_str(), &c.ty))),
            false => SqlColumns::default(),
        };
        let returning = if described.query { 0 } else { described.columns.len() as u32 };
        let mut full = normal.text;
        if !tail.is_empty() {
            full = format!("{}{tail}", full.trim_end());
        }
        self.pool.sql.push(StaticSql {
            text: full,
            binds,
            bind_types,
            returning,
            query: described.query,
            other: false,
            columns,
        });
        Ok(Statement { index: self.pool.sql.len() as u32 - 1, columns: described.columns })
    }

    /// Finds `:name` in static SQL of an anonymous block, except targets.
    fn host_binds_in(
        &mut self,
        text: &str,
        base: u32,
        targets: &[(u32, u32)],
        variables: &mut Vec<Variable>,
    ) -> CResult<()> {
        let tokens = lex(text).tokens;
        for (at, t) in tokens.iter().enumerate() {
            let written = &text[t.start as usize..t.end as usize];
            if let Some(name) = written.strip_prefix("$$").filter(|_| matches!(t.kind, TokenKind::Error(_))) {
                let val = self.inquiry(&name.to_uppercase(), base + t.start);
                variables.push(Variable { start: t.start, end: t.end, val });
                continue;
            }
            let is_target = targets.iter().any(|(from, to)| *from <= t.start && t.end <= *to);
            if t.kind == TokenKind::Bind && !is_target {
                let name = text[t.start as usize + 1..t.end as usize].trim().trim_matches('"').to_uppercase();
                if self.rows.is_some() {
                    let column = tokens.get(at + 1).filter(|dot| dot.kind == TokenKind::Dot);
                    let column = column.and_then(|_| tokens.get(at + 2)).filter(|t| is_name(t));
                    variables.push(self.row_in_sql(text, base, (t, column), &name)?);
                    continue;
                }
                let bind = self.host_bind(&name, base + t.start)?;
                let d = self.temp();
                self.emit(Op::BindGet { d, bind });
                let val = Val { o: d, ty: self.bind_ty(bind) };
                variables.push(Variable { start: t.start, end: t.end, val });
            }
        }
        Ok(())
    }

    /// A column of a trigger's row in static SQL.
    fn row_in_sql(
        &mut self,
        text: &str,
        base: u32,
        (alias, column): (&Token, Option<&Token>),
        name: &str,
    ) -> CResult<Variable> {
        let field = column.map(|t| Ident {
            name: word(text, t),
            quoted: t.kind == TokenKind::QuotedIdent,
            pos: base + t.start,
        });
        let unknown = || self.pls(49, &[&name], base + alias.start);
        let unknown = unknown();
        let path = self.row_column(name, field.as_ref(), false, base + alias.start)?.ok_or(unknown)?;
        let val = self.path_value(&path, None);
        Ok(Variable { start: alias.start, end: column.unwrap_or(alias).end, val })
    }

    /// The PL/SQL variable or expression whose name begins at `start` of the statement's text.
    fn host_name(
        &mut self,
        (text, base): (&str, u32),
        path: &[sql::ast::Ident],
        start: u32,
        asked: Asked,
    ) -> CResult<Option<Variable>> {
        let [first, rest @ ..] = path else { return Ok(None) };
        let symbol = self.lookup(&first.name).or_else(|| self.attribute_of_self(&first.name));
        match (asked, &symbol) {
            // A number or a text has no elements, so the name is that of a function.
            (Asked::BeforeFunctions { call: true }, Some(Symbol::Var(v))) if !matches!(v.ty, Ty::Scalar(_)) => {}
            (Asked::BeforeFunctions { call: false }, Some(Symbol::Var(_))) => {}
            (Asked::BeforeFunctions { .. }, _) => return Ok(None),
            (Asked::Last, _) => {}
        }
        let is_local = symbol.is_some() || self.scopes.iter().any(|s| s.labels.contains(&first.name));
        if !is_local && rest.is_empty() {
            return Ok(None);
        }
        let Ok((mut e, end)) = sql::plsql::parse_name_at(text, start) else { return Ok(None) };
        shift(&mut e, base);
        if let Some(Symbol::Subs(_)) = symbol {
            return Err(self.pls(231, &[&first.name], base + start));
        }
        let val = match self.expr(&e, None) {
            Ok(val) => val,
            Err(_) if !is_local => return Ok(None),
            Err(e) => return Err(e),
        };
        // A computed value must not change before the statement is executed.
        match val.ty {
            Ty::Scalar(ScalarTy { ty: DataType::Boolean, .. }) => Err(self.pls(382, &[], base + start)),
            Ty::Scalar(_) | Ty::Null => Ok(Some(Variable { start, end, val })),
            Ty::Coll(ref c) if let Some(id) = c.id => {
                let d = self.temp();
                self.emit(Op::CollValue { d, s: val.o, id });
                let val = Val { o: d, ty: Ty::of(DataType::Named(id)) };
                Ok(Some(Variable { start, end, val }))
            }
            // A type of a block or a package is unknown to SQL.
            Ty::Coll(_) => Err(self.pls(642, &[], base + start)),
            _ => Err(self.pls(382, &[], base + start)),
        }
    }

    /// The object that has an attribute with that name, in a method.
    fn attribute_of_self(&mut self, name: &str) -> Option<Symbol> {
        let own = self.units.type_def(self.object?)?;
        own.attribute(name)?;
        self.lookup("SELF")
    }

    /// Expands `INSERT … VALUES record` and `UPDATE … SET ROW = record`.
    fn expand_records(&mut self, q: &SqlText) -> CResult<Option<String>> {
        let tokens = lex(&q.text).tokens;
        let is = |t: &Token, w: &str| t.kind == TokenKind::Word && word(&q.text, t) == w;
        for i in 0..tokens.len().saturating_sub(1) {
            let values = q.kind == SqlKind::Insert && is(&tokens[i], "VALUES") && is_name(&tokens[i + 1]);
            let row = q.kind == SqlKind::Update
                && is(&tokens[i], "SET")
                && is(&tokens[i + 1], "ROW")
                && tokens.get(i + 2).is_some_and(|t| t.kind == TokenKind::Eq);
            if !values && !row {
                continue;
            }
            let at = if values { i + 1 } else { i + 3 };
            let Some(start) = tokens.get(at).map(|t| t.start) else { continue };
            let (mut e, end) = sql::plsql::parse_name_at(&q.text, start)?;
            let written = q.text[start as usize..end as usize].to_string();
            shift(&mut e, q.span.start);
            let ops = (self.f.ops.len(), self.f.next);
            let ty = self.expr(&e, None)?.ty;
            self.f.ops.truncate(ops.0);
            self.f.lines.truncate(ops.0);
            self.f.next = ops.1;
            let Ty::Record(r) = ty else { return Err(self.pls(382, &[], e.pos)) };
            let fields = |f: &FieldTy| format!("{written}.\"{}\"", f.name);
            let (from, text) = if values {
                let list: Vec<String> = r.fields.iter().map(fields).collect();
                (start, format!("({})", list.join(",")))
            } else {
                let names = self.columns_of_update(q, &tokens)?;
                if names.len() != r.fields.len() {
                    return Err(Ora::new(if names.len() < r.fields.len() { 913 } else { 947 }).at(e.pos));
                }
                let list: Vec<String> =
                    names.iter().zip(&r.fields).map(|(c, f)| format!("\"{c}\" = {}", fields(f))).collect();
                (tokens[i + 1].start, list.join(", "))
            };
            return Ok(Some(format!("{}{text}{}", &q.text[..from as usize], &q.text[end as usize..])));
        }
        Ok(None)
    }

    fn columns_of_update(&mut self, q: &SqlText, tokens: &[Token]) -> CResult<Vec<String>> {
        let name = |i: usize| tokens.get(i).filter(|t| is_name(t)).map(|t| word(&q.text, t));
        let columns = match (name(1), name(3)) {
            (Some(owner), Some(table)) if tokens[2].kind == TokenKind::Dot => {
                self.ask(|units, w| units.ask_columns(w, Some(&owner), &table))?
            }
            (Some(table), _) => self.ask(|units, w| units.ask_columns(w, None, &table))?,
            _ => None,
        };
        Ok(columns.unwrap_or_default().into_iter().map(|c| c.name).collect())
    }
}

/// Whether a query is FOR UPDATE.
pub(super) fn locks_rows(text: &str) -> bool {
    let tokens = lex(text).tokens;
    let is = |t: &Token, w: &str| t.kind == TokenKind::Word && word(text, t) == w;
    tokens.windows(2).any(|pair| is(&pair[0], "FOR") && is(&pair[1], "UPDATE"))
}

fn bind_type(ty: &Ty) -> DataType {
    ty.data_type().map_or(DataType::Null, unconstrained)
}

fn is_name(t: &Token) -> bool {
    matches!(t.kind, TokenKind::Word | TokenKind::QuotedIdent)
}

fn word(text: &str, t: &Token) -> String {
    let piece = &text[t.start as usize..t.end as usize];
    match t.kind {
        TokenKind::QuotedIdent => piece.trim_matches('"').to_string(),
        _ => piece.to_uppercase(),
    }
}

/// Shifts the positions of a name that was parsed from a part of the source.
fn shift(e: &mut sql::plsql::ast::Expr, base: u32) {
    e.pos += base;
    if let ExprKind::Name(n) = &mut e.kind {
        n.first.pos += base;
        for p in &mut n.parts {
            match p {
                Part::Field(f) => f.pos += base,
                Part::Call(args) => args.iter_mut().for_each(|a| shift(&mut a.value, base)),
                Part::As(ty) => ty.pos += base,
            }
        }
    }
}

impl Draft {
    fn source_offset(&self, at: u32) -> u32 {
        let i = self.map.partition_point(|(new, _)| *new <= at).max(1) - 1;
        let (new, old) = self.map[i];
        old + at.saturating_sub(new)
    }
}

/// The statement with its variables as `:B1`, `:B2` … in text order.
fn draft(text: &str, removed: &[(u32, u32)], outs: Option<(usize, (u32, u32))>, variables: &[Variable]) -> Draft {
    let mut cuts: Vec<(u32, u32, String)> = removed.iter().map(|(a, b)| (*a, *b, String::from(" "))).collect();
    for (i, v) in variables.iter().enumerate() {
        cuts.push((v.start, v.end, format!(":B{} ", i + 1)));
    }
    if let Some((n, (a, b))) = outs {
        let names: Vec<String> = (0..n).map(|i| format!(":O{i}")).collect();
        cuts.retain(|c| c.1 <= a || c.0 >= b);
        cuts.push((a, b, format!("INTO {}", names.join(","))));
    }
    cuts.sort();
    let mut d = Draft { text: String::with_capacity(text.len() + 8), map: vec![(0, 0)], types: Vec::new() };
    d.types = variables.iter().map(|v| bind_type(&v.val.ty)).collect();
    let mut at = 0u32;
    for (a, b, new) in cuts {
        if a < at {
            continue;
        }
        d.text.push_str(&text[at as usize..a as usize]);
        d.map.push((d.text.len() as u32, a));
        d.text.push_str(&new);
        d.map.push((d.text.len() as u32, b));
        at = b;
    }
    d.text.push_str(&text[at as usize..]);
    d
}
