//! Reservation of areas and creation of the mapping.

use crate::pages::{LargePages, Wish};
use std::fmt;

use os::memory::{MemFile, PageSize, StaticMapping};

use crate::SgaLayout;
use crate::mapping::{Area, Sga, SgaSlice};
use crate::pages::PageReport;

/// Why the SGA could not be made.
#[derive(Debug)]
pub enum SgaError {
    /// ORA-27137: `use_large_pages=only`, and the huge pages are not there.
    NoLargePages {
        /// 2 MB pages the SGA needs.
        needed: u64,
        /// 2 MB pages that are free.
        free: u64,
        /// The value of `vm.nr_hugepages` that would be enough.
        reserve: u64,
    },
    /// ORA-27125: the operating system did not give the memory.
    Refused(os::OsError),
    /// ORA-27102: larger than the address range kept for it.
    TooLarge {
        /// The requested size, in bytes.
        bytes: u64,
    },
    /// ORA-27102: more than the machine, or this program's share of it, has.
    NoMemory {
        /// The requested size, in bytes.
        bytes: u64,
        /// Memory of the machine or of the control group, in bytes.
        memory: u64,
    },
    /// ORA-27102: every page is to be touched or locked at once, and less memory than that is available now.
    NotAvailable {
        /// The requested size, in bytes.
        bytes: u64,
        /// Bytes available now.
        available: u64,
    },
    /// ORA-27102: `lock_sga` is set, and the memory could not be locked.
    NotLocked {
        /// The requested size, in bytes.
        bytes: u64,
        /// Bytes that a process may lock; `None` when the limit is not the reason.
        limit: Option<u64>,
        /// The error of the operating system.
        source: os::OsError,
    },
}

impl SgaError {
    /// The ORA number of the error.
    #[must_use]
    pub fn ora(&self) -> u32 {
        match self {
            Self::NoLargePages { .. } => 27137,
            Self::Refused(_) => 27125,
            Self::TooLarge { .. } | Self::NoMemory { .. } | Self::NotAvailable { .. } | Self::NotLocked { .. } => 27102,
        }
    }
}

impl fmt::Display for SgaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mb = |bytes: &u64| bytes.div_ceil(1 << 20);
        match self {
            Self::NoLargePages { needed, free, reserve } => write!(
                f,
                "ORA-27137: unable to allocate large pages to create a shared memory segment\n\
                 use_large_pages=only needs {needed} free pages of 2 MB, and {free} are free; \
                 reserve them with: sysctl -w vm.nr_hugepages={reserve}"
            ),
            Self::Refused(e) => write!(f, "ORA-27125: unable to create shared memory segment\n{e}"),
            Self::TooLarge { bytes } => write!(f, "ORA-27102: out of memory\nthe SGA would have {bytes} bytes"),
            Self::NoMemory { bytes, memory } => write!(
                f,
                "ORA-27102: out of memory\nthe SGA would have {} MB, and there are {} MB of memory: \
                 make sga_target, db_cache_size or shared_pool_size smaller",
                mb(bytes),
                memory >> 20
            ),
            Self::NotAvailable { bytes, available } => write!(
                f,
                "ORA-27102: out of memory\npre_page_sga and lock_sga need all {} MB of the SGA at once, and {} MB of \
                 memory are available now",
                mb(bytes),
                available >> 20
            ),
            Self::NotLocked { bytes, limit: Some(limit), source } => write!(
                f,
                "ORA-27102: out of memory\nlock_sga locks {} KB, and a process may lock {} KB ({source}): raise the limit \
                 (ulimit -l {}, or LimitMEMLOCK of the service), or grant CAP_IPC_LOCK",
                bytes.div_ceil(1024),
                limit >> 10,
                bytes.div_ceil(1024)
            ),
            Self::NotLocked { bytes, limit: None, source } => {
                write!(f, "ORA-27102: out of memory\nlock_sga could not lock {} MB: {source}", mb(bytes))
            }
        }
    }
}

impl std::error::Error for SgaError {}

/// The addresses tried for a mapping, one after the other: an instance takes the first, a test with several the next.
/// The range lies far from where Linux puts programs, heaps, libraries and stacks on x86-64 and on AArch64.
const FIRST_ADDRESS: usize = 0x1000_0000_0000;
const LAST_ADDRESS: usize = 0x5000_0000_0000;
/// The distance between two candidate addresses; for a larger SGA its own size, rounded up to a power of two.
const ADDRESS_STEP: usize = 0x0010_0000_0000;
/// The largest SGA: 16 TB.
const LEN_MAX: u64 = 0x1000_0000_0000;

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

    /// Reserves `count` values of `T` as the area `area`. It begins on a cache line; from 4 KB upwards on a
    /// page (invariant 4).
    ///
    /// Several reservations may carry the same name: `v$sgastat` adds them up.
    ///
    /// # Panics
    /// The length of the SGA overflows 64 bits.
    pub fn reserve<T: SgaLayout>(&mut self, area: &'static str, count: usize) -> SgaSlice<T> {
        let bytes = (size_of::<T>() as u64).checked_mul(count as u64).expect("the SGA's length fits 64 bits");
        let align = if bytes >= 4096 { 4096 } else { 64 }.max(align_of::<T>() as u64);
        let offset = self.len.next_multiple_of(align);
        self.len = offset.checked_add(bytes).expect("the SGA's length fits 64 bits");
        self.areas.push(Area { name: area, offset, bytes });
        SgaSlice::new(offset, count as u64)
    }

    /// Returns the bytes reserved so far.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.len
    }

    /// Maps the SGA, zero-filled, and keeps it for as long as the process lives.
    ///
    /// # Errors
    /// [`SgaError`]: no huge pages with `Only`, no memory, too large.
    pub fn create(self, pages: LargePages) -> Result<&'static Sga, SgaError> {
        self.create_as(Wish { pages, ..Wish::default() })
    }

    /// Maps the SGA as `wish` asks, after checking that the memory is available.
    ///
    /// # Errors
    /// [`SgaError`]. A mapping made before the error is released when the process ends.
    pub fn create_as(self, wish: Wish) -> Result<&'static Sga, SgaError> {
        let bytes = self.len;
        if bytes > LEN_MAX {
            return Err(SgaError::TooLarge { bytes });
        }
        let memory = os::proc::memory_limit_bytes();
        if bytes > memory {
            return Err(SgaError::NoMemory { bytes, memory });
        }
        let mut report = PageReport::new(wish, bytes);
        let mapping = obtain(bytes as usize, &mut report)?;
        if wish.touch {
            mapping.touch_all();
        }
        if wish.lock {
            let limit = os::memory::lock_limit();
            mapping.lock().map_err(|source| SgaError::NotLocked { bytes, limit, source })?;
        }
        Ok(Sga::leak(mapping, self.areas, report))
    }
}

