//! Samples of sessions, with the names of their objects and statements.

use crate::{Period, Source};
use std::collections::{BTreeMap, BTreeSet};
use types::{Number, Ora, Result, Value};

/// The event of a session on a CPU, or ready to run.
pub const ON_CPU: &str = "CPU + Wait for CPU";

/// Number of objects and statements whose names are looked up, the most frequent first.
const NAMED: usize = 40;

/// The selection of samples; the texts are patterns of LIKE.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub sid: Option<i64>,
    pub sql_id: Option<String>,
    pub wait_class: Option<String>,
    pub module: Option<String>,
    pub action: Option<String>,
    pub client: Option<String>,
    /// Samples of memory only or of disk only; otherwise memory, and disk for older ones.
    pub origin: Option<Origin>,
}

/// The source of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Memory,
    Disk,
}

impl Filter {
    /// The selection in words.
    pub fn told(&self) -> Vec<String> {
        let texts = [
            ("SQL_ID", &self.sql_id),
            ("WAIT_CLASS", &self.wait_class),
            ("MODULE", &self.module),
            ("ACTION", &self.action),
            ("CLIENT_ID", &self.client),
        ];
        let texts = texts.into_iter().filter_map(|(name, text)| Some(format!("{name} like '{}'", text.as_ref()?)));
        self.sid.map(|sid| format!("SESSION_ID = {sid}")).into_iter().chain(texts).collect()
    }

    /// The condition, with binds from number `first` on.
    fn condition(&self, first: usize) -> (String, Vec<Value>) {
        let (mut text, mut binds) = (String::new(), Vec::new());
        let mut and = |column: &str, operator: &str, value: Value| {
            text.push_str(&format!(" and h.{column} {operator} :{}", first + binds.len()));
            binds.push(value);
        };
        if let Some(sid) = self.sid {
            and("session_id", "=", Value::Number(sid.into()));
        }
        for (column, pattern) in [
            ("sql_id", &self.sql_id),
            ("wait_class", &self.wait_class),
            ("module", &self.module),
            ("action", &self.action),
            ("client_id", &self.client),
        ] {
            if let Some(pattern) = pattern {
                and(column, "like", Value::text(pattern.as_str()));
            }
        }
        (text, binds)
    }
}

/// One session at one moment.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Seconds since 2020.
    pub at_s: f64,
    pub id: String,
    pub sid: i64,
    pub serial: i64,
    pub foreground: bool,
    pub user: String,
    pub program: String,
    pub module: String,
    pub action: String,
    pub client: String,
    pub sql: String,
    pub plan: String,
    pub command: String,
    pub execution: String,
    /// [`ON_CPU`] when it did not wait.
    pub event: String,
    pub class: String,
    pub p: [String; 3],
    pub p_texts: [String; 3],
    pub blocker: Option<(i64, i64)>,
    pub object: Option<i64>,
    pub file: Option<i64>,
    pub transaction: String,
    /// The seconds that the sample stands for.
    pub seconds: f64,
    pub waited_us: Option<u64>,
    /// Connecting, parsing, parsing hard, executing SQL, executing PL/SQL.
    pub phases: [bool; 5],
    /// The PL/SQL subprogram that was entered first, and the one that ran: object number and subprogram number.
    pub entry: Option<(i64, i64)>,
    pub subprogram: Option<(i64, i64)>,
}

/// The samples of a period.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub samples: Vec<Sample>,
    /// The ends of the period, as text and in seconds since 2020.
    pub begin: String,
    pub end: String,
    pub begin_s: f64,
    pub end_s: f64,
    /// Texts of the most frequent statements.
    pub texts: BTreeMap<String, String>,
    /// Names and tablespaces of the objects, and names of the files.
    pub objects: BTreeMap<i64, (String, String)>,
    pub files: BTreeMap<i64, String>,
}

const COLUMNS: &str = "(cast(h.sample_time as date) - date '2020-01-01') * 86400, to_char(h.sample_id), h.session_id, h.session_serial#, \
     h.session_type, u.username, h.program, h.module, h.action, h.client_id, h.sql_id, to_char(h.sql_plan_hash_value), h.sql_opname, \
     to_char(h.sql_exec_id), h.event, h.wait_class, to_char(h.p1), to_char(h.p2), to_char(h.p3), h.p1text, h.p2text, h.p3text, \
     h.blocking_session, h.blocking_session_serial#, h.current_obj#, h.current_file#, rawtohex(h.xid), h.usecs_per_row, h.time_waited, \
     h.in_connection_mgmt, h.in_parse, h.in_hard_parse, h.in_sql_execution, h.in_plsql_execution, \
     h.plsql_entry_object_id, h.plsql_entry_subprogram_id, h.plsql_object_id, h.plsql_subprogram_id";

