//! The ratio of two engines: the geometric average of the ratios of all rounds, and its interval by the bootstrap.
//!
//! Both engines of a round run within seconds of each other, so a slow phase of the machine cancels in the ratio of the
//! round. The interval comes from rounds drawn with replacement.

use serde::{Deserialize, Serialize};

/// Samples of the bootstrap.
const SAMPLES: usize = 4000;

/// A ratio with both ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedRatio {
    pub rounds: usize,
    pub ratio: f64,
    /// `None` for a single round.
    pub ends: Option<(f64, f64)>,
}

impl PairedRatio {
    /// As tables print it: `1.43 (1.38 to 1.49)`.
    pub fn told(&self) -> String {
        let digits = |value: f64| if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") };
        match self.ends {
            Some((low, high)) => format!("{} ({} to {})", digits(self.ratio), digits(low), digits(high)),
            None => format!("{} (one round)", digits(self.ratio)),
        }
    }
}

/// The ratio of pairs (own figure, the other's figure), one pair a round. `None` without pairs of figures above zero.
pub fn paired(pairs: &[(f64, f64)], seed: u64) -> Option<PairedRatio> {
    let good = |(own, other): &&(f64, f64)| [*own, *other].iter().all(|f| f.is_finite() && *f > 0.0);
    let logarithms: Vec<f64> = pairs.iter().filter(good).map(|(own, other)| (own / other).ln()).collect();
    let count = logarithms.len();
    if count == 0 {
        return None;
    }
    let average = |sum: f64| (sum / count as f64).exp();
    let ends = (count > 1).then(|| {
        let mut random = SplitMix(seed);
        let mut samples: Vec<f64> =
            (0..SAMPLES).map(|_| (0..count).map(|_| logarithms[random.below(count)]).sum::<f64>()).collect();
        samples.sort_by(f64::total_cmp);
        let at = |share: f64| average(samples[((SAMPLES - 1) as f64 * share).round() as usize]);
        (at(0.025), at(0.975))
    });
    Some(PairedRatio { rounds: count, ratio: average(logarithms.iter().sum()), ends })
}

/// A small generator (SplitMix64), so that a seed gives the same numbers everywhere.
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The keys of a session: each session has an order of its own, which is the same in all engines and rounds.
    pub fn of_session(number: u32) -> SplitMix {
        SplitMix(u64::from(number))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// A number of a range without its end.
    pub fn key(&mut self, [low, high]: [i64; 2]) -> i64 {
        low + (self.next() % high.abs_diff(low)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_round_cancels_and_a_seed_gives_one_interval() {
        // Twice as fast, in rounds of very different speed.
        let pairs: Vec<(f64, f64)> = (1..=10).map(|n| (200.0 * f64::from(n), 100.0 * f64::from(n))).collect();
        let ratio = paired(&pairs, 1).unwrap();
        assert!((ratio.ratio - 2.0).abs() < 1e-9 && ratio.ends.is_some_and(|(l, h)| (h - l).abs() < 1e-9), "{ratio:?}");
        // Figures without a pattern, so that no two sets of rounds have the same average.
        let noisy: Vec<(f64, f64)> = (0..10).map(|n| (100.0 + 5.0 * f64::from(n * n + 1).sin(), 100.0)).collect();
        let of_seed = |seed| paired(&noisy, seed).unwrap();
        assert_eq!(of_seed(3), of_seed(3));
        assert_ne!(of_seed(3).ends, of_seed(4).ends);
        let (low, high) = of_seed(3).ends.unwrap();
        assert!(low < of_seed(3).ratio && of_seed(3).ratio < high && high - low < 0.1, "{low} {high}");
    }

    #[test]
    fn one_round_has_no_interval_and_nothing_has_no_ratio() {
        assert_eq!(paired(&[(3.0, 2.0)], 1), Some(PairedRatio { rounds: 1, ratio: 1.5, ends: None }));
        assert_eq!(paired(&[(0.0, 2.0), (f64::NAN, 1.0)], 1), None);
        let keys = |session| {
            let mut random = SplitMix::of_session(session);
            (0..20).map(|_| random.key([1, 10_000])).collect::<Vec<i64>>()
        };
        assert_eq!(keys(1), keys(1));
        assert_ne!(keys(1), keys(2));
        let mut random = SplitMix(7);
        assert!((0..1000).map(|_| random.key([-3, 4])).all(|key| (-3..4).contains(&key)));
    }
}
