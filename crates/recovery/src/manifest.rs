//! The manifest of a backup: one text file that is written last (R12).
//!
//! `docs/format/backup.md` has the fields. A folder without a complete manifest is no backup.

use datafile::ControlFile;
use os::file::{File, OpenMode, sync_directory};
use std::fmt::Write as _;
use std::path::Path;
use types::{Facility, Ora, Result, Scn};

/// The manifest's file name in the folder of a backup.
pub const MANIFEST: &str = "manifest";
const TITLE: &str = "latchwork backup 2";
/// A manifest with [`Sum::Hash`] in place of CRC-32C. It is read, and restored from.
const HASH_TITLE: &str = "latchwork backup 1";
/// Upper bound of the length of a copied file, as a check of the manifest.
const PIECE_BYTES_MAX: u64 = 1 << 48;
const BYTES_MAX: u64 = 4 << 20;

/// A moment in the redo stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub rba: u64,
    pub scn: Scn,
    /// Seconds since 1970, UTC.
    pub time_s: u32,
}

/// A data file in a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePiece {
    pub file: u32,
    pub bytes: u64,
    pub sum: u64,
    /// Its name in the folder.
    pub name: String,
}

/// An archived log in a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPiece {
    pub sequence: u32,
    pub bytes: u64,
    pub sum: u64,
    /// Its name in the folder.
    pub name: String,
}

/// The contents of the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The kind of its sums, without any bytes.
    pub(crate) sum: Sum,
    pub database: u64,
    pub name: String,
    pub incarnation: u32,
    /// The redo position where recovery of the copies begins …
    pub begin: Moment,
    /// … and the position it has to reach before the copies are consistent.
    pub end: Moment,
    /// The directory the database was in.
    pub source: String,
    pub files: Vec<FilePiece>,
    pub logs: Vec<LogPiece>,
}

/// A checksum over the bytes of a file. It detects accidental damage, not forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    /// CRC-32C.
    Crc(u32),
    /// Multiply and rotate over 64-bit words: manifests of version 1.
    Hash(u64),
}

impl Default for Sum {
    fn default() -> Sum {
        Sum::Crc(0)
    }
}

impl Sum {
    const HASH: Sum = Sum::Hash(0x9E37_79B9_7F4A_7C15);

    /// Adds the next bytes; the length must be a multiple of 8 in all calls but the last.
    pub fn add(&mut self, bytes: &[u8]) {
        match self {
            Sum::Crc(crc) => *crc = crc32c::crc32c_append(*crc, bytes),
            Sum::Hash(hash) => {
                for part in bytes.chunks(8) {
                    let mut word = [0; 8];
                    word[..part.len()].copy_from_slice(part);
                    let rest = if part.len() < 8 { part.len() as u64 } else { 0 };
                    let next = *hash ^ u64::from_le_bytes(word) ^ rest;
                    *hash = next.wrapping_mul(0xC2B2_AE3D_27D4_EB4F).rotate_left(29);
                }
            }
        }
    }

    pub fn value(self) -> u64 {
        match self {
            Sum::Crc(crc) => crc.into(),
            Sum::Hash(hash) => hash ^ hash >> 31,
        }
    }

    /// The sum of these bytes, of this kind.
    fn over(mut self, bytes: &[u8]) -> u64 {
        self.add(bytes);
        self.value()
    }
}

/// ORA-19504: a file of a backup cannot be written.
pub(crate) fn cannot_write(path: &Path, e: &os::OsError) -> Ora {
    let why = Ora::from_text(Facility::Ora, 27040, format!("file create error\nLinux Error: {}: {e}", e.errno()));
    Ora::with(19504, &[&path.display()]).because(why)
}

impl Manifest {
    /// Reads the manifest of a backup.
    ///
    /// # Errors
    /// ORA-19870 when the folder holds no whole backup.
    pub fn read(folder: &Path) -> Result<Manifest> {
        let bad = || Ora::with(19870, &[&folder.join(MANIFEST).display()]);
        let file = File::open(&folder.join(MANIFEST), OpenMode::Read).map_err(|_| bad())?;
        let len = file.len_bytes().map_err(|_| bad())?;
        if len > BYTES_MAX {
            return Err(bad());
        }
        let mut bytes = vec![0; len as usize];
        file.read_at(&mut bytes, 0).map_err(|_| bad())?;
        String::from_utf8(bytes).ok().and_then(|text| Manifest::parse(&text)).ok_or_else(bad)
    }

