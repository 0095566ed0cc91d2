//! Traces and forecasts as Parquet: flat tables of whole numbers, real numbers and texts.
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
//! | `other` | INT64 | 1 when the last holder was another session, 0 when it was this one; null where it is not known, and in the last row of a call |
//!
//! The header is the metadata's value of the key `latch_simulator.header`, as in the text form.

use crate::error::Error;
use crate::forecast::Forecast;
use crate::report;
use crate::trace::{Trace, TracedGet};

use flat_parquet::{Column, File, Kind, Page};
pub use flat_parquet::{Table, Values};

const HEADER: &str = "latch_simulator.header";
const MADE_BY: &str = concat!("latch-simulator version ", env!("CARGO_PKG_VERSION"));

/// Reads a table.
///
/// # Errors
/// The file is damaged, or uses a feature that is not read: compression, nesting, other types and encodings.
pub fn read_table(file: &[u8]) -> Result<Table, Error> {
    flat_parquet::read_table(file).map_err(|e| Error::new(e.to_string()))
}

/// A table as a file.
///
/// # Panics
/// A column is larger than a page may be: two gigabytes for a million rows.
#[must_use]
pub fn write_table(table: &Table) -> Vec<u8> {
    flat_parquet::write_table(table, MADE_BY).expect("columns of one length, and pages below two gigabytes")
}

/// Rows of a row group of a trace.
const GROUP_ROWS: usize = 1 << 20;

/// A row of a trace: a get of a call, or the time at its end.
#[derive(Clone, Copy)]
enum Line<'t> {
    Get(&'t TracedGet),
    End(f64),
}

/// The lines of a call, with its number.
fn lines_of_call((call, (gets, tail)): (usize, (&[TracedGet], f64))) -> impl Iterator<Item = (i64, Line<'_>)> {
    gets.iter().map(Line::Get).chain([Line::End(tail)]).map(move |line| (call as i64, line))
}

/// The trace as a file. Its columns are made one at a time from the trace.
///
/// # Panics
/// Never: a page of a million numbers is below the two gigabytes of the format, and a vector takes all bytes.
#[must_use]
pub fn write_trace(trace: &Trace) -> Vec<u8> {
    type Put = fn(&mut Page, i64, Line<'_>);
    let columns: [(&str, Kind, Put); 7] = [
        ("call", Kind::Int, |page, call, _| page.int(call)),
        ("latch", Kind::Int, |page, _, line| match line {
            Line::Get(get) => page.int(get.latch.into()),
            Line::End(_) => page.null(),
        }),
        ("place", Kind::Int, |page, _, line| match line {
            Line::Get(get) => page.int(get.place.into()),
            Line::End(_) => page.int(0),
        }),
        ("write", Kind::Int, |page, _, line| match line {
            Line::Get(get) => page.int(get.write.into()),
            Line::End(_) => page.int(0),
        }),
        ("gap_ns", Kind::Real, |page, _, line| match line {
            Line::Get(get) => page.real(get.gap_ns),
            Line::End(tail) => page.real(tail),
        }),
        ("hold_ns", Kind::Real, |page, _, line| match line {
            Line::Get(get) => page.real(get.hold_ns),
            Line::End(_) => page.null(),
        }),
        ("other", Kind::Int, |page, _, line| match line {
            Line::Get(TracedGet { other: Some(other), .. }) => page.int((*other).into()),
            _ => page.null(),
        }),
    ];
    let write = || -> std::io::Result<Vec<u8>> {
        let head = columns.map(|(name, kind, _)| Column { name: name.to_owned(), kind });
        let metadata = [(HEADER.to_owned(), trace.header.to_text())];
        let mut file = File::new(&head, &metadata, MADE_BY, Vec::new())?;
        let mut rest = trace.calls().enumerate().flat_map(lines_of_call).peekable();
        while rest.peek().is_some() {
            let group: Vec<(i64, Line<'_>)> = rest.by_ref().take(GROUP_ROWS).collect();
            file.group(columns.iter().map(|(_, _, put)| {
                let mut page = Page::with_capacity(group.len());
                group.iter().for_each(|(call, line)| put(&mut page, *call, *line));
                Ok(page)
            }))?;
        }
        file.finish()
    };
    write().expect("a vector takes what is written, and pages are below two gigabytes")
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
        let write = flag(write[row], "write")?;
        let other = other[row].map(|value| flag(Some(value), "other")).transpose()?;
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
