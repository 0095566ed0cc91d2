//! Descriptions without an execution: of statements, and of tables by name.

use super::calls::{CallResult, Calls};
use super::cursors::{Statement, columns};
use net::local::Request as Ask;
use net::oracle::reply::{self, Outcome};
use net::oracle::value::Column;
use types::Ora;

impl Calls {
    /// Parses a statement, and describes the columns of a query.
    pub(super) fn describe(&mut self, number: u16, sequence: u8, out: &mut Vec<u8>) -> CallResult<()> {
        let sql = self.cursors.get(number.into())?.sql.clone();
        // The next execution of the statement uses the cursor that this parse makes.
        self.session.set_statement(number, false);
        let (columns, kind) = self.columns_of(sql)?;
        if !columns.is_empty() {
            reply::write_describe(out, &columns, self.client);
            let statement = self.cursors.get(number.into())?;
            statement.described.clone_from(&columns);
            statement.columns = columns;
        }
        reply::write_parameters(out, self.scn(), number, None);
        Outcome { command: kind, ..self.outcome(number, sequence) }.write(out);
        Ok(())
    }

    /// The columns of a text, or of a cursor that has one, as a separate list. The text gets no cursor.
    pub(super) fn describe_text(
        &mut self,
        cursor: u32,
        sql: Option<String>,
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> CallResult<()> {
        let sql = match sql {
            Some(sql) => sql,
            None => self.cursors.get(cursor)?.sql.clone(),
        };
        let (columns, kind) = self.columns_of(sql)?;
        reply::write_columns(out, &columns, self.client);
        Outcome { command: kind, ..self.outcome(cursor as u16, sequence) }.write(out);
        Ok(())
    }

    /// The columns of a table, a view, or the target of a synonym.
    pub(super) fn describe_object(&mut self, name: &str, sequence: u8, out: &mut Vec<u8>) -> CallResult<()> {
        let missing = || Ora::with(4043, &[&name]);
        if !is_name(name) {
            return Err(missing().into());
        }
        let described = self.columns_of(format!("select * from {name}"));
        let (columns, _) = match described {
            Err(super::calls::CallError::Session(f)) if f.code == 942 => return Err(missing().into()),
            described => described?,
        };
        reply::write_object(out, name, &columns, self.client);
        self.outcome(0, sequence).write(out);
        Ok(())
    }

    /// The columns of a query, none for another statement; and the kind of statement.
    fn columns_of(&mut self, sql: String) -> CallResult<(Vec<Column>, u8)> {
        let is_query = Statement::new(sql.clone()).outline.is_query;
        let said = self.ask(&Ask::Describe { sql })?;
        let described = said.described.map_or(Vec::new(), |(_, described)| described);
        let columns = if is_query { columns(&described)? } else { Vec::new() };
        Ok((columns, said.done.kind.0 as u8))
    }

    fn outcome(&self, cursor: u16, sequence: u8) -> Outcome {
        Outcome { status: self.status(), sequence, cursor, ..Outcome::default() }
    }
}

/// Whether a text is only a name with qualifiers: words or quoted words separated by points, and perhaps a database
/// link.
fn is_name(text: &str) -> bool {
    let is_word = |part: &str| match part.strip_prefix('"').and_then(|p| p.strip_suffix('"')) {
        Some(quoted) => !quoted.is_empty() && !quoted.contains(['"', '\0']),
        None => {
            let follows = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
            part.starts_with(char::is_alphabetic) && part.chars().all(follows)
        }
    };
    let mut parts = Vec::new();
    let (mut from, mut in_quotes) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => in_quotes = !in_quotes,
            '.' | '@' if !in_quotes => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts.into_iter().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_are_distinguished_from_other_texts() {
        for name in ["t", "Scott.emp", "\"a b\".\"c.d\"", "v$session", "u.t@link"] {
            assert!(is_name(name), "{name}");
        }
        for text in ["", "t where 1=1", "t, u", "(select 1)", "t--", "1t", "a..b", "\"a", "a\"", "\"\"", "t;"] {
            assert!(!is_name(text), "{text}");
        }
    }
}
