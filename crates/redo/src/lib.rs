//! Change vectors: the only way to change blocks (R1).
//!
//! A change vector consists of block, layer, operation and bytes. Each layer registers one function that applies its
//! vectors to a private image of a block. The same function runs at recovery, so it may depend on nothing but the image
//! and the vector (R2). The vectors of one atomic group make a redo record. This crate frames records and checks them;
//! it knows no block layout.

#![deny(unsafe_code)] // Only in what `sga_struct!` writes.

mod ahead;
mod archive;
mod archive_place;
mod buffer;
mod control;
mod fields;
mod file;
mod group;
mod groups;
mod info;
mod log;
mod places;
mod reader;
mod record;
mod write;

pub use archive_place::{ArchivePlace, FindArchivePlace};
pub use control::{
    CheckpointEntry, Control, FIRST_RBA, IncarnationEntry, LOGGED_MAX, LOGS_MAX, LogControl, LogGroupEntry,
    LoggedEntry, RBA_LIMIT,
};
pub use fields::Fields;
pub use file::{LOG_BLOCK_BYTES, LOG_HEADER_BYTES, LogHeader};
pub use groups::{LOG_FILE_MIN, LogFiles, create_logs};
pub use info::LogInfo;
pub use log::{Checkpointer, LogConfig, LogLayout, RedoLog};
pub use reader::LogReader;
pub use record::{Damaged, RECORD_HEAD, RecordReader, RecordWriter, Vectors, void_record};

use process::Process;
use std::sync::atomic::AtomicU64;
use types::{Ora, Rdba, Result, Scn};

types::numbered! {
    /// The part of the database that a change vector belongs to. The numbers are stored in redo and never change their
    /// meaning (R5).
    #[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Layer: u8 {
        /// Any block as bytes: formatting, patching. Shared by all layers.
        Block = 1,
        /// Segment headers, space maps, file bitmaps.
        Space = 2,
        /// Undo blocks and transaction tables.
        Undo = 3,
        /// ITL slots and delayed block cleanout.
        Transaction = 4,
        /// Rows of heap tables.
        Heap = 5,
        /// Rows and keys of clusters.
        Cluster = 6,
        /// B-tree blocks.
        Index = 7,
        /// For tests only.
        Test = 15,
    }
}

/// The most layers of an [`ApplyTable`].
pub const LAYERS: usize = 16;

/// One change of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeVector<'a> {
    /// The block.
    pub rdba: Rdba,
    /// The layer that applies it.
    pub layer: Layer,
    /// The layer's operation.
    pub op: u8,
    /// The operation's bytes.
    pub data: &'a [u8],
}

/// Applies operation `op` with `data` to the image of a block; must depend on these three alone.
///
/// # Errors
/// ORA-00600 when the change does not fit the block. The image is then discarded.
pub type ApplyFn = fn(block: &mut [u8], op: u8, data: &[u8]) -> Result<()>;

/// The apply functions by layer. Built once before the first fork and never changed (R1).
#[derive(Clone, Default)]
pub struct ApplyTable {
    layers: [Option<ApplyFn>; LAYERS],
}

impl ApplyTable {
    /// A table without layers.
    pub fn new() -> ApplyTable {
        ApplyTable::default()
    }

    /// Adds a layer.
    ///
    /// # Panics
    /// When the layer is registered with another function.
    pub fn register(&mut self, layer: Layer, apply: ApplyFn) -> &mut ApplyTable {
        let entry = &mut self.layers[layer as usize];
        assert!(entry.is_none(), "{layer:?} is registered twice");
        *entry = Some(apply);
        self
    }

    /// Applies a vector to the image of its block.
    ///
    /// # Errors
    /// Errors of the layer; ORA-00600 when the layer is not registered.
    #[inline]
    pub fn apply(&self, block: &mut [u8], cv: &ChangeVector) -> Result<()> {
        match self.layers[cv.layer as usize] {
            Some(apply) => apply(block, cv.op, cv.data),
            None => Err(Ora::internal(format_args!("no apply function for {:?}", cv.layer))),
        }
    }

