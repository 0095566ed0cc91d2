//! Closed forms: the closed queue, mean value analysis, the Universal Scalability Law.

use crate::random::{Draws, Stream, exp, ln};

/// One latch and sessions that think, by the closed queue with exponential times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedQueue {
    /// Gets a second of all sessions.
    pub gets_per_second: f64,
    /// Chance that a get finds the latch held.
    pub miss_rate: f64,
}

/// The closed queue: `sessions` that hold a latch for `hold_ns` after every `gap_ns`.
///
/// p_k is proportional to N!/(N-k)! (h/Z)^k; the rate is (1 - p_0)/h, and a get meets what one session fewer leaves
/// (Sevcik and Mitrani 1981), so a miss has the chance 1 - p_0(N - 1).
#[must_use]
pub fn closed_queue(sessions: u32, gap_ns: f64, hold_ns: f64) -> ClosedQueue {
    let idle = |n: u32| {
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 0..n {
            term *= f64::from(n - k) * hold_ns / gap_ns;
            sum += term;
        }
        1.0 / sum
    };
    if hold_ns <= 0.0 {
        return ClosedQueue { gets_per_second: f64::from(sessions) / gap_ns * 1e9, miss_rate: 0.0 };
    }
    if gap_ns <= 0.0 {
        return ClosedQueue { gets_per_second: 1e9 / hold_ns, miss_rate: if sessions > 1 { 1.0 } else { 0.0 } };
    }
    let gets_per_second = (1.0 - idle(sessions)) / hold_ns * 1e9;
    ClosedQueue { gets_per_second, miss_rate: 1.0 - idle(sessions.saturating_sub(1)) }
}

/// Exact mean value analysis of several latches (Reiser and Lavenberg 1980): calls a second of `sessions` whose call
/// computes for `gap_ns` and holds each latch for `hold_ns` in all.
#[must_use]
pub fn mean_value_analysis(sessions: u32, gap_ns: f64, hold_ns: &[f64]) -> f64 {
    let mut queues = vec![0.0; hold_ns.len()];
    let mut rate = 0.0;
    for n in 1..=sessions {
        let times: Vec<f64> = hold_ns.iter().zip(&queues).map(|(d, q)| d * (1.0 + q)).collect();
        rate = f64::from(n) / (gap_ns + times.iter().sum::<f64>());
        queues.iter_mut().zip(times).for_each(|(q, time)| *q = rate * time);
    }
    rate * 1e9
}

/// The Universal Scalability Law: X(N) = gamma N / (1 + sigma (N - 1) + kappa N (N - 1)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Rate of one session.
    pub gamma: f64,
    /// Contention.
    pub sigma: f64,
    /// Coherence.
    pub kappa: f64,
    /// Root of the mean square of the residuals of ln X.
    pub rms: f64,
}

impl Usl {
    /// The rate at a number of sessions.
    #[must_use]
    pub fn rate(&self, sessions: f64) -> f64 {
        self.gamma * sessions / self.loss(sessions)
    }

    fn loss(&self, n: f64) -> f64 {
        1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0)
    }

    /// Fits points (sessions, rate) by least squares of ln X, with sigma and kappa not below zero. `None` with fewer
    /// than three different numbers of sessions, or without positive rates.
    #[must_use]
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let mut numbers: Vec<f64> = points.iter().map(|p| p.0).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        if numbers.len() < 3 || points.iter().any(|(n, x)| !(*n >= 1.0 && *x > 0.0 && x.is_finite())) {
            return None;
        }
        // The constraints cut the plane: the best point is inside, on one edge, or at the corner.
        let inside = Self::descend(points, [0.01, 0.001], [true, true]);
        let edges =
            [Self::descend(points, [0.01, 0.0], [true, false]), Self::descend(points, [0.0, 0.001], [false, true])];
        let corner = Self::with(points, 0.0, 0.0);
        let all = [Some(inside), Some(edges[0]), Some(edges[1]), Some(corner)];
        all.into_iter().flatten().min_by(|a, b| a.rms.total_cmp(&b.rms))
    }

    /// The law with these two, gamma by its closed form.
    fn with(points: &[(f64, f64)], sigma: f64, kappa: f64) -> Self {
        let mut law = Self { gamma: 1.0, sigma, kappa, rms: 0.0 };
        let residuals: Vec<f64> = points.iter().map(|(n, x)| ln(*x) - ln(law.rate(*n))).collect();
        let mean = residuals.iter().sum::<f64>() / residuals.len() as f64;
        law.gamma = exp(mean);
        law.rms = (residuals.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / residuals.len() as f64).sqrt();
        law
    }

    /// Gauss and Newton with halved steps (Levenberg's damping), in the free parameters.
    fn descend(points: &[(f64, f64)], start: [f64; 2], free: [bool; 2]) -> Self {
        let mut law = Self::with(points, start[0], start[1]);
        let mut damping = 1e-6;
        for _ in 0..200 {
            let (mut a, mut g) = ([[0.0; 2]; 2], [0.0; 2]);
            let slopes: Vec<[f64; 2]> =
                points.iter().map(|(n, _)| [(n - 1.0) / law.loss(*n), n * (n - 1.0) / law.loss(*n)]).collect();
            let mean = |i: usize| slopes.iter().map(|s| s[i]).sum::<f64>() / slopes.len() as f64;
            let means = [mean(0), mean(1)];
            for ((n, x), slope) in points.iter().zip(&slopes) {
                let residual = ln(*x) - ln(law.rate(*n));
                for i in 0..2 {
                    g[i] -= (slope[i] - means[i]) * residual;
                    for j in 0..2 {
                        a[i][j] += (slope[i] - means[i]) * (slope[j] - means[j]);
                    }
                }
            }
            for i in 0..2 {
                a[i][i] *= 1.0 + damping;
                if !free[i] {
                    (a[i], a[1 - i][i], g[i]) = ([0.0; 2], 0.0, 0.0);
                    a[i][i] = 1.0;
                }
            }
            let det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
            if det.abs() < 1e-300 {
                break;
            }
            let step = [(g[0] * a[1][1] - g[1] * a[0][1]) / det, (g[1] * a[0][0] - g[0] * a[1][0]) / det];
            let next = Self::with(points, (law.sigma + step[0]).max(0.0), (law.kappa + step[1]).max(0.0));
            if next.rms < law.rms {
                let gain = law.rms - next.rms;
                law = next;
                damping = (damping * 0.1).max(1e-12);
                if gain < 1e-15 {
                    break;
                }
            } else {
                damping *= 10.0;
                if damping > 1e12 {
                    break;
                }
            }
        }
        law
    }

    /// The interval of the rate at `sessions` from a parametric bootstrap: the points are the fit with errors of its
    /// own size, fitted again.
    #[must_use]
    pub fn interval(&self, points: &[(f64, f64)], sessions: f64, seed: u64, times: u32) -> (f64, f64) {
        let (draws, freedom) = (Draws::new(seed), points.len().saturating_sub(3).max(1));
        let error = self.rms * (points.len() as f64 / freedom as f64).sqrt();
        let mut rates: Vec<f64> = Vec::new();
        for time in 0..times {
            let shaken = |(at, (n, _)): (usize, &(f64, f64))| {
                (*n, self.rate(*n) * exp(error * draws.normal(time, Stream::Fit, at as u64)))
            };
            let again: Vec<(f64, f64)> = points.iter().enumerate().map(shaken).collect();
            rates.extend(Self::fit(&again).map(|law| law.rate(sessions)));
        }
        middle(&mut rates, 0.95)
    }
}

