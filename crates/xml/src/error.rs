//! Errors of the XML parser and of paths, with the number of the parser's own facility.

use types::Ora;

/// ORA-31011 with the parser's error at a line.
#[cold]
pub fn failed(code: u32, text: &str, line: usize) -> Ora {
    let below = Ora::with(19213, &[&line, &format_args!("\nLPX-{code:05}: {text}")]);
    Ora::new(31011).because(below)
}

/// ORA-19114: an XQuery expression with a wrong syntax at `rest`.
#[cold]
pub fn unparsed(rest: &str) -> Ora {
    let rest: String = rest.chars().take(30).collect();
    Ora::with(19114, &[&format_args!("LPX-00801: XQuery syntax error at '{rest}'")])
}

/// ORA-31011 for a path that EXTRACT and its relatives refuse.
#[cold]
pub(crate) fn wrong_path(path: &str) -> Ora {
    let below = Ora::with(19202, &[&format_args!("\nLPX-00601: Invalid token in: '{path}'")]);
    Ora::new(31011).because(below)
}
