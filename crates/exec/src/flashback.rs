//! Flashback queries: tables as of an earlier time.
//!
//! The time of an AS OF clause is evaluated once an execution. A heap is read by a full scan, an index-organised table
//! also by its key, as of that SCN and without the session's own uncommitted changes. Missing undo is ORA-01555, never
//! a wrong set of rows.

use crate::ctx::ExecCtx;
use crate::machine::Machine;
use dictionary::TableDef;
use heap::Between;
use txn::Snapshot;
use types::{Ora, Result, Scn, Timestamp, Value};

/// The snapshot of AS OF clause `n` for `table`.
///
/// # Errors
/// ORA-08180, ORA-08181 for an invalid time or SCN; ORA-01466 if the table's definition has changed since.
pub fn snapshot_of(n: usize, table: &TableDef, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Snapshot> {
    let snapshot = match m.moments[n].1 {
        Some(s) => s,
        None => {
            let scn = scn_of(n, m, cx)?;
            let s = Snapshot { scn, xid: None, own: None, serializable: false };
            m.moments[n].1 = Some(s);
            s
        }
    };
    cx.host.check_definition(table, snapshot.scn)?;
    Ok(snapshot)
}

/// The bounds of VERSIONS BETWEEN. MINVALUE is the oldest SCN with undo, but not before the table's definition.
///
/// # Errors
/// ORA-30052, ORA-30053 for invalid bounds or bounds in the wrong order; ORA-01466 if the table's definition was
/// another one at the lower bound.
pub fn between(v: plan::Versions, table: &TableDef, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Between> {
    let bound = |n: usize, code: u32, m: &mut Machine, cx: &mut ExecCtx<'_>| {
        scn_of(n, m, cx).map_err(|e| if e.is(8181) || e.is(8180) { Ora::new(code) } else { e })
    };
    let high = match v.high {
        Some(n) => bound(n, 30053, m, cx)?,
        None => m.snapshot().scn,
    };
    let low = match v.low {
        Some(n) => {
            let low = bound(n, 30052, m, cx)?;
            cx.host.check_definition(table, low)?;
            low
        }
        None => {
            let retained = cx.shared.txns.times().retained();
            since_definition(table, if retained == Scn::MAX { high } else { retained.min(high) }, high, cx)?
        }
    };
    if low > high {
        return Err(Ora::new(30052));
    }
    Ok(Between { low, high, as_far_as_undo: v.low.is_none() })
}

/// The first SCN from `low` on at which the table had its current definition.
fn since_definition(table: &TableDef, low: Scn, high: Scn, cx: &mut ExecCtx<'_>) -> Result<Scn> {
    let (mut low, mut high) = (low.0, high.0);
    while low < high {
        let middle = low + (high - low) / 2;
        match cx.host.check_definition(table, Scn(middle)) {
            Ok(()) => high = middle,
            Err(e) if e.is(1466) || e.is(1555) => low = middle + 1,
            Err(e) => return Err(e),
        }
    }
    Ok(Scn(high))
}

fn scn_of(n: usize, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Scn> {
    let code = m.moments[n].0.take().ok_or_else(|| Ora::internal("AS OF expression depends on itself"))?;
    let value = code.eval(m, cx).map(|r| m.value(r).clone());
    m.moments[n].0 = Some(code);
    let scn = match value? {
        Value::Number(scn) => scn_of_number(&scn)?,
        Value::Timestamp(time) => cx.host.scn_of_time(&time)?,
        Value::Date(date) => cx.host.scn_of_time(&Timestamp::new(date, 0))?,
        _ => return Err(Ora::new(8181)),
    };
    if scn > cx.shared.txns.current_scn() { Err(Ora::new(8181)) } else { Ok(scn) }
}

/// Checks that a number is an SCN (ORA-08181).
pub fn scn_of_number(n: &types::Number) -> Result<Scn> {
    let whole = n.to_i64().ok().filter(|whole| *whole >= 0 && types::Number::from_i64(*whole) == *n);
    whole.map(|scn| Scn(scn as u64)).ok_or_else(|| Ora::new(8181))
}
