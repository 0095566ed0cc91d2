//! Traces and forecasts as Parquet: flat tables of whole numbers, real numbers and texts.
//!
//! Written are version 1 pages with plain values and no compression, which every engine reads. Read are such pages, and
//! those with a dictionary; a compressed file is refused with a message that says so. A library was rejected: the part
//! that is needed is small, and the metadata are a few structs of Thrift's compact protocol.
//!
//! A trace is one row for each get in the order of time, and one row without a latch at the end of each call:
//!
//! | column | type | content |
//! |---|---|---|
//! | `call` | INT64 | number of the call, from 0, without gaps |
//! | `latch` | INT64 | number of the latch; null in the last row of a call |
//! | `place` | INT64 | number of the place in the code; 0 in the last row of a call |
//! | `write` | INT64 | 1 when the protected data are changed, else 0 |
//! | `gap_ns` | DOUBLE | time before the get, or after the last hold of the call |
//! | `hold_ns` | DOUBLE | time of the hold; null in the last row of a call |
//! | `other` | INT64 | 1 when the last holder was another session, else 0 |
//!
//! The header is the metadata's value of the key `latch_simulator.header`, as in the text form.

use crate::error::Error;
use crate::forecast::Forecast;
use crate::report;
use crate::trace::{CALLS_MAX, Trace, TracedGet};

const MAGIC: &[u8; 4] = b"PAR1";
const HEADER: &str = "latch_simulator.header";
const GROUP_ROWS: usize = 1 << 20;
/// The most rows that are read: gets and ends of calls.
const ROWS_MAX: usize = 2 * CALLS_MAX;
const COLUMNS_MAX: usize = 1_000;

