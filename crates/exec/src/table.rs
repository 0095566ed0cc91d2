//! Tables as the executor accesses them: a heap, a hash cluster or an index-organised table behind one interface.

use crate::builder::Builder;
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use btree::{Inserted, RowAction, RowTable};
use cluster::HashCluster;
use dictionary::{IndexDef, IndexKey, Organization, Partitioning, SegmentRef, TableDef};
use heap::{HeapTable, RowOutcome};
use plan::Reg;
use std::cell::RefCell;
use std::rc::Rc;
use txn::{LockWait, Snapshot};
use types::{ObjectId, Ora, Result, Rowid, Value, urowid};

/// The address of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    Rowid(Rowid),
    /// In an index-organised table: the bytes of its primary key.
    Key(Vec<u8>),
}

/// A borrowed [`Address`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At<'a> {
    Rowid(Rowid),
    Key(&'a [u8]),
}

impl Address {
    /// The address in a rowid's register; `None` for NULL and invalid rowids.
    pub fn of(v: &Value) -> Option<Address> {
        match v {
            Value::Rowid(r) => Some(Address::Rowid(*r)),
            Value::Text(s) => {
                let mut key = Vec::new();
                urowid::read(s, &mut key).map(|()| Address::Key(key))
            }
            _ => None,
        }
    }

    pub fn at(&self) -> At<'_> {
        match self {
            Address::Rowid(r) => At::Rowid(*r),
            Address::Key(key) => At::Key(key),
        }
    }
}

impl At<'_> {
    /// Puts the address into a rowid's register.
    pub fn put(self, m: &mut Machine, r: Reg) {
        match self {
            At::Rowid(rowid) => {
                m.put(r, Value::Rowid(rowid));
            }
            At::Key(key) => urowid::write(key, m.regs[r as usize].text_buffer()),
        }
    }

    pub fn to_address(self) -> Address {
        match self {
            At::Rowid(rowid) => Address::Rowid(rowid),
            At::Key(key) => Address::Key(key.to_vec()),
        }
    }

    fn rowid(self) -> Result<Rowid> {
        match self {
            At::Rowid(rowid) => Ok(rowid),
            At::Key(_) => Err(Ora::new(1410)),
        }
    }
}

/// An index-organised table.
#[derive(Clone, Debug)]
pub struct IndexTable {
    pub rows: RowTable,
    pub index: Rc<IndexDef>,
    /// Positions of the key's columns, and whether each is descending.
    pub key: Vec<(usize, bool)>,
}

/// The storage of a table's rows.
#[derive(Clone, Debug)]
pub enum Storage {
    Heap(HeapTable),
    Cluster(HashCluster, Vec<usize>),
    Index(Box<IndexTable>),
    /// A heap for each partition.
    Partitioned(Partitioned),
}

/// A partitioned table.
#[derive(Clone, Debug)]
pub struct Partitioned {
    pub of: Rc<Partitioning>,
    pub table: ObjectId,
    /// The buffer of partitioning keys.
    key: RefCell<Vec<u8>>,
}

impl Partitioned {
    /// The position of the partition for a row. ORA-14400.
    pub fn place_of(&self, row: &[u8]) -> Result<usize> {
        self.of.place_of_row(row, &mut self.key.borrow_mut())
    }

    /// The partitioning key of a row, if a partition is to be made for it first.
    pub fn missing(&self, row: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.of.interval.is_none() {
            return Ok(None);
        }
        let mut key = self.key.borrow_mut();
        key.clear();
        self.of.key_of_row(row, &mut key)?;
        let is_missing = self.of.place_of_key(&key).is_none() && self.of.may_extend(&key);
        Ok(is_missing.then(|| key.clone()))
    }

    /// The heap of an existing row's partition. ORA-01410 for a rowid of another table.
    fn heap_at(&self, at: At<'_>) -> Result<(Rowid, HeapTable)> {
        let rowid = at.rowid()?;
        Ok((rowid, self.heap_of(rowid.obj)?))
    }

    /// The heap of the partition with this data object. ORA-01410 for one of another table.
    pub fn heap_of(&self, data: ObjectId) -> Result<HeapTable> {
        let place = self.of.place_of_data(data).ok_or_else(|| Ora::new(1410))?;
        Ok(self.of.heap_table(self.table, place))
    }

