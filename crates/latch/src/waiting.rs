//! Spinning and sleeping.
//!
//! 9.2 and later: try, spin once, join the list of waiters, sleep until posted, try, sleep again. 8i: try, spin, sleep
//! for a while, spin, sleep longer. In both, nothing is counted before the get succeeds, and the time asleep excludes
//! spinning.
//!
//! The list of waiters is not linked: each process has one word with the address of the latch it waits for, and notes
//! the time when it began to wait. A releaser reads these words only when the latch's waiters bit is set, and posts the
//! process that has waited longest. A killed waiter therefore leaves no broken link, and a lost post delays its waiter
//! by the watchdog's time at most.
//!
//! A releaser stores the free word and then reads the waiters bit without a fence between the two. The first waiter of
//! a latch sets the bit and then runs a barrier on all processors before its last look at the word; from then on
//! releasers of that latch run a fence, and later waiters run no barrier. See [`crate::word::IdentityWord`].
//!
//! The algorithm may be switched at any time ([`Domain::switch_sleep`]). A process that is about to sleep says so and
//! then looks at the algorithm again, and a switch changes the algorithm and then wakes all processes that sleep by the
//! former one. So no process sleeps on by an algorithm that no releaser uses any more.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

use crate::client::Mode;
use crate::domain::{Domain, LatchSlot, SleepAlgorithm};
use crate::latch::add;
use crate::word::{BLOCKING, EXCLUSIVE, LOW};
use crate::{Client, Latch, Where};

/// Stages of a sleeper: the values of its futex.
pub(crate) const AWAKE: u32 = 0;
pub(crate) const ASLEEP: u32 = 1;
pub(crate) const POSTED: u32 = 2;
/// Asleep until its time is up: a releaser passes over it, and only a switch of the sleep algorithm wakes it.
pub(crate) const TIMED: u32 = 3;

/// Spins between two hints to the processor: a hint takes as long as tens of looks.
const SPINS_A_HINT: u32 = 4;

/// The result of one slow get.
#[derive(Default)]
struct Slow {
    sleeps: u64,
    slept_ns: u64,
    sleeps_holding: u64,
}

impl Slow {
    /// Counts the get. The order of stores ensures that a reader that reads MISSES first, WAIT_TIME next and the others
    /// last sees no miss without its get and its spin or sleep, and no time without a sleep (invariant 1).
    fn count(&self, [gets, sleeps, spin_gets, wait_ns, misses]: [&AtomicU64; 5], add: impl Fn(&AtomicU64, u64)) {
        add(gets, 1);
        add(sleeps, self.sleeps);
        add(spin_gets, u64::from(self.sleeps == 0));
        fence(Ordering::Release); // pairs with the Acquire loads of the views
        add(wait_ns, self.slept_ns);
        fence(Ordering::Release);
        add(misses, 1);
    }
}

