//! Inference from the contrasts of quads: estimate, intervals, tests of a fixed and of a growing number of quads.
//!
//! The figure of a period is a logarithm: of operations per second, or of processor time per operation. A quad gives
//! one contrast, `d = ½ (sum of A's two figures - sum of B's)`, and the effect of A over B is `exp(mean d) - 1`.
//!
//! Under the hypothesis of no difference the coin that ordered a quad makes the sign of its contrast a fair coin. The
//! **sign-flip** test and interval rest on that alone. The **exact sequential** test does as well: a mixture of
//! likelihood ratios over the sum of the contrasts and the sum of their squares, valid at every look (Robbins). The
//! **asymptotic** confidence sequence (Johari et al.; Waudby-Smith et al.) is narrower and holds from about twenty
//! quads on. A run that stops by the width of an interval alone needs no correction (Chow and Robbins 1965); a run that
//! stops by significance needs one of the sequential forms.

use crate::statistics::t_95;
use crate::switchback::design::{Arm, Coin, Quad};

/// The level of all tests.
pub const ALPHA: f64 = 0.05;
/// Quads of a run before its width is looked at.
pub const QUADS_LEAST: usize = 20;
/// Draws of signs of the sign-flip test.
const DRAWS: usize = 1999;
/// Keeps the coin of the test apart from the coin of the same seed that ordered the quads.
const FLIP_SALT: u64 = 0x3c6e_f372_fe94_f82b;

/// The contrast of a quad with these figures of its periods.
pub fn contrast(quad: &Quad, figures: [f64; 4]) -> f64 {
    let signed = |(arm, figure): (Arm, f64)| if arm == Arm::A { figure } else { -figure };
    0.5 * quad.arms.into_iter().zip(figures).map(signed).sum::<f64>()
}

/// Average and standard deviation; the deviation of a single figure is 0.
pub fn moments(d: &[f64]) -> (f64, f64) {
    let n = d.len().max(1) as f64;
    let mean = d.iter().sum::<f64>() / n;
    let squares: f64 = d.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, if d.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

/// Half of the 95 % interval of the average by Student's t; infinite for a single contrast.
pub fn t_half(d: &[f64]) -> f64 {
    if d.len() < 2 {
        return f64::INFINITY;
    }
    t_95(d.len() - 1) * moments(d).1 / (d.len() as f64).sqrt()
}

/// The rule by which a run stops: the half of the interval is at most `width`. It looks at the width alone, so it needs
/// no correction for the number of looks.
pub fn is_narrow_enough(d: &[f64], width: f64) -> bool {
    d.len() >= QUADS_LEAST && t_half(d) <= width
}

/// The difference of two averages, and half of its 95 % interval by Welch's variance; `None` with too few figures.
pub fn difference(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let few = a.len().min(b.len());
    if few < 5 {
        return None;
    }
    let ((ma, sa), (mb, sb)) = (moments(a), moments(b));
    let deviation = (sa * sa / a.len() as f64 + sb * sb / b.len() as f64).sqrt();
    Some((ma - mb, t_95(few - 1) * deviation))
}

/// The number of quads that finds an effect of this part (0.02 for 2 %) with a power of 90 % at a level of 5 %, for
/// contrasts of this standard deviation.
pub fn quads_needed(deviation: f64, effect: f64) -> usize {
    ((1.96 + 1.28) * deviation / effect.ln_1p()).powi(2).ceil() as usize
}

/// The result of the sign-flip test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignFlip {
    /// Two-sided probability of contrasts as large as these without a difference.
    pub p: f64,
    /// All differences that the test does not refuse at [`ALPHA`]; infinite with few quads.
    pub interval: (f64, f64),
}

/// Tests whether the average of the contrasts is 0, and inverts the test.
///
/// For one draw of signs, the sum of the flipped `d - δ` is as large as the sum of `d - δ` for all δ of an interval
/// around the average. So the ends of the set of differences that are not refused are order statistics of the ends of
/// these intervals, and no search is needed.
pub fn sign_flip(d: &[f64], seed: u64) -> SignFlip {
    let (n, sum) = (d.len() as f64, d.iter().sum::<f64>());
    let mut coin = Coin::new(seed ^ FLIP_SALT);
    let (mut as_large, mut lows, mut highs) = (0usize, Vec::with_capacity(DRAWS), Vec::with_capacity(DRAWS));
    for _ in 0..DRAWS {
        let (mut flipped, mut signs, mut bits, mut left) = (0.0, 0.0, 0, 0);
        for x in d {
            if left == 0 {
                (bits, left) = (coin.draw(), 64);
            }
            let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
            (bits, left) = (bits >> 1, left - 1);
            flipped += sign * x;
            signs += sign;
        }
        // A tie counts; the rounding of two orders of addition must not decide it.
        as_large += usize::from(flipped.abs() >= sum.abs() * (1.0 - 1e-12));
        let ends = [(sum - flipped, n - signs), (sum + flipped, n + signs)];
        let at = |(above, below): (f64, f64)| if below > 0.0 { Some(above / below) } else { None };
        let (a, b) = (at(ends[0]), at(ends[1]));
        match (a, b) {
            (Some(a), Some(b)) => {
                lows.push(a.min(b));
                highs.push(a.max(b));
            }
            // All signs are alike: equal for every δ.
            _ => {
                lows.push(f64::NEG_INFINITY);
                highs.push(f64::INFINITY);
            }
        }
    }
    // δ is not refused while 1 + (draws as large) > ALPHA (DRAWS + 1).
    let needed = (ALPHA * (DRAWS + 1) as f64).floor() as usize;
    lows.sort_by(f64::total_cmp);
    highs.sort_by(|a, b| b.total_cmp(a));
    let interval = (lows[needed - 1], highs[needed - 1]);
    SignFlip { p: (1 + as_large) as f64 / (DRAWS + 1) as f64, interval }
}

