//! Getting and freeing latches, for one process.
//!
//! The order of stores makes a get safe against `kill -9`: the hold is noted before the lock word is taken and
//! forgotten after the word is free (invariant 5). An exclusive word carries its holder's number, so recovery reads
//! from the word whether the get had succeeded. A shared count names no holders; see [`crate::recover`].

use std::cell::{Cell, OnceCell};
use std::sync::atomic::Ordering;

use wait::Waiter;

use crate::domain::{Domain, HOLDS, LatchSlot, NameLine};
use crate::latch::{add, child_of, counts_all};
use crate::recorder::{APPROACH, Gets, Recorder, What};
use crate::ring::{Manner, NO_LATCH, NO_PLACE, OBJECT_MAX};
use crate::word::MutexWord;
use crate::{Latch, LatchName, Versioned, Where};

/// The mode of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// A latch, exclusively.
    Exclusive = 1,
    /// A latch, shared.
    Shared = 2,
    /// A versioned structure, for writing.
    Versioned = 3,
    /// A mutex, exclusively.
    MutexExclusive = 4,
    /// A mutex, shared.
    MutexShared = 5,
}

impl Mode {
    const ALL: [Self; 5] = [Self::Exclusive, Self::Shared, Self::Versioned, Self::MutexExclusive, Self::MutexShared];

    pub(crate) fn from_number(n: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|m| *m as u32 == n)
    }

    /// The column KSUPRLMD of `x$ksuprlat`.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Exclusive | Self::Versioned | Self::MutexExclusive => "EXCLUSIVE",
            Self::Shared | Self::MutexShared => "SHARED",
        }
    }
}

/// The stage of a hold: on the way in, held, on the way out.
pub(crate) const TRYING: u32 = 1 << 16;
pub(crate) const HELD: u32 = 2 << 16;
pub(crate) const FREEING: u32 = 3 << 16;
/// A shared hold of a mutex between two tries: certainly not counted.
pub(crate) const WAITING: u32 = 4 << 16;
pub(crate) const STAGE: u32 = 0xf << 16;

/// The access of one process (or thread) to the latches of a domain: one client per slot at a time, not shared between
/// threads.
#[derive(Debug)]
pub struct Client {
    pub(crate) domain: Domain,
    pub(crate) slot: &'static LatchSlot,
    /// Index of the slot + 1: the process number that lock words carry.
    number: u32,
    /// Holds in use, a bit each, and [`SAMPLED`].
    held: Cell<u32>,
    pub(crate) waiter: Waiter,
    own: bool,
    watch: OnceCell<Watch>,
    recorder: OnceCell<Box<Recorder>>,
    /// Calls up to the next sampled one, in the low half; in the high half the epoch for which they count.
    countdown: Cell<u64>,
}

/// In the holds in use: the gets of this call are recorded or watched. One word, so that a get tests no other.
const SAMPLED: u32 = 1 << 31;
const ALL_HOLDS: u32 = (1 << HOLDS) - 1;

/// Runs whenever a sleep has ended without a post.
struct Watch(Box<dyn Fn() + Send>);

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

impl Client {
    /// Takes slot `number - 1` of the domain. The caller ensures that the slot has no other user.
    ///
    /// # Panics
    /// There is no such slot.
    #[must_use]
    pub fn join(domain: Domain, number: u32, waiter: Waiter) -> Self {
        assert!(number >= 1 && number as usize <= domain.capacity(), "process number {number}");
        domain.raise_high(number);
        let slot = &domain.slots[number as usize - 1];
        add(&slot.owners, 1);
        Self {
            domain,
            slot,
            number,
            held: Cell::new(0),
            waiter,
            own: false,
            watch: OnceCell::new(),
            recorder: OnceCell::new(),
            countdown: Cell::new(0),
        }
    }

