//! XML from values of SQL: XMLELEMENT, XMLFOREST, XMLCOLATTVAL and their relatives.

use crate::chars::{is_allowed, is_name, push_escaped};
use crate::document::Document;
use crate::error::failed;
use crate::write::indented;
use types::image::Image;
use types::{Nls, Ora, Result, Value};

/// XMLELEMENT, XMLFOREST or XMLCOLATTVAL. The arguments are the name if it is evaluated, the values of the attributes,
/// and the contents.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Making {
    pub element: Option<Element>,
    /// Names of the attributes; `None`: the value is preceded by its name.
    pub attributes: Vec<Option<String>>,
    pub contents: Vec<Content>,
    /// ENTITYESCAPING.
    pub escapes: bool,
    /// XMLCOLATTVAL.
    pub columns: bool,
}

/// The name of a made element.
#[derive(Clone, Debug, PartialEq, Image)]
pub enum Element {
    Named(String),
    /// EVALNAME.
    Evaluated,
}

/// A value inside an element.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Content {
    /// The element around it in XMLFOREST and XMLCOLATTVAL.
    pub name: Option<String>,
    /// Whether the value is XML, and not text.
    pub xml: bool,
}

/// The clauses of XMLSERIALIZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serialization {
    /// DOCUMENT: the value must be one.
    pub document: bool,
    /// INDENT SIZE.
    pub indent: Option<usize>,
}

/// A name of a column as the name of an element: other characters become `_x0020_`.
pub fn escaped_name(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        let mut next = out.clone();
        next.push(c);
        let starts_as_reserved = out.is_empty() && name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("xml"));
        if is_name(&next) && c != ':' && !starts_as_reserved {
            out = next;
        } else {
            out.push_str(&format!("_x{:04X}_", c as u32));
        }
    }
    out
}

/// A written name as the name of an element or attribute: one that is no name is escaped.
pub fn made_name(name: &str) -> String {
    if checked_name(name).is_ok() { name.to_owned() } else { escaped_name(name) }
}

/// Checks that all characters may stand in XML (X4).
///
/// # Errors
/// ORA-31061 for control characters.
pub fn check_characters(text: &str) -> Result<()> {
    let is_plain = |b: u8| (b >= 0x20 && b != 0xEF) || matches!(b, b'\t' | b'\n' | b'\r');
    match text.bytes().all(is_plain) || text.chars().all(is_allowed) {
        true => Ok(()),
        false => Err(Ora::new(31061)),
    }
}

/// Appends a value of SQL as the text of XML: dates and times in ISO 8601.
///
/// # Errors
/// ORA-00932 for a value without a text.
pub fn value_text(value: &Value, nls: &Nls, out: &mut String) -> Result<()> {
    match value.content() {
        Value::Date(date) => types::format::date_to_char(date, "YYYY-MM-DD", nls, out),
        Value::Timestamp(t) => {
            let format = if t.zone().is_some() { "YYYY-MM-DD\"T\"HH24:MI:SS.FF6TZH:TZM" } else { ISO_TIMESTAMP };
            types::format::timestamp_to_char(t, format, nls, out)
        }
        Value::Null | Value::EmptyLob => Ok(()),
        value => value.write_text(nls, out),
    }
}

const ISO_TIMESTAMP: &str = "YYYY-MM-DD\"T\"HH24:MI:SS.FF6";

/// ORA-31011 for a name that is none.
fn checked_name(name: &str) -> Result<()> {
    match is_name(name) && !name.ends_with(':') && name.matches(':').count() < 2 {
        true => Ok(()),
        false => Err(Ora::with(31013, &[&name])),
    }
}

