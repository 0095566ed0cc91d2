//! MariaDB, started by the laboratory or reached by a URL, through its own command-line client.
//!
//! All loops are in the engine, so the client only sends a CALL and waits. A loop in a client would measure that
//! program, not the wire, so the place `wire` is not offered.

use std::path::PathBuf;
use std::process::Command;

use crate::error::LabError;
use crate::targets::engine::{
    Facts, LOCAL, NoTarget, Request, TCP, Target, first_statements, in_statement, set_up_or_left,
};
use crate::targets::lines::Lines;
use crate::targets::processes::OwnFolder;
use crate::targets::server::{Server, is_root, program, run_to_end};
use crate::targets::sheet::{Place, PlanCheck, Task, statements};
use crate::targets::url::{Parts, without_secrets};
use crate::workers::{Session, Usage};

const DATABASE: &str = "latchwork_lab";
/// Ends a statement: procedures have semicolons inside.
const DELIMITER: &str = "$lab$";
const END: &str = "latchwork-lab-end";

struct Mariadb {
    // Dropped in this order: the session before the server.
    observer: Lines,
    server: Option<Server>,
    way: Way,
    facts: Facts,
    first: Vec<String>,
}

/// How a session is opened.
#[derive(Clone)]
enum Way {
    Socket { client: PathBuf, socket: PathBuf },
    Url { client: PathBuf, parts: Parts, url: String },
}

impl Way {
    fn open(&self, database: Option<&str>) -> Result<Lines, String> {
        let mut command = match self {
            Way::Socket { client, socket } => {
                let mut command = Command::new(client);
                command.args(["--no-defaults", "--user=root"]).arg(format!("--socket={}", socket.display()));
                // The laboratory's own server has no password.
                command.env_remove("MYSQL_PWD");
                command
            }
            Way::Url { client, parts, .. } => {
                let mut command = Command::new(client);
                command
                    .args(["--no-defaults", "--protocol=tcp", "--connect-timeout=10"])
                    .arg(format!("--host={}", parts.host));
                command.arg(format!("--port={}", parts.port.unwrap_or(3306))).arg(format!("--user={}", parts.user));
                // Arguments are public on a machine, the environment is not.
                command.env("MYSQL_PWD", &parts.password);
                command
            }
        };
        command.args(["--batch", "--raw", "--skip-column-names", "--unbuffered"]);
        command.args(database.map(|name| format!("--database={name}")));
        let mut session = Lines::start(command).map_err(|e| e.to_string())?;
        let begin = format!("delimiter {DELIMITER}\nselect '{END}'{DELIMITER}\n");
        session.ask(&begin, END).map_err(|e| self.without_secrets(&e.to_string()))?;
        Ok(session)
    }

    fn without_secrets(&self, message: &str) -> String {
        match self {
            Way::Url { url, .. } => without_secrets(message, url),
            Way::Socket { .. } => message.to_string(),
        }
    }
}

fn run(session: &mut Lines, statement: &str) -> Result<Vec<String>, LabError> {
    let text = format!("{statement}\n{DELIMITER}\nselect '{END}'{DELIMITER}\n");
    session.ask(&text, END).map_err(|e| in_statement(e, "mariadb", statement))
}

/// Starts a server, or connects to the user's one, and sets the experiment up in it.
///
/// # Errors
/// [`NoTarget::Missing`] where it is not installed or cannot be reached.
pub fn start(request: &Request<'_>) -> Result<Box<dyn Target>, NoTarget> {
    let missing = |why: &str| NoTarget::Missing(why.into());
    let client = program("mariadb", &[]).ok_or_else(|| missing("it is not installed (no client mariadb)"))?;
    let (server, way, settings) = match request.url {
        Some(url) => {
            let parts = Parts::of(url).ok_or_else(|| missing("the URL is not mariadb://USER:PASSWORD@HOST:PORT/"))?;
            (None, Way::Url { client, parts, url: url.into() }, Default::default())
        }
        None => {
            let (server, way) = start_server(request, client)?;
            (Some(server), way, request.sheet.settings.clone())
        }
    };
    let mut server = server;
    let first = match &mut server {
        Some(server) => server.wait_for(&mut || way.open(None)).map_err(NoTarget::missing)?,
        None => way.open(None).map_err(NoTarget::Missing)?,
    };
    let mut first = first;
    run(&mut first, &format!("drop database if exists {DATABASE}"))?;
    run(&mut first, &format!("create database {DATABASE}"))?;
    drop(first);
    let observer = way.open(Some(DATABASE)).map_err(LabError::new)?;
    let mut engine = Mariadb { observer, server, way, facts: Facts::default(), first: request.sheet.session.clone() };
    let done = engine.describe(request, settings).and_then(|()| engine.prepare(request));
    // The client ends with a failed statement.
    if done.is_err()
        && let Ok(again) = engine.way.open(None)
    {
        engine.observer = again;
    }
    set_up_or_left(engine, done)
}

