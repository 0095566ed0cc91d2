//! Metrics of the last intervals: `v$sysmetric`, `v$sysmetric_history`, `v$sysmetric_summary`, `v$metricname`,
//! `v$metricgroup`, `v$eventmetric`, `v$waitclassmetric`.

use instance::metrics::{EventMetric, Group, Interval, METRICS, Metric};
use types::{Number, Value};
use wait::{Event, WaitClass};

use crate::column::{Row, Type, Type::*, date_of_seconds, n, t};
use crate::source::Source;

pub const SYSMETRIC: &[(&str, Type)] = &[
    ("BEGIN_TIME", D),
    ("END_TIME", D),
    ("INTSIZE_CSEC", N),
    ("GROUP_ID", N),
    ("METRIC_ID", N),
    ("METRIC_NAME", V(64)),
    ("VALUE", N),
    ("METRIC_UNIT", V(64)),
    ("CON_ID", N),
];

pub const SUMMARY: &[(&str, Type)] = &[
    ("BEGIN_TIME", D),
    ("END_TIME", D),
    ("INTSIZE_CSEC", N),
    ("GROUP_ID", N),
    ("METRIC_ID", N),
    ("METRIC_NAME", V(64)),
    ("NUM_INTERVAL", N),
    ("MAXVAL", N),
    ("MINVAL", N),
    ("AVERAGE", N),
    ("STANDARD_DEVIATION", N),
    ("METRIC_UNIT", V(64)),
    ("CON_ID", N),
];

pub const METRICNAME: &[(&str, Type)] = &[
    ("GROUP_ID", N),
    ("GROUP_NAME", V(64)),
    ("METRIC_ID", N),
    ("METRIC_NAME", V(64)),
    ("METRIC_UNIT", V(64)),
    ("CON_ID", N),
];

pub const METRICGROUP: &[(&str, Type)] =
    &[("GROUP_ID", N), ("NAME", V(64)), ("INTERVAL_SIZE", N), ("MAX_INTERVAL", N), ("CON_ID", N)];

pub const EVENTMETRIC: &[(&str, Type)] = &[
    ("BEGIN_TIME", D),
    ("END_TIME", D),
    ("INTSIZE_CSEC", N),
    ("EVENT#", N),
    ("EVENT_ID", N),
    ("NUM_SESS_WAITING", N),
    ("TIME_WAITED", N),
    ("WAIT_COUNT", N),
    ("TIME_WAITED_FG", N),
    ("WAIT_COUNT_FG", N),
    ("CON_ID", N),
];

pub const WAITCLASSMETRIC: &[(&str, Type)] = &[
    ("BEGIN_TIME", D),
    ("END_TIME", D),
    ("INTSIZE_CSEC", N),
    ("WAIT_CLASS_ID", N),
    ("WAIT_CLASS#", N),
    ("NUM_SESS_WAITING", N),
    ("AVERAGE_WAITER_COUNT", N),
    ("DBTIME_IN_WAIT", N),
    ("TIME_WAITED", N),
    ("WAIT_COUNT", N),
    ("TIME_WAITED_FG", N),
    ("WAIT_COUNT_FG", N),
    ("CON_ID", N),
];

/// The groups: name, and number of intervals kept.
const GROUPS: [(Group, &str, u64); 2] =
    [(Group::Long, "System Metrics Long Duration", 60), (Group::Short, "System Metrics Short Duration", 12)];

fn real(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A time in the database's time zone.
fn moment(wall_ns: u64) -> Value {
    let utc = (wall_ns / 1_000_000_000) as i64;
    date_of_seconds(u64::try_from(utc + i64::from(os::clock::utc_offset_seconds(utc))).unwrap_or(0))
}

/// BEGIN_TIME, END_TIME and INTSIZE_CSEC.
fn times(begin_ns: u64, end_ns: u64) -> Row {
    vec![moment(begin_ns), moment(end_ns), n(end_ns.saturating_sub(begin_ns) / 10_000_000)]
}

/// The metrics of a group, with their index in an interval.
fn of_group(group: Group) -> impl Iterator<Item = (usize, &'static Metric)> {
    METRICS.iter().enumerate().filter(move |(_, metric)| group == Group::Long || metric.is_short)
}

fn of_interval(group: Group, interval: &Interval, rows: &mut Vec<Row>) {
    rows.extend(of_group(group).map(|(at, metric)| {
        let mut row = times(interval.begin_ns, interval.end_ns);
        let value = real(interval.values.get(at).copied().unwrap_or(0.0));
        row.extend([n(group as u64), n(metric.id), t(metric.name), value, t(metric.unit), n(0u32)]);
        row
    }));
}

/// The last interval of each group.
pub fn sysmetric(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (group, ..) in GROUPS {
        if let Some(last) = s.instance.metrics().intervals(group).first() {
            of_interval(group, last, &mut rows);
        }
    }
    rows
}

/// All intervals kept, newest first.
pub fn sysmetric_history(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (group, ..) in GROUPS {
        s.instance.metrics().intervals(group).iter().for_each(|i| of_interval(group, i, &mut rows));
    }
    rows
}

/// The long intervals of the last hour combined.
pub fn sysmetric_summary(s: &Source<'_>) -> Vec<Row> {
    let all = s.instance.metrics().intervals(Group::Long);
    let (Some(last), Some(first)) = (all.first(), all.last()) else { return Vec::new() };
    let row = |(at, metric): (usize, &Metric)| {
        let values: Vec<f64> = all.iter().filter_map(|i| i.values.get(at).copied()).collect();
        let count = values.len() as f64;
        let average = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|v| (v - average).powi(2)).sum();
        let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        let most = values.iter().copied().fold(f64::MIN, f64::max);
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        let mut row = times(first.begin_ns, last.end_ns);
        row.extend([n(Group::Long as u64), n(metric.id), t(metric.name), n(values.len() as u64)]);
        row.extend([most, least, average, deviation].map(real));
        row.extend([t(metric.unit), n(0u32)]);
        row
    };
    of_group(Group::Long).map(row).collect()
}

