//! Servers of parallel queries: their assignment to coordinators, and the messages between them.
//!
//! A query's coordinator takes several servers at once ([`Servers::take`]): a [`Team`]. Each server has a ring for
//! messages to it and one for messages from it. The executor defines the content of messages and the meaning of
//! granules.
//!
//! | word of a server | values | written by |
//! |---|---|---|
//! | life | free, wanted, starting, live | coordinator (free to wanted), supervisor, the server (starting to live) |
//! | work | free, preparing, taken, abandoned, died, refused, leaving; execution and coordinator | all, by exchange |
//! | granule | the next granule of the execution, in the first server of a team for all of it | the team's servers |
//!
//! Every change of a work word is a compare-and-exchange from exactly the value that was read. Each execution has its
//! own number, so a late change on behalf of an earlier execution fails (X1).
#![deny(unsafe_code)] // unsafe only in the expansion of `sga_struct!`

mod ring;
mod team;
mod work;

use process::Process;
use ring::Ring;
use sga::{Sga, SgaBuilder, SgaSlice, sga_struct};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub use team::{Came, Team};
pub use work::{Assignment, Found};

/// Most servers of an instance: their names are P000 to P999.
pub const SERVERS_MAX: usize = 1000;

/// Words of the rings to and from a server: 8 KB and 64 KB.
const WORDS_TO: usize = 1 << 10;
const WORDS_FROM: usize = 1 << 13;

/// Most granules of an execution.
pub const GRANULES_MAX: u64 = (1 << 24) - 1;

/// Bits for the number of an execution.
const EXECUTION: u64 = (1 << 40) - 1;

sga_struct! {
    struct Control {
        /// The number of the last execution.
        executions: AtomicU64,
        /// `parallel_max_servers`, limited to the number of slots.
        limit: AtomicU64,
        /// 1: a supervisor forks servers on request.
        forks: AtomicU64,
        started: AtomicU64,
        ended: AtomicU64,
        cleaned: AtomicU64,
        highwater: AtomicU64,
        /// Totals of servers given to teams, and of teams.
        sessions: AtomicU64,
        teams: AtomicU64,
    }

    struct Slot {
        /// The state in the low byte, the process number above.
        life: AtomicU64,
        /// The state in bits 0 to 3, the process number of the coordinator in bits 4 to 23, the execution above.
        work: AtomicU64,
        /// The execution, and in the low 24 bits the next granule (X4).
        granule: AtomicU64,
        /// Degree, requested degree and position in the team, 16 bits each.
        about: AtomicU64,
        /// Flags: the server waits for room or a message; the coordinator waits for a message of this server (X7).
        waits: [AtomicU32; 2],
        /// Messages sent and received.
        messages: [AtomicU64; 2],
        /// The last execution that the server ended itself.
        done: AtomicU64,
        pad: [AtomicU64; 8],
        /// Words read and written, to and from the server; each pair in one cache line.
        to_read: AtomicU64,
        pad_1: [AtomicU64; 7],
        to_written: AtomicU64,
        pad_2: [AtomicU64; 7],
        from_read: AtomicU64,
        pad_3: [AtomicU64; 7],
        from_written: AtomicU64,
        pad_4: [AtomicU64; 7],
    }
}

/// Positions in `Slot::waits`.
const SERVER: usize = 0;
const COORDINATOR: usize = 1;

/// The states of a server's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Free,
    Wanted,
    Starting,
    Live,
}

/// The states of a server's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Free to be taken.
    Nobodys,
    /// Taken by a coordinator, which empties its rings (X2).
    Preparing,
    Taken,
    /// The coordinator needs it no more; the server frees itself (X3).
    Abandoned,
    /// It died before the coordinator freed it (X6).
    Died,
    /// It could not start.
    Refused,
    /// The process is ending.
    Leaving,
}

/// A work word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    state: State,
    coordinator: u32,
    execution: u64,
}

impl Word {
    const NOBODYS: Word = Word { state: State::Nobodys, coordinator: 0, execution: 0 };

    fn pack(self) -> u64 {
        self.execution << 24 | u64::from(self.coordinator & 0xf_ffff) << 4 | self.state as u64
    }

    fn unpack(word: u64) -> Word {
        use State::*;
        let states = [Nobodys, Preparing, Taken, Abandoned, Died, Refused, Leaving];
        let state = states.get((word & 0xf) as usize).copied().unwrap_or(Leaving);
        Word { state, coordinator: (word >> 4 & 0xf_ffff) as u32, execution: word >> 24 }
    }

    fn is(self, state: State) -> Word {
        Word { state, ..self }
    }
}

impl Slot {
    fn life(&self) -> (Life, u32) {
        let word = self.life.load(Ordering::SeqCst);
        let life = match word & 0xff {
            0 => Life::Free,
            1 => Life::Wanted,
            2 => Life::Starting,
            _ => Life::Live,
        };
        (life, (word >> 8) as u32)
    }

    fn set_life(&self, life: Life, number: u32) {
        self.life.store(u64::from(number) << 8 | life as u64, Ordering::SeqCst);
    }

    /// Changes one state without a process to another; false if the state was different.
    fn turn_life(&self, from: Life, to: Life) -> bool {
        self.life.compare_exchange(from as u64, to as u64, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn work(&self) -> Word {
        Word::unpack(self.work.load(Ordering::SeqCst))
    }

    fn turn_work(&self, from: Word, to: Word) -> bool {
        self.work.compare_exchange(from.pack(), to.pack(), Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// The areas of the servers.
pub struct Layout {
    control: SgaSlice<Control>,
    slots: SgaSlice<Slot>,
    words: SgaSlice<AtomicU64>,
}

impl Layout {
    /// Reserves areas for this many servers.
    pub fn reserve(builder: &mut SgaBuilder, servers: usize) -> Layout {
        let servers = servers.min(SERVERS_MAX);
        Layout {
            control: builder.reserve("PX msg pool", 1),
            slots: builder.reserve("PX msg pool", servers),
            words: builder.reserve("PX msg pool", servers * (WORDS_TO + WORDS_FROM)),
        }
    }
}

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
    control: &'static Control,
    slots: &'static [Slot],
    words: &'static [AtomicU64],
    wake: OnceLock<Wake>,
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

    fn limit(&self) -> usize {
        self.control.limit.load(Ordering::Relaxed) as usize
    }

    fn slot(&self, server: u32) -> &'static Slot {
        &self.slots[server as usize]
    }

    fn ring_to(&self, server: u32) -> Ring {
        let (slot, at) = (self.slot(server), server as usize * (WORDS_TO + WORDS_FROM));
        Ring { words: &self.words[at..at + WORDS_TO], read: &slot.to_read, written: &slot.to_written }
    }

    fn ring_from(&self, server: u32) -> Ring {
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

    fn forks(&self) -> bool {
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
    fn abandon(&self, p: &Process, server: u32, coordinator: u32, execution: u64) {
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

/// Wakes the other side if it waits.
fn wake_if_waiting(all: &process::Processes, waits: &AtomicU32, number: u32) {
    // The store that it waits for precedes this fence; the waiter sets its flag before its last check.
    std::sync::atomic::fence(Ordering::SeqCst);
    if waits.load(Ordering::Relaxed) != 0 {
        waits.store(0, Ordering::Relaxed);
        all.post(number);
    }
}

/// Sets the waiting flag of this side; another check of the condition must follow.
fn note_waiting(waits: &AtomicU32) {
    waits.store(1, Ordering::Relaxed);
    std::sync::atomic::fence(Ordering::SeqCst);
}
