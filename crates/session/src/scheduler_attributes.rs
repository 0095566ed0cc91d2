//! SET_ATTRIBUTE, SET_ATTRIBUTE_NULL and GET_ATTRIBUTE of DBMS_SCHEDULER.

use crate::recursive::recursive;
use crate::scheduler_rows::*;
use crate::scheduler_rules::*;
use crate::world::{World, number};
use dictionary::base::{scheduler_job as col, scheduler_program, scheduler_schedule};
use types::{Ora, Place, Result, TimeZone, Value};

/// Attributes of Oracle that have no effect here unless they have their default, which is accepted.
const DEFAULTS: &[(&str, &str)] = &[
    ("RESTARTABLE", "FALSE"),
    ("RESTART_ON_FAILURE", "FALSE"),
    ("STOP_ON_WINDOW_CLOSE", "FALSE"),
    ("STORE_OUTPUT", "FALSE"),
    ("PARALLEL_INSTANCES", "FALSE"),
    ("ALLOW_RUNS_IN_RESTRICTED_MODE", "FALSE"),
    ("INSTANCE_STICKINESS", "TRUE"),
    ("JOB_WEIGHT", "1"),
    ("INSTANCE_ID", "1"),
];
/// Attributes of Oracle that are not supported.
const REFUSED: &[&str] = &[
    "MAX_RUN_DURATION",
    "SCHEDULE_LIMIT",
    "RAISE_EVENTS",
    "EVENT_SPEC",
    "DATABASE_ROLE",
    "FOLLOW_DEFAULT_TIMEZONE",
    "CREDENTIAL_NAME",
    "DESTINATION",
    "DESTINATION_NAME",
    "FILE_WATCHER_NAME",
    "CONNECT_CREDENTIAL_NAME",
];

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Boolean(on) => if *on { "TRUE" } else { "FALSE" }.into(),
        _ => String::new(),
    }
}

fn invalid(value: &Value, attribute: &str) -> Ora {
    Ora::with(27465, &[&shown(value), &attribute])
}

/// The integer of an attribute.
///
/// # Errors
/// ORA-27465.
pub fn integer(value: &Value, attribute: &str, low: i64, high: i64) -> Result<i64> {
    let n = shown(value).trim().parse::<i64>().ok();
    n.filter(|n| (low..=high).contains(n)).ok_or_else(|| invalid(value, attribute))
}

fn truth(value: &Value, attribute: &str) -> Result<Value> {
    match shown(value).to_uppercase().as_str() {
        "TRUE" => Ok(number(1)),
        "FALSE" => Ok(number(0)),
        _ => Err(invalid(value, attribute)),
    }
}

fn text<'v>(value: &'v Value, attribute: &str) -> Result<&'v str> {
    match value {
        Value::Text(text) => Ok(text),
        Value::Null => Err(Ora::with(27451, &[&attribute])),
        _ => Err(Ora::with(27467, &[&attribute])),
    }
}

fn nullable<'v>(value: &'v Value, attribute: &str) -> Result<&'v str> {
    if value.is_null() { Ok("") } else { text(value, attribute) }
}

/// SET_ATTRIBUTE; NULL is SET_ATTRIBUTE_NULL.
///
/// # Errors
/// ORA-27475, ORA-27476, ORA-27486; ORA-27465, ORA-27467 and ORA-27469; those of enabling an enabled job again.
pub fn set(w: &mut World<'_>, name: &str, attribute: &str, value: &Value) -> Result<()> {
    let name = name_of(w, name)?;
    require_rights(w, &name.owner, false)?;
    let attribute = attribute.trim().to_uppercase();
    if let Some(mut row) = job(w.core, &mut w.cx, &name)? {
        set_of_job(w, &name, &mut row, &attribute, value)?;
        let changes_runs = !matches!(
            &*attribute,
            "COMMENTS"
                | "LOGGING_LEVEL"
                | "JOB_PRIORITY"
                | "AUTO_DROP"
                | "MAX_RUNS"
                | "MAX_FAILURES"
                | "RESTART_ON_RECOVERY"
                | "JOB_CLASS"
        );
        if row.flag(col::ENABLED) && changes_runs {
            enable_row(w, &mut row)?;
        }
        return store_job(w.core, &mut w.cx, &row);
    }
    if let Some(row) = program(w.core, &mut w.cx, &name)? {
        return set_of_program(w, &name, row, &attribute, value);
    }
    let row = schedule(w.core, &mut w.cx, &name)?.ok_or_else(|| name.error(27476))?;
    set_of_schedule(w, &name, row, &attribute, value)
}

