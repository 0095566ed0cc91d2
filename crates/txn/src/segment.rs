//! Undo segments: giving blocks to transactions and taking them back.
//!
//! A segment keeps the undo blocks of ended transactions in a queue, oldest first, and a block in which the last
//! transaction left room. A transaction that needs a block gets, in this order: the block with room, when the
//! transaction just begins; the oldest retired block, when it has expired (older than `undo_retention` and than every
//! open snapshot); a new block of the tablespace, which is extended if allowed; an expired block of another segment; a
//! younger block that no open snapshot needs; finally any oldest retired block, the own segment's first. A reader that
//! needs that last one gets ORA-01555 (T5).

use crate::scn_time::UndoEvent;
use crate::session::Chain;
use crate::table::Fate;
use crate::undo::{
    RECORD_ENTRY, RECORDS_MAX, SLOT_ACTIVE, SLOT_BEFORE, SLOT_ENDED, SLOT_PREPARED, SegmentState, SlotBefore,
    encode_format, encode_header, op,
};
use crate::{Transactions, Txn};
use block::undo::{TxSlot, UndoHeaderView, UndoView, record_bytes_max};
use block::{BlockKind, BlockView};
use buffer_cache::{BlockRef, ChangeGroup, GetKind};
use process::Process;
use redo::{ChangeVector, Layer, Rba};
use types::{ObjectId, Ora, Rdba, Result, Scn, Uba, Xid};

/// A block goes back into use at once when at least this part of it is free.
const PARTIAL_FREE_DIVISOR: usize = 4;
const PARTIAL_RECORDS_MAX: u16 = RECORDS_MAX - 32;

fn apply(g: &mut ChangeGroup<'_>, b: BlockRef, op: u8, data: &[u8]) -> Result<()> {
    g.change(b, Layer::Undo, op, data)
}

fn undo_view<'g>(g: &'g ChangeGroup<'_>, b: BlockRef) -> UndoView<'g> {
    UndoView::new(g.block(b))
}

fn state_of(g: &ChangeGroup<'_>, header: BlockRef) -> SegmentState {
    SegmentState::read(&UndoHeaderView::new(g.block(header)))
}

/// The object number of undo blocks, which belong to no object.
pub(crate) const UNDO_OBJECT: ObjectId = ObjectId(0);

/// The age that a retired block must have for reuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    /// Older than the retention time, and than every open snapshot.
    Expired,
    /// Older than every open snapshot.
    Unneeded,
    Any,
}

/// The requirements of a transaction for its next undo block.
#[derive(Clone, Copy)]
pub(crate) struct BlockWanted {
    records: usize,
    bytes: usize,
    /// The tablespace is full: take the oldest retired block of this segment, if it has that age.
    retired: Option<(u16, Age)>,
}

impl BlockWanted {
    /// Whether an undo block has room beside the record of the slot's previous owner.
    fn fits_first(&self, v: &UndoView<'_>) -> bool {
        let (records, bytes) = (self.records + 1, self.bytes + SLOT_BEFORE);
        v.free_bytes() >= bytes + records * RECORD_ENTRY
            && usize::from(v.records()) + records <= usize::from(RECORDS_MAX)
    }
}

/// The number of the next use of a block: above all of the segment, and above `last`, the block's last use, which may
/// have been in another segment. So no record is ever found at the place of another one.
fn next_seq(state: &mut SegmentState, last: Option<u32>) -> u32 {
    if let Some(last) = last.filter(|last| (last.wrapping_sub(state.seq) as i32) > 0) {
        state.seq = last;
    }
    state.seq = state.seq.wrapping_add(1);
    state.seq
}

/// The block to change next; `None` when there is none, or it is damaged: later transactions do without a damaged
/// block.
fn readable(g: &mut ChangeGroup<'_>, at: Rdba) -> Result<Option<BlockRef>> {
    if at.is_none() {
        return Ok(None);
    }
    match g.current(at) {
        Ok(b) => Ok(Some(b)),
        Err(e) if e.is(1578) => Ok(None),
        Err(e) => Err(e),
    }
}

