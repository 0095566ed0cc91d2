//! Segments that a DDL has dropped and whose blocks are still to be given back.
//!
//! A statement that drops a segment notes it here in its own transaction and gives the blocks back once it has
//! committed; then the note goes. A session that dies in between leaves the note, and SMON, or the next start, does the
//! rest. Whoever drops by these notes holds the DD enqueue; as object numbers are not used twice while a note has them,
//! a segment that took the place of a dropped one is never mistaken for it.

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
    /// Notes that the segment is to be dropped once the transaction has committed.
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
    /// Gives back the blocks of dropped segments, and forgets the notes of those. The caller holds the DD enqueue and
    /// has no transaction open. What cannot be dropped now stays noted.
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
                // Another segment begins there, or none: it was dropped before.
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

    /// Drops what sessions that died had left to drop: SMON, and the start of the instance.
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
            Err(_) => return Ok(()), // A DDL is under way: another time.
        };
        let done = self.noted_drops(p).and_then(|noted| self.finish_drops(p, &noted));
        enqueues.release(p, lock);
        done
    }

    /// What is noted, as of now.
    pub(crate) fn noted_drops(&self, p: &Process) -> Result<Vec<DroppedSegment>> {
        let mut noted = Vec::new();
        self.scan_once(p, Base::DroppedSegment, &mut |_, row| {
            noted.push(DroppedSegment::of(row));
            Ok(())
        })?;
        Ok(noted)
    }
}
