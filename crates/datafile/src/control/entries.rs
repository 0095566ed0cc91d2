//! The tablespaces and files of a control file.

use redo::CheckpointEntry;
use types::{Rdba, Scn};

types::numbered! {
    /// The contents of a tablespace.
    #[derive(Debug, Default, PartialEq, Eq)]
    pub enum Contents: u32 {
        /// Segments of users and of the dictionary.
        #[default]
        Permanent = 0,
        /// Sorted runs and rows of temporary tables. Its files are neither logged nor recovered.
        Temporary = 1,
        /// Undo segments.
        Undo = 2,
    }
}

/// A tablespace of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablespaceEntry {
    /// Its number.
    pub number: u32,
    /// Its name, in upper case.
    pub name: String,
    /// Blocks of every extent (`UNIFORM`); 0 when the extent size depends on the size of the segment.
    pub extent_blocks: u32,
    /// The contents of its segments.
    pub contents: Contents,
    /// Offline: its blocks can neither be read nor written.
    pub is_offline: bool,
    /// Read-only: its blocks cannot be changed.
    pub is_read_only: bool,
    /// A bigfile tablespace has one file and gets no other.
    pub is_bigfile: bool,
    /// Its segments are NOLOGGING by default.
    pub is_nologging: bool,
    /// Its files are to be deleted when the dictionary does not know it: DROP TABLESPACE with its data files had begun.
    pub deletes_files: bool,
    /// RETENTION GUARANTEE: unexpired undo is kept even when there is no space for new undo.
    pub guarantees_retention: bool,
}

impl TablespaceEntry {
    pub(super) fn flags(&self) -> u32 {
        let all = [
            self.is_offline,
            self.is_read_only,
            self.is_bigfile,
            self.is_nologging,
            self.deletes_files,
            self.guarantees_retention,
        ];
        all.iter().enumerate().map(|(i, on)| u32::from(*on) << i).sum()
    }
}

/// The number of blocks that one file number addresses in a bigfile. Stored in the control file; a database has
/// [`PartBlocks::default`], tests have less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartBlocks(pub u32);

impl Default for PartBlocks {
    fn default() -> PartBlocks {
        PartBlocks(Rdba::MAX_BLOCK + 1)
    }
}

/// A data file of the database, or a part of a bigfile.
///
/// A file number addresses 4,194,304 blocks. A bigfile takes a further number, and an entry of its own, for each
/// further 4,194,304 blocks: a *part*. Part `n` begins in the file at that many times [`PartBlocks`], with a header
/// block and bitmaps of its own. The entry of the first part describes the file: its number is the file number of the
/// views, and its growth is that of the whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileEntry {
    /// File number, 1 … 1023.
    pub file: u32,
    /// Number of its tablespace.
    pub tablespace: u32,
    /// Size at creation, in blocks; of a bigfile, the size of this part.
    pub blocks: u32,
    /// Size up to which the file may grow automatically, in blocks; 0 when it may not. 0 in later parts.
    pub blocks_max: u32,
    /// Blocks of one growth step.
    pub step: u32,
    /// The number of the part; 0 for the first part of a bigfile and for smallfiles.
    pub part: u32,
    /// The file number of the first part, in the entry of a later part; otherwise 0.
    pub first: u32,
    /// The redo address and the SCN at its creation. Earlier redo belongs to an earlier file with the same number:
    /// recovery skips it.
    pub created_rba: u64,
    pub created_scn: Scn,
    /// The file alone was taken offline.
    pub is_offline: bool,
    /// Its name: relative to the database directory, or an absolute path.
    pub name: String,
}

impl FileEntry {
    /// True for the entry that describes a file, false for a later part of a bigfile.
    pub fn is_head(&self) -> bool {
        self.part == 0
    }

    /// The file number of the first part: the number that users see.
    pub fn head(&self) -> u32 {
        if self.is_head() { self.file } else { self.first }
    }

    /// The most blocks that part `part` of the file with this first entry may grow to; parts have `part_most` blocks at
    /// most.
    pub fn most_in_part(&self, part: u32, part_most: u32) -> u32 {
        let before = u64::from(part) * u64::from(part_most);
        u64::from(self.blocks_max).saturating_sub(before).min(part_most.into()) as u32
    }
}

/// A data file in backup mode, being copied while it is open: ALTER DATABASE BEGIN BACKUP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupEntry {
    /// Its number.
    pub file: u32,
    /// The checkpoint at which the backup began. The header of the file keeps it until the backup ends.
    pub checkpoint: CheckpointEntry,
}

/// A data file that was taken offline, and the redo that it needs before it can come back online.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfflineEntry {
    /// Its number.
    pub file: u32,
    /// No redo behind this address belongs to the file.
    pub stop: CheckpointEntry,
}

/// A data file that was dropped in ARCHIVELOG mode: a restore to an earlier time needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoneEntry {
    /// The redo address at which it was dropped: no redo behind it belongs to this file.
    pub dropped_rba: u64,
    /// Its entry before the drop.
    pub file: FileEntry,
}