impl Transactions {
    /// Ensures that `records` more undo records of `bytes` together fit into the transaction's newest undo block.
    pub(crate) fn make_undo_room(&self, p: &Process, t: &mut Txn, records: usize, bytes: usize) -> Result<()> {
        if t.chain.fits(records, bytes) {
            return Ok(());
        }
        if bytes + records * RECORD_ENTRY > record_bytes_max(self.block_size()) || records > usize::from(RECORDS_MAX) {
            return Err(Ora::internal(format_args!("{records} undo records of {bytes} bytes in one change")));
        }
        let xid = t.xid.ok_or_else(|| Ora::internal("undo without a transaction"))?;
        // The record of the slot's previous owner takes room in the first block, so the largest record may need another
        // one.
        while !t.chain.fits(records, bytes) {
            let (ask, chain) = (BlockWanted { records, bytes, retired: None }, t.chain);
            let scn = || self.current_scn();
            let taken = self.cache().in_group(p, &scn, &mut |g| self.take_undo_block(g, xid, &chain, &ask));
            self.times().count(UndoEvent::Taken);
            t.chain = match taken {
                Err(e) if e.is(30036) => self.take_retired_block(p, xid, &chain, ask, e)?,
                taken => taken?.ok_or_else(|| Ora::internal("no undo block"))?,
            };
        }
        Ok(())
    }

    /// The requirements for a transaction's first undo block, which is then taken in the group of the first change.
    /// `None` for a change whose undo might not fit into the block beside the record of the slot's previous owner.
    pub(crate) fn first_block_for(&self, records: usize, bytes: usize) -> Option<BlockWanted> {
        let (most, first) = (record_bytes_max(self.block_size()), SLOT_BEFORE + RECORD_ENTRY);
        let fits = bytes + records * RECORD_ENTRY + first <= most && records < usize::from(RECORDS_MAX);
        fits.then_some(BlockWanted { records, bytes, retired: None })
    }

    /// For a full tablespace: takes a retired block: an expired one of another segment, one that no snapshot needs,
    /// finally any oldest one, whose snapshots get ORA-01555. Only expired ones where retention is guaranteed.
    ///
    /// Errors: `full` when there is none.
    fn take_retired_block(&self, p: &Process, xid: Xid, chain: &Chain, ask: BlockWanted, full: Ora) -> Result<Chain> {
        let group = self.table().group_of(xid.usn);
        let guarantees = self.table().group(group).is_some_and(|g| g.guarantees);
        let all = |age: Age| {
            let others = self.table().usns(group).filter(|usn| *usn != xid.usn);
            std::iter::once(xid.usn).chain(others).map(move |usn| (usn, age))
        };
        let ages = if guarantees { &[Age::Expired][..] } else { &[Age::Expired, Age::Unneeded, Age::Any] };
        for retired in ages.iter().flat_map(|age| all(*age)) {
            let ask = BlockWanted { retired: Some(retired), ..ask };
            let taken =
                self.cache().in_group(p, &|| self.current_scn(), &mut |g| self.take_undo_block(g, xid, chain, &ask))?;
            if let Some(chain) = taken {
                let expired = ask.retired.is_some_and(|(_, age)| age == Age::Expired);
                self.times().count(if expired { UndoEvent::StolenExpired } else { UndoEvent::StolenUnexpired });
                return Ok(chain);
            }
        }
        self.times().count(UndoEvent::NoSpace);
        Err(full)
    }

