//! Estimated misses of a cache of another size, for the buffer cache and the library cache.
//!
//! A get is followed when a hash of its key is below a limit, so one key in `rate` is followed, with all its gets. The
//! number of other sampled keys between two gets of a key, times `rate`, is its reuse distance (Waldspurger et al.,
//! "Efficient MRC Construction with SHARDS"). A process notes such gets in its own ring, with plain stores; every other
//! get costs a multiplication and a comparison with a word that is rarely written. MMNL runs the [`Simulator`]: it
//! takes the notes of all processes, interleaves them evenly, and plays them on a list of keys by last use. A get whose
//! reuse distance is below a size would have been a hit in a cache of that size. When a ring is overwritten before it
//! is read, the simulator runs more often, and then follows fewer keys.
//!
//! The list is true LRU; the caches are not quite. The estimate is therefore a ratio: the misses of a size over those
//! of the present size.

#![deny(unsafe_code)]

use process::Process;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Sizes that are estimated, from small to large.
pub const REUSE_SIZES: usize = 20;

/// Gets that a process notes before the oldest are overwritten: a power of two.
const RING: usize = 512;
/// Words of a cache line.
const LINE: usize = 8;
/// Index of the results, after the limit's own line: followed gets, then misses by size.
const RESULTS: usize = LINE;

/// Index of the number of keys on the list, after the results.
const KNOWN: usize = RESULTS + 1 + REUSE_SIZES;

const SOONEST: Duration = Duration::from_millis(20);
const LATEST: Duration = Duration::from_secs(1);

/// Reserved areas.
#[derive(Clone, Copy, Debug)]
pub struct ReuseLayout {
    words: SgaSlice<AtomicU64>,
    counts: SgaSlice<AtomicU64>,
    rings: SgaSlice<AtomicU32>,
}

impl ReuseLayout {
    /// Reserves room for the notes of `processes` processes, under the name `area`.
    pub fn reserve(sga: &mut SgaBuilder, area: &'static str, processes: usize) -> ReuseLayout {
        ReuseLayout {
            words: sga.reserve(area, KNOWN + 1),
            counts: sga.reserve(area, processes * LINE),
            rings: sga.reserve(area, processes * RING),
        }
    }
}

/// The notes of all processes about one cache, and the results.
pub struct Reuse {
    /// Hashes below it are followed; 0 while there is no advice.
    limit: &'static AtomicU64,
    words: &'static [AtomicU64],
    /// Notes so far, a line for each process.
    counts: &'static [AtomicU64],
    rings: &'static [AtomicU32],
}

/// The estimates so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reused {
    /// Followed gets, times the keys that each stands for.
    pub gets: u64,
    /// Of these, the misses of a cache of each size.
    pub misses: [u64; REUSE_SIZES],
    /// Keys that a cache of the largest size would have now.
    pub known: u64,
}

/// Whether gets are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Following {
    /// No; no memory is kept for it.
    Off,
    /// No; but all the memory it needs is allocated.
    Ready,
    On,
}

/// The cache as the simulator sees it: the capacity of each size, from small to large, and the present contents.
pub struct Simulated<'a> {
    pub sizes: [usize; REUSE_SIZES],
    /// The index of the present size.
    pub present: usize,
    /// Followed keys of the present size: at first, and at least.
    pub followed: (usize, usize),
    pub keys: &'a mut dyn Iterator<Item = u32>,
}

impl Simulated<'_> {
    fn present(&self) -> usize {
        self.sizes[self.present]
    }

    fn largest(&self) -> usize {
        self.sizes[REUSE_SIZES - 1]
    }
}

#[inline]
fn hash(key: u32) -> u64 {
    u64::from(key.wrapping_mul(0x9E37_79B1))
}

impl Reuse {
    /// Finds its areas; no get is followed at first.
    pub fn create(sga: &'static Sga, layout: &ReuseLayout) -> Reuse {
        let words = sga.slice(layout.words);
        Reuse { limit: &words[0], words, counts: sga.slice(layout.counts), rings: sga.slice(layout.rings) }
    }

