//! CREATE and ALTER TABLESPACE, and ALTER DATABASE for files.

use super::Parser;
use crate::ast::*;
use crate::lexer::TokenKind;
use ::types::Result;

impl Parser<'_> {
    pub(super) fn create_tablespace(&mut self, pos: Pos) -> Result<Ddl> {
        let (mut contents, mut bigfile) = (TablespaceContents::Permanent, None);
        loop {
            match self.eat_any(&["BIGFILE", "SMALLFILE", "TEMPORARY", "UNDO", "TABLESPACE"]) {
                Some(0) => bigfile = Some(true),
                Some(1) => bigfile = Some(false),
                Some(2) => contents = TablespaceContents::Temporary,
                Some(3) => contents = TablespaceContents::Undo,
                Some(_) => break,
                None => return self.fail(901),
            }
        }
        let name = self.ident(2216)?;
        let mut create = CreateTablespace {
            name,
            contents,
            bigfile,
            files: Vec::new(),
            uniform: None,
            nologging: false,
            offline: false,
            block_size: None,
            retention: None,
            not_for_undo: None,
            pos,
        };
        if self.eat_any(&["DATAFILE", "TEMPFILE"]).is_some() {
            create.files = self.file_specs()?;
        }
        while !self.at(TokenKind::End) {
            self.tablespace_option(&mut create)?;
        }
        Ok(Ddl::CreateTablespace(create))
    }

    fn tablespace_option(&mut self, create: &mut CreateTablespace) -> Result<()> {
        let pos = self.pos();
        if !self.at_any(&["EXTENT", "AUTOALLOCATE", "ONLINE", "FLASHBACK", "RETENTION", "BLOCKSIZE"]) {
            create.not_for_undo = create.not_for_undo.or(Some(pos));
        }
        match () {
            () if self.eat_words(&["EXTENT", "MANAGEMENT", "LOCAL"]) => {}
            () if self.eat_word("UNIFORM") => {
                let size = if self.eat_word("SIZE") { Some(self.size_value(2237)?) } else { None };
                create.uniform = Some(size);
            }
            () if self.eat_word("AUTOALLOCATE") => create.uniform = None,
            () if self.eat_words(&["SEGMENT", "SPACE", "MANAGEMENT"]) => {
                if self.eat_any(&["AUTO", "MANUAL"]).is_none() {
                    return self.fail(2180);
                }
            }
            () if self.eat_word("LOGGING") => create.nologging = false,
            () if self.eat_word("NOLOGGING") => create.nologging = true,
            () if self.eat_words(&["FORCE", "LOGGING"]) => {}
            () if self.eat_word("ONLINE") => create.offline = false,
            () if self.eat_word("OFFLINE") => create.offline = true,
            () if self.eat_word("PERMANENT") => {}
            () if self.eat_words(&["FLASHBACK", "ON"]) || self.eat_words(&["FLASHBACK", "OFF"]) => {}
            () if self.eat_words(&["RETENTION", "GUARANTEE"]) => create.retention = Some((true, pos)),
            () if self.eat_words(&["RETENTION", "NOGUARANTEE"]) => create.retention = Some((false, pos)),
            () if self.eat_words(&["TABLESPACE", "GROUP"]) => drop(self.string(2216)?),
            () if self.eat_word("BLOCKSIZE") => {
                let pos = self.pos();
                create.block_size = Some((self.size_value(2237)?, pos));
            }
            () if self.eat_word("DEFAULT") => drop(self.raw_rest_words()?),
            () => return self.fail(2180),
        }
        Ok(())
    }

    fn file_specs(&mut self) -> Result<Vec<FileSpec>> {
        self.comma_list(|p| {
            let pos = p.pos();
            let name = if p.at(TokenKind::String) { Some(p.string(2236)?) } else { None };
            let mut file = FileSpec { name, size: None, reuse: false, autoextend: None, pos };
            if p.eat_word("SIZE") {
                file.size = Some(p.size_value(2237)?);
            }
            file.reuse = p.eat_word("REUSE");
            if p.eat_word("AUTOEXTEND") {
                file.autoextend = Some(p.autoextend()?);
            }
            Ok(file)
        })
    }

    /// The rest of AUTOEXTEND.
    fn autoextend(&mut self) -> Result<Autoextend> {
        if self.eat_word("OFF") {
            return Ok(Autoextend::Off);
        }
        self.expect_word("ON", 922)?;
        let next = if self.eat_word("NEXT") { Some(self.size_value(2237)?) } else { None };
        let mut max = None;
        if self.eat_word("MAXSIZE") && !self.eat_word("UNLIMITED") {
            max = Some(self.size_value(2494)?);
        }
        Ok(Autoextend::On { next, max })
    }

    fn file_ref(&mut self) -> Result<FileRef> {
        let pos = self.pos();
        if self.at(TokenKind::Number) {
            return Ok(FileRef::Number(self.integer64(2236)?, pos));
        }
        Ok(FileRef::Name(self.string(2236)?, pos))
    }

    pub(super) fn alter_tablespace(&mut self, pos: Pos) -> Result<Ddl> {
        let name = self.ident(2216)?;
        let action = match () {
            () if self.eat_word("ADD") => {
                let temp = self.data_or_temp()?;
                TablespaceAction::AddFiles { temp, files: self.file_specs()? }
            }
            () if self.eat_word("DROP") => {
                let temp = self.data_or_temp()?;
                TablespaceAction::DropFile { temp, file: self.file_ref()? }
            }
            () if self.eat_words(&["RENAME", "TO"]) => TablespaceAction::Rename(self.ident(2216)?),
            () if self.eat_word("OFFLINE") => {
                self.eat_any(&["NORMAL", "TEMPORARY", "IMMEDIATE"]);
                TablespaceAction::Offline
            }
            () if self.eat_word("ONLINE") => TablespaceAction::Online,
            () if self.eat_words(&["READ", "ONLY"]) => TablespaceAction::ReadOnly,
            () if self.eat_words(&["READ", "WRITE"]) => TablespaceAction::ReadWrite,
            () if self.eat_words(&["BEGIN", "BACKUP"]) => TablespaceAction::BeginBackup,
            () if self.eat_words(&["END", "BACKUP"]) => TablespaceAction::EndBackup,
            () if self.eat_word("RESIZE") => TablespaceAction::Resize(self.size_value(2237)?),
            () if self.eat_word("AUTOEXTEND") => TablespaceAction::Autoextend(self.autoextend()?),
            () if self.eat_word("LOGGING") => TablespaceAction::Logging(true),
            () if self.eat_word("NOLOGGING") => TablespaceAction::Logging(false),
            () if self.eat_words(&["RETENTION", "GUARANTEE"]) => TablespaceAction::Retention(true),
            () if self.eat_words(&["RETENTION", "NOGUARANTEE"]) => TablespaceAction::Retention(false),
            () if self.at_any(&["COALESCE", "FORCE", "FLASHBACK", "DEFAULT", "SHRINK", "NO"]) => {
                self.raw_rest_words()?;
                TablespaceAction::Nothing
            }
            () => return self.fail(2142),
        };
        self.expect_end(2142)?;
        Ok(Ddl::AlterTablespace(AlterTablespace { name, action, pos }))
    }

    /// Undo segments cannot be created manually.
    pub(super) fn at_rollback_segment(&self) -> bool {
        self.at_words(&["ROLLBACK", "SEGMENT"]) || self.at_words(&["PUBLIC", "ROLLBACK", "SEGMENT"])
    }

    /// True for TEMPFILE.
    fn data_or_temp(&mut self) -> Result<bool> {
        match self.eat_any(&["DATAFILE", "TEMPFILE"]) {
            Some(i) => Ok(i == 1),
            None => self.fail(2142),
        }
    }

    /// `ALTER DATABASE DATAFILE|TEMPFILE ...`, `ALTER DATABASE DEFAULT ... TABLESPACE` and `ALTER DATABASE SET DEFAULT
    /// ... TABLESPACE`, after the word DATABASE.
    pub(super) fn alter_database_space(&mut self, pos: Pos) -> Result<Ddl> {
        if self.eat_words(&["SET", "DEFAULT"]) {
            let Some(kind) = self.eat_any(&["SMALLFILE", "BIGFILE"]) else { return self.fail(2231) };
            self.expect_word("TABLESPACE", 2231)?;
            self.expect_end(2231)?;
            return Ok(Ddl::DefaultTablespaceType(DefaultTablespaceType { bigfile: kind == 1, pos }));
        }
        if self.eat_word("DEFAULT") {
            let temporary = self.eat_word("TEMPORARY");
            self.expect_word("TABLESPACE", 2231)?;
            return Ok(Ddl::DefaultTablespace(DefaultTablespace { temporary, name: self.ident(2216)?, pos }));
        }
        if self.eat_words(&["CREATE", "DATAFILE"]) {
            let files = self.comma_list(|p| p.file_ref())?;
            let names = if self.eat_word("AS") { self.file_specs()? } else { Vec::new() };
            return self.altered_files(files, FileAction::Recreate { names }, pos);
        }
        if self.eat_words(&["RENAME", "FILE"]) {
            let files = self.comma_list(|p| p.file_ref())?;
            self.expect_word("TO", 2231)?;
            let names = self.comma_list(|p| p.string(2236))?;
            return self.altered_files(files, FileAction::Rename { names }, pos);
        }
        let temp = self.data_or_temp()?;
        let files = self.comma_list(|p| p.file_ref())?;
        let action = match () {
            () if self.eat_word("RESIZE") => FileAction::Resize(self.size_value(2237)?),
            () if self.eat_word("AUTOEXTEND") => FileAction::Autoextend(self.autoextend()?),
            () if self.eat_word("OFFLINE") => {
                let drop = self.eat_words(&["FOR", "DROP"]) || self.eat_word("DROP");
                FileAction::Offline { drop }
            }
            () if self.eat_word("ONLINE") => FileAction::Online,
            () if temp && self.eat_word("DROP") => {
                FileAction::Drop { delete: self.eat_words(&["INCLUDING", "DATAFILES"]) }
            }
            () => return self.fail(2231),
        };
        self.expect_end(2231)?;
        Ok(Ddl::AlterFiles(AlterFiles { temp, files, action, pos }))
    }

    /// There must be as many new names as files: ORA-01511.
    fn altered_files(&mut self, files: Vec<FileRef>, action: FileAction, pos: Pos) -> Result<Ddl> {
        let given = match &action {
            FileAction::Rename { names } => Some(names.len()),
            FileAction::Recreate { names } if !names.is_empty() => Some(names.len()),
            _ => None,
        };
        if given.is_some_and(|n| n != files.len()) {
            return self.fail(1511);
        }
        self.expect_end(2231)?;
        Ok(Ddl::AlterFiles(AlterFiles { temp: false, files, action, pos }))
    }

    /// The rest of `ALTER DATABASE RECOVER`. Logs are always found and applied automatically.
    pub(super) fn recover(&mut self) -> Result<RecoverTarget> {
        self.eat_word("AUTOMATIC");
        let target = match () {
            () if self.eat_word("DATABASE") || self.at(TokenKind::End) => RecoverTarget::Database,
            () if self.eat_word("TABLESPACE") => RecoverTarget::Tablespaces(self.comma_list(|p| p.ident(2216))?),
            () if self.eat_word("DATAFILE") => RecoverTarget::Files(self.comma_list(|p| p.file_ref())?),
            () => return self.fail(2231),
        };
        self.expect_end(2231)?;
        Ok(target)
    }
}
