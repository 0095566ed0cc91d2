//! The double-write area: copies of blocks that are being written in place.
//!
//! A crash may tear a block while it is written in place. Redo describes changes to a block and needs the block to
//! apply them to, so a torn block without a copy is lost. A writer therefore writes a batch of blocks to the area
//! first, waits until the copies are on the device, and then writes the blocks in place. A start after a crash replaces
//! torn blocks by their copies before it rolls forward.
//!
//! The area is a ring in one file. A position in the ring is a u64 that only grows; a batch is contiguous. A batch may
//! be overwritten once the data files were synced after its blocks were written in place.
//!
//! | word | meaning | changes |
//! |---|---|---|
//! | `HEAD` | the next position | compare-and-swap by the writer of a batch |
//! | `SAFE` | all batches before it are on the device in place | raised after a sync of all data files |
//! | `STUCK` | the oldest batch not written in place, and a failure count | its writer; reset by a later checkpoint |
//! | `SLOTS` and on | by process slot: position + 1 of its batch; 0: none | its process or the cleaning process |
//!
//! A writer announces a position in its slot before it moves `HEAD`, so a process that reads `HEAD` first and the slots
//! afterwards misses no batch before that `HEAD`. No critical section is needed: the slot of a dead process stays, and
//! [`crate::DataFiles::finish_cover`] writes the interrupted blocks in place before the slot is freed.
//!
//! **Valid copies.** A batch names the database, the incarnation, the life of the area (a number that is new after each
//! clean shutdown and is also in the control file) and the newest checkpoint that was announced when its blocks had
//! been copied from the cache. A checkpoint announced later waits for the blocks of the batch and syncs them. So a
//! batch whose checkpoint is before that of the control file is obsolete. Of several copies of a block the newest is
//! valid; the ring is overwritten in order, so an older copy never outlives a newer one.
//!
//! Rejected: whole blocks in the redo ([decision 46](../../../../docs/decisions/0046-a-double-write-area.md)).
//!
//! The modules `heads` and `ring` are below [`crate::files`], whose syncs free the ring; `cover` and `restore` are
//! above it.

mod cover;
mod heads;
mod restore;
mod ring;

pub use cover::Cover;
pub use heads::COVER_MAX;
pub use restore::Restored;
pub(crate) use ring::DoubleWrite;
