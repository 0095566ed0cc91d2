//! Locks and transactions: `v$lock`, `v$transaction`.

use crate::column::{Row, Type, Type::*, address, n, t};
use crate::source::Source;

pub const LOCK: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("KADDR", R(8)),
    ("SID", N),
    ("TYPE", V(2)),
    ("ID1", N),
    ("ID2", N),
    ("LMODE", N),
    ("REQUEST", N),
    ("CTIME", N),
    ("BLOCK", N),
];

/// Enqueues that are held or requested.
pub fn lock(s: &Source<'_>) -> Vec<Row> {
    let now = os::clock::coarse_ns();
    let rows = s.shared.enqueues.locks().into_iter();
    rows.map(|l| {
        vec![
            address(l.address),
            address(l.address),
            n(l.sid),
            t(l.kind.letters()),
            n(l.id1),
            n(l.id2),
            n(l.held as u64),
            n(l.requested as u64),
            n(now.saturating_sub(l.since_ns) / 1_000_000_000),
            n(u64::from(l.blocks)),
        ]
    })
    .collect()
}
