//! Row sources of a plan, and the facts that a cursor takes from it.

use super::state::{Body, Cached, Described, StatementKind};
use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::dml::Dml;
use crate::feedback::Expected;
use crate::inner_statement::CompileInner;
use crate::machine::{CteState, Machine, Subquery};
use crate::measure::Counting;
use crate::session_state::Caller;
use crate::source::Op;
use crate::source::subquery::SubState;
use crate::source::with_query::With;
use library_cache::Sharing;
use plan::{Column, Plan, PlanBody, TriggerEvent};
use result_cache::ResultBuffer;
use types::{DataType, Result, Value};

pub(super) fn described(plan: Plan) -> Described {
    let (kind, columns) = (kind_of(&plan), columns_of(&plan));
    let Plan { binds, dependencies, units, .. } = plan;
    Described { kind, columns, binds, dependencies, units }
}

pub(super) fn kind_of(plan: &Plan) -> StatementKind {
    match &plan.body {
        PlanBody::Query(_) => StatementKind::Select,
        PlanBody::Insert(_) | PlanBody::InsertAll(_) => StatementKind::Insert,
        PlanBody::Update(_) => StatementKind::Update,
        PlanBody::Delete(_) => StatementKind::Delete,
        PlanBody::Merge(_) => StatementKind::Merge,
        PlanBody::Instead(i) => match i.firing.event {
            TriggerEvent::Insert => StatementKind::Insert,
            TriggerEvent::Update => StatementKind::Update,
            TriggerEvent::Delete => StatementKind::Delete,
        },
    }
}

pub(super) fn columns_of(plan: &Plan) -> Vec<Column> {
    let returned = |r: &[(plan::Expr, Column)]| r.iter().map(|(_, c)| c.clone()).collect();
    match &plan.body {
        PlanBody::Query(q) => q.columns.clone(),
        PlanBody::Insert(i) => returned(&i.returning),
        PlanBody::Update(u) => returned(&u.returning),
        PlanBody::Delete(d) => returned(&d.returning),
        PlanBody::InsertAll(_) | PlanBody::Merge(_) | PlanBody::Instead(_) => Vec::new(),
    }
}

/// Row sources and registers of a plan, the first register of its binds, and the expected rows of its scans.
pub(super) type Built = (Body, Machine, u32, Option<Vec<Expected>>);

/// The reasons to count the rows of scans.
#[derive(Clone, Copy)]
pub(super) struct Watch {
    pub(super) sharing: Sharing,
    /// The first execution is compared with the estimates.
    pub(super) monitor: bool,
}

/// Restrictions on the functions that a statement calls.
pub(super) fn caller_of(body: &PlanBody) -> Caller {
    let changes = match body {
        PlanBody::Query(_) | PlanBody::Instead(_) => Vec::new(),
        // The row of a VALUES clause is evaluated before the table is changed.
        PlanBody::Insert(i) if matches!(i.source, plan::InsertSource::Values(_)) => Vec::new(),
        PlanBody::Insert(i) => vec![i.target.table.object],
        PlanBody::InsertAll(i) => i.branches.iter().map(|b| b.insert.target.table.object).collect(),
        PlanBody::Update(u) => vec![u.target.table.object],
        PlanBody::Delete(d) => vec![d.target.table.object],
        PlanBody::Merge(m) => vec![m.target.table.object],
    };
    Caller { is_query: matches!(body, PlanBody::Query(_)), in_trigger: false, changes }
}

