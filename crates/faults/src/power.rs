//! Loss of power: unsynced changes may be lost, whole or by sectors, when the instance starts again.
//!
//! `kill -9` keeps the page cache of the operating system, so it does not reveal a missing sync. While this layer is
//! armed every change that [`os::file`] makes is written through, and the bytes that it overwrites are saved before,
//! in an undo journal beside the files. A sync of a file drops the saved bytes of that file, a sync of a directory
//! drops its creations, renames and removals. The n-th sync is the end: the instance dies in it, before it takes
//! effect. When every process is dead, [`restore`] walks the journal backwards and decides at random for each change
//! since the last sync whether it reached the device, did not, or, for a write, which of its sectors did. Rejected:
//! keeping unsynced bytes in memory, because the processes of an instance would have to read through that memory, and
//! this layer must not touch the read path.
//!
//! When a sector was written more than once since the last sync, each of its versions may remain, because a device may
//! reorder writes that no sync separates. A kept length without kept bytes reads as zeros.
//!
//! The journal is opened and locked for each operation, so that forked processes exclude one another and the lock of a
//! killed one is released. The supervisor arms the layer before it opens a file.
//!
//! | state of the journal | meaning |
//! |---|---|
//! | missing | not armed, or restored |
//! | `dead` is 0 | the instance may write; if all its processes are gone this is a power loss between two syncs |
//! | `dead` is 1 | power is gone: a process that writes dies |

use std::collections::HashMap;
use std::fs::{File as StdFile, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use os::injection::FileJournal;
use os::{OsError, OsResult, process};

use crate::common::{POWER_FOLDER, Restored};
use crate::crash;

/// Bytes a device writes whole or not at all.
const SECTOR: u64 = 512;

/// Bytes of the journal's head: magic, dead, syncs, next backup's number, bytes of entries.
const HEAD: u64 = 40;

const MAGIC: u64 = 0x4c57_504f_5745_5231;

/// Size of the journal from which a sync drops settled entries.
const COMPACT_BYTES: u64 = 16 << 20;

static PLAN: OnceLock<Plan> = OnceLock::new();

#[derive(Debug)]
struct Plan {
    folder: PathBuf,
    /// The number of the last sync; 0: none.
    at: u64,
    supervisor: i32,
}

/// Arms the layer for this process and those it forks later: power fails at the `at`-th sync, or, if that is 0, when
/// the instance is killed.
pub(crate) fn arm(dir: &Path, at: u64) -> OsResult<()> {
    let folder = dir.join(POWER_FOLDER);
    let what = || folder.display().to_string();
    std::fs::create_dir(&folder).map_err(|e| OsError::from_io("mkdir", what(), e))?;
    let mut head = [0; HEAD as usize];
    head[..8].copy_from_slice(&MAGIC.to_le_bytes());
    std::fs::write(folder.join("journal"), head).map_err(|e| OsError::from_io("write", what(), e))?;
    let plan = Plan { folder: folder.clone(), at, supervisor: process::own_id() };
    PLAN.set(plan).map_err(|_| OsError::from_errno("power loss", what(), libc::EALREADY))?;
    Ok(())
}

/// True while this process writes through the journal.
pub(crate) fn is_armed() -> bool {
    PLAN.get().is_some()
}

/// One change that can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    /// Bytes `pos..pos + old.len()` of a file that was `len` bytes long; shorter than the write where the file ended.
    Write { inode: u64, pos: u64, new_len: u64, len: u64, old: Vec<u8> },
    /// A file that was `len` bytes long was truncated or extended; `old` is the truncated part.
    Length { inode: u64, len: u64, old: Vec<u8> },
    /// All earlier changes of this file are on the device.
    Sync { inode: u64 },
    /// A file that did not exist before.
    Create { inode: u64, path: PathBuf },
    /// `from` became `to`; `backup` is the file that had the name `to`, empty when there was none.
    Rename { from: PathBuf, to: PathBuf, backup: PathBuf },
    /// A file lost its name.
    Remove { path: PathBuf, backup: PathBuf },
    /// The entries of a directory are on the device.
    SyncDirectory { path: PathBuf },
}