    /// Takes any free slot; `None` when there is none. For programs without a process table: the slot is free again
    /// when the client is dropped.
    #[must_use]
    pub fn join_any(domain: Domain, waiter: Waiter) -> Option<Self> {
        let free = |slot: &LatchSlot| {
            // Acquire pairs with the Release in `drop`: this owner comes after the previous one.
            slot.claimed.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let n = domain.slots.iter().position(free)?;
        let mut client = Self::join(domain, n as u32 + 1, waiter);
        client.own = true;
        Some(client)
    }

    /// The process number.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The domain.
    #[must_use]
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Its way of waiting.
    #[must_use]
    pub fn waiter(&self) -> Waiter {
        self.waiter
    }

    /// Sets a function that runs whenever a sleep for a latch or mutex has ended without a post. PMON checks there
    /// whether the holder is dead, since no other process would free the latch. Only the first call counts.
    ///
    /// `watch` runs in the middle of a get, so it must not get any latch.
    pub fn set_watch(&self, watch: impl Fn() + Send + 'static) {
        let _ = self.watch.set(Watch(Box::new(watch)));
    }

    pub(crate) fn run_watch(&self) {
        let Some(watch) = self.watch.get() else { return };
        match self.recorder.get() {
            Some(recorder) => recorder.interrupted(&watch.0),
            None => (watch.0)(),
        }
    }

    /// Latches and mutexes held now.
    #[must_use]
    pub fn held_count(&self) -> u32 {
        (self.held.get() & ALL_HOLDS).count_ones()
    }

    #[inline]
    pub(crate) fn line(&self, name: LatchName) -> &'static NameLine {
        &self.slot.lines[name as usize]
    }

