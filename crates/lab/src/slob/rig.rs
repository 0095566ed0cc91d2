//! Users with a table each, sessions that read and change them together, and two snapshots taken by a session.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use client::{Bind, Client, ClientResult, Credentials};
use types::{DataType, Number, Value};

use crate::error::LabError;

const SETUP: &str = include_str!("../../../../experiments/slob/setup.sql");
const WORKER: &str = include_str!("../../../../experiments/slob/worker.sql");

/// Target duration of a worker's call; between its calls it checks whether to end.
const CALL_S: f64 = 0.1;

/// Opens sessions of the running instance.
pub trait Instance: Sync {
    /// # Errors
    /// As [`Client::connect`].
    fn connect(&self, credentials: &Credentials) -> ClientResult<Client>;
}

impl Instance for crate::torture::Place {
    fn connect(&self, credentials: &Credentials) -> ClientResult<Client> {
        Client::connect(self.dir(), credentials)
    }
}

impl Instance for client::Ephemeral {
    fn connect(&self, credentials: &Credentials) -> ClientResult<Client> {
        client::Ephemeral::connect(self, credentials)
    }
}

/// Tables of one size: users `NAME1` to `NAMEn`, each with `cf1`.
#[derive(Clone, Debug)]
pub struct Tables {
    pub name: String,
    pub users: u32,
    pub rows: u64,
}

impl Tables {
    /// The name of a user, who owns one table.
    pub fn user(&self, number: u32) -> String {
        format!("{}{number}", self.name)
    }

    /// Creates the users and their tables.
    ///
    /// # Errors
    /// The error of a statement, with its text.
    pub fn make(&self, session: &mut Client) -> Result<(), LabError> {
        let statements = shell::split_script(SETUP);
        let (seed, each) = statements.split_at(1);
        let text = |statement: &str, user: &str| {
            statement.replace("&rows", &self.rows.to_string()).replace("&user.", user).replace("&user", user)
        };
        let mut run = |sql: &str| {
            let ran = session.execute(sql, &[]).map(drop);
            ran.map_err(|e| LabError::new(format!("{e}\nin the set-up's statement\n{sql}")))
        };
        run(&text(&seed[0], ""))?;
        for user in 1..=self.users {
            each.iter().try_for_each(|statement| run(&text(statement, &self.user(user))))?;
        }
        run("drop table slob_seed")
    }
}

/// The work of the sessions of a round.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Sessions that read, and sessions that only update.
    pub readers: u32,
    pub writers: u32,
    /// Percent of the readers' executions that update the rows instead.
    pub update_pct: f64,
    /// Percent of the executions on the first `hot_rows` rows.
    pub hot_pct: f64,
    pub hot_rows: u64,
    /// Think time after each execution, in seconds.
    pub think_s: f64,
}

/// The duration of a round, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// From the common start to the first snapshot.
    pub warm_up_s: f64,
    /// Between the snapshots.
    pub interval_s: f64,
}

/// The difference of the two snapshots.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// Logical reads of the instance.
    pub logical_reads: u64,
    pub physical_reads: u64,
    /// Executions, as counted by the workers.
    pub executions: u64,
    /// Processor time of all sessions in seconds.
    pub cpu_s: f64,
    pub seconds: f64,
}

impl Round {
    pub fn reads_per_s(&self) -> f64 {
        self.logical_reads as f64 / self.seconds.max(1e-9)
    }
}

/// One worker, connected and warmed up.
struct Worker {
    session: Client,
    binds: Vec<Bind>,
    executions: u64,
}

fn number(n: f64) -> Value {
    Value::Number(Number::from_f64(n).unwrap_or(Number::ZERO))
}

impl Worker {
    fn connect(instance: &dyn Instance, tables: &Tables, work: &Work, place: u32) -> Result<Worker, LabError> {
        let user = tables.user(place % tables.users + 1);
        let mut session = instance.connect(&Credentials::password(&user, &user))?;
        let update_pct = if place >= work.readers { 100.0 } else { work.update_pct };
        let figures = [
            ("executions", 0.0),
            ("row_count", tables.rows as f64),
            ("hot_pct", work.hot_pct),
            ("hot_rows", work.hot_rows.min(tables.rows) as f64),
            ("update_pct", update_pct),
            ("think_s", work.think_s),
        ];
        let binds = figures.map(|(name, n)| Bind::named(name, DataType::NUMBER, number(n))).to_vec();
        session.execute(&format!("begin dbms_random.seed({}); end;", place + 1), &[])?;
        // Reads every block of the table and of the index once.
        for sql in ["select count(c20) from cf1", "select /*+ index(cf1 i_cf1) */ count(c20) from cf1 where custid > 0"]
        {
            session.query(sql, &[]).and_then(|rows| rows.all())?;
        }
        let mut worker = Worker { session, binds, executions: 8 };
        worker.calibrate(work.think_s)?;
        Ok(worker)
    }

    fn call(&mut self, executions: u64) -> Result<(), LabError> {
        self.binds[0].value = Value::Number(Number::from_u64(executions));
        self.session.execute(WORKER, &self.binds).map(drop).map_err(|e| LabError::new(format!("{e}\nin the worker")))
    }

