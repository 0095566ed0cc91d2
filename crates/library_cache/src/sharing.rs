//! The words of a child for sharing by the values of binds; see module `adaptive`.

use std::sync::atomic::AtomicU64;

use crate::words::{get, load_text, set, store_text};

/// Largest number of predicates of a statement that is shared by selectivity; a statement with more is plain.
pub const PREDICATES_MAX: usize = 14;
/// Largest number of corrections that an execution leaves for the next plan.
pub const CORRECTIONS_MAX: usize = 8;
/// Bytes kept of the predicates' texts.
const LABELS_BYTES: usize = 512;
/// Lowest numbers of processed rows that put an execution into the second and the third bucket.
pub(crate) const BUCKETS: [u64; 2] = [1000, 1_000_000];
/// Width of a new range on each side of its selectivity, as a fraction of it.
const MARGIN: f64 = 0.1;
pub(crate) const KIND: u64 = 3;
/// Flag: executions have processed very different numbers of rows.
pub(crate) const WANTS: u64 = 4;

types::numbered! {
    /// How a child is shared with regard to bind values.
    #[derive(Debug, Default, PartialEq, Eq)]
    pub enum Sharing: u64 {
        /// The same child for all values.
        #[default]
        Plain = 0,
        /// The same child for all values, executions are watched: IS_BIND_SENSITIVE.
        Sensitive = 1,
        /// Shared by selectivity: IS_BIND_AWARE.
        Aware = 2,
    }
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

/// The adaptive part of a child.
#[repr(C)]
pub struct Words {
    /// [`Sharing`] and [`WANTS`].
    pub(crate) flags: AtomicU64,
    /// Executions by bucket of processed rows.
    pub(crate) buckets: [AtomicU64; BUCKETS.len() + 1],
    /// The first watched execution: hash of its values, whether there was one, its rows, its buffer gets.
    pub(crate) bind_set: AtomicU64,
    pub(crate) first: [AtomicU64; 3],
    /// Number of predicates; bytes of their texts.
    count: AtomicU64,
    labels_bytes: AtomicU64,
    /// Bits of the lowest and the highest selectivity of each predicate.
    ranges: [[AtomicU64; 2]; PREDICATES_MAX],
    labels: [AtomicU64; LABELS_BYTES / 8],
    /// The corrections an execution has found: a number for the scan, and the bits of the factor.
    pub(crate) corrected: AtomicU64,
    pub(crate) corrections: [[AtomicU64; 2]; CORRECTIONS_MAX],
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
pub(crate) fn differ(buckets: [u64; BUCKETS.len() + 1]) -> bool {
    let pairs = (0..buckets.len()).flat_map(|a| (a + 1..buckets.len()).map(move |b| (a, b)));
    pairs.into_iter().any(|(a, b)| {
        let (few, many) = (buckets[a].min(buckets[b]), buckets[a].max(buckets[b]));
        few > 0 && if b == a + 1 { few == many } else { few * 3 >= many }
    })
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

    pub(crate) fn sharing(&self) -> Sharing {
        Sharing::from_code(get(&self.flags) & KIND).unwrap_or_default()
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
