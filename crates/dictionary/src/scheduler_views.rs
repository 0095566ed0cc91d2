//! The queries of the views of DBMS_SCHEDULER. Their columns are those of [`crate::empty_views`]; a column without an
//! expression is null.

/// A family: its name, the expressions of its columns, and what follows the select list, with a WHERE clause.
/// `{owner}` is the column of the owner in that clause.
pub(crate) struct Filled {
    pub(crate) family: &'static str,
    pub(crate) columns: &'static [(&'static str, &'static str)],
    pub(crate) from: &'static str,
    /// The column of the owner, for the USER_ and ALL_ views.
    pub(crate) owner: &'static str,
}

/// A time in UTC, in the time zone of its row.
macro_rules! zoned {
    ($time:literal, $zone:literal) => {
        concat!("from_tz(", $time, ", '+00:00') at time zone nvl(", $zone, ", '+00:00')")
    };
}

macro_rules! truth {
    ($column:literal) => {
        concat!("decode(", $column, ", 1, 'TRUE', 'FALSE')")
    };
}

/// A number of seconds as an interval.
macro_rules! seconds {
    ($column:literal) => {
        concat!("numtodsinterval(", $column, ", 'SECOND')")
    };
}

pub(crate) const FILLED: &[Filled] = &[
    Filled {
        family: "SCHEDULER_JOBS",
        columns: &[
            ("OWNER", "j.owner"),
            ("JOB_NAME", "j.name"),
            ("JOB_STYLE", "'REGULAR'"),
            ("JOB_CREATOR", "j.creator"),
            ("PROGRAM_OWNER", "j.program_owner"),
            ("PROGRAM_NAME", "j.program_name"),
            ("JOB_TYPE", "j.kind"),
            ("JOB_ACTION", "j.action"),
            ("NUMBER_OF_ARGUMENTS", "j.args"),
            ("SCHEDULE_OWNER", "j.schedule_owner"),
            ("SCHEDULE_NAME", "j.schedule_name"),
            (
                "SCHEDULE_TYPE",
                "case when j.schedule_name is not null then 'NAMED' when j.repeat is null then 'ONCE' \
                    when upper(ltrim(j.repeat)) like 'FREQ%' then 'CALENDAR' else 'PLSQL' end",
            ),
            ("START_DATE", zoned!("j.start_date", "j.tz")),
            ("REPEAT_INTERVAL", "j.repeat"),
            ("END_DATE", zoned!("j.end_date", "j.tz")),
            ("JOB_CLASS", "j.class"),
            ("ENABLED", truth!("j.enabled")),
            ("AUTO_DROP", truth!("j.auto_drop")),
            ("RESTART_ON_RECOVERY", truth!("j.recovers")),
            ("RESTART_ON_FAILURE", "'FALSE'"),
            ("STATE", "j.state"),
            ("JOB_PRIORITY", "j.priority"),
            ("RUN_COUNT", "j.runs"),
            ("MAX_RUNS", "j.max_runs"),
            ("FAILURE_COUNT", "j.failures"),
            ("MAX_FAILURES", "j.max_failures"),
            ("RETRY_COUNT", "0"),
            ("LAST_START_DATE", zoned!("j.last_start", "j.tz")),
            ("LAST_RUN_DURATION", seconds!("j.last_duration")),
            ("NEXT_RUN_DATE", zoned!("j.next_run", "j.tz")),
            ("LOGGING_LEVEL", "decode(j.logging, 32, 'OFF', 128, 'FAILED RUNS', 256, 'FULL', 'RUNS')"),
            ("STORE_OUTPUT", "'FALSE'"),
            ("STOP_ON_WINDOW_CLOSE", "'FALSE'"),
            ("INSTANCE_STICKINESS", "'TRUE'"),
            ("SYSTEM", "'FALSE'"),
            ("JOB_WEIGHT", "1"),
            ("NLS_ENV", "j.nlsenv"),
            ("NUMBER_OF_DESTINATIONS", "1"),
            ("DEFERRED_DROP", "'FALSE'"),
            ("ALLOW_RUNS_IN_RESTRICTED_MODE", "'FALSE'"),
            ("COMMENTS", "j.comments"),
            ("RESTARTABLE", "'FALSE'"),
            ("HAS_CONSTRAINTS", "'FALSE'"),
            ("FAIL_ON_SCRIPT_ERROR", "'FALSE'"),
        ],
        from: "sys.scheduler$_job j where 1 = 1",
        owner: "j.owner",
    },
    Filled {
        family: "SCHEDULER_JOB_ARGS",
        columns: &[
            ("OWNER", "j.owner"),
            ("JOB_NAME", "j.name"),
            ("ARGUMENT_NAME", "nvl(p.argument, a.argument)"),
            ("ARGUMENT_POSITION", "nvl(a.position, p.position)"),
            ("ARGUMENT_TYPE", "nvl(p.type_name, 'VARCHAR2')"),
            ("VALUE", "decode(a.has_value, 1, a.value, p.value)"),
            ("OUT_ARGUMENT", "'FALSE'"),
        ],
        from: "sys.scheduler$_job j, (select * from sys.scheduler$_argument where of_job = 1) a, \
            (select * from sys.scheduler$_argument where of_job = 0) p \
            where a.owner = j.owner and a.name = j.name and p.owner (+) = nvl(j.program_owner, '-') \
            and p.name (+) = nvl(j.program_name, '-') and p.position (+) = a.position",
        owner: "j.owner",
    },
    Filled {
        family: "SCHEDULER_PROGRAMS",
        columns: &[
            ("OWNER", "p.owner"),
            ("PROGRAM_NAME", "p.name"),
            ("PROGRAM_TYPE", "p.kind"),
            ("PROGRAM_ACTION", "p.action"),
            ("NUMBER_OF_ARGUMENTS", "p.args"),
            ("ENABLED", truth!("p.enabled")),
            ("DETACHED", "'FALSE'"),
            ("PRIORITY", "3"),
            ("WEIGHT", "1"),
            ("HAS_CONSTRAINTS", "'FALSE'"),
            ("COMMENTS", "p.comments"),
        ],
        from: "sys.scheduler$_program p where 1 = 1",
        owner: "p.owner",
    },
    Filled {
        family: "SCHEDULER_PROGRAM_ARGS",
        columns: &[
            ("OWNER", "a.owner"),
            ("PROGRAM_NAME", "a.name"),
            ("ARGUMENT_NAME", "a.argument"),
            ("ARGUMENT_POSITION", "a.position"),
            ("ARGUMENT_TYPE", "a.type_name"),
            ("DEFAULT_VALUE", "a.value"),
            ("OUT_ARGUMENT", "'FALSE'"),
        ],
        from: "sys.scheduler$_argument a where a.of_job = 0",
        owner: "a.owner",
    },
    Filled {
        family: "SCHEDULER_SCHEDULES",
        columns: &[
            ("OWNER", "s.owner"),
            ("SCHEDULE_NAME", "s.name"),
            ("SCHEDULE_TYPE", "case when s.repeat is null then 'ONCE' else 'CALENDAR' end"),
            ("START_DATE", zoned!("s.start_date", "s.tz")),
            ("REPEAT_INTERVAL", "s.repeat"),
            ("END_DATE", zoned!("s.end_date", "s.tz")),
            ("COMMENTS", "s.comments"),
        ],
        from: "sys.scheduler$_schedule s where 1 = 1",
        owner: "s.owner",
    },
    Filled {
        family: "SCHEDULER_JOB_LOG",
        columns: &[
            ("LOG_ID", "l.log_id"),
            ("LOG_DATE", zoned!("l.log_date", "l.tz")),
            ("OWNER", "l.owner"),
            ("JOB_NAME", "l.name"),
            ("JOB_CLASS", "l.class"),
            ("OPERATION", "l.operation"),
            ("STATUS", "l.status"),
            ("ADDITIONAL_INFO", "to_clob(l.info)"),
        ],
        from: "sys.scheduler$_event_log l where 1 = 1",
        owner: "l.owner",
    },
    Filled {
        family: "SCHEDULER_JOB_RUN_DETAILS",
        columns: &[
            ("LOG_ID", "l.log_id"),
            ("LOG_DATE", zoned!("l.log_date", "l.tz")),
            ("OWNER", "l.owner"),
            ("JOB_NAME", "l.name"),
            ("STATUS", "l.status"),
            ("ERROR#", "l.error"),
            ("REQ_START_DATE", zoned!("l.req_date", "l.tz")),
            ("ACTUAL_START_DATE", zoned!("l.start_date", "l.tz")),
            ("RUN_DURATION", seconds!("l.duration")),
            ("INSTANCE_ID", "1"),
            ("SESSION_ID", "l.sid || ',' || l.serial"),
            ("SLAVE_PID", "to_char(l.pid)"),
            ("CPU_USED", seconds!("l.cpu")),
            ("ADDITIONAL_INFO", "l.info"),
            ("ERRORS", "l.errors"),
        ],
        from: "sys.scheduler$_event_log l where l.operation = 'RUN'",
        owner: "l.owner",
    },
    Filled {
        family: "SCHEDULER_RUNNING_JOBS",
        columns: &[
            ("OWNER", "j.owner"),
            ("JOB_NAME", "j.name"),
            ("JOB_STYLE", "'REGULAR'"),
            ("DETACHED", "'FALSE'"),
            ("SESSION_ID", "v.sid"),
            ("SLAVE_PROCESS_ID", "p.pid"),
            ("SLAVE_OS_PROCESS_ID", "p.spid"),
            ("RUNNING_INSTANCE", "1"),
            ("ELAPSED_TIME", "(cast(sys_extract_utc(systimestamp) as timestamp) - j.last_start)"),
            ("LOG_ID", "j.log_id"),
        ],
        from: "sys.scheduler$_job j, v$session v, v$process p where j.state = 'RUNNING' and v.sid = j.sid \
            and v.serial# = j.serial and p.addr = v.paddr",
        owner: "j.owner",
    },
    Filled {
        family: "SCHEDULER_JOB_CLASSES",
        columns: &[
            ("OWNER", "'SYS'"),
            ("JOB_CLASS_NAME", "'DEFAULT_JOB_CLASS'"),
            ("LOGGING_LEVEL", "'RUNS'"),
            ("COMMENTS", "'This is the default job class.'"),
        ],
        from: "sys.dual where 1 = 1",
        owner: "'SYS'",
    },
    Filled {
        family: "SCHEDULER_GLOBAL_ATTRIBUTE",
        columns: &[("ATTRIBUTE_NAME", "g.name"), ("VALUE", "to_char(g.value)")],
        from: "sys.scheduler$_global g where g.name = 'LOG_HISTORY'",
        owner: "'SYS'",
    },
];

/// The condition of the view of a member: `U`, `A` or `D`.
pub(crate) fn condition(filled: &Filled, member: char) -> String {
    let own = "(select u.name from user$ u where u.user# = uid)";
    match (member, filled.family) {
        ('D', _) | ('A', "SCHEDULER_SCHEDULES" | "SCHEDULER_JOB_CLASSES" | "SCHEDULER_GLOBAL_ATTRIBUTE") => {
            String::new()
        }
        ('U', _) => format!(" and {} = {own}", filled.owner),
        // Nobody but SYS sees the jobs of SYS by CREATE ANY JOB.
        _ => format!(
            " and ({owner} = {own} or uid = 0 or ({owner} <> 'SYS' and exists (select null from session_privs s \
                where s.privilege = 'CREATE ANY JOB')) or exists (select null from session_privs s \
                where s.privilege = 'MANAGE SCHEDULER'))",
            owner = filled.owner
        ),
    }
}
