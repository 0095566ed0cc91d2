//! Batches of redo records, passed from the thread that reads the redo to the workers that apply it.
//!
//! The bytes are not copied: a batch takes the buffer that they were read into, and the reader gets the buffer of an
//! earlier batch.
//!
//! A shared batch is read by all workers and changed by no thread; when the last worker drops it, it is filled again.

use os::blocks::Blocks;
use redo::{LogReader, Rba, RecordReader};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use types::Rdba;

/// Checked records, in the bytes of the log.
#[derive(Default)]
pub struct Batch {
    bytes: Blocks,
    /// For each record its address and its place in `bytes`.
    records: Vec<(Rba, Range<usize>)>,
    /// The blocks that records make whole, and the ends of those records.
    made: Vec<(Rdba, Rba)>,
    len: usize,
    left: u64,
}

impl Batch {
    pub fn clear(&mut self) {
        self.records.clear();
        self.made.clear();
        self.len = 0;
    }

    /// Bytes of the records.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a checked record, which will lie there once the bytes are taken.
    pub fn note(&mut self, start: Rba, at: Range<usize>) {
        self.len += at.len();
        self.records.push((start, at));
    }

    /// Notes that the record ending at `end` makes a block whole.
    pub fn note_made(&mut self, at: Rdba, end: Rba) {
        self.made.push((at, end));
    }

    /// The blocks made whole, in the order of the redo, and the ends of the records that do so.
    pub fn made(&self) -> &[(Rdba, Rba)] {
        &self.made
    }

    /// Exchanges buffers with the reader: its bytes become this batch's, and it gets the old buffer.
    pub fn take(&mut self, reader: &mut LogReader) {
        self.bytes = reader.take_buffer(std::mem::take(&mut self.bytes));
        self.left = reader.bytes_left();
    }

    /// The records and their addresses.
    pub fn records(&self) -> impl Iterator<Item = (Rba, RecordReader<'_>)> {
        self.records.iter().map(move |(start, at)| {
            let record =
                RecordReader::of_checked(&self.bytes.bytes()[at.clone()]).expect("it was checked when it was read");
            (*start, record)
        })
    }
}

/// A ring of reused batches.
pub struct Ring {
    batches: Vec<Arc<Batch>>,
    /// The batch that is being filled, or was filled and not taken yet.
    now: usize,
    /// The first batch, filled before the ring was made, has not been taken yet.
    is_fresh: bool,
}

impl Ring {
    pub fn new(first: Batch) -> Ring {
        Ring { batches: vec![Arc::new(first)], now: 0, is_fresh: true }
    }

    /// Whether the first batch has not been taken yet.
    pub fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// A batch that no worker reads any more, or a new one. There are few more batches than can wait for a worker.
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

    /// The filled batch, for the workers.
    pub fn take(&mut self) -> Arc<Batch> {
        self.is_fresh = false;
        self.batches[self.now].clone()
    }
}

/// Bytes of redo that a worker receives before it applies the first of them: changes of a block that is made whole
/// within that distance are not applied (R8).
const KNOWN_BYTES: u64 = 16 << 20;

/// A worker takes up to this many bytes from the queue when they are available.
const KNOWN_BYTES_MAX: u64 = 24 << 20;

/// The batches that a worker has received and not applied.
///
/// A worker waits until it has received enough redo. Towards the end of the redo the amount shrinks, so that little is
/// left to do when the last batch has been read.
pub struct Waiting<'a> {
    line: &'a Receiver<Arc<Batch>>,
    batches: VecDeque<Arc<Batch>>,
    bytes: u64,
    /// Bytes of redo behind the last of these batches.
    left: u64,
}

impl Waiting<'_> {
    pub fn of(line: &Receiver<Arc<Batch>>) -> Waiting<'_> {
        Waiting { line, batches: VecDeque::new(), bytes: 0, left: 0 }
    }

    fn is_enough(&self) -> bool {
        !self.batches.is_empty() && self.bytes > KNOWN_BYTES.min(self.left / 2)
    }

    /// The next batch to apply, once enough redo was received. `tell` gets every batch as it is taken from the queue,
    /// so before it is returned. `None` when there are no more.
    pub fn next(&mut self, tell: &mut dyn FnMut(&Batch)) -> Option<Arc<Batch>> {
        loop {
            let taken = match self.is_enough() {
                false => self.line.recv().ok(),
                true if self.bytes < KNOWN_BYTES_MAX => self.line.try_recv().ok(),
                true => None,
            };
            let Some(batch) = taken else { break };
            tell(&batch);
            self.bytes += batch.len() as u64;
            self.left = batch.left;
            self.batches.push_back(batch);
        }
        let batch = self.batches.pop_front()?;
        self.bytes -= batch.len() as u64;
        Some(batch)
    }
}
