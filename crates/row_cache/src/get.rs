//! Lookup of a row: the four designs of a hit.
//!
//! | design | gets of a hit | what it does under them |
//! |---|---|---|
//! | latch (up to 12.1) | 3 of the cache's child latch | find and pin; copy the value; unpin |
//! | mutex (12.2) | 2 mutexes | the bucket's, to find; the object's, to copy the value |
//! | hot copies | 2 mutexes | the same, of the copy for the session's group once the object is hot |
//! | versioned (Latchwork) | 1 versioned | nothing: copy, then check that the object's life has not moved |
//!
//! The four designs read the same chains (module `chain`). In the mutex
//! design a reader gets the object's mutex before it frees the bucket's, so an object that was found cannot be removed.
//! Hot copies are Oracle's later correction of the mutex design, in which a hot object costs two contended words
//! instead of one.

use std::sync::atomic::Ordering;

use latch::word::LifeWord;
use latch::{LatchName, Mutex, MutexKind, Structure, Where};
use process::Process;
use wait::Stat;

use crate::key::{copy_hash, is_piece};
use crate::layout::*;
use crate::load::Found;
use crate::{Cache, Design, Key, RowCache, add};

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The value was copied.
    Usable,
    /// No current row.
    Nothing,
}

/// Versioned tries before the search is made under the latch.
const VERSIONED_TRIES: usize = 4;
/// Longest walk of a chain that may be changing under the reader.
const WALK_MAX: usize = 128;

