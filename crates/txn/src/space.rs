//! Segments that are created in a transaction: a rollback, or the death of the process, drops them.
//!
//! The header, the extent and the undo record are one group, so a segment without an owner never exists. The undo is
//! logical: a segment that has grown is first cut back to one extent, in separate groups, and the last extent is freed
//! in the group that retires the record. After a crash the rollback continues where it was.

use crate::{Rollback, Transactions, Txn, UndoLayer, UndoRecord};
use block::SegmentKind;
use buffer_cache::GetKind;
use process::Process;
use redo::Layer;
use types::{ObjectId, Rdba, Result};

/// The undo operation of `Layer::Space`: the segment at the record's address was created.
const MADE: u8 = 1;

impl Transactions {
    /// Creates a segment of one extent that a rollback of the transaction drops again.
    ///
    /// # Errors
    /// Those of [`space::Space::create_segment`]; ORA-01554 when no transaction can be begun, ORA-30036.
    pub fn create_segment(
        &self,
        p: &Process,
        t: &mut Txn,
        tablespace: u32,
        kind: SegmentKind,
        object: ObjectId,
    ) -> Result<Rdba> {
        self.retrying(p, &mut || {
            let mut c = self.change(p, t, 1, 0)?;
            let header = self.space().create_segment_in(c.group(), tablespace, kind, object)?;
            c.logical_undo(object, Layer::Space, header, (MADE, &[]))?;
            c.commit()?;
            Ok(header)
        })
    }
}

pub(crate) struct SpaceUndo;

impl SpaceUndo {
    /// Whether the record's segment still exists.
    fn is_there(txns: &Transactions, p: &Process, rec: &UndoRecord<'_>) -> Result<bool> {
        txns.cache().read(p, rec.rdba, GetKind::Current, &mut |v| {
            v.kind() == Some(block::BlockKind::SegmentHeader) && v.obj() == rec.object
        })
    }
}

impl UndoLayer for SpaceUndo {
    fn undo_image(&self, _: &mut [u8], _: &UndoRecord<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&self, txns: &Transactions, p: &Process, rec: &UndoRecord<'_>) -> Result<()> {
        if Self::is_there(txns, p, rec)? {
            txns.space().cut_back(p, rec.rdba, &|| txns.current_scn())?;
        }
        Ok(())
    }

    fn rollback(&self, txns: &Transactions, p: &Process, rec: &UndoRecord<'_>, undo: &mut Rollback<'_>) -> Result<()> {
        if Self::is_there(txns, p, rec)? {
            txns.space().drop_in(undo.group(), rec.rdba)?;
        }
        Ok(())
    }
}
