//! The shared part of the dictionary, and a process's handle on the dictionary.
//!
//! The shared part is a handful of words: the epoch, the next numbers, the places of the base tables, and the sequence
//! cache. The epoch word holds a counter in its high bits and, in its low 16 bits, the number of the process whose DDL
//! is being committed, or 0. A picture read while the number is not 0 is used for one statement and not kept, because
//! it is unknown on which side of the commit it was taken. So a statement that holds its TM locks and finds the epoch
//! of its picture unchanged uses current definitions (D3).

use crate::base::{BASE_INDEXES, Base, BaseIndex, bootstrap, index_columns};
use crate::image::BASE_PCTFREE;
use crate::moment::{Lease, Moment};
use crate::rows::{Row, as_u32, decode};
use crate::sequences::ENTRY_WORDS;
use crate::*;
use btree::{Btree, RangeScan};
use enqueue::Enqueues;
use heap::{Heap, HeapTable, RowBuffer, Scan};
use process::{CleanupOrder, Process, Processes};
use row_cache::RowCache;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::cell::RefCell;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use txn::{Snapshot, Transactions, Txn};
use types::{ObjectId, Ora, Rdba, Result, Rowid, Scn, Value, codec};

const EPOCH: usize = 0;
const NEXT_OBJECT: usize = 1;
const NEXT_USER: usize = 2;
const NEXT_CONSTRAINT: usize = 3;
const HEADERS: usize = 4;
const HEADERS_MAX: usize = 128;
const TREES: usize = HEADERS + HEADERS_MAX;
const TREES_MAX: usize = 128;
/// Of each tree: its segment, its root, the SCN of its creation.
const TREE_WORDS: usize = 3;
const MONITORING: usize = TREES + TREES_MAX * TREE_WORDS;
const COLUMN_USES: usize = MONITORING + crate::monitoring::WORDS;
const SEQUENCES: usize = COLUMN_USES + crate::column_use::WORDS;
/// The bits of the epoch word with the number of the process whose DDL is being committed.
const CHANGING: u64 = 0xFFFF;

/// The size of the shared part.
#[derive(Clone, Copy, Debug)]
pub struct DictionaryConfig {
    /// Number of sequences with cached numbers (`_sequence_cache_entries`). A sequence that does not fit loses its
    /// cached numbers, as at a shutdown.
    pub sequences: usize,
}

impl Default for DictionaryConfig {
    fn default() -> Self {
        DictionaryConfig { sequences: 512 }
    }
}

/// The place of the dictionary's words in the SGA.
#[derive(Clone, Copy, Debug)]
pub struct DictionaryLayout {
    words: SgaSlice<AtomicU64>,
}

