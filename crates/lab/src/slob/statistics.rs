//! Averages and how sure they are.

use serde::{Deserialize, Serialize};

/// What repeats of a figure come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub count: usize,
    pub average: f64,
    pub median: f64,
    /// Of the sample; 0 of a single repeat.
    pub deviation: f64,
    /// Half of the 95 % interval of the average, by Student's t; `None` of a single repeat.
    pub interval: Option<f64>,
    pub least: f64,
    pub greatest: f64,
}

/// Student's t for 95 %, two-sided, by degrees of freedom from 1 on.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

fn t_95(freedom: usize) -> f64 {
    // Beyond the table: Cornish and Fisher's first term.
    T_95.get(freedom - 1).copied().unwrap_or(1.96 + 2.4 / freedom as f64)
}

/// What some figures come to; `None` of none.
pub fn summary(figures: impl IntoIterator<Item = f64>) -> Option<Summary> {
    let mut all: Vec<f64> = figures.into_iter().filter(|f| f.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let count = all.len();
    let (least, greatest) = (*all.first()?, *all.last()?);
    let average = all.iter().sum::<f64>() / count as f64;
    let squares: f64 = all.iter().map(|f| (f - average).powi(2)).sum();
    let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
    let interval = (count > 1).then(|| t_95(count - 1) * deviation / (count as f64).sqrt());
    Some(Summary { count, average, median: quantile(&all, 0.5), deviation, interval, least, greatest })
}

/// The quantile of sorted figures, between neighbours in proportion. Of none: 0.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = part * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_sample_has_its_known_figures() {
        let s = summary([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((s.count, s.average, s.median, s.least, s.greatest), (8, 5.0, 4.5, 2.0, 9.0));
        assert!((s.deviation - 2.138_09).abs() < 1e-4 && (s.interval.unwrap() - 1.787_8).abs() < 1e-3, "{s:?}");
        assert_eq!(summary([3.0]).unwrap().interval, None);
        assert_eq!(summary([]), None);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.25), 1.75);
        assert!((t_95(40) - 2.021).abs() < 2e-3 && (t_95(1000) - 1.962).abs() < 2e-3);
    }
}
