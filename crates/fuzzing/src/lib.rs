//! Fuzz targets: every decoder of bytes from outside, and the language from text to plan and code.
//!
//! A target is a function over bytes that panics when an invariant is violated, and only then: an error is a correct
//! answer. The same functions serve two runners. `cargo fuzz` (folder `fuzz/`, libFuzzer) searches by coverage for any
//! length of time; [`replay`] runs in `./check` and gives each target its corpus and seeded changes of it. Changes of
//! single bytes of a text are rarely useful, so the inputs of the language targets are changed word by word, by
//! [`words`].
#![forbid(unsafe_code)]

pub mod conversation;
pub mod documents;
pub mod files;
pub mod formats;
pub mod language;
pub mod local;
pub mod markup;
pub mod oracle_net;
pub mod program;
pub mod recorded;
mod replay;
pub mod rows;
mod target;
mod words;

pub use replay::{corpora, corpus_of, packed, replay, replay_over, unpacked};
pub use target::Target;

/// All targets.
pub const TARGETS: [Target; 19] = [
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
    documents::JSON,
    markup::XML,
    program::PROGRAM,
];

/// The target with this name.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no fuzz target is called {name}"))
}
