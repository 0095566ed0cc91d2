//! Changing rows: insert, update, delete, lock.
//!
//! A row is found through a snapshot and changed in its current version. Another transaction may have changed the row
//! and committed in between. The change then reports [`RowOutcome::Changed`], and the caller restarts its statement
//! (H6). The check looks at the block first (is any commit in it newer than the snapshot?) and compares the row's bytes
//! with its bytes as of the snapshot only if so.

use crate::differences::Differences;
use crate::fetch::{ADDRESS_BYTES, Piece, PieceAddress};
use crate::ops::{self, RunEnd, flags};
use crate::{Heap, HeapTable, Hint};
use block::{BlockKind, BlockState, BlockView, Data, RowAt, data};
use buffer_cache::{BlockRef, GetKind};
use process::Process;
use redo::Layer;
use space::InsertHint;
use txn::{Change, ItlGet, LockWait, LockedSince, RowWait, Snapshot, Txn};
use types::{Ora, Rdba, Result, Rowid, Scn, Xid};

/// The result of changing a row found by a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOutcome {
    Done,
    /// The row was changed or deleted by another transaction after the snapshot: roll the statement back and start it
    /// again.
    Changed,
    /// The row is locked and the caller said [`LockWait::SkipLocked`].
    Skipped,
}

/// The rows of a heap, or those of a cluster, whose heads lie in blocks of a kind of their own.
#[derive(Debug, Clone, Copy)]
pub struct RowSegment<'a> {
    pub table: &'a HeapTable,
    /// Kind of the blocks that hold the heads of rows. All other pieces lie in heap blocks.
    pub kind: BlockKind,
    /// The layer that applies changes to heads.
    pub layer: Layer,
}

/// The change to make to a row.
#[derive(Debug, Clone, Copy)]
pub enum RowAction<'a> {
    Update(&'a [u8]),
    Delete,
    Lock,
}

/// The result of one attempt at a row.
enum Step {
    Done,
    /// As [`Step::Done`], and the block has so much room now that inserts may use it.
    DoneWithRoom,
    Changed,
    /// Another transaction has locked the row.
    Wait(Xid),
    WaitItl(Xid),
    /// The undo record is longer than estimated.
    MoreUndo(usize),
    /// The block was changed since the snapshot: compare the row.
    Compare,
    /// As [`Step::Compare`] in a serializable transaction: search the undo for changes of the row.
    Trace,
    /// The row is locked now and lies in several pieces: compare all of it.
    CompareWhole,
    /// The head is changed; these pieces no longer belong to the row.
    Tail(PieceAddress),
    /// The new row does not fit beside its head, which is locked: the row has to move. Holds the old pieces behind the
    /// head, if any.
    Move(Option<PieceAddress>),
}

/// State kept between the attempts at one row.
struct Attempt<'a> {
    rowid: Rowid,
    seen: &'a Snapshot,
    undo_bytes: usize,
    /// The head as of the snapshot: flags and body.
    as_of: Option<(u8, Vec<u8>)>,
    /// The row is locked and was found unchanged.
    verified: bool,
    /// No other transaction has changed the row between the snapshot and this SCN.
    traced: Option<Scn>,
    /// The new place of a row that has to move.
    moved_to: Option<PieceAddress>,
}

/// Shortest body of a row, so that a forwarding address always fits in the row's place (H4).
pub const BODY_BYTES_MIN: usize = ADDRESS_BYTES;
/// Longest body of a piece: the piece and its undo record each have to fit into a block.
pub(crate) fn piece_max(block_size: usize, initrans: u8) -> usize {
    let fits = data::capacity(block_size, initrans) - ops::ROW_OVERHEAD - data::ITL_BYTES;
    fits.min(block_size - 192)
}

/// The body of a row: at least [`BODY_BYTES_MIN`] long. Readers stop at the row's end.
pub(crate) fn padded<'a>(row: &'a [u8], buffer: &'a mut [u8; BODY_BYTES_MIN]) -> &'a [u8] {
    if row.len() >= BODY_BYTES_MIN {
        return row;
    }
    buffer[..row.len()].copy_from_slice(row);
    buffer
}

/// The address that a piece without [`flags::LAST`] begins with.
fn next_of(view: &BlockView<'_>, row: &RowAt) -> Option<PieceAddress> {
    (row.flags & flags::LAST == 0).then(|| PieceAddress::read(view, row.at))
}

/// The place for another piece in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Slot(u16),
    Full,
}

/// Finds a directory entry for a piece of `body` bytes: one that a committed delete left, or a new one. `reserve` bytes
/// stay free unless the block is empty.
pub fn place(c: &Change<'_>, b: BlockRef, itl: u8, body: usize, reserve: usize) -> Place {
    let d = c.data(b);
    let usable = d.usable_bytes(itl);
    let empty = d.slots() == usize::from(d.aux16()) + d.free_slots();
    let keep = if empty { 0 } else { reserve };
    let may_reuse = may_reuse(c, &d);
    if may_reuse && d.aux16() > 0 && usable >= body + keep {
        let old = d.rows().find(|(_, r)| r.flags & flags::DELETED != 0 && may_take(c, b, itl, r.lock));
        if let Some((slot, _)) = old {
            return Place::Slot(slot);
        }
    }
    if may_reuse && d.free_slots() > 0 && usable >= body + data::ROW_HEADER_BYTES + keep {
        return Place::Slot(d.first_free_slot() as u16);
    }
    // A directory entry outlives a rollback, so it must not use bytes that a rollback may need.
    let entry_is_free = d.usable_bytes(0) >= data::SLOT_BYTES;
    if entry_is_free && usable >= body + ops::ROW_OVERHEAD + keep {
        return Place::Slot(d.slots() as u16);
    }
    Place::Full
}

