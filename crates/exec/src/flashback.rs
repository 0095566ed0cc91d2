//! Flashback queries: tables as of another moment.
//!
//! The moment of an AS OF clause is worked out once an execution. The table is read by a full scan, as of that SCN and without the
//! reader's own open changes; what undo cannot bring back any more is ORA-01555, never a row too many or too few.

use crate::ctx::ExecCtx;
use crate::machine::Machine;
use dictionary::TableDef;
use txn::Snapshot;
use types::{Ora, Result, Scn, Timestamp, Value};

/// The snapshot of moment `n`, with which `table` may be read.
///
/// # Errors
/// ORA-08180, ORA-08181 for a moment that is none; ORA-01466 when the table was another one then.
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

fn scn_of(n: usize, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Scn> {
    let code = m.moments[n].0.take().ok_or_else(|| Ora::internal("a moment that depends on itself"))?;
    let value = code.eval(m, cx).map(|r| m.value(r).clone());
    m.moments[n].0 = Some(code);
    let scn = match value? {
        Value::Number(scn) => scn_of_number(&scn)?,
        Value::Timestamp(time) => cx.host.scn_of_time(&time)?,
        Value::Date(date) => cx.host.scn_of_time(&Timestamp { date, nanos: 0, offset: None })?,
        _ => return Err(Ora::new(8181)),
    };
    if scn > cx.shared.txns.current_scn() { Err(Ora::new(8181)) } else { Ok(scn) }
}

/// ORA-08181 for a number that is no SCN.
pub fn scn_of_number(n: &types::Number) -> Result<Scn> {
    let whole = n.to_i64().ok().filter(|whole| *whole >= 0 && types::Number::from_i64(*whole) == *n);
    whole.map(|scn| Scn(scn as u64)).ok_or_else(|| Ora::new(8181))
}
