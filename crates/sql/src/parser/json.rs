//! The functions of SQL/JSON, which have clauses of their own inside the parentheses.

use super::Parser;
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

/// Deepest nesting of NESTED clauses.
const COLUMNS_NESTING_MAX: u32 = 64;
/// Most columns of JSON_TABLE.
const COLUMNS_MAX: usize = 1000;

/// The functions that [`Parser::json_call`] parses.
pub(super) fn has_clauses(name: &str) -> bool {
    matches!(
        name,
        "JSON_VALUE"
            | "JSON_QUERY"
            | "JSON_EXISTS"
            | "JSON_SERIALIZE"
            | "JSON_MERGEPATCH"
            | "JSON_EQUAL"
            | "JSON_OBJECT"
            | "JSON_ARRAY"
            | "JSON_OBJECTAGG"
            | "JSON_ARRAYAGG"
    )
}

/// A path that selects a member by its name.
fn member_path(name: &str) -> String {
    format!("$.\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Parser<'_> {
    /// The content of the parentheses of a function with clauses.
    pub(super) fn json_call(&mut self, call: &mut Call) -> Result<()> {
        let mut clauses = Box::<JsonClauses>::default();
        let name = call.name.last().to_owned();
        match name.as_str() {
            "JSON_OBJECT" => self.json_members(call, &mut clauses)?,
            "JSON_OBJECTAGG" => self.json_member(call, &mut clauses)?,
            "JSON_ARRAY" => {
                while !self.at(TokenKind::RightParen) {
                    self.json_item(call, &mut clauses)?;
                    if !self.eat(TokenKind::Comma) {
                        break;
                    }
                }
            }
            "JSON_ARRAYAGG" => {
                self.json_item(call, &mut clauses)?;
                if self.at_word("ORDER") {
                    call.within_group = self.order_by_items()?;
                }
            }
            "JSON_MERGEPATCH" | "JSON_EQUAL" => {
                self.json_item(call, &mut clauses)?;
                self.expect(TokenKind::Comma, 909)?;
                self.json_item(call, &mut clauses)?;
            }
            "JSON_SERIALIZE" => self.json_item(call, &mut clauses)?,
            _ => {
                self.json_input(call, &mut clauses)?;
                self.expect(TokenKind::Comma, 909)?;
                clauses.path = Some(self.json_path()?);
            }
        }
        self.json_clauses(call, &mut clauses)?;
        call.json = Some(clauses);
        Ok(())
    }

    /// `JSON_TABLE (input [, path] … COLUMNS (…))`, from the parenthesis on.
    pub(super) fn json_table(&mut self, call: &mut Call) -> Result<()> {
        let mut clauses = Box::<JsonClauses>::default();
        self.left_paren()?;
        self.json_input(call, &mut clauses)?;
        let pos = self.pos();
        clauses.path = Some(match self.eat(TokenKind::Comma) {
            true => self.json_path()?,
            false => JsonPath { text: "$".to_owned(), pos },
        });
        self.json_clauses(call, &mut clauses)?;
        let mut count = 0;
        clauses.columns = self.json_columns(1, &mut count)?;
        self.right_paren()?;
        call.json = Some(clauses);
        Ok(())
    }

    fn push_json_value(&mut self, call: &mut Call) -> Result<()> {
        let value = self.value()?;
        call.args.push(Argument { name: None, value });
        Ok(())
    }

    fn json_input(&mut self, call: &mut Call, clauses: &mut JsonClauses) -> Result<()> {
        self.push_json_value(call)?;
        clauses.format = self.eat_words(&["FORMAT", "JSON"]);
        Ok(())
    }

    /// A literal path.
    fn json_path(&mut self) -> Result<JsonPath> {
        let pos = self.pos();
        Ok(JsonPath { text: self.string(40454)?, pos })
    }

    /// A value with FORMAT JSON.
    fn json_item(&mut self, call: &mut Call, clauses: &mut JsonClauses) -> Result<()> {
        self.push_json_value(call)?;
        clauses.formats.push(self.eat_words(&["FORMAT", "JSON"]));
        Ok(())
    }

    fn json_members(&mut self, call: &mut Call, clauses: &mut JsonClauses) -> Result<()> {
        let pos = self.pos();
        if self.eat(TokenKind::Star) {
            call.args.push(Argument { name: None, value: Expr::new(ExprKind::Star, pos) });
            return Ok(());
        }
        while !self.at(TokenKind::RightParen) && !self.at_json_clause() {
            self.json_member(call, clauses)?;
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        Ok(())
    }

    fn at_json_clause(&self) -> bool {
        self.at_words(&["NULL", "ON", "NULL"])
            || self.at_words(&["ABSENT", "ON", "NULL"])
            || (self.at_word("RETURNING") && self.peek(1).kind == TokenKind::Word)
            || (self.at_word("STRICT") && self.kind_ahead(1, TokenKind::RightParen))
            || self.at_words(&["WITH", "UNIQUE", "KEYS"])
    }

    /// `[KEY] key VALUE value`, `key : value` or the name of a column, which is the key as it is written.
    fn json_member(&mut self, call: &mut Call, clauses: &mut JsonClauses) -> Result<()> {
        let is_key_word = self.at_word("KEY") && !self.word_ahead(1, "VALUE") && !self.kind_ahead(1, TokenKind::Colon);
        if is_key_word && !matches!(self.peek(1).kind, TokenKind::Comma | TokenKind::RightParen | TokenKind::Dot) {
            self.bump();
        }
        let pos = self.pos();
        let last = |p: &Self| p.tokens[p.at.saturating_sub(1)];
        let key = self.value()?;
        if self.eat_any(&["VALUE", "IS"]).is_some() || self.eat(TokenKind::Colon) {
            call.args.push(Argument { name: None, value: key });
            return self.json_item(call, clauses);
        }
        let ExprKind::Name(_) = &key.kind else { return self.expect_named("VALUE") };
        let written = self.source(last(self)).trim_matches('"').to_owned();
        let text = Literal::String { text: written, national: false };
        call.args.push(Argument { name: None, value: Expr::new(ExprKind::Literal(text), pos) });
        call.args.push(Argument { name: None, value: key });
        clauses.formats.push(self.eat_words(&["FORMAT", "JSON"]));
        Ok(())
    }

    /// The clauses after the values and the path, in any order.
    fn json_clauses(&mut self, call: &mut Call, clauses: &mut JsonClauses) -> Result<()> {
        loop {
            if self.eat_word("PASSING") {
                loop {
                    self.push_json_value(call)?;
                    self.expect_word("AS", 905)?;
                    clauses.passing.push(self.written_name(904)?);
                    if !self.eat(TokenKind::Comma) {
                        break;
                    }
                }
            } else if self.eat_word("RETURNING") {
                clauses.returning = Some(self.data_type()?);
                self.eat_words(&["FORMAT", "JSON"]);
            } else if self.at_otherwise() {
                self.json_otherwise(clauses)?;
            } else if self.at_words(&["WITH", "UNIQUE"]) {
                self.at += 2;
                self.expect_word("KEYS", 905)?;
                clauses.unique_keys = true;
            } else if self.at_any(&["WITH", "WITHOUT"]) {
                clauses.wrapper = Some(self.json_wrapper()?);
            } else if self.eat_word("PRETTY") {
                clauses.pretty = true;
            } else if self.eat_word("ASCII") {
                clauses.ascii = true;
            } else if self.eat_word("TRUNCATE") {
                clauses.truncate = true;
            } else if self.eat_word("STRICT") {
                clauses.strict = true;
            } else if let Some(which) = self.eat_any(&["ALLOW", "DISALLOW"]) {
                self.expect_word("SCALARS", 905)?;
                clauses.scalars = Some(which == 0);
            } else if self.at_words(&["TYPE", "LAX"]) {
                self.at += 2;
            } else {
                return Ok(());
            }
        }
    }

    /// A name whose case counts.
    fn written_name(&mut self, code: u32) -> Result<Ident> {
        let token = self.token();
        let ident = self.any_word(code)?;
        Ok(Ident { name: self.source(token).trim_matches('"').to_owned(), ..ident })
    }

    fn at_otherwise(&self) -> bool {
        self.at_any(&["NULL", "ERROR", "EMPTY", "TRUE", "FALSE", "DEFAULT", "ABSENT"])
    }

    /// `behaviour ON ERROR | EMPTY | NULL | MISMATCH`.
    fn json_otherwise(&mut self, clauses: &mut JsonClauses) -> Result<()> {
        const WORDS: &[&str] = &["NULL", "ERROR", "EMPTY", "TRUE", "FALSE", "DEFAULT", "ABSENT"];
        let start = self.pos();
        let otherwise = match self.eat_any(WORDS).map(|at| WORDS[at]) {
            Some("NULL") => Some(JsonOtherwise::Null),
            Some("ERROR") => Some(JsonOtherwise::Error),
            Some("TRUE") => Some(JsonOtherwise::True),
            Some("FALSE") => Some(JsonOtherwise::False),
            Some("EMPTY") if self.eat_word("OBJECT") => Some(JsonOtherwise::EmptyObject),
            Some("EMPTY") => {
                self.eat_word("ARRAY");
                Some(JsonOtherwise::EmptyArray)
            }
            Some("DEFAULT") => Some(self.json_default()?),
            _ => None,
        };
        self.expect_word("ON", 905)?;
        match (self.eat_any(&["ERROR", "EMPTY", "NULL"]), otherwise) {
            (Some(0), Some(otherwise)) => clauses.on_error = Some(otherwise),
            (Some(1), Some(otherwise)) => clauses.on_empty = Some(otherwise),
            (Some(2), Some(JsonOtherwise::Null)) => clauses.null_on_null = Some(true),
            (Some(2), None) => clauses.null_on_null = Some(false),
            (Some(_), _) => return Err(self.error_at(40450, start)),
            (None, _) if self.at_word("MISMATCH") => return self.fail(3001),
            (None, _) => return self.fail(905),
        }
        Ok(())
    }

    fn json_default(&mut self) -> Result<JsonOtherwise> {
        let minus = self.eat(TokenKind::Minus);
        let pos = self.pos();
        let literal = self.nested(Self::primary)?;
        match literal.kind {
            ExprKind::Literal(literal) if !minus || matches!(literal, Literal::Number(_)) => {
                Ok(JsonOtherwise::Default(minus, literal))
            }
            _ => Err(self.error_at(40452, pos)),
        }
    }

    fn json_wrapper(&mut self) -> Result<JsonWrapper> {
        let with = self.eat_any(&["WITHOUT", "WITH"]) == Some(1);
        let conditional = with && self.eat_any(&["CONDITIONAL", "UNCONDITIONAL"]) == Some(0);
        self.eat_word("ARRAY");
        self.expect_word("WRAPPER", 905)?;
        Ok(match (with, conditional) {
            (false, _) => JsonWrapper::Without,
            (true, true) => JsonWrapper::Conditional,
            (true, false) => JsonWrapper::Unconditional,
        })
    }

    /// `COLUMNS (…)`, or without the parentheses.
    fn json_columns(&mut self, depth: u32, count: &mut usize) -> Result<Vec<JsonColumn>> {
        if depth > COLUMNS_NESTING_MAX {
            return Err(self.too_deep());
        }
        self.expect_word("COLUMNS", 905)?;
        let parenthesised = self.eat(TokenKind::LeftParen);
        let columns = self.comma_list(|p| p.json_column(depth, count))?;
        if parenthesised {
            self.right_paren()?;
        }
        Ok(columns)
    }

    fn json_column(&mut self, depth: u32, count: &mut usize) -> Result<JsonColumn> {
        let at_nested = self.at_word("NESTED") && !self.at_json_column_type(1);
        if at_nested {
            self.bump();
            self.eat_word("PATH");
            let path = self.json_column_path()?;
            return Ok(JsonColumn::Nested { path, columns: self.json_columns(depth + 1, count)? });
        }
        *count += 1;
        if *count > COLUMNS_MAX {
            return Err(Ora::new(1792).at(self.pos().0));
        }
        let token = self.token();
        let name = self.ident(904)?;
        if self.eat_words(&["FOR", "ORDINALITY"]) {
            return Ok(JsonColumn::Ordinality(name));
        }
        let mut clauses = Box::<JsonClauses>::default();
        let mut exists = self.eat_word("EXISTS");
        if !exists && self.at_json_column_type(0) {
            clauses.returning = Some(self.data_type()?);
            exists = self.eat_word("EXISTS");
        }
        clauses.format = self.eat_words(&["FORMAT", "JSON"]);
        // The wrapper and other clauses may stand before the path.
        let mut call = Call::new(Name::simple(name.clone()));
        self.json_clauses(&mut call, &mut clauses)?;
        clauses.path = Some(match self.eat_word("PATH") {
            true => self.json_column_path()?,
            false => {
                let written = self.source(token).trim_matches('"').to_owned();
                JsonPath { text: member_path(&written), pos: name.pos }
            }
        });
        self.json_clauses(&mut call, &mut clauses)?;
        if !call.args.is_empty() {
            return Err(self.error_at(905, name.pos));
        }
        Ok(JsonColumn::Value { name, exists, clauses })
    }

    /// Whether a data type stands `ahead`, and not a clause of the column.
    fn at_json_column_type(&self, ahead: usize) -> bool {
        const CLAUSES: &[&str] = &[
            "PATH", "EXISTS", "FORMAT", "FOR", "WITH", "WITHOUT", "NULL", "ERROR", "DEFAULT", "EMPTY", "TRUE", "FALSE",
            "TRUNCATE", "ALLOW", "DISALLOW", "PRETTY", "ASCII",
        ];
        if ahead > 0 {
            // NESTED as the name of a column.
            const TYPES: &[&str] = &["VARCHAR2", "NUMBER", "DATE", "CLOB", "TIMESTAMP", "INTEGER", "CHAR", "EXISTS"];
            return TYPES.iter().any(|word| self.word_ahead(ahead, word))
                || matches!(self.peek(ahead).kind, TokenKind::Comma | TokenKind::RightParen)
                || (self.word_ahead(ahead, "PATH") && self.word_ahead(ahead + 2, "NULL"));
        }
        self.at(TokenKind::Word) && !self.at_any(CLAUSES)
    }

    /// A literal path, or names and subscripts without quotes.
    fn json_column_path(&mut self) -> Result<JsonPath> {
        let pos = self.pos();
        if matches!(self.kind(), TokenKind::String | TokenKind::NationalString) {
            return self.json_path();
        }
        let is_name = |kind| matches!(kind, TokenKind::Word | TokenKind::QuotedIdent);
        if !is_name(self.kind()) {
            return self.fail(40454);
        }
        let mut text = String::from("$");
        loop {
            let token = self.token();
            if !is_name(token.kind) {
                return self.fail(40454);
            }
            self.bump();
            text.push_str(&member_path(self.source(token).trim_matches('"'))[1..]);
            while self.at(TokenKind::LeftBracket) {
                self.json_subscript(&mut text)?;
            }
            if !self.eat(TokenKind::Dot) {
                return Ok(JsonPath { text, pos });
            }
        }
    }

    /// `[0].name…` after `table.column.name…`.
    pub(super) fn json_steps(&mut self, mut name: Name, pos: Pos) -> Result<Expr> {
        let mut text = String::from("$");
        for at in 2..name.parts.len() {
            text.push_str(&member_path(name.written(at))[1..]);
        }
        name.parts.truncate(2);
        name.written.0.clear();
        loop {
            if self.at(TokenKind::LeftBracket) {
                self.json_subscript(&mut text)?;
            } else if self.at(TokenKind::Dot) && matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent) {
                self.bump();
                let token = self.bump();
                let step = self.source(token).trim_matches('"');
                if self.at(TokenKind::LeftParen) && self.kind_ahead(1, TokenKind::RightParen) {
                    self.at += 2;
                    text.push_str(&format!(".{step}()"));
                    break;
                }
                text.push_str(&member_path(step)[1..]);
            } else {
                break;
            }
        }
        let mut call = Box::new(Call::new(name));
        let path = Some(JsonPath { text, pos });
        call.json = Some(Box::new(JsonClauses { path, ..JsonClauses::default() }));
        Ok(Expr::new(ExprKind::Call(call), pos))
    }

    /// Appends `[…]` as it is written.
    fn json_subscript(&mut self, text: &mut String) -> Result<()> {
        let start = self.pos();
        while !matches!(self.kind(), TokenKind::RightBracket | TokenKind::End) {
            self.bump();
        }
        if !self.eat(TokenKind::RightBracket) {
            return self.fail(40454);
        }
        text.push_str(self.text_since(start));
        Ok(())
    }

    /// `[STRICT | LAX] [WITH | WITHOUT UNIQUE KEYS]` after IS JSON.
    pub(super) fn json_test(&mut self) -> Result<JsonTest> {
        let mut test = JsonTest::default();
        self.eat_words(&["FORMAT", "JSON"]);
        let parenthesised =
            self.at(TokenKind::LeftParen) && (self.word_ahead(1, "STRICT") || self.word_ahead(1, "LAX"));
        if parenthesised {
            self.bump();
        }
        test.strict = self.eat_any(&["STRICT", "LAX"]) == Some(0);
        if parenthesised {
            self.right_paren()?;
        }
        if self.at_words(&["WITH", "UNIQUE"]) || self.at_words(&["WITHOUT", "UNIQUE"]) {
            test.unique_keys = self.eat_any(&["WITH", "WITHOUT"]) == Some(0);
            self.bump();
            self.expect_word("KEYS", 905)?;
        }
        Ok(test)
    }
}
