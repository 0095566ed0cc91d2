//! A moment of the dictionary: what a picture reads its rows as of.
//!
//! A picture reads a definition when it is first asked for, and all that it reads is of one moment. While a call uses
//! the picture, a noted snapshot keeps the undo and the entries of indexes that the moment needs. Between calls nothing
//! is kept: as long as the dictionary's epoch has not moved, a snapshot of now shows the same rows, so the next call
//! takes a new one. A picture whose epoch has moved between calls is not used again.
//!
//! Rows by the keys of indexes come from the row cache as long as the epoch has not moved: whoever commits a change of
//! the dictionary moves the epoch before the rows leave the cache, and again behind it.
//!
//! A noted snapshot for the life of a picture was rejected: a session that is idle for a day would keep a day's undo
//! and the deleted entries of all indexes.

use crate::base::{Base, index_columns};
use crate::cached::{each_row, push_row, row_key};
use crate::image::BaseReader;
use crate::rows::{Row, decode};
use crate::shared::DictionaryShared;
use process::Process;
use row_cache::{Found, Key};
use std::cell::RefCell;
use std::rc::Rc;
use txn::{Snapshot, Txn};
use types::{Ora, Result, Rowid, Value};

/// See the module.
pub(crate) struct Moment {
    shared: DictionaryShared,
    p: Rc<Process>,
    epoch: u64,
    snapshot: RefCell<Option<Snapshot>>,
}

impl Moment {
    /// This moment, held.
    pub fn now(shared: &DictionaryShared, p: &Rc<Process>) -> Rc<Moment> {
        let epoch = shared.epoch();
        let snapshot = RefCell::new(Some(shared.txns().statement_snapshot(p, &Txn::new())));
        Rc::new(Moment { shared: shared.clone(), p: Rc::clone(p), epoch, snapshot })
    }

    /// The epoch before the snapshot.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub fn is_held(&self) -> bool {
        self.snapshot.borrow().is_some()
    }

    /// Holds the moment again; false where the dictionary has moved on.
    pub fn hold(&self) -> bool {
        if self.is_held() {
            return true;
        }
        if !self.is_now() {
            return false;
        }
        let snapshot = self.shared.txns().statement_snapshot(&self.p, &Txn::new());
        *self.snapshot.borrow_mut() = Some(snapshot);
        // DDL that has committed before the snapshot has moved the epoch, or is about to.
        if !self.is_now() {
            self.release();
            return false;
        }
        true
    }

    /// Whether nothing has been defined since.
    fn is_now(&self) -> bool {
        self.shared.epoch() == self.epoch && DictionaryShared::is_settled(self.epoch)
    }

    /// Holds it no longer.
    pub fn release(&self) {
        if let Some(snapshot) = self.snapshot.borrow_mut().take() {
            self.shared.txns().release(&self.p, &snapshot);
        }
    }

    /// The snapshot to read by.
    fn snapshot(&self) -> Result<Snapshot> {
        if let Some(snapshot) = *self.snapshot.borrow() {
            return Ok(snapshot);
        }
        // Between calls, and others have defined something since.
        let snapshot = self.hold().then(|| *self.snapshot.borrow()).flatten();
        snapshot.ok_or_else(|| Ora::new(8176))
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        self.release();
    }
}

impl BaseReader for Moment {
    fn scan(&self, base: Base, f: &mut dyn FnMut(&[Value]) -> Result<()>) -> Result<()> {
        self.shared.scan(&self.p, &self.snapshot()?, base, &mut |_, row| f(row))
    }

    fn scan_by(
        &self,
        base: Base,
        columns: &[usize],
        values: &[Value],
        f: &mut dyn FnMut(&[Value]) -> Result<()>,
    ) -> Result<()> {
        let snapshot = self.snapshot()?;
        let read = |f: &mut dyn FnMut(Rowid, &[u8], &[Value]) -> Result<()>| {
            self.shared.scan_stored_by(&self.p, &snapshot, base, columns, values, f)
        };
        let plain = |f: &mut dyn FnMut(&[Value]) -> Result<()>| read(&mut |_, _, row| f(row));
        // Rows of all its columns are what an index has a key of.
        let index = base.index_on(columns).filter(|index| index_columns(*index).len() == columns.len());
        let key = index.and_then(|index| row_key(index, values.iter()));
        let Some((rows, (cache, key))) = self.shared.row_cache().zip(key) else { return plain(f) };
        let (key, mut stored) = (Key::new(cache, &key), Vec::new());
        match rows.get_long(&self.p, &key, &mut stored) {
            // What is in the cache is of now.
            Found::Hit if self.is_now() => {
                let mut row = Row::new();
                each_row(&stored, &mut |bytes| {
                    decode(base, bytes, &mut row)?;
                    f(&row)
                })
            }
            // A commit between the look and this question has moved the epoch: what is read as of the moment is of now.
            Found::Miss(load) if self.is_now() => {
                let mut any = false;
                stored.clear();
                read(&mut |_, bytes, row| {
                    any = true;
                    push_row(&mut stored, bytes);
                    f(row)
                })?;
                load.store_long(&key, any.then_some(&stored));
                Ok(())
            }
            Found::Hit | Found::Miss(_) | Found::Bypass => plain(f),
        }
    }

    fn header(&self, base: Base) -> types::Rdba {
        self.shared.header(base)
    }
}
