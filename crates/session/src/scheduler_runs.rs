//! Runs of the jobs of DBMS_SCHEDULER.
//!
//! A run has three transactions. The first marks the job as running and sets the date of the next run; the second is
//! the job's own and, if the job succeeds, ends with the new state of the job and the row of the log; after a failure
//! these are the third. A job that is marked as running while no session holds its enqueue has lost its process: the
//! next slave ends the run (invariant 3 of `background`).

use crate::blocks;
use crate::calendar::{Calendar, is_calendar};
use crate::core::Core;
use crate::recursive::{recursive, value_of};
use crate::scheduler_rows::*;
use crate::world::{World, number};
use dictionary::base::{scheduler_job as col, scheduler_program, scheduler_schedule};
use exec::ExecCtx;
use net::StatementKind;
use plsql::Datum;
use std::fmt::Write;
use types::{Date, Ora, Place, Result, TimeZone, Timestamp, Value};

/// The end of a run.
pub enum Ended<'e> {
    Succeeded,
    Failed(&'e Ora),
    /// Its process was killed or has died.
    Lost,
}

/// The times of a job, or those of its schedule.
pub struct Times {
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
    pub zone: TimeZone,
    pub repeat: Option<String>,
}

/// LOGGING of SCHEDULER$_JOB: the constants of the package.
const LOGGING_OFF: i64 = 32;
const LOGGING_FAILED: i64 = 128;
/// The rows of the log that are too old are deleted by one run in this many.
const PURGE_EVERY: i64 = 64;
const DAY_SECONDS: i64 = 86_400;

fn zone_of(text: &str) -> TimeZone {
    TimeZone::parse(text).unwrap_or(TimeZone::UTC)
}

/// The times of a job.
///
/// # Errors
/// ORA-27476 when its schedule does not exist.
pub fn times_of(core: &Core, cx: &mut ExecCtx<'_>, job: &Row) -> Result<Times> {
    let Some(name) = job.name(col::SCHEDULE_OWNER, col::SCHEDULE_NAME) else {
        return Ok(Times {
            start: job.time(col::START_DATE),
            end: job.time(col::END_DATE),
            zone: zone_of(job.text(col::TZ)),
            repeat: job.optional(col::REPEAT).map(str::to_owned),
        });
    };
    let row = schedule(core, cx, &name)?.ok_or_else(|| name.error(27476))?;
    Ok(Times {
        start: row.time(scheduler_schedule::START_DATE),
        end: row.time(scheduler_schedule::END_DATE),
        zone: zone_of(row.text(scheduler_schedule::TZ)),
        repeat: row.optional(scheduler_schedule::REPEAT).map(str::to_owned),
    })
}

/// The next time of a calendar that begins at `start`, in UTC.
pub fn next_of(text: &str, start: &Timestamp, after: &Timestamp, zone: TimeZone) -> Result<Option<Timestamp>> {
    let calendar = Calendar::parse(text)?;
    let (begin, from) = (local(start, zone), local(after, zone));
    let Some(next) = calendar.next(begin, from) else { return Ok(None) };
    let usual = of_local(next, zone)?;
    // When summer time ends, local times exist twice, and frequencies below a day have both.
    let offset = i64::from(zone.seconds_at(usual.instant()));
    let before = from - after.instant();
    if before <= offset || !calendar.is_within_days() {
        return Ok(Some(usual));
    }
    let exists = |seconds: i64, offset: i64| {
        let utc = seconds - offset;
        (utc > after.instant() && i64::from(zone.seconds_at(utc)) == offset).then_some(utc)
    };
    let again = || calendar.next(begin, after.instant() + offset);
    let found = exists(next, before).or_else(|| again().and_then(|seconds| exists(seconds, offset)));
    found.map_or(Ok(Some(usual)), |utc| Ok(Some(Timestamp::new(Date::from_unix(utc)?, 0))))
}

