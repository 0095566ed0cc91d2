//! The one interface of all engines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::manifest::Experiment;
use crate::targets::sheet::{PlanCheck, Sheet, Task};
use crate::workers::{Session, Usage};

/// An engine that is set up for an experiment.
pub trait Target {
    /// The page's description of the engine.
    fn facts(&self) -> Facts;

    /// Opens a session that has prepared its task. `task` is the one of this session.
    ///
    /// # Errors
    /// The engine's error.
    fn session(&mut self, task: &Task) -> Result<Box<dyn Session>, LabError>;

    /// The current value of a growing figure.
    ///
    /// # Errors
    /// The engine's error.
    fn figure(&mut self, query: &str) -> Result<f64, LabError>;

    /// A plan as text.
    ///
    /// # Errors
    /// The engine's error.
    fn plan(&mut self, check: &PlanCheck) -> Result<String, LabError>;

    /// The resources that the engine's processes have used so far; `None` where they are not on this machine.
    fn used(&self) -> Option<Usage>;

    /// Stops the engine's processes while others are measured, if they belong to the laboratory.
    fn freeze(&mut self);

    /// Continues them.
    fn thaw(&mut self);

    /// Removes what the set-up has left in a database of the user.
    ///
    /// # Errors
    /// The engine's error.
    fn leave(&mut self) -> Result<(), LabError> {
        Ok(())
    }
}

/// The description of an engine, for the reader of the page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// `postgresql`, or the name that the user gave.
    pub name: String,
    /// `PostgreSQL 15.18`.
    pub version: String,
    /// The program or library through which the sessions work.
    pub client: String,
    /// The transport of a loop over the wire: a local socket or TCP. Empty for an engine without a wire.
    #[serde(default)]
    pub wire: String,
    pub isolation: String,
    pub durability: String,
    /// Settings of a server that the laboratory has started.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Whether it is stopped while others are measured.
    pub frozen: String,
    /// The manifest's remark, and the licence where it has a rule about results.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The wires of [`Facts`].
pub const LOCAL: &str = "local socket";
pub const TCP: &str = "TCP";

/// The remark on the statements that each session executes first; none without any.
pub fn first_statements(statements: &[String]) -> Option<String> {
    (!statements.is_empty()).then(|| format!("Each session first: {}.", statements.join("; ")))
}

/// The set-up of an engine.
pub struct Request<'a> {
    pub experiment: &'a Experiment,
    /// The engine's section of the manifest; the section of PostgreSQL for an engine that speaks its wire.
    pub sheet: &'a Sheet,
    /// The name of the engine in tables.
    pub name: &'a str,
    /// The database of the user, instead of a server that the laboratory starts.
    pub url: Option<&'a str>,
    /// Init parameters of Latchwork.
    pub params: &'a [(String, String)],
}

/// Why there is no target.
#[derive(Debug)]
pub enum NoTarget {
    /// The engine is not there, or its server does not start: a remark to the user, and the run goes on.
    Missing(String),
    /// The experiment's set-up fails in it: the run ends.
    Failed(LabError),
}

impl NoTarget {
    pub fn missing(e: LabError) -> NoTarget {
        NoTarget::Missing(e.to_string())
    }
}

impl From<LabError> for NoTarget {
    fn from(e: LabError) -> NoTarget {
        NoTarget::Failed(e)
    }
}

/// An engine whose set-up has ended. Where it has failed, its objects are removed from a database of the user.
///
/// # Errors
/// That of the set-up.
pub fn set_up_or_left<T: Target + 'static>(
    mut engine: T,
    done: Result<(), LabError>,
) -> Result<Box<dyn Target>, NoTarget> {
    match done {
        Ok(()) => Ok(Box::new(engine)),
        Err(e) => {
            // The first error is the one to tell.
            let _ = engine.leave();
            Err(e.into())
        }
    }
}

/// Statements of a set-up that failed, in the words of the engine.
pub fn in_statement(e: impl std::fmt::Display, engine: &str, statement: &str) -> LabError {
    LabError::new(format!("{engine}: {e}\nin the statement\n{statement}"))
}
