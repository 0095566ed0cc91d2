//! The contents of a control file.

use super::entries::{BackupEntry, Contents, FileEntry, GoneEntry, OfflineEntry, PartBlocks, TablespaceEntry};
use redo::{CheckpointEntry, IncarnationEntry, LogGroupEntry, LoggedEntry};
use types::{Rdba, Scn};

/// The contents of the control file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlFile {
    /// Identifies the database.
    pub database: u64,
    /// Name of the database.
    pub name: String,
    /// Block size in bytes.
    pub block_size: usize,
    /// Blocks of a part of a bigfile.
    pub part_blocks: PartBlocks,
    /// Number of writes of the control file.
    pub writes: u64,
    /// The life of the double-write area whose copies are valid; 0: none.
    pub double_write: u64,
    /// SCN at the last clean shutdown.
    pub scn: Scn,
    /// True when the last instance shut down cleanly: all changes are in the files.
    pub clean: bool,
    /// The last checkpoint.
    pub checkpoint: CheckpointEntry,
    /// The present incarnation.
    pub incarnation: IncarnationEntry,
    /// ARCHIVELOG mode: a log is reused only after it was archived.
    pub archivelog: bool,
    /// The online logs. The one with the highest sequence number is the current one.
    pub logs: Vec<LogGroupEntry>,
    /// Complete sequences, oldest first; at most the newest [`ControlFile::LOGGED_MAX`].
    pub logged: Vec<LoggedEntry>,
    /// The tablespaces.
    pub tablespaces: Vec<TablespaceEntry>,
    /// The data files.
    pub files: Vec<FileEntry>,
    /// Data files in backup mode.
    pub backups: Vec<BackupEntry>,
    /// The stops of data files that are offline, alone or with their tablespace. A file that is offline alone and has
    /// no entry here was being taken offline when a process died: its redo may extend to the end of the redo.
    pub offline: Vec<OfflineEntry>,
    /// A hash of the base tables of the dictionary; a build with other base tables refuses the database. 0: unknown.
    pub dictionary: u64,
    /// Files that were dropped in ARCHIVELOG mode, oldest first; at most the newest [`ControlFile::GONE_MAX`].
    pub gone: Vec<GoneEntry>,
    /// Tablespaces that were dropped with the last of these files.
    pub gone_tablespaces: Vec<TablespaceEntry>,
    /// Files that were dropped before this redo address are no longer all in `gone`.
    pub forgotten_rba: u64,
}

impl ControlFile {
    /// The most online log groups.
    pub const LOGS_MAX: u32 = redo::LOGS_MAX;
    /// Number of dropped files that are kept.
    pub const GONE_MAX: usize = 500;
    /// Number of complete sequences that are kept.
    pub const LOGGED_MAX: usize = redo::LOGGED_MAX;
    /// Upper bound of redo addresses.
    pub const RBA_LIMIT: u64 = redo::RBA_LIMIT;

    /// The current online log: the one with the highest sequence number. `None` before the first log was opened.
    pub fn current_log(&self) -> Option<&LogGroupEntry> {
        self.logs.iter().filter(|l| l.sequence > 0).max_by_key(|l| l.sequence)
    }

    /// The oldest online log that has not been archived: the archived logs hold all redo before its start. In
    /// ARCHIVELOG mode this is the current log, or a complete one whose archiving is in progress.
    pub fn oldest_unarchived_log(&self) -> Option<&LogGroupEntry> {
        self.logs.iter().filter(|l| l.sequence > 0 && !l.archived).min_by_key(|l| l.sequence)
    }

    /// True when the file is in backup mode.
    pub fn is_copied(&self, number: u32) -> bool {
        self.backups.iter().any(|b| b.file == number)
    }

    /// The data file with this number.
    pub fn file(&self, number: u32) -> Option<&FileEntry> {
        self.files.iter().find(|f| f.file == number)
    }

    /// The files: the entries without the later parts of bigfiles.
    pub fn heads(&self) -> impl Iterator<Item = &FileEntry> {
        self.files.iter().filter(|f| f.is_head())
    }

    /// The entries of the file with this number, in the order of the parts; none when there is no such file. A
    /// smallfile has one.
    pub fn parts_of(&self, head: u32) -> Vec<&FileEntry> {
        let mut parts: Vec<&FileEntry> = self.files.iter().filter(|f| f.head() == head).collect();
        parts.sort_unstable_by_key(|f| f.part);
        parts
    }

    /// True for a file of a bigfile tablespace.
    pub fn is_bigfile(&self, f: &FileEntry) -> bool {
        self.tablespace(f.tablespace).is_some_and(|t| t.is_bigfile)
    }

    /// True for a file that is not rolled forward at a start: a temporary one, and one of a read-only tablespace.
    pub(crate) fn is_kept(&self, f: &FileEntry) -> bool {
        self.tablespace(f.tablespace).is_some_and(|t| t.is_read_only || t.contents == Contents::Temporary)
    }

    /// The number and the block of a file as users see them: for a later part of a bigfile, the number of the file and
    /// the block's number in it.
    pub fn shown(&self, at: Rdba) -> (u32, u32) {
        let place = self.file(at.file()).map_or((at.file(), 0), |f| (f.head(), f.part));
        (place.0, place.1.wrapping_mul(self.part_blocks.0).wrapping_add(at.block()))
    }

    /// The most blocks of the file or part of this entry.
    pub fn blocks_most(&self, f: &FileEntry) -> u32 {
        if self.is_bigfile(f) { self.part_blocks.0 } else { Rdba::MAX_BLOCK + 1 }
    }

    /// A file number that no entry has, for a file or, with `part`, for a part. Files have the lowest numbers and parts
    /// the highest, so that users see numbers without gaps. Prefers a number that no dropped file has: a restore can
    /// then assign redo to files by number.
    pub(crate) fn free_number(&self, made: &[FileEntry], part: bool) -> Option<u32> {
        let taken = |n: &u32| self.files.iter().chain(made).any(|f| f.file == *n);
        let fresh = |n: &u32| !taken(n) && self.gone.iter().all(|g| g.file.file != *n);
        let numbers = || (1..=Rdba::MAX_FILE).map(move |n| if part { Rdba::MAX_FILE + 1 - n } else { n });
        numbers().find(fresh).or_else(|| numbers().find(|n| !taken(n)))
    }

    /// The redo up to which a file that is offline must be recovered; `None` when the file is not offline or the end is
    /// not noted yet.
    pub fn stop_of(&self, number: u32) -> Option<&CheckpointEntry> {
        self.offline.iter().find(|o| o.file == number).map(|o| &o.stop)
    }

    /// The tablespace with this name.
    pub fn tablespace_named(&self, name: &str) -> Option<&TablespaceEntry> {
        self.tablespaces.iter().find(|t| t.name == name)
    }

    /// The tablespace with this number.
    pub fn tablespace(&self, number: u32) -> Option<&TablespaceEntry> {
        self.tablespaces.iter().find(|t| t.number == number)
    }
}
