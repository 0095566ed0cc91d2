//! XMLTABLE: rows from the items of an expression.

use crate::document::Document;
use crate::evaluate::Check;
use crate::item::{Item, Source, check_text, many, text_of_all};
use crate::parse::{Namespaces, parse};
use crate::query::Query;
use std::rc::Rc;
use types::image::Image;
use types::{DataType, Nls, Number, Ora, Result, Value};

/// The definition of a table. The text of the row expression, the context and the variables are arguments.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Table {
    pub namespaces: Vec<(String, String)>,
    pub variables: Vec<String>,
    pub columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq, Image)]
pub enum Column {
    Ordinality,
    Value { path: String, ty: DataType, default: Value },
}

/// The rows of a table. The same expression is not parsed twice in a row.
pub struct TableRows {
    table: Table,
    paths: Vec<Option<Query>>,
    expression: Option<(String, Query)>,
    rows: Vec<Item>,
    /// The number of the current row, from 1.
    at: usize,
}

impl Table {
    /// # Errors
    /// ORA-19114 for a wrong path of a column.
    pub fn rows(&self) -> Result<TableRows> {
        let path = |column: &Column| match column {
            Column::Ordinality => Ok(None),
            Column::Value { path, .. } => parse(path, &[], self.namespaces.clone() as Namespaces, false).map(Some),
        };
        let paths = self.columns.iter().map(path).collect::<Result<_>>()?;
        Ok(TableRows { table: self.clone(), paths, expression: None, rows: Vec::new(), at: 0 })
    }

    /// Parses an expression with the namespaces and variables of the table.
    ///
    /// # Errors
    /// ORA-19114 for a wrong expression.
    pub fn query(&self, text: &str) -> Result<Query> {
        parse(text, &self.variables, self.namespaces.clone() as Namespaces, false)
    }
}

/// A value of SQL as items: an XML value is its document, `None` for no item.
///
/// # Errors
/// ORA-31011 for XML that is not well-formed.
pub fn items_of(value: &Value, xml: bool, number: usize) -> Result<Vec<Item>> {
    Ok(match value.content() {
        Value::Null | Value::EmptyLob => Vec::new(),
        Value::Text(text) if xml => {
            let mut document = Document::default();
            document.parse(text, true)?;
            let root = document.root();
            vec![Item::Node(Source::new(number, Rc::new(document)), root)]
        }
        Value::Number(n) => vec![Item::Number(n.to_f64())],
        Value::Boolean(b) => vec![Item::Boolean(*b)],
        other => {
            let mut text = String::new();
            crate::make::value_text(other, &Nls::default(), &mut text)?;
            vec![Item::text(&text)]
        }
    })
}

impl TableRows {
    /// Evaluates the row expression. `context` is `None` without a context item; `values` are those of the variables,
    /// each with whether it is XML.
    ///
    /// # Errors
    /// Those of the expression and of its evaluation.
    pub fn open(
        &mut self,
        expression: &str,
        context: Option<&Value>,
        values: &[(&Value, bool)],
        check: Check<'_>,
    ) -> Result<()> {
        self.rows.clear();
        self.at = 0;
        let item = match context {
            Some(value) => match items_of(value, true, 0)?.pop() {
                Some(item) => Some(item),
                // A table over NULL has no rows.
                None => return Ok(()),
            },
            None => None,
        };
        let mut variables = Vec::with_capacity(values.len());
        for ((value, xml), number) in values.iter().zip(1..) {
            variables.push(items_of(value, *xml, number)?);
        }
        if self.expression.as_ref().is_none_or(|(known, _)| known != expression) {
            self.expression = Some((expression.to_owned(), self.table.query(expression)?));
        }
        let Some((_, query)) = &self.expression else { return Ok(()) };
        self.rows = query.evaluate(item, variables, check)?;
        Ok(())
    }

    /// Moves to the next row.
    pub fn advance(&mut self) -> bool {
        self.at += 1;
        self.at <= self.rows.len()
    }

    /// The value of a column in the current row.
    ///
    /// # Errors
    /// ORA-19279 for several items in a scalar, and the errors of conversions.
    pub fn column(&mut self, column: u16, nls: &Nls, check: Check<'_>, out: &mut Value) -> Result<()> {
        let at = usize::from(column);
        let (Some(definition), Some(row)) = (self.table.columns.get(at), self.rows.get(self.at - 1)) else {
            return Err(Ora::internal("column of XMLTABLE"));
        };
        let (Column::Value { ty, default, .. }, Some(Some(path))) = (definition, self.paths.get(at)) else {
            *out = Value::Number(Number::from_u64(self.at as u64));
            return Ok(());
        };
        let items = path.evaluate(Some(row.clone()), Vec::new(), check)?;
        if items.is_empty() {
            out.set(default);
            return Ok(());
        }
        cast(&items, ty, nls, out)
    }
}

/// XMLCAST, and the columns of XMLTABLE: items as a value of a type.
///
/// # Errors
/// ORA-19279 for several items in a scalar, and the errors of conversions.
pub fn cast(items: &[Item], ty: &DataType, nls: &Nls, out: &mut Value) -> Result<()> {
    if *ty == DataType::Xml {
        let text = out.text_buffer();
        for item in items {
            item.push_xml(text);
            check_text(text.len())?;
        }
        out.normalize();
        return Ok(());
    }
    if items.len() > 1 {
        return Err(many());
    }
    let text = text_of_all(items);
    *out = match ty {
        DataType::Date if !text.trim().is_empty() => Value::Date(moment(text.trim(), nls)?.own_date().midnight()),
        DataType::Timestamp { .. } if !text.trim().is_empty() => Value::Timestamp(moment(text.trim(), nls)?),
        _ => Value::text(text),
    };
    // Numbers have a point, whatever the session's NLS_NUMERIC_CHARACTERS.
    match ty {
        DataType::Number { .. } | DataType::Float { .. } | DataType::BinaryDouble | DataType::BinaryFloat => {
            ty.cast(out, &Nls::default())
        }
        _ => ty.cast(out, nls),
    }
}

/// A date or time in the format of ISO 8601.
fn moment(text: &str, nls: &Nls) -> Result<types::Timestamp> {
    let (date, time) = text.split_once('T').unwrap_or((text, "00:00:00"));
    let offset = time.rfind(['+', '-']);
    let spaced = match (time.strip_suffix('Z'), offset) {
        (Some(time), _) => format!("{date} {time} +00:00"),
        (None, Some(at)) => format!("{date} {} {}", &time[..at], &time[at..]),
        (None, None) => format!("{date} {time}"),
    };
    types::format::timestamp_literal(&spaced, nls)
}
