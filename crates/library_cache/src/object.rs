//! Objects that are not statements: tables, views, sequences, synonyms, stored units, indexes, clusters.
//!
//! A session that compiles a statement or links a stored unit gets and pins the objects that it names for a moment:
//! `v$librarycache` counts these gets. The cache keeps only the fact that an object was loaded; its definition is in
//! the dictionary. The execution of a cursor gets no objects.
//!
//! | design | gets of an object that is there |
//! |---|---|
//! | latch, pins | 1 of a child of `library cache`: the handle; 2 of a child of `library cache pin`: pin, unpin |
//! | mutex | `Library Cache` three times: the bucket, the handle pinned, the handle unpinned |
//! | versioned | 1 versioned get of `library cache`, in the process's own line |

use std::sync::atomic::Ordering;

use latch::{MutexKind, Where};
use process::Process;

use crate::figures::count;
use crate::find::Want;
use crate::key::Key;
use crate::layout::{About, Content, state};
use crate::load::Tried;
use crate::words::now_s;
use crate::{Design, Digest, Edition, Env, Handle, LibraryCache, Namespace};

/// An object as a statement or unit names it.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    /// Over name, owner and namespace.
    pub digest: Digest,
    pub namespace: Namespace,
    /// TYPE# of OBJ$.
    pub type_code: u16,
    pub owner: &'a str,
    pub name: &'a str,
    /// The object number in the dictionary; 0 for built-in objects.
    pub number: u32,
}

impl LibraryCache {
    /// Gets and pins an object for a moment, and loads it when it is missing or stale. True when it was there.
    ///
    /// Latches: none held on entry or return; gets as in the module's table, and of the bucket and `shared pool` for a
    /// load. Waits: those of a soft parse, and `latch: library cache pin` in the designs with latches.
    pub fn touch(&self, p: &Process, object: &Object<'_>) -> bool {
        self.got(p, object, None).0
    }

    /// Like [`Self::touch`], for a stored unit; returns the child with the image of its code for these settings, found
    /// by the same gets.
    pub fn touch_code(&self, p: &Process, object: &Object<'_>, env: &Env<'_>) -> Option<Handle> {
        self.got(p, object, Some(&Want::new(env))).1
    }

    fn got(&self, p: &Process, object: &Object<'_>, want: Option<&Want<'_>>) -> (bool, Option<Handle>) {
        let (line, n) = (self.line(p), object.namespace as usize);
        count(&line.gets[n]);
        count(&line.pins[n]);
        let key = Key { digest: object.digest, namespace: object.namespace, copy: 0 };
        self.advice.note(p, key.followed());
        let Some((at, is_stale, code)) = self.pin_object(p, &key, want) else {
            self.load_object(p, &key, object);
            return (false, None);
        };
        count(&line.get_hits[n]);
        let (parent, now) = (&self.parents[at as usize], now_s());
        if let Some(child) = code.and_then(|code| self.children.get(code.child as usize))
            && child.last_active_s.load(Ordering::Relaxed) < now
        {
            // Code has no executions that would show its use.
            child.last_active_s.store(now, Ordering::Relaxed);
        }
        if parent.last_active_s.load(Ordering::Relaxed) < now {
            parent.last_active_s.store(now, Ordering::Relaxed);
        }
        if !is_stale {
            count(&line.pin_hits[n]);
        } else if self.change_about(p, at, &key, false, |about| About { stale: false, ..about }) {
            count(&line.reloads[n]);
        }
        (true, code)
    }

    /// The place of an object, whether it is stale, and the wanted child.
    fn pin_object(&self, p: &Process, key: &Key, want: Option<&Want<'_>>) -> Option<(u64, bool, Option<Handle>)> {
        let (bucket, idn) = (self.bucket(key), key.idn());
        let latch = &self.latches[bucket % self.latches.len()];
        let is_stale = |at: u64| self.parents[at as usize].about().stale;
        let code =
            |at: u64| want.and_then(|want| self.search_child(&self.parents[at as usize], want).own).map(|(it, _)| it);
        let versioned = || {
            p.read_versioned(latch, Where::KglFind, || self.search(bucket, key).map(|at| (at, is_stale(at), code(at))))
        };
        self.read_by_design(p, versioned, |design| match design {
            Design::Latch | Design::Pins | Design::Versioned => {
                let (at, code) = {
                    let _section = p.lock(latch.latch(), Where::KglGetHandle, idn);
                    let at = self.search(bucket, key)?;
                    (at, code(at))
                };
                let pinned = {
                    let _section = p.imitated_get(self.pin_latch(idn), Where::KglPinExecution, idn);
                    is_stale(at)
                };
                drop(p.imitated_get(self.pin_latch(idn), Where::KglUnpinExecution, idn));
                Some((at, pinned, code))
            }
            Design::Mutex => {
                let chain = p.mutex(&self.buckets[bucket].mutex, MutexKind::LibraryCache, Where::KglMutexGet, idn);
                let at = self.search(bucket, key)?;
                let code = code(at);
                let handle = &self.parents[at as usize].handle;
                let held = p.mutex(handle, MutexKind::LibraryCache, Where::KglMutexPin, idn);
                drop(chain);
                let pinned = is_stale(at);
                drop(held);
                drop(p.imitated_mutex(handle, MutexKind::LibraryCache, Where::KglMutexPinDelete, idn));
                Some((at, pinned, code))
            }
        })
    }

