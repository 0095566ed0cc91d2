//! Array DML: many rows of bind values for one statement.
//!
//! The rows are kept as bytes. They are checked once, when the packet is read, and decoded one by one when the
//! statement is executed, so the rows never exist twice in memory.

use super::bind::Bind;
use super::value::{check_value, read_value_into, write_value};
use super::wire::{Reader, WireError, WireResult, Writer};
use types::Value;

/// Largest number of rows in one request; it also bounds the answer.
pub const ARRAY_ROWS_MAX: usize = 1 << 16;

/// A statement to run once for each of many rows of bind values.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Array {
    pub sql: String,
    /// Names, directions and types; the values are in the rows, one for each bind.
    pub binds: Vec<Bind>,
    /// A failed execution is noted, and the next one follows.
    pub batch_errors: bool,
    /// The answer has the number of rows that each execution has changed.
    pub row_counts: bool,
    /// Return the lines of `dbms_output` from the call.
    pub want_output: bool,
}

/// Rows of values, all of the same width, as bytes.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BindRows {
    count: u32,
    width: usize,
    bytes: Vec<u8>,
}

impl BindRows {
    /// No rows.
    pub fn new(width: usize) -> BindRows {
        BindRows { count: 0, width, bytes: Vec::new() }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the rows in a packet.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a row, unless there are [`ARRAY_ROWS_MAX`] already or the rows would exceed `most` bytes; returns whether
    /// it did.
    ///
    /// # Panics
    /// When the row has another width.
    pub fn push(&mut self, row: &[Value], most: usize) -> bool {
        assert_eq!(row.len(), self.width, "values for each bind");
        let before = self.bytes.len();
        if self.len() == ARRAY_ROWS_MAX {
            return false;
        }
        let mut w = Writer::new(&mut self.bytes);
        row.iter().for_each(|v| write_value(&mut w, v));
        if self.bytes.len() > most {
            self.bytes.truncate(before);
            return false;
        }
        self.count += 1;
        true
    }

    /// Drops the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.count = 0;
        self.bytes.clear();
    }

    /// An iterator over the rows.
    pub fn rows(&self) -> Rows<'_> {
        Rows { left: self.count, width: self.width, reader: Reader::new(&self.bytes) }
    }

    pub(super) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.count);
        w.bytes(&self.bytes);
    }

    pub(super) fn read(r: &mut Reader<'_>, width: usize) -> WireResult<BindRows> {
        let count = r.u32()?;
        let bytes = r.bytes()?;
        // A value takes at least one byte.
        if count as usize > ARRAY_ROWS_MAX || width == 0 || (count as usize).saturating_mul(width) > bytes.len() {
            return Err(WireError::LengthOutOfBounds);
        }
        let mut values = Reader::new(bytes);
        for _ in 0..count as usize * width {
            check_value(&mut values)?;
        }
        values.finish()?;
        Ok(BindRows { count, width, bytes: bytes.to_vec() })
    }
}

/// Reads the rows of a [`BindRows`].
pub struct Rows<'a> {
    left: u32,
    width: usize,
    reader: Reader<'a>,
}

impl Rows<'_> {
    /// The next row, whose values keep their buffers. False at the end.
    ///
    /// # Errors
    /// [`WireError`] for bytes that were not checked.
    pub fn next_row(&mut self, row: &mut Vec<Value>) -> WireResult<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        row.resize(self.width, Value::Null);
        row.iter_mut().try_for_each(|v| read_value_into(&mut self.reader, v))?;
        Ok(true)
    }
}
