//! Dependencies: the condition under which a result may be used (R6), and the effect of a commit on it.
//!
//! A result built as of SCN `b` is correct for a snapshot `s >= b` if no transaction that changed one of its
//! dependencies committed in `(b, s]`. For each object number the cache keeps the SCN of the last such commit and the
//! number of commits in progress:
//!
//! 1. A statement declares its dependencies when it is compiled ([`ResultCache::track`]). The SCN of that moment counts
//!    as a change, so that no older snapshot builds a result: changes before the declaration were not noted.
//! 2. A committing transaction raises `pending` of each tracked object *before* its SCN can be seen by any snapshot
//!    ([`ResultCache::before_visible`]), and afterwards stores the SCN and takes `pending` back
//!    ([`ResultCache::after`]).
//! 3. A hit needs `pending == 0` and `last_change <= b`, read in this order; a build needs the same for its snapshot,
//!    when it starts and when it is published.
//!
//! A snapshot that sees the commit was taken after the first half of step 2, so its reader finds either `pending` or
//! the SCN.
//!
//! Transactions on objects that no result depends on pay two stores to their own line. A commit that read "not tracked"
//! just before a statement declared the object would be missed, so `track` waits for the commits in progress; each
//! process calls it once for an object.

use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use latch::Where;
use process::Process;
use types::{ObjectId, Scn};

use crate::layout::*;
use crate::{ResultCache, Statistic};

/// Values of `tracked`: declared, while the declarer may still wait for commits in progress; settled, when those have
/// ended.
const DECLARED: u64 = 1;
const SETTLED: u64 = 2;

impl ResultCache {
    pub(crate) fn slot(&self, object: ObjectId) -> &DependSlot {
        &self.depends[object.0 as usize % DEPEND_SLOTS]
    }

