//! The part of the control file that the redo log uses.

use crate::{ControlFile, DataFiles};
use enqueue::Enqueues;
use process::Process;
use redo::{CheckpointEntry, Control, LogControl};
use std::path::Path;
use std::sync::Arc;
use types::Result;

/// Access to the log's part of the control file, under the CF enqueue.
pub struct LogsOf {
    files: Arc<DataFiles>,
    enqueues: Enqueues,
}

impl LogsOf {
    /// The log's part of the control file of `files`.
    #[must_use]
    pub fn new(files: &Arc<DataFiles>, enqueues: &Enqueues) -> Arc<LogsOf> {
        Arc::new(LogsOf { files: Arc::clone(files), enqueues: *enqueues })
    }
}

impl ControlFile {
    /// The log's part.
    #[must_use]
    pub fn of_logs(&self) -> LogControl {
        LogControl {
            scn: self.scn,
            checkpoint: self.checkpoint,
            incarnation: self.incarnation,
            archivelog: self.archivelog,
            logs: self.logs.clone(),
            logged: self.logged.clone(),
        }
    }

    /// Replaces the log's part.
    pub fn set_logs(&mut self, is: LogControl) {
        let LogControl { scn, checkpoint, incarnation, archivelog, logs, logged } = is;
        (self.scn, self.checkpoint, self.incarnation) = (scn, checkpoint, incarnation);
        (self.archivelog, self.logs, self.logged) = (archivelog, logs, logged);
    }
}

impl Control for LogsOf {
    fn read(&self) -> Result<LogControl> {
        Ok(self.files.control()?.of_logs())
    }

    fn change(&self, p: &Process, f: &mut dyn FnMut(&mut LogControl) -> Result<()>) -> Result<()> {
        self.files.change_control(p, &self.enqueues, &mut |control| {
            let mut logs = control.of_logs();
            f(&mut logs)?;
            control.set_logs(logs);
            Ok(())
        })
    }

    fn checkpointed(&self, p: &Process, done: &CheckpointEntry) -> Result<()> {
        self.files.change_control(p, &self.enqueues, &mut |control| {
            if control.checkpoint.rba <= done.rba {
                // Headers first: the checkpoint in a header is never older than the control file's.
                self.files.stamp(control, done)?;
                control.checkpoint = *done;
            }
            Ok(())
        })
    }

    fn directory(&self) -> &Path {
        self.files.directory()
    }

    fn database(&self) -> u64 {
        self.files.database()
    }

    fn disk_sync(&self) -> bool {
        self.files.disk_sync()
    }
}
