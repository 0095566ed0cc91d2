//! DBMS_JOB.

use super::args::Args;
use super::package::*;
use crate::requests::{JobChange, JobRequest};
use crate::world::World;
use types::Date;

package! {
    "DBMS_JOB",
    "package dbms_job is
       any_instance constant binary_integer := 0;
       procedure submit(job out binary_integer, what varchar2, next_date date default sysdate,
         interval varchar2 default 'null', no_parse boolean default false,
         instance binary_integer default 0, force boolean default false);
       procedure remove(job binary_integer);
       procedure change(job binary_integer, what varchar2, next_date date, interval varchar2,
         instance binary_integer default null, force boolean default false);
       procedure what(job binary_integer, what varchar2);
       procedure next_date(job binary_integer, next_date date);
       procedure interval(job binary_integer, interval varchar2);
       procedure broken(job binary_integer, broken boolean, next_date date default sysdate);
       procedure run(job binary_integer, force boolean default false);
     end;";
    "SUBMIT" 1 => submit,
    "REMOVE" 1 => remove,
    "CHANGE" 1 => change,
    "WHAT" 1 => what,
    "NEXT_DATE" 1 => next_date,
    "INTERVAL" 1 => interval,
    "BROKEN" 1 => broken,
    "RUN" 1 => run,
}

fn submit<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let job = JobRequest {
        what: c.a.text(1).to_string(),
        next_date: date(c.a.value(2)),
        interval: once(c.a.optional_text(3)),
        instance: c.a.integer(5).unwrap_or(0),
    };
    if job.what.trim().is_empty() {
        return Err(Ora::new(23319).into());
    }
    let id = c.w.job_submit(&job)?;
    c.a.set(0, number(id));
    Ok(())
}

fn remove<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.job_remove(job(&c.a)?)?;
    Ok(())
}

fn change<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let change = JobChange {
        what: c.a.optional_text(1),
        next_date: date(c.a.value(2)),
        interval: c.a.optional_text(3).map(|i| once(Some(i))),
        broken: None,
    };
    c.w.job_change(job(&c.a)?, &change)?;
    Ok(())
}

fn what<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let change = JobChange { what: c.a.optional_text(1), ..JobChange::default() };
    c.w.job_change(job(&c.a)?, &change)?;
    Ok(())
}

fn next_date<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let change = JobChange { next_date: date(c.a.value(1)), ..JobChange::default() };
    c.w.job_change(job(&c.a)?, &change)?;
    Ok(())
}

fn interval<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let change = JobChange { interval: Some(once(c.a.optional_text(1))), ..JobChange::default() };
    c.w.job_change(job(&c.a)?, &change)?;
    Ok(())
}

fn broken<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let change = JobChange { broken: Some(c.a.flag(1)), next_date: date(c.a.value(2)), ..JobChange::default() };
    c.w.job_change(job(&c.a)?, &change)?;
    Ok(())
}

fn run<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.job_run(job(&c.a)?)?;
    Ok(())
}

fn job(a: &Args<'_>) -> Run<i64> {
    a.integer(0).ok_or_else(|| Ora::with(23421, &[&""]).into())
}

fn date(v: &Value) -> Option<Date> {
    match v {
        Value::Date(d) => Some(*d),
        _ => None,
    }
}

/// The interval `null` runs a job once.
fn once(text: Option<String>) -> Option<String> {
    text.filter(|t| !t.trim().is_empty() && !t.trim().eq_ignore_ascii_case("null"))
}
