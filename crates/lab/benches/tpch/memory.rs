//! The memory of a process while it works: anonymous pages, which excludes the shared buffers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const EVERY: Duration = Duration::from_millis(3);

/// Bytes of anonymous memory of a process now; 0 when it has ended.
pub fn anonymous_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()).and_then(|n| n.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Samples the memory of a process and keeps the maximum.
pub struct Watch {
    stop: Arc<AtomicBool>,
    most: Arc<AtomicU64>,
    before: u64,
    thread: JoinHandle<()>,
}

impl Watch {
    pub fn start(pid: u32) -> Watch {
        let before = anonymous_bytes(pid);
        let (stop, most) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(before)));
        let thread = std::thread::spawn({
            let (stop, most) = (Arc::clone(&stop), Arc::clone(&most));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    most.fetch_max(anonymous_bytes(pid), Ordering::Relaxed);
                    std::thread::sleep(EVERY);
                }
            }
        });
        Watch { stop, most, before, thread }
    }

    /// The maximum, less the memory at the start.
    pub fn growth(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("no panic");
        self.most.load(Ordering::Relaxed) - self.before
    }
}
