//! Copying the files of a database, open or not.
//!
//! While a database is open its blocks are written as they are copied, so a copy may catch a torn block: a block with a
//! wrong checksum is read again until it is right. After the backup has begun, the first change of each block writes
//! the whole block to the redo, so rolling the copy forward from there makes every block sound, whatever versions were
//! copied.

use crate::manifest::{FilePiece, LogPiece, Manifest, Moment, Sum, cannot_write};
use datafile::{Contents, ControlFile, DataFiles, FileEntry, LoggedEntry};
use os::file::{File, OpenMode, sync_directory};
use std::path::{Path, PathBuf};
use std::time::Duration;
use types::{Facility, Ora, Rdba, Result};

/// Bytes copied at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// Most reads of a block with a wrong checksum, and the pause before each.
const AGAIN: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// Most files that are held open from the beginning, so that a file dropped meanwhile is copied all the same.
const HELD_MOST: usize = 500;

/// A file, or a part of a bigfile, to copy.
struct Source {
    file: u32,
    /// The byte at which it begins in the operating system's file.
    begin: u64,
    blocks: u32,
    name: String,
    held: Option<File>,
}

/// A backup in progress.
pub struct Backup<'a> {
    files: &'a DataFiles,
    control: ControlFile,
    folder: PathBuf,
    manifest: Manifest,
}

pub(crate) fn cannot_read(path: &Path, e: &os::OsError) -> Ora {
    let why =
        Ora::from_text(Facility::Ora, 27037, format!("unable to obtain file status\nLinux Error: {}: {e}", e.errno()));
    Ora::with(19505, &[&path.display()]).because(why)
}

/// Creates a folder and its parents.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|e| {
        let e = os::OsError::from_io("mkdir", path.display().to_string(), e);
        cannot_write(path, &e)
    })
}

