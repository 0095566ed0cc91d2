//! Rows updated or deleted in batches.
//!
//! UPDATE and DELETE find rows as of their snapshot, so changing the rows found earlier does not affect them. Rows are
//! changed block by block, their index entries leaf by leaf (E10).
//!
//! Over a full scan the rows are also found and computed in batches (E22): the scan copies whole blocks and locates the
//! wanted columns, the new values are computed as columns, and a row is updated by the bytes that differ. If the values
//! of a batch cannot be computed together, its rows are computed one after the other by the code for registers, so that
//! the error is that of the first wrong row.

use super::Writer;
use super::run::{DmlRun, Set, changed_row};
use crate::batch::column::{Column, NULL};
use crate::batch::{self, Batch, Expression, Node};
use crate::code::{Builder, Code};
use crate::ctx::ExecCtx;
use crate::index::{self, Index};
use crate::machine::Machine;
use btree::Inserted;
use heap::{Changes, HeapTable, RowOutcome};
use plan::{Expr, Reg, Source};
use std::ops::Range;
use txn::{LockWait, Snapshot};
use types::{Result, Rowid};

/// Rows found are changed once there are this many, or this many bytes.
const ROWS_MOST: usize = 1024;
const BYTES_MOST: usize = 128 << 10;
/// The noted entries of an index are changed once they have this many bytes. The more entries, the more fall into one
/// leaf.
const ENTRY_BYTES_MOST: usize = 4 << 20;
/// Most bytes of found rows for which a cursor keeps the memory.
const KEPT_MOST: usize = 64 << 10;
/// Deleted entries that come in the order of the index fall into few leaves; they are changed while they are in the
/// processor's cache.
const ASCENDING_BYTES_MOST: usize = 256 << 10;

/// Noted changes, and what they do to each index. Keeps its memory.
#[derive(Default)]
pub struct Later {
    changes: Changes,
    /// Deleted and inserted entries for each index.
    entries: Vec<(btree::Batch, btree::Batch)>,
}

impl Later {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.changes.clear();
        for (gone, new) in &mut self.entries {
            gone.clear();
            new.clear();
        }
    }

    /// Notes an update. `replaced`: approximate number of changed bytes of the row.
    pub fn update(&mut self, rowid: Rowid, row: &[u8], replaced: usize) {
        self.changes.update(rowid, row, replaced);
    }

    /// Notes an update of a row with the bytes `seen` of an arena: what `come` appends replaces `gone` at offset
    /// `from`.
    #[inline]
    pub fn splice(
        &mut self,
        rowid: Rowid,
        seen: Range<u32>,
        from: usize,
        gone: &[u8],
        come: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.changes.splice(rowid, seen, from, gone, come)
    }

    pub fn delete(&mut self, rowid: Rowid) {
        self.changes.delete(rowid);
    }

    /// Notes the deletion of a row of `len` bytes.
    pub fn delete_bytes(&mut self, rowid: Rowid, len: usize) {
        self.changes.delete_bytes(rowid, len);
    }

    /// Notes that index number `n` loses (`gone`) or gets an entry of the row.
    pub fn entry(&mut self, n: usize, gone: bool, key: &[u8], rowid: Rowid) {
        if self.entries.len() <= n {
            self.entries.resize_with(n + 1, Default::default);
        }
        let (old, new) = &mut self.entries[n];
        if gone { old.push(key, rowid) } else { new.push(key, rowid) }
    }

    /// Whether the noted changes should be made.
    pub fn is_full(&self) -> bool {
        self.changes.len() >= ROWS_MOST || self.changes.bytes() >= BYTES_MOST
    }

    /// Changes the rows and, in each index with many of them, the entries. `arena` has the bytes of spliced rows. False
    /// when a row has changed since the snapshot. Entries of unique indexes that an update moves wait for
    /// [`Later::finish`], because the new key of a row may be the old key of another (E9).
    pub fn flush(
        &mut self,
        table: &HeapTable,
        indexes: &[Index],
        arena: &[u8],
        deleting: bool,
        seen: &Snapshot,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        let t = &mut cx.session.txn;
        let done = cx.shared.heap.change_many(cx.p, t, table, &self.changes, arena, seen, LockWait::Forever);
        self.changes.clear();
        if done? != RowOutcome::Done {
            return Ok(false);
        }
        let now: Vec<bool> =
            indexes.iter().enumerate().map(|(n, i)| (deleting || !i.def.unique) && self.is_due(n, deleting)).collect();
        if now.contains(&true) {
            self.change_entries(indexes, &|n, _| now[n], cx)?;
        }
        Ok(true)
    }

    /// Whether index number `n` has so many noted entries that they should be changed.
    fn is_due(&self, n: usize, deleting: bool) -> bool {
        self.entries.get(n).is_some_and(|(gone, new)| {
            let ascends = || deleting && gone.is_ascending() && gone.bytes() >= ASCENDING_BYTES_MOST;
            gone.bytes() + new.bytes() >= ENTRY_BYTES_MOST || ascends()
        })
    }

    /// Bytes of memory that the noted changes and entries take.
    pub fn bytes(&self) -> usize {
        self.changes.bytes() + self.entries.iter().map(|(gone, new)| gone.bytes() + new.bytes()).sum::<usize>()
    }

    /// Changes the remaining entries.
    pub fn finish(&mut self, indexes: &[Index], cx: &mut ExecCtx<'_>) -> Result<()> {
        self.change_entries(indexes, &|_, _| true, cx)
    }

    fn change_entries(
        &mut self,
        indexes: &[Index],
        which: &dyn Fn(usize, &Index) -> bool,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let all = || indexes.iter().enumerate().filter(|(n, i)| which(*n, i));
        for (n, i) in all() {
            if let Some((gone, _)) = self.entries.get_mut(n) {
                index::delete_many(i, gone, cx)?;
                gone.clear();
            }
        }
        for (n, i) in all() {
            if let Some((_, new)) = self.entries.get_mut(n) {
                if let Inserted::Duplicate(_) = index::insert_many(i, new, cx)? {
                    return Err(i.duplicate());
                }
                new.clear();
            }
        }
        Ok(())
    }
}

