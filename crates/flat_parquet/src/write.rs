//! Files into a sink: row groups of one page for each column. Every column may have nulls: a page begins with its
//! definition levels.

use std::io::{self, Write};

use crate::format::{BYTE_ARRAY, DATA_PAGE, DOUBLE, INT64, MAGIC, PLAIN, RLE};
use crate::thrift::{BINARY, I32, Out, STRUCT, varint, zigzag};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A 64-bit integer.
    Int,
    /// A double-precision number.
    Real,
    /// UTF-8.
    Text,
    /// Microseconds since 1970 on a clock without a zone.
    Moment,
    /// Bytes without a meaning.
    Bytes,
}

impl Kind {
    fn physical(self) -> i64 {
        match self {
            Self::Int | Self::Moment => INT64,
            Self::Real => DOUBLE,
            Self::Text | Self::Bytes => BYTE_ARRAY,
        }
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The values of a column in a row group, in the order of rows. Values of another kind than the column's make a file
/// that cannot be read.
#[derive(Clone, Debug, Default)]
pub struct Page {
    there: Vec<bool>,
    values: Vec<u8>,
}

impl Page {
    /// A page with room for so many values of eight bytes.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self { there: Vec::with_capacity(rows), values: Vec::with_capacity(rows * 8) }
    }

    /// Adds a null.
    pub fn null(&mut self) {
        self.there.push(false);
    }

    /// Adds a whole number or a moment.
    pub fn int(&mut self, value: i64) {
        self.there.push(true);
        self.values.extend_from_slice(&value.to_le_bytes());
    }

    /// Adds a real number.
    pub fn real(&mut self, value: f64) {
        self.there.push(true);
        self.values.extend_from_slice(&value.to_le_bytes());
    }

    /// Adds a text or bytes.
    ///
    /// # Errors
    /// A value of more than four gigabytes.
    pub fn bytes_of(&mut self, value: &[u8]) -> io::Result<()> {
        let len = u32::try_from(value.len()).map_err(|_| wrong("a value of more than four gigabytes"))?;
        self.there.push(true);
        self.values.extend_from_slice(&len.to_le_bytes());
        self.values.extend_from_slice(value);
        Ok(())
    }

    fn rows(&self) -> usize {
        self.there.len()
    }

    /// Definition levels and values.
    fn bytes(self) -> Vec<u8> {
        let levels = levels(self.there);
        let mut out = Vec::with_capacity(levels.len() + 4 + self.values.len());
        out.extend_from_slice(&(levels.len() as u32).to_le_bytes());
        out.extend_from_slice(&levels);
        out.extend_from_slice(&self.values);
        out
    }
}

/// The place of a column of a row group.
#[derive(Debug)]
struct Chunk {
    at: u64,
    len: u64,
}

#[derive(Debug)]
struct Group {
    chunks: Vec<Chunk>,
    rows: usize,
}

/// A file being written.
#[derive(Debug)]
pub struct File<W: Write> {
    sink: W,
    at: u64,
    columns: Vec<Column>,
    metadata: Vec<(String, String)>,
    made_by: String,
    groups: Vec<Group>,
    /// A row group was begun and not ended: the bytes behind the last whole group are of no use.
    is_cut: bool,
}

impl<W: Write> File<W> {
    /// Begins a file. `made_by` names the program that writes it.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn new(columns: &[Column], metadata: &[(String, String)], made_by: &str, mut sink: W) -> io::Result<Self> {
        sink.write_all(MAGIC)?;
        Ok(Self {
            sink,
            at: MAGIC.len() as u64,
            columns: columns.to_vec(),
            metadata: metadata.to_vec(),
            made_by: made_by.to_owned(),
            groups: Vec::new(),
            is_cut: false,
        })
    }

    /// Writes a row group: a page for each column, all with the same number of rows. A page is asked for when the one
    /// before it is written, so that an iterator that makes them has one page in memory.
    ///
    /// # Errors
    /// Those of the sink and of the iterator; pages that do not fit the columns or each other. The file cannot be
    /// finished then.
    pub fn group(&mut self, pages: impl IntoIterator<Item = io::Result<Page>>) -> io::Result<()> {
        if std::mem::replace(&mut self.is_cut, true) {
            return Err(wrong("a row group before this one failed"));
        }
        let mut chunks = Vec::with_capacity(self.columns.len());
        let mut rows = None;
        for page in pages {
            let page = page?;
            if chunks.len() == self.columns.len() || *rows.get_or_insert(page.rows()) != page.rows() {
                return Err(wrong("the pages of a row group do not fit its columns"));
            }
            chunks.push(self.chunk(page)?);
        }
        if chunks.len() != self.columns.len() {
            return Err(wrong("the pages of a row group do not fit its columns"));
        }
        self.groups.push(Group { chunks, rows: rows.unwrap_or(0) });
        self.is_cut = false;
        Ok(())
    }

