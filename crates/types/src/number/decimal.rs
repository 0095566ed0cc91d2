//! The general form of a NUMBER: base-100 digits, as Oracle stores them.
//!
//! A value is the sum of `digits[i] * 100^(exponent - i)`. Twenty such digits give 39 or 40 decimal digits; every
//! operation rounds its exact result half away from zero at the twentieth (V2). The work is proportional to the number
//! of digits, so short decimals stay cheap.

use crate::error::{Ora, Result};
use std::cmp::Ordering;

/// Base-100 digits kept.
pub(super) const DIGITS: usize = 20;
/// Exponents, base 100: 1e-130 and 9.99…e125.
pub(super) const MIN_EXPONENT: i32 = -65;
pub(super) const MAX_EXPONENT: i32 = 62;

/// Canonical: no leading or trailing zero digit; digits past `len` are zero; zero is `len == 0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Decimal {
    pub negative: bool,
    pub exponent: i8,
    pub len: u8,
    pub digits: [u8; DIGITS],
}

impl Decimal {
    pub const ZERO: Decimal = Decimal { negative: false, exponent: 0, len: 0, digits: [0; DIGITS] };

    pub fn digits(&self) -> &[u8] {
        &self.digits[..self.len as usize]
    }

    /// Rounds raw base-100 digits, the first with weight `100^exponent`, to a canonical value.
    pub fn from_digits(negative: bool, exponent: i32, raw: &[u8]) -> Result<Decimal> {
        let Some(first) = raw.iter().position(|&d| d != 0) else { return Ok(Decimal::ZERO) };
        let raw = &raw[first..];
        let mut exponent = exponent - first as i32;
        let mut digits = [0; DIGITS];
        let kept = raw.len().min(DIGITS);
        digits[..kept].copy_from_slice(&raw[..kept]);
        if raw.len() > DIGITS && raw[DIGITS] >= 50 && increment(&mut digits) {
            exponent += 1;
        }
        finish(negative, exponent, digits)
    }

    pub fn from_u128(negative: bool, n: u128) -> Decimal {
        Decimal::from_u128_scaled(negative, n, 0).expect("39 digits are in range")
    }

    /// Makes `n * 100^scale`. Divides word by word: one 128-bit division for every eighteen digits.
    pub fn from_u128_scaled(negative: bool, mut n: u128, scale: i32) -> Result<Decimal> {
        const CHUNK: u128 = 1_000_000_000_000_000_000;
        let mut raw = [0u8; DIGITS];
        let mut at = DIGITS;
        while n > u128::from(u64::MAX) {
            let mut part = (n % CHUNK) as u64;
            n /= CHUNK;
            for _ in 0..9 {
                at -= 1;
                raw[at] = (part % 100) as u8;
                part /= 100;
            }
        }
        let mut rest = n as u64;
        while rest != 0 {
            at -= 1;
            raw[at] = (rest % 100) as u8;
            rest /= 100;
        }
        let exponent = scale.saturating_add((DIGITS - at) as i32 - 1);
        Decimal::from_digits(negative, exponent, &raw[at..])
    }

    /// Makes `whole + fraction / 10^18`, not zero. The pairs of digits are computed independently of one another.
    #[inline]
    pub fn from_parts(whole: u32, fraction: u64) -> Decimal {
        let pairs = |n: u32| [n / 1_000_000, n / 10_000 % 100, n / 100 % 100, n % 100].map(|d| d as u8);
        let mut raw = [0u8; 16];
        raw[0] = (whole / 100_000_000) as u8;
        raw[1..5].copy_from_slice(&pairs(whole % 100_000_000));
        raw[5] = (fraction / 10_000_000_000_000_000 % 100) as u8;
        let low = fraction % 10_000_000_000_000_000;
        raw[6..10].copy_from_slice(&pairs((low / 100_000_000) as u32));
        raw[10..14].copy_from_slice(&pairs((low % 100_000_000) as u32));
        // Leading and trailing zeros are counted and shifted out in one word.
        let word = u128::from_be_bytes(raw);
        let first = word.leading_zeros() / 8;
        let word = word.checked_shl(8 * first).unwrap_or(0);
        let len = 16 - word.trailing_zeros() / 8;
        let mut digits = [0; DIGITS];
        digits[..16].copy_from_slice(&word.to_be_bytes());
        Decimal { negative: false, exponent: 4 - first as i8, len: len as u8, digits }
    }

