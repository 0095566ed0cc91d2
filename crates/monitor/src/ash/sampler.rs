//! The sampler: it looks at all sessions and notes the activity of the active ones.
//!
//! A session is looked at twice around what is read of it: when its wait has changed meanwhile it is looked at again, a
//! few times. What it was waiting for is known at once, how long the wait took only when it has ended; so the sampler
//! looks back at the waits it has seen, at times that grow like powers of two. A session remembers its last ten waits,
//! so that waits of one length are caught whatever that is; one that is not is left unknown.

use super::schedule::Schedule;
use datafile::DataFiles;
use instance::Instance;
use instance::ash::{KEPT_ONE_IN, Sample, Text, bit, is_on};
use library_cache::SessionCursor;
use params::Param;
use process::{Process, ProcessState, Processes, SessionSlot, SessionStatus};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use types::Rdba;
use wait::{Event, Stat, TimeStat, WaitClass, WaitState, WaitView};

/// How often the parameters are looked at while nothing is sampled, and the longest time between two rounds.
const IDLE: Duration = Duration::from_secs(1);

/// The first look back at waits after a sample; each further one takes twice as long.
const FIRST_LOOK_NS: u64 = 500_000;

/// The number of looks at a session whose wait changes meanwhile.
const TRIES: usize = 3;

/// COMMAND of a block, and of CALL.
const PLSQL: u64 = 47;
const CALL: u64 = 170;

/// A wait that samples saw and that had not ended when it was last looked at. How long it took is noted in the last of
/// them, and zero in the others, so that the sum is what was waited.
#[derive(Clone, Copy, Debug)]
struct Pending {
    sid: u32,
    serial: u64,
    sequence: u64,
    row: u64,
    /// The block whose object is to be noted.
    block: Option<Rdba>,
}

/// Totals of a session when it was sampled last.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    serial: u64,
    at_ns: u64,
    /// DB time and processor time in microseconds; read and write calls, their bytes.
    figures: [u64; 6],
}

/// The state of MMNL between two rounds.
#[derive(Debug, Default)]
pub struct Sampler {
    schedule: Schedule,
    look_ns: u64,
    pending: Vec<Pending>,
    seen: HashMap<u32, Totals>,
}

/// The values that are equal for all sessions of a moment.
struct Moment<'a> {
    instance: &'a Instance,
    all: &'static Processes,
    template: Sample,
    wall_ns: u64,
    coarse_ns: u64,
}

impl Sampler {
    /// Begins, perhaps behind a sampler that was killed: the waits that it saw last are looked back at.
    pub fn new(instance: &Instance) -> Sampler {
        let ash = instance.ash();
        let mut pending = Vec::new();
        let last = ash.samples().next().map(|s| s.sample_id);
        for row in ash.shown().rev() {
            let Some(s) = ash.sample(row).filter(|s| Some(s.sample_id) == last) else { break };
            if s.is(bit::WAITING) && s.waited_us == 0 {
                let (sid, serial, sequence) = (s.sid as u32, s.serial, s.sequence);
                pending.push(Pending { sid, serial, sequence, row, block: None });
            }
        }
        Sampler { pending, ..Sampler::default() }
    }

    /// Does the work that is due, and returns the time until the next work is due.
    pub fn round(&mut self, instance: &Instance, p: &Process) -> Duration {
        if !is_on(instance.params()) {
            *self = Sampler::default();
            return IDLE;
        }
        let now = os::clock::now_ns();
        let interval = interval_ns(instance);
        if let Some(stands_ns) = self.schedule.take(now, interval) {
            self.sample(instance, p, stands_ns / 1000);
            self.look_ns = FIRST_LOOK_NS;
        }
        self.look_back(instance);
        let left = Duration::from_nanos(self.schedule.left(os::clock::now_ns())).min(IDLE);
        if self.pending.is_empty() {
            return left;
        }
        let look = Duration::from_nanos(self.look_ns.max(FIRST_LOOK_NS));
        self.look_ns = self.look_ns.saturating_mul(2);
        left.min(look)
    }

