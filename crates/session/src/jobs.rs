//! DBMS_JOB over `sys.job$`, and what a slave does to run a job.
//!
//! The statements on the job table are ordinary SQL with the names and privileges of SYS, in the caller's transaction: a
//! submitted job exists for others once the caller commits.

use crate::blocks;
use crate::core::Core;
use crate::world::{World, number};
use exec::{Cursor, ExecCtx};
use net::StatementKind;
use plsql::{Datum, JobChange, JobRequest, World as _};
use types::{Ora, Result, Value};

/// One job as its row says.
pub struct Job {
    pub number: i64,
    pub owner: String,
    pub what: String,
    pub interval: Option<String>,
}

/// Runs a statement with SYS's names and gives its rows. Placeholders that are numbers take that one of `binds`, from 1.
///
/// # Errors
/// Those of the statement.
pub fn recursive(core: &Core, cx: &mut ExecCtx<'_>, text: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
    core.as_sys(|| {
        core.p.count(wait::Stat::RecursiveCalls, 1);
        // The cursor numbers its binds as they stand in the text: `:n` is the n-th given here.
        let given = |name: &String| name.parse::<usize>().ok().and_then(|n| binds.get(n.checked_sub(1)?).cloned());
        let values: Option<Vec<Value>> = sql::bind_names(text).iter().map(given).collect();
        let types: Vec<_> = values.as_deref().unwrap_or(binds).iter().map(|v| Some(v.data_type())).collect();
        let mut cursor = Cursor::compile(cx, text, &types)?;
        cursor.bind(values.as_deref().unwrap_or(binds))?;
        let rows = rows_of(&mut cursor, cx);
        cursor.close(cx);
        rows
    })
}

/// Executes a cursor and gives all its rows.
pub(crate) fn rows_of(cursor: &mut Cursor, cx: &mut ExecCtx<'_>) -> Result<Vec<Vec<Value>>> {
    cursor.execute(cx)?;
    let mut rows = Vec::new();
    if cursor.kind() == exec::StatementKind::Select {
        let mut row = Vec::new();
        while cursor.fetch(cx, &mut row)? {
            rows.push(row.clone());
        }
    }
    Ok(rows)
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

/// DBMS_JOB.SUBMIT. The job's number is the next one that nobody has.
pub fn submit(w: &mut World<'_>, job: &JobRequest) -> Result<i64> {
    // A job whose text does not compile is refused where it is submitted.
    w.core.plsql.compile_block(w, &block_text(&job.what))?;
    let rows = recursive(w.core, &mut w.cx, "select nvl(max(job), 0) from sys.job$", &[])?;
    let last = rows.first().map_or(Ok(0), |r| int(&r[0]))?;
    let n = w.core.instance.state().next_job(last as u64) as i64;
    let now = w.core.local_time().date;
    let next = job.next_date.unwrap_or(now);
    let (user, schema) = (w.cx.session.user.clone(), w.cx.session.schema.clone());
    let values = [
        number(n),
        Value::text(user.as_str()),
        Value::text(user.as_str()),
        Value::text(schema),
        Value::Date(next),
        job.interval.as_deref().map_or(Value::Null, Value::text),
        Value::text(job.what.as_str()),
    ];
    recursive(
        w.core,
        &mut w.cx,
        "insert into sys.job$ (job, lowner, powner, cowner, next_date, total, interval#, failures, flag, what) \
         values (:1, :2, :3, :4, :5, 0, :6, 0, 0, :7)",
        &values,
    )?;
    Ok(n)
}

/// The job of that number, if the user may touch it.
///
/// # Errors
/// ORA-23421 when there is no such job of the user's.
fn own_job(w: &mut World<'_>, job: i64) -> Result<Job> {
    let found = load(w.core, &mut w.cx, job)?;
    let user = &w.cx.session.user;
    found.filter(|j| j.owner == *user || w.core.is_sysdba()).ok_or_else(|| Ora::with(23421, &[&job]))
}

/// Reads a job's row.
pub fn load(core: &Core, cx: &mut ExecCtx<'_>, job: i64) -> Result<Option<Job>> {
    let sql = "select powner, what, interval# from sys.job$ where job = :1";
    let rows = recursive(core, cx, sql, &[number(job)])?;
    Ok(rows.first().map(|r| Job {
        number: job,
        owner: text(&r[0]).unwrap_or_default(),
        what: text(&r[1]).unwrap_or_default(),
        interval: text(&r[2]),
    }))
}

/// DBMS_JOB.REMOVE.
pub fn remove(w: &mut World<'_>, job: i64) -> Result<()> {
    own_job(w, job)?;
    recursive(w.core, &mut w.cx, "delete from sys.job$ where job = :1", &[number(job)])?;
    Ok(())
}

/// DBMS_JOB.CHANGE, WHAT, NEXT_DATE, INTERVAL and BROKEN.
pub fn change(w: &mut World<'_>, job: i64, change: &JobChange) -> Result<()> {
    own_job(w, job)?;
    let mut set = |column: &str, value: Value| {
        let sql = format!("update sys.job$ set {column} = :1 where job = :2");
        recursive(w.core, &mut w.cx, &sql, &[value, number(job)]).map(drop)
    };
    if let Some(what) = &change.what {
        set("what", Value::text(what.as_str()))?;
    }
    if let Some(date) = change.next_date {
        set("next_date", Value::Date(date))?;
    }
    if let Some(interval) = &change.interval {
        set("interval#", interval.as_deref().map_or(Value::Null, Value::text))?;
    }
    if let Some(broken) = change.broken {
        set("flag", number(broken.into()))?;
        if !broken {
            set("failures", number(0))?;
        }
    }
    Ok(())
}

/// DBMS_JOB.RUN: in the caller's session, now. A job that fails is counted as one that failed in the queue.
///
/// # Errors
/// ORA-12011 over the job's own error.
pub fn run_now(w: &mut World<'_>, job: i64) -> Result<()> {
    let found = own_job(w, job)?;
    execute(w, &found).map_err(|e| Ora::with(12011, &[&1]).because(e))?;
    w.commit()
}

/// The block that runs a job: its text may use JOB, NEXT_DATE and BROKEN.
fn block_text(what: &str) -> String {
    // Letter by letter as Oracle has it: SQL_IDs of jobs were published.
    format!(
        "DECLARE job BINARY_INTEGER := :job; next_date DATE := :mydate;  broken BOOLEAN := FALSE; BEGIN {what} \
         :mydate := next_date; IF broken THEN :b := 1; ELSE :b := 0; END IF; END; "
    )
}

/// Runs a job's text and brings its row up to date in the same transaction. The caller commits.
///
/// # Errors
/// The job's own; the transaction is then to be rolled back.
pub fn execute(w: &mut World<'_>, job: &Job) -> Result<()> {
    let started = os::clock::now_ns();
    // The interval is evaluated before the job runs, as its documentation says.
    let next = match &job.interval {
        Some(i) => {
            recursive(w.core, &mut w.cx, &format!("select {i} from sys.dual"), &[])?.first().map(|r| r[0].clone())
        }
        None => None,
    };
    let next = next.unwrap_or(Value::Null);
    let open = blocks::open(w, &block_text(&job.what), StatementKind::PLSQL_EXECUTE)?;
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