    /// Gets a latch exclusively, waiting as long as it takes. Waits: the latch's event.
    ///
    /// # Panics
    /// In debug builds, when a latch of the same or a higher level is held (ORA-00600 `[504]`); when 16 are held
    /// already.
    #[inline]
    pub fn get<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Held<'a> {
        self.get_in(latch, Mode::Exclusive, at, why)
    }

    #[inline]
    fn get_in<'a>(&'a self, latch: &'a Latch, mode: Mode, at: Where, why: u64) -> Held<'a> {
        self.check_level(latch);
        let noted = self.note(latch.address(), mode, latch.identity(), at, why);
        if latch.word.try_exclusive(self.number) {
            add(&latch.gets, 1);
        } else {
            self.get_slowly(latch, at, why);
        }
        self.keep(noted, latch)
    }

    /// Gets a latch exclusively if it is free now. No-wait gets may break the order of levels.
    #[inline]
    pub fn try_get<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Option<Held<'a>> {
        self.try_get_in(latch, Mode::Exclusive, at, why)
    }

    #[inline]
    fn try_get_in<'a>(&'a self, latch: &'a Latch, mode: Mode, at: Where, why: u64) -> Option<Held<'a>> {
        let noted = self.note(latch.address(), mode, latch.identity(), at, why);
        if latch.word.try_exclusive(self.number) {
            add(&latch.immediate_gets, 1);
            return Some(self.keep(noted, latch));
        }
        self.forget(noted.hold);
        latch.immediate_misses.fetch_add(1, Ordering::Relaxed);
        self.domain.place(at).no_wait_failures.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Gets a latch shared, waiting as long as it takes; a latch that cannot be shared is got exclusively.
    ///
    /// # Panics
    /// As [`Self::get`].
    #[inline]
    pub fn get_shared<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Held<'a> {
        if !latch.is_shared_capable() {
            return self.get(latch, at, why);
        }
        self.check_level(latch);
        let noted = self.note(latch.address(), Mode::Shared, latch.identity(), at, why);
        if latch.word.try_shared() {
            if latch.is_child() {
                latch.gets.fetch_add(1, Ordering::Relaxed);
            } else {
                add(&self.line(latch.name()).gets, 1);
            }
        } else {
            self.get_shared_slowly(latch, at, why);
        }
        self.keep(noted, latch)
    }

    /// Gets a latch shared if that is possible now.
    #[inline]
    pub fn try_get_shared<'a>(&'a self, latch: &'a Latch, at: Where, why: u64) -> Option<Held<'a>> {
        if !latch.is_shared_capable() {
            return self.try_get(latch, at, why);
        }
        let name = latch.name();
        let noted = self.note(latch.address(), Mode::Shared, latch.identity(), at, why);
        // A failed try whose count has only changed means no conflicting holder: try again.
        while !latch.word.try_shared() {
            if latch.word.peek() & (crate::word::EXCLUSIVE | crate::word::BLOCKING) != 0 {
                self.forget(noted.hold);
                if latch.is_child() {
                    latch.immediate_misses.fetch_add(1, Ordering::Relaxed);
                } else {
                    add(&self.line(name).immediate_misses, 1);
                }
                self.domain.place(at).no_wait_failures.fetch_add(1, Ordering::Relaxed);
                return None;
            }
        }
        if latch.is_child() {
            latch.immediate_gets.fetch_add(1, Ordering::Relaxed);
        } else {
            add(&self.line(name).immediate_gets, 1);
        }
        Some(self.keep(noted, latch))
    }

    /// Gets a versioned structure for writing: exclusively, with its version odd until it is freed.
    ///
    /// # Panics
    /// As [`Self::get`].
    #[inline]
    pub fn write<'a>(&'a self, versioned: &'a Versioned, at: Where, why: u64) -> Held<'a> {
        let held = self.get_in(&versioned.latch, Mode::Versioned, at, why);
        begin_write(held, versioned)
    }

    /// Gets a versioned structure for writing if its latch is free now.
    #[inline]
    pub fn try_write<'a>(&'a self, versioned: &'a Versioned, at: Where, why: u64) -> Option<Held<'a>> {
        let held = self.try_get_in(&versioned.latch, Mode::Versioned, at, why)?;
        Some(begin_write(held, versioned))
    }

    /// Notes the intent to get. The address is stored last, so a hold with an address is complete.
    #[inline]
    pub(crate) fn note(&self, address: u64, mode: Mode, identity: u32, at: Where, why: u64) -> Noted {
        let n = self.held.get().trailing_ones() as usize;
        assert!(n < HOLDS, "a process holds at most {HOLDS} latches and mutexes");
        let hold = &self.slot.holds[n];
        let place = at as u32 | (mode as u32) << 12 | identity << 24;
        hold.place.store(place | TRYING, Ordering::Relaxed);
        hold.child.store(identity, Ordering::Relaxed);
        hold.why.store(why, Ordering::Relaxed);
        hold.address.store(address, Ordering::Release); // pairs with the Acquire of readers of holds
        Noted { hold: n as u32, mode, place }
    }

    #[inline]
    fn keep<'a>(&'a self, noted: Noted, latch: &'a Latch) -> Held<'a> {
        self.mark_held(noted, latch.gets.load(Ordering::Relaxed) + latch.immediate_gets.load(Ordering::Relaxed));
        Held { client: self, latch, versioned: None, noted }
    }

    #[inline]
    pub(crate) fn mark_held(&self, noted: Noted, gets: u64) {
        let hold = &self.slot.holds[noted.hold as usize % HOLDS];
        hold.gets.store(gets, Ordering::Relaxed);
        hold.place.store(noted.place | HELD, Ordering::Relaxed);
        let held = self.held.get();
        self.held.set(held | 1 << noted.hold);
        if held & SAMPLED != 0 {
            self.record_got(noted, gets);
        }
    }

    /// One try at a shared hold of a mutex that is noted. Writes nothing while the word shows that the try would fail.
    #[inline]
    pub(crate) fn try_noted(&self, noted: Noted, word: &MutexWord) -> bool {
        let place = &self.slot.holds[noted.hold as usize % HOLDS].place;
        if !word.may_be_shared() {
            place.store(noted.place | WAITING, Ordering::Release);
            return false;
        }
        place.store(noted.place | TRYING, Ordering::Relaxed);
        // The exchange releases: the note is there before it.
        if word.try_shared() {
            return true;
        }
        place.store(noted.place | WAITING, Ordering::Release);
        false
    }

    /// Marks a shared hold as being freed.
    #[inline]
    pub(crate) fn mark_freeing(&self, noted: Noted) {
        self.slot.holds[noted.hold as usize % HOLDS].place.store(noted.place | FREEING, Ordering::Relaxed);
    }

    /// Forgets a hold, after its word is free.
    #[inline]
    pub(crate) fn forget(&self, n: u32) {
        // Release: recovery must not see the note gone before the word is free.
        self.slot.holds[n as usize % HOLDS].address.store(0, Ordering::Release);
        self.held.set(self.held.get() & !(1 << n));
    }

    #[inline]
    fn free(&self, noted: Noted, latch: &Latch, versioned: Option<&Versioned>) {
        if let Some(versioned) = versioned {
            versioned.version.write_end();
        }
        if noted.mode == Mode::Shared {
            self.free_shared(noted, latch);
        } else {
            self.free_exclusive(noted, latch);
        }
    }

    #[cold]
    #[inline(never)]
    fn free_recorded(&self, noted: Noted, latch: &Latch, versioned: Option<&Versioned>) {
        let end_ns = self.stamp_end(noted);
        self.free(noted, latch, versioned);
        self.record_hold(noted, (latch.name() as u32, u64::from(latch.child())), end_ns);
    }

    #[inline]
    fn free_exclusive(&self, noted: Noted, latch: &Latch) {
        latch.word.free_exclusive();
        crate::primitive::light_barrier(); // pairs with the barrier in `join`
        if latch.identity.may_have_waiters() {
            self.post_waiters(latch);
        }
        self.forget(noted.hold);
    }

    #[inline]
    fn free_shared(&self, noted: Noted, latch: &Latch) {
        self.mark_freeing(noted);
        let last = latch.word.free_shared();
        crate::primitive::light_barrier(); // pairs with the barrier in `join`
        if last && latch.identity.may_have_waiters() {
            self.post_waiters(latch);
        }
        self.forget(noted.hold);
    }

    /// A latch that is held may only be followed by one of a higher level, or by the next child where two are allowed.
    #[inline]
    fn check_level(&self, latch: &Latch) {
        if cfg!(debug_assertions) && self.held.get() & ALL_HOLDS != 0 {
            self.check_level_against_holds(latch);
        }
    }

    /// The holds in use, a bit each.
    pub(crate) fn held_bits(&self) -> u16 {
        (self.held.get() & ALL_HOLDS) as u16
    }

    /// The held latch, by name and child, that forbids waiting for this one (invariant 3).
    pub(crate) fn conflict(&self, latch: &Latch) -> Option<(LatchName, u32)> {
        let name = latch.name();
        for n in (0..HOLDS).filter(|n| self.held.get() & 1 << n != 0) {
            let hold = &self.slot.holds[n];
            let place = hold.place.load(Ordering::Relaxed);
            let mode = Mode::from_number(place >> 12 & 0xf);
            if !matches!(mode, Some(Mode::Exclusive | Mode::Shared | Mode::Versioned)) {
                continue;
            }
            let Some(owned) = LatchName::from_index((place >> 24 & 0x7f) as usize) else { continue };
            let next_child =
                owned == name && name.two_children() && latch.child() > child_of(hold.child.load(Ordering::Relaxed));
            if name.level() <= owned.level() && !next_child {
                return Some((owned, child_of(hold.child.load(Ordering::Relaxed))));
            }
        }
        None
    }

    #[cold]
    fn check_level_against_holds(&self, latch: &Latch) {
        let name = latch.name();
        if let Some((owned, child)) = self.conflict(latch) {
            panic!(
                "ORA-00600: internal error code, arguments: [504], [{:#x}], [level {} held: {} child {}], [{}], [{}], [{}]",
                latch.address(),
                owned.level(),
                owned.name(),
                child,
                name.level(),
                name.name(),
                latch.child(),
            );
        }
    }
}

