//! DBMS_RANDOM's generator: xoshiro256** seeded by SplitMix64 (Blackman and Vigna), one per session.

use types::{Number, Value};

pub struct Random {
    state: [u64; 4],
}

/// A value between zero and one is one of 10^18 equally likely fractions.
const GRAIN: u64 = 1_000_000_000_000_000_000;

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut x = seed;
        let mut next = || {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Random { state: [next(), next(), next(), next()] }
    }

    pub fn seed_text(text: &str) -> Random {
        // FNV-1a, so that any text is a seed.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        Random::new(hash)
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A value below `n`; the bias is at most one part in 2^64 / n.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// VALUE: at least 0, less than 1.
    pub fn value(&mut self) -> types::Result<Number> {
        Ok(Number::from_parts(0, self.below(GRAIN)))
    }

    /// VALUE(low, high): at least `low`, less than `high`. Whole bounds take one multiplication.
    pub fn between(&mut self, low: &Number, high: &Number) -> types::Result<Number> {
        if let (Some(a), Some(b)) = (low.as_i64(), high.as_i64())
            && let Some(span) = b.checked_sub(a)
            && (0..1 << 31).contains(&span)
        {
            let (whole, fraction) = times_fraction(span as u64, self.below(GRAIN));
            if (0..1 << 31).contains(&a) {
                return Ok(Number::from_parts(a as u32 + whole, fraction));
            }
            return Number::from_i64(a + i64::from(whole)).add(&Number::from_parts(0, fraction));
        }
        let fraction = self.value()?;
        high.sub(low)?.mul(&fraction)?.add(low)
    }

    /// RANDOM: a signed 32-bit integer.
    pub fn random(&mut self) -> i32 {
        (self.next_u64() >> 32) as u32 as i32
    }

    /// NORMAL, by the polar method of Marsaglia.
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = self.unit() * 2.0 - 1.0;
            let y = self.unit() * 2.0 - 1.0;
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                return x * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }

    fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// STRING(opt, len).
    pub fn string(&mut self, option: &str, len: usize) -> Value {
        const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
        const ALPHA: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        const ALNUM: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        const PRINTABLE: &[u8] =
            b" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
        let letters = match option.chars().next() {
            Some('l' | 'L') => LOWER,
            Some('a' | 'A') => ALPHA,
            Some('x' | 'X') => ALNUM,
            Some('p' | 'P') => PRINTABLE,
            _ => UPPER,
        };
        let text: String = (0..len).map(|_| letters[self.below(letters.len() as u64) as usize] as char).collect();
        Value::text(text)
    }
}

/// `span * fraction / GRAIN` as its integer part and its fraction in GRAINs. Machine words suffice: `span` has 31 bits,
/// and the fraction is multiplied in two halves of nine digits.
#[inline]
fn times_fraction(span: u64, fraction: u64) -> (u32, u64) {
    const HALF: u64 = 1_000_000_000;
    let low = (fraction % HALF) * span;
    let high = (fraction / HALF) * span + low / HALF;
    ((high / HALF) as u32, high % HALF * HALF + low % HALF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let (mut a, mut b) = (Random::new(7), Random::new(7));
        let (x, y): (Vec<u64>, Vec<u64>) =
            ((0..100).map(|_| a.next_u64()).collect(), (0..100).map(|_| b.next_u64()).collect());
        assert_eq!(x, y);
        assert_ne!(Random::new(8).next_u64(), x[0]);
    }

    #[test]
    fn values_stay_in_their_bounds_and_fill_them() {
        let mut r = Random::new(1);
        let (low, high) = (Number::from_i64(1), Number::from_i64(11));
        let mut seen = [0u32; 12];
        for _ in 0..10_000 {
            let v = r.between(&low, &high).unwrap();
            assert!(v >= low && v < high, "{v:?}");
            seen[v.trunc(0).as_i64().unwrap() as usize] += 1;
        }
        assert!(seen[1..11].iter().all(|n| (800..1200).contains(n)), "{seen:?}");
        for _ in 0..1000 {
            let v = r.value().unwrap();
            assert!(!v.is_negative() && v < Number::ONE);
        }
    }

    #[test]
    fn a_product_with_a_fraction_is_exact() {
        let mut r = Random::new(5);
        for span in [0, 1, 10, 9999, (1 << 31) - 1] {
            for fraction in [0, 1, GRAIN - 1, r.below(GRAIN), r.below(GRAIN)] {
                let product = u128::from(span) * u128::from(fraction);
                let (whole, rest) = times_fraction(span, fraction);
                assert_eq!(u128::from(whole) * u128::from(GRAIN) + u128::from(rest), product);
            }
        }
        for (low, high) in [(-10, -5), (-5, 5), (0, 0), (1 << 40, (1 << 40) + 9)] {
            let (low, high) = (Number::from_i64(low), Number::from_i64(high));
            for _ in 0..100 {
                let v = r.between(&low, &high).unwrap();
                assert!(v >= low && (v < high || low == high), "{v:?}");
            }
        }
    }

    #[test]
    fn random_strings_use_the_requested_characters() {
        let mut r = Random::new(3);
        let Value::Text(s) = r.string("x", 200) else { panic!() };
        assert_eq!(s.len(), 200);
        assert!(s.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()));
        assert_eq!(r.string("u", 0), Value::Null);
    }
}
