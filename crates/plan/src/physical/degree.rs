//! Degrees of parallel queries, as parameters, tables and hints demand them.

use sql::ast;

/// ALTER SESSION ENABLE, DISABLE and FORCE PARALLEL QUERY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ParallelQuery {
    #[default]
    Disabled,
    /// Attributes of tables and hints decide.
    Enabled,
    /// Every table is read by this many servers, or the default number, unless a hint says otherwise.
    Forced(Option<u32>),
}

/// The session parameters for parallel queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parallel {
    pub query: ParallelQuery,
    /// The degree that DEFAULT stands for.
    pub degree: u32,
}

/// The reason for the degree of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    Hint,
    Table,
    Session,
}

/// The number that represents DEFAULT in the dictionary.
pub const DEFAULT_DEGREE: u32 = 32_767;

/// The degree demanded by a hint for the whole statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    #[default]
    None,
    No,
    Default,
    Degree(u32),
}

impl Wish {
    /// Reads the hints of a block that concern the whole statement.
    pub fn note(&mut self, hints: &ast::Hints) {
        for hint in &hints.list {
            let said = match (hint.name.as_str(), &hint.args[..]) {
                ("NO_PARALLEL" | "NOPARALLEL", []) => Wish::No,
                ("PARALLEL", []) => Wish::Default,
                ("PARALLEL", [arg]) if matches!(arg.as_str(), "DEFAULT" | "AUTO") => Wish::Default,
                ("PARALLEL", [arg]) => match arg.parse() {
                    Ok(degree) => Wish::Degree(degree),
                    // The hint names a table, or is MANUAL.
                    Err(_) => continue,
                },
                _ => continue,
            };
            if *self != Wish::No {
                *self = said;
            }
        }
    }
}
