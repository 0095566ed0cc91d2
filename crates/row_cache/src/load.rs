//! Misses: the load of a row, and the copies of hot objects.
//!
//! A session that misses inserts an object in the state Loading at once, and holds its row cache lock (R4): other
//! sessions that want the row wait for the object instead of reading the dictionary too. One store, after key and
//! value, makes the object Ready; a versioned reader that sees Ready also sees key and value.

use std::sync::atomic::Ordering;
use std::time::Duration;

use latch::Where;
use process::Process;
use wait::Event;

use crate::chain::New;
use crate::key::copy_hash;
use crate::layout::*;
use crate::{Cache, Key, RowCache};

/// Interval at which a waiter checks whether the row is loaded, and the longest wait.
const LOOK_EVERY: Duration = Duration::from_millis(1);
const WAIT_NS_MAX: u64 = 3_000_000_000;
/// P2 and P3 of `row cache lock`: the mode held, and the mode requested.
const MODE_NULL: u64 = 0;
const MODE_SHARE: u64 = 3;

/// The result of a lookup.
#[must_use]
pub enum Found<'a> {
    /// The value is in the caller's memory; it may say that the row does not exist.
    Hit,
    /// The row is not cached: read the dictionary, then store the result. Other sessions that want the row wait
    /// meanwhile.
    Miss(Load<'a>),
    /// Read the dictionary; the row cannot be cached at the moment (R7).
    Bypass,
}

/// A row that this session loads. [`Load::store`] ends the load; dropping it leaves the row uncached.
#[must_use]
pub struct Load<'a> {
    pub(crate) cache: &'a RowCache,
    pub(crate) p: &'a Process,
    of: Cache,
    id: u64,
    /// The states of the cache and of the key's bucket before the dictionary is read.
    state: u64,
    bucket_state: u64,
    /// The hash value of the key.
    hash: u64,
    place: usize,
    done: bool,
}

impl Load<'_> {
    /// Stores the row found in the dictionary, as of a snapshot taken after the load began; `None`: the row does not
    /// exist.
    ///
    /// False when the row is not kept: it is too long, or the dictionary has changed meanwhile. Latches: the cache's
    /// child latch, once.
    pub fn store(mut self, value: Option<&[u8]>) -> bool {
        self.done = true;
        self.cache.finish(self.p, &self, value)
    }

    /// Like [`Load::store`], for a row that was read when the cache's state was `state`.
    pub fn store_as_of(self, state: u64, value: Option<&[u8]>) -> bool {
        // With another state the row may be out of date; the load is dropped.
        state == self.state && self.store(value)
    }
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.cache.abandon(self.p, self.id, self.place);
        }
    }
}