    /// Puts the image of a unit's code under its object, as a child for these settings (L18). If another session has
    /// done so meanwhile, its image stays, unless it is the `stale` one. Without room there is no image, and each
    /// session compiles the unit.
    ///
    /// Latches: none held on entry or return; the bucket's, `shared pool`, in the mutex design `Cursor Parent` and
    /// `Cursor Pin`.
    pub fn load_code(&self, p: &Process, object: &Object<'_>, env: &Env<'_>, image: &[u8], stale: Option<Edition>) {
        if self.is_too_long(image.len()) && stale.is_none() {
            return;
        }
        self.make_room(p, image.len());
        let key = Key { digest: object.digest, namespace: object.namespace, copy: 0 };
        let content = Content { image, ..Content::default() };
        self.load_with_room(p, || self.try_load_code(p, &key, object, env, &content, stale));
    }

    fn try_load_code(
        &self,
        p: &Process,
        key: &Key,
        object: &Object<'_>,
        env: &Env<'_>,
        content: &Content<'_>,
        stale: Option<Edition>,
    ) -> Tried {
        let guard = self.exclusive(p, self.bucket(key), Where::KglInsert, key.idn());
        let at = match self.search(self.bucket(key), key) {
            Some(at) => at,
            None => match self.make_parent(p, &guard, key, object.name, object.owner, about(object), object.number) {
                Some(at) => at,
                None => return Tried::NoParent,
            },
        };
        let parent = &self.parents[at as usize];
        let _list = self.shut_list(p, parent, key, Where::KksInsert);
        let want = Want::new(env);
        let mut link = parent.children.load(Ordering::Relaxed);
        while let Some(index) = link.checked_sub(1) {
            let child = &self.children[index as usize];
            link = child.next.load(Ordering::Relaxed);
            if want.mismatch(child) != 0 {
                continue;
            }
            let handle = Handle { child: index as u32, life: child.life.load(Ordering::Relaxed) };
            let is_of_use = child.state.load(Ordering::Relaxed) == state::VALID
                && child.image.load(Ordering::Relaxed) != 0
                && stale != Some(self.edition_of(handle));
            if is_of_use {
                return Tried::Loaded(handle);
            }
            // A child of an object is never executed, so it has no pins: each session has its own copy of the code.
            let Some(_unpinned) = self.shut_out_pins(p, child, Where::KksParse, key.idn()) else { continue };
            guard.set(&child.state, state::INVALID);
            guard.checkpoint();
            faults::point("library-cache-unit");
            self.fill(p, &guard, child, content, key.idn());
            guard.set(&child.state, state::VALID);
            guard.add(&child.loads, 1);
            guard.checkpoint();
            return Tried::Loaded(handle);
        }
        self.make_child(p, &guard, at, env, content, 0).map_or(Tried::NoChild, Tried::Loaded)
    }

    /// Puts an object into the cache; without room it is left out.
    fn load_object(&self, p: &Process, key: &Key, object: &Object<'_>) {
        for _ in 0..2 {
            let guard = self.exclusive(p, self.bucket(key), Where::KglInsert, key.idn());
            let is_there = self.search(self.bucket(key), key).is_some();
            if is_there
                || self.make_parent(p, &guard, key, object.name, object.owner, about(object), object.number).is_some()
            {
                return;
            }
            drop(guard);
            self.evict_parent(p);
        }
    }
}

/// The properties of an object's parent.
fn about(object: &Object<'_>) -> About {
    let (namespace, command) = (object.namespace as u8, object.type_code);
    About { namespace, copy: 0, command, kept: false, stale: false }
}
