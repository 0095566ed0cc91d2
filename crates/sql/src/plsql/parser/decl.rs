//! Declarations, types and subprograms.

use super::reserved::is_reserved;
use super::{PResult, Parser};
use crate::plsql::ast::*;

impl Parser<'_> {
    /// Declarations up to `BEGIN` or `END`.
    pub(super) fn declarations(&mut self) -> PResult<Vec<Declaration>> {
        let mut list = Vec::new();
        while !self.at_word("BEGIN") && !self.at_word("END") && !self.at_end() {
            list.push(self.declaration()?);
        }
        Ok(list)
    }

    pub(super) fn declaration(&mut self) -> PResult<Declaration> {
        match self.unquoted_word().as_deref() {
            Some("PRAGMA") => {
                let pragma = self.pragma()?;
                self.expect_semicolon()?;
                Ok(Declaration::Pragma(pragma))
            }
            Some("TYPE") if self.word_at(2, "IS") || self.word_at(2, "AS") => {
                self.bump();
                let name = self.ident()?;
                self.bump();
                let definition = self.type_definition()?;
                self.expect_semicolon()?;
                Ok(Declaration::Type { name, definition })
            }
            Some("SUBTYPE") if self.name_at(1) && self.word_at(2, "IS") => self.subtype(),
            Some("CURSOR") if self.name_at(1) => {
                let cursor = self.cursor_declaration()?;
                self.expect_semicolon()?;
                Ok(Declaration::Cursor(cursor))
            }
            Some("PROCEDURE" | "FUNCTION") => Ok(Declaration::Subprogram(self.subprogram()?)),
            Some(word) if is_reserved(word) => Err(self.unexpected(super::DECLARATION_OR_BEGIN)),
            _ if self.at_name() => self.variable_or_exception(),
            _ => Err(self.unexpected(super::DECLARATION_OR_BEGIN)),
        }
    }

    pub(super) fn pragma(&mut self) -> PResult<Pragma> {
        self.bump();
        let name = self.any_ident()?;
        match name.name.as_str() {
            "AUTONOMOUS_TRANSACTION" => Ok(Pragma::AutonomousTransaction(name.pos)),
            "SERIALLY_REUSABLE" => Ok(Pragma::SeriallyReusable),
            "EXCEPTION_INIT" => {
                self.expect_symbol("(")?;
                let exception = self.ident()?;
                self.expect_symbol(",")?;
                let negative = self.at_symbol("-");
                if negative || self.at_symbol("+") {
                    self.bump();
                }
                let pos = self.pos();
                let quoted = self.take_string();
                let text = match quoted {
                    Some(text) => text,
                    None => self.number_literal()?,
                };
                let code: i32 = text.trim().parse().map_err(|_| self.error_at(491, &[], pos))?;
                self.expect_symbol(")")?;
                Ok(Pragma::ExceptionInit { exception, code: if negative { -code } else { code } })
            }
            _ => {
                if self.at_symbol("(") {
                    self.bump();
                    self.arguments()?;
                }
                Ok(Pragma::Other(name))
            }
        }
    }

    fn subtype(&mut self) -> PResult<Declaration> {
        self.bump();
        let name = self.ident()?;
        self.bump();
        let base = self.type_ref()?;
        let mut range = None;
        if self.eat_word("RANGE") {
            let low = self.expr()?;
            self.expect_symbol("..")?;
            range = Some((low, self.expr()?));
        }
        let not_null = self.not_null()?;
        self.expect_semicolon()?;
        Ok(Declaration::Subtype { name, base, not_null, range })
    }

    fn not_null(&mut self) -> PResult<bool> {
        if self.eat_word("NOT") {
            self.expect_word("NULL")?;
            return Ok(true);
        }
        self.eat_word("NULL");
        Ok(false)
    }

    pub(super) fn type_definition(&mut self) -> PResult<TypeDefinition> {
        if self.eat_word("RECORD") {
            self.expect_symbol("(")?;
            let fields = self.comma_list(|p| p.field())?;
            self.expect_symbol(")")?;
            return Ok(TypeDefinition::Record(fields));
        }
        if self.eat_word("TABLE") {
            self.expect_word("OF")?;
            let element = self.type_ref()?;
            let not_null = self.not_null()?;
            if self.eat_word("INDEX") {
                self.expect_word("BY")?;
                let index = self.type_ref()?;
                return Ok(TypeDefinition::Associative { element, not_null, index });
            }
            return Ok(TypeDefinition::NestedTable { element, not_null });
        }
        if self.at_word("VARRAY") || self.at_word("VARYING") {
            if self.eat_word("VARYING") {
                self.expect_word("ARRAY")?;
            } else {
                self.bump();
            }
            self.expect_symbol("(")?;
            let at = self.pos();
            let limit = self.number_literal()?.parse().map_err(|_| self.error_at(491, &[], at))?;
            self.expect_symbol(")")?;
            self.expect_word("OF")?;
            let element = self.type_ref()?;
            let not_null = self.not_null()?;
            return Ok(TypeDefinition::Varray { limit, element, not_null });
        }
        if self.eat_word("REF") {
            self.expect_word("CURSOR")?;
            let returns = if self.eat_word("RETURN") { Some(self.type_ref()?) } else { None };
            return Ok(TypeDefinition::RefCursor { returns });
        }
        Err(self.unexpected(&["(", "array", "limited", "new", "private", "range", "record", "VARRAY", "ref", "table"]))
    }

    fn field(&mut self) -> PResult<Variable> {
        let name = self.ident()?;
        let ty = self.type_ref()?;
        let not_null = self.not_null()?;
        let default = self.default_value()?;
        Ok(Variable { name, ty, constant: false, not_null, default })
    }

    fn default_value(&mut self) -> PResult<Option<Expr>> {
        if self.at_symbol(":=") || self.at_word("DEFAULT") {
            self.bump();
            return Ok(Some(self.expr()?));
        }
        Ok(None)
    }

    fn variable_or_exception(&mut self) -> PResult<Declaration> {
        let name = self.ident()?;
        if self.at_word("EXCEPTION") {
            self.bump();
            self.expect_semicolon()?;
            return Ok(Declaration::Exception(name));
        }
        if self.at_symbol(":=") || self.at_symbol(";") {
            return Err(self.unexpected(super::TYPE_START));
        }
        let constant = self.eat_word("CONSTANT");
        let ty = self.type_ref()?;
        let not_null = self.not_null()?;
        let default = self.default_value()?;
        if !self.at_symbol(";") {
            return Err(self.unexpected(&[":=", "(", ";", "not", "null", "default", "character"]));
        }
        self.bump();
        Ok(Declaration::Variable(Variable { name, ty, constant, not_null, default }))
    }

    fn cursor_declaration(&mut self) -> PResult<CursorDeclaration> {
        self.bump();
        let name = self.ident()?;
        let parameters = self.parameters()?;
        let returns = if self.eat_word("RETURN") { Some(self.type_ref()?) } else { None };
        let query = if self.eat_word("IS") || self.eat_word("AS") {
            if self.at_symbol("(") {
                self.bump();
                let query = self.sql_text()?;
                self.expect_symbol(")")?;
                Some(query)
            } else {
                Some(self.sql_text()?)
            }
        } else {
            None
        };
        Ok(CursorDeclaration { name, parameters, returns, query })
    }

    pub(super) fn parameters(&mut self) -> PResult<Vec<Parameter>> {
        if !self.at_symbol("(") {
            return Ok(Vec::new());
        }
        self.bump();
        let list = self.comma_list(|p| p.parameter())?;
        self.expect_symbol(")")?;
        Ok(list)
    }

    fn parameter(&mut self) -> PResult<Parameter> {
        let name = self.ident()?;
        let mode = if self.eat_word("IN") {
            if self.eat_word("OUT") { Mode::InOut } else { Mode::In }
        } else if self.eat_word("OUT") {
            Mode::Out
        } else {
            Mode::In
        };
        let nocopy = self.eat_word("NOCOPY");
        let ty = self.type_ref()?;
        let default = self.default_value()?;
        Ok(Parameter { name, mode, nocopy, ty, default })
    }

    /// A procedure or function: declaration or definition, with its `;`.
    pub(super) fn subprogram(&mut self) -> PResult<Subprogram> {
        let (_, mut subprogram) = self.subprogram_heading(false)?;
        if self.at_symbol(";") {
            self.bump();
            return Ok(subprogram);
        }
        self.deeper(|p| p.subprogram_body(&mut subprogram))?;
        Ok(subprogram)
    }

    /// `PROCEDURE name (…)` or `FUNCTION name (…) RETURN type` with attributes; the name may carry a schema.
    pub(super) fn subprogram_heading(&mut self, stored: bool) -> PResult<(Option<Ident>, Subprogram)> {
        let pos = self.pos();
        let function = self.at_word("FUNCTION");
        self.bump();
        let mut schema = None;
        let mut name = self.ident()?;
        if stored && self.at_symbol(".") {
            self.bump();
            schema = Some(name);
            name = self.any_ident()?;
        }
        if stored && self.eat_word("SHARING") {
            self.bump();
            self.any_ident()?;
        }
        let parameters = self.parameters()?;
        let returns = if function {
            self.expect_word_or("RETURN", &["(", "return", "compress", "compiled", "wrapped"])?;
            Some(self.type_ref()?)
        } else {
            None
        };
        let attributes = self.attributes_of_subprogram()?;
        Ok((schema, Subprogram { name, parameters, returns, attributes, body: None, pos }))
    }

    fn attributes_of_subprogram(&mut self) -> PResult<SubprogramAttributes> {
        let mut attributes = SubprogramAttributes::default();
        loop {
            let pos = self.pos();
            if self.eat_word("DETERMINISTIC") {
                attributes.deterministic = true;
            } else if self.at_word("AUTHID") {
                attributes.authid = self.authid()?;
            } else if self.eat_word("PIPELINED") {
                attributes.pipelined = Some(pos);
            } else if self.eat_word("PARALLEL_ENABLE") {
                attributes.parallel_enable = true;
                if self.at_symbol("(") {
                    self.skip_brackets();
                }
            } else if self.eat_word("RESULT_CACHE") {
                let mut cache = ResultCache::default();
                if self.eat_word("RELIES_ON") {
                    self.expect_symbol("(")?;
                    cache.relies_on = self.comma_list(|p| p.path())?;
                    self.expect_symbol(")")?;
                }
                attributes.result_cache = Some(cache);
            } else if self.at_word("ACCESSIBLE") && self.word_at(1, "BY") {
                attributes.accessible_by = self.accessors()?;
            } else {
                return Ok(attributes);
            }
        }
    }

    /// `ACCESSIBLE BY ([kind] unit, …)`
    pub(super) fn accessors(&mut self) -> PResult<Vec<Accessor>> {
        const KINDS: [(&str, UnitKind); 5] = [
            ("FUNCTION", UnitKind::Function),
            ("PROCEDURE", UnitKind::Procedure),
            ("PACKAGE", UnitKind::Package),
            ("TRIGGER", UnitKind::Trigger),
            ("TYPE", UnitKind::Type),
        ];
        self.bump();
        self.expect_word("BY")?;
        self.expect_symbol("(")?;
        let list = self.comma_list(|p| {
            let kind = KINDS.iter().find(|(word, _)| p.at_word(word) && p.name_at(1)).map(|(_, kind)| *kind);
            if kind.is_some() {
                p.skip();
            }
            Ok(Accessor { kind, path: p.path()? })
        })?;
        self.expect_symbol(")")?;
        Ok(list)
    }

    pub(super) fn authid(&mut self) -> PResult<AuthId> {
        self.bump();
        if self.eat_word("CURRENT_USER") {
            Ok(AuthId::CurrentUser)
        } else {
            self.expect_word_or("DEFINER", &["current_user", "definer"])?;
            Ok(AuthId::Definer)
        }
    }

    pub(super) fn subprogram_body(&mut self, subprogram: &mut Subprogram) -> PResult<()> {
        if !self.eat_word("IS") && !self.eat_word("AS") {
            let expected: &[&str] = if subprogram.returns.is_some() {
                &[";", "is", "authid", "as", "cluster", "order", "using", "external", "deterministic", "result_cache"]
            } else {
                &[
                    "(", ";", "is", "with", "default", "authid", "as", "cluster", "compress", "order", "using",
                    "external",
                ]
            };
            return Err(self.unexpected(expected));
        }
        if self.at_word("LANGUAGE") || self.at_word("EXTERNAL") {
            return Err(self.error_at(707, &["external subprograms"], self.pos()));
        }
        self.eat_word("DECLARE");
        let declarations = self.declarations()?;
        let body = self.body()?;
        if self.at_name() {
            let word = self.any_ident()?;
            if word.name != subprogram.name.name {
                return Err(self.end_mismatch(&word, &subprogram.name));
            }
        }
        self.expect_semicolon()?;
        subprogram.body = Some(Box::new(SubprogramBody { declarations, body }));
        Ok(())
    }
}