    /// The objects that a result depends on.
    pub(crate) fn depends_of<'a>(&self, head: &'a RcBlock) -> impl Iterator<Item = ObjectId> + use<'a> {
        let count = State::unpack(head.get(word::STATE)).depends;
        (0..count).map(move |i| ObjectId((head.get(word::DEPENDS + i / 2) >> (i % 2 * 32)) as u32))
    }

    /// Whether no dependency has changed, or is about to change, since the result was built.
    pub(crate) fn depends_unchanged(&self, head: &RcBlock) -> bool {
        let scn = head.get(word::SCN);
        self.depends_of(head).all(|object| self.unchanged_since(object, scn))
            && self.control.closed.load(Ordering::Acquire) == 0
    }

    fn unchanged_since(&self, object: ObjectId, scn: u64) -> bool {
        let slot = self.slot(object);
        // `pending` is read first: `settle` stores the SCN before it lowers `pending` (Release).
        slot.pending.load(Ordering::Acquire) == 0 && slot.last_change.load(Ordering::Acquire) <= scn
    }

    /// Whether no commit on a dependency is in progress.
    pub(crate) fn depends_settled(&self, head: &RcBlock) -> bool {
        self.depends_of(head).all(|object| self.slot(object).pending.load(Ordering::Acquire) == 0)
    }

    /// Whether a result as of `snapshot` may be built now, that is, would not be out of date at once.
    pub(crate) fn may_build(&self, depends: &[ObjectId], snapshot: Scn) -> bool {
        self.control.closed.load(Ordering::Acquire) == 0
            && depends.iter().all(|object| self.unchanged_since(*object, snapshot.0))
    }

    /// Declares that cached results may depend on these objects.
    ///
    /// `current` returns the current SCN. Earlier changes are not known, so a snapshot below it builds nothing. Waits
    /// for commits in progress (spins, then sleeps 100 µs at a time) the first time in each object's life. Latches: the
    /// SO latch that first time, none later.
    pub fn track(&self, p: &Process, objects: &[ObjectId], current: impl Fn() -> Scn) {
        let mut new = false;
        for object in objects {
            let tracked = &self.slot(*object).tracked;
            if tracked.load(Ordering::Acquire) != SETTLED {
                tracked.fetch_max(DECLARED, Ordering::Relaxed);
                new = true;
            }
        }
        if !new {
            return;
        }
        // Pairs with the fence in `before_visible`: either the committer sees `tracked`, or this process sees it
        // committing.
        fence(Ordering::SeqCst);
        for (pid, line) in self.processes.iter().enumerate() {
            let seen = line.committing.load(Ordering::Acquire);
            let mut turns = 0u32;
            while pid + 1 != p.number() as usize && seen != 0 && line.committing.load(Ordering::Acquire) == seen {
                turns += 1;
                if turns > 1000 {
                    std::thread::sleep(Duration::from_micros(100));
                }
                std::hint::spin_loop();
            }
        }
        let so = p.lock(self.so_latch, Where::RcSoAllocate, 0);
        let scn = current();
        for object in objects {
            let slot = self.slot(*object);
            so.set(&slot.last_change, slot.last_change.load(Ordering::Relaxed).max(scn.0));
            so.checkpoint(); // each object is correct by itself, and a statement may read any number of them
            // Pairs with the Acquire load above: a process that finds the object settled need not wait for those
            // commits.
            slot.tracked.store(SETTLED, Ordering::Release);
        }
    }

    /// First half of a commit, before its SCN can be seen: results that depend on `objects` are no longer used.
    ///
    /// Must be followed by [`ResultCache::after`], also when the commit fails. Latches: the SO latch, and only when an
    /// object is tracked.
    pub fn before_visible(&self, p: &Process, objects: &[ObjectId]) {
        let line = self.line(p);
        debug_assert_eq!(line.committing.load(Ordering::Relaxed), 0, "one commit at a time");
        self.commits_begin(line);
        if !objects.iter().any(|object| self.is_tracked(*object)) {
            return;
        }
        let section = p.lock(self.so_latch, Where::RcSoAllocate, 0);
        for (held, object) in objects.iter().filter(|object| self.is_tracked(**object)).enumerate() {
            if held == PENDING_MAX {
                section.set(&line.pending_all, 1);
                section.set(&self.control.closed, self.control.closed.load(Ordering::Relaxed) + 1);
                break;
            }
            let pending = &self.slot(*object).pending;
            section.set(&line.pending[held], object.0 as u64 + 1);
            section.set(pending, pending.load(Ordering::Relaxed) + 1);
        }
    }

    fn commits_begin(&self, line: &RcProcess) {
        // Any value except the previous one: `track` waits for a change.
        let turn = line.commits.load(Ordering::Relaxed) + 1;
        line.commits.store(turn, Ordering::Relaxed);
        line.committing.store(turn, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    fn is_tracked(&self, object: ObjectId) -> bool {
        self.slot(object).tracked.load(Ordering::Relaxed) != 0
    }

    /// Second half of a commit: stores the SCN with the objects and makes their results invalid.
    ///
    /// `scn` is the commit's, or any SCN not below it (a failed commit: the current one). Latches: the RC latch (one
    /// get, when a dependency object is there to be marked) and the SO latch, only when something is held pending.
    pub fn after(&self, p: &Process, scn: Scn, objects: &[ObjectId]) {
        let line = self.line(p);
        self.settle(p, line, scn, objects);
        line.committing.store(0, Ordering::Release);
    }

    /// Ends the pending state of `line`, the process's own or a dead process's.
    fn settle(&self, p: &Process, line: &RcProcess, scn: Scn, objects: &[ObjectId]) {
        let is_all = line.pending_all.load(Ordering::Relaxed) != 0;
        if line.pending[0].load(Ordering::Relaxed) == 0 && !is_all {
            return;
        }
        let mut ended = 0;
        // A dependency object may be marked only under the RC latch, which has the lower level and is got before the SO
        // latch.
        let marks = self.pending_of(line).any(|object| self.slot(object).object.load(Ordering::Relaxed) as u32 != 0);
        let rc = marks.then(|| p.lock(self.latch, Where::RcInvalidate, scn.0));
        let so = p.lock(self.so_latch, Where::RcSoAllocate, scn.0);
        if is_all {
            // The objects beyond the list. A change noted with a later SCN than its own is harmless, so each object is
            // made final by itself: a transaction may change any number of objects, but the size of a section is
            // bounded.
            for object in objects {
                let last = &self.slot(*object).last_change;
                so.set(last, last.load(Ordering::Relaxed).max(scn.0));
                so.checkpoint();
            }
            so.set(&self.control.closed, self.control.closed.load(Ordering::Relaxed) - 1);
            so.set(&line.pending_all, 0);
        }
        for place in &line.pending {
            let Some(number) = place.load(Ordering::Relaxed).checked_sub(1) else {
                break;
            };
            let slot = self.slot(ObjectId(number as u32));
            let last = slot.last_change.load(Ordering::Relaxed).max(scn.0);
            so.set(&slot.last_change, last);
            so.set(&slot.pending, slot.pending.load(Ordering::Relaxed) - 1);
            so.set(place, 0);
            let word = slot.object.load(Ordering::Relaxed);
            if let (Some(rc), Some(id)) = (&rc, (word & 0xffff_ffff).checked_sub(1)) {
                ended += word >> 32;
                let head = &self.blocks[id as usize];
                let count = head.get(word::OBJECT_NO) >> 32;
                rc.set(&head.words[word::SCN], scn.0);
                rc.set(&head.words[word::OBJECT_NO], head.get(word::OBJECT_NO) & 0xffff_ffff | (count + 1) << 32);
                rc.set(&slot.object, word & 0xffff_ffff);
            }
        }
        match rc {
            Some(rc) => so.end_with(rc),
            None => drop(so),
        }
        self.add(p, Statistic::InvalidationCount, ended);
    }

    fn pending_of<'a>(&self, line: &'a RcProcess) -> impl Iterator<Item = ObjectId> + use<'a> {
        let words = line.pending.iter().map(|place| place.load(Ordering::Relaxed));
        words.map_while(|word| word.checked_sub(1)).map(|number| ObjectId(number as u32))
    }

    /// Makes all results that depend on an object invalid as of `scn` (DDL, `DBMS_RESULT_CACHE.INVALIDATE`).
    pub fn invalidate(&self, p: &Process, object: ObjectId, scn: Scn) {
        self.before_visible(p, &[object]);
        self.after(p, scn, &[object]);
    }

    /// Cleans up after a dead process: its pins, the objects it was building, its pending objects.
    ///
    /// PMON calls it after the rollback of the dead process's micro-undo. `scn` is the current SCN: an interrupted
    /// commit counts as one that happened at this moment.
    pub fn cleanup(&self, p: &Process, dead: u32, scn: Scn) {
        let line = &self.processes[dead as usize - 1];
        {
            let mut section = p.lock(self.latch, Where::RcCleanup, dead as u64);
            if let Some(id) = line.pinned.load(Ordering::Relaxed).checked_sub(1) {
                let pins = &self.blocks[id as usize].words[word::PINS];
                section.set(pins, pins.load(Ordering::Relaxed) - 1);
                section.set(&line.pinned, 0);
                drop(self.free_if_retired(&mut section, id));
            }
        }
        for slot in &line.building {
            let Some(id) = slot.load(Ordering::Relaxed).checked_sub(1) else {
                continue;
            };
            let mut section = p.lock(self.latch, Where::RcCleanup, id);
            let head = &self.blocks[id as usize];
            let state = head.get(word::STATE);
            let pins = &head.words[word::PINS];
            section.set(pins, pins.load(Ordering::Relaxed) - 1);
            section.set(slot, 0);
            drop(if Status::of(state) == Some(Status::New) {
                section.set(&head.words[word::STATE], State::with_status(state, Status::Invalid));
                self.retire(&mut section, id)
            } else {
                self.free_if_retired(&mut section, id)
            });
        }
        if line.pending_all.load(Ordering::Relaxed) != 0 {
            // The objects that it changed beyond the list are unknown.
            self.distrust(scn);
        }
        self.settle(p, line, scn, &[]);
        line.attached.store(0, Ordering::Relaxed);
        line.committing.store(0, Ordering::Release);
    }

    /// Distrusts every cached result, because it is unknown which objects have changed.
    pub fn distrust(&self, scn: Scn) {
        for slot in self.depends {
            slot.last_change.fetch_max(scn.0, Ordering::AcqRel);
        }
    }

    /// Detaches the session from the cache when it ends: one get if the session has used the cache.
    pub fn end_session(&self, p: &Process) {
        let line = self.line(p);
        if line.attached.load(Ordering::Relaxed) == 0 {
            return;
        }
        line.attached.store(0, Ordering::Relaxed);
        if self.design() != crate::Design::Versioned {
            drop(p.imitated_get(self.latch, Where::RcRelease, p.number() as u64));
        }
    }
}
