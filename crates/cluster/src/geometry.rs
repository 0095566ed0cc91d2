//! The layout of a cluster by HASHKEYS and SIZE, and the home of a key.

use block::data;
use types::{Ora, Result};

/// The layout of a cluster by HASHKEYS and SIZE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// HASHKEYS rounded up to a prime: the number of hash values.
    pub hash_buckets: u32,
    /// Hash values that share a block: usable bytes of a block / SIZE, at least 1.
    pub buckets_per_block: u32,
    /// Home blocks, allocated when the cluster is created.
    pub home_blocks: u32,
}

impl Geometry {
    /// The layout for HASHKEYS `hashkeys` and SIZE `size_bytes` in blocks of `block_size` bytes with `initrans`
    /// entries.
    ///
    /// # Errors
    /// ORA-02456 when HASHKEYS is out of range, ORA-02457 when SIZE is 0.
    pub fn new(hashkeys: u64, size_bytes: u32, block_size: usize, initrans: u8) -> Result<Geometry> {
        if hashkeys == 0 || hashkeys > HASHKEYS_MAX {
            return Err(Ora::new(2456));
        }
        if size_bytes == 0 {
            return Err(Ora::new(2457));
        }
        let hash_buckets = next_prime(hashkeys.max(2) as u32);
        let usable = data::capacity(block_size, initrans) as u32;
        let buckets_per_block = (usable / size_bytes).max(1);
        Ok(Geometry { hash_buckets, buckets_per_block, home_blocks: hash_buckets.div_ceil(buckets_per_block) })
    }

    /// The home block's number for a hash of [`hash`].
    #[inline]
    pub fn home(&self, hash: u64) -> u32 {
        // Multiplying the upper half by the number of buckets and shifting down distributes as evenly as a remainder,
        // without a division.
        let bucket = ((hash >> 32) * u64::from(self.hash_buckets)) >> 32;
        bucket as u32 / self.buckets_per_block
    }
}

/// Home blocks of a cluster lie in one segment.
const HASHKEYS_MAX: u64 = 100_000_000;

fn next_prime(n: u32) -> u32 {
    (n..).find(|c| is_prime(*c)).expect("there is a prime before twice n")
}

fn is_prime(n: u32) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// Hash of a cluster key's column bytes. It is part of the format on disk (C5).
#[inline]
pub fn hash(key: &[u8]) -> u64 {
    let mut h = 0x9E37_79B9_7F4A_7C15 ^ (key.len() as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    let mut chunks = key.chunks_exact(8);
    for chunk in &mut chunks {
        h = mix(h ^ u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        h = mix(h ^ u64::from_le_bytes(last));
    }
    mix(h)
}

#[inline]
fn mix(mut x: u64) -> u64 {
    x ^= x >> 32;
    x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^= x >> 29;
    x.wrapping_mul(0x9FB2_1C65_1E98_DF25) ^ x >> 31
}

/// The 16 bits of a hash by which a block is searched for rows.
#[inline]
pub fn tag(hash: u64) -> u16 {
    hash as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_cluster_has_the_blocks_it_should() {
        let g = Geometry::new(15_000, 230, 8192, 2).unwrap();
        assert_eq!(g.hash_buckets, 15_013);
        assert_eq!(g.buckets_per_block, 8048 / 230);
        assert_eq!(g.home_blocks, 15_013u32.div_ceil(34));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Geometry::new(0, 100, 8192, 2).unwrap_err().is(2456));
        assert!(Geometry::new(10, 0, 8192, 2).unwrap_err().is(2457));
        assert_eq!(Geometry::new(10, 1 << 20, 8192, 2).unwrap().buckets_per_block, 1);
    }

    #[test]
    fn keys_spread_over_all_blocks() {
        let g = Geometry::new(15_000, 230, 8192, 2).unwrap();
        let mut counts = vec![0u32; g.home_blocks as usize];
        for n in 0..15_000u32 {
            counts[g.home(hash(&n.to_be_bytes())) as usize] += 1;
        }
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(*least >= 10 && *most <= 65, "{least} to {most} keys a block, 34 on average");
    }
}
