//! SQLite in the laboratory's own process: one file in WAL mode, a connection for each session.
//!
//! A call of the worker is one read transaction, as a call of a procedure is in a server; without it each execution
//! would take and release the lock of the file.

use rusqlite::Connection;

use crate::error::LabError;
use crate::targets::engine::{Facts, NoTarget, Request, Target, first_statements, in_statement};
use crate::targets::processes::{OwnFolder, used_by_this_thread};
use crate::targets::ratio::SplitMix;
use crate::targets::sheet::{PlanCheck, Task, statements};
use crate::workers::{Session, Usage};

struct Sqlite {
    observer: Connection,
    folder: OwnFolder,
    facts: Facts,
    first: Vec<String>,
}

/// Makes a database in a folder of its own and sets the experiment up in it.
///
/// # Errors
/// The error of a statement.
pub fn start(request: &Request<'_>) -> Result<Box<dyn Target>, NoTarget> {
    let folder = OwnFolder::of("sqlite")?;
    let failed = |e: rusqlite::Error, statement: &str| in_statement(e, request.name, statement);
    let first = request.sheet.session.clone();
    let observer = open(&folder.place, &first)?;
    let script = match &request.sheet.setup {
        Some(file) => request.experiment.script(file)?,
        None => "",
    };
    for statement in statements(script).iter().chain(&request.sheet.warm_up) {
        observer.execute_batch(statement).map_err(|e| failed(e, statement))?;
    }
    // The pages of the set-up move from the log into the database: sessions read one file.
    let checkpoint = "pragma wal_checkpoint(truncate)";
    observer.execute_batch(checkpoint).map_err(|e| failed(e, checkpoint))?;
    let synchronous: i64 =
        observer.query_row("pragma synchronous", [], |row| row.get(0)).map_err(|e| failed(e, "pragma synchronous"))?;
    let facts = Facts {
        name: request.name.into(),
        version: format!("SQLite {}", rusqlite::version()),
        client: "the crate rusqlite, in the laboratory's process".into(),
        isolation: "serializable; a call of the worker is one read transaction".into(),
        durability: match synchronous {
            2 => "write-ahead log, synchronous full".into(),
            other => format!("write-ahead log, synchronous {other}"),
        },
        frozen: "nothing to stop: it has no processes of its own".into(),
        notes: request.sheet.note.iter().cloned().chain(first_statements(&first)).collect(),
        ..Facts::default()
    };
    Ok(Box::new(Sqlite { observer, folder, facts, first }))
}

fn open(folder: &std::path::Path, first: &[String]) -> Result<Connection, LabError> {
    let failed = |e: rusqlite::Error| in_statement(e, "sqlite", "the first statements of a session");
    let database = Connection::open(folder.join("database")).map_err(failed)?;
    database.execute_batch("pragma journal_mode = wal; pragma synchronous = full").map_err(failed)?;
    first.iter().try_for_each(|statement| database.execute_batch(statement).map_err(failed))?;
    Ok(database)
}

impl Target for Sqlite {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn session(&mut self, task: &Task) -> Result<Box<dyn Session>, LabError> {
        let database = open(&self.folder.place, &self.first)?;
        let keys = SplitMix::of_session(task.session);
        Ok(Box::new(SqliteSession { database, task: task.clone(), keys, used: Usage::default() }))
    }

    fn figure(&mut self, query: &str) -> Result<f64, LabError> {
        self.observer.query_row(query, [], |row| row.get(0)).map_err(|e| in_statement(e, &self.facts.name, query))
    }

    fn plan(&mut self, check: &PlanCheck) -> Result<String, LabError> {
        let failed = |e: rusqlite::Error| in_statement(e, &self.facts.name, &check.explain);
        check.prepare.iter().try_for_each(|statement| self.observer.execute_batch(statement)).map_err(failed)?;
        let mut statement = self.observer.prepare(&check.explain).map_err(failed)?;
        // The last column of EXPLAIN QUERY PLAN is the text.
        let last = statement.column_count() - 1;
        let lines = statement.query_map([], |row| row.get::<_, String>(last)).map_err(failed)?;
        Ok(lines.collect::<Result<Vec<_>, _>>().map_err(failed)?.join("\n"))
    }

    fn used(&self) -> Option<Usage> {
        Some(Usage::default())
    }

    fn freeze(&mut self) {}

    fn thaw(&mut self) {}
}

struct SqliteSession {
    database: Connection,
    task: Task,
    keys: SplitMix,
    used: Usage,
}

impl SqliteSession {
    fn executions(&mut self, count: u64) -> Result<(), rusqlite::Error> {
        let mut statement = self.database.prepare_cached(&self.task.statement)?;
        for _ in 0..count {
            if let Some(range) = self.task.key {
                statement.raw_bind_parameter(1, self.keys.key(range))?;
            }
            let mut rows = statement.raw_query();
            let mut seen = false;
            while let Some(row) = rows.next()? {
                // The last column is read, as a client would.
                seen = row.get_ref(row.as_ref().column_count() - 1).is_ok();
            }
            if !seen {
                return Err(rusqlite::Error::QueryReturnedNoRows);
            }
        }
        Ok(())
    }
}

