//! Hard parses, and all changes of chains and lists (L1, L2); eviction.
//!
//! A process that changes the chain of a bucket, or a list of children under it, holds the bucket: its child latch of
//! `library cache`, or its mutex. In the mutex design it also holds the parent's mutex exclusively to change the list.
//! In the designs with pins a child is loaded again or removed only while nobody pins it. The versioned design needs no
//! such rule: an execution reads nothing of the child except its figures.

use std::sync::atomic::{AtomicU64, Ordering};

use latch::{MutexHeld, MutexKind, Where};
use process::{MutexSection, Process, Section};

use crate::find::{Key, OF_IDENTITY, Want};
use crate::layout::{About, Child, Content, Parent, state};
use crate::{Design, Edition, Env, Handle, LibraryCache, Mismatch, Namespace, Sharing, Statement, count};

/// Attempts to load a cursor, or the code of a unit, each after an eviction.
const TRIES: usize = 16;
/// Slots examined for each victim.
const WINDOW: u64 = 16;

/// A bucket held exclusively, with the section that changes what hangs from it.
pub(crate) enum Guard<'a> {
    Latch(Section<'a>),
    Mutex(MutexSection<'a>),
}

impl Guard<'_> {
    pub(crate) fn set(&self, word: &AtomicU64, new: u64) {
        match self {
            Guard::Latch(section) => section.set(word, new),
            Guard::Mutex(section) => section.set(word, new),
        }
    }

    pub(crate) fn add(&self, word: &AtomicU64, n: u64) {
        self.set(word, word.load(Ordering::Relaxed).wrapping_add(n));
    }

    /// Makes the changes so far final. Required before memory is freed that other processes may then take.
    pub(crate) fn checkpoint(&self) {
        match self {
            Guard::Latch(section) => section.checkpoint(),
            Guard::Mutex(section) => section.checkpoint(),
        }
    }
}

