//! Errors of name resolution.

use sql::ast;
use types::Ora;

/// The name of a column as printed in ORA-00904.
pub fn quoted_path(parts: &[ast::Ident]) -> String {
    parts.iter().map(|p| format!("\"{}\"", p.name)).collect::<Vec<_>>().join(".")
}

/// ORA-00904: invalid identifier.
pub fn invalid_identifier(name: &ast::Name) -> Ora {
    Ora::with(904, &[&quoted_path(&name.parts)]).at(name.pos.0)
}

pub fn unsupported(what: &str, pos: u32) -> Ora {
    Ora::with(3001, &[&what]).at(pos)
}
