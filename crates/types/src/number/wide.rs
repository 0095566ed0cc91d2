//! Fixed-point numbers with ninety decimals, for roots, exponentials and angles.
//!
//! A result is rounded once. It is correct to the last digit of NUMBER except in very rare halfway cases, and exact if
//! the true result is. Limbs are base 10^18, so conversion from and to decimal digits is a copy.

use super::decimal::Decimal;
use crate::error::Result;
use std::cmp::Ordering;

const BASE: u64 = 1_000_000_000_000_000_000;
const LIMB_DIGITS: usize = 18;
/// Limbs after the point.
const FRACTION: usize = 5;
const LIMBS: usize = 9;

/// A signed number: `limbs`, least significant first, times 10^-90.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    negative: bool,
    limbs: [u64; LIMBS],
}

impl Fixed {
    pub const ZERO: Fixed = Fixed { negative: false, limbs: [0; LIMBS] };

    pub fn from_int(n: i64) -> Fixed {
        let mut limbs = [0; LIMBS];
        limbs[FRACTION] = n.unsigned_abs() % BASE;
        limbs[FRACTION + 1] = n.unsigned_abs() / BASE;
        Fixed { negative: n < 0, limbs }
    }

    /// Reads decimal digits and a point; for constants.
    pub fn constant(text: &str) -> Fixed {
        let (whole, fraction) = text.split_once('.').expect("a constant has a point");
        let digits = whole.bytes().chain(fraction.bytes()).map(|c| c - b'0');
        Fixed::from_digits(false, whole.len() as i32 - 1, digits)
    }

    /// Makes a number from decimal digits, the first with weight `10^exponent`; digits beyond the precision are
    /// truncated.
    pub fn from_digits(negative: bool, exponent: i32, digits: impl Iterator<Item = u8>) -> Fixed {
        let mut limbs = [0; LIMBS];
        let mut place = exponent + (FRACTION * LIMB_DIGITS) as i32;
        for digit in digits {
            if place < 0 {
                break;
            }
            let at = place as usize;
            limbs[at / LIMB_DIGITS] += u64::from(digit) * 10u64.pow((at % LIMB_DIGITS) as u32);
            place -= 1;
        }
        Fixed { negative, limbs }
    }

    /// Makes `d * 10^shift`. The result must be below 10^72.
    pub fn from_decimal(d: &Decimal, shift: i32) -> Fixed {
        let mut digits = [0; 40];
        let len = d.decimal_digits(&mut digits);
        if len == 0 {
            return Fixed::ZERO;
        }
        Fixed::from_digits(d.negative, d.decimal_exponent() + shift, digits[..len].iter().copied())
    }

    /// Rounds `self * 10^shift` to a NUMBER.
    pub fn to_decimal(self, shift: i32) -> Result<Decimal> {
        let Some(top) = self.limbs.iter().rposition(|&limb| limb != 0) else { return Ok(Decimal::ZERO) };
        let digit = |at: usize| (self.limbs[at / LIMB_DIGITS] / 10u64.pow((at % LIMB_DIGITS) as u32) % 10) as u8;
        let mut first = top * LIMB_DIGITS + LIMB_DIGITS - 1;
        while digit(first) == 0 {
            first -= 1;
        }
        let exponent = first as i32 - (FRACTION * LIMB_DIGITS) as i32 + shift;
        Decimal::from_decimal_digits(self.negative, exponent, (0..=first).rev().map(digit))
    }

    pub fn to_f64(self) -> f64 {
        let magnitude =
            self.limbs.iter().rev().fold((0.0, 1e18f64.powi((LIMBS - FRACTION - 1) as i32)), |(sum, weight), &limb| {
                (sum + limb as f64 * weight, weight / 1e18)
            });
        if self.negative { -magnitude.0 } else { magnitude.0 }
    }

    /// Makes the fixed-point number nearest to a double of moderate size.
    pub fn from_f64(x: f64) -> Fixed {
        let mut limbs = [0; LIMBS];
        let mut rest = x.abs();
        for at in (0..LIMBS).rev() {
            let weight = 1e18f64.powi(at as i32 - FRACTION as i32);
            let limb = (rest / weight).floor().clamp(0.0, (BASE - 1) as f64);
            limbs[at] = (limb as u64).min(BASE - 1);
            rest -= limb * weight;
            if rest <= 0.0 {
                break;
            }
        }
        Fixed { negative: x < 0.0, limbs }
    }

    pub fn is_zero(&self) -> bool {
        self.limbs.iter().all(|&limb| limb == 0)
    }

    pub fn neg(self) -> Fixed {
        Fixed { negative: !self.negative, ..self }
    }

    fn cmp_magnitude(&self, other: &Fixed) -> Ordering {
        self.limbs.iter().rev().cmp(other.limbs.iter().rev())
    }

    pub fn add(self, other: Fixed) -> Fixed {
        if self.negative == other.negative {
            let mut limbs = [0; LIMBS];
            let mut carry = 0;
            for (limb, (a, b)) in limbs.iter_mut().zip(self.limbs.iter().zip(other.limbs)) {
                let sum = a + b + carry;
                (*limb, carry) = if sum >= BASE { (sum - BASE, 1) } else { (sum, 0) };
            }
            return Fixed { negative: self.negative, limbs };
        }
        let (big, small) = if self.cmp_magnitude(&other) == Ordering::Less { (other, self) } else { (self, other) };
        let mut limbs = [0; LIMBS];
        let mut borrow = 0;
        for (limb, (a, b)) in limbs.iter_mut().zip(big.limbs.iter().zip(small.limbs)) {
            let take = b + borrow;
            (*limb, borrow) = if *a >= take { (a - take, 0) } else { (a + BASE - take, 1) };
        }
        Fixed { negative: big.negative, limbs }
    }