/// The value of an expression as a repeat interval, in UTC, with the rights in force.
///
/// # Errors
/// ORA-27412 followed by the error of the expression; ORA-27467 for one that is no date.
pub fn evaluated(w: &mut World<'_>, text: &str) -> Result<Option<Timestamp>> {
    let value =
        value_of(&mut w.cx, text).map_err(|e| if e.ends_call() { e } else { Ora::with(27412, &[&text]).because(e) })?;
    let zone = w.cx.session.nls.zone;
    Ok(match value {
        Value::Null => None,
        Value::Date(date) => Some(of_local(date.to_unix(), zone)?),
        Value::Timestamp(time) if time.place() == Place::Nowhere => Some(of_local(time.instant(), zone)?),
        Value::Timestamp(time) => Some(time.utc()),
        _ => return Err(Ora::with(27467, &[&"REPEAT_INTERVAL"])),
    })
}

/// The first run of a job that is enabled now; `None`: there is none before the end date.
///
/// # Errors
/// Those of the repeat interval; ORA-27419 for a calendar without a date.
pub fn first_run(times: &Times, now: &Timestamp) -> Result<Option<Timestamp>> {
    let start = times.start.unwrap_or(*now);
    let first = match &times.repeat {
        Some(text) if is_calendar(text) => {
            let before = Timestamp::new(now.clock().add_seconds(-1)?, 0);
            Some(next_of(text, &start, &before, times.zone)?.ok_or_else(|| Ora::new(27419))?)
        }
        _ => Some(start),
    };
    Ok(first.filter(|first| times.end.is_none_or(|end| *first <= end)))
}

/// The kind, the action and the arguments of a job, by its program or its own.
pub struct Action {
    pub kind: String,
    pub text: String,
    pub arguments: Vec<Value>,
}

/// # Errors
/// ORA-27476 when its program does not exist, ORA-27457 for an argument without a value.
pub fn action_of(core: &Core, cx: &mut ExecCtx<'_>, job: &Row) -> Result<Action> {
    let name = job_name(job);
    let (kind, text, count, defaults) = match job.name(col::PROGRAM_OWNER, col::PROGRAM_NAME) {
        None => (job.text(col::KIND).to_owned(), job.text(col::ACTION).to_owned(), job.int(col::ARGS), Vec::new()),
        Some(program_name) => {
            let row = program(core, cx, &program_name)?.ok_or_else(|| program_name.error(27476))?;
            let text = |at: usize| row.text(at).to_owned();
            let count = row.int(scheduler_program::ARGS);
            let defaults = arguments(core, cx, &program_name, false)?;
            (text(scheduler_program::KIND), text(scheduler_program::ACTION), count, defaults)
        }
    };
    let own = if count > 0 { arguments(core, cx, &name, true)? } else { Vec::new() };
    let value = |position: i64| {
        let of = |list: &[Argument]| list.iter().find(|a| a.position == position).and_then(|a| a.value.clone());
        of(&own).or_else(|| of(&defaults)).ok_or_else(|| Ora::with(27457, &[&position, &name.owner, &name.name]))
    };
    Ok(Action { kind, text, arguments: (1..=count).map(value).collect::<Result<_>>()? })
}

/// The block that runs an action.
///
/// # Errors
/// ORA-27452 for the name of a procedure that is no name.
pub fn block_text(action: &Action) -> Result<String> {
    if action.kind == "PLSQL_BLOCK" {
        // The variables have the names of Oracle's, which the documentation lists.
        return Ok(format!(
            "DECLARE job BINARY_INTEGER := :job; next_date TIMESTAMP WITH TIME ZONE := :mydate; \
             broken BOOLEAN := FALSE; job_name VARCHAR2(128) := :job_name; job_subname VARCHAR2(128) := NULL; \
             job_owner VARCHAR2(128) := :job_owner; job_start TIMESTAMP WITH TIME ZONE := :job_start; \
             job_scheduled_start TIMESTAMP WITH TIME ZONE := :job_scheduled_start; \
             window_start TIMESTAMP WITH TIME ZONE := NULL; window_end TIMESTAMP WITH TIME ZONE := NULL; \
             log_id NUMBER := :log_id; BEGIN {}\nEND;",
            action.text
        ));
    }
    let parts = parts_of(&action.text).filter(|parts| parts.len() <= 3);
    let parts = parts.ok_or_else(|| Ora::with(27452, &[&action.text]))?;
    let quoted: Vec<String> = parts.iter().map(|part| format!("\"{part}\"")).collect();
    let mut text = format!("BEGIN {}", quoted.join("."));
    for at in 1..=action.arguments.len() {
        let _ = write!(text, "{}:a{at}", if at == 1 { "(" } else { ", " });
    }
    text.push_str(if action.arguments.is_empty() { "; END;" } else { "); END;" });
    Ok(text)
}

