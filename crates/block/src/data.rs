//! The data layer of table, cluster and index blocks: interested-transaction list, row directory, rows.
//!
//! ```text
//!  0 +--------------------------------------------+
//!    | common header (32 bytes)                   |
//! 32 | itl_count  slots  rows_begin  free_bytes   |  u16 each
//! 40 | free_slots  aux16  next                    |  u16 u16 u32
//! 48 | accept_scn                                 |  u64: the CLEAN shortcut
//! 56 | max_commit_scn                             |  u64
//! 64 | prev  aux32  aux64                         |  u32 u32 u64
//! 80 | ITL slots, 32 bytes each                   |
//!    | row directory, u16 each: 0 = no row        |
//!    |   free gap                                 |
//!    | rows, each with a header of 6 bytes        |  grow down from the end of the block
//!    +--------------------------------------------+
//! ```
//!
//! `accept_scn` is the CLEAN shortcut. It is `u64::MAX` while any ITL slot belongs to a transaction not known to have
//! committed, and otherwise the highest commit SCN that the block ever had. A reader whose snapshot is at or above it
//! takes the block as it is after this one comparison. Every change of an ITL slot recomputes it (R5).
//!
//! The access layers define the meaning of lock bytes, flags, `aux` fields and row bodies; this layer keeps the space.

use crate::header::{self, BlockKind, get16, get64, put16, put32, put64};
use crate::view::BlockView;
use types::{ObjectId, Rdba, Scn, Uba, Xid};

/// Bytes of one ITL slot.
pub const ITL_BYTES: usize = 32;
/// Bytes of a row's header: flags, lock byte, length, extra.
pub const ROW_HEADER_BYTES: usize = 6;
/// Bytes of a row directory entry.
pub const SLOT_BYTES: usize = 2;
/// Offset of the first ITL slot.
pub const ITL_BEGIN: usize = 80;
/// Most ITL slots a block can have.
pub const ITL_MAX: usize = 255;

const AT_ITLS: usize = 32;
const AT_SLOTS: usize = 34;
const AT_ROWS_BEGIN: usize = 36;
const AT_FREE: usize = 38;
const AT_FREE_SLOTS: usize = 40;
const AT_AUX16: usize = 42;
const AT_NEXT: usize = 44;
const AT_ACCEPT: usize = 48;
const AT_MAX_COMMIT: usize = 56;
const AT_PREV: usize = 64;
const AT_AUX32: usize = 68;
const AT_AUX64: usize = 72;

/// Flags of an ITL slot.
pub mod itl_flags {
    /// The transaction has committed and `scn` is its commit SCN, or an upper bound of it.
    pub const COMMITTED: u8 = 0x80;
    /// `scn` is an upper bound: the exact commit SCN was no longer known at cleanout.
    pub const UPPER_BOUND: u8 = 0x40;
}

/// One slot of the interested-transaction list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Itl {
    /// The transaction; all zero for a slot that was never used.
    pub xid: Xid,
    /// The newest undo record of the transaction for this block.
    pub uba: Uba,
    /// See [`itl_flags`].
    pub flags: u8,
    /// Number of rows whose lock byte names this slot.
    pub locks: u16,
    /// Bytes that the transaction freed in this block and may need again to roll back; others may not use them.
    pub credit: u16,
    /// Commit SCN, when [`itl_flags::COMMITTED`] is set.
    pub scn: Scn,
}

impl Itl {
    /// True when no transaction has used the slot yet.
    pub fn is_unused(&self) -> bool {
        self.xid == Xid::default()
    }
    /// True when the transaction is known to have committed.
    pub fn is_committed(&self) -> bool {
        self.flags & itl_flags::COMMITTED != 0
    }
    fn write(&self, b: &mut [u8]) {
        put16(b, 0, self.xid.usn);
        put16(b, 2, self.xid.slot);
        put32(b, 4, self.xid.sqn);
        put32(b, 8, self.uba.rdba.0);
        put32(b, 12, self.uba.seq);
        put16(b, 16, u16::from_le_bytes([self.flags, self.uba.rec]));
        put16(b, 18, self.locks);
        put32(b, 20, u32::from(self.credit));
        put64(b, 24, self.scn.0);
    }
}

/// A row as its header describes it; the body is read through the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAt {
    /// Flags of the access layer.
    pub flags: u8,
    /// Number (1 …) of the ITL slot that locks the row, 0 for none.
    pub lock: u8,
    /// Two bytes for the access layer, such as the directory slot of a row's cluster key.
    pub extra: u16,
    /// Offset of the body in the block.
    pub at: usize,
    /// Bytes of the body; never reaches over the end of the block.
    pub len: usize,
}

/// Reads the data layer of a block. No result may be trusted before the version check.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    /// The words of the block.
    pub view: BlockView<'a>,
}

