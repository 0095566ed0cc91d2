//! Reading and changing the control file.

use super::data_files::DataFiles;
use crate::control::ControlFile;
use enqueue::{EnqueueType, Enqueues, LockMode, Timeout};
use process::{CleanupOrder, Process, Processes};
use std::sync::Arc;
use types::{Result, Scn};
use wait::Event;

impl DataFiles {
    /// Reads the control file again (R7).
    ///
    /// # Errors
    /// ORA-00205.
    pub fn control(&self) -> Result<ControlFile> {
        if let Some(listed) = &self.listed {
            return Ok(listed.clone());
        }
        ControlFile::read_with(&self.directory, &mut |bytes| {
            // Space is allocated far more often than the control file changes: the same bytes are not checked and
            // parsed again.
            let Ok(mut last) = self.last.try_lock() else { return ControlFile::of_bytes(bytes) };
            if let Some((_, control)) = last.as_ref().filter(|(same, _)| same == bytes) {
                return Ok(control.clone());
            }
            let control = ControlFile::of_bytes(bytes)?;
            *last = Some((bytes.to_vec(), control.clone()));
            Ok(control)
        })
    }

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
}