/// Runs the action of a job with the rights in force.
///
/// # Errors
/// The job's own.
pub fn execute(w: &mut World<'_>, job: &Row) -> Result<()> {
    let action = action_of(w.core, &mut w.cx, job)?;
    let open = blocks::open(w, &block_text(&action)?, StatementKind::PLSQL_EXECUTE, blocks::no_types())?;
    let zone = zone_of(job.text(col::TZ));
    let zoned = |at: usize| job.time(at).map_or(Value::Null, |time| Value::Timestamp(time.moved(Place::In(zone))));
    let value = |name: &String| match name.as_str() {
        "JOB" => number(job.int(col::JOB) & i64::from(i32::MAX)),
        "MYDATE" => zoned(col::NEXT_RUN),
        "JOB_NAME" => job.0[col::NAME].clone(),
        "JOB_OWNER" => job.0[col::OWNER].clone(),
        "JOB_START" => zoned(col::LAST_START),
        "JOB_SCHEDULED_START" => zoned(col::REQ_DATE),
        "LOG_ID" => job.0[col::LOG_ID].clone(),
        argument => {
            let at = argument.strip_prefix('A').and_then(|n| n.parse::<usize>().ok());
            at.and_then(|at| action.arguments.get(at.checked_sub(1)?).cloned()).unwrap_or(Value::Null)
        }
    };
    let mut binds: Vec<Datum> = open.block.clone().binds().iter().map(|name| Datum::Val(value(name))).collect();
    blocks::run(w, open, &mut binds)
}

/// Whether a job shall run now.
fn is_due(job: &Row, now: &Timestamp) -> bool {
    let in_time = job.flag(col::ENABLED) && job.time(col::NEXT_RUN).is_some_and(|next| next <= *now);
    in_time || job.int(col::RUN_NOW) == 1
}

/// Marks a due job as running in this session, and returns it; `None`: it is not due, or was running in a process that
/// is gone. The caller holds the job's enqueue, and commits.
///
/// # Errors
/// Those of the statements.
pub fn begin(core: &Core, cx: &mut ExecCtx<'_>, job: i64) -> Result<Option<Row>> {
    let Some(mut row) = job_numbered(core, cx, job)? else { return Ok(None) };
    if row.text(col::STATE) == "RUNNING" {
        finish(core, cx, job, &Ended::Lost)?;
        return Ok(None);
    }
    let now = now();
    if !is_due(&row, &now) {
        return Ok(None);
    }
    let is_asked = row.int(col::RUN_NOW) == 1;
    row.set_int(col::RUN_NOW, if is_asked { 2 } else { 0 });
    let due = row.time(col::NEXT_RUN);
    row.set_time(col::REQ_DATE, if is_asked { Some(now) } else { due });
    if !is_asked {
        // An expression is evaluated with the rights of the owner, when the run has begun.
        let times = times_of(core, cx, &row).ok();
        let next = times.and_then(|times| {
            let text = times.repeat.filter(|text| is_calendar(text))?;
            next_of(&text, &times.start.or(due)?, &now, times.zone).ok()?
        });
        row.set_time(col::NEXT_RUN, next);
    }
    row.set_text(col::STATE, "RUNNING");
    row.set_time(col::LAST_START, Some(now));
    row.set_int(col::SID, core.p.sid().into());
    row.set_int(col::SERIAL, core.p.serial() as i64);
    row.set(col::STOPPER, Value::Null);
    let log_id = next_value(core, cx, "LOG_ID")?;
    row.set_int(col::LOG_ID, log_id);
    store_job(core, cx, &row)?;
    Ok(Some(row))
}

