//! Expressions and names.

use super::reserved::is_reserved;
use super::{PResult, Parser};
use crate::lexer::TokenKind;
use crate::parser::{CHAIN_MAX, balanced, chain_is_too_long};
use crate::plsql::ast::*;
use ::types::{FloatTest, Ora};

impl Parser<'_> {
    /// Counts an operator that makes the tree one level deeper.
    fn link(&mut self) -> PResult<()> {
        self.deep = self.deep.saturating_add(1);
        if chain_is_too_long(self.deep) { Err(self.too_many_operators()) } else { Ok(()) }
    }

    /// Runs `f`, which parses an operand next to earlier ones: the tree gets the depth of the deeper one.
    fn beside<T>(&mut self, f: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        let before = std::mem::take(&mut self.deep);
        let result = f(self);
        self.deep = self.deep.max(before);
        result
    }

    fn too_many_operators(&self) -> Ora {
        self.error_at(123, &["too many operators"], self.pos())
    }

    pub(super) fn expr(&mut self) -> PResult<Expr> {
        self.beside(|p| p.deeper(|p| p.or_expr()))
    }

    fn or_expr(&mut self) -> PResult<Expr> {
        self.logical("OR", BinaryOp::Or, Self::and_expr)
    }

    fn and_expr(&mut self) -> PResult<Expr> {
        self.logical("AND", BinaryOp::And, Self::not_expr)
    }

    /// A chain of AND or of OR, as a shallow tree: both are associative and evaluated from left to right.
    fn logical(&mut self, word: &str, op: BinaryOp, operand: impl Fn(&mut Self) -> PResult<Expr>) -> PResult<Expr> {
        let first = operand(self)?;
        if !self.at_word(word) {
            return Ok(first);
        }
        let (mut operands, mut places) = (vec![first], Vec::new());
        while self.at_word(word) {
            if places.len() >= CHAIN_MAX as usize {
                return Err(self.too_many_operators());
            }
            places.push(self.bump());
            operands.push(self.beside(&operand)?);
        }
        Ok(balanced(operands, &places, &mut |left, right, pos| binary(op, left, right, pos)))
    }

    fn not_expr(&mut self) -> PResult<Expr> {
        if self.at_word("NOT") {
            let pos = self.bump();
            let operand = self.deeper(|p| p.not_expr())?;
            return Ok(Expr { kind: ExprKind::Unary { op: UnaryOp::Not, operand: Box::new(operand) }, pos });
        }
        self.comparison()
    }

    fn comparison(&mut self) -> PResult<Expr> {
        let mut left = self.additive()?;
        loop {
            self.link()?;
            let pos = self.pos();
            if let Some(op) = self.comparison_operator() {
                self.bump();
                let right = self.beside(Self::additive)?;
                left = binary(op, left, right, pos);
                continue;
            }
            if self.at_word("IS") {
                self.bump();
                let negated = self.eat_word("NOT");
                let operand = Box::new(left);
                let kind = if self.eat_word("EMPTY") {
                    ExprKind::IsEmpty { operand, negated }
                } else if self.at_word("A") && self.word_at(1, "SET") {
                    self.bump();
                    self.bump();
                    ExprKind::IsASet { operand, negated }
                } else if self.eat_word("NAN") {
                    ExprKind::IsFloat { operand, test: FloatTest::Nan, negated }
                } else if self.eat_word("INFINITE") {
                    ExprKind::IsFloat { operand, test: FloatTest::Infinite, negated }
                } else if self.at_word("OF") {
                    ExprKind::IsOf { operand, types: self.types_of_test()?, negated }
                } else {
                    self.expect_word("NULL")?;
                    ExprKind::IsNull { operand, negated }
                };
                left = Expr { kind, pos };
                continue;
            }
            let negated = self.at_word("NOT")
                && ["IN", "BETWEEN", "LIKE", "MEMBER", "SUBMULTISET"].iter().any(|w| self.word_at(1, w));
            if negated {
                self.bump();
            }
            if self.eat_word("BETWEEN") {
                let low = self.beside(Self::additive)?;
                self.expect_word("AND")?;
                let high = self.beside(Self::additive)?;
                let kind =
                    ExprKind::Between { operand: Box::new(left), low: Box::new(low), high: Box::new(high), negated };
                left = Expr { kind, pos };
            } else if self.eat_word("IN") {
                self.expect_symbol("(")?;
                if self.at_word("SELECT") {
                    return Err(self.error_at(405, &[], self.pos()));
                }
                let list = self.comma_list(|p| p.expr())?;
                self.expect_symbol(")")?;
                left = Expr { kind: ExprKind::In { operand: Box::new(left), list, negated }, pos };
            } else if self.eat_word("LIKE") {
                let pattern = Box::new(self.beside(Self::additive)?);
                let escape = if self.eat_word("ESCAPE") { Some(Box::new(self.beside(Self::additive)?)) } else { None };
                left = Expr { kind: ExprKind::Like { operand: Box::new(left), pattern, escape, negated }, pos };
            } else if self.eat_word("SUBMULTISET") {
                self.eat_word("OF");
                let collection = Box::new(self.beside(Self::additive)?);
                left = Expr { kind: ExprKind::Submultiset { operand: Box::new(left), collection, negated }, pos };
            } else if self.eat_word("MEMBER") {
                self.eat_word("OF");
                let collection = Box::new(self.beside(Self::additive)?);
                left = Expr { kind: ExprKind::MemberOf { operand: Box::new(left), collection, negated }, pos };
            } else {
                return Ok(left);
            }
        }
    }

    fn comparison_operator(&self) -> Option<BinaryOp> {
        Some(match self.symbol()? {
            "=" => BinaryOp::Eq,
            "<>" | "!=" | "^=" | "~=" => BinaryOp::Ne,
            "<" => BinaryOp::Lt,
            "<=" => BinaryOp::Le,
            ">" => BinaryOp::Gt,
            ">=" => BinaryOp::Ge,
            _ => return None,
        })
    }

    fn additive(&mut self) -> PResult<Expr> {
        let mut left = self.multiplicative()?;
        loop {
            self.link()?;
            let pos = self.pos();
            let op = match self.symbol() {
                Some("+") => BinaryOp::Add,
                Some("-") => BinaryOp::Sub,
                Some("||") => BinaryOp::Concat,
                _ if self.at_word("MULTISET") => match self.multiset() {
                    Some(op) => {
                        let right = self.beside(Self::multiplicative)?;
                        left = binary(op, left, right, pos);
                        continue;
                    }
                    None => return Ok(left),
                },
                _ => return Ok(left),
            };
            self.bump();
            let right = self.beside(Self::multiplicative)?;
            left = binary(op, left, right, pos);
        }
    }

    /// `MULTISET UNION [ALL | DISTINCT]` and the like.
    fn multiset(&mut self) -> Option<BinaryOp> {
        const OPERATORS: [(&str, MultisetOp); 3] =
            [("UNION", MultisetOp::Union), ("INTERSECT", MultisetOp::Intersect), ("EXCEPT", MultisetOp::Except)];
        let (_, op) = OPERATORS.iter().find(|(word, _)| self.word_at(1, word))?;
        self.bump();
        self.bump();
        let distinct = self.eat_word("DISTINCT");
        if !distinct {
            self.eat_word("ALL");
        }
        Some(BinaryOp::Multiset { op: *op, distinct })
    }

    fn multiplicative(&mut self) -> PResult<Expr> {
        let mut left = self.power()?;
        loop {
            self.link()?;
            let pos = self.pos();
            let op = match self.symbol() {
                Some("*") => BinaryOp::Mul,
                Some("/") => BinaryOp::Div,
                _ if self.at_word("MOD") => BinaryOp::Mod,
                _ => return Ok(left),
            };
            self.bump();
            let right = self.beside(Self::power)?;
            left = binary(op, left, right, pos);
        }
    }

    /// A sign binds less tightly than `**` and more tightly than `*`.
    fn power(&mut self) -> PResult<Expr> {
        if let Some(sign @ ("-" | "+")) = self.symbol() {
            let op = if sign == "-" { UnaryOp::Minus } else { UnaryOp::Plus };
            let pos = self.bump();
            let operand = self.deeper(|p| p.power())?;
            return Ok(Expr { kind: ExprKind::Unary { op, operand: Box::new(operand) }, pos });
        }
        let base = self.primary()?;
        let base = self.at_time_zone(base)?;
        if self.at_symbol("**") {
            let pos = self.bump();
            let exponent = self.deeper(|p| p.power())?;
            return Ok(binary(BinaryOp::Power, base, exponent, pos));
        }
        Ok(base)
    }

    /// AT LOCAL or AT TIME ZONE after a timestamp.
    fn at_time_zone(&mut self, mut expr: Expr) -> PResult<Expr> {
        while self.at_word("AT") && (self.word_at(1, "LOCAL") || (self.word_at(1, "TIME") && self.word_at(2, "ZONE"))) {
            self.link()?;
            let pos = expr.pos;
            self.bump();
            let zone = if self.eat_word("LOCAL") {
                None
            } else {
                self.bump();
                self.bump();
                Some(Box::new(self.beside(Self::primary)?))
            };
            expr = Expr { kind: ExprKind::AtTimeZone { operand: Box::new(expr), zone }, pos };
        }
        Ok(expr)
    }

    fn primary(&mut self) -> PResult<Expr> {
        let pos = self.pos();
        let expr = |kind| Ok(Expr { kind, pos });
        if let Some(text) = self.take_number() {
            return expr(ExprKind::Number(text));
        }
        if let Some(text) = self.take_string() {
            return expr(ExprKind::String(text));
        }
        if let Some(name) = self.take_bind() {
            let field = if self.at_symbol(".") {
                self.bump();
                Some(self.any_ident()?)
            } else {
                None
            };
            let bind = Expr { kind: ExprKind::Bind { name, field }, pos };
            return self.attributes(bind);
        }
        if let Some(name) = self.take_inquiry() {
            return expr(ExprKind::Inquiry(name));
        }
        if self.at_view() {
            return Ok(Expr { kind: ExprKind::Name(self.view()?), pos });
        }
        if self.at_symbol("(") {
            self.bump();
            if self.at_word("SELECT") {
                return Err(self.error_at(405, &[], self.pos()));
            }
            let inner = self.expr()?;
            self.expect_symbol(")")?;
            return Ok(inner);
        }
        if let Some(word) = self.unquoted_word() {
            if let Some(found) = self.keyword_operand(&word, pos)? {
                return Ok(found);
            }
            if is_reserved(&word) {
                return Err(self.unexpected(super::EXPRESSION_START));
            }
        }
        if !self.at_name() {
            return Err(self.unexpected(super::EXPRESSION_START));
        }
        let name = self.name()?;
        self.attributes(Expr { kind: ExprKind::Name(name), pos })
    }

    /// Literals and functions with special syntax.
    fn keyword_operand(&mut self, word: &str, pos: Pos) -> PResult<Option<Expr>> {
        let kind = match word {
            "NULL" => {
                self.bump();
                ExprKind::Null
            }
            "TRUE" | "FALSE" => {
                self.bump();
                ExprKind::Boolean(word == "TRUE")
            }
            "DATE" if self.string_at(1) => {
                self.bump();
                ExprKind::Date(self.take_string().unwrap_or_default())
            }
            "TIMESTAMP" if self.string_at(1) => {
                self.bump();
                ExprKind::Timestamp(self.take_string().unwrap_or_default())
            }
            "INTERVAL" if self.string_at(1) => {
                self.bump();
                let text = self.take_string().unwrap_or_default();
                ExprKind::Interval { text, qualifier: self.interval_qualifier()? }
            }
            "CASE" => self.case_expr()?,
            "CAST" if self.symbol_at(1, "(") => {
                self.bump();
                self.bump();
                let operand = Box::new(self.expr()?);
                self.expect_word("AS")?;
                let ty = self.type_ref()?;
                self.expect_symbol(")")?;
                ExprKind::Cast { operand, ty }
            }
            "TREAT" if self.symbol_at(1, "(") => self.treat()?,
            "EXTRACT" if self.symbol_at(1, "(") && self.word_at(3, "FROM") => {
                self.bump();
                self.bump();
                let field = self.any_ident()?.name;
                self.expect_word("FROM")?;
                let operand = Box::new(self.expr()?);
                self.expect_symbol(")")?;
                ExprKind::Extract { field, operand }
            }
            "TRIM" if self.symbol_at(1, "(") => self.trim_expr()?,
            "JSON_VALUE" | "JSON_QUERY" | "JSON_OBJECT" | "JSON_ARRAY" | "JSON_SERIALIZE" | "JSON_MERGEPATCH"
                if self.symbol_at(1, "(") && pos as usize >= SQL_CALL_PREFIX.len() =>
            {
                self.sql_call()?
            }
            "NEW" if self.name_at(1) => {
                self.bump();
                ExprKind::New(self.name()?)
            }
            _ => return Ok(None),
        };
        Ok(Some(Expr { kind, pos }))
    }

    fn case_expr(&mut self) -> PResult<ExprKind> {
        self.bump();
        let operand = if self.at_word("WHEN") { None } else { Some(Box::new(self.expr()?)) };
        let mut branches = Vec::new();
        while self.eat_word("WHEN") {
            let when = self.expr()?;
            self.expect_word("THEN")?;
            branches.push((when, self.expr()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected(&["when"]));
        }
        let otherwise = if self.eat_word("ELSE") { Some(Box::new(self.expr()?)) } else { None };
        self.expect_word("END")?;
        Ok(ExprKind::Case { operand, branches, otherwise })
    }

    fn trim_expr(&mut self) -> PResult<ExprKind> {
        self.bump();
        self.bump();
        let mode = if self.eat_word("LEADING") {
            Some(TrimMode::Leading)
        } else if self.eat_word("TRAILING") {
            Some(TrimMode::Trailing)
        } else if self.eat_word("BOTH") {
            Some(TrimMode::Both)
        } else {
            None
        };
        let (set, operand) = if mode.is_some() && self.eat_word("FROM") {
            (None, self.expr()?)
        } else {
            let first = self.expr()?;
            if self.eat_word("FROM") { (Some(Box::new(first)), self.expr()?) } else { (None, first) }
        };
        self.expect_symbol(")")?;
        Ok(ExprKind::Trim { mode: mode.unwrap_or(TrimMode::Both), set, operand: Box::new(operand) })
    }

    /// `DAY(3) TO SECOND(2)` as one string.
    pub(super) fn interval_qualifier(&mut self) -> PResult<String> {
        let mut text = self.any_ident()?.name;
        let size = |p: &mut Self, text: &mut String| -> PResult<()> {
            if p.at_symbol("(") {
                p.bump();
                let sizes = p.comma_list(|p| p.number_literal())?;
                p.expect_symbol(")")?;
                text.push('(');
                text.push_str(&sizes.join(","));
                text.push(')');
            }
            Ok(())
        };
        size(self, &mut text)?;
        if self.eat_word("TO") {
            text.push_str(" TO ");
            text.push_str(&self.any_ident()?.name);
            size(self, &mut text)?;
        }
        Ok(text)
    }

    /// `%FOUND` and other attributes after a cursor's name.
    fn attributes(&mut self, base: Expr) -> PResult<Expr> {
        if !self.at_symbol("%") {
            return Ok(base);
        }
        let pos = self.bump();
        let word = self.any_ident()?;
        let attribute = match word.name.as_str() {
            "FOUND" => CursorAttribute::Found,
            "NOTFOUND" => CursorAttribute::NotFound,
            "ISOPEN" => CursorAttribute::IsOpen,
            "ROWCOUNT" => CursorAttribute::RowCount,
            "BULK_ROWCOUNT" => {
                self.expect_symbol("(")?;
                let index = Box::new(self.expr()?);
                self.expect_symbol(")")?;
                return Ok(Expr { kind: ExprKind::BulkRowCount(index), pos });
            }
            "BULK_EXCEPTIONS" => return Ok(Expr { kind: self.bulk_exceptions()?, pos }),
            other => return Err(self.error_at(208, &[other], word.pos)),
        };
        Ok(Expr { kind: ExprKind::CursorAttribute { cursor: Box::new(base.clone()), attribute }, pos: base.pos })
    }

    /// The rest of `SQL%BULK_EXCEPTIONS`: `.COUNT`, or an index and a field.
    fn bulk_exceptions(&mut self) -> PResult<ExprKind> {
        let index = if self.at_symbol("(") {
            self.bump();
            let index = self.expr()?;
            self.expect_symbol(")")?;
            Some(Box::new(index))
        } else {
            None
        };
        self.expect_symbol(".")?;
        let field = self.any_ident()?;
        match (index, field.name.as_str()) {
            (None, "COUNT") => Ok(ExprKind::BulkErrors),
            (Some(index), "ERROR_INDEX") => Ok(ExprKind::BulkError { index, code: false }),
            (Some(index), "ERROR_CODE") => Ok(ExprKind::BulkError { index, code: true }),
            (_, other) => Err(self.error_at(302, &[other], field.pos)),
        }
    }

    /// A name with its fields, arguments and subscripts.
    pub(super) fn name(&mut self) -> PResult<Name> {
        let first = self.ident()?;
        let mut name = Name { first, parts: Vec::new() };
        self.name_parts(&mut name)?;
        Ok(name)
    }

    /// Whether `(name AS type)` begins here: a method of a supertype follows.
    pub(super) fn at_view(&self) -> bool {
        self.at_symbol("(") && self.name_at(1) && self.word_at(2, "AS")
    }

    /// `(name AS type)` and the parts after it.
    pub(super) fn view(&mut self) -> PResult<Name> {
        self.bump();
        let first = self.ident()?;
        self.bump();
        let ty = self.type_ref()?;
        self.expect_symbol(")")?;
        let mut name = Name { first, parts: vec![Part::As(ty)] };
        self.name_parts(&mut name)?;
        Ok(name)
    }

    /// `TREAT(operand AS type)` and the parts after it.
    pub(super) fn treat(&mut self) -> PResult<ExprKind> {
        let first = self.ident()?;
        self.expect_symbol("(")?;
        let operand = Box::new(self.expr()?);
        self.expect_word("AS")?;
        let ty = self.type_ref()?;
        self.expect_symbol(")")?;
        let mut name = Name { first, parts: Vec::new() };
        self.name_parts(&mut name)?;
        Ok(ExprKind::Treat { operand, ty, parts: name.parts })
    }

    /// `OF [TYPE] ([ONLY] type, …)`.
    fn types_of_test(&mut self) -> PResult<Vec<(bool, TypeRef)>> {
        self.bump();
        self.eat_word("TYPE");
        self.expect_symbol("(")?;
        let list = self.comma_list(|p| {
            let only = p.at_word("ONLY") && p.name_at(1);
            if only {
                p.bump();
            }
            Ok((only, p.type_ref()?))
        })?;
        self.expect_symbol(")")?;
        Ok(list)
    }

    fn name_parts(&mut self, name: &mut Name) -> PResult<()> {
        loop {
            if self.at_symbol(".") {
                self.bump();
                name.parts.push(Part::Field(self.any_ident()?));
            } else if self.at_symbol("(") {
                self.bump();
                name.parts.push(Part::Call(self.arguments()?));
            } else {
                return Ok(());
            }
        }
    }

    /// Arguments with the closing bracket; the opening one has been taken.
    pub(super) fn arguments(&mut self) -> PResult<Vec<Argument>> {
        if self.at_symbol(")") {
            self.bump();
            return Ok(Vec::new());
        }
        let list = self.comma_list(|p| p.argument())?;
        self.expect_symbol(")")?;
        Ok(list)
    }

    fn argument(&mut self) -> PResult<Argument> {
        if self.name_at(0) && self.symbol_at(1, "=>") {
            let name = Some(self.any_ident()?);
            self.bump();
            return Ok(Argument { name, value: self.expr()? });
        }
        let first = self.expr()?;
        if !self.at_symbol("=>") && self.token(0).kind != TokenKind::Bar {
            return Ok(Argument { name: None, value: first });
        }
        let pos = first.pos;
        let mut choices = vec![first];
        while self.token(0).kind == TokenKind::Bar {
            self.skip();
            choices.push(self.expr()?);
        }
        self.expect_symbol("=>")?;
        let value = Box::new(self.expr()?);
        Ok(Argument { name: None, value: Expr { kind: ExprKind::Association { choices, value }, pos } })
    }

    /// A target of `:=` or `INTO`: a name or a bind variable.
    pub(super) fn target(&mut self) -> PResult<Expr> {
        let pos = self.pos();
        if let Some(name) = self.take_bind() {
            let field = if self.at_symbol(".") {
                self.bump();
                Some(self.any_ident()?)
            } else {
                None
            };
            return Ok(Expr { kind: ExprKind::Bind { name, field }, pos });
        }
        Ok(Expr { kind: ExprKind::Name(self.name()?), pos })
    }
}

fn binary(op: BinaryOp, left: Expr, right: Expr, pos: Pos) -> Expr {
    Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, pos }
}
