//! Fuzz targets: every decoder of bytes that come from outside, and the language from text to plan and code.
//!
//! A target is a function over bytes that panics when an invariant breaks, and nothing else: an error is a right
//! answer. The same functions serve two runners. `cargo fuzz` (folder `fuzz/`, libFuzzer) searches by coverage for as
//! long as it is let; [`replay`] runs in `./check` and gives each target its corpus and seeded changes of it. A text
//! goes wrong in ways that bytes do not, so the targets of the language are changed word by word, by [`words`].
#![forbid(unsafe_code)]

pub mod conversation;
pub mod files;
pub mod formats;
pub mod language;
pub mod local;
pub mod oracle_net;
pub mod program;
pub mod recorded;
mod replay;
pub mod rows;
mod words;

pub use replay::{corpora, corpus_of, packed, replay, replay_over, unpacked};

/// A function over bytes with what it is begun with.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name of the libFuzzer program and of the folder of its corpus.
    pub name: &'static str,
    /// Panics when an invariant breaks.
    pub run: fn(&[u8]),
    /// Inputs that are sound, made by the encoders.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Inputs are texts, changed by words.
    pub is_text: bool,
}

/// All targets.
pub const TARGETS: [Target; 17] = [
    oracle_net::PACKETS,
    oracle_net::MESSAGES,
    oracle_net::LOGON,
    conversation::SESSION,
    local::FRAMES,
    local::SESSION,
    language::SQL_PARSE,
    language::SQL_PLAN,
    language::SQL_RUN,
    language::PLSQL_COMPILE,
    files::BLOCK,
    files::REDO,
    files::APPLY,
    files::TEXTS,
    rows::ROWS,
    formats::FORMATS,
    program::PROGRAM,
];

/// The target of that name.
///
/// # Panics
/// When there is none.
pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no fuzz target is called {name}"))
}