    /// As [`ApplyTable::apply`] for a vector read from a file: a panic of the layer becomes an error. The image must
    /// then be discarded.
    ///
    /// # Errors
    /// As [`ApplyTable::apply`]; ORA-00600 for a panic.
    pub fn apply_read(&self, block: &mut [u8], cv: &ChangeVector) -> Result<()> {
        let broken = || Err(Ora::internal(format_args!("{:?} operation {} does not fit its block", cv.layer, cv.op)));
        os::panics::caught(|| self.apply(block, cv)).unwrap_or_else(broken)
    }
}

/// Redo byte address: a position in the stream of redo, which never wraps. 0 is before all redo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rba(pub u64);

impl std::fmt::Display for Rba {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// One use of a log file: unique among all uses of all files of a database. 0 and 0 outside log files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LogId {
    /// The database's incarnation.
    pub incarnation: u32,
    /// The log's sequence number.
    pub sequence: u32,
}

/// The place in the redo that was given out for a record. A record is valid only at its place (R4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The position at which the record begins.
    pub at: Rba,
    /// The log that contains it.
    pub log: LogId,
    /// Everything before this was on disk when the place was given out.
    pub on_disk: Rba,
}

impl Place {
    /// A place whose record is not a witness for anything before it.
    pub fn new(at: Rba, log: LogId) -> Place {
        Place { at, log, on_disk: Rba(0) }
    }
}

/// The destination of redo records.
///
/// A change group reserves room, puts its record there, and settles the place when the record counts:
///
/// | step | a death after it |
/// |---|---|
/// | [`RedoSink::reserve`] | [`RedoSink::settle_dead`] with `counts` false writes a void record there |
/// | [`RedoSink::put`] | the same, as long as the group is not PUBLISHING |
/// | the group is PUBLISHING | [`RedoSink::settle_dead`] with `counts` true |
/// | [`RedoSink::settle`] | nothing is left to do for the redo |
///
/// Nothing at or behind a place that was reserved and not settled is written to disk (R8). Between reserving and
/// settling a process waits for nothing (R4).
pub trait RedoSink: Send + Sync {
    /// False when records are discarded, so that callers need not encode them. It never changes.
    fn wanted(&self) -> bool;

    /// Position of the newest announced checkpoint. A block that has not been changed after it is logged as a whole,
    /// because a recovery that starts there does not read earlier records of the block.
    fn image_before(&self) -> Rba;

    /// The highest SCN of a record; 0 when records are discarded.
    fn newest_scn(&self) -> Scn {
        Scn(0)
    }

    /// Announces a checkpoint: from now on [`RedoSink::image_before`] is the returned address, the present end of the
    /// redo. Latches: `redo allocation`, taken and released.
    fn announce(&self, p: &Process) -> Rba;

    /// Records that a checkpoint announced by this process is complete: recovery needs no redo before it.
    ///
    /// # Errors
    /// Those of the control file.
    fn note_checkpoint(&self, _p: &Process, _rba: Rba) -> Result<()> {
        Ok(())
    }

    /// Gives out the next `len` bytes of the stream and stores their position (never 0) in `note`, in one section.
    /// `None`, and nothing given out, when a checkpoint newer than `decided` has been announced. One place per process
    /// at a time.
    ///
    /// Latches: `redo allocation`, taken and released. Waits: `log buffer space`, `log file switch (…)`; nothing is
    /// given out while waiting.
    /// # Errors
    /// The redo cannot be accepted: nothing may be published. ORA-00028, ORA-01013 while waiting for room.
    fn reserve(&self, p: &Process, len: usize, decided: Rba, note: &AtomicU64) -> Result<Option<Place>>;

    /// Copies the finished record to the place given out.
    fn put(&self, p: &Process, at: Rba, record: &[u8]);

    /// The record counts: it may be written to disk.
    fn settle(&self, p: &Process);

    /// Ends the reservation of the dead process `dead`: `counts` is true when its record counts. No effect without a
    /// reservation.
    fn settle_dead(&self, p: &Process, dead: u32, counts: bool);

    /// Everything before this address is on disk.
    fn on_disk(&self) -> Rba;

    /// Writes everything before `upto` and waits until it is on disk. Waits: `rdbms ipc reply`. Latches: none on entry
    /// or return.
    ///
    /// # Errors
    /// The redo cannot be written; ORA-00028, ORA-01013 while waiting.
    fn force(&self, p: &Process, upto: Rba) -> Result<()>;