    /// Takes the oldest retired block from another segment's queue, if it has one of that age. The block stays in its
    /// space map; it will retire to the segment that uses it.
    fn take_from_other(&self, g: &mut ChangeGroup<'_>, usn: u16, age: Age) -> Result<Option<BlockRef>> {
        let header = g.current(self.table().get_header(usn))?;
        let mut state = state_of(g, header);
        let head = state.head;
        let Some(b) = readable(g, head)? else { return Ok(None) };
        if !self.may_reuse(g, usn, b, age) {
            return Ok(None);
        }
        self.pop_retired(g, b, &mut state);
        let unchanged =
            UndoHeaderView::new(g.block(header)).tx(0).ok_or_else(|| Ora::internal("no transaction slot"))?;
        apply(g, header, op::HEADER, &encode_header(0, &unchanged, &state))?;
        Ok(Some(b))
    }

    /// Adds one more undo block to the transaction's slot. `None` when there is none as required.
    pub(crate) fn take_undo_block(
        &self,
        g: &mut ChangeGroup<'_>,
        xid: Xid,
        chain: &Chain,
        ask: &BlockWanted,
    ) -> Result<Option<Chain>> {
        let header = g.current(self.table().get_header(xid.usn))?;
        let mut state = state_of(g, header);
        let is_first = chain.last.is_none();
        let mut record = Vec::new();
        if is_first {
            let slot = UndoHeaderView::new(g.block(header)).tx(xid.slot);
            SlotBefore::of(xid, &slot.ok_or_else(|| Ora::internal("no transaction slot"))?).append_to(&mut record);
        }
        let partial = if is_first { self.partial_with_room(g, &mut state, ask)? } else { None };
        let b = if let Some(b) = partial {
            state.partial = Rdba::NONE;
            let mut data = xid.to_bits().to_le_bytes().to_vec();
            data.extend_from_slice(&record);
            apply(g, b, op::REOPEN, &data)?;
            b
        } else if let Some(b) = self.take_from_queue(g, xid.usn, &mut state, ask)? {
            let (v, last) = (g.block(b), undo_view(g, b).seq());
            let (object, map) = (v.obj(), v.map());
            let seq = next_seq(&mut state, Some(last));
            let mut data = encode_format(b.rdba(), object, map, xid, seq, chain.last);
            data.extend_from_slice(&record);
            apply(g, b, op::FORMAT, &data)?;
            b
        } else if ask.retired.is_some() {
            return Ok(None);
        } else {
            let (at, map) = self.space().allocate(g, self.table().segment(xid.usn))?;
            let mut data = encode_format(at, UNDO_OBJECT, map, xid, next_seq(&mut state, None), chain.last);
            data.extend_from_slice(&record);
            g.format_with(ChangeVector { rdba: at, layer: Layer::Undo, op: op::FORMAT, data: &data })?
        };
        let next = extended(chain, b.rdba(), &undo_view(g, b));
        let tx = TxSlot {
            state: SLOT_ACTIVE,
            sqn: xid.sqn,
            scn: Scn::ZERO,
            last: next.last,
            blocks: next.blocks,
            before: next.slot_before,
        };
        apply(g, header, op::HEADER, &encode_header(xid.slot, &tx, &state))?;
        Ok(Some(next))
    }

    /// The block in which the last ended transaction left room, when there is one with enough room.
    fn partial_with_room(
        &self,
        g: &mut ChangeGroup<'_>,
        state: &mut SegmentState,
        ask: &BlockWanted,
    ) -> Result<Option<BlockRef>> {
        let Some(b) = readable(g, state.partial)? else {
            state.partial = Rdba::NONE;
            return Ok(None);
        };
        Ok(ask.fits_first(&undo_view(g, b)).then_some(b))
    }

    /// A retired block from the queue that `ask` names: by default the oldest of the own queue, when it has expired.
    fn take_from_queue(
        &self,
        g: &mut ChangeGroup<'_>,
        usn: u16,
        state: &mut SegmentState,
        ask: &BlockWanted,
    ) -> Result<Option<BlockRef>> {
        let age = match ask.retired {
            Some((other, age)) if other != usn => return self.take_from_other(g, other, age),
            Some((_, age)) => age,
            None => Age::Expired,
        };
        let Some(b) = readable(g, state.head)? else {
            // A damaged block has no usable link: the segment abandons the rest of its queue.
            (state.head, state.tail) = (Rdba::NONE, Rdba::NONE);
            self.table().clear_marks(usn);
            return Ok(None);
        };
        if !self.may_reuse(g, usn, b, age) {
            return Ok(None);
        }
        self.pop_retired(g, b, state);
        Ok(Some(b))
    }