impl<'a> Data<'a> {
    /// Reads `view` as a block with rows.
    #[inline]
    pub fn new(view: BlockView<'a>) -> Self {
        Data { view }
    }
    /// Number of ITL slots, clamped to what fits into the block.
    #[inline]
    pub fn itls(&self) -> usize {
        usize::from(self.view.u16(AT_ITLS)).min(ITL_MAX).min(self.view.len().saturating_sub(ITL_BEGIN) / ITL_BYTES)
    }
    /// ITL slot number `n`, counted from 1 as lock bytes do.
    #[inline]
    pub fn itl(&self, n: u8) -> Option<Itl> {
        if n == 0 || usize::from(n) > self.itls() {
            return None;
        }
        let at = ITL_BEGIN + (usize::from(n) - 1) * ITL_BYTES;
        let v = &self.view;
        Some(Itl {
            xid: Xid { usn: v.u16(at), slot: v.u16(at + 2), sqn: v.u32(at + 4) },
            uba: Uba { rdba: Rdba(v.u32(at + 8)), seq: v.u32(at + 12), rec: v.u8(at + 17) },
            flags: v.u8(at + 16),
            locks: v.u16(at + 18),
            credit: v.u16(at + 20),
            scn: Scn(v.u64(at + 24)),
        })
    }
    /// Entries of the row directory, used or not, clamped to the block.
    #[inline]
    pub fn slots(&self) -> usize {
        usize::from(self.view.u16(AT_SLOTS)).min(self.view.len().saturating_sub(self.directory()) / SLOT_BYTES)
    }
    /// Offset of the row directory.
    #[inline]
    pub fn directory(&self) -> usize {
        ITL_BEGIN + self.itls() * ITL_BYTES
    }
    /// The row in directory entry `slot`; `None` when there is none.
    #[inline]
    pub fn row(&self, slot: usize) -> Option<RowAt> {
        if slot >= self.slots() {
            return None;
        }
        self.row_in(self.directory(), slot)
    }
    /// Row `slot`, for repeated reads of one block: `directory` is the result of [`Data::directory`], and `slot` is
    /// below the number of slots.
    #[inline]
    pub fn row_in(&self, directory: usize, slot: usize) -> Option<RowAt> {
        let at = usize::from(self.view.u16(directory + slot * SLOT_BYTES));
        if at < ITL_BEGIN || at + ROW_HEADER_BYTES > self.view.len() {
            return None;
        }
        let head = self.view.u64(at);
        let at = at + ROW_HEADER_BYTES;
        let len = usize::from((head >> 16) as u16).min(self.view.len() - at);
        Some(RowAt { flags: head as u8, lock: (head >> 8) as u8, extra: (head >> 32) as u16, at, len })
    }
    /// The row directory, for callers that read many of its entries.
    #[inline]
    pub fn directory_reader(&self) -> Directory<'a> {
        Directory { data: *self, begin: self.directory(), slots: self.slots() }
    }
    /// Every row of the block with its directory entry.
    pub fn rows(&self) -> impl Iterator<Item = (u16, RowAt)> + use<'a> {
        let (me, directory) = (*self, self.directory());
        (0..self.slots()).filter_map(move |slot| Some((slot as u16, me.row_in(directory, slot)?)))
    }
    /// The CLEAN shortcut: a snapshot at or above this SCN may take the block as it is.
    #[inline]
    pub fn accept_scn(&self) -> Scn {
        Scn(self.view.u64(AT_ACCEPT))
    }
    /// Highest commit SCN that any ITL slot of the block ever had.
    pub fn max_commit_scn(&self) -> Scn {
        Scn(self.view.u64(AT_MAX_COMMIT))
    }
    /// Free bytes, in the gap and in holes together.
    #[inline]
    pub fn free_bytes(&self) -> usize {
        usize::from(self.view.u16(AT_FREE)).min(self.view.len())
    }
    /// Bytes that a transaction using ITL slot `mine` (0: a new one) may take: free bytes less the bytes that other
    /// active transactions may need to roll back (R6).
    pub fn usable_bytes(&self, mine: u8) -> usize {
        let reserved: usize = (1..=self.itls() as u8)
            .filter(|n| *n != mine)
            .filter_map(|n| self.itl(n))
            .filter(|itl| !itl.is_committed())
            .map(|itl| usize::from(itl.credit))
            .sum();
        self.free_bytes().saturating_sub(reserved)
    }
    /// Directory entries without a row.
    pub fn free_slots(&self) -> usize {
        usize::from(self.view.u16(AT_FREE_SLOTS))
    }
    /// Offset of the first byte of a row: nothing but free bytes lies between the directory and it.
    pub fn rows_begin(&self) -> usize {
        usize::from(self.view.u16(AT_ROWS_BEGIN)).min(self.view.len())
    }
    /// The lowest directory entry without a row, or the number of entries when all have one.
    pub fn first_free_slot(&self) -> usize {
        let (slots, directory) = (self.slots(), self.directory());
        if self.free_slots() == 0 {
            return slots;
        }
        (0..slots).find(|s| self.view.u16(directory + s * SLOT_BYTES) == 0).unwrap_or(slots)
    }
    /// Two bytes for the access layer: the level in a B-tree, the number of keys in a cluster block.
    #[inline]
    pub fn aux16(&self) -> u16 {
        self.view.u16(AT_AUX16)
    }
    /// Four bytes for the access layer.
    #[inline]
    pub fn aux32(&self) -> u32 {
        self.view.u32(AT_AUX32)
    }
    /// Eight bytes for the access layer.
    #[inline]
    pub fn aux64(&self) -> u64 {
        self.view.u64(AT_AUX64)
    }
    /// The block after this one: right sibling of a leaf, overflow of a cluster block.
    #[inline]
    pub fn next(&self) -> Rdba {
        Rdba(self.view.u32(AT_NEXT))
    }
    /// The block before this one.
    #[inline]
    pub fn prev(&self) -> Rdba {
        Rdba(self.view.u32(AT_PREV))
    }
}

