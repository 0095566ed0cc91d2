//! The needed part of Parquet: flat tables, plain values, no compression, one page for each column of a row group.
//!
//! Every column may have nulls: the page begins with its definition levels. The metadata of the file is at its end, in
//! Thrift's compact protocol ([`Thrift`]); the format is that of `apache/parquet-format`, version 1 pages.

use super::field::{Column, Field, Kind, VERSION, wrong};
use std::io::{self, Write};

const MAGIC: &[u8; 4] = b"PAR1";

// Physical types.
const INT64: i32 = 2;
const DOUBLE: i32 = 5;
const BYTE_ARRAY: i32 = 6;

// Encodings.
const PLAIN: i32 = 0;
const RLE: i32 = 3;

/// Types of Thrift's compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Bytes in Thrift's compact protocol. Fields of a struct are written in the order of their numbers.
#[derive(Default)]
struct Thrift {
    out: Vec<u8>,
    /// The number of the last field, for each open struct.
    last: Vec<i16>,
}

fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

impl Thrift {
    fn begin(&mut self) {
        self.last.push(0);
    }

    fn end(&mut self) {
        self.out.push(0);
        self.last.pop();
    }

    fn field(&mut self, number: i16, kind: u8) {
        let Some(last) = self.last.last_mut() else { return };
        let step = number - *last;
        *last = number;
        match u8::try_from(step) {
            Ok(step @ 1..=15) => self.out.push(step << 4 | kind),
            _ => {
                self.out.push(kind);
                varint(zigzag(i64::from(number)), &mut self.out);
            }
        }
    }

    fn i32(&mut self, number: i16, value: i32) {
        self.field(number, I32);
        varint(zigzag(i64::from(value)), &mut self.out);
    }

    fn i64(&mut self, number: i16, value: i64) {
        self.field(number, I64);
        varint(zigzag(value), &mut self.out);
    }

    fn flag(&mut self, number: i16, value: bool) {
        self.field(number, if value { TRUE } else { FALSE });
    }

    fn text(&mut self, number: i16, value: &str) {
        self.field(number, BINARY);
        self.bytes(value);
    }

    fn bytes(&mut self, value: &str) {
        varint(value.len() as u64, &mut self.out);
        self.out.extend_from_slice(value.as_bytes());
    }

    fn list(&mut self, number: i16, kind: u8, len: usize) {
        self.field(number, LIST);
        match u8::try_from(len) {
            Ok(len @ 0..=14) => self.out.push(len << 4 | kind),
            _ => {
                self.out.push(0xF0 | kind);
                varint(len as u64, &mut self.out);
            }
        }
    }

    fn open(&mut self, number: i16) {
        self.field(number, STRUCT);
        self.begin();
    }
}

fn physical(kind: Kind) -> i32 {
    match kind {
        Kind::Int | Kind::Moment | Kind::Micros => INT64,
        Kind::Real => DOUBLE,
        Kind::Text | Kind::Bytes => BYTE_ARRAY,
    }
}

/// The place of a column of a row group.
struct Chunk {
    at: u64,
    len: u64,
}

struct Group {
    chunks: Vec<Chunk>,
    rows: usize,
}

/// A file being written.
pub struct File<W: Write> {
    sink: W,
    at: u64,
    columns: Vec<Column>,
    groups: Vec<Group>,
}

impl<W: Write> File<W> {
    pub fn new(columns: &[Column], mut sink: W) -> io::Result<File<W>> {
        sink.write_all(MAGIC)?;
        Ok(File { sink, at: MAGIC.len() as u64, columns: columns.to_vec(), groups: Vec::new() })
    }

    /// Writes rows as a row group; the rows must match the columns.
    pub fn group(&mut self, rows: &[Vec<Field>]) -> io::Result<()> {
        let mut chunks = Vec::with_capacity(self.columns.len());
        for column in 0..self.columns.len() {
            let page = page(rows, column)?;
            let mut header = Thrift::default();
            let len = i32::try_from(page.len()).map_err(|_| wrong("a page of more than two gigabytes"))?;
            header.begin();
            header.i32(1, 0);
            header.i32(2, len);
            header.i32(3, len);
            header.open(5);
            header.i32(1, rows.len() as i32);
            header.i32(2, PLAIN);
            header.i32(3, RLE);
            header.i32(4, RLE);
            header.end();
            header.end();
            self.sink.write_all(&header.out)?;
            self.sink.write_all(&page)?;
            let len = (header.out.len() + page.len()) as u64;
            chunks.push(Chunk { at: self.at, len });
            self.at += len;
        }
        self.groups.push(Group { chunks, rows: rows.len() });
        Ok(())
    }

    /// Writes the metadata, and returns the sink.
    pub fn finish(mut self) -> io::Result<W> {
        let footer = self.footer();
        let len = u32::try_from(footer.len()).map_err(|_| wrong("a footer of more than four gigabytes"))?;
        self.sink.write_all(&footer)?;
        self.sink.write_all(&len.to_le_bytes())?;
        self.sink.write_all(MAGIC)?;
        Ok(self.sink)
    }

    fn footer(&self) -> Vec<u8> {
        let mut t = Thrift::default();
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
        t.list(5, STRUCT, 1);
        t.begin();
        t.text(1, "latchwork.export.version");
        t.text(2, &VERSION.to_string());
        t.end();
        t.text(6, concat!("latchwork version ", env!("CARGO_PKG_VERSION")));
        t.end();
        t.out
    }

    fn row_group(&self, group: &Group, t: &mut Thrift) {
        let bytes: u64 = group.chunks.iter().map(|c| c.len).sum();
        t.begin();
        t.list(1, STRUCT, group.chunks.len());
        for (chunk, column) in group.chunks.iter().zip(&self.columns) {
            t.begin();
            t.i64(2, chunk.at as i64);
            t.open(3);
            t.i32(1, physical(column.kind));
            t.list(2, I32, 2);
            for encoding in [PLAIN, RLE] {
                varint(zigzag(i64::from(encoding)), &mut t.out);
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

fn schema_element(column: &Column, t: &mut Thrift) {
    const OPTIONAL: i32 = 1;
    const UTF8: i32 = 0;
    t.begin();
    t.i32(1, physical(column.kind));
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

/// Definition levels and values of a column.
fn page(rows: &[Vec<Field>], column: usize) -> io::Result<Vec<u8>> {
    let levels = levels(rows.iter().map(|row| row[column] != Field::Null));
    let mut out = Vec::with_capacity(levels.len() + 4 + rows.len() * 8);
    out.extend_from_slice(&(levels.len() as u32).to_le_bytes());
    out.extend_from_slice(&levels);
    for row in rows {
        match &row[column] {
            Field::Null => {}
            Field::Int(n) => out.extend_from_slice(&n.to_le_bytes()),
            Field::Real(value) => out.extend_from_slice(&value.to_le_bytes()),
            Field::Text(t) => byte_array(t.as_bytes(), &mut out)?,
            Field::Bytes(b) => byte_array(b, &mut out)?,
        }
    }
    Ok(out)
}

fn byte_array(bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let len = u32::try_from(bytes.len()).map_err(|_| wrong("a value of more than four gigabytes"))?;
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

/// Levels of one bit: long runs as runs, others packed.
fn levels(there: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let bits: Vec<bool> = there.collect();
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
