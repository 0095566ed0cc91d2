//! Process slots.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sga::{SgaText, sga_struct};

types::numbered! {
    /// The state of a process slot.
    #[derive(Debug, PartialEq, Eq)]
    pub enum ProcessState: u8 {
        /// The slot has no owner.
        Free = 0,
        /// A process has taken it and is not ready yet.
        Starting = 1,
        /// Its process runs.
        Active = 2,
        /// Its process is dead, and PMON cleans up.
        Cleaning = 3,
    }
}

/// The value of the words `background` of a slot and of its session; 0 for a server process.
pub(crate) const BACKGROUND: u32 = 1;
pub(crate) const SLAVE: u32 = 2;

sga_struct! {
    /// One process: a row of `v$process`.
    #[derive(Debug)]
    pub struct ProcessSlot {
        /// The state in bits 0 to 7, the operating system's process id in bits 8 to 39, the count of owners above. They
        /// change together, so two owners never have the same word (invariant 1).
        state: AtomicU64,
        /// Counts the owners of the slot.
        pub(crate) serial: AtomicU64,
        pub(crate) background: AtomicU32,
        pub(crate) pad: AtomicU32,
        pub(crate) started_wall_ns: AtomicU64,
        /// The name of a background process (`PMON`), or of the program.
        pub(crate) name: SgaText<8>,
    }
}

/// One owner of one process slot, as it was read: a change of the slot on its behalf fails once another process has the
/// slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    number: u32,
    word: u64,
}

impl Owner {
    /// The owner of slot `number` with the given [`Owner::word`].
    #[must_use]
    pub fn from_word(number: u32, word: u64) -> Self {
        Self { number, word }
    }

    /// The number of the slot.
    #[must_use]
    pub fn number(self) -> u32 {
        self.number
    }

    /// The slot's word; not 0.
    #[must_use]
    pub fn word(self) -> u64 {
        self.word
    }

    /// The operating system's process id.
    #[must_use]
    pub fn os_pid(self) -> i32 {
        unpack(self.word).1
    }

    pub(crate) fn is_claimed(self) -> bool {
        unpack(self.word).0 == ProcessState::Cleaning
    }
}

const PID_SHIFT: u32 = 8;
const COUNT_SHIFT: u32 = 40;

fn pack(state: ProcessState, os_pid: i32, count: u64) -> u64 {
    count << COUNT_SHIFT | u64::from(os_pid.unsigned_abs()) << PID_SHIFT | state as u64
}

/// The count of owners of the slot, in 24 bits.
fn count_of(word: u64) -> u64 {
    word >> COUNT_SHIFT
}

fn unpack(word: u64) -> (ProcessState, i32) {
    let state = ProcessState::from_code(word as u8).unwrap_or(ProcessState::Cleaning);
    (state, (word >> PID_SHIFT) as i32)
}

impl ProcessSlot {
    /// The state and the operating system's process id (SPID).
    #[must_use]
    pub fn state(&self) -> (ProcessState, i32) {
        unpack(self.state.load(Ordering::Acquire)) // pairs with the Release in `to` and `claim`
    }

    /// The serial number: SERIAL# of `v$process`.
    #[must_use]
    pub fn serial(&self) -> u64 {
        self.serial.load(Ordering::Relaxed)
    }

    /// True for PMON and its like. False for job slaves, whose sessions belong to users.
    #[must_use]
    pub fn is_background(&self) -> bool {
        self.background.load(Ordering::Relaxed) == BACKGROUND
    }

    /// True for every process with its own name: background processes and job slaves.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.background.load(Ordering::Relaxed) != 0
    }

    /// Wall-clock nanoseconds since 1970 when the process attached.
    #[must_use]
    pub fn started_wall_ns(&self) -> u64 {
        self.started_wall_ns.load(Ordering::Relaxed)
    }

    /// The name of a background process, or of the program.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.get()
    }

    /// True while the operating system runs its process.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let (state, os_pid) = self.state();
        matches!(state, ProcessState::Starting | ProcessState::Active) && os::process::is_running(os_pid)
    }

    /// Takes a free slot for a process; false when it is not free.
    pub(crate) fn claim(&self, os_pid: i32) -> bool {
        let now = self.state.load(Ordering::Relaxed);
        let to = pack(ProcessState::Starting, os_pid, count_of(now).wrapping_add(1) & 0xff_ffff);
        let is_free = unpack(now).0 == ProcessState::Free;
        is_free && self.state.compare_exchange(now, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Its owner; `None` while it is free.
    pub(crate) fn owner(&self, number: u32) -> Option<Owner> {
        let word = self.state.load(Ordering::Acquire);
        (unpack(word).0 != ProcessState::Free).then_some(Owner { number, word })
    }

    /// Takes the slot from a dead owner for cleaning; false when it has another owner now, or is being cleaned up
    /// already.
    pub(crate) fn take_from(&self, dead: Owner) -> bool {
        let (state, os_pid) = unpack(dead.word);
        let to = pack(ProcessState::Cleaning, os_pid, count_of(dead.word));
        matches!(state, ProcessState::Starting | ProcessState::Active)
            && self.state.compare_exchange(dead.word, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Goes from one state to another; false when the slot was not in the first.
    pub(crate) fn to(&self, from: ProcessState, to: ProcessState) -> bool {
        let now = self.state.load(Ordering::Acquire);
        let (state, os_pid) = unpack(now);
        let next = pack(to, if to == ProcessState::Free { 0 } else { os_pid }, count_of(now));
        state == from && self.state.compare_exchange(now, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}