/// The limits of the middle share of values; they are sorted.
pub(crate) fn middle(values: &mut [f64], share: f64) -> (f64, f64) {
    if values.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    let cut = ((1.0 - share) / 2.0 * values.len() as f64) as usize;
    (values[cut.min(last)], values[last - cut.min(last)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_of_one_station_is_mean_value_analysis() {
        for (n, z, h) in [(1, 100.0, 5.0), (2, 100.0, 50.0), (12, 105_330.0, 4_420.0), (64, 10.0, 9.0)] {
            let queue = closed_queue(n, z, h);
            let mva = mean_value_analysis(n, z, &[h]);
            assert!((queue.gets_per_second / mva - 1.0).abs() < 1e-9, "{n}: {queue:?} {mva}");
        }
        assert_eq!(closed_queue(1, 10.0, 5.0).miss_rate, 0.0);
        assert!((closed_queue(2, 95.0, 5.0).miss_rate - 0.05).abs() < 1e-12, "one other holds it 5 % of its time");
        assert_eq!(closed_queue(3, 10.0, 0.0).miss_rate, 0.0);
        assert_eq!(closed_queue(3, 0.0, 10.0).gets_per_second, 1e8);
    }

    #[test]
    fn the_fit_finds_a_law_again_and_keeps_its_bounds() {
        for (sigma, kappa) in [(0.0, 0.0), (0.02, 0.0005), (0.6, 0.04), (0.0, 0.001), (0.3, 0.0)] {
            let law = Usl { gamma: 1000.0, sigma, kappa, rms: 0.0 };
            let points: Vec<(f64, f64)> = (1..=12).map(|n| (f64::from(n), law.rate(f64::from(n)))).collect();
            let found = Usl::fit(&points).unwrap();
            assert!((found.gamma / 1000.0 - 1.0).abs() < 1e-6, "{found:?}");
            assert!((found.sigma - sigma).abs() < 1e-6 && (found.kappa - kappa).abs() < 1e-6, "{found:?}");
        }
        // More than linear: neither may go below zero.
        let points: Vec<(f64, f64)> = (1..=6).map(|n| (f64::from(n), f64::from(n).powf(1.1))).collect();
        let found = Usl::fit(&points).unwrap();
        assert!(found.sigma == 0.0 && found.kappa == 0.0, "{found:?}");
        assert!(Usl::fit(&points[..2]).is_none() && Usl::fit(&[(1.0, 1.0), (2.0, 0.0), (3.0, 1.0)]).is_none());
    }

    #[test]
    fn the_interval_holds_the_truth() {
        let law = Usl { gamma: 100.0, sigma: 0.05, kappa: 0.002, rms: 0.0 };
        let draws = Draws::new(5);
        let noisy = |n: u64| (n as f64, law.rate(n as f64) * (1.0 + 0.01 * draws.normal(0, Stream::Fit, n)));
        let points: Vec<(f64, f64)> = (1..=8).map(noisy).collect();
        let fit = Usl::fit(&points).unwrap();
        let (low, high) = fit.interval(&points, 12.0, 1, 200);
        assert!(low < law.rate(12.0) && law.rate(12.0) < high, "{low} {high} {}", law.rate(12.0));
        assert_eq!(fit.interval(&points, 12.0, 1, 200), (low, high), "by seed");
    }
}
