//! The control file on the disk.
//!
//! Zeros follow the text up to the end of the file. The control file must be writable when the disk is full, because
//! logs switch and checkpoints complete without new space. So there are two files of the same size, with room to grow:
//! `control` and `control.new`. A change overwrites and syncs `control.new`, and then exchanges the names of the two.
//! The file in force is never overwritten.
//!
//! All of this exists twice: `control02` is a second copy, exchanged just before the first. A running instance reads
//! the first copy. A start reads both; when one is missing or damaged, the error names the copy to restore it from.

use super::contents::ControlFile;
use super::text::BYTES_MAX;
use crate::error::io_error;
use crate::{CONTROL_COPY, CONTROL_FILE};
use os::file::{File, OpenMode, sync_directory};
use std::path::Path;
use types::{Facility, Ora, Result};

/// The file that is written first and then renamed to the control file.
const SPARE: &str = "control.new";
const SPARE_COPY: &str = "control02.new";
/// The unit in which control files grow; they are kept one unit larger than needed.
const STEP_BYTES: u64 = 8 << 10;
/// Number of reads before a control file that differs at each read and is never sound is an error.
const READ_TRIES: u32 = 100;

impl ControlFile {
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
        ControlFile::read_named(directory, CONTROL_FILE, f)
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
        match (read(CONTROL_FILE), read(CONTROL_COPY)) {
            (Err(e), _) if e.is(201) => Err(e),
            (Ok(one), Ok(two)) if one == two => Ok((one, false)),
            (Ok(one), Ok(two)) if one.database == two.database && two.writes <= one.writes + 1 => {
                let newer = if two.writes > one.writes { two } else { one };
                Ok((newer, true))
            }
            (Ok(one), Ok(two)) => {
                let (a, b) = (shown(CONTROL_FILE), shown(CONTROL_COPY));
                let text = match one.database == two.database {
                    true => format!(
                        "'{a}' is older than '{b}'. To continue with the newer one: cp {b} {a}; \
                         to go back, restore a backup"
                    ),
                    false => {
                        format!("'{a}' and '{b}' are of different databases: remove the one that does not belong here")
                    }
                };
                advice(Ora::with(214, &[&a, &one.writes, &b, &two.writes]), text)
            }
            (Ok(_), Err(_)) => copy(CONTROL_COPY, CONTROL_FILE),
            (Err(_), Ok(_)) => copy(CONTROL_FILE, CONTROL_COPY),
            (Err(e), Err(_)) => {
                let [one, two] = [CONTROL_FILE, CONTROL_COPY].map(|n| format!("'{}' {}", shown(n), is_there(n)));
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
        change_names(&two, &directory.join(CONTROL_COPY))?;
        faults::point("control-copy-renamed");
        if let Err(e) = change_names(&one, &directory.join(CONTROL_FILE)) {
            // The change is refused: the second copy gets its old contents back.
            let _ = change_names(&two, &directory.join(CONTROL_COPY));
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
        os::file::rename(&new, &directory.join(CONTROL_FILE)).map_err(failed)?;
        sync_directory(directory).map_err(failed)
    }
}

fn failed(e: os::OsError) -> Ora {
    Ora::new(200).because(io_error(27040, "file create error", &e))
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
