//! The shared data of the latches of one instance.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::designs::{DesignWord, Structure};
use crate::ring::{RecordLine, RingHead, RingView, Rings};
use crate::word::Mark;
use crate::{Generation, LatchName, Where};

/// The most holds that a process has at a time.
pub(crate) const HOLDS: usize = 16;

/// How a process sleeps after spinning without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum SleepAlgorithm {
    /// Join a first-in first-out list of waiters and sleep until posted: 9.2 and later.
    #[default]
    WaitList,
    /// Sleep for growing intervals and try after each: 8i.
    ExponentialBackOff,
}

/// Hidden parameters of latches and mutexes, changed at run time by `ALTER SYSTEM`.
#[derive(Debug)]
#[repr(C)]
pub struct Tunables {
    generation: AtomicU32,
    spin_count: AtomicU32,
    class_spin: [AtomicU32; 8],
    sleep_algorithm: AtomicU32,
    max_exponential_sleep_cs: AtomicU32,
    max_sleep_holding_latch_cs: AtomicU32,
    latch_wait_posting: AtomicU32,
    watchdog_ms: AtomicU32,
    versioned_tries: AtomicU32,
    mutex_spin_count: AtomicU32,
    mutex_wait_scheme: AtomicU32,
    mutex_wait_time: AtomicU32,
}

macro_rules! tunable {
    ($( $(#[$m:meta])* $get:ident, $set:ident; )*) => { $(
        $(#[$m])*
        #[must_use]
        pub fn $get(&self) -> u32 {
            self.$get.load(Ordering::Relaxed)
        }
        #[doc = concat!("Sets what [`Self::", stringify!($get), "`] returns.")]
        pub fn $set(&self, value: u32) {
            self.$get.store(value, Ordering::Relaxed);
        }
    )* };
}

impl Tunables {
    tunable! {
        /// `_spin_count` (2000): spins for a shared-capable latch are twice as many.
        spin_count, set_spin_count;
        /// `_max_exponential_sleep` in centiseconds (200).
        max_exponential_sleep_cs, set_max_exponential_sleep_cs;
        /// `_max_sleep_holding_latch` in centiseconds (4).
        max_sleep_holding_latch_cs, set_max_sleep_holding_latch_cs;
        /// `_latch_wait_posting` (1): 0 never posts with back-off, 1 for library cache and shared pool, 2 for all.
        latch_wait_posting, set_latch_wait_posting;
        /// Milliseconds after which a sleeper wakes without a post (100).
        watchdog_ms, set_watchdog_ms;
        /// Failed checks after which a versioned read gets the latch (8).
        versioned_tries, set_versioned_tries;
        /// `_mutex_spin_count` (255).
        mutex_spin_count, set_mutex_spin_count;
        /// `_mutex_wait_scheme` (2): 0 yields, 1 sleeps a fixed time, 2 backs off up to a time.
        mutex_wait_scheme, set_mutex_wait_scheme;
        /// `_mutex_wait_time` (1): milliseconds with scheme 1, the most centiseconds with scheme 2.
        mutex_wait_time, set_mutex_wait_time;
    }

    /// The generation whose names, events and numbers are in force.
    #[must_use]
    pub fn generation(&self) -> Generation {
        Generation::from_number(self.generation.load(Ordering::Relaxed))
    }

    /// Sets the generation, and the sleep algorithm that goes with it. Latches must be formatted afterwards.
    pub fn set_generation(&self, generation: Generation) {
        self.generation.store(generation as u32, Ordering::Relaxed);
        self.set_sleep_algorithm(if generation < Generation::V9_2 {
            SleepAlgorithm::ExponentialBackOff
        } else {
            SleepAlgorithm::WaitList
        });
    }

    /// How a process sleeps after spinning without success.
    #[must_use]
    pub fn sleep_algorithm(&self) -> SleepAlgorithm {
        match self.sleep_algorithm.load(Ordering::Relaxed) {
            0 => SleepAlgorithm::WaitList,
            _ => SleepAlgorithm::ExponentialBackOff,
        }
    }

    /// Chooses the sleep algorithm; while processes run, [`Domain::switch_sleep`] does.
    pub fn set_sleep_algorithm(&self, algorithm: SleepAlgorithm) {
        self.sleep_algorithm.store(algorithm as u32, Ordering::Relaxed);
    }

    /// Spins of an exclusive latch of this class: `_latch_class_n` (20000).
    #[must_use]
    pub fn class_spin(&self, class: usize) -> u32 {
        self.class_spin[class % 8].load(Ordering::Relaxed)
    }

    /// Sets the spins of a class.
    pub fn set_class_spin(&self, class: usize, spins: u32) {
        self.class_spin[class % 8].store(spins, Ordering::Relaxed);
    }

    pub(crate) fn watchdog(&self) -> Duration {
        Duration::from_millis(u64::from(self.watchdog_ms().max(1)))
    }

    fn format(&self, generation: Generation) {
        self.set_generation(generation);
        self.set_spin_count(2000);
        (0..8).for_each(|class| self.set_class_spin(class, 20_000));
        self.set_max_exponential_sleep_cs(200);
        self.set_max_sleep_holding_latch_cs(4);
        self.set_latch_wait_posting(1);
        self.set_watchdog_ms(100);
        self.set_versioned_tries(8);
        self.set_mutex_spin_count(255);
        self.set_mutex_wait_scheme(2);
        self.set_mutex_wait_time(1);
    }
}

/// Misses and sleeps of one place. Changed by atomic additions, off the fast paths only.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct PlaceLine {
    pub no_wait_failures: AtomicU64,
    pub sleeps: AtomicU64,
    pub waiter_sleeps: AtomicU64,
    pub long_holds: AtomicU64,
    pub mutex_sleeps: AtomicU64,
    pub mutex_wait_ns: AtomicU64,
}

/// The shared head of a domain.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct LatchShared {
    pub(crate) tunables: Tunables,
    /// The recording: its epoch in the high half; in the low half N, where one call in N is sampled, or 0.
    recording: AtomicU64,
    /// One more than the highest slot ever used.
    pub(crate) high: AtomicU32,
    /// The designs in force of the structures that can be closed.
    pub(crate) designs: [DesignWord; Structure::CLOSED.len()],
    pub(crate) places: [PlaceLine; Where::COUNT],
    /// Number of mutex waits that slept so far: the next is written to the line of this number, modulo the count of
    /// lines.
    pub(crate) mutex_waits: AtomicU64,
    pub(crate) mutex_history: [MutexWaitLine; MUTEX_HISTORY],
}

