//! DuckDB on one thread inside a Python, a process for each session; the loop is Python's.
//!
//! The Python is `LATCHWORK_DUCKDB_PYTHON` or `python3`, with the module `duckdb`. The sessions open the file of the
//! database read-only: several processes may do so at once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::error::LabError;
use crate::targets::engine::{Facts, NoTarget, Request, Target, in_statement};
use crate::targets::lines::Lines;
use crate::targets::processes::{OwnFolder, Tree};
use crate::targets::sheet::{PlanCheck, Task, statements};
use crate::workers::{Session, Usage};

struct Duckdb {
    observer: Python,
    python: PathBuf,
    folder: OwnFolder,
    facts: Facts,
    first: Vec<String>,
}

struct Python(Lines);

impl Python {
    fn start(python: &Path, folder: &Path, mode: &str) -> Result<Python, LabError> {
        let mut command = Command::new(python);
        command.args(["-c", include_str!("duckdb.py")]).arg(folder.join("database")).arg(mode);
        Ok(Python(Lines::start(command)?))
    }

    fn ask(&mut self, request: &Value) -> Result<Value, LabError> {
        // The answer is one line; the last one of a child that has ended is its error.
        let line = self.0.answer(&format!("{request}\n"))?;
        let answer: Value = serde_json::from_str(&line).map_err(|e| LabError::new(format!("duckdb: {e}: {line}")))?;
        match answer["error"].as_str() {
            Some(error) => Err(LabError::new(error.to_string())),
            None => Ok(answer),
        }
    }
}

/// Makes a database in a folder of its own and sets the experiment up in it.
///
/// # Errors
/// [`NoTarget::Missing`] without a Python that has the module.
pub fn start(request: &Request<'_>) -> Result<Box<dyn Target>, NoTarget> {
    let missing = || NoTarget::Missing("no python3 with the module duckdb (LATCHWORK_DUCKDB_PYTHON names one)".into());
    let python = python().ok_or_else(missing)?;
    let folder = OwnFolder::of("duckdb")?;
    let script = match &request.sheet.setup {
        Some(file) => request.experiment.script(file)?,
        None => "",
    };
    let setup: Vec<String> = statements(script).into_iter().chain(request.sheet.warm_up.iter().cloned()).collect();
    let first = request.sheet.session.clone();
    let mut writer = Python::start(&python, &folder.place, "write")?;
    let made =
        writer.ask(&json!({ "setup": setup })).map_err(|e| in_statement(e, request.name, &setup.join("\n/\n")))?;
    drop(writer);
    let mut observer = Python::start(&python, &folder.place, "read")?;
    observer.ask(&json!({ "setup": first }))?;
    let facts = Facts {
        name: request.name.into(),
        version: format!("DuckDB {}, one thread", made["version"].as_str().unwrap_or("?")),
        client: "Python's module, a process for each session".into(),
        isolation: "snapshot; a call of the worker is one transaction".into(),
        durability: "the database is read-only while it is measured".into(),
        frozen: "nothing to stop: its processes end with a cell".into(),
        notes: request.sheet.note.iter().cloned().collect(),
        ..Facts::default()
    };
    Ok(Box::new(Duckdb { observer, python, folder, facts, first }))
}

/// A Python that has the module `duckdb`.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("LATCHWORK_DUCKDB_PYTHON").map(PathBuf::from);
    named.into_iter().chain([PathBuf::from("python3")]).find(|python| {
        let mut command = Command::new(python);
        command.args(["-c", "import duckdb"]).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

/// The properties of a plan that EXPLAIN ANALYZE has drawn in boxes: times and numbers of rows differ each time.
fn without_times(drawn: &str) -> String {
    let lines = drawn.lines().map(|line| line.trim_matches(|c: char| c.is_whitespace() || "│║|".contains(c)));
    let kept = lines.filter(|line| line.contains(": ") && !line.contains("Time: "));
    kept.collect::<Vec<_>>().join("\n")
}

impl Target for Duckdb {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn session(&mut self, task: &Task) -> Result<Box<dyn Session>, LabError> {
        let failed = |e: LabError| in_statement(e, &self.facts.name, &task.statement);
        let mut python = Python::start(&self.python, &self.folder.place, "read")?;
        python.ask(&json!({ "setup": self.first })).map_err(failed)?;
        python.ask(&json!({ "task": task.statement, "key": task.key, "seed": task.session })).map_err(failed)?;
        Ok(Box::new(DuckdbSession { python, task: task.clone() }))
    }

    fn figure(&mut self, query: &str) -> Result<f64, LabError> {
        let answer = self.observer.ask(&json!({ "query": query })).map_err(|e| in_statement(e, "duckdb", query))?;
        let text = answer["text"].as_str().unwrap_or_default();
        text.parse().map_err(|_| LabError::new(format!("duckdb: no number from {query}: {text}")))
    }

    fn plan(&mut self, check: &PlanCheck) -> Result<String, LabError> {
        for statement in &check.prepare {
            self.observer.ask(&json!({ "setup": [statement] })).map_err(|e| in_statement(e, "duckdb", statement))?;
        }
        let request = json!({ "query": check.explain });
        let answer = self.observer.ask(&request).map_err(|e| in_statement(e, "duckdb", &check.explain))?;
        Ok(without_times(answer["text"].as_str().unwrap_or_default()))
    }

    fn used(&self) -> Option<Usage> {
        Some(Usage::default())
    }

    fn freeze(&mut self) {}

    fn thaw(&mut self) {}
}

struct DuckdbSession {
    python: Python,
    task: Task,
}

impl Session for DuckdbSession {
    fn work(&mut self, operations: u64) -> Result<(), LabError> {
        let request = json!({ "work": operations.div_ceil(self.task.each) });
        self.python.ask(&request).map(drop).map_err(|e| in_statement(e, "duckdb", &self.task.statement))
    }

    fn used(&self) -> Usage {
        Tree { root: self.python.0.process() }.used()
    }

    fn end(self: Box<Self>) -> Result<(), LabError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::without_times;

    #[test]
    fn a_plan_has_no_times() {
        let drawn = |time: &str| {
            format!(
                "╭─ Summary ──╮\n│ Total Time: {time} │\n╰────╯\n│ Type: Index Scan    │\n│ Filters: id = 5 │\n│ 1 row   {time} │\n"
            )
        };
        assert_eq!(without_times(&drawn("0.0003s")), "Type: Index Scan\nFilters: id = 5");
        assert_eq!(without_times(&drawn("0.2s")), without_times(&drawn("12 s")));
    }
}
