//! Tables that a statement locks before it begins (TM enqueues).
//!
//! The table itself, the parents of its foreign keys and the children of its keys are locked in SX until the
//! transaction ends. A child table without an index on the foreign key is locked in S while the statement runs, if the
//! statement may remove a parent key: no other session then has open changes to it. A plan that is current after the
//! locks are taken stays current, because DDL needs these locks.

use super::keys::index_on;
use crate::ctx::ExecCtx;
use plan::{PlanBody, Target};
use types::{ObjectId, Result};

/// Tables that a statement locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableLocks {
    lasting: Vec<ObjectId>,
    shared: Vec<ObjectId>,
}

impl TableLocks {
    pub fn of(body: &PlanBody) -> TableLocks {
        let mut locks = TableLocks::default();
        match body {
            PlanBody::Query(_) | PlanBody::Instead(_) => {}
            PlanBody::Insert(i) => locks.add_insert(&i.target),
            PlanBody::InsertAll(i) => i.branches.iter().for_each(|b| locks.add_insert(&b.insert.target)),
            PlanBody::Update(u) => locks.add(&u.target),
            PlanBody::Delete(d) => locks.add(&d.target),
            PlanBody::Merge(x) => {
                locks.add(&x.target);
                if x.insert.is_some() {
                    locks.add_insert(&x.target);
                }
            }
        }
        locks
    }

    /// Whether the statement changes rows of the table, or of a table that refers to it.
    pub fn changes(&self, object: ObjectId) -> bool {
        self.lasting.contains(&object)
    }

    fn add_insert(&mut self, t: &Target) {
        self.add(t);
        t.table.referenced_by.iter().filter(|r| r.enabled).for_each(|r| self.last(r.from_table));
    }

    fn add(&mut self, t: &Target) {
        self.last(t.table.object);
        t.foreign.iter().for_each(|f| self.last(f.parent.object));
        for c in &t.children {
            if index_on(&c.child, &c.child_columns).is_some() {
                self.last(c.child.object);
            } else if !self.shared.contains(&c.child.object) {
                self.shared.push(c.child.object);
            }
        }
    }

    fn last(&mut self, object: ObjectId) {
        if !self.lasting.contains(&object) {
            self.lasting.push(object);
        }
    }

    /// Takes the locks; those for the statement only are added to `shared`. True if the transaction did not have one of
    /// them before.
    ///
    /// # Errors
    /// ORA-00060, ORA-01013.
    pub fn take(&self, shared: &mut Vec<ObjectId>, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let (txns, t) = (cx.shared.txns, &mut cx.session.txn);
        let mut new = false;
        for object in &self.lasting {
            new |= txns.lock_for_dml(cx.p, t, *object)?;
        }
        for object in &self.shared {
            if !shared.contains(object) {
                new |= txns.share_for_statement(cx.p, t, *object, txn::LockWait::Forever)?;
                shared.push(*object);
            }
        }
        Ok(new)
    }
}