/// The exact sequential test: its sums, and the tuning from an earlier run.
#[derive(Clone, Copy, Debug)]
pub struct Sequential {
    n: f64,
    sum: f64,
    squares: f64,
    rho: f64,
    p: f64,
    /// The number of contrasts that it is tuned for.
    quads: usize,
}

impl Sequential {
    /// Tuned to be tightest at `quads` contrasts of this standard deviation. The tuning must not come from the
    /// contrasts that are tested; any tuning is valid.
    pub fn tuned(quads: usize, deviation: f64) -> Sequential {
        let two_ln = 2.0 * (1.0 / ALPHA).ln();
        let rho = quads.max(1) as f64 * deviation.max(1e-6).powi(2) / (two_ln + two_ln.ln_1p());
        Sequential { n: 0.0, sum: 0.0, squares: 0.0, rho, p: 1.0, quads }
    }

    /// The interval by the asymptotic confidence sequence with the same tuning; `None` with fewer contrasts than it
    /// holds for.
    pub fn asymptotic(&self) -> Option<(f64, f64)> {
        if self.n < QUADS_LEAST as f64 {
            return None;
        }
        let mean = self.sum / self.n;
        let deviation = ((self.squares - self.sum * mean).max(0.0) / (self.n - 1.0)).sqrt();
        let half = asymptotic_half(self.n as usize, deviation, self.quads);
        Some((mean - half, mean + half))
    }

    pub fn push(&mut self, d: f64) {
        self.n += 1.0;
        self.sum += d;
        self.squares += d * d;
        self.p = self.p.min((-self.ln_e(0.0)).exp());
    }

    /// The probability, valid at every look.
    pub fn p(&self) -> f64 {
        self.p
    }

    /// The logarithm of the evidence against the difference `delta`.
    fn ln_e(&self, delta: f64) -> f64 {
        let s = self.sum - self.n * delta;
        let v = self.squares - 2.0 * delta * self.sum + self.n * delta * delta;
        0.5 * (self.rho / (v + self.rho)).ln() + s * s / (2.0 * (v + self.rho))
    }

    /// The differences with less than 1/[`ALPHA`] of evidence against them, around the average; infinite with few
    /// quads.
    pub fn interval(&self) -> (f64, f64) {
        let mean = self.sum / self.n.max(1.0);
        (self.end(mean, -1.0), self.end(mean, 1.0))
    }

    fn end(&self, mean: f64, direction: f64) -> f64 {
        let refused = |half: f64| self.ln_e(mean + direction * half) >= (1.0 / ALPHA).ln();
        // The evidence falls again for absurd differences, because they make the contrasts look wide: the nearest end
        // is the one.
        let mut outer = (self.rho / self.n.max(1.0).powi(2)).sqrt().max(1e-9) / 64.0;
        while !refused(outer) {
            outer *= 1.1;
            if outer > 20.0 {
                return direction * f64::INFINITY;
            }
        }
        let mut inner = outer / 1.1;
        for _ in 0..60 {
            let middle = 0.5 * (inner + outer);
            if refused(middle) {
                outer = middle;
            } else {
                inner = middle;
            }
        }
        mean + direction * outer
    }
}