/// Whether a new row may use the directory entry of a deleted row. A serializable transaction does not take an entry
/// whose row it still sees: its reads undo the later deletion, and that undo would overwrite the new row.
fn may_reuse(c: &Change<'_>, d: &data::Data<'_>) -> bool {
    c.serial_scn().is_none_or(|scn| d.accept_scn() <= scn)
}

/// True when no open transaction but this one holds the lock of a deleted piece, so no rollback of another transaction
/// can restore it (H5).
fn may_take(c: &Change<'_>, b: BlockRef, itl: u8, lock: u8) -> bool {
    lock == itl || c.itl_holder(b, lock).is_none()
}

impl Heap {
    /// Inserts a row (`types::row` bytes).
    ///
    /// Waits: `enq: TM - contention`, `enq: TX - allocate ITL entry`, those of the buffer cache. Latches: none on entry
    /// or return.
    /// # Errors
    /// ORA-01653 when the tablespace is full, ORA-30036 for undo.
    pub fn insert(&self, p: &Process, t: &mut Txn, table: &HeapTable, row: &[u8]) -> Result<Rowid> {
        self.txns.touch(p, t, table.object)?;
        let max = piece_max(self.cache().block_size(), table.initrans);
        let at = if row.len() <= max {
            let mut small = [0; BODY_BYTES_MIN];
            self.insert_piece(p, t, table, flags::WHOLE, padded(row, &mut small))?
        } else {
            self.insert_chain(p, t, table, row, flags::HEAD)?
        };
        Ok(Rowid { obj: table.data_object, rdba: at.rdba, slot: at.slot })
    }

    /// Inserts a row as a chain of pieces, last piece first, so that the address of the next piece is known for each
    /// (H3). `head` is added to the flags of the first piece.
    pub fn insert_chain(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        row: &[u8],
        head: u8,
    ) -> Result<PieceAddress> {
        let max = piece_max(self.cache().block_size(), table.initrans) - ADDRESS_BYTES;
        let mut small = [0; BODY_BYTES_MIN];
        let row = padded(row, &mut small);
        let mut next: Option<PieceAddress> = None;
        let mut body = Vec::with_capacity(max + ADDRESS_BYTES);
        for (n, chunk) in row.chunks(max).enumerate().rev() {
            body.clear();
            let mut f = if n == 0 { flags::FIRST | head } else { 0 };
            match next {
                Some(at) => body.extend_from_slice(&at.to_bytes()),
                None => f |= flags::LAST,
            }
            body.extend_from_slice(chunk);
            // The last chunk of a long row may be shorter than an address.
            body.resize(body.len().max(BODY_BYTES_MIN), 0);
            next = Some(self.insert_piece(p, t, table, f, &body)?);
        }
        next.ok_or_else(|| Ora::internal("a row without bytes"))
    }

    fn insert_piece(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        piece_flags: u8,
        body: &[u8],
    ) -> Result<PieceAddress> {
        let mut cv = Vec::with_capacity(body.len() + 8);
        let mut may_look = true;
        loop {
            let at = self.block_with_room(p, table, body.len(), &mut may_look)?;
            let done = self.txns.retrying(p, &mut || {
                let mut c = self.txns.change(p, t, 1, 8)?;
                let Some((b, itl)) = self.open_for_insert(&mut c, table, at)? else { return Ok(None) };
                let Place::Slot(slot) = place(&c, b, itl, body.len(), self.reserve(table)) else { return Ok(None) };
                ops::encode_put(&mut cv, slot, piece_flags, itl, 0, body);
                let mut undo = Vec::with_capacity(8);
                let undo_op = ops::undo_of(&c.data(b), slot, itl, &mut undo);
                c.change(b, itl, table.object, Layer::Heap, (ops::PUT, &cv), (undo_op, &undo))?;
                c.commit()?;
                Ok(Some(PieceAddress { rdba: at, slot }))
            })?;
            match done {
                Some(at) => return Ok(at),
                None => self.give_up(p, table, at, self.hint(table).spare != at)?,
            }
        }
    }

    /// Pins a block for insert and gets an entry in its interested-transaction list. `None` when the block no longer
    /// belongs to the segment or its list has no free entry.
    fn open_for_insert(&self, c: &mut Change<'_>, table: &HeapTable, at: Rdba) -> Result<Option<(BlockRef, u8)>> {
        let b = c.current(at)?;
        let view = c.data(b).view;
        if view.kind() != Some(BlockKind::Heap) || view.obj() != table.data_object {
            return Ok(None);
        }
        Ok(match c.itl(b)? {
            ItlGet::Got(itl) => Some((b, itl)),
            ItlGet::Full(_) => None,
        })
    }

