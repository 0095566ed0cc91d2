//! Segments that a DDL has dropped and whose blocks are not freed yet.
//!
//! A statement that drops a segment inserts a note into DROPPED_SEGMENT$ in its own transaction, frees the blocks after
//! its commit, and deletes the note. If the session dies in between, the note stays, and SMON or the next start frees
//! the blocks. Freeing by these notes requires the DD enqueue. Object numbers are not reused while a note contains
//! them, so a segment in the place of a dropped one is never mistaken for it.

use crate::base::{Base, dropped_segment as column};
use crate::rows::{as_u32, int};
use crate::{Change, DictionaryShared};
use enqueue::{EnqueueType, LockMode, Timeout};
use process::Process;
use txn::{NoHook, Txn};
use types::{ObjectId, Rdba, Result, Value};

/// A dropped segment: its header and its data object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedSegment {
    pub header: Rdba,
    pub object: ObjectId,
}

impl DroppedSegment {
    fn of(row: &[Value]) -> DroppedSegment {
        let header = Rdba::new(as_u32(&row[column::FILE]), as_u32(&row[column::BLOCK]));
        DroppedSegment { header, object: ObjectId(as_u32(&row[column::DATAOBJ])) }
    }
}

impl Change<'_> {
    /// Notes that the segment is to be dropped after the transaction has committed.
    ///
    /// # Errors
    /// As [`Change::insert`]; those of reading the segment's header.
    pub fn drop_later(&mut self, header: Rdba) -> Result<DroppedSegment> {
        let object = self.shared().txns().space().object(self.process(), header)?;
        self.insert(Base::DroppedSegment, &[int(header.file()), int(header.block()), int(object.0)])?;
        Ok(DroppedSegment { header, object })
    }
}

impl DictionaryShared {
    /// Frees the blocks of dropped segments and deletes their notes. The caller holds the DD enqueue and has no
    /// transaction open. Segments that cannot be dropped now stay noted.
    ///
    /// # Errors
    /// Those of changing the notes.
    pub fn finish_drops(&self, p: &Process, which: &[DroppedSegment]) -> Result<()> {
        let segments = self.txns().space();
        let scn = || self.txns().current_scn();
        let done: Vec<DroppedSegment> = which
            .iter()
            .copied()
            .filter(|dropped| match segments.object(p, dropped.header) {
                Ok(object) if object == dropped.object => segments.drop_segment(p, dropped.header, &scn).is_ok(),
                // Another segment begins there, or none: the segment was dropped before.
                Ok(_) => true,
                Err(e) => e.is(8103),
            })
            .collect();
        if done.is_empty() {
            return Ok(());
        }
        let mut txn = Txn::new();
        let deleted =
            Change::new(self, p, &mut txn).delete(Base::DroppedSegment, &|row| done.contains(&DroppedSegment::of(row)));
        match deleted {
            Ok(_) => self.txns().commit(p, &mut txn, &NoHook).map(drop),
            Err(e) => self.txns().rollback(p, &mut txn).and(Err(e)),
        }
    }

    /// Drops the segments that dead sessions have left. Called by SMON and at the start of the instance.
    ///
    /// # Errors
    /// Those of reading the notes and of [`Self::finish_drops`].
    pub fn finish_all_drops(&self, p: &Process) -> Result<()> {
        if self.noted_drops(p)?.is_empty() {
            return Ok(());
        }
        let enqueues = self.enqueues();
        let lock = match enqueues.get(p, EnqueueType::Dd, 1, 0, LockMode::Exclusive, Timeout::NoWait) {
            Ok(lock) => lock,
            Err(_) => return Ok(()), // a DDL is in progress: try again later
        };
        let done = self.noted_drops(p).and_then(|noted| self.finish_drops(p, &noted));
        enqueues.release(p, lock);
        done
    }

    /// The notes, as of now.
    pub(crate) fn noted_drops(&self, p: &Process) -> Result<Vec<DroppedSegment>> {
        let mut noted = Vec::new();
        self.scan_once(p, Base::DroppedSegment, &mut |_, row| {
            noted.push(DroppedSegment::of(row));
            Ok(())
        })?;
        Ok(noted)
    }
}