/// The journal, open and locked.
struct Journal {
    file: StdFile,
    folder: PathBuf,
}

impl Journal {
    fn open(folder: &Path) -> io::Result<Journal> {
        let file = OpenOptions::new().read(true).write(true).open(folder.join("journal"))?;
        os::file::lock(&file)?;
        Ok(Journal { file, folder: folder.to_owned() })
    }

    fn word(&self, n: u64) -> io::Result<u64> {
        let mut b = [0; 8];
        self.file.read_exact_at(&mut b, n * 8)?;
        Ok(u64::from_le_bytes(b))
    }

    fn set_word(&self, n: u64, value: u64) -> io::Result<()> {
        self.file.write_all_at(&value.to_le_bytes(), n * 8)
    }

    /// Adds an entry. It counts once all its bytes are written: a process killed in between leaves a part that later
    /// readers ignore.
    fn add(&self, entry: &Entry) -> io::Result<()> {
        let mut out = Vec::new();
        entry.print(&mut out);
        let len = self.word(4)?;
        self.file.write_all_at(&out, HEAD + len)?;
        self.set_word(4, len + out.len() as u64)
    }

    /// An unused name in the journal's folder.
    fn backup(&self) -> io::Result<PathBuf> {
        let n = self.word(3)?;
        self.set_word(3, n + 1)?;
        Ok(self.folder.join(format!("old{n}")))
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut bytes = vec![0; self.word(4)? as usize];
        self.file.read_exact_at(&mut bytes, HEAD)?;
        let (mut all, mut at) = (Vec::new(), &bytes[..]);
        while let Some(entry) = Entry::parse(&mut at) {
            all.push(entry);
        }
        Ok(all)
    }

    /// Drops entries that a sync has settled.
    fn compact(&self) -> io::Result<()> {
        if self.word(4)? < COMPACT_BYTES {
            return Ok(());
        }
        let mut out = Vec::new();
        let all = self.entries()?;
        for (entry, open) in all.iter().zip(unsettled(&all)) {
            if open {
                entry.print(&mut out);
            } else if let Some(backup) = entry.backup() {
                let _ = std::fs::remove_file(backup);
            }
        }
        // Sets the length to zero first: a kill in between loses entries, which only makes fewer changes undoable.
        self.set_word(4, 0)?;
        self.file.write_all_at(&out, HEAD)?;
        self.set_word(4, out.len() as u64)
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}

fn take<'a>(at: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = take_word(at)?;
    let (bytes, rest) = at.split_at_checked(usize::try_from(len).ok()?)?;
    *at = rest;
    Some(bytes)
}

fn take_word(at: &mut &[u8]) -> Option<u64> {
    let (bytes, rest) = at.split_first_chunk::<8>()?;
    *at = rest;
    Some(u64::from_le_bytes(*bytes))
}

fn take_path(at: &mut &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(take(at)?)))
}

impl Entry {
    fn print(&self, out: &mut Vec<u8>) {
        use std::os::unix::ffi::OsStrExt;
        let (kind, words, parts): (u64, Vec<u64>, Vec<&[u8]>) = match self {
            Entry::Write { inode, pos, new_len, len, old } => (1, vec![*inode, *pos, *new_len, *len], vec![old]),
            Entry::Length { inode, len, old } => (2, vec![*inode, *len], vec![old]),
            Entry::Sync { inode } => (3, vec![*inode], vec![]),
            Entry::Create { inode, path } => (4, vec![*inode], vec![path.as_os_str().as_bytes()]),
            Entry::Rename { from, to, backup } => {
                (5, vec![], [from, to, backup].map(|p| p.as_os_str().as_bytes()).to_vec())
            }
            Entry::Remove { path, backup } => (6, vec![], [path, backup].map(|p| p.as_os_str().as_bytes()).to_vec()),
            Entry::SyncDirectory { path } => (7, vec![], vec![path.as_os_str().as_bytes()]),
        };
        let mut body = Vec::new();
        words.iter().for_each(|w| body.extend(w.to_le_bytes()));
        parts.iter().for_each(|p| put(&mut body, p));
        out.extend(kind.to_le_bytes());
        put(out, &body);
    }