    fn reserve(&self, table: &HeapTable) -> usize {
        data::capacity(self.cache().block_size(), table.initrans) * usize::from(table.pctfree.min(90)) / 100
    }

    /// A block for a piece of `body` bytes: the spare block if the piece fits there (H15). Before the segment gets an
    /// extent, and if `may_look`, looks once for a block that the space map calls full although it has room. A second
    /// look could find the same blocks without end.
    fn block_with_room(&self, p: &Process, table: &HeapTable, body: usize, may_look: &mut bool) -> Result<Rdba> {
        let mut hint = self.hint(table);
        if body + ops::ROW_OVERHEAD <= hint.bytes {
            self.use_spare(table, body + ops::ROW_OVERHEAD);
            return Ok(hint.spare);
        }
        let scn = || self.txns.current_scn();
        let segments = self.space();
        let (search, itls) = (&mut hint.search, table.initrans.max(1));
        let at = segments.insert_block(p, table.header, search, BlockKind::Heap, itls, &scn, &mut |hint| {
            if std::mem::take(may_look) { self.look_for_room(p, table, hint, body) } else { Ok(false) }
        })?;
        if let Ok(mut hints) = self.hints.lock() {
            hints.insert(table.data_object, hint);
        }
        Ok(at)
    }

    fn hint(&self, table: &HeapTable) -> Hint {
        self.hints.lock().ok().and_then(|h| h.get(&table.data_object).copied()).unwrap_or_default()
    }

    /// Takes bytes of the spare block.
    fn use_spare(&self, table: &HeapTable, bytes: usize) {
        if let Some(hint) = self.hints.lock().ok().as_mut().and_then(|hints| hints.get_mut(&table.data_object)) {
            hint.bytes = hint.bytes.saturating_sub(bytes);
        }
    }

    /// Marks blocks that have room for a piece of `body` bytes although the space map calls them full: a rollback does
    /// not change the map, nor does a commit that makes bytes free which its rollback would have needed, nor a process
    /// that dies before it marks the block (H14). True when there was one.
    fn look_for_room(&self, p: &Process, table: &HeapTable, hint: &mut InsertHint, body: usize) -> Result<bool> {
        for _ in 0..PLACES_PER_LOOK {
            if self.look_from(p, table, hint, body)? {
                return Ok(true);
            }
            hint.look_elsewhere();
        }
        Ok(false)
    }

    /// As [`Heap::look_for_room`], from the place of the hint only.
    fn look_from(&self, p: &Process, table: &HeapTable, hint: &mut InsertHint, body: usize) -> Result<bool> {
        let (mut wanted, mut found) = (LOOK_BLOCKS_MIN, false);
        while wanted <= LOOK_BLOCKS_MAX {
            let blocks = readable(self.space().next_full(p, table.header, hint, wanted))?.unwrap_or_default();
            let mut some = false;
            for at in blocks {
                if readable(self.has_room_for(p, table, at, body))? == Some(true) {
                    self.mark(p, table, at, BlockState::Room)?;
                    some = true;
                }
            }
            if !some {
                break;
            }
            (found, wanted) = (true, 2 * wanted);
        }
        Ok(found)
    }

    /// Whether a block has [`room_from`] or no rows, and takes a piece of `body` bytes. Bytes that rollbacks of active
    /// transactions may need are no room.
    fn has_room_for(&self, p: &Process, table: &HeapTable, at: Rdba, body: usize) -> Result<bool> {
        let (mut credits, reserve) = (Vec::new(), self.reserve(table));
        let read = self.cache().read(p, at, GetKind::Current, &mut |v| {
            credits.clear();
            if v.kind() != Some(BlockKind::Heap) || v.obj() != table.data_object {
                return None;
            }
            let d = Data::new(*v);
            let itls = (1..=d.itls() as u8).filter_map(|n| d.itl(n));
            credits.extend(itls.filter(|itl| !itl.is_committed() && itl.credit > 0).map(|itl| (itl.xid, itl.credit)));
            let is_empty = d.slots() == usize::from(d.aux16()) + d.free_slots();
            let entry = if d.free_slots() > 0 { 0 } else { data::SLOT_BYTES };
            let need = match is_empty {
                true => body + data::ROW_HEADER_BYTES + entry,
                false => room_from(v.len()).max(body + ops::ROW_OVERHEAD + data::ITL_BYTES + reserve),
            };
            Some((d.free_bytes(), need))
        })?;
        let Some((free, need)) = read else { return Ok(false) };
        let kept: usize =
            credits.iter().filter(|(xid, _)| self.txns.is_active(*xid)).map(|(_, credit)| usize::from(*credit)).sum();
        Ok(free >= need + kept)
    }

    /// Forgets the block of the last insert: the segment was emptied.
    pub fn forget(&self, data_object: types::ObjectId) {
        if let Ok(mut hints) = self.hints.lock() {
            hints.remove(&data_object);
        }
    }

