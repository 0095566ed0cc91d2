//! All processes of an instance, and the latches of all crates.

use crate::dying::Dying;
use crate::handle::Process;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use latch::{
    Domain, Generation, Latch, LatchCounts, LatchName, LatchShared, LatchSlot, RecordLine, RingHead, Versioned,
};
use sga::{Sga, SgaBuilder, SgaSlice};
use wait::{EventTotals, StatLine, WaitSlot};

use crate::free::FreeSlots;
use crate::pga::{PgaLine, PgaTotals};
use crate::session::{Cancel, SessionSlot};
use crate::slots::{Owner, ProcessSlot, ProcessState};
use crate::undo::UndoLog;

/// The size of the process table.
#[derive(Clone, Copy, Debug)]
pub struct ProcessConfig {
    /// The parameter `processes`: user and background processes together.
    pub processes: u32,
    /// The generation of designs, which latch names and numbers follow.
    pub generation: Generation,
}

/// The places of the areas of processes.
#[derive(Clone, Copy, Debug)]
pub struct ProcessLayout {
    slots: SgaSlice<ProcessSlot>,
    sessions: SgaSlice<SessionSlot>,
    waits: SgaSlice<WaitSlot>,
    totals: SgaSlice<EventTotals>,
    stats: SgaSlice<StatLine>,
    undo: SgaSlice<UndoLog>,
    pga: SgaSlice<PgaLine>,
    pga_all: SgaSlice<PgaTotals>,
    free: SgaSlice<AtomicU64>,
    latch_head: SgaSlice<LatchShared>,
    latch_slots: SgaSlice<LatchSlot>,
    latch_waits: SgaSlice<AtomicU64>,
    parents: SgaSlice<Versioned>,
    folding: SgaSlice<Versioned>,
    recording: Option<(SgaSlice<RingHead>, SgaSlice<RecordLine>)>,
    processes: usize,
    generation: Generation,
}

impl ProcessLayout {
    /// Reserves a ring for recordings for each process, of so many bytes each; without bytes no ring.
    #[must_use]
    pub fn with_recording(self, b: &mut SgaBuilder, bytes: u64) -> Self {
        let lines = bytes as usize / size_of::<RecordLine>();
        if lines == 0 {
            return self;
        }
        let heads = b.reserve("latch recording", self.processes);
        let recording = (heads, b.reserve("latch recording", lines.saturating_mul(self.processes)));
        Self { recording: Some(recording), ..self }
    }

    /// Reserves the areas of processes, sessions, statistics and latches.
    #[must_use]
    pub fn reserve(b: &mut SgaBuilder, config: &ProcessConfig) -> Self {
        let n = config.processes.clamp(2, 60_000) as usize;
        Self {
            slots: b.reserve("processes", n),
            sessions: b.reserve("sessions", n),
            waits: b.reserve("session waits", n),
            // Three more than processes: the totals of ended user sessions, of ended background processes, and of the
            // processes that write the log in place of LGWR.
            totals: b.reserve("event statistics per sess", n + 3),
            stats: b.reserve("sess statistics", n + 3),
            undo: b.reserve("micro-undo logs", n),
            pga: b.reserve("process memory", n),
            pga_all: b.reserve("process memory", 1),
            free: b.reserve("free processes", FreeSlots::words(n)),
            latch_head: b.reserve("latch tunables", 1),
            latch_slots: b.reserve("latch state objects", n),
            latch_waits: b.reserve("latch wait list", n),
            parents: b.reserve("fixed latches", LatchName::COUNT),
            folding: b.reserve("fixed latches", 1),
            recording: None,
            processes: n,
            generation: config.generation,
        }
    }
}

/// The children of a latch, in the form in which their crate keeps them.
#[derive(Clone, Copy, Debug)]
pub enum LatchSet {
    /// A row of latches.
    Plain(&'static [Latch]),
    /// A row of versioned structures.
    Versioned(&'static [Versioned]),
}

impl LatchSet {
    /// The latches.
    pub fn iter(self) -> impl Iterator<Item = &'static Latch> {
        let (plain, versioned): (&[Latch], &[Versioned]) = match self {
            Self::Plain(l) => (l, &[]),
            Self::Versioned(v) => (&[], v),
        };
        plain.iter().chain(versioned.iter().map(Versioned::latch))
    }
}

/// When a hook runs: state objects go children first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CleanupOrder {
    /// Buffer pins and block changes in the middle of being published.
    Pins,
    /// Objects that the session was building for others: result cache objects.
    Builds,
    /// The transaction, rolled back.
    Transaction,
    /// Enqueues: released after the transaction they protect.
    Enqueues,
    /// Cursors, jobs, and the other state of a session.
    Session,
}

