//! The instance of this workspace: a throw-away database, one session through its socket.

use crate::answer::{Cell, Rows};
use crate::common::latchwork_program;
use crate::data;
use crate::engine::{Engine, Failure, Memory};
use crate::parse::Parse;
use crate::text::{Kind, Query, Table};
use client::{ArrayOptions, Bind, Client, ClientError, Credentials, Ephemeral, EphemeralOptions};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use types::{DataType, Date, LenUnit, Number, Value};

/// ORA-01013, the error of a cancelled call.
const BROKEN: u32 = 1013;
/// Time allowed for a cancelled call before its server process is killed.
const GRACE: Duration = Duration::from_secs(20);
/// Rows of one fetch.
const FETCH_ROWS: u32 = 1000;

pub struct Latchwork {
    session: Client,
    instance: Ephemeral,
}

impl Latchwork {
    pub fn start(memory: Memory) -> Latchwork {
        let pair = |n: &str, v: String| (n.to_string(), v);
        let params = vec![
            pair("db_cache_size", format!("{}M", memory.buffers_mb)),
            // A work area gets half of the target.
            pair("pga_aggregate_target", format!("{}M", memory.work_mb * 2)),
        ];
        let options = EphemeralOptions { params, executable: Some(latchwork_program()) };
        let instance = Ephemeral::start_with(&options).expect("starts");
        let mut owner = instance.connect(&Credentials::Sysdba).expect("connects");
        for sql in ["create user tpch identified by tpch", "grant dba, unlimited tablespace to tpch"] {
            owner.execute(sql, &[]).unwrap_or_else(|e| panic!("{e}\n{sql}"));
        }
        let session = connect(&instance);
        Latchwork { session, instance }
    }

    fn run_sql(&mut self, sql: &str) {
        self.session.execute(sql, &[]).map(drop).unwrap_or_else(|e| panic!("{e}\n{sql}"));
    }

    /// A fresh session, whose process has used no memory yet.
    pub fn reconnect(&mut self) {
        self.session = connect(&self.instance);
    }

    /// Work areas of the session that used temporary space.
    pub fn spills(&mut self) -> u64 {
        self.statistic("'workarea executions - onepass', 'workarea executions - multipass'")
    }

    fn statistic(&mut self, names: &str) -> u64 {
        let sql = format!(
            "select sum(s.value) from v$mystat s, v$statname n where n.statistic# = s.statistic# and \
             n.name in ({names})"
        );
        let rows = self.session.query(&sql, &[]).and_then(|q| q.all()).expect("answers");
        match rows.first().and_then(|row| row.first()) {
            Some(Value::Number(n)) => n.to_i64().expect("a count") as u64,
            other => panic!("a count, not {other:?}"),
        }
    }

    /// Sets the size of all work areas manually.
    pub fn set_work_area(&mut self, bytes: u64) {
        self.run_sql("alter session set workarea_size_policy = manual");
        self.run_sql(&format!("alter session set sort_area_size = {bytes}"));
        self.run_sql(&format!("alter session set hash_area_size = {bytes}"));
    }

    pub fn size_work_areas_by_target(&mut self) {
        self.run_sql("alter session set workarea_size_policy = auto");
    }
}

fn connect(instance: &Ephemeral) -> Client {
    let mut session = instance.connect(&Credentials::password("tpch", "tpch")).expect("connects");
    session.set_fetch_size(FETCH_ROWS);
    session
}

