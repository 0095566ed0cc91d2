//! Reading undo: the bytes of a record, or a block. Undo may be gone: its block was reused, or its tablespace dropped.

use crate::Transactions;
use crate::undo::copy_record;
use block::BlockView;
use buffer_cache::GetKind;
use process::Process;
use types::{Rdba, Result, Uba};

impl Transactions {
    /// Copies the bytes of an undo record; `None` when it is gone: its block was reused, or its tablespace was dropped
    /// and the file is missing or belongs to another one.
    ///
    /// Statistics: `consistent gets - examination`.
    /// # Errors
    /// Those of reading a block of an undo tablespace.
    pub(crate) fn copy_undo(&self, p: &Process, uba: Uba, bytes: &mut Vec<u8>) -> Result<Option<()>> {
        let mut copy = |view: &BlockView<'_>| copy_record(view, uba, bytes);
        Ok(self.read_undo(p, uba.rdba, &mut copy)?.flatten())
    }

    /// Reads a block of undo; `None` when it no longer exists.
    ///
    /// # Errors
    /// As [`Transactions::copy_undo`].
    pub(crate) fn read_undo<R>(
        &self,
        p: &Process,
        at: Rdba,
        f: &mut dyn FnMut(&BlockView<'_>) -> R,
    ) -> Result<Option<R>> {
        match self.cache().read(p, at, GetKind::Examination, f) {
            Err(e) if self.is_undo_block(at) => Err(e),
            Err(_) => Ok(None),
            read => read.map(Some),
        }
    }

    /// Whether the block lies in a file of an existing undo tablespace.
    fn is_undo_block(&self, at: Rdba) -> bool {
        let files = self.cache().files();
        let listed = files.tablespace_of(at.file()).is_some_and(|n| self.table().group_of_tablespace(n).is_some());
        // A file whose size cannot be read should exist.
        listed && files.blocks(at.file()).map_or(true, |blocks| at.block() < blocks)
    }
}
