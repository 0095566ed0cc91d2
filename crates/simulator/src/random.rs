//! Random numbers by counter: a draw is a function of (seed, session, stream, number) and of nothing else (S1).
//!
//! Two simulations that differ in the design or in the machine therefore give a session the same calls in the same
//! order (S2), however often other draws were made in between. A generator with a state was rejected: one more draw in
//! one of the designs would shift all later ones.

/// The purpose of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Stream {
    /// The block of recorded calls that comes next.
    Block = 1,
    /// A gap of a closed form.
    Gap,
    /// A hold of a closed form.
    Hold,
    /// The latch and the mode of a get of a closed form.
    Pick,
    /// The spinner that gets a freed word.
    Winner,
    /// The overshoot of a timer.
    Timer,
    /// Phase of a session at the start.
    Start,
    /// The recorded blocks of a draw of the band.
    Resample,
    /// The machine of a draw of the band.
    Machine,
    /// The residual of a draw of the band.
    Residual,
    /// The errors of a parametric bootstrap.
    Fit,
}

/// The draws of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draws {
    key: u64,
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the input changes half of the output's.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Draws {
    pub fn new(seed: u64) -> Self {
        Self { key: mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)) }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(self, session: u32, stream: Stream, number: u64) -> u64 {
        let place = mix(self.key ^ (u64::from(session) << 8 | stream as u64).wrapping_mul(0xd134_2543_de82_ef95));
        mix(place.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A number in (0, 1].
    #[inline]
    pub fn unit(self, session: u32, stream: Stream, number: u64) -> f64 {
        ((self.bits(session, stream, number) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below `n`.
    #[inline]
    pub fn below(self, n: u64, session: u32, stream: Stream, number: u64) -> u64 {
        ((u128::from(self.bits(session, stream, number)) * u128::from(n)) >> 64) as u64
    }

    /// An exponential number of mean one.
    #[inline]
    pub fn exponential(self, session: u32, stream: Stream, number: u64) -> f64 {
        -ln(self.unit(session, stream, number))
    }

    /// A normal number of mean zero and variance one (Box and Muller 1958).
    pub fn normal(self, session: u32, stream: Stream, number: u64) -> f64 {
        let radius = (-2.0 * ln(self.unit(session, stream, 2 * number))).sqrt();
        let angle = self.unit(session, stream, 2 * number + 1);
        radius * cos_of_turns(angle)
    }
}

/// The natural logarithm of a positive normal number, by operations that IEEE 754 defines to the bit: the library's
/// `ln` may differ between platforms, and with it every later event.
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1)/(m + 1)), and |(m - 1)/(m + 1)| <= 0.172: ten terms reach the last bits.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let mut sum = 0.0;
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = sum * square + 1.0 / odd;
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * z * sum
}

/// The exponential function by defined operations, for arguments within ±700.
pub(crate) fn exp(x: f64) -> f64 {
    let whole = (x / std::f64::consts::LN_2).round();
    let rest = x - whole * std::f64::consts::LN_2;
    let mut sum = 1.0;
    for n in (1..=18).rev() {
        sum = 1.0 + sum * rest / f64::from(n);
    }
    sum * f64::from_bits(((whole as i64 + 1023) as u64) << 52)
}

/// The cosine of a number of whole turns in [0, 1].
fn cos_of_turns(turns: f64) -> f64 {
    let half = if turns > 0.5 { 1.0 - turns } else { turns };
    let (angle, sign) = if half > 0.25 { (0.5 - half, -1.0) } else { (half, 1.0) };
    let x = angle * std::f64::consts::TAU;
    let mut sum = 1.0;
    for n in (1..=12).rev() {
        sum = 1.0 - sum * x * x / f64::from((2 * n) * (2 * n - 1));
    }
    sign * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_agree_with_the_library() {
        for n in 1..20_000 {
            let x = f64::from(n) * 0.000_713;
            assert!((ln(x) - x.ln()).abs() <= 1e-14 * x.ln().abs().max(1.0), "ln {x}");
            assert!((exp(x - 7.0) / (x - 7.0).exp() - 1.0).abs() < 1e-13, "exp {x}");
            let turns = f64::from(n) / 20_000.0;
            assert!((cos_of_turns(turns) - (turns * std::f64::consts::TAU).cos()).abs() < 1e-13, "cos {turns}");
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let draws = Draws::new(3);
        let n = 200_000;
        let of = |f: &dyn Fn(u64) -> f64| {
            let (sum, squares) = (0..n).map(f).fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
            let mean = sum / n as f64;
            (mean, squares / n as f64 - mean * mean)
        };
        for session in [0, 1, 77] {
            let (mean, variance) = of(&|i| draws.exponential(session, Stream::Gap, i));
            assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
            let (mean, variance) = of(&|i| draws.normal(session, Stream::Residual, i));
            assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
            let (mean, _) = of(&|i| draws.below(10, session, Stream::Pick, i) as f64);
            assert!((mean - 4.5).abs() < 0.03, "{mean}");
        }
    }

    #[test]
    fn streams_sessions_and_seeds_give_different_draws() {
        let mut all: Vec<u64> = Vec::new();
        for seed in 0..4 {
            for session in 0..8 {
                for stream in [Stream::Block, Stream::Gap, Stream::Hold] {
                    all.extend((0..64).map(|n| Draws::new(seed).bits(session, stream, n)));
                }
            }
        }
        let len = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), len);
    }
}
