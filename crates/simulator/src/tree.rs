//! The winner tree of pending events: one key for each session, the earliest at the root.
//!
//! A binary heap of events was rejected: a session's event is moved or withdrawn almost as often as one is added, and
//! here both are one walk from leaf to root without a search.

/// A key that never comes up.
pub(crate) const NEVER: u64 = u64::MAX;

/// Keys in a tournament. Of equal keys the lowest index wins, so the order of events is defined.
#[derive(Clone, Debug)]
pub(crate) struct WinnerTree {
    /// Node `n` has the children `2n` and `2n + 1`; the leaves begin at `leaves`.
    nodes: Vec<(u64, u32)>,
    leaves: usize,
}

impl WinnerTree {
    pub fn new(len: usize) -> Self {
        let leaves = len.next_power_of_two().max(2);
        let mut nodes = vec![(NEVER, u32::MAX); 2 * leaves];
        for (at, node) in nodes[leaves..].iter_mut().enumerate() {
            node.1 = at as u32;
        }
        let mut tree = Self { nodes, leaves };
        for node in (1..leaves).rev() {
            tree.nodes[node] = tree.better(node);
        }
        tree
    }

    #[inline]
    fn better(&self, node: usize) -> (u64, u32) {
        let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        if right.0 < left.0 { right } else { left }
    }

    /// The earliest key and its index.
    #[inline]
    pub fn first(&self) -> (u64, u32) {
        self.nodes[1]
    }

    /// Replaces the key of an index.
    #[inline]
    pub fn set(&mut self, index: u32, key: u64) {
        let mut node = self.leaves + index as usize;
        self.nodes[node].0 = key;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.better(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Draws, Stream};

    #[test]
    fn the_root_is_the_minimum_after_any_change() {
        for len in [1, 2, 3, 7, 12, 64, 100] {
            let (mut tree, mut keys) = (WinnerTree::new(len), vec![NEVER; len]);
            for n in 0..2_000 {
                let at = Draws::new(1).below(len as u64, 0, Stream::Pick, n) as usize;
                let key = Draws::new(2).below(50, 0, Stream::Pick, n);
                keys[at] = if key == 0 { NEVER } else { key };
                tree.set(at as u32, keys[at]);
                let (least, first) = tree.first();
                assert_eq!(least, *keys.iter().min().unwrap());
                assert_eq!(first as usize, keys.iter().position(|k| *k == least).unwrap(), "ties go to the lowest");
            }
        }
    }
}