/// The row directory of a block, with its offset computed once.
#[derive(Clone, Copy)]
pub struct Directory<'a> {
    data: Data<'a>,
    begin: usize,
    slots: usize,
}

impl Directory<'_> {
    /// As [`Data::row`].
    #[inline]
    pub fn row(&self, slot: usize) -> Option<RowAt> {
        if slot >= self.slots {
            return None;
        }
        self.data.row_in(self.begin, slot)
    }

    /// As [`Data::slots`].
    #[inline]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The offset of a row's header according to the directory; 0 when there is no row.
    #[inline]
    pub fn place(&self, slot: usize) -> usize {
        if slot < self.slots { self.data.view.u16(self.begin + slot * SLOT_BYTES).into() } else { 0 }
    }
}

/// A row for [`DataMut::insert_each_sorted`].
#[derive(Clone, Copy, Debug)]
pub struct NewRow {
    /// The directory entry of the row after all rows before it are in place.
    pub position: u16,
    /// See [`RowAt::extra`].
    pub extra: u16,
    /// The end of its body in `bodies`; it begins at the end of the previous body.
    pub end: u32,
}

/// The free bytes between row directory and rows; may be nonsense for a damaged block.
pub(crate) fn gap(view: &BlockView) -> std::ops::Range<usize> {
    let d = Data::new(*view);
    d.directory() + d.slots() * SLOT_BYTES..d.rows_begin()
}

/// The reason why a mutator refused and left the block unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Not enough room in the block.
    Full,
    /// The slot, ITL number or length is not in the block: the caller or the block is wrong.
    NoSuch,
}

/// Changes the data layer of a private image. The image must be sound (R3, R4).
pub struct DataMut<'a> {
    block: &'a mut [u8],
}

