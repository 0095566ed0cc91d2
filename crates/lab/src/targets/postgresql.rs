//! PostgreSQL, started by the laboratory, and any engine that speaks its wire, by a URL.
//!
//! Plans are generic and without compilation (`plan_cache_mode`, `jit`). In a database of the user all objects are in
//! the schema `latchwork_lab`, which is dropped before the set-up and after the run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use postgres::config::Host;
use postgres::types::{ToSql, Type};
use postgres::{Client, Config, NoTls, SimpleQueryMessage, Statement};

use crate::error::LabError;
use crate::targets::engine::{
    Facts, LOCAL, NoTarget, Request, TCP, Target, first_statements, in_statement, set_up_or_left,
};
use crate::targets::processes::OwnFolder;
use crate::targets::ratio::SplitMix;
use crate::targets::server::{Server, is_root, program, run_to_end};
use crate::targets::sheet::{Place, PlanCheck, Task, statements};
use crate::targets::url::{Parts, without_secrets};
use crate::workers::{Session, Usage};

const SCHEMA: &str = "latchwork_lab";

/// The time that a database of the user has to accept a connection, where its URL does not say it.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Refused by some engines that speak the wire.
const OF_SESSIONS: [&str; 2] = ["set plan_cache_mode = force_generic_plan", "set jit = off"];

struct Postgresql {
    // Dropped in this order: the session before the server.
    observer: Client,
    server: Option<Server>,
    config: Config,
    url: String,
    facts: Facts,
    /// Statements that each session executes first.
    first: Vec<String>,
    /// Counters are published by a function, from release 15 on.
    publishes: bool,
}

/// Starts a server, or connects to the user's one, and sets the experiment up in it.
///
/// # Errors
/// [`NoTarget::Missing`] where it is not installed or cannot be reached.
pub fn start(request: &Request<'_>) -> Result<Box<dyn Target>, NoTarget> {
    match request.url {
        Some(url) => connect(request, url),
        None if request.name == "postgresql" => start_server(request),
        None => Err(NoTarget::Missing(format!("it needs {0}=postgresql://USER:PASSWORD@HOST:PORT/NAME", request.name))),
    }
}

fn start_server(request: &Request<'_>) -> Result<Box<dyn Target>, NoTarget> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|v| v.path().join("bin")).collect();
    folders.sort_by(|a, b| release_of(b).total_cmp(&release_of(a)));
    let missing = || NoTarget::Missing("it is not installed (no initdb and postgres)".into());
    let initdb = program("initdb", &folders).ok_or_else(missing)?;
    // The server of the same release: another one may stand in the search path.
    let server = initdb.with_file_name("postgres");
    if !server.is_file() {
        return Err(missing());
    }
    let folder = OwnFolder::of("postgresql")?;
    let place = folder.place.clone();
    if is_root() {
        run_to_end(Command::new("chown").arg("postgres").arg(&place)).map_err(NoTarget::missing)?;
    }
    // A server refuses to run as root.
    let as_user = |program: &PathBuf| match is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
            command.current_dir(&place);
            command
        }
        false => Command::new(program),
    };
    let data = place.join("data");
    let mut init = as_user(&initdb);
    init.arg("-D").arg(&data).args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]);
    run_to_end(&mut init).map_err(NoTarget::missing)?;
    let mut command = as_user(&server);
    command.arg("-D").arg(&data).args(["-c", "listen_addresses="]);
    // The port is a part of the socket's name, and would come from the environment.
    command.args(["-c", "port=5432"]).arg("-c").arg(format!("unix_socket_directories={}", place.display()));
    for (name, value) in &request.sheet.settings {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    let mut config = Config::new();
    config.host_path(&place).port(5432).user("postgres").dbname("postgres");
    let mut server = Server::start(command, folder, (os::signal::SIGQUIT, "QUIT"))?;
    let connected = server.wait_for(&mut || config.connect(NoTls).map_err(|e| told(&e)));
    let observer = connected.map_err(NoTarget::missing)?;
    set_up(
        request,
        Postgresql {
            observer,
            server: Some(server),
            config,
            url: String::new(),
            facts: Facts {
                frozen: "stopped (SIGSTOP) while others are measured".into(),
                settings: request.sheet.settings.clone(),
                client: format!("the crate postgres, {LOCAL}; a loop over the wire executes a prepared statement"),
                wire: LOCAL.into(),
                ..Facts::default()
            },
            first: Vec::new(),
            publishes: false,
        },
    )
}

