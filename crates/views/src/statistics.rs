//! Statistics: `v$statname`, `v$mystat`, `v$sesstat`, `v$sysstat`, and the time model.

use params::Param;
use types::Value;
use wait::{Stat, TimeStat};

use crate::column::{Row, Type, Type::*, n, t};
use crate::source::Source;

pub const STATNAME: &[(&str, Type)] =
    &[("STATISTIC#", N), ("NAME", V(64)), ("CLASS", N), ("STAT_ID", N), ("DISPLAY_NAME", V(64))];
pub const SYSSTAT: &[(&str, Type)] = &[("STATISTIC#", N), ("NAME", V(64)), ("CLASS", N), ("VALUE", N), ("STAT_ID", N)];
pub const SESSTAT: &[(&str, Type)] = &[("SID", N), ("STATISTIC#", N), ("VALUE", N)];
pub const SYS_TIME_MODEL: &[(&str, Type)] = &[("STAT_ID", N), ("STAT_NAME", V(64)), ("VALUE", N)];
pub const SESS_TIME_MODEL: &[(&str, Type)] = &[("SID", N), ("STAT_ID", N), ("STAT_NAME", V(64)), ("VALUE", N)];
pub const OSSTAT: &[(&str, Type)] =
    &[("STAT_NAME", V(64)), ("VALUE", N), ("OSSTAT_ID", N), ("COMMENTS", V(64)), ("CUMULATIVE", V(3))];
pub const TIMER: &[(&str, Type)] = &[("HSECS", N)];

pub fn statname(_: &Source<'_>) -> Vec<Row> {
    let all = Stat::all();
    all.map(|stat| vec![n(stat.number()), t(stat.name()), n(stat.class().0), n(stat.id()), t(stat.name())]).collect()
}

pub fn sysstat(s: &Source<'_>) -> Vec<Row> {
    let values = s.processes.system_stats(s.p);
    Stat::all()
        .zip(values)
        .map(|(stat, value)| vec![n(stat.number()), t(stat.name()), n(stat.class().0), n(value), n(stat.id())])
        .collect()
}

fn of_session(s: &Source<'_>, sid: u32, rows: &mut Vec<Row>) {
    if let Some(values) = s.processes.session_stats(sid) {
        rows.extend(Stat::all().zip(values).map(|(stat, value)| vec![n(sid), n(stat.number()), n(value)]));
    }
}

pub fn mystat(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    of_session(s, s.p.sid(), &mut rows);
    rows
}

pub fn sesstat(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, _) in s.processes.live() {
        of_session(s, sid, &mut rows);
    }
    rows
}

pub fn timer(_: &Source<'_>) -> Vec<Row> {
    vec![vec![n(os::clock::now_ns() / 10_000_000)]]
}

/// The time model of all sessions, past and present, in microseconds.
pub fn sys_time_model(s: &Source<'_>) -> Vec<Row> {
    let times = s.processes.system_times(s.p);
    TimeStat::all().zip(times).map(|(stat, us)| vec![n(stat.id()), t(stat.name()), n(us)]).collect()
}

/// The time model of each live session.
pub fn sess_time_model(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (sid, _) in s.processes.live() {
        let Some(times) = s.processes.session_times(sid) else { continue };
        rows.extend(TimeStat::all().zip(times).map(|(stat, us)| vec![n(sid), n(stat.id()), t(stat.name()), n(us)]));
    }
    rows
}

