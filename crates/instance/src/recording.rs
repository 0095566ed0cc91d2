//! Recordings of latch gets: one session makes them at a time, and they end with it.
//!
//! A recording that outlives its session would cost every other session time for nobody. So the SGA has the session
//! that began it (`_latch_recording`), and PMON ends the recording when the session is gone, as it puts switched
//! designs back. A recording of the parameter file has no such session; it goes on until a session ends or replaces it.

use crate::instance::Instance;
use enqueue::{EnqueueType, LockMode, Timeout};
use params::Param;
use process::Process;
use types::{Facility, Ora, Result};

impl Instance {
    /// Prepares a new value of `_latch_recording`: the session becomes the one whose recording it is, or, with 0,
    /// nobody has one any more. Every session that may change parameters may end a recording. The caller has the
    /// parameter enqueue, and sets the parameter next.
    ///
    /// # Errors
    /// ORA-00439 when there are no rings; ORA-00054 while the recording of another session runs.
    pub fn prepare_recording(&self, p: &Process, every: u32) -> Result<()> {
        let state = self.state();
        if every == 0 {
            state.set_recording_session(None);
            return Ok(());
        }
        let domain = self.processes().domain();
        if domain.ring_capacity() == 0 {
            let advice = "this instance has no rings for recordings; start it with _latch_recording_size=32768";
            return Err(Ora::with(439, &[&"recording of latch gets"]).because(Ora::from_text(
                Facility::Lwk,
                1,
                advice,
            )));
        }
        let own = (p.sid(), p.serial());
        if let Some((sid, serial)) = state.recording_session()
            && (sid, serial) != own
            && domain.recording().1 != 0
            && self.is_session(sid, serial)
        {
            let advice = format!(
                "session {sid},{serial} records latch gets; its recording ends with the session, or by \
                 alter system set \"_latch_recording\" = 0"
            );
            return Err(Ora::new(54).because(Ora::from_text(Facility::Lwk, 1, advice)));
        }
        state.set_recording_session(Some(own));
        // PMON sleeps for less time while there is such a session.
        if let Some(pmon) = state.pmon() {
            self.post(pmon);
        }
        Ok(())
    }

    /// Ends the recording of a session that has ended. PMON calls this at intervals; while a session changes a
    /// parameter, PMON does it later.
    pub fn end_abandoned_recording(&self, p: &Process) {
        let has_ended = || self.state().recording_session().is_some_and(|(sid, serial)| !self.is_session(sid, serial));
        if !has_ended() {
            return;
        }
        let enqueues = self.storage().enqueues;
        let Ok(lock) = enqueues.get(p, EnqueueType::Ci, 1, 0, LockMode::Exclusive, Timeout::NoWait) else {
            return;
        };
        if has_ended() {
            self.set_parameter(Param::LatchRecording, "0");
            self.state().set_recording_session(None);
        }
        enqueues.release(p, lock);
    }
}
