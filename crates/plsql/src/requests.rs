//! Requests of the built-in packages to the instance.

use types::{Date, Timestamp, Value};

/// A change of an application context: one value, or without a name those of the whole namespace.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextChange<'a> {
    pub namespace: &'a str,
    pub name: Option<&'a str>,
    /// Without a value the old one is deleted.
    pub value: Option<&'a str>,
    /// The user and the client identifier of the sessions that see the value of a context that is accessed globally.
    pub user: Option<&'a str>,
    pub client: Option<&'a str>,
    /// Owners and names of the units on the call stack.
    pub callers: &'a [(String, String)],
}

/// A job of DBMS_JOB.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRequest {
    pub what: String,
    /// `None`: at once.
    pub next_date: Option<Date>,
    pub interval: Option<String>,
    pub instance: i64,
}

/// The changes of a job by DBMS_JOB; `None` leaves a value unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobChange {
    pub what: Option<String>,
    pub next_date: Option<Date>,
    /// `Some(None)` runs it once.
    pub interval: Option<Option<String>>,
    pub broken: Option<bool>,
}

/// A request of DBMS_AUDIT_MGMT; trails by the number of their type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AuditRequest {
    /// Deletes the rows older than the last archive timestamp, or all.
    Clean {
        trail: i64,
        only_archived: bool,
    },
    SetLast {
        trail: i64,
        at: Option<Timestamp>,
    },
    ClearLast {
        trail: i64,
    },
}

/// A request of DBMS_SHARED_POOL. Cursors are named by their full hash of 32 digits, or as `address,hash_value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedPoolRequest {
    MarkHot(String),
    UnmarkHot(String),
    Keep(String, bool),
    Purge(String),
}

/// A request of DBMS_RESULT_CACHE.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultCacheRequest {
    /// ENABLED, DISABLED, BYPASS or SYNC, as a text.
    Status,
    /// Removes everything; returns TRUE on success.
    Flush,
    Bypass(bool),
    /// Returns the number of invalidated results.
    Invalidate {
        owner: String,
        name: String,
    },
    InvalidateObject(i64),
    /// Returns the report as text: lines joined by line feeds.
    MemoryReport {
        detailed: bool,
    },
}

/// A call of DBMS_TRANSACTION for a sessionless transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionlessRequest<'a> {
    /// Begins or resumes one; returns its identifier.
    Start {
        /// Empty to make a new one.
        id: &'a [u8],
        kind: i64,
        timeout_s: i64,
        flag: i64,
    },
    Suspend,
    /// The identifier of the session's present one.
    Id,
}

/// A call of DBMS_XA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XaRequest {
    Start {
        flags: i64,
    },
    End {
        flags: i64,
    },
    Prepare,
    Commit {
        one_phase: bool,
    },
    Rollback,
    Forget,
    /// Seconds.
    SetTimeout(i64),
    /// The number of the last error.
    LastError,
}

/// A call of DBMS_WORKLOAD_REPOSITORY.
#[derive(Clone, Debug)]
pub enum RepositoryRequest {
    /// MODIFY_SNAPSHOT_SETTINGS: minutes, and the number of top statements.
    Settings {
        retention: Option<i64>,
        interval: Option<i64>,
        top: Option<i64>,
    },
    DropSnapshots {
        low: i64,
        high: i64,
    },
    /// Returns the baseline's number.
    CreateBaseline {
        begin: i64,
        end: i64,
        name: String,
    },
    /// `cascade`: including its snapshots.
    DropBaseline {
        name: String,
        cascade: bool,
    },
    /// AWR_REPORT_TEXT and AWR_REPORT_HTML.
    Report {
        begin: i64,
        end: i64,
        html: bool,
    },
    /// ASH_REPORT_TEXT and ASH_REPORT_HTML: the period, and patterns of the selection; 1 for samples of memory only, 2
    /// for those of disk.
    Ash {
        begin: Value,
        end: Value,
        sid: Option<i64>,
        sql_id: Option<String>,
        wait_class: Option<String>,
        module: Option<String>,
        action: Option<String>,
        client: Option<String>,
        source: i64,
        html: bool,
    },
    /// AWR_DIFF_REPORT_TEXT and AWR_DIFF_REPORT_HTML: both periods, begin and end.
    Compare {
        first: (i64, i64),
        second: (i64, i64),
        html: bool,
    },
}

