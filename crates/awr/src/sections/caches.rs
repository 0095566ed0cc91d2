//! The dictionary cache and the library cache.

use crate::Period;
use crate::doc::{Cell, Section, left, number, section};
use crate::loader::Ends;

pub fn dictionary_sections(p: &Period) -> Vec<Section> {
    let mut all: Vec<&Ends> = p.row_cache.iter().filter(|e| e.added(0) > 0).collect();
    all.sort_by_key(|e| e.name().to_string());
    let row = |e: &&Ends| {
        let (gets, misses, scans, scan_misses) = (e.added(0), e.added(1), e.added(2), e.added(3));
        vec![
            Cell::text(e.name()),
            Cell::Count(gets),
            Cell::percent(misses as f64, gets as f64, 1),
            Cell::Count(scans),
            if scans == 0 { Cell::text("N/A") } else { Cell::percent(scan_misses as f64, scans as f64, 1) },
            Cell::Count(e.added(4)),
            Cell::Count(e.end[5]),
        ]
    };
    let columns = vec![
        left("Cache", 25),
        number("Get|Requests", 12),
        number("Pct|Miss", 6),
        number("Scan|Reqs", 7),
        number("Pct|Miss", 5),
        number("Mod|Reqs", 8),
        number("Final|Usage", 10),
    ];
    let notes =
        ["\"Pct Misses\" of gets and of scans", "\"Final Usage\" is the number of cache entries being used at the end"];
    let summary = "This table displays dictionary cache statistics. Get requests, % misses, scan requests, final usage, etc. are displayed for \
                   each cache";
    vec![section("Dictionary Cache Stats", summary, &notes, columns, all.iter().map(row).collect())]
}

pub fn library_sections(p: &Period) -> Vec<Section> {
    let mut all: Vec<&Ends> = p.library_cache.iter().filter(|e| e.added(0) + e.added(2) > 0).collect();
    all.sort_by_key(|e| e.name().to_string());
    let row = |e: &&Ends| {
        let missed = |gets: usize, hits: usize| e.added(gets).saturating_sub(e.added(hits));
        vec![
            Cell::text(e.name()),
            Cell::Count(e.added(0)),
            Cell::percent(missed(0, 1) as f64, e.added(0) as f64, 1),
            Cell::Count(e.added(2)),
            Cell::percent(missed(2, 3) as f64, e.added(2) as f64, 1),
            Cell::Count(e.added(4)),
            Cell::Count(e.added(5)),
        ]
    };
    let columns = vec![
        left("Namespace", 15),
        number("Get|Requests", 12),
        number("Pct|Miss", 6),
        number("Pin|Requests", 14),
        number("Pct|Miss", 6),
        number("Reloads", 10),
        number("Invali-|dations", 8),
    ];
    let summary = "This table displays library cache activity. Get requests, % misses, pin requests, reloads, etc. are displayed for each \
                   library cache namespace";
    let notes = ["\"Pct Misses\" of gets and of pins"];
    vec![section("Library Cache Activity", summary, &notes, columns, all.iter().map(row).collect())]
}
