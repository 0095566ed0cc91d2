//! Expressions: values and operands. Conditions are in [`super::predicate`].
//!
//! SQL distinguishes values and conditions, but `(` may begin either of them, a row, or a subquery. One precedence
//! climber therefore parses both, and [`Parser::value`] and [`Parser::condition`] check afterwards which one it was.

use super::binds::bind_name;
use super::{CHAIN_MAX, Parser, Queries, balanced};
use crate::ast::*;
use crate::keywords::{is_pseudo_column, is_reserved};
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

/// Binding powers, loosest first.
pub(super) mod bind {
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const PREDICATE: u8 = 4;
    pub const ADDITIVE: u8 = 5;
    pub const MULTIPLICATIVE: u8 = 6;
    pub const UNARY: u8 = 7;
}

/// The content of a pair of parentheses.
pub(super) enum Paren {
    Query(Box<Query>),
    Exprs(Vec<Expr>),
}

impl Parser<'_> {
    /// A value: ORA-00936 if there is none, ORA-00907 for parentheses with a condition or a row.
    pub(crate) fn value(&mut self) -> Result<Expr> {
        let expr = self.value_or_row()?;
        match expr.kind {
            ExprKind::Row(_) => Err(self.error_at(907, expr.pos)),
            _ => Ok(expr),
        }
    }

    /// A value, or a row in parentheses, for comparisons and GROUP BY.
    pub(crate) fn value_or_row(&mut self) -> Result<Expr> {
        let expr = self.climb(bind::ADDITIVE)?;
        if expr.is_condition() && !matches!(expr.kind, ExprKind::Call(_)) {
            return Err(self.error_at(907, expr.pos));
        }
        Ok(expr)
    }

    /// Values separated by commas.
    pub(crate) fn value_list(&mut self) -> Result<Vec<Expr>> {
        self.comma_list(Self::value)
    }

    /// `ORDER [SIBLINGS] BY items`.
    pub(super) fn order_by_items(&mut self) -> Result<Vec<OrderItem>> {
        self.expect_word("ORDER", 30491)?;
        self.eat_word("SIBLINGS");
        self.expect_word("BY", 924)?;
        self.comma_list(Self::order_item)
    }

    fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.value()?;
        let (descending, nulls_first) = self.sort_direction()?;
        Ok(OrderItem { expr, descending, nulls_first })
    }

    /// `[ASC|DESC] [NULLS FIRST|LAST]`: whether the order descends, and the place of NULLs.
    pub(super) fn sort_direction(&mut self) -> Result<(bool, Option<bool>)> {
        let descending = self.eat_any(&["ASC", "DESC"]) == Some(1);
        let mut nulls_first = None;
        if self.eat_word("NULLS") {
            nulls_first = match self.eat_any(&["FIRST", "LAST"]) {
                Some(i) => Some(i == 0),
                None => return self.fail(30492),
            };
        }
        Ok((descending, nulls_first))
    }

    /// Parses an expression whose operators all bind at least as tightly as `min`.
    pub(super) fn climb(&mut self, min: u8) -> Result<Expr> {
        self.beside(|p| {
            let left = p.nested(|p| p.prefix(min))?;
            p.climb_from(left, min)
        })
    }

    /// Continues after an operand that has been parsed.
    pub(super) fn climb_from(&mut self, mut left: Expr, min: u8) -> Result<Expr> {
        loop {
            let infix = self.infix_op();
            let is_postfix = infix.is_none() && min <= bind::PREDICATE && self.at_predicate();
            let power = infix.map_or(bind::PREDICATE, |(_, power)| power);
            if (infix.is_none() && !is_postfix) || power < min {
                return Ok(left);
            }
            left = match infix {
                Some((op, power)) if op.is_logical() => self.logical(left, op, power)?,
                Some((op, power)) => {
                    self.link()?;
                    self.infix(left, op, power)?
                }
                None => {
                    self.link()?;
                    self.predicate(left)?
                }
            };
        }
    }

    fn infix_op(&self) -> Option<(BinaryOp, u8)> {
        use BinaryOp::*;
        Some(match self.kind() {
            TokenKind::Plus => (Add, bind::ADDITIVE),
            TokenKind::Minus => (Sub, bind::ADDITIVE),
            TokenKind::Concat => (Concat, bind::ADDITIVE),
            // `**` belongs to PL/SQL: SQL reads a multiplication that lacks an operand.
            TokenKind::Star | TokenKind::Power => (Mul, bind::MULTIPLICATIVE),
            TokenKind::Slash => (Div, bind::MULTIPLICATIVE),
            TokenKind::Eq => (Eq, bind::PREDICATE),
            TokenKind::Ne => (Ne, bind::PREDICATE),
            TokenKind::Lt => (Lt, bind::PREDICATE),
            TokenKind::Le => (Le, bind::PREDICATE),
            TokenKind::Gt => (Gt, bind::PREDICATE),
            TokenKind::Ge => (Ge, bind::PREDICATE),
            TokenKind::Word if self.at_word("AND") => (And, bind::AND),
            TokenKind::Word if self.at_word("OR") => (Or, bind::OR),
            _ => return None,
        })
    }

    /// A chain of AND, or of OR: generated statements have thousands of them.
    fn logical(&mut self, left: Expr, op: BinaryOp, power: u8) -> Result<Expr> {
        if !left.is_condition() && !matches!(left.kind, ExprKind::Call(_)) {
            // `a AND ...` lacks a comparison operator.
            return self.fail(920);
        }
        let (mut operands, mut places) = (vec![left], Vec::new());
        while self.infix_op() == Some((op, power)) {
            if places.len() >= CHAIN_MAX as usize {
                return Err(self.too_deep());
            }
            places.push(self.pos());
            self.bump();
            let right = self.climb(power + 1)?;
            if !right.is_condition() {
                return self.fail(920);
            }
            operands.push(right);
        }
        let mut join =
            |left, right, pos| Expr::new(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, pos);
        Ok(balanced(operands, &places, &mut join))
    }

    fn infix(&mut self, left: Expr, op: BinaryOp, power: u8) -> Result<Expr> {
        if self.at(TokenKind::Power) {
            return Err(Ora::new(936).at(self.pos().0 + 1));
        }
        if left.is_condition() && !matches!(left.kind, ExprKind::Call(_)) {
            // `(a = b) + 1` and `a = b = c` have one operator too many.
            return self.fail(933);
        }
        let pos = self.pos();
        self.bump();
        if op.is_comparison() {
            return self.comparison(left, op, pos);
        }
        let right = self.climb(power + 1)?;
        Ok(Expr::new(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, pos))
    }

    fn prefix(&mut self, min: u8) -> Result<Expr> {
        const OPS: &[(&str, UnaryOp)] = &[("PRIOR", UnaryOp::Prior), ("CONNECT_BY_ROOT", UnaryOp::ConnectByRoot)];
        let pos = self.pos();
        let op = match self.kind() {
            TokenKind::Minus => Some(UnaryOp::Minus),
            TokenKind::Plus => Some(UnaryOp::Plus),
            TokenKind::Word => OPS.iter().find(|(word, _)| self.at_word(word)).map(|(_, op)| *op),
            _ => None,
        };
        if let Some(op) = op {
            self.bump();
            let expr = Box::new(self.climb(bind::UNARY)?);
            return Ok(Expr::new(ExprKind::Unary { op, expr }, pos));
        }
        if min <= bind::NOT && self.eat_word("NOT") {
            let expr = self.climb(bind::NOT)?;
            if !expr.is_condition() {
                return self.fail(920);
            }
            return Ok(Expr::new(ExprKind::Unary { op: UnaryOp::Not, expr: Box::new(expr) }, pos));
        }
        let operand = self.primary()?;
        self.postfix(operand)
    }

    /// `(+)`, `.field`, `(args)`, `DAY TO SECOND`, `AT TIME ZONE`, `MULTISET` after an operand.
    fn postfix(&mut self, mut expr: Expr) -> Result<Expr> {
        loop {
            self.link()?;
            let pos = self.pos();
            let kind = match self.kind() {
                TokenKind::LeftParen if self.at_outer_mark() => {
                    self.at += 3;
                    ExprKind::OuterJoined(Box::new(expr))
                }
                TokenKind::LeftParen if matches!(expr.kind, ExprKind::Field { .. } | ExprKind::Call(_)) => {
                    ExprKind::Apply { base: Box::new(expr), args: self.nested(|p| p.arguments())? }
                }
                TokenKind::Dot if !matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Name(_)) => {
                    self.bump();
                    ExprKind::Field { base: Box::new(expr), field: self.any_word(1747)? }
                }
                TokenKind::Word => match self.word_postfix(expr)? {
                    (found, true) => {
                        expr = found;
                        continue;
                    }
                    (expr, false) => return Ok(expr),
                },
                _ => return Ok(expr),
            };
            expr = Expr::new(kind, pos);
        }
    }

    /// Parses a postfix that consists of words; returns whether there was one.
    fn word_postfix(&mut self, expr: Expr) -> Result<(Expr, bool)> {
        let pos = self.pos();
        let kind = if self.eat_words(&["AT", "LOCAL"]) {
            ExprKind::AtTimeZone { expr: Box::new(expr), zone: None }
        } else if self.eat_words(&["AT", "TIME", "ZONE"]) {
            ExprKind::AtTimeZone { expr: Box::new(expr), zone: Some(Box::new(self.climb(bind::UNARY)?)) }
        } else if self.at_interval_qualifier() {
            ExprKind::AsInterval { expr: Box::new(expr), qualifier: self.interval_qualifier(30089)? }
        } else if self.at_word("MULTISET") && self.kind_ahead(1, TokenKind::Word) {
            self.multiset(expr)?
        } else {
            return Ok((expr, false));
        };
        Ok((Expr::new(kind, pos), true))
    }

    pub(super) fn at_outer_mark(&self) -> bool {
        use TokenKind::*;
        self.at(LeftParen) && self.kind_ahead(1, Plus) && self.kind_ahead(2, RightParen)
    }

    /// `DAY [(n)] TO` or `YEAR [(n)] TO` after an operand.
    fn at_interval_qualifier(&self) -> bool {
        let after = if self.kind_ahead(1, TokenKind::LeftParen) { 4 } else { 1 };
        self.at_any(&["DAY", "YEAR"]) && self.word_ahead(after, "TO")
    }

    fn multiset(&mut self, left: Expr) -> Result<ExprKind> {
        self.bump();
        let op = match self.eat_any(&["UNION", "INTERSECT", "EXCEPT"]) {
            Some(i) => [SetOp::Union, SetOp::Intersect, SetOp::Minus][i],
            None => return self.fail(905),
        };
        let distinct = self.eat_word("DISTINCT");
        if !distinct {
            self.eat_word("ALL");
        }
        let right = Box::new(self.climb(bind::UNARY)?);
        Ok(ExprKind::Multiset { op, distinct, left: Box::new(left), right })
    }

    pub(super) fn primary(&mut self) -> Result<Expr> {
        let token = self.token();
        let pos = token.pos();
        let source = self.source(token);
        let kind = match token.kind {
            TokenKind::Number => {
                self.bump();
                ExprKind::Literal(Literal::Number(source.to_owned()))
            }
            TokenKind::FloatNumber => {
                self.bump();
                ExprKind::Literal(Literal::BinaryFloat(source[..source.len() - 1].to_owned()))
            }
            TokenKind::DoubleNumber => {
                self.bump();
                ExprKind::Literal(Literal::BinaryDouble(source[..source.len() - 1].to_owned()))
            }
            TokenKind::String | TokenKind::NationalString => {
                let national = token.kind == TokenKind::NationalString;
                ExprKind::Literal(Literal::String { text: self.string(936)?, national })
            }
            TokenKind::Bind => ExprKind::Bind(self.bind()?),
            TokenKind::LeftParen => return self.parenthesised(),
            TokenKind::Word => return self.word_operand(),
            TokenKind::QuotedIdent => return self.named_operand(),
            _ => return self.fail(936),
        };
        Ok(Expr::new(kind, pos))
    }

    /// A bind variable, with an optional `INDICATOR :i` or `:i`.
    pub(crate) fn bind(&mut self) -> Result<Bind> {
        let token = self.expect(TokenKind::Bind, 936)?;
        let source = self.source(token);
        let mut name = bind_name(source);
        if !source.ends_with('"') && crate::keywords::is_reserved(&name) {
            let behind_colon = source.len() - source[1..].trim_start().len();
            return Err(self.error_at(1745, Pos(token.start + behind_colon as u32)));
        }
        if self.too_many.is_some_and(|first| first <= token.start) {
            return Err(self.error_at(1745, Pos(token.start)));
        }
        if let Some(places) = &self.places {
            name = places.name(token.start, name);
        }
        let mut indicator = None;
        if self.at_word("INDICATOR") && self.kind_ahead(1, TokenKind::Bind) {
            self.bump();
        }
        if self.at(TokenKind::Bind) {
            let token = self.bump();
            indicator = Some(bind_name(self.source(token)));
        }
        Ok(Bind { name, indicator })
    }

    fn parenthesised(&mut self) -> Result<Expr> {
        let pos = self.pos();
        match self.parens()? {
            Paren::Query(query) => Ok(Expr::new(ExprKind::Subquery(query), pos)),
            Paren::Exprs(list) => Ok(one_or_row(list, pos)),
        }
    }

    /// A parenthesised subquery, expression, condition or row.
    ///
    /// Everything is parsed only once (Q1): whether a parenthesised subquery is the whole, the first operand of a set
    /// operation, or part of an expression, is decided after it.
    pub(super) fn parens(&mut self) -> Result<Paren> {
        self.nested(|p| {
            p.left_paren()?;
            let pos = p.pos();
            if p.at_any(&["SELECT", "WITH"]) {
                let query = p.inner_query()?;
                p.right_paren()?;
                return Ok(Paren::Query(Box::new(query)));
            }
            let first = if p.at(TokenKind::LeftParen) && p.paren_hides_query() {
                match p.parens()? {
                    Paren::Query(inner) if p.at(TokenKind::RightParen) || p.at_query_tail() => {
                        let query = p.rest_of_query(QueryBody::Nested(inner), pos)?;
                        p.right_paren()?;
                        return Ok(Paren::Query(Box::new(query)));
                    }
                    Paren::Query(inner) => p.go_on(Expr::new(ExprKind::Subquery(inner), pos))?,
                    Paren::Exprs(list) => p.go_on(one_or_row(list, pos))?,
                }
            } else {
                p.climb(bind::OR)?
            };
            let mut list = vec![first];
            while p.eat(TokenKind::Comma) {
                list.push(p.value_or_row()?);
            }
            p.right_paren()?;
            Ok(Paren::Exprs(list))
        })
    }

    fn go_on(&mut self, operand: Expr) -> Result<Expr> {
        let operand = self.postfix(operand)?;
        self.climb_from(operand, bind::OR)
    }

    /// Whether the parentheses that open here, however many, begin with a subquery.
    pub(super) fn paren_hides_query(&self) -> bool {
        // Each of the parentheses asks, so the result is cached for the whole sequence.
        let (from, mut to) = self.parens_seen.get();
        if !(from..to).contains(&self.at) {
            to = self.at;
            while self.tokens[to].kind == TokenKind::LeftParen {
                to += 1;
            }
            self.parens_seen.set((self.at, to));
        }
        let ahead = to - self.at;
        self.word_ahead(ahead, "SELECT") || self.word_ahead(ahead, "WITH")
    }

    fn word_operand(&mut self) -> Result<Expr> {
        let pos = self.pos();
        let word = self.source(self.token()).to_uppercase();
        let next = self.peek(1).kind;
        let kind = match (word.as_str(), next) {
            ("NULL", _) => {
                self.bump();
                ExprKind::Literal(Literal::Null)
            }
            ("CASE", _) => self.nested(Self::case)?,
            ("DATE", TokenKind::String) => {
                self.bump();
                ExprKind::Literal(Literal::Date(self.string(1780)?))
            }
            ("TIMESTAMP", TokenKind::String) => {
                self.bump();
                ExprKind::Literal(Literal::Timestamp(self.string(1780)?))
            }
            ("INTERVAL", TokenKind::String) => {
                self.bump();
                let text = self.string(1780)?;
                ExprKind::Literal(Literal::Interval { text, qualifier: self.interval_qualifier(30089)? })
            }
            ("EXISTS", TokenKind::LeftParen) => {
                self.bump();
                ExprKind::Exists(self.subquery()?)
            }
            ("CURSOR", TokenKind::LeftParen) if self.word_ahead(2, "SELECT") || self.word_ahead(2, "WITH") => {
                self.bump();
                let query = self.subquery()?;
                ExprKind::Cursor(query, ItemText(self.text_since(pos).to_owned()))
            }
            ("CAST", TokenKind::LeftParen) => self.nested(Self::cast)?,
            ("TREAT", TokenKind::LeftParen) => self.nested(Self::treat)?,
            ("EXTRACT", TokenKind::LeftParen) if self.extract_ahead() => self.nested(Self::extract)?,
            ("TRIM", TokenKind::LeftParen) => self.nested(Self::trim)?,
            // SET is reserved, and a function of collections.
            ("SET", TokenKind::LeftParen) => return self.named_operand(),
            (word, _) if is_reserved(word) && !is_pseudo_column(word) => return self.fail(936),
            _ => return self.named_operand(),
        };
        Ok(Expr::new(kind, pos))
    }

    fn extract_ahead(&self) -> bool {
        DateField::parse(&self.source(self.peek(2)).to_uppercase()).is_some() && self.word_ahead(3, "FROM")
    }

    /// A subquery in parentheses; ORA-00936 for anything else.
    pub(super) fn subquery(&mut self) -> Result<Box<Query>> {
        let pos = self.peek(1).pos();
        match self.parens()? {
            Paren::Query(query) => Ok(query),
            Paren::Exprs(_) => Err(self.error_at(936, pos)),
        }
    }

    /// A column, pseudo-column or call.
    fn named_operand(&mut self) -> Result<Expr> {
        let pos = self.pos();
        let first = self.any_word(936)?;
        let name = self.name_after(first, 1747)?;
        if self.at(TokenKind::Dot) && !self.kind_ahead(1, TokenKind::Star) {
            self.bump();
            return self.fail(1747);
        }
        if self.at(TokenKind::LeftParen) && !self.at_outer_mark() {
            return self.nested(|p| p.call(name, pos));
        }
        if self.at(TokenKind::LeftBracket) && name.parts.len() >= 2 {
            return self.json_steps(name, pos);
        }
        Ok(Expr::new(ExprKind::Name(name), pos))
    }

    fn case(&mut self) -> Result<ExprKind> {
        self.bump();
        let operand = if self.at_word("WHEN") { None } else { Some(self.value()?) };
        let mut branches = Vec::new();
        while self.eat_word("WHEN") {
            let when = if operand.is_some() { self.value()? } else { self.condition()? };
            self.expect_word("THEN", 905)?;
            let then = self.value()?;
            branches.push(CaseBranch { when, then });
        }
        if branches.is_empty() {
            return self.fail(905);
        }
        let otherwise = if self.eat_word("ELSE") { Some(self.value()?) } else { None };
        self.expect_word("END", 905)?;
        Ok(ExprKind::Case(Box::new(Case { operand, branches, otherwise })))
    }

    fn cast(&mut self) -> Result<ExprKind> {
        self.bump();
        self.left_paren()?;
        if self.at_word("MULTISET") && self.kind_ahead(1, TokenKind::LeftParen) {
            self.bump();
            let query = self.subquery()?;
            self.expect_word("AS", 905)?;
            let ty = self.data_type()?;
            self.right_paren()?;
            return Ok(ExprKind::CastMultiset { query, ty });
        }
        self.cast_rest()
    }

    /// `TREAT(expr AS type)`
    fn treat(&mut self) -> Result<ExprKind> {
        self.bump();
        self.left_paren()?;
        let expr = Box::new(self.value()?);
        self.expect_word("AS", 905)?;
        if self.at_word("REF") {
            return Err(::types::Ora::unsupported().at(self.pos().0));
        }
        let ty = self.data_type()?;
        self.right_paren()?;
        Ok(ExprKind::Treat { expr, ty })
    }

    /// `expr AS type [DEFAULT value ON CONVERSION ERROR] [, format, settings])`.
    fn cast_rest(&mut self) -> Result<ExprKind> {
        let expr = Box::new(self.value()?);
        self.expect_word("AS", 905)?;
        let ty = self.data_type()?;
        let default_on_error = self.default_on_error()?;
        let mut format = Vec::new();
        while self.eat(TokenKind::Comma) {
            format.push(self.value()?);
        }
        self.right_paren()?;
        Ok(ExprKind::Cast { expr, ty, default_on_error, format })
    }

    fn extract(&mut self) -> Result<ExprKind> {
        self.bump();
        self.left_paren()?;
        let field = self.date_field(30089)?;
        self.expect_word("FROM", 923)?;
        let expr = Box::new(self.value()?);
        self.right_paren()?;
        Ok(ExprKind::Extract { field, expr })
    }

    /// `TRIM([[LEADING|TRAILING|BOTH] [chars] FROM] expr)`.
    fn trim(&mut self) -> Result<ExprKind> {
        self.bump();
        self.left_paren()?;
        let side = self.eat_any(&["BOTH", "LEADING", "TRAILING"]).unwrap_or(0);
        let side = [TrimSide::Both, TrimSide::Leading, TrimSide::Trailing][side];
        let mut chars = None;
        let mut expr = None;
        if !self.at_word("FROM") {
            expr = Some(Box::new(self.value()?));
        }
        if self.eat_word("FROM") {
            chars = expr.replace(Box::new(self.value()?));
        }
        let Some(expr) = expr else {
            return self.fail(936);
        };
        self.right_paren()?;
        Ok(ExprKind::Trim { side, chars, expr })
    }

    fn call(&mut self, name: Name, pos: Pos) -> Result<Expr> {
        let mut call = Box::new(Call::new(name));
        self.left_paren()?;
        if call.name.as_simple().is_some_and(super::json::has_clauses) {
            self.json_call(&mut call)?;
        } else if call.name.as_simple().is_some_and(super::xml::has_clauses) {
            self.xml_call(Self::value, &mut call)?;
        } else if !self.at(TokenKind::RightParen) {
            if call.name.as_simple() == Some("LNNVL") {
                // The only function whose argument is a condition.
                call.args.push(Argument { name: None, value: self.condition()? });
                self.right_paren()?;
                return Ok(Expr::new(ExprKind::Call(call), pos));
            }
            if call.name.as_simple() == Some("VALIDATE_CONVERSION") {
                // The argument is that of CAST: a value, a type and a format.
                let value = Expr::new(self.cast_rest()?, pos);
                call.args.push(Argument { name: None, value });
                return Ok(Expr::new(ExprKind::Call(call), pos));
            }
            call.distinct = self.eat_any(&["DISTINCT", "UNIQUE"]).is_some();
            if !call.distinct {
                self.eat_word("ALL");
            }
            self.call_args(&mut call)?;
        }
        self.right_paren()?;
        self.call_suffixes(&mut call)?;
        Ok(Expr::new(ExprKind::Call(call), pos))
    }

    fn call_args(&mut self, call: &mut Call) -> Result<()> {
        loop {
            call.args.push(self.argument()?);
            self.null_treatment(call);
            if call.args.len() == 1 && self.at_word("DEFAULT") {
                call.default_on_error = self.default_on_error()?;
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        // XMLAGG(x ORDER BY y) is stored like WITHIN GROUP.
        if self.at_word("ORDER") {
            call.within_group = self.order_by_items()?;
        }
        if self.at_words(&["ON", "OVERFLOW"]) {
            self.at += 2;
            call.on_overflow = Some(self.overflow()?);
        }
        Ok(())
    }

    fn overflow(&mut self) -> Result<Overflow> {
        match self.eat_any(&["ERROR", "TRUNCATE"]) {
            Some(0) => return Ok(Overflow::Error),
            Some(_) => {}
            None => return self.fail(905),
        }
        let has_indicator = !self.at(TokenKind::RightParen) && !self.at_any(&["WITH", "WITHOUT"]);
        let indicator = if has_indicator { Some(Box::new(self.value()?)) } else { None };
        let count = match self.eat_any(&["WITH", "WITHOUT"]) {
            Some(at) => {
                self.expect_word("COUNT", 905)?;
                at == 0
            }
            None => true,
        };
        Ok(Overflow::Truncate { indicator, count })
    }

    /// `DEFAULT value ON CONVERSION ERROR`, or nothing.
    fn default_on_error(&mut self) -> Result<Option<Box<Expr>>> {
        if !self.eat_word("DEFAULT") {
            return Ok(None);
        }
        let value = Box::new(self.value()?);
        for word in ["ON", "CONVERSION", "ERROR"] {
            self.expect_word(word, 905)?;
        }
        Ok(Some(value))
    }

    /// `(a, name => b)`.
    pub(crate) fn arguments(&mut self) -> Result<Vec<Argument>> {
        self.left_paren()?;
        let mut args = Vec::new();
        if !self.at(TokenKind::RightParen) {
            args = self.comma_list(Self::argument)?;
        }
        self.right_paren()?;
        Ok(args)
    }

    fn argument(&mut self) -> Result<Argument> {
        let mut name = None;
        if self.kind_ahead(1, TokenKind::Arrow) {
            name = Some(self.any_word(936)?);
            self.bump();
        }
        let pos = self.pos();
        let value = if self.eat(TokenKind::Star) { Expr::new(ExprKind::Star, pos) } else { self.value_or_row()? };
        Ok(Argument { name, value })
    }

    fn null_treatment(&mut self, call: &mut Call) {
        if self.eat_words(&["IGNORE", "NULLS"]) {
            call.ignore_nulls = Some(true);
        } else if self.eat_words(&["RESPECT", "NULLS"]) {
            call.ignore_nulls = Some(false);
        }
    }

    fn call_suffixes(&mut self, call: &mut Call) -> Result<()> {
        if !self.at(TokenKind::Word) {
            return Ok(());
        }
        if self.eat_words(&["WITHIN", "GROUP"]) {
            self.left_paren()?;
            call.within_group = self.order_by_items()?;
            self.right_paren()?;
        }
        if self.at_word("KEEP") && self.kind_ahead(1, TokenKind::LeftParen) {
            self.bump();
            call.keep = Some(self.keep()?);
        }
        if self.eat_words(&["FROM", "LAST"]) {
            call.from_last = true;
        } else {
            self.eat_words(&["FROM", "FIRST"]);
        }
        self.null_treatment(call);
        if self.at_word("OVER") && (self.kind_ahead(1, TokenKind::LeftParen) || self.ident_ahead(1)) {
            self.bump();
            call.over = Some(self.window()?);
        }
        Ok(())
    }

    fn keep(&mut self) -> Result<Keep> {
        self.left_paren()?;
        self.expect_word("DENSE_RANK", 905)?;
        let last = self.eat_word("LAST");
        if !last {
            self.expect_word("FIRST", 905)?;
        }
        let order_by = self.order_by_items()?;
        self.right_paren()?;
        Ok(Keep { last, order_by })
    }

    fn window(&mut self) -> Result<Window> {
        let mut window = Window::default();
        if self.at_ident() {
            window.name = Some(self.ident(906)?);
            return Ok(window);
        }
        self.left_paren()?;
        if self.eat_word("PARTITION") {
            self.expect_word("BY", 924)?;
            window.partition_by = self.value_list()?;
        }
        if self.at_word("ORDER") {
            window.order_by = self.order_by_items()?;
        }
        window.frame = self.frame()?;
        self.right_paren()?;
        Ok(window)
    }

    fn frame(&mut self) -> Result<Option<Frame>> {
        let unit = match self.eat_any(&["ROWS", "RANGE", "GROUPS"]) {
            Some(i) => [FrameUnit::Rows, FrameUnit::Range, FrameUnit::Groups][i],
            None => return Ok(None),
        };
        if !self.eat_word("BETWEEN") {
            return Ok(Some(Frame { unit, start: self.frame_bound()?, end: None }));
        }
        let start = self.frame_bound()?;
        self.expect_word("AND", 905)?;
        let end = Some(self.frame_bound()?);
        Ok(Some(Frame { unit, start, end }))
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        const ENDS: &[&str] = &["PRECEDING", "FOLLOWING"];
        if self.eat_words(&["CURRENT", "ROW"]) {
            return Ok(FrameBound::CurrentRow);
        }
        let offset = if self.eat_word("UNBOUNDED") { None } else { Some(Box::new(self.value()?)) };
        match (self.eat_any(ENDS), offset) {
            (Some(0), None) => Ok(FrameBound::UnboundedPreceding),
            (Some(_), None) => Ok(FrameBound::UnboundedFollowing),
            (Some(0), Some(offset)) => Ok(FrameBound::Preceding(offset)),
            (Some(_), Some(offset)) => Ok(FrameBound::Following(offset)),
            (None, _) => self.fail(905),
        }
    }
}

fn one_or_row(mut list: Vec<Expr>, pos: Pos) -> Expr {
    if list.len() == 1 { list.remove(0) } else { Expr::new(ExprKind::Row(list), pos) }
}
