//! What a check found.

use types::Rdba;

/// Most findings that are kept; the rest are counted.
const KEPT_MAX: usize = 10_000;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The block, when it is about one.
    pub block: Option<Rdba>,
    /// The object it belongs to, as `TABLE "SCOTT"."EMP"`; the file for what belongs to none.
    pub object: String,
    /// What is wrong.
    pub what: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.block {
            Some(at) => write!(f, "file {} block {}: {}: {}", at.file(), at.block(), self.object, self.what),
            None => write!(f, "{}: {}", self.object, self.what),
        }
    }
}

/// How much was looked at.
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
    /// What is wrong, at most 10,000 of it.
    pub findings: Vec<Finding>,
    /// How much more is wrong.
    pub more: u64,
    /// What is no damage but worth knowing: space that nobody uses, what was not looked at and why.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(crate) fn fault(&mut self, block: Option<Rdba>, object: &str, what: impl Into<String>) {
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