impl RowCache {
    /// Inserts an object for a row that was not found, or waits for the session that is loading it.
    #[cold]
    pub(crate) fn load<'a>(&'a self, p: &'a Process, key: &Key<'_>, value: &mut RowValue) -> Found<'a> {
        let Some(place) = self.line(p).loading.iter().position(|link| link.load(Ordering::Relaxed) == 0) else {
            return Found::Bypass;
        };
        if !fits(key.bytes.len(), 0) || self.objects.is_empty() {
            return Found::Bypass;
        }
        for _ in 0..4 {
            let section = p.lock(self.latch(key.cache), Where::KqrCreate, u64::from(key.cache.id()));
            let state = self.state(key.cache);
            let bucket_state = self.bucket_state(key.cache, key.hash);
            if !Self::is_settled(state) || !Self::is_settled(bucket_state) {
                return Found::Bypass;
            }
            if let Some((id, found)) = self.search(key.cache, key.hash, key.bytes, 0) {
                let object = &self.objects[id as usize];
                if !found.is_ready {
                    let life = object.life.now();
                    let own = object.owner.load(Ordering::Relaxed) == u64::from(p.number());
                    drop(section);
                    if own || !self.wait_for_loader(p, key.cache, id, life) {
                        return Found::Bypass;
                    }
                    continue;
                }
                if object.stamp.load(Ordering::Relaxed) == state {
                    // Another session has loaded the row since the lookup; the latch keeps the object in its chain.
                    object.copy_value(&found, value);
                    return Found::Hit;
                }
                self.retire(p, &section, id);
            }
            let Some(id) = self.insert(p, &section, key, state, New::Loading(place)) else {
                drop(section);
                if !self.evict(p) {
                    return Found::Bypass;
                }
                continue;
            };
            let (of, hash) = (key.cache, key.hash);
            return Found::Miss(Load { cache: self, p, of, id, state, bucket_state, hash, place, done: false });
        }
        Found::Bypass
    }

    /// Waits until an object is no longer being loaded; false when the wait is too long, or the session has to stop.
    fn wait_for_loader(&self, p: &Process, cache: Cache, id: u64, life: u64) -> bool {
        let object = &self.objects[id as usize];
        let wait = p.wait(Event::RowCacheLock, cache.id().into(), MODE_NULL, MODE_SHARE);
        let deadline = os::clock::now_ns() + WAIT_NS_MAX;
        loop {
            let posts = p.posts();
            let is_loading = !State::unpack(object.state.load(Ordering::Acquire)).is_ready;
            if !is_loading || object.life.read_begin() != life {
                return true;
            }
            if p.is_asked_to_stop() {
                return false;
            }
            if os::clock::now_ns() > deadline {
                wait.timed_out();
                return false;
            }
            p.sleep(posts, Some(LOOK_EVERY));
        }
    }

    /// Makes a loaded object Ready, unless its row is out of date.
    fn finish(&self, p: &Process, load: &Load<'_>, value: Option<&[u8]>) -> bool {
        let object = &self.objects[load.id as usize];
        let section = p.lock(self.latch(load.of), Where::KqrCreate, load.of.id().into());
        let state = State::unpack(object.state.load(Ordering::Relaxed));
        let bytes = value.unwrap_or_default();
        let is_current = self.state(load.of) == load.state && self.is_bucket_at(load);
        let keeps = is_current && fits(state.key_len, bytes.len());
        if keeps {
            // An object in the state Loading is read by nobody.
            object.fill(&object.key(&state), bytes);
            let ready = State { is_ready: true, existent: value.is_some(), value_len: bytes.len(), ..state };
            section.set(&object.owner, 0);
            section.set(&self.line(p).loading[load.place], 0);
            section.set(&object.state, ready.pack());
        } else {
            section.set(&self.line(p).loading[load.place], 0);
            self.retire(p, &section, load.id);
        }
        keeps
    }

    fn is_bucket_at(&self, load: &Load<'_>) -> bool {
        self.bucket_state(load.of, load.hash) == load.bucket_state
    }

    /// Gives up the load of an object.
    fn abandon(&self, p: &Process, id: u64, place: usize) {
        let object = &self.objects[id as usize];
        let state = State::unpack(object.state.load(Ordering::Relaxed));
        let Some(cache) = Cache::from_index(state.cache.into()) else { return };
        let section = p.lock(self.latch(cache), Where::KqrFree, cache.id().into());
        section.set(&self.line(p).loading[place], 0);
        self.retire(p, &section, id);
    }

    /// Removes the loading objects and the pin of a dead process.
    pub(crate) fn drop_holds(&self, p: &Process, line: &RowProcess) {
        for place in &line.loading {
            let Some(id) = place.load(Ordering::Relaxed).checked_sub(1) else { continue };
            let Some(cache) = self.cache_of(id) else { continue };
            let section = p.lock(self.latch(cache), Where::KqrFree, cache.id().into());
            section.set(place, 0);
            self.retire(p, &section, id);
        }
        let Some(id) = line.pinned.load(Ordering::Relaxed).checked_sub(1) else { return };
        let Some(cache) = self.cache_of(id) else { return };
        let section = p.lock(self.latch(cache), Where::KqrRelease, cache.id().into());
        let pins = &self.objects[id as usize].pins;
        section.set(pins, pins.load(Ordering::Relaxed).saturating_sub(1));
        section.set(&line.pinned, 0);
        self.free_if_retired(p, section, id);
    }

    /// Marks a key as hot: sessions look for copies of it from now on.
    #[cold]
    pub(crate) fn make_hot(&self, p: &Process, key: &Key<'_>) {
        let line = &self.caches[key.cache as usize];
        let section = p.lock(self.latch(key.cache), Where::KqrCreate, key.cache.id().into());
        if line.hot.iter().any(|hot| hot.load(Ordering::Relaxed) == key.hash) {
            return;
        }
        let count = line.hot_count.load(Ordering::Relaxed);
        // The mark replaces the oldest one. If that object is still hot, its sleeps will mark it again.
        section.set(&line.hot[count as usize % HOT_SLOTS], key.hash);
        section.set(&line.hot_count, count + 1);
    }

    /// Stores a copy of a value that was current at `state`.
    #[cold]
    pub(crate) fn store_copy(
        &self,
        p: &Process,
        key: &Key<'_>,
        copy: u8,
        (state, bucket_state): (u64, u64),
        value: &RowValue,
    ) {
        let section = p.lock(self.latch(key.cache), Where::KqrCreate, key.cache.id().into());
        if self.state(key.cache) != state || self.bucket_state(key.cache, key.hash) != bucket_state {
            return;
        }
        if let Some((id, _)) = self.search(key.cache, copy_hash(key.hash, copy), key.bytes, copy) {
            if self.objects[id as usize].stamp.load(Ordering::Relaxed) == state {
                return;
            }
            self.retire(p, &section, id);
        }
        let is_in = self.insert(p, &section, key, state, New::Copy(copy, value)).is_some();
        drop(section);
        if !is_in {
            // Without room, a later access makes the copy.
            self.evict(p);
        }
    }
}
