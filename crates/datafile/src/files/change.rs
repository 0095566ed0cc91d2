//! Reading and changing the control file.

use super::data_files::DataFiles;
use crate::control::ControlFile;
use enqueue::{EnqueueType, Enqueues, LockMode, Timeout};
use process::{CleanupOrder, Process, Processes};
use std::sync::Arc;
use types::{Result, Scn};
use wait::Event;

impl DataFiles {
    /// Changes the control file; the only way to do so while several processes run. When `f` fails or changes nothing,
    /// the file stays as it is. `f` must neither wait nor generate redo, because LGWR waits for the control file too.
    ///
    /// Waits: `enq: CF - contention`, `control file sequential read`, `control file parallel write`. Latches: none on
    /// entry or return.
    ///
    /// # Errors
    /// ORA-00205, ORA-00200; ORA-00028 and ORA-01013 while waiting; the error of `f`.
    pub fn change_control<R>(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        f: &mut dyn FnMut(&mut ControlFile) -> Result<R>,
    ) -> Result<R> {
        self.change_control_then(p, Some(enqueues), f, &mut |_| Ok(()))
    }

    /// As [`DataFiles::change_control`], with the enqueues of the instance. A database without an instance has one
    /// process, which needs no lock.
    pub(crate) fn change_own_control<R>(
        &self,
        p: &Process,
        f: &mut dyn FnMut(&mut ControlFile) -> Result<R>,
    ) -> Result<R> {
        self.change_control_then(p, self.enqueues(), f, &mut |_| Ok(()))
    }

    /// As [`DataFiles::change_control`]; calls `then` after the change, before another process can change the control
    /// file. `then` must neither wait nor generate redo.
    pub(crate) fn change_control_then<R>(
        &self,
        p: &Process,
        enqueues: Option<&Enqueues>,
        f: &mut dyn FnMut(&mut ControlFile) -> Result<R>,
        then: &mut dyn FnMut(&R) -> Result<()>,
    ) -> Result<R> {
        let lock = match enqueues {
            Some(all) => Some((all, all.get(p, EnqueueType::Cf, 0, 0, LockMode::Exclusive, Timeout::Never)?)),
            None => None,
        };
        let done = self.change_control_held(p, f).and_then(|r| then(&r).map(|()| r));
        if let Some((all, lock)) = lock {
            all.release(p, lock);
        }
        done
    }

    fn change_control_held<R>(&self, p: &Process, f: &mut dyn FnMut(&mut ControlFile) -> Result<R>) -> Result<R> {
        let w = p.wait(Event::ControlFileSequentialRead, 0, 1, 1);
        let old = self.control();
        drop(w);
        let old = old?;
        let mut new = old.clone();
        let r = f(&mut new)?;
        if new != old {
            let _w = p.wait(Event::ControlFileParallelWrite, 1, 1, 1);
            new.write_as(&self.directory, self.disk_sync())?;
        }
        Ok(r)
    }

    /// Registers a clean-up hook that releases the control file of a dead process before its transaction is rolled
    /// back: the rollback generates redo, and LGWR may be waiting for the control file. The hook also lifts the fences
    /// of an interrupted statement that changed files. Called once, by the supervisor, before it forks.
    pub fn register_with(files: &Arc<DataFiles>, all: &Processes, enqueues: &Enqueues) {
        let _ = files.enqueues.set(*enqueues);
        let (files, enqueues) = (Arc::clone(files), *enqueues);
        all.on_death(CleanupOrder::Pins, "control file", move |by, dead| {
            enqueues.release_kind(by, dead, EnqueueType::Cf);
            // A process that waits to add a part has a bitmap pinned that the rollback may need.
            enqueues.release_kind(by, dead, EnqueueType::Ts);
            // The dead process still owns the DD enqueue, so no other process has begun to change files.
            if enqueues.owns_any(dead, EnqueueType::Dd, LockMode::Exclusive) {
                // Other code ends the instance when the control file cannot be read.
                let _ = files.refresh();
            }
        });
    }

    /// Notes in the control file that the database is open (`clean` false) or was shut down at `scn`.
    ///
    /// # Errors
    /// ORA-00205, ORA-00200.
    pub fn set_clean(&self, clean: bool, scn: Scn) -> Result<()> {
        let mut control = self.control()?;
        (control.clean, control.scn) = (clean, scn);
        control.write_as(&self.directory, self.disk_sync())
    }

    /// Resets the states of all files to those in the control file and lifts fences, at the end of a statement that
    /// changes files or after the death of its process.
    ///
    /// # Errors
    /// ORA-00205.
    pub fn refresh(&self) -> Result<()> {
        self.repeat_control()?;
        self.table.lift_fences();
        Ok(())
    }

    /// Copies the states of all files, backup mode included, from the control file to shared memory.
    ///
    /// # Errors
    /// ORA-00205.
    pub fn refresh_copies(&self) -> Result<()> {
        self.repeat_control()
    }

    /// Copies the control file on disk to the words in shared memory until both agree. Every process changes the
    /// control file first and calls this afterwards. A change made before the second read is copied here; one made
    /// later is copied by its own process.
    pub(crate) fn repeat_control(&self) -> Result<()> {
        let mut control = self.control()?;
        loop {
            self.table.set_all(&control);
            let now = self.control()?;
            if now == control {
                return Ok(());
            }
            control = now;
        }
    }
}
