//! Reserving areas and making the mapping.

use std::fmt;

use os::memory::{MemFile, PageSize, StaticMapping};

use crate::SgaLayout;
use crate::mapping::{Area, PageReport, Sga, SgaSlice};

/// Whether the SGA lies on huge pages: the parameter `use_large_pages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LargePages {
    /// Ordinary pages only.
    False,
    /// Huge pages if enough are reserved, ordinary pages otherwise.
    True,
    /// Huge pages, or the instance does not start.
    Only,
    /// Huge pages if enough are reserved, otherwise ordinary pages that the kernel may merge; the report says which.
    #[default]
    Auto,
}

/// Why the SGA could not be made.
#[derive(Debug)]
pub enum SgaError {
    /// ORA-27137: `use_large_pages=only`, and the huge pages are not there.
    NoLargePages {
        /// 2 MB pages the SGA needs.
        needed: u64,
        /// 2 MB pages that are free.
        free: u64,
    },
    /// ORA-27125: the operating system did not give the memory.
    Refused(os::OsError),
    /// ORA-27102: larger than the address range kept for it.
    TooLarge {
        /// The size that was asked for, in bytes.
        bytes: u64,
    },
}

impl SgaError {
    /// The number of the ORA error that goes with it.
    #[must_use]
    pub fn ora(&self) -> u32 {
        match self {
            Self::NoLargePages { .. } => 27137,
            Self::Refused(_) => 27125,
            Self::TooLarge { .. } => 27102,
        }
    }
}

impl fmt::Display for SgaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLargePages { needed, free } => write!(
                f,
                "ORA-27137: unable to allocate large pages to create a shared memory segment\n\
                 use_large_pages=only needs {needed} free pages of 2 MB, and {free} are free; \
                 reserve them with: sysctl -w vm.nr_hugepages={needed}"
            ),
            Self::Refused(e) => write!(f, "ORA-27125: unable to create shared memory segment\n{e}"),
            Self::TooLarge { bytes } => write!(f, "ORA-27102: out of memory\nthe SGA would have {bytes} bytes"),
        }
    }
}

impl std::error::Error for SgaError {}

/// The addresses tried for a mapping, one after the other: an instance takes the first, a test with several the next.
/// The range lies far from where Linux puts programs, heaps, libraries and stacks on x86-64 and on AArch64.
const FIRST_ADDRESS: usize = 0x1000_0000_0000;
const ADDRESS_STEP: usize = 0x0010_0000_0000;
const ADDRESSES: usize = 1024;
/// The largest SGA: what fits between two candidate addresses.
const LEN_MAX: u64 = ADDRESS_STEP as u64;

/// Collects the areas of an SGA before it exists.
#[derive(Debug)]
pub struct SgaBuilder {
    areas: Vec<Area>,
    len: u64,
}

impl Default for SgaBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl SgaBuilder {
    /// A builder with the fixed area (one page, so that no offset in use is 0).
    #[must_use]
    pub fn new() -> Self {
        Self { areas: vec![Area { name: "fixed_sga", offset: 0, bytes: 4096 }], len: 4096 }
    }

    /// Reserves `count` values of `T` as the area `area`, on a cache line of its own (on a page, from a page upwards).
    ///
    /// Several reservations may carry the same name: `v$sgastat` adds them up.
    ///
    /// # Panics
    /// The SGA would pass the range of a 64-bit length: a configuration out of every bound.
    pub fn reserve<T: SgaLayout>(&mut self, area: &'static str, count: usize) -> SgaSlice<T> {
        let bytes = (size_of::<T>() as u64).checked_mul(count as u64).expect("the SGA's length fits 64 bits");
        let align = if bytes >= 4096 { 4096 } else { 64 }.max(align_of::<T>() as u64);
        let offset = self.len.next_multiple_of(align);
        self.len = offset.checked_add(bytes).expect("the SGA's length fits 64 bits");
        self.areas.push(Area { name: area, offset, bytes });
        SgaSlice::new(offset, count as u64)
    }

    /// Bytes reserved so far.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.len
    }

    /// Maps the SGA, zero-filled, and keeps it for as long as the process lives.
    ///
    /// # Errors
    /// [`SgaError`]: no huge pages with `Only`, no memory, too large.
    pub fn create(self, pages: LargePages) -> Result<&'static Sga, SgaError> {
        if self.len > LEN_MAX {
            return Err(SgaError::TooLarge { bytes: self.len });
        }
        let len = self.len as usize;
        let needed = (len as u64).div_ceil(PageSize::Huge2M.bytes() as u64);
        let free = os::proc::huge_pages(PageSize::Huge2M).map_or(0, |(_, free)| free);
        let mut report =
            PageReport { asked: pages, pages: PageSize::Small, transparent: false, needed_2m: needed, free_2m: free };
        if pages != LargePages::False {
            // The largest pages that the SGA fills at least one of, first; a size that is not there fails at once.
            let sizes = [PageSize::Huge1G, PageSize::Huge2M];
            for size in sizes.into_iter().filter(|s| *s == PageSize::Huge2M || len >= s.bytes()) {
                if let Ok((mapping, _)) = map(len, size, false) {
                    report.pages = size;
                    return Ok(Sga::leak(mapping, self.areas, report));
                }
            }
            if pages == LargePages::Only {
                return Err(SgaError::NoLargePages { needed, free });
            }
        }
        let (mapping, transparent) = map(len, PageSize::Small, pages == LargePages::Auto).map_err(SgaError::Refused)?;
        report.transparent = transparent;
        Ok(Sga::leak(mapping, self.areas, report))
    }
}

/// Maps a new memory file at the first candidate address that is free.
fn map(len: usize, pages: PageSize, advise: bool) -> os::OsResult<(StaticMapping, bool)> {
    let file = MemFile::create("latchwork-sga", len, pages)?;
    for n in 0..ADDRESSES {
        match file.map_at(FIRST_ADDRESS + n * ADDRESS_STEP) {
            Ok(mapping) => {
                let transparent = advise && mapping.advise_huge();
                return Ok((mapping.leak(), transparent));
            }
            // EEXIST: taken, try the next. Anything else will not go away.
            Err(e) if e.errno() == 17 => {}
            Err(e) => return Err(e),
        }
    }
    Err(os::OsError::from_errno("mmap", "no address is free", 12))
}
