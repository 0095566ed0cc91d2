//! Hard parses: new parents and children, and children that are loaded again (L1, L2).
//!
//! A process that changes the chain of a bucket, or a list of children under it, holds the bucket: its child latch of
//! `library cache`, or its mutex. In the mutex design it also holds the parent's mutex exclusively to change the list.
//! In the designs with pins a child is loaded again or removed only while nobody pins it. The versioned design needs no
//! such rule: an execution reads nothing of the child except its figures.

use std::sync::atomic::Ordering;

use latch::Where;
use process::Process;

use crate::figures::count;
use crate::find::{OF_IDENTITY, Want};
use crate::guard::{Guard, take};
use crate::key::Key;
use crate::layout::{About, Child, Content, Parent, state};
use crate::{Edition, Env, Handle, LibraryCache, Mismatch, Namespace, Sharing, Statement};

/// Attempts to load a cursor, or the code of a unit, each after an eviction.
const TRIES: usize = 16;

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
}