// Physical types, encodings, page types.
const INT64: i64 = 2;
const DOUBLE: i64 = 5;
const BYTE_ARRAY: i64 = 6;
const PLAIN: i64 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RLE: i64 = 3;
const RLE_DICTIONARY: i64 = 8;
const DATA_PAGE: i64 = 0;
const DICTIONARY_PAGE: i64 = 2;

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
    fn len(&self) -> usize {
        match self {
            Self::Int(v) => v.len(),
            Self::Real(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    fn physical(&self) -> i64 {
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

/// The trace as a file.
#[must_use]
pub fn write_trace(trace: &Trace) -> Vec<u8> {
    let rows = trace.gets.len() + trace.tails_ns.len();
    let int = || Vec::<Option<i64>>::with_capacity(rows);
    let (mut call, mut latch, mut place, mut write, mut other) = (int(), int(), int(), int(), int());
    let (mut gap, mut hold) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for (n, (gets, tail)) in trace.calls().enumerate() {
        for get in gets {
            call.push(Some(n as i64));
            latch.push(Some(get.latch.into()));
            place.push(Some(get.place.into()));
            write.push(Some(get.write.into()));
            gap.push(Some(get.gap_ns));
            hold.push(Some(get.hold_ns));
            other.push(Some(get.other.into()));
        }
        call.push(Some(n as i64));
        latch.push(None);
        place.push(Some(0));
        write.push(Some(0));
        gap.push(Some(tail));
        hold.push(None);
        other.push(Some(0));
    }
    let columns = [
        ("call", Values::Int(call)),
        ("latch", Values::Int(latch)),
        ("place", Values::Int(place)),
        ("write", Values::Int(write)),
        ("gap_ns", Values::Real(gap)),
        ("hold_ns", Values::Real(hold)),
        ("other", Values::Int(other)),
    ];
    let columns = columns.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
    write_table(&Table { columns, metadata: vec![(HEADER.to_owned(), trace.header.to_text())] })
}

/// Reads a trace.
///
/// # Errors
/// A file that is no Parquet, is compressed, lacks a column or the header, or holds what no trace can.
pub fn read_trace(bytes: &[u8]) -> Result<Trace, Error> {
    let table = read_table(bytes)?;
    let header = table.metadata.iter().find(|(key, _)| key == HEADER);
    let header = header.ok_or_else(|| Error::new(format!("the metadata have no '{HEADER}'")))?;
    let mut trace = Trace::default();
    for (line, n) in header.1.lines().zip(1..) {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match (word, rest) {
            ("latch-trace", "1") if n == 1 => {}
            _ => trace.header.line(word, rest).map_err(|why| Error::at(n, why).in_file("header"))?,
        }
    }
    let [call, latch, place] = [int(&table, "call")?, int(&table, "latch")?, int(&table, "place")?];
    let [write, other] = [int(&table, "write")?, int(&table, "other")?];
    let [gap, hold] = [real(&table, "gap_ns")?, real(&table, "hold_ns")?];
    let mut calls = 0;
    let mut first = 0;
    for row in 0..call.len() {
        let at = |why: &str| Error::new(format!("row {row}: {why}"));
        if call[row] != Some(calls) {
            return Err(at(&format!("call {:?}; expected {calls}", call[row])));
        }
        let gap_ns = gap[row].ok_or_else(|| at("gap_ns is null"))?;
        let Some(number) = latch[row] else {
            trace.first.push(first);
            trace.tails_ns.push(gap_ns);
            (calls, first) = (calls + 1, trace.gets.len() as u32);
            continue;
        };
        let latch = u16::try_from(number).map_err(|_| at(&format!("latch {number}")))?;
        let place =
            place[row].and_then(|n| u16::try_from(n).ok()).ok_or_else(|| at("place is no number of a place"))?;
        let hold_ns = hold[row].ok_or_else(|| at("hold_ns is null"))?;
        let flag = |value: Option<i64>, name: &str| match value {
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            _ => Err(at(&format!("{name} is neither 0 nor 1"))),
        };
        let (write, other) = (flag(write[row], "write")?, flag(other[row], "other")?);
        trace.gets.push(TracedGet { latch, place, write, gap_ns, hold_ns, other });
    }
    if first as usize != trace.gets.len() {
        return Err(Error::new("the last call has no end: its last row needs a null latch"));
    }
    trace.check(trace.tails_ns.len(), trace.gets.len())?;
    Ok(trace)
}

fn column<'t>(table: &'t Table, name: &str) -> Result<&'t Values, Error> {
    let found = table.columns.iter().find(|(of, _)| of == name);
    found.map(|(_, values)| values).ok_or_else(|| Error::new(format!("there is no column '{name}'")))
}

fn int<'t>(table: &'t Table, name: &str) -> Result<&'t [Option<i64>], Error> {
    match column(table, name)? {
        Values::Int(values) => Ok(values),
        _ => Err(Error::new(format!("column '{name}' is no INT64"))),
    }
}

fn real<'t>(table: &'t Table, name: &str) -> Result<&'t [Option<f64>], Error> {
    match column(table, name)? {
        Values::Real(values) => Ok(values),
        _ => Err(Error::new(format!("column '{name}' is no DOUBLE"))),
    }
}

/// Forecasts as a file: the columns of the CSV. Files of shares are merged by reading them together.
#[must_use]
pub fn write_forecasts(forecasts: &[Forecast]) -> Vec<u8> {
    let mut columns =
        vec![("design".to_owned(), Values::Text(forecasts.iter().map(|f| Some(f.choice.clone())).collect()))];
    let rows: Vec<_> = forecasts.iter().map(report::figures).collect();
    let names = rows.first().map_or(Vec::new(), |row| row.map(|(name, _)| name).to_vec());
    for (at, name) in names.into_iter().enumerate() {
        let values = rows.iter().map(|row| Some(row[at].1).filter(|x| x.is_finite()));
        columns.push((name.to_owned(), Values::Real(values.collect())));
    }
    let reasons = |f: &Forecast| f.refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    columns.push(("refused".to_owned(), Values::Text(forecasts.iter().map(|f| Some(reasons(f))).collect())));
    write_table(&Table { columns, metadata: Vec::new() })
}

