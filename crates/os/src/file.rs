//! Files read and written at positions, with errors that name the call and the file.

use std::fs::{File as StdFile, OpenOptions};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags, SeekFrom};
use rustix::io::Errno;

use crate::direct::{self, Direct};
use crate::ring::RingFile;
use crate::{OsError, OsResult, injection};

/// The ways to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must exist; only reads are allowed.
    Read,
    /// It must exist.
    ReadWrite,
    /// It must not exist.
    CreateNew,
    /// It is created, or emptied if it exists.
    Truncate,
    /// It is created unless it exists; its contents are kept.
    OpenOrCreate,
}

/// The smallest unit that devices write.
const SECTOR_BYTES: usize = 512;

/// The most pieces that one call writes.
const LIST_MAX: usize = 512;

/// An open file. Reads and writes name their position, so processes that inherited it do not disturb one another.
#[derive(Debug)]
pub struct File {
    inner: StdFile,
    path: PathBuf,
    /// Once the file bypasses the page cache.
    direct: OnceLock<Direct>,
}

/// The first of the bytes that stand for processes that write with a ring: behind the end of any file.
const LOCKS_AT: i64 = 1 << 62;

impl File {
    /// Opens or creates `path`; a new file may be read and written by its owner only (mode 0600).
    ///
    /// # Errors
    /// The file is missing, exists, or may not be opened.
    pub fn open(path: &Path, mode: OpenMode) -> OsResult<Self> {
        let mut options = OpenOptions::new();
        options.read(true).mode(0o600);
        match mode {
            OpenMode::Read => &mut options,
            OpenMode::ReadWrite => options.write(true),
            OpenMode::CreateNew => options.write(true).create_new(true),
            OpenMode::Truncate => options.write(true).create(true).truncate(true),
            OpenMode::OpenOrCreate => options.write(true).create(true).truncate(false),
        };
        let open = || options.open(path);
        let inner = match injection::journal() {
            Some(journal) if mode != OpenMode::Read => journal.open(path, mode == OpenMode::Truncate, &open)?,
            _ => open().map_err(|e| OsError::from_io("open", path.display().to_string(), e))?,
        };
        Ok(Self::of(inner, path))
    }

