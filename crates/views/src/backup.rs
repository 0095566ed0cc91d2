//! `v$backup`: which data files are in backup mode; `v$recover_file`: which cannot be used.

use crate::column::{Row, Type, Type::*, date_of_seconds, n, t};
use crate::source::Source;
use datafile::Contents;
use types::{Result, Value};

pub const BACKUP: &[(&str, Type)] = &[("FILE#", N), ("STATUS", V(18)), ("CHANGE#", N), ("TIME", D), ("CON_ID", N)];

/// One row a data file that keeps anything; change and time are those at which its last backup began, while it goes on.
pub fn backup(s: &Source<'_>) -> Result<Vec<Row>> {
    let control = s.instance.storage().cache.files().control()?;
    let kept = |tablespace: u32| control.tablespace(tablespace).is_none_or(|t| t.contents != Contents::Temporary);
    let files = control.files.iter().filter(|f| kept(f.tablespace));
    let row = |f: &datafile::FileEntry| {
        let state = match control.backups.iter().find(|b| b.file == f.file) {
            Some(b) => [t("ACTIVE"), n(b.checkpoint.scn.0), date_of_seconds(b.checkpoint.time_s.into())],
            None if f.is_offline => [t("OFFLINE NORMAL"), n(0u64), Value::Null],
            None => [t("NOT ACTIVE"), n(0u64), Value::Null],
        };
        let [status, change, time] = state;
        vec![n(f.file), status, change, time, n(0u64)]
    };
    Ok(files.map(row).collect())
}

pub const RECOVER_FILE: &[(&str, Type)] = &[
    ("FILE#", N),
    ("ONLINE", V(7)),
    ("ONLINE_STATUS", V(7)),
    ("ERROR", V(65)),
    ("CHANGE#", N),
    ("TIME", D),
    ("CON_ID", N),
];

/// One row a data file that was not there, or not itself, when the database was opened, and one for each of a tablespace that is offline:
/// those lack nothing.
pub fn recover_file(s: &Source<'_>) -> Result<Vec<Row>> {
    let files = s.instance.storage().cache.files();
    let (control, missing) = (files.control()?, files.missing());
    let mut rows = Vec::new();
    for f in &control.files {
        let offline = f.is_offline || control.tablespace(f.tablespace).is_some_and(|t| t.is_offline);
        let error = match files.why_missing(f).filter(|_| missing.contains(&f.file)) {
            Some(e) if e.is(1157) => "FILE NOT FOUND",
            Some(e) if e.is(1200) => "FILE TOO SHORT",
            Some(_) => "WRONG FILE",
            None if missing.contains(&f.file) => "",
            None if offline => "OFFLINE NORMAL",
            None => continue,
        };
        let status = t(if offline { "OFFLINE" } else { "ONLINE" });
        rows.push(vec![n(f.file), status.clone(), status, t(error), n(0u64), Value::Null, n(0u64)]);
    }
    Ok(rows)
}
