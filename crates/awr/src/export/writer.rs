//! Files of rows in any of the forms.

use super::field::{Column, Field, wrong};
use super::{parquet, rows};
use std::io::{self, Write};

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

/// Rows and bytes buffered before they are written: a row group of Parquet.
pub(super) const HELD_ROWS: usize = 65_536;
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
    Parquet(flat_parquet::File<W>),
}

impl<W: Write> Writer<W> {
    /// # Errors
    /// Those of the sink.
    pub fn new(form: Form, columns: Vec<Column>, sink: W) -> io::Result<Writer<W>> {
        let out = match form {
            Form::Csv => Out::Lines(rows::Lines::csv(&columns, sink)?),
            Form::Json => Out::Lines(rows::Lines::json(&columns, sink)),
            Form::Parquet => Out::Parquet(parquet::file(&columns, sink)?),
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
            parquet::group(file, self.columns.len(), &self.held)?;
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
