//! Memory figures from `/proc` and `/sys`.

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
    /// Reserved huge pages; not included in `resident_kb`.
    pub huge_kb: u64,
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
        huge_kb: field("HugetlbPages"),
    })
}

/// Figures that require a walk over all pages of a process, in kilobytes: seconds for many gigabytes of small pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageWalk {
    /// Resident memory, with shared memory divided by the number of its users.
    pub proportional_kb: u64,
    /// Shared memory that the kernel has put on transparent huge pages.
    pub transparent_kb: u64,
    /// Written private memory of the process.
    pub private_dirty_kb: u64,
}

/// Walks over the pages of a process; `None` when it is gone or of another user.
#[must_use]
pub fn walk_pages_of(process: i32) -> Option<PageWalk> {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let field = |name: &str| kilobytes(&text, name).unwrap_or(0);
    Some(PageWalk {
        proportional_kb: field("Pss"),
        transparent_kb: field("ShmemPmdMapped"),
        private_dirty_kb: field("Private_Dirty"),
    })
}

/// Private bytes of another process, its stack included: resident and not shared. `None` when it is gone. Cheaper than
/// [`memory_of`].
#[must_use]
pub fn private_bytes_of(process: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let mut pages = text.split_whitespace().skip(1).map_while(|n| n.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(shared) * PageSize::Small.bytes() as u64)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|l| l.strip_prefix(name).is_some_and(|r| r.starts_with(':')))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Reserved huge pages of the machine: total and free; `None` when the kernel has no such size.
#[must_use]
pub fn huge_pages(size: PageSize) -> Option<(u64, u64)> {
    let kb = size.bytes() / 1024;
    let read = |what: &str| {
        std::fs::read_to_string(format!("/sys/kernel/mm/hugepages/hugepages-{kb}kB/{what}")).ok()?.trim().parse().ok()
    };
    Some((read("nr_hugepages")?, read("free_hugepages")?))
}

/// Memory of the machine in kilobytes: total and available.
#[must_use]
pub fn machine_memory_kb() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    (kilobytes(&text, "MemTotal").unwrap_or(0), kilobytes(&text, "MemAvailable").unwrap_or(0))
}

/// Whether the kernel puts shared memory on transparent huge pages after `madvise`: the word in brackets of
/// `/sys/kernel/mm/transparent_hugepage/shmem_enabled`.
#[must_use]
pub fn shared_memory_may_be_transparent() -> bool {
    let text = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/shmem_enabled").unwrap_or_default();
    ["[always]", "[within_size]", "[advise]", "[force]"].iter().any(|word| text.contains(word))
}

/// The most bytes of memory that this process may have: the machine's, or less by its control groups.
#[must_use]
pub fn memory_limit_bytes() -> u64 {
    let mut least = match machine_memory_kb().0 {
        0 => u64::MAX,
        kb => kb << 10,
    };
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kind), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match kind {
            "" => ("/sys/fs/cgroup", "memory.max"),
            "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        // A group's limit applies to the groups below it.
        for group in std::path::Path::new(path).ancestors() {
            let at = format!("{root}{}/{file}", group.display());
            let limit = std::fs::read_to_string(at).ok().and_then(|text| text.trim().parse::<u64>().ok());
            least = limit.map_or(least, |limit| least.min(limit));
        }
    }
    least
}

/// The machine's processors and memory. Times are hundredths of a second of all processors since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Processors, as the scheduler counts them.
    pub cpus: u64,
    /// Cores and sockets they belong to.
    pub cores: u64,
    pub sockets: u64,
    pub user_cs: u64,
    pub nice_cs: u64,
    pub system_cs: u64,
    pub idle_cs: u64,
    pub io_wait_cs: u64,
    /// Interrupts, and time stolen by the host.
    pub other_cs: u64,
    /// The load average of the last minute, as text: `0.42`.
    pub load: String,
    pub memory_kb: u64,
    pub free_kb: u64,
}

/// The machine's present figures from `/proc`; `None` when they cannot be read.
#[must_use]
pub fn machine() -> Option<Machine> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> = stat.lines().next()?.split_whitespace().skip(1).map_while(|n| n.parse().ok()).collect();
    let at = |n: usize| ticks.get(n).copied().unwrap_or(0);
    let cpus = stat.lines().filter(|l| l.starts_with("cpu") && !l.starts_with("cpu ")).count().max(1) as u64;
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let (cores, sockets) = topology(&info);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let (memory_kb, free_kb) = machine_memory_kb();
    Some(Machine {
        cpus,
        cores: if cores == 0 { cpus } else { cores },
        sockets: sockets.max(1),
        user_cs: at(0),
        nice_cs: at(1),
        system_cs: at(2),
        idle_cs: at(3),
        io_wait_cs: at(4),
        other_cs: at(5) + at(6) + at(7),
        load: load.split_whitespace().next().unwrap_or("0").to_string(),
        memory_kb,
        free_kb,
    })
}

/// The numbers of distinct cores and sockets in a text like `/proc/cpuinfo`; zeros where it does not name them.
fn topology(info: &str) -> (u64, u64) {
    let (mut cores, mut sockets) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    let mut socket = "";
    for line in info.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.trim() {
            "physical id" => {
                socket = value.trim();
                sockets.insert(socket);
            }
            "core id" => {
                cores.insert((socket, value.trim()));
            }
            _ => {}
        }
    }
    (cores.len() as u64, sockets.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory() {
        let m = memory_of(crate::process::own_id()).unwrap();
        assert!(m.resident_kb > 0 && m.page_tables_kb > 0 && m.virtual_kb >= m.resident_kb);
        assert!(memory_of(i32::MAX).is_none());
        let walk = walk_pages_of(crate::process::own_id()).unwrap();
        assert!(walk.proportional_kb > 0 && walk.private_dirty_kb > 0 && walk_pages_of(i32::MAX).is_none());
        let (all, free) = machine_memory_kb();
        assert!(all >= free && free > 0);
        assert!((1..=all << 10).contains(&memory_limit_bytes()));
    }

    #[test]
    fn the_machine_has_processors_that_have_worked() {
        let m = machine().unwrap();
        assert!(m.cpus >= 1 && m.cores >= 1 && m.sockets >= 1 && m.user_cs + m.system_cs > 0, "{m:?}");
        let two = "physical id : 0\ncore id : 0\n\nphysical id : 0\ncore id : 1\n\nphysical id : 1\ncore id : 0\n";
        assert_eq!(topology(two), (3, 2));
        assert_eq!(topology("Processor : arm"), (0, 0));
    }
}
