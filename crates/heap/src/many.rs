//! Changing many rows, block by block.
//!
//! A statement collects the rows of a block. Rows in one piece, unlocked and as the statement's snapshot saw them, with
//! room for the new bytes, are changed by one group with one undo record (H10). Every other row is changed singly, by
//! the path that waits, compares and moves.

use crate::differences::{Differences, Sizes};
use crate::dml::{BODY_BYTES_MIN, gets_room, padded, piece_max};
use crate::ops::{self, RunEnd, flags};
use crate::{Heap, HeapTable, RowOutcome};
use block::{BlockKind, BlockView, Data};
use buffer_cache::GetKind;
use process::Process;
use redo::Layer;
use std::ops::Range;
use txn::{ItlGet, LockWait, Snapshot, Txn};
use types::{ObjectId, Result, Rowid};

/// Changes of rows, in the order in which they are made. Clearing keeps the memory.
#[derive(Debug, Default)]
pub struct Changes {
    bytes: Vec<u8>,
    all: Vec<One>,
}

#[derive(Debug, Clone)]
struct One {
    rowid: Rowid,
    new: New,
    /// Bytes that the row takes in the undo record, at most; `None` when the block has to tell.
    undo: Option<u32>,
}

/// The change of a row. The ranges lie in the bytes of [`Changes`], except `seen`.
#[derive(Debug, Clone)]
enum New {
    Deleted,
    Row(Range<u32>),
    Spliced {
        /// Offset of the bytes that are replaced, and how many they are. A row of several pieces may be longer than
        /// 64 KB.
        from: u32,
        cut: u32,
        bytes: Range<u32>,
        /// The bytes of the row as of the snapshot.
        seen: Range<u32>,
    },
}

/// The bytes at the places of a range.
fn part<'b>(bytes: &'b [u8], range: &Range<u32>) -> &'b [u8] {
    &bytes[range.start as usize..range.end as usize]
}

impl Changes {
    /// Forgets all changes.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.all.clear();
    }

    /// Adds an update to `row` (`types::row` bytes); `replaced` estimates how many bytes of the old row change.
    pub fn update(&mut self, rowid: Rowid, row: &[u8], replaced: usize) {
        let begin = self.bytes.len() as u32;
        self.bytes.extend_from_slice(row);
        let undo = Some((replaced + ops::SPLICE_RUN_HEAD) as u32);
        self.all.push(One { rowid, new: New::Row(begin..self.bytes.len() as u32), undo });
    }

    /// Adds an update of a row whose bytes as of the snapshot are `seen` in the bytes passed to
    /// [`Heap::change_many`]: the bytes that `come` appends replace `gone`, which begins at offset `from` of the row.
    ///
    /// # Errors
    /// Those of `come`; nothing is added then.
    #[inline]
    pub fn splice(
        &mut self,
        rowid: Rowid,
        seen: Range<u32>,
        from: usize,
        gone: &[u8],
        come: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let begin = self.bytes.len();
        come(&mut self.bytes).inspect_err(|_| self.bytes.truncate(begin))?;
        let come = &self.bytes[begin..];
        // Short values mostly differ in a few bytes.
        let same = gone.iter().zip(come).take_while(|(a, b)| a == b).count();
        let (gone, come) = (&gone[same..], &come[same..]);
        let end = gone.iter().rev().zip(come.iter().rev()).take_while(|(a, b)| a == b).count();
        let (cut, len) = (gone.len() - end, come.len() - end);
        let begin = begin + same;
        self.bytes.truncate(begin + len);
        let bytes = begin as u32..(begin + len) as u32;
        let new = New::Spliced { from: (from + same) as u32, cut: cut as u32, bytes, seen };
        self.all.push(One { rowid, new, undo: Some((ops::SPLICE_RUN_HEAD + cut) as u32) });
        Ok(())
    }

    /// Adds a deletion.
    pub fn delete(&mut self, rowid: Rowid) {
        self.all.push(One { rowid, new: New::Deleted, undo: None });
    }

    /// Adds the deletion of a row of `len` bytes.
    pub fn delete_bytes(&mut self, rowid: Rowid, len: usize) {
        let len = len.max(BODY_BYTES_MIN) + ops::PUT_RUN_HEAD;
        self.all.push(One { rowid, new: New::Deleted, undo: Some(len as u32) });
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// New bytes of all rows together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The number of changes from number `i` on that lie in one block.
    fn in_block(&self, i: usize) -> usize {
        let of = |one: &One| (one.rowid.obj, one.rowid.rdba);
        let first = of(&self.all[i]);
        self.all[i..].iter().take_while(|c| of(c) == first).count()
    }
}

/// Changes of a block made by one group.
#[derive(Default)]
struct Run {
    /// Their number; 0 when the first one has to be made singly.
    done: usize,
    /// Inserts may use the block now.
    gives_room: bool,
}