/// A child that nobody can pin while this is held.
pub(crate) enum Unpinned<'a> {
    Latch { _held: Section<'a> },
    Mutex { _held: MutexHeld<'a> },
    Nobody,
}

/// The result of an attempt.
pub(crate) enum Tried {
    Loaded(Handle),
    NoParent,
    NoChild,
}

impl LibraryCache {
    /// Puts a compiled cursor into the cache: a hard parse. If another session has loaded the cursor meanwhile, that
    /// one is shared. [`Handle::NONE`] when no room could be made.
    ///
    /// Latches: none held on entry or return; the bucket's, `shared pool`, in the mutex design `Cursor Parent` and
    /// `Cursor Pin`.
    pub fn load(&self, p: &Process, of: &Statement<'_>, env: &Env<'_>, content: &Content<'_>) -> Handle {
        self.load_instead(p, of, env, content, None)
    }

    /// Like [`Self::load`], but replaces that edition of a child, which the session could not use.
    pub fn load_instead(
        &self,
        p: &Process,
        of: &Statement<'_>,
        env: &Env<'_>,
        content: &Content<'_>,
        stale: Option<Edition>,
    ) -> Handle {
        self.make_room(p, content.image.len());
        let copy = self.copy_for(p, of.digest);
        let key = Key { digest: of.digest, namespace: Namespace::SqlArea, copy };
        self.load_with_room(p, || self.try_load(p, &key, of, env, content, stale))
    }

    /// Repeats a load while victims can be evicted; [`Handle::NONE`] when there is no room.
    pub(crate) fn load_with_room(&self, p: &Process, load: impl Fn() -> Tried) -> Handle {
        for _ in 0..TRIES {
            let room = match load() {
                Tried::Loaded(handle) => return handle,
                Tried::NoParent => self.evict_parent(p),
                Tried::NoChild => self.evict_child(p) || self.evict_parent(p),
            };
            if !room {
                break;
            }
        }
        Handle::NONE
    }

    fn try_load(
        &self,
        p: &Process,
        key: &Key,
        of: &Statement<'_>,
        env: &Env<'_>,
        content: &Content<'_>,
        stale: Option<Edition>,
    ) -> Tried {
        let bucket = self.bucket(key);
        let guard = self.exclusive(p, bucket, Where::KglInsert, key.idn());
        let at = match self.search(bucket, key) {
            Some(at) => at,
            None => {
                let about = About {
                    namespace: key.namespace as u8,
                    copy: key.copy,
                    command: of.command as u16,
                    kept: false,
                    stale: false,
                };
                match self.make_parent(p, &guard, key, of.text, env.schema, about, 0) {
                    Some(at) => at,
                    None => return Tried::NoParent,
                }
            }
        };
        let parent = &self.parents[at as usize];
        let _list = self.shut_list(p, parent, key, Where::KksInsert);
        let adaptive = &content.adaptive;
        let aware = (adaptive.sharing == Sharing::Aware).then_some(adaptive.selectivities);
        let want = Want::new(env).of(aware);
        // Children of other users, schemas or rights have been tried already.
        let mut mismatch = u64::from(adaptive.is_corrected) << Mismatch::UseFeedbackStats as u64 | content.refused;
        // Ranges of siblings with the same plan; the new child takes their place.
        let mut same_plan = Vec::new();
        let mut link = parent.children.load(Ordering::Relaxed);
        while let Some(index) = link.checked_sub(1) {
            let child = &self.children[index as usize];
            link = child.next.load(Ordering::Relaxed);
            let differs = want.mismatch(child);
            let state = child.state.load(Ordering::Relaxed);
            // A child of another user, schema or rights that is out of date was not offered to the session.
            let is_tried = state == state::VALID || differs & !OF_IDENTITY != 0;
            if mismatch == 0 && is_tried {
                mismatch = differs;
            }
            if differs == 1 << Mismatch::BindEquivFailure as u64
                && state == state::VALID
                && child.plan_hash() == content.plan_hash
            {
                same_plan.push((child, child.adaptive.ranges()));
            }
            if differs == 1 << Mismatch::LoadOptimizerStats as u64 && state == state::VALID {
                guard.set(&child.state, state::UNSHARED);
                guard.checkpoint();
            }
            if differs == 1 << Mismatch::RollInvalid as u64 && state == state::VALID {
                guard.set(&child.state, state::UNSHARED);
                guard.checkpoint();
            }
            if differs != 0 || state == state::OBSOLETE || state == state::UNSHARED {
                continue;
            }
            let handle = Handle { child: index as u32, life: child.life.load(Ordering::Relaxed) };
            if state == state::VALID {
                let is_stale = stale.is_some_and(|stale| stale == self.edition_of(handle));
                let lacks_image = child.image.load(Ordering::Relaxed) == 0 && !content.image.is_empty();
                if !is_stale && !lacks_image {
                    return Tried::Loaded(handle);
                }
                guard.set(&child.state, state::INVALID);
                if is_stale && !adaptive.is_first {
                    guard.add(&child.invalidations, 1);
                    guard.add(&parent.invalidations, 1);
                    self.control.invalidations[Namespace::SqlArea as usize].fetch_add(1, Ordering::Relaxed);
                }
                guard.checkpoint();
            }
            if self.load_again(p, &guard, parent, child, content) {
                return Tried::Loaded(handle);
            }
            guard.set(&child.state, state::OBSOLETE);
            guard.checkpoint();
        }
        match self.make_child(p, &guard, at, env, content, mismatch) {
            Some(handle) => {
                for (child, ranges) in same_plan {
                    self.children[handle.child as usize].adaptive.widen(&ranges);
                    guard.set(&child.state, state::UNSHARED);
                    guard.checkpoint();
                }
                Tried::Loaded(handle)
            }
            None => Tried::NoChild,
        }
    }

    /// Loads an invalid child in place; false when it is pinned.
    fn load_again(
        &self,
        p: &Process,
        guard: &Guard<'_>,
        parent: &Parent,
        child: &Child,
        content: &Content<'_>,
    ) -> bool {
        let Some(_unpinned) = self.shut_out_pins(p, child, Where::KksParse, Key::of(parent).idn()) else {
            return false;
        };
        self.fill(p, guard, child, content, Key::of(parent).idn());
        if content.adaptive.is_first {
            guard.set(&child.state, state::VALID);
            guard.checkpoint();
            return true;
        }
        guard.add(&child.loads, 1);
        guard.add(&parent.loads, 1);
        guard.set(&child.state, state::VALID);
        guard.checkpoint();
        count(&self.line(p).reloads[Namespace::SqlArea as usize]);
        true
    }

    /// Links a new parent of a statement, or of the object with that number; `None` when there is no slot.
    #[allow(clippy::too_many_arguments)] // the properties of a parent
    pub(crate) fn make_parent(
        &self,
        p: &Process,
        guard: &Guard<'_>,
        key: &Key,
        text: &str,
        owner: &str,
        about: About,
        object: u32,
    ) -> Option<u64> {
        let c = self.control;
        let pool = p.lock(self.pool, Where::KghAllocate, key.idn());
        let link = |at: u64| &self.parents[at as usize].chain;
        let at = take(guard, &c.parents_free, &c.parents_fresh, self.parents.len(), link)?;
        let parent = &self.parents[at as usize];
        parent.fill(key.digest, text, owner, about, object);
        let head = &self.buckets[self.bucket(key)].head;
        guard.add(&c.life, 1);
        guard.set(&parent.chain, head.load(Ordering::Relaxed));
        guard.set(&parent.life, c.life.load(Ordering::Relaxed));
        guard.set(head, at + 1);
        guard.checkpoint();
        drop(pool);
        Some(at)
    }

    /// Links a new child; `None` when there is no slot.
    pub(crate) fn make_child(
        &self,
        p: &Process,
        guard: &Guard<'_>,
        parent_at: u64,
        env: &Env<'_>,
        content: &Content<'_>,
        mismatch: u64,
    ) -> Option<Handle> {
        let c = self.control;
        let parent = &self.parents[parent_at as usize];
        let pool = p.lock(self.pool, Where::KghAllocate, 0);
        let link = |at: u64| &self.children[at as usize].next;
        let at = take(guard, &c.children_free, &c.children_fresh, self.children.len(), link)?;
        let child = &self.children[at as usize];
        let number = parent.next_number.load(Ordering::Relaxed);
        child.begin(env, parent_at, number);
        child.mismatch.store(mismatch, Ordering::Relaxed);
        let edition = child.begin_fill();
        self.put_image(guard, child, content.image);
        child.fill(content, edition);
        guard.add(&c.life, 1);
        let life = c.life.load(Ordering::Relaxed);
        // The loads of an object are counted in its parent.
        let is_statement = parent.about().namespace == Namespace::SqlArea as u8;
        for (word, value) in [
            (&child.state, state::VALID),
            (&child.loads, 1),
            (&child.next, parent.children.load(Ordering::Relaxed)),
            (&parent.loads, parent.loads.load(Ordering::Relaxed) + u64::from(is_statement)),
            (&parent.next_number, number + 1),
            (&child.life, life),
            (&parent.children, at + 1),
        ] {
            guard.set(word, value);
        }
        guard.checkpoint();
        drop(pool);
        Some(Handle { child: at as u32, life })
    }

    /// Stores the types of the binds in a child that was loaded before they were known.
    #[cold]
    pub(crate) fn name_binds(&self, p: &Process, key: &Key, handle: Handle, binds: u64) {
        let guard = self.exclusive(p, self.bucket(key), Where::KglInsert, key.idn());
        let child = &self.children[handle.child as usize];
        if child.life.load(Ordering::Relaxed) == handle.life && child.binds.load(Ordering::Relaxed) == 0 {
            guard.set(&child.binds, binds);
        }
    }

    /// Holds a bucket exclusively, by its latch or its mutex.
    pub(crate) fn exclusive<'a>(&'a self, p: &'a Process, bucket: usize, at: Where, idn: u64) -> Guard<'a> {
        let latch = &self.latches[bucket % self.latches.len()];
        match self.design {
            Design::Versioned => Guard::Latch(p.write_versioned(latch, at, idn)),
            Design::Latch | Design::Pins => Guard::Latch(p.lock(latch.latch(), at, idn)),
            Design::Mutex => {
                let mutex = &self.buckets[bucket].mutex;
                Guard::Mutex(p.lock_mutex(mutex, MutexKind::LibraryCache, Where::KglMutexGet, idn))
            }
        }
    }

    /// Keeps readers of a parent's list out, in the design where readers do not hold the bucket.
    pub(crate) fn shut_list<'a>(
        &self,
        p: &'a Process,
        parent: &'a Parent,
        key: &Key,
        at: Where,
    ) -> Option<MutexHeld<'a>> {
        (self.design == Design::Mutex).then(|| p.mutex(&parent.parent, MutexKind::CursorParent, at, key.idn()))
    }

    /// Keeps pins of a child out; `None` when it is pinned (L6).
    pub(crate) fn shut_out_pins<'a>(
        &'a self,
        p: &'a Process,
        child: &'a Child,
        at: Where,
        idn: u64,
    ) -> Option<Unpinned<'a>> {
        match self.design {
            Design::Versioned => Some(Unpinned::Nobody),
            Design::Latch => {
                let held = p.lock(self.pin_latch(idn), Where::KglPinExecution, idn);
                (child.references.load(Ordering::Relaxed) == 0).then_some(Unpinned::Latch { _held: held })
            }
            Design::Pins | Design::Mutex => {
                let held = p.latches().try_mutex(&child.pin, at, idn)?;
                Some(Unpinned::Mutex { _held: held })
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

/// Takes a slot from a free list, or one that was never used. The caller holds `shared pool`.
pub(crate) fn take<'a>(
    guard: &Guard<'_>,
    free: &AtomicU64,
    fresh: &AtomicU64,
    slots: usize,
    link: impl Fn(u64) -> &'a AtomicU64,
) -> Option<u64> {
    if let Some(at) = free.load(Ordering::Relaxed).checked_sub(1) {
        guard.set(free, link(at).load(Ordering::Relaxed));
        return Some(at);
    }
    let at = fresh.load(Ordering::Relaxed);
    (at < slots as u64).then(|| {
        guard.set(fresh, at + 1);
        at
    })
}

/// Removes `at` from the list that begins at `head`; false when it is not in the list.
fn unlink<'a>(guard: &Guard<'_>, head: &'a AtomicU64, at: u64, link: impl Fn(u64) -> &'a AtomicU64) -> bool {
    let mut word = head;
    while let Some(index) = word.load(Ordering::Relaxed).checked_sub(1) {
        if index == at {
            guard.set(word, link(at).load(Ordering::Relaxed));
            return true;
        }
        word = link(index);
    }
    false
}
