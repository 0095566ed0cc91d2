//! Statements: dispatch on the first words, DROP, TRUNCATE, RENAME, and the interface of the parser.

use super::Parser;
use super::binds::Places;
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

/// Parses all of `text` with `rule`; `code` is the error for remaining tokens.
fn parse_all<'a, T>(text: &'a str, code: u32, rule: impl FnOnce(&mut Parser<'a>) -> Result<T>) -> Result<T> {
    if u32::try_from(text.len()).is_err() {
        return Err(Ora::with(4030, &[&text.len(), &"parse heap", &"statement text"]));
    }
    let mut parser = Parser::new(text);
    let tree = rule(&mut parser)?;
    parser.expect_end(code)?;
    Ok(tree)
}

/// Parses one SQL statement, without a terminator.
///
/// An anonymous PL/SQL block is recognised by its first word and not parsed further: the whole text is the block.
///
/// # Errors
/// Syntax errors with Oracle's numbers, at the byte offset where Oracle reports them (Q2).
pub fn parse_statement(text: &str) -> Result<Statement> {
    statement_of(text, false)
}

/// As [`parse_statement`], with binds identified by position, as in dynamic SQL of PL/SQL: each occurrence of a name is
/// a separate bind, named as by [`bind_places`].
pub fn parse_statement_by_place(text: &str) -> Result<Statement> {
    statement_of(text, true)
}

fn statement_of(text: &str, binds_by_place: bool) -> Result<Statement> {
    parse_all(text, 933, |p| {
        p.places = binds_by_place.then(|| Places::of(text, &p.tokens));
        let statement = p.statement()?;
        if matches!(statement, Statement::Block { .. } | Statement::Ddl(_)) {
            p.skip_source(&statement);
        }
        Ok(statement)
    })
}

/// Parses a single query, such as the text of a view in the dictionary.
pub fn parse_query(text: &str) -> Result<Query> {
    parse_all(text, 933, Parser::query)
}

/// Parses a single value expression, such as a column's DEFAULT in the dictionary.
pub fn parse_expression(text: &str) -> Result<Expr> {
    parse_all(text, 933, Parser::value)
}

/// Parses a single condition, such as a CHECK constraint in the dictionary.
pub fn parse_condition(text: &str) -> Result<Expr> {
    parse_all(text, 933, Parser::condition)
}

/// Parses a single data type.
pub fn parse_data_type(text: &str) -> Result<DataTypeName> {
    parse_all(text, 902, Parser::data_type)
}

