//! The mapping and the offsets into it.

use std::fmt;
use std::marker::PhantomData;

use os::memory::StaticMapping;

use crate::SgaLayout;
use crate::pages::PageReport;

/// A named part of the SGA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// The name `v$sgastat` shows.
    pub name: &'static str,
    /// Bytes from the base of the SGA.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// The place of a `T` in the SGA: bytes from its base. Offset 0 is null (invariant 3).
pub struct SgaOffset<T> {
    offset: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for SgaOffset<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SgaOffset<T> {}
impl<T> PartialEq for SgaOffset<T> {
    fn eq(&self, other: &Self) -> bool {
        self.offset == other.offset
    }
}
impl<T> Eq for SgaOffset<T> {}
impl<T> fmt::Debug for SgaOffset<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sga+{:#x}", self.offset)
    }
}

impl<T> SgaOffset<T> {
    /// The null offset.
    pub const NULL: Self = Self { offset: 0, of: PhantomData };

    /// The offset as a number that an atomic word can hold.
    #[must_use]
    pub const fn raw(self) -> u64 {
        self.offset
    }

    /// Turns a number from [`Self::raw`] back into an offset. Any number is accepted here; [`Sga::get`] checks it.
    #[must_use]
    pub const fn from_raw(offset: u64) -> Self {
        Self { offset, of: PhantomData }
    }

    /// True for the null offset.
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.offset == 0
    }
}

/// The place of an array of `T` in the SGA.
pub struct SgaSlice<T> {
    offset: u64,
    count: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for SgaSlice<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SgaSlice<T> {}
impl<T> fmt::Debug for SgaSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sga+{:#x}[{}]", self.offset, self.count)
    }
}

impl<T> SgaSlice<T> {
    pub(crate) const fn new(offset: u64, count: u64) -> Self {
        Self { offset, count, of: PhantomData }
    }

    /// The number of values.
    #[must_use]
    pub const fn len(self) -> usize {
        self.count as usize
    }

    /// True when the array has no values.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The place of value `n`; `None` when the array is shorter.
    #[must_use]
    pub fn at(self, n: usize) -> Option<SgaOffset<T>> {
        ((n as u64) < self.count).then(|| SgaOffset::from_raw(self.offset + n as u64 * size_of::<T>() as u64))
    }
}

/// The SGA of one instance, mapped in this process.
#[derive(Debug)]
pub struct Sga {
    mapping: StaticMapping,
    areas: Vec<Area>,
    report: PageReport,
}