    fn parse(at: &mut &[u8]) -> Option<Entry> {
        let kind = take_word(at)?;
        let mut body = take(at)?;
        let b = &mut body;
        Some(match kind {
            1 => Entry::Write {
                inode: take_word(b)?,
                pos: take_word(b)?,
                new_len: take_word(b)?,
                len: take_word(b)?,
                old: take(b)?.to_vec(),
            },
            2 => Entry::Length { inode: take_word(b)?, len: take_word(b)?, old: take(b)?.to_vec() },
            3 => Entry::Sync { inode: take_word(b)? },
            4 => Entry::Create { inode: take_word(b)?, path: take_path(b)? },
            5 => Entry::Rename { from: take_path(b)?, to: take_path(b)?, backup: take_path(b)? },
            6 => Entry::Remove { path: take_path(b)?, backup: take_path(b)? },
            7 => Entry::SyncDirectory { path: take_path(b)? },
            _ => return None,
        })
    }

    fn backup(&self) -> Option<&Path> {
        match self {
            Entry::Rename { backup, .. } | Entry::Remove { backup, .. } if !backup.as_os_str().is_empty() => {
                Some(backup)
            }
            _ => None,
        }
    }
}

/// For each entry, whether a power loss now may still undo it.
fn unsettled(all: &[Entry]) -> Vec<bool> {
    let mut open = vec![false; all.len()];
    for (n, entry) in all.iter().enumerate() {
        match entry {
            Entry::Sync { inode } => settle(&mut open[..n], all, |e| e.is_of(*inode)),
            // The inode's number may have belonged to a file that was removed.
            Entry::Create { inode, .. } => {
                settle(&mut open[..n], all, |e| e.is_of(*inode));
                open[n] = true;
            }
            Entry::SyncDirectory { path } => settle(&mut open[..n], all, |e| e.is_in(path)),
            _ => open[n] = true,
        }
    }
    open
}

fn settle(open: &mut [bool], all: &[Entry], mut which: impl FnMut(&Entry) -> bool) {
    for (o, e) in open.iter_mut().zip(all) {
        *o = *o && !which(e);
    }
}

impl Entry {
    /// Whether this is a change of the contents of this file.
    fn is_of(&self, of: u64) -> bool {
        matches!(self, Entry::Write { inode, .. } | Entry::Length { inode, .. } if *inode == of)
    }

    /// Whether this is a change of the entries of this directory.
    fn is_in(&self, dir: &Path) -> bool {
        match self {
            Entry::Create { path, .. } | Entry::Remove { path, .. } => path.parent() == Some(dir),
            Entry::Rename { to, .. } => to.parent() == Some(dir),
            _ => false,
        }
    }
}

/// Runs `f` with the journal. If power is gone the caller dies.
fn guarded<R>(call: &'static str, path: &Path, f: impl FnOnce(&Journal) -> io::Result<R>) -> OsResult<R> {
    let plan = PLAN.get().expect("the layer is armed");
    let run = || -> io::Result<R> {
        let journal = Journal::open(&plan.folder)?;
        if journal.word(1)? != 0 {
            crash::die(plan.supervisor);
        }
        f(&journal)
    };
    run().map_err(|e| OsError::from_io(call, path.display().to_string(), e))
}

/// Counts a sync; at the n-th one the instance dies.
fn count_sync(journal: &Journal) -> io::Result<()> {
    let plan = PLAN.get().expect("the layer is armed");
    let n = journal.word(2)? + 1;
    journal.set_word(2, n)?;
    if n == plan.at {
        journal.set_word(1, 1)?;
        crash::die(plan.supervisor);
    }
    Ok(())
}

fn note_length(journal: &Journal, file: &StdFile, to: u64) -> io::Result<()> {
    let meta = file.metadata()?;
    let mut old = vec![0; meta.len().saturating_sub(to) as usize];
    file.read_exact_at(&mut old, to.min(meta.len()))?;
    journal.add(&Entry::Length { inode: meta.ino(), len: meta.len(), old })
}