fn start_server(request: &Request<'_>, client: PathBuf) -> Result<(Server, Way), NoTarget> {
    let missing = || NoTarget::Missing("it is not installed (no mariadbd and mariadb-install-db)".into());
    let program_of = |name| program(name, &["/usr/sbin".into(), "/usr/libexec".into()]).ok_or_else(missing);
    let (server, install) = (program_of("mariadbd")?, program_of("mariadb-install-db")?);
    let folder = OwnFolder::of("mariadb")?;
    let place = folder.place.clone();
    let data = place.join("data");
    let mut owner = Vec::new();
    if is_root() {
        run_to_end(Command::new("chown").arg("mysql").arg(&place)).map_err(NoTarget::missing)?;
        owner.push("--user=mysql");
    }
    let mut command = Command::new(install);
    command.arg("--no-defaults").args(&owner).arg(format!("--datadir={}", data.display()));
    command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
    run_to_end(&mut command).map_err(NoTarget::missing)?;
    let socket = place.join("socket");
    let mut command = Command::new(server);
    command.arg("--no-defaults").args(&owner).arg(format!("--datadir={}", data.display()));
    command.arg(format!("--socket={}", socket.display())).args(["--skip-networking", "--skip-log-bin"]);
    command.arg(format!("--pid-file={}", place.join("pid").display()));
    for (name, value) in &request.sheet.settings {
        command.arg(format!("--{name}={value}"));
    }
    let server = Server::start(command, folder, (os::signal::SIGKILL, "KILL"))?;
    Ok((server, Way::Socket { client, socket }))
}

impl Mariadb {
    fn prepare(&mut self, request: &Request<'_>) -> Result<(), LabError> {
        let script = match &request.sheet.setup {
            Some(file) => request.experiment.script(file)?,
            None => "",
        };
        let first = self.first.clone();
        for statement in first.iter().chain(&statements(script)).chain(&request.sheet.warm_up) {
            run(&mut self.observer, statement)?;
        }
        Ok(())
    }

    fn describe(
        &mut self,
        request: &Request<'_>,
        settings: std::collections::BTreeMap<String, String>,
    ) -> Result<(), LabError> {
        let mut value = |query: &str| -> Result<String, LabError> { Ok(run(&mut self.observer, query)?.join(" ")) };
        let version = value("select version()")?;
        let flush = value("select @@innodb_flush_log_at_trx_commit")?;
        // Releases before 11.1 have the first name only, later ones both.
        let isolation = value(
            "select variable_value from information_schema.session_variables \
             where variable_name in ('TX_ISOLATION', 'TRANSACTION_ISOLATION') limit 1",
        )?;
        let (place, wire) = match &self.way {
            Way::Socket { .. } => (LOCAL.into(), LOCAL),
            Way::Url { parts, .. } => (parts.place(), TCP),
        };
        self.facts = Facts {
            name: request.name.into(),
            version: format!("MariaDB {}", version.split('-').next().unwrap_or(&version)),
            client: format!("its command-line client, {place}; a call passes through two pipes of that program"),
            wire: wire.into(),
            isolation: isolation.to_lowercase(),
            durability: format!("innodb_flush_log_at_trx_commit {flush}"),
            settings,
            frozen: match self.server {
                Some(_) => "stopped (SIGSTOP) while others are measured".into(),
                None => "never stopped: it is not the laboratory's".into(),
            },
            notes: request.sheet.note.iter().cloned().chain(first_statements(&self.first)).collect(),
        };
        Ok(())
    }
}

impl Target for Mariadb {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn session(&mut self, task: &Task) -> Result<Box<dyn Session>, LabError> {
        if task.place != Place::Engine {
            return Err(LabError::new("mariadb: only loops in the engine are possible".into()));
        }
        let mut lines =
            self.way.open(Some(DATABASE)).map_err(|e| in_statement(e, &self.facts.name, &task.statement))?;
        for statement in &self.first {
            run(&mut lines, statement)?;
        }
        Ok(Box::new(MariadbSession { lines, task: task.clone() }))
    }

    fn figure(&mut self, query: &str) -> Result<f64, LabError> {
        let text = run(&mut self.observer, query)?.join(" ");
        // SHOW STATUS has the name before the value.
        let number = text.split_whitespace().last().and_then(|word| word.parse().ok());
        number.ok_or_else(|| LabError::new(format!("{}: no number from {query}: {text}", self.facts.name)))
    }

    fn plan(&mut self, check: &PlanCheck) -> Result<String, LabError> {
        for statement in &check.prepare {
            run(&mut self.observer, statement)?;
        }
        Ok(run(&mut self.observer, &check.explain)?.join("\n").replace('\t', "  "))
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
        match self.server {
            Some(_) => Ok(()),
            None => run(&mut self.observer, &format!("drop database if exists {DATABASE}")).map(drop),
        }
    }
}

struct MariadbSession {
    lines: Lines,
    task: Task,
}

impl Session for MariadbSession {
    fn work(&mut self, operations: u64) -> Result<(), LabError> {
        run(&mut self.lines, &self.task.for_operations(operations)).map(drop)
    }

    fn end(self: Box<Self>) -> Result<(), LabError> {
        Ok(())
    }
}
