//! Indexes as the executor uses them: key bytes in, rowids out.

use crate::builder::Builder;
use crate::constraints;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use crate::table::{At, key_columns};
use btree::{Inserted, RangeScan};
use dictionary::{IndexDef, IndexKind, IndexPartitionDef, Organization, Partitioning, TableDef};
use plan::{Reg, Watch};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Bound;
use std::rc::Rc;
use txn::LockWait;
use types::row::RowReader;
use types::{Ora, Result, Rowid, codec};

/// The trees of a local index, each opened when it is needed.
struct Local {
    of: Rc<Partitioning>,
    parts: Rc<Vec<IndexPartitionDef>>,
    opened: RefCell<HashMap<usize, btree::Index>>,
    /// For each column of the partitioning key its position in the index's key, if all are there.
    places: Option<Vec<usize>>,
}

/// An index with its key columns resolved.
pub struct Index {
    pub def: Rc<IndexDef>,
    /// The tree; that of the partition being read, for a local index ([`Index::aim`]).
    pub tree: btree::Index,
    local: Option<Local>,
    /// Position of the table's column and whether it is descending.
    pub columns: Vec<(usize, bool)>,
    /// The constraint whose key the index enforces, although a key may have two entries.
    pub watched: Option<Watch>,
    /// Name of the constraint if it differs from the index name.
    constraint: Option<String>,
}

impl Index {
    /// # Errors
    /// ORA-03001 for a key that is an expression; ORA-08103 for a dropped index.
    pub fn of(def: &Rc<IndexDef>, table: &TableDef, b: &Builder<'_>) -> Result<Index> {
        let columns = key_columns(def)?;
        let rows = match &table.organization {
            Organization::Heap(s) | Organization::Index(s) => s.data_object,
            Organization::HashCluster { cluster, .. } => cluster.segment.data_object,
            Organization::Fixed(_) => return Err(Ora::internal("a fixed table has no index")),
            Organization::Partitioned(_) => btree::SEVERAL,
        };
        let local = match (&def.local, table.partitioning()) {
            (Some(parts), Some(of)) => {
                let place = |column: &usize| columns.iter().position(|(have, _)| have == column);
                let places = of.columns.iter().map(place).collect();
                Some(Local { of: of.clone(), parts: parts.clone(), opened: RefCell::default(), places })
            }
            _ => None,
        };
        let (header, rows) = match table.temporary {
            None => (def.segment.header, rows),
            Some(_) => {
                let tablespace = b.temporary_tablespace;
                let (heap, own) = b.temporaries.index(b.p, b.shared, tablespace, table, def)?;
                (own.header, heap.data_object)
            }
        };
        let mut tree = match &local {
            None => b.shared.btree.open(b.p, header, rows, def.unique && !def.building)?,
            Some(_) => no_tree(),
        };
        if table.temporary.is_none() && local.is_none() && tree.object != def.segment.data_object {
            // The segment was dropped and its block reused.
            return Err(Ora::new(8103));
        }
        if table.temporary.is_some() {
            // The segment was created for this session, before its first row: every snapshot may read it.
            tree.created = types::Scn::ZERO;
        }
        let key = table.constraints.iter().find(|c| c.enabled && c.is_key_in(def.object));
        let watched = key.filter(|_| !def.unique).map(|c| Watch::of(c, table.object));
        let constraint = key.filter(|c| c.name != def.name).map(|c| c.name.clone());
        Ok(Index { def: def.clone(), tree, local, columns, watched, constraint })
    }

    /// The tree for the partition of a local index.
    ///
    /// # Errors
    /// ORA-08103 when the segment was dropped.
    fn tree_at(&self, local: &Local, place: usize, cx: &ExecCtx<'_>) -> Result<btree::Index> {
        if let Some(tree) = local.opened.borrow().get(&place) {
            return Ok(*tree);
        }
        let (Some(part), Some(rows)) = (local.parts.get(place), local.of.partitions.get(place)) else {
            return Err(Ora::internal("a partition without its index"));
        };
        let s = &part.segment;
        let tree = cx.shared.btree.open(cx.p, s.header, rows.segment.data_object, self.def.unique)?;
        if tree.object != s.data_object {
            return Err(Ora::new(8103));
        }
        local.opened.borrow_mut().insert(place, tree);
        Ok(tree)
    }

