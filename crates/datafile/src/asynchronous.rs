//! Writes of one process that are in flight together, and those that a dead process has left in flight.
//!
//! A DBWn begins the writes of all blocks of a batch and then waits for them ([`os::ring`]). The blocks are private
//! copies, not buffers of the cache. When the process is killed, the kernel may write for some time after the death;
//! each file has a lock for every such process that lasts until its writes have ended. The cleaning process and the
//! next start wait for these locks before they write anything to the same places (R10).

use crate::files::DataFiles;
use block::BlockView;
use os::file::File;
use os::ring::{Ring, RingFile, RingWrite};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use types::{Rdba, Result};

/// The pause between two looks at a lock of a dead process.
const LOOK: Duration = Duration::from_millis(1);

/// The number of the lock of a process on a file. Parts of a bigfile are one file for the operating system, and each
/// has a description of its own.
fn lock_of(slot: usize, number: u32) -> u64 {
    (slot as u64).saturating_mul(u64::from(Rdba::MAX_FILE) + 1) + u64::from(number)
}

/// The ring of a process and its own descriptions of the data files.
pub struct AsyncWriter {
    ring: Ring,
    slot: usize,
    /// By file number: the file that the description was made from, and the description; `None` where the file cannot
    /// be written by a ring.
    files: HashMap<u32, (Arc<File>, Option<RingFile>)>,
}

impl AsyncWriter {
    /// The writer of the process with slot `slot`. Its children must not use it.
    ///
    /// # Errors
    /// The system has no `io_uring`.
    pub fn new(slot: usize) -> os::OsResult<AsyncWriter> {
        Ok(AsyncWriter { ring: Ring::new()?, slot, files: HashMap::new() })
    }

    /// Makes the description of `file`, unless there is one.
    fn open(&mut self, number: u32, file: &Arc<File>) {
        if self.files.get(&number).is_none_or(|(of, _)| !Arc::ptr_eq(of, file)) {
            // The old description has the lock that the new one takes.
            self.files.remove(&number);
            let own = file.for_ring(lock_of(self.slot, number)).ok();
            self.files.insert(number, (Arc::clone(file), own));
        }
    }
}

impl DataFiles {
    /// Writes runs of neighbouring sealed blocks, all at the same time; the result has one entry for each run.
    /// `submitted` is called when the writes have begun. None is in flight on return.
    ///
    /// # Errors
    /// Those of each run are as of [`DataFiles::write_blocks`].
    pub fn write_runs(
        &self,
        writer: &mut AsyncWriter,
        runs: &[(Rdba, &[u8])],
        submitted: &mut dyn FnMut(),
    ) -> Vec<Result<()>> {
        let size = self.block_size();
        let mut results: Vec<Result<()>> = Vec::with_capacity(runs.len());
        for (at, blocks) in runs {
            assert!(blocks.len().is_multiple_of(size), "whole blocks are written");
            for (n, block) in blocks.chunks(size).enumerate() {
                assert_eq!(BlockView::of_bytes(block).rdba().0, at.0 + n as u32, "a block is written to its own place");
            }
            results.push(self.file(at.file()).map(|file| writer.open(at.file(), &file)));
        }
        let AsyncWriter { ring, files, .. } = writer;
        let (mut together, mut numbers) = (Vec::with_capacity(runs.len()), Vec::with_capacity(runs.len()));
        let mut others = Vec::new();
        for (n, (at, bytes)) in runs.iter().enumerate().filter(|(n, _)| results[*n].is_ok()) {
            match files.get(&at.file()).and_then(|(_, own)| own.as_ref()).filter(|own| own.takes(bytes)) {
                Some(file) => {
                    together.push(RingWrite { file, bytes, position: self.position(*at) });
                    numbers.push(n);
                }
                None => others.push(n),
            }
        }
        let written = ring.write_all(&together, submitted);
        for (n, done) in numbers.into_iter().zip(written) {
            results[n] = done.map_err(|e| self.cannot_write(runs[n].0, &e));
        }
        for n in others {
            results[n] = self.write_blocks(runs[n].0, runs[n].1);
        }
        results
    }

    /// Waits until no write to these files is in flight that a dead process with one of these slots has begun.
    pub fn wait_for_dead_writes(&self, slots: Range<usize>, files: impl IntoIterator<Item = u32>) {
        let locks = lock_of(slots.start, 0)..lock_of(slots.end, 0);
        // The caller need not have opened a file that the dead process wrote, and the file may be offline by now.
        let open = |number| {
            let control = self.control().ok()?;
            self.open_file(control.file(number)?).ok().map(Arc::new)
        };
        for file in files.into_iter().filter_map(|number| self.table.opened(number).or_else(|| open(number))) {
            // A file system without locks has no writes by rings.
            while file.is_being_written(locks.clone()).unwrap_or(false) {
                os::clock::sleep(LOOK);
            }
        }
    }
}
