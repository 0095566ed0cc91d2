//! The servers of an instance: their processes, the limit, and the figures.

use crate::ring::Ring;
use crate::slot::{Control, Layout, Life, Slot, State, WORDS_FROM, WORDS_TO, Word};
use process::Process;
use sga::Sga;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server as shown in views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its number, which is in its name.
    pub server: u32,
    /// The number of its process.
    pub process: u32,
    /// The process number of the coordinator, while it has one.
    pub coordinator: Option<u32>,
    pub degree: u32,
    pub requested: u32,
    /// Its position in the team, from 1.
    pub place: u32,
}

/// Figures since the start of the instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub started: u64,
    pub ended: u64,
    pub cleaned: u64,
    pub highwater: u64,
    pub sessions: u64,
    pub teams: u64,
    /// Messages sent and received by both sides.
    pub sent: u64,
    pub received: u64,
}

/// Wakes the supervisor, which forks servers.
type Wake = Box<dyn Fn() + Send + Sync>;

/// The servers of an instance.
pub struct Servers {
    pub(crate) control: &'static Control,
    pub(crate) slots: &'static [Slot],
    words: &'static [AtomicU64],
    pub(crate) wake: OnceLock<Wake>,
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} servers", self.slots.len())
    }
}

/// The name of a server's process.
pub fn name(server: u32) -> String {
    format!("P{server:03}")
}

impl Servers {
    /// Formats the areas; zero is a valid value of all words except the limit.
    pub fn create(sga: &'static Sga, layout: &Layout) -> Servers {
        let servers = Servers {
            control: &sga.slice(layout.control)[0],
            slots: sga.slice(layout.slots),
            words: sga.slice(layout.words),
            wake: OnceLock::new(),
        };
        servers.set_limit(servers.slots.len());
        servers
    }

    /// Sets how the supervisor is woken to fork servers. To be called before the first fork.
    pub fn set_wake(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.wake.set(Box::new(wake));
    }

    /// Most servers possible, fixed at startup.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// `parallel_max_servers`. Servers beyond it are not taken any more.
    pub fn set_limit(&self, most: usize) {
        self.control.limit.store(most.min(self.slots.len()) as u64, Ordering::Relaxed);
    }

    pub(crate) fn limit(&self) -> usize {
        self.control.limit.load(Ordering::Relaxed) as usize
    }

