//! Files written in whole blocks, past the page cache of the operating system.
//!
//! A write of a few hundred bytes through the page cache, followed by a sync, marks a page, finds it again and passes
//! it to the device: a third of the processor time of the sync, and of its duration on a fast device. A direct write
//! goes to the device as it is. It must begin and end at the device's blocks, in the file and in memory:
//! [`BlockFile::block_bytes`], [`Blocks`]. Where a file system has no direct writes the same blocks are written through
//! the page cache.
//!
//! Readers may read the file through [`crate::file::File`]: the operating system drops cached pages in the range of a
//! direct write. A reader of large parts that are read once reads past the cache, too, and saves a copy.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::NonNull;

use crate::file::File;
use crate::{OsError, OsResult, injection};

/// The largest block: a writer that keeps this many bytes before the place of a write can always begin it at a block.
pub const BLOCK_MAX: usize = 4096;

/// The smallest block, and the block of files that are written through the page cache.
const BLOCK_MIN: usize = 512;

/// From this size on memory is aligned so that the system can back it with large pages.
const LARGE: usize = 2 << 20;

/// Memory that blocks can be written from: whole pages, zero when first used.
#[derive(Debug)]
pub struct Blocks {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is owned as a vector's is.
unsafe impl Send for Blocks {}
// SAFETY: as above; it is only read through shared references.
unsafe impl Sync for Blocks {}

impl Default for Blocks {
    /// No memory yet. A later allocation begins at a page.
    fn default() -> Blocks {
        Blocks { base: NonNull::new(std::ptr::without_provenance_mut(BLOCK_MAX)).expect("not zero"), len: 0 }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: exactly the range that was mapped; no borrow outlives the value.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
        }
    }
}

impl Blocks {
    /// Zeros of `len` bytes, whole pages.
    ///
    /// # Panics
    /// When there is no memory, as for a vector.
    fn of_zeros(len: usize) -> Blocks {
        // Large memory begins at a multiple of [`LARGE`]: map more, and unmap the parts before and after.
        let spare = if len >= LARGE { LARGE } else { 0 };
        // SAFETY: a new private mapping at an address of the kernel's choice.
        let got = unsafe {
            let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), len + spare, protection, flags, -1, 0)
        };
        assert!(got != libc::MAP_FAILED, "no memory for {len} bytes");
        let before = if spare > 0 { (got as usize).next_multiple_of(LARGE) - got as usize } else { 0 };
        for (at, part) in [(0, before), (before + len, spare - before)] {
            if part > 0 {
                // SAFETY: whole pages of the mapping made above, to which no reference exists yet.
                unsafe { libc::munmap(got.byte_add(at), part) };
            }
        }
        // SAFETY: inside the mapping, with `len` bytes left from there.
        let base = NonNull::new(unsafe { got.byte_add(before) }.cast::<u8>()).expect("a mapping is never at zero");
        let mut blocks = Blocks { base, len };
        if len >= LARGE {
            crate::memory::prefer_huge(blocks.bytes_mut());
        }
        blocks
    }

    /// Room for at least `bytes`, as words in the byte order of the file (little-endian). The contents are left from
    /// earlier use.
    pub fn words_mut(&mut self, bytes: usize) -> &mut [u64] {
        self.grow(bytes);
        let words = bytes.div_ceil(BLOCK_MAX) * (BLOCK_MAX / 8);
        // SAFETY: aligned to a page and as long as was requested; any bytes make words; the mutable borrow is passed
        // on.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().cast(), words) }
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped, initialized with zeros, and unchanged while the borrow lasts.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }

    /// As [`Blocks::bytes`], mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; the mutable borrow is passed on.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }

    /// Makes room for at least `bytes`. The contents stay; new bytes are zero.
    pub fn grow(&mut self, bytes: usize) {
        if self.len < bytes {
            let mut longer = Blocks::of_zeros(bytes.next_multiple_of(BLOCK_MAX));
            longer.bytes_mut()[..self.len].copy_from_slice(self.bytes());
            *self = longer;
        }
    }
}

/// An open file that is written in whole blocks.
#[derive(Debug)]
pub struct BlockFile {
    file: File,
    block: usize,
    len: u64,
}

impl BlockFile {
    /// Opens `path`, which must exist, to overwrite its contents; past the page cache if `past_memory` is set and the
    /// file system allows it.
    ///
    /// # Errors
    /// The file is missing or may not be opened.
    pub fn open(path: &Path, past_memory: bool) -> OsResult<BlockFile> {
        // A journal records each write with the bytes it overwrites, by ordinary reads and writes.
        let direct = if past_memory && injection::journal().is_none() { open_direct(path, true)? } else { None };
        match direct {
            Some(file) => Ok(file),
            None => {
                let file = File::open(path, crate::file::OpenMode::ReadWrite)?;
                let len = file.len_bytes()?;
                Ok(BlockFile { file, block: BLOCK_MIN, len })
            }
        }
    }

    /// Opens `path`, which must exist, to read it past the page cache; `None` where that is not available.
    ///
    /// # Errors
    /// The file is missing or may not be opened.
    pub fn open_to_read(path: &Path) -> OsResult<Option<BlockFile>> {
        if injection::journal().is_some() { Ok(None) } else { open_direct(path, false) }
    }