impl Session for SqliteSession {
    fn work(&mut self, operations: u64) -> Result<(), LabError> {
        let before = used_by_this_thread();
        let begun = self.database.execute_batch("begin");
        let done = begun.and_then(|()| self.executions(operations.div_ceil(self.task.each)));
        let done = done.and_then(|()| self.database.execute_batch("commit"));
        self.used = self.used.plus(used_by_this_thread().since(before));
        done.map_err(|e| in_statement(e, "sqlite", &self.task.statement))
    }

    fn used(&self) -> Usage {
        self.used
    }

    fn end(self: Box<Self>) -> Result<(), LabError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::manifest::Experiment;
    use crate::stop::Stop;
    use crate::targets::{Plan, TargetsRun, run};

    fn plan(targets: &[&str]) -> Plan {
        Plan {
            targets: targets.iter().map(|name| name.parse().unwrap()).collect(),
            sessions: vec![1, 2],
            rounds: 2,
            seconds: 0.1,
            iterations: Some(40),
            variants: Vec::new(),
            params: Vec::new(),
            seed: 1,
            progress: false,
            stop: Stop::default(),
        }
    }

    fn run_of(experiment: &Experiment) -> Result<TargetsRun, String> {
        run(experiment, &plan(&["sqlite"])).map_err(|e| e.to_string())
    }

    #[test]
    fn every_experiment_that_has_a_worker_runs_and_is_measured() {
        let mut experiments = Experiment::shipped();
        experiments.push(Experiment::slob());
        experiments.retain(|experiment| experiment.manifest.targets.contains_key("sqlite"));
        assert_eq!(experiments.len(), 4);
        for experiment in experiments {
            let results = run_of(&experiment).unwrap_or_else(|e| panic!("{}: {e}", experiment.manifest.name));
            assert!(!results.rows.is_empty() && results.targets[0].version.starts_with("SQLite 3"), "{results:?}");
            for row in &results.rows {
                assert!(row.cell.ends_with("/process") && row.ops_per_s > 0.0 && row.cpu_us.is_some(), "{row:?}");
                assert_eq!(
                    row.operations,
                    40u64.next_multiple_of(experiment.manifest.sweep.portion) * u64::from(row.sessions)
                );
            }
            assert!(results.beside.is_empty(), "a single engine has no ratio");
        }
    }

    /// With the first option all connections of the process share one page cache and its mutex. The crate's own build
    /// has both, the usual packages of SQLite have neither.
    #[test]
    fn connections_have_a_page_cache_each() {
        let database = rusqlite::Connection::open_in_memory().unwrap();
        let mut statement = database.prepare("pragma compile_options").unwrap();
        let options: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(options.iter().any(|o| o == "THREADSAFE=1"), "{options:?}");
        for shared in ["ENABLE_MEMORY_MANAGEMENT", "ENABLE_API_ARMOR"] {
            assert!(!options.iter().any(|o| o == shared), "LIBSQLITE3_FLAGS in .cargo/config.toml: {options:?}");
        }
    }

    #[test]
    fn another_plan_than_the_manifests_is_an_error() {
        let mut experiment = Experiment::find("result-cache").unwrap();
        let sheet = experiment.manifest.targets.get_mut("sqlite").unwrap();
        let worker = sheet.worker.get_mut("hash-cluster").unwrap().get_mut();
        worker.plan.as_mut().unwrap().has = vec!["SCAN lookup".into()];
        let message = run_of(&experiment).unwrap_err();
        assert!(message.contains("it has no 'SCAN lookup'") && message.contains("PRIMARY KEY"), "{message}");
    }

    #[test]
    fn a_statement_without_a_row_is_an_error() {
        let mut experiment = Experiment::find("result-cache").unwrap();
        let sheet = experiment.manifest.targets.get_mut("sqlite").unwrap();
        let worker = sheet.worker.get_mut("hash-cluster").unwrap().get_mut();
        worker.process.as_mut().unwrap().key = Some([20_000, 20_001]);
        let message = run_of(&experiment).unwrap_err();
        assert!(message.contains("sqlite: Query returned no rows"), "{message}");
    }

    #[test]
    fn what_is_not_asked_for_twice_or_not_there_is_said() {
        let experiment = Experiment::find("result-cache").unwrap();
        let twice = run(&experiment, &plan(&["sqlite", "sqlite"])).map(drop);
        assert!(twice.is_err_and(|e| e.to_string().contains("twice")));
        let results = run(&experiment, &plan(&["sqlite", "citus"])).unwrap();
        assert_eq!(results.missing.len(), 1);
        assert!(results.missing[0].reason.contains("citus=postgresql://"), "{:?}", results.missing);
        assert!(results.not_comparable.iter().any(|said| said.variant.as_deref() == Some("result-cache")));
    }
}
