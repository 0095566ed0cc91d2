//! The keys of rows, of their copies and of the pieces of long values.

use crate::Cache;

/// The identity of a row: its cache, and key bytes in the dictionary's format.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    pub(crate) cache: Cache,
    pub(crate) hash: u64,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Key<'a> {
    /// Makes a key from its bytes.
    #[inline]
    pub fn new(cache: Cache, bytes: &'a [u8]) -> Key<'a> {
        Key { cache, hash: sga::hash(bytes).max(1), bytes }
    }

    /// Makes a key from its bytes and the known result of [`Key::hash`].
    #[inline]
    pub fn hashed(cache: Cache, bytes: &'a [u8], hash: u64) -> Key<'a> {
        Key { cache, hash, bytes }
    }

    /// The hash value; never zero.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// The hash value of a copy; it spreads the copies over the buckets.
pub(crate) fn copy_hash(hash: u64, copy: u8) -> u64 {
    if copy == 0 { hash } else { (hash ^ u64::from(copy)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).max(1) }
}

/// The first byte of the keys of pieces.
pub(crate) const PIECE: u8 = 0xFF;

/// Whether a key belongs to a piece. Pieces have no copies for groups of sessions.
pub(crate) fn is_piece(key: &[u8]) -> bool {
    key.first() == Some(&PIECE)
}

/// The key of a piece of a long value.
pub(crate) fn piece_key(key: &[u8], number: u8) -> Vec<u8> {
    [&[PIECE, number], key].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_in_their_last_bytes_spread_over_the_buckets() {
        for prefix in [0, 5, 8, 13] {
            let mut chains = [0u32; 128];
            for n in 0..256u32 {
                let mut key = vec![7; prefix];
                key.extend_from_slice(&n.to_be_bytes());
                chains[(Key::new(Cache::Objects, &key).hash() >> 32) as usize & 127] += 1;
            }
            assert!(chains.iter().all(|n| *n < 12), "{chains:?}");
        }
    }
}
