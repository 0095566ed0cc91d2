//! Time zones: `v$timezone_names`, `v$timezone_file`.

use types::{Region, ZONES_RELEASE, zones_version};

use crate::column::{Row, Type, Type::*, n, t};
use crate::source::Source;

pub const NAMES: &[(&str, Type)] = &[("TZNAME", V(64)), ("TZABBREV", V(64)), ("CON_ID", N)];

pub const FILE: &[(&str, Type)] = &[("FILENAME", V(20)), ("VERSION", N), ("CON_ID", N)];

/// Each region with each abbreviation of its offsets.
pub fn names(_: &Source<'_>) -> Vec<Row> {
    let rows = |region: Region| {
        let row = move |abbreviation: &str| vec![t(region.name()), t(abbreviation), n(0u64)];
        region.abbreviations().into_iter().map(row).collect::<Vec<_>>()
    };
    Region::all().flat_map(rows).collect()
}

/// The release of the built-in IANA data: 2026a is 202601.
pub fn file(_: &Source<'_>) -> Vec<Row> {
    vec![vec![t(format!("tzdata{ZONES_RELEASE}")), n(zones_version()), n(0u64)]]
}
