//! Fetched rows of a query, kept so that they can be returned again in any order.
//!
//! A row is fetched at the first request for it. Rows lie in pages in order. The first pages stay in memory; each later
//! page is a separate stream in temporary space and can be read without those before it.

use crate::ctx::ExecCtx;
use crate::cursor::Cursor;
use crate::spill::pool::Pool;
use crate::spill::{Reader, TempFile, rows};
use types::{Ora, Result, Value};

/// A page is full when its rows have this many bytes.
const PAGE_BYTES: usize = 48 << 10;
/// Pages that stay in memory.
const PAGES_IN_MEMORY: usize = 64;

enum Place {
    Memory(Vec<u8>),
    Disk(TempFile),
}

struct Page {
    /// The number of the first row of the page.
    first: u64,
    place: Place,
}

/// The rows fetched from a cursor.
#[derive(Default)]
pub struct Scroll {
    pages: Vec<Page>,
    pool: Pool,
    /// The page being filled, and the number of rows in the pages before it.
    last: Vec<u8>,
    before_last: u64,
    /// Rows kept.
    rows: u64,
    /// Whether the cursor has no more rows.
    is_ended: bool,
    /// Position in `pages` of the page on disk that was read last.
    read: Option<usize>,
    record: Vec<u8>,
    /// Position after the row returned last: page, number of the row, byte.
    next: (usize, u64, usize),
    row: Vec<Value>,
}

impl Scroll {
    /// Reads a row by number, from 1. False when there is no such row.
    ///
    /// # Errors
    /// Those of fetching the row; ORA-01652 without temporary space, and errors of reading it.
    pub fn row(
        &mut self,
        number: u64,
        cursor: &mut Cursor,
        row: &mut Vec<Value>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        if number == 0 || !self.has(number, cursor, cx)? {
            return Ok(false);
        }
        self.load(number, row, cx)?;
        Ok(true)
    }

    /// Whether a row with this number exists.
    ///
    /// # Errors
    /// As [`Scroll::row`].
    pub fn has(&mut self, number: u64, cursor: &mut Cursor, cx: &mut ExecCtx<'_>) -> Result<bool> {
        while self.rows < number && self.fetch(cursor, cx)? {}
        Ok(number <= self.rows)
    }

    /// Fetches all rows and returns their number.
    ///
    /// # Errors
    /// As [`Scroll::row`].
    pub fn last(&mut self, cursor: &mut Cursor, cx: &mut ExecCtx<'_>) -> Result<u64> {
        while self.fetch(cursor, cx)? {}
        Ok(self.rows)
    }

    fn fetch(&mut self, cursor: &mut Cursor, cx: &mut ExecCtx<'_>) -> Result<bool> {
        if self.is_ended || !cursor.fetch(cx, &mut self.row)? {
            self.is_ended = true;
            return Ok(false);
        }
        rows::encode(&self.row, &mut self.last);
        self.rows += 1;
        if self.last.len() >= PAGE_BYTES {
            self.end_page(cx)?;
        }
        Ok(true)
    }

    fn end_page(&mut self, cx: &ExecCtx<'_>) -> Result<()> {
        let bytes = std::mem::take(&mut self.last);
        let place = if self.pages.len() < PAGES_IN_MEMORY {
            Place::Memory(bytes)
        } else {
            let mut file = TempFile::new(&self.pool, cx);
            file.push(&bytes, cx)?;
            file.finish(cx)?;
            Place::Disk(file)
        };
        self.pages.push(Page { first: self.before_last + 1, place });
        self.before_last = self.rows;
        Ok(())
    }

    fn load(&mut self, number: u64, row: &mut Vec<Value>, cx: &ExecCtx<'_>) -> Result<()> {
        let page = self.pages.partition_point(|page| page.first <= number);
        // The last page, after the full ones, is the one being filled.
        let page = if number > self.before_last { self.pages.len() } else { page - 1 };
        let first = self.pages.get(page).map_or(self.before_last + 1, |page| page.first);
        if let Some(Page { place: Place::Disk(file), .. }) = self.pages.get(page)
            && self.read != Some(page)
        {
            self.read = None;
            if !file.next(&mut Reader::default(), &mut self.record, cx)? {
                return Err(Ora::internal("temporary rows end too early"));
            }
            self.read = Some(page);
        }
        let bytes = match self.pages.get(page).map(|page| &page.place) {
            None => &self.last,
            Some(Place::Memory(bytes)) => bytes,
            Some(Place::Disk(_)) => &self.record,
        };
        let (mut at, mut rest) = match self.next {
            (of, at, byte) if of == page && at <= number && at >= first => (at, &bytes[byte..]),
            _ => (first, &bytes[..]),
        };
        row.resize(self.row.len(), Value::Null);
        loop {
            row.iter_mut().try_for_each(|value| rows::decode(&mut rest, value))?;
            at += 1;
            if at > number {
                self.next = (page, at, bytes.len() - rest.len());
                return Ok(());
            }
        }
    }
}
