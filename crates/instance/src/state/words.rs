//! The areas of the state, and the words of the instance as a whole.

use crate::connection_pool::{ConnectionPool, PoolLayout};
use process::Owner;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The most DBWn processes of an instance: the limit of `db_writer_processes`.
pub const WRITERS_MAX: usize = 100;

/// The name of writer `n`: DBW0 to DBW9, DBWa to DBWz, BW36 and on.
#[must_use]
pub fn writer_name(n: usize) -> String {
    match n {
        0..10 => format!("DBW{n}"),
        10..36 => format!("DBW{}", char::from(b'a' + (n - 10) as u8)),
        _ => format!("BW{n}"),
    }
}

/// The most job slaves of an instance: the limit of `job_queue_processes`.
pub const SLAVES_MAX: usize = 1000;

/// The number of structures whose designs can be switched.
pub const SWITCHED_MAX: usize = 6;

types::numbered! {
    /// The phase of the instance.
    #[derive(Debug, PartialEq, Eq)]
    pub enum Phase: u32 {
        /// Being built, without connections.
        Starting = 0,
        /// Open for sessions.
        Open = 1,
        /// No new sessions or jobs; sessions and jobs are ending.
        Closing = 2,
    }
}

sga::sga_struct! {
    /// One for the instance.
    pub(super) struct Fixed {
        pub(super) phase: AtomicU32,
        pub(super) supervisor: AtomicU32,
        pub(super) started_wall_ns: AtomicU64,
        /// The job number given out last.
        pub(super) last_job: AtomicU64,
        /// Grows when the job queue may have changed.
        pub(super) job_posts: AtomicU64,
        pub(super) repository_changes: AtomicU64,
        /// Process slot of CJQ0 + 1; 0 while there is none.
        pub(super) job_coordinator: AtomicU32,
        /// 1: the triggers on the start of the instance have been fired.
        pub(super) startup_fired: AtomicU32,
        /// Process slot of PMON + 1; 0 while there is none.
        pub(super) pmon: AtomicU32,
        /// Process slot of each DBWn + 1; 0 while there is none.
        pub(super) writers: [AtomicU32; WRITERS_MAX],
        /// 1: only users with RESTRICTED SESSION may log on.
        pub(super) restricted: AtomicU32,
        /// Refused logons that were listed in the alert log, and in the audit trail: the minute in the high half, their
        /// number in the low half.
        pub(super) refusals: [AtomicU64; 2],
        /// Refused logons that were not listed.
        pub(super) unlisted_refusals: [AtomicU64; 2],
        /// Internal errors that were written to the alert log: the hour in the high half, their number in the low half.
        pub(super) incidents: AtomicU64,
        /// Rows of logons and logoffs that could not be written to the audit trail, in the low half; the last error in
        /// the high half.
        pub(super) lost_audit: AtomicU64,
        /// The request about the listener: in the lowest byte a [`super::ListenerWish`] + 1, or 0 for none, and above
        /// it the request's number. The answer has 1 for a fulfilled request or 2 for a failed one, and above it the
        /// same number.
        pub(super) listener_wish: AtomicU32,
        pub(super) listener_answer: AtomicU32,
        pub(super) listener_began_wall_ns: AtomicU64,
        /// Connections over the network that got a server process, and refused connections.
        pub(super) established: AtomicU64,
        pub(super) refused: AtomicU64,
        /// Server processes that wait for a client.
        pub(super) spares: AtomicU32,
        /// The session whose switches of designs end with it: SID in the high half, SERIAL# in the low half; 0 for
        /// none. Written under the parameter enqueue, like the next two.
        pub(super) design_holder: AtomicU64,
        /// The structures that the session has switched: a bit each.
        pub(super) designs_held: AtomicU64,
        /// For each structure, the design before the session's first switch.
        pub(super) designs_before: [AtomicU64; SWITCHED_MAX],
        /// The session whose recording of latch gets ends with it, as the session above. Written under the parameter
        /// enqueue.
        pub(super) recording_session: AtomicU64,
    }

    /// The times of a connection in nanoseconds; see [`super::ConnectTimes`].
    pub(super) struct Connect {
        /// The serial number of the session; 0 while the times change.
        pub(super) serial: AtomicU64,
        pub(super) times: [AtomicU64; 6],
    }

    /// One for each job slave.
    pub(super) struct Slave {
        pub(super) state: AtomicU32,
        /// Process slot of the slave + 1.
        pub(super) slot: AtomicU32,
        pub(super) job: AtomicU64,
    }
}