    /// Marks a block as full in the space map, so that the next search skips it. With `may_be_spare` it becomes the
    /// spare block if it has more room than that; a spare block that refused a row which should fit may not.
    fn give_up(&self, p: &Process, table: &HeapTable, at: Rdba, may_be_spare: bool) -> Result<()> {
        let bytes = if may_be_spare { self.room_beside_reserve(p, table, at)? } else { 0 };
        if let Some(hint) = self.hints.lock().ok().as_mut().and_then(|hints| hints.get_mut(&table.data_object)) {
            let was_spare = hint.spare == at;
            if was_spare {
                (hint.spare, hint.bytes) = (Rdba::NONE, 0);
            }
            if !was_spare || hint.search.block == at {
                hint.search.forget();
            }
            if bytes > hint.bytes {
                (hint.spare, hint.bytes) = (at, bytes);
            }
        }
        self.mark(p, table, at, BlockState::Full)
    }

    /// The bytes of a block that inserts may use; 0 when they are too few for a spare block.
    fn room_beside_reserve(&self, p: &Process, table: &HeapTable, at: Rdba) -> Result<usize> {
        let is_ours = |v: &BlockView<'_>| v.kind() == Some(BlockKind::Heap) && v.obj() == table.data_object;
        let free_bytes = |v: &BlockView<'_>| if is_ours(v) { Data::new(*v).free_bytes() } else { 0 };
        let free = self.cache().read(p, at, GetKind::Current, &mut |v| free_bytes(v))?;
        let bytes = free.saturating_sub(self.reserve(table));
        Ok(if bytes >= self.cache().block_size() / SPARE_PART { bytes } else { 0 })
    }

    fn mark(&self, p: &Process, table: &HeapTable, at: Rdba, state: BlockState) -> Result<()> {
        let ours =
            |v: &BlockView<'_>| (v.kind() == Some(BlockKind::Heap) && v.obj() == table.data_object).then(|| v.map());
        let Some(map) = self.cache().read(p, at, GetKind::Current, &mut |v| ours(v))? else { return Ok(()) };
        // Reading the state first saves the pin: only the delete that crosses the limit has to change the map.
        if map.is_none() || self.space().state(p, map, at)? == Some(state) {
            return Ok(());
        }
        self.cache().in_group(p, &|| self.txns.current_scn(), &mut |g| self.space().mark(g, map, at, state))
    }

    /// Inserts many rows, a block at a time: all rows for one block go in with one change group and one undo record
    /// (H9). `rows` holds the rows one after another, `ends` the end of each; their rowids are appended to `rowids` in
    /// the same order.
    pub fn insert_many(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        rows: &[u8],
        ends: &[u32],
        rowids: &mut Vec<Rowid>,
    ) -> Result<()> {
        self.txns.touch(p, t, table.object)?;
        let max = piece_max(self.cache().block_size(), table.initrans);
        let mut i = 0;
        while i < ends.len() {
            let rest = Rows { rows, ends, from: i };
            if rest.get(0).len() > max {
                rowids.push(self.insert(p, t, table, rest.get(0))?);
                i += 1;
            } else {
                i += self.insert_batch(p, t, table, rest, rowids)?;
            }
        }
        Ok(())
    }

    /// Inserts as many of the rows as go into one block; returns how many.
    fn insert_batch(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        rows: Rows<'_>,
        rowids: &mut Vec<Rowid>,
    ) -> Result<usize> {
        let at = self.block_with_room(p, table, rows.get(0).len().max(BODY_BYTES_MIN), &mut true)?;
        let hint = self.hint(table);
        let most = rows.most_in(self.cache().block_size());
        let is_spare = at == hint.spare;
        let rows = if is_spare || hint.bytes == 0 { rows } else { rows.up_to_short(hint.bytes, most) };
        let before = rowids.len();
        let fitted = self.txns.retrying(p, &mut || {
            rowids.truncate(before);
            let mut c = self.txns.change(p, t, 1, 4 * most + 8)?;
            let Some((b, itl)) = self.open_for_insert(&mut c, table, at)? else { return Ok(0) };
            self.free_entries(&mut c, b, itl)?;
            let (redo, undo) = self.fill(&c, b, itl, table, rows, rowids);
            let n = rowids.len() - before;
            if n == 0 {
                return Ok(0);
            }
            let (op, undo_op) = (ops::PUT_RUN, ops::REMOVE_RANGES);
            c.change(b, itl, table.object, Layer::Heap, (op, &redo), (undo_op, &undo))?;
            c.commit()?;
            Ok(n)
        })?;
        match fitted {
            0 => {
                self.give_up(p, table, at, !is_spare)?;
                // No row fits as a single piece: insert the row alone, which may chain it.
                rowids.push(self.insert(p, t, table, rows.get(0))?);
                Ok(1)
            }
            n => {
                if n < rows.len() {
                    self.give_up(p, table, at, true)?;
                } else if is_spare {
                    self.use_spare(table, (1..n).map(|i| rows.get(i).len() + ops::ROW_OVERHEAD).sum());
                }
                Ok(n)
            }
        }
    }

    /// Empties the directory entries of rows whose deletion has committed (H9). No rollback can need them, so no undo
    /// is written; a reader of an older version gets the row from the undo of its deletion.
    fn free_entries(&self, c: &mut Change<'_>, b: BlockRef, itl: u8) -> Result<()> {
        let d = c.data(b);
        if d.aux16() == 0 {
            return Ok(());
        }
        let gone =
            |row: &RowAt| row.flags & flags::DELETED != 0 && row.lock != itl && c.itl_holder(b, row.lock).is_none();
        let mut slots = Vec::new();
        d.rows().filter(|(_, row)| gone(row)).for_each(|(slot, _)| ops::add_to_ranges(&mut slots, slot));
        if slots.is_empty() { Ok(()) } else { c.group().change(b, Layer::Heap, ops::REMOVE_RANGES, &slots) }
    }

