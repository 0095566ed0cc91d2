//! Waits of users and of background processes.

use crate::Period;
use crate::doc::{Cell, Column, Section, average_us, by_most, left, number, section};
use crate::loader::Ends;
use std::collections::BTreeMap;

pub fn sections(p: &Period) -> Vec<Section> {
    let mut all = vec![wait_class(p), foreground(p), background(p), histogram(p)];
    all.extend(DETAILS.iter().map(|detail| histogram_detail(p, detail)));
    all
}

/// Waits, timeouts and microseconds of one kind of sessions.
struct Waits {
    name: String,
    class: String,
    waits: u64,
    timeouts: u64,
    us: u64,
}

fn of_users(e: &Ends) -> Waits {
    Waits { name: e.key[0].clone(), class: e.key[1].clone(), waits: e.added(3), timeouts: e.added(4), us: e.added(5) }
}

fn of_background(e: &Ends) -> Waits {
    let less = |all: usize, users: usize| e.added(all).saturating_sub(e.added(users));
    Waits { name: e.key[0].clone(), class: e.key[1].clone(), waits: less(0, 3), timeouts: less(1, 4), us: less(2, 5) }
}

/// Timeouts in per cent of waits: empty without timeouts, and 0 when the percentage rounds to 0.
fn timeouts(w: &Waits) -> Cell {
    if w.timeouts == 0 {
        Cell::Null
    } else {
        Cell::text(format!("{:.0}", 100.0 * w.timeouts as f64 / w.waits.max(1) as f64))
    }
}

fn wait_class(p: &Period) -> Section {
    let mut classes: Vec<Waits> = Vec::new();
    for w in p.events.iter().map(of_users).filter(|w| w.class != "Idle" && w.waits > 0) {
        match classes.iter_mut().find(|c| c.name == w.class) {
            Some(c) => (c.waits, c.timeouts, c.us) = (c.waits + w.waits, c.timeouts + w.timeouts, c.us + w.us),
            None => classes.push(Waits { name: w.class.clone(), ..w }),
        }
    }
    by_most(&mut classes, |w| w.us, |w| w.name.clone());
    let db_time = p.db_time_us() as f64;
    let mut rows: Vec<Vec<Cell>> = classes
        .iter()
        .map(|w| {
            vec![
                Cell::text(w.name.as_str()),
                Cell::Count(w.waits),
                timeouts(w),
                Cell::Decimal(w.us as f64 / 1e6, 1),
                average_us(w.us, w.waits),
                Cell::percent(w.us as f64, db_time, 1),
            ]
        })
        .collect();
    let cpu = p.time_us("DB CPU");
    if cpu > 0 {
        let share = Cell::percent(cpu as f64, db_time, 1);
        rows.push(vec![
            Cell::text("DB CPU"),
            Cell::Null,
            Cell::Null,
            Cell::Decimal(cpu as f64 / 1e6, 1),
            Cell::Null,
            share,
        ]);
    }
    let columns = vec![
        left("Wait Class", 20),
        number("Waits", 16),
        number("%Time|-outs", 5),
        number("Total Wait|Time (s)", 16),
        number("Avg|wait", 8),
        number("%DB time", 9),
    ];
    let notes = ["ordered by wait time desc, waits desc"];
    section("Foreground Wait Class", "This table displays foreground wait class statistics", &notes, columns, rows)
}

fn event_columns(share: &'static str) -> Vec<Column> {
    vec![
        left("Event", 26),
        number("Waits", 12),
        number("%Time|-outs", 5),
        number("Total Wait|Time (s)", 10),
        number("Avg|wait", 7),
        number("Waits|/txn", 8),
        number(share, 6),
    ]
}

/// Events by time, those of the class Idle last.
fn event_rows(p: &Period, mut waits: Vec<Waits>, whole_us: u64) -> Vec<Vec<Cell>> {
    waits.retain(|w| w.waits > 0 && (w.us >= 1000 || w.class == "Idle"));
    waits.sort_by_cached_key(|w| (w.class == "Idle", std::cmp::Reverse((w.us, w.waits)), w.name.clone()));
    let row = |w: &Waits| {
        vec![
            Cell::text(w.name.as_str()),
            Cell::Count(w.waits),
            timeouts(w),
            Cell::Decimal(w.us as f64 / 1e6, 1),
            average_us(w.us, w.waits),
            Cell::ratio(w.waits as f64, p.transactions() as f64, 1),
            if w.class == "Idle" { Cell::Null } else { Cell::percent(w.us as f64, whole_us as f64, 1) },
        ]
    };
    waits.iter().map(row).collect()
}

const NOTES: [&str; 2] = [
    "Events with a total wait time of a millisecond and more",
    "ordered by wait time desc, waits desc (idle events last)",
];

fn foreground(p: &Period) -> Section {
    let rows = event_rows(p, p.events.iter().map(of_users).collect(), p.db_time_us());
    let summary = "This table displays Foreground Wait Events and their wait statistics";
    section("Foreground Wait Events", summary, &NOTES, event_columns("% DB|time"), rows)
}

fn background(p: &Period) -> Section {
    let rows = event_rows(p, p.events.iter().map(of_background).collect(), p.time_us("background elapsed time"));
    let summary = "This table displays background wait events statistics";
    section("Background Wait Events", summary, &NOTES, event_columns("% bg|time"), rows)
}

