//! A private copy of a database, open or not, that is rolled forward by its first start.
//!
//! The copy is what a crash of the database would leave (R19), and the start of its instance is an ordinary start after
//! a crash. That needs three things of files that are copied one after the other, while an instance writes them:
//!
//! | | how |
//! |---|---|
//! | every block has all changes before the checkpoint | the control file is read before the first block is copied |
//! | every block is whole | a block with a wrong checksum is read again until it is right |
//! | the redo reaches from the checkpoint to the newest change of a block | the logs are read after the last block |
//!
//! A block is written only when its redo is in the log, so the redo that is read last covers every block copied before.
//! The redo is copied from the checkpoint to the last whole record; the end of that record is the moment of the copy.
//!
//! Nothing in the parent is stopped or changed. If it reuses a log, or changes its files or tablespaces, while they are
//! copied, the copy begins again. Rejected: backup mode, which needs ARCHIVELOG mode, changes the parent, and has to be
//! ended when this program dies.
//!
//! The copy gets another database id, which is in its control file, in the headers of its data files and in those of
//! its logs. So no file of the one is ever taken for a file of the other. All its names are inside its directory (R20).
//!
//! | killed | afterwards |
//! |---|---|
//! | before the control file exists | the mark shows an unfinished copy (R21): a start refuses it, the next copy removes it |
//! | later | the copy is complete |

use crate::backup::{cannot_read, make_folder};
use crate::manifest::cannot_write;
use crate::restore::settle_names;
use block::Image;
use block::file::FileCheckpoint;
use datafile::{Contents, ControlFile, FileEntry, LogGroupEntry};
use os::file::{File, OpenMode, sync_directory};
use redo::{LOG_HEADER_BYTES, LogHeader, LogReader, Rba};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;
use types::{Facility, Ora, Rdba, Result};

/// The file that marks a directory as made by a copy. It is written first and stays.
pub const FORK_MARK: &str = "forked_from";

/// Files that every database directory may have; a data file from outside gets another name.
const RESERVED: [&str; 8] = [
    datafile::CONTROL_FILE,
    datafile::CONTROL_COPY,
    datafile::DOUBLE_WRITE_FILE,
    FORK_MARK,
    "alert.log",
    "init.ora",
    "control.new",
    "control02.new",
];

/// The lock file, which whoever makes the copy holds.
const LOCK: &str = "latchwork.pid";

/// The largest log of a copy, unless its redo needs more. A lasting database has logs for minutes of redo, whose space
/// would take longer to allocate than everything else.
const LOG_BYTES: u64 = 64 << 20;
/// Bytes copied at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// Most reads of a block with a wrong checksum, and the pause before each.
const AGAIN: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);
/// Most attempts to copy a database that changes its files or reuses its logs meanwhile.
const TRIES: u32 = 20;

/// The input of a copy.
#[derive(Clone, Copy, Debug)]
pub struct Fork<'a> {
    /// The database directory of the parent.
    pub from: &'a Path,
    /// The directory of the copy: empty apart from its lock file.
    pub to: &'a Path,
    /// The id of the copy.
    pub database: u64,
    /// Files share their space with those of the parent until they are written, where the file system allows it.
    pub shares_space: bool,
    /// Wait until the copy is on the device.
    pub sync: bool,
    /// The copy ends with its instance: its files take no space before they are written.
    pub is_transient: bool,
    /// The contents of its init file.
    pub init_file: Option<&'a str>,
}

/// The result of a copy.
#[derive(Clone, Debug)]
pub struct Forked {
    /// Its control file.
    pub control: ControlFile,
    /// Bytes that were copied, without holes and shared space.
    pub bytes: u64,
    /// Data files that share their space with those of the parent.
    pub shared: usize,
    /// Bytes of redo between the checkpoint and the moment of the copy.
    pub redo_bytes: u64,
    /// Files from outside of the parent's directory, with their names in the copy.
    pub moved: Vec<(String, String)>,
}