/// Half of the asymptotic confidence sequence at `n` contrasts of standard deviation `deviation`, tuned for `quads`.
pub fn asymptotic_half(n: usize, deviation: f64, quads: usize) -> f64 {
    let two_ln = -2.0 * ALPHA.ln();
    let r2 = (two_ln + two_ln.ln() + 1.0) / quads.max(1) as f64;
    let n = n as f64;
    deviation * (2.0 * (n * r2 + 1.0) / (n * n * r2) * ((n * r2 + 1.0).sqrt() / ALPHA).ln()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switchback::design::{Kind, Quads};

    /// A normal figure, by Box and Muller.
    fn normal(coin: &mut Coin) -> f64 {
        (-2.0 * (1.0 - coin.unit()).ln()).sqrt() * (std::f64::consts::TAU * coin.unit()).cos()
    }

    /// The noise of a small machine: each period depends on the one before, the machine drifts, and now and then a
    /// neighbour takes a part of it for some periods.
    struct Machine {
        coin: Coin,
        level: f64,
        burst: u32,
        period: u32,
    }

    impl Machine {
        fn new(seed: u64) -> Machine {
            Machine { coin: Coin::new(seed), level: 0.0, burst: 0, period: 0 }
        }

        /// The logarithm of the rate in the next period.
        fn period(&mut self) -> f64 {
            self.level = 0.7 * self.level + 0.02 * normal(&mut self.coin);
            if self.coin.draw().is_multiple_of(40) {
                self.burst = 1 + (self.coin.draw() % 6) as u32;
            }
            self.burst = self.burst.saturating_sub(1);
            self.period += 1;
            self.level - if self.burst > 0 { 0.12 } else { 0.0 } - 1e-4 * f64::from(self.period)
        }

        /// The contrasts of a run in which A is faster by this part.
        fn run(&mut self, seed: u64, quads: usize, effect: f64) -> Vec<f64> {
            let of = |machine: &mut Machine, arm| machine.period() + if arm == Arm::A { effect.ln_1p() } else { 0.0 };
            let quad = |quad: Quad| contrast(&quad, quad.arms.map(|arm| of(self, arm)));
            Quads::new(seed, 0.1).take(quads).map(quad).collect()
        }
    }

    /// The number of 200 seeded runs for which `called` is true.
    fn calls(quads: usize, effect: f64, called: impl Fn(u64, &[f64]) -> bool) -> usize {
        (0..200).filter(|seed| called(*seed, &Machine::new(seed * 97 + 13).run(*seed, quads, effect))).count()
    }

    /// The most of 200 runs without a difference that may find one: 17 or more happen in 2.4 % of all series at 5 %.
    const CALLS_MOST: usize = 16;

    #[test]
    fn a_linear_drift_cancels_and_the_effect_remains() {
        for (seed, quad) in Quads::new(3, 0.1).take(20).enumerate() {
            let rate = |n: usize| if quad.arms[n] == Arm::A { 5.0 } else { 4.8 } + 0.3 * n as f64;
            let d = contrast(&quad, [0, 1, 2, 3].map(rate));
            assert!((d - 0.2).abs() < 1e-12, "quad {seed}: {d}");
        }
        assert!(Quads::new(3, 0.1).take(20).any(|quad| quad.kind == Kind::AgainstItself));
    }

    #[test]
    fn the_published_numbers_of_quads() {
        assert_eq!([0.0145, 0.044, 0.1].map(|s| quads_needed(s, 0.02)), [6, 52, 268]);
    }

    #[test]
    fn a_run_without_a_difference_finds_one_no_more_often_than_the_level_says() {
        let t = calls(40, 0.0, |_, d| moments(d).0.abs() > t_half(d));
        let flip = calls(40, 0.0, |seed, d| sign_flip(d, seed).p <= ALPHA);
        assert!(t <= CALLS_MOST && flip <= CALLS_MOST, "{t} by t, {flip} by sign flips");
        // The interval refuses 0 exactly when the test does.
        for seed in 0..50 {
            let d = Machine::new(seed).run(seed, 30, 0.01);
            let it = sign_flip(&d, seed);
            let holds = it.interval.0 <= 0.0 && 0.0 <= it.interval.1;
            assert_eq!(holds, it.p > ALPHA, "{it:?}");
        }
    }

    /// 200 runs of A against A by the rule that real runs stop by, each until its interval is narrow enough, with the
    /// verdict that the report prints: the interval by sign flips holds no 0.
    #[test]
    fn runs_that_stop_by_width_call_a_against_a_different_no_more_often_than_the_level_says() {
        let width = 0.01f64.ln_1p();
        let (mut called, mut lengths, mut p) = (0, Vec::new(), Vec::new());
        for seed in 0..200u64 {
            let mut machine = Machine::new(seed * 131 + 7);
            let mut d = Vec::new();
            for quad in Quads::new(seed, 0.1) {
                d.push(contrast(&quad, quad.arms.map(|_| machine.period())));
                if is_narrow_enough(&d, width) || d.len() == 600 {
                    break;
                }
            }
            let flip = sign_flip(&d, seed);
            called += usize::from(flip.interval.0 > 0.0 || flip.interval.1 < 0.0);
            lengths.push(d.len());
            p.push(sign_flip(&d[..QUADS_LEAST], seed).p);
        }
        assert!(called <= CALLS_MOST, "{called} of 200 runs");
        lengths.sort_unstable();
        assert!(lengths[0] >= QUADS_LEAST && lengths[199] < 600, "{lengths:?}");
        // The p of a fixed number of quads is uniform (Kolmogorov and Smirnov, at 1 %).
        p.sort_by(f64::total_cmp);
        let gap = |(n, p): (usize, &f64)| (p - n as f64 / 200.0).abs().max((p - (n + 1) as f64 / 200.0).abs());
        let most = p.iter().enumerate().map(gap).fold(0.0, f64::max);
        assert!(most < 1.63 / 200f64.sqrt(), "{most}");
    }

    /// Looking after every quad and stopping at the first significant one: the sequential tests bear it, the plain test
    /// does not.
    #[test]
    fn the_sequential_tests_bear_a_look_after_every_quad() {
        let quads = 300;
        let exact = calls(quads, 0.0, |_, d| {
            let mut test = Sequential::tuned(50, 0.044);
            d.iter().any(|x| {
                test.push(*x);
                test.p() <= ALPHA
            })
        });
        let looks =
            |d: &[f64], half: &dyn Fn(&[f64]) -> f64| (20..=d.len()).any(|n| moments(&d[..n]).0.abs() > half(&d[..n]));
        let asymptotic = calls(quads, 0.0, |_, d| looks(d, &|d| asymptotic_half(d.len(), moments(d).1, 50)));
        let peeking = calls(quads, 0.0, |_, d| looks(d, &|d| 1.96 * moments(d).1 / (d.len() as f64).sqrt()));
        assert!(exact <= CALLS_MOST, "{exact} of 200");
        assert!(asymptotic <= CALLS_MOST, "{asymptotic} of 200");
        assert!(peeking > 40, "{peeking} of 200");
    }

    /// Runs without the coin, A first in every quad's half: the correlation of neighbours passes for a difference.
    #[test]
    fn the_order_matters() {
        let plain = |seed: u64| {
            let mut machine = Machine::new(seed * 97 + 13);
            let rates: Vec<f64> = (0..160).map(|_| machine.period()).collect();
            let (a, b) = rates.split_at(80);
            let ((ma, sa), (mb, sb)) = (moments(a), moments(b));
            (ma - mb).abs() > 1.96 * (sa * sa / 80.0 + sb * sb / 80.0).sqrt()
        };
        let called = (0..200).filter(|seed| plain(*seed)).count();
        assert!(called > 60, "{called} of 200");
    }

    #[test]
    fn a_difference_of_two_per_cent_is_found() {
        let quads = 100;
        let found = calls(quads, 0.02, |seed, d| sign_flip(d, seed).interval.0 > 0.0);
        let sequentially = calls(quads, 0.02, |_, d| {
            let mut test = Sequential::tuned(50, 0.044);
            d.iter().any(|x| {
                test.push(*x);
                test.p() <= ALPHA && test.interval().0 > 0.0
            })
        });
        assert!(found >= 180, "{found} of 200");
        assert!(sequentially >= 150, "{sequentially} of 200");
    }

    /// The true difference is in the intervals as often as they say.
    #[test]
    fn intervals_hold_the_true_difference() {
        let holds = |(low, high): (f64, f64)| low <= 0.05f64.ln_1p() && 0.05f64.ln_1p() <= high;
        let flip = calls(40, 0.05, |seed, d| holds(sign_flip(d, seed).interval));
        let t = calls(40, 0.05, |_, d| holds((moments(d).0 - t_half(d), moments(d).0 + t_half(d))));
        let sequence = calls(60, 0.05, |_, d| {
            let mut test = Sequential::tuned(50, 0.044);
            d.iter().all(|x| {
                test.push(*x);
                holds(test.interval())
            })
        });
        assert!(flip >= 200 - CALLS_MOST && t >= 200 - CALLS_MOST, "{flip}, {t} of 200");
        assert!(sequence >= 200 - CALLS_MOST, "{sequence} of 200");
    }

    #[test]
    fn few_quads_say_nothing() {
        let d = [0.5, 0.4, 0.6];
        assert_eq!(sign_flip(&d, 1).interval, (f64::NEG_INFINITY, f64::INFINITY));
        assert!(sign_flip(&d, 1).p > 0.2);
        let mut test = Sequential::tuned(50, 0.044);
        d.iter().for_each(|x| test.push(*x));
        assert!(test.p() > ALPHA && test.interval().0 == f64::NEG_INFINITY, "{test:?}");
        assert_eq!(test.asymptotic(), None);
        (0..20).for_each(|n| test.push(0.5 + 0.01 * f64::from(n % 2)));
        assert!(test.asymptotic().is_some_and(|(low, high)| low < 0.5 && 0.5 < high), "{test:?}");
        assert_eq!(t_half(&d[..1]), f64::INFINITY);
    }
}
