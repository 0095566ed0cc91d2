//! Writes of one process that are in flight together, and those that a dead process has left in flight.
//!
//! A DBWn begins the writes of all blocks of a batch and then waits for them ([`os::ring`]). The blocks are private
//! copies, not buffers of the cache. When the process is killed, the kernel may write for some time after the death;
//! each file has a lock for every such process that lasts until its writes have ended. The cleaning process and the
//! next start wait for these locks before they write anything to the same places (R10).

use crate::files::DataFiles;
use block::BlockView;
use os::file::{File, OpenMode};
use os::ring::{Ring, RingFile, RingWrite};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use types::{Rdba, Result};

/// The pause between two looks at a lock of a dead process.
const LOOK: Duration = Duration::from_millis(1);
/// Number of looks after which an error counts.
const LOOKS: u32 = 2000;

const ENOENT: i32 = 2;
const EIO: i32 = 5;
const EAGAIN: i32 = 11;
const EACCES: i32 = 13;
const ENOTDIR: i32 = 20;
const EINVAL: i32 = 22;
const ENOLCK: i32 = 37;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

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

    /// Makes the description of `file`, unless there is one. Where the file system has no locks or no rings, there is
    /// none; after another failure the next call tries again. The blocks are then written without the ring.
    ///
    /// # Errors
    /// The lock is still held: writes that a dead process began with the same slot have not ended.
    fn open(&mut self, number: u32, file: &Arc<File>) -> os::OsResult<()> {
        if self.files.get(&number).is_some_and(|(of, _)| Arc::ptr_eq(of, file)) {
            return Ok(());
        }
        // The old description has the lock that the new one takes.
        self.files.remove(&number);
        for again in (0..LOOKS).rev() {
            let own = match file.for_ring(lock_of(self.slot, number)) {
                Ok(own) => Some(own),
                Err(e) if has_no_locks(&e) => None,
                Err(e) if !is_held(&e) => return Ok(()),
                Err(e) if again == 0 => return Err(e),
                Err(_) => {
                    os::clock::sleep(LOOK);
                    continue;
                }
            };
            self.files.insert(number, (Arc::clone(file), own));
            break;
        }
        Ok(())
    }
}

/// True for the error of a file system without locks, or without direct transfers. No process writes its files by
/// rings.
fn has_no_locks(e: &os::OsError) -> bool {
    matches!(e.errno(), EINVAL | ENOSYS | EOPNOTSUPP | ENOLCK)
}

fn is_held(e: &os::OsError) -> bool {
    matches!(e.errno(), EAGAIN | EACCES)
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
            let opened = self.file(at.file());
            results.push(opened.and_then(|f| writer.open(at.file(), &f).map_err(|e| self.cannot_write(*at, &e))));
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
    ///
    /// # Errors
    /// As [`DataFiles::check_sound`]: when it stays unknown whether writes of a file are in flight, a write to it
    /// counts as lost (R9). No checkpoint completes from then on, and the next start, which waits again, restores the
    /// blocks.
    pub fn wait_for_dead_writes(&self, slots: Range<usize>, files: impl IntoIterator<Item = u32>) -> Result<()> {
        let locks = lock_of(slots.start, 0)..lock_of(slots.end, 0);
        for number in files {
            if let Err(errno) = self.wait_for_writes_to(number, &locks) {
                self.table.fail(number, errno);
            }
        }
        self.check_sound()
    }

    /// As [`DataFiles::wait_for_dead_writes`], to one file; the error number of the last look when it stays unknown.
    fn wait_for_writes_to(&self, number: u32, locks: &Range<u64>) -> std::result::Result<(), i32> {
        let mut tries = 0;
        loop {
            let is_written = self.to_look_at(number).and_then(|file| match file {
                Some(file) => file.is_being_written(locks.clone()).map_err(|e| e.errno()),
                None => Ok(false),
            });
            match is_written {
                Ok(true) => {}
                Ok(false) | Err(EINVAL | ENOSYS | EOPNOTSUPP | ENOLCK) => return Ok(()),
                Err(errno) if tries == LOOKS => return Err(errno),
                Err(_) => tries += 1,
            }
            os::clock::sleep(LOOK);
        }
    }

    /// The file, open or opened for this look: the caller need not have opened a file that the dead process wrote, and
    /// the file may be offline by now, or damaged. `None` when there is no such file: its number or its name is gone.
    fn to_look_at(&self, number: u32) -> std::result::Result<Option<Arc<File>>, i32> {
        if let Some(file) = self.table.opened(number) {
            return Ok(Some(file));
        }
        let control = self.control().map_err(|_| EIO)?;
        let Some(entry) = control.file(number) else { return Ok(None) };
        match File::open(&self.path(&entry.name), OpenMode::Read) {
            Ok(file) => Ok(Some(Arc::new(file))),
            Err(e) if matches!(e.errno(), ENOENT | ENOTDIR) => Ok(None),
            Err(e) => Err(e.errno()),
        }
    }
}