    fn chunk(&mut self, page: Page) -> io::Result<Chunk> {
        let rows = i32::try_from(page.rows()).map_err(|_| wrong("a page of more than two thousand million rows"))?;
        let page = page.bytes();
        let mut header = Out::default();
        let len = i32::try_from(page.len()).map_err(|_| wrong("a page of more than two gigabytes"))?;
        header.begin();
        header.i32(1, DATA_PAGE as i32);
        header.i32(2, len);
        header.i32(3, len);
        header.open(5);
        header.i32(1, rows);
        header.i32(2, PLAIN as i32);
        header.i32(3, RLE as i32);
        header.i32(4, RLE as i32);
        header.end();
        header.end();
        self.sink.write_all(&header.out)?;
        self.sink.write_all(&page)?;
        let chunk = Chunk { at: self.at, len: (header.out.len() + page.len()) as u64 };
        self.at += chunk.len;
        Ok(chunk)
    }

    /// Writes the metadata, and returns the sink.
    ///
    /// # Errors
    /// Those of the sink; a row group that failed.
    pub fn finish(mut self) -> io::Result<W> {
        if self.is_cut {
            return Err(wrong("a row group failed: the file has no end"));
        }
        let footer = self.footer();
        let len = u32::try_from(footer.len()).map_err(|_| wrong("a footer of more than four gigabytes"))?;
        self.sink.write_all(&footer)?;
        self.sink.write_all(&len.to_le_bytes())?;
        self.sink.write_all(MAGIC)?;
        Ok(self.sink)
    }

    fn footer(&self) -> Vec<u8> {
        let mut t = Out::default();
        t.begin();
        t.i32(1, 1);
        t.list(2, STRUCT, self.columns.len() + 1);
        t.begin();
        t.text(4, "row");
        t.i32(5, self.columns.len() as i32);
        t.end();
        self.columns.iter().for_each(|column| schema_element(column, &mut t));
        t.i64(3, self.groups.iter().map(|g| g.rows as i64).sum());
        t.list(4, STRUCT, self.groups.len());
        self.groups.iter().for_each(|group| self.row_group(group, &mut t));
        if !self.metadata.is_empty() {
            t.list(5, STRUCT, self.metadata.len());
            for (key, value) in &self.metadata {
                t.begin();
                t.text(1, key);
                t.text(2, value);
                t.end();
            }
        }
        t.text(6, &self.made_by);
        t.end();
        t.out
    }

    fn row_group(&self, group: &Group, t: &mut Out) {
        let bytes: u64 = group.chunks.iter().map(|c| c.len).sum();
        t.begin();
        t.list(1, STRUCT, group.chunks.len());
        for (chunk, column) in group.chunks.iter().zip(&self.columns) {
            t.begin();
            t.i64(2, chunk.at as i64);
            t.open(3);
            t.i32(1, column.kind.physical() as i32);
            t.list(2, I32, 2);
            for encoding in [PLAIN, RLE] {
                varint(zigzag(encoding), &mut t.out);
            }
            t.list(3, BINARY, 1);
            t.bytes(&column.name);
            t.i32(4, 0);
            t.i64(5, group.rows as i64);
            t.i64(6, chunk.len as i64);
            t.i64(7, chunk.len as i64);
            t.i64(9, chunk.at as i64);
            t.end();
            t.end();
        }
        t.i64(2, bytes as i64);
        t.i64(3, group.rows as i64);
        t.end();
    }
}

fn schema_element(column: &Column, t: &mut Out) {
    const OPTIONAL: i32 = 1;
    const UTF8: i32 = 0;
    t.begin();
    t.i32(1, column.kind.physical() as i32);
    t.i32(3, OPTIONAL);
    t.text(4, &column.name);
    match column.kind {
        Kind::Text => {
            t.i32(6, UTF8);
            t.open(10);
            t.open(1);
            t.end();
            t.end();
        }
        Kind::Moment => {
            t.open(10);
            t.open(8);
            t.flag(1, false);
            t.open(2);
            t.open(2);
            t.end();
            t.end();
            t.end();
            t.end();
        }
        _ => {}
    }
    t.end();
}

/// Levels of one bit: long runs as runs, others packed.
fn levels(bits: Vec<bool>) -> Vec<u8> {
    let runs = 1 + bits.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let mut out = Vec::new();
    if runs * 3 > bits.len() / 8 {
        let groups = bits.len().div_ceil(8);
        varint((groups as u64) << 1 | 1, &mut out);
        out.extend(
            bits.chunks(8).map(|eight| eight.iter().enumerate().fold(0, |b, (at, bit)| b | u8::from(*bit) << at)),
        );
        return out;
    }
    let mut rest = bits.as_slice();
    while let Some(first) = rest.first() {
        let len = rest.iter().position(|bit| bit != first).unwrap_or(rest.len());
        varint((len as u64) << 1, &mut out);
        out.push(u8::from(*first));
        rest = &rest[len..];
    }
    out
}
