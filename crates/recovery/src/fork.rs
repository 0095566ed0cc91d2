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
//! | before the control file exists | a mark shows an unfinished copy (R21): a start refuses it, a copy removes it |
//! | later | the copy is complete |

use crate::backup::{cannot_read, make_folder};
use crate::manifest::cannot_write;
use crate::restore::settle_names;
use crate::start::begin_of;
use block::Image;
use block::file::FileCheckpoint;
use datafile::{Contents, ControlFile, FileEntry, LogGroupEntry};
use os::file::{File, OpenMode, sync_directory};
use redo::{LOG_HEADER_BYTES, LogHeader, LogReader, Rba};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use types::{Facility, Ora, Rdba, Result};

/// The file that shows the origin of a copy: the parent's directory, and the names of the files that were made. It
/// stays.
pub const FORK_MARK: &str = "forked_from";
/// The file that marks an unfinished copy. It is made first, and removed when the control file is there.
pub const FORK_UNFINISHED: &str = "fork_unfinished";

/// Files that every database directory may have; a data file from outside gets another name.
const RESERVED: [&str; 13] = [
    datafile::CONTROL_FILE,
    datafile::CONTROL_COPY,
    datafile::DOUBLE_WRITE_FILE,
    FORK_MARK,
    FORK_UNFINISHED,
    "making",
    "logon.key",
    "wallet",
    "archive",
    "alert.log",
    "init.ora",
    "control.new",
    "control02.new",
];