    /// Whether an updated row belongs to another partition than its old version.
    ///
    /// # Errors
    /// ORA-14400 when no partition takes the new version.
    pub fn moves(&self, at: At<'_>, row: &[u8]) -> Result<bool> {
        Ok(Some(self.place_of(row)?) != self.of.place_of_data(at.rowid()?.obj))
    }
}

impl Storage {
    /// # Errors
    /// ORA-00600 for a fixed table, which stores no rows; ORA-08103 for a dropped cluster.
    pub fn of(table: &TableDef, b: &Builder<'_>) -> Result<Storage> {
        match &table.organization {
            Organization::Heap(s) if table.temporary.is_some() => {
                let own = b.temporaries.heap(b.p, b.shared, b.temporary_tablespace, table)?;
                let s = SegmentRef { header: own.header, data_object: own.data_object, ..*s };
                Ok(Storage::Heap(heap_table(table, &s)))
            }
            Organization::Heap(s) => Ok(Storage::Heap(heap_table(table, s))),
            Organization::Index(_) => {
                let index = table.row_index().ok_or_else(|| Ora::internal("an index-organised table without a key"))?;
                let tree = b.shared.btree.open(b.p, index.segment.header, index.segment.data_object, true)?;
                if tree.object != index.segment.data_object {
                    return Err(Ora::new(8103));
                }
                Ok(Storage::Index(Box::new(IndexTable {
                    rows: RowTable { tree, object: table.object },
                    index: index.clone(),
                    key: key_columns(index)?,
                })))
            }
            Organization::HashCluster { cluster, key_positions } => {
                let s = &cluster.segment;
                let columns: Vec<u16> = key_positions.iter().map(|&p| p as u16).collect();
                let cluster = b.shared.clusters.describe(b.p, table.object, s.data_object, s.header, &columns)?;
                Ok(Storage::Cluster(cluster, key_positions.clone()))
            }
            Organization::Fixed(_) => Err(Ora::internal("a fixed table has no storage")),
            Organization::Partitioned(of) => {
                let (of, table) = (of.clone(), table.object);
                Ok(Storage::Partitioned(Partitioned { of, table, key: RefCell::default() }))
            }
        }
    }

    /// Inserts a row. `key`: its primary key, if the table is index-organised.
    ///
    /// # Errors
    /// ORA-00001 for a duplicate key in an index-organised table; those of the access method.
    pub fn insert(&self, cx: &mut ExecCtx<'_>, row: &[u8], key: &[u8]) -> Result<Address> {
        let t = &mut cx.session.txn;
        match self {
            Storage::Heap(h) => cx.shared.heap.insert(cx.p, t, h, row).map(Address::Rowid),
            Storage::Cluster(c, _) => cx.shared.clusters.insert(cx.p, t, c, row).map(Address::Rowid),
            Storage::Partitioned(of) => {
                let h = of.of.heap_table(of.table, of.place_of(row)?);
                cx.shared.heap.insert(cx.p, t, &h, row).map(Address::Rowid)
            }
            Storage::Index(i) => match cx.shared.btree.insert_row(cx.p, t, &i.rows, key, row, LockWait::Forever)? {
                Inserted::Done => Ok(Address::Key(key.to_vec())),
                // The index has the name of its constraint.
                Inserted::Duplicate(_) => Err(Ora::with(1, &[&i.index.owner, &i.index.name])),
            },
        }
    }

    /// Replaces a row. In an index-organised table the key must not change.
    pub fn update(&self, cx: &mut ExecCtx<'_>, at: At<'_>, row: &[u8], seen: &Snapshot) -> Result<RowOutcome> {
        let t = &mut cx.session.txn;
        let wait = LockWait::Forever;
        match self {
            Storage::Heap(h) => cx.shared.heap.update(cx.p, t, h, at.rowid()?, row, seen, wait),
            Storage::Cluster(c, _) => cx.shared.clusters.update(cx.p, t, c, at.rowid()?, row, seen, wait),
            Storage::Index(i) => i.change(cx, at, RowAction::Update(row), seen, wait),
            Storage::Partitioned(of) => {
                let (rowid, h) = of.heap_at(at)?;
                cx.shared.heap.update(cx.p, t, &h, rowid, row, seen, wait)
            }
        }
    }