/// Evaluates the repeat interval of a job that has begun, if it is an expression, and commits the date.
///
/// # Errors
/// Those of [`evaluated`]; ORA-27419 for a date in the past.
pub fn set_next(w: &mut World<'_>, job: &mut Row) -> Result<()> {
    if job.int(col::RUN_NOW) == 2 {
        return Ok(());
    }
    let times = times_of(w.core, &mut w.cx, job)?;
    let Some(text) = times.repeat.filter(|text| !is_calendar(text)) else { return Ok(()) };
    let next = evaluated(w, &text)?;
    // Such a date would come again and again without a pause.
    let earliest = now().instant() - 1;
    if next.is_some_and(|next| next.instant() < earliest) {
        return Err(Ora::new(27419));
    }
    let sql = "update sys.scheduler$_job set next_run = :1 where job = :2";
    job.set_time(col::NEXT_RUN, next);
    recursive(w.core, &mut w.cx, sql, &[job.0[col::NEXT_RUN].clone(), job.0[col::JOB].clone()])?;
    w.core.commit(&mut w.cx)?;
    w.core.sync_commits()
}

/// Ends the run of a job: its new state and the row of the log. The caller commits.
///
/// # Errors
/// Those of the statements.
pub fn finish(core: &Core, cx: &mut ExecCtx<'_>, job: i64, ended: &Ended<'_>) -> Result<()> {
    let Some(mut row) = job_numbered(core, cx, job)? else { return Ok(()) };
    if row.text(col::STATE) != "RUNNING" {
        return Ok(());
    }
    log(core, cx, &row, ended)?;
    let now = now();
    let times = times_of(core, cx, &row).ok();
    let (end, repeat) = times.map_or((None, None), |times| (times.end, times.repeat));
    // A run that fails or is lost may end before the expression of the next date has a value.
    let is_known = matches!(ended, Ended::Succeeded) || repeat.as_deref().is_none_or(is_calendar);
    let has_failed = matches!(ended, Ended::Failed(_));
    let is_stopped = matches!(ended, Ended::Lost);
    if !is_stopped {
        row.set_int(col::RUNS, row.int(col::RUNS) + 1);
        row.set_int(col::FAILURES, row.int(col::FAILURES) + i64::from(has_failed));
    }
    row.set(col::LAST_DURATION, seconds_since(row.time(col::LAST_START), &now));
    let is_asked = row.int(col::RUN_NOW) == 2;
    let is_stopped_by_user = row.optional(col::STOPPER).is_some();
    for at in [col::SID, col::SERIAL, col::STOPPER] {
        row.set(at, Value::Null);
    }
    row.set_int(col::RUN_NOW, 0);
    if is_stopped && !is_stopped_by_user && row.flag(col::RECOVERS) && row.flag(col::ENABLED) && !is_asked {
        row.set_time(col::NEXT_RUN, Some(now));
    }
    let next = row.time(col::NEXT_RUN).filter(|next| end.is_none_or(|end| *next <= end));
    let reached = |count: usize, limit: usize| row.int(limit) > 0 && row.int(count) >= row.int(limit);
    let (state, is_over) = if !row.flag(col::ENABLED) {
        ("DISABLED", false)
    } else if has_failed && reached(col::FAILURES, col::MAX_FAILURES) {
        ("BROKEN", false)
    } else if reached(col::RUNS, col::MAX_RUNS) {
        ("COMPLETED", true)
    } else if is_asked || next.is_some() {
        ("SCHEDULED", false)
    } else if repeat.is_some() {
        if is_known { ("COMPLETED", true) } else { ("BROKEN", false) }
    } else {
        match ended {
            Ended::Succeeded => ("SUCCEEDED", true),
            Ended::Failed(_) => ("FAILED", true),
            Ended::Lost => ("STOPPED", false),
        }
    };
    if is_over && row.flag(col::AUTO_DROP) {
        return delete_job(core, cx, &row);
    }
    row.set_text(col::STATE, state);
    if state != "SCHEDULED" {
        row.set_int(col::ENABLED, 0);
        row.set(col::NEXT_RUN, Value::Null);
    }
    store_job(core, cx, &row)
}

