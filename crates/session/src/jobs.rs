//! DBMS_JOB: each job is a row of `sys.job$`.
//!
//! The statements on the job table are ordinary SQL with the names and privileges of SYS, in the caller's transaction:
//! other sessions see a submitted job after the caller's commit. The texts of a job (its block and its interval) run
//! with the identity of its owner.

use crate::blocks;
use crate::core::Core;
use crate::recursive::{recursive, value_of};
use crate::world::{World, number};
use dictionary::SystemPrivilege;
use enqueue::{EnqueueError, EnqueueType, LockId, LockMode, Timeout};
use exec::ExecCtx;
use net::StatementKind;
use plsql::{Datum, JobChange, JobRequest, World as _};
use types::{Date, Facility, Ora, Result, Value};

/// A job: its row in `sys.job$`.
pub struct Job {
    pub number: i64,
    /// POWNER: the job runs with the privileges of this user.
    pub owner: String,
    /// COWNER: the schema of its unqualified names.
    pub schema: String,
    pub what: String,
    pub interval: Option<String>,
    /// NLSENV: the NLS settings at its submission ([`crate::nls::environment`]).
    pub nls: String,
}

fn int(v: &Value) -> Result<i64> {
    match v {
        Value::Number(n) => n.to_i64(),
        _ => Ok(0),
    }
}

fn text(v: &Value) -> Option<String> {
    match v {
        Value::Text(t) => Some(t.clone()),
        _ => None,
    }
}

/// DBMS_JOB.SUBMIT. Returns the number of the new job.
///
/// # Errors
/// ORA-27486 without CREATE JOB; errors in the text of the job; those of [`check_interval`].
pub fn submit(w: &mut World<'_>, job: &JobRequest) -> Result<i64> {
    w.core.require(SystemPrivilege::CreateJob).map_err(|e| if e.is(1031) { Ora::new(27486) } else { e })?;
    // A text that does not compile is refused now, not at the first run.
    w.core.plsql.compile_block(w, &block_text(&job.what))?;
    job.interval.as_deref().map_or(Ok(()), |interval| check_interval(w, interval))?;
    let rows = recursive(w.core, &mut w.cx, "select nvl(max(job), 0) from sys.job$", &[])?;
    let last = rows.first().map_or(Ok(0), |r| int(&r[0]))?;
    let n = w.core.instance.state().next_job(last as u64) as i64;
    let now = w.core.local_time().own_date();
    let next = job.next_date.unwrap_or(now);
    // The owner of a submitting definer's rights unit owns the job, whatever session called the unit.
    let owner = w.core.user_name(w.core.identity().user)?;
    let values = [
        number(n),
        Value::text(w.cx.session.user.as_str()),
        Value::text(owner),
        Value::text(&*w.cx.session.schema),
        Value::Date(next),
        job.interval.as_deref().map_or(Value::Null, Value::text),
        Value::text(job.what.as_str()),
        Value::text(environment(w.core)),
    ];
    recursive(
        w.core,
        &mut w.cx,
        "insert into sys.job$ (job, lowner, powner, cowner, next_date, total, interval#, failures, flag, what, \
         nlsenv) values (:1, :2, :3, :4, :5, 0, :6, 0, 0, :7, :8)",
        &values,
    )?;
    Ok(n)
}

/// Evaluates an interval with the rights in force, those of the job's owner.
///
/// # Errors
/// ORA-23319 for an expression that cannot be evaluated, or not to a date; ORA-23420 for one that gives the present or
/// the past.
fn check_interval(w: &mut World<'_>, interval: &str) -> Result<()> {
    let refused = || Ora::with(23319, &[&format_args!("\"{interval}\"")]);
    let now = w.core.local_time().own_date();
    let next = value_of(&mut w.cx, interval).map_err(|e| if e.ends_call() { e } else { refused().because(e) })?;
    if matches!(next, Value::Null | Value::Date(_) | Value::Timestamp(_)) {
        require_future(&next, now)
    } else {
        Err(refused())
    }
}

/// ORA-23420 for a next date that was not in the future at `now`, before the interval was evaluated: SYSDATE + 1/86400
/// may be the present second afterwards.
fn require_future(next: &Value, now: Date) -> Result<()> {
    let is_past = match next {
        Value::Date(date) => *date <= now,
        Value::Timestamp(time) => time.own_date() <= now,
        _ => false,
    };
    if is_past { Err(Ora::new(23420)) } else { Ok(()) }
}

fn environment(core: &Core) -> String {
    crate::nls::environment(&core.params.borrow())
}

