//! Process slots.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sga::{SgaText, sga_struct};

/// The state of a process slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// Nobody has it.
    Free,
    /// A process has taken it and is not ready.
    Starting,
    /// Its process runs.
    Active,
    /// Its process is dead and being cleaned up behind.
    Cleaning,
}

/// What the words `background` say, of a slot and of its session; 0 of a server process.
pub(crate) const BACKGROUND: u32 = 1;
pub(crate) const SLAVE: u32 = 2;

sga_struct! {
    /// One process: a row of `v$process`.
    #[derive(Debug)]
    pub struct ProcessSlot {
        /// The state in bits 0 to 7, the operating system's process id above: they change together.
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

fn pack(state: ProcessState, os_pid: i32) -> u64 {
    u64::from(os_pid.unsigned_abs()) << 8 | state as u64
}

fn unpack(word: u64) -> (ProcessState, i32) {
    let state = match word & 0xff {
        0 => ProcessState::Free,
        1 => ProcessState::Starting,
        2 => ProcessState::Active,
        _ => ProcessState::Cleaning,
    };
    (state, (word >> 8) as i32)
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

    /// True for PMON and its like, not for job slaves, whose sessions are those of users.
    #[must_use]
    pub fn is_background(&self) -> bool {
        self.background.load(Ordering::Relaxed) == BACKGROUND
    }

    /// True for every process with a name of its own: background processes and job slaves.
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
        let to = pack(ProcessState::Starting, os_pid);
        self.state.compare_exchange(0, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Goes from one state to another; false when it was not in the first.
    pub(crate) fn to(&self, from: ProcessState, to: ProcessState) -> bool {
        let now = self.state.load(Ordering::Acquire);
        let (state, os_pid) = unpack(now);
        let next = if to == ProcessState::Free { 0 } else { pack(to, os_pid) };
        state == from && self.state.compare_exchange(now, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}
