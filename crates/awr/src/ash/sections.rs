//! The sections of samples.

use super::seen::{ON_CPU, Sample, Seen};
use crate::doc::{Cell, Column, Section, below, left, number, section, wrapped};
use std::collections::BTreeMap;

/// Rows of a list, and of the lists beside each row.
const SHOWN: usize = 15;
const BESIDE: usize = 3;

/// Slots of time in the last section.
const SLOTS: f64 = 10.0;

/// The sections of the report of the active session history.
pub fn all(seen: &Seen) -> Vec<Section> {
    let of_users = |foreground: bool| seen.samples.iter().filter(move |s| s.foreground == foreground).collect();
    vec![
        events(seen, "Top User Events", "This table displays top user events", of_users(true)),
        events(seen, "Top Background Events", "This table displays top background events", of_users(false)),
        parameters(seen),
        modules(seen),
        clients(seen),
        commands(seen),
        phases(seen),
        statements(seen),
        sessions(seen),
        blockers(seen),
        subprograms(seen),
        objects(seen),
        files(seen),
        latches(seen),
        over_time(seen),
    ]
}

/// The sections in the workload report, in its order.
pub fn kept(seen: &Seen) -> Vec<Section> {
    let nothing = |title: &str, summary: &'static str| section(title, summary, &[], Vec::new(), Vec::new());
    vec![
        statements(seen),
        // Sessions do not record the line of the plan that runs.
        nothing("Top SQL with Top Row Sources", "This table displays top SQL by the row sources that were sampled"),
        sessions(seen),
        blockers(seen),
        subprograms(seen),
        events(seen, "Top Events", "This table displays top events that were sampled", seen.samples.iter().collect()),
        parameters(seen),
        objects(seen),
        over_time(seen),
    ]
}

/// Groups samples by a key, the groups with the most seconds first.
fn grouped<'a, K: Ord + Clone>(
    samples: impl IntoIterator<Item = &'a Sample>,
    key: impl Fn(&Sample) -> Option<K>,
) -> Vec<(K, Vec<&'a Sample>)> {
    let mut groups: BTreeMap<K, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        if let Some(key) = key(sample) {
            groups.entry(key).or_default().push(sample);
        }
    }
    let mut all: Vec<_> = groups.into_iter().collect();
    all.sort_by(|a, b| seconds(&b.1).total_cmp(&seconds(&a.1)).then_with(|| a.0.cmp(&b.0)));
    all
}

fn seconds(samples: &[&Sample]) -> f64 {
    samples.iter().map(|s| s.seconds).sum()
}

fn whole(seen: &Seen) -> f64 {
    seen.samples.iter().map(|s| s.seconds).sum()
}

fn percent(samples: &[&Sample], all: f64) -> Cell {
    Cell::percent(seconds(samples), all, 2)
}

fn active(seen: &Seen, samples: &[&Sample]) -> Cell {
    Cell::Decimal(seconds(samples) / seen.elapsed_s(), 2)
}

fn event_of(s: &Sample) -> Option<String> {
    Some(s.event.clone())
}

/// The number of different values.
fn distinct<K: Ord>(samples: &[&Sample], key: impl Fn(&Sample) -> Option<K>) -> u64 {
    samples.iter().filter_map(|s| key(s)).collect::<std::collections::BTreeSet<K>>().len() as u64
}