/// Makes the text of XMLELEMENT and its relatives; empty for NULL.
///
/// # Errors
/// ORA-31013 for a wrong name; the errors of values.
pub fn element(making: &Making, args: &[Value], nls: &Nls, out: &mut String) -> Result<()> {
    let mut args = args.iter();
    let mut next = || args.next().ok_or_else(|| Ora::internal("XML function without its values"));
    let mut own = String::new();
    match &making.element {
        Some(Element::Named(name)) => own.push_str(name),
        Some(Element::Evaluated) => {
            next()?.write_text(nls, &mut own)?;
            checked_name(&own)?;
        }
        None => {}
    }
    if making.element.is_some() {
        out.push('<');
        out.push_str(&own);
    }
    let mut text = String::new();
    for name in &making.attributes {
        let mut evaluated = String::new();
        let name = match name {
            Some(name) => name,
            None => {
                next()?.write_text(nls, &mut evaluated)?;
                checked_name(&evaluated)?;
                &evaluated
            }
        };
        let value = next()?;
        if value.is_null() {
            continue;
        }
        text.clear();
        value_text(value, nls, &mut text)?;
        check_characters(&text)?;
        out.push(' ');
        out.push_str(name);
        out.push_str("=\"");
        match making.escapes {
            true => push_escaped(&text, true, out),
            false => out.push_str(&text),
        }
        out.push('"');
    }
    if making.element.is_some() {
        out.push('>');
    }
    for content in &making.contents {
        let value = next()?;
        if value.is_null() {
            continue;
        }
        match &content.name {
            Some(name) if making.columns => {
                out.push_str("<column name = \"");
                push_escaped(name, true, out);
                out.push_str("\">");
            }
            Some(name) => out.push_str(&format!("<{name}>")),
            None => {}
        }
        text.clear();
        value_text(value, nls, &mut text)?;
        check_characters(&text)?;
        match making.escapes && !content.xml {
            true => push_escaped(&text, true, out),
            false => out.push_str(without_declaration(&text)),
        }
        match &content.name {
            Some(_) if making.columns => out.push_str("</column>"),
            Some(name) => out.push_str(&format!("</{name}>")),
            None => {}
        }
    }
    if making.element.is_some() {
        out.push_str(&format!("</{own}>"));
    }
    Ok(())
}

/// A document without `<?xml …?>`, which may only stand at the beginning of a whole text.
pub fn without_declaration(text: &str) -> &str {
    match text.starts_with("<?xml ").then(|| text.find("?>")).flatten() {
        Some(end) => text[end + 2..].trim_start(),
        None => text,
    }
}

/// Appends a comment.
///
/// # Errors
/// ORA-19200 for a text that would end it.
pub fn comment(text: &str, out: &mut String) -> Result<()> {
    if text.contains("--") || text.ends_with('-') {
        return Err(failed(213, "comment must not contain \"--\"", 1));
    }
    check_characters(text)?;
    out.push_str(&format!("<!--{text}-->"));
    Ok(())
}

/// Appends a processing instruction.
///
/// # Errors
/// ORA-31013 for a wrong name, ORA-31011 for a text that would end it.
pub fn instruction(name: &str, text: &str, out: &mut String) -> Result<()> {
    checked_name(name)?;
    if name.eq_ignore_ascii_case("xml") {
        return Err(failed(209, "PI names starting with XML are reserved", 1));
    }
    if text.contains("?>") {
        return Err(failed(230, "invalid character 62 (U+003E) in a processing instruction", 1));
    }
    check_characters(text)?;
    out.push_str(&format!("<?{name}"));
    if !text.is_empty() {
        out.push(' ');
        out.push_str(text.trim_start());
    }
    out.push_str("?>");
    Ok(())
}

impl Serialization {
    /// The text of XMLSERIALIZE.
    ///
    /// # Errors
    /// ORA-31011 for DOCUMENT of a fragment.
    pub fn write(self, document: &mut Document, text: &str, out: &mut String) -> Result<()> {
        if self.document || self.indent.is_some() {
            document.parse(text, !self.document)?;
        }
        match self.indent {
            Some(size) => out.push_str(&indented(document, size)),
            None => out.push_str(text),
        }
        Ok(())
    }
}
