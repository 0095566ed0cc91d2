//! What `/proc` and `/sys` tell about memory.

use crate::memory::PageSize;

/// The memory of one process, in kilobytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// Resident set.
    pub resident_kb: u64,
    /// Of it, private anonymous pages.
    pub anonymous_kb: u64,
    /// Of it, shared memory.
    pub shared_kb: u64,
    /// Page tables.
    pub page_tables_kb: u64,
    /// Virtual size.
    pub virtual_kb: u64,
}

/// The memory of a process; `None` when it is gone.
#[must_use]
pub fn memory_of(process: i32) -> Option<ProcessMemory> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let field = |name: &str| kilobytes(&text, name).unwrap_or(0);
    Some(ProcessMemory {
        resident_kb: field("VmRSS"),
        anonymous_kb: field("RssAnon"),
        shared_kb: field("RssShmem"),
        page_tables_kb: field("VmPTE"),
        virtual_kb: field("VmSize"),
    })
}

/// Bytes of the calling process's memory that are its own: resident and not shared. Cheaper than [`memory_of`].
#[must_use]
pub fn own_private_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_whitespace().skip(1).map_while(|n| n.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(shared) * PageSize::Small.bytes() as u64)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|l| l.strip_prefix(name).is_some_and(|r| r.starts_with(':')))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Reserved huge pages of the machine: how many there are and how many are free, `None` when the kernel has no such size.
#[must_use]
pub fn huge_pages(size: PageSize) -> Option<(u64, u64)> {
    let kb = size.bytes() / 1024;
    let read = |what: &str| {
        std::fs::read_to_string(format!("/sys/kernel/mm/hugepages/hugepages-{kb}kB/{what}")).ok()?.trim().parse().ok()
    };
    Some((read("nr_hugepages")?, read("free_hugepages")?))
}

/// Memory of the machine in kilobytes: all, and what could be had now.
#[must_use]
pub fn machine_memory_kb() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    (kilobytes(&text, "MemTotal").unwrap_or(0), kilobytes(&text, "MemAvailable").unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory() {
        let m = memory_of(crate::process::own_id()).unwrap();
        assert!(m.resident_kb > 0 && m.page_tables_kb > 0 && m.virtual_kb >= m.resident_kb);
        assert!(memory_of(i32::MAX).is_none());
        let (all, free) = machine_memory_kb();
        assert!(all >= free && free > 0);
    }
}
