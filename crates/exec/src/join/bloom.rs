//! Bloom filters of the keys of a join's build side.
//!
//! A key sets four bits of one word chosen by its hash, so a look-up is one load. With at least 16 bits a key, about
//! one in a hundred absent keys passes. If all keys are words, their range is kept as well.

use super::row_key::{Match, RowKey};

/// Words of the smallest filter.
const WORDS_MIN: usize = 64;

/// A complete filter.
#[derive(Debug, Default)]
pub struct Bloom {
    words: Vec<u64>,
    /// The least and the greatest key, if all keys are words.
    range: Option<(i64, i64)>,
}

/// A filter under construction.
#[derive(Debug)]
pub struct Maker {
    hashes: Vec<u64>,
    bloom: Bloom,
    /// Most words of the filter.
    most: usize,
    all_words: bool,
}

#[inline]
fn place(hash: u64, count: usize) -> (usize, u64) {
    let bit = |n: u32| 1u64 << (hash >> n & 63);
    // The lowest bits of the hash choose places in the join's table.
    ((hash >> 28) as usize & (count - 1), bit(0) | bit(6) | bit(12) | bit(18))
}

impl Maker {
    /// `bytes`: largest size of the filter.
    pub fn new(bytes: usize) -> Maker {
        let most = (bytes / 8).next_power_of_two().max(WORDS_MIN);
        Maker { hashes: Vec::new(), bloom: Bloom::default(), most, all_words: true }
    }

    pub fn add(&mut self, key: &RowKey) {
        self.push(key.hash);
        self.all_words &= key.is_word;
        if key.is_word {
            let (low, high) = self.bloom.range.unwrap_or((key.word, key.word));
            self.bloom.range = Some((low.min(key.word), high.max(key.word)));
        }
    }

    /// Adds a key by its hash only; the filter then has no range.
    pub fn add_hash(&mut self, hash: u64) {
        self.all_words = false;
        self.push(hash);
    }

    fn push(&mut self, hash: u64) {
        if !self.bloom.words.is_empty() {
            self.bloom.set(hash);
            return;
        }
        self.hashes.push(hash);
        if self.hashes.len() >= self.most {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let words = (self.hashes.len() / 2).next_power_of_two().clamp(WORDS_MIN, self.most);
        self.bloom.words = vec![0; words];
        for hash in std::mem::take(&mut self.hashes) {
            self.bloom.set(hash);
        }
    }

    pub fn finish(mut self) -> Bloom {
        if self.bloom.words.is_empty() {
            self.settle();
        }
        if !self.all_words {
            self.bloom.range = None;
        }
        self.bloom
    }
}

impl Bloom {
    fn set(&mut self, hash: u64) {
        let (word, bits) = place(hash, self.words.len());
        self.words[word] |= bits;
    }

    /// Whether a row with this key may be in the build side.
    #[inline]
    pub fn may_have(&self, key: &RowKey, matches: Match) -> bool {
        if matches != Match::Whole {
            return false;
        }
        if key.is_word
            && let Some((low, high)) = self.range
            && !(low..=high).contains(&key.word)
        {
            return false;
        }
        let (word, bits) = place(key.hash, self.words.len());
        self.words[word] & bits == bits
    }
}

#[cfg(test)]
mod tests {
    use super::super::row_key::mix;
    use super::*;

    fn key(n: i64) -> RowKey {
        RowKey { is_word: true, hash: mix(n as u64), word: n, ..RowKey::default() }
    }

    #[test]
    fn present_keys_pass_and_few_absent_ones_do() {
        for (count, bytes) in [(0, 1 << 20), (1, 1 << 20), (3000, 1 << 20), (100_000, 1 << 20), (20_000, 64 << 10)] {
            let mut maker = Maker::new(bytes);
            (0..count).for_each(|n| maker.add(&key(n * 2)));
            let bloom = maker.finish();
            assert!((0..count).all(|n| bloom.may_have(&key(n * 2), Match::Whole)), "{count}");
            let odd = (0..count).filter(|n| bloom.may_have(&key(n * 2 + 1), Match::Whole)).count();
            assert!(odd as i64 <= count / 20, "{odd} of {count}");
            assert!(!bloom.may_have(&key(-1), Match::Whole) && !bloom.may_have(&key(2 * count + 1), Match::Whole));
            assert!(!bloom.may_have(&key(0), Match::Never));
        }
    }

    #[test]
    fn a_key_that_is_not_a_word_disables_the_range() {
        let mut maker = Maker::new(1 << 16);
        maker.add(&key(5));
        maker.add(&RowKey { hash: 99, bytes: vec![1], ..RowKey::default() });
        let bloom = maker.finish();
        assert!(bloom.may_have(&RowKey { hash: 99, bytes: vec![1], ..RowKey::default() }, Match::Whole));
        assert!(bloom.may_have(&key(5), Match::Whole));
    }
}
