//! The control file: text, one fact a line, closed by a checksum line.
//!
//! ```text
//! latchwork control file 11
//! database 81985529216486895 ORCL
//! dictionary 11400714819323198485
//! block_size 8192
//! part_blocks 4194304
//! writes 812
//! scn 4711
//! clean 1
//! double_write 77
//! checkpoint 73728 4711 1795312800
//! incarnation 1 1 1795312000
//! log_mode 0
//! log 1 3 69632 4650 1795312700 33554432 0 redo01.log
//! logged 2 1 40960 69632 4600 1795312500 4650 1795312700 0 -
//! tablespace 0 0 0 0 SYSTEM
//! file 1 0 1280 4194303 1280 0 0 0 system01.dbf
//! part 1 5 1023 7 64 0 8 81920 4720 0 big01.dbf
//! backup 1 73728 4711 1795312800
//! offline 4 81920 4720 1795312900
//! forgotten 0
//! gone_tablespace 0 0 0 0 OLD
//! gone 81920 7 5 1280 4194303 1280 40960 4600 0 old01.dbf
//! gone_part 81920 2 5 1022 7 64 0 8 81920 4720 0 big01.dbf
//! checksum 9a0c…
//! ```
//!
//! Zeros follow up to the end of the file. The control file must be writable when the disk is full, because logs switch
//! and checkpoints complete without new space. So there are two files of the same size, with room to grow: `control`
//! and `control.new`. A change overwrites and syncs `control.new`, and then exchanges the names of the two. The file in
//! force is never overwritten.
//!
//! All of this exists twice: `control02` is a second copy, exchanged just before the first. A running instance reads
//! the first copy. A start reads both; when one is missing or damaged, the error names the copy to restore it from.

