//! The job queue, and the triggers on the start and the end of the instance, which CJQ0 fires.
//!
//! CJQ0 finds due jobs and assigns them to slaves; a slave runs one job at a time.
//!
//! The row of a job is in `sys.job$`, or in `sys.scheduler$_job` for DBMS_SCHEDULER, with numbers from 2^40 on. CJQ0
//! reads the tables when it is posted (a commit that changed them posts it), when the next job falls due, and every
//! second. The session that runs a job holds its JQ enqueue, so `dbms_job.run` in a session and a slave exclude each
//! other (invariant 3).

use instance::{Assigned, Assignment, Instance, Phase};
use session::{JobOutcome, Session};
use std::time::Duration;
use types::{Ora, Result, Value};

/// The interval at which CJQ0 looks for due jobs unless it is posted or a job is due earlier.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Idle time after which a slave ends.
const IDLE_LIMIT: Duration = Duration::from_secs(5);

/// The jobs that may start now, oldest date first.
const DUE_JOBS: &str = "select job from sys.job$ where next_date <= sysdate and (flag is null or bitand(flag, 1) = 0) order by next_date, job";

/// Runs the coordinator until it is asked to end. `fork_wanted` wakes the supervisor. When the jobs cannot be read, for
/// example because of a damaged block, the error is written to `log` and the read is tried again; no job starts
/// meanwhile.
pub fn cjq0(instance: &'static Instance, fork_wanted: &dyn Fn(), log: &dyn Fn(&str)) -> Result<()> {
    let mut session = Session::background(instance, "CJQ0")?;
    let slot = session.slot();
    instance.state().set_job_coordinator(Some(slot));
    let mut seen = None;
    let mut told = String::new();
    while !instance.state().is_asked_to_end(slot) {
        let posts = session.posts();
        let changes = instance.state().job_changes();
        if instance.state().phase() == Phase::Open {
            if instance.state().claim_startup() {
                // The alert log has the error of a trigger.
                let _ = session.fire_of_instance(true);
            }
            if let Err(e) = assign_due(instance, &mut session, fork_wanted) {
                crate::tell_once(log, &mut told, "CJQ0: no job can be started:", &e);
            }
            seen = Some(changes);
        }
        if seen == Some(instance.state().job_changes()) {
            session.idle(wait::Event::JobqCoordinatorWait, posts, LOOK_EVERY);
        }
    }
    if instance.state().phase() == Phase::Closing {
        let _ = session.fire_of_instance(false);
    }
    instance.state().set_job_coordinator(None);
    session.end();
    Ok(())
}

/// The jobs of DBMS_SCHEDULER that may start at a time in UTC, and those marked as running.
const DUE_SCHEDULED: &str = "select job from sys.scheduler$_job where (enabled = 1 and next_run <= :1) or run_now = 1 \
     or state = 'RUNNING' order by priority, next_run, job";

fn assign_due(instance: &Instance, session: &mut Session, fork_wanted: &dyn Fn()) -> Result<()> {
    let limit = instance.params().number(params::Param::JobQueueProcesses) as usize;
    if limit == 0 {
        return Ok(());
    }
    let mut due = session.recursive_query(DUE_JOBS, &[])?;
    due.extend(session.recursive_query(DUE_SCHEDULED, &[Value::Timestamp(session::utc_now())])?);
    for row in due {
        let job = number(&row[0])?;
        // A slave would find the enqueue of a job that DBMS_JOB.RUN runs taken, and the job still due.
        if instance.state().has_job(job) || session.job_runs(job as i64) {
            continue;
        }
        match instance.state().assign(job, limit) {
            Some(Assigned::Post(slot)) => instance.post(slot),
            Some(Assigned::Fork) => fork_wanted(),
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Runs slave `n` until it has been idle for a while.
pub fn slave(instance: &'static Instance, n: u32, log: &dyn Fn(&str)) -> Result<()> {
    loop {
        // Each job gets a new session, as in Oracle, with its own SID, NLS settings and package state.
        let mut session = Session::slave(instance, &format!("J{n:03}"))?;
        let Some(job) = next_job(instance, &mut session, n) else {
            session.end();
            return Ok(());
        };
        if let Err(e) = run_job(instance, &mut session, n, job) {
            log(&format!("Errors in job slave J{n:03}:\nORA-12012: error on auto execute of job {job}\n{e}"));
        }
        session.end();
        instance.state().slave_idle(n);
        instance.wake_job_queue();
    }
}

fn next_job(instance: &Instance, session: &mut Session, n: u32) -> Option<u64> {
    let start = os::clock::now_ns();
    loop {
        let posts = session.posts();
        if let Assignment::Job(job) = instance.state().take_assignment(n, session.slot()) {
            return Some(job);
        }
        let closing = instance.state().phase() != Phase::Open;
        let waited = Duration::from_nanos(os::clock::now_ns() - start);
        if (closing || waited >= IDLE_LIMIT) && instance.state().slave_may_leave(n) {
            return None;
        }
        let rest = IDLE_LIMIT.saturating_sub(waited).max(Duration::from_millis(1));
        session.idle(wait::Event::JobqSlaveWait, posts, rest);
    }
}

/// Runs one job and updates its row in `sys.job$` (invariants 4 and 5).
fn run_job(instance: &'static Instance, session: &mut Session, n: u32, job: u64) -> Result<()> {
    match session.run_job(job as i64)? {
        JobOutcome::Done | JobOutcome::NotDue => Ok(()),
        JobOutcome::Failed(e) => {
            if e.is(28) {
                // A killed session executes nothing more: a new session updates the row.
                let next = Session::slave(instance, &format!("J{n:03}"))?;
                std::mem::replace(session, next).end();
            }
            session.note_job_failure(job as i64)?;
            Err(e)
        }
    }
}

fn number(v: &Value) -> Result<u64> {
    match v {
        Value::Number(n) => n.as_i64().and_then(|i| u64::try_from(i).ok()).ok_or_else(|| Ora::new(1426)),
        _ => Err(Ora::new(6502)),
    }
}
