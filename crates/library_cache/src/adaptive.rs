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

use crate::find::{Key, Want};
use crate::layout::{Child, load_text, state, store_text};
use crate::{Digest, Env, Handle, LibraryCache, Namespace};

/// Largest number of predicates of a statement that is shared by selectivity; a statement with more is plain.
pub const PREDICATES_MAX: usize = 14;
/// Largest number of corrections that an execution leaves for the next plan.
pub const CORRECTIONS_MAX: usize = 8;
/// Bytes kept of the predicates' texts.
const LABELS_BYTES: usize = 512;
/// Lowest numbers of processed rows that put an execution into the second and the third bucket.
const BUCKETS: [u64; 2] = [1000, 1_000_000];
/// Width of a new range on each side of its selectivity, as a fraction of it.
const MARGIN: f64 = 0.1;

const KIND: u64 = 3;
/// Flag: executions have processed very different numbers of rows.
const WANTS: u64 = 4;

/// How a child is shared with regard to bind values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// The same child for all values.
    #[default]
    Plain = 0,
    /// The same child for all values, executions are watched: IS_BIND_SENSITIVE.
    Sensitive = 1,
    /// Shared by selectivity: IS_BIND_AWARE.
    Aware = 2,
}

/// The bind values that a cursor was planned for, as a load describes them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Adaptive<'a> {
    pub sharing: Sharing,
    /// The selectivity of each predicate.
    pub selectivities: &'a [f64],
    /// The texts of the predicates, one a line.
    pub labels: &'a str,
    /// A hash of the values.
    pub bind_set: u64,
    /// The plan it replaces was not out of date: it was planned without values and never executed.
    pub is_first: bool,
    /// Planned with the corrections that an execution of the previous child has found.
    pub is_corrected: bool,
}

/// The answer to a session that wants to execute a child with given values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The child may be executed.
    Shared,
    /// The values need another child: look for one, or load one.
    Other,
}

/// The adaptive part of a child.
#[repr(C)]
pub struct Words {
    /// [`Sharing`] and [`WANTS`].
    flags: AtomicU64,
    /// Executions by bucket of processed rows.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    /// The first watched execution: hash of its values, whether there was one, its rows, its buffer gets.
    bind_set: AtomicU64,
    first: [AtomicU64; 3],
    /// Number of predicates; bytes of their texts.
    count: AtomicU64,
    labels_bytes: AtomicU64,
    /// Bits of the lowest and the highest selectivity of each predicate.
    ranges: [[AtomicU64; 2]; PREDICATES_MAX],
    labels: [AtomicU64; LABELS_BYTES / 8],
    /// The corrections an execution has found: a number for the scan, and the bits of the factor.
    corrected: AtomicU64,
    corrections: [[AtomicU64; 2]; CORRECTIONS_MAX],
}

/// The columns about sharing in views of child cursors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharingRow {
    pub is_sensitive: bool,
    pub is_aware: bool,
    /// IS_REOPTIMIZABLE: the next parse of the statement makes a new plan.
    pub is_reoptimizable: bool,
    pub buckets: [u64; BUCKETS.len() + 1],
    /// The first watched execution: hash of its values, its rows and its buffer gets.
    pub first: Option<(u64, u64, u64)>,
    /// Each predicate with the lowest and the highest selectivity.
    pub ranges: Vec<(String, f64, f64)>,
}

/// Returns the bucket of an execution that has processed this many rows.
pub fn bucket_of(rows: u64) -> usize {
    BUCKETS.iter().filter(|from| rows >= **from).count()
}

/// Whether executions differ too much for one plan: a bucket has as many executions as its neighbour, or a third as
/// many as one farther away.
fn differ(buckets: [u64; BUCKETS.len() + 1]) -> bool {
    let pairs = (0..buckets.len()).flat_map(|a| (a + 1..buckets.len()).map(move |b| (a, b)));
    pairs.into_iter().any(|(a, b)| {
        let (few, many) = (buckets[a].min(buckets[b]), buckets[a].max(buckets[b]));
        few > 0 && if b == a + 1 { few == many } else { few * 3 >= many }
    })
}

fn get(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

fn set(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Relaxed);
}

