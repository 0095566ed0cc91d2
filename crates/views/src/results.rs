//! The result cache: the four `v$result_cache_` views.

use result_cache::Kind;
use types::Value;

use crate::column::{Row, Type, Type::*, date_of_seconds, n, t};
use crate::source::Source;

pub const MEMORY: &[(&str, Type)] =
    &[("ID", N), ("CHUNK", N), ("OFFSET", N), ("FREE", V(3)), ("OBJECT_ID", N), ("POSITION", N)];

pub const OBJECTS: &[(&str, Type)] = &[
    ("ID", N),
    ("TYPE", V(10)),
    ("STATUS", V(9)),
    ("BUCKET_NO", N),
    ("HASH", N),
    ("NAME", V(128)),
    ("NAMESPACE", V(5)),
    ("CREATION_TIMESTAMP", D),
    ("CREATOR_UID", N),
    ("DEPEND_COUNT", N),
    ("BLOCK_COUNT", N),
    ("SCN", N),
    ("COLUMN_COUNT", N),
    ("PIN_COUNT", N),
    ("SCAN_COUNT", N),
    ("ROW_COUNT", N),
    ("ROW_SIZE_MAX", N),
    ("ROW_SIZE_MIN", N),
    ("ROW_SIZE_AVG", N),
    ("BUILD_TIME", N),
    ("LRU_NUMBER", N),
    ("OBJECT_NO", N),
    ("INVALIDATIONS", N),
    ("SPACE_OVERHEAD", N),
    ("SPACE_UNUSED", N),
    ("CACHE_ID", V(93)),
    ("CACHE_KEY", V(93)),
];

pub const DEPENDENCY: &[(&str, Type)] = &[("RESULT_ID", N), ("DEPEND_ID", N), ("OBJECT_NO", N)];

pub const STATISTICS: &[(&str, Type)] = &[("ID", N), ("NAME", V(128)), ("VALUE", V(64))];

pub fn memory(s: &Source<'_>) -> Vec<Row> {
    let rows = s.shared.results.memory_rows().into_iter();
    rows.map(|block| {
        let free = t(if block.free { "YES" } else { "NO" });
        let (object, position) = match block.object {
            Some((object, position)) => (n(object), n(position)),
            None => (Value::Null, Value::Null),
        };
        vec![n(block.id), n(block.chunk), n(block.offset), free, object, position]
    })
    .collect()
}

pub fn objects(s: &Source<'_>) -> Vec<Row> {
    let rows = s.shared.results.object_rows().into_iter();
    rows.map(|o| {
        let is_result = o.kind == Kind::Result;
        let name = if is_result { o.name.clone() } else { format!("object {}", o.object_no.0) };
        vec![
            n(o.id),
            t(if is_result { "Result" } else { "Dependency" }),
            t(o.status.name()),
            n(o.bucket),
            n(o.hash & 0xffff_ffff),
            t(name),
            if is_result {
                t(if o.namespace == result_cache::Namespace::PlSql { "PLSQL" } else { "SQL" })
            } else {
                Value::Null
            },
            date_of_seconds(o.created_s),
            n(o.creator),
            n(o.depend_count),
            n(o.block_count),
            n(o.scn),
            n(o.column_count),
            n(o.pin_count),
            o.scan_count.map_or(Value::Null, n),
            n(o.row_count),
            n(o.row_size_max),
            n(o.row_size_min),
            n(o.data_bytes.checked_div(o.row_count).unwrap_or(0)),
            n(o.build_time_cs),
            n(o.lru_number),
            n(o.object_no.0),
            n(o.invalidations),
            n(o.space_overhead),
            n(o.space_unused),
            t(&o.cache_id),
            t(&o.cache_id),
        ]
    })
    .collect()
}

pub fn dependency(s: &Source<'_>) -> Vec<Row> {
    let rows = s.shared.results.dependency_rows().into_iter();
    rows.map(|d| vec![n(d.result_id), n(d.depend_id), n(d.object_no.0)]).collect()
}

pub fn statistics(s: &Source<'_>) -> Vec<Row> {
    let rows = s.shared.results.statistics().into_iter().enumerate();
    rows.map(|(at, (name, value))| vec![n(at as u64 + 1), t(name), t(value)]).collect()
}
