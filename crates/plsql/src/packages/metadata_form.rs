//! The form of the texts of DBMS_METADATA.

use super::queries::rows;
use crate::world::World;
use types::{Result, Value};

/// The parameters of the session's transform.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) pretty: bool,
    pub(super) terminator: bool,
    pub(super) segment_attributes: bool,
    pub(super) storage: bool,
    pub(super) tablespace: bool,
    pub(super) constraints: bool,
    pub(super) ref_constraints: bool,
    pub(super) constraints_as_alter: bool,
    pub(super) size_byte_keyword: bool,
    pub(super) force: bool,
    pub(super) specification: bool,
    pub(super) body: bool,
    pub(super) emit_schema: bool,
}

impl Default for Form {
    fn default() -> Form {
        Form {
            pretty: true,
            terminator: false,
            segment_attributes: true,
            storage: true,
            tablespace: true,
            constraints: true,
            ref_constraints: true,
            constraints_as_alter: false,
            size_byte_keyword: false,
            force: true,
            specification: true,
            body: true,
            emit_schema: true,
        }
    }
}

impl Form {
    /// Sets a parameter. False for an unknown one.
    pub(super) fn set(&mut self, name: &str, is_on: bool) -> bool {
        let place = match name {
            "DEFAULT" => {
                *self = Form::default();
                return true;
            }
            "PRETTY" => &mut self.pretty,
            "SQLTERMINATOR" => &mut self.terminator,
            "SEGMENT_ATTRIBUTES" => &mut self.segment_attributes,
            "STORAGE" => &mut self.storage,
            "TABLESPACE" => &mut self.tablespace,
            "CONSTRAINTS" => &mut self.constraints,
            "REF_CONSTRAINTS" => &mut self.ref_constraints,
            "CONSTRAINTS_AS_ALTER" => &mut self.constraints_as_alter,
            "SIZE_BYTE_KEYWORD" => &mut self.size_byte_keyword,
            "FORCE" => &mut self.force,
            "SPECIFICATION" => &mut self.specification,
            "BODY" => &mut self.body,
            "EMIT_SCHEMA" => &mut self.emit_schema,
            // Of what these add, tables here have nothing.
            "OID" | "INHERIT" | "PARTITIONING" => return true,
            _ => return false,
        };
        *place = is_on;
        true
    }
}

/// The form of texts, and the family of views, `all` or `dba`, from which they are read.
pub(super) struct Writer {
    pub(super) form: Form,
    pub(super) views: &'static str,
}

impl Writer {
    /// A line break with what begins the next line, or a blank.
    pub(super) fn line(&self, begin: &str) -> String {
        if self.form.pretty { format!("\n{begin}") } else { " ".to_owned() }
    }

    /// The name of an object.
    pub(super) fn named(&self, schema: &str, name: &str) -> String {
        if self.form.emit_schema { format!("\"{schema}\".\"{name}\"") } else { format!("\"{name}\"") }
    }

    pub(super) fn end(&self) -> &'static str {
        if self.form.terminator { ";" } else { "" }
    }

    /// The end of a statement with PL/SQL.
    pub(super) fn end_of_unit(&self) -> &'static str {
        if self.form.terminator { "\n/" } else { "" }
    }
}

/// A value as text; empty for NULL.
pub(super) fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Lob(lob)) => text(Some(&lob.content)),
        Some(Value::Number(n)) => n.to_string(),
        _ => String::new(),
    }
}

/// The rows of a query, as texts.
pub(super) fn texts<W: World>(w: &mut W, query: &str) -> Result<Vec<Vec<String>>> {
    Ok(rows(w, query)?.iter().map(|row| row.iter().map(|value| text(Some(value))).collect()).collect())
}

/// The options of a sequence, from minvalue, maxvalue, increment, start, cache, order and cycle flags.
pub(super) fn sequence_options(row: &[String]) -> String {
    let cache = if row[4] == "0" { "NOCACHE".to_owned() } else { format!("CACHE {}", row[4]) };
    let order = if row[5] == "Y" { "ORDER" } else { "NOORDER" };
    let cycle = if row[6] == "Y" { "CYCLE" } else { "NOCYCLE" };
    format!(
        "MINVALUE {} MAXVALUE {} INCREMENT BY {} START WITH {} {cache} {order}  {cycle} ",
        row[0], row[1], row[2], row[3]
    )
}