    /// Whether the oldest retired block of a segment has that age.
    fn may_reuse(&self, g: &ChangeGroup<'_>, usn: u16, b: BlockRef, age: Age) -> bool {
        if age == Age::Any {
            return true;
        }
        let retained = if age == Age::Expired { self.times().retained() } else { Scn::MAX };
        let fate = self.table().fate(undo_view(g, b).xid());
        let is_older_than = |keep: Scn| match fate {
            Fate::Committed(scn) => scn <= keep,
            Fate::Before(scn) => scn <= keep || self.is_retired_by(g, usn, keep),
            Fate::Active | Fate::Unsettled => false,
        };
        // As a rule the retention is longer than any snapshot is open, and the bound suffices.
        let bound = self.table().oldest_bound();
        is_older_than(bound.min(retained))
            || (bound < retained && is_older_than(self.table().oldest_snapshot().min(retained)))
    }

    /// Whether the oldest retired block of a segment was retired at or below an SCN, by the marks of the queue: a
    /// marked block that is still in the queue implies it for all before it. The transaction's slot has only a bound
    /// once it has been reused, and that bound is never old while transactions come and go.
    fn is_retired_by(&self, g: &ChangeGroup<'_>, usn: u16, scn: Scn) -> bool {
        let Some((at, seq)) = self.table().retired_by(usn, scn) else { return false };
        let is_there = g.peek(at, &mut |v: &BlockView<'_>| {
            let u = UndoView::new(*v);
            v.kind() == Some(BlockKind::Undo) && u.seq() == seq && u.xid().usn == usn
        });
        is_there.unwrap_or(false)
    }

    /// The distance of a queue's marks in SCNs: they reach over twice the retention time.
    fn marks_apart(&self) -> u64 {
        let kept = self.current_scn().0.saturating_sub(self.times().retained().0);
        (kept / 16).max(16)
    }

    fn pop_retired(&self, g: &ChangeGroup<'_>, b: BlockRef, state: &mut SegmentState) {
        if state.head == state.tail {
            (state.head, state.tail) = (Rdba::NONE, Rdba::NONE);
        } else {
            state.head = undo_view(g, b).prev();
        }
    }

    /// Ends a transaction in its undo header and returns its undo blocks to the segment. `also` makes further changes
    /// in the same group.
    pub(crate) fn end_in_header(
        &self,
        p: &Process,
        xid: Xid,
        chain: &Chain,
        scn: Scn,
        also: &mut dyn FnMut(&mut ChangeGroup<'_>) -> Result<()>,
    ) -> Result<Rba> {
        if chain.last.is_none() {
            return Ok(Rba(0));
        }
        let (has_retired, end) = self.cache().in_logged_group(p, &|| scn, &mut |g| {
            let has_retired = self.end_slot(g, xid, chain, scn)?;
            also(g)?;
            Ok(has_retired)
        })?;
        self.table().note_written(xid.usn, chain.bytes);
        if has_retired {
            // The first block becomes the last in the queue.
            let Uba { rdba, seq, .. } = chain.slot_before;
            self.table().mark_retired(xid.usn, rdba, seq, self.marks_apart());
        }
        Ok(end)
    }

    /// Whether the undo header says that the transaction has ended. Only for a slot that was not reused since.
    pub(crate) fn has_ended_in_header(&self, p: &Process, xid: Xid) -> Result<bool> {
        let header = self.table().header(xid.usn);
        let slot = self
            .cache()
            .read(p, header, GetKind::Examination, &mut |v: &BlockView<'_>| UndoHeaderView::new(*v).tx(xid.slot))?;
        Ok(slot.is_some_and(|s| s.state == SLOT_ENDED && s.sqn == xid.sqn))
    }

    /// Whether the undo header says that the transaction is prepared.
    pub(crate) fn is_prepared_in_header(&self, p: &Process, xid: Xid) -> Result<bool> {
        let header = self.table().header(xid.usn);
        let slot = self
            .cache()
            .read(p, header, GetKind::Examination, &mut |v: &BlockView<'_>| UndoHeaderView::new(*v).tx(xid.slot))?;
        Ok(slot.is_some_and(|s| s.state == SLOT_PREPARED && s.sqn == xid.sqn))
    }

    /// Marks the transaction as prepared in the undo header, and writes a record that no rollback reads to its newest
    /// undo block, as one group. Returns the end of its redo, and the chain with that block as it is now. The caller
    /// has made room.
    pub(crate) fn prepare_in_header(
        &self,
        p: &Process,
        xid: Xid,
        chain: &Chain,
        record: &[u8],
    ) -> Result<(Chain, Rba)> {
        self.cache().in_logged_group(p, &|| self.current_scn(), &mut |g| {
            let header = g.current(self.table().get_header(xid.usn))?;
            let chain = note_in_block(g, chain, record)?;
            self.set_slot_state(g, header, xid, SLOT_PREPARED)?;
            Ok(chain)
        })
    }

    /// Clears the prepared mark in the undo header before a rollback. Returns the end of its redo.
    pub(crate) fn unprepare_in_header(&self, p: &Process, xid: Xid) -> Result<Rba> {
        let ((), end) = self.cache().in_logged_group(p, &|| self.current_scn(), &mut |g| {
            let header = g.current(self.table().get_header(xid.usn))?;
            self.set_slot_state(g, header, xid, SLOT_ACTIVE)
        })?;
        Ok(end)
    }

    fn set_slot_state(&self, g: &mut ChangeGroup<'_>, header: BlockRef, xid: Xid, to: u8) -> Result<()> {
        let slot = UndoHeaderView::new(g.block(header)).tx(xid.slot).filter(|s| s.sqn == xid.sqn);
        let slot = slot.ok_or_else(|| Ora::internal("no transaction slot"))?;
        let state = state_of(g, header);
        apply(g, header, op::HEADER, &encode_header(xid.slot, &TxSlot { state: to, ..slot }, &state))
    }

    /// Adds a record that no rollback reads to the newest undo block; returns the chain with that block as it is now.
    /// The caller has made room.
    pub(crate) fn append_note(&self, p: &Process, chain: &Chain, record: &[u8]) -> Result<Chain> {
        self.cache().in_group(p, &|| self.current_scn(), &mut |g| note_in_block(g, chain, record))
    }

    /// The newest `n` records of a transaction of any kind, the newest first; fewer when it has no more.
    pub(crate) fn last_records(&self, p: &Process, chain: &Chain, n: usize) -> Result<Vec<Vec<u8>>> {
        let (mut found, mut at) = (Vec::new(), chain.last);
        while found.len() < n && !at.is_none() {
            let before = found.len();
            at = self.cache().read(p, at, GetKind::Examination, &mut |v: &BlockView<'_>| {
                found.truncate(before);
                let u = UndoView::new(*v);
                for rec in (0..u.records()).rev().take(n - before) {
                    let mut bytes = Vec::new();
                    if let Some((at, len)) = u.record(rec) {
                        v.append_to(at, len, &mut bytes);
                    }
                    found.push(bytes);
                }
                u.prev()
            })?;
        }
        Ok(found)
    }

    /// True when blocks of the transaction were added to the queue.
    fn end_slot(&self, g: &mut ChangeGroup<'_>, xid: Xid, chain: &Chain, scn: Scn) -> Result<bool> {
        let header = g.current(self.table().get_header(xid.usn))?;
        let mut state = state_of(g, header);
        let keep_last = state.partial.is_none()
            && chain.free_bytes >= self.block_size() / PARTIAL_FREE_DIVISOR
            && chain.block_records <= PARTIAL_RECORDS_MAX;
        let mut retire = Some(chain.last);
        if keep_last {
            state.partial = chain.last;
            retire = (chain.first != chain.last).then_some(chain.before_last);
        }
        if let Some(newest) = retire {
            match readable(g, state.tail)? {
                Some(tail) => apply(g, tail, op::LINK, &newest.0.to_le_bytes())?,
                None => {
                    self.table().clear_marks(xid.usn);
                    state.head = newest;
                }
            }
            state.tail = chain.first;
        }
        let (last, blocks, before) = (Rdba::NONE, chain.blocks, chain.slot_before);
        let tx = TxSlot { state: SLOT_ENDED, sqn: xid.sqn, scn, last, blocks, before };
        apply(g, header, op::HEADER, &encode_header(xid.slot, &tx, &state))?;
        Ok(retire.is_some())
    }

    /// The chain of a transaction whose process is gone, from its undo header and blocks. `None` when it wrote nothing.
    pub(crate) fn chain_on_disk(&self, p: &Process, xid: Xid) -> Result<Option<Chain>> {
        let slot =
            self.cache().read(p, self.table().header(xid.usn), GetKind::Examination, &mut |v: &BlockView<'_>| {
                UndoHeaderView::new(*v).tx(xid.slot)
            })?;
        let is_open = |state| state == SLOT_ACTIVE || state == SLOT_PREPARED;
        let Some(slot) = slot.filter(|s| is_open(s.state) && s.sqn == xid.sqn) else { return Ok(None) };
        let mut chain = Chain { last: slot.last, blocks: slot.blocks, slot_before: slot.before, ..Chain::default() };
        let mut at = chain.last;
        for n in 0.. {
            let (seq, owner, prev, newest, records, free) = self.undo_block_state(p, at)?;
            if owner != xid {
                return Err(Ora::internal(format_args!("undo block {at} of {xid} belongs to {owner}")));
            }
            if n == 0 {
                (chain.seq, chain.block_records, chain.free_bytes) = (seq, records, free);
                chain.before_last = prev;
            }
            if chain.newest.is_none() && newest > 0 {
                chain.newest = Uba { rdba: at, seq, rec: (newest - 1) as u8 };
            }
            chain.first = at;
            if prev.is_none() {
                break;
            }
            at = prev;
        }
        Ok(Some(chain))
    }

    fn undo_block_state(&self, p: &Process, at: Rdba) -> Result<(u32, Xid, Rdba, u32, u16, usize)> {
        self.cache().read(p, at, GetKind::Examination, &mut |v: &BlockView<'_>| {
            let u = UndoView::new(*v);
            (u.seq(), u.xid(), u.prev(), u.aux32(), u16::from(u.records()), u.free_bytes())
        })
    }
}

fn note_in_block(g: &mut ChangeGroup<'_>, chain: &Chain, record: &[u8]) -> Result<Chain> {
    let b = g.current(chain.last)?;
    let newest = undo_view(g, b).aux32();
    apply(g, b, op::APPEND, record)?;
    apply(g, b, op::RETIRE_RECORD, &newest.to_le_bytes())?;
    let v = undo_view(g, b);
    Ok(Chain { block_records: u16::from(v.records()), free_bytes: v.free_bytes(), ..*chain })
}

/// `chain` with undo block `at` as its newest.
fn extended(chain: &Chain, at: Rdba, v: &UndoView<'_>) -> Chain {
    let is_first = chain.last.is_none();
    let newest = || Uba { rdba: at, seq: v.seq(), rec: v.records().saturating_sub(1) };
    Chain {
        first: if is_first { at } else { chain.first },
        slot_before: if is_first { newest() } else { chain.slot_before },
        last: at,
        before_last: chain.last,
        seq: v.seq(),
        block_records: u16::from(v.records()),
        free_bytes: v.free_bytes(),
        blocks: chain.blocks + 1,
        ..*chain
    }
}