    /// Makes [`Index::tree`] that of a partition. No effect on other indexes.
    ///
    /// # Errors
    /// ORA-01502 for an unusable partition, ORA-08103 for a dropped one.
    pub fn aim(&mut self, place: usize, cx: &ExecCtx<'_>) -> Result<()> {
        if let Some(local) = &self.local {
            if local.parts.get(place).is_some_and(|part| part.unusable) {
                return Err(self.unusable());
            }
            self.tree = self.tree_at(local, place, cx)?;
        }
        Ok(())
    }

    fn unusable(&self) -> Ora {
        Ora::with(1502, &[&self.def.owner, &self.def.name])
    }

    /// The tree that has the entry of a row. `None` when it is unusable, and so has none.
    ///
    /// # Errors
    /// ORA-01502 for an unusable partition of an index that enforces a key.
    fn tree_of(&self, at: At<'_>, cx: &ExecCtx<'_>) -> Result<Option<btree::Index>> {
        let Some(local) = &self.local else { return Ok(Some(self.tree)) };
        let At::Rowid(rowid) = at else { return Err(Ora::new(1410)) };
        let place = local.of.place_of_data(rowid.obj).ok_or_else(|| Ora::new(1410))?;
        self.tree_to_change(place, cx)
    }

    /// Takes over the partitions of a table that has got further ones.
    pub fn adopt(&mut self, table: &TableDef) {
        let def = table.indexes.iter().find(|index| index.object == self.def.object);
        if let (Some(local), Some(parts), Some(of)) =
            (&mut self.local, def.and_then(|def| def.local.clone()), table.partitioning())
        {
            // The trees are known by the positions of the partitions.
            local.opened.borrow_mut().clear();
            (local.parts, local.of) = (parts, of.clone());
        }
    }

    /// The position of the partition of a local index for the rows of a data object.
    ///
    /// # Errors
    /// ORA-01410 for rows of another table.
    pub fn place_of_data(&self, data: types::ObjectId) -> Result<usize> {
        self.local.as_ref().and_then(|local| local.of.place_of_data(data)).ok_or_else(|| Ora::new(1410))
    }

    pub fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// As [`Index::tree_of`], for the rows of a partition.
    fn tree_to_change(&self, place: usize, cx: &ExecCtx<'_>) -> Result<Option<btree::Index>> {
        let Some(local) = &self.local else { return Ok(Some(self.tree)) };
        match local.parts.get(place).is_some_and(|part| part.unusable) {
            true if self.def.unique || self.watched.is_some() => Err(self.unusable()),
            true => Ok(None),
            false => self.tree_at(local, place, cx).map(Some),
        }
    }

    /// The trees that may have entries with this key.
    ///
    /// # Errors
    /// As [`Index::aim`].
    pub fn trees_with(&self, key: &[u8], cx: &ExecCtx<'_>) -> Result<Vec<btree::Index>> {
        let Some(local) = &self.local else { return Ok(vec![self.tree]) };
        let mut parts = Vec::new();
        let (mut rest, mut stored) = (key, Vec::new());
        for (_, descending) in &self.columns {
            let Some((more, present)) = codec::pop_key_part(rest, *descending, &mut stored) else { break };
            rest = more;
            let mut part = Vec::new();
            codec::push_key_part(present.then_some(&stored[..]), false, &mut part);
            parts.push(part);
        }
        let of_key: Option<Vec<&[u8]>> =
            local.places.as_ref().and_then(|all| all.iter().map(|at| parts.get(*at).map(Vec::as_slice)).collect());
        let places = match of_key {
            Some(key) => local.of.place_of_key(&key.concat()).into_iter().collect::<Vec<_>>(),
            None => (0..local.parts.len()).collect(),
        };
        let unusable = |place: &usize| local.parts.get(*place).is_some_and(|part| part.unusable);
        if places.iter().any(unusable) {
            return Err(self.unusable());
        }
        places.into_iter().map(|place| self.tree_at(local, place, cx)).collect()
    }

