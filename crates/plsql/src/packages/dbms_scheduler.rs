//! DBMS_SCHEDULER. The session carries the calls out.

use super::args::Args;
use super::package::*;
use crate::requests::{ArgumentPlace, JobTimes, NewJob, SchedulerKind, SchedulerRequest};
use crate::world::World;

package! {
    "DBMS_SCHEDULER",
    "package dbms_scheduler is
       logging_off constant pls_integer := 32; logging_runs constant pls_integer := 64;
       logging_failed_runs constant pls_integer := 128; logging_full constant pls_integer := 256;
       procedure create_job(job_name varchar2, job_type varchar2, job_action varchar2,
         number_of_arguments pls_integer default 0, start_date timestamp with time zone default null,
         repeat_interval varchar2 default null, end_date timestamp with time zone default null,
         job_class varchar2 default 'DEFAULT_JOB_CLASS', enabled boolean default false, auto_drop boolean default true,
         comments varchar2 default null, credential_name varchar2 default null,
         destination_name varchar2 default null);
       procedure create_job(job_name varchar2, program_name varchar2, schedule_name varchar2,
         job_class varchar2 default 'DEFAULT_JOB_CLASS', enabled boolean default false, auto_drop boolean default true,
         comments varchar2 default null, job_style varchar2 default 'REGULAR', credential_name varchar2 default null,
         destination_name varchar2 default null);
       procedure create_job(job_name varchar2, program_name varchar2,
         start_date timestamp with time zone default null, repeat_interval varchar2 default null,
         end_date timestamp with time zone default null, job_class varchar2 default 'DEFAULT_JOB_CLASS',
         enabled boolean default false, auto_drop boolean default true, comments varchar2 default null,
         job_style varchar2 default 'REGULAR', credential_name varchar2 default null,
         destination_name varchar2 default null);
       procedure create_job(job_name varchar2, schedule_name varchar2, job_type varchar2, job_action varchar2,
         number_of_arguments pls_integer default 0, job_class varchar2 default 'DEFAULT_JOB_CLASS',
         enabled boolean default false, auto_drop boolean default true, comments varchar2 default null,
         credential_name varchar2 default null, destination_name varchar2 default null);
       procedure create_program(program_name varchar2, program_type varchar2, program_action varchar2,
         number_of_arguments pls_integer default 0, enabled boolean default false, comments varchar2 default null);
       procedure create_schedule(schedule_name varchar2, start_date timestamp with time zone default null,
         repeat_interval varchar2, end_date timestamp with time zone default null, comments varchar2 default null);
       procedure define_program_argument(program_name varchar2, argument_position pls_integer,
         argument_name varchar2 default null, argument_type varchar2, default_value varchar2,
         out_argument boolean default false);
       procedure define_program_argument(program_name varchar2, argument_position pls_integer,
         argument_name varchar2 default null, argument_type varchar2, out_argument boolean default false);
       procedure drop_program_argument(program_name varchar2, argument_position pls_integer);
       procedure drop_program_argument(program_name varchar2, argument_name varchar2);
       procedure set_job_argument_value(job_name varchar2, argument_position pls_integer, argument_value varchar2);
       procedure set_job_argument_value(job_name varchar2, argument_name varchar2, argument_value varchar2);
       procedure reset_job_argument_value(job_name varchar2, argument_position pls_integer);
       procedure reset_job_argument_value(job_name varchar2, argument_name varchar2);
       procedure enable(name varchar2, commit_semantics varchar2 default 'STOP_ON_FIRST_ERROR');
       procedure disable(name varchar2, force boolean default false,
         commit_semantics varchar2 default 'STOP_ON_FIRST_ERROR');
       procedure run_job(job_name varchar2, use_current_session boolean default true);
       procedure stop_job(job_name varchar2, force boolean default false,
         commit_semantics varchar2 default 'STOP_ON_FIRST_ERROR');
       procedure drop_job(job_name varchar2, force boolean default false, defer boolean default false,
         commit_semantics varchar2 default 'STOP_ON_FIRST_ERROR');
       procedure drop_program(program_name varchar2, force boolean default false);
       procedure drop_schedule(schedule_name varchar2, force boolean default false);
       procedure set_attribute(name varchar2, attribute varchar2, value boolean);
       procedure set_attribute(name varchar2, attribute varchar2, value varchar2, value2 varchar2 default null);
       procedure set_attribute(name varchar2, attribute varchar2, value timestamp with time zone);
       procedure set_attribute(name varchar2, attribute varchar2, value interval day to second);
       procedure set_attribute(name varchar2, attribute varchar2, value date);
       procedure set_attribute(name varchar2, attribute varchar2, value timestamp);
       procedure set_attribute(name varchar2, attribute varchar2, value timestamp with local time zone);
       procedure set_attribute_null(name varchar2, attribute varchar2);
       procedure get_attribute(name varchar2, attribute varchar2, value out varchar2);
       procedure get_attribute(name varchar2, attribute varchar2, value out boolean);
       procedure get_attribute(name varchar2, attribute varchar2, value out timestamp with time zone);
       procedure get_attribute(name varchar2, attribute varchar2, value out pls_integer);
       procedure copy_job(old_job varchar2, new_job varchar2);
       function generate_job_name(prefix varchar2 default 'JOB$_') return varchar2;
       procedure evaluate_calendar_string(calendar_string varchar2, start_date timestamp with time zone,
         return_date_after timestamp with time zone, next_run_date out timestamp with time zone);
       procedure purge_log(log_history pls_integer default 0, which_log varchar2 default 'JOB_AND_WINDOW_LOG',
         job_name varchar2 default null);
       procedure set_scheduler_attribute(attribute varchar2, value varchar2);
     end;";
    "CREATE_JOB" 1 => create_inline, "CREATE_JOB" 2 => create_named, "CREATE_JOB" 3 => create_of_program,
    "CREATE_JOB" 4 => create_of_schedule,
    "CREATE_PROGRAM" 1 => create_program,
    "CREATE_SCHEDULE" 1 => create_schedule,
    "DEFINE_PROGRAM_ARGUMENT" 1 => define_defaulted, "DEFINE_PROGRAM_ARGUMENT" 2 => define,
    "DROP_PROGRAM_ARGUMENT" 1 => drop_argument, "DROP_PROGRAM_ARGUMENT" 2 => drop_argument,
    "SET_JOB_ARGUMENT_VALUE" 1 => set_argument, "SET_JOB_ARGUMENT_VALUE" 2 => set_argument,
    "RESET_JOB_ARGUMENT_VALUE" 1 => reset_argument, "RESET_JOB_ARGUMENT_VALUE" 2 => reset_argument,
    "ENABLE" 1 => enable,
    "DISABLE" 1 => disable,
    "RUN_JOB" 1 => run_job,
    "STOP_JOB" 1 => stop_job,
    "DROP_JOB" 1 => drop_job,
    "DROP_PROGRAM" 1 => drop_program,
    "DROP_SCHEDULE" 1 => drop_schedule,
    "SET_ATTRIBUTE" 1 => set_attribute, "SET_ATTRIBUTE" 2 => set_attribute, "SET_ATTRIBUTE" 3 => set_attribute,
    "SET_ATTRIBUTE" 4 => set_attribute, "SET_ATTRIBUTE" 5 => set_attribute, "SET_ATTRIBUTE" 6 => set_attribute,
    "SET_ATTRIBUTE" 7 => set_attribute,
    "SET_ATTRIBUTE_NULL" 1 => set_attribute_null,
    "GET_ATTRIBUTE" 1 => get_text, "GET_ATTRIBUTE" 2 => get_truth, "GET_ATTRIBUTE" 3 => get_time,
    "GET_ATTRIBUTE" 4 => get_count,
    "COPY_JOB" 1 => copy_job,
    "GENERATE_JOB_NAME" 1 => generate_job_name,
    "EVALUATE_CALENDAR_STRING" 1 => evaluate_calendar_string,
    "PURGE_LOG" 1 => purge_log,
    "SET_SCHEDULER_ATTRIBUTE" 1 => set_scheduler_attribute,
}

