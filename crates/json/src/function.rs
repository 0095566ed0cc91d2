//! JSON_VALUE, JSON_QUERY and JSON_EXISTS over a parsed document, and the columns of JSON_TABLE.

use crate::document::{Document, Kind, NodeId, Syntax};
use crate::path::{Item, Path, Scratch, parse};
use crate::write::{Layout, WRITTEN_MAX, line, write_at};
use types::image::Image;
use types::{DataType, LenUnit, Nls, Number, Ora, Result, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Operator {
    Value,
    Query,
    Exists,
    /// `table.column.name`: a scalar as JSON_VALUE returns it, anything else as JSON_QUERY WITH WRAPPER does.
    Dot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Image)]
pub enum Wrapper {
    Without,
    Conditional,
    Unconditional,
}

/// The result of a function in place of a value: the ON ERROR and ON EMPTY clauses.
#[derive(Clone, Debug, PartialEq, Image)]
pub enum Otherwise {
    /// The clause is missing.
    Unset,
    Null,
    Error,
    Default(Value),
    EmptyArray,
    EmptyObject,
    True,
    False,
}

/// A function with its clauses.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Function {
    pub operator: Operator,
    pub path: String,
    /// Names of the PASSING clause.
    pub variables: Vec<String>,
    /// RETURNING.
    pub ty: DataType,
    pub wrapper: Wrapper,
    pub pretty: bool,
    pub ascii: bool,
    /// TRUNCATE: a text that is too long is cut instead of an error.
    pub truncate: bool,
    /// ALLOW SCALARS of JSON_QUERY.
    pub scalars: bool,
    pub on_error: Otherwise,
    pub on_empty: Otherwise,
}

impl Function {
    /// A function with this path and the default clauses.
    pub fn new(operator: Operator, path: String, ty: DataType) -> Function {
        Function {
            operator,
            path,
            variables: Vec::new(),
            ty,
            wrapper: Wrapper::Without,
            pretty: false,
            ascii: false,
            truncate: false,
            scalars: false,
            on_error: Otherwise::Unset,
            on_empty: Otherwise::Unset,
        }
    }
}

/// A function with its parsed path.
#[derive(Debug)]
pub struct Compiled {
    function: Function,
    path: Path,
    nodes: Vec<NodeId>,
    scratch: Scratch,
}

impl Compiled {
    /// # Errors
    /// ORA-40597 for a wrong path.
    pub fn new(function: Function) -> Result<Compiled> {
        let path = parse(&function.path, &function.variables)?;
        Ok(Compiled { function, path, nodes: Vec::new(), scratch: Scratch::default() })
    }

    /// Evaluates the function over a text, which `document` parses.
    ///
    /// # Errors
    /// The errors of ERROR ON ERROR and ERROR ON EMPTY.
    pub fn run(
        &mut self,
        document: &mut Document,
        text: &str,
        variables: &[Value],
        nls: &Nls,
        out: &mut Value,
    ) -> Result<()> {
        match document.parse(text, Syntax::default()) {
            Ok(()) => self.evaluate(document, document.root(), variables, nls, out),
            Err(e) => self.fail(e, out),
        }
    }

    /// Evaluates the function for a part of a document.
    ///
    /// # Errors
    /// As [`Compiled::run`].
    pub fn evaluate(
        &mut self,
        document: &Document,
        root: NodeId,
        variables: &[Value],
        nls: &Nls,
        out: &mut Value,
    ) -> Result<()> {
        let mut nodes = std::mem::take(&mut self.nodes);
        nodes.clear();
        let found = self.path.nodes(document, root, variables, &mut self.scratch, &mut nodes);
        let result = found.and_then(|()| self.give(document, &nodes, nls, out));
        self.nodes = nodes;
        match result {
            Ok(true) => Ok(()),
            Ok(false) => match &self.function.on_empty {
                Otherwise::Unset if self.function.operator == Operator::Dot => self.set(&Otherwise::Null, out),
                Otherwise::Unset => self.fail(Ora::new(40462), out),
                Otherwise::Error => Err(Ora::new(40462)),
                otherwise => self.set(otherwise, out),
            },
            Err(e) => self.fail(e, out),
        }
    }