impl Parser<'_> {
    fn statement(&mut self) -> Result<Statement> {
        let pos = self.pos();
        if self.at(TokenKind::LeftParen) {
            return Ok(Statement::Query(Box::new(self.query()?)));
        }
        if self.at(TokenKind::LabelStart) {
            return Ok(Statement::Block { pos });
        }
        let Some(word) = self.word() else {
            return self.fail(900);
        };
        match word.as_str() {
            "SELECT" | "WITH" => Ok(Statement::Query(Box::new(self.query()?))),
            "BEGIN" | "DECLARE" => Ok(Statement::Block { pos }),
            "EXPLAIN" => self.explain_plan(),
            "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "SET" | "LOCK" => self.transaction_control(),
            "CREATE" | "DROP" | "TRUNCATE" | "RENAME" | "COMMENT" | "GRANT" | "REVOKE" | "ANALYZE" | "PURGE"
            | "AUDIT" | "NOAUDIT" => Ok(Statement::Ddl(Box::new(self.ddl(&word)?))),
            "ALTER" => self.alter(),
            _ => self.dml(&word),
        }
    }

    fn explain_plan(&mut self) -> Result<Statement> {
        let pos = self.pos();
        self.bump();
        self.expect_word("PLAN", 905)?;
        let (mut statement_id, mut into) = (None, None);
        if self.eat_word("SET") {
            self.expect_word("STATEMENT_ID", 905)?;
            self.expect(TokenKind::Eq, 927)?;
            statement_id = Some(self.string(1780)?);
        }
        if self.eat_word("INTO") {
            into = Some(self.name(903)?);
        }
        self.expect_word("FOR", 905)?;
        let statement = self.nested(Self::statement)?;
        Ok(Statement::ExplainPlan(Box::new(ExplainPlan { statement_id, into, statement, pos })))
    }

    /// Parses a DDL statement that begins with `word`.
    pub(super) fn ddl(&mut self, word: &str) -> Result<Ddl> {
        let pos = self.pos();
        self.bump();
        match word {
            "CREATE" => self.create(pos),
            "DROP" => self.drop_object(pos),
            "TRUNCATE" => self.truncate(pos),
            "RENAME" => {
                let from = self.ident(903)?;
                self.expect_word("TO", 946)?;
                Ok(Ddl::Rename { from, to: self.ident(903)?, pos })
            }
            "COMMENT" => self.comment_on(pos),
            "GRANT" => self.grant(pos),
            "REVOKE" => self.revoke(pos),
            "ANALYZE" => self.analyze(pos),
            "PURGE" => self.purge(),
            other => self.audit(other == "NOAUDIT", pos),
        }
    }

    fn drop_object(&mut self, pos: Pos) -> Result<Ddl> {
        const KINDS: &[(&[&str], DropKind, u32)] = &[
            (&["TABLE"], DropKind::Table, 903),
            (&["CLUSTER"], DropKind::Cluster, 943),
            (&["INDEX"], DropKind::Index, 953),
            (&["VIEW"], DropKind::View, 999),
            (&["MATERIALIZED", "VIEW"], DropKind::MaterializedView, 999),
            (&["SEQUENCE"], DropKind::Sequence, 2277),
            (&["PUBLIC", "SYNONYM"], DropKind::PublicSynonym, 995),
            (&["SYNONYM"], DropKind::Synonym, 995),
            (&["USER"], DropKind::User, 1935),
            (&["ROLE"], DropKind::Role, 1935),
            (&["TABLESPACE"], DropKind::Tablespace, 2216),
            (&["DIRECTORY"], DropKind::Directory, 22929),
            (&["CONTEXT"], DropKind::Context, 905),
            (&["DATABASE", "LINK"], DropKind::DatabaseLink, 1729),
            (&["PUBLIC", "DATABASE", "LINK"], DropKind::DatabaseLink, 1729),
            (&["PROFILE"], DropKind::Profile, 2377),
            (&["AUDIT", "POLICY"], DropKind::AuditPolicy, 46357),
            (&["EDITION"], DropKind::Edition, 38804),
        ];
        if self.at_rollback_segment() {
            return Err(Ora::new(30019).at(pos.0));
        }
        let found = KINDS.iter().find(|(words, _, _)| self.at_words(words));
        let (kind, code) = match found {
            Some((words, kind, code)) => {
                self.at += words.len();
                (*kind, *code)
            }
            None => match self.stored_kind() {
                Some(kind) => (DropKind::Stored(kind), 4050),
                None => return self.fail(950),
            },
        };
        let name = if kind == DropKind::Profile && self.at_word("DEFAULT") {
            let word = self.any_word(code)?;
            Name::simple(word)
        } else {
            self.name(code)?
        };
        let mut drop = DropObject {
            kind,
            name,
            cascade: false,
            purge: false,
            including: false,
            and_files: false,
            force: false,
            pos,
        };
        loop {
            match () {
                () if self.eat_words(&["CASCADE", "CONSTRAINTS"]) => drop.cascade = true,
                () if self.eat_words(&["CASCADE", "CONSTRAINT"]) => drop.cascade = true,
                () if self.eat_word("CASCADE") => drop.cascade = true,
                () if self.eat_word("PURGE") => drop.purge = true,
                () if self.eat_word("FORCE") => drop.force = true,
                // Columns of supertypes are not searched for objects of the type.
                () if kind == DropKind::Stored(StoredKind::Type) && self.at_word("VALIDATE") => {
                    return Err(Ora::unsupported().at(self.pos().0));
                }
                () if self.eat_words(&["INCLUDING", "TABLES"]) => drop.including = true,
                () if self.eat_words(&["INCLUDING", "CONTENTS"]) => drop.including = true,
                () if self.eat_words(&["AND", "DATAFILES"]) => drop.and_files = true,
                () if self.eat_words(&["KEEP", "DATAFILES"]) => {}
                () if self.eat_word("ONLINE") => {}
                () => return Ok(Ddl::Drop(drop)),
            }
        }
    }

    fn truncate(&mut self, pos: Pos) -> Result<Ddl> {
        let cluster = match self.eat_any(&["TABLE", "CLUSTER"]) {
            Some(i) => i == 1,
            None => return self.fail(3290),
        };
        let name = self.name(903)?;
        let mut truncate = Truncate { cluster, name, reuse_storage: false, cascade: false, pos };
        loop {
            if let Some(i) = self.eat_any(&["DROP", "REUSE"]) {
                truncate.reuse_storage = i == 1;
                self.eat_word("ALL");
                self.expect_word("STORAGE", 3291)?;
            } else if self.eat_word("CASCADE") {
                truncate.cascade = true;
            } else if self.at_any(&["PRESERVE", "PURGE"]) && self.word_ahead(1, "MATERIALIZED") {
                self.raw_item()?;
            } else if self.at(TokenKind::End) {
                return Ok(Ddl::Truncate(truncate));
            } else {
                return self.fail(3291);
            }
        }
    }

    /// Skips PL/SQL source: goes to the end after a block or the CREATE of a stored unit.
    fn skip_source(&mut self, statement: &Statement) {
        use crate::ast::Ddl;
        let is_source = match statement {
            Statement::Block { .. } => true,
            Statement::Ddl(ddl) => matches!(**ddl, Ddl::CreateStored(_)),
            _ => false,
        };
        if is_source {
            self.at = self.tokens.len() - 1;
        }
    }
}
