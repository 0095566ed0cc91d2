//! Resources with a limit: `v$resource_limit`.
//!
//! The maximum of slots in use follows from the slots: a process takes a used slot with the lowest number first, so the
//! number of slots ever used is the maximum used at once. For transactions, locks and resources SMON notes the number
//! every few seconds; the view shows the highest number noted, for transactions that of the last four days.

use enqueue::Usage;
use params::Param;
use types::Value;

use crate::column::{Row, Type, Type::*, n, t};
use crate::source::Source;

pub const RESOURCE_LIMIT: &[(&str, Type)] = &[
    ("RESOURCE_NAME", V(30)),
    ("CURRENT_UTILIZATION", N),
    ("MAX_UTILIZATION", N),
    ("INITIAL_ALLOCATION", V(10)),
    ("LIMIT_VALUE", V(10)),
    ("CON_ID", N),
];

/// Numbers in the format of this view: right-aligned texts.
fn limit(value: u64) -> Value {
    t(format!("{value:>10}"))
}

pub fn resource_limit(s: &Source<'_>) -> Vec<Row> {
    let all = s.processes;
    let slots = |is: &dyn Fn(&process::ProcessSlot) -> bool| {
        (1..=all.capacity()).filter_map(|n| all.slot(n)).filter(|slot| is(slot)).count() as u64
    };
    let parameter = |name| u64::try_from(s.instance.params().number(name)).unwrap_or(0);
    // A process has one session.
    let (now, most) = (all.live().count() as u64, slots(&|slot| slot.serial() > 0));
    let (locks, resources) = s.shared.enqueues.usage();
    let open = s.shared.txns.transactions().len() as u64;
    let intervals = s.shared.txns.undo_intervals();
    let seen = intervals.list(os::clock::wall_ns() / 1_000_000_000, instance::undo_totals(s.instance.storage()));
    let transactions = Usage {
        now: open,
        most: seen.iter().map(|i| i.concurrency).max().unwrap_or(0).max(open),
        limit: parameter(Param::Transactions),
    };
    let of = |limit| Usage { now, most: most.max(now), limit };
    let rows = [
        ("processes", of(parameter(Param::Processes))),
        ("sessions", of(parameter(Param::Sessions))),
        ("enqueue_locks", locks),
        ("enqueue_resources", resources),
        ("transactions", transactions),
    ];
    let row = |(name, u): (&str, Usage)| vec![t(name), n(u.now), n(u.most), limit(u.limit), limit(u.limit), n(0u32)];
    rows.into_iter().map(row).collect()
}
