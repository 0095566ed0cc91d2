//! `v$backup`: data files in backup mode; `v$recover_file`: data files that cannot be used; `v$datafile_header`: the
//! contents of their headers.

use crate::column::{Row, Type, Type::*, date_of_seconds, n, t, yes};
use crate::source::Source;
use datafile::Contents;
use types::{Ora, Result, Value};

pub const BACKUP: &[(&str, Type)] = &[("FILE#", N), ("STATUS", V(18)), ("CHANGE#", N), ("TIME", D), ("CON_ID", N)];

/// One row for each permanent data file. CHANGE# and TIME are those of the begin of the present backup.
pub fn backup(s: &Source<'_>) -> Result<Vec<Row>> {
    let control = s.instance.storage().cache.files().control()?;
    let kept = |tablespace: u32| control.tablespace(tablespace).is_none_or(|t| t.contents != Contents::Temporary);
    let files = control.heads().filter(|f| kept(f.tablespace));
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

/// The ERROR of a file that cannot be used; empty when the file only needs redo.
fn trouble(e: &Ora) -> &'static str {
    match () {
        () if e.is(1157) => "FILE NOT FOUND",
        () if e.is(1200) => "FILE TOO SHORT",
        () if e.is(1190) => "FILE FROM ANOTHER INCARNATION",
        () => "WRONG FILE",
    }
}

/// One row for each data file that needs recovery before it can be used: it was taken offline alone, or was missing or
/// foreign when the database was opened. Files of an offline tablespace have a row too, also those that need no redo.
/// CHANGE# and TIME are those of the file's checkpoint.
pub fn recover_file(s: &Source<'_>) -> Result<Vec<Row>> {
    let files = s.instance.storage().cache.files();
    let (control, missing) = (files.control()?, files.missing());
    let mut rows = Vec::new();
    for f in control.heads() {
        let offline = f.is_offline || control.tablespace(f.tablespace).is_some_and(|t| t.is_offline);
        let is_missing = missing.contains(&f.file);
        let lacks_redo = offline && !f.is_offline && files.lacks_redo(&control, f).is_ok_and(|lacks| lacks);
        let error = match () {
            () if f.is_offline => match files.is_complete(&control, f) {
                Ok(true) => continue,
                Ok(false) => "",
                Err(e) => trouble(&e),
            },
            () if is_missing => files.why_missing(f).as_ref().map_or("", trouble),
            () if lacks_redo => "",
            () if offline => "OFFLINE NORMAL",
            () => continue,
        };
        let at = if f.is_offline || is_missing || lacks_redo { files.closed_checkpoint(f).ok() } else { None };
        let (change, time) = at.map_or((n(0u64), Value::Null), |at| (n(at.scn), date_of_seconds(at.time_s.into())));
        let status = t(if offline { "OFFLINE" } else { "ONLINE" });
        rows.push(vec![n(f.file), status.clone(), status, t(error), change, time, n(0u64)]);
    }
    Ok(rows)
}

pub const DATAFILE_HEADER: &[(&str, Type)] = &[
    ("FILE#", N),
    ("STATUS", V(7)),
    ("ERROR", V(65)),
    ("RECOVER", V(3)),
    ("FUZZY", V(3)),
    ("CREATION_CHANGE#", N),
    ("TABLESPACE_NAME", V(30)),
    ("TS#", N),
    ("RFILE#", N),
    ("RESETLOGS_CHANGE#", N),
    ("RESETLOGS_TIME", D),
    ("CHECKPOINT_CHANGE#", N),
    ("CHECKPOINT_TIME", D),
    ("NAME", V(513)),
    ("CON_ID", N),
];

/// One row for each permanent data file, from its own header.
pub fn datafile_header(s: &Source<'_>) -> Result<Vec<Row>> {
    let files = s.instance.storage().cache.files();
    let control = files.control()?;
    let mut rows = Vec::new();
    for f in control.heads() {
        let Some(of) = control.tablespace(f.tablespace).filter(|t| t.contents != Contents::Temporary) else { continue };
        let away = f.is_offline || of.is_offline;
        let (error, complete) = match files.closed_checkpoint(f) {
            Err(e) => (trouble(&e), None),
            Ok(_) if f.is_offline || files.is_away(f.file) && !of.is_offline => match files.is_complete(&control, f) {
                Ok(complete) => ("", Some(complete)),
                Err(e) => (trouble(&e), Some(false)),
            },
            Ok(_) if of.is_offline => ("", files.lacks_redo(&control, f).ok().map(|lacks| !lacks)),
            Ok(_) => ("", Some(true)),
        };
        let header = files.closed_checkpoint(f).ok();
        let fuzzy = !away && !of.is_read_only;
        rows.push(vec![
            n(f.file),
            t(if away { "OFFLINE" } else { "ONLINE" }),
            t(error),
            complete.map_or(Value::Null, |complete| yes(!complete)),
            if header.is_some() { yes(fuzzy) } else { Value::Null },
            n(f.created_scn.0),
            t(&of.name),
            n(of.number),
            crate::space::relative_in(Some(&control), of.number, f.file),
            n(control.incarnation.resetlogs_scn.0),
            date_of_seconds(control.incarnation.resetlogs_time_s.into()),
            header.as_ref().map_or(n(0u64), |h| n(h.scn)),
            header.as_ref().map_or(Value::Null, |h| date_of_seconds(h.time_s.into())),
            t(files.directory().join(&f.name).display().to_string()),
            n(0u64),
        ]);
    }
    Ok(rows)
}