/// Thrift's compact protocol, for writing. Fields of a struct are written in the order of their numbers.
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    last: Vec<i16>,
}

fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

impl Out {
    fn field(&mut self, number: i16, kind: u8) {
        if let Some(last) = self.last.last_mut() {
            self.bytes.push(((number - *last) as u8) << 4 | kind);
            *last = number;
        }
    }

    fn int(&mut self, number: i16, kind: u8, value: i64) {
        self.field(number, kind);
        self.number(value);
    }

    fn number(&mut self, value: i64) {
        varint(((value << 1) ^ (value >> 63)) as u64, &mut self.bytes);
    }

    fn text(&mut self, number: i16, value: &str) {
        self.field(number, 8);
        self.raw(value);
    }

    fn raw(&mut self, value: &str) {
        varint(value.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    fn list(&mut self, number: i16, kind: u8, len: usize) {
        self.field(number, 9);
        if len < 15 {
            self.bytes.push((len as u8) << 4 | kind);
        } else {
            self.bytes.push(0xF0 | kind);
            varint(len as u64, &mut self.bytes);
        }
    }

    fn begin(&mut self) {
        self.last.push(0);
    }

    fn end(&mut self) {
        self.bytes.push(0);
        self.last.pop();
    }
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const STRUCT: u8 = 12;

/// A table as a file.
#[must_use]
pub fn write_table(table: &Table) -> Vec<u8> {
    let rows = table.columns.first().map_or(0, |(_, values)| values.len());
    let mut out = MAGIC.to_vec();
    let mut groups = Vec::new();
    for from in (0..rows).step_by(GROUP_ROWS) {
        let to = rows.min(from + GROUP_ROWS);
        let mut chunks = Vec::new();
        for (_, values) in &table.columns {
            let (at, page) = (out.len(), page(values, from, to));
            let mut header = Out::default();
            header.begin();
            header.int(1, I32, DATA_PAGE);
            header.int(2, I32, page.len() as i64);
            header.int(3, I32, page.len() as i64);
            header.field(5, STRUCT);
            header.begin();
            header.int(1, I32, (to - from) as i64);
            header.int(2, I32, PLAIN);
            header.int(3, I32, RLE);
            header.int(4, I32, RLE);
            header.end();
            header.end();
            out.extend_from_slice(&header.bytes);
            out.extend_from_slice(&page);
            chunks.push((at, out.len() - at));
        }
        groups.push((chunks, to - from));
    }
    let footer = footer(table, rows, &groups);
    out.extend_from_slice(&footer);
    out.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    out.extend_from_slice(MAGIC);
    out
}

fn footer(table: &Table, rows: usize, groups: &[(Vec<(usize, usize)>, usize)]) -> Vec<u8> {
    let mut t = Out::default();
    t.begin();
    t.int(1, I32, 1);
    t.list(2, STRUCT, table.columns.len() + 1);
    t.begin();
    t.text(4, "row");
    t.int(5, I32, table.columns.len() as i64);
    t.end();
    for (name, values) in &table.columns {
        t.begin();
        t.int(1, I32, values.physical());
        t.int(3, I32, 1); // optional
        t.text(4, name);
        if let Values::Text(_) = values {
            t.int(6, I32, 0); // UTF8
        }
        t.end();
    }
    t.int(3, I64, rows as i64);
    t.list(4, STRUCT, groups.len());
    for (chunks, rows) in groups {
        t.begin();
        t.list(1, STRUCT, chunks.len());
        for ((at, len), (name, values)) in chunks.iter().zip(&table.columns) {
            t.begin();
            t.int(2, I64, *at as i64);
            t.field(3, STRUCT);
            t.begin();
            t.int(1, I32, values.physical());
            t.list(2, I32, 2);
            [PLAIN, RLE].iter().for_each(|encoding| t.number(*encoding));
            t.list(3, BINARY, 1);
            t.raw(name);
            t.int(4, I32, 0);
            t.int(5, I64, *rows as i64);
            t.int(6, I64, *len as i64);
            t.int(7, I64, *len as i64);
            t.int(9, I64, *at as i64);
            t.end();
            t.end();
        }
        t.int(2, I64, chunks.iter().map(|(_, len)| *len as i64).sum());
        t.int(3, I64, *rows as i64);
        t.end();
    }
    if !table.metadata.is_empty() {
        t.list(5, STRUCT, table.metadata.len());
        for (key, value) in &table.metadata {
            t.begin();
            t.text(1, key);
            t.text(2, value);
            t.end();
        }
    }
    t.text(6, concat!("latch-simulator version ", env!("CARGO_PKG_VERSION")));
    t.end();
    t.bytes
}

/// Definition levels, packed, and the values that are there.
fn page(values: &Values, from: usize, to: usize) -> Vec<u8> {
    let is_there = |row: usize| match values {
        Values::Int(v) => v[row].is_some(),
        Values::Real(v) => v[row].is_some(),
        Values::Text(v) => v[row].is_some(),
    };
    let mut levels = Vec::new();
    varint(((to - from).div_ceil(8) as u64) << 1 | 1, &mut levels);
    for eight in (from..to).step_by(8) {
        let bit = |row: usize| u8::from(is_there(row)) << (row - eight);
        levels.push((eight..to.min(eight + 8)).map(bit).sum());
    }
    let mut out = (levels.len() as u32).to_le_bytes().to_vec();
    out.extend_from_slice(&levels);
    match values {
        Values::Int(v) => v[from..to].iter().flatten().for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
        Values::Real(v) => v[from..to].iter().flatten().for_each(|x| out.extend_from_slice(&x.to_le_bytes())),
        Values::Text(v) => v[from..to].iter().flatten().for_each(|text| {
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }),
    }
    out
}

/// A value of Thrift's compact protocol.
#[derive(Debug)]
enum Thrift {
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Thrift>),
    Struct(Vec<(i16, Thrift)>),
    Other,
}

impl Thrift {
    fn at(&self, number: i16) -> Option<&Thrift> {
        match self {
            Self::Struct(fields) => fields.iter().find(|f| f.0 == number).map(|f| &f.1),
            _ => None,
        }
    }

    fn int(&self, number: i16, name: &str) -> Result<i64, Error> {
        match self.at(number) {
            Some(Self::Int(n)) => Ok(*n),
            _ => Err(Error::new(format!("the metadata have no {name}"))),
        }
    }

    fn size(&self, number: i16, name: &str, most: usize) -> Result<usize, Error> {
        let n = self.int(number, name)?;
        let size = usize::try_from(n).ok().filter(|n| *n <= most);
        size.ok_or_else(|| Error::new(format!("{name} is {n}; expected 0 to {most}")))
    }

    fn text(&self, number: i16, name: &str) -> Result<String, Error> {
        match self.at(number) {
            Some(Self::Bytes(b)) => String::from_utf8(b.clone()).map_err(|_| Error::new(format!("{name} is no UTF-8"))),
            _ => Err(Error::new(format!("the metadata have no {name}"))),
        }
    }

    fn list(&self, number: i16, name: &str) -> Result<&[Thrift], Error> {
        match self.at(number) {
            Some(Self::List(all)) => Ok(all),
            _ => Err(Error::new(format!("the metadata have no {name}"))),
        }
    }
}

/// The deepest nesting of metadata: that of the format is six.
const DEPTH_MAX: u32 = 16;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let taken = self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end));
        let taken =
            taken.ok_or_else(|| Error::new(format!("the file ends in the middle: {len} bytes at {}", self.at)))?;
        self.at += len;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    fn four(&mut self) -> Result<usize, Error> {
        let b = self.take(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    }

    fn eight(&mut self) -> Result<[u8; 8], Error> {
        let mut out = [0; 8];
        out.copy_from_slice(self.take(8)?);
        Ok(out)
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        Err(Error::new("a number of more than 64 bits in the metadata"))
    }

    fn signed(&mut self) -> Result<i64, Error> {
        let n = self.varint()?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    /// A length that the rest of the file can hold.
    fn len(&mut self) -> Result<usize, Error> {
        let n = self.varint()?;
        let len = usize::try_from(n).ok().filter(|n| *n <= self.bytes.len() - self.at);
        len.ok_or_else(|| Error::new(format!("a length of {n} in the metadata, beyond the end of the file")))
    }

    fn value(&mut self, kind: u8, depth: u32) -> Result<Thrift, Error> {
        if depth > DEPTH_MAX {
            return Err(Error::new("the metadata are nested too deeply"));
        }
        Ok(match kind {
            1 | 2 => Thrift::Int(i64::from(kind == 1)),
            3 => Thrift::Int(i64::from(self.byte()? as i8)),
            4..=6 => Thrift::Int(self.signed()?),
            7 => {
                self.eight()?;
                Thrift::Other
            }
            8 => {
                let len = self.len()?;
                Thrift::Bytes(self.take(len)?.to_vec())
            }
            9 | 10 => {
                let head = self.byte()?;
                let len = if head >> 4 == 15 { self.len()? } else { usize::from(head >> 4) };
                let mut all = Vec::new();
                for _ in 0..len {
                    // In a list a truth value is a byte of its own.
                    all.push(if matches!(head & 15, 1 | 2) {
                        Thrift::Int(self.byte()?.into())
                    } else {
                        self.value(head & 15, depth + 1)?
                    });
                }
                Thrift::List(all)
            }
            12 => self.structure(depth + 1)?,
            other => return Err(Error::new(format!("a value of type {other} in the metadata"))),
        })
    }

    fn structure(&mut self, depth: u32) -> Result<Thrift, Error> {
        let (mut fields, mut last) = (Vec::new(), 0i16);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(Thrift::Struct(fields));
            }
            last = match head >> 4 {
                0 => self.signed()? as i16,
                step => last.wrapping_add(i16::from(step)),
            };
            fields.push((last, self.value(head & 15, depth)?));
        }
    }

    /// Runs and packed numbers of `width` bits, `count` of them.
    fn hybrid(&mut self, width: u32, count: usize) -> Result<Vec<u32>, Error> {
        if width > 32 {
            return Err(Error::new(format!("numbers of {width} bits in a page")));
        }
        let mut out = Vec::new();
        while out.len() < count {
            let head = self.varint()?;
            let want = count - out.len();
            if head & 1 == 1 {
                let groups = (head >> 1) as usize;
                let len = groups
                    .checked_mul(width as usize)
                    .ok_or_else(|| Error::new("a page of packed numbers is too long"))?;
                let bytes = self.take(len)?;
                let number = |n: usize| {
                    let bit =
                        |b: usize| u32::from(bytes[(n * width as usize + b) / 8] >> ((n * width as usize + b) % 8) & 1);
                    (0..width as usize).fold(0, |sum, b| sum | bit(b) << b)
                };
                out.extend((0..want.min(groups.saturating_mul(8))).map(number));
            } else {
                let bytes = self.take(width.div_ceil(8) as usize)?;
                let value = bytes.iter().rev().fold(0u32, |sum, b| sum << 8 | u32::from(*b));
                let len = usize::try_from(head >> 1).unwrap_or(usize::MAX);
                if len == 0 {
                    return Err(Error::new("an empty run in a page"));
                }
                out.extend(std::iter::repeat_n(value, want.min(len)));
            }
        }
        Ok(out)
    }

    fn plain(&mut self, kind: i64, count: usize) -> Result<Values, Error> {
        Ok(match kind {
            INT64 => {
                let mut v = Vec::new();
                for _ in 0..count {
                    v.push(Some(i64::from_le_bytes(self.eight()?)));
                }
                Values::Int(v)
            }
            DOUBLE => {
                let mut v = Vec::new();
                for _ in 0..count {
                    v.push(Some(f64::from_le_bytes(self.eight()?)));
                }
                Values::Real(v)
            }
            BYTE_ARRAY => {
                let mut v = Vec::new();
                for _ in 0..count {
                    let len = self.four()?;
                    let text = std::str::from_utf8(self.take(len)?).map_err(|_| Error::new("a text is no UTF-8"))?;
                    v.push(Some(text.to_owned()));
                }
                Values::Text(v)
            }
            other => return Err(Error::new(format!("physical type {other}; INT64, DOUBLE and BYTE_ARRAY are read"))),
        })
    }
}

