//! Triggers on logons, and on the start and the end of the instance: their runs outside of calls (invariant 36).

use crate::event_triggers::{fire_alone, triggers_of};
use crate::session::Session;
use dictionary::{SystemPrivilege, UserId};
use exec::ExecCtx;
use plsql::EventFacts;
use sql::plsql::ast::SystemEvent;
use std::rc::Rc;
use types::{Ora, Result};

impl Session {
    /// Fires the triggers on the logon.
    ///
    /// # Errors
    /// That of a trigger on the database, which refuses the logon of a user without ADMINISTER DATABASE TRIGGER.
    pub(crate) fn fire_logon(&mut self) -> Result<()> {
        let fired = self.fire_of_session(SystemEvent::Logon, true);
        let Err((e, is_of_schema)) = fired else { return Ok(()) };
        let may_pass = is_of_schema || self.core.require(SystemPrivilege::AdministerDatabaseTrigger).is_ok();
        if may_pass && !e.ends_call() {
            admin::trace::failed_trigger(&self.core, &e);
            return Ok(());
        }
        Err(e)
    }

    /// Fires the triggers of an event, each list in a transaction of its own. The error comes with whether
    /// the trigger is on the user's own schema.
    fn fire_of_session(&mut self, event: SystemEvent, is_after: bool) -> std::result::Result<(), (Ora, bool)> {
        let found = triggers_of(&self.core, event.bit(), UserId(self.state.user_id), is_after);
        let list = found.map_err(|e| (e, false))?;
        if list.is_empty() {
            return Ok(());
        }
        let facts = Rc::new(EventFacts { name: event.word().to_owned(), ..EventFacts::default() });
        let (of_schema, of_database): (Vec<_>, Vec<_>) = list.into_iter().partition(|of| of.schema.is_some());
        self.begin_call();
        let Session { core, state, .. } = self;
        let mut cx = ExecCtx { p: &core.p, shared: &core.shared, session: state, host: core };
        let mut done = Ok(());
        for (list, is_of_schema) in [(of_database, false), (of_schema, true)] {
            if done.is_ok() && !list.is_empty() {
                done = fire_alone(core, &mut cx, &list, &facts).map_err(|e| (e, is_of_schema));
            }
        }
        core.end_running();
        core.store_verdicts(&mut cx);
        cx.session.figures.flush(&core.p, core.shared.library);
        self.end_call();
        done.and_then(|()| self.core.sync_commits().map_err(|e| (e, false)))
    }

    /// Fires the triggers on the start of the instance, or on its end, in the session of a background process. The
    /// error of a trigger is in the alert log and hinders nothing.
    ///
    /// # Errors
    /// That of a trigger.
    pub fn fire_of_instance(&mut self, starts: bool) -> Result<()> {
        let event = if starts { SystemEvent::Startup } else { SystemEvent::Shutdown };
        self.fire_of_session(event, starts).map_err(|(e, _)| {
            admin::trace::failed_trigger(&self.core, &e);
            e
        })
    }
}
