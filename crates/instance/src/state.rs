//! The state of the instance as a whole, in the SGA: its phase, the job slaves, the keys that break calls.

use crate::connection_pool::{ConnectionPool, PoolLayout};
use process::Owner;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Most job slaves an instance can have: the limit of `job_queue_processes`.
pub const SLAVES_MAX: usize = 1000;

/// What the instance is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// Being built; nobody is connected.
    Starting = 0,
    /// Open for everybody.
    Open = 1,
    /// No new sessions or jobs; what runs is ending.
    Closing = 2,
}

/// The states of a job slave's slot.
///
/// | state | set by | next |
/// |---|---|---|
/// | FREE | supervisor, when the slave has ended | WANTED by CJQ0 |
/// | WANTED | CJQ0, with a job | STARTING by the supervisor |
/// | STARTING | supervisor, which forks the slave | RUNNING by the slave |
/// | RUNNING | the slave | IDLE by the slave |
/// | IDLE | the slave | ASSIGNED by CJQ0, with a job; LEAVING by the slave |
/// | ASSIGNED | CJQ0 | RUNNING by the slave |
/// | LEAVING | the slave, which ends | FREE |
mod slave {
    pub const FREE: u32 = 0;
    pub const WANTED: u32 = 1;
    pub const STARTING: u32 = 2;
    pub const RUNNING: u32 = 3;
    pub const IDLE: u32 = 4;
    pub const ASSIGNED: u32 = 5;
    pub const LEAVING: u32 = 6;
}

sga::sga_struct! {
    /// One for the instance.
    struct Fixed {
        phase: AtomicU32,
        supervisor: AtomicU32,
        started_wall_ns: AtomicU64,
        /// The job number given out last.
        last_job: AtomicU64,
        /// Grows when the job queue may have changed.
        job_posts: AtomicU64,
        repository_changes: AtomicU64,
        /// Process slot of CJQ0 + 1; 0 while there is none.
        job_coordinator: AtomicU32,
        /// The same of PMON.
        pmon: AtomicU32,
        /// The same of DBW0.
        writer: AtomicU32,
        /// 1: only users with RESTRICTED SESSION may log on.
        restricted: AtomicU32,
        /// Refused logons that were listed in the alert log, and in the audit trail: the minute in the high half, how
        /// many in the low one.
        refusals: [AtomicU64; 2],
        /// Those that were not.
        unlisted_refusals: [AtomicU64; 2],
        /// Rows of logons and logoffs that could not be written to the audit trail, in the low half; the last error
        /// in the high one.
        lost_audit: AtomicU64,
        /// The wish for the listener: in the lowest byte a [`ListenerWish`] + 1, 0 for nothing, and above it the
        /// wish's number; and what came of the wish of such a number: 0 nothing yet, 1 it was done, 2 it could not be.
        listener_wish: AtomicU32,
        listener_answer: AtomicU32,
        listener_began_wall_ns: AtomicU64,
        /// Connections over the network that were given a server process, and those that were refused one.
        established: AtomicU64,
        refused: AtomicU64,
        /// Server processes that wait for a client.
        spares: AtomicU32,
    }

    /// How long a connection took, in nanoseconds; see [`ConnectTimes`].
    struct Connect {
        /// The serial number of the session it is of.
        serial: AtomicU64,
        times: [AtomicU64; 6],
    }

    /// One for each job slave.
    struct Slave {
        state: AtomicU32,
        /// Process slot of the slave + 1.
        slot: AtomicU32,
        job: AtomicU64,
    }
}

/// How long the parts of a connection took, in nanoseconds, as its server process measured them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectTimes {
    /// From the supervisor's accepting to the first instruction of the new process.
    pub fork_ns: u64,
    /// What the process sets up for itself before it listens to the client.
    pub set_up_ns: u64,
    /// Taking a process slot and making the session.
    pub attach_ns: u64,
    /// Touching every page of the SGA; 0 where that is not asked of processes.
    pub pre_page_ns: u64,
    pub authenticate_ns: u64,
    /// The first call, to its answer; 0 before.
    pub first_call_ns: u64,
}

