//! Memory of work areas: their needs, and estimates for other values of `pga_aggregate_target`.

use exec::work_area::{CLASSES, class_bounds, limit_of};
use params::Param;
use types::Value;

use crate::advice::real;
use crate::column::{Row, Type, Type::*, n, t};
use crate::source::Source;

pub const PGASTAT: &[(&str, Type)] = &[("NAME", V(64)), ("VALUE", N), ("UNIT", V(12)), ("CON_ID", N)];

pub const TARGET_ADVICE: &[(&str, Type)] = &[
    ("PGA_TARGET_FOR_ESTIMATE", N),
    ("PGA_TARGET_FACTOR", N),
    ("ADVICE_STATUS", V(3)),
    ("BYTES_PROCESSED", N),
    ("ESTD_TIME", N),
    ("ESTD_EXTRA_BYTES_RW", N),
    ("ESTD_PGA_CACHE_HIT_PERCENTAGE", N),
    ("ESTD_OVERALLOC_COUNT", N),
    ("CON_ID", N),
];

pub const TARGET_HISTOGRAM: &[(&str, Type)] = &[
    ("PGA_TARGET_FOR_ESTIMATE", N),
    ("PGA_TARGET_FACTOR", N),
    ("ADVICE_STATUS", V(3)),
    ("LOW_OPTIMAL_SIZE", N),
    ("HIGH_OPTIMAL_SIZE", N),
    ("ESTD_OPTIMAL_EXECUTIONS", N),
    ("ESTD_ONEPASS_EXECUTIONS", N),
    ("ESTD_MULTIPASSES_EXECUTIONS", N),
    ("ESTD_TOTAL_EXECUTIONS", N),
    ("IGNORED_WORKAREAS_COUNT", N),
    ("CON_ID", N),
];

pub const HISTOGRAM: &[(&str, Type)] = &[
    ("LOW_OPTIMAL_SIZE", N),
    ("HIGH_OPTIMAL_SIZE", N),
    ("OPTIMAL_EXECUTIONS", N),
    ("ONEPASS_EXECUTIONS", N),
    ("MULTIPASSES_EXECUTIONS", N),
    ("TOTAL_EXECUTIONS", N),
    ("CON_ID", N),
];

/// The percentage of the bytes processed in work areas that needed no extra pass; 100 when there were none.
fn hit_percentage(bytes: u64, extra: u64) -> Value {
    let all = bytes as f64 + extra as f64;
    real(if all > 0.0 { 100.0 * bytes as f64 / all } else { 100.0 }, 2)
}

/// Only figures that are counted.
pub fn pgastat(s: &Source<'_>) -> Vec<Row> {
    let target = s.instance.params().number(Param::PgaAggregateTarget) as u64;
    let totals = s.shared.areas.totals();
    let (allocated, processes) = crate::memory::private_memory(s);
    let bytes = |name, value: u64| (name, n(value), "bytes");
    let rows = [
        bytes("aggregate PGA target parameter", target),
        bytes("global memory bound", limit_of(target)),
        bytes("total PGA inuse", allocated.used),
        bytes("total PGA allocated", allocated.used),
        bytes("maximum PGA allocated", allocated.most),
        ("process count", n(processes), ""),
        bytes("bytes processed", totals.bytes),
        bytes("extra bytes read/written", totals.extra_bytes),
        ("cache hit percentage", hit_percentage(totals.bytes, totals.extra_bytes), "percent"),
    ];
    rows.into_iter().map(|(name, value, unit)| vec![t(name), value, t(unit), n(0u32)]).collect()
}

/// A row for each target; no rows while nothing is counted.
pub fn target_advice(s: &Source<'_>) -> Vec<Row> {
    let (bytes, estimates) = s.shared.areas.estimates();
    let row = |e: exec::work_area::TargetEstimate| {
        vec![
            n(e.target),
            real(e.factor, 3),
            t("ON"),
            n(bytes),
            Value::Null,
            n(e.extra_bytes),
            hit_percentage(bytes, e.extra_bytes),
            Value::Null,
            n(0u32),
        ]
    };
    estimates.into_iter().map(row).collect()
}

/// A row for each target and class of work areas.
pub fn target_histogram(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for e in s.shared.areas.estimates().1 {
        for (class, [optimal, once, more]) in e.classes.into_iter().enumerate() {
            let (low, high) = class_bounds(class);
            let mut row = vec![n(e.target), real(e.factor, 3), t("ON"), n(low), n(high)];
            row.extend([optimal, once, more, optimal + once + more, 0, 0].map(n));
            rows.push(row);
        }
    }
    rows
}

/// A row for each class.
pub fn histogram(s: &Source<'_>) -> Vec<Row> {
    let totals = s.shared.areas.totals();
    let row = |class: usize| {
        let ((low, high), [optimal, once, more]) = (class_bounds(class), totals.classes[class]);
        [low, high, optimal, once, more, optimal + once + more, 0].map(n).into()
    };
    (0..CLASSES).map(row).collect()
}
