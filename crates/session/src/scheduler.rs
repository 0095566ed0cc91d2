//! DBMS_SCHEDULER: jobs, programs and schedules.
//!
//! As in Oracle, a call commits the caller's transaction before it begins and its own changes at its end; a call that
//! fails changes nothing. The first statement of a call that creates an object updates a counter, so two such calls
//! come one after the other and names are unique. A list of names is one call for each name. Runs are in
//! [`crate::scheduler_runs`].

use crate::recursive::{changed, recursive};
use crate::scheduler_attributes as attributes;
use crate::scheduler_rows::*;
use crate::scheduler_rules::*;
use crate::scheduler_runs::{self as runs, Ended};
use crate::world::{World, number};
use dictionary::base::{scheduler_job as col, scheduler_program};
use dictionary::{Base, SystemPrivilege, rows};
use plsql::{ArgumentPlace, JobTimes, NewJob, SchedulerKind, SchedulerRequest as Request, World as _};
use types::{Ora, Place, Result, Value};

/// For so long STOP_JOB waits for the end of a run.
const STOP_WAIT_S: u32 = 30;

/// Carries a call out.
///
/// # Errors
/// ORA-04092 and ORA-14552 where a call may not commit; those of the calls.
pub fn call(w: &mut World<'_>, request: &Request) -> Result<Value> {
    match request {
        Request::Evaluate { calendar, start, after } => evaluate(w, calendar, start, after),
        Request::GenerateName { prefix } => {
            w.autonomous_begin()?;
            let made = next_value(w.core, &mut w.cx, "OBJECT").and_then(|n| w.commit().map(|()| n));
            w.autonomous_end()?;
            Ok(Value::text(format!("{prefix}{}", made? & (i64::from(u32::MAX)))))
        }
        Request::GetAttribute { name, attribute } => attributes::get(w, name, attribute),
        _ => {
            w.cx.session.may_control_transaction()?;
            w.commit()?;
            let done = change(w, request).and_then(|()| w.commit());
            if let Err(e) = &done
                && !e.ends_call()
            {
                w.rollback()?;
            }
            done.map(|()| Value::Null)
        }
    }
}

fn change(w: &mut World<'_>, request: &Request) -> Result<()> {
    match request {
        Request::CreateJob(job) => create_job(w, job),
        Request::CreateProgram { name, kind, action, arguments, enabled, comments } => {
            let row = [
                require_kind(kind)?,
                Value::text(action.as_str()),
                number(require_count(*arguments)?),
                number((*enabled).into()),
                comments.as_deref().map_or(Value::Null, Value::text),
            ];
            create_program(w, name, row, *enabled)
        }
        Request::CreateSchedule { name, times, comments } => create_schedule(w, name, times, comments.as_deref()),
        Request::DefineArgument { program, position, argument, kind, default } => {
            let argument = Argument {
                position: *position,
                name: argument.as_deref().map(str::to_uppercase),
                kind: kind.to_uppercase(),
                value: default.clone(),
            };
            define_argument(w, program, argument)
        }
        Request::DropArgument { program, place } => {
            let name = own_program(w, program)?.0;
            let position = position_of(w, &[(&name, false)], place)?;
            disable_program(w, &name)?;
            put_argument(w.core, &mut w.cx, (&name, false), position, None)
        }
        Request::SetArgument { job, place, value } => set_argument(w, job, place, value.clone()),
        Request::Enable { names, one_unit } => each(w, names, *one_unit, enable),
        Request::Disable { names, force, one_unit } => each(w, names, *one_unit, |w, name| disable(w, name, *force)),
        Request::Run { names, here } => {
            each(w, names, false, |w, name| if *here { run_here(w, name) } else { run_by_slave(w, name) })
        }
        Request::Stop { names, force } => each(w, names, false, |w, name| stop(w, name, *force)),
        Request::Drop { kind, names, force, one_unit } => {
            let dropped = match kind {
                SchedulerKind::Job => drop_job,
                SchedulerKind::Program => drop_program,
                SchedulerKind::Schedule => drop_schedule,
            };
            each(w, names, *one_unit, |w, name| dropped(w, name, *force))
        }
        Request::SetAttribute { name, attribute, value } => attributes::set(w, name, attribute, value),
        Request::Copy { from, to } => copy(w, from, to),
        Request::PurgeLog { days, job } => {
            w.core.require(SystemPrivilege::ManageScheduler).map_err(as_27486)?;
            let name = job.as_deref().map(|job| name_of(w, job)).transpose()?;
            runs::purge(w.core, &mut w.cx, *days, name.as_ref())
        }
        Request::SetGlobal { attribute, value } => set_global(w, attribute, value),
        Request::Evaluate { .. } | Request::GenerateName { .. } | Request::GetAttribute { .. } => Ok(()),
    }
}

