//! Triggers on schemas and the database: DDL, logons and logoffs, errors of calls (invariant 36).
//!
//! No such trigger fires while another one runs.

use crate::core::Core;
use crate::event_facts::{self, DdlEvent};
use crate::world::World;
use dictionary::{TriggerDef, TriggerKind, UserId};
use exec::{ExecCtx, Trigger};
use params::Param;
use plsql::EventFacts;
use sql::ast::Ddl;
use sql::plsql::ast::SystemEvent;
use std::rc::Rc;
use types::{Ora, Result};

/// The enabled triggers of some events that concern the schema of `user`, before or after the event.
pub(crate) fn triggers_of(core: &Core, events: u32, user: UserId, is_after: bool) -> Result<Vec<TriggerDef>> {
    if core.event.borrow().is_some() || !core.params.borrow().flag(Param::SystemTrigEnabled) {
        return Ok(Vec::new());
    }
    let names = core.names()?;
    let mut all = names.image().event_triggers();
    names.image().checked()?;
    let kind = if is_after { TriggerKind::AfterEvent } else { TriggerKind::BeforeEvent };
    all.retain(|trigger| {
        let concerns = trigger.schema.is_none_or(|owner| owner == user);
        trigger.enabled && concerns && trigger.kind == kind && trigger.events & events != 0
    });
    Ok(all)
}

/// Fires triggers in the session's transaction. The trigger that fails ends the list.
fn fire(core: &Core, cx: &mut ExecCtx<'_>, triggers: &[TriggerDef], facts: &Rc<EventFacts>) -> Result<()> {
    *core.event.borrow_mut() = Some(Rc::clone(facts));
    let done = exec::in_trigger(cx, &mut |cx| {
        triggers.iter().try_for_each(|trigger| {
            let TriggerDef { object, owner, name, .. } = trigger;
            let trigger = Trigger { object: *object, owner: owner.clone(), name: name.clone(), section: None };
            let mut world = World { cx: cx.reborrow(), core };
            core.outside_ddl(|| core.plsql.fire_event(&mut world, &trigger))
        })
    });
    *core.event.borrow_mut() = None;
    done
}

/// The triggers of a DDL statement.
pub(crate) struct DdlEvents {
    before: Vec<TriggerDef>,
    after: Vec<TriggerDef>,
    facts: Rc<EventFacts>,
}

impl DdlEvents {
    /// The triggers of a statement; `None` without any.
    ///
    /// # Errors
    /// Those of reading the dictionary.
    pub(crate) fn of(core: &Core, ddl: &Ddl, text: &str) -> Result<Option<DdlEvents>> {
        if core.identity() == crate::identity::Identity::INTERNAL {
            return Ok(None);
        }
        let user = core.identity().user;
        let of = |is_after| triggers_of(core, u32::MAX, user, is_after);
        let (mut before, mut after) = (of(false)?, of(true)?);
        if before.is_empty() && after.is_empty() {
            return Ok(None);
        }
        let Some(DdlEvent { event, facts }) = event_facts::of(core, ddl, text)? else { return Ok(None) };
        let events = SystemEvent::Ddl.bit() | event.map_or(0, SystemEvent::bit);
        // A trigger does not fire for its own definition, so that one with errors can be replaced or dropped.
        let is_own = |of: &TriggerDef| {
            facts.object_type == "TRIGGER" && facts.object_owner == of.owner && facts.object_name == of.name
        };
        before.retain(|trigger| trigger.events & events != 0 && !is_own(trigger));
        after.retain(|trigger| trigger.events & events != 0 && !is_own(trigger));
        let is_empty = before.is_empty() && after.is_empty();
        Ok((!is_empty).then(|| DdlEvents { before, after, facts: Rc::new(facts) }))
    }

    /// Fires the triggers before or after the statement, and commits their work.
    ///
    /// # Errors
    /// Those of the triggers, whose work is undone then.
    pub(crate) fn fire(&mut self, is_after: bool, core: &Core, cx: &mut ExecCtx<'_>) -> Result<()> {
        if is_after && !self.after.is_empty() {
            // The statement may have dropped a trigger, with its owner.
            let names = core.names()?;
            self.after.retain(|trigger| names.image().object(trigger.object).is_some());
            names.image().checked()?;
        }
        let list = if is_after { &self.after } else { &self.before };
        if list.is_empty() { Ok(()) } else { fire_alone(core, cx, list, &self.facts) }
    }
}

/// Fires triggers in a transaction of their own, while the session has none.
pub(crate) fn fire_alone(core: &Core, cx: &mut ExecCtx<'_>, list: &[TriggerDef], facts: &Rc<EventFacts>) -> Result<()> {
    match fire(core, cx, list, facts) {
        Ok(()) if cx.session.txn.is_active() => core.commit(cx),
        Ok(()) => Ok(()),
        Err(e) => {
            core.rollback(cx.session)?;
            Err(e)
        }
    }
}

/// Errors for which no trigger on SERVERERROR fires, and those that end the session.
fn is_exempt(e: &Ora) -> bool {
    e.ends_call() || [1403, 1422, 1423, 1034, 4030, 603].into_iter().any(|code| e.is(code))
}

/// Fires the triggers on an error that goes to the client, in a transaction beside that of the session.
pub(crate) fn server_error(core: &Core, cx: &mut ExecCtx<'_>, error: &Ora, text: Option<&str>) {
    if is_exempt(error) {
        return;
    }
    let found = triggers_of(core, SystemEvent::ServerError.bit(), core.identity().user, true);
    let Ok(list) = found else { return };
    if list.is_empty() {
        return;
    }
    let facts = Rc::new(EventFacts {
        name: SystemEvent::ServerError.word().to_owned(),
        text: text.map(|text| sql::mask_passwords(text).into_owned()),
        error: Some(error.clone()),
        ..EventFacts::default()
    });
    let mut world = World { cx: cx.reborrow(), core };
    if plsql::World::autonomous_begin(&mut world).is_err() {
        return;
    }
    let done = fire_alone(core, &mut world.cx, &list, &facts);
    let ended = plsql::World::autonomous_end(&mut world);
    if let Err(e) = done.and(ended) {
        // The client gets the error of its call.
        admin::trace::failed_trigger(core, &e);
    }
}

/// Fires the triggers on the logoff, whose failure does not keep the session.
pub(crate) fn logoff(core: &Core, cx: &mut ExecCtx<'_>) {
    let user = UserId(cx.session.user_id);
    let Ok(list) = triggers_of(core, SystemEvent::Logoff.bit(), user, false) else { return };
    if list.is_empty() {
        return;
    }
    let name = SystemEvent::Logoff.word().to_owned();
    let facts = Rc::new(EventFacts { name, ..EventFacts::default() });
    let at = core.shared.txns.savepoint(&cx.session.txn);
    if let Err(e) = fire(core, cx, &list, &facts) {
        let _ = core.shared.txns.rollback_to(&core.p, &mut cx.session.txn, &at);
        admin::trace::failed_trigger(core, &e);
    }
}
