//! CSV (RFC 4180) and JSON lines.

use super::field::{Column, Field, Kind, moment};
use std::io::{self, Write};
use types::escape::json;

pub struct Lines<W: Write> {
    sink: W,
    /// Column names as JSON strings; `None` for CSV.
    names: Option<Vec<String>>,
    kinds: Vec<Kind>,
    line: String,
}

impl<W: Write> Lines<W> {
    pub fn csv(columns: &[Column], mut sink: W) -> io::Result<Lines<W>> {
        let names: Vec<String> = columns.iter().map(|c| quoted(&c.name)).collect();
        writeln!(sink, "{}", names.join(","))?;
        Ok(Lines { sink, names: None, kinds: columns.iter().map(|c| c.kind).collect(), line: String::new() })
    }

    pub fn json(columns: &[Column], sink: W) -> Lines<W> {
        let names = columns.iter().map(|c| json(&c.name)).collect();
        Lines { sink, names: Some(names), kinds: columns.iter().map(|c| c.kind).collect(), line: String::new() }
    }

    pub fn row(&mut self, row: &[Field]) -> io::Result<()> {
        self.line.clear();
        match &self.names {
            None => csv_line(row, &self.kinds, &mut self.line),
            Some(names) => json_line(row, &self.kinds, names, &mut self.line),
        }
        self.line.push('\n');
        self.sink.write_all(self.line.as_bytes())
    }

    pub fn into_sink(self) -> W {
        self.sink
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

/// A number with as many digits as distinguish it from its neighbours; `None` for NaN and infinities.
fn real(value: f64) -> Option<String> {
    value.is_finite().then(|| format!("{value:?}"))
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) || field != field.trim() || field.is_empty() {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_string()
    }
}

fn csv_line(row: &[Field], kinds: &[Kind], line: &mut String) {
    for (at, (field, kind)) in row.iter().zip(kinds).enumerate() {
        if at > 0 {
            line.push(',');
        }
        match field {
            Field::Null => {}
            Field::Int(n) if *kind == Kind::Moment => line.push_str(&moment(*n, ' ')),
            Field::Int(n) => line.push_str(&n.to_string()),
            Field::Real(value) => line.push_str(&real(*value).unwrap_or_default()),
            Field::Text(t) => line.push_str(&quoted(t)),
            Field::Bytes(b) => line.push_str(&hex(b)),
        }
    }
}

fn json_line(row: &[Field], kinds: &[Kind], names: &[String], line: &mut String) {
    line.push('{');
    for (at, ((field, kind), name)) in row.iter().zip(kinds).zip(names).enumerate() {
        if at > 0 {
            line.push(',');
        }
        line.push_str(name);
        line.push(':');
        match field {
            Field::Null => line.push_str("null"),
            Field::Int(n) if *kind == Kind::Moment => line.push_str(&format!("\"{}\"", moment(*n, 'T'))),
            Field::Int(n) => line.push_str(&n.to_string()),
            Field::Real(value) => line.push_str(&real(*value).unwrap_or_else(|| "null".into())),
            Field::Text(t) => line.push_str(&json(t)),
            Field::Bytes(b) => line.push_str(&format!("\"{}\"", hex(b))),
        }
    }
    line.push('}');
}