/// The areas of the state.
pub struct StateLayout {
    fixed: SgaSlice<Fixed>,
    slaves: SgaSlice<Slave>,
    keys: SgaSlice<AtomicU64>,
    end_flags: SgaSlice<AtomicU64>,
    dead: SgaSlice<AtomicU64>,
    connects: SgaSlice<Connect>,
    idle_limits: SgaSlice<AtomicU64>,
    pool: PoolLayout,
}

/// The state of the instance.
pub struct State {
    pub(super) fixed: &'static Fixed,
    pub(super) slaves: &'static [Slave],
    pub(super) keys: &'static [AtomicU64],
    pub(super) flags: &'static [AtomicU64],
    /// By slot: the owner's word when its process ended; 0 for none.
    pub(super) dead: &'static [AtomicU64],
    /// By slot; written only by the slot's process.
    pub(super) connects: &'static [Connect],
    /// By slot: IDLE_TIME in seconds, 0 for none, or the mark that it has passed. Set by the slot's process; SMON sets
    /// the mark.
    pub(super) idle_limits: &'static [AtomicU64],
    pub(super) pool: ConnectionPool,
}

impl StateLayout {
    /// Reserves the areas; `processes` is the number of process slots.
    pub fn reserve(builder: &mut SgaBuilder, processes: usize) -> StateLayout {
        StateLayout {
            fixed: builder.reserve("instance", 1),
            slaves: builder.reserve("instance", SLAVES_MAX),
            keys: builder.reserve("instance", processes),
            end_flags: builder.reserve("instance", processes),
            dead: builder.reserve("instance", processes),
            connects: builder.reserve("instance", processes),
            idle_limits: builder.reserve("instance", processes),
            pool: PoolLayout::reserve(builder),
        }
    }
}

impl State {
    /// Formats the areas: zeros are right for all words but the start time and the supervisor's process id.
    pub fn create(sga: &'static Sga, layout: &StateLayout) -> State {
        let state = State {
            fixed: &sga.slice(layout.fixed)[0],
            slaves: sga.slice(layout.slaves),
            keys: sga.slice(layout.keys),
            flags: sga.slice(layout.end_flags),
            dead: sga.slice(layout.dead),
            connects: sga.slice(layout.connects),
            idle_limits: sga.slice(layout.idle_limits),
            pool: ConnectionPool::create(sga, &layout.pool),
        };
        state.fixed.started_wall_ns.store(os::clock::wall_ns(), Ordering::Relaxed);
        state.fixed.supervisor.store(os::process::own_id() as u32, Ordering::Relaxed);
        state
    }

    /// The connection pool.
    pub fn pool(&self) -> &ConnectionPool {
        &self.pool
    }

    /// The phase of the instance.
    pub fn phase(&self) -> Phase {
        Phase::from_code(self.fixed.phase.load(Ordering::Acquire)).unwrap_or(Phase::Closing)
    }

    /// Sets the phase of the instance. Only the supervisor may call this.
    pub fn set_phase(&self, phase: Phase) {
        self.fixed.phase.store(phase as u32, Ordering::Release);
    }

    /// True for the first call: the caller fires the triggers on the start of the instance.
    pub fn claim_startup(&self) -> bool {
        self.fixed.startup_fired.swap(1, Ordering::AcqRel) == 0
    }

