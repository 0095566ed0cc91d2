//! Counting distinct values in bounded memory.
//!
//! [`Distinct`] is HyperLogLog with 2^14 one-byte registers (standard error 0.8 %) and Ertl's improved estimator ("New
//! cardinality estimation algorithms for HyperLogLog sketches", 2017), which needs no correction table in any range. Up
//! to [`EXACT_MAX`] values it keeps the hashes and is exact.
//!
//! [`Sampled`] counts in a sample of the rows: the number of values of the table is estimated from the number of values
//! that occur once in the sample. It keeps the values whose hashes end in a number of zero bits that grows with the
//! values seen, as in Gibbons's distinct sampling (VLDB 2001).

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

const BITS: u32 = 14;
const REGISTERS: usize = 1 << BITS;
/// Largest number of values with an exact count.
pub const EXACT_MAX: usize = 4096;
/// Largest number of values that [`Sampled`] keeps.
const KEPT_MAX: usize = 16_384;

/// A hasher that returns the given hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A map from hashes.
pub type ByHash<T> = HashMap<u64, T, BuildHasherDefault<AsItIs>>;

/// A hash of all bits of a value: eight bytes at a time, multiplied and folded, as wyhash does.
pub fn hash(bytes: &[u8]) -> u64 {
    const ONE: u64 = 0xA076_1D64_78BD_642F;
    const TWO: u64 = 0xE703_7ED1_A0B4_28DB;
    let fold = |a: u64, b: u64| {
        let wide = u128::from(a) * u128::from(b);
        wide as u64 ^ (wide >> 64) as u64
    };
    let mut state = ONE ^ bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = fold(state ^ u64::from_le_bytes(word), TWO);
    }
    fold(state ^ TWO, ONE)
}

/// The number of distinct values, counted from hashes.
#[derive(Debug)]
pub enum Distinct {
    Few(HashSet<u64, BuildHasherDefault<AsItIs>>),
    Many(Vec<u8>),
}

impl Default for Distinct {
    fn default() -> Distinct {
        Distinct::Few(HashSet::default())
    }
}

impl Distinct {
    pub fn add(&mut self, hash: u64) {
        match self {
            Distinct::Few(seen) => {
                seen.insert(hash);
                if seen.len() > EXACT_MAX {
                    let mut registers = vec![0; REGISTERS];
                    seen.iter().for_each(|hash| note(&mut registers, *hash));
                    *self = Distinct::Many(registers);
                }
            }
            Distinct::Many(registers) => note(registers, hash),
        }
    }

    pub fn count(&self) -> u64 {
        match self {
            Distinct::Few(seen) => seen.len() as u64,
            Distinct::Many(registers) => estimate(registers).round() as u64,
        }
    }
}

fn note(registers: &mut [u8], hash: u64) {
    let at = (hash >> (64 - BITS)) as usize;
    let rank = ((hash << BITS).leading_zeros().min(64 - BITS) + 1) as u8;
    registers[at] = registers[at].max(rank);
}

/// Ertl's estimator: sigma and tau weigh the registers that are zero and those that are full.
fn estimate(registers: &[u8]) -> f64 {
    let most = (64 - BITS + 1) as usize;
    let mut counts = vec![0u32; most + 1];
    registers.iter().for_each(|rank| counts[usize::from(*rank).min(most)] += 1);
    let m = registers.len() as f64;
    let mut z = m * tau(1.0 - f64::from(counts[most]) / m);
    for k in (1..most).rev() {
        z = 0.5 * (z + f64::from(counts[k]));
    }
    z += m * sigma(f64::from(counts[0]) / m);
    m * m / (2.0 * std::f64::consts::LN_2) / z
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x).powi(2) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

/// Distinct values of a table, from a sample of its rows.
#[derive(Debug, Default)]
pub struct Sampled {
    kept: ByHash<u32>,
    /// Hashes with this many zero bits at the end are kept.
    level: u32,
    rows: u64,
}

impl Sampled {
    pub fn add(&mut self, hash: u64) {
        self.rows += 1;
        if hash.trailing_zeros() < self.level {
            return;
        }
        let count = self.kept.entry(hash).or_insert(0);
        *count = count.saturating_add(1);
        while self.kept.len() > KEPT_MAX {
            self.level += 1;
            let level = self.level;
            self.kept.retain(|hash, _| hash.trailing_zeros() >= level);
        }
    }

    /// Distinct values among `rows` rows, of which the sample is a part: Haas and Stokes's estimator (n d / (n - f1 +
    /// f1 n / N)), which PostgreSQL uses, too.
    pub fn count(&self, rows: u64) -> u64 {
        let scale = (self.level as f64).exp2();
        let distinct = self.kept.len() as f64 * scale;
        if rows <= self.rows || self.rows == 0 {
            return distinct.round() as u64;
        }
        let once = self.kept.values().filter(|count| **count == 1).count() as f64 * scale;
        let (n, all) = (self.rows as f64, rows as f64);
        let estimate = n * distinct / (n - once + once * n / all).max(1.0);
        estimate.clamp(distinct, all).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(values: impl Iterator<Item = u64>) -> u64 {
        let mut distinct = Distinct::default();
        values.for_each(|value| distinct.add(hash(&value.to_be_bytes())));
        distinct.count()
    }

    #[test]
    fn few_values_are_counted_exactly() {
        assert_eq!(count(0..0), 0);
        assert_eq!(count((0..10_000).map(|n| n % 7)), 7);
        assert_eq!(count(0..EXACT_MAX as u64), EXACT_MAX as u64);
    }

    #[test]
    fn many_values_are_counted_to_two_percent() {
        for values in [4097u64, 10_000, 20_000, 40_000, 100_000, 1_000_000] {
            let error = count(0..values) as f64 / values as f64 - 1.0;
            assert!(error.abs() < 0.02, "{values}: {error}");
        }
    }

    #[test]
    fn a_sample_distinguishes_a_key_from_a_column_with_few_values() {
        let sample = |values: &dyn Fn(u64) -> u64| {
            let mut sampled = Sampled::default();
            (0..100_000u64).step_by(10).for_each(|row| sampled.add(hash(&values(row).to_be_bytes())));
            sampled.count(100_000) as f64
        };
        assert!((sample(&|row| row) / 100_000.0 - 1.0).abs() < 0.02);
        assert!((sample(&|row| row / 10 % 50) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn a_large_sample_is_counted_in_bounded_memory() {
        let mut sampled = Sampled::default();
        (0..200_000u64).for_each(|row| sampled.add(hash(&row.to_be_bytes())));
        assert!(sampled.kept.len() <= KEPT_MAX && sampled.level > 0);
        assert!((sampled.count(200_000) as f64 / 200_000.0 - 1.0).abs() < 0.05);
    }
}