    /// Finds the number of executions for a call.
    fn calibrate(&mut self, think_s: f64) -> Result<(), LabError> {
        if think_s > 0.0 {
            self.executions = ((CALL_S / think_s) as u64).max(1);
            return self.call(1);
        }
        self.call(8)?;
        let began = Instant::now();
        self.call(32)?;
        let each = began.elapsed().as_secs_f64() / 32.0;
        self.executions = ((CALL_S / each.max(1e-9)) as u64).clamp(1, 100_000);
        Ok(())
    }
}

/// Called between the snapshots.
pub type Meanwhile<'a> = &'a mut dyn FnMut(&mut Client) -> Result<(), LabError>;

/// Runs a round: all workers are connected and warmed up before they start together; one session, connected with them,
/// takes two snapshots. `meanwhile` is called between the snapshots with a session of its own.
///
/// # Errors
/// The error of a session or statement.
pub fn round(
    instance: &dyn Instance,
    tables: &Tables,
    work: &Work,
    timing: Timing,
    meanwhile: Meanwhile<'_>,
) -> Result<Round, LabError> {
    let count = work.readers + work.writers;
    let workers: Result<Vec<Worker>, LabError> =
        (0..count).map(|place| Worker::connect(instance, tables, work, place)).collect();
    let workers = workers?;
    let mut observer = instance.connect(&Credentials::Sysdba)?;
    let mut looker = instance.connect(&Credentials::Sysdba)?;
    let start = Arc::new(Barrier::new(count as usize + 1));
    let (end, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut threads = Vec::new();
    for mut worker in workers {
        let (start, end, done) = (Arc::clone(&start), Arc::clone(&end), Arc::clone(&done));
        threads.push(std::thread::spawn(move || -> Result<(), LabError> {
            start.wait();
            while !end.load(Ordering::Relaxed) {
                let executions = worker.executions;
                worker.call(executions)?;
                done.fetch_add(executions, Ordering::Relaxed);
            }
            worker.session.logoff(true)?;
            Ok(())
        }));
    }
    start.wait();
    let measured = measure(&mut observer, &mut looker, timing, &done, meanwhile);
    end.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| LabError::new("a worker's thread panicked".into()))??;
    }
    observer.logoff(true)?;
    looker.logoff(true)?;
    measured
}

fn measure(
    observer: &mut Client,
    looker: &mut Client,
    timing: Timing,
    done: &AtomicU64,
    meanwhile: Meanwhile<'_>,
) -> Result<Round, LabError> {
    let pause = |seconds: f64| std::thread::sleep(Duration::from_secs_f64(seconds));
    let take = "begin dbms_workload_repository.create_snapshot; end;";
    pause(timing.warm_up_s);
    observer.execute(take, &[])?;
    let before = done.load(Ordering::Relaxed);
    pause(timing.interval_s / 2.0);
    let began = Instant::now();
    meanwhile(looker)?;
    pause((timing.interval_s / 2.0 - began.elapsed().as_secs_f64()).max(0.0));
    observer.execute(take, &[])?;
    let executions = done.load(Ordering::Relaxed) - before;
    Ok(Round { executions, ..between_last_snapshots(observer)? })
}

/// The difference of the last two snapshots.
fn between_last_snapshots(observer: &mut Client) -> Result<Round, LabError> {
    let last = "(select max(snap_id) from dba_hist_snapshot)";
    let times = format!(
        "select (cast(end_interval_time as date) - date '2020-01-01') * 86400 + to_number(to_char(end_interval_time, 'FF6')) / 1000000 \
         from dba_hist_snapshot where snap_id >= {last} - 1 order by snap_id"
    );
    let times = column(observer, &times)?;
    let [from, to] = times[..] else {
        return Err(LabError::new("two snapshots were taken and cannot be found".into()));
    };
    let mut added = |name: &str| -> Result<f64, LabError> {
        let sql = format!(
            "select value from dba_hist_sysstat where stat_name = '{name}' and snap_id >= {last} - 1 order by snap_id"
        );
        let ends = column(observer, &sql)?;
        Ok(ends.last().zip(ends.first()).map_or(0.0, |(last, first)| last - first))
    };
    Ok(Round {
        logical_reads: added("session logical reads")? as u64,
        physical_reads: added("physical reads")? as u64,
        executions: 0,
        cpu_s: added("CPU used by this session")? / 100.0,
        seconds: to - from,
    })
}

/// The first column of a query's rows.
pub fn column(session: &mut Client, sql: &str) -> Result<Vec<f64>, LabError> {
    let rows = session.query(sql, &[]).and_then(|q| q.all());
    let rows = rows.map_err(|e| LabError::new(format!("{e}\nin {sql}")))?;
    let real = |row: &Vec<Value>| match row.first() {
        Some(Value::Number(n)) => n.to_f64(),
        _ => 0.0,
    };
    Ok(rows.iter().map(real).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_have_the_words_that_are_filled_in() {
        let statements = shell::split_script(SETUP);
        assert!(statements.len() >= 5 && statements[0].contains("&rows") && !statements[0].contains("&user"));
        assert!(statements[1..].iter().all(|s| s.contains("&user")), "{statements:?}");
        for bind in ["executions", "row_count", "hot_pct", "hot_rows", "update_pct", "think_s"] {
            assert!(WORKER.contains(&format!(":{bind}")), "{bind}");
        }
    }
}
