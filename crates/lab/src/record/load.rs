//! Sessions that repeat the work of an experiment until they are stopped, and what is counted of them.

use std::collections::BTreeMap;
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

/// What is counted exactly at one moment.
#[derive(Clone, Debug)]
pub struct Counts {
    at: Instant,
    executions: f64,
    cpu_us: f64,
    /// Gets, misses and sleeps of all latches, by name.
    latches: BTreeMap<String, [f64; 3]>,
    mutex_sleeps: f64,
}

/// Executions and processor time in microseconds of these sessions.
pub fn work_of(observer: &mut Client, sids: &[u64]) -> Result<(Instant, f64, f64), LabError> {
    let sids = list(sids);
    let sql = format!(
        "select (select sum(s.value) from v$sesstat s, v$statname n where s.statistic# = n.statistic# and \
         n.name = 'execute count' and s.sid in ({sids})), (select sum(value) from v$sess_time_model where \
         stat_name = 'DB CPU' and sid in ({sids})) from dual"
    );
    let row = first(observer, &sql)?;
    Ok((Instant::now(), number(&row[0]), number(&row[1])))
}

impl Counts {
    pub fn read(observer: &mut Client, sids: &[u64]) -> Result<Self, LabError> {
        let mut latches = BTreeMap::new();
        for row in observer.query("select name, gets, misses, sleeps from v$latch where gets > 0", &[])?.all()? {
            latches.insert(text(&row[0]).to_owned(), [number(&row[1]), number(&row[2]), number(&row[3])]);
        }
        let mutex_sleeps = number(&first(observer, "select nvl(sum(sleeps), 0) from v$mutex_sleep")?[0]);
        let (at, executions, cpu_us) = work_of(observer, sids)?;
        Ok(Self { at, executions, cpu_us, latches, mutex_sleeps })
    }

    /// What was counted since `before`, as a trace has it.
    pub fn since(&self, before: &Self, sessions: u32) -> Result<Counted, LabError> {
        let calls = self.executions - before.executions;
        let seconds = (self.at - before.at).as_secs_f64();
        if calls < 1.0 {
            return Err(LabError::new("the sessions have executed nothing while they were counted".into()));
        }
        let sum = |n: usize| {
            let of = |(name, now): (&String, &[f64; 3])| now[n] - before.latches.get(name).map_or(0.0, |was| was[n]);
            self.latches.iter().map(of).sum::<f64>().max(0.0)
        };
        let (gets, misses) = (sum(0), sum(1));
        let sleeps = sum(2) + (self.mutex_sleeps - before.mutex_sleeps).max(0.0);
        Ok(Counted {
            sessions,
            rate: calls / seconds.max(1e-6),
            miss_rate: (misses / gets.max(1.0)).min(1.0),
            sleep_rate: sleeps / misses.max(1.0),
            cpu_ns: (self.cpu_us - before.cpu_us).max(0.0) * 1e3 / calls,
        })
    }
}

/// Counts the work of sessions for a time, without a recording.
pub fn count(observer: &mut Client, sids: &[u64], time: Duration) -> Result<Counted, LabError> {
    let before = Counts::read(observer, sids)?;
    std::thread::sleep(time);
    Counts::read(observer, sids)?.since(&before, sids.len() as u32)
}

/// What a recording has brought.
#[derive(Debug, Default)]
pub struct Recorded {
    pub records: Vec<Record>,
    /// Records that did not fit their rings.
    pub lost: u64,
    /// Recordings made.
    pub rounds: u32,
}

/// Switches the recording; the statement is for this instance's life only.
pub fn switch(observer: &mut Client, every: u32) -> Result<(), LabError> {
    observer.execute(&format!("alter system set \"_latch_recording\" = {every} scope = memory"), &[])?;
    Ok(())
}

/// A recording lasts so long; then its rings are emptied.
const ROUND: Duration = Duration::from_millis(25);

/// Records the calls of sessions until the time is over or so many calls are there: in rounds, because a ring is filled
/// once. No session records while the rings are read.
pub fn record(
    observer: &mut Client,
    sids: &[u64],
    every: u32,
    time: Duration,
    calls: usize,
) -> Result<Recorded, LabError> {
    let which = format!("sid in ({})", list(sids));
    let (began, mut out, mut found) = (Instant::now(), Recorded::default(), 0);
    while out.rounds == 0 || began.elapsed() < time && found < calls {
        switch(observer, every)?;
        std::thread::sleep(ROUND);
        switch(observer, 0)?;
        let sql = format!(
            "select sid, kind, name, object, place, get_mode, changes, begin_ns, length_ns, spun, slept, last_holder \
             from x$ksl_recorded_get where {which}"
        );
        let before = out.records.len();
        for row in observer.query(&sql, &[])?.all()? {
            out.records.push(record_of(&row, out.rounds));
        }
        found += out.records[before..].iter().filter(|record| record.kind == Kind::End).count();
        let sql = format!("select nvl(sum(lost_records), 0) from v$latch_recording where {which}");
        out.lost += number(&first(observer, &sql)?[0]) as u64;
        out.rounds += 1;
    }
    Ok(out)
}

/// A row of the view. Each round has sessions of its own: a call does not go on in the next round.
fn record_of(row: &[Value], round: u32) -> Record {
    let mode = text(&row[5]);
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
        other: text(&row[11]) == "OTHER",
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