/// Makes each change of a file through the journal of this process.
#[derive(Debug)]
pub(crate) struct Journaled;

impl FileJournal for Journaled {
    /// Saves the contents of a truncated file and records a new one.
    fn open(&self, path: &Path, empties: bool, open: &dyn Fn() -> io::Result<StdFile>) -> OsResult<StdFile> {
        guarded("open", path, |journal| {
            let was = path.exists();
            if was && empties {
                note_length(journal, &StdFile::open(path)?, 0)?;
            }
            let file = open()?;
            if !was {
                journal.add(&Entry::Create { inode: file.metadata()?.ino(), path: path.to_owned() })?;
            }
            Ok(file)
        })
    }

    /// Saves the bytes that were there.
    fn write(&self, file: &StdFile, path: &Path, buffer: &[u8], position: u64) -> OsResult<()> {
        guarded("pwrite", path, |journal| {
            let meta = file.metadata()?;
            let from = position / SECTOR * SECTOR;
            let end = (position + buffer.len() as u64).next_multiple_of(SECTOR).min(meta.len()).max(from);
            let mut old = vec![0; (end - from) as usize];
            file.read_exact_at(&mut old, from)?;
            let new_len = position + buffer.len() as u64 - from;
            journal.add(&Entry::Write { inode: meta.ino(), pos: from, new_len, len: meta.len(), old })?;
            file.write_all_at(buffer, position)
        })
    }

    /// Saves the truncated part.
    fn change_length(&self, file: &StdFile, path: &Path, to: u64, change: &dyn Fn() -> io::Result<()>) -> OsResult<()> {
        guarded("ftruncate", path, |journal| {
            note_length(journal, file, to)?;
            change()
        })
    }

    fn sync(&self, file: &StdFile, path: &Path) -> OsResult<()> {
        guarded("fdatasync", path, |journal| {
            count_sync(journal)?;
            journal.add(&Entry::Sync { inode: file.metadata()?.ino() })?;
            journal.compact()
        })
    }

