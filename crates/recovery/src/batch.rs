//! Records on their way from the thread that reads them to those that apply them.
//!
//! The bytes are not copied: a batch takes the buffer that they were read into, and the reader gets the one of an earlier batch.
//!
//! A batch is read by all workers and written by nobody while it is shared; when the last of them lets go of it, it is filled again.

use os::blocks::Blocks;
use redo::{LogReader, Rba, RecordReader};
use std::ops::Range;
use std::sync::Arc;

/// Checked records, as they stood in the log.
#[derive(Default)]
pub struct Batch {
    bytes: Blocks,
    /// Where each record begins in the stream, and where it lies in `bytes`.
    records: Vec<(Rba, Range<usize>)>,
    len: usize,
}

impl Batch {
    pub fn clear(&mut self) {
        self.records.clear();
        self.len = 0;
    }

    /// Bytes of the records.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a sound record that will lie there when the bytes have come.
    pub fn note(&mut self, start: Rba, at: Range<usize>) {
        self.len += at.len();
        self.records.push((start, at));
    }

    /// The bytes: what the reader read takes the place of what it read for this batch the last time.
    pub fn take(&mut self, reader: &mut LogReader) {
        self.bytes = reader.take_buffer(std::mem::take(&mut self.bytes));
    }

    /// The records and where they begin.
    pub fn records(&self) -> impl Iterator<Item = (Rba, RecordReader<'_>)> {
        self.records.iter().map(move |(start, at)| {
            let record =
                RecordReader::of_checked(&self.bytes.bytes()[at.clone()]).expect("it was checked when it was read");
            (*start, record)
        })
    }
}

/// Batches that are used in turn.
pub struct Ring {
    batches: Vec<Arc<Batch>>,
    /// The batch that is filled, or was filled and not yet taken.
    now: usize,
    /// The first batch was filled before there was a ring.
    is_fresh: bool,
}

impl Ring {
    pub fn new(first: Batch) -> Ring {
        Ring { batches: vec![Arc::new(first)], now: 0, is_fresh: true }
    }

    /// Whether the first batch waits to be taken.
    pub fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// A batch that nobody reads any more, or a new one: there are never many more than may wait for a worker.
    pub fn free(&mut self) -> &mut Batch {
        let idle = |b: &mut Arc<Batch>| Arc::get_mut(b).is_some();
        self.now = match self.batches.iter_mut().position(idle) {
            Some(n) => n,
            None => {
                self.batches.push(Arc::default());
                self.batches.len() - 1
            }
        };
        Arc::get_mut(&mut self.batches[self.now]).expect("nobody else has it")
    }

    /// The batch that was filled, for the workers.
    pub fn take(&mut self) -> Arc<Batch> {
        self.is_fresh = false;
        self.batches[self.now].clone()
    }
}