    pub(crate) fn slot(&self, server: u32) -> &'static Slot {
        &self.slots[server as usize]
    }

    pub(crate) fn ring_to(&self, server: u32) -> Ring {
        let (slot, at) = (self.slot(server), server as usize * (WORDS_TO + WORDS_FROM));
        Ring { words: &self.words[at..at + WORDS_TO], read: &slot.to_read, written: &slot.to_written }
    }

    pub(crate) fn ring_from(&self, server: u32) -> Ring {
        let (slot, at) = (self.slot(server), server as usize * (WORDS_TO + WORDS_FROM) + WORDS_TO);
        Ring { words: &self.words[at..at + WORDS_FROM], read: &slot.from_read, written: &slot.from_written }
    }

    /// Requests the start of a server that is not running: `parallel_min_servers`.
    pub fn want(&self, server: u32) {
        if (server as usize) < self.slots.len() {
            self.slot(server).turn_life(Life::Free, Life::Wanted);
        }
    }

    /// The next server to fork. For the supervisor only.
    pub fn take_wanted(&self) -> Option<u32> {
        self.slots.iter().position(|slot| slot.turn_life(Life::Wanted, Life::Starting)).map(|n| n as u32)
    }

    /// Records that servers are forked on request.
    pub fn set_forks(&self) {
        self.control.forks.store(1, Ordering::Relaxed);
    }

    pub(crate) fn forks(&self) -> bool {
        self.control.forks.load(Ordering::Relaxed) != 0
    }

    /// Records that a server's process has ended in any way. For the supervisor only.
    pub fn ended(&self, all: &process::Processes, server: u32, orderly: bool) {
        let slot = self.slot(server);
        slot.set_life(Life::Free, 0);
        self.control.ended.fetch_add(1, Ordering::Relaxed);
        self.control.cleaned.fetch_add(u64::from(!orderly), Ordering::Relaxed);
        loop {
            let word = slot.work();
            let next = match word.state {
                State::Taken => word.is(State::Died),
                State::Abandoned | State::Leaving => Word::NOBODYS,
                State::Nobodys | State::Preparing | State::Died | State::Refused => return,
            };
            if slot.turn_work(word, next) {
                if word.state == State::Taken {
                    all.post(word.coordinator);
                }
                return;
            }
        }
    }

    /// Records that a server could not be forked. For the supervisor only.
    pub fn not_forked(&self, all: &process::Processes, server: u32) {
        self.slot(server).set_life(Life::Free, 0);
        self.refuse(all, server);
    }

    /// Records that a server's process is running.
    pub fn attached(&self, p: &Process, server: u32) {
        self.slot(server).set_life(Life::Live, p.number());
        self.control.started.fetch_add(1, Ordering::Relaxed);
    }

    /// Wakes all servers when the instance closes.
    pub fn wake_all(&self, all: &process::Processes) {
        for (life, number) in self.slots.iter().map(Slot::life) {
            if life == Life::Live {
                all.post(number);
            }
        }
    }

    /// Abandons the servers of a coordinator that is dead or ends.
    pub fn abandon_all(&self, p: &Process, coordinator: u32) {
        for server in 0..self.slots.len() as u32 {
            let word = self.slot(server).work();
            if word.coordinator == coordinator && word.execution > 0 {
                self.abandon(p, server, coordinator, word.execution);
            }
        }
    }

    /// Abandons a server of an execution.
    pub(crate) fn abandon(&self, p: &Process, server: u32, coordinator: u32, execution: u64) {
        let slot = self.slot(server);
        loop {
            let word = slot.work();
            if word.coordinator != coordinator || word.execution != execution {
                return;
            }
            let next = match word.state {
                State::Taken => word.is(State::Abandoned),
                State::Preparing | State::Died | State::Refused => Word::NOBODYS,
                State::Nobodys | State::Abandoned | State::Leaving => return,
            };
            if !slot.turn_work(word, next) {
                continue;
            }
            faults::point("px-abandoned");
            if next.state == State::Abandoned {
                let (life, number) = slot.life();
                if life == Life::Live {
                    // The server checks its work word wherever it checks for a break.
                    if let Some(session) = p.all().session(number) {
                        session.ask_to_tell();
                    }
                    p.all().post(number);
                }
            }
            return;
        }
    }

    /// The running servers.
    pub fn list(&self) -> Vec<Seen> {
        let seen = |(n, slot): (usize, &Slot)| {
            let (life, process) = slot.life();
            let word = slot.work();
            let about = slot.about.load(Ordering::Relaxed);
            let is_taken = matches!(word.state, State::Taken | State::Abandoned);
            (life == Life::Live).then(|| Seen {
                server: n as u32,
                process,
                coordinator: is_taken.then_some(word.coordinator),
                degree: (about & 0xffff) as u32,
                requested: (about >> 16 & 0xffff) as u32,
                place: (about >> 32 & 0xffff) as u32,
            })
        };
        self.slots.iter().enumerate().filter_map(seen).collect()
    }

    /// The figures since the instance started.
    pub fn counts(&self) -> Counts {
        let c = self.control;
        let get = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let messages = |n: usize| self.slots.iter().map(|slot| get(&slot.messages[n])).sum();
        Counts {
            started: get(&c.started),
            ended: get(&c.ended),
            cleaned: get(&c.cleaned),
            highwater: get(&c.highwater),
            sessions: get(&c.sessions),
            teams: get(&c.teams),
            sent: messages(0),
            received: messages(1),
        }
    }
}
