//! Tablespaces and data files.

use super::{Ident, Pos};

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTablespace {
    pub name: Ident,
    pub contents: TablespaceContents,
    /// BIGFILE (true) or SMALLFILE; the database's default without either.
    pub bigfile: Option<bool>,
    pub files: Vec<FileSpec>,
    /// `UNIFORM [SIZE n]`: bytes of every extent, `Some(None)` without a size.
    pub uniform: Option<Option<u64>>,
    pub nologging: bool,
    pub offline: bool,
    pub block_size: Option<(u64, Pos)>,
    /// `RETENTION GUARANTEE` (true) or `NOGUARANTEE`.
    pub retention: Option<(bool, Pos)>,
    /// Position of the first clause that is not allowed for an undo tablespace.
    pub not_for_undo: Option<Pos>,
    pub pos: Pos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TablespaceContents {
    Permanent,
    Temporary,
    Undo,
}

/// `'name' SIZE n REUSE AUTOEXTEND ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSpec {
    /// `None` for Oracle-managed files.
    pub name: Option<String>,
    pub size: Option<u64>,
    pub reuse: bool,
    pub autoextend: Option<Autoextend>,
    pub pos: Pos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Autoextend {
    Off,
    On {
        next: Option<u64>,
        /// Bytes; `None` is UNLIMITED.
        max: Option<u64>,
    },
}

/// A file, by name or number.
#[derive(Clone, Debug, PartialEq)]
pub enum FileRef {
    Name(String, Pos),
    Number(u64, Pos),
}

impl FileRef {
    pub fn pos(&self) -> Pos {
        match self {
            FileRef::Name(_, pos) | FileRef::Number(_, pos) => *pos,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterTablespace {
    pub name: Ident,
    pub action: TablespaceAction,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TablespaceAction {
    /// `ADD DATAFILE`, `ADD TEMPFILE`.
    AddFiles {
        temp: bool,
        files: Vec<FileSpec>,
    },
    /// `DROP DATAFILE`, `DROP TEMPFILE`.
    DropFile {
        temp: bool,
        file: FileRef,
    },
    Rename(Ident),
    Offline,
    Online,
    ReadOnly,
    ReadWrite,
    BeginBackup,
    EndBackup,
    /// For bigfile tablespaces.
    Resize(u64),
    /// For bigfile tablespaces.
    Autoextend(Autoextend),
    Logging(bool),
    /// `RETENTION GUARANTEE` (true) or `NOGUARANTEE`.
    Retention(bool),
    /// A clause without effect here: COALESCE, FORCE LOGGING, FLASHBACK, DEFAULT storage.
    Nothing,
}

/// `ALTER DATABASE DATAFILE|TEMPFILE ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterFiles {
    pub temp: bool,
    pub files: Vec<FileRef>,
    pub action: FileAction,
    pub pos: Pos,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FileAction {
    Resize(u64),
    Autoextend(Autoextend),
    Offline {
        drop: bool,
    },
    Online,
    /// `DROP [INCLUDING DATAFILES]`, for temporary files.
    Drop {
        delete: bool,
    },
    /// `CREATE DATAFILE ... [AS 'name', ...]`: creates lost files again, empty.
    Recreate {
        names: Vec<FileSpec>,
    },
    /// `RENAME FILE 'name', ... TO 'name', ...`.
    Rename {
        names: Vec<String>,
    },
}

/// The files to recover: `RECOVER DATABASE`, `TABLESPACE name, ...` or `DATAFILE file, ...`.
#[derive(Clone, Debug, PartialEq)]
pub enum RecoverTarget {
    Database,
    Tablespaces(Vec<Ident>),
    Files(Vec<FileRef>),
}

/// `ALTER DATABASE SET DEFAULT BIGFILE|SMALLFILE TABLESPACE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultTablespaceType {
    pub bigfile: bool,
    pub pos: Pos,
}

/// `ALTER DATABASE DEFAULT [TEMPORARY] TABLESPACE name`.
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultTablespace {
    pub temporary: bool,
    pub name: Ident,
    pub pos: Pos,
}
