//! The data behind the views of the log.

use crate::file::now_s;
use crate::{Rba, RedoLog, RedoSink};
use std::sync::atomic::{AtomicU64, Ordering};
use types::Scn;

/// The shortest period that gives a usable rate.
const LEAST_S: u64 = 60;
/// The target time between switches.
const SWITCH_EVERY_S: u64 = 20 * 60;

/// A row of `v$log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInfo {
    /// Group number.
    pub group: u32,
    /// The sequence it holds; 0 when it was never used.
    pub sequence: u32,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// The redo has been archived.
    pub archived: bool,
    /// `UNUSED`, `CURRENT`, `ACTIVE` (needed by a recovery) or `INACTIVE`.
    pub status: &'static str,
    /// The newest SCN, and the time (seconds since 1970, UTC), when the log became current.
    pub first_scn: Scn,
    pub first_time_s: u32,
    /// The position of its first record.
    pub start: Rba,
    /// The position of its end; `None` while it is current.
    pub end: Option<Rba>,
}

impl RedoLog {
    /// The rows of `v$log`, by group. Read without a latch: the parts may be of different moments.
    pub fn logs(&self) -> Vec<LogInfo> {
        let word = |w: &AtomicU64| w.load(Ordering::Acquire);
        let (giving, checkpoint) = (word(&self.head.giving) as usize, word(&self.tail.checkpoint));
        let mut rows: Vec<LogInfo> = self
            .groups
            .all()
            .map(|(n, g)| {
                let (sequence, end) = (word(&g.sequence) as u32, word(&g.end));
                let current = n == giving && self.is_open();
                let status = match sequence {
                    0 => "UNUSED",
                    _ if current => "CURRENT",
                    _ if end > checkpoint => "ACTIVE",
                    _ => "INACTIVE",
                };
                LogInfo {
                    group: word(&g.number) as u32,
                    sequence,
                    bytes: word(&g.bytes),
                    archived: word(&g.archived) != 0,
                    status,
                    first_scn: Scn(word(&g.first_scn)),
                    first_time_s: word(&g.first_time) as u32,
                    start: Rba(word(&g.start)),
                    end: (!current && sequence != 0).then_some(Rba(end)),
                }
            })
            .collect();
        rows.sort_by_key(|row| row.group);
        rows
    }

    /// The size of a log file with which a log would be switched every twenty minutes, at the rate of the redo since
    /// the oldest log that is still there was begun; `None` while there is no redo of at least a minute.
    /// Time in which the database was down counts, so the result is too low after a long stop.
    pub fn optimal_log_bytes(&self) -> Option<u64> {
        let used = self.logs().into_iter().filter(|log| log.sequence != 0);
        let oldest = used.min_by_key(|log| log.sequence)?;
        let seconds = u64::from(now_s().saturating_sub(oldest.first_time_s));
        let redo = self.head().0.saturating_sub(oldest.start.0);
        (seconds >= LEAST_S && redo > 0).then(|| (redo * SWITCH_EVERY_S / seconds).max(crate::LOG_FILE_MIN))
    }

    /// Checks the log's words against one another. Only valid while no other process uses the log.
    ///
    /// # Errors
    /// A sentence that names the broken rule.
    pub fn assert_invariants(&self) -> Result<(), String> {
        let (head, written) = (self.head(), self.on_disk());
        if written > head {
            return Err(format!("{written} is on disk, but only {head} was given out"));
        }
        if head.0 - written.0 > self.buffer_bytes() {
            return Err(format!("{} bytes are not on disk, more than the log buffer holds", head.0 - written.0));
        }
        for (n, line) in self.lines.iter().enumerate() {
            let (pending, waiting) = (line.pending.load(Ordering::Acquire), line.waiting_for.load(Ordering::Acquire));
            if pending != 0 || waiting != 0 {
                return Err(format!("process {} has a place at {pending} and waits for {waiting}", n + 1));
            }
        }
        if self.tail.writer.load(Ordering::Acquire) != 0 {
            return Err("somebody writes".into());
        }
        let giving = self.head.giving.load(Ordering::Acquire) as usize;
        if self.is_open() && head.0 > self.groups.limit(giving) {
            return Err(format!("{head} is behind the end of the log"));
        }
        Ok(())
    }
}