/// Mutex waits kept in the history.
pub(crate) const MUTEX_HISTORY: usize = 256;

/// A mutex wait that slept. Written once a wait, after it.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct MutexWaitLine {
    /// Twice the number of the wait plus one while it is being written, plus two afterwards.
    pub sequence: AtomicU64,
    pub wall_ns: AtomicU64,
    pub place: AtomicU64,
    pub gets: AtomicU64,
    pub sleeps: AtomicU64,
    /// The waiting process in the high half; the exclusive holder in the low half.
    pub processes: AtomicU64,
    pub value: AtomicU64,
    pub idn: AtomicU64,
    pub address: AtomicU64,
    pad: [AtomicU64; 7],
}

/// One latch or mutex that a process holds or is about to get. Written by that process only.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Hold {
    /// The address; 0 when there is none. Stored last and cleared first.
    pub address: AtomicU64,
    pub why: AtomicU64,
    /// GETS of the latch when this hold began.
    pub gets: AtomicU64,
    /// Bits 0–11 the place, 12–15 the mode, 16–19 the stage, 24–31 the latch name.
    pub place: AtomicU32,
    /// The latch's identity: the child number is in it.
    pub child: AtomicU32,
}

/// The counts of one process for one latch name: gets that are not counted in the latch.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct NameLine {
    pub gets: AtomicU64,
    pub misses: AtomicU64,
    pub sleeps: AtomicU64,
    pub spin_gets: AtomicU64,
    pub wait_ns: AtomicU64,
    pub immediate_gets: AtomicU64,
    pub immediate_misses: AtomicU64,
    pub waiters_woken: AtomicU64,
    pub waits_holding_latch: AtomicU64,
    pub fallbacks: AtomicU64,
}

/// The latch data of one process: holds, current wait, counts. The counts continue across owners of the slot, so totals
/// need no folding.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct LatchSlot {
    pub(crate) holds: [Hold; HOLDS],
    /// 0 not waiting, 1 asleep, 2 posted, 3 asleep until its time is up: the futex that the process sleeps on.
    pub(crate) sleeping: AtomicU32,
    pub(crate) wait_mode: AtomicU32,
    pub(crate) wait_place: AtomicU32,
    pub(crate) claimed: AtomicU32,
    pub(crate) wait_since_ns: AtomicU64,
    pub(crate) wait_why: AtomicU64,
    /// Processes that the slot has had, this one included.
    pub(crate) owners: AtomicU64,
    /// Misses of latches, mutexes and versioned reads of these processes, and their sleeps.
    pub(crate) misses: AtomicU64,
    pub(crate) sleeps: AtomicU64,
    /// For each structure that the process is inside of, the word of the design that it entered by; else 0.
    pub(crate) inside: [Mark; Structure::COUNT],
    pub(crate) lines: [NameLine; LatchName::COUNT],
}

// SAFETY: `repr(C)`, atomic words only, no pointers.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for LatchShared {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl os::SharedLayout for LatchSlot {}