    /// Plans directory entries, empty ones first, for as many rows as fit. Returns redo and undo.
    fn fill(
        &self,
        c: &Change<'_>,
        b: BlockRef,
        itl: u8,
        table: &HeapTable,
        rows: Rows<'_>,
        rowids: &mut Vec<Rowid>,
    ) -> (Vec<u8>, Vec<u8>) {
        let d = c.data(b);
        let (slots, keep) = (d.slots(), self.reserve(table));
        let reusable = if d.free_slots() > 0 && may_reuse(c, &d) { slots } else { 0 };
        let mut empty = (0..reusable).filter(|slot| d.row(*slot).is_none());
        let (mut left, mut spare_entries) = (d.usable_bytes(itl), d.usable_bytes(0));
        let (mut redo, mut undo) = (Vec::with_capacity(left + 64), Vec::with_capacity(512));
        let mut run = RunEnd::begin(itl, &mut redo);
        let mut behind = slots;
        for n in 0..rows.len() {
            let mut small = [0; BODY_BYTES_MIN];
            let body = padded(rows.get(n), &mut small);
            let first = n == 0 && d.free_slots() == slots;
            let reused = empty.next();
            let need = body.len() + if reused.is_some() { data::ROW_HEADER_BYTES } else { ops::ROW_OVERHEAD };
            // A directory entry outlives a rollback, so it must not use bytes that a rollback may need.
            let entry_is_free = reused.is_some() || spare_entries >= data::SLOT_BYTES;
            if left < need + if first { 0 } else { keep } || !entry_is_free {
                break;
            }
            let slot = reused.unwrap_or(behind);
            behind += usize::from(reused.is_none());
            run.put(&mut redo, (slot as u16, itl), body);
            ops::add_to_ranges(&mut undo, slot as u16);
            rowids.push(Rowid { obj: table.data_object, rdba: b.rdba(), slot: slot as u16 });
            left -= need;
            spare_entries = spare_entries.saturating_sub(need);
        }
        (redo, undo)
    }

    /// Replaces a row found through `seen`. Waits for the row's lock.
    ///
    /// Waits: `enq: TX - row lock contention`. Latches: none on entry or return.
    /// # Errors
    /// ORA-00060 (the caller rolls the statement back), ORA-00054, ORA-30006, ORA-01410 for a rowid of another segment.
    #[allow(clippy::too_many_arguments)]
    pub fn update(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        rowid: Rowid,
        row: &[u8],
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        self.change_row(p, t, &heap_rows(table), rowid, RowAction::Update(row), seen, wait)
    }

    /// Deletes a row found through `seen`. As [`Heap::update`].
    pub fn delete(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        rowid: Rowid,
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        let done = self.change_row(p, t, &heap_rows(table), rowid, RowAction::Delete, seen, wait)?;
        if done == RowOutcome::Done {
            self.note_room(p, table, rowid.rdba)?;
        }
        Ok(done)
    }

    /// Locks a row found through `seen` (SELECT FOR UPDATE). As [`Heap::update`].
    pub fn lock_row(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        rowid: Rowid,
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        self.change_row(p, t, &heap_rows(table), rowid, RowAction::Lock, seen, wait)
    }

    /// Whether a transaction holds the lock of a row.
    pub fn is_locked_by(&self, p: &Process, t: &Txn, rowid: Rowid) -> Result<bool> {
        let Some(xid) = t.xid() else { return Ok(false) };
        self.cache().read(p, rowid.rdba, GetKind::Current, &mut |view| {
            let data = Data::new(*view);
            let row = data.row(rowid.slot.into());
            // Another transaction may have used the entry since; the xid in the entry tells.
            row.and_then(|row| data.itl(row.lock)).is_some_and(|entry| entry.xid == xid && !entry.is_committed())
        })
    }

    /// Marks a block as having room in the space map once there is [`room_from`].
    pub(crate) fn note_room(&self, p: &Process, table: &HeapTable, at: Rdba) -> Result<()> {
        let (free, len) = self.cache().read(p, at, GetKind::Current, &mut |v| (Data::new(*v).free_bytes(), v.len()))?;
        if free >= room_from(len) { self.mark(p, table, at, BlockState::Room) } else { Ok(()) }
    }

