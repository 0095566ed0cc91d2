//! Invalidation and removal of cursors and objects (DDL, purges, flushes); marking of statements as hot or kept.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;

use latch::Where;
use process::Process;

use crate::guard::Guard;
use crate::key::Key;
use crate::layout::{About, Child, HOT_MAX, Parent, state};
use crate::words::now_s;
use crate::{Digest, Handle, LibraryCache, Namespace};

/// Whether a child's plan is up to date: VALID or UNSHARED.
fn is_of_now(state: u64) -> bool {
    state == state::VALID || state == state::UNSHARED
}

impl LibraryCache {
    /// Invalidates the cursors that depend on one of these objects; returns how many.
    ///
    /// Latches: none held on entry or return; the bucket's for each that changes.
    pub fn invalidate(&self, p: &Process, objects: &[u32]) -> u64 {
        let mut changed = 0;
        for (at, child) in self.children_used().iter().enumerate() {
            let life = child.life.load(Ordering::Acquire);
            let is_of_now = life != 0 && is_of_now(child.state.load(Ordering::Relaxed));
            if is_of_now && child.depends_on(objects) {
                changed += u64::from(self.invalidate_child(p, at, life));
            }
        }
        changed
    }

    /// Ends the sharing of the cursors that depend on one of these objects, each at a random second within the period.
    /// Their plans stay correct, and the hard parses are spread over the period. Returns how many were marked. A cursor
    /// that is marked already keeps its second.
    ///
    /// Latches: as [`Self::invalidate`].
    pub fn roll_out(&self, p: &Process, objects: &[u32], period_s: u64) -> u64 {
        let (mut marked, random) = (0, RandomState::new());
        for (at, child) in self.children_used().iter().enumerate() {
            let life = child.life.load(Ordering::Acquire);
            let is_meant = life != 0
                && child.state.load(Ordering::Relaxed) == state::VALID
                && child.roll_s.load(Ordering::Relaxed) == 0;
            if is_meant && child.depends_on(objects) {
                let end = now_s() + random.hash_one(at) % (period_s + 1);
                marked += u64::from(self.change_child(p, at, life, |guard, child, _| guard.set(&child.roll_s, end)));
            }
        }
        marked
    }

    /// Marks the cached entries of these objects stale: the next session that names one of them loads it again.
    ///
    /// Latches: as [`Self::invalidate`].
    pub fn invalidate_objects(&self, p: &Process, objects: &[u32]) {
        for (at, parent) in (0..).zip(self.parents_used()) {
            let object = parent.object.load(Ordering::Relaxed) as u32;
            if object != 0 && objects.contains(&object) {
                self.change_about(p, at, &Key::of(parent), true, |about| About { stale: true, ..about });
            }
        }
    }

    /// Invalidates one cursor because the dictionary has changed while it was compiled. False when the cursor is
    /// invalid already, or gone.
    ///
    /// Latches: as [`Self::invalidate`].
    pub fn invalidate_cursor(&self, p: &Process, handle: Handle) -> bool {
        let at = handle.child as usize;
        at < self.children.len() && self.invalidate_child(p, at, handle.life)
    }

    pub(crate) fn invalidate_child(&self, p: &Process, at: usize, life: u64) -> bool {
        self.change_child(p, at, life, |guard, child, parent| {
            guard.set(&child.state, state::INVALID);
            guard.add(&child.invalidations, 1);
            guard.add(&parent.invalidations, 1);
            self.control.invalidations[Namespace::SqlArea as usize].fetch_add(1, Ordering::Relaxed);
        })
    }

