//! What the cache would have read if it were smaller or larger: `v$db_cache_advice`.
//!
//! A get is followed when a hash of its block's address is below a limit, so that of every so many blocks one is followed, with all its gets:
//! the number of other blocks of the sample between two gets of a block, times so many, is its reuse distance (Waldspurger et al., "Efficient
//! MRC Construction with SHARDS"). A process notes such gets in a ring of its own, with plain stores; every other get costs a multiplication
//! and a comparison. Whoever runs the [`Simulator`], MMNL, takes the notes of all processes, puts them in an order in which each gets on
//! evenly, as they did, and plays them on a list of blocks by last use: a get whose reuse distance is below a size would have been a hit in a
//! cache of that size. Where a ring turns faster than it is read, the simulator comes more often, and then follows fewer blocks.
//!
//! The list is true LRU; the cache is not quite. So what is estimated is how many times the reads of the present size there would be.

use crate::{BufferCache, slot_of};
use process::Process;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use types::Rdba;

/// Sizes that are estimated: tenths of the present one, up to twice as much.
pub const SIZES: usize = 20;
/// The place of the present size.
pub const PRESENT: usize = 9;

/// Gets that a process notes before the first are overwritten: a power of two.
const RING: usize = 512;
/// Words of a cache line.
const LINE: usize = 8;
/// Where the results are behind the limit's own line: gets that were followed, then misses by size.
const RESULTS: usize = LINE;

/// Blocks that are followed of the present size of the cache, at first and at least.
const FOLLOWED: usize = 256;
const FOLLOWED_LEAST: usize = 64;

const SOONEST: Duration = Duration::from_millis(20);
const LATEST: Duration = Duration::from_secs(1);

/// Reserved areas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdviceLayout {
    words: SgaSlice<AtomicU64>,
    counts: SgaSlice<AtomicU64>,
    rings: SgaSlice<AtomicU32>,
}

impl AdviceLayout {
    pub(crate) fn reserve(sga: &mut SgaBuilder, processes: usize) -> AdviceLayout {
        AdviceLayout {
            words: sga.reserve("simulator of the buffer cache", RESULTS + 1 + SIZES),
            counts: sga.reserve("simulator of the buffer cache", processes * LINE),
            rings: sga.reserve("simulator of the buffer cache", processes * RING),
        }
    }
}

/// The notes of all processes, and the results.
pub(crate) struct Advice {
    /// Hashes below it are followed; 0 while there is no advice.
    limit: &'static AtomicU64,
    words: &'static [AtomicU64],
    /// Notes so far, a line for each process.
    counts: &'static [AtomicU64],
    rings: &'static [AtomicU32],
}

/// What was estimated so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheAdvice {
    /// Gets that were followed, times the blocks that each stands for.
    pub gets: u64,
    /// Of these, what a cache of so many tenths of the present size would have read.
    pub misses: [u64; SIZES],
}

#[inline]
fn hash(at: u32) -> u64 {
    u64::from(at.wrapping_mul(0x9E37_79B1))
}

impl Advice {
    pub(crate) fn create(sga: &'static Sga, layout: &AdviceLayout) -> Advice {
        let words = sga.slice(layout.words);
        Advice { limit: &words[0], words, counts: sga.slice(layout.counts), rings: sga.slice(layout.rings) }
    }