use os::file::{File, OpenMode, sync_directory};
use redo::{CheckpointEntry, IncarnationEntry, LogGroupEntry, LoggedEntry};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;
use types::{Facility, Ora, Rdba, Result, Scn};

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
    fn flags(&self) -> u32 {
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

/// A data file that was taken offline alone, and the redo that it needs before it can come back online.
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
    /// Data files that are offline alone. A file that is offline and has no entry here was being taken offline when a
    /// process died: its redo may extend to the end of the redo.
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

/// The file that is written first and then renamed to the control file.
const SPARE: &str = "control.new";
const SPARE_COPY: &str = "control02.new";
/// The unit in which control files grow; they are kept one unit larger than needed.
const STEP_BYTES: u64 = 8 << 10;
const TITLE: &str = "latchwork control file ";
/// The version of the format, and of everything that the control file describes.
const VERSION: &str = "11";
/// Versions that are read, and written as [`VERSION`]. 10: no parts of bigfiles. 9: other checksums of blocks, copies
/// and backups, too.
const READ_ALSO: [&str; 2] = ["10", "9"];
/// Upper bound of the length of a control file. It has room for all files, dropped files and archived logs that a
/// control file may list, each with a name of the length that the operating system allows.
const BYTES_MAX: u64 = 16 << 20;
/// Number of reads before a control file that differs at each read and is never sound is an error.
const READ_TRIES: u32 = 100;

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

    /// Reads the control file in `directory`.
    ///
    /// # Errors
    /// ORA-00205 when it is missing or damaged; ORA-00201 when it is whole but has another version.
    pub fn read(directory: &Path) -> Result<ControlFile> {
        ControlFile::read_with(directory, &mut ControlFile::of_bytes)
    }

    /// Reads the control file in `directory`; `f` converts its bytes or refuses them as damaged.
    ///
    /// A reader without the CF enqueue may open the file just before it is exchanged, and read while the next change
    /// overwrites it. Bytes are therefore accepted only when the file is still in place after the read, and count as
    /// damaged only when a second read gives the same bytes.
    ///
    /// # Errors
    /// ORA-00205; the error of `f`.
    pub(crate) fn read_with<R>(directory: &Path, f: &mut dyn FnMut(&[u8]) -> Result<R>) -> Result<R> {
        ControlFile::read_named(directory, crate::CONTROL_FILE, f)
    }

    fn read_named<R>(directory: &Path, name: &str, f: &mut dyn FnMut(&[u8]) -> Result<R>) -> Result<R> {
        let path = directory.join(name);
        let mut before = Vec::new();
        for _ in 0..READ_TRIES {
            let (bytes, is_in_place) = ControlFile::read_bytes(&path).map_err(|_| Ora::new(205))?;
            if !is_in_place {
                continue;
            }
            match f(&bytes) {
                Err(_) if bytes != before => before = bytes,
                done => return done,
            }
        }
        Err(Ora::new(205))
    }

    /// Reads both copies before a database is opened. They differ only when a change was interrupted between the two
    /// renames. Then the newer copy is valid, as if the change had been interrupted after the second rename, and the
    /// result `true` asks the caller to write both again.
    ///
    /// # Errors
    /// ORA-00205 when a copy is missing or damaged, ORA-00214 when a copy was restored from an older backup; both with
    /// advice. ORA-00201 as [`ControlFile::read`].
    pub fn read_both(directory: &Path) -> Result<(ControlFile, bool)> {
        let read = |name| ControlFile::read_named(directory, name, &mut ControlFile::of_bytes);
        let shown = |name: &str| directory.join(name).display().to_string();
        let advice = |error: Ora, text: String| Err(error.because(Ora::from_text(Facility::Lwk, 1, text)));
        let is_there = |name: &str| match os::file::exists(&directory.join(name)) {
            true => "is damaged",
            false => "is missing",
        };
        let copy = |bad: &str, good: &str| {
            let text = format!(
                "control file '{}' {}; its copy '{good}' is whole. To go on: cp {} {}",
                shown(bad),
                is_there(bad),
                shown(good),
                shown(bad)
            );
            advice(Ora::new(205), text)
        };
        match (read(crate::CONTROL_FILE), read(crate::CONTROL_COPY)) {
            (Err(e), _) if e.is(201) => Err(e),
            (Ok(one), Ok(two)) if one == two => Ok((one, false)),
            (Ok(one), Ok(two)) if one.database == two.database && two.writes <= one.writes + 1 => {
                let newer = if two.writes > one.writes { two } else { one };
                Ok((newer, true))
            }
            (Ok(one), Ok(two)) => {
                let (a, b) = (shown(crate::CONTROL_FILE), shown(crate::CONTROL_COPY));
                let text = match one.database == two.database {
                    true => format!(
                        "'{a}' is older than '{b}'. To continue with the newer one: cp {b} {a}; to go back, restore a backup"
                    ),
                    false => {
                        format!("'{a}' and '{b}' are of different databases: remove the one that does not belong here")
                    }
                };
                advice(Ora::with(214, &[&a, &one.writes, &b, &two.writes]), text)
            }
            (Ok(_), Err(_)) => copy(crate::CONTROL_COPY, crate::CONTROL_FILE),
            (Err(_), Ok(_)) => copy(crate::CONTROL_FILE, crate::CONTROL_COPY),
            (Err(e), Err(_)) => {
                let [one, two] =
                    [crate::CONTROL_FILE, crate::CONTROL_COPY].map(|n| format!("'{}' {}", shown(n), is_there(n)));
                advice(e, format!("control file {one}, and {two}: restore a backup into another directory"))
            }
        }
    }

    /// The bytes of the control file, and whether the file was still in place after the read.
    fn read_bytes(path: &Path) -> os::OsResult<(Vec<u8>, bool)> {
        let file = File::open(path, OpenMode::Read)?;
        let mut bytes = vec![0; file.len_bytes()?.min(BYTES_MAX) as usize];
        file.read_at(&mut bytes, 0)?;
        Ok((bytes, file.is_in_place()?))
    }

    /// Parses the bytes of a control file.
    ///
    /// # Errors
    /// ORA-00205; ORA-00201 for one of another version.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<ControlFile> {
        let bad = || Ora::new(205);
        let text = std::str::from_utf8(bytes).map_err(|_| bad())?;
        match ControlFile::version(text) {
            Some(version) if !is_read(version) => Err(Ora::with(201, &[&version, &VERSION])),
            _ => ControlFile::parse(text).ok_or_else(bad),
        }
    }

    /// The version of a control file with a correct checksum.
    fn version(text: &str) -> Option<&str> {
        let body = ControlFile::checked(text)?;
        body.lines().next()?.strip_prefix(TITLE)
    }

    /// The text above the checksum line; `None` when the checksum is wrong.
    fn checked(text: &str) -> Option<&str> {
        let text = text.trim_end_matches('\0');
        let (body, last) = text.split_at(text.rfind("checksum ")?);
        let sum = u64::from_str_radix(last.strip_prefix("checksum ")?.strip_suffix('\n')?, 16).ok()?;
        (sum == checksum(body.as_bytes())).then_some(body)
    }

    /// Refuses a database whose dictionary was created by a build with other base tables.
    ///
    /// # Errors
    /// ORA-00201 with both versions.
    pub fn require_dictionary(&self, own: u64) -> Result<()> {
        if self.dictionary == own {
            return Ok(());
        }
        let text = |d: u64| format!("{VERSION} (dictionary {d:016x})");
        Err(Ora::with(201, &[&text(self.dictionary), &text(own)]))
    }

    /// Replaces the control file in `directory` atomically (R1): after a crash it is the old one or this one.
    ///
    /// # Errors
    /// ORA-00200 when it cannot be written; with LWK-00065 below it when it could not be read back.
    pub fn write(&self, directory: &Path) -> Result<()> {
        self.write_as(directory, true)
    }

    /// As [`ControlFile::write`]. Without `sync` this holds for the death of processes only, not for a crash of the
    /// machine.
    ///
    /// # Errors
    /// As [`ControlFile::write`].
    pub fn write_as(&self, directory: &Path, sync: bool) -> Result<()> {
        let text = ControlFile { writes: self.writes + 1, ..self.clone() }.print_readable()?;
        let (one, two) = (directory.join(SPARE), directory.join(SPARE_COPY));
        write_spare(&two, &text, sync)?;
        write_spare(&one, &text, sync)?;
        faults::point("control-written");
        change_names(&two, &directory.join(crate::CONTROL_COPY))?;
        faults::point("control-copy-renamed");
        if let Err(e) = change_names(&one, &directory.join(crate::CONTROL_FILE)) {
            // The change is refused: the second copy gets its old contents back.
            let _ = change_names(&two, &directory.join(crate::CONTROL_COPY));
            return Err(e);
        }
        faults::point("control-renamed");
        if sync && let Err(e) = sync_directory(directory) {
            // After a failed sync it is unknown which file is in force on the device: neither may be overwritten.
            let _ = (os::file::remove(&one), os::file::remove(&two));
            return Err(failed(e));
        }
        Ok(())
    }

    /// Writes the control file of a backup, which has no second copy.
    ///
    /// # Errors
    /// As [`ControlFile::write`].
    pub fn write_alone(&self, directory: &Path) -> Result<()> {
        let new = directory.join(SPARE);
        write_spare(&new, &self.print_readable()?, true)?;
        os::file::rename(&new, &directory.join(crate::CONTROL_FILE)).map_err(failed)?;
        sync_directory(directory).map_err(failed)
    }

    /// The text of the control file. A text that gives other contents when it is read, or none, is an error: written to
    /// the disk it would make the database unusable.
    fn print_readable(&self) -> Result<String> {
        let text = self.print();
        let why = match ControlFile::of_bytes(text.as_bytes()) {
            _ if text.len() as u64 > BYTES_MAX => format!("it would have {} bytes, more than {BYTES_MAX}", text.len()),
            Ok(read) if read.is_same(self) => return Ok(text),
            _ => "a name in it contains a line break, or its entries contradict each other".to_owned(),
        };
        let text = format!("the control file was not changed, because it could not be read back: {why}");
        Err(Ora::new(200).because(Ora::from_text(Facility::Lwk, 65, text)))
    }

    /// Whether a control file that was read has all contents of `written`, of which only the newest complete sequences
    /// are printed.
    fn is_same(&self, written: &ControlFile) -> bool {
        let newest = &written.logged[written.logged.len().saturating_sub(Self::LOGGED_MAX)..];
        self.logged == newest && *self == ControlFile { logged: newest.to_vec(), ..written.clone() }
    }

    fn print(&self) -> String {
        let mut out = format!("{TITLE}{VERSION}\ndatabase {} {}\n", self.database, self.name);
        let _ = writeln!(out, "dictionary {}\nblock_size {}", self.dictionary, self.block_size);
        let _ = writeln!(out, "part_blocks {}", self.part_blocks.0);
        let _ = writeln!(out, "writes {}\nscn {}\nclean {}", self.writes, self.scn.0, u8::from(self.clean));
        let _ = writeln!(out, "double_write {}", self.double_write);
        self.print_redo(&mut out);
        self.tablespaces.iter().for_each(|t| print_tablespace(&mut out, "tablespace", t));
        self.files.iter().for_each(|f| print_file(&mut out, "file", "part", f));
        for b in &self.backups {
            let at = &b.checkpoint;
            let _ = writeln!(out, "backup {} {} {} {}", b.file, at.rba, at.scn.0, at.time_s);
        }
        for o in &self.offline {
            let _ = writeln!(out, "offline {} {} {} {}", o.file, o.stop.rba, o.stop.scn.0, o.stop.time_s);
        }
        let _ = writeln!(out, "forgotten {}", self.forgotten_rba);
        self.gone_tablespaces.iter().for_each(|t| print_tablespace(&mut out, "gone_tablespace", t));
        for g in &self.gone {
            let (file, part) = (format!("gone {}", g.dropped_rba), format!("gone_part {}", g.dropped_rba));
            print_file(&mut out, &file, &part, &g.file);
        }
        ControlFile::with_checksum(&out)
    }

    /// The text of a control file followed by its checksum line.
    #[must_use]
    pub fn with_checksum(text: &str) -> String {
        format!("{text}checksum {:016x}\n", checksum(text.as_bytes()))
    }

    fn print_redo(&self, out: &mut String) {
        let (c, i) = (self.checkpoint, self.incarnation);
        let _ = writeln!(out, "checkpoint {} {} {}", c.rba, c.scn.0, c.time_s);
        let _ = writeln!(out, "incarnation {} {} {}", i.number, i.resetlogs_scn.0, i.resetlogs_time_s);
        let _ = writeln!(out, "log_mode {}", u8::from(self.archivelog));
        for l in &self.logs {
            let numbers = [l.start, l.first_scn.0, l.first_time_s.into(), l.bytes, l.archived.into()];
            let _ = writeln!(out, "log {} {} {} {}", l.group, l.sequence, join(&numbers), l.name);
        }
        for l in &self.logged[self.logged.len().saturating_sub(Self::LOGGED_MAX)..] {
            let times =
                [l.first_scn.0, l.first_time_s.into(), l.next_scn.0, l.next_time_s.into(), l.completed_s.into()];
            let numbers = [l.sequence.into(), l.incarnation.into(), l.start, l.end];
            let name = if l.name.is_empty() { "-" } else { &l.name };
            let _ = writeln!(out, "logged {} {} {name}", join(&numbers), join(&times));
        }
    }

    fn parse(text: &str) -> Option<ControlFile> {
        let mut lines = ControlFile::checked(text)?.lines();
        if !is_read(lines.next()?.strip_prefix(TITLE)?) {
            return None;
        }
        let mut c = ControlFile::default();
        for line in lines {
            c.line(line)?;
        }
        c.is_sound().then_some(c)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        match word {
            "database" => {
                let (id, name) = rest.split_once(' ')?;
                (self.database, self.name) = (id.parse().ok()?, name.to_owned());
            }
            "block_size" => self.block_size = rest.parse().ok()?,
            "part_blocks" => self.part_blocks = PartBlocks(rest.parse().ok()?),
            "writes" => self.writes = rest.parse().ok().filter(|n| *n < u64::MAX)?,
            "double_write" => self.double_write = rest.parse().ok()?,
            "scn" => self.scn = Scn(rest.parse().ok()?),
            "clean" => self.clean = rest == "1",
            "checkpoint" => {
                let ([rba, scn, time], _) = numbers(rest)?;
                self.checkpoint = CheckpointEntry { rba, scn: Scn(scn), time_s: time.try_into().ok()? };
            }
            "incarnation" => {
                let ([number, scn, time], _) = numbers(rest)?;
                self.incarnation = IncarnationEntry {
                    number: number.try_into().ok()?,
                    resetlogs_scn: Scn(scn),
                    resetlogs_time_s: time.try_into().ok()?,
                };
            }
            "log_mode" => self.archivelog = rest == "1",
            "log" => self.logs.push(parse_log(rest)?),
            "logged" => self.logged.push(parse_logged(rest)?),
            "tablespace" => {
                self.tablespaces.push(parse_tablespace(rest)?);
            }
            "file" => self.files.push(parse_file(rest)?),
            "part" => self.files.push(parse_part(rest)?),
            "backup" => {
                let (file, checkpoint) = parse_moment(rest)?;
                self.backups.push(BackupEntry { file, checkpoint });
            }
            "offline" => {
                let (file, stop) = parse_moment(rest)?;
                self.offline.push(OfflineEntry { file, stop });
            }
            "dictionary" => self.dictionary = rest.parse().ok()?,
            "forgotten" => self.forgotten_rba = rest.parse().ok()?,
            "gone_tablespace" => self.gone_tablespaces.push(parse_tablespace(rest)?),
            "gone" => {
                let ([dropped_rba], file) = numbers(rest)?;
                self.gone.push(GoneEntry { dropped_rba, file: parse_file(file)? });
            }
            "gone_part" => {
                let ([dropped_rba], part) = numbers(rest)?;
                self.gone.push(GoneEntry { dropped_rba, file: parse_part(part)? });
            }
            _ => return None,
        }
        Some(())
    }

    fn is_sound(&self) -> bool {
        if self.part_blocks.0 > Rdba::MAX_BLOCK + 1
            || block::is_block_size(self.block_size)
                && self.part_blocks.0 < crate::geometry::blocks_min(self.block_size)
        {
            return false;
        }
        // The size up to which the first part of a bigfile may grow is that of the whole file.
        let in_range = |f: &FileEntry| {
            (1..=Rdba::MAX_FILE).contains(&f.file)
                && f.blocks <= Rdba::MAX_BLOCK + 1
                && (f.part == 0) == (f.first == 0)
                && f.part.max(f.first) <= Rdba::MAX_FILE
                && f.created_rba < Self::RBA_LIMIT
        };
        let tablespaces: HashMap<u32, &TablespaceEntry> =
            self.tablespaces.iter().rev().map(|t| (t.number, t)).collect();
        let is_big = |f: &FileEntry| tablespaces.get(&f.tablespace).is_some_and(|t| t.is_bigfile);
        let mut places: HashMap<(u32, u32), u32> = HashMap::new();
        for f in self.files.iter().filter(|f| is_big(f)) {
            if places.insert((f.head(), f.part), f.tablespace).is_some() {
                return false;
            }
        }
        let is_placed = |f: &FileEntry| match is_big(f) {
            true => {
                f.blocks <= self.part_blocks.0
                    && (f.is_head() || places.get(&(f.head(), f.part - 1)) == Some(&f.tablespace))
            }
            false => tablespaces.contains_key(&f.tablespace) && f.is_head() && f.blocks_max <= Rdba::MAX_BLOCK + 1,
        };
        let listed = |f: &FileEntry| in_range(f) && is_placed(f);
        let gone = |g: &GoneEntry| in_range(&g.file) && g.dropped_rba < Self::RBA_LIMIT;
        if self.forgotten_rba >= Self::RBA_LIMIT || !self.gone.iter().all(gone) {
            return false;
        }
        let group = |l: &LogGroupEntry| {
            (1..=Self::LOGS_MAX).contains(&l.group)
                && self.logs.iter().filter(|g| g.group == l.group).count() == 1
                && (l.sequence == 0 || self.logs.iter().filter(|g| g.sequence == l.sequence).count() == 1)
                && l.start < Self::RBA_LIMIT
                && l.bytes < Self::RBA_LIMIT
        };
        let logged = |l: &LoggedEntry| l.start <= l.end && l.end < Self::RBA_LIMIT;
        if self.checkpoint.rba >= Self::RBA_LIMIT || !self.logs.iter().all(group) || !self.logged.iter().all(logged) {
            return false;
        }
        let mut numbers = HashSet::with_capacity(self.files.len());
        block::is_block_size(self.block_size) && self.files.iter().all(|f| listed(f) && numbers.insert(f.file))
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

fn failed(e: os::OsError) -> Ora {
    Ora::new(200).because(crate::error::io_error(27040, "file create error", &e))
}

/// Overwrites a spare file, extending it ahead of the need when the disk has space.
fn write_spare(path: &Path, text: &str, sync: bool) -> Result<()> {
    let file = File::open(path, OpenMode::OpenOrCreate).map_err(failed)?;
    let mut bytes = text.as_bytes().to_vec();
    let wanted = (bytes.len() as u64 + 1).next_multiple_of(STEP_BYTES) + STEP_BYTES;
    let mut room = file.len_bytes().map_err(failed)?;
    if room < wanted && file.allocate(wanted).is_ok() {
        room = wanted;
    }
    // Without space to grow ahead, a file as long as the text is enough.
    bytes.resize(bytes.len().max(room as usize), 0);
    file.write_at(&bytes, 0).map_err(failed)?;
    if sync { file.sync().map_err(failed) } else { Ok(()) }
}

/// Exchanges the names of a spare file and the file in force.
fn change_names(spare: &Path, path: &Path) -> Result<()> {
    match os::file::exchange(spare, path).map_err(failed)? {
        true => Ok(()),
        false => os::file::rename(spare, path).map_err(failed),
    }
}

fn print_tablespace(out: &mut String, word: &str, t: &TablespaceEntry) {
    let _ = writeln!(out, "{word} {} {} {} {} {}", t.number, t.extent_blocks, t.contents as u32, t.flags(), t.name);
}

/// Prints an entry behind the word `file`, or behind `part` with the number of the part and of the first file.
fn print_file(out: &mut String, file: &str, part: &str, f: &FileEntry) {
    let part = if f.is_head() { file.to_owned() } else { format!("{part} {} {}", f.part, f.first) };
    let word = part.as_str();
    let _ = write!(out, "{word} {} {} {} {} {} ", f.file, f.tablespace, f.blocks, f.blocks_max, f.step);
    let _ = writeln!(out, "{} {} {} {}", f.created_rba, f.created_scn.0, u32::from(f.is_offline), f.name);
}

fn join(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// `N` numbers, each followed by a space except perhaps the last, and the rest of the line.
fn numbers<const N: usize>(line: &str) -> Option<([u64; N], &str)> {
    let (mut out, mut rest) = ([0; N], line);
    for n in &mut out {
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        (*n, rest) = (word.parse().ok()?, behind);
    }
    Some((out, rest))
}

fn parse_log(line: &str) -> Option<LogGroupEntry> {
    let ([group, sequence, start, first_scn, first_time, bytes, archived], name) = numbers(line)?;
    Some(LogGroupEntry {
        group: group.try_into().ok()?,
        sequence: sequence.try_into().ok()?,
        start,
        first_scn: Scn(first_scn),
        first_time_s: first_time.try_into().ok()?,
        bytes,
        archived: archived == 1,
        name: Some(name).filter(|n| !n.is_empty())?.to_owned(),
    })
}

fn parse_logged(line: &str) -> Option<LoggedEntry> {
    let ([sequence, incarnation, start, end, first_scn, first_time, next_scn, next_time, completed], name) =
        numbers(line)?;
    Some(LoggedEntry {
        sequence: sequence.try_into().ok()?,
        incarnation: incarnation.try_into().ok()?,
        start,
        end,
        first_scn: Scn(first_scn),
        first_time_s: first_time.try_into().ok()?,
        next_scn: Scn(next_scn),
        next_time_s: next_time.try_into().ok()?,
        completed_s: completed.try_into().ok()?,
        name: if name == "-" { String::new() } else { name.to_owned() },
    })
}

fn parse_tablespace(line: &str) -> Option<TablespaceEntry> {
    let mut words = line.splitn(5, ' ');
    let mut number = || words.next()?.parse::<u32>().ok();
    let (number, extent_blocks, contents, flags) = (number()?, number()?, number()?, number()?);
    let has = |bit: u32| flags >> bit & 1 == 1;
    Some(TablespaceEntry {
        number,
        name: words.next()?.to_owned(),
        extent_blocks,
        contents: Contents::from_code(contents)?,
        is_offline: has(0),
        is_read_only: has(1),
        is_bigfile: has(2),
        is_nologging: has(3),
        deletes_files: has(4),
        guarantees_retention: has(5),
    })
}

fn parse_file(line: &str) -> Option<FileEntry> {
    let mut words = line.splitn(9, ' ');
    let mut number = || words.next()?.parse::<u64>().ok();
    let mut small = || u32::try_from(number()?).ok();
    let (file, tablespace, blocks, blocks_max, step) = (small()?, small()?, small()?, small()?, small()?);
    let (created_rba, created_scn, flags) = (number()?, Scn(number()?), number()?);
    let (is_offline, name) = (flags & 1 == 1, words.next()?.to_owned());
    let (part, first) = (0, 0);
    Some(FileEntry {
        file,
        tablespace,
        blocks,
        blocks_max,
        step,
        part,
        first,
        created_rba,
        created_scn,
        is_offline,
        name,
    })
}

/// The number of the part and of the file's first part, and an entry.
fn parse_part(line: &str) -> Option<FileEntry> {
    let ([part, first], file) = numbers(line)?;
    let (part, first) = (u32::try_from(part).ok().filter(|n| *n > 0)?, first.try_into().ok()?);
    Some(FileEntry { part, first, ..parse_file(file)? })
}

/// A file number and a checkpoint of that file.
fn parse_moment(line: &str) -> Option<(u32, CheckpointEntry)> {
    let numbers: Vec<u64> = line.split(' ').map(|w| w.parse().ok()).collect::<Option<_>>()?;
    let [file, rba, scn, time_s] = numbers[..] else { return None };
    let checkpoint = CheckpointEntry { rba, scn: Scn(scn), time_s: time_s.try_into().ok()? };
    (rba < ControlFile::RBA_LIMIT).then_some((file.try_into().ok()?, checkpoint))
}

/// Whether a control file of this version can be read.
fn is_read(version: &str) -> bool {
    version == VERSION || READ_ALSO.contains(&version)
}

/// FNV-1a, whatever the version: a build must be able to tell a control file of another version from a damaged one.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part_of_2(file: u32, part: u32) -> FileEntry {
        let name = "big 1.dbf".into();
        FileEntry { file, part, first: 2, tablespace: 3, blocks: 64, name, ..FileEntry::default() }
    }

    fn sample() -> ControlFile {
        ControlFile {
            database: 42,
            name: "ORCL".into(),
            block_size: 8192,
            part_blocks: PartBlocks(1024),
            writes: 812,
            double_write: 77,
            scn: Scn(4711),
            clean: true,
            checkpoint: CheckpointEntry { rba: 73_728, scn: Scn(4711), time_s: 1_795_312_800 },
            incarnation: IncarnationEntry { number: 2, resetlogs_scn: Scn(1), resetlogs_time_s: 1_795_312_000 },
            archivelog: true,
            logs: vec![LogGroupEntry {
                group: 1,
                sequence: 3,
                start: 69_632,
                first_scn: Scn(4650),
                first_time_s: 1_795_312_700,
                bytes: 1 << 25,
                archived: false,
                name: "redo 01.log".into(),
            }],
            logged: vec![
                LoggedEntry { sequence: 1, incarnation: 1, end: 40_960, ..LoggedEntry::default() },
                LoggedEntry {
                    sequence: 2,
                    incarnation: 2,
                    start: 40_960,
                    end: 69_632,
                    first_scn: Scn(4600),
                    first_time_s: 1_795_312_500,
                    next_scn: Scn(4650),
                    next_time_s: 1_795_312_700,
                    completed_s: 1_795_312_701,
                    name: "archive/arch 2.arc".into(),
                },
            ],
            tablespaces: vec![
                TablespaceEntry {
                    number: 0,
                    name: "SYSTEM".into(),
                    extent_blocks: 128,
                    contents: Contents::Undo,
                    is_read_only: true,
                    is_nologging: true,
                    guarantees_retention: true,
                    ..TablespaceEntry::default()
                },
                TablespaceEntry { number: 3, name: "BIG".into(), is_bigfile: true, ..TablespaceEntry::default() },
            ],
            files: vec![
                FileEntry {
                    file: 1,
                    tablespace: 0,
                    blocks: 64,
                    blocks_max: 0,
                    step: 0,
                    part: 0,
                    first: 0,
                    created_rba: 1 << 40,
                    created_scn: Scn(77),
                    is_offline: true,
                    name: "my system.dbf".into(),
                },
                FileEntry {
                    file: 2,
                    tablespace: 3,
                    blocks: 64,
                    blocks_max: 1 << 31,
                    name: "big 1.dbf".into(),
                    ..FileEntry::default()
                },
                part_of_2(1023, 1),
                part_of_2(1022, 2),
            ],
            backups: vec![BackupEntry {
                file: 1,
                checkpoint: CheckpointEntry { rba: 73_728, scn: Scn(4711), time_s: 1_795_312_800 },
            }],
            offline: vec![OfflineEntry {
                file: 1,
                stop: CheckpointEntry { rba: 81_920, scn: Scn(4720), time_s: 1_795_312_900 },
            }],
            dictionary: u64::MAX,
            gone: vec![
                GoneEntry {
                    dropped_rba: 81_920,
                    file: FileEntry {
                        file: 7,
                        tablespace: 5,
                        blocks: 64,
                        name: "old 1.dbf".into(),
                        ..FileEntry::default()
                    },
                },
                GoneEntry { dropped_rba: 81_930, file: part_of_2(1021, 3) },
            ],
            gone_tablespaces: vec![TablespaceEntry { number: 5, name: "OLD".into(), ..TablespaceEntry::default() }],
            forgotten_rba: 4096,
        }
    }

    #[test]
    fn archived_logs_hold_the_redo_before_the_oldest_other_log() {
        let mut control = sample();
        let log = |group, sequence, start, archived| LogGroupEntry {
            archived,
            ..LogGroupEntry { group, sequence, start, ..control.logs[0].clone() }
        };
        // Group 3 was never used; group 1 is complete, but not archived yet; group 4 is current.
        let logs =
            vec![log(1, 4, 90_000, false), log(2, 3, 69_632, true), log(3, 0, 0, false), log(4, 5, 95_000, false)];
        control.logs = logs;
        assert_eq!(control.oldest_unarchived_log().map(|l| l.start), Some(90_000));
        control.logs[0].archived = true;
        assert_eq!(control.oldest_unarchived_log().map(|l| l.start), Some(95_000));
    }

    #[test]
    fn what_is_printed_is_read_back() {
        assert_eq!(ControlFile::parse(&sample().print()), Some(sample()));
    }

    fn folder(name: &str) -> std::path::PathBuf {
        let directory = std::env::temp_dir().join(format!("latchwork-control-{name}-{}", os::process::own_id()));
        std::fs::create_dir_all(&directory).unwrap();
        directory
    }

    #[test]
    fn contents_that_could_not_be_read_back_are_not_written() {
        let directory = folder("refused");
        sample().write(&directory).unwrap();
        let before = ControlFile::read_both(&directory).unwrap();
        let changes: [fn(&mut ControlFile); 8] = [
            |c| c.files[0].name = "a\nb.dbf".into(),
            |c| c.files[0].name = "a.dbf\r".into(),
            |c| c.files[0].name = "a.dbf\nclean 0".into(),
            |c| c.tablespaces[0].name = "A\nB".into(),
            |c| c.logs[0].name = "a\n.log".into(),
            |c| c.gone[0].file.name = "a\n.dbf".into(),
            |c| c.files[3].part = 1,
            |c| c.files[1].name = "x".repeat(BYTES_MAX as usize),
        ];
        for change in changes {
            let mut c = sample();
            change(&mut c);
            assert!(c.write(&directory).unwrap_err().is(200));
            assert!(c.write_alone(&directory).unwrap_err().is(200));
            assert_eq!(ControlFile::read_both(&directory).unwrap(), before);
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn the_largest_control_file_is_read() {
        let directory = folder("largest");
        let name = |n: u32| format!("{n:04096}");
        let (first, rest) = (sample(), sample().files[0].clone());
        let files = (3..=1000).map(|n| FileEntry { file: n, name: name(n), ..rest.clone() });
        let logged = (0..ControlFile::LOGGED_MAX as u32 + 1)
            .map(|n| LoggedEntry { sequence: n, name: name(n), ..first.logged[1].clone() })
            .collect();
        let gone = (0..ControlFile::GONE_MAX as u32)
            .map(|n| GoneEntry { dropped_rba: 9, file: FileEntry { name: name(n), ..rest.clone() } })
            .collect();
        let mut all = ControlFile { logged, gone, ..first };
        all.files.extend(files);
        all.write(&directory).unwrap();
        let read = ControlFile::read(&directory).unwrap();
        assert_eq!((read.files.len(), read.gone.len(), read.logged.len()), (1002, 500, ControlFile::LOGGED_MAX));
        assert_eq!((&read.files, &read.logged[..]), (&all.files, &all.logged[1..]));
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_control_file_of_version_9_is_read() {
        let text = concat!(
            "latchwork control file 9\ndatabase 42 ORCL\nblock_size 8192\nscn 4711\nclean 1\n",
            "log 1 1 0 1 1795312000 1048576 0 redo01.log\ntablespace 0 0 0 0 SYSTEM\nchecksum 85f48e5cc414476d\n"
        );
        let read = ControlFile::of_bytes(text.as_bytes()).unwrap();
        assert_eq!((read.database, read.name.as_str(), read.scn, read.clean), (42, "ORCL", Scn(4711), true));
        assert!(read.print().starts_with("latchwork control file 11\n"), "it is written in the new version");
        assert!(ControlFile::of_bytes(text.replace("4711", "4712").as_bytes()).is_err_and(|e| e.is(205)));
        let later = ControlFile::with_checksum("latchwork control file 99\n");
        assert!(ControlFile::of_bytes(later.as_bytes()).is_err_and(|e| e.is(201)));
    }

    #[test]
    fn damage_of_any_byte_is_found() {
        let text = sample().print();
        for i in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[i] ^= 1;
            let parsed = String::from_utf8(bytes).ok().and_then(|t| ControlFile::parse(&t));
            assert_eq!(parsed, None, "byte {i}");
        }
        assert_eq!(ControlFile::parse(&text[..text.len() / 2]), None);
    }

    #[test]
    fn a_file_without_tablespace_or_number_is_refused() {
        let changes: [fn(&mut ControlFile); 16] = [
            |c| c.part_blocks = PartBlocks(1 << 23),
            |c| c.part_blocks = PartBlocks(8),
            |c| c.files[1].blocks = 1025,
            |c| c.files[3].part = 4,
            |c| c.files[3].part = 1,
            |c| c.files[3].first = 1,
            |c| c.files[2].tablespace = 0,
            |c| c.tablespaces[1].is_bigfile = false,
            |c| c.gone[0].file.file = 2000,
            |c| c.forgotten_rba = u64::MAX,
            |c| c.files[0].tablespace = 9,
            |c| c.files[0].file = 0,
            |c| c.block_size = 3000,
            |c| c.logs[0].group = 0,
            |c| c.logs[0].start = u64::MAX,
            |c| c.logged[0].start = 50_000,
        ];
        for change in changes {
            let mut c = sample();
            change(&mut c);
            assert_eq!(ControlFile::parse(&c.print()), None);
        }
    }

    #[test]
    fn version_10_is_read() {
        let mut old = sample();
        old.files.truncate(2);
        old.gone.truncate(1);
        old.part_blocks = PartBlocks::default();
        let text = old.print();
        let text = text.replace("control file 11", "control file 10").replace("part_blocks 4194304\n", "");
        let (body, _) = text.split_at(text.rfind("checksum ").unwrap());
        let text = ControlFile::with_checksum(body);
        assert_eq!(ControlFile::of_bytes(text.as_bytes()), Ok(old));
        let text = ControlFile::with_checksum(&body.replace("control file 10", "control file 8"));
        assert!(ControlFile::of_bytes(text.as_bytes()).unwrap_err().is(201));
    }

    #[test]
    fn files_have_the_lowest_numbers_and_parts_the_highest() {
        let mut c = sample();
        assert_eq!((c.free_number(&[], false), c.free_number(&[], true)), (Some(3), Some(1020)));
        assert_eq!(c.parts_of(2).iter().map(|f| f.file).collect::<Vec<_>>(), [2, 1023, 1022]);
        assert_eq!(c.heads().map(|f| f.file).collect::<Vec<_>>(), [1, 2]);
        c.files.extend((3..=1021).filter(|n| *n != 7).map(|file| FileEntry { file, ..FileEntry::default() }));
        // The number of a dropped file is the last choice.
        assert_eq!((c.free_number(&[], false), c.free_number(&[], true)), (Some(7), Some(7)));
        assert_eq!(c.free_number(&[FileEntry { file: 7, ..FileEntry::default() }], true), None);
    }

    #[test]
    fn bytes_that_are_not_sound_are_read_again_as_long_as_they_change() {
        let directory = std::env::temp_dir().join(format!("latchwork-control-{}", os::process::own_id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join(crate::CONTROL_FILE);
        // The reads of a reader that two writers overtake: torn, torn in another way, whole.
        let mut next = ["torn", "whole"].into_iter();
        std::fs::write(&path, "damaged").unwrap();
        let mut look = |bytes: &[u8]| {
            if let Some(text) = next.next() {
                std::fs::write(&path, text).unwrap();
            }
            if bytes == b"whole" { Ok(()) } else { Err(Ora::new(205)) }
        };
        assert_eq!(ControlFile::read_with(&directory, &mut look), Ok(()));
        std::fs::write(&path, "damaged").unwrap();
        let mut looks = 0;
        let mut look = |_: &[u8]| {
            looks += 1;
            types::Result::<()>::Err(Ora::new(205))
        };
        assert_eq!(ControlFile::read_with(&directory, &mut look), Err(Ora::new(205)));
        assert_eq!(looks, 2, "the same bytes twice are damaged");
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