    /// Makes one change to a row of a heap or cluster.
    #[allow(clippy::too_many_arguments)]
    pub fn change_row(
        &self,
        p: &Process,
        t: &mut Txn,
        rows: &RowSegment<'_>,
        rowid: Rowid,
        action: RowAction<'_>,
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        if rowid.obj != rows.table.data_object {
            return Err(Ora::new(1410));
        }
        self.txns.touch(p, t, rows.table.object)?;
        let undo_bytes = if let RowAction::Update(row) = action { row.len().min(1024) + 64 } else { 256 };
        let mut a = Attempt { rowid, seen, undo_bytes, as_of: None, verified: false, traced: None, moved_to: None };
        let mut old_pieces = None;
        let mut patience = RowWait::new(wait);
        loop {
            match self.txns.retrying(p, &mut || self.attempt(p, t, rows, &a, action))? {
                Step::Done => {
                    if let Some(first) = old_pieces {
                        self.delete_pieces(p, t, rows.table, first)?;
                    }
                    return Ok(RowOutcome::Done);
                }
                Step::DoneWithRoom => {
                    if let Some(first) = old_pieces {
                        self.delete_pieces(p, t, rows.table, first)?;
                    }
                    self.note_room(p, rows.table, rowid.rdba)?;
                    return Ok(RowOutcome::Done);
                }
                Step::Changed => return Ok(RowOutcome::Changed),
                Step::MoreUndo(bytes) => a.undo_bytes = bytes,
                Step::Wait(_) if wait == LockWait::SkipLocked => return Ok(RowOutcome::Skipped),
                Step::Wait(holder) => self.txns.wait_for_row(p, holder, rows.table.object, rowid, patience.left()?)?,
                Step::WaitItl(holder) => self.txns.wait_for_itl(p, rows.table.data_object, holder)?,
                Step::Compare => match self.head_as_of(p, rows, rowid, seen)? {
                    Some(head) => a.as_of = Some(head),
                    None => return Ok(RowOutcome::Changed),
                },
                Step::Trace => {
                    let now = self.txns.current_scn();
                    let slot = rowid.slot;
                    if self.txns.touched_since(p, rowid.rdba, seen, &mut |rec| ops::touches(rec.op, rec.data, slot))? {
                        return Ok(RowOutcome::Changed);
                    }
                    a.traced = Some(now);
                }
                Step::CompareWhole => {
                    if !self.same_as_of(p, t, rows, rowid, seen)? {
                        return Ok(RowOutcome::Changed);
                    }
                    a.verified = true;
                }
                Step::Tail(first) => {
                    self.delete_pieces(p, t, rows.table, first)?;
                    if rows.layer == Layer::Heap {
                        self.note_room(p, rows.table, rowid.rdba)?;
                    }
                    return Ok(RowOutcome::Done);
                }
                Step::Move(pieces) => {
                    let RowAction::Update(row) = action else {
                        return Err(Ora::internal("only an update moves a row"));
                    };
                    (a.verified, old_pieces) = (true, pieces);
                    a.moved_to = Some(self.insert_chain(p, t, rows.table, row, 0)?);
                }
            }
        }
    }

