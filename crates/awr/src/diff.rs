//! Comparison of two periods: the figures of both, and the difference of the second from the first.
//!
//! Rows are ordered by the difference, the largest first. `%Diff` is relative to the first period: empty when both
//! figures are 0, N/A when only the first is.

use crate::doc::{Cell, Column, Group, Report, Section, below, by_most, left, number, section};
use crate::loader::Ends;
use crate::period::Statement;
use crate::sections::{efficiencies, foreground, load_lines};
use crate::{Period, Source};
use std::collections::BTreeMap;
use types::Result;

/// Rows of a list of statements.
const SHOWN: usize = 20;

/// The two periods of a comparison.
pub struct Comparison {
    pub first: Period,
    pub second: Period,
}

impl Comparison {
    /// # Errors
    /// As [`Period::load`].
    pub fn load(source: &mut dyn Source, first: (i64, i64), second: (i64, i64)) -> Result<Comparison> {
        Ok(Comparison {
            first: Period::load(source, first.0, first.1)?,
            second: Period::load(source, second.0, second.1)?,
        })
    }

    fn each<T>(&self, f: impl Fn(&Period) -> T) -> [T; 2] {
        [f(&self.first), f(&self.second)]
    }
}

/// The difference of the second figure, in per cent of the first.
fn percent([first, second]: [f64; 2]) -> Cell {
    match (first == 0.0, second == 0.0) {
        (true, true) => Cell::Null,
        (true, false) => Cell::text("N/A"),
        _ => Cell::Decimal(100.0 * (second - first) / first, 1),
    }
}

fn difference([first, second]: [f64; 2], decimals: usize) -> Cell {
    Cell::Decimal(second - first, decimals)
}

fn decimals(both: [f64; 2], decimals: usize) -> [Cell; 2] {
    both.map(|value| if value.is_nan() { Cell::Null } else { Cell::Decimal(value, decimals) })
}

/// Sorts by the difference of two figures, the largest first, then by name.
fn by_distance<T>(rows: &mut [T], figures: impl Fn(&T) -> [f64; 2], name: impl Fn(&T) -> String) {
    rows.sort_by(|a, b| {
        let distance = |row: &T| (figures(row)[1] - figures(row)[0]).abs();
        distance(b).total_cmp(&distance(a)).then_with(|| name(a).cmp(&name(b)))
    });
}

/// Builds the report of two periods.
pub fn build(two: &Comparison) -> Report {
    let groups = vec![
        Group {
            title: "Report Summary",
            sections: vec![
                periods(two),
                host(two),
                memory(two),
                load_profile(two),
                efficiency(two),
                top_events(&two.first, "Top Timed Events - First Period"),
                top_events(&two.second, "Top Timed Events - Second Period"),
            ],
        },
        Group { title: "Time Model Statistics", sections: vec![time_model(two), os_statistics(two)] },
        Group {
            title: "Wait Events",
            sections: vec![
                wait_classes(two),
                events(two, "Foreground Wait Events", false),
                events(two, "Background Wait Events", true),
            ],
        },
        Group { title: "Top SQL", sections: statements(two) },
        Group { title: "Instance Activity Statistics", sections: vec![activity(two)] },
        Group { title: "IO Statistics", sections: vec![files(two)] },
        Group { title: "Wait Statistics", sections: vec![buffer_waits(two), enqueues(two)] },
        Group { title: "Latch Statistics", sections: vec![latches(two), mutexes(two)] },
        Group { title: "Cache Statistics", sections: vec![row_cache(two), library_cache(two)] },
        Group { title: "init.ora Parameters", sections: vec![parameters(two)] },
    ];
    let [a, b] = two.each(|p| format!("{}-{}", p.begin.id, p.end.id));
    let (db, instance) = (&two.first.db_name, &two.first.instance);
    Report {
        heading: "WORKLOAD REPOSITORY COMPARE PERIOD REPORT",
        title: format!("AWR Compare Period Report for DB: {db}, Inst: {instance}, Snaps: {a} and {b}"),
        running_head: format!("DB/Inst: {db}/{instance}  Snaps: {a}, {b}"),
        statements: named(&groups, two),
        findings: Vec::new(),
        groups,
    }
}