/// Does something for each name of a list, up to the first error. The work before the error stays, as with Oracle's
/// STOP_ON_FIRST_ERROR, unless all is `one_unit`.
fn each(w: &mut World<'_>, names: &str, one_unit: bool, f: impl Fn(&mut World<'_>, &str) -> Result<()>) -> Result<()> {
    items_of(names).into_iter().try_for_each(|name| {
        f(w, name)?;
        if one_unit { Ok(()) } else { w.commit() }
    })
}

/// A new object's name.
///
/// # Errors
/// ORA-27486, ORA-01435, ORA-27477.
fn new_name(w: &mut World<'_>, text: &str) -> Result<Name> {
    let name = name_of(w, text)?;
    require_rights(w, &name.owner, true)?;
    w.core.user_id(&name.owner)?.ok_or_else(|| Ora::new(1435))?;
    Ok(name)
}

/// Locks the counter of objects, and returns a new number.
///
/// # Errors
/// ORA-27477 for a name that is in use.
fn new_number(w: &mut World<'_>, name: &Name) -> Result<i64> {
    let n = next_value(w.core, &mut w.cx, "OBJECT")?;
    let sql = "select 1 from sys.scheduler$_job where owner = :1 and name = :2 union all select 1 from \
         sys.scheduler$_program where owner = :1 and name = :2 union all select 1 from sys.scheduler$_schedule where \
         owner = :1 and name = :2 union all select 1 from sys.obj$ o, sys.user$ u where u.name = :1 and \
         o.owner# = u.user# and o.name = :2 and o.namespace = 1";
    if recursive(w.core, &mut w.cx, sql, &name.values())?.is_empty() { Ok(n) } else { Err(name.error(27477)) }
}

fn create_job(w: &mut World<'_>, new: &NewJob) -> Result<()> {
    let name = new_name(w, &new.name)?;
    let n = new_number(w, &name)?;
    let mut row = Row(rows::blank(Base::SchedulerJob));
    row.set_int(col::JOB, n);
    row.set_text(col::OWNER, &name.owner);
    row.set_text(col::NAME, &name.name);
    row.set_text(col::CREATOR, &current_user(w)?);
    row.set_text(col::SCHEMA, &name.owner);
    match &new.program {
        Some(program) => {
            let program = require_program(w, program)?;
            row.set_text(col::PROGRAM_OWNER, &program.owner);
            row.set_text(col::PROGRAM_NAME, &program.name);
        }
        None => {
            row.set(col::KIND, require_kind(&new.kind)?);
            row.set_text(col::ACTION, &new.action);
            row.set_int(col::ARGS, require_count(new.arguments)?);
        }
    }
    match &new.schedule {
        Some(schedule) => {
            let schedule = require_schedule(w, schedule)?;
            row.set_text(col::SCHEDULE_OWNER, &schedule.owner);
            row.set_text(col::SCHEDULE_NAME, &schedule.name);
            row.set_text(col::TZ, &w.cx.session.nls.zone.to_string());
        }
        None => set_times(w, &mut row, &name, &new.times)?,
    }
    row.set(col::CLASS, require_class(&new.class)?);
    row.set_int(col::AUTO_DROP, new.auto_drop.into());
    for at in [col::ENABLED, col::RECOVERS, col::RUNS, col::FAILURES, col::RUN_NOW] {
        row.set_int(at, 0);
    }
    row.set_text(col::STATE, "DISABLED");
    row.set_int(col::PRIORITY, 3);
    row.set_int(col::LOGGING, 64);
    row.set_text(col::COMMENTS, new.comments.as_deref().unwrap_or_default());
    row.set_text(col::NLSENV, &crate::nls::environment(&w.core.params.borrow()));
    if new.enabled {
        enable_row(w, &mut row)?;
    }
    insert_job(w.core, &mut w.cx, &row)
}

