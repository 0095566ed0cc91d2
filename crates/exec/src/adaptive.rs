//! Cursors whose plans depend on values of binds: bind peeking and adaptive cursor sharing.
//!
//! A statement is parsed before its binds have values. If a plan's estimates depend on a bind, the first execution
//! replaces the plan by one made with the values. Such a cursor is *bind sensitive*: the rows that its scans find are
//! counted and reported to the shared cursor by bucket. When executions differ too much, the next one makes a *bind
//! aware* child. A bind aware child is executed only with values whose selectivities lie in its ranges; other values
//! look for another child, or make one (`library_cache::adaptive`).
//!
//! A cursor without such predicates has no state for this (E18).

use crate::ctx::ExecCtx;
use crate::statistics::Place;
use library_cache::{PREDICATES_MAX, Sharing, bucket_of};
use plan::{BindPredicate, Plan};
use std::hash::{Hash, Hasher};
use types::Value;
use wait::Stat;

/// The first executions are reported one by one; after that, one report covers this fraction of those reported before.
const TOLD_SINGLY: u64 = 8;
/// Most executions that wait to be reported.
const UNTOLD_MOST: u64 = 1024;

/// The state of a cursor whose plan depends on values of binds.
pub(crate) struct Adaptive {
    predicates: Vec<BindPredicate>,
    /// Whether the plan was made with values.
    pub is_peeked: bool,
    pub sharing: Sharing,
    /// Executions by bucket that are not reported to the shared cursor yet, and the number of those reported.
    untold: [u64; 3],
    told: u64,
    /// Logical reads of the session when the execution began; `None` outside an execution.
    base: Option<u64>,
}

impl Adaptive {
    /// The adaptive state of a cursor on this plan; `None` if the plan does not depend on binds.
    pub fn of(plan: &Plan, sharing: Sharing) -> Option<Box<Adaptive>> {
        let depends = !plan.peeks.is_empty() && (!plan.is_peeked || sharing != Sharing::Plain);
        depends.then(|| {
            let predicates = plan.peeks.clone();
            Box::new(Adaptive { predicates, is_peeked: plan.is_peeked, sharing, untold: [0; 3], told: 0, base: None })
        })
    }

    /// The selectivities with these values. Called for each execution, so it allocates nothing.
    pub fn selectivities(&self, values: &[Value]) -> Selectivities {
        let mut all = Selectivities { values: [0.0; PREDICATES_MAX], count: self.predicates.len().min(PREDICATES_MAX) };
        all.values.iter_mut().zip(&self.predicates).for_each(|(to, p)| *to = selectivity(p, values));
        all
    }

    /// An execution begins.
    pub fn begin(&mut self, cx: &ExecCtx<'_>) {
        self.base = Some(cx.p.stats().get(Stat::SessionLogicalReads));
    }

    /// Ends an execution that processed `rows` rows. Only the first call for an execution counts.
    pub fn end(&mut self, rows: u64, values: &[Value], place: &Place, cx: &ExecCtx<'_>) {
        let Some(base) = self.base.take().filter(|_| self.sharing != Sharing::Plain) else { return };
        let bucket = bucket_of(rows);
        // The next session must know when executions of a cursor shared by all values differ. An aware cursor is
        // already decided; its figures are for views only.
        let is_sensitive = self.sharing == Sharing::Sensitive;
        let is_other = is_sensitive && self.untold.iter().enumerate().any(|(at, n)| at != bucket && *n > 0);
        self.untold[bucket] += 1;
        let untold: u64 = self.untold.iter().sum();
        if is_other || untold >= (self.told / TOLD_SINGLY).clamp(1, UNTOLD_MOST) {
            let gets = cx.p.stats().get(Stat::SessionLogicalReads).saturating_sub(base);
            place.note_executions(std::mem::take(&mut self.untold), (number_of(values), rows, gets), cx);
            self.told += untold;
        }
    }
}

/// The selectivities of the predicates of a cursor. A plan with more predicates is shared by all values.
pub(crate) struct Selectivities {
    values: [f64; PREDICATES_MAX],
    count: usize,
}

impl AsRef<[f64]> for Selectivities {
    fn as_ref(&self) -> &[f64] {
        &self.values[..self.count]
    }
}

fn selectivity(predicate: &BindPredicate, values: &[Value]) -> f64 {
    // A NaN lies in no range, not even in that of the child made for it.
    values.get(predicate.bind).map_or(0.0, |value| predicate.share(value).max(0.0))
}

/// A fingerprint of the values of binds.
pub(crate) fn number_of(values: &[Value]) -> u64 {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| crate::hash::push_part(value, &mut bytes));
    let mut hasher = std::hash::DefaultHasher::new();
    bytes.hash(&mut hasher);
    // Views show the number in a 32-bit column.
    hasher.finish() & 0xffff_ffff
}

/// How a plan's cursor is shared, with the selectivities and the texts of its predicates.
pub(crate) struct Shape {
    pub sharing: Sharing,
    pub selectivities: Vec<f64>,
    pub labels: String,
}

impl Shape {
    /// `aware`: the values need a child of their own.
    pub fn of(plan: &Plan, values: Option<&[Value]>, aware: bool, cx: &ExecCtx<'_>) -> Shape {
        let none = Shape { sharing: Sharing::Plain, selectivities: Vec::new(), labels: String::new() };
        let Some(values) = values.filter(|_| plan.is_peeked && !plan.peeks.is_empty()) else { return none };
        let is_off = !cx.session.options.adaptive_sharing || plan.bind_aware == Some(false);
        if is_off || plan.peeks.len() > PREDICATES_MAX {
            return none;
        }
        let sharing = if aware || plan.bind_aware == Some(true) { Sharing::Aware } else { Sharing::Sensitive };
        let labels: Vec<String> = plan.peeks.iter().map(|p| p.label(&plan.binds)).collect();
        let selectivities = plan.peeks.iter().map(|p| selectivity(p, values)).collect();
        Shape { sharing, selectivities, labels: labels.join("\n") }
    }
}
