//! Metrics: the counts of the last minute, and of the last fifteen seconds, as rates and shares.
//!
//! MMNL reads the totals that are counted anyway, subtracts those it read an interval before, and puts the quotients
//! into the rings of [`instance::metrics`]. Sessions do nothing for it. An interval in which MMNL was killed has no
//! entry: its successor starts a new interval.

use cache_advice::{Following, Simulator};
use instance::metrics::{EventMetric, Group, Span, Totals};
use instance::{Instance, statements_of};
use params::Param;
use process::{Process, Whose};
use std::time::Duration;
use wait::Event;

/// Short intervals in a long one.
const SHORT_IN_LONG: u64 = 4;

/// The state of MMNL between two rounds, for metrics and for the advice about the sizes of caches.
#[derive(Default)]
pub struct Meter {
    rates: Rates,
    blocks: Simulator,
    statements: Simulator,
}

impl Meter {
    /// Does the work that is due, and returns the time until the next work is due.
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
        let totals = totals_now(instance, p);
        let metrics = instance.metrics();
        metrics.note(Group::Short, &Span { from: short, to: &totals });
        self.shorts += 1;
        if self.shorts >= SHORT_IN_LONG
            && let Some(long) = self.long.replace(totals.clone())
        {
            self.shorts = 0;
            let span = Span { from: &long, to: &totals };
            metrics.note(Group::Long, &span);
            let before = std::mem::replace(&mut self.events, events_now(instance, p));
            metrics.note_events(&span, &before, &self.events);
        }
        self.short = Some(totals);
        Duration::from_nanos(interval_ns)
    }

    fn begin(&mut self, instance: &Instance, p: &Process) {
        let totals = totals_now(instance, p);
        *self = Rates { long: Some(totals.clone()), short: Some(totals), events: events_now(instance, p), shorts: 0 };
    }
}

/// Totals of all events, with the number of sessions that wait for each now.
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

/// Reads the totals of this moment. No latch is taken.
fn totals_now(instance: &Instance, p: &Process) -> Totals {
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