/// Figures of the operating system: times of all processors in hundredths of a second since boot, memory in bytes.
pub fn osstat(_: &Source<'_>) -> Vec<Row> {
    let Some(m) = os::proc::machine() else { return Vec::new() };
    let [user, nice, system, idle, io_wait, rest] =
        [m.user_cs, m.nice_cs, m.system_cs, m.idle_cs, m.io_wait_cs, m.other_cs];
    let busy = user + nice + system + rest;
    let figures = [
        ("NUM_CPUS", m.cpus, 0, "Number of active CPUs", "NO"),
        ("IDLE_TIME", idle, 1, "Time (centi-secs) that CPUs have been in the idle state", "YES"),
        ("BUSY_TIME", busy, 2, "Time (centi-secs) that CPUs have been in the busy state", "YES"),
        ("USER_TIME", user, 3, "Time (centi-secs) spent in user code", "YES"),
        ("SYS_TIME", system, 4, "Time (centi-secs) spent in the kernel", "YES"),
        ("IOWAIT_TIME", io_wait, 5, "Time (centi-secs) spent waiting for IO", "YES"),
        ("NICE_TIME", nice, 6, "Time (centi-secs) spent in low-priority user code", "YES"),
        ("NUM_CPU_CORES", m.cores, 16, "Number of CPU cores", "NO"),
        ("NUM_CPU_SOCKETS", m.sockets, 17, "Number of physical CPU sockets", "NO"),
        ("PHYSICAL_MEMORY_BYTES", m.memory_kb * 1024, 1008, "Physical memory size in bytes", "NO"),
        ("FREE_MEMORY_BYTES", m.free_kb * 1024, 1005, "Physical memory available, in bytes", "NO"),
    ];
    let row = |(name, value, id, comment, cumulative): (&str, u64, u64, &str, &str)| {
        vec![t(name), n(value), n(id), t(comment), t(cumulative)]
    };
    let mut rows: Vec<Row> = figures.into_iter().map(row).collect();
    if let Ok(load) = m.load.parse::<types::Number>() {
        rows.push(vec![
            t("LOAD"),
            Value::Number(load),
            n(15u64),
            t("Number of processes running or waiting on the run queue"),
            t("NO"),
        ]);
    }
    rows
}

/// Columns of `v$statistics_level`.
pub const STATISTICS_LEVEL: &[(&str, Type)] = &[
    ("STATISTICS_NAME", V(64)),
    ("DESCRIPTION", V(4000)),
    ("SESSION_STATUS", V(8)),
    ("SYSTEM_STATUS", V(8)),
    ("ACTIVATION_LEVEL", V(7)),
    ("STATISTICS_VIEW_NAME", V(64)),
    ("SESSION_SETTABLE", V(3)),
];

/// The features that `statistics_level` turns on and off, as far as they exist here. Counters cost no shared write and
/// are kept at every level, except the execution statistics of plans.
pub fn statistics_level(s: &Source<'_>) -> Vec<Row> {
    let params = s.session_params.borrow();
    let status = |level: &str, timed: bool, is_default: bool| {
        let on = timed && (!level.eq_ignore_ascii_case("BASIC") || !is_default);
        t(if on { "ENABLED" } else { "DISABLED" })
    };
    let (level, timed) = (Param::StatisticsLevel, Param::TimedStatistics);
    let system = params.system();
    vec![
        vec![
            t("Timed Statistics"),
            t("Times of executions and of parses"),
            status(&params.get(level), params.flag(timed), params.is_default(timed)),
            status(&system.get(level), system.flag(timed), system.is_default(timed)),
            t("TYPICAL"),
            Value::Null,
            t("YES"),
        ],
        vec![
            t("Plan Execution Statistics"),
            t("Enables collection of plan execution statistics"),
            t(if params.get(level) == "ALL" { "ENABLED" } else { "DISABLED" }),
            t(if system.get(level) == "ALL" { "ENABLED" } else { "DISABLED" }),
            t("ALL"),
            t("V$SQL_PLAN_STATISTICS"),
            t("YES"),
        ],
        vec![
            t("Active Session History"),
            t("Monitors active session activity using MMNL"),
            t(if instance::ash::is_on(s.instance.params()) { "ENABLED" } else { "DISABLED" }),
            t(if instance::ash::is_on(s.instance.params()) { "ENABLED" } else { "DISABLED" }),
            t("TYPICAL"),
            t("V$ACTIVE_SESSION_HISTORY"),
            t("NO"),
        ],
    ]
}
