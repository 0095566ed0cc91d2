//! A hash of bytes, for tables in shared memory.

/// Hashes bytes: each word is folded in by a full multiplication, and both halves of the product are kept.
///
/// Keys of one kind differ in their last bytes only, which may be the high bits of a word. A product cut to 64 bits
/// would carry those bits to hardly any of the bits that select the bucket. The hash is the same in every process and
/// is never written to a file.
#[inline]
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    let fold = |h: u64, word: u64| {
        let product = u128::from(h ^ word) * u128::from(0x9e37_79b9_7f4a_7c15u64);
        (product as u64 ^ (product >> 64) as u64).wrapping_add(0xff51_afd7_ed55_8ccd)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut h = words.iter().fold(0x2545_f491_4f6c_dd1d ^ bytes.len() as u64, |h, w| fold(h, u64::from_le_bytes(*w)));
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        h = fold(h, u64::from_le_bytes(word));
    }
    fold(h, h >> 32)
}