    /// Notes that the process has committed with a record that ends at `upto`; its client has not been told.
    fn note_commit(&self, _p: &Process, _upto: Rba) {}

    /// The newest noted commit of the process that was not awaited; 0 for none. A commit without a wait restores it.
    fn noted_commit(&self, _p: &Process) -> Rba {
        Rba(0)
    }

    /// Forgets the noted commits after `keep`; with `soon`, LGWR is asked to write without a wait.
    fn forget_commit(&self, _p: &Process, _keep: Rba, _soon: bool) {}

    /// Waits until the noted commits of the process are on disk. Called before a client is told of them. Waits: `log
    /// file sync`.
    ///
    /// # Errors
    /// The redo cannot be written: no client may be told that the commits are safe.
    fn sync_commits(&self, _p: &Process) -> Result<()> {
        Ok(())
    }
}

impl<S: RedoSink + ?Sized> RedoSink for &'static S {
    fn wanted(&self) -> bool {
        (**self).wanted()
    }
    fn newest_scn(&self) -> Scn {
        (**self).newest_scn()
    }
    fn image_before(&self) -> Rba {
        (**self).image_before()
    }
    fn announce(&self, p: &Process) -> Rba {
        (**self).announce(p)
    }
    fn note_checkpoint(&self, p: &Process, rba: Rba) -> Result<()> {
        (**self).note_checkpoint(p, rba)
    }
    fn reserve(&self, p: &Process, len: usize, decided: Rba, note: &AtomicU64) -> Result<Option<Place>> {
        (**self).reserve(p, len, decided, note)
    }
    fn put(&self, p: &Process, at: Rba, record: &[u8]) {
        (**self).put(p, at, record);
    }
    fn settle(&self, p: &Process) {
        (**self).settle(p);
    }
    fn settle_dead(&self, p: &Process, dead: u32, counts: bool) {
        (**self).settle_dead(p, dead, counts);
    }
    fn on_disk(&self) -> Rba {
        (**self).on_disk()
    }
    fn force(&self, p: &Process, upto: Rba) -> Result<()> {
        (**self).force(p, upto)
    }
    fn note_commit(&self, p: &Process, upto: Rba) {
        (**self).note_commit(p, upto);
    }
    fn noted_commit(&self, p: &Process) -> Rba {
        (**self).noted_commit(p)
    }
    fn forget_commit(&self, p: &Process, keep: Rba, soon: bool) {
        (**self).forget_commit(p, keep, soon);
    }
    fn sync_commits(&self, p: &Process) -> Result<()> {
        (**self).sync_commits(p)
    }
}

/// Discards redo: for a database that survives clean shutdowns only.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRedo;

impl RedoSink for NoRedo {
    fn wanted(&self) -> bool {
        false
    }
    fn image_before(&self) -> Rba {
        Rba(0)
    }
    fn announce(&self, _: &Process) -> Rba {
        Rba(u64::MAX)
    }
    fn reserve(&self, _: &Process, _: usize, _: Rba, _: &AtomicU64) -> Result<Option<Place>> {
        Ok(Some(Place::default()))
    }
    fn put(&self, _: &Process, _: Rba, _: &[u8]) {}
    fn settle(&self, _: &Process) {}
    fn settle_dead(&self, _: &Process, _: u32, _: bool) {}
    fn on_disk(&self) -> Rba {
        Rba(u64::MAX)
    }
    fn force(&self, _: &Process, _: Rba) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_goes_to_its_layer() {
        fn fill(block: &mut [u8], op: u8, data: &[u8]) -> Result<()> {
            block[usize::from(op)] = data[0];
            Ok(())
        }
        let mut table = ApplyTable::new();
        table.register(Layer::Test, fill);
        let mut block = [0; 4];
        let cv = ChangeVector { rdba: Rdba(1), layer: Layer::Test, op: 2, data: &[7] };
        table.apply(&mut block, &cv).unwrap();
        assert_eq!(block, [0, 0, 7, 0]);
        let lost = ChangeVector { layer: Layer::Heap, ..cv };
        assert!(table.apply(&mut block, &lost).unwrap_err().is(600));
    }
}
