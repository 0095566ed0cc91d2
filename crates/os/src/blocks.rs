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
use std::path::Path;

use crate::file::File;
use crate::{OsError, OsResult, direct, injection};

pub use crate::aligned::{BLOCK_MAX, Blocks};

/// The smallest block, and the block of files that are written through the page cache.
const BLOCK_MIN: usize = 512;

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
    let opened = direct::open(OpenOptions::new().read(true).write(to_write), path);
    let inner = opened.map_err(|e| OsError::from_io("open", path.display().to_string(), e))?;
    let Some(inner) = inner else { return Ok(None) };
    let Some(of) = direct::alignment(&inner) else { return Ok(None) };
    let block = of.place.max(BLOCK_MIN);
    let file = File::of(inner, path);
    let len = file.len_bytes()?;
    Ok(len.is_multiple_of(block as u64).then_some(BlockFile { file, block, len }))
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