fn named(groups: &[Group], two: &Comparison) -> Vec<(String, String)> {
    let mut all = crate::sections::named_in(groups, &two.first);
    for (at, (_, text)) in crate::sections::named_in(groups, &two.second).into_iter().enumerate() {
        if all[at].1.is_empty() {
            all[at].1 = text;
        }
    }
    all
}

fn users(p: &Period) -> f64 {
    p.db_time_us() as f64 / 1e6 / p.elapsed_s
}

fn periods(two: &Comparison) -> Section {
    let row = |name: &str, p: &Period| {
        vec![
            Cell::text(name),
            Cell::Count(p.begin.id.unsigned_abs()),
            Cell::text(&p.begin.time),
            Cell::Count(p.end.id.unsigned_abs()),
            Cell::text(&p.end.time),
            Cell::Decimal(users(p), 2),
            Cell::Decimal(p.elapsed_s / 60.0, 2),
            Cell::Decimal(p.db_time_us() as f64 / 6e7, 2),
        ]
    };
    let mut rows = vec![row("1st", &two.first), row("2nd", &two.second)];
    let mut last = vec![Cell::text("%Diff"), Cell::Null, Cell::Null, Cell::Null, Cell::Null];
    last.push(percent(two.each(users)));
    last.push(percent(two.each(|p| p.elapsed_s)));
    last.push(percent(two.each(|p| p.db_time_us() as f64)));
    rows.push(last);
    let columns = vec![
        left("Snapshot|Set", 8),
        number("Begin|Snap Id", 8),
        left("Begin|Snap Time", 18),
        number("End|Snap Id", 8),
        left("End|Snap Time", 18),
        number("Avg Active|Users", 10),
        number("Elapsed|Time (min)", 10),
        number("DB time|(min)", 10),
    ];
    section("Snapshot Sets", "This table displays the two periods of snapshots", &[], columns, rows)
}

fn host(two: &Comparison) -> Section {
    let now = |name: &'static str| two.each(|p| p.os.get(name).map_or(0.0, |ends| ends.1));
    let load = |end: bool| two.each(|p| p.os.get("LOAD").map_or(0.0, |(first, last)| if end { *last } else { *first }));
    let share = |names: &'static [&'static str]| {
        two.each(|p| {
            let all = p.os_added("BUSY_TIME") + p.os_added("IDLE_TIME") + p.os_added("IOWAIT_TIME");
            let part: f64 = names.iter().map(|name| p.os_added(name)).sum();
            if all > 0.0 { 100.0 * part / all } else { 0.0 }
        })
    };
    let memory = now("PHYSICAL_MEMORY_BYTES").map(|bytes| bytes / f64::from(1 << 20));
    let lines = [
        ("Number of CPUs", now("NUM_CPUS"), 0),
        ("Number of CPU Cores", now("NUM_CPU_CORES"), 0),
        ("Number of CPU Sockets", now("NUM_CPU_SOCKETS"), 0),
        ("Physical Memory (MB)", memory, 1),
        ("Load at Start Snapshot", load(false), 2),
        ("Load at End Snapshot", load(true), 2),
        ("%User Time", share(&["USER_TIME", "NICE_TIME"]), 1),
        ("%System Time", share(&["SYS_TIME"]), 1),
        ("%Idle Time", share(&["IDLE_TIME"]), 1),
        ("%IO Wait Time", share(&["IOWAIT_TIME"]), 1),
    ];
    compared("Host Configuration Comparison", "This table displays host configuration and load of both periods", &lines)
}

/// A section of names with both values, their difference and its percentage.
fn compared(title: &str, summary: &'static str, lines: &[(&str, [f64; 2], usize)]) -> Section {
    let row = |(name, both, n): &(&str, [f64; 2], usize)| {
        let [first, second] = decimals(*both, *n);
        vec![Cell::text(*name), first, second, difference(*both, *n), percent(*both)]
    };
    let columns = vec![left("", 28), number("1st", 14), number("2nd", 14), number("Diff", 12), number("%Diff", 8)];
    section(title, summary, &[], columns, lines.iter().map(row).collect())
}

