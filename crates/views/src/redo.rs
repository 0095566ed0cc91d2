//! The redo log: `v$log`, `v$logfile`, `v$log_history`, `v$archived_log`, `v$archive_dest`, `v$thread`,
//! `v$instance_recovery`, `v$database`, `v$database_incarnation`.
//!
//! Present figures are read from the SGA, past ones from the control file.

use datafile::{ControlFile, LoggedEntry};
use params::Param;
use redo::{LOG_BLOCK_BYTES, RedoLog};
use std::path::Path;
use types::{Result, Value};

use crate::column::{Row, Type, Type::*, date, date_of_seconds, n, t, yes};
use crate::source::Source;

/// NEXT_CHANGE# of the current log.
const FOREVER: u64 = u64::MAX >> 1;

pub const LOG: &[(&str, Type)] = &[
    ("GROUP#", N),
    ("THREAD#", N),
    ("SEQUENCE#", N),
    ("BYTES", N),
    ("BLOCKSIZE", N),
    ("MEMBERS", N),
    ("ARCHIVED", V(3)),
    ("STATUS", V(16)),
    ("FIRST_CHANGE#", N),
    ("FIRST_TIME", D),
    ("NEXT_CHANGE#", N),
    ("NEXT_TIME", D),
    ("CON_ID", N),
];

pub const LOGFILE: &[(&str, Type)] = &[
    ("GROUP#", N),
    ("STATUS", V(7)),
    ("TYPE", V(7)),
    ("MEMBER", V(513)),
    ("IS_RECOVERY_DEST_FILE", V(3)),
    ("CON_ID", N),
];

pub const CONTROLFILE: &[(&str, Type)] = &[
    ("STATUS", V(7)),
    ("NAME", V(513)),
    ("IS_RECOVERY_DEST_FILE", V(3)),
    ("BLOCK_SIZE", N),
    ("FILE_SIZE_BLKS", N),
    ("CON_ID", N),
];

/// The control file is text; its size is shown in blocks of this many bytes.
const CONTROL_BLOCK: u64 = 512;

pub const LOG_HISTORY: &[(&str, Type)] = &[
    ("RECID", N),
    ("STAMP", N),
    ("THREAD#", N),
    ("SEQUENCE#", N),
    ("FIRST_CHANGE#", N),
    ("FIRST_TIME", D),
    ("NEXT_CHANGE#", N),
    ("RESETLOGS_CHANGE#", N),
    ("RESETLOGS_TIME", D),
    ("CON_ID", N),
];

pub const ARCHIVED_LOG: &[(&str, Type)] = &[
    ("RECID", N),
    ("STAMP", N),
    ("NAME", V(513)),
    ("DEST_ID", N),
    ("THREAD#", N),
    ("SEQUENCE#", N),
    ("RESETLOGS_CHANGE#", N),
    ("RESETLOGS_TIME", D),
    ("RESETLOGS_ID", N),
    ("FIRST_CHANGE#", N),
    ("FIRST_TIME", D),
    ("NEXT_CHANGE#", N),
    ("NEXT_TIME", D),
    ("BLOCKS", N),
    ("BLOCK_SIZE", N),
    ("CREATOR", V(7)),
    ("REGISTRAR", V(7)),
    ("ARCHIVED", V(3)),
    ("APPLIED", V(9)),
    ("DELETED", V(3)),
    ("STATUS", V(1)),
    ("COMPLETION_TIME", D),
    ("CON_ID", N),
];

pub const ARCHIVE_DEST: &[(&str, Type)] = &[
    ("DEST_ID", N),
    ("DEST_NAME", V(256)),
    ("STATUS", V(9)),
    ("BINDING", V(9)),
    ("NAME_SPACE", V(7)),
    ("TARGET", V(16)),
    ("ARCHIVER", V(10)),
    ("SCHEDULE", V(8)),
    ("DESTINATION", V(256)),
    ("LOG_SEQUENCE", N),
    ("ERROR", V(256)),
    ("CON_ID", N),
];

pub const THREAD: &[(&str, Type)] = &[
    ("THREAD#", N),
    ("STATUS", V(6)),
    ("ENABLED", V(8)),
    ("GROUPS", N),
    ("INSTANCE", V(80)),
    ("OPEN_TIME", D),
    ("CURRENT_GROUP#", N),
    ("SEQUENCE#", N),
    ("CHECKPOINT_CHANGE#", N),
    ("CHECKPOINT_TIME", D),
    ("CON_ID", N),
];

pub const INSTANCE_RECOVERY: &[(&str, Type)] = &[
    ("RECOVERY_ESTIMATED_IOS", N),
    ("ACTUAL_REDO_BLKS", N),
    ("TARGET_REDO_BLKS", N),
    ("LOG_FILE_SIZE_REDO_BLKS", N),
    ("LOG_CHKPT_TIMEOUT_REDO_BLKS", N),
    ("LOG_CHKPT_INTERVAL_REDO_BLKS", N),
    ("FAST_START_IO_TARGET_REDO_BLKS", N),
    ("TARGET_MTTR", N),
    ("ESTIMATED_MTTR", N),
    ("CKPT_BLOCK_WRITES", N),
    ("OPTIMAL_LOGFILE_SIZE", N),
    ("CON_ID", N),
];

