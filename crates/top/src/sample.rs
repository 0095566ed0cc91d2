//! The result of one reading of an instance: counters as in the views, and probes of the activity.
//!
//! A [`Snapshot`] has totals since the instance started, never differences: the model subtracts. So a file of snapshots
//! can be replayed with any window, and a lost snapshot costs only resolution. Times are microseconds; a field on the
//! observer's clock says so in its name.

use serde::{Deserialize, Serialize};

/// One reading of an instance: probes spread over the interval, and the counters at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Milliseconds since 1970 on the observer's clock.
    pub wall_ms: u64,
    /// Microseconds of a monotonic clock; only differences have a meaning.
    pub clock_us: u64,
    pub facts: Facts,
    pub probes: Vec<Probe>,
    /// Every session at the end of the interval, except the observer's own.
    pub sessions: Vec<Session>,
    pub db_time_us: u64,
    pub db_cpu_us: u64,
    pub events: Vec<EventCount>,
    pub latches: Vec<LatchCount>,
    pub mutexes: Vec<MutexCount>,
    /// Statements that were active recently.
    pub statements: Vec<StatementCount>,
    /// Totals by name, without the observer's own share.
    pub figures: Vec<(String, u64)>,
    /// The designs in force.
    #[serde(default)]
    pub designs: Vec<DesignNow>,
    /// The states of runs of `lab switchback`, by their sessions.
    #[serde(default)]
    pub comparisons: Vec<Comparison>,
    /// Texts of new statements: SQL_ID and the first characters.
    pub texts: Vec<(String, String)>,
    /// Names of new objects.
    pub objects: Vec<(u64, String)>,
    pub details: Vec<Detail>,
}

/// The design in force of a structure that can be switched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesignNow {
    pub structure: String,
    pub design: String,
}

/// A run of `lab switchback`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    pub sid: u64,
    pub structure: String,
    /// The estimate so far.
    pub so_far: String,
}

/// The name of a structure's switches among the figures.
pub fn switches_of(structure: &str) -> String {
    format!("design switches: {structure}")
}

/// Facts that do not change while an instance runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub instance: String,
    pub host: String,
    pub database: String,
    pub version: String,
    pub generation: String,
    /// `YYYY-MM-DD HH24:MI:SS`; another value means that the counters started again.
    pub started: String,
    pub up_seconds: u64,
    pub cpus: u64,
    pub sga_bytes: u64,
}

/// One look at active sessions and held latches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub active: Vec<Active>,
    pub holds: Vec<Hold>,
}

/// A session that works or waits for something that is not idle.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Active {
    pub sid: u64,
    pub serial: u64,
    pub background: bool,
    /// Empty on CPU.
    pub event: String,
    /// `CPU` on CPU.
    pub class: String,
    pub sql_id: String,
}

/// A held latch.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hold {
    pub latch: String,
    pub sid: u64,
    pub mode: String,
    pub place: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub sid: u64,
    pub serial: u64,
    pub user: String,
    pub background: bool,
    pub status: String,
    pub program: String,
    pub machine: String,
    pub os_user: String,
    pub module: String,
    pub action: String,
    pub sql_id: String,
    pub previous_sql_id: String,
    pub event: String,
    pub class: String,
    /// Whether the wait is in progress; otherwise `event` is the last one.
    pub waiting: bool,
    pub wait_us: u64,
    /// P1, P2 and P3 with their names.
    pub parameters: Vec<(String, u64)>,
    pub blocker: Option<u64>,
    pub object: Option<u64>,
    pub since_call_s: u64,
    pub logon: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCount {
    pub name: String,
    pub class: String,
    pub waits: u64,
    pub time_us: u64,
    /// Waits of users' sessions.
    pub waits_fg: u64,
    pub time_us_fg: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatchCount {
    pub name: String,
    pub gets: u64,
    pub misses: u64,
    pub sleeps: u64,
    pub spin_gets: u64,
    pub immediate_gets: u64,
    pub immediate_misses: u64,
    pub wait_us: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutexCount {
    pub kind: String,
    pub place: String,
    pub sleeps: u64,
    pub wait_us: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementCount {
    pub sql_id: String,
    pub executions: u64,
    pub elapsed_us: u64,
    pub cpu_us: u64,
    pub gets: u64,
    pub reads: u64,
    pub rows: u64,
}

/// A detail that is read only while a viewer shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Wanted {
    /// The children of a latch, and the places of its waits.
    Latch(String),
    /// The full text of a statement, its cursors and plan.
    Statement(String),
    /// The durations of an event's waits.
    Event(String),
    /// A session's waits since it logged on, and the last ones.
    Session(u64, u64),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    pub wanted: Wanted,
    pub found: Found,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Found {
    Latch {
        children: Vec<ChildCount>,
        places: Vec<PlaceCount>,
    },
    Statement {
        text: String,
        cursors: Vec<CursorFacts>,
        plan: Vec<PlanLine>,
    },
    /// Upper bound of a bucket in microseconds, and waits in it.
    Event {
        buckets: Vec<(u64, u64)>,
    },
    /// Waits by event, and the last ones, the latest first.
    Session {
        events: Vec<EventCount>,
        last: Vec<LastWait>,
    },
    /// The requested object does not exist any more.
    Gone,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildCount {
    /// 0 for the latch itself.
    pub child: u64,
    pub address: String,
    pub gets: u64,
    pub misses: u64,
    pub sleeps: u64,
    pub spin_gets: u64,
    pub wait_us: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceCount {
    pub place: String,
    pub sleeps: u64,
    pub waiter_sleeps: u64,
    pub no_wait_misses: u64,
    pub long_holds: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorFacts {
    pub child: u64,
    pub plan_hash: u64,
    pub schema: String,
    pub module: String,
    pub executions: u64,
    pub loads: u64,
    pub invalidations: u64,
    pub elapsed_us: u64,
    pub gets: u64,
    pub users_executing: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanLine {
    pub child: u64,
    pub id: u64,
    pub depth: u64,
    pub operation: String,
    pub object: String,
    pub rows: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWait {
    pub event: String,
    pub wait_us: u64,
    pub gap_us: u64,
    pub parameters: Vec<(String, u64)>,
}
