//! Statements: `v$sql`, `v$sqlarea`.

use library_cache::SqlRow;
use types::Value;

use crate::column::{Row, Type, Type::*, date_of_seconds, n, t};
use crate::source::Source;

pub const SQL: &[(&str, Type)] = &[
    ("SQL_TEXT", V(1000)),
    ("SQL_FULLTEXT", V(4000)),
    ("SQL_ID", V(13)),
    ("HASH_VALUE", N),
    ("CHILD_NUMBER", N),
    ("PARSING_SCHEMA_NAME", V(128)),
    ("COMMAND_TYPE", N),
    ("EXECUTIONS", N),
    ("PARSE_CALLS", N),
    ("FETCHES", N),
    ("ROWS_PROCESSED", N),
    ("BUFFER_GETS", N),
    ("DISK_READS", N),
    ("ELAPSED_TIME", N),
    ("CPU_TIME", N),
    ("LOADS", N),
    ("INVALIDATIONS", N),
    ("FIRST_LOAD_TIME", V(19)),
    ("LAST_ACTIVE_TIME", D),
    ("PLAN_HASH_VALUE", N),
    ("CON_ID", N),
];

pub const SQLTEXT: &[(&str, Type)] =
    &[("HASH_VALUE", N), ("SQL_ID", V(13)), ("COMMAND_TYPE", N), ("PIECE", N), ("SQL_TEXT", V(64))];

fn row(sql: &SqlRow) -> Row {
    let f = &sql.figures;
    let short: String = sql.text.chars().take(1000).collect();
    let loaded = match date_of_seconds(sql.first_load_s) {
        Value::Date(date) => {
            let mut text = String::new();
            let nls = types::Nls::default();
            match types::format::date_to_char(&date, "YYYY-MM-DD/HH24:MI:SS", &nls, &mut text) {
                Ok(()) => t(text),
                Err(_) => Value::Null,
            }
        }
        _ => Value::Null,
    };
    vec![
        t(short),
        t(&sql.text),
        t(sql.digest.sql_id()),
        n(sql.digest.hash_value()),
        n(0u64),
        t(&sql.schema),
        n(sql.command),
        n(f.executions),
        n(f.parse_calls),
        n(f.fetches),
        n(f.rows_processed),
        n(f.buffer_gets),
        n(f.disk_reads),
        n(f.elapsed_us),
        n(f.cpu_us),
        n(1u64),
        Value::Null,
        loaded,
        date_of_seconds(sql.last_active_s),
        n(0u64),
        n(0u64),
    ]
}

pub fn sql(s: &Source<'_>) -> Vec<Row> {
    s.shared.library.rows().iter().map(row).collect()
}

pub fn sqltext(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for sql in s.shared.library.rows() {
        let characters: Vec<char> = sql.text.chars().collect();
        for (piece, part) in characters.chunks(64).enumerate() {
            let text: String = part.iter().collect();
            rows.push(vec![
                n(sql.digest.hash_value()),
                t(sql.digest.sql_id()),
                n(sql.command),
                n(piece as u64),
                t(text),
            ]);
        }
    }
    rows
}