    /// Writes the manifest; the files that it lists are on the device already.
    ///
    /// # Errors
    /// ORA-19504 when it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(MANIFEST);
        let failed = |e: os::OsError| cannot_write(&path, &e);
        let new = folder.join("manifest.new");
        let file = File::open(&new, OpenMode::Truncate).map_err(failed)?;
        file.write_at(self.print().as_bytes(), 0).map_err(failed)?;
        file.sync().map_err(failed)?;
        os::file::rename(&new, &path).map_err(failed)?;
        sync_directory(folder).map_err(failed)
    }

    fn print(&self) -> String {
        let title = if self.sum == Sum::HASH { HASH_TITLE } else { TITLE };
        let mut out = format!("{title}\ndatabase {} {}\nincarnation {}\n", self.database, self.name, self.incarnation);
        for (word, at) in [("begin", &self.begin), ("end", &self.end)] {
            let _ = writeln!(out, "{word} {} {} {}", at.rba, at.scn.0, at.time_s);
        }
        let _ = writeln!(out, "source {}", self.source);
        for f in &self.files {
            let _ = writeln!(out, "file {} {} {} {}", f.file, f.bytes, f.sum, f.name);
        }
        for l in &self.logs {
            let _ = writeln!(out, "log {} {} {} {}", l.sequence, l.bytes, l.sum, l.name);
        }
        let sum = self.sum.over(out.as_bytes());
        let _ = writeln!(out, "checksum {sum:016x}");
        out
    }

    fn parse(text: &str) -> Option<Manifest> {
        let (body, last) = text.split_at(text.rfind("checksum ")?);
        let said = u64::from_str_radix(last.strip_prefix("checksum ")?.strip_suffix('\n')?, 16).ok()?;
        let mut lines = body.lines();
        let sum = match lines.next()? {
            TITLE => Sum::default(),
            HASH_TITLE => Sum::HASH,
            _ => return None,
        };
        if said != sum.over(body.as_bytes()) {
            return None;
        }
        let mut m = Manifest { sum, ..Manifest::default() };
        lines.try_for_each(|line| m.line(line))?;
        m.is_sound().then_some(m)
    }

    fn is_sound(&self) -> bool {
        let in_range = |at: &Moment| at.rba < ControlFile::RBA_LIMIT && at.scn.0 < ControlFile::RBA_LIMIT;
        let sized = |bytes: u64| bytes <= PIECE_BYTES_MAX;
        let once = |f: &FilePiece| self.files.iter().filter(|g| g.file == f.file).count() == 1;
        self.begin.rba <= self.end.rba
            && in_range(&self.begin)
            && in_range(&self.end)
            && !self.files.is_empty()
            && self.files.iter().all(|f| sized(f.bytes) && once(f))
            && self.logs.iter().all(|l| sized(l.bytes))
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        let mut fields = rest.splitn(4, ' ');
        let mut number = || fields.next()?.parse::<u64>().ok();
        match word {
            "database" => {
                let (id, name) = rest.split_once(' ')?;
                (self.database, self.name) = (id.parse().ok()?, name.to_owned());
            }
            "incarnation" => self.incarnation = rest.parse().ok()?,
            "begin" | "end" => {
                let at = Moment { rba: number()?, scn: Scn(number()?), time_s: u32::try_from(number()?).ok()? };
                if word == "begin" { self.begin = at } else { self.end = at }
            }
            "source" => self.source = rest.to_owned(),
            "file" | "log" => {
                let (n, bytes, sum) = (u32::try_from(number()?).ok()?, number()?, number()?);
                let name = fields.next()?.to_owned();
                if name.contains("..") || name.starts_with('/') {
                    return None;
                }
                match word {
                    "file" => self.files.push(FilePiece { file: n, bytes, sum, name }),
                    _ => self.logs.push(LogPiece { sequence: n, bytes, sum, name }),
                }
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Manifest {
        let at = |rba| Moment { rba, scn: Scn(rba + 1), time_s: 7 };
        Manifest {
            sum: Sum::default(),
            database: 42,
            name: "ORCL".into(),
            incarnation: 2,
            begin: at(4096),
            end: at(9000),
            source: "/data/my db".into(),
            files: vec![FilePiece { file: 1, bytes: 8192, sum: 9, name: "files/0001 system.dbf".into() }],
            logs: vec![LogPiece { sequence: 3, bytes: 100, sum: 8, name: "logs/3.arc".into() }],
        }
    }

    #[test]
    fn what_is_printed_is_read_back_and_damage_is_found() {
        for sample in [sample(), Manifest { sum: Sum::HASH, ..sample() }] {
            let text = sample.print();
            assert_eq!(Manifest::parse(&text), Some(sample));
            for i in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[i] ^= 1;
                assert_eq!(String::from_utf8(bytes).ok().and_then(|t| Manifest::parse(&t)), None, "byte {i}");
            }
        }
        let mut outside = sample();
        outside.files[0].name = "../x".into();
        assert_eq!(Manifest::parse(&outside.print()), None);
    }
}
