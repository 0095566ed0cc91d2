//! Conditions: comparisons, IN, LIKE, BETWEEN, IS and others.

use super::expr::{Paren, bind};
use super::{IN_LIST_MAX, Parser};
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::{FloatTest, Result};

const POSTFIX_WORDS: &[&str] = &["IN", "LIKE", "LIKEC", "LIKE2", "LIKE4", "BETWEEN", "MEMBER", "SUBMULTISET"];

impl Parser<'_> {
    /// A condition: ORA-00936 if there is nothing, ORA-00920 if it is a value.
    pub(crate) fn condition(&mut self) -> Result<Expr> {
        let expr = self.climb(bind::OR)?;
        if expr.is_condition() { Ok(expr) } else { self.fail(920) }
    }

    /// The right side of `left op`, after the operator.
    pub(super) fn comparison(&mut self, left: Expr, op: BinaryOp, pos: Pos) -> Result<Expr> {
        let left = Box::new(left);
        if self.kind_ahead(1, TokenKind::LeftParen)
            && let Some(i) = self.eat_any(&["ALL", "ANY", "SOME"])
        {
            let quantifier = if i == 0 { Quantifier::All } else { Quantifier::Any };
            let right = self.in_source()?;
            return Ok(Expr::new(ExprKind::Quantified { op, quantifier, left, right }, pos));
        }
        let right = Box::new(self.value_or_row()?);
        Ok(Expr::new(ExprKind::Binary { op, left, right }, pos))
    }

    /// Whether a postfix condition follows an operand.
    pub(super) fn at_predicate(&self) -> bool {
        self.at(TokenKind::Word)
            && (self.at_word("IS")
                || self.at_any(POSTFIX_WORDS)
                || (self.at_word("NOT") && POSTFIX_WORDS.iter().any(|word| self.word_ahead(1, word))))
    }

    /// One postfix condition on `left`.
    pub(super) fn predicate(&mut self, left: Expr) -> Result<Expr> {
        if left.is_condition() && !matches!(left.kind, ExprKind::Call(_)) {
            return self.fail(933);
        }
        let pos = self.pos();
        let expr = Box::new(left);
        if self.eat_word("IS") {
            let negated = self.eat_word("NOT");
            let test = self.is_test()?;
            return Ok(Expr::new(ExprKind::Is { expr, test, negated }, pos));
        }
        let negated = self.eat_word("NOT");
        let word = POSTFIX_WORDS[self.eat_any(POSTFIX_WORDS).unwrap_or(0)];
        let kind = match word {
            "IN" => ExprKind::In { expr, source: self.in_source()?, negated },
            "BETWEEN" => {
                let low = Box::new(self.value_or_row()?);
                self.expect_word("AND", 905)?;
                let high = Box::new(self.value_or_row()?);
                ExprKind::Between { expr, low, high, negated }
            }
            "MEMBER" | "SUBMULTISET" => {
                self.eat_word("OF");
                let of = Box::new(self.value()?);
                ExprKind::Member { expr, of, submultiset: word == "SUBMULTISET", negated }
            }
            _ => {
                let kind = match word {
                    "LIKEC" => LikeKind::LikeC,
                    "LIKE2" => LikeKind::Like2,
                    "LIKE4" => LikeKind::Like4,
                    _ => LikeKind::Like,
                };
                let pattern = Box::new(self.value()?);
                let escape = if self.eat_word("ESCAPE") { Some(Box::new(self.value()?)) } else { None };
                ExprKind::Like { kind, expr, pattern, escape, negated }
            }
        };
        Ok(Expr::new(kind, pos))
    }

    fn is_test(&mut self) -> Result<IsTest> {
        const WORDS: &[&str] = &["NULL", "NAN", "INFINITE", "EMPTY", "DANGLING", "JSON", "OF", "A"];
        Ok(match self.eat_any(WORDS).map(|i| WORDS[i]) {
            Some("NULL") => IsTest::Null,
            Some("NAN") => IsTest::Float(FloatTest::Nan),
            Some("INFINITE") => IsTest::Float(FloatTest::Infinite),
            Some("EMPTY") => IsTest::Empty,
            Some("DANGLING") => IsTest::Dangling,
            Some("JSON") => IsTest::Json(self.json_test()?),
            Some("OF") => {
                self.eat_word("TYPE");
                self.left_paren()?;
                let types = self.comma_list(|p| {
                    let only = p.at_word("ONLY") && p.kind_ahead(1, TokenKind::Word);
                    if only {
                        p.bump();
                    }
                    Ok((only, p.name(904)?))
                })?;
                self.right_paren()?;
                IsTest::OfType(types)
            }
            Some("A") if self.eat_word("SET") => IsTest::ASet,
            _ => return self.fail(908),
        })
    }

    /// The right side of IN, ANY and ALL.
    fn in_source(&mut self) -> Result<InSource> {
        if !self.at(TokenKind::LeftParen) {
            return Ok(InSource::Expr(Box::new(self.climb(bind::UNARY)?)));
        }
        let list = match self.parens()? {
            Paren::Query(query) => return Ok(InSource::Query(query)),
            Paren::Exprs(list) => list,
        };
        if let Some(condition) = list.iter().find(|expr| expr.is_condition()) {
            return Err(self.error_at(907, condition.pos));
        }
        // A list of rows has no length limit.
        if let Some(over) = list.get(IN_LIST_MAX).filter(|expr| !matches!(expr.kind, ExprKind::Row(_))) {
            return Err(self.error_at(1795, over.pos));
        }
        Ok(InSource::List(list))
    }
}
