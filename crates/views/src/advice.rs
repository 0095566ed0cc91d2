//! What other sizes of the buffer cache would have read: `v$db_cache_advice`.

use buffer_cache::{ADVICE_PRESENT, ADVICE_SIZES};
use params::Param;
use types::{Number, Value};
use wait::Stat;

use crate::column::{Row, Type, Type::*, n, t};
use crate::source::Source;

pub const DB_CACHE_ADVICE: &[(&str, Type)] = &[
    ("ID", N),
    ("NAME", V(20)),
    ("BLOCK_SIZE", N),
    ("ADVICE_STATUS", V(3)),
    ("SIZE_FOR_ESTIMATE", N),
    ("SIZE_FACTOR", N),
    ("BUFFERS_FOR_ESTIMATE", N),
    ("ESTD_PHYSICAL_READ_FACTOR", N),
    ("ESTD_PHYSICAL_READS", N),
    ("CON_ID", N),
];

fn real(value: f64, decimals: i32) -> Value {
    Number::from_f64(value).map_or(Value::Null, |value| Value::Number(value.round(decimals)))
}

/// A row for each size: nothing is estimated before something was read.
pub fn db_cache_advice(s: &Source<'_>) -> Vec<Row> {
    let cache = &s.instance.storage().cache;
    let (advice, buffers, block) = (cache.advice(), cache.buffers(), cache.block_size());
    let read = s.processes.system_stats(s.p)[Stat::PhysicalReadsCache as usize];
    let status = s.instance.params().get(Param::DbCacheAdvice);
    let status = if status.eq_ignore_ascii_case("ON") { "ON" } else { "OFF" };
    let present = advice.misses[ADVICE_PRESENT];
    let row = |size: usize| {
        let of_size = buffers * (size + 1) / 10;
        let factor = (present > 0).then(|| advice.misses[size] as f64 / present as f64);
        vec![
            n(3u32),
            t("DEFAULT"),
            n(block as u64),
            t(status),
            real((of_size * block) as f64 / 1_048_576.0, 2),
            real((size + 1) as f64 / 10.0, 1),
            n(of_size as u64),
            factor.map_or(Value::Null, |factor| real(factor, 4)),
            factor.map_or(Value::Null, |factor| real(factor * read as f64, 0)),
            n(0u32),
        ]
    };
    (0..ADVICE_SIZES).map(row).collect()
}
