//! Static SQL: host variables become binds.
//!
//! A name in static SQL is a column if it can be, and a variable only if not. So the SQL compiler is asked first: the
//! statement is compiled as it stands, and where that fails on a name which is no column, the name is looked up here,
//! becomes a bind, and the statement is compiled again. A statement is compiled once a session, and the rule of capture
//! is the SQL compiler's own.

use super::{CResult, Compiler, Val};
use crate::op::*;
use crate::ty::*;
use crate::world::{ColumnInfo, Described, World};
use sql::lexer::{Token, TokenKind, lex};
use sql::plsql::ast::{Expr, ExprKind, Name, Part, SqlKind, SqlText};
use types::{DataType, Ora};

/// A compiled static statement.
pub(super) struct Statement {
    pub index: u32,
    pub columns: Vec<ColumnInfo>,
}

/// A stretch of the source that became a bind.
struct Variable {
    start: u32,
    end: u32,
    val: Val,
}

/// The text that is compiled while names are being looked for, with what its offsets were in the source.
struct Draft {
    text: String,
    map: Vec<(u32, u32)>,
    types: Vec<DataType>,
}

const UNKNOWN_NAME: [u32; 2] = [904, 984];

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
        // The targets of INTO are no part of the statement.
        let targets: Vec<(u32, u32)> = removed.iter().copied().chain(outs.map(|(_, span)| span)).collect();
        self.host_binds_in(q_text, base, &targets, &mut variables)?;
        if q.kind == SqlKind::LockTable {
            let statement = self.keep(q_text, &removed, outs, &[], Described::default())?;
            self.pool.sql[statement.index as usize].other = true;
            return Ok(statement);
        }
        let described = loop {
            let draft = draft(q_text, &removed, outs, &variables);
            match self.w.describe(&draft.text, &draft.types) {
                Ok(d) => break d,
                Err(e) => {
                    let at = e.position().map(|p| draft.source_offset(p));
                    let known = e.facility() == types::Facility::Ora && UNKNOWN_NAME.contains(&e.code());
                    let found = match at {
                        Some(at) if known && variables.len() < 1000 => self.host_name(q_text, at, base, &variables)?,
                        _ => None,
                    };
                    match found {
                        Some(v) => {
                            variables.retain(|w: &Variable| w.end <= v.start || w.start >= v.end);
                            variables.push(v);
                            variables.sort_by_key(|v| v.start);
                        }
                        None => {
                            let position = at.map_or(base, |p| base + p);
                            return Err(Ora::from_text(e.facility(), e.code(), e.message()).at(position));
                        }
                    }
                }
            }
        };
        self.keep(q_text, &removed, outs, &variables, described)
    }

    /// `WHERE CURRENT OF cursor` as `WHERE ROWID = cursor`, at the same places, where the cursor's name stands for its
    /// row.
    fn positioned(&mut self, q: &SqlText, base: u32, variables: &mut Vec<Variable>) -> CResult<Option<SqlText>> {
        let Some((cursor, span)) = &q.current_of else { return Ok(None) };
        match self.lookup(&cursor.name) {
            Some(super::Symbol::Cursor(c)) if c.locks => {}
            Some(super::Symbol::Cursor(_)) => return Err(self.pls(404, &[&cursor.name], cursor.pos)),
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

    /// Puts the finished statement into the unit's list.
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
        // `:B1` is the last of the distinct variables.
        let mut distinct: Vec<(String, Val)> = Vec::new();
        for v in variables {
            let name = text[v.start as usize..v.end as usize].to_uppercase();
            distinct.retain(|(seen, _)| *seen != name);
            distinct.push((name, v.val.clone()));
        }
        distinct.reverse();
        let binds = distinct.iter().map(|(_, v)| v.o).collect();
        let bind_types = distinct.iter().map(|(_, v)| bind_type(&v.ty)).collect();
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
        });
        Ok(Statement { index: self.pool.sql.len() as u32 - 1, columns: described.columns })
    }

    /// `:name` in static SQL of an anonymous block, except where it is a target.
    fn host_binds_in(
        &mut self,
        text: &str,
        base: u32,
        targets: &[(u32, u32)],
        variables: &mut Vec<Variable>,
    ) -> CResult<()> {
        for t in lex(text).tokens {
            let is_target = targets.iter().any(|(from, to)| *from <= t.start && t.end <= *to);
            if t.kind == TokenKind::Bind && !is_target {
                let name = text[t.start as usize + 1..t.end as usize].trim().trim_matches('"').to_uppercase();
                let bind = self.host_bind(&name, base + t.start)?;
                let d = self.temp();
                self.emit(Op::BindGet { d, bind });
                let val = Val { o: d, ty: self.bind_ty(bind) };
                variables.push(Variable { start: t.start, end: t.end, val });
            }
        }
        Ok(())
    }

    /// The variable or expression of PL/SQL that stands where SQL knows no column.
    fn host_name(&mut self, text: &str, at: u32, base: u32, known: &[Variable]) -> CResult<Option<Variable>> {
        let tokens = lex(text).tokens;
        let Some(mut i) = tokens.iter().position(|t| t.start <= at && at < t.end.max(t.start + 1)) else {
            return Ok(None);
        };
        // From the middle of a dotted name to its start.
        while i >= 2 && tokens[i - 1].kind == TokenKind::Dot && is_name(&tokens[i - 2]) {
            i -= 2;
        }
        if !is_name(&tokens[i]) {
            return Ok(None);
        }
        // A subscript is part of the element it belongs to.
        while let Some(outer) = enclosing_name(&tokens, i) {
            let name = word(text, &tokens[outer]);
            // A number or a text has no elements: that is a function, or a word of SQL.
            let is_element = |v: &super::scope::Var| !matches!(v.ty, Ty::Scalar(_));
            if !matches!(self.lookup(&name), Some(super::Symbol::Var(v)) if is_element(&v)) {
                break;
            }
            i = outer;
        }
        let start = tokens[i].start;
        if known.iter().any(|v| v.start == start) {
            return Ok(None);
        }
        let first = word(text, &tokens[i]);
        let is_local = self.lookup(&first).is_some() || self.scopes.iter().any(|s| s.labels.contains(&first));
        let has_field = tokens.get(i + 1).is_some_and(|t| t.kind == TokenKind::Dot);
        if !is_local && !has_field {
            return Ok(None);
        }
        let Ok((mut e, end)) = sql::plsql::parse_name_at(text, start) else { return Ok(None) };
        shift(&mut e, base);
        if let Some(super::Symbol::Subs(_)) = self.lookup(&first) {
            return Err(self.pls(231, &[&first], base + start));
        }
        let val = match self.expr(&e, None) {
            Ok(val) => val,
            Err(_) if !is_local => return Ok(None),
            Err(e) => return Err(e),
        };
        // What is computed must stay as it is until the statement is executed.
        let val = match val.ty {
            Ty::Scalar(ScalarTy { ty: DataType::Boolean, .. }) => return Err(self.pls(382, &[], base + start)),
            Ty::Scalar(_) | Ty::Null => val,
            _ => return Err(self.pls(382, &[], base + start)),
        };
        Ok(Some(Variable { start, end, val }))
    }

    /// `INSERT … VALUES record` and `UPDATE … SET ROW = record`, written out.
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
                self.w.table_columns(Some(&owner), &table)?
            }
            (Some(table), _) => self.w.table_columns(None, &table)?,
            _ => None,
        };
        Ok(columns.unwrap_or_default().into_iter().map(|c| c.name).collect())
    }

    /// `sequence.NEXTVAL` in an expression.
    pub(super) fn sequence(&mut self, name: &str) -> CResult<Val> {
        let text = format!("SELECT {name} FROM DUAL");
        let sql =
            StaticSql { text, binds: Vec::new(), bind_types: Vec::new(), returning: 0, query: true, other: false };
        self.pool.sql.push(sql);
        let index = self.pool.sql.len() as u32 - 1;
        let columns = [ColumnInfo { name: "NEXTVAL".into(), ty: DataType::NUMBER, nullable: true }];
        let row_ty = super::decl::row_type(&columns);
        let row = self.temp();
        let template = self.template(crate::Datum::Rec(std::rc::Rc::new(row_ty.initial())));
        self.emit(Op::Init { d: row, template });
        self.emit(Op::SelectInto { sql: index, row });
        let Place::Local(slot) = row.place() else { unreachable!("temporaries are local") };
        let o = Opd::field(slot, 0).ok_or_else(|| Ora::pls(123, &[&"too many variables"]))?;
        Ok(Val { o, ty: Ty::NUMBER })
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

/// The token of the name whose brackets stand around token `i`.
fn enclosing_name(tokens: &[Token], i: usize) -> Option<usize> {
    let mut depth = 0;
    for j in (0..i).rev() {
        match tokens[j].kind {
            TokenKind::RightParen => depth += 1,
            TokenKind::LeftParen if depth > 0 => depth -= 1,
            TokenKind::LeftParen => {
                let mut k = j.checked_sub(1)?;
                if !is_name(&tokens[k]) {
                    return None;
                }
                while k >= 2 && tokens[k - 1].kind == TokenKind::Dot && is_name(&tokens[k - 2]) {
                    k -= 2;
                }
                return Some(k);
            }
            _ => {}
        }
    }
    None
}

/// Moves the positions of a name that was parsed in a part of the source.
fn shift(e: &mut sql::plsql::ast::Expr, base: u32) {
    e.pos += base;
    if let ExprKind::Name(n) = &mut e.kind {
        n.first.pos += base;
        for p in &mut n.parts {
            match p {
                Part::Field(f) => f.pos += base,
                Part::Call(args) => args.iter_mut().for_each(|a| shift(&mut a.value, base)),
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

/// The statement with its variables as `:B1`, `:B2` … in the order they stand.
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
