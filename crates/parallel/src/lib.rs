//! Servers of parallel queries: which coordinator has which, and the messages between them.
//!
//! A query's coordinator takes some servers at once ([`Servers::take`]): a [`Team`]. Each server has a ring of messages
//! to it and one from it. What the messages say is the executor's; so is what is given out in granules.
//!
//! | word of a server | values | written by |
//! |---|---|---|
//! | life | free, wanted, starting, live | coordinator (free to wanted), supervisor, the server (starting to live) |
//! | work | nobody's, being prepared, taken, abandoned, died, refused, leaving; with execution and coordinator | all, by exchange |
//! | granule | the next granule of the execution, of the first server of a team for all of it | the team's servers |
//!
//! Every change of a word of work is an exchange of exactly the word that was seen. An execution has a number of its
//! own, so what is done late, on account of an earlier execution, fails.
#![deny(unsafe_code)] // Only in what `sga_struct!` writes.

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

/// Most servers of an instance: names have two digits behind the P and a zero.
pub const SERVERS_MAX: usize = 1000;

/// Words of the rings to a server and from it: 8 KB and 64 KB.
const WORDS_TO: usize = 1 << 10;
const WORDS_FROM: usize = 1 << 13;

/// Granules of an execution at most.
pub const GRANULES_MAX: u64 = (1 << 24) - 1;

/// Bits of the number of an execution.
const EXECUTION: u64 = (1 << 40) - 1;

sga_struct! {
    struct Control {
        /// The number of the last execution.
        executions: AtomicU64,
        /// `parallel_max_servers`, no more than there are slots.
        limit: AtomicU64,
        /// 1: somebody forks servers on request.
        forks: AtomicU64,
        started: AtomicU64,
        ended: AtomicU64,
        cleaned: AtomicU64,
        highwater: AtomicU64,
        /// Servers given to teams, and teams.
        sessions: AtomicU64,
        teams: AtomicU64,
    }

    struct Slot {
        /// The state in the low byte, the number of the process above.
        life: AtomicU64,
        /// The state in bits 0 to 3, the number of the coordinator's process in bits 4 to 23, the execution above.
        work: AtomicU64,
        /// The execution above 24 bits with the next granule.
        granule: AtomicU64,
        /// Degree, degree asked for, and place in the team, of 16 bits each.
        about: AtomicU64,
        /// The server waits for room or for a message, and the coordinator for a message of this server.
        waits: [AtomicU32; 2],
        /// Messages sent and received.
        messages: [AtomicU64; 2],
        /// The execution that the server has ended last, by itself.
        done: AtomicU64,
        pad: [AtomicU64; 8],
        /// Read and written, to the server and from it; one line each.
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

/// Places in `Slot::waits`.
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
    /// It may be taken.
    Nobodys,
    /// A coordinator has taken it and empties its rings.
    Preparing,
    Taken,
    /// The coordinator wants nothing more of it; the server gives itself back.
    Abandoned,
    /// It died before the coordinator gave it back.
    Died,
    /// It could not start.
    Refused,
    /// The process ends.
    Leaving,
}

/// A word of work.
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

    /// From one state without a process to another; false when it was in another one.
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

/// Where the servers lie.
pub struct Layout {
    control: SgaSlice<Control>,
    slots: SgaSlice<Slot>,
    words: SgaSlice<AtomicU64>,
}

impl Layout {
    /// Reserves room for so many servers.
    pub fn reserve(builder: &mut SgaBuilder, servers: usize) -> Layout {
        let servers = servers.min(SERVERS_MAX);
        Layout {
            control: builder.reserve("PX msg pool", 1),
            slots: builder.reserve("PX msg pool", servers),
            words: builder.reserve("PX msg pool", servers * (WORDS_TO + WORDS_FROM)),
        }
    }
}

/// A server, as views show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its number: that of its name.
    pub server: u32,
    /// The number of its process.
    pub process: u32,
    /// The number of the coordinator's process, while it has one.
    pub coordinator: Option<u32>,
    pub degree: u32,
    pub requested: u32,
    /// Its place in the team, from 1.
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
    /// Messages sent and received, by both sides.
    pub sent: u64,
    pub received: u64,
}

/// Wakes who forks servers.
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
    /// Formats the areas: all zero is right for all but the limit.
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

    /// Says how the supervisor is woken to fork servers. Before the first fork.
    pub fn set_wake(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.wake.set(Box::new(wake));
    }

    /// How many there can be: that was decided at the start.
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

    /// Has a server started, where it is not there: `parallel_min_servers`.
    pub fn want(&self, server: u32) {
        if (server as usize) < self.slots.len() {
            self.slot(server).turn_life(Life::Free, Life::Wanted);
        }
    }

    /// The next server that is to be forked. Only the supervisor may ask.
    pub fn take_wanted(&self) -> Option<u32> {
        self.slots.iter().position(|slot| slot.turn_life(Life::Wanted, Life::Starting)).map(|n| n as u32)
    }

    /// Says that servers are forked on request.
    pub fn set_forks(&self) {
        self.control.forks.store(1, Ordering::Relaxed);
    }

    fn forks(&self) -> bool {
        self.control.forks.load(Ordering::Relaxed) != 0
    }

    /// Notes that a server's process has ended, however. Only the supervisor may.
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

    /// A server could not be forked. Only the supervisor may say so.
    pub fn not_forked(&self, all: &process::Processes, server: u32) {
        self.slot(server).set_life(Life::Free, 0);
        self.refuse(all, server);
    }

    /// A server's process is there.
    pub fn attached(&self, p: &Process, server: u32) {
        self.slot(server).set_life(Life::Live, p.number());
        self.control.started.fetch_add(1, Ordering::Relaxed);
    }

    /// Wakes all servers: the instance closes.
    pub fn wake_all(&self, all: &process::Processes) {
        for (life, number) in self.slots.iter().map(Slot::life) {
            if life == Life::Live {
                all.post(number);
            }
        }
    }

    /// The coordinator with that process number is dead, or ends: its servers are abandoned.
    pub fn abandon_all(&self, p: &Process, coordinator: u32) {
        for server in 0..self.slots.len() as u32 {
            let word = self.slot(server).work();
            if word.coordinator == coordinator && word.execution > 0 {
                self.abandon(p, server, coordinator, word.execution);
            }
        }
    }

    /// Takes a server away from its execution.
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
            os::crash::point("px-abandoned");
            if next.state == State::Abandoned {
                let (life, number) = slot.life();
                if life == Life::Live {
                    // It looks at the word where it looks for a break.
                    if let Some(session) = p.all().session(number) {
                        session.ask_to_tell();
                    }
                    p.all().post(number);
                }
            }
            return;
        }
    }

    /// The servers whose processes are there.
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

    /// The figures since the start of the instance.
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

/// Tells the other side that there is something for it, if it waits.
fn wake_if_waiting(all: &process::Processes, waits: &AtomicU32, number: u32) {
    // The store that it waits for came before; the waiter sets the word before it looks once more.
    std::sync::atomic::fence(Ordering::SeqCst);
    if waits.load(Ordering::Relaxed) != 0 {
        waits.store(0, Ordering::Relaxed);
        all.post(number);
    }
}

/// Says that this side waits: to be followed by another look at what it waits for.
fn note_waiting(waits: &AtomicU32) {
    waits.store(1, Ordering::Relaxed);
    std::sync::atomic::fence(Ordering::SeqCst);
}