    /// Creates a file that has no name, in the folder of `path`, which errors show as its path. It vanishes with its
    /// last descriptor unless [`Self::give_name`] names it. `None` where the file system has no such files, and while
    /// tests record all changes.
    ///
    /// # Errors
    /// The folder is missing or may not be written.
    pub fn create_unnamed(path: &Path) -> OsResult<Option<Self>> {
        if injection::journal().is_some() {
            // The journal finds files by their names.
            return Ok(None);
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(rustix::fs::CWD, folder, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(Some(Self::of(StdFile::from(file), path))),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
            Err(e) => Err(OsError::of("open", path.display().to_string(), e)),
        }
    }

    /// Names a file of [`Self::create_unnamed`].
    ///
    /// # Errors
    /// `path` exists (`EEXIST`), or the device failed.
    pub fn give_name(&self, path: &Path) -> OsResult<()> {
        let own = format!("/proc/self/fd/{}", self.inner.as_raw_fd());
        rustix::fs::linkat(rustix::fs::CWD, own, rustix::fs::CWD, path, AtFlags::SYMLINK_FOLLOW)
            .map_err(|e| OsError::of("link", path.display().to_string(), e))
    }

    /// Wraps a file that was opened by `path` elsewhere.
    pub(crate) fn of(inner: StdFile, path: &Path) -> Self {
        Self { inner, path: path.to_owned(), direct: OnceLock::new() }
    }

    /// Reads and writes past the page cache from now on, in this process and in those that it forks later, where place
    /// and length are multiples of the device's blocks. The caller reads and writes in multiples of `unit` bytes.
    /// False, with no effect, where the file system does not support it.
    ///
    /// # Errors
    /// The file cannot be opened once more.
    pub fn bypass_cache(&self, unit: usize) -> OsResult<bool> {
        // The journal records writes with the bytes they overwrite, by ordinary reads and writes.
        if injection::journal().is_some() {
            return Ok(false);
        }
        if self.direct.get().is_none()
            && let Some(direct) = Direct::of(&self.inner, unit).map_err(|e| self.error("open", e))?
        {
            let _ = self.direct.set(direct);
        }
        Ok(self.direct.get().is_some())
    }

    /// Whether the file bypasses the page cache.
    #[must_use]
    pub fn bypasses_cache(&self) -> bool {
        self.direct.get().is_some()
    }

    /// The unit of reads and writes that the file can take in any case: the device writes it whole.
    #[must_use]
    pub fn unit_bytes(&self) -> usize {
        self.direct.get().map_or(0, Direct::place).max(SECTOR_BYTES)
    }

    /// The file for writes of a [`Ring`](crate::ring::Ring) of this process, with the lock of number `process`.
    ///
    /// # Errors
    /// The file system has no locks, the number is locked, or tests record all writes.
    pub fn for_ring(&self, process: u64) -> OsResult<RingFile> {
        let refused = |errno: Errno| self.error("open", errno.into());
        if injection::journal().is_some() {
            return Err(refused(Errno::OPNOTSUPP));
        }
        let own = direct::open_again(&self.inner, self.bypasses_cache()).map_err(|e| self.error("open", e))?;
        let own = own.ok_or_else(|| refused(Errno::OPNOTSUPP))?;
        let mut lock = process_lock(process..process + 1);
        // SAFETY: a valid descriptor and a valid lock.
        if unsafe { libc::fcntl(own.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) } != 0 {
            return Err(OsError::last("fcntl", format!("{}, lock {process}", self.path.display())));
        }
        Ok(RingFile::of(own, self.path.clone(), self.direct.get().map_or(1, Direct::memory)))
    }

    /// Whether one of these processes has the file for its ring, or is dead and has writes in flight.
    ///
    /// # Errors
    /// The file system has no locks.
    pub fn is_being_written(&self, processes: Range<u64>) -> OsResult<bool> {
        let mut lock = process_lock(processes);
        // SAFETY: a valid descriptor and a valid lock, which the call overwrites with one that is in its way.
        if unsafe { libc::fcntl(self.inner.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) } != 0 {
            return Err(OsError::last("fcntl", self.path.display().to_string()));
        }
        Ok(lock.l_type != libc::F_UNLCK as libc::c_short)
    }

    /// The path it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its path still leads to it: false when it was renamed, removed or replaced since it was opened.
    ///
    /// # Errors
    /// `fstat` failed.
    pub fn is_in_place(&self) -> OsResult<bool> {
        let own = self.inner.metadata().map_err(|e| self.error("fstat", e))?;
        Ok(std::fs::metadata(&self.path).is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())))
    }

    /// Its length in bytes.
    ///
    /// # Errors
    /// `fstat` failed.
    pub fn len_bytes(&self) -> OsResult<u64> {
        Ok(self.inner.metadata().map_err(|e| self.error("fstat", e))?.len())
    }

    /// Fills `buffer` from `position`.
    ///
    /// # Errors
    /// The file ends before the buffer is full, or the device failed.
    pub fn read_at(&self, buffer: &mut [u8], position: u64) -> OsResult<()> {
        let read = match self.direct_for(position, buffer.len()) {
            Some(direct) => direct.read(buffer, position),
            None => self.inner.read_exact_at(buffer, position),
        };
        read.map_err(|e| self.error_at("pread", buffer.len(), position, e))
    }

    /// Reads at most the length of `buffer` from `position`; 0 at the end of the file.
    ///
    /// # Errors
    /// The device failed.
    pub fn read_some_at(&self, buffer: &mut [u8], position: u64) -> OsResult<usize> {
        self.inner.read_at(buffer, position).map_err(|e| self.error_at("pread", buffer.len(), position, e))
    }

    /// Writes all of `buffer` at `position`, extending the file where needed.
    ///
    /// # Errors
    /// The device is full or failed.
    pub fn write_at(&self, buffer: &[u8], position: u64) -> OsResult<()> {
        injection::before_growth(
            "pwrite",
            &self.path,
            &|| self.len_bytes().unwrap_or(0),
            position + buffer.len() as u64,
        )?;
        if injection::loses(&self.path) {
            return Ok(());
        }
        if let Some(journal) = injection::journal() {
            return journal.write(&self.inner, &self.path, buffer, position);
        }
        let written = match self.direct_for(position, buffer.len()) {
            Some(direct) => direct.write(buffer, position),
            None => self.inner.write_all_at(buffer, position),
        };
        written.map_err(|e| self.error_at("pwrite", buffer.len(), position, e))
    }

    /// Writes all of `pieces` consecutively from `position` on, extending the file where needed.
    ///
    /// # Errors
    /// The device is full or failed.
    pub fn write_list_at(&self, pieces: &[&[u8]], position: u64) -> OsResult<()> {
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        if injection::journal().is_some() || injection::loses(&self.path) || self.direct_for(position, len).is_some() {
            return self.write_at(&pieces.concat(), position);
        }
        injection::before_growth("pwrite", &self.path, &|| self.len_bytes().unwrap_or(0), position + len as u64)?;
        let mut at = position;
        for some in pieces.chunks(LIST_MAX) {
            let bytes = some.iter().map(|piece| piece.len()).sum();
            let mut written = self.write_some_list_at(some, at).map_err(|e| self.error_at("pwritev", bytes, at, e))?;
            for piece in some {
                // The rest of a short write is written piece by piece.
                let (skipped, len) = (written.min(piece.len()), piece.len());
                written -= skipped;
                self.inner
                    .write_all_at(&piece[skipped..], at + skipped as u64)
                    .map_err(|e| self.error_at("pwrite", len - skipped, at, e))?;
                at += len as u64;
            }
        }
        Ok(())
    }

    fn direct_for(&self, position: u64, len: usize) -> Option<&Direct> {
        self.direct.get().filter(|direct| direct.takes(position, len))
    }

    /// One call; returns the number of bytes written.
    fn write_some_list_at(&self, pieces: &[&[u8]], position: u64) -> std::io::Result<usize> {
        let list: Vec<std::io::IoSlice<'_>> = pieces.iter().map(|piece| std::io::IoSlice::new(piece)).collect();
        match rustix::io::pwritev(&self.inner, &list, position) {
            Err(Errno::INTR) => Ok(0),
            done => Ok(done?),
        }
    }

    /// Waits until what was written is on the device.
    ///
    /// # Errors
    /// The device failed; what had been written may be lost.
    pub fn sync(&self) -> OsResult<()> {
        injection::before_sync(&self.path)?;
        if let Some(journal) = injection::journal() {
            return journal.sync(&self.inner, &self.path);
        }
        self.inner.sync_data().map_err(|e| self.error("fdatasync", e))
    }

    /// Starts writing `len` bytes from `position` on to the device, so that a later sync has less to wait for. It may
    /// have no effect and guarantees nothing.
    pub fn begin_sync(&self, position: u64, len: u64) {
        if injection::journal().is_some() {
            return;
        }
        let (Ok(from), Ok(len)) = (libc::off64_t::try_from(position), libc::off64_t::try_from(len)) else { return };
        // SAFETY: a valid descriptor and numbers; no memory is passed.
        unsafe { libc::sync_file_range(self.inner.as_raw_fd(), from, len, libc::SYNC_FILE_RANGE_WRITE) };
    }

    /// Makes the file at least `len` bytes long with allocated space.
    ///
    /// # Errors
    /// The device is full, or the file would pass a limit.
    pub fn allocate(&self, len: u64) -> OsResult<()> {
        injection::before_growth("fallocate", &self.path, &|| self.len_bytes().unwrap_or(0), len)?;
        let length = libc::off_t::try_from(len)
            .map_err(|_| OsError::from_errno("fallocate", self.path.display().to_string(), libc::EFBIG))?;
        let error = |rc| OsError::from_errno("fallocate", format!("{} to {len} bytes", self.path.display()), rc);
        // SAFETY: a valid descriptor; no memory is passed.
        let allocate = || unsafe { libc::posix_fallocate(self.inner.as_raw_fd(), 0, length) };
        if let Some(journal) = injection::journal() {
            let allocate = || {
                Some(allocate()).filter(|rc| *rc != 0).map_or(Ok(()), |rc| Err(std::io::Error::from_raw_os_error(rc)))
            };
            let to = self.len_bytes()?.max(len);
            return journal.change_length(&self.inner, &self.path, to, &allocate);
        }
        let rc = allocate();
        if rc == 0 { Ok(()) } else { Err(error(rc)) }
    }

    /// Makes the file at least `len` bytes long, with a hole before the last byte: space is taken by writes. Others may
    /// lengthen it at the same time: it becomes as long as the longest of them.
    ///
    /// # Errors
    /// The file system has less free space than the hole is long (`ENOSPC`), or the file would pass a limit.
    pub fn lengthen_with_hole(&self, len: u64) -> OsResult<()> {
        let has = self.len_bytes()?;
        injection::before_growth("fallocate", &self.path, &|| has, len)?;
        let more = len.saturating_sub(has);
        if more == 0 {
            return Ok(());
        }
        let failed = |errno| {
            let what = format!("{} to {len} bytes", self.path.display());
            OsError::from_errno("fallocate", what, errno)
        };
        let system = rustix::fs::fstatvfs(&self.inner).map_err(|e| failed(e.raw_os_error()))?;
        // A file system without a limit may report no blocks at all.
        if system.f_blocks > 0 && more > system.f_bavail.saturating_mul(system.f_frsize) {
            return Err(failed(libc::ENOSPC));
        }
        let last = libc::off_t::try_from(len - 1).map_err(|_| failed(libc::EFBIG))?;
        let lengthen = || {
            // SAFETY: a valid descriptor; no memory is passed.
            let rc = unsafe { libc::fallocate(self.inner.as_raw_fd(), 0, last, 1) };
            if rc == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        let done = match injection::journal() {
            Some(journal) => return journal.change_length(&self.inner, &self.path, has.max(len), &lengthen),
            None => lengthen(),
        };
        match done {
            // A file system that cannot allocate a part of a file.
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => self.allocate(len),
            done => done.map_err(|e| failed(e.raw_os_error().unwrap_or(libc::EIO))),
        }
    }

    /// Makes the file exactly `len` bytes long; new bytes read as zero.
    ///
    /// # Errors
    /// The device failed, or the file would pass a limit.
    pub fn set_len(&self, len: u64) -> OsResult<()> {
        if let Some(journal) = injection::journal() {
            return journal.change_length(&self.inner, &self.path, len, &|| self.inner.set_len(len));
        }
        self.inner.set_len(len).map_err(|e| self.error("ftruncate", e))
    }

    /// The next written range of the file, from `position` on: its begin and end. File systems that track allocated but
    /// unwritten space leave that out. `None`: no written range before the end.
    ///
    /// # Errors
    /// The device failed.
    pub fn next_written(&self, position: u64) -> OsResult<Option<(u64, u64)>> {
        // Moves the descriptor's own position, which is not used, because reads and writes name theirs.
        let seek = |to| rustix::fs::seek(&self.inner, to);
        match seek(SeekFrom::Data(position)) {
            Ok(begin) => match seek(SeekFrom::Hole(begin)) {
                Ok(end) => Ok(Some((begin, end))),
                Err(e) => Err(self.error("lseek", e.into())),
            },
            Err(Errno::NXIO) => Ok(None),
            Err(e) => Err(self.error("lseek", e.into())),
        }
    }

    /// Makes the file, which is empty, a copy of `of` that shares its space until one of the two is written. False,
    /// with no effect, where the file system cannot share space or has only one of the files.
    ///
    /// # Errors
    /// The device is full or failed.
    pub fn share_space_of(&self, of: &File) -> OsResult<bool> {
        // The journal records writes and changes of length only.
        if injection::journal().is_some() {
            return Ok(false);
        }
        match rustix::fs::ioctl_ficlone(&self.inner, &of.inner) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::XDEV | Errno::NOSYS | Errno::PERM) => Ok(false),
            Err(e) => Err(self.error("ioctl", e.into())),
        }
    }

    /// Takes the file for this process tree; false when another holds it.
    ///
    /// # Errors
    /// The file system has no locks.
    pub fn try_lock(&self) -> OsResult<bool> {
        match rustix::fs::flock(&self.inner, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(e) => Err(self.error("flock", e.into())),
        }
    }

    /// Takes the file together with others that take it in this way; false when one holds it alone.
    ///
    /// # Errors
    /// The file system has no locks.
    pub fn try_lock_shared(&self) -> OsResult<bool> {
        match rustix::fs::flock(&self.inner, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(e) => Err(self.error("flock", e.into())),
        }
    }

    fn error(&self, call: &'static str, source: std::io::Error) -> OsError {
        OsError::from_io(call, self.path.display().to_string(), source)
    }

    fn error_at(&self, call: &'static str, len: usize, position: u64, source: std::io::Error) -> OsError {
        OsError::from_io(call, format!("{}, {len} bytes at {position}", self.path.display()), source)
    }
}

