//! Files that are read: whole, from bytes.
//!
//! A run of one number may stand for millions of values, and a dictionary for a text in each of them. So the memory of
//! the values is bought from a budget that the length of the file gives, before it is allocated. What the pages say of
//! their own size is not believed: a limit on rows alone was rejected, because a row may have a text of any length.

use crate::error::Error;
use crate::format::*;
use crate::table::{Table, Values};
use crate::thrift::{Reader, Thrift};

/// The most rows.
const ROWS_MAX: usize = 100_000_000;
const COLUMNS_MAX: usize = 1_000;
/// Bytes of memory for each byte of a file. A column of short texts of a dictionary, an eighth of a byte each in the
/// file, has about sixty bytes a value while it is read.
const MEMORY_A_BYTE: usize = 512;

/// The memory that a file may still ask for.
struct Budget {
    left: usize,
    file: usize,
}

impl Budget {
    fn of(file: &[u8]) -> Self {
        Self { left: file.len().saturating_mul(MEMORY_A_BYTE), file: file.len() }
    }

    /// Pays for `count` values of so many bytes.
    fn pay(&mut self, count: usize, bytes: usize) -> Result<(), Error> {
        let left = count.checked_mul(bytes).and_then(|cost| self.left.checked_sub(cost));
        self.left = left.ok_or_else(|| {
            Error::new(format!(
                "the values would take more than {MEMORY_A_BYTE} bytes of memory for each byte of the file ({} bytes)",
                self.file
            ))
        })?;
        Ok(())
    }
}

impl Reader<'_> {
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

    fn plain(&mut self, kind: i64, count: usize, budget: &mut Budget) -> Result<Values, Error> {
        Ok(match kind {
            INT64 => {
                budget.pay(count, size_of::<Option<i64>>())?;
                let mut v = Vec::new();
                for _ in 0..count {
                    v.push(Some(i64::from_le_bytes(self.eight()?)));
                }
                Values::Int(v)
            }
            DOUBLE => {
                budget.pay(count, size_of::<Option<f64>>())?;
                let mut v = Vec::new();
                for _ in 0..count {
                    v.push(Some(f64::from_le_bytes(self.eight()?)));
                }
                Values::Real(v)
            }
            BYTE_ARRAY => {
                budget.pay(count, size_of::<Option<String>>())?;
                let mut v = Vec::new();
                for _ in 0..count {
                    let len = self.four()?;
                    budget.pay(1, len)?;
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
    let mut budget = Budget::of(file);
    let mut optional = Vec::new();
    for element in &schema[1..] {
        let name = element.text(4, "column name")?;
        if element.at(5).is_some() || matches!(element.at(3), Some(Thrift::Int(2))) {
            return Err(Error::new(format!("column '{name}' is nested or repeated")));
        }
        optional.push(element.int(3, "repetition")? == 1);
        let empty = Reader { bytes: &[], at: 0 }.plain(element.int(1, "type")?, 0, &mut budget);
        table.columns.push((name.clone(), empty.map_err(|e| e.in_column(&name))?));
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
        if table.columns.iter().any(|(_, values)| values.rows() + group_rows > rows) {
            return Err(Error::new(format!("the row groups have more than the {rows} rows that the file states")));
        }
        for ((chunk, (name, values)), optional) in chunks.iter().zip(&mut table.columns).zip(&optional) {
            let rows = (*optional, group_rows);
            read_chunk(&file[..from], chunk, values, rows, &mut budget).map_err(|e| e.in_column(name))?;
        }
    }
    if let Some((name, values)) = table.columns.iter().find(|(_, values)| values.rows() != rows) {
        return Err(Error::new(format!("column '{name}' has {} values; the file states {rows} rows", values.rows())));
    }
    if let Some(Thrift::List(pairs)) = meta.at(5) {
        for pair in pairs {
            // The value may be absent.
            table.metadata.push((pair.text(1, "key")?, pair.text(2, "value").unwrap_or_default()));
        }
    }
    Ok(table)
}

/// Reads a column of a row group, which may be `optional` and has so many rows.
fn read_chunk(
    file: &[u8],
    chunk: &Thrift,
    values: &mut Values,
    (optional, rows): (bool, usize),
    budget: &mut Budget,
) -> Result<(), Error> {
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
        let began = r.at;
        let header = r.structure(0)?;
        let len = header.size(3, "page length", file.len())?;
        // Chunks may name the same page again and again: each reading is paid for.
        budget.pay(r.at - began, size_of::<Thrift>())?;
        budget.pay(len, 1)?;
        let mut page = Reader { bytes: r.take(len)?, at: 0 };
        match header.int(1, "page type")? {
            DICTIONARY_PAGE => {
                let of = header.at(7).ok_or_else(|| Error::new("a dictionary page without its header"))?;
                // Each value takes a byte of the page at least.
                let count = of.size(1, "dictionary size", len)?;
                dictionary = Some(page.plain(values.physical(), count, budget)?);
            }
            DATA_PAGE => {
                let of = header.at(5).ok_or_else(|| Error::new("a data page without its header"))?;
                let count = of.size(1, "values of a page", rows - seen)?;
                if count == 0 {
                    return Err(Error::new("a page without values"));
                }
                let encoding = of.int(2, "encoding")?;
                read_page(&mut page, encoding, (count, optional), dictionary.as_ref(), values, budget)?;
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
    (count, optional): (usize, bool),
    dictionary: Option<&Values>,
    values: &mut Values,
    budget: &mut Budget,
) -> Result<(), Error> {
    budget.pay(count, values.width())?;
    let there: Vec<bool> = if optional {
        let len = page.four()?;
        let mut levels = Reader { bytes: page.take(len)?, at: 0 };
        levels.hybrid(1, count)?.into_iter().map(|level| level == 1).collect()
    } else {
        vec![true; count]
    };
    let present = there.iter().filter(|is| **is).count();
    let found = match (encoding, dictionary) {
        (PLAIN, _) => page.plain(values.physical(), present, budget)?,
        (PLAIN_DICTIONARY | RLE_DICTIONARY, Some(all)) => {
            let width = page.byte()?;
            budget.pay(present, values.width())?;
            let numbers = page.hybrid(width.into(), present)?;
            fn entry<T>(all: &[Option<T>], n: u32) -> Result<&Option<T>, Error> {
                all.get(n as usize).ok_or_else(|| Error::new(format!("no dictionary entry {n}")))
            }
            fn pick<T: Copy>(all: &[Option<T>], numbers: &[u32]) -> Result<Vec<Option<T>>, Error> {
                numbers.iter().map(|n| entry(all, *n).copied()).collect()
            }
            match all {
                Values::Int(all) => Values::Int(pick(all, &numbers)?),
                Values::Real(all) => Values::Real(pick(all, &numbers)?),
                Values::Text(all) => {
                    let mut found = Vec::new();
                    for n in &numbers {
                        let text = entry(all, *n)?;
                        budget.pay(1, text.as_ref().map_or(0, String::len))?;
                        found.push(text.clone());
                    }
                    Values::Text(found)
                }
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
