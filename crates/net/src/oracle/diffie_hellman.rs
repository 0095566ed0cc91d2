//! A secret that two sides agree on while everybody listens: Diffie-Hellman in the group of 2048 bits of RFC 3526.
//!
//! Numbers have 32 words, the least first, and are multiplied as Montgomery does; neither the words nor the time depends
//! on the secret's bits.

use crate::local::{WireError, WireResult};
use zeroize::Zeroizing;

/// Bytes of the prime, of a public number and of the secret.
pub const LEN: usize = 256;
/// Bytes of a private number.
pub const PRIVATE_LEN: usize = 32;

const WORDS: usize = LEN / 8;

/// The generator.
pub const GENERATOR: u8 = 2;

/// The prime, most significant byte first: 2^2048 - 2^1984 - 1 + 2^64 · (⌊2^1918 π⌋ + 124476).
const PRIME: &str = "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD\
                     EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED\
                     EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F\
                     83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B\
                     E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510\
                     15728E5A8AACAA68FFFFFFFFFFFFFFFF";

type Number = [u64; WORDS];

const P: Number = words_of(PRIME.as_bytes());

const fn words_of(digits: &[u8]) -> Number {
    let mut words = [0u64; WORDS];
    let mut at = 0;
    while at < digits.len() {
        let digit = match digits[at] {
            d @ b'0'..=b'9' => d - b'0',
            d => d - b'A' + 10,
        };
        let word = WORDS - 1 - at / 16;
        words[word] = words[word] << 4 | digit as u64;
        at += 1;
    }
    words
}

/// The prime's bytes.
pub fn prime() -> [u8; LEN] {
    bytes_of(&P)
}

/// The public number of a private one.
pub fn public(private: &[u8; PRIVATE_LEN]) -> [u8; LEN] {
    let mut two = [0; WORDS];
    two[0] = GENERATOR.into();
    bytes_of(&power(&two, private))
}

/// What both sides have, by the one's private number and the other's public one.
///
/// # Errors
/// [`WireError::BadValue`] for a public number that is none, or gives the secret away.
pub fn secret(private: &[u8; PRIVATE_LEN], public: &[u8]) -> WireResult<Zeroizing<[u8; LEN]>> {
    // Some clients write a zero before a number whose first bit is set, and none before one that is short.
    let first = public.iter().position(|b| *b != 0).unwrap_or(public.len());
    let digits = &public[first..];
    let mut bytes = [0; LEN];
    bytes.get_mut(LEN.wrapping_sub(digits.len())..).ok_or(WireError::BadValue)?.copy_from_slice(digits);
    let number: Number = std::array::from_fn(|word| {
        let at = LEN - 8 * (word + 1);
        bytes[at..at + 8].iter().fold(0, |n, b| n << 8 | u64::from(*b))
    });
    let is_small = number[1..].iter().all(|word| *word == 0) && number[0] <= 1;
    let mut last = P;
    last[0] -= 1;
    if is_small || !is_less(&number, &last) {
        return Err(WireError::BadValue);
    }
    Ok(Zeroizing::new(bytes_of(&power(&number, private))))
}

