//! Roots, powers, exponentials and angles of a NUMBER.
//!
//! All are computed with ninety decimals ([`Fixed`]) and rounded once.

use super::wide::Fixed;
use super::{Number, Repr};
use crate::error::{Ora, Result};

/// Below this, the first term of an odd function's series is exact to the precision of NUMBER.
const TINY_EXPONENT: i32 = -24;

impl Number {
    fn out_of_range(&self) -> Ora {
        Ora::with(1428, &[self])
    }

    fn fixed(&self) -> Fixed {
        Fixed::from_decimal(&self.decimal(), 0)
    }

    fn is_tiny(&self) -> bool {
        self.is_zero() || self.decimal_exponent() < TINY_EXPONENT
    }

    /// Returns the square root; ORA-01428 below zero.
    pub fn sqrt(&self) -> Result<Number> {
        if self.is_negative() {
            return Err(self.out_of_range());
        }
        if self.is_zero() {
            return Ok(*self);
        }
        let d = self.decimal();
        let exponent = i32::from(d.exponent);
        Fixed::from_decimal(&d, -2 * exponent).sqrt().to_decimal(exponent).map(Number::of)
    }

    /// Returns e to this power; ORA-01426 above 290.
    pub fn exp(&self) -> Result<Number> {
        if self.to_f64() > 300.0 {
            return Err(Ora::new(1426));
        }
        if self.to_f64() < -310.0 {
            return Ok(Number::ZERO);
        }
        let (e, tens) = self.fixed().exp();
        e.to_decimal(tens).map(Number::of)
    }

    /// The natural logarithm of a positive number as fixed point.
    fn ln_fixed(&self) -> Fixed {
        let d = self.decimal();
        let tens = d.decimal_exponent();
        Fixed::from_decimal(&d, -tens).ln().add(Fixed::ln10().mul_int(tens.into()))
    }

    /// Returns the natural logarithm; ORA-01428 at or below zero.
    pub fn ln(&self) -> Result<Number> {
        if self.signum() <= 0 {
            return Err(self.out_of_range());
        }
        self.ln_fixed().to_decimal(0).map(Number::of)
    }

    /// Returns the logarithm of `n` to `base`.
    ///
    /// # Errors
    /// ORA-01428 if one is not positive, ORA-01476 if the base is one.
    pub fn log(base: &Number, n: &Number) -> Result<Number> {
        if base.signum() <= 0 {
            return Err(base.out_of_range());
        }
        if n.signum() <= 0 {
            return Err(n.out_of_range());
        }
        if *base == Number::ONE {
            return Err(Ora::new(1476));
        }
        n.ln_fixed().mul(base.ln_fixed().recip()).to_decimal(0).map(Number::of)
    }

    /// Returns this number to the power of `n`.
    ///
    /// # Errors
    /// ORA-01428 for a negative base with a fractional exponent, and for zero with a negative exponent; ORA-01426 on
    /// overflow.
    pub fn power(&self, n: &Number) -> Result<Number> {
        if n.is_zero() {
            return Ok(Number::ONE);
        }
        if self.is_zero() {
            return if n.is_negative() { Err(self.out_of_range()) } else { Ok(Number::ZERO) };
        }
        if let (Repr::Int(x), Some(n)) = (&self.0, n.as_i64())
            && let Ok(n) = u32::try_from(n)
            && let Some(exact) = i128::from(*x).checked_pow(n)
        {
            return Ok(Number::from_i128(exact));
        }
        let odd = n.is_integer() && !n.modulo(&Number::from_i64(2))?.is_zero();
        if self.is_negative() && !n.is_integer() {
            return Err(self.out_of_range());
        }
        let estimate = self.abs().to_f64().ln() * n.to_f64();
        if estimate > 300.0 {
            return Err(Ora::new(1426));
        }
        if estimate < -310.0 {
            return Ok(Number::ZERO);
        }
        if n.decimal_exponent() >= 70 {
            return Ok(Number::ONE); // only one itself is this close to one
        }
        let (e, tens) = self.abs().ln_fixed().mul(n.fixed()).exp();
        let magnitude = Number::of(e.to_decimal(tens)?);
        Ok(if self.is_negative() && odd { magnitude.neg() } else { magnitude })
    }

    /// Returns the sine of an angle in radians; not accurate above 10^30.
    pub fn sin(&self) -> Result<Number> {
        if self.is_tiny() {
            return Ok(*self);
        }
        self.angle()?.sin_cos().0.to_decimal(0).map(Number::of)
    }

    /// Returns the cosine of an angle in radians; not accurate above 10^30.
    pub fn cos(&self) -> Result<Number> {
        self.angle()?.sin_cos().1.to_decimal(0).map(Number::of)
    }

    /// Returns the tangent of an angle in radians; not accurate above 10^30.
    pub fn tan(&self) -> Result<Number> {
        if self.is_tiny() {
            return Ok(*self);
        }
        let (sin, cos) = self.angle()?.sin_cos();
        sin.mul(cos.recip()).to_decimal(0).map(Number::of)
    }