impl Client {
    #[cold]
    #[inline(never)]
    pub(crate) fn get_slowly(&self, latch: &Latch, at: Where, why: u64) {
        self.note_miss();
        let mut try_it = || latch.word.try_exclusive(self.number());
        let spins = if latch.is_shared_capable() {
            2 * self.domain.tunables().spin_count()
        } else {
            self.domain.tunables().class_spin(latch.name().class())
        };
        let mut slow = Slow::default();
        if !spin(spins, latch, EXCLUSIVE | LOW, &mut try_it) {
            slow = self.sleep(latch, Mode::Exclusive, at, why, spins, &mut try_it);
        }
        slow.count([&latch.gets, &latch.sleeps, &latch.spin_gets, &latch.wait_ns, &latch.misses], add);
        add(&self.line(latch.name()).waits_holding_latch, slow.sleeps_holding);
        add(&self.slot.sleeps, slow.sleeps);
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn get_shared_slowly(&self, latch: &Latch, at: Where, why: u64) {
        self.note_miss();
        // A count that has changed is tried again; a holder or an exclusive requester means a sleep at once.
        let mut try_it = || loop {
            if latch.word.try_shared() {
                return true;
            }
            if latch.word.peek() & (EXCLUSIVE | BLOCKING) != 0 {
                return false;
            }
        };
        let mut slow = Slow::default();
        if !try_it() {
            slow = self.sleep(latch, Mode::Shared, at, why, 0, &mut try_it);
        }
        let line = self.line(latch.name());
        if latch.is_child() {
            let add = |word: &AtomicU64, n: u64| {
                word.fetch_add(n, Ordering::Relaxed);
            };
            slow.count([&latch.gets, &latch.sleeps, &latch.spin_gets, &latch.wait_ns, &latch.misses], add);
        } else {
            slow.count([&line.gets, &line.sleeps, &line.spin_gets, &line.wait_ns, &line.misses], add);
        }
        add(&line.waits_holding_latch, slow.sleeps_holding);
        add(&self.slot.sleeps, slow.sleeps);
    }

    fn sleep(
        &self,
        latch: &Latch,
        mode: Mode,
        at: Where,
        why: u64,
        spins: u32,
        try_it: &mut dyn FnMut() -> bool,
    ) -> Slow {
        let mut slow = Slow::default();
        self.announce(latch, mode, at, why);
        let mut tries = 0;
        loop {
            let tunables = self.domain.tunables();
            let back_off = tunables.sleep_algorithm() == SleepAlgorithm::ExponentialBackOff;
            let time = if back_off { self.back_off(tries) } else { tunables.watchdog() };
            tries += 1;
            if self.sleep_once(latch, mode, at, tries, time, back_off, try_it, &mut slow) {
                break;
            }
            let again = if tunables.sleep_algorithm() == SleepAlgorithm::ExponentialBackOff { spins } else { 0 };
            if spin(again, latch, EXCLUSIVE | LOW, try_it) {
                break;
            }
        }
        self.withdraw();
        slow
    }

    /// Writes this process into the list of waiters of the latch.
    fn announce(&self, latch: &Latch, mode: Mode, at: Where, why: u64) {
        self.slot.wait_mode.store(mode as u32, Ordering::Relaxed);
        self.slot.wait_place.store(at as u32, Ordering::Relaxed);
        self.slot.wait_why.store(why, Ordering::Relaxed);
        self.slot.wait_since_ns.store(os::clock::now_ns(), Ordering::Relaxed);
        // Release pairs with the Acquire in `first_waiter`: a reader that sees the address sees the time.
        self.domain.waiting[self.number() as usize - 1].store(latch.address(), Ordering::Release);
    }

    fn withdraw(&self) {
        self.slot.sleeping.store(AWAKE, Ordering::Relaxed);
        self.domain.waiting[self.number() as usize - 1].store(0, Ordering::Release);
    }

    /// Milliseconds 10, 10, 20, 20, 40, 40, … as 8i slept, with a lower limit while another latch is held.
    fn back_off(&self, tries: u32) -> Duration {
        let tunables = self.domain.tunables();
        let limit = if self.held_count() > 0 {
            tunables.max_sleep_holding_latch_cs().min(tunables.max_exponential_sleep_cs())
        } else {
            tunables.max_exponential_sleep_cs()
        };
        let cs = 1u32.checked_shl(tries / 2).unwrap_or(u32::MAX).min(limit.max(1));
        Duration::from_millis(u64::from(cs) * 10)
    }

    /// One sleep. True when the latch was got before or after it.
    #[allow(clippy::too_many_arguments)]
    fn sleep_once(
        &self,
        latch: &Latch,
        mode: Mode,
        at: Where,
        tries: u32,
        time: Duration,
        back_off: bool,
        try_it: &mut dyn FnMut() -> bool,
        slow: &mut Slow,
    ) -> bool {
        let generation = self.domain.tunables().generation();
        let event = latch.name().event(generation);
        let only_time = back_off && !self.posted_in_back_off(latch);
        self.slot.sleeping.store(if only_time { TIMED } else { ASLEEP }, Ordering::SeqCst);
        fence(Ordering::SeqCst); // pairs with the fence in `switch_sleep`
        if (self.domain.tunables().sleep_algorithm() == SleepAlgorithm::ExponentialBackOff) != back_off {
            return try_it();
        }
        // Without the barrier a releaser may have missed the bit for as long as its store was on its way: look again
        // soon.
        let time = if join(latch) { time } else { time.min(Duration::from_millis(1)) };
        // An exclusive requester kept out by shared holders marks the latch as blocking. When there are no shared
        // holders left, it tries again.
        loop {
            if try_it() {
                return true;
            }
            if mode != Mode::Exclusive || latch.word.block() {
                break;
            }
        }
        let holder = self.domain.holder_of(latch);
        let started =
            self.waiter.begin(event, [latch.address(), u64::from(latch.name().number(generation)), u64::from(tries)]);
        let posted = self.sleep_until_posted(time, only_time);
        let ns = self.waiter.end(event, started, !posted);
        slow.sleeps += 1;
        slow.slept_ns += ns;
        slow.sleeps_holding += u64::from(self.held_count() > 0);
        self.charge_places(latch, at, holder);
        if !posted {
            self.run_watch();
        }
        try_it()
    }

    fn posted_in_back_off(&self, latch: &Latch) -> bool {
        match self.domain.tunables().latch_wait_posting() {
            0 => false,
            1 => latch.name().posts_in_back_off(),
            _ => true,
        }
    }

    /// Sleeps until posted or until the time is up; true when posted.
    fn sleep_until_posted(&self, time: Duration, only_time: bool) -> bool {
        let word = &self.slot.sleeping;
        os::futex::wait(word, if only_time { TIMED } else { ASLEEP }, Some(time));
        word.load(Ordering::Acquire) == POSTED // pairs with the Release in `post_one`
    }

    /// A sleep counts at the waiter's place, and at the place of the holder (invariant 2).
    fn charge_places(&self, latch: &Latch, at: Where, holder: Option<(Where, u32, u64)>) {
        self.domain.place(at).waiter_sleeps.fetch_add(1, Ordering::Relaxed);
        let Some((place, number, gets)) = holder else { return };
        let line = self.domain.place(place);
        line.sleeps.fetch_add(1, Ordering::Relaxed);
        if self.domain.holder_of(latch) == Some((place, number, gets)) {
            line.long_holds.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Wakes the process that has waited longest; when it is a shared requester, also the other shared requesters that
    /// came before the first exclusive one. Clears the waiters bit when no process waits.
    #[cold]
    #[inline(never)]
    pub(crate) fn post_waiters(&self, latch: &Latch) {
        if !latch.identity.has_waiters() {
            return; // slept on earlier, but no process waits now
        }
        let posted = self.domain.post_waiters(latch);
        add(&self.line(latch.name()).waiters_woken, u64::from(posted));
    }
}

/// Sets the waiters mark. From then on a process that frees the latch sees the mark, or the caller sees the free word.
/// False where the kernel cannot run the barrier that the first waiter needs.
fn join(latch: &Latch) -> bool {
    if latch.identity.join_waiters() {
        return true;
    }
    let fenced = os::cpu::barrier_in_all(); // pairs with the light barrier where latches are freed
    if fenced {
        latch.identity.settle();
    }
    fenced
}

/// Tries up to `spins` times, whenever the word has none of the bits in `busy`.
fn spin(spins: u32, latch: &Latch, busy: u32, try_it: &mut dyn FnMut() -> bool) -> bool {
    for n in 0..spins {
        if latch.word.peek() & busy == 0 && try_it() {
            return true;
        }
        if n % SPINS_A_HINT == 0 {
            os::cpu::relax();
        }
    }
    false
}

impl Domain {
    /// Puts a sleep algorithm into force, and wakes every process that sleeps by the former one; nobody when it is in
    /// force already.
    pub fn switch_sleep(&self, algorithm: SleepAlgorithm) {
        if self.tunables().sleep_algorithm() == algorithm {
            return;
        }
        self.tunables().set_sleep_algorithm(algorithm);
        // Pairs with the fence in `sleep_once`: this process sees the sleeper, or the sleeper sees the algorithm.
        fence(Ordering::SeqCst);
        for slot in self.used() {
            post_from(slot, TIMED);
            post_from(slot, ASLEEP);
        }
    }

    /// Posts the next waiters of a latch; returns how many.
    pub(crate) fn post_waiters(&self, latch: &Latch) -> u32 {
        if self.shared.tunables.sleep_algorithm() == SleepAlgorithm::ExponentialBackOff {
            let posting = self.shared.tunables.latch_wait_posting();
            if posting == 0 || (posting == 1 && !latch.name().posts_in_back_off()) {
                return 0;
            }
        }
        let address = latch.address();
        // While the word is blocking only an exclusive requester can get the latch, even if a shared one has waited
        // longer.
        let blocking = latch.word.peek() & BLOCKING != 0;
        let may = |slot: &LatchSlot| !blocking || slot.wait_mode.load(Ordering::Relaxed) == Mode::Exclusive as u32;
        let mut first = self.first_waiter(address, may);
        if first.is_none() {
            latch.identity.clear_waiters();
            first = self.first_waiter(address, |_| true);
            if first.is_none() {
                return 0;
            }
            latch.identity.put_waiters_back();
        }
        let Some((slot, _)) = first else { return 0 };
        if latch.word.peek() & EXCLUSIVE != 0 {
            return 0; // another process has got it and will read the bit when it frees the latch
        }
        let mut posted = post_one(slot);
        if slot.wait_mode.load(Ordering::Relaxed) == Mode::Shared as u32 {
            posted += self.post_shared_before_exclusive(address);
        }
        posted
    }

    fn post_shared_before_exclusive(&self, address: u64) -> u32 {
        let is = |mode: Mode| move |slot: &LatchSlot| slot.wait_mode.load(Ordering::Relaxed) == mode as u32;
        let until = self.first_waiter(address, is(Mode::Exclusive)).map_or(u64::MAX, |(_, since)| since);
        self.waiters_of(address)
            .filter(|(slot, since)| is(Mode::Shared)(slot) && *since < until)
            .map(|(slot, _)| post_one(slot))
            .sum()
    }

    /// The waiters of a latch that may be posted, each with the time when it began to wait.
    fn waiters_of(&self, address: u64) -> impl Iterator<Item = (&'static LatchSlot, u64)> {
        let slots = self.used();
        self.waiting[..slots.len()]
            .iter()
            .zip(slots)
            .filter(move |(word, _)| word.load(Ordering::Acquire) == address) // pairs with the Release in `announce`
            .filter(|(_, slot)| slot.sleeping.load(Ordering::Relaxed) != TIMED)
            .map(|(_, slot)| (slot, slot.wait_since_ns.load(Ordering::Relaxed)))
    }

    fn first_waiter(&self, address: u64, which: impl Fn(&LatchSlot) -> bool) -> Option<(&'static LatchSlot, u64)> {
        self.waiters_of(address).filter(|(slot, _)| which(slot)).min_by_key(|(_, since)| *since)
    }

    /// The exclusive holder of a latch, or one of the shared holders: its place, its number and its GETS.
    pub(crate) fn holder_of(&self, latch: &Latch) -> Option<(Where, u32, u64)> {
        let word = latch.word.peek();
        let address = latch.address();
        let slots = self.used();
        let of = |n: usize| slots.get(n)?.holds.iter().find(|h| h.address.load(Ordering::Acquire) == address);
        let n = if word & EXCLUSIVE != 0 {
            ((word & LOW) as usize).checked_sub(1)?
        } else {
            (0..slots.len()).find(|&n| of(n).is_some())?
        };
        let hold = of(n)?;
        let place = Where::from_index((hold.place.load(Ordering::Relaxed) & 0xfff) as usize)?;
        Some((place, n as u32 + 1, hold.gets.load(Ordering::Relaxed)))
    }

    /// The waits for latches: process number, address, place, why, and start in nanoseconds.
    pub fn latch_waits(&self) -> impl Iterator<Item = (u32, u64, Where, u64, u64)> {
        let slots = self.used();
        slots.iter().enumerate().filter_map(move |(n, slot)| {
            let address = self.waiting[n].load(Ordering::Acquire);
            let place = Where::from_index(slot.wait_place.load(Ordering::Relaxed) as usize)?;
            let (why, since) = (slot.wait_why.load(Ordering::Relaxed), slot.wait_since_ns.load(Ordering::Relaxed));
            (address != 0).then_some((n as u32 + 1, address, place, why, since))
        })
    }
}

/// Posts one sleeper, unless it is posted already or awake.
fn post_one(slot: &LatchSlot) -> u32 {
    post_from(slot, ASLEEP)
}

fn post_from(slot: &LatchSlot, stage: u32) -> u32 {
    // Release pairs with the Acquire in `sleep_until_posted`.
    if slot.sleeping.compare_exchange(stage, POSTED, Ordering::Release, Ordering::Relaxed).is_err() {
        return 0;
    }
    os::futex::wake(&slot.sleeping, 1);
    1
}
