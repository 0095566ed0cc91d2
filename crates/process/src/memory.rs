//! Limits of memory: of each process, and of all together (invariant 9).
//!
//! Every process has a line with the bytes of its heap. Its own allocator writes them (`os::heap`), and sets a bit of
//! the session's slot for each [`STEP`] of growth. [`Process::check_cancel`], which every loop calls, finds the bit and
//! comes here: the process compares its own bytes with the limit of one process, and the sum of all lines with the
//! limit of the instance. So the whole heap is compared, whatever code allocated it, and no sum is computed while
//! memory does not grow.
//!
//! Above the limit of the instance the call that has the most memory ends. Oracle chooses by untunable memory; a work
//! area of this executor does not shrink once it has its size, so all memory counts. An idle session that has more than
//! twice as much as any call is ended instead, as Oracle ends sessions when aborted calls do not help: otherwise the
//! memory of its packages would end one small call after the other. SYS and background processes are counted but never
//! chosen.

use crate::pga::{Pga, PgaLimits, PgaLine};
use crate::session::{Cancel, GROWN};
use crate::{Process, Processes, SessionSlot, SessionStatus};
use std::sync::atomic::Ordering;
use std::time::Duration;
use types::{Ora, Result};
use wait::Event;

/// Growth of a heap between two checks of the sum.
const STEP: u64 = 1 << 20;

/// Growth allowed to a session while a larger one was asked to stop and has not done so yet.
const PATIENCE: u64 = 16 << 20;

/// The least memory for which an idle session is ended.
const IDLE: u64 = 16 << 20;

/// The longest wait for that, and the interval of checks.
const WAIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// Memory that a call must have used and freed before it is returned to the operating system: less is taken again by
/// the next call.
const GIVEN_BACK: u64 = 16 << 20;

/// A session that may be asked to free memory.
#[derive(Clone, Copy)]
struct Holder {
    sid: u32,
    bytes: u64,
}

impl Processes {
    pub(crate) fn pga_line(&self, number: u32) -> &'static PgaLine {
        &self.pga[number as usize - 1]
    }

    /// Changes the limits for all processes; each compares when its heap grows.
    pub fn set_pga_limits(&self, limits: PgaLimits) {
        self.pga_all.limit.store(limits.instance, Ordering::Relaxed);
        self.pga_all.limit_of_one.store(limits.process, Ordering::Relaxed);
    }

    /// The heap of a process, as last published: within 64 KB during a call, exact between calls. Zeros where the
    /// program does not count.
    #[must_use]
    pub fn pga(&self, number: u32) -> Pga {
        let of =
            |line: &PgaLine| Pga { used: line.used.load(Ordering::Relaxed), most: line.most.load(Ordering::Relaxed) };
        self.pga.get((number as usize).wrapping_sub(1)).map(of).unwrap_or_default()
    }

    /// The heaps of all processes.
    #[must_use]
    pub fn pga_total(&self) -> Pga {
        let used = self.pga.iter().map(|line| line.used.load(Ordering::Relaxed)).sum();
        Pga { used, most: self.pga_all.most.load(Ordering::Relaxed).max(used) }
    }

    /// Calls and sessions ended because of the limit of the instance.
    #[must_use]
    pub fn pga_given_up(&self) -> u64 {
        self.pga_all.given_up.load(Ordering::Relaxed)
    }
}

impl Process {
    /// Counts the calling thread's heap as this process's, if the program counts.
    pub(crate) fn watch_heap(&self) {
        let line = self.all.pga_line(self.number);
        os::heap::watch(os::heap::HeapWatch {
            used: &line.used,
            most: &line.most,
            flags: &self.session.cancel,
            bit: GROWN,
            step: STEP as usize,
        });
    }

    pub(crate) fn end_heap_watch(&self) {
        let line = self.all.pga_line(self.number);
        os::heap::end_watch(&line.used);
        line.clear();
    }

    /// Publishes the exact size of the heap and returns it in bytes. 0 where the program does not count.
    pub fn tell_heap(&self) -> u64 {
        os::heap::tell_used()
    }

    /// Publishes the heap's bytes at the end of a call, and returns memory that a large call has freed to the operating
    /// system.
    pub fn end_call_of_heap(&self) {
        let used = os::heap::tell_used();
        if self.peak.replace(0).saturating_sub(used) > GIVEN_BACK {
            os::heap::give_back();
        }
    }

    /// Compares memory with the limits: called when the heap has grown.
    ///
    /// # Errors
    /// ORA-04030, ORA-04036.
    #[cold]
    pub(crate) fn check_memory(&self) -> Result<()> {
        let own = os::heap::tell_used();
        self.peak.set(self.peak.get().max(own));
        let all = self.all.pga_all;
        let most = all.limit_of_one.load(Ordering::Relaxed);
        if most != 0 && own > most && !self.slot().is_background() {
            // Code that handles this error and goes on allocating gets it again at the next check.
            self.session.set_grown();
            return Err(Ora::with(4030, &[&(own - most), &"koh-kghu call ", &"process heap"]));
        }
        let limit = all.limit.load(Ordering::Relaxed);
        let total = self.all.pga_total().used;
        if total > all.most.load(Ordering::Relaxed) {
            all.most.store(total, Ordering::Relaxed);
        }
        if limit == 0 || total <= limit {
            self.patience.set(0);
            return Ok(());
        }
        self.bring_down(own, limit)
    }

