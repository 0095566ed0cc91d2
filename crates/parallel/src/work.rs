//! The server's side.

use crate::servers::Servers;
use crate::slot::{
    COORDINATOR, EXECUTION, GRANULES_MAX, LOOK_EVERY, SERVER, State, Word, note_waiting, wake_if_waiting,
};
use process::Process;
use std::sync::atomic::Ordering;
use std::time::Duration;
use types::{Ora, Result};
use wait::Event;

/// A server's part in an execution.
#[derive(Clone, Copy, Debug)]
pub struct Assignment {
    servers: &'static Servers,
    server: u32,
    coordinator: u32,
    execution: u64,
}

/// The result of waiting for work.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    Work(Assignment),
    /// No work arrived in time.
    Nothing,
}

impl Servers {
    /// Waits for work for at most `time`, or until `stop` is true.
    pub fn wait_for_work(&'static self, p: &Process, server: u32, time: Duration, stop: &dyn Fn() -> bool) -> Found {
        let slot = self.slot(server);
        let until = os::clock::now_ns() + time.as_nanos() as u64;
        let wait = p.wait(Event::PxIdleWait, LOOK_EVERY.as_millis() as u64 / 10, 0, 0);
        loop {
            let posts = p.posts();
            let word = slot.work();
            match word.state {
                State::Taken if word.execution != slot.done.load(Ordering::Relaxed) => {
                    let Word { coordinator, execution, .. } = word;
                    return Found::Work(Assignment { servers: self, server, coordinator, execution });
                }
                State::Abandoned => {
                    slot.turn_work(word, Word::NOBODYS);
                    continue;
                }
                _ => {}
            }
            let left = until.saturating_sub(os::clock::now_ns());
            if left == 0 || stop() || p.is_asked_to_stop() {
                wait.timed_out();
                return Found::Nothing;
            }
            p.sleep(posts, Some(Duration::from_nanos(left).min(LOOK_EVERY)));
        }
    }

    /// Whether a server may end; if so, it cannot be taken any more.
    pub fn may_leave(&self, server: u32) -> bool {
        self.slot(server).turn_work(Word::NOBODYS, Word::NOBODYS.is(State::Leaving))
    }

    /// Records that a server's process cannot work: its coordinator continues without it.
    pub fn refuse(&self, all: &process::Processes, server: u32) {
        let slot = self.slot(server);
        let word = slot.work();
        if word.state == State::Taken && slot.turn_work(word, word.is(State::Refused)) {
            all.post(word.coordinator);
        }
    }
}

impl Assignment {
    fn word(&self) -> Word {
        Word { state: State::Taken, coordinator: self.coordinator, execution: self.execution }
    }

    /// Whether the coordinator still needs the rows.
    pub fn is_wanted(&self) -> bool {
        self.servers.slot(self.server).work() == self.word()
    }

    /// Records that the server has sent its last message; the coordinator frees it.
    pub fn end(&self) {
        self.servers.slot(self.server).done.store(self.execution, Ordering::Relaxed);
    }

    /// The number of the server.
    pub fn server(&self) -> u32 {
        self.server
    }

    /// The number of the coordinator's process.
    pub fn coordinator(&self) -> u32 {
        self.coordinator
    }

    /// The next granule of `count`, from the counter of the server `leader` of the team; `None` if none is left.
    ///
    /// # Errors
    /// ORA-01013 if the execution is over.
    pub fn next_granule(&self, leader: u32, count: u64) -> Result<Option<u64>> {
        let over = || Ora::new(1013);
        let slots = self.servers.slots;
        let word = &slots.get(leader as usize).ok_or_else(over)?.granule;
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            if seen >> 24 != self.execution & EXECUTION || !self.is_wanted() {
                return Err(over());
            }
            let granule = seen & GRANULES_MAX;
            if granule >= count.min(GRANULES_MAX) {
                return Ok(None);
            }
            match word.compare_exchange_weak(seen, seen + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    faults::point("px-granule");
                    return Ok(Some(granule));
                }
                Err(now) => seen = now,
            }
        }
    }

    /// Waits for the next message from the coordinator.
    ///
    /// # Errors
    /// ORA-01013 if the execution is over, ORA-00028 if the session was killed.
    pub fn receive(&self, p: &Process, out: &mut Vec<u8>) -> Result<()> {
        let slot = self.servers.slot(self.server);
        let ring = self.servers.ring_to(self.server);
        out.clear();
        loop {
            while let Some(is_last) = ring.take(out)? {
                wake_if_waiting(p.all(), &slot.waits[COORDINATOR], self.coordinator);
                if is_last {
                    slot.messages[1].fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
            }
            self.pause(p, Event::PxDeqExecutionMsg, &|| ring.has_some())?;
        }
    }

    /// Sends a message to the coordinator; waits while the ring is full.
    ///
    /// # Errors
    /// As [`Assignment::receive`].
    pub fn send(&self, p: &Process, mut rest: &[u8]) -> Result<()> {
        let slot = self.servers.slot(self.server);
        let ring = self.servers.ring_from(self.server);
        loop {
            // After its end, the ring belongs to another execution.
            if !self.is_wanted() {
                return Err(Ora::new(1013));
            }
            let Some(len) = ring.put(rest) else {
                self.pause(p, Event::PxDeqCreditSendBlkd, &|| ring.has_room())?;
                continue;
            };
            wake_if_waiting(p.all(), &slot.waits[COORDINATOR], self.coordinator);
            rest = &rest[len..];
            if rest.is_empty() {
                slot.messages[0].fetch_add(1, Ordering::Relaxed);
                faults::point("px-sent");
                return Ok(());
            }
        }
    }

    /// Sleeps until `is_there`, or until the execution is over.
    fn pause(&self, p: &Process, event: Event, is_there: &dyn Fn() -> bool) -> Result<()> {
        let slot = self.servers.slot(self.server);
        let wait = p.wait(event, LOOK_EVERY.as_millis() as u64 / 10, u64::from(self.coordinator), 0);
        let posts = p.posts();
        note_waiting(&slot.waits[SERVER]);
        if !is_there() && self.is_wanted() && !p.sleep(posts, Some(LOOK_EVERY)) {
            wait.timed_out();
        }
        drop(wait);
        p.check_cancel()?;
        if self.is_wanted() { Ok(()) } else { Err(Ora::new(1013)) }
    }
}
