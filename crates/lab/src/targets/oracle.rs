//! Engines with Oracle's SQL: Latchwork itself, and a database that is reached by Oracle Net.

use client::{Bind, Client, ConnectOptions, Credentials, Ephemeral, NetAddress, Route};
use types::{DataType, Number, Value};

use crate::error::LabError;
use crate::run::Worker;
use crate::targets::engine::{Facts, LOCAL, NoTarget, Request, TCP, Target, in_statement, set_up_or_left};
use crate::targets::processes::{End, Guard, Tree};
use crate::targets::ratio::SplitMix;
use crate::targets::sheet::{Place, PlanCheck, Task};
use crate::targets::url::{Parts, without_secrets};
use crate::workers::{Session, Usage};

/// The rule of Oracle's licence that a user of the laboratory has to know.
const LICENCE: &str = "Oracle's licence does not allow the results of benchmarks to be disclosed without its consent. \
                       These results stay in this folder.";

/// Latchwork, or a database with its SQL.
pub struct OracleTarget {
    // Dropped in this order: the session, then the instance, then the guard that continues it.
    observer: Client,
    place: Home,
    facts: Facts,
    session: Vec<String>,
    teardown: Vec<String>,
}

enum Home {
    Own { instance: Ephemeral, _guard: Guard },
    Net { route: Box<Route>, credentials: Credentials, url: String },
}

impl Home {
    fn connect(&self) -> Result<Client, LabError> {
        match self {
            Home::Own { instance, .. } => Ok(instance.connect(&Credentials::Sysdba)?),
            Home::Net { route, credentials, url } => {
                Client::connect_net(route, credentials, &ConnectOptions::default())
                    .map_err(|e| LabError::new(without_secrets(&e.to_string(), url)))
            }
        }
    }

    fn tree(&self) -> Option<Tree> {
        match self {
            Home::Own { instance, .. } => Some(Tree { root: instance.supervisor() }),
            Home::Net { .. } => None,
        }
    }
}

/// Starts an instance of Latchwork and sets the experiment up in it.
///
/// # Errors
/// When the instance cannot be started, or a statement fails.
pub fn latchwork(request: &Request<'_>, generation: &str) -> Result<Box<dyn Target>, NoTarget> {
    let mut params = request.experiment.manifest.parameters.clone();
    params.extend(request.sheet.settings.clone());
    params.insert("latch_generation".into(), generation.into());
    params.extend(request.params.iter().cloned());
    let pairs: Vec<(&str, &str)> = params.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let instance = Ephemeral::start(&pairs).map_err(LabError::from)?;
    let guard = Guard::of(Tree { root: instance.supervisor() }, &End::ByItself(instance.dir()))?;
    let place = Home::Own { instance, _guard: guard };
    let observer = place.connect()?;
    let facts = Facts {
        name: request.name.into(),
        version: format!("Latchwork {}, latch_generation {generation}", env!("CARGO_PKG_VERSION")),
        client: format!("its own client, {LOCAL}; a loop over the wire sends the statement's text each time"),
        wire: LOCAL.into(),
        isolation: "read committed: each statement reads as of its start".into(),
        durability: "a commit waits until its redo is on disk".into(),
        settings: params.clone(),
        frozen: "stopped (SIGSTOP) while others are measured".into(),
        notes: request.sheet.note.iter().cloned().collect(),
    };
    set_up(request, place, observer, facts)
}

/// Connects to the user's database and sets the experiment up in the user's schema.
///
/// # Errors
/// [`NoTarget::Missing`] where it cannot be reached.
pub fn oracle(request: &Request<'_>) -> Result<Box<dyn Target>, NoTarget> {
    let missing = |why: &str| NoTarget::Missing(why.into());
    let url = request.url.ok_or_else(|| missing("it needs oracle=oracle://USER:PASSWORD@HOST:PORT/SERVICE"))?;
    let parts = Parts::of(url).ok_or_else(|| missing("the URL is not oracle://USER:PASSWORD@HOST:PORT/SERVICE"))?;
    let address = NetAddress::parse(&parts.place()).ok_or_else(|| missing("the URL has no address"))?;
    let credentials = Credentials::password(&parts.user, &parts.password);
    let route = Box::new(Route::to(&address));
    let place = Home::Net { route, credentials, url: url.into() };
    let mut observer =
        place.connect().map_err(|e| NoTarget::Missing(format!("no session at {}: {e}", parts.place())))?;
    let owned = number(&mut observer, OWNED).map_err(|e| in_statement(e, request.name, OWNED))?;
    if owned > 0.0 {
        return Err(NoTarget::Missing(format!(
            "the schema of its user is not empty ({owned} objects). An experiment makes objects there and drops them by \
             their names: give the laboratory a user without any"
        )));
    }
    let facts = Facts {
        name: request.name.into(),
        version: observer.welcome().banner.clone(),
        client: format!(
            "Latchwork's client over Oracle Net, {}; a loop over the wire sends the statement's text each time",
            parts.place()
        ),
        wire: TCP.into(),
        isolation: "read committed: each statement reads as of its start".into(),
        durability: "as the database is set".into(),
        frozen: "never stopped: it is not the laboratory's".into(),
        notes: request.sheet.note.iter().cloned().chain(Some(LICENCE.to_string())).collect(),
        ..Facts::default()
    };
    set_up(request, place, observer, facts)
}

