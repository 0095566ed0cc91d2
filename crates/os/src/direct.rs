//! Reads and writes of a file past the page cache of the operating system.
//!
//! Such a transfer begins and ends at the device's blocks, in the file and in memory. Memory that does not lie so is
//! copied. A transfer whose place or length in the file does not fit goes through the page cache: the kernel writes
//! back and drops cached pages in the range of a direct transfer, so both see the same bytes. A caller must not write a
//! part of a page through the cache while another process writes the rest of it directly.

use std::fs::{File as StdFile, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Mutex;

use rustix::fs::{AtFlags, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::aligned::{BLOCK_MAX, Blocks};

/// The most bytes that are copied at a time.
const COPY_MAX: usize = 1 << 20;

/// The units of a device, in bytes: powers of two, at most [`BLOCK_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alignment {
    /// Of places and lengths in the file.
    pub place: usize,
    /// Of addresses in memory.
    pub memory: usize,
}

/// The units for direct transfers of a file; `None` when the system does not report them, or they are too large.
pub(crate) fn alignment(file: &StdFile) -> Option<Alignment> {
    let about = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    if !StatxFlags::from_bits_retain(about.stx_mask).contains(StatxFlags::DIOALIGN) {
        return None;
    }
    let of = Alignment { place: about.stx_dio_offset_align as usize, memory: about.stx_dio_mem_align as usize };
    let fits = |n: usize| n.is_power_of_two() && n <= BLOCK_MAX;
    (fits(of.place) && fits(of.memory)).then_some(of)
}

/// Opens with `options`, and with `O_DIRECT`; `None` where the file system does not support it.
pub(crate) fn open(options: &mut OpenOptions, path: &std::path::Path) -> io::Result<Option<StdFile>> {
    match options.custom_flags(OFlags::DIRECT.bits().cast_signed()).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::INVAL | Errno::OPNOTSUPP)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Opens an open file again, to read and write it: another description, also when the path leads elsewhere by now.
/// With `O_DIRECT` if `direct` is set; `None` where the file system does not support that.
pub(crate) fn open_again(file: &StdFile, direct: bool) -> io::Result<Option<StdFile>> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    if direct { open(&mut options, path.as_ref()) } else { options.open(path).map(Some) }
}

/// A second descriptor of a file, for direct transfers.
#[derive(Debug)]
pub(crate) struct Direct {
    file: StdFile,
    of: Alignment,
    /// Memory for copies, kept from one transfer to the next.
    copy: Mutex<Blocks>,
}

impl Direct {
    /// For a file that is read and written in multiples of `unit` bytes; `None` where that is not possible.
    pub fn of(file: &StdFile, unit: usize) -> io::Result<Option<Direct>> {
        let Some(file) = open_again(file, true)? else { return Ok(None) };
        let of = alignment(&file).filter(|of| unit.is_multiple_of(of.place));
        Ok(of.map(|of| Direct { file, of, copy: Mutex::default() }))
    }

    /// The unit of places and lengths.
    pub fn place(&self) -> usize {
        self.of.place
    }

    /// The unit of addresses in memory.
    pub fn memory(&self) -> usize {
        self.of.memory
    }

    /// Whether a transfer of this place and length can be direct.
    pub fn takes(&self, position: u64, len: usize) -> bool {
        position.is_multiple_of(self.of.place as u64) && len.is_multiple_of(self.of.place)
    }

    fn is_aligned(&self, memory: &[u8]) -> bool {
        memory.as_ptr().addr().is_multiple_of(self.of.memory)
    }

    fn with_copy<R>(&self, len: usize, f: impl FnOnce(&mut [u8]) -> io::Result<R>) -> io::Result<R> {
        // Another thread may have the memory, or one that a fork has not copied.
        let mut kept = self.copy.try_lock();
        let mut own = Blocks::default();
        let copy = kept.as_deref_mut().unwrap_or(&mut own);
        copy.grow(len);
        f(&mut copy.bytes_mut()[..len])
    }

    /// Fills `buffer`.
    pub fn read(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        if self.is_aligned(buffer) {
            return self.file.read_exact_at(buffer, position);
        }
        for (part, at) in buffer.chunks_mut(COPY_MAX).zip((position..).step_by(COPY_MAX)) {
            self.with_copy(part.len(), |copy| {
                self.file.read_exact_at(copy, at)?;
                part.copy_from_slice(copy);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Writes all of `buffer`.
    pub fn write(&self, buffer: &[u8], position: u64) -> io::Result<()> {
        if self.is_aligned(buffer) {
            return self.file.write_all_at(buffer, position);
        }
        for (part, at) in buffer.chunks(COPY_MAX).zip((position..).step_by(COPY_MAX)) {
            self.with_copy(part.len(), |copy| {
                copy.copy_from_slice(part);
                self.file.write_all_at(copy, at)
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::file::{File, OpenMode};

    #[test]
    fn direct_and_ordinary_transfers_see_the_same_bytes() {
        let dir = std::env::temp_dir().join(format!("lw-os-direct-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("f");
        let len = 3 << 20;
        std::fs::write(&path, vec![1; len]).unwrap();
        let (file, plain) =
            (File::open(&path, OpenMode::ReadWrite).unwrap(), File::open(&path, OpenMode::Read).unwrap());
        let mut seen = vec![0; len + 1];
        plain.read_at(&mut seen[..len], 0).unwrap();
        let is_direct = file.bypass_cache(8192).unwrap();
        assert_eq!(is_direct, file.bypass_cache(8192).unwrap(), "the second call changes nothing");
        assert!(!File::open(&path, OpenMode::ReadWrite).unwrap().bypass_cache(1000).unwrap(), "no unit of a device");
        assert!(file.unit_bytes().is_power_of_two() && file.unit_bytes() <= 4096);
        // Memory that does not lie at a block, in one piece, longer than a copy, and in a list.
        let bytes: Vec<u8> = (0..len + 1).map(|n| (n / 512) as u8 | 2).collect();
        file.write_at(&bytes[1..=2 << 20], 0).unwrap();
        let pieces: Vec<&[u8]> = bytes[1..].chunks(8192).skip(256).collect();
        file.write_list_at(&pieces, 2 << 20).unwrap();
        // Less than a block of the device.
        file.write_at(b"less", 100).unwrap();
        file.sync().unwrap();
        let mut expected = bytes[1..].to_vec();
        expected[100..104].copy_from_slice(b"less");
        for reader in [&plain, &file] {
            for from in [0, 1] {
                seen.fill(0);
                reader.read_at(&mut seen[from..from + len], 0).unwrap();
                assert!(seen[from..from + len] == expected[..]);
            }
            reader.read_at(&mut seen[..700], 300).unwrap();
            assert!(seen[..700] == expected[300..1000]);
            assert!(reader.read_at(&mut seen[..8192], len as u64 - 4096).is_err(), "beyond the end");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