impl ConnectTimes {
    fn words(self) -> [u64; 6] {
        [self.fork_ns, self.set_up_ns, self.attach_ns, self.pre_page_ns, self.authenticate_ns, self.first_call_ns]
    }
}

/// Where the state lies.
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
    fixed: &'static Fixed,
    slaves: &'static [Slave],
    keys: &'static [AtomicU64],
    flags: &'static [AtomicU64],
    /// The slot's word when its process ended, by slot; 0 for none.
    dead: &'static [AtomicU64],
    /// By slot; written by its process alone.
    connects: &'static [Connect],
    /// By slot: IDLE_TIME in seconds, 0 for none, and whether it has passed. Set by the slot's process; SMON marks the
    /// passing.
    idle_limits: &'static [AtomicU64],
    pool: ConnectionPool,
}

/// In `idle_limits`.
const SNIPED: u64 = 1 << 63;

/// Refused logons that are listed in a minute.
const REFUSALS_LISTED: u64 = 20;

/// What the supervisor is to do with the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerWish {
    Start,
    Stop,
    /// The addresses stay, and everything else begins anew.
    Reload,
}

/// What a slave found when it looked for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    Job(u64),
    None,
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
    /// Formats the areas: all zero is right for all but the time.
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

    /// What the instance is doing.
    pub fn phase(&self) -> Phase {
        match self.fixed.phase.load(Ordering::Acquire) {
            0 => Phase::Starting,
            1 => Phase::Open,
            _ => Phase::Closing,
        }
    }

    /// Sets what the instance is doing. Only the supervisor may.
    pub fn set_phase(&self, phase: Phase) {
        self.fixed.phase.store(phase as u32, Ordering::Release);
    }

    /// When the instance started, in nanoseconds since 1970 UTC.
    pub fn started_wall_ns(&self) -> u64 {
        self.fixed.started_wall_ns.load(Ordering::Relaxed)
    }

    /// Asks something of the supervisor, which is to be woken behind this. Gives the wish's number; `None` while
    /// another one waits.
    pub fn ask_of_listener(&self, wish: ListenerWish) -> Option<u32> {
        let last = self.fixed.listener_wish.load(Ordering::Acquire);
        let number = (last >> 8).wrapping_add(1) & (u32::MAX >> 8);
        let next = number << 8 | (wish as u32 + 1);
        let is_free = last & 0xff == 0;
        let asks = || self.fixed.listener_wish.compare_exchange(last, next, Ordering::AcqRel, Ordering::Relaxed);
        (is_free && asks().is_ok()).then_some(number)
    }

    /// The wish that waits for the supervisor, and its number.
    pub fn take_listener_wish(&self) -> Option<(ListenerWish, u32)> {
        let asked = self.fixed.listener_wish.fetch_and(!0xff, Ordering::AcqRel);
        let wish = match asked & 0xff {
            1 => ListenerWish::Start,
            2 => ListenerWish::Stop,
            3 => ListenerWish::Reload,
            _ => return None,
        };
        Some((wish, asked >> 8))
    }

    /// Answers the wish of a number.
    pub fn answer_listener_wish(&self, number: u32, is_done: bool) {
        self.fixed.listener_answer.store(number << 8 | if is_done { 1 } else { 2 }, Ordering::Release);
    }

    /// Whether the wish of a number, or one behind it, was fulfilled; `None` until it is answered.
    pub fn listener_answer(&self, number: u32) -> Option<bool> {
        let answer = self.fixed.listener_answer.load(Ordering::Acquire);
        let is_behind = (answer >> 8).wrapping_sub(number) & (u32::MAX >> 8) < 1 << 16;
        (answer != 0 && is_behind).then_some(answer & 0xff == 1)
    }

    /// The listener begins now.
    pub fn listener_begins(&self) {
        self.fixed.listener_began_wall_ns.store(os::clock::wall_ns(), Ordering::Relaxed);
    }

    /// When the listener began, in nanoseconds since 1970 UTC.
    pub fn listener_began_wall_ns(&self) -> u64 {
        self.fixed.listener_began_wall_ns.load(Ordering::Relaxed)
    }

    /// Counts a connection that was given a server process, or refused one. Only the listener process does.
    pub fn count_connection(&self, is_established: bool) {
        let counter = if is_established { &self.fixed.established } else { &self.fixed.refused };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// How many connections were given a server process, and how many were refused one.
    pub fn connections(&self) -> (u64, u64) {
        (self.fixed.established.load(Ordering::Relaxed), self.fixed.refused.load(Ordering::Relaxed))
    }

    /// Notes how many server processes wait for a client. Only the supervisor does.
    pub fn set_spares(&self, waiting: usize) {
        self.fixed.spares.store(waiting as u32, Ordering::Relaxed);
    }

    /// How many server processes wait for a client.
    pub fn spares(&self) -> u32 {
        self.fixed.spares.load(Ordering::Relaxed)
    }

    /// The supervisor's process id.
    pub fn supervisor(&self) -> u32 {
        self.fixed.supervisor.load(Ordering::Relaxed)
    }

    /// Notes that a row of the audit trail could not be written, and why.
    pub fn note_lost_audit(&self, code: u32) {
        let _ = self.fixed.lost_audit.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
            Some(u64::from(code) << 32 | (word & 0xFFFF_FFFF).saturating_add(1).min(0xFFFF_FFFF))
        });
    }

    /// How many rows could not be written since this was last asked, and the last error's number.
    pub fn take_lost_audit(&self) -> Option<(u64, u32)> {
        if self.fixed.lost_audit.load(Ordering::Acquire) == 0 {
            return None;
        }
        let word = self.fixed.lost_audit.swap(0, Ordering::AcqRel);
        (word != 0).then_some((word & 0xFFFF_FFFF, (word >> 32) as u32))
    }

    /// Whether only users with RESTRICTED SESSION may log on.
    pub fn is_restricted(&self) -> bool {
        self.fixed.restricted.load(Ordering::Acquire) != 0
    }

    /// Says that it is so from now on, or not any more.
    pub fn set_restricted(&self, restricted: bool) {
        self.fixed.restricted.store(restricted.into(), Ordering::Release);
    }

    /// Sets how long the session in `slot` may be idle, in seconds; 0 for any time.
    pub fn set_idle_limit(&self, slot: usize, seconds: u64) {
        self.idle_limits[slot].store(seconds, Ordering::Release);
    }

    /// How long it may be idle; 0 for any time, and once it was ended for that.
    pub fn idle_limit(&self, slot: usize) -> u64 {
        let word = self.idle_limits.get(slot).map_or(0, |word| word.load(Ordering::Acquire));
        if word & SNIPED != 0 { 0 } else { word }
    }

    /// Says that the session `serial` in `slot` was idle for longer than its `limit`; false where another limit is
    /// there.
    pub fn note_sniped(&self, slot: usize, limit: u64, serial: u64) -> bool {
        let (now, then) = (Ordering::AcqRel, Ordering::Acquire);
        self.idle_limits[slot].compare_exchange(limit, SNIPED | serial, now, then).is_ok()
    }

    /// The session was another one by then: its limit holds.
    pub fn forget_sniped(&self, slot: usize, limit: u64, serial: u64) {
        // A new limit is there already, otherwise.
        let (now, then) = (Ordering::AcqRel, Ordering::Acquire);
        let _ = self.idle_limits[slot].compare_exchange(SNIPED | serial, limit, now, then);
    }

    /// Whether the session `serial` in `slot` was idle for too long.
    pub fn is_sniped(&self, slot: usize, serial: u64) -> bool {
        self.idle_limits.get(slot).is_some_and(|word| word.load(Ordering::Acquire) == SNIPED | serial)
    }

    /// Whether a refused logon is listed by itself in the alert log; else it is counted. `now_s` are seconds since
    /// 1970.
    pub fn may_list_refusal(&self, now_s: u64) -> bool {
        self.may_list(0, now_s)
    }

    /// The same of the audit trail.
    pub fn may_note_refusal(&self, now_s: u64) -> bool {
        self.may_list(1, now_s)
    }

    fn may_list(&self, place: usize, now_s: u64) -> bool {
        let minute = now_s / 60;
        let listed = self.fixed.refusals[place].fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
            match (word >> 32 == minute, word & 0xFFFF_FFFF) {
                (false, _) => Some(minute << 32 | 1),
                (true, count) if count < REFUSALS_LISTED => Some(word + 1),
                (true, _) => None,
            }
        });
        if listed.is_err() {
            self.fixed.unlisted_refusals[place].fetch_add(1, Ordering::AcqRel);
        }
        listed.is_ok()
    }

    /// How many refused logons were not listed in the alert log and in the audit trail, once their minute is over; they
    /// are counted anew then.
    pub fn take_unlisted_refusals(&self, now_s: u64) -> [u64; 2] {
        [0, 1].map(|place: usize| {
            let is_over = self.fixed.refusals[place].load(Ordering::Acquire) >> 32 != now_s / 60;
            if is_over { self.fixed.unlisted_refusals[place].swap(0, Ordering::AcqRel) } else { 0 }
        })
    }

    /// Sets the key that breaks the calls of the process in `slot`; 0 takes it away.
    pub fn set_cancel_key(&self, slot: usize, key: u64) {
        self.keys[slot].store(key, Ordering::Release);
    }

    /// Whether `key` breaks the calls of the process in `slot`.
    pub fn is_cancel_key(&self, slot: usize, key: u64) -> bool {
        key != 0 && self.keys.get(slot).is_some_and(|k| k.load(Ordering::Acquire) == key)
    }

    /// Whether the background process in `slot` is asked to end; see [`State::ask_to_end`].
    pub fn is_asked_to_end(&self, slot: usize) -> bool {
        self.flags[slot].load(Ordering::Acquire) != 0
    }

    /// Asks the background process in `slot` to finish and end, or takes that back for a new owner of the slot.
    pub fn ask_to_end(&self, slot: usize, on: bool) {
        self.flags[slot].store(u64::from(on), Ordering::Release);
    }

    /// Notes that this owner of its slot is dead. Only the supervisor, which has collected the child, may.
    pub fn mark_dead(&self, dead: Owner) {
        self.dead[dead.number() as usize - 1].store(dead.word(), Ordering::Release);
    }

    /// Forgets that this owner of its slot died, unless the next one has died as well by now.
    pub fn clear_dead(&self, dead: Owner) {
        let word = &self.dead[dead.number() as usize - 1];
        let _ = word.compare_exchange(dead.word(), 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// The owners that are dead.
    pub fn dead(&self) -> impl Iterator<Item = Owner> + '_ {
        let word = |(n, w): (usize, &AtomicU64)| Owner::from_word(n as u32 + 1, w.load(Ordering::Acquire));
        self.dead.iter().enumerate().map(word).filter(|owner| owner.word() != 0)
    }

    /// Notes how long the connection of the session with this serial number in `slot` took. Only its process may.
    pub fn note_connect(&self, slot: usize, serial: u64, times: ConnectTimes) {
        let connect = &self.connects[slot];
        // Nobody takes the figures of the slot's last owner for this one's while they change.
        connect.serial.store(0, Ordering::Release);
        for (word, ns) in connect.times.iter().zip(times.words()) {
            word.store(ns, Ordering::Release);
        }
        connect.serial.store(serial, Ordering::Release);
    }

    /// Notes how long its first call took. Only its process may.
    pub fn note_first_call(&self, slot: usize, ns: u64) {
        self.connects[slot].times[5].store(ns.max(1), Ordering::Release);
    }

    /// How long the connection of a session took; `None` for one that was not made through the supervisor.
    pub fn connect_times(&self, slot: usize, serial: u64) -> Option<ConnectTimes> {
        let connect = self.connects.get(slot)?;
        if serial == 0 || connect.serial.load(Ordering::Acquire) != serial {
            return None;
        }
        let at = |n: usize| connect.times[n].load(Ordering::Acquire);
        let times = ConnectTimes {
            fork_ns: at(0),
            set_up_ns: at(1),
            attach_ns: at(2),
            pre_page_ns: at(3),
            authenticate_ns: at(4),
            first_call_ns: at(5),
        };
        (connect.serial.load(Ordering::Acquire) == serial).then_some(times)
    }

    /// Says who cleans up behind dead processes.
    pub fn set_pmon(&self, slot: usize) {
        self.fixed.pmon.store(slot as u32 + 1, Ordering::Release);
    }

    /// The process slot of PMON.
    pub fn pmon(&self) -> Option<usize> {
        (self.fixed.pmon.load(Ordering::Acquire) as usize).checked_sub(1)
    }

    /// Says who writes dirty blocks.
    pub fn set_writer(&self, slot: usize) {
        self.fixed.writer.store(slot as u32 + 1, Ordering::Release);
    }

    /// Nobody writes dirty blocks any more: who needs a free buffer writes for itself.
    pub fn clear_writer(&self) {
        self.fixed.writer.store(0, Ordering::Release);
    }

    /// The process slot of DBW0.
    pub fn writer(&self) -> Option<usize> {
        (self.fixed.writer.load(Ordering::Acquire) as usize).checked_sub(1)
    }

    /// Says who coordinates the job queue, so that posts reach it.
    pub fn set_job_coordinator(&self, slot: Option<usize>) {
        let word = slot.map_or(0, |s| s as u32 + 1);
        self.fixed.job_coordinator.store(word, Ordering::Release);
    }

    /// The process slot of CJQ0.
    pub fn job_coordinator(&self) -> Option<usize> {
        (self.fixed.job_coordinator.load(Ordering::Acquire) as usize).checked_sub(1)
    }

    /// A job number above `taken`, the highest in the table, that no other call got.
    pub fn next_job(&self, taken: u64) -> u64 {
        self.fixed.last_job.fetch_max(taken, Ordering::AcqRel);
        self.fixed.last_job.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The job that the slave in process slot `slot` runs.
    pub fn job_of(&self, slot: usize) -> Option<u64> {
        self.running_jobs().into_iter().find(|(_, s, _)| *s == slot).map(|(_, _, job)| job)
    }

    /// Notes that snapshots are to be taken more often, or kept longer.
    pub fn note_repository_change(&self) {
        self.fixed.repository_changes.fetch_add(1, Ordering::Release);
    }

    /// How often that was noted.
    pub fn repository_changes(&self) -> u64 {
        self.fixed.repository_changes.load(Ordering::Acquire)
    }

    /// Notes that the job queue may have changed.
    pub fn note_job_change(&self) {
        self.fixed.job_posts.fetch_add(1, Ordering::Release);
    }

    /// How often the job queue may have changed.
    pub fn job_changes(&self) -> u64 {
        self.fixed.job_posts.load(Ordering::Acquire)
    }

    /// Whether a slave has this job.
    pub fn has_job(&self, job: u64) -> bool {
        self.slaves.iter().any(|s| {
            let busy = !matches!(s.state.load(Ordering::Acquire), slave::FREE | slave::IDLE | slave::LEAVING);
            busy && s.job.load(Ordering::Relaxed) == job
        })
    }

    /// Gives `job` to an idle slave, or to a new one while fewer than `limit` exist. Only CJQ0 may. Returns the process
    /// slot to post, or that the supervisor must fork a slave; `None` when all slaves are busy.
    pub fn assign(&self, job: u64, limit: usize) -> Option<Assigned> {
        for s in self.slaves {
            if s.state.load(Ordering::Acquire) != slave::IDLE {
                continue;
            }
            // Only this process writes the job of an idle slave; the slave reads it after it has seen ASSIGNED.
            s.job.store(job, Ordering::Relaxed);
            if s.state.compare_exchange(slave::IDLE, slave::ASSIGNED, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                let slot = s.slot.load(Ordering::Relaxed);
                return Some(Assigned::Post((slot as usize).saturating_sub(1)));
            }
        }
        let free = |s: &&Slave| s.state.load(Ordering::Acquire) == slave::FREE;
        let s = self.slaves[..limit.min(SLAVES_MAX)].iter().find(free)?;
        s.job.store(job, Ordering::Relaxed);
        s.slot.store(0, Ordering::Relaxed);
        s.state.store(slave::WANTED, Ordering::Release);
        Some(Assigned::Fork)
    }

    /// The next slave that is to be forked. Only the supervisor may ask.
    pub fn take_wanted_slave(&self) -> Option<u32> {
        let cas = |s: &Slave| {
            s.state.compare_exchange(slave::WANTED, slave::STARTING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.slaves.iter().position(cas).map(|n| n as u32)
    }

    /// Notes that slave `n` has ended, however. Only the supervisor may.
    pub fn slave_ended(&self, n: u32) {
        self.slaves[n as usize].state.store(slave::FREE, Ordering::Release);
    }

    /// What slave `n`, whose process slot is `slot`, is to run now.
    pub fn take_assignment(&self, n: u32, slot: usize) -> Assignment {
        let s = &self.slaves[n as usize];
        s.slot.store(slot as u32 + 1, Ordering::Relaxed);
        match s.state.load(Ordering::Acquire) {
            slave::STARTING | slave::ASSIGNED => {
                let job = s.job.load(Ordering::Relaxed);
                s.state.store(slave::RUNNING, Ordering::Release);
                Assignment::Job(job)
            }
            _ => Assignment::None,
        }
    }

    /// Notes that slave `n` has finished its job and waits for another.
    pub fn slave_idle(&self, n: u32) {
        self.slaves[n as usize].state.store(slave::IDLE, Ordering::Release);
    }

    /// Lets slave `n` end unless it has just got a job.
    pub fn slave_may_leave(&self, n: u32) -> bool {
        let state = &self.slaves[n as usize].state;
        state.compare_exchange(slave::IDLE, slave::LEAVING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The jobs that slaves have: slave number, process slot of the slave and job.
    pub fn running_jobs(&self) -> Vec<(u32, usize, u64)> {
        let running = |(n, s): (usize, &Slave)| {
            let busy = s.state.load(Ordering::Acquire) == slave::RUNNING;
            let slot = (s.slot.load(Ordering::Relaxed) as usize).checked_sub(1)?;
            busy.then(|| (n as u32, slot, s.job.load(Ordering::Relaxed)))
        };
        self.slaves.iter().enumerate().filter_map(running).collect()
    }
}

/// Where a job went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// To the slave in this process slot: post it.
    Post(usize),
    /// To a slave that does not exist yet: wake the supervisor.
    Fork,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let mut builder = SgaBuilder::new();
        let layout = StateLayout::reserve(&mut builder, 4);
        let sga = builder.create(sga::LargePages::False).unwrap();
        State::create(sga, &layout)
    }

    #[test]
    fn a_job_goes_to_one_slave_and_the_slave_lives_on_for_the_next() {
        let s = state();
        assert_eq!(s.assign(7, 1), Some(Assigned::Fork));
        assert!(s.has_job(7));
        assert_eq!(s.assign(8, 1), None);
        assert_eq!(s.take_wanted_slave(), Some(0));
        assert_eq!(s.take_wanted_slave(), None);
        assert_eq!(s.take_assignment(0, 3), Assignment::Job(7));
        assert_eq!(s.running_jobs(), [(0, 3, 7)]);
        s.slave_idle(0);
        assert!(!s.has_job(7));
        assert_eq!(s.assign(8, 1), Some(Assigned::Post(3)));
        assert!(!s.slave_may_leave(0));
        assert_eq!(s.take_assignment(0, 3), Assignment::Job(8));
        s.slave_idle(0);
        assert!(s.slave_may_leave(0));
        assert_eq!(s.take_assignment(0, 3), Assignment::None);
        s.slave_ended(0);
        assert_eq!(s.assign(9, 1), Some(Assigned::Fork));
    }

    #[test]
    fn connect_times_are_those_of_the_session() {
        let s = state();
        assert_eq!(s.connect_times(1, 0), None);
        let times = ConnectTimes {
            fork_ns: 1,
            set_up_ns: 2,
            attach_ns: 3,
            pre_page_ns: 4,
            authenticate_ns: 5,
            first_call_ns: 0,
        };
        s.note_connect(1, 7, times);
        assert_eq!(s.connect_times(1, 7), Some(times));
        s.note_first_call(1, 6);
        assert_eq!(s.connect_times(1, 7), Some(ConnectTimes { first_call_ns: 6, ..times }));
        assert_eq!((s.connect_times(1, 8), s.connect_times(99, 7)), (None, None));
    }

    #[test]
    fn a_million_refused_logons_are_a_few_lines_and_a_count() {
        let state = state();
        let listed = (0..1_000_000).filter(|_| state.may_list_refusal(6_000)).count() as u64;
        assert_eq!((listed, state.take_unlisted_refusals(6_059)), (REFUSALS_LISTED, [0; 2]));
        assert_eq!(state.take_unlisted_refusals(6_060), [1_000_000 - REFUSALS_LISTED, 0]);
        assert_eq!(state.take_unlisted_refusals(6_060), [0; 2]);
        assert!(state.may_list_refusal(6_060));
    }

    #[test]
    fn a_session_that_was_sniped_is_not_found_idle_again() {
        let state = state();
        state.set_idle_limit(1, 60);
        assert_eq!((state.idle_limit(1), state.is_sniped(1, 7)), (60, false));
        assert!(state.note_sniped(1, 60, 7) && !state.note_sniped(1, 60, 7));
        assert_eq!((state.idle_limit(1), state.is_sniped(1, 7)), (0, true));
    }

    #[test]
    fn a_mark_of_a_session_that_has_ended_is_none_of_the_next_one() {
        let state = state();
        // The next one came between the look at the limit and the mark.
        state.set_idle_limit(1, 60);
        assert!(state.note_sniped(1, 60, 7));
        assert!(!state.is_sniped(1, 8));
        state.forget_sniped(1, 60, 7);
        assert_eq!((state.idle_limit(1), state.is_sniped(1, 8), state.is_sniped(1, 7)), (60, false, false));
        // It sets its limit only now.
        assert!(state.note_sniped(1, 60, 7));
        state.set_idle_limit(1, 120);
        state.forget_sniped(1, 60, 7);
        assert_eq!(state.idle_limit(1), 120);
    }

    #[test]
    fn a_cancel_key_is_needed_to_break_a_call() {
        let s = state();
        assert!(!s.is_cancel_key(1, 0));
        s.set_cancel_key(1, 99);
        assert!(s.is_cancel_key(1, 99) && !s.is_cancel_key(1, 98) && !s.is_cancel_key(50, 99));
        s.set_cancel_key(1, 0);
        assert!(!s.is_cancel_key(1, 0));
    }
}
