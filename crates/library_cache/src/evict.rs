//! Removal of children and parents, and the choice of victims.

use std::sync::atomic::{AtomicU64, Ordering};

use latch::Where;
use process::Process;

use crate::LibraryCache;
use crate::guard::{Guard, unlink};
use crate::image::chunks_of;
use crate::key::Key;
use crate::layout::{Parent, state};

/// Slots examined for each victim.
const WINDOW: u64 = 16;
/// Largest number of children evicted for one image.
const VICTIMS_MOST: usize = 64;

impl LibraryCache {
    /// Evicts children until an image of this many bytes has room, or nothing more can be evicted.
    pub(crate) fn make_room(&self, p: &Process, bytes: usize) {
        let c = self.control;
        let fits = || chunks_of(bytes) as u64 + c.chunks_used.load(Ordering::Relaxed) <= self.chunks.len() as u64;
        if self.is_too_long(bytes) {
            return;
        }
        for _ in 0..VICTIMS_MOST {
            if fits() || !self.evict_child(p) {
                return;
            }
        }
    }

    /// Removes a child from its list, unless it is pinned. The caller holds the bucket and the list.
    pub(crate) fn remove_child(&self, p: &Process, guard: &Guard<'_>, parent: &Parent, at: u64) -> bool {
        let child = &self.children[at as usize];
        let Some(unpinned) = self.shut_out_pins(p, child, Where::KglMutexPinDelete, Key::of(parent).idn()) else {
            return false;
        };
        if !unlink(guard, &parent.children, at, |n| &self.children[n as usize].next) {
            return false;
        }
        let c = self.control;
        let pool = p.lock(self.pool, Where::KghFree, 0);
        guard.set(&child.life, 0);
        self.free_image(guard, child);
        guard.set(&child.next, c.children_free.load(Ordering::Relaxed));
        guard.set(&c.children_free, at + 1);
        guard.checkpoint();
        drop(pool);
        drop(unpinned);
        true
    }

    /// Removes a parent without children from its chain. The caller holds the bucket and the list.
    pub(crate) fn remove_parent(&self, p: &Process, guard: &Guard<'_>, bucket: usize, at: u64) {
        let parent = &self.parents[at as usize];
        if !unlink(guard, &self.buckets[bucket].head, at, |n| &self.parents[n as usize].chain) {
            return;
        }
        let c = self.control;
        let pool = p.lock(self.pool, Where::KghFree, 0);
        guard.set(&parent.life, 0);
        guard.set(&parent.chain, c.parents_free.load(Ordering::Relaxed));
        guard.set(&c.parents_free, at + 1);
        guard.checkpoint();
        drop(pool);
    }

    /// Evicts the least recently active child of the next few; false when none can be evicted.
    pub(crate) fn evict_child(&self, p: &Process) -> bool {
        let used = self.control.children_fresh.load(Ordering::Relaxed).min(self.children.len() as u64);
        self.victims(&self.control.child_hand, used, |at| {
            let child = &self.children[at as usize];
            let parent = self.parents.get(child.parent.load(Ordering::Relaxed) as usize)?;
            let life = child.life.load(Ordering::Acquire);
            let may_go = life != 0 && !parent.about().kept;
            may_go.then(|| (child.last_active_s.load(Ordering::Relaxed), life))
        })
        .any(|(at, life)| self.evict(p, at, life))
    }

    fn evict(&self, p: &Process, at: u64, life: u64) -> bool {
        let child = &self.children[at as usize];
        let parent_at = child.parent.load(Ordering::Relaxed);
        let Some(parent) = self.parents.get(parent_at as usize) else { return false };
        let key = Key::of(parent);
        let bucket = self.bucket(&key);
        let guard = self.exclusive(p, bucket, Where::KglEvict, key.idn());
        let is_same = child.life.load(Ordering::Relaxed) == life && child.parent.load(Ordering::Relaxed) == parent_at;
        if !is_same || parent.life.load(Ordering::Relaxed) == 0 || Key::of(parent) != key {
            return false;
        }
        let _list = self.shut_list(p, parent, &key, Where::KglMutexPinDelete);
        self.remove_child(p, &guard, parent, at)
    }

    /// Evicts the least recently active parent of the next few, with its children; false when none can be evicted.
    pub(crate) fn evict_parent(&self, p: &Process) -> bool {
        let used = self.control.parents_fresh.load(Ordering::Relaxed).min(self.parents.len() as u64);
        self.victims(&self.control.parent_hand, used, |at| {
            let parent = &self.parents[at as usize];
            let life = parent.life.load(Ordering::Acquire);
            let may_go = life != 0 && !parent.about().kept;
            may_go.then(|| (parent.last_active_s.load(Ordering::Relaxed), life))
        })
        .any(|(at, life)| self.remove(p, at, life, Where::KglEvict, &[]).1)
    }

    /// The slots to try, one of each window, the least recently active first.
    fn victims<'a>(
        &'a self,
        hand: &'a AtomicU64,
        used: u64,
        age: impl Fn(u64) -> Option<(u64, u64)> + 'a,
    ) -> impl Iterator<Item = (u64, u64)> + 'a {
        (0..used.div_ceil(WINDOW)).flat_map(move |_| {
            let from = hand.fetch_add(WINDOW, Ordering::Relaxed);
            let mut window: Vec<_> = (from..from + WINDOW.min(used))
                .map(|at| at % used)
                .filter_map(|at| age(at).map(|(active, life)| (active, at, life)))
                .collect();
            window.sort_unstable();
            window.into_iter().map(|(_, at, life)| (at, life))
        })
    }

    /// Removes all children of a parent that are not pinned, and the parent when none is left. `running`: children that
    /// must stay although the design has no pins, in order. Returns whether the parent was there, and whether it was
    /// removed.
    pub(crate) fn remove(&self, p: &Process, at: u64, life: u64, place: Where, running: &[usize]) -> (bool, bool) {
        let parent = &self.parents[at as usize];
        let key = Key::of(parent);
        let bucket = self.bucket(&key);
        let guard = self.exclusive(p, bucket, place, key.idn());
        if parent.life.load(Ordering::Relaxed) != life || Key::of(parent) != key {
            return (false, false);
        }
        let _list = self.shut_list(p, parent, &key, Where::KglMutexPinDelete);
        let mut link = parent.children.load(Ordering::Relaxed);
        while let Some(index) = link.checked_sub(1) {
            let child = &self.children[index as usize];
            link = child.next.load(Ordering::Relaxed);
            let stays = running.binary_search(&(index as usize)).is_ok();
            let is_out = !stays && self.remove_child(p, &guard, parent, index);
            if !is_out && child.state.load(Ordering::Relaxed) == state::VALID {
                guard.set(&child.state, state::INVALID);
                guard.checkpoint();
            }
        }
        let gone = parent.children.load(Ordering::Relaxed) == 0;
        if gone {
            self.remove_parent(p, &guard, bucket, at);
        }
        (true, gone)
    }
}