    /// The start time of the instance, in nanoseconds since 1970 UTC.
    pub fn started_wall_ns(&self) -> u64 {
        self.fixed.started_wall_ns.load(Ordering::Relaxed)
    }

    /// Sets the number of server processes that wait for a client. Only the supervisor calls this.
    pub fn set_spares(&self, waiting: usize) {
        self.fixed.spares.store(waiting as u32, Ordering::Relaxed);
    }

    /// The number of server processes that wait for a client.
    pub fn spares(&self) -> u32 {
        self.fixed.spares.load(Ordering::Relaxed)
    }

    /// The supervisor's process id.
    pub fn supervisor(&self) -> u32 {
        self.fixed.supervisor.load(Ordering::Relaxed)
    }

    /// Whether the background process in `slot` is asked to end; see [`State::ask_to_end`].
    pub fn is_asked_to_end(&self, slot: usize) -> bool {
        self.flags[slot].load(Ordering::Acquire) != 0
    }

    /// Asks the background process in `slot` to finish and end, or takes the request back for a new owner of the slot.
    pub fn ask_to_end(&self, slot: usize, on: bool) {
        self.flags[slot].store(u64::from(on), Ordering::Release);
    }

    /// Notes that the owner of a slot is dead. Only the supervisor, which has collected the child, may call this.
    pub fn mark_dead(&self, dead: Owner) {
        self.dead[dead.number() as usize - 1].store(dead.word(), Ordering::Release);
    }

    /// Forgets the death of the owner of a slot, unless the next owner has died as well by now.
    pub fn clear_dead(&self, dead: Owner) {
        let word = &self.dead[dead.number() as usize - 1];
        let _ = word.compare_exchange(dead.word(), 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// The owners that are dead.
    pub fn dead(&self) -> impl Iterator<Item = Owner> + '_ {
        let word = |(n, w): (usize, &AtomicU64)| Owner::from_word(n as u32 + 1, w.load(Ordering::Acquire));
        self.dead.iter().enumerate().map(word).filter(|owner| owner.word() != 0)
    }

    /// Sets the process slot of PMON.
    pub fn set_pmon(&self, slot: usize) {
        self.fixed.pmon.store(slot as u32 + 1, Ordering::Release);
    }

    /// The process slot of PMON.
    pub fn pmon(&self) -> Option<usize> {
        (self.fixed.pmon.load(Ordering::Acquire) as usize).checked_sub(1)
    }

    /// Sets the process slot of DBWn number `n`.
    pub fn set_writer(&self, n: usize, slot: usize) {
        self.fixed.writers[n].store(slot as u32 + 1, Ordering::Release);
    }

    /// Notes that all DBWn have ended: a process that needs a free buffer then writes dirty blocks itself.
    pub fn clear_writers(&self) {
        self.fixed.writers.iter().for_each(|w| w.store(0, Ordering::Release));
    }

    /// The process slot of DBWn number `n`.
    pub fn writer(&self, n: usize) -> Option<usize> {
        (self.fixed.writers.get(n)?.load(Ordering::Acquire) as usize).checked_sub(1)
    }

    /// Notes a change of the settings of snapshots.
    pub fn note_repository_change(&self) {
        self.fixed.repository_changes.fetch_add(1, Ordering::Release);
    }

    /// The number of changes noted by [`Self::note_repository_change`].
    pub fn repository_changes(&self) -> u64 {
        self.fixed.repository_changes.load(Ordering::Acquire)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The state of an instance with four process slots.
    pub(crate) fn state() -> State {
        let mut builder = SgaBuilder::new();
        let layout = StateLayout::reserve(&mut builder, 4);
        let sga = builder.create(sga::LargePages::False).unwrap();
        State::create(sga, &layout)
    }

    #[test]
    fn writers_are_named_as_oracle_names_them() {
        let names = [0, 9, 10, 35, 36, 99].map(writer_name);
        assert_eq!(names, ["DBW0", "DBW9", "DBWa", "DBWz", "BW36", "BW99"]);
    }
}