    /// Looks at all sessions but its own, for a sample that stands for `interval_us`.
    fn sample(&mut self, instance: &Instance, p: &Process, interval_us: u64) {
        let (began, ash) = (os::clock::now_ns(), instance.ash());
        let (id, wall_ns) = (ash.next_id(), os::clock::wall_ns());
        let kept = if id.is_multiple_of(KEPT_ONE_IN) { bit::KEPT } else { 0 };
        let moment = Moment {
            instance,
            all: instance.processes(),
            template: Sample::at(id, wall_ns, interval_us, kept),
            wall_ns,
            coarse_ns: os::clock::coarse_ns(),
        };
        let (mut rows, first_pending) = (0, self.pending.len());
        for (sid, _) in moment.all.live().filter(|(sid, _)| *sid != p.sid()) {
            let Some(mut sample) = moment.look_at(sid) else { continue };
            self.add_deltas(&moment, sid, &mut sample);
            ash.put(rows, &sample);
            if sample.is(bit::WAITING) {
                let block = (sample.object == 0 && sample.is(bit::BLOCK)).then_some(Rdba(sample.block as u32));
                let (serial, sequence) = (sample.serial, sample.sequence);
                self.pending.push(Pending { sid, serial, sequence, row: rows, block });
            }
            rows += 1;
        }
        let first = ash.show(id, wall_ns, rows, (os::clock::now_ns() - began) / 1000);
        let mut new = self.pending.split_off(first_pending);
        for pending in &mut new {
            pending.row += first;
            // If the wait goes on, its time will be noted in this sample.
            let is_it = |p: &Pending| (p.sid, p.serial, p.sequence) == (pending.sid, pending.serial, pending.sequence);
            if let Some(at) = self.pending.iter().position(is_it) {
                ash.note_waited(self.pending.swap_remove(at).row, 0);
            }
        }
        self.pending.append(&mut new);
        self.seen.retain(|sid, totals| moment.all.session(*sid).is_some_and(|s| s.serial() == totals.serial));
    }

    /// Notes of the waits that have ended how long they took.
    fn look_back(&mut self, instance: &Instance) {
        let all = instance.processes();
        self.pending.retain_mut(|pending| {
            if let Some(object) = pending.block.and_then(|at| instance.storage().cache.object_of(at)) {
                instance.ash().note_object(pending.row, object.0.into());
                pending.block = None;
            }
            let (Some(session), Some(slot)) = (all.session(pending.sid), all.wait_slot(pending.sid)) else {
                return false;
            };
            let Some(now) = slot.view(os::clock::now_ns()) else { return true };
            if session.serial() != pending.serial || now.sequence < pending.sequence {
                return false;
            }
            if now.sequence == pending.sequence && now.state == WaitState::Waiting {
                return true;
            }
            if let Some(us) = slot.waited_us(pending.sequence)
                && session.serial() == pending.serial
            {
                instance.ash().note_waited(pending.row, us);
            }
            false
        });
    }

    /// Adds the work of the session since its previous sample.
    fn add_deltas(&mut self, moment: &Moment<'_>, sid: u32, s: &mut Sample) {
        let (Some(times), Some(line)) = (moment.all.session_times(sid), moment.all.stat_line(sid)) else { return };
        let (busy, cpu) = match s.is(bit::BACKGROUND) {
            true => (TimeStat::BackgroundElapsed, TimeStat::BackgroundCpu),
            false => (TimeStat::DbTime, TimeStat::DbCpu),
        };
        let stats = [
            Stat::PhysicalReadTotalIoRequests,
            Stat::PhysicalWriteTotalIoRequests,
            Stat::PhysicalReadTotalBytes,
            Stat::PhysicalWriteTotalBytes,
        ];
        let [reads, writes, read_bytes, write_bytes] = stats.map(|stat| line.get(stat));
        let figures = [times[busy as usize], times[cpu as usize], reads, writes, read_bytes, write_bytes];
        let now = Totals { serial: s.serial, at_ns: os::clock::now_ns(), figures };
        let before = self.seen.insert(sid, now).filter(|before| before.serial == s.serial);
        if let Some(before) = before {
            let added = |n: usize| now.figures[n].saturating_sub(before.figures[n]);
            s.flags |= bit::DELTAS;
            s.delta_us = now.at_ns.saturating_sub(before.at_ns) / 1000;
            (s.delta_db_us, s.delta_cpu_us) = (added(0), added(1));
            (s.delta_reads, s.delta_writes) = (added(2), added(3));
            (s.delta_read_bytes, s.delta_write_bytes) = (added(4), added(5));
        }
    }
}

