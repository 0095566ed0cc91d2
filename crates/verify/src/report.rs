//! The findings of a check.

use datafile::ControlFile;
use types::Rdba;

/// Most findings that are kept; further ones are only counted.
const KEPT_MAX: usize = 10_000;

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The number of the file and of the block in it, if the finding concerns a block.
    pub block: Option<(u32, u32)>,
    /// The object it belongs to, as `TABLE "SCOTT"."EMP"`, or else the file.
    pub object: String,
    /// Description of the fault.
    pub what: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.block {
            Some((file, block)) => write!(f, "file {file} block {block}: {}: {}", self.object, self.what),
            None => write!(f, "{}: {}", self.object, self.what),
        }
    }
}

/// Numbers of things checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub files: u64,
    /// Blocks that were read and checked one by one.
    pub blocks: u64,
    pub segments: u64,
    pub tables: u64,
    pub rows: u64,
    pub indexes: u64,
    pub entries: u64,
    pub constraints: u64,
    pub undo_segments: u64,
}

/// The outcome of a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Name of the database.
    pub database: String,
    pub counts: Counts,
    /// The findings, at most 10,000.
    pub findings: Vec<Finding>,
    /// The number of further findings.
    pub more: u64,
    /// Remarks that are no damage: unused space, and checks that were left out with the reason.
    pub notes: Vec<String>,
    /// The files, for the numbers of blocks.
    pub(crate) control: ControlFile,
}

impl Report {
    /// True when there are no findings.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(crate) fn fault(&mut self, block: Option<Rdba>, object: &str, what: impl Into<String>) {
        let block = block.map(|at| self.control.shown(at));
        let finding = Finding { block, object: object.to_owned(), what: what.into() };
        if self.findings.len() >= KEPT_MAX {
            self.more += 1;
        } else if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    pub(crate) fn note(&mut self, what: impl Into<String>) {
        self.notes.push(what.into());
    }
}

/// Progress of a check.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// `blocks`, `tables` or `constraints`.
    pub stage: &'static str,
    /// The file or object being checked.
    pub what: &'a str,
    pub done: u64,
    pub all: u64,
}
