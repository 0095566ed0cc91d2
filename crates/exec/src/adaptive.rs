//! Cursors whose plans depend on values of binds: bind peeking and adaptive cursor sharing.
//!
//! A statement is parsed before its binds have values. A plan whose estimates depend on one of them is made again when
//! the first execution brings the values, in place of the first one. The cursor is *bind sensitive* then: the rows that
//! its scans find are counted, and told to the shared cursor by buckets. When executions differ too much, the next one
//! makes a child that is *bind aware*: such a child is executed with values whose selectivities lie in its ranges, and
//! other values look for another child, or make one (`library_cache::adaptive`).
//!
//! Cursors without such predicates have none of this.

use crate::ctx::ExecCtx;
use crate::statistics::Place;
use library_cache::{PREDICATES_MAX, Sharing, bucket_of};
use plan::{BindPredicate, Plan};
use std::hash::{Hash, Hasher};
use types::Value;
use wait::Stat;

/// Executions that are told one by one; later on one in so many of those told before.
const TOLD_SINGLY: u64 = 8;
/// Most executions that are not told.
const UNTOLD_MOST: u64 = 1024;

/// What a cursor keeps whose plan depends on values of binds.
pub(crate) struct Adaptive {
    predicates: Vec<BindPredicate>,
    /// The plan was made with values.
    pub is_peeked: bool,
    pub sharing: Sharing,
    /// Executions by bucket that the shared cursor has not been told of, and those that it has.
    untold: [u64; 3],
    told: u64,
    /// Logical reads of the session when the execution began; none outside of one.
    base: Option<u64>,
}

impl Adaptive {
    /// What is kept of a plan; none where binds do not matter to it.
    pub fn of(plan: &Plan, sharing: Sharing) -> Option<Box<Adaptive>> {
        let depends = !plan.peeks.is_empty() && (!plan.is_peeked || sharing != Sharing::Plain);
        depends.then(|| {
            let predicates = plan.peeks.clone();
            Box::new(Adaptive { predicates, is_peeked: plan.is_peeked, sharing, untold: [0; 3], told: 0, base: None })
        })
    }

    pub fn selectivities(&self, values: &[Value]) -> Vec<f64> {
        selectivities(&self.predicates, values)
    }

    /// An execution begins.
    pub fn begin(&mut self, cx: &ExecCtx<'_>) {
        self.base = Some(cx.p.stats().get(Stat::SessionLogicalReads));
    }

    /// An execution has ended that processed so many rows. Only the first end counts.
    pub fn end(&mut self, rows: u64, values: &[Value], place: &Place, cx: &ExecCtx<'_>) {
        let Some(base) = self.base.take().filter(|_| self.sharing != Sharing::Plain) else { return };
        let bucket = bucket_of(rows);
        let is_other = self.untold.iter().enumerate().any(|(at, n)| at != bucket && *n > 0);
        self.untold[bucket] += 1;
        let untold: u64 = self.untold.iter().sum();
        if is_other || untold >= (self.told / TOLD_SINGLY).clamp(1, UNTOLD_MOST) {
            let gets = cx.p.stats().get(Stat::SessionLogicalReads).saturating_sub(base);
            place.note_executions(std::mem::take(&mut self.untold), (number_of(values), rows, gets), cx);
            self.told += untold;
        }
    }
}

fn selectivities(predicates: &[BindPredicate], values: &[Value]) -> Vec<f64> {
    predicates.iter().map(|p| values.get(p.bind).map_or(0.0, |value| p.share(value))).collect()
}

/// A number for values of binds.
pub(crate) fn number_of(values: &[Value]) -> u64 {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| crate::hash::push_part(value, &mut bytes));
    let mut hasher = std::hash::DefaultHasher::new();
    bytes.hash(&mut hasher);
    // What NUMBER columns of views show: 32 bits.
    hasher.finish() & 0xffff_ffff
}

/// How a plan's cursor is shared, with the selectivities and the texts of its predicates.
pub(crate) struct Shape {
    pub sharing: Sharing,
    pub selectivities: Vec<f64>,
    pub labels: String,
}

impl Shape {
    /// `aware`: the values have asked for a child of their own.
    pub fn of(plan: &Plan, values: Option<&[Value]>, aware: bool, cx: &ExecCtx<'_>) -> Shape {
        let none = Shape { sharing: Sharing::Plain, selectivities: Vec::new(), labels: String::new() };
        let Some(values) = values.filter(|_| plan.is_peeked && !plan.peeks.is_empty()) else { return none };
        let is_off = !cx.session.options.adaptive_sharing || plan.bind_aware == Some(false);
        if is_off || plan.peeks.len() > PREDICATES_MAX {
            return none;
        }
        let sharing = if aware || plan.bind_aware == Some(true) { Sharing::Aware } else { Sharing::Sensitive };
        let labels: Vec<String> = plan.peeks.iter().map(|p| p.label(&plan.binds)).collect();
        Shape { sharing, selectivities: selectivities(&plan.peeks, values), labels: labels.join("\n") }
    }
}