/// A function of a crate that runs when a process leaves the instance in order.
#[derive(Clone)]
pub(crate) struct LeaveHook(pub(crate) Arc<dyn Fn(&Process) + Send + Sync>);

impl fmt::Debug for LeaveHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaveHook")
    }
}

type HookFn = Box<dyn Fn(&Process, u32) + Send + Sync>;

/// A function of a crate that runs when a process has died, with PMON's process and the number of the dead one.
pub(crate) struct Hook {
    pub(crate) order: CleanupOrder,
    pub(crate) name: &'static str,
    pub(crate) run: HookFn,
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.order, self.name)
    }
}

/// All processes of an instance. Created once by the supervisor and inherited by every process it forks.
#[derive(Debug)]
pub struct Processes {
    pub(crate) sga: &'static Sga,
    pub(crate) domain: Domain,
    pub(crate) slots: &'static [ProcessSlot],
    pub(crate) sessions: &'static [SessionSlot],
    pub(crate) waits: &'static [WaitSlot],
    pub(crate) totals: &'static [EventTotals],
    pub(crate) stats: &'static [StatLine],
    pub(crate) undo: &'static [UndoLog],
    pub(crate) pga: &'static [PgaLine],
    pub(crate) pga_all: &'static PgaTotals,
    pub(crate) free: FreeSlots,
    parents: &'static [Versioned],
    /// Odd while the totals of a session move to those of ended sessions: readers of both see each count once
    /// (invariant 8).
    pub(crate) folding: &'static Versioned,
    pub(crate) hooks: Mutex<Vec<Arc<Hook>>>,
    pub(crate) leave_hooks: Mutex<Vec<LeaveHook>>,
    /// The dead processes that this process has begun to clean up after.
    pub(crate) dying: Mutex<Vec<Dying>>,
    children: Mutex<Vec<(LatchName, LatchSet)>>,
}

impl Processes {
    /// Formats the areas. Run once, by the supervisor.
    #[must_use]
    pub fn create(sga: &'static Sga, layout: &ProcessLayout) -> &'static Self {
        let domain = Domain::create(
            &sga.slice(layout.latch_head)[0],
            sga.slice(layout.latch_slots),
            sga.slice(layout.latch_waits),
            layout.generation,
        );
        let domain = match layout.recording {
            Some((heads, lines)) => domain.with_rings(sga.slice(heads), sga.slice(lines)),
            None => domain,
        };
        let parents = sga.slice(layout.parents);
        for (parent, name) in parents.iter().zip(LatchName::all()) {
            parent.format(name, 0, layout.generation);
        }
        let folding = &sga.slice(layout.folding)[0];
        folding.format(LatchName::SessionAllocation, 1, layout.generation);
        Box::leak(Box::new(Self {
            sga,
            domain,
            slots: sga.slice(layout.slots),
            sessions: sga.slice(layout.sessions),
            waits: sga.slice(layout.waits),
            totals: sga.slice(layout.totals),
            stats: sga.slice(layout.stats),
            undo: sga.slice(layout.undo),
            pga: sga.slice(layout.pga),
            pga_all: &sga.slice(layout.pga_all)[0],
            free: FreeSlots::create(sga.slice(layout.free), sga.slice(layout.slots).len()),
            parents,
            folding,
            hooks: Mutex::new(Vec::new()),
            leave_hooks: Mutex::new(Vec::new()),
            dying: Mutex::new(Vec::new()),
            children: Mutex::new(Vec::new()),
        }))
    }

    /// The SGA.
    #[must_use]
    pub fn sga(&self) -> &'static Sga {
        self.sga
    }

