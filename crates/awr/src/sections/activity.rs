//! Statistics of the instance.

use crate::Period;
use crate::doc::{Cell, Section, left, number, section};

/// Statistics that are levels, not totals.
pub const ABSOLUTE: &[&str] = &["logons current", "opened cursors current", "session cursor cache count"];

pub fn sections(p: &Period) -> Vec<Section> {
    vec![activity(p), absolute(p), thread(p)]
}

fn activity(p: &Period) -> Section {
    let added = p.stats.keys().filter(|name| !ABSOLUTE.contains(&name.as_str()) && p.stat(name) > 0);
    let mut names: Vec<&String> = added.collect();
    names.sort_by_key(|name| name.to_lowercase());
    let row = |name: &&String| {
        let n = p.stat(name);
        vec![
            Cell::text(name.as_str()),
            Cell::Count(n),
            Cell::Decimal(n as f64 / p.elapsed_s, 1),
            Cell::ratio(n as f64, p.transactions() as f64, 1),
        ]
    };
    let columns = vec![left("Statistic", 32), number("Total", 18), number("per Second", 14), number("per Trans", 13)];
    let rows = names.iter().map(row).collect();
    let summary = "This table displays instance activity statistics. For each instance, activity total, activity per second, and activity per \
                   transaction are displayed";
    section(
        "Instance Activity Stats",
        summary,
        &["ordered by Statistic; those without an increase are left out"],
        columns,
        rows,
    )
}

fn absolute(p: &Period) -> Section {
    let row = |name: &&str| {
        let (begin, end) = p.stats.get(*name).copied()?;
        (begin > 0 || end > 0).then(|| vec![Cell::text(*name), Cell::Count(begin), Cell::Count(end)])
    };
    let columns = vec![left("Statistic", 32), number("Begin Value", 15), number("End Value", 15)];
    let rows = ABSOLUTE.iter().filter_map(row).collect();
    let summary = "This table displays begin and end statistics values for statistics that do not accumulate";
    section("Instance Activity Stats - Absolute Values", summary, &["Values at both ends"], columns, rows)
}

/// Log switches are the log sequence numbers that began in the period.
fn thread(p: &Period) -> Section {
    let rows = p.log_switches.map(|n| {
        vec![Cell::text("log switches (derived)"), Cell::Count(n), Cell::Decimal(n as f64 * 3600.0 / p.elapsed_s, 2)]
    });
    let columns = vec![left("Statistic", 32), number("Total", 18), number("per Hour", 9)];
    let summary = "This table displays thread activity statistics in the instance";
    section("Instance Activity Stats - Thread Activity", summary, &[], columns, rows.into_iter().collect())
}