fn said(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

fn events(seen: &Seen, title: &str, summary: &'static str, samples: Vec<&Sample>) -> Section {
    let all = whole(seen);
    let row = |(event, of): &(String, Vec<&Sample>)| {
        vec![Cell::text(event), Cell::text(&of[0].class), percent(of, all), active(seen, of)]
    };
    let rows = grouped(samples, event_of).iter().take(SHOWN).map(row).collect();
    let columns =
        vec![left("Event", 40), left("Event Class", 16), number("% Event", 10), number("Avg Active|Sessions", 10)];
    section(title, summary, &["% Event is of all samples"], columns, rows)
}

fn parameters(seen: &Seen) -> Section {
    let all = whole(seen);
    let waits = seen.samples.iter().filter(|s| s.event != ON_CPU);
    let mut rows = Vec::new();
    for (event, of) in grouped(waits, event_of).iter().take(SHOWN) {
        for (nth, (values, same)) in grouped(of.iter().copied(), |s| Some(s.p.clone())).iter().take(BESIDE).enumerate()
        {
            let [a, b, c] = &same[0].p_texts;
            let names = [a, b, c].map(|name| if name.is_empty() { "NOT DEFINED".into() } else { name.clone() });
            let quoted = values.clone().map(|value| format!("\"{value}\""));
            rows.push(vec![
                if nth == 0 { Cell::text(event) } else { Cell::Null },
                if nth == 0 { percent(of, all) } else { Cell::Null },
                Cell::text(quoted.join(",")),
                percent(same, all),
                Cell::text(if nth == 0 { format!("Parameters: {}", names.join(", ")) } else { String::new() }),
            ]);
        }
    }
    let columns = vec![
        left("Event", 28),
        number("% Event", 7),
        left("P1 Value, P2 Value, P3 Value", 32),
        number("% Activity", 10),
        below("Parameter 1, Parameter 2, Parameter 3"),
    ];
    let summary = "This table displays top event P1/P2/P3 values that were sampled";
    section("Top Event P1/P2/P3 Values", summary, &["the most frequent values of each event"], columns, rows)
}

fn modules(seen: &Seen) -> Section {
    let all = whole(seen);
    let service = |s: &Sample| if s.foreground { "SYS$USERS" } else { "SYS$BACKGROUND" };
    let module = |s: &Sample| if s.module.is_empty() { s.program.clone() } else { s.module.clone() };
    let mut rows = Vec::new();
    for ((service, module), of) in grouped(&seen.samples, |s| Some((service(s), module(s)))).iter().take(SHOWN) {
        for (nth, (action, same)) in
            grouped(of.iter().copied(), |s| Some(s.action.clone())).iter().take(BESIDE).enumerate()
        {
            let first = |cell: Cell| if nth == 0 { cell } else { Cell::Null };
            rows.push(vec![
                first(Cell::text(*service)),
                first(Cell::text(module)),
                first(percent(of, all)),
                Cell::text(if action.is_empty() { "UNNAMED" } else { action }),
                percent(same, all),
            ]);
        }
    }
    let columns = vec![
        left("Service", 14),
        left("Module", 26),
        number("% Activity", 10),
        left("Action", 18),
        number("% Action", 8),
    ];
    let notes = ["Module is the program's name where no module was set"];
    section("Top Service/Module", "This table displays top service/module that were sampled", &notes, columns, rows)
}

fn clients(seen: &Seen) -> Section {
    let all = whole(seen);
    let groups = grouped(&seen.samples, |s| Some((said(&s.client)?, s.user.clone(), s.program.clone())));
    let row = |((client, user, program), of): &((String, String, String), Vec<&Sample>)| {
        vec![Cell::text(client), percent(of, all), active(seen, of), Cell::text(user), Cell::text(program)]
    };
    let rows = groups.iter().take(SHOWN).map(row).collect();
    let columns = vec![
        left("Client ID", 24),
        number("% Activity", 10),
        number("Avg Active|Sessions", 10),
        left("User", 12),
        left("Program", 20),
    ];
    section("Top Client IDs", "This table displays top client ids that were sampled", &[], columns, rows)
}

fn commands(seen: &Seen) -> Section {
    let all = whole(seen);
    let groups = grouped(&seen.samples, |s| said(&s.command));
    let row = |(command, of): &(String, Vec<&Sample>)| {
        let statements = Cell::Count(distinct(of, |s| said(&s.sql)));
        vec![Cell::text(command), statements, percent(of, all), active(seen, of)]
    };
    let rows = groups.iter().take(SHOWN).map(row).collect();
    let columns = vec![
        left("SQL Command Type", 40),
        number("Distinct|SQLIDs", 10),
        number("% Activity", 10),
        number("Avg Active|Sessions", 10),
    ];
    let summary = "This table displays top SQL command types that were sampled";
    section("Top SQL Command Types", summary, &["SQL IDs: those that were sampled"], columns, rows)
}

fn phases(seen: &Seen) -> Section {
    const PHASES: [&str; 5] = ["Connection Management", "Parse", "Hard Parse", "SQL Execution", "PL/SQL Execution"];
    let all = whole(seen);
    let mut rows: Vec<(f64, Vec<Cell>)> = Vec::new();
    for (n, name) in PHASES.into_iter().enumerate() {
        let of: Vec<&Sample> = seen.samples.iter().filter(|s| s.phases[n]).collect();
        if !of.is_empty() {
            rows.push((seconds(&of), vec![Cell::text(name), percent(&of, all), active(seen, &of)]));
        }
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let columns = vec![left("Phase of Execution", 40), number("% Activity", 12), number("Avg Active|Sessions", 12)];
    let notes = ["A hard parse is a parse, too: phases may overlap"];
    let summary = "This table displays top phases of execution that were sampled";
    section("Top Phases of Execution", summary, &notes, columns, rows.into_iter().map(|(_, row)| row).collect())
}

/// Groups with the events of each: the cells before the events, the events, and the text under the first row.
fn with_events(
    of: &[&Sample],
    all: f64,
    before: Vec<Cell>,
    after: Vec<Cell>,
    under: Option<String>,
    rows: &mut Vec<Vec<Cell>>,
) {
    for (nth, (event, same)) in grouped(of.iter().copied(), event_of).iter().take(BESIDE).enumerate() {
        let shown = |cells: &[Cell]| if nth == 0 { cells.to_vec() } else { vec![Cell::Null; cells.len()] };
        let mut row = shown(&before);
        row.extend([Cell::text(event), percent(same, all)]);
        row.extend(shown(&after));
        if let Some(under) = &under {
            row.push(if nth == 0 { Cell::text(under) } else { Cell::text("") });
        }
        rows.push(row);
    }
}

fn statements(seen: &Seen) -> Section {
    let all = whole(seen);
    let mut rows = Vec::new();
    for ((sql, plan), of) in grouped(&seen.samples, |s| Some((said(&s.sql)?, s.plan.clone()))).iter().take(SHOWN) {
        let executions = distinct(of, |s| said(&s.execution));
        let before = vec![Cell::SqlId(sql.clone()), Cell::text(plan), Cell::Count(executions), percent(of, all)];
        let text = seen.texts.get(sql).map_or("", String::as_str);
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(230).collect();
        let text = if text.is_empty() { "** SQL Text Not Available **".to_string() } else { text };
        with_events(of, all, before, Vec::new(), Some(text), &mut rows);
    }
    let columns = vec![
        left("SQL ID", 13),
        number("Plan Hash", 10),
        number("Sampled #|of Execs", 9),
        number("% Activity", 10),
        left("Event", 25),
        number("% Event", 8),
        below("SQL Text"),
    ];
    let notes = ["% Activity and % Event are of all samples", "Executions: only those that were sampled"];
    section(
        "Top SQL with Top Events",
        "This table displays top SQL with top events that were sampled",
        &notes,
        columns,
        rows,
    )
}

fn who(s: &Sample) -> String {
    let user = if s.user.is_empty() { "unknown" } else { &s.user };
    format!("User: {user}  Program: {}", s.program)
}

/// `3/120 [  3%]`: the number of moments with such samples.
fn moments(seen: &Seen, samples: &[&Sample]) -> Cell {
    let (of, all) =
        (distinct(samples, |s| said(&s.id)), distinct(&seen.samples.iter().collect::<Vec<_>>(), |s| said(&s.id)));
    Cell::text(format!("{of}/{all} [{:3.0}%]", 100.0 * of as f64 / all.max(1) as f64))
}

const SESSION_COLUMNS: [Column; 4] =
    [left("Event", 25), number("% Event", 8), left("# Samples Active", 17), number("XIDs", 4)];

fn sessions(seen: &Seen) -> Section {
    let all = whole(seen);
    let mut rows = Vec::new();
    for ((sid, serial), of) in grouped(&seen.samples, |s| Some((s.sid, s.serial))).iter().take(SHOWN) {
        let before = vec![Cell::text(format!("{sid},{serial}")), percent(of, all)];
        let transactions = Cell::count(distinct(of, |s| said(&s.transaction)));
        with_events(of, all, before, vec![moments(seen, of), transactions], Some(who(of[0])), &mut rows);
    }
    let mut columns = vec![left("Sid, Serial#", 11), number("% Activity", 10)];
    columns.extend(SESSION_COLUMNS);
    columns.push(below("User and program"));
    let notes =
        ["# Samples Active: share of the moments with a sample of any session", "XIDs: transactions that were sampled"];
    section("Top Sessions", "This table displays top sessions that were sampled", &notes, columns, rows)
}

fn blockers(seen: &Seen) -> Section {
    let all = whole(seen);
    let mut rows = Vec::new();
    for ((sid, serial), of) in grouped(&seen.samples, |s| s.blocker).iter().take(SHOWN) {
        let own: Vec<&Sample> = seen.samples.iter().filter(|s| (s.sid, s.serial) == (*sid, *serial)).collect();
        let before = vec![Cell::text(format!("{sid},{serial}( 1)")), percent(of, all)];
        let transactions = Cell::count(distinct(&own, |s| said(&s.transaction)));
        let under = own.first().map_or_else(|| "It was never sampled as active".to_string(), |s| who(s));
        with_events(of, all, before, vec![moments(seen, &own), transactions], Some(under), &mut rows);
    }
    let mut columns = vec![left("Blocking Sid", 11), number("% Activity", 10)];
    columns.extend(SESSION_COLUMNS);
    columns[2].head = "Event Caused";
    columns.push(below("User and program"));
    let notes =
        ["% Activity: of the sessions that waited for the blocker", "# Samples Active and XIDs are the blocker's own"];
    section(
        "Top Blocking Sessions",
        "This table displays top blocking sessions that were sampled",
        &notes,
        columns,
        rows,
    )
}

/// The name of a subprogram: its unit and, in a package, its number.
fn subprogram_name(seen: &Seen, (unit, own): (i64, i64)) -> String {
    let Some((name, _)) = seen.objects.get(&unit) else { return format!("object {unit}, subprogram {own}") };
    let (unit, kind) = name.split_once(" (").unwrap_or((name, ""));
    if kind.starts_with("PACKAGE") { format!("{unit}, subprogram {own}") } else { unit.to_string() }
}

fn subprograms(seen: &Seen) -> Section {
    let all = whole(seen);
    let mut rows = Vec::new();
    for (entry, of) in grouped(&seen.samples, |s| s.entry).iter().take(SHOWN) {
        let running = grouped(of.iter().copied(), |s| Some(s.subprogram));
        for (nth, (current, same)) in running.iter().take(BESIDE).enumerate() {
            rows.push(vec![
                if nth == 0 { Cell::text(subprogram_name(seen, *entry)) } else { Cell::Null },
                if nth == 0 { percent(of, all) } else { Cell::Null },
                Cell::text(current.map_or("SQL".to_string(), |current| subprogram_name(seen, current))),
                percent(same, all),
            ]);
        }
    }
    let columns = vec![
        wrapped("PL/SQL Entry Subprogram", 28),
        number("% Activity", 10),
        wrapped("PL/SQL Current Subprogram", 28),
        number("% Current", 10),
    ];
    let summary = "This table displays top PL/SQL procedures that were sampled";
    let notes = ["The entry is the stored subprogram that was called first; SQL where a statement ran inside of it"];
    section("Top PL/SQL Procedures", summary, &notes, columns, rows)
}

fn objects(seen: &Seen) -> Section {
    let all = whole(seen);
    let waits = seen.samples.iter().filter(|s| s.event != ON_CPU);
    let mut rows = Vec::new();
    for (object, of) in grouped(waits, |s| s.object).iter().take(SHOWN) {
        let (name, tablespace) = seen.objects.get(object).cloned().unwrap_or_else(|| ("UNKNOWN".into(), String::new()));
        let before = vec![Cell::text(object.to_string()), percent(of, all)];
        with_events(of, all, before, vec![Cell::text(tablespace)], Some(name), &mut rows);
    }
    let columns = vec![
        left("Object ID", 11),
        number("% Activity", 10),
        left("Event", 30),
        number("% Event", 8),
        left("Tablespace", 17),
        below("Object Name (Type)"),
    ];
    let notes = ["Only waits with a known object"];
    section("Top DB Objects", "This table displays top DB objects that were sampled", &notes, columns, rows)
}

fn files(seen: &Seen) -> Section {
    let all = whole(seen);
    let waits = seen.samples.iter().filter(|s| s.event != ON_CPU);
    let mut rows = Vec::new();
    for (file, of) in grouped(waits, |s| s.file).iter().take(SHOWN) {
        let name = seen.files.get(file).map_or("", String::as_str);
        let before = vec![Cell::text(file.to_string()), percent(of, all)];
        with_events(of, all, before, Vec::new(), Some(name.to_string()), &mut rows);
    }
    let columns = vec![
        left("File ID", 11),
        number("% Activity", 10),
        left("Event", 46),
        number("% Event", 8),
        below("File Name"),
    ];
    section("Top DB Files", "This table displays top DB files that were sampled", &[], columns, rows)
}

fn latches(seen: &Seen) -> Section {
    let all = whole(seen);
    let is_latch =
        |s: &&Sample| s.event.starts_with("latch") || s.event.contains("mutex") || s.event.starts_with("cursor:");
    let mut rows = Vec::new();
    for (latch, of) in grouped(seen.samples.iter().filter(is_latch), event_of).iter().take(SHOWN) {
        let longest = of.iter().filter_map(|s| s.waited_us).max().unwrap_or(0);
        let holders = grouped(of.iter().copied(), |s| s.blocker);
        let holder = holders.first().map_or("UNKNOWN".to_string(), |((sid, serial), _)| format!("{sid},{serial}"));
        let share = holders.first().map_or(Cell::Null, |(_, same)| percent(same, all));
        rows.push(vec![
            Cell::text(latch),
            percent(of, all),
            Cell::text(holder),
            share,
            Cell::Micros(longest as f64),
            Cell::Count(of.len() as u64),
        ]);
    }
    let columns = vec![
        left("Latch or mutex", 28),
        number("% Latch", 8),
        left("Blocking Sid", 12),
        number("% Activity", 10),
        number("Longest|Wait", 9),
        number("# Waits|Sampled", 8),
    ];
    let notes = ["Blocking Sid: the most frequent holder"];
    section("Top Latches", "This table displays top latches that were sampled", &notes, columns, rows)
}

/// The length of a slot: a round number of seconds that gives about ten slots.
pub fn slot_s(elapsed_s: f64) -> f64 {
    let round = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 21600.0];
    round.into_iter().find(|s| *s * SLOTS >= elapsed_s).unwrap_or(86400.0)
}

/// `HH:MM:SS` from seconds since a midnight.
fn clock(s: f64) -> String {
    let s = s.rem_euclid(86400.0) as u64;
    format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}

fn over_time(seen: &Seen) -> Section {
    let (slot, all) = (slot_s(seen.elapsed_s()), whole(seen));
    let slot_of = |s: &Sample| (s.at_s / slot).floor() as i64;
    let mut slots = grouped(&seen.samples, |s| Some(slot_of(s)));
    slots.sort_by_key(|(at, _)| *at);
    let mut rows = Vec::new();
    for (at, of) in &slots {
        let begin = (*at as f64 * slot).max(seen.begin_s);
        let end = ((*at + 1) as f64 * slot).min(seen.end_s.max(begin + 1.0));
        for (nth, (event, same)) in grouped(of.iter().copied(), event_of).iter().take(BESIDE).enumerate() {
            let first = |cell: Cell| if nth == 0 { cell } else { Cell::Null };
            let length = end - begin;
            let told = format!("{} ({:.0}:{:02.0} min)", clock(begin), (length / 60.0).floor(), length % 60.0);
            rows.push(vec![
                first(Cell::text(told)),
                first(Cell::Count(of.len() as u64)),
                Cell::text(event),
                Cell::Count(same.len() as u64),
                percent(same, all),
            ]);
        }
    }
    let columns = vec![
        left("Slot Time (Duration)", 22),
        number("Slot|Count", 7),
        left("Event", 32),
        number("Event|Count", 7),
        number("% Event", 8),
    ];
    let notes = [
        "Slot Count: samples in the slot; Event Count: samples of the event in it",
        "% Event is of all samples of the period",
    ];
    section("Activity Over Time", "This table displays activity over time", &notes, columns, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::Body;

    fn seen() -> Seen {
        let sample = |at: i64, sid: i64, event: &str, seconds: f64| Sample {
            at_s: at as f64,
            id: at.to_string(),
            sid,
            serial: 1,
            foreground: sid < 10,
            event: event.into(),
            class: "Application".into(),
            sql: format!("sql{sid}"),
            seconds,
            blocker: (event != ON_CPU).then_some((1, 1)),
            ..Sample::default()
        };
        let mut samples = Vec::new();
        for at in 0..100 {
            samples.push(sample(at, 1, ON_CPU, 1.0));
            if at % 10 == 0 {
                samples.push(sample(at, 2, "enq: TM - contention", 10.0));
                samples.push(sample(at, 2, "enq: TX - row lock contention", 1.0));
                samples.push(sample(at, 12, "log file parallel write", 1.0));
            }
        }
        Seen { samples, end_s: 100.0, ..Seen::default() }
    }

    fn rows(section: &Section) -> Vec<Vec<String>> {
        let Body::Table(table) = &section.body else { panic!("a table") };
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", section.title);
        table.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect()
    }

    #[test]
    fn samples_count_for_the_time_that_they_stand_for() {
        let seen = seen();
        // 100 s on CPU, 100 s in ten samples of disk, 10 s and 10 s.
        let users = &all(&seen)[0];
        assert_eq!(rows(users)[0], ["CPU + Wait for CPU", "Application", "45.45", "1.00"]);
        assert_eq!(rows(users)[1], ["enq: TM - contention", "Application", "45.45", "1.00"]);
        assert_eq!(rows(users)[2], ["enq: TX - row lock contention", "Application", "4.55", "0.10"]);
        assert_eq!(rows(&all(&seen)[1])[0][0], "log file parallel write");
        let sessions = rows(&sessions(&seen));
        assert_eq!(sessions[0][..5], ["2,1", "50.00", "enq: TM - contention", "45.45", "10/100 [ 10%]"]);
        assert_eq!(sessions[1][..5], ["", "", "enq: TX - row lock contention", "4.55", ""]);
        let blockers = rows(&blockers(&seen));
        assert_eq!(blockers[0][..5], ["1,1( 1)", "54.55", "enq: TM - contention", "45.45", "100/100 [100%]"]);
        let slots = rows(&over_time(&seen));
        assert_eq!(slots[0], ["00:00:00 (0:10 min)", "13", "CPU + Wait for CPU", "10", "4.55"]);
        assert_eq!(slots.iter().filter(|row| !row[0].is_empty()).count(), 10);
        for section in all(&seen).iter().chain(&kept(&seen)).chain(&all(&Seen::default())) {
            rows(section);
            let Body::Table(table) = &section.body else { panic!("a table") };
            let beside = table.columns.iter().filter(|c| c.long != crate::doc::Long::Below);
            let width: usize = beside.map(|c| c.width + 1).sum();
            assert!(width <= 81, "{} is {} wide", section.title, width - 1);
        }
    }

    #[test]
    fn slots_are_round() {
        assert_eq!([0.5, 60.0, 300.0, 3600.0, 1e9].map(slot_s), [1.0, 10.0, 30.0, 600.0, 86400.0]);
    }
}