/// The rows of a statement, and what is computed of them.
pub struct Bulk {
    node: Box<dyn Node>,
    batch: Batch,
    /// The columns that expressions read, with their registers.
    reads: Vec<(usize, Reg)>,
    /// The new value of each changed column, in the order of the columns.
    values: Vec<Expression>,
}

/// The registers that an expression of the plan reads; false if it contains a subquery.
fn plain_regs<'p>(exprs: impl Iterator<Item = &'p Expr>, regs: &mut Vec<Reg>) -> bool {
    let mut plain = true;
    for e in exprs {
        e.walk(&mut |e| match &e.node {
            plan::Node::Reg(r) => regs.push(*r),
            plan::Node::Scalar(_)
            | plan::Node::Exists(_)
            | plan::Node::InSub { .. }
            | plan::Node::Quantified { .. } => plain = false,
            _ => {}
        });
    }
    plain
}

impl Bulk {
    /// The batches of a statement that changes the rows of `source` by their bytes. `rowid` is the register of the
    /// rows' addresses, `values` the new values of the columns, in ascending order; of a DELETE none. `None` if the
    /// rows have to be found one by one.
    pub fn build(
        source: &Source,
        rowid: Reg,
        values: &[(u16, &Expr, Code)],
        writer: &Writer,
        b: &mut Builder<'_>,
    ) -> Result<Option<Bulk>> {
        let Source::Scan(scan) = source else { return Ok(None) };
        let mut regs = Vec::new();
        // A batch has no register for the address of a row.
        if !plain_regs(scan.filter.iter().chain(values.iter().map(|v| v.1)), &mut regs) || regs.contains(&rowid) {
            return Ok(None);
        }
        let placed = match values.is_empty() {
            true => writer.key_columns(),
            false => values.iter().map(|v| v.0).collect(),
        };
        let Some(node) = batch::build_changing(source, &placed, &regs, b)? else { return Ok(None) };
        let all = node.regs().iter().copied().enumerate();
        let reads = all.filter(|(_, reg)| regs.contains(reg)).collect();
        let values = values.iter().map(|v| Expression::new(v.2.clone(), node.regs())).collect::<Option<Vec<_>>>();
        Ok(values.map(|values| Bulk { node, batch: Batch::default(), reads, values }))
    }