    /// ORA-00001: duplicate key.
    pub fn duplicate(&self) -> Ora {
        Ora::with(1, &[&self.def.owner, self.constraint.as_ref().unwrap_or(&self.def.name)])
    }

    /// Whether the row's key is that of the entry that led to it. The entry may belong to another version of the row
    /// than the snapshot sees.
    pub fn matches(&self, row: &[u8], key: &[u8], scratch: &mut Vec<u8>) -> Result<bool> {
        let damaged = || Ora::internal("row bytes are damaged");
        let reader = RowReader::new(row).ok_or_else(damaged)?;
        scratch.clear();
        for &(column, descending) in &self.columns {
            let stored = reader.column(column).ok_or_else(damaged)?;
            self.def.push_key_part(stored.bytes(), descending, scratch);
        }
        Ok(scratch == key)
    }

    /// Appends the key of a row, read from its bytes. Appends nothing when all parts are NULL: such a row has no entry.
    pub fn key_of(&self, row: &RowReader<'_>, out: &mut Vec<u8>) -> Result<()> {
        let begin = out.len();
        let mut any = false;
        for &(column, descending) in &self.columns {
            let stored = row.column(column).ok_or_else(|| Ora::internal("row bytes are damaged"))?;
            self.def.push_key_part(stored.bytes(), descending, out);
            any |= stored.bytes().is_some();
        }
        if !any {
            out.truncate(begin);
        }
        Ok(())
    }

    /// Builds the key of the row whose columns are in `row`. False when all parts are NULL: such a row has no entry.
    pub fn key(&self, row: &[Reg], m: &mut Machine, out: &mut Vec<u8>) -> bool {
        let mut any = false;
        for &(column, descending) in &self.columns {
            any |= self.push_value(m, row[column], descending, out);
        }
        any
    }

    /// Appends a register's value as a part of this index's key. False when it is NULL.
    pub fn push_value(&self, m: &mut Machine, r: Reg, descending: bool, out: &mut Vec<u8>) -> bool {
        if self.def.kind != IndexKind::Reverse || m.value(r).is_null() {
            return push_value(m, r, descending, out);
        }
        let mut stored = std::mem::take(&mut m.scratch);
        stored.clear();
        codec::encode_instant(m.value(r), &mut stored);
        self.def.push_key_part(Some(&stored), descending, out);
        m.scratch = stored;
        true
    }

    pub fn touches(&self, columns: &[u16]) -> bool {
        self.columns.iter().any(|(c, _)| columns.contains(&(*c as u16)))
    }
}

/// Stands for the tree of a local index before a partition is chosen.
fn no_tree() -> btree::Index {
    btree::Index {
        segment: types::Rdba::NONE,
        root: types::Rdba::NONE,
        object: types::ObjectId(0),
        table: types::ObjectId(0),
        unique: false,
        created: types::Scn::ZERO,
        notes_purges: false,
    }
}

/// Appends a register's value as a key part. False when it is NULL.
pub fn push_value(m: &mut Machine, r: Reg, descending: bool, out: &mut Vec<u8>) -> bool {
    if m.value(r).is_null() {
        codec::push_key_part(None, descending, out);
        return false;
    }
    let mut stored = std::mem::take(&mut m.scratch);
    stored.clear();
    codec::encode_instant(m.value(r), &mut stored);
    codec::push_key_part(Some(&stored), descending, out);
    m.scratch = stored;
    true
}

/// Appends the rowids of the rows that may have this complete key.
pub fn probe(index: &Index, key: &[u8], to: &mut Vec<Rowid>, cx: &mut ExecCtx<'_>) -> Result<()> {
    cx.shared.btree.probe(cx.p, &index.tree, key, to)
}

/// Starts a range scan.
pub fn start(scan: &mut RangeScan, index: &Index, low: Bound<&[u8]>, high: Bound<&[u8]>, descending: bool) {
    scan.start(&index.tree, low, high, descending);
}

