//! Global temporary tables, whose rows belong to one session (E12).
//!
//! In the dictionary a temporary table has no segment. A session creates segments for the table and its indexes in
//! temporary space when it first compiles a statement over the table. They are dropped with the session or with the
//! table. Their blocks go through the buffer cache and are changed with undo, so that statements and savepoints roll
//! back and queries are read-consistent. No redo is written for them: after a crash of the session they are dropped
//! whole.
//!
//! ON COMMIT DELETE ROWS empties the segments at the end of a transaction that has changed them. The segments stay in
//! place, so that compiled statements remain valid for the next transaction. A counter tells an open cursor that the
//! rows it was reading are gone.
//!
//! From its first change until its rows are gone, a session holds the TO enqueue of the table in share mode: the
//! definition of a table does not change while a session has rows in it (ORA-14452).

use crate::shared::Shared;
use buffer_cache::GetKind;
use dictionary::{IndexDef, TableDef, TemporaryKind};
use enqueue::{EnqueueType, LockId, LockMode, Timeout};
use process::Process;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use types::{ObjectId, Ora, Rdba, Result, Xid};

/// A session's own segments of temporary tables.
#[derive(Default)]
pub struct Temporaries {
    inner: RefCell<Inner>,
}

#[derive(Default)]
struct Inner {
    tables: HashMap<ObjectId, Bound>,
    /// Number of segments created so far; the number of a segment is derived from it.
    made: u32,
    /// Counts the droppings of segments that a cursor may have been compiled over.
    version: u64,
    /// Branches of global transactions that the session has detached from after changing rows here.
    left: Vec<Left>,
}

/// Changes that a session has left in a detached branch, in tables that preserve rows.
#[derive(Debug)]
struct Left {
    xid: Xid,
    /// Number of transactions that other sessions had rolled back in this way before.
    since: u64,
    tables: Vec<LeftRows>,
}

#[derive(Debug)]
struct LeftRows {
    table: ObjectId,
    purged: u64,
    /// Whether the rows were not removed between two periods in which the session worked in the branch.
    whole: bool,
}

/// A session's segments of one table.
#[derive(Debug)]
struct Bound {
    kind: TemporaryKind,
    heap: Segment,
    indexes: HashMap<ObjectId, Segment>,
    /// The TO enqueue, from the first change on until the rows are gone.
    lock: Option<LockId>,
    /// Number of suspended transactions when the transaction began that has rows here.
    depth: usize,
    /// Counts how often the rows were removed.
    purged: u64,
}

/// The rows or index entries of one session.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub header: Rdba,
    pub data_object: ObjectId,
}

/// First number of the data objects of temporary segments; no other segment has numbers from here on.
const FIRST_NUMBER: u32 = 0x8000_0000;

impl Inner {
    /// A number that no other segment of any session has at this time.
    fn number(&mut self, p: &Process) -> ObjectId {
        loop {
            self.made = self.made.wrapping_add(1);
            let number = ObjectId(FIRST_NUMBER | (p.number() & 0x7FFF) << 16 | (self.made & 0xFFFF));
            let has =
                |b: &Bound| b.heap.data_object == number || b.indexes.values().any(|index| index.data_object == number);
            if !self.tables.values().any(has) {
                return number;
            }
        }
    }
}

impl Temporaries {
    /// This session's segment of a table; created if missing.
    ///
    /// # Errors
    /// ORA-01652 without space.
    pub fn heap(&self, p: &Process, shared: &Shared, tablespace: u32, table: &TableDef) -> Result<Segment> {
        let inner = &mut *self.inner.borrow_mut();
        if let Some(bound) = inner.tables.get(&table.object) {
            return Ok(bound.heap);
        }
        let data_object = inner.number(p);
        let space = shared.txns.space();
        let scn = || shared.txns.current_scn();
        let tablespace = usable(shared, tablespace);
        let header = space.create_segment(p, tablespace, block::SegmentKind::Table, data_object, &scn)?;
        let heap = Segment { header, data_object };
        let kind = table.temporary.unwrap_or(TemporaryKind::DeleteRows);
        let bound = Bound { kind, heap, indexes: HashMap::new(), lock: None, depth: 0, purged: 0 };
        inner.tables.insert(table.object, bound);
        Ok(heap)
    }

    /// This session's segment of an index; created if missing. The table is empty then, because an index is created
    /// only while no session has rows.
    ///
    /// # Errors
    /// ORA-01652 without space.
    pub fn index(
        &self,
        p: &Process,
        shared: &Shared,
        tablespace: u32,
        table: &TableDef,
        index: &IndexDef,
    ) -> Result<(Segment, Segment)> {
        let heap = self.heap(p, shared, tablespace, table)?;
        let inner = &mut *self.inner.borrow_mut();
        if let Some(have) = inner.tables.get(&table.object).and_then(|bound| bound.indexes.get(&index.object)) {
            return Ok((heap, *have));
        }
        let data_object = inner.number(p);
        let header = shared.btree.create(p, usable(shared, tablespace), data_object)?;
        let segment = Segment { header, data_object };
        let bound =
            inner.tables.get_mut(&table.object).ok_or_else(|| Ora::internal("temporary table without segments"))?;
        bound.indexes.insert(index.object, segment);
        Ok((heap, segment))
    }

