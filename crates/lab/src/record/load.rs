//! Sessions that repeat the work of an experiment until they are stopped, and what is counted of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::{Client, Credentials, Ephemeral};
use latch_simulator::trace::Counted;
use types::Value;

use super::gets::{Kind, Manner, Object, Record, Waiting};
use crate::LabError;
use crate::run::execute_worker;

/// Working sessions. They stop when this is dropped.
pub struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), LabError>>>,
    pub sids: Vec<u64>,
}

impl Load {
    /// Starts sessions that call the worker with so many operations again and again.
    pub fn start(instance: &Ephemeral, worker: &str, sessions: u32, operations: u64) -> Result<Self, LabError> {
        let mut load = Self { stop: Arc::default(), threads: Vec::new(), sids: Vec::new() };
        let mut clients = Vec::new();
        for _ in 0..sessions {
            let mut client = instance.connect(&Credentials::Sysdba)?;
            let sid = number(&first(&mut client, "select sys_context('userenv', 'sid') from dual")?[0]);
            load.sids.push(sid as u64);
            execute_worker(&mut client, worker, 0)?;
            clients.push(client);
        }
        for mut client in clients {
            let (stop, worker) = (Arc::clone(&load.stop), worker.to_owned());
            load.threads.push(std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    execute_worker(&mut client, &worker, operations)?;
                }
                client.logoff(true).map_err(LabError::from)
            }));
        }
        Ok(load)
    }

    /// Stops the sessions.
    ///
    /// # Errors
    /// The first error of a session.
    pub fn stop(mut self) -> Result<(), LabError> {
        self.stop.store(true, Ordering::Relaxed);
        let ended: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        let panicked = |_| Err(LabError::new("a worker's thread panicked".into()));
        ended.into_iter().try_for_each(|outcome| outcome.unwrap_or_else(panicked))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The first row of a query.
pub fn first(client: &mut Client, sql: &str) -> Result<Vec<Value>, LabError> {
    let rows = client.query(sql, &[])?.all()?;
    rows.into_iter().next().ok_or_else(|| LabError::new(format!("no row: {sql}")))
}

pub fn number(value: &Value) -> f64 {
    match value {
        Value::Number(n) => n.to_f64(),
        Value::Text(text) => text.parse().unwrap_or(0.0),
        _ => 0.0,
    }
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

fn list(sids: &[u64]) -> String {
    sids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// The instance's counts of some sessions, at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    now_ns: f64,
    executions: f64,
    cpu_ns: f64,
    misses: f64,
    sleeps: f64,
    /// A sum that another session, or another one with the same number, would change.
    who: f64,
}

/// The work of some sessions between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Executions, which are the calls of a recording.
    pub calls: f64,
    pub seconds: f64,
    /// Processor time of a call.
    pub cpu_ns: f64,
    /// Misses of latches, mutexes and versioned reads.
    pub misses: f64,
    pub sleeps: f64,
}

impl Counts {
    pub fn read(observer: &mut Client, sids: &[u64]) -> Result<Self, LabError> {
        let sql = format!(
            "select max(now_ns), sum(executions), sum(cpu_ns), sum(latch_misses), sum(latch_sleeps), \
             sum(sid * 1000003 + serial#) from x$kslwork where sid in ({})",
            list(sids)
        );
        let row = first(observer, &sql)?;
        let of = |n: usize| number(&row[n]);
        Ok(Self { now_ns: of(0), executions: of(1), cpu_ns: of(2), misses: of(3), sleeps: of(4), who: of(5) })
    }

    pub fn since(&self, before: &Self) -> Result<Work, LabError> {
        if self.who != before.who {
            return Err(LabError::new("a session has ended while it was counted: record again".into()));
        }
        let calls = self.executions - before.executions;
        let seconds = (self.now_ns - before.now_ns) / 1e9;
        if calls < 1.0 || seconds <= 0.0 {
            return Err(LabError::new("the sessions have executed nothing while they were counted".into()));
        }
        Ok(Work {
            calls,
            seconds,
            cpu_ns: (self.cpu_ns - before.cpu_ns) / calls,
            misses: self.misses - before.misses,
            sleeps: self.sleeps - before.sleeps,
        })
    }
}

impl Work {
    pub fn rate(&self) -> f64 {
        self.calls / self.seconds
    }

    /// Misses a get of calls with so many gets. Gets are known from the recorded calls alone: where those have none,
    /// the misses are of gets that no recorded call has, and where they have fewer gets than misses, all of them
    /// missed.
    pub fn miss_rate(&self, gets: f64) -> f64 {
        let gets = self.calls * gets;
        if gets > 0.0 { (self.misses / gets).min(1.0) } else { 0.0 }
    }

    /// As a trace has it.
    pub fn counted(&self, sessions: u32, gets: f64) -> Counted {
        let sleep_rate = if self.misses > 0.0 { self.sleeps / self.misses } else { 0.0 };
        let (rate, miss_rate) = (self.rate(), self.miss_rate(gets));
        Counted { sessions, rate, miss_rate, sleep_rate, cpu_ns: self.cpu_ns }
    }
}

/// The sessions among these that execute within a time.
pub fn busy(observer: &mut Client, sids: &[u64], time: Duration) -> Result<Vec<u64>, LabError> {
    let sql = format!("select sid, serial#, executions from x$kslwork where sid in ({})", list(sids));
    let mut read = || -> Result<Vec<[f64; 3]>, LabError> {
        let rows = observer.query(&sql, &[])?.all()?;
        Ok(rows.iter().map(|row| [number(&row[0]), number(&row[1]), number(&row[2])]).collect())
    };
    let before = read()?;
    std::thread::sleep(time);
    let grew = |now: &&[f64; 3]| before.iter().any(|was| was[..2] == now[..2] && was[2] < now[2]);
    Ok(read()?.iter().filter(grew).map(|row| row[0] as u64).collect())
}

/// Counts the work of sessions for a time, without a recording.
pub fn count(observer: &mut Client, sids: &[u64], time: Duration) -> Result<Work, LabError> {
    let before = Counts::read(observer, sids)?;
    std::thread::sleep(time);
    Counts::read(observer, sids)?.since(&before)
}

/// The yield of a recording.
#[derive(Debug, Default)]
pub struct Recorded {
    pub records: Vec<Record>,
    /// Calls that were sampled, and those of them whose end is among the records.
    pub sampled: u64,
    pub whole: u64,
    /// Recordings made.
    pub rounds: u32,
    /// The counts from the begin of the first recording to the end of the last.
    pub work: Work,
}

/// Switches the recording; the statement is for this instance's life only.
pub fn switch(observer: &mut Client, every: u32) -> Result<(), LabError> {
    observer.execute(&format!("alter system set \"_latch_recording\" = {every} scope = memory"), &[])?;
    Ok(())
}

/// Calls that begin within this time are sampled, when all are; then the rings are emptied. Rounds of fewer calls are
/// longer: they fill the rings more slowly, and the first sampled call of a round finds its ring in no cache.
const ROUND: Duration = Duration::from_millis(25);
/// The longest round is so many times as long.
const LONGEST: u32 = 8;
/// So long, after the time of a recording is over, the ends of its calls are waited for.
const LATE: Duration = Duration::from_secs(10);

/// Records the calls of sessions until the time is over or so many calls are there: in rounds, because a ring is filled
/// once.
///
/// A round ends when the calls that were sampled in it have ended, however long they are: a recording without its long
/// calls would be that of another load. A call whose session is idle has no end before the session's next execution; so
/// the wait ends with the time of the recording, and what has no end then is missing.
pub fn record(
    observer: &mut Client,
    sids: &[u64],
    every: u32,
    time: Duration,
    calls: usize,
) -> Result<Recorded, LabError> {
    let which = format!("sid in ({})", list(sids));
    let (began, mut out) = (Instant::now(), Recorded::default());
    let before = Counts::read(observer, sids)?;
    while out.rounds == 0 || began.elapsed() < time && out.whole < calls as u64 {
        switch(observer, every)?;
        std::thread::sleep(ROUND * (every / 64).clamp(1, LONGEST));
        switch(observer, 0)?;
        out.sampled += until_ended(observer, &which, began + time + LATE)?;
        let sql = format!(
            "select sid, kind, name, object, place, get_mode, changes, begin_ns, length_ns, spun, slept, last_holder, \
             preempted from x$ksl_recorded_get where {which} order by sid, indx"
        );
        let at = out.records.len();
        for row in observer.query(&sql, &[])?.all()? {
            out.records.push(record_of(&row, out.rounds));
        }
        // No other recording began while these records were read.
        until_ended(observer, &which, began)?;
        out.whole += out.records[at..].iter().filter(|record| record.kind == Kind::End).count() as u64;
        out.rounds += 1;
    }
    out.work = Counts::read(observer, sids)?.since(&before)?;
    Ok(out)
}

/// Waits until no sampled call is open; returns the number of sampled calls.
///
/// # Errors
/// Another session has begun a recording: its records are in the rings.
fn until_ended(observer: &mut Client, which: &str, most: Instant) -> Result<u64, LabError> {
    let sql = format!("select sum(open_calls), sum(sampled_calls), max(running) from v$latch_recording where {which}");
    loop {
        let row = first(observer, &sql)?;
        if text(&row[2]) == "YES" {
            return Err(LabError::new("another session records the gets of this instance: record again later".into()));
        }
        if number(&row[0]) == 0.0 || Instant::now() > most {
            return Ok(number(&row[1]) as u64);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A row of the view. Each round has sessions of its own: a call does not go on in the next round.
fn record_of(row: &[Value], round: u32) -> Record {
    let mode = text(&row[5]);
    let is_touch = matches!(mode, "READ" | "REFERENCE");
    Record {
        sid: u64::from(round) << 32 | number(&row[0]) as u64,
        kind: match text(&row[1]) {
            "CALL" => Kind::Call,
            "END" => Kind::End,
            _ => Kind::Get,
        },
        object: Object {
            name: text(&row[2]).to_owned(),
            number: number(&row[3]) as u64,
            is_mutex: mode.starts_with("MUTEX") || mode == "REFERENCE",
        },
        place: number(&row[4]) as u16,
        manner: match mode {
            "SHARED" | "MUTEX SHARED" | "REFERENCE" => Manner::Shared,
            "READ" => Manner::Read,
            _ => Manner::Exclusive,
        },
        changes: number(&row[6]) != 0.0,
        begin_ns: number(&row[7]),
        length_ns: number(&row[8]),
        spun: number(&row[9]) != 0.0,
        slept: number(&row[10]) != 0.0,
        is_touch,
        other: match text(&row[11]) {
            "OTHER" => Some(true),
            "SAME" => Some(false),
            _ => None,
        },
        preempted: number(&row[12]) as u64,
    }
}

/// How the instance's sessions wait for latches and mutexes.
pub fn waiting(observer: &mut Client) -> Result<Waiting, LabError> {
    let of = |name: &str| format!("select value from v$parameter where name = '{name}'");
    let generation = text(&first(observer, &of("latch_generation"))?[0]).to_owned();
    let read = |observer: &mut Client, name: &str| -> Result<Option<Value>, LabError> {
        let sql = format!("select ksppstvl, ksppstdf from x$ksppi where ksppinm = '{name}'");
        let row = first(observer, &sql)?;
        Ok((text(&row[1]) != "TRUE").then(|| row[0].clone()))
    };
    // Up to 11.1 a waiter for a mutex yields, unless the parameter is set.
    let yields = crate::results::generation_order(&generation) <= crate::results::generation_order("11.1");
    let scheme = read(observer, "_mutex_wait_scheme")?.map(|value| number(&value) as u32);
    let sleep = read(observer, "_latch_sleep")?.map(|value| text(&value).to_owned());
    Ok(Waiting {
        mutex_scheme: scheme.unwrap_or(if yields { 0 } else { 2 }),
        back_off: sleep.filter(|word| !word.is_empty()).map_or(generation == "8.1.7", |word| word == "backoff"),
    })
}
