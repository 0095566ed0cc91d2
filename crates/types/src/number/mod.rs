//! NUMBER: exact decimal floating point with Oracle's precision and range.

use crate::error::Result;
use std::cmp::Ordering;
use std::fmt;

/// An exact decimal number: up to 40 significant digits (20 base-100 digits), 1e-130 to below 1e126.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number(Repr);

/// Canonical: a whole number that fits an `i64` is always `Int`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Repr {
    Int(i64),
    Dec(Decimal),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Decimal {
    negative: bool,
    exponent: i8,
    len: u8,
    digits: [u8; 20],
}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number(Repr::Int(0));
    /// One.
    pub const ONE: Number = Number(Repr::Int(1));

    /// Makes a whole number.
    pub const fn from_i64(n: i64) -> Number {
        Number(Repr::Int(n))
    }
    /// Returns the value when it is whole and fits.
    pub const fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Int(n) => Some(n),
            Repr::Dec(_) => None,
        }
    }
    /// Makes a whole number.
    pub fn from_u64(_n: u64) -> Number {
        todo!()
    }
    /// Makes a whole number.
    pub fn from_i128(_n: i128) -> Result<Number> {
        todo!()
    }
    /// Makes `coefficient * 10^exponent`.
    pub fn from_scaled(_coefficient: i128, _exponent: i32) -> Result<Number> {
        todo!()
    }
    /// Makes the decimal nearest to a double with 15 significant digits; ORA-01426 for NaN and infinities.
    pub fn from_f64(_x: f64) -> Result<Number> {
        todo!()
    }
    /// Returns the nearest double.
    pub fn to_f64(&self) -> f64 {
        todo!()
    }
    /// Returns the value rounded to a whole number, ORA-01426 when it does not fit.
    pub fn to_i64(&self) -> Result<i64> {
        todo!()
    }
    /// Reads a literal: digits, point, exponent; ORA-01722 otherwise.
    pub fn parse(_text: &str) -> Result<Number> {
        todo!()
    }
    /// Writes the default text of TO_CHAR(n).
    pub fn write_text(&self, _out: &mut String) {
        todo!()
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
        todo!()
    }
    /// Returns -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        todo!()
    }

    /// Adds; ORA-01426 on overflow.
    pub fn add(&self, _other: &Number) -> Result<Number> {
        todo!()
    }
    /// Subtracts; ORA-01426 on overflow.
    pub fn sub(&self, _other: &Number) -> Result<Number> {
        todo!()
    }
    /// Multiplies; ORA-01426 on overflow.
    pub fn mul(&self, _other: &Number) -> Result<Number> {
        todo!()
    }
    /// Divides; ORA-01476 by zero, ORA-01426 on overflow.
    pub fn div(&self, _other: &Number) -> Result<Number> {
        todo!()
    }
    /// MOD(self, n): sign of `self`; `self` when `n` is zero.
    pub fn modulo(&self, _n: &Number) -> Result<Number> {
        todo!()
    }
    /// REMAINDER(self, n): ORA-01476 when `n` is zero.
    pub fn remainder(&self, _n: &Number) -> Result<Number> {
        todo!()
    }
    /// Changes the sign.
    pub fn neg(&self) -> Number {
        todo!()
    }
    /// Drops the sign.
    pub fn abs(&self) -> Number {
        todo!()
    }
    /// Rounds half away from zero to `places` decimals (negative: left of the point).
    pub fn round(&self, _places: i32) -> Number {
        todo!()
    }
    /// Cuts to `places` decimals.
    pub fn trunc(&self, _places: i32) -> Number {
        todo!()
    }
    /// Rounds down to a whole number.
    pub fn floor(&self) -> Number {
        todo!()
    }
    /// Rounds up to a whole number.
    pub fn ceil(&self) -> Number {
        todo!()
    }
    /// Rounds to NUMBER(precision, scale); ORA-01438 when it does not fit.
    pub fn fit(&self, _precision: Option<u8>, _scale: Option<i8>) -> Result<Number> {
        todo!()
    }
    /// Square root; ORA-01428 below zero.
    pub fn sqrt(&self) -> Result<Number> {
        todo!()
    }
    /// e to the power.
    pub fn exp(&self) -> Result<Number> {
        todo!()
    }
    /// Natural logarithm; ORA-01428 at or below zero.
    pub fn ln(&self) -> Result<Number> {
        todo!()
    }
    /// LOG(base, n).
    pub fn log(_base: &Number, _n: &Number) -> Result<Number> {
        todo!()
    }
    /// self to the power of n.
    pub fn power(&self, _n: &Number) -> Result<Number> {
        todo!()
    }
    /// Sine.
    pub fn sin(&self) -> Result<Number> {
        todo!()
    }
    /// Cosine.
    pub fn cos(&self) -> Result<Number> {
        todo!()
    }
    /// Tangent.
    pub fn tan(&self) -> Result<Number> {
        todo!()
    }
    /// Arc sine; ORA-01428 outside -1..1.
    pub fn asin(&self) -> Result<Number> {
        todo!()
    }
    /// Arc cosine; ORA-01428 outside -1..1.
    pub fn acos(&self) -> Result<Number> {
        todo!()
    }
    /// Arc tangent.
    pub fn atan(&self) -> Result<Number> {
        todo!()
    }
    /// ATAN2(self, x).
    pub fn atan2(&self, _x: &Number) -> Result<Number> {
        todo!()
    }
    /// Hyperbolic sine.
    pub fn sinh(&self) -> Result<Number> {
        todo!()
    }
    /// Hyperbolic cosine.
    pub fn cosh(&self) -> Result<Number> {
        todo!()
    }
    /// Hyperbolic tangent.
    pub fn tanh(&self) -> Result<Number> {
        todo!()
    }

    /// Appends Oracle's stored form: at most 22 bytes that order with `memcmp`.
    pub fn encode(&self, _out: &mut Vec<u8>) {
        todo!()
    }
    /// Reads the stored form; `None` when the bytes are no number.
    pub fn decode(_bytes: &[u8]) -> Option<Number> {
        todo!()
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Number {
    fn cmp(&self, _other: &Number) -> Ordering {
        todo!()
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
impl Default for Number {
    fn default() -> Number {
        Number::ZERO
    }
}
impl fmt::Display for Number {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}
impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