fn seconds_since(start: Option<Timestamp>, now: &Timestamp) -> Value {
    start.map_or(Value::Null, |start| Value::Number(now.since(&start).to_seconds()))
}

/// Text that fits into a column of 4000 bytes.
fn fitted(text: &str) -> &str {
    let mut end = text.len().min(4000);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Inserts the row of the log for a run that ends now.
///
/// # Errors
/// Those of the statements.
pub fn log(core: &Core, cx: &mut ExecCtx<'_>, job: &Row, ended: &Ended<'_>) -> Result<()> {
    let (status, code, info) = match ended {
        Ended::Succeeded => ("SUCCEEDED", 0, String::new()),
        Ended::Failed(e) => ("FAILED", e.code(), e.to_string()),
        Ended::Lost => match job.optional(col::STOPPER) {
            Some(user) => ("STOPPED", 0, format!("REASON=\"Stop job called by user: '{user}'\"")),
            None => ("STOPPED", 0, "REASON=\"Job slave process was terminated\"".into()),
        },
    };
    let is_off = job.int(col::LOGGING) == LOGGING_OFF;
    if is_off || (job.int(col::LOGGING) == LOGGING_FAILED && status == "SUCCEEDED") {
        return Ok(());
    }
    let now = now();
    let info = if info.is_empty() { Value::Null } else { Value::text(fitted(info.trim_end())) };
    let row = [
        job.0[col::LOG_ID].clone(),
        Value::Timestamp(now),
        job.0[col::OWNER].clone(),
        job.0[col::NAME].clone(),
        job.0[col::CLASS].clone(),
        Value::text("RUN"),
        Value::text(status),
        number(code.into()),
        job.0[col::REQ_DATE].clone(),
        job.0[col::LAST_START].clone(),
        job.0[col::TZ].clone(),
        seconds_since(job.time(col::LAST_START), &now),
        job.0[col::SID].clone(),
        job.0[col::SERIAL].clone(),
        number(std::process::id().into()),
        Value::Null,
        info.clone(),
        if status == "FAILED" { info } else { Value::Null },
    ];
    let sql = "insert into sys.scheduler$_event_log values (:1, :2, :3, :4, :5, :6, :7, :8, :9, :10, :11, :12, :13, \
         :14, :15, :16, :17, :18)";
    recursive(core, cx, sql, &row)?;
    if job.int(col::LOG_ID) % PURGE_EVERY == 0 {
        let rows = recursive(core, cx, "select value from sys.scheduler$_global where name = 'LOG_HISTORY'", &[])?;
        let days = rows.first().map_or(0, |row| Row(row.clone()).int(0));
        purge(core, cx, days, None)?;
    }
    Ok(())
}

/// Deletes the rows of the log that are older than `days`, those of one job or all.
///
/// # Errors
/// Those of the statements.
pub fn purge(core: &Core, cx: &mut ExecCtx<'_>, days: i64, of: Option<&Name>) -> Result<()> {
    let before = Timestamp::new(now().clock().add_seconds(-days.clamp(0, 1_000_000) * DAY_SECONDS)?, 0);
    // Of this second too, when nothing is kept.
    let before = if days <= 0 { Timestamp::new(before.clock().add_seconds(1)?, 0) } else { before };
    let before = Value::Timestamp(before);
    match of {
        None => recursive(core, cx, "delete from sys.scheduler$_event_log where log_date < :1", &[before]),
        Some(of) => {
            let [owner, name] = of.values();
            let sql = "delete from sys.scheduler$_event_log where log_date < :1 and owner = :2 and name = :3";
            recursive(core, cx, sql, &[before, owner, name])
        }
    }
    .map(drop)
}