/// Sets the times of a job.
///
/// # Errors
/// Those of the repeat interval; ORA-27483 for an end before the start.
fn set_times(w: &mut World<'_>, row: &mut Row, name: &Name, times: &JobTimes) -> Result<()> {
    let (start, end) = (moment(w, &times.start)?, moment(w, &times.end)?);
    if let Some(repeat) = &times.repeat {
        require_repeat(repeat)?;
        row.set_text(col::REPEAT, repeat);
    }
    let zone = start.map_or(w.cx.session.nls.zone, |(_, zone)| zone);
    row.set_time(col::START_DATE, start.map(|(time, _)| time));
    row.set_time(col::END_DATE, end.map(|(time, _)| time));
    row.set_text(col::TZ, &zone.to_string());
    check_end(row, name)
}

fn create_program(w: &mut World<'_>, text: &str, row: [Value; 5], enabled: bool) -> Result<()> {
    let name = new_name(w, text)?;
    new_number(w, &name)?;
    if enabled && rows::as_i64(&row[2]).unwrap_or(0) > 0 {
        return Err(name.error(27456));
    }
    let values: Vec<Value> = name.values().into_iter().chain(row).collect();
    let sql = "insert into sys.scheduler$_program values (:1, :2, :3, :4, :5, :6, :7)";
    recursive(w.core, &mut w.cx, sql, &values).map(drop)
}

fn create_schedule(w: &mut World<'_>, text: &str, times: &JobTimes, comments: Option<&str>) -> Result<()> {
    let name = new_name(w, text)?;
    new_number(w, &name)?;
    times.repeat.as_deref().map(require_calendar).transpose()?;
    let mut row = Row(rows::blank(Base::SchedulerJob));
    set_times(w, &mut row, &name, times)?;
    let taken = [col::START_DATE, col::END_DATE, col::TZ, col::REPEAT].map(|at| row.0[at].clone());
    let comments = comments.map_or(Value::Null, Value::text);
    let values: Vec<Value> = name.values().into_iter().chain(taken).chain([comments]).collect();
    let sql = "insert into sys.scheduler$_schedule values (:1, :2, :3, :4, :5, :6, :7)";
    recursive(w.core, &mut w.cx, sql, &values).map(drop)
}

fn define_argument(w: &mut World<'_>, text: &str, argument: Argument) -> Result<()> {
    let (name, row) = own_program(w, text)?;
    if !(1..=row.int(scheduler_program::ARGS)).contains(&argument.position) {
        return Err(Ora::with(27465, &[&argument.position, &"ARGUMENT_POSITION"]));
    }
    let others = arguments(w.core, &mut w.cx, &name, false)?;
    let has_name = |a: &&Argument| a.name.is_some() && a.name == argument.name && a.position != argument.position;
    if let Some(other) = others.iter().find(has_name) {
        return Err(Ora::with(27485, &[&other.name.as_deref().unwrap_or_default()]));
    }
    put_argument(w.core, &mut w.cx, (&name, false), argument.position, Some(&argument))
}

