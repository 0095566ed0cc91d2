//! Metrics: what was counted in the last minute, and in the last fifteen seconds, as rates and shares.
//!
//! MMNL reads the totals that are counted anyway, subtracts those it read an interval before, and puts the quotients
//! into rings in the SGA: an hour of the long intervals, three minutes of the short ones, and the waits of the last
//! long one. Sessions do nothing for it. An interval in which MMNL was killed has no entry: its successor begins anew.
//!
//! | part | what it does |
//! |---|---|
//! | [`list`] | numbers, names and units as Oracle has them, and how each is computed |
//! | [`ring`] | keeps entries: one writer, any number of readers, who wait for nobody |

mod list;
mod ring;

pub use list::{Group, METRICS, Metric};

use crate::instance::Instance;
use crate::sizes::statements_of;
use params::Param;
use process::{Following, Process, Simulator, Whose};
use ring::{Ring, RingLayout};
use sga::{Sga, SgaBuilder};
use std::time::Duration;
use wait::{Event, Stat, TimeStat};

/// Entries that are kept: an hour and three minutes, and the one that is being written.
const LONG_ENTRIES: usize = 61;
const SHORT_ENTRIES: usize = 13;
/// Short intervals in a long one.
const SHORT_IN_LONG: u64 = 4;
/// Words of an entry before its values: when it began and ended, in wall-clock nanoseconds.
const HEAD: usize = 2;
/// Words of an event: waits, microseconds, those of users' sessions, sessions that wait at the end.
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

/// What happened to an event in the last long interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventMetric {
    pub waits: u64,
    pub us: u64,
    /// Of users' sessions.
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

    /// The intervals of a group, newest first.
    pub fn intervals(&self, group: Group) -> Vec<Interval> {
        let ring = if group == Group::Long { &self.long } else { &self.short };
        ring.entries().map(|words| of_words(&words)).collect()
    }

    /// The last long interval: when it began and ended, and every event in order of number.
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

/// Totals of a moment.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub wall_ns: u64,
    pub at_ns: u64,
    /// By [`Stat`].
    pub stats: Vec<u64>,
    /// Microseconds by [`TimeStat`].
    pub times: Vec<u64>,
    /// Waits and microseconds of `db file sequential read`.
    pub single_reads: (u64, u64),
    /// Microseconds that users' sessions waited for what is not idle.
    pub waited_us: u64,
    /// Hundredths of a second of the machine's processors, busy and idle.
    pub host_cs: (u64, u64),
    pub load: f64,
    /// Gets, hits, pins, hits of pins of the library cache.
    pub library: [u64; 4],
    /// Processes, and their limits.
    pub processes: u64,
    pub processes_max: u64,
    pub sessions_max: u64,
}

impl Totals {
    /// Reads them. No latch is taken.
    fn read(instance: &Instance, p: &Process) -> Totals {
        let all = instance.processes();
        let machine = os::proc::machine().unwrap_or_default();
        let busy = machine.user_cs + machine.nice_cs + machine.system_cs + machine.other_cs;
        let mut library = [0; 4];
        for row in instance.caches().library.namespaces() {
            let figures = [row.gets, row.get_hits, row.pins, row.pin_hits];
            library.iter_mut().zip(figures).for_each(|(sum, n)| *sum += n);
        }
        let users = |event| all.system_event(p, event, Whose::Foreground).0;
        let reads = all.system_event(p, Event::DbFileSequentialRead, Whose::All).0;
        let limit = |of| u64::try_from(instance.params().number(of)).unwrap_or(0);
        Totals {
            wall_ns: os::clock::wall_ns(),
            at_ns: os::clock::now_ns(),
            stats: all.system_stats(p),
            times: all.system_times(p).to_vec(),
            single_reads: (reads.waits, reads.us),
            waited_us: Event::all().filter(|e| e.class() != wait::WaitClass::Idle).map(|e| users(e).us).sum(),
            host_cs: (busy, machine.idle_cs + machine.io_wait_cs),
            load: machine.load.parse().unwrap_or(0.0),
            library,
            processes: all.live().count() as u64,
            processes_max: limit(Param::Processes),
            sessions_max: limit(Param::Sessions),
        }
    }
}

