//! Batches, and the row sources that return them.

use super::column::{self, Column};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::Reg;
use types::{Ora, Result, Rowid};

/// Most rows of a batch.
pub const ROWS_MAX: usize = 1024;
/// A batch with this many bytes of texts takes no more rows.
pub const BYTES_MAX: usize = 4 << 20;
/// Largest arena whose offsets fit, with room for one more value.
pub const ARENA_MAX: usize = u32::MAX as usize / 2;

/// Rows as columns, one for each register of their row source, in the order of [`Node::regs`]. All rows are valid:
/// filtered rows have been removed.
#[derive(Debug, Default)]
pub struct Batch {
    pub len: usize,
    pub columns: Vec<Column>,
    /// Bytes of the texts.
    pub arena: Vec<u8>,
    /// The places of the rows, if they come from a scan that keeps them ([`super::build_changing`]).
    pub places: Kept,
}

/// The places of the rows of a batch: in the table, and in its arena.
#[derive(Debug, Default)]
pub struct Kept {
    pub rows: Vec<KeptRow>,
    /// For each column that the scan locates, the place of its value in each row; one of length [`column::NULL`] has
    /// no place.
    pub spans: Vec<Vec<column::Span>>,
}

/// A row in the arena.
#[derive(Clone, Copy, Debug)]
pub struct KeptRow {
    pub rowid: Rowid,
    pub at: u32,
    pub len: u32,
}

impl Kept {
    fn keep(&mut self, rows: &[u32]) {
        fn pick<T: Copy>(v: &mut Vec<T>, rows: &[u32]) {
            for (to, &from) in rows.iter().enumerate() {
                v[to] = v[from as usize];
            }
            v.truncate(rows.len());
        }
        if !self.rows.is_empty() {
            pick(&mut self.rows, rows);
            self.spans.iter_mut().for_each(|spans| pick(spans, rows));
        }
    }
}

impl Batch {
    pub fn clear(&mut self) {
        self.len = 0;
        self.columns.clear();
        self.arena.clear();
        self.places.rows.clear();
    }

    /// Puts a row into the registers of its columns.
    ///
    /// # Errors
    /// ORA-00600 for bytes that cannot be of their type.
    pub fn restore(&self, row: usize, regs: &[Reg], m: &mut Machine) -> Result<()> {
        for (column, &reg) in self.columns.iter().zip(regs) {
            column.put(row, &self.arena, &mut m.regs[reg as usize])?;
        }
        Ok(())
    }

    /// Bytes of memory that the batch has.
    pub fn used(&self) -> usize {
        let spans = self.places.spans.iter().map(Vec::capacity).sum::<usize>() * size_of::<column::Span>();
        let words = self.columns.len() * self.len * size_of::<u64>();
        self.arena.capacity() + self.places.rows.capacity() * size_of::<KeptRow>() + spans + words
    }

    /// Compacts the arena if most of its bytes belong to no text of the batch.
    pub fn shrink(&mut self) {
        let texts: usize = self.columns.iter().map(column::text_bytes).sum();
        if texts < self.arena.len() / 2 {
            let rows: Vec<u32> = (0..self.len as u32).collect();
            let mut arena = Vec::with_capacity(texts);
            for column in &mut self.columns {
                *column = column.pick(&rows, &self.arena, &mut arena);
            }
            self.arena = arena;
        }
    }

    /// Keeps the rows `rows`, in ascending order.
    pub fn keep(&mut self, rows: &[u32]) {
        if rows.len() < self.len {
            self.columns.iter_mut().for_each(|c| c.keep(rows));
            self.places.keep(rows);
            self.len = rows.len();
        }
    }
}

/// A row source that returns batches.
pub trait Node {
    /// Starts again from the beginning.
    ///
    /// # Errors
    /// Those of reading.
    fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()>;

    /// Restarts for another row of an enclosing nested loop; may keep everything that does not depend on that row.
    ///
    /// # Errors
    /// Those of reading.
    fn rewind(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.open(m, cx)
    }

    /// The registers of a row's values, in the order of a batch's columns.
    fn regs(&self) -> &[Reg];

    /// Number of rows that a scan has read and its filter has dropped.
    fn left_out(&self) -> u64 {
        0
    }

    /// Fills `out` with the next rows, at least one. False at the end; `out` is undefined then.
    ///
    /// # Errors
    /// Those of the row after the last one returned.
    fn next_batch(&mut self, out: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool>;
}

/// An error that is raised after the rows before it have been returned.
#[derive(Default)]
pub struct Failing(Option<Ora>);

impl Failing {
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Raises the deferred error.
    ///
    /// # Errors
    /// The deferred error.
    pub fn raise(&mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), Err)
    }

    /// Defers an error until the `rows` rows before it have been returned.
    ///
    /// # Errors
    /// The error, if there are no such rows.
    pub fn after(&mut self, rows: usize, e: Ora) -> Result<()> {
        if rows == 0 {
            return Err(e);
        }
        self.0 = Some(e);
        Ok(())
    }
}
