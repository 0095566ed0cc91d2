//! Sessions of the connection pool between their clients.

use crate::caller::Caller;
use crate::guest::Proof;
use crate::logon::Refused;
use crate::session::Session;
use crate::typed_name::dictionary_name;
use dictionary::UserId;
use net::local::Logon;
use types::Result;

impl Session {
    /// Ends what a client has begun: its transaction is rolled back, its cursors are closed, its locks freed, and what
    /// it wanted to be known by is forgotten. The session keeps the rest for the next client of the same user.
    pub fn set_aside(&mut self) {
        self.give_back(true);
        let slot = self.core.p.session();
        let texts = [&slot.client_identifier, &slot.module, &slot.action, &slot.client_info, &slot.execution_context];
        texts.into_iter().for_each(|text| text.set(""));
        slot.operation.set("");
    }

    /// Gives the session to another client after a proof of its user's password. The account is looked at as it is
    /// at a logon, and the roles are those of one. False where the client needs another session: this one was killed,
    /// or is another user's.
    ///
    /// # Errors
    /// As [`Session::logon_proved`]. The session is to end then, too.
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