/// Files in the directory of a copy that are removed with it, besides those that its control file lists. The control
/// files are first.
const OWN: [&str; 10] = [
    datafile::CONTROL_FILE,
    datafile::CONTROL_COPY,
    "control.new",
    "control02.new",
    datafile::DOUBLE_WRITE_FILE,
    "alert.log",
    "init.ora",
    "logon.key",
    "making",
    "latchwork.sock",
];

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
/// Most of them that are given up because the header of a file is behind the last checkpoint.
const TRIES_BEHIND: u32 = 3;
/// Most reads of the header of a log that is not whole.
const READS: u32 = 20;

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
/// commits that did not wait. The copy ends soon after `stopped` returns true.
///
/// After an error the directory may have marks and other files, but no control file: [`clear_fork`].
///
/// # Errors
/// ORA-00205, ORA-00201, ORA-00214 for the control file; ORA-01113 for a stopped database that was not closed cleanly,
/// and for a data file that lacks changes; ORA-01157, ORA-01122, ORA-01190, ORA-01200 for a missing or foreign data
/// file; ORA-01013 when the copy was stopped; ORA-19566 for a block whose checksum stays wrong; those of reading and
/// writing, and of `checkpoint`; ORA-00308 when the parent reuses its logs faster than they can be copied.
pub fn fork(
    it: &Fork<'_>,
    is_open: bool,
    checkpoint: &mut dyn FnMut() -> Result<()>,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Forked> {
    let mut last = Again::Files(None);
    for n in 0..TRIES {
        let control = begin(it.from, is_open, checkpoint)?;
        let mut attempt = Attempt::of(it, control, is_open, stopped);
        attempt.mark()?;
        faults::point("fork-marked");
        last = match attempt.run() {
            Ok(Run::Done(forked)) => return Ok(*forked),
            Ok(Run::Again(why)) => why,
            Err(e) if e.is_stop() => return Err(e),
            // A header that is behind gets the next checkpoint, unless its file is an older copy.
            Err(e) if attempt.is_behind && n < TRIES_BEHIND => Again::Files(Some(e)),
            // A file that was dropped meanwhile cannot be copied.
            Err(e) if attempt.is_current()? => return Err(e),
            Err(e) => Again::Files(Some(e)),
        };
        attempt.remove_files()?;
    }
    Err(last.into_error())
}

/// Reads the control file of a parent. Of a stopped one both copies count: none is being exchanged.
fn read_control(from: &Path, is_open: bool) -> Result<ControlFile> {
    if is_open { ControlFile::read(from) } else { ControlFile::read_both(from).map(|(control, _)| control) }
}

/// The outcome of an attempt.
enum Run {
    Done(Box<Forked>),
    Again(Again),
}

/// The change of the parent that an attempt was given up for.
enum Again {
    /// Of its data files or tablespaces, which led to the error.
    Files(Option<Ora>),
    /// Of its logs.
    Logs(Ora),
}

impl Again {
    fn into_error(self) -> Ora {
        let (text, why) = match self {
            Again::Files(why) => {
                let text = "the database changed its data files or tablespaces during each of the attempts to copy it: \
                            repeat the fork when no DDL on them runs";
                (text, why)
            }
            Again::Logs(why) => {
                ("the database reuses its logs faster than they are copied: add larger logs", Some(why))
            }
        };
        let error = Ora::from_text(Facility::Ora, 308, text);
        why.into_iter().fold(error, Ora::because)
    }
}

fn reused(text: impl Into<String>) -> Again {
    Again::Logs(Ora::from_text(Facility::Ora, 308, text.into()))
}

/// True for a directory with a copy that was not finished.
#[must_use]
pub fn is_unfinished(directory: &Path) -> bool {
    let has = |name| os::file::exists(&directory.join(name));
    has(FORK_UNFINISHED) && !has(datafile::CONTROL_FILE) && !has(datafile::CONTROL_COPY)
}

/// Removes the mark of an unfinished copy from a directory with both copies of the control file: the program that made
/// the copy was killed after it was complete.
pub fn end_unfinished(directory: &Path) {
    let has = |name| os::file::exists(&directory.join(name));
    if has(FORK_UNFINISHED) && has(datafile::CONTROL_FILE) && has(datafile::CONTROL_COPY) {
        // A mark that stays has no effect as long as there is a control file.
        let _ = os::file::remove(&directory.join(FORK_UNFINISHED));
    }
}

/// Removes the files of a copy, finished or not: those that the copy or its instance has made. Other files stay, and so
/// does the lock file, which the caller holds. No effect in a directory without a mark.
///
/// The control files go first and the mark of the unfinished copy last: killed in between, it leaves an unfinished
/// copy.
///
/// # Errors
/// A file cannot be removed, or the mark not written.
pub fn clear_fork(directory: &Path) -> Result<()> {
    let (mark, unfinished) = (directory.join(FORK_MARK), directory.join(FORK_UNFINISHED));
    if !os::file::exists(&mark) && !os::file::exists(&unfinished) {
        return Ok(());
    }
    let listed = std::fs::read_to_string(&mark).unwrap_or_default();
    let mut names: BTreeSet<String> = listed.lines().skip(1).map(str::to_owned).collect();
    if let Ok(control) = ControlFile::read(directory) {
        names.extend(names_of(&control));
        names.extend(control.logged.iter().map(|l| l.name.clone()));
    }
    let failed = |e: os::OsError| cannot_write(&unfinished, &e);
    File::open(&unfinished, OpenMode::OpenOrCreate).map_err(failed)?;
    sync_directory(directory).map_err(failed)?;
    let own = OWN.iter().map(|name| (*name).to_owned());
    let marks = [FORK_MARK, FORK_UNFINISHED].map(str::to_owned);
    remove_listed(directory, own.chain(names.into_iter().filter(|n| !marks.contains(n))).chain(marks.clone()))
}

/// Removes files with these names, and the folders inside the directory that become empty. Names that lead out of the
/// directory are passed over.
///
/// # Errors
/// A file cannot be removed.
pub fn remove_listed(directory: &Path, names: impl Iterator<Item = String>) -> Result<()> {
    for name in names.filter(|name| is_inside(name)) {
        let path = directory.join(&name);
        let is_file = std::fs::symlink_metadata(&path).is_ok_and(|is| !is.is_dir());
        if is_file {
            os::file::remove(&path).map_err(|e| cannot_write(&path, &e))?;
        }
        // A folder with other files stays.
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != directory);
        folders.for_each(|folder| drop(std::fs::remove_dir(folder)));
    }
    Ok(())
}

/// The names of the data files and logs of a control file.
#[must_use]
pub fn names_of(control: &ControlFile) -> Vec<String> {
    control.heads().map(|f| f.name.clone()).chain(control.logs.iter().map(|l| l.name.clone())).collect()
}

fn is_inside(name: &str) -> bool {
    let path = Path::new(name);
    !name.is_empty() && path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir))
}

