//! What the instance shares of the dictionary, and a process's own handle on it.
//!
//! Shared are a handful of words: the epoch, the next numbers, where the base tables are, and the sequence cache. The
//! epoch word has a counter above and, in its low 16 bits, the number of the process whose DDL is being committed just
//! now, or 0. A picture read while it is not 0 is used for one statement and not kept, because nobody can say on which
//! side of that commit it was taken. So a statement that finds its picture's epoch unchanged, after it holds its TM
//! locks, cannot run on a definition that has changed.

use crate::base::{Base, bootstrap};
use crate::cached::Look;
use crate::image::BASE_PCTFREE;
use crate::rows::{Row, as_u32, decode};
use crate::sequences::ENTRY_WORDS;
use crate::*;
use enqueue::Enqueues;
use heap::{Heap, HeapTable, Scan};
use process::{CleanupOrder, Process, Processes};
use row_cache::RowCache;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use txn::{Snapshot, Transactions, Txn};
use types::{ObjectId, Ora, Rdba, Result, Rowid, Value};

const EPOCH: usize = 0;
const NEXT_OBJECT: usize = 1;
const NEXT_USER: usize = 2;
const NEXT_CONSTRAINT: usize = 3;
const HEADERS: usize = 4;
const HEADERS_MAX: usize = 128;
const MONITORING: usize = HEADERS + HEADERS_MAX;
const COLUMN_USES: usize = MONITORING + crate::monitoring::WORDS;
const SEQUENCES: usize = COLUMN_USES + crate::column_use::WORDS;
/// The part of the epoch word that names the process whose DDL is being committed.
const CHANGING: u64 = 0xFFFF;

/// How large the shared part is.
#[derive(Clone, Copy, Debug)]
pub struct DictionaryConfig {
    /// Sequences whose cached numbers the instance can hold at once (`_sequence_cache_entries`). One that does not fit
    /// loses its cached numbers, as at a shutdown.
    pub sequences: usize,
}

impl Default for DictionaryConfig {
    fn default() -> Self {
        DictionaryConfig { sequences: 512 }
    }
}

/// Where the dictionary's words lie in the SGA.
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

/// The dictionary's shared part. Clones share everything; inherited by `fork`.
#[derive(Clone)]
pub struct DictionaryShared {
    words: &'static [AtomicU64],
    pub(crate) heap: Heap,
    pub(crate) enqueues: Enqueues,
    pub(crate) rows: Option<&'static RowCache>,
}

impl DictionaryShared {
    /// Makes the face of the words. Run once by the supervisor; then either [`Self::create_database`] or
    /// [`Self::open`].
    pub fn create(sga: &'static Sga, layout: &DictionaryLayout, heap: &Heap, enqueues: &Enqueues) -> DictionaryShared {
        assert!(Base::ALL.len() <= HEADERS_MAX, "room for the base tables' addresses");
        let shared =
            DictionaryShared { words: sga.slice(layout.words), heap: heap.clone(), enqueues: *enqueues, rows: None };
        shared.words[EPOCH].store(1 << 16, Ordering::Release);
        shared
    }

    /// Look-ups go through this row cache. Without one, as in tests of what lies below, they go to the dictionary
    /// itself.
    #[must_use]
    pub fn with_row_cache(self, rows: &'static RowCache) -> DictionaryShared {
        DictionaryShared { rows: Some(rows), ..self }
    }

    /// Lets PMON end the commit of a DDL whose process died in it.
    pub fn register_with(&self, all: &Processes) {
        let words = self.words;
        all.on_death(CleanupOrder::Enqueues, "dictionary epoch", move |_, dead| {
            let epoch = words[EPOCH].load(Ordering::Acquire);
            if epoch & CHANGING == u64::from(dead) {
                words[EPOCH].store((epoch & !CHANGING) + CHANGING + 1, Ordering::Release);
            }
        });
    }

    /// Reads where the base tables are and which numbers are taken. `SYSTEM`'s first file is number 1.
    ///
    /// # Errors
    /// ORA-00704 when the database has no dictionary or lacks a base table; those of reading.
    pub fn open(&self, p: &Process) -> Result<()> {
        self.set_header(Base::Bootstrap, self.bootstrap_header());
        let failed = |e: Ora| Ora::new(704).because(e);
        let mut found = Vec::new();
        self.scan_once(p, Base::Bootstrap, &mut |_, row| {
            if let Some(base) = Base::of_object(ObjectId(as_u32(&row[bootstrap::OBJ]))) {
                found.push((base, Rdba::new(as_u32(&row[bootstrap::FILE]), as_u32(&row[bootstrap::BLOCK]))));
            }
            Ok(())
        })
        .map_err(failed)?;
        for (base, header) in &found {
            self.set_header(*base, *header);
        }
        if let Some(missing) = Base::ALL.iter().find(|base| self.header(**base).is_none()) {
            return Err(failed(Ora::internal(format_args!("[no {}]", missing.table().name))));
        }
        self.seed_numbers(p)
    }

