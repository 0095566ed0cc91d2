//! Building histograms from a column's values and their frequencies.

use dictionary::statistics::BUCKETS_MAX;
use dictionary::{Endpoint, Histogram, HistogramKind};

/// The known values of a column.
#[derive(Debug)]
pub struct Values {
    /// Values in order, cut to an endpoint's length, with their rows.
    pub counted: Vec<(Box<[u8]>, u64)>,
    /// All values are there with all their rows; otherwise it is a sample.
    pub complete: bool,
    /// Distinct values of the column.
    pub distinct: u64,
}

impl Values {
    fn rows(&self) -> u64 {
        self.counted.iter().map(|(_, rows)| rows).sum()
    }
}

/// The size of a histogram, and the condition for making it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Buckets(u32),
    /// As many buckets as the present histogram.
    Repeat,
    /// At most 254 buckets, if the values are skewed.
    SkewOnly,
    /// Like `SkewOnly`, for columns used in predicates.
    Auto,
}

/// Buckets of a histogram that is made because the values are skewed.
const AUTO_BUCKETS: u32 = 254;
/// Values are skewed when a row shares its value with this many times more rows than with equal frequencies.
const SKEW_MIN: f64 = 1.25;
/// Values are also skewed when this share of the rows lies elsewhere than with an even spread over the range.
const GAP_MIN: f64 = 0.1;

/// The histogram of a column, if it gets one. `had` is the number of buckets of the present one; `place` is the
/// position of a value in the range; `plain` says that the range is one of numbers or dates. With an estimate_percent
/// other than AUTO_SAMPLE_SIZE (`auto`), histograms with more values than buckets are height-balanced, as in Oracle.
pub fn build(
    values: &Values,
    size: Size,
    had: Option<u32>,
    auto: bool,
    plain: bool,
    place: &dyn Fn(&[u8]) -> f64,
) -> Option<Histogram> {
    let buckets = match size {
        Size::Buckets(n) => n.min(BUCKETS_MAX),
        Size::Repeat => had?,
        Size::SkewOnly | Size::Auto => AUTO_BUCKETS,
    };
    if buckets < 2 || values.counted.is_empty() {
        return None;
    }
    if matches!(size, Size::SkewOnly | Size::Auto) && !is_skewed(values, plain, place) {
        return None;
    }
    let n = buckets as usize;
    Some(if values.distinct <= u64::from(buckets) && values.counted.len() <= n {
        frequency(HistogramKind::Frequency, &values.counted, place)
    } else if !auto {
        height_balanced(values, n, place)
    } else {
        top_frequency(values, n, place).unwrap_or_else(|| hybrid(values, n, place))
    })
}

/// The number of buckets of a histogram for skewed values.
pub fn buckets_of(size: Size, had: Option<u32>) -> u32 {
    match size {
        Size::Buckets(n) => n.min(BUCKETS_MAX),
        Size::Repeat => had.unwrap_or(1),
        Size::SkewOnly | Size::Auto => AUTO_BUCKETS,
    }
}

fn is_skewed(values: &Values, plain: bool, place: &dyn Fn(&[u8]) -> f64) -> bool {
    let rows = values.rows() as f64;
    if values.counted.len() < 2 {
        return false;
    }
    // Pairs of different rows with equal values, in the sample.
    let pairs: f64 = values.counted.iter().map(|(_, n)| *n as f64 * (*n as f64 - 1.0)).sum();
    let together = pairs / (rows * (rows - 1.0)).max(1.0);
    let even = if values.complete { values.counted.len() as f64 } else { values.distinct as f64 };
    // The share of equal pairs; with all rows it includes the pairs of a row with itself.
    let share = if values.complete {
        values.counted.iter().map(|(_, n)| (*n as f64 / rows).powi(2)).sum::<f64>()
    } else {
        together
    };
    if share * even > SKEW_MIN {
        return true;
    }
    if !plain {
        return false;
    }
    let (first, last) = (place(&values.counted[0].0), place(&values.counted[values.counted.len() - 1].0));
    if last <= first {
        return false;
    }
    // With few values, the distances between them are no gaps.
    let step = 1.0 / values.counted.len() as f64;
    let mut below = 0.0;
    values.counted.iter().any(|(value, n)| {
        let even = (place(value) - first) / (last - first);
        let before = below;
        below += *n as f64 / rows;
        (even - below).max(before - even) > GAP_MIN + step
    })
}