    /// One attempt, in one change group. Other pieces of the row are changed by groups of their own (H7).
    fn attempt(
        &self,
        p: &Process,
        t: &mut Txn,
        rows: &RowSegment<'_>,
        a: &Attempt<'_>,
        action: RowAction<'_>,
    ) -> Result<Step> {
        let (slot, object) = (a.rowid.slot, rows.table.object);
        let mut c = self.txns.change(p, t, 1, a.undo_bytes)?;
        let b = c.current(a.rowid.rdba)?;
        let view = c.data(b).view;
        if view.kind() != Some(rows.kind) || view.obj() != rows.table.data_object {
            return Err(Ora::new(1410));
        }
        let Some(row) = c.data(b).row(slot.into()) else { return Ok(Step::Changed) };
        if let Some(holder) = c.itl_holder(b, row.lock) {
            return Ok(Step::Wait(holder));
        }
        if row.flags & flags::HEAD == 0 || row.flags & flags::DELETED != 0 {
            return Ok(Step::Changed);
        }
        let whole = row.flags & flags::LAST != 0;
        let mut compare_whole = false;
        if !a.verified && self.txns.changed_since(&view, a.seen) && a.seen.serializable {
            // The entry of a committed change of this row may have been taken over, with its lock bytes, by another
            // transaction.
            let latest = c.data(b).max_commit_scn();
            let latest = match self.txns.locked_since(&view, row.lock, a.seen) {
                LockedSince::Yes => return Ok(Step::Changed),
                LockedSince::Perhaps(bound) => latest.max(bound),
                LockedSince::No => latest,
            };
            if a.traced.is_none_or(|upto| latest > upto) {
                return Ok(Step::Trace);
            }
        } else if !a.verified && self.txns.changed_since(&view, a.seen) {
            match &a.as_of {
                None => return Ok(Step::Compare),
                Some((f, body)) if *f != row.flags || !same_bytes(&view, &row, body) => return Ok(Step::Changed),
                Some(_) => compare_whole = !whole,
            }
        }
        let itl = match c.itl(b)? {
            ItlGet::Got(itl) => itl,
            ItlGet::Full(holder) => return Ok(Step::WaitItl(holder)),
        };
        let row = c.data(b).row(slot.into()).ok_or_else(|| Ora::internal("a row vanished from its pinned block"))?;
        let lock = |c: &mut Change<'_>| -> Result<()> {
            if row.lock == itl {
                return Ok(());
            }
            let (redo, undo) = (ops::mark(slot, row.flags, itl), ops::undo_mark(&c.data(b), slot, itl));
            c.change(b, itl, object, rows.layer, (ops::MARK, &redo), (ops::MARK, &undo)).map(|_| ())
        };
        if compare_whole {
            lock(&mut c)?;
            c.commit()?;
            return Ok(Step::CompareWhole);
        }
        let tail = next_of(&c.data(b).view, &row);
        let mut small = [0; BODY_BYTES_MIN];
        let (new_flags, address);
        let body: &[u8] = match (action, a.moved_to) {
            (RowAction::Lock, _) => {
                lock(&mut c)?;
                c.commit()?;
                return Ok(Step::Done);
            }
            (RowAction::Delete, _) => {
                new_flags = flags::DELETED;
                &[]
            }
            (RowAction::Update(_), Some(at)) => {
                new_flags = flags::HEAD;
                address = at.to_bytes();
                &address
            }
            (RowAction::Update(new), None) => {
                new_flags = flags::WHOLE;
                let body = padded(new, &mut small);
                // A version longer than a piece could not be undone as a whole, although the block has room for it.
                let most = piece_max(self.cache().block_size(), rows.table.initrans).max(row.len);
                if body.len() > most || body.len() > row.len && c.data(b).usable_bytes(itl) < body.len() - row.len {
                    lock(&mut c)?;
                    c.commit()?;
                    return Ok(Step::Move(tail));
                }
                body
            }
        };
        let done = match rows.layer == Layer::Heap
            && matches!(action, RowAction::Update(_))
            && gets_room(&c.data(b), row.len.saturating_sub(body.len()))
        {
            true => Step::DoneWithRoom,
            false => Step::Done,
        };
        if rows.layer == Layer::Heap && row.flags == flags::WHOLE && new_flags == flags::WHOLE {
            // Bytes of the row that do not change are neither in the redo nor in the undo.
            let old = &c.view(b)[row.at..row.at + row.len];
            let changes = Differences::new(old, body);
            let undo_bytes = 1 + changes.sizes().undo;
            if undo_bytes > a.undo_bytes {
                return Ok(Step::MoreUndo(undo_bytes));
            }
            let (mut redo, mut undo) = (Vec::with_capacity(undo_bytes), Vec::with_capacity(undo_bytes));
            let before = if row.lock == itl { itl } else { 0 };
            let (mut redo_end, mut undo_end) = (RunEnd::begin(itl, &mut redo), RunEnd::begin(before, &mut undo));
            let is_new = changes.write(slot, (itl, before), (&mut redo_end, &mut redo), (&mut undo_end, &mut undo));
            let op = if is_new { ops::SPLICES } else { ops::SPLICE_RUN };
            c.change(b, itl, object, rows.layer, (op, &redo), (op, &undo))?;
            c.commit()?;
            return Ok(done);
        }
        let mut undo = Vec::with_capacity(row.len + 8);
        let undo_op = ops::undo_of(&c.data(b), slot, itl, &mut undo);
        if undo.len() > a.undo_bytes {
            return Ok(Step::MoreUndo(undo.len()));
        }
        let mut cv = Vec::with_capacity(body.len() + 8);
        ops::encode_put(&mut cv, slot, new_flags, itl, row.extra, body);
        c.change(b, itl, object, rows.layer, (ops::PUT, &cv), (undo_op, &undo))?;
        c.commit()?;
        Ok(match tail {
            Some(tail) if a.moved_to.is_none() => Step::Tail(tail),
            _ => done,
        })
    }

    /// Flags and body of the head as of `seen`.
    fn head_as_of(
        &self,
        p: &Process,
        rows: &RowSegment<'_>,
        rowid: Rowid,
        seen: &Snapshot,
    ) -> Result<Option<(u8, Vec<u8>)>> {
        self.txns.consistent_read(p, rowid.rdba, GetKind::Consistent, seen, &mut |v: &BlockView<'_>| {
            let row = Data::new(*v).row(rowid.slot.into())?;
            let mut body = Vec::with_capacity(row.len);
            v.append_to(row.at, row.len, &mut body);
            (v.kind() == Some(rows.kind)).then_some((row.flags, body))
        })
    }

    /// Whether a row that this transaction has locked is the same, in all its pieces, as it was as of `seen`.
    fn same_as_of(&self, p: &Process, t: &Txn, rows: &RowSegment<'_>, rowid: Rowid, seen: &Snapshot) -> Result<bool> {
        let (mut then, mut now) = (Vec::new(), Vec::new());
        let present = self.txns.view_as_of(t, self.txns.current_scn());
        let was = self.read_row(p, seen, rows.kind, rowid, &mut then)?;
        let is = self.read_row(p, &present, rows.kind, rowid, &mut now)?;
        Ok(was == Piece::Last && is == Piece::Last && then == now)
    }

    /// Deletes the pieces of a row behind its head, which this transaction has locked.
    fn delete_pieces(&self, p: &Process, t: &mut Txn, table: &HeapTable, first: PieceAddress) -> Result<()> {
        let mut next = Some(first);
        while let Some(at) = next {
            let mut undo_bytes = 256;
            next = loop {
                match self.txns.retrying(p, &mut || self.delete_piece(p, t, table, at, undo_bytes))? {
                    (Step::Done, next) => {
                        self.note_room(p, table, at.rdba)?;
                        break next;
                    }
                    (Step::MoreUndo(bytes), _) => undo_bytes = bytes,
                    (Step::WaitItl(holder), _) => self.txns.wait_for_itl(p, table.data_object, holder)?,
                    _ => return Err(Ora::internal(format_args!("no piece of a row at {}.{}", at.rdba, at.slot))),
                }
            };
        }
        Ok(())
    }

    fn delete_piece(
        &self,
        p: &Process,
        t: &mut Txn,
        table: &HeapTable,
        at: PieceAddress,
        undo_bytes: usize,
    ) -> Result<(Step, Option<PieceAddress>)> {
        let mut c = self.txns.change(p, t, 1, undo_bytes)?;
        let b = c.current(at.rdba)?;
        let row = c.data(b).row(at.slot.into()).filter(|r| r.flags & (flags::HEAD | flags::DELETED) == 0);
        if row.is_none() || c.data(b).view.obj() != table.data_object {
            return Ok((Step::Changed, None));
        }
        let itl = match c.itl(b)? {
            ItlGet::Got(itl) => itl,
            ItlGet::Full(holder) => return Ok((Step::WaitItl(holder), None)),
        };
        let d = c.data(b);
        let next = d.row(at.slot.into()).and_then(|r| next_of(&d.view, &r));
        let mut undo = Vec::new();
        let undo_op = ops::undo_of(&d, at.slot, itl, &mut undo);
        if undo.len() > undo_bytes {
            return Ok((Step::MoreUndo(undo.len()), None));
        }
        let mut cv = Vec::with_capacity(8);
        ops::encode_put(&mut cv, at.slot, flags::DELETED, itl, 0, &[]);
        c.change(b, itl, table.object, Layer::Heap, (ops::PUT, &cv), (undo_op, &undo))?;
        c.commit()?;
        Ok((Step::Done, next))
    }
}