    fn angle(&self) -> Result<Fixed> {
        if self.decimal_exponent() > 50 { Err(self.out_of_range()) } else { Ok(self.fixed()) }
    }

    fn asin_fixed(&self) -> Result<Fixed> {
        let x = self.fixed();
        if self.abs() > Number::ONE {
            return Err(self.out_of_range());
        }
        if self.abs() == Number::ONE {
            let half = Fixed::pi().div_int(2);
            return Ok(if self.is_negative() { half.neg() } else { half });
        }
        // atan(x / (1 + sqrt(1 - x²))) is half the angle, and its argument stays below one.
        let cos = Fixed::from_int(1).sub(x.mul(x)).sqrt();
        Ok(x.mul(Fixed::from_int(1).add(cos).recip()).atan().mul_int(2))
    }

    /// Returns the arc sine; ORA-01428 outside -1 to 1.
    pub fn asin(&self) -> Result<Number> {
        if self.is_tiny() {
            return Ok(*self);
        }
        self.asin_fixed()?.to_decimal(0).map(Number::of)
    }

    /// Returns the arc cosine; ORA-01428 outside -1 to 1.
    pub fn acos(&self) -> Result<Number> {
        Fixed::pi().div_int(2).sub(self.asin_fixed()?).to_decimal(0).map(Number::of)
    }

    fn atan_fixed(&self) -> Fixed {
        let half = Fixed::pi().div_int(2);
        let magnitude = if self.decimal_exponent() > 60 {
            half
        } else if self.abs() > Number::ONE {
            half.sub(Number::ONE.div(&self.abs()).unwrap_or(Number::ZERO).fixed().atan())
        } else {
            self.abs().fixed().atan()
        };
        if self.is_negative() { magnitude.neg() } else { magnitude }
    }

    /// Returns the arc tangent.
    pub fn atan(&self) -> Result<Number> {
        if self.is_tiny() {
            return Ok(*self);
        }
        self.atan_fixed().to_decimal(0).map(Number::of)
    }

    /// Returns the angle of the point (`x`, self), ATAN2(self, x).
    ///
    /// # Errors
    /// ORA-01426 if both are zero.
    pub fn atan2(&self, x: &Number) -> Result<Number> {
        let pi = Fixed::pi();
        if x.is_zero() {
            let half = pi.div_int(2);
            return match self.signum() {
                0 => Err(Ora::new(1426)),
                1 => half.to_decimal(0).map(Number::of),
                _ => half.neg().to_decimal(0).map(Number::of),
            };
        }
        let slope = self.div(x)?;
        if !x.is_negative() {
            return slope.atan();
        }
        let turn = if self.is_negative() { pi.neg() } else { pi };
        slope.atan_fixed().add(turn).to_decimal(0).map(Number::of)
    }

    /// Returns the hyperbolic sine.
    pub fn sinh(&self) -> Result<Number> {
        if self.is_tiny() {
            return Ok(*self);
        }
        if self.to_f64().abs() > 100.0 {
            let (up, down) = if self.is_negative() { (self.neg().exp()?, true) } else { (self.exp()?, false) };
            let half = up.div(&Number::from_i64(2))?;
            return Ok(if down { half.neg() } else { half });
        }
        let (up, down) = (self.scaled_exp(), self.neg().scaled_exp());
        up.sub(down).div_int(2).to_decimal(0).map(Number::of)
    }

    /// Returns the hyperbolic cosine.
    pub fn cosh(&self) -> Result<Number> {
        if self.to_f64().abs() > 100.0 {
            return self.abs().exp()?.div(&Number::from_i64(2));
        }
        let (up, down) = (self.scaled_exp(), self.neg().scaled_exp());
        up.add(down).div_int(2).to_decimal(0).map(Number::of)
    }

    /// Returns the hyperbolic tangent.
    pub fn tanh(&self) -> Result<Number> {
        if self.is_tiny() {
            return Ok(*self);
        }
        if self.to_f64().abs() > 60.0 {
            return Ok(Number::from_i64(self.signum().into()));
        }
        // With t = e^-2|x| it is (1 - t) / (1 + t), without large numbers.
        let t = self.abs().mul(&Number::from_i64(-2))?.scaled_exp();
        let one = Fixed::from_int(1);
        let magnitude = Number::of(one.sub(t).mul(one.add(t).recip()).to_decimal(0)?);
        Ok(if self.is_negative() { magnitude.neg() } else { magnitude })
    }

    /// e^self as fixed point; for |self| up to 120.
    fn scaled_exp(&self) -> Fixed {
        let (mut e, tens) = self.fixed().exp();
        for _ in 0..tens.max(0) {
            e = e.mul_int(10);
        }
        for _ in 0..(-tens).max(0) {
            e = e.div_int(10);
        }
        e
    }
}
