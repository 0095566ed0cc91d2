//! What the calls of DBMS_SCHEDULER require: names, rights, and values of attributes.

use crate::calendar::{Calendar, is_calendar};
use crate::scheduler_rows::*;
use crate::scheduler_runs::{self as runs, block_text};
use crate::world::World;
use dictionary::SystemPrivilege;
use dictionary::base::scheduler_job as col;
use plsql::World as _;
use types::{Ora, Place, Result, TimeZone, Timestamp, Value};

/// The most arguments of a program or a job.
const ARGUMENTS_MAX: i64 = 255;

/// The classes of jobs; they differ in nothing here.
const CLASSES: &[&str] = &["DEFAULT_JOB_CLASS", "SCHED$_LOG_ON_ERRORS_CLASS"];

/// A missing privilege as this package reports it.
pub fn as_27486(e: Ora) -> Ora {
    if e.is(1031) { Ora::new(27486) } else { e }
}

pub fn name_of(w: &World<'_>, text: &str) -> Result<Name> {
    Name::parse(text, &w.schema())
}

/// The user whose privileges are in force.
pub fn current_user(w: &World<'_>) -> Result<String> {
    w.core.user_name(w.core.identity().user)
}

/// ORA-27486 unless the user in force may change the objects of a schema, or with `creates` create them.
pub fn require_rights(w: &World<'_>, owner: &str, creates: bool) -> Result<()> {
    if current_user(w)? != owner {
        if owner == "SYS" {
            return Err(Ora::new(27486));
        }
        return w.core.require(SystemPrivilege::CreateAnyJob).map_err(as_27486);
    }
    if creates { w.core.require(SystemPrivilege::CreateJob).map_err(as_27486) } else { Ok(()) }
}

/// A job that the user in force may change, locked.
///
/// # Errors
/// ORA-27486, ORA-27475.
pub fn own_job(w: &mut World<'_>, text: &str) -> Result<Row> {
    let name = name_of(w, text)?;
    require_rights(w, &name.owner, false)?;
    job(w.core, &mut w.cx, &name)?.ok_or_else(|| Ora::with(27475, &[&"job", &name.owner, &name.name]))
}

/// A program that the user in force may change.
pub fn own_program(w: &mut World<'_>, text: &str) -> Result<(Name, Row)> {
    let name = name_of(w, text)?;
    require_rights(w, &name.owner, false)?;
    let row = program(w.core, &mut w.cx, &name)?.ok_or_else(|| name.error(27476))?;
    Ok((name, row))
}

/// The type of a job or a program.
pub fn require_kind(kind: &str) -> Result<Value> {
    let kind = kind.trim().to_uppercase();
    match kind.as_str() {
        "PLSQL_BLOCK" | "STORED_PROCEDURE" => Ok(Value::text(kind)),
        "EXECUTABLE" | "CHAIN" | "EXTERNAL_SCRIPT" | "SQL_SCRIPT" | "BACKUP_SCRIPT" => Err(Ora::unsupported()),
        _ => Err(Ora::with(27465, &[&kind, &"JOB_TYPE"])),
    }
}

pub fn require_count(count: i64) -> Result<i64> {
    let is_fit = (0..=ARGUMENTS_MAX).contains(&count);
    if is_fit { Ok(count) } else { Err(Ora::with(27465, &[&count, &"NUMBER_OF_ARGUMENTS"])) }
}

pub fn require_class(class: &str) -> Result<Value> {
    let name = Name::parse(class, "SYS")?;
    let is_known = name.owner == "SYS" && CLASSES.contains(&name.name.as_str());
    if is_known { Ok(Value::text(name.name)) } else { Err(name.error(27476)) }
}

/// A schedule has a calendar, as in Oracle: an expression would run with the rights of the owners of jobs, and its text
/// is the schedule owner's.
pub fn require_calendar(text: &str) -> Result<()> {
    Calendar::parse(text).map(drop)
}

/// A repeat interval that may be stored: a calendar that can be parsed, or an expression.
pub fn require_repeat(text: &str) -> Result<()> {
    if is_calendar(text) {
        Calendar::parse(text).map(drop)
    } else {
        sql::parse_expression(text).map(drop).map_err(|e| Ora::with(27412, &[&text]).because(e))
    }
}

/// A program or a schedule that a job names: those of other users need CREATE ANY JOB, schedules nothing.
pub fn require_program(w: &mut World<'_>, text: &str) -> Result<Name> {
    let name = name_of(w, text)?;
    if current_user(w)? != name.owner {
        require_rights(w, &name.owner, false)?;
    }
    program(w.core, &mut w.cx, &name)?.ok_or_else(|| name.error(27476))?;
    Ok(name)
}

pub fn require_schedule(w: &mut World<'_>, text: &str) -> Result<Name> {
    let name = name_of(w, text)?;
    schedule(w.core, &mut w.cx, &name)?.ok_or_else(|| name.error(27476))?;
    Ok(name)
}

/// A date of a caller in UTC, with its time zone.
pub fn moment(w: &World<'_>, value: &Value) -> Result<Option<(Timestamp, TimeZone)>> {
    let session = w.cx.session.nls.zone;
    Ok(match value {
        Value::Timestamp(time) => match time.place() {
            Place::In(zone) => Some((time.utc(), zone)),
            Place::Session => Some((time.utc(), session)),
            Place::Nowhere => Some((of_local(time.instant(), session)?, session)),
        },
        Value::Date(date) => Some((of_local(date.to_unix(), session)?, session)),
        _ => None,
    })
}

/// ORA-27483 for an end date before the start date.
pub fn check_end(row: &Row, name: &Name) -> Result<()> {
    match (row.time(col::START_DATE), row.time(col::END_DATE)) {
        (Some(start), Some(end)) if end < start => Err(name.error(27483)),
        _ => Ok(()),
    }
}

/// Enables a job: its arguments have values, and its next run is known. As in Oracle its action need not compile before
/// it runs: scripts make jobs before the packages that they call.
///
/// # Errors
/// ORA-27457, and those of its schedule.
pub fn enable_row(w: &mut World<'_>, row: &mut Row) -> Result<()> {
    let action = runs::action_of(w.core, &mut w.cx, row)?;
    block_text(&action)?;
    let times = runs::times_of(w.core, &mut w.cx, row)?;
    let first = runs::first_run(&times, &now())?;
    row.set_time(col::NEXT_RUN, first);
    row.set_int(col::ENABLED, first.is_some().into());
    if row.text(col::STATE) != "RUNNING" {
        row.set_text(col::STATE, if first.is_some() { "SCHEDULED" } else { "COMPLETED" });
    }
    Ok(())
}

/// Runs `f` with the rights of the owner of a job: those in force, if it is the owner's call.
pub fn with_owner<R>(w: &mut World<'_>, owner: &str, f: impl FnOnce(&mut World<'_>) -> Result<R>) -> Result<R> {
    if current_user(w)? == owner { f(w) } else { plsql::as_owner(w, owner, f) }
}