    /// Notes a get of a key if the key is followed. Latches: none; writes the process's own lines only.
    #[inline]
    pub fn note(&self, p: &Process, key: u32) {
        if hash(key) < self.limit.load(Ordering::Relaxed) {
            self.note_followed(p.number() as usize - 1, key);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_followed(&self, slot: usize, key: u32) {
        let (count, ring) = (&self.counts[slot * LINE], &self.rings[slot * RING..][..RING]);
        let n = count.load(Ordering::Relaxed);
        // Consecutive gets of one key are noted once.
        if n > 0 && ring[(n - 1) as usize % RING].load(Ordering::Relaxed) == key {
            return;
        }
        ring[n as usize % RING].store(key, Ordering::Relaxed);
        count.store(n + 1, Ordering::Release);
    }

    fn results(&self) -> &[AtomicU64] {
        &self.words[RESULTS..]
    }

    /// The estimates since the instance started.
    pub fn read(&self) -> Reused {
        let word = |n: usize| self.results()[n].load(Ordering::Relaxed);
        let known = self.words[KNOWN].load(Ordering::Relaxed);
        Reused { gets: word(0), misses: std::array::from_fn(|n| word(1 + n)), known }
    }

    /// Plays the new notes and returns the time until the next call.
    pub fn advise(&self, sim: &mut Simulator, following: Following, cache: Simulated<'_>) -> Duration {
        if following != Following::On {
            self.limit.store(0, Ordering::Relaxed);
            sim.stop(following == Following::Ready, &cache);
            return LATEST;
        }
        if sim.rate == 0 {
            sim.begin(self, cache);
            return sim.every;
        }
        let (batches, is_behind) = sim.take(self);
        let most = batches.iter().map(Vec::len).max().unwrap_or(0);
        for step in 0..most {
            for batch in &batches {
                let part = |step: usize| step * batch.len() / most;
                batch[part(step)..part(step + 1)].iter().for_each(|key| sim.play(*key, self, &cache));
            }
        }
        self.words[KNOWN].store(sim.known() as u64, Ordering::Relaxed);
        sim.every = if most > RING / 2 { sim.every / 2 } else { sim.every * 2 }.clamp(SOONEST, LATEST);
        if is_behind && sim.every == SOONEST {
            sim.follow_fewer(self, &cache);
        }
        sim.every
    }
}

/// The list on which the notes are played. One process has it at a time; a successor starts a new one.
#[derive(Debug, Default)]
pub struct Simulator {
    /// Notes taken so far, by process.
    taken: Vec<u64>,
    /// Followed keys by last use, the latest last.
    list: Vec<u32>,
    /// Keys that each followed one stands for; 0 before the first round.
    rate: usize,
    every: Duration,
}

impl Simulator {
    /// Estimated keys in the cache, from the followed ones.
    fn known(&self) -> usize {
        self.list.len() * self.rate
    }

    fn limit(&self) -> u64 {
        (1 << 32) / self.rate.max(1) as u64
    }

    /// Ends the simulation. With `keep` the memory for the next one stays allocated.
    fn stop(&mut self, keep: bool, cache: &Simulated<'_>) {
        let (list, taken) = (std::mem::take(&mut self.list), std::mem::take(&mut self.taken));
        *self = Simulator::default();
        if keep {
            (self.list, self.taken) = (list, taken);
            self.list.clear();
            self.taken.clear();
            self.list.reserve(cache.largest().min(2 * cache.followed.0) + 2);
        }
    }

    /// Begins with the keys that are in the cache: a get of a block that was cached before the simulation is no miss.
    fn begin(&mut self, reuse: &Reuse, cache: Simulated<'_>) {
        self.rate = (cache.present() / cache.followed.0).max(1);
        self.every = LATEST;
        let limit = self.limit();
        self.list.clear();
        self.list.extend(cache.keys.filter(|key| hash(*key) < limit));
        self.taken = reuse.counts.iter().step_by(LINE).map(|n| n.load(Ordering::Acquire)).collect();
        reuse.limit.store(limit, Ordering::Relaxed);
    }

    /// The notes since the last time, by process, and whether some were overwritten before they were read.
    fn take(&mut self, reuse: &Reuse) -> (Vec<Vec<u32>>, bool) {
        let (mut batches, mut is_behind) = (Vec::new(), false);
        for (slot, taken) in self.taken.iter_mut().enumerate() {
            let now = reuse.counts[slot * LINE].load(Ordering::Acquire);
            let first = (*taken).max(now.saturating_sub(RING as u64));
            is_behind |= first > *taken;
            *taken = now;
            if first < now {
                let ring = &reuse.rings[slot * RING..][..RING];
                batches.push((first..now).map(|n| ring[n as usize % RING].load(Ordering::Relaxed)).collect());
            }
        }
        (batches, is_behind)
    }

    fn follow_fewer(&mut self, reuse: &Reuse, cache: &Simulated<'_>) {
        if cache.present() / (2 * self.rate) < cache.followed.1 {
            return;
        }
        self.rate *= 2;
        let limit = self.limit();
        self.list.retain(|key| hash(*key) < limit);
        reuse.limit.store(limit, Ordering::Relaxed);
    }

    /// Plays a get of a key.
    fn play(&mut self, key: u32, reuse: &Reuse, cache: &Simulated<'_>) {
        if hash(key) >= self.limit() {
            return; // noted before the limit was lowered
        }
        let known = self.list.iter().rposition(|have| *have == key);
        let distance = known.map(|place| (self.list.len() - 1 - place) * self.rate);
        let results = reuse.results();
        // Only one process adds to the results, so a load and a store lose nothing.
        let add = |n: usize| results[n].store(results[n].load(Ordering::Relaxed) + self.rate as u64, Ordering::Relaxed);
        add(0);
        let is_missed = |n: &usize| distance.is_none_or(|d| d >= cache.sizes[*n]);
        (0..REUSE_SIZES).filter(is_missed).for_each(|n| add(1 + n));
        if let Some(place) = known {
            self.list.remove(place);
        } else if self.list.len() > cache.largest() / self.rate + 1 {
            self.list.remove(0);
        }
        self.list.push(key);
    }
}