/// Reads a table.
///
/// # Errors
/// The file is damaged, or uses a feature that is not read: compression, nesting, other types and encodings.
pub fn read_table(file: &[u8]) -> Result<Table, Error> {
    if file.len() < 12 || !file.starts_with(MAGIC) || !file.ends_with(MAGIC) {
        return Err(Error::new("the file is no Parquet: it does not begin and end with PAR1"));
    }
    let end = file.len() - 8;
    let len = Reader { bytes: file, at: end }.four()?;
    let from = end.checked_sub(len).filter(|from| *from >= 4);
    let from = from.ok_or_else(|| Error::new(format!("metadata of {len} bytes in a file of {}", file.len())))?;
    let meta = Reader { bytes: &file[..end], at: from }.structure(0)?;
    let rows = meta.size(3, "number of rows", ROWS_MAX)?;
    let schema = meta.list(2, "schema")?;
    if schema.len() < 2 || schema.len() > COLUMNS_MAX {
        return Err(Error::new(format!("a schema of {} elements", schema.len())));
    }
    // A value takes a bit at least, so a file cannot ask for more memory than it is worth.
    if rows.saturating_mul(schema.len() - 1) > file.len().saturating_mul(8) {
        let columns = schema.len() - 1;
        return Err(Error::new(format!("{rows} rows of {columns} columns in a file of {} bytes", file.len())));
    }
    let mut table = Table::default();
    let mut optional = Vec::new();
    for element in &schema[1..] {
        let name = element.text(4, "column name")?;
        if element.at(5).is_some() || matches!(element.at(3), Some(Thrift::Int(2))) {
            return Err(Error::new(format!("column '{name}' is nested or repeated")));
        }
        optional.push(element.int(3, "repetition")? == 1);
        let empty = Reader { bytes: &[], at: 0 }.plain(element.int(1, "type")?, 0);
        table.columns.push((name.clone(), empty.map_err(|e| e.in_file(format!("column '{name}'")))?));
    }
    for group in meta.list(4, "row groups")? {
        let chunks = group.list(1, "columns")?;
        if chunks.len() != table.columns.len() {
            return Err(Error::new(format!(
                "a row group of {} columns; the schema has {}",
                chunks.len(),
                table.columns.len()
            )));
        }
        let group_rows = group.size(3, "rows of a group", rows)?;
        if table.columns.iter().any(|(_, values)| values.len() + group_rows > rows) {
            return Err(Error::new(format!("the row groups have more than the {rows} rows that the file states")));
        }
        for ((chunk, (name, values)), optional) in chunks.iter().zip(&mut table.columns).zip(&optional) {
            read_chunk(&file[..from], chunk, values, *optional, group_rows)
                .map_err(|e| e.in_file(format!("column '{name}'")))?;
        }
    }
    if let Some((name, values)) = table.columns.iter().find(|(_, values)| values.len() != rows) {
        return Err(Error::new(format!("column '{name}' has {} values; the file states {rows} rows", values.len())));
    }
    if let Some(Thrift::List(pairs)) = meta.at(5) {
        for pair in pairs {
            // The value may be absent.
            table.metadata.push((pair.text(1, "key")?, pair.text(2, "value").unwrap_or_default()));
        }
    }
    Ok(table)
}