pub fn metricname(_: &Source<'_>) -> Vec<Row> {
    let row =
        |group: Group, name: &str, m: &Metric| vec![n(group as u64), t(name), n(m.id), t(m.name), t(m.unit), n(0u32)];
    GROUPS.iter().flat_map(|(group, name, _)| of_group(*group).map(move |(_, m)| row(*group, name, m))).collect()
}

pub fn metricgroup(s: &Source<'_>) -> Vec<Row> {
    let short_cs = s.instance.params().number(params::Param::MetricInterval) as u64 / 10;
    let size = |group| if group == Group::Long { short_cs * 4 } else { short_cs };
    let row =
        |(group, name, most): &(Group, &str, u64)| vec![n(*group as u64), t(name), n(size(*group)), n(*most), n(0u32)];
    GROUPS.iter().map(row).collect()
}

/// Events with waits in the last long interval or in progress.
pub fn eventmetric(s: &Source<'_>) -> Vec<Row> {
    let Some((begin, end, events)) = s.instance.metrics().events() else { return Vec::new() };
    let seen = Event::all().zip(events).filter(|(_, m)| m.waits > 0 || m.waiting > 0);
    seen.map(|(event, m)| {
        let mut row = times(begin, end);
        row.extend([n(event.number()), n(event.id()), n(m.waiting)]);
        row.extend([cs(m.us), n(m.waits), cs(m.us_fg), n(m.waits_fg), n(0u32)]);
        row
    })
    .collect()
}

/// Microseconds as hundredths of a second, with a fraction.
fn cs(us: u64) -> Value {
    real(us as f64 / 1e4)
}

/// Every class of waits in the last long interval.
pub fn waitclassmetric(s: &Source<'_>) -> Vec<Row> {
    let Some((begin, end, events)) = s.instance.metrics().events() else { return Vec::new() };
    let mut classes: Vec<(WaitClass, EventMetric)> = Vec::new();
    for (event, m) in Event::all().zip(events) {
        let at = classes.iter().position(|(class, _)| *class == event.class()).unwrap_or_else(|| {
            classes.push((event.class(), EventMetric::default()));
            classes.len() - 1
        });
        let sum = &mut classes[at].1;
        *sum = EventMetric {
            waits: sum.waits + m.waits,
            us: sum.us + m.us,
            waits_fg: sum.waits_fg + m.waits_fg,
            us_fg: sum.us_fg + m.us_fg,
            waiting: sum.waiting + m.waiting,
        };
    }
    // The share of a class in DB time counts the waits of user sessions only.
    let long = s.instance.metrics().intervals(Group::Long);
    let at = METRICS.iter().position(|m| m.name == "Database Time Per Sec");
    let rate = at.and_then(|at| long.first()?.values.get(at).copied()).unwrap_or(0.0);
    let seconds = end.saturating_sub(begin) as f64 / 1e9;
    let db_time_us = rate * 1e4 * seconds;
    classes.sort_by_key(|(class, _)| class.number());
    let row = |(class, m): &(WaitClass, EventMetric)| {
        let mut row = times(begin, end);
        let share = match *class {
            WaitClass::Idle => 0.0,
            _ if db_time_us > 0.0 => (100.0 * m.us_fg as f64 / db_time_us).min(100.0),
            _ => 0.0,
        };
        let waiters = if seconds > 0.0 { m.us as f64 / 1e6 / seconds } else { 0.0 };
        row.extend([n(class.id()), n(class.number()), n(m.waiting), real(waiters), real(share)]);
        row.extend([cs(m.us), n(m.waits), cs(m.us_fg), n(m.waits_fg), n(0u32)]);
        row
    };
    classes.iter().map(row).collect()
}