impl DictionaryLayout {
    /// Reserves the words.
    pub fn reserve(sga: &mut SgaBuilder, config: &DictionaryConfig) -> DictionaryLayout {
        DictionaryLayout { words: sga.reserve("row cache", SEQUENCES + config.sequences.max(8) * ENTRY_WORDS) }
    }
}

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
    /// ORA-00704 when the database has no dictionary or lacks a base table; those of reading.
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
        let no_table = Base::ALL.iter().find(|base| self.header(**base).is_none()).map(|base| base.table().name);
        let no_tree = (0..BASE_INDEXES.len()).find(|n| self.tree(*n).root.is_none()).map(|n| BASE_INDEXES[n].name);
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
        let (tree, table) = (self.tree(base.index_on(columns).ok_or_else(missing)?), self.base_heap(base));
        let mut key = Vec::new();
        push_key(values.iter(), &mut key);
        let mut scan = RangeScan::new();
        scan.start(&tree, Bound::Included(&key), Bound::Included(&key), false);
        let (mut bytes, mut row) = (RowBuffer::new(), Row::new());
        while let Some((_, rowid)) = scan.next(&self.trees, p)? {
            bytes.clear();
            if !self.heap.fetch_by_rowid(p, snapshot, &table, rowid, &mut bytes)? {
                continue;
            }
            decode(base, &bytes, &mut row)?;
            // The entry may belong to another version of the row.
            if columns.iter().zip(values).all(|(column, value)| row[*column] == *value) {
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

impl DictionaryShared {
    /// A picture of the present dictionary.
    pub fn picture(&self, p: &Rc<Process>) -> Picture {
        let (moment, lease) = Moment::now(self, p);
        Picture { image: Rc::new(Image::new(moment, Rc::default())), _lease: lease }
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

/// A process's dictionary: the shared part, and the current picture.
pub struct Dictionary {
    shared: DictionaryShared,
    fixed: Rc<dyn FixedCatalog>,
    p: Rc<Process>,
    image: Option<Rc<Image>>,
    fault: Rc<RefCell<Option<Ora>>>,
    verdicts: Verdicts,
}

/// A picture with a lease of its moment.
#[derive(Clone)]
pub struct Picture {
    image: Rc<Image>,
    _lease: Lease,
}

impl std::ops::Deref for Picture {
    type Target = Image;

    fn deref(&self) -> &Image {
        &self.image
    }
}

impl Dictionary {
    pub fn new(shared: DictionaryShared, fixed: Rc<dyn FixedCatalog>, p: &Rc<Process>) -> Dictionary {
        let (p, fault, verdicts) = (Rc::clone(p), Rc::default(), Verdicts::default());
        Dictionary { shared, fixed, p, image: None, fault, verdicts }
    }

    pub fn shared(&self) -> &DictionaryShared {
        &self.shared
    }

    pub fn fixed(&self) -> &Rc<dyn FixedCatalog> {
        &self.fixed
    }

    /// True when an object made at `epoch` is still valid: one load.
    #[inline]
    pub fn is_current(&self, epoch: u64) -> bool {
        self.shared.epoch() == epoch && DictionaryShared::is_settled(epoch)
    }

    /// A picture of the present dictionary. It keeps showing this moment, whatever other sessions define later.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn image(&mut self) -> Result<Picture> {
        let (image, lease) = self.leased()?;
        Ok(Picture { image, _lease: lease })
    }

    fn leased(&mut self) -> Result<(Rc<Image>, Lease)> {
        self.checked()?;
        if let Some(image) = &self.image
            && let Some(lease) = self.lease(image)
        {
            return Ok((Rc::clone(image), lease));
        }
        let (moment, lease) = Moment::now(&self.shared, &self.p);
        let image = Rc::new(Image::new(moment, Rc::clone(&self.fault)));
        self.image = Some(Rc::clone(&image));
        Ok((image, lease))
    }

    fn lease(&self, image: &Image) -> Option<Lease> {
        let is_good = image.is_small() && image.checked().is_ok() && self.checked().is_ok();
        is_good.then(|| image.moment().lease()).flatten()
    }

    /// The same names with a new lease; `None` when their picture is no longer current.
    pub fn names_again(&self, names: &SessionCatalog) -> Option<SessionCatalog> {
        self.lease(names.image()).map(|lease| names.leased(lease))
    }

    /// Checks that every read of this dictionary's pictures has succeeded (D17).
    ///
    /// # Errors
    /// The first read error, until [`Self::take_fault`]. Decisions made since may be wrong.
    pub fn checked(&self) -> Result<()> {
        match &*self.fault.borrow() {
            None => Ok(()),
            Some(fault) => Err(fault.clone()),
        }
    }

    /// Takes the first read error at the end of a call.
    pub fn take_fault(&self) -> Option<Ora> {
        self.fault.borrow_mut().take()
    }

    /// Name resolution for a user.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn names(&mut self, who: &Who) -> Result<SessionCatalog> {
        let (image, lease) = self.leased()?;
        let names = SessionCatalog::new(image, self.fixed.clone(), who);
        Ok(names.leased(lease).noting(Rc::clone(&self.verdicts)))
    }

    /// Results of compiling units and views that are not stored yet.
    pub fn verdicts(&self) -> &Verdicts {
        &self.verdicts
    }

    /// The user with this (dictionary-form) name.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn user(&mut self, name: &str) -> Result<Option<Rc<UserDef>>> {
        let image = self.image()?;
        let found = image.user_named(name);
        let found = found.filter(|user| !user.is_role).cloned();
        image.checked()?;
        Ok(found)
    }

    /// Checks that a user may log on.
    ///
    /// # Errors
    /// ORA-01045 without CREATE SESSION; as [`Self::image`].
    pub fn may_connect(&mut self, user: &UserDef) -> Result<()> {
        match self.has_at_logon(user, SystemPrivilege::CreateSession)? {
            true => Ok(()),
            false => Err(Ora::with(1045, &[&user.name])),
        }
    }

    /// True when a user may log on while the instance is in restricted mode.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn may_enter_restricted(&mut self, user: &UserDef) -> Result<bool> {
        self.has_at_logon(user, SystemPrivilege::RestrictedSession)
    }

    fn has_at_logon(&mut self, user: &UserDef, privilege: SystemPrivilege) -> Result<bool> {
        let image = self.image()?;
        let mut grantees = image.default_roles(user.id);
        grantees.extend([user.id.0, UserId::PUBLIC.0]);
        let has = user.id == UserId::SYS || image.is_granted(&grantees, privilege);
        image.checked()?;
        Ok(has)
    }

    /// The limits of a user's profile.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn profile_of(&mut self, user: &UserDef) -> Result<crate::Profile> {
        let image = self.image()?;
        let profile = image.profiles().profile(&user.profile);
        image.checked()?;
        Ok(profile)
    }

    /// Begins a change of the dictionary in `txn`.
    pub fn change<'a>(&'a self, p: &'a Process, txn: &'a mut Txn) -> Change<'a> {
        Change::new(&self.shared, p, txn)
    }
}
