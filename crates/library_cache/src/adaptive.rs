//! Adaptive cursor sharing: child cursors that are shared only for some values of their binds.
//!
//! | kind | shared by | becomes |
//! |---|---|---|
//! | plain | all values | – |
//! | sensitive | all values; executions are watched | *wanting*, when the numbers of rows differ very much |
//! | wanting | all values, until the next execution | UNSHARED, when an aware child takes its place |
//! | aware | values whose selectivities lie in its ranges | UNSHARED, when a child with the same plan has its ranges |
//!
//! The ranges of a child hold, for each predicate, the selectivity of the values that the child was planned for,
//! widened by a tenth on both sides. Two children with the same plan are merged into one with the ranges of both. A
//! load writes these words with the rest of the child; sessions add the counts now and then by atomic additions.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use latch::Where;
use process::Process;

use crate::find::Want;
use crate::key::Key;
use crate::layout::{Child, state};
use crate::sharing::{BUCKETS, KIND, WANTS, differ};
use crate::words::{get, set};
use crate::{CORRECTIONS_MAX, Digest, Env, Handle, LibraryCache, Namespace, Sharing};

/// The answer to a session that wants to execute a child with given values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The child may be executed.
    Shared,
    /// The values need another child: look for one, or load one.
    Other,
}

impl LibraryCache {
    /// The kind of sharing of a child.
    pub fn sharing(&self, handle: Handle) -> Sharing {
        self.children.get(handle.child as usize).map_or(Sharing::Plain, |child| child.adaptive.sharing())
    }

    /// Whether a cursor that is sensitive to values may be executed with values of these selectivities. Writes nothing
    /// shared.
    pub fn fit<S: AsRef<[f64]>>(&self, handle: Handle, selectivities: impl FnOnce() -> S) -> Fit {
        let Some(child) = self.children.get(handle.child as usize) else { return Fit::Shared };
        let flags = get(&child.adaptive.flags);
        let is_out = get(&child.state) == state::UNSHARED;
        let fits = match flags & KIND {
            _ if is_out || flags & WANTS != 0 => false,
            kind if kind == Sharing::Aware as u64 => child.adaptive.contains(selectivities().as_ref()),
            _ => true,
        };
        fence(Ordering::Acquire);
        // A child that is gone says nothing about its ranges; the session's own plan is as good as another.
        if fits || child.life.load(Ordering::Relaxed) != handle.life { Fit::Shared } else { Fit::Other }
    }

    /// Marks a child UNSHARED (L16) and leaves the corrections that an execution has found: a number and a factor for
    /// each scan. False when the child is UNSHARED already, or gone.
    ///
    /// Latches: none held on entry or return; the bucket's.
    pub fn correct(&self, p: &Process, handle: Handle, found: &[(u64, f64)]) -> bool {
        let Some(child) = self.children.get(handle.child as usize) else { return false };
        let Some(parent) = self.parents.get(get(&child.parent) as usize) else { return false };
        let key = Key::of(parent);
        let guard = self.exclusive(p, self.bucket(&key), Where::KglScan, key.idn());
        let is_same = get(&child.life) == handle.life && Key::of(parent) == key;
        if !is_same || get(&child.state) != state::VALID {
            return false;
        }
        let _list = self.shut_list(p, parent, &key, Where::KksInsert);
        let words = &child.adaptive;
        for (to, (scan, factor)) in words.corrections.iter().zip(found) {
            set(&to[0], *scan);
            set(&to[1], factor.to_bits());
        }
        guard.set(&words.corrected, found.len().min(CORRECTIONS_MAX) as u64);
        guard.set(&child.state, state::UNSHARED);
        guard.checkpoint();
        true
    }

    /// The corrections left by an UNSHARED child of the statement.
    ///
    /// Latches: none. Nothing shared is written.
    pub fn corrections(&self, p: &Process, digest: Digest, env: &Env<'_>) -> Vec<(u64, f64)> {
        let key = Key { digest, namespace: Namespace::SqlArea, copy: self.copy_for(p, digest) };
        let want = Want::new(env);
        let Some(parent) = self.search(self.bucket(&key), &key) else { return Vec::new() };
        let mut link = self.parents[parent as usize].children.load(Ordering::Acquire);
        for _ in 0..=self.children.len() {
            let Some(child) = link.checked_sub(1).and_then(|at| self.children.get(at as usize)) else { break };
            let (life, words) = (child.life.load(Ordering::Acquire), &child.adaptive);
            let count = (get(&words.corrected) as usize).min(CORRECTIONS_MAX);
            // The list may change on the way, and lead to a child of another statement.
            let is_own = get(&child.parent) == parent;
            if is_own && count > 0 && get(&child.state) == state::UNSHARED && want.mismatch(child) == 0 {
                let of = |c: &[AtomicU64; 2]| (get(&c[0]), f64::from_bits(get(&c[1])));
                let found = words.corrections[..count].iter().map(of).collect();
                fence(Ordering::Acquire);
                return if life != 0 && get(&child.life) == life { found } else { Vec::new() };
            }
            link = child.next.load(Ordering::Acquire);
        }
        Vec::new()
    }

    /// Adds executions of a sensitive cursor by bucket, with the values, rows and buffer gets of the last one.
    pub fn note_executions(
        &self,
        handle: Handle,
        buckets: [u64; BUCKETS.len() + 1],
        (set, rows, gets): (u64, u64, u64),
    ) {
        let Some(child) = self.children.get(handle.child as usize) else { return };
        if child.life.load(Ordering::Acquire) != handle.life {
            return;
        }
        let words = &child.adaptive;
        let all: [u64; BUCKETS.len() + 1] =
            std::array::from_fn(|n| words.buckets[n].fetch_add(buckets[n], Ordering::Relaxed) + buckets[n]);
        if words.first[0].compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            words.bind_set.store(set, Ordering::Relaxed);
            words.first[1].store(rows, Ordering::Relaxed);
            words.first[2].store(gets, Ordering::Relaxed);
        }
        if words.sharing() == Sharing::Sensitive && differ(all) {
            words.flags.fetch_or(WANTS, Ordering::Relaxed);
        }
    }
}

impl Child {
    /// Whether a child loaded for other values replaces this one: true for a sensitive child.
    pub(crate) fn gives_way(&self) -> bool {
        self.adaptive.sharing() == Sharing::Sensitive
    }
}
