//! Rows as row groups of Parquet.

use std::io::{self, Write};

use flat_parquet::{File, Page};

use super::field::{Column, Field, Kind, VERSION};

/// Begins a file.
pub fn file<W: Write>(columns: &[Column], sink: W) -> io::Result<File<W>> {
    let kind = |kind| match kind {
        Kind::Int | Kind::Micros => flat_parquet::Kind::Int,
        Kind::Real => flat_parquet::Kind::Real,
        Kind::Text => flat_parquet::Kind::Text,
        Kind::Moment => flat_parquet::Kind::Moment,
        Kind::Bytes => flat_parquet::Kind::Bytes,
    };
    let column = |of: &Column| flat_parquet::Column { name: of.name.clone(), kind: kind(of.kind) };
    let columns: Vec<_> = columns.iter().map(column).collect();
    let metadata = [("latchwork.export.version".to_owned(), VERSION.to_string())];
    File::new(&columns, &metadata, concat!("latchwork version ", env!("CARGO_PKG_VERSION")), sink)
}

/// Writes rows as a row group; the rows must match the columns.
pub fn group<W: Write>(file: &mut File<W>, columns: usize, rows: &[Vec<Field>]) -> io::Result<()> {
    let page = |column: usize| {
        let mut page = Page::with_capacity(rows.len());
        for row in rows {
            match &row[column] {
                Field::Null => page.null(),
                Field::Int(n) => page.int(*n),
                Field::Real(value) => page.real(*value),
                Field::Text(t) => page.bytes_of(t.as_bytes())?,
                Field::Bytes(b) => page.bytes_of(b)?,
            }
        }
        Ok(page)
    };
    file.group((0..columns).map(page))
}