/// The upper ends of the buckets, in microseconds; the last has none.
const BUCKETS_US: [u64; 7] = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 1_000_000];

/// A part of the histogram in finer steps: title, note, headings, and the upper ends of all columns but the last, in
/// microseconds.
struct Detail {
    title: &'static str,
    of: &'static str,
    heads: [&'static str; 8],
    limits_us: [u64; 7],
    /// Upper end of the waits counted in the first number column; they are longer than the first limit.
    up_to_us: u64,
}

const DETAILS: [Detail; 3] = [
    Detail {
        title: "Wait Event Histogram Detail (64 msec to 2 sec)",
        of: "Waits|64ms|to 2s",
        heads: ["<32ms", "<64ms", "<1/8s", "<1/4s", "<1/2s", "<1s", "<2s", ">=2s"],
        limits_us: [32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576, 2_097_152],
        up_to_us: 2_097_152,
    },
    Detail {
        title: "Wait Event Histogram Detail (4 sec to 2 min)",
        of: "Waits|4s|to 2m",
        heads: ["<2s", "<4s", "<8s", "<16s", "<32s", "< 1m", "< 2m", ">=2m"],
        limits_us: [2_097_152, 4_194_304, 8_388_608, 16_777_216, 33_554_432, 67_108_864, 134_217_728],
        up_to_us: 134_217_728,
    },
    Detail {
        title: "Wait Event Histogram Detail (4 min to 1 hr)",
        of: "Waits|4m|to 1h",
        heads: ["<2m", "<4m", "<8m", "<1/4h", "<1/2h", "<1h", "<2h", ">=2h"],
        limits_us: [134_217_728, 268_435_456, 536_870_912, 1_073_741_824, 2_147_483_648, 4_294_967_296, 8_589_934_592],
        up_to_us: 4_294_967_296,
    },
];

/// Events with waits in the range of a detail: all their waits by duration.
fn histogram_detail(p: &Period, detail: &Detail) -> Section {
    let mut events: BTreeMap<(bool, &str), (u64, [u64; 8])> = BTreeMap::new();
    for e in &p.histogram {
        let most: u64 = e.key[2].parse().unwrap_or(u64::MAX);
        let at = detail.limits_us.iter().position(|limit| most <= *limit).unwrap_or(7);
        let (inside, counts) = events.entry((e.key[1] == "Idle", &e.key[0])).or_default();
        counts[at] += e.added(0);
        // The range begins with the second column: waits of 32 to 64 ms are counted as 64 ms.
        if most > detail.limits_us[0] && most <= detail.up_to_us {
            *inside += e.added(0);
        }
    }
    let row = |((_, name), (inside, counts)): (&(bool, &str), &(u64, [u64; 8]))| {
        let all: u64 = counts.iter().sum();
        let mut row = vec![Cell::text(*name), Cell::Count(*inside)];
        row.extend(counts.iter().map(|n| Cell::percent(*n as f64, all as f64, 1)));
        row
    };
    let mut columns = vec![left("Event", 26), number(detail.of, 6)];
    columns.extend(detail.heads.map(|head| number(head, 5)));
    let notes = ["% of all waits of the event: empty is 0, .0 rounds to 0", "ordered by Event (idle events last)"];
    let rows = events.iter().filter(|(_, (inside, _))| *inside > 0).map(row).collect();
    let summary =
        "This table displays detailed wait event histogram. Waits are shown by how long they took, in finer steps";
    section(detail.title, summary, &notes, columns, rows)
}

fn histogram(p: &Period) -> Section {
    let mut events: BTreeMap<(bool, &str), [u64; 8]> = BTreeMap::new();
    for e in &p.histogram {
        let most: u64 = e.key[2].parse().unwrap_or(u64::MAX);
        // Waits are counted by powers of two of microseconds: 1,024 is the bucket of a millisecond.
        let at = BUCKETS_US.iter().position(|limit| most <= limit + limit / 20).unwrap_or(7);
        events.entry((e.key[1] == "Idle", &e.key[0])).or_default()[at] += e.added(0);
    }
    let row = |((_, name), counts): (&(bool, &str), &[u64; 8])| {
        let all: u64 = counts.iter().sum();
        let mut row = vec![Cell::text(*name), Cell::Count(all)];
        row.extend(counts.iter().map(|n| Cell::percent(*n as f64, all as f64, 1)));
        row
    };
    let columns = vec![
        left("Event", 26),
        number("Total|Waits", 6),
        number("<1ms", 5),
        number("<2ms", 5),
        number("<4ms", 5),
        number("<8ms", 5),
        number("<16ms", 5),
        number("<32ms", 5),
        number("<=1s", 5),
        number(">1s", 5),
    ];
    let notes = [
        "% of Waits: empty is 0, .0 rounds to 0",
        "Waits are counted by powers of two: <1ms is up to 1.024 ms, and so on",
        "ordered by Event (idle events last)",
    ];
    let rows = events.iter().map(row).collect();
    let summary =
        "This table displays total number of waits, and information about total wait time, for each wait event";
    section("Wait Event Histogram", summary, &notes, columns, rows)
}
