//! Tables in memory.

use crate::format::{BYTE_ARRAY, DOUBLE, INT64};
use crate::write::{Column, File, Kind, Page};

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 20;

/// The values of a column; `None` is null.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// INT64.
    Int(Vec<Option<i64>>),
    /// DOUBLE.
    Real(Vec<Option<f64>>),
    /// BYTE_ARRAY of UTF-8.
    Text(Vec<Option<String>>),
}

impl Values {
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Int(v) => v.len(),
            Self::Real(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    /// Bytes of a value in memory, without the bytes of its text.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Int(_) => size_of::<Option<i64>>(),
            Self::Real(_) => size_of::<Option<f64>>(),
            Self::Text(_) => size_of::<Option<String>>(),
        }
    }

    pub(crate) fn physical(&self) -> i64 {
        match self {
            Self::Int(_) => INT64,
            Self::Real(_) => DOUBLE,
            Self::Text(_) => BYTE_ARRAY,
        }
    }
}

/// A flat table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names and values of the columns, which all have the same length.
    pub columns: Vec<(String, Values)>,
    /// Pairs of the metadata.
    pub metadata: Vec<(String, String)>,
}

impl Values {
    fn kind(&self) -> Kind {
        match self {
            Self::Int(_) => Kind::Int,
            Self::Real(_) => Kind::Real,
            Self::Text(_) => Kind::Text,
        }
    }

    fn page(&self, from: usize, to: usize) -> std::io::Result<Page> {
        let mut page = Page::with_capacity(to - from);
        match self {
            Self::Int(v) => {
                for value in &v[from..to] {
                    match value {
                        Some(value) => page.int(*value),
                        None => page.null(),
                    }
                }
            }
            Self::Real(v) => {
                for value in &v[from..to] {
                    match value {
                        Some(value) => page.real(*value),
                        None => page.null(),
                    }
                }
            }
            Self::Text(v) => {
                for text in &v[from..to] {
                    match text {
                        Some(text) => page.bytes_of(text.as_bytes())?,
                        None => page.null(),
                    }
                }
            }
        }
        Ok(page)
    }
}

/// A table as a file.
///
/// # Errors
/// A text of more than four gigabytes, a page of more than two; columns that differ in length.
pub fn write_table(table: &Table, made_by: &str) -> std::io::Result<Vec<u8>> {
    let columns: Vec<Column> =
        table.columns.iter().map(|(name, values)| Column { name: name.clone(), kind: values.kind() }).collect();
    let rows = table.columns.first().map_or(0, |(_, values)| values.rows());
    if table.columns.iter().any(|(_, values)| values.rows() != rows) {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "the columns differ in length"));
    }
    let mut file = File::new(&columns, &table.metadata, made_by, Vec::new())?;
    for from in (0..rows).step_by(GROUP_ROWS) {
        let to = rows.min(from + GROUP_ROWS);
        file.group(table.columns.iter().map(|(_, values)| values.page(from, to)))?;
    }
    file.finish()
}