/// A call of DBMS_CONNECTION_POOL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPoolRequest<'a> {
    Start,
    Stop,
    /// CONFIGURE_POOL: MINSIZE, MAXSIZE, INCRSIZE, SESSION_CACHED_CURSORS, INACTIVITY_TIMEOUT, MAX_THINK_TIME,
    /// MAX_USE_SESSION, MAX_LIFETIME_SESSION and MAX_TXN_THINK_TIME.
    Configure([Option<i64>; 9]),
    /// ALTER_PARAM.
    Alter {
        name: &'a str,
        value: &'a str,
    },
    RestoreDefaults,
}

/// A call of DBMS_FLASHBACK.
#[derive(Clone, Debug)]
pub enum FlashbackRequest {
    CurrentScn,
    /// Queries read as of an SCN, or of a time.
    Enable(Value),
    Disable,
}

/// When a job of DBMS_SCHEDULER runs. The dates are timestamps with time zone, or NULL.
#[derive(Clone, Debug, Default)]
pub struct JobTimes {
    pub start: Value,
    pub repeat: Option<String>,
    pub end: Value,
}

/// CREATE_JOB of DBMS_SCHEDULER.
#[derive(Clone, Debug, Default)]
pub struct NewJob {
    pub name: String,
    /// Instead of the type, the action and the number of arguments.
    pub program: Option<String>,
    pub kind: String,
    pub action: String,
    pub arguments: i64,
    /// Instead of the times.
    pub schedule: Option<String>,
    pub times: JobTimes,
    pub class: String,
    pub enabled: bool,
    pub auto_drop: bool,
    pub comments: Option<String>,
}

/// The kinds of objects of DBMS_SCHEDULER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerKind {
    Job,
    Program,
    Schedule,
}

/// An argument of a program or a job: its position or its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentPlace {
    Position(i64),
    Name(String),
}

/// A call of DBMS_SCHEDULER. Names are as the caller wrote them; `names` are lists separated by commas.
#[derive(Clone, Debug)]
pub enum SchedulerRequest {
    CreateJob(Box<NewJob>),
    CreateProgram {
        name: String,
        kind: String,
        action: String,
        arguments: i64,
        enabled: bool,
        comments: Option<String>,
    },
    CreateSchedule {
        name: String,
        times: JobTimes,
        comments: Option<String>,
    },
    /// Without a default, a job has to give the argument a value.
    DefineArgument {
        program: String,
        position: i64,
        argument: Option<String>,
        kind: String,
        default: Option<Value>,
    },
    DropArgument {
        program: String,
        place: ArgumentPlace,
    },
    /// `None` removes the value.
    SetArgument {
        job: String,
        place: ArgumentPlace,
        value: Option<Value>,
    },
    /// `one_unit`, here and below: COMMIT_SEMANTICS is TRANSACTIONAL.
    Enable {
        names: String,
        one_unit: bool,
    },
    Disable {
        names: String,
        force: bool,
        one_unit: bool,
    },
    /// `here`: in this session.
    Run {
        names: String,
        here: bool,
    },
    Stop {
        names: String,
        force: bool,
    },
    Drop {
        kind: SchedulerKind,
        names: String,
        force: bool,
        one_unit: bool,
    },
    SetAttribute {
        name: String,
        attribute: String,
        value: Value,
    },
    GetAttribute {
        name: String,
        attribute: String,
    },
    Copy {
        from: String,
        to: String,
    },
    /// Returns the name.
    GenerateName {
        prefix: String,
    },
    /// EVALUATE_CALENDAR_STRING: returns the next date.
    Evaluate {
        calendar: String,
        start: Value,
        after: Value,
    },
    /// Deletes the rows of the log that are older than some days.
    PurgeLog {
        days: i64,
        job: Option<String>,
    },
    /// SET_SCHEDULER_ATTRIBUTE.
    SetGlobal {
        attribute: String,
        value: Value,
    },
}

/// A call of DBMS_ALERT. Names are in upper case.
#[derive(Clone, Debug, PartialEq)]
pub enum AlertRequest {
    /// With `cleanup`, registrations of ended sessions are removed first.
    Register {
        name: String,
        cleanup: bool,
    },
    Remove(String),
    RemoveAll,
    /// It happens when the transaction commits.
    Signal {
        name: String,
        message: Option<String>,
    },
    /// Without a name, any of the session's alerts.
    Wait {
        name: Option<String>,
        timeout_s: f64,
    },
}