fn frequency(kind: HistogramKind, counted: &[(Box<[u8]>, u64)], place: &dyn Fn(&[u8]) -> f64) -> Histogram {
    let mut cumulative = 0;
    let endpoints = counted.iter().map(|(value, rows)| {
        cumulative += rows;
        Endpoint { value, place: place(value), cumulative, repeats: *rows }
    });
    Histogram::new(kind, endpoints)
}

/// The `n` most frequent values, if all but one row in `n` have them. The lowest and the highest value are always
/// included.
fn top_frequency(values: &Values, n: usize, place: &dyn Fn(&[u8]) -> f64) -> Option<Histogram> {
    let mut order: Vec<usize> = (0..values.counted.len()).collect();
    order.sort_by(|a, b| values.counted[*b].1.cmp(&values.counted[*a].1).then(a.cmp(b)));
    order.truncate(n);
    let rows = values.rows() as f64;
    let covered: u64 = order.iter().map(|at| values.counted[*at].1).sum();
    if (covered as f64) < rows * (1.0 - 1.0 / n as f64) {
        return None;
    }
    for end in [0, values.counted.len() - 1] {
        if !order.contains(&end) {
            // The rarest value that is neither the lowest nor the highest is replaced.
            let rarest = order.iter().rposition(|at| *at != 0 && *at != values.counted.len() - 1)?;
            order[rarest] = end;
        }
    }
    order.sort_unstable();
    let chosen: Vec<_> = order.into_iter().map(|at| values.counted[at].clone()).collect();
    Some(frequency(HistogramKind::TopFrequency, &chosen, place))
}

/// Buckets of about the same height; a value is in one bucket only, and each endpoint has its number of rows.
fn hybrid(values: &Values, n: usize, place: &dyn Fn(&[u8]) -> f64) -> Histogram {
    let rows = values.rows() as f64;
    let mut ends = Vec::with_capacity(n);
    let (mut cumulative, mut taken) = (0u64, 0u64);
    let last = values.counted.len() - 1;
    for (at, (value, count)) in values.counted.iter().enumerate() {
        cumulative += count;
        // The remaining buckets share the remaining rows; the lowest value is the first endpoint.
        let left = (n - ends.len().min(n - 1)) as f64;
        let height = (rows - taken as f64) / left;
        let is_full = (cumulative - taken) as f64 >= height && ends.len() + 1 < n;
        if at == 0 || at == last || is_full {
            ends.push((value, cumulative, *count));
            taken = cumulative;
        }
    }
    let endpoints = ends.into_iter().map(|(value, cumulative, repeats)| Endpoint {
        value,
        place: place(value),
        cumulative,
        repeats,
    });
    Histogram::new(HistogramKind::Hybrid, endpoints)
}

