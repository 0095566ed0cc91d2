//! The interface of an engine.

use crate::answer::Rows;
use crate::latchwork::Latchwork;
use crate::parse::Parse;
use crate::text::{Query, Table};
use std::path::Path;
use std::time::Duration;

/// The memory of an engine: its buffers, and the maximum for one sort or hash table.
#[derive(Clone, Copy)]
pub struct Memory {
    pub buffers_mb: u64,
    pub work_mb: u64,
}

/// The reason why a query returned no rows.
#[derive(Clone, Debug)]
pub enum Failure {
    Timeout,
    Error(String),
}

pub trait Engine {
    fn name(&self) -> &'static str;

    /// Creates the tables, loads the rows, creates the keys and gathers statistics.
    fn load(&mut self, tables: &[Table], rows: &Path);

    /// Runs a query to its last row.
    fn run(&mut self, query: &Query, timeout: Duration) -> Result<Rows, Failure>;

    /// Seconds of the last query, if the engine measures them itself.
    fn own_seconds(&self) -> Option<f64> {
        None
    }

    /// The engine's plan, printed.
    fn plan(&mut self, _query: &Query) -> Option<String> {
        None
    }

    /// Parses and plans a statement without running it.
    fn parse(&mut self, sql: &str, timeout: Duration) -> Result<(), Failure>;

    /// A round trip that does nothing.
    fn round_trip(&mut self) {}

    /// Prepares for texts that are parsed in this way. False: the engine does not support it, since it keeps no plans.
    fn is_to_parse(&mut self, parse: Parse) -> bool {
        parse == Parse::Hard
    }

    /// Hard parses so far, if the engine counts them.
    fn hard_parses(&mut self) -> Option<u64> {
        None
    }

    /// The process that does the work, if it is a separate one.
    fn process(&self) -> Option<u32>;

    fn latchwork(&mut self) -> Option<&mut Latchwork> {
        None
    }
}