fn memory(two: &Comparison) -> Section {
    let mb = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let area = |name: &'static str| {
        two.each(|p| {
            let found = p.sga.iter().find(|e| e.name() == name);
            mb(found.and_then(|e| e.end.first().copied()).unwrap_or(0))
        })
    };
    let all = two.each(|p| mb(p.sga.iter().map(|e| e.end.first().copied().unwrap_or(0)).sum()));
    let block = two.each(|p| p.block_size as f64 / 1024.0);
    let lines = [
        ("SGA (MB)", all, 1),
        ("Database Buffers (MB)", area("Database Buffers"), 1),
        ("Variable Size (MB)", area("Variable Size"), 1),
        ("Redo Buffers (MB)", area("Redo Buffers"), 1),
        ("Std Block Size (KB)", block, 0),
    ];
    compared("Cache Sizes", "This table displays sizes of the SGA at the end of both periods", &lines)
}

fn load_profile(two: &Comparison) -> Section {
    let [first, second] = two.each(load_lines);
    let rows = first.iter().zip(&second).map(|((name, a, _), (_, b, _))| {
        let a_second = a / two.first.elapsed_s;
        let b_second = b / two.second.elapsed_s;
        let each = |value: f64, p: &Period| value / (p.transactions() as f64);
        let (a_each, b_each) = (each(*a, &two.first), each(*b, &two.second));
        let [first, second] = decimals([a_second, b_second], 1);
        let mut row = vec![Cell::text(format!("{name}:")), first, second, percent([a_second, b_second])];
        let is_divided = *name != "Transactions" && a_each.is_finite() && b_each.is_finite();
        match is_divided {
            true => row.extend(decimals([a_each, b_each], 1).into_iter().chain([percent([a_each, b_each])])),
            false => row.extend([Cell::Null, Cell::Null, Cell::Null]),
        }
        row
    });
    let columns = vec![
        left("", 18),
        number("1st|per sec", 15),
        number("2nd|per sec", 15),
        number("%Diff", 8),
        number("1st|per txn", 13),
        number("2nd|per txn", 13),
        number("%Diff", 8),
    ];
    section("Load Profile", "This table displays load profile of both periods", &[], columns, rows.collect())
}

fn efficiency(two: &Comparison) -> Section {
    let [first, second] = two.each(efficiencies);
    let rows = first.iter().zip(&second).map(|((name, a), (_, b))| {
        let words: Vec<&str> = name.split_whitespace().collect();
        let [a_cell, b_cell] = decimals([*a, *b], 2);
        vec![Cell::text(format!("{}:", words.join(" "))), a_cell, b_cell, difference([*a, *b], 2)]
    });
    let columns = vec![left("", 30), number("1st", 10), number("2nd", 10), number("Diff", 10)];
    let summary = "This table displays instance efficiency percentages of both periods";
    section("Instance Efficiency Percentages", summary, &[], columns, rows.collect())
}

fn top_events(p: &Period, title: &str) -> Section {
    let mut all: Vec<(String, String, Option<u64>, u64)> =
        foreground(p).into_iter().map(|(event, class, waits, us)| (event, class, Some(waits), us)).collect();
    all.push(("CPU time".into(), String::new(), None, p.time_us("DB CPU")));
    by_most(&mut all, |r| r.3, |r| r.0.clone());
    let row = |(event, class, waits, us): (String, String, Option<u64>, u64)| {
        vec![
            Cell::text(event),
            Cell::text(class),
            waits.map_or(Cell::Null, Cell::Count),
            Cell::Decimal(us as f64 / 1e6, 1),
            waits.map_or(Cell::Null, |waits| Cell::ratio(us as f64 / 1e3, waits as f64, 2)),
            Cell::percent(us as f64, p.db_time_us() as f64, 1),
        ]
    };
    let rows = all.into_iter().filter(|r| r.3 > 0).take(10).map(row).collect();
    let columns = vec![
        left("Event", 30),
        left("Wait Class", 14),
        number("Waits", 12),
        number("Time (s)", 10),
        number("Avg Time|(ms)", 9),
        number("%DB time", 8),
    ];
    section(title, "This table displays top timed events of a period", &[], columns, rows)
}