pub const DATABASE: &[(&str, Type)] = &[
    ("DBID", N),
    ("NAME", V(9)),
    ("CREATED", D),
    ("RESETLOGS_CHANGE#", N),
    ("RESETLOGS_TIME", D),
    ("LOG_MODE", V(12)),
    ("CHECKPOINT_CHANGE#", N),
    ("ARCHIVE_CHANGE#", N),
    ("CONTROLFILE_TYPE", V(7)),
    ("OPEN_RESETLOGS", V(11)),
    ("OPEN_MODE", V(20)),
    ("PROTECTION_MODE", V(20)),
    ("DATABASE_ROLE", V(16)),
    ("FORCE_LOGGING", V(39)),
    ("PLATFORM_NAME", V(101)),
    ("FLASHBACK_ON", V(18)),
    ("CURRENT_SCN", N),
    ("DB_UNIQUE_NAME", V(30)),
    ("CDB", V(3)),
    ("CON_ID", N),
];

pub const INCARNATION: &[(&str, Type)] = &[
    ("INCARNATION#", N),
    ("RESETLOGS_CHANGE#", N),
    ("RESETLOGS_TIME", D),
    ("STATUS", V(7)),
    ("RESETLOGS_ID", N),
    ("CON_ID", N),
];

fn redo(s: &Source<'_>) -> &'static RedoLog {
    s.instance.storage().redo
}

/// The control file; an error when it cannot be read, since rows would be missing.
fn control(s: &Source<'_>) -> Result<ControlFile> {
    s.instance.storage().cache.files().control()
}

fn full_name(s: &Source<'_>, name: &str) -> Value {
    t(s.instance.dir().join(Path::new(name)).display().to_string())
}

fn seconds(time_s: u32) -> Value {
    if time_s == 0 { Value::Null } else { date_of_seconds(time_s.into()) }
}

pub fn log(s: &Source<'_>) -> Vec<Row> {
    let logs = redo(s).logs();
    let row = |log: &redo::LogInfo| {
        let next =
            logs.iter().filter(|l| log.sequence > 0 && l.sequence == log.sequence + 1).min_by_key(|l| l.sequence);
        let (scn, time) = match (log.sequence, next) {
            (0, _) => (n(0u64), Value::Null),
            (_, Some(next)) => (n(next.first_scn.0), seconds(next.first_time_s)),
            (_, None) => (n(FOREVER), Value::Null),
        };
        vec![
            n(log.group),
            n(1u64),
            n(log.sequence),
            n(log.bytes),
            n(LOG_BLOCK_BYTES),
            n(1u64),
            yes(log.archived || log.sequence == 0),
            t(log.status),
            n(log.first_scn.0),
            seconds(log.first_time_s),
            scn,
            time,
            n(0u64),
        ]
    };
    logs.iter().map(row).collect()
}

pub fn logfile(s: &Source<'_>) -> Result<Vec<Row>> {
    let control = control(s)?;
    let row = |l: &datafile::LogGroupEntry| {
        vec![n(l.group), Value::Null, t("ONLINE"), full_name(s, &l.name), yes(false), n(0u64)]
    };
    Ok(control.logs.iter().map(row).collect())
}

/// Both copies of the control file. STATUS is INVALID for a missing one.
pub fn controlfile(s: &Source<'_>) -> Vec<Row> {
    let row = |name: &str| {
        let file = os::file::File::open(&s.instance.dir().join(name), os::file::OpenMode::Read);
        let len = file.and_then(|file| file.len_bytes()).ok();
        let blocks = n(len.unwrap_or(0).div_ceil(CONTROL_BLOCK));
        let status = if len.is_some() { Value::Null } else { t("INVALID") };
        vec![status, full_name(s, name), yes(false), n(CONTROL_BLOCK), blocks, n(0u64)]
    };
    [datafile::CONTROL_FILE, datafile::CONTROL_COPY].map(row).into()
}

/// RECID and STAMP of a complete sequence: its number and the time of its completion.
fn record(l: &LoggedEntry) -> [Value; 2] {
    [n(l.sequence), n(l.next_time_s)]
}

pub fn log_history(s: &Source<'_>) -> Result<Vec<Row>> {
    let control = control(s)?;
    let life = control.incarnation;
    let row = |l: &LoggedEntry| {
        let [recid, stamp] = record(l);
        vec![
            recid,
            stamp,
            n(1u64),
            n(l.sequence),
            n(l.first_scn.0),
            seconds(l.first_time_s),
            n(l.next_scn.0),
            n(life.resetlogs_scn.0),
            seconds(life.resetlogs_time_s),
            n(0u64),
        ]
    };
    Ok(control.logged.iter().filter(|l| l.incarnation == life.number).map(row).collect())
}

pub fn archived_log(s: &Source<'_>) -> Result<Vec<Row>> {
    let control = control(s)?;
    let life = control.incarnation;
    let row = |l: &LoggedEntry| {
        let [recid, stamp] = record(l);
        vec![
            recid,
            stamp,
            full_name(s, &l.name),
            n(1u64),
            n(1u64),
            n(l.sequence),
            n(life.resetlogs_scn.0),
            seconds(life.resetlogs_time_s),
            n(l.incarnation),
            n(l.first_scn.0),
            seconds(l.first_time_s),
            n(l.next_scn.0),
            seconds(l.next_time_s),
            n((l.end - l.start).div_ceil(LOG_BLOCK_BYTES)),
            n(LOG_BLOCK_BYTES),
            t("ARCH"),
            t("ARCH"),
            yes(true),
            yes(false),
            yes(false),
            t("A"),
            seconds(l.completed_s),
            n(0u64),
        ]
    };
    Ok(control.logged.iter().filter(|l| !l.name.is_empty()).map(row).collect())
}

pub fn archive_dest(s: &Source<'_>) -> Result<Vec<Row>> {
    let redo = redo(s);
    let failure = redo.archive_failure();
    let newest = control(s)?.logged.iter().filter(|l| !l.name.is_empty()).map(|l| l.sequence).max();
    let directory = redo.archive_place().directory.display().to_string();
    Ok(vec![vec![
        n(1u64),
        t("LOG_ARCHIVE_DEST_1"),
        t(if failure.is_empty() { "VALID" } else { "ERROR" }),
        t("MANDATORY"),
        t("SYSTEM"),
        t("PRIMARY"),
        t("ARCH"),
        t("ACTIVE"),
        full_name(s, &directory),
        n(newest.unwrap_or(0)),
        t(failure.lines().next().unwrap_or("")),
        n(0u64),
    ]])
}

pub fn thread(s: &Source<'_>) -> Vec<Row> {
    let redo = redo(s);
    let (logs, checkpoint) = (redo.logs(), redo.checkpoint());
    let current = logs.iter().find(|l| l.status == "CURRENT");
    vec![vec![
        n(1u64),
        t(if redo.is_open() { "OPEN" } else { "CLOSED" }),
        t("PUBLIC"),
        n(logs.len() as u64),
        t(&s.facts.name),
        date(s.facts.started_wall_ns),
        current.map_or(Value::Null, |l| n(l.group)),
        current.map_or(Value::Null, |l| n(l.sequence)),
        n(checkpoint.scn.0),
        seconds(checkpoint.time_s),
        n(0u64),
    ]]
}

pub fn instance_recovery(s: &Source<'_>) -> Vec<Row> {
    let redo = redo(s);
    let blocks = |bytes: u64| n(bytes.div_ceil(LOG_BLOCK_BYTES));
    let target = s.instance.params().number(Param::LogCheckpointInterval);
    let cache = &s.instance.storage().cache;
    // From the lengths of the checkpoint queues: reading each buffer would take time in proportion to the cache.
    let dirty = cache.queue_length();
    vec![vec![
        n(dirty),
        blocks(redo.redo_since_checkpoint()),
        blocks(redo.room_of_all()),
        blocks(redo.room_of_all()),
        Value::Null,
        if target > 0 { n(target as u64) } else { Value::Null },
        Value::Null,
        n(0u64),
        // The redo to apply, at a hundred megabytes a second.
        n(redo.redo_since_checkpoint() / (100 << 20)),
        Value::Null,
        redo.optimal_log_bytes().map_or(Value::Null, |bytes| n(bytes.div_ceil(1 << 20))),
        n(0u64),
    ]]
}

pub fn database(s: &Source<'_>) -> Result<Vec<Row>> {
    let (redo, control) = (redo(s), control(s)?);
    let read_only = s.instance.storage().cache.files().is_read_only();
    let archived = control.logged.iter().filter(|l| !l.name.is_empty()).map(|l| l.next_scn.0).max();
    Ok(vec![vec![
        n(control.database & 0xFFFF_FFFF),
        t(s.instance.params().get(Param::DbName).to_uppercase()),
        // The identifier of a database is the time of its creation.
        date(control.database),
        n(control.incarnation.resetlogs_scn.0),
        seconds(control.incarnation.resetlogs_time_s),
        t(if redo.is_archivelog() { "ARCHIVELOG" } else { "NOARCHIVELOG" }),
        n(redo.checkpoint().scn.0),
        n(archived.unwrap_or(0)),
        t("CURRENT"),
        t("NOT ALLOWED"),
        t(if read_only { "READ ONLY" } else { "READ WRITE" }),
        t("MAXIMUM PERFORMANCE"),
        t("PRIMARY"),
        yes(false),
        t("Linux x86 64-bit"),
        yes(false),
        n(s.shared.txns.current_scn().0),
        t(s.instance.params().get(Param::DbUniqueName)),
        yes(false),
        n(0u64),
    ]])
}

pub fn incarnation(s: &Source<'_>) -> Result<Vec<Row>> {
    let life = control(s)?.incarnation;
    Ok(vec![vec![
        n(life.number),
        n(life.resetlogs_scn.0),
        seconds(life.resetlogs_time_s),
        t("CURRENT"),
        n(life.number),
        n(0u64),
    ]])
}
