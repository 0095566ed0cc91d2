//! Finding a cursor: a soft parse, in four designs.
//!
//! | design | gets of a soft parse | gets of an execution |
//! |---|---|---|
//! | latch (up to 10.2.0.1) | 2 of a child of `library cache` (handle, child) | 2 of a child of `library cache pin` |
//! | pins (10.2) | the same | 1 reference of the mutex `Cursor Pin` |
//! | mutex (11.1 and later) | 4 mutexes: 2 `Library Cache` (bucket, handle), `Cursor Parent`, `hash table` | the same |
//! | versioned (Latchwork) | 1 versioned get of a child of `library cache`, in the process's own line | none |
//!
//! The four designs read the same chains; the modules that change the chains (`load`, `evict`) are common to all. A
//! cursor that a session holds open, or keeps for `session_cached_cursors`, is executed without a parse.

use std::sync::atomic::Ordering;

use latch::{MutexKind, Where};
use process::Process;

use crate::figures::count;
use crate::key::Key;
use crate::layout::{Child, HOT_MAX, Parent, state};
use crate::words::name_words;
use crate::{Design, Digest, Env, Handle, LibraryCache, Mismatch, NAME_BYTES_MAX, Namespace};

/// The result of a search.
#[derive(Clone, Copy, Default)]
pub(crate) struct Found {
    /// The child that fits, and the types of its binds.
    pub own: Option<(Handle, u64)>,
    candidates: Candidates,
}

/// The environment, its schema name as words.
pub(crate) struct Want<'a> {
    env: &'a Env<'a>,
    schema: [u64; NAME_BYTES_MAX / 8],
    /// The selectivities of the values to execute it with.
    selectivities: Option<&'a [f64]>,
}

impl<'a> Want<'a> {
    pub(crate) fn new(env: &'a Env<'a>) -> Want<'a> {
        Want { env, schema: name_words(env.schema), selectivities: None }
    }

    /// The same for bind values with these selectivities.
    pub(crate) fn of(self, selectivities: Option<&'a [f64]>) -> Want<'a> {
        Want { selectivities, ..self }
    }

    /// The reasons why a child cannot be shared, as bits; 0 when it can.
    pub(crate) fn mismatch(&self, child: &Child) -> u64 {
        let mut bits = 0;
        let mut differs = |word: &std::sync::atomic::AtomicU64, want: u64, bit: Mismatch| {
            if word.load(Ordering::Relaxed) != want {
                bits |= 1 << bit as u64;
            }
        };
        differs(&child.user, self.env.user.into(), Mismatch::AuthCheck);
        differs(&child.auth, self.env.auth, Mismatch::AuthCheck);
        differs(&child.optimizer, self.env.optimizer, Mismatch::Optimizer);
        differs(&child.nls, self.env.nls, Mismatch::Language);
        for (word, want) in child.schema.iter().zip(self.schema) {
            differs(word, want, Mismatch::Translation);
        }
        let binds = child.binds.load(Ordering::Relaxed);
        if binds != 0 && self.env.binds != 0 && binds != self.env.binds {
            bits |= 1 << Mismatch::Bind as u64;
        }
        bits |= u64::from(child.has_rolled()) << Mismatch::RollInvalid as u64;
        if let Some(selectivities) = self.selectivities {
            if child.gives_way() {
                bits |= 1 << Mismatch::LoadOptimizerStats as u64;
            } else if child.adaptive.is_aware() && !child.adaptive.contains(selectivities) {
                bits |= 1 << Mismatch::BindEquivFailure as u64;
            }
        }
        bits
    }
}

/// Largest number of children in [`Candidates`] (L5).
pub const CANDIDATES_MOST: usize = 4;

/// Valid children of a statement that fit but for user, schema or rights. The caller finds out whether the plan means
/// the same with its own names and privileges.
#[derive(Clone, Copy, Debug)]
pub struct Candidates {
    handles: [Handle; CANDIDATES_MOST],
    count: usize,
}