fn position_of(w: &mut World<'_>, of: &[(&Name, bool)], place: &ArgumentPlace) -> Result<i64> {
    let name = match place {
        ArgumentPlace::Position(n) => return Ok(*n),
        ArgumentPlace::Name(name) => name.trim().trim_matches('"').to_uppercase(),
    };
    for (of, of_job) in of {
        let all = arguments(w.core, &mut w.cx, of, *of_job)?;
        if let Some(found) = all.iter().find(|a| a.name.as_deref() == Some(&name)) {
            return Ok(found.position);
        }
    }
    Err(Ora::with(27473, &[&name]))
}

fn set_argument(w: &mut World<'_>, text: &str, place: &ArgumentPlace, value: Option<Value>) -> Result<()> {
    let row = own_job(w, text)?;
    let name = job_name(&row);
    let (position, count) = match row.name(col::PROGRAM_OWNER, col::PROGRAM_NAME) {
        Some(of) => {
            let found = program(w.core, &mut w.cx, &of)?.ok_or_else(|| of.error(27476))?;
            (position_of(w, &[(&of, false)], place)?, found.int(scheduler_program::ARGS))
        }
        None => (position_of(w, &[(&name, true)], place)?, row.int(col::ARGS)),
    };
    if !(1..=count).contains(&position) {
        return Err(Ora::with(27473, &[&position]));
    }
    let argument = value.map(|value| Argument { position, name: None, kind: "VARCHAR2".into(), value: Some(value) });
    put_argument(w.core, &mut w.cx, (&name, true), position, argument.as_ref())
}

fn disable_program(w: &mut World<'_>, name: &Name) -> Result<()> {
    let sql = "update sys.scheduler$_program set enabled = 0 where owner = :1 and name = :2";
    recursive(w.core, &mut w.cx, sql, &name.values()).map(drop)
}

/// ENABLE of a job or a program.
fn enable(w: &mut World<'_>, text: &str) -> Result<()> {
    let name = name_of(w, text)?;
    require_rights(w, &name.owner, false)?;
    if let Some(mut row) = job(w.core, &mut w.cx, &name)? {
        if row.flag(col::ENABLED) {
            return Ok(());
        }
        row.set_int(col::FAILURES, 0);
        enable_row(w, &mut row)?;
        return store_job(w.core, &mut w.cx, &row);
    }
    let row = program(w.core, &mut w.cx, &name)?.ok_or_else(|| name.error(27476))?;
    let defined = arguments(w.core, &mut w.cx, &name, false)?.len() as i64;
    if defined < row.int(scheduler_program::ARGS) {
        return Err(name.error(27456));
    }
    let sql = "update sys.scheduler$_program set enabled = 1 where owner = :1 and name = :2";
    recursive(w.core, &mut w.cx, sql, &name.values()).map(drop)
}

fn disable(w: &mut World<'_>, text: &str, force: bool) -> Result<()> {
    let name = name_of(w, text)?;
    require_rights(w, &name.owner, false)?;
    let Some(mut row) = job(w.core, &mut w.cx, &name)? else {
        own_program(w, text)?;
        return disable_program(w, &name);
    };
    let runs = row.text(col::STATE) == "RUNNING";
    if runs && !force {
        return Err(name.error(27478));
    }
    row.set_int(col::ENABLED, 0);
    row.set(col::NEXT_RUN, Value::Null);
    if !runs {
        row.set_text(col::STATE, "DISABLED");
    }
    store_job(w.core, &mut w.cx, &row)
}

