//! Waits: `v$event_name`, `v$session_wait`, `v$session_event`, `v$system_event`, histograms.

use process::{EventSums, Whose};
use wait::{Event, HISTOGRAM_BUCKETS, WaitClass};

use crate::column::{Row, Type, Type::*, address, n, t};
use crate::source::Source;

pub const EVENT_NAME: &[(&str, Type)] = &[
    ("EVENT#", N),
    ("EVENT_ID", N),
    ("NAME", V(64)),
    ("PARAMETER1", V(64)),
    ("PARAMETER2", V(64)),
    ("PARAMETER3", V(64)),
    ("WAIT_CLASS_ID", N),
    ("WAIT_CLASS#", N),
    ("WAIT_CLASS", V(64)),
    ("DISPLAY_NAME", V(64)),
];

/// The columns of `v$session_wait`, which `v$session` repeats.
pub const SESSION_WAIT: &[(&str, Type)] = &[
    ("SID", N),
    ("SEQ#", N),
    ("EVENT", V(64)),
    ("P1TEXT", V(64)),
    ("P1", N),
    ("P1RAW", R(8)),
    ("P2TEXT", V(64)),
    ("P2", N),
    ("P2RAW", R(8)),
    ("P3TEXT", V(64)),
    ("P3", N),
    ("P3RAW", R(8)),
    ("WAIT_CLASS_ID", N),
    ("WAIT_CLASS#", N),
    ("WAIT_CLASS", V(64)),
    ("WAIT_TIME", N),
    ("SECONDS_IN_WAIT", N),
    ("STATE", V(19)),
    ("WAIT_TIME_MICRO", N),
    ("TIME_REMAINING_MICRO", N),
    ("TIME_SINCE_LAST_WAIT_MICRO", N),
];

pub const SESSION_WAIT_HISTORY: &[(&str, Type)] = &[
    ("SID", N),
    ("SEQ#", N),
    ("EVENT#", N),
    ("EVENT", V(64)),
    ("P1TEXT", V(64)),
    ("P1", N),
    ("P2TEXT", V(64)),
    ("P2", N),
    ("P3TEXT", V(64)),
    ("P3", N),
    ("WAIT_TIME", N),
    ("WAIT_TIME_MICRO", N),
    ("TIME_SINCE_LAST_WAIT_MICRO", N),
    ("CON_ID", N),
];

pub const SESSION_EVENT: &[(&str, Type)] = &[
    ("SID", N),
    ("EVENT", V(64)),
    ("TOTAL_WAITS", N),
    ("TOTAL_TIMEOUTS", N),
    ("TIME_WAITED", N),
    ("AVERAGE_WAIT", N),
    ("MAX_WAIT", N),
    ("TIME_WAITED_MICRO", N),
    ("EVENT_ID", N),
    ("WAIT_CLASS_ID", N),
    ("WAIT_CLASS#", N),
    ("WAIT_CLASS", V(64)),
];

pub const SYSTEM_EVENT: &[(&str, Type)] = &[
    ("EVENT", V(64)),
    ("TOTAL_WAITS", N),
    ("TOTAL_TIMEOUTS", N),
    ("TIME_WAITED", N),
    ("AVERAGE_WAIT", N),
    ("TIME_WAITED_MICRO", N),
    ("TOTAL_WAITS_FG", N),
    ("TOTAL_TIMEOUTS_FG", N),
    ("TIME_WAITED_FG", N),
    ("AVERAGE_WAIT_FG", N),
    ("TIME_WAITED_MICRO_FG", N),
    ("MAX_WAIT", N),
    ("EVENT_ID", N),
    ("WAIT_CLASS_ID", N),
    ("WAIT_CLASS#", N),
    ("WAIT_CLASS", V(64)),
];

pub const SYSTEM_WAIT_CLASS: &[(&str, Type)] = &[
    ("WAIT_CLASS_ID", N),
    ("WAIT_CLASS#", N),
    ("WAIT_CLASS", V(64)),
    ("TOTAL_WAITS", N),
    ("TIME_WAITED", N),
    ("TOTAL_WAITS_FG", N),
    ("TIME_WAITED_FG", N),
];

pub const EVENT_HISTOGRAM: &[(&str, Type)] =
    &[("EVENT#", N), ("EVENT", V(64)), ("WAIT_TIME_MILLI", N), ("WAIT_COUNT", N)];

pub const EVENT_HISTOGRAM_MICRO: &[(&str, Type)] =
    &[("EVENT#", N), ("EVENT", V(64)), ("WAIT_TIME_MICRO", N), ("WAIT_COUNT", N)];

fn class(event: Event) -> [types::Value; 3] {
    let class = event.class();
    [n(class.id()), n(class.number()), t(class.name())]
}

pub fn event_name(_: &Source<'_>) -> Vec<Row> {
    Event::all()
        .map(|event| {
            let [p1, p2, p3] = event.parameters();
            let mut row = vec![n(event.number()), n(event.id()), t(event.name()), t(p1), t(p2), t(p3)];
            row.extend(class(event));
            row.push(t(event.name()));
            row
        })
        .collect()
}

