//! Resources with limits, and the work of a recovery after a crash.

use crate::Period;
use crate::doc::{Cell, Section, left, number, section};
use crate::loader::Ends;

/// Figures of `v$instance_recovery` at both ends, N/A without such a target.
pub fn recovery(p: &Period) -> Section {
    let row = |mark: &str, f: &[u64]| {
        let of = |n: usize| f.get(n).copied().unwrap_or(0);
        let target = |n: usize| if of(n) == 0 { Cell::text("N/A") } else { Cell::Count(of(n)) };
        let mut row = vec![Cell::text(mark), Cell::Count(of(0)), Cell::Count(of(1))];
        row.extend([Cell::Count(of(2)), Cell::Count(of(3)), target(4), target(5), target(6), target(7)]);
        row
    };
    let rows = p.recovery.iter().flat_map(|e| {
        let begin = (!e.begin.is_empty()).then(|| row("B", &e.begin));
        begin.into_iter().chain([row("E", &e.end)])
    });
    let columns = vec![
        left("", 1),
        number("Targt|MTTR|(s)", 5),
        number("Estd|MTTR|(s)", 5),
        number("Recovery|Estd IOs", 8),
        number("Actual|RedoBlks", 9),
        number("Target|RedoBlks", 9),
        number("Log Sz|RedoBlks", 9),
        number("Log Ckpt|Timeout|RedoBlks", 9),
        number("Log Ckpt|Interval|RedoBlks", 9),
    ];
    let notes = ["B: Begin Snapshot,  E: End Snapshot"];
    let rows = rows.collect();
    section("Instance Recovery Stats", "This table displays instance recovery statistics", &notes, columns, rows)
}

/// Resources at the end of the period. Oracle shows the heavily used ones; here they are few, and all are shown.
pub fn resources(p: &Period) -> Section {
    let row = |e: &Ends| {
        let of = |n: usize| Cell::Count(e.end.get(n).copied().unwrap_or(0));
        let given = |n: usize| Cell::text(format!("{:>10}", e.key[n].trim()));
        vec![Cell::text(e.name()), of(0), of(1), given(1), given(2)]
    };
    let columns = vec![
        left("Resource Name", 30),
        number("Current|Utilization", 12),
        number("Maximum|Utilization", 12),
        left("   Initial|Allocation", 10),
        left("     Limit", 10),
    ];
    let mut all: Vec<&Ends> = p.resources.iter().collect();
    all.sort_by_key(|e| e.name().to_string());
    let rows = all.into_iter().map(row).collect();
    let notes = ["At the end of the period; Maximum is since instance startup", "ordered by resource name"];
    section("Resource Limit Stats", "This table displays resource limit statistics", &notes, columns, rows)
}
