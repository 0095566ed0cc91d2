//! The stored form of a NUMBER, which is Oracle's: it orders with `memcmp`.
//!
//! Zero is `80`. A positive number is its base-100 exponent plus 193, then each digit plus 1. A negative number is 62
//! minus the exponent, then 101 minus each digit, then `66` (102) if there are fewer than twenty digits.

use super::decimal::{DIGITS, Decimal};
use super::{Number, Repr};

const ZERO: u8 = 0x80;
const TERMINATOR: u8 = 102;

/// `10^n`.
const TENS: [i64; 19] = {
    let mut all = [1; 19];
    let mut i = 1;
    while i < all.len() {
        all[i] = all[i - 1] * 10;
        i += 1;
    }
    all
};

impl Number {
    /// Appends the stored form: at most 21 bytes.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Repr::Int(n) = self.0
            && (1..100_000_000).contains(&n)
        {
            return encode_small(n as u32, out);
        }
        self.encode_digits(out);
    }

    pub(super) fn encode_digits(&self, out: &mut Vec<u8>) {
        let d = self.decimal();
        if d.len == 0 {
            out.push(ZERO);
        } else if d.negative {
            out.push((62 - i32::from(d.exponent)) as u8);
            out.extend(d.digits().iter().map(|&digit| 101 - digit));
            if (d.len as usize) < DIGITS {
                out.push(TERMINATOR);
            }
        } else {
            out.push((i32::from(d.exponent) + 193) as u8);
            out.extend(d.digits().iter().map(|&digit| digit + 1));
        }
    }

    /// Reads the stored form of a whole number from 1 to 999,999,999,999,999,999; `None` for others and for invalid
    /// bytes. Most numbers are of this kind.
    #[inline]
    pub fn decode_small(bytes: &[u8]) -> Option<i64> {
        const POWERS: [i64; 9] = {
            let mut all = [1; 9];
            let mut i = 1;
            while i < all.len() {
                all[i] = all[i - 1] * 100;
                i += 1;
            }
            all
        };
        let (&head, digits) = bytes.split_first()?;
        let exponent = usize::from(head).wrapping_sub(193);
        if exponent > 8 || digits.is_empty() || digits.len() > exponent + 1 {
            return None;
        }
        let (mut n, mut greatest) = (0i64, 0u8);
        for &b in digits {
            let digit = b.wrapping_sub(1);
            greatest = greatest.max(digit);
            n = n * 100 + i64::from(digit);
        }
        (greatest <= 99).then(|| n * POWERS[exponent + 1 - digits.len()])
    }

    /// Reads the stored form as `value * 10^scale`, if that is a whole number of at most eighteen digits; `None` for
    /// others, and for some invalid bytes.
    #[inline]
    pub fn decode_scaled(bytes: &[u8], scale: u8) -> Option<i64> {
        let (&head, rest) = bytes.split_first()?;
        let (mut n, mut greatest) = (0i64, 0u8);
        let (exponent, len) = if head > ZERO {
            if rest.len() > 9 {
                return Number::decode_scaled_long(bytes, scale);
            }
            for &b in rest {
                let digit = b.wrapping_sub(1);
                greatest = greatest.max(digit);
                n = n * 100 + i64::from(digit);
            }
            (i32::from(head) - 193, rest.len())
        } else if head == ZERO {
            return rest.is_empty().then_some(0);
        } else {
            let digits = rest.strip_suffix(&[TERMINATOR])?;
            if digits.len() > 9 {
                return Number::decode_scaled_long(bytes, scale);
            }
            for &b in digits {
                let digit = 101u8.wrapping_sub(b);
                greatest = greatest.max(digit);
                n = n * 100 - i64::from(digit);
            }
            (62 - i32::from(head), digits.len())
        };
        if greatest > 99 || len == 0 {
            return None;
        }
        // The last digit counts hundreds to this power; the scale shifts it.
        let shift = (exponent + 1 - len as i32) * 2 + i32::from(scale);
        if shift == 0 {
            return Some(n);
        }
        if shift == -1 {
            return (n % 10 == 0).then_some(n / 10);
        }
        let power = *TENS.get(usize::try_from(shift).ok()?)?;
        n.checked_mul(power).filter(|n| n.unsigned_abs() < 1_000_000_000_000_000_000)
    }

    /// As [`Number::decode_scaled`], for more than nine pairs of digits: ten pairs may contain eighteen digits.
    #[cold]
    fn decode_scaled_long(bytes: &[u8], scale: u8) -> Option<i64> {
        if bytes.len() > 12 {
            return None;
        }
        let tenfold = 10i64.checked_pow(scale.into())?;
        let scaled = Number::decode(bytes)?.mul(&Number::from_i64(tenfold)).ok()?;
        scaled.as_i64().filter(|n| n.unsigned_abs() < 1_000_000_000_000_000_000)
    }

    /// As [`Number::decode_scaled`], for the number of `len` bytes at `at`. Short positive numbers are decoded without
    /// a branch on their digits.
    #[inline]
    pub fn decode_scaled_at(arena: &[u8], at: usize, len: usize, scale: u8) -> Option<i64> {
        if let Some(&[head, a, b, c, d]) = arena.get(at..).and_then(|rest| rest.first_chunk::<5>())
            && head > ZERO
            && (2..=5).contains(&len)
        {
            let beyond = 8 * (5 - len as u32);
            let digits = (u32::from_be_bytes([a, b, c, d]) >> beyond).wrapping_sub(0x0101_0101 >> beyond);
            // In an invalid digit byte, the highest bit is set or becomes set.
            if (digits | digits.wrapping_add(0x1C1C_1C1C)) & 0x8080_8080 == 0 {
                let pairs = (digits >> 8 & 0x00FF_00FF) * 100 + (digits & 0x00FF_00FF);
                let n = i64::from(pairs >> 16) * 10_000 + i64::from(pairs & 0xFFFF);
                let shift = (i32::from(head) - 191 - len as i32) * 2 + i32::from(scale);
                if (0..=9).contains(&shift) {
                    return Some(n * TENS[shift as usize]);
                }
                if shift == -1 {
                    return (n % 10 == 0).then_some(n / 10);
                }
            }
        }
        Number::decode_scaled(arena.get(at..at + len)?, scale)
    }

    /// Reads the stored form; `None` for invalid bytes.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Number> {
        let (&head, rest) = bytes.split_first()?;
        if head > ZERO || (head == ZERO && !rest.is_empty()) {
            let exponent = i32::from(head) - 193;
            decode_digits(false, exponent, rest, |b| b.wrapping_sub(1))
        } else if head == ZERO {
            Some(Number::ZERO)
        } else {
            let digits = match rest.split_last() {
                Some((&TERMINATOR, digits)) => digits,
                _ if rest.len() == DIGITS => rest,
                _ => return None,
            };
            decode_digits(true, 62 - i32::from(head), digits, |b| 101u8.wrapping_sub(b))
        }
    }

    /// Reads a number sent by a client: it may have one more digit byte, by which the number is rounded. `None` for
    /// invalid bytes.
    pub fn decode_sent(bytes: &[u8]) -> Option<Number> {
        let found = Number::decode(bytes);
        if found.is_some() || bytes.len() < DIGITS + 2 {
            return found;
        }
        let (&head, rest) = bytes.split_first()?;
        let (negative, exponent) =
            if head > ZERO { (false, i32::from(head) - 193) } else { (true, 62 - i32::from(head)) };
        let rest = rest.strip_suffix(&[TERMINATOR]).filter(|_| negative).unwrap_or(rest);
        let digit = |b: &u8| if negative { 101u8.wrapping_sub(*b) } else { b.wrapping_sub(1) };
        let digits: Vec<u8> = rest.iter().map(digit).collect();
        if digits.len() != DIGITS + 1 || digits[0] == 0 || digits.iter().any(|d| *d > 99) {
            return None;
        }
        Decimal::from_digits(negative, exponent, &digits).ok().map(Number::of)
    }
}

