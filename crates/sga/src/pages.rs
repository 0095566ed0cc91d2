//! The page report: which pages the SGA got, for the alert log and `x$ksmpg`.

use std::fmt;

use os::memory::PageSize;

/// Whether the SGA lies on huge pages: the parameter `use_large_pages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LargePages {
    /// Ordinary pages only.
    False,
    /// Huge pages if enough are reserved, ordinary pages otherwise.
    True,
    /// Huge pages, or the instance does not start.
    Only,
    /// Huge pages if enough are reserved, otherwise ordinary pages that the kernel may merge; the report names the
    /// result.
    #[default]
    Auto,
}

/// The memory parameters of an SGA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Wish {
    /// The parameter `use_large_pages`.
    pub pages: LargePages,
    /// Every page is kept in memory: the parameter `lock_sga`.
    pub lock: bool,
    /// Every page is touched before anything uses it: the parameter `pre_page_sga`, at instance start.
    pub touch: bool,
}

/// The result for one page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLine {
    pub size: PageSize,
    /// Pages needed for the SGA.
    pub wanted: u64,
    /// Pages that were free before; `None` for ordinary pages and for a size that the kernel does not have.
    pub free: Option<u64>,
    /// Pages obtained.
    pub got: u64,
    /// The error number of the failed mapping; 0 when it succeeded or was not tried.
    pub errno: i32,
    /// Pages of this size that must be reserved on the machine for the SGA to get them, including those in use by
    /// others.
    pub reserve: u64,
}

/// The pages that the SGA got and those that were tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageReport {
    /// The memory parameters asked for.
    pub wish: Wish,
    /// The page size of the SGA.
    pub pages: PageSize,
    /// True when the kernel may use transparent huge pages for it.
    pub transparent: bool,
    /// The results by page size, largest first.
    pub lines: [PageLine; 3],
    /// Bytes that may be locked in memory; `None` without a limit.
    pub lock_limit: Option<u64>,
}

impl PageReport {
    /// A report before the first attempt.
    pub(crate) fn new(wish: Wish, bytes: u64) -> Self {
        let line = |size: PageSize| {
            let wanted = bytes.div_ceil(size.bytes() as u64);
            let reserved = (size != PageSize::Small).then(|| os::proc::huge_pages(size)).flatten();
            let (all, free) = reserved.unwrap_or((0, 0));
            let reserve = all.saturating_sub(free) + wanted;
            PageLine { size, wanted, free: reserved.map(|_| free), got: 0, errno: 0, reserve }
        };
        Self {
            wish,
            pages: PageSize::Small,
            transparent: false,
            lines: [line(PageSize::Huge1G), line(PageSize::Huge2M), line(PageSize::Small)],
            lock_limit: os::memory::lock_limit(),
        }
    }

    /// The result for a page size.
    #[must_use]
    pub fn line(&self, size: PageSize) -> &PageLine {
        &self.lines[place(size)]
    }

    /// Notes the result of an attempt.
    pub(crate) fn note(&mut self, size: PageSize, errno: i32) {
        let line = &mut self.lines[place(size)];
        line.errno = errno;
        if errno == 0 {
            line.got = line.wanted;
            self.pages = size;
        }
    }

    /// The setting that would give the missing huge pages; `None` when nothing is missing.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        if self.pages != PageSize::Small || self.wish.pages == LargePages::False {
            return None;
        }
        let line = self.line(PageSize::Huge2M);
        let huge = format!("for pages of 2 MB: sysctl -w vm.nr_hugepages={}", line.reserve);
        if self.wish.pages != LargePages::Auto || self.transparent {
            return Some(huge);
        }
        Some(format!("{huge}; for transparent ones: echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled"))
    }
}

fn place(size: PageSize) -> usize {
    match size {
        PageSize::Huge1G => 0,
        PageSize::Huge2M => 1,
        PageSize::Small => 2,
    }
}

/// The page size as text: `2 MB`.
fn name(size: PageSize) -> &'static str {
    match size {
        PageSize::Huge1G => "1 GB",
        PageSize::Huge2M => "2 MB",
        PageSize::Small => "4 KB",
    }
}

impl fmt::Display for PageReport {
    /// A table for the alert log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wish { pages, lock, touch } = self.wish;
        let pages = format!("{pages:?}").to_uppercase();
        writeln!(f, "SGA on {} pages of {}", self.line(self.pages).got, name(self.pages))?;
        writeln!(f, "  use_large_pages={pages}, touched at start: {}, locked: {}", yes(touch), yes(lock))?;
        match self.lock_limit {
            Some(bytes) => writeln!(f, "  a process may lock {} KB (ulimit -l)", bytes >> 10)?,
            None => writeln!(f, "  a process may lock any amount of memory (ulimit -l)")?,
        }
        writeln!(
            f,
            "  {:>9} {:>14} {:>14} {:>14}  result",
            "page size", "pages needed", "pages free", "pages obtained"
        )?;
        for line in &self.lines {
            let free = match (line.size, line.free) {
                (PageSize::Small, _) => "any".to_string(),
                (_, None) => "none reserved".to_string(),
                (_, Some(free)) => free.to_string(),
            };
            let result = match (line.got, line.errno) {
                (0, 0) => "not tried".to_string(),
                (_, 0) => "obtained".to_string(),
                (_, errno) => os::OsError::from_errno("mmap", "", errno).source.to_string(),
            };
            let (size, wanted, got) = (name(line.size), line.wanted, line.got);
            writeln!(f, "  {size:>9} {wanted:>14} {free:>14} {got:>14}  {result}")?;
        }
        if self.transparent {
            writeln!(f, "  the kernel may put it on transparent huge pages")?;
        }
        match self.advice() {
            Some(advice) => write!(f, "  {advice}"),
            None => write!(f, "  nothing is left to set"),
        }
    }
}

fn yes(on: bool) -> &'static str {
    if on { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_what_was_tried_and_what_to_set() {
        let wish = Wish { pages: LargePages::True, ..Wish::default() };
        let mut report = PageReport::new(wish, 5 << 20);
        report.lines[1].reserve = 10;
        report.note(PageSize::Huge2M, 12);
        report.note(PageSize::Small, 0);
        let text = report.to_string();
        assert!(text.starts_with("SGA on 1280 pages of 4 KB\n"), "{text}");
        for part in ["use_large_pages=TRUE", "Cannot allocate memory", "obtained", "not tried", "vm.nr_hugepages=10"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        report.note(PageSize::Huge2M, 0);
        assert_eq!((report.pages, report.line(PageSize::Huge2M).got, report.advice()), (PageSize::Huge2M, 3, None));
    }
}