    /// The processes together have too much memory: a call ends, or an idle session.
    ///
    /// # Errors
    /// ORA-04036 when the call of this process ends.
    fn bring_down(&self, own: u64, limit: u64) -> Result<()> {
        // Wait for memory that is already being freed before asking another session.
        if self.leaving() > self.all.pga_total().used.saturating_sub(limit) {
            return self.bear_with(own, limit);
        }
        let (mut call, mut idle) = (None, None);
        for holder in self.holders() {
            let place = if self.is_in_call(holder.sid) { &mut call } else { &mut idle };
            if place.is_none_or(|p: Holder| p.bytes < holder.bytes) {
                *place = Some(holder);
            }
        }
        match (call, idle) {
            (call, Some(idle)) if idle.bytes > IDLE && idle.bytes / 2 > call.map_or(0, |c| c.bytes) => {
                if self.end_idle(idle.sid) {
                    self.note_given_up();
                }
            }
            (Some(call), _) if call.sid == self.sid() => return Err(self.gives_up()),
            (Some(call), _) => {
                let Some(session) = self.all.session(call.sid) else { return Ok(()) };
                if !session.is_asked_for_memory() && self.all.cancel(call.sid, session.serial(), Cancel::Memory) {
                    self.note_given_up();
                }
            }
            (None, _) => return Ok(()),
        }
        self.bear_with(own, limit)
    }

    fn note_given_up(&self) {
        self.all.pga_all.given_up.fetch_add(1, Ordering::Relaxed);
    }

    #[cold]
    fn gives_up(&self) -> Ora {
        self.note_given_up();
        self.patience.set(0);
        self.session.set_giving_up();
        Ora::new(4036)
    }

    /// Kills a session that waits for its client; false when it was killed before.
    fn end_idle(&self, sid: u32) -> bool {
        let (Some(slot), Some(session)) = (self.all.slot(sid), self.all.session(sid)) else { return false };
        let is_new =
            session.status() != SessionStatus::Killed && self.all.cancel(sid, session.serial(), Cancel::Killed);
        let os_pid = slot.state().1;
        if is_new && os_pid != os::process::own_id() {
            // The session waits at its connection; the signal wakes it. The process may have ended already.
            let _ = os::process::kill(os_pid, os::signal::SIGTERM);
        }
        is_new
    }

    /// Another session has been asked. This one may grow by [`PATIENCE`], and then waits for the other to free its
    /// memory. Waits: `acknowledge over PGA limit`.
    ///
    /// # Errors
    /// ORA-04036 when the other session does not free it in time.
    fn bear_with(&self, own: u64, limit: u64) -> Result<()> {
        if self.patience.get() == 0 {
            self.patience.set(own + PATIENCE);
        }
        if own <= self.patience.get() || !self.is_subject(self.sid()) {
            return Ok(());
        }
        let until = os::clock::now_ns() + WAIT.as_nanos() as u64;
        let total = || self.all.pga_total().used;
        let _wait = self.wait(Event::AcknowledgeOverPgaLimit, limit, total().saturating_sub(limit), own);
        while os::clock::now_ns() < until && !self.is_asked_to_stop() {
            if total() <= limit {
                self.patience.set(0);
                return Ok(());
            }
            self.sleep(self.posts(), Some(LOOK));
        }
        // This session may have been asked itself; the next check finds that.
        if self.is_asked_to_stop() { Ok(()) } else { Err(self.gives_up()) }
    }

    /// Bytes of other sessions that were killed, or were asked to end their calls because of memory.
    fn leaving(&self) -> u64 {
        let is_asked = |s: &SessionSlot| s.status() == SessionStatus::Killed || s.is_asked_for_memory();
        let others = self.all.live().map(|(sid, _)| sid).filter(|sid| *sid != self.sid());
        others.filter(|sid| self.all.session(*sid).is_some_and(is_asked)).map(|sid| self.all.pga(sid).used).sum()
    }

    /// The sessions that may be asked, with their memory.
    fn holders(&self) -> impl Iterator<Item = Holder> {
        let subject = self.all.live().map(|(sid, _)| sid).filter(|sid| self.is_subject(*sid));
        subject.map(|sid| Holder { sid, bytes: self.all.pga(sid).used })
    }

    /// Whether this session is subject to the limit of the instance: neither a background process, nor SYS, nor a
    /// killed session, which cannot be asked again.
    fn is_subject(&self, sid: u32) -> bool {
        let of_user = |s: &SessionSlot| s.user.load(Ordering::Relaxed) != 0 && s.status() != SessionStatus::Killed;
        self.all.slot(sid).is_some_and(|slot| !slot.is_background()) && self.all.session(sid).is_some_and(of_user)
    }

    fn is_in_call(&self, sid: u32) -> bool {
        let works = |s: &SessionSlot| s.status() == SessionStatus::Active || s.job.load(Ordering::Relaxed) != 0;
        sid == self.sid() || self.all.session(sid).is_some_and(works)
    }
}