impl<'a> DataMut<'a> {
    /// Changes `block`, which must have been made by [`format()`].
    pub fn new(block: &'a mut [u8]) -> Self {
        DataMut { block }
    }
    /// Reads the block with the changes made so far.
    pub fn read(&self) -> Data<'_> {
        Data::new(BlockView::of_bytes(self.block))
    }
    fn itls(&self) -> usize {
        usize::from(get16(self.block, AT_ITLS))
    }
    fn slots(&self) -> usize {
        usize::from(get16(self.block, AT_SLOTS))
    }
    fn rows_begin(&self) -> usize {
        usize::from(get16(self.block, AT_ROWS_BEGIN))
    }
    fn free(&self) -> usize {
        usize::from(get16(self.block, AT_FREE))
    }
    fn set_free(&mut self, bytes: usize) {
        put16(self.block, AT_FREE, bytes as u16);
    }
    fn entry(&self, slot: usize) -> usize {
        ITL_BEGIN + self.itls() * ITL_BYTES + slot * SLOT_BYTES
    }
    fn gap(&self) -> usize {
        self.rows_begin() - self.entry(self.slots())
    }
    fn at(&self, slot: u16) -> Result<usize, Refused> {
        if usize::from(slot) >= self.slots() {
            return Err(Refused::NoSuch);
        }
        match usize::from(get16(self.block, self.entry(slot.into()))) {
            0 => Err(Refused::NoSuch),
            at => Ok(at),
        }
    }

    /// Writes ITL slot `n` (from 1) and recomputes the CLEAN shortcut.
    ///
    /// # Errors
    /// [`Refused::NoSuch`] when the block has no slot `n`.
    pub fn set_itl(&mut self, n: u8, itl: &Itl) -> Result<(), Refused> {
        if n == 0 || usize::from(n) > self.itls() {
            return Err(Refused::NoSuch);
        }
        let at = ITL_BEGIN + (usize::from(n) - 1) * ITL_BYTES;
        itl.write(&mut self.block[at..at + ITL_BYTES]);
        self.refresh_shortcut();
        Ok(())
    }

    fn refresh_shortcut(&mut self) {
        let (mut clean, mut highest) = (true, get64(self.block, AT_MAX_COMMIT));
        for n in 1..=self.itls() {
            let itl = self.read().itl(n as u8).unwrap_or_default();
            match (itl.is_unused(), itl.is_committed()) {
                (true, _) => {}
                (_, true) => highest = highest.max(itl.scn.0),
                (_, false) => clean = false,
            }
        }
        put64(self.block, AT_MAX_COMMIT, highest);
        put64(self.block, AT_ACCEPT, if clean { highest } else { u64::MAX });
    }

    /// Adds an unused ITL slot and returns its number.
    ///
    /// # Errors
    /// [`Refused::Full`] when 32 more bytes do not fit, or the list has its maximum length.
    pub fn add_itl(&mut self) -> Result<u8, Refused> {
        let n = self.itls();
        if n >= ITL_MAX || self.free() < ITL_BYTES {
            return Err(Refused::Full);
        }
        if self.gap() < ITL_BYTES {
            self.compact();
        }
        let (from, to) = (self.entry(0), self.entry(self.slots()));
        self.block.copy_within(from..to, from + ITL_BYTES);
        self.block[from..from + ITL_BYTES].fill(0);
        put16(self.block, AT_ITLS, n as u16 + 1);
        self.set_free(self.free() - ITL_BYTES);
        Ok(n as u8 + 1)
    }

    /// Puts a row into directory entry `slot`, which must be empty or the first behind the directory.
    ///
    /// # Errors
    /// [`Refused::Full`] without room, [`Refused::NoSuch`] when the entry has a row or is further behind the
    /// directory.
    pub fn insert(&mut self, slot: u16, flags: u8, lock: u8, extra: u16, body: &[u8]) -> Result<(), Refused> {
        let (slot, slots) = (usize::from(slot), self.slots());
        let new_entry = slot == slots;
        if slot > slots || (!new_entry && get16(self.block, self.entry(slot)) != 0) {
            return Err(Refused::NoSuch);
        }
        let room = ROW_HEADER_BYTES + body.len();
        self.make_room(room, if new_entry { SLOT_BYTES } else { 0 })?;
        if new_entry {
            put16(self.block, AT_SLOTS, slots as u16 + 1);
        } else {
            let left = get16(self.block, AT_FREE_SLOTS).saturating_sub(1);
            put16(self.block, AT_FREE_SLOTS, left);
        }
        let at = self.place(flags, lock, extra, body);
        let entry = self.entry(slot);
        put16(self.block, entry, at as u16);
        Ok(())
    }

    /// Begins to append rows. Each is appended as by [`DataMut::insert`], with the counts of the block kept in
    /// variables.
    pub fn append_rows(&mut self) -> AppendRows<'_> {
        let (slots, rows_begin, free) = (self.slots(), self.rows_begin(), self.free());
        AppendRows { directory: self.entry(0), block: self.block, slots, rows_begin, free }
    }

    /// Puts a row before directory entry `position`, shifting the entries behind up by one: for sorted directories.
    ///
    /// # Errors
    /// [`Refused::Full`] without room, [`Refused::NoSuch`] when `position` lies behind the end.
    pub fn insert_sorted(
        &mut self,
        position: u16,
        flags: u8,
        lock: u8,
        extra: u16,
        body: &[u8],
    ) -> Result<(), Refused> {
        let (position, slots) = (usize::from(position), self.slots());
        if position > slots {
            return Err(Refused::NoSuch);
        }
        self.make_room(ROW_HEADER_BYTES + body.len(), SLOT_BYTES)?;
        let (from, to) = (self.entry(position), self.entry(slots));
        self.block.copy_within(from..to, from + SLOT_BYTES);
        put16(self.block, AT_SLOTS, slots as u16 + 1);
        let at = self.place(flags, lock, extra, body);
        put16(self.block, from, at as u16);
        Ok(())
    }

    /// Puts rows, without flags or locks, into a sorted directory, as [`DataMut::insert_sorted`] would one after the
    /// other, but moves each existing entry once. Positions ascend; `bodies` holds the bodies in order without gaps.
    ///
    /// # Errors
    /// [`Refused::Full`] without room for all of them, [`Refused::NoSuch`] for positions that do not ascend or lie
    /// behind the end; the contents of the block are undefined then.
    pub fn insert_each_sorted(&mut self, rows: &[NewRow], bodies: &[u8]) -> Result<(), Refused> {
        let slots = self.slots();
        self.make_room(rows.len() * ROW_HEADER_BYTES + bodies.len(), rows.len() * SLOT_BYTES)?;
        put16(self.block, AT_SLOTS, (slots + rows.len()) as u16);
        let (mut left, mut behind) = (slots, slots + rows.len());
        for (n, row) in rows.iter().enumerate().rev() {
            let begin = if n == 0 { 0 } else { rows[n - 1].end as usize };
            let body = bodies.get(begin..row.end as usize).ok_or(Refused::NoSuch)?;
            let position = usize::from(row.position);
            let moving = behind.checked_sub(position + 1).filter(|moving| *moving <= left).ok_or(Refused::NoSuch)?;
            left -= moving;
            let (from, to) = (self.entry(left), self.entry(position + 1));
            self.block.copy_within(from..from + moving * SLOT_BYTES, to);
            let at = self.place(0, 0, row.extra, body);
            let entry = self.entry(position);
            put16(self.block, entry, at as u16);
            behind = position;
        }
        if left == behind { Ok(()) } else { Err(Refused::NoSuch) }
    }

    /// Takes a row out of a sorted directory, shifting the entries behind down by one.
    ///
    /// # Errors
    /// [`Refused::NoSuch`] when there is no such row.
    pub fn remove_sorted(&mut self, position: u16) -> Result<(), Refused> {
        let at = self.at(position)?;
        let freed = self.row_bytes(at) + SLOT_BYTES;
        let (entry, end) = (self.entry(position.into()), self.entry(self.slots()));
        self.block.copy_within(entry + SLOT_BYTES..end, entry);
        put16(self.block, AT_SLOTS, self.slots() as u16 - 1);
        self.set_free(self.free() + freed);
        Ok(())
    }

    /// Takes the row out of directory entry `slot`; the entry stays, empty, and may be used again.
    ///
    /// # Errors
    /// [`Refused::NoSuch`] when there is no such row.
    pub fn remove(&mut self, slot: u16) -> Result<(), Refused> {
        let at = self.at(slot)?;
        let (freed, entry) = (self.row_bytes(at), self.entry(slot.into()));
        put16(self.block, entry, 0);
        let free_slots = get16(self.block, AT_FREE_SLOTS) + 1;
        put16(self.block, AT_FREE_SLOTS, free_slots);
        self.set_free(self.free() + freed);
        Ok(())
    }

    /// Gives the row in `slot` another body, in place when it does not grow.
    ///
    /// # Errors
    /// [`Refused::Full`] without room (the row stays as it was), [`Refused::NoSuch`] when there is no such row.
    pub fn replace(&mut self, slot: u16, flags: u8, lock: u8, extra: u16, body: &[u8]) -> Result<(), Refused> {
        let at = self.at(slot)?;
        let old = self.row_bytes(at) - ROW_HEADER_BYTES;
        if body.len() <= old {
            self.write_row(at, flags, lock, extra, body);
            self.set_free(self.free() + (old - body.len()));
            return Ok(());
        }
        if self.free() + old < body.len() {
            return Err(Refused::Full);
        }
        // The old body is given up first, so that compaction can use its bytes.
        let entry = self.entry(slot.into());
        put16(self.block, entry, 0);
        self.set_free(self.free() + old + ROW_HEADER_BYTES);
        self.make_room(ROW_HEADER_BYTES + body.len(), 0)?;
        let at = self.place(flags, lock, extra, body);
        put16(self.block, entry, at as u16);
        Ok(())
    }

    /// Changes a row's flags and lock byte.
    ///
    /// # Errors
    /// [`Refused::NoSuch`] when there is no such row.
    pub fn set_row(&mut self, slot: u16, flags: u8, lock: u8) -> Result<(), Refused> {
        let at = self.at(slot)?;
        self.block[at] = flags;
        self.block[at + 1] = lock;
        Ok(())
    }

    /// Overwrites bytes inside the body of a row, without changing its length.
    ///
    /// # Errors
    /// [`Refused::NoSuch`] when there is no such row or the bytes reach over its end.
    pub fn patch(&mut self, slot: u16, offset: usize, bytes: &[u8]) -> Result<(), Refused> {
        let at = self.at(slot)?;
        if offset + bytes.len() > self.row_bytes(at) - ROW_HEADER_BYTES {
            return Err(Refused::NoSuch);
        }
        let from = at + ROW_HEADER_BYTES + offset;
        self.block[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Begins to overwrite bytes inside many rows, with the place of the directory kept in variables.
    pub fn patches(&mut self) -> Patches<'_> {
        let (directory, slots) = (self.entry(0), self.slots());
        Patches { block: self.block, directory, slots }
    }

    /// Empties the body of a row and sets its flags and lock byte. Returns the previous flags and lock byte, and how
    /// many bytes are free now.
    ///
    /// # Errors
    /// [`Refused::NoSuch`] when there is no such row.
    #[inline]
    pub fn empty_row(&mut self, slot: u16, flags: u8, lock: u8) -> Result<(u8, u8, usize), Refused> {
        let at = self.at(slot)?;
        let freed = self.row_bytes(at) - ROW_HEADER_BYTES;
        let row = self.block.get_mut(at..at + ROW_HEADER_BYTES).ok_or(Refused::NoSuch)?;
        let before = (row[0], row[1], freed);
        row[..4].copy_from_slice(&[flags, lock, 0, 0]);
        self.set_free(self.free() + freed);
        Ok(before)
    }

    /// Removes the lock byte `n` from every row.
    pub fn clear_locks(&mut self, n: u8) {
        let (begin, end) = (self.entry(0), self.entry(self.slots()));
        let (head, rows) = self.block.split_at_mut(end);
        for entry in head[begin..].chunks_exact(SLOT_BYTES) {
            let at = usize::from(u16::from_le_bytes([entry[0], entry[1]]));
            if let Some(lock) = (at + 1).checked_sub(end).and_then(|at| rows.get_mut(at))
                && *lock == n
            {
                *lock = 0;
            }
        }
    }

    /// Changes a row's flags and lock byte and overwrites the last bytes of its body.
    ///
    /// # Errors
    /// [`Refused::NoSuch`] when there is no such row or its body is shorter than `tail`.
    pub fn set_row_and_tail(&mut self, slot: u16, flags: u8, lock: u8, tail: &[u8]) -> Result<(), Refused> {
        let at = self.at(slot)?;
        let end = at + self.row_bytes(at);
        if tail.len() > end - at - ROW_HEADER_BYTES {
            return Err(Refused::NoSuch);
        }
        self.block[at] = flags;
        self.block[at + 1] = lock;
        self.block[end - tail.len()..end].copy_from_slice(tail);
        Ok(())
    }

    /// Drops empty entries at the end of the directory, for a block without active transactions.
    pub fn trim_directory(&mut self) {
        let mut slots = self.slots();
        while slots > 0 && get16(self.block, self.entry(slots - 1)) == 0 {
            slots -= 1;
        }
        let dropped = self.slots() - slots;
        put16(self.block, AT_SLOTS, slots as u16);
        let free_slots = get16(self.block, AT_FREE_SLOTS) - dropped as u16;
        put16(self.block, AT_FREE_SLOTS, free_slots);
        self.set_free(self.free() + dropped * SLOT_BYTES);
    }

    /// See [`Data::aux16`].
    pub fn set_aux16(&mut self, v: u16) {
        put16(self.block, AT_AUX16, v);
    }
    /// See [`Data::aux32`].
    pub fn set_aux32(&mut self, v: u32) {
        put32(self.block, AT_AUX32, v);
    }
    /// See [`Data::aux64`].
    pub fn set_aux64(&mut self, v: u64) {
        put64(self.block, AT_AUX64, v);
    }
    /// See [`Data::next`].
    pub fn set_next(&mut self, at: Rdba) {
        put32(self.block, AT_NEXT, at.0);
    }
    /// See [`Data::prev`].
    pub fn set_prev(&mut self, at: Rdba) {
        put32(self.block, AT_PREV, at.0);
    }
    /// Changes the block's kind (a root leaf becomes a branch).
    pub fn set_kind(&mut self, kind: BlockKind) {
        self.block[header::AT_KIND] = kind as u8;
    }

    /// Moves all rows to the end of the block, so that all free bytes are in the gap. Directory entries keep their
    /// numbers; the rows are stored in the order of the directory.
    pub fn compact(&mut self) {
        let mut rows = Vec::with_capacity(self.block.len());
        let mut to = self.block.len();
        let mut moved = Vec::with_capacity(self.slots());
        for slot in 0..self.slots() {
            let entry = self.entry(slot);
            let at = usize::from(get16(self.block, entry));
            if at != 0 {
                let n = self.row_bytes(at);
                rows.extend_from_slice(&self.block[at..at + n]);
                moved.push((entry, n));
            }
        }
        let mut from = 0;
        for (entry, n) in moved {
            to -= n;
            self.block[to..to + n].copy_from_slice(&rows[from..from + n]);
            from += n;
            put16(self.block, entry, to as u16);
        }
        put16(self.block, AT_ROWS_BEGIN, to as u16);
    }

    fn row_bytes(&self, at: usize) -> usize {
        ROW_HEADER_BYTES + usize::from(get16(self.block, at + 2))
    }

    fn make_room(&mut self, row: usize, entry: usize) -> Result<(), Refused> {
        if self.free() < row + entry {
            return Err(Refused::Full);
        }
        if self.gap() < row + entry {
            self.compact();
        }
        self.set_free(self.free() - row - entry);
        // The caller adds a new directory entry after the row is placed.
        debug_assert!(self.gap() >= row + entry);
        Ok(())
    }

    fn place(&mut self, flags: u8, lock: u8, extra: u16, body: &[u8]) -> usize {
        let at = self.rows_begin() - ROW_HEADER_BYTES - body.len();
        put16(self.block, AT_ROWS_BEGIN, at as u16);
        self.write_row(at, flags, lock, extra, body);
        at
    }

    fn write_row(&mut self, at: usize, flags: u8, lock: u8, extra: u16, body: &[u8]) {
        self.block[at] = flags;
        self.block[at + 1] = lock;
        put16(self.block, at + 2, body.len() as u16);
        put16(self.block, at + 4, extra);
        self.block[at + ROW_HEADER_BYTES..at + ROW_HEADER_BYTES + body.len()].copy_from_slice(body);
    }
}