/// The stored form of 1 to 99,999,999.
#[inline]
fn encode_small(n: u32, out: &mut Vec<u8>) {
    let digit = |d: u32| d as u8 + 1;
    if n < 100 {
        return out.extend_from_slice(&[193, digit(n)]);
    }
    if n < 10_000 && !n.is_multiple_of(100) {
        return out.extend_from_slice(&[194, digit(n / 100), digit(n % 100)]);
    }
    if n < 1_000_000 && !n.is_multiple_of(100) {
        return out.extend_from_slice(&[195, digit(n / 10_000), digit(n / 100 % 100), digit(n % 100)]);
    }
    let pairs = [n / 1_000_000, n / 10_000 % 100, n / 100 % 100, n % 100];
    let first = pairs.iter().position(|&d| d != 0).unwrap_or(3);
    let end = pairs.iter().rposition(|&d| d != 0).unwrap_or(3) + 1;
    let mut bytes = [0u8; 5];
    bytes[first] = 196 - first as u8;
    for (byte, digit) in bytes[first + 1..].iter_mut().zip(&pairs[first..end]) {
        *byte = *digit as u8 + 1;
    }
    out.extend_from_slice(&bytes[first..=end]);
}

#[inline]
fn decode_digits(negative: bool, exponent: i32, bytes: &[u8], digit: impl Fn(u8) -> u8) -> Option<Number> {
    if bytes.is_empty() || bytes.len() > DIGITS || !(-65..=62).contains(&exponent) {
        return None;
    }
    if (0..=8).contains(&exponent) && bytes.len() as i32 <= exponent + 1 {
        let mut n = 0i64;
        for &b in bytes {
            let d = digit(b);
            if d > 99 {
                return None;
            }
            n = n * 100 + i64::from(d);
        }
        for _ in bytes.len() as i32..=exponent {
            n *= 100;
        }
        return Some(Number(Repr::Int(if negative { -n } else { n })));
    }
    let mut digits = [0u8; DIGITS];
    for (place, &b) in digits.iter_mut().zip(bytes) {
        *place = digit(b);
        if *place > 99 {
            return None;
        }
    }
    Decimal::from_digits(negative, exponent, &digits).ok().map(Number::of)
}
