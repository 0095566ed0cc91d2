//! The forms of join keys.
//!
//! Equal keys have equal forms. A key of one whole number or one date is a word; its hash is a bijection of the word,
//! so equal hashes mean equal keys. Every other key is bytes, part by part: a tag, and a length if the tag does not
//! imply one.

use crate::hash::KeyHasher;
use std::hash::Hasher;
use types::{Ora, Result, Value};

const NULL: u8 = 0;
const WHOLE: u8 = 1;
const BYTES: u8 = 2;

/// A bijection whose every bit depends on every bit of the word: the finalizer of MurmurHash3.
#[inline]
pub fn mix(word: u64) -> u64 {
    let n = (word ^ word >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let n = (n ^ n >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    n ^ n >> 33
}

/// The hash of a key in bytes.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = KeyHasher::default();
    hasher.write(bytes);
    mix(hasher.finish())
}

/// How a row can match by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// It matches equal keys.
    Whole,
    /// A column of NOT IN is NULL: the row may match other keys.
    Open,
    /// It has a NULL and matches nothing.
    Never,
}

/// A key of a row.
#[derive(Debug, Default)]
pub struct RowKey {
    /// Whether the hash represents the whole key.
    pub is_word: bool,
    pub hash: u64,
    /// The bytes of the key otherwise.
    pub bytes: Vec<u8>,
    /// End of the parts before those of NOT IN.
    pub plain: usize,
    /// The number or the date, if the key is a word.
    pub word: i64,
}

impl RowKey {
    /// Sets a key of one whole number or date.
    #[inline]
    pub fn set_word(&mut self, word: i64) {
        (self.is_word, self.word, self.hash) = (true, word, mix(word as u64));
    }

    /// Sets the key that [`Keys::eval`](super::keys::Keys::eval) would make of these values, none of which is NULL.
    pub fn set_values<'v>(&mut self, values: impl ExactSizeIterator<Item = (&'v Value, bool)> + Clone) {
        if values.len() == 1
            && let Some((v, _)) = values.clone().next()
            && let Some(word) = word_of(v)
        {
            return self.set_word(word);
        }
        self.is_word = false;
        self.bytes.clear();
        values.for_each(|(v, padded)| push_part(v, padded, &mut self.bytes));
        self.plain = self.bytes.len();
        self.hash = hash_bytes(&self.bytes);
    }

    /// As [`RowKey::set_values`], for whole numbers.
    pub fn set_words(&mut self, words: impl ExactSizeIterator<Item = i64>) {
        if words.len() == 1 {
            return words.for_each(|word| self.set_word(word));
        }
        self.is_word = false;
        self.bytes.clear();
        for word in words {
            self.bytes.push(WHOLE);
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        self.plain = self.bytes.len();
        self.hash = hash_bytes(&self.bytes);
    }
}

#[inline]
pub fn word_of(v: &Value) -> Option<i64> {
    match v {
        Value::Number(n) => n.as_i64(),
        Value::Date(d) => Some(d.to_unix()),
        _ => None,
    }
}

/// Appends one part of a key.
pub fn push_part(v: &Value, padded: bool, out: &mut Vec<u8>) {
    match v {
        Value::Null => out.push(NULL),
        Value::Number(n) if n.as_i64().is_some() => {
            out.push(WHOLE);
            out.extend_from_slice(&n.as_i64().unwrap_or_default().to_le_bytes());
        }
        v => {
            out.push(BYTES);
            let at = out.len();
            out.extend_from_slice(&[0; 4]);
            match v {
                Value::Text(s) if padded => out.extend_from_slice(s.trim_end_matches(' ').as_bytes()),
                v => types::codec::encode_instant(v, out),
            }
            let len = (out.len() - at - 4) as u32;
            out[at..at + 4].copy_from_slice(&len.to_le_bytes());
        }
    }
}

/// Removes the first part from a key: whether it is NULL, and its bytes.
fn take_part<'k>(key: &mut &'k [u8]) -> Result<(bool, &'k [u8])> {
    let damaged = || Ora::internal("key of a join is damaged");
    let all: &'k [u8] = key;
    let (&tag, rest) = all.split_first().ok_or_else(damaged)?;
    let len = match tag {
        NULL => 0,
        WHOLE => 8,
        _ => {
            let len = rest.first_chunk::<4>().ok_or_else(damaged)?;
            4 + u32::from_le_bytes(*len) as usize
        }
    };
    let part = all.get(..1 + len).ok_or_else(damaged)?;
    *key = &all[1 + len..];
    Ok((tag == NULL, part))
}

/// Whether two rows may be equal for NOT IN: the first `plain` parts are equal, and every other part is equal or NULL
/// on a side.
pub fn may_equal(mut a: &[u8], mut b: &[u8], plain: usize) -> Result<bool> {
    let mut n = 0;
    while !a.is_empty() {
        let ((a_null, x), (b_null, y)) = (take_part(&mut a)?, take_part(&mut b)?);
        if x != y && (n < plain || !a_null && !b_null) {
            return Ok(false);
        }
        n += 1;
    }
    Ok(true)
}

/// Length in bytes of the first `plain` parts of a key, and whether a later part is NULL.
pub fn split(key: &[u8], plain: usize) -> Result<(usize, bool)> {
    let (mut rest, mut n, mut at, mut open) = (key, 0, 0, false);
    while !rest.is_empty() {
        let (null, part) = take_part(&mut rest)?;
        if n < plain {
            at += part.len();
        } else {
            open |= null;
        }
        n += 1;
    }
    Ok((at, open))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Number;

    fn key(parts: &[Option<&str>]) -> Vec<u8> {
        let mut out = Vec::new();
        for part in parts {
            let v = match part {
                None => Value::Null,
                Some(s) => s.parse::<Number>().map_or_else(|_| Value::text(*s), Value::Number),
            };
            push_part(&v, true, &mut out);
        }
        out
    }

    #[test]
    fn null_may_equal_anything_but_a_difference_decides() {
        let may = |a: &[Option<&str>], b: &[Option<&str>], plain| may_equal(&key(a), &key(b), plain).unwrap();
        assert!(may(&[Some("1"), None], &[Some("1"), Some("x")], 1));
        assert!(!may(&[Some("2"), None], &[Some("1"), Some("x")], 1));
        assert!(may(&[None, Some("x")], &[Some("1"), Some("x ")], 0));
        assert!(!may(&[None, Some("y")], &[Some("1"), Some("x")], 0));
        assert!(!may(&[None], &[Some("1")], 1), "a plain part");
        assert!(may(&[None], &[None], 1), "NULL that equals itself");
        assert!(!may(&[Some("1.5")], &[Some("1")], 0));
    }

    #[test]
    fn the_end_of_the_plain_parts_is_found() {
        let whole = key(&[Some("7"), Some("abc"), None]);
        let plain = key(&[Some("7"), Some("abc")]).len();
        assert_eq!(split(&whole, 2).unwrap(), (plain, true));
        assert_eq!(split(&whole, 0).unwrap(), (0, true));
        assert_eq!(split(&key(&[None, Some("a")]), 1).unwrap(), (1, false));
    }

    #[test]
    fn distinct_words_have_distinct_hashes() {
        let all: std::collections::HashSet<u64> = (-5000i64..5000).map(|n| mix(n as u64)).collect();
        assert_eq!(all.len(), 10_000);
    }
}