/// Copies a database. Its instance runs (`is_open`), or the caller keeps instances out of its directory. `checkpoint`
/// is called before each attempt on an open database: a checkpoint there shortens the redo, and writes the redo of
/// commits that did not wait.
///
/// After an error the directory has the mark and perhaps other files, but no control file: [`clear_unfinished`].
///
/// # Errors
/// ORA-00205, ORA-00201 for the control file; ORA-01113 for a stopped database that was not closed cleanly; ORA-01157,
/// ORA-01122 for a missing or foreign data file; ORA-19566 for a block whose checksum stays wrong; those of reading and
/// writing, and of `checkpoint`; ORA-00308 when the parent reuses its logs faster than they can be copied.
pub fn fork(it: &Fork<'_>, is_open: bool, checkpoint: &mut dyn FnMut() -> Result<()>) -> Result<Forked> {
    let mark = it.to.join(FORK_MARK);
    let failed = |e: os::OsError| cannot_write(&mark, &e);
    let file = File::open(&mark, OpenMode::Truncate).map_err(failed)?;
    file.write_at(format!("{}\n", it.from.display()).as_bytes(), 0).map_err(failed)?;
    if it.sync {
        file.sync().map_err(failed)?;
        sync_directory(it.to).map_err(failed)?;
    }
    faults::point("fork-marked");
    for _ in 0..TRIES {
        if is_open {
            checkpoint()?;
        }
        let control = ControlFile::read(it.from)?;
        if !is_open && !control.clean {
            return Err(Ora::with(1113, &[&1]));
        }
        let mut attempt = Attempt::of(it, control);
        match attempt.run() {
            Ok(Some(forked)) => return Ok(forked),
            Ok(None) => {}
            // A file that was dropped meanwhile cannot be copied.
            Err(e) if attempt.is_current()? => return Err(e),
            Err(_) => {}
        }
        attempt.remove_files()?;
    }
    let text = "the database changes its files, or reuses its logs, faster than they are copied: add larger logs";
    Err(Ora::from_text(Facility::Ora, 308, text))
}

/// True for a directory with a copy that was not finished.
#[must_use]
pub fn is_unfinished(directory: &Path) -> bool {
    let has = |name| os::file::exists(&directory.join(name));
    has(FORK_MARK) && !has(datafile::CONTROL_FILE) && !has(datafile::CONTROL_COPY)
}

/// Removes everything in the directory of a copy, finished or not, except the lock file. The caller holds that.
///
/// The control files go first and the mark last: killed in between, it leaves an unfinished copy.
///
/// # Errors
/// A file cannot be removed. ORA-19504 for a directory without the mark.
pub fn clear_unfinished(directory: &Path) -> Result<()> {
    let mark = directory.join(FORK_MARK);
    if !os::file::exists(&mark) {
        let why = Ora::from_text(Facility::Ora, 27038, "created file already exists\nThe directory has no fork.");
        return Err(Ora::with(19504, &[&directory.display()]).because(why));
    }
    let failed = |path: &Path, e: std::io::Error| {
        cannot_write(path, &os::OsError::from_io("unlink", path.display().to_string(), e))
    };
    for name in [datafile::CONTROL_FILE, datafile::CONTROL_COPY] {
        let path = directory.join(name);
        if os::file::exists(&path) {
            os::file::remove(&path).map_err(|e| cannot_write(&path, &e))?;
        }
    }
    for entry in std::fs::read_dir(directory).map_err(|e| failed(directory, e))? {
        let entry = entry.map_err(|e| failed(directory, e))?;
        let path = entry.path();
        if entry.file_name() == LOCK || entry.file_name() == FORK_MARK {
            continue;
        }
        let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
        if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) }
            .map_err(|e| failed(&path, e))?;
    }
    os::file::remove(&mark).map_err(|e| cannot_write(&mark, &e))
}

/// One attempt, from a control file on.
struct Attempt<'a> {
    it: &'a Fork<'a>,
    /// The parent's control file before the first block was copied.
    then: ControlFile,
    /// The control file of the copy.
    control: ControlFile,
    made: BTreeSet<PathBuf>,
    bytes: u64,
    shared: usize,
    chunk: Vec<u8>,
    image: Image,
}