fn time_model(two: &Comparison) -> Section {
    let names = keys(two, |p| p.times.keys().cloned().collect());
    let mut rows: Vec<(String, [f64; 2], [f64; 2])> = names
        .into_iter()
        .map(|name| {
            let us = two.each(|p| p.time_us(&name) as f64);
            let share = two.each(|p| 100.0 * p.time_us(&name) as f64 / (p.db_time_us() as f64).max(1.0));
            (name, us, share)
        })
        .filter(|(_, us, _)| us.iter().any(|us| *us > 0.0))
        .collect();
    by_distance(&mut rows, |r| r.2, |r| r.0.clone());
    let is_part = |name: &str| !name.starts_with("background") && name != "DB time";
    let row = |(name, us, share): &(String, [f64; 2], [f64; 2])| {
        let mut row = vec![Cell::text(name)];
        match is_part(name) {
            true => row.extend(decimals(*share, 1).into_iter().chain([difference(*share, 1)])),
            false => row.extend([Cell::Null, Cell::Null, Cell::Null]),
        }
        row.extend(decimals(us.map(|us| us / 1e6), 2));
        row.push(percent(*us));
        row
    };
    let columns = vec![
        left("Statistic", 36),
        number("% DB time|1st", 9),
        number("|2nd", 7),
        number("|Diff", 7),
        number("Time (s)|1st", 12),
        number("|2nd", 12),
        number("|%Diff", 8),
    ];
    let notes = ["ordered by how far apart the shares of DB time are"];
    let summary = "This table displays different time model statistics of both periods";
    section("Time Model Statistics", summary, &notes, columns, rows.iter().map(row).collect())
}

fn os_statistics(two: &Comparison) -> Section {
    let names = keys(two, |p| p.os.keys().cloned().collect());
    let value = |p: &Period, name: &str| match name.ends_with("_TIME") {
        true => p.os_added(name),
        false => p.os.get(name).map_or(0.0, |ends| ends.1),
    };
    let rows = names.iter().map(|name| {
        let both = two.each(|p| value(p, name));
        let [first, second] = decimals(both, if name == "LOAD" { 2 } else { 0 });
        vec![Cell::text(name), first, second, percent(both)]
    });
    let columns = vec![left("Statistic", 28), number("1st", 20), number("2nd", 20), number("%Diff", 9)];
    let notes = ["Times are increases, in hundredths of a second; others are values at the end"];
    let summary = "This table displays operating systems statistics of both periods";
    section("Operating System Statistics", summary, &notes, columns, rows.collect())
}

/// The names in either period, in order.
fn keys(two: &Comparison, names: impl Fn(&Period) -> Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = two.each(names).concat();
    all.sort_by_key(|name| name.to_lowercase());
    all.dedup();
    all
}

/// The increases in both periods, by key.
fn added<'a, const N: usize>(
    two: &'a Comparison,
    rows: impl Fn(&'a Period) -> &'a [Ends],
    figures: impl Fn(&Ends) -> [u64; N],
) -> Vec<(Vec<String>, [[f64; N]; 2])> {
    let mut all: BTreeMap<&[String], [[f64; N]; 2]> = BTreeMap::new();
    for (at, p) in [&two.first, &two.second].into_iter().enumerate() {
        for e in rows(p) {
            all.entry(&e.key).or_insert([[0.0; N]; 2])[at] = figures(e).map(|n| n as f64);
        }
    }
    let is_any = |both: &[[f64; N]; 2]| both.iter().flatten().any(|n| *n > 0.0);
    all.into_iter().filter(|(_, both)| is_any(both)).map(|(key, both)| (key.to_vec(), both)).collect()
}

fn at<const N: usize>(both: &[[f64; N]; 2], n: usize) -> [f64; 2] {
    [both[0][n], both[1][n]]
}

fn quotient(part: [f64; 2], whole: [f64; 2]) -> [f64; 2] {
    [0, 1].map(|n| if whole[n] > 0.0 { part[n] / whole[n] } else { 0.0 })
}

const WAITS: usize = 0;
const US: usize = 1;

fn event_columns(name: &'static str) -> Vec<Column> {
    vec![
        left(name, 28),
        number("% DB time|1st", 9),
        number("|2nd", 6),
        number("|Diff", 7),
        number("Waits/s|1st", 10),
        number("|2nd", 10),
        number("|%Diff", 8),
        number("Time (s)|1st", 9),
        number("|2nd", 9),
        number("Avg|1st", 9),
        number("|2nd", 9),
    ]
}