/// What was added between two moments.
pub struct Span<'a> {
    pub from: &'a Totals,
    pub to: &'a Totals,
}

impl Span<'_> {
    pub fn seconds(&self) -> f64 {
        (self.to.at_ns.saturating_sub(self.from.at_ns) as f64 / 1e9).max(1e-9)
    }

    /// What was added to a statistic. Sums over sessions are read one after the other: less than before counts as
    /// nothing.
    pub fn added(&self, stat: Stat) -> f64 {
        let of = |t: &Totals| t.stats.get(stat as usize).copied().unwrap_or(0);
        of(self.to).saturating_sub(of(self.from)) as f64
    }

    /// The value of a statistic at the end.
    pub fn at_end(&self, stat: Stat) -> f64 {
        self.to.stats.get(stat as usize).map_or(0.0, |n| *n as f64)
    }

    /// Microseconds that were added to a figure of the time model.
    pub fn time_us(&self, of: TimeStat) -> f64 {
        let at = |t: &Totals| t.times.get(of as usize).copied().unwrap_or(0);
        at(self.to).saturating_sub(at(self.from)) as f64
    }

    /// Commits and rollbacks.
    pub fn transactions(&self) -> f64 {
        self.added(Stat::UserCommits) + self.added(Stat::UserRollbacks)
    }
}

/// What MMNL keeps between two rounds, for metrics and for the advice about the sizes of caches.
#[derive(Default)]
pub struct Meter {
    rates: Rates,
    blocks: Simulator,
    statements: Simulator,
}

impl Meter {
    /// Does what is due, and says how long there is time until something is.
    pub fn round(&mut self, instance: &Instance, p: &Process) -> Duration {
        let params = instance.params();
        let is_on = !params.get(Param::StatisticsLevel).eq_ignore_ascii_case("BASIC");
        let blocks = match params.get(Param::DbCacheAdvice).to_ascii_uppercase().as_str() {
            "ON" if is_on => Following::On,
            "ON" | "READY" => Following::Ready,
            _ => Following::Off,
        };
        let next = instance.storage().cache.advise(&mut self.blocks, blocks);
        let statements = if is_on { Following::On } else { Following::Off };
        let pool_bytes = instance.sizes().pool_bytes;
        let sizes = std::array::from_fn(|n| statements_of(pool_bytes * (n as u64 + 1) / 10));
        let next = next.min(instance.caches().library.advise(&mut self.statements, statements, sizes));
        if !is_on {
            self.rates = Rates::default();
            return next;
        }
        next.min(self.rates.round(instance, p))
    }
}

/// Totals when intervals began.
#[derive(Default)]
struct Rates {
    long: Option<Totals>,
    short: Option<Totals>,
    events: Vec<EventMetric>,
    /// Short intervals since the long one began.
    shorts: u64,
}

impl Rates {
    fn round(&mut self, instance: &Instance, p: &Process) -> Duration {
        let interval_ns = instance.params().number(Param::MetricInterval).max(1) as u64 * 1_000_000;
        let now = os::clock::now_ns();
        let Some(short) = &self.short else {
            self.begin(instance, p);
            return Duration::from_nanos(interval_ns);
        };
        let due = short.at_ns + interval_ns;
        if now < due {
            return Duration::from_nanos(due - now);
        }
        let totals = Totals::read(instance, p);
        let metrics = instance.metrics();
        metrics.short.push(&words(&Span { from: short, to: &totals }));
        self.shorts += 1;
        if self.shorts >= SHORT_IN_LONG
            && let Some(long) = self.long.replace(totals.clone())
        {
            self.shorts = 0;
            let span = Span { from: &long, to: &totals };
            metrics.long.push(&words(&span));
            let before = std::mem::replace(&mut self.events, events_now(instance, p));
            metrics.events.push(&event_words(&span, &before, &self.events));
        }
        self.short = Some(totals);
        Duration::from_nanos(interval_ns)
    }

