//! The job queue and its slaves.

use super::words::{SLAVES_MAX, Slave, State};
use std::sync::atomic::Ordering;

/// The states of a job slave's slot.
///
/// | state | set by | next |
/// |---|---|---|
/// | FREE | supervisor, when the slave has ended | WANTED by CJQ0 |
/// | WANTED | CJQ0, with a job | STARTING by the supervisor |
/// | STARTING | supervisor, which forks the slave | RUNNING by the slave |
/// | RUNNING | the slave | IDLE by the slave |
/// | IDLE | the slave | ASSIGNED by CJQ0, with a job; LEAVING by the slave |
/// | ASSIGNED | CJQ0 | RUNNING by the slave |
/// | LEAVING | the slave, which ends | FREE |
mod slave {
    pub const FREE: u32 = 0;
    pub const WANTED: u32 = 1;
    pub const STARTING: u32 = 2;
    pub const RUNNING: u32 = 3;
    pub const IDLE: u32 = 4;
    pub const ASSIGNED: u32 = 5;
    pub const LEAVING: u32 = 6;
}

/// The assignment of a slave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    Job(u64),
    None,
}

impl State {
    /// A job number above `taken`, the highest in the table, that no other call returns.
    pub fn next_job(&self, taken: u64) -> u64 {
        self.fixed.last_job.fetch_max(taken, Ordering::AcqRel);
        self.fixed.last_job.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The job that the slave in process slot `slot` runs.
    pub fn job_of(&self, slot: usize) -> Option<u64> {
        self.running_jobs().into_iter().find(|(_, s, _)| *s == slot).map(|(_, _, job)| job)
    }

    /// Notes that the job queue may have changed.
    pub fn note_job_change(&self) {
        self.fixed.job_posts.fetch_add(1, Ordering::Release);
    }

    /// The number of possible changes of the job queue.
    pub fn job_changes(&self) -> u64 {
        self.fixed.job_posts.load(Ordering::Acquire)
    }

    /// Whether a slave has this job.
    pub fn has_job(&self, job: u64) -> bool {
        self.slaves.iter().any(|s| {
            let busy = !matches!(s.state.load(Ordering::Acquire), slave::FREE | slave::IDLE | slave::LEAVING);
            busy && s.job.load(Ordering::Relaxed) == job
        })
    }

    /// Gives `job` to an idle slave, or to a new one while fewer than `limit` exist. Only CJQ0 may call this. Returns
    /// the process slot to post, or that the supervisor must fork a slave; `None` when all slaves are busy.
    pub fn assign(&self, job: u64, limit: usize) -> Option<Assigned> {
        for s in self.slaves {
            if s.state.load(Ordering::Acquire) != slave::IDLE {
                continue;
            }
            // Only this process writes the job of an idle slave; the slave reads it after it has seen ASSIGNED.
            s.job.store(job, Ordering::Relaxed);
            if s.state.compare_exchange(slave::IDLE, slave::ASSIGNED, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                let slot = s.slot.load(Ordering::Relaxed);
                return Some(Assigned::Post((slot as usize).saturating_sub(1)));
            }
        }
        let free = |s: &&Slave| s.state.load(Ordering::Acquire) == slave::FREE;
        let s = self.slaves[..limit.min(SLAVES_MAX)].iter().find(free)?;
        s.job.store(job, Ordering::Relaxed);
        s.slot.store(0, Ordering::Relaxed);
        s.state.store(slave::WANTED, Ordering::Release);
        Some(Assigned::Fork)
    }

    /// Takes the next slave to be forked. Only the supervisor may call this.
    pub fn take_wanted_slave(&self) -> Option<u32> {
        let cas = |s: &Slave| {
            s.state.compare_exchange(slave::WANTED, slave::STARTING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.slaves.iter().position(cas).map(|n| n as u32)
    }

    /// Notes that slave `n` has ended or died. Only the supervisor may call this.
    pub fn slave_ended(&self, n: u32) {
        self.slaves[n as usize].state.store(slave::FREE, Ordering::Release);
    }

    /// Takes the job that slave `n`, in process slot `slot`, must run now.
    pub fn take_assignment(&self, n: u32, slot: usize) -> Assignment {
        let s = &self.slaves[n as usize];
        s.slot.store(slot as u32 + 1, Ordering::Relaxed);
        match s.state.load(Ordering::Acquire) {
            slave::STARTING | slave::ASSIGNED => {
                let job = s.job.load(Ordering::Relaxed);
                s.state.store(slave::RUNNING, Ordering::Release);
                Assignment::Job(job)
            }
            _ => Assignment::None,
        }
    }

    /// Notes that slave `n` has finished its job and waits for another.
    pub fn slave_idle(&self, n: u32) {
        self.slaves[n as usize].state.store(slave::IDLE, Ordering::Release);
    }

    /// Lets slave `n` end unless it has just got a job.
    pub fn slave_may_leave(&self, n: u32) -> bool {
        let state = &self.slaves[n as usize].state;
        state.compare_exchange(slave::IDLE, slave::LEAVING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The running jobs: number and process slot of the slave, and the job.
    pub fn running_jobs(&self) -> Vec<(u32, usize, u64)> {
        let running = |(n, s): (usize, &Slave)| {
            let busy = s.state.load(Ordering::Acquire) == slave::RUNNING;
            let slot = (s.slot.load(Ordering::Relaxed) as usize).checked_sub(1)?;
            busy.then(|| (n as u32, slot, s.job.load(Ordering::Relaxed)))
        };
        self.slaves.iter().enumerate().filter_map(running).collect()
    }

    /// Sets the process slot of CJQ0, so that posts reach it.
    pub fn set_job_coordinator(&self, slot: Option<usize>) {
        let word = slot.map_or(0, |s| s as u32 + 1);
        self.fixed.job_coordinator.store(word, Ordering::Release);
    }

    /// The process slot of CJQ0.
    pub fn job_coordinator(&self) -> Option<usize> {
        (self.fixed.job_coordinator.load(Ordering::Acquire) as usize).checked_sub(1)
    }
}

/// The slave that got a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// An idle slave in this process slot: the caller posts it.
    Post(usize),
    /// A slave that must be forked: the caller wakes the supervisor.
    Fork,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::words::tests::state;

    #[test]
    fn a_job_goes_to_one_slave_and_the_slave_lives_on_for_the_next() {
        let s = state();
        assert_eq!(s.assign(7, 1), Some(Assigned::Fork));
        assert!(s.has_job(7));
        assert_eq!(s.assign(8, 1), None);
        assert_eq!(s.take_wanted_slave(), Some(0));
        assert_eq!(s.take_wanted_slave(), None);
        assert_eq!(s.take_assignment(0, 3), Assignment::Job(7));
        assert_eq!(s.running_jobs(), [(0, 3, 7)]);
        s.slave_idle(0);
        assert!(!s.has_job(7));
        assert_eq!(s.assign(8, 1), Some(Assigned::Post(3)));
        assert!(!s.slave_may_leave(0));
        assert_eq!(s.take_assignment(0, 3), Assignment::Job(8));
        s.slave_idle(0);
        assert!(s.slave_may_leave(0));
        assert_eq!(s.take_assignment(0, 3), Assignment::None);
        s.slave_ended(0);
        assert_eq!(s.assign(9, 1), Some(Assigned::Fork));
    }
}