    /// A number that changes whenever segments are dropped that a statement may have been compiled over.
    pub fn version(&self) -> u64 {
        self.inner.borrow().version
    }

    /// The number of times that rows of these tables were removed, in total.
    pub fn purges(&self, tables: &[(ObjectId, TemporaryKind)]) -> u64 {
        let inner = self.inner.borrow();
        tables.iter().filter_map(|(object, _)| inner.tables.get(object)).map(|bound| bound.purged).sum()
    }

    /// Whether this session may have rows in the table.
    pub fn is_used(&self, table: ObjectId) -> bool {
        self.inner.borrow().tables.get(&table).is_some_and(|bound| bound.lock.is_some())
    }

    /// Checks a statement that reads or changes these tables. `depth`: number of suspended transactions.
    ///
    /// # Errors
    /// ORA-14450 if a suspended transaction has rows in a table with ON COMMIT DELETE ROWS.
    pub fn check_depth(&self, tables: &[(ObjectId, TemporaryKind)], depth: usize) -> Result<()> {
        let inner = self.inner.borrow();
        let outer = |(object, kind): &(ObjectId, TemporaryKind)| {
            let bound = inner.tables.get(object);
            *kind == TemporaryKind::DeleteRows && bound.is_some_and(|b| b.lock.is_some() && b.depth < depth)
        };
        if tables.iter().any(outer) { Err(Ora::new(14450)) } else { Ok(()) }
    }

    /// Records, before the session detaches from a branch, the tables with preserved rows among the objects that
    /// `touched` selects. Returns whether there are any.
    pub fn leave(&self, xid: Xid, since: u64, touched: &dyn Fn(ObjectId) -> bool) -> bool {
        let Inner { tables, left, .. } = &mut *self.inner.borrow_mut();
        let is_changed =
            |object: ObjectId, b: &Bound| b.kind == TemporaryKind::PreserveRows && b.lock.is_some() && touched(object);
        let changed = tables.iter().filter(|(object, b)| is_changed(**object, b));
        let changed: Vec<_> =
            changed.map(|(table, b)| LeftRows { table: *table, purged: b.purged, whole: true }).collect();
        if changed.is_empty() {
            return false;
        }
        let at = left.iter().position(|l| l.xid == xid).unwrap_or_else(|| {
            left.push(Left { xid, since, tables: Vec::new() });
            left.len() - 1
        });
        for rows in changed {
            match left[at].tables.iter_mut().find(|r| r.table == rows.table) {
                Some(r) => (r.whole, r.purged) = (r.whole && r.purged == rows.purged, rows.purged),
                None => left[at].tables.push(rows),
            }
        }
        true
    }

    /// The objects whose rows and entries the session left in a branch and still has in place. Empty if only some of
    /// the rows of a table can be rolled back.
    pub fn left_in(&self, xid: Xid) -> Vec<ObjectId> {
        let inner = self.inner.borrow();
        let mut objects = Vec::new();
        for rows in inner.left.iter().filter(|l| l.xid == xid).flat_map(|l| &l.tables) {
            let Some(bound) = inner.tables.get(&rows.table).filter(|b| b.purged == rows.purged) else { continue };
            if !rows.whole {
                return Vec::new();
            }
            objects.extend([rows.table, bound.heap.data_object]);
            objects.extend(bound.indexes.iter().flat_map(|(object, index)| [*object, index.data_object]));
        }
        objects
    }

    /// Called before a statement that reads or changes temporary tables. Removes the rows that the session changed in a
    /// branch which another session has rolled back, because no other session could undo those changes.
    ///
    /// # Errors
    /// ORA-14450 if an open transaction has changes in one of these tables (`touched`), or a transaction is suspended
    /// (`depth`).
    pub fn settle(&self, p: &Process, shared: &Shared, touched: &dyn Fn(ObjectId) -> bool, depth: usize) -> Result<()> {
        let (mut lost, busy) = (Vec::new(), Cell::new(false));
        {
            let Inner { tables, left, .. } = &mut *self.inner.borrow_mut();
            let is_there = |r: &&LeftRows| tables.get(&r.table).is_some_and(|b| b.purged == r.purged);
            left.retain(|l| {
                if shared.txns.is_active(l.xid) {
                    return true;
                }
                if !shared.txns.has_lost(p, l.xid, l.since) {
                    return false;
                }
                let here: Vec<_> = l.tables.iter().filter(is_there).map(|r| r.table).collect();
                if here.iter().any(|table| depth > 0 || touched(*table)) {
                    busy.set(true);
                    return true;
                }
                lost.extend(here);
                false
            });
        }
        lost.sort_unstable();
        lost.dedup();
        lost.into_iter().for_each(|table| self.empty(p, shared, table));
        if busy.get() { Err(Ora::new(14450)) } else { Ok(()) }
    }