/// A file that is copied.
struct Pair {
    input: File,
    output: File,
    is_shared: bool,
}

impl<'a> Attempt<'a> {
    fn of(it: &'a Fork<'a>, then: ControlFile) -> Attempt<'a> {
        let size = then.block_size;
        let mut control = then.clone();
        settle(&mut control);
        let chunk = vec![0; CHUNK_BYTES.max(size) / size * size];
        Attempt { it, then, control, made: BTreeSet::new(), bytes: 0, shared: 0, chunk, image: Image::new(size) }
    }

    /// The finished copy, or `None` when the parent has changed under it.
    fn run(&mut self) -> Result<Option<Forked>> {
        let checkpoint = self.then.checkpoint;
        // The redo of a file that was made behind the checkpoint begins at its creation; the next checkpoint is behind
        // that.
        if !self.then.clean && self.then.files.iter().any(|f| f.created_rba > checkpoint.rba) {
            return Ok(None);
        }
        let heads: Vec<FileEntry> = self.then.heads().filter(|f| !self.is_temporary(f)).cloned().collect();
        for head in &heads {
            self.copy_file(head)?;
            faults::point("fork-file-copied");
        }
        let now = ControlFile::read(self.it.from)?;
        // A stopped database has no redo, and must have stayed stopped.
        if !same_files(&self.then, &now) || self.then.clean && self.then != now {
            return Ok(None);
        }
        let Some(redo_bytes) = self.copy_logs(&now)? else { return Ok(None) };
        if let Some(text) = self.it.init_file {
            let file = self.create("init.ora")?;
            let failed = |e: os::OsError| cannot_write(file.path(), &e);
            file.write_at(text.as_bytes(), 0).map_err(failed)?;
        }
        if self.it.sync {
            // Behind the last copy, so that the parent has less time to reuse a log.
            self.made.iter().try_for_each(|path| {
                let file = File::open(path, OpenMode::ReadWrite);
                file.and_then(|file| file.sync()).map_err(|e| cannot_write(path, &e))
            })?;
            let folders: BTreeSet<&Path> = self.made.iter().filter_map(|path| path.parent()).collect();
            folders.into_iter().try_for_each(|f| sync_directory(f).map_err(|e| cannot_write(f, &e)))?;
        }
        faults::point("fork-logs-copied");
        self.control.database = self.it.database;
        self.control.archivelog = false;
        self.control.double_write = 0;
        self.control.logged.clear();
        self.control.backups.clear();
        self.control.gone.clear();
        self.control.gone_tablespaces.clear();
        self.control.forgotten_rba = 0;
        self.control.write_as(self.it.to, self.it.sync)?;
        let pairs = self.then.heads().zip(self.control.heads());
        let moved = pairs.filter(|(was, is)| was.name != is.name).map(|(was, is)| (was.name.clone(), is.name.clone()));
        Ok(Some(Forked {
            moved: moved.collect(),
            control: self.control.clone(),
            bytes: self.bytes,
            shared: self.shared,
            redo_bytes,
        }))
    }

    /// Whether the parent still has the files that it had at the begin.
    fn is_current(&self) -> Result<bool> {
        Ok(same_files(&self.then, &ControlFile::read(self.it.from)?))
    }

    fn remove_files(&self) -> Result<()> {
        let there = self.made.iter().filter(|path| os::file::exists(path));
        there.into_iter().try_for_each(|path| os::file::remove(path).map_err(|e| cannot_write(path, &e)))
    }

    fn is_temporary(&self, f: &FileEntry) -> bool {
        self.then.tablespace(f.tablespace).is_some_and(|t| t.contents == Contents::Temporary)
    }

    /// Makes a file of the copy, and the folder that it lies in.
    fn create(&mut self, name: &str) -> Result<File> {
        let path = self.it.to.join(name);
        if let Some(folder) = path.parent().filter(|folder| *folder != self.it.to) {
            make_folder(folder)?;
        }
        let file = File::open(&path, OpenMode::CreateNew).map_err(|e| cannot_write(&path, &e))?;
        self.made.insert(path);
        Ok(file)
    }

    fn copy_file(&mut self, head: &FileEntry) -> Result<()> {
        let path = self.it.from.join(&head.name);
        let input = match File::open(&path, OpenMode::Read) {
            Ok(input) => input,
            // A file that is offline and missing is missing in the copy, too.
            Err(_) if head.is_offline => return Ok(()),
            Err(_) => {
                let name = Ora::with(1110, &[&head.head(), &path.display()]);
                return Err(Ora::with(1157, &[&head.head()]).because(name));
            }
        };
        let len = input.len_bytes().map_err(|e| cannot_read(&path, &e))?;
        let name = self.control.file(head.file).map_or(head.name.clone(), |f| f.name.clone());
        let output = self.create(&name)?;
        let failed = |e: os::OsError| cannot_write(output.path(), &e);
        let is_shared = self.it.shares_space && output.share_space_of(&input).map_err(failed)?;
        match is_shared {
            true => {}
            false if self.it.is_transient => output.set_len(len).map_err(failed)?,
            // The file keeps its allocated space, so that a full disk is an error of its growth only.
            false => output.allocate(len).map_err(failed)?,
        }
        self.shared += usize::from(is_shared);
        let pair = Pair { input, output, is_shared };
        let parts: Vec<FileEntry> = self.then.parts_of(head.file).into_iter().cloned().collect();
        for part in &parts {
            let begin = u64::from(part.part) * u64::from(self.then.part_blocks.0) * self.then.block_size as u64;
            let most = u64::from(self.then.blocks_most(part)) * self.then.block_size as u64;
            self.copy_part(&pair, part, begin..len.min(begin + most))?;
        }
        Ok(())
    }

    /// Copies and checks the written blocks of a part, and replaces its header.
    fn copy_part(&mut self, pair: &Pair, part: &FileEntry, range: Range<u64>) -> Result<()> {
        let size = self.then.block_size as u64;
        let mut chunk = std::mem::take(&mut self.chunk);
        // A file that shares its space does not change any more.
        let source = if pair.is_shared { &pair.output } else { &pair.input };
        let cannot = |e: os::OsError| cannot_read(source.path(), &e);
        let mut at = range.start;
        while at + size <= range.end {
            let Some((from, to)) = source.next_written(at).map_err(cannot)? else { break };
            // Whole blocks.
            let from = range.start + (from.max(at) - range.start) / size * size;
            let to = range.start + (to.min(range.end) - range.start).next_multiple_of(size);
            let to = to.min(range.start + (range.end - range.start) / size * size);
            if from >= to {
                break;
            }
            at = from;
            while at < to {
                let bytes = &mut chunk[..((to - at) as usize).min(CHUNK_BYTES.max(size as usize))];
                source.read_at(bytes, at).map_err(cannot)?;
                self.settle_chunk(pair, part, range.start, at, bytes)?;
                at += bytes.len() as u64;
            }
        }
        self.chunk = chunk;
        Ok(())
    }

    /// Writes a chunk of blocks, after those that were being written have been read again.
    fn settle_chunk(&mut self, pair: &Pair, part: &FileEntry, begin: u64, at: u64, bytes: &mut [u8]) -> Result<()> {
        let size = self.then.block_size;
        let failed = |e: os::OsError| cannot_write(pair.output.path(), &e);
        for (i, bytes) in bytes.chunks_mut(size).enumerate() {
            let position = at + (i * size) as u64;
            let number = ((position - begin) / size as u64) as u32;
            let mut is_other = self.make_whole(&pair.input, Rdba::new(part.file, number), position, bytes)?;
            if number == 0 {
                self.make_header(part, bytes)?;
                is_other = true;
            }
            if pair.is_shared && is_other {
                pair.output.write_at(bytes, position).map_err(failed)?;
            }
        }
        if !pair.is_shared && bytes.iter().any(|b| *b != 0) {
            pair.output.write_at(bytes, at).map_err(failed)?;
            self.bytes += bytes.len() as u64;
        }
        Ok(())
    }

    /// Reads a block again until its checksum is right; true if it was necessary.
    fn make_whole(&mut self, input: &File, at: Rdba, position: u64, bytes: &mut [u8]) -> Result<bool> {
        for n in 0..AGAIN {
            if block::check(bytes, at).is_ok() {
                return Ok(n > 0);
            }
            os::clock::sleep(PAUSE);
            input.read_at(bytes, position).map_err(|e| cannot_read(input.path(), &e))?;
        }
        let name = input.path().display();
        let (file, block) = self.then.shown(at);
        Err(Ora::with(19566, &[&0, &name])
            .because(Ora::with(1578, &[&file, &block]))
            .because(Ora::with(1110, &[&file, &name])))
    }

    /// Makes the header of a part one of the copy. A file that is rolled forward gets the checkpoint of the control
    /// file: its header may have an earlier one, as in backup mode, or one that was completed during the copy.
    fn make_header(&mut self, part: &FileEntry, bytes: &mut [u8]) -> Result<()> {
        self.image.bytes_mut().copy_from_slice(bytes);
        let header = block::file::read(&self.image.view());
        if !header.is_some_and(|h| h.database == self.then.database && h.file == part.file) {
            let name = Ora::with(1110, &[&part.head(), &self.it.from.join(&part.name).display()]);
            return Err(Ora::with(1122, &[&part.head()]).because(name));
        }
        block::file::set_database(bytes, self.it.database);
        let stays = self.then.tablespace(part.tablespace).is_some_and(|t| t.is_offline || t.is_read_only);
        if !part.is_offline && !stays {
            let (at, incarnation) = (&self.then.checkpoint, self.then.incarnation.number);
            let to = FileCheckpoint { rba: at.rba, incarnation, time_s: at.time_s, scn: at.scn.0 };
            block::file::set_checkpoint(bytes, &to);
        }
        block::seal(bytes);
        Ok(())
    }

    /// Copies the redo from the checkpoint to its present end, and makes the other logs, empty. Returns the bytes of
    /// redo, or `None` when a log was reused meanwhile.
    fn copy_logs(&mut self, now: &ControlFile) -> Result<Option<u64>> {
        let from = Rba(self.then.checkpoint.rba);
        let paths: Vec<PathBuf> =
            now.logs.iter().filter(|l| l.sequence > 0).map(|l| self.it.from.join(&l.name)).collect();
        let Some(end) = self.end_of_redo(&paths, from)? else { return Ok(None) };
        let headers: Vec<Option<LogHeader>> = now.logs.iter().map(|l| self.header(l)).collect();
        let Some(pieces) = pieces(&headers, from, end) else { return Ok(None) };
        self.control.logs.clone_from(&now.logs);
        settle_logs(&mut self.control);
        let logs = self.control.logs.clone();
        for (n, log) in logs.iter().enumerate() {
            let output = self.create(&log.name)?;
            let failed = |e: os::OsError| cannot_write(output.path(), &e);
            let piece = pieces.iter().find(|piece| piece.log == n);
            let redo_bytes = piece.map_or(0, |piece| piece.end.0 - piece.from.0);
            let needed = LOG_HEADER_BYTES + redo_bytes.next_multiple_of(LOG_HEADER_BYTES);
            let bytes = log.bytes.min(LOG_BYTES).max(needed);
            if self.it.is_transient { output.set_len(bytes) } else { output.allocate(bytes) }.map_err(failed)?;
            let header = headers[n].as_ref().zip(piece).map(|(header, piece)| self.new_header(header, piece));
            self.control.logs[n] = LogGroupEntry { bytes, ..entry_of(log, header.as_ref()) };
            if let (Some(header), Some(piece)) = (header, piece) {
                output.write_at(&header.to_bytes(), 0).map_err(failed)?;
                self.copy_redo(&self.it.from.join(&now.logs[n].name), piece, &output)?;
                self.bytes += redo_bytes;
            }
        }
        // A log gets another header before the first of its bytes is overwritten.
        let is_same = |piece: &Piece| {
            self.header(&now.logs[piece.log]).zip(headers[piece.log]).is_some_and(|(now, then)| now.id() == then.id())
        };
        Ok(pieces.iter().all(is_same).then(|| end.0 - from.0))
    }

    fn header(&self, log: &LogGroupEntry) -> Option<LogHeader> {
        let is_own = |h: &LogHeader| {
            (h.database, h.incarnation) == (self.then.database, self.then.incarnation.number) && log.sequence > 0
        };
        LogHeader::read(&self.it.from.join(&log.name)).ok().filter(is_own)
    }

    /// The end of the last whole record; `None` when the logs do not have the redo from `from` on any more.
    fn end_of_redo(&self, paths: &[PathBuf], from: Rba) -> Result<Option<Rba>> {
        if self.then.clean {
            return Ok(Some(from));
        }
        let reader = LogReader::open(paths, self.then.database, self.then.incarnation.number, from);
        let is_reused = |e: &Ora| e.is(308) || e.is(353) || e.is(313);
        let mut reader = match reader {
            Err(e) if is_reused(&e) => return Ok(None),
            reader => reader?,
        };
        loop {
            match reader.next_record() {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(Some(reader.position())),
                Err(e) if is_reused(&e) => return Ok(None),
                Err(e) => return Err(e),
            }
        }
    }

    /// The header of the copy of a log, which begins at the checkpoint if that lies in the log.
    fn new_header(&self, of: &LogHeader, piece: &Piece) -> LogHeader {
        let at = &self.then.checkpoint;
        let (first_scn, first_time_s) = match piece.from > of.start {
            true => (at.scn, at.time_s),
            false => (of.first_scn, of.first_time_s),
        };
        LogHeader {
            database: self.it.database,
            start: piece.from,
            end: Rba(0),
            // Never 0, which would have a start search the whole file for later redo.
            reach_bytes: (piece.end.0 - piece.from.0 + 1).next_multiple_of(LOG_HEADER_BYTES),
            first_scn,
            first_time_s,
            ..*of
        }
    }

    fn copy_redo(&self, path: &Path, piece: &Piece, output: &File) -> Result<()> {
        let input = File::open(path, OpenMode::Read).map_err(|e| cannot_read(path, &e))?;
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut at = piece.from.0;
        while at < piece.end.0 {
            let bytes = &mut chunk[..CHUNK_BYTES.min((piece.end.0 - at) as usize)];
            input.read_at(bytes, LOG_HEADER_BYTES + at - piece.start.0).map_err(|e| cannot_read(path, &e))?;
            output
                .write_at(bytes, LOG_HEADER_BYTES + at - piece.from.0)
                .map_err(|e| cannot_write(output.path(), &e))?;
            at += bytes.len() as u64;
        }
        Ok(())
    }
}