/// Takes the lock of an open file, and waits while another process holds it. The lock belongs to the descriptor: it is
/// free when that is closed or its process has died.
///
/// # Errors
/// The file system has no locks.
pub fn lock(file: &StdFile) -> std::io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| rustix::fs::flock(file, FlockOperation::LockExclusive))?)
}

/// An exclusive lock on the bytes that stand for these processes.
fn process_lock(processes: Range<u64>) -> libc::flock {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX >> 2).min(i64::MAX >> 2);
    // SAFETY: plain numbers, for which zero is a value; `l_pid` must be zero.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = LOCKS_AT + number(processes.start);
    // A length of zero would mean all bytes behind.
    lock.l_len = (number(processes.end) - number(processes.start)).max(1);
    lock
}

/// Renames the file `from` to `to`, replacing a file of that name; other processes see the old file or the new one.
///
/// # Errors
/// One of the paths is missing, or the device failed.
pub fn rename(from: &Path, to: &Path) -> OsResult<()> {
    if let Some(journal) = injection::journal() {
        return journal.rename(from, to);
    }
    std::fs::rename(from, to).map_err(|e| OsError::from_io("rename", to.display().to_string(), e))
}

/// Renames the file `from` to `to`, which no file may have as its name.
///
/// # Errors
/// `to` exists (`EEXIST`), `from` is missing, or the device failed.
pub fn rename_new(from: &Path, to: &Path) -> OsResult<()> {
    let refused = |e: Errno| OsError::of("rename", to.display().to_string(), e);
    if let Some(journal) = injection::journal() {
        return require_new(to).and_then(|()| journal.rename(from, to));
    }
    match rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, RenameFlags::NOREPLACE) {
        // The file system has no such rename. A second name is refused in the same way when it exists.
        Err(Errno::INVAL | Errno::NOSYS) => {
            let linked = std::fs::hard_link(from, to).and_then(|()| std::fs::remove_file(from));
            linked.map_err(|e| OsError::from_io("link", to.display().to_string(), e))
        }
        done => done.map_err(refused),
    }
}