    pub fn sub(self, other: Fixed) -> Fixed {
        self.add(other.neg())
    }

    pub fn mul(self, other: Fixed) -> Fixed {
        let mut sums = [0u128; 2 * LIMBS];
        for (i, &a) in self.limbs.iter().enumerate().filter(|(_, a)| **a != 0) {
            for (j, &b) in other.limbs.iter().enumerate() {
                sums[i + j] += u128::from(a) * u128::from(b);
            }
        }
        let mut carry = 0u128;
        for sum in &mut sums {
            let limb = *sum + carry;
            *sum = limb % u128::from(BASE);
            carry = limb / u128::from(BASE);
        }
        debug_assert!(sums[LIMBS + FRACTION..].iter().all(|&limb| limb == 0), "a product left its range");
        let mut limbs = [0; LIMBS];
        for (limb, sum) in limbs.iter_mut().zip(&sums[FRACTION..]) {
            *limb = *sum as u64;
        }
        Fixed { negative: self.negative != other.negative, limbs }
    }

    pub fn mul_int(self, n: i64) -> Fixed {
        self.mul(Fixed::from_int(n))
    }

    pub fn div_int(self, n: u64) -> Fixed {
        let mut limbs = [0; LIMBS];
        let mut rest = 0u128;
        for i in (0..LIMBS).rev() {
            let value = rest * u128::from(BASE) + u128::from(self.limbs[i]);
            limbs[i] = (value / u128::from(n)) as u64;
            rest = value % u128::from(n);
        }
        Fixed { negative: self.negative, limbs }
    }

    /// Returns 1 / self, for a number of moderate size, by Newton's iteration.
    pub fn recip(self) -> Fixed {
        let mut y = Fixed::from_f64(1.0 / self.to_f64());
        for _ in 0..4 {
            y = y.mul(Fixed::from_int(2).sub(self.mul(y)));
        }
        y
    }

    /// Returns the square root of a number from 0 to 1e30.
    pub fn sqrt(self) -> Fixed {
        if self.is_zero() {
            return self;
        }
        let mut y = Fixed::from_f64(1.0 / self.to_f64().sqrt());
        for _ in 0..4 {
            y = y.mul(Fixed::from_int(3).sub(self.mul(y).mul(y))).div_int(2);
        }
        self.mul(y)
    }

    pub fn ln10() -> Fixed {
        Fixed::constant(
            "2.302585092994045684017991454684364207601101488628772976033327900967572609677352480235997205089598298341967784042286",
        )
    }

    pub fn pi() -> Fixed {
        Fixed::constant(
            "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067982148086513282",
        )
    }

    /// Returns e^self as a number of moderate size and a power of ten; for |self| below 10000.
    pub fn exp(self) -> (Fixed, i32) {
        let tens = (self.to_f64() / std::f64::consts::LN_10).round() as i64;
        let rest = self.sub(Fixed::ln10().mul_int(tens));
        let small = rest.div_int(1 << 8);
        let mut sum = Fixed::from_int(1);
        let mut term = sum;
        for n in 1.. {
            term = term.mul(small).div_int(n);
            if term.is_zero() {
                break;
            }
            sum = sum.add(term);
        }
        for _ in 0..8 {
            sum = sum.mul(sum);
        }
        (sum, tens as i32)
    }

    /// Returns the natural logarithm of a number between 0.1 and 10, by Halley's iteration.
    pub fn ln(self) -> Fixed {
        let mut y = Fixed::from_f64(self.to_f64().ln());
        for _ in 0..3 {
            let (mut e, tens) = y.exp();
            if tens > 0 {
                e = e.mul_int(10);
            } else if tens < 0 {
                e = e.div_int(10);
            }
            y = y.add(self.sub(e).mul_int(2).mul(self.add(e).recip()));
        }
        y
    }

    /// Returns sine and cosine; for |self| below 10^30 or so, where the period is still known well enough.
    pub fn sin_cos(self) -> (Fixed, Fixed) {
        let period = Fixed::pi().mul_int(2);
        let mut turns = self.mul(period.recip());
        let half = turns.limbs[FRACTION - 1] >= BASE / 2;
        turns.limbs[..FRACTION].fill(0);
        if half {
            turns = turns.add(Fixed { negative: turns.negative, ..Fixed::from_int(1) });
        }
        let x = self.sub(turns.mul(period));
        let square = x.mul(x).neg();
        let series = |first: Fixed, mut n: u64| {
            let (mut sum, mut term) = (first, first);
            loop {
                term = term.mul(square).div_int((n + 1) * (n + 2));
                n += 2;
                if term.is_zero() {
                    return sum;
                }
                sum = sum.add(term);
            }
        };
        (series(x, 1), series(Fixed::from_int(1), 0))
    }

    /// Returns the arc tangent of a number of moderate size: that of the double, corrected by the tangent of the
    /// difference.
    pub fn atan(self) -> Fixed {
        let mut y = Fixed::from_f64(self.to_f64().atan());
        for _ in 0..2 {
            let (sin, cos) = y.sin_cos();
            let t = self.mul(cos).sub(sin).mul(cos.add(self.mul(sin)).recip());
            let cube = t.mul(t).mul(t);
            y = y.add(t).sub(cube.div_int(3));
        }
        y
    }
}
