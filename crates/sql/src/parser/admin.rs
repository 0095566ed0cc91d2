//! Grants, comments, statistics, ALTER SESSION and ALTER SYSTEM.

use super::Parser;
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

impl Parser<'_> {
    pub(super) fn comment_on(&mut self, pos: Pos) -> Result<Ddl> {
        self.expect_word("ON", 969)?;
        let on_column = match self.eat_any(&["TABLE", "COLUMN"]) {
            Some(i) => i == 1,
            None => {
                if !self.eat_words(&["MATERIALIZED", "VIEW"]) {
                    return self.fail(905);
                }
                false
            }
        };
        let name = self.name(if on_column { 904 } else { 903 })?;
        self.expect_word("IS", 905)?;
        let text = self.string(1780)?;
        Ok(Ddl::Comment(CommentOn { on_column, name, text, pos }))
    }

    fn privileges(&mut self) -> Result<Vec<Privilege>> {
        self.comma_list(|p| {
            let pos = p.pos();
            let mut words = Vec::new();
            while matches!(p.kind(), TokenKind::Word | TokenKind::QuotedIdent) && !p.at_any(&["ON", "TO", "FROM"]) {
                words.push(p.any_word(990)?.name);
            }
            if words.is_empty() {
                return p.fail(990);
            }
            let columns = if p.at(TokenKind::LeftParen) { p.ident_list(904)? } else { Vec::new() };
            Ok(Privilege { name: words.join(" "), columns, pos })
        })
    }

    fn grant_object(&mut self) -> Result<Option<GrantObject>> {
        if !self.eat_word("ON") {
            return Ok(None);
        }
        if self.eat_word("DIRECTORY") {
            return Ok(Some(GrantObject::Directory(self.ident(22929)?)));
        }
        if self.eat_word("EDITION") {
            return Ok(Some(GrantObject::Edition(self.ident(38804)?)));
        }
        if self.eat_word("USER") {
            return Ok(Some(GrantObject::Users(self.comma_list(|p| p.ident(987))?)));
        }
        Ok(Some(GrantObject::Object(self.name(903)?)))
    }

    fn grantees(&mut self) -> Result<Vec<Grantee>> {
        let mut list = self.comma_list(|p| {
            // GRANT role TO PROCEDURE p.
            if p.at_any(&["PROCEDURE", "FUNCTION", "PACKAGE"]) && p.ident_ahead(1) {
                return Err(Ora::unsupported().at(p.pos().0));
            }
            let name = if p.at_word("PUBLIC") { p.any_word(987)? } else { p.ident(987)? };
            Ok(Grantee { name, identified_by: None })
        })?;
        if self.eat_words(&["IDENTIFIED", "BY"]) {
            // There must be as many passwords as users.
            for (i, grantee) in list.iter_mut().enumerate() {
                if i > 0 {
                    self.expect(TokenKind::Comma, 917)?;
                }
                grantee.identified_by = Some(self.password()?);
            }
        }
        Ok(list)
    }

    pub(super) fn grant(&mut self, pos: Pos) -> Result<Ddl> {
        let privileges = self.privileges()?;
        let on = self.grant_object()?;
        self.expect_word("TO", 905)?;
        let to = self.grantees()?;
        let mut with_option = false;
        while self.at_word("WITH") {
            self.bump();
            // HIERARCHY concerns subobjects, which do not exist here; it grants nothing to others.
            let gives = match (self.eat_any(&["GRANT", "ADMIN", "HIERARCHY"]), &on) {
                (Some(0), Some(_)) | (Some(1), None) => true,
                (Some(2), Some(_)) => false,
                (Some(0), None) => return self.fail(1939),
                _ => return self.fail(993),
            };
            self.expect_word("OPTION", 993)?;
            with_option |= gives;
        }
        if self.eat_word("CONTAINER") {
            self.expect(TokenKind::Eq, 922)?;
            self.any_word(922)?;
        }
        Ok(Ddl::Grant(Grant { privileges, on, to, with_option, pos }))
    }

    pub(super) fn revoke(&mut self, pos: Pos) -> Result<Ddl> {
        let privileges = self.privileges()?;
        let on = self.grant_object()?;
        self.expect_word("FROM", 905)?;
        let from = self.grantees()?;
        let cascade = self.eat_words(&["CASCADE", "CONSTRAINTS"]);
        self.eat_word("FORCE");
        Ok(Ddl::Revoke(Revoke { privileges, on, from, cascade, pos }))
    }

    pub(super) fn analyze(&mut self, pos: Pos) -> Result<Ddl> {
        let (kind, code) = match self.eat_any(&["TABLE", "INDEX", "CLUSTER"]) {
            Some(0) => (AnalyzeKind::Table, 903),
            Some(1) => (AnalyzeKind::Index, 953),
            Some(_) => (AnalyzeKind::Cluster, 943),
            None => return self.fail(905),
        };
        let name = self.name(code)?;
        if !self.at_any(&["COMPUTE", "ESTIMATE", "DELETE", "VALIDATE", "LIST"]) {
            return self.fail(1490);
        }
        let action = self.raw_rest_words()?;
        Ok(Ddl::Analyze(Analyze { kind, name, action, pos }))
    }

    pub(super) fn purge(&mut self) -> Result<Ddl> {
        Ok(Ddl::Purge(match () {
            () if self.eat_word("TABLE") => Purge::Table(self.ident(903)?),
            () if self.eat_word("INDEX") => Purge::Index(self.ident(953)?),
            () if self.eat_word("RECYCLEBIN") => Purge::RecycleBin,
            () if self.eat_word("DBA_RECYCLEBIN") => Purge::DbaRecycleBin,
            () => return self.fail(38302),
        }))
    }

    pub(super) fn alter_session(&mut self, pos: Pos) -> Result<Statement> {
        let action = if self.eat_word("SET") {
            AlterSessionAction::Set(self.parameter_settings(922)?)
        } else if self.at_any(&["ENABLE", "DISABLE", "FORCE", "ADVISE", "CLOSE", "SYNC"]) {
            AlterSessionAction::Other(self.raw_rest_words()?)
        } else {
            return self.fail(922);
        };
        Ok(Statement::AlterSession(AlterSession { action, pos }))
    }

    /// `name = value` one or more times, with or without commas between.
    fn parameter_settings(&mut self, code: u32) -> Result<Vec<ParameterSetting>> {
        let mut list = Vec::new();
        loop {
            list.push(self.parameter_setting(code)?);
            self.eat(TokenKind::Comma);
            let more = matches!(self.kind(), TokenKind::Word | TokenKind::QuotedIdent);
            if !more || self.at_any(&["SCOPE", "COMMENT", "DEFERRED", "SID", "CONTAINER"]) {
                return Ok(list);
            }
        }
    }

    pub(super) fn parameter_setting(&mut self, code: u32) -> Result<ParameterSetting> {
        // `SET EVENTS '...'` has no equals sign.
        if self.at_word("EVENTS") && self.kind_ahead(1, TokenKind::String) {
            let name = self.any_word(code)?;
            return Ok(ParameterSetting { name, value: self.string(code)?, quoted: true });
        }
        let name = self.any_word(code)?;
        self.expect(TokenKind::Eq, 927)?;
        let start = self.pos();
        let token = self.token();
        match token.kind {
            TokenKind::String | TokenKind::NationalString => {
                let mut value = self.string(code)?;
                while self.at(TokenKind::Comma) && self.kind_ahead(1, TokenKind::String) {
                    self.bump();
                    value.push_str(", ");
                    value.push_str(&self.string(code)?);
                }
                Ok(ParameterSetting { name, value, quoted: true })
            }
            TokenKind::QuotedIdent => {
                self.bump();
                Ok(ParameterSetting { name, value: self.source(token).trim_matches('"').to_owned(), quoted: true })
            }
            TokenKind::Minus | TokenKind::Plus => {
                let value = self.signed_number(code)?;
                Ok(ParameterSetting { name, value, quoted: false })
            }
            TokenKind::Number => {
                self.bump();
                self.eat_any(&["K", "M", "G", "T"]);
                Ok(ParameterSetting { name, value: self.text_since(start).to_owned(), quoted: false })
            }
            TokenKind::Word => {
                if name.name == "ISOLATION_LEVEL" && self.eat_words(&["READ", "COMMITTED"]) {
                    return Ok(ParameterSetting { name, value: "READ COMMITTED".to_owned(), quoted: false });
                }
                self.bump();
                while self.eat(TokenKind::Dot) {
                    self.bump();
                }
                Ok(ParameterSetting { name, value: self.text_since(start).to_owned(), quoted: false })
            }
            _ => self.fail(2017),
        }
    }

    pub(super) fn alter_system(&mut self, pos: Pos) -> Result<Statement> {
        let action = match () {
            () if self.eat_word("SET") => self.alter_system_set()?,
            () if self.eat_word("RESET") => {
                let names = self.comma_list(|p| p.any_word(2065))?;
                while let Some(i) = self.eat_any(&["SCOPE", "SID"]) {
                    self.expect(TokenKind::Eq, 927)?;
                    if i == 0 { drop(self.any_word(922)?) } else { drop(self.string(922)?) }
                }
                AlterSystemAction::Reset(names)
            }
            () if self.eat_words(&["KILL", "SESSION"]) => {
                let target = self.string(26)?;
                let immediate = self.eat_word("IMMEDIATE");
                self.eat_word("NOREPLAY");
                AlterSystemAction::KillSession { target, immediate }
            }
            () if self.eat_words(&["DISCONNECT", "SESSION"]) => {
                let target = self.string(26)?;
                let immediate = self.eat_word("IMMEDIATE");
                let post_transaction = self.eat_word("POST_TRANSACTION");
                AlterSystemAction::DisconnectSession { target, immediate, post_transaction }
            }
            () if self.eat_words(&["FLUSH", "SHARED_POOL"]) => AlterSystemAction::FlushSharedPool,
            () if self.eat_words(&["FLUSH", "BUFFER_CACHE"]) => AlterSystemAction::FlushBufferCache,
            () if self.eat_word("CHECKPOINT") => {
                self.eat_any(&["GLOBAL", "LOCAL"]);
                AlterSystemAction::Checkpoint
            }
            () if self.eat_words(&["SWITCH", "LOGFILE"]) => AlterSystemAction::SwitchLogfile,
            () if self.eat_words(&["ARCHIVE", "LOG", "CURRENT"]) => AlterSystemAction::ArchiveLogCurrent,
            () if self.eat_words(&["ENABLE", "RESTRICTED", "SESSION"]) => AlterSystemAction::RestrictedSession(true),
            () if self.eat_words(&["DISABLE", "RESTRICTED", "SESSION"]) => AlterSystemAction::RestrictedSession(false),
            () if self.eat_word("REGISTER") => AlterSystemAction::Register,
            () if self.at_any(&["QUIESCE", "UNQUIESCE", "SUSPEND", "RESUME", "DUMP", "FLUSH", "ARCHIVE", "CANCEL"]) => {
                AlterSystemAction::Other(self.raw_rest_words()?)
            }
            () => return self.fail(2065),
        };
        Ok(Statement::AlterSystem(AlterSystem { action, pos }))
    }

    fn alter_system_set(&mut self) -> Result<AlterSystemAction> {
        let settings = self.parameter_settings(2065)?;
        let (mut scope, mut deferred) = (None, false);
        loop {
            match self.eat_any(&["COMMENT", "DEFERRED", "SCOPE", "SID", "CONTAINER"]) {
                Some(1) => deferred = true,
                Some(i) => {
                    self.expect(TokenKind::Eq, 927)?;
                    match i {
                        2 => {
                            scope = match self.eat_any(&["MEMORY", "SPFILE", "BOTH"]) {
                                Some(i) => Some([Scope::Memory, Scope::Spfile, Scope::Both][i]),
                                None => return self.fail(2095),
                            }
                        }
                        4 => drop(self.any_word(922)?),
                        _ => drop(self.string(1780)?),
                    }
                }
                None => return Ok(AlterSystemAction::Set { settings, scope, deferred }),
            }
        }
    }

    /// `NONE`, `ALL [EXCEPT list]` or a list of roles, with passwords in SET ROLE.
    pub(super) fn roles(&mut self, passwords: bool) -> Result<SetRole> {
        let list = |p: &mut Self, passwords: bool| {
            p.comma_list(|p| {
                // CONNECT and RESOURCE are also keywords.
                let name = p.any_word(1935)?;
                let identified = passwords && p.eat_words(&["IDENTIFIED", "BY"]);
                let password = if identified { Some(p.password()?) } else { None };
                Ok(RoleName { name, password })
            })
        };
        Ok(if self.eat_word("NONE") {
            SetRole::None
        } else if self.eat_word("ALL") {
            SetRole::AllExcept(if self.eat_word("EXCEPT") { list(self, false)? } else { Vec::new() })
        } else {
            SetRole::Roles(list(self, passwords)?)
        })
    }
}
