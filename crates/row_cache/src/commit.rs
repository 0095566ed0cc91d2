//! The part of the row cache in a commit that changes the dictionary.
//!
//! Every cache has a state word: the number of changes so far, and the number of commits in progress. A row is current
//! while its stamp equals the state.
//!
//! 1. A session that reads the dictionary to store a row reads the state first and takes its snapshot afterwards
//!    ([`crate::Load`] does).
//! 2. A committing transaction raises the lower part of the state before its SCN can be seen
//!    ([`RowCache::before_visible`]) and moves the state on afterwards ([`RowCache::after`]), both under the child
//!    latch, under which rows are stored.
//! 3. A row is used only if its stamp equals the state, and stored only if the state has not changed since step 1 (R6).
//!
//! A snapshot that sees a commit was taken after the first half of step 2, so no older row is used beside it. A
//! snapshot that does not see the commit was taken before the second half, so the row that it reads would be stored
//! under a state that the cache has left. Between the halves the cache is not used: sessions read the dictionary. A
//! rollback changes no state.
//!
//! A transaction that knows the keys it changes closes only those ([`RowCache::announce`]). Every bucket has a state
//! word of the same kind, which only loads read. Before its SCN can be seen the transaction raises the states of the
//! buckets of its keys and removes the rows of these keys from their chains; afterwards it moves the states on. A row
//! in a chain can be used at any time, because rows that change are removed. A row is stored only if the state of its
//! bucket has not changed since step 1. Rows of other keys stay, even in the same bucket. If a transaction has more
//! keys than a process can note, the caches with the most keys are closed as a whole.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use latch::Where;
use process::{CleanupOrder, Process, Processes};

use crate::layout::{BUCKETS_MAX, PENDING, RowProcess};
use crate::{Cache, Key, RowCache, add};

/// A set of caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSet(u128);

const _: () = assert!(Cache::COUNT <= 128);

impl CacheSet {
    /// The set of these caches.
    pub fn of(caches: &[Cache]) -> CacheSet {
        CacheSet(caches.iter().fold(0, |bits, cache| bits | 1 << *cache as u32))
    }

    /// The union with another set.
    #[must_use]
    pub fn and(self, other: CacheSet) -> CacheSet {
        CacheSet(self.0 | other.0)
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn iter(self) -> impl Iterator<Item = Cache> {
        Cache::all().filter(move |cache| self.0 >> *cache as u32 & 1 != 0)
    }
}

/// The keys that a transaction changes: for each cache, either all of its changed keys or none.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    keys: HashSet<(Cache, Vec<u8>)>,
}