    /// Notes a get of a block, if it is one that is followed.
    #[inline]
    pub(crate) fn note(&self, p: &Process, at: Rdba) {
        if hash(at.0) < self.limit.load(Ordering::Relaxed) {
            self.note_followed(slot_of(p), at);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_followed(&self, slot: usize, at: Rdba) {
        let (count, ring) = (&self.counts[slot * LINE], &self.rings[slot * RING..][..RING]);
        let n = count.load(Ordering::Relaxed);
        // A block that is got again and again is got once for the list.
        if n > 0 && ring[(n - 1) as usize % RING].load(Ordering::Relaxed) == at.0 {
            return;
        }
        ring[n as usize % RING].store(at.0, Ordering::Relaxed);
        count.store(n + 1, Ordering::Release);
    }

    fn results(&self) -> &[AtomicU64] {
        &self.words[RESULTS..]
    }

    fn read(&self) -> CacheAdvice {
        let word = |n: usize| self.results()[n].load(Ordering::Relaxed);
        CacheAdvice { gets: word(0), misses: std::array::from_fn(|n| word(1 + n)) }
    }
}

/// The list on which the notes are played. One process has it at a time; it is begun anew by a successor.
#[derive(Debug, Default)]
pub struct Simulator {
    /// Notes that were taken, by process.
    taken: Vec<u64>,
    /// Followed blocks by last use, the latest last.
    list: Vec<u32>,
    /// Blocks that each followed one stands for; 0 before the first round.
    rate: usize,
    every: Duration,
}

impl BufferCache {
    /// What was estimated since the instance started.
    pub fn advice(&self) -> CacheAdvice {
        self.advice.read()
    }

    /// Plays what has been noted, and says when to come again. `on`: whether there is to be advice at all.
    pub fn advise(&self, sim: &mut Simulator, on: bool) -> Duration {
        if !on {
            self.advice.limit.store(0, Ordering::Relaxed);
            *sim = Simulator::default();
            return LATEST;
        }
        if sim.rate == 0 {
            sim.begin(self);
            return sim.every;
        }
        let (batches, is_behind) = sim.take(&self.advice);
        let most = batches.iter().map(Vec::len).max().unwrap_or(0);
        for step in 0..most {
            for batch in &batches {
                let part = |step: usize| step * batch.len() / most;
                batch[part(step)..part(step + 1)].iter().for_each(|at| sim.play(*at, self));
            }
        }
        sim.every = if most > RING / 2 { sim.every / 2 } else { sim.every * 2 }.clamp(SOONEST, LATEST);
        if is_behind && sim.every == SOONEST {
            sim.follow_fewer(self);
        }
        sim.every
    }
}

impl Simulator {
    fn limit(&self) -> u64 {
        (1 << 32) / self.rate.max(1) as u64
    }

    /// Begins with the blocks that are in the cache: what was read before anybody looked is no miss when it is got again.
    fn begin(&mut self, cache: &BufferCache) {
        self.rate = (cache.buffers() / FOLLOWED).max(1);
        self.every = LATEST;
        let limit = self.limit();
        let blocks = cache.headers.iter().map(|h| h.block()).filter(|at| !at.is_none());
        self.list = blocks.map(|at| at.0).filter(|at| hash(*at) < limit).collect();
        self.taken = cache.advice.counts.iter().step_by(LINE).map(|n| n.load(Ordering::Acquire)).collect();
        cache.advice.limit.store(limit, Ordering::Relaxed);
    }

    /// The notes since the last time by process, and whether some were overwritten before.
    fn take(&mut self, advice: &Advice) -> (Vec<Vec<u32>>, bool) {
        let (mut batches, mut is_behind) = (Vec::new(), false);
        for (slot, taken) in self.taken.iter_mut().enumerate() {
            let now = advice.counts[slot * LINE].load(Ordering::Acquire);
            let first = (*taken).max(now.saturating_sub(RING as u64));
            is_behind |= first > *taken;
            *taken = now;
            if first < now {
                let ring = &advice.rings[slot * RING..][..RING];
                batches.push((first..now).map(|n| ring[n as usize % RING].load(Ordering::Relaxed)).collect());
            }
        }
        (batches, is_behind)
    }

    fn follow_fewer(&mut self, cache: &BufferCache) {
        if cache.buffers() / (2 * self.rate) < FOLLOWED_LEAST {
            return;
        }
        self.rate *= 2;
        let limit = self.limit();
        self.list.retain(|at| hash(*at) < limit);
        cache.advice.limit.store(limit, Ordering::Relaxed);
    }

    /// A get of a block.
    fn play(&mut self, at: u32, cache: &BufferCache) {
        if hash(at) >= self.limit() {
            return; // noted before fewer were followed
        }
        let buffers = cache.buffers();
        let known = self.list.iter().rposition(|have| *have == at);
        let distance = known.map(|place| (self.list.len() - 1 - place) * self.rate);
        let results = cache.advice.results();
        // One process adds to the results: nothing is lost between load and store.
        let add = |n: usize| results[n].store(results[n].load(Ordering::Relaxed) + self.rate as u64, Ordering::Relaxed);
        add(0);
        (0..SIZES).filter(|n| distance.is_none_or(|d| d >= buffers * (n + 1) / 10)).for_each(|n| add(1 + n));
        if let Some(place) = known {
            self.list.remove(place);
        } else if self.list.len() > 2 * buffers / self.rate + 1 {
            self.list.remove(0);
        }
        self.list.push(at);
    }
}