/// Exchanges the names of two files atomically. False, with no effect, where the file system cannot do it or one of
/// them is missing.
///
/// # Errors
/// The device failed.
pub fn exchange(one: &Path, other: &Path) -> OsResult<bool> {
    if injection::journal().is_some() {
        // The journal records renames only; an exchange by renames could leave a name without a file.
        return Ok(false);
    }
    match rustix::fs::renameat_with(rustix::fs::CWD, one, rustix::fs::CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS | Errno::PERM) => Ok(false),
        Err(e) => Err(OsError::of("rename", other.display().to_string(), e)),
    }
}

/// Removes a file's name; its contents are freed with the last descriptor.
///
/// # Errors
/// There is no such file, or it may not be removed.
pub fn remove(path: &Path) -> OsResult<()> {
    if let Some(journal) = injection::journal() {
        return journal.remove(path);
    }
    std::fs::remove_file(path).map_err(|e| OsError::from_io("unlink", path.display().to_string(), e))
}

/// Free bytes of the file system of a path, for this process's user.
///
/// # Errors
/// There is no such path, or the file system does not report it.
pub fn free_bytes(path: &Path) -> OsResult<u64> {
    let is = rustix::fs::statvfs(path).map_err(|e| OsError::of("statvfs", path.display().to_string(), e))?;
    Ok(is.f_bavail.saturating_mul(is.f_frsize))
}

