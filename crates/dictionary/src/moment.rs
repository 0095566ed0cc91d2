//! A moment of the dictionary: what a picture reads its rows as of.
//!
//! A picture reads a definition when it is first asked for, and all that it reads is of one moment. While a call uses
//! the picture, a noted snapshot keeps the undo and the entries of indexes that the moment needs. Between calls nothing
//! is kept: as long as the dictionary's epoch has not moved, a snapshot of now shows the same rows, so the next call
//! takes a new one. A picture whose epoch has moved between calls is not used again.
//!
//! A noted snapshot for the life of a picture was rejected: a session that is idle for a day would keep a day's undo
//! and the deleted entries of all indexes.

use crate::base::Base;
use crate::image::BaseReader;
use crate::shared::DictionaryShared;
use process::Process;
use row_cache::{Cache, RowCache};
use std::cell::RefCell;
use std::rc::Rc;
use txn::{Snapshot, Txn};
use types::{Ora, Result, Value};

/// See the module.
pub(crate) struct Moment {
    shared: DictionaryShared,
    p: Rc<Process>,
    epoch: u64,
    /// The states of the row cache before.
    states: Option<[u64; Cache::COUNT]>,
    snapshot: RefCell<Option<Snapshot>>,
}

impl Moment {
    /// This moment, held.
    pub fn now(shared: &DictionaryShared, p: &Rc<Process>) -> Rc<Moment> {
        let (epoch, states) = (shared.epoch(), shared.row_cache().map(RowCache::states));
        let snapshot = RefCell::new(Some(shared.txns().statement_snapshot(p, &Txn::new())));
        Rc::new(Moment { shared: shared.clone(), p: Rc::clone(p), epoch, states, snapshot })
    }

    /// The epoch before the snapshot.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The state of a cache before: rows that are read as of the moment may be stored as of it.
    pub fn state(&self, cache: Cache) -> u64 {
        // Without a row cache: no state that a cache can have.
        self.states.map_or(u64::MAX, |states| states[cache as usize])
    }

    pub fn is_held(&self) -> bool {
        self.snapshot.borrow().is_some()
    }

    /// Holds the moment again; false where the dictionary has moved on.
    pub fn hold(&self) -> bool {
        let is_now = || self.shared.epoch() == self.epoch && DictionaryShared::is_settled(self.epoch);
        if self.is_held() {
            return true;
        }
        if !is_now() {
            return false;
        }
        let snapshot = self.shared.txns().statement_snapshot(&self.p, &Txn::new());
        *self.snapshot.borrow_mut() = Some(snapshot);
        // DDL that has committed before the snapshot has moved the epoch, or is about to.
        if !is_now() {
            self.release();
            return false;
        }
        true
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
        self.shared.scan_by(&self.p, &self.snapshot()?, base, columns, values, &mut |_, row| f(row))
    }

    fn header(&self, base: Base) -> types::Rdba {
        self.shared.header(base)
    }
}