fn call<W: World>(c: &mut Call<'_, W>, request: SchedulerRequest) -> Run<()> {
    c.w.scheduler(&request)?;
    Ok(())
}

fn text(a: &Args<'_>, at: usize) -> String {
    a.text(at).to_owned()
}

/// A name that must be given.
fn required(a: &Args<'_>, at: usize, attribute: &str) -> Run<String> {
    a.optional_text(at).filter(|text| !text.trim().is_empty()).ok_or_else(|| Ora::with(27451, &[&attribute]).into())
}

/// The times from the argument at this index on.
fn times(a: &Args<'_>, at: usize) -> JobTimes {
    JobTimes { start: a.value(at).clone(), repeat: a.optional_text(at + 1), end: a.value(at + 2).clone() }
}

/// Class, ENABLED, AUTO_DROP and comments from the argument at this index on.
fn common(a: &Args<'_>, at: usize) -> Run<NewJob> {
    Ok(NewJob {
        name: required(a, 0, "JOB_NAME")?,
        class: text(a, at),
        enabled: a.flag(at + 1),
        auto_drop: a.flag(at + 2),
        comments: a.optional_text(at + 3),
        ..NewJob::default()
    })
}

/// Refuses credentials and destinations, which only external and remote jobs have, and light jobs.
fn require_local(a: &Args<'_>, nulls: &[usize], style: Option<usize>) -> Run<()> {
    let is_regular = style.is_none_or(|at| a.text(at).eq_ignore_ascii_case("REGULAR"));
    if is_regular && nulls.iter().all(|at| a.value(*at).is_null()) { Ok(()) } else { Err(Ora::unsupported().into()) }
}