/// The redo that is copied from a log.
struct Piece {
    /// The log's index.
    log: usize,
    /// The position at which the log begins.
    start: Rba,
    from: Rba,
    end: Rba,
}

/// The pieces of the logs that hold the redo of a range: at least the log in which it begins. `None` when the logs do
/// not hold all of it.
fn pieces(headers: &[Option<LogHeader>], from: Rba, end: Rba) -> Option<Vec<Piece>> {
    let mut logs: Vec<(usize, &LogHeader)> =
        headers.iter().enumerate().filter_map(|(n, h)| Some((n, h.as_ref()?))).collect();
    logs.sort_by_key(|(_, h)| h.sequence);
    let first = logs.iter().rposition(|(_, h)| h.start <= from)?;
    let mut pieces: Vec<Piece> = Vec::new();
    for (i, (log, h)) in logs.iter().enumerate().skip(first) {
        let reached = pieces.last().map_or(from, |piece| piece.end);
        if reached == end && !pieces.is_empty() {
            break;
        }
        let next = logs.get(i + 1);
        if next.is_some_and(|(_, next)| next.sequence != h.sequence + 1) || h.start > reached {
            return None;
        }
        let to = next.map_or(end, |(_, next)| next.start.min(end));
        pieces.push(Piece { log: *log, start: h.start, from: reached, end: to });
    }
    (pieces.last()?.end == end).then_some(pieces)
}