    /// The value truncated, or rounded half away from zero, to a whole number. The exponent is below 8, so it fits.
    #[inline]
    pub fn whole_part(&self, half_up: bool) -> i64 {
        debug_assert!(self.exponent < 8);
        let places = (i32::from(self.exponent) + 1).max(0) as usize;
        let mut n = self.digits[..places].iter().fold(0i64, |n, &d| n * 100 + i64::from(d));
        if half_up && self.exponent >= -1 && self.digits[places] >= 50 {
            n += 1;
        }
        if self.negative { -n } else { n }
    }

    pub fn from_i64(n: i64) -> Decimal {
        let mut raw = [0u8; 10];
        let mut at = raw.len();
        let mut rest = n.unsigned_abs();
        while rest != 0 {
            at -= 1;
            raw[at] = (rest % 100) as u8;
            rest /= 100;
        }
        let mut len = raw.len() - at;
        let exponent = len as i8 - 1;
        while len > 0 && raw[at + len - 1] == 0 {
            len -= 1;
        }
        if len == 0 {
            return Decimal::ZERO;
        }
        let mut digits = [0; DIGITS];
        digits[..len].copy_from_slice(&raw[at..at + len]);
        Decimal { negative: n < 0, exponent, len: len as u8, digits }
    }

    /// Returns the value if it is whole and fits.
    #[inline]
    pub fn to_i64(self) -> Option<i64> {
        if self.len == 0 {
            return Some(0);
        }
        if self.exponent < 0 || self.exponent > 9 || i32::from(self.len) > i32::from(self.exponent) + 1 {
            return None;
        }
        let mut n: i128 = 0;
        for i in 0..=self.exponent as usize {
            n = n * 100 + i128::from(self.digits[i]);
        }
        i64::try_from(if self.negative { -n } else { n }).ok()
    }

    pub fn is_integer(&self) -> bool {
        self.len == 0 || i32::from(self.len) <= i32::from(self.exponent) + 1
    }

