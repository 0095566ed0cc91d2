//! Runs the subqueries and WITH queries that the machine holds.
//!
//! Expressions and row sources call these functions; each takes the query out of the machine while it runs.

use crate::compare::Truth;
use crate::ctx::ExecCtx;
use crate::machine::{CteRows, Machine, Subquery};
use plan::{CmpOp, Compare, Reg, SubId};
use std::rc::Rc;
use types::{Ora, Result, Value};

/// Runs `f` with a subquery moved out of the machine.
fn with_sub<R>(
    s: SubId,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
    f: impl FnOnce(&mut dyn Subquery, &mut Machine, &mut ExecCtx<'_>) -> Result<R>,
) -> Result<R> {
    let mut sub = m.subs[s].take().ok_or_else(|| Ora::internal("subquery runs inside itself"))?;
    let result = f(&mut *sub, m, cx);
    m.subs[s] = Some(sub);
    result
}

/// A scalar subquery's value into register `dst`.
pub fn scalar(s: SubId, dst: Reg, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
    let v = with_sub(s, m, cx, |sub, m, cx| sub.scalar(m, cx))?;
    m.put(dst, v);
    Ok(())
}

pub fn exists(s: SubId, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
    with_sub(s, m, cx, |sub, m, cx| sub.exists(m, cx))
}

/// The columns of a subquery's only row, for `UPDATE … SET (a, b) = (subquery)`; NULLs if there is no row.
pub fn row(s: SubId, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Vec<Value>> {
    with_sub(s, m, cx, |sub, m, cx| sub.row(m, cx))
}

/// `(values) = (subquery)` with the subquery's only row; UNKNOWN if there is none.
pub fn equals(s: SubId, values: &[Reg], compare: &[Compare], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Truth> {
    with_sub(s, m, cx, |sub, m, cx| sub.equals(values, compare, m, cx))
}

/// `(values) IN (subquery)`.
pub fn contains(s: SubId, values: &[Reg], compare: &[Compare], m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Truth> {
    with_sub(s, m, cx, |sub, m, cx| sub.contains(values, compare, m, cx))
}

/// `value op ANY | ALL (subquery)`; the third part of `comparison` stands for ALL.
pub fn quantified(
    s: SubId,
    comparison: (CmpOp, Compare, bool),
    value: Reg,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<Truth> {
    with_sub(s, m, cx, |sub, m, cx| sub.quantified(comparison, value, m, cx))
}

/// The rows of a WITH query.
pub fn cte_rows(id: usize, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<Rc<CteRows>> {
    if let Some(cte) = &m.ctes[id]
        && let Some(rows) = &cte.rows
    {
        return Ok(rows.clone());
    }
    let mut cte = m.ctes[id].take().ok_or_else(|| Ora::new(32039))?;
    let result = cte.query.read(m, cx).map(Rc::new);
    if let Ok(rows) = &result {
        cte.rows = Some(Rc::clone(rows));
    }
    m.ctes[id] = Some(cte);
    result
}
