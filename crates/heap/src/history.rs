//! Versions of rows between two moments: VERSIONS BETWEEN, and ORA_ROWSCN.
//!
//! A change of any piece locks the row's head first (H2), so the older images of the head's block show every change of
//! the row. Pieces in other blocks are read as of just before and just after a change.

use crate::fetch::{ADDRESS_BYTES, PieceAddress};
use crate::ops::{self, flags};
use crate::{Heap, HeapTable};
use block::{BlockKind, BlockView, Data, Extent};
use buffer_cache::GetKind;
use process::Process;
use redo::Layer;
use std::collections::{BTreeMap, BTreeSet};
use txn::{Commit, HistoryVisitor, Snapshot, UndoRecord};
use types::{ObjectId, Ora, Rdba, Result, Rowid, Scn, Xid};

/// The operation that made a version of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Insert,
    Update,
    Delete,
}

/// A version of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub rowid: Rowid,
    /// `types::row` bytes; for a delete, those of the deleted row.
    pub row: Vec<u8>,
    /// The transaction that made the version; `None` when it was made before the earlier moment.
    pub made: Option<(Scn, Xid, Operation)>,
    /// The SCN at which the version was replaced.
    pub end: Option<Scn>,
}

/// The moments of a versions query.
#[derive(Debug, Clone, Copy)]
pub struct Between {
    pub low: Scn,
    pub high: Scn,
    /// Versions whose undo is gone are left out; otherwise they raise ORA-01555.
    pub as_far_as_undo: bool,
}

/// A scan of all versions of all rows. Holds nothing in the SGA between calls.
#[derive(Default)]
pub struct VersionScan {
    table: Option<(HeapTable, Between)>,
    extents: Vec<Extent>,
    next_extent: usize,
    blocks: Vec<Rdba>,
    /// Versions of one block's rows, in reverse order of output.
    found: Vec<Version>,
}

impl VersionScan {
    /// A scan that was not started yet: it has no rows.
    pub fn new() -> VersionScan {
        VersionScan::default()
    }

    /// Starts (again) from the first block.
    ///
    /// # Errors
    /// ORA-08103 when the segment is gone or was truncated.
    pub fn start(&mut self, heap: &Heap, p: &Process, table: &HeapTable, between: Between) -> Result<()> {
        self.extents = heap.space().extents_of(p, table.header, table.data_object)?;
        (self.table, self.next_extent) = (Some((*table, between)), 0);
        self.blocks.clear();
        self.found.clear();
        Ok(())
    }

    /// The next version: block by block, a row's newest first. `None` at the end.
    ///
    /// # Errors
    /// ORA-01555, and those of reading.
    pub fn next(&mut self, heap: &Heap, p: &Process) -> Result<Option<Version>> {
        let Some((table, between)) = self.table else { return Ok(None) };
        loop {
            if let Some(version) = self.found.pop() {
                return Ok(Some(version));
            }
            p.check_cancel()?;
            match self.blocks.pop() {
                Some(at) => {
                    self.found = heap.versions_in(p, &table, at, between)?;
                    self.found.reverse();
                }
                None => {
                    let Some(extent) = self.extents.get(self.next_extent) else { return Ok(None) };
                    let n = self.next_extent as u32;
                    self.next_extent += 1;
                    heap.space().formatted_blocks(p, table.data_object, *extent, n, &mut self.blocks)?;
                    self.blocks.reverse();
                }
            }
        }
    }
}

/// A snapshot of a moment that is not registered as an open snapshot.
fn as_of(scn: Scn) -> Snapshot {
    Snapshot { scn, xid: None, own: None, serializable: false }
}

impl Heap {
    /// The versions of the rows of one block.
    fn versions_in(&self, p: &Process, table: &HeapTable, at: Rdba, between: Between) -> Result<Vec<Version>> {
        let here = self.cache().read(p, at, GetKind::Consistent, &mut |v| (v.kind(), v.obj()))?;
        if here != (Some(BlockKind::Heap), table.data_object) {
            return if here.1 == table.data_object { Ok(Vec::new()) } else { Err(Ora::new(8103)) };
        }
        let mut past = Past { heap: self, p, obj: table.data_object, at, between, ..Past::new(self, p) };
        match self.transactions().history(p, at, &as_of(between.high), between.low, &mut past) {
            Err(e) if e.is(1555) && between.as_far_as_undo && past.begun => {}
            done => done?,
        }
        Ok(past.end())
    }

    /// ORA_ROWSCN of a row; `None` when the snapshot's own transaction has changed it, or there is none.
    ///
    /// # Errors
    /// ORA-01555, and those of reading.
    pub fn row_scn(&self, p: &Process, s: &Snapshot, rowid: Rowid) -> Result<Option<Scn>> {
        let txns = self.transactions();
        txns.consistent_read(p, rowid.rdba, GetKind::Examination, s, &mut |view| {
            let row = Data::new(*view).row(rowid.slot.into())?;
            txns.row_scn(view, s, row.lock)
        })
    }
}

/// A row of an image.
#[derive(Clone, PartialEq, Eq)]
struct Row {
    bytes: Vec<u8>,
    /// The row continues in other blocks; `bytes` holds the bytes of all pieces.
    chained: bool,
}

