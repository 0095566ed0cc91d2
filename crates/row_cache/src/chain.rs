//! The chains of the buckets: search, insertion, removal, eviction and the free list (R1 to R3).
//!
//! The four designs of a lookup read the same chains. Every change is made under the child latch of the cache, and in
//! the designs with mutexes also under the bucket's mutex.

use std::sync::atomic::Ordering;

use latch::word::LifeWord;
use latch::{MutexKind, Where};
use process::{Process, Section};

use crate::key::copy_hash;
use crate::layout::*;
use crate::{Cache, Key, RowCache};

/// Objects examined to find a victim: those that the hand passes, and those that are not in use.
const PASSED_MAX: u64 = 4096;
const VICTIMS_MAX: u64 = 256;
/// Rows that were read and are tried where no other can go.
const SPARED_MAX: usize = 8;

/// The kind of object that is inserted.
#[derive(Clone, Copy)]
pub(crate) enum New<'a> {
    /// An object that the process loads, noted at this index of its line.
    Loading(usize),
    /// A copy with that number, ready.
    Copy(u8, &'a RowValue),
}

impl RowCache {
    /// The index of a key's bucket among the buckets of all caches.
    pub(crate) fn bucket_number(&self, cache: Cache, hash: u64) -> u64 {
        let (first, mask) = self.chains[cache as usize];
        // The upper half of the hash; the lower half of a product mixes fewer bits.
        u64::from(first + ((hash >> 32) as u32 & mask))
    }