    fn begin(&mut self, instance: &Instance, p: &Process) {
        let totals = Totals::read(instance, p);
        *self = Rates { long: Some(totals.clone()), short: Some(totals), events: events_now(instance, p), shorts: 0 };
    }
}

fn words(span: &Span<'_>) -> Vec<u64> {
    let values = METRICS.iter().map(|metric| {
        let value = metric.value(span);
        if value.is_finite() { value } else { 0.0 }.to_bits()
    });
    [span.from.wall_ns, span.to.wall_ns].into_iter().chain(values).collect()
}

/// Totals of all events, and who waits for them now.
fn events_now(instance: &Instance, p: &Process) -> Vec<EventMetric> {
    let all = instance.processes();
    let mut events: Vec<EventMetric> = Event::all()
        .map(|event| {
            let [every, users] = all.system_event_sums(p, event);
            EventMetric { waits: every.waits, us: every.us, waits_fg: users.waits, us_fg: users.us, waiting: 0 }
        })
        .collect();
    for (sid, _) in all.live() {
        let wait = all.wait_slot(sid).and_then(|slot| slot.view(os::clock::now_ns()));
        if let Some(wait) = wait.filter(|w| w.state == wait::WaitState::Waiting)
            && let Some(event) = events.get_mut(wait.event.number() as usize)
        {
            event.waiting += 1;
        }
    }
    events
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

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(at_s: u64, stats: &[(Stat, u64)]) -> Totals {
        let mut t = Totals { at_ns: at_s * 1_000_000_000, ..Totals::default() };
        t.stats = vec![0; Stat::COUNT];
        t.times = vec![0; TimeStat::COUNT];
        stats.iter().for_each(|(stat, n)| t.stats[*stat as usize] = *n);
        t
    }

    fn value(name: &str, from: &Totals, to: &Totals) -> f64 {
        METRICS.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("{name}")).value(&Span { from, to })
    }

    #[test]
    fn rates_are_by_second_transaction_and_call() {
        let from = totals(10, &[(Stat::RedoSize, 500), (Stat::UserCommits, 1)]);
        let mut to = totals(
            70,
            &[
                (Stat::RedoSize, 6500),
                (Stat::UserCommits, 4),
                (Stat::UserRollbacks, 1),
                (Stat::UserCalls, 20),
                (Stat::ExecuteCount, 40),
                (Stat::LogonsCurrent, 7),
            ],
        );
        assert_eq!(value("Redo Generated Per Sec", &from, &to), 100.0);
        assert_eq!(value("Redo Generated Per Txn", &from, &to), 1500.0);
        assert_eq!(value("User Transaction Per Sec", &from, &to), 4.0 / 60.0);
        assert_eq!(value("User Commits Percentage", &from, &to), 75.0);
        assert_eq!(value("Executions Per User Call", &from, &to), 2.0);
        assert_eq!(value("Current Logons Count", &from, &to), 7.0);
        // Nothing was parsed, got or sorted: nothing was missed.
        assert_eq!(value("Soft Parse Ratio", &from, &to), 100.0);
        assert_eq!(value("Buffer Cache Hit Ratio", &from, &to), 100.0);
        // A statistic that went back, as sessions are summed one after the other.
        assert_eq!(value("Redo Generated Per Sec", &to, &from), 0.0);
        to.times[TimeStat::DbTime as usize] = 30_000_000;
        to.times[TimeStat::DbCpu as usize] = 12_000_000;
        assert_eq!(value("Average Active Sessions", &from, &to), 0.5);
        assert_eq!(value("Database Time Per Sec", &from, &to), 50.0);
        assert_eq!(value("CPU Usage Per Sec", &from, &to), 20.0);
        assert_eq!(value("Database CPU Time Ratio", &from, &to), 40.0);
    }

    #[test]
    fn numbers_and_names_are_unique_and_in_order() {
        assert!(METRICS.windows(2).all(|pair| pair[0].id < pair[1].id));
        let names: std::collections::HashSet<_> = METRICS.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), METRICS.len());
        assert!(METRICS.iter().any(|m| m.is_short) && METRICS.iter().any(|m| !m.is_short));
    }
}