fn read_chunk(file: &[u8], chunk: &Thrift, values: &mut Values, optional: bool, rows: usize) -> Result<(), Error> {
    let data = chunk.at(3).ok_or_else(|| Error::new("the metadata have no column chunk"))?;
    if data.int(4, "codec")? != 0 {
        return Err(Error::new("the file is compressed; write it without compression"));
    }
    let start = data.size(9, "page offset", file.len())?;
    let start = match data.at(11) {
        Some(Thrift::Int(n)) if *n > 0 => start.min(*n as usize),
        _ => start,
    };
    let mut r = Reader { bytes: file, at: start };
    let (mut dictionary, mut seen) = (None, 0);
    while seen < rows {
        let header = r.structure(0)?;
        let len = header.size(3, "page length", file.len())?;
        let mut page = Reader { bytes: r.take(len)?, at: 0 };
        match header.int(1, "page type")? {
            DICTIONARY_PAGE => {
                let of = header.at(7).ok_or_else(|| Error::new("a dictionary page without its header"))?;
                // Each value takes a byte of the page at least.
                let count = of.size(1, "dictionary size", len)?;
                dictionary = Some(page.plain(values.physical(), count)?);
            }
            DATA_PAGE => {
                let of = header.at(5).ok_or_else(|| Error::new("a data page without its header"))?;
                let count = of.size(1, "values of a page", rows - seen)?;
                if count == 0 {
                    return Err(Error::new("a page without values"));
                }
                read_page(&mut page, of.int(2, "encoding")?, count, optional, dictionary.as_ref(), values)?;
                seen += count;
            }
            other => return Err(Error::new(format!("a page of type {other}; version 1 data pages are read"))),
        }
    }
    Ok(())
}

