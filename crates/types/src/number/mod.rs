//! NUMBER: exact decimal floating point with Oracle's precision and range.
//!
//! Whole numbers that fit a word are stored as a word, and `+ - *`, comparison, MOD and rounding of such numbers stay
//! in words. All others are base-100 digits as Oracle stores them ([`decimal`]). The form is canonical, so equality and
//! hashing are those of the fields (V1). Rejected: a 128-bit coefficient, which holds 38 digits where Oracle shows 40.

mod bytes;
mod decimal;
mod double;
mod math;
#[cfg(test)]
mod tests;
mod text;
mod wide;

use crate::error::{Ora, Result};
use decimal::Decimal;
use std::cmp::Ordering;

/// An exact decimal number: 39 or 40 significant digits (20 base-100 ones), from 1e-130 to below 1e126.
///
/// Results below 1e-130 become zero; results that are too large are ORA-01426.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number(Repr);

/// Canonical: a whole number that fits an `i64` is always `Int`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Repr {
    Int(i64),
    Dec(Decimal),
}

const _: () = assert!(size_of::<Number>() == 24);

impl Number {
    /// Zero.
    pub const ZERO: Number = Number(Repr::Int(0));
    /// One.
    pub const ONE: Number = Number(Repr::Int(1));

    /// Makes a whole number.
    pub const fn from_i64(n: i64) -> Number {
        Number(Repr::Int(n))
    }