    /// Changes a child that is up to date, with its bucket and list held; false when the child is out of date or gone.
    fn change_child(&self, p: &Process, at: usize, life: u64, f: impl FnOnce(&Guard<'_>, &Child, &Parent)) -> bool {
        let child = &self.children[at];
        let Some(parent) = self.parents.get(child.parent.load(Ordering::Relaxed) as usize) else { return false };
        let key = Key::of(parent);
        let guard = self.exclusive(p, self.bucket(&key), Where::KglScan, key.idn());
        let is_same = child.life.load(Ordering::Relaxed) == life && Key::of(parent) == key;
        if !is_same || !is_of_now(child.state.load(Ordering::Relaxed)) {
            return false;
        }
        let _list = self.shut_list(p, parent, &key, Where::KksInsert);
        f(&guard, child, parent);
        guard.checkpoint();
        true
    }

    /// ALTER SYSTEM FLUSH SHARED_POOL: removes everything that is neither kept nor pinned. Returns how many statements
    /// it removed.
    pub fn flush(&self, p: &Process) -> u64 {
        let (mut gone, running) = (0, self.running());
        for (at, parent) in (0..).zip(self.parents_used()) {
            let life = parent.life.load(Ordering::Acquire);
            if life != 0 && !parent.about().kept {
                gone += u64::from(self.remove(p, at, life, Where::KglScan, &running).1);
            }
        }
        gone
    }

    /// DBMS_SHARED_POOL.PURGE of a statement: removes its cursors and those of its hot copies. Pinned cursors become
    /// invalid. False when there is no such statement.
    pub fn purge(&self, p: &Process, digest: Digest) -> bool {
        // `count` visits every copy; `any` would stop at the first one found.
        (0..=self.hot_copies).filter(|copy| self.purge_copy(p, digest, *copy)).count() > 0
    }

    fn purge_copy(&self, p: &Process, digest: Digest, copy: u8) -> bool {
        match self.find_parent(p, &Key { digest, namespace: Namespace::SqlArea, copy }) {
            Some((at, life)) => self.remove(p, at, life, Where::KglEvict, &self.running()).0,
            None => false,
        }
    }

    /// DBMS_SHARED_POOL.KEEP and UNKEEP: a kept statement does not age out. False when there is no such statement.
    pub fn set_kept(&self, p: &Process, digest: Digest, kept: bool) -> bool {
        self.set_object_kept(p, Namespace::SqlArea, digest, kept)
    }

    /// DBMS_SHARED_POOL.KEEP and UNKEEP of an object of any namespace.
    pub fn set_object_kept(&self, p: &Process, namespace: Namespace, digest: Digest, kept: bool) -> bool {
        let key = Key { digest, namespace, copy: 0 };
        match self.find_parent(p, &key) {
            Some((at, _)) => self.change_about(p, at, &key, false, |about| About { kept, ..about }),
            None => false,
        }
    }

    /// DBMS_SHARED_POOL.PURGE of an object that is not a statement. False when it was not in the cache.
    pub fn purge_object(&self, p: &Process, namespace: Namespace, digest: Digest) -> bool {
        let found = self.find_parent(p, &Key { digest, namespace, copy: 0 });
        found.is_some_and(|(at, life)| self.remove(p, at, life, Where::KglEvict, &[]).0)
    }

    /// DBMS_SHARED_POOL.MARKHOT: sessions parse and execute copies of the statement from now on, each session the copy
    /// of its number. False when the list of hot statements is full.
    pub fn mark_hot(&self, p: &Process, digest: Digest) -> bool {
        let c = self.control;
        let section = p.lock(self.pool, Where::KghAllocate, digest.value());
        if self.is_hot(digest) {
            return true;
        }
        let count = c.hot_count.load(Ordering::Relaxed);
        let Some(place) = c.hot.get(count as usize).filter(|_| count < HOT_MAX as u64) else { return false };
        let (low, high) = digest.halves();
        section.set(&place[0], low);
        section.set(&place[1], high);
        section.set(&c.hot_count, count + 1);
        true
    }

    /// DBMS_SHARED_POOL.UNMARKHOT: removes the copies, too. False when the statement was not hot.
    pub fn unmark_hot(&self, p: &Process, digest: Digest) -> bool {
        let c = self.control;
        {
            let section = p.lock(self.pool, Where::KghFree, digest.value());
            let count = c.hot_count.load(Ordering::Relaxed) as usize;
            let (low, high) = digest.halves();
            let is_it = |n: &usize| {
                let words = &c.hot[*n];
                words[0].load(Ordering::Relaxed) == low && words[1].load(Ordering::Relaxed) == high
            };
            let Some(at) = (0..count.min(HOT_MAX)).find(is_it) else { return false };
            // The last entry of the list takes the free place.
            for half in 0..2 {
                section.set(&c.hot[at][half], c.hot[count - 1][half].load(Ordering::Relaxed));
            }
            section.set(&c.hot_count, count as u64 - 1);
        }
        self.purge(p, digest);
        true
    }

    /// The parent of a key, and its life.
    pub(crate) fn find_parent(&self, p: &Process, key: &Key) -> Option<(u64, u64)> {
        let bucket = self.bucket(key);
        let find = || {
            let at = self.search(bucket, key)?;
            Some((at, self.parents[at as usize].life.load(Ordering::Relaxed)))
        };
        self.read_by_design(
            p,
            || p.read_versioned(&self.latches[bucket % self.latches.len()], Where::KglFind, find),
            |_| {
                let _guard = self.exclusive(p, bucket, Where::KglFind, key.idn());
                find()
            },
        )
    }

    /// Changes the properties of a key's parent; false when the parent is gone. `invalidates`: counts an invalidation.
    pub(crate) fn change_about(
        &self,
        p: &Process,
        at: u64,
        key: &Key,
        invalidates: bool,
        f: impl FnOnce(About) -> About,
    ) -> bool {
        let parent = &self.parents[at as usize];
        let guard = self.exclusive(p, self.bucket(key), Where::KglInsert, key.idn());
        let before = parent.about();
        if parent.life.load(Ordering::Relaxed) == 0 || Key::of(parent) != *key {
            return false;
        }
        let after = f(before);
        if invalidates && after != before {
            guard.add(&parent.invalidations, 1);
            self.control.invalidations[before.namespace as usize % Namespace::COUNT].fetch_add(1, Ordering::Relaxed);
        }
        if before.stale && !after.stale {
            guard.add(&parent.loads, 1);
        }
        guard.set(&parent.about, after.pack());
        true
    }
}