    /// ON ERROR.
    fn fail(&self, error: Ora, out: &mut Value) -> Result<()> {
        match &self.function.on_error {
            Otherwise::Error => Err(error),
            Otherwise::Unset if self.function.operator == Operator::Exists => self.set(&Otherwise::False, out),
            otherwise => self.set(otherwise, out),
        }
    }

    fn set(&self, otherwise: &Otherwise, out: &mut Value) -> Result<()> {
        match otherwise {
            Otherwise::Unset | Otherwise::Null | Otherwise::Error => *out = Value::Null,
            Otherwise::Default(value) => out.set(value),
            Otherwise::EmptyArray => self.text_result("[]", out)?,
            Otherwise::EmptyObject => self.text_result("{}", out)?,
            Otherwise::True => self.truth(true, out),
            Otherwise::False => self.truth(false, out),
        }
        Ok(())
    }

    fn truth(&self, truth: bool, out: &mut Value) {
        match self.function.ty {
            DataType::Boolean => *out = Value::Boolean(truth),
            DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => {
                *out = Value::Number(Number::from_i64(i64::from(truth)));
            }
            _ => out.set_text(if truth { "true" } else { "false" }),
        }
    }

    /// Gives the value of the selected nodes; false if there is none.
    fn give(&self, document: &Document, nodes: &[NodeId], nls: &Nls, out: &mut Value) -> Result<bool> {
        match self.function.operator {
            Operator::Exists => {
                let exists = !nodes.is_empty();
                if !exists && self.function.on_empty != Otherwise::Unset {
                    return Ok(false);
                }
                self.truth(exists, out);
                Ok(true)
            }
            Operator::Value => match nodes {
                [node] if self.path.method.is_none() => {
                    item_value(&Item::of(document, *node), &self.function, nls, out)?;
                    Ok(true)
                }
                _ => match &self.path.items(document, nodes)[..] {
                    [] => Ok(false),
                    [item] => {
                        item_value(item, &self.function, nls, out)?;
                        Ok(true)
                    }
                    _ => Err(Ora::new(40470)),
                },
            },
            Operator::Query => self.query(document, nodes, out),
            Operator::Dot => match nodes {
                [] => Ok(false),
                [node] if !is_container(document, *node) || self.path.method.is_some() => {
                    match self.path.items(document, nodes).first() {
                        Some(item) => item_value(item, &self.function, nls, out)?,
                        None => *out = Value::Null,
                    }
                    Ok(true)
                }
                _ => self.query(document, nodes, out),
            },
        }
    }

    fn query(&self, document: &Document, nodes: &[NodeId], out: &mut Value) -> Result<bool> {
        let layout = Layout { pretty: self.function.pretty, ascii: self.function.ascii };
        let wrapped = match (nodes, self.function.wrapper) {
            ([], _) => return Ok(false),
            ([node], Wrapper::Without) if is_container(document, *node) || self.function.scalars => false,
            (_, Wrapper::Without) => return Err(Ora::new(40480)),
            ([node], Wrapper::Conditional) if is_container(document, *node) => false,
            (_, Wrapper::Conditional | Wrapper::Unconditional) => true,
        };
        let text = out.text_buffer();
        if wrapped {
            text.push('[');
        }
        for (at, node) in nodes.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            if wrapped {
                line(layout, 1, text);
            }
            write_at(document, *node, layout, usize::from(wrapped), text);
            if text.len() > WRITTEN_MAX {
                return Err(too_long(WRITTEN_MAX));
            }
        }
        if wrapped {
            line(layout, 0, text);
            text.push(']');
        }
        fit_text(text, &self.function)?;
        self.give_bytes(out);
        Ok(true)
    }

    fn text_result(&self, text: &str, out: &mut Value) -> Result<()> {
        out.set_text(text);
        self.give_bytes(out);
        Ok(())
    }

    /// RETURNING BLOB: the text as bytes.
    fn give_bytes(&self, out: &mut Value) {
        if self.function.ty == DataType::Blob
            && let Value::Text(text) = out
        {
            *out = Value::raw(std::mem::take(text).into_bytes());
        }
    }
}

fn is_container(document: &Document, node: NodeId) -> bool {
    matches!(document.kind(node), Kind::Object | Kind::Array)
}

