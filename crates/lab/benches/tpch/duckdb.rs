//! DuckDB on one thread, in a separate Python: `LATCHWORK_DUCKDB_PYTHON`, the one that `./check` installs, or
//! `python3`. Its times are those of the statement and its rows inside that process.

use crate::answer::{Cell, Rows};
use crate::data;
use crate::engine::{Engine, Failure, Memory};
use crate::text::{Kind, Query, Table};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

pub struct DuckDb {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    seconds: f64,
}

impl DuckDb {
    pub fn start(memory: Memory) -> Option<DuckDb> {
        let python = python()?;
        let mut command = Command::new(python);
        command.args(["-c", include_str!("duckdb.py")]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let requests = child.stdin.take()?;
        let answers = BufReader::new(child.stdout.take()?);
        let mut engine = DuckDb { child, requests, answers, seconds: 0.0 };
        let megabytes = memory.buffers_mb + memory.work_mb;
        engine.ask(&format!("set memory_limit = '{megabytes}MB'"), Duration::from_secs(10)).ok()?;
        Some(engine)
    }

    fn ask(&mut self, sql: &str, timeout: Duration) -> Result<Rows, Failure> {
        let request = json!({ "sql": sql, "timeout": timeout.as_secs_f64() });
        let failed = |e: std::io::Error| Failure::Error(e.to_string());
        writeln!(self.requests, "{request}").map_err(failed)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(failed)?;
        let answer: Value = serde_json::from_str(&line).map_err(|e| Failure::Error(e.to_string()))?;
        if answer.get("late").is_some() {
            return Err(Failure::Timeout);
        }
        if let Some(error) = answer["error"].as_str() {
            return Err(Failure::Error(error.to_string()));
        }
        self.seconds = answer["seconds"].as_f64().unwrap_or_default();
        let rows = answer["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(rows.iter().map(|row| row.as_array().into_iter().flatten().map(cell).collect()).collect())
    }
}

fn cell(value: &Value) -> Cell {
    if let Some(text) = value["t"].as_str() {
        Cell::Text(text.to_string())
    } else if let Some(number) = value["n"].as_str() {
        Cell::Exact(number.to_string())
    } else {
        value["f"].as_f64().map_or(Cell::Null, Cell::Float)
    }
}

/// A Python that has the module `duckdb`.
fn python() -> Option<PathBuf> {
    let installed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/duckdb/bin/python");
    let named = std::env::var_os("LATCHWORK_DUCKDB_PYTHON").map(PathBuf::from);
    let all = named.into_iter().chain([installed, PathBuf::from("python3")]);
    let has = |python: &PathBuf| {
        let mut command = Command::new(python);
        command.args(["-c", "import duckdb"]).stderr(Stdio::null()).stdout(Stdio::null());
        command.status().is_ok_and(|s| s.success())
    };
    all.into_iter().find(has)
}

impl Engine for DuckDb {
    fn name(&self) -> &'static str {
        "DuckDB"
    }

    fn load(&mut self, tables: &[Table], rows: &Path) {
        let long = Duration::from_secs(3600);
        for table in tables {
            let create = table.create(
                |kind, spelt| match kind {
                    Kind::Whole => "integer".to_string(),
                    Kind::Decimal => spelt.replace("number", "decimal"),
                    Kind::Date => "date".to_string(),
                    Kind::Text => "varchar".to_string(),
                },
                &format!(", primary key ({})", table.key.join(", ")),
            );
            let file = data::file(rows, &table.name);
            let copy = format!("copy {} from '{}' (delimiter '|', header false)", table.name, file.display());
            for sql in [create, copy] {
                self.ask(&sql, long).unwrap_or_else(|e| panic!("DuckDB: {e:?}\n{sql}"));
            }
        }
        self.ask("analyze", long).unwrap_or_else(|e| panic!("DuckDB: {e:?}"));
    }

    fn run(&mut self, query: &Query, timeout: Duration) -> Result<Rows, Failure> {
        self.ask(&query.sql, timeout)
    }

    fn own_seconds(&self) -> Option<f64> {
        Some(self.seconds)
    }

    fn parse(&mut self, sql: &str, timeout: Duration) -> Result<(), Failure> {
        self.ask(&format!("explain {sql}"), timeout).map(drop)
    }

    fn round_trip(&mut self) {
        self.ask("", Duration::from_secs(10)).map(drop).unwrap_or_else(|e| panic!("DuckDB: {e:?}"));
    }

    fn process(&self) -> Option<u32> {
        Some(self.child.id())
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