impl Sga {
    pub(crate) fn leak(mapping: StaticMapping, areas: Vec<Area>, report: PageReport) -> &'static Self {
        Box::leak(Box::new(Self { mapping, areas, report }))
    }

    /// The value at `at`.
    ///
    /// # Panics
    /// The offset is null, misaligned or outside the SGA.
    #[must_use]
    pub fn get<T: SgaLayout>(&'static self, at: SgaOffset<T>) -> &'static T {
        self.try_get(at).expect("an offset lies inside the SGA")
    }

    /// The value at `at`; `None` when the offset is null, misaligned or outside the SGA, which is possible for an
    /// offset that was read optimistically.
    #[inline]
    #[must_use]
    pub fn try_get<T: SgaLayout>(&'static self, at: SgaOffset<T>) -> Option<&'static T> {
        let end = at.offset.checked_add(size_of::<T>() as u64)?;
        if at.offset == 0 || !at.offset.is_multiple_of(align_of::<T>() as u64) || end > self.mapping.len as u64 {
            return None;
        }
        // SAFETY: aligned (the base is page aligned) and in bounds, as checked; `SgaLayout` has the rest; mapped for
        // good.
        Some(unsafe { &*self.mapping.base.add(at.offset as usize).cast::<T>() })
    }

    /// The values of `slice`.
    ///
    /// # Panics
    /// The slice belongs to another SGA and lies outside this one.
    #[must_use]
    pub fn slice<T: SgaLayout>(&'static self, slice: SgaSlice<T>) -> &'static [T] {
        let bytes = slice.count.checked_mul(size_of::<T>() as u64);
        let end = bytes.and_then(|b| b.checked_add(slice.offset));
        assert!(end.is_some_and(|end| end <= self.mapping.len as u64), "a slice lies inside the SGA");
        assert!(slice.offset.is_multiple_of(align_of::<T>() as u64), "a slice is aligned");
        // SAFETY: aligned and in bounds, as asserted; `SgaLayout` has the rest; mapped for good.
        unsafe {
            std::slice::from_raw_parts(self.mapping.base.add(slice.offset as usize).cast::<T>(), slice.count as usize)
        }
    }

    /// The offset of a value in this SGA; `None` for a value outside it.
    #[must_use]
    pub fn offset_of<T>(&self, value: &T) -> Option<SgaOffset<T>> {
        let at = std::ptr::from_ref(value) as usize;
        let offset = at.checked_sub(self.mapping.base as usize)?;
        (offset < self.mapping.len).then(|| SgaOffset::from_raw(offset as u64))
    }

    /// The address of the first byte.
    #[must_use]
    pub fn base_address(&self) -> usize {
        self.mapping.base as usize
    }

    /// Bytes mapped.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.mapping.len as u64
    }

    /// The areas by ascending offset, for `v$sgastat`.
    #[must_use]
    pub fn areas(&self) -> &[Area] {
        &self.areas
    }

    /// The report of the pages used.
    #[must_use]
    pub fn page_report(&self) -> PageReport {
        self.report
    }

    /// Makes the mapping read-only in this process, so that an observing process cannot change the SGA by mistake.
    ///
    /// # Errors
    /// The kernel refuses the change of protection.
    pub fn make_read_only(&self) -> os::OsResult<()> {
        self.mapping.make_read_only()
    }

    /// Touches every page in this process, so that later accesses take no page fault: the parameter `pre_page_sga`.
    pub fn pre_page(&self) {
        self.mapping.touch_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use os::memory::PageSize;

    use super::*;
    use crate::{LargePages, SgaBuilder, SgaError};

    #[test]
    fn areas_are_apart_aligned_zero_and_listed() {
        let mut b = SgaBuilder::new();
        let a = b.reserve::<AtomicU64>("one", 3);
        let c = b.reserve::<[AtomicU64; 512]>("two", 2);
        let sga = b.create(LargePages::False).unwrap();
        let one = sga.slice(a);
        assert_eq!(one.len(), 3);
        assert!(one.iter().all(|w| w.load(Ordering::Relaxed) == 0));
        one[2].store(5, Ordering::Relaxed);
        let at = a.at(2).unwrap();
        assert_eq!(sga.get(at).load(Ordering::Relaxed), 5);
        assert_eq!(sga.offset_of(&one[2]), Some(at));
        assert!(a.at(3).is_none());
        assert_eq!(std::ptr::from_ref(&sga.slice(c)[0]) as usize % 4096, 0);
        assert_eq!(sga.areas().iter().map(|a| a.name).collect::<Vec<_>>(), ["fixed_sga", "one", "two"]);
        sga.pre_page();
    }

    #[test]
    fn two_sgas_have_two_addresses_and_foreign_offsets_are_refused() {
        let make = || SgaBuilder::new().create(LargePages::Auto).unwrap();
        let (first, second) = (make(), make());
        assert_ne!(first.base_address(), second.base_address());
        for bad in [0, 3, 4096, u64::MAX - 7, u64::MAX] {
            let end = first.len_bytes();
            let at = SgaOffset::<AtomicU64>::from_raw(if bad == 4096 { end } else { bad });
            assert!(first.try_get(at).is_none(), "{at:?}");
        }
        let here = 5u64;
        assert!(first.offset_of(&here).is_none());
    }

    #[test]
    fn only_says_how_many_pages_to_reserve_or_gets_them() {
        let mut b = SgaBuilder::new();
        let words = b.reserve::<AtomicU64>("words", 300_000);
        match b.create(LargePages::Only) {
            Ok(sga) => {
                assert_eq!(sga.page_report().pages, PageSize::Huge2M);
                sga.slice(words)[299_999].store(1, Ordering::Relaxed);
                assert!(sga.len_bytes().is_multiple_of(2 << 20));
            }
            Err(error) => {
                assert_eq!(error.ora(), 27137);
                let SgaError::NoLargePages { needed: 2, reserve: reserve @ 2.., .. } = error else { panic!("{error}") };
                assert!(error.to_string().contains(&format!("vm.nr_hugepages={reserve}")), "{error}");
            }
        }
    }
}
