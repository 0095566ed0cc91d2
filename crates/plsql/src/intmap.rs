//! The elements of an associative array with integer subscripts.
//!
//! Most such arrays are filled from one end without gaps, by a loop or by BULK COLLECT: their elements are in a vector,
//! and the subscript is an index. The first subscript that leaves a gap turns the vector into a tree, until the array
//! is emptied.

use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::ops::Bound::{Excluded, Unbounded};

/// A map from integers that is fast for consecutive keys.
#[derive(Clone, Debug)]
pub enum IntMap<T> {
    /// Element `i` is at `i - first`.
    Row {
        first: i64,
        items: Vec<T>,
    },
    Tree(BTreeMap<i64, T>),
}

impl<T> Default for IntMap<T> {
    fn default() -> Self {
        IntMap::Row { first: 1, items: Vec::new() }
    }
}

/// The values of a map in the order of their keys.
pub enum Values<'a, T> {
    Row(std::slice::Iter<'a, T>),
    Tree(Range<'a, i64, T>),
}

impl<'a, T> Iterator for Values<'a, T> {
    type Item = &'a T;
    fn next(&mut self) -> Option<&'a T> {
        match self {
            Values::Row(items) => items.next(),
            Values::Tree(range) => range.next().map(|(_, v)| v),
        }
    }
}

impl<T> IntMap<T> {
    /// The elements of an array whose subscripts begin with 1.
    pub fn of(items: Vec<T>) -> Self {
        IntMap::Row { first: 1, items }
    }

    pub fn len(&self) -> usize {
        match self {
            IntMap::Row { items, .. } => items.len(),
            IntMap::Tree(tree) => tree.len(),
        }
    }

    #[inline]
    pub fn get(&self, key: i64) -> Option<&T> {
        match self {
            IntMap::Row { first, items } => items.get(usize::try_from(key.checked_sub(*first)?).ok()?),
            IntMap::Tree(tree) => tree.get(&key),
        }
    }

    /// The value at `key`, made by `new` if missing.
    #[inline]
    pub fn entry(&mut self, key: i64, new: impl FnOnce() -> T) -> &mut T {
        if let IntMap::Row { first, items } = self {
            if items.is_empty() {
                *first = key;
            }
            // Below the first key, beyond the end by more than one, or so far away that the difference overflows.
            if key.checked_sub(*first).is_none_or(|at| at as u64 > items.len() as u64) {
                self.to_tree();
            }
        }
        match self {
            IntMap::Row { first, items } => {
                let at = (key - *first) as usize;
                if at == items.len() {
                    items.push(new());
                }
                &mut items[at]
            }
            IntMap::Tree(tree) => tree.entry(key).or_insert_with(new),
        }
    }

    #[cold]
    fn to_tree(&mut self) {
        if let IntMap::Row { first, items } = self {
            let pairs = std::mem::take(items).into_iter().enumerate().map(|(n, v)| (*first + n as i64, v));
            *self = IntMap::Tree(pairs.collect());
        }
    }

    pub fn first(&self) -> Option<i64> {
        match self {
            IntMap::Row { first, items } => (!items.is_empty()).then_some(*first),
            IntMap::Tree(tree) => tree.keys().next().copied(),
        }
    }

    pub fn last(&self) -> Option<i64> {
        match self {
            IntMap::Row { first, items } => (!items.is_empty()).then(|| *first + (items.len() as i64 - 1)),
            IntMap::Tree(tree) => tree.keys().next_back().copied(),
        }
    }

    /// The first key above `key`.
    pub fn next(&self, key: i64) -> Option<i64> {
        match self {
            IntMap::Row { .. } => {
                self.last().filter(|last| key < *last).and(self.first()).map(|f| f.max(key.saturating_add(1)))
            }
            IntMap::Tree(tree) => tree.range((Excluded(key), Unbounded)).next().map(|(k, _)| *k),
        }
    }

    /// The last key below `key`.
    pub fn prior(&self, key: i64) -> Option<i64> {
        match self {
            IntMap::Row { .. } => {
                self.first().filter(|f| *f < key).and(self.last()).map(|l| l.min(key.saturating_sub(1)))
            }
            IntMap::Tree(tree) => tree.range(..key).next_back().map(|(k, _)| *k),
        }
    }

    pub fn clear(&mut self) {
        match self {
            IntMap::Row { items, .. } => items.clear(),
            IntMap::Tree(_) => *self = IntMap::default(),
        }
    }

    /// Removes all keys from `from` to `to`, both included.
    pub fn remove_range(&mut self, from: i64, to: i64) {
        let (Some(first), Some(last)) = (self.first(), self.last()) else { return };
        let (from, to) = (from.max(first), to.min(last));
        if from > to {
            return;
        }
        match self {
            _ if from == first && to == last => self.clear(),
            IntMap::Row { items, .. } if to == last => items.truncate((from - first) as usize),
            IntMap::Row { first, items } if from == *first => {
                items.drain(..=(to - *first) as usize);
                *first = to + 1;
            }
            _ => {
                self.to_tree();
                if let IntMap::Tree(tree) = self {
                    let mut above = tree.split_off(&from);
                    if to < last {
                        tree.append(&mut above.split_off(&(to + 1)));
                    }
                }
            }
        }
    }

    pub fn values(&self) -> Values<'_, T> {
        match self {
            IntMap::Row { items, .. } => Values::Row(items.iter()),
            IntMap::Tree(tree) => Values::Tree(tree.range(..)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_int_map_behaves_like_a_btree_map(
            start in -3i64..3,
            steps in prop::collection::vec((0u8..12, -4i64..14, -4i64..14), 1..60),
        ) {
            let (mut map, mut model) = (IntMap::default(), BTreeMap::new());
            for (n, (what, a, b)) in steps.into_iter().enumerate() {
                let n = n as i64;
                match what {
                    // Usually filled as by a loop.
                    0..=6 => {
                        let key = model.keys().next_back().map_or(start, |k| k + 1);
                        *map.entry(key, || n) = n;
                        model.insert(key, n);
                    }
                    7 | 8 => {
                        *map.entry(a, || 0) += n;
                        *model.entry(a).or_insert(0) += n;
                    }
                    9 => {
                        map.clear();
                        model.clear();
                    }
                    _ => {
                        map.remove_range(a, b);
                        model.retain(|k, _| !(a..=b).contains(k));
                    }
                }
                prop_assert_eq!(map.len(), model.len());
                prop_assert_eq!(map.values().copied().collect::<Vec<_>>(), model.values().copied().collect::<Vec<_>>());
                prop_assert_eq!((map.first(), map.last()), (model.keys().next().copied(), model.keys().next_back().copied()));
                for key in -6..16 {
                    prop_assert_eq!(map.get(key), model.get(&key));
                    prop_assert_eq!(map.next(key), model.range(key + 1..).next().map(|(k, _)| *k));
                    prop_assert_eq!(map.prior(key), model.range(..key).next_back().map(|(k, _)| *k));
                }
            }
        }

        #[test]
        fn extreme_keys_are_supported(keys in prop::collection::vec(prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0), Just(-1)], 1..6)) {
            let mut map = IntMap::default();
            for key in &keys {
                *map.entry(*key, || 0) += 1;
            }
            prop_assert_eq!(map.first(), keys.iter().min().copied());
            prop_assert_eq!(map.last(), keys.iter().max().copied());
            prop_assert_eq!((map.next(i64::MAX), map.prior(i64::MIN)), (None, None));
        }
    }
}
