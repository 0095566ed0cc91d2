//! Errors of compilations.

use sql::plsql::line_column;
use types::{Facility, Ora};

/// One line of USER_ERRORS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    pub line: u32,
    pub column: u32,
    /// `PLS-00201: identifier 'X' must be declared`, `PL/SQL: Statement ignored`.
    pub text: String,
}

/// The error of a text that cannot be parsed.
pub(crate) fn parse_error(text: &str, e: &Ora) -> CompileError {
    let (line, column) = line_column(text, e.position().unwrap_or(0));
    CompileError { line, column, text: e.headline() }
}

/// ORA-06550 for a list of errors.
pub(crate) fn compile_failed(errors: &[CompileError]) -> Ora {
    let mut lines = errors.iter().map(|e| {
        let text = format!("line {}, column {}:\n{}", e.line, e.column, e.text);
        Ora::from_text(Facility::Ora, 6550, text)
    });
    let first = lines.next().unwrap_or_else(|| Ora::internal("a unit failed without an error"));
    lines.fold(first, Ora::because)
}

/// The errors of a block, at the position of the first one.
pub(crate) fn block_failed(text: &str, errors: &[CompileError]) -> Ora {
    let error = compile_failed(errors);
    let Some(first) = errors.first() else { return error };
    let line_start = match first.line {
        0 | 1 => 0,
        line => text.match_indices('\n').nth(line as usize - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let column = first.column.saturating_sub(1) as usize;
    let in_line = text[line_start..].char_indices().nth(column).map_or(0, |(at, _)| at);
    error.at((line_start + in_line) as u32)
}