impl Engine for Latchwork {
    fn name(&self) -> &'static str {
        "Latchwork"
    }

    fn load(&mut self, tables: &[Table], rows: &Path) {
        for table in tables {
            self.run_sql(&table.create(|_, spelt| spelt.to_string(), ""));
            let binds: Vec<Bind> = table
                .columns
                .iter()
                .map(|(_, kind, _)| match kind {
                    Kind::Whole | Kind::Decimal => Bind::input(DataType::NUMBER, Value::Null),
                    Kind::Date => Bind::input(DataType::Date, Value::Null),
                    Kind::Text => Bind::input(DataType::Varchar2 { len: 200, unit: LenUnit::Byte }, Value::Null),
                })
                .collect();
            let marks: Vec<String> = (1..=binds.len()).map(|n| format!(":{n}")).collect();
            let insert = format!("insert into {} values ({})", table.name, marks.join(", "));
            let values = data::lines(rows, &table.name).map(|line| {
                line.split('|')
                    .zip(&table.columns)
                    .map(|(text, (_, kind, _))| value(text, *kind))
                    .collect::<Vec<Value>>()
            });
            let done = self.session.execute_many(&insert, &binds, values, ArrayOptions::default());
            done.unwrap_or_else(|e| panic!("{e}\n{insert}"));
            self.session.commit().expect("commits");
            self.run_sql(&table.add_key());
            // No predicate has used a column yet, so AUTO would make no histogram.
            let skewed = "method_opt => 'for all columns size skewonly'";
            self.run_sql(&format!("begin dbms_stats.gather_table_stats(user, '{}', {skewed}); end;", table.name));
        }
    }

    fn run(&mut self, query: &Query, timeout: Duration) -> Result<Rows, Failure> {
        let breaker = self.session.break_handle();
        let pid = self.session.welcome().server_process;
        let (done, ended) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if ended.recv_timeout(timeout) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = breaker.send();
                if ended.recv_timeout(GRACE) == Err(mpsc::RecvTimeoutError::Timeout) {
                    let _ = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
                }
            }
        });
        let result = self.session.query(&query.sql, &[]).and_then(|q| q.all());
        drop(done);
        watch.join().expect("no panic");
        match result {
            Ok(rows) => Ok(rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect()),
            Err(e) if e.code() == BROKEN => Err(Failure::Timeout),
            Err(e) => {
                let lost = e.is_fatal() || matches!(e, ClientError::Protocol(_));
                if lost {
                    self.session = connect(&self.instance);
                }
                Err(if lost { Failure::Timeout } else { Failure::Error(e.to_string()) })
            }
        }
    }

    fn plan(&mut self, query: &Query) -> Option<String> {
        self.session.execute(&format!("explain plan for {}", query.sql), &[]).ok()?;
        let rows = self.session.query("select * from table(dbms_xplan.display())", &[]).and_then(|q| q.all()).ok()?;
        let lines = rows.iter().filter_map(|row| match row.first() {
            Some(Value::Text(line)) => Some(line.as_str()),
            _ => None,
        });
        Some(lines.collect::<Vec<&str>>().join("\n"))
    }

    fn parse(&mut self, sql: &str, _: Duration) -> Result<(), Failure> {
        self.session.describe(sql).map(drop).map_err(|e| Failure::Error(e.to_string()))
    }

    fn round_trip(&mut self) {
        self.session.commit().expect("commits nothing");
    }

    fn is_to_parse(&mut self, parse: Parse) -> bool {
        let kept = if parse == Parse::Hit { 50 } else { 0 };
        self.run_sql(&format!("alter session set session_cached_cursors = {kept}"));
        true
    }

    fn hard_parses(&mut self) -> Option<u64> {
        Some(self.statistic("'parse count (hard)'"))
    }

    fn process(&self) -> Option<u32> {
        Some(self.session.welcome().server_process)
    }

    fn latchwork(&mut self) -> Option<&mut Latchwork> {
        Some(self)
    }
}

fn value(text: &str, kind: Kind) -> Value {
    match kind {
        Kind::Whole | Kind::Decimal => Value::Number(Number::parse(text).expect("a number")),
        Kind::Date => {
            let mut parts = text.split('-').map(|n| n.parse::<u32>().expect("a number"));
            let mut next = || parts.next().expect("a date");
            Value::Date(Date::from_ymd(next() as i32, next(), next()).expect("a date"))
        }
        Kind::Text => Value::Text(text.to_string()),
    }
}

fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Number(n) => Cell::Exact(n.to_string()),
        Value::Double(x) => Cell::Float(x),
        Value::Text(text) => Cell::Text(text),
        Value::Date(date) => {
            let f = date.fields();
            Cell::Text(format!("{:04}-{:02}-{:02}", f.year, f.month, f.day))
        }
        other => Cell::Text(format!("{other:?}")),
    }
}