/// The kind of file that a path leads to, through symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    File,
    /// A folder, a device, a socket, a pipe.
    Other,
}

/// The kind of file that a path leads to.
#[must_use]
pub fn find(path: &Path) -> Found {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Found::File,
        Ok(_) => Found::Other,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Found::Nothing,
        Err(_) => Found::Other,
    }
}

/// Whether two paths lead to one file, by links or other spellings. False when one leads nowhere.
#[must_use]
pub fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    identity(one).is_some_and(|of| identity(other) == Some(of))
}

/// Checks that nothing has this path, nor a link that leads nowhere.
///
/// # Errors
/// `EEXIST`.
pub fn require_new(path: &Path) -> OsResult<()> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Err(OsError::of("open", path.display().to_string(), Errno::EXIST)),
        Err(_) => Ok(()),
    }
}

/// The path without symbolic links of the file to which `path` leads; `path` itself when it leads nowhere.
#[must_use]
pub fn resolve(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// True when a file or directory has this path.
#[must_use]
pub fn exists(path: &Path) -> bool {
    path.exists()
}

/// Waits until the entries of a directory are on the device.
///
/// # Errors
/// The directory is missing or the device failed.
pub fn sync_directory(path: &Path) -> OsResult<()> {
    if let Some(journal) = injection::journal() {
        return journal.sync_directory(path);
    }
    StdFile::open(path).and_then(|d| d.sync_all()).map_err(|e| OsError::from_io("fsync", path.display().to_string(), e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_space_of_a_file_system_is_known_by_any_path_in_it() {
        let path = std::env::temp_dir().join(format!("lw-free-{}", crate::process::own_id()));
        assert!(free_bytes(&path).is_err(), "nothing has the path");
        File::open(&path, OpenMode::CreateNew).unwrap();
        assert!(free_bytes(&path).unwrap() > 0);
        remove(&path).unwrap();
    }

    #[test]
    fn stretches_that_were_written_are_found() {
        let dir = std::env::temp_dir().join(format!("lw-os-written-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let file = File::open(&dir.join("f"), OpenMode::CreateNew).unwrap();
        assert_eq!(file.next_written(0).unwrap(), None);
        file.write_at(&[1; 8192], 1 << 20).unwrap();
        file.write_at(&[1; 8192], 4 << 20).unwrap();
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some((begin, end)) = file.next_written(at).unwrap() {
            found.push(begin..end);
            at = end;
        }
        // A file system without holes has one range.
        for place in [1 << 20, (4 << 20) + 8191] {
            assert!(found.iter().any(|stretch| stretch.contains(&place)), "{place} in {found:?}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    /// Each thread makes the file longer than the one before it; a shorter wish never cuts a longer one.
    #[test]
    fn files_that_several_lengthen_with_holes_keep_the_greatest_length() {
        let folder = std::env::temp_dir().join(format!("os-holes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        let file = File::open(&path, OpenMode::CreateNew).unwrap();
        let together = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for n in 0..4u64 {
                let (file, together) = (File::open(&path, OpenMode::ReadWrite).unwrap(), &together);
                scope.spawn(move || {
                    together.wait();
                    for step in 1..=4000 {
                        let len = (step * 4 + n) * 1000;
                        file.lengthen_with_hole(len).unwrap();
                        assert!(file.len_bytes().unwrap() >= len, "{len}");
                    }
                });
            }
        });
        assert_eq!(file.len_bytes().unwrap(), 16_003 * 1000);
        let mut last = [1];
        file.read_at(&mut last, 16_002_999).unwrap();
        assert_eq!(last, [0]);
        assert!(file.lengthen_with_hole(1 << 60).is_err_and(|e| e.is_full()));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_is_written_read_and_ends() {
        let dir = std::env::temp_dir().join(format!("lw-os-file-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("f");
        let file = File::open(&path, OpenMode::CreateNew).unwrap();
        assert!(File::open(&path, OpenMode::CreateNew).is_err());
        file.write_at(b"latchwork", 100).unwrap();
        file.allocate(4096).unwrap();
        file.sync().unwrap();
        assert_eq!(file.len_bytes().unwrap(), 4096);
        let mut seen = [0; 9];
        file.read_at(&mut seen, 100).unwrap();
        assert_eq!(&seen, b"latchwork");
        assert!(file.read_at(&mut [0; 200], 4000).is_err());
        let words: Vec<[u8; 2]> = (0..2000u16).map(u16::to_le_bytes).collect();
        let pieces: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        file.write_list_at(&pieces, 200).unwrap();
        let mut list = vec![0; 4000];
        file.read_at(&mut list, 200).unwrap();
        assert_eq!((list, file.len_bytes().unwrap()), (words.concat(), 4200));
        assert!(file.try_lock().unwrap());
        let other = File::open(&path, OpenMode::Read).unwrap();
        assert!(!other.try_lock().unwrap());
        assert!(File::open(&dir.join("none"), OpenMode::Read).is_err());
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn two_files_change_their_names() {
        let dir = std::env::temp_dir().join(format!("lw-os-exchange-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (one, other) = (dir.join("one"), dir.join("other"));
        std::fs::write(&one, "1").unwrap();
        assert!(!exchange(&one, &other).unwrap(), "one is missing");
        std::fs::write(&other, "2").unwrap();
        if exchange(&one, &other).unwrap() {
            assert_eq!((std::fs::read(&one).unwrap(), std::fs::read(&other).unwrap()), (b"2".to_vec(), b"1".to_vec()));
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
