//! The rows of a query that have been fetched, kept so that they can be given again in any order.
//!
//! A row is fetched when it is first asked for. Rows lie in pages in their order; the first pages stay in memory, later
//! ones go to temporary space, each as a stream of its own, so that a page is read without those before it.

use crate::ctx::ExecCtx;
use crate::cursor::Cursor;
use crate::spill::pool::Pool;
use crate::spill::{Reader, TempFile, rows};
use types::{Ora, Result, Value};

/// Bytes of rows after which a page is full.
const PAGE_BYTES: usize = 48 << 10;
/// Pages that stay in memory.
const PAGES_IN_MEMORY: usize = 64;

enum Place {
    Memory(Vec<u8>),
    Disk(TempFile),
}

struct Page {
    /// The number of its first row.
    first: u64,
    place: Place,
}

/// The rows that a cursor has given.
#[derive(Default)]
pub struct Scroll {
    pages: Vec<Page>,
    pool: Pool,
    /// The page that is being filled, and the number of rows in the pages before.
    last: Vec<u8>,
    before_last: u64,
    /// Rows kept.
    rows: u64,
    /// The cursor has no more.
    is_ended: bool,
    /// A page on disk that has been read, by its place in `pages`.
    read: Option<usize>,
    record: Vec<u8>,
    /// Where the row behind the one that was given last begins: page, number of the row, byte.
    next: (usize, u64, usize),
    row: Vec<Value>,
}

impl Scroll {
    /// The row of a number, from 1; false when there is no such row.
    ///
    /// # Errors
    /// Those of fetching it; ORA-01652 without temporary space, and others of reading it.
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

    /// Whether there is a row of that number.
    ///
    /// # Errors
    /// As [`Scroll::row`].
    pub fn has(&mut self, number: u64, cursor: &mut Cursor, cx: &mut ExecCtx<'_>) -> Result<bool> {
        while self.rows < number && self.fetch(cursor, cx)? {}
        Ok(number <= self.rows)
    }

    /// Fetches all rows; how many there are.
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
        // The page behind the full ones is the one that is being filled.
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