/// Checks that a database can be copied, as [`fork`] does first.
///
/// # Errors
/// Those of [`fork`] for the control file and the checkpoint.
pub fn require_forkable(from: &Path, is_open: bool, checkpoint: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    begin(from, is_open, checkpoint).map(drop)
}

/// Makes a checkpoint, and reads the control file that a copy begins with.
fn begin(from: &Path, is_open: bool, checkpoint: &mut dyn FnMut() -> Result<()>) -> Result<ControlFile> {
    if is_open {
        checkpoint()?;
    }
    let control = read_control(from, is_open)?;
    if !is_open && !control.clean {
        let text = "The database was not closed cleanly: start it once to recover it.";
        return Err(Ora::with(1113, &[&1]).because(Ora::from_text(Facility::Lwk, 1, text)));
    }
    Ok(control)
}

/// One attempt, from a control file on.
struct Attempt<'a> {
    it: &'a Fork<'a>,
    /// The parent's control file before the first block was copied.
    then: ControlFile,
    /// The control file of the copy.
    control: ControlFile,
    is_open: bool,
    stopped: &'a mut (dyn FnMut() -> bool + 'a),
    /// A header had an older checkpoint than the control file.
    is_behind: bool,
    /// The largest redo address in the copied blocks of files that are rolled forward.
    newest: Rba,
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
    fn of(
        it: &'a Fork<'a>,
        then: ControlFile,
        is_open: bool,
        stopped: &'a mut (dyn FnMut() -> bool + 'a),
    ) -> Attempt<'a> {
        let size = then.block_size;
        let mut control = then.clone();
        settle(&mut control);
        settle_logs(&mut control);
        let chunk = vec![0; CHUNK_BYTES.max(size) / size * size];
        Attempt {
            it,
            then,
            control,
            is_open,
            stopped,
            is_behind: false,
            newest: Rba(0),
            made: BTreeSet::new(),
            bytes: 0,
            shared: 0,
            chunk,
            image: Image::new(size),
        }
    }

    /// Marks the directory as one with an unfinished copy, and lists the files that will be made.
    fn mark(&self) -> Result<()> {
        let (unfinished, mark) = (self.it.to.join(FORK_UNFINISHED), self.it.to.join(FORK_MARK));
        File::open(&unfinished, OpenMode::OpenOrCreate).map_err(|e| cannot_write(&unfinished, &e))?;
        let names = names_of(&self.control).into_iter().map(|name| name + "\n").collect::<String>();
        let text = format!("{}\n{names}", self.it.from.display());
        if std::fs::read_to_string(&mark).is_ok_and(|was| was == text) {
            return Ok(());
        }
        let failed = |e: os::OsError| cannot_write(&mark, &e);
        let file = File::open(&mark, OpenMode::Truncate).map_err(failed)?;
        file.write_at(text.as_bytes(), 0).map_err(failed)?;
        if self.it.sync {
            file.sync().map_err(failed)?;
            sync_directory(self.it.to).map_err(failed)?;
        }
        Ok(())
    }

    /// ORA-01013 when the copy is to end.
    fn go_on(&mut self) -> Result<()> {
        if (self.stopped)() { Err(Ora::new(1013)) } else { Ok(()) }
    }

    /// Makes the copy.
    fn run(&mut self) -> Result<Run> {
        let checkpoint = self.then.checkpoint;
        // The redo of a file that was made behind the checkpoint begins at its creation; the next checkpoint is behind
        // that.
        if !self.then.clean && self.then.files.iter().any(|f| f.created_rba > checkpoint.rba) {
            return Ok(Run::Again(Again::Files(None)));
        }
        let heads: Vec<FileEntry> = self.then.heads().filter(|f| !self.is_temporary(f)).cloned().collect();
        for head in &heads {
            self.copy_file(head)?;
            faults::point("fork-file-copied");
        }
        let now = self.read_again()?;
        // A stopped database has no redo, and must have stayed stopped.
        if !same_files(&self.then, &now) || self.then.clean && self.then != now {
            return Ok(Run::Again(Again::Files(None)));
        }
        faults::point("fork-control-compared");
        let redo_bytes = match self.copy_logs(&now)? {
            Ok(bytes) => bytes,
            Err(why) => return Ok(Run::Again(why)),
        };
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
        let unfinished = self.it.to.join(FORK_UNFINISHED);
        let failed = |e: os::OsError| cannot_write(&unfinished, &e);
        os::file::remove(&unfinished).map_err(failed)?;
        if self.it.sync {
            sync_directory(self.it.to).map_err(failed)?;
        }
        let pairs = self.then.heads().zip(self.control.heads());
        let moved = pairs.filter(|(was, is)| was.name != is.name).map(|(was, is)| (was.name.clone(), is.name.clone()));
        Ok(Run::Done(Box::new(Forked {
            moved: moved.collect(),
            control: self.control.clone(),
            bytes: self.bytes,
            shared: self.shared,
            redo_bytes,
        })))
    }

    fn read_again(&self) -> Result<ControlFile> {
        read_control(self.it.from, self.is_open)
    }

    /// Whether the parent still has the files that it had at the begin.
    fn is_current(&self) -> Result<bool> {
        Ok(same_files(&self.then, &self.read_again()?))
    }

    /// Whether redo of the file is applied by the first start.
    fn is_forward(&self, f: &FileEntry) -> bool {
        !f.is_offline && !self.then.tablespace(f.tablespace).is_some_and(|t| t.is_offline || t.is_read_only)
    }

    /// An error of a data file, with its name.
    fn error_of(&self, f: &FileEntry, error: Ora) -> Ora {
        error.because(Ora::with(1110, &[&f.head(), &self.it.from.join(&f.name).display()]))
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
        let is_away = head.is_offline || self.then.tablespace(head.tablespace).is_some_and(|t| t.is_offline);
        let input = match File::open(&path, OpenMode::Read) {
            Ok(input) => input,
            // A file that is offline and missing is missing in the copy, too.
            Err(_) if is_away => return Ok(()),
            Err(_) => return Err(self.error_of(head, Ora::with(1157, &[&head.head()]))),
        };
        let name = self.control.file(head.file).map_or(head.name.clone(), |f| f.name.clone());
        let output = self.create(&name)?;
        let failed = |e: os::OsError| cannot_write(output.path(), &e);
        let is_shared = self.it.shares_space && output.share_space_of(&input).map_err(failed)?;
        // The file may have grown between its sharing and a look at its own length.
        let len = if is_shared { &output } else { &input }.len_bytes().map_err(|e| cannot_read(&path, &e))?;
        match is_shared {
            true => {}
            false if self.it.is_transient => output.set_len(len).map_err(failed)?,
            // The file keeps its allocated space, so that a full disk is an error of its growth only.
            false => output.allocate(len).map_err(failed)?,
        }
        self.shared += usize::from(is_shared);
        let pair = Pair { input, output, is_shared };
        let parts: Vec<FileEntry> = self.then.parts_of(head.file).into_iter().cloned().collect();
        let size = self.then.block_size as u64;
        for part in &parts {
            let begin = u64::from(part.part) * u64::from(self.then.part_blocks.0) * self.then.block_size as u64;
            let most = u64::from(self.then.blocks_most(part)) * self.then.block_size as u64;
            let (has, least) = (len / size, begin / size + u64::from(part.blocks));
            if has < least && !is_away {
                return Err(self.error_of(part, Ora::with(1200, &[&has, &least])));
            }
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
                self.go_on()?;
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
        let is_forward = self.is_forward(part);
        for (i, bytes) in bytes.chunks_mut(size).enumerate() {
            let position = at + (i * size) as u64;
            let number = ((position - begin) / size as u64) as u32;
            let mut is_other = self.make_whole(&pair.input, Rdba::new(part.file, number), position, bytes)?;
            if number == 0 {
                self.make_header(part, bytes)?;
                is_other = true;
            } else if is_forward {
                self.newest = self.newest.max(Rba(block::rba_of(bytes)));
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
    /// file: its header may have an earlier one, as in backup mode, or one that was completed during the copy. Any
    /// other earlier one shows a copy of the file that lacks changes.
    fn make_header(&mut self, part: &FileEntry, bytes: &mut [u8]) -> Result<()> {
        self.image.bytes_mut().copy_from_slice(bytes);
        let is_own = block::file::read(&self.image.view()).is_some_and(|h| {
            (h.database, h.file, h.tablespace) == (self.then.database, part.file, part.tablespace)
                && h.block_size as usize == self.then.block_size
        });
        if !is_own {
            return Err(self.error_of(part, Ora::with(1122, &[&part.head()])));
        }
        block::file::set_database(bytes, self.it.database);
        if self.is_forward(part) {
            let has = block::file::checkpoint(&self.image.view());
            self.check_checkpoint(part, &has)?;
            let (at, incarnation) = (&self.then.checkpoint, self.then.incarnation.number);
            let to = FileCheckpoint { rba: at.rba, incarnation, time_s: at.time_s, scn: at.scn.0 };
            block::file::set_checkpoint(bytes, &to);
        }
        block::seal(bytes);
        Ok(())
    }

    /// Checks that a file has all changes before the checkpoint of the control file. END BACKUP writes the headers
    /// before the control file, and so does every checkpoint.
    fn check_checkpoint(&mut self, part: &FileEntry, has: &FileCheckpoint) -> Result<()> {
        let at = Rba(self.then.checkpoint.rba);
        if has.rba != 0 && has.incarnation != self.then.incarnation.number {
            return Err(self.error_of(part, Ora::with(1190, &[&part.head()])));
        }
        if self.then.clean && has.rba > at.0 {
            return Err(self.error_of(part, Ora::with(1122, &[&part.head()])).because(Ora::new(1207)));
        }
        let is_behind = begin_of(part, has.rba) < at;
        if is_behind && (self.then.clean || !self.then.is_copied(part.file)) {
            self.is_behind = self.is_open;
            return Err(self.error_of(part, Ora::with(1113, &[&part.head()])));
        }
        self.newest = self.newest.max(Rba(has.rba));
        Ok(())
    }

    /// Copies the redo from the checkpoint to its present end, and makes the other logs, empty. Returns the bytes of
    /// redo, or the change that was made meanwhile.
    fn copy_logs(&mut self, now: &ControlFile) -> Result<std::result::Result<u64, Again>> {
        let from = Rba(self.then.checkpoint.rba);
        let end = match self.end_of_redo(now, from)? {
            Ok(end) => end,
            Err(why) => return Ok(Err(why)),
        };
        // DDL until here has its redo before the end, and its change of the control file perhaps not in `then`.
        if !same_files(&self.then, &self.read_again()?) {
            return Ok(Err(Again::Files(None)));
        }
        let headers = now.logs.iter().map(|l| self.header(now, l)).collect::<Result<Vec<_>>>()?;
        let rooms: Vec<u64> = now.logs.iter().map(|l| l.bytes.saturating_sub(LOG_HEADER_BYTES)).collect();
        let Some(pieces) = pieces(&headers, &rooms, from, end) else {
            return Ok(Err(reused(format!("the logs do not hold the redo from position {} to {}", from.0, end.0))));
        };
        let listed = self.control.logs.clone();
        self.control.logs.clone_from(&now.logs);
        settle_logs(&mut self.control);
        if listed.iter().map(|l| &l.name).ne(self.control.logs.iter().map(|l| &l.name)) {
            return Ok(Err(reused("logs were added or dropped")));
        }
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
        for piece in &pieces {
            let (is, was) = (self.header(now, &now.logs[piece.log])?, headers[piece.log]);
            if is.map(|h| h.id()) != was.map(|h| h.id()) {
                return Ok(Err(reused(format!("log {} was reused while it was copied", now.logs[piece.log].name))));
            }
        }
        Ok(Ok(end.0 - from.0))
    }

    /// The header of a log, `None` for a log of another database or without redo. A header may be read while it is
    /// overwritten, so two reads have to agree.
    ///
    /// A damaged header of a log that ends before the checkpoint is no error: a start does not read that log.
    fn header(&self, now: &ControlFile, log: &LogGroupEntry) -> Result<Option<LogHeader>> {
        if log.sequence == 0 {
            return Ok(None);
        }
        let path = self.it.from.join(&log.name);
        let mut before = LogHeader::read(&path);
        for _ in 0..READS {
            let header = LogHeader::read(&path);
            if let (Ok(one), Ok(two)) = (&before, &header)
                && one == two
            {
                let is_own = (two.database, two.incarnation) == (self.then.database, self.then.incarnation.number);
                return Ok(is_own.then_some(*two));
            }
            before = header;
            os::clock::sleep(PAUSE);
        }
        let from = self.then.checkpoint.rba;
        let ends_before = now.logs.iter().any(|next| next.sequence == log.sequence + 1 && next.start <= from);
        match before {
            Err(_) if ends_before => Ok(None),
            header => header.map(Some),
        }
    }

    /// The end of the last whole record; the reason when the logs do not have the redo from `from` on any more.
    fn end_of_redo(&self, now: &ControlFile, from: Rba) -> Result<std::result::Result<Rba, Again>> {
        if self.then.clean {
            return Ok(Ok(from));
        }
        let paths: Vec<PathBuf> =
            now.logs.iter().filter(|l| l.sequence > 0).map(|l| self.it.from.join(&l.name)).collect();
        let reader = LogReader::open(&paths, self.then.database, self.then.incarnation.number, from);
        let is_reused = |e: &Ora| e.is(308) || e.is(353) || e.is(313);
        let mut reader = match reader {
            Err(e) if is_reused(&e) => return Ok(Err(Again::Logs(e))),
            reader => reader?,
        };
        loop {
            match reader.next_record() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(e) if is_reused(&e) => return Ok(Err(Again::Logs(e))),
                Err(e) => return Err(e),
            }
        }
        let (end, sequence) = (reader.position(), reader.sequence());
        // The reader passes over a log whose header is being overwritten.
        let current = now.current_log().map_or((0, 0), |log| (log.sequence, log.start));
        if sequence < current.0 || end.0 < current.1 {
            return Ok(Err(reused(format!("the redo ends in log sequence {sequence}, before sequence {}", current.0))));
        }
        if end < self.newest {
            let text = format!("the redo ends at position {}, before a block of position {}", end.0, self.newest.0);
            return Ok(Err(reused(text)));
        }
        Ok(Ok(end))
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

    fn copy_redo(&mut self, path: &Path, piece: &Piece, output: &File) -> Result<()> {
        let input = File::open(path, OpenMode::Read).map_err(|e| cannot_read(path, &e))?;
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut at = piece.from.0;
        while at < piece.end.0 {
            self.go_on()?;
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
/// not hold all of it, or have no room (in bytes) for it.
fn pieces(headers: &[Option<LogHeader>], rooms: &[u64], from: Rba, end: Rba) -> Option<Vec<Piece>> {
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
        if to.0.saturating_sub(h.start.0) > rooms[*log] {
            return None;
        }
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
    let mut taken: BTreeSet<String> = names_of(control).into_iter().filter(|name| is_inside(name)).collect();
    for log in control.logs.iter_mut().filter(|log| !is_inside(&log.name)) {
        let base = format!("redo{:02}.log", log.group);
        log.name = if taken.contains(&base) { format!("redo{:02}_other.log", log.group) } else { base };
        taken.insert(log.name.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(sequence: u32, start: u64) -> Option<LogHeader> {
        Some(LogHeader { sequence, start: Rba(start), ..LogHeader::default() })
    }

    fn ranges(headers: &[Option<LogHeader>], from: u64, end: u64) -> Option<Vec<(usize, u64, u64)>> {
        let pieces = pieces(headers, &vec![1000; headers.len()], Rba(from), Rba(end))?;
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
        assert_eq!(ranges(&logs, 3100, 4000), Some(vec![(3, 3100, 4000)]));
        assert_eq!(ranges(&logs, 3100, 4008), None, "behind the room of the last log");
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
                file(5, "redo03.log"),
            ],
            logs: vec![log(1, "redo01.log"), log(2, "/x/two.log"), log(3, "../x/three.log")],
            ..ControlFile::default()
        };
        settle(&mut control);
        settle_logs(&mut control);
        let names: Vec<&str> = control.files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["system01.dbf", "0002_system01.dbf", "0003_control", "a/b.dbf", "redo03.log"]);
        let logs: Vec<&str> = control.logs.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(logs, ["redo01.log", "redo02.log", "redo03_other.log"]);
    }
}