impl RowCache {
    /// Looks up a row and copies its value.
    ///
    /// Latches: none held on entry or return; gets by design as in the module's table, plus those of [`crate::Load`]
    /// for a miss. Waits: `row cache lock` while another session loads the row, for seconds at most; `latch: row cache
    /// objects` and `row cache mutex` as the design has it. Statistics: GETS and GETMISSES of `v$rowcache`, in the
    /// process's own line.
    #[inline]
    pub fn get<'a>(&'a self, p: &'a Process, key: &Key<'_>, value: &mut RowValue) -> Found<'a> {
        let figures = &self.line(p).figures[key.cache as usize];
        add(&figures.gets, 1);
        p.count(Stat::RowCacheGets, 1);
        let state = self.state(key.cache);
        if Self::is_settled(state) {
            let seen = match self.design() {
                Design::Versioned => self.read_versioned(p, key, state, value),
                Design::Latch => self.read_latched(p, key, state, value),
                Design::Mutex | Design::HotCopies => self.read_inside(p, key, state, value),
            };
            if seen == Seen::Usable {
                return Found::Hit;
            }
        }
        let found = self.load(p, key, value);
        if !matches!(found, Found::Hit) {
            add(&figures.misses, 1);
            p.count(Stat::RowCacheMisses, 1);
        }
        found
    }

    /// Looks up in a design with mutexes, marked as inside: a switch to a design whose changers get no mutexes waits
    /// (R10).
    fn read_inside(&self, p: &Process, key: &Key<'_>, state: u64, value: &mut RowValue) -> Seen {
        let inside = p.latches().enter(Structure::RowCache, self.design);
        match Design::from_code(inside.code()) {
            Some(Design::Mutex) => self.read_mutexed(p, key, 0, state, value).0,
            Some(Design::HotCopies) => self.read_hot(p, key, state, value),
            // Another design has come into force since it was looked at.
            Some(Design::Latch) => self.read_latched(p, key, state, value),
            Some(Design::Versioned) | None => self.read_versioned(p, key, state, value),
        }
    }

    /// Reads without a shared write (R5). Counts one get, and a miss when an earlier try failed its check.
    #[inline]
    fn read_versioned(&self, p: &Process, key: &Key<'_>, state: u64, value: &mut RowValue) -> Seen {
        let mut missed = false;
        'again: for _ in 0..VERSIONED_TRIES {
            let mut link = self.bucket(key.cache, key.hash).head.load(Ordering::Acquire);
            for _ in 0..WALK_MAX {
                let Some(object) = link.checked_sub(1).and_then(|id| self.objects.get(id as usize)) else {
                    break 'again;
                };
                let life = object.life.read_begin();
                if LifeWord::mark_of(life) == LifeWord::LINKED && object.hash.load(Ordering::Relaxed) == key.hash {
                    // The state is read first: the words of a Ready object were written before its state.
                    let found = State::unpack(object.state.load(Ordering::Acquire));
                    if found.cache == key.cache as u8 && object.has_key(&found, key.bytes) {
                        if !found.is_ready || object.stamp.load(Ordering::Relaxed) != state {
                            break 'again;
                        }
                        object.copy_value(&found, value);
                        if object.life.read_check(life) {
                            object.mark_used();
                            p.latches().count_read(LatchName::RowCacheObjects, missed, || key.cache.latch_number());
                            return Seen::Usable;
                        }
                        missed = true;
                        continue 'again;
                    }
                }
                link = object.chain.load(Ordering::Acquire);
            }
            break;
        }
        if missed {
            p.latches().count_fallback(LatchName::RowCacheObjects);
        }
        Seen::Nothing
    }

    /// Looks up with three gets of the child latch.
    fn read_latched(&self, p: &Process, key: &Key<'_>, state: u64, value: &mut RowValue) -> Seen {
        let (latch, why) = (self.latch(key.cache), u64::from(key.cache.id()));
        let line = self.line(p);
        let section = p.lock(latch, Where::KqrFindParent, why);
        let (id, found) = match self.search(key.cache, key.hash, key.bytes, 0) {
            Some(at) => at,
            None => return Seen::Nothing,
        };
        let object = &self.objects[id as usize];
        if !self.is_usable(id, &found, state) {
            return Seen::Nothing;
        }
        section.set(&line.pinned, id + 1);
        section.set(&object.pins, object.pins.load(Ordering::Relaxed) + 1);
        drop(section);
        object.mark_used();
        {
            let _section = p.imitated_get(latch, Where::KqrGetParent, why);
            object.copy_value(&found, value);
        }
        self.unpin(p, key.cache, id);
        Seen::Usable
    }

    /// The third get of the latched design.
    fn unpin(&self, p: &Process, cache: Cache, id: u64) {
        let section = p.lock(self.latch(cache), Where::KqrRelease, u64::from(cache.id()));
        let pins = &self.objects[id as usize].pins;
        section.set(pins, pins.load(Ordering::Relaxed).checked_sub(1).expect("a pinned object has a pin"));
        section.set(&self.line(p).pinned, 0);
        self.free_if_retired(p, section, id);
    }

    fn is_usable(&self, id: u64, found: &State, state: u64) -> bool {
        found.is_ready && self.objects[id as usize].stamp.load(Ordering::Relaxed) == state
    }

    /// Looks up with the mutexes of bucket and object. Also returns whether their sleeps have reached the limit for a
    /// hot object.
    fn read_mutexed(&self, p: &Process, key: &Key<'_>, copy: u8, state: u64, value: &mut RowValue) -> (Seen, bool) {
        let why = u64::from(key.cache.id());
        let hash = copy_hash(key.hash, copy);
        let bucket = self.bucket(key.cache, hash);
        let chain = p.mutex(&bucket.mutex, MutexKind::RowCache, Where::KqrMutexFind, why);
        let Some((id, found)) = self.search(key.cache, hash, key.bytes, copy) else { return (Seen::Nothing, false) };
        if !self.is_usable(id, &found, state) {
            return (Seen::Nothing, false);
        }
        let object = &self.objects[id as usize];
        let _held = p.mutex(&object.mutex, MutexKind::RowCache, Where::KqrMutexReget, why);
        drop(chain);
        object.mark_used();
        object.copy_value(&found, value);
        (Seen::Usable, sleeps(&bucket.mutex) + sleeps(&object.mutex) >= self.hot_copy_sleep_limit)
    }

    /// Like [`RowCache::read_mutexed`], with the session's copy when the object is hot.
    fn read_hot(&self, p: &Process, key: &Key<'_>, state: u64, value: &mut RowValue) -> Seen {
        let hot = self.is_hot(key);
        // Read before the value, so that a copy of a row that changes meanwhile is not stored.
        let bucket_state = self.bucket_state(key.cache, key.hash);
        // Sessions with neighbouring numbers use different copies.
        let copy = 1 + (p.number() % u32::from(self.hot_copies)) as u8;
        if hot && self.read_mutexed(p, key, copy, state, value).0 == Seen::Usable {
            return Seen::Usable;
        }
        let (seen, often) = self.read_mutexed(p, key, 0, state, value);
        if seen == Seen::Usable && (hot || often) {
            if !hot {
                self.make_hot(p, key);
            }
            if Self::is_settled(bucket_state) && !is_piece(key.bytes) {
                self.store_copy(p, key, copy, (state, bucket_state), value);
            }
        }
        seen
    }

    fn is_hot(&self, key: &Key<'_>) -> bool {
        let line = &self.caches[key.cache as usize];
        line.hot_count.load(Ordering::Relaxed) != 0
            && line.hot.iter().any(|hot| hot.load(Ordering::Relaxed) == key.hash)
    }
}

fn sleeps(mutex: &Mutex) -> u64 {
    mutex.sleeps()
}
