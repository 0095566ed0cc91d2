//! The machine's memory: the values of `/proc/meminfo`, and the number of reserved huge pages.
//!
//! The reservation belongs to the machine, so it is restored on every way out. A small shell waits on a pipe whose
//! other end this program holds. However the program ends, the pipe is closed, and the shell writes the former value
//! back. The shell has a process group of its own, so that Ctrl-C at the terminal does not reach it.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::error::LabError;

const RESERVED: &str = "/proc/sys/vm/nr_hugepages";

/// The memory of the machine, in kilobytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemInfo {
    pub total_kb: u64,
    pub free_kb: u64,
    pub available_kb: u64,
    pub shared_kb: u64,
    pub page_tables_kb: u64,
    pub transparent_kb: u64,
    pub huge_pages: u64,
    pub huge_pages_free: u64,
}

impl MemInfo {
    /// The current values; zeros where they cannot be read.
    pub fn now() -> MemInfo {
        MemInfo::parse(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default())
    }

    fn parse(text: &str) -> MemInfo {
        let field = |name: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        MemInfo {
            total_kb: field("MemTotal"),
            free_kb: field("MemFree"),
            available_kb: field("MemAvailable"),
            shared_kb: field("Shmem"),
            page_tables_kb: field("PageTables"),
            transparent_kb: field("ShmemHugePages"),
            huge_pages: field("HugePages_Total"),
            huge_pages_free: field("HugePages_Free"),
        }
    }
}

/// The reserved huge pages of 2 MB, and their number before the run.
pub struct HugePages {
    before: u64,
    guard: Option<Child>,
    /// Whether the user has permitted a change of the machine's setting.
    may_reserve: bool,
}

impl HugePages {
    /// Reads the current setting, without a change.
    pub fn look(may_reserve: bool) -> HugePages {
        HugePages { before: MemInfo::now().huge_pages, guard: None, may_reserve }
    }

    /// Ensures that `wanted` pages are free.
    ///
    /// # Errors
    /// Tells the machine's owner what to do, where this program has no permission, or where the kernel finds no memory
    /// for them.
    pub fn have_free(&mut self, wanted: u64) -> Result<(), LabError> {
        let now = MemInfo::now();
        if now.huge_pages_free >= wanted {
            return Ok(());
        }
        let needed = now.huge_pages - now.huge_pages_free + wanted;
        if !self.may_reserve {
            return Err(LabError::new(format!(
                "{wanted} free pages of 2 MB are needed and {} are free: with --reserve-huge-pages they are reserved \
                 for the time of the run (as root), or reserve them before with sysctl -w vm.nr_hugepages={needed}",
                now.huge_pages_free
            )));
        }
        let may_not = |e: &std::io::Error| {
            LabError::new(format!(
                "{wanted} free pages of 2 MB are needed, {} are free, and {RESERVED} cannot be written ({e}): run this as root, or reserve \
                 them before with sysctl -w vm.nr_hugepages={needed}",
                now.huge_pages_free
            ))
        };
        let file = std::fs::OpenOptions::new().write(true).open(RESERVED).map_err(|e| may_not(&e))?;
        drop(file);
        if self.guard.is_none() {
            self.guard = Some(guard(self.before, RESERVED.as_ref())?);
        }
        for _ in 0..3 {
            std::fs::write(RESERVED, needed.to_string()).map_err(|e| may_not(&e))?;
            if MemInfo::now().huge_pages_free >= wanted {
                return Ok(());
            }
            // Compaction lets the kernel form whole huge pages. If it fails, the next attempt fails as well.
            let _ = std::fs::write("/proc/sys/vm/compact_memory", "1");
        }
        let got = MemInfo::now().huge_pages_free;
        self.restore();
        Err(LabError::new(format!(
            "the kernel has {got} of {wanted} pages of 2 MB: its memory is too full or in too small pieces"
        )))
    }

    /// Restores the machine's former setting.
    pub fn restore(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Starts the shell that restores the setting at the end of its input: on request, and when this program ends.
fn guard(before: u64, setting: &Path) -> Result<Child, LabError> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "trap '' INT TERM HUP; echo ready; cat > /dev/null; echo \"$1\" > \"$2\"", "sh"]);
    command.arg(before.to_string()).arg(setting);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let failed = |e: std::io::Error| LabError::new(format!("cannot guard the machine's setting: {e}"));
    let mut child = command.spawn().map_err(failed)?;
    let mut word = [0; 6];
    child.stdout.take().map(|mut out| out.read_exact(&mut word)).transpose().map_err(failed)?;
    Ok(child)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_by_their_whole_names() {
        let text = "MemTotal:       100 kB\nShmemHugePages:  7 kB\nShmem:  5 kB\nHugePages_Total:    3\nHugePages_Free:     2\n";
        let m = MemInfo::parse(text);
        assert_eq!((m.total_kb, m.shared_kb, m.transparent_kb, m.huge_pages, m.huge_pages_free), (100, 5, 7, 3, 2));
        assert!(MemInfo::now().total_kb > 0);
    }

    #[test]
    fn what_nobody_has_is_refused_with_advice_and_leaves_the_setting() {
        let before = MemInfo::now().huge_pages;
        let mut pages = HugePages::look(true);
        assert!(pages.have_free(0).is_ok() && pages.guard.is_none());
        // Without permission of the user nothing is written, even by root.
        let error = HugePages::look(false).have_free(1 << 40).unwrap_err().to_string();
        assert!(error.contains("--reserve-huge-pages") && error.contains("vm.nr_hugepages="), "{error}");
        // An unprivileged user gets advice. A privileged one does not try it here: other tests on this machine need the
        // memory.
        if std::fs::OpenOptions::new().write(true).open(RESERVED).is_err() {
            let error = pages.have_free(1 << 40).unwrap_err().to_string();
            assert!(error.contains("vm.nr_hugepages="), "{error}");
        }
        assert_eq!(MemInfo::now().huge_pages, before);
    }

    #[test]
    fn the_setting_is_put_back_when_the_program_is_interrupted_or_killed() {
        let setting = std::env::temp_dir().join(format!("latchwork-setting-{}", std::process::id()));
        std::fs::write(&setting, "4711").unwrap();
        let mut guard = guard(7, &setting).unwrap();
        for signal in ["INT", "TERM", "HUP"] {
            let kill = Command::new("kill").args([format!("-{signal}"), guard.id().to_string()]).status();
            assert!(kill.unwrap().success());
        }
        assert_eq!(std::fs::read_to_string(&setting).unwrap(), "4711", "it stays until the program is done with it");
        // The kernel does the same with the descriptors of a killed process.
        drop(guard.stdin.take());
        assert!(guard.wait().unwrap().success());
        assert_eq!(std::fs::read_to_string(&setting).unwrap().trim(), "7");
        std::fs::remove_file(&setting).unwrap();
    }
}
