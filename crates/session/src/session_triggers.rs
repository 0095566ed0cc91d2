//! Triggers on logons, and on the start and the end of the instance: their runs outside of calls (invariant 36).

use crate::core::Core;
use crate::event_triggers::{fire_alone, triggers_of};
use crate::session::Session;
use dictionary::{SystemPrivilege, TriggerDef, UserId};
use exec::ExecCtx;
use plsql::EventFacts;
use sql::plsql::ast::SystemEvent;
use std::rc::Rc;
use types::Result;

impl Session {
    /// Fires the triggers on the logon.
    ///
    /// # Errors
    /// That of a trigger on the database, which refuses the logon of a user without ADMINISTER DATABASE TRIGGER.
    pub(crate) fn fire_logon(&mut self) -> Result<()> {
        self.fire_between_calls(SystemEvent::Logon, true, &|core, trigger| {
            trigger.schema.is_none() && core.require(SystemPrivilege::AdministerDatabaseTrigger).is_err()
        })
    }

    /// Fires the triggers on the start of the instance, or on its end, in the session of a background process. The
    /// error of a trigger is in the alert log and hinders nothing.
    ///
    /// # Errors
    /// Those that end the session.
    pub fn fire_of_instance(&mut self, starts: bool) -> Result<()> {
        let event = if starts { SystemEvent::Startup } else { SystemEvent::Shutdown };
        self.fire_between_calls(event, starts, &|_, _| false)
    }

    /// Fires the triggers of an event, each in a transaction of its own. A failed one is noted and passed over unless
    /// `hinders` says that its error ends the session.
    fn fire_between_calls(
        &mut self,
        event: SystemEvent,
        is_after: bool,
        hinders: &dyn Fn(&Core, &TriggerDef) -> bool,
    ) -> Result<()> {
        let list = triggers_of(&self.core, event.bit(), UserId(self.state.user_id), is_after)?;
        if list.is_empty() {
            return Ok(());
        }
        let facts = Rc::new(EventFacts { name: event.word().to_owned(), ..EventFacts::default() });
        self.begin_call();
        let Session { core, state, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        let mut done = Ok(());
        for trigger in &list {
            let Err(e) = fire_alone(core, &mut cx, std::slice::from_ref(trigger), &facts) else { continue };
            // A trigger can raise ORA-00028 itself, so its error alone does not end the session of an administrator.
            // The next call of a session that really is killed ends it.
            if hinders(core, trigger) {
                done = Err(e);
                break;
            }
            admin::trace::failed_trigger(core, &e);
        }
        core.end_running();
        core.store_verdicts(&mut cx);
        cx.session.figures.flush(&core.p, core.shared.library);
        self.end_call();
        done.and_then(|()| self.core.sync_commits())
    }
}
