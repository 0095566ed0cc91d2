//! Changing many rows, block by block.
//!
//! A statement collects the rows of a block. Rows in one piece, unlocked and as the statement's snapshot saw them, with
//! room for the new bytes, are changed by one group with one undo record (H10). Every other row is changed singly, by
//! the path that waits, compares and moves.

use crate::dml::{BODY_BYTES_MIN, padded, piece_max};
use crate::ops::{self, flags};
use crate::{Heap, HeapTable, RowOutcome};
use block::{BlockKind, BlockView, Data};
use buffer_cache::GetKind;
use process::Process;
use redo::Layer;
use txn::{ItlGet, LockWait, Snapshot, Txn};
use types::{Result, Rowid};

/// Changes of rows, in the order in which they are made. Clearing keeps the memory.
#[derive(Debug, Default)]
pub struct Changes {
    rows: Vec<u8>,
    all: Vec<One>,
}

#[derive(Debug, Clone, Copy)]
struct One {
    rowid: Rowid,
    /// Begin and end of the new bytes; `None` for a deletion.
    new: Option<(u32, u32)>,
    /// Estimated number of bytes of the old row that are replaced.
    replaced: u32,
}

impl Changes {
    /// Forgets all changes.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.all.clear();
    }

    /// Adds an update to `row` (`types::row` bytes); `replaced` estimates how many bytes of the old row change.
    pub fn update(&mut self, rowid: Rowid, row: &[u8], replaced: usize) {
        let begin = self.rows.len() as u32;
        self.rows.extend_from_slice(row);
        self.all.push(One { rowid, new: Some((begin, self.rows.len() as u32)), replaced: replaced as u32 });
    }

    /// Adds a deletion.
    pub fn delete(&mut self, rowid: Rowid) {
        self.all.push(One { rowid, new: None, replaced: 0 });
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Bytes of all new rows together.
    pub fn bytes(&self) -> usize {
        self.rows.len()
    }

    /// The rowid of change number `i`, and its new bytes unless it is a deletion.
    fn get(&self, i: usize) -> (Rowid, Option<&[u8]>) {
        let One { rowid, new, .. } = self.all[i];
        (rowid, new.map(|(begin, end)| &self.rows[begin as usize..end as usize]))
    }

    /// The number of changes from number `i` on that lie in one block.
    fn in_block(&self, i: usize) -> usize {
        let of = |one: &One| (one.rowid.obj, one.rowid.rdba);
        let first = of(&self.all[i]);
        self.all[i..].iter().take_while(|c| of(c) == first).count()
    }
}

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
    /// Makes changes of rows found through `seen`, until one meets a row that has changed since. The caller then rolls
    /// its statement back.
    ///
    /// Waits and errors as [`Heap::update`] and [`Heap::delete`].
    pub fn change_many(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        changes: &Changes,
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        if changes.is_empty() {
            return Ok(RowOutcome::Done);
        }
        self.txns.touch(p, t, table.object)?;
        let mut i = 0;
        while i < changes.len() {
            let in_block = changes.in_block(i);
            let done = match in_block > 1 && changes.get(i).0.obj == table.data_object {
                true => self.txns.retrying(p, &mut || self.change_run(p, t, table, changes, i..i + in_block, seen))?,
                false => 0,
            };
            if done > 0 {
                if changes.all[i..i + done].iter().any(|one| one.new.is_none()) {
                    self.note_room(p, table, changes.get(i).0.rdba)?;
                }
                i += done;
                continue;
            }
            let outcome = match changes.get(i) {
                (rowid, Some(row)) => self.update(p, t, table, rowid, row, seen, wait)?,
                (rowid, None) => self.delete(p, t, table, rowid, seen, wait)?,
            };
            if outcome != RowOutcome::Done {
                return Ok(outcome);
            }
            i += 1;
        }
        Ok(RowOutcome::Done)
    }

    /// Makes as many of these changes, all in one block, as one group can; returns how many.
    fn change_run(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        changes: &Changes,
        these: std::ops::Range<usize>,
        seen: &Snapshot,
    ) -> Result<usize> {
        let at = changes.get(these.start).0.rdba;
        let most = self.cache().block_size() / 2;
        let undo_bytes = self.cache().read(p, at, GetKind::Current, &mut |v: &BlockView<'_>| {
            let directory = Data::new(*v).directory_reader();
            let lens = these.clone().filter_map(|i| {
                let One { rowid, new, replaced } = changes.all[i];
                let row = directory.row(rowid.slot.into())?;
                Some(if new.is_some() { replaced as usize + ops::SPLICE_HEAD } else { row.len + ops::EACH_HEAD })
            });
            lens.scan(0, |sum, n| Some(std::mem::replace(sum, *sum + n) + n)).take_while(|sum| *sum <= most).last()
        })?;
        let Some(undo_bytes) = undo_bytes else { return Ok(0) };
        let mut c = self.txns.change(p, t, 1, undo_bytes)?;
        let b = c.current(at)?;
        let view = c.data(b).view;
        let ours = view.kind() == Some(BlockKind::Heap) && view.obj() == table.data_object;
        if !ours || self.txns.changed_since(&view, seen) {
            return Ok(0);
        }
        let ItlGet::Got(itl) = c.itl(b)? else { return Ok(0) };
        let d = c.data(b);
        let op = if changes.get(these.start).1.is_some() { ops::SPLICE_EACH } else { ops::PUT_EACH };
        let (image, directory) = (c.view(b), d.directory_reader());
        let mut left = d.usable_bytes(itl);
        let (mut redo, mut undo) = (Vec::with_capacity(undo_bytes), Vec::with_capacity(undo_bytes));
        let (mut n, mut met, mut free_lock) = (0, Met([0; Met::WORDS]), itl);
        for i in these {
            let (rowid, new) = changes.get(i);
            let Some(row) = directory.row(rowid.slot.into()) else { break };
            // Neighbours usually have the same lock, or none.
            let free = row.lock == free_lock || row.lock == 0 || c.itl_holder(b, row.lock).is_none();
            if row.flags != flags::WHOLE || !free || !met.add(rowid.slot) {
                break;
            }
            free_lock = row.lock;
            let old = &image[row.at..row.at + row.len];
            let before = if row.lock == itl { itl } else { 0 };
            match new {
                Some(new) if op == ops::SPLICE_EACH => {
                    let mut small = [0; BODY_BYTES_MIN];
                    let body = padded(new, &mut small);
                    let (begin, end) = ops::in_common(old, body);
                    let (gone, come) = (&old[begin..old.len() - end], &body[begin..body.len() - end]);
                    let more = body.len().saturating_sub(old.len());
                    let is_too_long = more > 0 && body.len() > piece_max(self.cache().block_size(), table.initrans);
                    if is_too_long || more > left || undo.len() + ops::SPLICE_HEAD + gone.len() > undo_bytes {
                        break;
                    }
                    left -= more;
                    ops::add_to_splice(&mut redo, rowid.slot, begin, gone.len(), itl, come);
                    ops::add_to_splice(&mut undo, rowid.slot, begin, come.len(), before, gone);
                }
                None if op == ops::PUT_EACH => {
                    if undo.len() + ops::EACH_HEAD + row.len > undo_bytes {
                        break;
                    }
                    ops::add_to_each(&mut redo, rowid.slot, flags::DELETED, itl, row.extra, &[]);
                    ops::add_to_each(&mut undo, rowid.slot, row.flags, before, row.extra, old);
                }
                _ => break,
            }
            n += 1;
        }
        if n > 0 {
            c.change(b, itl, table.object, Layer::Heap, (op, &redo), (op, &undo))?;
            c.commit()?;
        }
        Ok(n)
    }
}