fn set_of_job(w: &mut World<'_>, name: &Name, row: &mut Row, attribute: &str, value: &Value) -> Result<()> {
    match attribute {
        "JOB_TYPE" => {
            row.set(col::KIND, require_kind(text(value, attribute)?)?);
            forget_program(row);
        }
        "JOB_ACTION" => {
            row.set_text(col::ACTION, text(value, attribute)?);
            forget_program(row);
        }
        "NUMBER_OF_ARGUMENTS" => row.set_int(col::ARGS, require_count(integer(value, attribute, 0, 255)?)?),
        "PROGRAM_NAME" => {
            let program = require_program(w, text(value, attribute)?)?;
            row.set_text(col::PROGRAM_OWNER, &program.owner);
            row.set_text(col::PROGRAM_NAME, &program.name);
            for at in [col::KIND, col::ACTION, col::ARGS] {
                row.set(at, Value::Null);
            }
        }
        "SCHEDULE_NAME" => {
            let schedule = require_schedule(w, text(value, attribute)?)?;
            row.set_text(col::SCHEDULE_OWNER, &schedule.owner);
            row.set_text(col::SCHEDULE_NAME, &schedule.name);
            for at in [col::START_DATE, col::END_DATE, col::REPEAT] {
                row.set(at, Value::Null);
            }
        }
        "REPEAT_INTERVAL" => {
            let repeat = nullable(value, attribute)?;
            if !repeat.is_empty() {
                require_repeat(repeat)?;
            }
            row.set_text(col::REPEAT, repeat);
            forget_schedule(row);
        }
        "START_DATE" | "END_DATE" => {
            let given = moment(w, value)?;
            if given.is_none() && !value.is_null() {
                return Err(Ora::with(27467, &[&attribute]));
            }
            if attribute == "START_DATE" {
                row.set_time(col::START_DATE, given.map(|(time, _)| time));
                given.iter().for_each(|(_, zone)| row.set_text(col::TZ, &zone.to_string()));
            } else {
                row.set_time(col::END_DATE, given.map(|(time, _)| time));
            }
            forget_schedule(row);
            check_end(row, name)?;
        }
        "JOB_CLASS" => row.set(col::CLASS, require_class(text(value, attribute)?)?),
        "AUTO_DROP" => row.set(col::AUTO_DROP, truth(value, attribute)?),
        "RESTART_ON_RECOVERY" => row.set(col::RECOVERS, truth(value, attribute)?),
        "MAX_RUNS" | "MAX_FAILURES" => {
            let at = if attribute == "MAX_RUNS" { col::MAX_RUNS } else { col::MAX_FAILURES };
            let limit = if value.is_null() { None } else { Some(integer(value, attribute, 1, 1_000_000)?) };
            row.set(at, limit.map_or(Value::Null, number));
        }
        "JOB_PRIORITY" => row.set_int(col::PRIORITY, integer(value, attribute, 1, 5)?),
        "LOGGING_LEVEL" => {
            let level = integer(value, attribute, 32, 256)?;
            if ![32, 64, 128, 256].contains(&level) {
                return Err(invalid(value, attribute));
            }
            row.set_int(col::LOGGING, level);
        }
        "COMMENTS" => row.set_text(col::COMMENTS, nullable(value, attribute)?),
        _ => return require_default(attribute, value, "JOB"),
    }
    Ok(())
}

/// An attribute without an effect may be set to its default.
fn require_default(attribute: &str, value: &Value, of: &str) -> Result<()> {
    match DEFAULTS.iter().find(|(name, _)| *name == attribute) {
        Some((_, default)) if value.is_null() || shown(value).eq_ignore_ascii_case(default) => Ok(()),
        Some(_) => Err(Ora::unsupported()),
        None if REFUSED.contains(&attribute) => Err(Ora::unsupported()),
        None => Err(Ora::with(27469, &[&attribute, &of])),
    }
}

fn forget_program(row: &mut Row) {
    if row.optional(col::PROGRAM_NAME).is_some() {
        row.set_int(col::ARGS, 0);
    }
    row.set(col::PROGRAM_OWNER, Value::Null);
    row.set(col::PROGRAM_NAME, Value::Null);
}

fn forget_schedule(row: &mut Row) {
    row.set(col::SCHEDULE_OWNER, Value::Null);
    row.set(col::SCHEDULE_NAME, Value::Null);
}

fn set_of_program(w: &mut World<'_>, name: &Name, mut row: Row, attribute: &str, value: &Value) -> Result<()> {
    use scheduler_program as p;
    match attribute {
        "PROGRAM_TYPE" => row.set(p::KIND, require_kind(text(value, attribute)?)?),
        "PROGRAM_ACTION" => row.set_text(p::ACTION, text(value, attribute)?),
        "NUMBER_OF_ARGUMENTS" => {
            row.set_int(p::ARGS, require_count(integer(value, attribute, 0, 255)?)?);
            row.set_int(p::ENABLED, 0);
        }
        "COMMENTS" => row.set_text(p::COMMENTS, nullable(value, attribute)?),
        _ => return require_default(attribute, value, "PROGRAM"),
    }
    let sql = "update sys.scheduler$_program set kind = :3, action = :4, args = :5, enabled = :6, comments = :7 \
         where owner = :1 and name = :2";
    debug_assert_eq!(row.text(p::NAME), name.name);
    recursive(w.core, &mut w.cx, sql, &row.0).map(drop)
}