    pub fn cmp_magnitude(&self, other: &Decimal) -> Ordering {
        match (self.len, other.len) {
            (0, 0) => return Ordering::Equal,
            (0, _) => return Ordering::Less,
            (_, 0) => return Ordering::Greater,
            _ => {}
        }
        self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits))
    }

    pub fn cmp(&self, other: &Decimal) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
        }
    }

    pub fn add(&self, other: &Decimal) -> Result<Decimal> {
        if self.len == 0 {
            return Ok(*other);
        }
        if other.len == 0 {
            return Ok(*self);
        }
        let (big, small) = if self.cmp_magnitude(other) == Ordering::Less { (other, self) } else { (self, other) };
        let shift = (i32::from(big.exponent) - i32::from(small.exponent)) as usize;
        if shift > 2 * DIGITS + 2 {
            return Ok(*big); // the smaller number is lost in rounding
        }
        // One place for the carry, then the larger number's digits, then as far as the smaller number extends.
        let mut sum = [0u8; 3 * DIGITS + 4];
        let len = 1 + (big.len as usize).max(shift + small.len as usize);
        sum[1..=big.len as usize].copy_from_slice(big.digits());
        if big.negative == small.negative {
            let mut carry = 0;
            for i in (0..small.len as usize).rev() {
                let d = sum[1 + shift + i] + small.digits[i] + carry;
                (sum[1 + shift + i], carry) = if d >= 100 { (d - 100, 1) } else { (d, 0) };
            }
            let mut i = shift;
            while carry != 0 {
                let d = sum[i] + carry;
                (sum[i], carry) = if d >= 100 { (d - 100, 1) } else { (d, 0) };
                i = i.wrapping_sub(1);
            }
        } else {
            let mut borrow = 0;
            for i in (0..small.len as usize).rev() {
                let d = sum[1 + shift + i] as i16 - small.digits[i] as i16 - borrow;
                (sum[1 + shift + i], borrow) = if d < 0 { ((d + 100) as u8, 1) } else { (d as u8, 0) };
            }
            let mut i = shift;
            while borrow != 0 {
                let d = sum[i] as i16 - borrow;
                (sum[i], borrow) = if d < 0 { ((d + 100) as u8, 1) } else { (d as u8, 0) };
                i = i.wrapping_sub(1);
            }
        }
        Decimal::from_digits(big.negative, i32::from(big.exponent) + 1, &sum[..len])
    }

    pub fn mul(&self, other: &Decimal) -> Result<Decimal> {
        if self.len == 0 || other.len == 0 {
            return Ok(Decimal::ZERO);
        }
        let mut sums = [0u32; 2 * DIGITS];
        for (i, &a) in self.digits().iter().enumerate() {
            for (j, &b) in other.digits().iter().enumerate() {
                sums[i + j + 1] += u32::from(a) * u32::from(b);
            }
        }
        let len = self.len as usize + other.len as usize;
        let mut raw = [0u8; 2 * DIGITS];
        let mut carry = 0;
        for i in (0..len).rev() {
            let d = sums[i] + carry;
            raw[i] = (d % 100) as u8;
            carry = d / 100;
        }
        let exponent = i32::from(self.exponent) + i32::from(other.exponent) + 1;
        Decimal::from_digits(self.negative != other.negative, exponent, &raw[..len])
    }

    pub fn div(&self, other: &Decimal) -> Result<Decimal> {
        if other.len == 0 {
            return Err(Ora::new(1476));
        }
        if self.len == 0 {
            return Ok(Decimal::ZERO);
        }
        let exponent = i32::from(self.exponent) - i32::from(other.exponent);
        let negative = self.negative != other.negative;
        // Digits after the twenty-first cannot change the rounding half away from zero.
        let mut raw = [0u8; DIGITS + 2];
        if other.len <= 8 {
            self.divide_short(other, &mut raw);
        } else {
            self.divide_long(other, &mut raw);
        }
        Decimal::from_digits(negative, exponent, &raw)
    }

    /// Long division by a divisor that fits a word with two digits to spare.
    fn divide_short(&self, other: &Decimal, quotient: &mut [u8; DIGITS + 2]) {
        let mut divisor = 0u64;
        for &d in other.digits() {
            divisor = divisor * 100 + u64::from(d);
        }
        let mut rest = 0u64;
        // The first quotient digit is at the position of the divisor's last digit in the dividend.
        for &d in &self.digits[..other.len as usize] {
            rest = rest * 100 + u64::from(d);
        }
        for (at, place) in (other.len as usize..).zip(quotient) {
            *place = (rest / divisor) as u8;
            rest %= divisor;
            if rest == 0 && at >= self.len as usize {
                break;
            }
            rest = rest * 100 + self.digits.get(at).map_or(0, |&d| u64::from(d));
        }
    }

    /// Schoolbook division (Knuth, The Art of Computer Programming, volume 2, algorithm D) in base 100.
    fn divide_long(&self, other: &Decimal, quotient: &mut [u8; DIGITS + 2]) {
        let scale = 100 / (u32::from(other.digits[0]) + 1);
        let n = other.len as usize;
        let mut v = [0u32; DIGITS];
        let mut carry = 0;
        for i in (0..n).rev() {
            let d = u32::from(other.digits[i]) * scale + carry;
            v[i] = d % 100;
            carry = d / 100;
        }
        debug_assert_eq!(carry, 0);
        let mut u = [0u32; 2 * DIGITS + 4];
        let mut carry = 0;
        for i in (0..DIGITS).rev() {
            let d = u32::from(self.digits[i]) * scale + carry;
            u[i + 1] = d % 100;
            carry = d / 100;
        }
        u[0] = carry;
        for (j, place) in quotient.iter_mut().enumerate() {
            let top = u[j] * 100 + u[j + 1];
            let mut q = (top / v[0]).min(99);
            while q > 0 && q * v[1] > (top - q * v[0]) * 100 + u[j + 2] {
                q -= 1;
            }
            if q > 0 && !subtract_multiple(&mut u[j..=j + n], &v[..n], q) {
                q -= 1;
            }
            *place = q as u8;
        }
    }

    /// Rounds (or truncates) to a multiple of `10^-places`.
    pub fn round(&self, places: i32, half_up: bool) -> Result<Decimal> {
        if self.len == 0 {
            return Ok(*self);
        }
        let unit = places.checked_neg().unwrap_or(i32::MAX);
        let odd = unit.rem_euclid(2) == 1;
        // Digits to keep; the last one only to the tens if the unit is ten times a power of 100.
        let kept = i64::from(self.exponent) - i64::from(unit.div_euclid(2)) + 1;
        if kept > i64::from(self.len) {
            return Ok(*self);
        }
        if kept < 0 {
            return Ok(Decimal::ZERO);
        }
        let kept = kept as usize;
        let mut digits = [0u8; DIGITS + 1];
        digits[1..].copy_from_slice(&self.digits);
        let at = kept; // digits[at] is the last kept digit, digits[0] is for a carry
        let mut up = false;
        if odd {
            if at == 0 {
                return Ok(Decimal::ZERO); // the unit is a hundred times the first digit's weight
            }
            let ones = digits[at] % 10;
            up = half_up && ones >= 5;
            digits[at] -= ones;
        } else if at < DIGITS {
            up = half_up && digits[at + 1] >= 50;
        }
        digits[at + 1..].fill(0);
        if up {
            let mut add = if odd { 10 } else { 1 };
            for place in digits[..=at].iter_mut().rev() {
                let d = *place + add;
                if d < 100 {
                    *place = d;
                    break;
                }
                *place = d - 100;
                add = 1;
            }
        }
        Decimal::from_digits(self.negative, i32::from(self.exponent) + 1, &digits)
    }

    /// Returns the decimal exponent of the first significant decimal digit.
    pub fn decimal_exponent(&self) -> i32 {
        2 * i32::from(self.exponent) + i32::from(self.digits[0] >= 10)
    }

    /// Writes the significant decimal digits, without leading and trailing zeros, and returns how many.
    pub fn decimal_digits(&self, out: &mut [u8; 2 * DIGITS]) -> usize {
        let mut len = 0;
        for (i, &d) in self.digits().iter().enumerate() {
            if i > 0 || d >= 10 {
                out[len] = d / 10;
                len += 1;
            }
            out[len] = d % 10;
            len += 1;
        }
        while len > 0 && out[len - 1] == 0 {
            len -= 1;
        }
        len
    }

    /// Makes a value from decimal digits, the first with weight `10^exponent`.
    pub fn from_decimal_digits(negative: bool, exponent: i32, decimal: impl Iterator<Item = u8>) -> Result<Decimal> {
        let mut raw = [0u8; DIGITS + 1];
        let mut low = exponent.rem_euclid(2) == 0; // whether the next digit is the low one of its pair
        let mut at = 0;
        for d in decimal {
            if at == raw.len() {
                break;
            }
            if low {
                raw[at] += d;
                at += 1;
            } else {
                raw[at] = d * 10;
            }
            low = !low;
        }
        Decimal::from_digits(negative, exponent.div_euclid(2), &raw)
    }
}