fn read_page(
    page: &mut Reader<'_>,
    encoding: i64,
    count: usize,
    optional: bool,
    dictionary: Option<&Values>,
    values: &mut Values,
) -> Result<(), Error> {
    let there: Vec<bool> = if optional {
        let len = page.four()?;
        let mut levels = Reader { bytes: page.take(len)?, at: 0 };
        levels.hybrid(1, count)?.into_iter().map(|level| level == 1).collect()
    } else {
        vec![true; count]
    };
    let present = there.iter().filter(|is| **is).count();
    let found = match (encoding, dictionary) {
        (PLAIN, _) => page.plain(values.physical(), present)?,
        (PLAIN_DICTIONARY | RLE_DICTIONARY, Some(all)) => {
            let width = page.byte()?;
            let numbers = page.hybrid(width.into(), present)?;
            fn pick<T: Clone>(all: &[Option<T>], numbers: &[u32]) -> Result<Vec<Option<T>>, Error> {
                let of = |n: &u32| {
                    all.get(*n as usize).cloned().ok_or_else(|| Error::new(format!("no dictionary entry {n}")))
                };
                numbers.iter().map(of).collect()
            }
            match all {
                Values::Int(all) => Values::Int(pick(all, &numbers)?),
                Values::Real(all) => Values::Real(pick(all, &numbers)?),
                Values::Text(all) => Values::Text(pick(all, &numbers)?),
            }
        }
        (other, _) => return Err(Error::new(format!("encoding {other}; plain values and dictionaries are read"))),
    };
    fn spread<T>(there: &[bool], found: Vec<Option<T>>, to: &mut Vec<Option<T>>) {
        let mut found = found.into_iter();
        to.extend(there.iter().map(|is| if *is { found.next().flatten() } else { None }));
    }
    match (found, values) {
        (Values::Int(found), Values::Int(to)) => spread(&there, found, to),
        (Values::Real(found), Values::Real(to)) => spread(&there, found, to),
        (Values::Text(found), Values::Text(to)) => spread(&there, found, to),
        _ => return Err(Error::new("a dictionary of another type")),
    }
    Ok(())
}
