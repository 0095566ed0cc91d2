//! The settings of SET CONSTRAINTS, and the notes of a transaction.

use crate::spill::TempFile;
use crate::spill::pool::Pool;
use space::TempSpace;
use std::collections::{BTreeSet, HashMap};

/// A session's settings, and the notes of its transaction.
#[derive(Default)]
pub struct Constraints {
    /// ALTER SESSION SET CONSTRAINTS; `None` is DEFAULT.
    pub(super) session: Option<bool>,
    pub(super) transaction: Transaction,
}

/// State that ends with the transaction; an autonomous transaction has its own.
#[derive(Default)]
pub struct Transaction {
    /// SET CONSTRAINTS ALL, and later settings of single constraints.
    pub(super) all: Option<bool>,
    pub(super) named: HashMap<u32, bool>,
    pub(super) notes: Notes,
}

impl Constraints {
    /// SET CONSTRAINTS ALL.
    pub fn set_all(&mut self, deferred: bool) {
        self.transaction.named.clear();
        self.transaction.all = Some(deferred);
    }

    /// SET CONSTRAINT of a deferrable constraint.
    pub fn set(&mut self, constraint: u32, deferred: bool) {
        self.transaction.named.insert(constraint, deferred);
    }

    /// ALTER SESSION SET CONSTRAINTS; `None` is DEFAULT.
    pub fn set_session(&mut self, deferred: Option<bool>) {
        self.session = deferred;
    }

    /// Whether nothing has to be checked when the transaction ends.
    pub fn is_clear(&self) -> bool {
        self.transaction.notes.is_empty()
    }

    /// The transaction has ended: its settings and notes are forgotten.
    pub fn end_transaction(&mut self, temp: &TempSpace) {
        let t = &mut self.transaction;
        t.all = None;
        t.named.clear();
        t.notes.clear(temp);
    }

    /// Replaces the state for an autonomous transaction and returns that of the suspended one.
    pub fn suspend(&mut self) -> Transaction {
        std::mem::take(&mut self.transaction)
    }

    /// Restores the state of a suspended transaction.
    pub fn resume(&mut self, suspended: Transaction) {
        self.transaction = suspended;
    }
}

/// Notes; those in memory are ordered by constraint.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) set: BTreeSet<Vec<u8>>,
    pub(super) bytes: usize,
    pub(super) files: Vec<TempFile>,
    pub(super) pool: Pool,
}

impl Notes {
    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.files.is_empty()
    }

    pub(super) fn clear(&mut self, temp: &TempSpace) {
        self.set.clear();
        self.bytes = 0;
        self.files.clear();
        self.pool.clear(temp);
    }
}