/// Subtracts `q * v` from `u`. If the result is negative, adds one `v` back and returns false.
fn subtract_multiple(u: &mut [u32], v: &[u32], q: u32) -> bool {
    let mut borrow = 0i32;
    for i in (0..v.len()).rev() {
        let d = u[i + 1] as i32 - (q * v[i]) as i32 - borrow;
        u[i + 1] = d.rem_euclid(100) as u32;
        borrow = -d.div_euclid(100);
    }
    let d = u[0] as i32 - borrow;
    if d >= 0 {
        u[0] = d as u32;
        return true;
    }
    let mut carry = 0;
    for i in (0..v.len()).rev() {
        let d = u[i + 1] + v[i] + carry;
        u[i + 1] = d % 100;
        carry = d / 100;
    }
    u[0] = (d + carry as i32) as u32;
    false
}

/// Adds one to the last digit. After a carry out of the first digit, the digits are 1, 0, 0 … and the exponent must
/// grow.
fn increment(digits: &mut [u8; DIGITS]) -> bool {
    for place in digits.iter_mut().rev() {
        if *place < 99 {
            *place += 1;
            return false;
        }
        *place = 0;
    }
    digits[0] = 1;
    true
}

fn finish(negative: bool, exponent: i32, digits: [u8; DIGITS]) -> Result<Decimal> {
    if exponent > MAX_EXPONENT {
        return Err(Ora::new(1426));
    }
    if exponent < MIN_EXPONENT {
        return Ok(Decimal::ZERO);
    }
    let len = digits.iter().rposition(|&d| d != 0).map_or(0, |at| at + 1);
    Ok(Decimal { negative: negative && len > 0, exponent: exponent as i8, len: len as u8, digits })
}
