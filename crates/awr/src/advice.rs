//! The data of the advisories: estimates for other sizes of memory, at the end of the period, since the instance
//! started.

use crate::loader::{Ends, Loader, count, real, text};
use types::{Result, Value};

/// Estimated reads of one size of the buffer cache.
#[derive(Clone, Debug, Default)]
pub struct CacheSize {
    pub pool: String,
    pub megabytes: f64,
    /// The size as a multiple of the present size.
    pub factor: f64,
    pub buffers: u64,
    pub reads: f64,
    /// Reads of the present size.
    pub present: f64,
}

/// Estimated work areas of one PGA target.
#[derive(Clone, Debug, Default)]
pub struct PgaTarget {
    pub bytes: f64,
    pub factor: f64,
    /// Bytes processed by work areas, and the additional bytes that would have been written and read.
    pub processed: f64,
    pub extra: f64,
    pub hit_percentage: f64,
}

/// Estimated loads of one size of the shared pool.
#[derive(Clone, Debug, Default)]
pub struct PoolSize {
    pub megabytes: f64,
    pub factor: f64,
    /// Megabytes, and the number of statements and objects.
    pub library_megabytes: f64,
    pub objects: u64,
    pub saved_s: f64,
    pub saved_factor: f64,
    pub load_s: f64,
    pub load_factor: f64,
    pub hits: f64,
}

/// Estimates for one size of the SGA.
#[derive(Clone, Debug, Default)]
pub struct SgaSize {
    pub megabytes: f64,
    pub factor: f64,
    pub db_time_s: f64,
    pub reads: f64,
}

/// The advisories of a period, each in the order of the sizes.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    pub caches: Vec<CacheSize>,
    pub pga_targets: Vec<PgaTarget>,
    pub pools: Vec<PoolSize>,
    pub sgas: Vec<SgaSize>,
    /// `[value]` by name of `v$pgastat`.
    pub pgastat: Vec<Ends>,
    /// `[in memory, one pass, more]` by least and greatest need in bytes.
    pub work_areas: Vec<Ends>,
}

impl Advice {
    pub(crate) fn load(l: &mut Loader<'_>) -> Result<Advice> {
        let mut advice = Advice {
            caches: caches(l)?,
            pga_targets: pga_targets(l)?,
            pools: pools(l)?,
            sgas: sgas(l)?,
            pgastat: l.ends(1, "name, value", "pgastat")?,
            work_areas: l.ends(
                2,
                "low_optimal_size, high_optimal_size, optimal_executions, onepass_executions, multipasses_executions",
                "sql_workarea_hstgrm",
            )?,
        };
        let need = |e: &Ends| e.key[0].parse::<u64>().unwrap_or(0);
        advice.work_areas.sort_by_key(need);
        Ok(advice)
    }

    /// The increase of a total of `v$pgastat`.
    pub fn pga_added(&self, name: &str) -> u64 {
        self.pgastat.iter().find(|e| e.key[0] == name).map_or(0, |e| e.added(0))
    }

    /// A value of `v$pgastat` at the beginning and at the end.
    pub fn pga(&self, name: &str) -> (Option<u64>, Option<u64>) {
        let found = self.pgastat.iter().find(|e| e.key[0] == name);
        let of = |ends: fn(&Ends) -> &Vec<u64>| found.and_then(|e| ends(e).first().copied());
        (of(|e| &e.begin), of(|e| &e.end))
    }
}

/// The rows of a view at the end of the period, ordered by a figure.
fn at_end<T>(
    l: &mut Loader<'_>,
    columns: &str,
    view: &str,
    row: fn(Vec<Value>) -> T,
    size: fn(&T) -> f64,
) -> Result<Vec<T>> {
    let end = l.ends[1];
    let mut all: Vec<T> = l.rows(columns, view, end)?.into_iter().map(row).collect();
    all.sort_by(|a, b| size(a).total_cmp(&size(b)));
    Ok(all)
}

fn caches(l: &mut Loader<'_>) -> Result<Vec<CacheSize>> {
    let columns = "name, size_for_estimate, size_factor, buffers_for_estimate, physical_reads, base_physical_reads";
    let row = |row: Vec<Value>| CacheSize {
        pool: text(&row[0]),
        megabytes: real(&row[1]),
        factor: real(&row[2]),
        buffers: count(&row[3]),
        reads: real(&row[4]),
        present: real(&row[5]),
    };
    at_end(l, columns, "db_cache_advice", row, |size| size.buffers as f64)
}

fn pga_targets(l: &mut Loader<'_>) -> Result<Vec<PgaTarget>> {
    let columns = "pga_target_for_estimate, pga_target_factor, bytes_processed, estd_extra_bytes_rw, estd_pga_cache_hit_percentage";
    let row = |row: Vec<Value>| PgaTarget {
        bytes: real(&row[0]),
        factor: real(&row[1]),
        processed: real(&row[2]),
        extra: real(&row[3]),
        hit_percentage: real(&row[4]),
    };
    at_end(l, columns, "pga_target_advice", row, |target| target.bytes)
}

fn pools(l: &mut Loader<'_>) -> Result<Vec<PoolSize>> {
    let columns = "shared_pool_size_for_estimate, shared_pool_size_factor, estd_lc_size, estd_lc_memory_objects, estd_lc_time_saved, \
                   estd_lc_time_saved_factor, estd_lc_load_time, estd_lc_load_time_factor, estd_lc_memory_object_hits";
    let row = |row: Vec<Value>| PoolSize {
        megabytes: real(&row[0]),
        factor: real(&row[1]),
        library_megabytes: real(&row[2]),
        objects: count(&row[3]),
        saved_s: real(&row[4]),
        saved_factor: real(&row[5]),
        load_s: real(&row[6]),
        load_factor: real(&row[7]),
        hits: real(&row[8]),
    };
    at_end(l, columns, "shared_pool_advice", row, |pool| pool.megabytes)
}

fn sgas(l: &mut Loader<'_>) -> Result<Vec<SgaSize>> {
    let columns = "sga_size, sga_size_factor, estd_db_time, estd_physical_reads";
    let row = |row: Vec<Value>| SgaSize {
        megabytes: real(&row[0]),
        factor: real(&row[1]),
        db_time_s: real(&row[2]),
        reads: real(&row[3]),
    };
    at_end(l, columns, "sga_target_advice", row, |sga| sga.megabytes)
}