/// Adds an entry. A duplicate key in a watched index is noted if its constraint is deferred.
///
/// # Errors
/// ORA-00001 for a duplicate key in a unique or watched index.
pub fn insert(index: &Index, key: &[u8], at: At<'_>, cx: &mut ExecCtx<'_>) -> Result<()> {
    if let Some(watch) = &index.watched {
        return insert_watched(index, watch, key, at, cx);
    }
    let Some(tree) = index.tree_of(at, cx)? else { return Ok(()) };
    let t = &mut cx.session.txn;
    let done = match at {
        At::Rowid(rowid) => cx.shared.btree.insert(cx.p, t, &tree, key, rowid, LockWait::Forever)?,
        At::Key(row) => cx.shared.btree.insert_at(cx.p, t, &tree, key, row, LockWait::Forever)?,
    };
    match done {
        Inserted::Done => Ok(()),
        Inserted::Duplicate(_) => Err(index.duplicate()),
    }
}

fn insert_watched(index: &Index, watch: &Watch, key: &[u8], at: At<'_>, cx: &mut ExecCtx<'_>) -> Result<()> {
    let Some(tree) = index.tree_of(at, cx)? else { return Ok(()) };
    let t = &mut cx.session.txn;
    let forever = LockWait::Forever;
    let repeated = match at {
        At::Rowid(rowid) => cx.shared.btree.insert_watched(cx.p, t, &tree, key, &tree.locator(rowid), forever)?,
        At::Key(row) => cx.shared.btree.insert_watched(cx.p, t, &tree, key, row, forever)?,
    };
    match repeated {
        false => Ok(()),
        true if constraints::is_deferred(watch, cx) => constraints::note_key(watch, key, cx),
        true => Err(index.duplicate()),
    }
}

/// Adds many entries; returns whether one of them was refused.
pub fn insert_many(index: &Index, entries: &mut btree::Batch, cx: &mut ExecCtx<'_>) -> Result<Inserted> {
    cx.shared.btree.insert_many(cx.p, &mut cx.session.txn, &index.tree, entries, LockWait::Forever)
}

/// Adds many entries of rows of one partition to a local index; returns whether one of them was refused.
///
/// # Errors
/// ORA-01502 for an unusable partition of an index that enforces a key.
pub fn insert_many_at(
    index: &Index,
    place: usize,
    entries: &mut btree::Batch,
    cx: &mut ExecCtx<'_>,
) -> Result<Inserted> {
    match index.tree_to_change(place, cx)? {
        Some(tree) => cx.shared.btree.insert_many(cx.p, &mut cx.session.txn, &tree, entries, LockWait::Forever),
        None => Ok(Inserted::Done),
    }
}

/// Marks many entries deleted.
pub fn delete_many(index: &Index, entries: &mut btree::Batch, cx: &mut ExecCtx<'_>) -> Result<()> {
    cx.shared.btree.delete_many(cx.p, &mut cx.session.txn, &index.tree, entries)
}

/// Marks many entries of rows of one partition deleted in a local index.
///
/// # Errors
/// ORA-01502 for an unusable partition of an index that enforces a key.
pub fn delete_many_at(index: &Index, place: usize, entries: &mut btree::Batch, cx: &mut ExecCtx<'_>) -> Result<()> {
    match index.tree_to_change(place, cx)? {
        Some(tree) => cx.shared.btree.delete_many(cx.p, &mut cx.session.txn, &tree, entries),
        None => Ok(()),
    }
}

/// Marks an entry deleted.
pub fn delete(index: &Index, key: &[u8], at: At<'_>, cx: &mut ExecCtx<'_>) -> Result<()> {
    let Some(tree) = index.tree_of(at, cx)? else { return Ok(()) };
    let t = &mut cx.session.txn;
    if index.def.building {
        let locator = match at {
            At::Rowid(rowid) => tree.locator(rowid).to_vec(),
            At::Key(key) => key.to_vec(),
        };
        return cx.shared.btree.delete_unbuilt(cx.p, t, &tree, key, &locator);
    }
    match at {
        At::Rowid(rowid) => cx.shared.btree.delete(cx.p, t, &tree, key, rowid),
        At::Key(row) => cx.shared.btree.delete_at(cx.p, t, &tree, key, row),
    }
}