/// Rows to insert: a run of rows lying one after another, from number `from` on.
#[derive(Clone, Copy)]
struct Rows<'a> {
    rows: &'a [u8],
    ends: &'a [u32],
    from: usize,
}

impl<'a> Rows<'a> {
    fn len(&self) -> usize {
        self.ends.len() - self.from
    }

    fn get(&self, n: usize) -> &'a [u8] {
        let i = self.from + n;
        let begin = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.rows[begin as usize..self.ends[i] as usize]
    }

    /// The rows before the first that is much shorter than one before it and fits into the `bytes` of the spare block.
    /// At most `most` rows are looked at.
    fn up_to_short(&self, bytes: usize, most: usize) -> Rows<'a> {
        let mut longest = self.get(0).len();
        let is_short = |n: &usize| {
            let len = self.get(*n).len();
            longest = longest.max(len);
            len * SHORT_PART < longest && len + ops::ROW_OVERHEAD <= bytes
        };
        match (1..self.len().min(most)).find(is_short) {
            Some(n) => Rows { ends: &self.ends[..self.from + n], ..*self },
            None => *self,
        }
    }

    /// An upper bound of the rows that fit into a block of this size.
    fn most_in(&self, block_size: usize) -> usize {
        let begin = if self.from == 0 { 0 } else { self.ends[self.from - 1] } as usize;
        let by_bytes = self.ends[self.from..].partition_point(|end| *end as usize - begin <= block_size);
        by_bytes.min(block_size / (BODY_BYTES_MIN + data::ROW_HEADER_BYTES))
    }
}

/// Number of blocks called full that an insert looks at, in each of [`PLACES_PER_LOOK`] places, before its segment gets
/// an extent. The number doubles as long as one of the blocks has room, up to [`LOOK_BLOCKS_MAX`]: 252 blocks in all.
const LOOK_BLOCKS_MIN: usize = 4;
const LOOK_BLOCKS_MAX: usize = 128;
/// The round, the way back from the end, and once more the one that came first: a way back that began before later
/// changes were rolled back begins again at the end.
const PLACES_PER_LOOK: usize = 3;

/// A block is a spare block if it has this part of its bytes free.
const SPARE_PART: usize = 16;
/// A row of a batch goes into the spare block if it is shorter than this part of a row before it. With a larger part,
/// rows of random lengths would divide their batches into many small change groups.
const SHORT_PART: usize = 16;

/// The result of reading a block that an insert can do without; `None` for a damaged or offline one.
fn readable<R>(read: Result<R>) -> Result<Option<R>> {
    match read {
        Ok(r) => Ok(Some(r)),
        Err(e) if [376, 1115, 1157, 1578].iter().any(|code| e.is(*code)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Free bytes from which on inserts use a block of `block_bytes` again: two fifths.
fn room_from(block_bytes: usize) -> usize {
    block_bytes * 2 / 5
}

/// Whether a change that frees `freed` bytes of a block gives it [`room_from`].
pub(crate) fn gets_room(d: &Data<'_>, freed: usize) -> bool {
    let (free, from) = (d.free_bytes(), room_from(d.view.len()));
    free < from && free + freed >= from
}

fn heap_rows(table: &HeapTable) -> RowSegment<'_> {
    RowSegment { table, kind: BlockKind::Heap, layer: Layer::Heap }
}

fn same_bytes(view: &BlockView<'_>, row: &RowAt, body: &[u8]) -> bool {
    row.len == body.len() && view.compare(row.at, row.len, body).is_eq()
}