fn connect(request: &Request<'_>, url: &str) -> Result<Box<dyn Target>, NoTarget> {
    let missing = |why: String| NoTarget::Missing(without_secrets(&why, url));
    let mut config: Config =
        url.parse().map_err(|e: postgres::Error| missing(format!("the URL cannot be read: {e}")))?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_LIMIT);
    }
    let is_local = matches!(config.get_hosts().first(), Some(Host::Unix(_)));
    let place = Parts::of(url).map_or_else(|| "its URL".into(), |parts| parts.place());
    let observer = config.connect(NoTls).map_err(|e| missing(format!("no session at {place}: {}", told(&e))))?;
    set_up(
        request,
        Postgresql {
            observer,
            server: None,
            config,
            url: url.into(),
            facts: Facts {
                frozen: "never stopped: it is not the laboratory's".into(),
                client: format!("the crate postgres, {place}; a loop over the wire executes a prepared statement"),
                wire: if is_local { LOCAL.into() } else { TCP.into() },
                ..Facts::default()
            },
            first: vec![format!("set search_path = {SCHEMA}")],
            publishes: false,
        },
    )
}

/// The release of a folder `/usr/lib/postgresql/RELEASE/bin`.
fn release_of(bin: &Path) -> f64 {
    let release = bin.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    release.and_then(|name| name.parse().ok()).unwrap_or(0.0)
}

/// An error of the client with its cause, which the client's own text leaves out.
fn told(e: &postgres::Error) -> String {
    match (e.as_db_error(), std::error::Error::source(e)) {
        (Some(db), _) => format!("{}: {}", db.code().code(), db.message()),
        (None, Some(cause)) => format!("{e}: {cause}"),
        (None, None) => e.to_string(),
    }
}

fn set_up(request: &Request<'_>, mut engine: Postgresql) -> Result<Box<dyn Target>, NoTarget> {
    let done = prepare(request, &mut engine);
    set_up_or_left(engine, done)
}

fn prepare(request: &Request<'_>, engine: &mut Postgresql) -> Result<(), LabError> {
    if engine.server.is_none() {
        engine.leave()?;
        engine.run(&format!("create schema {SCHEMA}"))?;
    }
    for statement in OF_SESSIONS {
        match engine.observer.batch_execute(statement) {
            Ok(()) => engine.first.push(statement.into()),
            Err(e) => engine.facts.notes.push(format!("refused: {statement} ({})", told(&e))),
        }
    }
    engine.first.extend(request.sheet.session.iter().cloned());
    for statement in engine.first.clone() {
        engine.run(&statement)?;
    }
    let version = engine.text("select version()")?;
    // PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by ...
    engine.facts.version = version.split(" (").next().unwrap_or(&version).to_string();
    engine.facts.name = request.name.into();
    engine.facts.isolation = engine.text("show transaction_isolation")?;
    let setting = |engine: &mut Postgresql, name: &str| {
        engine.text(&format!("show {name}")).map_or_else(|_| String::new(), |value| format!("{name} {value}"))
    };
    let durable = [setting(engine, "fsync"), setting(engine, "synchronous_commit")];
    engine.facts.durability = durable.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", ");
    engine.facts.notes.extend(request.sheet.note.iter().cloned().chain(first_statements(&engine.first)));
    engine.publishes = engine.observer.batch_execute("select pg_stat_force_next_flush()").is_ok();
    let script = match &request.sheet.setup {
        Some(file) => request.experiment.script(file)?,
        None => "",
    };
    for statement in statements(script).iter().chain(&request.sheet.warm_up) {
        engine.run(statement)?;
    }
    Ok(())
}

impl Postgresql {
    fn failed(&self, e: &postgres::Error, statement: &str) -> LabError {
        in_statement(without_secrets(&told(e), &self.url), &self.facts.name, statement)
    }

    fn run(&mut self, statement: &str) -> Result<(), LabError> {
        self.observer.batch_execute(statement).map_err(|e| self.failed(&e, statement))
    }

    /// The first value of a query, and lines of the values of further rows.
    fn text(&mut self, query: &str) -> Result<String, LabError> {
        let rows = self.observer.simple_query(query).map_err(|e| self.failed(&e, query))?;
        let value = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_string()),
            _ => None,
        };
        Ok(rows.iter().filter_map(value).collect::<Vec<_>>().join("\n"))
    }
}

