//! Waiting for the end of the calls that a recording has sampled.

use std::time::Duration;

use types::Result;
use wait::{Event, WaitClass, WaitState};

use crate::SessionStatus;
use crate::handle::Process;

/// The longest wait for calls. A longer one is recorded up to its end all the same, and `v$latch_recording` shows that
/// it is open.
const WAIT_NS_MAX: u64 = 2_000_000_000;
const SLEEP: Duration = Duration::from_millis(1);

impl Process {
    /// Waits until the sampled calls of the ended recording have ended, for two seconds at most. A call ends with the
    /// next execution of its session, so calls of sessions that wait for their clients, and of idle processes, are not
    /// waited for. Latches: none held on entry or return.
    ///
    /// # Errors
    /// ORA-00028, ORA-01013.
    pub fn until_sampled_calls_end(&self) -> Result<()> {
        let deadline = os::clock::now_ns() + WAIT_NS_MAX;
        while self.all().domain().open_calls().any(|number| self.is_working(number)) && os::clock::now_ns() < deadline {
            self.check_cancel()?;
            os::clock::sleep(SLEEP);
        }
        Ok(())
    }

    /// Whether another process works.
    fn is_working(&self, number: u32) -> bool {
        let all = self.all();
        let is_active = all.session(number).is_some_and(|session| session.status() == SessionStatus::Active);
        let wait = all.wait_slot(number).and_then(|slot| slot.view(os::clock::now_ns()));
        let idle = wait.filter(|wait| wait.state == WaitState::Waiting && wait.event.class() == WaitClass::Idle);
        number != self.number() && is_active && idle.is_none_or(|wait| wait.event == Event::PlSqlLockTimer)
    }
}