impl Words {
    /// Writes the adaptive part of a load. The child's edition is odd meanwhile.
    pub(crate) fn fill(&self, of: &Adaptive<'_>) {
        let count = of.selectivities.len();
        let sharing = if count > PREDICATES_MAX { Sharing::Plain } else { of.sharing };
        set(&self.flags, sharing as u64);
        self.buckets.iter().chain(&self.first).for_each(|word| set(word, 0));
        set(&self.bind_set, of.bind_set);
        set(&self.corrected, 0);
        set(&self.count, count.min(PREDICATES_MAX) as u64);
        for (range, share) in self.ranges.iter().zip(of.selectivities) {
            set(&range[0], (share * (1.0 - MARGIN)).to_bits());
            set(&range[1], (share * (1.0 + MARGIN)).min(1.0).to_bits());
        }
        set(&self.labels_bytes, store_text(&self.labels, of.labels) as u64);
    }

    fn sharing(&self) -> Sharing {
        match get(&self.flags) & KIND {
            1 => Sharing::Sensitive,
            2 => Sharing::Aware,
            _ => Sharing::Plain,
        }
    }

    pub(crate) fn is_aware(&self) -> bool {
        self.sharing() == Sharing::Aware
    }

    /// Whether the ranges contain these selectivities.
    pub(crate) fn contains(&self, selectivities: &[f64]) -> bool {
        let ranges = &self.ranges[..(get(&self.count) as usize).min(PREDICATES_MAX)];
        let inside = |(range, share): (&[AtomicU64; 2], &f64)| {
            (f64::from_bits(get(&range[0]))..=f64::from_bits(get(&range[1]))).contains(share)
        };
        ranges.len() == selectivities.len() && ranges.iter().zip(selectivities).all(inside)
    }

    /// The ranges as bits.
    pub(crate) fn ranges(&self) -> [[u64; 2]; PREDICATES_MAX] {
        std::array::from_fn(|n| [get(&self.ranges[n][0]), get(&self.ranges[n][1])])
    }

    /// Widens the ranges by those of another child (L15). The caller keeps readers of the list out.
    pub(crate) fn widen(&self, by: &[[u64; 2]; PREDICATES_MAX]) {
        let count = (get(&self.count) as usize).min(PREDICATES_MAX);
        for (range, [low, high]) in self.ranges[..count].iter().zip(by) {
            let (low, high) = (f64::from_bits(*low), f64::from_bits(*high));
            set(&range[0], f64::from_bits(get(&range[0])).min(low).to_bits());
            set(&range[1], f64::from_bits(get(&range[1])).max(high).to_bits());
        }
    }

    pub(crate) fn row(&self) -> SharingRow {
        let sharing = self.sharing();
        let is_sensitive = sharing != Sharing::Plain;
        let labels = load_text(&self.labels, get(&self.labels_bytes) as usize);
        let count = if sharing == Sharing::Aware { (get(&self.count) as usize).min(PREDICATES_MAX) } else { 0 };
        let range = |(range, label): (&[AtomicU64; 2], &str)| {
            (label.to_owned(), f64::from_bits(get(&range[0])), f64::from_bits(get(&range[1])))
        };
        let labels = labels.lines().chain(std::iter::repeat(""));
        SharingRow {
            is_sensitive,
            is_aware: sharing == Sharing::Aware,
            is_reoptimizable: get(&self.corrected) > 0,
            buckets: std::array::from_fn(|n| get(&self.buckets[n])),
            first: (get(&self.first[0]) != 0).then(|| (get(&self.bind_set), get(&self.first[1]), get(&self.first[2]))),
            ranges: self.ranges[..count].iter().zip(labels).map(range).collect(),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_differ_by_buckets() {
        assert!(!differ([5, 0, 0]));
        assert!(differ([1, 1, 0]));
        assert!(!differ([3, 1, 0]));
        assert!(differ([3, 0, 1]));
        assert!(!differ([4, 0, 1]));
        assert!(differ([0, 2, 2]));
        assert_eq!((bucket_of(0), bucket_of(999), bucket_of(1000), bucket_of(1_000_000)), (0, 0, 1, 2));
    }
}