    fn sync_directory(&self, path: &Path) -> OsResult<()> {
        guarded("fsync", path, |journal| {
            count_sync(journal)?;
            journal.add(&Entry::SyncDirectory { path: path.to_owned() })
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> OsResult<()> {
        guarded("rename", to, |journal| {
            let backup = if to.exists() { journal.backup()? } else { PathBuf::new() };
            if to.exists() {
                std::fs::hard_link(to, &backup)?;
            }
            journal.add(&Entry::Rename { from: from.to_owned(), to: to.to_owned(), backup })?;
            std::fs::rename(from, to)
        })
    }

    fn remove(&self, path: &Path) -> OsResult<()> {
        guarded("unlink", path, |journal| {
            let backup = journal.backup()?;
            std::fs::hard_link(path, &backup)?;
            journal.add(&Entry::Remove { path: path.to_owned(), backup })?;
            std::fs::remove_file(path)
        })
    }
}

/// A random generator: the seed determines the whole sequence.
struct Coin(u64);

impl Coin {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// The fate of one change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Lost,
    Torn,
}

/// The kind of one power loss: a quarter lose every change, an eighth none.
#[derive(Clone, Copy)]
enum Mood {
    Nothing,
    Everything,
    Mixed,
}

impl Mood {
    fn of(coin: &mut Coin) -> Mood {
        match coin.below(8) {
            0 => Mood::Everything,
            1 | 2 => Mood::Nothing,
            _ => Mood::Mixed,
        }
    }

    fn fate(self, coin: &mut Coin) -> Fate {
        match (self, coin.below(3)) {
            (Mood::Everything, _) | (Mood::Mixed, 0) => Fate::Kept,
            (Mood::Nothing, _) | (Mood::Mixed, 1) => Fate::Lost,
            (Mood::Mixed, _) => Fate::Torn,
        }
    }
}

/// Plays the power loss on the files of `dir` and removes the journal.
pub(crate) fn restore(dir: &Path, seed: u64) -> OsResult<Option<Restored>> {
    let folder = dir.join(POWER_FOLDER);
    if !folder.join("journal").exists() {
        return Ok(None);
    }
    let run = || -> io::Result<Restored> {
        let journal = Journal::open(&folder)?;
        let restored = take_back(&journal, dir, seed)?;
        std::fs::remove_dir_all(&folder)?;
        Ok(restored)
    };
    run().map(Some).map_err(|e| OsError::from_io("restore", folder.display().to_string(), e))
}

fn take_back(journal: &Journal, dir: &Path, seed: u64) -> io::Result<Restored> {
    let all = journal.entries()?;
    let mut files = HashMap::new();
    find_files(dir, &mut files)?;
    let mut coin = Coin(seed);
    let mood = Mood::of(&mut coin);
    let mut done = Restored { syncs: journal.word(2)?, ..Restored::default() };
    for (entry, open) in all.iter().zip(unsettled(&all)).rev() {
        if !open {
            continue;
        }
        let fate = mood.fate(&mut coin);
        match fate {
            Fate::Kept => done.kept += 1,
            Fate::Lost => done.lost += 1,
            Fate::Torn => done.torn += 1,
        }
        if fate != Fate::Kept {
            entry.take_back(&mut files, (fate == Fate::Torn).then_some(&mut coin))?;
        }
    }
    Ok(done)
}

/// Collects the path of every file below `dir` by its inode.
fn find_files(dir: &Path, files: &mut HashMap<u64, PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        if meta.is_dir() {
            find_files(&entry.path(), files)?;
        } else if meta.is_file() {
            files.insert(meta.ino(), entry.path());
        }
    }
    Ok(())
}

impl Entry {
    /// Undoes the change, or, with a coin, some sectors of it. Names are undone whole or not at all.
    fn take_back(&self, files: &mut HashMap<u64, PathBuf>, coin: Option<&mut Coin>) -> io::Result<()> {
        let torn = coin.is_some();
        match self {
            Entry::Write { inode, pos, new_len, len, old } => {
                let Some(file) = open_by(files, *inode)? else { return Ok(()) };
                take_back_write(&file, *pos, *new_len, *len, old, coin)
            }
            Entry::Length { inode, len, old } if !torn => {
                let Some(file) = open_by(files, *inode)? else { return Ok(()) };
                file.set_len(*len)?;
                file.write_all_at(old, len - old.len() as u64)
            }
            Entry::Create { path, .. } if !torn => gone_is_fine(std::fs::remove_file(path)),
            Entry::Rename { from, to, backup } if !torn => {
                gone_is_fine(std::fs::rename(to, from))?;
                note_moved(files, from);
                if !backup.as_os_str().is_empty() {
                    gone_is_fine(std::fs::rename(backup, to))?;
                    note_moved(files, to);
                }
                Ok(())
            }
            Entry::Remove { path, backup } if !torn => {
                gone_is_fine(std::fs::rename(backup, path))?;
                note_moved(files, path);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn take_back_write(
    file: &StdFile,
    pos: u64,
    new_len: u64,
    len: u64,
    old: &[u8],
    mut coin: Option<&mut Coin>,
) -> io::Result<()> {
    let now = file.metadata()?.len();
    let mut lost = |whole: bool| coin.as_deref_mut().map_or(whole, |c| c.below(2) == 0);
    for at in (0..new_len).step_by(SECTOR as usize) {
        if !lost(true) {
            continue;
        }
        let part = &old[(at as usize).min(old.len())..((at + SECTOR) as usize).min(old.len())];
        // Bytes beyond the old end of the file read as zero when the new length is kept.
        let end = (pos + at + SECTOR).min(now).max(pos + at);
        let mut sector = vec![0; (end - pos - at) as usize];
        let n = part.len().min(sector.len());
        sector[..n].copy_from_slice(&part[..n]);
        file.write_all_at(&sector, pos + at)?;
    }
    if pos + new_len > len && lost(true) { file.set_len(len.min(now)) } else { Ok(()) }
}

fn open_by(files: &HashMap<u64, PathBuf>, inode: u64) -> io::Result<Option<StdFile>> {
    let Some(path) = files.get(&inode) else { return Ok(None) };
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => Ok(Some(file).filter(|f| f.metadata().is_ok_and(|m| m.ino() == inode))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn note_moved(files: &mut HashMap<u64, PathBuf>, path: &Path) {
    if let Ok(meta) = std::fs::metadata(path) {
        files.insert(meta.ino(), path.to_owned());
    }
}

/// A name that an earlier step removed is no error.
fn gone_is_fine(r: io::Result<()>) -> io::Result<()> {
    match r {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::file::{self, File, OpenMode};
    use os::process::{Ended, Fork};
    use os::signal;

    /// A folder that is removed when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("lw-faults-power-{name}-{}", process::own_id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Runs `f` in a child whose power fails at the `at`-th sync, or at its end; returns the child's end.
    fn until_power_fails(dir: &Path, at: u64, f: impl FnOnce() -> OsResult<()>) -> Ended {
        match process::fork().unwrap() {
            Fork::Child => {
                let ok = crate::arm_power_loss(dir, at).and_then(|()| f()).is_ok();
                process::exit_now(i32::from(!ok));
            }
            Fork::Parent(pid) => process::wait(pid).unwrap(),
        }
    }

    #[test]
    fn synced_bytes_stay_and_others_are_old_new_or_torn() {
        let (mut kinds, folder) = ([0; 3], Folder::new("torn"));
        let path = folder.0.join("f");
        for seed in 0..60 {
            std::fs::write(&path, [1; 4096]).unwrap();
            let ended = until_power_fails(&folder.0, 2, || {
                let f = File::open(&path, OpenMode::ReadWrite)?;
                f.write_at(&[2; 2048], 1024)?;
                f.sync()?;
                f.write_at(&[3; 3000], 1000)?;
                f.write_at(&[4; 1000], 5000)?;
                f.sync()
            });
            assert_eq!(ended, Ended::Killed(signal::SIGKILL));
            let done = restore(&folder.0, seed).unwrap().unwrap();
            assert_eq!((done.syncs, done.kept + done.lost + done.torn), (2, 2));
            let seen = std::fs::read(&path).unwrap();
            assert!(seen.len() == 4096 || seen.len() == 6000, "{}", seen.len());
            assert!(seen[..1000].iter().all(|b| *b == 1) && seen[4000..4096].iter().all(|b| *b == 1));
            for (n, sector) in seen[1024..3072].chunks(512).enumerate() {
                assert!(sector.iter().all(|b| *b == sector[0]), "sector {n} is whole");
                assert!(sector[0] == 2 || sector[0] == 3, "the first write is there, the second may be");
                kinds[usize::from(sector[0]) - 2] += 1;
            }
            if seen.len() == 6000 {
                assert!(seen[5120..5632].iter().all(|b| *b == seen[5120]) && matches!(seen[5120], 0 | 4));
                kinds[2] += 1;
            }
            assert!(!folder.0.join(POWER_FOLDER).exists());
        }
        assert!(kinds.iter().all(|n| *n > 0), "every outcome is seen: {kinds:?}");
    }

    #[test]
    fn names_may_be_lost_until_their_directory_is_synced() {
        let folder = Folder::new("names");
        let (old, new) = (folder.0.join("control"), folder.0.join("control.new"));
        for (synced, want) in [(false, vec!["new", "old"]), (true, vec!["new"])] {
            let mut seen = Vec::new();
            for seed in 0..40 {
                std::fs::write(&old, "old").unwrap();
                let _ = std::fs::remove_file(&new);
                let ended = until_power_fails(&folder.0, 0, || {
                    let f = File::open(&new, OpenMode::Truncate)?;
                    f.write_at(b"new", 0)?;
                    f.sync()?;
                    file::rename(&new, &old)?;
                    if synced { file::sync_directory(&folder.0) } else { Ok(()) }
                });
                assert_eq!(ended, Ended::Exited(0));
                restore(&folder.0, seed).unwrap().unwrap();
                seen.push(std::fs::read_to_string(&old).unwrap());
            }
            seen.sort();
            seen.dedup();
            assert_eq!(seen, want, "directory synced: {synced}");
        }
    }

    #[test]
    fn removals_lengths_and_new_files_come_back_whole() {
        let folder = Folder::new("lengths");
        let (kept, cut, made) = (folder.0.join("kept"), folder.0.join("cut"), folder.0.join("made"));
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..60 {
            std::fs::write(&kept, "kept").unwrap();
            std::fs::write(&cut, "abcdef").unwrap();
            let _ = std::fs::remove_file(&made);
            until_power_fails(&folder.0, 0, || {
                file::remove(&kept)?;
                File::open(&cut, OpenMode::ReadWrite)?.set_len(3)?;
                let f = File::open(&made, OpenMode::CreateNew)?;
                f.allocate(1000)?;
                f.write_at(b"x", 999)?;
                f.sync()
            });
            restore(&folder.0, seed).unwrap().unwrap();
            let text = |p: &Path| std::fs::read_to_string(p).unwrap_or("none".into());
            let made = std::fs::read(&made).ok();
            assert!(made.as_ref().is_none_or(|m| m.len() == 1000 && m[999] == b'x'), "synced if it is there");
            seen.insert((text(&kept), text(&cut), made.is_some()));
        }
        assert_eq!(seen.len(), 8, "{seen:?}");
    }

    #[test]
    fn many_processes_share_one_journal_and_die_together() {
        let folder = Folder::new("many");
        let path = folder.0.join("f");
        std::fs::write(&path, [0; 8192]).unwrap();
        let ended = until_power_fails(&folder.0, 50, || {
            let parent = process::own_id();
            for n in 1..5u8 {
                if process::fork()? == Fork::Child {
                    let _ = process::die_with_parent(parent, signal::SIGKILL);
                    let f = File::open(&path, OpenMode::ReadWrite)?;
                    loop {
                        f.write_at(&[n; 512], u64::from(n) * 512)?;
                        f.sync()?;
                    }
                }
            }
            loop {
                os::clock::sleep(std::time::Duration::from_millis(1));
            }
        });
        assert_eq!(ended, Ended::Killed(signal::SIGKILL));
        let done = restore(&folder.0, 1).unwrap().unwrap();
        assert_eq!(done.syncs, 50);
        assert_eq!(restore(&folder.0, 1).unwrap(), None);
    }

    #[test]
    fn an_entry_that_a_kill_cut_off_is_written_over() {
        let folder = Folder::new("cut");
        let path = folder.0.join("f");
        std::fs::write(&path, [0; 2048]).unwrap();
        until_power_fails(&folder.0, 0, || {
            let f = File::open(&path, OpenMode::ReadWrite)?;
            f.write_at(&[1; 512], 0)?;
            // The state after a process is killed while it adds an entry: the length, and only some of the bytes.
            let journal = std::fs::OpenOptions::new().append(true).open(folder.0.join(POWER_FOLDER).join("journal"));
            let mut cut = Vec::new();
            Entry::Write { inode: 1, pos: 0, new_len: 9, len: 0, old: vec![7; 5000] }.print(&mut cut);
            std::io::Write::write_all(&mut journal.expect("it is there"), &cut[..40]).expect("room");
            f.sync()
        });
        for seed in 0..8 {
            let _ = restore(&folder.0, seed).unwrap();
            assert_eq!(std::fs::read(&path).unwrap()[..512], [1; 512], "it was synced");
        }
    }

    #[test]
    fn a_torn_last_entry_is_no_entry() {
        let mut bytes = Vec::new();
        let entry = Entry::Write { inode: 7, pos: 512, new_len: 600, len: 9, old: vec![1, 2, 3] };
        entry.print(&mut bytes);
        for len in 0..bytes.len() {
            assert_eq!(Entry::parse(&mut &bytes[..len]), None);
        }
        assert_eq!(Entry::parse(&mut &bytes[..]), Some(entry));
    }
}
