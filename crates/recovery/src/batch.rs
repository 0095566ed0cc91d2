//! Records on their way from the thread that reads them to those that apply them.
//!
//! A batch is read by all workers and written by nobody while it is shared; when the last of them lets go of it, it is filled again.

use redo::{Rba, RecordReader};
use std::sync::Arc;

/// Checked records, one behind the other.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where each record begins in the stream, and where it ends in `bytes`.
    records: Vec<(Rba, usize)>,
}

impl Batch {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    /// Bytes of the records.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a record that was found to be sound.
    pub fn push(&mut self, start: Rba, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.records.push((start, self.bytes.len()));
    }

    /// The records and where they begin.
    pub fn records(&self) -> impl Iterator<Item = (Rba, RecordReader<'_>)> {
        let mut begin = 0;
        self.records.iter().map(move |&(start, end)| {
            let record = RecordReader::of_checked(&self.bytes[begin..end]).expect("it was checked when it was read");
            begin = end;
            (start, record)
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