impl Changed {
    /// Adds a key whose row changes.
    pub fn add(&mut self, cache: Cache, key: &[u8]) {
        self.keys.insert((cache, key.to_vec()));
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl RowCache {
    /// First half of a commit by keys, instead of [`RowCache::before_visible`] for the caches of these keys: only the
    /// rows of the keys are no longer used.
    ///
    /// Must be followed by [`RowCache::after`], also when the commit fails. Latches: the child latches, one after the
    /// other.
    pub fn announce(&self, p: &Process, changed: &Changed) {
        let line = self.line(p);
        let mut keys: Vec<(u64, Key<'_>)> = Vec::new();
        for (cache, bytes) in &changed.keys {
            let key = Key::new(*cache, bytes);
            keys.push((self.bucket_number(*cache, key.hash), key));
        }
        keys.sort_unstable_by_key(|(bucket, key)| (*bucket, key.hash));
        let mut buckets: Vec<(u64, Cache)> = keys.iter().map(|(bucket, key)| (*bucket, key.cache)).collect();
        buckets.dedup();
        // Without room for all buckets, the caches with the most buckets are closed as a whole.
        let mut counts: HashMap<Cache, usize> = HashMap::new();
        buckets.iter().for_each(|(_, cache)| *counts.entry(*cache).or_default() += 1);
        let mut caches: Vec<(usize, Cache)> = counts.into_iter().map(|(cache, count)| (count, cache)).collect();
        caches.sort_unstable();
        let mut room = BUCKETS_MAX;
        caches.retain(|(count, _)| {
            let fits = *count <= room;
            room -= if fits { *count } else { 0 };
            fits
        });
        let told = CacheSet::of(&caches.iter().map(|(_, cache)| *cache).collect::<Vec<_>>());
        buckets.retain(|(_, cache)| told.0 >> *cache as u32 & 1 != 0);
        for (word, bits) in line.keyed.iter().zip([told.0 as u64, (told.0 >> 64) as u64]) {
            word.store(bits, Ordering::Relaxed);
        }
        for (slot, (bucket, cache)) in line.buckets.iter().zip(&buckets) {
            let (of_bucket, cache) = (|| keys.iter().filter(|(of, _)| of == bucket).map(|(_, key)| key), *cache);
            let section = p.lock(self.latch(cache), Where::KqrScan, cache.id().into());
            let state = &self.buckets[*bucket as usize].state;
            section.set(slot, (cache as u64) << 32 | (bucket + 1));
            section.set(state, state.load(Ordering::Relaxed) + 1);
            section.checkpoint();
            for key in of_bucket() {
                self.take_out(p, &section, key);
            }
        }
    }

    /// First half of a commit, before its SCN can be seen: rows of these caches are no longer used.
    ///
    /// Must be followed by [`RowCache::after`], also when the commit fails. Latches: the child latches, one after the
    /// other.
    pub fn before_visible(&self, p: &Process, caches: CacheSet) {
        let line = self.line(p);
        for cache in caches.iter() {
            let keyed = line.keyed[cache as usize / 64].load(Ordering::Relaxed);
            if keyed >> (cache as usize % 64) & 1 != 0 {
                continue;
            }
            let (word, bit) = (&line.pending[cache as usize / 64], 1 << (cache as usize % 64));
            let section = p.lock(self.latch(cache), Where::KqrScan, cache.id().into());
            if word.load(Ordering::Relaxed) & bit == 0 {
                let state = &self.caches[cache as usize].state;
                section.set(word, word.load(Ordering::Relaxed) | bit);
                section.set(state, state.load(Ordering::Relaxed) + 1);
                self.control.closings.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    /// Second half of a commit: takes back the pending counts; every older row is out of date.
    ///
    /// Latches: the child latches of the caches and buckets that were raised.
    pub fn after(&self, p: &Process) {
        self.settle(p, self.line(p));
    }

    fn settle(&self, p: &Process, line: &RowProcess) {
        if line.keyed.iter().any(|word| word.load(Ordering::Relaxed) != 0) {
            self.settle_buckets(p, line);
        }
        if line.pending.iter().all(|word| word.load(Ordering::Relaxed) == 0) {
            return;
        }
        for cache in Cache::all() {
            let (word, bit) = (&line.pending[cache as usize / 64], 1 << (cache as usize % 64));
            if word.load(Ordering::Relaxed) & bit == 0 {
                continue;
            }
            let section = p.lock(self.latch(cache), Where::KqrScan, cache.id().into());
            let state = &self.caches[cache as usize].state;
            self.control.closings.fetch_add(1, Ordering::AcqRel);
            section.set(word, word.load(Ordering::Relaxed) & !bit);
            section.set(state, state.load(Ordering::Relaxed) + PENDING);
            drop(section);
            let figures = &self.line(p).figures[cache as usize];
            add(&figures.modifications, 1);
            add(&figures.flushes, 1);
        }
    }

    fn settle_buckets(&self, p: &Process, line: &RowProcess) {
        for slot in &line.buckets {
            let word = slot.load(Ordering::Relaxed);
            let bucket = (word & 0xffff_ffff).checked_sub(1).and_then(|at| self.buckets.get(at as usize));
            let (Some(cache), Some(bucket)) = (Cache::from_index((word >> 32) as usize), bucket) else { continue };
            let section = p.lock(self.latch(cache), Where::KqrScan, cache.id().into());
            section.set(slot, 0);
            section.set(&bucket.state, bucket.state.load(Ordering::Relaxed) + PENDING);
            drop(section);
            let figures = &self.line(p).figures[cache as usize];
            add(&figures.modifications, 1);
            add(&figures.flushes, 1);
        }
        line.keyed.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Registers the clean-up that PMON runs after the transactions of dead processes have ended: until then a commit
    /// that was interrupted by a death keeps its caches closed.
    pub fn register_with(&'static self, all: &Processes) {
        all.on_death(CleanupOrder::Enqueues, "row cache", move |p, dead| self.cleanup(p, dead));
    }

    /// Treats a commit that its process died in as one that happened, and takes back its pending counts.
    pub(crate) fn cleanup(&self, p: &Process, dead: u32) {
        let Some(line) = self.processes.get(dead as usize - 1) else { return };
        self.settle(p, line);
        self.drop_holds(p, line);
    }

    /// `ALTER SYSTEM FLUSH SHARED_POOL`: removes every row of all caches.
    pub fn flush(&self, p: &Process) {
        let all: Vec<Cache> = Cache::all().collect();
        self.before_visible(p, CacheSet::of(&all));
        self.after(p);
    }
}
