//! Estimates of reads and loads for other sizes of the caches: `v$db_cache_advice`, `v$shared_pool_advice`,
//! `v$sga_target_advice`.
//!
//! MMNL simulates buffer cache and library cache; the views show the results together with the real reads and loads
//! (V3).

use buffer_cache::{ADVICE_PRESENT, ADVICE_SIZES};
use cache_advice::Reused;
use params::Param;
use process::Whose;
use types::{Number, Result, Value};
use wait::{Event, Stat, TimeStat};

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

pub const SHARED_POOL_ADVICE: &[(&str, Type)] = &[
    ("SHARED_POOL_SIZE_FOR_ESTIMATE", N),
    ("SHARED_POOL_SIZE_FACTOR", N),
    ("ESTD_LC_SIZE", N),
    ("ESTD_LC_MEMORY_OBJECTS", N),
    ("ESTD_LC_TIME_SAVED", N),
    ("ESTD_LC_TIME_SAVED_FACTOR", N),
    ("ESTD_LC_LOAD_TIME", N),
    ("ESTD_LC_LOAD_TIME_FACTOR", N),
    ("ESTD_LC_MEMORY_OBJECT_HITS", N),
    ("CON_ID", N),
];

pub const SGA_TARGET_ADVICE: &[(&str, Type)] = &[
    ("SGA_SIZE", N),
    ("SGA_SIZE_FACTOR", N),
    ("ESTD_DB_TIME", N),
    ("ESTD_DB_TIME_FACTOR", N),
    ("ESTD_PHYSICAL_READS", N),
    ("ESTD_BUFFER_CACHE_SIZE", N),
    ("ESTD_SHARED_POOL_SIZE", N),
    ("CON_ID", N),
];

pub const STREAMS_POOL_ADVICE: &[(&str, Type)] = &[
    ("STREAMS_POOL_SIZE_FOR_ESTIMATE", N),
    ("STREAMS_POOL_SIZE_FACTOR", N),
    ("ESTD_SPILL_COUNT", N),
    ("ESTD_SPILL_TIME", N),
    ("ESTD_UNSPILL_COUNT", N),
    ("ESTD_UNSPILL_TIME", N),
    ("CON_ID", N),
];

/// The columns of `v$java_pool_advice`.
pub fn java_pool_columns() -> Vec<(&'static str, Type)> {
    let of_pool = [("JAVA_POOL_SIZE_FOR_ESTIMATE", N), ("JAVA_POOL_SIZE_FACTOR", N)];
    of_pool.iter().chain(&SHARED_POOL_ADVICE[2..]).copied().collect()
}

/// Multiples of the SGA's size for which an estimate is made.
const SGA_FACTORS: [f64; 8] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0];

const MB: f64 = 1_048_576.0;

pub fn real(value: f64, decimals: i32) -> Value {
    Number::from_f64(value).map_or(Value::Null, |value| Value::Number(value.round(decimals)))
}

/// No rows, for pools that do not exist.
pub fn none(_: &Source<'_>) -> Result<Vec<Row>> {
    Ok(Vec::new())
}

/// A row for each size; no estimates before the first read.
pub fn db_cache_advice(s: &Source<'_>) -> Vec<Row> {
    let cache = &s.instance.storage().cache;
    let (advice, buffers, block) = (cache.advice(), cache.buffers(), cache.block_size());
    let read = s.processes.system_stats(s.p)[Stat::PhysicalReadsCache as usize];
    let status = s.instance.params().get(Param::DbCacheAdvice);
    let is_on = status.eq_ignore_ascii_case("ON") && is_counted(s);
    let present = advice.misses[ADVICE_PRESENT];
    let row = |size: usize| {
        let of_size = buffers * (size + 1) / 10;
        let factor = (present > 0).then(|| advice.misses[size] as f64 / present as f64);
        vec![
            n(3u32),
            t("DEFAULT"),
            n(block as u64),
            t(if is_on { "ON" } else { "OFF" }),
            real((of_size * block) as f64 / MB, 2),
            real((size + 1) as f64 / 10.0, 1),
            n(of_size as u64),
            factor.map_or(Value::Null, |factor| real(factor, 4)),
            factor.map_or(Value::Null, |factor| real(factor * read as f64, 0)),
            n(0u32),
        ]
    };
    (0..ADVICE_SIZES).map(row).collect()
}

/// True when figures for advice are collected.
pub fn is_counted(s: &Source<'_>) -> bool {
    !s.instance.params().get(Param::StatisticsLevel).eq_ignore_ascii_case("BASIC")
}

/// Activity of the library cache since the instance started: gets, loads, and seconds of hard parses.
struct Loaded {
    gets: f64,
    loads: f64,
    seconds: f64,
}

impl Loaded {
    fn read(s: &Source<'_>) -> Loaded {
        let (mut gets, mut hits) = (0, 0);
        for row in s.shared.library.namespaces() {
            (gets, hits) = (gets + row.gets, hits + row.get_hits);
        }
        // Loads by user and background sessions are counted.
        let hard_us: u64 = s.processes.times_of_both(s.p).map(|times| times[TimeStat::HardParse as usize]).iter().sum();
        Loaded { gets: gets as f64, loads: (gets.saturating_sub(hits)) as f64, seconds: hard_us as f64 / 1e6 }
    }

    /// The loads with another size: the real loads, plus the simulated misses of that size, less those of the present
    /// size.
    fn loads_with(&self, misses: f64, present: f64) -> f64 {
        (self.loads + misses - present).clamp(0.0, self.gets)
    }

