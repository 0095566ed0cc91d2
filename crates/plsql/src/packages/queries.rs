//! Queries of the built-in packages.

use crate::world::World;
use types::{Ora, Value};

/// A text as a literal of SQL.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The rows of a query.
pub(super) fn rows<W: World>(w: &mut W, query: &str) -> Result<Vec<Vec<Value>>, Ora> {
    let mut cursor = w.open_cursor(query, &[], false)?;
    w.execute(&mut cursor)?;
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    while w.fetch(&mut cursor, &mut row)? {
        rows.push(row.clone());
    }
    w.end_fetch(&mut cursor);
    Ok(rows)
}