    pub fn open(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        self.node.open(m, cx)
    }

    /// Finds the next rows. False at the end.
    pub fn next(&mut self, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        self.node.next_batch(&mut self.batch, m, cx)
    }

    /// Bytes of memory that the rows found last take.
    pub fn used(&self) -> usize {
        self.batch.used()
    }

    /// Frees the memory of the rows found: a cursor that is kept has little of it.
    pub fn close(&mut self) {
        if self.batch.used() > KEPT_MOST {
            self.batch = Batch::default();
        }
    }

    /// The bytes of the rows found last.
    pub fn bytes(&self) -> &[u8] {
        &self.batch.arena
    }

    /// Notes the updates of the rows found last.
    pub fn note_updates(
        &mut self,
        writer: &mut Writer,
        sets: &[Set],
        columns: &[u16],
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let mut made = Some(Vec::with_capacity(self.values.len()));
        for value in &self.values {
            let column = value.column(&mut self.batch, m, cx);
            made = made.zip(column).map(|(mut all, column)| {
                all.push(column);
                all
            });
        }
        match made {
            Some(values) => self.note_values(writer, &values, columns, run, m, cx),
            None => self.note_one_by_one(writer, sets, columns, run, m, cx),
        }
    }

    fn note_values(
        &mut self,
        writer: &mut Writer,
        values: &[Column],
        columns: &[u16],
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let Batch { places, arena, .. } = &self.batch;
        let by_key = writer.has_index_over(columns);
        for (n, row) in places.rows.iter().enumerate() {
            let has_place = places.spans.iter().all(|spans| spans[n].len != NULL);
            // The shortest rows may end in padding, which would stay behind the new values.
            let may_be_padded = row.len as usize <= heap::BODY_BYTES_MIN;
            if by_key || !has_place || may_be_padded {
                // The row becomes longer, or its entries are needed as well.
                for (value, column) in values.iter().zip(columns) {
                    value.put(n, arena, &mut m.regs[writer.new[usize::from(*column)] as usize])?;
                }
                let before = &arena[row.at as usize..][..row.len as usize];
                writer.rewrite_later(row.rowid, before, columns, m, cx)?;
            } else {
                writer.splice_later(row, arena, columns, |of| (places.spans[of][n], &values[of], n), m, cx)?;
            }
            run.changed_at(row.rowid);
        }
        Ok(())
    }

    fn note_one_by_one(
        &mut self,
        writer: &mut Writer,
        sets: &[Set],
        columns: &[u16],
        run: &mut DmlRun,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        let Batch { places, arena, columns: read, .. } = &self.batch;
        for (n, row) in places.rows.iter().enumerate() {
            for (slot, reg) in &self.reads {
                read[*slot].put(n, arena, &mut m.regs[*reg as usize])?;
            }
            changed_row(writer, &[], sets, m, cx)?;
            let before = &arena[row.at as usize..][..row.len as usize];
            writer.rewrite_later(row.rowid, before, columns, m, cx)?;
            run.changed_at(row.rowid);
        }
        Ok(())
    }

    /// Notes the deletions of the rows found last.
    pub fn note_deletions(&mut self, writer: &mut Writer, run: &mut DmlRun) {
        let Batch { places, arena, .. } = &self.batch;
        for (n, row) in places.rows.iter().enumerate() {
            writer.delete_found_later(row, |of| places.spans[of][n], arena);
            run.changed_at(row.rowid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{ObjectId, Rdba};

    #[test]
    fn entries_of_an_index_wait_until_that_index_has_many() {
        let mut later = Later::default();
        let row = |n: u32| Rowid { obj: ObjectId(1), rdba: Rdba(n), slot: 0 };
        let mut n = 0u32;
        while !later.is_due(1, false) {
            later.entry(1, true, &n.to_be_bytes(), row(n));
            later.entry(1, false, &(n + 1).to_be_bytes(), row(n));
            if n.is_multiple_of(100) {
                later.entry(0, true, &n.to_be_bytes(), row(n));
            }
            n += 1;
        }
        assert!(later.bytes() >= ENTRY_BYTES_MOST && n > 1000, "{n} rows");
        assert_eq!([0, 1, 2].map(|n| later.is_due(n, false)), [false, true, false]);
    }
}