/// The columns of [`SESSION_WAIT`] after SID; NULL before the first wait of a session.
pub fn wait_columns(s: &Source<'_>, sid: u32) -> Row {
    let seen = s.processes.wait_slot(sid).and_then(|slot| slot.view(os::clock::now_ns()));
    let Some(w) = seen else {
        return vec![types::Value::Null; SESSION_WAIT.len() - 1];
    };
    let texts = w.event.parameters();
    let mut row = vec![n(w.sequence), t(w.event.name())];
    for (text, p) in texts.iter().zip(w.p) {
        row.extend([t(text), n(p), address(p)]);
    }
    row.extend(class(w.event));
    // WAIT_TIME: 0 while waiting, hundredths of a second of the last wait, -1 for less than one.
    let (wait_time, in_wait_s) = match w.state {
        wait::WaitState::Waiting => (n(0u64), w.wait_us / 1_000_000),
        wait::WaitState::WaitedKnownTime(us) => (n(us / 10_000), (w.wait_us + w.since_us) / 1_000_000),
        wait::WaitState::WaitedShortTime(_) => {
            (types::Value::Number(types::Number::from(-1i64)), (w.wait_us + w.since_us) / 1_000_000)
        }
    };
    row.extend([wait_time, n(in_wait_s), t(w.state.text()), n(w.wait_us), types::Value::Null, n(w.since_us)]);
    row
}

pub fn session_wait(s: &Source<'_>) -> Vec<Row> {
    let live = s.processes.live();
    live.map(|(sid, _)| std::iter::once(n(sid)).chain(wait_columns(s, sid)).collect()).collect()
}

/// `v$session_wait_history`: the last ten ended waits of each session, the latest first.
pub fn session_wait_history(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, _) in s.processes.live() {
        let waits = s.processes.wait_slot(sid).map(|slot| slot.history()).unwrap_or_default();
        for (at, w) in waits.iter().enumerate() {
            let mut row = vec![n(sid), n(at as u64 + 1), n(w.event.number()), t(w.event.name())];
            for (text, p) in w.event.parameters().iter().zip(w.p) {
                row.extend([t(text), n(p)]);
            }
            row.extend([n(w.wait_us / 10_000), n(w.wait_us), n(w.gap_us), n(0u64)]);
            rows.push(row);
        }
    }
    rows
}

fn average_cs(waits: u64, us: u64) -> types::Value {
    if waits == 0 {
        return n(0u64);
    }
    let hundredths = types::Number::from_u64(us / 100).div(&types::Number::from_u64(waits * 100));
    hundredths.map_or(types::Value::Null, |average| types::Value::Number(average.round(2)))
}

pub fn session_event(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, _) in s.processes.live() {
        let Some(totals) = s.processes.event_totals(sid) else {
            continue;
        };
        for (event, total) in totals.iter().filter(|(_, total)| total.waits() > 0) {
            let (waits, us) = (total.waits(), total.time_us());
            let mut row = vec![
                n(sid),
                t(event.name()),
                n(waits),
                n(total.timeouts()),
                n(us / 10_000),
                average_cs(waits, us),
                n(total.max_us() / 10_000),
                n(us),
                n(event.id()),
            ];
            row.extend(class(event));
            rows.push(row);
        }
    }
    rows
}

pub fn system_event(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for event in Event::all().filter(|event| event.occurs()) {
        let [all, users] = s.processes.system_event_sums(s.p, event);
        if all.waits == 0 {
            continue;
        }
        let sums = |e: &EventSums| [n(e.waits), n(e.timeouts), n(e.us / 10_000), average_cs(e.waits, e.us), n(e.us)];
        let mut row = vec![t(event.name())];
        row.extend(sums(&all));
        row.extend(sums(&users));
        row.extend([n(all.max_us / 10_000), n(event.id())]);
        row.extend(class(event));
        rows.push(row);
    }
    rows
}

/// Waits by class, of all sessions and of user sessions.
pub fn system_wait_class(s: &Source<'_>) -> Vec<Row> {
    let mut sums: Vec<(WaitClass, [u64; 4])> = Vec::new();
    for event in Event::all().filter(|event| event.occurs()) {
        let [all, users] = s.processes.system_event_sums(s.p, event);
        let more = [all.waits, all.us, users.waits, users.us];
        match sums.iter_mut().find(|(class, _)| *class == event.class()) {
            Some((_, sum)) => sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more),
            None => sums.push((event.class(), more)),
        }
    }
    sums.sort_by_key(|(class, _)| class.number());
    let row = |(class, [waits, us, users_waits, users_us]): (WaitClass, [u64; 4])| {
        let id = [n(class.id()), n(class.number()), t(class.name())];
        let figures = [n(waits), n(us / 10_000), n(users_waits), n(users_us / 10_000)];
        id.into_iter().chain(figures).collect()
    };
    sums.into_iter().filter(|(_, sums)| sums[0] > 0).map(row).collect()
}

pub fn event_histogram(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for event in Event::all().filter(|event| event.occurs()) {
        let (_, histogram) = s.processes.system_event(s.p, event, Whose::All);
        // The buckets are powers of two of microseconds. A millisecond counts as 1024 of them here, as in Oracle's
        // view.
        let mut sums: Vec<(u64, u64)> = Vec::new();
        for (power, count) in histogram.iter().enumerate().take(HISTOGRAM_BUCKETS) {
            let milli = (1u64 << power).div_ceil(1024);
            match sums.last_mut() {
                Some((last, sum)) if *last == milli => *sum += count,
                _ => sums.push((milli, *count)),
            }
        }
        for (milli, count) in sums.into_iter().filter(|(_, count)| *count > 0) {
            rows.push(vec![n(event.number()), t(event.name()), n(milli), n(count)]);
        }
    }
    rows
}

pub fn event_histogram_micro(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for event in Event::all().filter(|event| event.occurs()) {
        let (_, histogram) = s.processes.system_event(s.p, event, Whose::All);
        for (power, count) in histogram.iter().enumerate().filter(|(_, count)| **count > 0) {
            rows.push(vec![n(event.number()), t(event.name()), n(1u64 << power), n(*count)]);
        }
    }
    rows
}
