//! What a commit does that changes the dictionary.
//!
//! Every cache has a state word: changes so far, and commits on their way. A row is current while its stamp is the
//! state.
//!
//! 1. Whoever reads the dictionary to store a row reads the state first, then takes its snapshot: [`crate::Load`] does.
//! 2. A committing transaction raises the state's lower part before its SCN can be seen ([`RowCache::before_visible`])
//!    and afterwards moves the state on ([`RowCache::after`]), both under the child latch, under which rows are stored.
//! 3. A row is used only if its stamp is the state, and stored only if the state has not moved since 1.
//!
//! A snapshot that sees a commit was taken after 2's first half, so no row of before is used beside it; a snapshot that
//! does not see it was taken before the second half, so what it reads is stored under a state that is no longer the
//! cache's. Between the halves nothing of the cache is used: the dictionary itself is asked. A transaction that rolls
//! back changes no state.

use std::sync::atomic::Ordering;

use latch::Where;
use process::Process;

use crate::layout::{PENDING, RowProcess};
use crate::{Cache, RowCache, add};

/// A set of caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSet(u128);

const _: () = assert!(Cache::COUNT <= 128);

impl CacheSet {
    /// The set of these.
    pub fn of(caches: &[Cache]) -> CacheSet {
        CacheSet(caches.iter().fold(0, |bits, cache| bits | 1 << *cache as u32))
    }

    /// With those of another set.
    #[must_use]
    pub fn and(self, other: CacheSet) -> CacheSet {
        CacheSet(self.0 | other.0)
    }

    /// Whether there is none in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn iter(self) -> impl Iterator<Item = Cache> {
        Cache::all().filter(move |cache| self.0 >> *cache as u32 & 1 != 0)
    }
}

impl RowCache {
    /// First half of a commit, before its SCN can be seen: rows of these caches are no longer used.
    ///
    /// Must be followed by [`RowCache::after`], also when the commit fails. Latches: the child latches, one after the
    /// other.
    pub fn before_visible(&self, p: &Process, caches: CacheSet) {
        let line = self.line(p);
        for cache in caches.iter() {
            let (word, bit) = (&line.pending[cache as usize / 64], 1 << (cache as usize % 64));
            let section = p.lock(self.latch(cache), Where::KqrScan, cache.id().into());
            if word.load(Ordering::Relaxed) & bit == 0 {
                let state = &self.caches[cache as usize].state;
                section.set(word, word.load(Ordering::Relaxed) | bit);
                section.set(state, state.load(Ordering::Relaxed) + 1);
            }
        }
    }

    /// Second half of a commit: what was raised is taken back, and every row of before is out of date.
    ///
    /// Latches: the child latches of what was raised.
    pub fn after(&self, p: &Process) {
        self.settle(p, self.line(p));
    }

    fn settle(&self, p: &Process, line: &RowProcess) {
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
            section.set(word, word.load(Ordering::Relaxed) & !bit);
            section.set(state, state.load(Ordering::Relaxed) + PENDING);
            drop(section);
            let figures = &self.line(p).figures[cache as usize];
            add(&figures.modifications, 1);
            add(&figures.flushes, 1);
        }
    }

    /// Takes the commit of a dead process for one that happened, and gives back what it held.
    pub(crate) fn cleanup(&self, p: &Process, dead: u32) {
        let Some(line) = self.processes.get(dead as usize - 1) else { return };
        self.settle(p, line);
        self.drop_holds(p, line);
    }

    /// `ALTER SYSTEM FLUSH SHARED_POOL`: every row is forgotten, in all caches.
    pub fn flush(&self, p: &Process) {
        let all: Vec<Cache> = Cache::all().collect();
        self.before_visible(p, CacheSet::of(&all));
        self.after(p);
    }
}
