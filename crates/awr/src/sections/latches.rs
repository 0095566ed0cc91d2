//! Latches and mutexes.

use crate::Period;
use crate::doc::{Cell, Section, by_most, left, number, section};
use crate::loader::Ends;

const GETS: usize = 0;
const MISSES: usize = 1;
const SLEEPS: usize = 2;
const IMMEDIATE_GETS: usize = 3;
const IMMEDIATE_MISSES: usize = 4;
const SPIN_GETS: usize = 5;
const WAIT_US: usize = 6;

pub fn sections(p: &Period) -> Vec<Section> {
    vec![activity(p), breakdown(p), miss_sources(p), mutexes(p), parents(p), children(p)]
}

fn activity(p: &Period) -> Section {
    let mut all: Vec<&Ends> = p.latches.iter().filter(|e| e.added(GETS) + e.added(IMMEDIATE_GETS) > 0).collect();
    all.sort_by_key(|e| e.name().to_lowercase());
    let row = |e: &&Ends| {
        let (gets, misses) = (e.added(GETS), e.added(MISSES));
        vec![
            Cell::text(e.name()),
            Cell::Count(gets),
            Cell::percent(misses as f64, gets as f64, 1),
            Cell::ratio(e.added(SLEEPS) as f64, misses as f64, 1),
            Cell::Decimal(e.added(WAIT_US) as f64 / 1e6, 0),
            Cell::Count(e.added(IMMEDIATE_GETS)),
            Cell::percent(e.added(IMMEDIATE_MISSES) as f64, e.added(IMMEDIATE_GETS) as f64, 1),
        ]
    };
    let columns = vec![
        left("Latch Name", 24),
        number("Get|Requests", 14),
        number("Pct|Get|Miss", 6),
        number("Avg|Slps|/Miss", 6),
        number("Wait|Time|(s)", 6),
        number("NoWait|Requests", 12),
        number("Pct|NoWait|Miss", 6),
    ];
    let notes = [
        "\"Get Requests\", \"Pct Get Miss\" and \"Avg Slps/Miss\" are of gets that are",
        "  willing to wait; \"NoWait Requests\" and \"Pct NoWait Miss\" of those that are not",
    ];
    let summary = "This table displays latch statistics. Get requests, % get miss, wait time, noWait requests are displayed for each latch";
    section("Latch Activity", summary, &notes, columns, all.iter().map(row).collect())
}

fn breakdown(p: &Period) -> Section {
    let mut all: Vec<&Ends> = p.latches.iter().filter(|e| e.added(MISSES) > 0).collect();
    by_most(&mut all, |e| e.added(MISSES), |e| e.name().to_string());
    let row = |e: &&Ends| {
        let counts = [GETS, MISSES, SLEEPS, SPIN_GETS].map(|n| Cell::Count(e.added(n)));
        std::iter::once(Cell::text(e.name())).chain(counts).collect()
    };
    let columns = vec![
        left("Latch Name", 26),
        number("Get|Requests", 15),
        number("Misses", 12),
        number("Sleeps", 11),
        number("Spin|Gets", 11),
    ];
    let summary = "This table displays latch sleep statistics. Get requests, misses, sleeps, spin gets are displayed for each latch";
    section("Latch Sleep Breakdown", summary, &["ordered by misses desc"], columns, all.iter().map(row).collect())
}

fn miss_sources(p: &Period) -> Section {
    let mut all: Vec<&Ends> = p.latch_misses.iter().filter(|e| e.added(0) + e.added(1) > 0).collect();
    all.sort_by_cached_key(|e| (e.key[0].clone(), std::cmp::Reverse(e.added(1)), e.key[1].clone()));
    let row = |e: &&Ends| {
        vec![
            Cell::text(&e.key[0]),
            Cell::text(&e.key[1]),
            Cell::Count(e.added(0)),
            Cell::Count(e.added(1)),
            Cell::Count(e.added(2)),
        ]
    };
    let columns = vec![
        left("Latch Name", 24),
        left("Where", 26),
        number("NoWait|Misses", 7),
        number("Sleeps", 10),
        number("Waiter|Sleeps", 8),
    ];
    let notes = ["only latches with sleeps are shown", "ordered by name, sleeps desc"];
    let summary = "This table displays latch miss sources. Where, noWait misses, sleeps, waiter sleeps are displayed for each latch";
    section("Latch Miss Sources", summary, &notes, columns, all.iter().map(row).collect())
}

fn mutexes(p: &Period) -> Section {
    let mut all: Vec<&Ends> = p.mutexes.iter().filter(|e| e.added(0) > 0).collect();
    by_most(&mut all, |e| e.added(0), |e| e.key.concat());
    let row = |e: &&Ends| {
        vec![
            Cell::text(&e.key[0]),
            Cell::text(&e.key[1]),
            Cell::Count(e.added(0)),
            Cell::Decimal(e.added(1) as f64 / 1e3, 0),
        ]
    };
    let columns =
        vec![left("Mutex Type", 21), left("Location", 32), number("Sleeps", 12), number("Wait|Time (ms)", 12)];
    let summary = "This table displays mutex sleep summary. Mutex type, location, sleeps and wait time are displayed";
    section(
        "Mutex Sleep Summary",
        summary,
        &["ordered by number of sleeps desc"],
        columns,
        all.iter().map(row).collect(),
    )
}

fn parents(p: &Period) -> Section {
    let mut all: Vec<&Ends> = p.latch_parents.iter().filter(|e| e.added(SLEEPS) > 0).collect();
    by_most(&mut all, |e| e.added(SLEEPS), |e| e.name().to_string());
    let row = |e: &&Ends| {
        let counts = [GETS, MISSES, SLEEPS, SPIN_GETS].map(|n| Cell::Count(e.added(n)));
        std::iter::once(Cell::text(e.name())).chain(counts).collect()
    };
    let columns = vec![
        left("Latch Name", 26),
        number("Get|Requests", 14),
        number("Misses", 12),
        number("Sleeps", 11),
        number("Spin Gets", 11),
    ];
    let notes = ["only latches with sleeps are shown; taken by snapshots of level ALL"];
    section(
        "Parent Latch Statistics",
        "This table displays parent latch statistics",
        &notes,
        columns,
        all.iter().map(row).collect(),
    )
}

fn children(p: &Period) -> Section {
    let mut all: Vec<&Ends> = p.latch_children.iter().filter(|e| e.added(SLEEPS) > 0).collect();
    all.sort_by_cached_key(|e| (e.key[0].clone(), std::cmp::Reverse(e.added(GETS)), e.key[1].clone()));
    let row = |e: &&Ends| {
        let mut row = vec![Cell::text(&e.key[0]), Cell::text(&e.key[1])];
        row.extend([GETS, MISSES, SLEEPS, SPIN_GETS].map(|n| Cell::Count(e.added(n))));
        row
    };
    let columns = vec![
        left("Latch Name", 24),
        number("Child|Num", 8),
        number("Get|Requests", 14),
        number("Misses", 11),
        number("Sleeps", 9),
        number("Spin|Gets", 9),
    ];
    let notes =
        ["only latches with sleeps are shown; taken by snapshots of level ALL", "ordered by Latch Name, Gets desc"];
    section(
        "Child Latch Statistics",
        "This table displays child latch statistics",
        &notes,
        columns,
        all.iter().map(row).collect(),
    )
}
