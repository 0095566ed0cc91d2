//! Export of figures for other engines: tables as CSV, JSON lines and Parquet, in folders named after their contents.
//!
//! A [`Table`] has columns of one of six kinds; [`Writer`] makes a file of rows in any of the forms. [`Lake`] puts
//! files into `TABLE/run=…/instance=…/day=…/`, which DuckDB, ClickHouse and Spark read in place; each file is written
//! under another name and then renamed. `docs/format/export.md` describes the format; [`VERSION`] changes when a reader
//! of the old version would misread the new one.
//!
//! Parquet is written here without a library: the needed part, plain values without compression, is small, and the
//! libraries would double the build.

mod lake;
mod parquet;
mod repository;
mod rows;

pub use lake::{Fill, Lake, Part, Take};
pub use repository::{ExportError, Rows, Wanted, repository};

use std::io::{self, Write};
use types::Date;

/// The version of names, kinds and folders.
pub const VERSION: u32 = 1;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A 64-bit integer.
    Int,
    /// A double-precision number.
    Real,
    Text,
    /// A moment on the clock of the measured machine, without a zone; in microseconds since 1970.
    Moment,
    /// A duration in whole microseconds.
    Micros,
    Bytes,
}

impl Kind {
    /// The name of the kind in the schema.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Int => "int64",
            Kind::Real => "double",
            Kind::Text => "string",
            Kind::Moment => "timestamp_us",
            Kind::Micros => "duration_us",
            Kind::Bytes => "bytes",
        }
    }
}

/// A value; a value of another kind than its column is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    Null,
    /// For [`Kind::Int`], [`Kind::Moment`] and [`Kind::Micros`].
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Field {
    fn is_of(&self, kind: Kind) -> bool {
        match self {
            Field::Null => true,
            Field::Int(_) => matches!(kind, Kind::Int | Kind::Moment | Kind::Micros),
            Field::Real(_) => kind == Kind::Real,
            Field::Text(_) => kind == Kind::Text,
            Field::Bytes(_) => kind == Kind::Bytes,
        }
    }

    /// A count.
    ///
    /// # Errors
    /// A count that exceeds a signed 64-bit integer.
    pub fn count(n: u64) -> io::Result<Field> {
        i64::try_from(n).map(Field::Int).map_err(|_| wrong(format!("{n} has no place in 64 bits with a sign")))
    }

    fn bytes(&self) -> usize {
        match self {
            Field::Text(t) => t.len() + 4,
            Field::Bytes(b) => b.len() + 4,
            _ => 8,
        }
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
}

impl Column {
    pub fn new(name: impl Into<String>, kind: Kind) -> Column {
        Column { name: name.into(), kind }
    }
}

/// The format of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// With a header line; an empty field is NULL.
    Csv,
    /// One object per line.
    Json,
    Parquet,
}

impl Form {
    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Form::Csv => "csv",
            Form::Json => "ndjson",
            Form::Parquet => "parquet",
        }
    }
}

pub(crate) fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Rows and bytes buffered before they are written: a row group of Parquet.
const HELD_ROWS: usize = 65_536;
const HELD_BYTES: usize = 8 << 20;

/// Writes a file of rows.
pub struct Writer<W: Write> {
    out: Out<W>,
    columns: Vec<Column>,
    held: Vec<Vec<Field>>,
    held_bytes: usize,
    rows: u64,
}

enum Out<W: Write> {
    Lines(rows::Lines<W>),
    Parquet(parquet::File<W>),
}

impl<W: Write> Writer<W> {
    /// # Errors
    /// Those of the sink.
    pub fn new(form: Form, columns: Vec<Column>, sink: W) -> io::Result<Writer<W>> {
        let out = match form {
            Form::Csv => Out::Lines(rows::Lines::csv(&columns, sink)?),
            Form::Json => Out::Lines(rows::Lines::json(&columns, sink)),
            Form::Parquet => Out::Parquet(parquet::File::new(&columns, sink)?),
        };
        Ok(Writer { out, columns, held: Vec::new(), held_bytes: 0, rows: 0 })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Those of the sink, and a row that does not match the columns.
    pub fn row(&mut self, row: Vec<Field>) -> io::Result<()> {
        if row.len() != self.columns.len() {
            return Err(wrong(format!("a row of {} fields for {} columns", row.len(), self.columns.len())));
        }
        if let Some((column, field)) = self.columns.iter().zip(&row).find(|(c, f)| !f.is_of(c.kind)) {
            return Err(wrong(format!("{}: {field:?} is not of kind {}", column.name, column.kind.name())));
        }
        self.rows += 1;
        match &mut self.out {
            Out::Lines(lines) => lines.row(&row),
            Out::Parquet(_) => {
                self.held_bytes += row.iter().map(Field::bytes).sum::<usize>();
                self.held.push(row);
                if self.held.len() >= HELD_ROWS || self.held_bytes >= HELD_BYTES { self.write_held() } else { Ok(()) }
            }
        }
    }

    fn write_held(&mut self) -> io::Result<()> {
        if let (Out::Parquet(file), false) = (&mut self.out, self.held.is_empty()) {
            file.group(&self.held)?;
        }
        self.held.clear();
        self.held_bytes = 0;
        Ok(())
    }

    /// Ends the file; returns the sink and the number of rows.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        self.write_held()?;
        let mut sink = match self.out {
            Out::Lines(lines) => lines.into_sink(),
            Out::Parquet(file) => file.finish()?,
        };
        sink.flush()?;
        Ok((sink, self.rows))
    }
}

/// A moment in the form of the files: microseconds of its own clock since 1970.
pub fn moment_us(date: &Date, nanos: u32) -> i64 {
    date.to_unix() * 1_000_000 + i64::from(nanos) / 1000
}

/// `2026-11-22 09:45:00.000001`, with `between` in place of the blank.
fn moment(us: i64, between: char) -> String {
    let (s, us) = (us.div_euclid(1_000_000), us.rem_euclid(1_000_000));
    let Ok(date) = Date::from_unix(s) else { return String::new() };
    let f = date.fields();
    format!("{:04}-{:02}-{:02}{between}{:02}:{:02}:{:02}.{us:06}", f.year, f.month, f.day, f.hour, f.minute, f.second)
}

#[cfg(test)]
mod tests;
