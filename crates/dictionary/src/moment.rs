//! A moment of the dictionary: the snapshot as of which a picture reads its rows.
//!
//! A picture reads a definition on demand, and all its reads are of one moment (D2). The user of a picture holds a
//! lease of the moment. While there is a lease, a registered snapshot keeps the undo and the index entries that the
//! moment needs; without a lease nothing is kept. As long as no object has been defined since, a present snapshot shows
//! the same rows, so the next lease takes a new snapshot. A moment that has passed cannot be leased again.
//!
//! Rows by the keys of indexes come from the row cache as long as no object has been defined since. DDL moves the epoch
//! before its rows are removed from the cache, and again afterwards. A commit of SQL that changes base tables closes
//! caches, which the row cache counts (D8).
//!
//! Rejected: a registered snapshot for the life of a picture or of a call. A session that is idle for a day, or a call
//! that commits for hours, would keep the undo and the deleted index entries of that time.

use crate::base::{Base, index_columns};
use crate::cached::{each_row, push_row, row_key};
use crate::rows::{Row, as_u32, decode};
use crate::shared::DictionaryShared;
use process::Process;
use row_cache::{Found, Key, RowCache};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use txn::{Snapshot, Txn};
use types::row::{Column, RowReader};
use types::{DataType, Ora, Result, Value, codec};

/// A moment; see the module documentation.
pub(crate) struct Moment {
    shared: DictionaryShared,
    p: Rc<Process>,
    epoch: u64,
    /// The count of whole caches closed so far.
    closings: u64,
    leases: Cell<usize>,
    snapshot: Cell<Option<Snapshot>>,
    /// A buffer for rows from the row cache.
    stored: RefCell<Vec<u8>>,
}

/// The right to read as of a moment; see the module documentation.
pub(crate) struct Lease(Rc<Moment>);

impl Clone for Lease {
    fn clone(&self) -> Lease {
        self.0.leases.set(self.0.leases.get() + 1);
        Lease(Rc::clone(&self.0))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let left = self.0.leases.get() - 1;
        self.0.leases.set(left);
        if left == 0
            && let Some(snapshot) = self.0.snapshot.take()
        {
            self.0.shared.txns().release(&self.0.p, &snapshot);
        }
    }
}

impl Moment {
    /// The present moment, and a lease of it.
    pub fn now(shared: &DictionaryShared, p: &Rc<Process>) -> (Rc<Moment>, Lease) {
        let (epoch, closings) = (shared.epoch(), shared.row_cache().map_or(0, RowCache::closings));
        let snapshot = shared.txns().statement_snapshot(p, &Txn::new());
        let moment = Rc::new(Moment {
            shared: shared.clone(),
            p: Rc::clone(p),
            epoch,
            closings,
            leases: Cell::new(1),
            snapshot: Cell::new(Some(snapshot)),
            stored: RefCell::default(),
        });
        (Rc::clone(&moment), Lease(moment))
    }

    /// The epoch, read before the snapshot was taken.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// True when no object has been defined since.
    fn is_now(&self) -> bool {
        self.shared.epoch() == self.epoch
            && DictionaryShared::is_settled(self.epoch)
            && self.shared.row_cache().map_or(0, RowCache::closings) == self.closings
    }

    /// A lease; `None` when the moment has passed.
    pub fn lease(self: &Rc<Moment>) -> Option<Lease> {
        if !self.is_now() {
            return None;
        }
        if self.leases.get() == 0 {
            self.snapshot.set(Some(self.shared.txns().statement_snapshot(&self.p, &Txn::new())));
        }
        self.leases.set(self.leases.get() + 1);
        let lease = Lease(Rc::clone(self));
        // A DDL that committed before the snapshot has moved the epoch already, or has marked it as changing.
        self.is_now().then_some(lease)
    }

    /// Calls `f` with the snapshot of the leases, or with a temporary one.
    fn with_snapshot<R>(&self, f: impl FnOnce(&Snapshot) -> Result<R>) -> Result<R> {
        if let Some(snapshot) = self.snapshot.get() {
            return f(&snapshot);
        }
        let passed = || Err(Ora::new(8176));
        if !self.is_now() {
            return passed();
        }
        let snapshot = self.shared.txns().statement_snapshot(&self.p, &Txn::new());
        let done = if self.is_now() { f(&snapshot) } else { passed() };
        self.shared.txns().release(&self.p, &snapshot);
        done
    }
}

impl Moment {
    /// Calls `f` with the stored rows of a base table that have these values in these columns.
    fn stored_by(
        &self,
        base: Base,
        columns: &[usize],
        values: &[Value],
        f: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let read = |f: &mut dyn FnMut(&[u8]) -> Result<()>| {
            self.with_snapshot(|snapshot| {
                self.shared.scan_stored_by(&self.p, snapshot, base, columns, values, &mut |_, bytes| f(bytes))
            })
        };
        // The row cache has a key only for all columns of an index.
        let index = base.index_on(columns).filter(|index| index_columns(*index).len() == columns.len());
        let key = index.and_then(|index| row_key(index, values.iter()));
        let Some((rows, (cache, key))) = self.shared.row_cache().zip(key) else { return read(f) };
        let (key, mut stored) = (Key::new(cache, &key), self.stored.take());
        let done = match rows.get_long(&self.p, &key, &mut stored) {
            // The rows in the cache are present ones.
            Found::Hit if self.is_now() => each_row(&stored, f),
            // A commit between the cache look-up and this check would have changed the epoch or the count. So rows read
            // as of the moment are present ones and may be stored.
            Found::Miss(load) if self.is_now() => {
                let mut any = false;
                stored.clear();
                let done = read(&mut |bytes| {
                    any = true;
                    push_row(&mut stored, bytes);
                    f(bytes)
                });
                if done.is_ok() {
                    load.store_long(&key, any.then_some(&stored));
                }
                done
            }
            Found::Hit | Found::Miss(_) | Found::Bypass => read(f),
        };
        self.stored.replace(stored);
        done
    }
}

/// Reads of base tables as of the moment.
impl Moment {
    /// Calls `f` with every row.
    pub(crate) fn scan(&self, base: Base, f: &mut dyn FnMut(&[Value]) -> Result<()>) -> Result<()> {
        self.with_snapshot(|snapshot| self.shared.scan(&self.p, snapshot, base, &mut |_, row| f(row)))
    }

    /// Calls `f` with the rows that have these values in these columns.
    pub(crate) fn scan_by(
        &self,
        base: Base,
        columns: &[usize],
        values: &[Value],
        f: &mut dyn FnMut(&[Value]) -> Result<()>,
    ) -> Result<()> {
        let mut row = Row::new();
        self.stored_by(base, columns, values, &mut |bytes| {
            decode(base, bytes, &mut row)?;
            f(&row)
        })
    }

    /// The number in column `wanted` of the row that has these values in these columns.
    pub(crate) fn number_by(
        &self,
        base: Base,
        columns: &[usize],
        values: &[Value],
        wanted: usize,
    ) -> Result<Option<u32>> {
        let (mut number, mut value) = (None, Value::Null);
        self.stored_by(base, columns, values, &mut |bytes| {
            let stored = RowReader::new(bytes).and_then(|row| row.column(wanted)).and_then(Column::bytes);
            if let Some(stored) = stored {
                codec::decode_into(stored, &DataType::NUMBER, &mut value)?;
                number = Some(as_u32(&value));
            }
            Ok(())
        })?;
        Ok(number)
    }

    /// The segment header of a base table.
    pub(crate) fn header(&self, base: Base) -> types::Rdba {
        self.shared.header(base)
    }
}