/// Finds a job of the user in force.
///
/// # Errors
/// ORA-23421 when the user has no job with that number.
fn own_job(w: &mut World<'_>, job: i64) -> Result<Job> {
    let found = load(w.core, &mut w.cx, job)?;
    let user = w.core.user_name(w.core.identity().user)?;
    found.filter(|j| j.owner == user).ok_or_else(|| Ora::with(23421, &[&job]))
}

/// Reads a job's row; `None` when there is none.
pub fn load(core: &Core, cx: &mut ExecCtx<'_>, job: i64) -> Result<Option<Job>> {
    let sql = "select powner, cowner, what, interval#, nlsenv from sys.job$ where job = :1";
    let rows = recursive(core, cx, sql, &[number(job)])?;
    Ok(rows.first().map(|r| Job {
        number: job,
        owner: text(&r[0]).unwrap_or_default(),
        schema: text(&r[1]).unwrap_or_default(),
        what: text(&r[2]).unwrap_or_default(),
        interval: text(&r[3]),
        nls: text(&r[4]).unwrap_or_default(),
    }))
}

/// DBMS_JOB.REMOVE.
pub fn remove(w: &mut World<'_>, job: i64) -> Result<()> {
    own_job(w, job)?;
    recursive(w.core, &mut w.cx, "delete from sys.job$ where job = :1", &[number(job)])?;
    Ok(())
}

/// DBMS_JOB.CHANGE, WHAT, NEXT_DATE, INTERVAL and BROKEN.
///
/// # Errors
/// ORA-23421; errors in the new text; those of [`check_interval`].
pub fn change(w: &mut World<'_>, job: i64, change: &JobChange) -> Result<()> {
    own_job(w, job)?;
    if let Some(what) = &change.what {
        w.core.plsql.compile_block(w, &block_text(what))?;
    }
    if let Some(Some(interval)) = &change.interval {
        check_interval(w, interval)?;
    }
    let environment = environment(w.core);
    let mut set = |sql: &'static str, value: Value| recursive(w.core, &mut w.cx, sql, &[value, number(job)]).map(drop);
    if let Some(what) = &change.what {
        set("update sys.job$ set what = :1 where job = :2", Value::text(what.as_str()))?;
        // The new text runs with the present NLS settings.
        set("update sys.job$ set nlsenv = :1 where job = :2", Value::text(environment))?;
    }
    if let Some(date) = change.next_date {
        set("update sys.job$ set next_date = :1 where job = :2", Value::Date(date))?;
    }
    if let Some(interval) = &change.interval {
        let interval = interval.as_deref().map_or(Value::Null, Value::text);
        set("update sys.job$ set interval# = :1 where job = :2", interval)?;
    }
    if let Some(broken) = change.broken {
        set("update sys.job$ set flag = :1 where job = :2", number(broken.into()))?;
        if !broken {
            set("update sys.job$ set failures = :1 where job = :2", number(0))?;
        }
    }
    Ok(())
}

/// Failures after which a job is broken.
const FAILURES_MAX: i64 = 16;

/// Counts a failure of a job. Its values: [`failure_values`].
pub const NOTE_FAILURE: &str = "update sys.job$ set failures = nvl(failures, 0) + 1, this_date = null, \
     next_date = case when :1 = 1 then sysdate + power(2, least(nvl(failures, 0), 15)) / 1440 else next_date end, \
     flag = case when nvl(failures, 0) + 1 >= :2 then 1 else nvl(flag, 0) end where job = :3";

/// With `is_delayed` the next attempt comes 1, 2, 4, … minutes later, by the number of failures.
pub fn failure_values(job: i64, is_delayed: bool) -> [Value; 3] {
    [number(is_delayed.into()), number(FAILURES_MAX), number(job)]
}

