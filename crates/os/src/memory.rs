//! Shared memory: anonymous files in memory, mappings at fixed addresses, huge pages.

use std::os::fd::OwnedFd;

use rustix::fs::MemfdFlags;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use rustix::process::{Resource, Rlimit};

use crate::{OsError, OsResult};

/// The page size of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// The processor's ordinary pages.
    Small,
    /// 2 MB pages from the reserved pool.
    Huge2M,
    /// 1 GB pages from the reserved pool.
    Huge1G,
}

impl PageSize {
    /// Bytes in one page.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Small => 4096,
            Self::Huge2M => 2 << 20,
            Self::Huge1G => 1 << 30,
        }
    }
}

/// A file that exists in memory only, until its last descriptor and mapping are gone.
#[derive(Debug)]
pub struct MemFile {
    fd: OwnedFd,
    len: usize,
    pages: PageSize,
}

impl MemFile {
    /// Creates a zero-filled memory file of `len` bytes, rounded up to whole pages.
    ///
    /// # Errors
    /// `memfd_create` or `ftruncate` failed: no such page size, or not enough reserved pages.
    pub fn create(name: &str, len: usize, pages: PageSize) -> OsResult<Self> {
        let huge = match pages {
            PageSize::Small => MemfdFlags::empty(),
            PageSize::Huge2M => MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB,
            PageSize::Huge1G => MemfdFlags::HUGETLB | MemfdFlags::HUGE_1GB,
        };
        let fd = rustix::fs::memfd_create(name.replace('\0', ""), MemfdFlags::CLOEXEC | huge);
        let fd = fd.map_err(|e| OsError::of("memfd_create", name, e))?;
        let len = len.next_multiple_of(pages.bytes());
        rustix::fs::ftruncate(&fd, len as u64).map_err(|e| OsError::of("ftruncate", format!("{len} bytes"), e))?;
        Ok(Self { fd, len, pages })
    }

    /// Its length in bytes, whole pages.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.len
    }

    /// Maps the whole file shared, at `address` and nowhere else.
    ///
    /// # Errors
    /// The address range is taken (`EEXIST`), or the huge pages are not available (`ENOMEM`).
    pub fn map_at(&self, address: usize) -> OsResult<Mapping> {
        let flags = MapFlags::SHARED | MapFlags::FIXED_NOREPLACE;
        let flags = if self.pages == PageSize::Small { flags | MapFlags::NORESERVE } else { flags };
        let at = std::ptr::without_provenance_mut(address);
        // SAFETY: FIXED_NOREPLACE never replaces a mapping (invariant 2), so no memory in use is touched.
        let at = unsafe { rustix::mm::mmap(at, self.len, ProtFlags::READ | ProtFlags::WRITE, flags, &self.fd, 0) };
        let at = at.map_err(|e| OsError::of("mmap", format!("{} bytes at {address:#x}", self.len), e))?;
        let mapping = Mapping { base: at as usize, len: self.len };
        if at as usize != address {
            // An old kernel treated the address as a hint.
            return Err(OsError::from_errno("mmap", format!("{address:#x}"), libc::EEXIST));
        }
        Ok(mapping)
    }
}

/// A mapping of shared memory, unmapped when dropped. [`Mapping::leak`] turns it into a permanent one.
#[derive(Debug)]
pub struct Mapping {
    base: usize,
    len: usize,
}

/// A mapping that exists until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct StaticMapping {
    /// The first byte.
    pub base: *mut u8,
    /// Bytes mapped.
    pub len: usize,
}

// SAFETY: the mapping is plain memory that stays mapped; dereferencing code has its own obligations.
unsafe impl Send for StaticMapping {}
// SAFETY: as above.
unsafe impl Sync for StaticMapping {}

impl StaticMapping {
    /// Removes write access for this process; other processes keep theirs. From then on a write is a segmentation
    /// fault.
    ///
    /// # Errors
    /// `mprotect` failed.
    pub fn make_read_only(&self) -> OsResult<()> {
        // SAFETY: the mapping lasts, and nothing but its protection changes.
        unsafe { rustix::mm::mprotect(self.base.cast(), self.len, MprotectFlags::READ) }
            .map_err(|e| OsError::of("mprotect", format!("{} bytes", self.len), e))
    }
}

