//! CKPT: makes checkpoints when a log is full, on request, and when the last one is too long ago.

use instance::Instance;
use params::Param;
use process::Process;
use std::time::Duration;
use types::Result;
use wait::Event;

/// Longest sleep of CKPT; a post ends it.
const SLEEP: Duration = Duration::from_secs(3);

/// The time after which CKPT tries a failed action again.
const AGAIN: Duration = Duration::from_secs(1);

/// Online logs whose files are missing and were reported.
#[derive(Default)]
struct Logs {
    told: Vec<u32>,
}

impl Logs {
    /// Replaces log groups whose files were removed: processes continue to write to a removed file without an error,
    /// and a crash would lose its redo.
    ///
    /// # Errors
    /// Those of a checkpoint, of switching logs and of adding a group: the instance ends, since committed changes could
    /// be lost.
    fn look(&mut self, instance: &'static Instance, p: &Process, log: &dyn Fn(&str)) -> Result<()> {
        let redo = instance.storage().redo;
        for (number, path) in redo.misplaced() {
            if !self.told.contains(&number) {
                log(&redo.misplaced_error(number, &path).to_string());
                self.told.push(number);
            }
            instance.checkpoint(p)?;
            if redo.is_group_current(number) {
                redo.switch(p)?;
                instance.checkpoint(p)?;
            }
            // A log that cannot be archived now is tried again.
            let _ = redo.archive_all(p);
            if let Some((new, file)) = redo.replace_group(p, number)? {
                log(&format!(
                    "Log group {new} ({}) has taken the place of group {number}: nothing is lost",
                    file.display()
                ));
                self.told.retain(|told| *told != number);
            }
        }
        Ok(())
    }
}

/// Runs CKPT until it is asked to end. `log` writes to the alert log.
///
/// # Errors
/// Blocks, log or control file cannot be written; a data file has lost a write, or is gone. CKPT ends, and the instance
/// with it, before the redo of these changes is overwritten.
pub fn ckpt(instance: &'static Instance, log: &dyn Fn(&str)) -> Result<()> {
    let p = instance.attach_background("CKPT")?;
    let (slot, redo) = (p.number() as usize - 1, instance.storage().redo);
    redo.become_ckpt(&p);
    crate::begin_asynchronous(instance, &p, log);
    let (mut told, mut logs) = (String::new(), Logs::default());
    loop {
        let posts = p.posts();
        if instance.state().is_asked_to_end(slot) {
            redo.resign(&p);
            return Ok(());
        }
        // Another process recorded a failed sync (rule R9 of the crate `datafile`).
        instance.storage().cache.files().check_places()?;
        match logs.look(instance, &p, log) {
            // As below: the control file has no space to grow.
            Err(e) if e.is(200) => crate::tell_once(log, &mut told, "CKPT cannot replace a log group, will retry", &e),
            done => done?,
        }
        if instance.is_checkpoint_due() {
            let tell = instance.params().flag(Param::LogCheckpointsToAlert);
            if tell {
                log(&format!("Beginning log switch checkpoint up to RBA {}", redo.head()));
            }
            match instance.checkpoint(&p) {
                // All blocks are on disk, but the control file cannot be written, perhaps because the disk is full.
                Err(e) if e.is(200) => {
                    crate::tell_once(log, &mut told, "CKPT cannot write the control file, will retry", &e);
                    crate::idle(&p, Event::RdbmsIpcMessage, p.posts(), AGAIN);
                    continue;
                }
                done => done?,
            }
            told.clear();
            if tell {
                let done = redo.checkpoint();
                log(&format!("Completed checkpoint up to RBA {:#x}, SCN: {}", done.rba, done.scn));
            }
            continue;
        }
        crate::idle(&p, Event::RdbmsIpcMessage, posts, SLEEP);
    }
}