/// Maps the memory on the largest pages that are wanted and free, and notes every attempt in the report.
fn obtain(len: usize, report: &mut PageReport) -> Result<StaticMapping, SgaError> {
    let wish = report.wish;
    if wish.pages != LargePages::False {
        for size in large_sizes(len) {
            match map(len, size, false) {
                Ok((mapping, _)) => {
                    report.note(size, 0);
                    return Ok(mapping);
                }
                Err(e) => report.note(size, e.errno()),
            }
        }
        if wish.pages == LargePages::Only {
            let line = report.line(PageSize::Huge2M);
            let (needed, free) = (line.wanted, line.free.unwrap_or(0));
            return Err(SgaError::NoLargePages { needed, free, reserve: line.reserve });
        }
    }
    let available = os::proc::machine_memory_kb().1 << 10;
    if (wish.touch || wish.lock) && available > 0 && len as u64 > available {
        return Err(SgaError::NotAvailable { bytes: len as u64, available });
    }
    let advise = wish.pages == LargePages::Auto;
    let (mapping, advised) = map(len, PageSize::Small, advise).map_err(SgaError::Refused)?;
    report.note(PageSize::Small, 0);
    report.transparent = advised && os::proc::shared_memory_may_be_transparent();
    Ok(mapping)
}

/// The sizes of huge pages in the order in which they are tried: the largest first, unless more than an eighth of its
/// last page would be unused.
fn large_sizes(len: usize) -> impl Iterator<Item = PageSize> {
    let giant = PageSize::Huge1G;
    let idle = len.next_multiple_of(giant.bytes()) - len;
    let sizes = if idle <= len / 8 { [giant, PageSize::Huge2M] } else { [PageSize::Huge2M, giant] };
    sizes.into_iter().filter(move |size| *size != giant || len >= giant.bytes())
}

/// Maps a new memory file at the first candidate address that is free (invariant 5).
fn map(len: usize, pages: PageSize, advise: bool) -> os::OsResult<(StaticMapping, bool)> {
    let file = MemFile::create("latchwork-sga", len, pages)?;
    let step = file.len_bytes().next_power_of_two().max(ADDRESS_STEP);
    for address in (FIRST_ADDRESS..LAST_ADDRESS).step_by(step) {
        match file.map_at(address) {
            Ok(mapping) => {
                let transparent = advise && mapping.advise_huge();
                return Ok((mapping.leak(), transparent));
            }
            // EEXIST: the address is taken, try the next one. Any other error would repeat at every address.
            Err(e) if e.errno() == 17 => {}
            Err(e) => return Err(e),
        }
    }
    Err(os::OsError::from_errno("mmap", "no address is free", 12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::LargePages;

    #[test]
    fn the_largest_pages_come_first_unless_they_would_lie_idle() {
        let of = |mb: usize| large_sizes(mb << 20).collect::<Vec<_>>();
        assert_eq!(of(1000), [PageSize::Huge2M]);
        assert_eq!(of(1024), [PageSize::Huge1G, PageSize::Huge2M]);
        assert_eq!(of(1100), [PageSize::Huge2M, PageSize::Huge1G]);
        assert_eq!(of(16_300), [PageSize::Huge1G, PageSize::Huge2M]);
    }

    #[test]
    fn what_the_machine_does_not_have_is_refused_before_it_is_taken() {
        let memory = os::proc::memory_limit_bytes();
        let mut b = SgaBuilder::new();
        b.reserve::<std::sync::atomic::AtomicU64>("words", (memory / 8) as usize);
        let error = b.create(LargePages::False).unwrap_err();
        assert_eq!(error.ora(), 27102);
        assert!(error.to_string().contains("sga_target"), "{error}");
    }

    #[test]
    fn errors_say_what_to_set() {
        let source = || os::OsError::from_errno("mlock", "", 12);
        let error = SgaError::NotLocked { bytes: 9 << 20, limit: Some(8 << 20), source: source() };
        let text = error.to_string();
        assert!(text.contains("ulimit -l 9216") && text.contains("may lock 8192 KB"), "{text}");
        assert_eq!(SgaError::NotLocked { bytes: 1, limit: None, source: source() }.ora(), 27102);
        let error = SgaError::NotAvailable { bytes: 2 << 30, available: 1 << 30 };
        assert!(error.to_string().contains("2048 MB") && error.to_string().contains("1024 MB"), "{error}");
    }
}