    pub(crate) fn bucket(&self, cache: Cache, hash: u64) -> &'static RowBucket {
        &self.buckets[self.bucket_number(cache, hash) as usize]
    }

    /// The state of a key's bucket.
    pub(crate) fn bucket_state(&self, cache: Cache, hash: u64) -> u64 {
        // Acquire as in [`RowCache::state`].
        self.bucket(cache, hash).state.load(Ordering::Acquire)
    }

    /// The states of a key's cache and bucket. If they are equal at two moments, and both [`RowCache::is_settled`], no
    /// commit between has changed the row.
    pub fn key_state(&self, key: &Key<'_>) -> (u64, u64) {
        (self.state(key.cache), self.bucket_state(key.cache, key.hash))
    }

    /// Whether there may be readers by mutex. The caller holds the cache's latch.
    fn has_mutexes(&self, cache: Cache) -> bool {
        self.caches[cache as usize].shuts.load(Ordering::Relaxed) != 0
    }

    /// Keeps readers off a key's chain, in the designs with mutexes. The caller holds the cache's latch and is about to
    /// change the chain.
    pub(crate) fn shut_chain<'a>(&'a self, p: &'a Process, cache: Cache, hash: u64) -> Option<latch::MutexHeld<'a>> {
        self.has_mutexes(cache).then(|| {
            let bucket = self.bucket(cache, hash);
            p.mutex(&bucket.mutex, MutexKind::RowCache, Where::KqrMutexCreate, u64::from(cache.id()))
        })
    }

    /// Searches a chain that cannot change: the caller holds the child latch or the bucket's mutex. At most one object
    /// of the chain matches (R2).
    pub(crate) fn search(&self, cache: Cache, hash: u64, key: &[u8], copy: u8) -> Option<(u64, State)> {
        let mut link = self.bucket(cache, hash).head.load(Ordering::Relaxed);
        while let Some(id) = link.checked_sub(1) {
            let object = &self.objects[id as usize];
            if object.hash.load(Ordering::Relaxed) == hash {
                // A store changes the state under the object's mutex only: Acquire, as in `read_versioned`.
                let found = State::unpack(object.state.load(Ordering::Acquire));
                if found.copy == copy && object.has_key(&found, key) {
                    return Some((id, found));
                }
            }
            link = object.chain.load(Ordering::Relaxed);
        }
        None
    }

    /// Links a new object; `None` when there is no room. The caller holds the child latch.
    pub(crate) fn insert(
        &self,
        p: &Process,
        section: &Section<'_>,
        key: &Key<'_>,
        stamp: u64,
        new: New<'_>,
    ) -> Option<u64> {
        let (copy, value) = match new {
            New::Loading(_) => (0, None),
            New::Copy(copy, value) => (copy, Some(value)),
        };
        let hash = copy_hash(key.hash, copy);
        let chain = self.shut_chain(p, key.cache, hash);
        let pool = p.lock(self.pool, Where::KghAllocate, 0);
        let id = self.take_free(section)?;
        let object = &self.objects[id as usize];
        // The object is not reachable before it is linked, so its words need no undo.
        object.hash.store(hash, Ordering::Relaxed);
        object.stamp.store(stamp, Ordering::Relaxed);
        object.take_mark();
        object.fill(key.bytes, value.map_or(&[], RowValue::bytes));
        let state = State {
            is_ready: value.is_some(),
            existent: value.is_some_and(RowValue::is_existent),
            cache: key.cache as u8,
            copy,
            key_len: key.bytes.len(),
            value_len: value.map_or(0, |v| v.bytes().len()),
        };
        let bucket = self.bucket(key.cache, hash);
        section.set(&object.owner, if value.is_none() { p.number().into() } else { 0 });
        section.set(&object.chain, bucket.head.load(Ordering::Relaxed));
        section.set(&object.state, state.pack());
        section.set(&object.life.0, object.life.next(LifeWord::LINKED));
        section.set(&bucket.head, id + 1);
        if let New::Loading(place) = new {
            section.set(&self.line(p).loading[place], id + 1);
        }
        // Must be final before the pool latch is free: other processes continue from its list.
        section.checkpoint();
        drop(pool);
        drop(chain);
        Some(id)
    }

    /// Takes an object from the free list. The caller also holds the pool latch; the words belong to that latch's
    /// section.
    fn take_free(&self, section: &Section<'_>) -> Option<u64> {
        let control = self.control;
        if let Some(id) = control.free.load(Ordering::Relaxed).checked_sub(1) {
            section.set(&control.free, self.objects[id as usize].chain.load(Ordering::Relaxed));
            return Some(id);
        }
        let fresh = control.fresh.load(Ordering::Relaxed);
        if fresh >= self.objects.len() as u64 {
            return None;
        }
        section.set(&control.fresh, fresh + 1);
        Some(fresh)
    }

    /// Removes an object from its chain, and frees it unless it is pinned. The caller holds the child latch of its
    /// cache.
    pub(crate) fn retire(&self, p: &Process, section: &Section<'_>, id: u64) {
        let object = &self.objects[id as usize];
        let Some(cache) = Cache::from_index(State::unpack(object.state.load(Ordering::Relaxed)).cache.into()) else {
            return;
        };
        let hash = object.hash.load(Ordering::Relaxed);
        let chain = self.shut_chain(p, cache, hash);
        // A reader that found the object before the chain was shut holds the object's mutex while it copies.
        let readers = self
            .has_mutexes(cache)
            .then(|| p.mutex(&object.mutex, MutexKind::RowCache, Where::KqrMutexCreate, cache.id().into()));
        let mut link = &self.bucket(cache, hash).head;
        while let Some(at) = link.load(Ordering::Relaxed).checked_sub(1) {
            if at == id {
                section.set(link, object.chain.load(Ordering::Relaxed));
                break;
            }
            link = &self.objects[at as usize].chain;
        }
        section.set(&object.owner, 0);
        if object.pins.load(Ordering::Relaxed) > 0 {
            section.set(&object.life.0, object.life.next(LifeWord::RETIRED));
            section.checkpoint();
        } else {
            self.put_free(p, section, id);
        }
        drop(readers);
        drop(chain);
    }

    /// Removes the row of a key and its copies from their chains. A row that is being loaded is not stored afterwards.
    pub(crate) fn take_out(&self, p: &Process, section: &process::Section<'_>, key: &Key<'_>) {
        // Also in other designs: after a switch back an old copy would still look current.
        let copies = if self.control.copied.load(Ordering::Relaxed) != 0 { self.hot_copies } else { 0 };
        for copy in 0..=copies {
            if let Some((id, found)) = self.search(key.cache, copy_hash(key.hash, copy), key.bytes, copy)
                && found.is_ready
            {
                self.retire(p, section, id);
            }
        }
    }

    /// Puts an object that is in no chain on the free list, and makes the section's changes final.
    fn put_free(&self, p: &Process, section: &Section<'_>, id: u64) {
        let object = &self.objects[id as usize];
        let pool = p.lock(self.pool, Where::KghFree, 0);
        section.set(&object.life.0, object.life.next(LifeWord::NONE));
        section.set(&object.chain, self.control.free.load(Ordering::Relaxed));
        section.set(&self.control.free, id + 1);
        section.checkpoint();
        LifeWord::ended();
        drop(pool);
    }

    /// Ends an unpinning: frees the object if only the pin kept it.
    pub(crate) fn free_if_retired(&self, p: &Process, section: Section<'_>, id: u64) {
        let object = &self.objects[id as usize];
        let is_retired = object.life.mark() == LifeWord::RETIRED;
        if is_retired && object.pins.load(Ordering::Relaxed) == 0 {
            self.put_free(p, &section, id);
        }
    }

    /// Evicts the next object that was not read since the last pass of the hand (R9). If all that the hand passes were
    /// read, one of the first of them goes. False when no object can go. Latches: none held on entry or return.
    pub(crate) fn evict(&self, p: &Process) -> bool {
        let count = self.objects.len() as u64;
        let (mut tries, mut spared, mut kept) = (0, [0; SPARED_MAX], 0);
        for _ in 0..PASSED_MAX.min(count) {
            let id = self.control.hand.fetch_add(1, Ordering::Relaxed) % count;
            let Some((life, cache)) = self.candidate(id) else { continue };
            let object = &self.objects[id as usize];
            // A row that is out of date has no second chance.
            let is_current = object.stamp.load(Ordering::Relaxed) == self.state(cache);
            if object.take_mark() && is_current {
                if let Some(place) = spared.get_mut(kept) {
                    *place = id;
                    kept += 1;
                }
                continue;
            }
            if self.evict_one(p, id, life, cache) {
                return true;
            }
            tries += 1;
            if tries == VICTIMS_MAX {
                break;
            }
        }
        let mut spared = spared[..kept].iter();
        spared.any(|id| self.candidate(*id).is_some_and(|(life, cache)| self.evict_one(p, *id, life, cache)))
    }

    /// The life and the cache of an object that may be evicted.
    fn candidate(&self, id: u64) -> Option<(u64, Cache)> {
        let object = &self.objects[id as usize];
        let life = object.life.read_begin();
        let state = State::unpack(object.state.load(Ordering::Relaxed));
        let cache = Cache::from_index(state.cache.into())?;
        (LifeWord::mark_of(life) == LifeWord::LINKED && state.is_ready).then_some((life, cache))
    }

    /// Evicts an object if it is still in this life, and not pinned.
    fn evict_one(&self, p: &Process, id: u64, life: u64, cache: Cache) -> bool {
        let object = &self.objects[id as usize];
        let section = p.lock(self.latch(cache), Where::KqrFree, cache.id().into());
        let is_same = object.life.now() == life;
        let state = State::unpack(object.state.load(Ordering::Relaxed));
        let can_go =
            is_same && state.is_ready && state.cache == cache as u8 && object.pins.load(Ordering::Relaxed) == 0;
        if can_go {
            self.retire(p, &section, id);
        }
        can_go
    }

    pub(crate) fn cache_of(&self, id: u64) -> Option<Cache> {
        let object = self.objects.get(id as usize)?;
        Cache::from_index(State::unpack(object.state.load(Ordering::Relaxed)).cache.into())
    }
}