/// The entry of a log of the copy.
fn entry_of(log: &LogGroupEntry, header: Option<&LogHeader>) -> LogGroupEntry {
    let empty =
        LogGroupEntry { group: log.group, bytes: log.bytes, name: log.name.clone(), ..LogGroupEntry::default() };
    match header {
        None => empty,
        Some(h) => LogGroupEntry {
            sequence: h.sequence,
            start: h.start.0,
            first_scn: h.first_scn,
            first_time_s: h.first_time_s,
            ..empty
        },
    }
}

/// Whether two control files have the same data files and tablespaces, in the same states.
fn same_files(then: &ControlFile, now: &ControlFile) -> bool {
    (then.database, &then.incarnation, &then.files, &then.tablespaces, &then.offline)
        == (now.database, &now.incarnation, &now.files, &now.tablespaces, &now.offline)
}

/// Sets the names of the data files: all inside the directory of the copy, and none that it needs itself.
fn settle(control: &mut ControlFile) {
    let was: Vec<String> = control.files.iter().map(|f| f.name.clone()).collect();
    settle_names(control);
    for (f, _) in control.files.iter_mut().zip(was).filter(|(f, was)| f.name != *was) {
        if RESERVED.contains(&f.name.as_str()) || f.name.starts_with("latchwork.") || f.name.starts_with("redo") {
            f.name = format!("{:04}_{}", f.head(), f.name);
        }
    }
}