fn text(v: &Value) -> String {
    match v {
        Value::Text(t) => t.to_string(),
        Value::Number(n) => n.to_string(),
        _ => String::new(),
    }
}

fn whole(v: &Value) -> Option<i64> {
    match v {
        Value::Number(n) => n.to_i64().ok(),
        _ => None,
    }
}

fn real(v: &Value) -> f64 {
    match v {
        Value::Number(n) => n.to_f64(),
        _ => 0.0,
    }
}

impl Sample {
    /// A sample from a row of [`COLUMNS`]; a row of disk stands for `weight` samples.
    fn of(row: &[Value], weight: f64) -> Sample {
        let event = text(&row[14]);
        let on_cpu = event.is_empty();
        let three = |from: usize| [0, 1, 2].map(|n| text(&row[from + n]));
        Sample {
            at_s: real(&row[0]),
            id: text(&row[1]),
            sid: whole(&row[2]).unwrap_or(0),
            serial: whole(&row[3]).unwrap_or(0),
            foreground: text(&row[4]) == "FOREGROUND",
            user: text(&row[5]),
            program: text(&row[6]),
            module: text(&row[7]),
            action: text(&row[8]),
            client: text(&row[9]),
            sql: text(&row[10]),
            plan: text(&row[11]),
            command: text(&row[12]),
            execution: text(&row[13]),
            event: if on_cpu { ON_CPU.into() } else { event },
            class: if on_cpu { "CPU".into() } else { text(&row[15]) },
            p: three(16),
            p_texts: three(19),
            blocker: whole(&row[22]).map(|sid| (sid, whole(&row[23]).unwrap_or(0))),
            object: whole(&row[24]).filter(|object| *object > 0),
            file: whole(&row[25]),
            transaction: text(&row[26]),
            seconds: real(&row[27]) / 1e6 * weight,
            waited_us: whole(&row[28]).and_then(|us| u64::try_from(us).ok()),
            phases: [0, 1, 2, 3, 4].map(|n| text(&row[29 + n]) == "Y"),
            entry: whole(&row[34]).zip(whole(&row[35])),
            subprogram: whole(&row[36]).zip(whole(&row[37])),
        }
    }
}

/// The number of samples in memory that one sample on disk stands for.
const DISK_WEIGHT: f64 = 10.0;

fn from_view(view: &str, condition: &str) -> String {
    format!(
        "select {COLUMNS} from {view} h, dba_users u where u.user_id(+) = h.user_id and {condition} order by h.sample_id, h.session_id"
    )
}

impl Seen {
    /// The seconds of the period.
    pub fn elapsed_s(&self) -> f64 {
        (self.end_s - self.begin_s).max(1.0)
    }

    /// The samples kept between two snapshots.
    ///
    /// # Errors
    /// Those of the queries.
    pub fn kept(source: &mut dyn Source, p: &Period) -> Result<Seen> {
        let numbers = [p.begin.id, p.end.id, p.dbid].map(|n| Value::Number(n.into()));
        let sql = from_view("dba_hist_active_sess_history", "h.snap_id > :1 and h.snap_id <= :2 and h.dbid = :3");
        let rows = source.query(&sql, &numbers)?;
        let ends = "select (cast(b.end_interval_time as date) - date '2020-01-01') * 86400, \
                    (cast(e.end_interval_time as date) - date '2020-01-01') * 86400 \
                    from dba_hist_snapshot b, dba_hist_snapshot e where b.snap_id = :1 and e.snap_id = :2 and b.dbid = :3 and e.dbid = b.dbid";
        let ends = source.query(ends, &numbers)?;
        let ends = ends.first().map_or([0.0, 0.0], |row| [0, 1].map(|n| real(&row[n])));
        let samples = rows.iter().map(|row| Sample::of(row, DISK_WEIGHT)).collect();
        let mut seen = Seen {
            samples,
            begin: p.begin.time.clone(),
            end: p.end.time.clone(),
            begin_s: ends[0],
            end_s: ends[1],
            ..Seen::default()
        };
        seen.look_up(source)?;
        Ok(seen)
    }