/// Bytes of a splice that changes the length of its row from which on it is compared with the row column by column.
const SPLICE_BY_COLUMN_BYTES: usize = 64;

/// Directory entries seen so far, to detect one that comes twice.
struct Met([u64; Met::WORDS]);

impl Met {
    const WORDS: usize = 32;

    /// False when the entry was seen before, or its number is beyond those counted here.
    fn add(&mut self, slot: u16) -> bool {
        let (word, bit) = (usize::from(slot) / 64, 1u64 << (slot % 64));
        let Some(word) = self.0.get_mut(word) else { return false };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

impl Heap {
    /// Makes changes of rows of a table, as [`Heap::change_many_in`].
    #[expect(clippy::too_many_arguments, reason = "as of a change of one row, with the rows' bytes")]
    pub fn change_many(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        changes: &Changes,
        rows: &[u8],
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        self.change_many_in(p, t, &|_| Ok(*table), changes, rows, seen, wait)
    }

    /// Makes changes of rows found through `seen`, until one meets a row that has changed since. The caller then rolls
    /// its statement back. `rows` holds the bytes that spliced rows had as of the snapshot; `heap_of` gives the heap of
    /// a data object, of the partitions of one table.
    ///
    /// Waits and errors as [`Heap::update`] and [`Heap::delete`], and those of `heap_of`.
    #[expect(clippy::too_many_arguments, reason = "as of a change of one row, with the rows' bytes")]
    pub fn change_many_in(
        &self,
        p: &Process,
        t: &mut Txn,
        heap_of: &dyn Fn(ObjectId) -> Result<HeapTable>,
        changes: &Changes,
        rows: &[u8],
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        let Some(first) = changes.all.first() else { return Ok(RowOutcome::Done) };
        let (mut data, mut table) = (first.rowid.obj, heap_of(first.rowid.obj)?);
        self.txns.touch(p, t, table.object)?;
        let (mut i, mut whole) = (0, Vec::new());
        while i < changes.len() {
            let in_block = changes.in_block(i);
            let first = &changes.all[i];
            if first.rowid.obj != data {
                (data, table) = (first.rowid.obj, heap_of(first.rowid.obj)?);
            }
            let table = &table;
            let Run { done, gives_room } = match in_block > 1 && first.rowid.obj == table.data_object {
                true => self.txns.retrying(p, &mut || self.change_run(p, t, table, changes, i..i + in_block, seen))?,
                false => Run::default(),
            };
            if done > 0 {
                if gives_room {
                    self.note_room(p, table, first.rowid.rdba)?;
                }
                i += done;
                continue;
            }
            let outcome = match &first.new {
                New::Deleted => self.delete(p, t, table, first.rowid, seen, wait)?,
                New::Row(row) => self.update(p, t, table, first.rowid, part(&changes.bytes, row), seen, wait)?,
                New::Spliced { from, cut, bytes, seen: of } => {
                    let (before, from) = (part(rows, of), *from as usize);
                    whole.clear();
                    whole.extend_from_slice(&before[..from]);
                    whole.extend_from_slice(part(&changes.bytes, bytes));
                    whole.extend_from_slice(&before[from + *cut as usize..]);
                    self.update(p, t, table, first.rowid, &whole, seen, wait)?
                }
            };
            if outcome != RowOutcome::Done {
                return Ok(outcome);
            }
            i += 1;
        }
        Ok(RowOutcome::Done)
    }

    /// The bytes of the undo record for as many of these changes, all in one block, as its undo block has room for. A
    /// record fills the transaction's newest undo block, or a new one when that has little room left.
    fn undo_bytes(&self, p: &Process, t: &Txn, changes: &Changes, these: Range<usize>) -> Result<usize> {
        let block_size = self.cache().block_size();
        // The first undo block of a transaction also has the record of the slot's previous owner.
        let (room, fresh) = t.undo_room().map_or((0, block_size / 2), |room| (room, block_size - 256));
        let all = &changes.all[these];
        let fit = |bytes: &mut dyn Iterator<Item = Option<usize>>| {
            // The first byte of the record is a lock byte.
            let (mut sum, mut most) = (1, fresh);
            for n in bytes.map_while(|n| n) {
                if sum == 1 && room > n && room >= block_size / 8 {
                    most = room;
                }
                if sum + n > most {
                    break;
                }
                sum += n;
            }
            if sum == 1 { 0 } else { sum }
        };
        if all.iter().all(|one| one.undo.is_some()) {
            return Ok(fit(&mut all.iter().map(|one| one.undo.map(|n| n as usize))));
        }
        self.cache().read(p, all[0].rowid.rdba, GetKind::Current, &mut |v: &BlockView<'_>| {
            let directory = Data::new(*v).directory_reader();
            let len = |one: &One| directory.row(one.rowid.slot.into()).map(|row| row.len + ops::PUT_RUN_HEAD);
            fit(&mut all.iter().map(|one| one.undo.map(|n| n as usize).or_else(|| len(one))))
        })
    }

    /// Makes as many of these changes, all in one block, as one group can.
    fn change_run(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        changes: &Changes,
        these: Range<usize>,
        seen: &Snapshot,
    ) -> Result<Run> {
        let at = changes.all[these.start].rowid.rdba;
        let undo_bytes = self.undo_bytes(p, t, changes, these.clone())?;
        if undo_bytes == 0 {
            return Ok(Run::default());
        }
        let mut c = self.txns.change(p, t, 1, undo_bytes)?;
        let b = c.current(at)?;
        let view = c.data(b).view;
        let ours = view.kind() == Some(BlockKind::Heap) && view.obj() == table.data_object;
        if !ours || self.txns.changed_since(&view, seen) {
            return Ok(Run::default());
        }
        faults::point("heap-block-looked-at");
        let ItlGet::Got(itl) = c.itl(b)? else { return Ok(Run::default()) };
        let d = c.data(b);
        let deletes = matches!(changes.all[these.start].new, New::Deleted);
        let (image, directory) = (c.view(b), d.directory_reader());
        let longest = piece_max(self.cache().block_size(), table.initrans);
        let (mut left, mut freed) = (d.usable_bytes(itl), 0);
        let mut redo = Vec::with_capacity(if deletes { 1 + 2 * these.len() } else { 2 * undo_bytes });
        let mut undo = Vec::with_capacity(undo_bytes);
        let (mut redo_end, mut undo_end) = (RunEnd::begin(itl, &mut redo), RunEnd::begin(0, &mut undo));
        let (mut n, mut met, mut free_lock) = (0, Met([0; Met::WORDS]), itl);
        let (mut splices, mut whole) = (ops::SPLICE_RUN, Vec::new());
        for One { rowid, new, .. } in &changes.all[these] {
            let Some(row) = directory.row(rowid.slot.into()) else { break };
            // Neighbours usually have the same lock, or none.
            let free = row.lock == free_lock || row.lock == 0 || c.itl_holder(b, row.lock).is_none();
            if row.flags != flags::WHOLE || !free || !met.add(rowid.slot) {
                break;
            }
            free_lock = row.lock;
            let old = &image[row.at..row.at + row.len];
            let before = if row.lock == itl { itl } else { 0 };
            let mut small = [0; BODY_BYTES_MIN];
            let differences = match new {
                New::Deleted if deletes => {
                    if undo.len() + ops::PUT_RUN_HEAD + row.len > undo_bytes {
                        break;
                    }
                    redo.extend_from_slice(&rowid.slot.to_le_bytes());
                    undo_end.put(&mut undo, (rowid.slot, before), old);
                    n += 1;
                    continue;
                }
                New::Row(new) if !deletes => Differences::new(old, padded(part(&changes.bytes, new), &mut small)),
                New::Spliced { from, cut, bytes, seen } if !deletes && seen.len() == row.len => {
                    let (from, bytes) = (*from as usize, part(&changes.bytes, bytes));
                    let end = from + *cut as usize;
                    if bytes.len() != end - from && bytes.len().max(end - from) >= SPLICE_BY_COLUMN_BYTES {
                        whole.clear();
                        whole.extend_from_slice(&old[..from]);
                        whole.extend_from_slice(bytes);
                        whole.extend_from_slice(&old[end..]);
                        Differences::new(old, &whole)
                    } else {
                        Differences::at(from, &old[from..end], bytes)
                    }
                }
                _ => break,
            };
            let Sizes { gone, come, undo: undo_needed } = differences.sizes();
            let more = come.saturating_sub(gone);
            let is_too_long = more > 0 && row.len + more > longest;
            if is_too_long || more > left || undo.len() + undo_needed > undo_bytes {
                break;
            }
            // A row never gets shorter than a forwarding address.
            if row.len + come < BODY_BYTES_MIN + gone {
                break;
            }
            left -= more;
            freed += gone as isize - come as isize;
            let (redo, undo) = ((&mut redo_end, &mut redo), (&mut undo_end, &mut undo));
            if differences.write(rowid.slot, (itl, before), redo, undo) {
                splices = ops::SPLICES;
            }
            n += 1;
        }
        // A transaction that held a lock at the first look may have committed before the locks were looked at: its rows
        // have no holder then, and other bytes than the snapshot saw (H10).
        if n > 0 && self.txns.changed_since(&c.data(b).view, seen) {
            return Ok(Run::default());
        }
        let gives_room = n > 0 && (deletes || freed > 0 && gets_room(&c.data(b), freed as usize));
        if n > 0 {
            let (op, undo_op) = if deletes { (ops::DELETE_EACH, ops::PUT_RUN) } else { (splices, splices) };
            c.change(b, itl, table.object, Layer::Heap, (op, &redo), (undo_op, &undo))?;
            c.commit()?;
        }
        Ok(Run { done: n, gives_room })
    }
}
