//! Branches of global transactions: `v$global_transaction`, and the base of `dba_2pc_pending`.

use txn::{BranchRow, BranchState};
use types::{Value, Xid};

use crate::column::{Row, Type, Type::*, date_of_seconds, n, t};
use crate::source::Source;

pub const GLOBAL_TRANSACTION: &[(&str, Type)] = &[
    ("FORMATID", N),
    ("GLOBALID", R(64)),
    ("BRANCHID", R(64)),
    ("BRANCHES", N),
    ("REFCOUNT", N),
    ("PREPARECOUNT", N),
    ("STATE", V(38)),
    ("FLAGS", N),
    ("COUPLING", V(15)),
    ("CON_ID", N),
];

/// Branches that have not ended, one row each.
pub fn global_transaction(s: &Source<'_>) -> Vec<Row> {
    let state = |b: &BranchRow| match b.state {
        BranchState::Attached | BranchState::Idle => Some("ACTIVE"),
        BranchState::Ending => Some("COLLECTING"),
        BranchState::Prepared => Some("PREPARED"),
        BranchState::ForcedCommit => Some("HEURISTIC COMMIT"),
        BranchState::ForcedRollback => Some("HEURISTIC ABORT"),
        BranchState::TimedOut | BranchState::Free => None,
    };
    let rows = s.shared.txns.branch_rows().into_iter().filter_map(|b| Some((state(&b)?, b)));
    rows.map(|(state, b)| {
        let [format, global, branch] = identifier(&b);
        vec![
            format,
            global,
            branch,
            n(1u64),
            n(u64::from(b.state == BranchState::Attached)),
            n(u64::from(b.state == BranchState::Prepared)),
            t(state),
            n(0u64),
            t("LOOSELY COUPLED"),
            n(0u64),
        ]
    })
    .collect()
}

pub const K2GTE: &[(&str, Type)] = &[
    ("K2GTIFMT", N),
    ("K2GTITID_EXT", R(64)),
    ("K2GTIBID", R(64)),
    ("K2GTELOC", V(22)),
    ("K2GTESTA", V(16)),
    ("K2GTEUSR", N),
    ("K2GTEFAI", D),
    ("K2GTEFOR", D),
];

/// Prepared branches, and those with a forced outcome.
pub fn k2gte(s: &Source<'_>) -> Vec<Row> {
    let state = |b: &BranchRow| match b.state {
        BranchState::Prepared => Some(("prepared", false)),
        BranchState::ForcedCommit => Some(("forced commit", true)),
        BranchState::ForcedRollback => Some(("forced rollback", true)),
        _ => None,
    };
    let rows = s.shared.txns.branch_rows().into_iter().filter_map(|b| Some((state(&b)?, b)));
    rows.map(|((state, forced), b)| {
        let [format, global, branch] = identifier(&b);
        vec![
            format,
            global,
            branch,
            b.xid.map_or(Value::Null, |Xid { usn, slot, sqn }| t(format!("{usn}.{slot}.{sqn}"))),
            t(state),
            n(b.user),
            moment(b.began_ns),
            if forced { moment(b.changed_ns) } else { Value::Null },
        ]
    })
    .collect()
}

fn identifier(b: &BranchRow) -> [Value; 3] {
    [n(b.id.format), Value::Raw(b.id.gtrid().to_vec()), Value::Raw(b.id.bqual().to_vec())]
}

/// A time in the machine's local time zone.
fn moment(wall_ns: u64) -> Value {
    let wall_s = (wall_ns / 1_000_000_000) as i64;
    let local = wall_s + i64::from(os::clock::utc_offset_seconds(wall_s));
    date_of_seconds(u64::try_from(local).unwrap_or(0))
}