fn interval_ns(instance: &Instance) -> u64 {
    instance.params().number(Param::AshSamplingInterval).max(1) as u64 * 1_000_000
}

fn is_waiting(wait: Option<&WaitView>) -> bool {
    wait.is_some_and(|w| w.state == WaitState::Waiting)
}

impl Moment<'_> {
    /// The sample of a session; `None` of one that is idle, has gone or is not ready.
    fn look_at(&self, sid: u32) -> Option<Sample> {
        let (session, slot) = (self.all.session(sid)?, self.all.slot(sid)?);
        let waits = self.all.wait_slot(sid)?;
        let mut best = None;
        for _ in 0..TRIES {
            let (state, serial) = (slot.state(), session.serial());
            let wait = waits.view(os::clock::now_ns());
            let is_idle = is_waiting(wait.as_ref()) && wait.is_some_and(|w| w.event.class() == WaitClass::Idle);
            if state.0 != ProcessState::Active || is_idle {
                return None;
            }
            let sample = self.describe(sid, session, wait.as_ref());
            if slot.state() != state || session.serial() != serial {
                return None;
            }
            best = Some(sample);
            let after = waits.view(os::clock::now_ns());
            let key = |w: Option<WaitView>| w.map(|w| (w.sequence, w.state == WaitState::Waiting));
            if key(after) == key(wait) {
                break;
            }
        }
        best
    }

    fn describe(&self, sid: u32, session: &SessionSlot, wait: Option<&WaitView>) -> Sample {
        let mut s = self.template;
        s.sid = sid.into();
        s.serial = session.serial();
        s.user = session.user.load(Relaxed).into();
        if session.is_background() {
            s.flags |= bit::BACKGROUND;
        }
        s.top_opcode = session.command.load(Relaxed).into();
        self.describe_statement(sid, session, &mut s);
        let [entry, subprogram] = [0, 1].map(|n: usize| session.subprograms[n].load(Relaxed));
        (s.entry, s.subprogram) = (entry, if s.is(bit::SQL) { 0 } else { subprogram });
        self.describe_activity(sid, &mut s);
        if let Some(wait) = wait {
            self.describe_wait(sid, session, wait, &mut s);
        }
        if session.transaction.load(Relaxed) != 0 {
            // Of the transactions of a session that has autonomous ones it is the one that goes on.
            let address = session.transaction.load(Relaxed);
            let open = self.instance.storage().txns.transactions().into_iter().find(|x| x.address == address);
            s.transaction = open.map_or(0, |x| x.xid.to_bits() + 1);
        }
        for (which, text) in [
            (Text::Program, &session.program),
            (Text::Module, &session.module),
            (Text::Action, &session.action),
            (Text::ClientId, &session.client_identifier),
            (Text::Machine, &session.machine),
        ] {
            s.set_text(which, &text.get());
        }
        s
    }

    fn describe_statement(&self, sid: u32, session: &SessionSlot, s: &mut Sample) {
        let library = self.instance.caches().library;
        let in_call = session.is_background() || session.status() == SessionStatus::Active;
        let now = library.session_cursors(sid).0.filter(|_| in_call);
        let Some(cursor) = now else {
            // A statement without a cursor is known by its kind only.
            s.opcode = s.top_opcode;
            if matches!(s.opcode, PLSQL | CALL) && in_call {
                s.flags |= bit::PLSQL;
            }
            return;
        };
        s.flags |= if matches!(cursor.command, PLSQL | CALL) { bit::PLSQL } else { bit::SQL };
        (s.sql, s.child, s.opcode) = (cursor.digest.value(), cursor.child, cursor.command);
        if let Some(hash) = library.plan_hash(&cursor) {
            s.plan_hash = hash.into();
            s.flags |= bit::PLAN;
        }
        let [number, began_ns] = cursor.execution;
        if number != 0 {
            s.execution = number;
            s.execution_wall_ns = self.wall_ns.saturating_sub(self.coarse_ns.saturating_sub(began_ns));
        }
        s.top_sql = match library.top_cursor(sid).filter(|top| top.command == s.top_opcode) {
            Some(top) => top.digest.value(),
            None => only(&library.executing(sid), &cursor),
        };
    }

    /// Logon and parsing.
    fn describe_activity(&self, sid: u32, s: &mut Sample) {
        let Some(line) = self.all.stat_line(sid) else { return };
        s.flags |= match line.parsing() {
            0 => 0,
            1 => bit::PARSE,
            _ => bit::PARSE | bit::HARD_PARSE,
        };
        if line.is_logging_on() {
            s.flags |= bit::CONNECTION;
        }
    }

    fn describe_wait(&self, sid: u32, session: &SessionSlot, wait: &WaitView, s: &mut Sample) {
        s.flags |= bit::HAS_WAIT;
        (s.event, s.sequence) = (wait.event as u64, wait.sequence);
        [s.p1, s.p2, s.p3] = wait.p;
        if wait.state != WaitState::Waiting {
            s.wait_us = wait.wait_us;
            return;
        }
        s.flags |= bit::WAITING;
        let cache = self.instance.storage().cache;
        let mut buffer = None;
        let row_object = session.row_wait_object.load(Relaxed);
        if row_object != 0 {
            s.flags |= bit::BLOCK | bit::ROW;
            (s.object, s.block) = (row_object, session.row_wait_block.load(Relaxed));
            s.row = session.row_wait_row.load(Relaxed);
        } else if let Some(at) = block_of(self.instance.storage().cache.files(), wait) {
            s.flags |= bit::BLOCK;
            s.block = at.0.into();
            s.object = cache.object_of(at).map_or(0, |object| object.0.into());
            buffer = Some(at);
        }
        let blocker = self.blocker_of(sid, session, wait, buffer);
        if let Some(other) = blocker.and_then(|sid| self.all.session(sid)) {
            (s.blocker, s.blocker_serial) = (blocker.unwrap_or(0).into(), other.serial());
        }
    }

    /// The session that holds the resource, where that is known.
    fn blocker_of(&self, sid: u32, session: &SessionSlot, wait: &WaitView, buffer: Option<Rdba>) -> Option<u32> {
        let found = match wait.event {
            _ if session.blocking_session.load(Relaxed) != 0 => session.blocking_session.load(Relaxed) as u32,
            Event::CursorPinSWaitOnX | Event::CursorPinX | Event::CursorMutexX | Event::CursorMutexS => {
                (wait.p[1] >> 32) as u32
            }
            Event::LibraryCacheMutexX | Event::LibraryCacheMutexS => (wait.p[1] >> 32) as u32,
            _ if buffer.is_some() => self.instance.storage().cache.owner_of(buffer?)? as u32 + 1,
            event if event.parameters()[0] == "address" => {
                self.all.domain().holders().find(|h| h.address == wait.p[0])?.number
            }
            _ => 0,
        };
        (found != 0 && found != sid).then_some(found)
    }
}

/// The block of a data file that a wait is about. Parameters of waits have the numbers that users see.
fn block_of(files: &DataFiles, wait: &WaitView) -> Option<Rdba> {
    let [first, second, _] = wait.event.parameters();
    let is_of_block = first == "file#" && second == "block#" && wait.event != Event::ControlFileSequentialRead;
    let (file, block) = (u32::try_from(wait.p[0]).ok()?, u32::try_from(wait.p[1]).ok()?);
    if is_of_block { files.address(file, block) } else { None }
}

/// The only statement of a session whose call has named none.
fn only(executing: &[SessionCursor], now: &SessionCursor) -> u64 {
    match executing {
        [only] if only.digest == now.digest => now.digest.value(),
        _ => 0,
    }
}
