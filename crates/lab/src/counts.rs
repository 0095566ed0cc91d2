//! Laws with their readings.

use crate::statistics::{Summary, summary};
use crate::text::thousands;
use serde::{Deserialize, Serialize};

/// A law and its readings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Count {
    pub workload: String,
    pub generation: String,
    pub title: String,
    /// `None` where the manifest has no figure for the generation.
    pub expected: Option<f64>,
    /// The median of the readings, which is compared with `expected`.
    pub seen: f64,
    /// All readings, in the order in which they were taken. Empty in the files of earlier versions.
    #[serde(default)]
    pub readings: Vec<f64>,
}

/// Whether two figures of an operation are equal, up to rounding.
pub(crate) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

impl Count {
    /// Whether the median of the readings equals the expected figure.
    pub fn holds(&self) -> bool {
        self.expected.is_none_or(|expected| same(expected, self.seen))
    }

    /// Lowest, median and highest reading.
    pub fn spread(&self) -> Summary {
        let one = summary([self.seen]).or_else(|| summary([0.0]));
        summary(self.readings.iter().copied()).or(one).expect("a summary of one figure")
    }

    /// Number of readings that agree with the law, or with their median where there is no expected figure.
    pub fn agreeing(&self) -> usize {
        let law = self.expected.unwrap_or(self.seen);
        self.readings.iter().filter(|reading| same(**reading, law)).count()
    }

    /// Adds the readings of another instance of the same generation.
    pub(crate) fn join(&mut self, readings: &[f64]) {
        self.readings.extend_from_slice(readings);
        self.seen = summary(self.readings.iter().copied()).map_or(self.seen, |s| s.median);
    }
}

/// The median without needless digits. A law that does not hold is marked. Where readings differ, the number of those
/// that agree with the law follows, with the lowest and the highest.
pub fn told(count: &Count) -> String {
    let number = |value: f64| {
        let text = format!("{value:.3}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        let fraction = text.split_once('.').map_or(String::new(), |(_, digits)| format!(".{digits}"));
        if value.abs() < 1000.0 { text.to_string() } else { thousands(value.trunc()) + &fraction }
    };
    let mut text = number(count.seen);
    if let Some(expected) = count.expected.filter(|_| !count.holds()) {
        text.push_str(&format!(" (expected {})", number(expected)));
    }
    let (spread, agreeing) = (count.spread(), count.agreeing());
    if !same(spread.least, spread.greatest) {
        let (least, greatest) = (number(spread.least), number(spread.greatest));
        text.push_str(&format!(" [{agreeing} of {}: {least} to {greatest}]", count.readings.len()));
    }
    text
}