    /// Seconds for a number of loads.
    fn load_time(&self, loads: f64) -> f64 {
        if self.loads > 0.0 { self.seconds / self.loads * loads } else { 0.0 }
    }
}

fn ratio(value: f64, of: f64) -> Value {
    if of > 0.0 { real(value / of, 4) } else { Value::Null }
}

/// A row for each size; no rows while nothing is counted.
pub fn shared_pool_advice(s: &Source<'_>) -> Vec<Row> {
    if !is_counted(s) {
        return Vec::new();
    }
    let (library, pool_bytes) = (s.shared.library, s.instance.sizes().pool_bytes);
    let (advice, did) = (library.advice(), Loaded::read(s));
    let misses = |size: usize| advice.misses[size] as f64;
    let loads = |size: usize| did.loads_with(misses(size), misses(library_cache::ADVICE_PRESENT));
    let saved = |size: usize| did.load_time(did.gets - loads(size));
    let present = library_cache::ADVICE_PRESENT;
    let row = |size: usize| {
        let bytes = pool_bytes * (size as u64 + 1) / 10;
        let objects = advice.known.min(instance::statements_of(bytes) as u64);
        let load_time = did.load_time(loads(size));
        vec![
            real(bytes as f64 / MB, 2),
            real((size + 1) as f64 / 10.0, 1),
            real((objects * library_cache::statement_bytes()) as f64 / MB, 2),
            n(objects),
            real(saved(size), 2),
            ratio(saved(size), saved(present)),
            real(load_time, 2),
            ratio(load_time, did.load_time(loads(present))),
            real(did.gets - loads(size), 0),
            n(0u32),
        ]
    };
    (0..library_cache::ADVICE_SIZES).map(row).collect()
}

/// Simulated misses of a size; `None` outside the simulated sizes.
fn misses_at(advice: &Reused, sizes: &[usize], wanted: usize) -> Option<f64> {
    let misses = |n: usize| advice.misses[n] as f64;
    if let Ok(at) = sizes.binary_search(&wanted) {
        return Some(misses(at));
    }
    let above = sizes.iter().position(|size| *size > wanted).filter(|above| *above > 0)?;
    let (low, high) = (sizes[above - 1] as f64, sizes[above] as f64);
    let part = (wanted as f64 - low) / (high - low);
    Some(misses(above - 1) + (misses(above) - misses(above - 1)) * part)
}

/// Microseconds that user sessions waited for reads into the buffer cache.
fn waited_for_blocks_us(s: &Source<'_>) -> u64 {
    let reads = [Event::DbFileSequentialRead, Event::DbFileScatteredRead, Event::DbFileParallelRead];
    reads.map(|event| s.processes.system_event(s.p, event, Whose::Foreground).0.us).iter().sum()
}

/// A row for each size within the range of the buffer cache's simulation; no rows without a target.
pub fn sga_target_advice(s: &Source<'_>) -> Vec<Row> {
    let target = s.instance.params().number(Param::SgaTarget) as u64;
    if target == 0 || !is_counted(s) {
        return Vec::new();
    }
    let (cache, now) = (&s.instance.storage().cache, s.instance.sizes());
    let buffers: Vec<usize> = (1..=ADVICE_SIZES).map(|tenths| cache.buffers() * tenths / 10).collect();
    let pool = |tenths: u64| instance::statements_of(now.pool_bytes * tenths / 10);
    let pools: Vec<usize> = (1..=library_cache::ADVICE_SIZES as u64).map(pool).collect();
    let (blocks, statements, did) = (cache.advice(), s.shared.library.advice(), Loaded::read(s));
    let read = s.processes.system_stats(s.p)[Stat::PhysicalReadsCache as usize] as f64;
    let (waited_us, times) = (waited_for_blocks_us(s) as f64, s.processes.system_times(s.p));
    let db_us = times[TimeStat::DbTime as usize] as f64;
    let present = blocks.misses[ADVICE_PRESENT] as f64;
    let row = |factor: f64| {
        let bytes = (target as f64 * factor) as u64;
        let sizes = s.instance.sizes_with_target(bytes).ok()?;
        let misses = misses_at(&blocks, &buffers, sizes.buffers)?;
        let reads = if present > 0.0 { misses / present } else { 1.0 };
        let loads = misses_at(&statements, &pools, sizes.statements)?;
        let loads = did.loads_with(loads, statements.misses[library_cache::ADVICE_PRESENT] as f64);
        let us = db_us + waited_us * (reads - 1.0) + did.load_time(loads - did.loads) * 1e6;
        Some(vec![
            real(bytes as f64 / MB, 0),
            real(factor, 4),
            real(us.max(0.0) / 1e6, 0),
            ratio(us.max(0.0), db_us),
            real(reads * read, 0),
            real((sizes.buffers * cache.block_size()) as f64 / MB, 0),
            real(sizes.pool_bytes as f64 / MB, 0),
            n(0u32),
        ])
    };
    SGA_FACTORS.iter().filter_map(|factor| row(*factor)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_between_two_sizes_lie_between_theirs() {
        let advice = Reused { gets: 1000, misses: std::array::from_fn(|n| 1000 - 40 * n as u64), known: 0 };
        let sizes: Vec<usize> = (1..=ADVICE_SIZES).map(|n| 100 * n).collect();
        let at = |wanted| misses_at(&advice, &sizes, wanted);
        assert_eq!((at(1000), at(500), at(550)), (Some(640.0), Some(840.0), Some(820.0)));
        assert_eq!((at(2000), at(2001), at(100), at(99)), (Some(240.0), None, Some(1000.0), None));
    }
}