fn create<W: World>(c: &mut Call<'_, W>, job: NewJob) -> Run<()> {
    call(c, SchedulerRequest::CreateJob(Box::new(job)))
}

fn create_inline<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    require_local(&c.a, &[11, 12], None)?;
    let job = NewJob {
        kind: required(&c.a, 1, "JOB_TYPE")?,
        action: required(&c.a, 2, "JOB_ACTION")?,
        arguments: c.a.integer(3).unwrap_or(0),
        times: times(&c.a, 4),
        ..common(&c.a, 7)?
    };
    create(c, job)
}

fn create_named<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    require_local(&c.a, &[8, 9], Some(7))?;
    let job = NewJob {
        program: Some(required(&c.a, 1, "PROGRAM_NAME")?),
        schedule: Some(required(&c.a, 2, "SCHEDULE_NAME")?),
        ..common(&c.a, 3)?
    };
    create(c, job)
}

fn create_of_program<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    require_local(&c.a, &[10, 11], Some(9))?;
    let job = NewJob { program: Some(required(&c.a, 1, "PROGRAM_NAME")?), times: times(&c.a, 2), ..common(&c.a, 5)? };
    create(c, job)
}

fn create_of_schedule<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    require_local(&c.a, &[9, 10], None)?;
    let job = NewJob {
        schedule: Some(required(&c.a, 1, "SCHEDULE_NAME")?),
        kind: required(&c.a, 2, "JOB_TYPE")?,
        action: required(&c.a, 3, "JOB_ACTION")?,
        arguments: c.a.integer(4).unwrap_or(0),
        ..common(&c.a, 5)?
    };
    create(c, job)
}

fn create_program<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = SchedulerRequest::CreateProgram {
        name: required(&c.a, 0, "PROGRAM_NAME")?,
        kind: required(&c.a, 1, "PROGRAM_TYPE")?,
        action: required(&c.a, 2, "PROGRAM_ACTION")?,
        arguments: c.a.integer(3).unwrap_or(0),
        enabled: c.a.flag(4),
        comments: c.a.optional_text(5),
    };
    call(c, request)
}

fn create_schedule<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = SchedulerRequest::CreateSchedule {
        name: required(&c.a, 0, "SCHEDULE_NAME")?,
        times: times(&c.a, 1),
        comments: c.a.optional_text(4),
    };
    call(c, request)
}

fn define_argument<W: World>(c: &mut Call<'_, W>, default: Option<Value>, out: usize) -> Run<()> {
    if c.a.flag(out) {
        return Err(Ora::unsupported().into());
    }
    let request = SchedulerRequest::DefineArgument {
        program: required(&c.a, 0, "PROGRAM_NAME")?,
        position: c.a.integer(1).ok_or_else(|| Ora::with(27451, &[&"ARGUMENT_POSITION"]))?,
        argument: c.a.optional_text(2),
        kind: required(&c.a, 3, "ARGUMENT_TYPE")?,
        default,
    };
    call(c, request)
}

fn define_defaulted<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let default = c.a.value(4).clone();
    define_argument(c, Some(default), 5)
}

fn define<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    define_argument(c, None, 4)
}

/// The second argument: a position or a name, by the overload.
fn place(a: &Args<'_>) -> Run<ArgumentPlace> {
    match a.value(1) {
        Value::Text(name) => Ok(ArgumentPlace::Name(name.clone())),
        _ => a.integer(1).map(ArgumentPlace::Position).ok_or_else(|| Ora::new(27454).into()),
    }
}

fn drop_argument<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = SchedulerRequest::DropArgument { program: required(&c.a, 0, "PROGRAM_NAME")?, place: place(&c.a)? };
    call(c, request)
}

fn set_argument<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = SchedulerRequest::SetArgument {
        job: required(&c.a, 0, "JOB_NAME")?,
        place: place(&c.a)?,
        value: Some(c.a.value(2).clone()),
    };
    call(c, request)
}

fn reset_argument<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request =
        SchedulerRequest::SetArgument { job: required(&c.a, 0, "JOB_NAME")?, place: place(&c.a)?, value: None };
    call(c, request)
}

/// COMMIT_SEMANTICS: whether an error undoes the work on the names before it.
fn is_one_unit(a: &Args<'_>, at: usize) -> Run<bool> {
    match a.text(at).to_uppercase().as_str() {
        "STOP_ON_FIRST_ERROR" | "" => Ok(false),
        "TRANSACTIONAL" => Ok(true),
        "ABSORB_ERRORS" => Err(Ora::unsupported().into()),
        other => Err(Ora::with(27465, &[&other, &"COMMIT_SEMANTICS"]).into()),
    }
}