/// The objects of the user; dropped tables are named `BIN$…` until they are purged.
const OWNED: &str = "select count(*) from user_objects where object_name not like 'BIN$%'";

/// The number that a query returns.
fn number(session: &mut Client, query: &str) -> Result<f64, LabError> {
    let rows = session.query(query, &[]).and_then(|q| q.all())?;
    match rows.first().and_then(|row| row.first()) {
        Some(Value::Number(number)) => Ok(number.to_f64()),
        _ => Err(LabError::new("no number".into())),
    }
}

fn set_up(request: &Request<'_>, place: Home, observer: Client, facts: Facts) -> Result<Box<dyn Target>, NoTarget> {
    let teardown = if request.url.is_some() { request.sheet.teardown.clone() } else { Vec::new() };
    let session = request.sheet.session.clone();
    let mut target = OracleTarget { observer, place, facts, session, teardown };
    let done = prepare(request, &mut target);
    set_up_or_left(target, done)
}

fn prepare(request: &Request<'_>, target: &mut OracleTarget) -> Result<(), LabError> {
    let own = match &request.sheet.setup {
        Some(file) => request.experiment.script(file)?,
        None => &request.experiment.setup,
    };
    let warm_up = request.experiment.manifest.warm_up.iter().chain(&request.sheet.warm_up);
    for statement in shell::split_script(own).iter().chain(warm_up) {
        target.observer.execute(statement, &[]).map_err(|e| in_statement(e, request.name, statement))?;
    }
    Ok(())
}

impl Target for OracleTarget {
    fn facts(&self) -> Facts {
        self.facts.clone()
    }

    fn session(&mut self, task: &Task) -> Result<Box<dyn Session>, LabError> {
        let mut client = self.place.connect()?;
        for statement in &self.session {
            client.execute(statement, &[]).map_err(|e| in_statement(e, &self.facts.name, statement))?;
        }
        Ok(match task.place {
            Place::Engine => Box::new(Worker { client, statement: task.statement.clone() }),
            Place::Process | Place::Wire => {
                Box::new(Caller { client, task: task.clone(), keys: SplitMix::of_session(task.session) })
            }
        })
    }

    fn figure(&mut self, query: &str) -> Result<f64, LabError> {
        number(&mut self.observer, query).map_err(|e| in_statement(e, &self.facts.name, query))
    }

    fn plan(&mut self, check: &PlanCheck) -> Result<String, LabError> {
        for statement in &check.prepare {
            self.observer.execute(statement, &[]).map_err(|e| in_statement(e, &self.facts.name, statement))?;
        }
        let rows = self.observer.query(&check.explain, &[]).and_then(|q| q.all());
        let rows = rows.map_err(|e| in_statement(e, &self.facts.name, &check.explain))?;
        let line = |row: Vec<Value>| match row.into_iter().next() {
            Some(Value::Text(text)) => text,
            _ => String::new(),
        };
        Ok(rows.into_iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    fn used(&self) -> Option<Usage> {
        self.place.tree().map(Tree::used)
    }

    fn freeze(&mut self) {
        self.place.tree().into_iter().for_each(Tree::freeze);
    }

    fn thaw(&mut self) {
        self.place.tree().into_iter().for_each(Tree::thaw);
    }

    fn leave(&mut self) -> Result<(), LabError> {
        let mut failed = None;
        for statement in &self.teardown {
            let done = self.observer.execute(statement, &[]);
            failed = failed.or(done.err().map(|e| in_statement(e, &self.facts.name, statement)));
        }
        failed.map_or(Ok(()), Err)
    }
}

/// A session that executes one statement again and again, with a round trip each.
struct Caller {
    client: Client,
    task: Task,
    keys: SplitMix,
}

impl Session for Caller {
    fn work(&mut self, operations: u64) -> Result<(), LabError> {
        for _ in 0..operations.div_ceil(self.task.each) {
            let key = self.task.key.map(|range| Number::from_i64(self.keys.key(range)));
            let binds = key.map(|key| Bind::named("key", DataType::NUMBER, Value::Number(key)));
            let rows = self.client.query(&self.task.statement, binds.as_slice())?.all()?;
            if rows.is_empty() {
                return Err(LabError::new(format!("no row from {}", self.task.statement)));
            }
        }
        Ok(())
    }

    fn end(self: Box<Self>) -> Result<(), LabError> {
        Ok(self.client.logoff(true)?)
    }
}