/// RUN_JOB in this session, next to a run by a slave. Errors of the job are the caller's.
fn run_here(w: &mut World<'_>, text: &str) -> Result<()> {
    let mut row = own_job(w, text)?;
    row.set_int(col::LOG_ID, next_value(w.core, &mut w.cx, "LOG_ID")?);
    row.set_time(col::REQ_DATE, Some(now()));
    row.set_time(col::LAST_START, Some(now()));
    row.set_int(col::SID, w.core.p.sid().into());
    row.set_int(col::SERIAL, w.core.p.serial() as i64);
    w.commit()?;
    let owner = row.text(col::OWNER).to_owned();
    let done = with_owner(w, &owner, |w| runs::execute(w, &row));
    match &done {
        Ok(()) => runs::log(w.core, &mut w.cx, &row, &Ended::Succeeded)?,
        Err(e) if e.ends_call() => return done,
        Err(e) => {
            w.rollback()?;
            runs::log(w.core, &mut w.cx, &row, &Ended::Failed(e))?;
            w.commit()?;
        }
    }
    done
}

/// RUN_JOB by a job process.
fn run_by_slave(w: &mut World<'_>, text: &str) -> Result<()> {
    let mut row = own_job(w, text)?;
    if row.text(col::STATE) == "RUNNING" {
        return Err(job_name(&row).error(27478));
    }
    row.set_int(col::RUN_NOW, 1);
    store_job(w.core, &mut w.cx, &row)
}

/// STOP_JOB: kills the session that runs the job, and waits for the end of the run.
fn stop(w: &mut World<'_>, text: &str, force: bool) -> Result<()> {
    if force {
        w.core.require(SystemPrivilege::ManageScheduler).map_err(as_27486)?;
    }
    let mut row = own_job(w, text)?;
    let name = job_name(&row);
    if row.text(col::STATE) != "RUNNING" {
        return Err(name.error(27366));
    }
    row.set_text(col::STOPPER, &w.user());
    store_job(w.core, &mut w.cx, &row)?;
    w.commit()?;
    let (sid, serial) = (row.int(col::SID) as u32, row.int(col::SERIAL) as u64);
    w.core.instance.processes().cancel(sid, serial, process::Cancel::Killed);
    let log_id = row.int(col::LOG_ID);
    for _ in 0..STOP_WAIT_S * 50 {
        let sql = "select log_id from sys.scheduler$_job where job = :1 and state = 'RUNNING'";
        let now = recursive(w.core, &mut w.cx, sql, &row.0[..1])?;
        if now.first().is_none_or(|now| rows::as_i64(&now[0]) != Some(log_id)) {
            return Ok(());
        }
        w.sleep(0.02)?;
    }
    Err(Ora::new(27365))
}

fn drop_job(w: &mut World<'_>, text: &str, force: bool) -> Result<()> {
    let mut row = own_job(w, text)?;
    if row.text(col::STATE) == "RUNNING" {
        if !force {
            return Err(job_name(&row).error(27478));
        }
        w.rollback()?;
        match stop(w, text, false) {
            Err(e) if !e.is(27366) && !e.is(27475) => return Err(e),
            _ => {}
        }
        row = match own_job(w, text) {
            // It was dropped at its end.
            Err(e) if e.is(27475) => return Ok(()),
            found => found?,
        };
    }
    delete_job(w.core, &mut w.cx, &row)
}

/// Disables the jobs of a program or a schedule that is dropped by force.
///
/// # Errors
/// ORA-27479 without `force`, if there are such jobs.
fn leave_jobs(w: &mut World<'_>, name: &Name, of_program: bool, force: bool) -> Result<()> {
    let found = if of_program {
        "select name from sys.scheduler$_job where program_owner = :1 and program_name = :2"
    } else {
        "select name from sys.scheduler$_job where schedule_owner = :1 and schedule_name = :2"
    };
    if recursive(w.core, &mut w.cx, found, &name.values())?.is_empty() {
        return Ok(());
    }
    if !force {
        return Err(name.error(27479));
    }
    let sql = if of_program {
        "update sys.scheduler$_job set enabled = 0, next_run = null, \
         state = decode(state, 'RUNNING', state, 'DISABLED') where program_owner = :1 and program_name = :2"
    } else {
        "update sys.scheduler$_job set enabled = 0, next_run = null, \
         state = decode(state, 'RUNNING', state, 'DISABLED') where schedule_owner = :1 and schedule_name = :2"
    };
    recursive(w.core, &mut w.cx, sql, &name.values()).map(drop)
}

