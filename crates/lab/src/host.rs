//! The description of the machine.

use crate::results::Host;

/// Reads the description from `/proc`; values that cannot be read are left empty.
pub fn describe() -> Host {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("");
    let memory = read("/proc/meminfo");
    let memory_kb: u64 = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").trim().parse().ok())
        .unwrap_or(0);
    Host {
        cpu: cpu.trim_start_matches(['\t', ' ', ':']).trim().to_string(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_bytes: memory_kb * 1024,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_string(),
    }
}

/// The load average of the last minute; `None` where `/proc` does not have it.
pub fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_load_is_a_number_of_processes() {
        assert!(super::load().is_some_and(|load| (0.0..100_000.0).contains(&load)));
    }
}
