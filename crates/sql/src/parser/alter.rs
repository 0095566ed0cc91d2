//! ALTER statements.

use super::Parser;
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::{Ora, Result};

impl Parser<'_> {
    /// ALTER; ORA-00940 for an object that cannot be altered.
    pub(super) fn alter(&mut self) -> Result<Statement> {
        let pos = self.pos();
        self.bump();
        let ddl = match () {
            () if self.at_rollback_segment() => return Err(Ora::new(30019).at(pos.0)),
            () if self.eat_word("SESSION") => return self.alter_session(pos),
            () if self.eat_word("SYSTEM") => return self.alter_system(pos),
            () if self.eat_words(&["DATABASE", "BEGIN", "BACKUP"]) => return self.alter_backup(true, None, pos),
            () if self.eat_words(&["DATABASE", "END", "BACKUP"]) => return self.alter_backup(false, None, pos),
            () if self.eat_words(&["DATABASE", "ARCHIVELOG"]) => return self.alter_log_mode(true, pos),
            () if self.eat_words(&["DATABASE", "NOARCHIVELOG"]) => return self.alter_log_mode(false, pos),
            () if self.eat_words(&["DATABASE", "RECOVER"]) => {
                let action = AlterSystemAction::Recover(self.recover()?);
                return Ok(Statement::AlterSystem(AlterSystem { action, pos }));
            }
            () if self.eat_words(&["DATABASE", "ADD", "LOGFILE"]) => return self.add_logfile(pos),
            () if self.eat_words(&["DATABASE", "DROP", "LOGFILE", "GROUP"]) => {
                let action = AlterSystemAction::DropLogfile { group: self.integer(2236)? };
                return Ok(Statement::AlterSystem(AlterSystem { action, pos }));
            }
            () if self.eat_word("TABLE") => self.alter_table(pos)?,
            () if self.eat_word("INDEX") => self.alter_index(pos)?,
            () if self.eat_word("SEQUENCE") => self.alter_sequence(pos)?,
            () if self.eat_word("USER") => {
                let name = self.ident(1935)?;
                if self.at(TokenKind::Comma) || self.at_any(&["GRANT", "REVOKE"]) {
                    self.connect_through(name, pos)?
                } else {
                    Ddl::AlterUser(AlterUser { name, options: self.user_options()?, pos })
                }
            }
            () if self.eat_word("ROLE") => {
                let name = self.ident(1935)?;
                let not = self.eat_words(&["NOT", "IDENTIFIED"]);
                let authentication =
                    if not { None } else { Some(self.authentication()?.ok_or_else(|| self.error(922))?) };
                Ddl::AlterRole(CreateRole { name, authentication, pos })
            }
            () if self.eat_word("PROFILE") => self.profile(true, pos)?,
            () if self.eat_words(&["AUDIT", "POLICY"]) => self.audit_policy(true, pos)?,
            () if self.eat_word("VIEW") => self.alter_compile(CompileKind::View, pos)?,
            () if self.eat_word("TABLESPACE") => match self.alter_tablespace(pos)? {
                Ddl::AlterTablespace(AlterTablespace { name, action: TablespaceAction::BeginBackup, .. }) => {
                    return self.alter_backup(true, Some(name), pos);
                }
                Ddl::AlterTablespace(AlterTablespace { name, action: TablespaceAction::EndBackup, .. }) => {
                    return self.alter_backup(false, Some(name), pos);
                }
                ddl => ddl,
            },
            () if self.eat_words(&["DATABASE", "DEFAULT", "EDITION"]) => {
                self.expect(TokenKind::Eq, 927)?;
                let name = self.ident(38804)?;
                self.expect_end(922)?;
                Ddl::Edition(EditionStatement::Default { name, pos })
            }
            () if self.at_words(&["DATABASE", "SET", "DEFAULT"]) => {
                self.bump();
                self.alter_database_space(pos)?
            }
            () if self.at_word("DATABASE")
                && ["DATAFILE", "TEMPFILE", "DEFAULT", "CREATE", "RENAME"]
                    .iter()
                    .any(|word| self.word_ahead(1, word)) =>
            {
                self.bump();
                self.alter_database_space(pos)?
            }
            () if self.at_any(&["DATABASE", "CLUSTER", "ROLE", "MATERIALIZED", "PLUGGABLE"]) => {
                return Err(Ora::unsupported().at(pos.0));
            }
            () => match self.stored_kind() {
                Some(kind) => self.alter_compile(CompileKind::Stored(kind), pos)?,
                None => return self.fail(940),
            },
        };
        Ok(Statement::Ddl(Box::new(ddl)))
    }

    /// The rest of ALTER USER ... GRANT or REVOKE CONNECT THROUGH, after the first user.
    fn connect_through(&mut self, first: Ident, pos: Pos) -> Result<Ddl> {
        let mut clients = vec![first];
        while self.eat(TokenKind::Comma) {
            clients.push(self.ident(1935)?);
        }
        let revoke = self.eat_word("REVOKE");
        if !revoke {
            self.expect_word("GRANT", 922)?;
        }
        if !self.eat_words(&["CONNECT", "THROUGH"]) {
            return self.fail(922);
        }
        if self.at_words(&["ENTERPRISE", "USERS"]) {
            return Err(Ora::unsupported().at(self.pos().0));
        }
        let proxy = self.ident(987)?;
        let mut roles = SetRole::AllExcept(Vec::new());
        if !revoke && self.eat_words(&["WITH", "NO", "ROLES"]) {
            roles = SetRole::None;
        } else if !revoke && self.eat_words(&["WITH", "ROLE"]) {
            roles = self.roles(false)?;
        }
        let authenticated = !revoke && self.eat_words(&["AUTHENTICATION", "REQUIRED"]);
        self.expect_end(922)?;
        Ok(Ddl::ConnectThrough(ConnectThrough { clients, revoke, proxy, roles, authenticated, pos }))
    }

    /// `ALTER DATABASE` or `ALTER TABLESPACE name`, `BEGIN` or `END BACKUP`.
    pub(super) fn alter_backup(&mut self, begin: bool, tablespace: Option<Ident>, pos: Pos) -> Result<Statement> {
        let action = AlterSystemAction::Backup { begin, tablespace };
        Ok(Statement::AlterSystem(AlterSystem { action, pos }))
    }

    fn add_logfile(&mut self, pos: Pos) -> Result<Statement> {
        let group = if self.eat_word("GROUP") { Some(self.integer(2236)?) } else { None };
        let bracket = self.eat(TokenKind::LeftParen);
        let file = if self.at(TokenKind::String) { Some(self.string(2236)?) } else { None };
        if bracket {
            self.expect(TokenKind::RightParen, 907)?;
        }
        let bytes = if self.eat_word("SIZE") { Some(self.size_value(2237)?) } else { None };
        Ok(Statement::AlterSystem(AlterSystem { action: AlterSystemAction::AddLogfile { group, file, bytes }, pos }))
    }

    fn alter_log_mode(&mut self, on: bool, pos: Pos) -> Result<Statement> {
        if self.at_word("MANUAL") {
            return Err(Ora::unsupported().at(self.pos().0));
        }
        Ok(Statement::AlterSystem(AlterSystem { action: AlterSystemAction::Archivelog(on), pos }))
    }

    fn alter_compile(&mut self, kind: CompileKind, pos: Pos) -> Result<Ddl> {
        let name = self.name(4050)?;
        if kind == CompileKind::Stored(StoredKind::Trigger) && self.eat_words(&["RENAME", "TO"]) {
            let action = CompileAction::RenameTo(self.ident(4050)?);
            let (body, specification, settings, reuse) = (false, false, Vec::new(), false);
            let alter = AlterCompile { kind, name, body, specification, action, settings, reuse, pos };
            return Ok(Ddl::AlterCompile(alter));
        }
        let action = match self.eat_any(&["COMPILE", "ENABLE", "DISABLE"]) {
            Some(0) => CompileAction::Compile,
            Some(1) => CompileAction::Enable,
            Some(_) => CompileAction::Disable,
            None => return self.fail(922),
        };
        self.eat_word("DEBUG");
        let part = self.eat_any(&["BODY", "SPECIFICATION", "PACKAGE"]);
        let (body, specification) = (part == Some(0), part == Some(1));
        let mut settings = Vec::new();
        while action == CompileAction::Compile && self.at(TokenKind::Word) && self.kind_ahead(1, TokenKind::Eq) {
            settings.push(self.parameter_setting(922)?);
        }
        let reuse = self.eat_words(&["REUSE", "SETTINGS"]);
        Ok(Ddl::AlterCompile(AlterCompile { kind, name, body, specification, action, settings, reuse, pos }))
    }

    fn alter_sequence(&mut self, pos: Pos) -> Result<Ddl> {
        let name = self.name(2277)?;
        let mut options = SequenceOptions::default();
        let mut any = false;
        while self.sequence_option(&mut options)? {
            any = true;
        }
        if any { Ok(Ddl::AlterSequence(AlterSequence { name, options, pos })) } else { self.fail(2286) }
    }

    fn alter_table(&mut self, pos: Pos) -> Result<Ddl> {
        let name = self.name(903)?;
        if self.at(TokenKind::End) {
            return self.fail(2210);
        }
        let mut actions = Vec::new();
        while !self.at(TokenKind::End) {
            self.alter_table_action(&mut actions)?;
        }
        Ok(Ddl::AlterTable(AlterTable { name, actions, pos }))
    }

    fn alter_table_action(&mut self, actions: &mut Vec<AlterTableAction>) -> Result<()> {
        if let Some(action) = self.partition_action()? {
            actions.push(action);
            return Ok(());
        }
        let action = match () {
            () if self.at_word("ADD") => return self.alter_table_add(actions),
            () if self.at_word("MODIFY") => self.alter_table_modify()?,
            () if self.at_word("DROP") => self.alter_table_drop()?,
            () if self.at_words(&["SET", "UNUSED"]) => {
                self.at += 2;
                self.drop_columns(true)?
            }
            () if self.eat_words(&["RENAME", "TO"]) => AlterTableAction::RenameTo(self.ident(903)?),
            () if self.eat_words(&["RENAME", "COLUMN"]) => {
                let from = self.ident(904)?;
                self.expect_word("TO", 946)?;
                AlterTableAction::RenameColumn { from, to: self.ident(904)? }
            }
            () if self.eat_words(&["RENAME", "CONSTRAINT"]) => {
                let from = self.ident(2250)?;
                self.expect_word("TO", 946)?;
                AlterTableAction::RenameConstraint { from, to: self.ident(2250)? }
            }
            () if self.at_any(&["ENABLE", "DISABLE"]) => self.enable_disable()?,
            () if self.eat_words(&["MINIMIZE", "RECORDS_PER_BLOCK"]) => AlterTableAction::MinimizeRecords(true),
            () if self.eat_words(&["NOMINIMIZE", "RECORDS_PER_BLOCK"]) => AlterTableAction::MinimizeRecords(false),
            () if self.eat_words(&["READ", "ONLY"]) => AlterTableAction::ReadOnly(true),
            () if self.eat_words(&["READ", "WRITE"]) => AlterTableAction::ReadOnly(false),
            () if self.eat_word("MOVE") => {
                let mut keep = self.eat_word("ONLINE");
                let mut options = SegmentOptions::default();
                let mut lobs = Vec::new();
                loop {
                    if self.eat_words(&["UPDATE", "INDEXES"]) {
                        keep = true;
                    } else if let Some(lob) = self.lob_storage()? {
                        lobs.push(AlterTableAction::Lob(lob));
                    } else if !self.segment_option(&mut options)? {
                        break;
                    }
                }
                // The table's new tablespace is known when the LOBs are looked at.
                actions.push(AlterTableAction::Move { options, keep });
                actions.append(&mut lobs);
                return Ok(());
            }
            () if self.at_word("SHRINK") => {
                let pos = self.pos();
                self.shrink_space()?;
                AlterTableAction::Shrink { pos }
            }
            () if self.at_word("COALESCE") && self.end_ahead(1) => {
                let pos = self.pos();
                self.bump();
                AlterTableAction::Coalesce { pos }
            }
            () if self.at_any(&["DEALLOCATE", "ALLOCATE", "EXCHANGE", "SPLIT", "MERGE", "TRUNCATE", "COALESCE"]) => {
                let pos = self.pos();
                AlterTableAction::Other { text: self.raw_rest_words()?, pos }
            }
            () => {
                let mut options = SegmentOptions::default();
                if !self.segment_option(&mut options)? {
                    return self.fail(1735);
                }
                while self.segment_option(&mut options)? {}
                AlterTableAction::Options(options)
            }
        };
        actions.push(action);
        Ok(())
    }

    /// `SHRINK SPACE [COMPACT] [CASCADE]`; returns whether COMPACT is present.
    fn shrink_space(&mut self) -> Result<bool> {
        self.bump();
        self.expect_word("SPACE", 10630)?;
        let compact = self.eat_word("COMPACT");
        self.eat_word("CASCADE");
        if self.at(TokenKind::End) { Ok(compact) } else { self.fail(10630) }
    }

    fn alter_table_add(&mut self, actions: &mut Vec<AlterTableAction>) -> Result<()> {
        self.bump();
        let parenthesised = self.eat(TokenKind::LeftParen);
        self.eat_word("COLUMN");
        let mut columns = Vec::new();
        loop {
            let out_of_line = self.at_table_constraint();
            if out_of_line {
                actions.push(AlterTableAction::AddConstraint(self.table_constraint()?));
            } else {
                columns.push(self.column_spec()?);
            }
            if !parenthesised || !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if parenthesised {
            self.right_paren()?;
        }
        if !columns.is_empty() {
            // Columns come first, because constraints may name them.
            actions.insert(0, AlterTableAction::AddColumns(columns));
        }
        while let Some(lob) = self.lob_storage()? {
            actions.push(AlterTableAction::Lob(lob));
        }
        Ok(())
    }

    fn alter_table_modify(&mut self) -> Result<AlterTableAction> {
        self.bump();
        if self.at_word("LOB") && self.kind_ahead(1, TokenKind::LeftParen) {
            return self.modified_lob().map(AlterTableAction::Lob);
        }
        if let Some(target) = self.constraint_ref()? {
            let here = self.pos();
            let tail = self.constraint_tail()?;
            // DEFERRABLE can be given only when a constraint is created.
            if tail.clause.deferrable.is_some() || tail.using.is_some() {
                return Err(self.error_at(933, here));
            }
            let cascade = self.eat_word("CASCADE");
            let (clause, exceptions) = (tail.clause, tail.exceptions);
            return Ok(AlterTableAction::ModifyConstraint { target, clause, cascade, exceptions });
        }
        if self.eat(TokenKind::LeftParen) {
            let columns = self.comma_list(Self::column_spec)?;
            self.right_paren()?;
            return Ok(AlterTableAction::ModifyColumns(columns));
        }
        self.eat_word("COLUMN");
        Ok(AlterTableAction::ModifyColumns(vec![self.column_spec()?]))
    }

    /// `CONSTRAINT name`, `PRIMARY KEY` or `UNIQUE (columns)`.
    fn constraint_ref(&mut self) -> Result<Option<ConstraintRef>> {
        Ok(match () {
            () if self.eat_word("CONSTRAINT") => Some(ConstraintRef::Name(self.ident(2250)?)),
            () if self.eat_words(&["PRIMARY", "KEY"]) => Some(ConstraintRef::PrimaryKey),
            () if self.eat_word("UNIQUE") => Some(ConstraintRef::Unique(self.ident_list(904)?)),
            () => None,
        })
    }

    fn alter_table_drop(&mut self) -> Result<AlterTableAction> {
        self.bump();
        if let Some(target) = self.constraint_ref()? {
            let mut cascade = false;
            let mut index = KeyIndex::default();
            loop {
                match () {
                    () if self.eat_word("CASCADE") => cascade = true,
                    () if self.eat_words(&["KEEP", "INDEX"]) => index = KeyIndex::Keep,
                    () if self.eat_words(&["DROP", "INDEX"]) => index = KeyIndex::Drop,
                    () if self.eat_word("ONLINE") => {}
                    () => break,
                }
            }
            return Ok(AlterTableAction::DropConstraint { target, cascade, index });
        }
        if self.at_words(&["UNUSED", "COLUMNS"]) {
            let pos = self.pos();
            return Ok(AlterTableAction::Other { text: format!("DROP {}", self.raw_rest_words()?), pos });
        }
        self.drop_columns(false)
    }

    fn drop_columns(&mut self, unused: bool) -> Result<AlterTableAction> {
        let columns = if self.eat_word("COLUMN") {
            vec![self.ident(904)?]
        } else if self.at(TokenKind::LeftParen) {
            self.ident_list(904)?
        } else {
            return self.fail(905);
        };
        let cascade = self.eat_words(&["CASCADE", "CONSTRAINTS"]);
        self.eat_word("INVALIDATE");
        Ok(AlterTableAction::DropColumns { columns, cascade, unused })
    }

    fn enable_disable(&mut self) -> Result<AlterTableAction> {
        let pos = self.pos();
        let start = self.at;
        let enable = self.eat_any(&["ENABLE", "DISABLE"]) == Some(0);
        let validate = match self.eat_any(&["VALIDATE", "NOVALIDATE"]) {
            Some(i) => i == 0,
            None => enable,
        };
        if let Some(target) = self.constraint_ref()? {
            let (mut cascade, mut index, mut using, mut exceptions) = (false, KeyIndex::default(), None, None);
            loop {
                match () {
                    () if self.eat_word("CASCADE") => cascade = true,
                    () if self.eat_words(&["KEEP", "INDEX"]) => index = KeyIndex::Keep,
                    () if self.eat_words(&["DROP", "INDEX"]) => index = KeyIndex::Drop,
                    () if self.at_words(&["USING", "INDEX"]) => using = Some(Box::new(self.using_index()?)),
                    () if self.eat_words(&["EXCEPTIONS", "INTO"]) => exceptions = Some(self.name(903)?),
                    () => break,
                }
            }
            return Ok(AlterTableAction::EnableConstraint {
                target,
                enable,
                validate,
                cascade,
                index,
                using,
                exceptions,
            });
        }
        if self.eat_words(&["ROW", "MOVEMENT"]) {
            return Ok(AlterTableAction::RowMovement(enable));
        }
        if self.eat_words(&["ALL", "TRIGGERS"]) {
            return Ok(AlterTableAction::AllTriggers(enable));
        }
        self.at = start;
        if self.word_ahead(1, "ROW") || self.word_ahead(1, "ALL") || self.word_ahead(1, "TABLE") {
            return Ok(AlterTableAction::Other { text: self.raw_rest_words()?, pos });
        }
        self.fail(1735)
    }

    fn alter_index(&mut self, pos: Pos) -> Result<Ddl> {
        let name = self.name(953)?;
        let action = match () {
            () if self.eat_word("REBUILD") => {
                let mut options = SegmentOptions::default();
                let mut online = false;
                let partition = match self.eat_word("PARTITION") {
                    true => Some(self.ident(14006)?),
                    false => None,
                };
                loop {
                    let how = self.eat_any(&["ONLINE", "REVERSE", "NOREVERSE"]);
                    online |= how == Some(0);
                    if how.is_some()
                        || self.eat_words(&["COMPUTE", "STATISTICS"])
                        || self.segment_option(&mut options)?
                    {
                        continue;
                    }
                    break;
                }
                AlterIndexAction::Rebuild { options, online, partition }
            }
            () if self.eat_words(&["RENAME", "TO"]) => AlterIndexAction::RenameTo(self.ident(953)?),
            () if self.eat_words(&["RENAME", "PARTITION"]) => {
                let from = self.ident(14006)?;
                self.expect_word("TO", 946)?;
                AlterIndexAction::RenamePartition { from, to: self.ident(14006)? }
            }
            () if self.eat_words(&["MODIFY", "PARTITION"]) => {
                let partition = self.ident(14006)?;
                self.expect_word("UNUSABLE", 2243)?;
                AlterIndexAction::PartitionUnusable(partition)
            }
            () if self.eat_word("UNUSABLE") => AlterIndexAction::Unusable,
            () if self.eat_word("VISIBLE") => AlterIndexAction::Visible(true),
            () if self.eat_word("INVISIBLE") => AlterIndexAction::Visible(false),
            () if self.eat_word("COALESCE") => AlterIndexAction::Coalesce,
            () if self.at_word("SHRINK") => AlterIndexAction::Shrink { compact: self.shrink_space()? },
            () if self.at_any(&["MONITORING", "NOMONITORING", "COMPILE", "ENABLE", "DISABLE", "DEALLOCATE"]) => {
                let pos = self.pos();
                AlterIndexAction::Other { text: self.raw_rest_words()?, pos }
            }
            () => {
                let mut options = SegmentOptions::default();
                if !self.segment_option(&mut options)? {
                    return self.fail(2243);
                }
                while self.segment_option(&mut options)? {}
                AlterIndexAction::Options(options)
            }
        };
        Ok(Ddl::AlterIndex(AlterIndex { name, action, pos }))
    }
}
