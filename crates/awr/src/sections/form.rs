//! The form of the sections that scripts read: columns, their order and their widths (invariant 5).

use crate::loader::Ends;
use crate::period::Statement;
use crate::{Period, Snapshot, sections, text};

/// Totals that began just below 2^32 and went far beyond.
const BEGIN: u64 = (1 << 32) - 6;
const END: u64 = (1 << 33) + 3;
const ADDED: &str = "4,294,967,305";

fn ends(key: &[&str], figures: usize) -> Ends {
    Ends { key: key.iter().map(|k| (*k).to_string()).collect(), begin: vec![BEGIN; figures], end: vec![END; figures] }
}

/// A period with all figures.
fn full() -> Period {
    let snapshot = |id: i64| Snapshot { id, time: "22-Nov-26 10:00:00".into(), ..Snapshot::default() };
    let mut p = Period {
        dbid: 7,
        db_name: "LATCH".into(),
        instance: "latch".into(),
        begin: snapshot(1),
        end: snapshot(2),
        elapsed_s: 60.0,
        block_size: 8192,
        events: vec![ends(&["log file sync", "Commit"], 6), ends(&["log file parallel write", "System I/O"], 6)],
        latches: vec![ends(&["redo allocation"], 7)],
        latch_misses: vec![ends(&["redo allocation", "kcrfw_redo_gen: alloc"], 3)],
        mutexes: vec![ends(&["Row Cache", "[19] kqrpre"], 2)],
        row_cache: vec![ends(&["dc_props"], 6)],
        parameters: vec![("_spin_count".into(), "2000".into(), "100".into())],
        statements: vec![Statement {
            id: "7mgsfc44trnr8".into(),
            elapsed_us: 5_000_000,
            executions: 3,
            ..Statement::default()
        }],
        ..Period::default()
    };
    for name in ["execute count", "user calls", "user commits"] {
        p.stats.insert(name.into(), (BEGIN, END));
    }
    for name in ["DB time", "DB CPU", "sql execute elapsed time", "background elapsed time"] {
        p.times.insert(name.into(), (BEGIN, END));
    }
    // Background waits are all waits minus users' waits.
    p.events[1].end[0] += 10;
    p.events[1].end[2] += 10_000_000;
    p
}

#[test]
fn an_efficiency_of_nothing_is_empty() {
    let printed = |p: &Period| -> Vec<(String, String)> {
        let text = text::render(&sections::build(p));
        let at = text.find("Instance Efficiency Percentages").expect("the section");
        let lines = text[at..].lines().skip(2).take(5);
        // Two in a line: a label of 27 characters and its figure, then one of 19.
        let pairs = lines.flat_map(|line| {
            let (left, right) = line.split_at(line.len().min(37));
            [left.to_string(), right.to_string()]
        });
        let pair = |half: String| half.split_once(':').map(|(n, f)| (n.trim().to_string(), f.trim().to_string()));
        pairs.filter_map(pair).collect()
    };
    let none = printed(&Period { latches: Vec::new(), stats: Default::default(), times: Default::default(), ..full() });
    assert_eq!(none.len(), 10, "{none:?}");
    assert!(none.iter().all(|(_, figure)| figure.is_empty()), "nothing was counted: {none:?}");
    let some = printed(&full());
    let latch = some.iter().find(|(name, _)| name == "Latch Hit %").expect("the latches");
    assert!(latch.1.parse::<f64>().is_ok(), "{some:?}");
}

/// The headings of a section down to its ruler: the words in order, and the column widths.
fn form(report: &str, title: &str) -> (Vec<String>, Vec<usize>) {
    let at = report.find(&format!("\n{title}")).unwrap_or_else(|| panic!("{title} in\n{report}"));
    let mut above: Vec<&str> = Vec::new();
    for line in report[at + 1..].lines().skip_while(|line| !line.is_empty()).skip(1) {
        let is_ruler = !line.trim().is_empty() && line.chars().all(|c| c == '-' || c == ' ');
        if is_ruler && !above.is_empty() {
            let mut columns = Vec::new();
            let mut heads = Vec::new();
            let mut start = 0;
            for dashes in line.split(' ').filter(|d| !d.is_empty()) {
                let from = line[start..].find('-').map_or(start, |n| start + n);
                let to = from + dashes.len();
                let part = |l: &&str| l.get(from..to.min(l.len())).unwrap_or("").trim().to_string();
                let words: Vec<String> = above.iter().map(part).filter(|w| !w.is_empty()).collect();
                heads.push(words.join(" "));
                columns.push(dashes.len());
                start = to;
            }
            return (heads, columns);
        }
        above.push(line);
    }
    panic!("{title} has no ruler");
}