    /// The samples between two moments.
    ///
    /// # Errors
    /// ORA-20200 when the second moment is not later than the first; those of the queries.
    pub fn between(source: &mut dyn Source, begin: &Value, end: &Value, filter: &Filter) -> Result<Seen> {
        let ends = "select to_char(b, 'DD-Mon-RR HH24:MI:SS'), to_char(e, 'DD-Mon-RR HH24:MI:SS'), (b - date '2020-01-01') * 86400, \
                    (e - date '2020-01-01') * 86400 from (select cast(:1 as date) b, cast(:2 as date) e from dual)";
        let ends = source.query(ends, &[begin.clone(), end.clone()])?;
        let row = ends.first().filter(|row| real(&row[2]) < real(&row[3]));
        let Some(row) = row else {
            return Err(Ora::from_text(types::Facility::Ora, 20200, "End Time must be greater than Begin Time"));
        };
        let mut seen = Seen {
            begin: text(&row[0]),
            end: text(&row[1]),
            begin_s: real(&row[2]),
            end_s: real(&row[3]),
            ..Seen::default()
        };
        seen.cut(source)?;
        let (condition, more) = filter.condition(3);
        let mut binds = vec![begin.clone(), end.clone()];
        binds.extend(more);
        let times =
            "h.sample_time >= cast(:1 as timestamp) and h.sample_time < cast(:2 as timestamp) + interval '1' second";
        if filter.origin != Some(Origin::Memory) {
            // From disk, samples that memory no longer has, or never had because an earlier instance took them.
            let older = match filter.origin {
                Some(_) => "",
                None => {
                    " and h.sample_id < (select nvl(min(v.oldest_sample_id), power(10, 30)) from v$ash_info v) \
                     and h.dbid = (select d.dbid from v$database d)"
                }
            };
            let sql = from_view("dba_hist_active_sess_history", &format!("{times}{condition}{older}"));
            let rows = source.query(&sql, &binds)?;
            seen.samples.extend(rows.iter().map(|row| Sample::of(row, DISK_WEIGHT)));
        }
        if filter.origin != Some(Origin::Disk) {
            let rows = source.query(&from_view("v$active_session_history", &format!("{times}{condition}")), &binds)?;
            seen.samples.extend(rows.iter().map(|row| Sample::of(row, 1.0)));
        }
        seen.look_up(source)?;
        Ok(seen)
    }

    /// Cuts the period to the time with samples: from the first snapshot, or the start of the instance, until now.
    /// Averages over time without a sampler would show no activity.
    fn cut(&mut self, source: &mut dyn Source) -> Result<()> {
        let sql = "select to_char(b, 'DD-Mon-RR HH24:MI:SS'), to_char(e, 'DD-Mon-RR HH24:MI:SS'), (b - date '2020-01-01') * 86400, \
                   (e - date '2020-01-01') * 86400 from (select least(i.startup_time, nvl((select min(cast(s.begin_interval_time as date)) \
                   from dba_hist_snapshot s), i.startup_time)) b, sysdate e from v$instance i)";
        let rows = source.query(sql, &[])?;
        let Some(row) = rows.first() else { return Ok(()) };
        let (begin_s, end_s) = (real(&row[2]), real(&row[3]));
        if begin_s > self.begin_s && begin_s < self.end_s {
            (self.begin, self.begin_s) = (text(&row[0]), begin_s);
        }
        if end_s < self.end_s && end_s >= self.begin_s {
            (self.end, self.end_s) = (text(&row[1]), end_s);
        }
        Ok(())
    }

    /// Looks up the names of the most frequent objects and statements.
    fn look_up(&mut self, source: &mut dyn Source) -> Result<()> {
        let most = |keys: Vec<String>| -> BTreeSet<String> {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            keys.into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
            let mut all: Vec<(usize, String)> = counts.into_iter().map(|(key, n)| (n, key)).collect();
            all.sort_by(|a, b| b.cmp(a));
            all.into_iter().take(NAMED).map(|(_, key)| key).collect()
        };
        let statements = most(self.samples.iter().filter(|s| !s.sql.is_empty()).map(|s| s.sql.clone()).collect());
        for id in statements {
            let sql = "select max(t) from (select max(q.sql_fulltext) t from v$sqlarea q where q.sql_id = :1 union all \
                       select max(h.sql_text) from dba_hist_sqltext h where h.sql_id = :2)";
            let rows = source.query(sql, &[Value::text(id.as_str()), Value::text(id.as_str())])?;
            let found = rows.first().map_or_else(String::new, |row| text(&row[0]));
            if !found.is_empty() {
                self.texts.insert(id, found);
            }
        }
        let named = |s: &Sample| [s.object, s.entry.map(|(unit, _)| unit), s.subprogram.map(|(unit, _)| unit)];
        let objects = most(self.samples.iter().flat_map(named).flatten().map(|n| n.to_string()).collect());
        for id in objects.iter().filter_map(|id| id.parse::<i64>().ok()) {
            let sql = "select o.owner || '.' || o.object_name || ' (' || o.object_type || ')', (select max(s.tablespace_name) \
                       from dba_segments s where s.owner = o.owner and s.segment_name = o.object_name) from dba_objects o where o.object_id = :1";
            if let Some(row) = source.query(sql, &[Value::Number(Number::from(id))])?.first() {
                self.objects.insert(id, (text(&row[0]), text(&row[1])));
            }
        }
        if self.samples.iter().any(|s| s.file.is_some()) {
            for row in source.query("select d.file_id, d.file_name from dba_data_files d", &[])? {
                self.files.extend(whole(&row[0]).map(|id| (id, text(&row[1]))));
            }
        }
        Ok(())
    }
}
