//! The functions of SQL/XML, which have clauses of their own inside the parentheses.

use super::Parser;
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

/// Most columns of XMLTABLE.
const COLUMNS_MAX: usize = 1000;

/// The functions that [`Parser::xml_call`] parses.
pub(super) fn has_clauses(name: &str) -> bool {
    matches!(
        name,
        "XMLELEMENT"
            | "XMLFOREST"
            | "XMLCOLATTVAL"
            | "XMLPARSE"
            | "XMLPI"
            | "XMLROOT"
            | "XMLSERIALIZE"
            | "XMLQUERY"
            | "XMLEXISTS"
            | "XMLCAST"
    )
}

/// The parser of a value, which the caller gives: the functions here would otherwise be in a circle with those of
/// expressions.
type ParseValue<P> = fn(&mut P) -> Result<Expr>;

impl Parser<'_> {
    /// The content of the parentheses of a function with clauses.
    pub(super) fn xml_call(&mut self, value: ParseValue<Self>, call: &mut Call) -> Result<()> {
        let mut clauses = Box::<XmlClauses>::default();
        match call.name.last() {
            "XMLELEMENT" => self.xml_element(value, call, &mut clauses)?,
            "XMLFOREST" | "XMLCOLATTVAL" => clauses.names = self.xml_values(value, call)?,
            "XMLPARSE" => {
                clauses.document = self.xml_kind();
                if clauses.document.is_none() {
                    return self.fail(909);
                }
                self.push_xml_value(value, call)?;
                clauses.wellformed = self.eat_word("WELLFORMED");
            }
            "XMLPI" => {
                self.xml_name(value, call, &mut clauses)?;
                if self.eat(TokenKind::Comma) {
                    self.push_xml_value(value, call)?;
                }
            }
            "XMLROOT" => self.xml_root(value, call, &mut clauses)?,
            "XMLSERIALIZE" => self.xml_serialize(value, call, &mut clauses)?,
            "XMLCAST" => {
                self.push_xml_value(value, call)?;
                self.expect_word("AS", 905)?;
                clauses.ty = Some(self.data_type()?);
            }
            name => {
                let is_query = name == "XMLQUERY";
                let pos = self.pos();
                clauses.query = Some(JsonPath { text: self.string(19102)?, pos });
                self.xml_passing(value, call, &mut clauses)?;
                if is_query {
                    self.expect_word("RETURNING", 905)?;
                    self.expect_word("CONTENT", 905)?;
                    self.eat_words(&["NULL", "ON", "EMPTY"]);
                }
            }
        }
        call.xml = Some(clauses);
        Ok(())
    }

    fn push_xml_value(&mut self, value: ParseValue<Self>, call: &mut Call) -> Result<()> {
        let value = value(self)?;
        call.args.push(Argument { name: None, value });
        Ok(())
    }

    /// DOCUMENT or CONTENT.
    fn xml_kind(&mut self) -> Option<bool> {
        let follows = !matches!(self.peek(1).kind, TokenKind::Comma | TokenKind::RightParen | TokenKind::Dot);
        if !follows || self.word_ahead(1, "AS") {
            return None;
        }
        self.eat_any(&["DOCUMENT", "CONTENT"]).map(|at| at == 0)
    }

    /// `[NAME] identifier` or `EVALNAME expression`.
    fn xml_name(&mut self, value: ParseValue<Self>, call: &mut Call, clauses: &mut XmlClauses) -> Result<()> {
        let follows = !matches!(self.peek(1).kind, TokenKind::Comma | TokenKind::RightParen);
        if follows && self.eat_word("EVALNAME") {
            return self.push_xml_value(value, call);
        }
        if follows {
            self.eat_word("NAME");
        }
        clauses.name = Some(self.any_word(904)?);
        Ok(())
    }

    fn xml_element(&mut self, value: ParseValue<Self>, call: &mut Call, clauses: &mut XmlClauses) -> Result<()> {
        if let Some(at) = self.eat_any(&["ENTITYESCAPING", "NOENTITYESCAPING"]) {
            clauses.escaping = Some(at == 0);
        }
        self.xml_name(value, call, clauses)?;
        if !self.eat(TokenKind::Comma) {
            return Ok(());
        }
        if self.at_word("XMLATTRIBUTES") && self.kind_ahead(1, TokenKind::LeftParen) {
            self.at += 2;
            self.eat_any(&["SCHEMACHECK", "NOSCHEMACHECK"]);
            if let Some(at) = self.eat_any(&["ENTITYESCAPING", "NOENTITYESCAPING"]) {
                clauses.escaping = Some(at == 0);
            }
            clauses.attributes = self.xml_values(value, call)?;
            self.right_paren()?;
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
        loop {
            self.push_xml_value(value, call)?;
            // Oracle accepts an alias of a content, which has no effect.
            if self.eat_word("AS") {
                self.any_word(904)?;
            }
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    /// Values with names: `value [AS name | AS EVALNAME expression]`.
    fn xml_values(&mut self, value: ParseValue<Self>, call: &mut Call) -> Result<Vec<XmlName>> {
        self.comma_list(|p| {
            let item = value(p)?;
            let as_word = p.eat_word("AS");
            let name = if as_word && p.at_word("EVALNAME") && !p.kind_ahead(1, TokenKind::Comma) {
                p.bump();
                let name = value(p)?;
                call.args.push(Argument { name: None, value: name });
                XmlName::Evaluated
            } else if as_word || matches!(p.kind(), TokenKind::Word | TokenKind::QuotedIdent) {
                XmlName::Written(p.any_word(904)?.name)
            } else {
                XmlName::Missing
            };
            call.args.push(Argument { name: None, value: item });
            Ok(name)
        })
    }

    /// `value, VERSION value | NO VALUE [, STANDALONE YES | NO | NO VALUE]`.
    fn xml_root(&mut self, value: ParseValue<Self>, call: &mut Call, clauses: &mut XmlClauses) -> Result<()> {
        self.push_xml_value(value, call)?;
        self.expect(TokenKind::Comma, 909)?;
        self.expect_word("VERSION", 905)?;
        if !self.eat_words(&["NO", "VALUE"]) {
            clauses.version = true;
            self.push_xml_value(value, call)?;
        }
        if self.eat(TokenKind::Comma) {
            self.expect_word("STANDALONE", 905)?;
            if !self.eat_words(&["NO", "VALUE"]) {
                clauses.standalone = match self.eat_any(&["YES", "NO"]) {
                    Some(at) => Some(at == 0),
                    None => return self.fail(905),
                };
            }
        }
        Ok(())
    }

    fn xml_serialize(&mut self, value: ParseValue<Self>, call: &mut Call, clauses: &mut XmlClauses) -> Result<()> {
        clauses.document = self.xml_kind();
        self.push_xml_value(value, call)?;
        if self.eat_word("AS") {
            clauses.ty = Some(self.data_type()?);
        }
        loop {
            if self.eat_any(&["ENCODING", "VERSION"]).is_some() {
                // Texts are in the character set of the database, whatever their declaration says.
                value(self)?;
            } else if self.eat_words(&["NO", "INDENT"]) {
                clauses.indent = Some(XmlIndent::No);
            } else if self.eat_word("INDENT") {
                let mut size = 2;
                if self.eat_word("SIZE") {
                    self.expect(TokenKind::Eq, 905)?;
                    let pos = self.pos();
                    let written = value(self)?;
                    size = match &written.kind {
                        ExprKind::Literal(Literal::Number(digits)) => digits.parse().ok().filter(|n| *n <= 12),
                        _ => None,
                    }
                    .ok_or_else(|| self.error_at(905, pos))?;
                }
                clauses.indent = Some(XmlIndent::Size(size));
            } else if self.eat_any(&["HIDE", "SHOW"]).is_some() {
                self.expect_word("DEFAULTS", 905)?;
            } else {
                return Ok(());
            }
        }
    }

    /// `[PASSING [BY VALUE] value [AS name], …]`.
    fn xml_passing(&mut self, value: ParseValue<Self>, call: &mut Call, clauses: &mut XmlClauses) -> Result<()> {
        if !self.eat_word("PASSING") {
            return Ok(());
        }
        self.eat_words(&["BY", "VALUE"]);
        self.eat_words(&["BY", "REF"]);
        loop {
            self.push_xml_value(value, call)?;
            let name = if self.eat_word("AS") { Some(self.any_word(904)?) } else { None };
            if name.is_none() && clauses.passing.iter().any(Option::is_none) {
                return self.fail(905);
            }
            clauses.passing.push(name);
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    /// `XMLTABLE ([XMLNAMESPACES (…),] expression [PASSING …] [COLUMNS …])`, from the parenthesis on.
    pub(super) fn xml_table(&mut self, value: ParseValue<Self>, call: &mut Call) -> Result<()> {
        let mut clauses = Box::<XmlClauses>::default();
        self.left_paren()?;
        if self.at_word("XMLNAMESPACES") && self.kind_ahead(1, TokenKind::LeftParen) {
            self.at += 2;
            clauses.namespaces = self.comma_list(|p| {
                if p.eat_word("DEFAULT") {
                    return Ok((String::new(), p.string(19102)?));
                }
                let name = p.string(19102)?;
                p.expect_word("AS", 905)?;
                let token = p.token();
                p.any_word(904)?;
                Ok((p.source(token).trim_matches('"').to_owned(), name))
            })?;
            self.right_paren()?;
            self.expect(TokenKind::Comma, 905)?;
        }
        self.push_xml_value(value, call)?;
        self.xml_passing(value, call, &mut clauses)?;
        if self.eat_words(&["RETURNING", "SEQUENCE"]) {
            self.eat_words(&["BY", "REF"]);
        }
        if self.eat_word("COLUMNS") {
            clauses.columns = self.comma_list(|p| p.xml_column(value))?;
            if clauses.columns.len() > COLUMNS_MAX {
                return Err(Ora::new(1792).at(self.pos().0));
            }
        }
        self.right_paren()?;
        call.xml = Some(clauses);
        Ok(())
    }

    fn xml_column(&mut self, value: ParseValue<Self>) -> Result<XmlColumn> {
        let name = self.any_word(904)?;
        if self.eat_words(&["FOR", "ORDINALITY"]) {
            return Ok(XmlColumn { name, kind: XmlColumnKind::Ordinality });
        }
        let pos = self.pos();
        let no_type =
            self.at_any(&["PATH", "DEFAULT"]) || matches!(self.kind(), TokenKind::Comma | TokenKind::RightParen);
        let ty = match no_type {
            true => DataTypeName { kind: TypeKind::XmlType, pos },
            false => self.data_type()?,
        };
        if self.at(TokenKind::LeftParen) && self.word_ahead(1, "SEQUENCE") {
            self.at += 2;
            self.right_paren()?;
            self.eat_words(&["BY", "REF"]);
        }
        let (mut path, mut default) = (None, None);
        loop {
            if self.eat_word("PATH") {
                let pos = self.pos();
                path = Some(JsonPath { text: self.string(19102)?, pos });
            } else if self.eat_word("DEFAULT") {
                let minus = self.eat(TokenKind::Minus);
                let pos = self.pos();
                let literal = value(self)?;
                default = match literal.kind {
                    ExprKind::Literal(literal) if !minus || matches!(literal, Literal::Number(_)) => {
                        Some((minus, literal))
                    }
                    _ => return Err(self.error_at(3001, pos)),
                };
            } else {
                return Ok(XmlColumn { name, kind: XmlColumnKind::Value { ty, path, default } });
            }
        }
    }
}