#[test]
fn sections_have_the_columns_that_scripts_know() {
    let report = text::render(&sections::build(&full()));
    let events = ["Event", "Waits", "%Time -outs", "Total Wait Time (s)", "Avg wait", "Waits /txn"];
    let with = |last: &'static str| events.iter().copied().chain([last]).collect::<Vec<_>>();
    let wanted: [(&str, Vec<&str>, &[usize]); 11] = [
        (
            "Top 10 Foreground Events by Total Wait Time",
            vec!["Event", "Waits", "Total Wait Time (sec)", "Avg Wait", "% DB time", "Wait Class"],
            &[30, 11, 10, 9, 6, 8],
        ),
        ("Time Model Statistics", vec!["Statistic Name", "Time (s)", "% of DB Time"], &[42, 18, 12]),
        (
            "Foreground Wait Class",
            vec!["Wait Class", "Waits", "%Time -outs", "Total Wait Time (s)", "Avg wait", "%DB time"],
            &[20, 16, 5, 16, 8, 9],
        ),
        ("Foreground Wait Events", with("% DB time"), &[26, 12, 5, 10, 7, 8, 6]),
        ("Background Wait Events", with("% bg time"), &[26, 12, 5, 10, 7, 8, 6]),
        ("Instance Activity Stats", vec!["Statistic", "Total", "per Second", "per Trans"], &[32, 18, 14, 13]),
        (
            "Latch Activity",
            vec![
                "Latch Name",
                "Get Requests",
                "Pct Get Miss",
                "Avg Slps /Miss",
                "Wait Time (s)",
                "NoWait Requests",
                "Pct NoWait Miss",
            ],
            &[24, 14, 6, 6, 6, 12, 6],
        ),
        (
            "Latch Sleep Breakdown",
            vec!["Latch Name", "Get Requests", "Misses", "Sleeps", "Spin Gets"],
            &[26, 15, 12, 11, 11],
        ),
        (
            "Latch Miss Sources",
            vec!["Latch Name", "Where", "NoWait Misses", "Sleeps", "Waiter Sleeps"],
            &[24, 26, 7, 10, 8],
        ),
        ("Mutex Sleep Summary", vec!["Mutex Type", "Location", "Sleeps", "Wait Time (ms)"], &[21, 32, 12, 12]),
        (
            "Dictionary Cache Stats",
            vec!["Cache", "Get Requests", "Pct Miss", "Scan Reqs", "Pct Miss", "Mod Reqs", "Final Usage"],
            &[25, 12, 6, 7, 5, 8, 10],
        ),
    ];
    for (title, heads, widths) in wanted {
        let (found, columns) = form(&report, title);
        assert_eq!((found, columns.as_slice()), (heads.iter().map(|h| (*h).to_string()).collect(), widths), "{title}");
    }
    let (heads, widths) = form(&report, "init.ora Parameters");
    assert_eq!(heads, ["Parameter Name", "Begin value", "End value (if different)"]);
    assert_eq!(widths, [29, 33, 14]);
    let (heads, _) = form(&report, "SQL ordered by Elapsed Time");
    assert_eq!(
        heads,
        ["Elapsed Time (s)", "Executions", "Elapsed Time per Exec (s)", "%Total", "%CPU", "%IO", "SQL Id"]
    );
    assert!(report.contains("\nLoad Profile              Per Second    Per Transaction   Per Exec   Per Call\n"));
    let lines = ["DB Time(s):", "DB CPU(s):", "Redo size:", "Logical reads:", "Executes:", "Transactions:"];
    let found: Vec<usize> = lines.iter().map(|l| report.find(l).unwrap_or_else(|| panic!("{l}"))).collect();
    assert!(found.is_sorted(), "{found:?}");
}

#[test]
fn no_counter_ends_at_two_to_the_thirty_second() {
    let report = text::render(&sections::build(&full()));
    for (title, name) in [
        ("Instance Activity Stats", "execute count"),
        ("Latch Activity", "redo allocation"),
        ("Latch Sleep Breakdown", "redo allocation"),
        ("Mutex Sleep Summary", "Row Cache"),
        ("Dictionary Cache Stats", "dc_props"),
    ] {
        let from = report.find(&format!("\n{title}")).unwrap();
        let line = report[from..].lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{name} of {title}"));
        assert!(line.contains(ADDED) || line.contains("4,294,967K") || line.contains("4,295M"), "{title}: {line}");
    }
}
