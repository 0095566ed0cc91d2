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

use super::contents::ControlFile;
use super::entries::{BackupEntry, Contents, FileEntry, GoneEntry, OfflineEntry, PartBlocks, TablespaceEntry};
use crate::geometry;
use redo::{CheckpointEntry, IncarnationEntry, LogGroupEntry, LoggedEntry};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use types::{Facility, Ora, Rdba, Result, Scn};

const TITLE: &str = "latchwork control file ";
/// The version of the format, and of everything that the control file describes.
const VERSION: &str = "11";
/// Versions that are read, and written as [`VERSION`]. 10: no parts of bigfiles. 9: other checksums of blocks, copies
/// and backups, too.
const READ_ALSO: [&str; 2] = ["10", "9"];
/// Upper bound of the length of a control file. It has room for all files, dropped files and archived logs that a
/// control file may list, each with a name of the length that the operating system allows.
pub(super) const BYTES_MAX: u64 = 16 << 20;

impl ControlFile {
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

    /// The text of the control file. A text that gives other contents when it is read, or none, is an error: written to
    /// the disk it would make the database unusable.
    pub(super) fn print_readable(&self) -> Result<String> {
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

    pub(super) fn print(&self) -> String {
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

    pub(super) fn parse(text: &str) -> Option<ControlFile> {
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

    /// Whether all numbers are in the ranges that code relies on (R4).
    fn is_sound(&self) -> bool {
        if self.part_blocks.0 > Rdba::MAX_BLOCK + 1
            || block::is_block_size(self.block_size) && self.part_blocks.0 < geometry::blocks_min(self.block_size)
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
