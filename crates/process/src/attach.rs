//! Joining and leaving the instance.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use latch::{Client, LatchName, Where};
use types::{Ora, Result};
use wait::{Event, EventTotals, Stat, StatLine, Waiter};

use crate::slots::{BACKGROUND, ProcessState, SLAVE};
use crate::{Process, Processes, SessionStatus};

/// The identity of the process that attaches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attach<'a> {
    /// The name of a background process (`PMON`) or job slave; `None` for a server process.
    pub background: Option<&'a str>,
    /// A job slave: its session belongs to a user.
    pub is_slave: bool,
    /// PROGRAM.
    pub program: &'a str,
    /// OSUSER.
    pub os_user: &'a str,
    /// MACHINE.
    pub machine: &'a str,
    /// TERMINAL.
    pub terminal: &'a str,
    /// PROCESS: the client's process id.
    pub client_process: &'a str,
    /// Only the first `within` slots may be taken; `None`: any slot. The others are reserved for other processes.
    pub within: Option<usize>,
}

impl Processes {
    /// Makes the calling process a process of the instance, in the lowest free slot, with a session. The cost does not
    /// depend on the number of slots, unless all are taken.
    ///
    /// Latches: none held on entry or return; gets `process allocation` and `session allocation`.
    /// # Errors
    /// ORA-00020 when all slots that `who` may take are taken.
    pub fn attach(&'static self, who: &Attach<'_>) -> Result<Process> {
        let os_pid = os::process::own_id();
        let within = who.within.unwrap_or(self.slots.len()).min(self.slots.len());
        let claim = |n: usize| self.slots[n].claim(os_pid);
        let free = self.free.take(within, claim, |n| self.slots[n].state().0 == ProcessState::Free);
        // The bit may have been lost with a process that was killed: see `free`.
        let n = free.or_else(|| (0..within).find(|n| claim(*n))).ok_or_else(|| Ora::with(20, &[&within]))?;
        let waiter = Waiter { slot: &self.waits[n], totals: &self.totals[n] };
        waiter.slot.reset();
        let process = Process {
            all: self,
            number: n as u32 + 1,
            client: Client::join(self.domain, n as u32 + 1, waiter),
            stats: &self.stats[n],
            session: &self.sessions[n],
            undo: &self.undo[n],
            section_ids: Cell::new(0),
            cleaning: Cell::new(false),
            depth: Cell::new(0),
            looked: Cell::new(0),
            parsing: Cell::new(false),
            parse_began: Cell::new(None),
            cpu_noted: Cell::default(),
            timed: Cell::new(true),
            patience: Cell::new(0),
            peak: Cell::new(0),
            unbroken: Cell::new(0),
            usage: crate::limits::Usage::default(),
        };
        let _ = os::cpu::join_barriers();
        process.start(who);
        Ok(process)
    }
}

impl Process {
    fn start(&self, who: &Attach<'_>) {
        let (slot, session) = (self.slot(), self.session());
        let kind = match who.background {
            None => 0,
            Some(_) if who.is_slave => SLAVE,
            Some(_) => BACKGROUND,
        };
        {
            let section = self.lock(self.all.latch(LatchName::ProcessAllocation), Where::KsuAllocateProcess, 0);
            section.add(&slot.serial, 1);
        }
        slot.background.store(kind, Ordering::Relaxed);
        slot.started_wall_ns.store(os::clock::wall_ns(), Ordering::Relaxed);
        slot.name.set(who.background.unwrap_or(who.program));
        session.reset();
        {
            let section = self.lock(self.all.latch(LatchName::SessionAllocation), Where::KsuCreateSession, 0);
            section.add(&session.serial, 1);
        }
        session.background.store(kind, Ordering::Relaxed);
        session.logon_wall_ns.store(os::clock::wall_ns(), Ordering::Relaxed);
        for (text, value) in
            [(&session.os_user, who.os_user), (&session.machine, who.machine), (&session.program, who.program)]
        {
            text.set(value);
        }
        session.terminal.set(who.terminal);
        session.client_process.set(who.client_process);
        session.username.set("");
        session.schema_name.set("");
        self.watch_heap();
        session.set_status(SessionStatus::Active);
        slot.to(ProcessState::Starting, ProcessState::Active);
        // Waits that a process had in its previous sessions are already charged to those.
        let now = os::clock::now_ns();
        self.latches().waiter().slot.begin_session(now);
        self.stats.begin(now, os::clock::own_cpu_ns(), who.background.is_none());
        self.count(Stat::LogonsCumulative, 1);
        self.count(Stat::LogonsCurrent, 1);
    }

    /// Leaves the instance: the same as dropping.
    pub fn detach(self) {}
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.slot().state().1 != os::process::own_id() {
            return; // the copy that a forked child inherited: the process still runs in the parent
        }
        if std::thread::panicking() {
            return; // A panic is a death (invariant 6): PMON releases the session's resources.
        }
        // A session with one call has it whole.
        self.client.end_call();
        self.all.leave(self);
        self.end_heap_watch();
        self.count(Stat::UserLogoutsCumulative, 1);
        self.stats.clear_current();
        self.all.fold(self, self.number);
        self.all.free_slot(self.number, ProcessState::Active);
    }
}

impl Processes {
    /// Moves the statistics of a session to the totals of ended sessions. `by` may be the session's own process.
    ///
    /// Each count moves in one atomic step, so after a kill here it has moved once or not at all.
    pub(crate) fn fold(&self, by: &Process, sid: u32) {
        let n = sid as usize - 1;
        let dead = self.gone(self.slots[n].is_background());
        let section = by.write_versioned(self.folding, Where::KsuFoldStatistics, u64::from(sid));
        // Read inside the section, so that no reader has seen a later value of them.
        let times = self.times_untold(sid);
        let (own, all): (&StatLine, &StatLine) = (&self.stats[n], &self.stats[dead]);
        for (from, to) in own.words().iter().zip(all.words()) {
            let value = from.load(Ordering::Relaxed);
            if value != 0 {
                section.add(to, value);
                section.set(from, 0);
                section.checkpoint();
            }
        }
        // The times not yet in the line and the session's beginning move in one step.
        section.set(own.began_word(), 0);
        for (us, to) in times.iter().zip(all.time_words()) {
            section.add(to, *us);
        }
        section.checkpoint();
        for (from, to) in own.time_words().iter().zip(all.time_words()) {
            section.add(to, from.load(Ordering::Relaxed));
            section.set(from, 0);
            section.checkpoint();
        }
        let (own, all): (&EventTotals, &EventTotals) = (&self.totals[n], &self.totals[dead]);
        for event in Event::all().filter(|e| own.of(*e).waits() != 0) {
            let (from, to) = (own.of(event), all.of(event));
            for (from, to) in from.sums().zip(to.sums()).filter(|(from, _)| from.load(Ordering::Relaxed) != 0) {
                section.add(to, from.load(Ordering::Relaxed));
                section.set(from, 0);
            }
            section.set(to.max_word(), to.max_us().max(from.max_us()));
            section.set(from.max_word(), 0);
            section.checkpoint();
        }
    }
}