fn event_row(two: &Comparison, name: &str, both: &[[f64; 2]; 2], whole: [f64; 2]) -> Vec<Cell> {
    let share = quotient(at(both, US), whole).map(|share| 100.0 * share);
    let rate = quotient(at(both, WAITS), two.each(|p| p.elapsed_s));
    let average = quotient(at(both, US), at(both, WAITS));
    let [share_1, share_2] = decimals(share, 1);
    let [rate_1, rate_2] = decimals(rate, 1);
    let [time_1, time_2] = decimals(at(both, US).map(|us| us / 1e6), 1);
    let average = |n: usize| if both[n][WAITS] > 0.0 { Cell::Micros(average[n]) } else { Cell::Null };
    vec![
        Cell::text(name),
        share_1,
        share_2,
        difference(share, 1),
        rate_1,
        rate_2,
        percent(rate),
        time_1,
        time_2,
        average(0),
        average(1),
    ]
}

fn wait_classes(two: &Comparison) -> Section {
    let mut classes: BTreeMap<String, [[f64; 2]; 2]> = BTreeMap::new();
    for (key, both) in added(two, |p| &p.events, |e| [e.added(3), e.added(5)]) {
        if key[1] != "Idle" {
            let sums = classes.entry(key[1].clone()).or_default();
            sums.iter_mut().flatten().zip(both.iter().flatten()).for_each(|(sum, n)| *sum += n);
        }
    }
    let mut rows: Vec<_> = classes.into_iter().collect();
    by_distance(&mut rows, |r| at(&r.1, US), |r| r.0.clone());
    let whole = two.each(|p| p.db_time_us() as f64);
    let rows = rows.iter().map(|(name, both)| event_row(two, name, both, whole)).collect();
    let notes = ["ordered by how far apart the times are"];
    section(
        "Wait Classes",
        "This table displays wait classes of both periods",
        &notes,
        event_columns("Wait Class"),
        rows,
    )
}

fn events(two: &Comparison, title: &str, background: bool) -> Section {
    let figures = |e: &Ends| match background {
        true => [e.added(0).saturating_sub(e.added(3)), e.added(2).saturating_sub(e.added(5))],
        false => [e.added(3), e.added(5)],
    };
    let mut rows = added(two, |p| &p.events, figures);
    by_distance(&mut rows, |r| at(&r.1, US), |r| r.0.concat());
    rows.sort_by_key(|r| r.0[1] == "Idle");
    let whole = two.each(|p| match background {
        true => p.time_us("background elapsed time") as f64,
        false => p.db_time_us() as f64,
    });
    let row = |(key, both): &(Vec<String>, [[f64; 2]; 2])| {
        // Idle time is not part of DB time.
        event_row(two, &key[0], both, if key[1] == "Idle" { [0.0; 2] } else { whole })
    };
    let mut columns = event_columns("Event");
    if background {
        columns[1].head = "% bg time|1st";
    }
    let notes = ["ordered by how far apart the times are (idle events last)"];
    let summary = "This table displays wait events of both periods";
    section(title, summary, &notes, columns, rows.iter().map(row).collect())
}

fn statements(two: &Comparison) -> Vec<Section> {
    let stat = |name: &'static str| two.each(|p| p.stat(name) as f64);
    let db_time = two.each(|p| p.db_time_us() as f64);
    let cpu = two.each(|p| p.time_us("DB CPU") as f64);
    vec![
        by_figure(two, "Top SQL Comparison by Elapsed Time", "Elapsed (s)|1st", |s| s.elapsed_us, db_time, 1e6),
        by_figure(two, "Top SQL Comparison by CPU Time", "CPU (s)|1st", |s| s.cpu_us, cpu, 1e6),
        by_figure(two, "Top SQL Comparison by Buffer Gets", "Gets|1st", |s| s.gets, stat("session logical reads"), 1.0),
        by_figure(two, "Top SQL Comparison by Physical Reads", "Reads|1st", |s| s.reads, stat("physical reads"), 1.0),
        by_figure(
            two,
            "Top SQL Comparison by Executions",
            "Executions|1st",
            |s| s.executions,
            stat("execute count"),
            1.0,
        ),
        by_figure(
            two,
            "Top SQL Comparison by Parse Calls",
            "Parse Calls|1st",
            |s| s.parse_calls,
            stat("parse count (total)"),
            1.0,
        ),
    ]
}