    /// The domain of its latches: tunables, holders, misses by place.
    #[must_use]
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// The most processes at a time.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The slot of a process; `None` for an unknown number.
    #[must_use]
    pub fn slot(&self, number: u32) -> Option<&'static ProcessSlot> {
        self.slots.get((number as usize).checked_sub(1)?)
    }

    /// The session of a process.
    #[must_use]
    pub fn session(&self, sid: u32) -> Option<&'static SessionSlot> {
        self.sessions.get((sid as usize).checked_sub(1)?)
    }

    /// The live wait of a process.
    #[must_use]
    pub fn wait_slot(&self, number: u32) -> Option<&'static WaitSlot> {
        self.waits.get((number as usize).checked_sub(1)?)
    }

    /// The event totals of a session.
    #[must_use]
    pub fn event_totals(&self, sid: u32) -> Option<&'static EventTotals> {
        self.totals[..self.slots.len()].get((sid as usize).checked_sub(1)?)
    }

    /// The statistics of a session.
    #[must_use]
    pub fn stat_line(&self, sid: u32) -> Option<&'static StatLine> {
        self.stats[..self.slots.len()].get((sid as usize).checked_sub(1)?)
    }

    /// The processes that are not free: their numbers and slots.
    pub fn live(&self) -> impl Iterator<Item = (u32, &'static ProcessSlot)> {
        let numbered = self.slots.iter().enumerate().map(|(n, slot)| (n as u32 + 1, slot));
        numbered.filter(|(_, slot)| slot.state().0 != ProcessState::Free)
    }

    /// The owners of all slots that are not free.
    pub(crate) fn owners(&self) -> impl Iterator<Item = Owner> {
        self.slots.iter().enumerate().filter_map(|(n, slot)| slot.owner(n as u32 + 1))
    }

    /// The owner of a slot; `None` while it is free.
    #[must_use]
    pub fn owner(&self, number: u32) -> Option<Owner> {
        self.slot(number)?.owner(number)
    }

    /// The owner that has this process id of the operating system.
    #[must_use]
    pub fn owner_by_os_pid(&self, os_pid: i32) -> Option<Owner> {
        self.owners().find(|owner| owner.os_pid() == os_pid)
    }

    /// The process that has this process id of the operating system.
    #[must_use]
    pub fn by_os_pid(&self, os_pid: i32) -> Option<u32> {
        self.owner_by_os_pid(os_pid).map(Owner::number)
    }

    /// Makes a slot free for the next process that attaches; `from` is the state that the caller has set.
    pub(crate) fn free_slot(&self, number: u32, from: ProcessState) {
        let n = number as usize - 1;
        if self.slots[n].to(from, ProcessState::Free) {
            self.free.put(n);
        }
    }

    /// Wakes a process that sleeps in [`crate::Process::sleep`].
    pub fn post(&self, number: u32) {
        if let Some(slot) = self.wait_slot(number) {
            slot.post();
        }
    }

    /// Asks a session to stop; the session finds the request at its next [`crate::Process::check_cancel`]. False when
    /// there is no such session.
    pub fn cancel(&self, sid: u32, serial: u64, why: Cancel) -> bool {
        self.cancel_call(sid, serial, why, crate::session::EVERY_CALL)
    }

    /// As [`Self::cancel`], for call number `call` of the session's client only.
    pub fn break_call(&self, sid: u32, serial: u64, call: u64) -> bool {
        self.cancel_call(sid, serial, Cancel::Break, call)
    }

    fn cancel_call(&self, sid: u32, serial: u64, why: Cancel, call: u64) -> bool {
        let live = self.slot(sid).is_some_and(|s| s.state().0 == ProcessState::Active);
        match self.session(sid) {
            Some(session) if live && session.serial() == serial => {
                session.request(why, call);
                self.post(sid);
                true
            }
            _ => false,
        }
    }

    /// The latch of a name without children, or the parent of the children, with its version: for designs that read it
    /// without a get.
    #[inline]
    #[must_use]
    pub fn versioned_latch(&self, name: LatchName) -> &'static Versioned {
        &self.parents[name as usize]
    }

    /// The latch of a name without children, or the parent of the children.
    #[inline]
    #[must_use]
    pub fn latch(&self, name: LatchName) -> &'static Latch {
        self.parents[name as usize].latch()
    }

    /// Registers the children of a latch for the views. The caller has formatted them, numbered from 1.
    ///
    /// # Panics
    /// Another thread panicked under the lock of the list.
    pub fn register_children(&self, name: LatchName, children: LatchSet) {
        self.children.lock().expect("no panic under this lock").push((name, children));
    }

    /// The sets of children of a name.
    ///
    /// # Panics
    /// Another thread panicked under the lock of the list.
    #[must_use]
    pub fn children(&self, name: LatchName) -> Vec<LatchSet> {
        let all = self.children.lock().expect("no panic under this lock");
        let mut sets: Vec<_> = all.iter().filter(|(n, _)| *n == name).map(|(_, set)| *set).collect();
        if name == LatchName::SessionAllocation {
            sets.push(LatchSet::Versioned(std::slice::from_ref(self.folding)));
        }
        sets
    }

    /// The row of `v$latch` for a name: parent, children, and the shared and versioned gets of all processes.
    #[must_use]
    pub fn latch_counts(&self, name: LatchName) -> LatchCounts {
        let children = self.children(name);
        let all = children.iter().flat_map(|set| set.iter());
        self.domain.counts(name, all.chain(std::iter::once(self.latch(name))))
    }
}
