//! Errors of the PL/SQL parser, and conversion of positions to lines and columns.

use super::ast::Pos;
use std::fmt::Display;
use types::Ora;

/// PLS-`code` at a byte offset.
pub(super) fn pls(code: u32, args: &[&str], pos: Pos) -> Ora {
    let args: Vec<&dyn Display> = args.iter().map(|a| a as &dyn Display).collect();
    Ora::pls(code, &args).at(pos)
}

/// The line and the column of a byte offset, both counted from one, columns in characters.
pub fn line_column(text: &str, pos: Pos) -> (u32, u32) {
    let mut at = (pos as usize).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line = before.matches('\n').count() as u32 + 1;
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    (line, before[start..].chars().count() as u32 + 1)
}
