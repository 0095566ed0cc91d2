//! Triggers that a statement fires (E33).
//!
//! The plan lists the triggers of each event. A statement on a table without triggers has an empty list and pays
//! nothing per row.

use crate::ctx::ExecCtx;
use crate::session_state::Caller;
use crate::trigger::TriggerRow;
use plan::{Firing, Trigger, TriggerEvent};
use std::rc::Rc;
use types::{ObjectId, Result};

/// The time of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Before,
    After,
}

/// The triggers of a statement on one table, and the restrictions on their statements.
#[derive(Default)]
pub struct Firings {
    pub(super) all: Vec<Firing>,
    /// The restrictions on triggers for the whole statement, and on those for each row, which may not see the table.
    of_statement: Option<Rc<Caller>>,
    of_row: Option<Rc<Caller>>,
}

impl Firings {
    pub fn of(all: &[Firing]) -> Firings {
        Firings { all: all.to_vec(), ..Firings::default() }
    }

    /// Forgets what belongs to an execution.
    pub fn begin(&mut self) {
        (self.of_statement, self.of_row) = (None, None);
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether triggers fire for each row.
    pub fn has_rows(&self) -> bool {
        self.all.iter().any(Firing::has_rows)
    }

    /// Whether triggers fire after each row, when the row must have been changed.
    pub fn has_after_rows(&self) -> bool {
        self.all.iter().any(|firing| !firing.after_row.is_empty())
    }

    pub(super) fn find(&self, event: TriggerEvent) -> Option<usize> {
        self.all.iter().position(|firing| firing.event == event)
    }

    /// The restrictions on triggers for the whole statement.
    pub(super) fn statement_caller(&mut self, cx: &ExecCtx<'_>) -> Rc<Caller> {
        Rc::clone(self.of_statement.get_or_insert_with(|| caller_of(None, cx)))
    }

    /// Fires the triggers for the whole statement.
    ///
    /// # Errors
    /// Those of the triggers.
    pub fn fire_statement(&mut self, when: When, cx: &mut ExecCtx<'_>) -> Result<()> {
        if when == When::Before {
            self.begin();
        }
        for firing in &self.all {
            let list = if when == When::Before { &firing.before } else { &firing.after };
            if !list.is_empty() {
                let caller = self.of_statement.get_or_insert_with(|| caller_of(None, cx));
                fire(list, firing, caller, None, cx)?;
            }
        }
        Ok(())
    }

    /// The restrictions on what runs while rows of the table change.
    pub fn row_caller(&mut self, table: ObjectId, cx: &ExecCtx<'_>) -> Rc<Caller> {
        Rc::clone(self.of_row.get_or_insert_with(|| caller_of(Some(table), cx)))
    }
}

/// Runs `f`, which runs triggers on a schema or the database, with the restrictions on their statements.
///
/// # Errors
/// Those of `f`.
pub fn in_trigger(cx: &mut ExecCtx<'_>, f: &mut dyn FnMut(&mut ExecCtx<'_>) -> Result<()>) -> Result<()> {
    let now = Some((caller_of(None, cx), cx.session.suspended));
    let before = std::mem::replace(&mut cx.session.caller, now);
    // The statements of a trigger are measured separately.
    let counts = cx.session.noted.switch(false);
    let done = f(cx);
    cx.session.noted.switch(counts);
    cx.session.caller = before;
    done
}

/// The restrictions on a trigger: those of the triggers and functions around it, and on the table that changes.
fn caller_of(table: Option<ObjectId>, cx: &ExecCtx<'_>) -> Rc<Caller> {
    let mut changes = cx.session.caller().map(|outer| outer.changes.clone()).unwrap_or_default();
    changes.extend(table);
    Rc::new(Caller { is_query: false, in_trigger: true, changes })
}

pub(super) fn fire(
    list: &[Trigger],
    firing: &Firing,
    caller: &Rc<Caller>,
    mut row: Option<&mut TriggerRow<'_>>,
    cx: &mut ExecCtx<'_>,
) -> Result<()> {
    if cx.session.without_triggers {
        return Ok(());
    }
    let now = Some((Rc::clone(caller), cx.session.suspended));
    let before = std::mem::replace(&mut cx.session.caller, now);
    // The statements of a trigger are measured separately.
    let counts = cx.session.noted.switch(false);
    let host = cx.host;
    let fired = list.iter().try_for_each(|trigger| host.fire(cx, trigger, firing, row.as_deref_mut()));
    cx.session.noted.switch(counts);
    cx.session.caller = before;
    fired
}
