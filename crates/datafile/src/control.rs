//! The control file: text, one fact a line, closed by a checksum line.
//!
//! ```text
//! latchwork control file 1
//! database 81985529216486895 ORCL
//! block_size 8192
//! scn 4711
//! clean 1
//! tablespace 0 SYSTEM
//! file 1 0 1280 4194303 1280 system01.dbf
//! checksum 9a0c…
//! ```

use os::file::{File, OpenMode, sync_directory};
use std::fmt::Write as _;
use std::path::Path;
use types::{Ora, Result, Scn};

/// A tablespace of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablespaceEntry {
    /// Its number.
    pub number: u32,
    /// Its name, in upper case.
    pub name: String,
}

/// A data file of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// File number, 1 … 1023.
    pub file: u32,
    /// Number of its tablespace.
    pub tablespace: u32,
    /// Size at creation, in blocks.
    pub blocks: u32,
    /// Size up to which it grows by itself, in blocks; 0 when it does not.
    pub blocks_max: u32,
    /// How many blocks it grows by.
    pub step: u32,
    /// Its name: relative to the database directory, or an absolute path.
    pub name: String,
}

/// What the control file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlFile {
    /// Identifies the database.
    pub database: u64,
    /// Name of the database.
    pub name: String,
    /// Block size in bytes.
    pub block_size: usize,
    /// SCN at the last clean shutdown.
    pub scn: Scn,
    /// True when the last instance shut down cleanly: all changes are in the files.
    pub clean: bool,
    /// The tablespaces.
    pub tablespaces: Vec<TablespaceEntry>,
    /// The data files.
    pub files: Vec<FileEntry>,
}

const TITLE: &str = "latchwork control file 1";
const BYTES_MAX: u64 = 1 << 20;

impl ControlFile {
    /// Reads the control file in `directory`.
    ///
    /// # Errors
    /// ORA-00205 when it is missing or damaged.
    pub fn read(directory: &Path) -> Result<ControlFile> {
        let bad = || Ora::new(205);
        let file = File::open(&directory.join(crate::CONTROL_FILE), OpenMode::Read).map_err(|_| bad())?;
        let len = file.len_bytes().map_err(|_| bad())?;
        if len > BYTES_MAX {
            return Err(bad());
        }
        let mut bytes = vec![0; len as usize];
        file.read_at(&mut bytes, 0).map_err(|_| bad())?;
        let text = String::from_utf8(bytes).map_err(|_| bad())?;
        ControlFile::parse(&text).ok_or_else(bad)
    }

    /// Replaces the control file in `directory` atomically: after a crash it is the old one or this one.
    ///
    /// # Errors
    /// ORA-00200 when it cannot be written.
    pub fn write(&self, directory: &Path) -> Result<()> {
        let failed = |e: os::OsError| Ora::new(200).because(crate::files::io_error(27040, "file create error", &e));
        let (new, path) = (directory.join("control.new"), directory.join(crate::CONTROL_FILE));
        let file = File::open(&new, OpenMode::Truncate).map_err(failed)?;
        file.write_at(self.print().as_bytes(), 0).map_err(failed)?;
        file.sync().map_err(failed)?;
        os::file::rename(&new, &path).map_err(failed)?;
        sync_directory(directory).map_err(failed)
    }

    fn print(&self) -> String {
        let mut out = format!("{TITLE}\ndatabase {} {}\nblock_size {}\n", self.database, self.name, self.block_size);
        let _ = writeln!(out, "scn {}\nclean {}", self.scn.0, u8::from(self.clean));
        for t in &self.tablespaces {
            let _ = writeln!(out, "tablespace {} {}", t.number, t.name);
        }
        for f in &self.files {
            let _ =
                writeln!(out, "file {} {} {} {} {} {}", f.file, f.tablespace, f.blocks, f.blocks_max, f.step, f.name);
        }
        let sum = checksum(out.as_bytes());
        let _ = writeln!(out, "checksum {sum:016x}");
        out
    }

    fn parse(text: &str) -> Option<ControlFile> {
        let at = text.rfind("checksum ")?;
        let (body, last) = text.split_at(at);
        let sum = u64::from_str_radix(last.strip_prefix("checksum ")?.strip_suffix('\n')?, 16).ok()?;
        if sum != checksum(body.as_bytes()) {
            return None;
        }
        let mut lines = body.lines();
        if lines.next()? != TITLE {
            return None;
        }
        let mut c = ControlFile {
            database: 0,
            name: String::new(),
            block_size: 0,
            scn: Scn(0),
            clean: false,
            tablespaces: Vec::new(),
            files: Vec::new(),
        };
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
            "scn" => self.scn = Scn(rest.parse().ok()?),
            "clean" => self.clean = rest == "1",
            "tablespace" => {
                let (number, name) = rest.split_once(' ')?;
                self.tablespaces.push(TablespaceEntry { number: number.parse().ok()?, name: name.to_owned() });
            }
            "file" => {
                let mut words = rest.splitn(6, ' ');
                let mut number = || words.next()?.parse::<u32>().ok();
                let (file, tablespace, blocks, blocks_max, step) =
                    (number()?, number()?, number()?, number()?, number()?);
                let name = words.next()?.to_owned();
                self.files.push(FileEntry { file, tablespace, blocks, blocks_max, step, name });
            }
            _ => return None,
        }
        Some(())
    }

    fn is_sound(&self) -> bool {
        let in_range = |f: &FileEntry| {
            (1..=types::Rdba::MAX_FILE).contains(&f.file)
                && f.blocks.max(f.blocks_max) <= types::Rdba::MAX_BLOCK + 1
                && self.tablespaces.iter().any(|t| t.number == f.tablespace)
        };
        let distinct = |f: &FileEntry| self.files.iter().filter(|g| g.file == f.file).count() == 1;
        block::is_block_size(self.block_size) && self.files.iter().all(|f| in_range(f) && distinct(f))
    }

    /// The tablespace with this number.
    pub fn tablespace(&self, number: u32) -> Option<&TablespaceEntry> {
        self.tablespaces.iter().find(|t| t.number == number)
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> ControlFile {
        ControlFile {
            database: 42,
            name: "ORCL".into(),
            block_size: 8192,
            scn: Scn(4711),
            clean: true,
            tablespaces: vec![TablespaceEntry { number: 0, name: "SYSTEM".into() }],
            files: vec![FileEntry {
                file: 1,
                tablespace: 0,
                blocks: 64,
                blocks_max: 0,
                step: 0,
                name: "my system.dbf".into(),
            }],
        }
    }

    #[test]
    fn what_is_printed_is_read_back() {
        assert_eq!(ControlFile::parse(&sample().print()), Some(sample()));
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
        let changes: [fn(&mut ControlFile); 3] =
            [|c| c.files[0].tablespace = 9, |c| c.files[0].file = 0, |c| c.block_size = 3000];
        for change in changes {
            let mut c = sample();
            change(&mut c);
            assert_eq!(ControlFile::parse(&c.print()), None);
        }
    }
}
