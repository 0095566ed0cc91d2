//! A moment of the dictionary: what a picture reads its rows as of.
//!
//! A picture reads a definition when it is first asked for, and all that it reads is of one moment. Whoever uses the
//! picture has a lease of the moment: as long as there is one, a noted snapshot keeps the undo and the entries of
//! indexes that the moment needs. Without a lease nothing is kept. As long as nothing has been defined, a snapshot of
//! now shows the same rows, so the next lease takes a new one; a moment that has passed cannot be leased again.
//!
//! Rows by the keys of indexes come from the row cache as long as nothing has been defined since: DDL moves the epoch
//! before its rows leave the cache, and again behind it; a commit of SQL that changes base tables closes caches, which
//! the row cache counts.
//!
//! Rejected: a noted snapshot for the life of a picture, or of a call. A session that is idle for a day, or a call that
//! commits for hours, would keep a day's undo and the deleted entries of all indexes.

use crate::base::{Base, index_columns};
use crate::cached::{each_row, push_row, row_key};
use crate::image::BaseReader;
use crate::rows::{Row, as_u32, decode};
use crate::shared::DictionaryShared;
use process::Process;
use row_cache::{Found, Key, RowCache};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use txn::{Snapshot, Txn};
use types::row::{Column, RowReader};
use types::{DataType, Ora, Result, Value, codec};

/// See the module.
pub(crate) struct Moment {
    shared: DictionaryShared,
    p: Rc<Process>,
    epoch: u64,
    /// The caches that had been closed as a whole before.
    closings: u64,
    leases: Cell<usize>,
    snapshot: Cell<Option<Snapshot>>,
    /// Memory for what the row cache has.
    stored: RefCell<Vec<u8>>,
}

/// The right to read as of a moment. See the module.
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
    /// This moment.
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

    /// The epoch before the snapshot.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether nothing has been defined since.
    fn is_now(&self) -> bool {
        self.shared.epoch() == self.epoch
            && DictionaryShared::is_settled(self.epoch)
            && self.shared.row_cache().map_or(0, RowCache::closings) == self.closings
    }

    /// A lease, where the moment has not passed.
    pub fn lease(self: &Rc<Moment>) -> Option<Lease> {
        if !self.is_now() {
            return None;
        }
        if self.leases.get() == 0 {
            self.snapshot.set(Some(self.shared.txns().statement_snapshot(&self.p, &Txn::new())));
        }
        self.leases.set(self.leases.get() + 1);
        let lease = Lease(Rc::clone(self));
        // DDL that has committed before the snapshot has moved the epoch, or is about to.
        self.is_now().then_some(lease)
    }

    /// Calls `f` with the snapshot to read by: that of the leases, or one for this reading.
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
        // Rows of all its columns are what an index has a key of.
        let index = base.index_on(columns).filter(|index| index_columns(*index).len() == columns.len());
        let key = index.and_then(|index| row_key(index, values.iter()));
        let Some((rows, (cache, key))) = self.shared.row_cache().zip(key) else { return read(f) };
        let (key, mut stored) = (Key::new(cache, &key), self.stored.take());
        let done = match rows.get_long(&self.p, &key, &mut stored) {
            // The rows in the cache are of now.
            Found::Hit if self.is_now() => each_row(&stored, f),
            // A commit between the look and this question has moved the epoch or the count: what is read as of the
            // moment is of now.
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

impl BaseReader for Moment {
    fn scan(&self, base: Base, f: &mut dyn FnMut(&[Value]) -> Result<()>) -> Result<()> {
        self.with_snapshot(|snapshot| self.shared.scan(&self.p, snapshot, base, &mut |_, row| f(row)))
    }

    fn scan_by(
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

    fn number_by(&self, base: Base, columns: &[usize], values: &[Value], wanted: usize) -> Result<Option<u32>> {
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

    fn header(&self, base: Base) -> types::Rdba {
        self.shared.header(base)
    }
}
