//! `v$backup`: which data files are in backup mode.

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