    /// Called before a statement that changes the tables selected by `changed`. Locks their definitions until the rows
    /// are gone.
    ///
    /// # Errors
    /// Those of waiting for DDL on a table.
    pub fn bind(
        &self,
        p: &Process,
        shared: &Shared,
        tables: &[(ObjectId, TemporaryKind)],
        changed: &dyn Fn(ObjectId) -> bool,
        depth: usize,
    ) -> Result<()> {
        for (object, _) in tables.iter().filter(|(object, _)| changed(*object)) {
            let unbound = self.inner.borrow().tables.get(object).is_some_and(|b| b.lock.is_none());
            if !unbound {
                continue;
            }
            let id = u64::from(object.0);
            let lock = shared.enqueues.get(p, EnqueueType::To, id, 0, LockMode::Share, Timeout::Never)?;
            match self.inner.borrow_mut().tables.get_mut(object) {
                Some(bound) => (bound.lock, bound.depth) = (Some(lock), depth),
                None => shared.enqueues.release(p, lock),
            }
        }
        Ok(())
    }

    /// Ends the transaction at `depth`: removes the rows with ON COMMIT DELETE ROWS.
    pub fn end_transaction(&self, p: &Process, shared: &Shared, depth: usize) {
        let ends = |b: &Bound| b.kind == TemporaryKind::DeleteRows && b.lock.is_some() && b.depth >= depth;
        let ending: Vec<ObjectId> = match self.inner.try_borrow() {
            Ok(inner) => inner.tables.iter().filter(|(_, b)| ends(b)).map(|(object, _)| *object).collect(),
            Err(_) => return,
        };
        ending.into_iter().for_each(|object| self.empty(p, shared, object));
    }

    /// Removes this session's rows of a table: TRUNCATE. The transaction that changed them must have ended.
    pub fn empty(&self, p: &Process, shared: &Shared, table: ObjectId) {
        let inner = &mut *self.inner.borrow_mut();
        let Some(bound) = inner.tables.get_mut(&table) else { return };
        bound.purged += 1;
        let lock = bound.lock.take();
        let emptied = purge(p, shared, bound);
        if emptied.is_err() {
            // The rows are unreachable from here on; their space stays with the process until it ends.
            inner.tables.remove(&table);
            inner.version += 1;
        }
        if let Some(lock) = lock {
            shared.enqueues.release(p, lock);
        }
    }

    /// Drops this session's segments of a table that was dropped, or whose columns or indexes have changed. With rows
    /// in the table neither can have happened, and nothing is dropped.
    pub fn forget(&self, p: &Process, shared: &Shared, table: ObjectId) {
        if !self.is_used(table) {
            self.remove(p, shared, table);
        }
    }

    fn remove(&self, p: &Process, shared: &Shared, table: ObjectId) {
        let inner = &mut *self.inner.borrow_mut();
        let Some(bound) = inner.tables.remove(&table) else { return };
        inner.version += 1;
        let scn = || shared.txns.current_scn();
        let segments = shared.txns.space();
        for segment in bound.indexes.values().chain([&bound.heap]) {
            // Space that cannot be freed now stays with the process until it ends.
            let _ = segments.drop_segment(p, segment.header, &scn);
        }
        shared.heap.forget(bound.heap.data_object);
        if let Some(lock) = bound.lock {
            shared.enqueues.release(p, lock);
        }
    }

    /// Ends the session: drops all its segments.
    pub fn end_session(&self, p: &Process, shared: &Shared) {
        let all: Vec<ObjectId> = self.inner.borrow().tables.keys().copied().collect();
        all.into_iter().for_each(|object| self.remove(p, shared, object));
    }
}

/// The tablespace, or another temporary one if it no longer exists.
fn usable(shared: &Shared, tablespace: u32) -> u32 {
    let known = shared.txns.cache().files().temporary_files();
    let there = known.iter().any(|(_, of)| *of == tablespace);
    if there { tablespace } else { known.first().map_or(tablespace, |(_, of)| *of) }
}

fn purge(p: &Process, shared: &Shared, bound: &Bound) -> Result<()> {
    let space = shared.txns.space();
    let scn = || shared.txns.current_scn();
    space.truncate(p, bound.heap.header, bound.heap.data_object, &scn)?;
    shared.heap.forget(bound.heap.data_object);
    for index in bound.indexes.values() {
        let root = space.aux(p, index.header, GetKind::Current)?.0;
        shared.btree.truncate(p, index.header, index.data_object)?;
        // Statements compiled over the index know its root.
        if space.aux(p, index.header, GetKind::Current)?.0 != root {
            return Err(Ora::internal("the root of an index has moved"));
        }
    }
    Ok(())
}

/// The temporary tables among these objects.
pub fn among(
    objects: &[ObjectId],
    table_by_id: &dyn Fn(ObjectId) -> Result<Option<std::rc::Rc<TableDef>>>,
) -> Result<Vec<(ObjectId, TemporaryKind)>> {
    let mut found = Vec::new();
    for object in objects {
        if let Some(kind) = table_by_id(*object)?.and_then(|table| table.temporary) {
            found.push((*object, kind));
        }
    }
    Ok(found)
}