/// Overwrites bytes inside rows, which keep their lengths.
pub struct Patches<'a> {
    block: &'a mut [u8],
    directory: usize,
    slots: usize,
}

impl Patches<'_> {
    /// Overwrites bytes inside the body of a row and sets its lock byte. Returns the previous lock byte; `None` when
    /// there is no such row or the bytes reach over its end.
    #[inline]
    pub fn patch(&mut self, slot: u16, offset: usize, bytes: &[u8], lock: u8) -> Option<u8> {
        if usize::from(slot) >= self.slots {
            return None;
        }
        let at = usize::from(get16(self.block, self.directory + usize::from(slot) * SLOT_BYTES));
        let row = self.block.get_mut(at..).filter(|row| at > 0 && row.len() >= ROW_HEADER_BYTES)?;
        let end = offset + bytes.len();
        if end > usize::from(u16::from_le_bytes([row[2], row[3]])) {
            return None;
        }
        let to = row.get_mut(ROW_HEADER_BYTES + offset..ROW_HEADER_BYTES + end)?;
        match bytes.len() {
            // A call of `memcpy` takes longer than copying few bytes one by one.
            ..=4 => to.iter_mut().zip(bytes).for_each(|(to, new)| *to = *new),
            _ => to.copy_from_slice(bytes),
        }
        Some(std::mem::replace(&mut row[1], lock))
    }
}

