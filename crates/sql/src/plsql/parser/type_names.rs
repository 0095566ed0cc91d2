//! Types in declarations.

use super::reserved::is_reserved;
use super::{PResult, Parser};
use crate::plsql::ast::*;

impl Parser<'_> {
    /// A type in a declaration.
    pub(super) fn type_ref(&mut self) -> PResult<TypeRef> {
        let pos = self.pos();
        if !self.at_name() || self.unquoted_word().is_some_and(|w| is_reserved(&w)) {
            return Err(self.unexpected(super::TYPE_START));
        }
        if self.at_word("REF") && self.word_at(1, "CURSOR") {
            self.bump();
            self.bump();
            return Ok(TypeRef { kind: TypeKind::RefCursor, pos });
        }
        if self.at_word("REF") && self.name_at(1) {
            return Err(self.error_at(707, &["REF"], pos));
        }
        let mut path = self.path()?;
        if self.at_symbol("%") {
            self.bump();
            let word = self.any_ident()?;
            let kind = match word.name.as_str() {
                "TYPE" => TypeKind::TypeOf(path),
                "ROWTYPE" => TypeKind::RowTypeOf(path),
                _ => return Err(self.error_at(208, &[&word.name], word.pos)),
            };
            return Ok(TypeRef { kind, pos });
        }
        if matches!(&path[..], [owner, ty] if owner.name == "SYS" && ty.name == "XMLTYPE") {
            path.remove(0);
        }
        let mut sizes = Vec::new();
        let mut unit = None;
        if let [only] = path.as_mut_slice()
            && !only.quoted
        {
            self.builtin_type_tail(&mut only.name, &mut sizes, &mut unit)?;
            if only.name == "SYS_REFCURSOR" {
                return Ok(TypeRef { kind: TypeKind::RefCursor, pos });
            }
        }
        Ok(TypeRef { kind: TypeKind::Named { path, sizes, unit }, pos })
    }

    /// The words and sizes after the first word of a built-in type.
    fn builtin_type_tail(
        &mut self,
        name: &mut String,
        sizes: &mut Vec<i64>,
        unit: &mut Option<LengthUnit>,
    ) -> PResult<()> {
        let second: &[&str] = match name.as_str() {
            "DOUBLE" => &["PRECISION"],
            "LONG" => &["RAW"],
            "CHARACTER" | "CHAR" | "NCHAR" => &["VARYING", "LARGE"],
            "NATIONAL" => &["CHARACTER", "CHAR"],
            _ => &[],
        };
        for word in second {
            if self.eat_word(word) {
                name.push(' ');
                name.push_str(word);
                if *word == "LARGE" {
                    self.expect_word("OBJECT")?;
                    name.push_str(" OBJECT");
                }
                if name.starts_with("NATIONAL") && self.eat_word("VARYING") {
                    name.push_str(" VARYING");
                }
                break;
            }
        }
        if name == "INTERVAL" {
            let from = self.any_ident()?.name;
            self.sizes(sizes, unit)?;
            self.expect_word("TO")?;
            let to = self.any_ident()?.name;
            *name = format!("INTERVAL {from} TO {to}");
        }
        self.sizes(sizes, unit)?;
        if (name == "TIMESTAMP" || name == "TIME") && self.eat_word("WITH") {
            name.push_str(" WITH");
            if self.eat_word("LOCAL") {
                name.push_str(" LOCAL");
            }
            self.expect_word("TIME")?;
            self.expect_word("ZONE")?;
            name.push_str(" TIME ZONE");
        }
        if self.at_word("CHARACTER") && self.word_at(1, "SET") {
            self.bump();
            self.bump();
            self.any_ident()?;
            if self.at_symbol("%") {
                self.bump();
                self.any_ident()?;
            }
        }
        Ok(())
    }

    fn sizes(&mut self, sizes: &mut Vec<i64>, unit: &mut Option<LengthUnit>) -> PResult<()> {
        if !self.at_symbol("(") {
            return Ok(());
        }
        self.bump();
        loop {
            let negative = self.at_symbol("-");
            if negative {
                self.bump();
            }
            if self.at_symbol("*") {
                self.bump();
                sizes.push(38);
            } else {
                let pos = self.pos();
                let text = self.number_literal()?;
                let value: i64 = text.parse().map_err(|_| self.error_at(491, &[], pos))?;
                sizes.push(if negative { -value } else { value });
            }
            if self.eat_word("BYTE") {
                *unit = Some(LengthUnit::Byte);
            } else if self.eat_word("CHAR") {
                *unit = Some(LengthUnit::Char);
            }
            if !self.at_symbol(",") {
                break;
            }
            self.bump();
        }
        self.expect_symbol(")")
    }
}
