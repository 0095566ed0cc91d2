//! Block 0 of a data file: which database and tablespace it belongs to, and its geometry.
//!
//! ```text
//! 32 | magic "LATCHWRK"      8 bytes
//! 40 | database id           u64
//! 48 | block size  file no   u32 u32
//! 56 | tablespace  created   u32 u32 (blocks at creation)
//! 64 | maximum blocks, 0 = no autoextend; step in blocks   u32 u32
//! 72 | checkpoint: position in the redo stream   u64
//! 80 | incarnation of the database   u32
//! 84 | time of the checkpoint, seconds since 1970 UTC   u32
//! 88 | scn of the checkpoint   u64
//! ```

use crate::header::{self, BlockKind, put32, put64};
use crate::view::BlockView;
use types::{ObjectId, Rdba};

const MAGIC: u64 = u64::from_le_bytes(*b"LATCHWRK");

/// The fields of a file header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Identifies the database; a file with another id is refused.
    pub database: u64,
    /// Block size in bytes.
    pub block_size: u32,
    /// File number, 1 … 1023.
    pub file: u32,
    /// Tablespace number.
    pub tablespace: u32,
    /// Size at creation in blocks.
    pub blocks: u32,
    /// Size up to which the file may grow automatically, in blocks; 0 when it may not.
    pub blocks_max: u32,
    /// Blocks of one growth step.
    pub step: u32,
}

/// The checkpoint of a file: the file contains every change before `rba`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCheckpoint {
    /// Position in the redo stream; 0 until the first checkpoint behind the file's creation.
    pub rba: u64,
    /// The incarnation of the database that wrote the redo.
    pub incarnation: u32,
    /// When the checkpoint was begun: seconds since 1970, UTC.
    pub time_s: u32,
    /// The highest SCN of the redo before it.
    pub scn: u64,
}

/// Reads the checkpoint in a file header.
pub fn checkpoint(view: &BlockView) -> FileCheckpoint {
    FileCheckpoint { rba: view.u64(72), incarnation: view.u32(80), time_s: view.u32(84), scn: view.u64(88) }
}

/// Writes a checkpoint into a file header. Only bytes of the block's first sector change, including the checksum once
/// the block is sealed.
pub fn set_checkpoint(block: &mut [u8], at: &FileCheckpoint) {
    put64(block, 72, at.rba);
    put32(block, 80, at.incarnation);
    put32(block, 84, at.time_s);
    put64(block, 88, at.scn);
}

/// Writes the id of a database into a file header. Only bytes of the block's first sector change, as in
/// [`set_checkpoint`].
pub fn set_database(block: &mut [u8], database: u64) {
    put64(block, 40, database);
}

/// Makes `block` the header of a file.
pub fn format(block: &mut [u8], h: &FileHeader) {
    header::format(block, BlockKind::FileHeader, Rdba::new(h.file, 0), ObjectId(0), Rdba(0));
    put64(block, 32, MAGIC);
    put64(block, 40, h.database);
    for (i, v) in [h.block_size, h.file, h.tablespace, h.blocks, h.blocks_max, h.step].into_iter().enumerate() {
        put32(block, 48 + 4 * i, v);
    }
}

/// Reads a file header; `None` when the magic number is missing.
pub fn read(view: &BlockView) -> Option<FileHeader> {
    (view.u64(32) == MAGIC && view.kind() == Some(BlockKind::FileHeader)).then(|| FileHeader {
        database: view.u64(40),
        block_size: view.u32(48),
        file: view.u32(52),
        tablespace: view.u32(56),
        blocks: view.u32(60),
        blocks_max: view.u32(64),
        step: view.u32(68),
    })
}