fn drop_program(w: &mut World<'_>, text: &str, force: bool) -> Result<()> {
    let (name, _) = own_program(w, text)?;
    // A job of the program that is created meanwhile waits for this counter.
    next_value(w.core, &mut w.cx, "OBJECT")?;
    leave_jobs(w, &name, true, force)?;
    recursive(w.core, &mut w.cx, "delete from sys.scheduler$_program where owner = :1 and name = :2", &name.values())?;
    let sql = "delete from sys.scheduler$_argument where owner = :1 and name = :2 and of_job = 0";
    recursive(w.core, &mut w.cx, sql, &name.values()).map(drop)
}

fn drop_schedule(w: &mut World<'_>, text: &str, force: bool) -> Result<()> {
    let name = name_of(w, text)?;
    require_rights(w, &name.owner, false)?;
    next_value(w.core, &mut w.cx, "OBJECT")?;
    leave_jobs(w, &name, false, force)?;
    let sql = "delete from sys.scheduler$_schedule where owner = :1 and name = :2";
    match changed(w.core, &mut w.cx, sql, &name.values())? {
        0 => Err(name.error(27476)),
        _ => Ok(()),
    }
}

fn copy(w: &mut World<'_>, from: &str, to: &str) -> Result<()> {
    let name = new_name(w, to)?;
    let n = new_number(w, &name)?;
    let mut row = own_job(w, from)?;
    let values = arguments(w.core, &mut w.cx, &job_name(&row), true)?;
    row.set_int(col::JOB, n);
    row.set_text(col::OWNER, &name.owner);
    row.set_text(col::NAME, &name.name);
    row.set_text(col::CREATOR, &current_user(w)?);
    row.set_text(col::SCHEMA, &name.owner);
    for at in [col::ENABLED, col::RUNS, col::FAILURES, col::RUN_NOW] {
        row.set_int(at, 0);
    }
    row.set_text(col::STATE, "DISABLED");
    let of_runs = [col::NEXT_RUN, col::REQ_DATE, col::LAST_START, col::LAST_DURATION];
    for at in of_runs.into_iter().chain([col::SID, col::SERIAL, col::STOPPER, col::LOG_ID]) {
        row.set(at, Value::Null);
    }
    for value in values {
        put_argument(w.core, &mut w.cx, (&name, true), value.position, Some(&value))?;
    }
    insert_job(w.core, &mut w.cx, &row)
}

fn evaluate(w: &mut World<'_>, calendar: &str, start: &Value, after: &Value) -> Result<Value> {
    let (now, session) = (now(), w.cx.session.nls.zone);
    let (start, zone) = moment(w, start)?.unwrap_or((now, session));
    let after = moment(w, after)?.map_or(start, |(after, _)| after);
    let next = runs::next_of(calendar, &start, &after, zone)?;
    Ok(next.map_or(Value::Null, |next| Value::Timestamp(next.moved(Place::In(zone)))))
}

fn set_global(w: &mut World<'_>, attribute: &str, value: &Value) -> Result<()> {
    w.core.require(SystemPrivilege::ManageScheduler).map_err(as_27486)?;
    let attribute = attribute.trim().to_uppercase();
    if attribute != "LOG_HISTORY" {
        return Err(Ora::with(27469, &[&attribute, &"scheduler"]));
    }
    let days = attributes::integer(value, &attribute, 0, 1_000_000)?;
    let sql = "update sys.scheduler$_global set value = :1 where name = 'LOG_HISTORY'";
    recursive(w.core, &mut w.cx, sql, &[number(days)]).map(drop)
}