fn by_figure(
    two: &Comparison,
    title: &str,
    head: &'static str,
    figure: fn(&Statement) -> u64,
    whole: [f64; 2],
    unit: f64,
) -> Section {
    let none = Statement::default();
    let mut all: BTreeMap<&str, [&Statement; 2]> = BTreeMap::new();
    for (n, p) in [&two.first, &two.second].into_iter().enumerate() {
        for s in &p.statements {
            all.entry(&s.id).or_insert([&none, &none])[n] = s;
        }
    }
    let mut rows: Vec<_> = all.into_iter().filter(|(_, both)| both.iter().any(|s| figure(s) > 0)).collect();
    let share = |both: &[&Statement; 2]| quotient(both.map(|s| 100.0 * figure(s) as f64), whole);
    by_distance(&mut rows, |r| share(&r.1), |r| r.0.to_string());
    rows.truncate(SHOWN);
    let is_time = unit > 1.0;
    let row = |(id, both): &(&str, [&Statement; 2])| {
        let values = both.map(|s| figure(s) as f64 / unit);
        let executions = both.map(|s| s.executions as f64);
        let each = quotient(values, executions);
        let [share_1, share_2] = decimals(share(both), 1);
        let mut row = vec![share_1, share_2, difference(share(both), 1)];
        row.extend(decimals(values, if is_time { 2 } else { 0 }));
        row.push(percent(values));
        row.extend(both.map(|s| Cell::Count(s.executions)));
        row.extend(decimals(each, if is_time { 6 } else { 1 }));
        row.push(Cell::SqlId((*id).to_string()));
        let text = both.iter().map(|s| s.text.as_str()).find(|t| !t.is_empty()).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        row.push(Cell::text(words.join(" ").chars().take(230).collect::<String>()));
        row
    };
    let columns = vec![
        number("%Total|1st", 6),
        number("|2nd", 6),
        number("|Diff", 7),
        number(head, 12),
        number("|2nd", 12),
        number("|%Diff", 8),
        number("Executions|1st", 11),
        number("|2nd", 11),
        number("per Exec|1st", 11),
        number("|2nd", 11),
        left("SQL Id", 13),
        below("SQL Text"),
    ];
    let notes = [
        "ordered by how far apart the shares of the total are",
        "a statement of a block is in the figures of the block, too",
    ];
    section(title, "This table compares top SQL of both periods", &notes, columns, rows.iter().map(row).collect())
}

fn activity(two: &Comparison) -> Section {
    let is_total = |name: &String| !crate::sections::ABSOLUTE.contains(&name.as_str());
    let names = keys(two, |p| p.stats.keys().filter(|name| is_total(name)).cloned().collect());
    let rows = names.iter().filter_map(|name| {
        let values = two.each(|p| p.stat(name) as f64);
        if values == [0.0; 2] {
            return None;
        }
        let rate = quotient(values, two.each(|p| p.elapsed_s));
        let each = quotient(values, two.each(|p| p.transactions() as f64));
        let mut row = vec![Cell::text(name)];
        row.extend(values.map(|n| Cell::Count(n as u64)));
        row.push(percent(values));
        row.extend(decimals(rate, 1));
        row.push(percent(rate));
        row.extend(decimals(each, 1));
        row.push(percent(each));
        Some(row)
    });
    let columns = vec![
        left("Statistic", 32),
        number("Total|1st", 13),
        number("|2nd", 13),
        number("|%Diff", 8),
        number("per Second|1st", 10),
        number("|2nd", 10),
        number("|%Diff", 8),
        number("per Trans|1st", 10),
        number("|2nd", 10),
        number("|%Diff", 8),
    ];
    let summary = "This table displays instance activity statistics of both periods";
    section("Instance Activity Statistics", summary, &["ordered by Statistic"], columns, rows.collect())
}

