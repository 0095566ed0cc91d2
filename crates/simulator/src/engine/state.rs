//! The state of sessions, processors and words.

use std::collections::VecDeque;

use crate::design::Design;
use crate::figures::State;
use crate::workload::Cursor;

/// No session, no processor, no word.
pub(crate) const NONE: u32 = u32::MAX;

/// The work of a session, now or when it runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Computes before a get.
    Gap,
    /// Computes after the last hold of a call.
    Tail,
    /// Computes with the word held.
    Hold,
    /// Reads under a version.
    Read,
    /// Waits for the line of a try.
    Try,
    /// Waits for the line of a release.
    Release,
    /// Spins until the word is handed over, or until the limit.
    Spin,
    /// Looks at an odd version until it is even, or until the limit.
    SpinOdd,
    /// Has been chosen; the word is on the way.
    Grant,
    /// Posts a waiter, and goes on with its next get.
    Post,
    /// Yields with an empty run queue, and tries again.
    Yield,
    /// Is being switched to.
    Switch,
    /// In the list of waiters.
    Listed,
    /// Asleep for a time.
    Timer,
    /// Posted, on the way to a processor.
    Waking,
}

impl Phase {
    /// True when a time slice may end in it. Instructions on their way finish first.
    #[inline]
    pub fn is_preemptible(self) -> bool {
        matches!(self, Self::Gap | Self::Tail | Self::Hold | Self::Read | Self::Spin | Self::SpinOdd)
    }

    /// True when it is computing, whose speed depends on the sibling.
    #[inline]
    pub fn is_computing(self) -> bool {
        matches!(self, Self::Gap | Self::Tail | Self::Hold | Self::Read)
    }

    #[inline]
    pub fn state(self) -> State {
        match self {
            Self::Gap | Self::Tail => State::Gap,
            Self::Hold | Self::Read => State::Hold,
            Self::Try | Self::Release | Self::Grant => State::Line,
            Self::Spin | Self::SpinOdd => State::Spin,
            Self::Post | Self::Yield | Self::Switch => State::System,
            Self::Listed | Self::Timer | Self::Waking => State::Asleep,
        }
    }
}

/// Where a session is (S3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Processor,
    Queue,
    Nothing,
}

#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub phase: Phase,
    /// What a switch leads to.
    pub then: Phase,
    pub on: On,
    pub cpu: u32,
    /// End of the phase.
    pub at: u64,
    /// The rest of the phase of a session that is in a run queue: work, or time of the spin.
    pub left: u64,
    /// Speed of its computing phase.
    pub speed: f64,
    pub state: State,
    /// Begin of its state.
    pub since: u64,
    /// Processor time that it has used, and the begin of its run.
    pub used: u64,
    pub ran_since: u64,
    pub cursor: Cursor,
    // The get.
    pub word: u32,
    pub latch: u16,
    pub write: bool,
    /// The copy that a writer of hot copies has come to.
    pub copy: u32,
    pub hold_ps: u64,
    pub missed: bool,
    pub sleeps: u32,
    pub wait_ps: u64,
    /// Begin of the wait.
    pub waits_since: u64,
    /// In the list of the word's waiters.
    pub listed: bool,
    pub posted: bool,
    /// The rest of the spin limit.
    pub spin_left: u64,
    /// Place among the word's spinners.
    pub place: u32,
    /// The version that a read has begun with, and its repeats.
    pub version: u64,
    pub tries: u32,
    /// Counters of its own draws.
    pub winners: u64,
    pub timers: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub running: u32,
    pub queue: VecDeque<u32>,
    pub slice_began: u64,
    /// The first of the queue was woken, and takes the processor of the running one, which runs again after it.
    pub taken: bool,
    pub core: u32,
    pub die: u32,
    pub socket: u32,
    /// Begin of the busy time.
    pub busy_since: u64,
}

/// A word that has been freed and is on its way to a spinner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handover {
    pub winner: u32,
    /// The processor that freed it, and until when that processor still finds it free in its own cache.
    pub from: u32,
    pub until: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub design: Design,
    pub latch: u16,
    /// The line: the processor that wrote it last, and the end of the last request.
    pub owner: u32,
    pub free_at: u64,
    /// The exclusive holder.
    pub holder: u32,
    /// Shared holders.
    pub shared: u32,
    pub blocking: bool,
    pub handover: Option<Handover>,
    pub spinners: Vec<u32>,
    /// In the order of the begin of their waits.
    pub waiters: VecDeque<u32>,
    /// The processor of the last holder that moved the data, and those with a copy.
    pub data_at: u32,
    pub copies: Vec<u64>,
    /// Even while the data are consistent.
    pub version: u64,
    pub waits_even: Vec<u32>,
}

impl Word {
    /// True when nothing keeps an exclusive get out.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.holder == NONE && self.shared == 0 && self.handover.is_none()
    }

    #[inline]
    pub fn has_copy(&self, cpu: u32) -> bool {
        self.copies[cpu as usize / 64] >> (cpu % 64) & 1 == 1
    }

    #[inline]
    pub fn add_copy(&mut self, cpu: u32) {
        self.copies[cpu as usize / 64] |= 1 << (cpu % 64);
    }

    pub fn only_copy(&mut self, cpu: u32) {
        self.copies.fill(0);
        self.add_copy(cpu);
    }
}