    /// The block where the first segment of SYSTEM begins.
    pub(crate) fn bootstrap_header(&self) -> Rdba {
        Rdba::new(1, datafile::DataFiles::first_data_block_of(self.txns().cache().block_size()))
    }

    pub(crate) fn seed_numbers(&self, p: &Process) -> Result<()> {
        let image = self.load(p)?;
        let set = |at: usize, value: u32| self.words[at].store(u64::from(value) + 1, Ordering::Relaxed);
        let dropped = self.noted_drops(p)?.iter().map(|d| d.object.0).max().unwrap_or(0);
        set(NEXT_OBJECT, image.max_object().max(dropped));
        set(NEXT_USER, image.max_user().max(100));
        set(NEXT_CONSTRAINT, image.max_constraint().max(7_000));
        Ok(())
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

    /// The epoch word: one load. A picture is current when its epoch is this and [`Self::is_settled`] says so.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.words[EPOCH].load(Ordering::Acquire)
    }

    /// Whether no DDL was being committed at that epoch.
    #[inline]
    pub fn is_settled(epoch: u64) -> bool {
        epoch & CHANGING == 0
    }

    /// A number for the dictionary of that epoch; none while DDL was being committed. It comes again after 2^32 changes.
    #[inline]
    pub fn number_of(epoch: u64) -> Option<u32> {
        DictionaryShared::is_settled(epoch).then_some((epoch / (CHANGING + 1)) as u32)
    }

    /// Before DDL commits: from here until [`Self::end_change`] no picture is kept. The caller holds the DD enqueue.
    pub(crate) fn begin_change(&self, p: &Process) {
        let epoch = self.words[EPOCH].load(Ordering::Relaxed) & !CHANGING;
        self.words[EPOCH].store(epoch | u64::from(p.number()), Ordering::Release);
    }

    /// After DDL has committed or failed: pictures of the epochs before are stale.
    pub(crate) fn end_change(&self) {
        let epoch = self.words[EPOCH].load(Ordering::Relaxed) & !CHANGING;
        self.words[EPOCH].store(epoch + CHANGING + 1, Ordering::Release);
    }

    /// A new object or data object number.
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

    fn header(&self, base: Base) -> Rdba {
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

    /// As [`Self::scan`], as of now.
    pub fn scan_once(&self, p: &Process, base: Base, f: &mut dyn FnMut(Rowid, &[Value]) -> Result<()>) -> Result<()> {
        let snapshot = self.txns().snapshot(p, &Txn::new());
        let done = self.scan(p, &snapshot, base, f);
        self.txns().release(p, &snapshot);
        done
    }

    /// Whether an object is what it was at `scn`: it was there, with the same segment, and no DDL has changed it since.
    /// The dictionary's own tables always are.
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

    /// Reads a picture of the dictionary as of now.
    pub fn load(&self, p: &Process) -> Result<Image> {
        let epoch = self.epoch();
        let states = self.rows.map(RowCache::states);
        let snapshot = self.txns().snapshot(p, &Txn::new());
        let reader = HeapReader { shared: self, p, snapshot };
        let headers: Vec<_> = Base::ALL.iter().map(|base| (*base, self.header(*base))).collect();
        let mut image = Image::load(&reader, epoch, &headers);
        self.txns().release(p, &snapshot);
        if let (Ok(image), Some(states)) = (&mut image, states) {
            image.set_states(states);
        }
        image
    }
}

/// Reads base tables as of one snapshot.
struct HeapReader<'a> {
    shared: &'a DictionaryShared,
    p: &'a Process,
    snapshot: Snapshot,
}

impl image::BaseReader for HeapReader<'_> {
    fn scan(&self, base: Base, f: &mut dyn FnMut(&[Value]) -> Result<()>) -> Result<()> {
        self.shared.scan(self.p, &self.snapshot, base, &mut |_, row| f(row))
    }
}