    /// Its length in bytes when it was opened: a multiple of its blocks where the page cache is bypassed.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.len
    }

    /// Reads up to `len` bytes from `position` into `into`, from its byte `at` on; returns the number read. `at` is a
    /// multiple of [`BLOCK_MAX`], `position` and `len` of [`BlockFile::block_bytes`].
    ///
    /// # Errors
    /// The device failed.
    pub fn read_at(&self, into: &mut Blocks, at: usize, len: usize, position: u64) -> OsResult<usize> {
        self.file.read_some_at(&mut into.bytes_mut()[at..at + len], position)
    }

    /// The unit of the position and length of writes: a power of two, at least 512, at most [`BLOCK_MAX`].
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.block
    }

    /// Writes the first `len` bytes of `from` at `position`, cut at the end of the file. Both are multiples of
    /// [`BlockFile::block_bytes`].
    ///
    /// # Errors
    /// The device failed.
    pub fn write_at(&self, from: &Blocks, len: usize, position: u64) -> OsResult<()> {
        let len = (len as u64).min(self.len.saturating_sub(position)) as usize;
        self.file.write_at(&from.bytes()[..len], position)
    }

    /// Waits until what was written is on the device.
    ///
    /// # Errors
    /// The device failed; what had been written may be lost.
    pub fn sync(&self) -> OsResult<()> {
        self.file.sync()
    }
}

/// `None` where the file system does not support direct I/O, or not for a file of this length.
fn open_direct(path: &Path, to_write: bool) -> OsResult<Option<BlockFile>> {
    let mut options = OpenOptions::new();
    let inner = match options.read(true).write(to_write).custom_flags(libc::O_DIRECT).open(path) {
        Ok(inner) => inner,
        Err(e) if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) => return Ok(None),
        Err(e) => return Err(OsError::from_io("open", path.display().to_string(), e)),
    };
    let Some(block) = alignment(&inner) else { return Ok(None) };
    let file = File::of(inner, path);
    let len = file.len_bytes()?;
    Ok(len.is_multiple_of(block as u64).then_some(BlockFile { file, block, len }))
}

/// The block size for direct I/O on a file; `None` when the system does not report it, or it is too large.
fn alignment(file: &std::fs::File) -> Option<usize> {
    // SAFETY: plain numbers, for which zero is a value.
    let mut about: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: a valid descriptor, an empty path that ends with zero, and a structure that may be written.
    let rc = unsafe {
        libc::statx(file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN, &raw mut about)
    };
    if rc != 0 || about.stx_mask & libc::STATX_DIOALIGN == 0 {
        return None;
    }
    let (memory, place) = (about.stx_dio_mem_align as usize, about.stx_dio_offset_align as usize);
    let block = place.max(BLOCK_MIN);
    let fits = place > 0 && block.is_power_of_two() && block <= BLOCK_MAX && memory <= BLOCK_MAX;
    fits.then_some(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::OpenMode;

    #[test]
    fn blocks_are_written_over_and_read_the_ordinary_way() {
        let dir = std::env::temp_dir().join(format!("lw-os-blocks-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("f");
        for (len, past_memory) in [(64 << 10, true), (64 << 10, false), (20_100, true)] {
            std::fs::write(&path, vec![1; len]).unwrap();
            let plain = File::open(&path, OpenMode::Read).unwrap();
            let mut seen = vec![0; len];
            plain.read_at(&mut seen, 0).unwrap();
            let file = BlockFile::open(&path, past_memory).unwrap();
            let block = file.block_bytes();
            assert!((BLOCK_MIN..=BLOCK_MAX).contains(&block) && block.is_power_of_two());
            let mut blocks = Blocks::default();
            blocks.words_mut(8192).fill(u64::from_le_bytes([2; 8]));
            file.write_at(&blocks, 2 * block, 8192).unwrap();
            // The last block ends with the file when the length is not a multiple of the block size.
            let last = (len - 1) / block * block;
            file.write_at(&blocks, block, last as u64).unwrap();
            file.sync().unwrap();
            plain.read_at(&mut seen, 0).unwrap();
            assert_eq!(plain.len_bytes().unwrap(), len as u64, "it never grows");
            if let Some(past) = BlockFile::open_to_read(&path).unwrap() {
                let mut read = Blocks::default();
                read.grow(3 * BLOCK_MAX);
                assert_eq!(past.read_at(&mut read, BLOCK_MAX, 2 * BLOCK_MAX, 8192).unwrap(), 2 * BLOCK_MAX);
                assert_eq!(read.bytes()[BLOCK_MAX..], seen[8192..8192 + 2 * BLOCK_MAX]);
                assert_eq!(read.bytes()[..BLOCK_MAX], [0; BLOCK_MAX]);
            }
            for (at, byte) in seen.iter().enumerate() {
                let written = (8192..8192 + 2 * block).contains(&at) || at >= last;
                assert_eq!(*byte, if written { 2 } else { 1 }, "byte {at}");
            }
        }
        assert!(BlockFile::open(&dir.join("none"), true).is_err());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
