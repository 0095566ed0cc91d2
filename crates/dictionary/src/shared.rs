//! The shared part of the dictionary.
//!
//! The shared part is a handful of words: the epoch, the next numbers, the places of the base tables, and the sequence
//! cache. The epoch word holds a counter in its high bits and, in its low 16 bits, the number of the process whose DDL
//! is being committed, or 0. A picture read while the number is not 0 is used for one statement and not kept, because
//! it is unknown on which side of the commit it was taken. So a statement that holds its TM locks and finds the epoch
//! of its picture unchanged uses current definitions (D3).

use crate::UserId;
use crate::base::{BASE_INDEXES, BASE_PCTFREE, Base, BaseIndex, bootstrap, index_columns};
use crate::layout::*;
use crate::rows::{Row, as_u32, decode};
use btree::{Btree, RangeScan};
use enqueue::Enqueues;
use heap::{Heap, HeapTable, RowBuffer, Scan};
use process::{CleanupOrder, Process, Processes};
use row_cache::RowCache;
use sga::Sga;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use txn::{Snapshot, Transactions, Txn};
use types::{ObjectId, Ora, Rdba, Result, Rowid, Scn, Value, codec};

/// The shared part of the dictionary. Clones share everything; inherited by `fork`.
#[derive(Clone)]
pub struct DictionaryShared {
    words: &'static [AtomicU64],
    pub(crate) heap: Heap,
    pub(crate) trees: Btree,
    pub(crate) enqueues: Enqueues,
    pub(crate) rows: Option<&'static RowCache>,
}

impl DictionaryShared {
    /// Makes the handle of the words. Called once by the supervisor, followed by [`Self::create_database`] or
    /// [`Self::open`].
    pub fn create(
        sga: &'static Sga,
        layout: &DictionaryLayout,
        heap: &Heap,
        trees: &Btree,
        enqueues: &Enqueues,
    ) -> DictionaryShared {
        assert!(Base::ALL.len() <= HEADERS_MAX, "room for the base tables' addresses");
        assert!(BASE_INDEXES.len() <= TREES_MAX, "room for the addresses of their indexes");
        let (heap, trees) = (heap.clone(), trees.clone());
        let words = sga.slice(layout.words);
        let shared = DictionaryShared { words, heap, trees, enqueues: *enqueues, rows: None };
        shared.words[EPOCH].store(1 << 16, Ordering::Release);
        shared
    }

    /// Adds a row cache for look-ups. Without one, as in tests of lower layers, look-ups read the base tables.
    #[must_use]
    pub fn with_row_cache(self, rows: &'static RowCache) -> DictionaryShared {
        DictionaryShared { rows: Some(rows), ..self }
    }