impl Default for Candidates {
    fn default() -> Candidates {
        Candidates { handles: [Handle::NONE; CANDIDATES_MOST], count: 0 }
    }
}

impl Candidates {
    fn push(&mut self, handle: Handle) {
        if let Some(place) = self.handles.get_mut(self.count) {
            *place = handle;
            self.count += 1;
        }
    }

    pub fn handles(&self) -> &[Handle] {
        &self.handles[..self.count]
    }
}

/// The mismatches of names and privileges alone.
pub(crate) const OF_IDENTITY: u64 = 1 << Mismatch::AuthCheck as u64 | 1 << Mismatch::Translation as u64;

impl LibraryCache {
    /// Finds a cursor that a statement can share: a soft parse. `None`: compile the statement and
    /// [`LibraryCache::load`] it.
    ///
    /// Latches: none held on entry or return; gets as in the module's table. Waits: `latch: library cache`, `library
    /// cache: mutex X`, `cursor: mutex S`, as the design has them.
    pub fn parse(&self, p: &Process, digest: Digest, env: &Env<'_>) -> Option<Handle> {
        self.parse_for(p, digest, env, None)
    }

    /// Like [`Self::parse`], for bind values with these selectivities.
    pub fn parse_for(
        &self,
        p: &Process,
        digest: Digest,
        env: &Env<'_>,
        selectivities: Option<&[f64]>,
    ) -> Option<Handle> {
        self.parse_or_candidates(p, digest, env, selectivities).ok()
    }

    /// Like [`Self::parse_for`].
    ///
    /// # Errors
    /// Children of other users, schemas or rights that the caller may try, found by the same get: see
    /// [`Self::take_kin`].
    pub fn parse_or_candidates(
        &self,
        p: &Process,
        digest: Digest,
        env: &Env<'_>,
        selectivities: Option<&[f64]>,
    ) -> Result<Handle, Candidates> {
        let line = self.line(p);
        count(&line.gets[Namespace::SqlArea as usize]);
        let key = Key { digest, namespace: Namespace::SqlArea, copy: self.copy_for(p, digest) };
        self.advice.note(p, key.followed());
        let want = Want::new(env).of(selectivities);
        let found = self.read_by_design(
            p,
            || self.find_versioned(p, &key, &want),
            |design| match design {
                Design::Mutex => self.find_mutexed(p, &key, &want).unwrap_or_default(),
                _ => self.find_latched(p, &key, &want).unwrap_or_default(),
            },
        );
        let Some((handle, binds)) = found.own else { return Err(found.candidates) };
        count(&line.get_hits[Namespace::SqlArea as usize]);
        if binds == 0 && env.binds != 0 {
            self.name_binds(p, &key, handle, env.binds);
        }
        Ok(handle)
    }

    /// Counts a soft parse for a session that executes a child of [`Candidates`].
    pub fn take_kin(&self, p: &Process, digest: Digest, handle: Handle, env: &Env<'_>) {
        count(&self.line(p).get_hits[Namespace::SqlArea as usize]);
        let binds = self.children.get(handle.child as usize).map_or(0, |child| child.binds.load(Ordering::Relaxed));
        if binds == 0 && env.binds != 0 {
            let key = Key { digest, namespace: Namespace::SqlArea, copy: self.copy_for(p, digest) };
            self.name_binds(p, &key, handle, env.binds);
        }
    }

    fn find_versioned(&self, p: &Process, key: &Key, want: &Want<'_>) -> Found {
        let bucket = self.bucket(key);
        p.read_versioned(&self.latches[bucket % self.latches.len()], Where::KglFind, || {
            let parent = self.search(bucket, key);
            parent.map_or_else(Found::default, |parent| self.search_child(&self.parents[parent as usize], want))
        })
    }