/// Appends rows to a block. The counts of the block are wrong until [`AppendRows::finish`].
pub struct AppendRows<'a> {
    block: &'a mut [u8],
    directory: usize,
    slots: usize,
    rows_begin: usize,
    free: usize,
}

impl AppendRows<'_> {
    /// Appends a row in directory entry `slot`. Returns false and does nothing when `slot` is not the next entry or the
    /// gap is too small.
    #[inline]
    pub fn push(&mut self, slot: u16, flags: u8, lock: u8, extra: u16, body: &[u8]) -> bool {
        let entry = self.directory + self.slots * SLOT_BYTES;
        let bytes = ROW_HEADER_BYTES + body.len();
        let fits = entry + SLOT_BYTES + bytes <= self.rows_begin && bytes + SLOT_BYTES <= self.free;
        if usize::from(slot) != self.slots || !fits {
            return false;
        }
        let at = self.rows_begin - bytes;
        let Some(row) = self.block.get_mut(at..self.rows_begin) else { return false };
        let ([l0, l1], [e0, e1]) = ((body.len() as u16).to_le_bytes(), extra.to_le_bytes());
        row[..ROW_HEADER_BYTES].copy_from_slice(&[flags, lock, l0, l1, e0, e1]);
        row[ROW_HEADER_BYTES..].copy_from_slice(body);
        put16(self.block, entry, at as u16);
        self.slots += 1;
        self.rows_begin = at;
        self.free -= bytes + SLOT_BYTES;
        true
    }

    /// Writes the block's counts.
    pub fn finish(self) {
        put16(self.block, AT_SLOTS, self.slots as u16);
        put16(self.block, AT_ROWS_BEGIN, self.rows_begin as u16);
        put16(self.block, AT_FREE, self.free as u16);
    }
}

