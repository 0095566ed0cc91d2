//! Hash tables over encoded keys.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use types::Value;

/// A hash of bytes, eight at a time. Keys come from the statement's own data and a table lives for one execution:
/// crafted collisions slow down only the session that crafts them, so the hash needs no secret.
#[derive(Default)]
pub struct KeyHasher(u64);

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for c in &mut chunks {
            self.mix(u64::from_le_bytes(c.try_into().expect("eight bytes")));
        }
        let mut last = [0u8; 8];
        let rest = chunks.remainder();
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_u64(&mut self, n: u64) {
        self.mix(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.mix(n as u64);
    }

    fn write_u8(&mut self, n: u8) {
        self.mix(u64::from(n));
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

impl KeyHasher {
    fn mix(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(23) ^ n).wrapping_mul(MULTIPLIER);
    }
}

pub type KeyMap<T> = HashMap<Vec<u8>, T, BuildHasherDefault<KeyHasher>>;
pub type KeySet = HashSet<Vec<u8>, BuildHasherDefault<KeyHasher>>;

/// Appends one part of a key as length and bytes, so that parts are unambiguous. NULL is a part equal to itself. Equal
/// instants in different time zones have equal parts.
pub fn push_part(v: &Value, out: &mut Vec<u8>) {
    if v.is_null() {
        out.extend_from_slice(&u32::MAX.to_le_bytes());
        return;
    }
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    types::codec::encode_instant(v, out);
    let n = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&n.to_le_bytes());
}