    pub fn delete(&self, cx: &mut ExecCtx<'_>, at: At<'_>, seen: &Snapshot) -> Result<RowOutcome> {
        let t = &mut cx.session.txn;
        let wait = LockWait::Forever;
        match self {
            Storage::Heap(h) => cx.shared.heap.delete(cx.p, t, h, at.rowid()?, seen, wait),
            Storage::Cluster(c, _) => cx.shared.clusters.delete(cx.p, t, c, at.rowid()?, seen, wait),
            Storage::Index(i) => i.change(cx, at, RowAction::Delete, seen, wait),
            Storage::Partitioned(of) => {
                let (rowid, h) = of.heap_at(at)?;
                cx.shared.heap.delete(cx.p, t, &h, rowid, seen, wait)
            }
        }
    }

    pub fn lock_row(&self, cx: &mut ExecCtx<'_>, at: At<'_>, seen: &Snapshot, wait: LockWait) -> Result<RowOutcome> {
        let t = &mut cx.session.txn;
        match self {
            Storage::Heap(h) => cx.shared.heap.lock_row(cx.p, t, h, at.rowid()?, seen, wait),
            Storage::Cluster(c, _) => cx.shared.clusters.lock_row(cx.p, t, c, at.rowid()?, seen, wait),
            Storage::Index(i) => i.change(cx, at, RowAction::Lock, seen, wait),
            Storage::Partitioned(of) => {
                let (rowid, h) = of.heap_at(at)?;
                cx.shared.heap.lock_row(cx.p, t, &h, rowid, seen, wait)
            }
        }
    }

    /// Copies a row into `row`. False if no version is visible at `s`.
    #[inline]
    pub fn fetch(&self, cx: &mut ExecCtx<'_>, at: At<'_>, s: &Snapshot, row: &mut Vec<u8>) -> Result<bool> {
        match (self, at) {
            (Storage::Heap(h), At::Rowid(rowid)) => cx.shared.heap.fetch_by_rowid(cx.p, s, h, rowid, row),
            (Storage::Cluster(c, _), At::Rowid(rowid)) => {
                cx.p.count(wait::Stat::TableFetchByRowid, 1);
                cx.shared.clusters.fetch_by_rowid(cx.p, s, c, rowid, row)
            }
            (Storage::Partitioned(of), At::Rowid(_)) => {
                let (rowid, h) = of.heap_at(at)?;
                cx.shared.heap.fetch_by_rowid(cx.p, s, &h, rowid, row)
            }
            (Storage::Index(i), At::Key(key)) => cx.shared.btree.fetch_row(cx.p, &i.rows.tree, key, s, row),
            _ => Err(Ora::new(1410)),
        }
    }
}

impl IndexTable {
    fn change(
        &self,
        cx: &mut ExecCtx<'_>,
        at: At<'_>,
        action: RowAction<'_>,
        seen: &Snapshot,
        wait: LockWait,
    ) -> Result<RowOutcome> {
        let At::Key(key) = at else { return Err(Ora::new(1410)) };
        let t = &mut cx.session.txn;
        Ok(match cx.shared.btree.change_row(cx.p, t, &self.rows, key, action, seen, wait)? {
            btree::RowOutcome::Done => RowOutcome::Done,
            btree::RowOutcome::Changed => RowOutcome::Changed,
            btree::RowOutcome::Skipped => RowOutcome::Skipped,
        })
    }
}

/// Positions of an index's columns, and whether each is descending.
///
/// # Errors
/// ORA-03001 for a key that is an expression.
pub fn key_columns(index: &IndexDef) -> Result<Vec<(usize, bool)>> {
    let column = |c: &dictionary::IndexColumnDef| match c.key {
        IndexKey::Column(at) => Ok((at, c.descending)),
        IndexKey::Expression { .. } => Err(Ora::unsupported()),
    };
    index.columns.iter().map(column).collect()
}

fn heap_table(table: &TableDef, s: &SegmentRef) -> HeapTable {
    HeapTable {
        object: table.object,
        data_object: s.data_object,
        header: s.header,
        pctfree: s.pctfree,
        initrans: s.initrans,
    }
}