fn enable<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let names = required(&c.a, 0, "NAME")?;
    let one_unit = is_one_unit(&c.a, 1)?;
    call(c, SchedulerRequest::Enable { names, one_unit })
}

fn disable<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = SchedulerRequest::Disable {
        names: required(&c.a, 0, "NAME")?,
        force: c.a.flag(1),
        one_unit: is_one_unit(&c.a, 2)?,
    };
    call(c, request)
}

fn run_job<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = SchedulerRequest::Run { names: required(&c.a, 0, "JOB_NAME")?, here: c.a.flag(1) };
    call(c, request)
}

fn stop_job<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    if is_one_unit(&c.a, 2)? {
        return Err(Ora::with(27465, &[&"TRANSACTIONAL", &"COMMIT_SEMANTICS"]).into());
    }
    let request = SchedulerRequest::Stop { names: required(&c.a, 0, "JOB_NAME")?, force: c.a.flag(1) };
    call(c, request)
}

fn drop_of<W: World>(c: &mut Call<'_, W>, kind: SchedulerKind, attribute: &str, one_unit: bool) -> Run<()> {
    let request = SchedulerRequest::Drop { kind, names: required(&c.a, 0, attribute)?, force: c.a.flag(1), one_unit };
    call(c, request)
}

fn drop_job<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    if c.a.flag(2) {
        return Err(Ora::unsupported().into());
    }
    let one_unit = is_one_unit(&c.a, 3)?;
    drop_of(c, SchedulerKind::Job, "JOB_NAME", one_unit)
}

fn drop_program<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    drop_of(c, SchedulerKind::Program, "PROGRAM_NAME", false)
}

fn drop_schedule<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    drop_of(c, SchedulerKind::Schedule, "SCHEDULE_NAME", false)
}

fn change_attribute<W: World>(c: &mut Call<'_, W>, value: Value) -> Run<()> {
    let request = SchedulerRequest::SetAttribute {
        name: required(&c.a, 0, "NAME")?,
        attribute: required(&c.a, 1, "ATTRIBUTE")?,
        value,
    };
    call(c, request)
}

fn set_attribute<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let value = c.a.value(2).clone();
    if value.is_null() {
        return Err(Ora::with(27451, &[&"VALUE"]).into());
    }
    change_attribute(c, value)
}

fn set_attribute_null<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    change_attribute(c, Value::Null)
}

/// GET_ATTRIBUTE into a variable: `convert` refuses the values that are not of its type.
fn get_attribute<W: World>(c: &mut Call<'_, W>, convert: impl Fn(Value) -> Option<Value>) -> Run<()> {
    let attribute = required(&c.a, 1, "ATTRIBUTE")?;
    let request = SchedulerRequest::GetAttribute { name: required(&c.a, 0, "NAME")?, attribute: attribute.clone() };
    let value = match c.w.scheduler(&request)? {
        Value::Null => Value::Null,
        value => convert(value).ok_or_else(|| Ora::with(27467, &[&attribute.to_uppercase()]))?,
    };
    c.a.set(2, value);
    Ok(())
}

fn get_text<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    get_attribute(c, |value| match value {
        Value::Text(_) => Some(value),
        Value::Number(n) => Some(Value::text(n.to_string())),
        _ => None,
    })
}

fn get_truth<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    get_attribute(c, |value| matches!(value, Value::Boolean(_)).then_some(value))
}

fn get_time<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    get_attribute(c, |value| matches!(value, Value::Timestamp(_)).then_some(value))
}

fn get_count<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    get_attribute(c, |value| matches!(value, Value::Number(_)).then_some(value))
}

fn copy_job<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = SchedulerRequest::Copy { from: required(&c.a, 0, "OLD_JOB")?, to: required(&c.a, 1, "NEW_JOB")? };
    call(c, request)
}

fn generate_job_name<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let request = SchedulerRequest::GenerateName { prefix: text(&c.a, 0) };
    Ok(c.w.scheduler(&request)?)
}

fn evaluate_calendar_string<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = SchedulerRequest::Evaluate {
        calendar: required(&c.a, 0, "CALENDAR_STRING")?,
        start: c.a.value(1).clone(),
        after: c.a.value(2).clone(),
    };
    let next = c.w.scheduler(&request)?;
    c.a.set(3, next);
    Ok(())
}

fn purge_log<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = SchedulerRequest::PurgeLog { days: c.a.integer(0).unwrap_or(0), job: c.a.optional_text(2) };
    call(c, request)
}

fn set_scheduler_attribute<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let request = SchedulerRequest::SetGlobal { attribute: text(&c.a, 0), value: c.a.value(1).clone() };
    call(c, request)
}
