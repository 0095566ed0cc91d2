//! Maps by numbers that the planner itself gives out, and by addresses of what it has made.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by a register, or by the address of a row source.
pub(crate) type ByWord<K, V> = HashMap<K, V, BuildHasherDefault<WordHasher>>;

/// A hash of one word. Nobody outside chooses the keys, so that no secret is needed against keys that collide.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        // The map takes its place from the low bits and a tag from the high ones.
        let mixed = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_is_found_and_nothing_else() {
        let mut map: ByWord<u32, u32> = ByWord::default();
        map.extend((0..10_000).map(|n| (n * 64, n)));
        assert!((0..10_000).all(|n| map.get(&(n * 64)) == Some(&n)));
        assert_eq!((map.get(&1), map.len()), (None, 10_000));
    }

    #[test]
    fn numbers_that_follow_one_another_fall_apart_in_both_ends_of_the_hash() {
        let hash = |n: u32| {
            let mut hasher = WordHasher::default();
            hasher.write_u32(n);
            hasher.finish()
        };
        let ends: std::collections::HashSet<(u64, u64)> = (0..128).map(|n| (hash(n) & 127, hash(n) >> 57)).collect();
        assert!(ends.len() > 120, "{}", ends.len());
    }
}