fn bytes_of(number: &Number) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(number.iter().rev()) {
        chunk.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

fn is_less(a: &Number, b: &Number) -> bool {
    a.iter().rev().cmp(b.iter().rev()).is_lt()
}

/// Subtracts the prime where the number, with a word above it, is not less than that.
fn reduced(number: &Number, above: u64) -> Number {
    let mut less = [0; WORDS];
    let mut borrow = 0;
    for at in 0..WORDS {
        let (difference, first) = number[at].overflowing_sub(P[at]);
        let (difference, second) = difference.overflowing_sub(borrow);
        less[at] = difference;
        borrow = u64::from(first | second);
    }
    // All ones where the difference is to be taken.
    let mask = u64::from(above >= borrow).wrapping_neg();
    std::array::from_fn(|at| less[at] & mask | number[at] & !mask)
}

/// a · b / 2^2048, by the prime.
fn multiply(a: &Number, b: &Number) -> Number {
    // The prime's last word is -1, so a word that goes into the sum is its own factor of the prime.
    let mut sum = [0u64; WORDS + 2];
    for word in a {
        let mut carry = 0;
        for at in 0..WORDS {
            let n = u128::from(*word) * u128::from(b[at]) + u128::from(sum[at]) + u128::from(carry);
            (sum[at], carry) = (n as u64, (n >> 64) as u64);
        }
        let n = u128::from(sum[WORDS]) + u128::from(carry);
        (sum[WORDS], sum[WORDS + 1]) = (n as u64, (n >> 64) as u64);
        let factor = sum[0];
        let mut carry = ((u128::from(factor) * u128::from(P[0]) + u128::from(sum[0])) >> 64) as u64;
        for at in 1..WORDS {
            let n = u128::from(factor) * u128::from(P[at]) + u128::from(sum[at]) + u128::from(carry);
            (sum[at - 1], carry) = (n as u64, (n >> 64) as u64);
        }
        let n = u128::from(sum[WORDS]) + u128::from(carry);
        sum[WORDS - 1] = n as u64;
        sum[WORDS] = sum[WORDS + 1] + (n >> 64) as u64;
    }
    let low: Number = std::array::from_fn(|at| sum[at]);
    reduced(&low, sum[WORDS])
}

/// base ^ exponent, by the prime.
fn power(base: &Number, exponent: &[u8; PRIVATE_LEN]) -> Number {
    // 2^2048 and 2^4096 by the prime: the first is what is missing to 2^2048, the other by doubling.
    let one: Number = reduced(&std::array::from_fn(|at| (!P[at]).wrapping_add(u64::from(at == 0))), 0);
    let mut square = one;
    for _ in 0..8 * LEN {
        let above = square[WORDS - 1] >> 63;
        let doubled: Number = std::array::from_fn(|at| square[at] << 1 | if at > 0 { square[at - 1] >> 63 } else { 0 });
        square = reduced(&doubled, above);
    }
    let base = multiply(base, &square);
    let mut result = one;
    for byte in exponent {
        for bit in (0..8).rev() {
            result = multiply(&result, &result);
            let product = multiply(&result, &base);
            let mask = u64::from(byte >> bit & 1).wrapping_neg();
            result = std::array::from_fn(|at| product[at] & mask | result[at] & !mask);
        }
    }
    let mut unit = [0; WORDS];
    unit[0] = 1;
    multiply(&result, &unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_powers_are_what_they_are() {
        let number = |n: u64| {
            let mut words = [0; WORDS];
            words[0] = n;
            words
        };
        let exponent = |n: u8| {
            let mut bytes = [0; PRIVATE_LEN];
            bytes[PRIVATE_LEN - 1] = n;
            bytes
        };
        assert_eq!(power(&number(3), &exponent(20)), number(3_486_784_401));
        assert_eq!(power(&number(7), &exponent(0)), number(1));
        // 2^2048 by the prime is what 2^2048 is more than it.
        let mut long = [0; PRIVATE_LEN];
        long[PRIVATE_LEN - 2] = 8;
        let more: Number = std::array::from_fn(|at| (!P[at]).wrapping_add(u64::from(at == 0)));
        assert_eq!(power(&number(2), &long), more);
    }

    #[test]
    fn both_sides_have_the_same_secret_and_numbers_that_give_it_away_are_refused() {
        let private = |from: u8| std::array::from_fn(|at| from.wrapping_mul(at as u8 + 1) ^ 0x5a);
        let (a, b) = (private(7), private(201));
        let shared = secret(&a, &public(&b)).unwrap();
        assert_eq!(shared, secret(&b, &public(&a)).unwrap());
        assert_ne!(shared[..32], [0; 32]);
        let with_zero: Vec<u8> = std::iter::once(0).chain(public(&b)).collect();
        assert_eq!(secret(&a, &with_zero).unwrap(), shared);
        let mut last = prime();
        last[LEN - 1] -= 1;
        let mut one = [0; LEN];
        one[LEN - 1] = 1;
        for bad in [&[0; LEN][..], &one, &last, &prime(), &[0xff; LEN], &[3; LEN + 1]] {
            assert_eq!(secret(&a, bad).map(drop), Err(WireError::BadValue));
        }
    }
}