impl Target for Postgresql {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn session(&mut self, task: &Task) -> Result<Box<dyn Session>, LabError> {
        let failed =
            |e: &postgres::Error| in_statement(without_secrets(&told(e), &self.url), &self.facts.name, &task.statement);
        let mut client = self.config.connect(NoTls).map_err(|e| failed(&e))?;
        for statement in &self.first {
            client.batch_execute(statement).map_err(|e| failed(&e))?;
        }
        let prepared = match task.place {
            Place::Engine => None,
            Place::Process | Place::Wire => Some(client.prepare(&task.statement).map_err(|e| failed(&e))?),
        };
        let (task, name, publishes) = (task.clone(), self.facts.name.clone(), self.publishes);
        let keys = SplitMix::of_session(task.session);
        Ok(Box::new(PostgresqlSession { client, prepared, task, name, keys, publishes }))
    }

    fn figure(&mut self, query: &str) -> Result<f64, LabError> {
        // A query of statistics repeats what the transaction has seen before it, so each one is a transaction.
        let text = self.text(query)?;
        text.trim().parse().map_err(|_| LabError::new(format!("{}: no number from {query}: {text}", self.facts.name)))
    }

    fn plan(&mut self, check: &PlanCheck) -> Result<String, LabError> {
        for statement in &check.prepare {
            self.run(statement)?;
        }
        self.text(&check.explain)
    }

    fn used(&self) -> Option<Usage> {
        self.server.as_ref().map(|server| server.tree().used())
    }

    fn freeze(&mut self) {
        self.server.iter().for_each(|server| server.tree().freeze());
    }

    fn thaw(&mut self) {
        self.server.iter().for_each(|server| server.tree().thaw());
    }

    fn leave(&mut self) -> Result<(), LabError> {
        if self.server.is_some() {
            return Ok(());
        }
        self.run(&format!("drop schema if exists {SCHEMA} cascade"))
    }
}

struct PostgresqlSession {
    client: Client,
    prepared: Option<Statement>,
    task: Task,
    name: String,
    keys: SplitMix,
    publishes: bool,
}

impl PostgresqlSession {
    fn execute(&mut self, statement: &Statement) -> Result<usize, postgres::Error> {
        let key = self.task.key.map(|range| self.keys.key(range));
        let (narrow, wide) = (key.map(|key| key as i32), key);
        let parameter: Option<&(dyn ToSql + Sync)> = match statement.params().first() {
            Some(of) if *of == Type::INT4 => narrow.as_ref().map(|key| key as &(dyn ToSql + Sync)),
            _ => wide.as_ref().map(|key| key as &(dyn ToSql + Sync)),
        };
        Ok(self.client.query(statement, parameter.as_slice())?.len())
    }
}

impl Session for PostgresqlSession {
    fn work(&mut self, operations: u64) -> Result<(), LabError> {
        let failed = |e: &postgres::Error, of: &PostgresqlSession| in_statement(told(e), &of.name, &of.task.statement);
        let Some(statement) = self.prepared.clone() else {
            let text = self.task.for_operations(operations);
            return self.client.batch_execute(&text).map_err(|e| failed(&e, self));
        };
        for _ in 0..operations.div_ceil(self.task.each) {
            match self.execute(&statement) {
                Ok(0) => return Err(in_statement("no row", &self.name, &self.task.statement)),
                Ok(_) => {}
                Err(e) => return Err(failed(&e, self)),
            }
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), LabError> {
        if !self.publishes {
            return Ok(());
        }
        let publish = "select pg_stat_force_next_flush()";
        self.client.batch_execute(publish).map_err(|e| in_statement(told(&e), &self.name, publish))
    }

    fn end(self: Box<Self>) -> Result<(), LabError> {
        self.client.close().map_err(|e| in_statement(told(&e), &self.name, "close"))
    }
}

#[cfg(test)]
mod tests {
    use super::release_of;
    use std::path::Path;

    #[test]
    fn releases_are_compared_as_numbers() {
        let of = |release: &str| release_of(&Path::new("/usr/lib/postgresql").join(release).join("bin"));
        assert!(of("9.6") < of("15") && of("15") < of("17"));
        assert_eq!(of("other"), 0.0);
    }
}
