//! Records on their way from the thread that reads them to those that apply them.
//!
//! The bytes are not copied: a batch takes the buffer that they were read into, and the reader gets the one of an
//! earlier batch.
//!
//! A batch is read by all workers and written by nobody while it is shared; when the last of them lets go of it, it is
//! filled again.

use os::blocks::Blocks;
use redo::{LogReader, Rba, RecordReader};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use types::Rdba;

/// Checked records, as they stood in the log.
#[derive(Default)]
pub struct Batch {
    bytes: Blocks,
    /// Where each record begins in the stream, and where it lies in `bytes`.
    records: Vec<(Rba, Range<usize>)>,
    /// Blocks that records make anew, and where those records end.
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

    /// Adds a sound record that will lie there when the bytes have come.
    pub fn note(&mut self, start: Rba, at: Range<usize>) {
        self.len += at.len();
        self.records.push((start, at));
    }

    /// Notes that the record which ends at `end` makes a block anew.
    pub fn note_made(&mut self, at: Rdba, end: Rba) {
        self.made.push((at, end));
    }

    /// The blocks that are made anew, in the order of the redo, and where the records end that do so.
    pub fn made(&self) -> &[(Rdba, Rba)] {
        &self.made
    }

    /// The bytes: what the reader read takes the place of what it read for this batch the last time.
    pub fn take(&mut self, reader: &mut LogReader) {
        self.bytes = reader.take_buffer(std::mem::take(&mut self.bytes));
        self.left = reader.bytes_left();
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

/// Redo that a worker knows of before it applies what comes first, in bytes: what is made anew within that distance
/// need not be applied.
const KNOWN_BYTES: u64 = 16 << 20;

/// So much of it is taken from the line when there is more.
const KNOWN_BYTES_MAX: u64 = 24 << 20;

/// The batches that a worker has been given and has not applied.
///
/// It waits until it knows enough of what is coming; towards the end of the redo that is less and less, so that little
/// is left to do when the last was read.
pub struct Waiting<'a> {
    line: &'a Receiver<Arc<Batch>>,
    batches: VecDeque<Arc<Batch>>,
    bytes: u64,
    /// Bytes of redo behind the last of them.
    left: u64,
}

impl Waiting<'_> {
    pub fn of(line: &Receiver<Arc<Batch>>) -> Waiting<'_> {
        Waiting { line, batches: VecDeque::new(), bytes: 0, left: 0 }
    }

    fn is_enough(&self) -> bool {
        !self.batches.is_empty() && self.bytes > KNOWN_BYTES.min(self.left / 2)
    }

    /// The next batch to be applied, when enough is known; before that `tell` has heard of it and of all that were
    /// taken from the line behind it. `None` when there are no more.
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