impl Mapping {
    /// Maps zero-filled memory of `len` bytes that the process shares with the children it forks later.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn anonymous_shared(len: usize) -> OsResult<Self> {
        let len = len.next_multiple_of(4096).max(4096);
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let at = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), len, protection, flags) };
        let at = at.map_err(|e| OsError::of("mmap", format!("{len} bytes"), e))?;
        Ok(Self { base: at as usize, len })
    }

    /// Keeps the mapping until the process ends.
    #[must_use]
    pub fn leak(self) -> StaticMapping {
        let kept = StaticMapping { base: self.base as *mut u8, len: self.len };
        std::mem::forget(self);
        kept
    }

    /// Asks for transparent huge pages; true when the kernel took the advice.
    #[must_use]
    pub fn advise_huge(&self) -> bool {
        // SAFETY: exactly our own mapping; the advice changes no contents.
        unsafe { rustix::mm::madvise(self.base as *mut _, self.len, Advice::LinuxHugepage).is_ok() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range we mapped; a `Mapping` hands out no references to it.
        let _ = unsafe { rustix::mm::munmap(self.base as *mut _, self.len) };
    }
}

/// Asks for transparent huge pages for memory before its first use: one page fault in place of five hundred. Advice
/// only.
pub fn prefer_huge(memory: &mut [u8]) {
    let (from, to) = (memory.as_ptr() as usize, memory.as_ptr() as usize + memory.len());
    let (from, to) = (from.next_multiple_of(4096), to / 4096 * 4096);
    if from < to {
        // SAFETY: whole pages inside memory that is borrowed exclusively; the advice changes no contents.
        let _ = unsafe { rustix::mm::madvise(from as *mut _, to - from, Advice::LinuxHugepage) };
    }
}

/// Zero-filled values that the process shares with the children it forks later; never unmapped.
///
/// # Errors
/// Not enough memory.
pub fn shared_slice<T: crate::SharedLayout>(count: usize) -> OsResult<&'static [T]> {
    let bytes = count.checked_mul(size_of::<T>());
    let bytes = bytes.ok_or_else(|| OsError::from_errno("mmap", format!("{count} values"), libc::ENOMEM))?;
    assert!(align_of::<T>() <= 4096, "a page is aligned enough");
    let base = Mapping::anonymous_shared(bytes)?.leak().base;
    // SAFETY: page aligned, long enough, zero-filled and never unmapped; `SharedLayout` guarantees that zeros are a
    // valid value.
    Ok(unsafe { std::slice::from_raw_parts(base.cast::<T>(), count) })
}

impl StaticMapping {
    /// Locks every page in memory until the calling process ends: none is swapped out, for all processes that map it.
    /// Unused pages are populated first.
    ///
    /// # Errors
    /// `ENOMEM` or `EPERM` beyond the limit of locked memory ([`lock_limit`]), `EAGAIN` when there are not enough
    /// pages.
    pub fn lock(self) -> OsResult<()> {
        // SAFETY: exactly our own mapping; locking changes no contents.
        unsafe { rustix::mm::mlock(self.base.cast(), self.len) }
            .map_err(|e| OsError::of("mlock", format!("{} bytes", self.len), e))
    }

    /// Touches every page for writing, so that later use takes no page fault.
    pub fn touch_all(self) {
        // SAFETY: exactly our own mapping; the advice faults pages in and changes no contents.
        if unsafe { rustix::mm::madvise(self.base.cast(), self.len, Advice::LinuxPopulateWrite) }.is_ok() {
            return;
        }
        for at in (0..self.len).step_by(4096) {
            // SAFETY: inside the mapping and aligned; a read suffices to map the page and cannot tear another process's
            // write.
            unsafe { std::ptr::read_volatile(self.base.add(at)) };
        }
    }
}

/// Raises the soft limit of locked memory to the hard one and returns it in bytes; `None` without a limit. A privileged
/// process may lock more.
#[must_use]
pub fn lock_limit() -> Option<u64> {
    let mut limit = rustix::process::getrlimit(Resource::Memlock);
    if limit.current != limit.maximum {
        let raised = Rlimit { current: limit.maximum, ..limit };
        // If it is refused the old limit stays.
        if rustix::process::setrlimit(Resource::Memlock, raised).is_ok() {
            limit = raised;
        }
    }
    limit.current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_pages_are_there_or_the_limit_says_why_not() {
        let file = MemFile::create("lw-test", 64 << 10, PageSize::Small).unwrap();
        let mapping = file.map_at(0x5b00_0000_0000).unwrap().leak();
        match (mapping.lock(), lock_limit()) {
            (Ok(()), _) => {}
            (Err(e), Some(limit)) => assert!(limit < 64 << 10, "{limit}: {e}"),
            (Err(e), None) => panic!("without a limit: {e}"),
        }
    }

    #[test]
    fn a_taken_address_is_refused() {
        let file = MemFile::create("lw-test", 8192, PageSize::Small).unwrap();
        let first = file.map_at(0x5a00_0000_0000).unwrap();
        let again = file.map_at(0x5a00_0000_0000).unwrap_err();
        assert_eq!(again.errno(), libc::EEXIST, "{again}");
        drop(first);
        assert!(file.map_at(0x5a00_0000_0000).is_ok());
    }
}
