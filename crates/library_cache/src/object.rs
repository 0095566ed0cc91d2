//! Objects of other namespaces than that of statements: tables, views, sequences, synonyms, stored units, indexes,
//! clusters.
//!
//! Whoever compiles a statement or links a stored unit gets and pins what it names for a moment: that is what
//! `v$librarycache` counts. Only the fact that an object was loaded is kept here, its definition is the dictionary's;
//! an execution of a cursor gets none.
//!
//! | design | gets of an object that is there |
//! |---|---|
//! | latch, pins | 1 of a child of `library cache` for the handle, 2 of a child of `library cache pin`: pinned, unpinned |
//! | mutex | `Library Cache` three times: the bucket, the handle pinned, the handle unpinned |
//! | versioned | 1 versioned get of `library cache`, in the process's own line |

use std::sync::atomic::Ordering;

use latch::{MutexKind, Where};
use process::Process;

use crate::find::Key;
use crate::layout::{About, now_s};
use crate::{Design, Digest, LibraryCache, Namespace, count};

/// An object as those who name it know it.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    /// Over name, owner and namespace.
    pub digest: Digest,
    pub namespace: Namespace,
    /// TYPE# of OBJ$.
    pub type_code: u16,
    pub owner: &'a str,
    pub name: &'a str,
    /// Its number in the dictionary; 0 for what is built in.
    pub number: u32,
}

impl LibraryCache {
    /// Gets and pins an object for a moment, and loads it when it is not there or what is there is of the past. True
    /// when it was there.
    ///
    /// Latches: none held on entry or return; gets as in the module's table, and of the bucket and `shared pool` for a
    /// load. Waits: those of a soft parse, and `latch: library cache pin` in the designs with latches.
    pub fn touch(&self, p: &Process, object: &Object<'_>) -> bool {
        let (line, n) = (self.line(p), object.namespace as usize);
        count(&line.gets[n]);
        count(&line.pins[n]);
        let key = Key { digest: object.digest, namespace: object.namespace, copy: 0 };
        self.advice.note(p, key.followed());
        let Some((at, is_stale)) = self.pin_object(p, &key) else {
            self.load_object(p, &key, object);
            return false;
        };
        count(&line.get_hits[n]);
        let (parent, now) = (&self.parents[at as usize], now_s());
        if parent.last_active_s.load(Ordering::Relaxed) < now {
            parent.last_active_s.store(now, Ordering::Relaxed);
        }
        if !is_stale {
            count(&line.pin_hits[n]);
        } else if self.change_about(p, at, &key, false, |about| About { stale: false, ..about }) {
            count(&line.reloads[n]);
        }
        true
    }

    /// Where an object is, and whether what is kept of it is of the past.
    fn pin_object(&self, p: &Process, key: &Key) -> Option<(u64, bool)> {
        let (bucket, idn) = (self.bucket(key), key.idn());
        let latch = &self.latches[bucket % self.latches.len()];
        let is_stale = |at: u64| self.parents[at as usize].about().stale;
        match self.design {
            Design::Versioned => {
                p.read_versioned(latch, Where::KglFind, || self.search(bucket, key).map(|at| (at, is_stale(at))))
            }
            Design::Latch | Design::Pins => {
                let at = {
                    let _section = p.lock(latch.latch(), Where::KglGetHandle, idn);
                    self.search(bucket, key)?
                };
                let pinned = {
                    let _section = p.lock(self.pin_latch(idn), Where::KglPinExecution, idn);
                    is_stale(at)
                };
                drop(p.lock(self.pin_latch(idn), Where::KglUnpinExecution, idn));
                Some((at, pinned))
            }
            Design::Mutex => {
                let chain = p.mutex(&self.buckets[bucket].mutex, MutexKind::LibraryCache, Where::KglMutexGet, idn);
                let at = self.search(bucket, key)?;
                let handle = &self.parents[at as usize].handle;
                let held = p.mutex(handle, MutexKind::LibraryCache, Where::KglMutexPin, idn);
                drop(chain);
                let pinned = is_stale(at);
                drop(held);
                drop(p.mutex(handle, MutexKind::LibraryCache, Where::KglMutexPinDelete, idn));
                Some((at, pinned))
            }
        }
    }

    /// Puts an object in; without room it is left out.
    fn load_object(&self, p: &Process, key: &Key, object: &Object<'_>) {
        let about =
            About { namespace: key.namespace as u8, copy: 0, command: object.type_code, kept: false, stale: false };
        for _ in 0..2 {
            let guard = self.exclusive(p, self.bucket(key), Where::KglInsert, key.idn());
            let is_there = self.search(self.bucket(key), key).is_some();
            if is_there || self.make_parent(p, &guard, key, object.name, object.owner, about, object.number).is_some() {
                return;
            }
            drop(guard);
            self.evict_parent(p);
        }
    }
}
