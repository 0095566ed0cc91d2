//! Metrics: the counts of the last minute, and of the last fifteen seconds, as rates and shares. Rings in the SGA hold
//! an hour of long intervals, three minutes of short ones, and the waits of the last long interval.
//!
//! | part | what it does |
//! |---|---|
//! | [`span`] | the differences between two moments |
//! | [`list`] | Oracle's numbers, names and units, and the computation of each metric from a span |
//! | [`ring`] | keeps entries: one writer, MMNL; any number of readers, which never wait |

mod list;
mod ring;
mod span;

pub use list::{Group, METRICS, Metric};
pub use span::{Span, Totals};

use ring::{Ring, RingLayout};
use sga::{Sga, SgaBuilder};
use wait::Event;

/// Entries of the rings: an hour and three minutes, and one that is being written.
const LONG_ENTRIES: usize = 61;
const SHORT_ENTRIES: usize = 13;
/// The words before the values of an entry: its begin and its end, in wall-clock nanoseconds.
const HEAD: usize = 2;
/// Words of an event: waits, microseconds, the same of users' sessions only, and sessions that wait at the end.
const EVENT_WORDS: usize = 5;

/// Reserved areas.
pub struct MetricsLayout {
    long: RingLayout,
    short: RingLayout,
    events: RingLayout,
}

impl MetricsLayout {
    pub fn reserve(sga: &mut SgaBuilder) -> MetricsLayout {
        MetricsLayout {
            long: RingLayout::reserve(sga, "metrics", HEAD + METRICS.len(), LONG_ENTRIES),
            short: RingLayout::reserve(sga, "metrics", HEAD + METRICS.len(), SHORT_ENTRIES),
            events: RingLayout::reserve(sga, "metrics", HEAD + Event::COUNT * EVENT_WORDS, 2),
        }
    }
}

/// The metrics of an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Wall-clock nanoseconds.
    pub begin_ns: u64,
    pub end_ns: u64,
    /// In the order of [`METRICS`].
    pub values: Vec<f64>,
}

/// The waits for an event in the last long interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventMetric {
    pub waits: u64,
    pub us: u64,
    /// Waits and microseconds of users' sessions.
    pub waits_fg: u64,
    pub us_fg: u64,
    /// Sessions that waited for it at the end.
    pub waiting: u64,
}

/// The metrics, as every process sees them.
pub struct Metrics {
    long: Ring,
    short: Ring,
    events: Ring,
}

impl Metrics {
    pub fn create(sga: &'static Sga, layout: &MetricsLayout) -> Metrics {
        let ring = |layout| Ring::create(sga, layout);
        Metrics { long: ring(&layout.long), short: ring(&layout.short), events: ring(&layout.events) }
    }

    /// Adds an interval to a group. Only MMNL calls this.
    pub fn note(&self, group: Group, span: &Span<'_>) {
        let ring = if group == Group::Long { &self.long } else { &self.short };
        ring.push(&words(span));
    }

    /// Adds a long interval: the waits for every event in it, and the waiters at its end. Only MMNL calls this.
    pub fn note_events(&self, span: &Span<'_>, before: &[EventMetric], now: &[EventMetric]) {
        self.events.push(&event_words(span, before, now));
    }

    /// The intervals of a group, newest first.
    pub fn intervals(&self, group: Group) -> Vec<Interval> {
        let ring = if group == Group::Long { &self.long } else { &self.short };
        ring.entries().map(|words| of_words(&words)).collect()
    }

    /// The last long interval: its begin, its end, and every event in order of number.
    pub fn events(&self) -> Option<(u64, u64, Vec<EventMetric>)> {
        let words = self.events.entries().next()?;
        let event = |w: &[u64]| EventMetric { waits: w[0], us: w[1], waits_fg: w[2], us_fg: w[3], waiting: w[4] };
        Some((words[0], words[1], words[HEAD..].chunks_exact(EVENT_WORDS).map(event).collect()))
    }
}

fn of_words(words: &[u64]) -> Interval {
    let values = words[HEAD..].iter().map(|bits| f64::from_bits(*bits)).collect();
    Interval { begin_ns: words[0], end_ns: words[1], values }
}

fn words(span: &Span<'_>) -> Vec<u64> {
    let values = METRICS.iter().map(|metric| {
        let value = metric.value(span);
        if value.is_finite() { value } else { 0.0 }.to_bits()
    });
    [span.from.wall_ns, span.to.wall_ns].into_iter().chain(values).collect()
}

fn event_words(span: &Span<'_>, before: &[EventMetric], now: &[EventMetric]) -> Vec<u64> {
    let mut words = vec![span.from.wall_ns, span.to.wall_ns];
    for (a, b) in before.iter().zip(now) {
        let added = [(b.waits, a.waits), (b.us, a.us), (b.waits_fg, a.waits_fg), (b.us_fg, a.us_fg)];
        words.extend(added.map(|(now, before)| now.saturating_sub(before)));
        words.push(b.waiting);
    }
    words
}