/// Turns a plan into row sources and registers: the plan's registers, then those of the binds, then those of
/// expressions. Scans count their rows if the executions of the query are watched.
pub(super) fn build(plan: &Plan, watch: Watch, compile_inner: CompileInner, cx: &ExecCtx<'_>) -> Result<Built> {
    let first_bind = plan.regs;
    let mut regs = vec![Value::Null; plan.regs as usize + plan.binds.len()];
    let mut b = Builder::new(&mut regs, first_bind, caller_of(&plan.body), cx);
    b.compile_inner = compile_inner;
    (b.bind_count, b.subs) = (plan.binds.len() as u32, &plan.subs);
    b.watches = (watch.sharing != Sharing::Plain || watch.monitor) && matches!(plan.body, PlanBody::Query(_));
    b.counting = (plan.counts_operations || cx.session.options.counts_operations).then(|| Counting::of(plan));
    let body = match &plan.body {
        PlanBody::Query(q) => {
            let (op, out) = (Op::build(&q.source, &mut b)?, b.codes(&q.out));
            let moves = !plan.locks_rows && moves(&op, &out);
            let stored = if moves { stored(&op, &out) } else { Vec::new() };
            Body::Query { op, out, moves, stored }
        }
        other => Body::Dml(Dml::build(other, &mut b)?),
    };
    let moments = b.codes(&plan.moments);
    let mut subs: Vec<Option<Box<dyn Subquery>>> = Vec::with_capacity(plan.subs.len());
    for s in &plan.subs {
        let op = Op::build(&s.source, &mut b)?;
        subs.push(Some(Box::new(SubState::new(op, b.codes(&s.out), s))));
    }
    let mut ctes = Vec::with_capacity(plan.ctes.len());
    for c in &plan.ctes {
        let query = Box::new(With::new(Op::build(&c.source, &mut b)?, b.codes(&c.out)));
        ctes.push(Some(Box::new(CteState { query, rows: None })));
    }
    let watched = b.watched;
    let run = b.counting.take().map(|counting| Box::new(counting.run));
    let mut m = Machine::new(regs, plan.sequences.len());
    m.watched.resize_with(watched.len(), Default::default);
    m.run = run;
    m.subs = subs;
    m.ctes = ctes;
    m.moments = moments.into_iter().map(|code| (Some(code), None)).collect();
    Ok((body, m, first_bind, watch.monitor.then_some(watched)))
}

/// Whether the columns of the result are columns of one scanned table, each once. The scan then overwrites them for
/// each row, and no other code reads them.
pub(super) fn moves(op: &Op, out: &[Code]) -> bool {
    let Op::Scan(scan) = op else { return false };
    let regs: Option<Vec<_>> = out.iter().map(|code| if let Code::Reg(r) = code { Some(*r) } else { None }).collect();
    let Some(mut regs) = regs else { return false };
    regs.sort_unstable();
    regs.windows(2).all(|pair| pair[0] != pair[1]) && regs.iter().all(|r| scan.column_of(*r).is_some())
}

/// The columns behind the values of [`moves`], if their bytes can be returned without decoding.
pub(super) fn stored(op: &Op, out: &[Code]) -> Vec<(u16, DataType)> {
    let Op::Scan(scan) = op else { return Vec::new() };
    let column = |code: &Code| if let Code::Reg(r) = code { scan.column_of(*r) } else { None };
    let columns: Option<Vec<_>> = out.iter().map(column).collect();
    columns.filter(|_| scan.gives_bytes()).unwrap_or_default()
}

pub(super) fn cached_of(plan: &Plan, digest: library_cache::Digest, cx: &ExecCtx<'_>) -> Option<Box<Cached>> {
    let depends = plan.cacheable.clone()?;
    let mut prefix = digest.0.to_vec();
    prefix.extend_from_slice(&cx.session.user_id.to_le_bytes());
    prefix.extend_from_slice(&cx.session.parsing_user.to_le_bytes());
    prefix.extend_from_slice(cx.session.schema.as_bytes());
    prefix.push(0);
    Some(Box::new(Cached {
        depends,
        hinted: plan.result_cache && !plan.no_result_cache,
        refused: plan.no_result_cache,
        key: Vec::with_capacity(prefix.len() + 64),
        prefix,
        buffer: ResultBuffer::new(),
        build: None,
        row: Vec::new(),
    }))
}