/// The greatest length of a text of this type.
fn length_of(ty: &DataType) -> Option<(u32, LenUnit)> {
    match ty {
        DataType::Varchar2 { len, unit } | DataType::Char { len, unit } => Some((*len, *unit)),
        DataType::Nvarchar2 { len } | DataType::Nchar { len } => Some((*len, LenUnit::Char)),
        _ => None,
    }
}

/// Checks the length of a text, or cuts it.
///
/// # Errors
/// ORA-40478 for a text that is too long.
fn fit_text(text: &mut String, function: &Function) -> Result<()> {
    let Some((most, unit)) = length_of(&function.ty) else { return Ok(()) };
    let most = most as usize;
    // No text has more characters than bytes.
    if text.len() <= most || (unit == LenUnit::Char && text.chars().count() <= most) {
        return Ok(());
    }
    if !function.truncate {
        return Err(too_long(most));
    }
    let cut = match unit {
        LenUnit::Char => text.char_indices().nth(most).map_or(text.len(), |(at, _)| at),
        LenUnit::Byte => (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0),
    };
    text.truncate(cut);
    Ok(())
}

/// ORA-40478: the result is longer than its type allows.
pub(crate) fn too_long(most: usize) -> Ora {
    Ora::with(40478, &[&most])
}

/// A scalar as a value of SQL.
fn item_value(item: &Item<'_>, function: &Function, nls: &Nls, out: &mut Value) -> Result<()> {
    let ty = &function.ty;
    match item {
        Item::Null => {
            *out = Value::Null;
            return Ok(());
        }
        Item::Node(_) => return Err(Ora::new(40456)),
        Item::Text(_) | Item::Number(_) | Item::Digits(_) | Item::Boolean(_) => {}
    }
    match ty {
        DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger => {
            let number = item.number().ok_or_else(|| Ora::new(1722))?;
            *out = Value::Number(number);
            if *ty != DataType::NUMBER {
                ty.cast(out, nls)?;
            }
        }
        DataType::BinaryDouble | DataType::BinaryFloat => {
            *out = Value::Number(item.number().ok_or_else(|| Ora::new(1722))?);
            ty.cast(out, nls)?;
        }
        DataType::Date | DataType::Timestamp { .. } => {
            let Item::Text(text) = item else { return Err(Ora::new(1861)) };
            let time = moment(text, nls)?;
            *out = match ty {
                DataType::Date => Value::Date(time.own_date().midnight()),
                _ => Value::Timestamp(time),
            };
            if *ty != DataType::Date {
                ty.cast(out, nls)?;
            }
        }
        DataType::Boolean => match item {
            Item::Boolean(b) => *out = Value::Boolean(*b),
            _ => return Err(Ora::new(40786)),
        },
        DataType::IntervalYm { .. } | DataType::IntervalDs { .. } => {
            let Item::Text(text) = item else { return Err(Ora::new(1867)) };
            out.set_text(text);
            ty.cast(out, nls)?;
        }
        _ => {
            let text = item.text().unwrap_or_default();
            out.text_buffer().push_str(&text);
            fit_text_value(out, function)?;
            if let (DataType::Blob, Value::Text(text)) = (ty, &*out) {
                *out = Value::raw(text.as_bytes());
            }
        }
    }
    Ok(())
}

fn fit_text_value(out: &mut Value, function: &Function) -> Result<()> {
    if let Value::Text(text) = out {
        fit_text(text, function)?;
    }
    out.normalize();
    Ok(())
}

/// A date or time in the format of ISO 8601.
fn moment(text: &str, nls: &Nls) -> Result<types::Timestamp> {
    let text = text.trim();
    let (date, time) = text.split_once(['T', 't']).unwrap_or((text, "00:00:00"));
    let zone = time.strip_suffix(['Z', 'z']);
    let offset = time.rfind(['+', '-']);
    let spaced = match (zone, offset) {
        (Some(time), _) => format!("{date} {time} +00:00"),
        (None, Some(at)) => format!("{date} {} {}", &time[..at], &time[at..]),
        (None, None) => format!("{date} {time}"),
    };
    types::format::timestamp_literal(&spaced, nls)
}