    /// Returns the value if it is whole and fits.
    pub const fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Int(n) => Some(n),
            Repr::Dec(_) => None,
        }
    }

    /// Makes a whole number.
    pub fn from_u64(n: u64) -> Number {
        match i64::try_from(n) {
            Ok(n) => Number::from_i64(n),
            Err(_) => Number(Repr::Dec(Decimal::from_u128(false, n.into()))),
        }
    }

    /// Makes a whole number.
    pub fn from_i128(n: i128) -> Number {
        match i64::try_from(n) {
            Ok(n) => Number::from_i64(n),
            Err(_) => Number(Repr::Dec(Decimal::from_u128(n < 0, n.unsigned_abs()))),
        }
    }

    /// Makes `coefficient * 10^exponent`, rounded to the precision of NUMBER.
    ///
    /// # Errors
    /// ORA-01426 if it is too large.
    pub fn from_scaled(coefficient: i128, exponent: i32) -> Result<Number> {
        if exponent == 0 {
            return Ok(Number::from_i128(coefficient));
        }
        if coefficient == 0 {
            return Ok(Number::ZERO);
        }
        if exponent % 2 == 0 {
            // Whole pairs of digits: the digits of a whole number with another exponent.
            let d = Decimal::from_u128_scaled(coefficient < 0, coefficient.unsigned_abs(), exponent / 2)?;
            return Ok(Number::of(d));
        }
        let mut raw = [0u8; 39];
        let mut at = raw.len();
        let mut rest = coefficient.unsigned_abs();
        while rest != 0 {
            at -= 1;
            raw[at] = (rest % 10) as u8;
            rest /= 10;
        }
        let first = (raw.len() - at) as i32 - 1;
        let exponent = exponent.saturating_add(first);
        Decimal::from_decimal_digits(coefficient < 0, exponent, raw[at..].iter().copied()).map(Number::of)
    }

    /// Makes `whole + fraction / 10^18`. A `fraction` of one or more is truncated to eighteen digits.
    #[inline]
    pub fn from_parts(whole: u32, fraction: u64) -> Number {
        if fraction == 0 {
            return Number::from_i64(whole.into());
        }
        Number(Repr::Dec(Decimal::from_parts(whole, fraction)))
    }

    fn of(d: Decimal) -> Number {
        match d.to_i64() {
            Some(n) => Number(Repr::Int(n)),
            None => Number(Repr::Dec(d)),
        }
    }

    fn decimal(&self) -> Decimal {
        match &self.0 {
            Repr::Int(n) => Decimal::from_i64(*n),
            Repr::Dec(d) => *d,
        }
    }

    /// Returns the value rounded half away from zero to a whole number.
    ///
    /// # Errors
    /// ORA-01426 if it does not fit 64 bits.
    pub fn to_i64(&self) -> Result<i64> {
        match &self.0 {
            Repr::Int(n) => Ok(*n),
            Repr::Dec(_) => self.round(0).as_i64().ok_or_else(|| Ora::new(1426)),
        }
    }

    /// Returns the value rounded to a whole number, if it fits a PLS_INTEGER.
    ///
    /// # Errors
    /// ORA-01426 if it does not.
    pub fn to_i32(&self) -> Result<i32> {
        i32::try_from(self.to_i64()?).map_err(|_| Ora::new(1426))
    }

    /// Returns whether this is zero.
    pub const fn is_zero(&self) -> bool {
        matches!(self.0, Repr::Int(0))
    }

    /// Returns whether this is below zero.
    pub const fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Int(n) => *n < 0,
            Repr::Dec(d) => d.negative,
        }
    }

    /// Returns whether this has no fraction.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Int(_) => true,
            Repr::Dec(d) => d.is_integer(),
        }
    }

    /// Returns -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match &self.0 {
            Repr::Int(n) => n.signum() as i32,
            Repr::Dec(d) => {
                if d.negative {
                    -1
                } else {
                    1
                }
            }
        }
    }

    /// Adds; ORA-01426 on overflow.
    #[inline]
    pub fn add(&self, other: &Number) -> Result<Number> {
        if let (Repr::Int(a), Repr::Int(b)) = (&self.0, &other.0) {
            return Ok(match a.checked_add(*b) {
                Some(sum) => Number::from_i64(sum),
                None => Number::from_i128(i128::from(*a) + i128::from(*b)),
            });
        }
        self.decimal().add(&other.decimal()).map(Number::of)
    }

    /// Subtracts; ORA-01426 on overflow.
    #[inline]
    pub fn sub(&self, other: &Number) -> Result<Number> {
        if let (Repr::Int(a), Repr::Int(b)) = (&self.0, &other.0) {
            return Ok(match a.checked_sub(*b) {
                Some(difference) => Number::from_i64(difference),
                None => Number::from_i128(i128::from(*a) - i128::from(*b)),
            });
        }
        let mut other = other.decimal();
        other.negative = !other.negative && other.len > 0;
        self.decimal().add(&other).map(Number::of)
    }

    /// Multiplies; ORA-01426 on overflow.
    #[inline]
    pub fn mul(&self, other: &Number) -> Result<Number> {
        if let (Repr::Int(a), Repr::Int(b)) = (&self.0, &other.0) {
            return Ok(match a.checked_mul(*b) {
                Some(product) => Number::from_i64(product),
                None => Number::from_i128(i128::from(*a) * i128::from(*b)),
            });
        }
        self.decimal().mul(&other.decimal()).map(Number::of)
    }

    /// Divides, to the twentieth base-100 digit; ORA-01476 by zero, ORA-01426 on overflow.
    pub fn div(&self, other: &Number) -> Result<Number> {
        if let (Repr::Int(a), Repr::Int(b)) = (&self.0, &other.0)
            && let Some(0) = a.checked_rem(*b)
            && let Some(quotient) = a.checked_div(*b)
        {
            return Ok(Number::from_i64(quotient));
        }
        self.decimal().div(&other.decimal()).map(Number::of)
    }

    /// MOD(self, n): the remainder of the truncated division; has the sign of `self`, and is `self` if `n` is zero.
    pub fn modulo(&self, n: &Number) -> Result<Number> {
        if n.is_zero() {
            return Ok(*self);
        }
        if let (Repr::Int(a), Repr::Int(b)) = (&self.0, &n.0) {
            return Ok(Number::from_i64(a.checked_rem(*b).unwrap_or(0)));
        }
        if self.abs() < n.abs() {
            return Ok(*self);
        }
        let quotient = self.div(n)?.trunc(0);
        let rest = self.sub(&n.mul(&quotient)?)?;
        // If the quotient has more digits than NUMBER, the remainder is meaningless.
        let sound = rest.is_zero() || (rest.is_negative() == self.is_negative() && rest.abs() < n.abs());
        Ok(if sound { rest } else { Number::ZERO })
    }

    /// REMAINDER(self, n): like MOD, with the quotient rounded half to even.
    ///
    /// # Errors
    /// ORA-01476 if `n` is zero.
    pub fn remainder(&self, n: &Number) -> Result<Number> {
        let exact = self.div(n)?;
        let mut quotient = exact.round(0);
        let half = Number::from_scaled(5, -1)?;
        if exact.sub(&exact.trunc(0))?.abs() == half && !quotient.modulo(&Number::from_i64(2))?.is_zero() {
            quotient = exact.trunc(0);
        }
        self.sub(&n.mul(&quotient)?)
    }

    /// Changes the sign.
    pub fn neg(&self) -> Number {
        match &self.0 {
            Repr::Int(n) => n.checked_neg().map_or_else(|| Number::from_i128(-i128::from(*n)), Number::from_i64),
            Repr::Dec(d) => Number::of(Decimal { negative: !d.negative, ..*d }),
        }
    }

    /// Drops the sign.
    pub fn abs(&self) -> Number {
        if self.is_negative() { self.neg() } else { *self }
    }

    /// Rounds half away from zero to `places` decimals; negative places are left of the point.
    ///
    /// A value so close to the end of the range that rounding up would leave it is truncated instead.
    pub fn round(&self, places: i32) -> Number {
        match &self.0 {
            Repr::Int(_) if places >= 0 => *self,
            Repr::Int(n) if places > -18 => {
                let unit = 10i128.pow(places.unsigned_abs());
                let n = i128::from(*n);
                Number::from_i128((n + n.signum() * unit / 2) / unit * unit)
            }
            Repr::Dec(d) if places == 0 && d.exponent < 8 => Number::from_i64(d.whole_part(true)),
            _ => self.decimal().round(places, true).map_or_else(|_| self.trunc(places), Number::of),
        }
    }

    /// Truncates to `places` decimals; negative places are left of the point.
    pub fn trunc(&self, places: i32) -> Number {
        match &self.0 {
            Repr::Int(_) if places >= 0 => *self,
            Repr::Int(n) if places > -18 => {
                let unit = 10i64.pow(places.unsigned_abs());
                Number::from_i64(n / unit * unit)
            }
            Repr::Dec(d) if places == 0 && d.exponent < 8 => Number::from_i64(d.whole_part(false)),
            _ => Number::of(self.decimal().round(places, false).expect("cutting does not overflow")),
        }
    }

    /// Rounds down to a whole number.
    pub fn floor(&self) -> Number {
        let cut = self.trunc(0);
        if self.is_negative() && cut != *self { cut.sub(&Number::ONE).unwrap_or(cut) } else { cut }
    }

    /// Rounds up to a whole number.
    pub fn ceil(&self) -> Number {
        self.neg().floor().neg()
    }

    /// Rounds to NUMBER(precision, scale).
    ///
    /// # Errors
    /// ORA-01438 if there are more digits before the rounding place than the precision allows.
    pub fn fit(&self, precision: Option<u8>, scale: Option<i8>) -> Result<Number> {
        let Some(precision) = precision else {
            return Ok(match scale {
                Some(scale) => self.round(scale.into()),
                None => *self,
            });
        };
        let scale = i32::from(scale.unwrap_or(0));
        let rounded = self.round(scale);
        let digits_before = i32::from(precision) - scale;
        let fits = match &rounded.0 {
            Repr::Int(n) if (0..=18).contains(&digits_before) => n.unsigned_abs() < 10u64.pow(digits_before as u32),
            Repr::Int(0) => true,
            _ => rounded.decimal().decimal_exponent() < digits_before,
        };
        if fits { Ok(rounded) } else { Err(Ora::new(1438)) }
    }

    /// Rounds to `binary` binary digits of precision, as FLOAT(binary) does: `ceil(binary * 0.30103)` decimal digits.
    pub fn fit_float(&self, binary: u8) -> Number {
        let digits = (i32::from(binary) * 30103 + 99999) / 100000;
        if self.is_zero() || digits >= 38 {
            return *self;
        }
        self.round(digits - 1 - self.decimal().decimal_exponent())
    }

    /// Returns the power of ten of the first significant digit; zero for zero.
    pub fn decimal_exponent(&self) -> i32 {
        if self.is_zero() { 0 } else { self.decimal().decimal_exponent() }
    }

    /// Returns the significant decimal digits, without leading or trailing zeros; none for zero.
    pub fn significant_digits(&self, out: &mut [u8; 40]) -> usize {
        self.decimal().decimal_digits(out)
    }
}

impl PartialOrd for Number {
    #[inline]
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    #[inline]
    fn cmp(&self, other: &Number) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Int(a), Repr::Int(b)) => a.cmp(b),
            _ => self.decimal().cmp(&other.decimal()),
        }
    }
}

impl From<i64> for Number {
    fn from(n: i64) -> Number {
        Number::from_i64(n)
    }
}

impl From<i32> for Number {
    fn from(n: i32) -> Number {
        Number::from_i64(n.into())
    }
}

impl From<u32> for Number {
    fn from(n: u32) -> Number {
        Number::from_i64(n.into())
    }
}

impl From<u64> for Number {
    fn from(n: u64) -> Number {
        Number::from_u64(n)
    }
}

impl Default for Number {
    fn default() -> Number {
        Number::ZERO
    }
}