/// `n` buckets of the same height. Endpoint 0 is the lowest value; a value that ends several buckets occurs once, with
/// the number of the last of them.
fn height_balanced(values: &Values, n: usize, place: &dyn Fn(&[u8]) -> f64) -> Histogram {
    let rows = values.rows();
    let mut ends: Vec<(&[u8], u64)> = vec![(&values.counted[0].0, 0)];
    let (mut bucket, mut below) = (1u64, 0u64);
    for (value, count) in &values.counted {
        below += count;
        while bucket <= n as u64 && below * n as u64 >= bucket * rows {
            match ends.last_mut() {
                Some(last) if *last.0 == **value => last.1 = bucket,
                _ => ends.push((value, bucket)),
            }
            bucket += 1;
        }
    }
    let endpoints =
        ends.into_iter().map(|(value, cumulative)| Endpoint { value, place: place(value), cumulative, repeats: 0 });
    Histogram::new(HistogramKind::HeightBalanced, endpoints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(counts: &[(u8, u64)]) -> Values {
        let counted: Vec<_> = counts.iter().map(|(value, rows)| (Box::from([*value]), *rows)).collect();
        Values { complete: true, distinct: counted.len() as u64, counted }
    }

    fn place(value: &[u8]) -> f64 {
        f64::from(value[0])
    }

    fn made(values: &Values, size: Size) -> Option<Histogram> {
        build(values, size, None, true, true, &place)
    }

    fn shown(histogram: &Histogram) -> Vec<(u8, u64, u64)> {
        histogram.endpoints().map(|e| (e.value[0], e.cumulative, e.repeats)).collect()
    }

    #[test]
    fn few_values_have_a_bucket_each() {
        let histogram = made(&values(&[(1, 10), (2, 1), (3, 4)]), Size::Buckets(3)).expect("values");
        assert_eq!(histogram.kind, HistogramKind::Frequency);
        assert_eq!(shown(&histogram), [(1, 10, 10), (2, 11, 1), (3, 15, 4)]);
    }

    #[test]
    fn the_most_frequent_values_suffice_when_nearly_all_rows_have_them() {
        let many = values(&[(1, 1), (2, 500), (3, 400), (4, 1), (9, 2)]);
        let histogram = made(&many, Size::Buckets(4)).expect("values");
        assert_eq!(histogram.kind, HistogramKind::TopFrequency);
        // The lowest and the highest value are included, whatever their rows.
        assert_eq!(shown(&histogram), [(1, 1, 1), (2, 501, 500), (3, 901, 400), (9, 903, 2)]);
    }

    #[test]
    fn hybrid_buckets_do_not_split_a_value() {
        let many: Vec<(u8, u64)> = (0..20).map(|n| (n, if n == 7 { 50 } else { 5 })).collect();
        let histogram = made(&values(&many), Size::Buckets(5)).expect("values");
        assert_eq!(histogram.kind, HistogramKind::Hybrid);
        assert!(histogram.len() <= 5, "{:?}", shown(&histogram));
        assert!(shown(&histogram).contains(&(7, 85, 50)), "{:?}", shown(&histogram));
        assert_eq!((histogram.endpoint(0).value, histogram.total()), (&[0][..], 145));
    }

    #[test]
    fn by_a_percentage_buckets_have_one_height() {
        let many: Vec<(u8, u64)> = (0..20).map(|n| (n, if n == 7 { 81 } else { 1 })).collect();
        let histogram = build(&values(&many), Size::Buckets(10), None, false, true, &place).expect("values");
        assert_eq!(histogram.kind, HistogramKind::HeightBalanced);
        assert_eq!(shown(&histogram), [(0, 0, 0), (7, 8, 0), (9, 9, 0), (19, 10, 0)]);
    }

    #[test]
    fn automatic_histograms_need_skew_or_gaps() {
        let even: Vec<(u8, u64)> = (0..50).map(|n| (n, 20)).collect();
        assert!(made(&values(&even), Size::Auto).is_none());
        let skewed: Vec<(u8, u64)> = (0..50).map(|n| (n, if n == 3 { 500 } else { 20 })).collect();
        assert_eq!(made(&values(&skewed), Size::Auto).expect("skewed").len(), 50);
        let gap: Vec<(u8, u64)> = (0..50).map(|n| (if n == 49 { 255 } else { n }, 20)).collect();
        assert!(made(&values(&gap), Size::SkewOnly).is_some());
        assert!(made(&values(&even), Size::Repeat).is_none() && made(&values(&even), Size::Buckets(1)).is_none());
    }
}