/// Makes `block` an empty block with rows and `itls` unused ITL slots.
pub fn format(block: &mut [u8], kind: BlockKind, at: Rdba, obj: ObjectId, map: Rdba, itls: u8) {
    assert!(kind.has_rows(), "{kind:?} has no data layer");
    header::format(block, kind, at, obj, map);
    assert!(takes_itls(block.len(), itls), "too many ITL slots");
    let begin = ITL_BEGIN + usize::from(itls) * ITL_BYTES;
    put16(block, AT_ITLS, itls.into());
    put16(block, AT_ROWS_BEGIN, block.len() as u16);
    put16(block, AT_FREE, (block.len() - begin) as u16);
}

/// True when a block of this size can begin with `itls` ITL slots, which must leave more than half of it for rows.
pub fn takes_itls(block_size: usize, itls: u8) -> bool {
    ITL_BEGIN + usize::from(itls) * ITL_BYTES < block_size / 2
}

/// Bytes for rows and their directory entries in an empty block with `itls` ITL slots.
pub fn capacity(block_size: usize, itls: u8) -> usize {
    block_size - ITL_BEGIN - usize::from(itls) * ITL_BYTES
}

/// True when counts and offsets lie in the block and its rows and free bytes add up to its size, so that no change can
/// write beyond its end. Faster than [`assert_invariants`], which also finds rows that overlap.
pub(crate) fn is_sound(block: &[u8]) -> bool {
    let (itls, slots) = (usize::from(get16(block, AT_ITLS)), usize::from(get16(block, AT_SLOTS)));
    let directory = ITL_BEGIN + itls * ITL_BYTES;
    let (end, rows_begin) = (directory + slots * SLOT_BYTES, usize::from(get16(block, AT_ROWS_BEGIN)));
    if itls > ITL_MAX || end > rows_begin || rows_begin > block.len() {
        return false;
    }
    let (mut rows, mut empty) = (0, 0);
    for entry in block[directory..end].chunks_exact(SLOT_BYTES) {
        let at = usize::from(u16::from_le_bytes([entry[0], entry[1]]));
        if at == 0 {
            empty += 1;
            continue;
        }
        if at < rows_begin || at + ROW_HEADER_BYTES > block.len() || usize::from(block[at + 1]) > itls {
            return false;
        }
        let bytes = ROW_HEADER_BYTES + usize::from(get16(block, at + 2));
        if at + bytes > block.len() {
            return false;
        }
        rows += bytes;
    }
    let adds_up = end + rows + usize::from(get16(block, AT_FREE)) == block.len();
    adds_up && empty == usize::from(get16(block, AT_FREE_SLOTS))
}

