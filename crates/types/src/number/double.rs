//! Conversion of NUMBER from and to double, by way of the text.

use super::text::scientific;
use super::{Number, Repr};
use crate::error::{Ora, Result};

impl Number {
    /// Makes the shortest decimal that reads back as the same double.
    ///
    /// # Errors
    /// ORA-01426 for infinities, NaN and numbers that are too large.
    pub fn from_f64(x: f64) -> Result<Number> {
        if !x.is_finite() {
            return Err(Ora::new(1426));
        }
        if x.fract() == 0.0 && x.abs() < 9e15 {
            return Ok(Number::from_i64(x as i64));
        }
        Number::parse(&format!("{x:e}"))
    }

    /// Returns the nearest double.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Int(n) => *n as f64,
            Repr::Dec(d) => scientific(d).parse().expect("digits and an exponent are a double"),
        }
    }
}
