//! Static SQL: the statement is kept as text; only its `INTO` lists are parsed here.

use super::{PResult, Parser};
use crate::plsql::ast::*;

impl Parser<'_> {
    /// Reads a SQL statement up to the `;` or the enclosing closing bracket, which is not taken.
    pub(super) fn sql_text(&mut self) -> PResult<SqlText> {
        let start = self.pos();
        let kind = match self.unquoted_word().as_deref() {
            Some("SELECT" | "WITH") => SqlKind::Select,
            Some("INSERT") => SqlKind::Insert,
            Some("UPDATE") => SqlKind::Update,
            Some("DELETE") => SqlKind::Delete,
            Some("MERGE") => SqlKind::Merge,
            Some("LOCK") => SqlKind::LockTable,
            Some("SET") => SqlKind::SetTransaction,
            _ => return Err(self.unexpected(&["select", "with"])),
        };
        let mut sql = SqlText {
            kind,
            span: Span { start, end: start },
            text: String::new(),
            into: None,
            returning: None,
            current_of: None,
        };
        let mut depth = 0u32;
        let mut end = start;
        let mut returning = false;
        loop {
            if self.at_end() {
                return Err(self.unexpected(&[";"]));
            }
            match self.symbol() {
                Some(";") if depth == 0 => break,
                Some(")") if depth == 0 => break,
                Some(")") => depth -= 1,
                Some("(") => depth += 1,
                _ => {}
            }
            if depth == 0 && kind == SqlKind::Select && sql.into.is_none() && self.at_into() {
                let from = self.pos();
                let into = self.into_clause()?;
                sql.into = Some((into, Span { start: from, end: self.previous_end() }));
                end = self.previous_end();
                continue;
            }
            let changes = matches!(kind, SqlKind::Insert | SqlKind::Update | SqlKind::Delete | SqlKind::Merge);
            if depth == 0 && changes && (self.at_word("RETURNING") || self.at_word("RETURN")) {
                returning = true;
            } else if depth == 0 && returning && sql.returning.is_none() && self.at_into() {
                let into = self.into_clause()?;
                let from = into.targets.first().map_or(into.pos, |t| t.pos);
                sql.returning = Some((into, Span { start: from, end: self.previous_end() }));
                end = self.previous_end();
                continue;
            } else if depth == 0 && self.at_word("CURRENT") && self.word_at(1, "OF") {
                let from = self.pos();
                self.bump();
                self.bump();
                let cursor = self.ident()?;
                sql.current_of = Some((cursor, Span { start: from, end: self.previous_end() }));
                end = self.previous_end();
                continue;
            }
            end = self.current_end();
            self.skip();
        }
        sql.span.end = end;
        sql.text = self.source(start, end).to_string();
        Ok(sql)
    }

    /// A function that only SQL has.
    pub(super) fn sql_call(&mut self) -> PResult<ExprKind> {
        let start = self.bump();
        self.skip_brackets();
        let end = self.previous_end();
        let text = format!("{SQL_CALL_PREFIX}{} FROM DUAL", self.source(start, end));
        let span = Span { start: start - SQL_CALL_PREFIX.len() as u32, end };
        let sql = SqlText { kind: SqlKind::Select, span, text, into: None, returning: None, current_of: None };
        Ok(ExprKind::Sql(Box::new(sql)))
    }

    fn at_into(&self) -> bool {
        self.at_word("INTO") || (self.at_word("BULK") && self.word_at(1, "COLLECT"))
    }

    /// `[BULK COLLECT] INTO a, b`
    pub(super) fn into_clause(&mut self) -> PResult<Into> {
        let pos = self.pos();
        let bulk = self.eat_word("BULK");
        if bulk {
            self.expect_word("COLLECT")?;
        }
        self.expect_word_or("INTO", &["into", "bulk"])?;
        let targets = self.comma_list(|p| p.target())?;
        Ok(Into { bulk, targets, pos })
    }
}