/// The latches of one instance: shared tunables and one slot for every process. Cheap to copy; all processes use the
/// same.
#[derive(Clone, Copy, Debug)]
pub struct Domain {
    pub(crate) shared: &'static LatchShared,
    pub(crate) slots: &'static [LatchSlot],
    /// By slot: the address of the latch that the process waits for, or 0. Kept outside the slots, so that a releaser
    /// reads the words of eight processes in one cache line.
    pub(crate) waiting: &'static [AtomicU64],
    pub(crate) rings: Rings,
}

impl Domain {
    /// Takes zero-filled shared memory as a domain, and gives the tunables their defaults. Run once, before any process
    /// joins.
    ///
    /// # Panics
    /// `slots` and `waiting` are not equally long, or longer than 65,535.
    #[must_use]
    pub fn create(
        shared: &'static LatchShared,
        slots: &'static [LatchSlot],
        waiting: &'static [AtomicU64],
        generation: Generation,
    ) -> Self {
        assert_eq!(slots.len(), waiting.len(), "every slot has its word");
        assert!(slots.len() <= crate::word::LOW as usize, "a process number fits the latch word");
        shared.tunables.format(generation);
        let _ = os::cpu::join_barriers();
        Self { shared, slots, waiting, rings: Rings::NONE }
    }

    /// The same domain with a ring for each slot; the rings share `lines` equally. Called once, before any process
    /// joins.
    ///
    /// # Panics
    /// `heads` are not as many as the slots.
    #[must_use]
    pub fn with_rings(self, heads: &'static [RingHead], lines: &'static [RecordLine]) -> Self {
        assert_eq!(heads.len(), self.slots.len(), "every slot has its ring");
        Self { rings: Rings { heads, lines }, ..self }
    }

    /// Begins a recording that samples one call in `every`, or ends the one that runs if `every` is 0: no call is
    /// sampled any more, and the open ones are recorded up to their end ([`Self::open_calls`]). The rings of an ended
    /// recording can be read until the next begins. Without rings nothing is recorded.
    pub fn record(&self, every: u32) {
        let every = if self.ring_capacity() == 0 { 0 } else { every };
        let next = |word: u64| {
            let epoch = (word >> 32) as u32;
            // Epoch 0 is that of rings without records.
            let epoch = if every == 0 { epoch } else { epoch.wrapping_add(1).max(1) };
            Some(u64::from(epoch) << 32 | u64::from(every))
        };
        let _ = self.shared.recording.fetch_update(Ordering::Release, Ordering::Relaxed, next);
    }

    /// The epoch of the last recording, and its N: 0 when it has ended.
    #[must_use]
    pub fn recording(&self) -> (u32, u32) {
        let word = self.recording_word();
        ((word >> 32) as u32, word as u32)
    }

    #[inline]
    pub(crate) fn recording_word(&self) -> u64 {
        self.shared.recording.load(Ordering::Relaxed)
    }

    /// The rings of the last recording.
    #[must_use]
    pub fn recorded(&self) -> Vec<RingView> {
        self.rings.read(self.recording().0)
    }

    /// The processes that are in a sampled call of the last recording.
    pub fn open_calls(&self) -> impl Iterator<Item = u32> {
        self.rings.open(self.recording().0)
    }

    /// Misses and sleeps of the processes that slot `number - 1` has had, of latches, mutexes and versioned reads; for
    /// differences.
    #[must_use]
    pub fn waits_of(&self, number: u32) -> Option<(u64, u64)> {
        let slot = self.slots.get((number as usize).checked_sub(1)?)?;
        Some((slot.misses.load(Ordering::Relaxed), slot.sleeps.load(Ordering::Relaxed)))
    }

    /// Records that fit the ring of a session.
    #[must_use]
    pub fn ring_capacity(&self) -> usize {
        self.rings.capacity()
    }

    /// A domain for `processes` threads and forked children, in new memory that is never unmapped.
    ///
    /// # Errors
    /// The memory cannot be allocated.
    pub fn anonymous(processes: usize, generation: Generation) -> os::OsResult<Self> {
        let head = os::memory::shared_slice::<LatchShared>(1)?;
        let slots = os::memory::shared_slice(processes)?;
        Ok(Self::create(&head[0], slots, os::memory::shared_slice(processes)?, generation))
    }

    /// The hidden parameters.
    #[must_use]
    pub fn tunables(&self) -> &'static Tunables {
        &self.shared.tunables
    }

    /// Number of slots: the most processes at a time.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The slots used so far. The others were never written.
    pub(crate) fn used(&self) -> &'static [LatchSlot] {
        let high = self.shared.high.load(Ordering::Acquire) as usize; // pairs with the Release in `raise_high`
        &self.slots[..high.min(self.slots.len())]
    }

    pub(crate) fn raise_high(&self, number: u32) {
        self.shared.high.fetch_max(number, Ordering::Release); // pairs with the Acquire in `used`
    }

    pub(crate) fn place(&self, at: Where) -> &'static PlaceLine {
        &self.shared.places[at as usize]
    }
}