fn set_of_schedule(w: &mut World<'_>, name: &Name, mut row: Row, attribute: &str, value: &Value) -> Result<()> {
    use scheduler_schedule as s;
    match attribute {
        "REPEAT_INTERVAL" => {
            let repeat = nullable(value, attribute)?;
            if !repeat.is_empty() {
                require_calendar(repeat)?;
            }
            row.set_text(s::REPEAT, repeat);
        }
        "START_DATE" | "END_DATE" => {
            let given = moment(w, value)?;
            if given.is_none() && !value.is_null() {
                return Err(Ora::with(27467, &[&attribute]));
            }
            let at = if attribute == "START_DATE" { s::START_DATE } else { s::END_DATE };
            row.set_time(at, given.map(|(time, _)| time));
            if at == s::START_DATE {
                given.iter().for_each(|(_, zone)| row.set_text(s::TZ, &zone.to_string()));
            }
            if row.time(s::START_DATE).zip(row.time(s::END_DATE)).is_some_and(|(start, end)| end < start) {
                return Err(name.error(27483));
            }
        }
        "COMMENTS" => row.set_text(s::COMMENTS, nullable(value, attribute)?),
        _ => return require_default(attribute, value, "SCHEDULE"),
    }
    let sql = "update sys.scheduler$_schedule set start_date = :3, end_date = :4, tz = :5, repeat = :6, comments = :7 \
         where owner = :1 and name = :2";
    recursive(w.core, &mut w.cx, sql, &row.0)?;
    // The jobs of the schedule run by its new times.
    let of =
        "select owner, name from sys.scheduler$_job where schedule_owner = :1 and schedule_name = :2 and enabled = 1";
    for found in recursive(w.core, &mut w.cx, of, &name.values())? {
        let found = Row(found);
        let of = Name { owner: found.text(0).to_owned(), name: found.text(1).to_owned() };
        if let Some(mut row) = job(w.core, &mut w.cx, &of)? {
            enable_row(w, &mut row)?;
            store_job(w.core, &mut w.cx, &row)?;
        }
    }
    Ok(())
}

/// GET_ATTRIBUTE. The variable of the overload takes the value.
///
/// # Errors
/// As [`set`].
pub fn get(w: &mut World<'_>, name: &str, attribute: &str) -> Result<Value> {
    let name = name_of(w, name)?;
    require_rights(w, &name.owner, false)?;
    let attribute = attribute.trim().to_uppercase();
    let sql = "select * from sys.scheduler$_job where owner = :1 and name = :2";
    let found = recursive(w.core, &mut w.cx, sql, &name.values())?;
    let row = found.into_iter().next().map(Row).ok_or_else(|| name.error(27476))?;
    let zone = TimeZone::parse(row.text(col::TZ)).unwrap_or(TimeZone::UTC);
    let time = |at| row.time(at).map_or(Value::Null, |time| Value::Timestamp(time.moved(Place::In(zone))));
    let count = |at: usize| row.0[at].clone();
    Ok(match &*attribute {
        "JOB_TYPE" => row.0[col::KIND].clone(),
        "JOB_ACTION" => row.0[col::ACTION].clone(),
        "NUMBER_OF_ARGUMENTS" => count(col::ARGS),
        "PROGRAM_NAME" => row.0[col::PROGRAM_NAME].clone(),
        "SCHEDULE_NAME" => row.0[col::SCHEDULE_NAME].clone(),
        "REPEAT_INTERVAL" => row.0[col::REPEAT].clone(),
        "START_DATE" => time(col::START_DATE),
        "END_DATE" => time(col::END_DATE),
        "NEXT_RUN_DATE" => time(col::NEXT_RUN),
        "JOB_CLASS" => row.0[col::CLASS].clone(),
        "AUTO_DROP" => Value::Boolean(row.flag(col::AUTO_DROP)),
        "ENABLED" => Value::Boolean(row.flag(col::ENABLED)),
        "RESTART_ON_RECOVERY" => Value::Boolean(row.flag(col::RECOVERS)),
        "MAX_RUNS" => count(col::MAX_RUNS),
        "MAX_FAILURES" => count(col::MAX_FAILURES),
        "JOB_PRIORITY" => count(col::PRIORITY),
        "COMMENTS" => row.0[col::COMMENTS].clone(),
        _ => return Err(Ora::with(27469, &[&attribute, &"JOB"])),
    })
}
