//! Online logs whose files are removed or replaced while the instance runs.
//!
//! Processes that have the file open continue to write to it, and it disappears with the last descriptor: a crash would
//! lose committed redo. So CKPT checks the files, makes the redo in such a file needless by a switch and a checkpoint,
//! and replaces its group by a new one. Rejected: copying the open file back, because processes would continue to write
//! to the old one.

use crate::RedoLog;
use crate::control::LOGS_MAX;
use process::Process;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Ora, Result};

impl RedoLog {
    /// The groups whose files are no longer at the path by which they were opened: number and path. Two system calls a
    /// group. The process opens the files that it has not opened yet.
    pub fn misplaced(&self) -> Vec<(u32, PathBuf)> {
        let mut found = Vec::new();
        for (n, group) in self.groups.all() {
            let number = group.number.load(Ordering::Acquire);
            let Ok(path) = self.log_path(number) else { continue }; // a group that is being added or dropped
            let in_place = match self.log_file(n) {
                Ok(log) => log.file.is_in_place().unwrap_or(true),
                Err(_) => os::file::exists(&path),
            };
            if !in_place && group.number.load(Ordering::Acquire) == number {
                found.push((number as u32, path));
            }
        }
        found
    }

    /// The error that is reported for such a file.
    #[must_use]
    pub fn misplaced_error(&self, number: u32, path: &Path) -> Ora {
        let text = "the file was removed, or another put in its place";
        Ora::with(313, &[&number, &1]).because(crate::file::name(path)).because(Ora::from_text(
            types::Facility::Ora,
            27041,
            text,
        ))
    }

    /// Whether records go to the group, or are still being written to it.
    #[must_use]
    pub fn is_group_current(&self, number: u32) -> bool {
        let current = [&self.head.giving, &self.tail.writing].map(|w| w.load(Ordering::Acquire) as usize);
        current.iter().any(|n| self.groups.at(*n).number.load(Ordering::Acquire) == u64::from(number))
    }

    /// Replaces a group whose redo is no longer needed by a new one of the same size. Returns the number and the file
    /// of the new one; `None` when the redo is still needed.
    ///
    /// # Errors
    /// Those of [`RedoLog::add_group`] and [`RedoLog::drop_group`].
    pub fn replace_group(&self, p: &Process, number: u32) -> Result<Option<(u32, PathBuf)>> {
        let word = |w: &AtomicU64| w.load(Ordering::Acquire);
        let group = self.groups.all().find(|(_, g)| word(&g.number) == u64::from(number));
        let Some((_, g)) = group else { return Ok(None) };
        let is_needed = word(&g.sequence) > 0
            && (word(&g.end) > word(&self.tail.checkpoint) || self.is_archivelog() && word(&g.archived) == 0);
        if is_needed || self.is_group_current(number) {
            return Ok(None);
        }
        let control = self.control.read()?;
        let free = (1..=LOGS_MAX).find(|n| control.logs.iter().all(|l| l.group != *n));
        let new = free.ok_or_else(|| Ora::with(1185, &[&(LOGS_MAX + 1)]))?;
        let names = (0u32..).map(|n| match n {
            0 => format!("redo{new:02}.log"),
            n => format!("redo{new:02}_{n}.log"),
        });
        let mut unused = names.filter(|name| {
            !control.logs.iter().any(|l| l.name == *name) && !os::file::exists(&self.control.directory().join(name))
        });
        let name = unused.next().unwrap_or_default();
        self.add_group(p, Some(new), Some(&name), Some(word(&g.bytes)))?;
        self.drop_group(p, number)?;
        Ok(Some((new, self.control.directory().join(name))))
    }
}
