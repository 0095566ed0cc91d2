//! The words of the servers in shared memory.
//!
//! | word of a server | values | written by |
//! |---|---|---|
//! | life | free, wanted, starting, live | coordinator (free to wanted), supervisor, the server (starting to live) |
//! | work | free, preparing, taken, abandoned, died, refused, leaving; execution and coordinator | all, by exchange |
//! | granule | the next granule of the execution, in the first server of a team for all of it | the team's servers |
//!
//! Every change of a work word is a compare-and-exchange from exactly the value that was read. Each execution has its
//! own number, so a late change on behalf of an earlier execution fails (X1).

use sga::{SgaBuilder, SgaSlice, sga_struct};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Most servers of an instance: their names are P000 to P999.
pub const SERVERS_MAX: usize = 1000;

/// Words of the rings to and from a server: 8 KB and 64 KB.
pub const WORDS_TO: usize = 1 << 10;
pub const WORDS_FROM: usize = 1 << 13;

/// Most granules of an execution.
pub const GRANULES_MAX: u64 = (1 << 24) - 1;

/// Bits for the number of an execution.
pub const EXECUTION: u64 = (1 << 40) - 1;

sga_struct! {
    pub struct Control {
        /// The number of the last execution.
        pub executions: AtomicU64,
        /// `parallel_max_servers`, limited to the number of slots.
        pub limit: AtomicU64,
        /// 1: a supervisor forks servers on request.
        pub forks: AtomicU64,
        pub started: AtomicU64,
        pub ended: AtomicU64,
        pub cleaned: AtomicU64,
        pub highwater: AtomicU64,
        /// Totals of servers given to teams, and of teams.
        pub sessions: AtomicU64,
        pub teams: AtomicU64,
    }

    pub struct Slot {
        /// The state in the low byte, the process number above.
        pub life: AtomicU64,
        /// The state in bits 0 to 3, the process number of the coordinator in bits 4 to 23, the execution above.
        pub work: AtomicU64,
        /// The execution, and in the low 24 bits the next granule (X4).
        pub granule: AtomicU64,
        /// Degree, requested degree and position in the team, 16 bits each.
        pub about: AtomicU64,
        /// Flags: the server waits for room or a message; the coordinator waits for a message of this server (X7).
        pub waits: [AtomicU32; 2],
        /// Messages sent and received.
        pub messages: [AtomicU64; 2],
        /// The last execution that the server ended itself.
        pub done: AtomicU64,
        pad: [AtomicU64; 8],
        /// Words read and written, to and from the server; each pair in one cache line.
        pub to_read: AtomicU64,
        pad_1: [AtomicU64; 7],
        pub to_written: AtomicU64,
        pad_2: [AtomicU64; 7],
        pub from_read: AtomicU64,
        pad_3: [AtomicU64; 7],
        pub from_written: AtomicU64,
        pad_4: [AtomicU64; 7],
    }
}

/// Positions in `Slot::waits`.
pub const SERVER: usize = 0;
pub const COORDINATOR: usize = 1;

/// The states of a server's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Free,
    Wanted,
    Starting,
    Live,
}

/// The states of a server's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
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
pub struct Word {
    pub state: State,
    pub coordinator: u32,
    pub execution: u64,
}

impl Word {
    pub const NOBODYS: Word = Word { state: State::Nobodys, coordinator: 0, execution: 0 };

    pub fn pack(self) -> u64 {
        self.execution << 24 | u64::from(self.coordinator & 0xf_ffff) << 4 | self.state as u64
    }

    pub fn unpack(word: u64) -> Word {
        use State::*;
        let states = [Nobodys, Preparing, Taken, Abandoned, Died, Refused, Leaving];
        let state = states.get((word & 0xf) as usize).copied().unwrap_or(Leaving);
        Word { state, coordinator: (word >> 4 & 0xf_ffff) as u32, execution: word >> 24 }
    }

    pub fn is(self, state: State) -> Word {
        Word { state, ..self }
    }
}

impl Slot {
    pub fn life(&self) -> (Life, u32) {
        let word = self.life.load(Ordering::SeqCst);
        let life = match word & 0xff {
            0 => Life::Free,
            1 => Life::Wanted,
            2 => Life::Starting,
            _ => Life::Live,
        };
        (life, (word >> 8) as u32)
    }

    pub fn set_life(&self, life: Life, number: u32) {
        self.life.store(u64::from(number) << 8 | life as u64, Ordering::SeqCst);
    }

    /// Changes one state without a process to another; false if the state was different.
    pub fn turn_life(&self, from: Life, to: Life) -> bool {
        self.life.compare_exchange(from as u64, to as u64, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    pub fn work(&self) -> Word {
        Word::unpack(self.work.load(Ordering::SeqCst))
    }

    pub fn turn_work(&self, from: Word, to: Word) -> bool {
        self.work.compare_exchange(from.pack(), to.pack(), Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// The areas of the servers.
pub struct Layout {
    pub control: SgaSlice<Control>,
    pub slots: SgaSlice<Slot>,
    pub words: SgaSlice<AtomicU64>,
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

/// Interval at which a sleeping side checks again by itself (X7).
pub const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Wakes the other side if it waits.
pub fn wake_if_waiting(all: &process::Processes, waits: &AtomicU32, number: u32) {
    // The store that it waits for precedes this fence; the waiter sets its flag before its last check.
    std::sync::atomic::fence(Ordering::SeqCst);
    if waits.load(Ordering::Relaxed) != 0 {
        waits.store(0, Ordering::Relaxed);
        all.post(number);
    }
}

/// Sets the waiting flag of this side; another check of the condition must follow.
pub fn note_waiting(waits: &AtomicU32) {
    waits.store(1, Ordering::Relaxed);
    std::sync::atomic::fence(Ordering::SeqCst);
}
