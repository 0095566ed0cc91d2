//! Latencies of operations that arrive at a given rate, as HdrHistograms.
//!
//! A latency is counted from the moment at which the operation was to arrive, so an operation that waits for a session
//! counts its waiting: all operations that arrive during a stall of the system show it, and not only those that were
//! under way (coordinated omission). Histograms keep three significant digits of nanoseconds and are stored in the
//! compressed form V2 of HdrHistogram, as text in base64, which the tools of HdrHistogram read. Those of the repeats of
//! a cell are merged by adding them: an average of percentiles is no percentile.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use std::time::{Duration, UNIX_EPOCH};

use crate::error::LabError;

/// The greatest latency that is told from greater ones: an hour, in nanoseconds.
const GREATEST_NS: u64 = 3_600_000_000_000;

/// Share of the generator's own delay in the latency above which a report says that the generator was too slow.
const GENERATOR_MAX: f64 = 0.1;

/// The arrivals of one session, or of all.
#[derive(Clone, Debug)]
pub struct Recorder {
    histogram: Histogram<u64>,
    /// Arrivals that found no free session.
    queued: u64,
    /// Arrivals that were not begun before the end of the cell.
    dropped: u64,
    /// From the arrivals for which a session waited to the moments at which it had woken up.
    delay_ns: u64,
    delay_max_ns: u64,
}

impl Default for Recorder {
    fn default() -> Recorder {
        let histogram = Histogram::new_with_bounds(1, GREATEST_NS, 3).expect("the bounds are constants");
        Recorder { histogram, queued: 0, dropped: 0, delay_ns: 0, delay_max_ns: 0 }
    }
}

impl Recorder {
    /// An operation that arrived at `due_ns`, was begun at `begun_ns` and ended at `ended_ns`; `waited` says whether
    /// the session was free at its arrival and slept until then.
    pub fn done(&mut self, due_ns: u64, begun_ns: u64, ended_ns: u64, waited: bool) {
        self.histogram.saturating_record(ended_ns.saturating_sub(due_ns));
        if waited {
            let delay_ns = begun_ns.saturating_sub(due_ns);
            self.delay_ns += delay_ns;
            self.delay_max_ns = self.delay_max_ns.max(delay_ns);
        } else {
            self.queued += 1;
        }
    }

    /// An arrival that was not begun: it counts with the time that it had waited, the least that its latency could be.
    pub fn dropped(&mut self, due_ns: u64, now_ns: u64) {
        self.histogram.saturating_record(now_ns.saturating_sub(due_ns));
        self.dropped += 1;
    }

    pub fn add(&mut self, other: &Recorder) {
        self.histogram.add(&other.histogram).expect("all histograms have the same bounds");
        self.queued += other.queued;
        self.dropped += other.dropped;
        self.delay_ns += other.delay_ns;
        self.delay_max_ns = self.delay_max_ns.max(other.delay_max_ns);
    }

    /// The figures, as a row keeps them.
    pub fn latency(&self) -> Latency {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes).expect("a vector takes all bytes");
        let delay_ns = self.delay_ns as f64;
        let all_ns = self.histogram.mean() * self.histogram.len() as f64;
        Latency {
            arrivals: self.histogram.len(),
            queued: self.queued,
            dropped: self.dropped,
            generator_share: if all_ns > 0.0 { (delay_ns / all_ns).min(1.0) } else { 0.0 },
            generator_max_us: self.delay_max_ns as f64 / 1000.0,
            percentiles: Percentiles::of(&self.histogram),
            histogram: BASE64.encode(bytes),
        }
    }
}

/// Microseconds from the intended arrival to the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    pub average_us: f64,
    pub p50_us: f64,
    pub p90_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
}

impl Percentiles {
    pub fn of(histogram: &Histogram<u64>) -> Percentiles {
        let at = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / 1000.0;
        Percentiles {
            average_us: histogram.mean() / 1000.0,
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max() as f64 / 1000.0,
        }
    }
}

/// The latencies of a cell, as results keep them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Operations that were to arrive.
    pub arrivals: u64,
    /// Arrivals that found no free session and waited for one.
    pub queued: u64,
    /// Arrivals that were not begun before the end of the cell; the histogram has them with the time they had waited.
    pub dropped: u64,
    /// The part of all latencies that sessions took to wake up for an arrival: the generator's, not the system's.
    pub generator_share: f64,
    /// The longest time to wake up.
    pub generator_max_us: f64,
    #[serde(flatten)]
    pub percentiles: Percentiles,
    /// The histogram of nanoseconds: HdrHistogram V2, compressed, in base64.
    pub histogram: String,
}

impl Latency {
    /// # Errors
    /// When the text is no histogram.
    pub fn histogram(&self) -> Result<Histogram<u64>, LabError> {
        let wrong = |e: &dyn std::fmt::Display| LabError::new(format!("a latency histogram cannot be read: {e}"));
        let bytes = BASE64.decode(&self.histogram).map_err(|e| wrong(&e))?;
        Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| wrong(&e))
    }

    pub fn is_generator_slow(&self) -> bool {
        self.generator_share > GENERATOR_MAX
    }
}