    /// The row cache used by look-ups.
    pub fn row_cache(&self) -> Option<&'static RowCache> {
        self.rows
    }

    /// Registers the clean-up hook that ends the commit of a DDL whose process died during it.
    pub fn register_with(&self, all: &Processes) {
        let words = self.words;
        all.on_death(CleanupOrder::Enqueues, "dictionary epoch", move |_, dead| {
            let epoch = words[EPOCH].load(Ordering::Acquire);
            if epoch & CHANGING == u64::from(dead) {
                let next = (epoch & !CHANGING) + CHANGING + 1;
                // Fails if the next DDL has begun, which will move the epoch on itself.
                let _ = words[EPOCH].compare_exchange(epoch, next, Ordering::AcqRel, Ordering::Relaxed);
            }
        });
    }

    /// Reads the places of the base tables and the numbers in use. The first file of SYSTEM has number 1.
    ///
    /// # Errors
    /// ORA-00704 when the database has no dictionary or lacks a base table, except one that
    /// [`DictionaryShared::add_words`] adds; those of reading.
    pub fn open(&self, p: &Process) -> Result<()> {
        self.set_header(Base::Bootstrap, self.bootstrap_header());
        let failed = |e: Ora| Ora::new(704).because(e);
        let mut found = Vec::new();
        self.scan_once(p, Base::Bootstrap, &mut |_, row| {
            let (file, block) = (as_u32(&row[bootstrap::FILE]), as_u32(&row[bootstrap::BLOCK]));
            if file == 0 || file > Rdba::MAX_FILE || block > Rdba::MAX_BLOCK {
                return Err(Ora::internal(format_args!("[bootstrap$ {file} {block}]")));
            }
            found.push((ObjectId(as_u32(&row[bootstrap::OBJ])), Rdba::new(file, block)));
            Ok(())
        })
        .map_err(failed)?;
        for (object, header) in &found {
            if let Some(base) = Base::of_object(*object) {
                self.set_header(base, *header);
            } else if let Some(n) = BASE_INDEXES.iter().position(|index| index.object == *object) {
                self.open_tree(p, n, *header).map_err(failed)?;
            }
        }
        let is_due = |base: Base| base != Base::Word || !self.header(base).is_none();
        let no_table = Base::ALL.iter().filter(|base| is_due(**base)).find(|base| self.header(**base).is_none());
        let no_table = no_table.map(|base| base.table().name);
        let trees = (0..BASE_INDEXES.len()).filter(|n| is_due(BASE_INDEXES[*n].table));
        let no_tree = trees.into_iter().find(|n| self.tree(*n).root.is_none()).map(|n| BASE_INDEXES[n].name);
        if let Some(missing) = no_table.or(no_tree) {
            return Err(failed(Ora::internal(format_args!("[no {missing}]"))));
        }
        self.seed_numbers(p)
    }

    /// The header block of the first segment of SYSTEM.
    pub(crate) fn bootstrap_header(&self) -> Rdba {
        Rdba::new(1, datafile::DataFiles::first_data_block_of(self.txns().cache().block_size()))
    }

    pub(crate) fn seed_numbers(&self, p: &Process) -> Result<()> {
        let greatest = |base: Base, columns: &[usize]| {
            let mut greatest = 0;
            self.scan_once(p, base, &mut |_, row| {
                greatest = columns.iter().fold(greatest, |greatest: u32, column| greatest.max(as_u32(&row[*column])));
                Ok(())
            })?;
            Ok::<u32, Ora>(greatest)
        };
        let set = |at: usize, value: u32| self.words[at].store(u64::from(value) + 1, Ordering::Relaxed);
        let dropped = self.noted_drops(p)?.iter().map(|d| d.object.0).max().unwrap_or(0);
        let object = greatest(Base::Obj, &[crate::base::obj::OBJ, crate::base::obj::DATAOBJ])?;
        let object = object.max(greatest(Base::TabStats, &[crate::base::tab_stats::OBJ])?);
        set(NEXT_OBJECT, object.max(dropped).max(crate::FIRST_USER_OBJECT));
        set(NEXT_USER, greatest(Base::User, &[crate::base::user::USER])?.max(100));
        set(NEXT_CONSTRAINT, greatest(Base::Con, &[crate::base::con::CON])?.max(7_000));
        Ok(())
    }

    /// Reads the root of an index of [`BASE_INDEXES`].
    pub(crate) fn open_tree(&self, p: &Process, index: usize, segment: Rdba) -> Result<()> {
        let table = BASE_INDEXES[index].table.table().object;
        let tree = self.trees.open(p, segment, table, false)?;
        let words = &self.words[TREES + index * TREE_WORDS..][..TREE_WORDS];
        for (word, value) in words.iter().zip([segment.0.into(), tree.root.0.into(), tree.created.0]) {
            word.store(value, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The B-tree of an index of [`BASE_INDEXES`].
    pub(crate) fn tree(&self, index: usize) -> btree::Index {
        let word = |n: usize| self.words[TREES + index * TREE_WORDS + n].load(Ordering::Relaxed);
        let BaseIndex { object, table, .. } = &BASE_INDEXES[index];
        btree::Index {
            segment: Rdba(word(0) as u32),
            root: Rdba(word(1) as u32),
            object: *object,
            table: table.table().object,
            unique: false,
            created: Scn(word(2)),
            notes_purges: true,
        }
    }

    pub(crate) fn sequence_words(&self) -> &'static [AtomicU64] {
        &self.words[SEQUENCES..]
    }

    /// The words of [`crate::monitoring`].
    pub(crate) fn monitoring_words(&self) -> &'static [AtomicU64] {
        &self.words[MONITORING..COLUMN_USES]
    }

    /// The words of [`crate::column_use`].
    pub(crate) fn column_use_words(&self) -> &'static [AtomicU64] {
        &self.words[COLUMN_USES..SEQUENCES]
    }

    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    pub fn enqueues(&self) -> &Enqueues {
        &self.enqueues
    }

    pub fn txns(&self) -> &Transactions {
        self.heap.transactions()
    }

    /// The epoch word: one load. A picture is current when it has this epoch and [`Self::is_settled`] holds.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.words[EPOCH].load(Ordering::Acquire)
    }

    /// True when no DDL was being committed at this epoch.
    #[inline]
    pub fn is_settled(epoch: u64) -> bool {
        epoch & CHANGING == 0
    }

    /// The number of an epoch; `None` while DDL was being committed. Numbers repeat after 2^32 changes.
    #[inline]
    pub fn number_of(epoch: u64) -> Option<u32> {
        DictionaryShared::is_settled(epoch).then_some((epoch / (CHANGING + 1)) as u32)
    }

    /// Announces the commit of a DDL: until [`Self::end_change`] no picture is kept. The caller holds the DD enqueue.
    pub(crate) fn begin_change(&self, p: &Process) {
        let epoch = self.words[EPOCH].load(Ordering::Relaxed) & !CHANGING;
        self.words[EPOCH].store(epoch | u64::from(p.number()), Ordering::Release);
    }

    /// Ends the commit of a DDL, successful or not: pictures of earlier epochs are stale.
    pub(crate) fn end_change(&self) {
        let epoch = self.words[EPOCH].load(Ordering::Relaxed) & !CHANGING;
        self.words[EPOCH].store(epoch + CHANGING + 1, Ordering::Release);
    }

    /// A new object or data object number (D4).
    pub fn next_object(&self) -> ObjectId {
        ObjectId(self.words[NEXT_OBJECT].fetch_add(1, Ordering::Relaxed) as u32)
    }

    pub fn next_user(&self) -> UserId {
        UserId(self.words[NEXT_USER].fetch_add(1, Ordering::Relaxed) as u32)
    }

    pub fn next_constraint(&self) -> u32 {
        self.words[NEXT_CONSTRAINT].fetch_add(1, Ordering::Relaxed) as u32
    }

    pub(crate) fn set_header(&self, base: Base, header: Rdba) {
        self.words[HEADERS + base as usize].store(u64::from(header.0), Ordering::Relaxed);
    }

    pub(crate) fn header(&self, base: Base) -> Rdba {
        Rdba(self.words[HEADERS + base as usize].load(Ordering::Relaxed) as u32)
    }

    /// The heap segment of a base table.
    pub fn base_heap(&self, base: Base) -> HeapTable {
        let object = base.table().object;
        HeapTable { object, data_object: object, header: self.header(base), pctfree: BASE_PCTFREE, initrans: 1 }
    }

    /// Calls `f` with every row of a base table as of `snapshot`.
    pub(crate) fn scan(
        &self,
        p: &Process,
        snapshot: &Snapshot,
        base: Base,
        f: &mut dyn FnMut(Rowid, &[Value]) -> Result<()>,
    ) -> Result<()> {
        let mut scan = Scan::new();
        scan.start(&self.heap, p, snapshot, &self.base_heap(base))?;
        let mut row = Row::new();
        while let Some((rowid, bytes)) = scan.next(&self.heap, p)? {
            decode(base, bytes, &mut row)?;
            f(rowid, &row)?;
        }
        Ok(())
    }

    /// Calls `f` with the rows of a base table that have these values in these columns, as of a registered `snapshot`,
    /// by an index whose key begins with the columns.
    ///
    /// # Errors
    /// Those of reading. ORA-00600 when no index begins with the columns.
    pub(crate) fn scan_by(
        &self,
        p: &Process,
        snapshot: &Snapshot,
        base: Base,
        columns: &[usize],
        values: &[Value],
        f: &mut dyn FnMut(Rowid, &[Value]) -> Result<()>,
    ) -> Result<()> {
        let mut row = Row::new();
        self.scan_stored_by(p, snapshot, base, columns, values, &mut |rowid, bytes| {
            decode(base, bytes, &mut row)?;
            f(rowid, &row)
        })
    }

    /// As [`Self::scan_by`]; `f` gets the rows in stored form.
    pub(crate) fn scan_stored_by(
        &self,
        p: &Process,
        snapshot: &Snapshot,
        base: Base,
        columns: &[usize],
        values: &[Value],
        f: &mut dyn FnMut(Rowid, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let missing = || Ora::internal(format_args!("[{} has no index on {columns:?}]", base.table().name));
        let index = base.index_on(columns).ok_or_else(missing)?;
        let (tree, table) = (self.tree(index), self.base_heap(base));
        let is_whole = index_columns(index).len() == columns.len();
        let (mut key, mut key_now) = (Vec::new(), Vec::new());
        push_key(values.iter(), &mut key);
        let mut scan = RangeScan::new();
        scan.start(&tree, Bound::Included(&key), Bound::Included(&key), false);
        let (mut bytes, mut row) = (RowBuffer::new(), Row::new());
        while let Some((entry, rowid)) = scan.next(&self.trees, p)? {
            bytes.clear();
            if !self.heap.fetch_by_rowid(p, snapshot, &table, rowid, &mut bytes)? {
                continue;
            }
            decode(base, &bytes, &mut row)?;
            // The entry may belong to another version of the row, also to one that has the same values in the columns.
            let mut is_current = columns.iter().zip(values).all(|(column, value)| row[*column] == *value);
            if is_current && !is_whole {
                key_now.clear();
                key_of(index, &row, &mut key_now);
                is_current = key_now == entry;
            }
            if is_current {
                f(rowid, &bytes)?;
            }
        }
        // Entries that a snapshot needs can be purged only when the snapshot is not registered.
        if scan.purged() > snapshot.scn { Err(Ora::new(1555)) } else { Ok(()) }
    }

    /// As [`Self::scan_by`], as of now.
    ///
    /// # Errors
    /// As [`Self::scan_by`].
    pub fn scan_once_by(
        &self,
        p: &Process,
        base: Base,
        columns: &[usize],
        values: &[Value],
        f: &mut dyn FnMut(Rowid, &[Value]) -> Result<()>,
    ) -> Result<()> {
        let snapshot = self.txns().statement_snapshot(p, &Txn::new());
        let done = self.scan_by(p, &snapshot, base, columns, values, f);
        self.txns().release(p, &snapshot);
        done
    }

    /// As [`Self::scan`], as of now.
    pub fn scan_once(&self, p: &Process, base: Base, f: &mut dyn FnMut(Rowid, &[Value]) -> Result<()>) -> Result<()> {
        let snapshot = self.txns().snapshot(p, &Txn::new());
        let done = self.scan(p, &snapshot, base, f);
        self.txns().release(p, &snapshot);
        done
    }

    /// True when an object is unchanged since `scn`: it existed with the same segment, and no DDL has changed it since.
    /// Always true for base tables.
    ///
    /// # Errors
    /// Those of reading; ORA-01555.
    pub fn is_unchanged_since(&self, p: &Process, object: ObjectId, scn: types::Scn) -> Result<bool> {
        if object.0 < crate::FIRST_USER_OBJECT {
            return Ok(true);
        }
        let state = |s: &Snapshot| {
            let mut found = None;
            self.scan(p, s, Base::Obj, &mut |_, row| {
                if as_u32(&row[crate::base::obj::OBJ]) == object.0 {
                    let state = [crate::base::obj::DATAOBJ, crate::base::obj::MTIME, crate::base::obj::SPARE1];
                    found = Some(state.map(|column| row[column].clone()));
                }
                Ok(())
            })?;
            Ok::<_, Ora>(found)
        };
        let now = self.txns().statement_snapshot(p, &Txn::new());
        let present = state(&now);
        self.txns().release(p, &now);
        let then = state(&Snapshot { scn, xid: None, own: None, serializable: false })?;
        Ok(then.is_some() && then == present?)
    }
}

/// Appends the index key of the values; nothing when all of them are NULL, because an index has no entry for these.
pub(crate) fn push_key<'v>(values: impl Iterator<Item = &'v Value> + Clone, to: &mut Vec<u8>) {
    if values.clone().all(Value::is_null) {
        return;
    }
    let mut stored = Vec::new();
    for value in values {
        if value.is_null() {
            codec::push_key_part(None, false, to);
            continue;
        }
        stored.clear();
        codec::encode_instant(value, &mut stored);
        codec::push_key_part(Some(&stored), false, to);
    }
}

/// Appends the key of a row in an index of [`BASE_INDEXES`].
pub(crate) fn key_of(index: usize, row: &[Value], to: &mut Vec<u8>) {
    const MISSING: &Value = &Value::Null;
    push_key(index_columns(index).iter().map(|column| row.get(*column).unwrap_or(MISSING)), to);
}