/// Sets the names of the logs: those of logs outside of the directory are made from the number of the group.
fn settle_logs(control: &mut ControlFile) {
    for log in &mut control.logs {
        let path = Path::new(&log.name);
        let is_inside = path.is_relative() && !path.components().any(|c| c == std::path::Component::ParentDir);
        if !is_inside {
            log.name = format!("redo{:02}.log", log.group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(sequence: u32, start: u64) -> Option<LogHeader> {
        Some(LogHeader { sequence, start: Rba(start), ..LogHeader::default() })
    }

    fn ranges(headers: &[Option<LogHeader>], from: u64, end: u64) -> Option<Vec<(usize, u64, u64)>> {
        let pieces = pieces(headers, Rba(from), Rba(end))?;
        Some(pieces.iter().map(|piece| (piece.log, piece.from.0, piece.end.0)).collect())
    }

    #[test]
    fn the_redo_of_a_range_lies_in_successive_logs() {
        let logs = [header(8, 2000), None, header(7, 1000), header(9, 3000)];
        assert_eq!(ranges(&logs, 1500, 3200), Some(vec![(2, 1500, 2000), (0, 2000, 3000), (3, 3000, 3200)]));
        assert_eq!(ranges(&logs, 2000, 2500), Some(vec![(0, 2000, 2500)]));
        assert_eq!(ranges(&logs, 3100, 3100), Some(vec![(3, 3100, 3100)]), "no redo: the log is listed all the same");
        assert_eq!(ranges(&logs, 2000, 3000), Some(vec![(0, 2000, 3000)]), "nothing of the next log");
        assert_eq!(ranges(&logs, 900, 3200), None, "the log with the begin was reused");
        assert_eq!(ranges(&[header(7, 1000), header(9, 3000)], 1500, 3200), None, "a log in between was reused");
    }

    #[test]
    fn names_of_a_copy_are_inside_its_directory() {
        let file = |file, name: &str| FileEntry { file, name: name.into(), ..FileEntry::default() };
        let log = |group, name: &str| LogGroupEntry { group, name: name.into(), ..LogGroupEntry::default() };
        let mut control = ControlFile {
            files: vec![
                file(1, "system01.dbf"),
                file(2, "/x/system01.dbf"),
                file(3, "../y/control"),
                file(4, "a/b.dbf"),
            ],
            logs: vec![log(1, "redo01.log"), log(2, "/x/two.log")],
            ..ControlFile::default()
        };
        settle(&mut control);
        settle_logs(&mut control);
        let names: Vec<&str> = control.files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["system01.dbf", "0002_system01.dbf", "0003_control", "a/b.dbf"]);
        assert_eq!([&control.logs[0].name, &control.logs[1].name], ["redo01.log", "redo02.log"]);
    }
}