/// Checks every rule of the data layer; the error names the broken one.
///
/// # Errors
/// A sentence for the trace file.
pub fn assert_invariants(block: &[u8]) -> Result<(), String> {
    let d = Data::new(BlockView::of_bytes(block));
    let (itls, slots) = (usize::from(d.view.u16(AT_ITLS)), usize::from(d.view.u16(AT_SLOTS)));
    let directory_end = ITL_BEGIN + itls * ITL_BYTES + slots * SLOT_BYTES;
    let rows_begin = usize::from(d.view.u16(AT_ROWS_BEGIN));
    if directory_end > rows_begin || rows_begin > block.len() {
        return Err(format!(
            "directory ends at {directory_end}, rows begin at {rows_begin}, block has {}",
            block.len()
        ));
    }
    let mut used = Vec::new();
    for slot in 0..slots {
        let at = usize::from(d.view.u16(directory_end - (slots - slot) * SLOT_BYTES));
        if at == 0 {
            continue;
        }
        if at < rows_begin || at + ROW_HEADER_BYTES > block.len() {
            return Err(format!("row {slot} at {at} outside {rows_begin}..{}", block.len()));
        }
        let end = at + ROW_HEADER_BYTES + usize::from(get16(block, at + 2));
        if end > block.len() {
            return Err(format!("row {slot} at {at} ends at {end}"));
        }
        if usize::from(block[at + 1]) > itls {
            return Err(format!("row {slot} locked by ITL {} of {itls}", block[at + 1]));
        }
        used.push((at, end, slot));
    }
    used.sort_unstable();
    if let Some(w) = used.windows(2).find(|w| w[0].1 > w[1].0) {
        return Err(format!("rows {} and {} overlap", w[0].2, w[1].2));
    }
    let rows: usize = used.iter().map(|r| r.1 - r.0).sum();
    let free = block.len() - directory_end - rows;
    if free != d.free_bytes() {
        return Err(format!("{free} bytes are free, header says {}", d.free_bytes()));
    }
    if slots - used.len() != d.free_slots() {
        return Err(format!("{} free slots, header says {}", slots - used.len(), d.free_slots()));
    }
    check_shortcut(&d)
}

fn check_shortcut(d: &Data) -> Result<(), String> {
    let all = || (1..=d.itls() as u8).filter_map(|n| d.itl(n)).filter(|itl| !itl.is_unused());
    if let Some(itl) = all().find(|itl| itl.is_committed() && itl.scn > d.max_commit_scn()) {
        return Err(format!("commit SCN {:?} above the highest, {:?}", itl.scn, d.max_commit_scn()));
    }
    let want = if all().all(|itl| itl.is_committed()) { d.max_commit_scn() } else { Scn(u64::MAX) };
    if d.accept_scn() != want {
        return Err(format!("accept SCN {:?}, must be {want:?}", d.accept_scn()));
    }
    Ok(())
}