/// The percentiles of all histograms together; `None` without any that can be read.
pub fn merged<'a>(latencies: impl Iterator<Item = &'a Latency>) -> Option<Percentiles> {
    let mut all: Option<Histogram<u64>> = None;
    for histogram in latencies.filter_map(|l| l.histogram().ok()) {
        match &mut all {
            None => all = Some(histogram),
            // Files of others may have other bounds; a histogram that does not fit is left out.
            Some(all) => drop(all.add(&histogram)),
        }
    }
    all.filter(|all| !all.is_empty()).map(|all| Percentiles::of(&all))
}

/// One line of an interval log: the tag, beginning and length, and the latencies.
pub type Line = (String, Duration, Duration, Histogram<u64>);

/// An interval log of HdrHistogram (V2). The beginnings of its lines count from `base`, the time since 1970. The
/// greatest value of a line is in milliseconds.
///
/// # Errors
/// When a histogram cannot be written.
pub fn interval_log(base: Duration, about: &str, lines: &[Line]) -> Result<String, LabError> {
    let failed = |e: &dyn std::fmt::Debug| LabError::new(format!("the log of latencies: {e:?}"));
    let (mut out, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment(about)
        .with_base_time(UNIX_EPOCH.checked_add(base).unwrap_or(UNIX_EPOCH))
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut out, &mut serializer)
        .map_err(|e| failed(&e))?;
    for (tag, from, length, histogram) in lines {
        // A tag ends at a comma or a blank.
        let tag = tag.replace(|c: char| c == ',' || c.is_whitespace() || c.is_control(), "_");
        log.write_histogram(histogram, *from, *length, Tag::new(&tag)).map_err(|e| failed(&e))?;
    }
    String::from_utf8(out).map_err(|e| failed(&e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    fn recorder(latencies_us: impl Iterator<Item = u64>) -> Recorder {
        let mut recorder = Recorder::default();
        latencies_us.for_each(|us| recorder.done(0, 0, us * 1000, true));
        recorder
    }

    #[test]
    fn histograms_merge_into_that_of_all_operations() {
        // The percentiles of the halves, 1 to 500 and 501 to 1000 microseconds, are not those of the whole.
        let (low, high) = (recorder(1..=500).latency(), recorder(501..=1000).latency());
        let all = recorder(1..=1000).latency();
        assert_eq!(merged([&low, &high].into_iter()), Some(all.percentiles));
        assert!((all.percentiles.p99_us - 990.0).abs() < 1.0, "{all:?}");
        assert!((all.percentiles.average_us - 500.5).abs() < 1.0, "{all:?}");
        assert!(low.histogram.starts_with("HISTFAAA"), "{}", low.histogram);
        assert_eq!(merged([].into_iter()), None);
    }

    #[test]
    fn queued_and_dropped_arrivals_count_their_waiting() {
        let mut recorder = Recorder::default();
        recorder.done(1000, 5_001_000, 6_001_000, false);
        recorder.done(2000, 3000, 4000, true);
        recorder.dropped(0, 9_000_000);
        let latency = recorder.latency();
        assert_eq!((latency.arrivals, latency.queued, latency.dropped), (3, 1, 1));
        assert!((latency.percentiles.max_us - 9000.0).abs() < 10.0, "{latency:?}");
        assert!(latency.generator_max_us == 1.0 && !latency.is_generator_slow(), "{latency:?}");
    }

    #[test]
    fn a_generator_that_wakes_up_late_is_found() {
        let mut recorder = Recorder::default();
        (0..10).for_each(|_| recorder.done(0, 60_000, 100_000, true));
        let latency = recorder.latency();
        assert!(latency.is_generator_slow() && (latency.generator_share - 0.6).abs() < 0.01, "{latency:?}");
    }

    #[test]
    fn an_interval_log_has_a_tagged_histogram_for_each_cell() {
        let latency = recorder(1..=100).latency();
        let line = ("a b,c".into(), Duration::from_millis(500), Duration::from_secs(2), latency.histogram().unwrap());
        let log = interval_log(Duration::from_secs(1_795_341_600), "a test", &[line]).unwrap();
        let intervals: Vec<_> = IntervalLogIterator::new(log.as_bytes())
            .filter_map(|entry| match entry.expect("a line of a log") {
                LogEntry::Interval(interval) => Some(interval),
                _ => None,
            })
            .collect();
        assert_eq!(intervals.len(), 1);
        assert_eq!(intervals[0].tag().unwrap().as_str(), "a_b_c");
        assert_eq!(intervals[0].encoded_histogram(), latency.histogram);
        assert_eq!(intervals[0].duration(), Duration::from_secs(2));
    }

    #[test]
    fn what_is_no_histogram_is_an_error() {
        let good = recorder(1..=100).latency();
        for text in ["", "AAAA", "no base64!", &good.histogram[..good.histogram.len() / 2], "HISTFAAA/////w=="] {
            let latency = Latency { histogram: text.into(), ..good.clone() };
            assert!(latency.histogram().is_err(), "{text}");
            assert_eq!(merged([&latency].into_iter()), None);
        }
    }
}