    fn find_latched(&self, p: &Process, key: &Key, want: &Want<'_>) -> Option<Found> {
        let bucket = self.bucket(key);
        let latch = self.latches[bucket % self.latches.len()].latch();
        let section = p.lock(latch, Where::KglGetHandle, key.idn());
        let parent = &self.parents[self.search(bucket, key)? as usize];
        let life = parent.life.load(Ordering::Relaxed);
        drop(section);
        let _section = p.lock(latch, Where::KglPin, key.idn());
        (parent.life.load(Ordering::Relaxed) == life).then(|| self.search_child(parent, want))
    }

    fn find_mutexed(&self, p: &Process, key: &Key, want: &Want<'_>) -> Option<Found> {
        let bucket = self.bucket(key);
        let idn = key.idn();
        let chain = p.mutex(&self.buckets[bucket].mutex, MutexKind::LibraryCache, Where::KglMutexGet, idn);
        let parent = &self.parents[self.search(bucket, key)? as usize];
        let life = parent.life.load(Ordering::Relaxed);
        let handle = p.mutex(&parent.handle, MutexKind::LibraryCache, Where::KglMutexPin, idn);
        drop(chain);
        let list = p.mutex_shared(&parent.parent, MutexKind::CursorParent, Where::KksParent, idn);
        drop(handle);
        let _children = p.imitated_mutex_shared(&parent.table, MutexKind::HashTable, Where::KksChildren, idn);
        // The parent may have been removed between the two mutexes.
        let found = (parent.life.load(Ordering::Relaxed) == life).then(|| self.search_child(parent, want));
        drop(list);
        found
    }

    /// Searches the parent of a key. The walk is bounded, since readers without a latch may see torn chains.
    pub(crate) fn search(&self, bucket: usize, key: &Key) -> Option<u64> {
        let mut link = self.buckets[bucket].head.load(Ordering::Acquire);
        for _ in 0..=self.parents.len() {
            let index = link.checked_sub(1)?;
            let parent = self.parents.get(index as usize)?;
            if Key::of(parent) == *key && parent.life.load(Ordering::Relaxed) != 0 {
                return Some(index);
            }
            link = parent.chain.load(Ordering::Acquire);
        }
        None
    }

    /// Searches a valid child that fits, with the types of its binds; without one, children of other users. Bounded
    /// likewise.
    pub(crate) fn search_child(&self, parent: &Parent, want: &Want<'_>) -> Found {
        let mut found = Found::default();
        let mut link = parent.children.load(Ordering::Acquire);
        for _ in 0..=self.children.len() {
            let Some((index, child)) =
                link.checked_sub(1).and_then(|index| Some((index, self.children.get(index as usize)?)))
            else {
                break;
            };
            if child.state.load(Ordering::Relaxed) == state::VALID {
                let handle = Handle { child: index as u32, life: child.life.load(Ordering::Relaxed) };
                match want.mismatch(child) {
                    0 => {
                        found.own = Some((handle, child.binds.load(Ordering::Relaxed)));
                        return found;
                    }
                    differs if differs & !OF_IDENTITY == 0 => found.candidates.push(handle),
                    _ => {}
                }
            }
            link = child.next.load(Ordering::Acquire);
        }
        found
    }

    /// The copy of a statement that a session uses: 0 unless the statement is hot.
    pub(crate) fn copy_for(&self, p: &Process, digest: Digest) -> u8 {
        if self.is_hot(digest) { (p.sid() % u32::from(self.hot_copies)) as u8 + 1 } else { 0 }
    }

    /// Whether a statement is marked hot.
    pub(crate) fn is_hot(&self, digest: Digest) -> bool {
        let count = self.control.hot_count.load(Ordering::Acquire) as usize;
        count > 0 && {
            let (low, high) = digest.halves();
            let hot = &self.control.hot[..count.min(HOT_MAX)];
            hot.iter().any(|h| h[0].load(Ordering::Relaxed) == low && h[1].load(Ordering::Relaxed) == high)
        }
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
}
