//! Whole units: anonymous blocks, `CREATE` statements and stored sources.

use super::{PResult, Parser};
use crate::plsql::ast::*;
use types::Ora;

/// Parses an anonymous block; as in Oracle, a trailing `;` is required.
pub fn parse_block(text: &str) -> Result<Block, Ora> {
    let mut p = Parser::new(text);
    let labels = p.leading_labels()?;
    if !p.at_word("BEGIN") && !p.at_word("DECLARE") {
        return Err(p.unexpected(&["begin", "case", "declare", "exit", "for", "goto", "if", "loop", "mod", "null"]));
    }
    let block = p.block(labels)?;
    p.expect_semicolon()?;
    p.expect_end()?;
    Ok(block)
}

/// Parses the head of `CREATE [OR REPLACE] [EDITIONABLE] <unit>`, up to the unit's name.
///
/// # Errors
/// PLS-00103 or ORA-04050 for a malformed head; the rest of the text is not examined.
pub fn parse_create_header(text: &str) -> Result<CreateHeader, Ora> {
    let mut p = Parser::new(text);
    p.expect_word("CREATE")?;
    let or_replace = p.eat_word("OR");
    if or_replace {
        p.expect_word("REPLACE")?;
    }
    if !p.eat_word("EDITIONABLE") {
        p.eat_word("NONEDITIONABLE");
    }
    let source_at = p.pos();
    let (kind, path) = p.unit_name()?;
    let mut path = path;
    let name = path.pop().expect("a path has a last part");
    Ok(CreateHeader { or_replace, kind, schema: path.pop(), name, source_at })
}

/// Parses the source of a stored unit: the text after `CREATE OR REPLACE`.
pub fn parse_unit(source: &str) -> Result<Unit, Ora> {
    let mut p = Parser::new(source);
    let unit = p.unit()?;
    while p.at_symbol("/") {
        p.skip();
    }
    p.expect_end()?;
    Ok(unit)
}

/// Parses a single expression, for `EXEC :x := …`, for defaults kept as text, and for tests.
pub fn parse_expression(text: &str) -> Result<Expr, Ora> {
    let mut p = Parser::new(text);
    let expr = p.expr()?;
    p.expect_end()?;
    Ok(expr)
}

/// Parses the name at a byte offset, with its fields, subscripts and arguments; returns its end too.
pub fn parse_name_at(text: &str, at: Pos) -> Result<(Expr, Pos), Ora> {
    let mut p = Parser::new(text);
    while p.pos() < at && !p.at_end() {
        p.skip();
    }
    let pos = p.pos();
    let name = p.name()?;
    Ok((Expr { kind: ExprKind::Name(name), pos }, p.previous_end()))
}

impl Parser<'_> {
    fn expect_end(&mut self) -> PResult<()> {
        if !self.at_end() {
            return Err(self.unexpected(&["end-of-file"]));
        }
        Ok(())
    }

    pub(super) fn leading_labels(&mut self) -> PResult<Vec<Ident>> {
        let mut labels = Vec::new();
        while self.at_symbol("<<") {
            self.bump();
            labels.push(self.ident()?);
            self.expect_symbol(">>")?;
        }
        Ok(labels)
    }

    /// The kind of unit and its possibly qualified name.
    pub(super) fn unit_name(&mut self) -> PResult<(UnitKind, Path)> {
        let kind = match self.unquoted_word().as_deref() {
            Some("PROCEDURE") => UnitKind::Procedure,
            Some("FUNCTION") => UnitKind::Function,
            Some("PACKAGE") if self.word_at(1, "BODY") => UnitKind::PackageBody,
            Some("PACKAGE") => UnitKind::Package,
            Some("TRIGGER") => UnitKind::Trigger,
            Some("TYPE") if self.word_at(1, "BODY") => UnitKind::TypeBody,
            Some("TYPE") => UnitKind::Type,
            _ => return Err(self.unexpected(&["function", "package", "procedure", "trigger", "type"])),
        };
        self.bump();
        if matches!(kind, UnitKind::PackageBody | UnitKind::TypeBody) {
            self.bump();
        }
        let mut path = vec![self.ident()?];
        if self.at_symbol(".") {
            self.bump();
            path.push(self.any_ident()?);
        }
        Ok((kind, path))
    }

    fn unit(&mut self) -> PResult<Unit> {
        match self.unquoted_word().as_deref() {
            Some("PROCEDURE" | "FUNCTION") => {
                let (schema, mut subprogram) = self.subprogram_heading(true)?;
                self.subprogram_body(&mut subprogram)?;
                Ok(Unit::Subprogram { schema, subprogram })
            }
            Some("PACKAGE") if self.word_at(1, "BODY") => self.package_body(),
            Some("PACKAGE") => self.package(),
            Some("TRIGGER") => self.trigger(),
            Some("TYPE") if self.word_at(1, "BODY") => self.type_body(),
            Some("TYPE") => self.schema_type(),
            Some("BEGIN" | "DECLARE") => {
                let block = self.block(Vec::new())?;
                self.expect_semicolon()?;
                Ok(Unit::Block(block))
            }
            _ => Err(self.unexpected(&["function", "package", "procedure", "trigger", "type"])),
        }
    }

    pub(super) fn is_or_as(&mut self) -> PResult<()> {
        if !self.eat_word("IS") {
            self.expect_word_or("AS", &["is", "as", "authid"])?;
        }
        Ok(())
    }

    fn package(&mut self) -> PResult<Unit> {
        let (_, mut path) = self.unit_name()?;
        let name = path.pop().expect("a path has a last part");
        let mut authid = AuthId::default();
        let mut accessible_by = Vec::new();
        loop {
            if self.at_word("AUTHID") {
                authid = self.authid()?;
            } else if self.at_word("ACCESSIBLE") {
                accessible_by = self.accessors()?;
            } else {
                break;
            }
        }
        self.is_or_as()?;
        let declarations = self.declarations()?;
        self.unit_end(&name)?;
        Ok(Unit::Package(Package { schema: path.pop(), name, authid, accessible_by, declarations }))
    }

    fn package_body(&mut self) -> PResult<Unit> {
        let (_, mut path) = self.unit_name()?;
        let name = path.pop().expect("a path has a last part");
        self.is_or_as()?;
        let declarations = self.declarations()?;
        let initialisation = if self.at_word("BEGIN") {
            let body = self.body()?;
            self.unit_tail(&name)?;
            Some(body)
        } else {
            self.unit_end(&name)?;
            None
        };
        Ok(Unit::PackageBody(PackageBody { schema: path.pop(), name, declarations, initialisation }))
    }

    pub(super) fn unit_end(&mut self, name: &Ident) -> PResult<()> {
        self.expect_word_or("END", super::DECLARATION_OR_BEGIN)?;
        self.unit_tail(name)
    }

    fn unit_tail(&mut self, name: &Ident) -> PResult<()> {
        if self.at_name() {
            let word = self.any_ident()?;
            if word.name != name.name {
                return Err(self.end_mismatch(&word, name));
            }
        }
        self.expect_semicolon()
    }
}
