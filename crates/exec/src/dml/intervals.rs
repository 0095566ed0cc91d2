//! Partitions made for rows that none of an interval-partitioned table takes.
//!
//! The partition is made in a transaction of its own while the statement runs, and stays when the statement fails, as
//! in Oracle. The statement then goes on with the new definition (E35): restarting it was rejected, because its
//! triggers would fire twice, and a load in the order of the key would restart for each partition.

use super::writer::Writer;
use crate::ctx::ExecCtx;
use crate::table::Storage;
use types::{Ora, Result};

impl Writer {
    /// Makes the partition for the row to be stored, if there is none yet.
    ///
    /// # Errors
    /// ORA-14300; those of making a segment.
    pub(super) fn extend(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        // A named partition takes the row, or none.
        let Storage::Partitioned(of) = &self.storage else { return Ok(()) };
        if self.only.is_some() || of.of.interval.is_none() {
            return Ok(());
        }
        match of.missing(&self.row)? {
            Some(key) => self.extend_to(&key, cx),
            None => Ok(()),
        }
    }

    /// Makes the partitions for the rows of the batch. A row that no partition can take fails when it is inserted.
    ///
    /// # Errors
    /// Those of making a segment; the batch is empty then.
    pub(super) fn extend_for_batch(&mut self, cx: &mut ExecCtx<'_>) -> Result<()> {
        for n in 0..self.batch.len() {
            let Storage::Partitioned(of) = &self.storage else { return Ok(()) };
            if of.of.interval.is_none() {
                return Ok(());
            }
            let Some(key) = of.missing(self.batch.row(n))? else { continue };
            match self.extend_to(&key, cx) {
                Err(e) if e.is(14300) => {}
                Err(e) => {
                    self.batch.clear();
                    return Err(e);
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    fn extend_to(&mut self, key: &[u8], cx: &mut ExecCtx<'_>) -> Result<()> {
        let (host, object) = (cx.host, self.table.object);
        host.make_partition(cx, object, key)?;
        let table = host.catalog()?.table_by_id(object)?.ok_or_else(|| Ora::new(8103))?;
        let (Some(of), Storage::Partitioned(own)) = (table.partitioning(), &mut self.storage) else {
            return Err(Ora::new(8103));
        };
        own.of = of.clone();
        self.indexes.iter_mut().for_each(|index| index.adopt(&table));
        self.foreign.iter_mut().for_each(|parent| parent.adopt(&table));
        self.children.iter_mut().for_each(|child| child.adopt(&table));
        Ok(())
    }
}