impl<'a> Backup<'a> {
    /// Begins a backup of the database of `files` into `folder`, which must be empty or not exist. An open database
    /// must be in backup mode already.
    ///
    /// # Errors
    /// ORA-00205; ORA-19504 when the folder is not empty or cannot be made.
    pub fn begin(files: &'a DataFiles, folder: &Path) -> Result<Backup<'a>> {
        let control = files.control()?;
        make_folder(folder)?;
        let mut there = std::fs::read_dir(folder).map_err(|e| {
            let e = os::OsError::from_io("readdir", folder.display().to_string(), e);
            cannot_read(folder, &e)
        })?;
        if there.next().is_some() {
            let why = Ora::from_text(Facility::Ora, 27038, "created file already exists\nThe folder is not empty.");
            return Err(Ora::with(19504, &[&folder.display()]).because(why));
        }
        // Files in backup mode have the checkpoint at which that mode began; all others have the last one.
        let first = control.backups.iter().map(|b| b.checkpoint).min_by_key(|c| c.rba).unwrap_or(control.checkpoint);
        let begin = Moment { rba: first.rba, scn: first.scn, time_s: first.time_s };
        let manifest = Manifest {
            database: control.database,
            name: control.name.clone(),
            incarnation: control.incarnation.number,
            begin,
            end: begin,
            source: files.directory().display().to_string(),
            ..Manifest::default()
        };
        Ok(Backup { files, control, folder: folder.to_owned(), manifest })
    }

    /// Copies the data files except temporary ones. `tell` gets the bytes copied so far and in all.
    ///
    /// # Errors
    /// ORA-19566 for a block whose checksum stays wrong; those of reading and writing.
    pub fn copy_files(&mut self, tell: &mut dyn FnMut(&str, u64, u64)) -> Result<()> {
        make_folder(&self.folder.join("files"))?;
        let size = self.control.block_size as u64;
        let sources = self.sources()?;
        let all: u64 = sources.iter().map(|s| u64::from(s.blocks) * size).sum();
        let mut before = 0;
        for source in sources {
            if self.control.file(source.file).is_none() {
                // It was left out with an earlier part of its file.
                continue;
            }
            let (file, bytes) = (source.file, u64::from(source.blocks) * size);
            let base = Path::new(&source.name).file_name().map_or("data".into(), |n| n.to_string_lossy().into_owned());
            let to = format!("files/{file:04}_{base}");
            let mut tell = |done| tell(&source.name, before + done, all);
            match self.copy_file(&source, &self.folder.join(&to), &mut tell) {
                Ok(sum) => self.manifest.files.push(FilePiece { file, bytes, sum, name: to }),
                Err(_) if self.was_dropped(file)? => self.leave_out(file, &self.folder.join(&to))?,
                Err(e) => return Err(e),
            }
            before += bytes;
        }
        Ok(())
    }

    /// Whether a file has been dropped since the backup began. Another file of the same name may have overwritten its
    /// content then.
    fn was_dropped(&self, file: u32) -> Result<bool> {
        let created = |c: &ControlFile| c.file(file).map(|f| f.created_rba);
        Ok(created(&self.files.control()?) != created(&self.control))
    }

    /// Leaves a dropped file out of the backup, or a removed part with those behind it: they do not exist at the
    /// backup's end.
    fn leave_out(&mut self, file: u32, copy: &Path) -> Result<()> {
        if os::file::exists(copy) {
            os::file::remove(copy).map_err(|e| cannot_write(copy, &e))?;
        }
        let gone = without_parts_from(&mut self.control, file);
        for piece in self.manifest.files.extract_if(.., |piece| gone.contains(&piece.file)) {
            let copy = self.folder.join(&piece.name);
            os::file::remove(&copy).map_err(|e| cannot_write(&copy, &e))?;
        }
        Ok(())
    }

    /// Opens the files to copy. The control file must list the same files before and after they are opened; otherwise
    /// this starts again, so a file that is added or dropped meanwhile counts as added or dropped before.
    fn sources(&mut self) -> Result<Vec<Source>> {
        loop {
            let opened = self.open_sources();
            let now = self.files.control()?;
            let listed = |c: &ControlFile| c.files.iter().map(|f| (f.file, f.created_rba)).collect::<Vec<_>>();
            if listed(&now) == listed(&self.control) {
                return opened;
            }
            self.control = now;
        }
    }

    fn open_sources(&self) -> Result<Vec<Source>> {
        let control = &self.control;
        let mut sources = Vec::new();
        for f in &control.files {
            let opened = self.open(f);
            let is_temporary = control.tablespace(f.tablespace).is_some_and(|t| t.contents == Contents::Temporary);
            // A file that is offline and missing stays offline, and will be empty in the restored database.
            if is_temporary || f.is_offline && opened.is_err() {
                continue;
            }
            let (input, begin, bytes) = opened?;
            let held = (sources.len() < HELD_MOST).then_some(input);
            let blocks = (bytes / control.block_size as u64) as u32;
            sources.push(Source { file: f.file, begin, blocks, name: f.name.clone(), held });
        }
        Ok(sources)
    }

    /// A data file, and the begin and the length of the part of this entry. It is opened directly and not through
    /// `DataFiles`, which refuses a file that is offline.
    fn open(&self, f: &FileEntry) -> Result<(File, u64, u64)> {
        let path = self.files.directory().join(&f.name);
        let missing = |_| Ora::with(1157, &[&f.head()]).because(Ora::with(1110, &[&f.head(), &path.display()]));
        let file = File::open(&path, OpenMode::Read).map_err(missing)?;
        let size = self.control.block_size as u64;
        let begin = u64::from(f.part) * u64::from(self.control.part_blocks.0) * size;
        let most = u64::from(self.control.blocks_most(f)) * size;
        let bytes = file.len_bytes().map_err(missing)?.saturating_sub(begin).min(most);
        Ok((file, begin, bytes))
    }

    fn copy_file(&self, source: &Source, to: &Path, tell: &mut dyn FnMut(u64)) -> Result<u64> {
        let (size, file, blocks) = (self.control.block_size, source.file, source.blocks);
        let opened;
        let input = match &source.held {
            Some(input) => input,
            None => {
                let entry = self.control.file(file).ok_or_else(|| Ora::with(1157, &[&file]))?;
                opened = self.open(entry)?.0;
                &opened
            }
        };
        let failed = |e: os::OsError| cannot_write(to, &e);
        let out = File::open(to, OpenMode::CreateNew).map_err(failed)?;
        out.set_len(u64::from(blocks) * size as u64).map_err(failed)?;
        let mut image = block::Image::new(size);
        let mut chunk = vec![0; CHUNK_BYTES / size * size];
        let mut sum = Sum::default();
        let mut at = 0;
        while at < blocks {
            let n = ((blocks - at) as usize).min(chunk.len() / size);
            let part = &mut chunk[..n * size];
            let position = u64::from(at) * size as u64;
            input.read_at(part, source.begin + position).map_err(|e| cannot_read(input.path(), &e))?;
            for (i, bytes) in part.chunks_mut(size).enumerate() {
                self.check(input, source.begin, Rdba::new(file, at + i as u32), bytes, &mut image)?;
            }
            sum.add(part);
            // Blocks never written stay a hole in the copy.
            if part.iter().any(|b| *b != 0) {
                out.write_at(part, position).map_err(failed)?;
            }
            at += n as u32;
            tell(u64::from(at) * size as u64);
        }
        out.sync().map_err(failed)?;
        Ok(sum.value())
    }

    /// Reads a block again until its checksum is right.
    fn check(&self, input: &File, begin: u64, at: Rdba, bytes: &mut [u8], image: &mut block::Image) -> Result<()> {
        for _ in 0..AGAIN {
            image.bytes_mut().copy_from_slice(bytes);
            if block::check(image.bytes(), at).is_ok() {
                return Ok(());
            }
            os::clock::sleep(PAUSE);
            let position = begin + u64::from(at.block()) * bytes.len() as u64;
            input.read_at(bytes, position).map_err(|e| cannot_read(input.path(), &e))?;
        }
        let name = input.path().display();
        let limit = Ora::with(19566, &[&0, &name]);
        let (file, block) = self.files.shown(at);
        Err(limit.because(Ora::with(1578, &[&file, &block])).because(Ora::with(1110, &[&file, &name])))
    }

    /// Copies the archived logs from the beginning of the backup to its end, and completes it by writing the manifest
    /// (R12). Backup mode has ended, and all redo up to `end` is archived. For a closed database `end` is the
    /// beginning.
    ///
    /// # Errors
    /// ORA-00308 when a log is missing; those of reading and writing.
    pub fn finish(mut self, end: Moment, tell: &mut dyn FnMut(&str, u64, u64)) -> Result<Manifest> {
        self.manifest.end = end;
        let mut now = self.files.control()?;
        let (from, to) = (self.manifest.begin.rba, end.rba);
        let wanted = |l: &&LoggedEntry| {
            l.incarnation == self.manifest.incarnation && l.end > from && l.start < to && !l.name.is_empty()
        };
        let mut logs: Vec<&LoggedEntry> = now.logged.iter().filter(wanted).collect();
        logs.sort_by_key(|l| l.sequence);
        logs.dedup_by_key(|l| l.sequence);
        let mut reached = from;
        for l in &logs {
            if l.start <= reached {
                reached = reached.max(l.end);
            }
        }
        if reached < to {
            let text = format!("no archived log holds the redo from position {reached} on");
            return Err(Ora::from_text(Facility::Ora, 308, text));
        }
        if !logs.is_empty() {
            make_folder(&self.folder.join("logs"))?;
        }
        let all = logs.len() as u64;
        for (n, l) in logs.iter().enumerate() {
            tell(&l.name, n as u64, all);
            let name = format!("logs/{:010}.arc", l.sequence);
            let (bytes, sum) =
                copy_plain(&self.files.directory().join(&l.name), &self.folder.join(&name), Sum::default())?;
            self.manifest.logs.push(LogPiece { sequence: l.sequence, bytes, sum, name });
        }
        // The control file as it was when the copies began, with the logs archived since.
        let mut control = self.control.clone();
        control.logged = std::mem::take(&mut now.logged);
        let replaced = add_made(&mut control, &now);
        for piece in self.manifest.files.extract_if(.., |piece| replaced.contains(&piece.file)) {
            let copy = self.folder.join(&piece.name);
            os::file::remove(&copy).map_err(|e| cannot_write(&copy, &e))?;
        }
        // Redo of files and parts that were dropped during the backup is skipped.
        control.gone.clone_from(&now.gone);
        control.gone_tablespaces.clone_from(&now.gone_tablespaces);
        control.write_alone(&self.folder)?;
        sync_directory(&self.folder).map_err(|e| cannot_write(&self.folder, &e))?;
        self.manifest.write(&self.folder)?;
        Ok(self.manifest)
    }
}

/// Removes a file, or a part of a bigfile and those behind it, and tablespaces without files; returns the numbers.
fn without_parts_from(control: &mut ControlFile, file: u32) -> Vec<u32> {
    let Some((head, part)) = control.file(file).map(|f| (f.head(), f.part)) else { return Vec::new() };
    let ControlFile { files, tablespaces, .. } = control;
    let gone = files.extract_if(.., |f| f.head() == head && f.part >= part).map(|f| f.file).collect();
    tablespaces.retain(|t| files.iter().any(|f| f.tablespace == t.number));
    gone
}

/// Adds the files and parts that were made during a backup to its control file. They have no copy: the redo contains
/// all of them. A part that was removed and made again has one entry, that of the new part. Returns the numbers of the
/// parts that were replaced.
fn add_made(control: &mut ControlFile, now: &ControlFile) -> Vec<u32> {
    let created = |c: &ControlFile, file: u32| c.file(file).map(|f| f.created_rba);
    // A part may have the number of one that was removed.
    let is_made = |c: &ControlFile, f: &FileEntry| match c.file(f.file) {
        Some(then) => !f.is_head() && then.created_rba != f.created_rba,
        None => true,
    };
    // A part belongs to the file of the backup with the number of its first part, unless that is another file now.
    let is_same_file = |c: &ControlFile, f: &FileEntry| created(c, f.head()) == created(now, f.head());
    let mut made: Vec<FileEntry> = now.files.iter().filter(|f| is_made(control, f)).cloned().collect();
    made.retain(|f| f.is_head() || control.file(f.head()).is_none() || is_same_file(control, f));
    made.sort_by_key(|f| f.part);
    let mut replaced = Vec::new();
    for f in made {
        let is_gone = |k: &&FileEntry| k.file == f.file || (k.head(), k.part) == (f.head(), f.part);
        while let Some(old) = control.files.iter().find(is_gone).map(|k| k.file) {
            replaced.extend(without_parts_from(control, old));
        }
        control.files.push(f);
    }
    let missing = |t: &&datafile::TablespaceEntry| control.tablespace(t.number).is_none();
    let tablespaces: Vec<_> = now.tablespaces.iter().filter(missing).cloned().collect();
    control.tablespaces.extend(tablespaces);
    replaced
}

/// Copies a file byte for byte; returns its length and its sum, of the kind of `sum`.
pub(crate) fn copy_plain(from: &Path, to: &Path, sum: Sum) -> Result<(u64, u64)> {
    let out = File::open(to, OpenMode::CreateNew).map_err(|e| cannot_write(to, &e))?;
    copy_into(from, &out, 0, sum)
}

/// As [`copy_plain`], of a part of a bigfile: into a file that may exist, from byte `begin` on.
pub(crate) fn copy_part(from: &Path, to: &Path, begin: u64, sum: Sum) -> Result<(u64, u64)> {
    let out = File::open(to, OpenMode::OpenOrCreate).map_err(|e| cannot_write(to, &e))?;
    copy_into(from, &out, begin, sum)
}

fn copy_into(from: &Path, out: &File, begin: u64, mut sum: Sum) -> Result<(u64, u64)> {
    let input = File::open(from, OpenMode::Read).map_err(|e| cannot_read(from, &e))?;
    let failed = |e: os::OsError| cannot_write(out.path(), &e);
    let (mut chunk, mut at) = (vec![0; CHUNK_BYTES], 0u64);
    loop {
        let n = fill(&input, &mut chunk, at).map_err(|e| cannot_read(from, &e))?;
        if n == 0 {
            break;
        }
        sum.add(&chunk[..n]);
        if chunk[..n].iter().any(|b| *b != 0) {
            out.write_at(&chunk[..n], begin + at).map_err(failed)?;
        }
        at += n as u64;
    }
    // A later part may be there already.
    if out.len_bytes().map_err(failed)? < begin + at {
        out.set_len(begin + at).map_err(failed)?;
    }
    out.sync().map_err(failed)?;
    Ok((at, sum.value()))
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &File, buffer: &mut [u8], at: u64) -> os::OsResult<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_some_at(&mut buffer[done..], at + done as u64)? {
            0 => break,
            n => done += n,
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(parts: &[(u32, u32)]) -> ControlFile {
        let files = parts.iter().map(|&(file, part)| FileEntry {
            file,
            tablespace: 3,
            part,
            first: if part == 0 { 0 } else { 2 },
            name: "big.dbf".into(),
            created_rba: u64::from(1023 - file),
            ..FileEntry::default()
        });
        let big = datafile::TablespaceEntry { number: 3, name: "BIG".into(), is_bigfile: true, ..Default::default() };
        ControlFile { files: files.collect(), tablespaces: vec![big], ..ControlFile::default() }
    }

    fn numbers(c: &ControlFile) -> Vec<u32> {
        c.parts_of(2).iter().map(|f| f.file).collect()
    }

    #[test]
    fn a_part_that_was_made_again_during_a_backup_is_listed_once() {
        let mut then = control(&[(2, 0), (1023, 1), (1022, 2), (1021, 3)]);
        let now = control(&[(2, 0), (1023, 1), (1020, 2)]);
        assert_eq!(add_made(&mut then, &now), [1022, 1021], "parts behind the new one are gone, too");
        assert_eq!(numbers(&then), [2, 1023, 1020]);
        // Further parts are added behind those of the backup.
        let now = control(&[(2, 0), (1023, 1), (1020, 2), (1019, 3)]);
        assert_eq!(add_made(&mut then, &now), []);
        assert_eq!(numbers(&then), [2, 1023, 1020, 1019]);
    }

    #[test]
    fn a_part_with_the_number_of_one_that_was_removed_during_a_backup_has_no_copy() {
        let mut then = control(&[(2, 0), (1023, 1), (1022, 2)]);
        let mut now = then.clone();
        now.files[1].created_rba = 5000;
        now.files.truncate(2);
        assert_eq!(add_made(&mut then, &now), [1023, 1022]);
        assert_eq!((numbers(&then), then.files[1].created_rba), (vec![2, 1023], 5000));
    }

    #[test]
    fn parts_of_another_file_with_the_same_number_are_not_added() {
        let mut then = control(&[(2, 0), (1023, 1)]);
        let mut now = control(&[(2, 0), (1022, 1)]);
        now.files[0].created_rba = 5000;
        assert_eq!(add_made(&mut then, &now), []);
        assert_eq!(numbers(&then), [2, 1023]);
    }

    #[test]
    fn a_file_goes_with_its_parts_and_a_part_with_those_behind_it() {
        let mut c = control(&[(2, 0), (1023, 1), (1022, 2)]);
        assert_eq!(without_parts_from(&mut c, 1023), [1023, 1022]);
        assert_eq!((numbers(&c), c.tablespaces.len()), (vec![2], 1));
        let mut c = control(&[(2, 0), (1023, 1), (1022, 2)]);
        assert_eq!(without_parts_from(&mut c, 2), [2, 1023, 1022]);
        assert_eq!((c.files.len(), c.tablespaces.len()), (0, 0));
        assert_eq!(without_parts_from(&mut c, 2), []);
    }
}