impl Client {
    /// Begins a call, and ends the one before it: where a recording runs, one call in N is sampled. Without one this
    /// is a load of a word that never changes.
    #[inline]
    pub fn begin_call(&self) {
        let recording = self.domain.recording_word();
        if recording as u32 != 0 || self.is_sampled() {
            let left = self.countdown.get();
            // The last calls of the countdown are the approach and the sampled one.
            if left >> 32 == recording >> 32 && left as u32 > APPROACH + 1 && !self.is_sampled() {
                self.countdown.set(left - 1);
            } else {
                self.begin_recorded_call(recording);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_recorded_call(&self, recording: u64) {
        let new = || {
            let owner = self.slot.owners.load(Ordering::Relaxed);
            Box::new(Recorder::new(self.domain.rings.of(self.number), self.number, owner))
        };
        let recorder = self.recorder.get_or_init(new);
        let (epoch, left) = ((recording >> 32) as u32, self.countdown.get() as u32);
        let (left, looks) = recorder.next_call(epoch, recording as u32, left, self.waiter.totals.waited_ns());
        self.countdown.set(u64::from(epoch) << 32 | u64::from(left));
        self.held.set(self.held.get() & !SAMPLED | if looks { SAMPLED } else { 0 });
    }

    /// Ends the call in progress without a next one: the process is about to leave its slot.
    pub fn end_call(&self) {
        if self.is_sampled() {
            self.held.set(self.held.get() & !SAMPLED);
            if let Some(recorder) = self.recorder.get() {
                recorder.end_call(self.waiter.totals.waited_ns());
            }
        }
    }

    /// True while the gets of this process are recorded or watched.
    #[inline]
    pub(crate) fn is_sampled(&self) -> bool {
        self.held.get() & SAMPLED != 0
    }

    #[cold]
    #[inline(never)]
    fn record_got(&self, noted: Noted, count: u64) {
        let Some(recorder) = self.recorder.get() else { return };
        let hold = &self.slot.holds[noted.hold as usize % HOLDS];
        let has_all = counts_all(hold.child.load(Ordering::Relaxed));
        let has_this = has_all || noted.mode != Mode::Shared;
        let gets = Gets { address: hold.address.load(Ordering::Relaxed), count, has_this, has_all };
        recorder.got(noted.hold, gets, self.waiter.totals.waited_ns());
    }

    /// Notes the end of a hold, before its latch is free; `None` when the hold is not recorded.
    pub(crate) fn stamp_end(&self, noted: Noted) -> Option<u64> {
        self.recorder.get()?.ends(noted.hold, self.waiter.totals.waited_ns())
    }

    /// Records a hold of `object` that has ended at a time of [`Self::stamp_end`].
    pub(crate) fn record_hold(&self, noted: Noted, (name, object): (u32, u64), end_ns: Option<u64>) {
        if let (Some(recorder), Some(end_ns)) = (self.recorder.get(), end_ns) {
            let what = What { manner: noted.mode as u32, name, object, place: noted.place & 0xfff };
            recorder.freed(noted.hold, what, end_ns);
        }
    }

    /// Records a versioned read of a structure.
    #[cold]
    #[inline(never)]
    pub(crate) fn record_read(&self, name: LatchName, child: u32, at: Option<Where>, missed: bool) {
        let Some(recorder) = self.recorder.get() else { return };
        let place = at.map_or(NO_PLACE, |at| at as u32);
        let what = What { manner: Manner::READ, name: name as u32, object: u64::from(child), place };
        recorder.touched(what, None, missed, self.waiter.totals.waited_ns());
    }

    /// Records a reference to the object of a mutex that has so many gets.
    #[cold]
    #[inline(never)]
    pub(crate) fn record_reference(&self, address: u64, count: u64, at: Where) {
        let Some(recorder) = self.recorder.get() else { return };
        let (name, object) = mutex_in_record(address);
        let what = What { manner: Manner::REFERENCE, name, object, place: at as u32 };
        let gets = Gets { address, count, has_this: true, has_all: true };
        recorder.touched(what, Some(gets), false, self.waiter.totals.waited_ns());
    }

    /// Counts a miss of this process, off the fast paths.
    pub(crate) fn count_miss(&self) {
        add(&self.slot.misses, 1);
    }

    /// Notes, off the fast paths, that a get of a latch or mutex has missed.
    pub(crate) fn note_miss(&self) {
        self.count_miss();
        if self.is_sampled()
            && let Some(recorder) = self.recorder.get()
        {
            recorder.missed(self.waiter.totals.waited_ns());
        }
    }
}

/// The name and the number of a mutex in records. No two mutexes of 512 GB of memory have the same number.
pub(crate) fn mutex_in_record(address: u64) -> (u32, u64) {
    (NO_LATCH, address >> 3 & OBJECT_MAX)
}

impl Drop for Client {
    fn drop(&mut self) {
        if self.own {
            self.end_call();
            self.slot.claimed.store(0, Ordering::Release); // pairs with the Acquire in `join_any`
        }
    }
}

/// A latch that is held; freed when dropped.
#[derive(Debug)]
#[must_use = "the latch is freed at once when this is dropped"]
pub struct Held<'a> {
    pub(crate) client: &'a Client,
    pub(crate) latch: &'a Latch,
    pub(crate) versioned: Option<&'a Versioned>,
    pub(crate) noted: Noted,
}

/// A note of intent: the index of the hold, and the noted word without the stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noted {
    /// Whole words, here and below: the handle is copied often, and narrow stores followed by one wide load defeat
    /// store forwarding.
    pub hold: u32,
    pub mode: Mode,
    pub(crate) place: u32,
}

#[inline]
fn begin_write<'a>(mut held: Held<'a>, versioned: &'a Versioned) -> Held<'a> {
    versioned.version.write_begin();
    held.versioned = Some(versioned);
    held
}

impl Held<'_> {
    /// The latch.
    #[must_use]
    pub fn latch(&self) -> &Latch {
        self.latch
    }

    /// True when it is held shared.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.noted.mode == Mode::Shared
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        // By value: a guard whose address another function gets has to lie in memory.
        let (client, latch, versioned, noted) = (self.client, self.latch, self.versioned, self.noted);
        if client.is_sampled() {
            client.free_recorded(noted, latch, versioned);
        } else {
            client.free(noted, latch, versioned);
        }
    }
}
