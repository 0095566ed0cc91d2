//! Sessions of the connection pool, between two clients (invariant 10).

use crate::caller::Caller;
use crate::guest::Proof;
use crate::logon::Refused;
use crate::session::Session;
use crate::typed_name::dictionary_name;
use dictionary::UserId;
use net::local::Logon;
use types::Result;

impl Session {
    /// Ends the use by a client: rolls its transaction back, closes its cursors, frees its locks, and clears its
    /// identifier, module, action and similar texts. Other state, such as package variables and rows of temporary
    /// tables, stays for the next client of the same user.
    pub fn set_aside(&mut self) {
        self.give_back(true);
        let slot = self.core.p.session();
        let texts = [&slot.client_identifier, &slot.module, &slot.action, &slot.client_info, &slot.execution_context];
        texts.into_iter().for_each(|text| text.set(""));
        slot.operation.set("");
    }

    /// Gives the session to another client with a proof of the user's password. The account is checked as at a logon,
    /// and the session gets the roles of a new session. False when the client needs another session: this session was
    /// killed, or belongs to another user or to SYS, or the client comes as a proxy.
    ///
    /// # Errors
    /// As [`Session::logon_proved`]. The caller then ends the session.
    pub fn take_up(&mut self, logon: &Logon, proof: &Proof, caller: &Caller) -> Result<bool> {
        self.release_if_killed();
        if self.is_killed() {
            return Ok(false);
        }
        let user = self.user_named(&logon.user)?;
        let id = user.as_ref().map(|user| user.id);
        if id != Some(self.user_id()) || self.user_id() == UserId::SYS || caller.client.is_some() {
            return Ok(false);
        }
        let shown = proof.shown(user.as_deref());
        let admitted = match crate::logon::admit(&self.core, user, shown, false, false) {
            Ok(admitted) => admitted,
            Err(Refused { told, noted }) => {
                let name = dictionary_name(&logon.user);
                crate::audit::refused_logon(&self.core, logon, &name, id, &noted);
                return Err(told);
            }
        };
        self.limit_again(&admitted)?;
        let names = self.core.names()?;
        let roles = names.image().default_roles(admitted.user.id);
        names.image().checked()?;
        self.core.who.enable(roles);
        let slot = self.core.p.session();
        slot.program.set(&logon.program);
        slot.machine.set(&logon.machine);
        slot.terminal.set(&logon.terminal);
        slot.os_user.set(&logon.os_user);
        slot.client_process.set(&logon.process_id.to_string());
        caller.note(&self.core);
        caller.settle(&self.core)?;
        self.readable()?;
        Ok(true)
    }
}