/// Gets the JQ enqueue of a job, which the session that runs the job holds until [`unlock`]; `None` when another
/// session has it, or this one in an outer call.
///
/// # Errors
/// ORA-00052, ORA-00053: no resource or no lock is free.
pub fn lock(core: &Core, job: i64) -> Result<Option<LockId>> {
    // A process that owns an enqueue gets it again.
    if core.jobs.borrow().contains(&job) {
        return Ok(None);
    }
    let (enqueues, kind) = (core.shared.enqueues, EnqueueType::Jq);
    match enqueues.get(&core.p, kind, 0, job as u64, LockMode::Exclusive, Timeout::NoWait) {
        Ok(lock) => {
            core.jobs.borrow_mut().push(job);
            Ok(Some(lock))
        }
        Err(EnqueueError::Busy) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Whether a session runs the job. This is no get: a DBMS_JOB.RUN at the same time would find the enqueue taken.
pub fn is_locked(core: &Core, job: i64) -> bool {
    core.shared.enqueues.is_owned(EnqueueType::Jq, 0, job as u64)
}

/// Releases the enqueue of the job that was locked last.
pub fn unlock(core: &Core, lock: LockId) {
    core.jobs.borrow_mut().pop();
    core.shared.enqueues.release(&core.p, lock);
}

/// DBMS_JOB.RUN: runs the job now, in the caller's session, broken or not. Commits before the job and after it: a
/// failure is rolled back to the first commit, and is counted. The date of the next run stays as it is then.
///
/// Oracle's documentation says that a job runs in one session at a time, and not what RUN does about a running job.
/// Waiting was rejected: a job that runs itself would wait for itself.
///
/// # Errors
/// ORA-23421; those of [`lock`]; ORA-12011, followed by the job's own error, or by ORA-27478 for a job that is running.
pub fn run_now(w: &mut World<'_>, job: i64) -> Result<()> {
    let found = own_job(w, job)?;
    w.commit()?;
    let Some(lock) = lock(w.core, job)? else {
        let text = format!("job \"{}\".\"DBMS_JOB$_{job}\" is running", found.owner);
        return Err(Ora::with(12011, &[&1]).because(Ora::from_text(Facility::Ora, 27478, text)));
    };
    let done = run_locked(w, job);
    unlock(w.core, lock);
    done
}

fn run_locked(w: &mut World<'_>, job: i64) -> Result<()> {
    // A slave may have run the job since, and deleted it.
    let found = own_job(w, job)?;
    let failed = match execute(w, &found).and_then(|()| w.commit()) {
        Ok(()) => return Ok(()),
        Err(e) => e,
    };
    // A killed session executes nothing more.
    if !failed.is(28) {
        w.rollback()?;
        recursive(w.core, &mut w.cx, NOTE_FAILURE, &failure_values(job, false))?;
        w.commit()?;
    }
    Err(Ora::with(12011, &[&1]).because(failed))
}

/// The block around the text of a job, which may use JOB, NEXT_DATE and BROKEN.
fn block_text(what: &str) -> String {
    // This is Oracle's text letter for letter: published SQL_IDs of jobs depend on it.
    format!(
        "DECLARE job BINARY_INTEGER := :job; next_date DATE := :mydate;  broken BOOLEAN := FALSE; BEGIN {what} \
         :mydate := next_date; IF broken THEN :b := 1; ELSE :b := 0; END IF; END; "
    )
}

/// Runs a job's text and updates its row in the same transaction, or deletes the row when there is no next date. The
/// caller commits.
///
/// # Errors
/// The job's own errors, and ORA-23420; the caller then rolls the transaction back.
pub fn execute(w: &mut World<'_>, job: &Job) -> Result<()> {
    let started = os::clock::now_ns();
    let now = w.core.local_time().own_date();
    // The interval is evaluated before the job runs, as Oracle's documentation says.
    let next = match &job.interval {
        Some(interval) => value_of(&mut w.cx, interval)?,
        None => Value::Null,
    };
    require_future(&next, now)?;
    let open = blocks::open(w, &block_text(&job.what), StatementKind::PLSQL_EXECUTE, blocks::no_types())?;
    let block = open.block.clone();
    let mut binds: Vec<Datum> = block
        .binds()
        .iter()
        .map(|name| match name.as_str() {
            "JOB" => Datum::Val(number(job.number)),
            "MYDATE" => Datum::Val(next.clone()),
            _ => Datum::Val(number(0)),
        })
        .collect();
    blocks::run(w, open, &mut binds)?;
    let bound = |name: &str| {
        let at = block.binds().iter().position(|b| b == name)?;
        match &binds[at] {
            Datum::Val(v) => Some(v.clone()),
            _ => None,
        }
    };
    let next = bound("MYDATE").unwrap_or(Value::Null);
    let broken = bound("B").map_or(Ok(0), |v| int(&v))?;
    if next.is_null() {
        recursive(w.core, &mut w.cx, "delete from sys.job$ where job = :1", &[number(job.number)])?;
        return Ok(());
    }
    let seconds = (os::clock::now_ns() - started) / 1_000_000_000;
    let values = [next, number(broken), number(seconds as i64), number(job.number)];
    recursive(
        w.core,
        &mut w.cx,
        "update sys.job$ set next_date = :1, flag = :2, total = nvl(total, 0) + :3, failures = 0, last_date = sysdate, \
         this_date = null where job = :4",
        &values,
    )?;
    Ok(())
}
