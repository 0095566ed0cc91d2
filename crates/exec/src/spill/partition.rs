//! Rows partitioned by a hash of their key, each partition in a temporary file.

use super::TempFile;
use super::limits::{LEVELS_MAX, PARTS};
use super::pool::Pool;
use crate::ctx::ExecCtx;
use crate::hash::KeyHasher;
use std::hash::Hasher;
use types::Result;

/// A partition with fewer rows is not divided again, however little memory there is.
const ROWS_MIN: u64 = 64;

/// The level at which a partition that came from a division at `level` is divided again.
pub fn level_of(part: &TempFile, level: u32) -> u32 {
    if part.records() < ROWS_MIN { LEVELS_MAX } else { level + 1 }
}

/// The partition of a key at a level: each level uses other bits of the hash.
pub fn part_of(key: &[u8], level: u32) -> usize {
    let mut hasher = KeyHasher::default();
    hasher.write_u64(u64::from(level) + 0x5EED);
    hasher.write(key);
    (hasher.finish() >> 17) as usize % PARTS
}

/// As [`part_of`], for a hash of the key.
pub fn part_of_hash(hash: u64, level: u32) -> usize {
    let n = (hash ^ u64::from(level + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (n >> 40) as usize % PARTS
}

/// Partitions while they are written.
pub struct Division {
    pub level: u32,
    parts: Vec<TempFile>,
}

impl Division {
    pub fn new(level: u32, pool: &Pool, cx: &ExecCtx<'_>) -> Division {
        Division { level, parts: (0..PARTS).map(|_| TempFile::new(pool, cx)).collect() }
    }

    /// Adds a record to the partition of its key.
    ///
    /// # Errors
    /// Those of [`TempFile::push`].
    pub fn push(&mut self, key: &[u8], record: &[u8], cx: &ExecCtx<'_>) -> Result<()> {
        self.parts[part_of(key, self.level)].push(record, cx)
    }

    /// As [`Division::push`], by a hash of the key.
    ///
    /// # Errors
    /// Those of [`TempFile::push`].
    pub fn push_hash(&mut self, hash: u64, record: &[u8], cx: &ExecCtx<'_>) -> Result<()> {
        self.parts[part_of_hash(hash, self.level)].push(record, cx)
    }

    /// The complete partitions.
    ///
    /// # Errors
    /// Those of [`TempFile::finish`].
    pub fn finish(mut self, cx: &ExecCtx<'_>) -> Result<Vec<TempFile>> {
        self.parts.iter_mut().try_for_each(|part| part.finish(cx))?;
        Ok(self.parts)
    }
}