/// A table of names with, for each figure, both values and their difference.
fn figures<const N: usize>(
    title: &str,
    summary: &'static str,
    names: &[(&'static str, usize)],
    heads: [(&'static str, bool); N],
    mut rows: Vec<(Vec<String>, [[f64; N]; 2])>,
    first: usize,
) -> Section {
    by_distance(&mut rows, |r| at(&r.1, first), |r| r.0.concat());
    let row = |(key, both): &(Vec<String>, [[f64; N]; 2])| {
        let mut row: Vec<Cell> = key.iter().take(names.len()).map(Cell::text).collect();
        for (n, (_, is_seconds)) in heads.iter().enumerate() {
            let both = at(both, n);
            match is_seconds {
                true => row.extend(decimals(both.map(|us| us / 1e6), 2)),
                false => row.extend(both.map(|n| Cell::Count(n as u64))),
            }
            row.push(percent(both));
        }
        row
    };
    let mut columns: Vec<Column> = names.iter().map(|(head, width)| left(head, *width)).collect();
    for (head, _) in heads {
        columns.extend([number(head, 12), number("|2nd", 12), number("|%Diff", 8)]);
    }
    let notes = ["ordered by how far apart the two are"];
    section(title, summary, &notes, columns, rows.iter().map(row).collect())
}

fn files(two: &Comparison) -> Section {
    let rows = added(two, |p| &p.files, |e| [e.added(0), e.added(1)]);
    let mut sums: BTreeMap<String, [[f64; 2]; 2]> = BTreeMap::new();
    for (key, both) in rows {
        let sum = sums.entry(key[0].clone()).or_default();
        sum.iter_mut().flatten().zip(both.iter().flatten()).for_each(|(sum, n)| *sum += n);
    }
    let rows = sums.into_iter().map(|(name, both)| (vec![name], both)).collect();
    let heads = [("Reads|1st", false), ("Writes|1st", false)];
    figures(
        "Tablespace IO Stats",
        "This table displays tablespace I/O of both periods",
        &[("Tablespace", 30)],
        heads,
        rows,
        0,
    )
}

fn buffer_waits(two: &Comparison) -> Section {
    let rows = added(two, |p| &p.buffer_waits, |e| [e.added(0), e.added(1) * 10_000]);
    let heads = [("Waits|1st", false), ("Time (s)|1st", true)];
    let summary = "This table displays buffer wait statistics of both periods";
    figures("Buffer Wait Statistics", summary, &[("Class", 20)], heads, rows, 1)
}

fn enqueues(two: &Comparison) -> Section {
    let rows = added(two, |p| &p.enqueues, |e| [e.added(3), e.added(4) * 1000]);
    let heads = [("Waits|1st", false), ("Time (s)|1st", true)];
    let summary = "This table displays enqueue activity of both periods";
    figures("Enqueue Activity", summary, &[("Type", 4), ("Reason", 30)], heads, rows, 1)
}

fn latches(two: &Comparison) -> Section {
    let rows = added(two, |p| &p.latches, |e| [e.added(0), e.added(1), e.added(2)]);
    let heads = [("Gets|1st", false), ("Misses|1st", false), ("Sleeps|1st", false)];
    let summary = "This table displays latch statistics of both periods";
    figures("Latch Activity", summary, &[("Latch Name", 26)], heads, rows, 2)
}

fn mutexes(two: &Comparison) -> Section {
    let rows = added(two, |p| &p.mutexes, |e| [e.added(0), e.added(1)]);
    let heads = [("Sleeps|1st", false), ("Time (s)|1st", true)];
    let summary = "This table displays mutex sleeps of both periods";
    figures("Mutex Sleep Summary", summary, &[("Mutex Type", 18), ("Location", 30)], heads, rows, 0)
}

fn row_cache(two: &Comparison) -> Section {
    let rows = added(two, |p| &p.row_cache, |e| [e.added(0), e.added(1)]);
    let heads = [("Gets|1st", false), ("Misses|1st", false)];
    let summary = "This table displays dictionary cache statistics of both periods";
    figures("Dictionary Cache Stats", summary, &[("Cache", 25)], heads, rows, 0)
}

fn library_cache(two: &Comparison) -> Section {
    let rows = added(two, |p| &p.library_cache, |e| [e.added(0), e.added(2), e.added(4)]);
    let heads = [("Gets|1st", false), ("Pins|1st", false), ("Reloads|1st", false)];
    let summary = "This table displays library cache activity of both periods";
    figures("Library Cache Activity", summary, &[("Namespace", 20)], heads, rows, 1)
}

/// Parameters with different values in the two periods.
fn parameters(two: &Comparison) -> Section {
    let value = |p: &Period, name: &str| p.parameters.iter().find(|r| r.0 == name).map(|r| r.2.clone());
    let names = keys(two, |p| p.parameters.iter().map(|r| r.0.clone()).collect());
    let rows = names.iter().filter_map(|name| {
        let [first, second] = two.each(|p| value(p, name));
        let shown = |v: Option<String>| v.map_or(Cell::text("(default)"), Cell::text);
        (first != second).then(|| vec![Cell::text(name), shown(first), shown(second)])
    });
    let columns = vec![left("Parameter Name", 40), left("1st", 40), left("2nd", 40)];
    let notes = ["parameters that differ, with their values at the end of each period"];
    section("init.ora Parameters", "This table displays parameters that differ", &notes, columns, rows.collect())
}

/// Rows of a plot: events and `DB CPU` of both periods, in seconds per second, the largest first.
pub fn pairs(two: &Comparison) -> Vec<(String, String, [f64; 2])> {
    let mut all: BTreeMap<(String, String), [f64; 2]> = BTreeMap::new();
    for (n, p) in [&two.first, &two.second].into_iter().enumerate() {
        let mut rows: Vec<(String, String, u64)> =
            foreground(p).into_iter().map(|(event, class, _, us)| (event, class, us)).collect();
        rows.push(("DB CPU".into(), "DB CPU".into(), p.time_us("DB CPU")));
        for (event, class, us) in rows {
            all.entry((event, class)).or_default()[n] = us as f64 / 1e6 / p.elapsed_s;
        }
    }
    let mut rows: Vec<_> = all.into_iter().map(|((event, class), both)| (event, class, both)).collect();
    rows.retain(|r| r.2[0].max(r.2[1]) > 0.0);
    rows.sort_by(|a, b| b.2[0].max(b.2[1]).total_cmp(&a.2[0].max(a.2[1])));
    rows.truncate(10);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::{Body, Table};

    fn has_rows(section: &Section) -> bool {
        matches!(&section.body, Body::Table(Table { rows, .. }) if !rows.is_empty())
    }

    fn period(gets: u64, elapsed_s: f64) -> Period {
        let latch = |name: &str, n: u64| Ends {
            key: vec![name.into()],
            begin: vec![5, 1, 0],
            end: vec![5 + n, 1 + n / 10, n / 100],
        };
        Period {
            elapsed_s,
            latches: vec![latch("redo allocation", 1000), latch("cache buffers chains", gets)],
            stats: [("user commits".to_string(), (0, 10)), ("execute count".to_string(), (7, 7 + gets))].into(),
            statements: vec![Statement {
                id: "abc".into(),
                executions: gets,
                elapsed_us: gets * 3,
                ..Statement::default()
            }],
            parameters: vec![("_spin_count".into(), "1".into(), gets.to_string())],
            times: [("DB time".to_string(), (0, gets * 10))].into(),
            ..Period::default()
        }
    }

    #[test]
    fn the_largest_difference_comes_first_with_both_figures() {
        let two = Comparison { first: period(2000, 10.0), second: period(6000, 20.0) };
        let Body::Table(table) = latches(&two).body else { panic!() };
        let shown: Vec<String> = table.rows[0].iter().map(Cell::shown).collect();
        assert_eq!(shown[..4], ["cache buffers chains", "2,000", "6,000", "200.0"]);
        let Body::Table(table) = activity(&two).body else { panic!() };
        let shown: Vec<String> = table.rows[0].iter().map(Cell::shown).collect();
        assert_eq!(
            shown,
            ["execute count", "2,000", "6,000", "200.0", "200.0", "300.0", "50.0", "200.0", "600.0", "200.0"]
        );
        let Body::Table(table) = parameters(&two).body else { panic!() };
        assert_eq!(table.rows, [vec![Cell::text("_spin_count"), Cell::text("2000"), Cell::text("6000")]]);
        let report = build(&two);
        assert!(report.groups.iter().flat_map(|g| &g.sections).filter(|s| has_rows(s)).count() > 10);
        assert!(crate::text::render(&report).lines().all(|l| l.chars().count() <= 132));
    }

    #[test]
    fn a_difference_of_nothing_is_nothing() {
        assert_eq!([[0.0, 0.0], [0.0, 2.0], [2.0, 1.0]].map(|both| percent(both).shown()), ["", "N/A", "-50.0"]);
    }
}
