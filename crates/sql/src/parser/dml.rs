//! INSERT, UPDATE, DELETE, MERGE, CALL, EXPLAIN PLAN and transaction control.

use super::Parser;
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

impl Parser<'_> {
    /// Parses a statement that begins with `word`; ORA-00900 for any other word.
    pub(super) fn dml(&mut self, word: &str) -> Result<Statement> {
        let pos = self.pos();
        if !matches!(word, "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "CALL") {
            return self.fail(900);
        }
        self.bump();
        let hints = self.hints_here();
        Ok(match word {
            "INSERT" => Statement::Insert(Box::new(Insert { hints, kind: self.insert()?, pos })),
            "UPDATE" => Statement::Update(Box::new(self.update(hints, pos)?)),
            "DELETE" => Statement::Delete(Box::new(self.delete(hints, pos)?)),
            "MERGE" => Statement::Merge(Box::new(self.merge(hints, pos)?)),
            _ => self.call_statement(pos)?,
        })
    }

    /// The table, view or inline view to be changed.
    fn target(&mut self) -> Result<TableRef> {
        if self.at(TokenKind::LeftParen) || self.at_word("TABLE") {
            return self.table_primary();
        }
        let pos = self.pos();
        Ok(TableRef { kind: TableRefKind::Table(self.table_name()?), pos })
    }

    fn insert(&mut self) -> Result<InsertKind> {
        if let Some(i) = self.eat_any(&["ALL", "FIRST"]) {
            return self.insert_multi(i == 1);
        }
        if self.at_word("WHEN") {
            return self.insert_multi(false);
        }
        self.expect_word("INTO", 925)?;
        let target = self.insert_target()?;
        let source = if self.eat_word("VALUES") {
            if self.at(TokenKind::LeftParen) {
                InsertSource::Values(self.insert_values()?)
            } else {
                let code = if self.at_ident() || self.at(TokenKind::Bind) { 936 } else { 906 };
                match self.kind() {
                    TokenKind::Word | TokenKind::QuotedIdent | TokenKind::Bind if code == 936 => {
                        InsertSource::Record(Box::new(self.value()?))
                    }
                    _ => return self.fail(906),
                }
            }
        } else if self.at_any(&["SELECT", "WITH"]) || self.at(TokenKind::LeftParen) {
            InsertSource::Query(Box::new(self.query()?))
        } else {
            return self.fail(926);
        };
        let returning = self.returning()?;
        let error_log = self.error_log()?;
        Ok(InsertKind::Single { target, source, returning, error_log })
    }

    fn insert_target(&mut self) -> Result<InsertTarget> {
        let table = self.target()?;
        let mut columns = Vec::new();
        // In `INSERT INTO t (SELECT ...)` the parentheses hold a query instead of columns.
        if self.at(TokenKind::LeftParen) && !self.paren_hides_query() {
            self.left_paren()?;
            columns.push(self.insert_column()?);
            while !self.eat(TokenKind::RightParen) {
                self.expect(TokenKind::Comma, 917)?;
                columns.push(self.insert_column()?);
            }
        }
        Ok(InsertTarget { table, columns })
    }

    fn insert_column(&mut self) -> Result<Name> {
        if matches!(self.kind(), TokenKind::Number | TokenKind::String) {
            return self.fail(928);
        }
        self.name(if self.at(TokenKind::Word) { 1747 } else { 936 })
    }

    fn insert_values(&mut self) -> Result<Vec<Expr>> {
        self.left_paren()?;
        let mut values = vec![self.assigned_value()?];
        while !self.eat(TokenKind::RightParen) {
            // Oracle reports the missing comma, not the missing parenthesis.
            self.expect(TokenKind::Comma, 917)?;
            values.push(self.assigned_value()?);
        }
        Ok(values)
    }

    /// A value or DEFAULT.
    fn assigned_value(&mut self) -> Result<Expr> {
        let pos = self.pos();
        if self.eat_word("DEFAULT") {
            return Ok(Expr::new(ExprKind::Default, pos));
        }
        self.value()
    }

    fn insert_multi(&mut self, first: bool) -> Result<InsertKind> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        if self.at_word("INTO") {
            branches.push(InsertBranch { when: None, into: self.insert_intos()? });
        }
        while self.eat_word("WHEN") {
            let when = Some(self.condition()?);
            self.expect_word("THEN", 905)?;
            branches.push(InsertBranch { when, into: self.insert_intos()? });
        }
        if self.eat_word("ELSE") {
            otherwise = self.insert_intos()?;
        }
        if branches.is_empty() {
            return self.fail(925);
        }
        let query = Box::new(self.query()?);
        Ok(InsertKind::Multi { first, branches, otherwise, query })
    }

    fn insert_intos(&mut self) -> Result<Vec<InsertInto>> {
        let mut list = Vec::new();
        while self.eat_word("INTO") {
            let target = self.insert_target()?;
            let values = if self.eat_word("VALUES") { Some(self.insert_values()?) } else { None };
            list.push(InsertInto { target, values });
        }
        if list.is_empty() { self.fail(925) } else { Ok(list) }
    }

    fn returning(&mut self) -> Result<Option<Returning>> {
        let pos = self.pos();
        if self.eat_any(&["RETURNING", "RETURN"]).is_none() {
            return Ok(None);
        }
        let exprs = self.value_list()?;
        match self.parse_into()? {
            Some(into) => Ok(Some(Returning { exprs, into, pos })),
            None => self.fail(925),
        }
    }

    fn error_log(&mut self) -> Result<Option<Box<ErrorLog>>> {
        let pos = self.pos();
        if !self.eat_words(&["LOG", "ERRORS"]) {
            return Ok(None);
        }
        let table = if self.eat_word("INTO") { Some(self.name(903)?) } else { None };
        let tag = match self.eat(TokenKind::LeftParen) {
            true => {
                let tag = self.value()?;
                self.right_paren()?;
                Some(tag)
            }
            false => None,
        };
        let limit = match self.eat_words(&["REJECT", "LIMIT"]) {
            true if self.eat_word("UNLIMITED") => None,
            true => Some(self.integer64(30645)?),
            false => Some(0),
        };
        Ok(Some(Box::new(ErrorLog { table, tag, limit, pos })))
    }

    fn update(&mut self, hints: Hints, pos: Pos) -> Result<Update> {
        let table = self.target()?;
        self.expect_word("SET", 971)?;
        let set = self.comma_list(Self::assignment)?;
        let (filter, current_of) = self.where_or_current_of()?;
        let returning = self.returning()?;
        let error_log = self.error_log()?;
        Ok(Update { hints, table, set, filter, current_of, returning, error_log, pos })
    }

    fn where_or_current_of(&mut self) -> Result<(Option<Expr>, Option<Ident>)> {
        if self.eat_words(&["WHERE", "CURRENT", "OF"]) {
            return Ok((None, Some(self.ident(904)?)));
        }
        if self.eat_word("WHERE") { Ok((Some(self.condition()?), None)) } else { Ok((None, None)) }
    }

    fn assignment(&mut self) -> Result<Assignment> {
        let pos = self.pos();
        if self.eat(TokenKind::LeftParen) {
            let columns = self.comma_list(|p| p.name(904))?;
            self.right_paren()?;
            self.expect(TokenKind::Eq, 927)?;
            if !self.at(TokenKind::LeftParen) {
                return self.fail(906);
            }
            if !self.paren_hides_query() {
                return self.fail(1767);
            }
            let query = self.subquery()?;
            return Ok(Assignment::Columns { columns, query, pos });
        }
        if self.at_word("ROW") && self.kind_ahead(1, TokenKind::Eq) {
            self.at += 2;
            return Ok(Assignment::Row(self.value()?));
        }
        let column = self.name(if self.at(TokenKind::Word) { 1747 } else { 904 })?;
        self.expect(TokenKind::Eq, 927)?;
        let value = self.assigned_value()?;
        Ok(Assignment::Column { column, value })
    }

    fn delete(&mut self, hints: Hints, pos: Pos) -> Result<Delete> {
        self.eat_word("FROM");
        let table = self.target()?;
        let (filter, current_of) = self.where_or_current_of()?;
        let returning = self.returning()?;
        let error_log = self.error_log()?;
        Ok(Delete { hints, table, filter, current_of, returning, error_log, pos })
    }

    fn merge(&mut self, hints: Hints, pos: Pos) -> Result<Merge> {
        self.expect_word("INTO", 925)?;
        let target = self.target()?;
        if !self.at_word("USING") {
            return self.fail(928);
        }
        self.bump();
        let source = self.table_primary()?;
        self.expect_word("ON", 969)?;
        self.left_paren()?;
        let on = self.condition()?;
        self.right_paren()?;
        let (mut update, mut insert) = (None, None);
        while self.at_word("WHEN") {
            self.bump();
            let not = self.eat_word("NOT");
            self.expect_word("MATCHED", 905)?;
            self.expect_word("THEN", 905)?;
            if not && insert.is_none() {
                insert = Some(self.merge_insert()?);
            } else if !not && update.is_none() {
                update = Some(self.merge_update()?);
            } else {
                return self.fail(905);
            }
        }
        if update.is_none() && insert.is_none() {
            return self.fail(905);
        }
        let error_log = self.error_log()?;
        Ok(Merge { hints, target, source, on, update, insert, error_log, pos })
    }

    fn merge_update(&mut self) -> Result<MergeUpdate> {
        self.expect_word("UPDATE", 905)?;
        self.expect_word("SET", 971)?;
        let set = self.comma_list(Self::assignment)?;
        let filter = if self.eat_word("WHERE") { Some(self.condition()?) } else { None };
        let mut delete = None;
        if self.eat_word("DELETE") {
            self.expect_word("WHERE", 905)?;
            delete = Some(self.condition()?);
        }
        Ok(MergeUpdate { set, filter, delete })
    }

    fn merge_insert(&mut self) -> Result<MergeInsert> {
        self.expect_word("INSERT", 905)?;
        let mut columns = Vec::new();
        if self.eat(TokenKind::LeftParen) {
            columns = self.comma_list(|p| p.name(904))?;
            self.right_paren()?;
        }
        self.expect_word("VALUES", 926)?;
        let values = self.insert_values()?;
        let filter = if self.eat_word("WHERE") { Some(self.condition()?) } else { None };
        Ok(MergeInsert { columns, values, filter })
    }

    fn call_statement(&mut self, pos: Pos) -> Result<Statement> {
        let name = self.name(6576)?;
        let args = if self.at(TokenKind::LeftParen) { self.arguments()? } else { Vec::new() };
        let into = if self.eat_word("INTO") { Some(self.bind()?) } else { None };
        Ok(Statement::Call(Box::new(CallStatement { name, args, into, pos })))
    }

    pub(super) fn transaction_control(&mut self) -> Result<Statement> {
        let pos = self.pos();
        let word = self.word().unwrap_or_default();
        self.bump();
        match word.as_str() {
            "COMMIT" => self.commit(pos),
            "ROLLBACK" => self.rollback(pos),
            "SAVEPOINT" => Ok(Statement::Savepoint(self.ident(3001)?)),
            "LOCK" => self.lock_table(pos),
            _ => self.set_statement(pos),
        }
    }

    fn commit(&mut self, pos: Pos) -> Result<Statement> {
        let mut commit = Commit { pos, ..Commit::default() };
        self.eat_word("WORK");
        if self.eat_word("FORCE") {
            commit.force = Some(self.string(1780)?);
            return Ok(Statement::Commit(commit));
        }
        if self.eat_word("COMMENT") {
            commit.comment = Some(self.string(1780)?);
        }
        if self.eat_word("WRITE") {
            while let Some(i) = self.eat_any(&["IMMEDIATE", "BATCH", "WAIT", "NOWAIT"]) {
                match i {
                    0 | 1 => commit.write_immediate = Some(i == 0),
                    _ => commit.write_wait = Some(i == 2),
                }
            }
        }
        Ok(Statement::Commit(commit))
    }

    fn rollback(&mut self, pos: Pos) -> Result<Statement> {
        self.eat_word("WORK");
        let (mut to, mut force) = (None, None);
        if self.eat_word("TO") {
            self.eat_word("SAVEPOINT");
            to = Some(self.ident(931)?);
        } else if self.eat_word("FORCE") {
            force = Some(self.string(1780)?);
        }
        Ok(Statement::Rollback(Rollback { to, force, pos }))
    }

    fn lock_table(&mut self, pos: Pos) -> Result<Statement> {
        self.expect_word("TABLE", 966)?;
        let tables = self.comma_list(|p| {
            let name = p.name(903)?;
            let at = p.pos();
            match p.partition_suffix()? {
                None => Ok(name),
                Some(_) => Err(Ora::unsupported().at(at.0)),
            }
        })?;
        self.expect_word("IN", 905)?;
        let mode = match () {
            () if self.eat_words(&["ROW", "SHARE"]) => LockMode::RowShare,
            () if self.eat_words(&["ROW", "EXCLUSIVE"]) => LockMode::RowExclusive,
            () if self.eat_words(&["SHARE", "UPDATE"]) => LockMode::RowShare,
            () if self.eat_words(&["SHARE", "ROW", "EXCLUSIVE"]) => LockMode::ShareRowExclusive,
            () if self.eat_word("SHARE") => LockMode::Share,
            () if self.eat_word("EXCLUSIVE") => LockMode::Exclusive,
            () => return self.fail(1737),
        };
        self.expect_word("MODE", 905)?;
        let wait = self.lock_wait()?;
        Ok(Statement::LockTable(LockTable { tables, mode, wait, pos }))
    }

    fn set_statement(&mut self, pos: Pos) -> Result<Statement> {
        if self.eat_word("TRANSACTION") {
            return self.set_transaction(pos);
        }
        if self.eat_any(&["CONSTRAINT", "CONSTRAINTS"]).is_some() {
            let names = if self.eat_word("ALL") { Vec::new() } else { self.comma_list(|p| p.name(904))? };
            return match self.eat_any(&["IMMEDIATE", "DEFERRED"]) {
                Some(i) => Ok(Statement::SetConstraints(SetConstraints { names, deferred: i == 1 })),
                None => self.fail(905),
            };
        }
        if self.eat_word("ROLE") {
            return self.set_role();
        }
        self.fail(922)
    }

    fn set_transaction(&mut self, pos: Pos) -> Result<Statement> {
        let mode = match () {
            () if self.eat_words(&["READ", "ONLY"]) => TransactionMode::ReadOnly,
            () if self.eat_words(&["READ", "WRITE"]) => TransactionMode::ReadWrite,
            () if self.eat_words(&["ISOLATION", "LEVEL", "SERIALIZABLE"]) => TransactionMode::Serializable,
            () if self.eat_words(&["ISOLATION", "LEVEL", "READ", "COMMITTED"]) => TransactionMode::ReadCommitted,
            () if self.at_words(&["USE", "ROLLBACK", "SEGMENT"]) => return self.fail(30019),
            () => TransactionMode::Unchanged,
        };
        let name = if self.eat_word("NAME") { Some(self.string(1780)?) } else { None };
        if mode == TransactionMode::Unchanged && name.is_none() {
            return self.fail(900);
        }
        Ok(Statement::SetTransaction(SetTransaction { mode, name, pos }))
    }

    fn set_role(&mut self) -> Result<Statement> {
        self.roles(true).map(Statement::SetRole)
    }
}