/// A process's dictionary: the shared part, and the picture it last read.
pub struct Dictionary {
    shared: DictionaryShared,
    fixed: Rc<dyn FixedCatalog>,
    image: Option<Rc<Image>>,
    look: Option<Look>,
    verdicts: Verdicts,
}

impl Dictionary {
    pub fn new(shared: DictionaryShared, fixed: Rc<dyn FixedCatalog>) -> Dictionary {
        Dictionary { shared, fixed, image: None, look: None, verdicts: Verdicts::default() }
    }

    /// From now on look-ups go through the row cache, if the instance has one, as those of `p`.
    #[must_use]
    pub fn looking_up_as(self, p: &Rc<Process>) -> Dictionary {
        let look = self.shared.rows.map(|rows| Look::new(p, rows));
        Dictionary { look, ..self }
    }

    /// Begins with a picture that was read before.
    #[must_use]
    pub fn beginning_with(self, image: Option<Rc<Image>>) -> Dictionary {
        Dictionary { image, ..self }
    }

    /// Gives away the picture that it has read.
    pub fn take_image(&mut self) -> Option<Rc<Image>> {
        self.image.take()
    }

    pub fn shared(&self) -> &DictionaryShared {
        &self.shared
    }

    pub fn fixed(&self) -> &Rc<dyn FixedCatalog> {
        &self.fixed
    }

    /// Whether something made at `epoch` is still good: one load.
    #[inline]
    pub fn is_current(&self, epoch: u64) -> bool {
        self.shared.epoch() == epoch && DictionaryShared::is_settled(epoch)
    }

    /// The current picture, read again if the epoch has moved.
    ///
    /// # Errors
    /// Those of reading; ORA-01555.
    pub fn image(&mut self, p: &Process) -> Result<Rc<Image>> {
        if let Some(image) = self.image.as_ref().filter(|image| self.is_current(image.epoch())) {
            return Ok(image.clone());
        }
        let image = Rc::new(self.shared.load(p)?);
        self.image = Some(image.clone());
        Ok(image)
    }

    /// Names as they resolve for somebody.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn names(&mut self, p: &Process, who: &Who) -> Result<SessionCatalog> {
        let image = self.image(p)?;
        let names = SessionCatalog::new(image, self.fixed.clone(), who);
        Ok(names.looking_up(self.look.clone()).noting(Rc::clone(&self.verdicts)))
    }

    /// Results of compiling units and views that are not stored yet.
    pub fn verdicts(&self) -> &Verdicts {
        &self.verdicts
    }

    /// The user of that (dictionary-form) name.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn user(&mut self, p: &Process, name: &str) -> Result<Option<Rc<UserDef>>> {
        let image = self.image(p)?;
        let found = match &self.look {
            Some(look) => look.user_named(&image, name),
            None => image.user_named(name),
        };
        Ok(found.filter(|user| !user.is_role).cloned())
    }

    /// Whether a user may log on.
    ///
    /// # Errors
    /// ORA-01045 without CREATE SESSION; as [`Self::image`].
    pub fn may_connect(&mut self, p: &Process, user: &UserDef) -> Result<()> {
        match self.has_at_logon(p, user, SystemPrivilege::CreateSession)? {
            true => Ok(()),
            false => Err(Ora::with(1045, &[&user.name])),
        }
    }

    /// Whether a user may log on while the instance is in restricted mode.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn may_enter_restricted(&mut self, p: &Process, user: &UserDef) -> Result<bool> {
        self.has_at_logon(p, user, SystemPrivilege::RestrictedSession)
    }

    fn has_at_logon(&mut self, p: &Process, user: &UserDef, privilege: SystemPrivilege) -> Result<bool> {
        let image = self.image(p)?;
        let mut grantees = image.default_roles(user.id);
        grantees.extend([user.id.0, UserId::PUBLIC.0]);
        Ok(user.id == UserId::SYS || image.is_granted(&grantees, privilege))
    }

    /// The limits of a user's profile.
    ///
    /// # Errors
    /// As [`Self::image`].
    pub fn profile_of(&mut self, p: &Process, user: &UserDef) -> Result<crate::Profile> {
        Ok(self.image(p)?.profiles().profile(&user.profile))
    }

    /// Begins a change of the dictionary in `txn`.
    pub fn change<'a>(&'a self, p: &'a Process, txn: &'a mut Txn) -> Change<'a> {
        Change::new(&self.shared, p, txn)
    }
}
