//! The definitions of new tablespaces and databases.

use crate::control::{Contents, PartBlocks};
use crate::tablespace;
use types::Rdba;

/// The definition of a new tablespace with one file.
#[derive(Clone, Debug)]
pub struct TablespaceSpec {
    /// Name of the tablespace, in upper case.
    pub name: String,
    /// Number of the tablespace.
    pub number: u32,
    /// The contents of the tablespace.
    pub contents: Contents,
    /// Name of the file.
    pub file_name: String,
    /// Size in bytes at creation.
    pub bytes: u64,
    /// Size in bytes up to which the file may grow automatically; 0 when it may not.
    pub bytes_max: u64,
    /// Bytes of one growth step.
    pub step_bytes: u64,
}

/// The definition of a new database.
#[derive(Clone, Debug)]
pub struct CreateDatabase {
    /// Its name.
    pub name: String,
    /// A number that no other database has.
    pub id: u64,
    /// Block size in bytes: a power of two from 2 KB to 32 KB.
    pub block_size: usize,
    /// The tablespaces.
    pub tablespaces: Vec<TablespaceSpec>,
    /// A hash of the base tables of the dictionary.
    pub dictionary: u64,
    /// Blocks of a part of a bigfile: the default, except in tests.
    pub part_blocks: PartBlocks,
    /// Its files grow without allocated space, as in [`super::DataFiles::set_transient`].
    pub is_transient: bool,
}

impl CreateDatabase {
    /// SYSTEM, UNDO, USERS and TEMP with small files that grow automatically.
    pub fn usual(name: &str, id: u64, block_size: usize) -> CreateDatabase {
        let spec = |number, name: &str, file: &str| TablespaceSpec {
            name: name.into(),
            number,
            contents: match number {
                tablespace::TEMP => Contents::Temporary,
                tablespace::UNDO => Contents::Undo,
                _ => Contents::Permanent,
            },
            file_name: file.into(),
            bytes: 512 * block_size as u64,
            bytes_max: (u64::from(Rdba::MAX_BLOCK) + 1) * block_size as u64,
            step_bytes: 1024 * block_size as u64,
        };
        CreateDatabase {
            name: name.into(),
            id,
            block_size,
            dictionary: 0,
            part_blocks: PartBlocks::default(),
            is_transient: false,
            tablespaces: vec![
                spec(tablespace::SYSTEM, "SYSTEM", "system01.dbf"),
                spec(tablespace::UNDO, "UNDO", "undo01.dbf"),
                spec(tablespace::USERS, "USERS", "users01.dbf"),
                spec(tablespace::TEMP, "TEMP", "temp01.dbf"),
            ],
        }
    }
}
