//! The treatment of rows by the kind of a hash join and its built side.

use plan::{JoinKind, Side};

/// The effect of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMatch {
    /// Both rows are returned.
    Pair,
    /// The probe row is returned once.
    TakeProbe,
    /// The probe row is dropped.
    DropProbe,
    /// The row of the table is returned once.
    TakeBuild,
    /// The row of the table is dropped.
    DropBuild,
}

/// The treatment of rows with and without a match.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub on_match: OnMatch,
    /// Whether a probe row without a match is returned.
    pub keep_probe: bool,
    /// Whether rows of the table without a match are returned at the end.
    pub keep_build: bool,
    /// Whether rows of the table are marked when they match.
    pub marks: bool,
    /// Whether a second match is an error (ORA-01427).
    pub single: bool,
    pub aware: bool,
}

impl How {
    pub fn of(kind: JoinKind, build: Side) -> How {
        let left_built = build == Side::Left;
        let on_match = match kind {
            JoinKind::Inner | JoinKind::Left | JoinKind::Full | JoinKind::Single => OnMatch::Pair,
            JoinKind::Semi if left_built => OnMatch::TakeBuild,
            JoinKind::Semi => OnMatch::TakeProbe,
            JoinKind::Anti | JoinKind::AntiNullAware if left_built => OnMatch::DropBuild,
            JoinKind::Anti | JoinKind::AntiNullAware => OnMatch::DropProbe,
        };
        let keeps_left = !matches!(kind, JoinKind::Inner | JoinKind::Semi);
        let full = kind == JoinKind::Full;
        How {
            on_match,
            keep_probe: full || keeps_left && !left_built,
            keep_build: full || keeps_left && left_built,
            marks: full || left_built && kind != JoinKind::Inner,
            single: kind == JoinKind::Single,
            aware: kind == JoinKind::AntiNullAware,
        }
    }
}