struct Past<'a> {
    heap: &'a Heap,
    p: &'a Process,
    obj: ObjectId,
    at: Rdba,
    between: Between,
    /// `present` was called.
    begun: bool,
    /// An undo record was met whose rows cannot be determined.
    unknown: bool,
    /// The rows of the last image.
    rows: BTreeMap<u16, Row>,
    /// Directory entries that the transaction being reversed has changed.
    changed: BTreeSet<u16>,
    locked: BTreeSet<u16>,
    /// When the version in `rows` came to its end.
    ends: BTreeMap<u16, Scn>,
    /// Rows whose version in `rows` is before the earlier moment.
    outside: BTreeSet<u16>,
    found: Vec<(u16, Version)>,
}

impl<'a> Past<'a> {
    fn new(heap: &'a Heap, p: &'a Process) -> Past<'a> {
        Past {
            heap,
            p,
            obj: ObjectId(0),
            at: Rdba::NONE,
            between: Between { low: Scn::ZERO, high: Scn::ZERO, as_far_as_undo: false },
            begun: false,
            unknown: false,
            rows: BTreeMap::new(),
            changed: BTreeSet::new(),
            locked: BTreeSet::new(),
            ends: BTreeMap::new(),
            outside: BTreeSet::new(),
            found: Vec::new(),
        }
    }

    /// All rows that begin in an image, which is the block as of `scn`. A row of several pieces needs the exact SCN.
    fn rows_of(&self, view: &BlockView<'_>, scn: Option<Scn>) -> Result<BTreeMap<u16, Row>> {
        let d = Data::new(*view);
        let mut rows = BTreeMap::new();
        for slot in 0..d.slots() {
            let Some(r) = d.row(slot) else { continue };
            if r.flags & flags::HEAD == 0 || r.flags & flags::DELETED != 0 {
                continue;
            }
            let mut bytes = Vec::new();
            let chained = r.flags & flags::LAST == 0;
            if chained {
                let Some(len) = r.len.checked_sub(ADDRESS_BYTES) else { continue };
                view.append_to(r.at + ADDRESS_BYTES, len, &mut bytes);
                let scn = scn.ok_or_else(|| Ora::with(1555, &[&"", &""]))?;
                let next = PieceAddress::read(view, r.at);
                self.heap.read_rest(self.p, &as_of(scn), self.obj, next, &mut bytes)?;
            } else {
                view.append_to(r.at, r.len, &mut bytes);
            }
            rows.insert(slot as u16, Row { bytes, chained });
        }
        Ok(rows)
    }

    fn put(&mut self, slot: u16, row: &Row, made: Option<(Scn, Xid, Operation)>) {
        let rowid = Rowid { obj: self.obj, rdba: self.at, slot };
        let end = self.ends.get(&slot).copied().filter(|_| !matches!(made, Some((_, _, Operation::Delete))));
        self.found.push((slot, Version { rowid, row: row.bytes.clone(), made, end }));
    }

    /// The versions, a row's newest first.
    fn end(mut self) -> Vec<Version> {
        let rows = std::mem::take(&mut self.rows);
        for (slot, row) in &rows {
            if !self.outside.contains(slot) {
                self.put(*slot, row, None);
            }
        }
        // Stable: within a row the order found is from the newest on.
        self.found.sort_by_key(|(slot, _)| *slot);
        self.found.into_iter().map(|(_, version)| version).collect()
    }
}

impl HistoryVisitor for Past<'_> {
    fn present(&mut self, view: &BlockView<'_>) -> Result<()> {
        self.rows = self.rows_of(view, Some(self.between.high))?;
        self.begun = true;
        Ok(())
    }

    fn change(&mut self, record: &UndoRecord<'_>) {
        if record.layer == Layer::Heap {
            let known = ops::slots(record.op, record.data, &mut |slot, whole| {
                self.locked.insert(slot);
                if whole {
                    self.changed.insert(slot);
                }
            });
            self.unknown |= !known;
        }
    }

    fn before(&mut self, commit: &Commit, view: &BlockView<'_>) -> Result<()> {
        if self.unknown {
            return Err(Ora::internal("undo of a row by an operation that it does not have"));
        }
        let just_before = commit.exact.then(|| Scn(commit.scn.0.saturating_sub(1)));
        let older = self.rows_of(view, just_before)?;
        let newer = std::mem::replace(&mut self.rows, older);
        for slot in std::mem::take(&mut self.locked) {
            let (before, after) = (self.rows.get(&slot).cloned(), newer.get(&slot));
            let in_place = self.changed.contains(&slot);
            let operation = match (&before, after) {
                (None, None) => continue,
                (None, Some(_)) => Operation::Insert,
                (Some(_), None) => Operation::Delete,
                // A row of several pieces may have been changed elsewhere, or only locked.
                (Some(b), Some(a)) if b == a && (!in_place || a.chained) => continue,
                (Some(_), Some(_)) => Operation::Update,
            };
            let made = Some((commit.scn, commit.xid, operation));
            if let Some(row) = after.or(before.as_ref()) {
                self.put(slot, row, made);
            }
            self.ends.insert(slot, commit.scn);
            if operation == Operation::Insert {
                self.ends.remove(&slot);
            }
            if commit.scn <= self.between.low {
                self.outside.insert(slot);
            }
        }
        self.changed.clear();
        Ok(())
    }
}
